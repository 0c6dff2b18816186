//! Tests of the simulated package of Unity-MCP: its literal answers, its single thread, and a main thread that may be too late.

use super::PACKAGE;
use crate::tests::*;

fn unity_mcp() -> FakeUnityConfig {
    FakeUnityConfig { package: &PACKAGE, ..config() }
}

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/unity-mcp/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// Sends bytes on a new connection and reads until its end. Returns the part of the answer that arrived.
async fn exchange(unity: &FakeUnity, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", unity.port().unwrap())).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = within(stream.read_to_end(&mut answer)).await;
    String::from_utf8(answer).unwrap()
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST /api/CodeExecution/{path} HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_else(|| panic!("no head: {answer:?}"))
}

#[tokio::test]
async fn what_the_editor_says_is_literally_what_is_known_of_it() {
    let requests = vectors("requests");
    let mut played = 0;
    for vector in vectors("answers").iter().chain(&vectors("greeting")) {
        let means = &vector["means"];
        let Some(main_thread) = means["main_thread"].as_str() else { continue };
        let unity = start(unity_mcp()).await;
        unity.modal(main_thread == "busy");
        let request = requests.iter().find(|request| request["name"] == means["request"]).unwrap();
        let answer = exchange(&unity, request["frame"].as_str().unwrap()).await;
        assert_eq!(body(&answer), vector["body"].as_str().unwrap(), "{}", vector["name"]);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        for header in ["\r\nServer: Mono-HTTPAPI/1.0\r\n", "\r\nContent-Type: application/json\r\n"] {
            assert!(answer.contains(header), "{answer}");
        }
        played += 1;
    }
    assert_eq!(played, 11);
}

#[tokio::test]
async fn monos_listener_refuses_before_the_package_hears_of_it() {
    let unity = start(unity_mcp()).await;
    let mut events = unity.events();
    let length = exchange(&unity, "POST /api/CodeExecution/start-game HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    assert!(length.starts_with("HTTP/1.1 411 "), "{length}");
    assert_eq!(body(&length), "<h1>Length Required</h1>");
    for host in ["Host: evil.example:8082\r\n", "Host: [::1]\r\n", ""] {
        let answer = exchange(&unity, &format!("GET /ping HTTP/1.1\r\n{host}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(body(&answer), "<h1>Bad Request (Invalid host)</h1>");
    }
    exchange(&unity, &post("start-game", "")).await;
    event(&mut events, |event| matches!(event, Event::CallBegun { .. })).await;
    assert_eq!(unity.stats().requests, 1, "only the last was for the package");
}

#[tokio::test]
async fn every_other_path_and_method_gets_the_greeting() {
    let unity = start(unity_mcp()).await;
    for request in [
        "GET / HTTP/1.1",
        "GET /Ping HTTP/1.1",
        "GET /api/CodeExecution/execute-code HTTP/1.1",
        "GET /api/CodeExecution/query?query=x HTTP/1.1",
    ] {
        let answer = exchange(&unity, &format!("{request}\r\nHost: localhost\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(body(&answer), "{ \"success\": true, \"message\": \"Hello from Unity MCP!\" }", "{request}");
    }
    let query = exchange(&unity, "GET /ping?x=y HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert_eq!(body(&query), "pong");
}

#[tokio::test]
async fn a_connection_may_be_kept() {
    let unity = start(unity_mcp()).await;
    let mut stream = TcpStream::connect(("127.0.0.1", unity.port().unwrap())).await.unwrap();
    for _ in 0..2 {
        stream.write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"pong") {
            assert!(within(stream.read_buf(&mut answer)).await.unwrap() > 0);
        }
    }
    assert_eq!(unity.stats().accepts, 1);
}

#[tokio::test]
async fn statements_are_read_one_by_one_and_most_are_only_echoed() {
    let unity = start(unity_mcp()).await;
    let mut events = unity.events();
    let code = "Debug.Log(\"hi\"); new GameObject(\"Tower\")\nfind(\"Player\").transform;;count(\"k\")\r\nreturn 1+1";
    exchange(&unity, &post("execute-code", code)).await;
    for meant in [
        "[Unity MCP] hi",
        "[Unity MCP] Created GameObject: CommandCreatedObject",
        "[Unity MCP] GameObject 'Player' not found",
        "[Unity MCP] Executing generic command: return 1+1",
    ] {
        let said = event(&mut events, |event| matches!(event, Event::Logged { .. })).await;
        assert_eq!(said, Event::Logged { message: meant.to_owned() });
    }
    assert_eq!(unity.runs("k"), 1);

    let plain = start(FakeUnityConfig { test_tools: false, ..unity_mcp() }).await;
    exchange(&plain, &post("execute-code", "count(\"k\")")).await;
    assert_eq!(plain.runs("k"), 0, "the package itself counts nothing");
}

#[tokio::test(start_paused = true)]
async fn work_that_is_late_runs_all_the_same_and_requests_wait_for_each_other() {
    let unity = start(unity_mcp()).await;
    unity.modal(true);
    let began = tokio::time::Instant::now();
    let code = post("execute-code", "count(\"late\")");
    let all = futures_util::future::join_all((0..4).map(|_| exchange(&unity, &code))).await;
    assert!(
        all.iter().all(|answer| body(answer).contains("\"error\": \"\", \"code\": \"count(\"late\")\"")),
        "{all:?}"
    );
    assert!(began.elapsed() >= Duration::from_millis(400), "one thread answers: {:?}", began.elapsed());
    assert_eq!(unity.runs("late"), 0);
    unity.modal(false);
    until(&unity, |stats| stats.runs.get("late") == Some(&4)).await;
}

#[tokio::test]
async fn a_reload_cuts_what_is_under_way_and_comes_back_on_its_port() {
    let unity = start(unity_mcp()).await;
    unity.modal(true);
    let port = unity.port();
    let mut stream = TcpStream::connect(("127.0.0.1", port.unwrap())).await.unwrap();
    stream.write_all(post("start-game", "").as_bytes()).await.unwrap();
    until(&unity, |stats| stats.queued == 1).await;
    within(unity.reload(Duration::ZERO)).await.unwrap();
    let mut answer = Vec::new();
    let _ = within(stream.read_to_end(&mut answer)).await;
    assert!(answer.is_empty(), "{answer:?}");
    assert_eq!(Some(within(unity.listening()).await), port);
    unity.modal(false);
    exchange(&unity, &post("game-state", "")).await;
    let stats = unity.stats();
    assert_eq!((stats.lost, stats.playing), (1, false), "what waited is lost with its domain");
}

#[test]
fn an_observer_reads_its_frames() {
    let one = |method: &str, id: &str, is_call| (method.to_owned(), id.to_owned(), is_call);
    let request = "POST /api/CodeExecution/execute-code HTTP/1.1\r\nContent-Length: 4\r\n\r\ncode";
    assert_eq!(observer::read(&PACKAGE, request), one("execute_code", "", true));
    let ping = "GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(observer::read(&PACKAGE, ping), one("/ping", "", false));
}
