//! A request, and who may send one.

use std::net::{IpAddr, SocketAddr};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Uri};

use super::rules::Rules;

/// A request that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: Method,
    target: Uri,
    /// Its body, where the rules take one.
    pub body: Bytes,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Refused {
    /// No request of HTTP/1, or one for another server.
    NotHttp,
    /// The peer ended before it had sent all of it.
    CutOff,
    /// Its head is too long or has too many headers.
    HeadTooLarge,
    /// Its body is longer than the rules take.
    BodyTooLarge,
    /// A body without a length.
    NoLength,
    /// The service has no such method.
    BadMethod,
    /// Another host's name, or none, or two.
    BadHost,
    /// A page in a browser sent it.
    FromAPage,
    /// It did not come in time.
    TooSlow,
    /// There are too many connections.
    Busy,
}

impl Request {
    /// The path as it was written.
    ///
    /// # Errors
    /// The target is no path of this server.
    pub fn path(&self) -> Result<&str, Refused> {
        let path = self.target.path();
        if self.target.authority().is_some() || !path.starts_with('/') {
            return Err(Refused::NotHttp);
        }
        Ok(path)
    }

    /// The path's parts without their percent signs: `/logs/a%2Fb` has `logs` and `a/b`.
    ///
    /// # Errors
    /// The target is no path of this server, or its percent signs are broken.
    pub fn parts(&self) -> Result<Vec<String>, Refused> {
        self.path()?.split('/').skip(1).map(|part| decoded(part).ok_or(Refused::NotHttp)).collect()
    }

    /// A number in the query.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut pairs = self.target.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok())
    }
}

/// Reads a request as far as the rules take it.
pub(super) async fn read(
    request: hyper::Request<Incoming>,
    own: SocketAddr,
    rules: &Rules,
) -> Result<Request, Refused> {
    let (head, body) = request.into_parts();
    check(&head.method, &head.headers, body.size_hint().exact(), own, rules)?;
    let body = match rules.body_max {
        // Its length was announced, and is what hyper reads.
        Some(_) => body.collect().await.map_err(|_| Refused::CutOff)?.to_bytes(),
        None => Bytes::new(),
    };
    Ok(Request { method: head.method, target: head.uri, body })
}

/// Looks at a head before anything of the body is read. `length`: the body's, where it was announced.
fn check(
    method: &Method,
    headers: &HeaderMap,
    length: Option<u64>,
    own: SocketAddr,
    rules: &Rules,
) -> Result<(), Refused> {
    let has = |name: HeaderName| headers.contains_key(name);
    // The host first: to somebody else's page not even the method is worth a word.
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_loopback_host(host.trim(), own.port())) || hosts.next().is_some() {
        return Err(Refused::BadHost);
    }
    if !rules.pages && has(header::ORIGIN) {
        return Err(Refused::FromAPage);
    }
    let Some(body_max) = rules.body_max else { return Ok(()) };
    if has(header::TRANSFER_ENCODING) || (method == Method::POST && !has(header::CONTENT_LENGTH)) {
        return Err(Refused::NoLength);
    }
    match length.and_then(|length| usize::try_from(length).ok()) {
        Some(length) if length <= body_max => Ok(()),
        _ => Err(Refused::BodyTooLarge),
    }
}

/// Whether a `Host` header names this machine's loopback: a literal address of it, or `localhost`; without a port, or with this one.
fn is_loopback_host(host: &str, port: u16) -> bool {
    let (name, given) = match host.rsplit_once(':') {
        Some((name, given)) if !given.contains(']') => (name, Some(given)),
        _ => (host, None),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let loopback = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let ours = |given: &str| given.bytes().all(|byte| byte.is_ascii_digit()) && given.parse() == Ok(port);
    loopback && given.is_none_or(ours)
}

/// A part of a path without its percent signs; `None` if it is broken or no UTF-8.
fn decoded(part: &str) -> Option<String> {
    let mut pieces = part.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (hex, rest) = (piece.get(..2)?, piece.get(2..)?);
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
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
