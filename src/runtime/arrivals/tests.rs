//! Tests the doors over real sockets, with a simulated editor that connects to them. It runs in this process, and is believed if its
//! project's files name this process as the editor.

use std::time::Duration;

use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Package};
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::*;
use crate::net::Tcp;
use crate::platform::host::RealHost;
use crate::protocol::dialect::{
    self, AnswerBody, Greeted, Hello, Inbound, ListStep, Order, PreparedCall, Reply, WireId,
};
use crate::protocol::framing::Framer;

/// The dialect whose editor opens a WebSocket to us.
fn dialect() -> &'static dyn Dialect {
    dialect::named(package().name).unwrap()
}

fn package() -> &'static Package {
    Package::that(|facts| facts.dials && !facts.toy)
}

/// The request of an editor.
const REQUEST: &str = "GET /hub/plugin HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), work).await.expect("it takes too long")
}

/// A project, and a port on which its editor is expected.
struct Stage {
    folder: TempDir,
    port: u16,
    awaited: Arc<Awaited>,
    told: Arc<Notify>,
    arrivals: Arrivals,
    _tasks: JoinSet<()>,
}

impl Stage {
    /// Expects the editor at a free port.
    async fn new(is_named: bool) -> Self {
        let port = Tcp.bind(0).await.unwrap().local_addr().port();
        Self::at(port, is_named)
    }

    fn at(port: u16, is_named: bool) -> Self {
        Self::on(Arc::new(Tcp), port, is_named)
    }

    fn on(net: Arc<dyn Net>, port: u16, is_named: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let with = Surroundings { net, host: Arc::new(RealHost), events: Events::default() };
        let told = Arc::new(Notify::new());
        let tell = Arc::clone(&told);
        let ports = [Port { number: port, is_named }];
        let tell = Box::new(move || tell.notify_one());
        let project = dunce::canonicalize(folder.path()).unwrap();
        let arrivals = Arrivals::default();
        let (awaited, tasks) = arrivals.expect(&with, &ports, dialect(), project, tell);
        let mut running = JoinSet::new();
        tasks.into_iter().for_each(|task| drop(running.spawn(task)));
        Self { folder, port, awaited, told, arrivals, _tasks: running }
    }

