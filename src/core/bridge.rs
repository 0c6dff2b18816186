//! The bridge without its sockets and timers: its machine, its connection's epoch, and what its decisions mean for the calls.
//!
//! A [`BridgeCore`] is a value without I/O. The bridge actor feeds it events, and lends it the [`Hands`] that carry out effects; the
//! model checker does the same in a simulated world. The bridge's decisions about calls are made here, on the ledger that the
//! hands reach.

use crate::core::calls::{Ledger, LedgerAccess, Settlement};
use crate::core::exchange::Errand;
use crate::fsm::bridge::{Bridge, ConnectFailure, Effect, Event, Evidence, Sign, State};
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::fsm::{Driver, Reaction};
use crate::protocol::ids::Epoch;

/// What carries out the effects of the bridge's machine, in the order in which they are given. `C` is the handle of a connection.
pub trait Hands<C>: LedgerAccess {
    /// Notes a step of the machine, before its effects: the state before it, what it led to, and the event.
    fn stepped(&mut self, before: State, out: &Reaction<Bridge>, event: Event);
    /// Carries out the settlements of the ledger.
    fn settle(&mut self, settlements: Vec<Settlement>);
    /// Begins to connect to the target at this position of the offer. `patient`: if nobody listens, all targets are
    /// dialled in turn for a while.
    ///
    /// # Errors
    /// The attempt could not begin.
    fn dial(&mut self, target: u8, patient: bool) -> Result<(Epoch, C), ConnectFailure>;
    /// Ends a patient dial that was only refused so far.
    fn hurry(&mut self, connection: &C);
    fn order(&mut self, connection: &C, errand: Errand);
    /// Ends sending on the connection ([`Exchange::end_sending`](super::exchange::Exchange::end_sending)). Returns whether nothing is
    /// owed.
    fn end_sending(&mut self, connection: &C) -> bool;
    /// Drops the connection. The ledger has already closed its epoch.
    fn hang_up(&mut self, connection: C, epoch: Epoch, loss: Loss);
    /// Carries out an effect that changes no connection. The effect may tell something of the `current` one.
    fn carry_out(&mut self, effect: Effect, because: Event, machine: &Bridge, current: Option<(Epoch, &C)>);
}

/// What callers may expect of the link from now on.
#[derive(Debug)]
#[must_use]
pub struct Expectation {
    /// The label of the machine's state.
    pub state: &'static str,
    pub availability: Availability,
    /// Whether there is no evidence yet for or against an editor.
    pub undecided: bool,
    /// The settlements of the ledger; `None` if only `state` changed.
    pub changed: Option<Vec<Settlement>>,
}

/// The bridge as a value; see the module's documentation. `C` is the handle of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BridgeCore<C> {
    driver: Driver<Bridge>,
    connection: Option<(Epoch, C)>,
    told: Option<(&'static str, Availability, bool)>,
}

impl<C> BridgeCore<C> {
    /// Creates a bridge. `after_loss`: the bridge before it lost an editor a moment ago; then the caller must arm
    /// [`Timer::Hope`](crate::fsm::bridge::Timer::Hope).
    pub fn new(after_loss: bool) -> Self {
        let (driver, _) = Driver::start(if after_loss { Bridge::after_loss() } else { Bridge::new() });
        Self { driver, connection: None, told: None }
    }

    /// Returns the first event to feed; `None` if there is nothing to do yet. `draining`: the gateway stops, and the
    /// order to stop may have reached the predecessor of this bridge.
    pub fn first_event(draining: bool, wanted: bool, ledger: &mut impl LedgerAccess) -> Option<Event> {
        if draining {
            Some(Event::StopRequested)
        } else if ledger.with(|ledger, _| ledger.has_held()) {
            Some(Event::CallsWaiting)
        } else {
            wanted.then_some(Event::Wanted)
        }
    }

    pub fn machine(&self) -> &Bridge {
        self.driver.machine()
    }

    pub fn state(&self) -> State {
        self.driver.state()
    }

    pub fn connection(&self) -> Option<&C> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Returns the current connection's epoch.
    pub fn epoch(&self) -> Option<Epoch> {
        self.connection.as_ref().map(|(epoch, _)| *epoch)
    }

    /// Feeds an event that a connection sent. Returns false, and ignores the event, if the connection is not the current one: its
    /// epoch is closed.
    pub fn hear(&mut self, epoch: Epoch, event: Event, hands: &mut impl Hands<C>) -> bool {
        let is_current = self.epoch() == Some(epoch);
        if is_current {
            if matches!(event, Event::ConnectFailed { .. }) {
                self.connection = None;
            }
            self.feed(event, hands);
        }
        is_current
    }

