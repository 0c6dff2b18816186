//! Tests of holdfast's simulated package. The gateway in them is written here from `unity/Documentation~/protocol.md`.

mod calls;
mod greeting;
mod journal;
mod push;
mod reload;
mod vectors;
mod world;

use super::PACKAGE;
use super::proof;
pub(super) use crate::tests::*;

const GATEWAY: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const CHALLENGE: &str = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";

/// An editor with a project.
struct Editor {
    unity: FakeUnity,
    folder: tempfile::TempDir,
}

impl Editor {
    async fn start() -> Self {
        Self::with(config()).await
    }

    async fn with(config: FakeUnityConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Some(folder.path().into());
        let unity = start(FakeUnityConfig { package: &PACKAGE, project, ..config }).await;
        Self { unity, folder }
    }

    fn there(&self, path: &str) -> bool {
        self.folder.path().join(path).exists()
    }

    fn instance(&self) -> Value {
        let bytes = std::fs::read(self.folder.path().join("Library/Holdfast/instance.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Waits until the bridge listens, and returns its instance file.
    async fn back(&self) -> Value {
        within(self.unity.listening()).await;
        self.instance()
    }

    async fn gateway(&self) -> Gateway {
        self.gateway_named(GATEWAY).await
    }

    async fn gateway_named(&self, name: &str) -> Gateway {
        within(self.unity.listening()).await;
        let mut gateway = Gateway { client: Client::to(&self.unity).await, number: 0, notes: Vec::new() };
        let hello = gateway.hello(name, "").await;
        let proof = of_gateway(&self.instance(), &hello, name);
        let proven = gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{proof}"}}"#)).await;
        assert_eq!(proven["result"]["proven"], true, "{proven}");
        gateway
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// Returns the gateway's proof that follows from this answer to its hello.
fn of_gateway(instance: &Value, hello: &Value, name: &str) -> String {
    let challenges = [text(hello, "challenge"), CHALLENGE];
    let port = hello["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap();
    proof::of_gateway(text(instance, "token"), challenges, text(instance, "nonce"), name, port)
}

/// A gateway's connection.
struct Gateway {
    client: Client,
    number: u64,
    /// Notifications that arrived during the wait for an answer.
    notes: Vec<Value>,
}

impl Gateway {
    async fn plain(unity: &FakeUnity) -> Self {
        Self { client: Client::to(unity).await, number: 0, notes: Vec::new() }
    }

    async fn hello(&mut self, name: &str, more: &str) -> Value {
        let params =
            format!(r#"{{"protocol":2,"gateway":"{name}","clientName":"cursor","challenge":"{CHALLENGE}"{more}}}"#);
        self.ask("holdfast/hello", &params).await["result"].clone()
    }

    /// Sends a request without waiting.
    async fn send(&mut self, id: &str, method: &str, params: &str) {
        self.client.call(&format!("\"{id}\""), method, params).await;
    }

    /// Returns the answer to this request. Fails if another request is answered first.
    async fn answer(&mut self, id: &str) -> Value {
        loop {
            let message = self.client.json().await;
            if message["method"].is_string() {
                self.notes.push(message);
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            return message;
        }
    }

    async fn ask(&mut self, method: &str, params: &str) -> Value {
        self.number += 1;
        let id = format!("holdfast.{}", self.number);
        self.send(&id, method, params).await;
        self.answer(&id).await
    }

    /// Sends a call without waiting; the call's id is also the request's id.
    async fn begin(&mut self, call: &str, seq: u64, tool: &str, more: &str) {
        let params = format!(r#"{{"callId":"{call}","seq":{seq},"tool":"{tool}"{more}}}"#);
        self.send(call, "holdfast/call", &params).await;
    }

    async fn call(&mut self, call: &str, seq: u64, tool: &str, arguments: &str) -> Value {
        self.begin(call, seq, tool, &format!(r#","arguments":{arguments}"#)).await;
        self.answer(call).await
    }

    async fn outcomes(&mut self, calls: &[(&str, u64)]) -> Vec<Value> {
        let calls: Vec<String> =
            calls.iter().map(|(call, seq)| format!(r#"{{"callId":"{call}","seq":{seq}}}"#)).collect();
        let answer = self.ask("holdfast/outcome", &format!(r#"{{"calls":[{}]}}"#, calls.join(","))).await;
        answer["result"]["outcomes"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    async fn outcome(&mut self, call: &str, seq: u64) -> Value {
        self.outcomes(&[(call, seq)]).await.remove(0)
    }

    async fn status(&mut self) -> Value {
        self.ask("holdfast/status", "{}").await["result"].clone()
    }

    /// Returns the next notification of this method.
    async fn note(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.notes.iter().position(|note| note["method"] == method) {
                return self.notes.remove(at)["params"].clone();
            }
            let message = self.client.json().await;
            assert!(message["method"].is_string(), "{message}");
            self.notes.push(message);
        }
    }

    async fn cancel(&mut self, call: &str) -> Value {
        self.ask("holdfast/cancel", &format!(r#"{{"callId":"{call}"}}"#)).await["result"]["status"].clone()
    }
}

/// Returns the type of an error, and whether the tool ran.
fn refusal(answer: &Value) -> (&str, bool) {
    (
        answer["error"]["data"]["type"].as_str().unwrap_or_else(|| panic!("{answer}")),
        answer["error"]["data"]["ran"].as_bool().unwrap(),
    )
}
