//! Protocol versions, and `initialize`: the choice of the version, and the description of this server.

use serde::Serialize;
use serde_json::{Value, json};

use crate::limits::INSTRUCTIONS_MAX_BYTES;

use crate::protocol::text::cut;

/// A protocol version, oldest first. Source: the specification's changelog pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
pub enum ProtocolVersion {
    /// The first release.
    #[strum(serialize = "2024-11-05")]
    V2024_11_05,
    /// Added tool annotations, audio content, JSON-RPC batches and the message of a progress notification.
    #[strum(serialize = "2025-03-26")]
    V2025_03_26,
    /// Added structured results, titles and resource links; removed batches.
    #[strum(serialize = "2025-06-18")]
    V2025_06_18,
    /// Made bad argument values an error of the tool instead of the protocol.
    #[strum(serialize = "2025-11-25")]
    V2025_11_25,
    /// Removed the handshake: each request names its version. Any JSON value may be a structured result.
    #[strum(serialize = "2026-07-28")]
    V2026_07_28,
}

impl ProtocolVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::STATELESS];
    /// The versions that open with `initialize`, oldest first.
    pub const HANDSHAKE: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];
    /// The version without a handshake.
    pub const STATELESS: Self = Self::V2026_07_28;
    /// The newest version with a handshake: the answer to a client that asks for an unknown version.
    pub const LATEST: Self = Self::V2025_11_25;

    /// The version as it is written on the wire.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// The version with exactly this label.
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.label() == label)
    }

    /// Returns the version that `initialize` answers: the requested one if it is known, otherwise [`LATEST`](Self::LATEST). The
    /// client then decides whether to continue. A version without a handshake (2026-07-28) is never the answer to `initialize`.
    pub fn negotiate(requested: &str) -> Self {
        Self::from_label(requested).filter(|version| !version.is_stateless()).unwrap_or(Self::LATEST)
    }

    /// Whether each request names its version and its client.
    pub fn is_stateless(self) -> bool {
        self >= Self::STATELESS
    }

    /// Whether tools may have annotations.
    pub fn annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether results may have audio blocks.
    pub fn audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether a progress notification may have a message.
    pub fn progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether tools and the server may have a title.
    pub fn title(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether results may have `structuredContent`. Before [`STATELESS`](Self::STATELESS) the value must be an object.
    pub fn structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether results may have `resource_link` blocks.
    pub fn resource_link(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether JSON-RPC batches are allowed: in this version alone.
    pub fn batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

/// Facts about this server that its answers contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerInfo<'a> {
    /// The version of this program.
    pub version: &'a str,
}

/// Returns the instructions for the client's model: at most [`INSTRUCTIONS_MAX_BYTES`] bytes, the most important first,
/// because clients cut long instructions. They are short while no project is known: if a client is set up for all its
/// projects, most of its sessions have nothing to do with Unity. A client that `defers_tools` shows its model a tool only after
/// the model has searched for it, so its first paragraph says what to search for.
pub fn instructions(is_project_known: bool, defers_tools: bool) -> String {
    let text = if is_project_known { INSTRUCTIONS } else { NEUTRAL_INSTRUCTIONS };
    if defers_tools { text.replacen("\n\n", &format!(" {SEARCHED}\n\n"), 1) } else { text.to_owned() }
}

/// What to search for: words of the names and descriptions of the packages' tools.
const SEARCHED: &str = "\
Search the tools of holdfast for: compile, run-tests, console logs, scene, hierarchy, GameObject, component, prefab, asset, \
screenshot, play mode, menu item, execute code; holdfast_status and holdfast_tools by name.";

const NEUTRAL_INSTRUCTIONS: &str = "\
If a Unity project is open here, these are the tools of its running Unity Editor: use them for any work on it. None is known yet; \
without one, leave these tools alone. holdfast_status tells which project is used, and what helps if it should be another one.

A call made while Unity reloads is held, and none is run twice. An answer that is not the tool's own says whether the call ran, and \
what to do: \"not executed\" (nothing reached Unity), \"outcome unknown\" (it may have run: check before you repeat it), \"still \
running\" (do not call again; fetch the result with holdfast_result).";

const INSTRUCTIONS: &str = "\
Tools of a running Unity Editor: compile, run tests, read the console, inspect and change the scene. Use them for any work on \
the open Unity project.

Unity reloads its script domain after a compile and when play mode changes, and is then away for seconds. You need not wait or \
reconnect: a call made meanwhile is held and sent when Unity is back, and is never run twice unless its tool declares that harmless.

An answer that is not the tool's own says one of these:
- \"not executed\": nothing reached Unity. The text says whether the same call can succeed later (call holdfast_wait_ready, then \
repeat it) or what to change first.
- \"outcome unknown\": the call was sent and the connection ended before its answer. It may have run. Look at the state it would \
have changed (scene, files, console) before you repeat it.
- \"still running\": Unity is still working on it. Do not call again; fetch the result with holdfast_result and the call id from \
the text.

These tools work without Unity:
- holdfast_status: is Unity connected, which project, and if not, why and what helps.
- holdfast_wait_ready: waits until Unity can take calls. Use it in place of repeated attempts.
- holdfast_result: the result of a call that was answered \"still running\" or lost its connection.
- holdfast_calls: the recent calls and how each ended.
- holdfast_editors: which Unity Editors run, and the name by which a call says which one it means.
- holdfast_tools: finds and calls tools that are not listed. Look there before you say that Unity lacks a tool.

The list of tools comes from Unity and can change after a compile. When Unity does not answer for long, it is mostly busy \
(import, compile) or shows a dialog that a person must answer: report that to the user with the text of holdfast_status.";

/// The result of `initialize`: JSON on one line. Instructions longer than [`INSTRUCTIONS_MAX_BYTES`] are cut at a character
/// boundary. `list_changed`: whether the client is told when the tools or the resources change.
pub fn initialize_result(
    version: ProtocolVersion,
    server: &ServerInfo<'_>,
    instructions: &str,
    list_changed: bool,
) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        protocol_version: &'a str,
        capabilities: Value,
        server_info: Info<'a>,
        #[serde(skip_serializing_if = "str::is_empty")]
        instructions: &'a str,
    }
    #[derive(Serialize)]
    struct Info<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        version: &'a str,
    }
    let answer = Answer {
        protocol_version: version.label(),
        capabilities: capabilities(list_changed),
        server_info: Info {
            name: "holdfast",
            title: version.title().then_some("Holdfast for Unity"),
            version: server.version,
        },
        instructions: cut(instructions, INSTRUCTIONS_MAX_BYTES),
    };
    serde_json::to_string(&answer).unwrap_or_default()
}

/// What this server offers, in both eras.
pub(super) fn capabilities(list_changed: bool) -> Value {
    let list = if list_changed { json!({"listChanged": true}) } else { json!({}) };
    json!({"tools": list, "resources": list, "prompts": {}})
}