    /// Feeds an event to the machine, changes the ledger as the effects demand, and has them carried out. If an effect
    /// leads to another event at once, that event is fed too.
    pub fn feed(&mut self, event: Event, hands: &mut impl Hands<C>) {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            next = self.step(event, hands);
        }
    }

    fn step(&mut self, event: Event, hands: &mut impl Hands<C>) -> Option<Event> {
        // A journal is lost with its editor's process.
        let dead = |evidence: Evidence| evidence.editor == Sign::Dead;
        let is_dead = matches!(event, Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. } if dead(evidence));
        let before = self.driver.state();
        let mut out = self.driver.feed(&event);
        hands.stepped(before, &out, event);
        // The reason is told first, because the verdicts that follow name it.
        let availability = self.machine().availability();
        let is_gone = availability.cause().is_some_and(Cause::is_gone);
        if is_gone && (is_dead || event == Event::EditorVanished) {
            let settlements = hands.with(|ledger, now| ledger.set_availability(availability, now));
            hands.settle(settlements);
        }
        if is_dead {
            journals_gone(hands);
        }
        let mut next = None;
        for effect in std::mem::take(&mut out.effects) {
            next = self.carry_out(effect, event, hands).or(next);
        }
        if event == Event::EditorVanished {
            journals_gone(hands);
        }
        next
    }

    fn carry_out(&mut self, effect: Effect, because: Event, hands: &mut impl Hands<C>) -> Option<Event> {
        match effect {
            Effect::Dial { target, patient } => match hands.dial(target, patient) {
                Ok(connection) => self.connection = Some(connection),
                Err(failure) => return Some(Event::ConnectFailed { target, failure, dialled: false }),
            },
            Effect::Hurry => {
                if let Some(connection) = self.connection() {
                    hands.hurry(connection);
                }
            }
            Effect::Greet => self.order(Errand::Greeting, hands),
            Effect::AskHeartbeat => self.order(Errand::Heartbeat, hands),
            Effect::EndSending => {
                let owes_nothing = self.connection().is_none_or(|connection| hands.end_sending(connection));
                return owes_nothing.then_some(Event::NothingOwed);
            }
            Effect::HangUp(loss) => {
                let (epoch, connection) = self.connection.take()?;
                // The ledger learns it first: from here on every claim, write or frame of that epoch is ignored. Then
                // the socket is closed.
                let close = |ledger: &mut Ledger, now| {
                    ledger.await_list(false);
                    ledger.close_epoch(epoch, loss, now)
                };
                let settlements = hands.with(close);
                hands.settle(settlements);
                if loss == Loss::Quit {
                    journals_gone(hands);
                }
                hands.hang_up(connection, epoch, loss);
            }
            Effect::TellUp => {
                self.tell(effect, because, hands);
                self.order(Errand::Outcomes, hands);
            }
            Effect::Retry { attempt, likely } => {
                let likely = likely || hands.with(|ledger, _| ledger.has_held());
                self.tell(Effect::Retry { attempt, likely }, because, hands);
            }
            Effect::AskTargets
            | Effect::TellDown
            | Effect::TellToolsChanged
            | Effect::CheckEditor
            | Effect::AwaitClients
            | Effect::ShortenRetry
            | Effect::Arm(..)
            | Effect::Disarm(_) => self.tell(effect, because, hands),
        }
        None
    }

    fn order(&self, errand: Errand, hands: &mut impl Hands<C>) {
        if let Some(connection) = self.connection() {
            hands.order(connection, errand);
        }
    }

    fn tell(&self, effect: Effect, because: Event, hands: &mut impl Hands<C>) {
        let current = self.connection.as_ref().map(|(epoch, connection)| (*epoch, connection));
        hands.carry_out(effect, because, self.machine(), current);
    }

    /// Returns what may be expected of the link, if that or the state has changed since the last call; otherwise `None`. Reports
    /// a change of the availability to the ledger.
    pub fn expectation(&mut self, ledger: &mut impl LedgerAccess) -> Option<Expectation> {
        let state: &'static str = self.driver.state().into();
        let availability = self.machine().availability();
        let undecided = self.machine().undecided();
        let now = Some((state, availability, undecided));
        if self.told == now {
            return None;
        }
        let before = std::mem::replace(&mut self.told, now);
        let same = before.is_some_and(|(_, before, open)| (before, open) == (availability, undecided));
        let changed = (!same).then(|| ledger.with(|ledger, now| ledger.set_availability(availability, now)));
        Some(Expectation { state, availability, undecided, changed })
    }
}

fn journals_gone<C>(hands: &mut impl Hands<C>) {
    let settlements = hands.with(|ledger, now| ledger.journals_gone(None, now));
    hands.settle(settlements);
}
