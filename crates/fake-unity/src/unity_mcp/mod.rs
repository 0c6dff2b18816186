//! Simulates Unity-MCP's editor package (TSavo/Unity-MCP at a7c083e): an HTTP server with one thread. Its answers are misleading:
//! it reports failure for work that was done in time.
//!
//! The server waits 100 ms for the main thread. If the work is done by then, it answers "A task was canceled". If not, it answers
//! with the initial values of its result, and the work still runs later. These values mean success for `start-game` and
//! `stop-game`, and failure for `execute-code`.

mod script;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use holdfast_net::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::config::FakeUnityConfig;
use super::events::Event;
use super::face::{Face, IfTaken, Link, Moment, Reader};
use super::json::Object;
use super::model::Editor;
use super::observer::{self, Asked, Wire};
use super::package::{Call, Facts, Package, Port, Shape, Task, usual};
use super::project::{OwnFile, Project};
use super::spec::Tool;
use super::work::Begun;
use wire::Head;

/// The package's id, and its entry in the manifest, which is a path. The only other way to install the package is a copy in
/// `Packages`.
const PACKAGE_ID: (&str, &str) = ("com.unity.mcp", "file:../unity-client");
/// How long the package's thread waits for the main thread.
const WAIT: Duration = Duration::from_millis(100);

pub(crate) static PACKAGE: Package = Package {
    name: "unity-mcp",
    title: "TSavo/Unity-MCP",
    compile_act: "Play mode, with a reload behind the answer",
    facts: Facts {
        manifest: PACKAGE_ID,
        port: Port::Told,
        default_ports: &[8082, 8081],
        shape: Shape::ConnectionEach,
        request_max_bytes: 1024 * 1024,
        repeatable: &["get_state", "start_game", "stop_game"],
        greeting: ("/api/", &[]),
        compile_reloads: false,
        compile_tells: false,
        heartbeat: true,
        results: false,
        fixed_list: true,
        tells_of_changes: false,
        sent_as: &[("query", "execute_code")],
        console: None,
        other_names: &[
            ("start_game", &["play-mode", "control-play-mode"]),
            ("stop_game", &["play-mode", "control-play-mode"]),
            ("execute_code", &["execute-csharp", "execute-dynamic-code"]),
            ("query", &["execute-csharp", "execute-dynamic-code"]),
        ],
        ..Facts::USUAL
    },
    wire: Wire {
        length: observer::http,
        asked: |frame, _| {
            let head = String::from_utf8_lossy(frame);
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (method, is_call) = match path.strip_prefix("/api/CodeExecution/") {
                Some("execute-code") => ("execute_code", true),
                Some("game-state") => ("get_state", true),
                Some("start-game") => ("start_game", true),
                Some("stop-game") => ("stop_game", true),
                _ => (path, false),
            };
            Asked { method: method.to_owned(), is_call, ..Asked::default() }
        },
        // Code is the whole body, and every answer is a text that the package's own server interprets.
        arguments: |_| Value::Null,
        answered: |_| None,
        ..Wire::FRAMES
    },
    call: |task, text, version| {
        let code = |text: String| Call::of("execute_code", json!({"code": text}));
        match task {
            Task::Echo => code(format!("Debug.Log(\"{text}\")")),
            Task::Count | Task::CountHeld => code(format!("count(\"{text}\")")),
            Task::Look | Task::Logs => Call::repeatable("get_state", json!({})),
            Task::Compile => Call::repeatable("start_game", json!({})),
            Task::Fail => Call::repeatable("stop_game", json!({})),
            Task::Big(bytes) => code("x".repeat(bytes as usize)),
            Task::Unheard => usual(task, text, version),
            Task::Sleep(_) | Task::Block(_) | Task::Throw | Task::Hold | Task::Steps(_) => {
                code("find(\"Player\")".to_owned())
            }
        }
    },
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(UnityMcpFace::new(config))
}

/// The wire protocol of Unity-MCP's package, from the editor's side.
pub(crate) struct UnityMcpFace {
    /// The lock that stands for the one thread, which answers the requests of all connections.
    thread: Mutex<()>,
    test_tools: bool,
}

/// What a request asks the main thread to do.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Job {
    Start,
    Stop,
    State,
    Code(String),
}

impl Job {
    fn of(head: &Head, body: &[u8]) -> Option<Self> {
        // Paths are compared exactly. Only `execute-code` checks the method.
        Some(match head.path.as_str() {
            "/api/CodeExecution/start-game" => Self::Start,
            "/api/CodeExecution/stop-game" => Self::Stop,
            "/api/CodeExecution/game-state" => Self::State,
            "/api/CodeExecution/execute-code" if head.method == "POST" => {
                Self::Code(String::from_utf8_lossy(body).into_owned())
            }
            _ => return None,
        })
    }

