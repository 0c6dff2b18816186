//! A greeted connection: what the editor owes, what may still be sent to it, and how it ends.

use std::time::Duration;

use super::alphabet::{Disconnect, Effect, State, Timer};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outbox, Outcome};
use crate::limits::{LEAVE_MAX, LIVENESS_EVERY, PULSE_MAX, SILENCE_MAX, STALL_AFTER, WINDOW_MAX};
use crate::protocol::dialect::{LeaveReason, PushEvent};

/// The editor that is connected, and the calls it owes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// Its place in the offer.
    pub(super) target: u8,
    /// It answers for itself off its main thread.
    pub(super) heartbeat: bool,
    pub(super) in_flight: u8,
    /// The longest that a call in flight may run before its client is told that it still does.
    running_max: Duration,
}

/// A connection that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Link {
    pub(super) peer: Peer,
    /// A list is owed.
    pub(super) listing: bool,
    /// It has lasted for a while.
    pub(super) steady: bool,
    /// The attempts that failed before it, until it has done something for us.
    pub(super) unproven: Option<u8>,
}

/// A connection that takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Up {
    pub(super) link: Link,
    /// Calls that the editor takes at once (1: strictly in order).
    window: u8,
    list_wanted: bool,
    calls_waiting: bool,
    /// What a hint announced about its leaving.
    pub(super) announced: Option<LeaveReason>,
}

/// What an editor owes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Owed {
    pub(super) calls: u8,
    pub(super) list: bool,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) loss: Loss,
    /// Why the editor is away from then on.
    pub(super) cause: Cause,
    /// It ended from the editor's side, without a goodbye.
    pub(super) cut_off: bool,
}

impl Peer {
    /// It said something: it lives.
    pub(super) fn heard(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        if self.heartbeat {
            out.order(Effect::Arm(Timer::Heartbeat, PULSE_MAX));
        }
    }

    /// The silence that ends a connection begins when what runs is due: a tool may be given an hour.
    pub(super) fn watch(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        out.order(Effect::Arm(Timer::Stall, STALL_AFTER));
        out.order(Effect::Arm(Timer::Silence, self.running_max + SILENCE_MAX));
    }

    /// Looks whether it lives.
    pub(super) fn check(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) -> Outcome<State> {
        out.order(Effect::CheckEditor);
        if self.heartbeat {
            out.order(Effect::AskPulse);
        }
        out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
        Outcome::Handled
    }

    pub(super) fn sent_call(
        &mut self,
        running_max: Duration,
        out: &mut Outbox<impl Machine<Effect = Effect, State = State>>,
    ) -> Outcome<State> {
        if self.in_flight == 0 {
            return out.ignore("no call has a place");
        }
        // The only one in flight: the one before it is over, and its place was passed on.
        let others = if self.in_flight == 1 { Duration::ZERO } else { self.running_max };
        self.running_max = others.max(running_max);
        self.watch(out);
        Outcome::Handled
    }

    /// The limit of calls that are over is none of the next one's.
    pub(super) fn end_call(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight == 0 {
            self.running_max = Duration::ZERO;
        }
    }
}

impl Link {
    pub(super) fn owed(self) -> Owed {
        Owed { calls: self.peer.in_flight, list: self.listing }
    }

    /// A list has come: the connection works.
    pub(super) fn list_came(&mut self) {
        self.listing = false;
        self.unproven = None;
    }
}

impl Owed {
    pub(super) fn count(self) -> u8 {
        self.calls + u8::from(self.list)
    }
}

impl Up {
    /// It asks the ledger for what waits, once a list is there.
    pub(super) fn new(target: u8, attempt: u8, window: u8, heartbeat: bool) -> Self {
        let peer = Peer { target, heartbeat, in_flight: 0, running_max: Duration::ZERO };
        let link = Link { peer, listing: false, steady: false, unproven: Some(attempt) };
        let window = window.clamp(1, WINDOW_MAX);
        Self { link, window, list_wanted: false, calls_waiting: true, announced: None }
    }

    pub(super) fn outstanding(&self) -> u8 {
        self.link.owed().count()
    }

    /// A list that is under way takes one of the editor's places, which matters to calls where that is the only one.
    pub(super) fn awaits_list(&self) -> bool {
        let only = self.window == 1;
        self.list_wanted || (self.link.listing && only) || self.link.unproven.is_some()
    }

