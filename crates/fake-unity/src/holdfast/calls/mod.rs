//! Handles calls from their admission to the answer. The answer to a call with an id is the outcome in the journal.

mod call;
mod stops;

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use self::call::Signal;
use self::stops::leaves_the_queue;
use super::desk::{Desk, HoldfastFace, Inner, Turn};
use super::journal::{Answer, Status};
use super::wire::{self, Refusal};
use super::{catalogue, legacy, tools};
use crate::config::Misconduct;
use crate::events::Event;
use crate::json::{self, Object};
use crate::model::Editor;
use crate::tools::Arguments;
use crate::work::{Begun, Done, Fault};

pub(crate) use self::call::{Call, Caller, Identity, Order, Phase};

/// Maximum number of calls that wait or run, over all connections.
const CALLS_MAX: usize = 512;
/// Maximum number of calls of one connection that wait or run.
const CONNECTION_CALLS_MAX: usize = 256;
/// Maximum total size of the messages of the calls that wait, in MiB.
const WAITING_MAX_MIB: usize = 64;
/// Maximum number of calls of parallel tools that run at the same time.
const PARALLEL_MAX: usize = 8;
/// Shortest time between two progress reports of a call.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl HoldfastFace {
    /// Checks a call, enters it into the journal and queues it, all under one lock. Returns why the call is refused, if it is.
    pub(crate) fn admit(&self, editor: &Arc<Editor>, order: Order) -> Result<(), Refusal> {
        let about = |refusal: Refusal| match &order.identity {
            Some(identity) => refusal.with("callId", &identity.id),
            None => refusal,
        };
        let mut inner = self.desk.lock();
        let tool = editor.state().tools.iter().find(|tool| tool.name == order.tool).cloned();
        let Some(tool) = tool else {
            let unknown = Refusal::new("unknown_tool", -32602, false, format!("Unknown tool: {}", order.tool));
            return Err(about(unknown).with("tool", &order.tool));
        };
        if self.is_blocked(&tool.name) {
            let blocked = Refusal::new("security_blocked", -32603, false, catalogue::blocked(&tool.name));
            return Err(about(blocked)
                .with("command", &tool.name)
                .with("reason", catalogue::BLOCKED)
                .with("setting", catalogue::BLOCKED_SETTING));
        }
        if let Some(refusal) = refusal(&inner, &order) {
            return Err(about(refusal));
        }
        if let Some(Identity { id, gateway, seq }) = &order.identity {
            inner.journal.at(Desk::now(editor)).enter(gateway, id, *seq, &tool.name);
        }
        let call = Call {
            traits: self.traits(tool.spec),
            identity: order.identity,
            caller: Some(order.caller),
            tool,
            arguments: order.arguments,
            bytes: order.bytes,
            timeout: order.timeout,
            wants_progress: order.progress,
            resumed: None,
            phase: Phase::Waiting,
            started: None,
            signal: watch::Sender::new(Signal::default()),
            progress: None,
            content: Vec::new(),
        };
        self.queue(editor, &mut inner, call);
        Ok(())
    }

    /// Queues the calls that continue after a reload.
    pub(crate) fn resume(&self, editor: &Arc<Editor>, inner: &mut Inner) {
        for (id, entry) in inner.journal.resumable() {
            let tool = editor.state().tools.iter().find(|tool| tool.name == entry.tool).cloned();
            let Some(tool) = tool else { continue };
            let call = Call {
                traits: self.traits(tool.spec),
                identity: Some(Identity { id, gateway: entry.gateway, seq: entry.seq }),
                caller: None,
                tool,
                arguments: None,
                bytes: 0,
                timeout: Some(Duration::ZERO),
                wants_progress: true,
                resumed: entry.kept,
                phase: Phase::Waiting,
                started: None,
                signal: watch::Sender::new(Signal::default()),
                progress: None,
                content: Vec::new(),
            };
            self.queue(editor, inner, call);
        }
    }

    fn queue(&self, editor: &Arc<Editor>, inner: &mut Inner, call: Call) {
        inner.next_key += 1;
        let key = inner.next_key;
        inner.calls.insert(key, call);
        editor.state().queued += 1;
        self.pump(editor, inner);
    }

    /// Starts every call whose turn has come.
    pub(crate) fn pump(&self, editor: &Arc<Editor>, inner: &mut Inner) {
        while inner.tasks.try_join_next().is_some() {}
        while let Some(key) = next(inner) {
            let Some(call) = inner.calls.get_mut(&key) else { return };
            call.phase = Phase::Scheduled;
            let (signal, stops) = (call.signal.subscribe(), call.traits.stops);
            let (face, own) = (self.clone(), editor.clone());
            let answer = if call.traits.off_main_thread {
                let (reply, answer) = oneshot::channel();
                inner.tasks.spawn(async move {
                    let done = match face.begin(&own, key) {
                        Begun::Done(done) => done,
                        Begun::Later(rest) => rest.await,
                    };
                    // Nobody waits if the caller has already received the end of the call in another way.
                    let _ = reply.send(done);
                });
                answer
            } else {
                // `submit` counts the call as queued again.
                leaves_the_queue(editor, 1);
                editor.submit(move |editor| face.begin(editor, key))
            };
            let watcher = watch_call(Arc::downgrade(&self.desk), editor.clone(), key, answer, signal, stops);
            inner.tasks.spawn(watcher);
        }
    }

    /// Begins a call. Runs on the thread of the call's tool.
    fn begin(&self, editor: &Arc<Editor>, key: u64) -> Begun {
        // For a call that has ended already. Nobody reads this fault.
        let over = || Begun::fault(Fault::Cancelled);
        let mut inner = self.desk.lock();
        let Inner { calls, journal, closed: None, .. } = &mut *inner else { return over() };
        let Some(call) = calls.get_mut(&key).filter(|call| call.phase == Phase::Scheduled) else { return over() };
        call.phase = Phase::Running;
        call.started = Some(Instant::now());
        if let (Some(identity), None) = (&call.identity, &call.resumed) {
            journal.at(Desk::now(editor)).begin(&identity.id);
        }
        if call.traits.off_main_thread {
            let mut state = editor.state();
            state.queued = state.queued.saturating_sub(1);
            state.running += 1;
        }
        let (tool, resumed, given) = (call.tool.clone(), call.resumed.clone(), call.arguments.clone());
        let (connection, limit) = (call.caller.as_ref().map_or(0, |caller| caller.connection), call.timeout);
        let (id, parallel) = (call.identity.as_ref().map(|identity| identity.id.clone()), call.traits.parallel);
        let mut signal = call.signal.subscribe();
        drop(inner);
        // A call that continues after a reload was checked when it began.
        let arguments = match resumed {
            Some(_) => Ok(Arguments::default()),
            None => catalogue::read(&tool, given.as_deref()),
        };
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(fault) => return Begun::fault(fault),
        };
        self.set_deadline(key, limit, &arguments, tool.spec.timeout_seconds);
        let turn = Turn { face: self.clone(), editor: editor.clone(), key };
        let begun = tools::run(&turn, &tool, &arguments, resumed.as_deref());
        // Sent after the call has begun: a listener may release a held call as soon as it gets this event.
        // A tool that refuses its arguments has done nothing.
        if !matches!(&begun, Begun::Done(Done { result: Err(Fault::Refused(_)), .. })) {
            editor.event(Event::CallBegun { connection, tool: tool.name.clone(), call: id, parallel });
        }
        match begun {
            Begun::Done(done) => Begun::Done(done),
            Begun::Later(rest) => Begun::Later(Box::pin(async move {
                let ended = async { while signal.changed().await.is_ok() {} };
                tokio::select! {
                    biased;
                    done = rest => return done,
                    () = ended => {}
                }
                // Waits until the main thread would drop the call, so that an interrupted call is counted only once: here, or in
                // `main_thread::run`.
                turn.editor.main_free().await;
                let cut = turn.face.desk.lock().closed.is_some();
                turn.editor.state().interrupted += u64::from(cut);
                // The call has already ended in another way, so nobody reads this result.
                Done { result: Err(Fault::Cancelled), then: None }
            })),
        }
    }

    fn set_deadline(&self, key: u64, limit: Option<Duration>, arguments: &Arguments, default: u64) {
        let limit = limit.unwrap_or_else(|| Duration::from_secs(arguments.number("TimeoutSeconds").unwrap_or(default)));
        let deadline = if limit.is_zero() { None } else { Instant::now().checked_add(limit) };
        if let Some(call) = self.desk.lock().calls.get(&key) {
            let seconds = u64::try_from(limit.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
            call.signal.send_modify(|signal| (signal.deadline, signal.seconds) = (deadline, seconds));
        }
    }

    /// Ends a call: records its outcome in the journal, then answers it.
    pub(crate) fn end(&self, editor: &Arc<Editor>, key: u64, done: Done) {
        let mut inner = self.desk.lock();
        let Some(call) = inner.calls.get(&key).filter(|call| call.phase == Phase::Running) else { return };
        let (answer, outcome) = call.answer(done.result.map(|result| editor.oddly(result)));
        if let Some(identity) = &call.identity {
            let id = identity.id.clone();
            if !inner.journal.at(Desk::now(editor)).complete(&id, answer.clone()) {
                return;
            }
            editor.event(Event::CallSettled { call: id, status: Status::Done.word() });
        }
        let Some(call) = inner.calls.remove(&key) else { return };
        if call.traits.off_main_thread {
            let mut state = editor.state();
            state.running = state.running.saturating_sub(1);
        }
        let connection = call.caller.as_ref().map_or(0, |caller| caller.connection);
        let ended = Event::CallEnded { connection, tool: call.tool.name.clone(), outcome };
        if editor.loses_answer() {
            editor.event(ended);
        } else {
            self.reply(&inner, &call, &answer, Status::Done, Some(ended));
        }
        self.next_in_lane(editor, &mut inner, &call);
        if let Some(order) = done.then {
            editor.order(order);
        }
        self.pump(editor, &mut inner);
    }

    /// Answers a call on its own connection. If that is not possible, notifies its gateway's current connection that the call has
    /// ended.
    fn reply(&self, inner: &Inner, call: &Call, answer: &Answer, status: Status, event: Option<Event>) {
        let sent = call.caller.as_ref().is_some_and(|caller| {
            let Some(peer) = inner.peers.get(&caller.connection).filter(|peer| !peer.fenced) else { return false };
            let frame = match answer.is_error {
                true => wire::failure(&caller.request, &answer.json),
                false => wire::success(&caller.request, &answer.json),
            };
            peer.outbox.send(frame, event, None)
        });
        if let (false, Some(identity)) = (sent, &call.identity)
            && let Some(outbox) = inner.present(&identity.gateway)
        {
            let about = Object::new().text("callId", &identity.id).text("status", status.word());
            outbox.send(wire::notification("holdfast/settled", about), None, None);
        }
    }

    /// Sends a progress report if its value is higher than the last one, which must be at least [`PROGRESS_EVERY`] ago.
    pub(crate) fn progress(&self, editor: &Editor, key: u64, progress: f64, total: Option<f64>, message: Option<&str>) {
        let mut inner = self.desk.lock();
        let Some(call) = inner.calls.get_mut(&key).filter(|call| call.wants_progress) else { return };
        let now = Instant::now();
        let news = call.progress.is_none_or(|(last, at)| progress > last && now.duration_since(at) >= PROGRESS_EVERY);
        let Some(identity) = call.identity.clone().filter(|_| news && progress.is_finite()) else { return };
        call.progress = Some((progress, now));
        let falls = editor.config.misconduct == Some(Misconduct::ProgressFalls);
        let progress = if falls { 1.0 / (1.0 + progress) } else { progress };
        let about = Object::new().text("callId", &identity.id).raw("progress", &float(progress));
        let about = total.map_or(about.clone(), |total| about.raw("total", &float(total)));
        let about = message.map_or(about.clone(), |message| about.text("message", message));
        let frame = wire::notification("holdfast/progress", about);
        let caller = call.caller.as_ref().map(|caller| caller.connection);
        let own = caller.and_then(|connection| inner.peers.get(&connection)).filter(|peer| !peer.fenced);
        if let Some(outbox) = own.map(|peer| &peer.outbox).or_else(|| inner.present(&identity.gateway)) {
            outbox.send(frame, None, None);
        }
    }

    /// Returns the connection on which a call arrived; `None` for a call that continues after a reload, or that has ended.
    pub(crate) fn connection(&self, key: u64) -> Option<u64> {
        self.desk.lock().calls.get(&key).and_then(|call| call.caller.as_ref()).map(|caller| caller.connection)
    }

    /// Returns the id of a call; empty if its client gave none.
    pub(crate) fn call_id(&self, key: u64) -> String {
        let inner = self.desk.lock();
        inner
            .calls
            .get(&key)
            .and_then(|call| call.identity.as_ref())
            .map(|identity| identity.id.clone())
            .unwrap_or_default()
    }

    /// Whether a call came by uLoopMCP's protocol, whose calls have no id.
    pub(crate) fn speaks_uloop(&self, key: u64) -> bool {
        self.desk.lock().calls.get(&key).is_some_and(|call| call.identity.is_none())
    }

    /// Adds a content block to a call's result, in addition to its value.
    pub(crate) fn attach(&self, key: u64, block: String) {
        if let Some(call) = self.desk.lock().calls.get_mut(&key) {
            call.content.push(block);
        }
    }

    /// Saves the state from which a resumable tool continues after a reload. Returns false if the bridge is closed, the tool is
    /// not resumable, or the call has no id.
    pub(crate) fn keep(&self, key: u64, state: &str) -> bool {
        let mut inner = self.desk.lock();
        let Inner { calls, journal, closed: None, .. } = &mut *inner else { return false };
        let Some(identity) =
            calls.get(&key).filter(|call| call.traits.resumable).and_then(|call| call.identity.as_ref())
        else {
            return false;
        };
        journal.keep(&identity.id, state);
        true
    }
}

