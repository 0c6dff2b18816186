//! The fake editor as a process: reads commands as lines from stdin and prints events as JSON lines.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use holdfast_net::Net;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::config::FakeUnityConfig;
use super::events::{Event, Stats};
use super::fake_unity::FakeUnity;
use super::json::Object;
use super::odd::Odd;
use crate::limits::STEERING_LINE_MAX_BYTES;

/// Options of the process that do not concern the editor itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SteerOptions {
    /// Whether the editor keeps running after the end of stdin.
    pub stay: bool,
    /// Whether requests and calls are not printed.
    pub quiet: bool,
}

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The editor quit: by the `quit` line, at the end of stdin, or because stdout could not be written.
    Quit,
    /// The process was told to crash: nothing was cleaned up, and the caller must end the process at once with [`Ending::code`].
    Crashed,
}

impl Ending {
    /// Returns the exit code of the process: 0, or 134, which a shell reports for an aborted process.
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Crashed => 134,
        }
    }
}

/// The form and the meaning of every command.
const USAGE: [(&str, &str); 22] = [
    ("reload MS", "reload the domain; silent for MS milliseconds, then on the same port, if the package keeps it"),
    ("move MS", "the same, then on another port"),
    ("down", "stop the bridge"),
    ("rst", "stop the bridge with resets"),
    ("up", "start the bridge again"),
    ("freeze", "stand still, as a stopped process"),
    ("thaw", "go on"),
    ("changed", "announce a changed tool list"),
    ("push TYPE", "send a push message of this type, or press the button of this name in the package's window"),
    ("addtool NAME", "register a tool and announce it"),
    ("compile-error on|off", "scripts do not compile, or do"),
    ("modal on|off", "open or close a modal dialog"),
    ("play on|off", "begin or end play mode"),
    ("focus on|off", "give the editor focus, or take it"),
    ("import MS", "block the main thread for MS milliseconds"),
    ("lose", "let the next tool run to its end, and lose its answer"),
    ("odd KIND", "make the next result unreadable: nan, control, number, surrogate, utf8, torn, or a number of levels"),
    ("release", "let every hold answer"),
    ("stats", "print counters and state"),
    ("crash", "end without cleaning up"),
    ("quit", "end as a user ends the editor"),
    ("help", "print these lines"),
];

#[derive(Debug, PartialEq, Eq)]
enum Command {
    Reload(Duration),
    Move(Duration),
    Down,
    Rst,
    Up,
    Freeze,
    Thaw,
    Changed,
    Push(String),
    AddTool(String),
    CompileError(bool),
    Modal(bool),
    Play(bool),
    Focus(bool),
    Import(Duration),
    Lose,
    Odd(Odd),
    Release,
    Stats,
    Crash,
    Quit,
    Help,
}

fn parse(line: &str) -> Result<Command, String> {
    let mut words = line.split_whitespace();
    let (verb, argument) = (words.next().unwrap_or_default(), words.next());
    let usage = || match USAGE.iter().find(|(form, _)| form.split(' ').next() == Some(verb)) {
        Some((form, about)) => format!("usage: {form} ({about})"),
        None => {
            let forms: Vec<&str> = USAGE.iter().map(|(form, _)| *form).collect();
            format!("there is no such line; known: {}", forms.join(", "))
        }
    };
    let ms = || argument.and_then(|text| text.parse().ok()).map(Duration::from_millis).ok_or_else(usage);
    let word = || argument.map(str::to_owned).ok_or_else(usage);
    let switch = || match argument {
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        _ => Err(usage()),
    };
    let (command, takes) = match verb {
        "reload" => (Command::Reload(ms()?), true),
        "move" => (Command::Move(ms()?), true),
        "down" => (Command::Down, false),
        "rst" => (Command::Rst, false),
        "up" => (Command::Up, false),
        "freeze" => (Command::Freeze, false),
        "thaw" => (Command::Thaw, false),
        "changed" => (Command::Changed, false),
        "push" => (Command::Push(word()?), true),
        "addtool" => (Command::AddTool(word()?), true),
        "compile-error" => (Command::CompileError(switch()?), true),
        "modal" => (Command::Modal(switch()?), true),
        "play" => (Command::Play(switch()?), true),
        "focus" => (Command::Focus(switch()?), true),
        "import" => (Command::Import(ms()?), true),
        "lose" => (Command::Lose, false),
        "odd" => (Command::Odd(argument.and_then(|kind| kind.parse().ok()).ok_or_else(usage)?), true),
        "release" => (Command::Release, false),
        "stats" => (Command::Stats, false),
        "crash" => (Command::Crash, false),
        "quit" => (Command::Quit, false),
        "help" => (Command::Help, false),
        _ => return Err(usage()),
    };
    if words.next().is_some() || (!takes && argument.is_some()) {
        return Err(usage());
    }
    Ok(command)
}

