//! A stable address of an actor, which stays the same across its restarts.

use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{ActorId, ActorRef, Message};
use tokio::sync::watch;
use tokio::time::Instant;

/// The address of one actor. Filled when an incarnation starts, emptied when it ends.
#[derive(Debug)]
pub struct Slot<M> {
    current: watch::Sender<Option<ActorRef<M>>>,
    was_filled: AtomicBool,
}

impl<M> Default for Slot<M> {
    fn default() -> Self {
        Self { current: watch::Sender::new(None), was_filled: AtomicBool::new(false) }
    }
}

impl<M: Message> Slot<M> {
    /// Fills the slot with an incarnation.
    pub fn fill(&self, actor: ActorRef<M>) {
        self.was_filled.store(true, Ordering::Relaxed);
        self.current.send_replace(Some(actor));
    }

    /// Whether the slot was ever filled.
    pub fn was_filled(&self) -> bool {
        self.was_filled.load(Ordering::Relaxed)
    }

    /// Empties the slot.
    pub fn clear(&self) {
        self.current.send_replace(None);
    }

    /// Sends a message to the current incarnation. False if there is none, or it is ending: the message is dropped. The next
    /// incarnation starts from its spec and the ledger, not from messages.
    pub fn cast(&self, message: M) -> bool {
        let actor = self.current.borrow().clone();
        actor.is_some_and(|actor| actor.cast(message).is_ok())
    }

    /// The current incarnation.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.current.borrow().clone()
    }

    /// Waits for an incarnation other than `not`, until `deadline`.
    pub async fn up(&self, deadline: Instant, not: Option<ActorId>) -> Option<ActorRef<M>> {
        let mut watching = self.current.subscribe();
        let wanted = |current: &Option<ActorRef<M>>| current.as_ref().is_some_and(|actor| Some(actor.get_id()) != not);
        let found = tokio::time::timeout_at(deadline, watching.wait_for(wanted)).await;
        found.ok()?.ok()?.clone()
    }
}
