//! What one connection to an editor may write, and what a reply on it settles.
//!
//! A value without I/O, time or lock. Its task reads and writes bytes, and asks here what they mean; the model checker drives the
//! same code. The bridge gives it orders. It keeps what was asked and not answered, takes calls from the ledger, claims each as
//! the last step before its first byte, and turns replies into answers of the ledger. What the bridge must hear comes back as
//! events of its machine ([`Settled::events`]), in order.
//!
//! Orders cannot pile up: of each kind at most one waits, calls are bounded by the window that the bridge keeps, and withdrawals
//! beyond [`CANCELS_MAX`] are dropped, since they are only a courtesy.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;

use crate::core::calls::{ClaimRefused, HeldCall, Ledger, Sending, Settlement, Terms};
use crate::fsm::bridge::Event;
use crate::fsm::cause::Cause;
use crate::limits::{CANCELS_MAX, OUTCOMES_ASKED_EVERY, OUTCOMES_ASKED_MAX};
use crate::protocol::dialect::{EditorAnswer, JournalKey, LeaveReason, Met, Recovery, Refusal};
use crate::protocol::ids::{CallId, Epoch};
use crate::protocol::policy::Grounds;

/// What the bridge wants written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// The next message of the greeting.
    Greeting,
    /// A request for the tool list, by the step-th method that the dialect knows.
    List {
        /// See [`ListTools`](crate::protocol::dialect::Order::ListTools).
        step: usize,
    },
    /// The next call of the ledger.
    Call,
    /// The question what became of the calls that the editor's journal knows.
    Outcomes,
    /// Word that a call is not wanted any more, where the dialect has one.
    Cancel(JournalKey),
    /// The question how the editor is.
    Heartbeat,
}

/// What a call's answer may have behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct After {
    /// It is also written into a file.
    pub in_file: bool,
    /// A domain reload that nobody announces.
    pub reload: bool,
}

/// The journal's question that is open: the calls, and under what the journal knows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// What was asked for.
    pub sought: Vec<(CallId, JournalKey)>,
    asked: Instant,
    /// The outcomes were wanted once more meanwhile.
    again: bool,
}

/// What a reply answers. It is not awaited any more, but for [`Answers::Doubled`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answers {
    /// The greeting.
    Greeting,
    /// The request for the tool list.
    List {
        /// See [`Order::List`].
        step: usize,
    },
    /// A call.
    Call(CallId, After),
    /// A second sending of a call that the editor has already: the answer to the first is still to come.
    Doubled(CallId),
    /// The question for outcomes.
    Outcomes(Question),
    /// The question how the editor is.
    Heartbeat {
        /// When it was asked.
        asked: Instant,
    },
    /// Nothing that is awaited here.
    Nothing,
}

/// What an operation decided.
#[derive(Debug, Default)]
#[must_use]
pub struct Settled {
    /// What the ledger ordered.
    pub settlements: Vec<Settlement>,
    /// What the bridge is told, in this order.
    pub events: Vec<Event>,
}

/// What a call's reply decided.
#[derive(Debug)]
#[must_use]
pub struct Answered {
    /// The call owed an answer to this connection.
    pub known: bool,
    /// What follows.
    pub settled: Settled,
    /// The connection leads to another editor than its files said: it ends.
    pub hang_up: bool,
}

/// What the journal says of one sending.
#[derive(Debug)]
pub enum Outcome {
    /// It ended with this answer.
    Ended(EditorAnswer),
    /// It waits or runs.
    Running,
    /// It has not run and will not.
    NotRun,
    /// A domain reload cut it.
    Interrupted,
    /// The journal cannot tell.
    Forgotten,
}

/// Why a call is not sent.
#[derive(Debug)]
pub enum Unsendable {
    /// It never can be.
    Refused(Cause),
    /// It may not be, and why.
    TurnedDown(Cause, Grounds),
}

/// What becomes of the places of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Places {
    /// A place that becomes free is the bridge's to give.
    Kept,
    /// It goes to the next held call: the bridge has ordered calls and not said otherwise since.
    PassedOn,
    /// The editor has said that it leaves: no call goes to it any more, also none that the bridge ordered before it heard of that.
    Closed,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exchange {
    epoch: Epoch,
    places: Places,
    /// What the greeting told of the editor; `None` until it is greeted.
    met: Option<Met>,
    orders: VecDeque<Order>,
    /// What was asked and not answered, by the number of its message.
    open: BTreeMap<u64, Answers>,
}

