//! The tools. The package has no list. These are the tools that its own server and its documents name; their descriptions say
//! what they really do in the editor.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::{Annotations, EditorTool, InputSchema, ListStep, PackageTool, Reply, ToolListing};
use super::names::{
    CODE, EXECUTE_CODE, GET_LOG_BY_NAME, GET_LOG_DETAILS, GET_LOGS, GET_LOGS_BY_NAME, GET_RESULT, GET_STATE, HELP,
    QUERY, QUERY_TOOL, START_GAME, STOP_GAME, TIMEOUT, TIMEOUT_MS,
};

/// The text of `help`: what the editor really executes.
const HELP_TEXT: &str = "\
Unity-MCP: what its editor package executes

The package does not compile C#. It splits the text at `;` and at line ends and knows three kinds of statement:

  find(\"Name\")          looks a GameObject up and writes to Unity's console whether it is there
  new GameObject(\"x\")   creates a GameObject, always named CommandCreatedObject
  Debug.Log(\"m\")        writes `[Unity MCP] m` to Unity's console

Any other statement (an expression, an assignment, `return ...`) is only written to the console and not executed. \
A property behind a look-up, as in find(\"Name\").transform, is always null.

query takes the same statements. The dot notation of the package's documents, such as Player.transform.position, is not \
executed by this package; a query wrapped in `return` is not either.

Results stay in Unity: an answer says whether the main thread ran the text, not what came out of it. Look into Unity's console. \
`status: \"timeout\"` means queued: Unity runs it when its main thread is free, for example when its window has the focus again. \
Do not send it again.

Tools
  execute_code {code, timeout}        runs statements
  query {query, timeout}              runs statements, for look-ups
  get_state {}                        whether the main thread answers
  start_game {}, stop_game {}         enter and leave play mode
  get_result {logId}                  the late result of a call
  get_logs {limit}                    the newest entry of each log
  get_log_by_name {log_name, limit}   the entries of one log
  get_log_details {logId}             what is known of one call
";

/// The package tool of this name: one that the package's own server answered without its editor. `None` for any other tool.
pub(super) fn own(name: &str) -> Option<PackageTool> {
    Some(match name {
        GET_RESULT => PackageTool::Result,
        GET_LOGS => PackageTool::Logs,
        GET_LOG_BY_NAME | GET_LOGS_BY_NAME => PackageTool::LogByName,
        GET_LOG_DETAILS => PackageTool::LogDetails,
        HELP => PackageTool::Help(HELP_TEXT),
        _ => return None,
    })
}

/// The prefix of the names of a tool's logs, as in the package's own server (a7c083e, `src/mcp-stdio-client.ts`).
/// `None` for a tool without logs.
pub(super) fn log_prefix(name: &str) -> Option<&'static str> {
    Some(match name {
        EXECUTE_CODE => "unity-execute",
        QUERY_TOOL => "unity-query",
        GET_STATE => "unity-state",
        START_GAME => "unity-start",
        STOP_GAME => "unity-stop",
        _ => return None,
    })
}

/// Whether a tool takes [`TIMEOUT`].
pub(super) fn is_timed(name: &str) -> bool {
    matches!(name, EXECUTE_CODE | QUERY_TOOL)
}

/// Returns the fixed list, if the reply is the editor's answer to `/ping`.
pub(super) fn read(reply: &Reply) -> ListStep {
    match reply {
        Reply::Result(_) => {
            ListStep::Tools(ToolListing { tools: all().into_iter().map(Arc::new).collect(), ..ToolListing::default() })
        }
        Reply::Error(error) => {
            ListStep::Failed(format!("the editor did not answer /ping as Unity-MCP does: {}", error.message))
        }
        Reply::Wreck(_) => ListStep::Failed("the editor did not answer /ping".to_owned()),
    }
}

/// What a call of a tool may change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing: the tool only reads.
    Looks,
    /// One setting or mode; a repeated call changes nothing more.
    Sets,
    /// Anything, depending on the text that is executed.
    Runs,
}

fn all() -> Vec<EditorTool> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let limit = || json!({"type": "number", "default": 10, "description": "Entries at the most."});
    let timeout = || {
        json!({
            "type": "number",
            "default": TIMEOUT_MS,
            "description": "Milliseconds that the call may take. The package itself answers within about 100 ms."
        })
    };
    let log_id = || text("The call's id: log_id of its answer.");
    let statements = "Only three kinds of statement are executed, separated by `;` or line ends: find(\"Name\"), \
                      new GameObject(\"x\") and Debug.Log(\"m\"); the rest is written to Unity's console and not executed.";
    vec![
        tool(
            EXECUTE_CODE,
            Effect::Runs,
            &format!(
                "Runs statements in the Unity Editor. This package does not compile C#. {statements} No result comes back, only \
                 whether Unity's main thread ran it."
            ),
            &[CODE],
            &[(CODE, text("The statements.")), (TIMEOUT, timeout())],
        ),
        tool(
            QUERY_TOOL,
            Effect::Runs,
            &format!(
                "Looks something up in the Unity Editor, with the same statements as execute_code. {statements} Dot notation such \
                 as Player.transform.position is not executed. What was found stands in Unity's console."
            ),
            &[QUERY],
            &[(QUERY, text("The statements, for example find(\"Player\").")), (TIMEOUT, timeout())],
        ),
        tool(
            GET_LOGS,
            Effect::Looks,
            "The newest entry of each log that the gateway keeps of this session's calls. It is not Unity's console, which this \
             package does not pass on.",
            &[],
            &[("limit", limit())],
        ),
        tool(
            GET_LOG_BY_NAME,
            Effect::Looks,
            "The entries of one log that the gateway keeps, newest first. get_logs names the logs.",
            &["log_name"],
            &[("log_name", text("The log's name.")), ("limit", limit())],
        ),
        tool(
            GET_STATE,
            Effect::Looks,
            "Whether the Unity Editor's main thread answers. This package cannot pass on the game state itself: not whether it \
             plays, nor its scene or time.",
            &[],
            &[],
        ),
        tool(
            START_GAME,
            Effect::Sets,
            "Enters play mode. Unity may reload its domain then, which takes the connection away for a moment.",
            &[],
            &[],
        ),
        tool(STOP_GAME, Effect::Sets, "Leaves play mode.", &[], &[]),
        tool(
            GET_RESULT,
            Effect::Looks,
            "The result of an earlier call, also of one whose answer came late.",
            &[],
            &[("logId", log_id()), ("log_id", text("The same as logId."))],
        ),
        tool(
            GET_LOG_DETAILS,
            Effect::Looks,
            "What the gateway knows of one call: when it was sent, and how it ended.",
            &["logId"],
            &[("logId", log_id())],
        ),
        tool(
            GET_LOGS_BY_NAME,
            Effect::Looks,
            "The same as get_log_by_name, under the name that the package's documents use.",
            &["log_name"],
            &[("log_name", text("The log's name.")), ("limit", limit())],
        ),
        tool(HELP, Effect::Looks, "What this Unity package executes and what it does not, and its tools.", &[], &[]),
    ]
}

fn tool(name: &str, effect: Effect, about: &str, required: &[&str], properties: &[(&str, Value)]) -> EditorTool {
    let mut input_schema = Map::new();
    input_schema.insert("type".to_owned(), "object".into());
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    input_schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        input_schema.insert("required".to_owned(), json!(required));
    }
    let annotations = Annotations {
        title: super::super::listing::title(name),
        read_only_hint: effect == Effect::Looks,
        destructive_hint: false,
        idempotent_hint: effect != Effect::Runs,
        open_world_hint: false,
    };
    EditorTool {
        name: name.to_owned(),
        description: about.to_owned(),
        input_schema: InputSchema::from(&input_schema),
        annotations,
        development_only: false,
        // start_game is idempotent but not repeatable: somebody may have left play mode in the meantime.
        repeatable: effect == Effect::Looks,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: None,
        other_names: Vec::new(),
    }
}
