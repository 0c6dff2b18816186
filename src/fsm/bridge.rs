//! The one connection to an editor: away, up, or ending; and why.
//!
//! Fed by its shell (sockets, timers), by discovery (where an editor may be, and what its files say), by the push listener
//! (hints) and by whoever has work for the editor. It decides when to dial, what to send next within the bridge's window, when
//! a silent editor counts as lost, and what callers may expect ([`Bridge::outlook`]). It knows no clock, address or dialect.

use std::time::Duration;

use super::cause::{Cause, Loss, Outlook};
use super::{Charted, Machine, Outbox, Outcome, statig_machine};
use crate::limits::{
    DRAIN_MAX, GREETING_TIMEOUT, LEAVE_MAX, LIKELY_AFTER_LOSS, LIVENESS_EVERY, SEEK_TIMEOUT, SILENCE_MAX, STALL_AFTER,
};
use crate::protocol::dialect::{Activity, LeaveReason, PushEvent};

/// Where the connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Nobody needs the editor yet.
    Idle,
    /// Discovery was asked where it is.
    Seeking,
    /// A connect is under way.
    Dialing,
    /// Connected; the greeting is out.
    Greeting,
    /// Between two rounds of dialling.
    BackingOff,
    /// Connected and greeted.
    Ready,
    /// Connected, but silent on outstanding work.
    Stalled,
    /// Connected, and the editor said that it is about to go.
    Leaving,
    /// Stopping: what was sent may still be answered.
    Draining,
    /// No connection, and none will be made.
    Stopped,
}

/// Superstates of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// Not usable, and being brought about.
    Away,
    /// Greeted.
    Up,
    /// Nobody decided.
    Root,
}

/// The timers of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// State timeout of `seeking`: discovery did not answer.
    Seek,
    /// State timeout of `backing_off`: dial again.
    Retry,
    /// State timeout of `greeting`: no answer to it.
    Greeting,
    /// Outstanding work without a byte: show it.
    Stall,
    /// Outstanding work without a byte: give the connection up.
    Silence,
    /// Nothing outstanding: look whether the editor's process lives.
    Liveness,
    /// Named: the loss is so long ago that it no longer makes a return likely.
    Hope,
    /// State timeout of `leaving`: it said goodbye and stayed.
    Leave,
    /// State timeout of `draining`.
    Drain,
}

/// What is known of the editor's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// It lives.
    Alive,
    /// Its recorded pid is dead.
    Dead,
    /// No pid is known.
    Unknown,
}

/// What files and processes say, beside the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The process.
    pub editor: Sign,
    /// What its lock files say it does.
    pub activity: Option<Activity>,
}

/// Why a connect gave no usable connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ConnectFailure {
    /// Nothing listens there.
    Refused,
    /// The connect did not end in time.
    TimedOut,
    /// The port belongs to another project's editor.
    WrongProject,
    /// Nothing proves that the port belongs to this project's editor.
    Unproven,
    /// The former connection has not fallen yet.
    PermitHeld,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Drop {
    /// End of stream.
    Eof,
    /// Reset, or another error of the socket.
    Reset,
    /// Bytes that are not the dialect's.
    Protocol,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Somebody needs the editor.
    Wanted,
    /// Discovery found editors that may be called.
    TargetsOffered {
        /// How many, best first.
        count: u8,
        /// What else it saw.
        evidence: Evidence,
    },
    /// Discovery found none.
    NothingOffered {
        /// Why none may be called.
        cause: Cause,
        /// What else it saw.
        evidence: Evidence,
    },
    /// The connect succeeded, and the peer may be called.
    Connected,
    /// The connect failed.
    ConnectFailed(ConnectFailure),
    /// The greeting was answered as this dialect's bridge does.
    Greeted,
    /// The greeting was answered as no bridge of this dialect does.
    GreetingRefused,
    /// A fresh tool list is wanted.
    ListWanted,
    /// The list exchange is over, well or badly.
    ListAnswered,
    /// The list came, and was lost on its way to the catalogue (our fault): its place is free, and nothing was learned of it.
    ListLost,
    /// A call waits in the ledger.
    CallsWaiting,
    /// A sent call was answered, or the next one turned out not to be sendable: its place is free.
    WorkFinished {
        /// More calls wait.
        more: bool,
    },
    /// Bytes came from the editor.
    BytesArrived,
    /// The editor announced that it closes the connection.
    LeavingAnnounced(LeaveReason),
    /// The push channel said something.
    HintReceived(PushEvent),
    /// Files or discovery have good news.
    NewsArrived,
    /// The connection ended.
    Disconnected(Drop),
    /// The editor's process is gone, whatever the socket says.
    EditorVanished,
    /// A timer fired.
    Elapsed(Timer),
    /// The gateway stops.
    StopRequested,
}

