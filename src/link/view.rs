//! The state of the link, and its outages.

use std::collections::VecDeque;
use tokio::time::Instant;

use crate::core::link::{EditorIdentity, ForeignPeer, Outage};
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::limits::OUTAGES_MAX;
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::Epoch;
use crate::survey::Target;

/// The state of the link, for the status, the session, and those who wait for a change.
#[derive(Debug, Clone)]
pub struct LinkView {
    /// The bridge machine's state.
    pub state: &'static str,
    /// What callers may expect.
    pub availability: Availability,
    /// Nothing shows yet whether an editor is there.
    pub undecided: bool,
    /// Since when this state lasts.
    pub since: Instant,
    /// The epoch of the connection, while there is one.
    pub epoch: Option<Epoch>,
    /// The target that the link is or was last connected to.
    pub target: Option<Target>,
    /// The process and domain of that editor, as far as is known.
    pub editor: EditorIdentity,
    /// The foreign peer met in the editor's place; `None` once the editor is met.
    pub foreign_peer: Option<ForeignPeer>,
    /// Connections that were greeted so far.
    pub connections: u64,
    /// The last heartbeat and when it arrived; only while an editor is connected that sends heartbeats.
    pub heartbeat: Option<(Heartbeat, Instant)>,
    /// The last outages (times when a greeted connection ended), oldest first; at most [`OUTAGES_MAX`].
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

    /// Ends the last outage. What the editor shows about its cause (`back`) overrides the cause that was assumed.
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

    /// The last outage, until the editor is back.
    pub fn outage(&mut self) -> Option<&mut Outage> {
        self.outages.back_mut().filter(|outage| outage.back_after.is_none())
    }
}
