//! The words of every screen (`holdfast status`, `--watch`, the status page), from a record and the time. A screen lays
//! them out, and decides only what it has room for.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::{Call, Outage, Snapshot, Status};
use crate::core::user_text::{self, seconds};
use crate::limits::{PAGE_STEPS_MAX, RUN_RECORD_BUSY_EVERY, RUN_RECORD_OLD};
use crate::protocol::dialect;
use crate::protocol::text::clean;
use crate::telemetry::flight::{Step, Timeline};
use crate::telemetry::tone::Tone;

/// All that is told of one session. No text in it can steer a terminal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Told {
    /// The pid and the number of the session: together they identify it.
    pub id: (u64, u64),
    /// The name of the project's folder, without the folders above it.
    pub name: String,
    pub client: String,
    pub tone: Tone,
    pub summary: String,
    /// The editor and the calls in a few words, for a list.
    pub state: String,
    pub load: String,
    pub facts: Vec<Fact>,
    pub problems: Vec<String>,
    pub open: Vec<ToldLine>,
    /// How many calls are open.
    pub open_count: usize,
    pub recent: Vec<ToldLine>,
    pub outages: Vec<ToldLine>,
    pub machines: Vec<Machine>,
    /// The last transitions of all machines, the last one first.
    pub steps: Vec<[String; 5]>,
    pub restarts: BTreeMap<String, u64>,
}

/// One thing that is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    pub name: &'static str,
    pub says: String,
    pub tone: Tone,
    /// Whether the fact is left out where there is little room.
    pub minor: bool,
}

/// A call or an outage.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToldLine {
    /// The tool, or the end of the connection in words.
    pub what: String,
    pub says: String,
    pub tone: Tone,
    /// How long a call waited before it was sent, if that was long enough to notice, and how long the whole call took.
    pub held: String,
    pub took: String,
    /// How long ago the call came in or ended.
    pub age: String,
}

/// What one machine did lately.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    pub name: String,
    pub state: String,
    pub tone: Tone,
    /// A letter for each of the last seconds ([`Tone::letter`]), the present one last.
    pub strip: String,
    /// The strip in words, for people who do not see it.
    pub label: String,
}

/// The word for an age of almost nothing.
const NOW: &str = "now";

