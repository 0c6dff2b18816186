//! One request: a bounded head, which `httparse` reads, and a bounded body of an announced length.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::reply::Reply;
use crate::limits::{COMPANION_HEAD_MAX_BYTES, COMPANION_HEADERS_MAX};
use crate::net::{self, BoxStream};

/// A request that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path's parts, decoded.
    path: Vec<String>,
    query: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The path's parts: `/logs/a%2Fb` has `logs` and `a/b`.
    pub(super) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// A number in the query.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok())
    }
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Refused {
    NotHttp,
    HeadTooLarge,
    BodyTooLarge,
    /// A body without a length.
    NoLength,
    /// Another host's name: a web page whose name was made to point here would reach what is nobody else's business.
    BadHost,
    /// A page in a browser sent it; neither Unity nor a tool names an origin.
    FromAPage,
    TooSlow,
}

impl Refused {
    pub(super) fn reply(self) -> Reply {
        let (status, why) = match self {
            Self::NotHttp => (400, "this is no request of HTTP/1.1 with an absolute path"),
            Self::HeadTooLarge => (431, "the request's head is too large"),
            Self::BodyTooLarge => (413, "the request's body is too large; nothing of it was kept"),
            Self::NoLength => (411, "the request has a body without a Content-Length"),
            Self::BadHost => (421, "use 127.0.0.1, [::1] or localhost, with this port"),
            Self::FromAPage => (403, "requests of web pages are not taken"),
            Self::TooSlow => (408, "the request took too long"),
        };
        Reply::error(status, why)
    }
}

/// What a head says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    request: Request,
    /// Its length in bytes.
    end: usize,
    body: usize,
    /// The peer waits for a word before it sends its body, as .NET's clients do.
    expects: bool,
}

/// Reads a request; `None` when the peer went before it had sent one. The caller bounds the time.
pub(super) async fn read(socket: &mut BoxStream, own: SocketAddr, body_max: usize) -> Option<Result<Request, Refused>> {
    let mut bytes = Vec::new();
    let Head { mut request, end, body, expects } = loop {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        match head(&bytes, own) {
            Ok(Some(head)) => break head,
            Ok(None) if bytes.len() < COMPANION_HEAD_MAX_BYTES => {}
            Ok(None) => return Some(Err(Refused::HeadTooLarge)),
            Err(refused) => return Some(Err(refused)),
        }
    };
    if body > body_max {
        return Some(Err(Refused::BodyTooLarge));
    }
    let mut rest = bytes.split_off(end.min(bytes.len()));
    if expects && rest.len() < body {
        socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
    }
    while rest.len() < body {
        if socket.read_buf(&mut rest).await.ok()? == 0 {
            return None;
        }
    }
    rest.truncate(body);
    request.body = rest;
    Some(Ok(request))
}

/// The head that stands at the beginning of these bytes; `None` while it is not whole.
fn head(bytes: &[u8], own: SocketAddr) -> Result<Option<Head>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; COMPANION_HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let end = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused::HeadTooLarge),
        Err(_) => return Err(Refused::NotHttp),
    };
    let all = |name: &'static str| {
        let named = parsed.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| std::str::from_utf8(header.value).unwrap_or_default().trim())
    };
    // The host first: to somebody else's page not even the method is worth a word.
    let mut hosts = all("host");
    if !hosts.next().is_some_and(|host| net::is_loopback_host(host, own.port())) || hosts.next().is_some() {
        return Err(Refused::BadHost);
    }
    if all("origin").next().is_some() {
        return Err(Refused::FromAPage);
    }
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else { return Err(Refused::NotHttp) };
    if all("transfer-encoding").next().is_some() {
        return Err(Refused::NoLength);
    }
    let mut lengths = all("content-length");
    let body = match lengths.next() {
        None if method == "POST" => return Err(Refused::NoLength),
        None => 0,
        Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map_err(|_| Refused::BodyTooLarge)?
        }
        Some(_) => return Err(Refused::NotHttp),
    };
    if lengths.next().is_some() {
        return Err(Refused::NotHttp);
    }
    let expects = all("expect").any(|what| what.eq_ignore_ascii_case("100-continue"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix('/').ok_or(Refused::NotHttp)?;
    let path: Option<Vec<String>> = path.split('/').map(decoded).collect();
    let request = Request {
        method: method.to_owned(),
        path: path.ok_or(Refused::NotHttp)?,
        query: query.to_owned(),
        body: Vec::new(),
    };
    Ok(Some(Head { request, end, body, expects }))
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
mod tests;
