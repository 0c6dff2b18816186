//! Why something waits, was not executed, or was lost: one vocabulary for machines, answers, logs and metrics.

/// Why a call waits, or why it was not executed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::IntoStaticStr,
    strum::VariantNames,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// The editor is being looked for or dialled for the first time.
    Connecting,
    /// The editor reloads its domain: it announced that, or a file of its project says so.
    Reloading,
    /// The editor compiles scripts.
    Compiling,
    /// The editor's bridge is starting, by its lock file.
    Starting,
    /// The connection ended without a word, and nothing tells why.
    Lost,
    /// As [`Lost`](Self::Lost), of a package that announces nothing, while the editor's process lives: most likely a domain reload.
    BridgeStopped,
    /// The editor's process is gone without the goodbye that its package says.
    Crashed,
    /// The editor's process is gone, and no goodbye could be heard: its package says none, or the connection was lost before. It may
    /// have quit or crashed.
    ProcessGone,
    /// The editor quit, or its user stopped the bridge.
    Closed,
    /// No editor was ever reached, and no process of it is known.
    NotRunning,
    /// The editor's process lives, but its bridge does not listen.
    BridgeDown,
    /// What listens there is not this editor's bridge.
    WrongPeer,
    /// What listens there belongs to another project, or its editor said so.
    WrongProject,
    /// Something listens, but nothing proves that it is this project's editor.
    Unproven,
    /// The gateway's process has no file descriptor left, so nothing can be said of the editor.
    NoDescriptors,
    /// Two editors fit; nobody guesses.
    Ambiguous,
    /// Which project is meant is not settled: the client is asked for its roots, they are being looked at, or the former
    /// project's editor still has calls.
    ProjectUnsettled,
    /// Another project is meant, or more than one fits, since before the call could be sent.
    ProjectChanged,
    /// The editor works on another call; its bridge takes one at a time.
    Busy,
    /// The editor has been silent on an outstanding call for a while.
    Stalled,
    /// The live tool list is being fetched, and the tool is not known without it.
    Listing,
    /// The live tool list has no such tool.
    UnknownTool,
    /// The request is larger than the editor accepts.
    TooLarge,
    /// Policy refuses the tool.
    Policy,
    /// The audit that was asked for cannot record the call.
    Audit,
    /// More requests are open than the gateway keeps.
    Overload,
    /// The gateway is shutting down.
    ShuttingDown,
}

impl Cause {
    /// The editor's process is gone, or said that it goes.
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Crashed | Self::ProcessGone | Self::Closed)
    }

    /// True when the same call can succeed later without anybody changing it.
    pub fn passes(self) -> bool {
        match self {
            Self::Connecting
            | Self::Reloading
            | Self::Compiling
            | Self::Starting
            | Self::Lost
            | Self::BridgeStopped
            | Self::Crashed
            | Self::ProcessGone
            | Self::Closed
            | Self::NotRunning
            | Self::BridgeDown
            | Self::NoDescriptors
            | Self::ProjectUnsettled
            | Self::Busy
            | Self::Stalled
            | Self::Listing
            | Self::Overload => true,
            Self::WrongPeer
            | Self::WrongProject
            | Self::Unproven
            | Self::Ambiguous
            | Self::ProjectChanged
            | Self::UnknownTool
            | Self::TooLarge
            | Self::Policy
            | Self::Audit
            | Self::ShuttingDown => false,
        }
    }
}

/// Why the outcome of a call that may have run cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Loss {
    /// The editor reloaded its domain.
    Reload,
    /// The editor had begun the call, and says that a domain reload cut it.
    Interrupted,
    /// The editor quit.
    Quit,
    /// The connection ended without a word.
    Disconnect,
    /// The editor sent bytes that are not its protocol.
    Protocol,
    /// Nothing came from the editor for too long.
    Silence,
    /// Another project is meant since, and the former one's editor was left before it answered.
    ProjectChanged,
    /// A part of the gateway crashed.
    Gateway,
    /// The gateway was shut down.
    Shutdown,
}

/// What an editor that is back after a loss tells of its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Return {
    /// Nothing.
    Unknown,
    /// It is the same process in another domain: it has reloaded.
    Reloaded,
    /// It is the same domain: whatever it was, it was no reload.
    SameDomain,
    /// It is another process.
    OtherProcess,
}

/// What callers may expect of the link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// Connected: calls go out as the bridge's window allows.
    Open,
    /// Not connected, with evidence that the editor returns: calls are held.
    Coming(Cause),
    /// Not connected, and nothing says that it will be: calls are answered at once.
    Absent(Cause),
}

impl Availability {
    /// The cause, while not open.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Open => None,
            Self::Coming(cause) | Self::Absent(cause) => Some(cause),
        }
    }

    /// Nothing is wrong with the editor itself: it is connected, or was left alone while its project is in question.
    pub fn is_no_absence(self) -> bool {
        matches!(self, Self::Open | Self::Coming(Cause::ProjectUnsettled))
    }
}
