//! Our own package, `dev.holdfast.unity`, protocol 1: JSON-RPC in Content-Length frames over TCP, as `unity/PROTOCOL.md` says.
//!
//! Both sides prove that they know the token in the editor's instance file before anything else is said. The editor keeps a
//! journal of calls over domain reloads and tells what became of each; it answers questions about itself off its main thread,
//! reports progress, takes cancels, and runs tools side by side that allow it. `tests/vectors/holdfast/` holds literal messages,
//! which the package's tests read too.

mod answer;
mod greeting;
mod journal;
mod order;
mod project;
mod push;
mod tools;

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorTool, EncodeError, Greeted, Heartbeat, Hello,
    Inbound, JournalKey, JournalOutcome, ListStep, Order, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles,
    Properties, PushEvent, Recovery, Reply, Secret, Sending, Transport, WireId,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, HOLDFAST_REQUEST_MAX_BYTES, HOLDFAST_WINDOW, TOOL_TIMEOUT_MAX};
use crate::protocol::framing::Framer;
use crate::protocol::framing::content_length::ContentLength;

static PROPERTIES: Properties = Properties {
    window: HOLDFAST_WINDOW,
    push: true,
    heartbeat: true,
    request_max_bytes: HOLDFAST_REQUEST_MAX_BYTES,
    // Without the instance file there is no token, and nobody to talk to.
    default_ports: &[],
    transport: Transport::Stream,
};

/// The dialect of our own package.
#[derive(Debug, Clone, Copy, Default)]
pub struct Holdfast;

impl Dialect for Holdfast {
    fn name(&self) -> &'static str {
        "holdfast"
    }

    fn title(&self) -> &'static str {
        "Holdfast for Unity"
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
        Some(true)
    }

    fn framer(&self) -> Box<dyn Framer> {
        Box::new(ContentLength::new(EDITOR_MESSAGE_MAX_BYTES))
    }

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
        order::encode(id, order)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        answer::decode(frame)
    }

    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        greeting::check(hello, said)
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        tools::read(reply)
    }

    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        _name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        prepare(sending, tool, arguments)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        journal::read(reply, asked)
    }

    fn read_heartbeat(&self, reply: &Reply) -> Option<Heartbeat> {
        answer::read_heartbeat(reply)
    }

    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage> {
        push::decode(line, token)
    }

    fn push_sequence(&self, line: &[u8]) -> Option<u64> {
        push::sequence(line)
    }
}

/// The first sending bears the call's own id; a later one, of which the journal knows that the former never ran, another, since
/// the former is sealed.
fn prepare(sending: &Sending<'_>, tool: Option<&EditorTool>, arguments: &RawValue) -> PreparedCall {
    let Sending { call, nth, seq, journal, .. } = *sending;
    let id = if nth <= 1 { call.to_string() } else { format!("{call}.{nth}") };
    let given = super::arguments::given_timeout(arguments);
    let timeout = given.or_else(|| super::arguments::default_timeout(tool));
    // What outlives a reload has no use for a default that was made for waiting: its answer is kept, whenever it comes.
    let unlimited = given.is_none() && tool.is_some_and(|tool| tool.resumable);
    PreparedCall {
        arguments: arguments.to_owned(),
        recovery: match journal {
            Some(journal) => Recovery::Journal(JournalKey { journal: journal.to_owned(), id, seq }),
            None => Recovery::None,
        },
        timeout: if unlimited { None } else { timeout },
        limit: unlimited.then_some(LIMIT),
        reload_follows: false,
        trace: None,
    }
}

/// The longest that the editor takes.
const LIMIT: Duration = TOOL_TIMEOUT_MAX;
