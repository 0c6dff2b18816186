//! Serves one connection: reads and writes frames, and answers holdfast's own methods off the main thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::calls::{Call, Caller, Identity, Order, Phase};
use super::desk::{Desk, Ending, Greeting, HoldfastFace, Inner, Outbox, Outgoing, Peer, WAITING_MAX};
use super::package::PACKAGE_VERSION;
use super::wire::{self, NAME_MAX_BYTES, PROTOCOL, Params, Refusal, Request};
use super::{catalogue, proof};
use crate::config::Misconduct;
use crate::events::Event;
use crate::face::{Link, Reader, Writer};
use crate::json::{self, Object};
use crate::model::Editor;
use crate::project::UNITY_VERSION;

/// Maximum number of connections at the same time.
const CONNECTIONS_MAX: usize = 32;
/// If a client does not read [`WRITE_BYTES`] within this time, it is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of bytes of a message that are written at once.
const WRITE_BYTES: usize = 64 * 1024;
/// How long a closing connection is still read, so that its client gets to read why it ends.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// Maximum number of calls in one `holdfast/outcome` request.
const QUESTIONS_MAX: usize = 512;
/// Longest time limit that a caller may set, in milliseconds.
const TIMEOUT_MAX_MS: u64 = 3_600_000;

/// Removes the connection when it is dropped, that is, whenever the task of the connection ends.
struct Seat<'a> {
    desk: &'a Desk,
    connection: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.desk.lock().peers.remove(&self.connection);
    }
}