impl Call {
    /// Returns the answer to the call, and `ok` or `error` as the outcome for the event.
    fn answer(&self, result: Result<Object, Fault>) -> (Answer, &'static str) {
        let value = match result {
            Ok(value) => value.finish(),
            Err(fault) => return (self.error(refusal_of(&self.tool.name, self.timeout.is_none(), fault)), "error"),
        };
        let says_failed = serde_json::from_str::<serde_json::Value>(&value)
            .is_ok_and(|value| value.get("Success") == Some(&serde_json::Value::Bool(false)));
        let json = match &self.identity {
            None => value,
            Some(identity) => {
                let took = self.started.map_or(0, |started| started.elapsed().as_millis());
                let object =
                    Object::new().text("callId", &identity.id).flag("isError", says_failed).raw("value", &value);
                let object =
                    if self.content.is_empty() { object } else { object.raw("content", &json::array(&self.content)) };
                object.number("durationMs", i128::try_from(took).unwrap_or(0)).finish()
            }
        };
        // Leaves room for the envelope, which has a few hundred bytes.
        if json.len() + 4096 > wire::OUTGOING_MAX_BYTES {
            let text = "The tool ran, and its result has more than 64 MiB; ask for less of it";
            return (self.error(Refusal::new("result_too_large", -32007, true, text)), "error");
        }
        (Answer { json, is_error: false }, "ok")
    }

