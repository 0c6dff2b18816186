//! Unity CLI Loop 3.0 to 3.3, the successor of uLoopMCP: JSON-RPC in Content-Length frames over a local socket or a named pipe.
//!
//! The name of the socket follows from the project's path, so nothing has to be found. The editor runs one tool at a time for all its
//! clients, and refuses another one at once. It confirms a request before it looks at it: that is no sign that the tool has begun.
//! From then on the end of the connection cancels the tool, except a compile and some test runs, whose results the editor keeps under
//! an id of ours over a reload. So one stream carries all requests: a connection that ended after each call would resume a paused play
//! mode each time. `tests/vectors/unity-cli-loop/` holds literal messages, read in the package's sources. Nothing here was tried with a
//! real editor.

mod call;
mod errors;
mod project;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::value::RawValue;

pub(super) use self::project::{SIGN, is_third};
use super::{
    BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Heartbeat,
    Hello, Inbound, JournalKey, JournalOutcome, ListStep, LocalSocket, Order, PreparedCall, ProjectFacts, ProjectFile,
    ProjectFiles, Properties, PushEvent, Reply, Roles, Secret, Sending, Shape, ToolListing, Turn, WireId, rpc,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, ULOOP_REQUEST_MAX_BYTES};
use crate::protocol::framing::Framer;
use crate::protocol::framing::content_length::ContentLength;

static PROPERTIES: Properties = Properties {
    // The editor reads nothing while a request runs, and refuses a second tool.
    window: 1,
    push: false,
    // While a call runs, the editor sends its heartbeat by itself. It answers no question then.
    heartbeat: false,
    request_max_bytes: ULOOP_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Stream,
    roles: Roles {
        compile: &["compile"],
        console: &["get-logs"],
        play_mode: &["control-play-mode"],
        code: &["execute-dynamic-code"],
        editor_state: &[],
        menu_item: &[],
    },
    listed_first: &[],
};

/// The dialect of Unity CLI Loop 3.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnityCliLoop;

impl Dialect for UnityCliLoop {
    fn name(&self) -> &'static str {
        "unity-cli-loop"
    }

    fn title(&self) -> &'static str {
        "Unity CLI Loop 3 (formerly uLoopMCP)"
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

    fn local_socket(&self, project: &str) -> Option<LocalSocket> {
        Some(project::socket(project))
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
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

    fn read_unnamed(&self, frame: &[u8]) -> Option<Reply> {
        rpc::unnamed_error(frame, errors::read_unread)
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(said)
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        tools::read(reply)
    }

    fn list_file(&self) -> Option<&'static str> {
        Some(project::TOOLS)
    }

    fn read_list_file(&self, bytes: &[u8]) -> Option<ToolListing> {
        tools::read_file(bytes)
    }

    fn turn(&self, tool: &EditorTool) -> Turn {
        match tool.group.as_deref() {
            Some(tools::INTERACTIVE) => Turn::Apart,
            _ if PROPERTIES.lists_first(tool) => Turn::First,
            _ => Turn::Usual,
        }
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

    fn asks_outcomes_alone(&self) -> bool {
        true
    }

    fn is_empty_reply(&self, reply: &Reply) -> bool {
        matches!(reply, Reply::Result(result) if call::is_empty(result))
    }

    fn hangs_up_to_cancel(&self) -> bool {
        true
    }

    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        call::read_outcomes(reply, asked)
    }

    fn alive_every(&self) -> Option<Duration> {
        Some(wire::ALIVE_EVERY)
    }

    fn has_main_thread_question(&self) -> bool {
        true
    }

    fn main_thread_question(&self, id: WireId) -> Option<Encoded> {
        wire::main_thread_question(id).ok().map(Encoded::Frame)
    }

    fn read_main_thread(&self, reply: &Reply) -> Option<Heartbeat> {
        wire::read_main_thread(reply)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        call::read_answer(reply)
    }

    fn picture_files(&self, tool: &str, answer: &EditorAnswer) -> Vec<String> {
        call::picture_files(tool, answer)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package pushes nothing"))
    }
}
