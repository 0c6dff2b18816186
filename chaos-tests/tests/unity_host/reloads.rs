//! Domain reloads under load, one after another.

use serde_json::{Value, json};

use super::load::Load;
use super::stage::{Runtime, Stage, held_by, on_both};
use super::system::memory_kib;
use super::{Scenario, Verdict};

const RELOADS: usize = 50;
/// After this many reloads, whatever is loaded only once has been loaded. The figures at the end are compared with these.
const WARM: usize = 10;

#[test]
fn fifty_reloads_under_load_leave_every_call_answered_truly_and_nothing_behind() {
    on_both("reloads", &["U01"], fifty_reloads);
}

/// The resources that the editor's process and the gateway's process hold.
struct Held {
    editor: Value,
    descriptors: usize,
    threads: usize,
    memory_kib: u64,
}

impl Held {
    fn of(stage: &mut Stage, fits: impl Fn(&Value) -> bool) -> Self {
        let editor = stage.settled_stats(fits);
        let (descriptors, threads) = held_by(stage.client.pid());
        Self { editor, descriptors, threads, memory_kib: memory_kib(stage.client.pid()) }
    }

    fn editor(&self, what: &str) -> u64 {
        self.editor[what].as_u64().unwrap_or_else(|| panic!("no {what} in {}", self.editor))
    }
}

fn fifty_reloads(runtime: Runtime, scenario: &mut Scenario) {
    let mut stage = Stage::open(runtime, &[]);
    let mut load = Load::default();
    let mut early = None;
    for cycle in 1..=RELOADS {
        load.some(&mut stage.client);
        load.under_way(&mut stage, cycle % 2 == 0);
        load.some(&mut stage.client);
        let (heard, logged) = (stage.unity.mark(), stage.log_end());
        stage.unity.order("reload 0");
        scenario.record.injected("domain reload");
        stage.logged(logged, "link_down");
        let waiting = stage.client.call("echo", &json!({"text": "back"}));
        stage.unity.hear(heard, |event| event["event"] == "listening");
        let answer = stage.client.answer(waiting);
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        // The editor checks its bridge once a frame, so its report that it listens may come a moment late, even after the answer.
        let at = stage.client.answered_at(waiting).expect("it was answered");
        let recovery = at.saturating_duration_since(stage.unity.listened());
        scenario.record.recoveries_ms.push(recovery.as_secs_f64() * 1000.0);
        load.settle(&stage.client, scenario);
        if cycle == WARM {
            early = Some(Held::of(&mut stage, |stats| stats["leaked"] == 0));
        }
    }
    load.audit(&stage.room, scenario);
    let early = early.expect("more reloads than it takes to be warm");
    // The runtime's pool may have a few more or fewer threads, and a library may be opened late. A leak would add one for each
    // reload, which is far more than 3.
    let (threads, descriptors) = (early.editor("threads") + 3, early.editor("descriptors") + 3);
    let late = Held::of(&mut stage, |stats| {
        stats["leaked"] == 0
            && stats["sockets"].as_u64() <= Some(early.editor("sockets"))
            && stats["threads"].as_u64() <= Some(threads)
    });
    assert_eq!(late.editor("domain"), RELOADS as u64 + 1);
    assert_eq!(late.editor("leaked"), 0, "domains are still in memory");
    assert!(late.editor("sockets") <= early.editor("sockets"), "sockets {} -> {}", early.editor, late.editor);
    assert!(late.editor("descriptors") <= descriptors, "descriptors {} -> {}", early.editor, late.editor);
    assert!(late.editor("threads") <= threads, "threads {} -> {}", early.editor, late.editor);
    assert!(late.editor("rss_kb") < early.editor("rss_kb") * 3 / 2, "memory {} -> {}", early.editor, late.editor);
    assert_eq!(late.descriptors, early.descriptors, "descriptors of the gateway");
    assert!(late.threads <= early.threads + 3, "threads of the gateway: {} -> {}", early.threads, late.threads);
    assert!(
        late.memory_kib < early.memory_kib * 3 / 2,
        "memory of the gateway: {} -> {}",
        early.memory_kib,
        late.memory_kib
    );
    for invariant in ["I4", "I5", "I6"] {
        scenario.record.checked(invariant, 1);
    }
    for what in ["threads", "sockets", "descriptors", "rss_kb"] {
        scenario.record.figure(&format!("editor_{what}_early"), early.editor(what) as f64);
        scenario.record.figure(&format!("editor_{what}_late"), late.editor(what) as f64);
    }
    for (what, held) in [("early", &early), ("late", &late)] {
        scenario.record.figure(&format!("gateway_descriptors_{what}"), held.descriptors as f64);
        scenario.record.figure(&format!("gateway_rss_kb_{what}"), held.memory_kib as f64);
    }
    scenario.record.figure("counted_calls", load.counted_calls() as f64);
    let recoveries = std::mem::take(&mut scenario.record.recoveries_ms);
    scenario.record.figure("recovery_p90_ms", chaos_tests::record::percentile(&recoveries, 0.9));
    scenario.percentiles("recovery", &recoveries);
    scenario.record.recoveries_ms = recoveries;
    stage.close(scenario);
}
