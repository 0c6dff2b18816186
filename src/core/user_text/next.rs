//! What helps against each cause, for the AI behind an MCP client and for a person at a terminal. A flag is never named alone, but
//! with the whole command that a user types.

use std::path::Path;

use super::phrases::quoted;
use crate::fsm::cause::Cause;
use crate::protocol::mcp::{Audience, ClientProfile, ClientTraits};
use crate::protocol::text::clean;

/// Returns what the reader can do about the cause, as whole sentences. `to`: the reader. `project`: the project that is meant, if
/// one is known.
pub fn next(cause: Cause, to: &ClientProfile, project: Option<&Path>) -> String {
    use Audience::{Agent, Person};
    let setup = || setup(&to.client, project);
    let text = match (cause, to.audience) {
        (Cause::NoPackage, Agent) => {
            return format!(
                "Ask the user to run `holdfast unity install` in {} and then to open the project in Unity, or to bring its window to \
                 the front if it is open. Waiting does not help before that.",
                folder(project)
            );
        }
        (Cause::NoPackage, Person) => {
            return format!(
                "Run `holdfast unity install` in {}, then open the project in Unity, or bring its window to the front if it is open.",
                folder(project)
            );
        }
        (Cause::ProjectUnknown, Agent) => {
            return format!(
                "Ask the user to start the AI client in the folder of the Unity project, or to run {} and to restart the client. \
                 Neither to open Unity nor to wait helps before that.",
                self::setup(&to.client, None)
            );
        }
        (Cause::ProjectUnknown, Person) => {
            "Run this in the folder of the Unity project, or name that folder, as in `holdfast call TOOL --project DIR`."
        }
        (Cause::Connecting, Agent) => "Check with holdfast_status whether the editor is starting, then call again.",
        (Cause::Connecting, Person) => "Run `holdfast doctor`, which says what it finds, then try again.",
        (Cause::Reloading | Cause::Starting, Agent) => "Call holdfast_wait_ready, then make the same call again.",
        (Cause::Reloading | Cause::Starting, Person) => "Try again when Unity is ready, or wait longer with --timeout.",
        (Cause::Compiling, Agent) => {
            "Call holdfast_wait_ready, then make the same call again. If Unity does not get ready, look at the compile errors in its \
             console."
        }
        (Cause::Compiling, Person) => {
            "Try again when Unity is ready, or wait longer with --timeout. If it does not get ready, look at the compile errors in its \
             console."
        }
        (Cause::BridgeStopped, Agent) => {
            "Call holdfast_wait_ready, then make the same call again. If Unity does not get ready, ask the user to look at the \
             bridge's window in Unity."
        }
        (Cause::BridgeStopped, Person) => {
            "Try again when Unity is ready. If it does not get ready, look at the bridge's window in Unity."
        }
        (Cause::Displaced, Agent) => {
            "Ask the user to end the other client of this editor: the package's own server, or another AI client with its own holdfast. \
             Several clients share one editor with `holdfast serve --hub start`. Then make the same call again."
        }
        (Cause::Displaced, Person) => {
            "End the other client of this editor: the package's own server, or an AI client with its own holdfast. Several share one \
             editor with `holdfast serve --hub start`. Then try again."
        }
        (Cause::Lost, Agent) => "Check with holdfast_status, then call again.",
        (Cause::Lost | Cause::Listing, Person) => "Run `holdfast doctor`, which says what it finds, then try again.",
        (Cause::Crashed | Cause::ProcessGone, Agent) => {
            "Ask the user to start Unity again; the same call works as soon as it runs. No restart of the AI client is needed."
        }
        (Cause::Crashed | Cause::ProcessGone, Person) => "Start Unity again, then try again.",
        (Cause::Closed, Agent) => {
            "Ask the user to open the project in Unity (or to switch the bridge on); the same call works then."
        }
        (Cause::Closed, Person) => "Open the project in Unity (or switch the bridge on), then try again.",
        (Cause::NotRunning, Agent) => {
            "Ask the user to open the project in Unity; the same call works then. holdfast_status says where holdfast looked."
        }
        (Cause::NotRunning, Person) => {
            "Open the project in Unity, then try again. `holdfast doctor` says where holdfast looked."
        }
        (Cause::BridgeDown, Agent) => {
            "If Unity is compiling or reloading, call holdfast_wait_ready, then make the same call again. If not, ask the user to look at \
             Unity: at compile errors (in Safe Mode no package runs), and at the package's window, if it has one (server stopped, or another \
             port)."
        }
        (Cause::BridgeDown, Person) => {
            "If Unity is compiling or reloading, try again, or wait longer with --timeout. If not, look at Unity: at compile errors \
             (in Safe Mode no package runs), and at the package's window, if it has one (server stopped, or another port)."
        }
        (Cause::WrongPeer, Agent) => {
            "Another program uses the port. Ask the user to run `holdfast doctor`, which names it, and to set the right port."
        }
        (Cause::WrongPeer, Person) => {
            "Another program uses the port. Run `holdfast doctor`, which names it, and set the right port."
        }
        (Cause::WrongProject, Agent) => {
            return format!(
                "Ask the user to open this project in Unity or, if another one is meant, to run {}.",
                self::setup(&to.client, None)
            );
        }
        (Cause::WrongProject, Person) => {
            "Open this project in Unity, or name the one that is meant: `holdfast call TOOL --project DIR`."
        }
        (Cause::Unproven, Agent) => {
            return format!("Ask the user to run {}; holdfast_status lists what was found.", setup());
        }
        (Cause::Unproven, Person) => {
            "Name the project, `holdfast call TOOL --project DIR`, or the port, `holdfast call TOOL --port PORT`; `holdfast doctor` \
             lists what was found."
        }
        (Cause::NoDescriptors, _) => {
            "Raise the limit on open files (ulimit -n) of the program that starts holdfast, or let it close some; the same call \
             works as soon as there are descriptors."
        }
        (Cause::Forbidden, Agent) => {
            "Ask the user to start holdfast outside the sandbox, or to let the sandbox use the network of this machine (127.0.0.1). \
             On Windows the port may be a reserved one: `netsh int ipv4 show excludedportrange tcp` lists those."
        }
        (Cause::Forbidden, Person) => {
            "Start holdfast outside the sandbox, or let the sandbox use the network of this machine (127.0.0.1). On Windows the port \
             may be a reserved one: `netsh int ipv4 show excludedportrange tcp` lists those."
        }
        // Without a project, several projects fit. With one, it has several packages.
        (Cause::Ambiguous, Agent) if project.is_none() => {
            return format!(
                "Ask the user which one is meant: {} binds this client to it. holdfast_status lists them.",
                setup()
            );
        }
        (Cause::Ambiguous, Person) if project.is_none() => {
            "Name the one that is meant: `holdfast call TOOL --project DIR`. `holdfast doctor` lists them."
        }
        (Cause::Ambiguous, Agent) => {
            "Ask the user to remove the package that is not used, in Unity's Package Manager. holdfast_status lists them."
        }
        (Cause::Ambiguous, Person) => {
            "Remove the package that is not used, or name the other one: `holdfast call TOOL --dialect NAME`. `holdfast doctor` lists \
             them."
        }
        (Cause::ProjectUnsettled | Cause::Listing, Agent) => {
            "Check with holdfast_status, then make the same call again."
        }
        (Cause::ProjectChanged, Agent) => {
            "If it is meant for the project that holdfast_status names now, make the same call again."
        }
        (Cause::Busy, Agent) => "Wait for that call (holdfast_result tells its state), then make the same call again.",
        (Cause::Blocked, Agent) => {
            "If holdfast_status names a dialog, ask the user to answer it in Unity's window; then make the same call again."
        }
        (Cause::Blocked, Person) => "If a dialog is open in Unity's window, answer it, then try again.",
        (Cause::BadArguments, _) => "Make the call again with the arguments that the tool has.",
        (Cause::Stalled, Agent) => "Ask the user to look at the Unity window, then make the same call again.",
        (Cause::Stalled, Person) => "Look at the Unity window, then try again.",
        (Cause::UnknownTool, Agent) => "List the tools again and use one of those names.",
        (Cause::UnknownTool, Person) => "`holdfast tools` lists the names.",
        (Cause::TooLarge, _) => {
            "Send less at once, for example by writing the content to a file in the project and passing its path."
        }
        (Cause::Policy, Agent) => {
            "That is the user's decision: do not look for a way around it, and do not repeat the call. Use another tool, or ask the \
             user to change the rule."
        }
        (Cause::Policy, Person) => "To allow it, change that rule.",
        (Cause::Audit, Agent) => {
            "Ask the user to make the audit file writable (holdfast_status names it), or to switch the audit off; the same call works \
             then."
        }
        (Cause::Audit, Person) => "Make the audit file writable, or switch the audit off, then try again.",
        (Cause::Unrecorded, Agent) => {
            "Ask the user to make room on the disk, or to let that file be written; the same call works then."
        }
        (Cause::Unrecorded, Person) => "Make room on the disk, or let that file be written, then try again.",
        (Cause::Gateway, Agent) => {
            "Make the same call again in half a minute. If this comes again, ask the user to report it: `holdfast report`."
        }
        (Cause::Gateway, Person) => {
            "Try again in half a minute. If this comes again, please report it: `holdfast report`."
        }
        (Cause::ClientAway, Agent) => "Make the same call again if it is still wanted.",
        (Cause::Overload, Agent) => "Wait for some of them to be answered, then make the same call again.",
        (Cause::ShuttingDown, Agent) => "Call again in a new session.",
        (
            Cause::ProjectUnsettled
            | Cause::ProjectChanged
            | Cause::Busy
            | Cause::ClientAway
            | Cause::Overload
            | Cause::ShuttingDown,
            Person,
        ) => "Try again.",
    };
    text.to_owned()
}

/// The command that binds this client to a project.
fn setup(client: &ClientTraits, project: Option<&Path>) -> String {
    let word = if client.by_command { client.name.replace('_', "-") } else { "CLIENT".to_owned() };
    let (dir, which) = match project {
        Some(project) => (clean(&quoted(project)), ""),
        None => ("DIR".to_owned(), " (DIR: the folder of the Unity project)"),
    };
    format!("`holdfast setup {word} --project {dir}`{which}")
}

fn folder(project: Option<&Path>) -> String {
    project.map_or_else(|| "the project's folder".to_owned(), |project| clean(&quoted(project)))
}
