//! Causes, paths and spans of time as parts of sentences.

use std::path::Path;
use std::time::Duration;

use crate::fsm::cause::Cause;

/// Returns, as a phrase, why a call waits or the editor is away.
pub fn cause(cause: Cause) -> String {
    let phrase = match cause {
        Cause::Connecting => "not connected to Unity yet",
        Cause::Reloading => "Unity is reloading its domain",
        Cause::Compiling => "Unity is compiling scripts",
        Cause::Starting => "Unity's bridge is starting",
        Cause::Lost => "the connection was lost",
        Cause::BridgeStopped => "the bridge stopped, probably for a domain reload",
        Cause::Displaced => "another client takes the connection, or the editor cuts it",
        Cause::Crashed => "Unity crashed or was killed",
        Cause::ProcessGone => "Unity's process has ended",
        Cause::Closed => "Unity was closed, or its bridge was switched off",
        Cause::NotRunning => "no Unity Editor with a bridge is running",
        Cause::NoPackage => "the project has no Unity package that holdfast supports",
        Cause::ProjectUnknown => "it is not known which Unity project is meant",
        Cause::BridgeDown => "Unity's bridge is not listening",
        Cause::WrongPeer => "another program is where Unity should be",
        Cause::WrongProject => "the editor has another project open",
        Cause::Unproven => "nothing proves that the listener is this project's editor",
        Cause::NoDescriptors => "holdfast has no file descriptor left",
        Cause::Forbidden => "the system does not let holdfast use the port",
        Cause::Ambiguous => "more than one Unity project or package fits",
        Cause::ProjectUnsettled => "it is not decided yet which project to use",
        Cause::ProjectChanged => "the client switched to another project",
        Cause::Busy => "another call is running",
        Cause::Blocked => {
            "Unity takes no calls for now: a dialog is open, it has not settled since its start, or too many calls wait in it"
        }
        Cause::Stalled => "Unity is not answering",
        Cause::Listing => "Unity's tool list is being fetched",
        Cause::Gateway => "holdfast's own parts for this editor failed again and again, and rest",
        Cause::ClientAway => "its client has not come back since the hub ended",
        // No call waits for these causes, and no editor is away because of them, so they need no phrase.
        Cause::UnknownTool
        | Cause::TooLarge
        | Cause::BadArguments
        | Cause::Policy
        | Cause::Audit
        | Cause::Unrecorded
        | Cause::Overload
        | Cause::ShuttingDown => {
            return <&str>::from(cause).replace('_', " ");
        }
    };
    phrase.to_owned()
}

/// Formats a path as one word of a command line.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text }
}

/// Formats a span of time for people, in ms, s, or min and s.
pub fn seconds(span: Duration) -> String {
    match span.as_millis() {
        millis @ 0..=999 => format!("{millis} ms"),
        millis @ 1000..=119_999 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => format!("{} min {} s", span.as_secs() / 60, span.as_secs() % 60),
    }
}
