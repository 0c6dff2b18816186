//! HTTP mode, the default of the package: the editor connects to a WebSocket at `/hub/plugin` of a port of ours, says which project it
//! has open, and runs one command after the other. Each command has an id, and a reply under it; that tells late replies apart, and
//! lets nothing run at the same time.
//!
//! While a command runs, the editor reads nothing else, and it says by itself that it is alive. It says so also while its main thread
//! stands still. A reload ends the connection without a word, and the editor connects again after it. `tests/vectors/coplay-http/` holds
//! literal messages.

mod port;
mod reception;
mod wire;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::value::RawValue;

use self::reception::{Hub, KEEP_ALIVE};
use super::super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint, Greeted, Heartbeat,
    Hello, Inbound, ListStep, Order, PackageResource, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles,
    Properties, PushEvent, Reception, Reply, Secret, Sending, Shape, ToolListing, Turn, UnreadableCalls, UserFile,
    WireId,
};
use super::project::Mode;
use super::{LISTED_FIRST, ROLES, answer, catalogue, project, tools, within};
use crate::limits::EDITOR_MESSAGE_MAX_BYTES;
use crate::protocol::framing::Framer;
use crate::protocol::framing::websocket::WebSocket;

/// The port of the package's own server, to which the editor connects unless its user names another one.
const PORT: u16 = 8080;

static PROPERTIES: Properties = Properties {
    // The editor reads nothing while a command runs.
    window: 1,
    push: false,
    // It says by itself that it is alive, and answers no question while a command runs.
    heartbeat: false,
    request_max_bytes: EDITOR_MESSAGE_MAX_BYTES,
    sends_all_arguments: false,
    one_client: false,
    default_ports: &[PORT],
    reads_unity_port: false,
    shape: Shape::Stream,
    roles: ROLES,
    listed_first: LISTED_FIRST,
};

/// The dialect of MCP for Unity in HTTP mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoplayHttp;

impl Dialect for CoplayHttp {
    fn name(&self) -> &'static str {
        "coplay-http"
    }

    fn title(&self) -> &'static str {
        "MCP for Unity by CoplayDev, in its HTTP mode"
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
        project::read(files, Mode::Http)
    }

    fn endpoint(&self, port: u16, _facts: &ProjectFacts) -> Endpoint {
        Endpoint::Arrival(port)
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn reception(&self) -> Option<Box<dyn Reception>> {
        Some(Box::new(Hub::default()))
    }

    fn frees_port(&self, command_line: &[String]) -> &'static str {
        port::frees(command_line)
    }

    fn connects_by(&self) -> Option<&'static str> {
        Some(
            "it tries when its project is opened, and for 49 s after a reload, and then gives up. If Unity is open, press Connect in the \
             window of MCP for Unity (Window > MCP for Unity)",
        )
    }

    fn framer(&self) -> Box<dyn Framer> {
        Box::new(WebSocket::new(EDITOR_MESSAGE_MAX_BYTES))
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

    fn asks_main_thread_here(&self) -> bool {
        true
    }

    fn has_main_thread_question(&self) -> bool {
        true
    }

    fn main_thread_question(&self, id: WireId) -> Option<Encoded> {
        wire::main_thread_question(id).map(Encoded::Frame)
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

    fn resources(&self) -> &'static [PackageResource] {
        catalogue::resources()
    }

    fn tools_within(&self, tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        within::tools(tool, arguments)
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

    fn gives_up(&self, reply: &Reply) -> bool {
        wire::is_given_up(reply)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read_answer(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn alive_every(&self) -> Option<Duration> {
        Some(KEEP_ALIVE)
    }

    fn is_alive_always(&self) -> bool {
        true
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package pushes nothing"))
    }
}
