//! I4: nothing grows beyond its bound. The checker compares the sizes that the gateway reports, and what the editor and the
//! client see.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast::limits::{MAILBOX_MESSAGES_MAX, OPEN_REQUESTS_MAX, STDOUT_NOTIFICATIONS_MAX};
use holdfast_fake_unity::Shape;

use super::run::{PIPE, Run, SLACK, Verdict};
use crate::history::Event;

/// Length of the shortest line to or from the client, in bytes: an answer to a ping.
const LINE_MIN: usize = 36;
/// The largest number of requests that the gateway can have taken while nobody reads its answers: open requests, answers that
/// wait for stdout, and bytes in pipes and buffers (both pipes, one read from stdin, one shared write and the bytes that it waits
/// behind).
const TAKEN_MAX: usize = 3 * OPEN_REQUESTS_MAX + STDOUT_NOTIFICATIONS_MAX + 5 * PIPE / LINE_MIN;

/// Checks I4 (see the module's documentation).
pub(super) fn bounded(run: &Run<'_>) -> Verdict {
    let mut verdict = Verdict::new("I4 bounded");
    said_by_itself(run, &mut verdict);
    seen_by_the_editor(run, &mut verdict);
    seen_by_the_client(run, &mut verdict);
    verdict
}

fn said_by_itself(run: &Run<'_>, verdict: &mut Verdict) {
    for (at, event) in run.events() {
        let Event::Sized(sizes) = event else { continue };
        let good = sizes.open <= OPEN_REQUESTS_MAX
            && sizes.held <= OPEN_REQUESTS_MAX
            && sizes.queued <= 2 * OPEN_REQUESTS_MAX + STDOUT_NOTIFICATIONS_MAX
            && sizes.edge <= MAILBOX_MESSAGES_MAX;
        verdict.look(good, || format!("at {at:?}: {sizes:?}"));
    }
}

/// Checks that a bridge never has more unanswered requests than its window. With a window of 1 the tool list and the greeting
/// count too.
fn seen_by_the_editor(run: &Run<'_>, verdict: &mut Verdict) {
    let facts = run.facts();
    let counts = |id: &str| !facts.window_is_of_calls || super::run::is_of_a_call(id);
    // If a connection carries one request, the requests of all connections are counted together, for the editor's one thread.
    let whose = |connection: u64| if facts.shape == Shape::ConnectionEach { 0 } else { connection };
    let mut owed: BTreeMap<u64, BTreeMap<(u64, &str), &str>> = BTreeMap::new();
    for (at, event) in run.events() {
        match event {
            Event::FrameOut(connection, method, id) if counts(id) => {
                let owed = owed.entry(whose(*connection)).or_default();
                owed.insert((*connection, id), method);
                verdict.look(owed.len() <= facts.window, || format!("at {at:?} the editor owes {owed:?}"));
                let alone = owed.values().filter(|tool| !facts.parallel.contains(tool)).count();
                verdict.look(alone <= 1, || format!("at {at:?} more than one wants to be alone: {owed:?}"));
            }
            Event::FrameIn(connection, id) => {
                owed.entry(whose(*connection)).or_default().remove(&(*connection, id.as_str()));
            }
            Event::HungUp(connection) => {
                owed.entry(whose(*connection)).or_default().retain(|(on, _), _| on != connection);
            }
            _ => {}
        }
    }
}

/// Checks that a request beyond `OPEN_REQUESTS_MAX` is refused at once, and that, while the client does not read, the gateway
/// takes no more requests than it has room for.
fn seen_by_the_client(run: &Run<'_>, verdict: &mut Verdict) {
    let mut open: BTreeMap<u64, Duration> = BTreeMap::new();
    let mut paused_until = Duration::ZERO;
    for (at, event) in run.events() {
        match event {
            Event::ReadingPaused(span) => paused_until = paused_until.max(at + *span),
            Event::Cancelled(id) => {
                open.remove(id);
            }
            Event::Got(line) => {
                if let Some(id) = super::run::answered_id(line) {
                    open.remove(&id);
                }
            }
            Event::Asked(id, _) => {
                // All earlier requests have been taken; this one is only being written.
                let taken = open.len();
                verdict.look(taken <= TAKEN_MAX, || format!("at {at:?} {taken} requests are taken and not answered"));
                if at > paused_until + SLACK && taken > OPEN_REQUESTS_MAX {
                    let kept = open.values().filter(|asked| **asked + SLACK < at).count();
                    verdict.look(kept <= OPEN_REQUESTS_MAX, || format!("at {at:?} {kept} requests are kept open"));
                }
                open.insert(*id, at);
            }
            _ => {}
        }
    }
}
