//! A gateway for one command: the same gateway that `serve` runs, in this process, with a small MCP client on its pipes.
//!
//! So there is only one way to Unity, with one set of promises. Facts that a client cannot see (verdicts, the source of
//! the tool list) are read from the gateway's own records, never from the text of an answer.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::attached;
use super::gateway_args::{EditorArgs, HubMode, bad_project};
use super::resources::runtime;
use super::serve::{keep_records, log_panics, signalled};
use super::{Exit, output};
use crate::actors::gateway::Plain;
use crate::actors::parts::Parts;
use crate::config::Config;
use crate::core::ShutdownReason;
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, COMMAND_WRITES_MAX, ONE_SHOT_PIPE_BYTES};
use crate::platform::host::RealHost;
use crate::platform::network::Network;
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::jsonrpc::{self, Message, RequestId, RpcError};
use crate::protocol::mcp::{Audience, ProtocolVersion};
use crate::telemetry::logs;
use crate::transport::run::{self, Pumps};

/// The progress token of the one call that a one-shot command makes.
const PROGRESS_TOKEN: &str = "\"p\"";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GatewayGone {
    #[error("interrupted by a signal")]
    Interrupted,
    #[error("the gateway of this command ended before it answered; please report this")]
    Failed,
}

/// A gateway in this process, with its MCP client.
pub struct OneShot {
    pub parts: Arc<Parts>,
    to: DuplexStream,
    from: DuplexStream,
    lines: LineDecoder,
    gateway: JoinHandle<ShutdownReason>,
    requests: u64,
    interrupted: Arc<AtomicBool>,
}

/// What a command wants beside a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish {
    /// Whether it uses a hub, if its user may say so.
    pub hub: Option<HubMode>,
    /// Whether its calls are recorded, and what earlier ones left is taken over.
    pub records: bool,
}

impl OneShot {
    /// Starts a gateway and opens a session with it. From then on the gateway looks for the editor.
    pub async fn open(config: Config, wish: Wish) -> Result<Self, GatewayGone> {
        // A client that makes one request must leave nothing behind in the editor, so no push listener is offered. Results are
        // neither cut nor written to files: this client reads them whole.
        let config = Config {
            push: false,
            list_changed: Some(false),
            metrics: None,
            whole_results: true,
            audience: Audience::Person,
            ..config
        };
        let name = config.client_name.clone().unwrap_or_else(|| "holdfast".to_owned());
        let parts = Parts::new(config, Arc::new(Network), Arc::new(RealHost));
        let (to, input) = tokio::io::duplex(ONE_SHOT_PIPE_BYTES);
        let (output, from) = tokio::io::duplex(ONE_SHOT_PIPE_BYTES);
        let (quit, quitting) = mpsc::channel(4);
        let interrupted = Arc::new(AtomicBool::new(false));
        let (signalled, flag, quit_by_signal) = (signalled(), Arc::clone(&interrupted), quit.clone());
        parts.env.health.spawn("signals", async move {
            if signalled.await.is_some() {
                flag.store(true, Ordering::Relaxed);
                let _ = quit_by_signal.send(ShutdownReason::Signal).await;
            }
        });
        let session = parts.env.fresh();
        if wish.records {
            keep_records(&parts, &session);
        }
        let hub = attached::seat_of_command(&parts, wish.hub, session).await;
        let gateway = tokio::spawn({
            let parts = Arc::clone(&parts);
            async move {
                let pumps = Pumps::over(&parts, input, output);
                let why = run::run(&parts, Plain, pumps, quitting, hub.as_ref()).await;
                if let Some(own) = parts.env.own.get() {
                    own.end();
                }
                drop(quit);
                why
            }
        });
        let lines = LineDecoder::new(CLIENT_MESSAGE_MAX_BYTES);
        let mut one_shot = Self { parts, to, from, lines, gateway, requests: 0, interrupted };
        let hello = json!({
            "protocolVersion": ProtocolVersion::LATEST.label(),
            "capabilities": {},
            "clientInfo": {"name": name, "version": env!("CARGO_PKG_VERSION")},
        });
        let opened = one_shot.request("initialize", &hello.to_string(), &mut |_| {}).await?;
        opened.map_err(|_| one_shot.gone())?;
        let line = jsonrpc::notification("notifications/initialized", None);
        one_shot.send(&line).await?;
        Ok(one_shot)
    }

