//! Finds out, on Linux, which process listens on a port.
//!
//! The kernel reports the inode of a listening socket at once, and lists listeners before all other sockets. Which process holds
//! the socket shows only in the descriptors of that process. Those of an expected process are read first. Only if another one
//! holds the socket, those of all processes of the socket's user are read: Linux has no other way from a socket to its process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::limits::OWNER_PROCESSES_MAX;

/// The states LISTEN and SYN_RECV in the kernel's socket tables (`include/net/tcp_states.h`).
const LISTEN: &str = "0A";
const SYN_RECV: &str = "03";

/// What the kernel tells of sockets and processes: `/proc`, unless a test puts another folder in its place.
pub struct Proc {
    root: PathBuf,
    /// The number of processes whose descriptors were read.
    read: Cell<usize>,
}

/// A listening socket that a connect to 127.0.0.1 can reach. The one with the smallest distance is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Socket {
    /// The distance of its address from 127.0.0.1.
    distance: u8,
    inode: u64,
    user: u32,
}

impl Socket {
    /// Returns what a descriptor of the socket is a link to.
    fn link(self) -> String {
        format!("socket:[{}]", self.inode)
    }
}

impl Default for Proc {
    fn default() -> Self {
        Self { root: PathBuf::from("/proc"), read: Cell::new(0) }
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
        let mut nearest = BTreeMap::new();
        for table in ["net/tcp", "net/tcp6"] {
            let Ok(table) = std::fs::File::open(self.root.join(table)) else { continue };
            for (port, socket) in sockets(BufReader::new(table), ports) {
                let known = nearest.entry(port).or_insert(socket);
                *known = socket.min(*known);
            }
        }
        nearest
    }

    /// Takes those of the wanted sockets that this process holds, and returns their ports.
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

/// Returns the listening sockets on these ports that a connect to 127.0.0.1 can reach.
///
/// Source: `Documentation/networking/proc_net_tcp.rst` in the kernel: listening sockets come first, and each 32-bit word of an
/// address is in the host's byte order.
fn sockets(table: impl BufRead, ports: &RangeInclusive<u16>) -> Vec<(u16, Socket)> {
    let mut found = Vec::new();
    for line in table.lines().map_while(Result::ok).skip(1) {
        let mut fields = line.split_whitespace().skip(1);
        let (address, state, user, inode) = (fields.next(), fields.nth(1), fields.nth(3), fields.nth(1));
        let Some((address, at)) = address.and_then(|address| address.rsplit_once(':')) else { continue };
        let Ok(port) = u16::from_str_radix(at, 16) else { continue };
        match state {
            Some(LISTEN) if ports.contains(&port) => {}
            // Old kernels list half-open connections beside their listener.
            Some(LISTEN | SYN_RECV) => continue,
            _ => break,
        }
        let words = address.as_bytes().chunks(8).map(|word| {
            let word = std::str::from_utf8(word).unwrap_or_default();
            u32::from_str_radix(word, 16).map(u32::to_ne_bytes)
        });
        let Ok(words) = words.collect::<Result<Vec<_>, _>>() else { continue };
        let distance = match words.as_slice() {
            [[127, ..]] => 0,
            [[0, 0, 0, 0]] => 1,
            [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0xff, 0xff], [127, ..]] => 0,
            [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]] => 2,
            _ => continue,
        };
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

    const HEADER: &str =
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
            HEADER.to_owned(),
            line("00000000:21FC", "0A", 1000, 111),
            line("0100007F:21FC", "03", 1000, 0),
            "   nonsense\n".to_owned(),
            line("0100007F:21FC", "0A", 1000, 222),
            line("0101A8C0:21FC", "0A", 1000, 444),
            line("0100007F:21FC", "01", 1000, 333),
            line("0100007F:21FC", "0A", 1000, 555),
        ];
        let table = table.concat();
        let found = sockets(table.as_bytes(), &(0x21f0..=0x21fc));
        assert_eq!(found, [(0x21fc, socket(1, 111)), (0x21fc, socket(0, 222))]);
        assert_eq!(sockets(table.as_bytes(), &(1..=1)), []);
        let six = HEADER.to_owned() + &line("00000000000000000000000000000000:21FC", "0A", 1000, 555);
        assert_eq!(sockets(six.as_bytes(), &(0x21fc..=0x21fc)), [(0x21fc, socket(2, 555))]);
    }

    #[tokio::test]
    async fn only_the_process_that_listens_is_found_to() {
        let listener = crate::net::Net::bind(&crate::net::Tcp, 0).await.unwrap();
        let (port, ours, proc) = (listener.local_addr().port(), std::process::id(), Proc::default());
        for expected in [None, Some(ours), Some(1), Some(u32::MAX)] {
            assert_eq!(proc.listener(port, expected), Some(ours), "{expected:?}");
        }
        let around = port.saturating_sub(3)..=port.saturating_add(3);
        assert!(proc.listens_among(ours, &around).contains(&port));
        drop(listener);
        assert_eq!(proc.listener(port, Some(ours)), None);
    }

    /// A desktop has thousands of processes. Only to name a program that nobody expected, more than one is read.
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
            HEADER.to_owned() + &line("0100007F:21FC", "0A", user, 222) + &line("0100007F:21FD", "0A", user + 1, 223);
        std::fs::write(root.join("net/tcp"), table).unwrap();
        let read = |port: u16, expected: Option<u32>| {
            let proc = Proc { root: root.to_owned(), read: Cell::new(0) };
            (proc.listener(port, expected), proc.read.get())
        };
        assert_eq!(read(0x21fc, Some(EDITOR)), (Some(EDITOR), 1), "the editor listens");
        assert_eq!(read(0x21fe, Some(EDITOR)), (None, 0), "nobody listens");
        assert_eq!(read(0x21fe, None), (None, 0), "nobody listens");
        assert_eq!(read(0x21fd, Some(EDITOR)), (None, 1), "another user's process listens");
        let (named, all) = read(0x21fc, Some(1));
        assert_eq!(named, Some(EDITOR), "a program is named that nobody expected");
        assert!(all <= OTHERS as usize + 1, "{all}");
        let proc = Proc { root: root.to_owned(), read: Cell::new(0) };
        assert_eq!((proc.listens_among(EDITOR, &(0x21f0..=0x21ff)), proc.read.get()), (vec![0x21fc], 1));
    }
}
