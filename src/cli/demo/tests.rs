//! The checker of promises can fail: histories that break one promise each.

use std::time::Duration;

use holdfast_timeline::Verdict;
use serde_json::json;

use super::promises::{Asked, History, check};
use super::scene::verdict_of;

fn asked(id: u64, what: &str, key: Option<&str>, must: Verdict) -> Asked {
    Asked { id, what: what.to_owned(), recorded: what == "count", key: key.map(str::to_owned), must }
}

/// A session in which all was well: one call answered, one cut off after it ran, one cancelled.
fn good() -> History {
    History {
        asked: vec![
            asked(1, "initialize", None, Verdict::Ok),
            asked(2, "count", Some("a"), Verdict::Ok),
            asked(3, "count", Some("b"), Verdict::OutcomeUnknown),
            asked(4, "count", Some("c"), Verdict::Cancelled),
        ],
        answered: vec![(1, Verdict::Ok), (2, Verdict::Ok), (3, Verdict::OutcomeUnknown)],
        progress: vec![(2, 1.0, false), (3, 1.0, false), (2, 2.0, false)],
        lines: 6,
        foreign: Vec::new(),
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

/// The promises that a history breaks, with what is said about it.
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
    assert_breaks(ANSWERS, "#2 count was answered 0 times", |history| history.answered.retain(|(id, _)| *id != 2));
    assert_breaks(ANSWERS, "#2 count was answered 2 times", |history| history.answered.push((2, Verdict::Ok)));
    assert_breaks(ANSWERS, "#4 count was answered 1 times", |history| history.answered.push((4, Verdict::Ok)));
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
        history.answered[1].1 = Verdict::NotExecuted;
    });
    assert_breaks(TRUE, "\"z\" ran and was never asked for", |history| {
        history.runs.insert("z".to_owned(), 1);
    });
}

#[test]
fn another_end_than_the_right_one_is_seen() {
    assert_breaks("Every moment ended as it should", "ended \"outcome unknown\", not \"ok\"", |history| {
        history.answered[1].1 = Verdict::OutcomeUnknown;
    });
}

#[test]
fn progress_that_stands_still_or_comes_too_late_is_seen() {
    let progress = "Progress rose until the answer";
    assert_breaks(progress, "#2 had progress that did not rise", |history| history.progress[2].1 = 1.0);
    assert_breaks(progress, "#2 had progress after its answer", |history| history.progress[2].2 = true);
}

#[test]
fn a_foreign_line_on_stdout_is_seen() {
    assert_breaks("stdout carried only MCP", "hello", |history| history.foreign.push("hello".to_owned()));
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
    let said = |error: bool, text: &str| {
        verdict_of(&json!({"id": 1, "result": {"isError": error, "content": [{"type": "text", "text": text}]}}))
    };
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
