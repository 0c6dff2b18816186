//! MCP over HTTP in virtual time: a hub with editors, and clients whose every byte the test writes.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod calls;
mod departures;
mod forms;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast::actors::parts::Parts;
use holdfast::cli::http::Served;
use holdfast::config::Config;
use holdfast::net::{BoxStream, Net as _};
use holdfast::platform::host::{Liveness, Owner};
use holdfast::services::mcp::{Guard, HostName, Server};
use holdfast::transport::several::Several;
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine};
use holdfast_testkit::http::{Connection, Response, USUAL, post};
use serde_json::{Value, json};

use crate::support::host::MemoryHost;
use crate::support::net::MemoryNet;
use crate::support::sabotage::Sabotage;
use crate::support::{self, editor, within};

/// Folders of Unity projects, and the port of each project's editor.
const PROJECTS: [(&str, u16); 2] = [("Castle", 8701), ("Forest", 8702)];
/// The port of the service.
const PORT: u16 = 8787;
const TOKEN: &str = "a-token-that-nobody-guesses";

/// A hub that serves MCP over HTTP.
struct Stage {
    folder: tempfile::TempDir,
    net: Arc<MemoryNet>,
    host: Arc<MemoryHost>,
    parts: Arc<Parts>,
    sabotage: Sabotage,
    several: Several<Sabotage>,
    server: Server,
}

impl Stage {
    async fn new() -> Self {
        Self::known_by(&[]).await
    }

    /// A hub whose service is known by these hosts too.
    async fn known_by(hosts: &[&str]) -> Self {
        support::quiet_sabotage();
        support::ask_every_log();
        let folder = tempfile::tempdir().unwrap();
        for (name, _) in PROJECTS {
            for part in ["Assets", "ProjectSettings"] {
                std::fs::create_dir_all(folder.path().join(name).join(part)).unwrap();
            }
        }
        let (net, host, sabotage) = (MemoryNet::new(), MemoryHost::new(), Sabotage::default());
        let state_dir = Some(folder.path().join("state"));
        let parts = Parts::new(Config { seed: Some(7), state_dir, ..Config::default() }, net.clone(), host.clone());
        let several = Several::start(parts.clone(), sabotage.clone());
        let posts = several.take_posts();
        let listener = net.bind(PORT).await.unwrap();
        let hosts: Vec<HostName> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let served = Arc::new(Served::new(parts.clone(), posts));
        let server = Server::start(&served, Guard::new(TOKEN, hosts, [7; 16]), listener);
        Self { folder, net, host, parts, sabotage, several, server }
    }

    fn project(&self, nth: usize) -> PathBuf {
        dunce::canonicalize(self.folder.path()).unwrap().join(PROJECTS[nth].0)
    }

    /// The path of the URL for a project.
    fn path(&self, nth: usize) -> String {
        let project = self.project(nth).display().to_string().replace('\\', "/");
        format!("/mcp/{}", project.replace('/', "%2F").replace(':', "%3A"))
    }

    /// Starts the editor of a project.
    async fn editor(&self, nth: usize) -> FakeUnity {
        self.editor_with(nth, |config| config).await
    }

    async fn editor_with(&self, nth: usize, change: impl FnOnce(FakeUnityConfig) -> FakeUnityConfig) -> FakeUnity {
        let (port, project) = (PROJECTS[nth].1, self.project(nth));
        let pid = u32::from(port);
        let command_line = ["Unity", "-projectPath", project.to_str().unwrap()].map(str::to_owned).to_vec();
        self.host.set_owner(port, Owner { pid, name: "Unity".into(), command_line });
        self.host.set_process(pid, Liveness::Alive);
        let machine = Some(Machine(self.host.clone()));
        let config =
            FakeUnityConfig { port, pid: Some(pid), project: Some(project), machine, seed: pid.into(), ..editor() };
        support::unity(&self.net, change(config)).await
    }

    async fn connect(&self) -> Connection<BoxStream> {
        Connection::over(self.net.connect(PORT).await.unwrap())
    }

    /// Sends bytes on a connection of their own. Returns the response.
    async fn raw(&self, bytes: &str) -> Response {
        let mut connection = self.connect().await;
        within("a response", connection.ask(bytes)).await.expect("a whole response")
    }

    /// Sends a message of the era with a handshake.
    async fn ask(&self, path: &str, message: &Value) -> Response {
        self.raw(&handshake(path, message)).await
    }

    /// Sends a message of the stateless era.
    async fn ask_stateless(&self, path: &str, message: &Value) -> Response {
        self.raw(&stateless(path, message)).await
    }

    /// Calls a tool. Returns the text of its result.
    async fn call(&self, path: &str, tool: &str, arguments: Value) -> String {
        text(&self.ask(path, &call(1, tool, arguments)).await.answer())
    }

    /// Ends everything, and checks that nothing is left.
    async fn end(self) {
        within("the end", self.several.end()).await;
        within("the end of the service", self.server.end()).await;
        assert!(!self.parts.env.health.has_failed_task());
        assert_eq!(self.parts.sessions.all().len(), 1, "only that of stdin and stdout, which nobody uses");
        assert_eq!(self.parts.links.all().len(), 1, "only the first one, which nobody uses");
    }
}

/// The headers of every request, with more of them.
fn headers<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let fixed = [("Host", "127.0.0.1:8787"), ("Authorization", "Bearer a-token-that-nobody-guesses")];
    fixed.into_iter().chain(USUAL).chain(more.iter().copied()).collect()
}

/// A POST of the era with a handshake.
fn handshake(path: &str, message: &Value) -> String {
    post(path, &headers(&[("MCP-Protocol-Version", "2025-11-25")]), &message.to_string())
}

/// A POST of the stateless era, with all headers that it must have.
fn stateless(path: &str, message: &Value) -> String {
    let mut message = message.clone();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = message.as_object_mut().unwrap().entry("params").or_insert_with(|| json!({}));
    let known = params["_meta"].as_object().cloned().unwrap_or_default();
    params["_meta"] = meta;
    params["_meta"].as_object_mut().unwrap().extend(known);
    let method = message["method"].as_str().unwrap().to_owned();
    let params = &message["params"];
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
    let mut more = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", &*method)];
    if !name.is_empty() {
        more.push(("Mcp-Name", &name));
    }
    post(path, &headers(&more), &message.to_string())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The text of a tool's result.
fn text(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

/// Lets everything happen that can happen at once.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
