//! `holdfast call`: one tool call for scripts and CI.

mod arguments;
mod images;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap_complete::ArgValueCandidates;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::gateway_args::{EditorArgs, HubMode, seconds};
use super::one_shot::{self, GatewayGone, OneShot, Wish};
use super::{Exit, complete, output};
use crate::config::Config;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::limits::{CALL_TIMEOUT, CALL_TIMEOUT_MAX, PATIENCE_MARGIN};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::GatewayTool;
use crate::protocol::text::nearest;
use arguments::Given;
use images::Images;

#[derive(Debug, Clone, Args)]
pub struct CallArgs {
    /// The tool's name, as `holdfast tools` shows it
    #[arg(add = ArgValueCandidates::new(complete::tools))]
    pub tool: String,
    /// The arguments: a JSON object (the text, @FILE, or - for stdin), or NAME=VALUE pairs
    ///
    /// NAME=VALUE gives what the tool takes there: a text, a number, true or false. NAME=@FILE gives what the file holds, as a text.
    /// NAME:=JSON gives any value. Without arguments: {}.
    #[arg(value_name = "ARGUMENTS")]
    pub given: Vec<String>,
    /// Print the whole MCP result as JSON
    #[arg(long = "json", id = "json_output")]
    pub json_output: bool,
    /// Write the images and sounds of the result to FILE
    ///
    /// Of several, the first to FILE and each other one to a name with its number, such as FILE-2.png. If FILE is a folder they get
    /// names of their own in it. A file that is there is overwritten.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Longest wait for the answer, in seconds
    ///
    /// A call that was sent is waited for two minutes at the most, or as long as its own TimeoutSeconds says.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = CALL_TIMEOUT.as_secs(), value_parser = |text: &str| seconds(text, 1..=CALL_TIMEOUT_MAX.as_secs()))]
    pub timeout: u64,
    /// Whether the call goes over a hub
    #[arg(long, value_name = "WHEN", env = "HOLDFAST_HUB", value_enum, default_value_t)]
    pub hub: HubMode,
    #[command(flatten)]
    pub editor: EditorArgs,
}

pub fn run(arguments: &CallArgs) -> ExitCode {
    let given = arguments::read(&arguments.given).and_then(|given| of_own_tool(&arguments.tool, given));
    let given = match given {
        Ok(given) => given,
        Err(fix) => return mistaken(&fix).into(),
    };
    if let Some(fix) = arguments.out.as_deref().and_then(images::no_place) {
        return mistaken(&fix).into();
    }
    if let Some(fix) = refused_at_once(&arguments.tool, &given) {
        return mistaken(&fix).into();
    }
    one_shot::run(&arguments.editor, |config| call(arguments, given, config))
}

/// Prints a mistake of the command line.
fn mistaken(fix: &str) -> Exit {
    output::complain(&format!("holdfast call: {}. Nothing was sent to Unity.", fix.trim_end_matches('.')));
    Exit::Usage
}

/// Makes the object of pairs for a tool of holdfast's own, whose schema is known.
fn of_own_tool(tool: &str, given: Given) -> Result<Given, String> {
    match (GatewayTool::from_name(tool), given) {
        (Some(own), Given::Pairs(pairs)) => {
            arguments::object(&pairs, Some(&own.definition().input_schema)).map(Given::Json)
        }
        (_, given) => Ok(given),
    }
}

/// Returns why a call is refused before any editor is looked for: it names no tool, or gives one of holdfast's own tools wrong
/// arguments.
fn refused_at_once(tool: &str, given: &Given) -> Option<String> {
    if tool.trim().is_empty() {
        return Some("the tool's name is empty; `holdfast tools` lists the names".to_owned());
    }
    let Given::Json(json) = given else { return None };
    let arguments: &RawValue = serde_json::from_str(json).ok()?;
    GatewayTool::from_name(tool)?.parse_arguments(arguments).err()
}

/// Returns the tool of holdfast's own that a misspelt name most likely means.
fn own_tool_meant(name: &str) -> Option<&'static str> {
    let own = GatewayTool::ALL.iter().map(|tool| tool.name());
    nearest(name, own).filter(|meant| name.starts_with("holdfast_") && *meant != name)
}

