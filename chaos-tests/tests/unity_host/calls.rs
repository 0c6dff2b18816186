//! Progress, cancels, parallel calls, and an editor whose main thread does not run.

use serde_json::json;

use super::stage::{Stage, on_both, words};
use super::{Verdict, until};

#[test]
fn a_tools_progress_reaches_the_client_on_both_sides_of_a_reload() {
    on_both("progress", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let id = stage.begun("work", &json!({"key": "work", "ms": 1500}));
        let told = |stage: &Stage| {
            stage
                .client
                .progress(id)
                .iter()
                .filter(|news| news["message"].as_str().is_some_and(|text| text.contains("working")))
                .count()
        };
        until("progress", || told(&stage) >= 2);
        let heard = stage.unity.mark();
        stage.unity.order("reload 0");
        scenario.record.injected("domain reload");
        stage.unity.hear(heard, |event| event["event"] == "reload_begun");
        let before = told(&stage);
        stage.unity.hear(heard, |event| event["event"] == "listening");
        // The test's client checks with every message that progress rises and ends before the answer.
        until("progress after the reload", || told(&stage) > before + 1);
        let answer = stage.client.answer(id);
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        assert_eq!(stage.room.runs("work"), 1);
        scenario.record.figure("progress_notifications", stage.client.progress(id).len() as f64);
        scenario.record.checked("I13", 1);
        stage.close(scenario);
    });
}

#[test]
fn a_cancelled_call_stops_and_leaves_its_place_at_once_and_one_behind_it_never_runs() {
    on_both("cancel", &["C02"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        for (round, reload) in [false, true, false].into_iter().enumerate() {
            let key = |name: &str| format!("{name}{round}");
            // Without a cancel, this call would keep its slot for ever.
            let held = stage.begun("count", &json!({"key": key("held"), "hold": true}));
            let never = stage.client.call("count", &json!({"key": key("never")}));
            stage.client.cancel(never);
            stage.client.cancel(held);
            let next = stage.client.done("count", &json!({"key": key("next")}));
            assert_eq!(next.verdict(), Verdict::Ok, "{}", next.0);
            if reload {
                stage.unity.say("reload 0");
                stage.client.echoes();
            }
            let runs = ["held", "never", "next"].map(|name| stage.room.runs(&key(name)));
            assert_eq!(runs, [1, 0, 1], "held, never, next");
            assert!(
                !stage.client.is_answered(held) && !stage.client.is_answered(never),
                "a cancelled request has no answer"
            );
            scenario.record.checked("I2", 3);
        }
        stage.close(scenario);
    });
}

#[test]
fn calls_of_parallel_tools_overlap_beside_a_serial_one() {
    on_both("parallel", &["U10"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let mut open = vec![stage.begun("count", &json!({"key": "serial", "hold": true}))];
        // None of these calls ends by itself, so once all have begun they run at the same time.
        for n in 0..6 {
            open.push(stage.client.call("wait", &json!({"key": format!("p{n}"), "ms": 600_000})));
        }
        until("all have begun", || (0..6).all(|n| stage.room.runs(&format!("p{n}")) == 1));
        assert!(!open.iter().any(|id| stage.client.is_answered(*id)));
        for id in open {
            stage.client.cancel(id);
        }
        assert_eq!(stage.client.done("count", &json!({"key": "next"})).verdict(), Verdict::Ok);
        scenario.record.checked("I8", 1);
        stage.close(scenario);
    });
}

#[test]
fn a_modal_dialog_an_import_and_a_lost_focus_keep_the_session_and_every_call() {
    on_both("standing-still", &["U04", "U05", "U06", "U03"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &["--unfocused-ms", "3600000"]);
        let logged = stage.log_end();
        for (still, again) in [("modal on", "modal off"), ("import 60000", "thaw")] {
            stage.unity.say(still);
            scenario.record.injected(still);
            let id = stage.client.call("count", &json!({"key": still}));
            // The bridge reports, from another thread than the main thread, how old the last frame is, and that no call runs.
            until("the dialog is told", || stage.heartbeat().contains("most likely a dialog is open"));
            assert!(!stage.client.is_answered(id));
            stage.unity.say(again);
            assert_eq!(stage.client.answer(id).verdict(), Verdict::Ok);
            assert_eq!(stage.room.runs(still), 1);
            scenario.record.checked("I11", 1);
        }
        let busy = stage.client.call("block", &json!({"ms": 9000}));
        scenario.record.injected("a tool that blocks the main thread");
        until("the work is told", || stage.heartbeat().contains("busy with a call"));
        assert_eq!(stage.client.answer(busy).verdict(), Verdict::Ok);
        // Without focus the editor's own next frame is an hour away, so the bridge must wake it.
        stage.unity.say("focus off");
        scenario.record.injected("focus off");
        assert_eq!(stage.client.done("count", &json!({"key": "unfocused"})).verdict(), Verdict::Ok);
        stage.unity.say("focus on");
        stage.unity.say("play on");
        scenario.record.injected("play mode without a reload");
        until("its state is told", || stage.instance()["state"] == "playing");
        assert_eq!(stage.client.done("count", &json!({"key": "playing"})).verdict(), Verdict::Ok);
        assert_eq!((stage.room.runs("unfocused"), stage.room.runs("playing")), (1, 1));
        assert_eq!(stage.count_logged(logged, "link_down"), 0, "the connection was never in doubt");
        scenario.record.checked("I5", 1);
        stage.close(scenario);
    });
}

#[test]
fn the_trace_that_a_client_names_reaches_the_tool_and_the_log() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    on_both("trace", &[], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "traceparent": parent,
            "baggage": "secret=7",
        });
        let params = json!({"name": "wait", "arguments": {"key": "traced", "ms": 1}, "_meta": meta});
        let id = stage.client.ask("tools/call", &params);
        let answer = stage.client.answer(id);
        assert!(answer.0.to_string().contains(&parent), "{}", answer.0);
        let log = std::fs::read_to_string(stage.client.log_file()).expect("the gateway's log");
        assert!(log.contains(&format!(r#""trace_id":"{TRACE}""#)) && !log.contains("secret=7"), "{log}");
        scenario.record.checked("I12", 1);
        stage.close(scenario);
    });
}

#[test]
fn names_and_arguments_of_other_packages_lead_to_our_tools_and_a_rule_on_either_name_binds_both() {
    on_both("other-names", &[], |runtime, scenario| {
        let mut stage = Stage::with_gateway(runtime, &[], |_| words(["--deny", "read_console_logs"]));
        let played = stage.client.done("control-play-mode", &json!({"action": "Play"})).body();
        assert_eq!((&played["Success"], &played["IsPlaying"]), (&json!(true), &json!(true)), "{played}");
        let left = stage.client.done("control-play-mode", &json!({"Action": "Stop"})).body();
        assert_eq!((&left["Success"], &left["IsPlaying"]), (&json!(true), &json!(false)), "{left}");
        let version = stage.client.done("get-version", &json!({})).body();
        assert!(version["UnityVersion"].is_string(), "{version}");
        for name in ["get-logs", "read_console_logs"] {
            let refused = stage.client.done(name, &json!({}));
            assert!(refused.0.to_string().contains("policy refuses it"), "{name}: {}", refused.0);
        }
        let id = stage.client.ask("tools/list", &json!({}));
        let listed = stage.client.answer(id).0.to_string();
        assert!(listed.contains("play-mode") && !listed.contains("control-play-mode"), "{listed}");
        scenario.record.checked("I1", 1);
        stage.close(scenario);
    });
}
