//! The bridge without its sockets and timers: its machine, its connection's epoch, and what its decisions mean for the calls.
//!
//! A [`BridgeCore`] is a value without I/O. The bridge actor feeds it events and carries out its [`Command`]s; the model checker
//! does the same in a simulated world. The bridge's decisions about calls are made here, on the ledger that the caller lends.

use std::time::Duration;

use crate::core::calls::{LedgerAccess, Settlement};
use crate::core::exchange::Order;
use crate::fsm::bridge::{Bridge, Effect, Event, Evidence, Sign, State, Timer};
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::fsm::{Driver, Outbox};
use crate::protocol::ids::Epoch;

/// What the caller must carry out for the bridge. The order of the commands matters.
#[derive(Debug)]
pub enum Command<C> {
    /// Ask discovery for targets.
    AskTargets,
    /// Connect to this target of the offer. Then call [`BridgeCore::dialled`], or feed [`Event::ConnectFailed`] if the attempt
    /// could not begin.
    Dial {
        /// The target's position in the offer.
        target: u8,
    },
    /// Pass an order to the connection.
    Order(Order),
    /// Tell the connection to leave free places to the bridge.
    KeepPlaces,
    /// Drop the connection. The ledger has already closed its epoch.
    HangUp {
        /// The connection's handle.
        connection: C,
        /// The connection's epoch.
        epoch: Epoch,
        /// Why the connection is dropped.
        loss: Loss,
    },
    /// Carry out the settlements of the ledger.
    Settle(Vec<Settlement>),
    /// Report that the connection is usable.
    TellUp,
    /// Report that the connection is no longer usable.
    TellDown,
    /// Report that the editor's tools changed.
    TellToolsChanged,
    /// Check whether the editor's process lives.
    CheckEditor,
    /// Wait until no client waits for a call that was sent on this connection, and then feed [`Event::NobodyWaits`].
    AwaitClients,
    /// Arm [`Timer::Retry`] with a delay from [`retry`](crate::fsm::retry).
    Retry {
        /// The number of failed rounds so far.
        attempt: u8,
        /// Whether an editor is likely, or calls are held.
        likely: bool,
    },
    /// Bring a running [`Timer::Retry`] forward, as soon as the spacing of dials allows.
    ShortenRetry,
    /// Arm a timer.
    Arm(Timer, Duration),
    /// Disarm a timer.
    Disarm(Timer),
}

/// The result of one event.
#[derive(Debug)]
#[must_use]
pub struct Step<C> {
    /// The machine's state before the event.
    pub before: State,
    /// The machine's transitions, and whether it decided the event. `effects` is empty: `commands` replaces it.
    pub out: Outbox<Bridge>,
    /// What the caller must carry out.
    pub commands: Vec<Command<C>>,
}

/// What callers may expect of the link from now on.
#[derive(Debug)]
#[must_use]
pub struct Expectation {
    /// The label of the machine's state.
    pub state: &'static str,
    /// What callers may expect.
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
    /// Whether the ledger was told that the calls wait for the tool list.
    list_awaited: bool,
}

impl<C> BridgeCore<C> {
    /// Creates a bridge. `after_loss`: the bridge before it lost an editor a moment ago; then the caller must arm
    /// [`Timer::Hope`].
    pub fn new(after_loss: bool) -> Self {
        let (driver, _) = Driver::start(if after_loss { Bridge::after_loss() } else { Bridge::new() });
        Self { driver, connection: None, told: None, list_awaited: false }
    }

    /// Returns the first event to feed; `None` if there is nothing to do yet. `draining`: the gateway stops, and the order to
    /// stop may have been sent to the bridge before this one.
    pub fn first_event(draining: bool, wanted: bool, ledger: &mut impl LedgerAccess) -> Option<Event> {
        if draining {
            Some(Event::StopRequested)
        } else if ledger.with(|ledger, _| ledger.has_held()) {
            Some(Event::CallsWaiting)
        } else {
            wanted.then_some(Event::Wanted)
        }
    }

    /// Returns the machine.
    pub fn machine(&self) -> &Bridge {
        self.driver.machine()
    }

    /// Returns the machine's state.
    pub fn state(&self) -> State {
        self.driver.state()
    }

