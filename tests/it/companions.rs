//! The services that Unity-MCP's documents name in addition to its own server: a log for each operation, the logger to which
//! the editor posts, and the HTTP API.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::net::MemoryNet;
use crate::support::sabotage::MARK;
use crate::support::scrape::answer;
use crate::support::{Gateway, PATIENT, PORT, Setup, editor, gateway, quiet_sabotage, unity, until, within};
use holdfast::actors::parts::Parts;
use holdfast::config::{Config, PortSource};
use holdfast::limits::{
    COMPANION_CONNECTIONS_MAX, GUEST_CALLS_MAX, LOG_NAME_MAX_BYTES, LOG_POST_MAX_BYTES, SERVED_HEAD_MAX_BYTES,
};
use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::protocol::dialect;
use holdfast::protocol::policy::Pattern;
use holdfast::services::companions::Companions;
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Package, Shape};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep};

/// The package whose editor is asked on a connection for each request.
fn package() -> &'static Package {
    Package::that(|facts| facts.shape == Shape::ConnectionEach)
}

fn setup() -> Setup {
    let config = Config {
        ports: vec![(PORT, PortSource::Flag)],
        dialects: dialect::only(package().name),
        seed: Some(7),
        ..Config::default()
    };
    Setup { config, ..Setup::default() }
}

async fn opened(setup: Setup) -> Gateway {
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it.ready().await;
    it
}

async fn with_editor(setup: Setup) -> (Gateway, FakeUnity) {
    let unity = unity(&setup.net, FakeUnityConfig { package: package(), ..editor() }).await;
    (opened(setup).await, unity)
}

