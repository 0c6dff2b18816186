//! The only place that prints to stdout for people. During `serve` nothing here prints to stdout, because stdout is
//! then only for MCP.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::platform::stdio::{self, Stderr, Stdout};
use crate::protocol::text::is_hidden;

/// The exit code of a process. docs/commands.md has the same table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(strum::VariantArray))]
pub enum Exit {
    /// The command succeeded. `call`: the tool succeeded. `tools`: a list of the editor's tools, live or from disk. `status`: an
    /// editor runs and its port is open. `doctor`: no problem. `serve`: the client ended the session or is gone, or a signal
    /// ended it.
    Ok = 0,
    /// The command failed. `call`: the tool failed. `doctor`: there are problems. `setup`, `unity install`: refused, nothing was
    /// changed; `unity status`: the package is missing, or differs from this program's.
    Failed = 1,
    /// The command line or the configuration is wrong, or `call` has bad JSON or an unknown tool. Nothing was done.
    Usage = 2,
    /// Not executed: the editor could not be reached, or refused the call before it ran anything. `tools`: no editor, and no list
    /// on disk. `status`: no editor runs, or its port is closed.
    NotExecuted = 3,
    /// `call`: the tool may have run: the outcome is unknown, or it is still running.
    Unknown = 4,
    Internal = 70,
    /// The system refused threads or file descriptors that every start needs.
    NoResources = 71,
    /// The command did its work, but its output could not be written to stdout.
    Output = 74,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The first error of a write to stdout. It is reported once, when the command ends.
static LOST: OnceLock<io::Error> = OnceLock::new();

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Keeps the error of a failed write. A pipe that its reader closed (`| head`) is not an error, and neither is a
/// terminal that is gone: nobody wanted more.
fn written(done: io::Result<()>) {
    let Err(error) = done else { return };
    CLOSED.store(true, Ordering::Relaxed);
    if !is_gone(&error) && !stdio::stdout_hung_up() {
        let _ = LOST.set(error);
    }
}

fn is_gone(error: &io::Error) -> bool {
    // Windows has a second code for a closed pipe, `ERROR_PIPE_NOT_CONNECTED`, which the standard library does not map.
    error.kind() == io::ErrorKind::BrokenPipe || cfg!(windows) && error.raw_os_error() == Some(233)
}

/// Whether nothing more can be written to stdout: it failed, or its reader has closed it.
pub fn closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether output was lost, because a write to stdout failed.
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

pub fn line(text: &str) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints a line of JSON. Characters that could steer a terminal are escaped in JSON's way, so that the value stays the
/// same.
pub fn json(text: &str) {
    line(&unsteering(text));
}

/// Escapes the characters of a JSON text that are not printable. Between the tokens of a one-line text there are no
/// such characters.
fn unsteering(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        let is_plain = letter == '\t' || matches!(letter, '"' | '\'' | '\\') || letter.escape_debug().len() == 1;
        if is_plain {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            out.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
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

pub fn row(name: &str, text: &str) {
    hung(&format!("  {name:6}  "), text);
}

pub fn bytes(bytes: &[u8]) {
    written(Stdout.write_all(bytes));
}

/// Prints a message on stderr, wrapped if that is a terminal.
pub fn complain(text: &str) {
    match io::stderr().is_terminal().then(columns) {
        Some(columns) if !text.contains('\n') => complain_as_is(&flowed(text, 0, 0, columns)),
        _ => complain_as_is(text),
    }
}

/// Prints a text on stderr. Nothing in it can steer the terminal.
pub fn complain_as_is(text: &str) {
    let _ = Stderr.write_all(format!("{}\n", tame(text)).as_bytes());
}

/// Prints a result's text: as it is, unless stdout is a terminal, which it must not steer.
pub fn text(text: &str) {
    let shown = if io::stdout().is_terminal() { tame(text) } else { Cow::Borrowed(text) };
    bytes(shown.as_bytes());
    if !shown.ends_with('\n') {
        bytes(b"\n");
    }
}

/// Escapes what could steer a terminal, except ends of lines and tabs.
fn tame(text: &str) -> Cow<'_, str> {
    let is_wild = |letter: char| !matches!(letter, '\n' | '\r' | '\t') && is_hidden(letter);
    if !text.contains(is_wild) {
        return Cow::Borrowed(text);
    }
    let tamed = |letter: char| if is_wild(letter) { letter.escape_unicode().to_string() } else { letter.to_string() };
    Cow::Owned(text.chars().map(tamed).collect())
}

pub fn screen() -> Stdout {
    Stdout
}

pub fn can_draw() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// Whether colours are allowed: NO_COLOR is not set or is empty.
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
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

/// Prints a text after a head. On a terminal, the text is wrapped, its further lines begin in the column of the first,
/// and the user's home is written as `~`. Programs and pagers get whole lines.
pub fn hung(head: &str, text: &str) {
    match io::stdout().is_terminal().then(columns) {
        None => line(&format!("{head}{text}")),
        Some(columns) => {
            let start = shown(head);
            // On a narrow terminal, little room would be left for the text after a long head.
            let hang = start.min(columns / 3);
            line(&format!("{head}{}", flowed(&homely(text), start, hang, columns)));
        }
    }
}

/// Writes the user's home in paths as `~`, as people do. A quoted path stays, because a shell would take its `~`
/// literally.
fn homely(text: &str) -> String {
    let home =
        std::env::var("HOME").ok().filter(|home| home.len() > 1).map(|home| home.trim_end_matches('/').to_owned());
    let Some(home) = home else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(home.as_str()) {
        let begins = !before.ends_with(|last: char| last.is_alphanumeric() || "/\"'_-.~".contains(last));
        let ends = after.is_empty()
            || after.starts_with(|next: char| next == '/' || next.is_whitespace() || ",;:)".contains(next));
        out.push_str(before);
        out.push_str(if begins && ends { "~" } else { &home });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Wraps a text into lines of at most `columns` characters (at least 40). The first line is indented once, the others twice.
pub fn wrapped(text: &str, indent: &str, columns: usize) -> String {
    format!("{indent}{}", flowed(text, indent.len(), 2 * indent.len(), columns))
}

/// Wraps a text that begins in column `start` into lines of at most `columns` characters (at least 40). Later lines are indented by
/// `hang`. A word that is too long gets a line of its own.
fn flowed(text: &str, start: usize, hang: usize, columns: usize) -> String {
    let columns = columns.max(40);
    let (mut out, mut used, mut fresh) = (String::with_capacity(text.len()), start, true);
    for word in text.split(' ') {
        let width = shown(word);
        if !fresh && used + 1 + width > columns {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', hang));
            used = hang;
        } else if !fresh {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += width;
        fresh = false;
    }
    out
}

/// Returns how many columns a text takes on the screen: colours take none.
fn shown(text: &str) -> usize {
    let mut coloured = false;
    let mut count = 0;
    for letter in text.chars() {
        match (coloured, letter) {
            (false, '\x1b') => coloured = true,
            (false, _) => count += 1,
            (true, 'm') => coloured = false,
            (true, _) => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_value_and_steers_no_terminal() {
        let value = serde_json::json!({"a\u{9b}31m": "\u{1b}[2J \u{202e}\u{e0001} é 😀 \\ \" '\t", "b": [1.5, null]});
        let shown = unsteering(&value.to_string());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(shown.contains("é 😀") && shown.contains("\\udb40\\udc01"), "{shown}");
        assert!(!shown.chars().any(|letter| letter.is_control() || "\u{202e}\u{e0001}".contains(letter)), "{shown}");
        // Somebody may have planted the log, and its lines need not be JSON.
        assert_eq!(unsteering("{\"cut\u{1b}"), "{\"cut\\u001b");
    }

    #[test]
    fn a_text_is_wrapped_where_it_begins_and_colours_take_no_room() {
        let text = "one \x1b[31mtwo three\x1b[0m four five six seven eight nine";
        let flowed = flowed(text, 10, 10, 40);
        let lines: Vec<&str> = flowed.split('\n').collect();
        assert_eq!(lines, ["one \x1b[31mtwo three\x1b[0m four five six", "          seven eight nine"]);
        assert_eq!(wrapped("a", "  ", 40), "  a");
        let long = "x".repeat(50);
        assert_eq!(super::flowed(&format!("a {long} b"), 0, 2, 40), format!("a\n  {long}\n  b"));
    }
}
