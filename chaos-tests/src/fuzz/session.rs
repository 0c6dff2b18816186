//! A whole session: a client writes bytes to a gateway that has no editor, until the client closes its end.
//!
//! An input is what the client writes, line by line. A line that begins with `@` stands for a whole message or for a pause
//! (see [`client_writes`]), so that mutations produce valid messages without spelling them letter by letter.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast::actors::gateway::Plain;
use holdfast::actors::parts::Parts;
use holdfast::config::{Config, PortSource};
use holdfast::core::ShutdownReason;
use holdfast::limits::OPEN_REQUESTS_MAX;
use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::platform::host::Liveness;
use holdfast::protocol::jsonrpc::{self, Message};
use holdfast::transport::run::{self, Pumps};
use holdfast_testkit::host::MemoryHost;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::sim::net::now;

/// Largest number of lines of an input that are played; the rest is ignored.
const LINES_MAX: usize = 64;
/// Capacity of the client's pipes in bytes. Small, so that both sides meet full pipes.
const PIPE: usize = 512;
/// Virtual time within which a session ends after its input has ended.
const END_MAX: Duration = Duration::from_secs(30);

/// A network on which no port listens and no port can be bound.
struct NoNet;

impl Net for NoNet {
    fn connect(&self, _: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }

    fn bind(&self, _: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async { Err(io::ErrorKind::AddrInUse.into()) })
    }
}

/// One action of the client.
enum Act {
    Write(Vec<u8>),
    Wait(Duration),
}

/// Turns a line of the input into actions of the client:
///
/// - `@i VERSION NAME`: the handshake, as a client of this name.
/// - `@c NAME ARGUMENTS`: a call under the next number.
/// - `@m METHOD PARAMS`: a request under the next number.
/// - `@s METHOD MEMBERS`: the same, stateless (2026-07-28).
/// - `@n METHOD PARAMS`: a notification.
/// - `@x ID`: a cancel.
/// - `@w N`: N tenths of a second pass.
///
/// Any other line is written as it is.
fn client_writes(line: &[u8], next: &mut u64) -> Vec<Act> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.splitn(3, ' ');
    let (kind, first, rest) = (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or("{}"));
    let quoted = Value::from(first).to_string();
    let mut number = || {
        *next += 1;
        *next
    };
    let written = |text: String| vec![Act::Write(text.into_bytes())];
    match kind {
        Some("@i") => {
            let client = json!({"name": rest, "version": "1"});
            let params = json!({"protocolVersion": first, "capabilities": {"roots": {}}, "clientInfo": client});
            let open = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"initialize","params":{params}}}"#, number());
            let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            vec![Act::Write(open.into_bytes()), Act::Write(ready.into())]
        }
        Some("@c") => written(format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":{quoted},"arguments":{rest}}}}}"#,
            number()
        )),
        Some("@m") => written(format!(r#"{{"jsonrpc":"2.0","id":{},"method":{quoted},"params":{rest}}}"#, number())),
        Some("@s") => {
            let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
            let (comma, members) = if rest == "{}" { ("", "") } else { (",", rest) };
            let params = format!(r#"{{"_meta":{{{meta}}}{comma}{members}}}"#);
            written(format!(r#"{{"jsonrpc":"2.0","id":{},"method":{quoted},"params":{params}}}"#, number()))
        }
        Some("@n") => written(format!(r#"{{"jsonrpc":"2.0","method":{quoted},"params":{rest}}}"#)),
        Some("@x") => written(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{first}}}}}"#
        )),
        Some("@w") => vec![Act::Wait(Duration::from_millis(100 * u64::from(first.parse::<u8>().unwrap_or(1))))],
        _ => vec![Act::Write(line.to_vec())],
    }
}

/// The answers that the gateway must give for everything that the client wrote: how many for each id (as JSON, or `null`),
/// and how many of them may be missing because of cancels.
#[derive(Debug, Default)]
pub struct Owed {
    answers: BTreeMap<String, usize>,
    cancels: usize,
}

