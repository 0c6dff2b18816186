//! An established connection: whether it works, and how it ends. Its exchange knows what is sent on it and what is owed.

use super::alphabet::{Disconnect, Effect, State, Timer};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outcome, Reaction};
use crate::limits::{LEAVE_MAX, LIVENESS_EVERY};
use crate::protocol::dialect::{LeaveReason, PushEvent};

/// The connected editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// The target that is connected, given by its position in the offer.
    pub(super) target: u8,
    /// Whether the editor answers heartbeat questions off its main thread.
    pub(super) heartbeat: bool,
}

/// An established connection: the editor is greeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Established {
    pub(super) peer: Peer,
    /// Whether the connection has lasted long enough to count as steady.
    pub(super) steady: bool,
    /// The number of dials that failed before this connection; `None` as soon as the connection has delivered a tool list.
    pub(super) unproven: Option<u8>,
}

/// A connection on which further calls may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Up {
    pub(super) established: Established,
    /// The reason for leaving that a hint announced, if any.
    pub(super) announced: Option<LeaveReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) loss: Loss,
    /// Why the editor is away after that end.
    pub(super) cause: Cause,
    /// Whether the editor's side ended the connection without an announcement.
    pub(super) cut_off: bool,
}

impl Peer {
    /// Orders a check of whether the editor's process is alive, and asks for a heartbeat if the editor has heartbeats.
    pub(super) fn check(self, out: &mut Reaction<impl Machine<Effect = Effect, State = State>>) -> Outcome<State> {
        out.order(Effect::CheckEditor);
        if self.heartbeat {
            out.order(Effect::AskHeartbeat);
        }
        out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
        Outcome::Handled
    }
}

impl Up {
    /// Returns a new connection to the target at this position in the offer, after this number of failed dials.
    pub(super) fn new(target: u8, attempt: u8, heartbeat: bool) -> Self {
        let peer = Peer { target, heartbeat };
        Self { established: Established { peer, steady: false, unproven: Some(attempt) }, announced: None }
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
            (_, Disconnect::Displaced) => (Loss::Disconnect, Cause::Displaced),
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
    out: &mut Reaction<impl Machine<Effect = Effect, State = State>>,
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
