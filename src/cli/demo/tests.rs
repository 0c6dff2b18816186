//! Shows that the checks of the promises can fail: each history here breaks one promise.

use std::time::Duration;

use holdfast_mcp_client::line;
use holdfast_mcp_client::session::Session;
use holdfast_timeline::Verdict;
use serde_json::{Value, json};

use super::promises::{Asked, History, check, verdict_of};

fn asked(id: u64, what: &str, key: Option<&str>, must: Verdict) -> Asked {
    Asked { id, what: what.to_owned(), recorded: what == "count", key: key.map(str::to_owned), must }
}

fn answer(id: u64, error: bool, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"isError": error, "content": [{"type": "text", "text": text}]}})
}

fn progress(id: u64, progress: f64) -> Value {
    let params = json!({"progressToken": format!("progress-{id}"), "progress": progress});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// Returns the gateway's lines of a session in which every promise is kept.
fn said() -> [Value; 6] {
    [
        answer(1, false, "{}"),
        progress(2, 1.0),
        progress(3, 1.0),
        progress(2, 2.0),
        answer(2, false, "{}"),
        answer(3, true, "Outcome unknown: gone."),
    ]
}

/// Returns the session of a client that sends four requests, cancels the last one, and receives these lines.
fn session(lines: &[Value]) -> Session<Duration> {
    let mut session = Session::default();
    session.request("initialize", &json!({}));
    for id in 2..=4 {
        session.request("tools/call", &line::call_with_progress("count", json!({}), format!("progress-{id}")));
    }
    session.cancel(&json!(4));
    for line in lines {
        session.received(line.to_string().as_bytes(), Duration::ZERO);
    }
    session
}

/// Replaces line `nth` of the gateway.
fn instead(history: &mut History, nth: usize, line: Value) {
    let mut lines = said();
    lines[nth] = line;
    history.session = session(&lines);
}

/// Adds a line of the gateway at the end.
fn and_then(history: &mut History, line: &Value) {
    history.session.received(line.to_string().as_bytes(), Duration::ZERO);
}

/// Returns a history that keeps every promise: one call is answered, one is cut off after it ran, one is cancelled.
fn good() -> History {
    History {
        session: session(&said()),
        asked: vec![
            asked(1, "initialize", None, Verdict::Ok),
            asked(2, "count", Some("a"), Verdict::Ok),
            asked(3, "count", Some("b"), Verdict::OutcomeUnknown),
            asked(4, "count", Some("c"), Verdict::Cancelled),
        ],
        runs: [("a".to_owned(), 1), ("b".to_owned(), 1)].into(),
        record: [("count", "cancelled"), ("count", "outcome_unknown"), ("count", "ok")]
            .map(|(tool, verdict)| (tool.to_owned(), verdict.to_owned()))
            .into(),
        recoveries: vec![("reload".to_owned(), Some(Duration::from_millis(20)))],
        exit: Some((Duration::from_millis(5), Some(0))),
        children: (2, 2),
        stopped: None,
    }
}

/// Returns the promises that the changed history breaks, each with what broke it.
fn broken(change: impl FnOnce(&mut History)) -> Vec<(&'static str, String)> {
    let mut history = good();
    change(&mut history);
    check(&history).into_iter().filter_map(|promise| Some((promise.name, promise.seen.err()?))).collect()
}

fn assert_breaks(promise: &str, saying: &str, change: impl FnOnce(&mut History)) {
    let found = broken(change);
    assert!(
        found.iter().any(|(name, said)| *name == promise && said.contains(saying)),
        "\"{promise}\" with \"{saying}\" is not in {found:#?}"
    );
}

const ANSWERS: &str = "Exactly one answer per request";
const TRUE: &str = "Every verdict was true";

#[test]
fn a_good_history_breaks_nothing() {
    assert_eq!(broken(|_| {}), []);
    assert_eq!(check(&good()).len(), 10);
}

#[test]
fn a_missing_a_doubled_and_an_unwanted_answer_are_seen() {
    assert_breaks(ANSWERS, "0 answers to 2, not 1", |history| history.session = session(&said()[..4]));
    assert_breaks(ANSWERS, "2 answers to 2, not 1", |history| and_then(history, &answer(2, false, "{}")));
    assert_breaks(ANSWERS, "4 was answered although", |history| and_then(history, &answer(4, false, "{}")));
    assert_breaks(ANSWERS, "not asked", |history| and_then(history, &answer(5, false, "{}")));
    assert_breaks(ANSWERS, "nothing was asked", |history| history.asked.clear());
}

#[test]
fn a_double_run_is_seen() {
    assert_breaks("Nothing ran twice", "\"b\" ran 2 times", |history| *history.runs.get_mut("b").unwrap() = 2);
}

#[test]
fn a_verdict_that_lies_about_whether_it_ran_is_seen() {
    assert_breaks(TRUE, "#2 count said \"ok\" and ran 0 times", |history| {
        history.runs.remove("a");
    });
    assert_breaks(TRUE, "said \"cancelled\" and ran 1 times", |history| {
        history.runs.insert("c".to_owned(), 1);
    });
    assert_breaks(TRUE, "said \"not executed\" and ran 1 times", |history| {
        instead(history, 4, answer(2, true, "Not executed: busy."));
    });
    assert_breaks(TRUE, "\"z\" ran and was never asked for", |history| {
        history.runs.insert("z".to_owned(), 1);
    });
}

#[test]
fn another_end_than_the_right_one_is_seen() {
    assert_breaks("Every moment ended as it should", "ended \"outcome unknown\", not \"ok\"", |history| {
        instead(history, 4, answer(2, true, "Outcome unknown: gone."));
    });
}

#[test]
fn progress_that_stands_still_or_comes_too_late_is_seen() {
    const PROGRESS: &str = "Progress rose until the answer";
    assert_breaks(PROGRESS, "the progress of 2 does not rise", |history| instead(history, 3, progress(2, 1.0)));
    assert_breaks(PROGRESS, "progress of 2 after its answer", |history| and_then(history, &progress(2, 3.0)));
    assert_breaks(PROGRESS, "nobody asked for", |history| and_then(history, &progress(7, 1.0)));
}

#[test]
fn a_foreign_line_on_stdout_is_seen() {
    const STDOUT: &str = "stdout carried only MCP";
    assert_breaks(STDOUT, "hello", |history| and_then(history, &json!("hello")));
    for unwanted in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}),
        json!({"jsonrpc": "2.0", "method": "hello"}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "m"}}),
    ] {
        assert_breaks(STDOUT, "unwanted", |history| and_then(history, &unwanted));
    }
}

