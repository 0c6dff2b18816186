//! Ports that stay ours while nothing listens on them.
//!
//! A port that the system hands out is free again as soon as its listener closes, and the next program that wants any port, or that
//! connects to something, may get it. An editor that reloads or is started again would find its port taken.

#![expect(clippy::disallowed_types, reason = "a port is claimed at once and without waiting, nothing is sent")]

use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;

use crate::limits::{HANDED_OUT_FROM, OWN_PORTS, PORTS_EACH};

/// A TCP port on loopback that no other holder of an [`OwnPort`] has, in any process of this machine, until it is dropped. Nor does
/// another have one of the ports behind it, to which some packages move.
///
/// The claim is a UDP socket with the same number: it ends with its process, and hinders no TCP listener.
#[derive(Debug)]
pub struct OwnPort {
    number: u16,
    /// `None` if the system hands out every port, so that none can be kept from others.
    _claim: Option<UdpSocket>,
}

impl OwnPort {
    /// Takes a port that the system hands out to nobody. It is free at this moment.
    ///
    /// # Errors
    /// The system has no port at all.
    pub fn take() -> io::Result<Self> {
        let all: Vec<u16> = below(handed_out_from()).step_by(PORTS_EACH).collect();
        // Each process begins elsewhere, so that few of them try the same ports.
        let first = if all.is_empty() { 0 } else { fastrand::usize(..all.len()) };
        for &number in all[first..].iter().chain(&all[..first]) {
            if let Ok(own) = Self::of(number) {
                return Ok(own);
            }
        }
        let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Self { number: any.local_addr()?.port(), _claim: None })
    }

    /// Claims this port, which a program asks for by its number.
    ///
    /// # Errors
    /// Somebody has it.
    pub fn of(number: u16) -> io::Result<Self> {
        let claim = UdpSocket::bind((Ipv4Addr::LOCALHOST, number))?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number))?;
        Ok(Self { number, _claim: Some(claim) })
    }

    /// The port.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// The ports of [`OWN_PORTS`] that are below the first one that the system hands out.
fn below(handed_out_from: u16) -> Range<u16> {
    OWN_PORTS.start..OWN_PORTS.end.min(handed_out_from).max(OWN_PORTS.start)
}

/// The first port that the system chooses by itself.
fn handed_out_from() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
    range.and_then(|range| range.split_whitespace().next()?.parse().ok()).unwrap_or(HANDED_OUT_FROM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_owner_and_the_system_hands_it_out_to_nobody() {
        let ports: Vec<OwnPort> = (0..50).map(|_| OwnPort::take().unwrap()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(OwnPort::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ports.len());
        if !below(handed_out_from()).is_empty() {
            assert!(numbers.iter().all(|number| *number < handed_out_from()), "{numbers:?}");
            // It can be listened on, as often as its owner wants.
            for _ in 0..2 {
                drop(TcpListener::bind((Ipv4Addr::LOCALHOST, numbers[0])).unwrap());
            }
        }
    }

    #[test]
    fn where_the_system_hands_out_low_ports_only_those_below_are_used() {
        assert_eq!(below(32_768), OWN_PORTS);
        assert_eq!(below(OWN_PORTS.start + 7), OWN_PORTS.start..OWN_PORTS.start + 7);
        assert!(below(1024).is_empty());
    }
}
