//! The values of metric labels that no other type has: what happened, each from a closed set.

use crate::fsm::bridge;
use crate::fsm::cause::Cause;

/// Declares an enum of label values.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
        #[strum(serialize_all = "snake_case")]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }
    };
}

label! {
    /// How a request of the client ended.
    Outcome {
        /// With a result.
        Ok,
        /// With an error.
        Error,
        /// The client took it back: it has no answer.
        Cancelled,
    }
}
label! {
    /// Whether something came or went.
    Direction {
        /// From the peer.
        Rx,
        /// To the peer.
        Tx,
    }
}
label! {
    /// Kinds of JSON-RPC messages.
    MessageKind {
        /// A request.
        Request,
        /// A response.
        Response,
        /// A notification.
        Notification,
    }
}
label! {
    /// What a call waited for before it was sent.
    Wait {
        /// The editor had to be found or dialled.
        Connect,
        /// It reloaded its domain.
        Reload,
        /// It compiled.
        Compile,
        /// Another call, or the list, had its place.
        Queue,
    }
}
label! {
    /// Why a call is sent again.
    Resend {
        /// The connection was lost.
        Reconnect,
        /// The editor reloaded.
        Reload,
        /// An editor turned it away unrun.
        TurnedAway,
    }
}
label! {
    /// How a dial of the editor ended.
    DialResult {
        /// Greeted.
        Ok,
        /// Nothing listens there.
        Refused,
        /// The connect did not end in time.
        TimedOut,
        /// The port belongs to another project's editor.
        WrongProject,
        /// Nothing proves whose port it is.
        Unproven,
        /// What listens there is no bridge.
        WrongPeer,
        /// The former connection had not fallen.
        PermitHeld,
        /// This process had no descriptor left.
        NoDescriptors,
        /// Connected, and ended before the greeting was answered.
        Unfinished,
    }
}
label! {
    /// What cut a wait short.
    Hint {
        /// A file of the project or of the editor changed.
        InstanceRecord,
        /// The push channel said so.
        Push,
        /// Somebody needs the editor.
        User,
    }
}
label! {
    /// What an unmatched reply was.
    Stray {
        /// Its number belongs to no open request of the connection: unknown, or answered before.
        UnknownId,
        /// It names no request at all.
        NoId,
        /// Its call owes nothing to this connection any more.
        Late,
    }
}
label! {
    /// How a reload ended.
    ReloadResult {
        /// The editor was greeted again. Announced, seen in a file of the project, or told by the greeting.
        Completed,
        /// The same process was greeted again. Its package announces nothing: most likely it was a reload.
        Presumed,
        /// Nothing speaks for its return any more.
        NotReturned,
    }
}
label! {
    /// Editors that a look around found.
    Instance {
        /// May be called.
        Callable,
        /// Two projects fit, and nobody guesses.
        Ambiguous,
        /// Somebody listens, and may not be called.
        Refused,
        /// Named by a file, and nobody listens.
        Stale,
    }
}
label! {
    /// What became of a push message.
    PushResult {
        /// It was passed on.
        Delivered,
        /// Too many came, or too many sockets were open.
        Dropped,
        /// It was no message that is known.
        Rejected,
    }
}
label! {
    /// The parts that are supervised.
    Part {
        /// The root.
        Gateway,
        /// The tool catalogue.
        Registry,
        /// The supervisor of one editor.
        Link,
        /// Where the editor is.
        Discovery,
        /// The connection.
        Bridge,
        /// The push listener.
        Push,
        /// MCP.
        Session,
        /// This endpoint.
        Exporter,
    }
}
label! {
    /// Promises that are watched while the gateway runs.
    Invariant {
        /// A call was answered a second time.
        AnsweredTwice,
        /// A call that was answered had no request that waited for it, and was not cancelled.
        AnswerForNobody,
        /// A call that may have run was claimed again without being declared repeatable.
        UnsafeResend,
        /// A message for stdout was not one line.
        BrokenLine,
    }
}
label! {
    /// What a request to the exporter got.
    ScrapeResult {
        /// What it asked for.
        Ok,
        /// Refused: another host's name.
        BadHost,
        /// Refused: a method other than GET and HEAD.
        BadMethod,
        /// No such path.
        NotFound,
        /// Not HTTP, or too large a head.
        BadRequest,
        /// It did not send its head in time.
        TimedOut,
        /// Too many connections were open.
        Busy,
    }
}
label! {
    /// Which way the wall clock jumped.
    ClockDirection {
        /// Ahead: the machine slept, or the clock was set.
        Forward,
        /// Back: the clock was set.
        Backward,
    }
}
label! {
    /// Why a log line is missing.
    LogDrop {
        /// Too many waited.
        QueueFull,
        /// stderr could not be written.
        SinkError,
    }
}

impl Wait {
    /// What a cause of holding means here.
    pub fn of(cause: Cause) -> Self {
        match cause {
            Cause::Reloading => Self::Reload,
            Cause::Compiling => Self::Compile,
            Cause::Busy | Cause::Stalled | Cause::Listing | Cause::Overload => Self::Queue,
            Cause::Connecting
            | Cause::Starting
            | Cause::Lost
            | Cause::BridgeStopped
            | Cause::Crashed
            | Cause::ProcessGone
            | Cause::Closed
            | Cause::NotRunning
            | Cause::BridgeDown
            | Cause::WrongPeer
            | Cause::WrongProject
            | Cause::Unproven
            | Cause::NoDescriptors
            | Cause::Ambiguous
            | Cause::ProjectUnsettled
            | Cause::ProjectChanged
            | Cause::UnknownTool
            | Cause::TooLarge
            | Cause::Policy
            | Cause::Audit
            | Cause::ShuttingDown => Self::Connect,
        }
    }
}

impl From<bridge::ConnectFailure> for DialResult {
    fn from(failure: bridge::ConnectFailure) -> Self {
        match failure {
            bridge::ConnectFailure::Refused => Self::Refused,
            bridge::ConnectFailure::TimedOut => Self::TimedOut,
            bridge::ConnectFailure::WrongProject => Self::WrongProject,
            bridge::ConnectFailure::Unproven => Self::Unproven,
            bridge::ConnectFailure::WrongPeer => Self::WrongPeer,
            bridge::ConnectFailure::PermitHeld => Self::PermitHeld,
            bridge::ConnectFailure::NoDescriptors => Self::NoDescriptors,
        }
    }
}
