//! I19: a cause is named only if there is evidence for it. No reload is counted, shown or reported for a time in which the editor
//! did not reload.

use std::time::Duration;

use holdfast_fake_unity::Facts;
use serde_json::Value;

use super::run::{Run, Verdict};
use crate::history::{Event, field};

/// The editor reports the start of a reload when its announcements are written, which takes at most this long.
const GOODBYE: Duration = Duration::from_millis(500);

/// Checks I19 (see the module's documentation).
pub(super) fn grounded(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I19 grounded");
    let events: Vec<(Duration, &Event)> = run.events().collect();
    let reloads: Vec<Duration> =
        events.iter().filter(|(_, event)| is_reload(run.facts(), event)).map(|(at, _)| *at).collect();
    // When the current or last connection was dialled, and when the one before it was: a reload between the two may be reported
    // late.
    let (mut dialed, mut came, mut episode) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut paused = false;
    for (at, event) in &events {
        match event {
            Event::Told(line) if line.starts_with("link_down ") => episode = came,
            Event::Told(line) if line.starts_with("link_up ") => came = dialed,
            Event::Dialed(_) => dialed = *at,
            Event::ReadingPaused(_) => paused = true,
            // This fault sends whole frames of an earlier connection again, so any earlier reload counts as evidence.
            Event::Injected(act) if act.starts_with("Replay") => (dialed, came) = (Duration::ZERO, Duration::ZERO),
            _ => {}
        }
        let Some((what, asked)) = claim(run, event) else {
            // A loss that is not called a reload needs no evidence: some packages never provide any.
            if matches!(event, Event::Told(line) if line.starts_with("link_down ")) {
                verdict.look(true, String::new);
            }
            continue;
        };
        let since = match asked {
            // A client that did not read for a while may now read statements that were true earlier.
            Some(_) if paused => Duration::ZERO,
            Some(asked) => asked.min(episode),
            None => episode,
        };
        let known = reloads.iter().any(|reload| *reload >= since && *reload <= *at + GOODBYE);
        verdict.look(known, || format!("at {at:?}: {what}, and the editor has not reloaded since {since:?}"));
    }
    verdict
}

/// Whether the event shows that the editor reloaded.
fn is_reload(facts: &Facts, event: &Event) -> bool {
    match event {
        Event::Reloads => true,
        Event::Injected(act) => facts.restarts_by_reload && (act.starts_with("Down") || act.starts_with("Rst")),
        _ => false,
    }
}

/// Returns a statement that presents a reload as certain, and when the request that it answers was made, if there is one. `None`
/// for any other event.
fn claim(run: &Run<'_>, event: &Event) -> Option<(String, Option<Duration>)> {
    match event {
        Event::Named("reloading") => Some(("\"reloading\" is shown".to_owned(), None)),
        Event::Told(line) if line.starts_with("link_down ") && field(line, "reason") == Some("reload") => {
            Some((line.clone(), None))
        }
        Event::Told(line) if line.starts_with("reload_ended ") && field(line, "result") != Some("presumed") => {
            Some((line.clone(), None))
        }
        Event::Got(line) => {
            let message: Value = serde_json::from_str(line).ok()?;
            let params = message.get("params")?;
            let text = params.get("message")?.as_str()?;
            let known = text.contains("reload") && !text.contains("probably") && !text.contains("may follow");
            let token = params.get("progressToken").and_then(Value::as_u64)?;
            known.then(|| (format!("{text:?} is told"), run.asks.get(&token).map(|(asked, _)| *asked)))
        }
        _ => None,
    }
}
