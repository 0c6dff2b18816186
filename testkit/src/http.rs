//! A client of MCP over HTTP that shows what is on the wire, over any stream. It makes no choice of its own: a test says every
//! header.

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The headers that a request of an official client always has.
pub const USUAL: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// The headers, with their names in small letters.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header; empty if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: String,
}

impl Response {
    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// The messages of the response, whether it is JSON or a stream.
    ///
    /// # Panics
    /// If it is neither.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        match self.head.header("content-type") {
            "text/event-stream" => events(&self.body),
            _ => vec![serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))],
        }
    }

    /// The last message.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn answer(&self) -> Value {
        self.messages().pop().unwrap_or_else(|| panic!("no answer: {self:?}"))
    }
}

/// The messages of a stream of server-sent events.
///
/// # Panics
/// If it has something else than comments and messages.
#[must_use]
pub fn events(text: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    for event in text.split("\n\n").filter(|event| !event.is_empty()) {
        if event == ":" {
            continue;
        }
        let data = event.strip_prefix("event: message\ndata: ").unwrap_or_else(|| panic!("an event: {event:?}"));
        messages.push(serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")));
    }
    messages
}

/// The bytes of a POST to this path.
#[must_use]
pub fn post(path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A connection to the server.
pub struct Connection<S> {
    stream: S,
    read: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Speaks over this stream.
    pub fn over(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Sends bytes. That the server has closed the connection is no error here: its answer says why.
    pub async fn send(&mut self, bytes: &str) {
        let _ = self.stream.write_all(bytes.as_bytes()).await;
    }

    /// Closes the sending side.
    pub async fn hang_up(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Reads more bytes. Returns false at the end of the connection.
    async fn more(&mut self) -> bool {
        let mut bytes = vec![0; 64 * 1024];
        match self.stream.read(&mut bytes).await {
            Ok(count @ 1..) => {
                self.read.extend_from_slice(&bytes[..count]);
                true
            }
            _ => false,
        }
    }

    /// Reads until the end of the connection. Returns everything that was not returned before.
    ///
    /// # Panics
    /// If it is no text.
    pub async fn rest(&mut self) -> String {
        while self.more().await {}
        String::from_utf8(std::mem::take(&mut self.read)).unwrap()
    }

    async fn until(&mut self, end: &[u8]) -> Option<String> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|part| part == end) {
                let text = self.read.drain(..at + end.len()).take(at).collect();
                return Some(String::from_utf8(text).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> Option<String> {
        while self.read.len() < count {
            if !self.more().await {
                return None;
            }
        }
        Some(String::from_utf8(self.read.drain(..count).collect()).unwrap())
    }

    /// Reads the head of a response. `None` at the end of the connection.
    ///
    /// # Panics
    /// If what arrives is no head.
    pub async fn head(&mut self) -> Option<Head> {
        let text = self.until(b"\r\n\r\n").await?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("a header: {line:?}"));
            (name.to_lowercase(), value.to_owned())
        };
        Some(Head {
            status: status.unwrap_or_else(|| panic!("a status: {text:?}")),
            headers: lines.map(header).collect(),
        })
    }

    /// Reads the next piece of a streamed body, which is empty at its end. `None` at the end of the connection.
    async fn chunk(&mut self) -> Option<String> {
        let size = self.until(b"\r\n").await?;
        let size = usize::from_str_radix(&size, 16).unwrap();
        let piece = self.exactly(size).await?;
        self.exactly(2).await?;
        Some(piece)
    }

    /// Reads the next piece of a streamed body. `None` at its end, or at the end of the connection.
    pub async fn piece(&mut self) -> Option<String> {
        self.chunk().await.filter(|piece| !piece.is_empty())
    }

    /// Reads the next message of a stream. `None` at its end. Comments are left out.
    ///
    /// # Panics
    /// If the stream has something else.
    pub async fn event(&mut self) -> Option<Value> {
        let mut text = String::new();
        loop {
            text.push_str(&self.piece().await?);
            if text.ends_with("\n\n") {
                if let Some(message) = events(&text).pop() {
                    return Some(message);
                }
                text.clear();
            }
        }
    }

    /// Reads the body that follows this head. `None` if the connection ends before it does.
    pub async fn body(&mut self, head: &Head) -> Option<String> {
        if head.header("transfer-encoding") != "chunked" {
            let length = head.header("content-length").parse().unwrap_or(0);
            return self.exactly(length).await;
        }
        let mut body = String::new();
        loop {
            match self.chunk().await? {
                piece if piece.is_empty() => return Some(body),
                piece => body.push_str(&piece),
            }
        }
    }

    /// Sends bytes and reads one whole response. `None` if the connection ends before.
    pub async fn ask(&mut self, bytes: &str) -> Option<Response> {
        self.send(bytes).await;
        let head = self.head().await?;
        let body = self.body(&head).await?;
        Some(Response { head, body })
    }
}
