//! turbokettle/unity-mcp 1.0.0: JSON lines over TCP, with the port in `Library/MCPInstance.json`.
//!
//! The editor is the server, on IPv4 loopback, with a new port after every reload. Two threads serve a connection: Unity's main
//! thread, and the connection's own thread. The latter answers `ping` and `list_tools` and runs, one after another, the tools
//! that do not need the main thread. Neither side identifies itself, nothing is announced, and nothing can be cancelled. A tool
//! that returns nothing at all never gets a reply. Sources: the package's code, and its own server run against a model editor.
//! `tests/vectors/turbokettle/` holds the literal bytes with their provenance.

mod call;
mod project;
mod schema;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Hello, Inbound,
    ListStep, Order, OwnServer, PackageTool, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties,
    PushEvent, Reply, Roles, Secret, Sending, Shape, WireId,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, TURBOKETTLE_REQUEST_MAX_BYTES, TURBOKETTLE_WINDOW};
use crate::protocol::framing::Framer;
use crate::protocol::framing::lines::Lines;

static PROPERTIES: Properties = Properties {
    window: TURBOKETTLE_WINDOW,
    push: false,
    // A ping waits behind a tool that runs on the connection's own thread. If holdfast took that silence for the editor's end, it
    // would cut the connection of a slow tool and lose the outcome.
    heartbeat: false,
    request_max_bytes: TURBOKETTLE_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    // The system chooses the port; only the instance file names it.
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Stream,
    // The only tool of the three that reads the console; none compiles.
    roles: Roles {
        console: &["read_console_logs"],
        editor_state: &["get_project_info"],
        menu_item: &["execute_menu_item"],
        ..Roles::NONE
    },
    listed_first: &[],
};

/// The dialect of turbokettle/unity-mcp.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turbokettle;

impl Dialect for Turbokettle {
    fn name(&self) -> &'static str {
        "turbokettle"
    }

    fn title(&self) -> &'static str {
        "turbokettle/unity-mcp"
    }

    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        project::read(files)
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        said.starts_with(b"{\"id\":\"unknown\",\"ok\":false")
            .then_some("the bridge of turbokettle/unity-mcp (--dialect turbokettle)")
    }

    /// Source: the package's README and `Server~/package.json`.
    fn own_server(&self) -> Option<&'static OwnServer> {
        const SERVER: OwnServer = OwnServer {
            of: "turbokettle/unity-mcp",
            npm: &["@turbokettle/unity-mcp"],
            files: &["server~/dist/index.js", "unity-mcp", "unity-mcp.cmd"],
            within: &[],
            then: None,
            urls: &[],
        };
        Some(&SERVER)
    }

    fn framer(&self) -> Box<dyn Framer> {
        Box::new(Lines::new(EDITOR_MESSAGE_MAX_BYTES))
    }

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        wire::encode(id, order).map(Encoded::Frame)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        wire::decode(frame)
    }

    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(hello, said)
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        tools::read(reply)
    }

    fn prepare_call(
        &self,
        _sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        call::prepare(name, tool, arguments)
    }

    fn package_tool(&self, name: &str) -> Option<PackageTool> {
        (name == tools::WAIT_READY).then_some(PackageTool::WaitReady)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        call::read_answer(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package has no push messages"))
    }
}
