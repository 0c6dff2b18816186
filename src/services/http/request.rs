//! A request, and the checks of where it comes from.

use std::net::{IpAddr, SocketAddr};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Uri};

use super::rules::Rules;

/// A request that passed the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    target: Uri,
    /// The body; empty if the rules accept no bodies.
    pub body: Bytes,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Refused {
    /// It is not a request of HTTP/1, or its target is not a valid path of this server.
    NotHttp,
    /// The client closed the connection before the request was complete.
    CutOff,
    /// The head is too long or has too many headers.
    HeadTooLarge,
    /// The body is longer than the rules allow.
    BodyTooLarge,
    /// It has a `Transfer-Encoding` header, or is a `POST` without `Content-Length`.
    NoLength,
    /// The service does not answer this method.
    BadMethod,
    /// The `Host` header names another host or port, is missing, or occurs twice.
    BadHost,
    /// A web page sent the request: it has an `Origin` header.
    FromAPage,
    /// The request was not complete in time.
    TooSlow,
    /// Too many connections are open.
    Busy,
}

impl Request {
    /// Returns the path as it was sent.
    ///
    /// # Errors
    /// [`Refused::NotHttp`] if the target is not a path of this server.
    pub fn path(&self) -> Result<&str, Refused> {
        let path = self.target.path();
        if self.target.authority().is_some() || !path.starts_with('/') {
            return Err(Refused::NotHttp);
        }
        Ok(path)
    }

    /// Returns the decoded segments of the path: `/logs/a%2Fb` has `logs` and `a/b`.
    ///
    /// # Errors
    /// [`Refused::NotHttp`] if the target is not a path of this server, or its percent encoding is invalid.
    pub fn parts(&self) -> Result<Vec<String>, Refused> {
        self.path()?.split('/').skip(1).map(|part| decoded(part).ok_or(Refused::NotHttp)).collect()
    }

    /// Returns the number that the query has under this name; `None` if the name is missing or its first value is not a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut pairs = self.target.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok())
    }
}

/// Checks the head and reads the body, if the rules allow one.
pub(super) async fn read(
    request: hyper::Request<Incoming>,
    own: SocketAddr,
    rules: &Rules,
) -> Result<Request, Refused> {
    let (head, body) = request.into_parts();
    check(&head.method, &head.headers, body.size_hint().exact(), own, rules)?;
    let body = match rules.body_max {
        // The announced length was checked, and hyper reads no more bytes than announced.
        Some(_) => body.collect().await.map_err(|_| Refused::CutOff)?.to_bytes(),
        None => Bytes::new(),
    };
    Ok(Request { method: head.method, target: head.uri, body })
}

/// Checks a head before any of its body is read. `length`: the announced length of the body.
fn check(
    method: &Method,
    headers: &HeaderMap,
    length: Option<u64>,
    own: SocketAddr,
    rules: &Rules,
) -> Result<(), Refused> {
    let has = |name: HeaderName| headers.contains_key(name);
    // The host is checked first: a web page of another host must learn nothing, not even which methods exist.
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

/// Whether a `Host` header names this machine's loopback interface: a literal address or `localhost`, with no port or with
/// `port`.
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

/// Decodes one segment of a path; `None` if its percent encoding is invalid or the result is not UTF-8.
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