/// Runs a fake editor until it ends. Prints one JSON object per line; the first one is `{"event":"listening",…}`. An invalid
/// command prints `{"event":"bad_line",…}` with the usage. A command prints `{"event":"done",…}` or `{"event":"failed",…}`,
/// except `help` (prints `help` lines), `stats` (prints `stats`), `crash` and `quit` (end the process).
///
/// At the end of stdin the editor quits, unless [`SteerOptions::stay`] is set. If stdout cannot be written, it always quits,
/// since no program controls it any more.
///
/// # Errors
/// The editor cannot start.
pub async fn run_process<R, W>(
    config: FakeUnityConfig,
    options: SteerOptions,
    net: Arc<dyn Net>,
    stdin: R,
    mut stdout: W,
) -> io::Result<Ending>
where
    R: AsyncBufRead + Unpin,
    W: Write,
{
    let unity = FakeUnity::start(config, net).await?;
    let mut events = unity.events();
    let mut line = Box::pin(next_line(stdin));
    let mut ended = false;
    loop {
        let printed = tokio::select! {
            biased;
            event = events.recv() => match event {
                Ok(event) if options.quiet && is_chatter(&event) => Ok(()),
                Ok(event) => print(&mut stdout, &json_of(&event)),
                Err(RecvError::Lagged(lost)) => print(&mut stdout, &lost_line(lost)),
                Err(RecvError::Closed) => return Ok(Ending::Quit),
            },
            (stdin, next) = &mut line, if !ended => {
                let Some(text) = next else {
                    if options.stay {
                        ended = true;
                        continue;
                    }
                    return quit(&unity, &mut events, options, &mut stdout).await;
                };
                line.set(next_line(stdin));
                match parse(&text) {
                    Ok(Command::Quit) => return quit(&unity, &mut events, options, &mut stdout).await,
                    Ok(Command::Crash) => {
                        // This closes the sockets, as the death of the process would.
                        unity.crash().await?;
                        let _ = print(&mut stdout, &json_of(&Event::Crashed));
                        return Ok(Ending::Crashed);
                    }
                    Ok(Command::Help) => USAGE.iter().try_for_each(|(form, about)| {
                        print(&mut stdout, &Object::new().text("event", "help").text("line", form).text("about", about).finish())
                    }),
                    Ok(Command::Stats) => print(&mut stdout, &stats_line(&unity.stats())),
                    Ok(command) => {
                        let result = carry_out(&unity, command).await;
                        // The events that the command caused are printed before `done`.
                        drain(&mut events, options, &mut stdout).and_then(|()| print(&mut stdout, &outcome(&text, result)))
                    }
                    Err(usage) => {
                        let object = Object::new().text("event", "bad_line").text("line", &text).text("error", &usage);
                        print(&mut stdout, &object.finish())
                    }
                }
            }
        };
        if printed.is_err() {
            return quit(&unity, &mut events, options, &mut stdout).await;
        }
    }
}