impl HoldfastFace {
    /// Serves a connection until its end, and returns why it ended.
    pub(crate) async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> &'static str {
        // The editor's notifications go through the outbox, as replies do, so nothing is ever sent to `notes`.
        let Link { connection, notes: _notes, mut reader, mut writer } = link;
        let (messages, waiting) = mpsc::channel(WAITING_MAX);
        let (ending, mut ended) = watch::channel(Ending::No);
        let outbox = Outbox { messages, bytes: Arc::new(AtomicUsize::new(0)), ending: Arc::new(ending) };
        {
            let mut inner = self.desk.lock();
            if inner.peers.len() >= CONNECTIONS_MAX {
                let text = format!("There are {CONNECTIONS_MAX} connections already");
                let refusal = Refusal::new("too_many_connections", -32008, false, text);
                outbox.send(wire::failure("null", &refusal.json()), None, None);
                outbox.end(Ending::Written("too many connections"));
            } else {
                let (outbox, lane) = (outbox.clone(), std::collections::VecDeque::new());
                let peer = Peer { outbox, greeting: None, gateway: None, fenced: false, lane };
                inner.peers.insert(connection, peer);
            }
        }
        let _seat = Seat { desk: &self.desk, connection };
        let now = async {
            match ended.wait_for(|ending| matches!(ending, Ending::Now(_))).await.map(|ending| *ending) {
                Ok(Ending::Now(why)) => why,
                _ => std::future::pending().await,
            }
        };
        let reading = self.read(editor, connection, &outbox, &mut reader);
        let writing = write(editor, &mut writer, waiting, &outbox);
        let why = tokio::select! {
            biased;
            why = now => return why,
            why = writing => why,
            why = reading => return why,
        };
        // Everything is written. The client gets time to read it before the socket closes.
        let mut ignored = BytesMut::new();
        let _ = tokio::time::timeout(DRAIN_TIME, async {
            while reader.read(&mut ignored).await.is_ok_and(|count| count > 0) {
                ignored.clear();
            }
        })
        .await;
        why
    }

    async fn read(&self, editor: &Arc<Editor>, connection: u64, outbox: &Outbox, reader: &mut Reader) -> &'static str {
        let mut buffer = BytesMut::new();
        loop {
            let proven = self.desk.lock().peers.get(&connection).is_some_and(|peer| peer.gateway.is_some());
            let max = if proven { wire::GATEWAYS_MAX_BYTES } else { wire::STRANGERS_MAX_BYTES };
            match wire::take_frame(&mut buffer, max) {
                Ok(Some(frame)) => {
                    if *outbox.ending.borrow() == Ending::No {
                        self.received(editor, connection, outbox, &frame);
                    }
                    continue;
                }
                Ok(None) => {}
                Err(why) => {
                    let refusal = Refusal::new("bad_frame", -32700, false, format!("The frame is broken: {why}"));
                    outbox.send(wire::failure("null", &refusal.json()), None, None);
                    outbox.end(Ending::Written("broken frame"));
                    // The task that writes sends the refusal and ends the connection.
                    return std::future::pending().await;
                }
            }
            match reader.read(&mut buffer).await {
                Ok(0) => return "closed by the client",
                Ok(_) => {}
                Err(_) => return "socket error",
            }
        }
    }

    fn received(&self, editor: &Arc<Editor>, connection: u64, outbox: &Outbox, frame: &[u8]) {
        let request = match wire::read(frame) {
            Ok(request) => request,
            Err((id, refusal)) => {
                editor.state().unparsable += u64::from(refusal.kind == "parse_error");
                outbox.send(wire::failure(&id, &refusal.json()), None, None);
                return;
            }
        };
        editor.state().requests += 1;
        editor.event(Event::Request { connection, method: request.method.clone() });
        if !request.method.starts_with("holdfast/") {
            return self.legacy(editor, connection, request);
        }
        let answer = self.answer(editor, connection, &request);
        let failed = request.method == "holdfast/prove" && answer.as_ref().is_err_and(|e| e.kind == "not_proven");
        if let Some(id) = &request.id {
            match answer {
                Ok(Some(result)) => outbox.send(wire::success(id, &result), None, None),
                // Sent later: a call is answered when it ends.
                Ok(None) => true,
                Err(refusal) => outbox.send(wire::failure(id, &refusal.json()), None, None),
            };
        }
        if failed {
            outbox.end(Ending::Written("not proven"));
        }
    }

    fn answer(&self, editor: &Arc<Editor>, connection: u64, request: &Request) -> Result<Option<String>, Refusal> {
        let params = &request.params;
        match request.method.as_str() {
            "holdfast/hello" => return self.hello(editor, connection, params).map(Some),
            "holdfast/prove" => return self.prove(editor, connection, params).map(Some),
            "holdfast/status" => {
                let red = self.desk.is_red(editor);
                return Ok(Some(status(&self.desk.lock(), editor, red)));
            }
            "holdfast/tools" | "holdfast/outcome" | "holdfast/cancel" | "holdfast/call" => {}
            other => {
                let text = format!("There is no method {other}");
                return Err(Refusal::new("unknown_method", -32601, false, text));
            }
        }
        let gateway = self.desk.lock().peers.get(&connection).and_then(|peer| peer.gateway.clone());
        let gateway =
            gateway.ok_or_else(|| Refusal::not_proven("Prove yourself first: holdfast/hello, then holdfast/prove"))?;
        match request.method.as_str() {
            "holdfast/tools" => {
                let development = params.flag("includeDevelopmentOnly")?;
                editor.state().list_requests += 1;
                let generation = self.desk.lock().generation(editor);
                let list = Object::new()
                    .number("generation", generation)
                    .text("revision", &self.revision(editor))
                    .raw("tools", &json::array(self.entries(editor, development)));
                Ok(Some(list.finish()))
            }
            "holdfast/outcome" => self.outcome(editor, &gateway, params).map(Some),
            "holdfast/cancel" => {
                let id = params.text("callId", 1, NAME_MAX_BYTES)?;
                let status = self.cancel(editor, &id).map_or("null".to_owned(), |status| json::quoted(status.word()));
                Ok(Some(Object::new().text("callId", &id).raw("status", &status).finish()))
            }
            _ => self.call(editor, connection, gateway, request).map(|()| None),
        }
    }

    fn hello(&self, editor: &Arc<Editor>, connection: u64, params: &Params) -> Result<String, Refusal> {
        let mut inner = self.desk.lock();
        if inner.peers.get(&connection).is_some_and(|peer| peer.greeting.is_some()) {
            return Err(Refusal::invalid_request("This connection has said hello already"));
        }
        let protocol = params.number("protocol", 0, u64::MAX)?;
        if protocol != PROTOCOL {
            let text = format!("The protocol {protocol} is not known here; {PROTOCOL} is");
            let refusal = Refusal::new("unsupported_protocol", -32001, false, text);
            return Err(refusal.with_raw("supported", format!("[{PROTOCOL}]")));
        }
        let gateway = params.text("gateway", 1, NAME_MAX_BYTES)?;
        let client = params.text("clientName", 0, NAME_MAX_BYTES)?;
        let challenge = params.text("challenge", 32, 128)?;
        if !challenge.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Refusal::params("challenge must be of hex digits".to_owned()));
        }
        let push = match params.get("push") {
            None => None,
            Some(push) => {
                let push = Params(push.clone());
                push.optional_text("endpoint", NAME_MAX_BYTES)?
                    .map(|endpoint| push.optional_text("token", NAME_MAX_BYTES).map(|token| (endpoint, token)))
                    .transpose()?
            }
        };
        let fixed = self.desk.setup.fixed.as_ref();
        let own = fixed.map_or_else(|| Desk::draw(editor, 64), |fixed| fixed.challenge.to_owned());
        let (pid, project) = (editor.config.pid(), self.desk.project(editor));
        let port = editor.state().port.unwrap_or(0);
        let life = &inner.life;
        let proof = proof::of_editor(&life.token, [&challenge, &own], &life.nonce, pid, &project, port);
        let result = Object::new()
            .number("protocol", PROTOCOL)
            .text("product", "holdfast")
            .text("packageVersion", PACKAGE_VERSION)
            .text("unityVersion", UNITY_VERSION)
            .text("project", &project)
            .text("projectName", project.rsplit('/').next().unwrap_or_default())
            .number("pid", pid)
            .number("port", port)
            .number("generation", inner.generation(editor))
            .text("nonce", &life.nonce)
            .text("state", inner.word(editor))
            .text("challenge", &own)
            .text("proof", &proof)
            .finish();
        if let Some(peer) = inner.peers.get_mut(&connection) {
            peer.greeting = Some(Greeting { gateway, client, challenge, own, push });
        }
        Ok(result)
    }

    fn prove(&self, editor: &Arc<Editor>, connection: u64, params: &Params) -> Result<String, Refusal> {
        let given = params.text("proof", 0, 128)?;
        let mut inner = self.desk.lock();
        let greeting = inner.peers.get(&connection).filter(|peer| peer.gateway.is_none());
        let greeting = greeting.and_then(|peer| peer.greeting.clone());
        let Some(Greeting { gateway, client, challenge, own, push }) = greeting else {
            return Err(Refusal::invalid_request("A proof follows a hello, once"));
        };
        let life = &inner.life;
        let port = editor.state().port.unwrap_or(0);
        if given != proof::of_gateway(&life.token, [&own, &challenge], &life.nonce, &gateway, port) {
            return Err(Refusal::not_proven("The proof is wrong; read the instance file again"));
        }
        self.fence(editor, &mut inner, connection, &gateway);
        inner.journal.at(Desk::now(editor)).greet(&gateway);
        if let Some(peer) = inner.peers.get_mut(&connection) {
            peer.gateway = Some(gateway);
        }
        drop(inner);
        editor.name_client(connection, &client);
        if let Some((endpoint, token)) = push {
            self.desk.push.register(editor, &endpoint, token.as_deref());
        }
        let revision = self.revision(editor);
        let result = Object::new().flag("proven", true).number("connection", connection);
        Ok(result.text("toolsRevision", &revision).finish())
    }

    /// Ends every other connection of a gateway. Calls that came on them and have not begun will not begin.
    fn fence(&self, editor: &Arc<Editor>, inner: &mut Inner, connection: u64, gateway: &str) {
        if editor.config.misconduct == Some(Misconduct::KeepsNoFence) {
            return;
        }
        let others: Vec<u64> = inner
            .peers
            .iter()
            .filter(|(number, peer)| **number != connection && peer.gateway.as_deref() == Some(gateway))
            .map(|(number, _)| *number)
            .collect();
        for other in others {
            if let Some(peer) = inner.peers.get_mut(&other) {
                peer.fenced = true;
                peer.outbox.end(Ending::Now("a newer connection of its gateway"));
            }
        }
        // Calls of connections that had ended earlier may still wait.
        let stale = |inner: &Inner| {
            let of = |call: &&Call| {
                call.phase != Phase::Running
                    && call.caller.is_some()
                    && call.identity.as_ref().is_some_and(|identity| identity.gateway == gateway)
            };
            inner.calls.values().find(of).and_then(|call| call.caller.as_ref().map(|caller| caller.connection))
        };
        while let Some(other) = stale(inner) {
            Self::drop_calls_of(editor, inner, other);
        }
        self.pump(editor, inner);
    }

    fn outcome(&self, editor: &Editor, gateway: &str, params: &Params) -> Result<String, Refusal> {
        let calls = params.get("calls").and_then(Value::as_array).filter(|calls| calls.len() <= QUESTIONS_MAX);
        let Some(calls) = calls else {
            return Err(Refusal::params(format!("calls must be a list of at most {QUESTIONS_MAX} calls")));
        };
        let read = |call: &Value| {
            let call = Params(call.clone());
            Ok((call.text("callId", 1, NAME_MAX_BYTES)?, call.number("seq", 1, u64::MAX)?))
        };
        let questions = calls.iter().map(read).collect::<Result<Vec<_>, Refusal>>()?;
        let mut inner = self.desk.lock();
        let journal = inner.journal.at(Desk::now(editor));
        let misconduct = editor.config.misconduct;
        let outcomes = json::array(questions.iter().map(|(id, seq)| {
            let entry = journal.ask(gateway, id, *seq);
            if misconduct == Some(Misconduct::ForgetsToSeal) {
                journal.unseal(id);
            }
            let denies = misconduct == Some(Misconduct::DeniesWhatRan);
            if denies { entry.denied() } else { entry }.describe(id)
        }));
        let answer = Object::new()
            .number("generation", inner.generation(editor))
            .text("nonce", &inner.life.nonce)
            .raw("outcomes", &outcomes);
        Ok(answer.finish())
    }

    fn call(&self, editor: &Arc<Editor>, connection: u64, gateway: String, request: &Request) -> Result<(), Refusal> {
        // A call whose request has no JSON-RPC id could not be answered, so it is ignored.
        let Some(id) = request.id.clone() else { return Ok(()) };
        let params = &request.params;
        let call = params.text("callId", 1, NAME_MAX_BYTES)?;
        let about = |refusal: Refusal| refusal.with("callId", &call);
        let seq = params.number("seq", 1, u64::MAX).map_err(about)?;
        let tool = params.text("tool", 1, NAME_MAX_BYTES).map_err(about)?;
        let arguments = params.get("arguments");
        if arguments.is_some_and(|arguments| !arguments.is_object()) {
            return Err(about(Refusal::params("arguments must be an object".to_owned())));
        }
        let progress = params.flag("progress").map_err(about)?;
        let timeout = params.get("timeoutMs").map(|_| params.number("timeoutMs", 0, TIMEOUT_MAX_MS)).transpose();
        let timeout = timeout.map_err(about)?.map(Duration::from_millis);
        self.admit(
            editor,
            Order {
                arguments: arguments.map(Value::to_string),
                identity: Some(Identity { id: call, gateway, seq }),
                caller: Caller { connection, request: id },
                tool,
                bytes: request.bytes,
                timeout,
                progress,
            },
        )
    }

    /// Returns the entries of the tool list.
    pub(crate) fn entries(&self, editor: &Editor, development: bool) -> Vec<String> {
        let state = editor.state();
        let listed = state.tools.iter().filter(|tool| development || !tool.spec.development);
        listed.map(|tool| catalogue::entry(tool, &self.traits(tool.spec), self.is_blocked(&tool.name))).collect()
    }

    fn revision(&self, editor: &Editor) -> String {
        proof::fingerprint(&self.entries(editor, true).concat())
    }
}

