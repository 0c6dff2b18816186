//! A request, and the checks of where it comes from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Uri};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rules::Rules;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    target: Uri,
    pub headers: HeaderMap,
    /// The body; empty if the rules accept no bodies.
    pub body: Bytes,
}

/// The head of a request whose body was not read.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub method: &'a Method,
    target: &'a Uri,
    pub headers: &'a HeaderMap,
    /// The address of the listener.
    pub own: SocketAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Refused {
    /// The request is not HTTP/1, or its target is not a valid path of this server.
    NotHttp,
    CutOff,
    HeadTooLarge,
    BodyTooLarge,
    /// The request has a `Transfer-Encoding` header, or is a `POST` without `Content-Length`.
    NoLength,
    BadMethod,
    /// The `Host` header names another host or port, is missing, or occurs twice.
    BadHost,
    /// A web page sent the request: it has an `Origin` header, and the page may not ask.
    FromAPage,
    Unauthorized,
    NotFound,
    BadType,
    NotAcceptable,
    TooSlow,
    Busy,
    Ending,
}

impl Request {
    /// Returns the path as it was sent.
    ///
    /// # Errors
    /// [`Refused::NotHttp`] if the target is not a path of this server.
    pub fn path(&self) -> Result<&str, Refused> {
        path_of(&self.target)
    }

    /// Returns the decoded segments of the path: `/logs/a%2Fb` has `logs` and `a/b`.
    ///
    /// # Errors
    /// [`Refused::NotHttp`] if the target is not a path of this server, or its percent encoding is invalid.
    pub fn parts(&self) -> Result<Vec<String>, Refused> {
        parts_of(&self.target)
    }

    /// Returns the number that the query has under this name; `None` if the name is missing or its first value is not a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut pairs = self.target.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok())
    }
}

impl<'a> Head<'a> {
    pub(super) fn of(request: &'a hyper::Request<Incoming>, own: SocketAddr) -> Self {
        Self { method: request.method(), target: request.uri(), headers: request.headers(), own }
    }

    /// Returns the decoded segments of the path, as [`Request::parts`] does.
    ///
    /// # Errors
    /// As [`Request::parts`].
    pub fn parts(&self) -> Result<Vec<String>, Refused> {
        parts_of(self.target)
    }

    /// Returns the only value of a header. `None` if the header is missing, occurs twice, or has characters other than
    /// those of a text.
    pub fn only(&self, name: HeaderName) -> Option<&'a str> {
        let mut values = self.headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())?.to_str().ok().map(str::trim)
    }
}

/// Takes the host out of a target that has one (`http://localhost/logs`), if the `Host` header names the same host: the
/// checks look only at that header. Some clients always send such a target (RFC 9112, section 3.2.2).
pub(super) fn to_path<B>(request: &mut hyper::Request<B>) {
    let target = request.uri();
    let (Some("http"), Some(authority)) = (target.scheme_str(), target.authority()) else { return };
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_named = hosts.next().is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()));
    if let (true, None, Some(path)) = (is_named, hosts.next(), target.path_and_query().cloned()) {
        *request.uri_mut() = path.into();
    }
}

fn path_of(target: &Uri) -> Result<&str, Refused> {
    let path = target.path();
    if target.authority().is_some() || !path.starts_with('/') {
        return Err(Refused::NotHttp);
    }
    Ok(path)
}

fn parts_of(target: &Uri) -> Result<Vec<String>, Refused> {
    path_of(target)?.split('/').skip(1).map(|part| decoded(part).ok_or(Refused::NotHttp)).collect()
}

/// Reads the body of an admitted request, if the rules allow a body. Also returns the room that the body takes.
pub(super) async fn read(
    request: hyper::Request<Incoming>,
    own: SocketAddr,
    rules: &Rules,
    bodies: &Arc<Semaphore>,
) -> Result<(Request, Option<OwnedSemaphorePermit>), Refused> {
    let (head, body) = request.into_parts();
    let (body, room) = match rules.body_max {
        Some(max) => {
            let seen = Head { method: &head.method, target: &head.uri, headers: &head.headers, own };
            check_length(&seen, body.size_hint().exact(), max, rules)?;
            whole(body, max, bodies).await?
        }
        None => (Bytes::new(), None),
    };
    Ok((Request { method: head.method, target: head.uri, headers: head.headers, body }, room))
}

/// Admits requests to this machine's own names. Requests of web pages are admitted only if `pages` is set.
pub(super) fn admit_local(head: &Head<'_>, pages: bool) -> Result<(), Refused> {
    if !head.only(header::HOST).is_some_and(|host| is_loopback_host(host, head.own.port())) {
        return Err(Refused::BadHost);
    }
    if !pages && head.headers.contains_key(header::ORIGIN) {
        return Err(Refused::FromAPage);
    }
    Ok(())
}

fn check_length(head: &Head<'_>, length: Option<u64>, max: usize, rules: &Rules) -> Result<(), Refused> {
    let has = |name: HeaderName| head.headers.contains_key(name);
    if has(header::TRANSFER_ENCODING) && rules.lasting.kept().is_some() {
        return Ok(());
    }
    if has(header::TRANSFER_ENCODING) || (head.method == Method::POST && !has(header::CONTENT_LENGTH)) {
        return Err(Refused::NoLength);
    }
    match length.and_then(|length| usize::try_from(length).ok()) {
        Some(length) if length <= max => Ok(()),
        _ => Err(Refused::BodyTooLarge),
    }
}

/// Reads a body of at most `max` bytes, as long as there is room for it.
async fn whole(
    mut body: Incoming,
    max: usize,
    bodies: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Refused> {
    let mut room: Option<OwnedSemaphorePermit> = None;
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Refused::CutOff)?.into_data() else { continue };
        length += piece.len();
        if length > max {
            return Err(Refused::BodyTooLarge);
        }
        let count = u32::try_from(piece.len()).map_err(|_| Refused::BodyTooLarge)?;
        let more = Arc::clone(bodies).try_acquire_many_owned(count).map_err(|_| Refused::Busy)?;
        match &mut room {
            Some(room) => room.merge(more),
            None => room = Some(more),
        }
        pieces.push(piece);
    }
    let bytes = match pieces.as_slice() {
        [] => Bytes::new(),
        [one] => one.clone(),
        several => several.concat().into(),
    };
    Ok((bytes, room))
}

/// Whether a `Host` header names this machine's loopback interface: a literal address or `localhost`, with no port or with
/// `port`.
pub(crate) fn is_loopback_host(host: &str, port: u16) -> bool {
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
