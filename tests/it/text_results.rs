//! A package whose results are texts: its codec against its simulated editor, which share no code.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdfast_fake_unity::{AbortiveTcp, FakeUnity, FakeUnityConfig, Package};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use holdfast::protocol::dialect::{
    self, AnswerBody, Dialect, EditorTool, FileState, Greeted, Hello, Inbound, ListStep, Order, ProjectFacts, Reply,
    Sending, WireId,
};
use holdfast::protocol::ids::CallId;
use serde_json::value::RawValue;

const INSTANCE: &str = "Library/MCPInstance.json";

fn package() -> &'static Package {
    Package::that(|facts| facts.text_results)
}

fn codec() -> &'static dyn Dialect {
    dialect::named(package().name).unwrap()
}

/// Waits at most 20 s, which only a broken editor reaches.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("in time")
}

fn facts(folder: &Path) -> ProjectFacts {
    let read = |path: &'static str| match std::fs::read(folder.join(path)) {
        Ok(bytes) => (path, FileState::Content(bytes)),
        Err(_) => (path, FileState::Missing),
    };
    codec().read_project(&codec().project_files().iter().map(|file| read(file.path)).collect())
}

/// The gateway's end of a connection, which uses nothing but the dialect.
struct Gateway {
    stream: BufReader<TcpStream>,
    number: u64,
}

impl Gateway {
    async fn ask(&mut self, order: &Order<'_>) -> Reply {
        self.number += 1;
        let call = matches!(order, Order::Call { .. }).then(|| CallId::from_random([9; 16]));
        let line = codec().encode(WireId { number: self.number, call, agreed: None }, order).unwrap().into_bytes();
        within(self.stream.write_all(&line)).await.unwrap();
        let mut reply = String::new();
        within(self.stream.read_line(&mut reply)).await.unwrap();
        let mut framer = codec().framer();
        framer.push(reply.as_bytes());
        let frame = framer.next_frame().unwrap().unwrap();
        match codec().decode(&frame).unwrap() {
            Inbound::Reply { number, reply } if number == self.number => reply,
            other => panic!("{other:?}"),
        }
    }

    async fn call(&mut self, tools: &[Arc<EditorTool>], name: &str, arguments: &str) -> (bool, String) {
        let sending = Sending::first(CallId::from_random([9; 16]), true);
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let tool = tools.iter().find(|tool| tool.name == name);
        let call = codec().prepare_call(&sending, name, tool.map(AsRef::as_ref), &arguments);
        let reply = self.ask(&Order::Call { tool: name, call: &call, expected: None, progress: false }).await;
        let answer = codec().read_answer(reply);
        match answer.body {
            AnswerBody::Json(json) => (answer.is_error, json.get().to_owned()),
            AnswerBody::Text(text) => (answer.is_error, text),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_dialect_finds_greets_lists_and_calls_the_face() {
    let folder = tempfile::tempdir().unwrap();
    let config = FakeUnityConfig {
        package: package(),
        pid: Some(4242),
        project: Some(folder.path().into()),
        tick: Duration::ZERO,
        ..FakeUnityConfig::default()
    };
    let unity = FakeUnity::start(config, Arc::new(AbortiveTcp::default())).await.unwrap();
    let read = facts(folder.path());
    assert_eq!((read.port, read.editor_pid), (Some((unity.port().unwrap(), INSTANCE)), Some(4242)));
    assert_eq!((read.installed, read.other_pid, read.problems), (true, None, Vec::new()));
    let stream = within(TcpStream::connect(("127.0.0.1", unity.port().unwrap()))).await.unwrap();
    let mut gateway = Gateway { stream: BufReader::new(stream), number: 0 };
    let hello = Hello::default();
    let said = [gateway.ask(&Order::Greeting { hello: &hello, said: &[] }).await];
    assert!(matches!(codec().check_greeting(&hello, &said), Ok(Greeted::Done(_))));
    let list = gateway.ask(&Order::ListTools { step: 0, development: false }).await;
    let ListStep::Tools(listing) = codec().read_tools(&list, 0) else { panic!("{list:?}") };
    assert_eq!((listing.tools.len(), &listing.dropped), (unity.stats().tools + 1, &Vec::new()));
    let parallel = |name: &str| listing.tools.iter().find(|tool| tool.name == name).unwrap().parallel;
    assert!(parallel("echo") && parallel("read_console_logs") && !parallel("count") && !parallel("get_project_info"));

    let tools = listing.tools.as_slice();
    let ok = |text: &str| (false, text.to_owned());
    assert_eq!(gateway.call(tools, "echo", r#"{"text":"ä\r\n\"\\"}"#).await, ok(r#"{"Echo":"ä\r\n\"\\"}"#));
    assert_eq!(gateway.call(tools, "greet", r#"{"player_name":"Ada"}"#).await, ok(r#"{"greeting":"Hello, Ada!"}"#));
    assert_eq!(gateway.call(tools, "greet", "{}").await, ok(r#"{"greeting":"Hello, nobody!"}"#), "the default is sent");
    assert_eq!(gateway.call(tools, "count", r#"{"key":"k"}"#).await, ok(r#"{"Key":"k","Runs":1}"#));
    let (failed, said) = gateway.call(tools, "execute_menu_item", r#"{"path":"No/Such"}"#).await;
    assert!(failed && said.starts_with("Failed to execute menu item: No/Such."), "{said}");
    let (failed, said) = gateway.call(tools, "nope", "{}").await;
    assert!(failed && said == "Unknown tool: nope", "{said}");
    let (failed, said) = gateway.call(tools, "throw", "{}").await;
    assert!(failed && said.ends_with("It may have run in part."), "{said}");
    assert!(gateway.call(tools, "fail", "{}").await.0);
    assert!(matches!(gateway.ask(&Order::Heartbeat).await, Reply::Result(_)));

    unity.reload(Duration::ZERO).await.unwrap();
    within(unity.listening()).await;
    assert_eq!(facts(folder.path()).port, Some((unity.port().unwrap(), INSTANCE)));
}
