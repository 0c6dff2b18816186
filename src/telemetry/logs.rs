//! Logs on stderr (readable text on a terminal, JSON otherwise) and in the state folder (JSON, at least at the level
//! `info`). Logging never blocks and never writes to stdout.
//!
//! For each of the two, a thread writes lines from a queue of limited length. If stderr or the disk is slow, lines are
//! dropped, and the gateway goes on. A line tells how many were dropped.

use std::io::IsTerminal as _;
use std::path::Path;

use serde_json::json;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt as _};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::log_queue::LogQueue;
use crate::platform::host::{Host as _, RealHost};
use crate::storage::log_files::LogRing;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, clap::ValueEnum)]
pub enum Verbosity {
    /// Nothing.
    Off,
    /// What is our fault.
    Error,
    /// What somebody should look at.
    Warn,
    /// A line per change of state and per call.
    #[default]
    Info,
    /// Each step.
    Debug,
    /// Everything.
    Trace,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// `pretty` on a terminal, `json` otherwise.
    #[default]
    Auto,
    /// For a person.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Keeps the writing threads alive. Dropping this value writes the queued lines, within a time limit.
pub struct Logs {
    _stderr: LogQueue,
    _disk: Option<LogQueue>,
}

/// Starts logging. `state`: the state folder, in which a log is kept unless nothing is to be logged. Returns `None` if
/// a logger is already installed (by a test).
pub fn start(verbosity: Verbosity, format: Format, state: Option<&Path>) -> Option<Logs> {
    let terminal = std::io::stderr().is_terminal();
    let pretty = match format {
        Format::Auto => terminal,
        Format::Pretty => true,
        Format::Json => false,
    };
    let stderr = LogQueue::start(crate::platform::stdio::Stderr, if pretty { lost_for_people } else { lost_line });
    let state = state.filter(|_| verbosity != Verbosity::Off);
    let disk = state.map(|state| LogQueue::start(LogRing::of_this_process(state, &RealHost), lost_line));
    let shown = verbosity.targets();
    let all = if disk.is_some() { verbosity.max(Verbosity::Info).targets() } else { shown.clone() };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = stderr.writer();
    let to_stderr =
        (move || lines.clone()).with_filter(move |of: &Metadata<'_>| shown.would_enable(of.target(), of.level()));
    let to_disk = disk.as_ref().map(LogQueue::writer).map(|lines| move || lines.clone());
    let registry = tracing_subscriber::registry().with(all);
    // A line of JSON is formatted once, for stderr and for the folder.
    let (for_people, json) = match (pretty, to_disk) {
        (true, to_disk) => (Some(to_stderr), to_disk.map(BoxMakeWriter::new)),
        (false, None) => (None, Some(BoxMakeWriter::new(to_stderr))),
        (false, Some(to_disk)) => (None, Some(BoxMakeWriter::new(to_stderr.and(to_disk)))),
    };
    let for_people = for_people.map(|writer| {
        tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colours).with_target(false).compact()
    });
    let json = json.map(|writer| {
        tracing_subscriber::fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer)
    });
    let started = registry.with(for_people).with(json).try_init();
    started.ok().map(|()| Logs { _stderr: stderr, _disk: disk })
}

/// Returns the line of JSON in the place of so many lost lines.
fn lost_line(count: u64) -> String {
    let timestamp = humantime::format_rfc3339_micros(RealHost.now()).to_string();
    let line = json!({"timestamp": timestamp, "level": "WARN", "event": "log_lines_lost", "count": count});
    format!("{line}\n")
}

/// As [`lost_line`], for a person.
fn lost_for_people(count: u64) -> String {
    let timestamp = humantime::format_rfc3339_micros(RealHost.now());
    format!("{timestamp}  WARN event=\"log_lines_lost\" count={count}\n")
}

impl Verbosity {
    /// Returns which events are logged. From other crates, only warnings and errors are logged.
    fn targets(self) -> Targets {
        match self {
            Self::Off => Targets::new(),
            _ => Targets::new().with_default(LevelFilter::WARN).with_target("holdfast", self.filter()),
        }
    }

    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::from_level(Level::ERROR),
            Self::Warn => LevelFilter::from_level(Level::WARN),
            Self::Info => LevelFilter::from_level(Level::INFO),
            Self::Debug => LevelFilter::from_level(Level::DEBUG),
            Self::Trace => LevelFilter::from_level(Level::TRACE),
        }
    }
}
