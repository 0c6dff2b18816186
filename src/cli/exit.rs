//! Exit codes.

use std::process::ExitCode;

/// The exit code of a process. docs/commands.md has the same table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded. `call`: the tool succeeded. `tools`: a list of the editor's tools, live or from disk. `status`: an
    /// editor runs and its port is open. `doctor`: no problem. `serve`: the client ended the session or is gone, or a signal
    /// ended it.
    Ok = 0,
    /// The command failed. `call`: the tool failed. `doctor`: there are problems. `setup`, `unity install`: refused, nothing was
    /// changed; `unity status`: the package is missing, or differs from this program's.
    Failed = 1,
    /// The command line or the configuration is wrong, or `call` has bad JSON or an unknown tool. Nothing was done.
    Usage = 2,
    /// Not executed: the editor could not be reached, or refused the call before it ran anything. `tools`: no editor, and no list
    /// on disk. `status`: no editor runs, or its port is closed.
    NotExecuted = 3,
    /// `call`: the tool may have run: the outcome is unknown, or it is still running.
    Unknown = 4,
    Internal = 70,
    /// The system refused threads or file descriptors that every start needs.
    NoResources = 71,
    /// The command did its work, but its output could not be written to stdout.
    Output = 74,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
