//! Draws a session of real processes as a timeline. The sources are the gateway's log at level `debug` (a lane for each of
//! its state machines, a bar for each call) and the editor's own events.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_timeline::{Call, Moment, Phase, Timeline, Tone, Verdict};
use serde_json::Value;

/// The names of the lanes: the gateway's machines, then the editor.
const LANES: [&str; 6] = ["session", "registry", "discovery", "push", "bridge", "Unity"];
const GATEWAY: usize = 0;
const BRIDGE: usize = 4;
const UNITY: usize = 5;
/// Length of time in a picture: the end of a session, where its faults are.
const STRETCH: Duration = Duration::from_secs(30);
/// Largest number of changes of state in a picture; more would be unreadable.
const CHANGES_MAX: usize = 120;
/// Largest number of calls' bars in a picture.
const CALLS_MAX: usize = 60;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the time of day of a log line's stamp (`2026-11-22T02:10:08.123456Z`); `None` if it has another form.
fn time_of_day(stamp: &str) -> Option<Duration> {
    let clock = stamp.split_once('T')?.1.strip_suffix('Z')?;
    let mut parts = clock.splitn(3, ':');
    let (hours, minutes) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?);
    let seconds: f64 = parts.next()?.parse().ok()?;
    Some(Duration::from_secs(hours * 3600 + minutes * 60) + Duration::try_from_secs_f64(seconds).ok()?)
}

/// The phase that a machine's state is drawn as. States in which the machine neither works, has ended, nor is frozen are
/// drawn as waiting.
fn phase(machine: &str, state: &str) -> Phase {
    match (machine, state) {
        (_, "stopped" | "closed" | "empty") => Phase::Gone,
        ("bridge", "stalled") => Phase::Frozen,
        ("bridge", "ready")
        | ("session", "serving")
        | ("registry", "live")
        | ("discovery", "offering")
        | ("push", "listening" | "attached") => Phase::Up,
        _ => Phase::Reloading,
    }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "ok" => Verdict::Ok,
        "tool_error" => Verdict::ToolError,
        "not_executed" => Verdict::NotExecuted,
        "outcome_unknown" => Verdict::OutcomeUnknown,
        "still_running" => Verdict::StillRunning,
        "cancelled" => Verdict::Cancelled,
        _ => Verdict::Internal,
    }
}

fn text<'v>(line: &'v Value, name: &str) -> &'v str {
    line[name].as_str().unwrap_or_default()
}

/// One line of a log, and its time.
struct Said {
    at: Duration,
    line: Value,
    by_unity: bool,
}

impl Said {
    fn is_change(&self) -> bool {
        self.by_unity || matches!(text(&self.line, "event"), "state_changed" | "link_up" | "link_down")
    }
}

fn lines(log: &str, by_unity: bool) -> impl Iterator<Item = Said> {
    let mut before = Duration::ZERO;
    let mut days = Duration::ZERO;
    log.lines().filter_map(move |line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let mut at = time_of_day(text(&line, "timestamp"))?;
        // The log passes midnight.
        if at + DAY / 2 < before {
            days += DAY;
        }
        before = at;
        at += days;
        Some(Said { at, line, by_unity })
    })
}

/// Draws the end of a session. `gateway` is the gateway's log at level `debug`. `unity` has the editor's events, one JSON
/// object on each line, with a `timestamp` in the format of the log. Returns `None` if there is nothing to show.
#[must_use]
pub fn of(gateway: &str, unity: &str) -> Option<Timeline> {
    let mut said: Vec<Said> = lines(gateway, false).chain(lines(unity, true)).collect();
    said.sort_by_key(|said| said.at);
    let end = said.last()?.at;
    let changes: Vec<Duration> = said.iter().filter(|said| said.is_change()).map(|said| said.at).collect();
    let shown = changes.len().saturating_sub(CHANGES_MAX);
    let begin = changes.into_iter().skip(shown).find(|at| *at + STRETCH >= end);
    let begin = begin.unwrap_or_else(|| end.saturating_sub(STRETCH));
    let mut picture = Painter { timeline: Timeline::new(LANES), begin, ..Painter::default() };
    for said in &said {
        if said.by_unity { picture.unity(said.at, &said.line) } else { picture.gateway(said.at, &said.line) }
    }
    Some(picture.timeline)
}

#[derive(Default)]
struct Painter {
    timeline: Timeline,
    begin: Duration,
    /// Index of a call's bar, by the gateway's id of the call.
    calls: BTreeMap<String, usize>,
}

impl Painter {
    /// Puts a lane into a phase. If the change is before the first moment of the picture, the lane begins with this phase.
    fn enters(&mut self, lane: usize, at: Duration, phase: Phase) {
        let at = at.saturating_sub(self.begin);
        if let Some(lane) = self.timeline.lanes.get_mut(lane) {
            if at.is_zero() {
                lane.phases.clear();
            }
            if lane.phases.is_empty() || lane.last_phase() != phase {
                lane.enters(at, phase);
            }
        }
    }

    fn moment(&mut self, at: Duration, (from, to): (usize, usize), tone: Tone, text: String) {
        if let Some(at) = at.checked_sub(self.begin) {
            self.timeline.moments.push(Moment { at, from, to, tone, text, measured: None });
        }
    }