    /// Calls a tool. `arguments` is a JSON object. `progress` receives each message about what the call waits for.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: &str,
        progress: Option<&mut dyn FnMut(&str)>,
    ) -> Result<Result<Box<RawValue>, RpcError>, GatewayGone> {
        let (name, meta) = (json!(tool), format!(r#","_meta":{{"progressToken":{PROGRESS_TOKEN}}}"#));
        let meta = if progress.is_some() { &*meta } else { "" };
        let params = format!(r#"{{"name":{name},"arguments":{arguments}{meta}}}"#);
        self.request("tools/call", &params, progress.unwrap_or(&mut |_| {})).await
    }

    /// Sends a request and waits for its answer. The gateway bounds the time.
    pub async fn request(
        &mut self,
        method: &str,
        params: &str,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Result<Box<RawValue>, RpcError>, GatewayGone> {
        self.requests += 1;
        let asked = RequestId::from_number(self.requests);
        self.send(&jsonrpc::request(&asked, method, Some(params))).await?;
        let mut buffer = vec![0; ONE_SHOT_PIPE_BYTES];
        loop {
            while let Some(line) = self.lines.next_line() {
                // The gateway writes no line that is longer than the decoder's limit.
                let Line::Whole(bytes) = line else { return Err(self.gone()) };
                match jsonrpc::parse(&bytes) {
                    Ok(Message::Response { id, outcome }) if id.as_ref() == Some(&asked) => {
                        // A gateway that was told to end answers the open requests with an error.
                        if outcome.is_err() && self.gone() == GatewayGone::Interrupted {
                            return Err(GatewayGone::Interrupted);
                        }
                        return Ok(outcome.map(|result| self.parts.client.take_whole().unwrap_or(result)));
                    }
                    Ok(Message::Notification { method, params }) if method == "notifications/progress" => {
                        if let Some(message) = params.as_deref().and_then(progress_message) {
                            progress(&message);
                        }
                    }
                    _ => {}
                }
            }
            match self.from.read(&mut buffer).await {
                Ok(count @ 1..) => self.lines.push(buffer.get(..count).unwrap_or_default()),
                _ => return Err(self.gone()),
            }
        }
    }

    fn gone(&self) -> GatewayGone {
        if self.interrupted.load(Ordering::Relaxed) { GatewayGone::Interrupted } else { GatewayGone::Failed }
    }

    async fn send(&mut self, line: &str) -> Result<(), GatewayGone> {
        let line = format!("{line}\n");
        self.to.write_all(line.as_bytes()).await.map_err(|_| self.gone())
    }

    /// Closes the session as a client does, and waits until the gateway has ended.
    pub async fn close(self) {
        let Self { to, from, gateway, .. } = self;
        drop(to);
        let _ = gateway.await;
        drop(from);
    }
}

fn progress_message(params: &RawValue) -> Option<String> {
    let params: serde_json::Value = serde_json::from_str(params.get()).ok()?;
    params.get("message").and_then(serde_json::Value::as_str).map(str::to_owned)
}

/// Runs `work` for a project, with logs, configuration and a runtime. Returns [`Exit::Usage`] before anything is done if the
/// project that was named cannot be used.
pub fn run<F, W>(arguments: &EditorArgs, work: W) -> ExitCode
where
    F: Future<Output = Exit>,
    W: FnOnce(Config) -> F,
{
    let (config, complaints) = arguments.config();
    for complaint in &complaints {
        output::complain(&format!("holdfast: {complaint}"));
    }
    if arguments.editor.is_some() && bad_project(&config).is_some() {
        output::complain("Nothing was done.");
        return Exit::Usage.into();
    }
    if let Some(bad) = bad_project(&config) {
        output::complain(&format!("holdfast: --project: {bad}. Nothing was done."));
        return Exit::Usage.into();
    }
    block_on(arguments, work(config))
}

pub fn block_on(arguments: &EditorArgs, work: impl Future<Output = Exit>) -> ExitCode {
    // A user sees at once what a command does. Its log would push out the logs of sessions.
    let logs = logs::start(arguments.verbosity(true), arguments.shared.log_format, None);
    log_panics();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            return super::resources::refused(&error).into();
        }
    };
    let exit = runtime.block_on(work);
    // Lets disk writes that have begun finish. `serve` has a thread that blocks on stdin; a command has no such thread.
    runtime.shutdown_timeout(COMMAND_WRITES_MAX);
    drop(logs);
    exit.into()
}
