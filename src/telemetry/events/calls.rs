//! The events between the client and the gateway: messages, requests and calls.

use super::Events;
use crate::core::calls::{Answer, Claim};
use crate::fsm::call::Verdict;
use crate::protocol::ids::{CallId, Epoch, SessionId};
use crate::protocol::mcp::{Method, ProtocolVersion};
use crate::protocol::text::clean;
use crate::protocol::trace::TraceContext;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::Id;
use crate::telemetry::metrics::labels::{Invariant, Outcome, Resend, Wait};

impl Events {
    /// A client opened (or reopened) the session.
    pub fn session_opened(&self, client: &str, version: ProtocolVersion, honours_changes: bool) {
        let protocol = version.label();
        if self.1.is_post {
            return tracing::debug!(event = "post_opened", client = %clean(client), protocol);
        }
        tracing::info!(event = "session_opened", session = self.session(), client = %clean(client), protocol, honours_changes);
    }

    /// Reports a broken promise if a message for the client is not one line.
    pub fn check_line(&self, line: &str) {
        if memchr::memchr2(b'\n', b'\r', line.as_bytes()).is_some() {
            self.violated(Invariant::BrokenLine, "");
        }
    }

    /// Bytes were written to stdout.
    pub fn stdout_written(&self) {
        if self.counted() {
            self.metrics().set(Id::StdoutWritten, [], seconds(self.now()));
        }
    }

    /// The gateway ends although the client has not read its last answers.
    pub fn stdout_not_read(&self, lines: usize) {
        tracing::warn!(
            event = "stdout_not_read",
            session = self.session(),
            lines_left = lines,
            "the client stopped reading before the last answers had left"
        );
    }

    /// The client sent a line that is not an MCP request, or a request that was refused at once.
    pub fn bad_line(&self, fault: &'static str) {
        if let Some(left_out) = self.0.bad_lines.admit() {
            tracing::warn!(event = "bad_client_line", session = self.session(), fault, left_out);
        }
    }

    /// A request was answered or cancelled.
    pub fn request_ended(&self, method: Method, outcome: Outcome) {
        self.metrics().count(Id::McpRequests, [method.into(), outcome.into()]);
    }

    /// A call was accepted.
    pub fn call_accepted(&self, call: CallId, tool: &str, by: SessionId, request: &str, trace: Option<&TraceContext>) {
        let session = (by != SessionId::STDIO && !by.is_post()).then_some(by.0);
        let trace_id = trace.and_then(TraceContext::trace_id);
        tracing::debug!(event = "call_accepted", link = self.link(), session, %call, tool = %clean(tool), mcp_id = %clean(request), trace_id);
    }

    /// A call was claimed for a connection: its bytes are about to be written. `claim`: what is recorded of this
    /// attempt, if known.
    pub fn call_sent(&self, call: CallId, epoch: Epoch, wire: u64, claim: Option<Claim>) {
        tracing::debug!(event = "call_sent", link = self.link(), %call, epoch = epoch.0, wire);
        let Some(Claim { waited, waited_for, nth, lost, repeatable }) = claim else { return };
        let wait = Wait::of(waited_for);
        self.metrics().record(Id::ToolCallWait, [wait.into()], waited.as_secs_f64());
        if nth > 1 {
            let cause = match (lost, wait) {
                (false, _) => Resend::TurnedAway,
                (true, Wait::Reload | Wait::Compile) => Resend::Reload,
                (true, Wait::Connect | Wait::Queue) => Resend::Reconnect,
            };
            self.metrics().count(Id::ToolCallResends, [cause.into()]);
            if lost && !repeatable {
                self.violated(Invariant::UnsafeResend, &call.to_string());
            }
        }
        self.first_call_after_return();
    }

    /// A call was answered.
    pub fn call_answered(&self, answer: &Answer) {
        let (verdict, cause) = (answer.verdict.label(), answer.verdict.cause().unwrap_or(""));
        let millis = u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX);
        let (call, tool) = (answer.call, clean(&answer.tool));
        let trace_id = answer.trace.as_deref().and_then(TraceContext::trace_id);
        tracing::info!(event = "call_answered", link = self.link(), %call, %tool, verdict, cause, millis, trace_id);
        self.metrics().count(Id::ToolCalls, [verdict, cause]);
        self.metrics().record(Id::ToolCallDuration, [], answer.took.as_secs_f64());
    }

    /// A call was answered, but no open request was waiting for it, although the call was not cancelled. That breaks a
    /// promise.
    pub fn answer_for_nobody(&self, call: CallId) {
        self.violated(Invariant::AnswerForNobody, &call.to_string());
    }

    /// A call ended whose client no longer waits for an answer.
    pub fn call_noted(&self, call: CallId, tool: &str, verdict: Verdict) {
        tracing::info!(event = "call_noted", link = self.link(), %call, tool = %clean(tool), verdict = verdict.label());
        // Calls with other verdicts were already counted when their clients were answered.
        if verdict == Verdict::Cancelled {
            self.metrics().count(Id::ToolCalls, [verdict.label(), ""]);
        }
    }

    /// The tool list was read.
    pub fn tools_listed(&self, count: usize, dropped: &[(String, String)]) {
        tracing::info!(event = "tools_listed", link = self.link(), count, dropped = dropped.len());
        for (name, why) in dropped.iter().take(20) {
            if let Some(left_out) = self.0.dropped_tools.admit() {
                tracing::warn!(event = "tool_dropped", link = self.link(), tool = %clean(name), why = %clean(why), left_out);
            }
        }
    }

    /// The tool list, the catalogue on disk, a result file or the run record has a problem; `what` says which. All
    /// share one event name, which readers of logs know.
    pub fn trouble_with(&self, what: &'static str, detail: &str) {
        if let Some(left_out) = self.0.troubles.admit() {
            tracing::warn!(event = "catalogue_trouble", link = self.link(), what, detail = %clean(detail), left_out);
        }
    }

    /// Our code failed to read a message of the editor; `what` says which part of it. The message is lost.
    pub fn message_misread(&self, what: &'static str) {
        if let Some(left_out) = self.0.troubles.admit() {
            tracing::error!(event = "message_misread", link = self.link(), what, left_out);
        }
    }

    /// A line could not be added to the audit file.
    pub fn audit_failed(&self, trouble: &str) {
        tracing::warn!(event = "audit_failed", trouble = %clean(trouble));
    }

    /// A file of the project has a problem.
    pub fn project_problem(&self, problem: &str) {
        if let Some(left_out) = self.0.project_problems.admit() {
            tracing::warn!(event = "project_problem", link = self.link(), problem = %clean(problem), left_out);
        }
    }
}
