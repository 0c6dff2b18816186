//! I5: after all faults have ended, the gateway reaches the editor again.

use std::time::Duration;

use holdfast::limits::RETRY_UNLIKELY_MAX;

use super::run::{Answer, Run, SLACK, Said, Verdict, answered_id, text_of};
use crate::history::{Ask, Event, History, field};

/// The words of the answer to a call that was held because the tool list did not come. A test of the texts compares them.
pub const NOT_LISTED: &str = "did not send its tool list";

/// Returns the time from the end of all faults to the first whole frame from the editor: the time that the gateway itself needs,
/// without the calls that then wait in its queue. If the editor reports that its listener started later, the time counts from
/// there. `None` if no frame came.
pub fn reached(history: &History) -> Option<Duration> {
    after_the_healing(history, |event| matches!(event, Event::FrameIn(..)))
}

/// Returns the time from the end of all faults, counted as in [`reached`], to the first successful answer of an editor's tool.
/// This is the client's wait, including the running time of tools. `None` if no such answer came.
pub fn served(history: &History) -> Option<Duration> {
    let run = Run::of(history);
    let good = |event: &Event| {
        let Event::Got(line) = event else { return false };
        let id = answered_id(line).filter(|id| {
            run.asks.get(id).is_some_and(|(_, ask)| ask.method == "tools/call" && !ask.tool.starts_with("holdfast_"))
        });
        id.and_then(|id| run.answers.get(&id))
            .is_some_and(|answers| answers.iter().any(|answer| answer.said == Said::Ok))
    };
    after_the_healing(history, good)
}

fn after_the_healing(history: &History, is_it: impl Fn(&Event) -> bool) -> Option<Duration> {
    let (mut healed, mut since) = (false, Duration::ZERO);
    for entry in &history.0 {
        match &entry.what {
            Event::Healed => (healed, since) = (true, entry.at),
            Event::Listens(_) | Event::EditorUp(..) => since = entry.at,
            event if healed && is_it(event) => return Some(entry.at.saturating_sub(since)),
            _ => {}
        }
    }
    None
}

/// Returns for how much of the time since the end of all faults the gateway lacked actors, because a supervision tree was
/// waiting to be rebuilt.
pub fn rebuilding(history: &History) -> Duration {
    let mut healed = None;
    let mut ends = Duration::ZERO;
    for entry in &history.0 {
        match &entry.what {
            Event::Healed => healed = Some(entry.at),
            Event::Told(line) if line.starts_with("tree_rebuilding ") => {
                let pause = field(line, "after_ms")
                    .and_then(|ms| ms.parse().ok())
                    .map_or(Duration::ZERO, Duration::from_millis);
                // Each link and each session is a tree of its own.
                ends = ends.max(entry.at + pause);
            }
            Event::FrameIn(..) if healed.is_some() => break,
            _ => {}
        }
    }
    healed.map_or(Duration::ZERO, |healed| ends.saturating_sub(healed))
}

/// The longest time until the editor is reached after all faults have ended and a pending rebuild of the tree is done: two
/// seconds for a connection attempt that began before (its packets were lost silently), and the delay after it.
const REACHED: Duration = Duration::from_millis(2500);
/// The longest time from the end of all faults, and of a pending rebuild of a tree, to the first successful answer: a tool list that
/// is requested again after 5 s, and the calls before it.
const COMEBACK: Duration = Duration::from_secs(15);

/// Returns for how long after all faults had ended the gateway treated the editor itself as a foreign peer, whose port it does
/// not dial for a while. This happens only with a package whose reader takes the parts of a divided line for separate messages, and
/// then refuses a greeting. Only a network fault that divides data causes it, because otherwise no line exceeds what the reader
/// takes at once.
fn left_in_peace(run: &Run<'_>) -> Duration {
    if !run.facts().misreads_cuts {
        return Duration::ZERO;
    }
    let mut until = Duration::ZERO;
    for (at, event) in run.events() {
        match event {
            Event::Told(line) if line.starts_with("wrong_peer ") && line.contains("it refused the greeting") => {
                until = at + RETRY_UNLIKELY_MAX;
            }
            Event::Healed => return until.saturating_sub(at),
            _ => {}
        }
    }
    Duration::ZERO
}

/// I5: after all faults have ended, the gateway reaches the editor again without any action by a user. `shared`: a request of
/// another session may still reload the editor during a call.
pub(super) fn recovery(run: &Run<'_>, shared: bool) -> Verdict {
    let mut verdict = Verdict::new("I5 recovery");
    let mut recovered = None;
    let mut healed = false;
    for (at, event) in run.events() {
        match event {
            Event::Healed => healed = true,
            Event::Recovered(after) => {
                recovered = Some(at);
                verdict.look(*after <= COMEBACK + rebuilding(run.history), || {
                    format!("served again only {after:?} after the healing")
                });
            }
            _ => {}
        }
    }
    if let Some(after) = reached(run.history) {
        let longest = REACHED + rebuilding(run.history) + left_in_peace(run);
        verdict.look(after <= longest, || format!("reached again only {after:?} after the healing"));
    }
    let healed_at = run.events().find(|(_, event)| **event == Event::Healed).map(|(at, _)| at);
    // A client that gave up waiting also closes stdin, but later.
    let early = run.input_closed.is_some_and(|closed| healed_at.is_none_or(|healed| closed <= healed));
    if healed && !early {
        verdict.look(recovered.is_some(), || "never served again after the healing".into());
    }
    for (id, (at, ask)) in run.asks.iter().filter(|(_, (at, _))| healed_at.is_some_and(|healed| *at >= healed)) {
        // A healthy editor lists its tools at once. This answer shows that the gateway did not notice that a call waited for the
        // list.
        let forgotten = |answer: &Answer| text_of(&answer.result).contains(NOT_LISTED);
        let good = !run.answers.get(id).is_some_and(|answers| answers.iter().any(forgotten));
        verdict.look(good, || format!("#{id} ({}), asked at {at:?}, was held in vain beside a ready editor", ask.tool));
    }
    // A compile whose outcome nobody could learn may still make the editor reload.
    let unknown = |(id, ask): (u64, &Ask)| {
        let mut answers = run.answers.get(&id).into_iter().flatten();
        ask.tool == "compile" && answers.any(|answer| answer.said == Said::Unknown)
    };
    let may_reload = shared || run.calls().any(unknown);
    let reloads: Vec<Duration> =
        run.events().filter(|(_, event)| may_reload && **event == Event::Reloads).map(|(at, _)| at).collect();
    let reloaded = |from: Duration, to: Duration| reloads.iter().any(|at| (from..=to + SLACK).contains(at));
    for (id, ask) in run.calls() {
        let after = recovered.is_some_and(|recovered| run.asks.get(&id).is_some_and(|(at, _)| *at >= recovered));
        if after && !run.cancelled.contains_key(&id) {
            let asked = run.asks.get(&id).map(|(at, _)| *at).unwrap_or_default();
            let good = |answer: &Answer| answer.said == Said::Ok || reloaded(asked, answer.at);
            let ok = run.answers.get(&id).is_some_and(|answers| answers.iter().any(good));
            verdict
                .look(ok, || format!("#{id} ({}) was not answered well though nothing was wrong any more", ask.tool));
        }
    }
    verdict
}
