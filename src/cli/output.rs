//! The only place that prints for people on stdout. `serve` never calls it: there, stdout is for MCP alone.

use std::io::{IsTerminal as _, Write as _};

/// Prints a line. A reader that went away (`| head`) is no error.
pub fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Prints a line below another one: what it is about, and what is to be said.
pub fn row(name: &str, text: &str) {
    line(&format!("  {name:6}  {text}"));
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Says something on stderr.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The terminal as a full screen: what is written here draws.
pub fn screen() -> std::io::Stdout {
    std::io::stdout()
}

/// Whether stdout is a terminal that can be drawn on.
pub fn can_draw() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
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
    /// Something to mend.
    Bad,
}

/// The text in the colour of its tone, if stdout is a terminal and NO_COLOR is not set.
pub fn toned(text: &str, tone: Tone) -> String {
    let colours = std::io::stdout().is_terminal() && colours_wanted();
    let code = match tone {
        Tone::Good => "32",
        Tone::Plain => "36",
        Tone::Bad => "31",
    };
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
