//! Logs on stderr: readable text on a terminal, JSON otherwise. Logging never blocks and never writes to stdout.
//!
//! A thread writes lines from a queue of limited length. If stderr is slow, lines are dropped and counted, and the gateway goes
//! on.

use std::io::IsTerminal as _;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::log_queue::{LogCounts, LogQueue};

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
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

/// Keeps the writing thread alive. Dropping this value writes the queued lines, within a time limit.
pub struct Logs(LogQueue);

impl Logs {
    /// Returns the counters of the log lines.
    pub fn counts(&self) -> LogCounts {
        self.0.counts()
    }
}

/// Starts logging. Returns `None` if a logger is already installed (by a test).
pub fn start(verbosity: Verbosity, format: Format) -> Option<Logs> {
    let queue = LogQueue::start(crate::platform::stdio::Stderr);
    let lines = queue.writer();
    let writer = move || lines.clone();
    let terminal = std::io::stderr().is_terminal();
    let pretty = match format {
        Format::Auto => terminal,
        Format::Pretty => true,
        Format::Json => false,
    };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let filter = Targets::new().with_default(LevelFilter::WARN).with_target("holdfast", verbosity.filter());
    let filter = if verbosity == Verbosity::Off { Targets::new() } else { filter };
    let registry = tracing_subscriber::registry().with(filter).with(CountLevels(queue.counts()));
    let started = if pretty {
        let layer =
            tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colours).with_target(false).compact();
        registry.with(layer).try_init()
    } else {
        let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer);
        registry.with(layer).try_init()
    };
    started.ok().map(|()| Logs(queue))
}

/// Counts the logged events by level.
struct CountLevels(LogCounts);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for CountLevels {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        self.0.line(*event.metadata().level());
    }
}

impl Verbosity {
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