impl Exchange {
    /// A connection on which nothing was said.
    pub fn new(epoch: Epoch) -> Self {
        Self { epoch, places: Places::Kept, met: None, orders: VecDeque::new(), open: BTreeMap::new() }
    }

    /// The connection's epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What the greeting told of the editor; `None` until it is greeted.
    pub fn met(&self) -> Option<&Met> {
        self.met.as_ref()
    }

    // ---- orders ----

    /// Takes an order. One that says nothing new is dropped.
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
            // One that is not answered ends the connection soon; more of them would only pile up.
            Order::Heartbeat => {
                self.orders.contains(&order) || self.awaits(|open| matches!(open, Answers::Heartbeat { .. }))
            }
            Order::Greeting | Order::List { .. } | Order::Outcomes => self.orders.contains(&order),
        };
        if !stands {
            self.orders.push_back(order);
        }
    }

    /// From now on a place that becomes free is the bridge's to give, until it orders the next call.
    pub fn keep_places(&mut self) {
        if self.places == Places::PassedOn {
            self.places = Places::Kept;
        }
    }

    /// The editor says that it leaves: nothing is claimed for it from now on. Returns what the bridge is told. A goodbye before the
    /// greeting counts for nothing, here and there.
    pub fn leaves(&mut self, why: LeaveReason) -> Event {
        if self.met.is_some() {
            self.places = Places::Closed;
        }
        Event::LeavingAnnounced(why)
    }

    /// The next order to be carried out.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The next order, which stays.
    pub fn peek(&self) -> Option<&Order> {
        self.orders.front()
    }

    // ---- what is asked ----

    /// A message of the greeting goes out under this number.
    pub fn asks_greeting(&mut self, number: u64) {
        self.open.insert(number, Answers::Greeting);
    }

    /// The editor is greeted.
    pub fn greeted(&mut self, met: Met) {
        self.met = Some(met);
    }

    /// The revision of the tools that the greeting told. It holds for the first list that is wanted; later ones are wanted because
    /// they changed.
    pub fn take_revision(&mut self) -> Option<String> {
        self.met.as_mut()?.tools_revision.take()
    }

    /// A request for the tool list goes out under this number.
    pub fn asks_list(&mut self, number: u64, step: usize) {
        self.open.insert(number, Answers::List { step });
    }

    /// A question how the editor is goes out under this number.
    pub fn asks_pulse(&mut self, number: u64, now: Instant) {
        self.open.insert(number, Answers::Heartbeat { asked: now });
    }

    /// Asks under this number what became of the calls that this editor's journal knows; those that only another journal knew are
    /// lost. `None`: there is nothing to ask, or a question is under way, behind which another follows. One that was not answered
    /// for long is given up.
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
        let sought: Vec<(CallId, JournalKey)> =
            ledger.recovering().into_iter().filter_map(known).take(OUTCOMES_ASKED_MAX).collect();
        if sought.is_empty() {
            return (None, settlements);
        }
        let keys = sought.iter().map(|(_, key)| key.clone()).collect();
        self.open.insert(number, Answers::Outcomes(Question { sought, asked: now, again: false }));
        (Some(keys), settlements)
    }

    /// What was to go out under this number is not sent.
    pub fn not_asked(&mut self, number: u64) {
        self.open.remove(&number);
    }

    // ---- calls ----

    /// The call for which a place was ordered; it is reserved for this connection.
    ///
    /// # Errors
    /// No call waits for this connection, or the editor leaves: the place is free.
    pub fn reserve(&self, ledger: &mut Ledger) -> Result<HeldCall, Settled> {
        if self.places == Places::Closed {
            return Err(free_place(ledger, Vec::new()));
        }
        // What is held for another project waits for another connection: more of it must not be asked for here.
        let free = || Settled { settlements: Vec::new(), events: vec![Event::WorkFinished { more: false }] };
        ledger.reserve(self.epoch).ok_or_else(free)
    }

    /// The last step before the first byte of a call.
    ///
    /// # Errors
    /// Not a byte of it may leave: it was cancelled, has timed out, is another project's, the editor leaves, or the connection is over.
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
                // For bridges that take more than one at once.
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

    /// Not a byte of a claimed call was written.
    pub fn not_written(&mut self, call: CallId, ledger: &mut Ledger, now: Instant) -> Vec<Settlement> {
        ledger.revoke_claim(call, self.epoch, now)
    }

    /// A reserved call cannot or may not be sent.
    pub fn unsendable(&self, call: CallId, why: Unsendable, ledger: &mut Ledger, now: Instant) -> Settled {
        let settlements = match why {
            Unsendable::Refused(cause) => ledger.refuse(call, cause, now),
            Unsendable::TurnedDown(cause, grounds) => ledger.turn_down(call, cause, grounds, now),
        };
        free_place(ledger, settlements)
    }

    /// The place of a call is free that was answered elsewhere.
    pub fn gave_back(&self, ledger: &Ledger) -> Settled {
        free_place(ledger, Vec::new())
    }

    // ---- replies ----

    /// What a reply with this number answers. `refusal`: as what the editor refused what it was asked.
    pub fn reply(&mut self, number: u64, refusal: Option<Refusal>) -> Answers {
        match self.open.get(&number) {
            Some(Answers::Call(call, _)) if refusal == Some(Refusal::Double) => Answers::Doubled(*call),
            _ => self.open.remove(&number).unwrap_or(Answers::Nothing),
        }
    }

    /// The number of the only message that is not answered, for replies that name none.
    pub fn only_open(&self) -> Option<u64> {
        self.open.keys().next().copied().filter(|_| self.open.len() == 1)
    }

    /// Whether the greeting is not answered.
    pub fn awaits_greeting(&self) -> bool {
        self.awaits(|open| matches!(open, Answers::Greeting))
    }

    /// Whether what comes next may be for a client.
    pub fn owes_answers(&self) -> bool {
        self.awaits(|open| matches!(open, Answers::Call(..) | Answers::Outcomes(_)))
    }

    /// Whether anything that was asked is not answered.
    pub fn awaits_reply(&self) -> bool {
        !self.open.is_empty()
    }

    fn awaits(&self, what: impl Fn(&Answers) -> bool) -> bool {
        self.open.values().any(what)
    }

    /// The editor replied to a call. `names_it`: the call said which editor it was meant for.
    pub fn answered(
        &mut self,
        (call, after): (CallId, After),
        refusal: Option<Refusal>,
        names_it: bool,
        answer: EditorAnswer,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Answered {
        match refusal {
            Some(Refusal::Leaving) => {
                let (known, settlements) = ledger.postponed(call, self.epoch, now);
                let mut settled = Settled { settlements, events: Vec::new() };
                if known {
                    // Before the place is free. It does not say why.
                    settled.events.push(self.leaves(LeaveReason::Unknown));
                    settled.free_place(ledger);
                }
                return Answered { known: true, settled, hang_up: false };
            }
            Some(Refusal::WrongEditor) if names_it => {
                // The place falls with the connection.
                let (known, settlements) = ledger.turned_away(call, self.epoch, answer, now);
                return Answered { known, settled: Settled { settlements, events: Vec::new() }, hang_up: true };
            }
            Some(Refusal::Final) => ledger.says_unrun(call),
            Some(Refusal::WrongEditor | Refusal::Double) | None => {}
        }
        let (known, settlements) = if after.reload && !answer.is_error {
            ledger.withhold(call, self.epoch, answer, now)
        } else {
            ledger.reply(call, self.epoch, answer, now)
        };
        let settled = if self.places == Places::PassedOn && ledger.has_held() {
            // It leaves as soon as the reply came; the bridge hears that it is sent.
            self.orders.push_back(Order::Call);
            Settled { settlements, events: Vec::new() }
        } else {
            free_place(ledger, settlements)
        };
        Answered { known, settled, hang_up: false }
    }

    /// A question for outcomes was answered: whether it is to be asked again.
    pub fn outcomes_told(&mut self, question: &Question) {
        if question.again {
            self.order(Order::Outcomes);
        }
    }
}

/// The journal's word on one sending; only what is still sought counts.
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
        Outcome::NotRun => ledger.proven_unrun(call, now),
        Outcome::Interrupted => ledger.found_interrupted(call, now),
        Outcome::Forgotten => ledger.forgotten(call, now),
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
