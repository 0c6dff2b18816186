//! Finds out, on Linux, which process listens on a port, and which one has connected to a port of ours.
//!
//! The kernel tells at once which sockets listen, over netlink (`sock_diag(7)`). Its tables in `/proc` tell the same,
//! but for each table the kernel goes through the slots of all its connections, which takes milliseconds. Only the
//! descriptors of a process show that it holds a socket. The descriptors of an expected process are read first. If
//! another process holds the socket, the descriptors of all processes of the socket's user are read: Linux has no other
//! way from a socket to its process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
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
        self.holder(socket, expected)
    }

    /// Returns the user of the socket that has connected from this address to a loopback port, and its process, if a process of that
    /// user holds the socket.
    pub fn caller(&self, from: SocketAddrV4, to: u16) -> Option<(u32, Option<u32>)> {
        let asked = if self.asks { asked_for(from, to) } else { None };
        let socket = asked.or_else(|| {
            let rows = self.tables().into_iter().flat_map(|table| rows(BufReader::new(table)));
            let mut ends = rows.filter(|row| row.port == from.port() && row.to == to && row.state != LISTEN);
            ends.find_map(|row| row.socket)
        })?;
        // The kernel keeps a socket for a while that its process has closed.
        (socket.inode != 0).then(|| (socket.user, self.holder(socket, None)))
    }

    /// Returns the process that holds a socket.
    fn holder(&self, socket: Socket, expected: Option<u32>) -> Option<u32> {
        let holds = |pid: &u32| {
            let mut wanted = BTreeMap::from([(socket.link(), 0)]);
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
        self.tables().into_iter().flat_map(|table| sockets(BufReader::new(table))).collect()
    }

    /// Opens the kernel's tables of sockets.
    fn tables(&self) -> Vec<std::fs::File> {
        let tables = ["net/tcp", "net/tcp6"].map(|table| std::fs::File::open(self.root.join(table)));
        tables.into_iter().flatten().collect()
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
        send(&kernel, &question(family, DUMP, None), SendFlags::empty()).ok()?;
        loop {
            let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
            if told(answer.get(..length)?, &mut found)? {
                break;
            }
        }
    }
    Some(found)
}

/// Asks the kernel for the socket that has connected from this address to a loopback port. The kernel also finds one of the newer
/// family, which has such an address too.
fn asked_for(from: SocketAddrV4, to: u16) -> Option<Socket> {
    let kernel =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG)).ok()?;
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, to);
    send(&kernel, &question(IP4, REQUEST_ONE, Some((from, to))), SendFlags::empty()).ok()?;
    let mut answer = vec![0; 4096];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::DONTWAIT).ok()?;
    let answer = answer.get(..length)?;
    let mut found = Vec::new();
    told(answer, &mut found)?;
    // If there is no such connection, the kernel tells of a listener at that address.
    let is_listener = answer.get(HEADER + 1) == Some(&LISTEN_STATE);
    found.first().filter(|_| !is_listener).map(|(_, socket)| *socket)
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

/// `NLM_F_REQUEST`, alone and with `NLM_F_DUMP`.
const REQUEST_ONE: u16 = 0x1;
const DUMP: u16 = 0x301;
/// The number of the state LISTEN.
const LISTEN_STATE: u8 = 10;

/// Returns the question for all listening TCP sockets of a family, or for the one of a connection, by the addresses of its own and of the
/// other end.
fn question(family: u8, flags: u16, ends: Option<(SocketAddrV4, SocketAddrV4)>) -> [u8; HEADER + REQUEST] {
    let mut bytes = [0; HEADER + REQUEST];
    let mut put =
        |at: usize, value: &[u8]| bytes.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = *value);
    put(0, &72_u32.to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &flags.to_ne_bytes());
    // IPPROTO_TCP.
    put(HEADER, &[family, 6]);
    // The states that are asked for.
    put(HEADER + 4, &(1_u32 << LISTEN_STATE).to_ne_bytes());
    if let Some((own, other)) = ends {
        put(HEADER + 4, &u32::MAX.to_ne_bytes());
        put(HEADER + 8, &own.port().to_be_bytes());
        put(HEADER + 10, &other.port().to_be_bytes());
        put(HEADER + 12, &own.ip().octets());
        put(HEADER + 28, &other.ip().octets());
        // INET_DIAG_NOCOOKIE.
        put(HEADER + 48, &[0xff; 8]);
    }
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

