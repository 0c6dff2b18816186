//! The states, timers, events and effects of the connection's machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fsm::cause::{Cause, Loss};
use crate::protocol::dialect::{Activity, LeaveReason, PushEvent};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Nobody has needed the editor yet.
    Idle,
    /// Discovery was asked for targets.
    Seeking,
    /// A connect is under way.
    Dialing,
    /// Connected; the greeting is under way.
    Greeting,
    /// Waiting for the time of the next survey and the next round of dialling.
    BackingOff,
    /// Connected and greeted.
    Ready,
    /// Connected, but the editor is silent although an answer is awaited.
    Stalled,
    /// Connected; the editor announced that it is about to leave.
    Leaving,
    /// Connected to the editor of a project that is no longer wanted. Calls that were sent may still be answered; nothing new is
    /// sent.
    Parting,
    /// Stopping. Calls that were sent may still be answered.
    Draining,
    /// No connection exists, and none will be made.
    Stopped,
}

/// Superstates of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// No connection was greeted, so calls cannot be sent.
    Away,
    /// The connection was greeted.
    Up,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Timeout of `seeking`: discovery did not answer.
    Seek,
    /// Timeout of `backing_off`: dial again.
    Retry,
    /// Timeout of `greeting`: the greeting was not completed.
    Greeting,
    /// Check whether the editor's process is alive, even while answers are awaited: a child process may have inherited the
    /// editor's socket and keep it open.
    Liveness,
    /// The connection was lost so long ago that the editor is no longer likely to return.
    Hope,
    /// In `leaving`: the editor announced that it leaves, but stayed. In the other connected states: a hint said that it leaves,
    /// but nothing followed.
    Leave,
    /// In `draining`: the longest wait for answers is over.
    Drain,
}

/// What is known of the editor's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    Alive,
    /// The recorded process is dead.
    Dead,
    /// No process id is known.
    Unknown,
}

/// What files and processes show about the editor, in addition to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Evidence {
    /// The state of the editor's process.
    pub editor: Sign,
    /// What the editor is doing, according to its lock files.
    pub activity: Option<Activity>,
    /// Whether the editor's package announces a reload or an end; `None` if unknown.
    pub announces: Option<bool>,
    /// Whether the project's files name no package that holdfast speaks to.
    #[serde(default)]
    pub unpackaged: bool,
    /// Whether the user named a port, so that what listens there says more than the files.
    #[serde(default)]
    pub port_named: bool,
    /// Whether the editor connects to us: one that does not come may stand still, just as one that does not answer.
    #[serde(default)]
    pub arrives: bool,
}

/// Why a dial gave no usable connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ConnectFailure {
    /// Nothing listens on the port.
    Refused,
    /// The program accepted the connection, and was gone before it was known whose it is.
    Vanished,
    /// The connection was not made in time.
    TimedOut,
    /// The port belongs to the editor of another project.
    WrongProject,
    /// Nothing proves that the port belongs to this project's editor.
    Unproven,
    /// The program on the port was greeted recently and is not a bridge.
    WrongPeer,
    /// The previous connection still exists.
    PermitHeld,
    /// The gateway's process has no file descriptor left.
    NoDescriptors,
    /// The system does not let this process connect to the port, or listen on it.
    Forbidden,
}

impl ConnectFailure {
    /// Whether a program is on the port that is not, or is not shown to be, the wanted editor.
    pub fn is_somebody_else(self) -> bool {
        match self {
            Self::WrongProject | Self::Unproven | Self::WrongPeer => true,
            Self::Refused
            | Self::Vanished
            | Self::TimedOut
            | Self::PermitHeld
            | Self::NoDescriptors
            | Self::Forbidden => false,
        }
    }
}

/// How an established connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Disconnect {
    /// End of stream.
    Eof,
    /// Connection reset, or another socket error.
    Reset,
    /// The bytes are not valid in the dialect.
    Protocol,
    /// End of stream or reset, soon after the one before: the editor serves one client, and another one takes its place.
    Displaced,
}

