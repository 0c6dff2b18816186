//! Unity's own package (com.unity.pipeline, 0.4 to 0.8): the editor is an HTTP server on 127.0.0.1 that asks for a token.
//!
//! From 0.5 on a command can run as a job, which the gateway asks for until it has ended; before, the editor answers one request at a
//! time, each after its command. Jobs, and whatever waits in the editor, are lost with the domain, without a word. No request has an
//! id. So a request whose answer is lost may have run, and it is never sent again. What the status says is no proof of a free main
//! thread: it says "ready" while that thread stands still. Which kind of package answers is learned on the wire, because a copy of the
//! package may have any version. `tests/vectors/pipeline/` holds literal messages. Nothing here was tried with a real editor.

mod answer;
mod call;
mod errors;
mod followed;
mod jobs;
mod project;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint, Greeted,
    Heartbeat, Hello, JobProgress, JournalKey, JournalOutcome, ListStep, Order, OwnServer, PreparedCall, ProjectFacts,
    ProjectFile, ProjectFiles, Properties, PushEvent, Recovery, Reply, Roles, Secret, Sending, Shape, Standing,
    ToolListing, WireId, WorkStatus,
};
use crate::limits::PIPELINE_REQUEST_MAX_BYTES;
use crate::protocol::framing::http::{Request, Response};

static PROPERTIES: Properties = Properties {
    // The editor runs one command after another, so a second one would only wait there, where nothing proves that it has not run.
    window: 1,
    push: false,
    heartbeat: true,
    request_max_bytes: PIPELINE_REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Jobs,
    // What people do daily. With the tools that have a role, these are as many as a list has room for.
    listed_first: &[
        "recompile_status",
        "run_tests",
        "test_status",
        "get_scene_hierarchy",
        "find_gameobjects",
        "create_gameobject",
        "delete_gameobject",
        "set_transform",
        "add_component",
        "get_component_properties",
        "set_component_properties",
        "find_assets",
        "create_asset",
        "create_script",
        "read_text_file",
        "write_text_file",
        "open_scene",
        "save_scene",
        "create_prefab",
        "instantiate_prefab",
        "capture_game_view",
        "get_selection",
        "batch",
    ],
    roles: Roles {
        compile: &["recompile"],
        // `get_console_logs` is gone since 0.7.
        console: &["console", "get_console_logs"],
        play_mode: &["editor_play", "editor_stop", "editor_pause"],
        code: &["eval", "eval_file", "run_script"],
        editor_state: &["editor_status"],
        menu_item: &["menu"],
    },
};

/// The dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pipeline;

impl Dialect for Pipeline {
    fn name(&self) -> &'static str {
        "pipeline"
    }

    fn title(&self) -> &'static str {
        "Unity's own com.unity.pipeline"
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

    fn endpoint(&self, port: u16, facts: &ProjectFacts) -> Endpoint {
        Endpoint::Http { port, token: facts.token.clone() }
    }

    fn registry(&self) -> Option<(&'static str, &'static str)> {
        Some(("com.unity.pipeline", "0.8.0-exp.1"))
    }

    fn gives_way(&self) -> bool {
        true
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    /// Unity's own command line is the server: `unity mcp`.
    fn own_server(&self) -> Option<&'static OwnServer> {
        const SERVER: OwnServer = OwnServer {
            of: "Unity's own com.unity.pipeline",
            npm: &[],
            files: &["unity", "unity.exe"],
            within: &[],
            then: Some("mcp"),
            urls: &[],
        };
        Some(&SERVER)
    }

    fn encode(&self, _id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        wire::encode(order)
    }

    fn read_response(&self, _id: WireId, request: &Request, response: Response) -> Reply {
        wire::read_response(&request.path, &response)
    }

    fn greets_alike(&self, first: &Response, now: &Response) -> bool {
        wire::greets_alike(first, now)
    }

    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(hello, said)
    }

    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        tools::read(reply, step)
    }

    fn stated_tools(&self) -> Option<ToolListing> {
        tools::stated()
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

    fn submitted(&self, reply: &Reply, journal: &str) -> Option<JournalKey> {
        jobs::submitted(reply, journal)
    }

    fn answers_with_jobs(&self) -> bool {
        true
    }

    fn gives_up(&self, reply: &Reply) -> bool {
        errors::gives_up(reply)
    }

    fn begins_work(&self, reply: &Reply, asked: &Recovery) -> Option<Recovery> {
        followed::begins(reply, asked)
    }

    fn read_status_file(&self, of: &Recovery, bytes: &[u8]) -> Option<WorkStatus> {
        followed::read(of, bytes)
    }

    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        jobs::read_outcomes(reply, asked)
    }

    fn read_standing(&self, reply: &Reply) -> Option<Standing> {
        wire::read_standing(reply)
    }

    fn has_main_thread_question(&self) -> bool {
        true
    }

    fn main_thread_question(&self, _id: WireId) -> Option<Encoded> {
        Some(Encoded::Request(wire::main_thread_question()))
    }

    fn read_main_thread(&self, reply: &Reply) -> Option<Heartbeat> {
        wire::read_main_thread(reply)
    }

    fn read_job_progress(&self, reply: &Reply) -> Option<JobProgress> {
        jobs::read_progress(reply)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package pushes nothing"))
    }
}
