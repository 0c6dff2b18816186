//! A session of the gateway, as an AI client has it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use holdfast_mcp_client::answer::{Answer, Verdict};
use holdfast_mcp_client::{line, session};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout_at};

use crate::limits::demo::{DEMO_LINE_MAX_BYTES, DEMO_STEP_MAX};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAnswer {
    /// The gateway ended, or closed its output.
    #[error("the gateway ended (our fault; its log is in the report)")]
    Ended,
    /// There was none in time.
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
}

/// An answer to a call.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) verdict: Verdict,
    /// The texts of the result, as an AI reads them.
    pub(super) text: String,
    /// The result as JSON; null if it is none.
    pub(super) body: Value,
    /// From the writing of the request to the reading of the answer.
    pub(super) took: Duration,
}

/// The gateway of a trial, and its client. The process is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    session: session::Session<Instant>,
    /// When each request was written, by its id.
    asked: Vec<(u64, Instant)>,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl Session {
    /// Starts a gateway for this project, with a state folder of its own, and opens a session.
    ///
    /// # Errors
    /// The program cannot be started, or does not answer. The text says which.
    pub(super) async fn open(project: &Path, folder: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program's path is not known ({error})"))?;
        let file = |name: &str| std::fs::File::options().create(true).append(true).open(folder.join(name));
        let log = file("gateway.log").map_err(|error| format!("{} cannot be written ({error})", folder.display()))?;
        // An empty configuration file is used instead of the user's, whose rules could refuse the trial's calls.
        let config = folder.join("config.toml");
        std::fs::write(&config, "").map_err(|error| format!("{} cannot be written ({error})", config.display()))?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["HOLDFAST_", "UNITY_", "MCP_"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.args(["serve", "--hub", "never", "--log", "info", "--project"]).arg(project);
        command.arg("--state-dir").arg(folder.join("state")).arg("--config").arg(config);
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("the gateway could not be started ({error})"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let Some(output) = output else { return Err("the gateway has no output".to_owned()) };
        let mut session = Self {
            child,
            input,
            output: BufReader::new(output),
            session: session::Session::default(),
            asked: Vec::new(),
            begun: Vec::new(),
        };
        let params = line::handshake("holdfast-unity-try", "2025-11-25", json!({}));
        let id = session.ask("initialize", &params).await.map_err(|why| why.to_string())?;
        session.answer(id, DEMO_STEP_MAX).await.map_err(|why| why.to_string())?;
        session.write(line::INITIALIZED).await.map_err(|why| why.to_string())?;
        Ok(session)
    }

    /// Returns the names of the tools that are listed.
    pub(super) async fn tools(&mut self) -> Result<Vec<String>, NoAnswer> {
        let id = self.ask("tools/list", &json!({})).await?;
        let answer = self.answered(id, DEMO_STEP_MAX).await?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        Ok(tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
    }

    /// Calls a tool and waits for the answer.
    pub(super) async fn call(&mut self, tool: &str, arguments: &Value, limit: Duration) -> Result<Answered, NoAnswer> {
        let id = self.begin(tool, arguments).await?;
        self.answer(id, limit).await
    }

    /// Calls a tool, and returns the id of the request.
    pub(super) async fn begin(&mut self, tool: &str, arguments: &Value) -> Result<u64, NoAnswer> {
        self.ask("tools/call", &line::call(tool, arguments.clone())).await
    }

    /// Waits for the answer to a call.
    pub(super) async fn answer(&mut self, id: u64, limit: Duration) -> Result<Answered, NoAnswer> {
        let message = self.answered(id, limit).await?;
        let at = self.session.answer(&id.into()).map_or_else(Instant::now, |line| line.at);
        let asked = self.asked.iter().rev().find(|(of, _)| *of == id).map_or(at, |(_, asked)| *asked);
        let answer = Answer(message);
        let (verdict, text, body) = (answer.verdict(), answer.text(), answer.body());
        Ok(Answered { verdict, text, body, took: at.saturating_duration_since(asked) })
    }

    /// Whether a call is answered by now, as far as the output was read.
    pub(super) fn is_answered(&self, id: u64) -> bool {
        self.session.answer(&id.into()).is_some()
    }

    /// What the gateway wrote against the protocol: faults of the session, and requests with too few or too many answers.
    pub(super) fn faults(&self) -> Vec<String> {
        let faults = self.session.faults().iter().map(|fault| format!("{fault:?}"));
        faults.chain(self.session.unpaired()).collect()
    }

    /// Ends the session as a client does, and waits for the gateway's end.
    pub(super) async fn close(mut self) {
        drop(self.input.take());
        let _ = tokio::time::timeout(DEMO_STEP_MAX, self.child.wait()).await;
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<u64, NoAnswer> {
        let (id, line) = self.session.request(method, params);
        self.asked.push((id, Instant::now()));
        self.write(&line).await?;
        Ok(id)
    }

    async fn write(&mut self, line: &str) -> Result<(), NoAnswer> {
        let input = self.input.as_mut().ok_or(NoAnswer::Ended)?;
        let write = async {
            input.write_all(format!("{line}\n").as_bytes()).await?;
            input.flush().await
        };
        match tokio::time::timeout(DEMO_STEP_MAX, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(NoAnswer::Ended),
            Err(_) => Err(NoAnswer::Late(DEMO_STEP_MAX)),
        }
    }

    async fn answered(&mut self, id: u64, limit: Duration) -> Result<Value, NoAnswer> {
        let until = Instant::now() + limit;
        let bound = u64::try_from(DEMO_LINE_MAX_BYTES).unwrap_or(u64::MAX);
        loop {
            if let Some(line) = self.session.answer(&id.into()) {
                return Ok(line.value.clone());
            }
            let mut output = (&mut self.output).take(bound);
            match timeout_at(until, output.read_until(b'\n', &mut self.begun)).await {
                Ok(Ok(1..)) => {
                    let line = std::mem::take(&mut self.begun);
                    self.session.received(line.strip_suffix(b"\n").unwrap_or(&line), Instant::now());
                }
                Ok(Ok(0) | Err(_)) => {
                    self.session.end();
                    return Err(NoAnswer::Ended);
                }
                Err(_) => return Err(NoAnswer::Late(limit)),
            }
        }
    }
}
