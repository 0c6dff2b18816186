//! The only place that prints to stdout for people. During `serve` nothing here prints to stdout, which is for MCP alone then.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use super::Exit;
use crate::platform::stdio::{Stderr, Stdout};

/// The first error of a write to stdout. It is reported once, when the command ends.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Keeps the error of a failed write. A pipe that its reader closed (`| head`) is not an error: the reader has all it wanted.
fn written(done: io::Result<()>) {
    if let Err(error) = done
        && !is_gone(&error)
    {
        let _ = LOST.set(error);
    }
}

fn is_gone(error: &io::Error) -> bool {
    // Windows has a second code for a closed pipe, `ERROR_PIPE_NOT_CONNECTED`, which the standard library does not map.
    error.kind() == io::ErrorKind::BrokenPipe || cfg!(windows) && error.raw_os_error() == Some(233)
}

/// Whether a write to stdout has failed.
pub fn lost() -> bool {
    LOST.get().is_some()
}

/// Returns the exit code of a command. If output was lost, reports the loss on stderr and returns [`Exit::Output`] in place of a
/// success.
pub fn end(exit: ExitCode) -> ExitCode {
    let Some(error) = LOST.get() else { return exit };
    complain(&format!(
        "holdfast: its output could not be written to stdout ({error}), and what is there is not whole."
    ));
    if exit == ExitCode::SUCCESS { Exit::Output.into() } else { exit }
}

/// Prints a line.
pub fn line(text: &str) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints a message of the command line parser: help and version on stdout, errors on stderr. Returns its exit code.
pub fn usage(said: &clap::Error) -> ExitCode {
    let text = said.render();
    let terminal = if said.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let text = if terminal && colours_wanted() { text.ansi().to_string() } else { text.to_string() };
    if said.use_stderr() {
        let _ = Stderr.write_all(text.as_bytes());
    } else {
        bytes(text.as_bytes());
    }
    ExitCode::from(u8::try_from(said.exit_code()).unwrap_or(Exit::Usage as u8))
}

/// Prints an indented line with a name and a text.
pub fn row(name: &str, text: &str) {
    line(&format!("  {name:6}  {text}"));
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) {
    written(Stdout.write_all(bytes));
}

/// Prints a line on stderr.
pub fn complain(text: &str) {
    let _ = Stderr.write_all(format!("{text}\n").as_bytes());
}

/// Stdout, for the full-screen drawing of `status --watch`.
pub fn screen() -> Stdout {
    Stdout
}

/// Whether stdout is a terminal that can be drawn on.
pub fn can_draw() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// Whether colours are allowed: NO_COLOR is not set or is empty.
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The meaning of a text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// All is well.
    Good,
    /// Worth knowing.
    Plain,
    /// A problem to fix.
    Bad,
}

/// Returns the text in the colour of its tone; without colour if stdout is not a terminal or NO_COLOR is set.
pub fn toned(text: &str, tone: Tone) -> String {
    let colours = io::stdout().is_terminal() && colours_wanted();
    let code = match tone {
        Tone::Good => "32",
        Tone::Plain => "36",
        Tone::Bad => "31",
    };
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The number of columns if neither the terminal nor COLUMNS gives it.
const COLUMNS_UNKNOWN: usize = 80;

/// Returns the number of columns: the terminal's, else COLUMNS, else `COLUMNS_UNKNOWN`.
pub fn columns() -> usize {
    let terminal = io::stderr().is_terminal() || io::stdout().is_terminal();
    let seen = terminal.then(terminal_size::terminal_size).flatten();
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    seen.map(|(width, _)| usize::from(width.0)).or_else(told).unwrap_or(COLUMNS_UNKNOWN)
}

/// Wraps a text into lines of at most `columns` characters (at least 40). The first line is indented once, the others twice.
pub fn wrapped(text: &str, indent: &str, columns: usize) -> String {
    let columns = columns.max(40);
    let hanging = indent.repeat(2);
    let mut lines = vec![indent.to_owned()];
    let mut used = indent.len();
    for word in text.split(' ') {
        let width = word.chars().count();
        let fresh = lines.last().is_none_or(|line| line.trim().is_empty());
        if !fresh && used + 1 + width > columns {
            lines.push(hanging.clone());
            used = hanging.len();
        } else if !fresh {
            used += 1;
            if let Some(line) = lines.last_mut() {
                line.push(' ');
            }
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
        used += width;
    }
    lines.join("\n")
}
