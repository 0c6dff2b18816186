//! All events. Each event is one function, which writes the log line and updates the metric. Log lines never have
//! arguments, results or tokens. Texts from a peer are cleaned.
//!
//! An [`Events`] belongs to one gateway and has that gateway's metrics and flight recorder. Each further link and
//! session gets its own `Events`, whose log lines name the link or session.

mod calls;
mod hub;
mod link;
mod machines;
mod quota;
mod sampled;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use self::quota::Quota;
use super::flight::{FlightRecorder, Timeline};
use super::metrics::Metrics;
use crate::platform::host::Host;
use crate::protocol::ids::{LinkId, SessionId};

/// The name of a fault: a client's line has an id that is already in use. The other faults are those of
/// [`Fault`](crate::protocol::jsonrpc::Fault).
pub const DUPLICATE_ID: &str = "duplicate_id";
/// The name of a fault: too many requests are open.
pub const TOO_MANY_REQUESTS: &str = "too_many_requests";

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
    /// Whether the session is for one message. Such a session is no session for people, and its start and end are no
    /// news.
    is_post: bool,
    story: Mutex<LinkStory>,
}

/// How strong the signs of a domain reload are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Suspicion {
    /// No sign.
    #[default]
    None,
    /// The connection ended while the editor's process was alive, and its package announces nothing.
    Presumed,
    /// The editor or its files reported a reload.
    Told,
}

/// What the events of a link must remember from one event to the next.
#[derive(Debug, Default)]
struct LinkStory {
    /// When the last greeted connection ended; `None` while a greeted connection is open, or before the first one.
    lost: Option<Instant>,
    /// How strong the signs are that the outage is a domain reload.
    reload: Suspicion,
    /// When the editor accepted the connection that was greeted last.
    accepted: Option<Instant>,
    /// When the editor accepted the first connection after a loss. Removed when the first call is sent on it.
    back: Option<Instant>,
}

struct Inner {
    host: Option<Arc<dyn Host>>,
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

/// Counts how often work goes from one task to another: that is what a call and a reload cost beside the work itself.
/// The counter is off unless a test turns it on.
#[derive(Debug, Default)]
struct HandOvers {
    is_on: AtomicBool,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl HandOvers {
    fn add(&self, to: &'static str) {
        if self.is_on.load(Ordering::Relaxed) {
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(to).or_default() += 1;
        }
    }

    fn take(&self) -> BTreeMap<&'static str, u64> {
        self.is_on.store(true, Ordering::Relaxed);
        std::mem::take(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The values of a gateway that are read for one scrape. If there are several sessions, each of their values is a sum.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Open requests of the clients.
    pub requests_open: usize,
    /// The open sessions, each with the label of its client.
    pub sessions: Vec<&'static str>,
    /// Lines in the queues to stdout.
    pub stdout_queued: usize,
    /// The links.
    pub links: Vec<LinkSample>,
    /// Calls that were answered a second time: a broken promise.
    pub answered_twice: u64,
    /// The number of events that a call did not expect in its state, by that state.
    pub calls_undecided: BTreeMap<&'static str, u64>,
    /// The values that only a hub has; `None` in any other gateway.
    pub hub: Option<HubSample>,
}

/// The values of one link that are read for one scrape. Made by `Events::sample_of_link`.
#[derive(Debug, Clone)]
pub struct LinkSample {
    /// The metrics of the link.
    pub metrics: Metrics,
    /// The state of the bridge machine.
    pub bridge: &'static str,
    /// Calls that are held.
    pub held: usize,
    /// Calls that were sent and not yet answered.
    pub in_flight: usize,
}

/// The values of a hub that are read for one scrape.
#[derive(Debug, Clone, Copy)]
pub struct HubSample {
    /// Open sessions.
    pub sessions: usize,
    /// Records that could not be written since the hub's start.
    pub records_unwritten: u64,
    /// Whether the last record could not be written.
    pub records_failing: bool,
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
    /// Returns the events of a gateway on this machine. `counted`: whether metrics are recorded.
    pub fn new(host: Arc<dyn Host>, counted: bool) -> Self {
        Self::of(if counted { Metrics::recording() } else { Metrics::default() }, Some(host))
    }

    fn of(metrics: Metrics, host: Option<Arc<dyn Host>>) -> Self {
        let began = host.as_ref().map_or(SystemTime::UNIX_EPOCH, |host| host.now());
        let inner = Inner {
            host,
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

    /// Returns the events of a further link: their log lines name the link, its metrics the project that it leads to,
    /// and its machines, losses and returns are kept separately.
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

    /// Returns how often each actor or task was handed something since the last call of this function. The first call
    /// starts the count.
    pub fn take_hand_overs(&self) -> BTreeMap<&'static str, u64> {
        self.0.hand_overs.take()
    }

    /// Returns what every machine of this link or session did within this window, with at most the `most` newest
    /// transitions of each.
    pub fn timelines(&self, window: Duration, most: usize) -> Vec<Timeline> {
        self.1.flight.timelines(window, most, self.now())
    }

    /// Returns a receiver that is notified of every transition of a machine.
    pub fn transitions(&self) -> watch::Receiver<()> {
        self.1.flight.subscribe()
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
