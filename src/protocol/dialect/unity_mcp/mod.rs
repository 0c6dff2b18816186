//! Unity-MCP (`com.unity.mcp`, the package of TSavo/Unity-MCP at its newest commit, a7c083e): the editor is a small HTTP server.
//!
//! One thread answers one request at a time, each within about 100 ms. It hands the work to Unity's main thread, waits for that
//! time, and then reports the opposite of what happened: finished work as a cancelled task, waiting work as a success. No
//! result ever leaves Unity. There is no tool list, no greeting except `/ping`, and no information about project, process or
//! version. Sources: the package's code, and that code run under Mono. `tests/vectors/unity-mcp/` holds the literal texts with
//! their provenance.

mod answer;
mod names;
mod project;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::value::RawValue;

use super::members::Members;
use super::{
    BadGreeting, BadMessage, Companion, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint, Greeted,
    Hello, ListStep, Order, OwnServer, PackageTool, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties,
    PushEvent, Reply, Roles, Secret, Sending, Shape, WireId,
};
use crate::limits::{TOOL_TIMEOUT_MAX, UNITY_MCP_REQUEST_MAX_BYTES};
use crate::protocol::framing::http::{Request, Response};

/// The ports in the package's code: 8082, and 8081 in older commits.
const DEFAULT_PORTS: &[u16] = &[8082, 8081];

static PROPERTIES: Properties = Properties {
    window: 1,
    push: false,
    heartbeat: true,
    request_max_bytes: UNITY_MCP_REQUEST_MAX_BYTES,
    sends_all_arguments: false,
    one_client: false,
    default_ports: DEFAULT_PORTS,
    reads_unity_port: true,
    shape: Shape::Requests,
    // Its `get_logs` are logs of calls and not Unity's console, which the package does not pass on. `query` runs what
    // `execute_code` runs.
    roles: Roles { play_mode: &[names::START_GAME, "stop_game"], code: &["execute_code", "query"], ..Roles::NONE },
    listed_first: &[],
};

/// The dialect of Unity-MCP's editor package.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnityMcp;

impl Dialect for UnityMcp {
    fn name(&self) -> &'static str {
        "unity-mcp"
    }

    fn title(&self) -> &'static str {
        "TSavo/Unity-MCP"
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

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        let head = String::from_utf8_lossy(said).to_ascii_lowercase();
        (head.starts_with("http/") && head.contains("server: mono-httpapi"))
            .then_some("an HTTP server in a Unity Editor (TSavo/Unity-MCP has one: --dialect unity-mcp)")
    }

    /// Source: the package's `package.json` and README.
    fn own_server(&self) -> Option<&'static OwnServer> {
        const SERVER: OwnServer = OwnServer {
            of: "TSavo/Unity-MCP",
            npm: &[],
            files: &["dist/mcp-stdio-client.js", "dist/mcp-stdio-client/index.js"],
            within: &[],
            then: None,
            urls: &[],
        };
        Some(&SERVER)
    }

    fn encode(&self, _id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        wire::encode(order)
    }

    fn read_response(&self, id: WireId, request: &Request, response: Response) -> Reply {
        answer::read_response(id, request, &response)
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        wire::check_greeting(said)
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        tools::read(reply)
    }

    fn prepare_call(
        &self,
        _sending: &Sending<'_>,
        name: &str,
        _tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        // Entering play mode reloads the domain, unless the project's settings disable that.
        let reload_follows = name == names::START_GAME;
        PreparedCall { timeout: timeout(name, arguments), reload_follows, ..PreparedCall::as_given(arguments) }
    }

    fn package_tool(&self, name: &str) -> Option<PackageTool> {
        tools::own(name)
    }

    fn log_prefix(&self, tool: &str) -> Option<&'static str> {
        tools::log_prefix(tool)
    }

    fn companions(&self) -> &'static [Companion] {
        &[Companion::Logger, Companion::DocumentedHop]
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        answer::read(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("this package pushes nothing"))
    }
}

/// Returns the time limit of a call: from its argument in milliseconds, or by default 30 s as in the package's own server. `None`
/// if the tool has no time limit.
fn timeout(name: &str, arguments: &RawValue) -> Option<Duration> {
    if !tools::is_timed(name) {
        return None;
    }
    let given =
        serde_json::from_str::<Members<'_>>(arguments.get()).ok().and_then(|members| members.get(names::TIMEOUT));
    let ms = given.and_then(|ms| ms.as_f64()).filter(|ms| ms.is_finite() && *ms > 0.0).unwrap_or(names::TIMEOUT_MS);
    Some(Duration::try_from_secs_f64(ms / 1000.0).map_or(TOOL_TIMEOUT_MAX, |limit| limit.min(TOOL_TIMEOUT_MAX)))
}