/// Describes an age, rounded so that the text does not change all the time.
fn age(span: Duration) -> String {
    match span.as_secs() {
        0 => NOW.to_owned(),
        seconds @ 1..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

fn ago(span: Duration) -> String {
    match age(span) {
        now if now == NOW => now,
        age => format!("{age} ago"),
    }
}

fn words(label: &str) -> String {
    clean(&label.replace('_', " "))
}

fn span(millis: u64) -> String {
    seconds(Duration::from_millis(millis))
}

fn or<'a>(text: &'a str, none: &'a str) -> &'a str {
    if text.is_empty() { none } else { text }
}

/// Names a client, with its own id of its session if that is known: several of one client may be open.
fn of_session(client: &str, session: Option<&str>) -> String {
    let session = session.map(|session| format!(" (session {})", clean(session))).unwrap_or_default();
    format!("{}{session}", clean(or(client, "no name")))
}

impl Told {
    /// Makes the words of a record at this time, which is in seconds since the Unix epoch.
    pub fn of(record: &Value, now: f64) -> Self {
        match Snapshot::deserialize(record) {
            Ok(snapshot) => At { now, snapshot: &snapshot }.told(),
            Err(_) => Self::unread(record.pointer("/gateway/pid").and_then(Value::as_u64).unwrap_or_default()),
        }
    }

    /// Makes the words for a running gateway whose record cannot be read.
    pub fn unread(pid: u64) -> Self {
        let says = "cannot be read: the disk may be full, or it is of another version of holdfast; `holdfast doctor` says more";
        Self {
            id: (pid, 0),
            name: "unreadable".to_owned(),
            tone: Tone::Unsure,
            state: "cannot be read".to_owned(),
            facts: vec![Fact { name: "record", says: says.to_owned(), tone: Tone::Unsure, minor: false }],
            ..Self::default()
        }
    }
}

/// A snapshot, at a time after it was written.
struct At<'a> {
    now: f64,
    snapshot: &'a Snapshot,
}

impl At<'_> {
    fn behind(&self) -> Duration {
        Duration::try_from_secs_f64(self.now - self.snapshot.written_at).unwrap_or_default()
    }

    /// Returns a span that was still growing when the record was written, as it is now.
    fn grown(&self, millis: u64) -> Duration {
        Duration::from_millis(millis).saturating_add(self.behind())
    }

    fn told(&self) -> Told {
        let Snapshot { status, calls, outages, timelines, .. } = self.snapshot;
        let Status { editor, gateway, queue, .. } = status;
        let is_old = self.behind() > RUN_RECORD_OLD;
        let project = status.project.as_deref().unwrap_or_default();
        let tone = editor.tone.unwrap_or(if editor.ready { Tone::Good } else { Tone::Waiting });
        let state = match &editor.why {
            _ if is_old => format!("old: {}", ago(self.behind())),
            Some(why) => format!("{} {}", words(why), age(self.grown(editor.since_ms))),
            None => {
                let state = clean(&user_text::connection_state(&editor.state, false));
                format!("{state} {}", age(self.grown(editor.since_ms)))
            }
        };
        let load = match (queue.held, queue.running) {
            _ if is_old => String::new(),
            (0, 0) => "idle".to_owned(),
            (held, 0) => format!("{held} wait"),
            (0, running) => format!("{running} run"),
            (held, running) => format!("{held} wait, {running} run"),
        };
        Told {
            id: (gateway.pid, gateway.session),
            name: clean(project.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("no project")),
            client: clean(or(&gateway.client, "a client without a name")),
            tone,
            summary: clean(&status.summary),
            state,
            load,
            facts: self.facts(tone),
            problems: status.problems.iter().map(|problem| clean(problem)).collect(),
            open: calls.open.iter().map(|call| self.open(call)).collect(),
            open_count: calls.open_count,
            recent: calls.recent.iter().map(|call| self.recent(call)).collect(),
            outages: outages.iter().map(|outage| self.outage(outage)).collect(),
            machines: timelines.iter().map(|timeline| self.machine(timeline)).collect(),
            steps: self.steps(),
            restarts: gateway.actor_restarts.iter().map(|(part, times)| (clean(part), *times)).collect(),
        }
    }

    fn facts(&self, tone: Tone) -> Vec<Fact> {
        let status = &self.snapshot.status;
        let Status { editor, gateway, tools, .. } = status;
        let mut facts: Vec<Fact> = Vec::new();
        let mut tell = |name: &'static str, minor: bool, tone: Tone, says: Option<String>| {
            facts.extend(says.map(|says| Fact { name, says, tone, minor }));
        };
        match self.behind() {
            old if old > RUN_RECORD_OLD => {
                let says = format!("written {}, and not renewed since: all of this may be over", ago(old));
                tell("record", false, Tone::Unsure, Some(says));
            }
            // A younger record may just not have been renewed yet.
            late if late >= RUN_RECORD_BUSY_EVERY => {
                tell("record", true, Tone::Plain, Some(format!("of {}", ago(late))));
            }
            _ => {}
        }
        tell("editor", false, tone, Some(self.editor()));
        tell("heartbeat", false, Tone::Plain, editor.pulse.as_ref().map(|pulse| clean(&pulse.says)));
        tell("unity", false, Tone::Plain, self.process());
        let up = age(self.grown(gateway.up_ms));
        let client = of_session(&gateway.client, gateway.client_session.as_deref());
        tell("client", false, Tone::Plain, Some(format!("{client}, up {up}")));
        let several = status.editors.as_ref().filter(|names| !names.is_empty()).map(|names| names.join(", "));
        let project = status.project.clone().or(several);
        tell("project", false, Tone::Plain, Some(clean(project.as_deref().unwrap_or("not known"))));
        tell("package", true, Tone::Plain, self.package());
        tell("queue", false, Tone::Plain, Some(self.queue()));
        let listed = match tools.count {
            0 => "none known".to_owned(),
            count => {
                let from = clean(or(&tools.from, "?"));
                let part = match tools.not_listed {
                    0 => String::new(),
                    rest => format!(", {rest} of them listed once they are found"),
                };
                format!("{count} from {from}{part}")
            }
        };
        tell("tools", false, Tone::Plain, Some(listed));
        tell("hidden", true, Tone::Plain, self.hidden());
        for line in &status.policy {
            tell("policy", true, Tone::Plain, Some(clean(line)));
        }
        tell("audit", true, Tone::Plain, status.audit.as_deref().map(clean));
        tell("hub", true, Tone::Plain, self.hub());
        let process = format!("{}, process {}", clean(or(&gateway.version, "?")), gateway.pid);
        tell("gateway", true, Tone::Plain, Some(process));
        facts
    }

    fn hidden(&self) -> Option<String> {
        let hidden = &self.snapshot.status.tools.hidden;
        let first: Vec<String> = hidden.first.iter().map(|hidden| clean(&hidden.tool)).collect();
        let more = if hidden.count > first.len() { ", ..." } else { "" };
        (hidden.count > 0).then(|| format!("{} from the client: {}{more}", hidden.count, first.join(", ")))
    }

    fn editor(&self) -> String {
        let editor = &self.snapshot.status.editor;
        let stands = editor.still.as_ref().is_some_and(|still| !still.may_work) || editor.why.is_some();
        let state = clean(&user_text::connection_state(or(&editor.state, "?"), stands));
        let why = editor.why.as_deref().map(|why| format!(": {},", words(why))).unwrap_or_default();
        let still = editor.still.as_ref().map(|still| format!(", but {}", clean(&still.says))).unwrap_or_default();
        match age(self.grown(editor.since_ms)) {
            now if now == NOW => format!("{state}{}, {now}{still}", why.trim_end_matches(',')),
            age => format!("{state}{why} for {age}{still}"),
        }
    }

    fn process(&self) -> Option<String> {
        let editor = &self.snapshot.status.editor;
        let named_by = editor.port_named_by.as_deref().map(|by| format!(" ({})", words(by))).unwrap_or_default();
        let parts = [
            editor.unity_version.as_deref().map(clean),
            editor.pid.map(|pid| format!("pid {pid}")),
            editor.port.map(|port| format!("port {port}{named_by}")),
            editor.local_socket.as_deref().map(clean),
            (editor.connections > 1).then(|| format!("connection {}", editor.connections)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn package(&self) -> Option<String> {
        let package = self.snapshot.status.package.as_ref()?;
        let title = dialect::ALL.iter().find(|known| known.name() == package.dialect).map(|known| known.title());
        Some(format!("{} {}", clean(title.unwrap_or(&package.dialect)), clean(package.version.as_deref()?)))
    }

    fn queue(&self) -> String {
        let queue = &self.snapshot.status.queue;
        let of = queue.busy_for.as_deref().map(|client| format!(" of {}", clean(client))).unwrap_or_default();
        let busy = queue
            .busy_with
            .as_ref()
            .map(|busy| format!(" ({}{of} for {})", clean(&busy.tool), age(self.grown(busy.for_ms))));
        format!("{} waiting, {} running{}", queue.held, queue.running, busy.unwrap_or_default())
    }

    fn hub(&self) -> Option<String> {
        let hub = self.snapshot.status.hub.as_ref()?;
        let others = hub.clients.iter().filter(|client| !client.is_this);
        let others: Vec<String> =
            others.map(|other| of_session(&other.client, other.client_session.as_deref())).collect();
        let with =
            if others.is_empty() { "no other client".to_owned() } else { format!("shared with {}", others.join(", ")) };
        let starts = if hub.starts > 1 { format!("; started {} times", hub.starts) } else { String::new() };
        let http = hub.http.as_deref().map(|url| format!("; HTTP at {}", clean(url))).unwrap_or_default();
        Some(format!("{with}{starts}{http}"))
    }

    fn open(&self, call: &Call) -> ToldLine {
        let (says, tone) = match call.waits_says.as_ref().or(call.waits_for.as_ref()) {
            Some(cause) => (format!("waiting: {}", words(cause)), Tone::Waiting),
            None if call.state == "sent" => ("sent to Unity".to_owned(), Tone::Good),
            None => (words(&call.state), Tone::Unsure),
        };
        ToldLine {
            what: clean(&call.tool),
            says,
            tone,
            age: age(self.grown(call.accepted_ms_ago)),
            ..ToldLine::default()
        }
    }

    fn recent(&self, call: &Call) -> ToldLine {
        let verdict = call.verdict.as_deref().unwrap_or("?");
        let cause = call.cause.as_deref().map(|cause| format!(": {}", words(cause))).unwrap_or_default();
        let tone = match verdict {
            "ok" => Tone::Good,
            "tool_error" | "not_executed" => Tone::Trouble,
            "still_running" => Tone::Waiting,
            "internal" => Tone::Broken,
            "cancelled" => Tone::Plain,
            _ => Tone::Unsure,
        };
        ToldLine {
            what: clean(&call.tool),
            says: format!("{}{cause}", words(verdict)),
            tone,
            // A shorter wait says nothing.
            held: call.held_ms.filter(|held| *held >= 1000).map(span).unwrap_or_default(),
            took: span(call.took_ms),
            age: ago(self.grown(call.accepted_ms_ago.saturating_sub(call.took_ms))),
        }
    }

    fn outage(&self, outage: &Outage) -> ToldLine {
        let cause = outage.cause.as_deref().map(|cause| format!(" ({})", words(cause))).unwrap_or_default();
        let (back, tone) = match outage.back_after_ms {
            Some(after) => (format!("back after {}", span(after)), Tone::Good),
            None => ("not back yet".to_owned(), Tone::Waiting),
        };
        let age = ago(self.grown(outage.ago_ms));
        ToldLine { what: words(&outage.why), says: format!("{back}{cause}"), tone, age, ..ToldLine::default() }
    }

    fn machine(&self, timeline: &Timeline) -> Machine {
        let Timeline { machine, state, tone, sparkline, since, steps } = timeline;
        // The state of the last letter counts as lasting until now.
        let mut letters: Vec<char> = sparkline.chars().collect();
        let (all, last) = (letters.len(), letters.last().copied());
        let passed = usize::try_from(self.behind().as_secs()).unwrap_or(all).min(all);
        letters.drain(..passed);
        letters.resize(all, last.unwrap_or(' '));
        let lately: Vec<String> = steps.iter().rev().take(3).rev().map(|step| words(&step.to)).collect();
        let lately = if lately.is_empty() { String::new() } else { format!("; lately {}", lately.join(", then ")) };
        Machine {
            name: clean(machine),
            state: format!("{} {}", words(state), age(self.since(*since))),
            tone: *tone,
            strip: letters.into_iter().collect(),
            label: format!("{}: {} now{lately}", clean(machine), words(state)),
        }
    }

    fn since(&self, moment: f64) -> Duration {
        Duration::try_from_secs_f64(self.now - moment).unwrap_or_default()
    }

    /// The newest steps of every machine, together in the order of time.
    fn steps(&self) -> Vec<[String; 5]> {
        let mut steps: Vec<(&str, &Step)> = Vec::new();
        for Timeline { machine, steps: its, .. } in &self.snapshot.timelines {
            steps.extend(its.iter().rev().take(PAGE_STEPS_MAX).map(|step| (&**machine, step)));
        }
        steps.sort_by(|(_, one), (_, other)| other.at.total_cmp(&one.at));
        let told = |(machine, step): &(&str, &Step)| {
            [clean(machine), words(&step.from), words(&step.to), clean(&step.event), age(self.since(step.at))]
        };
        steps.iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> Value {
        json!({
            "written_at": 1000.0,
            "project": "/games/Castle",
            "editor": {"ready": true, "state": "ready", "since_ms": 2000},
            "timelines": [{"machine": "bridge", "state": "ready", "tone": "good", "since": 990.0, "strip": "WTTG", "steps": []}],
            "gateway": {"pid": 7},
        })
    }

    #[test]
    fn what_went_on_when_the_record_was_written_has_gone_on_since() {
        for (now, state, strip) in [
            (1000.0, "ready 2 s", "WTTG"),
            (1001.0, "ready 3 s", "TTGG"),
            (1e12, "old: 11574074 d ago", "GGGG"),
            // The clock was set back meanwhile.
            (900.0, "ready 2 s", "WTTG"),
        ] {
            let told = Told::of(&record(), now);
            assert_eq!((told.state.as_str(), told.machines[0].strip.as_str()), (state, strip), "{now}");
        }
    }

    #[test]
    fn only_a_record_that_was_not_renewed_in_time_is_marked() {
        for (now, says) in [
            (1001.0, None),
            (1003.0, Some("of 3 s ago")),
            (1011.0, Some("written 11 s ago, and not renewed since: all of this may be over")),
        ] {
            let told = Told::of(&record(), now);
            let marked = told.facts.iter().find(|fact| fact.name == "record").map(|fact| fact.says.as_str());
            assert_eq!(marked, says, "{now}");
        }
    }

    #[test]
    fn a_machine_that_looks_every_second_does_not_push_out_the_steps_of_another() {
        let looks: Vec<_> = (0..20)
            .map(|n| json!({"at": 980 + n, "from": "scanning", "to": "offering", "event": "Surveyed", "after": 1}))
            .collect();
        let dial = json!({"at": 900, "from": "seeking", "to": "dialing", "event": "Offered", "after": 1});
        let mut record = record();
        record["timelines"][0]["steps"] = json!([dial]);
        let discovery = json!({"machine": "discovery", "state": "offering", "tone": "good", "since": 999.0, "strip": "G", "steps": looks});
        record["timelines"].as_array_mut().unwrap().push(discovery);
        let told = Told::of(&record, 1000.0);
        let ages: Vec<_> = told.steps.iter().map(|step| (step[0].as_str(), step[4].as_str())).collect();
        let newest = ["1 s", "2 s", "3 s", "4 s", "5 s", "6 s"].map(|age| ("discovery", age));
        assert_eq!(ages, [&newest[..], &[("bridge", "100 s")]].concat());
    }

    #[test]
    fn a_record_of_another_version_is_told_or_said_to_be_unreadable() {
        let told = Told::of(&json!({"gateway": {"pid": 7}, "of_a_newer_program": [1]}), 0.0);
        assert_eq!((told.id, told.name.as_str()), ((7, 0), "no project"));
        let odd = Told::of(&json!({"gateway": {"pid": 8}, "editor": "of another version"}), 0.0);
        assert_eq!((odd.id, odd.name.as_str(), odd.tone), ((8, 0), "unreadable", Tone::Unsure));
    }
}
