//! The one connection to an editor: away, up, or ending; and why.
//!
//! Fed by its shell (sockets, timers), by discovery (where an editor may be, and what its files say), by the push listener
//! (hints) and by whoever has work for the editor. It decides when to dial, what to send next within the bridge's window, when
//! a silent editor counts as lost, and what callers may expect ([`Bridge::outlook`]). It knows no clock, address or dialect.

mod table;
mod words;

use std::time::Duration;

pub use self::words::{ConnectFailure, Drop, Effect, Event, Evidence, Group, Sign, State, Timer};
use super::cause::{Cause, Loss, Outlook};
use super::{Charted, Outbox, Outcome, statig_machine};
use crate::limits::{LEAVE_MAX, LIKELY_AFTER_CRASH, LIKELY_AFTER_LOSS, PULSE_MAX, SILENCE_MAX, STALL_AFTER};
use crate::protocol::dialect::{Activity, LeaveReason, PushEvent};

/// Attempts beyond this change no delay any more.
const ATTEMPT_CAP: u8 = 7;

/// How the targets of one round of dialling failed that may be the right one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unreached {
    /// There was none.
    #[default]
    No,
    /// Nobody listened.
    Absent,
    /// One took the connection and said nothing.
    Silent,
}

/// The storage of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bridge {
    /// Calls that the connected editor takes at once (1: strictly in order).
    window: u8,
    /// The connected editor answers for itself off its main thread.
    pulse: bool,
    /// Why it is away.
    cause: Cause,
    /// What the editor foretold about its leaving: while it is `leaving` in its own words, before that by a hint.
    foretold: Option<LeaveReason>,
    met: bool,
    /// The last connection ended from the editor's side without a goodbye, and its process was not seen alive since: if it is gone,
    /// it said none. One that lives on without a connection may quit unheard.
    cut_off: bool,
    /// The last peer that took a connection hung up on the greeting: taking one more is no evidence of an editor.
    jilted: bool,
    attempt: u8,
    evidence: bool,
    hope: bool,
    targets: u8,
    target: u8,
    /// Why a target of this round of dialling is not the right one.
    refusal: Option<Cause>,
    /// A target of this round did not answer as an editor: it may be the right one, away for a moment.
    unreached: Unreached,
    /// The peer's port was checked.
    checked: bool,
    /// The connection has lasted for a while.
    steady: bool,
    /// The longest that a call in flight may run before its client is told that it still does.
    running_max: Duration,
    in_flight: u8,
    listing: bool,
    list_wanted: bool,
    listed: bool,
    calls_waiting: bool,
}

impl Default for Bridge {
    fn default() -> Self {
        Self::new()
    }
}

impl Bridge {
    /// Nobody was met yet.
    pub fn new() -> Self {
        Self {
            window: 1,
            pulse: false,
            cause: Cause::Connecting,
            foretold: None,
            met: false,
            cut_off: false,
            jilted: false,
            attempt: 0,
            evidence: false,
            hope: false,
            targets: 0,
            target: 0,
            refusal: None,
            unreached: Unreached::No,
            checked: false,
            steady: false,
            running_max: Duration::ZERO,
            in_flight: 0,
            listing: false,
            list_wanted: false,
            listed: false,
            // The ledger is asked for what waits on each connection.
            calls_waiting: true,
        }
    }

    /// As [`new`](Self::new), for the successor of one that had an editor a moment ago. Its shell arms [`Timer::Hope`].
    pub fn after_loss() -> Self {
        Self { cause: Cause::Lost, met: true, hope: true, ..Self::new() }
    }

