//! An MCP client that believes nothing: every line must be JSON-RPC, every id is answered at most once, and at the end every
//! request that was not cancelled has its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::wire::Recording;
use super::within;

/// A line that came.
#[derive(Debug, Clone)]
pub struct Line {
    pub at: Instant,
    pub value: Value,
}

/// See the module's documentation.
pub struct Client {
    input: Option<DuplexStream>,
    output: Option<BufReader<DuplexStream>>,
    lines: Arc<Mutex<Vec<Line>>>,
    wire: Arc<Recording>,
    count: watch::Receiver<usize>,
    counted: Option<watch::Sender<usize>>,
    /// Ids of requests, as JSON text.
    asked: BTreeSet<String>,
    cancelled: BTreeSet<String>,
    /// Ids that were sent once more while open: each is owed a refusal besides its answer.
    doubled: BTreeSet<String>,
    next: u64,
}

impl Client {
    /// A client that does not [`read`](Self::read) yet.
    pub fn new(input: DuplexStream, output: DuplexStream) -> Self {
        let (counted, count) = watch::channel(0);
        Self {
            input: Some(input),
            output: Some(BufReader::new(output)),
            lines: Arc::default(),
            wire: Arc::new(Recording::begin()),
            count,
            counted: Some(counted),
            asked: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            doubled: BTreeSet::new(),
            next: 1,
        }
    }

