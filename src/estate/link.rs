//! The state of the link, and the times without the editor.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::fsm::cause::{Cause, Loss, Outlook};
use crate::limits::OUTAGES_MAX;
use crate::protocol::dialect::Pulse;
use crate::protocol::ids::Epoch;
use crate::survey::Target;

/// The state of the link, for status, the session and whoever waits for it.
#[derive(Debug, Clone)]
pub struct LinkView {
    /// The bridge machine's state.
    pub state: &'static str,
    /// What callers may expect.
    pub outlook: Outlook,
    /// Nothing speaks for or against an editor yet.
    pub undecided: bool,
    /// Since when it is so.
    pub since: Instant,
    /// The connection, while there is one.
    pub epoch: Option<Epoch>,
    /// Whom it is (or was last) connected to.
    pub target: Option<Target>,
    /// Who was met there in its place, until the editor is.
    pub stranger: Option<Stranger>,
    /// Connections that were greeted so far.
    pub connections: u64,
    /// How the editor was when it was asked last, and when that was; only while it is connected, and where it can be asked.
    pub pulse: Option<(Pulse, Instant)>,
    /// The last times when a greeted connection ended, oldest first; at most [`OUTAGES_MAX`].
    pub outages: VecDeque<Outage>,
}

/// Somebody on an editor's port who does not answer as an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// The port.
    pub port: u16,
    /// What it is, as far as its words tell; `None`: it says nothing.
    pub what: Option<String>,
    /// Its process, where the system tells.
    pub owner: Option<String>,
    /// When it was told apart.
    pub since: Instant,
}

/// A time without the editor after it was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the connection ended.
    pub at: Instant,
    /// How it ended.
    pub loss: Loss,
    /// What kept the editor away, as far as it was seen afterwards: a reload may be known only by its lock file.
    pub cause: Option<Cause>,
    /// How long it took until the next connection was greeted.
    pub back_after: Option<Duration>,
}

impl LinkView {
    /// A greeted connection ended.
    pub fn lost(&mut self, loss: Loss) {
        self.pulse = None;
        if self.outages.len() >= OUTAGES_MAX {
            self.outages.pop_front();
        }
        self.outages.push_back(Outage { at: Instant::now(), loss, cause: None, back_after: None });
    }

    /// The last outage, while the editor is not back from it.
    pub fn outage(&mut self) -> Option<&mut Outage> {
        self.outages.back_mut().filter(|outage| outage.back_after.is_none())
    }
}
