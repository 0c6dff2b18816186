//! What the supervision trees promise when a part fails: the session continues, and no request is answered twice or falsely. The
//! actors of a link start again together; a link that fails too often rests; only a session that fails too often ends.
//!
//! Failures are caused on purpose through the `Spawn` seam: the product's own actors fail in a chosen hook.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::sabotage::{Fault, Hook, Sabotage};
use crate::support::{Gateway, Setup, editor, gateway, plain, unity, until, within};
use holdfast::actors::parts::Parts;
use holdfast::core::ShutdownReason;
use holdfast::fsm::registry::Source;
use holdfast::protocol::dialect::PushEvent;
use holdfast::runtime::messages::{bridge, discovery, push, registry, session};
use holdfast_fake_unity::{Event, FakeUnity, FakeUnityConfig};
use ractor::{ActorId, ActorStatus};
use serde_json::json;
use tokio::time::{Instant, sleep};

const LEAVES: [&str; 5] = ["discovery", "bridge", "push", "registry", "session"];

/// Whether an actor ends with this one, because both belong to the link.
fn falls_with(one: &str, other: &str) -> bool {
    one == other || one != "session" && other != "session"
}

/// Sends an actor a message that is always allowed and changes nothing.
fn nudge(parts: &Parts, name: &str) -> bool {
    let addresses = &parts.link().addresses;
    match name {
        "discovery" => addresses.discovery.cast(discovery::Message::Told(discovery::Event::FilesChanged)),
        "bridge" => addresses.bridge.cast(bridge::Message::Told(bridge::Event::NewsArrived)),
        "push" => addresses.push.cast(push::Message::Hint(PushEvent::Unknown, None)),
        "registry" => addresses.registry.cast(registry::Message::ChangeHinted(None)),
        "session" => parts.client.actor.cast(session::Message::CatalogueChanged),
        other => unreachable!("no actor {other}"),
    }
}

/// Returns the id of the actor that is registered in a slot.
fn seated(parts: &Parts, name: &str) -> Option<ActorId> {
    let addresses = &parts.link().addresses;
    match name {
        "discovery" => addresses.discovery.get().map(|actor| actor.get_id()),
        "bridge" => addresses.bridge.get().map(|actor| actor.get_id()),
        "push" => addresses.push.get().map(|actor| actor.get_id()),
        "registry" => addresses.registry.get().map(|actor| actor.get_id()),
        "session" => parts.client.actor.get().map(|actor| actor.get_id()),
        other => unreachable!("no actor {other}"),
    }
}

/// Waits until the latest incarnation of an actor runs and is registered in its slot.
async fn alive(gateway: &Gateway, name: &str, lives: usize) {
    until(&format!("{name} in its life {lives}"), || {
        let known = gateway.sabotage.lives(name);
        known.len() == lives
            && known.last().is_some_and(|cell| {
                cell.get_status() == ActorStatus::Running && seated(&gateway.parts, name) == Some(cell.get_id())
            })
    })
    .await;
}

fn restarts(gateway: &Gateway, name: &str) -> u64 {
    gateway.parts.env.health.restarts().get(name).copied().unwrap_or(0)
}

/// Starts a gateway with its link up. Also returns the link's editor.
async fn connected() -> (Gateway, FakeUnity) {
    let setup = Setup::default();
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    gateway.ready().await;
    until("the push listener", || gateway.parts.link().contact.push_port().is_some()).await;
    for name in LEAVES {
        alive(&gateway, name, 1).await;
    }
    (gateway, unity)
}

/// Makes one actor fail once and waits for its successor. Returns the number of ends that were counted.
async fn strike(gateway: &Gateway, name: &'static str, hook: Hook, fault: Fault) -> u64 {
    let lives = gateway.sabotage.lives(name).len();
    gateway.sabotage.plant(name, hook, fault);
    let ends = match hook {
        Hook::Handle | Hook::Handled => {
            assert!(nudge(&gateway.parts, name));
            1
        }
        Hook::PostStop => {
            gateway.sabotage.cell(name).stop(None);
            1
        }
        // There are two ends: the one that makes a successor necessary, and that of the successor.
        Hook::PreStart | Hook::PostStart => {
            gateway.sabotage.cell(name).kill();
            2
        }
        Hook::Supervise => unreachable!("no leaf supervises"),
    };
    // An actor that fails in `pre_start` never becomes an incarnation.
    let born = if hook == Hook::PostStart { 2 } else { 1 };
    alive(gateway, name, lives + born).await;
    assert!(gateway.sabotage.struck(), "{name} {hook:?}: the planted failure did not strike");
    ends
}

