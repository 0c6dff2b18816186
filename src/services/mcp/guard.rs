//! Decides who may use the service, by the hosts by which it is known, by the web page that asks, and by the token.
//!
//! The host and the page are checked first: a page of another site must learn nothing, even if its name was made to
//! point here (DNS rebinding). The token is compared in a time that does not depend on the first difference.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::services::http::header::{self, HeaderValue};
use crate::services::http::{Head, Refused, is_loopback_host};

const SCHEME: &str = "Bearer";

/// A host by which the service is known besides this machine's own names: a name or an address, with a port or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName {
    name: String,
    /// The port. `None`: any port, or no port.
    port: Option<u16>,
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fix = || {
            format!(
                "{text:?} is no host: name it as in a URL, without scheme and path, as in mcp.example.com or 10.0.0.5:8443"
            )
        };
        let (name, port) = split(text).ok_or_else(fix)?;
        let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_of_a_name) {
            return Err(fix());
        }
        Ok(Self { name: name.to_ascii_lowercase(), port })
    }
}

impl HostName {
    fn is(&self, host: &str) -> bool {
        split(host).is_some_and(|(name, port)| {
            self.name.eq_ignore_ascii_case(name) && (self.port.is_none() || self.port == port)
        })
    }
}

/// Splits a host into its name and its port. `None` if the port is not valid.
fn split(host: &str) -> Option<(&str, Option<u16>)> {
    match host.rsplit_once(':') {
        // In an IPv6 address, colons are between brackets.
        Some((name, port)) if !port.contains(']') => {
            let port = port.parse().ok().filter(|_| port.bytes().all(|byte| byte.is_ascii_digit()))?;
            Some((name, Some(port)))
        }
        _ => Some((host, None)),
    }
}

/// Whether a host of a URL, with a port or without, is this machine.
pub fn is_loopback(host: &str) -> bool {
    split(host).is_some_and(|(name, _)| is_loopback_host(name, 0))
}

pub struct Guard {
    hosts: Vec<HostName>,
    /// A key of this process. Tokens of every length are compared by their values under this key, which have one
    /// length.
    key: [u8; 16],
    token: Hmac<Sha256>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Guard {
    /// Makes a guard. `hosts`: the hosts by which the service is known besides this machine's own names; `key`: random bytes.
    pub fn new(token: &str, hosts: Vec<HostName>, key: [u8; 16]) -> Self {
        Self { hosts, key, token: mac(&key, token) }
    }

    /// Checks where a request comes from, and whether it has the token.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn admit(&self, head: &Head<'_>) -> Result<(), Refused> {
        let named = |host: &str| self.hosts.iter().any(|known| known.is(host));
        let own = |host: &str| is_loopback_host(host, head.own.port());
        if !head.only(header::HOST).is_some_and(|host| own(host) || named(host)) {
            return Err(Refused::BadHost);
        }
        let mut pages = head.headers.get_all(header::ORIGIN).iter();
        if !pages.all(|page| self.may_ask(page, head.own)) {
            return Err(Refused::FromAPage);
        }
        let token = head.only(header::AUTHORIZATION).and_then(bearer).unwrap_or_default();
        let expected = self.token.clone().finalize().into_bytes();
        // This comparison takes the same time for every token.
        mac(&self.key, token).verify(&expected).map_err(|_| Refused::Unauthorized)
    }

    /// Whether a page of this origin may ask: it may if it was served at the same address.
    fn may_ask(&self, page: &HeaderValue, own: SocketAddr) -> bool {
        let Some((scheme, host)) = page.to_str().ok().and_then(|page| page.split_once("://")) else { return false };
        let is_own = || {
            let port = split(host).and_then(|(_, port)| port).unwrap_or(80);
            scheme == "http" && port == own.port() && is_loopback_host(host, own.port())
        };
        is_own() || matches!(scheme, "http" | "https") && self.hosts.iter().any(|known| known.is(host))
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim())
}

fn mac(key: &[u8; 16], token: &str) -> Hmac<Sha256> {
    // An HMAC takes a key of any length.
    let mac = <Hmac<Sha256>>::new_from_slice(key);
    let mac = mac.unwrap_or_else(|_| <Hmac<Sha256>>::new(&hmac::digest::Key::<Hmac<Sha256>>::default()));
    mac.chain_update(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_address_with_or_without_a_port() {
        for (known, host, is) in [
            ("mcp.example.com", "mcp.example.com", true),
            ("mcp.example.com", "MCP.example.com:8443", true),
            ("mcp.example.com", "mcp.example.com.evil.example", false),
            ("mcp.example.com:8443", "mcp.example.com:8443", true),
            ("mcp.example.com:8443", "mcp.example.com", false),
            ("mcp.example.com:8443", "mcp.example.com:844", false),
            ("[fe80::1]", "[fe80::1]:80", true),
            ("10.0.0.5", "10.0.0.5:+80", false),
        ] {
            assert_eq!(known.parse::<HostName>().unwrap().is(host), is, "{known} {host}");
        }
        for bad in ["", "https://mcp.example.com", "mcp.example.com/mcp", "a b", "a:b", "a:70000", ":80", "*"] {
            assert!(bad.parse::<HostName>().is_err(), "{bad}");
        }
    }
}