#[test]
fn a_record_that_tells_another_story_is_seen() {
    let record = "The gateway's own record agrees";
    assert_breaks(record, "only on record: count tool_error", |history| history.record[2].1 = "tool_error".to_owned());
    assert_breaks(record, "2 on record", |history| history.record.truncate(2));
}

#[test]
fn a_recovery_that_is_slow_or_never_comes_is_seen() {
    let back = "It came back by itself each time";
    assert_breaks(back, "60.00 s after reload", |history| history.recoveries[0].1 = Some(Duration::from_secs(60)));
    assert_breaks(back, "no good answer after reload", |history| history.recoveries[0].1 = None);
    assert_breaks(back, "Unity never came back", |history| history.recoveries.clear());
}

#[test]
fn an_end_that_is_late_or_bad_and_a_process_left_behind_are_seen() {
    let left = "It left at once with its client";
    assert_breaks(left, "it took 5.00 s", |history| history.exit = Some((Duration::from_secs(5), Some(0))));
    assert_breaks(left, "its exit code was 70", |history| history.exit = Some((Duration::ZERO, Some(70))));
    assert_breaks(left, "a signal ended it", |history| history.exit = Some((Duration::ZERO, None)));
    assert_breaks(left, "did not exit", |history| history.exit = None);
    assert_breaks("No process was left behind", "2 started, 1 ended", |history| history.children = (2, 1));
    assert_breaks("No process was left behind", "0 started", |history| history.children = (0, 0));
}

#[test]
fn a_story_that_stopped_is_a_broken_promise() {
    assert_breaks("The demo came to its end", "in vain", |history| history.stopped = Some("waited in vain".to_owned()));
}

#[test]
fn a_response_is_understood_by_the_words_that_the_ai_reads() {
    let said = |error: bool, text: &str| verdict_of(&answer(1, error, text));
    assert_eq!(said(false, "{}"), Verdict::Ok);
    assert_eq!(said(true, "{\"Success\":false}"), Verdict::ToolError);
    assert_eq!(said(true, "Not executed: busy."), Verdict::NotExecuted);
    assert_eq!(said(true, "Outcome unknown: gone."), Verdict::OutcomeUnknown);
    assert_eq!(said(true, "Still running: soon."), Verdict::StillRunning);
    assert_eq!(said(false, "Still running: soon."), Verdict::StillRunning);
    assert_eq!(said(true, crate::core::user_text::INTERNAL), Verdict::Internal);
    assert_eq!(verdict_of(&json!({"id": 1, "error": {"code": -32603, "message": "x"}})), Verdict::Internal);
    assert_eq!(verdict_of(&json!({"id": 1, "result": {"protocolVersion": "2025-11-25"}})), Verdict::Ok);
}