impl Owed {
    fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        let key = |id: Option<&jsonrpc::RequestId>| id.map_or("null", |id| id.as_json()).to_owned();
        match jsonrpc::parse(line) {
            Ok(Message::Request { id, .. }) => *self.answers.entry(key(Some(&id))).or_default() += 1,
            Ok(Message::Notification { method, params }) if method == "notifications/cancelled" => {
                let params: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
                // Ids are not compared here, because a cancel may spell the same number in another way. Each readable cancel
                // permits one missing answer.
                if params.is_none_or(|params| params.get("requestId").is_some()) {
                    self.cancels += 1;
                }
            }
            Ok(_) => {}
            Err(invalid) if invalid.owes_answer() => *self.answers.entry(key(invalid.id.as_ref())).or_default() += 1,
            Err(_) => {}
        }
    }

    /// Compares stdout with the answers that the gateway must give.
    ///
    /// # Errors
    /// The first broken promise, as a sentence.
    pub fn check(&self, stdout: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(stdout).map_err(|_| "stdout is not UTF-8".to_owned())?;
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("stdout ends within a line".to_owned());
        }
        let mut left = self.answers.clone();
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
            if message.get("jsonrpc") != Some(&Value::from("2.0")) {
                return Err(format!("{line}: not JSON-RPC 2.0"));
            }
            let outcomes = usize::from(message.get("result").is_some()) + usize::from(message.get("error").is_some());
            match (message.get("method"), outcomes) {
                (Some(Value::String(_)), 0) => continue,
                (None, 1) => {}
                _ => return Err(format!("{line}: neither an answer nor a message of its own")),
            }
            // Answers repeat ids byte for byte, so they are compared as the client wrote them.
            let id = match jsonrpc::parse(line.as_bytes()) {
                Ok(Message::Response { id, .. }) => id.map_or("null".to_owned(), |id| id.as_json().to_owned()),
                other => return Err(format!("{line}: read as {other:?}")),
            };
            match left.get_mut(&id) {
                Some(owed) if *owed > 0 => *owed -= 1,
                _ => return Err(format!("{line}: an answer that nobody is owed")),
            }
        }
        let missing: usize = left.values().sum();
        if missing > self.cancels {
            left.retain(|_, owed| *owed > 0);
            return Err(format!("not answered: {left:?}, and {} cancels", self.cancels));
        }
        Ok(())
    }
}

/// Plays a session and checks its answers.
pub fn session(input: &[u8]) {
    let (owed, stdout) = play(input);
    if let Err(broken) = owed.check(&stdout) {
        panic!("{broken}\nstdout:\n{}", String::from_utf8_lossy(&stdout));
    }
}

/// Plays a session. Returns the answers that the gateway must give, and the bytes of stdout.
pub fn play(input: &[u8]) -> (Owed, Vec<u8>) {
    const { assert!(LINES_MAX * 2 < OPEN_REQUESTS_MAX) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O needs nothing of the system");
    runtime.block_on(async {
        let config = Config {
            ports: vec![(8700, PortSource::Flag)],
            state_dir: Some(PathBuf::from("/simulated/state")),
            patience: Some(Duration::from_secs(5)),
            seed: Some(7),
            ..Config::default()
        };
        let host = MemoryHost::of(7, Liveness::Dead, now);
        let parts = Parts::new(config, Arc::new(NoNet), Arc::new(host));
        let (mut to_gateway, stdin) = tokio::io::duplex(PIPE);
        let (stdout, mut from_gateway) = tokio::io::duplex(PIPE);
        let pumps = Pumps::over(&parts, stdin, stdout);
        let reading = tokio::spawn(async move {
            let mut bytes = Vec::new();
            let _ = from_gateway.read_to_end(&mut bytes).await;
            bytes
        });
        let (quit, quitting) = mpsc::channel(1);
        let running = tokio::spawn({
            let parts = Arc::clone(&parts);
            async move { run::run(&parts, Plain, pumps, quitting, None).await }
        });
        let (mut owed, mut next) = (Owed::default(), 0);
        for line in input.split(|byte| *byte == b'\n').take(LINES_MAX) {
            for act in client_writes(line, &mut next) {
                match act {
                    Act::Wait(time) => tokio::time::sleep(time).await,
                    Act::Write(mut line) => {
                        line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
                        owed.line(&line);
                        line.push(b'\n');
                        to_gateway.write_all(&line).await.expect("the gateway reads until the end");
                    }
                }
            }
        }
        drop(to_gateway);
        let why = tokio::time::timeout(END_MAX, running).await.expect("the end comes").expect("main does not panic");
        assert_eq!(why, ShutdownReason::InputEnded);
        assert!(parts.env.health.restarts().is_empty(), "an actor fell: {:?}", parts.env.health.restarts());
        let counts = parts.client.outbox.counts();
        assert_eq!((counts.open, counts.queued), (0, 0), "nothing is left");
        drop((quit, parts));
        (owed, reading.await.expect("reading does not panic"))
    })
}
