//! What a call, a list and a reload cost in messages between actors and in wake-ups of tasks, and how soon an editor is reached again.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{Gateway, PORT, Setup, UNKNOWN, connected, editor, gateway, unity};
use holdfast::config::{Config, PortSource};
use holdfast::net::Net as _;
use holdfast_fake_unity::FakeUnityConfig;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

/// What was handed over while this ran, and for a while afterwards.
async fn cost(gateway: &mut Gateway, during: impl AsyncFnOnce(&mut Gateway)) -> BTreeMap<&'static str, u64> {
    let events = gateway.parts.env.events.clone();
    let _ = events.take_hand_overs();
    during(gateway).await;
    // This leaves time for all work that follows the answer.
    sleep(Duration::from_millis(1)).await;
    events.take_hand_overs()
}

fn of(costs: &BTreeMap<&'static str, u64>, name: &str) -> u64 {
    costs.get(name).copied().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_call_and_a_list_cost_the_bridge_no_message() {
    const EACH: u64 = 100;
    let (mut gateway, _unity) = connected(UNKNOWN).await;
    sleep(Duration::from_millis(100)).await;
    let calls = cost(&mut gateway, async |gateway| {
        for _ in 0..EACH {
            let id = gateway.client.call("echo", json!({"n": 1})).await;
            assert!(!gateway.client.text(&id).await.1);
        }
    })
    .await;
    assert_eq!((of(&calls, "session"), of(&calls, "bridge")), (EACH, 0), "{calls:?}");
    assert!(calls.values().sum::<u64>() <= 4 * EACH, "{calls:?}");
    let lists = cost(&mut gateway, async |gateway| {
        for _ in 0..EACH {
            let id = gateway.client.request("tools/list", json!({})).await;
            gateway.client.answer(&id).await;
        }
    })
    .await;
    assert_eq!((of(&lists, "session"), lists.values().sum::<u64>()), (EACH, EACH), "{lists:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reload_costs_forty_messages_at_most() {
    const EACH: u64 = 10;
    let (mut gateway, unity) = connected(UNKNOWN).await;
    sleep(Duration::from_millis(100)).await;
    let reloads = cost(&mut gateway, async |gateway| {
        for _ in 0..EACH {
            unity.reload(Duration::from_secs(1)).await.unwrap();
            let id = gateway.client.call("echo", json!({"n": 1})).await;
            assert!(!gateway.client.text(&id).await.1);
        }
    })
    .await;
    assert!(reloads.values().sum::<u64>() <= 40 * EACH, "{reloads:?}");
}

/// On Windows a refused connect takes two seconds.
#[tokio::test(start_paused = true)]
async fn an_editor_that_listens_again_is_reached_within_40_ms_however_long_a_refusal_takes() {
    for slow in [false, true] {
        let setup = Setup::default();
        // Its package looks first whether the port is free. Who connects in that moment is accepted for nothing.
        let config = FakeUnityConfig { probe_time: Duration::ZERO, ..editor() };
        let unity = unity(&setup.net, config).await;
        let mut gateway = gateway(setup);
        gateway.client.open().await;
        gateway.ready().await;
        if slow {
            gateway.net.refuse_slowly();
        }
        sleep(Duration::from_millis(100)).await;
        for silence in [200, 713, 1_000, 1_531, 3_007, 10_000].map(Duration::from_millis) {
            let began = Instant::now();
            unity.reload(silence).await.unwrap();
            let id = gateway.client.call("echo", json!({"n": 1})).await;
            assert!(!gateway.client.text(&id).await.1);
            let late = began.elapsed() - silence;
            assert!(late <= Duration::from_millis(40), "{slow} {silence:?}: {late:?}");
        }
    }
}

/// Of the ports that are offered, the editor listens at one. The pauses are those of one port.
#[tokio::test(start_paused = true)]
async fn an_editor_that_may_listen_at_several_ports_is_reached_within_40_ms_too() {
    for (slow, own) in [(false, 0), (false, 1), (false, 2), (true, 1)] {
        let ports = (0..if slow { 2 } else { 3 }).map(|nth| (PORT + nth, PortSource::Flag)).collect();
        let setup = Setup { config: Config { ports, seed: Some(7), ..Config::default() }, ..Setup::default() };
        let config = FakeUnityConfig { probe_time: Duration::ZERO, port: PORT + own, ..editor() };
        let unity = unity(&setup.net, config).await;
        let mut gateway = gateway(setup);
        gateway.client.open().await;
        gateway.ready().await;
        if slow {
            gateway.net.refuse_slowly();
        }
        sleep(Duration::from_millis(100)).await;
        for silence in [200, 713, 1_000, 1_531, 3_007, 10_000].map(Duration::from_millis) {
            let began = Instant::now();
            unity.reload(silence).await.unwrap();
            let id = gateway.client.call("echo", json!({"n": 1})).await;
            assert!(!gateway.client.text(&id).await.1);
            let late = began.elapsed() - silence;
            assert!(late <= Duration::from_millis(40), "{slow} {own} {silence:?}: {late:?}");
        }
    }
}

/// A disk may take seconds to answer. What is dialled by then does not wait for it.
#[tokio::test(start_paused = true)]
async fn an_editor_that_listens_again_is_reached_while_the_files_are_still_looked_at() {
    let setup = Setup::default();
    let config = FakeUnityConfig { probe_time: Duration::ZERO, ..editor() };
    let unity = unity(&setup.net, config).await;
    let mut gateway = gateway(setup);
    gateway.client.open().await;
    gateway.ready().await;
    sleep(Duration::from_millis(100)).await;
    for look in [1_500, 2_500].map(Duration::from_millis) {
        let silence = Duration::from_secs(3);
        let began = Instant::now();
        let host = Arc::clone(&gateway.host);
        let slow = tokio::spawn(async move {
            sleep(Duration::from_millis(500)).await;
            host.slow(look);
            sleep(Duration::from_millis(2_400)).await;
            host.slow(Duration::ZERO);
        });
        unity.reload(silence).await.unwrap();
        let id = gateway.client.call("echo", json!({"n": 1})).await;
        assert!(!gateway.client.text(&id).await.1);
        let late = began.elapsed() - silence;
        assert!(late <= Duration::from_millis(40), "{look:?}: {late:?}");
        slow.await.unwrap();
        sleep(Duration::from_secs(6)).await;
    }
}

/// What answers, and is not the editor, is dialled ever more rarely.
#[tokio::test(start_paused = true)]
async fn a_foreign_listener_sees_few_connections() {
    for kind in ["closes at once", "says nothing", "says something else", "answers the greeting with something else"] {
        let (mut gateway, unity) = connected(UNKNOWN).await;
        sleep(Duration::from_secs(3)).await;
        unity.crash().await.unwrap();
        let listener = gateway.net.bind(PORT).await.unwrap();
        let seen = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                if kind == "says something else" {
                    let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").await;
                }
                if kind.starts_with("answers") {
                    let _ = stream.read(&mut [0; 512]).await;
                    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
                }
                if kind != "closes at once" {
                    open.push(stream);
                }
            }
        });
        let id = gateway.client.call("echo", json!({"n": 1})).await;
        sleep(Duration::from_secs(30)).await;
        assert!(seen.load(Ordering::Relaxed) <= 20, "{kind}: {seen:?}");
        gateway.client.answer(&id).await;
    }
}
