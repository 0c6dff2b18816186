//! Many calls at once while the editor reloads, crashes and starts again; two gateways that use one editor.

use std::time::Duration;

use serde_json::json;

use super::client::{Client, Verdict};
use super::proxy::Proxy;
use super::unity::Unity;
use super::{Room, until};

#[test]
fn forty_calls_at_once_through_reloads_and_a_crash_are_each_answered_once_and_run_once() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    client.echoes();
    let mut calls = Vec::new();
    for round in 0..6_u64 {
        for n in 0..40 {
            let key = format!("s-{round}-{n}");
            calls.push((key.clone(), client.call("count", &json!({"key": key}))));
        }
        std::thread::sleep(Duration::from_millis(3 * round));
        match round % 3 {
            0 => unity.say("reload 60"),
            1 => {
                unity.say("rst");
                unity.say("up");
            }
            _ => {
                unity.kill();
                unity = Unity::start(&room, &["--quiet"]);
                proxy.lead_to(unity.port);
            }
        }
    }
    client.echoes();
    let mut unknown = 0;
    for (key, id) in calls {
        let answer = client.answer(id);
        let runs = room.runs(&key);
        match answer.verdict() {
            Verdict::Ok => assert_eq!(runs, 1, "{key}"),
            Verdict::Unknown => {
                unknown += 1;
                assert!(runs <= 1, "{key} ran {runs} times");
            }
            other => panic!("{key}: {other:?}: {}", answer.0),
        }
        assert!(proxy.requests_with(&format!("{key}\"")) <= 1, "{key} was sent again");
    }
    assert!(unknown <= 6, "a fault takes one call at the most: {unknown}");
    client.close(&room);
}

#[test]
fn two_gateways_on_one_editor_get_each_their_own_answers() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &["--quiet"]);
    let port = unity.port.to_string();
    let mut clients = [Client::open(&room, &["--port", &port]), Client::open(&room, &["--port", &port])];
    let mut calls = Vec::new();
    for n in 0..30 {
        for (number, client) in clients.iter_mut().enumerate() {
            let key = format!("{number}-{n}");
            calls.push((number, key.clone(), client.call("count", &json!({"key": key}))));
        }
    }
    for (number, key, id) in calls {
        let answer = clients[number].answer(id);
        assert_eq!((answer.verdict(), &answer.body()["Key"]), (Verdict::Ok, &json!(key)), "{}", answer.0);
        assert_eq!(room.runs(&key), 1, "{key}");
    }
    assert_eq!(unity.stats()["connections"], 2);
    // Both gateways lose their editor, and both find it again.
    unity.say("reload 50");
    for client in &mut clients {
        client.echoes();
    }
    let [first, second] = clients;
    first.close(&room);
    until("the editor sees it go", || unity.stats()["connections"] == 1);
    second.close(&room);
}