    /// What callers may expect now.
    pub fn outlook(&self, state: State) -> Outlook {
        match state {
            State::Draining | State::Stopped => Outlook::Absent(Cause::ShuttingDown),
            State::Parting => Outlook::Coming(Cause::ProjectUnsettled),
            State::Ready | State::Stalled => Outlook::Open,
            State::Leaving => match self.foretold {
                Some(LeaveReason::Quit | LeaveReason::Stopped) => Outlook::Absent(Cause::Closed),
                Some(LeaveReason::Reload) => Outlook::Coming(Cause::Reloading),
                Some(LeaveReason::Unknown) | None => Outlook::Coming(Cause::Lost),
            },
            State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff => match self.cause {
                cause @ (Cause::Closed
                | Cause::WrongProject
                | Cause::WrongPeer
                | Cause::Unproven
                | Cause::Ambiguous) => Outlook::Absent(cause),
                Cause::Connecting => Outlook::Coming(Cause::Connecting),
                cause if self.likely() || (state == State::Greeting && !self.jilted) => Outlook::Coming(cause),
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

    fn learn(&mut self, evidence: Evidence, out: &mut Outbox<Self>) {
        self.evidence = match evidence.editor {
            Sign::Alive => true,
            Sign::Dead => false,
            Sign::Unknown => evidence.activity.is_some(),
        };
        self.cut_off &= evidence.editor != Sign::Alive;
        if self.cause == Cause::Closed {
            match evidence.editor {
                // The one that said goodbye is gone, and its record with it, most likely; whoever lives next is another.
                Sign::Dead | Sign::Unknown => self.met = false,
                Sign::Alive if !self.met => self.cause = Cause::Connecting,
                Sign::Alive => {}
            }
            return;
        }
        let seen = match (evidence.editor, evidence.activity) {
            (Sign::Dead, _) if self.met => {
                let crashed = self.cut_off && evidence.announces == Some(true);
                Some(if crashed { Cause::Crashed } else { Cause::ProcessGone })
            }
            (Sign::Dead, _) => None,
            (Sign::Alive | Sign::Unknown, Some(Activity::Compiling)) => Some(Cause::Compiling),
            (Sign::Alive | Sign::Unknown, Some(Activity::Reloading)) => Some(Cause::Reloading),
            // Its bridge starts after a reload too.
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) if self.cause == Cause::Reloading => None,
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) => Some(Cause::Starting),
            (Sign::Alive | Sign::Unknown, None) if self.is_open_question() => None,
            (Sign::Alive, None) => Some(self.cause_of_a_living_editor(evidence.announces)),
            (Sign::Unknown, None) => None,
        };
        if let Some(cause) = seen {
            if cause.is_gone() && !self.cause.is_gone() && self.hope {
                out.order(Effect::Arm(Timer::Hope, LIKELY_AFTER_CRASH));
            }
            self.cause = cause;
        }
    }

    /// The wait was armed by what was known when it began.
    fn learn_while_waiting(&mut self, evidence: Evidence, out: &mut Outbox<Self>) {
        let before = self.likely();
        self.learn(evidence, out);
        if self.likely() && !before {
            out.order(Effect::ShortenRetry);
        }
    }

    /// Why an editor is away whose process lives and whose files say nothing: only what was seen of it before is known.
    fn cause_of_a_living_editor(&self, announces: Option<bool>) -> Cause {
        match self.cause {
            // It takes connections and says nothing.
            Cause::Stalled => Cause::Stalled,
            Cause::Reloading if self.met && self.hope => Cause::Reloading,
            Cause::Lost | Cause::BridgeStopped | Cause::Compiling | Cause::Starting if self.met && self.hope => {
                if announces == Some(false) {
                    Cause::BridgeStopped
                } else {
                    Cause::Lost
                }
            }
            _ => Cause::BridgeDown,
        }
    }

    /// The cause says nothing of the editor itself: it is only about what was found at its ports, and the next dial decides.
    fn is_open_question(&self) -> bool {
        matches!(
            self.cause,
            Cause::Connecting
                | Cause::WrongProject
                | Cause::WrongPeer
                | Cause::Unproven
                | Cause::Ambiguous
                | Cause::NoDescriptors
        )
    }

    /// A target gave no usable connection: the next one, or the end of this round.
    fn next_target(&mut self, failure: ConnectFailure) -> Outcome<State> {
        match failure {
            ConnectFailure::WrongProject => self.refused(Cause::WrongProject),
            ConnectFailure::Unproven => self.refused(Cause::Unproven),
            ConnectFailure::WrongPeer => self.refused(Cause::WrongPeer),
            ConnectFailure::Refused => self.unreached = self.unreached.max(Unreached::Absent),
            ConnectFailure::TimedOut => self.unreached = Unreached::Silent,
            ConnectFailure::NoDescriptors => self.refused(Cause::NoDescriptors),
            ConnectFailure::PermitHeld => {}
        }
        self.checked = false;
        self.target = self.target.saturating_add(1);
        if self.target < self.targets { Outcome::Transition(State::Dialing) } else { self.round_failed() }
    }

    fn refused(&mut self, cause: Cause) {
        self.refusal.get_or_insert(cause);
    }

    /// One round of dialling every target has failed.
    fn round_failed(&mut self) -> Outcome<State> {
        self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
        // Somebody else on a port that is only fallen back to says nothing about an editor that is away for a moment.
        let how = std::mem::take(&mut self.unreached);
        let unreached = how != Unreached::No;
        if how == Unreached::Absent && self.cause == Cause::Stalled {
            // It was silent, and now nobody listens.
            self.cause = Cause::Lost;
        }
        let away_for_a_moment = unreached && self.likely();
        match self.refusal.take() {
            Some(cause) if !away_for_a_moment => self.cause = cause,
            Some(_) | None if unreached && self.is_open_question() => {
                self.cause = if self.evidence { Cause::BridgeDown } else { Cause::NotRunning };
            }
            Some(_) | None => {}
        }
        Outcome::Transition(State::BackingOff)
    }

    /// The connection is gone: say why, forget what belonged to it.
    fn unplug(&mut self, cause: Cause, out: &mut Outbox<Self>) {
        self.cause = cause;
        self.foretold = None;
        self.running_max = Duration::ZERO;
        // What was on its way may be held again (never written, or safe to repeat), and a call that this connection could not
        // take as it ended is: the next connection asks the ledger.
        self.calls_waiting = true;
        self.in_flight = 0;
        self.listing = false;
        self.list_wanted = false;
        self.listed = false;
        (self.window, self.pulse) = (1, false);
        // What was surveyed before it says nothing of the time after it.
        self.evidence = false;
        if cause == Cause::Closed {
            self.hope = false;
            out.order(Effect::Disarm(Timer::Hope));
        } else {
            self.hope = true;
            let hope = if cause.is_gone() { LIKELY_AFTER_CRASH } else { LIKELY_AFTER_LOSS };
            out.order(Effect::Arm(Timer::Hope, hope));
        }
    }

    /// A greeted connection is lost.
    fn lost(&mut self, loss: Loss, cause: Cause, out: &mut Outbox<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(loss));
        let (proven, steady) = (self.listed, std::mem::take(&mut self.steady));
        self.unplug(cause, out);
        if proven && steady && cause != Cause::Reloading {
            // Look at once: the files say what happened, and a quick reload may be over.
            self.attempt = 0;
            Outcome::Transition(State::Seeking)
        } else if proven {
            // An announced reload takes its time, and a listener that is about to close still takes connections. Or it worked and did
            // not last: two gateways whose editor takes only one must not chase each other at full speed.
            self.attempt = 1;
            Outcome::Transition(State::BackingOff)
        } else {
            // It never did anything for us: a crash loop gets no faster than the backoff.
            self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
            Outcome::Transition(State::BackingOff)
        }
    }