/// What can happen to the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The editor is needed.
    Wanted,
    /// Discovery found editors that may be called.
    TargetsOffered {
        /// The number of targets, best first.
        count: u8,
        evidence: Evidence,
    },
    /// Discovery found no editor that may be called.
    NothingOffered {
        /// Why there is none.
        cause: Cause,
        evidence: Evidence,
    },
    /// A survey no longer finds the port that is dialled or greeted.
    TargetGone,
    /// Another project is wanted. Everything known here concerns the former one.
    ProjectChanged,
    /// The connection was made, and the peer may be called.
    Connected {
        /// The index of the target in the offer: a patient dial goes through all of them.
        target: u8,
        /// Whether the port was checked to be this project's editor's. False if the only ground is that the user named the port.
        checked: bool,
    },
    ConnectFailed {
        /// The index of the target in the offer.
        target: u8,
        failure: ConnectFailure,
        /// Whether the target was dialled now. False if its failure is known from a moment ago.
        dialled: bool,
    },
    /// All targets of a patient dial refused for a while. It goes on.
    StillRefused,
    /// The greeting was answered in the way of a bridge of this dialect.
    Greeted {
        /// Whether the bridge answers heartbeat questions off its main thread.
        heartbeat: bool,
    },
    /// The answer to the greeting does not show the wanted editor: no bridge of this dialect answers so
    /// ([`ConnectFailure::WrongPeer`]), it is a bridge that does not take our token
    /// ([`ConnectFailure::Unproven`]), or one that is not ready ([`ConnectFailure::Vanished`]).
    GreetingRefused(ConnectFailure),
    /// The first tool list of the connection was published: the connection works, and calls may be sent.
    Proven,
    /// A call is waiting in the ledger.
    CallsWaiting,
    /// Nothing was heard for a while although answers are owed.
    StallBegan,
    /// The editor was heard of again.
    StallEnded,
    /// Nothing was heard for so long that the editor counts as lost.
    Silent,
    /// After [`Effect::EndSending`]: the editor has answered everything.
    NothingOwed,
    /// The editor announced that it closes the connection.
    LeavingAnnounced(LeaveReason),
    /// The push channel sent a hint.
    HintReceived(PushEvent),
    /// Files or discovery show that a dial may succeed now.
    NewsArrived,
    /// The connection ended.
    Disconnected(Disconnect),
    /// The editor's process is gone, even if its socket is still open.
    EditorVanished,
    /// No client waits any more for a call on this connection. Sent once, for a connection in `parting`.
    NobodyWaits,
    Elapsed(Timer),
    /// The gateway stops.
    StopRequested,
}

/// What the shell must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    AskTargets,
    /// Connect to this target.
    Dial {
        /// The index of the target in the offer.
        target: u8,
        /// Whether to dial again and again for a while if nobody listens: this target and the others, one after
        /// another. The editor may listen at any moment.
        patient: bool,
    },
    /// End a patient dial that was only refused so far.
    Hurry,
    Greet,
    /// Send nothing new on the connection, and feed [`Event::NothingOwed`] when everything that was sent is answered.
    EndSending,
    /// Close the epoch in the ledger, and then the socket.
    HangUp(Loss),
    /// Tell the registry that the connection is usable.
    TellUp,
    /// Tell the registry that the connection is no longer usable.
    TellDown,
    /// Tell the registry that the editor's tools changed.
    TellToolsChanged,
    /// Check whether the editor's process is alive.
    CheckEditor,
    AskHeartbeat,
    /// Feed [`Event::NobodyWaits`] when no client waits any more for a call that was sent on this connection.
    AwaitClients,
    /// Arm [`Timer::Retry`] with a delay from the backoff rule.
    Retry {
        /// The number of failed rounds so far.
        attempt: u8,
        /// Whether an editor is likely, which keeps the delay short. Held calls keep it short too; the shell sees them in the
        /// ledger.
        likely: bool,
    },
    /// End a running [`Timer::Retry`] earlier, but not before the smallest pause between dials has passed.
    ShortenRetry,
    Arm(Timer, Duration),
    Disarm(Timer),
}