async fn call(arguments: &CallArgs, given: Given, config: Config) -> Exit {
    // The mistake itself was printed with the other problems of the configuration.
    if config.policy.refusal_of_all().is_some() && GatewayTool::from_name(&arguments.tool).is_none() {
        output::complain(
            "holdfast call: while that mistake may hide a rule, no tool may be called. Nothing was sent to Unity.",
        );
        return Exit::Usage;
    }
    // No client is waiting that would give up earlier, so the answer may take the whole time: the margin, which the gateway
    // subtracts from a client's patience, is added to it here.
    let patience = std::time::Duration::from_secs(arguments.timeout) + PATIENCE_MARGIN;
    let wish = Wish { hub: Some(arguments.hub), records: true };
    let mut one_shot = match OneShot::open(Config { patience: Some(patience), ..config }, wish).await {
        Ok(one_shot) => one_shot,
        Err(gone) => return ended(gone, None),
    };
    if GatewayTool::from_name(&arguments.tool).is_some_and(|tool| tool != GatewayTool::WaitReady) {
        // All gateway tools except `holdfast_wait_ready` answer at once. The request `tools/list` is answered only when the
        // editor was reached or is not expected any more, so the gateway tool called after it describes the editor.
        let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
    }
    let json = match given {
        Given::Json(json) => json,
        Given::Pairs(pairs) => {
            // The tool list is there when the editor was reached or is not expected any more.
            let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
            let catalogue = Arc::clone(&one_shot.parts.link().tools.published.borrow().catalogue);
            let schema = catalogue.find(&arguments.tool).map(|entry| &entry.tool.input_schema);
            match arguments::object(&pairs, schema) {
                Ok(json) => json,
                Err(fix) => {
                    one_shot.close().await;
                    return mistaken(&fix);
                }
            }
        }
    };
    let mut last = String::new();
    let mut report = |message: &str| {
        if message != last {
            output::complain(&format!("holdfast: {message}"));
            message.clone_into(&mut last);
        }
    };
    let progress: Option<&mut dyn FnMut(&str)> = if std::io::stderr().is_terminal() { Some(&mut report) } else { None };
    if GatewayTool::from_name(&arguments.tool).is_none() {
        let id = CallId::from_random(one_shot.parts.env.host.random());
        one_shot.parts.env.name_next_call(id);
        output::complain(&format!("holdfast: call id {id}"));
    }
    let answered = one_shot.call(&arguments.tool, &json, progress).await;
    // The verdict that the session was told. An unknown tool and a gateway tool leave none.
    let record = one_shot.parts.client.last_call();
    let is_kept = one_shot.parts.links.hub().is_some();
    let (verdict, refused_there) = record.unzip();
    let refused_there = refused_there.unwrap_or_default();
    let exit = match answered {
        Ok(Ok(result)) => tell(arguments, &result, verdict, refused_there, is_kept),
        Ok(Err(error)) => refused(arguments, &error),
        Err(gone) => ended(gone, verdict),
    };
    one_shot.close().await;
    exit
}

