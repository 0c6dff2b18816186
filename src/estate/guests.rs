//! Calls of others than the client: of the HTTP API that a package's documents have. They go the way of the client's calls, through
//! the same ledger and with the same promises, in the same queue for the editor. Only the answer goes to whoever asked, and no
//! request of the client stands for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::waiting::{GuestAnswer, GuestCall};
use super::{Estate, enter};
use crate::core::calls::NewCall;
use crate::limits::GUEST_CALLS_MAX;
use crate::protocol::ids::RequestKey;
use crate::protocol::mcp::ClientInfo;
use crate::runtime::messages::bridge;

/// What an audit calls them: who they are nobody knows.
const GUEST: &str = "documented HTTP API";

impl Estate {
    /// Calls a tool for a guest, who waits so long. `None` if more guests' calls are open than may be: nothing was sent.
    pub fn call_for_guest(
        self: &Arc<Self>,
        tool: &str,
        arguments: Box<RawValue>,
        patience: Duration,
    ) -> Option<GuestCall> {
        if !self.ledger(|ledger, _| ledger.takes(arguments.get().len())) {
            return None;
        }
        let id = self.next_call_id();
        let request = self.outbox.foreign_key();
        let (sender, answer) = oneshot::channel();
        {
            let mut guests = enter(&self.guests);
            if guests.len() >= GUEST_CALLS_MAX {
                return None;
            }
            guests.insert(request, sender);
        }
        let new = NewCall {
            id,
            request,
            tool: tool.to_owned(),
            arguments: arguments.into(),
            progress_token: None,
            trace: None,
            asker: Some(Arc::new(ClientInfo { name: GUEST.to_owned(), ..ClientInfo::default() })),
            parallel: false,
            patience,
            audience: self.client().audience,
        };
        self.events.call_accepted(id, tool, "guest", None);
        self.want_editor();
        self.take_in(new, self.refusal_at_once(tool));
        self.addresses.bridge.cast(bridge::Message::CallsWaiting);
        Some(GuestCall { id, answer })
    }

    /// Whoever asked for this, if it was a guest.
    pub(super) fn take_guest(&self, request: RequestKey) -> Option<oneshot::Sender<GuestAnswer>> {
        enter(&self.guests).remove(&request)
    }
}
