//! What the texts of the skill promise: commands that exist, exit codes that the program has, and the limits of the format.

use std::collections::BTreeMap;

use clap::CommandFactory as _;
use strum::VariantArray as _;

use super::content::{FIRST, SKILL, as_json};
use crate::cli::{Cli, Exit};

/// The most lines of the first file: a client reads all of it whenever the skill is used.
const LINES_MAX: usize = 150;

fn first() -> &'static str {
    SKILL.files.iter().find(|(path, _)| *path == FIRST).map(|(_, text)| *text).expect("it is one of the files")
}

/// Returns the command lines in a text: what is in a code block or between backticks and starts the program.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            within = !within;
            continue;
        }
        let pieces: Vec<&str> = if within { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        found.extend(pieces.into_iter().flat_map(commands));
    }
    found
}

/// Splits a line of a shell into the commands in it that start the program. Knows the quotation marks and the operators that the
/// texts use.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    for letter in line.chars().chain([';']) {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ' | ';' | '|' | '&' | ')' | '(') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if letter != ' ' {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => word.push(letter),
        }
    }
    commands.retain(|words| words.first().is_some_and(|word| word == "holdfast") && words.len() > 1);
    commands
}

/// Returns why the program does not take a command line. The name of a command alone is no command line.
fn refusal(words: &[String]) -> Option<String> {
    let command = Cli::command();
    let is_name = matches!(words, [_, name] if command.find_subcommand(name).is_some());
    command.try_get_matches_from(words).err().filter(|_| !is_name).map(|error| error.to_string())
}

#[test]
fn every_command_line_in_the_skill_is_one_that_the_program_takes() {
    let mut seen = 0;
    for (path, text) in SKILL.files {
        for words in command_lines(text) {
            let why = refusal(&words);
            assert_eq!(why, None, "{path}: `{}`", words.join(" "));
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} command lines were seen: the search is broken");
    let none = command_lines("`holdfast fly`\n```sh\nx && holdfast call 'a b' | jq\n```\n");
    assert_eq!(none, [vec!["holdfast", "fly"], vec!["holdfast", "call", "a b"]]);
    assert!(refusal(&none[0]).is_some(), "a command that is none would not be noticed");
}

/// Returns the rows of the tables whose first cell is a number.
fn codes(text: &str) -> Vec<u8> {
    let first_cell = |line: &str| line.strip_prefix("| ")?.split(" |").next()?.parse().ok();
    text.lines().filter_map(first_cell).collect()
}

#[test]
fn the_exit_codes_in_the_skill_are_those_of_the_program() {
    let known: Vec<u8> = Exit::VARIANTS.iter().map(|exit| *exit as u8).collect();
    for (path, text) in SKILL.files.iter().filter(|(_, text)| text.contains("| exit code |")) {
        assert_eq!(codes(text), known, "{path}");
    }
    assert_eq!(codes(include_str!("../../../docs/commands.md")), known, "docs/commands.md");
    assert_eq!(SKILL.files.iter().filter(|(_, text)| text.contains("| exit code |")).count(), 2);
}

#[test]
fn the_first_file_keeps_the_limits_of_the_format_and_of_the_clients() {
    let text = first();
    assert!(text.lines().count() <= LINES_MAX, "{} lines", text.lines().count());
    let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map(|(head, _)| head);
    let fields: BTreeMap<&str, &str> = head.expect("a head").lines().filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(fields.keys().copied().collect::<Vec<_>>(), ["compatibility", "description", "license", "name"]);
    // The name is the folder's, and of letters that every client takes.
    assert!(fields["name"] == SKILL.name && SKILL.name.bytes().all(|byte| byte.is_ascii_lowercase()));
    assert!(SKILL.name.len() <= 64 && fields["compatibility"].chars().count() <= 500);
    assert!((1..=1024).contains(&fields["description"].chars().count()));
    // The head is YAML without quotation marks, so nothing in it may mean something else.
    for (field, value) in &fields {
        assert!(!value.contains(": ") && !value.contains(" #") && !value.starts_with(['"', '\'', '[', '{']), "{field}");
    }
}

#[test]
fn every_file_of_the_skill_is_referred_to_by_the_first_one_and_no_other_is() {
    let referred: Vec<&str> = first().split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let others: Vec<&str> = SKILL.files.iter().map(|(path, _)| *path).filter(|path| *path != FIRST).collect();
    assert_eq!(referred, others);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/skills/holdfast");
    let there = std::fs::read_dir(folder)
        .expect("the folder")
        .chain(std::fs::read_dir(format!("{folder}/references")).expect("the folder"));
    let there = there.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file())).count();
    assert_eq!(there, SKILL.files.len(), "a file of the folder is not in the program");
}

#[test]
fn what_plugins_are_made_of_has_the_files_and_the_two_prompts() {
    let content = as_json();
    assert_eq!(content["files"][FIRST], first());
    let prompts = content["prompts"].as_array().expect("a list");
    let names: Vec<&str> = prompts.iter().filter_map(|prompt| prompt["name"].as_str()).collect();
    assert_eq!(names, ["fix-compile-errors", "why-is-unity-silent"]);
    assert_eq!(prompts[0]["arguments"][0]["name"], "where");
}
