//! The promises, one checker each. A checker reads a history and says how often it looked, and what it found broken.

mod bounds;
mod causes;
mod journal;
mod log;
mod recovery;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast::limits::{DRAIN_MAX, FLUSH_MAX, JOIN_TIMEOUT, SENDINGS_MAX, SESSION_ABSENCE_MAX, UNRUN_MAX};
use holdfast_fake_unity::FakeDialect;
use holdfast_mcp_client::answer::Ran;
pub use holdfast_mcp_client::answer::Verdict as Said;
use holdfast_mcp_client::session::{Promise, Session};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

pub use self::recovery::{reached, rebuilding, served};
use crate::history::{Ask, Entry, Event, History};

/// What is added to every deadline: the 100 ms of the promise, and the ticks of the simulation.
pub const SLACK: Duration = Duration::from_millis(150);
/// Capacity of the client's pipes.
pub const PIPE: usize = 64 * 1024;

/// What one checker says.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Its name: the invariant.
    pub name: &'static str,
    /// How often it looked.
    pub checks: u64,
    /// What is broken.
    pub violations: Vec<String>,
}

impl Verdict {
    fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    fn look(&mut self, good: bool, say: impl FnOnce() -> String) {
        self.checks += 1;
        if !good {
            self.violations.push(say());
        }
    }

    /// Takes what the client's session noted of a promise, of which it looked so often.
    fn of(name: &'static str, checks: usize, violations: Vec<String>) -> Self {
        Self { name, checks: checks as u64, violations }
    }
}

/// All checkers on one history.
pub fn check(history: &History) -> Vec<Verdict> {
    let run = Run::of(history);
    let mut verdicts = vec![
        answer_once(&run),
        at_most_once(&run),
        verdict_truth(&run),
        stdout_is_mcp(&run),
        log::grounds(&run),
        bounds::bounded(&run),
        recovery::recovery(&run),
        orderly_end(&run),
        total(&run),
        right_editor(&run),
        one_connection(&run),
        epoch_fence(&run),
        deadline(&run),
        log::discretion(&run),
        order(&run),
        log::truth(&run),
        causes::grounded(&run),
    ];
    if run.dialect == FakeDialect::Holdfast {
        verdicts.extend([journal::kept(&run), journal::told(&run)]);
    }
    verdicts
}

struct Answer {
    at: Duration,
    said: Said,
    result: Value,
}

struct Run<'a> {
    history: &'a History,
    asks: BTreeMap<u64, (Duration, &'a Ask)>,
    cancelled: BTreeMap<u64, Duration>,
    answers: BTreeMap<u64, Vec<Answer>>,
    /// All that the client asked and heard.
    session: Session<Duration>,
    /// Lines on stdout, the one among them that was cut where nobody read on included.
    lines: usize,
    totals: Option<&'a BTreeMap<String, u64>>,
    dialect: FakeDialect,
    input_closed: Option<Duration>,
}

impl<'a> Run<'a> {
    fn of(history: &'a History) -> Self {
        let mut run = Self {
            history,
            asks: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            answers: BTreeMap::new(),
            session: Session::default(),
            lines: 0,
            totals: None,
            dialect: FakeDialect::Uloop,
            input_closed: None,
        };
        let closed = |entry: &Entry| (entry.what == Event::InputClosed).then_some(entry.at);
        run.input_closed = history.0.iter().rev().find_map(closed);
        let last = history.0.iter().rposition(|entry| matches!(entry.what, Event::Got(_)));
        let unread = run.ended_unread();
        for (nth, entry) in history.0.iter().enumerate() {
            match &entry.what {
                Event::Asked(id, ask) => {
                    let params = if ask.token { json!({"_meta": {"progressToken": id}}) } else { Value::Null };
                    run.session.request_as(&json!(id), ask.method, &params);
                    run.asks.insert(*id, (entry.at, ask));
                }
                Event::Cancelled(id) => {
                    run.session.cancel(&json!(id));
                    run.cancelled.insert(*id, entry.at);
                }
                Event::Got(line) => {
                    run.lines += 1;
                    if unread && Some(nth) == last && serde_json::from_str::<IgnoredAny>(line).is_err() {
                        continue;
                    }
                    run.session.received(line.as_bytes(), entry.at);
                    if let Some(message) = run.session.lines().last().map(|line| &line.value)
                        && message.get("method").is_none()
                        && let Some(id) = message.get("id").and_then(Value::as_u64)
                    {
                        let result = message.get("result").cloned().unwrap_or_default();
                        let answer = Answer { at: entry.at, said: Said::of(message), result };
                        run.answers.entry(id).or_default().push(answer);
                    }
                }
                Event::Totals(totals) => run.totals = Some(totals),
                Event::Speaks(dialect) => run.dialect = *dialect,
                _ => {}
            }
        }
        run
    }

