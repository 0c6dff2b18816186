//! The editor as a client of the gateway: the session, its commands, its losses, and when it connects again.

use tokio::time::Instant;

use super::*;
use crate::coplay::websocket;

/// A gateway on the port, before an editor starts.
struct Hub {
    net: Arc<Memory>,
    listener: Option<Arc<dyn Listener>>,
}

impl Hub {
    async fn new() -> Self {
        let mut hub = Self { net: Memory::new(), listener: None };
        hub.up().await;
        hub
    }

    async fn up(&mut self) {
        self.listener = Some(self.net.bind(PORT).await.unwrap());
    }

    async fn editor(&self, config: FakeUnityConfig) -> FakeUnity {
        let config = FakeUnityConfig { package: &HTTP, port: PORT, user_connects: None, ..config };
        FakeUnity::start(config, self.net.clone()).await.unwrap()
    }

    /// Takes the next connection as it comes.
    async fn raw(&self) -> Socket {
        let (stream, _) = within(self.listener.as_ref().unwrap().accept()).await.unwrap();
        Socket { stream, buffer: Vec::new() }
    }

    /// Takes the next connection, and returns it with the editor's first message.
    async fn greeted(&self) -> (Socket, Value) {
        let mut socket = self.raw().await;
        socket.upgrade().await;
        let hello = socket.json().await;
        (socket, hello)
    }

    /// Takes the next connection, registers its editor and drops its list of tools.
    async fn session(&self) -> Socket {
        let (mut socket, _) = self.greeted().await;
        socket.say(json!({"type": "registered", "session_id": "s1"})).await;
        assert_eq!(socket.json().await["type"], "register_tools");
        socket
    }
}

/// The gateway's end of a connection.
struct Socket {
    stream: BoxStream,
    buffer: Vec<u8>,
}

impl Socket {
    /// Returns the head of the request.
    async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                return String::from_utf8(self.buffer.drain(..end + 4).collect()).unwrap();
            }
            assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "no request");
        }
    }

    async fn upgrade(&mut self) {
        let head = self.head().await;
        let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
        let accept = websocket::accept(key);
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: WebSocket\r\nsec-websocket-accept: {accept}\r\n\r\n"
        );
        self.stream.write_all(answer.as_bytes()).await.unwrap();
    }

    /// Writes a frame as a server does.
    async fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match payload.len() {
            length @ 0..126 => frame.push(length as u8),
            length @ 126..0x1_0000 => {
                frame.push(126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(payload);
        // The editor may have gone.
        let _ = self.stream.write_all(&frame).await;
    }

    async fn say(&mut self, message: Value) {
        self.frame(0x81, message.to_string().as_bytes()).await;
    }

    async fn execute(&mut self, id: &str, name: &str, params: Value, timeout: f64) {
        self.say(json!({"type": "execute", "id": id, "name": name, "params": params, "timeout": timeout})).await;
    }

    /// Returns the kind and the payload of the next frame; `None` at the end of the connection.
    async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some((head, length)) = self.length()
                && self.buffer.len() >= head + 4 + length
            {
                let frame: Vec<u8> = self.buffer.drain(..head + 4 + length).collect();
                let mask = &frame[head..head + 4];
                let payload =
                    frame[head + 4..].iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
                return Some((frame[0] & 0x0f, payload));
            }
            if more(&mut self.stream, &mut self.buffer).await == 0 {
                return None;
            }
        }
    }

    fn length(&self) -> Option<(usize, usize)> {
        let second = *self.buffer.get(1)?;
        assert!(second & 0x80 != 0, "a client masks its frames");
        match second & 0x7f {
            126 => Some((4, u16::from_be_bytes(*self.buffer[2..].first_chunk()?).into())),
            127 => Some((10, u64::from_be_bytes(*self.buffer[2..].first_chunk()?) as usize)),
            length => Some((2, length.into())),
        }
    }

    async fn json(&mut self) -> Value {
        let (kind, payload) = self.next().await.expect("a message");
        assert_eq!(kind, websocket::TEXT);
        serde_json::from_slice(&payload).unwrap()
    }

    /// Returns the next message that is no pong.
    async fn answer(&mut self) -> Value {
        loop {
            let message = self.json().await;
            if message["type"] != "pong" {
                return message;
            }
        }
    }

    /// Reads to the end of the connection; returns the code with which the editor closed it.
    async fn ended(&mut self) -> Option<u16> {
        let mut code = None;
        while let Some((kind, payload)) = self.next().await {
            if kind == websocket::CLOSE {
                code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
            }
        }
        code
    }
}

