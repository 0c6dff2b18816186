//! A simulated MCP client, connected to the gateway's stdin and stdout.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast::limits::{PATIENCE_MARGIN, SESSION_ABSENCE_MAX, TOOLS_WAIT};
use holdfast_fake_unity::{Call, Task};
use holdfast_mcp_client::line;
use holdfast_mcp_client::wire::Recording;
use holdfast_testkit::checker::SLACK;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::net::now;
use super::plan::{Act, Break, Plan};
use super::stage::{Phase, other_project, project};
use crate::history::{Ask, Event, IDS_OF_A_SESSION, Recorder};

/// The longest wait for the editor after the faults have ended, for the gateway's `roots/list`, and for the answers that end
/// the delay of a starved call. A single answer may take twice as long.
const COMEBACK_MAX: Duration = Duration::from_secs(60);
/// Number of further answers that the first client must get before the call of the deliberately starved session is written.
const STARVED_FOR: u32 = 8;

#[derive(Default)]
struct Open {
    asks: BTreeMap<u64, Ask>,
    /// Whether each answered call succeeded, by the request's id.
    answers: BTreeMap<u64, bool>,
    /// Ids that were used a second time, by the request that had the id first.
    reused: BTreeMap<u64, Reused>,
    paused_until: Duration,
    /// The id of the gateway's open `roots/list` request.
    roots_asked: Option<Value>,
}

/// An id under which another request was sent.
struct Reused {
    /// The text that only the answer to the first request may hold.
    canary: String,
    /// The request that uses the id now.
    by: u64,
}

/// The client: writes what the plan demands, and reads the gateway's lines.
pub struct Client<W> {
    plan: Arc<Plan>,
    recorder: Recorder,
    output: W,
    open: Arc<Mutex<Open>>,
    answered: Arc<Notify>,
    wire: Arc<Recording>,
    next: AtomicU64,
    place: Place,
}

/// Where a client belongs among the clients and editors of a run.
#[derive(Clone)]
pub struct Place {
    /// Number of the client.
    pub number: u8,
    /// The project of the client.
    pub project: PathBuf,
    /// The history of the next client. A deliberate fault that sends an answer to the wrong session (`Break::StrayAnswer`) is
    /// recorded there.
    pub neighbour: Option<Recorder>,
    /// Number of answers that the first client has received.
    pub first_heard: watch::Sender<u32>,
}

impl Place {
    /// Returns the place of a client that has no other clients in its run.
    pub fn alone() -> Self {
        Self { number: 0, project: project(), neighbour: None, first_heard: watch::Sender::default() }
    }
}

