//! Why something waits, was not executed, or was lost. Machines, answers, logs and metrics share these values.

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
    /// The editor is being looked for or connected to for the first time.
    Connecting,
    /// The editor reloads its domain: it announced the reload, or a file of its project shows it.
    Reloading,
    /// The editor compiles scripts.
    Compiling,
    /// The editor's bridge is starting, as its lock file shows.
    Starting,
    /// The connection ended without an announcement, and no reason is known.
    Lost,
    /// Like [`Lost`](Self::Lost), for a package that announces nothing,
    /// while the editor's process lives: most likely a domain reload.
    BridgeStopped,
    /// The editor's process is gone without the announcement that its package sends.
    Crashed,
    /// The editor's process is gone, and no announcement was possible: its package sends none, or the connection was lost before.
    /// The editor may have quit or crashed.
    ProcessGone,
    /// The editor quit, or its user stopped the bridge.
    Closed,
    /// No editor was ever reached, and no editor process is known.
    NotRunning,
    /// The editor's process lives, but its bridge does not listen.
    BridgeDown,
    /// The program on the editor's port is not this editor's bridge.
    WrongPeer,
    /// The editor on the port belongs to another project, by the port's owner or by its own statement.
    WrongProject,
    /// Something listens, but nothing proves that it is this project's editor.
    Unproven,
    /// The gateway's process has no file descriptor left, so nothing can be said of the editor.
    NoDescriptors,
    /// More than one editor, project or package fits, and holdfast does not guess.
    Ambiguous,
    /// The wanted project is not settled: the client was asked for its roots, the roots are being searched, or the former
    /// project's editor still has calls.
    ProjectUnsettled,
    /// Since the call came, another project became the wanted one, or more than one fits.
    ProjectChanged,
    /// Another call has the editor's place.
    Busy,
    /// The editor has been silent on an outstanding call for a while.
    Stalled,
    /// Calls wait for the live tool list, which is being fetched.
    Listing,
    /// The live tool list has no such tool.
    UnknownTool,
    /// The request is larger than the editor accepts.
    TooLarge,
    /// The policy refuses the tool.
    Policy,
    /// The requested audit cannot record the call.
    Audit,
    /// More requests are open than the gateway keeps.
    Overload,
    /// The gateway is shutting down.
    ShuttingDown,
}

impl Cause {
    /// Whether the editor's process is gone, or has announced that it quits.
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Crashed | Self::ProcessGone | Self::Closed)
    }
}

/// Why the outcome of a call that may have run cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Loss {
    /// The editor reloaded its domain.
    Reload,
    /// The editor had begun the call, and says that a domain reload interrupted it.
    Interrupted,
    /// The editor quit.
    Quit,
    /// The connection ended without an announcement.
    Disconnect,
    /// The editor sent bytes that are not its protocol.
    Protocol,
    /// Nothing came from the editor for too long.
    Silence,
    /// Another project became the wanted one, and the former project's editor was disconnected before it answered.
    ProjectChanged,
    /// A part of the gateway crashed.
    Gateway,
    /// The gateway was shut down.
    Shutdown,
}

/// What is known of an editor's absence, once it is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Return {
    /// Nothing is known.
    Unknown,
    /// The same process in another domain: the editor has reloaded.
    Reloaded,
    /// The same domain: the cause of the absence was not a reload.
    SameDomain,
    /// Another process.
    OtherProcess,
}

/// What callers may expect of the link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Availability {
    /// Connected: calls are sent as the bridge's window allows.
    Open,
    /// Not connected, with evidence that the editor returns: calls are held.
    Coming(Cause),
    /// Not connected, without evidence that the editor returns: calls are answered at once.
    Absent(Cause),
}

impl Availability {
    /// Returns the cause, unless the link is open.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Open => None,
            Self::Coming(cause) | Self::Absent(cause) => Some(cause),
        }
    }

    /// Whether nothing is wrong with the editor: it is connected, or
    /// was disconnected only because the wanted project is not settled.
    pub fn is_no_absence(self) -> bool {
        matches!(self, Self::Open | Self::Coming(Cause::ProjectUnsettled))
    }
}
