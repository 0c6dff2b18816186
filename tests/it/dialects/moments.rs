//! The moments (situations in a session). Each returns its outcome, and fails at once if something happens that no dialect
//! permits.

use std::time::Duration;

use holdfast_fake_unity::{Call, Package, Port, Task};
use serde_json::json;

use super::expected::Outcome;
use super::stage::{self, Stage, flags, words};
use super::{Room, until};
use crate::process::client::{Client, Verdict};
use crate::process::unity::Unity;

/// The session opens before there is an editor, and the tools appear when there is one.
pub fn open(package: &Package) -> Outcome {
    let room = Room::new();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir_all(room.project().join(folder)).expect("a folder");
    }
    let project = room.project().display().to_string();
    let look = package.calls(Task::Look, "seen").tool;
    // Some packages have more tools here than are listed at first.
    let (mut client, unity);
    if package.facts.port == Port::Told {
        let port = room.port().to_string();
        let flags = ["--project", &project, "--toolsets", look, "--dialect", package.name, "--port", &port];
        client = Client::open(&room, &flags);
        client.tools();
        unity = Unity::of_project(&room, &["--dialect", package.name, "--port", &port]);
    } else {
        client = Client::open(&room, &["--project", &project, "--toolsets", look, "--hub", "never"]);
        client.tools();
        unity = stage::start(package, &room);
    }
    until("the tools are listed", || client.tools().iter().any(|tool| tool == look));
    client.close(&room);
    drop(unity);
    Outcome::Answered
}

/// The tool list comes from the editor, and follows its changes.
pub fn list(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    let before = stage.client.tools();
    let announced = |stage: &Stage| stage.client.notified("notifications/tools/list_changed");
    let told = announced(&stage);
    stage.unity.say("addtool later");
    let outcome = if package.facts.fixed_list {
        assert_eq!(stage.client.tools(), before);
        Outcome::Fixed
    } else {
        if !package.facts.tells_of_changes {
            // Without an announcement, the list is read again only on a new connection.
            stage.unity.say("reload 50");
        }
        until("it is announced", || announced(&stage) > told);
        until("it is listed", || stage.client.tools().iter().any(|tool| tool == "later"));
        Outcome::Live
    };
    stage.end();
    outcome
}

/// A call and its answer.
pub fn call(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    let id = stage.call(package, Task::Look, "seen");
    let answer = stage.client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    let id = stage.call(package, Task::Count, "once");
    let answer = stage.client.answer(id);
    assert_eq!((answer.verdict(), stage.room.runs("once")), (Verdict::Ok, 1), "{}", answer.0);
    let outcome = if answer.text().contains("\"result\":null") { Outcome::RanWithoutResult } else { Outcome::Answered };
    stage.end();
    outcome
}

/// The editor reloads while a call runs and another waits.
pub fn reload_in_a_call(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    let Some(cut) = begin(&mut stage, package) else { return queued(stage, package) };
    let behind = stage.call(package, Task::Count, "behind");
    stage.unity.say("reload 300");
    let answer = stage.client.answer(cut);
    assert_eq!((answer.verdict(), stage.room.runs("cut")), (Verdict::Unknown, 1), "{}", answer.0);
    let answer = stage.client.answer(behind);
    assert_eq!((answer.verdict(), stage.room.runs("behind")), (Verdict::Ok, 1), "{}", answer.0);
    stage.end();
    Outcome::Unknown
}

/// Begins a call and returns its id while it is not answered; `None` if the package answers before a call has ended.
fn begin(stage: &mut Stage, package: &Package) -> Option<u64> {
    package.facts.results.then(|| stage.hold(package, "cut"))
}

/// For a package that answers before a call has ended: calls that are queued at a reload are lost, and their answer has
/// already said that they were not complete.
fn queued(mut stage: Stage, package: &Package) -> Outcome {
    stage.unity.say("modal on");
    let id = stage.call(package, Task::Count, "cut");
    let answer = stage.client.answer(id);
    assert!(answer.text().contains("\"is_complete\":false"), "{}", answer.0);
    stage.unity.say("reload 300");
    stage.unity.say("modal off");
    let id = stage.call(package, Task::Count, "behind");
    assert_eq!((stage.client.answer(id).verdict(), stage.room.runs("behind")), (Verdict::Ok, 1));
    assert_eq!(stage.room.runs("cut"), 0, "what was queued is lost, and not sent again");
    stage.end();
    Outcome::Queued
}

/// The editor reloads after a call has ended and before its answer is sent.
pub fn reload_before_the_answer(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    stage.unity.say("lose");
    let mark = stage.unity.mark();
    let id = stage.call(package, Task::Count, "told late");
    stage.unity.hear(mark, |event| event["event"] == "call_ended");
    stage.unity.say("reload 300");
    // The connection of the lost answer may have ended before.
    stage.unity.hear(mark, |event| event["event"] == "reload_begun");
    let answer = stage.client.answer(id);
    assert_eq!(stage.room.runs("told late"), 1, "{}", answer.0);
    let outcome = match answer.verdict() {
        Verdict::Ok => {
            assert!(answer.text().contains("told late"), "the editor's own result: {}", answer.0);
            Outcome::Answered
        }
        Verdict::Unknown => Outcome::Unknown,
        other => panic!("{other:?}: {}", answer.0),
    };
    let id = stage.call(package, Task::Count, "behind");
    assert_eq!((stage.client.answer(id).verdict(), stage.room.runs("told late")), (Verdict::Ok, 1));
    stage.end();
    outcome
}

