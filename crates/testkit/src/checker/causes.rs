//! I19: a cause is named only on evidence. No reload is counted, shown or told of a time in which the editor has not reloaded.

use std::time::Duration;

use holdfast_fake_unity::FakeDialect;
use serde_json::Value;

use super::run::{Run, Verdict};
use crate::history::{Event, field};

/// The editor says that it has begun a reload when its goodbyes are written, which takes this long at the most.
const GOODBYE: Duration = Duration::from_millis(500);

/// See the module's documentation.
pub(super) fn grounded(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I19 grounded");
    let events: Vec<(Duration, &Event)> = run.events().collect();
    let reloads: Vec<Duration> =
        events.iter().filter(|(_, event)| is_reload(run.dialect, event)).map(|(at, _)| *at).collect();
    // When the connection that is up or was up last was dialled, and the one before it: what an editor said in between may be late.
    let (mut dialed, mut came, mut episode) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut paused = false;
    for (at, event) in &events {
        match event {
            Event::Told(line) if line.starts_with("link_down ") => episode = came,
            Event::Told(line) if line.starts_with("link_up ") => came = dialed,
            Event::Dialed(_) => dialed = *at,
            Event::ReadingPaused(_) => paused = true,
            // Whole frames of an earlier connection come again.
            Event::Injected(act) if act.starts_with("Replay") => (dialed, came) = (Duration::ZERO, Duration::ZERO),
            _ => {}
        }
        let Some((what, asked)) = claim(run, event) else {
            // A loss that is not called a reload needs no evidence of one. Some packages never give any.
            if matches!(event, Event::Told(line) if line.starts_with("link_down ")) {
                verdict.look(true, String::new);
            }
            continue;
        };
        let since = match asked {
            // A client that has read nothing for a while reads what was true then.
            Some(_) if paused => Duration::ZERO,
            Some(asked) => asked.min(episode),
            None => episode,
        };
        let known = reloads.iter().any(|reload| *reload >= since && *reload <= *at + GOODBYE);
        verdict.look(known, || format!("at {at:?}: {what}, and the editor has not reloaded since {since:?}"));
    }
    verdict
}

/// A reload of the editor. turbokettle has no switch for its bridge: one that begins anew on another port is another domain.
fn is_reload(dialect: FakeDialect, event: &Event) -> bool {
    match event {
        Event::Reloads => true,
        Event::Injected(act) => {
            dialect == FakeDialect::Turbokettle && (act.starts_with("Down") || act.starts_with("Rst"))
        }
        _ => false,
    }
}

/// What is said of a reload as if it were known; and when the request was asked that it is said of.
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
