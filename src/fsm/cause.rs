//! Why a call waits, was not executed, or has an unknown outcome. State machines, answers, logs and metrics share these values.

use serde::{Deserialize, Serialize};

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
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantNames,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
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
    /// Like [`Lost`](Self::Lost), but the package announces nothing and the editor's process is alive: most likely a domain
    /// reload.
    BridgeStopped,
    /// The editor serves one client, and has cut connections one after the other: another client takes them, or the editor cuts them.
    Displaced,
    /// The editor's process is gone, and its package did not send the announcement that it normally sends.
    Crashed,
    /// The editor's process is gone, and no announcement could be received: its package sends none, or the connection had been
    /// lost before. The editor may have quit or crashed.
    ProcessGone,
    /// The editor quit, or its user stopped the bridge.
    Closed,
    /// No editor was ever reached, and no editor process is known.
    NotRunning,
    /// The files of the project name no package that holdfast speaks to, and no editor of it was ever reached.
    NoPackage,
    /// No project is known: neither the user nor the client's folders name one.
    ProjectUnknown,
    /// The editor's process is alive, but its bridge does not listen.
    BridgeDown,
    /// The program on the editor's port is not this editor's bridge.
    WrongPeer,
    /// The editor on the port belongs to another project, according to the port's owner or the editor's own statement.
    WrongProject,
    /// Something listens, but nothing proves that it is this project's editor.
    Unproven,
    /// The gateway's process has no file descriptor left, so nothing can be found out about the editor.
    NoDescriptors,
    /// The system does not let the gateway's process connect to the editor's port, or listen on the one to which the editor connects.
    Forbidden,
    /// More than one editor, project or package fits, and holdfast does not guess.
    Ambiguous,
    /// The wanted project is not decided yet: the client was asked for its roots, the roots are being searched, or the former
    /// project's editor still has calls.
    ProjectUnsettled,
    /// After the call arrived, another project became the wanted one, or more than one project fits.
    ProjectChanged,
    /// Another call takes up the editor's slot for calls.
    Busy,
    /// The editor says that it takes no calls for now: a dialog is open in it, or it has not settled since its start.
    Blocked,
    /// The editor has sent nothing for a while, although an answer is awaited.
    Stalled,
    /// Calls wait for the live tool list, which is being fetched.
    Listing,
    /// The live tool list has no such tool.
    UnknownTool,
    /// The request is larger than the editor accepts.
    TooLarge,
    /// The editor would misread the call's arguments.
    BadArguments,
    /// The policy refuses the tool.
    Policy,
    /// The requested audit cannot record the call.
    Audit,
    /// The hub cannot record the call, so that its successor could not know of it.
    Unrecorded,
    /// The client has not come back since the gateway that had sent its call ended. Only the client has the arguments.
    ClientAway,
    /// The gateway's own parts for this editor failed again and again, and rest before they start again.
    Gateway,
    /// More requests are open than the gateway keeps.
    Overload,
    ShuttingDown,
}

impl Cause {
    /// Whether the editor's process is gone, or has announced that it quits.
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Crashed | Self::ProcessGone | Self::Closed)
    }

    /// Whether no editor of the project runs, as far as can be seen.
    pub fn is_closed(self) -> bool {
        self.is_gone() || self == Self::NotRunning
    }

    /// Whether it does not help to wait, or to open Unity: the user must first decide or install something.
    pub fn needs_the_user(self) -> bool {
        matches!(self, Self::NoPackage | Self::ProjectUnknown | Self::Ambiguous)
    }
}

/// Why the outcome of a call that may have run cannot be known.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantNames,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Loss {
    /// The editor reloaded its domain.
    Reload,
    /// The editor had begun the call, and says that a domain reload interrupted it.
    Interrupted,
    Quit,
    /// The connection ended without an announcement.
    Disconnect,
    /// The editor sent bytes that are not valid in its protocol.
    Protocol,
    /// The editor sent nothing for too long.
    Silence,
    /// The editor's own server waits for the call no longer, or failed. The call may still wait or run there.
    GivenUp,
    /// The editor no longer knows the job that it had begun for the call. It reloaded its domain, or started its server again.
    Forgotten,
    /// Another project became the wanted one, and the former project's editor was disconnected before it answered.
    ProjectChanged,
    /// A part of the gateway crashed.
    Gateway,
    /// The hub that had sent the call was lost, and another gateway took the call over.
    HubEnded,
    /// The gateway was shut down.
    Shutdown,
}

/// What is known about the time during which an editor was away, when it is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Return {
    /// Nothing is known.
    Unknown,
    /// It is the same process with another domain: the editor has reloaded.
    Reloaded,
    /// It is the same domain, so the editor was not away because of a reload.
    SameDomain,
    OtherProcess,
}

/// What callers may expect from the link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// Connected: calls are sent as the bridge's window allows.
    Open,
    /// Not connected, but the editor is expected to return: calls are held.
    Coming(Cause),
    /// Not connected, and the editor is not expected to return: calls are answered at once.
    Absent(Cause),
}

impl Availability {
    /// Returns why the link is not open; `None` if it is open.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::Open => None,
            Self::Coming(cause) | Self::Absent(cause) => Some(cause),
        }
    }

    /// Whether nothing is wrong with the editor: it is connected, or it was disconnected only because the wanted project is not
    /// decided yet.
    pub fn is_no_absence(self) -> bool {
        matches!(self, Self::Open | Self::Coming(Cause::ProjectUnsettled))
    }
}