/// What the shell is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ask discovery for targets.
    AskTargets,
    /// Connect to the n-th target.
    Dial {
        /// Index into the offered targets.
        target: u8,
    },
    /// Send the greeting.
    Greet,
    /// Ask for the tool list.
    SendList,
    /// Send the next call of the ledger.
    SendNextCall,
    /// Close the epoch in the ledger, then the socket.
    HangUp(Loss),
    /// Tell the registry that the connection is usable.
    TellUp,
    /// Tell the registry that it no longer is.
    TellDown,
    /// The editor says its tools changed: tell the registry.
    TellToolsChanged,
    /// Look whether the editor's process lives.
    CheckEditor,
    /// Arm [`Timer::Retry`] by the backoff rule.
    Retry {
        /// Failed rounds so far.
        attempt: u8,
        /// Whether an editor is likely: caps the delay low.
        likely: bool,
    },
    /// Bring a running [`Timer::Retry`] forward, as soon as the spacing of dials allows.
    ShortenRetry,
    /// Arm a timer.
    Arm(Timer, Duration),
    /// Disarm a timer.
    Disarm(Timer),
}

/// Attempts beyond this change no delay any more.
const ATTEMPT_CAP: u8 = 7;

/// The storage of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bridge {
    window: u8,
    /// Why it is away.
    cause: Cause,
    /// What the editor foretold about its leaving.
    foretold: Option<LeaveReason>,
    met: bool,
    attempt: u8,
    evidence: bool,
    hope: bool,
    targets: u8,
    target: u8,
    in_flight: u8,
    listing: bool,
    list_wanted: bool,
    listed: bool,
    calls_waiting: bool,
}

impl Bridge {
    /// A connection whose bridge takes `window` calls at once (1: strictly in order).
    pub fn new(window: u8) -> Self {
        Self {
            window: window.max(1),
            cause: Cause::Connecting,
            foretold: None,
            met: false,
            attempt: 0,
            evidence: false,
            hope: false,
            targets: 0,
            target: 0,
            in_flight: 0,
            listing: false,
            list_wanted: false,
            listed: false,
            calls_waiting: false,
        }
    }

    /// What callers may expect now.
    pub fn outlook(&self, state: State) -> Outlook {
        match state {
            State::Ready | State::Stalled => Outlook::Open,
            State::Leaving => match self.foretold {
                Some(LeaveReason::Quit) => Outlook::Absent(Cause::Closed),
                Some(LeaveReason::Reload | LeaveReason::Unknown) | None => Outlook::Coming(Cause::Reloading),
            },
            State::Draining | State::Stopped => Outlook::Absent(Cause::ShuttingDown),
            State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff => match self.cause {
                cause @ (Cause::Closed
                | Cause::WrongProject
                | Cause::WrongPeer
                | Cause::Unproven
                | Cause::Ambiguous) => Outlook::Absent(cause),
                Cause::Connecting => Outlook::Coming(Cause::Connecting),
                cause if self.likely() || state == State::Greeting => Outlook::Coming(cause),
                cause => Outlook::Absent(cause),
            },
        }
    }