#[tokio::test(start_paused = true)]
async fn the_editor_connects_says_who_it_is_and_lists_its_tools() {
    let hub = Hub::new().await;
    let (folder, _disk, config) = places();
    let config = FakeUnityConfig { blocked_tools: vec!["manage_ui".to_owned()], ..config };
    let unity = hub.editor(config).await;
    let (mut socket, hello) = hub.greeted().await;
    let root = std::fs::canonicalize(folder.path()).unwrap().to_string_lossy().into_owned();
    let hash = crate::coplay::names::project_hash(&format!("{root}/Assets"));
    assert_eq!(hash.len(), 16);
    assert_eq!(
        hello,
        json!({"type": "register", "project_name": root.rsplit('/').next().unwrap(), "project_hash": hash,
            "unity_version": "2022.3.62f1", "project_path": root})
    );
    // The main thread lists the tools.
    unity.modal(true);
    socket.say(json!({"type": "registered", "session_id": "s1"})).await;
    socket.say(json!({"type": "ping"})).await;
    assert!(tokio::time::timeout(Duration::from_secs(10), socket.next()).await.is_err());
    unity.modal(false);
    let listed = socket.json().await;
    let tool = |name: &str| listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
    let echo = tool("echo").unwrap();
    assert_eq!(
        echo,
        json!({"name": "echo", "description": "Returns the text.", "structured_output": true, "requires_polling": false,
            "poll_action": "status", "max_poll_seconds": 0, "group": null,
            "parameters": [{"name": "text", "description": "What to return", "type": "string", "required": false, "default_value": ""}]})
    );
    let build = tool("manage_build").unwrap();
    assert_eq!((&build["requires_polling"], &build["max_poll_seconds"]), (&json!(true), &json!(1800)));
    assert_eq!((&build["group"], &build["parameters"]), (&json!("core"), &json!([])));
    assert_eq!(tool("manage_ui"), None, "the user disabled it");
    assert_eq!(socket.json().await, json!({"type": "pong", "session_id": "s1"}));
    // Again on each change.
    unity.add_tool("later").unwrap();
    let listed = socket.json().await;
    assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "later"));
}

