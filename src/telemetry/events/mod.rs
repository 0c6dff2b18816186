//! Every event that is told, one function each: its log line and, beside it, its metric. No line holds arguments, results or
//! tokens; what comes from a peer is cleaned.
//!
//! An [`Events`] belongs to one gateway: its numbers and its flight recorder are that gateway's. Each link and each session that it
//! opens has one that names it in its lines.

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
use crate::protocol::ids::{LinkId, SessionId};

/// See the module's documentation. Clones share it. The default counts nothing.
#[derive(Clone)]
pub struct Events(Arc<Inner>, Arc<Part>);

/// Whose the events are, and what must be remembered of them.
#[derive(Default)]
struct Part {
    /// For its lines; none for the link that is there from the start.
    link: Option<u32>,
    /// The same of a session.
    session: Option<u32>,
    story: Mutex<LinkStory>,
}

struct Inner {
    metrics: Metrics,
    flight: FlightRecorder,
    host: Option<Arc<dyn Host>>,
    /// How long a bridge waits before it dials again, if one does.
    dial_delay: Mutex<Duration>,
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
        let inner = Inner {
            metrics,
            flight: FlightRecorder::new(began),
            host,
            dial_delay: Mutex::default(),
            session: Mutex::default(),
            logs: OnceLock::new(),
            bad_lines: Quota::default(),
            strays: Quota::default(),
            began,
            scraping: Mutex::default(),
        };
        let events = Self(Arc::new(inner), Arc::default());
        events.announce();
        events
    }

    /// The same for a link that is opened: its lines name it, and what it loses and finds again is its own.
    #[must_use]
    pub fn of_link(&self, link: LinkId) -> Self {
        Self(Arc::clone(&self.0), Arc::new(Part { link: Some(link.0), ..Part::default() }))
    }

    /// The same for a session that is opened.
    #[must_use]
    pub fn of_session(&self, session: SessionId) -> Self {
        Self(Arc::clone(&self.0), Arc::new(Part { session: Some(session.0), ..Part::default() }))
    }

    fn link(&self) -> Option<u32> {
        self.1.link
    }

    fn session(&self) -> Option<u32> {
        self.1.session
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
