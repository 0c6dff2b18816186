//! `holdfast batch`: the calls of a file, one after the other.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::arguments::{self, Given};
use super::call::outcome::{Outcome, ran};
use super::call::shown::Shown;
use super::call::{ask, gone_before, patient, prepared, refuses_all, with_schema};
use super::gateway_args::{EditorArgs, HubMode, seconds};
use super::one_shot::{self, OneShot, Wish};
use super::{Exit, output};
use crate::config::Config;
use crate::fsm::registry::Source;
use crate::limits::commands::{BATCH_CALLS_MAX, BATCH_MAX_BYTES, BATCH_MISTAKES_TOLD};
use crate::limits::{CALL_TIMEOUT, CALL_TIMEOUT_MAX};
use crate::protocol::mcp::{Audience, GatewayTool};
use crate::protocol::text::clean;

#[derive(Debug, Clone, Args)]
pub struct BatchArgs {
    /// The file with the calls, or - for stdin
    ///
    /// Each line is one call: what would follow `holdfast call` in a POSIX shell (the tool and its arguments, with quotes and backslashes as there, also on Windows), or a JSON object
    /// {"tool":NAME,"arguments":{...}}. Empty lines, and lines that begin with #, mean nothing.
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Print how each call ended as one line of JSON, as `holdfast call --json` does, with its line
    #[arg(long = "json", id = "json_output")]
    json: bool,
    /// Longest wait for each answer, in seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = CALL_TIMEOUT.as_secs(), value_parser = |text: &str| seconds(text, 1..=CALL_TIMEOUT_MAX.as_secs()))]
    timeout: u64,
    /// Whether the calls go over a hub
    #[arg(long, value_name = "WHEN", env = "HOLDFAST_HUB", value_enum, default_value_t)]
    hub: HubMode,
    #[command(flatten)]
    editor: EditorArgs,
}

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    tool: String,
    given: Given,
}

pub fn run(arguments: &BatchArgs) -> ExitCode {
    let text = match arguments::file_or_stdin(&arguments.file) {
        Ok(text) => text,
        Err(fix) => return mistaken(&[fix]).into(),
    };
    let steps = match steps(&text) {
        Ok(steps) => steps,
        Err(mistakes) => return mistaken(&mistakes).into(),
    };
    one_shot::run(&arguments.editor, |config| play(arguments, steps, config))
}

fn mistaken(mistakes: &[String]) -> Exit {
    for mistake in mistakes.iter().take(BATCH_MISTAKES_TOLD) {
        output::complain(&format!("holdfast batch: {}.", mistake.trim_end_matches('.')));
    }
    if let Some(more @ 1..) = mistakes.len().checked_sub(BATCH_MISTAKES_TOLD) {
        output::complain(&format!("holdfast batch: {more} more."));
    }
    output::complain("holdfast batch: Nothing was sent to Unity.");
    Exit::Usage
}

/// Reads every line, before any call is made.
///
/// # Errors
/// Every mistake, with its line and the fix.
fn steps(text: &str) -> Result<Vec<Step>, Vec<String>> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let meant =
        lines.map(|(at, line)| (at + 1, line.trim())).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (mut steps, mut mistakes) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for (line, text) in meant {
        if steps.len() + mistakes.len() == BATCH_CALLS_MAX {
            mistakes.push(format!("line {line}: {BATCH_CALLS_MAX} calls are the most; split the file"));
            break;
        }
        match step(text) {
            Ok((tool, given)) => {
                bytes += given.bytes();
                steps.push(Step { line, tool, given });
            }
            Err(mistake) => mistakes.push(format!("line {line}: {mistake}")),
        }
        if bytes > BATCH_MAX_BYTES {
            mistakes.push(format!(
                "line {line}: all arguments together have more than {BATCH_MAX_BYTES} bytes; split the file"
            ));
            break;
        }
    }
    if mistakes.is_empty() { Ok(steps) } else { Err(mistakes) }
}

fn step(line: &str) -> Result<(String, Given), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Said<'a> {
        tool: String,
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }
    let (tool, words) = if line.starts_with(['{', '[']) {
        let said: Said<'_> = serde_json::from_str(line)
            .map_err(|error| format!("it is no {{\"tool\":NAME,\"arguments\":{{...}}}} ({error})"))?;
        (said.tool, said.arguments.map(|arguments| arguments.get().to_owned()).into_iter().collect())
    } else {
        let words = shlex::split(line).ok_or("a quote in it has no end")?;
        let (tool, words) = words.split_first().ok_or("it names no tool")?;
        (tool.clone(), words.to_vec())
    };
    if words.iter().any(|word: &String| word == "-") {
        return Err("- (stdin) is for `holdfast call` alone; write the arguments, or @FILE".to_owned());
    }
    if let Some(flag) = words.iter().find(|word| word.starts_with("--")) {
        return Err(format!("`{flag}` is no argument of a tool; flags stand behind `holdfast batch`"));
    }
    prepared(&tool, &words).map(|given| (tool, given))
}

