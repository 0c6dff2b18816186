//! What one connection to an editor may write, and what each reply on it completes.
//!
//! An [`Exchange`] is a value without I/O, clock or lock. The connection's task reads and writes the bytes and asks the exchange
//! what they mean. The model checker runs the same code. An exchange gets its orders from the bridge, remembers the messages that
//! are not answered, and takes calls from the ledger. It claims each call as the last step before the call's first byte, and
//! passes replies on to the ledger. Events for the bridge's machine are returned in order, in [`Settled::events`].
//!
//! The queue of orders is bounded: at most one order of each kind waits, calls are bounded by the bridge's window, and cancels
//! beyond [`CANCELS_MAX`] are dropped, since a call's verdict does not depend on them.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use crate::core::calls::{ClaimRefused, HeldCall, Ledger, Sending, Settlement, Terms};
use crate::fsm::bridge::Event;
use crate::fsm::cause::Cause;
use crate::limits::{CANCELS_MAX, OUTCOMES_ASKED_EVERY, OUTCOMES_ASKED_MAX};
use crate::protocol::dialect::{EditorAnswer, JournalKey, LeaveReason, Met, Recovery, Refusal, ReloadSigns};
use crate::protocol::ids::{CallId, Epoch};
use crate::protocol::policy::Grounds;

/// What the bridge wants the connection to write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// The next message of the greeting.
    Greeting,
    /// A request for the tool list, by the `step`-th method that the dialect knows.
    List {
        /// The number of the method, from 0; see [`ListTools`](crate::protocol::dialect::Order::ListTools).
        step: usize,
    },
    /// The next held call of the ledger.
    Call,
    /// A question to the editor's journal for the outcomes of the calls that it knows.
    Outcomes,
    /// The cancel of a call that no client waits for any more, if the dialect has such a message.
    Cancel(JournalKey),
    /// A question for the editor's heartbeat.
    Heartbeat,
}

/// What the editor does when it answers a call, and afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct After {
    /// The called tool's own name in the editor, which its refusal must name.
    pub tool: Arc<str>,
    /// Whether the editor also writes the answer into a result file.
    pub in_file: bool,
    /// Whether a domain reload may follow the answer without an announcement.
    pub reload: bool,
    /// What shows that none follows, with the state of the assemblies before the call was sent.
    pub signs: Option<(ReloadSigns, u64)>,
}

/// An open question to the journal: the calls that it asks for, and their keys in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// The calls that the question asks for.
    pub sought: Vec<(CallId, JournalKey)>,
    asked: Instant,
    /// Whether outcomes were ordered again while this question was open.
    again: bool,
}

/// The message that a reply answers. The message is not awaited any more, except with [`Answers::Doubled`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answers {
    /// The greeting.
    Greeting,
    /// The request for the tool list.
    List {
        /// The number of the method, as in [`Order::List`].
        step: usize,
    },
    /// A call.
    Call(CallId, After),
    /// A call that the editor got twice: this reply refuses the second message, and the answer to the first is still to come.
    Doubled(CallId),
    /// The question for outcomes.
    Outcomes(Question),
    /// The question for the editor's heartbeat.
    Heartbeat {
        /// When it was asked.
        asked: Instant,
    },
    /// No message: this connection awaits no answer with this number.
    Nothing,
}

impl Answers {
    /// Returns the call that is answered, if it is one.
    fn call(&self) -> Option<CallId> {
        match self {
            Self::Call(call, _) => Some(*call),
            _ => None,
        }
    }
}

/// What a whole message may answer that cannot be read and names no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// The request of this number, which is no call.
    Request(u64),
    /// A call, and nobody can say which, or whether it is an answer at all.
    ACall,
    /// Nothing that must be done for it now.
    Nobody,
}

/// What the caller must do after an operation.
#[derive(Debug, Default)]
#[must_use]
pub struct Settled {
    /// The settlements that the ledger returned.
    pub settlements: Vec<Settlement>,
    /// The events for the bridge, in this order.
    pub events: Vec<Event>,
}

/// What the caller must do after the reply to a call.
#[derive(Debug)]
#[must_use]
pub struct Answered {
    /// Whether an answer to the call was expected on this connection.
    pub known: bool,
    /// The settlements and events that follow.
    pub settled: Settled,
    /// Whether the connection must be closed, because it leads to another editor than the project's files said.
    pub hang_up: bool,
}

