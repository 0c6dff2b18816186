//! `holdfast completions`: the script for a shell, and the answers to the script's questions while a person types.
//!
//! The script calls the program with [`ASKS`] set. So it can complete words that no fixed script knows (`complete`).

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::variables::variable;
use super::{Exit, output};

/// The variable that says for which shell words are completed. It is not clap's `COMPLETE`: an AI client may pass on a
/// variable with such a common name, and then the gateway would not start.
const ASKS: &str = "HOLDFAST_COMPLETE";

#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// Which shell; without it the one that $SHELL names
    pub shell: Option<Shell>,
    /// Print a script that never calls holdfast
    ///
    /// It completes commands and options, but no clients, tools and editors.
    #[arg(long = "static")]
    pub fixed: bool,
}

pub fn run(arguments: &CompletionsArgs, mut command: Command) -> ExitCode {
    let of_person = || Shell::from_shell_path(variable("SHELL")?);
    let Some(shell) = arguments.shell.or_else(of_person) else {
        output::complain(
            "holdfast completions: $SHELL names no shell that is known; name one: bash, elvish, fish, powershell or zsh. Nothing was done.",
        );
        return Exit::Usage.into();
    };
    let mut script = Vec::new();
    match Shells::builtins().completer(&shell.to_string()).filter(|_| !arguments.fixed) {
        // A write to memory cannot fail.
        Some(asking) => drop(asking.write_registration(ASKS, "holdfast", "holdfast", "holdfast", &mut script)),
        None => clap_complete::generate(shell, &mut command, "holdfast", &mut script),
    }
    output::bytes(&script);
    Exit::Ok.into()
}

/// Answers the script of a shell; `None` if the program was not called by such a script.
pub fn answer(command: impl FnOnce() -> Command) -> Option<ExitCode> {
    let shell = variable(ASKS)?;
    let shells = Shells::builtins();
    let shell = shells.completer(&shell)?;
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let here = std::env::current_dir().ok();
    let mut said = Vec::new();
    if shell.write_complete(&mut command(), words, here.as_deref(), &mut said).is_err() {
        return Some(Exit::Failed.into());
    }
    output::bytes(&said);
    Some(Exit::Ok.into())
}
