//! The promises where there are several sessions and editors: each session is judged by what its client asked and heard, each editor by
//! what came to it, and all of them by what they have in common.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_fake_unity::FakeDialect;

use super::log::{self, Told};
use super::run::{Run, Verdict};
use crate::history::{Event, History, IDS_OF_A_SESSION, Part};

/// Calls of one other session that may be sent before the oldest one of a session that waits: one for its turn, one that was on its way,
/// and two that were read before it was.
const AHEAD_MAX: usize = 4;

/// See the module's documentation. What judges each session, each editor, and all that happened, is given.
pub(super) fn check(
    history: &History,
    of_session: impl Fn(&History) -> Vec<Verdict>,
    of_editor: impl Fn(&Run<'_>) -> Vec<Verdict>,
    of_all: impl Fn(&Run<'_>) -> Vec<Verdict>,
) -> Vec<Verdict> {
    let mut verdicts: BTreeMap<&'static str, Verdict> = BTreeMap::new();
    let mut add = |more: Vec<Verdict>| {
        for verdict in more {
            let all = verdicts.entry(verdict.name).or_insert_with(|| Verdict::new(verdict.name));
            all.checks += verdict.checks;
            all.violations.extend(verdict.violations);
        }
    };
    let dialect = |part: Part, of: &Event, editor: u8| part == Part::Editor(editor) && matches!(of, Event::Speaks(_));
    for part in history.parts() {
        match part {
            Part::Session(number, editor) => {
                let its = |of: Part, what: &Event| {
                    let ran = of == Part::Editor(editor) && matches!(what, Event::Totals(_));
                    of == part || ran || dialect(of, what, editor)
                };
                add(of_session(&history.of_parts(its, false)));
                let elsewhere = |of: Part, what: &Event| {
                    of == part || of != Part::Editor(editor) && matches!(what, Event::Totals(_))
                };
                add(vec![at_home(&history.of_parts(elsewhere, false), number)]);
            }
            Part::Editor(_) => {
                let editor = history.of_parts(|of, _| of == part, false);
                add(of_editor(&Run::of(&editor)));
            }
        }
    }
    let all = history.of_parts(|_, what| !matches!(what, Event::Totals(_) | Event::Ended(_)), true);
    let run = Run::of(&all);
    add(of_all(&run));
    if matches!(run.dialect, FakeDialect::Uloop | FakeDialect::Umcp) {
        add(vec![fair(&run, history)]);
    }
    verdicts.into_values().collect()
}

/// I9: no other editor ran what this session asked for.
fn at_home(strange: &History, session: u8) -> Verdict {
    let mut verdict = Verdict::new("I9 right-editor");
    let asked: Vec<&str> = strange
        .0
        .iter()
        .filter_map(|entry| if let Event::Asked(_, ask) = &entry.what { Some(ask.payload.as_str()) } else { None })
        .filter(|payload| !payload.is_empty())
        .collect();
    for entry in &strange.0 {
        let Event::Totals(runs) = &entry.what else { continue };
        for key in asked.iter().filter(|key| runs.contains_key(**key)) {
            verdict.look(false, || format!("{key} of session {session} ran in the editor of another project"));
        }
        verdict.look(true, String::new);
    }
    verdict
}

/// No session is starved: while its oldest call waits for an editor that takes one at a time, each other session gets its turn and no
/// more. A connection that ends takes what it was to send next back, and a session that fell is not there to have a turn.
fn fair(run: &Run<'_>, history: &History) -> Verdict {
    let mut verdict = Verdict::new("I11 fair-turns");
    let works: BTreeMap<u64, u8> = history
        .parts()
        .into_iter()
        .filter_map(|part| if let Part::Session(number, editor) = part { Some((number.into(), editor)) } else { None })
        .collect();
    let calls = log::calls(run);
    let mut sent: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut broken: Vec<Duration> = Vec::new();
    for (at, event) in run.events() {
        match event {
            Event::Told(line) if line.starts_with("call_sent ") => {
                if let Some(call) = crate::history::field(line, "call") {
                    sent.entry(call).or_insert(at);
                }
            }
            Event::Told(line) if line.starts_with("actor_restarting") || line.starts_with("tree_rebuilding") => {
                broken.push(at);
            }
            Event::HungUp(_) | Event::ReadingPaused(_) => broken.push(at),
            _ => {}
        }
    }
    // By session: when each of its calls was asked, and when it was sent.
    let mut waits: BTreeMap<u64, Vec<(Duration, Duration)>> = BTreeMap::new();
    for (call, Told { request, .. }) in &calls {
        let (Some(request), Some(sent)) = (request, sent.get(call)) else { continue };
        let Some((asked, _)) = run.asks.get(request) else { continue };
        waits.entry(request / IDS_OF_A_SESSION).or_default().push((*asked, *sent));
    }
    for times in waits.values_mut() {
        times.sort();
    }
    for (session, own) in &waits {
        for (nth, (asked, sent)) in own.iter().enumerate() {
            // It is the oldest of its session from then on.
            let before = own.iter().take(nth).map(|(_, sent)| *sent).max().unwrap_or_default();
            let from = before.max(*asked);
            if broken.iter().any(|at| *at >= asked.saturating_sub(Duration::from_secs(3)) && at <= sent) {
                continue;
            }
            for (other, theirs) in
                waits.iter().filter(|(other, _)| *other != session && works.get(other) == works.get(session))
            {
                let ahead = theirs.iter().filter(|(asked, at)| *asked > from && at < sent).count();
                verdict.look(ahead <= AHEAD_MAX, || {
                    format!("a call of session {session} waited from {from:?} to {sent:?} behind {ahead} later ones of session {other}")
                });
            }
        }
    }
    verdict
}
