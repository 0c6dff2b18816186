//! The promises for an editor that keeps a journal: the editor follows its protocol, and the gateway never guesses an outcome
//! that it could have asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast::limits::{SENDINGS_MAX, UNRUN_MAX};

use super::log::{self, Told};
use super::run::{Run, Verdict, call_of, text_of};
use crate::history::{Begun, Event};

/// The clocks of the two simulated machines may differ by one step of the simulation.
const CLOCKS_APART: Duration = Duration::from_millis(4);

/// Checks the editor's side: what the gateway's checkers rely on, and what any other editor would have to guarantee.
pub(super) fn kept(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I2 journal-kept");
    let mut fence = 0;
    let mut alone: Option<&str> = None;
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    let mut denied: BTreeSet<&str> = BTreeSet::new();
    let mut settled: BTreeMap<&str, &str> = BTreeMap::new();
    let mut far: BTreeMap<&str, i64> = BTreeMap::new();
    let mut requests: BTreeMap<&str, &str> = BTreeMap::new();
    let mut replied: BTreeSet<&str> = BTreeSet::new();
    for (at, event) in run.events() {
        match event {
            Event::EditorUp(..) | Event::EditorGone(_) => (fence, alone) = (0, None),
            Event::Proven(connection) => fence = fence.max(*connection),
            Event::Begun(Begun { connection, tool, sending, parallel }) => {
                let again = !begun.insert(sending);
                let resumes = *connection == 0;
                verdict.look(!again || resumes, || format!("at {at:?} {sending} began again"));
                let old = !resumes && *connection < fence;
                verdict.look(!old, || format!("at {at:?} {sending} began, of {connection}, fenced by {fence}"));
                let was = denied.contains(sending.as_str());
                verdict.look(!was, || format!("at {at:?} {sending} began, of which it was said that it will not run"));
                verdict.look(run.facts().parallel.contains(&tool.as_str()) == *parallel, || {
                    format!("{tool} runs in another lane")
                });
                if !parallel {
                    let free = alone.is_none_or(|other| other == sending);
                    verdict.look(free, || format!("at {at:?} {sending} began beside {alone:?}"));
                    alone = Some(sending);
                }
            }
            Event::Settled(sending, status) => {
                settled.insert(sending, status);
                alone = alone.filter(|other| other != sending);
            }
            Event::Sent(_, id, sending) => {
                requests.insert(id, sending);
            }
            Event::FrameIn(_, id) => replied.extend(requests.get(id.as_str())),
            Event::Outcome(_, sending, status) => {
                let truth = settled.get(sending.as_str()).copied();
                let ran = begun.contains(sending.as_str());
                let good = match status.as_str() {
                    "done" | "interrupted" => truth == Some(status),
                    "notRun" => !ran && truth.is_none_or(|truth| truth == "notRun"),
                    _ => true,
                };
                verdict
                    .look(good, || format!("at {at:?} {sending} is said to be {status}: began {ran}, then {truth:?}"));
                if status == "notRun" {
                    denied.insert(sending);
                }
            }
            Event::Progressed(_, sending, now) => {
                let before = far.insert(sending, *now);
                verdict.look(before.is_none_or(|before| before < *now), || {
                    format!("at {at:?} the progress of {sending} falls from {before:?} to {now}")
                });
                let late = replied.contains(sending.as_str());
                verdict.look(!late, || format!("at {at:?} progress of {sending} after its answer"));
            }
            Event::Lagged(count) => verdict.look(false, || format!("{count} events of the editor were lost")),
            _ => {}
        }
    }
    verdict
}

/// What is known about one attempt to send a call.
#[derive(Default)]
struct Sending<'a> {
    id: &'a str,
    at: Duration,
    /// When the attempt's connection was made. At that time the editor process that knows the attempt was alive.
    connected: Duration,
    /// Whether the call began to run in the editor.
    began: bool,
    /// When the gateway learned that the call did not run in this attempt.
    unrun: Option<Duration>,
    /// When the gateway learned that the call was interrupted in this attempt, or that the journal has no record of it.
    cut: Option<Duration>,
}

