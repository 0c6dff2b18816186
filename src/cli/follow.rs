//! `holdfast wait` and `holdfast result`: what comes before a call, and what comes after one whose end was not heard.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};

use super::call::outcome::{Outcome, Said, is_error};
use super::call::shown::Shown;
use super::gateway_args::{EditorArgs, seconds};
use super::one_shot::{self, GatewayGone, OneShot, Wish};
use super::{Exit, output};
use crate::config::Config;
use crate::core::calls::{Lookup, Record};
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::limits::commands::{COMMAND_LOOK_EVERY, RESULT_SOUGHT};
use crate::limits::{CALL_TIMEOUT_MAX, CALLS_LISTED_MAX, PATIENCE_MARGIN, WAIT_READY_MAX};
use crate::link::Port;
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::GatewayTool;
use crate::storage::call_ids;

/// What `holdfast wait` waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Until {
    /// Unity takes calls.
    #[default]
    Ready,
    /// Unity takes calls, and neither compiles, imports nor works on a call.
    Idle,
}

#[derive(Debug, Clone, Args)]
pub struct WaitArgs {
    /// What is waited for
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    until: Until,
    /// Longest wait, in seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = WAIT_READY_MAX.as_secs(), value_parser = |text: &str| seconds(text, 1..=CALL_TIMEOUT_MAX.as_secs()))]
    timeout: u64,
    #[command(flatten)]
    editor: EditorArgs,
}

#[derive(Debug, Clone, Args)]
pub struct ResultArgs {
    /// The call's id, as `holdfast call` or an answer names it
    id: String,
    /// Print how it ended, and the whole MCP result, as one line of JSON, as `holdfast call --json` does
    #[arg(long)]
    json: bool,
    /// How long the outcome is looked for, in seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = RESULT_SOUGHT.as_secs(), value_parser = |text: &str| seconds(text, 1..=CALL_TIMEOUT_MAX.as_secs()))]
    timeout: u64,
    #[command(flatten)]
    editor: EditorArgs,
}

pub fn wait(arguments: &WaitArgs) -> ExitCode {
    one_shot::run(&arguments.editor, |config| until_ready(arguments, config))
}

pub fn result(arguments: &ResultArgs) -> ExitCode {
    let Some(id) = CallId::parse(&arguments.id) else {
        output::complain(
            "holdfast result: that is no id of a call; it is a GUID, as `holdfast call` names it on stderr",
        );
        return Exit::Usage.into();
    };
    let longest = Duration::from_secs(arguments.timeout);
    let shown = Shown { command: "holdfast result", json: arguments.json, line: None, out: None, is_kept: None };
    one_shot::run(&arguments.editor, |config| result_of(id, None, longest, shown, config))
}

