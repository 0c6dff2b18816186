//! An editor that is an HTTP server: each request has its own connection, no request is sent twice, and a call that was never
//! sent is held again.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::net::MemoryNet;
use crate::support::{Gateway, PATIENT, PORT, Setup, editor, gateway, unity, until};
use holdfast::config::{Config, PortSource};
use holdfast::fsm::cause::Cause;
use holdfast::limits::{EDITOR_MESSAGE_MAX_BYTES, PATIENCE_MARGIN};
use holdfast::net::{BoxStream, Listener, Net as _};
use holdfast::platform::host::Owner;
use holdfast::protocol::dialect;
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Package, Shape};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep};

/// What the package answers for code that ran.
const RAN: &str = "{ \"success\": false, \"error\": \"Error executing code: One or more errors occurred. (A task was canceled.)\", \
                   \"logs\": [\"Error executing code\"], \"executionTime\": 0 }";

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

async fn with_editor() -> (Gateway, FakeUnity) {
    let setup = setup();
    let unity = unity(&setup.net, FakeUnityConfig { package: package(), ..editor() }).await;
    (opened(setup).await, unity)
}

fn count(key: &str) -> Value {
    json!({ "code": format!("count(\"{key}\")") })
}

fn status(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap_or_else(|_| panic!("{text}"))["status"].clone()
}

