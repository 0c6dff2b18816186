//! The state of the link, and its outages.

use std::collections::VecDeque;
use tokio::time::Instant;

use crate::core::link::{EditorIdentity, ForeignPeer, Outage};
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::limits::OUTAGES_MAX;
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::Epoch;
use crate::survey::Target;

/// The state of the link, for the status, for the sessions, and for tasks that wait for a change.
#[derive(Debug, Clone)]
pub struct LinkView {
    /// The bridge machine's state.
    pub state: &'static str,
    /// What callers may expect of the link.
    pub availability: Availability,
    /// Whether there is no evidence yet for or against an editor.
    pub undecided: bool,
    /// Since when the bridge machine has been in this state.
    pub since: Instant,
    /// The epoch of the greeted connection; `None` while there is none.
    pub epoch: Option<Epoch>,
    /// The target that the link is connected to, or was connected to last.
    pub target: Option<Target>,
    /// The process and domain of that target's editor, as far as they are known.
    pub editor: EditorIdentity,
    /// The peer at the editor's port that did not answer as the editor; `None` once the editor is greeted, or nothing listens
    /// there any more.
    pub foreign_peer: Option<ForeignPeer>,
    /// Number of connections that were greeted so far.
    pub connections: u64,
    /// The last heartbeat and when it arrived; only while an editor is connected that sends heartbeats.
    pub heartbeat: Option<(Heartbeat, Instant)>,
    /// The last outages (times without a connection, after a greeted one ended), oldest first; at most [`OUTAGES_MAX`].
    pub outages: VecDeque<Outage>,
}

impl LinkView {
    /// The state before the first survey.
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

    /// Records that a greeted connection ended.
    pub fn lost(&mut self, loss: Loss) {
        self.heartbeat = None;
        if self.outages.len() >= OUTAGES_MAX {
            self.outages.pop_front();
        }
        self.outages.push_back(Outage { at: Instant::now(), loss, cause: None, back_after: None });
    }

    /// Ends the last outage, if it has not ended yet. What the editor's return shows (`back`) supplies a missing cause, and
    /// replaces an assumed one that it contradicts.
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

    /// Returns the last outage; `None` if there was none, or if the editor is back.
    pub fn outage(&mut self) -> Option<&mut Outage> {
        self.outages.back_mut().filter(|outage| outage.back_after.is_none())
    }
}