async fn until_ready(arguments: &WaitArgs, config: Config) -> Exit {
    let end = Instant::now() + Duration::from_secs(arguments.timeout);
    let config = Config { patience: Some(Duration::from_secs(arguments.timeout) + PATIENCE_MARGIN), ..config };
    let waited = async {
        let mut one_shot = OneShot::open(config, Wish::default()).await?;
        let (text, is_there) = loop {
            let left = end.saturating_duration_since(Instant::now()).min(WAIT_READY_MAX);
            let wish = format!(r#"{{"timeout_seconds":{}}}"#, left.as_secs_f64());
            let answer = one_shot.call(GatewayTool::WaitReady.name(), &wish, None).await?;
            let (text, is_ready) = match answer {
                Ok(answer) => (text_of(&answer), !is_error(&answer)),
                Err(error) => (error.message, false),
            };
            let is_there = is_ready
                && (arguments.until == Until::Ready || is_idle(&one_shot.parts.seat(&one_shot.parts.client).link()));
            if is_there || Instant::now() >= end {
                break (text, is_there);
            }
            sleep(COMMAND_LOOK_EVERY.min(end.saturating_duration_since(Instant::now()))).await;
        };
        one_shot.close().await;
        Ok::<_, GatewayGone>((text, is_there))
    };
    match waited.await {
        Ok((text, true)) => {
            output::line(&text);
            Exit::Ok
        }
        Ok((text, false)) => {
            output::complain_as_is(&text);
            Exit::NotExecuted
        }
        Err(gone) => ended("wait", gone),
    }
}

/// Whether nothing shows that the ready editor has something to do.
fn is_idle(link: &Port) -> bool {
    let told = link.status();
    let is_calm = |heartbeat: Heartbeat, at: Instant| {
        let calm = Heartbeat { compile_errors: false, ..heartbeat };
        heartbeat.running == 0 && user_text::hindered(calm, at.elapsed()).is_none()
    };
    told.busy_with.is_none() && told.picture.heartbeat.is_none_or(|(heartbeat, at)| is_calm(heartbeat, at))
}

/// Finds out what became of a call, prints it, and returns its exit code: that of the call itself, as `holdfast call` would have ended.
/// `tool`: the tool that is meant, if that is known.
pub(super) async fn result_of(
    id: CallId,
    tool: Option<&str>,
    longest: Duration,
    shown: Shown<'_>,
    config: Config,
) -> Exit {
    let end = Instant::now() + longest;
    let state = config.state_dir.clone();
    let noted = || Outcome::of_kept(&call_ids::kept(state.as_deref()?, id)?, id);
    let show_noted = |noted: Outcome| match (tool, noted.tool.as_deref()) {
        (Some(meant), Some(was)) if meant != was => {
            let fix = format!("the id {id} was given to a call of `{was}`; every call needs an id of its own");
            shown.show(&Outcome::mistake(meant, &fix))
        }
        _ => shown.show(&noted),
    };
    if let Some(noted) = noted() {
        return show_noted(noted);
    }
    let found = async {
        let mut one_shot = OneShot::open(config, Wish { records: true, ..Wish::default() }).await?;
        let wish = format!(r#"{{"call_id":"{id}"}}"#);
        let told = loop {
            // Of a call in a hub, only the hub's answer tells. The link of the project is known later than the session.
            let answer = one_shot.call(GatewayTool::Result.name(), &wish, None).await?;
            let link = one_shot.parts.seat(&one_shot.parts.client).link();
            let found = link.look_up(id);
            // The command that makes the call may end meanwhile.
            if let Some(noted) = noted() {
                break Told::Noted(noted);
            }
            let is_found = !matches!(found, Lookup::Unknown | Lookup::Open(_));
            if is_found || Instant::now() >= end {
                // It may have been found after the answer was made.
                let answer =
                    if is_found { one_shot.call(GatewayTool::Result.name(), &wish, None).await? } else { answer };
                let known = link.calls(CALLS_LISTED_MAX, None, None).map(|(known, _)| known).unwrap_or_default();
                break Told::Looked(Box::new((answer, found, known.into_iter().find(|record| record.id == id))));
            }
            sleep(COMMAND_LOOK_EVERY).await;
        };
        one_shot.close().await;
        Ok::<_, GatewayGone>(told)
    };
    match found.await {
        Ok(Told::Noted(noted)) => show_noted(noted),
        Ok(Told::Looked(looked)) => match *looked {
            (Ok(answer), found, record) => tell(id, answer, &found, record, shown),
            (Err(error), ..) => {
                output::complain(&format!("holdfast result: {}.", error.message.trim_end_matches('.')));
                Exit::Usage
            }
        },
        Err(gone) => ended("result", gone),
    }
}

/// What was found of a call: the answer, what the link knows, and its record.
type Looked = (Result<Box<RawValue>, RpcError>, Lookup, Option<Record>);

/// What is told of a call.
enum Told {
    /// How a call ended whose id was given by its command.
    Noted(Outcome),
    Looked(Box<Looked>),
}

fn tell(id: CallId, answer: Box<RawValue>, found: &Lookup, listed: Option<Record>, shown: Shown<'_>) -> Exit {
    let record = match found {
        Lookup::Open(record) | Lookup::Ended(record) | Lookup::Expired(record) => Some(record.clone()),
        Lookup::Kept(_) | Lookup::Unknown => listed,
    };
    let verdict = match (found, record.as_ref().and_then(|record| record.verdict)) {
        (Lookup::Open(_), _) => Some(Verdict::StillRunning),
        // The result came late: the client had another answer before.
        (Lookup::Kept(_), _) if is_error(&answer) => Some(Verdict::ToolError),
        (Lookup::Kept(_), _) => Some(Verdict::Ok),
        (_, verdict) => verdict,
    };
    shown.show(&Outcome {
        tool: record.as_ref().map(|record| record.tool.to_string()),
        id: Some(id),
        verdict,
        refused_there: record.is_some_and(|record| record.unrun),
        // Without a verdict, no record says that it did not run.
        said: if verdict.is_some() { Said::Result(answer) } else { Said::Unknown(answer) },
    })
}

fn text_of(answer: &RawValue) -> String {
    let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
    let blocks = answer["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn ended(command: &str, gone: GatewayGone) -> Exit {
    output::complain(&format!("holdfast {command}: {gone}"));
    if gone == GatewayGone::Interrupted { Exit::NotExecuted } else { Exit::Internal }
}
