//! How actors are reached: addresses that stay the same when an actor is started again, and permits for what comes from outside.

use std::sync::Arc;

use ractor::{ActorId, ActorRef, Message};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::limits::{MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX};

/// The address of one actor: filled when it starts, emptied when it has ended, and filled again by its successor. Clones share it.
pub struct Slot<M>(Arc<watch::Sender<Option<ActorRef<M>>>>);

impl<M> Default for Slot<M> {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl<M> Clone for Slot<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M> std::fmt::Debug for Slot<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl<M: Message> Slot<M> {
    pub fn fill(&self, actor: ActorRef<M>) {
        self.0.send_replace(Some(actor));
    }

    pub fn clear(&self) {
        self.0.send_replace(None);
    }

    /// Sends a message to the running actor. Returns false, and drops the message, if no actor runs or the actor is ending. Its
    /// successor does not need the message: it begins with the state that outlives actors.
    pub fn cast(&self, message: M) -> bool {
        self.get().is_some_and(|actor| actor.cast(message).is_ok())
    }

    /// Returns the running actor, if one runs.
    pub fn get(&self) -> Option<ActorRef<M>> {
        self.0.borrow().clone()
    }

    /// Waits until an actor other than `not` runs. Returns `None` if there is none at `deadline`.
    pub async fn up(&self, deadline: Instant, not: Option<ActorId>) -> Option<ActorRef<M>> {
        let mut watching = self.0.subscribe();
        let wanted = |current: &Option<ActorRef<M>>| current.as_ref().is_some_and(|actor| Some(actor.get_id()) != not);
        let found = tokio::time::timeout_at(deadline, watching.wait_for(wanted)).await;
        found.ok()?.ok()?.clone()
    }
}

/// The number of bytes that one permit of the byte semaphore stands for.
const GRAIN: usize = 1024;

/// The limit of one mailbox, in messages and in bytes. ractor's own mailboxes are unbounded, so a message from outside needs a permit
/// first.
#[derive(Debug, Clone)]
pub struct Mailbox {
    messages: Arc<Semaphore>,
    grains: Arc<Semaphore>,
}

/// The right to send one message. It lasts until the message is handled, or dropped with the mailbox of a dead actor.
#[derive(Debug)]
pub struct Permit {
    _message: OwnedSemaphorePermit,
    _grains: OwnedSemaphorePermit,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self {
            messages: Arc::new(Semaphore::new(MAILBOX_MESSAGES_MAX)),
            grains: Arc::new(Semaphore::new(MAILBOX_BYTES_MAX / GRAIN)),
        }
    }
}

impl Mailbox {
    /// Waits for the right to send a message of this many bytes. `None` never happens: the semaphores are not closed.
    pub async fn permit(&self, bytes: usize) -> Option<Permit> {
        let grains = u32::try_from((bytes / GRAIN + 1).min(MAILBOX_BYTES_MAX / GRAIN)).unwrap_or(u32::MAX);
        let message = Arc::clone(&self.messages).acquire_owned().await.ok()?;
        let grains = Arc::clone(&self.grains).acquire_many_owned(grains).await.ok()?;
        Some(Permit { _message: message, _grains: grains })
    }

    /// Waits until every message with a permit has been handled.
    pub async fn idle(&self) {
        let all = u32::try_from(MAILBOX_MESSAGES_MAX).unwrap_or(u32::MAX);
        let _ = self.messages.acquire_many(all).await;
    }

    /// The number of messages that are waiting or being handled.
    pub fn used(&self) -> usize {
        MAILBOX_MESSAGES_MAX.saturating_sub(self.messages.available_permits())
    }
}