#[tokio::test(start_paused = true)]
async fn the_handshake_is_plain() {
    for (name, host) in VERSIONS.into_iter().zip(["localhost", "127.0.0.1", "127.0.0.1", "127.0.0.1"]) {
        let hub = Hub::new().await;
        let _unity = hub.editor(version(name)).await;
        let head = hub.raw().await.head().await;
        let (request, key) = head.split_once("Sec-WebSocket-Key: ").unwrap();
        let plain = format!(
            "GET /hub/plugin HTTP/1.1\r\nHost: {host}:6400\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        );
        assert_eq!(request, plain);
        assert_eq!(key.trim_end().len(), 24);
    }
}

#[test]
fn the_answer_to_a_key_is_that_of_the_standard() {
    assert_eq!(websocket::accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[tokio::test(start_paused = true)]
async fn commands_run_one_after_the_other_and_pings_wait_while_pongs_go_on() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut events = unity.events();
    let mut socket = hub.session().await;
    let began = Instant::now();
    socket.execute("c1", "hold", json!({}), 3600.0).await;
    socket.execute("c2", "count", json!({"key": "k"}), 3600.0).await;
    socket.say(json!({"type": "ping"})).await;
    Stage::begun(&mut events).await;
    for seconds in [15, 30, 45] {
        assert_eq!(socket.json().await, json!({"type": "pong", "session_id": "s1"}));
        assert_eq!(began.elapsed().as_secs(), seconds, "only the timer's");
    }
    assert_eq!(unity.runs("k"), 0);
    unity.release();
    assert_eq!(
        socket.json().await,
        json!({"type": "command_result", "id": "c1", "result": {"status": "success", "result": {"success": true, "Released": true}}})
    );
    let second = socket.json().await;
    assert_eq!((&second["id"], &second["result"]["result"]["Runs"]), (&json!("c2"), &json!(1)));
    assert_eq!(socket.json().await["type"], "pong");
    assert_eq!(began.elapsed().as_secs(), 45, "the ping's");
}

#[tokio::test(start_paused = true)]
async fn the_gateway_may_ask_for_more_pongs_and_sets_the_usual_limit() {
    let hub = Hub::new().await;
    let _unity = hub.editor(config()).await;
    let (mut socket, _) = hub.greeted().await;
    socket.say(json!({"type": "welcome", "serverTimeout": 7, "keepAliveInterval": 5})).await;
    socket.say(json!({"type": "registered", "session_id": "s1"})).await;
    assert_eq!(socket.json().await["type"], "register_tools");
    let began = Instant::now();
    for seconds in [5, 10] {
        assert_eq!(socket.json().await["type"], "pong");
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    socket.say(json!({"type": "execute", "id": "c1", "name": "hold"})).await;
    let told = socket.answer().await;
    assert_eq!(told["result"]["error"], "Command 'hold' timed out after 7 seconds");
    assert_eq!(began.elapsed().as_secs(), 17);
}

#[tokio::test(start_paused = true)]
async fn after_its_limit_what_has_not_started_never_runs_and_what_has_runs_on() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut events = unity.events();
    let mut socket = hub.session().await;
    unity.modal(true);
    socket.execute("c1", "count", json!({"key": "never"}), 2.9).await;
    assert_eq!(
        socket.json().await,
        json!({"type": "command_result", "id": "c1",
            "result": {"status": "error", "error": "Command 'count' timed out after 2 seconds"}})
    );
    unity.modal(false);
    socket.execute("c2", "count", json!({"key": "held", "hold": true}), 3.0).await;
    Stage::begun(&mut events).await;
    assert_eq!(socket.json().await["result"]["error"], "Command 'count' timed out after 3 seconds");
    assert_eq!((unity.runs("never"), unity.runs("held"), unity.stats().running), (0, 1, 1));
    // The next is served while the other still runs, whose result nobody gets.
    socket.execute("c3", "echo", json!({"text": "a"}), 3.0).await;
    assert_eq!(socket.json().await["id"], "c3");
    unity.release();
    until(&unity, |stats| stats.running == 0).await;
    // It waits for a second at least, and prints the number as it came.
    let began = Instant::now();
    socket.execute("c4", "hold", json!({}), 0.0).await;
    assert_eq!(socket.json().await["result"]["error"], "Command 'hold' timed out after 0 seconds");
    assert_eq!(began.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_what_has_not_started_never_runs_and_what_has_runs_on() {
    for starts in [false, true] {
        let hub = Hub::new().await;
        let unity = hub.editor(config()).await;
        let mut events = unity.events();
        let mut socket = hub.session().await;
        let key = json!({"key": "k", "hold": true});
        unity.modal(!starts);
        socket.execute("c1", "count", key, 3600.0).await;
        if starts {
            Stage::begun(&mut events).await;
        } else {
            until(&unity, |stats| stats.queued == 1).await;
        }
        let lost = Instant::now();
        drop(socket);
        // Only the timer's next pong notices it.
        let mut socket = hub.session_of_busy(&unity, !starts).await;
        assert_eq!(lost.elapsed().as_secs(), 15);
        unity.modal(false);
        unity.release();
        until(&unity, |stats| stats.queued + stats.running == 0).await;
        assert_eq!(unity.runs("k"), u64::from(starts));
        socket.execute("c2", "echo", json!({}), 30.0).await;
        assert_eq!(socket.answer().await["id"], "c2", "the other result is lost");
    }
}

impl Hub {
    /// Like [`session`](Self::session), of an editor whose main thread may be blocked.
    async fn session_of_busy(&self, unity: &FakeUnity, is_blocked: bool) -> Socket {
        let (mut socket, _) = self.greeted().await;
        if is_blocked {
            unity.modal(false);
        }
        socket.say(json!({"type": "registered", "session_id": "s1"})).await;
        assert_eq!(socket.json().await["type"], "register_tools");
        socket
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_of_the_gateway_is_seen_after_the_running_command() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut events = unity.events();
    let mut socket = hub.session().await;
    socket.execute("c1", "hold", json!({}), 3600.0).await;
    Stage::begun(&mut events).await;
    socket.frame(0x88, &1001_u16.to_be_bytes()).await;
    assert_eq!(socket.json().await["type"], "pong");
    unity.release();
    assert_eq!(socket.answer().await["id"], "c1");
    assert_eq!(socket.ended().await, Some(1001));
    hub.session().await;
}

#[tokio::test(start_paused = true)]
async fn a_reload_aborts_the_session_and_an_orderly_end_closes_it() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut socket = hub.session().await;
    unity.reload(RELOAD).await.unwrap();
    assert_eq!(socket.ended().await, None);
    let mut socket = hub.session().await;
    unity.crash().await.unwrap();
    assert_eq!(socket.ended().await, None);
    unity.up().await.unwrap();
    let mut socket = hub.session().await;
    unity.down().await.unwrap();
    assert_eq!(socket.ended().await, Some(1000));
    unity.up().await.unwrap();
    let mut socket = hub.session().await;
    let (code, quit) = tokio::join!(socket.ended(), unity.quit());
    quit.unwrap();
    assert_eq!(code, Some(1000));
}

/// Makes an editor that has lost the gateway, and returns the seconds at which it would have been heard again.
async fn attempts(hub: &mut Hub, seconds: u64) -> Vec<u64> {
    let began = Instant::now();
    let mut heard = Vec::new();
    if hub.listener.is_none() {
        hub.up().await;
    }
    while began.elapsed().as_secs() < seconds {
        let listener = hub.listener.clone().unwrap();
        if let Ok(Ok(_)) = tokio::time::timeout(Duration::from_secs(1), listener.accept()).await {
            heard.push(began.elapsed().as_secs());
        }
    }
    heard
}

#[tokio::test(start_paused = true)]
async fn it_connects_again_six_times_and_a_first_start_tries_once() {
    let later = [0, 1, 4, 9, 19, 49];
    let mut hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let socket = hub.session().await;
    hub.listener = None;
    drop(socket);
    pause(1).await;
    assert_eq!(attempts(&mut hub, 300).await, later, "after a loss");
    unity.reload(RELOAD).await.unwrap();
    pause(300).await;
    assert_eq!(attempts(&mut hub, 300).await, later, "after a reload");
    unity.push("connect").await.unwrap();
    assert_eq!(attempts(&mut hub, 300).await, [0], "by the button");
    hub.session_after(&unity).await;

    let hub = Hub { net: Memory::new(), listener: None };
    let unity = hub.editor(config()).await;
    pause(1000).await;
    let mut hub = hub;
    assert!(attempts(&mut hub, 300).await.is_empty(), "the only one was before");
    hub.session_after(&unity).await;
}

#[tokio::test(start_paused = true)]
async fn a_user_who_presses_connect_makes_up_for_an_editor_that_has_given_up() {
    let hub = Hub { net: Memory::new(), listener: None };
    let with_user =
        FakeUnityConfig { package: &HTTP, port: PORT, user_connects: Some(Duration::from_secs(7)), ..config() };
    let _unity = FakeUnity::start(with_user, hub.net.clone()).await.unwrap();
    pause(14_500).await;
    let mut hub = hub;
    assert_eq!(attempts(&mut hub, 30).await, [6, 13, 20, 27]);
}

impl Hub {
    /// Presses the button, and takes the session that follows.
    async fn session_after(&self, unity: &FakeUnity) -> Socket {
        unity.push("connect").await.unwrap();
        self.session().await
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_window_probes_the_port_and_ends_the_session_of_a_port_that_is_gone() {
    let mut hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut socket = hub.session().await;
    unity.push("window").await.unwrap();
    let began = Instant::now();
    for nth in 1..=4 {
        assert_eq!(hub.raw().await.stream.read(&mut [0]).await.unwrap(), 0, "it says nothing");
        assert_eq!(began.elapsed().as_millis(), 750 * nth);
    }
    // While a command is at work, nothing is ended.
    let mut events = unity.events();
    socket.execute("c1", "hold", json!({}), 3600.0).await;
    Stage::begun(&mut events).await;
    hub.listener = None;
    pause(10_000).await;
    unity.release();
    assert_eq!(socket.answer().await["id"], "c1");
    let idle = Instant::now();
    assert_eq!(socket.ended().await, Some(1000));
    assert!((1500..2300).contains(&idle.elapsed().as_millis()), "{:?}", idle.elapsed());
    unity.push("window").await.unwrap();
    pause(1000).await;
    assert!(attempts(&mut hub, 100).await.is_empty(), "the user has to connect");
    hub.session_after(&unity).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_websocket_of_a_server_ends_the_connection() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    drop(hub.raw().await);
    unity.push("connect").await.unwrap();
    for answer in
        ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 101 -\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"]
    {
        let mut socket = hub.raw().await;
        socket.head().await;
        socket.stream.write_all(answer.as_bytes()).await.unwrap();
        assert_eq!(socket.next().await, None, "{answer}");
        unity.push("connect").await.unwrap();
    }
    for frame in [[0x81, 0x80], [0xc1, 0x00], [0x80, 0x00]] {
        let (mut socket, _) = hub.greeted().await;
        socket.stream.write_all(&frame).await.unwrap();
        assert_eq!(socket.next().await, None, "{frame:?}");
        unity.push("connect").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn messages_may_come_in_parts_and_foreign_ones_are_ignored() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut socket = hub.session().await;
    socket.say(json!({"type": "news"})).await;
    socket.say(json!([1])).await;
    socket.frame(0x81, b"{").await;
    socket.frame(0x82, b"bytes").await;
    let text =
        json!({"type": "execute", "id": "c1", "name": "echo", "params": {"text": "x".repeat(70_000)}}).to_string();
    let (first, rest) = text.as_bytes().split_at(200);
    socket.frame(0x01, first).await;
    socket.frame(0x89, b"are you there").await;
    assert_eq!(socket.next().await, Some((websocket::PONG, b"are you there".to_vec())));
    socket.frame(0x80, rest).await;
    let answer = socket.json().await;
    assert_eq!(answer["result"]["result"]["Echo"].as_str().unwrap().len(), 70_000);
    assert_eq!(unity.stats().unparsable, 2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_a_limit_that_passes() {
    let hub = Hub::new().await;
    let unity = hub.editor(config()).await;
    let mut socket = hub.session().await;
    unity.lose_answer();
    socket.execute("c1", "count", json!({"key": "k"}), 40.0).await;
    assert_eq!(socket.answer().await["result"]["error"], "Command 'count' timed out after 40 seconds");
    assert_eq!(unity.runs("k"), 1);
}