async fn carry_out(unity: &FakeUnity, command: Command) -> Result<(), String> {
    let done = match command {
        Command::Reload(silence) => unity.reload(silence).await,
        Command::Move(silence) => unity.reload_to_new_port(silence).await,
        Command::Down => unity.down().await,
        Command::Rst => unity.rst().await,
        Command::Up => unity.up().await,
        Command::Changed => unity.tools_changed().await,
        Command::Push(kind) => unity.push(&kind).await,
        Command::AddTool(name) => return unity.add_tool(&name),
        Command::Freeze => {
            unity.freeze();
            Ok(())
        }
        Command::Thaw => {
            unity.thaw();
            Ok(())
        }
        Command::CompileError(on) => {
            unity.compile_error(on);
            Ok(())
        }
        Command::Modal(on) => {
            unity.modal(on);
            Ok(())
        }
        Command::Play(on) => {
            unity.play(on);
            Ok(())
        }
        Command::Focus(on) => {
            unity.focus(on);
            Ok(())
        }
        Command::Import(time) => {
            unity.import(time);
            Ok(())
        }
        Command::Lose => {
            unity.lose_answer();
            Ok(())
        }
        Command::Odd(form) => {
            unity.odd(form);
            Ok(())
        }
        Command::Release => {
            unity.release();
            Ok(())
        }
        // `run_process` handles these.
        Command::Stats | Command::Crash | Command::Quit | Command::Help => Ok(()),
    };
    done.map_err(|error| error.to_string())
}

async fn quit<W: Write>(
    unity: &FakeUnity,
    events: &mut Receiver<Event>,
    options: SteerOptions,
    stdout: &mut W,
) -> io::Result<Ending> {
    unity.quit().await?;
    // A write error is ignored: stdout may be closed.
    let _ = drain(events, options, stdout);
    Ok(Ending::Quit)
}

/// Prints the events that wait.
fn drain<W: Write>(events: &mut Receiver<Event>, options: SteerOptions, stdout: &mut W) -> io::Result<()> {
    loop {
        let line = match events.try_recv() {
            Ok(event) if options.quiet && is_chatter(&event) => continue,
            Ok(event) => json_of(&event),
            Err(TryRecvError::Lagged(lost)) => lost_line(lost),
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(()),
        };
        print(stdout, &line)?;
    }
}

fn lost_line(count: u64) -> String {
    Object::new().text("event", "events_lost").number("count", count).finish()
}

/// Reads the next line. A line longer than [`STEERING_LINE_MAX_BYTES`] is split. The text is `None` at the end of stdin or after
/// an error. Returns the reader too, so that the caller can keep an unfinished future across passes of its loop: dropping the
/// future would lose bytes that were read already.
async fn next_line<R: AsyncBufRead + Unpin>(mut stdin: R) -> (R, Option<String>) {
    let mut bytes = Vec::new();
    let bound = u64::try_from(STEERING_LINE_MAX_BYTES).unwrap_or(u64::MAX);
    match (&mut stdin).take(bound).read_until(b'\n', &mut bytes).await {
        Ok(0) | Err(_) => (stdin, None),
        Ok(_) => (stdin, Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
    }
}

fn is_chatter(event: &Event) -> bool {
    matches!(
        event,
        Event::Request { .. }
            | Event::CallBegun { .. }
            | Event::CallSettled { .. }
            | Event::CallEnded { .. }
            | Event::ClientNamed { .. }
            | Event::Logged { .. }
    )
}

fn json_of(event: &Event) -> String {
    // Events contain only strings and numbers, so this cannot fail.
    serde_json::to_string(event).unwrap_or_default()
}

fn stats_line(stats: &Stats) -> String {
    Object::new().text("event", "stats").raw("stats", &serde_json::to_string(stats).unwrap_or_default()).finish()
}

fn outcome(line: &str, result: Result<(), String>) -> String {
    match result {
        Ok(()) => Object::new().text("event", "done").text("line", line).finish(),
        Err(error) => Object::new().text("event", "failed").text("line", line).text("error", &error).finish(),
    }
}

fn print<W: Write>(stdout: &mut W, line: &str) -> io::Result<()> {
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_usage_is_a_command() {
        for (form, _) in USAGE {
            let line = form
                .replace("MS", "250")
                .replace("on|off", "on")
                .replace("TYPE", "X")
                .replace("NAME", "y")
                .replace("KIND", "140");
            assert!(parse(&line).is_ok(), "{line}");
            assert!(parse(&format!("{line} more")).is_err(), "{line} with one word too many");
        }
    }

    #[test]
    fn a_wrong_line_names_its_usage() {
        assert_eq!(parse("modal maybe").unwrap_err(), "usage: modal on|off (open or close a modal dialog)");
        assert!(parse("reload").unwrap_err().starts_with("usage: reload MS"));
        assert!(parse("dance").unwrap_err().contains("reload MS, move MS, down"));
    }
}
