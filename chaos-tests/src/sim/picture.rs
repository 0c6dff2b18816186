//! Draws a history as a timeline: client, gateway, connection, Unity, and how each call ended.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_timeline::{Call, Moment, Phase, Timeline, Tone, Verdict};
use serde_json::Value;

use crate::checker::Said;
use crate::history::{Event, History, field};

const CLIENT: usize = 0;
const GATEWAY: usize = 1;
const LINK: usize = 2;
const UNITY: usize = 3;
/// Largest number of moments in a picture. Later ones are left out.
const MOMENTS_MAX: usize = 400;

fn verdict(said: Said) -> Verdict {
    match said {
        Said::Ok => Verdict::Ok,
        Said::ToolError | Said::Refused => Verdict::ToolError,
        Said::NotExecuted => Verdict::NotExecuted,
        Said::Unknown => Verdict::OutcomeUnknown,
        Said::StillRunning => Verdict::StillRunning,
    }
}

/// Returns the id of the request that a line answers, and what the answer says; `None` if the line is not an answer.
fn answer(line: &str) -> Option<(u64, Said)> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message.get("method").is_some() {
        return None;
    }
    Some((message.get("id")?.as_u64()?, Said::of(&message)))
}

/// Counts how the calls of a run ended.
pub fn verdicts(history: &History) -> BTreeMap<&'static str, u64> {
    let mut calls = BTreeMap::new();
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for entry in &history.0 {
        match &entry.what {
            Event::Asked(id, ask) if ask.method == "tools/call" => {
                calls.insert(*id, "cancelled or without an answer at the end");
            }
            Event::Got(line) => {
                if let Some((id, said)) = answer(line)
                    && let Some(end) = calls.get_mut(&id)
                {
                    *end = if said == Said::Refused { "refused" } else { verdict(said).word() };
                }
            }
            _ => {}
        }
    }
    for end in calls.into_values() {
        *counts.entry(end).or_default() += 1;
    }
    counts
}

/// Returns the phase and the time for which a fault makes the editor unreachable or silent, read from the debug text of the
/// fault; `None` for other faults.
fn absence(fault: &str) -> Option<(Phase, Duration)> {
    let (name, rest) = fault.split_once('(')?;
    let ms = Duration::from_millis(rest.trim_end_matches(')').parse().ok()?);
    match name {
        "Reload" | "Move" | "Down" | "Rst" => Some((Phase::Reloading, ms)),
        "Freeze" | "Modal" => Some((Phase::Frozen, ms)),
        _ => None,
    }
}

#[derive(Default)]
struct Painter {
    timeline: Timeline,
    /// Index of a call's bar, by the id of its request.
    calls: BTreeMap<u64, usize>,
    /// When the first frame of a call was sent, by the gateway's id of the call.
    left: BTreeMap<String, Duration>,
    /// Calls that the gateway answered and the client has not read yet, in the order of the answers: the gateway's id, and
    /// the tool.
    answered: Vec<(String, String)>,
    /// When the editor returns from its absence.
    back: Option<Duration>,
}

/// Draws the picture of a history.
pub fn of(history: &History) -> Timeline {
    let mut painter =
        Painter { timeline: Timeline::new(["client", "gateway", "connection", "Unity"]), ..Painter::default() };
    painter.timeline.enters(CLIENT, Duration::ZERO, Phase::Up);
    painter.timeline.enters(GATEWAY, Duration::ZERO, Phase::Up);
    let mut tools: BTreeMap<u64, &str> = BTreeMap::new();
    for entry in &history.0 {
        if let Event::Asked(id, ask) = &entry.what {
            tools.insert(*id, ask.tool);
        }
        painter.event(entry.at, &entry.what, &tools);
    }
    painter.timeline
}

impl Painter {
    fn moment(&mut self, at: Duration, from: usize, to: usize, tone: Tone, text: String) {
        if self.timeline.moments.len() < MOMENTS_MAX {
            self.timeline.moments.push(Moment { at, from, to, tone, text, measured: None });
        }
    }

    fn come_back(&mut self, now: Duration) {
        if let Some(back) = self.back.filter(|back| *back <= now) {
            self.timeline.enters(UNITY, back, Phase::Up);
            self.back = None;
        }
    }

