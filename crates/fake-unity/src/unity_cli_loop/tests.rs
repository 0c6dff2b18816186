//! Tests of the simulated Unity CLI Loop, as its protocol page tells of it. Most of them have a network in memory and virtual time.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use holdfast_net::{BoxFuture, BoxStream, Listener, Net};
use serde_json::json;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::wire::REQUEST_MAX_BYTES;
use super::{PACKAGE, socket_name};
use crate::observer;
use crate::tests::*;

const RELOAD: Duration = Duration::from_millis(300);
const COMPILE: Duration = Duration::from_millis(50);
const VERSIONS: [(&str, i64); 3] = [("3.0.45", 3), ("3.0.57", 4), ("3.3.0", 5)];

fn config() -> FakeUnityConfig {
    FakeUnityConfig { package: &PACKAGE, compile_time: COMPILE, compile_reload: RELOAD, ..crate::tests::config() }
}

/// A network in memory. It has the one port that was bound last.
#[derive(Default)]
struct Memory {
    accepts: Mutex<Option<mpsc::Sender<BoxStream>>>,
    ports: AtomicU16,
}

struct Bound(u16, AsyncMutex<mpsc::Receiver<BoxStream>>);

impl Listener for Bound {
    fn local_addr(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.0).into()
    }

    fn accept(&self) -> BoxFuture<'_, std::io::Result<(BoxStream, std::net::SocketAddr)>> {
        Box::pin(async move {
            match self.1.lock().await.recv().await {
                Some(stream) => Ok((stream, self.local_addr())),
                None => std::future::pending().await,
            }
        })
    }
}

impl Net for Memory {
    fn connect(&self, _port: u16) -> BoxFuture<'_, std::io::Result<BoxStream>> {
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(4 * REQUEST_MAX_BYTES);
            let accepts = self.accepts.lock().unwrap().clone().ok_or(std::io::ErrorKind::ConnectionRefused)?;
            accepts.send(Box::new(far)).await.map_err(|_| std::io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(near) as BoxStream)
        })
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, std::io::Result<Arc<dyn Listener>>> {
        let (sender, receiver) = mpsc::channel(8);
        *self.accepts.lock().unwrap() = Some(sender);
        let port = if port == 0 { 1000 + self.ports.fetch_add(1, Ordering::Relaxed) } else { port };
        Box::pin(std::future::ready(Ok(Arc::new(Bound(port, AsyncMutex::new(receiver))) as Arc<dyn Listener>)))
    }

    fn bind_local<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, std::io::Result<Arc<dyn Listener>>> {
        let nobody = Bound(0, AsyncMutex::new(mpsc::channel(1).1));
        Box::pin(std::future::ready(Ok(Arc::new(nobody) as Arc<dyn Listener>)))
    }
}

struct Stage {
    unity: FakeUnity,
    net: Arc<Memory>,
    protocol: i64,
}

impl Stage {
    async fn with(version: &str, config: FakeUnityConfig) -> Self {
        let net = Arc::new(Memory::default());
        let config = FakeUnityConfig { package_version: version.parse().unwrap(), ..config };
        let unity = FakeUnity::start(config, net.clone()).await.unwrap();
        let protocol = VERSIONS.iter().find(|(name, _)| *name == version).unwrap().1;
        Self { unity, net, protocol }
    }

    async fn new() -> Self {
        Self::with("3.3.0", config()).await
    }

    async fn client(&self) -> Peer {
        Peer { stream: self.net.connect(1).await.unwrap(), buffer: Vec::new(), protocol: self.protocol }
    }

    /// Calls a tool or asks something, on a connection of its own. Returns the answer.
    async fn ask(&self, method: &str, params: Value) -> Value {
        self.client().await.ask(method, params).await
    }

    async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    async fn data(&self, method: &str, params: Value) -> Value {
        self.ask(method, params).await["error"]["data"].clone()
    }

    /// Begins `hold`, and returns when it runs.
    async fn held(&self) -> Peer {
        let mut events = self.unity.events();
        let mut peer = self.client().await;
        peer.send(1, "hold", json!({}), json!({})).await;
        event(&mut events, |event| matches!(event, Event::CallBegun { .. })).await;
        peer
    }

    /// Returns when the next domain listens. Before that, connections may be made and closed.
    async fn reloaded(&self) {
        let now = self.unity.stats().domain;
        within(async {
            while self.unity.stats().domain == now {
                pause(1).await;
            }
        })
        .await;
    }

    async fn is_free(&self) -> bool {
        self.result("get-editor-status", json!({})).await["IsBusy"] == json!(false)
    }
}

/// A client.
struct Peer {
    stream: BoxStream,
    buffer: Vec<u8>,
    protocol: i64,
}

impl Peer {
    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    async fn say(&mut self, message: &Value) {
        self.write(&observer::frame(message)).await;
    }

