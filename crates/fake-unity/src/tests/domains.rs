//! Tests of reloads, crashes and quits, and of the files that they leave.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;

use super::*;

const SILENCE: Duration = Duration::from_millis(150);

#[tokio::test]
async fn a_reload_says_so_drops_everything_and_comes_back_on_the_same_port() {
    let unity = start(config()).await;
    let mut events = unity.events();
    let port = unity.port().unwrap();
    let mut client = Client::to(&unity).await;
    client.result("count", r#"{"key":"k"}"#).await;
    unity.reload(SILENCE).await.unwrap();
    assert_eq!(unity.port(), None);
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "the port is closed");
    let note = loop {
        let text = client.text().await;
        if !text.contains("list_changed") {
            break text;
        }
    };
    assert_eq!(
        note,
        r#"{"jsonrpc":"2.0","method":"notifications/server/shutdown","params":{"reason":"DomainReload"}}"#
    );
    assert_eq!(client.next().await, Ok(None));
    assert_eq!(
        event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await,
        Event::ReloadEnded { port }
    );
    let mut client = Client::to(&unity).await;
    assert_eq!(client.result("count", r#"{"key":"k"}"#).await["Runs"], 2);
    assert_eq!(unity.stats().domain, 2);
}

#[tokio::test]
async fn versions_before_v0_41_1_say_nothing_before_they_close() {
    let unity = start(version("0.40.0")).await;
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.reload(SILENCE).await.unwrap();
    while let Ok(Some(text)) = client.next().await {
        assert!(!text.contains("shutdown"), "{text}");
    }
}

#[tokio::test]
async fn one_frame_after_its_return_the_list_is_announced() {
    // The tick is long, so that a client can connect before the next one.
    let unity = start(FakeUnityConfig { tick: Duration::from_secs(1), ..FakeUnityConfig::default() }).await;
    unity.reload(Duration::ZERO).await.unwrap();
    let port = within(unity.listening()).await;
    let mut client = Client::connect(port).await;
    assert_eq!(client.json().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_reload_loses_what_is_queued_and_cuts_what_has_begun() {
    let unity = start(config()).await;
    let mut begun = Client::to(&unity).await;
    let mut queued = Client::to(&unity).await;
    begun.call("1", "hold", "{}").await;
    until(&unity, |stats| stats.running == 1).await;
    unity.modal(true);
    queued.call("2", "count", r#"{"key":"k"}"#).await;
    until(&unity, |stats| stats.queued == 1).await;
    unity.reload(Duration::ZERO).await.unwrap();
    unity.modal(false);
    let port = within(unity.listening()).await;
    let stats = unity.stats();
    assert_eq!((stats.lost, stats.interrupted, stats.queued, stats.running), (1, 1, 0, 0));
    let mut client = Client::connect(port).await;
    assert_eq!(client.result("runs", r#"{"key":"k"}"#).await["Runs"], 0);
}

#[tokio::test]
async fn a_count_that_is_held_has_counted_before_its_answer() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    client.call("1", "count", r#"{"key":"k","hold":true}"#).await;
    until(&unity, |stats| stats.running == 1).await;
    assert_eq!(unity.runs("k"), 1, "it ran, and has not answered");
    unity.release();
    // A client that connects at once may first get the notification of a changed tool list.
    let mut reply = client.json().await;
    while reply["method"].is_string() {
        reply = client.json().await;
    }
    assert_eq!(reply["result"]["Runs"], 1);
}

#[tokio::test]
async fn a_reload_can_change_the_port() {
    let folder = tempfile::tempdir().unwrap();
    let unity = start(FakeUnityConfig { project: Some(folder.path().into()), ..config() }).await;
    let before = unity.port().unwrap();
    let first = unity.stats().session_id;
    unity.reload_to_new_port(Duration::ZERO).await.unwrap();
    let after = within(unity.listening()).await;
    assert_ne!(before, after);
    assert_ne!(first, unity.stats().session_id);
    let settings = std::fs::read(folder.path().join("UserSettings/UnityMcpSettings.json")).unwrap();
    let settings: Value = serde_json::from_slice(&settings).unwrap();
    assert_eq!(settings["customPort"], after);
    Client::connect(after).await.result("ping", "{}").await;
}

#[tokio::test]
async fn if_the_port_is_taken_during_a_reload_each_package_does_what_it_does_and_says_so() {
    for (config, moves) in
        [(config(), true), (version("1.0.0"), false), (FakeUnityConfig { moves_port: true, ..version("1.0.0") }, true)]
            .into_iter()
            .chain(PACKAGES[1..].iter().filter(|package| !package.facts.dials).map(|package| {
                let config = FakeUnityConfig { package, ..config() };
                let if_taken = crate::packages::face(&config).if_taken();
                (config, if_taken.behind > 0 || if_taken.among.is_some() || if_taken.then_any)
            }))
    {
        if !crate::packages::face(&config).keeps_port() {
            continue;
        }
        let unity = start(config.clone()).await;
        let (mut events, port) = (unity.events(), unity.port().unwrap());
        unity.reload(SILENCE).await.unwrap();
        let thief = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        event(&mut events, |event| matches!(event, Event::PortTaken { port: taken, .. } if *taken == port)).await;
        if moves {
            let now = within(unity.listening()).await;
            assert!(now != port, "{config:?}");
            continue;
        }
        event(&mut events, |event| matches!(event, Event::BindFailed { port: taken, .. } if *taken == port)).await;
        assert_eq!(unity.port(), None, "{config:?}");
        drop(thief);
        unity.up().await.unwrap();
        assert_eq!(unity.port(), Some(port), "{config:?}");
    }
}

#[tokio::test]
async fn a_package_that_waits_for_its_port_gets_it_back() {
    let unity = start(FakeUnityConfig { package: Package::that(|facts| facts.journal), ..config() }).await;
    let (mut events, port) = (unity.events(), unity.port().unwrap());
    unity.reload(SILENCE).await.unwrap();
    let thief = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    event(&mut events, |event| matches!(event, Event::PortTaken { .. })).await;
    drop(thief);
    assert_eq!(within(unity.listening()).await, port);
}

#[tokio::test]
async fn the_bridge_goes_down_in_order_or_with_a_reset() {
    let net = AbortiveTcp::default();
    let config = FakeUnityConfig { reset: Some(net.switch()), ..config() };
    let unity = FakeUnity::start(config, Arc::new(net)).await.unwrap();
    let port = unity.port().unwrap();
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.down().await.unwrap();
    assert_eq!(client.ended().await, Ok(()));
    assert_eq!(unity.port(), None);
    unity.up().await.unwrap();
    assert_eq!(unity.port(), Some(port));
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.rst().await.unwrap();
    assert_eq!(client.ended().await, Err(std::io::ErrorKind::ConnectionReset));
    unity.up().await.unwrap();
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.down().await.unwrap();
    assert_eq!(client.ended().await, Ok(()), "the switch is off again");
    assert_eq!(unity.stats().domain, 1, "the domain lived on");
}

#[tokio::test]
async fn a_crash_leaves_its_files_and_a_quit_removes_them() {
    let folder = tempfile::tempdir().unwrap();
    let there = |path: &str| folder.path().join(path).exists();
    let config = FakeUnityConfig { project: Some(folder.path().into()), pid: Some(4242), ..config() };
    let unity = start(config).await;
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    let instance = std::fs::read_to_string(folder.path().join("Library/EditorInstance.json")).unwrap();
    let instance: Value = serde_json::from_str(&instance).unwrap();
    assert_eq!((&instance["process_id"], &instance["version"]), (&Value::from(4242), &Value::from("2022.3.62f1")));
    let manifest = std::fs::read_to_string(folder.path().join("Packages/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["dependencies"]["io.github.hatayama.uloopmcp"], "2.2.0");
    assert!(there("Assets") && there("ProjectSettings/ProjectVersion.txt"));
    unity.crash().await.unwrap();
    while let Ok(Some(text)) = client.next().await {
        assert!(!text.contains("shutdown"), "{text}");
    }
    assert!(there("Library/EditorInstance.json") && there("Temp/UnityLockfile"));
    assert!(unity.reload(SILENCE).await.is_err(), "nothing is there to reload");
    unity.up().await.unwrap();
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.quit().await.unwrap();
    let note = loop {
        let text = client.text().await;
        if text.contains("shutdown") {
            break text;
        }
    };
    assert!(note.ends_with(r#""params":{"reason":"EditorQuit"}}"#), "{note}");
    assert!(!there("Library/EditorInstance.json") && !there("Temp") && there("Packages/manifest.json"));
    assert!(unity.up().await.is_err(), "it has ended");
}

#[tokio::test]
async fn compile_without_waiting_replies_and_then_reloads() {
    let unity = start(FakeUnityConfig { compile_reload: Duration::ZERO, ..config() }).await;
    let mut client = Client::to(&unity).await;
    unity.compile_error(true);
    let failed = client.result("compile", "{}").await;
    assert_eq!((&failed["Success"], &failed["ErrorCount"]), (&Value::from(false), &Value::from(1)));
    assert_eq!(failed["Errors"][0]["File"], "Assets/Scripts/Broken.cs");
    unity.compile_error(false);
    assert_eq!(client.result("compile", "{}").await["Success"], true);
    assert_eq!(unity.stats().domain, 1, "no reload where none is configured");

    let unity = start(config()).await;
    let mut events = unity.events();
    let mut client = Client::to(&unity).await;
    assert_eq!(client.result("compile", "{}").await["Success"], true);
    let _ = client.ended().await;
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    assert_eq!(unity.stats().domain, 2);
}

#[tokio::test]
async fn compile_that_waits_leaves_its_result_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let there = |path: &str| folder.path().join(path).exists();
    let unity = start(FakeUnityConfig { project: Some(folder.path().into()), ..config() }).await;
    let mut events = unity.events();
    let mut client = Client::to(&unity).await;
    client.call("1", "compile", r#"{"WaitForDomainReload":true,"RequestId":"compile_1_123456"}"#).await;
    event(&mut events, |event| matches!(event, Event::CallBegun { .. })).await;
    assert!(there("Temp/compiling.lock"));
    event(&mut events, |event| matches!(event, Event::ReloadBegun { .. })).await;
    assert!(there("Temp/domainreload.lock") && !there("Temp/compiling.lock"));
    loop {
        match client.next().await {
            Ok(Some(text)) => assert!(text.contains("\"method\""), "no reply: {text}"),
            ended => break assert_eq!(ended, Ok(None)),
        }
    }
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    assert!(!there("Temp/domainreload.lock") && !there("Temp/serverstarting.lock"));
    let bytes = std::fs::read(folder.path().join("Temp/uLoopMCP/compile-results/compile_1_123456.json")).unwrap();
    let result: Value =
        serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").expect("a byte order mark")).unwrap();
    assert_eq!((&result["Success"], &result["Ver"]), (&Value::from(true), &Value::from("2.2.0")));
    assert!(result["ProjectRoot"].is_string());
}

#[tokio::test]
async fn a_request_id_cannot_name_a_file_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    let unity = start(FakeUnityConfig { project: Some(project.clone()), ..config() }).await;
    unity.compile_error(true);
    let mut client = Client::to(&unity).await;
    client.result("compile", r#"{"WaitForDomainReload":true,"RequestId":"../../../../escaped"}"#).await;
    assert!(!folder.path().join("escaped.json").exists());
    assert_eq!(std::fs::read_dir(project.join("Temp/uLoopMCP/compile-results")).unwrap().count(), 1);
}

#[tokio::test]
async fn counts_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let count_file = Some(folder.path().join("counts"));
    let unity = start(FakeUnityConfig { count_file: count_file.clone(), ..config() }).await;
    let mut client = Client::to(&unity).await;
    for runs in 1..=3 {
        assert_eq!(client.result("count", r#"{"key":"a b\n"}"#).await["Runs"], runs);
    }
    drop(unity);
    let unity = start(FakeUnityConfig { count_file, ..config() }).await;
    assert_eq!(Client::to(&unity).await.result("count", r#"{"key":"a b\n"}"#).await["Runs"], 4);
    assert_eq!(std::fs::read_to_string(folder.path().join("counts")).unwrap().lines().count(), 4);
}

/// Returns the next push line, with the values that differ from run to run replaced; `None` at the end of the connection.
async fn push_line(stream: &mut BufReader<TcpStream>, unity: &FakeUnity) -> Option<String> {
    let mut line = String::new();
    if within(stream.read_line(&mut line)).await.unwrap() == 0 {
        return None;
    }
    let message: Value = serde_json::from_str(&line).unwrap();
    let session = unity.stats().session_id;
    let line = line.replace(message["timestamp"].as_str().unwrap(), "<time>");
    Some(if session.is_empty() { line } else { line.replace(&session, "<guid>") })
}

fn push_text(kind: &str, reason: (&str, &str), endpoint: &str, client: bool, tools: &str) -> String {
    let (unity, project, session) = if client { ("2022.3.62f1", "/project/Assets", "<guid>") } else { ("", "", "") };
    format!(
        r#"{{"type":"{kind}","timestamp":"<time>","payload":{{"reason":{{"type":"{}","message":"{}"}},"endpoint":"{endpoint}","clientInfo":{{"unityVersion":"{unity}","projectPath":"{project}","sessionId":"{session}"}},"toolsInfo":{tools}}}}}{}"#,
        reason.0, reason.1, "\n"
    )
}

#[tokio::test]
async fn push_messages_are_lines_with_every_member() {
    const NONE: &str = r#"{"toolCount":0,"changedTools":[],"changeType":""}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("localhost:{}", listener.local_addr().unwrap().port());
    let unity = start(FakeUnityConfig { push: true, ..config() }).await;
    let own = format!("localhost:{}", unity.port().unwrap());
    let established = push_text("CONNECTION_ESTABLISHED", ("", ""), &own, true, NONE);
    let mut client = Client::to(&unity).await;
    let name = format!(r#"{{"ClientName":"cursor","ClientPort":1,"PushNotificationEndpoint":"{endpoint}"}}"#);
    // The official server sends the endpoint again with every call. There must still be only one connection.
    for _ in 0..2 {
        assert_eq!(client.result("set-client-name", &name).await["PushNotificationEndpoint"], endpoint);
    }
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), established);
    client.result("swap", "{}").await;
    let tools = format!(r#"{{"toolCount":{},"changedTools":["swapped"],"changeType":"added"}}"#, unity.stats().tools);
    let changed = push_text("TOOLS_CHANGED", ("", ""), "", false, &tools);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), changed);
    unity.push("SOMETHING_NEW").await.unwrap();
    let unknown = push_text("SOMETHING_NEW", ("", ""), "", false, NONE);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), unknown);

    unity.reload(Duration::ZERO).await.unwrap();
    let reload = ("DOMAIN_RELOAD", "Unity domain reload initiated");
    let reload = push_text("DOMAIN_RELOAD", reload, "", false, NONE);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), reload);
    assert_eq!(push_line(&mut push, &unity).await, None);
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), established);
    let recovered = push_text("DOMAIN_RELOAD_RECOVERED", ("", ""), "", true, NONE);
    assert_eq!(push_line(&mut push, &unity).await.unwrap(), recovered);

    until(&unity, |stats| stats.push_connections == 1).await;
    drop(unity);
    let mut rest = String::new();
    assert_eq!(within(push.read_line(&mut rest)).await.unwrap(), 0, "the connection ends with the editor: {rest}");
}
