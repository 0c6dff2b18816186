//! The state of the running demo: the client's side of the session, the lines of the child processes, and the record of both.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast_fake_unity::{self as fake_unity, Task};
use holdfast_mcp_client::line;
use holdfast_timeline::{Call, Moment, Phase, Timeline, Tone, Verdict};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::promises::{Asked, History, text_of, verdict_of};
use super::stage::{PROJECT, Stage};
use super::telling::Teller;
use crate::cli::child::{News, Source};
use crate::core::user_text;
use crate::fsm::cause::Cause;
use crate::limits::demo::DEMO_STEP_MAX;

pub const CLIENT: usize = 0;
pub const GATEWAY: usize = 1;
pub const UNITY: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error("waited {DEMO_STEP_MAX:?} in vain until {0}")]
    InVain(String),
    #[error("the gateway ended before {0}")]
    GatewayEnded(String),
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
}

#[derive(Debug, Default)]
pub struct Facts {
    pub answers: BTreeSet<u64>,
    pub held: BTreeMap<u64, String>,
    pub sent: BTreeMap<u64, Duration>,
    pub begun: usize,
    pub ended: usize,
    /// The port that Unity listens on; `None` while it does not listen.
    pub port: Option<u64>,
    pub frozen: bool,
    /// Whether Unity will lose its next answer. A step that orders this waits for it: the next call must not come before.
    pub loses_answer: bool,
    pub gateway_silent: bool,
}

#[derive(Debug)]
struct Open {
    asked: Duration,
    bar: Option<usize>,
    label: String,
}