/// The journal's record of one attempt to send a call.
#[derive(Debug)]
pub enum Outcome {
    /// The call ended with this answer.
    Ended(EditorAnswer),
    /// The call waits or runs.
    Running,
    /// The call has not run and will not run.
    NotRun {
        /// Whether the journal says so because it did not know the call when it was asked.
        sealed: bool,
    },
    /// A domain reload interrupted the call.
    Interrupted,
    /// The journal has no record of the call.
    Forgotten,
    /// The journal's record of the call cannot be read, although it was asked for alone.
    Unreadable,
}

/// Why a call is not sent.
#[derive(Debug)]
pub enum Unsendable {
    /// The call can never be sent.
    Refused(Cause),
    /// The policy or the audit refuses the call, with these grounds.
    TurnedDown(Cause, Grounds),
}

/// Who decides how a place at the editor is used that becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Places {
    /// The bridge decides about each place that becomes free.
    Kept,
    /// The exchange uses it for the next held call: the bridge has ordered a call, and has not taken that back with
    /// `keep_places`.
    PassedOn,
    /// The editor has announced that it leaves. No call is sent to it any more, not even one that the bridge ordered before it
    /// got the announcement.
    Closed,
}

/// The state of one connection: orders, and messages that are not answered. See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exchange {
    epoch: Epoch,
    places: Places,
    /// What the greeting said about the editor; `None` until the greeting is complete.
    met: Option<Met>,
    orders: VecDeque<Order>,
    /// The messages that are not answered, by message number.
    open: BTreeMap<u64, Answers>,
    /// Open calls, one of which a message that could not be read may have answered. The journal is asked for them too.
    doubted: BTreeSet<CallId>,
    /// The calls that the journal was asked for alone, since its answer about several could not be read; `None`: it is asked for
    /// all at once. Each is asked for once, so that one record that cannot be read costs no other call its outcome.
    alone: Option<BTreeSet<CallId>>,
}

