//! A greeted connection: which answers are awaited from the editor, what may still be sent to it, and how the connection ends.

use std::time::Duration;

use super::alphabet::{Disconnect, Effect, State, Timer};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outbox, Outcome};
use crate::limits::{HEARTBEAT_MAX, LEAVE_MAX, LIVENESS_EVERY, SILENCE_MAX, STALL_AFTER, WINDOW_MAX};
use crate::protocol::dialect::{LeaveReason, PushEvent};

/// The connected editor, and the number of calls that it has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// The target that is connected, given by its position in the offer.
    pub(super) target: u8,
    /// Whether the editor answers heartbeat questions off its main thread.
    pub(super) heartbeat: bool,
    pub(super) in_flight: u8,
    /// The longest time that any call in flight may run before its client is answered "still running".
    running_max: Duration,
}

/// A greeted connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Link {
    pub(super) peer: Peer,
    /// Whether a tool list was requested and not answered yet.
    pub(super) listing: bool,
    /// Whether the connection has lasted long enough to count as steady.
    pub(super) steady: bool,
    /// The number of dials that failed before this connection; `None` as soon as the connection has delivered a tool list.
    pub(super) unproven: Option<u8>,
}

/// A connection on which further calls may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Up {
    pub(super) link: Link,
    /// The number of calls that the editor accepts at once (1: one after another).
    window: u8,
    list_wanted: bool,
    calls_waiting: bool,
    /// The reason for leaving that a hint announced, if any.
    pub(super) announced: Option<LeaveReason>,
}

/// The answers that are awaited from an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Owed {
    pub(super) calls: u8,
    pub(super) list: bool,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) loss: Loss,
    /// Why the editor is away after that end.
    pub(super) cause: Cause,
    /// Whether the editor's side ended the connection without an announcement.
    pub(super) cut_off: bool,
}

impl Peer {
    /// Handles a sign of life from the editor: restarts the time limit for heartbeats.
    pub(super) fn heard(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        if self.heartbeat {
            out.order(Effect::Arm(Timer::Heartbeat, HEARTBEAT_MAX));
        }
    }

    /// Restarts the time limits for silence. The connection is given up only after the longest running time of the calls in
    /// flight, since a tool may be given an hour.
    pub(super) fn watch(self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        out.order(Effect::Arm(Timer::Stall, STALL_AFTER));
        out.order(Effect::Arm(Timer::Silence, self.running_max + SILENCE_MAX));
    }

    /// Orders a check of whether the editor's process is alive, and asks for a heartbeat if the editor has heartbeats.
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
        // If this is the only call in flight, the calls before it have ended, and their running times no longer matter.
        let others = if self.in_flight == 1 { Duration::ZERO } else { self.running_max };
        self.running_max = others.max(running_max);
        self.watch(out);
        Outcome::Handled
    }

    /// Removes a call that has ended. When no call is left, its running time must not apply to the next call.
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

    /// Records that a tool list was received, which shows that the connection works.
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
    /// Returns a new connection. It asks the ledger for waiting calls as soon as it has a tool list.
    pub(super) fn new(target: u8, attempt: u8, window: u8, heartbeat: bool) -> Self {
        let peer = Peer { target, heartbeat, in_flight: 0, running_max: Duration::ZERO };
        let link = Link { peer, listing: false, steady: false, unproven: Some(attempt) };
        let window = window.clamp(1, WINDOW_MAX);
        Self { link, window, list_wanted: false, calls_waiting: true, announced: None }
    }

    pub(super) fn outstanding(&self) -> u8 {
        self.link.owed().count()
    }

    /// Whether calls must wait for a tool list. The request for the list takes one of the editor's slots, so calls have to wait
    /// for it if the window is 1.
    pub(super) fn awaits_list(&self) -> bool {
        let only = self.window == 1;
        self.list_wanted || (self.link.listing && only) || self.link.unproven.is_some()
    }

    pub(super) fn want_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.list_wanted = true;
        self.pump(out);
        if self.list_wanted {
            // Otherwise waiting calls would take every slot that becomes free, and the list would never be requested.
            out.order(Effect::KeepPlaces);
        }
    }

    pub(super) fn take_calls(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.calls_waiting = true;
        self.pump(out);
    }

    /// Sends what the window allows. The tool list comes first, since the tool of a call is looked up in the live list.
    fn pump(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        let before = self.outstanding();
        if self.list_wanted && !self.link.listing && self.outstanding() < self.window {
            self.list_wanted = false;
            self.link.listing = true;
            out.order(Effect::SendList);
        }
        // One call at a time is ordered: the shell replies with `WorkFinished`, or leaves the call in flight and reports that
        // more calls wait.
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

    /// Frees the slot of a tool list that was lost. No call is sent before there is a list; the part that lost the list requests
    /// it again.
    pub(super) fn lose_list(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.listing = false;
        self.after_answer(out);
    }

    pub(super) fn finish_call(&mut self, more: bool, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.end_call();
        self.calls_waiting |= more;
        self.after_answer(out);
    }

    /// Sends what may be sent now, and restarts the time limits for silence after this answer. If no answer is awaited any more,
    /// the limits end.
    fn after_answer(&mut self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.pump(out);
        if self.outstanding() == 0 {
            out.order(Effect::Disarm(Timer::Stall));
            out.order(Effect::Disarm(Timer::Silence));
        } else {
            self.link.peer.watch(out);
        }
    }

    /// Handles bytes or a heartbeat from the editor, from which answers may still be awaited.
    pub(super) fn heard(&self, out: &mut Outbox<impl Machine<Effect = Effect, State = State>>) {
        self.link.peer.heard(out);
        if self.outstanding() > 0 {
            self.link.peer.watch(out);
        }
    }
}

impl End {
    /// The end of a connection whose editor was silent for too long.
    pub(super) const SILENCE: Self = Self { loss: Loss::Silence, cause: Cause::Stalled, cut_off: false };

    /// Returns the end of a connection that the socket reported.
    pub(super) fn of_stream(announced: Option<LeaveReason>, drop: Disconnect) -> Self {
        let (loss, cause) = match (announced, drop) {
            (Some(LeaveReason::Reload), _) => (Loss::Reload, Cause::Reloading),
            (Some(LeaveReason::Quit), _) => (Loss::Quit, Cause::Closed),
            (Some(LeaveReason::Stopped), _) => (Loss::Disconnect, Cause::Closed),
            // The peer was greeted as the right editor, so this is a damaged stream and not a wrong peer.
            (_, Disconnect::Protocol) => (Loss::Protocol, Cause::Lost),
            (Some(LeaveReason::Unknown) | None, Disconnect::Eof | Disconnect::Reset) => (Loss::Disconnect, Cause::Lost),
        };
        Self { loss, cause, cut_off: announced.is_none() && drop != Disconnect::Protocol }
    }

    /// Returns the end of a connection whose editor's process is gone, even if the socket is open.
    pub(super) fn of_process(announced: Option<LeaveReason>) -> Self {
        let (loss, cause, cut_off) = match announced {
            Some(LeaveReason::Quit) => (Loss::Quit, Cause::Closed, false),
            // The next survey decides whether this was a crash, because it shows whether the package announces its end.
            Some(LeaveReason::Reload) | None => (Loss::Disconnect, Cause::ProcessGone, true),
            Some(LeaveReason::Stopped | LeaveReason::Unknown) => (Loss::Disconnect, Cause::ProcessGone, false),
        };
        Self { loss, cause, cut_off }
    }
}

/// Handles a hint on a greeted connection. Any program on this machine can send a hint, so it only names the cause if the
/// connection ends soon afterwards. A hint never makes an editor count as gone.
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