/// The editor's process is killed while a call runs.
pub fn kill_in_a_call(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    let cut = if let Some(cut) = begin(&mut stage, package) {
        cut
    } else {
        // A stopped process accepts connections and does not answer, so the call is held and not sent.
        let looked = stage.call(package, Task::Look, "seen");
        stage.client.answer(looked);
        stage.unity.stop();
        let cut = stage.call(package, Task::Count, "cut");
        until("it waits for the editor", || {
            stage.client.done("holdfast_calls", &json!({})).text().contains(r#""waits_for": "stalled""#)
        });
        cut
    };
    stage.unity.kill();
    let port = stage.unity.port.to_string();
    let next = Unity::of_project(&stage.room, &["--dialect", package.name, "--port", &port]);
    let answer = stage.client.answer(cut);
    let runs = stage.room.runs("cut");
    let id = stage.call(package, Task::Count, "next");
    let after = stage.client.answer(id);
    assert_eq!((after.verdict(), stage.room.runs("next")), (Verdict::Ok, 1), "{}", after.0);
    assert!(stage.room.runs("cut") == runs && runs <= 1, "it was sent again");
    stage.end();
    drop(next);
    match answer.verdict() {
        // This call was never sent. A call whose first byte had been sent would be "unknown".
        Verdict::Ok if runs == 1 && !package.facts.results => Outcome::HeldOrUnknown,
        Verdict::Unknown if package.facts.results => Outcome::Unknown,
        other => panic!("{other:?}: {}", answer.0),
    }
}

/// A call is made while the editor reloads.
pub fn call_while_away(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    stage.unity.say("reload 800");
    // A call that is written before the gateway notices the end of the connection may be lost with it; another moment covers
    // that.
    until("the gateway sees it", || stage.client.log().contains(r#""event":"link_down""#));
    let id = stage.call(package, Task::Count, "held");
    let answer = stage.client.answer(id);
    assert_eq!((answer.verdict(), stage.room.runs("held")), (Verdict::Ok, 1), "{}", answer.0);
    stage.end();
    Outcome::Held
}

/// Two editors, each with its own project and gateway.
pub fn two_editors(package: &Package) -> Outcome {
    let mut stages = [Stage::set(package), Stage::set(package)];
    for (number, stage) in stages.iter_mut().enumerate() {
        let key = format!("of {number}");
        let id = stage.call(package, Task::Count, &key);
        assert_eq!((stage.client.answer(id).verdict(), stage.room.runs(&key)), (Verdict::Ok, 1));
    }
    if package.facts.port == Port::Told {
        // The port of the other editor, with this editor's project: the owner of the port is not the project's editor.
        let [one, other] = &mut stages;
        let port = other.unity.port.to_string();
        let project = one.room.project().display().to_string();
        let mut client = Client::open(&one.room, &["--project", &project, "--port", &port]);
        let Call { tool, arguments, .. } = package.calls(Task::Count, "astray");
        let answer = client.done(tool, &arguments);
        let astray = other.room.runs("astray");
        client.close(&one.room);
        for stage in stages {
            stage.end();
        }
        return if (answer.verdict(), astray) == (Verdict::NotExecuted, 0) {
            Outcome::OwnEditor
        } else {
            Outcome::Assumed
        };
    }
    for stage in stages {
        stage.end();
    }
    Outcome::OwnEditor
}

/// A call that runs is cancelled.
pub fn cancel(package: &Package) -> Outcome {
    let mut stage = Stage::set(package);
    let Some(id) = begin(&mut stage, package) else {
        stage.end();
        return Outcome::TooQuick;
    };
    stage.client.cancel(id);
    let behind = stage.call(package, Task::Count, "behind");
    // The editor's slot becomes free at once if the call can be withdrawn; otherwise when the editor has answered, which it
    // cannot do before `release`.
    let withdrawn = stage.client.answered_before(behind, Duration::from_secs(3));
    stage.unity.say("release");
    assert_eq!((stage.client.answer(behind).verdict(), stage.room.runs("behind")), (Verdict::Ok, 1));
    assert!(!stage.client.is_answered(id), "what was cancelled is answered");
    stage.end();
    if withdrawn { Outcome::Withdrawn } else { Outcome::Silent }
}

/// The client's patience ends before the call does, and the client fetches the result later.
pub fn late_result(package: &Package) -> Outcome {
    let mut stage = Stage::impatient(package);
    let Some(id) = begin(&mut stage, package) else {
        stage.end();
        return Outcome::NoLateResult;
    };
    let answer = stage.client.answer(id);
    assert_eq!(answer.verdict(), Verdict::StillRunning, "{}", answer.0);
    let text = answer.text();
    let call = text.split('"').nth(1).expect("a call id").to_owned();
    stage.unity.say("release");
    until("the late result is there", || {
        let late = stage.client.done("holdfast_result", &json!({"call_id": call}));
        late.verdict() == Verdict::Ok && late.text().contains("cut")
    });
    assert_eq!(stage.room.runs("cut"), 1);
    stage.end();
    Outcome::Fetched
}

/// stdin ends: the gateway ends, and the editor stays.
pub fn end_of_stdin(package: &Package) -> Outcome {
    let Stage { room, mut unity, client } = Stage::set(package);
    client.close(&room);
    let mut client = Client::open(&room, &words(&flags(package, &room, &unity)));
    let Call { tool, arguments, .. } = package.calls(Task::Look, "seen");
    assert_eq!(client.done(tool, &arguments).verdict(), Verdict::Ok);
    client.close(&room);
    unity.stats();
    Outcome::Gone
}
