//! A gateway that gets no processor time: stopped for seconds, or starved.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::client::{self, Client, Verdict};
use super::scenario::Scenario;
use super::unity::Unity;
use super::{Room, once_within, program};

/// How long the gateway is stopped: longer than the deadline of every call, which is about 3 s for a client that waits 8 s.
const STOPPED: Duration = Duration::from_secs(5);
/// The longest time from SIGCONT to the last overdue answer. Shorter than a call's deadline, because overdue calls are
/// answered at once.
const AWAKE_AGAIN: Duration = Duration::from_secs(2);

#[test]
fn a_gateway_that_was_stopped_beyond_every_deadline_answers_each_call_once_and_sends_none_again() {
    let mut scenario = Scenario::new("gateway-stopped", &["P07"]);
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let mut client = Client::impatient(&room, 8, &["--port", &unity.port.to_string()]);
    client.echoes();
    // First with the reply already in the gateway's socket at SIGCONT, then with an editor that has not replied yet.
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
            // The gateway has read all calls, because it answers the ping after them.
            let ping = client.ask("ping", &json!({}));
            client.answer(ping);
            client.stop();
            scenario.record.injected("SIGSTOP of the gateway");
            if reply_waits {
                unity.order("release");
                unity.hear(mark, ended);
            }
            std::thread::sleep(STOPPED);
            // On a busy machine the deadlines may have passed before the gateway was stopped.
            let stopped_late = client.is_answered(running);
            client.signal(Signal::SIGCONT);
            let began = Instant::now();
            let verdict = client.answer(running).verdict();
            scenario.verdict(verdict);
            // The system decides whether the gateway handles its clock or its socket first. Both answers are true.
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
            // The editor accepts one call at a time, so other calls wait until it answers the running one.
            unity.order("release");
            unity.hear(mark, ended);
            client.echoes();
            if stopped_late { Duration::MAX } else { took }
        });
    }
    scenario.picture(&client, &room);
    client.close(&room);
}

/// Busy loops that end by themselves, or when this is dropped.
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
            // `timeout` forwards the signal to the program that it runs.
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
            let _ = nix::sys::signal::kill(pid, Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// There is no bound on latency here, because the scheduler decides it. The figure is in the record.
#[test]
fn a_gateway_that_hardly_gets_a_processor_answers_every_call_within_its_deadline() {
    let mut scenario = Scenario::new("starved-of-processor", &["M07"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = Command::new("nice");
    client::environment(&mut command, &room);
    command.args(["-n", "19"]).arg(program()).args(["--port", &unity.port.to_string()]);
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
        // The deadline for an unknown client: 60 s, less the margin of 5 s.
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
