//! The part of HTTP/1.1 that a client of the editor needs: one request and one response on a connection.
//!
//! `httparse` reads the response head and the chunk sizes, where errors are most likely.

use std::borrow::Cow;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem;

use super::BadFrame;
use crate::limits::{FRAME_LENGTH_DIGITS_MAX, HTTP_HEAD_MAX_BYTES, HTTP_HEADERS_MAX};

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// The `Server` header.
    pub server: Option<String>,
    /// The body, with the transfer coding removed.
    pub body: Bytes,
}

/// Why bytes are not a valid response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    /// The bytes are not HTTP/1.1, or have a transfer coding other than `chunked`.
    #[error("not HTTP/1.1")]
    NotHttp,
    /// The head or a length is not accepted.
    #[error(transparent)]
    Frame(#[from] BadFrame),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Path and query, with the leading `/`.
    pub path: Cow<'static, str>,
    /// Headers beside those that [`Request::encode`] sets itself.
    pub headers: &'static [(&'static str, &'static str)],
    /// The body; may be empty.
    pub body: Bytes,
}

impl Request {
    /// Encodes the request for the server on this port of 127.0.0.1. `token`: the bearer token that the server asks for, if any.
    ///
    /// The length is always sent: Mono's listener answers 411 to a POST without it, with or without a body. Path and token may
    /// have what a peer said: a byte that would end their line is percent-encoded in a path, and such a token is not sent.
    pub fn encode(&self, port: u16, token: Option<&str>) -> Bytes {
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        let path = self.path.bytes().map(|byte| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        });
        let token = token.filter(|token| token.bytes().all(is_plain));
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n",
            self.method,
            path.collect::<String>(),
            token.into_iter().chain(headers).collect::<String>(),
            self.body.len()
        );
        let mut bytes = BytesMut::with_capacity(head.len() + self.body.len());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes.freeze()
    }
}

/// The parts of a response head that are used.
#[derive(Debug, Clone)]
struct Head {
    status: u16,
    server: Option<String>,
}

#[derive(Debug)]
enum Stage {
    Head,
    /// A body of this many bytes.
    Known(Head, usize),
    /// A body that ends with the connection.
    UntilClose(Head),
    /// The size line of a chunk.
    ChunkSize(Head, BytesMut),
    /// A chunk of this many bytes and its line end.
    Chunk(Head, BytesMut, usize),
    /// The trailer after the last chunk.
    Trailer(Head, BytesMut),
}

/// Reads one response from a connection's bytes. It does not matter how the bytes are split.
#[derive(Debug)]
pub struct ResponseDecoder {
    max: usize,
    buffer: BytesMut,
    stage: Stage,
}

