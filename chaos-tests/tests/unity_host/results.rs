//! Tools that a reload interrupts which they cause themselves, while connections and gateways fail.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::proxy::{Act, Keep, Proxy};
use super::stage::{self, Runtime, Stage, on_both, words};
use super::{Room, SOON, Verdict, until};

/// The fault of the connection while the tool runs or its answer is on the way; `None` for no fault.
const FAULTS: [Option<Act>; 3] = [None, Some(Act::CutRequest(Keep::AllBut(0))), Some(Act::CutReply(Keep::Front(7)))];

/// Starts an editor, and a gateway that reaches it through a proxy.
fn behind_proxy(runtime: Runtime, flags: &[&str]) -> (Stage, Proxy) {
    let mut proxy = None;
    let stage = Stage::with_gateway(runtime, flags, |port| {
        let port = proxy.insert(Proxy::start(port)).port.to_string();
        words(["--port", &port])
    });
    (stage, proxy.expect("it was started"))
}

/// Calls a tool, with `fault` and a reset of the connection if given. Returns the result.
fn result_of(stage: &mut Stage, proxy: &Proxy, fault: Option<&Act>, tool: &str, arguments: &Value) -> Value {
    if let Some(act) = fault {
        proxy.plan(&format!(r#""tool":"{tool}""#), act.clone(), true);
    }
    let answer = stage.client.done(tool, arguments);
    let said = matches!(answer.verdict(), Verdict::Ok | Verdict::ToolError);
    assert!(said && answer.body().is_object(), "{tool} with {fault:?}: {}", answer.0);
    answer.body()
}

fn reloads(stage: &mut Stage) -> u64 {
    stage.stats()["domain"].as_u64().expect("a number")
}

#[test]
fn a_compile_cut_by_its_own_reload_or_a_reset_gives_its_true_result() {
    on_both("compile", &["U01", "U02", "N03"], |runtime, scenario| {
        let (mut stage, proxy) = behind_proxy(runtime, &[]);
        for fault in FAULTS {
            let before = reloads(&mut stage);
            let good = result_of(&mut stage, &proxy, fault.as_ref(), "compile", &json!({"ForceRecompile": true}));
            assert_eq!((&good["Success"], &good["DomainReloaded"]), (&json!(true), &json!(true)), "{fault:?}: {good}");
            assert_eq!(
                good["Warnings"][0]["Message"].as_str().map(|text| text.contains("CS0168")),
                Some(true),
                "{good}"
            );
            assert_eq!(reloads(&mut stage), before + 1, "compiled more than once with {fault:?}");
            stage.unity.say("compile-error on");
            let bad = result_of(&mut stage, &proxy, fault.as_ref(), "compile", &json!({"ForceRecompile": true}));
            assert_eq!((&bad["Success"], &bad["ErrorCount"]), (&json!(false), &json!(1)), "{fault:?}: {bad}");
            assert_eq!(bad["Errors"][0]["Line"], 7, "{bad}");
            until("the errors are told", || stage.heartbeat().contains("do not compile"));
            stage.unity.say("compile-error off");
            scenario.record.injected(&format!("compile, {fault:?}"));
            for invariant in ["I1", "I2"] {
                scenario.record.checked(invariant, 2);
            }
        }
        stage.close(scenario);
    });
}

#[test]
fn a_test_run_cut_by_its_own_reload_or_a_reset_gives_its_true_result() {
    on_both("run-tests", &["U01", "U03", "N03"], |runtime, scenario| {
        let (mut stage, proxy) = behind_proxy(runtime, &[]);
        stage.allow("EnableTestsExecution");
        for fault in FAULTS {
            for mode in ["EditMode", "PlayMode"] {
                let before = reloads(&mut stage);
                let told = result_of(&mut stage, &proxy, fault.as_ref(), "run-tests", &json!({"TestMode": mode}));
                let counts = (&told["Success"], &told["PassedCount"], &told["FailedCount"]);
                assert_eq!(counts, (&json!(false), &json!(1), &json!(1)), "{mode}, {fault:?}: {told}");
                assert_eq!(told["FailedTests"][0]["Name"], "Game.Tests.Jumps", "{told}");
                let reloaded = u64::from(mode == "PlayMode");
                assert_eq!(reloads(&mut stage), before + reloaded, "{mode} ran more than once with {fault:?}");
                scenario.record.injected(&format!("{mode}, {fault:?}"));
                for invariant in ["I1", "I2"] {
                    scenario.record.checked(invariant, 1);
                }
            }
        }
        stage.close(scenario);
    });
}

#[test]
fn play_mode_entered_over_its_own_reload_or_a_reset_is_told_truly() {
    on_both("play-mode", &["U01", "U03", "N03"], |runtime, scenario| {
        let (mut stage, proxy) = behind_proxy(runtime, &[]);
        for fault in FAULTS {
            for (action, reloaded) in [("Enter", true), ("Exit", false)] {
                let before = reloads(&mut stage);
                let told = result_of(&mut stage, &proxy, fault.as_ref(), "play-mode", &json!({"Action": action}));
                let state = (&told["Success"], &told["IsPlaying"], &told["DomainReloaded"]);
                assert_eq!(
                    state,
                    (&json!(true), &json!(action == "Enter"), &json!(reloaded)),
                    "{action}, {fault:?}: {told}"
                );
                assert_eq!(reloads(&mut stage), before + u64::from(reloaded), "{action} ran again with {fault:?}");
                scenario.record.injected(&format!("{action}, {fault:?}"));
                for invariant in ["I1", "I2"] {
                    scenario.record.checked(invariant, 1);
                }
            }
        }
        stage.close(scenario);
    });
}

#[test]
fn a_package_added_and_removed_over_its_own_reload_or_a_reset_is_told_truly() {
    on_both("packages", &["U01", "U03", "N03"], |runtime, scenario| {
        let (mut stage, proxy) = behind_proxy(runtime, &[]);
        stage.allow("AllowPackageChanges");
        for fault in FAULTS {
            // Unity's Package Manager may answer before the reload, or be cut by it.
            for package in ["com.quick.one", "com.slow.one"] {
                for action in ["Add", "Remove"] {
                    let before = reloads(&mut stage);
                    let asked = json!({"Action": action, "Package": package});
                    let told = result_of(&mut stage, &proxy, fault.as_ref(), "change-packages", &asked);
                    assert_eq!(told["Success"], json!(true), "{action} {package}, {fault:?}: {told}");
                    // The Package Manager may answer before the reload.
                    let after = stage.settled_stats(|stats| stats["domain"].as_u64() > Some(before));
                    assert_eq!(after["domain"], json!(before + 1), "{action} ran again with {fault:?}");
                    scenario.record.injected(&format!("{action} {package}, {fault:?}"));
                    for invariant in ["I1", "I2"] {
                        scenario.record.checked(invariant, 1);
                    }
                }
            }
        }
        stage.close(scenario);
    });
}

#[test]
fn a_gateway_killed_during_a_compile_takes_its_client_with_it_and_doubles_nothing() {
    on_both("gateway-killed", &["C07", "U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &["--compile-ms", "700"]);
        stage.begun("wait", &json!({"key": "beside", "ms": 300}));
        let held = stage.begun("count", &json!({"key": "held", "hold": true}));
        stage.client.cancel(held);
        stage.client.call("compile", &json!({"ForceRecompile": true}));
        stage.client.call("count", &json!({"key": "behind"}));
        until("it compiles", || stage.instance()["state"] == "compiling");
        let heard = stage.unity.mark();
        stage.client.signal(Signal::SIGKILL);
        scenario.record.injected("SIGKILL of the gateway");
        stage.client.ended_within(SOON);
        stage.client = stage::gateway(&stage.room, &[]);
        stage.unity.hear(heard, |event| event["event"] == "listening");
        let told = stage.client.done("echo", &json!({"text": "hello"}));
        assert_eq!((told.verdict(), &told.body()["Echo"]), (Verdict::Ok, &json!("hello")), "{}", told.0);
        // The next gateway of this client says once what the killed one had sent. Its client had cancelled `held`.
        assert!(told.text().contains("had sent to Unity") && told.text().contains("`compile` (call id "), "{}", told.0);
        assert!(!told.text().contains("`count`"), "{}", told.0);
        assert_eq!(reloads(&mut stage), 2, "one compilation, one reload");
        // Nobody awaits the answers to the dead gateway's calls any more, whether the calls had begun or not.
        assert_eq!(stage.client.done("count", &json!({"key": "after"})).verdict(), Verdict::Ok);
        assert_all_ran_at_most_once(&stage.room, &["beside", "held", "behind", "after"]);
        for invariant in ["I2", "I5", "I6"] {
            scenario.record.checked(invariant, 1);
        }
        stage.close(scenario);
    });
}

fn assert_all_ran_at_most_once(room: &Room, keys: &[&str]) {
    for key in keys {
        assert!(room.runs(key) <= 1, "{key} ran {} times", room.runs(key));
    }
}