    fn disconnect(&mut self, drop: Drop, out: &mut Outbox<Self>) -> Outcome<State> {
        let (loss, cause) = self.meaning_of(drop);
        self.cut_off = self.foretold.is_none() && drop != Drop::Protocol;
        self.lost(loss, cause, out)
    }

    fn meaning_of(&self, drop: Drop) -> (Loss, Cause) {
        match (self.foretold, drop) {
            (Some(LeaveReason::Reload), _) => (Loss::Reload, Cause::Reloading),
            (Some(LeaveReason::Quit), _) => (Loss::Quit, Cause::Closed),
            (Some(LeaveReason::Stopped), _) => (Loss::Disconnect, Cause::Closed),
            // It was greeted as the right one: a broken stream, not a wrong peer.
            (_, Drop::Protocol) => (Loss::Protocol, Cause::Lost),
            (Some(LeaveReason::Unknown) | None, Drop::Eof | Drop::Reset) => (Loss::Disconnect, Cause::Lost),
        }
    }

    /// Another project is wanted: the connection ends as soon as no client waits for what was sent on it.
    fn part(&mut self, out: &mut Outbox<Self>) -> Outcome<State> {
        if self.in_flight == 0 {
            self.leave_project(Loss::ProjectChanged, out)
        } else {
            Outcome::Transition(State::Parting)
        }
    }

