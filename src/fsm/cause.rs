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
    /// The editor reloads its domain (announced, seen by a lock file, or suspected after a bare disconnect of a live editor).
    Reloading,
    /// The editor compiles scripts.
    Compiling,
    /// The connection ended without a word, and nothing tells whether the editor lives.
    Lost,
    /// The editor's process is gone without a goodbye.
    Crashed,
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
    /// Two editors fit; nobody guesses.
    Ambiguous,
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
    /// True when the same call can succeed later without anybody changing it.
    pub fn passes(self) -> bool {
        match self {
            Self::Connecting
            | Self::Reloading
            | Self::Compiling
            | Self::Lost
            | Self::Crashed
            | Self::Closed
            | Self::NotRunning
            | Self::BridgeDown
            | Self::Busy
            | Self::Stalled
            | Self::Listing
            | Self::Overload => true,
            Self::WrongPeer
            | Self::WrongProject
            | Self::Unproven
            | Self::Ambiguous
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
    /// A part of the gateway crashed.
    Gateway,
    /// The gateway was shut down.
    Shutdown,
}

/// What callers may expect of the link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outlook {
    /// Connected: calls go out as the bridge's window allows.
    Open,
    /// Not connected, with evidence that the editor returns: calls are held.
    Coming(Cause),
    /// Not connected, and nothing says that it will be: calls are answered at once.
    Absent(Cause),
}

impl Outlook {
    /// The cause, while not open.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Open => None,
            Self::Coming(cause) | Self::Absent(cause) => Some(cause),
        }
    }
}
