//! A session with the gateway: the editor connected, says which project it has, and runs commands one after the other. Each has an id,
//! which only tells late results apart.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::bridge::{Bridge, Dial, V9_5, lock};
use super::commands::{self, is_tool};
use super::names::{data_path, project_hash, project_name};
use super::websocket::{self, Heard, Incoming};
use super::{catalogue, wire};
use crate::events::Event;
use crate::face::{Link, Writer};
use crate::json::Object;
use crate::model::{Editor, Note};
use crate::odd;
use crate::project::UNITY_VERSION;
use crate::work::{Begun, Done, Fault};

/// The path of the hub on the gateway's port.
const PATH: &str = "/hub/plugin";
/// How long the gateway may take to answer the handshake; inferred.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Time between two pongs, unless the gateway names another one, and how long a command may take (the package's own numbers).
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMAND_SECONDS: i64 = 30;
/// The code of an orderly end.
const NORMAL: u16 = 1000;

/// The words with which an editor ends its session.
pub(super) fn goodbye() -> Vec<u8> {
    websocket::frame(websocket::CLOSE, &NORMAL.to_be_bytes(), [0; 4])
}

/// The outgoing side of a session, and what goes on beside the command that runs.
struct Session {
    bridge: Arc<Bridge>,
    editor: Arc<Editor>,
    connection: u64,
    notes: mpsc::Receiver<Note>,
    writer: Writer,
    random: fastrand::Rng,
    changes: watch::Receiver<u64>,
    /// The session's id, once the gateway has registered the editor.
    id: Option<String>,
    keep_alive: Duration,
    pong_at: Instant,
    command_seconds: i64,
}

impl Bridge {
    /// Serves the connection to the gateway to its end; returns why it ended.
    pub(super) async fn serve_hub(self: &Arc<Self>, editor: &Arc<Editor>, link: Link) -> std::io::Result<&'static str> {
        let Link { connection, notes, reader, mut writer } = link;
        let seed = editor.guid().bytes().fold(0, |seed: u64, byte| seed.rotate_left(5) ^ u64::from(byte));
        let mut random = fastrand::Rng::with_seed(seed);
        let mut incoming = Incoming::new(reader);
        let key = websocket::key(random.u128(..).to_be_bytes());
        let host = if self.version >= V9_5 { "127.0.0.1" } else { "localhost" };
        let port = editor.state().port.unwrap_or_default();
        writer.write(websocket::request(host, port, PATH, &key).as_bytes()).await?;
        match timeout(HANDSHAKE_MAX, incoming.is_taken(&key)).await {
            Ok(Ok(true)) => {}
            Ok(Err(error)) => return Err(error),
            _ => return Ok("no WebSocket"),
        }
        let session = Session {
            bridge: Arc::clone(self),
            editor: Arc::clone(editor),
            connection,
            notes,
            writer,
            random,
            changes: self.changes.subscribe(),
            id: None,
            keep_alive: KEEP_ALIVE,
            pong_at: Instant::now(),
            command_seconds: COMMAND_SECONDS,
        };
        let _idle = Idle(self);
        session.serve(&mut incoming).await
    }
}

/// Marks the bridge as idle when it is dropped.
struct Idle<'a>(&'a Bridge);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Relaxed);
    }
}

