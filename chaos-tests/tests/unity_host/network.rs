//! A slow, cut or silent network between gateway and editor. With a journal, a cut connection costs no call its result.

use std::time::{Duration, Instant};

use serde_json::json;

use super::proxy::{Act, Keep, Proxy};
use super::shaper::{Shape, Shaper};
use super::stage::{Runtime, Stage, on_both, words};
use super::{Scenario, Verdict};

/// Makes counted calls, serial and parallel alternately. Each must succeed and run once.
fn all_good(stage: &mut Stage, scenario: &mut Scenario, name: &str, calls: usize) {
    for n in 0..calls {
        let key = format!("{name}-{n}");
        let began = Instant::now();
        let (tool, arguments) =
            if n % 2 == 0 { ("count", json!({"key": key})) } else { ("wait", json!({"key": key, "ms": 1})) };
        let answer = stage.client.done(tool, &arguments);
        scenario.verdict(answer.verdict());
        let runs = stage.room.runs(&key);
        assert_eq!((answer.verdict(), runs), (Verdict::Ok, 1), "{key}: {}", answer.0);
        for invariant in ["I1", "I2"] {
            scenario.record.checked(invariant, 1);
        }
        scenario.record.figure("call_last_ms", began.elapsed().as_secs_f64() * 1000.0);
    }
}

#[test]
fn a_bad_network_slows_calls_and_reloads_and_nothing_else() {
    on_both("bad-network", &["N04", "N16"], |runtime, scenario| {
        let shapes = [
            ("one byte a write", Shape { slice: 1, ..Shape::PLAIN }),
            (
                "latency and a narrow pipe",
                Shape {
                    slice: 512,
                    latency: Duration::from_millis(40),
                    pause: Duration::from_millis(1),
                    ..Shape::PLAIN
                },
            ),
            ("a slow end", Shape { slow_end: Duration::from_millis(500), ..Shape::PLAIN }),
        ];
        for (name, shape) in shapes {
            let mut stage = Stage::with_gateway(runtime, &[], |port| {
                words(["--port", &Shaper::start(port, shape).port.to_string()])
            });
            all_good(&mut stage, scenario, name, 6);
            // A reload interrupts a call that is running when the reload begins, on any network. So these calls are made
            // after it has begun.
            let heard = stage.unity.mark();
            stage.unity.order("reload 50");
            scenario.record.injected(name);
            stage.unity.hear(heard, |event| event["event"] == "reload_begun");
            all_good(&mut stage, scenario, &format!("{name}, after a reload"), 6);
            stage.close(scenario);
        }
    });
}

#[test]
fn a_connection_cut_anywhere_in_a_request_or_a_reply_costs_no_call_its_result() {
    on_both("cuts", &["N02", "N03", "N07", "R02"], |runtime: Runtime, scenario: &mut Scenario| {
        let mut proxy = None;
        let mut stage = Stage::with_gateway(runtime, &[], |port| {
            words(["--port", &proxy.insert(Proxy::start(port)).port.to_string()])
        });
        let proxy = proxy.expect("it was started");
        let keeps =
            [Keep::Front(0), Keep::Front(1), Keep::Front(20), Keep::Front(60), Keep::AllBut(1), Keep::AllBut(0)];
        for (n, keep) in keeps.into_iter().enumerate() {
            for reset in [false, true] {
                for act in [Act::CutRequest(keep), Act::CutReply(keep)] {
                    let name = format!("cut {n} {reset} {act:?}");
                    proxy.plan("holdfast/call", act, reset);
                    all_good(&mut stage, scenario, &name, 2);
                    assert!(proxy.is_done(), "{name} was never carried out");
                    scenario.record.injected("a cut connection");
                }
            }
        }
        for (name, act) in
            [("doubled", Act::DoubleReply), ("forged", Act::ForgeReplyAndEnd(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()))]
        {
            proxy.plan("holdfast/call", act, false);
            all_good(&mut stage, scenario, name, 2);
            assert!(proxy.is_done(), "{name} was never carried out");
            scenario.record.injected(name);
        }
        stage.close(scenario);
    });
}

#[test]
fn a_network_that_swallows_everything_is_noticed_by_the_heartbeat_and_the_journal_tells_the_rest() {
    on_both("black-hole", &["N01"], |runtime, scenario| {
        let mut shaper = None;
        let mut stage = Stage::with_gateway(runtime, &[], |port| {
            words(["--port", &shaper.insert(Shaper::start(port, Shape::PLAIN)).port.to_string()])
        });
        let shaper = shaper.expect("it was started");
        let under_way = stage.begun("wait", &json!({"key": "under-way", "ms": 200}));
        let (silent, logged) = (Instant::now(), stage.log_end());
        shaper.black_hole(true);
        scenario.record.injected("black hole");
        let swallowed = stage.client.call("count", &json!({"key": "swallowed"}));
        stage.logged(logged, "link_down");
        scenario.record.figure("silence_noticed_ms", silent.elapsed().as_secs_f64() * 1000.0);
        assert!(!stage.client.is_answered(under_way) && !stage.client.is_answered(swallowed));
        shaper.cut();
        shaper.black_hole(false);
        for (key, id) in [("under-way", under_way), ("swallowed", swallowed)] {
            let answer = stage.client.answer(id);
            scenario.verdict(answer.verdict());
            assert_eq!((answer.verdict(), stage.room.runs(key)), (Verdict::Ok, 1), "{key}: {}", answer.0);
            scenario.record.checked("I2", 1);
        }
        scenario.record.checked("I11", 1);
        stage.close(scenario);
    });
}
