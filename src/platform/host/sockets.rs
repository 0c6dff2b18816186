//! Finds out, on Linux, whether an expected process listens on a port. Only that process is examined.
//!
//! The kernel reports the inode of a listening socket at once. To find the process that holds the socket without knowing it, the
//! descriptors of every process must be read. That takes milliseconds on a desktop, at each reconnect.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// The state LISTEN in the kernel's socket tables (`include/net/tcp_states.h`).
const LISTEN: &str = "0A";

/// Whether this process holds the socket that accepts connections to this loopback port.
pub fn listens(pid: u32, port: u16) -> bool {
    !listens_among(pid, port..=port).is_empty()
}

/// Returns those of these loopback ports for which this process holds the accepting socket. The tables are read only once for all
/// ports: the kernel goes through all its sockets for a table, which takes milliseconds.
pub fn listens_among(pid: u32, ports: RangeInclusive<u16>) -> Vec<u16> {
    let table = |name: &str| std::fs::read_to_string(Path::new("/proc/net").join(name)).unwrap_or_default();
    // A connect to 127.0.0.1 reaches the socket whose address is nearest.
    let mut nearest = BTreeMap::<u16, (u8, u64)>::new();
    for name in ["tcp", "tcp6"] {
        for (port, distance, inode) in sockets(&table(name), &ports) {
            let known = nearest.entry(port).or_insert((distance, inode));
            *known = (distance, inode).min(*known);
        }
    }
    let mut wanted: BTreeMap<String, u16> =
        nearest.into_iter().map(|(port, (_, inode))| (format!("socket:[{inode}]"), port)).collect();
    let mut found = Vec::new();
    if wanted.is_empty() {
        return found;
    }
    let folder = Path::new("/proc").join(pid.to_string()).join("fd");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(link) = entry.path().read_link() else { continue };
        found.extend(link.to_str().and_then(|link| wanted.remove(link)));
        if wanted.is_empty() {
            break;
        }
    }
    found.sort_unstable();
    found
}

/// Returns the listening sockets on these ports that a connect to 127.0.0.1 can reach: for each, the port, the distance of its
/// address from 127.0.0.1, and the inode.
///
/// Source: `Documentation/networking/proc_net_tcp.rst` in the kernel; each 32-bit word of an address is in the host's byte order.
fn sockets(table: &str, ports: &RangeInclusive<u16>) -> Vec<(u16, u8, u64)> {
    let mut found = Vec::new();
    for line in table.lines().skip(1) {
        let mut fields = line.split_whitespace().skip(1);
        let (address, state, inode) = (fields.next(), fields.nth(1), fields.nth(5));
        let Some((address, at)) = address.and_then(|address| address.rsplit_once(':')) else { continue };
        let Ok(port) = u16::from_str_radix(at, 16) else { continue };
        if state != Some(LISTEN) || !ports.contains(&port) {
            continue;
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
        found.extend(inode.and_then(|inode| inode.parse().ok()).map(|inode| (port, distance, inode)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_kernels_table_is_read_and_the_nearest_address_wins() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 00000000:21FC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0\n\
            1: 0100007F:21FC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 100 0 0 10 0\n\
            2: 0100007F:21FC 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0 20 4 30 10 -1\n\
            3: 0101A8C0:21FC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 444 1 0 100 0 0 10 0\n\
            4: nonsense\n";
        assert_eq!(sockets(table, &(0x21f0..=0x21fc)), [(0x21fc, 1, 111), (0x21fc, 0, 222)]);
        assert_eq!(sockets(table, &(1..=1)), []);
        let six = "header\n   0: 00000000000000000000000000000000:21FC 0:0 0A 0:0 00:0 0 0 0 555 1\n";
        assert_eq!(sockets(six, &(0x21fc..=0x21fc)), [(0x21fc, 2, 555)]);
    }

    #[tokio::test]
    async fn only_the_process_that_listens_is_found_to() {
        let listener = crate::net::Net::bind(&crate::net::Tcp, 0).await.unwrap();
        let port = listener.local_addr().port();
        assert!(listens(std::process::id(), port));
        assert!(!listens(1, port) && !listens(u32::MAX, port));
        let around = port.saturating_sub(3)..=port.saturating_add(3);
        assert!(listens_among(std::process::id(), around).contains(&port));
        drop(listener);
        assert!(!listens(std::process::id(), port));
    }
}
