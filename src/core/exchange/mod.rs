//! What one connection to an editor may write, and what each reply on it completes.
//!
//! An [`Exchange`] is a value without I/O, clock or lock. The connection's task reads and writes the bytes and asks the
//! exchange what they mean. The model checker runs the same code. An exchange remembers the messages that are not
//! answered, counts the editor's window with them, and says what is written next ([`Exchange::next`]): a list, or a
//! call that it takes from the ledger. It claims each call as the last step before the call's first byte, and passes
//! replies on to the ledger. It notices when the editor is silent ([`Exchange::overdue`]). The bridge's machine hears
//! only of what changes its state: these events are returned in order, in [`Settled::events`].
//!
//! If the editor runs a call as a job ([`jobs`]), the call keeps its place until the job has ended.
//!
//! At most one errand of each kind waits. Cancels beyond [`CANCELS_MAX`] are dropped: no call's verdict depends on them.

mod doubt;
mod jobs;
mod left;
mod main_thread;
mod quiet;
mod standing;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

pub use self::jobs::{JobState, JobStep, Jobs};
use self::quiet::Quiet;
use self::types::MainThread;
pub use self::types::{
    After, Answered, Beside, Errand, Learned, MayAnswer, Next, Question, ReplyTo, Settled, Unsendable,
};
use crate::core::calls::{Claim, ClaimRefused, Ledger, Settlement, Terms};
use crate::fsm::bridge::Event;
use crate::fsm::cause::Cause;
use crate::fsm::retry::Used;
use crate::limits::{CANCELS_MAX, OUTCOMES_ASKED_EVERY, OUTCOMES_ASKED_MAX, WINDOW_MAX};
use crate::protocol::dialect::{EditorAnswer, JournalKey, LeaveReason, Met, Recovery, Refusal};
use crate::protocol::ids::{CallId, Epoch};

/// The tool list that takes one of the editor's places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Listing {
    /// The dialect's next method must be tried.
    ToAsk(usize),
    /// It was requested, and the registry has not said yet that it has dealt with the answer.
    Asked,
}

/// The state of one connection: errands, and messages that are not answered. See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exchange {
    epoch: Epoch,
    /// What the greeting said about the editor; `None` until the greeting is complete.
    met: Option<Met>,
    /// The number of calls and lists that the editor accepts at once (1: one after another).
    window: u8,
    /// Whether no list and no call is sent any more: the editor has announced that it leaves, or the connection is to end.
    closed: bool,
    /// Whether the bridge waits for [`Event::NothingOwed`].
    is_last: bool,
    errands: VecDeque<Errand>,
    list_wanted: bool,
    listing: Option<Listing>,
    /// Whether a tool list was published. No call is sent before: its tool is looked up in the list.
    proven: bool,
    /// Whether the ledger may have a call to send.
    calls_wait: bool,
    /// Whether the editor has said that it takes no calls for now.
    blocked: bool,
    /// Until when no call is sent, because the editor was busy with something else, and tells nobody when that has ended.
    busy_until: Option<Instant>,
    /// The calls that the editor refused because of what it does, and until when each is not sent. In the order of the times.
    resting: VecDeque<(Instant, CallId)>,
    /// Whether the ledger was told that its calls wait for the list.
    told_list: bool,
    /// Whether a call is reserved that is neither claimed nor given back yet.
    preparing: bool,
    /// The messages that are not answered, by message number.
    open: BTreeMap<u64, ReplyTo>,
    /// Open calls whose answer may have been lost, or may have been a message that could not be read. The journal is
    /// asked for them too.
    doubted: BTreeSet<CallId>,
    /// The calls that were open when the editor last said that it runs none.
    suspected: BTreeSet<CallId>,
    /// The calls that the journal was asked for one at a time, because its answer about several could not be read. Each
    /// call is asked for once, so that one unreadable record costs no other call its outcome. `None`: the journal is
    /// asked for all calls at once.
    alone: Option<BTreeSet<CallId>>,
    pub jobs: Jobs,
    /// Whether a question for outcomes takes one of the editor's places: it reads nothing else meanwhile.
    outcomes_take_a_place: bool,
    /// Whether such a question was answered last with a call that goes on.
    kept_goes_on: bool,
    main_thread: MainThread,
    quiet: Quiet,
    used: Used,
}

