//! The editor's process is killed, stopped, or crashes.

use std::time::Instant;

use serde_json::json;

use super::stage::{self, Stage, on_both};
use super::{SOON, Verdict, until};

#[test]
fn an_editor_killed_amid_calls_costs_what_was_under_way_and_nothing_else() {
    on_both("editor-killed", &["P01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let nonce = stage.instance()["nonce"].clone();
        for round in 0..3 {
            let key = |name: &str| format!("{name}{round}");
            let beside = stage.begun("wait", &json!({"key": key("beside"), "ms": 60_000}));
            let held = stage.begun("count", &json!({"key": key("held"), "hold": true}));
            let behind = stage.client.call("count", &json!({"key": key("behind")}));
            stage.unity.kill();
            scenario.record.injected("SIGKILL of the editor");
            stage.restart_editor(&[]);
            for id in [beside, held] {
                let answer = stage.client.answer(id);
                assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
                scenario.verdict(answer.verdict());
            }
            // This call waited behind a serial call, and had not even been sent.
            assert_eq!(stage.client.answer(behind).verdict(), Verdict::Ok);
            assert_eq!(stage.client.done("count", &json!({"key": key("after")})).verdict(), Verdict::Ok);
            for name in ["beside", "held", "behind", "after"] {
                assert_eq!(stage.room.runs(&key(name)), 1, "{name}");
                scenario.record.checked("I2", 1);
            }
            scenario.record.checked("I5", 1);
        }
        assert_ne!(stage.instance()["nonce"], nonce, "another process has another journal");
        stage.close(scenario);
    });
}

/// Far longer than the silence after which the gateway gives up the connection.
const STOPPED_SECS: u64 = 12;

#[test]
fn a_stopped_editor_is_noticed_by_its_heartbeat_and_its_journal_tells_what_became_of_the_calls() {
    on_both("editor-stopped", &["P02", "N01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let beside = stage.begun("wait", &json!({"key": "beside", "ms": 500}));
        let work = stage.begun("work", &json!({"key": "work", "ms": 500}));
        let (stopped, logged) = (Instant::now(), stage.log_end());
        stage.unity.stop();
        scenario.record.injected("SIGSTOP of the editor");
        stage.logged(logged, "link_down");
        scenario.record.figure("stop_noticed_ms", stopped.elapsed().as_secs_f64() * 1000.0);
        let status = stage.client.done("holdfast_status", &json!({}));
        assert!(!status.text().contains(r#""ready":true"#), "{}", status.text());
        let later = stage.client.call("count", &json!({"key": "later"}));
        std::thread::sleep(std::time::Duration::from_secs(STOPPED_SECS).saturating_sub(stopped.elapsed()));
        assert!(![beside, work, later].iter().any(|id| stage.client.is_answered(*id)), "nobody can know yet");
        let continued = Instant::now();
        stage.unity.go_on();
        for (key, id) in [("beside", beside), ("work", work), ("later", later)] {
            let answer = stage.client.answer(id);
            scenario.verdict(answer.verdict());
            assert_eq!((answer.verdict(), &answer.body()["Key"]), (Verdict::Ok, &json!(key)), "{}", answer.0);
            assert_eq!(stage.room.runs(key), 1, "{key}");
            scenario.record.checked("I2", 1);
        }
        scenario.record.figure("recovered_after_ms", continued.elapsed().as_secs_f64() * 1000.0);
        scenario.record.checked("I11", 1);
        stage.close(scenario);
    });
}

#[test]
fn an_editor_that_crashes_again_and_again_is_found_each_time() {
    on_both("crash-loop", &["P04", "P01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        for round in 0..4 {
            let key = format!("cut{round}");
            let cut = stage.begun("count", &json!({"key": key, "hold": true}));
            stage.unity.order("crash");
            scenario.record.injected("crash of the editor");
            let waiting = stage.client.call("count", &json!({"key": format!("waits{round}")}));
            stage.restart_editor(&[]);
            assert_eq!(stage.client.answer(cut).verdict(), Verdict::Unknown);
            assert_eq!(stage.client.answer(waiting).verdict(), Verdict::Ok);
            assert_eq!((stage.room.runs(&key), stage.room.runs(&format!("waits{round}"))), (1, 1));
            scenario.record.checked("I2", 2);
        }
        stage.close(scenario);
    });
}

#[test]
fn a_bridge_that_its_user_stops_and_starts_keeps_every_call() {
    on_both("stopped-by-user", &["N15"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        for round in 0..15 {
            let key = format!("n{round}");
            let id = stage.client.call("count", &json!({"key": key}));
            stage.unity.say("down");
            scenario.record.injected("bridge stopped and started");
            stage.unity.say("up");
            let answer = stage.client.answer_within(id, SOON);
            scenario.verdict(answer.verdict());
            let fits = match answer.verdict() {
                Verdict::Ok => stage.room.runs(&key) == 1,
                Verdict::NotExecuted => stage.room.runs(&key) == 0,
                Verdict::Unknown => stage.room.runs(&key) <= 1,
                _ => false,
            };
            assert!(fits, "{key} ran {} times: {}", stage.room.runs(&key), answer.0);
            scenario.record.checked("I2", 1);
            until("it serves again", || stage.client.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
        }
        stage.close(scenario);
    });
}

#[test]
fn the_workers_of_an_editor_are_not_taken_for_it() {
    on_both("workers", &["U08", "U07"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let honest = stage.instance();
        for flag in ["importWorker", "batchMode", "secondary"] {
            let mut worker = stage::worker(runtime, &stage.room, flag);
            scenario.record.injected(flag);
            for reload in [false, true] {
                if reload {
                    worker.say("reload 0");
                }
                assert_eq!(stage::stats(&mut worker)["sockets"], 0, "{flag} listens");
            }
            assert_eq!(stage.instance(), honest, "{flag} wrote the editor's file");
            // A gateway that starts now finds the editor, not the worker process.
            let mut client = stage::gateway(&stage.room, &[]);
            let key = format!("beside-{flag}");
            assert_eq!(client.done("count", &json!({"key": key})).verdict(), Verdict::Ok);
            assert_eq!(client.done("runs", &json!({"key": key})).body()["Runs"], 1);
            client.close(&stage.room);
            scenario.record.checked("I9", 1);
        }
        // Without the editor, a gateway finds no editor to call.
        stage.unity.kill();
        let _worker = stage::worker(runtime, &stage.room, "importWorker");
        let mut client = stage::gateway(&stage.room, &[]);
        let answer = client.done("count", &json!({"key": "nobody"}));
        assert_eq!((answer.verdict(), stage.room.runs("nobody")), (Verdict::NotExecuted, 0), "{}", answer.0);
        client.close(&stage.room);
        stage.close(scenario);
    });
}
