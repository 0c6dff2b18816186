//! Checks the gateway's own log against the history: I12 (discretion), I14 (truth), and the evidence for each verdict.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast::limits::LOG_FIELD_MAX_BYTES;
use holdfast_fake_unity::Task;
use serde_json::Value;

use super::run::{Run, SLACK, Said, Verdict};
use crate::history::{Event, SECRET, field};

/// The largest number of fields in a log line.
const FIELDS_MAX: usize = 8;

/// I12: the log contains no argument, result or raw text of a peer, and each event is one line.
pub(super) fn discretion(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I12 discretion");
    for (_, event) in run.events() {
        let (Event::Told(line) | Event::Unexpected(line)) = event else { continue };
        verdict.look(!line.contains(SECRET), || format!("an argument or a result stands in the log: {line:?}"));
        let raw = |character: char| {
            character.is_control()
                || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        verdict.look(!line.contains(raw), || format!("raw text of somebody else stands in the log: {line:?}"));
        verdict.look(line.len() <= FIELDS_MAX * LOG_FIELD_MAX_BYTES, || format!("a line of {} bytes", line.len()));
    }
    verdict
}

/// What the log says of one call.
#[derive(Default)]
pub(super) struct Told<'a> {
    /// The JSON-RPC id of the call's request.
    id: Option<u64>,
    /// The number of the request, which is unique in the run.
    pub(super) request: Option<u64>,
    /// The connections that the call was sent on.
    pub(super) sent: Vec<&'a str>,
    /// The log's entries for the end of the call: whether the client was answered, the verdict, the cause, the time.
    pub(super) ends: Vec<(bool, &'a str, &'a str, Duration)>,
}

pub(super) fn calls<'a>(run: &Run<'a>) -> BTreeMap<&'a str, Told<'a>> {
    let mut calls: BTreeMap<&str, Told<'_>> = BTreeMap::new();
    for (at, event) in run.events() {
        let Event::Told(line) = event else { continue };
        let name = line.split(' ').next().unwrap_or_default();
        let Some(call) = field(line, "call") else { continue };
        let told = calls.entry(call).or_default();
        let get = |name| field(line, name).unwrap_or_default();
        match name {
            "call_accepted" => told.id = get("mcp_id").parse().ok(),
            "call_sent" => told.sent.push(get("epoch")),
            "call_answered" => told.ends.push((true, get("verdict"), get("cause"), at)),
            "call_noted" => told.ends.push((false, get("verdict"), "", at)),
            _ => {}
        }
    }
    for told in calls.values_mut() {
        let cancelled = matches!(told.ends.first(), Some((false, "cancelled", ..)));
        told.request = told.id.map(|id| run.request_under(id, cancelled));
    }
    calls
}

fn word(said: Said) -> &'static str {
    match said {
        Said::Ok => "ok",
        Said::ToolError => "tool_error",
        // A call is answered with a protocol error only if its tool is in no tool list.
        Said::NotExecuted | Said::Refused => "not_executed",
        Said::Unknown => "outcome_unknown",
        Said::StillRunning => "still_running",
    }
}

/// I14: the log is consistent. Each call has one end, equal to the client's answer; each connection has one end; nothing is open
/// after the gateway's end.
pub(super) fn truth(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I14 truth");
    let ended = run.has_ended();
    let calls = calls(run);
    let mut answered = BTreeMap::new();
    for (call, told) in &calls {
        let ends: Vec<(bool, &str)> = told.ends.iter().map(|(answered, verdict, ..)| (*answered, *verdict)).collect();
        let good = match ends.as_slice() {
            [] => !ended,
            [(true, _) | (false, "cancelled")] | [(true, "still_running") | (false, "cancelled"), (false, _)] => true,
            _ => false,
        };
        verdict.look(good && told.request.is_some(), || format!("call {call} (#{:?}) ended {ends:?}", told.request));
        if let (Some(request), Some((true, end))) = (told.request, ends.first()) {
            let first = answered.insert(request, *end).is_none();
            verdict.look(first, || format!("two calls were answered for #{request}, the second is {call}"));
        }
    }
    for (id, ask) in run.calls().filter(|(_, ask)| !ask.tool.starts_with("holdfast_")) {
        let got = run.answers.get(&id).and_then(|answers| answers.first()).map(|answer| answer.said);
        let good = match (answered.get(&id), got) {
            (Some(end), Some(said)) => *end == word(said),
            // The call was cancelled when its answer was already on its way, or the run was cut off, or the client did not read.
            (Some(_), None) => run.cancelled.contains_key(&id) || !ended || run.ended_unread(),
            // The request was refused before it became a call.
            (None, Some(said)) => matches!(said, Said::Refused | Said::NotExecuted),
            (None, None) => true,
        };
        let logged = answered.get(&id);
        verdict.look(good, || format!("#{id} ({}) was answered {got:?}, and the log says {logged:?}", ask.tool));
    }
    for (_, event) in run.events() {
        if let Event::Left(sizes) = event {
            let good = (sizes.open, sizes.held, sizes.flying) == (0, 0, 0);
            verdict.look(good, || format!("left open at the end: {sizes:?}"));
        }
    }
    verdict
}

