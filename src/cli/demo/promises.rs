//! Checks the demo's promises against its history. The checks take values only, so that tests can pass histories that break them.
//! What the gateway may write to stdout is checked by the same `Session` as in every test.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_mcp_client::answer::{self, Ran};
use holdfast_mcp_client::session::{Promise as Rule, Session};
use holdfast_timeline::Verdict;
use holdfast_timeline::text::span;
use serde_json::Value;

use crate::limits::demo::{DEMO_EXIT_MAX, DEMO_RECOVERY_MAX};

#[derive(Debug, Clone, Default)]
pub struct History {
    pub session: Session<Duration>,
    pub asked: Vec<Asked>,
    /// How often Unity ran each key, from the file that the fake editor writes when it runs calls.
    pub runs: BTreeMap<String, u64>,
    /// The gateway's own record of calls to Unity: the tool and the label of its verdict.
    pub record: Vec<(String, String)>,
    /// For each outage, its cause and the time from when Unity listened again to the first good answer; `None` if no good answer
    /// came.
    pub recoveries: Vec<(String, Option<Duration>)>,
    pub exit: Option<(Duration, Option<i32>)>,
    pub children: (usize, usize),
    pub stopped: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub id: u64,
    /// The tool, or the method of a request that is not a tool call.
    pub what: String,
    /// Whether this is a call to Unity, which the gateway must have recorded.
    pub recorded: bool,
    /// The key under which Unity counts the call; `None` if it does not count it.
    pub key: Option<String>,
    pub must: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    pub name: &'static str,
    /// The figures if the promise was kept; otherwise what broke it.
    pub seen: Result<String, String>,
}

/// Checks every promise. A story that stopped early adds one broken promise.
pub fn check(history: &History) -> Vec<Promise> {
    let promise = |name, seen| Promise { name, seen };
    let mut promises = vec![
        promise("Exactly one answer per request", one_answer(history)),
        promise("Nothing ran twice", nothing_twice(history)),
        promise("Every verdict was true", verdicts_true(history)),
        promise("Every moment ended as it should", as_expected(history)),
        promise("Progress rose until the answer", progress(history)),
        promise("stdout carried only MCP", pure_stdout(history)),
        promise("The gateway's own record agrees", record(history)),
        promise("It came back by itself each time", recoveries(history)),
        promise("It left at once with its client", exit(history)),
        promise("No process was left behind", children(history)),
    ];
    if let Some(why) = &history.stopped {
        promises.push(promise("The demo came to its end", Err(why.clone())));
    }
    promises
}

