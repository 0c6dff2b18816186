//! How a call of a command ended: its exit code, and the one JSON shape that every end has.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::Exit;
use crate::cli::one_shot::GatewayGone;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;

pub(in crate::cli) struct Outcome {
    /// The tool's name, if it is known.
    pub(in crate::cli) tool: Option<String>,
    /// The call's id. A tool of holdfast's own has none.
    pub(in crate::cli) id: Option<CallId>,
    /// The verdict that the session was told. An unknown tool and a tool of holdfast's own leave none.
    pub(in crate::cli) verdict: Option<Verdict>,
    /// Whether the editor refused the call before it ran anything.
    pub(in crate::cli) refused_there: bool,
    pub(in crate::cli) said: Said,
}

/// What was answered.
pub(in crate::cli) enum Said {
    /// The tool's result, or a text of holdfast's about the call.
    Result(Box<RawValue>),
    /// A text of holdfast's: the call may have run, and nobody knows why more is not known.
    Unknown(Box<RawValue>),
    /// The request itself was refused.
    Refused(RpcError),
    /// The gateway ended before it answered.
    Gone(GatewayGone),
    /// The command line is wrong, and nothing was asked.
    Mistake(String),
}

impl Outcome {
    pub(in crate::cli) fn mistake(tool: &str, fix: &str) -> Self {
        Self {
            tool: Some(tool.to_owned()),
            id: None,
            verdict: None,
            refused_there: false,
            said: Said::Mistake(fix.to_owned()),
        }
    }

    /// Reads the line that [`json`](Self::json) made of a call that ran. `None` if it is no such line.
    pub(in crate::cli) fn of_kept(line: &str, id: CallId) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kept {
            tool: String,
            call_id: CallId,
            result: Box<RawValue>,
        }
        let Kept { tool, call_id, result } = serde_json::from_str(line).ok()?;
        let verdict = if is_error(&result) { Verdict::ToolError } else { Verdict::Ok };
        (call_id == id).then_some(Self {
            tool: Some(tool),
            id: Some(id),
            verdict: Some(verdict),
            refused_there: false,
            said: Said::Result(result),
        })
    }

    pub(in crate::cli) fn exit(&self) -> Exit {
        match (&self.said, self.verdict) {
            (Said::Mistake(_), _) => Exit::Usage,
            (Said::Unknown(_), _) => Exit::Unknown,
            // These are JSON-RPC's codes for a mistake of the caller.
            (Said::Refused(error), _)
                if error.code == RpcError::PARSE_ERROR || (-32602..=-32600).contains(&error.code) =>
            {
                Exit::Usage
            }
            (Said::Refused(_) | Said::Gone(GatewayGone::Failed), _) => Exit::Internal,
            (Said::Gone(GatewayGone::Interrupted), None) => Exit::NotExecuted,
            (Said::Result(_), Some(Verdict::ToolError)) if self.refused_there => Exit::NotExecuted,
            (Said::Gone(GatewayGone::Interrupted) | Said::Result(_), Some(verdict)) => exit_of(verdict),
            (Said::Result(result), None) if is_error(result) => Exit::Failed,
            (Said::Result(_), None) => Exit::Ok,
        }
    }

    /// Returns the outcome as a line of JSON. docs/commands.md describes its members.
    pub(in crate::cli) fn json(&self, line: Option<usize>) -> String {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            line: Option<usize>,
            tool: Option<&'a str>,
            call_id: Option<CallId>,
            verdict: &'static str,
            cause: Option<&'static str>,
            ran: &'static str,
            exit_code: u8,
            result: Option<&'a RawValue>,
            error: Option<Fault<'a>>,
        }
        #[derive(Serialize)]
        struct Fault<'a> {
            code: Option<i64>,
            message: &'a str,
        }
        let exit = self.exit();
        let (result, error) = match &self.said {
            Said::Result(result) | Said::Unknown(result) => (Some(&**result), None),
            Said::Refused(error) => (None, Some((Some(error.code), error.message.clone()))),
            Said::Gone(gone) => (None, Some((None, gone.to_string()))),
            Said::Mistake(fix) => (None, Some((None, fix.clone()))),
        };
        let verdict = match (self.verdict, exit) {
            (Some(verdict), _) if !self.refused_there => verdict.label(),
            (_, Exit::Ok) => "ok",
            (_, Exit::Failed) => "tool_error",
            (_, Exit::Usage | Exit::NotExecuted) => "not_executed",
            _ => "outcome_unknown",
        };
        let shape = Shape {
            line,
            tool: self.tool.as_deref(),
            call_id: self.id,
            verdict,
            cause: self.verdict.and_then(Verdict::cause),
            ran: ran(exit),
            exit_code: exit as u8,
            result,
            error: error.as_ref().map(|(code, message)| Fault { code: *code, message }),
        };
        serde_json::to_string(&shape).unwrap_or_default()
    }
}

