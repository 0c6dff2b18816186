//! Values that are read at each scrape instead of being counted by events.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::labels::{Instance, Part};

/// The values of a gateway that are read for one scrape. If there are several sessions, each of their values is a sum.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Open requests of the clients.
    pub requests_open: usize,
    /// Lines in the queues to stdout.
    pub stdout_queued: usize,
    /// Notifications dropped because the client read too slowly.
    pub stdout_dropped: u64,
    /// Answers to requests that were no longer open.
    pub stdout_surplus: u64,
    /// The links.
    pub links: Vec<LinkSample>,
    /// Calls that were answered a second time: a broken promise.
    pub answered_twice: u64,
    /// The number of events that a call did not expect in its state, by that state.
    pub calls_undecided: BTreeMap<&'static str, u64>,
    /// Messages in the mailbox of each part.
    pub mailboxes: [(Part, usize); 3],
    /// Push messages in mailboxes.
    pub pushes: usize,
    /// The number of ports and projects that surveys found, by what may be done with them.
    pub instances: [(Instance, usize); 4],
    /// What only a hub has; `None` in any other gateway.
    pub hub: Option<HubSample>,
}

/// The values of one link that are read for one scrape. Made by `Events::sample_of_link`.
#[derive(Debug, Clone)]
pub struct LinkSample {
    /// The metrics of the link.
    pub metrics: Metrics,
    /// The state of the bridge machine, and when it was entered.
    pub bridge: (&'static str, SystemTime),
    /// Calls that are held.
    pub held: usize,
    /// Calls that were sent and not yet answered.
    pub in_flight: usize,
    /// The epoch of the open connection; 0 if there is none.
    pub epoch: u64,
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
