//! The promises about metrics: they agree with what the client saw, stay within their limits under any client, survive the
//! failure of the parts that they measure, and can be read on this machine only.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::sabotage::{Fault, Hook};
use crate::support::scrape::{Scrape, answer, get};
use crate::support::{Gateway, Log, PATIENT, Setup, editor, gateway, unity, until};
use holdfast::config::Config;
use holdfast::limits::{SCRAPERS_MAX, SERVED_HEAD_MAX_BYTES, SERVED_TIMEOUT};
use holdfast::net::{BoxStream, Net as _};
use holdfast::runtime::messages::{bridge, discovery, push, registry, session};
use holdfast::services::metrics::{Exporter, render};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep};

const METRICS_PORT: u16 = 9464;

fn counted() -> Setup {
    let setup = Setup::default();
    let metrics = Some(([127, 0, 0, 1], METRICS_PORT).into());
    Setup { config: Config { metrics, push: true, ..setup.config.clone() }, ..setup }
}

#[tokio::test(start_paused = true)]
async fn what_is_counted_is_what_the_client_saw() {
    let setup = counted();
    let (log, _guard) = Log::start();
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    gateway.ready().await;
    for _ in 0..5 {
        gateway.client.ok("echo", json!({"text": "x"})).await;
    }
    let failed = gateway.client.call("fail", json!({})).await;
    assert!(gateway.client.text(&failed).await.1);
    gateway.client.ping().await;
    let odd = gateway.client.request("no/such", json!({})).await;
    gateway.client.answer(&odd).await;
    gateway.client.line("{ no JSON").await;
    Scrape::of(&gateway.parts).check();

    // One call runs while the editor reloads, one waits for the editor's return, and one is cancelled in the meantime.
    let mark = gateway.client.call("hold", json!({})).await;
    until("it runs", || Scrape::of(&gateway.parts).sum("holdfast_tool_calls_in_flight", &[]) == 1.0).await;
    let waiting = gateway.client.call("echo", json!({"text": "y"})).await;
    let cancelled = gateway.client.call("echo", json!({"text": "z"})).await;
    until("they wait", || Scrape::of(&gateway.parts).sum("holdfast_tool_calls_queued", &[]) == 2.0).await;
    gateway.client.cancel(&cancelled).await;
    unity.reload(Duration::from_secs(3)).await.unwrap();
    gateway.client.answer(&mark).await;
    assert!(!gateway.client.text(&waiting).await.1);
    until("nothing is open", || Scrape::of(&gateway.parts).sum("holdfast_mcp_requests_in_flight", &[]) == 0.0).await;

    let scrape = Scrape::of(&gateway.parts);
    scrape.check();
    let call = ("method", "tools/call");
    scrape.is("holdfast_mcp_requests_total", &[call, ("outcome", "ok")], 8.0);
    scrape.is("holdfast_mcp_requests_total", &[call, ("outcome", "cancelled")], 1.0);
    scrape.is("holdfast_mcp_requests_total", &[("method", "ping")], 1.0);
    scrape.is("holdfast_mcp_requests_total", &[("method", "other"), ("outcome", "error")], 1.0);
    assert_eq!(log.of("bad_client_line").len(), 1);
    scrape.is("holdfast_mcp_sessions", &[("client", "claude_code")], 1.0);
    scrape.is("holdfast_mcp_sessions", &[], 1.0);
    // Every request of the client is answered or cancelled, and none is open. Every call has one verdict.
    scrape.is("holdfast_mcp_requests_total", &[], gateway.client.session().asked() as f64);
    scrape.is("holdfast_tool_calls_total", &[], 9.0);
    assert_eq!(log.of("call_answered").len() + log.of("call_noted").len(), 9);
    scrape.is("holdfast_tool_calls_total", &[("verdict", "ok")], 6.0);
    scrape.is("holdfast_tool_calls_total", &[("verdict", "tool_error")], 1.0);
    scrape.is("holdfast_tool_calls_total", &[("verdict", "cancelled")], 1.0);
    scrape.is("holdfast_tool_calls_total", &[("verdict", "outcome_unknown"), ("cause", "reload")], 1.0);
    scrape.is("holdfast_tool_call_duration_seconds_count", &[], 8.0);
    // The call that waited for the reload was sent late, and only once.
    scrape.is("holdfast_tool_call_wait_seconds_count", &[], 8.0);
    scrape.is("holdfast_tool_call_resends_total", &[], 0.0);
    scrape.is("holdfast_unity_disconnects_total", &[("reason", "reload")], 1.0);
    scrape.is("holdfast_unity_disconnects_total", &[], 1.0);
    scrape.is("holdfast_unity_reloads_total", &[("result", "completed")], 1.0);
    scrape.is("holdfast_unity_reloads_total", &[], 1.0);
    scrape.is("holdfast_unity_reload_duration_seconds_count", &[], 1.0);
    let reload = scrape.sum("holdfast_unity_reload_duration_seconds_sum", &[]);
    assert!((3.0..3.5).contains(&reload), "the reload took {reload} s");
    scrape.is("holdfast_unity_recovery_duration_seconds_count", &[], 1.0);
    scrape.is("holdfast_unity_recovery_duration_seconds_bucket", &[("le", "1")], 1.0);
    scrape.is("holdfast_unity_connect_attempts_total", &[("result", "ok")], 2.0);
    assert!(scrape.sum("holdfast_unity_connect_attempts_total", &[("result", "refused")]) > 0.0);
    scrape.is("holdfast_fsm_unexpected_events_total", &[], 0.0);
    let stale = |line: &&String| line.contains("machine=\"registry\"") && line.contains("to=\"stale\"");
    assert_eq!(log.of("state_changed").iter().filter(stale).count(), 1);
    assert_eq!(log.of("reply_unmatched"), [""; 0]);
    gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_hostile_session_makes_no_series_and_balances_too() {
    const ITEMS: usize = 10_000;
    let setup = counted();
    let unity = unity(&setup.net, editor()).await;
    for number in 0..60 {
        unity.add_tool(&format!("HOSTILE_{number}")).unwrap();
    }
    let mut gateway = gateway(setup);
    gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    gateway.ready().await;
    let mut dice = fastrand::Rng::with_seed(11);
    for item in 0..ITEMS {
        let word = format!("PEER\"}}\n{{x=\"{}\" {item} C:\\p\\{}", dice.u64(..), dice.u32(..));
        match item % 5 {
            0 => {
                let call = json!({"name": word, "arguments": {}});
                gateway.client.request_as(json!(word), "tools/call", call).await;
            }
            1 => {
                gateway.client.request(&word, json!({"path": word})).await;
            }
            2 => gateway.client.notify(&word, json!({"requestId": word, "count": item})).await,
            3 => gateway.client.line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":7}}", dice.u32(..))).await,
            _ => {
                let info = json!({"name": word, "version": word});
                let params = json!({"protocolVersion": word, "capabilities": {}, "clientInfo": info});
                gateway.client.request("initialize", params).await;
            }
        }
    }
    let last = gateway.client.request("tools/list", json!({})).await;
    gateway.client.answer(&last).await;
    until("nothing is open", || Scrape::of(&gateway.parts).sum("holdfast_mcp_requests_in_flight", &[]) == 0.0).await;
    let text = render(&*gateway.parts);
    assert!(!text.contains("PEER"), "a client's word became a label");
    let scrape = Scrape::read(&text);
    scrape.check();
    // The lines that are no request were answered too, under ids that no request had.
    assert_eq!(gateway.client.session().unasked().len(), ITEMS / 5);
    scrape.is("holdfast_mcp_requests_total", &[], gateway.client.session().asked() as f64);
    gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_part_is_counted_and_takes_no_count_with_it() {
    for name in ["registry", "discovery", "bridge", "push", "session"] {
        let setup = counted();
        let _unity = unity(&setup.net, editor()).await;
        let mut gateway = gateway(setup);
        gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
        gateway.ready().await;
        gateway.client.ok("echo", json!({"text": "before"})).await;
        gateway.sabotage.plant(name, Hook::Handle, Fault::Panic);
        let parts = &gateway.parts;
        let to = &parts.link().addresses;
        match name {
            "registry" => to.registry.cast(registry::Message::ChangeHinted(None)),
            "discovery" => to.discovery.cast(discovery::Message::Told(discovery::Event::FilesChanged)),
            "bridge" => to.bridge.cast(bridge::Message::Told(bridge::Event::NewsArrived)),
            "push" => to.push.cast(push::Message::Timer(holdfast::fsm::push::Timer::Rebind)),
            _ => parts.client.actor.cast(session::Message::CatalogueChanged),
        };
        let actor = ("actor", name);
        until("a restart", || gateway.sabotage.lives(name).len() == 2).await;
        gateway.client.ok("echo", json!({"text": "after"})).await;
        let scrape = Scrape::of(&gateway.parts);
        scrape.check();
        scrape.is("holdfast_actor_restarts_total", &[actor, ("reason", "failed")], 1.0);
        scrape.is("holdfast_actor_restarts_total", &[], 1.0);
        for part in ["registry", "discovery", "bridge", "push", "session", "link"] {
            assert_eq!(gateway.sabotage.running(part), 1, "{part}");
        }
        scrape.is("holdfast_tool_calls_total", &[("verdict", "ok")], 2.0);
        let lost = if name == "session" { 0.0 } else { 1.0 };
        scrape.is("holdfast_unity_disconnects_total", &[("reason", "gateway")], lost);
        scrape.is("holdfast_supervisor_escalations_total", &[], 0.0);
        gateway.close().await;
    }
}