fn status(inner: &Inner, editor: &Editor, red: bool) -> String {
    let running = inner.calls.values().filter(|call| call.phase == Phase::Running);
    let entries = running.clone().map(|call| {
        let id = call.identity.as_ref().map_or("null".to_owned(), |identity| json::quoted(&identity.id));
        let time = call.started.map_or(0, |started| started.elapsed().as_millis());
        let entry = Object::new().raw("callId", &id).text("tool", &call.tool.name);
        entry.number("forMs", i128::try_from(time).unwrap_or(0)).finish()
    });
    let queued = inner.calls.len() - running.clone().count();
    let gate = *editor.gate.borrow();
    Object::new()
        .text("state", inner.word(editor))
        .number("generation", inner.generation(editor))
        .number("frameAgeMs", i128::try_from(editor.frame_age().as_millis()).unwrap_or(0))
        .flag("focused", gate.focused)
        .flag("importing", gate.imports())
        .flag("compileErrors", red)
        .number("queued", i128::try_from(queued).unwrap_or(0))
        .raw("running", &json::array(entries))
        .finish()
}

/// Writes queued messages until the connection is told to end.
async fn write(
    editor: &Editor,
    writer: &mut Writer,
    mut waiting: mpsc::Receiver<Outgoing>,
    outbox: &Outbox,
) -> &'static str {
    let mut ending = outbox.ending.subscribe();
    loop {
        let next = tokio::select! {
            biased;
            next = waiting.recv() => next,
            // The messages that are queued at this moment are written before the end.
            _ = ending.wait_for(|ending| *ending != Ending::No) => waiting.try_recv().ok(),
        };
        let Some(Outgoing { frame, event, written }) = next else {
            let _ = writer.finish().await;
            let why = *ending.borrow();
            return match why {
                Ending::Written(why) | Ending::Now(why) => why,
                Ending::No => "closed by the editor",
            };
        };
        outbox.bytes.fetch_sub(frame.len(), Ordering::Relaxed);
        for part in frame.chunks(WRITE_BYTES) {
            if !write_part(editor, writer, part).await {
                return "the client does not read";
            }
        }
        if let Some(event) = event {
            editor.event(event);
        }
        if let Some(written) = written {
            // If the sender has stopped waiting, there is nobody to signal.
            let _ = written.send(());
        }
    }
}

/// Writes a part of a message. Returns false if it fails or takes longer than [`WRITE_TIMEOUT`]. If the editor is frozen when
/// the time is up, the time starts again.
async fn write_part(editor: &Editor, writer: &mut Writer, part: &[u8]) -> bool {
    let mut writing = std::pin::pin!(writer.write(part));
    loop {
        match tokio::time::timeout(WRITE_TIMEOUT, &mut writing).await {
            Ok(written) => return written.is_ok(),
            Err(_) if editor.gate.borrow().frozen => {}
            Err(_) => return false,
        }
    }
}
