//! Which part of the gateway has an open request. The table of open requests and the part that has the request share this value,
//! so a request is passed on without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::protocol::ids::RequestKey;

/// The part of the gateway that has an open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Holder {
    /// The stdin reader: the request has not reached the session actor.
    Intake,
    Session,
    /// The ledger: the request became a call, whose verdict is its answer.
    Ledger,
    /// No part: the request stays open so that its client is notified of changes.
    Subscription,
}

/// The value instead of a [`Holder`] once the request was answered or cancelled.
const ENDED: u8 = u8::MAX;

/// An open request and its holder.
#[derive(Debug, Clone)]
pub struct Hold {
    key: RequestKey,
    holder: Arc<AtomicU8>,
}

impl Hold {
    /// Creates the hold of a request that was just opened and that the stdin reader has.
    pub(super) fn new(key: RequestKey) -> Self {
        Self { key, holder: Arc::new(AtomicU8::new(Holder::Intake as u8)) }
    }

    pub fn key(&self) -> RequestKey {
        self.key
    }

    /// Whether the request is neither answered nor cancelled.
    pub fn is_open(&self) -> bool {
        self.holder.load(Ordering::Acquire) != ENDED
    }

    /// Passes the request to another holder. Returns false if it was answered or cancelled; then it has no holder.
    pub fn pass(&self, to: Holder) -> bool {
        let next = |holder| (holder != ENDED).then_some(to as u8);
        self.holder.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    pub(super) fn is_with(&self, holder: Holder) -> bool {
        self.holder.load(Ordering::Acquire) == holder as u8
    }

    /// Marks the request as removed from the table.
    pub(super) fn end(&self) {
        self.holder.store(ENDED, Ordering::Release);
    }
}
