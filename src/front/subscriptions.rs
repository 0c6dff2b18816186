//! `subscriptions/listen` of the stateless era: open requests that belong to nobody, to be told of changes.

use super::{Front, Holder, Line, TOOLS_CHANGED};
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::protocol::jsonrpc::RequestId;
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
    pub fn subscribe(&self, id: &RequestId, filter: Filter) -> Result<(), TooManySubscriptions> {
        let mut inner = self.lock();
        let count = inner.open.values().filter(|open| matches!(open.holder, Holder::Subscription(_))).count();
        if count >= SUBSCRIPTIONS_MAX {
            return Err(TooManySubscriptions);
        }
        // Cancelled meanwhile: nothing is said of it any more.
        let Some(open) = inner.open.get_mut(id) else { return Ok(()) };
        open.holder = Holder::Subscription(filter);
        if inner.broken {
            return Ok(());
        }
        // Queued under the same lock: what this subscription is told comes behind it. It is owed, and so is never dropped.
        let text = stateless::acknowledged(id, filter);
        inner.queued_bytes += text.len();
        inner.queue.push_back(Line { text, notification: None });
        drop(inner);
        self.events.message_queued(MessageKind::Notification, "");
        self.filled.notify_one();
        Ok(())
    }

    /// Tells every subscription that asked for it, or only this one, that the list of tools is another one.
    pub fn tools_changed(&self, only: Option<&RequestId>) {
        let listening = self.requests(|holder| matches!(holder, Holder::Subscription(Filter { tools: true })));
        for id in listening.into_iter().filter(|id| only.is_none_or(|only| only == id)) {
            self.notify_of(Some(&id), TOOLS_CHANGED, stateless::tools_list_changed(&id), true);
        }
    }

    /// Ends every subscription with the answer to its request.
    pub fn end_subscriptions(&self) {
        for id in self.requests(|holder| matches!(holder, Holder::Subscription(_))) {
            self.settle(&id, Outcome::Ok, |_| stateless::subscription_ended(&id));
        }
    }
}