fn kept_or(findings: &[String], figures: impl FnOnce() -> String) -> Result<String, String> {
    if findings.is_empty() { Ok(figures()) } else { Err(findings.join("; ")) }
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

pub fn verdict_of(message: &Value) -> Verdict {
    match answer::Verdict::of(message) {
        answer::Verdict::Ok => Verdict::Ok,
        answer::Verdict::ToolError if text_of(message).starts_with("A part of holdfast failed") => Verdict::Internal,
        answer::Verdict::ToolError => Verdict::ToolError,
        answer::Verdict::NotExecuted => Verdict::NotExecuted,
        answer::Verdict::Unknown => Verdict::OutcomeUnknown,
        answer::Verdict::StillRunning => Verdict::StillRunning,
        answer::Verdict::Refused => Verdict::Internal,
    }
}

/// Returns the first text of a tool's result; empty if there is none.
pub fn text_of(message: &Value) -> &str {
    message.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default()
}

fn answered(history: &History) -> impl Iterator<Item = (u64, Verdict)> {
    let messages = history.session.lines().iter().map(|line| &line.value);
    let answers = messages.filter(|message| message.get("method").is_none());
    answers.filter_map(|message| Some((message.get("id")?.as_u64()?, verdict_of(message))))
}

fn answers_to(history: &History, id: u64) -> Vec<Verdict> {
    answered(history).filter(|(of, _)| *of == id).map(|(_, verdict)| verdict).collect()
}

fn one_answer(history: &History) -> Result<String, String> {
    let mut findings = history.session.broken(Rule::Answers, false);
    let cancelled = history.session.answered_though_cancelled().into_iter();
    findings.extend(cancelled.map(|id| format!("{id} was answered although it was cancelled")));
    if history.asked.is_empty() {
        findings.push("nothing was asked".to_owned());
    }
    kept_or(&findings, || {
        let asked = plural(history.asked.len(), "request");
        let answers = plural(answered(history).count(), "answer");
        let cancelled = history.asked.iter().filter(|asked| asked.must == Verdict::Cancelled).count();
        format!("{asked}, {answers}, {cancelled} cancelled")
    })
}

fn nothing_twice(history: &History) -> Result<String, String> {
    let twice = history.runs.iter().filter(|(_, runs)| **runs > 1);
    let findings: Vec<String> = twice.map(|(key, runs)| format!("\"{key}\" ran {runs} times")).collect();
    kept_or(&findings, || format!("{} in Unity's counter file, each once", plural(history.runs.len(), "run")))
}

fn verdicts_true(history: &History) -> Result<String, String> {
    let mut findings = Vec::new();
    let mut checked = 0;
    for asked in &history.asked {
        let Some(key) = &asked.key else { continue };
        let runs = history.runs.get(key).copied().unwrap_or(0);
        let said = answers_to(history, asked.id).first().copied();
        let said = said.or((asked.must == Verdict::Cancelled).then_some(Verdict::Cancelled));
        let ran = said.map(|said| match said {
            Verdict::Ok | Verdict::ToolError => Ran::Yes,
            Verdict::NotExecuted | Verdict::Cancelled | Verdict::Internal => Ran::No,
            Verdict::OutcomeUnknown | Verdict::StillRunning => Ran::Unknown,
        });
        // A request that has no answer is reported by `one_answer`, not here.
        let fits = ran.is_none_or(|ran| ran.is_true(runs));
        checked += 1;
        if !fits {
            let said = said.map_or("nothing", Verdict::word);
            findings.push(format!("#{} {} said \"{said}\" and ran {runs} times", asked.id, asked.what));
        }
    }
    let foreign_peers =
        history.runs.keys().filter(|key| !history.asked.iter().any(|asked| asked.key.as_ref() == Some(key)));
    findings.extend(foreign_peers.map(|key| format!("\"{key}\" ran and was never asked for")));
    kept_or(&findings, || format!("{checked} compared with what Unity counted"))
}

fn as_expected(history: &History) -> Result<String, String> {
    let mut findings = Vec::new();
    for asked in &history.asked {
        for said in answers_to(history, asked.id) {
            if said != asked.must {
                let (said, must) = (said.word(), asked.must.word());
                findings.push(format!("#{} {} ended \"{said}\", not \"{must}\"", asked.id, asked.what));
            }
        }
    }
    let count = |verdict| answered(history).filter(|(_, said)| *said == verdict).count();
    kept_or(&findings, || format!("{} ok, {} outcome unknown", count(Verdict::Ok), count(Verdict::OutcomeUnknown)))
}

fn progress(history: &History) -> Result<String, String> {
    let findings = history.session.broken(Rule::Progress, false);
    kept_or(&findings, || plural(history.session.told("notifications/progress").count(), "notification"))
}

/// Whether the client must never receive a message of this kind: a request, an answer without an id, or a notification whose
/// method does not start with `notifications/`.
fn is_unwanted(message: &Value) -> bool {
    let has_id = message.get("id").is_some_and(|id| !id.is_null());
    match message.get("method").and_then(Value::as_str) {
        Some(method) => has_id || !method.starts_with("notifications/"),
        None => message.is_object() && !has_id,
    }
}

fn pure_stdout(history: &History) -> Result<String, String> {
    let mut findings = history.session.broken(Rule::Messages, false);
    let unwanted = history.session.lines().iter().filter(|line| is_unwanted(&line.value));
    findings.extend(unwanted.map(|line| format!("unwanted on stdout: {}", line.value)));
    kept_or(&findings, || format!("{}, each a JSON-RPC message", plural(history.session.lines().len(), "line")))
}

fn record(history: &History) -> Result<String, String> {
    let mut said: Vec<(String, String)> = Vec::new();
    for asked in history.asked.iter().filter(|asked| asked.recorded) {
        let answers = answers_to(history, asked.id);
        let cancelled = (asked.must == Verdict::Cancelled).then_some(Verdict::Cancelled);
        for verdict in answers.into_iter().chain(cancelled) {
            said.push((asked.what.clone(), verdict.word().replace(' ', "_")));
        }
    }
    let mut kept = history.record.clone();
    said.sort();
    kept.sort();
    if said == kept {
        return Ok(format!("{} in holdfast_calls", plural(kept.len(), "call")));
    }
    let differ = |a: &[(String, String)], b: &[(String, String)]| {
        let only: Vec<String> =
            a.iter().filter(|entry| !b.contains(entry)).map(|(tool, verdict)| format!("{tool} {verdict}")).collect();
        if only.is_empty() { "nothing else".to_owned() } else { only.join(", ") }
    };
    Err(format!(
        "{} seen and {} on record; only seen: {}; only on record: {}",
        said.len(),
        kept.len(),
        differ(&said, &kept),
        differ(&kept, &said)
    ))
}

fn recoveries(history: &History) -> Result<String, String> {
    let mut findings = Vec::new();
    for (name, took) in &history.recoveries {
        match took {
            None => findings.push(format!("no good answer after {name}")),
            Some(took) if *took > DEMO_RECOVERY_MAX => {
                findings.push(format!("{} after {name}, above {}", span(*took), span(DEMO_RECOVERY_MAX)));
            }
            Some(_) => {}
        }
    }
    if history.recoveries.is_empty() {
        findings.push("Unity never came back".to_owned());
    }
    let slowest = history.recoveries.iter().filter_map(|(_, took)| *took).max().unwrap_or_default();
    kept_or(&findings, || format!("{} times, {} at the most", history.recoveries.len(), span(slowest)))
}

fn exit(history: &History) -> Result<String, String> {
    match history.exit {
        None => Err("it did not exit".to_owned()),
        Some((after, _)) if after > DEMO_EXIT_MAX => {
            Err(format!("it took {}, above {}", span(after), span(DEMO_EXIT_MAX)))
        }
        Some((after, Some(0))) => Ok(format!("exit code 0 after {}", span(after))),
        Some((_, code)) => Err(match code {
            Some(code) => format!("its exit code was {code}, not 0"),
            None => "a signal ended it".to_owned(),
        }),
    }
}

fn children(history: &History) -> Result<String, String> {
    let (started, ended) = history.children;
    match started == ended && started > 0 {
        true => Ok(format!("{started} started, {ended} ended")),
        false => Err(format!("{started} started, {ended} ended")),
    }
}
