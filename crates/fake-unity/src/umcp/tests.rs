//! Tests of the simulated uMCP against the literal messages in `tests/vectors/umcp/`, and of the faults of its line reader.

use super::PACKAGE;
use crate::tests::*;
use crate::uloop::tests::timeless;

fn umcp(version: &str) -> FakeUnityConfig {
    FakeUnityConfig { package: &PACKAGE, package_version: version.parse().unwrap(), ..config() }
}

/// A client that sends and reads lines.
struct Lines(Client);

impl Lines {
    async fn to(unity: &FakeUnity) -> Self {
        Self(Client::to(unity).await)
    }

    async fn send(&mut self, bytes: &[u8]) {
        within(self.0.stream.write_all(bytes)).await.unwrap();
    }

    async fn next(&mut self) -> String {
        within(async {
            loop {
                if let Some(end) = self.0.buffer.iter().position(|byte| *byte == b'\n') {
                    let rest = self.0.buffer.split_off(end + 1);
                    let line = std::mem::replace(&mut self.0.buffer, rest);
                    return String::from_utf8(line).unwrap();
                }
                assert_ne!(self.0.stream.read_buf(&mut self.0.buffer).await.unwrap(), 0, "it hung up");
            }
        })
        .await
    }

    async fn reply(&mut self) -> String {
        loop {
            let line = self.next().await;
            if !line.contains("\"method\":") {
                return line;
            }
        }
    }

    async fn ask(&mut self, method: &str, params: &str) -> Value {
        self.send(format!("{{\"id\":1,\"method\":\"{method}\",\"params\":{params}}}\n").as_bytes()).await;
        serde_json::from_str(&self.reply().await).unwrap()
    }
}

#[tokio::test]
async fn every_version_answers_to_the_letter() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/umcp/exchanges.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let mut answered = 0;
    for pair in vectors.chunks(2) {
        let [asked, answer] = pair else { panic!("a request without an answer") };
        assert_eq!((&asked["direction"], &answer["direction"]), (&"to_editor".into(), &"from_editor".into()));
        let unity = start(umcp(asked["played"].as_str().unwrap())).await;
        let mut client = Lines::to(&unity).await;
        client.send(asked["frame"].as_str().unwrap().as_bytes()).await;
        let reply = timeless(&client.reply().await);
        assert_eq!(reply, timeless(answer["frame"].as_str().unwrap()), "{}", answer["name"]);
        answered += 1;
    }
    assert!(answered >= 9);
}

#[tokio::test]
async fn the_list_has_its_method_its_key_and_its_names_by_version() {
    for (version, method, key, logs, development) in [
        ("0.4.0", "getCommandDetails", "", "getlogs", None),
        ("0.9.0", "getCommandDetails", "Commands", "getlogs", None),
        ("0.19.2", "getCommandDetails", "Commands", "getlogs", None),
        ("0.20.0", "get-command-details", "Commands", "get-logs", None),
        ("0.26.4", "get-tool-details", "Tools", "get-logs", Some("debug-sleep")),
    ] {
        let unity = start(FakeUnityConfig { test_tools: false, ..umcp(version) }).await;
        let mut client = Lines::to(&unity).await;
        let names = |reply: &Value| -> Vec<String> {
            let list = if key.is_empty() { &reply["result"] } else { &reply["result"][key] };
            list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
        };
        let all = names(&client.ask(method, r#"{"IncludeDevelopmentOnly":true}"#).await);
        assert!(all.contains(&logs.to_owned()), "{version}: {all:?}");
        let shown = names(&client.ask(method, r#"{"IncludeDevelopmentOnly":false}"#).await);
        if let Some(tool) = development.map(str::to_owned) {
            assert!(all.contains(&tool) && !shown.contains(&tool), "{version}: {shown:?}");
        }
        assert!(client.ask(logs, "{}").await["result"].is_object(), "{version}");
    }
}

#[tokio::test]
async fn what_is_cut_into_pieces_is_read_with_the_packages_faults() {
    let unity = start(umcp("0.26.4")).await;
    let mut client = Lines::to(&unity).await;
    let mut echo = async |text: &str| -> String {
        let reply = client.ask("echo", &format!(r#"{{"text":"{text}"}}"#)).await;
        reply["result"]["Echo"].as_str().unwrap().to_owned()
    };
    assert_eq!(echo("日本語").await, "日本語", "what comes whole is read whole");
    let long = "日".repeat(4000);
    assert!(echo(&long).await.contains('\u{fffd}'), "a letter at a border is lost");
    assert_eq!(echo(&"\\u65e5".repeat(4000)).await, long, "an escape is not");
}

#[tokio::test]
async fn an_old_package_is_entered_under_its_old_name() {
    for (version, package) in [("0.26.3", "io.github.hatayama.umcp"), ("0.26.4", "io.github.hatayama.uloopmcp")] {
        let folder = tempfile::tempdir().unwrap();
        let unity = start(FakeUnityConfig { project: Some(folder.path().into()), ..umcp(version) }).await;
        let manifest = std::fs::read(folder.path().join("Packages/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["dependencies"][package], version);
        drop(unity);
    }
}

#[test]
fn an_observer_reads_its_frames() {
    let one = |method: &str, id: &str, is_call| (method.to_owned(), id.to_owned(), is_call);
    let line = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"count\",\"params\":{}}\n";
    assert_eq!(observer::read(&PACKAGE, line), one("count", "7", false));
}
