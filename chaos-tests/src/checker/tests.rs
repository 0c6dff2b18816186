//! Every checker is shown what it must reject, and beside it what it must let pass.

use super::*;
use crate::history::{Entry, Sizes};

fn ask(id: u64, tool: &'static str, payload: &str) -> Event {
    let allowed = Duration::from_millis(100);
    Event::Asked(
        id,
        Ask { method: "tools/call", tool, payload: payload.into(), token: true, allowed, ..Ask::default() },
    )
}

fn got(id: u64, text: &str, error: bool) -> Event {
    let line = serde_json::json!({
        "jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": error},
    });
    Event::Got(line.to_string())
}

fn progress(token: u64, progress: u64) -> Event {
    let params = serde_json::json!({"progressToken": token, "progress": progress});
    let line = serde_json::json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    Event::Got(line.to_string())
}

fn totals(key: &str, count: u64) -> Event {
    Event::Totals(BTreeMap::from([(key.to_owned(), count)]))
}

fn frame(id: &str, method: &str) -> Event {
    Event::FrameOut(1, method.into(), id.into())
}

fn broken(events: Vec<Event>) -> Vec<&'static str> {
    let verdicts = check(&History::of(events));
    verdicts.into_iter().filter(|verdict| !verdict.violations.is_empty()).map(|verdict| verdict.name).collect()
}

const CALL: &str = "01b622b5-6a0f-40f3-bd32-16ac3afd7786";

#[test]
fn a_good_history_passes_every_checker() {
    let good = vec![
        ask(1, "count", "a"),
        progress(1, 1),
        Event::Dialed(1),
        frame(&format!("{CALL}.3"), "count"),
        Event::Ran("a".into(), 1),
        got(1, "{\"Key\":\"a\"}", false),
        Event::Sized(Sizes { open: 1, ..Sizes::default() }),
        Event::HungUp(1),
        Event::Dialed(2),
        Event::Healed,
        Event::FrameIn(2, "x".into()),
        Event::Recovered(Duration::from_millis(1)),
        Event::InputClosed,
        Event::HungUp(2),
        Event::Ended("input_ended"),
        Event::PermitsLeft(1),
        totals("a", 1),
    ];
    assert_eq!(broken(good), [""; 0]);
}

#[test]
fn answer_once_rejects_none_two_and_those_that_nobody_asked_for() {
    assert_eq!(broken(vec![ask(1, "fail", "")]), ["I1 answer-once"]);
    assert_eq!(broken(vec![ask(1, "fail", ""), got(1, "", true), got(1, "", true)]), ["I1 answer-once"]);
    assert_eq!(broken(vec![got(1, "", false)]), ["I1 answer-once"]);
    assert_eq!(broken(vec![ask(1, "fail", ""), Event::Cancelled(1)]), [""; 0]);
    let twice = vec![ask(1, "fail", ""), Event::Cancelled(1), got(1, "", true), got(1, "", true)];
    assert_eq!(broken(twice), ["I1 answer-once"]);
}

#[test]
fn at_most_once_rejects_a_second_run_and_a_second_frame() {
    assert_eq!(broken(vec![totals("a", 2)]), ["I2 at-most-once"]);
    let (first, second) = (format!("{CALL}.3"), format!("{CALL}.4"));
    assert_eq!(broken(vec![frame(&first, "count"), frame(&second, "count")]), ["I2 at-most-once"]);
    assert_eq!(broken(vec![frame(&first, "get-logs"), frame(&second, "get-logs")]), [""; 0]);
    assert_eq!(broken(vec![frame(&first, "get-logs"); 4]), ["I2 at-most-once"]);
}

#[test]
fn verdict_truth_rejects_words_that_the_editor_contradicts() {
    let lie = vec![ask(1, "count", "a"), got(1, "Not executed: busy", true), totals("a", 1)];
    assert_eq!(broken(lie), ["I2 verdict-truth"]);
    let invented = vec![ask(1, "count", "a"), got(1, "{\"Key\":\"a\"}", false), totals("b", 1)];
    assert_eq!(broken(invented), ["I2 verdict-truth"]);
    let unknown = vec![ask(1, "count", "a"), got(1, "Outcome unknown: lost", true), totals("a", 1)];
    assert_eq!(broken(unknown), [""; 0]);
}

#[test]
fn stdout_is_mcp_rejects_everything_else() {
    for line in [
        "Fast Refresh",
        "[]",
        "{}",
        r#"{"jsonrpc":"2.0","id":"x"}"#,
        r#"{"id":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":{},"error":{}}"#,
    ] {
        assert_eq!(broken(vec![Event::Got(line.into())]), ["I3 stdout-is-mcp"], "{line}");
    }
}

