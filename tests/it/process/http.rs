//! MCP over HTTP on the real program: what a hostile or broken client may cost, what leaves the process, and how it ends.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use holdfast::limits::SERVED_TIMEOUT;
use holdfast::limits::http::HTTP_CONNECTIONS_MAX;
use holdfast_testkit::http::Connection;
use holdfast_testkit::process::hub::{Era, Hub, asks, call, path};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::unity::Unity;
use super::{Room, SOON, client, until};

/// As [`until`], for a condition that is awaited.
async fn until_async(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    soon(what, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.unwrap_or_else(|_| panic!("{what}: not within {SOON:?}"))
}

#[tokio::test]
async fn a_kept_connection_serves_one_request_after_the_other_and_a_half_closed_one_its_last() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let path = path(&room);
    let mut kept = hub.connect().await;
    for nth in 0..50 {
        let key = format!("k{nth}");
        let answer = soon("an answer", kept.ask(&hub.asks(&path, &call("count", json!({"key": key}))))).await;
        assert!(answer.is_some_and(|answer| answer.body.contains("Runs")), "{nth}");
        assert_eq!(room.runs(&key), 1);
    }
    let waits = hub.asks(&path, &call("count", json!({"key": "half"})));
    // A body may wait until the server wants it.
    let (head, body) = waits.split_once("\r\n\r\n").expect("a body");
    kept.send(&format!("{head}\r\nExpect: 100-continue\r\n\r\n")).await;
    assert_eq!(soon("a head", kept.head()).await.map(|head| head.status), Some(100));
    kept.send(body).await;
    kept.hang_up().await;
    let head = soon("a head", kept.head()).await.expect("a head");
    assert!(soon("a body", kept.body(&head)).await.is_some_and(|body| body.contains("Runs")));
    assert_eq!(soon("the end", kept.head()).await, None);
    assert_eq!(room.runs("half"), 1);
}

/// Without a handshake a closed connection is a cancellation, and one whose client still reads is not closed.
#[tokio::test]
async fn a_client_without_a_handshake_that_closes_only_its_sending_side_gets_its_answer() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    for (key, hold) in [("quick", false), ("held", true)] {
        let mut half = hub.connect().await;
        let server = (&*hub.address, &*hub.token);
        half.send(&asks(server, Era::Stateless, &path, &call("count", json!({"key": key, "hold": hold})))).await;
        half.hang_up().await;
        if hold {
            until_async("the call runs", async || room.runs(key) == 1).await;
            // Longer than the server needs to see that its client still reads.
            tokio::time::sleep(Duration::from_millis(1500)).await;
            unity.order("release");
        }
        let head = soon("a head", half.head()).await.expect("a head");
        assert!(soon("a body", half.body(&head)).await.is_some_and(|body| body.contains("Runs")), "{key}");
        assert_eq!(room.runs(key), 1);
    }
}

/// A client that gives up closes its connection in good order, and the system still takes an answer for it.
#[tokio::test]
async fn the_result_of_a_call_whose_client_gave_up_waits_under_its_id() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let mut gives_up = hub.connect().await;
    gives_up.send(&hub.asks(&path, &call("count", json!({"key": "left", "hold": true})))).await;
    until_async("the call runs", async || room.runs("left") == 1).await;
    gives_up.hang_up().await;
    drop(gives_up);
    unity.order("release");
    let mut told = String::new();
    until_async("its result", async || {
        let calls = hub.call(&path, "holdfast_calls", json!({"limit": 5})).await.to_string();
        let id = calls.split(|c: char| !c.is_ascii_hexdigit() && c != '-').find(|word| word.len() == 36);
        told = hub.call(&path, "holdfast_result", json!({"call_id": id.expect("a call")})).await.to_string();
        !told.contains("not finished")
    })
    .await;
    assert!(told.contains("Runs"), "{told}");
}

