//! All events. Each event is one function, which writes the log line and updates the metric. Log lines never have arguments,
//! results or tokens. Texts from a peer are cleaned.
//!
//! An [`Events`] belongs to one gateway and has that gateway's metrics and flight recorder. Each further link and session gets
//! its own `Events`, whose log lines name the link or session.

mod calls;
mod hand_overs;
mod http;
mod hub;
mod link;
mod link_story;
mod machines;
mod quota;
mod sample;
mod sampled;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use self::hand_overs::HandOvers;
use self::link_story::LinkStory;
use self::quota::Quota;
pub use self::sample::{HubSample, LinkSample, Sample};
use super::flight::{FlightRecorder, Timeline};
use super::log_queue::LogCounts;
use super::metrics::{Metrics, MetricsLevel};
use crate::platform::host::Host;
use crate::protocol::ids::{LinkId, SessionId};

/// The events of a gateway, a link or a session. Clones share their state. The default value records no metrics.
#[derive(Clone)]
pub struct Events(Arc<Inner>, Arc<Part>);

/// The link or session that the events belong to, and what its events must remember.
struct Part {
    /// The link that log lines name; `None` for the first link.
    link: Option<u32>,
    /// The session that log lines name; `None` for the first session.
    session: Option<u32>,
    metrics: Metrics,
    flight: FlightRecorder,
    /// Whether the session is that of one message: it is no session for people, and its start and end are no news.
    is_post: bool,
    story: Mutex<LinkStory>,
}

struct Inner {
    host: Option<Arc<dyn Host>>,
    /// The last delay before a dial.
    dial_delay: Mutex<Duration>,
    session: Mutex<Option<super::metrics::labels::Row>>,
    logs: OnceLock<LogCounts>,
    /// The number of open streams over HTTP.
    http_streams: AtomicUsize,
    /// Limits the log lines about messages of a peer, since the peer decides how many messages it sends.
    bad_lines: Quota,
    strays: Quota,
    bad_frames: Quota,
    wrong_peers: Quota,
    dropped_tools: Quota,
    troubles: Quota,
    project_problems: Quota,
    refused_sessions: Quota,
    began: SystemTime,
    hand_overs: HandOvers,
    /// Held during a scrape, so that all values in it come from one sample.
    scraping: Mutex<()>,
}

impl Default for Events {
    fn default() -> Self {
        Self::of(Metrics::default(), None)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Events").field(self.metrics()).finish()
    }
}

impl Events {
    /// Returns the events of a gateway on this machine. Metrics are recorded at this level, if one is given.
    pub fn new(host: Arc<dyn Host>, counted: Option<MetricsLevel>) -> Self {
        let metrics = counted.map(Metrics::recording).unwrap_or_default();
        Self::of(metrics, Some(host))
    }

    fn of(metrics: Metrics, host: Option<Arc<dyn Host>>) -> Self {
        let began = host.as_ref().map_or(SystemTime::UNIX_EPOCH, |host| host.now());
        let inner = Inner {
            host,
            dial_delay: Mutex::default(),
            session: Mutex::default(),
            logs: OnceLock::new(),
            http_streams: AtomicUsize::new(0),
            bad_lines: Quota::default(),
            strays: Quota::default(),
            bad_frames: Quota::default(),
            wrong_peers: Quota::default(),
            dropped_tools: Quota::default(),
            troubles: Quota::default(),
            project_problems: Quota::default(),
            refused_sessions: Quota::default(),
            began,
            hand_overs: HandOvers::default(),
            scraping: Mutex::default(),
        };
        let flight = FlightRecorder::new(began);
        let part = Part { link: None, session: None, metrics, flight, is_post: false, story: Mutex::default() };
        let events = Self(Arc::new(inner), Arc::new(part));
        events.announce();
        events
    }

    /// Returns the events of a further link: their log lines name the link, its metrics the project that it leads to, and its
    /// machines, losses and returns are kept separately.
    #[must_use]
    pub fn of_link(&self, link: LinkId, project: Option<&Path>) -> Self {
        let metrics = project.map_or_else(|| self.metrics().clone(), |project| self.metrics().of_project(project));
        self.part(Some(link.0), None, metrics, false)
    }

    /// Returns the events of a further session: their log lines name the session, and its machine is kept separately.
    #[must_use]
    pub fn of_session(&self, session: SessionId) -> Self {
        let (is_post, named) = (session.is_post(), Some(session.0).filter(|_| !session.is_post()));
        self.part(None, named, self.metrics().clone(), is_post)
    }

    fn part(&self, link: Option<u32>, session: Option<u32>, metrics: Metrics, is_post: bool) -> Self {
        let flight = self.1.flight.another(self.now());
        Self(Arc::clone(&self.0), Arc::new(Part { link, session, metrics, flight, is_post, story: Mutex::default() }))
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

    /// Notes that an actor of this name handles a message, or that a channel or a notice woke a task of this name.
    pub fn handed_over(&self, to: &'static str) {
        self.0.hand_overs.add(to);
    }

    /// Returns how often each actor or task was handed something since the last time. Counts from the first time on.
    pub fn take_hand_overs(&self) -> BTreeMap<&'static str, u64> {
        self.0.hand_overs.take()
    }

    /// Returns what every machine of this link or session did within this window, with at most the `most` newest transitions of each.
    pub fn timelines(&self, window: Duration, most: usize) -> Vec<Timeline> {
        self.1.flight.timelines(window, most, self.now())
    }

    /// Returns a receiver that is notified of every transition of a machine.
    pub fn transitions(&self) -> watch::Receiver<()> {
        self.1.flight.subscribe()
    }

    /// Sets the counters of log lines, whose values a scrape shows.
    pub fn watch_logs(&self, counts: LogCounts) {
        // Set once, at the start of a process.
        let _ = self.0.logs.set(counts);
    }

    fn metrics(&self) -> &Metrics {
        &self.1.metrics
    }

    fn now(&self) -> SystemTime {
        self.0.host.as_ref().map_or(SystemTime::UNIX_EPOCH, |host| host.now())
    }
}

#[cfg(test)]
mod tests;
