//! MCP for Unity by CoplayDev, 8.0 to 10.3, in its stdio mode: JSON in frames over TCP, and replies without an id. [`http`] is its other
//! mode, in which the editor connects to us. The commands and their results are the same.
//!
//! The editor listens, and a file in the user's home says where. It serves one client: each that connects closes all others, so nothing
//! is probed by connecting. A connection reads a command, waits for its end, writes the reply, and reads the next one. So one command is
//! on its way at a time, and a reply belongs to it. After the package's time limit the editor answers with an error, and the command
//! goes on all the same. `tests/vectors/coplay/` holds literal messages, observed with the package's own C# code.

mod answer;
mod arguments;
mod catalogue;
mod form;
mod framer;
pub mod http;
mod project;
mod tools;
mod wire;
mod within;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use self::project::Mode;

use super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Heartbeat, Hello,
    Inbound, ListStep, Order, OwnServer, PackageResource, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles,
    Properties, PushEvent, Reply, Roles, Secret, Sending, Shape, ToolListing, Turn, UnreadableCalls, UserFile, WireId,
};
use crate::limits::COPLAY_REQUEST_MAX_BYTES;
use crate::protocol::framing::Framer;

/// The purposes of the package's tools.
const ROLES: Roles = Roles {
    compile: &[],
    console: &["read_console"],
    play_mode: &["manage_editor"],
    code: &["execute_code"],
    editor_state: &[],
    menu_item: &["execute_menu_item"],
};
/// The groups and tools that are listed first.
const LISTED_FIRST: &[&str] = &["core", "run_tests", "get_test_job"];

static PROPERTIES: Properties = Properties {
    window: 1,
    push: false,
    // A ping waits behind the command that runs.
    heartbeat: false,
    request_max_bytes: COPLAY_REQUEST_MAX_BYTES,
    sends_all_arguments: false,
    one_client: true,
    // Only the file in the user's home names the port.
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Stream,
    roles: ROLES,
    listed_first: LISTED_FIRST,
};

/// The dialect of MCP for Unity in stdio mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coplay;

impl Dialect for Coplay {
    fn name(&self) -> &'static str {
        "coplay"
    }

    fn title(&self) -> &'static str {
        "MCP for Unity (CoplayDev)"
    }

    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn user_file(&self, project: &str) -> Option<UserFile> {
        Some(project::status_file(project))
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        project::read(files, Mode::Stdio)
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        said.starts_with(framer::WELCOME.as_bytes()).then_some("the bridge of MCP for Unity (--dialect coplay)")
    }

    fn connects_by(&self) -> Option<&'static str> {
        Some(
            "if Unity is open, look into the window of MCP for Unity (Window > MCP for Unity) and start its session there",
        )
    }

    /// Source: the entries that the package's window writes into the clients' configurations. The last folder is that of versions before 9.
    fn own_server(&self) -> Option<&'static OwnServer> {
        const SERVER: OwnServer = OwnServer {
            of: "MCP for Unity (CoplayDev)",
            npm: &[],
            files: &["mcp-for-unity", "mcp-for-unity.exe", "unitymcpserver/src"],
            within: &[],
            then: None,
            urls: &["127.0.0.1:8080/mcp", "localhost:8080/mcp"],
        };
        Some(&SERVER)
    }

    fn framer(&self) -> Box<dyn Framer> {
        Box::new(framer::Frames::default())
    }

    fn encode(&self, _id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        wire::encode(order).map(Encoded::Frame)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        Ok(Inbound::Next(answer::read_reply(frame)))
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(said)
    }

    fn asks_main_thread_here(&self) -> bool {
        true
    }

    fn has_main_thread_question(&self) -> bool {
        true
    }

    fn main_thread_question(&self, _id: WireId) -> Option<Encoded> {
        Some(Encoded::Frame(wire::main_thread_question()))
    }

    fn read_main_thread(&self, reply: &Reply) -> Option<Heartbeat> {
        answer::read_main_thread(reply)
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        tools::read(reply)
    }

    fn stated_tools(&self) -> Option<ToolListing> {
        Some(tools::stated())
    }

    fn turn(&self, tool: &EditorTool) -> Turn {
        if PROPERTIES.lists_first(tool) { Turn::First } else { tools::turn(tool) }
    }

    fn prepare_call(
        &self,
        _sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        answer::prepare(name, tool, arguments)
    }

    fn resources(&self) -> &'static [PackageResource] {
        catalogue::resources()
    }

    fn tools_within(&self, tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        within::tools(tool, arguments)
    }

    fn gives_up(&self, reply: &Reply) -> bool {
        answer::gives_up(reply)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read_answer(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package pushes nothing"))
    }
}
