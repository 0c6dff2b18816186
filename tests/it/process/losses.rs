//! The editor is lost: killed, stopped, reset, or it sends what a real editor never sends.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, Verdict};
use super::proxy::{Act, Proxy};
use super::unity::Unity;
use super::{Room, until};

#[test]
fn an_editor_killed_after_it_ran_a_call_leaves_the_outcome_unknown_and_one_run() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    proxy.plan("after-the-run", Act::SwallowReply, false);
    let id = client.call("count", &json!({"key": "after-the-run"}));
    until("it ran", || room.runs("after-the-run") == 1 && proxy.is_done());
    let behind = client.call("count", &json!({"key": "behind"}));
    unity.kill();
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    assert!(answer.text().contains("not sent again"), "{}", answer.text());
    // The call behind it had not been sent, so it is held for the next editor.
    assert!(!client.is_answered(behind));
    let next = Unity::start(&room, &["--quiet"]);
    proxy.lead_to(next.port);
    assert_eq!(client.answer(behind).verdict(), Verdict::Ok);
    assert_eq!((room.runs("after-the-run"), room.runs("behind")), (1, 1));
    assert_eq!(proxy.requests_with("after-the-run"), 1);
    client.close(&room);
}

#[test]
fn an_editor_killed_at_any_moment_runs_nothing_twice() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    let mut open = Vec::new();
    for round in 0..12_u64 {
        for n in 0..4 {
            let key = format!("k-{round}-{n}");
            open.push((key.clone(), client.call("count", &json!({"key": key}))));
        }
        // A different delay in each round, so that the kill happens at different moments.
        std::thread::sleep(Duration::from_micros(round * 400));
        unity.kill();
        unity = Unity::start(&room, &["--quiet"]);
        proxy.lead_to(unity.port);
        client.echoes();
    }
    let mut verdicts = [0, 0];
    for (key, id) in open {
        let answer = client.answer(id);
        let runs = room.runs(&key);
        match answer.verdict() {
            Verdict::Ok => {
                verdicts[0] += 1;
                assert_eq!(runs, 1, "{key}");
                assert_eq!(answer.body()["Runs"], 1, "{key}");
            }
            Verdict::Unknown => {
                verdicts[1] += 1;
                assert!(runs <= 1, "{key} ran {runs} times");
            }
            other => panic!("{key}: {other:?}: {}", answer.0),
        }
        // The number is zero if the call was written to a connection whose end the gateway had not noticed yet.
        assert!(proxy.requests_with(&format!("{key}\"")) <= 1, "{key} was sent again");
    }
    assert!(verdicts[0] >= 36, "a kill loses one call at the most: {verdicts:?}");
    client.close(&room);
}

#[test]
fn a_stopped_editor_answers_late_and_right_on_the_same_connection() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let mut client = Client::open(&room, &["--port", &unity.port.to_string()]);
    client.echoes();
    let accepts = unity.stats()["accepts"].clone();
    let mark = unity.mark();
    let id = client.call("sleep", &json!({"ms": 50}));
    unity.begun(mark, "sleep");
    unity.stop();
    let waiting = client.call("count", &json!({"key": "late"}));
    // The gateway itself still answers.
    let ping = client.ask("ping", &json!({}));
    client.answer(ping);
    std::thread::sleep(Duration::from_millis(600));
    assert!(!client.is_answered(id) && !client.is_answered(waiting), "a stopped editor has answered");
    unity.go_on();
    let answer = client.answer(id);
    assert_eq!((answer.verdict(), &answer.body()["SleptMs"]), (Verdict::Ok, &json!(50)), "{}", answer.0);
    assert_eq!(client.answer(waiting).verdict(), Verdict::Ok);
    assert_eq!((room.runs("late"), &unity.stats()["accepts"]), (1, &accepts));
    client.close(&room);
}

#[test]
fn a_reset_in_the_middle_of_a_call_is_told_and_the_next_call_works() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let mut client = Client::open(&room, &["--port", &unity.port.to_string()]);
    client.echoes();
    let mark = unity.mark();
    let id = client.call("hold", &json!({}));
    unity.begun(mark, "hold");
    unity.say("rst");
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    unity.say("up");
    client.echoes();
    client.close(&room);
}

#[test]
fn what_is_no_frame_ends_the_connection_and_not_the_session() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    let forged: [&[u8]; 9] = [
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nno",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: 99999999999999999999\r\n\r\n{}",
        b"Content-Length: 67108865\r\n\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nnull5",
        b"Content-Length: 2\r\n\r\n\xff\xfe",
        b"Content-Length: 9\r\n\r\n{\"id\":tru",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\r\n\r\n",
    ];
    for (number, bytes) in forged.into_iter().enumerate() {
        let key = format!("forged-{number}-end");
        let dials = proxy.dials();
        proxy.plan(&key, Act::ForgeReply(bytes.to_vec()), false);
        let answer = client.done("count", &json!({"key": key}));
        assert_eq!(answer.verdict(), Verdict::Unknown, "{key}: {}", answer.0);
        client.echoes();
        assert_eq!((room.runs(&key), proxy.requests_with(&key)), (1, 1), "{key}");
        assert_eq!(proxy.dials(), dials + 1, "{key}: one new connection");
    }
    client.close(&room);
}

