//! Every event that is told, one function each: its log line and, beside it, its metric. No line holds arguments, results or
//! tokens; what comes from a peer is cleaned.
//!
//! An [`Events`] belongs to one gateway: its numbers and its flight recorder are that gateway's.

mod calls;
mod link;
mod link_story;
mod machines;
mod quota;
mod sample;
mod sampled;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use self::link_story::LinkStory;
use self::quota::Quota;
pub use self::sample::Sample;
use super::flight::{FlightRecorder, Timeline};
use super::log_queue::LogCounts;
use super::metrics::Metrics;
use crate::platform::host::Host;

/// See the module's documentation. Clones share it. The default counts nothing.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    metrics: Metrics,
    flight: FlightRecorder,
    host: Option<Arc<dyn Host>>,
    link: Mutex<LinkStory>,
    session: Mutex<Option<super::metrics::labels::Row>>,
    logs: OnceLock<LogCounts>,
    /// Lines about what a peer sends: it decides how many there could be.
    bad_lines: Quota,
    strays: Quota,
    began: SystemTime,
    /// A scrape at a time: what it samples must belong together.
    scraping: Mutex<()>,
}

impl Default for Events {
    fn default() -> Self {
        Self::of(Metrics::default(), None)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Events").field(&self.0.metrics).finish()
    }
}

impl Events {
    /// The events of a gateway on this machine, counted if `counted`.
    pub fn new(host: Arc<dyn Host>, counted: bool) -> Self {
        let metrics = if counted { Metrics::recording() } else { Metrics::default() };
        Self::of(metrics, Some(host))
    }

    fn of(metrics: Metrics, host: Option<Arc<dyn Host>>) -> Self {
        let began = host.as_ref().map_or(SystemTime::UNIX_EPOCH, |host| host.now());
        let events = Self(Arc::new(Inner {
            metrics,
            flight: FlightRecorder::new(began),
            host,
            link: Mutex::default(),
            session: Mutex::default(),
            logs: OnceLock::new(),
            bad_lines: Quota::default(),
            strays: Quota::default(),
            began,
            scraping: Mutex::default(),
        }));
        events.announce();
        events
    }

    /// Whether anything is counted.
    pub fn counted(&self) -> bool {
        self.metrics().is_on()
    }

    /// What every machine did within this window; at most `most` transitions of each, the newest.
    pub fn timelines(&self, window: Duration, most: usize) -> Vec<Timeline> {
        self.0.flight.timelines(window, most, self.now())
    }

    /// Hears of every transition of a machine.
    pub fn transitions(&self) -> watch::Receiver<()> {
        self.0.flight.subscribe()
    }

    /// Whose log lines are counted.
    pub fn watch_logs(&self, counts: LogCounts) {
        // Set once, at the start of a process.
        let _ = self.0.logs.set(counts);
    }

    fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    fn now(&self) -> SystemTime {
        self.0.host.as_ref().map_or(SystemTime::UNIX_EPOCH, |host| host.now())
    }
}

#[cfg(test)]
mod tests;
