//! Finds out, on Linux, which process listens on a port.
//!
//! The kernel tells at once which sockets listen, over netlink (`sock_diag(7)`). Its tables in `/proc` tell the same,
//! but for each table the kernel goes through the slots of all its connections, which takes milliseconds. Only the
//! descriptors of a process show that it holds a socket. The descriptors of an expected process are read first. If
//! another process holds the socket, the descriptors of all processes of the socket's user are read: Linux has no other
//! way from a socket to its process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::limits::OWNER_PROCESSES_MAX;

/// The states LISTEN and SYN_RECV in the kernel's socket tables (`include/net/tcp_states.h`).
const LISTEN: &str = "0A";
const SYN_RECV: &str = "03";

/// What the kernel tells of sockets and processes: `/proc`, unless a test puts another folder in its place.
pub struct Proc {
    root: PathBuf,
    /// Whether the kernel is asked for sockets before its tables are read.
    asks: bool,
    /// The number of processes whose descriptors were read.
    read: Cell<usize>,
}

/// A listening socket that a connect to 127.0.0.1 can reach. The connect reaches the one with the smallest distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    /// The distance of its address from 127.0.0.1.
    distance: u8,
    inode: u64,
    user: u32,
}

impl Socket {
    /// Returns the text of a link from a descriptor to this socket.
    fn link(self) -> String {
        format!("socket:[{}]", self.inode)
    }
}

impl Default for Proc {
    fn default() -> Self {
        Self { root: PathBuf::from("/proc"), asks: true, read: Cell::new(0) }
    }
}

impl Proc {
    /// Returns the process that listens on this loopback port. `expected` is looked at first, if there is one.
    pub fn listener(&self, port: u16, expected: Option<u32>) -> Option<u32> {
        let socket = *self.nearest(&(port..=port)).get(&port)?;
        let holds = |pid: &u32| {
            let mut wanted = BTreeMap::from([(socket.link(), port)]);
            !self.take_held(*pid, &mut wanted).is_empty()
        };
        if let Some(expected) = expected.filter(holds) {
            return Some(expected);
        }
        let processes = std::fs::read_dir(&self.root).ok()?.flatten().filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            (Some(pid) != expected && entry.metadata().is_ok_and(|meta| meta.uid() == socket.user)).then_some(pid)
        });
        processes.take(OWNER_PROCESSES_MAX).find(holds)
    }

    /// Returns those of these loopback ports for which this process holds the accepting socket.
    pub fn listens_among(&self, pid: u32, ports: &RangeInclusive<u16>) -> Vec<u16> {
        let mut wanted = self.nearest(ports).into_iter().map(|(port, socket)| (socket.link(), port)).collect();
        let mut found = self.take_held(pid, &mut wanted);
        found.sort_unstable();
        found
    }

    /// Returns the socket that a connect to each of these ports reaches.
    fn nearest(&self, ports: &RangeInclusive<u16>) -> BTreeMap<u16, Socket> {
        let asked = if self.asks { asked() } else { None };
        let sockets = asked.unwrap_or_else(|| self.in_tables());
        let mut nearest = BTreeMap::new();
        for (port, socket) in sockets.into_iter().filter(|(port, _)| ports.contains(port)) {
            let known = nearest.entry(port).or_insert(socket);
            *known = socket.min(*known);
        }
        nearest
    }

    /// Reads the kernel's tables of listening sockets.
    fn in_tables(&self) -> Vec<(u16, Socket)> {
        let tables = ["net/tcp", "net/tcp6"].map(|table| std::fs::File::open(self.root.join(table)));
        tables.into_iter().flatten().flat_map(|table| sockets(BufReader::new(table))).collect()
    }

    /// Takes the wanted sockets that this process holds out of the list, and returns their ports.
    fn take_held(&self, pid: u32, wanted: &mut BTreeMap<String, u16>) -> Vec<u16> {
        let mut found = Vec::new();
        if wanted.is_empty() {
            return found;
        }
        self.read.set(self.read.get() + 1);
        let folder = self.root.join(pid.to_string()).join("fd");
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(link) = entry.path().read_link() else { continue };
            found.extend(link.to_str().and_then(|link| wanted.remove(link)));
            if wanted.is_empty() {
                break;
            }
        }
        found
    }
}

