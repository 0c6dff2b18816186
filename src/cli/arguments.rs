//! Prepares the command line for the parser: accepts flags before the subcommand, and ignores variables that are set to nothing.

use std::ffi::OsString;

use clap::Command;

/// Moves flags that are written before the subcommand behind it: `holdfast --port 8700 status` becomes `holdfast status --port
/// 8700`.
pub fn in_order(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let text = |at: usize| words.get(at).and_then(|word| word.to_str());
    let (mut flags_end, mut all_known) = (1, true);
    while let Some(word) = text(flags_end).filter(|word| word.starts_with('-') && *word != "--") {
        let name = word.trim_start_matches('-');
        let flag = command.get_arguments().find(|argument| argument.get_long() == Some(name));
        all_known &= flag.is_some();
        let takes = |flag: &clap::Arg| flag.get_action().takes_values() && !flag.is_require_equals_set();
        flags_end += if flag.is_some_and(takes) { 2 } else { 1 };
    }
    let (mut end, mut within) = (flags_end, command);
    while let Some(inner) = text(end).and_then(|word| within.find_subcommand(word)) {
        (end, within) = (end + 1, inner);
    }
    // A word that is not a subcommand is also moved to the front, so that the parser reports it as the mistake. After an unknown
    // flag that word may be the flag's value; then the flag is the mistake.
    let end = if all_known { end.max(flags_end + 1).min(words.len()) } else { end };
    if let Some(part) = words.get_mut(1..end).filter(|_| end > flags_end) {
        part.rotate_left(flags_end - 1);
    }
    words
}

/// Returns the command, which no longer reads those variables that are set to nothing. Where a value is missing,
/// clients fill templates with empty texts, and an empty variable must not end the process.
pub fn without_empty_variables(command: Command) -> Command {
    let empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if empty(name) => argument.env(None::<&str>),
            _ => argument,
        })
        .mut_subcommands(without_empty_variables)
}