impl Session {
    async fn serve(mut self, incoming: &mut Incoming) -> std::io::Result<&'static str> {
        let root = self.editor.project.as_ref().map(|project| project.root().replace('\\', "/")).unwrap_or_default();
        let data_path = data_path(&root);
        let hello = json!({
            "type": "register", "project_name": project_name(&data_path), "project_hash": project_hash(&data_path),
            "unity_version": UNITY_VERSION, "project_path": root,
        });
        self.say(&hello.to_string()).await?;
        loop {
            let bridge = Arc::clone(&self.bridge);
            let next = async {
                tokio::select! {
                    biased;
                    () = bridge.ends_session.notified() => None,
                    heard = incoming.next() => Some(heard),
                }
            };
            match self.beside(next).await? {
                None => {
                    self.writer.write(&goodbye()).await?;
                    return Ok("ended by the window");
                }
                Some(heard) => match heard? {
                    Heard::End(why) => return Ok(why),
                    Heard::Close(reason) => {
                        self.send(websocket::CLOSE, &reason).await?;
                        return Ok("closed by the gateway");
                    }
                    Heard::Ping(payload) => self.send(websocket::PONG, &payload).await?,
                    Heard::Text(text) => match serde_json::from_str(&text) {
                        Ok(Value::Object(message)) => self.hear(&message).await?,
                        _ => self.editor.state().unparsable += 1,
                    },
                },
            }
        }
    }

    async fn hear(&mut self, message: &Map<String, Value>) -> std::io::Result<()> {
        match message.get("type").and_then(Value::as_str) {
            Some("welcome") => {
                let seconds = |name: &str| message.get(name).and_then(Value::as_f64).filter(|seconds| *seconds >= 1.0);
                if let Some(seconds) = seconds("keepAliveInterval") {
                    self.keep_alive = Duration::try_from_secs_f64(seconds).unwrap_or(KEEP_ALIVE);
                }
                if let Some(seconds) = seconds("serverTimeout") {
                    self.command_seconds = seconds as i64;
                }
            }
            Some("registered") => {
                self.id = message.get("session_id").and_then(Value::as_str).map(str::to_owned);
                self.pong_at = Instant::now() + self.keep_alive;
                // What comes next is a loss.
                *lock(&self.bridge.dial) = Dial::after_loss();
                let name = self.id.clone().unwrap_or_default();
                self.editor.name_client(self.connection, &name);
                // The main thread has to list them.
                let bridge = Arc::clone(&self.bridge);
                let work = self.editor.submit(move |editor| Begun::ok(Object::instead(tools(&bridge, editor))));
                if let Ok(Done { result: Ok(tools), .. }) = self.beside(work).await? {
                    self.say(&tools.finish()).await?;
                }
            }
            Some("ping") => self.pong().await?,
            Some("execute") => {
                self.bridge.is_busy.store(true, Ordering::Relaxed);
                let executed = self.execute(message).await;
                self.bridge.is_busy.store(false, Ordering::Relaxed);
                executed?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Runs a command to its end. If the connection is lost before it has begun, it never runs.
    async fn execute(&mut self, message: &Map<String, Value>) -> std::io::Result<()> {
        let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text("id"), text("name"));
        let params = message.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let seconds = message.get("timeout").and_then(Value::as_f64).map_or(self.command_seconds, |given| given as i64);
        self.editor.state().requests += 1;
        self.editor.event(Event::Request { connection: self.connection, method: name.clone() });
        let is_tool = is_tool(&self.editor, &name);
        let (waits, mut waiting) = oneshot::channel::<()>();
        let (bridge, connection, command) = (Arc::clone(&self.bridge), self.connection, name.clone());
        let work = self.editor.submit(move |editor| match waiting.try_recv() {
            Err(TryRecvError::Empty) => commands::begin(&bridge, editor, connection, &command, params),
            // Nobody waits for it any more.
            _ => Begun::fault(Fault::Cancelled),
        });
        let until = Instant::now()
            + Duration::from_secs(u64::try_from(seconds).unwrap_or_default().clamp(1, u64::from(u32::MAX)));
        let done = self.beside(timeout_at(until, work)).await?;
        drop(waits);
        let mut is_told = !is_tool;
        let (reply, then) = match done {
            Ok(Ok(Done { result, then })) if !(is_tool && self.editor.loses_answer()) => {
                (result.map(Object::finish).unwrap_or_default(), then)
            }
            // The domain ends, and the connection with it.
            Ok(Err(_)) => return Ok(()),
            lost => {
                if let Ok(Ok(Done { result, then })) = lost {
                    let outcome = commands::outcome(&result.map(Object::finish).unwrap_or_default());
                    self.editor.event(Event::CallEnded { connection: self.connection, tool: name.clone(), outcome });
                    is_told = true;
                    then.into_iter().for_each(|order| self.editor.order(order));
                }
                // A lost answer is one of a tool that returned nothing.
                self.beside(tokio::time::sleep_until(until)).await?;
                (wire::too_long(&format!("Command '{name}' timed out after {seconds} seconds")), None)
            }
        };
        let result = Object::new().text("type", "command_result").text("id", &id).raw("result", &reply);
        let written = self.say(&result.finish()).await;
        if let Some(order) = then {
            self.editor.order(order);
        }
        written?;
        if !is_told {
            let outcome = commands::outcome(&reply);
            self.editor.event(Event::CallEnded { connection: self.connection, tool: name, outcome });
        }
        Ok(())
    }

    /// Does some work, and beside it what has to be said meanwhile.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> std::io::Result<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                Some(note) = self.notes.recv() => self.writer.note(note).await?,
                done = &mut work => return Ok(done),
                // The sender lives in the bridge.
                _ = self.changes.changed(), if self.id.is_some() => {
                    let tools = tools(&self.bridge, &self.editor);
                    self.say(&tools).await?;
                }
                () = tokio::time::sleep_until(self.pong_at), if self.id.is_some() => {
                    self.pong_at += self.keep_alive;
                    self.pong().await?;
                }
            }
        }
    }

    async fn pong(&mut self) -> std::io::Result<()> {
        self.say(&json!({"type": "pong", "session_id": self.id}).to_string()).await
    }

    async fn say(&mut self, message: &str) -> std::io::Result<()> {
        self.send(websocket::TEXT, &odd::bytes(message)).await
    }

    async fn send(&mut self, kind: u8, payload: &[u8]) -> std::io::Result<()> {
        let mask = self.random.u32(..).to_be_bytes();
        self.writer.write(&websocket::frame(kind, payload, mask)).await
    }
}

/// Returns the message that lists the tools that the user has not disabled.
fn tools(bridge: &Bridge, editor: &Editor) -> String {
    let state = editor.state();
    let enabled = state.tools.iter().filter(|tool| !bridge.is_disabled(&tool.name));
    json!({"type": "register_tools", "tools": enabled.map(catalogue::entry).collect::<Vec<_>>()}).to_string()
}