/// Tests one combination: a call runs in the editor, a second call is held behind it, and `name` fails.
async fn cell(name: &'static str, hook: Hook, fault: Fault) {
    let (mut gateway, unity) = connected().await;
    let what = format!("{name} {hook:?} {fault:?}");
    let running = gateway.client.call("hold", json!({})).await;
    until("the call runs", || unity.stats().running == 1).await;
    let held = gateway.client.call("count", json!({"key": "held"})).await;
    gateway.client.ping().await;
    let epoch = gateway.parts.link().contact.view.borrow().epoch;
    let port = gateway.parts.link().contact.push_port();
    let ids: Vec<ActorId> = LEAVES.iter().map(|leaf| gateway.sabotage.id(leaf)).collect();

    let ends = strike(&gateway, name, hook, fault).await;
    gateway.client.ping().await;

    assert_eq!(restarts(&gateway, name), ends, "{what}: restarts");
    for (leaf, id) in LEAVES.iter().zip(ids) {
        assert_eq!(gateway.sabotage.id(leaf) != id, falls_with(name, leaf), "{what}: {leaf}");
        if *leaf != name {
            assert_eq!(restarts(&gateway, leaf), 0, "{what}: {leaf} did not fail");
        }
    }
    assert_eq!(restarts(&gateway, "link"), 0, "{what}: the link's supervisor goes on");

    if name != "session" {
        let (text, error) = gateway.client.text(&running).await;
        assert!(error && text.starts_with("Outcome unknown: a part of holdfast failed"), "{what}: {text}");
    } else {
        assert_eq!(gateway.parts.link().contact.view.borrow().epoch, epoch, "{what}: the connection was touched");
        assert_eq!(unity.stats().accepts, 1, "{what}: dialled again");
        assert!(gateway.client.answered(&running).is_none(), "{what}: answered before the editor did");
        unity.release();
        let (text, error) = gateway.client.text(&running).await;
        assert!(!error && text.contains("Released"), "{what}: {text}");
    }
    let (text, error) = gateway.client.text(&held).await;
    assert!(!error && text.contains("held"), "{what}: {text}");
    assert_eq!(unity.runs("held"), 1, "{what}: the held call ran once");
    assert_eq!(gateway.parts.link().contact.push_port(), port, "{what}: the push port");
    assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"), "{what}");
    assert!(gateway.client.tools().await.contains(&"echo".to_owned()), "{what}");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{what}");
}

#[tokio::test(start_paused = true)]
async fn whatever_hook_of_whatever_actor_fails_the_session_goes_on_and_every_answer_is_true() {
    for name in LEAVES {
        for hook in [Hook::PreStart, Hook::PostStart, Hook::Handle, Hook::Handled, Hook::PostStop] {
            for fault in [Fault::Panic, Fault::Err] {
                cell(name, hook, fault).await;
            }
        }
    }
}