// ---- the fake editor ---------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_session_with_reloads_runs_every_call_once() {
    let (mut it, unity) = with_editor().await;
    for round in 0..5 {
        let key = format!("k{round}");
        let id = it.client.call("execute_code", count(&key)).await;
        let (text, error) = it.client.text(&id).await;
        assert!(!error && status(&text) == "success", "{text}");
        assert_eq!(unity.runs(&key), 1);

        // No request is open, so only the next call notices the reload.
        unity.reload(Duration::from_secs(3)).await.unwrap();
        let (key, began) = (format!("held{round}"), Instant::now());
        let id = it.client.call("execute_code", count(&key)).await;
        let (text, error) = it.client.text(&id).await;
        assert!(!error && status(&text) == "success", "{text}");
        assert!(began.elapsed() > Duration::from_secs(2) && began.elapsed() < Duration::from_secs(4));
        assert_eq!(unity.runs(&key), 1);
        sleep(Duration::from_secs(7)).await;
    }
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn work_that_unity_queued_is_told_as_such_and_runs_once() {
    let (mut it, unity) = with_editor().await;
    unity.modal(true);
    let id = it.client.call("execute_code", count("queued")).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "timeout" && text.contains("Do not send it again"), "{text}");
    assert_eq!(unity.runs("queued"), 0);
    unity.modal(false);
    until("it ran", || unity.runs("queued") == 1).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(unity.runs("queued"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_stands_still_under_a_call_is_given_up_and_found_again() {
    let (mut it, unity) = with_editor().await;
    unity.freeze();
    let id = it.client.call("execute_code", count("frozen")).await;
    let (text, error) = it.client.text(&id).await;
    // The editor is greeted first, on another connection, and does not answer. So no byte of the call has been sent.
    assert!(error && text.starts_with("Not executed") && text.contains("was not sent"), "{text}");
    unity.thaw();
    let id = it.client.call("execute_code", count("after")).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!(unity.runs("frozen"), 0);
    assert_eq!(unity.runs("after"), 1);
    it.close().await;
}

/// The progress messages that the client received.
fn progress(it: &Gateway) -> Vec<String> {
    let told = it.client.notifications("notifications/progress").into_iter();
    told.map(|line| line.value["params"]["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Starts a gateway whose client waits ten seconds for an answer. The gateway answers it after five, before the silent editor
/// is given up.
async fn with_hasty_client(mut setup: Setup) -> Gateway {
    setup.config.patience = Some(HASTY);
    opened(setup).await
}

const HASTY: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_call_before_which_the_editor_stood_still_was_not_sent_when_its_client_ends_waiting() {
    let setup = setup();
    let unity = unity(&setup.net, FakeUnityConfig { package: package(), ..editor() }).await;
    let mut it = with_hasty_client(setup).await;
    unity.freeze();
    // The call's connection is established, but the editor is greeted first, on another connection, and does not answer.
    let began = Instant::now();
    let id = it.client.call_with_progress("execute_code", count("frozen"), "p").await;
    sleep(Duration::from_secs(1)).await;
    let behind = it.client.call("execute_code", count("behind")).await;
    until("both are held: nothing of either has left", || {
        it.parts.link().calls.ledger(|ledger, _| ledger.counts()) == (2, 0)
    })
    .await;
    let record = it.parts.link().calls.ledger(|ledger, _| ledger.open_records().last()).unwrap();
    assert_eq!((record.state, record.waits_for, record.sent), ("held", Some(Cause::Stalled), None));

    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed") && text.contains("does not answer"), "{text}");
    assert!(text.contains("was not sent to Unity, so nothing changed"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(6), "the editor was given up before");
    let told = progress(&it);
    assert!(!told.is_empty() && told.iter().all(|told| !told.contains("sent to Unity")), "{told:?}");
    // The editor runs again before it is given up: the same connection is used, and the call that was already answered is not
    // sent.
    unity.thaw();
    let (text, error) = it.client.text(&behind).await;
    assert!(!error && status(&text) == "success", "{text}");
    sleep(Duration::from_secs(30)).await;
    assert_eq!((unity.runs("frozen"), unity.runs("behind")), (0, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_never_stood_was_not_sent_when_its_client_ends_waiting() {
    let mut setup = setup();
    // The call's answer is due while the connect may still succeed.
    setup.config.patience = Some(PATIENCE_MARGIN + Duration::from_millis(1500));
    let unity = unity(&setup.net, FakeUnityConfig { package: package(), ..editor() }).await;
    let mut it = opened(setup).await;
    it.net.hold_connects(true);
    let id = it.client.call("execute_code", count("never")).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed") && text.contains("could not be reached"), "{text}");
    it.net.hold_connects(false);
    sleep(Duration::from_secs(30)).await;
    let id = it.client.call("execute_code", count("after")).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!((unity.runs("never"), unity.runs("after")), (0, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_its_first_byte_is_never_written() {
    let (mut it, unity) = with_editor().await;
    unity.freeze();
    let id = it.client.call("execute_code", count("cancelled")).await;
    sleep(Duration::from_secs(1)).await;
    it.client.cancel(&id).await;
    sleep(Duration::from_secs(1)).await;
    unity.thaw();
    let id = it.client.call("execute_code", count("after")).await;
    assert!(!it.client.text(&id).await.1);
    sleep(Duration::from_secs(30)).await;
    assert_eq!((unity.runs("cancelled"), unity.runs("after")), (0, 1));
    it.close().await;
}

// ---- an editor to the letter -------------------------------------------------------------------------------------------

/// What a scripted editor does with a request for code.
#[derive(Clone)]
enum Does {
    /// Writes these bytes and closes.
    Writes(Vec<u8>),
    /// Writes these bytes one by one, with this pause after each.
    Dribbles(Vec<u8>, Duration),
    /// Writes these bytes, but closes the next connection after `arm` at once.
    HangsUpOnce(Vec<u8>),
    /// Writes these bytes; the ping with this number gets no answer, and its connection is closed after a second.
    CutsPing(Vec<u8>, usize),
    /// Never answers the ping with this number, nor anything after it.
    HangsOnPing(usize),
}

/// An HTTP server that answers `/ping`, and answers every other request as its script demands, one request at a time. A
/// connection without a request does not block the others. `asked` counts the requests other than pings.
struct Scripted {
    task: JoinHandle<()>,
    asked: Arc<AtomicUsize>,
    armed: Arc<AtomicBool>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    async fn start(net: &Arc<MemoryNet>, does: Does) -> Self {
        let listener = net.bind(PORT).await.unwrap();
        let (asked, armed, heads) = (Arc::default(), Arc::default(), Arc::default());
        let task =
            tokio::spawn(Self::serve(listener, does, Arc::clone(&asked), Arc::clone(&armed), Arc::clone(&heads)));
        Self { task, asked, armed, heads }
    }

    async fn serve(
        listener: Arc<dyn Listener>,
        does: Does,
        asked: Arc<AtomicUsize>,
        armed: Arc<AtomicBool>,
        heads: Arc<Mutex<Vec<String>>>,
    ) {
        let (mut pings, mut gone) = (0, Vec::new());
        // The set's tasks end with this task.
        let mut asking = JoinSet::new();
        loop {
            let (request, mut stream) = tokio::select! {
                accepted = listener.accept() => {
                    let (mut stream, _) = accepted.unwrap();
                    if armed.swap(false, Ordering::SeqCst) {
                        // As with TCP, the peer can still write without an error.
                        let _ = stream.shutdown().await;
                        gone.push(stream);
                    } else {
                        asking.spawn(async move { (request(&mut stream).await, stream) });
                    }
                    continue;
                }
                Some(Ok((Some(request), stream))) = asking.join_next() => (request, stream),
            };
            heads.lock().unwrap().push(request.clone());
            if request.starts_with("GET /ping ") {
                pings += 1;
                if matches!(does, Does::HangsOnPing(which) if pings == which) {
                    gone.push(stream);
                    std::future::pending::<()>().await;
                    continue;
                }
                if matches!(does, Does::CutsPing(_, which) if pings == which) {
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
                let _ = stream.write_all(&response("pong")).await;
                continue;
            }
            asked.fetch_add(1, Ordering::SeqCst);
            match &does {
                Does::Writes(bytes) | Does::HangsUpOnce(bytes) | Does::CutsPing(bytes, _) => {
                    let _ = stream.write_all(bytes).await;
                }
                Does::HangsOnPing(_) => {}
                Does::Dribbles(bytes, pause) => {
                    for byte in bytes {
                        let _ = stream.write_all(&[*byte]).await;
                        sleep(*pause).await;
                    }
                }
            }
        }
    }

    /// Makes the editor close the next connection at once.
    fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a whole request; `None` if the connection ends before that.
async fn request(stream: &mut BoxStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.split_once("Content-Length: ").unwrap().1;
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        if body.len() >= length {
            return Some(text.into_owned());
        }
    }
}

fn response(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nServer: Mono-HTTPAPI/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Makes one call to an editor that answers as `does` demands. Returns the text, whether it is an error, and how often the
/// editor was asked.
async fn one_call(does: Does) -> (String, bool, usize) {
    let setup = setup();
    let editor = Scripted::start(&setup.net, does).await;
    let mut it = opened(setup).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    // This is long enough for a second request.
    sleep(Duration::from_secs(30)).await;
    it.close().await;
    (text, error, editor.asked())
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_at_any_byte_is_an_unknown_outcome_and_never_asked_again() {
    let whole = response(RAN);
    for at in 0..whole.len() {
        let (text, error, asked) = one_call(Does::Writes(whole[..at].to_vec())).await;
        assert!(error && text.starts_with("Outcome unknown"), "cut at {at}: {text}");
        assert_eq!(asked, 1, "cut at {at}");
    }
    let (text, error, asked) = one_call(Does::Writes(whole)).await;
    assert!(!error && status(&text) == "success", "{text}");
    assert_eq!(asked, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_http_or_too_large_is_an_unknown_outcome_too() {
    let too_large = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", EDITOR_MESSAGE_MAX_BYTES + 1);
    for bytes in ["Content-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", &too_large] {
        let (text, error, asked) = one_call(Does::Writes(bytes.as_bytes().to_vec())).await;
        assert!(error && text.starts_with("Outcome unknown"), "{bytes}: {text}");
        assert_eq!(asked, 1, "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_written_and_not_answered_may_run_still() {
    let setup = setup();
    // The first byte of the answer comes at once, and the second one too late.
    let editor = Scripted::start(&setup.net, Does::Dribbles(response(RAN), Duration::from_secs(60))).await;
    let mut it = with_hasty_client(setup).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Still running"), "{text}");
    assert_eq!(editor.asked(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn chunked_and_unbounded_and_slow_answers_are_read() {
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{RAN}\r\n0\r\n\r\n", RAN.len());
    let unbounded = format!("HTTP/1.1 200 OK\r\n\r\n{RAN}");
    for does in [
        Does::Writes(chunked.into_bytes()),
        Does::Writes(unbounded.into_bytes()),
        Does::Dribbles(response(RAN), Duration::from_millis(500)),
    ] {
        let (text, error, asked) = one_call(does).await;
        assert!(!error && status(&text) == "success", "{text}");
        assert_eq!(asked, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_nobody_is_held_and_sent_once_to_whoever_returns() {
    let setup = setup();
    let net = setup.net.clone();
    let gone = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let mut it = opened(setup).await;
    drop(gone);
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    sleep(Duration::from_secs(5)).await;
    let back = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "success", "{text}");
    assert_eq!(back.asked(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_up_before_it_is_asked_was_not_asked() {
    let mut setup = setup();
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    setup.config.project = Some(dunce::canonicalize(project.path()).unwrap());
    // The editor closes the connection while the gateway looks up the owner of the port.
    setup.host.slow(Duration::from_millis(20));
    let editor = Scripted::start(&setup.net, Does::HangsUpOnce(response(RAN))).await;
    let mut it = opened(setup).await;
    // By then the idle connection is established.
    sleep(Duration::from_secs(1)).await;
    editor.arm();
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "success", "{text}");
    assert_eq!(editor.asked(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_a_ping_that_is_cut_never_left_and_is_sent_on_the_next_connection() {
    let setup = setup();
    // The first two pings are the greeting and the list; the third is the heartbeat of an idle connection.
    let editor = Scripted::start(&setup.net, Does::CutsPing(response(RAN), 3)).await;
    let mut it = opened(setup).await;
    let pings = || editor.heads.lock().unwrap().len();
    until("the heartbeat is under way", || pings() == 3).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(it.parts.link().calls.ledger(|ledger, _| ledger.counts()), (1, 0), "it is held until its first byte");
    assert_eq!(editor.asked(), 0);
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "success", "{text}");
    assert_eq!(editor.asked(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_a_ping_that_never_ends_never_left_and_is_held_when_the_heartbeat_gives_up() {
    let setup = setup();
    let net = setup.net.clone();
    let editor = Scripted::start(&net, Does::HangsOnPing(3)).await;
    let mut it = opened(setup).await;
    let pings = || editor.heads.lock().unwrap().len();
    until("the heartbeat is under way", || pings() == 3).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    until("the heartbeat is given up", || it.parts.link().contact.view.borrow().epoch.is_none()).await;
    assert_eq!(editor.asked(), 0);
    drop(editor);
    sleep(Duration::from_secs(1)).await;
    let back = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "success", "{text}");
    assert_eq!(back.asked(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_the_packages_server_is_answered_here_although_it_was_called_before_the_editor_was_there() {
    let setup = setup();
    let net = setup.net.clone();
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let early = it.client.call("help", json!({})).await;
    let editor = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let (text, error) = it.client.text(&early).await;
    assert!(!error && text.contains("find("), "{text}");
    it.ready().await;
    let id = it.client.call("execute_code", json!({"source": "new GameObject(\"x\")"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.contains("`code`") && text.contains("Not executed"), "{text}");
    assert_eq!(editor.asked(), 0, "nothing of that is the editor's");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn requests_are_one_at_a_time_with_host_and_length() {
    let setup = setup();
    let editor = Scripted::start(&setup.net, Does::Writes(response(RAN))).await;
    let mut it = opened(setup).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(it.client.call("execute_code", json!({"code": "ä\n;"})).await);
    }
    for id in &ids {
        assert!(!it.client.text(id).await.1);
    }
    let heads = editor.heads.lock().unwrap().clone();
    assert!(heads.iter().all(|head| head.contains("\r\nHost: 127.0.0.1:8700\r\nConnection: close\r\n")), "{heads:?}");
    let calls: Vec<_> = heads.iter().filter(|head| head.starts_with("POST ")).collect();
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|call| call.ends_with("Content-Length: 4\r\n\r\nä\n;")), "{calls:?}");
    it.close().await;
}

/// Starts an HTTP server that answers every request with these bytes. Also returns the number of its requests other than
/// pings.
async fn foreign_peer(net: &Arc<MemoryNet>, says: Vec<u8>) -> (Arc<AtomicUsize>, JoinHandle<()>) {
    let listener = net.bind(PORT).await.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = asked.clone();
    let task = tokio::spawn(async move {
        let mut asking = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (counting, says) = (counting.clone(), says.clone());
            asking.spawn(async move {
                let Some(request) = request(&mut stream).await else { return };
                counting.fetch_add(usize::from(!request.starts_with("GET /ping ")), Ordering::SeqCst);
                let _ = stream.write_all(&says).await;
            });
        }
    });
    (asked, task)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_the_package_is_not_called() {
    let setup = setup();
    let (asked, task) = foreign_peer(&setup.net, response("\"pong\"")).await;
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    it.close().await;
    task.abort();
}

/// The idle connection ends, and the next connect succeeds as before. Only the greeting shows that the listener is now
/// another program.
#[tokio::test(start_paused = true)]
async fn a_program_that_takes_the_port_between_two_calls_is_sent_none() {
    let setup = setup();
    let net = setup.net.clone();
    let editor = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let mut it = opened(setup).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    assert!(!it.client.text(&id).await.1);
    editor.task.abort();
    until("the editor is gone", || editor.task.is_finished()).await;
    let (asked, task) = foreign_peer(&net, response("It works!")).await;
    let id = it.client.call("execute_code", json!({"code": "y"})).await;
    // After this time the call would have been sent.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0, "a stranger was sent a call");
    task.abort();
    until("the stranger is gone", || task.is_finished()).await;
    let back = Scripted::start(&net, Does::Writes(response(RAN))).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && status(&text) == "success" || text.starts_with("Not executed"), "{text}");
    assert_eq!(back.asked(), usize::from(!error), "what was not sent before is sent once, or said not to have run");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_port_that_changed_hands_is_not_called() {
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    let ours = dunce::canonicalize(project.path()).unwrap();
    let editor_of = |project: &str| Owner {
        pid: 4711,
        name: "Unity".to_owned(),
        command_line: ["Unity", "-projectPath", project].map(str::to_owned).to_vec(),
    };
    let mut setup = setup();
    setup.config.project = Some(ours.clone());
    setup.host.set_owner(PORT, editor_of(ours.to_str().unwrap()));
    let editor = Scripted::start(&setup.net, Does::Writes(response(RAN))).await;
    let mut it = opened(setup).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!(editor.asked(), 1);

    it.host.set_owner(PORT, editor_of(if cfg!(windows) { r"C:\somebody\elses" } else { "/somebody/elses" }));
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed") && text.contains("another project"), "{text}");
    assert_eq!(editor.asked(), 1, "whoever has the port now hears nothing of it");

    it.host.set_owner(PORT, editor_of(ours.to_str().unwrap()));
    it.ready().await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!(editor.asked(), 2);
    it.close().await;
}