    /// Returns the name of the tool that the package's own server has for this job.
    fn tool(&self) -> &'static str {
        match self {
            Self::Start => "start_game",
            Self::Stop => "stop_game",
            Self::State => "get_state",
            Self::Code(_) => "execute_code",
        }
    }

    fn run(&self, editor: &Editor, test_tools: bool) {
        match self {
            Self::Start => editor.state().playing = true,
            Self::Stop => editor.state().playing = false,
            Self::State => {}
            Self::Code(code) => script::run(editor, code, test_tools),
        }
    }

    /// Returns the answer if the main thread was done in time. The package then mistakes the cancelled wait for an error.
    fn done(&self) -> String {
        const CANCELED: &str = "One or more errors occurred. (A task was canceled.)";
        let failed = |what: &str| format!("{{ \"success\": false, \"message\": \"Error {what}: {CANCELED}\" }}");
        match self {
            Self::Start => failed("starting game"),
            Self::Stop => failed("stopping game"),
            Self::State => failed("getting game state"),
            Self::Code(_) => format!(
                "{{ \"success\": false, \"error\": \"Error executing code: {CANCELED}\", \"logs\": [\"Error executing code\"], \
                 \"executionTime\": 0 }}"
            ),
        }
    }

    /// Returns the answer if the main thread was not done in time: the initial values of the package's result.
    fn waiting(&self) -> String {
        match self {
            Self::Start => "{ \"success\": true, \"message\": \"Game started\" }".to_owned(),
            Self::Stop => "{ \"success\": true, \"message\": \"Game stopped\" }".to_owned(),
            Self::State => "{ \"isPlaying\": false, \"isPaused\": false, \"isCompiling\": false, \"currentScene\": \
                            \"SampleScene\", \"timeScale\": 1, \"frameCount\": 0, \"realtimeSinceStartup\": 0 }"
                .to_owned(),
            // The package inserts the code unescaped.
            Self::Code(code) => format!(
                "{{ \"success\": false, \"error\": \"\", \"code\": \"{code}\", \"logs\": [\"Error executing code\"], \
                 \"executionTime\": 0 }}"
            ),
        }
    }
}

impl UnityMcpFace {
    pub(crate) fn new(config: &FakeUnityConfig) -> Self {
        Self { thread: Mutex::new(()), test_tools: config.test_tools }
    }

    async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> Result<&'static str, std::io::Error> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let mut buffer = BytesMut::new();
        loop {
            let head = loop {
                match wire::take_head(&mut buffer) {
                    Ok(Some(head)) => break head,
                    Ok(None) => {}
                    Err(()) => return Ok("request too large"),
                }
                if reader.read(&mut buffer).await? == 0 {
                    return Ok("closed by the client");
                }
            };
            if let Some(refusal) = wire::refusal(&head) {
                writer.write(&refusal).await?;
                writer.finish().await?;
                return Ok("request refused");
            }
            editor.state().requests += 1;
            let method = format!("{} {}", head.method, head.path);
            editor.event(Event::Request { connection, method });
            let _thread = self.thread.lock().await;
            // The one thread also reads the body, and blocks until it arrives.
            let Some(body) = read_body(&mut reader, &mut buffer, head.length.unwrap_or(0)).await? else {
                return Ok("closed by the client");
            };
            let job = Job::of(&head, &body);
            let text = match (&job, head.path.as_str()) {
                (Some(job), _) => match self.wait(editor, connection, job.clone()).await {
                    Some(text) => match editor.state().odd.take() {
                        Some(odd) => odd.result().finish(),
                        None => text,
                    },
                    None => return Ok("the domain ended"),
                },
                (None, "/ping") => "pong".to_owned(),
                (None, _) => "{ \"success\": true, \"message\": \"Hello from Unity MCP!\" }".to_owned(),
            };
            let lost = job.is_some() && editor.loses_answer();
            if !lost {
                writer.write(&wire::answer(200, "OK", "application/json", &text, head.close)).await?;
            }
            if let Some(job) = job {
                editor.event(Event::CallEnded { connection, tool: job.tool().to_owned(), outcome: "ok" });
            }
            if lost {
                return Ok("its answer is lost");
            }
            if head.close {
                writer.finish().await?;
                return Ok("answered");
            }
        }
    }

    /// Queues a job for the main thread and waits as long as the package does. Returns the answer; `None` if the domain ends.
    async fn wait(&self, editor: &Arc<Editor>, connection: u64, job: Job) -> Option<String> {
        let test_tools = self.test_tools;
        let (done, waiting) = (job.done(), job.waiting());
        let work = editor.submit(move |editor| {
            let tool = job.tool().to_owned();
            job.run(editor, test_tools);
            editor.event(Event::CallBegun { connection, tool, call: None, parallel: false });
            Begun::ok(Object::new())
        });
        match timeout(WAIT, work).await {
            Ok(Ok(_)) => Some(done),
            Ok(Err(_)) => None,
            Err(_) => Some(waiting),
        }
    }
}

/// Reads a body of this length; `None` if the client closes the connection before it is complete.
async fn read_body(reader: &mut Reader, buffer: &mut BytesMut, length: usize) -> std::io::Result<Option<Bytes>> {
    while buffer.len() < length {
        if reader.read(buffer).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(buffer.split_to(length).freeze()))
}

impl Face for UnityMcpFace {
    fn tools(&self) -> Vec<Tool> {
        // The editor registers no tools; they are defined in the package's separate server.
        Vec::new()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, _editor: &'a Arc<Editor>, _moment: &'a Moment) -> BoxFuture<'a, ()> {
        // The package sends nothing but answers.
        Box::pin(async {})
    }

    fn domain_began(&self, _editor: &Arc<Editor>, _again: bool) {}

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn settings(&self, _editor: &Editor, _port: u16, _running: bool) -> OwnFile {
        // The package keeps no such file. The path is a placeholder: removing a missing file does nothing.
        OwnFile { path: "UserSettings/UnityMcp.json", content: None, private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(PACKAGE_ID.0, PACKAGE_ID.1)
    }

    fn process_began(&self, _editor: &Editor) {}

    fn locks(&self) -> bool {
        false
    }

    /// It logs the error, and has no server until its next domain.
    fn if_taken(&self) -> IfTaken {
        IfTaken { waits: Duration::ZERO, behind: 0, among: None, then_any: false }
    }
}