    /// The connection to the former project's editor ends, and the wanted one's is looked for.
    fn leave_project(&mut self, loss: Loss, out: &mut Outbox<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(loss));
        self.forget(out);
        Outcome::Transition(State::Seeking)
    }

    /// What is known is of the former project's editor, and says nothing of the wanted one's.
    fn forget(&mut self, out: &mut Outbox<Self>) {
        out.order(Effect::Disarm(Timer::Hope));
        *self = Self::new();
    }

    /// The process is gone, whatever its socket says.
    fn vanish(&mut self, out: &mut Outbox<Self>) -> Outcome<State> {
        match self.foretold {
            Some(LeaveReason::Quit) => self.lost(Loss::Quit, Cause::Closed, out),
            Some(LeaveReason::Reload | LeaveReason::Stopped | LeaveReason::Unknown) | None => {
                // Whether that is a crash tells the survey, which knows whether its package says goodbye.
                self.cut_off = matches!(self.foretold, Some(LeaveReason::Reload) | None);
                self.lost(Loss::Disconnect, Cause::ProcessGone, out)
            }
        }
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
            self.watch(out);
        }
    }

    fn rest(&self, out: &mut Outbox<Self>) {
        out.order(Effect::Disarm(Timer::Stall));
        out.order(Effect::Disarm(Timer::Silence));
    }

    /// The silence that ends a connection begins when what runs is due: a tool may be given an hour.
    fn watch(&self, out: &mut Outbox<Self>) {
        out.order(Effect::Arm(Timer::Stall, STALL_AFTER));
        out.order(Effect::Arm(Timer::Silence, self.running_max + SILENCE_MAX));
    }

    /// It said something: it lives.
    fn heard(&self, out: &mut Outbox<Self>) {
        if self.pulse {
            out.order(Effect::Arm(Timer::Pulse, PULSE_MAX));
        }
    }

    fn finish_list(&mut self, out: &mut Outbox<Self>) {
        self.listing = false;
        self.listed = true;
        self.attempt = 0;
        self.after_answer(out);
    }

    /// No call is let out by it: whoever lost the list asks for it again.
    fn lose_list(&mut self, out: &mut Outbox<Self>) {
        self.listing = false;
        self.after_answer(out);
    }

    /// Sends what may be sent now; the clocks of silence run anew from this answer.
    fn after_answer(&mut self, out: &mut Outbox<Self>) {
        self.pump(out);
        if self.outstanding() == 0 {
            self.rest(out);
        } else {
            self.watch(out);
        }
    }

    /// The limit of calls that are over is none of the next one's.
    fn end_call(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight == 0 {
            self.running_max = Duration::ZERO;
        }
    }

    fn finish_one(&mut self, more: bool, out: &mut Outbox<Self>) {
        self.end_call();
        self.calls_waiting |= more;
        self.after_answer(out);
    }

    /// Anybody on this machine can send a hint: it may name a reload that follows at once, and calls are held for that. It never makes
    /// an editor one that does not come back.
    fn hear(&mut self, hint: PushEvent, out: &mut Outbox<Self>) {
        match hint {
            PushEvent::DomainReload => {
                self.foretold = Some(LeaveReason::Reload);
                out.order(Effect::Arm(Timer::Leave, LEAVE_MAX));
            }
            PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered => self.foretold = None,
            PushEvent::ToolsChanged => out.order(Effect::TellToolsChanged),
            PushEvent::UserDisconnect | PushEvent::UnityShutdown | PushEvent::Unknown => {
                out.ignore("only the connection itself and the process tell of an end");
            }
        }
    }
}
statig_machine!(Bridge, State, Group);

impl Charted for Bridge {
    fn specimens() -> Vec<Event> {
        let evidence = |editor, activity| Evidence { editor, activity, announces: Some(true) };
        let nothing = evidence(Sign::Unknown, None);
        vec![
            Event::Wanted,
            Event::TargetsOffered { count: 2, evidence: nothing },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, None) },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, Some(Activity::Compiling)) },
            Event::TargetsOffered {
                count: 1,
                evidence: Evidence { announces: Some(false), ..evidence(Sign::Alive, None) },
            },
            Event::NothingOffered { cause: Cause::NotRunning, evidence: evidence(Sign::Dead, None) },
            Event::NothingOffered { cause: Cause::Unproven, evidence: nothing },
            Event::ProjectChanged,
            Event::Connected { checked: true },
            Event::Connected { checked: false },
            Event::ConnectFailed(ConnectFailure::Refused),
            Event::ConnectFailed(ConnectFailure::WrongProject),
            Event::Greeted { window: 1, pulse: false },
            Event::Greeted { window: 2, pulse: true },
            Event::GreetingRefused,
            Event::ListWanted,
            Event::ListAnswered,
            Event::ListLost,
            Event::CallsWaiting,
            Event::CallSent { running_max: Duration::from_secs(120) },
            Event::WorkFinished { more: false },
            Event::WorkFinished { more: true },
            Event::BytesArrived,
            Event::PulseArrived,
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
            Event::NobodyWaits,
            Event::Elapsed(Timer::Seek),
            Event::Elapsed(Timer::Retry),
            Event::Elapsed(Timer::Greeting),
            Event::Elapsed(Timer::Stall),
            Event::Elapsed(Timer::Silence),
            Event::Elapsed(Timer::Liveness),
            Event::Elapsed(Timer::Pulse),
            Event::Elapsed(Timer::Hope),
            Event::Elapsed(Timer::Leave),
            Event::Elapsed(Timer::Drain),
            Event::StopRequested,
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::new(), Self::after_loss()]
    }
}

#[cfg(test)]
mod tests;
