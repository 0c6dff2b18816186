//! uMCP, v0.1 to v0.26.4, the predecessor of uLoopMCP: JSON-RPC over TCP, one message a line.
//!
//! Tools, schemas, errors and project files are those of uLoopMCP; this module has the lines, the method names and the ids. Two
//! facts of the package's C# code limit what may be sent. The code reads up to 4096 bytes at a time and decodes each piece by
//! itself, so a multi-byte character on the boundary is lost: holdfast sends only ASCII. If a message spans two pieces and the
//! cut falls between two tokens (before v0.8 at any cut), the code takes the first piece for the complete message. The remainder
//! then spoils every later message of the connection. So holdfast never sends a message that is longer than one piece.
//! `tests/vectors/umcp/` holds the literal bytes with their provenance.

mod wire;

#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

use super::uloop::ROLES;
use super::uloop::project::Era;
use super::uloop::{call, project};
use super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Hello, Inbound,
    ListStep, Order, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent, Reply, Secret,
    Sending, Shape, WireId,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, UMCP_REQUEST_MAX_BYTES};
use crate::protocol::framing::Framer;
use crate::protocol::framing::lines::Lines;

/// The package's port since v0.19, and the one before v0.19. Then, for each of the two, the other ports that the package's own
/// server tried: +100 to +400 and -100.
const DEFAULT_PORTS: &[u16] = &[8700, 7400, 8800, 8900, 9000, 9100, 8600, 7500, 7600, 7700, 7800, 7300];

static PROPERTIES: Properties = Properties {
    window: 1,
    push: false,
    heartbeat: false,
    request_max_bytes: UMCP_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: DEFAULT_PORTS,
    reads_unity_port: false,
    shape: Shape::Stream,
    roles: ROLES,
    listed_first: &[],
};

/// The dialect of uMCP v0.1 to v0.26.4.
#[derive(Debug, Clone, Copy, Default)]
pub struct Umcp;

impl Dialect for Umcp {
    fn name(&self) -> &'static str {
        "umcp"
    }

    fn title(&self) -> &'static str {
        "uMCP"
    }

    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        project::FILES
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        project::read(files, Era::Lines)
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn moves_up(&self) -> u16 {
        project::MOVES_UP
    }

    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        said.starts_with(b"{\"jsonrpc\":")
            .then_some("a server that speaks JSON-RPC in lines (uMCP before v0.27 does: --dialect umcp)")
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

    fn read_unnamed(&self, frame: &[u8]) -> Option<Reply> {
        wire::read_unnamed(frame)
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(said)
    }

    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        wire::read_tools(reply, step)
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

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        call::read_answer(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("this editor's protocol has no push channel"))
    }
}
