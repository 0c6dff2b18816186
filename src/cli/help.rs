//! The help of the program: the commands in groups, and a short form that fits on one screen. The text of `--version`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// The subcommands in the order in which a person meets them, under headings.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["setup", "unity", "doctor", "demo"]),
    ("Use", &["status", "tools", "wait", "call", "result", "logs"]),
    ("What AI clients start", &["serve", "hub"]),
    (REST, &["batch", "skill", "report", "dashboards", "completions", "fake-unity", "help"]),
];

/// The heading of the commands that few people need. The short form gives only their names.
const REST: &str = "More";

/// The text of `--version`: the version, with the commit and its day in a release.
pub static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    match (crate::telemetry::REVISION, option_env!("HOLDFAST_REVISION_DAY")) {
        (Some(commit), Some(day)) => format!("{version} ({commit} {day})"),
        (Some(commit), None) => format!("{version} ({commit})"),
        (None, _) => version.to_owned(),
    }
});

/// Returns the command with its help in the form that is asked for. Costs nothing if no help is asked for.
pub fn dressed(command: Command, words: &[OsString]) -> Command {
    let asks = |flag: &str| words.iter().any(|word| word == flag);
    match (asks("-h"), asks("--help") || words.get(1).is_some_and(|word| word == "help")) {
        (true, _) => brief(grouped(command, true)),
        (false, true) => quiet(grouped(command, false)),
        (false, false) => command,
    }
}

/// Lists the subcommands under headings. Leaves out the options of `serve`, because they are also options of the
/// program itself.
fn grouped(mut command: Command, short: bool) -> Command {
    command.build();
    let widest = GROUPS.iter().flat_map(|(_, group)| group.iter().map(|name| name.len())).max().unwrap_or_default();
    let style = command.get_styles();
    let (head, literal) = (style.get_header(), style.get_literal());
    let mut template =
        format!("{{about-with-newline}}\n{head}Usage:{head:#} {literal}holdfast{literal:#} [OPTIONS] [COMMAND]\n");
    for (heading, group) in GROUPS {
        let subcommands = group.iter().filter_map(|name| command.find_subcommand(name));
        if short && *heading == REST {
            let names: Vec<&str> = subcommands.map(Command::get_name).collect();
            let _ = writeln!(template, "\n{head}{heading}:{head:#} {}", names.join(", "));
            continue;
        }
        let _ = writeln!(template, "\n{head}{heading}:{head:#}");
        for subcommand in subcommands {
            let name = subcommand.get_name();
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {literal}{name:widest$}{literal:#}  {about}");
        }
    }
    let _ = write!(template, "\n{head}Options:{head:#}\n{{options}}{{after-help}}");
    command
        .mut_args(|argument| match argument.get_id().as_str() {
            "help" | "version" => argument,
            _ => argument.hide_short_help(true).hide_long_help(true),
        })
        .help_template(template)
}

/// Leaves out everything that is not needed to recognise an option, so that each option fits on one line.
fn brief(command: Command) -> Command {
    command
        .mut_args(|argument| argument.hide_env(true).hide_possible_values(true).hide_default_value(true))
        .mut_subcommands(brief)
}

/// Leaves out the present values of variables: they say nothing about the option.
fn quiet(command: Command) -> Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(quiet)
}

/// Commands that people expect because other programs have them, and the commands to use instead.
const EXPECTED: &[(&[&str], &[&str])] = &[
    (
        &["install", "init", "add", "configure"],
        &["`holdfast setup` sets up an AI client", "`holdfast unity install` places the Unity package into a project"],
    ),
    (
        &["uninstall", "remove"],
        &[
            "`holdfast setup NAME --remove` takes holdfast out of an AI client",
            "`holdfast unity remove` takes the Unity package out of a project",
        ],
    ),
    (
        &["update", "upgrade", "self-update"],
        &[
            "holdfast does not update itself: install it again, in the way that it was installed",
            "`holdfast unity install` then brings a project's Unity package up to date",
        ],
    ),
    (&["version"], &["`holdfast --version` prints the version"]),
    (&["list", "ls"], &["`holdfast tools` lists the tools, `holdfast setup --list` the AI clients"]),
    (&["check", "test"], &["`holdfast doctor` finds out what is wrong"]),
    (&["start", "run"], &["an AI client starts holdfast by itself: `holdfast setup` sets one up"]),
];

const EXPECTED_OF_UNITY: &[(&[&str], &[&str])] = &[
    (&["uninstall", "delete"], &["`holdfast unity remove` takes the package out of a project"]),
    (&["update", "upgrade", "add"], &["`holdfast unity install` places the package, or brings it up to date"]),
    (&["check", "version", "list"], &["`holdfast unity status` says whether the package is there, and which version"]),
];

/// Adds tips to the refusal of an unknown subcommand, if it is one that people expect. `words`: the first words of the
/// command line.
pub fn with_tips(mut said: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(word)) = said.get(ContextKind::InvalidSubcommand) else { return said };
    let expected = if words.first().is_some_and(|first| first == "unity") { EXPECTED_OF_UNITY } else { EXPECTED };
    if let Some((_, tips)) = expected.iter().find(|(words, _)| words.contains(&word.as_str())) {
        // A word that only looks similar would mislead.
        said.remove(ContextKind::SuggestedSubcommand);
        let tips = tips.iter().map(|tip| StyledStr::from(*tip)).collect();
        said.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    said
}

/// Returns the address of a page of the documentation: a user who has only the program has none of its files.
pub fn page(path: &str) -> String {
    format!("{}/blob/main/{path}", env!("CARGO_PKG_REPOSITORY"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_subcommand_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, group)| group.iter().copied()).collect();
        let mut there: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        // The feature `demo` is on in tests.
        listed.sort_unstable();
        there.sort_unstable();
        assert_eq!(listed, there);
    }
}