// ---- the endpoint --------------------------------------------------------------------------------------------------

async fn connect(gateway: &Gateway) -> BoxStream {
    gateway.net.connect(METRICS_PORT).await.unwrap()
}

/// Sends these bytes. Returns the status and the whole answer.
async fn ask(gateway: &Gateway, bytes: &str) -> (u16, String) {
    let mut socket = connect(gateway).await;
    socket.write_all(bytes.as_bytes()).await.unwrap();
    answer(socket).await
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_serves_this_machine_and_holds_its_bounds() {
    let gateway = gateway(counted());
    let exporter = Exporter::start(&gateway.parts);
    until("it listens", || gateway.net.listens(METRICS_PORT)).await;

    let (status, text) = ask(&gateway, &get("/metrics")).await;
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{text:.400}");
    assert!(!text.to_lowercase().contains("access-control"), "no other page may read it: {text:.400}");
    Scrape::read(text.split_once("\r\n\r\n").unwrap().1).check();
    assert!(ask(&gateway, &get("/healthz")).await.1.ends_with("\r\n\r\nok\n"));
    let (_, text) = ask(&gateway, &get("/status.json")).await;
    let told: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(told["timelines"][0]["machine"], "bridge", "{told}");
    assert!(told["summary"].is_string() && told["editor"]["state"].is_string(), "{told}");
    assert_eq!(ask(&gateway, &get("/")).await.0, 200);
    assert_eq!(ask(&gateway, &get("/secret")).await.0, 404);
    let (status, text) = ask(&gateway, "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n").await;
    assert!(status == 200 && text.ends_with("\r\n\r\n"), "{text:.400}");
    assert_eq!(ask(&gateway, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.0, 405);
    let (status, text) = ask(&gateway, "GET /metrics HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n").await;
    assert!(status == 421 && !text.contains("holdfast_"), "{text}");
    assert_eq!(ask(&gateway, "POST /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n").await.0, 421);
    // A target that names its host is served if the head names the same (RFC 9112, 3.2.2).
    assert_eq!(ask(&gateway, "GET http://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.0, 200);
    assert_eq!(ask(&gateway, "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.0, 400);
    assert_eq!(ask(&gateway, "SSH-2.0-x\r\n\r\n").await.0, 400);
    let large = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(SERVED_HEAD_MAX_BYTES));
    assert_eq!(ask(&gateway, &large).await.0, 431);
    let mut cut = connect(&gateway).await;
    cut.write_all(b"GET / HTT").await.unwrap();
    cut.shutdown().await.unwrap();
    assert_eq!(answer(cut).await.0, 400);

    // Connections that send no complete request are kept open for a while; one more connection is refused.
    let mut idle = Vec::new();
    let began = Instant::now();
    for _ in 0..SCRAPERS_MAX {
        let mut socket = connect(&gateway).await;
        socket.write_all(b"GET / HT").await.unwrap();
        idle.push(socket);
    }
    assert_eq!(answer(connect(&gateway).await).await.0, 503);
    for socket in idle {
        assert_eq!(answer(socket).await.0, 408);
    }
    assert!(began.elapsed() < SERVED_TIMEOUT + Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(ask(&gateway, &get("/healthz")).await.0, 200);

    exporter.end(&gateway.parts, holdfast::core::ShutdownReason::Signal).await;
    assert!(gateway.net.connect(METRICS_PORT).await.is_err(), "it is gone");
    gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_taken_port_is_tried_again_and_holds_nobody_up() {
    let setup = counted();
    let (log, _guard) = Log::start();
    let taken = setup.net.bind(METRICS_PORT).await.unwrap();
    let mut gateway = gateway(setup);
    let exporter = Exporter::start(&gateway.parts);
    gateway.client.open().await;
    gateway.client.ping().await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!((log.of("exporter_trouble").len(), log.of("exporter_listening").len()), (1, 0));
    drop(taken);
    until("it listens", || log.of("exporter_listening").len() == 1).await;
    assert_eq!(ask(&gateway, &get("/healthz")).await.0, 200);
    exporter.end(&gateway.parts, holdfast::core::ShutdownReason::Signal).await;
    gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_flag_nothing_is_served_and_nothing_counted() {
    let mut gateway = gateway(Setup::default());
    let exporter = Exporter::start(&gateway.parts);
    gateway.client.open().await;
    gateway.client.ping().await;
    assert_eq!(render(&*gateway.parts), "");
    assert!(gateway.net.connect(METRICS_PORT).await.is_err());
    // The flight recorder keeps its steps even so.
    assert!(gateway.parts.env.events.timelines(Duration::MAX, 1).iter().any(|timeline| !timeline.steps.is_empty()));
    exporter.end(&gateway.parts, holdfast::core::ShutdownReason::Signal).await;
    gateway.close().await;
}
