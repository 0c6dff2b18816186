//! A gateway that gets no processor: stopped for seconds, or starved.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::client::{self, Client, Verdict};
use super::scenario::Scenario;
use super::unity::Unity;
use super::{Room, holdfast, once_within};

/// Longer than an impatient client waits: every deadline passes meanwhile.
const STOPPED: Duration = Duration::from_secs(5);
/// From going on to the last of the answers that fell due: what is due is answered at once, and sooner than one of them falls due.
const AWAKE_AGAIN: Duration = Duration::from_secs(2);

#[test]
fn a_gateway_that_was_stopped_beyond_every_deadline_answers_each_call_once_and_sends_none_again() {
    let mut scenario = Scenario::new("gateway-stopped", &["P07"]);
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let mut client = Client::impatient(&room, 8, &["--port", &unity.port.to_string()]);
    client.echoes();
    // Once the reply waits in the gateway's socket when it goes on, and once the editor still owes it.
    for reply_waits in [true, false] {
        let mut go = 0;
        once_within("what fell due", AWAKE_AGAIN, || {
            go += 1;
            let mark = unity.mark();
            let ended = |event: &serde_json::Value| event["event"] == "call_ended" && event["tool"] == "hold";
            let running = client.call("hold", &json!({}));
            let keys: Vec<String> = (0..8).map(|n| format!("held-{reply_waits}-{go}-{n}")).collect();
            let held: Vec<u64> = keys.iter().map(|key| client.call("count", &json!({"key": key}))).collect();
            unity.begun(mark, "hold");
            // All are with the gateway: it answers in order.
            let ping = client.ask("ping", &json!({}));
            client.answer(ping);
            client.signal(Signal::SIGSTOP);
            scenario.record.injected("SIGSTOP of the gateway");
            if reply_waits {
                unity.order("release");
                unity.hear(mark, ended);
            }
            std::thread::sleep(STOPPED);
            // On a busy machine they may have fallen due before it was stopped.
            let stopped_late = client.is_answered(running);
            client.signal(Signal::SIGCONT);
            let began = Instant::now();
            let verdict = client.answer(running).verdict();
            scenario.verdict(verdict);
            // What is first when it wakes, its clock or its socket, is the system's choice; both are true.
            let fits = verdict == Verdict::StillRunning || (reply_waits && verdict == Verdict::Ok);
            assert!(fits, "{reply_waits}: {verdict:?}");
            for (key, id) in keys.iter().zip(held) {
                let answer = client.answer(id);
                scenario.verdict(answer.verdict());
                assert_eq!((answer.verdict(), room.runs(key)), (Verdict::NotExecuted, 0), "{key}: {}", answer.0);
                scenario.record.checked("I1", 1);
                scenario.record.checked("I2", 1);
            }
            let took = began.elapsed();
            scenario.record.figure("answered_after_going_on_ms", took.as_secs_f64() * 1000.0);
            if took < AWAKE_AGAIN {
                scenario.record.checked("I11", 1);
            }
            // The editor's one place is taken until it answers the call that it owes.
            unity.order("release");
            unity.hear(mark, ended);
            client.echoes();
            if stopped_late { Duration::MAX } else { took }
        });
    }
    scenario.picture(&client, &room);
    client.close(&room);
}

/// Busy loops that end by themselves, and before that when dropped.
struct Spinners(Vec<Child>);

impl Spinners {
    fn start(count: usize, seconds: u32) -> Self {
        let spin = |_| {
            let script = format!("timeout {seconds} sh -c 'while :; do :; done'");
            Command::new("nice").args(["-n", "5", "sh", "-c", &format!("exec {script}")]).spawn().expect("nice and sh")
        };
        Self((0..count).map(spin).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // `timeout` passes it on to what it runs.
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
            let _ = nix::sys::signal::kill(pid, Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// No bound on the latency: that is the scheduler's here. The figure stands in the record.
#[test]
fn a_gateway_that_hardly_gets_a_processor_answers_every_call_within_its_deadline() {
    let mut scenario = Scenario::new("starved-of-processor", &["M07"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = Command::new("nice");
    client::environment(&mut command, &room);
    command.args(["-n", "19"]).arg(holdfast()).args(["--port", &unity.port.to_string()]);
    let mut client = Client::spawn(&room, command);
    client.initialize();
    client.echoes();
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    scenario.record.injected("no processor");
    let spinners = Spinners::start(processors * 4, 6);
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < Duration::from_secs(3) {
        let key = format!("starved-{}", took.len());
        let asked = Instant::now();
        // The deadline of a client that is not known: 60 s, less the margin of 5 s.
        let id = client.call("count", &json!({"key": key}));
        let answer = client.answer_within(id, Duration::from_secs(55));
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
        scenario.verdict(answer.verdict());
        assert_eq!((answer.verdict(), room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
        scenario.record.checked("I1", 1);
        scenario.record.checked("I11", 1);
    }
    scenario.record.figure("spinners", spinners.0.len() as f64);
    drop(spinners);
    scenario.percentiles("call", &took);
    scenario.picture(&client, &room);
    client.close(&room);
}
