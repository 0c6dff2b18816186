//! The state of the link, and the times without the editor.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::fsm::cause::{Cause, Loss, Outlook, Return};
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
    /// Which process and domain that is, as far as is known.
    pub editor: EditorIdentity,
    /// Who was met there in its place, until the editor is.
    pub stranger: Option<Stranger>,
    /// Connections that were greeted so far.
    pub connections: u64,
    /// How the editor was when it was asked last, and when that was; only while it is connected, and where it can be asked.
    pub pulse: Option<(Pulse, Instant)>,
    /// The last times when a greeted connection ended, oldest first; at most [`OUTAGES_MAX`].
    pub outages: VecDeque<Outage>,
}

/// Which domain of which process a connection leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorIdentity {
    /// The process, by the project's files.
    pub pid: Option<u32>,
    /// The domain, by the greeting ([`Met::domain`](crate::protocol::dialect::Met::domain)).
    pub domain: Option<u64>,
}

impl EditorIdentity {
    /// What `now` tells of the time since this.
    pub fn since(self, now: Self) -> Return {
        match (self.pid.zip(now.pid), self.domain.zip(now.domain)) {
            (Some((before, now)), _) if before != now => Return::OtherProcess,
            (Some(_), Some((before, now))) if before == now => Return::SameDomain,
            (Some(_), Some(_)) => Return::Reloaded,
            _ => Return::Unknown,
        }
    }
}

/// Somebody on an editor's port who does not answer as an editor, or the editor itself that does not answer.
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
    /// It is the editor that is meant, by its process or its project: only its answer is missing.
    pub ours: bool,
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

    /// The editor is back from the last outage; what it tells of that counts for more than what was thought of it.
    pub fn is_back(&mut self, back: Return) {
        let Some(outage) = self.outage() else { return };
        outage.back_after = Some(outage.at.elapsed());
        outage.cause = match (back, outage.cause) {
            (Return::Reloaded, _) => Some(Cause::Reloading),
            (Return::SameDomain, Some(Cause::Reloading | Cause::BridgeStopped)) => Some(Cause::Lost),
            (Return::OtherProcess, Some(cause)) if cause.is_gone() => Some(cause),
            (Return::OtherProcess, _) => Some(Cause::ProcessGone),
            (Return::Unknown | Return::SameDomain, cause) => cause,
        };
    }

    /// The last outage, while the editor is not back from it.
    pub fn outage(&mut self) -> Option<&mut Outage> {
        self.outages.back_mut().filter(|outage| outage.back_after.is_none())
    }
}
