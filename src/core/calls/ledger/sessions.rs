//! Operations on the calls of one session.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::fsm::call::Event;
use crate::fsm::cause::Cause;
use crate::protocol::ids::{CallId, RequestKey, SessionId};

impl Ledger {
    /// Refuses a session's held calls, because the session ends or its project has changed. Sent calls continue.
    pub fn refuse_held_of(&mut self, session: SessionId, cause: Cause, now: Instant) -> Vec<Settlement> {
        let held = |entry: &Entry| entry.call.request.session == session && entry.is_held();
        self.feed_all(now, |entry| held(entry).then_some(Event::Refused(cause)))
    }

    /// Refuses the held calls of all sessions.
    pub fn refuse_held(&mut self, cause: Cause, now: Instant) -> Vec<Settlement> {
        self.feed_all(now, |entry| entry.is_held().then_some(Event::Refused(cause)))
    }

    /// Removes a session's held calls without a trace, because another gateway answers their requests. Returns the requests.
    pub fn release_held_of(&mut self, session: SessionId) -> Vec<RequestKey> {
        let held = |entry: &&Entry| entry.call.request.session == session && entry.is_held();
        let calls: Vec<CallId> = self.entries.iter().filter(held).map(|entry| entry.call.id).collect();
        calls.into_iter().filter_map(|call| self.give_back(call)).map(|(asked, _)| asked.key).collect()
    }

    /// Ends a session, whose client waits for no answer any more. Held calls are refused, and withheld answers are sent. Sent
    /// calls continue, and their results are kept.
    pub fn part_from(&mut self, session: SessionId, now: Instant) -> Vec<Settlement> {
        let mut out = self.refuse_held_of(session, Cause::ShuttingDown, now);
        self.tell_withheld_of(|entry| entry.call.request.session == session, now, &mut out);
        let of_it = |entry: &Entry| entry.call.request.session == session && entry.is_awaited() && !entry.is_held();
        out.extend(self.feed_all(now, |entry| of_it(entry).then_some(Event::PatienceEnded)));
        out
    }

    /// Returns the bytes of arguments of the open calls of one session; of all sessions if `session` is `None`.
    pub fn open_bytes(&self, session: Option<SessionId>) -> usize {
        let Some(session) = session else { return self.entries.bytes() };
        let of_it = self.entries.iter().filter(|entry| entry.is_awaited() && entry.call.request.session == session);
        of_it.map(|entry| entry.call.arguments.get().len()).sum()
    }
}