#[derive(Debug)]
pub struct Scene {
    pub stage: Stage,
    pub facts: Facts,
    pub history: History,
    pub timeline: Timeline,
    news: mpsc::Receiver<News>,
    teller: Teller,
    began: Instant,
    acts: usize,
    requests: BTreeMap<u64, Open>,
    /// The cause of the last outage and the time of its end. Removed at the first good answer.
    recovering: Option<(&'static str, Duration)>,
    /// The cause and the start of the current outage; `None` while Unity is not away.
    away: Option<(&'static str, Duration)>,
}

impl Scene {
    pub fn new(stage: Stage, news: mpsc::Receiver<News>, teller: Teller) -> Self {
        Self {
            stage,
            facts: Facts::default(),
            history: History::default(),
            timeline: Timeline::new(["client", "gateway", "Unity"]),
            news,
            teller,
            began: Instant::now(),
            acts: 0,
            requests: BTreeMap::new(),
            recovering: None,
            away: None,
        }
    }

    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    // ---- telling ----

    pub fn act(&mut self, title: &str) {
        self.acts += 1;
        self.teller.act(self.acts, title, &self.timeline.lanes);
    }

    pub fn tell(&mut self, lanes: (usize, usize), tone: Tone, text: impl Into<String>, measured: Option<Duration>) {
        self.tell_at(self.now(), lanes, tone, text, measured);
    }

    fn tell_at(
        &mut self,
        at: Duration,
        (from, to): (usize, usize),
        tone: Tone,
        text: impl Into<String>,
        measured: Option<Duration>,
    ) {
        // Lines of two processes may arrive out of order, but a printed line must not show an earlier time than the line above
        // it.
        let at = self.timeline.moments.last().map_or(at, |last| at.max(last.at));
        let moment = Moment { at, from, to, tone, text: text.into(), measured };
        self.teller.moment(&self.timeline.lanes, &moment);
        self.timeline.moments.push(moment);
    }

    // ---- the client's side ----

    async fn write(&mut self, line: &str) -> Result<(), Stopped> {
        let gateway = self.stage.gateway.as_mut();
        let gateway =
            gateway.ok_or(Stopped::System("writing to the gateway", std::io::ErrorKind::NotConnected.into()))?;
        gateway.say(line).await.map_err(|error| Stopped::System("writing to the gateway", error))
    }

    /// Sends a request that must be answered `ok`. Returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<u64, Stopped> {
        self.send(method, method.to_owned(), None, params, Verdict::Ok, false).await
    }

    pub async fn ask(&mut self, tool: &str) -> Result<u64, Stopped> {
        let params = line::call(tool, json!({}));
        self.send("tools/call", tool.to_owned(), None, params, Verdict::Ok, false).await
    }

    /// Calls a tool of Unity for this task, which must end with the verdict `must`.
    pub async fn call(&mut self, task: Task, text: &str, must: Verdict) -> Result<u64, Stopped> {
        let fake_unity::Call { tool, arguments, .. } = self.stage.package().calls(task, text);
        let key = matches!(task, Task::Count | Task::CountHeld).then(|| text.to_owned());
        let token = format!("progress-{}", self.history.session.next_id());
        let params = line::call_with_progress(tool, arguments, token);
        self.send("tools/call", tool.to_owned(), key, params, must, true).await
    }

    async fn send(
        &mut self,
        method: &str,
        what: String,
        key: Option<String>,
        params: Value,
        must: Verdict,
        recorded: bool,
    ) -> Result<u64, Stopped> {
        let (id, line) = self.history.session.request(method, &params);
        let label = match &key {
            Some(key) => format!("#{id} {what} {key}"),
            None => format!("#{id} {what}"),
        };
        let asked = self.now();
        let bar = recorded.then_some(self.timeline.calls.len());
        if recorded {
            self.timeline.calls.push(Call { name: label.clone(), asked, sent: None, end: None });
        }
        self.requests.insert(id, Open { asked, bar, label });
        self.history.asked.push(Asked { id, what, recorded, key, must });
        self.write(&line).await?;
        Ok(id)
    }

    pub async fn notify(&mut self, method: &str, params: Value) -> Result<(), Stopped> {
        self.write(&line::notification(method, params)).await
    }

    /// Cancels a call that was not sent to Unity yet. No answer to it may arrive afterwards.
    pub async fn cancel(&mut self, id: u64) -> Result<(), Stopped> {
        // The session only needs to know that the call was cancelled. The notification is written below, with a reason.
        self.history.session.cancel(&id.into());
        self.notify("notifications/cancelled", json!({"requestId": id, "reason": "the user changed her mind"})).await?;
        let now = self.now();
        if let Some(open) = self.requests.get(&id) {
            if let Some(call) = open.bar.and_then(|bar| self.timeline.calls.get_mut(bar)) {
                call.end = Some((now, Verdict::Cancelled));
            }
            let text = format!("{}: cancelled before it was sent", open.label);
            self.tell((CLIENT, GATEWAY), Tone::Plain, text, None);
        }
        Ok(())
    }

    // ---- Unity's side ----

    pub async fn steer(&mut self, line: &str) -> Result<(), Stopped> {
        let unity = self.stage.unity.as_mut();
        let unity = unity.ok_or(Stopped::System("steering Unity", std::io::ErrorKind::NotConnected.into()))?;
        unity.say(line).await.map_err(|error| Stopped::System("steering Unity", error))
    }

    /// Records that Unity is away from now on, and why. When Unity is back, a recovery from that cause begins.
    pub fn away(&mut self, why: &'static str, phase: Phase) {
        let now = self.now();
        self.facts.port = None;
        self.timeline.enters(UNITY, now, phase);
        self.away = Some((why, now));
    }

    pub fn reloads(&mut self, why: &'static str) {
        self.away(why, Phase::Reloading);
        self.tell((UNITY, UNITY), Tone::Trouble, "domain reload: every connection is cut", None);
    }

    // ---- waiting ----

    /// Processes the lines of the child processes until a fact is true. `what` names the fact.
    pub async fn until(&mut self, what: &str, fact: impl Fn(&Facts) -> bool) -> Result<(), Stopped> {
        let deadline = Instant::now() + DEMO_STEP_MAX;
        while !fact(&self.facts) {
            if self.facts.gateway_silent {
                return Err(Stopped::GatewayEnded(what.to_owned()));
            }
            match tokio::time::timeout_at(deadline, self.news.recv()).await {
                Ok(Some(news)) => self.take(&news),
                Ok(None) | Err(_) => return Err(Stopped::InVain(what.to_owned())),
            }
        }
        Ok(())
    }

    pub async fn answers(&mut self, ids: &[u64]) -> Result<(), Stopped> {
        let labels: Vec<String> =
            ids.iter().map(|id| self.requests.get(id).map(|open| open.label.clone()).unwrap_or_default()).collect();
        let what = format!("{} had an answer", labels.join(", "));
        self.until(&what, |facts| ids.iter().all(|id| facts.answers.contains(id))).await
    }

    /// Waits for `time`, so that a person can read. Lines of the child processes are processed in the meantime.
    pub async fn pause(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(Some(news)) = tokio::time::timeout_at(end, self.news.recv()).await {
            self.take(&news);
        }
    }

    // ---- news ----

    fn take(&mut self, news: &News) {
        let at = news.at.saturating_duration_since(self.began);
        match (news.source, &news.line) {
            (Source::Gateway, Some(line)) => self.hear_gateway(at, line),
            (Source::Gateway, None) => self.facts.gateway_silent = true,
            (Source::Unity, Some(line)) => self.hear_unity(at, line),
            (Source::Unity, None) => {}
        }
    }

    fn hear_gateway(&mut self, at: Duration, line: &str) {
        self.history.session.received(line.as_bytes(), at);
        let Some(message) = self.history.session.lines().last().map(|line| line.value.clone()) else { return };
        match message.get("method").and_then(Value::as_str) {
            Some("notifications/progress") => self.hear_progress(at, &message),
            Some(_) => {}
            None => self.hear_answer(at, &message),
        }
    }

    fn hear_progress(&mut self, at: Duration, message: &Value) {
        let params = message.get("params").unwrap_or(&Value::Null);
        let token =
            params.get("progressToken").and_then(Value::as_str).and_then(|token| token.strip_prefix("progress-"));
        let Some(id) = token.and_then(|token| token.parse::<u64>().ok()) else { return };
        let Some(open) = self.requests.get(&id) else { return };
        let label = open.label.clone();
        let bar = open.bar;
        let said = params.get("message").and_then(Value::as_str).unwrap_or_default();
        if said.starts_with(user_text::SENT) {
            self.facts.sent.entry(id).or_insert(at);
            if let Some(call) = bar.and_then(|bar| self.timeline.calls.get_mut(bar)) {
                call.sent.get_or_insert(at);
            }
            if !self.facts.held.contains_key(&id) {
                self.tell_at(at, (CLIENT, UNITY), Tone::Plain, format!("{label}: sent to Unity"), None);
            }
        } else if let Some(cause) = said.strip_prefix("held, not sent yet: ") {
            // The first call on a connection may wait briefly for the tool list. Such a short wait is not shown.
            if cause != user_text::cause(Cause::Listing) && !self.facts.held.contains_key(&id) {
                self.facts.held.insert(id, cause.to_owned());
                self.tell_at(at, (CLIENT, GATEWAY), Tone::Waiting, format!("{label}: held, {cause}"), None);
            }
        }
    }

    fn hear_answer(&mut self, at: Duration, message: &Value) {
        let Some(id) = message.get("id").and_then(Value::as_u64) else { return };
        if self.history.session.answer(&id.into()).is_none() {
            return;
        }
        let Some(open) = self.requests.get(&id) else { return };
        let (label, took, bar) = (open.label.clone(), at.saturating_sub(open.asked), open.bar);
        let verdict = verdict_of(message);
        self.facts.answers.insert(id);
        let Some(bar) = bar else {
            let (tone, said) = (verdict.tone(), self.words_for(id, message));
            self.tell_at(at, (GATEWAY, CLIENT), tone, format!("{label}: {said}"), Some(took));
            return;
        };
        if let Some(call) = self.timeline.calls.get_mut(bar) {
            call.end = Some((at, verdict));
        }
        if verdict == Verdict::Ok
            && let Some((why, since)) = self.recovering.take()
        {
            self.history.recoveries.push((why.to_owned(), Some(at.saturating_sub(since))));
        }
        let text = match (verdict, self.facts.held.contains_key(&id)) {
            (Verdict::Ok, true) => format!("{label}: ok, after its wait"),
            (Verdict::Ok, false) if label.ends_with("compile") => format!("{label}: {}", compile_words(message)),
            (Verdict::Ok, false) => format!("{label}: ok"),
            _ => format!("{label}: {}", sentences(text_of(message), 2)),
        };
        let from = if verdict == Verdict::Ok { UNITY } else { GATEWAY };
        self.tell_at(at, (from, CLIENT), verdict.tone(), text, Some(took));
    }

    fn words_for(&self, id: u64, message: &Value) -> String {
        let result = message.get("result").unwrap_or(&Value::Null);
        let content = result.get("structuredContent").unwrap_or(&Value::Null);
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let count = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        match self.history.asked.iter().find(|asked| asked.id == id).map(|asked| asked.what.as_str()) {
            Some("initialize") => format!("MCP {}", text(result, "protocolVersion")),
            Some("tools/list") => {
                let tools = result.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let own = tools.iter().filter(|tool| text(tool, "name").starts_with("holdfast_")).count();
                format!("{} of Unity, {own} of ours", tools.len() - own)
            }
            Some("holdfast_status") => format!("\"{}\"", text(content, "summary")),
            Some("holdfast_calls") => format!("{} on record", count(content, "calls")),
            _ => verdict_of(message).word().to_owned(),
        }
    }

    fn hear_unity(&mut self, at: Duration, line: &str) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        match event.get("event").and_then(Value::as_str).unwrap_or_default() {
            "listening" => {
                let port = number("port").unwrap_or_default();
                self.facts.port = Some(port);
                self.timeline.enters(UNITY, at, Phase::Up);
                match self.away.take() {
                    Some((why, since)) => {
                        self.recovering = Some((why, at));
                        let text = format!("Unity listens on {port} again, after");
                        self.tell_at(at, (UNITY, UNITY), Tone::Good, text, Some(at.saturating_sub(since)));
                    }
                    None => {
                        let text = format!("Unity opens {PROJECT}, port {port}");
                        self.tell_at(at, (UNITY, UNITY), Tone::Good, text, Some(at));
                    }
                }
            }
            "call_begun" => self.facts.begun += 1,
            "call_ended" => self.facts.ended += 1,
            "reload_begun" if self.away.is_none() => self.reloads("compile"),
            "done" if event["line"] == "lose" => self.facts.loses_answer = true,
            "frozen" => {
                self.facts.frozen = true;
                self.timeline.enters(UNITY, at, Phase::Frozen);
                self.tell_at(at, (UNITY, UNITY), Tone::Trouble, "Unity freezes: nothing moves in it", None);
            }
            "thawed" => {
                self.facts.frozen = false;
                self.timeline.enters(UNITY, at, Phase::Up);
                self.tell_at(at, (UNITY, UNITY), Tone::Good, "Unity goes on", None);
            }
            _ => {}
        }
    }

    /// Adds an unfinished recovery to the history: either Unity is still away, or there was no good answer since it is back.
    pub fn close_recoveries(&mut self) {
        let open = self.recovering.take().map(|(why, _)| why).or(self.away.take().map(|(why, _)| why));
        if let Some(why) = open {
            self.history.recoveries.push((why.to_owned(), None));
        }
    }
}

fn compile_words(message: &Value) -> String {
    let content = message.pointer("/result/structuredContent").unwrap_or(&Value::Null);
    let errors = content.get("ErrorCount").and_then(Value::as_u64);
    match (content.get("Success").and_then(Value::as_bool), errors) {
        (Some(true), Some(errors)) => format!("Success, {errors} errors, from the file that Unity left"),
        _ => "ok, without saying whether it succeeded".to_owned(),
    }
}

fn sentences(text: &str, count: usize) -> &str {
    let end = text.match_indices(". ").nth(count.saturating_sub(1)).map_or(text.len(), |(at, _)| at + 1);
    text.get(..end).unwrap_or(text)
}