    fn event(&mut self, at: Duration, event: &Event, tools: &BTreeMap<u64, &str>) {
        self.come_back(at);
        match event {
            Event::Asked(id, ask) if ask.method == "tools/call" => {
                self.calls.insert(*id, self.timeline.calls.len());
                let name = format!("#{id} {}", ask.tool);
                self.timeline.calls.push(Call { name, asked: at, sent: None, end: None });
            }
            Event::Cancelled(id) => {
                if let Some(call) = self.calls.get(id).and_then(|index| self.timeline.calls.get_mut(*index)) {
                    call.end.get_or_insert((at, Verdict::Cancelled));
                }
            }
            Event::Got(line) => {
                if let Some((id, said)) = answer(line) {
                    self.end(at, id, said, tools.get(&id).copied().unwrap_or_default());
                }
            }
            Event::FrameOut(_, _, id) => {
                if let Some((call, _)) = id.rsplit_once('.') {
                    self.left.entry(call.to_owned()).or_insert(at);
                }
            }
            Event::Told(line) => self.told(at, line),
            Event::Dialed(_) => self.timeline.enters(LINK, at, Phase::Up),
            Event::HungUp(_) => self.timeline.enters(LINK, at, Phase::Gone),
            Event::EditorUp(pid, port) => {
                self.back = None;
                self.timeline.enters(UNITY, at, Phase::Up);
                self.moment(at, UNITY, UNITY, Tone::Good, format!("editor {pid} listens on {port}"));
            }
            Event::EditorGone(pid) => {
                self.back = None;
                self.timeline.enters(UNITY, at, Phase::Gone);
                self.moment(at, UNITY, UNITY, Tone::Trouble, format!("editor {pid} is gone"));
            }
            Event::Injected(fault) => {
                if let Some((phase, span)) = absence(fault)
                    && self.timeline.lanes.get(UNITY).is_some_and(|lane| lane.last_phase() != Phase::Gone)
                {
                    self.timeline.enters(UNITY, at, phase);
                    self.back = Some(at + span);
                }
                self.moment(at, UNITY, UNITY, Tone::Trouble, format!("fault: {fault}"));
            }
            Event::ReadingPaused(span) => {
                self.moment(at, CLIENT, CLIENT, Tone::Trouble, format!("fault: the client reads nothing for {span:?}"));
            }
            Event::Unexpected(what) | Event::Panicked(what) => {
                self.moment(at, GATEWAY, GATEWAY, Tone::Broken, what.clone());
            }
            Event::Healed => self.moment(at, UNITY, UNITY, Tone::Good, "healed: all faults are gone".into()),
            Event::Recovered(after) => {
                self.moment(
                    at,
                    UNITY,
                    CLIENT,
                    Tone::Good,
                    format!("the first good answer, {after:?} after the healing"),
                );
            }
            Event::InputClosed => self.moment(at, CLIENT, GATEWAY, Tone::Plain, "the client closes stdin".into()),
            Event::Ended(why) => {
                self.timeline.enters(GATEWAY, at, Phase::Gone);
                self.moment(at, GATEWAY, GATEWAY, Tone::Plain, format!("the gateway ends: {why}"));
            }
            _ => {}
        }
    }

    fn told(&mut self, at: Duration, line: &str) {
        let name = line.split(' ').next().unwrap_or_default();
        match name {
            "call_answered" if field(line, "verdict") != Some("cancelled") => {
                if let (Some(call), Some(tool)) = (field(line, "call"), field(line, "tool")) {
                    self.answered.push((call.to_owned(), tool.to_owned()));
                }
            }
            "state_changed" if field(line, "machine") == Some("bridge") => {
                let (from, to) = (field(line, "from").unwrap_or("?"), field(line, "to").unwrap_or("?"));
                self.moment(at, GATEWAY, GATEWAY, Tone::Plain, format!("the bridge: {from} → {to}"));
            }
            "actor_restarting" | "supervisor_escalated" | "tree_rebuilding" => {
                self.moment(at, GATEWAY, GATEWAY, Tone::Waiting, line.to_owned());
            }
            "link_up" => self.moment(at, GATEWAY, UNITY, Tone::Good, line.to_owned()),
            "link_down" | "wrong_peer" => self.moment(at, UNITY, GATEWAY, Tone::Trouble, line.to_owned()),
            _ => {}
        }
    }

    fn end(&mut self, at: Duration, id: u64, said: Said, tool: &str) {
        let Some(call) = self.calls.get(&id).and_then(|index| self.timeline.calls.get_mut(*index)) else { return };
        let answered = self.answered.iter().position(|(_, answered)| answered == tool);
        if let Some(index) = answered {
            let (own, _) = self.answered.remove(index);
            call.sent = self.left.get(&own).copied();
        }
        call.end.get_or_insert((at, verdict(said)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Ask;

    #[test]
    fn a_history_becomes_lanes_bars_and_counts() {
        let own = "0".repeat(36);
        let ask = |tool| Ask { method: "tools/call", tool, ..Ask::default() };
        let answer = |id: u64, error: bool, text: &str| {
            let result = serde_json::json!({"content": [{"type": "text", "text": text}], "isError": error});
            Event::Got(serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
        };
        let history = History::of([
            Event::EditorUp(7, 8701),
            Event::Dialed(1),
            Event::Asked(1, ask("count")),
            Event::FrameOut(1, "count".into(), format!("{own}.1")),
            Event::Injected("Reload(2)".into()),
            Event::HungUp(1),
            Event::Asked(2, ask("echo")),
            Event::Told(format!("call_answered call={own} tool=\"count\" verdict=\"outcome_unknown\"")),
            answer(1, true, "Outcome unknown: it may have run"),
            Event::Cancelled(2),
            Event::Ended("input_ended"),
        ]);
        let timeline = of(&history);
        let ms = Duration::from_millis;
        let [count, echo] = &timeline.calls[..] else { panic!("{:?}", timeline.calls) };
        assert_eq!((count.asked, count.sent, count.end), (ms(2), Some(ms(3)), Some((ms(8), Verdict::OutcomeUnknown))));
        assert_eq!((echo.sent, echo.end), (None, Some((ms(9), Verdict::Cancelled))));
        let unity: Vec<_> = timeline.lanes[UNITY].phases.iter().map(|(at, phase)| (at.as_millis(), *phase)).collect();
        assert_eq!(unity, [(0, Phase::Up), (4, Phase::Reloading), (6, Phase::Up)]);
        assert_eq!(timeline.lanes[LINK].last_phase(), Phase::Gone);
        assert_eq!(timeline.lanes[GATEWAY].last_phase(), Phase::Gone);
        let counts = verdicts(&history);
        assert_eq!(counts.get("outcome unknown"), Some(&1));
        assert_eq!(counts.values().sum::<u64>(), 2);
    }
}
