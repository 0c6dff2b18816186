//! Tests each checker with a history that it must reject, and with a similar history that it must accept.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_fake_unity::Package;

use super::*;
use crate::history::Ask;
use crate::history::Event;
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

fn told(line: &str) -> Event {
    Event::Told(line.to_owned())
}

/// Returns the names of the checkers that find a violation. "I14 truth" is ignored for a history without a log, because most of
/// these histories test something else.
fn names(history: &History) -> Vec<&'static str> {
    let logged = history.0.iter().any(|entry| matches!(entry.what, Event::Told(_)));
    let broken =
        check(history).into_iter().filter(|verdict| !verdict.violations.is_empty()).map(|verdict| verdict.name);
    broken.filter(|name| logged || *name != "I14 truth").collect()
}

fn broken(events: Vec<Event>) -> Vec<&'static str> {
    names(&History::of(events))
}

const CALL: &str = "01b622b5-6a0f-40f3-bd32-16ac3afd7786";

#[test]
fn a_good_history_passes_every_checker() {
    let good = vec![
        ask(1, "count", "a"),
        progress(1, 1),
        Event::Dialed(1),
        told("link_up epoch=1 port=8701"),
        told(&format!("call_accepted call={CALL} tool=count mcp_id=1")),
        told(&format!("call_sent call={CALL} epoch=1 wire=3")),
        frame(&format!("{CALL}.3"), "count"),
        Event::Ran("a".into(), 1),
        Event::FrameIn(1, format!("{CALL}.3")),
        told(&format!("call_answered call={CALL} tool=count verdict=\"ok\" cause=\"\" millis=1")),
        got(1, "{\"Key\":\"a\"}", false),
        Event::Sized(Sizes { open: 1, ..Sizes::default() }),
        Event::Reloads,
        told("link_down epoch=1 reason=reload"),
        Event::HungUp(1),
        Event::Dialed(2),
        Event::Healed,
        Event::FrameIn(2, "x".into()),
        Event::Recovered(Duration::from_millis(1)),
        Event::InputClosed,
        Event::HungUp(2),
        Event::Ended("input_ended"),
        Event::Left(Sizes::default()),
        Event::PermitsLeft(1),
        totals("a", 1),
    ];
    assert_eq!(broken(good), [""; 0]);
}

