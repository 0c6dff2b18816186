//! Permits for mailboxes. ractor's own mailboxes are unbounded, so a message from outside needs a permit first.
//!
//! A permit lasts until its message is handled, not until a call ends. Permits are counted in messages and in bytes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX};

/// The number of bytes that one permit of the byte semaphore stands for.
const GRAIN: usize = 1024;

/// The limit of one mailbox.
#[derive(Debug, Clone)]
pub struct Mailbox {
    messages: Arc<Semaphore>,
    grains: Arc<Semaphore>,
}

/// The right to send one message. It is released when the message is dropped, also if that is with the mailbox of a dead actor.
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