/// I14: each connection that comes up goes down once, with its own number. The status counts as many connections as the log does.
/// `over`: whether the history ends without a connection.
pub(super) fn connections(run: &Run<'_>, over: bool) -> Verdict {
    let mut verdict = Verdict::new("I14 truth");
    let mut up: Option<&str> = None;
    let mut ups = 0_u64;
    let mut ups_when_asked: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, event) in run.events() {
        match event {
            Event::Told(line) if line.starts_with("link_up ") => {
                verdict.look(up.is_none(), || format!("at {at:?} up beside {up:?}: {line}"));
                up = field(line, "epoch");
                ups += 1;
            }
            Event::Told(line) if line.starts_with("link_down ") => {
                let epoch = field(line, "epoch");
                verdict.look(up.is_some() && up == epoch, || format!("at {at:?}, with {up:?} up: {line}"));
                up = None;
            }
            Event::Asked(id, ask) if ask.tool == "holdfast_status" => {
                ups_when_asked.insert(*id, ups);
            }
            Event::Got(line) => {
                let Some(before) = super::run::answered_id(line).and_then(|id| ups_when_asked.remove(&id)) else {
                    continue;
                };
                let message: Value = serde_json::from_str(line).unwrap_or_default();
                let Some(said) = message.pointer("/result/structuredContent/editor/connections") else { continue };
                let good = said.as_u64().is_some_and(|said| (before..=ups).contains(&said));
                verdict.look(good, || format!("the status counts {said} connections, the log {before} to {ups}"));
            }
            _ => {}
        }
    }
    verdict.look(!over || up.is_none(), || format!("{up:?} was never told to be down"));
    verdict
}

/// I2: each verdict agrees with what was seen on the wire. `leaves`: the session may end before its link does, and then calls
/// that were sent continue.
pub(super) fn grounds(run: &Run<'_>, leaves: bool) -> Verdict {
    let mut verdict = Verdict::new("I2 grounds");
    let mut left: BTreeMap<&str, u64> = BTreeMap::new();
    let mut replied: BTreeMap<&str, u64> = BTreeMap::new();
    let mut sendings: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut downs: BTreeMap<&str, (&str, Duration)> = BTreeMap::new();
    // A restarted editor may give a name of a job again, on another connection.
    let mut interrupted: BTreeMap<(u64, &str), Duration> = BTreeMap::new();
    for (at, event) in run.events() {
        match event {
            Event::FrameOut(connection, _, id) => {
                let Some((call, _)) = id.rsplit_once('.') else { continue };
                *left.entry(call).or_default() += 1;
                sendings.entry(call).or_default().push(*connection);
            }
            Event::FrameIn(_, id) => {
                let Some((call, _)) = id.rsplit_once('.') else { continue };
                *replied.entry(call).or_default() += 1;
            }
            Event::Outcome(_, sending, status) if status == "done" => {
                *replied.entry(super::run::call_of(sending)).or_default() += 1;
            }
            Event::Outcome(connection, job, status) if status == "interrupted" => {
                interrupted.entry((*connection, job.as_str())).or_insert(at);
            }
            Event::Told(line) if line.starts_with("link_down ") => {
                let get = |name| field(line, name).unwrap_or_default();
                downs.insert(get("epoch"), (get("reason"), at));
            }
            _ => {}
        }
    }
    let spared = run.spared();
    for (call, on) in sendings.iter().filter(|(call, _)| call.len() == 36) {
        // The editor may have turned it away, and is asked again on the same connection.
        let free = usize::try_from(spared.get(call).copied().unwrap_or_default()).unwrap_or(usize::MAX);
        let again = on.iter().collect::<std::collections::BTreeSet<_>>().len() + free < on.len();
        let few = on.len().saturating_sub(free) <= usize::from(run.sendings_max());
        verdict.look(!again && few, || format!("call {call} left on the connections {on:?}"));
    }
    let starts: Vec<Duration> =
        run.events().filter(|(_, event)| matches!(event, Event::Listens(_))).map(|(at, _)| at).collect();
    let started_anew = |since: Duration, by: Duration| starts.iter().any(|at| (since..=by).contains(at));
    let mut told_interrupted = 0;
    for (call, told) in calls(run) {
        let Some((id, (asked, ask))) = told.request.and_then(|id| Some((id, run.asks.get(&id)?))) else { continue };
        let Some((true, end, cause, at)) = told.ends.first().copied() else { continue };
        // The outcome may also come from a file or a journal, after the loss of the connection.
        let told_elsewhere = ask.tool == run.package.calls(Task::Compile, "").tool && run.facts().compile_file;
        let frames = left.get(call).copied().unwrap_or(0).saturating_sub(spared.get(call).copied().unwrap_or(0));
        let good = match end {
            "not_executed" => frames == 0,
            "ok" | "tool_error" => told_elsewhere || replied.get(call).is_some_and(|replies| *replies > 0),
            "still_running" => {
                let left = leaves && run.input_closed.is_some_and(|closed| closed <= at);
                !told.sent.is_empty() && (left || at + SLACK + SLACK >= *asked + run.patience_of(ask))
            }
            // The module `journal` has its own checker for these cases.
            "outcome_unknown" if told_elsewhere || run.facts().journal => !told.sent.is_empty(),
            // The editor said so, and of as many jobs as there are such calls.
            "outcome_unknown" if run.facts().jobs && cause == "interrupted" => {
                told_interrupted += 1;
                let said = interrupted.values().any(|first| *first <= at);
                !told.sent.is_empty() && said && told_interrupted <= interrupted.len()
            }
            // The editor's server was started again, by a reload or not, and before any connection shows it.
            "outcome_unknown" if run.facts().jobs && cause == "forgotten" => {
                !told.sent.is_empty() && started_anew(*asked, at)
            }
            "outcome_unknown" => told
                .sent
                .iter()
                .any(|epoch| downs.get(epoch).is_some_and(|(reason, down)| *reason == cause && *down <= at)),
            _ => true,
        };
        verdict.look(good, || {
            let sent = &told.sent;
            format!("#{id} ({}) ended {end} {cause:?} at {at:?}: {frames} frames left, sent on {sent:?}", ask.tool)
        });
    }
    verdict
}