impl ResponseDecoder {
    /// Makes a decoder for a response with a body of up to `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { max: max_bytes, buffer: BytesMut::new(), stage: Stage::Head }
    }

    /// Takes the next bytes and returns the response once it is complete. Bytes after the response are ignored.
    ///
    /// # Errors
    /// [`BadResponse`]: the connection must be closed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Response>, BadResponse> {
        self.buffer.extend_from_slice(bytes);
        loop {
            let before = std::mem::replace(&mut self.stage, Stage::Head);
            match self.step(before)? {
                Step::Whole(response) => return Ok(Some(response)),
                Step::On(stage) => self.stage = stage,
                Step::Wait(stage) => {
                    self.stage = stage;
                    return Ok(None);
                }
            }
        }
    }

    /// Handles the end of the connection. Returns the response if its body ends with the connection; `None` if the response is
    /// incomplete.
    pub fn end(self) -> Option<Response> {
        match self.stage {
            Stage::UntilClose(head) => Some(whole(head, self.buffer)),
            _ => None,
        }
    }

    fn step(&mut self, stage: Stage) -> Result<Step, BadResponse> {
        match stage {
            Stage::Head => self.head(),
            Stage::Known(head, length) if self.buffer.len() >= length => {
                Ok(Step::Whole(whole(head, self.buffer.split_to(length))))
            }
            Stage::Known(head, length) => Ok(Step::Wait(Stage::Known(head, length))),
            Stage::UntilClose(head) => {
                self.check(self.buffer.len())?;
                Ok(Step::Wait(Stage::UntilClose(head)))
            }
            Stage::ChunkSize(head, body) => match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((line, 0))) => {
                    self.buffer.advance(line);
                    Ok(Step::On(Stage::Trailer(head, body)))
                }
                Ok(httparse::Status::Complete((line, size))) => {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    self.check(body.len().saturating_add(size))?;
                    self.buffer.advance(line);
                    Ok(Step::On(Stage::Chunk(head, body, size)))
                }
                Ok(httparse::Status::Partial) => self.patience(Stage::ChunkSize(head, body)),
                Err(httparse::InvalidChunkSize) => Err(BadResponse::NotHttp),
            },
            Stage::Chunk(head, mut body, size) => {
                if self.buffer.len() < size.saturating_add(2) {
                    return Ok(Step::Wait(Stage::Chunk(head, body, size)));
                }
                body.extend_from_slice(&self.buffer.split_to(size));
                if !self.buffer.starts_with(b"\r\n") {
                    return Err(BadResponse::NotHttp);
                }
                self.buffer.advance(2);
                Ok(Step::On(Stage::ChunkSize(head, body)))
            }
            Stage::Trailer(head, body) => {
                let ended = self.buffer.starts_with(b"\r\n") || memmem::find(&self.buffer, b"\r\n\r\n").is_some();
                if ended { Ok(Step::Whole(whole(head, body))) } else { self.patience(Stage::Trailer(head, body)) }
            }
        }
    }

    fn head(&mut self) -> Result<Step, BadResponse> {
        let mut headers = [httparse::EMPTY_HEADER; HTTP_HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(&self.buffer) {
            Ok(httparse::Status::Complete(length)) if length <= HTTP_HEAD_MAX_BYTES => length,
            Ok(httparse::Status::Complete(_)) | Err(httparse::Error::TooManyHeaders) => {
                return Err(BadFrame::HeaderTooLong { max: HTTP_HEAD_MAX_BYTES }.into());
            }
            Ok(httparse::Status::Partial) => return self.patience(Stage::Head),
            Err(_) => return Err(BadResponse::NotHttp),
        };
        // A code of three digits may still be below 100, which is not a valid status.
        let status = response.code.filter(|status| *status >= 100).ok_or(BadResponse::NotHttp)?;
        let mut values = Values::default();
        for header in response.headers.iter() {
            values.take(header)?;
        }
        let Values { server, length: known, chunked } = values;
        self.buffer.advance(length);
        let head = Head { status, server };
        Ok(Step::On(match (status, chunked, known) {
            // An interim response; the final one follows.
            (100..=199, ..) => Stage::Head,
            (204 | 304, ..) => Stage::Known(head, 0),
            (_, true, _) => Stage::ChunkSize(head, BytesMut::new()),
            (_, false, Some(length)) => {
                let bytes = usize::try_from(length).unwrap_or(usize::MAX);
                if bytes > self.max {
                    return Err(BadFrame::TooLarge { length, max: self.max }.into());
                }
                Stage::Known(head, bytes)
            }
            (_, false, None) => Stage::UntilClose(head),
        }))
    }

    fn check(&self, bytes: usize) -> Result<(), BadFrame> {
        if bytes <= self.max {
            return Ok(());
        }
        // `max + 1` stands for every length above the bound, so that the error does not depend on how the bytes were split.
        Err(BadFrame::TooLarge { length: (self.max as u64).saturating_add(1), max: self.max })
    }

    /// Waits for more bytes of a head, a chunk size or a trailer. Fails if they exceed `HTTP_HEAD_MAX_BYTES`.
    fn patience(&self, stage: Stage) -> Result<Step, BadResponse> {
        if self.buffer.len() > HTTP_HEAD_MAX_BYTES {
            return Err(BadFrame::HeaderTooLong { max: HTTP_HEAD_MAX_BYTES }.into());
        }
        Ok(Step::Wait(stage))
    }
}

enum Step {
    /// The response is complete.
    Whole(Response),
    /// The next stage begins; the buffer may already hold its bytes.
    On(Stage),
    /// More bytes are needed.
    Wait(Stage),
}

fn whole(head: Head, body: BytesMut) -> Response {
    Response { status: head.status, server: head.server, body: body.freeze() }
}

/// The headers that are used.
#[derive(Default)]
struct Values {
    server: Option<String>,
    length: Option<u64>,
    chunked: bool,
}

impl Values {
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), BadResponse> {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        if header.name.eq_ignore_ascii_case("Server") {
            self.server = Some(value.to_owned());
        } else if header.name.eq_ignore_ascii_case("Content-Length") {
            if self.length.is_some() {
                return Err(BadFrame::LengthDuplicate.into());
            }
            let digits = value.len() <= FRAME_LENGTH_DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
            let length = digits.then(|| value.parse().ok()).flatten();
            self.length = Some(length.ok_or(BadFrame::LengthMalformed)?);
        } else if header.name.eq_ignore_ascii_case("Transfer-Encoding") {
            match value.to_ascii_lowercase().as_str() {
                "chunked" => self.chunked = true,
                "identity" => {}
                // A transfer coding that the request did not ask for.
                _ => return Err(BadResponse::NotHttp),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