/// Whether a call with this exit code ran.
pub(in crate::cli) fn ran(exit: Exit) -> &'static str {
    match exit {
        Exit::Ok | Exit::Failed | Exit::Output => "yes",
        Exit::Usage | Exit::NotExecuted => "no",
        Exit::Unknown | Exit::Internal | Exit::NoResources => "unknown",
    }
}

pub(in crate::cli) fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Ok => Exit::Ok,
        Verdict::ToolError => Exit::Failed,
        Verdict::NotExecuted(Cause::UnknownTool) => Exit::Usage,
        Verdict::NotExecuted(_) | Verdict::Cancelled => Exit::NotExecuted,
        Verdict::OutcomeUnknown(_) | Verdict::StillRunning => Exit::Unknown,
    }
}

pub(in crate::cli) fn is_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Flag {
        #[serde(rename = "isError", default)]
        is_error: bool,
    }
    serde_json::from_str::<Flag>(result.get()).is_ok_and(|flag| flag.is_error)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fsm::cause::Loss;

    #[test]
    fn every_verdict_has_the_exit_code_of_the_table() {
        let codes = [
            (Verdict::Ok, 0),
            (Verdict::ToolError, 1),
            (Verdict::NotExecuted(Cause::UnknownTool), 2),
            (Verdict::NotExecuted(Cause::NotRunning), 3),
            (Verdict::Cancelled, 3),
            (Verdict::OutcomeUnknown(Loss::Reload), 4),
            (Verdict::StillRunning, 4),
        ];
        for (verdict, code) in codes {
            assert_eq!(exit_of(verdict) as u8, code, "{verdict:?}");
        }
    }

    #[test]
    fn every_end_has_one_shape() {
        let raw = |json: Value| serde_json::from_value(json).unwrap();
        let result = |json: Value| Said::Result(raw(json));
        let good = || result(json!({"content": []}));
        let bad = || result(json!({"content": [], "isError": true}));
        let refused = |code| Said::Refused(RpcError { code, message: "no".to_owned(), data: None });
        for (said, verdict, refused_there, label, ran, code) in [
            (good(), Some(Verdict::Ok), false, "ok", "yes", 0),
            (good(), None, false, "ok", "yes", 0),
            (bad(), None, false, "tool_error", "yes", 1),
            (bad(), Some(Verdict::ToolError), false, "tool_error", "yes", 1),
            (bad(), Some(Verdict::ToolError), true, "not_executed", "no", 3),
            (bad(), Some(Verdict::NotExecuted(Cause::NotRunning)), false, "not_executed", "no", 3),
            (bad(), Some(Verdict::OutcomeUnknown(Loss::Reload)), false, "outcome_unknown", "unknown", 4),
            (bad(), Some(Verdict::StillRunning), false, "still_running", "unknown", 4),
            (refused(-32602), None, false, "not_executed", "no", 2),
            (refused(-32603), None, false, "outcome_unknown", "unknown", 70),
            (Said::Gone(GatewayGone::Interrupted), None, false, "not_executed", "no", 3),
            (Said::Gone(GatewayGone::Failed), None, false, "outcome_unknown", "unknown", 70),
            (Said::Mistake("x".to_owned()), None, false, "not_executed", "no", 2),
            (Said::Unknown(raw(json!({"content": []}))), None, false, "outcome_unknown", "unknown", 4),
        ] {
            let outcome = Outcome { tool: Some("t".to_owned()), id: None, verdict, refused_there, said };
            let json: Value = serde_json::from_str(&outcome.json(None)).unwrap();
            let seen = (json["verdict"].as_str().unwrap(), json["ran"].as_str().unwrap(), json["exit_code"].as_u64());
            assert_eq!(seen, (label, ran, Some(code)), "{verdict:?}");
            let members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
            let all = ["call_id", "cause", "error", "exit_code", "ran", "result", "tool", "verdict"];
            let sorted: std::collections::BTreeSet<_> = members.into_iter().collect();
            assert_eq!(sorted, all.into_iter().collect());
            assert!(json["result"].is_null() != json["error"].is_null());
        }
    }
}