    fn error(&self, refusal: Refusal) -> Answer {
        let refusal = match &self.identity {
            Some(identity) => refusal.about(&identity.id, &self.tool.name),
            None => legacy::translate(&refusal),
        };
        Answer { json: refusal.json(), is_error: true }
    }
}

/// Returns why a call is not admitted; `None` if it is admitted.
fn refusal(inner: &Inner, order: &Order) -> Option<Refusal> {
    if let Some(because) = inner.closed {
        return Some(Refusal::new("leaving", -32005, false, because));
    }
    let known = order.identity.as_ref().and_then(|identity| inner.journal.find(&identity.id));
    if let Some(entry) = known {
        return Some(if entry.status == Status::NotRun && entry.reason == "sealed" {
            let text = "An outcome was asked for this call before it came: it did not run and will not";
            Refusal::new("sealed", -32002, false, text)
        } else {
            let text = "This call id is known: it was not run again; ask for its outcome";
            Refusal::new("duplicate_call", -32003, false, text)
        });
    }
    let busy = |what: String| Some(Refusal::new("busy", -32004, false, what + "; try again when some have ended"));
    if inner.calls.len() >= CALLS_MAX {
        return busy(format!("{CALLS_MAX} calls wait or run already"));
    }
    let waiting: usize = inner.calls.values().filter(|call| call.phase == Phase::Waiting).map(|call| call.bytes).sum();
    if waiting + order.bytes > WAITING_MAX_MIB * 1024 * 1024 {
        return busy(format!("{WAITING_MAX_MIB} MiB of arguments wait already"));
    }
    let of = |call: &&Call| call.caller.as_ref().is_some_and(|caller| caller.connection == order.caller.connection);
    if inner.calls.values().filter(of).count() >= CONNECTION_CALLS_MAX {
        return busy(format!("{CONNECTION_CALLS_MAX} calls of this connection wait or run already"));
    }
    None
}

