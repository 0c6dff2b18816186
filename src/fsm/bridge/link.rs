//! A greeted connection: what the editor owes, what may still be sent to it, and how the connection ends.

use std::time::Duration;

use super::alphabet::{Disconnect, Effect, State, Timer};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outbox, Outcome};
use crate::limits::{HEARTBEAT_MAX, LEAVE_MAX, LIVENESS_EVERY, SILENCE_MAX, STALL_AFTER, WINDOW_MAX};
use crate::protocol::dialect::{LeaveReason, PushEvent};

/// The connected editor, and the number of calls that it has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// The target's position in the offer.
    pub(super) target: u8,
    /// Whether it answers heartbeat questions off its main thread.
    pub(super) heartbeat: bool,
    pub(super) in_flight: u8,
    /// The longest time that a call in flight may run before its client is answered "still running".
    running_max: Duration,
}

/// A greeted connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Link {
    pub(super) peer: Peer,
    /// Whether the editor owes a tool list.
    pub(super) listing: bool,
    /// Whether the connection has lasted for a while.
    pub(super) steady: bool,
    /// The number of attempts that failed before this connection, until it has delivered a tool list.
    pub(super) unproven: Option<u8>,
}

/// A connection that takes more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Up {
    pub(super) link: Link,
    /// The number of calls that the editor takes at once (1: strictly one after another).
    window: u8,
    list_wanted: bool,
    calls_waiting: bool,
    /// The leaving that a hint announced.
    pub(super) announced: Option<LeaveReason>,
}

/// The answers that an editor owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Owed {
    pub(super) calls: u8,
    pub(super) list: bool,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) loss: Loss,
    /// The cause of the editor's absence from then on.
    pub(super) cause: Cause,
    /// Whether the editor's side ended the connection without an announcement.
    pub(super) cut_off: bool,
}

impl Peer {
    /// Handles a sign of life.
    pub(super) fn heard(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        if self.heartbeat {
            out.order(Effect::Arm(Timer::Heartbeat, HEARTBEAT_MAX));
        }
    }

    /// Restarts the timers of silence. The connection is given up only after the longest running time of the calls: a tool may be
    /// given an hour.
    pub(super) fn watch(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        out.order(Effect::Arm(Timer::Stall, STALL_AFTER));
        out.order(Effect::Arm(Timer::Silence, self.running_max + SILENCE_MAX));
    }

    /// Checks whether the editor lives.
    pub(super) fn check(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) -> Outcome<State> {
        out.order(Effect::CheckEditor);
        if self.heartbeat {
            out.order(Effect::AskHeartbeat);
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
        // This is the only call in flight: the call before it has ended, and its place was passed on.
        let others = if self.in_flight == 1 { Duration::ZERO } else { self.running_max };
        self.running_max = others.max(running_max);
        self.watch(out);
        Outcome::Handled
    }

    /// Ends a call. The time limit of ended calls must not apply to the next one.
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

    /// Records that a list came, which shows that the connection works.
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
    /// A new connection. It asks the ledger for waiting calls as soon as a list is there.
    pub(super) fn new(target: u8, attempt: u8, window: u8, heartbeat: bool) -> Self {
        let peer = Peer { target, heartbeat, in_flight: 0, running_max: Duration::ZERO };
        let link = Link { peer, listing: false, steady: false, unproven: Some(attempt) };
        let window = window.clamp(1, WINDOW_MAX);
        Self { link, window, list_wanted: false, calls_waiting: true, announced: None }
    }

    pub(super) fn outstanding(&self) -> u8 {
        self.link.owed().count()
    }

    /// Whether calls wait for a tool list. A list request takes one
    /// of the editor's places, which delays calls if the window is 1.
    pub(super) fn awaits_list(&self) -> bool {
        let only = self.window == 1;
        self.list_wanted || (self.link.listing && only) || self.link.unproven.is_some()
    }

    pub(super) fn want_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.list_wanted = true;
        self.pump(out);
        if self.list_wanted {
            // Otherwise the waiting calls would take every free place, and the list would never be requested.
            out.order(Effect::KeepPlaces);
        }
    }

    pub(super) fn take_calls(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.calls_waiting = true;
        self.pump(out);
    }

    /// Sends what the window allows. The list comes first, since a call's tool is looked up in the live list.
    fn pump(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        let before = self.outstanding();
        if self.list_wanted && !self.link.listing && self.outstanding() < self.window {
            self.list_wanted = false;
            self.link.listing = true;
            out.order(Effect::SendList);
        }
        // One call at a time: the shell answers with `WorkFinished`, or leaves the call in flight and reports that more wait.
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

    /// Frees the place of a list that was lost. No call is sent because of it; the part that lost the list requests it again.
    pub(super) fn lose_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.listing = false;
        self.after_answer(out);
    }

    pub(super) fn finish_call(&mut self, more: bool, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.end_call();
        self.calls_waiting |= more;
        self.after_answer(out);
    }

    /// Sends what may be sent now, and restarts the timers of silence from this answer.
    fn after_answer(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.pump(out);
        if self.outstanding() == 0 {
            out.order(Effect::Disarm(Timer::Stall));
            out.order(Effect::Disarm(Timer::Silence));
        } else {
            self.link.peer.watch(out);
        }
    }

    /// Handles bytes or a heartbeat from the editor, which may still owe answers.
    pub(super) fn heard(&self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.heard(out);
        if self.outstanding() > 0 {
            self.link.peer.watch(out);
        }
    }
}

impl End {
    /// The editor was silent for too long.
    pub(super) const SILENCE: Self = Self { loss: Loss::Silence, cause: Cause::Stalled, cut_off: false };

    /// The end that the socket reported.
    pub(super) fn of_stream(announced: Option<LeaveReason>, drop: Disconnect) -> Self {
        let (loss, cause) = match (announced, drop) {
            (Some(LeaveReason::Reload), _) => (Loss::Reload, Cause::Reloading),
            (Some(LeaveReason::Quit), _) => (Loss::Quit, Cause::Closed),
            (Some(LeaveReason::Stopped), _) => (Loss::Disconnect, Cause::Closed),
            // The peer was greeted as the right one, so this is a broken stream and not a wrong peer.
            (_, Disconnect::Protocol) => (Loss::Protocol, Cause::Lost),
            (Some(LeaveReason::Unknown) | None, Disconnect::Eof | Disconnect::Reset) => (Loss::Disconnect, Cause::Lost),
        };
        Self { loss, cause, cut_off: announced.is_none() && drop != Disconnect::Protocol }
    }

    /// The end of the editor's process, even if its socket is open.
    pub(super) fn of_process(announced: Option<LeaveReason>) -> Self {
        let (loss, cause, cut_off) = match announced {
            Some(LeaveReason::Quit) => (Loss::Quit, Cause::Closed, false),
            // The next survey decides whether this was a crash: it knows whether the package announces its end.
            Some(LeaveReason::Reload) | None => (Loss::Disconnect, Cause::ProcessGone, true),
            Some(LeaveReason::Stopped | LeaveReason::Unknown) => (Loss::Disconnect, Cause::ProcessGone, false),
        };
        Self { loss, cause, cut_off }
    }
}

/// Handles a hint. Any program on this machine can send one: it may name the cause of a connection's end that follows at once. It
/// never makes an editor count as gone.
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