    /// True when nothing speaks for or against an editor yet: the first survey and the first dials are under way.
    pub fn undecided(&self, state: State) -> bool {
        self.cause == Cause::Connecting
            && matches!(state, State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff)
    }

    /// The target that is dialled or connected, by its place in the offer.
    pub fn target(&self) -> u8 {
        self.target
    }

    /// Calls and list requests that the editor owes an answer.
    pub fn outstanding(&self) -> u8 {
        self.in_flight + u8::from(self.listing)
    }

    fn likely(&self) -> bool {
        self.evidence || self.hope
    }

    fn learn(&mut self, evidence: Evidence) {
        self.evidence = match evidence.editor {
            Sign::Alive => true,
            Sign::Dead => false,
            Sign::Unknown => evidence.activity.is_some(),
        };
        if self.cause == Cause::Closed {
            match evidence.editor {
                // The one that said goodbye is gone; whoever lives next is another.
                Sign::Dead => self.met = false,
                Sign::Alive if !self.met => self.cause = Cause::Connecting,
                Sign::Alive | Sign::Unknown => {}
            }
            return;
        }
        let seen = match (evidence.editor, evidence.activity) {
            (Sign::Dead, _) if self.met => Some(Cause::Crashed),
            (Sign::Dead, _) => None,
            (Sign::Alive | Sign::Unknown, Some(Activity::Compiling)) => Some(Cause::Compiling),
            (Sign::Alive | Sign::Unknown, Some(Activity::Reloading | Activity::Starting)) => Some(Cause::Reloading),
            (Sign::Alive, None) if self.met && self.hope => Some(Cause::Reloading),
            (Sign::Alive, None) if self.cause != Cause::Connecting => Some(Cause::BridgeDown),
            (Sign::Alive | Sign::Unknown, None) => None,
        };
        if let Some(cause) = seen {
            self.cause = cause;
        }
    }

    /// One round of dialling every target has failed.
    fn round_failed(&mut self, failure: ConnectFailure) -> Outcome<State> {
        self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
        match failure {
            ConnectFailure::WrongProject => self.cause = Cause::WrongProject,
            ConnectFailure::Unproven => self.cause = Cause::Unproven,
            ConnectFailure::Refused | ConnectFailure::TimedOut => {
                let first = matches!(
                    self.cause,
                    Cause::Connecting | Cause::WrongProject | Cause::WrongPeer | Cause::Unproven | Cause::Ambiguous
                );
                if first {
                    self.cause = if self.evidence { Cause::BridgeDown } else { Cause::NotRunning };
                }
            }
            ConnectFailure::PermitHeld => {}
        }
        Outcome::Transition(State::BackingOff)
    }

    fn next_target(&mut self, failure: ConnectFailure) -> Outcome<State> {
        self.target = self.target.saturating_add(1);
        if self.target < self.targets { Outcome::Transition(State::Dialing) } else { self.round_failed(failure) }
    }

    /// The connection is gone: say why, forget what belonged to it.
    fn unplug(&mut self, cause: Cause, out: &mut Outbox<Self>) {
        self.cause = cause;
        self.foretold = None;
        self.in_flight = 0;
        self.listing = false;
        self.list_wanted = false;
        self.listed = false;
        if cause == Cause::Closed {
            self.hope = false;
            self.evidence = false;
            out.order(Effect::Disarm(Timer::Hope));
        } else {
            self.hope = true;
            out.order(Effect::Arm(Timer::Hope, LIKELY_AFTER_LOSS));
        }
    }