fn sendings<'a>(run: &Run<'a>) -> BTreeMap<&'a str, Vec<Sending<'a>>> {
    let mut all: BTreeMap<&str, Vec<Sending<'_>>> = BTreeMap::new();
    let mut requests: BTreeMap<&str, &str> = BTreeMap::new();
    let mut dialled: BTreeMap<u64, Duration> = BTreeMap::new();
    for (at, event) in run.events() {
        let mut of = |id: &str, note: &dyn Fn(&mut Sending<'a>)| {
            let known = all.get_mut(call_of(id)).into_iter().flatten().find(|sending| sending.id == id);
            known.map(note).unwrap_or_default();
        };
        match event {
            Event::Dialed(connection) => {
                dialled.insert(*connection, at);
            }
            Event::Begun(begun) => of(&begun.sending, &|sending| sending.began = true),
            Event::TurnedAway(_, id) => {
                if let Some(id) = requests.get(id.as_str()).copied() {
                    of(id, &|sending| sending.unrun = sending.unrun.or(Some(at)));
                }
            }
            Event::Outcome(_, id, status) => match status.as_str() {
                "notRun" => of(id, &|sending| sending.unrun = sending.unrun.or(Some(at))),
                "interrupted" | "forgotten" => of(id, &|sending| sending.cut = sending.cut.or(Some(at))),
                _ => {}
            },
            Event::Sent(connection, request, id) => {
                requests.insert(request, id);
                let connected = dialled.get(connection).copied().unwrap_or(at);
                all.entry(call_of(id)).or_default().push(Sending { id, at, connected, ..Sending::default() });
            }
            _ => {}
        }
    }
    all
}

/// Checks the gateway's side: it sends no call again without proof, reports no call as not executed that ran, and reports no
/// outcome as unknown that it could have asked the journal for.
pub(super) fn told(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I2 journal-told");
    let deaths: Vec<Duration> =
        run.events().filter_map(|(at, event)| matches!(event, Event::EditorGone(_)).then_some(at)).collect();
    let replaced = |from: Duration, to: Duration| deaths.iter().any(|death| (from..=to + CLOCKS_APART).contains(death));
    let dialled: Vec<Duration> =
        run.events().filter_map(|(at, event)| matches!(event, Event::Dialed(_)).then_some(at)).collect();
    let sendings = sendings(run);
    let calls = log::calls(run);
    for (call, sent) in &sendings {
        let tool = tool_of(run, calls.get(call));
        let repeatable = tool.is_some_and(|tool| run.repeatable(tool));
        for pair in sent.windows(2) {
            let [before, after] = pair else { continue };
            let lost = before.cut.is_some_and(|at| at <= after.at) || replaced(before.connected, after.at);
            let good = before.unrun.is_some_and(|at| at <= after.at) || repeatable && lost;
            verdict.look(good && before.id != after.id, || {
                format!("{} ({tool:?}) left at {:?} without a proof that {} ran nothing", after.id, after.at, before.id)
            });
        }
        let ran = sent.iter().filter(|sending| sending.began).count();
        let most = if repeatable { SENDINGS_MAX } else { 1 };
        verdict.look(ran <= most.into(), || format!("{ran} sendings of {call} ({tool:?}) ran"));
        let spared = sent.len() - ran;
        verdict.look(spared <= usize::from(UNRUN_MAX + SENDINGS_MAX), || format!("{call} left {} times", sent.len()));
    }
    for (call, told) in &calls {
        let Some(id) = told.request else { continue };
        let sent = sendings.get(call).map_or(&[][..], Vec::as_slice);
        let ran = sent.iter().any(|sending| sending.began);
        let answers = run.answers.get(&id).into_iter().flatten();
        let denied = answers.map(|answer| text_of(&answer.result)).any(|text| text.contains("Nothing of the call ran"));
        verdict.look(!(denied && ran), || format!("#{id} was told that nothing ran, and it did"));
        for (_, end, cause, at) in &told.ends {
            match *end {
                "not_executed" => verdict.look(!ran, || format!("#{id} ended as not executed, and it ran")),
                "outcome_unknown" => {
                    let ending = run.input_closed.is_some_and(|closed| closed <= *at);
                    let lost = |sending: &Sending<'_>| {
                        sending.unrun.is_none()
                            && (sending.cut.is_some_and(|cut| cut <= *at) || replaced(sending.connected, *at))
                    };
                    // The gateway wrote no whole frame of the call, and the process that could have known the call is gone.
                    let asked = run.asks.get(&id).map(|(at, _)| *at).unwrap_or_default();
                    let connected = dialled.iter().rfind(|at| **at <= asked).copied().unwrap_or_default();
                    let torn = sent.is_empty() && !told.sent.is_empty() && replaced(connected, *at);
                    let good = ending || torn || sent.iter().any(lost);
                    verdict.look(good, || format!("#{id} is unknown at {at:?} ({cause}), and the journal knew it"));
                }
                _ => verdict.checks += 1,
            }
        }
    }
    verdict
}

fn tool_of<'a>(run: &Run<'a>, told: Option<&Told<'_>>) -> Option<&'a str> {
    let (_, ask) = run.asks.get(&told?.request?)?;
    Some(ask.tool)
}
