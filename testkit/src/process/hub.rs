//! A hub that serves MCP over HTTP, and the requests that its clients send.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client;
use super::room::{Room, SOON, start, until};
use crate::http::{Connection, Response, USUAL, post};

/// A hub that serves MCP over HTTP. Dropping it kills it.
pub struct Hub {
    /// Its process.
    pub child: Child,
    /// The file that it logs to.
    pub log: PathBuf,
    /// Host and port.
    pub address: String,
    /// What clients must have.
    pub token: String,
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Hub {
    /// Starts a hub at a port of the room.
    pub fn start(room: &Room) -> Self {
        Self::with(room, &["--http", &format!("127.0.0.1:{}", room.port())])
    }

    /// Starts a hub with these arguments, and waits until it serves.
    pub fn with(room: &Room, arguments: &[&str]) -> Self {
        let log = room.path().join("hub.log");
        let mut command = client::command(room);
        command.args(["hub", "--log", "trace"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let mut begin = || {
            start(|| {
                let file = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
                command.stderr(file).spawn()
            })
        };
        let (mut child, mut url) = (begin(), None);
        until("the hub's address", || {
            // As a service manager does: another hub may be starting or ending at this moment.
            if child.try_wait().expect("our child").is_some() {
                child = begin();
            }
            let info = std::fs::read(room.state().join("hub/hub.json")).ok();
            let info: Option<Value> = info.and_then(|info| serde_json::from_slice(&info).ok());
            let info = info.filter(|info| info["pid"] == child.id());
            url = info.and_then(|info| info["http"].as_str().map(str::to_owned));
            url.is_some()
        });
        let address = url.and_then(|url| Some(url.strip_prefix("http://")?.strip_suffix("/mcp")?.to_owned()));
        let token = std::fs::read_to_string(room.state().join("http_token")).unwrap_or_default().trim().to_owned();
        Self { child, log, address: address.expect("the URL of the service"), token }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it has ended.
    #[cfg(unix)]
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().expect("a pid"));
        nix::sys::signal::kill(pid, signal).expect("it runs");
    }

    /// Ends it as a service manager does.
    ///
    /// # Panics
    /// If it does not end well.
    #[cfg(unix)]
    pub fn end(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
        assert!(self.child.wait().expect("it ends").success());
    }

    /// Connects to it.
    ///
    /// # Panics
    /// If it does not listen.
    pub async fn connect(&self) -> Connection<TcpStream> {
        Connection::over(TcpStream::connect(&self.address).await.expect("it listens"))
    }

    /// Sends bytes on a connection of their own. Returns the response.
    ///
    /// # Panics
    /// If there is none in time.
    pub async fn raw(&self, bytes: &str) -> Response {
        let answered = timeout(SOON, async { self.connect().await.ask(bytes).await }).await;
        answered.ok().flatten().unwrap_or_else(|| panic!("no response to {bytes}"))
    }

    /// Calls a tool, and returns the text of its result.
    ///
    /// # Panics
    /// If it has none.
    pub async fn call(&self, path: &str, tool: &str, arguments: Value) -> String {
        let answer = self.raw(&self.asks(path, &call(tool, arguments))).await.answer();
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
    }

    /// The bytes of a POST of the era with a handshake.
    pub fn asks(&self, path: &str, message: &Value) -> String {
        asks((&self.address, &self.token), Era::Handshake, path, message)
    }
}

/// The two eras of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With a handshake.
    Handshake,
    /// Stateless.
    Stateless,
}

/// The bytes of a POST to the hub at this address, with this token.
pub fn asks((address, token): (&str, &str), era: Era, path: &str, message: &Value) -> String {
    let (bearer, mut message) = (format!("Bearer {token}"), message.clone());
    let version = if era == Era::Handshake { "2025-11-25" } else { "2026-07-28" };
    let mut headers = vec![("Host", address), ("Authorization", &bearer), ("MCP-Protocol-Version", version)];
    headers.extend(USUAL);
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let name = message["params"]["name"].as_str().unwrap_or_default().to_owned();
    if era == Era::Stateless {
        let key = |name: &str| format!("io.modelcontextprotocol/{name}");
        message["params"]["_meta"][key("protocolVersion")] = json!(version);
        message["params"]["_meta"][key("clientCapabilities")] = json!({});
        headers.extend([("Mcp-Method", &*method), ("Mcp-Name", &*name)]);
    }
    post(path, &headers, &message.to_string())
}

/// A call of a tool, with the id 1.
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// The path of the URL for the room's project.
pub fn path(room: &Room) -> String {
    let project = room.project().display().to_string().replace('\\', "/");
    format!("/mcp/{}", project.replace('/', "%2F").replace(':', "%3A"))
}
