//! The alphabet of the connection's machine: its states, timers, events and effects.

use std::time::Duration;

use crate::fsm::cause::{Cause, Loss};
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
    /// Connected to the editor of a project that is not wanted any more: what was sent may still be answered, nothing new goes out.
    Parting,
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
    /// Look whether the editor's process lives, also while work is outstanding: its socket may have been inherited.
    Liveness,
    /// Named: an editor that answers off its main thread has said nothing for too long.
    Heartbeat,
    /// Named: the loss is so long ago that it no longer makes a return likely.
    Hope,
    /// State timeout of `leaving`: it said goodbye and stayed. While it is up: a hint of its leaving has come to nothing.
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
    /// Its package says so before it reloads or quits.
    pub announces: Option<bool>,
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
    /// What listens there was greeted a moment ago and is no bridge.
    WrongPeer,
    /// The former connection has not fallen yet.
    PermitHeld,
    /// The gateway's process has no descriptor left.
    NoDescriptors,
}

impl ConnectFailure {
    /// Somebody is there, and it is not the editor that is meant.
    pub fn is_somebody_else(self) -> bool {
        match self {
            Self::WrongProject | Self::Unproven | Self::WrongPeer => true,
            Self::Refused | Self::TimedOut | Self::PermitHeld | Self::NoDescriptors => false,
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Disconnect {
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
    /// Another project is wanted than the one that everything known here is about.
    ProjectChanged,
    /// The connect succeeded, and the peer may be called.
    Connected {
        /// Its port was checked to be this project's editor's; else the user named it, and that is all there is.
        checked: bool,
    },
    /// The connect failed.
    ConnectFailed(ConnectFailure),
    /// The greeting was answered as this dialect's bridge does.
    Greeted {
        /// Calls that it takes at once.
        window: u8,
        /// It answers for itself off its main thread.
        heartbeat: bool,
    },
    /// The greeting was answered as no bridge of this dialect does.
    GreetingRefused,
    /// A fresh tool list is wanted.
    ListWanted,
    /// The list came and is published: its place is free, and calls may go.
    ListAnswered,
    /// No list was learned: the editor refused it, or it was lost on its way to the catalogue. Its place is free.
    ListLost,
    /// A call waits in the ledger.
    CallsWaiting,
    /// A call was claimed: its bytes leave now.
    CallSent {
        /// How long it may run before its client is told that it still does.
        running_max: Duration,
    },
    /// A sent call was answered, or the next one turned out not to be sendable: its place is free.
    WorkFinished {
        /// More calls wait.
        more: bool,
    },
    /// Bytes came from the editor.
    BytesArrived,
    /// The editor said how it is.
    PulseArrived,
    /// The editor announced that it closes the connection.
    LeavingAnnounced(LeaveReason),
    /// The push channel said something.
    HintReceived(PushEvent),
    /// Files or discovery have good news.
    NewsArrived,
    /// The connection ended.
    Disconnected(Disconnect),
    /// The editor's process is gone, whatever the socket says.
    EditorVanished,
    /// No client waits for what was sent on this connection. Told once, of a connection that parts.
    NobodyWaits,
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
    /// Send the next call of the ledger; the places of answered calls are passed on from then on.
    SendNextCall,
    /// Pass no places on: what becomes free is given by the next [`SendNextCall`](Self::SendNextCall).
    KeepPlaces,
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
    /// Ask the editor how it is.
    AskPulse,
    /// Say [`Event::NobodyWaits`] once no client waits for what was sent on this connection.
    AwaitClients,
    /// Arm [`Timer::Retry`] by the backoff rule.
    Retry {
        /// Failed rounds so far.
        attempt: u8,
        /// Whether an editor is likely: caps the delay low, as calls that are held do (which the shell sees in the ledger).
        likely: bool,
    },
    /// Bring a running [`Timer::Retry`] forward, as soon as the spacing of dials allows.
    ShortenRetry,
    /// Arm a timer.
    Arm(Timer, Duration),
    /// Disarm a timer.
    Disarm(Timer),
}
