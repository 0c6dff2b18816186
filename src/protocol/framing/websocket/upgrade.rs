//! The request with which a client begins a WebSocket, and the answers to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha1::{Digest as _, Sha1};

use crate::limits::{HTTP_HEAD_MAX_BYTES, HTTP_HEADERS_MAX};

/// What the standard adds to a key before its hash.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The bytes of a key.
const KEY_BYTES: usize = 16;
/// The names under which a program of this machine reaches this process. A page that a browser got from elsewhere has another one in
/// its requests, also if that name leads to 127.0.0.1.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A request to begin a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    /// The bytes of the request. What follows are frames.
    pub length: usize,
    /// What the client is answered.
    pub answer: Bytes,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotUpgraded {
    /// The head of the request is too long.
    TooLong,
    /// It is not HTTP/1.1.
    NotHttp,
    /// It asks for something else.
    Other,
    /// A page in a browser sent it.
    Origin,
    /// It was sent to another host's name.
    Host,
}

impl NotUpgraded {
    /// Returns the reason as a sentence about the client.
    pub fn why(self) -> &'static str {
        match self {
            Self::TooLong => "the head of its request is too long",
            Self::NotHttp => "it does not speak HTTP/1.1",
            Self::Other => "its request is for no WebSocket at the path of the hub",
            Self::Origin => "its request has an Origin, as those of pages in a browser have",
            Self::Host => "its request names another host than 127.0.0.1 or localhost",
        }
    }
}

impl Upgrade {
    /// Reads the request at the beginning of the bytes; `None` if more of them are needed.
    ///
    /// # Errors
    /// [`NotUpgraded`]: the request is refused.
    pub fn read(bytes: &[u8], path: &str) -> Result<Option<Self>, NotUpgraded> {
        let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let head = bytes.get(..HTTP_HEAD_MAX_BYTES).unwrap_or(bytes);
        let length = match request.parse(head) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if head.len() == HTTP_HEAD_MAX_BYTES => return Err(NotUpgraded::TooLong),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(NotUpgraded::TooLong),
            Err(_) => return Err(NotUpgraded::NotHttp),
        };
        let key = judged(&request, path)?;
        let accept = STANDARD.encode(Sha1::digest(format!("{key}{GUID}")));
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        Ok(Some(Self { length, answer: answer.into() }))
    }
}

/// Returns the key of a request that is a client's, and that no browser sent for a page.
fn judged<'a>(request: &httparse::Request<'_, 'a>, path: &str) -> Result<&'a str, NotUpgraded> {
    let all = |name: &'static str| {
        let named = request.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| std::str::from_utf8(header.value).unwrap_or_default().trim())
    };
    // A header that comes twice counts as none.
    let one = |name| Some(all(name)).and_then(|mut all| all.next().filter(|_| all.next().is_none()));
    let has_word = |name, word: &str| {
        all(name).flat_map(|value| value.split(',')).any(|said| said.trim().eq_ignore_ascii_case(word))
    };
    if request.version != Some(1) {
        return Err(NotUpgraded::NotHttp);
    }
    if all("Origin").next().is_some() {
        return Err(NotUpgraded::Origin);
    }
    let host = one("Host").ok_or(NotUpgraded::Host)?;
    let without_port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = without_port.map_or(host, |(host, _)| host);
    if !HOSTS.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return Err(NotUpgraded::Host);
    }
    let is_upgrade = request.method == Some("GET")
        && request.path == Some(path)
        && has_word("Upgrade", "websocket")
        && has_word("Connection", "Upgrade")
        && one("Sec-WebSocket-Version") == Some("13");
    let is_key = |key: &&str| STANDARD.decode(key).is_ok_and(|key| key.len() == KEY_BYTES);
    one("Sec-WebSocket-Key").filter(|_| is_upgrade).filter(is_key).ok_or(NotUpgraded::Other)
}

/// Encodes the answer to a request that is refused.
pub fn refusal(why: &str) -> Bytes {
    let head = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    format!("{head}Content-Length: {}\r\n\r\n{why}\n", why.len() + 1).into()
}
