//! The seam to the network ([`holdfast_net`]), and which names of this machine a server of ours answers to.

use std::net::IpAddr;

pub use holdfast_net::{BoxFuture, BoxStream, Listener, Net, Stream, Tcp};

/// Whether a `Host` header names this machine's loopback: a literal address of it, or `localhost`; without a port, or with this one.
pub fn is_loopback_host(host: &str, port: u16) -> bool {
    let (name, given) = match host.rsplit_once(':') {
        Some((name, given)) if !given.contains(']') => (name, Some(given)),
        _ => (host, None),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let loopback = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let ours = |given: &str| given.bytes().all(|byte| byte.is_ascii_digit()) && given.parse() == Ok(port);
    loopback && given.is_none_or(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_own_names_with_our_port_are_served() {
        for host in ["127.0.0.1:9464", "127.0.0.1", "localhost:9464", "LOCALHOST", "[::1]:9464", "[::1]", "127.8.9.1"] {
            assert!(is_loopback_host(host, 9464), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9464",
            "127.0.0.1:80",
            "127.0.0.1:",
            "localhost:+9464",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9464",
            "0.0.0.0:9464",
            "[::]:9464",
            "192.168.0.1:9464",
            "localhost:9464:9464",
            "[::1",
            "user@localhost",
        ] {
            assert!(!is_loopback_host(host, 9464), "{host}");
        }
    }
}
