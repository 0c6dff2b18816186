//! In whose hands an open request is. The table of open requests and the part that has the request share it, so that handing the
//! request on takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::protocol::ids::RequestKey;

/// In whose hands an open request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Holder {
    /// The stdin reader's: no session has it.
    Intake,
    /// A session's.
    Session,
    /// The ledger's: it became a call, whose verdict is its answer.
    Ledger,
    /// No part's: it is open to be told of changes.
    Subscription,
}

/// It was answered or cancelled.
const ENDED: u8 = u8::MAX;

/// An open request, and in whose hands it is.
#[derive(Debug, Clone)]
pub struct Hold {
    key: RequestKey,
    holder: Arc<AtomicU8>,
}

impl Hold {
    /// A request that was just opened: the stdin reader has it.
    pub(super) fn new(key: RequestKey) -> Self {
        Self { key, holder: Arc::new(AtomicU8::new(Holder::Intake as u8)) }
    }

    /// The request.
    pub fn key(&self) -> RequestKey {
        self.key
    }

    /// Whether it is neither answered nor cancelled.
    pub fn is_open(&self) -> bool {
        self.holder.load(Ordering::Acquire) != ENDED
    }

    /// Puts it into other hands. False if it was answered or cancelled: then it is in nobody's.
    pub fn pass(&self, to: Holder) -> bool {
        let next = |holder| (holder != ENDED).then_some(to as u8);
        self.holder.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    pub(super) fn is_with(&self, holder: Holder) -> bool {
        self.holder.load(Ordering::Acquire) == holder as u8
    }

    /// It leaves the table.
    pub(super) fn end(&self) {
        self.holder.store(ENDED, Ordering::Release);
    }
}