/// The bridge asks discovery only once and then waits, so discovery's successor must answer. The simulation found this: a
/// call waited until the bridge's own time limit.
#[tokio::test(start_paused = true)]
async fn a_wish_that_falls_with_discovery_is_its_successors() {
    for hook in [Hook::Handle, Hook::PostStart] {
        let (mut gateway, unity) = connected().await;
        unity.rst().await.unwrap();
        until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
        gateway.sabotage.plant("discovery", Hook::Handle, Fault::Panic);
        if hook == Hook::PostStart {
            gateway.sabotage.plant("discovery", hook, Fault::Panic);
        }
        until("discovery fell over the wish", || gateway.sabotage.struck()).await;
        unity.up().await.unwrap();
        let began = Instant::now();
        assert!(gateway.client.ok("echo", json!({"text": "again"})).await.contains("again"), "{hook:?}");
        assert!(began.elapsed() < Duration::from_secs(1), "{hook:?}: served again after {:?}", began.elapsed());
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{hook:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_fails_itself_leaves_nothing_behind() {
    for fault in [Fault::Panic, Fault::Err] {
        let (mut gateway, unity) = connected().await;
        let port = gateway.parts.link().contact.push_port();
        let running = gateway.client.call("hold", json!({})).await;
        until("the call runs", || unity.stats().running == 1).await;
        let held = gateway.client.call("count", json!({"key": "held"})).await;
        gateway.client.ping().await;
        let session = gateway.sabotage.id("session");
        let old: Vec<_> = ["registry", "discovery", "bridge", "push"].map(|leaf| gateway.sabotage.cell(leaf)).into();

        gateway.sabotage.plant("link", Hook::Supervise, fault);
        gateway.sabotage.cell("push").kill();
        alive(&gateway, "bridge", 2).await;
        assert_eq!(gateway.sabotage.lives("link").len(), 2, "{fault:?}");
        assert_eq!(restarts(&gateway, "link"), 1, "{fault:?}");
        for cell in old {
            assert_eq!(cell.get_status(), ActorStatus::Stopped, "{fault:?}: a child outlived its supervisor");
        }
        let (text, error) = gateway.client.text(&running).await;
        assert!(error && text.starts_with("Outcome unknown: a part of holdfast failed"), "{fault:?}: {text}");
        let (text, error) = gateway.client.text(&held).await;
        assert!(error && text.starts_with("Not executed: holdfast's own parts"), "{fault:?}: {text}");
        assert_eq!(unity.runs("held"), 0, "{fault:?}");
        // The fake editor notices the end of a connection only when its call ends.
        unity.release();
        until("one connection is left", || unity.stats().connections == 1).await;
        assert_eq!(gateway.sabotage.id("session"), session, "{fault:?}");
        until("the push listener", || gateway.parts.link().contact.push_port() == port).await;
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_whose_start_fails_is_started_again() {
    for hook in [Hook::PreStart, Hook::PostStart, Hook::PostStop] {
        for fault in [Fault::Panic, Fault::Err] {
            let (mut gateway, _unity) = connected().await;
            gateway.sabotage.plant("link", hook, fault);
            match hook {
                Hook::PostStop => gateway.sabotage.cell("link").stop(None),
                _ => gateway.sabotage.cell("link").kill(),
            }
            let ends = if hook == Hook::PostStop { 1 } else { 2 };
            until("the link's successor", || restarts(&gateway, "link") == ends).await;
            alive(&gateway, "bridge", 2).await;
            let text = gateway.client.ok("echo", json!({"text": "whole"})).await;
            assert!(text.contains("whole"), "{hook:?} {fault:?}: {text}");
            assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{hook:?} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_childs_clean_end_stops_no_supervisor() {
    let (mut gateway, _unity) = connected().await;
    let link = gateway.sabotage.id("link");
    for name in ["registry", "discovery", "bridge", "push"] {
        gateway.sabotage.cell(name).stop(None);
        alive(&gateway, name, 2).await;
    }
    assert_eq!(gateway.sabotage.id("link"), link, "the link supervises on");
    gateway.sabotage.cell("session").stop(None);
    alive(&gateway, "session", 2).await;
    // The root cannot be looked up, because it has no name. That nothing below it was rebuilt shows that it still runs.
    assert_eq!(gateway.sabotage.id("link"), link, "the root supervises on");
    gateway.ready().await;
    assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_kills_of_each_actor_leave_a_whole_session_and_nothing_else() {
    // The pause is longer than the time window of the restart limit divided by the number of restarts that it permits.
    for (names, spacing) in [(["registry", "discovery", "bridge", "push"].as_slice(), 7), (["session"].as_slice(), 21)]
    {
        for name in names {
            let (mut gateway, unity) = connected().await;
            gateway.client.ok("echo", json!({"text": "warm"})).await;
            let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
            let mut first = None;
            for kill in 1..=100_usize {
                gateway.sabotage.cell(name).kill();
                alive(&gateway, name, kill + 1).await;
                gateway.client.ping().await;
                let text = gateway.client.ok("count", json!({"key": "kills"})).await;
                assert!(text.contains(&format!("\"Runs\":{kill}")), "{name}, kill {kill}: {text}");
                sleep(Duration::from_secs(spacing)).await;
                first.get_or_insert_with(tasks);
            }
            assert_eq!(restarts(&gateway, name), 100, "{name}");
            let mut ids: Vec<ActorId> = gateway.sabotage.lives(name).iter().map(ractor::ActorCell::get_id).collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 101, "{name}: every incarnation is a new one");
            for leaf in LEAVES {
                let lives = if falls_with(name, leaf) { 101 } else { 1 };
                assert_eq!(gateway.sabotage.lives(leaf).len(), lives, "{name}: {leaf}");
            }
            assert!(tasks() <= first.unwrap_or_default() + 1, "{name}: {} tasks, {first:?} after one kill", tasks());
            let mailboxes = &gateway.parts.link().addresses.mailboxes;
            assert_eq!(
                (gateway.parts.client.mailbox.used(), mailboxes.bridge.used(), mailboxes.push.used()),
                (0, 0, 0),
                "{name}: permits"
            );
            let dials = if *name == "session" { 1 } else { 101 };
            assert_eq!(unity.stats().accepts, dials, "{name}: dials");
            assert_eq!(unity.stats().connections, 1, "{name}: connections");
            let connection = gateway.parts.link().contact.connection.clone();
            assert_eq!(connection.available_permits(), 0, "{name}: the connection holds its permit");
            unity.quit().await.unwrap();
            until("the permit is back", || connection.available_permits() == 1).await;
            assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{name}");
        }
    }
}

/// Kills an actor of the link until the link rests.
async fn exhaust_link(gateway: &Gateway, name: &'static str) {
    let (rests, lives) = (restarts(gateway, "link"), gateway.sabotage.lives(name).len());
    for kill in 0..6 {
        alive(gateway, name, lives + kill).await;
        gateway.sabotage.cell(name).kill();
    }
    // After five ends the actors are started again at once. The sixth one within the window ends that.
    until("the link rests", || restarts(gateway, "link") > rests).await;
}

#[tokio::test(start_paused = true)]
async fn a_link_that_fails_too_often_rests_1_5_30_and_30_seconds_and_says_so_and_the_session_goes_on() {
    let (mut gateway, unity) = connected().await;
    let (port, session) = (gateway.parts.link().contact.push_port(), gateway.sabotage.id("session"));
    for (rest, name) in [1_u64, 5, 30, 30, 30].into_iter().zip(LEAVES.iter().cycle()) {
        let name = if *name == "session" { "bridge" } else { name };
        let kills = gateway.sabotage.lives(name).len() + 5;
        exhaust_link(&gateway, name).await;
        let began = Instant::now();
        let held = gateway.client.call("count", json!({"key": "never"})).await;
        let status = gateway.client.ok("holdfast_status", json!({})).await;
        assert!(status.contains("\"resting\"") && status.contains("\"gateway\""), "{name}: {status}");
        if rest > 1 {
            let (text, error) = gateway.client.text(&held).await;
            assert!(error && text.starts_with("Not executed: holdfast's own parts"), "{name}: {text}");
            assert!(began.elapsed() < Duration::from_secs(2), "{name}: answered after {:?}", began.elapsed());
            assert!(gateway.client.tools().await.contains(&"echo".to_owned()), "{name}: the tools are known");
        }
        alive(&gateway, name, kills + 1).await;
        let (took, rest) = (began.elapsed(), Duration::from_secs(rest));
        assert!(took + Duration::from_millis(50) > rest && took < rest + Duration::from_secs(2), "{name}: {took:?}");
        gateway.ready().await;
        until("the push listener", || gateway.parts.link().contact.push_port().is_some()).await;
        assert_eq!(gateway.parts.link().contact.push_port(), port);
        assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"));
        sleep(Duration::from_secs(31)).await;
    }
    assert_eq!(gateway.sabotage.id("session"), session);
    assert!(unity.runs("never") <= 1, "only the first rest is short enough to wait for");
    assert_eq!(unity.stats().connections, 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_when_its_link_begins_to_rest_is_answered_at_once() {
    let (mut gateway, unity) = connected().await;
    let running = gateway.client.call("hold", json!({})).await;
    until("the call runs", || unity.stats().running == 1).await;
    let held = gateway.client.call("count", json!({"key": "held"})).await;
    gateway.client.ping().await;
    unity.modal(true);
    exhaust_link(&gateway, "push").await;
    let (text, error) = gateway.client.text(&running).await;
    assert!(error && text.starts_with("Outcome unknown: a part of holdfast failed"), "{text}");
    let (text, error) = gateway.client.text(&held).await;
    assert!(error && text.starts_with("Not executed: holdfast's own parts"), "{text}");
    assert_eq!(unity.runs("held"), 0);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// Kills the session until its supervisor gives up.
async fn exhaust_root(gateway: &Gateway) {
    let lives = gateway.sabotage.lives("session").len();
    for kill in 0..4 {
        alive(gateway, "session", lives + kill).await;
        gateway.sabotage.cell("session").kill();
    }
    until("its end is seen", || gateway.parts.client.actor.get().is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_fails_too_often_is_built_again_after_1_5_and_30_seconds_and_then_ends() {
    let (mut gateway, unity) = connected().await;
    let (epoch, link) = (gateway.parts.link().contact.view.borrow().epoch, gateway.sabotage.id("link"));
    for (round, delay) in [1_u64, 5, 30].into_iter().enumerate() {
        let running = gateway.client.call("hold", json!({})).await;
        until("the call runs", || unity.stats().running == 1).await;
        let held = gateway.client.call("count", json!({"key": "held"})).await;
        gateway.client.ping().await;

        exhaust_root(&gateway).await;
        let (down, lives) = (Instant::now(), gateway.sabotage.lives("session").len());
        gateway.client.ping().await;
        // No session actor runs: a request that arrives now waits at most two seconds.
        let list = gateway.client.request("tools/list", json!({})).await;
        let later = gateway.client.request("tools/list", json!({})).await;
        for id in [&list, &later] {
            let answer = gateway.client.answer(id).await;
            assert!(answer.at - down <= Duration::from_millis(2100), "round {round}: waited {:?}", answer.at - down);
            assert_eq!(answer.value.get("result").is_some(), delay < 2, "round {round}: {}", answer.value);
        }
        gateway.client.ping().await;
        // The link and its calls go on.
        assert!(gateway.client.answered(&running).is_none() && gateway.client.answered(&held).is_none());
        unity.release();
        for (id, answer) in [(&running, "Released"), (&held, "held")] {
            let (text, error) = gateway.client.text(id).await;
            assert!(!error && text.contains(answer), "round {round}: {text}");
        }
        until("the tree", || gateway.sabotage.lives("session").len() > lives).await;
        let took = down.elapsed();
        let delay = Duration::from_secs(delay);
        assert!(
            took + Duration::from_millis(5) >= delay && took < delay + Duration::from_millis(2200),
            "round {round}: built again after {took:?}"
        );
        gateway.ready().await;
        assert_eq!((gateway.parts.link().contact.view.borrow().epoch, gateway.sabotage.id("link")), (epoch, link));
        assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"));
    }
    let running = gateway.client.call("hold", json!({})).await;
    until("the call runs", || unity.stats().running == 1).await;
    let held = gateway.client.call("count", json!({"key": "never"})).await;
    gateway.client.ping().await;
    exhaust_root(&gateway).await;
    let why = within("the end", &mut gateway.end).await.unwrap();
    assert_eq!(why, ShutdownReason::Exhausted);
    let (text, error) = gateway.client.text(&running).await;
    assert!(error && text.starts_with("Outcome unknown"), "{text}");
    let (text, error) = gateway.client.text(&held).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert_eq!((unity.runs("held"), unity.runs("never")), (3, 0));
    gateway.client.check();
}

#[tokio::test(start_paused = true)]
async fn rebuilds_long_ago_do_not_count() {
    let (mut gateway, _unity) = connected().await;
    for _ in 0..6 {
        exhaust_root(&gateway).await;
        until("the tree", || gateway.parts.client.actor.get().is_some()).await;
        gateway.ready().await;
        assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"));
        sleep(Duration::from_secs(301)).await;
    }
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// An actor that starts slowly may already run while its supervisor does not know its address.
#[tokio::test(start_paused = true)]
async fn what_is_sent_to_an_actor_that_is_just_starting_is_not_lost() {
    let sabotage = Sabotage::default();
    let setup = Setup { sabotage: sabotage.clone(), ..Setup::default() };
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    gateway.ready().await;
    for name in LEAVES {
        sabotage.slow(name, Duration::from_millis(500));
    }
    // A call arrives while the bridge starts.
    sabotage.cell("bridge").kill();
    until("the bridge's successor runs", || sabotage.lives("bridge").len() == 2).await;
    let began = Instant::now();
    let call = gateway.client.call("echo", json!({"text": "early"})).await;
    let answer = gateway.client.answer(&call).await;
    assert!(answer.at - began < Duration::from_secs(2), "it waited {:?}", answer.at - began);
    // A connection is established while the registry starts.
    sabotage.cell("bridge").kill();
    sabotage.cell("registry").kill();
    until("the registry's successor runs", || sabotage.lives("registry").len() == 2).await;
    let began = Instant::now();
    gateway.client.ok("echo", json!({"text": "listed"})).await;
    assert!(began.elapsed() < Duration::from_secs(5), "it waited {:?}", began.elapsed());
    // A request arrives while the session starts.
    sabotage.cell("session").kill();
    until("the session's successor runs", || sabotage.lives("session").len() == 2).await;
    assert!(gateway.client.tools().await.contains(&"echo".to_owned()));
    assert_eq!(unity.stats().connections, 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// The list's answer is lost with the registry that was handling it, or arrives while no registry runs.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_lost_with_the_registry_blocks_no_call_and_lies_about_no_tool() {
    for (hook, fault) in [(Hook::Handle, Fault::Panic), (Hook::Handle, Fault::Err), (Hook::Handled, Fault::Panic)] {
        let setup = Setup::default();
        // The editor is slow enough for the test to act between the list request and its answer.
        let config = FakeUnityConfig { tick: Duration::from_millis(100), ..editor() };
        let unity = unity(&setup.net, config).await;
        let mut events = unity.events();
        let mut gateway = gateway(setup);
        gateway.client.open_async().await;
        let call = gateway.client.call("count", json!({"key": "once"})).await;
        let asked = |event: &Event| matches!(event, Event::Request { method, .. } if method == "get-tool-details");
        within("the list is asked for", async { while !asked(&events.recv().await.unwrap()) {} }).await;
        gateway.sabotage.plant("registry", hook, fault);
        let (text, error) = gateway.client.text(&call).await;
        assert!(!error, "{hook:?} {fault:?}: {text}");
        assert!(gateway.sabotage.struck());
        assert_eq!(unity.runs("once"), 1);
        assert_eq!(gateway.parts.link().tools.published.borrow().source, Source::Live);
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{hook:?} {fault:?}");
    }
}

/// Two actors that end at the same time are both restarted, in whichever order the supervisor receives their ends.
#[tokio::test(start_paused = true)]
async fn actors_that_end_together_are_all_restarted() {
    let pairs: Vec<(&str, &str)> =
        LEAVES.iter().flat_map(|a| LEAVES.iter().filter(move |b| a != *b).map(move |b| (*a, *b))).collect();
    for (a, b) in pairs {
        let (mut gateway, unity) = connected().await;
        let call = gateway.client.call("hold", json!({})).await;
        until("the call runs", || unity.stats().running == 1).await;
        gateway.sabotage.cell(a).kill();
        gateway.sabotage.cell(b).kill();
        gateway.client.ping().await;
        let list = gateway.client.request("tools/list", json!({})).await;
        for leaf in [a, b] {
            until(&format!("{leaf} lives again"), || gateway.sabotage.lives(leaf).len() > 1).await;
        }
        unity.release();
        gateway.client.answer(&call).await;
        gateway.client.answer(&list).await;
        gateway.ready().await;
        let began = Instant::now();
        assert!(gateway.client.ok("echo", json!({"text": "whole"})).await.contains("whole"), "{a} and {b}");
        assert!(began.elapsed() < Duration::from_secs(5), "{a} and {b}: {:?}", began.elapsed());
        let ends = restarts(&gateway, a) + restarts(&gateway, b);
        // Of two actors of a link, the second end may be part of what the first one causes.
        assert!(ends == 2 || ends == 1 && falls_with(a, b), "{a} and {b}: {ends} ends");
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded, "{a} and {b}");
    }
}

/// When a session ends, the requests that it had received are answered, except those that had become calls.
#[tokio::test(start_paused = true)]
async fn what_a_dead_session_had_been_handed_is_answered_at_once_and_calls_are_left_alone() {
    let mut gateway = plain();
    gateway.client.open().await;
    // No editor listens; the first list of a client without change notifications waits for one.
    gateway.net.hold_connects(true);
    let wait = gateway.client.call("holdfast_wait_ready", json!({"timeout_seconds": 50})).await;
    let call = gateway.client.call("echo", json!({"text": "later"})).await;
    gateway.client.ping().await;
    sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    gateway.sabotage.cell("session").kill();
    let answer = gateway.client.answer(&wait).await;
    assert!(answer.at - began < Duration::from_millis(100));
    assert!(answer.value["error"]["message"].as_str().unwrap().contains("not sent to Unity"), "{}", answer.value);
    assert!(gateway.client.answered(&call).is_none(), "a held call stays held");
    let unity = unity(&gateway.net, editor()).await;
    gateway.net.hold_connects(false);
    let (text, error) = gateway.client.text(&call).await;
    assert!(!error, "{text}");
    assert_eq!(unity.stats().connections, 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