    /// Begins to take what stdout has.
    pub fn read(&mut self) {
        let (Some(mut output), Some(counted)) = (self.output.take(), self.counted.take()) else { return };
        let (lines, wire) = (self.lines.clone(), Arc::clone(&self.wire));
        tokio::spawn(async move {
            let mut line = String::new();
            while let Ok(1..) = output.read_line(&mut line).await {
                assert!(line.ends_with('\n'), "a line that is cut: {line:.200}");
                wire.received(line.trim_end_matches('\n').as_bytes());
                let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| Value::String(line.clone()));
                lines.lock().unwrap().push(Line { at: Instant::now(), value });
                counted.send_modify(|count| *count += 1);
                line.clear();
            }
        });
    }

    /// Writes a line as it is.
    pub async fn line(&mut self, text: &str) {
        self.bytes(text.as_bytes()).await;
        self.bytes(b"\n").await;
    }

    /// Writes bytes.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.wire.sent(bytes);
        let input = self.input.as_mut().expect("stdin is open");
        within("room in stdin", input.write_all(bytes)).await.expect("the gateway reads");
    }

    /// Ends stdin.
    pub async fn close_input(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.shutdown().await;
        }
    }

    /// Sends a request with an id of the client's choice.
    pub async fn request_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.asked.insert(id.to_string());
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        id
    }

    /// Sends a request.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.request_as(id, method, params).await
    }

    /// Sends a request with an id that is still open.
    pub async fn request_again(&mut self, id: &Value, method: &str, params: Value) {
        self.doubled.insert(id.to_string());
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    }

    /// Writes a line without waiting longer than this for room; false if there is none.
    pub async fn try_line(&mut self, text: &str, at_most: std::time::Duration) -> bool {
        let input = self.input.as_mut().expect("stdin is open");
        let line = format!("{text}\n");
        self.wire.sent(line.as_bytes());
        tokio::time::timeout(at_most, input.write_all(line.as_bytes())).await.is_ok()
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    /// Calls a tool; gives the request's id.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Calls a tool with a progress token.
    pub async fn call_with_progress(&mut self, tool: &str, arguments: Value, token: &str) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
        self.request("tools/call", params).await
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, id: &Value) {
        self.cancelled.insert(id.to_string());
        self.notify("notifications/cancelled", json!({"requestId": id})).await;
    }

    /// The handshake; gives the result of `initialize`.
    pub async fn open_as(&mut self, name: &str, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        });
        let id = self.request("initialize", params).await;
        let result = self.result(&id).await;
        self.notify("notifications/initialized", json!({})).await;
        result
    }

    /// The handshake of a client that is in no table.
    pub async fn open(&mut self) -> Value {
        self.open_as("nobody knows me", "2025-06-18", json!({})).await
    }

    /// The handshake of a client that honours `list_changed` and waits long.
    pub async fn open_async(&mut self) -> Value {
        self.open_as("claude-code", "2025-06-18", json!({})).await
    }

    /// What came so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }

    fn find(&self, wanted: impl Fn(&Value) -> bool) -> Option<Line> {
        self.lines.lock().unwrap().iter().find(|line| wanted(&line.value)).cloned()
    }

    /// The answer to a request, if it came.
    pub fn answered(&self, id: &Value) -> Option<Line> {
        self.find(|line| line.get("id") == Some(id) && line.get("method").is_none())
    }

    /// Waits for a line.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Line {
        let mut count = self.count.clone();
        let found = async {
            loop {
                count.borrow_and_update();
                if let Some(line) = self.find(&wanted) {
                    return line;
                }
                if count.changed().await.is_err() {
                    panic!("stdout ended before {what}; it said {:?}", self.tail());
                }
            }
        };
        within(what, found).await
    }

    /// Waits until stdout has ended.
    pub async fn ended(&self) {
        let mut count = self.count.clone();
        within("the end of stdout", async { while count.changed().await.is_ok() {} }).await;
    }

    fn tail(&self) -> Vec<String> {
        self.lines().iter().rev().take(5).map(|line| line.value.to_string().chars().take(300).collect()).collect()
    }

    /// Waits for the answer to a request.
    pub async fn answer(&self, id: &Value) -> Line {
        self.wait_for(&format!("the answer to {id}"), |line| line.get("id") == Some(id) && line.get("method").is_none())
            .await
    }

    /// Waits for the result of a request.
    pub async fn result(&self, id: &Value) -> Value {
        let answer = self.answer(id).await.value;
        answer.get("result").cloned().unwrap_or_else(|| panic!("an error: {answer}"))
    }

    /// Waits for a tool's result and gives its text and whether it says that it is an error.
    pub async fn text(&self, id: &Value) -> (String, bool) {
        let result = self.result(id).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (text, result["isError"].as_bool().unwrap_or(false))
    }

    /// Calls a tool that must succeed.
    pub async fn ok(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.call(tool, arguments).await;
        let (text, error) = self.text(&id).await;
        assert!(!error, "{tool}: {text}");
        text
    }

    /// Pings; the answer must come without any time passing.
    pub async fn ping(&mut self) {
        let began = Instant::now();
        let id = self.request("ping", json!({})).await;
        let answer = self.answer(&id).await;
        assert!((answer.at - began).as_millis() <= 1, "a ping waited {:?}", answer.at - began);
    }

    /// The names of the listed tools.
    pub async fn tools(&mut self) -> Vec<String> {
        let id = self.request("tools/list", json!({})).await;
        names(&self.result(&id).await)
    }

    /// Notifications of a method, so far.
    pub fn notifications(&self, method: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.value["method"] == method).collect()
    }

    /// Holds what came against the protocol: see the module's documentation.
    pub fn check(&self) {
        let mut answers: BTreeMap<String, usize> = BTreeMap::new();
        for Line { value, .. } in self.lines() {
            assert_eq!(value["jsonrpc"], "2.0", "no JSON-RPC: {value}");
            let response = value.get("result").is_some() != value.get("error").is_some();
            let said = value.get("method").is_some_and(Value::is_string);
            assert!(response != said, "neither an answer nor a message: {value}");
            if response {
                *answers.entry(value["id"].to_string()).or_default() += 1;
            }
        }
        for id in &self.asked {
            let count = answers.get(id).copied().unwrap_or(0);
            let owed = usize::from(!self.cancelled.contains(id)) + usize::from(self.doubled.contains(id));
            assert_eq!(count, owed, "answers to {id}; the last lines: {:#?}", self.tail());
        }
    }
}

/// The names in a tool list.
pub fn names(list: &Value) -> Vec<String> {
    list["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}