impl Exchange {
    /// Returns the exchange of a connection on which nothing was sent.
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            met: None,
            window: 1,
            closed: false,
            is_last: false,
            errands: VecDeque::new(),
            list_wanted: false,
            listing: None,
            proven: false,
            calls_wait: true,
            blocked: false,
            busy_until: None,
            resting: VecDeque::new(),
            told_list: false,
            preparing: false,
            open: BTreeMap::new(),
            doubted: BTreeSet::new(),
            suspected: BTreeSet::new(),
            alone: None,
            jobs: Jobs::default(),
            outcomes_take_a_place: false,
            kept_goes_on: false,
            main_thread: MainThread::default(),
            quiet: Quiet::default(),
            used: Used::Not,
        }
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns what the greeting said about the editor; `None` until the greeting is complete.
    pub fn met(&self) -> Option<&Met> {
        self.met.as_ref()
    }

    // ---- errands ----

    /// Queues an errand, unless the same errand already waits. A cancel is dropped if [`CANCELS_MAX`] wait, and a
    /// heartbeat question is dropped also if another one is unanswered. An answer of the framing replaces an older one.
    pub fn order(&mut self, errand: Errand) {
        if matches!(errand, Errand::Framing(_)) {
            self.errands.retain(|known| !matches!(known, Errand::Framing(_)));
        }
        let stands = match &errand {
            Errand::Cancel(_) => {
                self.errands.iter().filter(|known| matches!(known, Errand::Cancel(_))).count() >= CANCELS_MAX
            }
            // An unanswered heartbeat question ends the connection soon; further questions would only pile up.
            Errand::Heartbeat if self.awaits(|open| matches!(open, ReplyTo::Heartbeat)) => true,
            Errand::HangUp(call) => !self.has_open(*call),
            Errand::Heartbeat | Errand::MainThread | Errand::Greeting | Errand::Outcomes | Errand::Framing(_) => {
                self.errands.contains(&errand)
            }
        };
        if !stands {
            self.errands.push_back(errand);
        }
    }

    /// Asks for a fresh tool list, as soon as the window allows. It goes before calls.
    pub fn want_list(&mut self) {
        self.list_wanted = true;
    }

    /// The list is requested by the dialect's next method.
    pub fn list_goes_on(&mut self, step: usize) {
        self.listing = Some(Listing::ToAsk(step));
    }

    /// The registry has dealt with the list, or the list was lost: the place of its request is free. `published`: the
    /// tools of calls can be looked up in the list.
    pub fn list_is_over(&mut self, published: bool, now: Instant) -> Vec<Event> {
        if self.listing.take().is_none() {
            return Vec::new();
        }
        self.quiet.watched(now);
        let is_first = published && !std::mem::replace(&mut self.proven, true);
        is_first.then_some(Event::Proven).into_iter().chain(self.freed()).collect()
    }

    /// Handles the editor's announcement that it leaves: from now on no call is claimed on this connection. Returns the event for
    /// the bridge. Before the end of the greeting the announcement has no effect here, and the bridge ignores the event.
    pub fn leaves(&mut self, why: LeaveReason) -> Event {
        self.closed |= self.met.is_some();
        Event::LeavingAnnounced(why)
    }

    /// From now on nothing new is sent; what was sent may still be answered. Returns whether no answer is owed. If one is,
    /// [`Event::NothingOwed`] follows.
    pub fn end_sending(&mut self) -> bool {
        self.closed = true;
        self.is_last = true;
        self.out() == 0
    }

    /// Returns the next errand without removing it.
    pub fn peek(&self) -> Option<&Errand> {
        self.errands.front()
    }

    /// A call may wait in the ledger.
    pub fn look_for_calls(&mut self) {
        self.calls_wait = true;
    }

    /// Decides what is written next. A call that is returned has a place at the editor, until it is claimed, refused or given back.
    pub fn next(&mut self, ledger: &mut Ledger, now: Instant) -> Next {
        if let Some(next) = self.next_but_calls(now) {
            return next;
        }
        self.end_pause(ledger, now);
        self.end_rests(ledger, now);
        let awaited = self.awaits_list();
        self.told_list = awaited;
        ledger.await_list(awaited);
        if !self.may_call() {
            return Next::Wait;
        }
        // A call would be cut by the reload in which such work ends.
        if ledger.follows_work() || self.kept_goes_on && ledger.awaits_an_outcome() {
            return Next::Wait;
        }
        let Some(held) = ledger.reserve(self.epoch) else {
            self.calls_wait = false;
            return Next::Wait;
        };
        self.takes_a_place(now);
        self.preparing = true;
        Next::Call(Box::new(held))
    }

    /// Decides what is written next if that needs no look into the ledger; `None` if it does.
    pub fn next_but_calls(&mut self, now: Instant) -> Option<Next> {
        let may_be = |errand: &Errand| *errand != Errand::Outcomes || self.may_ask_outcomes();
        let at = self.errands.iter().position(may_be);
        if let Some(errand) = at.and_then(|at| self.errands.remove(at)) {
            return Some(Next::Errand(errand));
        }
        if let Some(Listing::ToAsk(step)) = self.listing {
            self.listing = Some(Listing::Asked);
            return Some(Next::List { step });
        }
        if self.list_wanted && self.listing.is_none() && self.has_a_place() {
            self.takes_a_place(now);
            self.list_wanted = false;
            self.listing = Some(Listing::Asked);
            return Some(Next::List { step: 0 });
        }
        let is_over = self.calls_again().is_some_and(|again| now >= again);
        let looks = self.may_call() || is_over || self.told_list != self.awaits_list();
        (!looks).then_some(Next::Wait)
    }

    fn has_a_place(&self) -> bool {
        self.met.is_some() && !self.closed && self.out() < self.window && !self.asks_main_thread_here()
    }

    fn may_call(&self) -> bool {
        let is_hindered = self.blocked || self.busy_until.is_some() || self.main_thread.is_asked();
        self.calls_wait && self.proven && !is_hindered && self.has_a_place()
    }

    /// Whether calls must wait for a tool list. The request for the list takes one of the editor's places, so calls have to wait
    /// for it if there is only one.
    fn awaits_list(&self) -> bool {
        let is_up = self.met.is_some() && !self.closed;
        is_up && (self.list_wanted || (self.listing.is_some() && self.window == 1) || !self.proven)
    }

    fn takes_a_place(&mut self, now: Instant) {
        if self.out() == 0 {
            self.quiet.watched(now);
        }
    }

    /// The calls that have a place at the editor.
    fn calls(&self) -> u8 {
        let open = self.open.values().filter(|open| matches!(open, ReplyTo::Call(..))).count();
        u8::try_from(open + self.jobs.len()).unwrap_or(u8::MAX).saturating_add(u8::from(self.preparing))
    }

    /// The places at the editor that are taken.
    fn out(&self) -> u8 {
        let asks = self.outcomes_take_a_place && self.awaits(|open| matches!(open, ReplyTo::Outcomes(_)));
        self.calls().saturating_add(u8::from(self.listing.is_some())).saturating_add(u8::from(asks))
    }

    /// A place has become free. Returns what the bridge must be told of it.
    fn freed(&mut self) -> Vec<Event> {
        if self.calls() == 0 {
            self.quiet.running_max = Duration::ZERO;
        }
        if self.out() > 0 {
            return Vec::new();
        }
        let last = self.is_last.then_some(Event::NothingOwed);
        self.quiet.waits_for_nothing().into_iter().chain(last).collect()
    }

    // ---- silence ----

    /// Handles a sign of life from the editor. Returns the event for the bridge, if it ends a stall.
    pub fn heard(&mut self, now: Instant) -> Option<Event> {
        self.quiet.heard(now)
    }

    /// Whether the question for the heartbeat can be on its way. An editor that runs calls as jobs answers most calls at once. Where it
    /// does not, the question waits for the answer.
    fn may_be_asked(&self) -> bool {
        !(self.jobs.are_asked_alone && self.awaits(|open| matches!(open, ReplyTo::Call(..))))
    }

    /// When the silence of the editor means something new, if nothing is heard until then.
    pub fn deadline(&self) -> Option<Instant> {
        self.quiet.deadline(self.out() > 0, self.may_be_asked())
    }

    /// Returns what the editor's silence means now, once.
    pub fn overdue(&mut self, now: Instant) -> Option<Event> {
        let owes = self.out() > 0;
        self.quiet.overdue(owes, self.may_be_asked(), now)
    }

    // ---- what is asked ----

    /// Records that a message of the greeting is sent under this number.
    pub fn asks_greeting(&mut self, number: u64) {
        self.open.insert(number, ReplyTo::Greeting);
    }

    /// Records that the greeting is complete. `window`: how many calls and lists the editor accepts at once. `heartbeat`: whether it
    /// answers heartbeat questions off its main thread, so that it must be heard of all the time.
    pub fn greeted(&mut self, met: Met, window: usize, heartbeat: bool, now: Instant) {
        self.met = Some(met);
        self.window = u8::try_from(window).unwrap_or(u8::MAX).clamp(1, WINDOW_MAX);
        self.quiet.beats = heartbeat;
        self.quiet.heard = Some(now);
    }

    /// Removes and returns the revision of the tool list that the greeting named, if any. It is valid only for the first request
    /// for the tool list: later requests are made because the tools changed.
    pub fn take_revision(&mut self) -> Option<String> {
        self.met.as_mut()?.tools_revision.take()
    }

    /// Records that a request for the tool list is sent under this number.
    pub fn asks_list(&mut self, number: u64, step: usize) {
        self.open.insert(number, ReplyTo::List { step });
    }

    /// Records that a heartbeat question is sent under this number.
    pub fn asks_heartbeat(&mut self, number: u64) {
        self.open.insert(number, ReplyTo::Heartbeat);
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
            !matches!(open, ReplyTo::Outcomes(question)
                if now.saturating_duration_since(question.asked) >= OUTCOMES_ASKED_EVERY)
        });
        if let Some(ReplyTo::Outcomes(question)) =
            self.open.values_mut().find(|open| matches!(open, ReplyTo::Outcomes(_)))
        {
            question.again = true;
            return (None, Vec::new());
        }
        let settlements = ledger.journals_gone(Some(journal), now);
        let known = |(call, how)| match how {
            Recovery::Journal(key) => Some((call, key)),
            Recovery::None | Recovery::ResultFile { .. } | Recovery::StatusFile { .. } | Recovery::Inferred => None,
        };
        let open: BTreeSet<CallId> = self.open.values().filter_map(ReplyTo::call).collect();
        self.doubted.retain(|call| open.contains(call));
        if self.jobs.are_asked_alone && self.alone.is_none() {
            self.alone = Some(BTreeSet::new());
            self.jobs.run_from_before = false;
        }
        let here = self.doubted.iter().chain(self.jobs.calls());
        let here = here.filter_map(|call| Some((*call, ledger.journal_key(*call)?)));
        let sought = here.chain(ledger.recovering().into_iter().filter_map(known));
        let sought: Vec<(CallId, JournalKey)> = match &mut self.alone {
            None => sought.take(OUTCOMES_ASKED_MAX).collect(),
            Some(asked) => sought.filter(|(call, _)| asked.insert(*call)).take(1).collect(),
        };
        if sought.is_empty() {
            self.alone = None;
            return (None, settlements);
        }
        let keys = sought.iter().map(|(_, key)| key.clone()).collect();
        if self.outcomes_take_a_place {
            self.takes_a_place(now);
        }
        self.open.insert(number, ReplyTo::Outcomes(Question { sought, asked: now, again: false }));
        (Some(keys), settlements)
    }

    /// Records that a cancel is sent under this number, on a connection that brings an answer to each message.
    pub fn asks_cancel(&mut self, number: u64) {
        self.open.insert(number, ReplyTo::Cancel);
    }

    /// Records that the message with this number is not sent after all.
    pub fn not_asked(&mut self, number: u64) {
        self.open.remove(&number);
    }

    // ---- calls ----

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
    ) -> Result<(Option<Claim>, Vec<Settlement>), Settled> {
        if self.closed {
            ledger.unreserve(call, self.epoch);
            return Err(self.not_sent(Vec::new()));
        }
        let running_max = terms.running_max();
        match ledger.claim(call, self.epoch, terms, now) {
            Ok(settlements) => {
                self.preparing = false;
                // If this is the only call, those before it have ended, and their running times no longer matter.
                let others = if self.calls() == 0 { Duration::ZERO } else { self.quiet.running_max };
                self.quiet.running_max = others.max(running_max);
                if self.out() == 0 {
                    self.quiet.watched(now);
                }
                self.calls_wait = ledger.has_held();
                self.used = self.used.max(Used::Sent);
                self.open.insert(number, ReplyTo::Call(call, after));
                Ok((ledger.claim_of(call), settlements))
            }
            Err(ClaimRefused::OtherProject) => {
                let settlements = ledger.refuse(call, Cause::ProjectChanged, now);
                Err(self.not_sent(settlements))
            }
            Err(
                ClaimRefused::EpochClosed | ClaimRefused::NotHeld | ClaimRefused::LimitPassed | ClaimRefused::NotWanted,
            ) => Err(self.not_sent(Vec::new())),
        }
    }

    fn not_sent(&mut self, settlements: Vec<Settlement>) -> Settled {
        self.preparing = false;
        Settled { settlements, events: self.freed() }
    }

    /// Takes a claim back: no byte of the call was written.
    pub fn not_written(&mut self, call: CallId, ledger: &mut Ledger, now: Instant) -> Vec<Settlement> {
        ledger.revoke_claim(call, self.epoch, now)
    }

    /// Refuses a reserved call that cannot or may not be sent, and frees its place.
    pub fn unsendable(&mut self, call: CallId, why: Unsendable, ledger: &mut Ledger, now: Instant) -> Settled {
        let settlements = match why {
            Unsendable::Refused(cause) => ledger.refuse(call, cause, now),
            Unsendable::TurnedDown(cause, grounds) => ledger.turn_down(call, cause, grounds, now),
        };
        self.not_sent(settlements)
    }

    /// Frees the place of a reserved call that is answered without being sent on this connection.
    pub fn gave_back(&mut self) -> Settled {
        self.not_sent(Vec::new())
    }

    // ---- replies ----

    /// Returns the message that a reply with this number answers. The message is then no longer open, except with
    /// [`ReplyTo::Doubled`]. `refusal`: the kind of refusal, if the editor refused the message.
    pub fn reply(&mut self, number: u64, refusal: Option<Refusal>) -> ReplyTo {
        match self.open.get(&number) {
            Some(ReplyTo::Call(call, _)) if refusal == Some(Refusal::Double) => ReplyTo::Doubled(*call),
            _ => self.open.remove(&number).unwrap_or(ReplyTo::Nothing),
        }
    }

    /// Returns the number of the only unanswered message, for replies that carry no number. `None` if there is none or more than
    /// one. A question for the heartbeat does not count: it has nothing of a client, so no editor fails to read it.
    pub fn only_open(&self) -> Option<u64> {
        let mut counted = self.open.iter().filter(|(_, open)| !matches!(open, ReplyTo::Heartbeat));
        let (number, _) = counted.next()?;
        counted.next().is_none().then_some(*number)
    }

    /// Whether this call has been sent and not answered.
    pub fn has_open(&self, call: CallId) -> bool {
        self.awaits(|open| open.call() == Some(call))
    }

    /// Whether the greeting is still unanswered.
    pub fn awaits_greeting(&self) -> bool {
        self.awaits(|open| matches!(open, ReplyTo::Greeting))
    }

    /// Whether the next reply may concern a client's call.
    pub fn owes_answers(&self) -> bool {
        self.awaits(|open| matches!(open, ReplyTo::Call(..) | ReplyTo::Outcomes(_)))
    }

    pub fn used(&self) -> Used {
        self.used
    }

    /// Whether any message is unanswered.
    pub fn awaits_reply(&self) -> bool {
        !self.open.is_empty()
    }

    fn awaits(&self, what: impl Fn(&ReplyTo) -> bool) -> bool {
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
                let mut events = Vec::new();
                if known {
                    // The reply does not give the reason for leaving.
                    events.push(self.leaves(LeaveReason::Unknown));
                    events.extend(self.freed());
                }
                return Answered { known: true, settled: Settled { settlements, events }, hang_up: false };
            }
            Some(refusal @ (Refusal::OtherProject | Refusal::OtherSession)) => {
                let cause = if refusal == Refusal::OtherProject { Cause::WrongProject } else { Cause::Reloading };
                // The place ends with the connection.
                let (known, settlements) = ledger.turned_away(call, self.epoch, cause, now);
                return Answered { known, settled: Settled { settlements, events: Vec::new() }, hang_up: true };
            }
            Some(Refusal::Busy) => return self.refused_while_busy(call, answer.words().into(), ledger, now),
            Some(Refusal::NotYet) => return self.refused_alone(call, answer.words().into(), ledger, now),
            Some(Refusal::Final) => ledger.says_unrun(call),
            Some(Refusal::Double) | None => {}
        }
        self.is_free_again(ledger);
        self.used = Used::Answered;
        let (known, settlements) = if after.reload && !answer.is_error {
            ledger.withhold(call, self.epoch, answer, now)
        } else {
            ledger.reply(call, self.epoch, answer, now)
        };
        self.quiet.watched(now);
        self.calls_wait = ledger.has_held();
        Answered { known, settled: Settled { settlements, events: self.freed() }, hang_up: false }
    }

    /// Handles the answer to a question for outcomes. Orders another if one was wanted, or if calls must be asked for alone. Returns
    /// what the bridge must be told.
    pub fn outcomes_told(&mut self, question: &Question, is_read: bool) -> Vec<Event> {
        if !is_read && question.sought.len() > 1 {
            self.alone.get_or_insert_default();
        }
        if question.again || self.alone.is_some() {
            self.order(Errand::Outcomes);
        }
        if self.outcomes_take_a_place { self.freed() } else { Vec::new() }
    }
}
