//! A history in the form that the checkers use: the requests, the answers, and how often the editor ran each call.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast::limits::{FLUSH_MAX, SENDINGS_MAX, SESSION_ABSENCE_MAX, UNRUN_MAX};
use holdfast_fake_unity::{Facts, Package};
pub use holdfast_mcp_client::answer::Verdict as Said;
use holdfast_mcp_client::session::Session;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::history::{Ask, Entry, Event, History};

/// Added to every deadline: the 100 ms that the promise allows, and the steps of the simulation.
pub const SLACK: Duration = Duration::from_millis(150);
/// Capacity of the client's pipes, in bytes.
pub const PIPE: usize = 64 * 1024;

/// The result of one checker.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The name of the invariant.
    pub name: &'static str,
    /// The number of checks.
    pub checks: u64,
    /// The violations that were found.
    pub violations: Vec<String>,
}

impl Verdict {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    pub(super) fn look(&mut self, good: bool, say: impl FnOnce() -> String) {
        self.checks += 1;
        if !good {
            self.violations.push(say());
        }
    }

    /// Builds the result from what the client's session recorded about a promise.
    pub(super) fn of(name: &'static str, checks: usize, violations: Vec<String>) -> Self {
        Self { name, checks: checks as u64, violations }
    }
}

pub(super) struct Answer {
    pub(super) at: Duration,
    pub(super) said: Said,
    pub(super) result: Value,
}

pub(super) struct Run<'a> {
    pub(super) history: &'a History,
    pub(super) asks: BTreeMap<u64, (Duration, &'a Ask)>,
    pub(super) cancelled: BTreeMap<u64, Duration>,
    pub(super) answers: BTreeMap<u64, Vec<Answer>>,
    /// The client's requests and received lines.
    pub(super) session: Session<Duration>,
    /// The number of lines on stdout, including one that was cut because the client stopped reading.
    pub(super) lines: usize,
    pub(super) totals: Option<&'a BTreeMap<String, u64>>,
    /// The package of the editor.
    pub(super) package: &'static Package,
    pub(super) input_closed: Option<Duration>,
}

impl<'a> Run<'a> {
    pub(super) fn of(history: &'a History) -> Self {
        let mut run = Self {
            history,
            asks: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            answers: BTreeMap::new(),
            session: Session::default(),
            lines: 0,
            totals: None,
            package: Default::default(),
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
                Event::Speaks(package) => run.package = package,
                _ => {}
            }
        }
        run
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = (u64, &'a Ask)> + '_ {
        self.asks.iter().filter(|(_, (_, ask))| ask.method == "tools/call").map(|(id, (_, ask))| (*id, *ask))
    }

    /// Returns the request of a call with this JSON-RPC id. If the client used an id twice, the earlier request was cancelled: a
    /// call that ended as cancelled belongs to the earlier request, any other call to the later one.
    pub(super) fn request_under(&self, id: u64, cancelled: bool) -> u64 {
        let again = self.asks.iter().find(|(_, (_, ask))| ask.under == Some(id)).map(|(request, _)| *request);
        again.filter(|_| !cancelled).unwrap_or(id)
    }

    /// Returns how long a client waits for a call before it gives up.
    pub(super) fn patience_of(&self, ask: &Ask) -> Duration {
        ask.allowed.saturating_sub(SESSION_ABSENCE_MAX + SLACK)
    }

    /// Whether the client closed stdin and then did not read for as long as the last answers may take to be written. Its answers
    /// are then in the pipe, perhaps without the end of the last line. That is allowed: the gateway must end, and cannot deliver
    /// to a client that does not read.
    pub(super) fn ended_unread(&self) -> bool {
        let ended = self.events().find_map(|(at, event)| matches!(event, Event::Ended(_)).then_some(at));
        let (Some(closed), Some(ended)) = (self.input_closed, ended) else { return false };
        let since = closed.max(ended.saturating_sub(FLUSH_MAX));
        self.events()
            .any(|(at, event)| matches!(event, Event::ReadingPaused(span) if at <= since && at + *span >= ended))
    }

    /// Returns, for each call, in how many attempts to send it the editor proved that it did not run: by turning it away, or by
    /// its journal.
    pub(super) fn spared(&self) -> BTreeMap<&'a str, u64> {
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
                    spared.insert((call_of(sending), sending));
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

    /// Whether the gateway has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.events().any(|(_, event)| matches!(event, Event::Ended(_)))
    }

    /// Returns the calls whose executions the editor counts.
    pub(super) fn counting(&self) -> impl Iterator<Item = (u64, &'a Ask)> + '_ {
        self.calls().filter(|(_, ask)| ask.tool == "count" || ask.payload.starts_with("count-"))
    }

    /// What is expected of the editor.
    pub(super) fn facts(&self) -> &'static Facts {
        &self.package.facts
    }

    /// Returns how often one call may be sent. A journal may show that the call did not run in an attempt.
    pub(super) fn sendings_max(&self) -> u8 {
        if self.facts().journal { SENDINGS_MAX + UNRUN_MAX } else { SENDINGS_MAX }
    }

    /// Whether the editor declares a tool read-only or idempotent.
    pub(super) fn repeatable(&self, tool: &str) -> bool {
        self.facts().repeatable.contains(&tool)
    }

    pub(super) fn runs(&self, key: &str) -> u64 {
        self.totals.and_then(|totals| totals.get(key)).copied().unwrap_or(0)
    }

    pub(super) fn events(&self) -> impl Iterator<Item = (Duration, &'a Event)> + '_ {
        self.history.0.iter().map(|entry| (entry.at, &entry.what))
    }
}

pub(super) fn text_of(result: &Value) -> &str {
    result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the id of the request that a line from the gateway answers; `None` if the line is not an answer.
pub(super) fn answered_id(line: &str) -> Option<u64> {
    let message: Value = serde_json::from_str(line).ok()?;
    let answers = message.get("method").is_none();
    message.get("id").and_then(Value::as_u64).filter(|_| answers)
}

/// Length of a call's id. From the second attempt to send the call on, the attempt's number is appended.
const CALL_LENGTH: usize = 36;

/// Returns the id of the call that an attempt belongs to.
pub(super) fn call_of(sending: &str) -> &str {
    sending.get(..CALL_LENGTH).unwrap_or(sending)
}

/// Whether this is the id of a call's request.
pub(super) fn is_of_a_call(id: &str) -> bool {
    id.rsplit_once('.').is_some_and(|(call, _)| call.len() == CALL_LENGTH)
}
