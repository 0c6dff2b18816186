//! The checkers for most of the promises: about requests and answers, about what ran, and about connections.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast::limits::{DRAIN_MAX, FLUSH_MAX, JOIN_TIMEOUT, SENDINGS_MAX};
use holdfast_fake_unity::Shape;
use holdfast_mcp_client::answer::Ran;
use holdfast_mcp_client::session::Promise;
use serde_json::Value;

use super::run::{Answer, Run, Said, Verdict, is_of_a_call, text_of};
use super::{bounds, log};
use crate::history::Event;

/// Returns the verdicts on one of several sessions: about its client's requests and answers, and what the editors ran for it.
pub(super) fn of_session(run: &Run<'_>) -> Vec<Verdict> {
    vec![
        answer_once(run),
        at_most_once(run),
        verdict_truth(run),
        stdout_is_mcp(run),
        bounds::bounded(run),
        orderly_end(run),
        right_editor(run),
        epoch_fence(run),
        deadline(run),
        order(run),
    ]
}

/// Returns a member of the object that Unity-MCP wraps its answers in; `None` if it is missing.
fn envelope(answer: &Answer, member: &str) -> Option<Value> {
    let body: Value = serde_json::from_str(text_of(&answer.result)).ok()?;
    body.get(member).cloned()
}

/// I1: every request is answered exactly once, a cancelled one at most once, and nothing else is answered.
pub(super) fn answer_once(run: &Run<'_>) -> Verdict {
    let broken = run.session.broken(Promise::Answers, run.ended_unread());
    Verdict::of("I1 answer-once", run.asks.len() + run.answers.len(), broken)
}

/// I2: every call runs at most once. The frame of a call is sent at most once, or `SENDINGS_MAX` times if its tool is repeatable.
pub(super) fn at_most_once(run: &Run<'_>) -> Verdict {
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
    // The editor itself proved that the call did not run in these attempts.
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

/// I2, the wording: "not executed" means that the call did not run, "ok" that it ran.
pub(super) fn verdict_truth(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I2 verdict-truth");
    if run.totals.is_none() {
        return verdict;
    }
    for (id, ask) in run.counting() {
        let runs = run.runs(&ask.payload);
        for answer in run.answers.get(&id).into_iter().flatten() {
            let ran = match answer.said {
                // Unity-MCP answers before a call has run: if the call is still queued, a reload may drop it.
                Said::Ok if envelope(answer, "executed") == Some(Value::Null) => Ran::Unknown,
                Said::ToolError if envelope(answer, "executed") == Some(Value::Bool(false)) => Ran::No,
                // An editor may refuse a call without running it.
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
pub(super) fn stdout_is_mcp(run: &Run<'_>) -> Verdict {
    Verdict::of("I3 stdout-is-mcp", run.lines, run.session.broken(Promise::Messages, false))
}

/// I6: after the end of stdin the gateway ends soon, names that as the reason, and leaves no connection open.
pub(super) fn orderly_end(run: &Run<'_>) -> Verdict {
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

/// I7: no panic except the planned ones, and no event without a handler.
pub(super) fn total(run: &Run<'_>) -> Verdict {
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

/// I9: a foreign peer never receives a call, and no call that was made for another project runs in the editor.
pub(super) fn right_editor(run: &Run<'_>) -> Verdict {
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
    let mut heard: BTreeMap<u16, String> = BTreeMap::new();
    for (_, event) in run.events() {
        match event {
            Event::StrangerHeard(from, text) => {
                verdict.checks += 1;
                heard.entry(*from).or_default().push_str(text);
            }
            // A foreign peer was there and received nothing, as it should be.
            Event::Injected(fault) if fault.contains("stranger: Some") => verdict.checks += 1,
            _ => {}
        }
    }
    // Counts every message that requests something, except the package's greetings. A connection that was cut may end within a
    // name.
    let (member, greetings) = run.facts().greeting;
    for part in heard.values().flat_map(|text| text.split(member).skip(1)) {
        let method = part.split('"').nth(1).unwrap_or_default();
        let greets = greetings.iter().any(|greeting| greeting.starts_with(method));
        verdict.look(greets, || format!("a stranger was sent {method}"));
    }
    verdict
}

/// I8: there are never two live connections, but for one that asks the main thread a question, while no call is open. Over HTTP each request has its own connection. The greeting before a call has a
/// connection in addition to the call's. One more carries nothing; it shows when the editor leaves. There, at most one connection
/// has an unanswered request. Where the main thread is asked a question, one request may be beside it or beside a call; no call is
/// beside that question.
pub(super) fn one_connection(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I8 one-connection");
    let mut live = BTreeSet::new();
    if run.facts().shape == Shape::ConnectionEach {
        let question = (run.facts().main_thread_question)(run.package.newest());
        let mut asking = BTreeMap::new();
        for (at, event) in run.events() {
            match event {
                Event::Dialed(connection) => {
                    live.insert(*connection);
                    verdict.look(live.len() <= 3, || format!("at {at:?} the connections {live:?} live"));
                }
                Event::FrameOut(connection, method, id) => {
                    let is_question = question == Some(method.as_str());
                    asking.insert(*connection, (is_question, is_of_a_call(id)));
                    let questions = asking.values().filter(|(is_question, _)| *is_question).count();
                    let calls = asking.values().filter(|(_, is_call)| *is_call).count();
                    let good = asking.len() <= 1 || question.is_some() && asking.len() == 2 && questions + calls <= 1;
                    verdict.look(good, || format!("at {at:?} the connections {asking:?} ask"));
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
    let question = (run.facts().main_thread_question)(run.package.newest());
    let most = 1 + usize::from(question.is_some());
    let mut asking: BTreeMap<(u64, &str), bool> = BTreeMap::new();
    for (at, event) in run.events() {
        match event {
            Event::Dialed(connection) => {
                live.insert(*connection);
                verdict.look(live.len() <= most, || format!("at {at:?} the connections {live:?} live"));
            }
            Event::FrameOut(connection, method, id) => {
                let is_question = question == Some(method.as_str());
                if is_question || is_of_a_call(id) {
                    asking.insert((*connection, id.as_str()), is_question);
                    let questions = asking.values().filter(|is_question| **is_question).count();
                    let good = questions == 0 || asking.len() == 1;
                    verdict.look(good, || format!("at {at:?} a call and the main thread are asked: {asking:?}"));
                }
            }
            Event::FrameIn(connection, id) => {
                asking.remove(&(*connection, id.as_str()));
            }
            Event::HungUp(connection) => {
                live.remove(connection);
                asking.retain(|(on, _), _| on != connection);
            }
            _ => {}
        }
    }
    verdict
}

/// I10: every answer belongs to its own call.
pub(super) fn epoch_fence(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I10 epoch-fence");
    if !run.facts().results {
        // This editor returns no results. Each of its answers contains the id of the call that it belongs to.
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

/// I11: every request is answered within its time limit. Times in which the client does not read are added to the limit.
pub(super) fn deadline(run: &Run<'_>) -> Verdict {
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

/// I13: progress rises strictly, and no progress comes after the request's answer or before the request.
pub(super) fn order(run: &Run<'_>) -> Verdict {
    let checks = 3 * run.session.told("notifications/progress").count();
    Verdict::of("I13 order", checks, run.session.broken(Promise::Progress, false))
}
