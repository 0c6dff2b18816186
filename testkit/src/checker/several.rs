//! The promises with several sessions and editors. Each session is checked as if it were the only one: its client's requests and
//! answers, the editor that it works with, and the log of both. Each editor is checked by what it received from all sessions.
//! All sessions together are checked for what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast_fake_unity::Shape;

use super::log::{self, Told};
use super::run::{Run, Verdict, call_of};
use super::{bounds, causes, journal, promises, recovery};
use crate::history::{Entry, Event, History, IDS_OF_A_SESSION, Part, field};

/// The largest number of calls of one other session that may be sent before the oldest call of a waiting session: one for its
/// turn, one that was already on its way, and two that were read before that call.
const AHEAD_MAX: usize = 4;

/// Runs all checkers on a history with several sessions or editors.
pub(super) fn check(history: &History) -> Vec<Verdict> {
    let mut verdicts: BTreeMap<&'static str, Verdict> = BTreeMap::new();
    let mut add = |more: Vec<Verdict>| {
        for verdict in more {
            let all = verdicts.entry(verdict.name).or_insert_with(|| Verdict::new(verdict.name));
            all.checks += verdict.checks;
            all.violations.extend(verdict.violations);
        }
    };
    let log = Log::of(history);
    for part in history.parts() {
        match part {
            Part::Session(number, editor) => {
                let its = |of: Part, what: &Event| {
                    let known = matches!(what, Event::Totals(_) | Event::Speaks(_));
                    of == part || of == Part::Editor(editor) && known
                };
                add(promises::of_session(&Run::of(&history.of_parts(its, |_| false))));
                let elsewhere = |of: Part, what: &Event| {
                    of == part || of != Part::Editor(editor) && matches!(what, Event::Totals(_))
                };
                add(vec![at_home(&history.of_parts(elsewhere, |_| false), number)]);
                add(as_if_alone(&log.seen_by(history, part, editor)));
            }
            Part::Editor(number) => {
                let its = |line: &str| log.link_leads_to(line, number);
                add(of_editor(
                    &history.of_parts(|of, _| of == part, |what| matches!(what, Event::Told(line) if its(line))),
                ));
            }
        }
    }
    let all = history.of_parts(|_, what| !matches!(what, Event::Totals(_) | Event::Ended(_)), |_| true);
    let run = Run::of(&all);
    add(vec![promises::total(&run), log::discretion(&run)]);
    if run.facts().window == 1 && run.facts().shape != Shape::ConnectionEach {
        add(vec![fair(&run, history)]);
    }
    verdicts.into_values().collect()
}

/// Returns the verdicts on a session that need its editor's events and the log.
fn as_if_alone(seen: &History) -> Vec<Verdict> {
    let run = Run::of(seen);
    let mut verdicts = vec![
        log::grounds(&run, true),
        log::truth(&run),
        // The link outlives the session.
        log::connections(&run, false),
        recovery::recovery(&run, true),
        causes::grounded(&run),
    ];
    if run.facts().journal {
        verdicts.push(journal::told(&run));
    }
    verdicts
}

fn of_editor(its: &History) -> Vec<Verdict> {
    let run = Run::of(its);
    let mut verdicts = vec![
        promises::at_most_once(&run),
        bounds::bounded(&run),
        promises::right_editor(&run),
        promises::one_connection(&run),
        log::connections(&run, true),
    ];
    if run.facts().journal {
        verdicts.push(journal::kept(&run));
    }
    verdicts
}

/// Tells which session or editor a line of the log belongs to.
struct Log<'a> {
    /// The numbers that the gateway itself gives to the links and sessions.
    numbers: BTreeSet<(Part, &'a str, String)>,
    /// The session that made each call.
    asked_by: BTreeMap<&'a str, u64>,
    /// When the faults of the last editor ended.
    healed: Option<Duration>,
}

impl<'a> Log<'a> {
    fn of(history: &'a History) -> Self {
        let mut log = Self { numbers: BTreeSet::new(), asked_by: BTreeMap::new(), healed: None };
        for Entry { at, what } in &history.0 {
            match what {
                Event::Of(part, what) => match &**what {
                    Event::Numbered(number) => {
                        let what = if matches!(part, Part::Editor(_)) { "link" } else { "session" };
                        log.numbers.insert((*part, what, number.to_string()));
                    }
                    Event::Healed => log.healed = log.healed.max(Some(*at)),
                    _ => {}
                },
                Event::Told(line) if line.starts_with("call_accepted ") => {
                    let asked = field(line, "mcp_id").and_then(|id| id.parse::<u64>().ok());
                    if let (Some(call), Some(id)) = (field(line, "call"), asked) {
                        log.asked_by.insert(call, id / IDS_OF_A_SESSION);
                    }
                }
                _ => {}
            }
        }
        log
    }

    fn is(&self, line: &str, part: Part, what: &'static str) -> Option<bool> {
        let number = field(line, what)?;
        Some(self.numbers.contains(&(part, what, number.to_owned())))
    }

    fn link_leads_to(&self, line: &str, editor: u8) -> bool {
        self.is(line, Part::Editor(editor), "link").unwrap_or(false)
    }

    /// Whether this session made a call; `None` if no session did.
    fn asked(&self, session: Part, call: &str) -> Option<bool> {
        let by = self.asked_by.get(call)?;
        Some(matches!(session, Part::Session(number, _) if u64::from(number) == *by))
    }

    /// Whether a line concerns a call of this session; if it names no call: this session, or the link to its editor. True for a
    /// line without an owner.
    fn is_of_session(&self, line: &str, session: Part, editor: u8) -> bool {
        let of_call = field(line, "call").and_then(|call| self.asked(session, call));
        let of_itself = || self.is(line, session, "session");
        let of_link = || self.is(line, Part::Editor(editor), "link");
        of_call.or_else(of_itself).or_else(of_link).unwrap_or(true)
    }

    /// Returns what this session would have seen if it were the only one. Faults that were injected for one session may affect
    /// any session, until the faults of the last editor have ended.
    fn seen_by(&self, history: &History, session: Part, editor: u8) -> History {
        let its = |of: Part, what: &Event| match what {
            _ if of == session => true,
            Event::Healed => false,
            // The journal's records of other sessions' calls to the same editor are left out.
            Event::Sent(_, _, sending) => {
                of == Part::Editor(editor) && self.asked(session, call_of(sending)) != Some(false)
            }
            _ => of == Part::Editor(editor),
        };
        let lines = |what: &Event| matches!(what, Event::Told(line) if self.is_of_session(line, session, editor));
        let History(mut entries) = history.of_parts(its, lines);
        if let Some(at) = self.healed {
            let behind = entries.partition_point(|entry| entry.at <= at);
            entries.insert(behind, Entry { at, what: Event::Healed });
        }
        History(entries)
    }
}

/// I9: no editor of another project ran a call of this session.
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

/// No session is starved: while its oldest call waits for an editor that takes one call at a time, each other session gets its
/// turn and no more. Times in which a connection ended or an actor restarted are left out: the next call is then held again, and
/// a session that crashed has no turn.
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
                if let Some(call) = field(line, "call") {
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
    // For each session, when each of its calls was made and when it was sent.
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
            // From this time on the call is the oldest of its session.
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
