//! An answer of the HTTP server.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::AsyncWriteExt as _;

use super::peer::{Delivered, Progress};
use crate::net::BoxStream;

/// The stream of an answer breaks off: the client has hung up, or its request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer is cut off")]
pub struct Cut;

/// An answer with one body of known length. Added headers keep other sites from reading the answer, and caches from
/// storing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: StatusCode,
    /// The content type; empty for an answer without one.
    pub kind: &'static str,
    pub extra: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

/// The answer to a request: a reply, or a stream.
pub struct Answer {
    /// The reply; its body is empty if there is a stream.
    reply: Reply,
    stream: Option<UnsyncBoxBody<Bytes, Cut>>,
    delivered: Option<Delivered>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, stream: None, delivered: None }
    }
}

impl Answer {
    /// Returns an answer whose body comes in pieces. `reply`: its head.
    pub fn stream(reply: Reply, stream: impl Body<Data = Bytes, Error = Cut> + Send + 'static) -> Self {
        Self { reply, stream: Some(stream.boxed_unsync()), delivered: None }
    }

    /// Sets a function that is called when all of the answer was handed to the system.
    #[must_use]
    pub fn when_delivered(mut self, delivered: Delivered) -> Self {
        self.delivered = Some(delivered);
        self
    }

    /// Converts the answer into hyper's form. hyper writes it as the answer to a request that hyper has read.
    pub(super) fn into_response(mut self, closes: bool, progress: &Arc<Progress>) -> Response<Watched> {
        let headers = self.reply.headers(closes, self.stream.is_none());
        let body =
            self.stream.unwrap_or_else(|| Full::new(self.reply.body).map_err(|never| match never {}).boxed_unsync());
        progress.answer(self.delivered);
        let mut response = Response::new(Watched { body, progress: Arc::clone(progress) });
        *response.status_mut() = self.reply.status;
        *response.headers_mut() = headers;
        response
    }
}

/// The body of an answer, which reports when hyper has all of it.
pub(super) struct Watched {
    body: UnsyncBoxBody<Bytes, Cut>,
    progress: Arc<Progress>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.progress.whole();
    }
}

impl Reply {
    pub fn new(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, kind, extra: Vec::new(), body: body.into() }
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.extra.push((name, value));
        self
    }

    fn headers(&mut self, closes: bool, has_length: bool) -> HeaderMap {
        let fixed = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.kind)),
            (header::CONTENT_LENGTH, self.body.len().into()),
            (header::CONNECTION, HeaderValue::from_static("close")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        ];
        let left_out = [
            (header::CONTENT_TYPE, self.kind.is_empty()),
            (header::CONTENT_LENGTH, !has_length),
            (header::CONNECTION, !closes),
        ];
        let is_left_out = |name: &HeaderName| left_out.iter().any(|(left_out, is)| *is && left_out == name);
        fixed.into_iter().filter(|(name, _)| !is_left_out(name)).chain(self.extra.drain(..)).collect()
    }

    /// Writes the answer to a request that hyper could not read, and closes the stream.
    pub(super) async fn write(mut self, stream: &mut BoxStream) -> io::Result<()> {
        let mut bytes = format!("HTTP/1.1 {}\r\n", self.status).into_bytes();
        for (name, value) in &self.headers(true, true) {
            for part in [title_case(name).as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes).await?;
        stream.shutdown().await
    }
}

/// Spells a header's name in the way hyper writes it.
fn title_case(name: &HeaderName) -> String {
    let mut begins = true;
    let letters = name.as_str().chars().map(|letter| {
        let shown = if begins { letter.to_ascii_uppercase() } else { letter };
        begins = letter == '-';
        shown
    });
    letters.collect()
}
