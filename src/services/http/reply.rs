//! An answer of the HTTP server.

use std::io;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::AsyncWriteExt as _;

use crate::net::BoxStream;

/// An answer with one body of known length. The headers that are added to it keep other sites from reading it and caches from
/// storing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: StatusCode,
    /// The content type.
    pub kind: &'static str,
    /// Additional headers.
    pub extra: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: String,
}

impl Reply {
    /// Returns an answer without additional headers.
    pub fn new(status: StatusCode, kind: &'static str, body: impl Into<String>) -> Self {
        Self { status, kind, extra: Vec::new(), body: body.into() }
    }

    /// Adds a header.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.extra.push((name, value));
        self
    }

    fn headers(&mut self) -> HeaderMap {
        let fixed = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.kind)),
            (header::CONTENT_LENGTH, self.body.len().into()),
            (header::CONNECTION, HeaderValue::from_static("close")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        ];
        fixed.into_iter().chain(self.extra.drain(..)).collect()
    }

    /// Converts the answer into hyper's form. hyper writes it after a request that hyper has read.
    pub(super) fn into_response(mut self) -> Response<Full<Bytes>> {
        let headers = self.headers();
        let mut response = Response::new(Full::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }

    /// Writes the answer to a request that hyper could not read, and closes the stream.
    pub(super) async fn write(mut self, stream: &mut BoxStream) -> io::Result<()> {
        let mut bytes = format!("HTTP/1.1 {}\r\n", self.status).into_bytes();
        for (name, value) in &self.headers() {
            for part in [title_case(name).as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_bytes());
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
