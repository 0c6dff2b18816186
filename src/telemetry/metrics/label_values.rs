//! Label values that only metrics need, as closed enums.

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
    /// How a client's request ended.
    Outcome {
        /// With a result.
        Ok,
        /// With an error.
        Error,
        /// The client cancelled it, so it has no answer.
        Cancelled,
    }
}
label! {
    /// The direction of bytes or messages.
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
        /// Until the editor is found and connected.
        Connect,
        /// Until a domain reload ends.
        Reload,
        /// Until a compilation ends.
        Compile,
        /// Until it may be sent: another call or the tool list was with the editor.
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
        /// An editor answered that the call was meant for another editor, and ran nothing.
        TurnedAway,
    }
}
label! {
    /// How a dial to the editor ended.
    DialResult {
        /// The greeting was answered.
        Ok,
        /// No process listens on the port.
        Refused,
        /// The process that accepted was gone before it was known whose it is.
        Vanished,
        /// The connection was not established in time.
        TimedOut,
        /// The port belongs to another project's editor.
        WrongProject,
        /// Nothing proves which project the port belongs to.
        Unproven,
        /// The program that listens there is not a bridge.
        WrongPeer,
        /// The previous connection still existed.
        PermitHeld,
        /// This process had no file descriptor left.
        NoDescriptors,
        /// The connection was established, and ended before the greeting was answered.
        Unfinished,
    }
}
label! {
    /// What cut a wait before a dial short.
    Hint {
        /// A file of the project or of the editor changed.
        InstanceRecord,
        /// A push message arrived.
        Push,
        /// A call or a user needs the editor.
        User,
    }
}
label! {
    /// Why a reply matches no open request.
    Stray {
        /// Its id belongs to no open request of the connection: the id is unknown, or its request was already answered.
        UnknownId,
        /// It has no id.
        NoId,
        /// The connection no longer waits for the reply of this call.
        Late,
    }
}
label! {
    /// How a domain reload ended.
    ReloadResult {
        /// The editor was greeted again after a reload that it announced, that a file of the project showed, or that the greeting
        /// shows.
        Completed,
        /// The editor was greeted again, and its package announces no reloads: the outage was most likely a reload.
        Presumed,
        /// The editor's process is gone, or another process was greeted.
        NotReturned,
    }
}
label! {
    /// The ports and projects that a survey found.
    Instance {
        /// A port that may be connected to.
        Callable,
        /// A project among several that fit equally well.
        Ambiguous,
        /// A port that may not be connected to, with a known owner.
        Refused,
        /// A port that may not be connected to, without a known owner.
        Stale,
    }
}
label! {
    /// The result of a push message.
    PushResult {
        /// It was passed on.
        Delivered,
        /// It was dropped: too many messages came, or too many sockets were open.
        Dropped,
        /// It was not a known message.
        Rejected,
    }
}
label! {
    /// The supervised parts.
    Part {
        /// The root of the tree.
        Gateway,
        /// The tool catalogue.
        Registry,
        /// The supervisor of one editor's actors.
        Link,
        /// The search for the editor.
        Discovery,
        /// The connection to the editor.
        Bridge,
        /// The push listener.
        Push,
        /// The client's session.
        Session,
        /// The exporter of these metrics.
        Exporter,
    }
}
label! {
    /// The promises that are checked while the gateway runs.
    Invariant {
        /// A call was answered a second time.
        AnsweredTwice,
        /// A call was answered, but no open request waited for it, and it was not cancelled.
        AnswerForNobody,
        /// A call that may have run was sent again, although its tool is not repeatable.
        UnsafeResend,
        /// A message for stdout was not one line.
        BrokenLine,
    }
}
label! {
    /// The result of a request to the exporter.
    ScrapeResult {
        /// The page that it asked for.
        Ok,
        /// Refused: the `Host` header names another host.
        BadHost,
        /// Refused: a method other than GET and HEAD.
        BadMethod,
        /// The path does not exist.
        NotFound,
        /// Not HTTP, too large a head, or a connection that ended early.
        BadRequest,
        /// The head was not complete in time.
        TimedOut,
        /// Too many connections were open.
        Busy,
    }
}
label! {
    /// The direction in which the wall clock jumped.
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
        /// The queue to stderr was full.
        QueueFull,
        /// The write to stderr failed.
        SinkError,
    }
}

impl Wait {
    /// Returns the value for the cause of holding a call.
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
            | Cause::NoPackage
            | Cause::ProjectUnknown
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
            | Cause::Unrecorded
            | Cause::ClientAway
            | Cause::Gateway
            | Cause::ShuttingDown => Self::Connect,
        }
    }
}

/// The era of an HTTP request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum HttpEra {
    /// The era with a handshake.
    Handshake,
    /// The stateless era.
    Stateless,
    /// The request has no message with an answer, or was not read.
    None,
}

/// Why an HTTP request was refused before its message was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum HttpRefusal {
    /// It is not a request of HTTP/1.1.
    NotHttp,
    /// The client was gone before it was complete, or before it was answered.
    CutOff,
    /// Its head or its body is too large.
    TooLarge,
    /// Its method is not `POST`.
    BadMethod,
    /// Its `Host` is not one of this service.
    BadHost,
    /// A web page of another origin sent it.
    ForeignPage,
    /// It has no token, or a wrong one.
    Unauthorized,
    /// Its path is not served.
    NotFound,
    /// Its body is not JSON, or its client does not take the types of answers.
    BadType,
    /// It was not complete in time.
    TooSlow,
    /// Too many connections or requests were open.
    Busy,
    /// The hub was ending.
    Ending,
}

impl From<bridge::ConnectFailure> for DialResult {
    fn from(failure: bridge::ConnectFailure) -> Self {
        match failure {
            bridge::ConnectFailure::Refused => Self::Refused,
            bridge::ConnectFailure::Vanished => Self::Vanished,
            bridge::ConnectFailure::TimedOut => Self::TimedOut,
            bridge::ConnectFailure::WrongProject => Self::WrongProject,
            bridge::ConnectFailure::Unproven => Self::Unproven,
            bridge::ConnectFailure::WrongPeer => Self::WrongPeer,
            bridge::ConnectFailure::PermitHeld => Self::PermitHeld,
            bridge::ConnectFailure::NoDescriptors => Self::NoDescriptors,
        }
    }
}