    fn calls(&self) -> impl Iterator<Item = (u64, &'a Ask)> + '_ {
        self.asks.iter().filter(|(_, (_, ask))| ask.method == "tools/call").map(|(id, (_, ask))| (*id, *ask))
    }

    /// Which request a call under this id is. Where an id was used again, the one before it had been cancelled: the call that
    /// ended cancelled is that one's, and every other is the last one's.
    fn request_under(&self, id: u64, cancelled: bool) -> u64 {
        let again = self.asks.iter().find(|(_, (_, ask))| ask.under == Some(id)).map(|(request, _)| *request);
        again.filter(|_| !cancelled).unwrap_or(id)
    }

    /// For how long a call may be waited for before its client gives up.
    fn patience_of(&self, ask: &Ask) -> Duration {
        ask.allowed.saturating_sub(SESSION_ABSENCE_MAX + SLACK)
    }

    /// The client closed stdin and then read nothing for as long as the last answers may take to leave. What it was owed lies in
    /// the pipe, the last line perhaps in part: nobody can deliver to a reader that does not read, and the end must come.
    fn ended_unread(&self) -> bool {
        let ended = self.events().find_map(|(at, event)| matches!(event, Event::Ended(_)).then_some(at));
        let (Some(closed), Some(ended)) = (self.input_closed, ended) else { return false };
        let since = closed.max(ended.saturating_sub(FLUSH_MAX));
        self.events()
            .any(|(at, event)| matches!(event, Event::ReadingPaused(span) if at <= since && at + *span >= ended))
    }

    /// How many sendings of each call the editor proved to have run nothing of: by turning them away, or by its journal.
    fn spared(&self) -> BTreeMap<&'a str, u64> {
        let mut sendings: BTreeMap<&str, &str> = BTreeMap::new();
        let mut spared: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (_, event) in self.events() {
            match event {
                Event::Sent(_, id, sending) => {
                    sendings.insert(id, sending);
                }
                Event::TurnedAway(_, id) => {
                    let Some((call, _)) = id.rsplit_once('.') else { continue };
                    spared.insert((call, sendings.get(id.as_str()).copied().unwrap_or(id)));
                }
                Event::Outcome(_, sending, status) if status == "notRun" => {
                    spared.insert((journal::call_of(sending), sending));
                }
                _ => {}
            }
        }
        let mut counts = BTreeMap::new();
        for (call, _) in spared {
            *counts.entry(call).or_default() += 1;
        }
        counts
    }

