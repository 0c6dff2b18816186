//! `holdfast call`: one tool call for scripts and CI.

pub(super) mod arguments;
mod images;
pub(super) mod outcome;
pub(super) mod shown;

use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};

use super::gateway_args::{EditorArgs, HubMode, seconds};
use super::one_shot::{self, GatewayGone, OneShot, Wish};
use super::{Exit, complete, follow, output};
use crate::config::Config;
use crate::limits::commands::CALL_IDS_LOCKED_MAX;
use crate::limits::{CALL_TIMEOUT, CALL_TIMEOUT_MAX, CLAIM_PAUSE, PATIENCE_MARGIN};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::GatewayTool;
use crate::storage::call_ids;
use arguments::Given;
use outcome::{Outcome, Said};
use shown::Shown;

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
    /// Print how it ended, and the whole MCP result, as one line of JSON
    ///
    /// The members are the same however it ends: tool, call_id, verdict, cause, ran (yes, no, unknown), exit_code, result, error.
    #[arg(long = "json", id = "json_output")]
    pub json_output: bool,
    /// Write the images and sounds of the result to FILE
    ///
    /// Of several, the first to FILE and each other one to a name with its number, such as FILE-2.png. If FILE is a folder they get
    /// names of their own in it. A file that is there is overwritten.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// The call's id, a GUID that you made for this call
    ///
    /// An id is taken once. If it was given to a call before, nothing is sent: what became of that call is told, as by `holdfast
    /// result`. So a script that was killed may be run again. After exit code 2 or 3 the id is free again.
    #[arg(long, value_name = "ID", value_parser = |text: &str| CallId::parse(text).ok_or("it is no GUID"))]
    pub id: Option<CallId>,
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
    let given = prepared(&arguments.tool, &arguments.given);
    let is_own = arguments.id.is_some() && GatewayTool::from_name(&arguments.tool).is_some();
    let no_id =
        || Err("--id is for the editor's tools; holdfast's own change nothing, and may be called again".to_owned());
    let given = if is_own { no_id() } else { given };
    let given = match arguments.out.as_deref().and_then(images::no_place).map_or(given, Err) {
        Ok(given) => given,
        Err(fix) => return arguments.shown().show(&Outcome::mistake(&arguments.tool, &fix)).into(),
    };
    one_shot::run(&arguments.editor, |config| call(arguments, given, config))
}

