//! Tests of the simulated turbokettle/unity-mcp with a client that is written here. The gateway's dialect has its own tests.

use std::path::Path;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::PACKAGE;
use crate::tests::*;

const INSTANCE: &str = "Library/MCPInstance.json";
const SILENCE: Duration = Duration::from_millis(150);

fn spoken(config: FakeUnityConfig) -> FakeUnityConfig {
    FakeUnityConfig { package: &PACKAGE, ..config }
}

fn at(folder: &Path) -> FakeUnityConfig {
    spoken(FakeUnityConfig { project: Some(folder.into()), ..config() })
}

/// A client that reads lines.
struct Peer {
    stream: BufReader<TcpStream>,
}

impl Peer {
    async fn to(unity: &FakeUnity) -> Self {
        let stream = within(TcpStream::connect(("127.0.0.1", unity.port().unwrap()))).await.unwrap();
        Self { stream: BufReader::new(stream) }
    }

    async fn send(&mut self, bytes: &[u8]) {
        within(self.stream.write_all(bytes)).await.unwrap();
    }

    async fn invoke(&mut self, id: &str, tool: &str, arguments: &str) {
        let params = json!({ "tool": tool, "arguments": arguments }).to_string();
        let line = json!({ "id": id, "cmd": "invoke_tool", "params": params });
        self.send(format!("{line}\n").as_bytes()).await;
    }

    /// Returns the next line with its line end; empty at the end of the connection.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        within(self.stream.read_line(&mut line)).await.unwrap();
        line
    }

    async fn reply(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    async fn result(&mut self, tool: &str, arguments: &str) -> Value {
        self.invoke("r", tool, arguments).await;
        let reply = self.reply().await;
        assert_eq!((&reply["id"], &reply["ok"]), (&json!("r"), &json!(true)), "{reply}");
        serde_json::from_str(reply["data"].as_str().unwrap()).unwrap()
    }
}

