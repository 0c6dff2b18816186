//! Answers that no JSON parser reads. Each is given once, costs no other call anything, and is sent for once.

use holdfast_fake_unity::{Package, Task};
use serde_json::json;

use super::expected::packages;
use super::stage::{self, Stage};
use crate::process::client::{Answer, Client, Verdict};
use crate::process::room::until;

/// The forms of an odd answer, as the fake editor names them.
const KINDS: [&str; 9] = ["140", "5000", "200000", "nan", "control", "number", "surrogate", "utf8", "torn"];

/// What the connection's end leaves in the log.
fn ends(client: &Client) -> usize {
    client.log().matches("\"link_down\"").count()
}

/// Waits for an answer that is there at once: the client of the test waits less long than the gateway lets a call run.
fn soon(client: &mut Client, id: u64, what: &str) -> Answer {
    let answer = client.answer(id);
    assert!(!answer.text().contains("Still running"), "{what}: {}", answer.0);
    answer
}

/// Plays one odd answer of a call that counts its runs.
fn answered_once(stage: &mut Stage, package: &Package, kind: &str) {
    let what = format!("{} {kind}", package.name);
    let ended = ends(&stage.client);
    stage.unity.say(&format!("odd {kind}"));
    let key = format!("odd {kind}");
    let id = stage.call(package, Task::Count, &key);
    let answer = soon(&mut stage.client, id, &what);
    let text = answer.text();
    // A torn result says nothing of success. Our own package and turbokettle say it beside the result.
    let proves_nothing = kind == "torn" && !package.facts.says_success_apart;
    let wanted = if proves_nothing { Verdict::ToolError } else { Verdict::Ok };
    assert!(!package.facts.results || answer.verdict() == wanted, "{what}: {}", answer.0);
    if package.facts.results {
        let shown = match kind {
            "140" | "5000" => text.contains("[[["),
            "200000" => text.contains("[[[") || text.contains(" in the file "),
            "utf8" => text.contains("not UTF-8") && text.contains(" in the file "),
            "nan" => text.contains("NaN"),
            "torn" => text.contains("he said"),
            _ => text.contains("Odd"),
        };
        assert!(shown, "{what}: {}", answer.0);
        let is_deep = kind.parse::<usize>().is_ok();
        let says = package.facts.text_results || matches!(kind, "number" | "surrogate") || text.starts_with("Executed");
        assert!(says && (is_deep || !text.contains("levels deep")), "{what}: {}", answer.0);
    }
    assert_eq!(stage.room.runs(&key), 1, "{what}");
    let next = stage.call(package, Task::Look, "seen");
    assert_eq!(soon(&mut stage.client, next, &what).verdict(), Verdict::Ok, "{what}");
    assert_eq!(ends(&stage.client), ended, "{what}: the connection stays");
}

#[test]
fn an_answer_that_cannot_be_read_is_given_once_and_costs_nothing_else() {
    for package in packages() {
        let mut stage = Stage::set(package);
        for kind in KINDS {
            answered_once(&mut stage, package, kind);
        }
        stage.end();
    }
}

#[test]
fn an_outcome_that_cannot_be_read_is_that_for_its_one_call() {
    let package = Package::that(|facts| facts.journal);
    for kind in ["125", "5000", "nan", "utf8", "torn"] {
        let mut stage = Stage::set(package);
        // Which calls may run beside others is known from the list, which is there when a call is answered.
        stage.client.echoes();
        // The journal's answer has three outcomes, one of which cannot be read.
        let mark = stage.unity.mark();
        let others = [0, 1].map(|_| stage.client.call("hold-parallel", &json!({})));
        stage.unity.say("lose");
        stage.unity.say(&format!("odd {kind}"));
        let odd = stage.call(package, Task::Count, "odd");
        stage.unity.hear(mark, |event| event["event"] == "call_ended" && event["tool"] == "count");
        stage.unity.say("reload 300");
        let answer = soon(&mut stage.client, odd, kind);
        match kind {
            "125" | "5000" => assert!(answer.verdict() == Verdict::Ok && answer.text().contains("[[["), "{}", answer.0),
            "nan" => assert!(answer.verdict() == Verdict::Ok && answer.text().contains("NaN"), "{}", answer.0),
            "utf8" => assert!(answer.verdict() == Verdict::Ok && answer.text().contains("not UTF-8"), "{}", answer.0),
            _ => assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0),
        }
        assert_eq!(stage.room.runs("odd"), 1);
        // The reload interrupted the others, which change nothing and so are sent again.
        for id in others {
            until("they are answered", || {
                stage.unity.say("release");
                stage.client.is_answered(id)
            });
            assert_eq!(stage.client.answer(id).verdict(), Verdict::Ok, "{kind}");
        }
        assert_eq!(ends(&stage.client), 1, "{kind}: only the reload ended a connection");
        stage.end();
    }
}

#[test]
fn the_next_gateway_inherits_no_loop() {
    let package = Package::that(|facts| facts.journal);
    for kind in ["5000", "nan", "torn"] {
        let mut stage = Stage::set(package);
        stage.unity.say("lose");
        stage.unity.say(&format!("odd {kind}"));
        let mark = stage.unity.mark();
        let _ = stage.call(package, Task::Count, "left");
        stage.unity.hear(mark, |event| event["event"] == "call_ended" && event["tool"] == "count");
        stage.client.kill();
        let flags = stage::flags(package, &stage.room, &stage.unity);
        let mut next = Client::open(&stage.room, &stage::words(&flags));
        let id = next.call("echo", &json!({"text": "next"}));
        assert_eq!(soon(&mut next, id, kind).verdict(), Verdict::Ok);
        assert_eq!((ends(&next), stage.room.runs("left")), (0, 1), "{kind}");
        next.close(&stage.room);
    }
}
