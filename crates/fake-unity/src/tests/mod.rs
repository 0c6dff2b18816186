//! Tests of the fake editor over real loopback sockets. Their client shares no code with the gateway's codecs.

mod domains;
mod process;
mod wire;

pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use serde_json::Value;
pub(crate) use tokio::io::{AsyncReadExt, AsyncWriteExt};
pub(crate) use tokio::net::TcpStream;
pub(crate) use tokio::sync::broadcast;

pub(crate) use super::*;

/// Longest wait for anything. Only a broken editor makes a test wait this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

pub(crate) fn config() -> FakeUnityConfig {
    FakeUnityConfig { tick: Duration::ZERO, ..FakeUnityConfig::default() }
}

pub(crate) fn version(text: &str) -> FakeUnityConfig {
    FakeUnityConfig { package_version: text.parse().unwrap(), ..config() }
}

pub(crate) async fn start(config: FakeUnityConfig) -> FakeUnity {
    FakeUnity::start(config, Arc::new(AbortiveTcp::default())).await.unwrap()
}

/// Polls the counters until `what` returns true for them.
pub(crate) async fn until(unity: &FakeUnity, what: impl Fn(&Stats) -> bool) -> Stats {
    within(async {
        loop {
            let stats = unity.stats();
            if what(&stats) {
                return stats;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

pub(crate) async fn event(events: &mut broadcast::Receiver<Event>, what: impl Fn(&Event) -> bool) -> Event {
    within(async {
        loop {
            let event = events.recv().await.unwrap();
            if what(&event) {
                return event;
            }
        }
    })
    .await
}

/// A client on a raw socket.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = within(TcpStream::connect(("127.0.0.1", port))).await.unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn to(unity: &FakeUnity) -> Self {
        Self::connect(unity.port().unwrap()).await
    }

    pub(crate) async fn send(&mut self, body: &str) {
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        within(self.stream.write_all(frame.as_bytes())).await.unwrap();
    }

    pub(crate) async fn call(&mut self, id: &str, method: &str, params: &str) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await;
    }

    /// Returns the next body, or how the connection ended (`Ok(None)`: an orderly close).
    pub(crate) async fn next(&mut self) -> Result<Option<String>, std::io::ErrorKind> {
        within(async {
            loop {
                if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                    let header = std::str::from_utf8(&self.buffer[..end]).unwrap();
                    let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
                    if self.buffer.len() >= end + 4 + length {
                        let body = self.buffer[end + 4..end + 4 + length].to_vec();
                        self.buffer.drain(..end + 4 + length);
                        return Ok(Some(String::from_utf8(body).unwrap()));
                    }
                }
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) => {
                        assert!(self.buffer.is_empty(), "half a frame at the end");
                        return Ok(None);
                    }
                    Ok(_) => {}
                    Err(error) => return Err(error.kind()),
                }
            }
        })
        .await
    }

    pub(crate) async fn text(&mut self) -> String {
        self.next().await.unwrap().expect("a message")
    }

    pub(crate) async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// Returns the next reply as it was written. Notifications before it are skipped.
    pub(crate) async fn reply_text(&mut self) -> String {
        loop {
            let text = self.text().await;
            if !text.starts_with(r#"{"jsonrpc":"2.0","method":"#) {
                return text;
            }
        }
    }

    pub(crate) async fn reply(&mut self) -> Value {
        serde_json::from_str(&self.reply_text().await).unwrap()
    }

    pub(crate) async fn result(&mut self, method: &str, params: &str) -> Value {
        self.call("\"r\"", method, params).await;
        let reply = self.reply().await;
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].clone()
    }

    /// Reads to the end of the connection and returns how it ended.
    pub(crate) async fn ended(&mut self) -> Result<(), std::io::ErrorKind> {
        loop {
            match self.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(kind) => return Err(kind),
            }
        }
    }

    pub(crate) async fn tool_names(&mut self) -> Vec<String> {
        let list = self.result("get-tool-details", r#"{"IncludeDevelopmentOnly":false}"#).await;
        list["Tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}