/// Returns the name of a process.
pub fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Asks the kernel for the listening sockets. Returns `None` if the kernel does not answer, for example because a
/// container forbids the question.
fn asked() -> Option<Vec<(u16, Socket)>> {
    let kernel =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG)).ok()?;
    let mut found = Vec::new();
    // An answer has at most 32 KiB, and is complete as soon as the kernel has taken the question.
    let mut answer = vec![0; 32 * 1024];
    for family in [IP4, IP6] {
        send(&kernel, &question(family), SendFlags::empty()).ok()?;
        loop {
            let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
            if told(answer.get(..length)?, &mut found)? {
                break;
            }
        }
    }
    Some(found)
}

/// `AF_INET` and `AF_INET6`.
const IP4: u8 = 2;
const IP6: u8 = 10;
/// The length of a `nlmsghdr`, and of an `inet_diag_req_v2` after it.
const HEADER: usize = 16;
const REQUEST: usize = 56;
/// `SOCK_DIAG_BY_FAMILY`, `NLMSG_DONE`.
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;

/// Returns the question for all listening TCP sockets of a family.
fn question(family: u8) -> [u8; HEADER + REQUEST] {
    let mut bytes = [0; HEADER + REQUEST];
    let mut put =
        |at: usize, value: &[u8]| bytes.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = *value);
    put(0, &72_u32.to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    // NLM_F_REQUEST | NLM_F_DUMP.
    put(6, &0x301_u16.to_ne_bytes());
    // IPPROTO_TCP.
    put(HEADER, &[family, 6]);
    // The states that are asked for: bit 10 is LISTEN.
    put(HEADER + 4, &(1_u32 << 10).to_ne_bytes());
    bytes
}

/// Adds the sockets of an answer that a connect to 127.0.0.1 can reach. Returns whether the answer ends here; `None` if
/// the bytes are no answer.
fn told(mut bytes: &[u8], found: &mut Vec<(u16, Socket)>) -> Option<bool> {
    let number = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    while !bytes.is_empty() {
        let length = usize::try_from(number(bytes, 0)?).ok()?;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        match kind {
            DONE => return Some(true),
            BY_FAMILY => {}
            _ => return None,
        }
        // An `inet_diag_msg`: the family, the port and the address of this end, and at its end the user and the inode.
        let message = bytes.get(HEADER..length)?;
        let (family, port) = (*message.first()?, u16::from_be_bytes(message.get(4..6)?.try_into().ok()?));
        let address = message.get(8..if family == IP4 { 12 } else { 24 })?;
        let words: Vec<[u8; 4]> = address.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect();
        let (user, inode) = (number(message, 64)?, number(message, 68)?.into());
        found.extend(distance(&words).map(|distance| (port, Socket { distance, inode, user })));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

/// Returns the distance of an address from 127.0.0.1, in words of four bytes; `None` if a connect to 127.0.0.1 does not
/// reach it.
fn distance(words: &[[u8; 4]]) -> Option<u8> {
    match words {
        [[127, ..]] => Some(0),
        [[0, 0, 0, 0]] => Some(1),
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0xff, 0xff], [127, ..]] => Some(0),
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]] => Some(2),
        _ => None,
    }
}