/// Returns the listening sockets that a connect to 127.0.0.1 can reach. They come first in a table.
fn sockets(table: impl BufRead) -> Vec<(u16, Socket)> {
    let listed = rows(table).take_while(|row| [LISTEN, SYN_RECV].contains(&&*row.state));
    // Old kernels list half-open connections beside their listener.
    listed.filter(|row| row.state == LISTEN).filter_map(|row| Some((row.port, row.socket?))).collect()
}

/// A line of the kernel's tables.
struct Row {
    port: u16,
    /// The port of the other end.
    to: u16,
    state: String,
    /// The socket, if its own address is one that leads to this machine alone, or any.
    socket: Option<Socket>,
}

/// Reads the lines of a table. What is no such line is skipped.
///
/// Source: `Documentation/networking/proc_net_tcp.rst` in the kernel: each 32-bit word of an address is in the host's byte order.
fn rows(table: impl BufRead) -> impl Iterator<Item = Row> {
    table.lines().map_while(Result::ok).skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (own, other, state, user, inode) =
            (fields.next()?, fields.next()?, fields.next()?, fields.nth(3)?, fields.nth(1)?);
        let at = |end: &str| u16::from_str_radix(end.rsplit_once(':')?.1, 16).ok();
        let words = own.rsplit_once(':')?.0.as_bytes().chunks(8).map(|word| {
            let word = std::str::from_utf8(word).unwrap_or_default();
            u32::from_str_radix(word, 16).map(u32::to_ne_bytes)
        });
        let words = words.collect::<Result<Vec<_>, _>>().ok()?;
        let (user, inode) = (user.parse().ok()?, inode.parse().ok()?);
        let socket = distance(&words).map(|distance| Socket { distance, inode, user });
        Some(Row { port: at(own)?, to: at(other)?, state: state.to_owned(), socket })
    })
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

    #[tokio::test]
    async fn the_kernel_and_its_tables_tell_the_same_of_a_connection() {
        let listener = crate::net::Net::bind(&crate::net::Tcp, 0).await.unwrap();
        let to = listener.local_addr().port();
        let near = crate::net::Net::connect(&crate::net::Tcp, to).await.unwrap();
        let (_far, from) = listener.accept().await.unwrap();
        let std::net::SocketAddr::V4(from) = from else { panic!("{from}") };
        let tables = Proc { asks: false, ..Proc::default() };
        let ours = Some((rustix::process::geteuid().as_raw(), Some(std::process::id())));
        assert!(asked_for(from, to).is_some(), "the kernel is asked");
        assert_eq!((Proc::default().caller(from, to), tables.caller(from, to)), (ours, ours));
        let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, to);
        assert_eq!(
            (asked_for(nobody, to), tables.caller(nobody, to)),
            (None, None),
            "a listener has connected to nobody"
        );
        drop(near);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn another_users_connection_and_one_that_was_closed_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("net")).unwrap();
        let connected = |own: &str, other: &str, user: u32, inode: u64| {
            line(own, "01", user, inode).replace(" 00000000:0000 ", &format!(" {other} "))
        };
        // A socket of the newer family, with an address of the older one.
        let mapped = "0000000000000000FFFF00000100007F";
        let four = HEAD.to_owned()
            + &line("0100007F:1F90", "0A", 1000, 1)
            + &connected("0100007F:0FA1", "0100007F:1F90", 7, 0);
        let six = HEAD.to_owned() + &connected(&format!("{mapped}:0FA0"), &format!("{mapped}:1F90"), 7, 222);
        std::fs::write(folder.path().join("net/tcp"), four).unwrap();
        std::fs::write(folder.path().join("net/tcp6"), six).unwrap();
        let proc = Proc { root: folder.path().to_owned(), asks: false, read: Cell::new(0) };
        let caller = |from: u16, to: u16| proc.caller(SocketAddrV4::new(Ipv4Addr::LOCALHOST, from), to);
        assert_eq!(caller(4000, 8080), Some((7, None)), "no process of that user is seen to hold it");
        assert_eq!(caller(4001, 8080), None, "its process has closed it");
        assert_eq!(caller(4000, 8081), None, "connected to another port");
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