    /// Connects as soon as the port is open.
    async fn connect(&self) -> BoxStream {
        within(async {
            loop {
                match Tcp.connect(self.port).await {
                    Ok(stream) => return stream,
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        })
        .await
    }

    /// Starts the editor, which tries to connect once. Its project's files say that this is its process.
    async fn editor(&self, pid: u32) -> FakeUnity {
        drop(self.connect().await);
        let config = FakeUnityConfig {
            package: package(),
            port: self.port,
            user_connects: None,
            project: Some(self.folder.path().to_path_buf()),
            home: Some(self.folder.path().to_path_buf()),
            pid: Some(pid),
            ..FakeUnityConfig::default()
        };
        FakeUnity::start(config, Arc::new(Tcp)).await.unwrap()
    }

    /// Waits for the editor's connection, and takes it.
    async fn taken(&self) -> Talk {
        let taken = async {
            loop {
                self.told.notified().await;
                if let Some(stream) = self.awaited.take(self.port).unwrap() {
                    return stream;
                }
            }
        };
        Talk { stream: within(taken).await, framer: dialect().framer(), number: 0 }
    }

    /// Waits until the user is told something, and returns it.
    async fn why(&self) -> String {
        within(async {
            loop {
                match self.awaited.take(self.port) {
                    Err(NotHere::Other(why) | NotHere::Forbidden(why)) => return why,
                    Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        })
        .await
    }

    /// Connects, says these words one after another, and returns all that is answered.
    async fn says(&self, words: &[Vec<u8>]) -> Vec<u8> {
        let mut stream = self.connect().await;
        let mut answer = Vec::new();
        for words in words {
            stream.write_all(words).await.unwrap();
            within(stream.read_buf(&mut answer)).await.unwrap();
        }
        let _ = within(stream.read_to_end(&mut answer)).await;
        answer
    }
}

/// The gateway's end of an editor's connection.
struct Talk {
    stream: BoxStream,
    framer: Box<dyn Framer>,
    number: u64,
}

impl Talk {
    /// Returns the next message; `None` at the end of the connection.
    async fn next(&mut self) -> Option<Inbound> {
        loop {
            if let Some(frame) = self.framer.next_frame().unwrap() {
                return Some(dialect().decode(&frame).unwrap());
            }
            let mut bytes = Vec::new();
            match within(self.stream.read_buf(&mut bytes)).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => self.framer.push(&bytes),
            }
        }
    }

    async fn ask(&mut self, order: &Order<'_>) -> Reply {
        self.number += 1;
        let id = WireId { number: self.number, call: None, agreed: None };
        let message = dialect().encode(id, order).unwrap().into_bytes();
        self.stream.write_all(&message).await.unwrap();
        loop {
            match self.next().await.expect("an answer") {
                Inbound::Reply { number, reply } if number == self.number => return reply,
                Inbound::Reply { .. } | Inbound::Unmatched { .. } => panic!("another answer"),
                _ => {}
            }
        }
    }

    async fn greet(&mut self) {
        let hello = Hello { challenge: "11111111222243338444555555555555".to_owned(), ..Hello::default() };
        let said = [self.ask(&Order::Greeting { hello: &hello, said: &[] }).await];
        assert!(matches!(dialect().check_greeting(&hello, &said), Ok(Greeted::Done(_))), "{said:?}");
    }

    async fn call(&mut self, tool: &str, arguments: &str) -> Reply {
        let call = PreparedCall::as_given(&RawValue::from_string(arguments.to_owned()).unwrap());
        self.ask(&Order::Call { tool, call: &call, expected: None, progress: false }).await
    }
}

#[tokio::test]
async fn an_editor_connects_runs_calls_and_comes_back_after_a_reload() {
    let stage = Stage::new(false).await;
    let unity = stage.editor(std::process::id()).await;
    let mut talk = stage.taken().await;
    for _ in 0..2 {
        talk.greet().await;
        let listed = talk.ask(&Order::ListTools { step: 0, development: false }).await;
        let ListStep::Tools(listing) = dialect().read_tools(&listed, 0) else { panic!("{listed:?}") };
        assert!(listing.tools.iter().any(|tool| tool.name == "manage_scene"), "{listing:?}");
        let answer = dialect().read_answer(talk.call("manage_scene", r#"{"action":"get_active"}"#).await);
        assert!(!answer.is_error, "{answer:?}");
        assert!(dialect().read_answer(talk.call("no_such_tool", "{}").await).is_error);

        unity.reload(Duration::from_millis(50)).await.unwrap();
        while talk.next().await.is_some() {}
        drop(talk);
        talk = stage.taken().await;
    }
    // Its end is announced.
    talk.greet().await;
    unity.quit().await.unwrap();
    let mut leaves = false;
    while let Some(said) = talk.next().await {
        leaves |= matches!(said, Inbound::Event(crate::protocol::dialect::EditorEvent::Leaving(_)));
    }
    assert!(leaves);
}

#[tokio::test]
async fn a_process_that_is_not_shown_to_be_the_editor_is_turned_away_and_the_user_is_told() {
    let stage = Stage::new(false).await;
    // The project's files name another process.
    let unity = stage.editor(1).await;
    let why = stage.why().await;
    assert!(why.contains("turned away") && why.contains("nothing shows that"), "{why}");
    assert!(why.contains(&std::process::id().to_string()), "{why}");
    assert_eq!(unity.stats().requests, 0, "nothing was sent to it");
}

#[tokio::test]
async fn at_a_port_that_the_user_named_it_is_believed() {
    let stage = Stage::new(true).await;
    let _unity = stage.editor(1).await;
    stage.taken().await.greet().await;
}

#[tokio::test]
async fn who_is_turned_away_is_told_in_the_protocol_that_it_speaks() {
    let stage = Stage::new(true).await;
    let page = REQUEST.replace("Connection", "Origin: https://evil.example\r\nConnection");
    let told = String::from_utf8(stage.says(&[page.into_bytes()]).await).unwrap();
    assert!(told.starts_with("HTTP/1.1 403 ") && told.contains("Origin"), "{told}");
    // A frame with a mask of zeros.
    let register = |path: &str, hash: &str| {
        let message = format!(r#"{{"type":"register","project_hash":"{hash}","project_path":"{path}"}}"#);
        [&[0x81, 0x80 | u8::try_from(message.len()).unwrap(), 0, 0, 0, 0], message.as_bytes()].concat()
    };
    let told = stage.says(&[REQUEST.into(), register("/p/Game", "0123456789abcdef")]).await;
    let told = String::from_utf8_lossy(&told);
    assert!(told.starts_with("HTTP/1.1 101 ") && told.contains("\"welcome\""), "{told}");
    assert!(told.contains("not that of its project_path"), "{told}");
}

/// An editor of this process with the project in this folder: it has registered, and reads what it is told.
async fn registers(stage: &Stage, project: &Path) -> BoxStream {
    std::fs::create_dir_all(project.join("Library")).unwrap();
    let instance = format!(r#"{{"process_id":{},"version":"6000.0.1f1"}}"#, std::process::id());
    std::fs::write(project.join("Library/EditorInstance.json"), instance).unwrap();
    let path = project.to_string_lossy().replace('\\', "/");
    let message = format!(r#"{{"type":"register","project_hash":"{}","project_path":"{path}"}}"#, hash_of(&path));
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let mut stream = stage.connect().await;
    stream.write_all(REQUEST.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.windows(7).any(|part| part == b"welcome") {
        assert!(within(stream.read_buf(&mut answer)).await.unwrap() > 0);
    }
    let frame = [&[0x81, 0x80 | 126, length[0], length[1], 0, 0, 0, 0], message.as_bytes()].concat();
    stream.write_all(&frame).await.unwrap();
    stream
}

/// The package connects again at once when it is turned away, hundreds of times in a second.
#[tokio::test]
async fn an_editor_that_nobody_is_for_waits_and_is_let_in_when_somebody_is() {
    let stage = Stage::new(false).await;
    let other = tempfile::tempdir().unwrap();
    let project = dunce::canonicalize(other.path()).unwrap();
    let mut editor = registers(&stage, &project).await;
    let waits = timeout(Duration::from_millis(300), editor.read(&mut [0; 64])).await;
    assert!(waits.is_err(), "it is neither told nor turned away: {waits:?}");
    let with = Surroundings { net: Arc::new(Tcp), host: Arc::new(RealHost), events: Events::default() };
    let ports = [Port { number: stage.port, is_named: false }];
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let tell = Box::new(move || tell.notify_one());
    let (awaited, tasks) = stage.arrivals.expect(&with, &ports, dialect(), project, tell);
    assert!(tasks.is_empty(), "the port is open");
    within(told.notified()).await;
    let stream = awaited.take(stage.port).unwrap();
    let mut talk = Talk { stream: stream.expect("its connection"), framer: dialect().framer(), number: 0 };
    let greeted = talk.greet();
    let answers = async {
        let mut said = vec![0; 4096];
        assert!(within(editor.read(&mut said)).await.unwrap() > 0, "it is greeted");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = greeted => panic!("nobody answers"),
        () = answers => unreachable!(),
        () = tokio::time::sleep(Duration::from_millis(200)) => {}
    }
}

fn hash_of(path: &str) -> String {
    use sha1::{Digest as _, Sha1};
    let digest = Sha1::digest(format!("{path}/Assets"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_second_editor_of_the_project_does_not_displace_the_first() {
    let stage = Stage::new(false).await;
    let _unity = stage.editor(std::process::id()).await;
    let mut talk = stage.taken().await;
    talk.greet().await;
    let project = dunce::canonicalize(stage.folder.path()).unwrap();
    let mut second = registers(&stage, &project).await;
    let waits = timeout(Duration::from_millis(300), second.read(&mut [0; 64])).await;
    assert!(waits.is_err(), "it waits: {waits:?}");
    assert!(!dialect().read_answer(talk.call("manage_scene", r#"{"action":"get_active"}"#).await).is_error);
    // The first one has gone.
    drop(talk);
    within(stage.told.notified()).await;
    assert!(stage.awaited.take(stage.port).unwrap().is_some());
}

#[tokio::test]
async fn a_taken_port_is_told_with_the_program_that_has_it_and_what_to_do_until_it_is_free() {
    let taken = Tcp.bind(0).await.unwrap();
    let stage = Stage::at(taken.local_addr().port(), false);
    let why = stage.why().await;
    assert!(why.contains("has the port") && why.contains(&format!("(pid {})", std::process::id())), "{why}");
    // This process's name begins like the gateway's.
    assert!(why.contains("--hub"), "{why}");
    drop(taken);
    let _unity = stage.editor(std::process::id()).await;
    stage.taken().await.greet().await;
}

/// A system that lets this process listen nowhere, as a sandbox does.
struct Sandbox;

impl Net for Sandbox {
    fn connect(&self, _port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(std::future::ready(Err(io::ErrorKind::PermissionDenied.into())))
    }

    fn bind(&self, _port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(std::future::ready(Err(io::ErrorKind::PermissionDenied.into())))
    }
}

#[tokio::test]
async fn where_nothing_may_be_listened_to_that_is_told_and_no_program_is_blamed() {
    let port = Tcp.bind(0).await.unwrap().local_addr().port();
    let stage = Stage::on(Arc::new(Sandbox), port, false);
    let shut = within(async {
        loop {
            match stage.awaited.take(stage.port) {
                Err(shut) => return shut,
                Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    });
    assert!(matches!(shut.await, NotHere::Forbidden(_)));
}

/// A WebSocket client of another maker is the editor's end: it checks our answer to its handshake, masks, and takes no bad frame.
#[tokio::test]
async fn a_web_socket_client_of_another_maker_is_served() {
    use futures_util::SinkExt as _;
    use serde_json::{Value, json};
    use tokio_tungstenite::tungstenite::{Bytes, Message};
    let stage = Stage::new(false).await;
    drop(stage.connect().await);
    let project = dunce::canonicalize(stage.folder.path()).unwrap();
    std::fs::create_dir(project.join("Library")).unwrap();
    let instance = json!({"process_id": std::process::id(), "version": "6000.0.1f1"}).to_string();
    std::fs::write(project.join("Library/EditorInstance.json"), instance).unwrap();

    let stream = tokio::net::TcpStream::connect(("127.0.0.1", stage.port)).await.unwrap();
    let address = format!("ws://127.0.0.1:{}/hub/plugin", stage.port);
    let (mut socket, answer) = within(tokio_tungstenite::client_async(address, stream)).await.unwrap();
    assert_eq!(answer.status(), 101);
    let path = project.to_string_lossy().replace('\\', "/");
    let register = json!({
        "type": "register", "project_name": "Game", "project_hash": hash_of(&path), "unity_version": "6000.0.1f1",
        "project_path": path,
    });
    socket.send(Message::text(register.to_string())).await.unwrap();
    let big = "x".repeat(70_000);
    let text = big.clone();
    let editor = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(message) = socket.next().await {
            let Ok(Message::Text(said)) = message else { break };
            let said: Value = serde_json::from_str(&said).unwrap();
            heard.push(said["type"].as_str().unwrap().to_owned());
            if said["type"] != "execute" {
                continue;
            }
            socket.send(Message::text(r#"{"type":"pong","session_id":"s"}"#)).await.unwrap();
            let result =
                json!({"success": true, "message": text, "data": {"name": said["name"], "params": said["params"]}});
            let reply =
                json!({"type": "command_result", "id": said["id"], "result": {"status": "success", "result": result}});
            // Half a message, a ping between, and the other half.
            let reply = reply.to_string();
            let (first, second) = reply.split_at(reply.len() / 2);
            for part in fragments(first, second) {
                socket.send(part).await.unwrap();
            }
        }
        heard
    });
    let mut talk = stage.taken().await;
    talk.greet().await;
    let reply = talk.call("manage_scene", r#"{"action":"get_active"}"#).await;
    let answer = dialect().read_answer(reply);
    let AnswerBody::Json(body) = answer.body else { panic!("{answer:?}") };
    assert!(!answer.is_error && body.get().contains(&big) && body.get().contains("get_active"));
    drop(talk);
    assert_eq!(within(editor).await.unwrap(), ["welcome", "registered", "execute", "execute"]);

    fn fragments(first: &str, second: &str) -> [Message; 3] {
        use tokio_tungstenite::tungstenite::protocol::frame::Frame;
        use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
        let part = |text: &str, kind, is_last| {
            Message::Frame(Frame::message(Bytes::copy_from_slice(text.as_bytes()), OpCode::Data(kind), is_last))
        };
        [part(first, Data::Text, false), Message::Ping(Bytes::new()), part(second, Data::Continue, true)]
    }
}