/// Calls a tool that must succeed; returns its answer, which must also be in `structuredContent`.
async fn ok(it: &mut Gateway, tool: &str, arguments: Value) -> Value {
    let id = it.client.call(tool, arguments).await;
    let result = it.client.result(&id).await;
    assert_ne!(result["isError"], json!(true), "{tool}: {result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "{tool}");
    text
}

// ---- a log for each operation ------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn each_operation_has_its_log_and_its_details_and_its_result() {
    let (mut it, unity) = with_editor(setup()).await;
    let ran = ok(&mut it, "execute_code", json!({"code": "count(\"once\")"})).await;
    let log_id = ran["log_id"].clone();
    sleep(Duration::from_millis(10)).await;
    ok(&mut it, "get_state", json!({})).await;

    let logs = ok(&mut it, "get_logs", json!({})).await;
    let names: Vec<&str> = logs["logs"].as_array().unwrap().iter().map(|log| log["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{logs}");
    assert!(names[0].starts_with("unity-state-") && names[1].starts_with("unity-execute-"), "{names:?}");
    let stamp = names[1].strip_prefix("unity-execute-").unwrap();
    assert_eq!(logs["logs"][1]["timestamp"].to_string(), stamp, "its name holds the time of its end");
    assert_eq!(ok(&mut it, "get_logs", json!({"limit": 1})).await["logs"].as_array().unwrap().len(), 1);

    for tool in ["get_log_by_name", "get_logs_by_name"] {
        let log = ok(&mut it, tool, json!({"log_name": names[1]})).await;
        assert_eq!(log["name"], names[1]);
        assert_eq!(log["entries"][0]["data"], ran, "{tool}");
    }
    let none = ok(&mut it, "get_log_by_name", json!({"log_name": "no such log"})).await;
    assert_eq!(none["entries"], json!([]));

    let details = ok(&mut it, "get_log_details", json!({"logId": log_id})).await;
    assert_eq!((&details["log"]["id"], &details["log"]["data"]), (&log_id, &ran));
    assert_eq!(ok(&mut it, "get_result", json!({"logId": log_id})).await, ran);
    assert_eq!(ok(&mut it, "get_result", json!({"log_id": log_id})).await, ran);
    assert_eq!(unity.runs("once"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_not_executed_has_its_log_too() {
    let (mut it, unity) = with_editor(setup()).await;
    unity.quit().await.unwrap();
    sleep(Duration::from_secs(300)).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    let logs = ok(&mut it, "get_logs", json!({})).await;
    assert_eq!(logs["logs"][0]["data"], json!(text));
    it.close().await;
}

// ---- what the editor posts ---------------------------------------------------------------------------------------------

const LOGGER: u16 = 3030;

fn with_logger() -> Setup {
    let mut setup = setup();
    setup.config.logger = Some(([127, 0, 0, 1], LOGGER).into());
    setup
}

/// Sends a request in the form that Unity's client uses. Returns the status and the answer.
async fn ask(net: &Arc<MemoryNet>, method: &str, path: &str, body: &str) -> (u16, Value) {
    ask_at(LOGGER, net, method, path, body).await
}

async fn ask_at(port: u16, net: &Arc<MemoryNet>, method: &str, path: &str, body: &str) -> (u16, Value) {
    let head = format!("Host: localhost:{port}\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    raw_at(port, net, &format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{body}")).await
}

async fn raw(net: &Arc<MemoryNet>, request: &str) -> (u16, Value) {
    raw_at(LOGGER, net, request).await
}

async fn raw_at(port: u16, net: &Arc<MemoryNet>, request: &str) -> (u16, Value) {
    let mut socket = net.connect(port).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let (status, text) = answer(socket).await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("\r\nContent-Type: application/json\r\n") && head.contains("\r\nConnection: close"),
        "{head}"
    );
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{body}")))
}

async fn is_open(net: &Arc<MemoryNet>) -> bool {
    is_open_at(LOGGER, net).await
}

async fn is_open_at(port: u16, net: &Arc<MemoryNet>) -> bool {
    net.connect(port).await.is_ok()
}

async fn listens(port: u16, net: &Arc<MemoryNet>) {
    within("a listener", async {
        while !is_open_at(port, net).await {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

async fn problems(it: &mut Gateway) -> String {
    ok(it, "holdfast_status", json!({})).await["problems"].to_string()
}

/// A gateway whose logger listens, and an editor.
async fn logging() -> (Gateway, FakeUnity, Companions) {
    let setup = with_logger();
    let net = setup.net.clone();
    let (it, unity) = with_editor(setup).await;
    let companions = Companions::start(&it.parts);
    listens(LOGGER, &net).await;
    (it, unity, companions)
}

#[tokio::test(start_paused = true)]
async fn what_unity_posts_is_in_the_logs() {
    let (mut it, _unity, companions) = logging().await;
    let net = it.net.clone();
    // The message that the package sends when its server has started.
    let said = r#"{"message":"HTTP server thread started","level":"INFO","timestamp":"2026-11-21T21:10:19.4473230Z"}"#;
    let (status, first) = ask(&net, "POST", "/logs/unity-http-setup", said).await;
    assert_eq!((status, &first["status"]), (200, &json!("success")));
    // A body of several lines becomes one line for the client.
    let (_, second) = ask(&net, "POST", "/logs/unity-http-setup", "{\n  \"message\": \"two\"\n}\n").await;
    sleep(Duration::from_millis(1)).await;
    ask(&net, "POST", "/logs/unity-http-debug", "[1]").await;
    assert_ne!(first["logId"], second["logId"]);

    let logs = ok(&mut it, "get_logs", json!({})).await;
    let newest = |at: usize| (logs["logs"][at]["name"].clone(), logs["logs"][at]["data"].clone());
    assert_eq!(newest(0), (json!("unity-http-debug"), json!([1])));
    assert_eq!(newest(1), (json!("unity-http-setup"), json!({"message": "two"})));
    let log = ok(&mut it, "get_log_by_name", json!({"log_name": "unity-http-setup"})).await;
    assert_eq!(log["entries"].as_array().unwrap().len(), 2);
    let details = ok(&mut it, "get_log_details", json!({"logId": first["logId"]})).await;
    assert_eq!(details["log"]["data"], serde_json::from_str::<Value>(said).unwrap());

    // The same log over HTTP, in the form in which the package's own server reads it, with the operation that that server
    // would have logged itself.
    let ran = ok(&mut it, "execute_code", json!({"code": "x"})).await;
    let (_, logs) = ask(&net, "GET", "/logs?limit=1", "").await;
    assert_eq!((&logs["status"], &logs["logs"][0]["data"]), (&json!("success"), &ran));
    let (_, log) = ask(&net, "GET", "/logs/unity-http-setup?limit=1", "").await;
    assert_eq!((&log["name"], &log["entries"][0]["id"]), (&json!("unity-http-setup"), &second["logId"]));
    assert_eq!(log["entries"].as_array().unwrap().len(), 1);
    for cleared in [true, false] {
        let (status, said) = ask(&net, "DELETE", "/logs/unity-http-setup", "").await;
        assert_eq!((status, said), (200, json!({"status": "success", "cleared": cleared})));
    }
    let (_, log) = ask(&net, "GET", "/logs/unity-http-setup", "").await;
    assert_eq!(log["entries"], json!([]));

    companions.end().await;
    assert!(!is_open(&net).await, "its port is free");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_log_entry_is_refused_and_leaves_nothing() {
    let (it, _unity, companions) = logging().await;
    let net = it.net.clone();
    let long = "x".repeat(LOG_POST_MAX_BYTES);
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    let name = "n".repeat(LOG_NAME_MAX_BYTES + 1);
    for (method, path, body, status) in [
        ("POST", "/logs/a", "not JSON", 400),
        ("POST", "/logs/a", "", 400),
        ("POST", "/logs/a", deep.as_str(), 400),
        ("POST", "/logs/a", &format!("\"{long}\""), 413),
        ("POST", "/logs/", "{}", 400),
        ("POST", "/logs/a%0Ab", "{}", 400),
        ("POST", &format!("/logs/{name}"), "{}", 400),
        ("POST", "/logs", "{}", 404),
        ("POST", "/logs/a/b", "{}", 404),
        ("PATCH", "/logs/a", "{}", 404),
        ("GET", "/", "", 404),
        ("GET", "/metrics", "", 404),
    ] {
        let (got, said) = ask(&net, method, path, body).await;
        assert_eq!((got, &said["status"]), (status, &json!("error")), "{method} {path:.40} {said}");
        assert!(said["error"].as_str().is_some_and(|why| why.len() > 10), "{said}");
    }
    let post = |extra: &str| format!("POST /logs/a HTTP/1.1\r\n{extra}Content-Length: 2\r\n\r\n{{}}");
    assert_eq!(raw(&net, &post("Host: evil.example\r\n")).await.0, 421);
    assert_eq!(raw(&net, &post("Host: localhost\r\nOrigin: http://evil.example\r\n")).await.0, 403);
    let long = format!("Host: localhost\r\nX: {}\r\n", "x".repeat(SERVED_HEAD_MAX_BYTES));
    assert_eq!(raw(&net, &post(&long)).await.0, 431);
    for (request, status) in [
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\n\r\n{}", 411),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
        ("GET http://evil.example/logs HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /logs/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("nonsense\r\n\r\n", 400),
    ] {
        let (got, said) = raw(&net, request).await;
        assert_eq!((got, &said["status"]), (status, &json!("error")), "{request} {said}");
    }
    assert!(it.parts.link().calls.answers.logbook(|book| book.newest(9)).is_empty());
    assert_eq!(raw(&net, &post("Host: localhost\r\n")).await.0, 200, "it takes what is one all the same");
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn peers_that_say_nothing_hold_a_place_for_a_bounded_time() {
    let (it, _unity, companions) = logging().await;
    let net = it.net.clone();
    let mut silent = Vec::new();
    for _ in 0..3 * COMPANION_CONNECTIONS_MAX {
        let mut socket = net.connect(LOGGER).await.unwrap();
        socket.write_all(b"POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{").await.unwrap();
        silent.push(socket);
    }
    let began = Instant::now();
    assert_eq!(ask(&net, "POST", "/logs/a", "{}").await.0, 200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(answer(silent.remove(0)).await.0, 408);
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_port_that_is_taken_is_told_and_taken_when_it_is_free() {
    let setup = with_logger();
    let net = setup.net.clone();
    let other = net.bind(LOGGER).await.unwrap();
    let (mut it, _unity) = with_editor(setup).await;
    let companions = Companions::start(&it.parts);
    sleep(Duration::from_secs(60)).await;
    let told = problems(&mut it).await;
    assert!(told.contains("The logger cannot listen on 127.0.0.1:3030") && told.contains("another gateway"), "{told}");
    drop(other);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(ask(&net, "POST", "/logs/a", "{}").await.0, 200);
    assert_eq!(problems(&mut it).await, "[]");
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_posts_no_logs_gets_no_listener() {
    let mut setup = Setup::default();
    setup.config.logger = Some(([127, 0, 0, 1], LOGGER).into());
    let net = setup.net.clone();
    let _unity = unity(&setup.net, editor()).await;
    let it = opened(setup).await;
    let companions = Companions::start(&it.parts);
    sleep(Duration::from_secs(60)).await;
    assert!(!is_open(&net).await);
    companions.end().await;
    it.close().await;
}

/// The simulated network. The listener of the logger panics once when the flag is set.
struct Mined(Arc<MemoryNet>, Arc<AtomicBool>);

impl Net for Mined {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        self.0.connect(port)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            let listener = self.0.bind(port).await?;
            Ok(Arc::new(MinedListener(listener, self.1.clone())) as Arc<dyn Listener>)
        })
    }
}

struct MinedListener(Arc<dyn Listener>, Arc<AtomicBool>);

impl Listener for MinedListener {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let accepted = self.0.accept().await?;
            if self.1.swap(false, Ordering::SeqCst) {
                std::panic::panic_any(MARK);
            }
            Ok(accepted)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_logger_restarts_it_and_nothing_else() {
    quiet_sabotage();
    let Setup { config, net, host, .. } = with_logger();
    let mine = Arc::new(AtomicBool::new(false));
    let parts = Parts::new(config, Arc::new(Mined(net.clone(), mine.clone())), host);
    let companions = Companions::start(&parts);
    listens(LOGGER, &net).await;
    assert_eq!(ask(&net, "POST", "/logs/a", "{}").await.0, 200);
    mine.store(true, Ordering::SeqCst);
    drop(net.connect(LOGGER).await.unwrap());
    until("the panic", || !mine.load(Ordering::SeqCst)).await;
    assert_eq!(ask(&net, "POST", "/logs/a", "{}").await.0, 200);
    assert_eq!(parts.link().calls.answers.logbook(|book| book.of("a", 9)).len(), 2, "what it had taken is kept");
    assert!(parts.env.health.restarts().is_empty() && parts.env.health.problems().is_empty());
    companions.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_flag_nothing_listens() {
    let (it, _unity) = with_editor(setup()).await;
    let companions = Companions::start(&it.parts);
    sleep(Duration::from_secs(60)).await;
    assert!(!is_open(&it.net).await);
    companions.end().await;
    it.close().await;
}

// ---- the HTTP API of the documents -------------------------------------------------------------------------------------

const HOP: u16 = 8080;

fn with_hop() -> Setup {
    let mut setup = setup();
    setup.config.documented_hop = Some(HOP);
    setup
}

async fn hopping() -> (Gateway, FakeUnity, Companions) {
    hopping_with(with_hop()).await
}

async fn hopping_with(setup: Setup) -> (Gateway, FakeUnity, Companions) {
    let net = setup.net.clone();
    let (it, unity) = with_editor(setup).await;
    let companions = Companions::start(&it.parts);
    listens(HOP, &net).await;
    (it, unity, companions)
}

async fn execute(it: &Gateway, key: &str, timeout: Value) -> (u16, Value) {
    let body = json!({"code": format!("count(\"{key}\")"), "timeout": timeout}).to_string();
    ask_at(HOP, &it.net, "POST", "/api/execute", &body).await
}

async fn fetch(it: &Gateway, path: &str) -> (u16, Value) {
    ask_at(HOP, &it.net, "GET", path, "").await
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_documents_api_is_a_call_like_any_other() {
    let (mut it, unity, companions) = hopping().await;
    let (status, ran) = execute(&it, "hop", json!(null)).await;
    assert_eq!((status, &ran["success"], &ran["complete"]), (200, &json!(true), &json!(true)), "{ran}");
    assert!(ran["message"].as_str().unwrap().contains("ran it") && ran["result"].is_null(), "{ran}");
    assert_eq!(unity.runs("hop"), 1);
    let id = ran["logId"].as_str().unwrap();
    assert_eq!(fetch(&it, &format!("/api/result/{id}")).await, (200, ran.clone()));

    let (status, queried) = ask_at(HOP, &it.net, "POST", "/api/query", r#"{"query":"find(\"Player\")"}"#).await;
    assert_eq!((status, &queried["success"]), (200, &json!(true)), "{queried}");
    let (_, logs) = fetch(&it, "/api/logs?count=1&offset=1").await;
    assert_eq!((&logs["total"], logs["logs"].as_array().unwrap().len()), (&json!(2), 1), "{logs}");
    assert_eq!(logs["logs"][0]["id"], json!(id));
    let (_, log) = fetch(&it, &format!("/api/log/{id}")).await;
    assert_eq!(log["log"], logs["logs"][0]);

    // The session sees these calls, and still fetches its own results with `get_result`.
    let calls = ok(&mut it, "holdfast_calls", json!({})).await;
    let seen: Vec<_> =
        calls["calls"].as_array().unwrap().iter().map(|call| (&call["tool"], &call["verdict"])).collect();
    assert_eq!(seen, [(&json!("query"), &json!("ok")), (&json!("execute_code"), &json!("ok"))]);
    assert_eq!(ok(&mut it, "get_result", json!({"logId": id})).await["log_id"], json!(id));
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn calls_of_both_sides_wait_in_one_queue_and_run_once() {
    let (mut it, unity, companions) = hopping().await;
    let mut ids = Vec::new();
    for round in 0..5 {
        ids.push(it.client.call("execute_code", json!({"code": format!("count(\"mine{round}\")")})).await);
        let (status, ran) = execute(&it, &format!("theirs{round}"), json!(5000)).await;
        assert_eq!((status, &ran["complete"]), (200, &json!(true)), "{ran}");
    }
    for (round, id) in ids.iter().enumerate() {
        assert!(!it.client.text(id).await.1);
        assert_eq!((unity.runs(&format!("mine{round}")), unity.runs(&format!("theirs{round}"))), (1, 1));
    }
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_its_caller_is_fetched_later_and_ran_once() {
    let (it, unity, companions) = hopping().await;
    unity.reload(Duration::from_secs(10)).await.unwrap();
    let began = Instant::now();
    let (status, told) = execute(&it, "late", json!(2000)).await;
    assert!(began.elapsed() >= Duration::from_secs(2) && began.elapsed() < Duration::from_secs(3));
    assert_eq!((status, &told["success"], &told["complete"]), (200, &json!(true), &json!(false)), "{told}");
    assert!(told["message"].as_str().unwrap().contains("has not been sent"), "{told}");
    let path = format!("/api/result/{}", told["logId"].as_str().unwrap());
    let (status, open) = fetch(&it, &path).await;
    assert_eq!((status, &open["complete"]), (200, &json!(false)), "{open}");
    assert_eq!(unity.runs("late"), 0);
    sleep(Duration::from_secs(20)).await;
    let (status, ran) = fetch(&it, &path).await;
    assert_eq!((status, &ran["success"], &ran["complete"]), (200, &json!(true), &json!(true)), "{ran}");
    assert_eq!(unity.runs("late"), 1);
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_unity_queued_is_not_complete_and_runs_once() {
    let (it, unity, companions) = hopping().await;
    unity.modal(true);
    let (status, told) = execute(&it, "queued", json!(30_000)).await;
    assert_eq!((status, &told["success"], &told["complete"]), (200, &json!(true), &json!(false)), "{told}");
    assert!(told["message"].as_str().unwrap().contains("Do not send it again"), "{told}");
    unity.modal(false);
    until("it ran", || unity.runs("queued") == 1).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(unity.runs("queued"), 1);
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_policy_denies_is_forbidden_and_does_not_run() {
    let mut setup = with_hop();
    setup.config.policy.deny(vec![Pattern::parse("execute_*").unwrap()], "--deny");
    let (it, unity, companions) = hopping_with(setup).await;
    let (status, told) = execute(&it, "denied", json!(null)).await;
    assert_eq!((status, &told["success"], &told["complete"]), (403, &json!(false), &json!(true)), "{told}");
    assert!(told["error"].as_str().unwrap().contains("deny \"execute_*\" (--deny)"), "{told}");
    assert_eq!(unity.runs("denied"), 0);
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn without_unity_it_is_unavailable_and_nothing_ran() {
    let (it, unity, companions) = hopping().await;
    unity.quit().await.unwrap();
    sleep(Duration::from_secs(300)).await;
    let (status, told) = execute(&it, "nobody", json!(null)).await;
    assert_eq!((status, &told["success"]), (503, &json!(false)), "{told}");
    assert!(told["error"].as_str().unwrap().starts_with("Not executed"), "{told}");
    let (status, again) = fetch(&it, &format!("/api/result/{}", told["logId"].as_str().unwrap())).await;
    assert_eq!((status, &again["success"], &again["complete"]), (200, &json!(false), &json!(true)), "{again}");
    assert_eq!(unity.runs("nobody"), 0);
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_may_have_run_is_not_answered_as_something_to_be_sent_again() {
    let (it, unity, companions) = hopping().await;
    // The main thread is not free, so the editor waits 100 ms before it answers; by then the editor has crashed.
    unity.modal(true);
    let cut = async {
        until("the call is there", || it.parts.link().calls.ledger(|ledger, _| ledger.counts().1 == 1)).await;
        sleep(Duration::from_millis(50)).await;
        unity.crash().await.unwrap();
    };
    let ((status, told), ()) = tokio::join!(execute(&it, "cut", json!(100_000)), cut);
    assert_eq!((status, &told["success"]), (200, &json!(false)), "{told}");
    assert!(told["error"].as_str().unwrap().starts_with("Outcome unknown"), "{told}");
    unity.up().await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(unity.runs("cut"), 0, "it was queued, lost with its editor, and not sent again");
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn calls_of_the_api_are_bounded_in_number() {
    let (it, unity, companions) = hopping().await;
    unity.reload(Duration::from_secs(10)).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    for nth in 0..GUEST_CALLS_MAX {
        let (status, told) = execute(&it, &format!("k{nth}"), json!(0)).await;
        assert_eq!((status, &told["complete"]), (200, &json!(false)), "{nth}: {told}");
    }
    let (status, told) = execute(&it, "beyond", json!(0)).await;
    assert!(status == 503 && told["error"].as_str().unwrap().contains("Not executed"), "{status} {told}");
    sleep(Duration::from_secs(40)).await;
    assert!((0..GUEST_CALLS_MAX).all(|nth| unity.runs(&format!("k{nth}")) == 1));
    let (status, ran) = execute(&it, "beyond", json!(5000)).await;
    assert_eq!((status, &ran["complete"], unity.runs("beyond")), (200, &json!(true), 1), "{ran}");
    companions.end().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_of_the_api_executes_nothing() {
    let (it, _unity, companions) = hopping().await;
    for (method, path, body, status) in [
        ("POST", "/api/execute", "no JSON", 400),
        ("POST", "/api/execute", r#"{"query":"x"}"#, 400),
        ("POST", "/api/execute", r#"{"code":7}"#, 400),
        ("POST", "/api/query", r#"{"code":"x"}"#, 400),
        ("POST", "/api/other", "{}", 404),
        ("GET", "/api/execute", "", 404),
        ("GET", "/api/result/nobody", "", 404),
        ("GET", "/api/result/0f8fad5b-d9cb-469f-a165-70867728950e", "", 404),
        ("GET", "/api/log/nobody", "", 404),
        ("GET", "/", "", 404),
    ] {
        let (got, said) = ask_at(HOP, &it.net, method, path, body).await;
        assert_eq!((got, &said["success"]), (status, &json!(false)), "{method} {path} {said}");
    }
    let page = "POST /api/execute HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 12\r\n\r\n\
                {\"code\":\"x\"}";
    assert_eq!(raw_at(HOP, &it.net, page).await.0, 403);
    assert_eq!(it.parts.link().calls.ledger(|ledger, _| ledger.records().count()), 0);
    companions.end().await;
    it.close().await;
}