    /// Sends a request with these members beside the number of the protocol.
    async fn send(&mut self, id: i64, method: &str, params: Value, uloop: Value) {
        let mut uloop = uloop;
        uloop["protocolVersion"] = self.protocol.into();
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params, "uloop": uloop, "id": id})).await;
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(7, method, params, json!({})).await;
        self.next().await.expect("an answer")
    }

    /// Returns the next message; `None` at the end of the connection.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Ok(Some(length)) = (PACKAGE.wire.length)(&self.buffer) {
                let frame: Vec<u8> = self.buffer.drain(..length).collect();
                return Some(observer::message(&frame));
            }
            if self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                assert!(self.buffer.is_empty(), "half a frame at the end");
                return None;
            }
        }
    }
}

fn acks() -> Value {
    json!({"acceptsDispatchAck": true})
}

fn beats() -> Value {
    json!({"acceptsDispatchAck": true, "acceptsHeartbeat": true})
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[test]
fn the_name_of_the_socket_follows_from_the_path() {
    let name = "UnityCliLoop-bebe6bce5923715b";
    assert_eq!(socket_name(Path::new("/Users/example/MyProject")), name);
    assert_eq!(socket_name(Path::new("/Users/example/MyProject/")), name);
    assert_ne!(socket_name(Path::new("/users/example/MyProject")), name, "case counts");
}

#[cfg(unix)]
#[tokio::test]
async fn the_socket_goes_with_a_reload_comes_back_at_its_place_and_outlives_a_crash() {
    use std::os::unix::fs::PermissionsExt as _;
    use tokio::net::UnixStream;

    let folder = tempfile::tempdir().unwrap();
    let config = FakeUnityConfig { project: Some(folder.path().to_path_buf()), ..config() };
    let unity = start(config).await;
    let user = rustix::process::geteuid().as_raw();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let path = std::path::PathBuf::from(format!("/tmp/uloop-{user}/{}.sock", socket_name(&root)));
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let connect = async || {
        let stream = within(UnixStream::connect(&path)).await?;
        Ok::<_, std::io::Error>(Peer { stream: Box::new(stream), buffer: Vec::new(), protocol: 5 })
    };
    let mut peer = connect().await.unwrap();
    assert_eq!(within(peer.ask("echo", json!({"Text": "a"}))).await["result"]["Echo"], "a");
    // What a user put before the socket leads there too.
    let through = within(TcpStream::connect(("127.0.0.1", unity.port().unwrap()))).await.unwrap();
    let mut through = Peer { stream: Box::new(through), buffer: Vec::new(), protocol: 5 };
    assert_eq!(within(through.ask("get-version", json!({}))).await["result"]["PackageVersion"], "3.3.0");

    unity.reload(RELOAD).await.unwrap();
    assert_eq!(within(peer.next()).await, None);
    assert_eq!(connect().await.err().unwrap().kind(), std::io::ErrorKind::NotFound);
    within(unity.listening()).await;
    let mut peer = connect().await.unwrap();
    within(peer.ask("echo", json!({}))).await;

    unity.crash().await.unwrap();
    assert_eq!(connect().await.err().unwrap().kind(), std::io::ErrorKind::ConnectionRefused);
    unity.up().await.unwrap();
    within(connect().await.unwrap().ask("echo", json!({}))).await;
    unity.quit().await.unwrap();
    assert!(!path.exists());
    let manifest = std::fs::read_to_string(root.join("Packages/manifest.json")).unwrap();
    assert!(manifest.contains(r#""io.github.hatayama.uloopmcp": "3.3.0""#), "{manifest}");
}

#[tokio::test(start_paused = true)]
async fn another_number_of_the_protocol_runs_nothing_and_is_told_the_right_one() {
    for (version, number) in VERSIONS {
        let stage = Stage::with(version, config()).await;
        let wrong =
            [json!(number - 1), json!(number + 1), json!(number.to_string()), json!(number as f64 + 0.5), Value::Null];
        for wrong in wrong {
            let mut peer = stage.client().await;
            let uloop = json!({"projectRunnerVersion": "3.2.0", "protocolVersion": wrong, "acceptsDispatchAck": true});
            peer.say(&json!({"id": 1, "method": "count", "params": {"key": "k"}, "uloop": uloop})).await;
            let answer = peer.next().await.unwrap();
            let data = &answer["error"]["data"];
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
            assert_eq!(
                (&data["type"], &data["requiredProtocolVersion"]),
                (&json!("cli_update_required"), &json!(number))
            );
            assert_eq!(
                (&data["currentProtocolVersion"], &data["currentCliVersion"]),
                (&Value::from(wrong.as_i64()), &json!("3.2.0"))
            );
            assert_eq!(data["retryableAfterUpdate"], true);
            assert_eq!(data.get("updateCommand").is_none(), wrong == json!(number + 1), "{data}");
        }
        let mut peer = stage.client().await;
        peer.say(&json!({"id": 1, "method": "count", "params": {"key": "k"}})).await;
        assert_eq!(peer.next().await.unwrap()["error"]["data"]["type"], "cli_update_required");
        assert_eq!(stage.unity.runs("k"), 0);
        assert_eq!(stage.result("count", json!({"Key": "k"})).await["Runs"], 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_version_is_played_if_none_is_named() {
    let net = Arc::new(Memory::default());
    let stage = Stage { unity: FakeUnity::start(config(), net.clone()).await.unwrap(), net, protocol: 5 };
    assert_eq!(stage.result("get-version", json!({})).await["PackageVersion"], "3.3.0");
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_is_said_before_it_is_looked_up() {
    let stage = Stage::new().await;
    let accepted = json!({"jsonrpc": "2.0", "id": 1, "result": {"accepted": true}, "uloop": {"phase": "accepted"}});
    for method in ["echo", "unheard", "get-version", "get-editor-status"] {
        let mut peer = stage.client().await;
        peer.send(1, method, json!({}), acks()).await;
        assert_eq!(peer.next().await, Some(accepted.clone()), "{method}");
        assert!(peer.next().await.unwrap().get("uloop").is_none());
    }
    let mut peer = stage.client().await;
    peer.send(1, "echo", json!({}), beats()).await;
    let first = peer.next().await.unwrap();
    assert_eq!(first["uloop"], json!({"phase": "accepted", "heartbeatIntervalSeconds": 10}));
    peer.next().await.unwrap();
    // Only a boolean counts, and without the first nothing but the answer comes.
    for uloop in [json!({"acceptsDispatchAck": "true"}), json!({"acceptsHeartbeat": true}), json!({})] {
        peer.send(2, "sleep", json!({"ms": 25_000}), uloop).await;
        assert_eq!(peer.next().await.unwrap()["result"]["SleptMs"], 25_000);
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_go_on_beside_a_main_thread_that_stands_still() {
    let stage = Stage::new().await;
    let began = tokio::time::Instant::now();
    stage.unity.modal(true);
    let mut peer = stage.client().await;
    peer.send(1, "count", json!({"key": "k"}), beats()).await;
    assert_eq!(peer.next().await.unwrap()["uloop"]["phase"], "accepted");
    for nth in 1..=3_u64 {
        let beat = peer.next().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 10 * nth);
        assert_eq!((&beat["result"], &beat["uloop"]["phase"]), (&json!({"alive": true}), &json!("heartbeat")));
        assert_eq!(beat["uloop"]["mainThreadStallSeconds"].as_f64().unwrap().round(), 10.0 * nth as f64);
    }
    stage.unity.modal(false);
    assert_eq!(peer.next().await.unwrap()["result"]["Runs"], 1);
}

#[tokio::test(start_paused = true)]
async fn the_forms_of_errors() {
    let blocked_tools = ["screenshot", "execute-dynamic-code"].map(str::to_owned).to_vec();
    let stage = Stage::with("3.3.0", FakeUnityConfig { blocked_tools, ..config() }).await;
    let error = async |method: &str, params: Value| stage.ask(method, params).await["error"].clone();
    assert_eq!(
        error("throw", json!({"text": "Torn"})).await,
        json!({"code": -32603, "message": "Internal error", "data": {"type": "internal_error", "message": "Torn"}})
    );
    let front = [
        ("compile", json!({"ForceRecompile": "perhaps"}), "Parameter type mismatch for tool 'compile': "),
        ("unheard", json!({}), "Unknown tool: unheard"),
        // The command line does this one itself.
        ("focus-window", json!({}), "Unknown tool: focus-window"),
        ("screenshot", json!({}), "Tool 'screenshot' is disabled"),
    ];
    for (method, params, words) in front {
        let error = error(method, params).await;
        assert!(error["message"].as_str().unwrap().starts_with(words), "{error}");
        assert_eq!(error["data"], json!({"type": "internal_error", "message": ""}));
    }
    assert_eq!(stage.unity.stats().compiles, 0);
    let code = error("execute-dynamic-code", json!({})).await;
    assert_eq!((&code["code"], &code["data"]["type"]), (&json!(-32603), &json!("security_blocked")));
    let mut peer = stage.client().await;
    for junk in ["{\"id\":1,", "[]", "nonsense", ""] {
        peer.write(format!("Content-Length: {}\r\n\r\n{junk}", junk.len()).as_bytes()).await;
        let answer = peer.next().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["data"]["type"]), (&Value::Null, &json!("internal_error")));
    }
    assert_eq!(peer.ask("echo", json!({"text": "still"})).await["result"]["Echo"], "still");
    assert!(stage.is_free().await, "a refused call gives the slot back");
    // A tool's own failure is a result.
    assert_eq!(stage.result("fail", json!({})).await["Success"], false);
}

#[tokio::test(start_paused = true)]
async fn one_tool_runs_and_another_is_refused_at_once() {
    let stage = Stage::new().await;
    let mut holder = stage.held().await;
    pause(1500).await;
    let mut other = stage.client().await;
    other.send(1, "count", json!({"key": "k"}), acks()).await;
    assert_eq!(other.next().await.unwrap()["uloop"]["phase"], "accepted");
    let answer = other.next().await.unwrap();
    let data = answer["error"]["data"].as_object().unwrap();
    let names = [
        "type",
        "message",
        "requestedToolName",
        "runningToolName",
        "runningToolElapsedSeconds",
        "runningToolPhase",
        "isPlaying",
        "isPaused",
        "isCompiling",
        "isUpdating",
        "secondsSinceLastMainThreadTick",
    ];
    assert_eq!(data.keys().collect::<Vec<_>>(), names);
    assert_eq!((&data["type"], &data["runningToolName"]), (&json!("server_busy"), &json!("hold")));
    assert_eq!((&data["requestedToolName"], &data["runningToolElapsedSeconds"]), (&json!("count"), &json!(1.5)));
    for status in ["get-version", "get-play-mode-state", "get-compile-status", "pause-point-status", "get-tool-details"]
    {
        stage.result(status, json!({})).await;
    }
    assert_eq!(stage.result("get-editor-status", json!({})).await["RunningToolName"], "hold");
    stage.unity.release();
    assert_eq!(holder.next().await.unwrap()["result"]["Released"], true);
    assert_eq!(stage.result("count", json!({"key": "k"})).await["Runs"], 1, "the refused one did not run");
}

#[tokio::test(start_paused = true)]
async fn the_slot_is_free_when_the_answer_comes() {
    let stage = Stage::new().await;
    let (mut one, mut two) = (stage.client().await, stage.client().await);
    for nth in 0..20 {
        for peer in [&mut one, &mut two] {
            assert_eq!(peer.ask("sleep", json!({"ms": nth % 2})).await["result"]["SleptMs"], nth % 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn code_shares_the_slot_with_code() {
    let stage = Stage::new().await;
    stage.unity.modal(true);
    let (mut one, mut two) = (stage.client().await, stage.client().await);
    one.send(1, "execute-dynamic-code", json!({}), acks()).await;
    two.send(1, "execute-dynamic-code", json!({}), acks()).await;
    pause(10).await;
    assert_eq!(stage.data("echo", json!({})).await["runningToolName"], "execute-dynamic-code");
    stage.unity.modal(false);
    for peer in [&mut one, &mut two] {
        peer.next().await.unwrap();
        assert_eq!(peer.next().await.unwrap()["result"]["Success"], true);
    }
    assert!(stage.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn code_and_play_mode_are_refused_while_unity_compiles_or_imports() {
    let stage = Stage::new().await;
    let tools = ["execute-dynamic-code", "control-play-mode"];
    stage.unity.import(Duration::from_secs(5));
    for tool in tools {
        let data = stage.data(tool, json!({})).await;
        assert_eq!((&data["type"], &data["isUpdating"]), (&json!("server_busy"), &json!(true)));
        assert_eq!(data["runningToolName"], "unity-asset-database-update");
    }
    pause(6000).await;
    let mut compiling = stage.client().await;
    compiling.send(1, "compile", json!({}), json!({})).await;
    pause(10).await;
    for tool in tools {
        let data = stage.data(tool, json!({})).await;
        assert_eq!((&data["runningToolName"], &data["isCompiling"]), (&json!("unity-compile"), &json!(true)));
    }
    assert_eq!(stage.data("echo", json!({})).await["runningToolName"], "compile");
}

#[tokio::test(start_paused = true)]
async fn only_the_status_of_the_editor_is_told_beside_the_main_thread() {
    let stage = Stage::new().await;
    stage.unity.modal(true);
    let status = stage.result("get-editor-status", json!({})).await;
    let names: Vec<_> = status.as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        names.join(" "),
        "IsBusy RunningToolName RunningToolElapsedSeconds RunningToolPhase HasEditorState IsPlaying IsPaused IsCompiling \
         IsUpdating SecondsSinceLastMainThreadTick"
    );
    let mut waits = Vec::new();
    for method in
        ["get-version", "get-tool-details", "get-compile-status", "get-run-tests-status", "get-play-mode-state"]
    {
        let mut peer = stage.client().await;
        peer.send(1, method, json!({}), json!({})).await;
        waits.push(peer);
    }
    for peer in &mut waits {
        assert!(tokio::time::timeout(Duration::from_secs(60), peer.next()).await.is_err(), "it waits");
    }
    stage.unity.modal(false);
    for peer in &mut waits {
        peer.next().await.unwrap();
    }
    for version in ["3.0.45", "3.0.57"] {
        let stage = Stage::with(version, config()).await;
        assert_eq!(
            stage.ask("get-editor-status", json!({})).await["error"]["message"],
            "Unknown tool: get-editor-status"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn closing_or_half_closing_cancels_at_the_next_look() {
    for half in [false, true] {
        let stage = Stage::new().await;
        let mut holder = stage.held().await;
        let since = tokio::time::Instant::now();
        if half {
            holder.stream.shutdown().await.unwrap();
            assert_eq!(holder.next().await, None, "no frame");
            assert_eq!(since.elapsed(), Duration::from_millis(100));
        } else {
            drop(holder);
            pause(50).await;
            assert!(!stage.is_free().await, "it is looked at every 100 ms");
            pause(60).await;
        }
        assert!(stage.is_free().await);
        assert_eq!(stage.result("echo", json!({"text": "x"})).await["Echo"], "x");
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_that_nobody_has_read_hide_the_end_of_the_connection() {
    let request = |id: i64, method: &str, params: Value| {
        let uloop = json!({"protocolVersion": 5});
        observer::frame(&json!({"id": id, "method": method, "params": params, "uloop": uloop}))
    };
    // They come later than the first request, or together with it.
    for together in [false, true] {
        let stage = Stage::new().await;
        let mut peer = stage.client().await;
        let [hold, count] = [request(1, "hold", json!({})), request(2, "count", json!({"key": "k"}))];
        if together {
            peer.write(&[hold, count].concat()).await;
        } else {
            peer.write(&hold).await;
            pause(10).await;
            peer.write(&count).await;
        }
        pause(10).await;
        drop(peer);
        pause(5000).await;
        assert!(!stage.is_free().await, "together: {together}");
        assert_eq!(stage.unity.runs("k"), 0, "nothing is read while one runs");
        stage.unity.release();
        pause(10).await;
        assert!(stage.is_free().await);
    }
}

#[tokio::test(start_paused = true)]
async fn frames_on_one_connection_run_one_after_the_other() {
    let stage = Stage::new().await;
    let mut peer = stage.client().await;
    for id in 1..=5 {
        peer.send(id, "sleep", json!({"ms": 100 - id}), json!({})).await;
    }
    for id in 1..=5 {
        let answer = peer.next().await.unwrap();
        assert_eq!((&answer["id"], &answer["result"]["SleptMs"]), (&json!(id), &json!(100 - id)));
    }
    // A notification does nothing.
    peer.say(&json!({"jsonrpc": "2.0", "method": "focus-window", "params": {}})).await;
    assert_eq!(peer.ask("echo", json!({})).await["id"], 7);
}

#[tokio::test(start_paused = true)]
async fn what_has_not_begun_before_its_connection_is_closed_never_starts() {
    let stage = Stage::new().await;
    stage.unity.modal(true);
    let mut peer = stage.client().await;
    peer.send(1, "count", json!({"key": "k"}), acks()).await;
    peer.next().await.unwrap();
    drop(peer);
    pause(500).await;
    assert!(!stage.is_free().await, "it waits for the main thread, and keeps the slot");
    stage.unity.modal(false);
    pause(10).await;
    assert!(stage.is_free().await);
    assert_eq!(stage.unity.runs("k"), 0);
    assert_eq!(stage.result("count", json!({"key": "k"})).await["Runs"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_look_keeps_the_slot_after_its_cancellation() {
    let stage = Stage::new().await;
    let mut peer = stage.client().await;
    peer.send(1, "block", json!({"ms": 5000}), json!({})).await;
    pause(10).await;
    drop(peer);
    pause(1000).await;
    assert_eq!(stage.data("echo", json!({})).await["runningToolName"], "block");
    pause(5000).await;
    assert_eq!(stage.result("echo", json!({"text": "x"})).await["Echo"], "x");
}

#[tokio::test(start_paused = true)]
async fn a_count_is_made_before_its_answer_and_a_cancelled_one_stays() {
    let stage = Stage::new().await;
    let mut events = stage.unity.events();
    let mut peer = stage.client().await;
    peer.send(1, "count", json!({"key": "k", "hold": true}), json!({})).await;
    event(&mut events, |event| matches!(event, Event::CallBegun { .. })).await;
    assert_eq!(stage.unity.runs("k"), 1);
    drop(peer);
    pause(200).await;
    assert_eq!(stage.result("runs", json!({"key": "k"})).await["Runs"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_stopped_and_started_has_its_slot_free() {
    let stage = Stage::new().await;
    for tool in ["compile", "hold"] {
        let mut peer = stage.client().await;
        peer.send(1, tool, json!({}), acks()).await;
        assert!(peer.next().await.is_some());
        pause(10).await;
        stage.unity.down().await.unwrap();
        assert_eq!(peer.next().await, None, "no frame");
        stage.unity.up().await.unwrap();
        assert!(stage.is_free().await, "{tool}");
        let said = stage.result("get-compile-status", json!({})).await;
        assert_eq!((&said["Ready"], &said["IsCompiling"]), (&json!(true), &json!(false)));
    }
}

fn status(id: &str) -> Value {
    json!({"RequestId": id})
}

#[tokio::test(start_paused = true)]
async fn a_compilation_goes_on_without_its_connection_and_its_result_outlives_the_reload() {
    let stage = Stage::new().await;
    let mut peer = stage.client().await;
    peer.send(1, "compile", json!({"RequestId": "compile_1_a"}), acks()).await;
    peer.next().await.unwrap();
    drop(peer);
    let said = stage.result("get-compile-status", status("compile_1_a")).await;
    let names: Vec<_> = said.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.join(" "), "Ready HasResult IsCompiling IsUpdating IsDomainReloadInProgress Result Message");
    assert_eq!(
        (&said["Ready"], &said["HasResult"], &said["IsCompiling"]),
        (&json!(false), &json!(false), &json!(true))
    );
    stage.reloaded().await;
    assert_eq!(stage.unity.stats().domain, 2);
    let said = stage.result("get-compile-status", status("compile_1_a")).await;
    assert_eq!((&said["Ready"], &said["HasResult"]), (&json!(true), &json!(true)));
    assert_eq!((&said["Result"]["Success"], &said["Result"]["ErrorCount"]), (&json!(true), &json!(0)));
    assert_eq!(stage.result("get-run-tests-status", status("compile_1_a")).await["HasResult"], false);
    assert!(stage.is_free().await);

    // A process that starts again has forgotten it, and is ready.
    stage.unity.crash().await.unwrap();
    stage.unity.up().await.unwrap();
    let said = stage.result("get-compile-status", status("compile_1_a")).await;
    assert_eq!((&said["Ready"], &said["HasResult"], &said["Result"]), (&json!(true), &json!(false), &Value::Null));
}

#[tokio::test(start_paused = true)]
async fn the_reload_cuts_the_answer_of_a_compilation_that_waits_for_it() {
    let stage = Stage::new().await;
    let mut peer = stage.client().await;
    peer.send(1, "compile", json!({"RequestId": "c"}), acks()).await;
    assert!(peer.next().await.is_some());
    assert_eq!(peer.next().await, None);

    let gap = Duration::from_secs(1);
    let stage = Stage::with("3.3.0", FakeUnityConfig { compile_gap: gap, ..config() }).await;
    let mut peer = stage.client().await;
    assert_eq!(peer.ask("compile", json!({"RequestId": "c"})).await["result"]["Success"], true);
    let said = stage.result("get-compile-status", status("c")).await;
    assert_eq!((&said["Ready"], &said["IsDomainReloadInProgress"]), (&json!(false), &json!(true)));
    assert_eq!(peer.next().await, None, "the reload follows");
}

#[tokio::test(start_paused = true)]
async fn a_compilation_that_does_not_wait_is_answered_and_not_kept() {
    let stage = Stage::new().await;
    let mut peer = stage.client().await;
    let answer = peer.ask("compile", json!({"RequestId": "c", "WaitForDomainReload": false})).await;
    assert_eq!(answer["result"]["Success"], true);
    assert_eq!(peer.next().await, None);
    stage.reloaded().await;
    assert_eq!(stage.result("get-compile-status", status("c")).await["HasResult"], false);
    // An id that could be a path is replaced, and nobody knows by what.
    let mut peer = stage.client().await;
    peer.send(1, "compile", json!({"RequestId": "../c"}), json!({})).await;
    assert_eq!(peer.next().await, None);
    stage.reloaded().await;
    assert_eq!(stage.result("get-compile-status", status("../c")).await["HasResult"], false);
}

#[tokio::test(start_paused = true)]
async fn unity_compiles_on_when_the_tool_that_asked_for_it_is_cancelled() {
    let compile_time = Duration::from_secs(5);
    let stage = Stage::with("3.3.0", FakeUnityConfig { compile_time, ..config() }).await;
    let mut events = stage.unity.events();
    let mut peer = stage.client().await;
    peer.send(1, "compile", json!({"WaitForDomainReload": false}), json!({})).await;
    pause(10).await;
    drop(peer);
    pause(200).await;
    assert!(stage.is_free().await);
    let again = stage.result("compile", json!({"RequestId": "again"})).await;
    assert_eq!((&again["Success"], &again["ErrorCode"]), (&json!(false), &json!("COMPILE_ALREADY_IN_PROGRESS")));
    let said = stage.result("get-compile-status", status("again")).await;
    assert_eq!(said["Result"]["ErrorCode"], "COMPILE_ALREADY_IN_PROGRESS");
    assert_eq!(stage.unity.stats().compiles, 1);
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
}

#[tokio::test(start_paused = true)]
async fn the_results_of_compilations() {
    let stage = Stage::new().await;
    stage.unity.compile_error(true);
    let failed = stage.result("compile", json!({"RequestId": "failed", "ForceRecompile": true})).await;
    assert_eq!(
        (&failed["Success"], &failed["ErrorCount"], &failed["WarningCount"]),
        (&json!(false), &json!(1), &json!(0))
    );
    assert_eq!(
        (&failed["Errors"][0]["File"], &failed["Errors"][0]["Line"]),
        (&json!("Assets/Scripts/Broken.cs"), &json!(3))
    );
    assert_eq!(stage.result("get-compile-status", status("failed")).await["Result"], failed);
    assert_eq!(stage.unity.stats().domain, 1, "no reload follows");
    stage.unity.compile_error(false);

    stage.unity.import(Duration::from_secs(1));
    let updating = stage.result("compile", json!({})).await;
    assert_eq!((&updating["Success"], &updating["ErrorCode"]), (&json!(false), &json!("COMPILE_EDITOR_UPDATING")));
    assert_eq!(stage.unity.stats().compiles, 1);

    let mut peer = stage.client().await;
    peer.send(1, "compile", json!({"RequestId": "forced", "ForceRecompile": true}), json!({})).await;
    assert_eq!(peer.next().await, None);
    stage.reloaded().await;
    let forced = stage.result("get-compile-status", status("forced")).await["Result"].clone();
    assert_eq!((&forced["ErrorCode"], &forced["ErrorCount"]), (&json!("COMPILE_RESULT_UNKNOWN"), &Value::Null));

    let still = Stage::with("3.3.0", FakeUnityConfig { compile_reload: Duration::ZERO, ..config() }).await;
    assert_eq!(still.result("compile", json!({"RequestId": "c"})).await["Success"], true);
    let said = still.result("get-compile-status", status("c")).await;
    assert_eq!((&said["Ready"], &said["HasResult"], still.unity.stats().domain), (&json!(true), &json!(true), 1));
}

#[tokio::test(start_paused = true)]
async fn only_tests_in_play_mode_that_heed_the_project_are_kept() {
    let stage = Stage::new().await;
    let kept = async |id: &str| stage.result("get-run-tests-status", status(id)).await["HasResult"] == json!(true);
    for params in [json!({"RequestId": "t"}), json!({"RequestId": "t", "TestMode": "PlayMode"})] {
        let result = stage.result("run-tests", params).await;
        assert_eq!((&result["Success"], &result["FailedCount"]), (&json!(true), &json!(0)));
        assert!(!kept("t").await);
    }
    let mut peer = stage.client().await;
    peer.send(1, "run-tests", json!({"RequestId": "t"}), json!({})).await;
    pause(10).await;
    drop(peer);
    pause(110).await;
    assert!(stage.is_free().await, "it is cancelled like any other tool");
    let params = json!({"RequestId": "t", "TestMode": "PlayMode", "RespectEnterPlayModeSettings": true});
    let mut peer = stage.client().await;
    peer.send(1, "run-tests", params, acks()).await;
    peer.next().await.unwrap();
    assert_eq!(peer.next().await, None, "play mode reloads the domain");
    stage.reloaded().await;
    assert!(kept("t").await);
    assert_eq!(stage.unity.stats().domain, 2);
}

#[tokio::test(start_paused = true)]
async fn play_mode_is_resumed_when_a_caller_goes() {
    let stage = Stage::new().await;
    for (action, playing, paused) in [
        ("Play", true, false),
        ("Pause", true, true),
        ("Step", true, true),
        ("Resume", true, false),
        ("Pause", true, true),
    ] {
        let said = stage.result("control-play-mode", json!({"Action": action})).await;
        assert_eq!((&said["IsPlaying"], &said["IsPaused"]), (&json!(playing), &json!(paused)), "{action}");
    }
    drop(stage.held().await);
    pause(110).await;
    let said = stage.result("get-play-mode-state", json!({})).await;
    assert_eq!((&said["IsPlaying"], &said["IsPaused"]), (&json!(true), &json!(false)));
}

async fn listed(stage: &Stage) -> Vec<Value> {
    stage.result("get-tool-details", json!({})).await["Tools"].as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn the_form_of_the_catalogue() {
    let stage = Stage::with("3.0.45", config()).await;
    let tools = listed(&stage).await;
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name}")).clone();
    assert_eq!(
        tool("get-logs").to_string(),
        concat!(
            r#"{"name":"get-logs","parameterSchema":{"Properties":{"LogType":{"Type":"string","Description":"Parameter: LogType","#,
            r#""DefaultValue":"All","Enum":["Error","Warning","Log","All"]},"MaxCount":{"Type":"number","Description":"Parameter: MaxCount","#,
            r#""DefaultValue":100,"Enum":null},"SearchText":{"Type":"string","Description":"Parameter: SearchText","DefaultValue":"","#,
            r#""Enum":null},"IncludeStackTrace":{"Type":"boolean","Description":"Parameter: IncludeStackTrace","DefaultValue":false,"#,
            r#""Enum":null},"UseRegex":{"Type":"boolean","Description":"Parameter: UseRegex","DefaultValue":false,"Enum":null},"#,
            r#""SearchInStackTrace":{"Type":"boolean","Description":"Parameter: SearchInStackTrace","DefaultValue":false,"Enum":null}},"#,
            r#""Required":[]},"displayDevelopmentOnly":false}"#
        )
    );
    assert!(tool("compile")["parameterSchema"]["Properties"].get("RequestId").is_none(), "it is hidden");
    assert_eq!(tool("count")["parameterSchema"]["Properties"]["key"]["Type"], "string");
}

#[tokio::test(start_paused = true)]
async fn versions_differ_in_tools_and_results() {
    let of = async |version: &str| {
        let stage = Stage::with(version, config()).await;
        let tools = listed(&stage).await;
        let names: Vec<String> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        let has = |tool: &str, param: &str| {
            let tool = tools.iter().find(|known| known["name"] == tool).unwrap();
            tool["parameterSchema"]["Properties"].get(param).is_some()
        };
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len(), "each tool once");
        assert_eq!(names.len() - 10, if version == "3.3.0" { 20 } else { 21 }, "{names:?}");
        assert_eq!(names.contains(&"record-input".to_owned()), version != "3.3.0");
        assert_eq!(has("compile", "TimeoutSeconds"), version == "3.3.0");
        assert_eq!(has("find-game-objects", "MaxResults"), version != "3.3.0");
        (stage.result("find-game-objects", json!({})).await, stage.result("get-logs", json!({})).await)
    };
    let (found, logs) = of("3.0.45").await;
    assert_eq!((&found["totalFound"], &found["Ver"]), (&json!(0), &json!("3.0.45")));
    assert_eq!((logs.get("Success"), &logs["Ver"]), (None, &json!("3.0.45")));
    let (found, logs) = of("3.0.57").await;
    assert_eq!((&found["TotalFound"], found.get("Ver"), logs.get("Success")), (&json!(0), None, None));
    let (found, logs) = of("3.3.0").await;
    assert_eq!((&found["TotalFound"], &logs["Success"]), (&json!(0), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn files_of_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let project = Some(folder.path().to_path_buf());
    let blocked_tools = vec!["run-tests".to_owned(), "execute-dynamic-code".to_owned()];
    let stage = Stage::with("3.3.0", FakeUnityConfig { project, blocked_tools, ..config() }).await;
    let file = folder.path().join(".uloop/tools.json");
    assert!(!file.exists());
    let tools = listed(&stage).await;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(!names.contains(&"run-tests") && names.contains(&"execute-dynamic-code"), "{names:?}");
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(read()["Tools"], Value::from(tools.clone()));
    std::fs::remove_file(&file).unwrap();
    listed(&stage).await;
    assert!(!file.exists(), "it is written when it differs");
    stage.unity.add_tool("another").unwrap();
    listed(&stage).await;
    assert_eq!(read()["Tools"].as_array().unwrap().len(), tools.len() + 1);

    let picture = stage.result("screenshot", json!({})).await["Screenshots"][0].clone();
    let bytes = std::fs::read(picture["ImagePath"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n") && picture["FileSizeBytes"] == json!(bytes.len()));
    assert!(picture["ImagePath"].as_str().unwrap().contains(".uloop/outputs/Screenshots/"));
    let tree = stage.result("get-hierarchy", json!({})).await;
    assert_eq!(tree.as_object().unwrap().len(), 1);
    let tree = std::fs::read(tree["HierarchyFilePath"].as_str().unwrap()).unwrap();
    assert!(serde_json::from_slice::<Value>(&tree).unwrap()["hierarchy"].is_array());
    // No lock files, and nothing of its own.
    let names: Vec<_> =
        std::fs::read_dir(folder.path().join("Temp")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["UnityLockfile"]);
}

#[tokio::test(start_paused = true)]
async fn frames_that_are_wrong_or_too_large_end_the_session_without_an_answer() {
    let stage = Stage::new().await;
    let ends = async |bytes: Vec<u8>| {
        let mut peer = stage.client().await;
        peer.write(&bytes).await;
        assert_eq!(peer.next().await, None);
    };
    ends(b"Content-Length: many\r\n\r\n{}".to_vec()).await;
    ends(b"X: y\r\n\r\n{}".to_vec()).await;
    ends(vec![b'x'; REQUEST_MAX_BYTES + 1]).await;
    let message = |padding: usize| {
        let text = json!({"id": 1, "method": "echo", "params": {"text": "x".repeat(padding)},
            "uloop": {"protocolVersion": 5}});
        observer::frame(&text)
    };
    let fits = REQUEST_MAX_BYTES - message(REQUEST_MAX_BYTES / 2).len() + REQUEST_MAX_BYTES / 2;
    // The head has one digit more.
    let fits = fits - 1;
    assert_eq!(message(fits).len(), REQUEST_MAX_BYTES);
    ends(message(fits + 1)).await;
    let mut peer = stage.client().await;
    peer.write(&message(fits)).await;
    assert_eq!(peer.next().await.unwrap()["result"]["Echo"].as_str().unwrap().len(), fits);

    // Other headers are skipped, names have no case, and the first length counts.
    let text = json!({"id": 2, "method": "echo", "params": {"TEXT": "ä"}, "uloop": {"protocolVersion": 5}}).to_string();
    let head = format!("X: y\r\ncontent-length:{}\r\nContent-Length: 1\r\n\r\n", text.len());
    let bytes = [head.as_bytes(), text.as_bytes()].concat();
    let (first, rest) = bytes.split_at(bytes.len() - 1);
    peer.write(first).await;
    pause(10).await;
    peer.write(rest).await;
    assert_eq!(peer.next().await.unwrap()["result"]["Echo"], "ä");
}

#[test]
fn what_an_observer_reads() {
    let frame = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    let request =
        frame(r#"{"jsonrpc":"2.0","method":"count","params":{"key":"k"},"uloop":{"protocolVersion":5},"id":12}"#);
    assert_eq!(observer::read(&PACKAGE, &request), ("count".to_owned(), "12".to_owned(), false));
    let wire = &PACKAGE.wire;
    for phase in ["accepted", "heartbeat"] {
        assert_eq!((wire.answered)(&json!({"id": 1, "result": {}, "uloop": {"phase": phase}})), None);
    }
    let answer = (wire.answered)(&json!({"id": 1, "result": {"Success": false}})).unwrap();
    assert!(answer.is_result && answer.failed);
    assert_eq!((wire.listed)(&json!({"Tools": [{}, {}]})), Some(2));
    let kinds = ["cli_update_required", "server_busy", "security_blocked", "internal_error"];
    let unrun = |id: Value| kinds.map(|kind| (wire.is_unrun)(&json!({"id": id, "error": {"data": {"type": kind}}})));
    assert_eq!(unrun(json!(1)), [true, true, true, false], "the words of internal_error prove nothing");
    assert_eq!(unrun(Value::Null), [true; 4], "a request that could not be read did not run");
}