impl Exchange {
    /// Returns the exchange of a connection on which nothing was sent.
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            places: Places::Kept,
            met: None,
            orders: VecDeque::new(),
            open: BTreeMap::new(),
            doubted: BTreeSet::new(),
            alone: None,
        }
    }

    /// Returns the connection's epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns what the greeting said about the editor; `None` until the greeting is complete.
    pub fn met(&self) -> Option<&Met> {
        self.met.as_ref()
    }

    // ---- orders ----

    /// Queues an order, unless the same order already waits. Orders to send a call are always queued. A cancel is dropped if
    /// [`CANCELS_MAX`] wait, and a heartbeat question also if one is unanswered.
    pub fn order(&mut self, order: Order) {
        let stands = match &order {
            Order::Call => {
                if self.places == Places::Kept {
                    self.places = Places::PassedOn;
                }
                false
            }
            Order::Cancel(_) => {
                self.orders.iter().filter(|known| matches!(known, Order::Cancel(_))).count() >= CANCELS_MAX
            }
            // An unanswered heartbeat question ends the connection soon; further questions would only pile up.
            Order::Heartbeat => {
                self.orders.contains(&order) || self.awaits(|open| matches!(open, Answers::Heartbeat { .. }))
            }
            Order::Greeting | Order::List { .. } | Order::Outcomes => self.orders.contains(&order),
        };
        if !stands {
            self.orders.push_back(order);
        }
    }

    /// From now on the bridge decides about each place that becomes free, until it orders the next call.
    pub fn keep_places(&mut self) {
        if self.places == Places::PassedOn {
            self.places = Places::Kept;
        }
    }

    /// Handles the editor's announcement that it leaves: from now on no call is claimed on this connection. Returns the event for
    /// the bridge. Before the end of the greeting the announcement has no effect here, and the bridge ignores the event.
    pub fn leaves(&mut self, why: LeaveReason) -> Event {
        if self.met.is_some() {
            self.places = Places::Closed;
        }
        Event::LeavingAnnounced(why)
    }

    /// Removes and returns the next order.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Returns the next order without removing it.
    pub fn peek(&self) -> Option<&Order> {
        self.orders.front()
    }

    // ---- what is asked ----

    /// Records that a message of the greeting is sent under this number.
    pub fn asks_greeting(&mut self, number: u64) {
        self.open.insert(number, Answers::Greeting);
    }

    /// Records that the greeting is complete.
    pub fn greeted(&mut self, met: Met) {
        self.met = Some(met);
    }

    /// Removes and returns the revision of the tool list that the greeting named, if any. It is valid only for the first request
    /// for the tool list: later requests are made because the tools changed.
    pub fn take_revision(&mut self) -> Option<String> {
        self.met.as_mut()?.tools_revision.take()
    }

    /// Records that a request for the tool list is sent under this number.
    pub fn asks_list(&mut self, number: u64, step: usize) {
        self.open.insert(number, Answers::List { step });
    }

    /// Records that a heartbeat question is sent under this number.
    pub fn asks_heartbeat(&mut self, number: u64, now: Instant) {
        self.open.insert(number, Answers::Heartbeat { asked: now });
    }

    /// Prepares a question to this editor's journal, under this number, and returns the keys to ask for; `None` if there is
    /// nothing to ask. The search for outcomes that only another journal knew ends here. If a question is still open, nothing is
    /// done now, and another question is asked after its answer; an open question older than `OUTCOMES_ASKED_EVERY` is given up.
    pub fn asks_outcomes(
        &mut self,
        number: u64,
        ledger: &mut Ledger,
        now: Instant,
    ) -> (Option<Vec<JournalKey>>, Vec<Settlement>) {
        let Some(journal) = self.met.as_ref().and_then(|met| met.journal.as_deref()) else { return (None, Vec::new()) };
        self.open.retain(|_, open| {
            !matches!(open, Answers::Outcomes(question)
                if now.saturating_duration_since(question.asked) >= OUTCOMES_ASKED_EVERY)
        });
        if let Some(Answers::Outcomes(question)) =
            self.open.values_mut().find(|open| matches!(open, Answers::Outcomes(_)))
        {
            question.again = true;
            return (None, Vec::new());
        }
        let settlements = ledger.journals_gone(Some(journal), now);
        let known = |(call, how)| match how {
            Recovery::Journal(key) => Some((call, key)),
            Recovery::None | Recovery::ResultFile { .. } | Recovery::Inferred => None,
        };
        let open: BTreeSet<CallId> = self.open.values().filter_map(Answers::call).collect();
        self.doubted.retain(|call| open.contains(call));
        let doubted = self.doubted.iter().filter_map(|call| Some((*call, ledger.journal_key(*call)?)));
        let sought = doubted.chain(ledger.recovering().into_iter().filter_map(known));
        let sought: Vec<(CallId, JournalKey)> = match &mut self.alone {
            None => sought.take(OUTCOMES_ASKED_MAX).collect(),
            Some(asked) => sought.filter(|(call, _)| asked.insert(*call)).take(1).collect(),
        };
        if sought.is_empty() {
            self.alone = None;
            return (None, settlements);
        }
        let keys = sought.iter().map(|(_, key)| key.clone()).collect();
        self.open.insert(number, Answers::Outcomes(Question { sought, asked: now, again: false }));
        (Some(keys), settlements)
    }

    /// Records that the message with this number is not sent after all.
    pub fn not_asked(&mut self, number: u64) {
        self.open.remove(&number);
    }

    // ---- calls ----

    /// Reserves the next held call for this connection. The call uses the place for which the bridge ordered a call.
    ///
    /// # Errors
    /// No call waits for this connection, or the editor leaves. The error has the event that frees the place at the bridge.
    pub fn reserve(&self, ledger: &mut Ledger) -> Result<HeldCall, Settled> {
        if self.places == Places::Closed {
            return Err(free_place(ledger, Vec::new()));
        }
        // Calls that are held for another project wait for another connection. With `more: false` the bridge does not order them
        // here.
        let free = || Settled { settlements: Vec::new(), events: vec![Event::WorkFinished { more: false }] };
        ledger.reserve(self.epoch).ok_or_else(free)
    }

    /// Claims a call: the last step before its first byte. Returns the claim for the log, if there is one, and what follows from
    /// it.
    ///
    /// # Errors
    /// No byte of the call may be written: it was cancelled, has timed out or belongs to another project, the editor leaves, or
    /// the connection has ended.
    pub fn claim(
        &mut self,
        number: u64,
        call: CallId,
        (terms, after): (Terms, After),
        ledger: &mut Ledger,
        now: Instant,
    ) -> Result<(Option<Sending>, Settled), Settled> {
        if self.places == Places::Closed {
            ledger.unreserve(call, self.epoch);
            return Err(free_place(ledger, Vec::new()));
        }
        let running_max = terms.running_max();
        match ledger.claim(call, self.epoch, terms, now) {
            Ok(settlements) => {
                self.open.insert(number, Answers::Call(call, after));
                let mut events = vec![Event::CallSent { running_max }];
                // Needed if the bridge's window is larger than one call.
                if ledger.has_held() {
                    events.push(Event::CallsWaiting);
                }
                Ok((ledger.sending(call), Settled { settlements, events }))
            }
            Err(ClaimRefused::OtherProject) => {
                let settlements = ledger.refuse(call, Cause::ProjectChanged, now);
                Err(free_place(ledger, settlements))
            }
            Err(
                ClaimRefused::EpochClosed | ClaimRefused::NotHeld | ClaimRefused::LimitPassed | ClaimRefused::NotWanted,
            ) => Err(free_place(ledger, Vec::new())),
        }
    }

    /// Takes a claim back: no byte of the call was written.
    pub fn not_written(&mut self, call: CallId, ledger: &mut Ledger, now: Instant) -> Vec<Settlement> {
        ledger.revoke_claim(call, self.epoch, now)
    }

    /// Refuses a reserved call that cannot or may not be sent, and frees its place.
    pub fn unsendable(&self, call: CallId, why: Unsendable, ledger: &mut Ledger, now: Instant) -> Settled {
        let settlements = match why {
            Unsendable::Refused(cause) => ledger.refuse(call, cause, now),
            Unsendable::TurnedDown(cause, grounds) => ledger.turn_down(call, cause, grounds, now),
        };
        free_place(ledger, settlements)
    }

    /// Frees the place of a reserved call that is answered without being sent on this connection.
    pub fn gave_back(&self, ledger: &Ledger) -> Settled {
        free_place(ledger, Vec::new())
    }

    // ---- replies ----

    /// Returns the message that a reply with this number answers. The message is then no longer open, except with
    /// [`Answers::Doubled`]. `refusal`: the kind of refusal, if the editor refused the message.
    pub fn reply(&mut self, number: u64, refusal: Option<Refusal>) -> Answers {
        match self.open.get(&number) {
            Some(Answers::Call(call, _)) if refusal == Some(Refusal::Double) => Answers::Doubled(*call),
            _ => self.open.remove(&number).unwrap_or(Answers::Nothing),
        }
    }

    /// Returns the number of the only unanswered message, for replies that carry no number. `None` if there is none or more than
    /// one. A question for the heartbeat does not count: it has nothing of a client, so no editor fails to read it.
    pub fn only_open(&self) -> Option<u64> {
        let mut counted = self.open.iter().filter(|(_, open)| !matches!(open, Answers::Heartbeat { .. }));
        let (number, _) = counted.next()?;
        counted.next().is_none().then_some(*number)
    }

    /// Handles a whole message that cannot be read and names no request. Returns what it may answer. A call is never answered on such
    /// a guess: with a journal, all open calls are asked for there.
    pub fn unreadable(&mut self) -> Meant {
        let calls: Vec<CallId> = self.open.values().filter_map(Answers::call).collect();
        if calls.is_empty() {
            return self.only_open().map_or(Meant::Nobody, Meant::Request);
        }
        if self.met.as_ref().is_none_or(|met| met.journal.is_none()) {
            return Meant::ACall;
        }
        self.doubted.extend(calls);
        Meant::Nobody
    }

    /// Ends the doubt about a call: the journal knows its state. If it `has_ended` there, its answer on this connection was lost:
    /// then the call is no longer open, and what follows its answer is returned.
    pub fn resolve_doubt(&mut self, call: CallId, has_ended: bool) -> Option<After> {
        if !self.doubted.remove(&call) || !has_ended {
            return None;
        }
        let is_it = |open: &Answers| matches!(open, Answers::Call(open, _) if *open == call);
        let number = self.open.iter().find(|(_, open)| is_it(open)).map(|(number, _)| *number)?;
        match self.open.remove(&number) {
            Some(Answers::Call(_, after)) => Some(after),
            _ => None,
        }
    }

    /// Whether the greeting is still unanswered.
    pub fn awaits_greeting(&self) -> bool {
        self.awaits(|open| matches!(open, Answers::Greeting))
    }

    /// Whether the next reply may concern a client's call.
    pub fn owes_answers(&self) -> bool {
        self.awaits(|open| matches!(open, Answers::Call(..) | Answers::Outcomes(_)))
    }

    /// Whether any message is unanswered.
    pub fn awaits_reply(&self) -> bool {
        !self.open.is_empty()
    }

    fn awaits(&self, what: impl Fn(&Answers) -> bool) -> bool {
        self.open.values().any(what)
    }

    /// Handles the editor's reply to a call. `refusal`: what its refusal means, if that is proof for this call.
    pub fn answered(
        &mut self,
        (call, after): (CallId, After),
        refusal: Option<Refusal>,
        answer: EditorAnswer,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Answered {
        match refusal {
            Some(Refusal::Leaving) => {
                let (known, settlements) = ledger.postponed(call, self.epoch, now);
                let mut settled = Settled { settlements, events: Vec::new() };
                if known {
                    // The bridge must get the announcement before the free place. The reply does not give the reason for leaving.
                    settled.events.push(self.leaves(LeaveReason::Unknown));
                    settled.free_place(ledger);
                }
                return Answered { known: true, settled, hang_up: false };
            }
            Some(Refusal::WrongEditor) => {
                // The place ends with the connection.
                let (known, settlements) = ledger.turned_away(call, self.epoch, answer, now);
                return Answered { known, settled: Settled { settlements, events: Vec::new() }, hang_up: true };
            }
            Some(Refusal::Final) => ledger.says_unrun(call),
            Some(Refusal::Double) | None => {}
        }
        let (known, settlements) = if after.reload && !answer.is_error {
            ledger.withhold(call, self.epoch, answer, now)
        } else {
            ledger.reply(call, self.epoch, answer, now)
        };
        let settled = if self.places == Places::PassedOn && ledger.has_held() {
            // The next call is sent right after the reply. The bridge gets `CallSent` when the call is claimed.
            self.orders.push_back(Order::Call);
            Settled { settlements, events: Vec::new() }
        } else {
            free_place(ledger, settlements)
        };
        Answered { known, settled, hang_up: false }
    }

    /// Handles the answer to a question for outcomes: orders another question if one was wanted in the meantime, or if calls must
    /// be asked for alone, because the answer about several was not read.
    pub fn outcomes_told(&mut self, question: &Question, is_read: bool) {
        if !is_read && question.sought.len() > 1 {
            self.alone.get_or_insert_default();
        }
        if question.again || self.alone.is_some() {
            self.order(Order::Outcomes);
        }
    }
}

/// Applies the journal's record of one attempt to send a call to the ledger. A record of an attempt whose outcome the ledger does
/// not look for any more is ignored.
pub fn outcome(call: CallId, key: &JournalKey, outcome: Outcome, ledger: &mut Ledger, now: Instant) -> Vec<Settlement> {
    if !ledger.seeks(call, key) {
        return Vec::new();
    }
    match outcome {
        Outcome::Ended(answer) => ledger.learn(call, answer, now),
        Outcome::Running => {
            ledger.found_running(call, now);
            Vec::new()
        }
        Outcome::NotRun { sealed } => ledger.proven_unrun(call, sealed, now),
        Outcome::Interrupted => ledger.found_interrupted(call, now),
        Outcome::Forgotten | Outcome::Unreadable => ledger.forgotten(call, now),
    }
}

fn free_place(ledger: &Ledger, settlements: Vec<Settlement>) -> Settled {
    let mut settled = Settled { settlements, events: Vec::new() };
    settled.free_place(ledger);
    settled
}

impl Settled {
    fn free_place(&mut self, ledger: &Ledger) {
        self.events.push(Event::WorkFinished { more: ledger.has_held() });
    }
}
