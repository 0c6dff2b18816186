//! `holdfast doctor`: lists what is wrong, how sure that is, and how to fix it.

mod checks;
mod client_table;
mod clients;
mod finding;
mod listed;
mod state;
mod unity_package;
mod wsl;

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};

use super::gateway_args::EditorArgs;
use super::output::{Tone, toned};
use super::{Exit, complete, one_shot, output};
use crate::config::Config;
pub(super) use checks::variables;
use finding::{Finding, Level, Sure};
use listed::{HIDDEN, RULES};

#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show what is known of AI clients instead
    ///
    /// And what is done for each; with NAME all of one, and where each fact comes from.
    #[arg(long, value_name = "NAME", num_args = 0..=1, add = ArgValueCandidates::new(complete::clients))]
    pub clients: Option<Option<String>>,
    /// Also show what is fine, and notes
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,
    #[command(flatten)]
    pub editor: EditorArgs,
}

pub fn run(arguments: &DoctorArgs) -> ExitCode {
    // `doctor` reports a project that cannot be used as a finding and goes on; other commands stop there.
    let (config, complaints) = arguments.editor.config();
    let (as_json, verbose) = (arguments.json, arguments.verbose);
    if let Some(named) = &arguments.clients {
        return client_table::show(named.as_deref(), &config, as_json).into();
    }
    one_shot::block_on(&arguments.editor, async move {
        let findings = checks::examine(&config, &complaints).await;
        report(&findings, as_json, verbose)
    })
}

/// Runs the checks, and returns the findings for programs.
pub(super) async fn examined(config: &Config, complaints: &[String]) -> Value {
    as_json(&checks::examine(config, complaints).await)
}

fn report(findings: &[Finding], for_programs: bool, verbose: bool) -> Exit {
    let problems = count(findings);
    if for_programs {
        output::json(&as_json(findings).to_string());
    } else {
        print(findings, problems, verbose);
    }
    if problems == 0 { Exit::Ok } else { Exit::Failed }
}

fn count(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.level == Level::Problem).count()
}

fn as_json(findings: &[Finding]) -> Value {
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
    let to_do = findings.iter().filter(|finding| finding.fix.is_some()).count();
    json!({
        "problems": count(findings),
        "to_do": to_do,
        "next": next(findings).map(|finding| &finding.fix),
        "findings": list,
    })
}

/// Returns the finding whose fix comes first: the first problem, else the first note that has a fix.
fn next(findings: &[Finding]) -> Option<&Finding> {
    let first = |level: Level| findings.iter().find(|finding| finding.level == level && finding.fix.is_some());
    first(Level::Problem).or_else(|| first(Level::Note))
}

/// Prints the things to do as one list under their count, then the notes, then one line about all that is fine, and the
/// next step.
fn print(findings: &[Finding], problems: usize, verbose: bool) {
    let (mut to_do, rest): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(|finding| finding.fix.is_some());
    // The first entry of the list is the next step.
    to_do.sort_by_key(|finding| finding.level != Level::Problem);
    output::line(&match (problems, to_do.len()) {
        (_, 0) => toned("No problem found.", Tone::Good),
        (0, 1) => toned("Nothing is broken; one thing is left to do.", Tone::Good),
        (0, many) => toned(&format!("Nothing is broken; {many} things are left to do."), Tone::Good),
        (1, 1) => toned("1 problem found.", Tone::Bad),
        (all, many) if all == many => toned(&format!("{many} problems found."), Tone::Bad),
        (_, many) => toned(&format!("{many} things to mend."), Tone::Bad),
    });
    let is_told = |finding: &Finding| [HIDDEN, RULES].contains(&finding.about);
    let shown = |finding: &&Finding| verbose || is_told(finding);
    for (at, finding) in to_do.iter().enumerate() {
        let number = if to_do.len() == 1 { "-".to_owned() } else { format!("{}.", at + 1) };
        let tone = if finding.level == Level::Problem { Tone::Bad } else { Tone::Plain };
        print_one(&toned(&format!("{number:3}"), tone), finding);
    }
    for finding in rest.iter().filter(|finding| shown(finding)) {
        let (mark, tone) = match finding.level {
            Level::Ok => ("ok ", Tone::Good),
            Level::Note | Level::Problem => ("   ", Tone::Plain),
        };
        print_one(&toned(mark, tone), finding);
    }
    let mut fine: Vec<&str> = Vec::new();
    for finding in rest.iter().filter(|finding| finding.level == Level::Ok) {
        if !fine.contains(&finding.about) && !to_do.iter().any(|one| one.about == finding.about) {
            fine.push(finding.about);
        }
    }
    let untold = rest.iter().filter(|finding| !shown(finding)).count();
    if !verbose && untold > 0 {
        let fine = if fine.is_empty() { String::new() } else { format!("Fine: {}. ", fine.join(", ")) };
        output::line("");
        output::hung("", &format!("{fine}`holdfast doctor -v` shows all that was looked at."));
    }
    // If there is only one fix, there is nothing to choose.
    if let [next, _, ..] = to_do.as_slice() {
        let fix = next.fix.as_deref().unwrap_or_default();
        // After a command, the fix may explain it or offer another way. That part was printed above.
        let step = fix.split_once("; ").filter(|(step, _)| step.starts_with("holdfast ")).map_or(fix, |(step, _)| step);
        output::hung(&toned("Next: ", Tone::Plain), step);
    }
}

fn print_one(mark: &str, finding: &Finding) {
    let likely = if finding.sure == Sure::Likely { " (likely)" } else { "" };
    output::hung(&format!("{mark} {:11}  ", finding.about), &format!("{}{likely}", finding.says));
    if let Some(fix) = &finding.fix {
        output::hung(&format!("{:17}-> ", ""), fix);
    }
}
