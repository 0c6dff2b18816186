//! A stable address of an actor, which stays the same across its restarts.

use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{ActorId, ActorRef, Message};
use tokio::sync::watch;
use tokio::time::Instant;

/// The address of one actor. The slot is filled when the actor starts, emptied when it ends, and filled again at its restart.
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
    /// Fills the slot with the actor that starts.
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

    /// Sends a message to the running actor. Returns false, and drops the message, if no actor runs or the actor is ending. A
    /// restarted actor does not need it: it begins with its spec and the shared state.
    pub fn cast(&self, message: M) -> bool {
        let actor = self.current.borrow().clone();
        actor.is_some_and(|actor| actor.cast(message).is_ok())
    }

    /// Returns the running actor; `None` if it is being restarted.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.current.borrow().clone()
    }

    /// Waits until an actor other than `not` runs. Returns `None` if there is none at `deadline`.
    pub async fn up(&self, deadline: Instant, not: Option<ActorId>) -> Option<ActorRef<M>> {
        let mut watching = self.current.subscribe();
        let wanted = |current: &Option<ActorRef<M>>| current.as_ref().is_some_and(|actor| Some(actor.get_id()) != not);
        let found = tokio::time::timeout_at(deadline, watching.wait_for(wanted)).await;
        found.ok()?.ok()?.clone()
    }
}
