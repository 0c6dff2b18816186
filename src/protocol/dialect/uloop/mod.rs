//! uLoopMCP, v0.27 to v2.2.0, and the push branch of its v0.30.1: JSON-RPC in Content-Length frames over TCP.
//!
//! The editor is the server, on IPv4 loopback. It handles the requests of one connection strictly in order, on Unity's main
//! thread. There is no handshake except `set-client-name`, no cancel and no batch. The push branch connects to our listener and
//! writes JSON lines to it. Sources: the package's code, and its own server run against a model editor. `tests/vectors/uloop/`
//! holds the literal bytes with their provenance.

pub(super) mod call;
pub(super) mod errors;
pub(super) mod project;
mod push;
pub(super) mod schema;
pub(super) mod tools;
pub(super) mod wire;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Hello, Inbound,
    ListStep, Order, OwnServer, PackageTool, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties,
    PushEvent, Reply, Roles, Secret, Sending, Shape, WireId,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, ULOOP_REQUEST_MAX_BYTES};
use crate::protocol::framing::Framer;
use crate::protocol::framing::content_length::ContentLength;

/// The package's port if its settings name none.
const DEFAULT_PORT: u16 = 8700;

/// The tools of all versions, also of those before v0.27, which [`umcp`](super::umcp) speaks.
pub(super) const ROLES: Roles = Roles {
    compile: &["compile"],
    console: &["get-logs", "getlogs"],
    play_mode: &["control-play-mode"],
    code: &["execute-dynamic-code"],
    editor_state: &["get-version"],
    menu_item: &["execute-menu-item"],
};

static PROPERTIES: Properties = Properties {
    window: 1,
    push: true,
    heartbeat: false,
    request_max_bytes: ULOOP_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: &[DEFAULT_PORT],
    reads_unity_port: false,
    shape: Shape::Stream,
    // Includes the names from v0.20 on and their predecessors (read in the sources of v0.19 and v2.1.1).
    roles: ROLES,
    listed_first: &[],
};

/// The dialect of uLoopMCP v0.27 to v2.2.0 and of its push branch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uloop;

impl Dialect for Uloop {
    fn name(&self) -> &'static str {
        "uloop"
    }

    fn title(&self) -> &'static str {
        "uLoopMCP (Unity CLI Loop)"
    }

    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        project::read(files, project::Era::Frames)
    }

    fn announces(&self, version: Option<&str>) -> Option<bool> {
        version.map(project::announces)
    }

    fn moves_up(&self) -> u16 {
        project::MOVES_UP
    }

    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        said.starts_with(b"Content-Length:")
            .then_some("a bridge that speaks in frames (uLoopMCP since v0.27, or holdfast's own package)")
    }

    /// Sources: McpConstants.cs and ServerBundleCopier.cs of v0.5.0 to v2.1.1 (`TypeScriptServer~/dist/server.bundle.js`,
    /// `Library/uLoopMCP/server.bundle.js`).
    fn own_server(&self) -> Option<&'static OwnServer> {
        const SERVER: OwnServer = OwnServer {
            of: "uLoopMCP (Unity CLI Loop) or uMCP",
            npm: &[],
            files: &["server.bundle.js"],
            within: &["typescriptserver", "uloopmcp", "umcp"],
            then: None,
            urls: &[],
        };
        Some(&SERVER)
    }

    fn framer(&self) -> Box<dyn Framer> {
        Box::new(ContentLength::new(EDITOR_MESSAGE_MAX_BYTES))
    }

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        wire::encode(id, order).map(Encoded::Frame)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        wire::decode(frame)
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(said)
    }

    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        tools::read(reply, step)
    }

    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        call::prepare(sending, name, tool, arguments)
    }

    fn package_tool(&self, name: &str) -> Option<PackageTool> {
        call::package_tool(name)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        call::read_answer(reply)
    }

    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply> {
        call::read_result_file(bytes)
    }

    fn decode_push(&self, line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        push::decode(line)
    }
}
