//! Sends far more than any client or editor should, on stdin and on the push port, and watches the gateway's memory.

use std::io::{BufWriter, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, Verdict};
use super::scenario::Scenario;
use super::system::memory_kib;
use super::unity::Unity;
use super::{Room, setting, until};

/// Returns the largest memory that the gateway may use. The promise is 64 MiB for the binary that people run: to check it,
/// set `MEMORY_MIB=64` and let HOLDFAST_BIN name a release build. A debug build copies where a release build moves, and stays
/// below 1.5 times that (the default here).
fn ceiling_kib() -> u64 {
    setting("MEMORY_MIB", 96) * 1024
}

/// Runs `work` while the memory of a process is measured, and checks the maximum.
fn watched<T>(scenario: &mut Scenario, pid: u32, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    let (value, most) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !stop.load(Ordering::Relaxed) {
                most = most.max(memory_kib(pid));
                std::thread::sleep(Duration::from_millis(5));
            }
            most.max(memory_kib(pid))
        });
        // A panic is caught, because the thread that measures would otherwise never end.
        let value = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        (value, watch.join().expect("the watch ends"))
    });
    scenario.record.figure("memory_max_kib", most as f64);
    let value = value.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    assert!(most <= ceiling_kib(), "{most} KiB");
    scenario.record.checked("I4", 1);
    value
}

#[test]
fn a_flood_on_stdin_is_answered_within_the_memory_that_was_promised() {
    let mut scenario = Scenario::new("stdin-flood", &["M06"]);
    let room = Room::new();
    let mut client = Client::open(&room, &[]);
    let megabytes = setting("FLOOD_MIB", 128);
    let pid = client.pid();
    scenario.record.injected("flood on stdin");
    watched(&mut scenario, pid, || {
        // A line of `megabytes` MiB, then thousands of requests and notifications.
        let garbage = vec![b'x'; 1024 * 1024];
        for _ in 0..megabytes {
            client.write(&garbage).expect("it reads on");
        }
        client.write(b"\n").expect("it reads on");
        assert_eq!(client.unaddressed()["error"]["code"], -32700);
        for n in 0..2000 {
            let ping = client.ask("ping", &json!({}));
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"n": n}}));
            if n % 100 == 99 {
                client.answer(ping);
            }
        }
    });
    scenario.record.figure("line_mib", megabytes as f64);
    scenario.record.checked("I1", 2001);
    scenario.picture(&client, &room);
    client.close(&room);
}

fn latencies(client: &mut Client, room: &Room, name: &str, length: Duration) -> Vec<f64> {
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < length {
        let key = format!("{name}-{}", took.len());
        let asked = Instant::now();
        let answer = client.done("count", &json!({"key": key}));
        took.push(asked.elapsed().as_secs_f64() * 1000.0);
        assert_eq!((answer.verdict(), room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
    }
    took
}

/// Latency has no bound here, because the storm, the editor and this test share the processors. Both figures are in the record.
#[test]
fn a_storm_of_pushes_costs_no_call_its_answer_and_no_memory() {
    let mut scenario = Scenario::new("push-storm", &["R06"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet", "--push"]);
    let mut client = Client::open(&room, &["--port", &unity.port.to_string()]);
    client.echoes();
    let attached = unity.hear(0, |event| event["event"] == "push_attached");
    let endpoint = attached["endpoint"].as_str().and_then(|endpoint| endpoint.rsplit(':').next()?.parse::<u16>().ok());
    let endpoint = endpoint.unwrap_or_else(|| panic!("no endpoint: {attached}"));
    let length = Duration::from_secs(setting("STORM_SECONDS", 2));
    let calm = latencies(&mut client, &room, "calm", length / 2);
    scenario.percentiles("calm_call", &calm);
    let (stop, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let (stopped, counter) = (Arc::clone(&stop), Arc::clone(&sent));
    let storm = std::thread::spawn(move || {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, endpoint)).expect("the push port is open");
        socket.set_write_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        let mut socket = BufWriter::with_capacity(64 * 1024, socket);
        let line = b"{\"type\":\"TOOLS_CHANGED\"}\n";
        // The storm may end early: the gateway closes the connection of such a peer, or does not read from it for a while.
        while !stopped.load(Ordering::Relaxed) && socket.write_all(line).is_ok() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let pid = client.pid();
    scenario.record.injected("storm of pushes");
    let began = Instant::now();
    let during = watched(&mut scenario, pid, || latencies(&mut client, &room, "storm", length));
    let enough = 1000 * length.as_secs();
    until("it was a storm", || sent.load(Ordering::Relaxed) > enough);
    let rate = sent.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    storm.join().expect("the storm ends");
    scenario.record.figure("pushes_per_second", rate);
    scenario.percentiles("storm_call", &during);
    for _ in calm.iter().chain(&during) {
        scenario.verdict(Verdict::Ok);
        scenario.record.checked("I1", 1);
    }
    client.echoes();
    scenario.picture(&client, &room);
    client.close(&room);
}
