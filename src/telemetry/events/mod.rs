//! All events, one function each: it writes the log line and updates the metric. No line has arguments, results or tokens. Texts
//! from a peer are cleaned.
//!
//! An [`Events`] belongs to one gateway and shares that gateway's metrics and flight recorder. Each link and each session that is
//! opened gets one whose log lines name it.

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

/// The events of a gateway, a link or a session. Clones share their state. The default counts nothing.
#[derive(Clone)]
pub struct Events(Arc<Inner>, Arc<Part>);

/// The link or session of the events, and the state that they keep.
#[derive(Default)]
struct Part {
    /// The link in log lines; `None` for the first link.
    link: Option<u32>,
    /// The session in log lines; `None` for the first session.
    session: Option<u32>,
    story: Mutex<LinkStory>,
}

struct Inner {
    metrics: Metrics,
    flight: FlightRecorder,
    host: Option<Arc<dyn Host>>,
    /// The last delay before a dial.
    dial_delay: Mutex<Duration>,
    session: Mutex<Option<super::metrics::labels::Row>>,
    logs: OnceLock<LogCounts>,
    /// Limits the lines about messages of a peer, which decides how many it sends.
    bad_lines: Quota,
    strays: Quota,
    began: SystemTime,
    /// Held during a scrape: the values of one sample must belong together.
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
    /// The events of a gateway on this machine. Metrics are recorded if `counted`.
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

    /// The events of a link that is opened: their lines name the link, and losses and returns are kept for it alone.
    #[must_use]
    pub fn of_link(&self, link: LinkId) -> Self {
        Self(Arc::clone(&self.0), Arc::new(Part { link: Some(link.0), ..Part::default() }))
    }

    /// The events of a session that is opened: their lines name the session.
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

    /// Whether metrics are recorded.
    pub fn counted(&self) -> bool {
        self.metrics().is_on()
    }

    /// Returns what every machine did within this window, with at most the `most` newest transitions of each.
    pub fn timelines(&self, window: Duration, most: usize) -> Vec<Timeline> {
        self.0.flight.timelines(window, most, self.now())
    }

    /// Returns a receiver that changes with every transition of a machine.
    pub fn transitions(&self) -> watch::Receiver<()> {
        self.0.flight.subscribe()
    }

    /// Sets the counters of log lines that a scrape shows.
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