fn enter(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: AsyncWrite + Unpin> Client<W> {
    /// Returns a client that writes to `output`, and the task that reads from `input` until it ends.
    pub fn new(
        plan: Arc<Plan>,
        place: Place,
        recorder: Recorder,
        output: W,
        input: impl AsyncRead + Unpin + Send + 'static,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let open = Arc::<Mutex<Open>>::default();
        let answered = Arc::<Notify>::default();
        let wire = Arc::new(Recording::begin(env!("CARGO_CRATE_NAME")));
        let reader = Reader {
            recorder: recorder.clone(),
            open: Arc::clone(&open),
            answered: Arc::clone(&answered),
            wire: Arc::clone(&wire),
            broken: plan.broken,
            place: place.clone(),
            progress: None,
            lines: 0,
        };
        let reading = tokio::spawn(reader.run(input));
        let next = AtomicU64::new(u64::from(place.number) * IDS_OF_A_SESSION + 1);
        (Self { plan, recorder, output, open, answered, wire, next, place }, reading)
    }

    async fn write(&mut self, line: &str) {
        self.wire.sent(format!("{line}\n").as_bytes());
        // If the gateway has ended, nobody reads this, and writing fails. The checkers see in the history which answers are
        // missing.
        let _ = self.output.write_all(line.as_bytes()).await;
        let _ = self.output.write_all(b"\n").await;
        let _ = self.output.flush().await;
    }

    async fn ask(&mut self, ask: Ask, params: Value) -> u64 {
        let (id, message) = self.prepare(ask, params);
        self.write(&message).await;
        id
    }

    /// Builds the line of a request, and records the request as asked.
    fn prepare(&mut self, mut ask: Ask, params: Value) -> (u64, String) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        ask.payload = ask.payload.replace('$', &id.to_string());
        let mut params: Value =
            serde_json::from_str(&params.to_string().replace('$', &id.to_string())).unwrap_or(params);
        if ask.token {
            params["_meta"]["progressToken"] = json!(id);
        }
        if self.plan.stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": self.name(), "version": "1"});
        }
        let message = line::request(ask.under.unwrap_or(id), ask.method, params);
        enter(&self.open).asks.insert(id, ask.clone());
        self.recorder.record(Event::Asked(id, ask));
        (id, message)
    }

    async fn call(&mut self, task: Task, token: bool) -> u64 {
        let (id, message) = self.prepare_call(task, token, None);
        if self.plan.broken == Some(Break::StarvedSession) && self.place.number == 1 {
            // The line is delayed until the first client has received `STARVED_FOR` more answers.
            let mut heard = self.place.first_heard.subscribe();
            let enough = *heard.borrow() + STARVED_FOR;
            let _ = tokio::time::timeout(COMEBACK_MAX, heard.wait_for(|heard| *heard >= enough)).await;
        }
        self.write(&message).await;
        id
    }

    /// Writes a call, its cancel, and another call under the same id, all at once. MCP does not permit this use of an id, but
    /// some clients do it, and the second call must get its own answer. Returns the number of the second call.
    async fn call_under_a_cancelled_id(&mut self) -> u64 {
        let (first, message) = self.prepare_call(Task::Echo, false, None);
        let cancel = line::cancel(first);
        let canary = enter(&self.open).asks.remove(&first).map(|ask| ask.payload).unwrap_or_default();
        self.recorder.record(Event::Cancelled(first));
        let (second, again) = self.prepare_call(Task::Echo, false, Some(first));
        enter(&self.open).reused.insert(first, Reused { canary, by: second });
        self.write(&format!("{message}\n{cancel}\n{again}")).await;
        second
    }

    fn prepare_call(&mut self, task: Task, token: bool, under: Option<u64>) -> (u64, String) {
        // `$` stands for the call's number: no other call has this text.
        let payload = match task {
            Task::Echo => "echo-canary-$",
            Task::Count => "count-canary-$",
            _ => "",
        };
        let Call { tool, arguments, repeatable } = (self.plan.package.call)(task, payload, self.plan.version);
        let allowed = self.plan.patience.saturating_sub(PATIENCE_MARGIN) + SESSION_ABSENCE_MAX + SLACK;
        let ask = Ask { method: "tools/call", tool, payload: payload.into(), repeatable, token, under, allowed };
        self.prepare(ask, line::call(tool, arguments))
    }

    async fn plain(&mut self, method: &'static str, allowed: Duration) -> u64 {
        let ask = Ask { method, allowed, ..Ask::default() };
        self.ask(ask, json!({})).await
    }

    async fn gateway_tool(&mut self, tool: &'static str, arguments: Value, allowed: Duration) {
        let ask = Ask { method: "tools/call", tool, allowed: allowed + SESSION_ABSENCE_MAX + SLACK, ..Ask::default() };
        self.ask(ask, line::call(tool, arguments)).await;
    }

    fn name(&self) -> &'static str {
        if self.plan.honours_changes { "claude-code" } else { "simulated\u{1b}[31m\nclient" }
    }

    /// Asks for a short answer of the gateway: `ping`, or `server/discover` in the stateless era.
    async fn knock(&mut self) {
        let method = if self.plan.stateless { "server/discover" } else { "ping" };
        let allowed = if self.plan.stateless { SESSION_ABSENCE_MAX + SLACK } else { SLACK };
        self.plain(method, allowed).await;
    }

    /// Opens the session with the handshake. In the stateless era: with `server/discover`, and a subscription that lasts to the
    /// end.
    async fn open_session(&mut self) {
        if self.plan.stateless {
            let probe = Ask { method: "server/discover", allowed: SESSION_ABSENCE_MAX + SLACK, ..Ask::default() };
            let id = self.ask(probe, json!({})).await;
            self.answer_to(id).await;
            let listen =
                Ask { method: "subscriptions/listen", allowed: Duration::from_secs(24 * 3600), ..Ask::default() };
            let id = self.ask(listen, json!({"notifications": {"toolsListChanged": true}})).await;
            // The answer arrives at the end of the session, so nobody waits for it.
            enter(&self.open).asks.remove(&id);
            return;
        }
        let name = self.name();
        let capabilities = if self.plan.roots { json!({"roots": {"listChanged": true}}) } else { json!({}) };
        let params = line::handshake(name, "2025-06-18", capabilities);
        let ask = Ask { method: "initialize", allowed: SESSION_ABSENCE_MAX + SLACK, ..Ask::default() };
        let id = self.ask(ask, params).await;
        self.answer_to(id).await;
        self.write(line::INITIALIZED).await;
        if self.plan.roots {
            self.tell_roots(true).await;
        }
    }

    /// Waits for the gateway's `roots/list` request, if it is not open yet, and answers it. The root is the editor's project
    /// or, if `here` is false, the other one.
    async fn tell_roots(&mut self, here: bool) {
        let asked = async {
            loop {
                let asked = self.answered.notified();
                if let Some(id) = enter(&self.open).roots_asked.take() {
                    return id;
                }
                asked.await;
            }
        };
        let Ok(id) = tokio::time::timeout(COMEBACK_MAX, asked).await else { return };
        let folder = if here { self.place.project.clone() } else { other_project() };
        let roots = json!([{"uri": format!("file://{}", folder.display())}]);
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}).to_string()).await;
    }

    /// Waits for the answer to a request. Returns whether it was a success, or `None` if the answer takes too long.
    async fn answer_to(&self, id: u64) -> Option<bool> {
        let wait = async {
            loop {
                let answered = self.answered.notified();
                if let Some(good) = enter(&self.open).answers.get(&id) {
                    return *good;
                }
                answered.await;
            }
        };
        tokio::time::timeout(2 * COMEBACK_MAX, wait).await.ok()
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Call(tool, token) => {
                self.call(tool, token).await;
            }
            Act::Burst(count, tool) => {
                for _ in 0..count {
                    self.call(tool, false).await;
                }
            }
            Act::Flood(count) => {
                for _ in 0..count {
                    self.knock().await;
                }
            }
            Act::Cancel(nth) => {
                let id = {
                    let mut open = enter(&self.open);
                    let calls = open.asks.iter().rev().filter(|(_, ask)| ask.method == "tools/call");
                    let id = calls.map(|(id, _)| *id).nth(nth.into());
                    if let Some(id) = id {
                        open.asks.remove(&id);
                    }
                    id
                };
                if let Some(id) = id {
                    self.recorder.record(Event::Cancelled(id));
                    self.write(&line::cancel(id)).await;
                }
            }
            Act::Ping => self.knock().await,
            Act::List => {
                self.plain("tools/list", TOOLS_WAIT + SESSION_ABSENCE_MAX + SLACK).await;
            }
            Act::Status => self.gateway_tool("holdfast_status", json!({}), Duration::ZERO).await,
            Act::Roots(here) => {
                self.write(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#).await;
                self.recorder.record(Event::Rooted(here));
                // Calls that are made before the client answers `roots/list` belong to the new project too.
                for _ in 0..3 {
                    self.call(Task::Count, false).await;
                }
                sleep(Duration::from_millis(100)).await;
                self.tell_roots(here).await;
            }
            Act::WaitReady(ms) => {
                let timeout = Duration::from_millis(ms.into());
                self.gateway_tool("holdfast_wait_ready", json!({"timeout_seconds": timeout.as_secs_f64()}), timeout)
                    .await;
            }
            Act::Noise(kind) => {
                let line = match kind {
                    0 => "this is no JSON",
                    1 => "[]",
                    2 => r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#,
                    3 => r#"{"jsonrpc":"2.0","id":"nobody","result":{}}"#,
                    _ => r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999999}}"#,
                };
                self.recorder.record(Event::Noise(line));
                self.write(line).await;
            }
            Act::PauseReading(ms) => {
                let span = Duration::from_millis(ms.into());
                self.recorder.record(Event::ReadingPaused(span));
                let mut open = enter(&self.open);
                open.paused_until = open.paused_until.max(now() + span);
            }
            _ => {}
        }
    }

    /// Plays the plan, checks that the editor's tools work again after the faults have ended, and closes stdin. If the plan
    /// has an `early_end`, stdin is closed at that time, without the check.
    pub async fn run(mut self, mut phase: watch::Receiver<Phase>) {
        self.open_session().await;
        let plan = Arc::clone(&self.plan);
        let mine = |act: Act| !act.is_fault() || matches!(act, Act::PauseReading(_));
        let end = plan.early_end.unwrap_or(u32::MAX);
        for step in plan.steps.iter().filter(|step| mine(step.act) && step.at < end) {
            sleep(Duration::from_millis(step.at.into()).saturating_sub(now())).await;
            self.act(step.act).await;
        }
        if let Some(end) = plan.early_end {
            sleep(Duration::from_millis(end.into()).saturating_sub(now())).await;
        } else {
            let _ = phase.wait_for(|phase| *phase != Phase::Running).await;
            if self.place.number > 0 {
                // The order in which several clients are woken is not fixed, so each waits for a different time.
                sleep(SLACK / 10 * u32::from(self.place.number)).await;
            }
            self.come_back().await;
        }
        self.recorder.record(Event::InputClosed);
        let _ = self.output.shutdown().await;
    }

    async fn come_back(&mut self) {
        let healed = now();
        while now() - healed < COMEBACK_MAX {
            let id = self.call(Task::Count, false).await;
            if self.answer_to(id).await == Some(true) {
                self.recorder.record(Event::Recovered(now() - healed));
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        // All faults are over, so each of these calls must succeed.
        for tool in [Task::Echo, Task::Logs, Task::Count] {
            let id = self.call(tool, true).await;
            self.answer_to(id).await;
        }
        for _ in 0..3 {
            let id = self.call_under_a_cancelled_id().await;
            self.answer_to(id).await;
        }
        let owed = |open: &Mutex<Open>| {
            let open = enter(open);
            open.asks.keys().copied().find(|id| !open.answers.contains_key(id))
        };
        while let Some(id) = owed(&self.open) {
            if self.answer_to(id).await.is_none() {
                break;
            }
        }
    }
}

struct Reader {
    recorder: Recorder,
    open: Arc<Mutex<Open>>,
    answered: Arc<Notify>,
    wire: Arc<Recording>,
    broken: Option<Break>,
    place: Place,
    progress: Option<String>,
    lines: u32,
}

impl Reader {
    async fn run(mut self, input: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            self.wire.received(line.as_bytes());
            let line = self.whose(line);
            loop {
                let wait = enter(&self.open).paused_until.saturating_sub(now());
                if wait.is_zero() {
                    break;
                }
                sleep(wait).await;
            }
            self.line(line).await;
        }
    }

    /// If the id of an answer was used twice: gives the answer to the second request, unless it holds the text of the first.
    fn whose(&self, line: String) -> String {
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return line };
        let id = message.get("id").and_then(Value::as_u64).filter(|_| message.get("method").is_none());
        let open = enter(&self.open);
        match id.and_then(|id| open.reused.get(&id)) {
            Some(reused) if !line.contains(&reused.canary) => {
                message["id"] = json!(reused.by);
                message.to_string()
            }
            _ => line,
        }
    }

    async fn line(&mut self, line: String) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let is_progress = message.get("method").and_then(Value::as_str) == Some("notifications/progress");
        let is_answer = message.get("id").is_some() && message.get("method").is_none();
        if is_progress {
            self.progress = Some(line.clone());
        }
        if message.get("method").and_then(Value::as_str) == Some("roots/list") {
            enter(&self.open).roots_asked = message.get("id").cloned();
            self.answered.notify_waiters();
        }
        self.lines += u32::from(is_answer);
        // At the sixth answer the session has done some work.
        let nth = is_answer && self.lines == 6;
        match self.broken {
            Some(Break::DroppedAnswer) if nth => {
                // The client itself continues as if it had received the answer; only the history does not have it.
                self.take(&message);
                return;
            }
            Some(Break::DoubledAnswer) if nth => self.recorder.record(Event::Got(line.clone())),
            Some(Break::DirtyStdout) if nth => {
                self.recorder.record(Event::Got("Fast Refresh: 3 files reloaded".into()));
            }
            Some(Break::StrayAnswer) if nth && let Some(neighbour) = &self.place.neighbour => {
                neighbour.record(Event::Got(line));
                self.take(&message);
                return;
            }
            Some(Break::SlowAnswer) if nth => sleep(Duration::from_secs(30)).await,
            _ => {}
        }
        self.recorder.record(Event::Got(line));
        if is_answer {
            self.take(&message);
            if self.broken == Some(Break::LateProgress)
                && let Some(progress) = self.progress.take()
            {
                self.recorder.record(Event::Got(progress));
            }
        }
    }

    fn take(&self, message: &Value) {
        if let Some(id) = message.get("id").and_then(Value::as_u64) {
            let good = message.get("result").is_some_and(|result| result.get("isError") != Some(&Value::Bool(true)));
            enter(&self.open).answers.insert(id, good);
            self.answered.notify_waiters();
            if self.place.number == 0 {
                self.place.first_heard.send_modify(|heard| *heard += 1);
            }
        }
    }
}
