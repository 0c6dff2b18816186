//! A simulated editor that connects to the gateway: again and again until it is taken. It follows the protocol that is told in
//! `src/protocol/dialect/toy_arrives/`, and shares no code with that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast::net::{BoxStream, Net};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Pause between two attempts to connect.
const AGAIN: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Known {
    /// How often each key was counted.
    runs: BTreeMap<String, usize>,
    /// What it was told when it was turned away.
    byes: Vec<String>,
    connections: usize,
}

/// The editor. It ends when it is dropped.
pub struct Editor {
    task: JoinHandle<()>,
    known: Arc<Mutex<Known>>,
    /// Whether a call is run and not answered.
    mute: watch::Sender<bool>,
    /// Rises at each reload: the connection is closed then.
    reloads: watch::Sender<u64>,
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Editor {
    /// Starts an editor that says that it has this project open.
    pub fn start(net: Arc<dyn Net>, port: u16, project: &str) -> Self {
        let known = Arc::<Mutex<Known>>::default();
        let (mute, reloads) = (watch::Sender::new(false), watch::Sender::new(0));
        let task = tokio::spawn({
            let (known, mute, mut reloading) = (Arc::clone(&known), mute.subscribe(), reloads.subscribe());
            let project = project.to_owned();
            async move {
                loop {
                    reloading.mark_unchanged();
                    if let Ok(stream) = net.connect(port).await {
                        tokio::select! {
                            _ = reloading.changed() => sleep(Duration::from_secs(2)).await,
                            () = serve(stream, &project, &known, &mute) => {}
                        }
                    }
                    sleep(AGAIN).await;
                }
            }
        });
        Self { task, known, mute, reloads }
    }

    /// How often this key was counted.
    pub fn runs(&self, key: &str) -> usize {
        self.known.lock().unwrap().runs.get(key).copied().unwrap_or_default()
    }

    /// What the editor was told when it was turned away.
    pub fn byes(&self) -> Vec<String> {
        self.known.lock().unwrap().byes.clone()
    }

    /// How many connections were greeted.
    pub fn connections(&self) -> usize {
        self.known.lock().unwrap().connections
    }

    /// Closes the connection, and connects again after two seconds.
    pub fn reload(&self) {
        self.reloads.send_modify(|reloads| *reloads += 1);
    }

    /// Sets whether calls are run and not answered.
    pub fn mute(&self, on: bool) {
        self.mute.send_replace(on);
    }
}

async fn serve(stream: BoxStream, project: &str, known: &Mutex<Known>, mute: &watch::Receiver<bool>) {
    let mut stream = BufReader::new(stream);
    let hello = format!("{}\n", json!({"method": "here", "params": {"project": project}}));
    if stream.write_all(hello.as_bytes()).await.is_err() {
        return;
    }
    let mut line = String::new();
    while matches!(stream.read_line(&mut line).await, Ok(1..)) {
        let said: Value = serde_json::from_str(&line).expect("the gateway speaks JSON");
        line.clear();
        if let Some(why) = said["params"]["why"].as_str() {
            known.lock().unwrap().byes.push(why.to_owned());
            let _ = stream.read_to_string(&mut line).await;
            return;
        }
        let result = {
            let mut known = known.lock().unwrap();
            match said["method"].as_str() {
                Some("hello") => {
                    known.connections += 1;
                    serde_json::from_str(r#"{"toy":1}"#).expect("JSON")
                }
                Some("tools") => json!({"tools": [tool("count", false), tool("look", true)]}),
                Some("call") => {
                    let key = said["params"]["arguments"]["key"].as_str().unwrap_or_default().to_owned();
                    let runs = known.runs.entry(key).or_default();
                    *runs += 1;
                    json!({ "runs": runs })
                }
                _ => panic!("{said}"),
            }
        };
        if said["method"] == "call" && *mute.borrow() {
            continue;
        }
        let reply = format!("{}\n", json!({"id": said["id"], "result": result}));
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn tool(name: &str, reads: bool) -> Value {
    json!({
        "name": name,
        "description": "Counts a key.",
        "schema": {"type": "object", "properties": {"key": {"type": "string"}}},
        "reads": reads
    })
}