#[test]
fn grounded_rejects_a_reload_that_the_editor_has_not_made() {
    let up = |epoch: u64| told(&format!("link_up epoch={epoch} port=8701"));
    let down = |reason: &str| told(&format!("link_down epoch=1 reason=\"{reason}\""));
    let counted = |result: &str| told(&format!("reload_ended result=\"{result}\""));
    let said = |text: &str| {
        let params = serde_json::json!({"progressToken": 1, "progress": 1, "message": text});
        let line = serde_json::json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        Event::Got(line.to_string())
    };
    let is_told = |events: Vec<Event>| broken(events).contains(&"I19 grounded");
    assert!(is_told(vec![up(1), down("reload")]));
    assert!(is_told(vec![up(1), down("silence"), Event::Named("reloading")]));
    assert!(is_told(vec![up(1), down("silence"), up(2), counted("completed")]));
    assert!(is_told(vec![up(1), down("silence"), said("held, not sent yet: Unity is reloading its domain")]));
    // An earlier reload is not evidence.
    let earlier = vec![
        up(1),
        Event::Reloads,
        down("reload"),
        Event::Dialed(2),
        up(2),
        down("silence"),
        Event::Named("reloading"),
    ];
    assert!(is_told(earlier));
    let good = vec![
        up(1),
        Event::Reloads,
        down("reload"),
        Event::Named("reloading"),
        said("held, not sent yet: Unity is reloading its domain"),
        up(2),
        counted("completed"),
    ];
    assert!(!is_told(good));
    let presumed = vec![
        up(1),
        down("disconnect"),
        said("held, not sent yet: the bridge stopped, probably for a domain reload"),
        up(2),
        counted("presumed"),
    ];
    assert!(!is_told(presumed));
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
fn what_nobody_read_at_the_end_may_lack_and_be_cut_and_nothing_else_may() {
    let pause = |ms| Event::ReadingPaused(Duration::from_millis(ms));
    let cut = || Event::Got("{\"jsonrpc\":\"2.0\",\"id\":1,\"res".into());
    let history = |pause, rest: Vec<Event>| {
        let mut events = vec![ask(1, "fail", ""), pause, Event::InputClosed, Event::Ended("input_ended")];
        events.extend(rest);
        broken(events)
    };
    assert_eq!(history(pause(60), vec![]), [""; 0]);
    assert_eq!(history(pause(60), vec![cut()]), [""; 0]);
    assert_eq!(history(pause(60), vec![got(1, "", true), got(1, "", true)]), ["I1 answer-once"]);
    assert_eq!(history(pause(60), vec![cut(), got(1, "", true)]), ["I3 stdout-is-mcp"]);
    // The client read again before the end.
    assert_eq!(history(pause(1), vec![cut()]), ["I1 answer-once", "I3 stdout-is-mcp"]);
}

#[test]
fn at_most_once_rejects_a_second_run_and_a_second_frame() {
    assert_eq!(broken(vec![totals("a", 2)]), ["I2 at-most-once"]);
    let (first, second) = (format!("{CALL}.3"), format!("{CALL}.4"));
    let on = |connection, id: &str, method: &str| Event::FrameOut(connection, method.into(), id.into());
    assert_eq!(broken(vec![on(1, &first, "count"), on(2, &second, "count")]), ["I2 at-most-once"]);
    assert_eq!(broken(vec![on(1, &first, "get-logs"), on(2, &second, "get-logs")]), [""; 0]);
    let four = (1..=4).map(|n| on(n, &format!("{CALL}.{n}"), "get-logs")).collect();
    assert_eq!(broken(four), ["I2 at-most-once", "I2 grounds"]);
    // Between two attempts to send a call, the connection must be replaced by a new one with a new greeting.
    let same = vec![on(1, &first, "get-logs"), Event::FrameIn(1, first.clone()), on(1, &second, "get-logs")];
    assert_eq!(broken(same), ["I2 grounds"]);
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
fn bounded_rejects_what_the_neighbours_see_beyond_a_bound() {
    // A second request while the first is unanswered, though the bridge takes one at a time.
    assert_eq!(broken(vec![frame("holdfast.1", "get-tool-details"), frame("holdfast.2", "x")]), ["I4 bounded"]);
    let answered = Event::FrameIn(1, "holdfast.1".into());
    assert_eq!(broken(vec![frame("holdfast.1", "x"), answered, frame("holdfast.2", "x")]), [""; 0]);
    assert_eq!(broken(vec![frame("holdfast.1", "x"), Event::HungUp(1), frame("holdfast.2", "x")]), [""; 0]);
    // More than `OPEN_REQUESTS_MAX` open requests, and none is refused.
    let held = |count: u64| History::of((1..=count).map(|id| ask(id, "fail", "")));
    let bounded = |history: &History| names(history).contains(&"I4 bounded");
    assert!(bounded(&held(600)) && !bounded(&held(256)));
    // A client that does not read gets more requests accepted than all queues together can hold.
    let taken = |count: u64| {
        let pause = Event::ReadingPaused(Duration::from_secs(60));
        History::of(std::iter::once(pause).chain((1..=count).map(|id| ask(id, "fail", ""))))
    };
    assert!(bounded(&taken(11_000)) && !bounded(&taken(5_000)));
}

const ACCEPTED: &str = "call_accepted call=01b622b5-6a0f-40f3-bd32-16ac3afd7786 tool=fail mcp_id=1";

fn sent(epoch: u64) -> Event {
    told(&format!("call_sent call={CALL} epoch={epoch} wire=3"))
}

fn ended(verdict: &str, cause: &str) -> Event {
    told(&format!("call_answered call={CALL} tool=fail verdict=\"{verdict}\" cause=\"{cause}\" millis=1"))
}

fn down(epoch: u64, reason: &str) -> Event {
    told(&format!("link_down epoch={epoch} reason={reason}"))
}

fn up(epoch: u64) -> Event {
    told(&format!("link_up epoch={epoch} port=8701 source=\"settings\""))
}

#[test]
fn grounds_reject_a_verdict_that_nothing_on_the_wire_bears_out() {
    let out = || frame(&format!("{CALL}.3"), "fail");
    let back = || Event::FrameIn(1, format!("{CALL}.3"));
    let run = |events: Vec<Event>| broken([vec![ask(1, "fail", ""), told(ACCEPTED)], events].concat());
    // "Not executed", although the call's frame was sent.
    let lie = vec![sent(1), out(), ended("not_executed", "lost"), got(1, "Not executed: lost", true)];
    assert_eq!(run(lie), ["I2 grounds"]);
    let away = Event::TurnedAway(1, format!("{CALL}.3"));
    let proven = vec![sent(1), out(), away, ended("not_executed", "lost"), got(1, "Not executed: lost", true)];
    assert_eq!(run(proven), [""; 0]);
    // An answer that the editor did not give.
    assert_eq!(run(vec![sent(1), out(), ended("tool_error", ""), got(1, "", true)]), ["I2 grounds"]);
    assert_eq!(run(vec![sent(1), out(), back(), ended("tool_error", ""), got(1, "", true)]), [""; 0]);
    // "Unknown", although the call's connection is up, ended for another reason, or another connection ended.
    let unknown = || vec![ended("outcome_unknown", "silence"), got(1, "Outcome unknown: silence", true)];
    assert_eq!(run([vec![up(1), sent(1), out()], unknown()].concat()), ["I2 grounds"]);
    for (epoch, reason, names) in
        [(1, "silence", vec![]), (1, "disconnect", vec!["I2 grounds"]), (2, "silence", vec!["I2 grounds"])]
    {
        let events = vec![up(epoch), sent(1), out(), down(epoch, reason)];
        assert_eq!(run([events, unknown()].concat()), names, "{epoch} {reason}");
    }
    // "Still running", long before the client's patience ends, or although the call was never sent.
    let patient = Ask { method: "tools/call", tool: "fail", allowed: Duration::from_secs(30), ..Ask::default() };
    let early = vec![
        Event::Asked(1, patient),
        told(ACCEPTED),
        sent(1),
        ended("still_running", ""),
        got(1, "Still running: yes", true),
    ];
    assert_eq!(broken(early), ["I2 grounds"]);
    assert_eq!(run(vec![ended("still_running", ""), got(1, "Still running: yes", true)]), ["I2 grounds"]);
}

#[test]
fn grounds_reject_an_interruption_that_the_editor_did_not_tell_for_each_call() {
    let other = CALL.replace('0', "5");
    let call = |id: u64, call: &str| {
        vec![
            ask(id, "fail", ""),
            told(&format!("call_accepted call={call} tool=fail mcp_id={id}")),
            told(&format!("call_sent call={call} epoch=1 wire={id}")),
            Event::FrameOut(id, "fail".into(), format!("{call}.{id}")),
            Event::HungUp(id),
            told(&format!(
                "call_answered call={call} tool=fail verdict=\"outcome_unknown\" cause=\"interrupted\" millis=1"
            )),
            got(id, "Outcome unknown: interrupted", true),
        ]
    };
    let speaks = Event::Speaks(Package::that(|facts| facts.jobs));
    let said = |connection: u64, job: &str| Event::Outcome(connection, job.into(), "interrupted".into());
    let run = |said: Vec<Event>, calls: usize| {
        let calls = [call(1, CALL), call(2, &other)].into_iter().take(calls).flatten();
        broken([vec![speaks.clone()], said, calls.collect()].concat())
    };
    assert_eq!(run(vec![said(8, "1")], 1), [""; 0]);
    assert_eq!(run(vec![], 1), ["I2 grounds"]);
    assert_eq!(run(vec![said(8, "1"), said(8, "2")], 2), [""; 0]);
    assert_eq!(run(vec![said(8, "1"), said(9, "1")], 2), [""; 0], "another process has jobs of the same names");
    assert_eq!(run(vec![said(8, "1"), said(8, "1")], 2), ["I2 grounds"], "it said so of one job");
}

#[test]
fn grounds_reject_a_forgotten_job_of_an_editor_whose_server_was_not_started_again() {
    let lost = |first: &[Event], between: &[Event]| {
        let sent = vec![
            ask(1, "fail", ""),
            told(&format!("call_accepted call={CALL} tool=fail mcp_id=1")),
            told(&format!("call_sent call={CALL} epoch=1 wire=1")),
            Event::FrameOut(1, "fail".into(), format!("{CALL}.1")),
            Event::HungUp(1),
        ];
        let ended = vec![
            told(&format!(
                "call_answered call={CALL} tool=fail verdict=\"outcome_unknown\" cause=\"forgotten\" millis=1"
            )),
            got(1, "Outcome unknown: forgotten", true),
        ];
        broken([first, &sent, between, &ended].concat())
    };
    let jobs = Event::Speaks(Package::that(|facts| facts.jobs));
    assert_eq!(lost(std::slice::from_ref(&jobs), &[Event::Listens(1)]), [""; 0], "the editor had forgotten the job");
    assert_eq!(lost(std::slice::from_ref(&jobs), &[]), ["I2 grounds"]);
    assert_eq!(lost(&[jobs, Event::Listens(1)], &[]), ["I2 grounds"], "that was before the call");
    assert_eq!(lost(&[], &[Event::Listens(1)]), ["I2 grounds"], "without jobs only the connection tells");
}

#[test]
fn discretion_rejects_secrets_and_raw_text_in_the_log() {
    assert_eq!(broken(vec![told("call_accepted arguments={\"key\":\"count-canary-1\"}")]), ["I12 discretion"]);
    for raw in ["a\nb", "a\u{1b}[31m", "a\u{202e}b", "a\u{2028}b"] {
        assert_eq!(broken(vec![told(&format!("wrong_peer said={raw}"))]), ["I12 discretion"]);
    }
    assert_eq!(broken(vec![told(&format!("wrong_peer said={}", "x".repeat(10_000)))]), ["I12 discretion"]);
    assert_eq!(broken(vec![told("wrong_peer said=a\\u{a}b")]), [""; 0]);
}

#[test]
fn truth_rejects_a_log_that_does_not_balance() {
    let over = Event::Ended("input_ended");
    let noted = |verdict: &str| told(&format!("call_noted call={CALL} tool=fail verdict=\"{verdict}\""));
    let refused = || ended("not_executed", "lost");
    let run =
        |events: Vec<Event>| broken([vec![ask(1, "fail", ""), told(ACCEPTED)], events, vec![over.clone()]].concat());
    let said = || got(1, "Not executed: lost", true);
    assert_eq!(run(vec![refused(), said()]), [""; 0]);
    assert_eq!(run(vec![noted("cancelled"), Event::Cancelled(1)]), [""; 0]);
    // No end, two ends, an invalid end, and an end that differs from the client's answer.
    assert_eq!(run(vec![said()]), ["I14 truth"]);
    assert_eq!(run(vec![refused(), refused(), said()]), ["I14 truth"]);
    assert_eq!(run(vec![noted("ok"), said()]), ["I14 truth"]);
    assert_eq!(run(vec![refused(), got(1, "Outcome unknown: lost", true)]), ["I14 truth"]);
    // An id that is used twice: the call that was not cancelled belongs
    // to the second request, and the cancelled request has no other call.
    const FIRST: &str = "0a0a0a0a-6a0f-40f3-bd32-16ac3afd7786";
    let again = |events: Vec<Event>| {
        let allowed = Duration::from_millis(100);
        let under = Ask { method: "tools/call", tool: "fail", under: Some(1), allowed, ..Ask::default() };
        let asked = vec![ask(1, "fail", ""), Event::Cancelled(1), Event::Asked(2, under), told(ACCEPTED), refused()];
        broken([asked, events, vec![got(2, "Not executed: lost", true), over.clone()]].concat())
    };
    let first = |line: &str| told(&format!("{line} call={FIRST} tool=fail mcp_id=1 verdict=\"cancelled\""));
    assert_eq!(again(vec![]), [""; 0]);
    assert_eq!(again(vec![first("call_accepted"), first("call_noted")]), [""; 0]);
    assert_eq!(again(vec![first("call_accepted"), first("call_answered")]), ["I14 truth"]);
    // Ends of calls and connections that never began.
    assert_eq!(broken(vec![refused()]), ["I14 truth"]);
    // Connections.
    assert_eq!(broken(vec![up(1), down(1, "silence"), over.clone()]), [""; 0]);
    for events in [
        vec![up(1)],
        vec![up(1), up(2), down(2, "silence")],
        vec![up(1), down(2, "silence")],
        vec![down(1, "silence")],
        vec![up(1), down(1, "silence"), down(1, "silence")],
    ] {
        assert_eq!(broken([events, vec![over.clone()]].concat()), ["I14 truth"]);
    }
    // The status.
    let status = |connections: u64| {
        let line = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"editor": {"connections": connections}}},
        });
        broken(vec![up(1), down(1, "silence"), ask(1, "holdfast_status", ""), Event::Got(line.to_string())])
    };
    assert_eq!(status(1), [""; 0]);
    assert_eq!(status(2), ["I14 truth"]);
    // Calls and requests that are still open at the end.
    let left = |sizes| broken(vec![told("x"), Event::Left(sizes)]);
    assert_eq!(left(Sizes { open: 1, ..Sizes::default() }), ["I14 truth"]);
    assert_eq!(left(Sizes { held: 1, ..Sizes::default() }), ["I14 truth"]);
    assert_eq!(left(Sizes { flying: 1, ..Sizes::default() }), ["I14 truth"]);
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
    // The client gave up.
    let left = History(vec![
        at(0, Event::Healed),
        at(1, Event::FrameIn(1, "x".into())),
        at(61, Event::InputClosed),
        at(61, Event::Ended("input_ended")),
    ]);
    assert!(check(&left).iter().any(|verdict| verdict.name == "I5 recovery" && verdict.violations.len() == 1));
    let relapse =
        vec![Event::Healed, Event::Recovered(Duration::ZERO), ask(1, "echo", "a"), got(1, "Not executed: lost", true)];
    assert_eq!(broken(relapse), ["I5 recovery"]);
    let said = "Not executed: Unity did not send its tool list within 7.0 s.";
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
    let on = |port, text: &str| Event::StrangerHeard(port, text.into());
    let heard = |text| on(1, text);
    assert_eq!(broken(vec![heard(r#"{"method":"set-client-name"}"#)]), [""; 0]);
    assert_eq!(broken(vec![heard(r#"{"method":"#)]), [""; 0]);
    assert_eq!(broken(vec![heard(r#"{"method":"count"}"#)]), ["I9 right-editor"]);
    assert_eq!(broken(vec![heard(r#"{"meth"#), heard(r#"od":"count"}"#)]), ["I9 right-editor"]);
    let cut = r#"{"method":"set-cli"#;
    assert_eq!(
        broken(vec![heard(cut), on(2, "Content-Length: 2"), on(2, "{}")]),
        [""; 0],
        "the cut name ends with its connection"
    );
    assert_eq!(broken(vec![heard(cut), on(2, r#"{"method":"count"}"#)]), ["I9 right-editor"]);
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

#[test]
fn over_http_one_connection_asks_and_an_answer_bears_its_calls_id() {
    let speaks = || Event::Speaks(Package::that(|facts| !facts.results));
    let out = |connection, tool: &str| Event::FrameOut(connection, tool.into(), format!("holdfast.{connection}"));
    let beside = vec![speaks(), Event::Dialed(1), Event::Dialed(2), Event::Dialed(3), out(3, "/ping")];
    assert_eq!(broken(beside.clone()), [""; 0], "one idle, one for the call, one that greets");
    let two_ask = [beside, vec![out(2, "/ping")]].concat();
    assert!(broken(two_ask).contains(&"I8 one-connection"));
    let heard = |text: &str| vec![speaks(), Event::StrangerHeard(1, text.into())];
    assert_eq!(broken(heard("GET /ping HTTP/1.1\r\n\r\n")), [""; 0]);
    assert_eq!(broken(heard("POST /api/CodeExecution/execute-code HTTP/1.1\r\n\r\n")), ["I9 right-editor"]);
}