/// The system took the answer, and the client reset its connection without having read it.
#[tokio::test]
async fn the_result_of_a_call_whose_client_was_gone_at_the_moment_of_the_answer_is_kept() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let mut reset = hub.connect().await;
    reset.send(&hub.asks(&path, &call("count", json!({"key": "unread"})))).await;
    until_async("it is answered", async || {
        let calls = hub.call(&path, "holdfast_calls", json!({"limit": 1})).await;
        calls.contains("\"count\"") && calls.contains("\"ok\"")
    })
    .await;
    drop(reset);
    let calls = hub.call(&path, "holdfast_calls", json!({"limit": 1})).await;
    let id = calls.split(|c: char| !c.is_ascii_hexdigit() && c != '-').find(|word| word.len() == 36).expect("a call");
    let told = hub.call(&path, "holdfast_result", json!({"call_id": id})).await;
    assert!(told.contains("Runs"), "{told}");
    assert_eq!(room.runs("unread"), 1);
}

/// The next hub looks for the call, so its client is told to ask that one.
#[tokio::test]
async fn a_hub_that_is_told_to_end_names_the_call_that_runs_and_the_next_one_gives_its_result() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let mut waits = hub.connect().await;
    let asks = hub.asks(&path, &call("count", json!({"key": "left", "hold": true})));
    waits.send(&asks).await;
    until_async("the call runs", async || room.runs("left") == 1).await;
    hub.end();
    let text = soon("the last answer", waits.rest()).await;
    assert!(text.contains("Outcome unknown: the hub is ending") && text.contains("holdfast_result"), "{text}");
    let id = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-').find(|word| word.len() == 36).expect("an id");
    let next = Hub::start(&room);
    unity.order("release");
    let mut told = String::new();
    until_async("its result", async || {
        told = next.call(&path, "holdfast_result", json!({"call_id": id})).await;
        !told.contains("not finished")
    })
    .await;
    assert!(told.contains("Runs") && room.runs("left") == 1, "{told}");
    // The third one has the result of that call before it has its editor.
    drop(next);
    let third = Hub::start(&room);
    assert!(third.call("/mcp", "echo", json!({"text": "hello"})).await.contains("hello"));
    assert!(third.call("/mcp", "holdfast_result", json!({"call_id": id})).await.contains("Runs"));
}

#[tokio::test]
async fn the_first_message_for_all_editors_waits_until_those_that_run_are_found() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    Hub::start(&room).call(&path(&room), "echo", json!({"text": "known"})).await;
    for _ in 0..5 {
        let hub = Hub::start(&room);
        assert!(hub.call("/mcp", "echo", json!({"text": "first"})).await.contains("first"));
    }
    for _ in 0..5 {
        let hub = Hub::start(&room);
        let status = hub.call("/mcp", "holdfast_status", json!({})).await;
        assert!(!status.contains("not reachable"), "{status}");
    }
}

