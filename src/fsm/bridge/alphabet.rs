//! The states, timers, events and effects of the connection's machine.

use std::time::Duration;

use crate::fsm::cause::{Cause, Loss};
use crate::protocol::dialect::{Activity, LeaveReason, PushEvent};

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The editor is not needed yet.
    Idle,
    /// Discovery was asked for targets.
    Seeking,
    /// A connect is under way.
    Dialing,
    /// Connected; the greeting is under way.
    Greeting,
    /// Waiting for the next survey and round of dialling.
    BackingOff,
    /// Connected and greeted.
    Ready,
    /// Connected, but silent while it owes an answer.
    Stalled,
    /// Connected; the editor announced that it is about to leave.
    Leaving,
    /// Connected to the editor of a project that is not wanted any more. Sent calls may still be answered; nothing new is sent.
    Parting,
    /// Stopping; sent calls may still be answered.
    Draining,
    /// No connection, and none will be made.
    Stopped,
}

/// Superstates of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// Not greeted: the connection is not usable.
    Away,
    /// Greeted.
    Up,
    /// The root: no handler decided the event.
    Root,
}

/// The timers of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Timeout of `seeking`: discovery did not answer.
    Seek,
    /// Timeout of `backing_off`: dial again.
    Retry,
    /// Timeout of `greeting`: the greeting was not completed.
    Greeting,
    /// Nothing was received while answers are owed: show the stall.
    Stall,
    /// Nothing was received while answers are owed: give up the connection.
    Silence,
    /// Check whether the editor's process lives, also while answers are owed: a child process may have inherited its socket.
    Liveness,
    /// An editor that answers off its main thread has sent nothing for too long.
    Heartbeat,
    /// The loss is so long ago that a return is no longer likely.
    Hope,
    /// Timeout of `leaving`: the editor announced that it leaves, and stayed. In the other connected states: a hint that it
    /// leaves had no consequence.
    Leave,
    /// Timeout of `draining`.
    Drain,
}

/// What is known of the editor's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// The process lives.
    Alive,
    /// The recorded process is dead.
    Dead,
    /// No process id is known.
    Unknown,
}

/// What files and processes say of the editor, beside the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// The state of the editor's process.
    pub editor: Sign,
    /// What the editor is doing, according to its lock files.
    pub activity: Option<Activity>,
    /// Whether its package announces a reload or an end; `None` if unknown.
    pub announces: Option<bool>,
}

/// Why an attempt gave no usable connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ConnectFailure {
    /// Nothing listens on the port.
    Refused,
    /// The connection was not made in time.
    TimedOut,
    /// The port belongs to another project's editor.
    WrongProject,
    /// Nothing proves that the port belongs to this project's editor.
    Unproven,
    /// The program on the port was greeted a moment ago and is not a bridge.
    WrongPeer,
    /// The former connection still exists.
    PermitHeld,
    /// The gateway's process has no file descriptor left.
    NoDescriptors,
}

impl ConnectFailure {
    /// Whether a program is there that is not the wanted editor.
    pub fn is_somebody_else(self) -> bool {
        match self {
            Self::WrongProject | Self::Unproven | Self::WrongPeer => true,
            Self::Refused | Self::TimedOut | Self::PermitHeld | Self::NoDescriptors => false,
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
        /// What else the survey saw.
        evidence: Evidence,
    },
    /// Discovery found no editor that may be called.
    NothingOffered {
        /// Why there is none.
        cause: Cause,
        /// What else the survey saw.
        evidence: Evidence,
    },
    /// Another project is wanted. Everything known here concerns the former one.
    ProjectChanged,
    /// The connection was made, and the peer may be called.
    Connected {
        /// Whether the port was checked to be this project's editor's. False if the only ground is that the user named the port.
        checked: bool,
    },
    /// The connect failed.
    ConnectFailed(ConnectFailure),
    /// The greeting was answered as a bridge of this dialect does.
    Greeted {
        /// The number of calls that the bridge takes at once.
        window: u8,
        /// Whether the bridge answers heartbeat questions off its main thread.
        heartbeat: bool,
    },
    /// The greeting was answered as no bridge of this dialect does.
    GreetingRefused,
    /// A fresh tool list is needed.
    ListWanted,
    /// The list came and is published. Its place is free, and calls may be sent.
    ListAnswered,
    /// No list was received: the editor refused it, or it was lost before it reached the catalogue. Its place is free.
    ListLost,
    /// A call waits in the ledger.
    CallsWaiting,
    /// A call was claimed: its bytes are written now.
    CallSent {
        /// How long the call may run before its client is answered "still running".
        running_max: Duration,
    },
    /// A sent call was answered, or the next call could not be sent. The place is free.
    WorkFinished {
        /// Whether more calls wait.
        more: bool,
    },
    /// Bytes were received from the editor.
    BytesArrived,
    /// The editor answered the heartbeat question.
    HeartbeatArrived,
    /// The editor announced that it closes the connection.
    LeavingAnnounced(LeaveReason),
    /// The push channel sent a hint.
    HintReceived(PushEvent),
    /// Files or discovery show that a dial may succeed now.
    NewsArrived,
    /// The connection ended.
    Disconnected(Disconnect),
    /// The editor's process is gone, even if the socket is open.
    EditorVanished,
    /// No client waits for a call on this connection. Sent once, for a connection in `parting`.
    NobodyWaits,
    /// A timer fired.
    Elapsed(Timer),
    /// The gateway stops.
    StopRequested,
}

/// What the shell must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ask discovery for targets.
    AskTargets,
    /// Connect to this target.
    Dial {
        /// The index of the target in the offer.
        target: u8,
    },
    /// Send the greeting.
    Greet,
    /// Ask for the tool list.
    SendList,
    /// Send the next held call. From then on free places are passed on to the next held calls.
    SendNextCall,
    /// Stop passing free places on: the next [`SendNextCall`](Self::SendNextCall) uses them.
    KeepPlaces,
    /// Close the epoch in the ledger, then the socket.
    HangUp(Loss),
    /// Tell the registry that the connection is usable.
    TellUp,
    /// Tell the registry that the connection is no longer usable.
    TellDown,
    /// Tell the registry that the editor's tools changed.
    TellToolsChanged,
    /// Check whether the editor's process lives.
    CheckEditor,
    /// Ask the editor for its heartbeat.
    AskHeartbeat,
    /// Feed [`Event::NobodyWaits`] once no client waits for a call that was sent on this connection.
    AwaitClients,
    /// Arm [`Timer::Retry`] with a delay from the backoff rule.
    Retry {
        /// The number of failed rounds so far.
        attempt: u8,
        /// Whether an editor is likely, which caps the delay low. So do held calls, which the shell sees in the ledger.
        likely: bool,
    },
    /// Bring a running [`Timer::Retry`] forward, as soon as the spacing of dials allows.
    ShortenRetry,
    /// Arm a timer.
    Arm(Timer, Duration),
    /// Disarm a timer.
    Disarm(Timer),
}
