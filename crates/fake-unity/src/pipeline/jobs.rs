//! Jobs, from 0.5 on. They live in the memory of a domain: a reload forgets them, whatever became of them.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::reply::{self, Failure};
use super::versions::V0_6;
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;

/// Most jobs that wait or run, and most ended ones that are kept.
const JOBS_MAX: usize = 100;

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Queued,
    /// It has the gate. Its command may still wait for the main thread.
    Running,
    Completed,
    Failed,
    Canceled,
}

impl State {
    fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// A job.
pub(super) struct Job {
    id: String,
    command: String,
    state: State,
    is_cancelled: bool,
    enqueued_at: String,
    started_at: Option<String>,
    completed_at: Option<String>,
    /// The result as JSON.
    result: Option<String>,
    failure: Option<Failure>,
}

/// The jobs of one domain, oldest first.
#[derive(Default)]
pub(super) struct Jobs(VecDeque<Job>);

impl Jobs {
    /// Enqueues a command.
    ///
    /// # Errors
    /// There are too many jobs.
    pub(super) fn enqueue(&mut self, editor: &Editor, command: &str) -> Result<String, Failure> {
        if self.alive() >= JOBS_MAX {
            return Err(Failure::of(429, "Too Many Queued Jobs", format!("{JOBS_MAX} jobs wait or run")));
        }
        while self.0.len() - self.alive() >= JOBS_MAX
            && let Some(oldest) = self.0.iter().position(|job| job.state.is_over())
        {
            self.0.remove(oldest);
        }
        let id = editor.guid().replace('-', "");
        self.0.push_back(Job {
            id: id.clone(),
            command: command.to_owned(),
            state: State::Queued,
            is_cancelled: false,
            enqueued_at: reply::now(editor),
            started_at: None,
            completed_at: None,
            result: None,
            failure: None,
        });
        Ok(id)
    }

    /// Returns the number of jobs that wait or run.
    pub(super) fn alive(&self) -> usize {
        self.0.iter().filter(|job| !job.state.is_over()).count()
    }

    fn find(&mut self, id: &str) -> Option<&mut Job> {
        self.0.iter_mut().find(|job| job.id == id)
    }

    /// Gives the gate to a job. Returns whether it is to run: one that was cancelled before is not.
    pub(super) fn begins(&mut self, id: &str) -> bool {
        let waiting = self.find(id).filter(|job| job.state == State::Queued);
        waiting.map(|job| job.state = State::Running).is_some()
    }

    /// Notes that the command of a job runs.
    pub(super) fn started(&mut self, editor: &Editor, id: &str) {
        if let Some(job) = self.find(id) {
            job.started_at = Some(reply::now(editor));
        }
    }

    /// Ends a job. One that ran to its end is cancelled too, if that was asked for.
    pub(super) fn ended(&mut self, editor: &Editor, id: &str, how: Result<String, Failure>) {
        let Some(job) = self.find(id) else { return };
        job.completed_at = Some(reply::now(editor));
        job.state = match &how {
            _ if job.is_cancelled => State::Canceled,
            Ok(_) => State::Completed,
            Err(_) => State::Failed,
        };
        match how {
            Ok(result) => job.result = Some(result),
            Err(failure) => job.failure = Some(failure),
        }
    }

    /// Cancels a job: one that waits never starts, one that runs is only told. Returns what is said of it.
    pub(super) fn cancel(&mut self, editor: &Editor, id: &str) -> Option<String> {
        let job = self.find(id)?;
        if !job.state.is_over() {
            job.is_cancelled = true;
            if job.state == State::Queued {
                job.state = State::Canceled;
                job.completed_at = Some(reply::now(editor));
            }
        }
        let said = json!({
            "success": true, "jobId": job.id, "state": job.state.word(), "cancellationRequested": job.is_cancelled,
        });
        Some(said.to_string())
    }

    /// Returns what is said of a job. `progress`: the progress bar that the editor shows. `omits_nulls`: without what there is not.
    pub(super) fn about(&mut self, id: &str, progress: &Value, omits_nulls: bool) -> Option<Object> {
        let job = self.find(id)?;
        let failure = job.failure.as_ref();
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from).to_string();
        let members = [
            ("jobId", text(Some(&job.id))),
            ("command", text(Some(&job.command))),
            ("state", text(Some(job.state.word()))),
            ("cancellationRequested", job.is_cancelled.to_string()),
            ("enqueuedAt", text(Some(&job.enqueued_at))),
            ("startedAt", text(job.started_at.as_deref())),
            ("completedAt", text(job.completed_at.as_deref())),
            ("result", job.result.clone().unwrap_or_else(|| "null".to_owned())),
            ("error", text(failure.map(|failure| failure.error))),
            ("errorDetails", text(failure.map(|failure| failure.details.as_str()))),
            ("progress", if job.state == State::Running { progress.to_string() } else { "null".to_owned() }),
        ];
        let said = members.iter().filter(|(_, value)| !omits_nulls || value != "null");
        Some(said.fold(Object::new(), |object, (name, value)| object.raw(name, value)))
    }
}

/// Returns whether members that are null are left out, and a warning if the query asks for something else than yes or no.
pub(super) fn omits_nulls(version: PackageVersion, asked: Option<&str>) -> (bool, Option<String>) {
    match asked {
        _ if version < V0_6 => (false, None),
        None | Some("true") => (true, None),
        Some("false") => (false, None),
        Some(other) => (true, Some(format!("omit_nulls={other} is neither true nor false"))),
    }
}