#[test]
fn a_frame_that_never_ends_and_the_reply_of_nobody_are_no_answer() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    let nobody = br#"{"jsonrpc":"2.0","id":"holdfast.99999","result":{"Key":"not this"}}"#;
    let frame = [format!("Content-Length: {}\r\n\r\n", nobody.len()).as_bytes(), nobody].concat();
    let half: &[u8] = b"Content-Length: 500\r\n\r\n{\"jsonrpc\":\"2.0\",";
    for (key, bytes) in [("nobody-end", frame.as_slice()), ("half-end", half), ("header-end", b"Content-Le")] {
        for reset in [false, true] {
            let key = format!("{key}-{reset}");
            proxy.plan(&key, Act::ForgeReplyAndEnd(bytes.to_vec()), reset);
            let answer = client.done("count", &json!({"key": key}));
            assert_eq!(answer.verdict(), Verdict::Unknown, "{key}: {}", answer.0);
            client.echoes();
            assert_eq!((room.runs(&key), proxy.requests_with(&key)), (1, 1), "{key}");
        }
    }
    client.close(&room);
}

#[test]
fn a_reply_that_comes_twice_is_given_once() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    proxy.plan("twice-end", Act::DoubleReply, false);
    let answer = client.done("count", &json!({"key": "twice-end"}));
    assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    // The duplicate of the earlier answer came before the answer to this call; `close` finds any second answer.
    client.echoes();
    client.close(&room);
}

#[test]
fn an_editor_that_crashes_again_and_again_is_not_besieged() {
    let room = Room::new();
    let unity = Unity::start(&room, &[]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    // The port accepts connections and closes them at once, repeatedly. To the gateway this looks like an editor that crashes
    // again and again.
    proxy.hang_up(true);
    let mark = unity.mark();
    let hold = client.call("hold", &json!({}));
    unity.begun(mark, "hold");
    drop(unity);
    assert_eq!(client.answer(hold).verdict(), Verdict::Unknown);
    let began = Instant::now();
    let before = proxy.dials();
    let held = client.call("count", &json!({"key": "after the loop"}));
    std::thread::sleep(Duration::from_secs(2));
    until("it goes on dialing", || proxy.dials() >= before + 5);
    let (dials, passed) = (proxy.dials() - before, began.elapsed());
    // The waits are 50 ms and then 100 ms, each shortened by a fifth at most; a call that arrives cuts one of them short.
    let most = 3 + passed.as_millis() / 80;
    assert!(u128::from(dials) <= most, "{dials} dials in {passed:?}");
    assert!(!client.is_answered(held));
    let unity = Unity::start(&room, &["--quiet"]);
    proxy.lead_to(unity.port);
    proxy.hang_up(false);
    assert_eq!(client.answer(held).verdict(), Verdict::Ok);
    assert_eq!(room.runs("after the loop"), 1);
    client.close(&room);
}

#[test]
fn a_call_to_an_editor_that_never_was_is_answered_at_once_and_dials_grow_rare() {
    let room = Room::new();
    let proxy = Proxy::start(1);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    let answer = client.done("count", &json!({"key": "nobody"}));
    assert_eq!(answer.verdict(), Verdict::NotExecuted, "{}", answer.0);
    let began = Instant::now();
    let before = proxy.dials();
    std::thread::sleep(Duration::from_secs(2));
    let (dials, passed) = (proxy.dials() - before, began.elapsed());
    // On a busy machine more than two seconds may have passed.
    let most = passed.as_millis() * 6 / 2000;
    assert!(u128::from(dials) <= most, "{dials} dials in {passed:?} to nobody");
    client.close(&room);
}

/// Linux only, because there the limits of a running process can be set from outside.
#[cfg(target_os = "linux")]
#[test]
fn a_gateway_without_file_descriptors_answers_and_is_whole_once_it_has_some() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    let pid = client.pid().to_string();
    let limit = |count: u32| {
        let mut command = std::process::Command::new("prlimit");
        let status = command.args(["--pid", &pid, &format!("--nofile={count}:")]).status();
        assert!(status.expect("prlimit of util-linux").success());
    };
    // The lowest three descriptors are in use, so no other can be opened.
    limit(3);
    unity.kill();
    let next = Unity::start(&room, &["--quiet"]);
    proxy.lead_to(next.port);
    let without = client.call("count", &json!({"key": "without"}));
    assert_eq!(client.done("holdfast_status", &json!({})).verdict(), Verdict::Ok);
    limit(1024);
    let answer = client.answer(without);
    let runs = room.runs("without");
    match answer.verdict() {
        Verdict::Ok => assert_eq!(runs, 1, "{}", answer.0),
        Verdict::NotExecuted => assert_eq!(runs, 0, "{}", answer.0),
        _ => panic!("{}", answer.0),
    }
    client.echoes();
    client.close(&room);
}