    /// A greeted connection is lost.
    fn lost(&mut self, loss: Loss, cause: Cause, out: &mut Outbox<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(loss));
        let proven = self.listed;
        self.unplug(cause, out);
        if proven {
            // Look at once: the files say what happened, and a quick reload may be over.
            self.attempt = 0;
            Outcome::Transition(State::Seeking)
        } else {
            // It never did anything for us: a crash loop gets no faster than the backoff.
            self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
            Outcome::Transition(State::BackingOff)
        }
    }

    fn disconnect(&mut self, drop: Drop, out: &mut Outbox<Self>) -> Outcome<State> {
        let (loss, cause) = match (self.foretold, drop) {
            (Some(LeaveReason::Reload), _) => (Loss::Reload, Cause::Reloading),
            (Some(LeaveReason::Quit), _) => (Loss::Quit, Cause::Closed),
            // It was greeted as the right one: a broken stream, not a wrong peer.
            (_, Drop::Protocol) => (Loss::Protocol, Cause::Lost),
            (Some(LeaveReason::Unknown) | None, Drop::Eof | Drop::Reset) => (Loss::Disconnect, Cause::Lost),
        };
        self.lost(loss, cause, out)
    }

    /// Sends what the window allows, list first: a call's tool is looked up in the live list.
    fn pump(&mut self, out: &mut Outbox<Self>) {
        let before = self.outstanding();
        if self.list_wanted && !self.listing && self.outstanding() < self.window {
            self.list_wanted = false;
            self.listing = true;
            out.order(Effect::SendList);
        }
        // One at a time: the shell answers each with `WorkFinished` or leaves it in flight and says that more wait.
        if self.listed && self.calls_waiting && self.outstanding() < self.window {
            self.calls_waiting = false;
            self.in_flight += 1;
            out.order(Effect::SendNextCall);
        }
        if before == 0 && self.outstanding() > 0 {
            out.order(Effect::Disarm(Timer::Liveness));
            self.watch(out);
        }
    }

    fn rest(&self, out: &mut Outbox<Self>) {
        out.order(Effect::Disarm(Timer::Stall));
        out.order(Effect::Disarm(Timer::Silence));
        out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
    }

    fn watch(&self, out: &mut Outbox<Self>) {
        out.order(Effect::Arm(Timer::Stall, STALL_AFTER));
        out.order(Effect::Arm(Timer::Silence, SILENCE_MAX));
    }

    fn finish_list(&mut self, out: &mut Outbox<Self>) {
        self.listing = false;
        self.listed = true;
        self.after_answer(out);
    }

    /// No call is let out by it: whoever lost the list asks for it again.
    fn lose_list(&mut self, out: &mut Outbox<Self>) {
        self.listing = false;
        self.after_answer(out);
    }

    /// Sends what may be sent now; the clocks of silence run anew from this answer.
    fn after_answer(&mut self, out: &mut Outbox<Self>) {
        self.attempt = 0;
        self.pump(out);
        if self.outstanding() == 0 {
            self.rest(out);
        } else {
            self.watch(out);
        }
    }

    fn finish_one(&mut self, more: bool, out: &mut Outbox<Self>) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.calls_waiting |= more;
        self.after_answer(out);
    }

    fn hear(&mut self, hint: PushEvent, out: &mut Outbox<Self>) {
        match hint {
            PushEvent::DomainReload => self.foretold = Some(LeaveReason::Reload),
            PushEvent::UserDisconnect | PushEvent::UnityShutdown => self.foretold = Some(LeaveReason::Quit),
            PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered => self.foretold = None,
            PushEvent::ToolsChanged => out.order(Effect::TellToolsChanged),
            PushEvent::Unknown => {}
        }
    }
}