    fn gateway(&mut self, at: Duration, line: &Value) {
        let event = text(line, "event");
        let call = text(line, "call");
        match event {
            "state_changed" => {
                let (machine, to) = (text(line, "machine"), text(line, "to"));
                if let Some(lane) = LANES.iter().position(|lane| *lane == machine) {
                    self.enters(lane, at, phase(machine, to));
                    let from = text(line, "from");
                    self.moment(at, (lane, lane), Tone::Plain, format!("{machine}: {from} → {to}"));
                }
            }
            "link_up" => self.moment(at, (BRIDGE, UNITY), Tone::Good, format!("connected, port {}", line["port"])),
            "link_down" => {
                self.moment(at, (UNITY, BRIDGE), Tone::Trouble, format!("connection lost: {}", text(line, "reason")));
            }
            "wrong_peer" => self.moment(at, (UNITY, BRIDGE), Tone::Trouble, "somebody else listens there".to_owned()),
            "actor_restarting" | "supervisor_escalated" | "tree_rebuilding" => {
                self.moment(at, (GATEWAY, GATEWAY), Tone::Waiting, event.replace('_', " "));
            }
            "panic" | "unexpected_event" => self.moment(at, (GATEWAY, GATEWAY), Tone::Broken, line.to_string()),
            "call_accepted" => {
                if let Some(asked) = at.checked_sub(self.begin).filter(|_| self.timeline.calls.len() < CALLS_MAX) {
                    self.calls.insert(call.to_owned(), self.timeline.calls.len());
                    let name = format!("#{} {}", text(line, "mcp_id"), text(line, "tool"));
                    self.timeline.calls.push(Call { name, asked, sent: None, end: None });
                }
            }
            "call_sent" | "call_answered" | "call_noted" => {
                let bar = self.calls.get(call).and_then(|index| self.timeline.calls.get_mut(*index));
                let (Some(bar), Some(at)) = (bar, at.checked_sub(self.begin)) else { return };
                if event == "call_sent" {
                    bar.sent.get_or_insert(at);
                } else {
                    bar.end.get_or_insert((at, verdict(text(line, "verdict"))));
                }
            }
            _ => {}
        }
    }

    fn unity(&mut self, at: Duration, line: &Value) {
        let (phase, tone, said) = match text(line, "event") {
            "listening" => (Phase::Up, Tone::Good, format!("the editor listens on {}", line["port"])),
            "reload_begun" => (Phase::Reloading, Tone::Trouble, "a domain reload".to_owned()),
            "reload_ended" => (Phase::Up, Tone::Good, "the domain is back".to_owned()),
            "down" => (Phase::Reloading, Tone::Trouble, "the bridge goes down".to_owned()),
            "frozen" | "stopped" => (Phase::Frozen, Tone::Trouble, "the editor stands still".to_owned()),
            "thawed" | "continued" => (Phase::Up, Tone::Good, "the editor goes on".to_owned()),
            "killed" | "crashed" | "quit" => (Phase::Gone, Tone::Trouble, "the editor is gone".to_owned()),
            _ => return,
        };
        self.enters(UNITY, at, phase);
        self.moment(at, (UNITY, UNITY), tone, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[(&str, &str)]) -> String {
        let line = |(at, rest): &(&str, &str)| format!("{{\"timestamp\":\"2026-01-01T{at}Z\",{rest}}}\n");
        lines.iter().map(line).collect()
    }

    #[test]
    fn what_the_processes_say_becomes_lanes_and_bars() {
        let gateway = log(&[
            ("23:59:58.000000", r#""event":"state_changed","machine":"bridge","from":"greeting","to":"ready""#),
            ("23:59:59.500000", r#""event":"call_accepted","call":"a","tool":"count","mcp_id":"7""#),
            ("23:59:59.600000", r#""event":"call_sent","call":"a","epoch":1"#),
            ("00:00:00.500000", r#""event":"link_down","reason":"eof""#),
            ("00:00:00.600000", r#""event":"state_changed","machine":"bridge","from":"ready","to":"seeking""#),
            ("00:00:00.700000", r#""event":"call_answered","call":"a","verdict":"outcome_unknown""#),
        ]);
        let unity = log(&[
            ("23:59:58.000000", r#""event":"listening","port":8700"#),
            ("00:00:00.400000", r#""event":"killed""#),
        ]);
        let timeline = of(&format!("not a line\n{gateway}"), &unity).expect("a picture");
        let ms = Duration::from_millis;
        assert_eq!(timeline.lanes[BRIDGE].phases, [(ms(0), Phase::Up), (ms(2600), Phase::Reloading)]);
        assert_eq!(timeline.lanes[UNITY].phases, [(ms(0), Phase::Up), (ms(2400), Phase::Gone)]);
        let [call] = &timeline.calls[..] else { panic!("{:?}", timeline.calls) };
        assert_eq!(
            (call.asked, call.sent, call.end),
            (ms(1500), Some(ms(1600)), Some((ms(2700), Verdict::OutcomeUnknown)))
        );
        assert_eq!(timeline.moments.len(), 5);
    }

    #[test]
    fn only_the_end_of_a_long_session_is_shown_and_a_lane_begins_as_it_was() {
        let mut lines = vec![("00:00:00.000000".to_owned(), r#""event":"listening","port":1"#)];
        for second in 0..59 {
            lines.push((format!("00:01:{second:02}.000000"), r#""event":"request""#));
        }
        let lines: Vec<(&str, &str)> = lines.iter().map(|(at, rest)| (at.as_str(), *rest)).collect();
        let timeline = of("", &log(&lines)).expect("a picture");
        assert_eq!(timeline.lanes[UNITY].phases, [(Duration::ZERO, Phase::Up)]);
        assert!(timeline.moments.is_empty());
        assert_eq!(of("", ""), None);
    }
}
