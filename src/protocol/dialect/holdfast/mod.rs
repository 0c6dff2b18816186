//! Our own package, `dev.holdfast.unity`, protocol 2: JSON-RPC in Content-Length frames over TCP. Source: `unity/Documentation~/protocol.md`.
//!
//! Before anything else, both sides prove that they know the token in the editor's instance file. The editor keeps a journal of
//! calls across domain reloads and reports the outcome of each. It answers status questions while its main thread is busy,
//! reports progress, and accepts cancels. Tools that allow it run in parallel. `tests/vectors/holdfast/` holds literal messages;
//! the package's own tests read them too.

mod answer;
mod batch;
mod greeting;
mod journal;
mod order;
mod project;
mod push;
mod tools;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Greeted, Heartbeat,
    Hello, Inbound, JournalKey, JournalOutcome, ListStep, Order, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles,
    Properties, PushEvent, Recovery, Reply, Roles, Secret, Sending, Shape, WireId,
};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, HOLDFAST_REQUEST_MAX_BYTES, HOLDFAST_WINDOW, TOOL_TIMEOUT_MAX};
use crate::protocol::framing::Framer;
use crate::protocol::framing::content_length::ContentLength;

pub use batch::UnreadableCalls;

static PROPERTIES: Properties = Properties {
    window: HOLDFAST_WINDOW,
    push: true,
    heartbeat: true,
    request_max_bytes: HOLDFAST_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    // No default port: without the instance file there is no token, so no editor can be greeted.
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Stream,
    // Source: `unity/Core/Tools/BuiltIn/CompileTool.cs`, `ConsoleTools.cs`.
    roles: Roles {
        compile: &["compile"],
        console: &["get-logs"],
        play_mode: &["play-mode"],
        code: &["execute-csharp"],
        editor_state: &["editor-state"],
        menu_item: &["execute-menu-item"],
    },
    // `unity/Core/Tools/ToolGroups.cs`. The other groups and the project's own tools follow in the editor's order.
    listed_first: &["Editor", "Scenes", "Scripts"],
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

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        order::encode(id, order).map(Encoded::Frame)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        answer::decode(frame)
    }

    fn read_unnamed(&self, frame: &[u8]) -> Option<Reply> {
        answer::read_unnamed(frame)
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

    fn tools_within(&self, tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        if tool == batch::TOOL { batch::tools(arguments) } else { Ok(Vec::new()) }
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        journal::read(&reply, asked)
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

/// Prepares a call. The first attempt to send it uses the call's id. Later attempts append `.N`, because the journal refuses an
/// id that it knows or has sealed.
fn prepare(sending: &Sending<'_>, tool: Option<&EditorTool>, arguments: &RawValue) -> PreparedCall {
    let Sending { call, nth, seq, journal, .. } = *sending;
    let id = if nth <= 1 { call.to_string() } else { format!("{call}.{nth}") };
    let given = super::arguments::given_timeout(arguments);
    let own = tool.and_then(|tool| tool.timeout_seconds).filter(|seconds| *seconds > 0);
    let timeout = given.or_else(|| own.map(|seconds| Duration::from_secs(seconds.into()).min(LIMIT)));
    // A resumable tool survives a reload, and the editor keeps its answer. So the tool's default limit does not apply: it is
    // meant for a caller that waits.
    let unlimited = given.is_none() && tool.is_some_and(|tool| tool.resumable);
    PreparedCall {
        recovery: match journal {
            Some(journal) => Recovery::Journal(JournalKey { journal: journal.to_owned(), id, seq }),
            None => Recovery::None,
        },
        timeout: if unlimited { None } else { timeout },
        limit: unlimited.then_some(LIMIT),
        ..PreparedCall::as_given(arguments)
    }
}

/// The longest time limit that the editor accepts.
const LIMIT: Duration = TOOL_TIMEOUT_MAX;
