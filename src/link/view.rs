//! The state of the link, and the times without the editor.

use std::collections::VecDeque;
use tokio::time::Instant;

use crate::core::link::{EditorIdentity, ForeignPeer, Outage};
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::limits::OUTAGES_MAX;
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::Epoch;
use crate::survey::Target;

/// The state of the link, for status, the session and whoever waits for it.
#[derive(Debug, Clone)]
pub struct LinkView {
    /// The bridge machine's state.
    pub state: &'static str,
    /// What callers may expect.
    pub availability: Availability,
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
    pub foreign_peer: Option<ForeignPeer>,
    /// Connections that were greeted so far.
    pub connections: u64,
    /// How the editor was when it was asked last, and when that was; only while it is connected, and where it can be asked.
    pub heartbeat: Option<(Heartbeat, Instant)>,
    /// The last times when a greeted connection ended, oldest first; at most [`OUTAGES_MAX`].
    pub outages: VecDeque<Outage>,
}

impl LinkView {
    /// Before anything was looked for.
    pub(super) fn new() -> Self {
        Self {
            state: "idle",
            availability: Availability::Coming(Cause::Connecting),
            undecided: true,
            since: Instant::now(),
            epoch: None,
            target: None,
            editor: EditorIdentity::default(),
            foreign_peer: None,
            connections: 0,
            heartbeat: None,
            outages: VecDeque::new(),
        }
    }

    /// A greeted connection ended.
    pub fn lost(&mut self, loss: Loss) {
        self.heartbeat = None;
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
