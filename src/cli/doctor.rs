//! `holdfast doctor`: lists what is wrong, how sure that is, and how to fix it.

mod checks;
mod client_table;
mod clients;
mod finding;
mod unity_package;
mod wsl;

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::gateway_args::EditorArgs;
use super::output::{Tone, toned};
use super::{Exit, one_shot, output};
use finding::{Finding, Level, Sure};

/// Flags of `holdfast doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Show what is known of AI clients, and what is done for each, instead; with NAME all of one, and where each fact comes from.
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub clients: Option<Option<String>>,
    /// Which editor.
    #[command(flatten)]
    pub editor: EditorArgs,
}

/// Runs the checks and prints the findings.
pub fn run(arguments: &DoctorArgs) -> ExitCode {
    // `doctor` reports a project that cannot be used as a finding and goes on; other commands stop there.
    let (config, complaints) = arguments.editor.config();
    let as_json = arguments.json;
    if let Some(named) = &arguments.clients {
        return client_table::show(named.as_deref(), &config, as_json).into();
    }
    one_shot::block_on(&arguments.editor, async move {
        let findings = checks::examine(&config, &complaints).await;
        report(&findings, as_json)
    })
}

fn report(findings: &[Finding], as_json: bool) -> Exit {
    let problems = findings.iter().filter(|finding| finding.level == Level::Problem).count();
    if as_json {
        let list: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "about": finding.about,
                    "level": <&str>::from(finding.level),
                    "sure": <&str>::from(finding.sure),
                    "says": finding.says,
                    "mend": finding.fix,
                })
            })
            .collect();
        output::line(&json!({"problems": problems, "findings": list}).to_string());
    } else {
        for finding in findings {
            print(finding);
        }
        output::line(&match problems {
            0 => toned("No problem found.", Tone::Good),
            1 => toned("1 problem found.", Tone::Bad),
            many => toned(&format!("{many} problems found."), Tone::Bad),
        });
    }
    if problems == 0 { Exit::Ok } else { Exit::Failed }
}

fn print(finding: &Finding) {
    let tone = match finding.level {
        Level::Ok => Tone::Good,
        Level::Note => Tone::Plain,
        Level::Problem => Tone::Bad,
    };
    let level = toned(&format!("{:7}", <&str>::from(finding.level)), tone);
    let likely = if finding.sure == Sure::Likely { " (likely)" } else { "" };
    output::line(&format!("{level}  {:11}  {}{likely}", finding.about, finding.says));
    if let Some(fix) = &finding.fix {
        output::line(&format!("{:7}  {:11}  -> {fix}", "", ""));
    }
}
