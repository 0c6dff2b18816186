//! What is not counted as it happens.

use std::collections::BTreeMap;

use crate::telemetry::metrics::labels::{Instance, Part};

/// What is read off the gateway for one scrape.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Requests of the client that are open.
    pub requests_open: usize,
    /// Lines that wait for stdout.
    pub stdout_queued: usize,
    /// Notifications dropped for a slow reader.
    pub stdout_dropped: u64,
    /// Answers to requests that were not open any more.
    pub stdout_surplus: u64,
    /// Calls that have not been sent.
    pub calls_held: usize,
    /// Calls that were sent and have no answer.
    pub calls_in_flight: usize,
    /// Calls that were answered a second time.
    pub answered_twice: u64,
    /// Events that no state of a call decides, by the state.
    pub calls_undecided: BTreeMap<&'static str, u64>,
    /// Messages on their way to each part.
    pub mailboxes: [(Part, usize); 3],
    /// Pushes that wait.
    pub pushes: usize,
    /// The epoch of the connection that is open, or 0.
    pub epoch: u64,
    /// Editors that were found, by what is thought of them.
    pub instances: [(Instance, usize); 4],
}
