//! A session with the gateway, on the side of the AI client.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use holdfast_mcp_client::answer::{Answer, Verdict};
use holdfast_mcp_client::{line, session};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::cli::child::{self, News, Process, Source};
use crate::limits::demo::{DEMO_NEWS_MAX, DEMO_STEP_MAX};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("the gateway ended (our fault; its log is in the report)")]
    Ended,
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) verdict: Verdict,
    /// The texts of the result, as an AI reads them.
    pub(super) text: String,
    /// The result as JSON; null if it is not JSON.
    pub(super) body: Value,
    /// The time from the writing of the request to the reading of the answer.
    pub(super) took: Duration,
}

/// The gateway of a trial, and its client. The process is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Session {
    process: Process,
    news: mpsc::Receiver<News>,
    session: session::Session<Instant>,
    asked: Vec<(u64, Instant)>,
}

impl Session {
    /// Starts a gateway for this project, with a state folder of its own, and opens a session.
    pub(super) async fn open(project: &Path, folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the gateway could not be started ({error})");
        let mut command = child::gateway(folder, project).map_err(failed)?;
        // Tools of the project's own may be more than are listed at first.
        command.args(["--hub", "never", "--toolsets", "all"]);
        let (sender, news) = mpsc::channel(DEMO_NEWS_MAX);
        let process = Process::start(command, Source::Gateway, sender).map_err(failed)?;
        let mut session = Self { process, news, session: session::Session::default(), asked: Vec::new() };
        let params = line::handshake("holdfast-unity-try", "2025-11-25", json!({}));
        let id = session.ask("initialize", &params).await.map_err(|why| why.to_string())?;
        session.answer(id, DEMO_STEP_MAX).await.map_err(|why| why.to_string())?;
        session.write(line::INITIALIZED).await.map_err(|why| why.to_string())?;
        Ok(session)
    }

    pub(super) async fn tools(&mut self) -> Result<Vec<String>, NoAnswer> {
        let id = self.ask("tools/list", &json!({})).await?;
        let answer = self.answered(id, DEMO_STEP_MAX).await?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        Ok(tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: &Value, limit: Duration) -> Result<Answered, NoAnswer> {
        let id = self.begin(tool, arguments).await?;
        self.answer(id, limit).await
    }

    /// Calls a tool, and returns the id of the request.
    pub(super) async fn begin(&mut self, tool: &str, arguments: &Value) -> Result<u64, NoAnswer> {
        self.ask("tools/call", &line::call(tool, arguments.clone())).await
    }

    pub(super) async fn answer(&mut self, id: u64, limit: Duration) -> Result<Answered, NoAnswer> {
        let message = self.answered(id, limit).await?;
        let at = self.session.answer(&id.into()).map_or_else(Instant::now, |line| line.at);
        let asked = self.asked.iter().rev().find(|(of, _)| *of == id).map_or(at, |(_, asked)| *asked);
        let answer = Answer(message);
        let (verdict, text, body) = (answer.verdict(), answer.text(), answer.body());
        Ok(Answered { verdict, text, body, took: at.saturating_duration_since(asked) })
    }

    /// Whether a call is answered, in the output that was read so far.
    pub(super) fn is_answered(&self, id: u64) -> bool {
        self.session.answer(&id.into()).is_some()
    }

    /// Returns the gateway's violations of the protocol: faults of the session, and requests with too few or too many
    /// answers.
    pub(super) fn faults(&self) -> Vec<String> {
        let faults = self.session.faults().iter().map(|fault| format!("{fault:?}"));
        faults.chain(self.session.unpaired()).collect()
    }

    /// Ends the session as a client does, and waits for the gateway's end.
    pub(super) async fn close(mut self) {
        let _ = self.process.leave().await;
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<u64, NoAnswer> {
        let (id, line) = self.session.request(method, params);
        self.asked.push((id, Instant::now()));
        self.write(&line).await?;
        Ok(id)
    }

    async fn write(&mut self, line: &str) -> Result<(), NoAnswer> {
        self.process.say(line).await.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => NoAnswer::Late(DEMO_STEP_MAX),
            _ => NoAnswer::Ended,
        })
    }

    async fn answered(&mut self, id: u64, limit: Duration) -> Result<Value, NoAnswer> {
        let until = Instant::now() + limit;
        loop {
            if let Some(line) = self.session.answer(&id.into()) {
                return Ok(line.value.clone());
            }
            match timeout_at(until, self.news.recv()).await {
                Ok(Some(News { at, line: Some(line), .. })) => self.session.received(line.as_bytes(), at),
                Ok(_) => {
                    self.session.end();
                    return Err(NoAnswer::Ended);
                }
                Err(_) => return Err(NoAnswer::Late(limit)),
            }
        }
    }
}
