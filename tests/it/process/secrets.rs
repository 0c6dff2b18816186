//! A known secret must not appear in anything that leaves the process, except answers to its client and calls to its editor.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Client, Verdict};
use super::metrics::{fetch, target};
use super::proxy::{Act, Proxy};
use super::unity::Unity;
use super::{Room, until};

/// The secret, which is part of arguments, results, errors and malformed lines.
const SECRET: &str = "CANARY-7f3a91c2";

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Searches the log, every page, and every file of the state folder for the secret.
fn seek(room: &Room, client: &Client, target: Option<&str>) {
    let mut sought = vec![("the log".to_owned(), client.log())];
    for path in ["/metrics", "/status.json", "/"] {
        sought.extend(target.map(|target| (path.to_owned(), fetch(target, path))));
    }
    for file in files(&room.state()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        sought.push((file.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    for (place, text) in sought {
        assert!(!text.contains(SECRET), "the secret stands in {place}:\n{text}");
    }
}

/// Makes calls with every kind of outcome, each with the secret in it.
fn plant(client: &mut Client, unity: &mut Unity, proxy: &Proxy) {
    let secret = json!({"text": SECRET, "key": SECRET, "token": {"password": SECRET}});
    // The secret is sent to the editor and returned, so the search below is for a text that really was in the process.
    let echoed = client.done("echo", &secret);
    assert!(echoed.verdict() == Verdict::Ok && echoed.text().contains(SECRET), "{}", echoed.0);
    assert_eq!(client.done("fail", &secret).verdict(), Verdict::ToolError);
    client.done("throw", &secret);
    client.done("no_such_tool", &secret);
    client.done("holdfast_result", &json!({"call": SECRET}));
    client.done("holdfast_calls", &secret);
    assert_eq!(client.done("echo", &json!({"text": SECRET.repeat(100_000)})).verdict(), Verdict::NotExecuted);
    for (method, params) in [
        ("no/such", secret.clone()),
        ("tools/call", json!({"name": "echo", "arguments": SECRET})),
        ("tools/call", json!([SECRET])),
        ("initialize", json!({"capabilities": SECRET, "protocolVersion": 7})),
    ] {
        let id = client.ask(method, &params);
        client.answer(id);
    }
    let id = client.ask("ping", &json!({}));
    client.write(format!("{{\"password\": \"{SECRET}\"\n[\"{SECRET}\"]\n{SECRET}\n").as_bytes()).expect("it reads");
    client.answer(id);
    // One call is cancelled while it runs, the other while it is held.
    let mark = unity.mark();
    let running = client.call("hold", &secret);
    unity.begun(mark, "hold");
    let held = client.call("echo", &secret);
    client.cancel(held);
    client.cancel(running);
    let after = client.call("echo", &secret);
    // Sent repeatedly, because the editor reports that a `hold` call has begun just before it can be released.
    until("the editor is free", || {
        unity.say("release");
        client.is_answered(after)
    });
    // Answers that are cut off, not JSON, or for a call that does not exist.
    let body = format!("{{\"result\": \"{SECRET}\", ");
    let stray = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"holdfast.99999\",\"result\":{{\"Key\":\"{SECRET}\"}}}}");
    for (number, body) in [body.as_str(), SECRET, &stray].into_iter().enumerate() {
        let key = format!("forged-{number}-end");
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        proxy.plan(&key, Act::ForgeReplyAndEnd(frame.into_bytes()), false);
        let answer = client.done("count", &json!({"key": key, "text": SECRET}));
        assert_eq!(answer.verdict(), Verdict::Unknown, "{key}: {}", answer.0);
        client.echoes();
    }
}

#[test]
fn a_secret_in_calls_answers_and_errors_leaves_the_process_nowhere_else() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &[]);
    let proxy = Proxy::start(unity.port);
    let project = room.project().display().to_string();
    let port = proxy.port.to_string();
    let mut client = Client::open(&room, &["--metrics", "--log", "trace", "--project", &project, "--port", &port]);
    client.echoes();
    let target = target(&room, &client);
    plant(&mut client, &mut unity, &proxy);
    // Waits until all calls have been counted.
    let unknown = || {
        let page = fetch(&target, "/metrics");
        let lost =
            page.lines().filter_map(|line| line.strip_prefix("holdfast_tool_calls_total{verdict=\"outcome_unknown\""));
        lost.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u32>().ok()).sum::<u32>()
    };
    until("the counts", || unknown() == 3);
    let told: Value = serde_json::from_str(&fetch(&target, "/status.json")).expect("a status");
    assert_eq!(told["project"], project.as_str(), "{told}");
    seek(&room, &client, Some(&target));
    client.close_stdin();
    client.ended_within(super::SOON);
    assert!(room.state().join("metrics/holdfast_last_exit.prom").exists(), "the last words were sought through too");
    let logs = files(&room.state().join("logs"));
    let has_calls = |file: &PathBuf| std::fs::read_to_string(file).is_ok_and(|log| log.contains("call_answered"));
    assert!(logs.iter().any(has_calls), "and the log on disk: {logs:?}");
    seek(&room, &client, None);

    // A killed gateway leaves its records.
    let mut killed = Client::open(&room, &["--metrics", "--log", "trace", "--port", &port]);
    killed.done("echo", &json!({"text": SECRET}));
    super::metrics::target(&room, &killed);
    killed.kill();
    killed.ended_within(super::SOON);
    assert!(files(&room.state()).iter().any(|file| file.ends_with(format!("metrics/{}.json", killed.pid()))));
    seek(&room, &killed, None);
}