/// Prints a result and returns the exit code of its verdict. `refused_there`: the editor refused the call before it ran anything.
/// `is_kept`: a hub keeps a late result.
fn tell(arguments: &CallArgs, result: &RawValue, verdict: Option<Verdict>, refused_there: bool, is_kept: bool) -> Exit {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Result<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
        #[serde(default)]
        is_error: bool,
    }
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        text: Option<String>,
    }
    let Ok(Result { content, is_error }) = serde_json::from_str::<Result<'_>>(result.get()) else {
        return internal("the gateway's answer is no result of MCP; please report this");
    };
    let mut texts = Vec::new();
    let mut kept = arguments.out.as_deref().map(|out| Images::new(out, &arguments.tool));
    for block in content {
        if kept.as_mut().is_some_and(|kept| kept.keep(block)) {
            continue;
        }
        match serde_json::from_str::<Block>(block.get()) {
            Ok(Block { text: Some(text), .. }) => texts.push(text),
            Ok(Block { kind, text: None }) if !arguments.json_output => {
                let bytes = block.get().len();
                output::complain(&format!(
                    "holdfast call: a block of type \"{}\" with {bytes} bytes is left out; --out FILE writes \
                     it, --json prints it",
                    crate::protocol::text::clean(&kind)
                ));
            }
            _ => {}
        }
    }
    let text = texts.join("\n");
    if arguments.json_output {
        output::line(result.get());
    }
    if is_error {
        output::complain_as_is(&text);
    } else if !arguments.json_output {
        output::bytes(text.as_bytes());
        if !text.ends_with('\n') {
            output::bytes(b"\n");
        }
    }
    if output::lost() {
        // For every other verdict, stderr already says whether the tool ran: in the result's text above, or in the note on
        // `StillRunning` below.
        if let Some(Verdict::Ok | Verdict::ToolError) = verdict
            && !refused_there
        {
            output::complain(
                "holdfast call: The tool ran, and its result is lost: do not repeat the call for it, look for its effect in Unity.",
            );
        }
    }
    let unwritten = kept.is_some_and(|kept| !is_error && !kept.told());
    if verdict == Some(Verdict::StillRunning) && is_kept {
        output::complain(
            "holdfast call: the hub keeps the result for an hour: `holdfast result` with the id above fetches it.",
        );
    } else if verdict == Some(Verdict::StillRunning) {
        output::complain(
            "holdfast call: `holdfast result` with the id above says how it ended, if Unity's package keeps that. If not, look for its \
             effect in Unity, and give it longer next time (--timeout, or the tool's own TimeoutSeconds).",
        );
    }
    if let Some(Verdict::NotExecuted(cause)) = verdict
        && cause != Cause::UnknownTool
        && let Some(meant) = own_tool_meant(&arguments.tool)
    {
        output::complain(&format!("holdfast call: did you mean holdfast's own tool `{meant}`?"));
    }
    match verdict {
        Some(Verdict::ToolError) if refused_there => Exit::NotExecuted,
        Some(Verdict::Ok) | None if unwritten => Exit::Output,
        Some(verdict) => exit_of(verdict),
        // This is a gateway tool: the ledger has no verdict for it.
        None if is_error => Exit::Failed,
        None => Exit::Ok,
    }
}

pub(super) fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Ok => Exit::Ok,
        Verdict::ToolError => Exit::Failed,
        Verdict::NotExecuted(Cause::UnknownTool) => Exit::Usage,
        Verdict::NotExecuted(_) | Verdict::Cancelled => Exit::NotExecuted,
        Verdict::OutcomeUnknown(_) | Verdict::StillRunning => Exit::Unknown,
    }
}

/// Prints why the request itself was refused: the tool is unknown, or the arguments are not valid for any tool.
fn refused(arguments: &CallArgs, error: &RpcError) -> Exit {
    if arguments.json_output {
        output::line(&json!({"error": {"code": error.code, "message": error.message}}).to_string());
    }
    output::complain(&format!("holdfast call: {}.", error.message.trim_end_matches('.')));
    match error.code {
        // These are JSON-RPC's codes for a mistake of the caller.
        -32602..=-32600 => Exit::Usage,
        _ => Exit::Internal,
    }
}

/// Prints that the gateway ended before it answered. `call`: how the call ended, if it was taken.
fn ended(gone: GatewayGone, call: Option<Verdict>) -> Exit {
    let (fate, exit) = match (gone, call) {
        (GatewayGone::Failed, _) => return internal(&gone.to_string()),
        (GatewayGone::Interrupted, None | Some(Verdict::NotExecuted(_))) => {
            ("nothing was sent to Unity", Exit::NotExecuted)
        }
        (GatewayGone::Interrupted, Some(Verdict::OutcomeUnknown(_))) => {
            ("the call may have run, so look for its effect in Unity", Exit::Unknown)
        }
        (GatewayGone::Interrupted, Some(verdict)) => ("the call was sent to Unity", exit_of(verdict)),
    };
    output::complain(&format!("holdfast call: {gone}; {fate}."));
    exit
}

fn internal(what: &str) -> Exit {
    output::complain(&format!("holdfast call: {what}"));
    Exit::Internal
}

#[cfg(test)]
mod tests {
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
}
