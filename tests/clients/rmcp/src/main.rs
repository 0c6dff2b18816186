//! The official Rust SDK drives a server over its child-process transport, or over HTTP, and asserts; exits non-zero at the first
//! broken promise.
//!
//! ```text
//! FAKE_UNITY_STEER=FIFO rmcp-client legacy|modern -- holdfast --port PORT
//! FAKE_UNITY_STEER=FIFO HOLDFAST_TOKEN=... HOLDFAST_SOCKET=PATH rmcp-client legacy|modern -- http://127.0.0.1:PORT/mcp
//! ```
//!
//! Over HTTP it connects to the Unix socket at HOLDFAST_SOCKET, which `../http_proxy.mjs` joins with the server: the SDK's client for
//! TCP brings fifty more crates.
//!
//! The checks have the names of those in `../checks.mjs`, and `PROOF_ONLY`, `PROOF_EXPECTED`, `PROOF_IMAGES` and
//! `PROOF_SESSIONS` mean the same. This SDK tells nobody
//! how its child ended: the exit code is the other clients' to check.

use std::io::Write as _;
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientConfig, ClientRequest, ContentBlock,
    GetPromptRequestParams, Implementation, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ResourceContents, ServerResult, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, UnixSocketHttpClient};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const MIB: usize = 1024 * 1024;
const DEADLINE: Duration = Duration::from_secs(600);
/// Only a hang misses it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a check is tried that only was too late.
const GOES: usize = 5;
type Outcome = Result<(), String>;

/// How the fault of a check begins that was too late this once: what breaks a promise of time breaks it each time, and a busy machine
/// some of the time.
const LATE: &str = "late: ";

fn in_time(condition: bool, what: impl FnOnce() -> String) -> Outcome {
    insist(condition, || format!("{LATE}{}", what()))
}

/// The checks that a broken server fails.
fn expected() -> Vec<String> {
    std::env::var("PROOF_EXPECTED").map(|names| names.split('|').map(str::to_owned).collect()).unwrap_or_default()
}

#[derive(Clone)]
struct Handler {
    info: ClientConfig,
    list_changes: Arc<AtomicUsize>,
    progress: Arc<Mutex<Vec<(f64, Instant)>>>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.info.clone()
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changes.fetch_add(1, Ordering::SeqCst);
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().expect("no check panics").push((params.progress, Instant::now()));
    }
}

struct Proof {
    modern: bool,
    images: bool,
    only: Option<Vec<String>>,
    steer: String,
    handler: Handler,
    client: RunningService<RoleClient, Handler>,
    passed: usize,
    /// Whether the server has no sessions, and tells of no change: over HTTP in the era with a handshake.
    no_session: bool,
    /// Whether the server is known to break what is being checked.
    breaks: bool,
}