    /// Calls that count that they ran.
    fn counting(&self) -> impl Iterator<Item = (u64, &'a Ask)> + '_ {
        self.calls().filter(|(_, ask)| ask.tool == "count" || ask.payload.starts_with("count-"))
    }

    /// How often one call may leave: those that provably ran nothing are bounded on their own.
    fn sendings_max(&self) -> u8 {
        match self.dialect {
            FakeDialect::Uloop | FakeDialect::Umcp | FakeDialect::Turbokettle | FakeDialect::UnityMcp => SENDINGS_MAX,
            // By its journal it may be known that nothing of a sending ran.
            FakeDialect::Holdfast => SENDINGS_MAX + UNRUN_MAX,
        }
    }

    /// Whether the editor declares a tool read-only or idempotent.
    fn repeatable(&self, tool: &str) -> bool {
        let own: &[&str] = match self.dialect {
            FakeDialect::Uloop => &["get-logs"],
            FakeDialect::Umcp => &["get-logs", "getlogs"],
            FakeDialect::Holdfast => &["get-logs", "echo", "sleep", "big", "compile", "steps"],
            FakeDialect::Turbokettle => &["read_console_logs", "get_project_info"],
            FakeDialect::UnityMcp => &["get_state", "start_game", "stop_game"],
        };
        own.contains(&tool)
    }

    fn runs(&self, key: &str) -> u64 {
        self.totals.and_then(|totals| totals.get(key)).copied().unwrap_or(0)
    }

    fn events(&self) -> impl Iterator<Item = (Duration, &'a Event)> + '_ {
        self.history.0.iter().map(|entry| (entry.at, &entry.what))
    }
}

fn text_of(result: &Value) -> &str {
    result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default()
}

/// A member of what Unity-MCP's answers are wrapped in.
fn envelope(answer: &Answer, member: &str) -> Option<Value> {
    let body: Value = serde_json::from_str(text_of(&answer.result)).ok()?;
    body.get(member).cloned()
}

/// The request that a line from the gateway answers.
fn answered_id(line: &str) -> Option<u64> {
    let message: Value = serde_json::from_str(line).ok()?;
    let answers = message.get("method").is_none();
    message.get("id").and_then(Value::as_u64).filter(|_| answers)
}

/// I1: every request is answered exactly once; a cancelled one at most once; nothing is answered that was not asked.
fn answer_once(run: &Run<'_>) -> Verdict {
    let broken = run.session.broken(Promise::Answers, run.ended_unread());
    Verdict::of("I1 answer-once", run.asks.len() + run.answers.len(), broken)
}

/// I2: what is not declared repeatable runs at most once, and its frame leaves at most once; what is, at most three times.
fn at_most_once(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I2 at-most-once");
    for (key, count) in run.totals.into_iter().flatten() {
        verdict.look(*count <= 1, || format!("{key} ran {count} times"));
    }
    let mut frames: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for (_, event) in run.events() {
        if let Event::FrameOut(_, method, id) = event
            && let Some((call, _)) = id.rsplit_once('.')
            && call.len() == 36
        {
            frames.entry(call).or_insert((0, method)).0 += 1;
        }
    }
    // Proof from the editor itself that a sending ran nothing.
    for (call, spared) in run.spared() {
        if let Some((count, _)) = frames.get_mut(call) {
            *count = count.saturating_sub(spared);
        }
    }
    for (call, (count, method)) in frames {
        let most = if run.repeatable(method) { SENDINGS_MAX.into() } else { 1 };
        verdict.look(count <= most, || format!("the frame of {method} {call} left {count} times"));
    }
    verdict
}

/// I2, the words: "not executed" means that it did not run, "ok" that it did.
fn verdict_truth(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I2 verdict-truth");
    if run.totals.is_none() {
        return verdict;
    }
    for (id, ask) in run.counting() {
        let runs = run.runs(&ask.payload);
        for answer in run.answers.get(&id).into_iter().flatten() {
            let ran = match answer.said {
                // Unity-MCP answers before a call has run: what it only queued may be lost with a reload.
                Said::Ok if envelope(answer, "executed") == Some(Value::Null) => Ran::Unknown,
                Said::ToolError if envelope(answer, "executed") == Some(Value::Bool(false)) => Ran::No,
                // An editor may refuse what it has not run.
                Said::ToolError => Ran::Unknown,
                said => said.ran(),
            };
            let said = answer.said;
            verdict.look(ran.is_true(runs), || {
                format!("#{id} was answered {said:?} (ran: {ran:?}), and ran {runs} times")
            });
        }
    }
    verdict
}

/// I3: every line on stdout is one JSON-RPC message.
fn stdout_is_mcp(run: &Run<'_>) -> Verdict {
    Verdict::of("I3 stdout-is-mcp", run.lines, run.session.broken(Promise::Messages, false))
}

/// I6: after stdin's end the gateway ends soon, for that reason, and leaves no connection.
fn orderly_end(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I6 orderly-end");
    let mut live = 0_i64;
    let mut ended = None;
    for (at, event) in run.events() {
        match event {
            Event::Dialed(_) => live += 1,
            Event::HungUp(_) => live -= 1,
            Event::Ended(why) => {
                ended = Some(at);
                verdict.look(*why == "input_ended", || format!("it ended because of {why}"));
                let open = live;
                verdict.look(open == 0, || format!("{open} connections outlived the gateway"));
            }
            Event::PermitsLeft(count) => {
                verdict.look(*count == 1, || format!("{count} connection permits are left"));
            }
            _ => {}
        }
    }
    if let Some(closed) = run.input_closed {
        let longest = DRAIN_MAX + 4 * JOIN_TIMEOUT + FLUSH_MAX + Duration::from_millis(100);
        let good = ended.is_some_and(|ended| ended.saturating_sub(closed) <= longest);
        verdict.look(good, || format!("stdin ended at {closed:?}, the gateway at {ended:?}"));
    }
    verdict
}

/// I7: no panic that was not planted, and no event that nobody decided.
fn total(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I7 total");
    for (at, event) in run.events() {
        match event {
            Event::Unexpected(what) | Event::Panicked(what) => verdict.look(false, || format!("at {at:?}: {what}")),
            Event::Told(_) => verdict.checks += 1,
            _ => {}
        }
    }
    verdict
}

/// I9: a stranger never hears a call, and none that was asked in another project runs in the editor.
fn right_editor(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I9 right-editor");
    let rooted: Vec<(Duration, bool)> = run
        .events()
        .filter_map(|(at, event)| if let Event::Rooted(here) = event { Some((at, *here)) } else { None })
        .collect();
    for (id, ask) in run.counting() {
        let Some((asked, _)) = run.asks.get(&id) else { continue };
        if rooted.iter().rev().find(|(at, _)| at <= asked).is_some_and(|(_, here)| !here) {
            let runs = run.runs(&ask.payload);
            verdict.look(runs == 0, || format!("#{id} was asked in a project without an editor, and ran {runs} times"));
        }
    }
    let mut heard = String::new();
    for (_, event) in run.events() {
        match event {
            Event::StrangerHeard(text) => {
                verdict.checks += 1;
                heard.push_str(text);
            }
            // One that hears nothing is what is wished for.
            Event::Injected(fault) if fault.contains("stranger: Some") => verdict.checks += 1,
            _ => {}
        }
    }
    // Whatever asks for something, and how the dialect greets; a connection that was cut leaves the beginning of a word.
    let (member, greetings): (&str, &[&str]) = match run.dialect {
        FakeDialect::Uloop => ("\"method\":", &["set-client-name"]),
        FakeDialect::Umcp => ("\"method\":", &["set-client-name", "setClientName", "ping"]),
        FakeDialect::Holdfast => ("\"method\":", &["holdfast/hello"]),
        FakeDialect::Turbokettle => ("\"cmd\":", &["ping"]),
        FakeDialect::UnityMcp => ("/api/", &[]),
    };
    for part in heard.split(member).skip(1) {
        let method = part.split('"').nth(1).unwrap_or_default();
        let greets = greetings.iter().any(|greeting| greeting.starts_with(method));
        verdict.look(greets, || format!("a stranger was sent {method}"));
    }
    verdict
}

/// Never two live connections. Over HTTP each request has its own, the greeting before a call has one beside that call's, and
/// one more, on which nothing is said, shows when the editor leaves: there it is never two that ask.
fn one_connection(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I8 one-connection");
    let mut live = BTreeSet::new();
    if run.dialect == FakeDialect::UnityMcp {
        let mut asking = BTreeSet::new();
        for (at, event) in run.events() {
            match event {
                Event::Dialed(connection) => {
                    live.insert(*connection);
                    verdict.look(live.len() <= 3, || format!("at {at:?} the connections {live:?} live"));
                }
                Event::FrameOut(connection, ..) => {
                    asking.insert(*connection);
                    verdict.look(asking.len() <= 1, || format!("at {at:?} the connections {asking:?} ask"));
                }
                Event::HungUp(connection) => {
                    live.remove(connection);
                    asking.remove(connection);
                }
                _ => {}
            }
        }
        return verdict;
    }
    for (at, event) in run.events() {
        match event {
            Event::Dialed(connection) => {
                live.insert(*connection);
                verdict.look(live.len() <= 1, || format!("at {at:?} the connections {live:?} live"));
            }
            Event::HungUp(connection) => {
                live.remove(connection);
            }
            _ => {}
        }
    }
    verdict
}

/// I10: an answer is that of its own call, and of no other.
fn epoch_fence(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I10 epoch-fence");
    if run.dialect == FakeDialect::UnityMcp {
        // No result ever leaves this editor; each answer bears the id of the call that it was asked for.
        let calls = log::calls(run);
        let own: BTreeMap<u64, &str> = calls.iter().filter_map(|(call, told)| Some((told.request?, *call))).collect();
        for (id, _) in run.counting() {
            for answer in run.answers.get(&id).into_iter().flatten().filter(|answer| answer.said == Said::Ok) {
                let told = envelope(answer, "log_id");
                let good = told.as_ref().and_then(Value::as_str) == own.get(&id).copied();
                verdict.look(good, || format!("#{id} is call {:?} and was answered as {told:?}", own.get(&id)));
            }
        }
        return verdict;
    }
    for (id, ask) in run.calls() {
        let name = match ask.tool {
            "echo" => "Echo",
            "count" => "Key",
            _ => continue,
        };
        for answer in run.answers.get(&id).into_iter().flatten().filter(|answer| answer.said == Said::Ok) {
            let body: Value = serde_json::from_str(text_of(&answer.result)).unwrap_or_default();
            let own = body.get(name).and_then(Value::as_str) == Some(&ask.payload);
            verdict.look(own, || format!("#{id} asked with {} and got {body}", ask.payload));
        }
    }
    verdict
}

/// I11: every request is answered in its time; a client that does not read has that time on top.
fn deadline(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I11 deadline");
    let pauses: Vec<(Duration, Duration)> = run
        .events()
        .filter_map(|(at, event)| if let Event::ReadingPaused(span) = event { Some((at, *span)) } else { None })
        .collect();
    for (id, (at, ask)) in &run.asks {
        let mut until = *at + ask.allowed;
        for (from, span) in &pauses {
            if *from <= until && *from + *span >= *at {
                until += *span;
            }
        }
        for answer in run.answers.get(id).into_iter().flatten() {
            verdict.look(answer.at <= until, || {
                format!(
                    "#{id} ({} {}) asked at {at:?} had time until {until:?} and got its answer at {:?}",
                    ask.method, ask.tool, answer.at
                )
            });
        }
    }
    verdict
}

/// I13: progress rises strictly, and nothing is said of a request after its answer or before it was asked.
fn order(run: &Run<'_>) -> Verdict {
    let checks = 3 * run.session.told("notifications/progress").count();
    Verdict::of("I13 order", checks, run.session.broken(Promise::Progress, false))
}

#[cfg(test)]
mod tests;