/// Reads the arguments of a call, as far as that can be done before an editor is looked for.
///
/// # Errors
/// The mistake, with the fix.
pub(super) fn prepared(tool: &str, words: &[String]) -> Result<Given, String> {
    let given = of_own_tool(tool, arguments::read(words)?)?;
    refused_at_once(tool, &given).map_or(Ok(given), Err)
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

async fn call(arguments: &CallArgs, given: Given, config: Config) -> Exit {
    let shown = arguments.shown();
    if refuses_all(&config, &arguments.tool) {
        return Exit::Usage;
    }
    let state = config.state_dir.clone();
    let wish = Wish { hub: Some(arguments.hub), records: true };
    let mut one_shot = match OneShot::open(patient(config.clone(), arguments.timeout), wish).await {
        Ok(one_shot) => one_shot,
        Err(gone) => return shown.show(&gone_before(&arguments.tool, gone)),
    };
    if GatewayTool::from_name(&arguments.tool).is_some_and(|tool| tool != GatewayTool::WaitReady) {
        // All gateway tools except `holdfast_wait_ready` answer at once. The request `tools/list` is answered only when the
        // editor was reached or is not expected any more, so the gateway tool called after it describes the editor.
        let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
    }
    let json = match with_schema(&mut one_shot, &arguments.tool, given).await {
        Ok(json) => json,
        Err(fix) => {
            one_shot.close().await;
            return shown.show(&Outcome::mistake(&arguments.tool, &fix));
        }
    };
    let taken = match arguments.id {
        Some(id) => Some((id, take(state.as_deref(), id).await)),
        None => None,
    };
    match taken {
        Some((id, Ok(Taken::Before))) => {
            one_shot.close().await;
            output::complain(&format!(
                "holdfast call: the id {id} was given to a call before, so nothing was sent. What became of that call:"
            ));
            let longest = Duration::from_secs(arguments.timeout);
            return follow::result_of(id, Some(&arguments.tool), longest, shown, config).await;
        }
        Some((id, Err(why))) => {
            one_shot.close().await;
            let text = format!(
                "Nothing was sent to Unity now. The id {id} cannot be noted ({why}), so it is not known whether a call with it ran \
                 before. Look for that call's effect in Unity; a new id makes a new call."
            );
            return shown.show(&unknown(&arguments.tool, id, &text));
        }
        Some((_, Ok(Taken::Now))) | None => {}
    }
    let outcome = ask(&mut one_shot, &arguments.tool, &json, arguments.id).await;
    let is_kept = one_shot.parts.links.hub().is_some();
    let exit = Shown { is_kept: Some(is_kept), ..shown }.show(&outcome);
    if let (Some(id), Some(state)) = (arguments.id, &state) {
        note(state, id, &outcome);
    }
    one_shot.close().await;
    exit
}

/// Notes how the call of an id ended. Of one that may have run nothing is noted, since more may be known of it later.
fn note(state: &Path, id: CallId, outcome: &Outcome) {
    match outcome::ran(outcome.exit()) {
        "no" => call_ids::give_back(state, id),
        "yes" => {
            if let Err(error) = call_ids::keep(state, id, &outcome.json(None)) {
                output::complain(&format!(
                    "holdfast call: how it ended is not kept with its id ({error}); the id counts as given"
                ));
            }
        }
        _ => {}
    }
}

enum Taken {
    Now,
    Before,
}

/// Takes an id for a call.
async fn take(state: Option<&Path>, id: CallId) -> Result<Taken, String> {
    let state = state.ok_or("no state folder is known (--state-dir)")?;
    let until = Instant::now() + CALL_IDS_LOCKED_MAX;
    loop {
        match call_ids::take(state, id) {
            Ok(true) => return Ok(Taken::Now),
            Ok(false) => return Ok(Taken::Before),
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => sleep(CLAIM_PAUSE).await,
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Nothing was sent, and a call with that id may have run before.
fn unknown(tool: &str, id: CallId, text: &str) -> Outcome {
    let result = serde_json::json!({"content": [{"type": "text", "text": text}], "isError": true});
    let result = serde_json::value::to_raw_value(&result).unwrap_or_default();
    Outcome { id: Some(id), said: Said::Unknown(result), ..Outcome::mistake(tool, "") }
}

/// Whether a mistake in the configuration, which was printed with the others, may hide a rule about this tool.
pub(super) fn refuses_all(config: &Config, tool: &str) -> bool {
    let refuses = config.policy.refusal_of_all().is_some() && GatewayTool::from_name(tool).is_none();
    if refuses {
        output::complain(
            "holdfast call: while that mistake may hide a rule, no tool may be called. Nothing was sent to Unity.",
        );
    }
    refuses
}

/// No client is waiting that would give up earlier, so the answer may take the whole time: the margin, which the gateway subtracts
/// from a client's patience, is added to it here.
pub(super) fn patient(config: Config, seconds: u64) -> Config {
    Config { patience: Some(Duration::from_secs(seconds) + PATIENCE_MARGIN), ..config }
}

/// Makes the arguments' JSON. What pairs become follows from the tool's schema, which is there when the editor was reached.
///
/// # Errors
/// The mistake, with the fix.
pub(super) async fn with_schema(one_shot: &mut OneShot, tool: &str, given: Given) -> Result<String, String> {
    let pairs = match given {
        Given::Json(json) => return Ok(json),
        Given::Pairs(pairs) => pairs,
    };
    // The tool list is there when the editor was reached or is not expected any more.
    let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
    let catalogue = one_shot.parts.seat(&one_shot.parts.client).link().published().catalogue;
    arguments::object(&pairs, catalogue.find(tool).map(|entry| &entry.tool.input_schema))
}

/// Calls a tool. `id`: the call's id if it has one already. An id is said before anything is sent.
pub(super) async fn ask(one_shot: &mut OneShot, tool: &str, json: &str, id: Option<CallId>) -> Outcome {
    let mut last = String::new();
    let mut report = |message: &str| {
        if message != last {
            output::complain(&format!("holdfast: {message}"));
            message.clone_into(&mut last);
        }
    };
    let progress: Option<&mut dyn FnMut(&str)> = if std::io::stderr().is_terminal() { Some(&mut report) } else { None };
    let id = GatewayTool::from_name(tool).is_none().then(|| {
        let id = id.unwrap_or_else(|| CallId::from_random(one_shot.parts.env.host.random()));
        one_shot.parts.env.name_next_call(id);
        output::complain(&format!("holdfast: call id {id}"));
        id
    });
    let said = match one_shot.call(tool, json, progress).await {
        Ok(Ok(result)) => Said::Result(result),
        Ok(Err(error)) => Said::Refused(error),
        Err(gone) => Said::Gone(gone),
    };
    let (verdict, refused_there) = one_shot.parts.client.take_last_call().unzip();
    Outcome { tool: Some(tool.to_owned()), id, verdict, refused_there: refused_there.unwrap_or_default(), said }
}

/// The gateway ended before the call was made.
pub(super) fn gone_before(tool: &str, gone: GatewayGone) -> Outcome {
    Outcome { said: Said::Gone(gone), ..Outcome::mistake(tool, "") }
}

impl CallArgs {
    fn shown(&self) -> Shown<'_> {
        Shown { command: "holdfast call", json: self.json_output, line: None, out: self.out.as_deref(), is_kept: None }
    }
}
