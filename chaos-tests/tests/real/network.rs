//! A network that is bad, a port that belongs to somebody else.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, Verdict};
use super::scenario::Scenario;
use super::shaper::{Shape, Shaper};
use super::unity::Unity;
use super::{Room, until};

/// Counted calls through a shaped connection: each is good and ran once.
fn all_good(name: &str, faults: &[&str], shape: Shape, calls: usize) {
    let mut scenario = Scenario::new(name, faults);
    let room = Room::new();
    let mut unity = Unity::start(&room, &["--quiet"]);
    let shaper = Shaper::start(unity.port, shape);
    let mut client = Client::open(&room, &["--port", &shaper.port.to_string()]);
    client.echoes();
    let mut took = Vec::new();
    for n in 0..calls {
        if n == calls / 2 {
            unity.say("reload 50");
        }
        let key = format!("{name}-{n}");
        let began = Instant::now();
        let answer = client.done("count", &json!({"key": key}));
        scenario.verdict(answer.verdict());
        // A call may meet the end of the connection that the reload took, before it is seen.
        let runs = room.runs(&key);
        let fits = match answer.verdict() {
            Verdict::Ok => runs == 1,
            Verdict::Unknown => n == calls / 2 && runs <= 1,
            _ => false,
        };
        assert!(fits, "{key} ran {runs} times: {}", answer.0);
        scenario.record.checked("I1", 1);
        scenario.record.checked("I2", 1);
        took.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    assert!(shaper.dials() <= 40, "{} dials", shaper.dials());
    scenario.record.checked("I5", 1);
    scenario.percentiles("call", &took);
    client.close(&room);
}

#[test]
fn one_byte_a_write_both_ways_is_the_same_conversation() {
    all_good("one-byte-writes", &["N04"], Shape { slice: 1, ..Shape::PLAIN }, 20);
}

#[test]
fn latency_and_a_narrow_pipe_slow_a_call_and_nothing_else() {
    // 64 bytes each 2 ms: 32 KB/s.
    let shape =
        Shape { slice: 64, latency: Duration::from_millis(40), pause: Duration::from_millis(2), ..Shape::PLAIN };
    all_good("latency-and-bandwidth", &["N16"], shape, 10);
}

#[test]
fn an_end_that_comes_late_does_not_cost_a_call() {
    all_good("slow-close", &["N16"], Shape { slow_end: Duration::from_millis(700), ..Shape::PLAIN }, 6);
}

#[test]
fn a_connection_that_swallows_everything_leaves_the_session_quick_and_the_call_sent_once() {
    let mut scenario = Scenario::new("black-hole", &["N01"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let shaper = Shaper::start(unity.port, Shape::PLAIN);
    let mut client = Client::open(&room, &["--port", &shaper.port.to_string()]);
    client.echoes();
    shaper.black_hole(true);
    let id = client.call("count", &json!({"key": "swallowed"}));
    // The editor has nothing that answers off its main thread, so silence alone ends no call; the session goes on meanwhile.
    let began = Instant::now();
    assert_eq!(client.done("holdfast_status", &json!({})).verdict(), Verdict::Ok);
    scenario.record.figure("status_during_silence_ms", began.elapsed().as_secs_f64() * 1000.0);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!client.is_answered(id));
    shaper.cut();
    shaper.black_hole(false);
    let answer = client.answer(id);
    scenario.verdict(answer.verdict());
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    client.echoes();
    assert_eq!(room.runs("swallowed"), 0);
    for invariant in ["I1", "I2", "I11"] {
        scenario.record.checked(invariant, 1);
    }
    client.close(&room);
}

#[test]
fn a_program_that_takes_the_editors_port_is_sent_no_call() {
    let mut scenario = Scenario::new("port-stolen", &["N11", "N13"]);
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    let port = unity.port;
    unity.kill();
    // A call written before the loss is seen would be unknown, and rightly so.
    until("the loss is seen", || client.log().contains(r#""event":"link_down""#));
    let mut thief = None;
    until("the port is free to steal", || {
        thief = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
        thief.is_some()
    });
    let (thief, stolen) = (thief.expect("bound"), Arc::new(AtomicUsize::new(0)));
    let heard = Arc::clone(&stolen);
    std::thread::spawn(move || {
        for mut stream in thief.incoming().flatten() {
            let heard = Arc::clone(&heard);
            std::thread::spawn(move || {
                let (mut all, mut part) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = stream.read(&mut part) {
                    all.extend_from_slice(&part[..count]);
                    if all.windows(9).any(|window| window == b"for-unity") {
                        heard.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let held: Vec<u64> = (0..3).map(|n| client.call("count", &json!({"key": format!("for-unity-{n}")}))).collect();
    let _moved = Unity::of_project(&room, &["--quiet"]);
    // Those that waited run at the editor's new port, or were told before that nobody came.
    for (n, id) in held.into_iter().enumerate() {
        let answer = client.answer(id);
        scenario.verdict(answer.verdict());
        let runs = room.runs(&format!("for-unity-{n}"));
        let fits = match answer.verdict() {
            Verdict::Ok => runs == 1,
            Verdict::NotExecuted => runs == 0,
            _ => false,
        };
        assert!(fits, "call {n} ran {runs} times: {}", answer.0);
        scenario.record.checked("I1", 1);
        scenario.record.checked("I2", 1);
    }
    until("the editor is found at its new port", || {
        client.done("count", &json!({"key": "for-unity-again"})).verdict() == Verdict::Ok
    });
    assert_eq!(stolen.load(Ordering::SeqCst), 0, "a call went to a stranger");
    scenario.record.checked("I9", 1);
    assert_eq!(room.runs("for-unity-again"), 1);
    client.close(&room);
}

#[test]
fn a_storm_of_restarts_leaves_every_call_answered_once() {
    let mut scenario = Scenario::new("restart-storm", &["P04", "C07", "U01"]);
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    let mut load = super::cycles::Load::default();
    for round in 0..25 {
        load.some(&mut client);
        unity.say(if round % 3 == 0 { "rst" } else { "down" });
        load.some(&mut client);
        unity.say("up");
    }
    client.echoes();
    load.settle(&client, &mut scenario);
    load.audit(&room, &mut scenario);
    client.close(&room);
}
