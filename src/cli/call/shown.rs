//! Prints how a call ended: for people and scripts, or as JSON.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::images::Images;
use super::outcome::{self, Outcome, Said};
use crate::cli::one_shot::GatewayGone;
use crate::cli::{Exit, output};
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::protocol::mcp::GatewayTool;
use crate::protocol::text::nearest;

/// Returns the tool of holdfast's own that a misspelt name most likely means.
fn own_tool_meant(name: &str) -> Option<&'static str> {
    let own = GatewayTool::ALL.iter().map(|tool| tool.name());
    nearest(name, own).filter(|meant| name.starts_with("holdfast_") && *meant != name)
}

/// How an outcome is printed.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Shown<'a> {
    /// The command, before each message.
    pub(in crate::cli) command: &'a str,
    pub(in crate::cli) json: bool,
    /// The line of a file on which the call stands.
    pub(in crate::cli) line: Option<usize>,
    /// Where images go.
    pub(in crate::cli) out: Option<&'a Path>,
    /// Whether a hub keeps a late result; `None`: nothing is said of it.
    pub(in crate::cli) is_kept: Option<bool>,
}

impl Shown<'_> {
    /// Prints an outcome, and returns its exit code.
    pub(in crate::cli) fn show(self, outcome: &Outcome) -> Exit {
        let exit = outcome.exit();
        if self.json {
            output::json(&outcome.json(self.line));
        }
        match &outcome.said {
            Said::Result(result) | Said::Unknown(result) => self.show_result(outcome, result, exit),
            Said::Refused(error) => {
                self.complain(&format!("{}.", error.message.trim_end_matches('.')));
                exit
            }
            Said::Mistake(fix) => {
                self.complain(&format!("{}. Nothing was sent to Unity.", fix.trim_end_matches('.')));
                exit
            }
            Said::Gone(GatewayGone::Failed) => {
                self.complain(&GatewayGone::Failed.to_string());
                exit
            }
            Said::Gone(gone) => {
                let fate = match outcome.verdict {
                    None | Some(Verdict::NotExecuted(_)) => "nothing was sent to Unity",
                    Some(Verdict::OutcomeUnknown(_)) => "the call may have run, so look for its effect in Unity",
                    Some(_) => "the call was sent to Unity",
                };
                self.complain(&format!("{gone}; {fate}."));
                exit
            }
        }
    }

    fn complain(self, what: &str) {
        // A name in it may have any characters.
        output::complain(&format!("{}: {}", self.command, what.replace('\n', "\\n")));
    }

    fn show_result(self, outcome: &Outcome, result: &RawValue, exit: Exit) -> Exit {
        #[derive(Deserialize)]
        struct Content<'a> {
            #[serde(borrow)]
            content: Vec<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Block {
            #[serde(rename = "type")]
            kind: String,
            text: Option<String>,
        }
        let Ok(Content { content }) = serde_json::from_str::<Content<'_>>(result.get()) else {
            self.complain("the gateway's answer is no result of MCP; please report this");
            return Exit::Internal;
        };
        let tool = outcome.tool.as_deref().unwrap_or_default();
        let verdict = outcome.verdict;
        // stdout has results alone: what holdfast says in the place of one is for people.
        let failed = exit != Exit::Ok;
        let mut texts = Vec::new();
        let mut kept = self.out.map(|out| Images::new(out, tool));
        for block in content {
            if kept.as_mut().is_some_and(|kept| kept.keep(block)) {
                continue;
            }
            match serde_json::from_str::<Block>(block.get()) {
                Ok(Block { text: Some(text), .. }) => texts.push(text),
                Ok(Block { kind, text: None }) if !self.json => {
                    self.complain(&format!(
                        "a block of type \"{}\" with {} bytes is left out; `holdfast call --out FILE` writes it, --json prints it",
                        crate::protocol::text::clean(&kind),
                        block.get().len()
                    ));
                }
                _ => {}
            }
        }
        let text = texts.join("\n");
        if failed {
            output::complain_as_is(&text);
        } else if !self.json {
            output::text(&text);
        }
        // For every other verdict, stderr already says whether the tool ran: in the result's text above, or in the note on
        // `StillRunning` below.
        if output::lost() && outcome::ran(exit) == "yes" && verdict.is_some() {
            self.complain(
                "The tool ran, and its result is lost: do not repeat the call for it, look for its effect in Unity.",
            );
        }
        if let (Some(Verdict::StillRunning), Some(is_kept)) = (verdict, self.is_kept) {
            self.complain(if is_kept {
                "the hub keeps the result for an hour: `holdfast result` with the id above fetches it."
            } else {
                "`holdfast result` with the id above says how it ended, if Unity's package keeps that. If not, look for its effect in \
                 Unity, and give it longer next time (--timeout, or the tool's own TimeoutSeconds)."
            });
        }
        if let Some(Verdict::NotExecuted(cause)) = verdict
            && cause != Cause::UnknownTool
            && let Some(meant) = own_tool_meant(tool)
        {
            self.complain(&format!("did you mean holdfast's own tool `{meant}`?"));
        }
        let is_unwritten = kept.is_some_and(|kept| !failed && !kept.told());
        if exit == Exit::Ok && is_unwritten { Exit::Output } else { exit }
    }
}
