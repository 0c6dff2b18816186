//! Open calls whose answer may have been lost, although the connection goes on.

use std::collections::BTreeSet;

use super::{After, Errand, Exchange, MayAnswer, ReplyTo};
use crate::protocol::ids::CallId;

impl Exchange {
    /// The editor answers a question for outcomes as it answers a call: nothing else is read meanwhile.
    pub fn outcomes_take_a_place(&mut self) {
        self.outcomes_take_a_place = true;
    }

    /// Notes whether the call that was asked for goes on. While it does, no other call is sent, and its client waits no longer than it
    /// must: a call would be cut by the reload that ends such work, and keep the question waiting.
    pub fn kept_goes_on(&mut self, goes_on: bool) {
        self.kept_goes_on = self.outcomes_take_a_place && goes_on;
    }

    /// Whether a message that our own decoder failed on may have been the answer to a call of which nothing else tells, while the editor
    /// reads nothing more.
    pub fn may_have_lost_an_answer(&mut self) -> bool {
        self.outcomes_take_a_place && self.unreadable() == MayAnswer::ACall
    }

    /// Whether there is a place for a question for outcomes.
    pub fn may_ask_outcomes(&self) -> bool {
        !self.outcomes_take_a_place || self.out() < self.window
    }

    /// Handles a whole message that cannot be read and names no request. Returns what it may answer. A call is never
    /// answered on such a guess: if the editor has a journal, the journal is asked for all open calls.
    pub fn unreadable(&mut self) -> MayAnswer {
        let calls: Vec<CallId> = self.open.values().filter_map(ReplyTo::call).collect();
        if calls.is_empty() {
            return self.only_open().map_or(MayAnswer::Nobody, MayAnswer::Request);
        }
        // A journal that has only some calls can tell nothing of the others.
        if self.outcomes_take_a_place || self.met.as_ref().is_none_or(|met| met.journal.is_none()) {
            return MayAnswer::ACall;
        }
        self.doubted.extend(calls);
        MayAnswer::Nobody
    }

    /// Handles the editor's word on whether it has any call. If it says twice that it has none, calls that were open both times have
    /// lost their answers on this connection, and the journal is asked for them.
    pub fn has_calls(&mut self, any: bool) {
        let open: BTreeSet<CallId> = self.open.values().filter_map(ReplyTo::call).filter(|_| !any).collect();
        let lost: Vec<CallId> = self.suspected.intersection(&open).copied().collect();
        self.suspected = open;
        if !lost.is_empty() && self.met.as_ref().is_some_and(|met| met.journal.is_some()) {
            self.doubted.extend(lost);
            self.order(Errand::Outcomes);
        }
    }

    /// Ends the doubt about a call whose state the journal knows. If the call `has_ended` there, its answer on this
    /// connection was lost. Then the call is no longer open, and the result says what follows its answer.
    pub fn resolve_doubt(&mut self, call: CallId, has_ended: bool) -> Option<After> {
        if !self.doubted.remove(&call) || !has_ended {
            return None;
        }
        let is_it = |open: &ReplyTo| matches!(open, ReplyTo::Call(open, _) if *open == call);
        let number = self.open.iter().find(|(_, open)| is_it(open)).map(|(number, _)| *number)?;
        match self.open.remove(&number) {
            Some(ReplyTo::Call(_, after)) => Some(after),
            _ => None,
        }
    }
}