#[test]
fn bounded_rejects_each_bound_that_is_passed() {
    let many = 10_000;
    for sizes in [
        Sizes { open: many, ..Sizes::default() },
        Sizes { queued: many, ..Sizes::default() },
        Sizes { held: many, ..Sizes::default() },
        Sizes { edge: many, ..Sizes::default() },
    ] {
        assert_eq!(broken(vec![Event::Sized(sizes)]), ["I4 bounded"], "{sizes:?}");
    }
}

#[test]
fn recovery_rejects_never_late_and_a_failure_afterwards() {
    assert_eq!(broken(vec![Event::Healed]), ["I5 recovery"]);
    assert_eq!(broken(vec![Event::Healed, Event::Recovered(Duration::from_secs(60))]), ["I5 recovery"]);
    let at = |seconds, what| Entry { at: Duration::from_secs(seconds), what };
    let slow = History(vec![
        at(0, Event::Healed),
        at(9, Event::FrameIn(1, "x".into())),
        at(9, Event::Recovered(Duration::from_secs(9))),
    ]);
    assert!(check(&slow).iter().any(|verdict| verdict.name == "I5 recovery" && verdict.violations.len() == 1));
    let relapse =
        vec![Event::Healed, Event::Recovered(Duration::ZERO), ask(1, "echo", "a"), got(1, "Not executed: lost", true)];
    assert_eq!(broken(relapse), ["I5 recovery"]);
    let said = "Not executed: Unity's tool list could not be had within 7.0 s.";
    let forgotten = vec![Event::Healed, ask(1, "echo", "a"), got(1, said, true), Event::Recovered(Duration::ZERO)];
    assert_eq!(broken(forgotten), ["I5 recovery"]);
}

#[test]
fn orderly_end_rejects_a_late_end_another_reason_and_what_is_left() {
    assert_eq!(broken(vec![Event::InputClosed]), ["I6 orderly-end"]);
    assert_eq!(broken(vec![Event::InputClosed, Event::Ended("exhausted")]), ["I6 orderly-end"]);
    assert_eq!(broken(vec![Event::Dialed(1), Event::Ended("input_ended")]), ["I6 orderly-end"]);
    assert_eq!(broken(vec![Event::PermitsLeft(0)]), ["I6 orderly-end"]);
}

#[test]
fn total_rejects_surprises_and_panics() {
    assert_eq!(broken(vec![Event::Unexpected("x".into())]), ["I7 total"]);
    assert_eq!(broken(vec![Event::Panicked("x".into())]), ["I7 total"]);
}

#[test]
fn right_editor_rejects_a_call_in_a_strangers_ear_also_in_pieces() {
    let heard = |text: &str| Event::StrangerHeard(text.into());
    assert_eq!(broken(vec![heard(r#"{"method":"set-client-name"}"#)]), [""; 0]);
    assert_eq!(broken(vec![heard(r#"{"method":"count"}"#)]), ["I9 right-editor"]);
    assert_eq!(broken(vec![heard(r#"{"meth"#), heard(r#"od":"count"}"#)]), ["I9 right-editor"]);
}

#[test]
fn one_connection_rejects_a_second() {
    assert_eq!(broken(vec![Event::Dialed(1), Event::Dialed(2)]), ["I8 one-connection"]);
}

#[test]
fn epoch_fence_rejects_another_calls_answer() {
    let stolen = vec![ask(1, "echo", "a"), got(1, "{\"Echo\":\"b\"}", false)];
    assert_eq!(broken(stolen), ["I10 epoch-fence"]);
}

#[test]
fn deadline_rejects_a_late_answer_unless_the_client_did_not_read() {
    let at = |ms, what| Entry { at: Duration::from_millis(ms), what };
    let late = History(vec![at(0, ask(1, "fail", "")), at(101, got(1, "", true))]);
    let names = |history: &History| -> Vec<&str> {
        check(history)
            .into_iter()
            .filter(|verdict| !verdict.violations.is_empty())
            .map(|verdict| verdict.name)
            .collect()
    };
    assert_eq!(names(&late), ["I11 deadline"]);
    let mut paused = late.clone();
    paused.0.insert(1, at(50, Event::ReadingPaused(Duration::from_millis(10))));
    assert_eq!(names(&paused), [""; 0]);
}

#[test]
fn order_rejects_progress_that_falls_repeats_or_follows_the_answer() {
    assert_eq!(broken(vec![ask(1, "fail", ""), progress(1, 2), progress(1, 1), got(1, "", true)]), ["I13 order"]);
    assert_eq!(broken(vec![ask(1, "fail", ""), progress(1, 1), progress(1, 1), got(1, "", true)]), ["I13 order"]);
    assert_eq!(broken(vec![ask(1, "fail", ""), got(1, "", true), progress(1, 1)]), ["I13 order"]);
    assert_eq!(broken(vec![progress(7, 1)]), ["I13 order"]);
}
