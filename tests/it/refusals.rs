//! What an editor's error proves, tried with the real binary: words that a tool wrote never make a call run again, and never make
//! `holdfast call` say that nothing ran.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast_fake_unity::{Call, PACKAGES, Package, PackageVersion, Port, Task};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::binary::{Place, Server, Unity, text, words};

const SESSION: &str = "Unity CLI Loop server session changed. Retry the command.";
const PROJECT: &str = "Connected Unity instance belongs to a different project.";
/// Texts that the packages themselves use when they refuse a call of `throw`.
const THROWN: [&str; 9] = [
    SESSION,
    PROJECT,
    "Fast project validation is unavailable. Restart Unity CLI Loop and retry.",
    "Unknown tool: throw",
    "Unknown command: throw",
    "Tool 'throw' is disabled. To enable it, go to Window > uLoopMCP",
    "Parameter type mismatch for tool 'throw': text",
    "Tool registry not initialized",
    "{\"type\":\"security_blocked\",\"command\":\"throw\",\"ran\":false}",
];

/// Asserts that an answer says nothing about whether the call ran, except that it may have.
fn claims_nothing(answer: &str, about: &str) {
    let low = answer.to_lowercase();
    assert!(
        !low.contains("not executed") && !low.contains("nothing of") && !low.contains("nothing was"),
        "{about}: {answer}"
    );
}

/// Every package whose tools throw, in every version that differs from others.
fn played() -> impl Iterator<Item = (&'static Package, PackageVersion)> {
    let throwing = PACKAGES.iter().copied().filter(|package| package.facts.results);
    throwing.flat_map(|package| {
        let older = package.facts.versions.iter().rev().skip(1).copied();
        older.chain([package.newest()]).map(move |version| (package, version))
    })
}

/// The call of a tool that throws these words. Some versions call a project's own tools through another.
fn throws(spoken: &Package, version: PackageVersion, words: &str) -> (&'static str, Value) {
    let Call { tool, mut arguments, .. } = (spoken.call)(Task::Throw, words, version);
    let own = if arguments.get("parameters").is_some() { &mut arguments["parameters"] } else { &mut arguments };
    own["text"] = words.into();
    (tool, arguments)
}

/// With a project, so that v2 gets and checks the editor's identity.
#[tokio::test]
async fn a_tool_that_throws_a_packages_words_ran_once_and_is_not_said_not_to_have_run() {
    for (spoken, version) in played() {
        let named = version.to_string();
        let package = &["--dialect", spoken.name, "--package-version", &named][..];
        let place = Place::new();
        let project = place.project("Castle");
        let mut unity = Unity::start(&place, &[&["--project", text(&project)], package].concat()).await;
        let at = unity.at();
        let mut flags = vec!["--project", text(&project)];
        if spoken.facts.port == Port::Told {
            flags.extend(["--port", &at]);
        }
        let mut gateway = Server::start(&place, &flags).await;
        for thrown in THROWN {
            let about = format!("{package:?} {thrown}");
            let (tool, arguments) = throws(spoken, version, thrown);
            let result = gateway.call(tool, arguments).await;
            assert_eq!(result["isError"], true, "{about}: {result}");
            claims_nothing(words(&result), &about);
            let Call { tool, arguments, .. } = (spoken.call)(Task::Echo, "x", version);
            gateway.call(tool, arguments).await;
            let mut ran = 0;
            loop {
                let begun = unity.hear("call_begun").await;
                match begun["tool"].as_str() {
                    Some("throw") => ran += 1,
                    Some("echo") => break,
                    _ => {}
                }
            }
            assert_eq!(ran, 1, "{about}");
        }
        gateway.end().await;
        // One text each that this package has for its own refusals.
        let known = if spoken.facts.text_results { THROWN[7] } else { THROWN[3] };
        let (tool, arguments) = throws(spoken, version, known);
        let arguments = arguments.to_string();
        let done = place.run(["call", tool, &arguments].into_iter().chain(flags)).await;
        assert_eq!(done.code, Some(1), "{package:?}: {done:?}");
        claims_nothing(&done.err, &format!("{package:?}"));
        unity.quit().await;
    }
}

/// A uLoopMCP editor that answers each call with the error in its argument `error`, as it is.
struct Scripted {
    port: String,
    calls: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Scripted {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port().to_string();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&counted)));
            }
        });
        Self { port, calls, task }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one connection until it ends.
async fn converse(stream: TcpStream, calls: Arc<AtomicUsize>) -> Option<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut header = String::new();
        read.read_line(&mut header).await.ok().filter(|count| *count > 0)?;
        let length = header.trim().strip_prefix("Content-Length: ")?.parse().ok()?;
        read.read_line(&mut String::new()).await.ok()?;
        let mut body = vec![0; length];
        read.read_exact(&mut body).await.ok()?;
        let request: Value = serde_json::from_slice(&body).ok()?;
        let (name, said) = match request["method"].as_str()? {
            "set-client-name" => ("result", json!({"Message": "ok"})),
            "get-tool-details" => {
                let described = json!({"Properties": {"error": {"Type": "object"}}, "Required": []});
                ("result", json!({"Tools": [{"name": "act", "description": "d", "parameterSchema": described}]}))
            }
            _ => {
                calls.fetch_add(1, Ordering::SeqCst);
                ("error", request["params"]["error"].clone())
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": request["id"], name: said}).to_string();
        write.write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.ok()?;
    }
}

/// Nothing names the editor here, so the texts about another editor are never the package's.
#[tokio::test]
async fn only_the_packages_own_form_about_the_called_tool_is_a_refusal() {
    let place = Place::new();
    let editor = Scripted::start().await;
    let error = |message: &str, data: Value| json!({"code": -32603, "message": message, "data": data});
    let internal = |message: &str| json!({"type": "internal_error", "message": message});
    let blocked =
        |command: &str| json!({"type": "security_blocked", "command": command, "reason": "r", "message": "m"});
    let mismatch = "Parameter type mismatch for tool 'act': q";
    let disabled = "Tool 'act' is disabled. To enable it, go to Window";
    let why_disabled = "This tool has been disabled in project settings.";
    for (said, code) in [
        (error("Tool blocked by security settings", blocked("act")), 3),
        (error("Tool blocked by security settings", blocked("other")), 1),
        (error(mismatch, internal("")), 3),
        (error(mismatch, internal("it ran")), 1),
        (error("Internal error", internal(mismatch)), 1),
        (error("Parameter type mismatch for tool 'other': q", internal("")), 1),
        (error(disabled, internal(why_disabled)), 3),
        (error(disabled, internal("it ran")), 1),
        (error("Internal error", internal(disabled)), 1),
        (error("Internal error", internal("Unknown tool: act")), 1),
        (error("Internal error", json!("Unknown command: act")), 1),
        (error(SESSION, internal("")), 1),
        (error(PROJECT, internal("")), 1),
        (error(SESSION, internal("it ran")), 1),
        (error("Internal error", internal(PROJECT)), 1),
    ] {
        let before = editor.calls.load(Ordering::SeqCst);
        let arguments = json!({ "error": said }).to_string();
        let done = place.run(["call", "act", &arguments, "--port", &editor.port]).await;
        assert_eq!(done.code, Some(code), "{said}: {done:?}");
        assert_eq!(editor.calls.load(Ordering::SeqCst) - before, 1, "{said}");
        if code == 1 {
            claims_nothing(&done.err, &said.to_string());
        }
    }
}
