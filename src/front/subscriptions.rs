//! `subscriptions/listen` of the stateless era: open requests that belong to nobody, to be told of changes.

use super::{Front, Holder, Line, TOOLS_CHANGED};
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::protocol::ids::RequestKey;
use crate::protocol::mcp::stateless::{self, Filter};
use crate::telemetry::metrics::labels::{MessageKind, Outcome};

/// A client listens as often as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySubscriptions;

impl Front {
    /// Makes an open request a subscription and tells its client so, before anything else that it is told under it.
    ///
    /// # Errors
    /// More are open than may be: the request is still open, and must be answered.
    pub fn subscribe(&self, key: RequestKey, filter: Filter) -> Result<(), TooManySubscriptions> {
        let mut inner = self.lock();
        let count = inner.open.values().filter(|open| matches!(open.holder, Holder::Subscription(_))).count();
        if count >= SUBSCRIPTIONS_MAX {
            return Err(TooManySubscriptions);
        }
        // Cancelled meanwhile: nothing is said of it any more.
        let Some(open) = inner.open.get_mut(&key) else { return Ok(()) };
        open.holder = Holder::Subscription(filter);
        let text = stateless::acknowledged(&open.id, filter);
        if inner.broken {
            return Ok(());
        }
        // Queued under the same lock: what this subscription is told comes behind it. It is owed, and so is never dropped.
        inner.queued_bytes += text.len();
        inner.queue.push_back(Line { text, notification: None });
        drop(inner);
        self.events.message_queued(MessageKind::Notification, "");
        self.filled.notify_one();
        Ok(())
    }

    /// Tells every subscription that asked for it, or only this one, that the list of tools is another one.
    pub fn tools_changed(&self, only: Option<RequestKey>) {
        let listening = self.requests(|holder| matches!(holder, Holder::Subscription(Filter { tools: true })));
        for key in listening.into_iter().filter(|key| only.is_none_or(|only| only == *key)) {
            let Some(id) = self.id(key) else { continue };
            self.notify_of(Some(key), TOOLS_CHANGED, stateless::tools_list_changed(&id), true);
        }
    }

    /// Ends every subscription with the answer to its request.
    pub fn end_subscriptions(&self) {
        for key in self.requests(|holder| matches!(holder, Holder::Subscription(_))) {
            self.settle(key, Outcome::Ok, |open| stateless::subscription_ended(&open.id));
        }
    }
}