async fn play(arguments: &BatchArgs, steps: Vec<Step>, config: Config) -> Exit {
    let shown = |line: usize, command: &'static str| Shown {
        command,
        json: arguments.json,
        line: Some(line),
        out: None,
        is_kept: None,
    };
    if steps.iter().any(|step| refuses_all(&config, &step.tool)) {
        return Exit::Usage;
    }
    let Some(first) = steps.first() else {
        output::complain("holdfast batch: there is no call in it, so there is nothing to do.");
        return Exit::Ok;
    };
    let wish = Wish { hub: Some(arguments.hub), records: true };
    let mut one_shot = match OneShot::open(patient(config, arguments.timeout), wish).await {
        Ok(one_shot) => one_shot,
        Err(gone) => return shown(first.line, "holdfast batch").show(&gone_before(&first.tool, gone)),
    };
    // The arguments of every line are made before the first call: a mistake in the last one costs nothing.
    let (mut made, mut mistakes) = (Vec::new(), Vec::new());
    let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
    for Step { line, tool, given } in steps {
        if let Some(error) = unknown_tool(&one_shot, &tool) {
            mistakes.push(format!("line {line}: {}", clean(&error)));
            continue;
        }
        match with_schema(&mut one_shot, &tool, given).await {
            Ok(json) => made.push((line, tool, json)),
            Err(mistake) => mistakes.push(format!("line {line}: {mistake}")),
        }
    }
    let exit = if mistakes.is_empty() {
        in_order(&mut one_shot, made, |line| shown(line, "holdfast batch")).await
    } else {
        mistaken(&mistakes)
    };
    one_shot.close().await;
    exit
}

/// Returns why there is no such tool, if the editor's own list says so.
fn unknown_tool(one_shot: &OneShot, tool: &str) -> Option<String> {
    let published = one_shot.parts.seat(&one_shot.parts.client).link().published();
    let is_known = GatewayTool::from_name(tool).is_some() || published.catalogue.find(tool).is_some();
    let is_unknown = published.source == Source::Live && !is_known;
    is_unknown.then(|| published.catalogue.unknown_tool(tool, Audience::Person).message)
}

/// Makes the calls until one does not end well. Says of each line whether it ran.
async fn in_order(
    one_shot: &mut OneShot,
    calls: Vec<(usize, String, String)>,
    shown: impl Fn(usize) -> Shown<'static>,
) -> Exit {
    let is_kept = one_shot.parts.links.hub().is_some();
    let mut calls = calls.into_iter();
    while let Some((line, tool, json)) = calls.next() {
        let outcome: Outcome = ask(one_shot, &tool, &json, None).await;
        let exit = Shown { is_kept: Some(is_kept), ..shown(line) }.show(&outcome);
        let tool = clean(&tool);
        output::complain(&format!(
            "holdfast batch: line {line}: {tool}: {} (exit code {})",
            match ran(exit) {
                "yes" if exit == Exit::Failed => "it ran, and failed",
                "yes" => "it ran",
                "no" => "it did not run",
                _ => "it may have run",
            },
            exit as u8
        ));
        if exit != Exit::Ok {
            let left: Vec<String> = calls.map(|(line, ..)| line.to_string()).collect();
            if !left.is_empty() {
                output::complain(&format!(
                    "holdfast batch: it stops here. Of the lines after that nothing was sent: {}.",
                    left.join(", ")
                ));
            }
            return exit;
        }
    }
    Exit::Ok
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_words_of_a_call_or_json() {
        let text = "\u{feff}# what follows\n\nget-logs LogType=Error\r\n  echo '{\"text\": \"a b\"}'\n{\"tool\":\"compile\"}\n";
        let read: Vec<_> = steps(text).unwrap().into_iter().map(|step| (step.line, step.tool)).collect();
        assert_eq!(read, [(3, "get-logs".to_owned()), (4, "echo".to_owned()), (5, "compile".to_owned())]);
        assert_eq!(step("echo '{\"text\": \"a b\"}'").unwrap().1, Given::Json("{\"text\": \"a b\"}".to_owned()));
        let json = "{\"tool\":\"echo\",\"arguments\":{\"text\":\"a = b\"}}";
        assert_eq!(step(json).unwrap().1, Given::Json("{\"text\":\"a = b\"}".to_owned()));
        assert_eq!(step("compile").unwrap().1, Given::Json("{}".to_owned()));
    }

    #[test]
    fn every_mistake_is_told_with_its_line() {
        let text = "echo 'a\n\n{\"tool\":1}\n{\"tool\":\"x\",\"args\":{}}\necho -\necho --json\n'' a=b\necho [1]\nholdfast_status x=1\n";
        let mistakes = steps(text).unwrap_err();
        let says =
            ["quote", "no {\"tool\"", "unknown field", "stdin", "--json", "empty", "JSON object", "holdfast_status"];
        assert_eq!(mistakes.len(), says.len(), "{mistakes:?}");
        for ((mistake, says), line) in mistakes.iter().zip(says).zip([1, 3, 4, 5, 6, 7, 8, 9]) {
            let is_named = mistake.starts_with(&format!("line {line}: "));
            assert!(is_named && (mistake.contains(says) || says == "holdfast_status"), "{mistake}");
        }
        let many = "compile\n".repeat(BATCH_CALLS_MAX + 1);
        assert!(steps(&many).unwrap_err()[0].contains("split the file"));
        let wrong = "'\n".repeat(100 * BATCH_CALLS_MAX);
        assert!(steps(&wrong).unwrap_err().len() <= BATCH_CALLS_MAX + 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.json");
        std::fs::write(&path, format!("{{\"text\":\"{}\"}}", "x".repeat(8 << 20))).unwrap();
        let large = format!("echo '@{}'\n", path.display()).repeat(20);
        assert!(steps(&large).unwrap_err()[0].contains("together"));
    }
}