fn insist(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn text_of(result: &CallToolResult) -> String {
    let texts: Vec<&str> =
        result.content.iter().filter_map(|block| block.as_text().map(|text| text.text.as_str())).collect();
    texts.join("\n")
}

fn brief(text: &str) -> String {
    text.chars().take(300).collect()
}

impl Proof {
    async fn ask(&self, tool: &str, arguments: Value) -> Result<RequestHandle<RoleClient>, String> {
        let Value::Object(arguments) = arguments else { return Err("arguments are an object".to_owned()) };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(self.patience(20));
        self.client.send_cancellable_request(request, options).await.map_err(said)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, String> {
        match self.ask(tool, arguments).await?.await_response().await.map_err(said)? {
            ServerResult::CallToolResult(result) => Ok(result),
            other => Err(format!("no tool's result: {other:?}")),
        }
    }

    async fn names(&self) -> Result<Vec<String>, String> {
        let listed = timeout(self.patience(10), self.client.list_tools(None)).await.map_err(said)?.map_err(said)?;
        let mut names: Vec<String> = listed.tools.iter().map(|tool| tool.name.to_string()).collect();
        names.sort();
        Ok(names)
    }

    async fn echo(&self) -> Outcome {
        let word = format!("word-{:?}", Instant::now());
        let result = self.call("echo", json!({"text": word})).await?;
        let text = text_of(&result);
        insist(result.is_error != Some(true), || format!("echo is an error: {}", brief(&text)))?;
        let wanted = json!(word).to_string();
        insist(text.contains(wanted.trim_matches('"')), || format!("echo answered {}", brief(&text)))
    }

    async fn initialize(&self) -> Outcome {
        let info = self.client.peer_info().ok_or("the server said nothing of itself")?;
        let name = info.server_info.as_ref().map(|server| server.name.as_str());
        insist(name == Some("holdfast"), || format!("serverInfo.name is {name:?}"))?;
        let wanted = if self.modern { ProtocolVersion::V_2026_07_28 } else { ProtocolVersion::V_2025_11_25 };
        insist(info.protocol_version == wanted, || format!("protocolVersion is {}", info.protocol_version))?;
        let changes = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        insist(changes.unwrap_or_default() != self.no_session, || {
            format!("capabilities.tools.listChanged is {changes:?}")
        })
    }

    async fn tools(&self) -> Outcome {
        let names = self.names().await?;
        let images = self.images.then_some("test_image_content");
        for name in ["holdfast_status", "echo", "sleep", "swap", "big"].into_iter().chain(images) {
            insist(names.iter().any(|listed| listed == name), || format!("no {name} in {names:?}"))?;
        }
        Ok(())
    }

    async fn image(&self) -> Outcome {
        if !self.images {
            return Ok(());
        }
        let result = self.call("test_image_content", json!({})).await?;
        let is_png = |block: &ContentBlock| {
            block.as_image().is_some_and(|image| image.mime_type == "image/png" && image.data.starts_with("iVBOR"))
        };
        insist(result.content.iter().any(is_png), || format!("no image: {}", brief(&text_of(&result))))
    }

    async fn progress(&self) -> Outcome {
        self.handler.progress.lock().expect("no check panics").clear();
        let start = Instant::now();
        let result = self.call("sleep", json!({"ms": 3000})).await?;
        insist(result.is_error != Some(true), || text_of(&result))?;
        insist(start.elapsed() >= Duration::from_millis(2900), || format!("slept {:?} only", start.elapsed()))?;
        let seen = self.handler.progress.lock().expect("no check panics").clone();
        insist(seen.len() >= 2, || format!("{} progress notifications", seen.len()))?;
        in_time(seen[0].1 - start < Duration::from_secs(1), || {
            format!("the first progress came after {:?}", seen[0].1 - start)
        })?;
        insist(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), || format!("progress does not increase: {seen:?}"))
    }

    async fn cancel(&self) -> Outcome {
        let running = self.ask("sleep", json!({"ms": 1500})).await?;
        sleep(Duration::from_millis(300)).await;
        running.cancel(Some("user".to_owned())).await.map_err(said)?;
        self.echo().await
    }

    async fn list_changed(&self) -> Outcome {
        let before = self.names().await?;
        let wait = self.patience(5);
        if self.modern {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let listening = timeout(wait, self.client.listen(filter)).await;
            let mut subscription =
                listening.map_err(|_| "the subscription was not acknowledged".to_owned())?.map_err(said)?;
            self.call("swap", json!({})).await?;
            let told = timeout(wait, subscription.next())
                .await
                .map_err(|_| "nothing came over the subscription".to_owned())?;
            insist(told.map_err(said)?.is_some(), || "the subscription ended".to_owned())?;
            subscription.cancel().await.map_err(said)?;
        } else {
            let changes = self.handler.list_changes.load(Ordering::SeqCst);
            self.call("swap", json!({})).await?;
            let start = Instant::now();
            if self.no_session {
                sleep(Duration::from_millis(500)).await;
            }
            while !self.no_session && self.handler.list_changes.load(Ordering::SeqCst) == changes {
                insist(start.elapsed() < wait, || "notifications/tools/list_changed did not come".to_owned())?;
                sleep(Duration::from_millis(10)).await;
            }
        }
        let after = self.names().await?;
        insist(after != before, || "the list was announced as changed but is the same".to_owned())
    }

    fn refused<T: std::fmt::Debug>(result: Result<T, ServiceError>, code: i32) -> Outcome {
        match result {
            Err(ServiceError::McpError(error)) => {
                insist(error.code.0 == code, || format!("code {}: {}", error.code.0, error.message))
            }
            other => Err(brief(&format!("no refusal: {other:?}"))),
        }
    }

    async fn unknown_tool(&self) -> Outcome {
        let asked = self.ask("no_such_tool", json!({})).await?;
        Self::refused(asked.await_response().await, -32602)
    }

    async fn unknown_method(&self) -> Outcome {
        Self::refused(self.client.complete_prompt_simple("why-is-unity-silent", "x", "y").await, -32601)
    }

    async fn resources(&self) -> Outcome {
        let resources = self.client.list_all_resources().await.map_err(said)?;
        insist(resources.iter().any(|resource| resource.uri == "holdfast://status"), || {
            brief(&format!("{resources:?}"))
        })?;
        let read =
            self.client.read_resource(ReadResourceRequestParams::new("holdfast://status")).await.map_err(said)?;
        let is_text = matches!(read.contents.first(), Some(ResourceContents::TextResourceContents { text, .. }) if text.starts_with('{'));
        insist(is_text, || brief(&format!("{:?}", read.contents)))?;
        let prompts = self.client.list_all_prompts().await.map_err(said)?;
        insist(prompts.iter().any(|prompt| prompt.name == "why-is-unity-silent"), || brief(&format!("{prompts:?}")))?;
        let prompt = self.client.get_prompt(GetPromptRequestParams::new("why-is-unity-silent")).await.map_err(said)?;
        insist(!prompt.messages.is_empty(), || "the prompt says nothing".to_owned())
    }

    async fn big_inline(&self) -> Outcome {
        let text = text_of(&self.call("big", json!({"n": 4 * MIB})).await?);
        insist(text.len() >= 4 * MIB, || format!("{} characters", text.len()))
    }

    async fn big_file(&self) -> Outcome {
        let text = text_of(&self.call("big", json!({"n": 11 * MIB})).await?);
        insist(text.len() < MIB, || format!("{} characters inline", text.len()))?;
        let words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ':']));
        let sizes: Vec<u64> = words
            .filter(|word| word.starts_with('/'))
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|file| file.len())
            .collect();
        insist(sizes.iter().any(|size| *size >= 11 * MIB as u64), || {
            format!("names no file with the result: {}", brief(&text))
        })?;
        self.echo().await
    }

    async fn reload(&self) -> Outcome {
        self.echo().await?;
        let mut steer = std::fs::OpenOptions::new().append(true).open(&self.steer).map_err(said)?;
        steer.write_all(b"reload 1500\n").map_err(said)?;
        sleep(Duration::from_millis(300)).await;
        let start = Instant::now();
        timeout(self.patience(8), self.echo()).await.map_err(|_| "no answer".to_owned())??;
        // Answered at once means that there was no reload to survive, and the check would prove nothing.
        in_time(start.elapsed() > Duration::from_millis(500), || {
            format!("answered after {:?}: the reload was not in the way", start.elapsed())
        })?;
        let names = self.names().await?;
        insist(names.iter().any(|name| name == "echo"), || format!("no echo after the reload: {names:?}"))
    }

    /// How long a check waits: for so long where a broken server is to fail it, and otherwise until it must be a hang.
    fn patience(&self, seconds: u64) -> Duration {
        if self.breaks { Duration::from_secs(seconds) } else { PATIENCE }
    }

    async fn check(&mut self, name: &str, body: impl AsyncFn(&Self) -> Outcome) -> Result<(), (String, String)> {
        let wanted = name == "initialize" || self.only.as_ref().is_none_or(|only| only.iter().any(|one| one == name));
        if !wanted {
            return Ok(());
        }
        let expected = expected();
        let fails = expected.iter().any(|one| one == name);
        let runs = self.only.as_ref().is_some_and(|only| only.iter().any(|one| one == name));
        self.breaks = fails || (!expected.is_empty() && runs);
        let mut goes = 0;
        let took = loop {
            let start = Instant::now();
            goes += 1;
            match body(self).await {
                Ok(()) => break start.elapsed(),
                Err(error) if error.starts_with(LATE) && goes < GOES && !fails => say(&format!("  {name}: {error}")),
                Err(error) => return Err((name.to_owned(), error)),
            }
        };
        self.passed += 1;
        say(&format!("  ok {name} ({} ms)", took.as_millis()));
        Ok(())
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Living processes that carry the marker: the server and whatever it started.
fn marked(marker: &str) -> Vec<u32> {
    let wanted = format!("HOLDFAST_PROOF={marker}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    })
    .collect()
}

async fn prove(
    modern: bool,
    command: &str,
    words: &[String],
    steer: String,
    marker: &str,
    only: Option<Vec<String>>,
) -> Result<usize, (String, String)> {
    let at = |name: &str| {
        let name = name.to_owned();
        move |error: String| (name, error)
    };
    let mut info = ClientConfig::default();
    info.client_info = Implementation::new("rmcp-client", "1.0.0");
    info.protocol_version = ProtocolVersion::V_2025_11_25;
    let handler = Handler { info, list_changes: Arc::default(), progress: Arc::default() };
    let lifecycle = if modern {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
    } else {
        ClientLifecycleMode::Initialize
    };
    let fails = |name: &str| expected().iter().any(|one| one == name);
    let wait = if fails("initialize") { Duration::from_secs(5) } else { PATIENCE };
    let over_http = command.starts_with("http://");
    let opened = if over_http {
        let variable = |name| std::env::var(name).map_err(said).map_err(at("initialize"));
        let client = UnixSocketHttpClient::new(&variable("HOLDFAST_SOCKET")?, command);
        let config = StreamableHttpClientTransportConfig::with_uri(command).auth_header(variable("HOLDFAST_TOKEN")?);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        timeout(wait, handler.clone().serve_with_lifecycle(transport, lifecycle)).await
    } else {
        let mut server = tokio::process::Command::new(command);
        server.args(words).env("HOLDFAST_PROOF", marker);
        let (transport, _) =
            TokioChildProcess::builder(server).stderr(Stdio::null()).spawn().map_err(said).map_err(at("initialize"))?;
        timeout(wait, handler.clone().serve_with_lifecycle(transport, lifecycle)).await
    };
    let client = opened.map_err(said).and_then(|opened| opened.map_err(said)).map_err(at("initialize"))?;

    let images = std::env::var("PROOF_IMAGES").is_ok_and(|images| images == "no").then_some(false).unwrap_or(true);
    let no_session = over_http && !modern && std::env::var("PROOF_SESSIONS").is_err();
    let mut proof = Proof { modern, images, only, steer, handler, client, passed: 0, no_session, breaks: false };
    proof.check("initialize", Proof::initialize).await?;
    proof.check("tools", Proof::tools).await?;
    proof.check("echo", Proof::echo).await?;
    proof.check("image", Proof::image).await?;
    proof.check("progress", Proof::progress).await?;
    proof.check("cancel", Proof::cancel).await?;
    proof.check("list-changed", Proof::list_changed).await?;
    proof.check("unknown-tool", Proof::unknown_tool).await?;
    proof.check("unknown-method", Proof::unknown_method).await?;
    proof.check("resources", Proof::resources).await?;
    proof.check("big-inline", Proof::big_inline).await?;
    proof.check("big-file", Proof::big_file).await?;
    proof.check("reload", Proof::reload).await?;

    let start = Instant::now();
    let ended = proof.client.cancel().await.map_err(said).map_err(at("close"))?;
    let took = start.elapsed();
    sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    loop {
        let left = marked(marker);
        if left.is_empty() {
            break;
        }
        let waits = !fails("close") && start.elapsed() < PATIENCE;
        insist(waits, || format!("processes left behind: {left:?}")).map_err(at("close"))?;
        sleep(Duration::from_millis(50)).await;
    }
    in_time(took < Duration::from_millis(1900), || format!("took {took:?}: {ended:?}")).map_err(at("close"))?;
    say(&format!("  ok close ({} ms)", took.as_millis()));
    Ok(proof.passed + 1)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, steer) = (words.first().map(String::as_str), std::env::var("FAKE_UNITY_STEER"));
    let (Some(mode @ ("legacy" | "modern")), Some("--"), Some(command), Ok(steer)) =
        (mode, words.get(1).map(String::as_str), words.get(2), steer)
    else {
        let _ =
            writeln!(std::io::stderr(), "usage: FAKE_UNITY_STEER=FIFO rmcp-client legacy|modern -- SERVER [ARGS...]");
        return ExitCode::from(64);
    };
    let marker = format!("rmcp-{}", std::process::id());
    let modern = mode == "modern";
    let mut only = std::env::var("PROOF_ONLY").ok().map(|names| names.split(',').map(str::to_owned).collect());
    let mut goes = 0;
    let outcome = loop {
        goes += 1;
        let outcome = timeout(DEADLINE, prove(modern, command, &words[3..], steer.clone(), &marker, only)).await;
        match outcome.unwrap_or_else(|_| Err(("start".to_owned(), format!("no end within {DEADLINE:?}")))) {
            Err((name, error)) if error.starts_with(LATE) && goes < GOES && !expected().contains(&name) => {
                say(&format!("  {name}: {error}"));
                // Another session, for its end alone.
                only = Some(vec![name]);
            }
            outcome => break outcome,
        }
    };
    match outcome {
        Ok(passed) => {
            say(&format!("  all {passed} checks passed, in {}", if modern { "2026-07-28" } else { "2025-11-25" }));
            ExitCode::SUCCESS
        }
        Err((name, error)) => {
            let lines: Vec<&str> = error.lines().take(3).collect();
            say(&format!("FAIL {name}: {}", lines.join(" | ")));
            for pid in marked(&marker) {
                let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
            ExitCode::FAILURE
        }
    }
}