/// Replaces every description by `<text>`, even in JSON that is inside of texts.
fn wordless(line: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if name == "description" {
                        *value = json!("<text>");
                    } else if let Some(Value::Object(inner)) =
                        value.as_str().and_then(|text| serde_json::from_str(text).ok())
                    {
                        let mut inner = Value::Object(inner);
                        strip(&mut inner);
                        // The inner JSON is serialized again, so that order and spacing are still compared.
                        *value = json!(inner.to_string());
                    } else {
                        strip(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(line).unwrap();
    strip(&mut value);
    value
}

#[tokio::test]
async fn the_conversation_of_the_vectors_is_repeated_byte_for_byte() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/turbokettle/conversation.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let unity = start(spoken(FakeUnityConfig { test_tools: false, ..config() })).await;
    let mut peer = Peer::to(&unity).await;
    let vectors = file["vectors"].as_array().unwrap();
    for pair in vectors.chunks(2) {
        peer.send(pair[0]["frame"].as_str().unwrap().as_bytes()).await;
        let (answer, meant) = (peer.line().await, pair[1]["frame"].as_str().unwrap());
        let answer = answer.replace(crate::project::UNITY_VERSION, "<unity>");
        if meant.contains("description") {
            assert_eq!(wordless(&answer).to_string(), wordless(meant).to_string());
        } else {
            assert_eq!(answer, meant, "{}", pair[0]["name"]);
        }
    }
    assert_eq!(vectors.len(), 22);
    assert_eq!(unity.stats().unparsable, 1);
}

#[tokio::test]
async fn the_instance_file_comes_with_the_port_and_goes_with_the_domain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(INSTANCE);
    let unity = start(at(folder.path())).await;
    let mut events = unity.events();
    let root = dunce::canonicalize(folder.path()).unwrap();
    let text = |port: u16| {
        let root = json!(root.to_str().unwrap());
        format!("{{\n    \"port\": {port},\n    \"pid\": {},\n    \"projectPath\": {root}\n}}", unity.pid())
    };
    let first = unity.port().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text(first));
    unity.reload(SILENCE).await.unwrap();
    assert!(!path.exists() && unity.port().is_none());
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    let second = unity.port().unwrap();
    assert_ne!(first, second, "every domain has a port of its own");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text(second));
    unity.crash().await.unwrap();
    assert!(path.exists(), "nobody cleans up after a crash");
    unity.up().await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text(unity.port().unwrap()));
    unity.down().await.unwrap();
    assert!(!path.exists());
    unity.up().await.unwrap();
    assert!(path.exists());
    unity.quit().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn the_main_thread_and_the_connection_work_side_by_side() {
    let unity = start(spoken(config())).await;
    let mut peer = Peer::to(&unity).await;
    peer.invoke("main", "hold", "{}").await;
    until(&unity, |stats| stats.running == 1).await;
    peer.send(b"{\"id\":\"ping\",\"cmd\":\"ping\"}\n").await;
    assert_eq!(peer.reply().await["id"], "ping", "a ping is not kept by the main thread");
    assert_eq!(peer.result("echo", r#"{"text":"x"}"#).await["Echo"], "x");
    unity.release();
    assert_eq!(peer.reply().await["id"], "main");
}

#[tokio::test]
async fn what_the_connection_itself_runs_keeps_what_comes_behind_it() {
    let unity = start(spoken(config())).await;
    let mut peer = Peer::to(&unity).await;
    let mut other = Peer::to(&unity).await;
    let begun = tokio::time::Instant::now();
    peer.invoke("slow", "sleep", r#"{"ms":120}"#).await;
    peer.send(b"{\"id\":\"ping\",\"cmd\":\"ping\"}\n").await;
    other.send(b"{\"id\":\"other\",\"cmd\":\"ping\"}\n").await;
    assert_eq!(other.reply().await["id"], "other");
    assert_eq!(peer.reply().await["id"], "slow");
    assert!(begun.elapsed() >= Duration::from_millis(120));
    assert_eq!(peer.reply().await["id"], "ping");
}

#[tokio::test]
async fn work_that_waits_for_the_main_thread_is_lost_without_a_word() {
    let unity = start(spoken(config())).await;
    unity.modal(true);
    let mut peer = Peer::to(&unity).await;
    peer.invoke("lost", "count", r#"{"key":"k"}"#).await;
    until(&unity, |stats| stats.queued == 1).await;
    peer.send(b"{\"id\":\"ping\",\"cmd\":\"ping\"}\n").await;
    assert_eq!(peer.reply().await["id"], "ping", "a modal dialog does not keep the connection's thread");
    unity.reload(Duration::ZERO).await.unwrap();
    assert_eq!(peer.line().await, "");
    within(unity.listening()).await;
    unity.modal(false);
    assert_eq!(Peer::to(&unity).await.result("runs", r#"{"key":"k"}"#).await["Runs"], 0);
    assert_eq!(unity.stats().lost, 1);
}

#[tokio::test]
async fn mistakes_of_tools_and_of_callers() {
    let unity = start(spoken(config())).await;
    let mut peer = Peer::to(&unity).await;
    for (tool, arguments, error) in [
        ("throw", "{}", "Command failed: Thrown as asked"),
        ("echo", "{", "Command failed: JSON parse error: Invalid value."),
        ("execute_menu_item", r#"{"Path":""}"#, "Missing 'path' parameter"),
    ] {
        peer.invoke("1", tool, arguments).await;
        assert_eq!(peer.reply().await, json!({ "id": "1", "ok": false, "data": "", "error": error }));
    }
    // If the package throws while it reads a message, it does not answer. It ignores blank lines.
    peer.send(b"{\"id\":\"2\",\"cmd\":\"invoke_tool\",\"params\":\"{\"}\n\r\n  \n").await;
    assert_eq!(peer.result("echo", "").await["Echo"], "");
    assert_eq!(peer.result("greet", r#"{"player_name":"Ada"}"#).await["greeting"], "Hello, !", "bound by another name");
    assert_eq!(peer.result("fail", "{}").await["Success"], false);
}

#[tokio::test]
async fn a_refresh_reloads_after_its_answer_if_there_is_something_to_compile() {
    let unity = start(spoken(FakeUnityConfig { compile_reload: Duration::from_millis(10), ..config() })).await;
    let mut events = unity.events();
    let mut peer = Peer::to(&unity).await;
    unity.compile_error(true);
    assert_eq!(peer.result("execute_menu_item", r#"{"path":"Assets/Refresh"}"#).await["success"], true);
    assert_eq!(peer.result("read_console_logs", r#"{"filter":"all"}"#).await["logs"][0]["type"], "Log");
    unity.compile_error(false);
    assert_eq!(
        peer.result("execute_menu_item", r#"{"path":"assets/refresh"}"#).await["success"],
        false,
        "no such menu"
    );
    assert_eq!(peer.result("execute_menu_item", r#"{"path":"Assets/Reimport All"}"#).await["success"], true);
    assert_eq!(peer.line().await, "");
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    assert_eq!(unity.stats().compiles, 2);
}

#[tokio::test]
async fn a_connection_is_open_before_it_is_looked_at() {
    let tick = Duration::from_millis(1);
    let unity = start(spoken(FakeUnityConfig { tick, ..config() })).await;
    // Except for the first one, and on a busy machine, each connection begins just after the listener has polled.
    for _ in 0..100 {
        let begun = tokio::time::Instant::now();
        let mut peer = Peer::to(&unity).await;
        peer.send(b"{\"id\":\"1\",\"cmd\":\"ping\"}\n").await;
        assert_eq!(peer.reply().await["id"], "1");
        if begun.elapsed() >= crate::limits::ACCEPT_POLL / 2 {
            return;
        }
    }
    panic!("of 100 connections none had to wait for a look");
}

#[test]
fn an_observer_reads_its_frames() {
    let one = |method: &str, id: &str, is_call| (method.to_owned(), id.to_owned(), is_call);
    let line = "{\"id\":\"c.7\",\"cmd\":\"invoke_tool\",\"params\":\"{\\\"tool\\\":\\\"count\\\"}\"}\n";
    assert_eq!(observer::read(&PACKAGE, line), one("count", "c.7", true));
    assert_eq!(observer::read(&PACKAGE, "{\"id\":\"h.1\",\"cmd\":\"ping\"}\n"), one("ping", "h.1", false));
}