/// Returns the listening sockets that a connect to 127.0.0.1 can reach.
///
/// Source: `Documentation/networking/proc_net_tcp.rst` in the kernel: listening sockets come first, and each 32-bit word of an
/// address is in the host's byte order.
fn sockets(table: impl BufRead) -> Vec<(u16, Socket)> {
    let mut found = Vec::new();
    for line in table.lines().map_while(Result::ok).skip(1) {
        let mut fields = line.split_whitespace().skip(1);
        let (address, state, user, inode) = (fields.next(), fields.nth(1), fields.nth(3), fields.nth(1));
        let Some((address, at)) = address.and_then(|address| address.rsplit_once(':')) else { continue };
        let Ok(port) = u16::from_str_radix(at, 16) else { continue };
        match state {
            Some(LISTEN) => {}
            // Old kernels list half-open connections beside their listener.
            Some(SYN_RECV) => continue,
            _ => break,
        }
        let words = address.as_bytes().chunks(8).map(|word| {
            let word = std::str::from_utf8(word).unwrap_or_default();
            u32::from_str_radix(word, 16).map(u32::to_ne_bytes)
        });
        let Ok(words) = words.collect::<Result<Vec<_>, _>>() else { continue };
        let Some(distance) = distance(&words) else { continue };
        let number = |field: Option<&str>| field.and_then(|field| field.parse::<u64>().ok());
        if let (Some(inode), Some(user)) = (number(inode), number(user).and_then(|user| u32::try_from(user).ok())) {
            found.push((port, Socket { distance, inode, user }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(address: &str, state: &str, user: u32, inode: u64) -> String {
        format!("   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1 0\n")
    }

    fn socket(distance: u8, inode: u64) -> Socket {
        Socket { distance, inode, user: 1000 }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_kernels_table_is_read_up_to_its_connections_and_the_nearest_address_wins() {
        let table = [
            HEAD.to_owned(),
            line("00000000:21FC", "0A", 1000, 111),
            line("0100007F:21FC", "03", 1000, 0),
            "   nonsense\n".to_owned(),
            line("0100007F:21FC", "0A", 1000, 222),
            line("0101A8C0:21FC", "0A", 1000, 444),
            line("0100007F:21FC", "01", 1000, 333),
            line("0100007F:21FC", "0A", 1000, 555),
        ];
        let table = table.concat();
        let found = sockets(table.as_bytes());
        assert_eq!(found, [(0x21fc, socket(1, 111)), (0x21fc, socket(0, 222))]);
        let six = HEAD.to_owned() + &line("00000000000000000000000000000000:21FC", "0A", 1000, 555);
        assert_eq!(sockets(six.as_bytes()), [(0x21fc, socket(2, 555))]);
    }

    #[tokio::test]
    async fn only_the_process_that_listens_is_found_to() {
        let listener = crate::net::Net::bind(&crate::net::Tcp, 0).await.unwrap();
        let (port, ours, proc) = (listener.local_addr().port(), std::process::id(), Proc::default());
        for expected in [None, Some(ours), Some(1), Some(u32::MAX)] {
            assert_eq!(proc.listener(port, expected), Some(ours), "{expected:?}");
        }
        let found = |sockets: Vec<(u16, Socket)>| sockets.into_iter().find(|(found, _)| *found == port);
        assert_eq!(found(asked().unwrap()), found(proc.in_tables()), "the kernel says what its tables say");
        let around = port.saturating_sub(3)..=port.saturating_add(3);
        assert!(proc.listens_among(ours, &around).contains(&port));
        drop(listener);
        assert_eq!(proc.listener(port, Some(ours)), None);
    }

    /// A desktop has thousands of processes. More than one is read only to name a program that nobody expected.
    #[test]
    fn what_is_read_does_not_grow_with_the_number_of_processes() {
        const OTHERS: u32 = 2000;
        const EDITOR: u32 = 900_000;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let user = root.metadata().unwrap().uid();
        let process = |pid: u32, inode: u64| {
            let descriptors = root.join(pid.to_string()).join("fd");
            std::fs::create_dir_all(&descriptors).unwrap();
            std::os::unix::fs::symlink(format!("socket:[{inode}]"), descriptors.join("3")).unwrap();
        };
        (1..=OTHERS).for_each(|pid| process(pid, 1));
        process(EDITOR, 222);
        std::fs::create_dir(root.join("net")).unwrap();
        let table =
            HEAD.to_owned() + &line("0100007F:21FC", "0A", user, 222) + &line("0100007F:21FD", "0A", user + 1, 223);
        std::fs::write(root.join("net/tcp"), table).unwrap();
        let read = |port: u16, expected: Option<u32>| {
            let proc = Proc { root: root.to_owned(), asks: false, read: Cell::new(0) };
            (proc.listener(port, expected), proc.read.get())
        };
        assert_eq!(read(0x21fc, Some(EDITOR)), (Some(EDITOR), 1), "the editor listens");
        assert_eq!(read(0x21fe, Some(EDITOR)), (None, 0), "nobody listens");
        assert_eq!(read(0x21fe, None), (None, 0), "nobody listens");
        assert_eq!(read(0x21fd, Some(EDITOR)), (None, 1), "another user's process listens");
        let (named, all) = read(0x21fc, Some(1));
        assert_eq!(named, Some(EDITOR), "a program is named that nobody expected");
        assert!(all <= OTHERS as usize + 1, "{all}");
        let proc = Proc { root: root.to_owned(), asks: false, read: Cell::new(0) };
        assert_eq!((proc.listens_among(EDITOR, &(0x21f0..=0x21ff)), proc.read.get()), (vec![0x21fc], 1));
    }
}
