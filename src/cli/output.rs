//! The only place that prints for people on stdout. `serve` never calls it: there, stdout is for MCP alone.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use super::Exit;
use crate::platform::stdio::{Stderr, Stdout};

/// Why something could not be written to stdout: the first reason. Told once, when the command ends.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Notes what became of a write. A reader that went away (`| head`) is no error: it has what it wanted.
fn written(done: io::Result<()>) {
    if let Err(error) = done
        && !is_gone(&error)
    {
        let _ = LOST.set(error);
    }
}

fn is_gone(error: &io::Error) -> bool {
    // Windows has a second word for it, `ERROR_PIPE_NOT_CONNECTED`, which the standard library does not know.
    error.kind() == io::ErrorKind::BrokenPipe || cfg!(windows) && error.raw_os_error() == Some(233)
}

/// Whether something could not be written to stdout.
pub fn lost() -> bool {
    LOST.get().is_some()
}

/// The end of a command: if what it had to say could not be written, that is said, and it did not succeed.
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

/// Prints what the parser of the command line has to say: help and the version on stdout, an error on stderr.
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

/// Prints a line below another one: what it is about, and what is to be said.
pub fn row(name: &str, text: &str) {
    line(&format!("  {name:6}  {text}"));
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) {
    written(Stdout.write_all(bytes));
}

/// Says something on stderr.
pub fn complain(text: &str) {
    let _ = Stderr.write_all(format!("{text}\n").as_bytes());
}

/// The terminal as a full screen: what is written here draws.
pub fn screen() -> Stdout {
    Stdout
}

/// Whether stdout is a terminal that can be drawn on.
pub fn can_draw() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// Whether NO_COLOR leaves colours to us.
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How a word is meant, for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Worth knowing.
    Plain,
    /// Something to fix.
    Bad,
}

/// The text in the colour of its tone, if stdout is a terminal and NO_COLOR is not set.
pub fn toned(text: &str, tone: Tone) -> String {
    let colours = io::stdout().is_terminal() && colours_wanted();
    let code = match tone {
        Tone::Good => "32",
        Tone::Plain => "36",
        Tone::Bad => "31",
    };
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Columns where nobody says how many there are.
const COLUMNS_UNKNOWN: usize = 80;

/// How many columns the terminal has.
pub fn columns() -> usize {
    let terminal = io::stderr().is_terminal() || io::stdout().is_terminal();
    let seen = terminal.then(terminal_size::terminal_size).flatten();
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    seen.map(|(width, _)| usize::from(width.0)).or_else(told).unwrap_or(COLUMNS_UNKNOWN)
}

/// A text in lines of at most so many columns, each indented, and those after the first of an indented one once more.
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