/// Returns the key of the call that may begin next; `None` if none may begin now.
fn next(inner: &Inner) -> Option<u64> {
    if inner.closed.is_some() {
        return None;
    }
    let active = |parallel| {
        inner.calls.values().filter(|call| call.phase != Phase::Waiting && call.traits.parallel == parallel).count()
    };
    let first = |parallel| {
        inner
            .calls
            .iter()
            .find(|(_, call)| call.phase == Phase::Waiting && call.traits.parallel == parallel)
            .map(|(key, _)| *key)
    };
    let serial = if active(false) == 0 { first(false) } else { None };
    serial.or_else(|| if active(true) < PARALLEL_MAX { first(true) } else { None })
}

/// `own_limit`: whether the call itself says no time limit beside its arguments.
fn refusal_of(tool: &str, own_limit: bool, fault: Fault) -> Refusal {
    match fault {
        Fault::Internal(text) => {
            Refusal::new("tool_failed", -32000, true, text).with("exception", "System.InvalidOperationException")
        }
        Fault::Refused(text) => Refusal::params(text),
        Fault::Timeout { seconds, .. } => {
            let more = if own_limit { "; the argument TimeoutSeconds gives it another limit" } else { "" };
            let text = format!("The tool {tool} was stopped after {seconds} seconds{more}");
            Refusal::new("timed_out", -32006, true, text)
        }
        Fault::Cancelled => Refusal::new("cancelled", -32006, true, "Cancelled while it ran"),
        // Not reached: `admit` refuses blocked tools.
        Fault::Blocked(_) => Refusal::new("security_blocked", -32603, false, catalogue::blocked(tool)),
    }
}

fn float(value: f64) -> String {
    serde_json::Value::from(value).to_string()
}

/// Waits until a scheduled or running call ends: by itself, at its time limit, or because it is cancelled.
async fn watch_call(
    desk: Weak<Desk>,
    editor: Arc<Editor>,
    key: u64,
    mut answer: oneshot::Receiver<Done>,
    mut signal: watch::Receiver<Signal>,
    stops: bool,
) {
    let done = loop {
        let now = *signal.borrow_and_update();
        if stops && now.cancelled {
            break Done { result: Err(Fault::Cancelled), then: None };
        }
        let deadline = async {
            match now.deadline.filter(|_| stops) {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            done = &mut answer => match done {
                Ok(done) => break done,
                // The call was lost with its domain.
                Err(_) => return,
            },
            changed = signal.changed() => if changed.is_err() { return },
            () = deadline => {
                break Done { result: Err(Fault::Timeout { tool: String::new(), seconds: now.seconds }), then: None };
            }
        }
    };
    if let Some(desk) = desk.upgrade() {
        HoldfastFace { desk }.end(&editor, key, done);
    }
}