impl Machine for Bridge {
    const NAME: &'static str = "bridge";
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Idle
    }

    fn group(state: State) -> Group {
        match state {
            State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff => Group::Away,
            State::Ready | State::Stalled | State::Leaving => Group::Up,
            State::Draining | State::Stopped => Group::Root,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Seeking => {
                out.order(Effect::Arm(Timer::Seek, SEEK_TIMEOUT));
                out.order(Effect::AskTargets);
            }
            State::Dialing => out.order(Effect::Dial { target: self.target }),
            State::Greeting => {
                out.order(Effect::Arm(Timer::Greeting, GREETING_TIMEOUT));
                out.order(Effect::Greet);
            }
            State::BackingOff => {
                let likely = self.likely() || self.calls_waiting;
                out.order(Effect::Retry { attempt: self.attempt, likely });
            }
            State::Leaving => out.order(Effect::Arm(Timer::Leave, LEAVE_MAX)),
            State::Draining => out.order(Effect::Arm(Timer::Drain, DRAIN_MAX)),
            State::Idle | State::Ready | State::Stalled | State::Stopped => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Seeking => out.order(Effect::Disarm(Timer::Seek)),
            State::Greeting => out.order(Effect::Disarm(Timer::Greeting)),
            State::BackingOff => out.order(Effect::Disarm(Timer::Retry)),
            State::Leaving => out.order(Effect::Disarm(Timer::Leave)),
            State::Draining => out.order(Effect::Disarm(Timer::Drain)),
            State::Idle | State::Dialing | State::Ready | State::Stalled | State::Stopped => {}
        }
    }

    fn entered_group(&mut self, group: Group, out: &mut Outbox<Self>) {
        if group == Group::Up {
            self.met = true;
            self.hope = false;
            self.foretold = None;
            out.order(Effect::Disarm(Timer::Hope));
            out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
            out.order(Effect::TellUp);
        }
    }

    fn left_group(&mut self, group: Group, out: &mut Outbox<Self>) {
        if group == Group::Up {
            for timer in [Timer::Stall, Timer::Silence, Timer::Liveness] {
                out.order(Effect::Disarm(timer));
            }
            out.order(Effect::TellDown);
        }
    }

    #[expect(clippy::too_many_lines, reason = "the transition table is read as one")]
    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (state, *event) {
            // ---- idle ----
            (State::Idle, Event::Wanted) => Outcome::Transition(State::Seeking),
            (State::Idle, Event::CallsWaiting) => {
                self.calls_waiting = true;
                Outcome::Transition(State::Seeking)
            }
            (State::Idle, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("nobody needs the editor yet")
            }
            (State::Idle, Event::NewsArrived) => out.ignore("nobody needs the editor yet"),

            // ---- seeking ----
            (State::Seeking, Event::TargetsOffered { count, evidence }) => {
                self.learn(evidence);
                self.targets = count;
                self.target = 0;
                if count == 0 {
                    self.round_failed(ConnectFailure::Refused)
                } else {
                    Outcome::Transition(State::Dialing)
                }
            }
            (State::Seeking, Event::NothingOffered { cause, evidence }) => {
                self.learn(evidence);
                // An editor that was met and is only out of sight keeps its better-known cause.
                let known = matches!(self.cause, Cause::Closed | Cause::Crashed | Cause::Reloading | Cause::Compiling);
                if !(known && cause == Cause::NotRunning) {
                    self.cause = cause;
                }
                self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
                Outcome::Transition(State::BackingOff)
            }
            (State::Seeking, Event::Elapsed(Timer::Seek)) => Outcome::Transition(State::Seeking),
            (State::Seeking, Event::NewsArrived) => out.ignore("discovery is looking already"),
            (State::Seeking | State::Dialing | State::Greeting, Event::CallsWaiting) => {
                self.calls_waiting = true;
                Outcome::Handled
            }

            // ---- dialing ----
            (State::Dialing, Event::Connected) => Outcome::Transition(State::Greeting),
            (State::Dialing, Event::ConnectFailed(failure)) => self.next_target(failure),
            (State::Dialing, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the dial under way decides first")
            }
            (State::Dialing, Event::NewsArrived) => out.ignore("a dial is under way"),

            // ---- greeting ----
            (State::Greeting, Event::Greeted) => Outcome::Transition(State::Ready),
            (State::Greeting, Event::GreetingRefused | Event::Disconnected(Drop::Protocol)) => {
                out.order(Effect::HangUp(Loss::Protocol));
                self.cause = Cause::WrongPeer;
                self.next_target(ConnectFailure::PermitHeld)
            }
            (State::Greeting, Event::Disconnected(Drop::Eof | Drop::Reset)) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                self.next_target(ConnectFailure::Refused)
            }
            (State::Greeting, Event::Elapsed(Timer::Greeting)) => {
                out.order(Effect::HangUp(Loss::Silence));
                self.cause = Cause::Stalled;
                self.next_target(ConnectFailure::PermitHeld)
            }
            (State::Greeting, Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                self.next_target(ConnectFailure::Refused)
            }
            (State::Greeting, Event::BytesArrived) => out.ignore("only the whole greeting counts"),
            (State::Greeting, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Handled
            }
            (State::Greeting, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the greeting under way decides first")
            }
            (State::Greeting, Event::NewsArrived) => out.ignore("a greeting is under way"),

            // ---- backing off ----
            (State::BackingOff, Event::Elapsed(Timer::Retry)) => Outcome::Transition(State::Seeking),
            (State::BackingOff, Event::NewsArrived) => {
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (State::BackingOff, Event::CallsWaiting) => {
                self.calls_waiting = true;
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (State::BackingOff, Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. }) => {
                self.learn(evidence);
                Outcome::Handled
            }

            // ---- ready ----
            (State::Ready, Event::Elapsed(Timer::Stall)) if self.outstanding() > 0 => {
                Outcome::Transition(State::Stalled)
            }
            (State::Ready, Event::Elapsed(Timer::Stall)) => out.ignore("nothing is outstanding"),
            (State::Ready, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Transition(State::Leaving)
            }
            (State::Ready, Event::BytesArrived) => {
                if self.outstanding() > 0 {
                    self.watch(out);
                }
                Outcome::Handled
            }

            // ---- stalled ----
            (State::Stalled, Event::BytesArrived) => {
                self.watch(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::WorkFinished { more }) => {
                self.finish_one(more, out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::ListAnswered) => {
                self.finish_list(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::ListLost) if self.listing => {
                self.lose_list(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Transition(State::Leaving)
            }
            (State::Stalled, Event::Elapsed(Timer::Stall)) => out.ignore("it shows already"),

            // ---- leaving ----
            (State::Leaving, Event::BytesArrived) => out.ignore("it may finish what it began; its goodbye stands"),
            (State::Leaving, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Handled
            }
            (State::Leaving, Event::Elapsed(Timer::Leave)) => self.disconnect(Drop::Eof, out),
            (State::Leaving, Event::CallsWaiting) => {
                self.calls_waiting = true;
                out.ignore("nothing more is sent to an editor that leaves; remembered for the next connection")
            }
            (State::Leaving, Event::ListWanted) => out.ignore("the next connection begins with a list"),
            (State::Leaving, Event::ListAnswered) => {
                self.listing = false;
                self.listed = true;
                Outcome::Handled
            }
            (State::Leaving, Event::ListLost) => {
                self.listing = false;
                Outcome::Handled
            }
            (State::Leaving, Event::WorkFinished { more }) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.calls_waiting |= more;
                Outcome::Handled
            }
            (State::Leaving, Event::Elapsed(Timer::Stall)) => out.ignore("it is about to go anyway"),

            // ---- draining ----
            (State::Draining, Event::WorkFinished { .. }) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                if self.outstanding() == 0 {
                    out.order(Effect::HangUp(Loss::Shutdown));
                    Outcome::Transition(State::Stopped)
                } else {
                    Outcome::Handled
                }
            }
            (State::Draining, Event::ListAnswered | Event::ListLost) => {
                self.listing = false;
                Outcome::Handled
            }
            (State::Draining, Event::Elapsed(Timer::Drain) | Event::Disconnected(_) | Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Shutdown));
                Outcome::Transition(State::Stopped)
            }
            (State::Draining, Event::BytesArrived) => out.ignore("only whole answers count now"),
            (State::Draining | State::Stopped, Event::StopRequested) => out.ignore("it is stopping already"),
            (State::Draining | State::Stopped, Event::Wanted | Event::ListWanted | Event::CallsWaiting) => {
                out.ignore("nothing new is sent while the gateway stops")
            }
            (
                State::Draining | State::Stopped,
                Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::NewsArrived
                | Event::HintReceived(_)
                | Event::LeavingAnnounced(_),
            ) => out.ignore("the gateway stops"),
            (State::Draining, Event::Elapsed(_)) => out.ignore("the gateway stops"),

            // ---- stopped ----
            (
                State::Stopped,
                Event::Connected
                | Event::ConnectFailed(_)
                | Event::Greeted
                | Event::GreetingRefused
                | Event::ListAnswered
                | Event::ListLost
                | Event::WorkFinished { .. }
                | Event::BytesArrived
                | Event::Disconnected(_)
                | Event::EditorVanished
                | Event::Elapsed(_),
            ) => out.ignore("it has stopped"),

            // ---- handed up: decided for the whole group, or a surprise ----
            (
                State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff,
                Event::Wanted
                | Event::ListWanted
                | Event::HintReceived(_)
                | Event::StopRequested
                | Event::Elapsed(_)
                | Event::Connected
                | Event::ConnectFailed(_)
                | Event::Greeted
                | Event::GreetingRefused
                | Event::ListAnswered
                | Event::ListLost
                | Event::WorkFinished { .. }
                | Event::BytesArrived
                | Event::LeavingAnnounced(_)
                | Event::Disconnected(_)
                | Event::EditorVanished,
            )
            | (
                State::Ready | State::Stalled | State::Leaving,
                Event::Wanted
                | Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::Connected
                | Event::ConnectFailed(_)
                | Event::Greeted
                | Event::GreetingRefused
                | Event::ListWanted
                | Event::ListAnswered
                | Event::ListLost
                | Event::CallsWaiting
                | Event::WorkFinished { .. }
                | Event::HintReceived(_)
                | Event::NewsArrived
                | Event::Disconnected(_)
                | Event::EditorVanished
                | Event::Elapsed(_)
                | Event::StopRequested,
            )
            | (State::Draining, Event::Connected | Event::ConnectFailed(_) | Event::Greeted | Event::GreetingRefused) => {
                Outcome::Super
            }
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (group, *event) {
            // ---- away ----
            (Group::Away, Event::Wanted) => out.ignore("it is being brought about already"),
            (Group::Away, Event::ListWanted) => out.ignore("every connection begins with a list"),
            (Group::Away, Event::HintReceived(hint)) => {
                match hint {
                    PushEvent::DomainReload if self.cause != Cause::Closed => self.cause = Cause::Reloading,
                    PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered | PushEvent::ToolsChanged => {
                        out.order(Effect::ShortenRetry);
                    }
                    PushEvent::DomainReload
                    | PushEvent::UserDisconnect
                    | PushEvent::UnityShutdown
                    | PushEvent::Unknown => {
                        return out.ignore("the connection is gone already, for a cause of its own");
                    }
                }
                Outcome::Handled
            }
            (Group::Away, Event::Elapsed(Timer::Hope)) => {
                self.hope = false;
                Outcome::Handled
            }
            (Group::Away, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Away, Event::StopRequested) => {
                // Also for a dial or greeting under way: the shell ends whatever socket there is.
                out.order(Effect::HangUp(Loss::Shutdown));
                out.order(Effect::Disarm(Timer::Hope));
                Outcome::Transition(State::Stopped)
            }
            (Group::Away, Event::Disconnected(_) | Event::EditorVanished) => {
                out.ignore("there is no connection to lose")
            }
            (Group::Away, Event::BytesArrived | Event::LeavingAnnounced(_)) => {
                out.ignore("the connection it came on is gone")
            }
            (Group::Away, Event::WorkFinished { more }) => {
                self.calls_waiting |= more;
                out.ignore("its connection is gone, and its place with it")
            }
            (Group::Away, Event::ListAnswered | Event::ListLost) => out.ignore("its connection is gone"),

            // ---- up ----
            (Group::Up, Event::Wanted) => out.ignore("it is up"),
            (Group::Up, Event::ListWanted) => {
                self.list_wanted = true;
                self.pump(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListAnswered) => {
                self.finish_list(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListLost) if self.listing => {
                self.lose_list(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListLost) => out.ignore("no list is owed"),
            (Group::Up, Event::CallsWaiting) => {
                self.calls_waiting = true;
                self.pump(out);
                Outcome::Handled
            }
            (Group::Up, Event::WorkFinished { more }) => {
                self.finish_one(more, out);
                Outcome::Handled
            }
            (Group::Up, Event::HintReceived(hint)) => {
                self.hear(hint, out);
                Outcome::Handled
            }
            (Group::Up, Event::Elapsed(Timer::Silence)) => self.lost(Loss::Silence, Cause::Stalled, out),
            (Group::Up, Event::Elapsed(Timer::Liveness)) => {
                out.order(Effect::CheckEditor);
                out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
                Outcome::Handled
            }
            (Group::Up, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Up, Event::Disconnected(drop)) => self.disconnect(drop, out),
            (Group::Up, Event::EditorVanished) => self.lost(Loss::Disconnect, Cause::Crashed, out),
            (Group::Up, Event::StopRequested) => {
                if self.outstanding() == 0 {
                    out.order(Effect::HangUp(Loss::Shutdown));
                    Outcome::Transition(State::Stopped)
                } else {
                    Outcome::Transition(State::Draining)
                }
            }
            (Group::Up, Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived) => {
                out.ignore("the connection that works is kept")
            }
            (
                Group::Away | Group::Up,
                Event::Connected | Event::ConnectFailed(_) | Event::Greeted | Event::GreetingRefused,
            )
            | (
                Group::Away,
                Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived | Event::CallsWaiting,
            )
            | (Group::Up, Event::BytesArrived | Event::LeavingAnnounced(_))
            | (Group::Root, _) => Outcome::Super,
        }
    }
}

statig_machine!(Bridge, State, Group);

impl Charted for Bridge {
    fn specimens() -> Vec<Event> {
        let evidence = |editor, activity| Evidence { editor, activity };
        let nothing = evidence(Sign::Unknown, None);
        vec![
            Event::Wanted,
            Event::TargetsOffered { count: 2, evidence: nothing },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, None) },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, Some(Activity::Compiling)) },
            Event::NothingOffered { cause: Cause::NotRunning, evidence: evidence(Sign::Dead, None) },
            Event::NothingOffered { cause: Cause::Unproven, evidence: nothing },
            Event::Connected,
            Event::ConnectFailed(ConnectFailure::Refused),
            Event::ConnectFailed(ConnectFailure::WrongProject),
            Event::Greeted,
            Event::GreetingRefused,
            Event::ListWanted,
            Event::ListAnswered,
            Event::ListLost,
            Event::CallsWaiting,
            Event::WorkFinished { more: false },
            Event::WorkFinished { more: true },
            Event::BytesArrived,
            Event::LeavingAnnounced(LeaveReason::Reload),
            Event::LeavingAnnounced(LeaveReason::Quit),
            Event::HintReceived(PushEvent::ConnectionEstablished),
            Event::HintReceived(PushEvent::DomainReload),
            Event::HintReceived(PushEvent::ToolsChanged),
            Event::HintReceived(PushEvent::UnityShutdown),
            Event::NewsArrived,
            Event::Disconnected(Drop::Eof),
            Event::Disconnected(Drop::Protocol),
            Event::EditorVanished,
            Event::Elapsed(Timer::Seek),
            Event::Elapsed(Timer::Retry),
            Event::Elapsed(Timer::Greeting),
            Event::Elapsed(Timer::Stall),
            Event::Elapsed(Timer::Silence),
            Event::Elapsed(Timer::Liveness),
            Event::Elapsed(Timer::Hope),
            Event::Elapsed(Timer::Leave),
            Event::Elapsed(Timer::Drain),
            Event::StopRequested,
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::new(1)]
    }
}