    /// Returns the current connection.
    pub fn connection(&self) -> Option<&C> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Returns the current connection's epoch.
    pub fn epoch(&self) -> Option<Epoch> {
        self.connection.as_ref().map(|(epoch, _)| *epoch)
    }

    /// Records the connection that is being opened.
    pub fn dialled(&mut self, epoch: Epoch, connection: C) {
        self.connection = Some((epoch, connection));
    }

    /// Feeds an event that a connection sent. Returns `None`, and ignores the event, if the connection is not the current one:
    /// its epoch is closed.
    pub fn hear(&mut self, epoch: Epoch, event: Event, ledger: &mut impl LedgerAccess) -> Option<Step<C>> {
        if self.epoch() != Some(epoch) {
            return None;
        }
        if matches!(event, Event::ConnectFailed(_)) {
            self.connection = None;
        }
        Some(self.feed(event, ledger))
    }

    /// Feeds an event to the machine. Changes the ledger as the effects demand, and returns the commands that remain.
    pub fn feed(&mut self, event: Event, ledger: &mut impl LedgerAccess) -> Step<C> {
        let mut commands = Vec::new();
        // A journal is lost with its editor's process.
        let dead = |evidence: Evidence| evidence.editor == Sign::Dead;
        let is_dead = matches!(event, Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. } if dead(evidence));
        let before = self.driver.state();
        let mut out = self.driver.feed(&event);
        // First the reason: the verdicts that follow at once name it.
        let availability = self.machine().availability();
        let is_gone = availability.cause().is_some_and(Cause::is_gone);
        if is_gone && (is_dead || event == Event::EditorVanished) {
            commands.push(Command::Settle(ledger.with(|ledger, now| ledger.set_availability(availability, now))));
        }
        if is_dead {
            commands.push(journals_gone(ledger));
        }
        for effect in std::mem::take(&mut out.effects) {
            self.carry_out(effect, ledger, &mut commands);
        }
        if event == Event::EditorVanished {
            commands.push(journals_gone(ledger));
        }
        let awaited = self.machine().awaits_list();
        if std::mem::replace(&mut self.list_awaited, awaited) != awaited {
            ledger.with(|ledger, _| ledger.await_list(awaited));
        }
        Step { before, out, commands }
    }

    fn carry_out(&mut self, effect: Effect, ledger: &mut impl LedgerAccess, commands: &mut Vec<Command<C>>) {
        let command = match effect {
            Effect::AskTargets => Command::AskTargets,
            Effect::Dial { target } => Command::Dial { target },
            Effect::Greet => Command::Order(Order::Greeting),
            Effect::SendList => Command::Order(Order::List { step: 0 }),
            Effect::SendNextCall => Command::Order(Order::Call),
            Effect::KeepPlaces => Command::KeepPlaces,
            Effect::AskHeartbeat => Command::Order(Order::Heartbeat),
            Effect::HangUp(loss) => {
                let Some((epoch, connection)) = self.connection.take() else { return };
                // The ledger first: from here on every claim, write or frame of that epoch is ignored. Then the socket is closed.
                commands.push(Command::Settle(ledger.with(|ledger, now| ledger.close_epoch(epoch, loss, now))));
                if loss == Loss::Quit {
                    commands.push(journals_gone(ledger));
                }
                Command::HangUp { connection, epoch, loss }
            }
            Effect::TellUp => {
                commands.push(Command::TellUp);
                Command::Order(Order::Outcomes)
            }
            Effect::TellDown => Command::TellDown,
            Effect::TellToolsChanged => Command::TellToolsChanged,
            Effect::CheckEditor => Command::CheckEditor,
            Effect::AwaitClients => Command::AwaitClients,
            Effect::Retry { attempt, likely } => {
                let likely = likely || ledger.with(|ledger, _| ledger.has_held());
                Command::Retry { attempt, likely }
            }
            Effect::ShortenRetry => Command::ShortenRetry,
            Effect::Arm(timer, delay) => Command::Arm(timer, delay),
            Effect::Disarm(timer) => Command::Disarm(timer),
        };
        commands.push(command);
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

fn journals_gone<C>(ledger: &mut impl LedgerAccess) -> Command<C> {
    Command::Settle(ledger.with(|ledger, now| ledger.journals_gone(None, now)))
}