    pub(super) fn want_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.list_wanted = true;
        self.pump(out);
        if self.list_wanted {
            // Else the calls that wait would never let it in between.
            out.order(Effect::KeepPlaces);
        }
    }

    pub(super) fn take_calls(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.calls_waiting = true;
        self.pump(out);
    }

    /// Sends what the window allows, list first: a call's tool is looked up in the live list.
    fn pump(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        let before = self.outstanding();
        if self.list_wanted && !self.link.listing && self.outstanding() < self.window {
            self.list_wanted = false;
            self.link.listing = true;
            out.order(Effect::SendList);
        }
        // One at a time: the shell answers each with `WorkFinished` or leaves it in flight and says that more wait.
        if self.link.unproven.is_none() && self.calls_waiting && self.outstanding() < self.window {
            self.calls_waiting = false;
            self.link.peer.in_flight += 1;
            out.order(Effect::SendNextCall);
        }
        if before == 0 && self.outstanding() > 0 {
            self.link.peer.watch(out);
        }
    }

    pub(super) fn finish_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.list_came();
        self.after_answer(out);
    }

    /// No call is let out by it: whoever lost the list asks for it again.
    pub(super) fn lose_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.listing = false;
        self.after_answer(out);
    }

    pub(super) fn finish_call(&mut self, more: bool, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.end_call();
        self.calls_waiting |= more;
        self.after_answer(out);
    }

    /// Sends what may be sent now; the clocks of silence run anew from this answer.
    fn after_answer(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.pump(out);
        if self.outstanding() == 0 {
            out.order(Effect::Disarm(Timer::Stall));
            out.order(Effect::Disarm(Timer::Silence));
        } else {
            self.link.peer.watch(out);
        }
    }

    /// It said something, and owes what it owes.
    pub(super) fn heard(&self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.heard(out);
        if self.outstanding() > 0 {
            self.link.peer.watch(out);
        }
    }
}

impl End {
    /// The editor has been silent for too long.
    pub(super) const SILENCE: Self = Self { loss: Loss::Silence, cause: Cause::Stalled, cut_off: false };

    /// Its socket says so.
    pub(super) fn of_stream(announced: Option<LeaveReason>, drop: Disconnect) -> Self {
        let (loss, cause) = match (announced, drop) {
            (Some(LeaveReason::Reload), _) => (Loss::Reload, Cause::Reloading),
            (Some(LeaveReason::Quit), _) => (Loss::Quit, Cause::Closed),
            (Some(LeaveReason::Stopped), _) => (Loss::Disconnect, Cause::Closed),
            // It was greeted as the right one: a broken stream, not a wrong peer.
            (_, Disconnect::Protocol) => (Loss::Protocol, Cause::Lost),
            (Some(LeaveReason::Unknown) | None, Disconnect::Eof | Disconnect::Reset) => (Loss::Disconnect, Cause::Lost),
        };
        Self { loss, cause, cut_off: announced.is_none() && drop != Disconnect::Protocol }
    }

    /// The process is gone, whatever its socket says.
    pub(super) fn of_process(announced: Option<LeaveReason>) -> Self {
        let (loss, cause, cut_off) = match announced {
            Some(LeaveReason::Quit) => (Loss::Quit, Cause::Closed, false),
            // Whether that is a crash tells the survey, which knows whether its package says goodbye.
            Some(LeaveReason::Reload) | None => (Loss::Disconnect, Cause::ProcessGone, true),
            Some(LeaveReason::Stopped | LeaveReason::Unknown) => (Loss::Disconnect, Cause::ProcessGone, false),
        };
        Self { loss, cause, cut_off }
    }
}

/// Anybody on this machine can send a hint: it may name a reload that follows at once, and calls are held for that. It never makes
/// an editor one that does not come back.
pub(super) fn hear(
    announced: &mut Option<LeaveReason>,
    hint: PushEvent,
    out: &mut Outbox<impl Machine<Effect = Effect, State = State>>,
) -> Outcome<State> {
    match hint {
        PushEvent::DomainReload => {
            *announced = Some(LeaveReason::Reload);
            out.order(Effect::Arm(Timer::Leave, LEAVE_MAX));
        }
        PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered => *announced = None,
        PushEvent::ToolsChanged => out.order(Effect::TellToolsChanged),
        PushEvent::UserDisconnect | PushEvent::UnityShutdown | PushEvent::Unknown => {
            return out.ignore("only the connection itself and the process tell of an end");
        }
    }
    Outcome::Handled
}
