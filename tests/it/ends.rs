//! No task ends unnoticed. A panic in a task of an actor counts as a failure of that actor, and a panic outside of the
//! supervision tree as a failure of the program. In each case the open requests are answered.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::{Setup, ask_every_log, editor, gateway, plain, quiet_sabotage, unity, until, within};
use holdfast::actors::parts::Parts;
use holdfast::core::ShutdownReason;
use holdfast::protocol::dialect::PushEvent;
use holdfast::runtime::messages::push;
use holdfast::transport::run::{self, Pumps};
use serde_json::json;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_task_of_an_actor_is_a_failure_of_the_actor() {
    let setup = Setup::default();
    let _unity = unity(&setup.net, editor()).await;
    setup.net.panic_at_bind();
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    gateway.ready().await;
    // The task that binds the listener panics; only a restarted actor binds again.
    until("the push listener", || gateway.parts.link().contact.push_port().is_some()).await;
    assert_eq!(gateway.parts.env.health.restarts().get("push"), Some(&1));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// A stream that panics when it is read or written.
struct Broken;

impl tokio::io::AsyncRead for Broken {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::panic::panic_any(crate::support::sabotage::MARK)
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_task_that_reads_stdin_answers_what_is_open_and_is_our_failure() {
    quiet_sabotage();
    let setup = Setup::default();
    let parts = Parts::new(setup.config, setup.net, setup.host);
    let (input, mut to_input) = tokio::io::duplex(4096);
    let (output, mut from_output) = tokio::io::duplex(1 << 20);
    let pumps = Pumps::over(&parts, tokio::io::AsyncReadExt::chain(input, Broken), output);
    let (_quit, quitting) = tokio::sync::mpsc::channel(1);
    for line in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "holdfast_wait_ready", "arguments": {"timeout_seconds": 60}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "count", "arguments": {"key": "k"}}}),
    ] {
        tokio::io::AsyncWriteExt::write_all(&mut to_input, format!("{line}\n").as_bytes()).await.unwrap();
    }
    drop(to_input);
    let why = within("the end", run::run(&parts, holdfast::actors::gateway::Plain, pumps, quitting, None)).await;
    assert_eq!(why, ShutdownReason::Exhausted);
    drop(parts);
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut from_output, &mut said).await.unwrap();
    for id in 1..=3 {
        assert_eq!(said.matches(&format!(r#""id":{id},"#)).count(), 1, "{id}: {said}");
    }
}

/// A log layer that panics once, at this event.
struct PanicAt(&'static str, std::sync::atomic::AtomicBool);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for PanicAt {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let mut found = false;
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            found |= field.name() == "event" && format!("{value:?}") == format!("{:?}", self.0);
        });
        if found && !self.1.swap(true, std::sync::atomic::Ordering::SeqCst) {
            std::panic::panic_any(crate::support::sabotage::MARK);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_task_that_keeps_the_deadlines_ends_the_gateway_as_our_failure() {
    use tracing_subscriber::layer::SubscriberExt as _;
    quiet_sabotage();
    ask_every_log();
    // Only the task that is to panic logs the answer of a call whose time is up.
    let log = tracing_subscriber::registry().with(PanicAt("call_answered", false.into()));
    let _guard = tracing::subscriber::set_default(log);
    let mut gateway = gateway(Setup::default());
    gateway.client.open_async().await;
    let _held = gateway.client.call("count", json!({"key": "held"})).await;
    let why = within("the end", gateway.end).await.unwrap();
    assert_eq!(why, ShutdownReason::Exhausted);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_open_at_an_orderly_end_is_told_that_and_no_failure_of_ours() {
    for by_signal in [false, true] {
        let mut gateway = plain();
        gateway.client.open_async().await;
        let id = gateway.client.call("holdfast_wait_ready", json!({"timeout_seconds": 60})).await;
        gateway.client.ping().await;
        let client = if by_signal {
            gateway.quit.send(ShutdownReason::Signal).await.unwrap();
            gateway.keep().await
        } else {
            gateway.close_and_keep().await
        };
        let said = client.answer(&id).await.value.to_string();
        assert!(said.contains("shut down") && !said.contains("our fault"), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_owed_at_the_end_is_written_before_a_stuck_part_is_waited_for() {
    let setup = Setup::default();
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    let running = gateway.client.call("hold", json!({})).await;
    until("the call runs", || unity.stats().running == 1).await;
    until("the push listener", || gateway.parts.link().contact.push_port().is_some()).await;
    gateway.sabotage.stick("push");
    assert!(gateway.parts.link().addresses.push.cast(push::Message::Hint(PushEvent::Unknown, None)));
    let began = Instant::now();
    gateway.client.close_stdin().await;
    let answer = gateway.client.answer(&running).await;
    assert!(answer.at - began < Duration::from_millis(1500), "{:?}", answer.at - began);
    assert!(!gateway.end.is_finished(), "the part that is stuck is still waited for");
    gateway.keep().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_left_who_could_ask_for_the_end_is_no_end() {
    let mut gateway = plain();
    gateway.client.open_async().await;
    let (quit, _quitting) = tokio::sync::mpsc::channel(1);
    drop(std::mem::replace(&mut gateway.quit, quit));
    sleep(Duration::from_secs(60)).await;
    gateway.client.ping().await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