#[tokio::test]
async fn a_url_of_a_project_that_is_not_known_is_a_mistake_in_the_url() {
    let room = Room::new();
    let hub = Hub::start(&room);
    let mut asks = call("echo", json!({}));
    asks["id"] = json!("seven");
    let told = hub.raw(&hub.asks("/mcp/Castle", &asks)).await.answer();
    assert_eq!(told["id"], "seven");
    let text = told["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("the URL names the project `Castle`") && text.contains("percent-encoded"), "{told}");
}

/// What two programs on the way could read as different requests is refused, or ends the connection behind the first one.
#[tokio::test]
async fn nothing_is_smuggled_in_behind_another_request() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let hidden = hub.asks(&path, &call("count", json!({"key": "hidden"})));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let whole = hub.asks(&path, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let length = format!("Content-Length: {}", ping.len());
    let chunked = format!("{:x}\r\n{ping}\r\n0\r\n\r\n", ping.len());
    let with = |header: &str, body: &str| {
        let (head, _) = whole.split_once("\r\n\r\n").expect("a body");
        format!("{}\r\n\r\n{body}{hidden}", head.replace(&length, header))
    };
    let long = format!("{length}\r\nContent-Length: {}", ping.len() + hidden.len());
    let attempts = [
        // The answer to the first request, and the connection ends.
        (with(&format!("{length}\r\nTransfer-Encoding: chunked"), &chunked), Some(200)),
        (with(&format!("Transfer-Encoding: chunked\r\n{length}"), "0\r\n\r\n"), Some(400)),
        (with(&format!("X-A: b\nTransfer-Encoding: chunked\r\n{length}"), &chunked), Some(200)),
        (with("Transfer-Encoding: chunked", &chunked), Some(200)),
        // No request.
        (with(&long, &ping), Some(400)),
        (with(&format!("{length}, {}", ping.len() + 1), &ping), Some(400)),
        (with(&format!("Content-Length: +{}", ping.len()), &ping), Some(400)),
        (with("Content-Length: -1", &ping), Some(400)),
        (with(&format!("Content-Length : {}", ping.len()), &ping), Some(400)),
        (with("Transfer-Encoding : chunked", &chunked), Some(400)),
        (with("Transfer-Encoding: chunked, identity", &chunked), Some(400)),
        (with("Transfer-Encoding: xchunked", &chunked), Some(400)),
        (with(&format!("X-Folded: a\r\n b\r\n{length}"), &ping), Some(400)),
        (with(&format!("X-Folded: a\r\n\t{length}"), &ping), Some(400)),
        (with(&format!("X-Nul: \0\r\n{length}"), &ping), Some(400)),
        // A body that is no body.
        (with("Transfer-Encoding: chunked", "fffffffffffffffff\r\n"), None),
        (with("Transfer-Encoding: chunked", "-1\r\n"), None),
        (with("", ""), Some(411)),
        // Another protocol.
        (format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{hidden}"), Some(400)),
        (whole.replacen(&path, &format!("http://evil.example{path}"), 1), Some(400)),
        (whole.replacen(&path, &format!("https://{}{path}", hub.address), 1), Some(400)),
        // One request, whose target names the host that its header names.
        (whole.replacen(&path, &format!("http://{}{path}", hub.address), 1), Some(200)),
        (whole.replacen("POST", "CONNECT", 1), Some(405)),
    ];
    for (bytes, status) in attempts {
        let mut connection = hub.connect().await;
        connection.send(&bytes).await;
        connection.hang_up().await;
        let rest = soon("the end of the connection", connection.rest()).await;
        let answers =
            rest.split("HTTP/1.1 ").skip(1).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).count();
        let said = rest.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
        assert_eq!((said, answers), (status, usize::from(status.is_some())), "{bytes:?}\n{rest}");
        assert_eq!(room.runs("hidden"), 0, "{bytes:?}");
    }
    assert!(hub.call(&path, "count", json!({"key": "open"})).await.contains("Runs"));
}

/// Slow heads, slow bodies, and connections that say nothing: others are served meanwhile.
#[tokio::test]
async fn clients_that_dawdle_keep_nobody_out() {
    let room = Room::new();
    let hub = Hub::start(&room);
    let whole = hub.asks("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let (head, _) = whole.split_once("\r\n\r\n").expect("a body");
    let slow = async {
        let mut connection = hub.connect().await;
        connection.send(&head[..20]).await;
        let began = std::time::Instant::now();
        let dripping = async {
            let mut connections = Vec::new();
            for _ in 0..30 {
                let mut slow = hub.connect().await;
                slow.send("POST /mcp HTTP/1.1\r\n").await;
                connections.push(slow);
            }
            // One byte after the other, for longer than a head may take.
            while began.elapsed() < SERVED_TIMEOUT + Duration::from_secs(1) {
                for slow in &mut connections {
                    slow.send("X").await;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            for mut slow in connections {
                let rest = soon("the end", slow.rest()).await;
                assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408 "), "{rest}");
            }
        };
        dripping.await;
        assert!(soon("the end", connection.rest()).await.starts_with("HTTP/1.1 408 "));
    };
    let served = async {
        for _ in 0..20 {
            assert_eq!(hub.raw(&whole).await.status(), 200);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::join!(slow, served);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_connections_are_bounded_and_keep_nobody_out() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (now, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, now.max(4096.min(most)), most).expect("room for the connections");
    let room = Room::new();
    let hub = Hub::start(&room);
    let whole = hub.asks("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let mut idle = Vec::new();
    for nth in 0..1000 {
        let mut connection = hub.connect().await;
        // Some are used once and then kept, the others say nothing.
        if nth % 4 == 0 {
            assert!(soon("an answer", connection.ask(&whole)).await.is_some(), "{nth}");
        }
        idle.push(connection);
    }
    assert_eq!(hub.raw(&whole).await.status(), 200);
    let open = std::fs::read_dir(format!("/proc/{}/fd", hub.child.id())).expect("its descriptors").count();
    assert!(open <= HTTP_CONNECTIONS_MAX + 64, "{open} descriptors");
    drop(idle);
    assert_eq!(hub.raw(&whole).await.status(), 200);
}

#[tokio::test]
async fn another_address_needs_a_token_and_a_host_of_the_users() {
    let room = Room::new();
    let refused = |arguments: &[&str]| {
        let done = client::command(&room).arg("hub").args(arguments).stdin(Stdio::null()).output().expect("it runs");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let file = room.path().join("token");
    let own = "a-token-of-the-user-0123456789";
    std::fs::write(&file, own).expect("a token");
    let file = file.display().to_string();
    let (code, says) = refused(&["--http", "0.0.0.0:0"]);
    assert!(code == Some(2) && says.contains("--http-allow-remote") && says.contains("TLS"), "{code:?} {says}");
    for lacking in [&["--http-allow-remote"][..], &["--http-allow-remote", "--http-token-file", &file]] {
        let all: Vec<&str> = ["--http", "0.0.0.0:0"].into_iter().chain(lacking.iter().copied()).collect();
        assert_eq!(refused(&all).0, Some(2), "{all:?}");
    }
    let remote =
        ["--http", "0.0.0.0:0", "--http-allow-remote", "--http-token-file", &file, "--http-host", "mcp.example.com"];
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let set = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("a mode");
        set(0o644);
        let (code, says) = refused(&remote);
        assert!(code == Some(1) && says.contains("chmod 600") && !says.contains(own), "{code:?} {says}");
        set(0o600);
    }
    let mut hub = Hub::with(&room, &remote);
    assert!(hub.address.starts_with("127.0.0.1:"), "what is published can be reached: {}", hub.address);
    assert_eq!(hub.token, "", "none is made");
    hub.token = own.to_owned();
    let whole = hub.asks("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let host = format!("Host: {}", hub.address);
    for (host_is, status) in [("mcp.example.com", 200), ("localhost.example.com", 403), ("0.0.0.0", 403)] {
        assert_eq!(hub.raw(&whole.replace(&host, &format!("Host: {host_is}"))).await.status(), status, "{host_is}");
    }
    assert_eq!(hub.raw(&whole.replace(own, "a-token-of-the-user-012345678")).await.status(), 401);
}

/// Neither the token nor what clients say is anywhere but in answers to clients and calls to editors.
#[cfg(unix)]
#[tokio::test]
async fn secrets_are_in_no_log_and_in_no_file() {
    const SECRET: &str = "CANARY-9b1e77d0";
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let secret = json!({"text": SECRET, "token": SECRET});
    assert!(hub.call(&path, "echo", secret.clone()).await.contains(SECRET));
    hub.call(&path, "fail", secret.clone()).await;
    let whole = hub.asks(&path, &call("echo", secret));
    for bytes in [
        whole.replace(&hub.token, SECRET),
        whole.replace("HTTP/1.1", &format!("HTTP/1.1\r\nX-Secret: {SECRET}")),
        whole.replacen(" HTTP/1.1", &format!("?token={SECRET} HTTP/1.1"), 1),
        whole.replacen("/mcp/", &format!("/mcp/{SECRET}"), 1),
        whole.replace("2025-11-25", SECRET),
        whole.replace("tools/call", SECRET),
        whole.replace("Host: ", &format!("Host: {SECRET}.")),
        whole.replace("Host: ", &format!("Origin: http://{SECRET}\r\nHost: ")),
        whole.replacen("POST", SECRET, 1),
    ] {
        let answer = hub.raw(&bytes).await;
        assert!(!answer.body.contains(&hub.token), "{answer:?}");
    }
    until("what was refused is logged", || {
        std::fs::read_to_string(&hub.log).is_ok_and(|log| log.contains("unauthorized") && log.contains("foreign_page"))
    });
    hub.end();
    // Results that clients have are removed from the records by the next hub, if not before.
    drop(Hub::start(&room));
    let mut folders = vec![room.state()];
    let mut texts = vec![(hub.log.clone(), std::fs::read_to_string(&hub.log).expect("a log"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.file_name().is_some_and(|name| name == "http_token") => {}
                path => texts.push((
                    path.clone(),
                    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned(),
                )),
            }
        }
    }
    assert!(texts.len() > 2, "{texts:?}");
    for (file, text) in texts {
        assert!(!text.contains(SECRET) && !text.contains(&hub.token), "{}", file.display());
    }
}

#[tokio::test]
async fn the_address_is_in_status_and_doctor_and_the_token_stays() {
    let room = Room::new();
    let hub = Hub::start(&room);
    let run = |arguments: &[&str]| {
        let done = client::command(&room).args(arguments).stdin(Stdio::null()).output().expect("it runs");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let url = format!("http://{}/mcp", hub.address);
    let status: Value = serde_json::from_str(&run(&["status", "--json"])).expect("JSON");
    assert_eq!((&status["hub"]["http"], &status["hub"]["pid"]), (&json!(url), &json!(hub.child.id())), "{status}");
    for arguments in [&["status"][..], &["doctor", "-v"]] {
        let text = run(arguments).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&url) && !text.contains(&hub.token), "{arguments:?}: {text}");
    }
    let token = hub.token.clone();
    drop(hub);
    assert_eq!(Hub::start(&room).token, token, "clients keep their token over a restart");
}

/// With a handshake the call of a client that is cut off goes on; without one it is cancelled, and a held one never runs.
#[tokio::test]
async fn a_cut_connection_ends_a_request_of_the_stateless_era_only() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &[]);
    let hub = Hub::start(&room);
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    for (era, runs) in [(Era::Handshake, 1), (Era::Stateless, 0)] {
        let (sent, held) = (format!("sent-{era:?}"), format!("held-{era:?}"));
        let mut first = hub.connect().await;
        let server = (&*hub.address, &*hub.token);
        first.send(&asks(server, era, &path, &call("count", json!({"key": sent, "hold": true})))).await;
        until_async("the call runs", async || room.runs(&sent) == 1).await;
        let mut second = hub.connect().await;
        second.send(&asks(server, era, &path, &call("count", json!({"key": held})))).await;
        until_async("it waits", async || hub.call(&path, "holdfast_calls", json!({})).await.contains("\"held\"")).await;
        drop((first, second));
        if era == Era::Stateless {
            until_async("it is withdrawn", async || {
                !hub.call(&path, "holdfast_calls", json!({})).await.contains("\"held\"")
            })
            .await;
        }
        unity.say("release");
        assert!(hub.call(&path, "count", json!({"key": format!("next-{era:?}")})).await.contains("Runs"));
        assert_eq!((room.runs(&sent), room.runs(&held)), (1, runs), "{era:?}");
    }
}

/// The hub and the editor are killed again and again under the load of clients over HTTP. What was answered is true, and nothing runs
/// twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_hub_and_editor_cost_no_call_a_second_run_and_no_answer_its_truth() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut hub = Hub::start(&room);
    let token = hub.token.clone();
    let (moves, address) = tokio::sync::watch::channel(hub.address.clone());
    let path = path(&room);
    hub.call(&path, "echo", json!({})).await;
    let keys = std::sync::atomic::AtomicUsize::new(0);
    let (over, is_over) = tokio::sync::watch::channel(false);
    // Each client calls with a new key each time. Of a call without an answer it knows nothing.
    let client = |era: Era| {
        let (path, token, address, keys, is_over) = (&path, &token, address.clone(), &keys, is_over.clone());
        async move {
            let mut told = Vec::new();
            while !*is_over.borrow() {
                let key = format!("key-{}", keys.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
                let address = address.borrow().clone();
                let bytes = asks((&address, token), era, path, &call("count", json!({"key": key})));
                let Ok(stream) = TcpStream::connect(&address).await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let answer = soon("an answer or an end", Connection::over(stream).ask(&bytes)).await;
                told.push((key, answer));
            }
            told
        }
    };
    let kills = async {
        for round in 0..6 {
            let before = keys.load(std::sync::atomic::Ordering::Relaxed);
            until_async("calls", async || keys.load(std::sync::atomic::Ordering::Relaxed) >= before + 20).await;
            if round % 2 == 0 {
                hub.kill();
                hub = tokio::task::block_in_place(|| Hub::start(&room));
                moves.send_replace(hub.address.clone());
            } else {
                unity.kill();
                unity = tokio::task::block_in_place(|| Unity::of_project(&room, &["--quiet"]));
            }
        }
        let before = keys.load(std::sync::atomic::Ordering::Relaxed);
        until_async("calls", async || keys.load(std::sync::atomic::Ordering::Relaxed) >= before + 20).await;
        over.send_replace(true);
    };
    let (first, second, third, ()) =
        tokio::join!(client(Era::Handshake), client(Era::Stateless), client(Era::Handshake), kills);
    let mut ran = 0;
    for (key, answer) in [first, second, third].concat() {
        let runs = room.runs(&key);
        assert!(runs <= 1, "{key} ran {runs} times");
        // Without an answer, the hub that had this one is dead. An ending hub refuses.
        let Some(answer) = answer.filter(|answer| answer.status() == 200) else { continue };
        let answers = answer.messages().iter().filter(|message| message["id"] == 1).count();
        assert_eq!(answers, 1, "{key}: {answer:?}");
        let text = answer.answer()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if text.contains("Runs") {
            assert_eq!(runs, 1, "{key}: {text}");
            ran += 1;
        } else if text.starts_with("Not executed") {
            assert_eq!(runs, 0, "{key}: {text}");
        } else {
            assert!(text.starts_with("Outcome unknown"), "{key}: {answer:?}");
        }
    }
    assert!(ran > 60, "{ran} ran");
}

/// A hub that a session started makes way for one that a person starts to serve HTTP, and its sessions go on. Any other hub stays,
/// and the person is told.
#[cfg(unix)]
#[expect(clippy::disallowed_types, reason = "a program that has the port is played, from outside")]
#[test]
fn a_hub_with_http_replaces_one_that_a_session_started_and_no_other() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let project = room.project().display().to_string();
    let mut command = client::command(&room);
    command.args(["serve", "--hub", "start", "--project", &project]);
    // What is said of HTTP for all hubs is no reason for a session to have none.
    command.env("HOLDFAST_HTTP_HOST", "mcp.example.com").env("HOLDFAST_HTTP_TOKEN_FILE", room.path().join("none"));
    let mut session = client::Client::spawn(&room, command);
    session.initialize();
    session.echoes();
    until("it is on a hub", || session.log().contains("hub_attached"));
    let refused = |arguments: &[&str]| {
        let done = client::command(&room).arg("hub").args(arguments).stdin(Stdio::null()).output().expect("it runs");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    // It does not end for one that cannot serve.
    let attached = |session: &client::Client| session.log().matches("hub_attached").count();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (code, says) = refused(&["--http", &taken.local_addr().expect("its address").to_string()]);
    assert!(code == Some(1) && says.contains("Name another port"), "{code:?} {says}");
    let hub = Hub::start(&room);
    session.echoes();
    until("it is on the new hub", || attached(&session) >= 2);
    assert_eq!(attached(&session), 2, "the one before did not take it");
    let (code, says) = refused(&["--http", "127.0.0.1:0"]);
    assert!(
        code == Some(1) && says.contains(&hub.address) && says.contains(&hub.child.id().to_string()),
        "{code:?} {says}"
    );
    session.close(&room);
    drop(hub);
    // One that a person started, and that serves no HTTP.
    let child = client::command(&room).arg("hub").stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it runs");
    let plain = Hub { child, log: PathBuf::new(), address: String::new(), token: String::new() };
    let info = || std::fs::read_to_string(room.state().join("hub/hub.json")).unwrap_or_default();
    let pid = plain.child.id().to_string();
    until("it serves", || info().contains(&pid));
    let (code, says) = refused(&["--http", "127.0.0.1:0"]);
    assert!(code == Some(1) && says.contains(&pid) && says.contains("--http"), "{code:?} {says}");
    assert!(info().contains(&pid), "it stays");
}
