//! A small package that exists in builds for tests only (the feature `toy`). It proves that another Unity package costs this folder,
//! one folder in `crates/fake-unity/src/`, and a line in each of the two lists.
//!
//! JSON-RPC in lines over TCP. The editor writes its port and its process id to `Library/Toy.json` while it listens. It works on one
//! call at a time, announces nothing, and remembers nothing over a reload.

use serde_json::Value;
use serde_json::value::RawValue;

use super::unity::{self, INSTANCE, LOCK, MANIFEST, pid, record, whole};
use super::{
    Annotations, AnswerBody, BadGreeting, BadMessage, Dialect, EditorAnswer, EditorError, EditorTool, EncodeError,
    Encoded, Greeted, Hello, Inbound, InputSchema, ListStep, Met, Order, PreparedCall, ProjectFacts, ProjectFile,
    ProjectFiles, Properties, PushEvent, Refusal, Refused, RefusedCall, Reply, Roles, Secret, Sending, Shape,
    ToolListing, WireId, listing, rpc,
};

const BRIDGE: &str = "Library/Toy.json";
const PACKAGE: (&str, &str) = ("dev.holdfast.toy", "Packages/dev.holdfast.toy/package.json");
/// The longest line that the editor takes, in bytes.
const REQUEST_MAX_BYTES: usize = 1024 * 1024;

static PROPERTIES: Properties = Properties {
    window: 1,
    push: false,
    heartbeat: false,
    request_max_bytes: REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Stream,
    roles: Roles { compile: &["compile"], ..Roles::NONE },
    listed_first: &[],
};

/// The dialect of the toy package.
#[derive(Debug)]
pub struct Toy;

impl Dialect for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn title(&self) -> &'static str {
        "the toy package"
    }

    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        const FILES: &[ProjectFile] =
            &[record(BRIDGE), record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(PACKAGE.1)];
        FILES
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        let (mut facts, bridge) = read_files(files, PACKAGE, BRIDGE);
        if let Some(bridge) = bridge {
            read_bridge(&bridge, BRIDGE, &mut facts);
        }
        facts
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        let (method, params) = match order {
            Order::Greeting { .. } | Order::Heartbeat => ("hello", "{}".to_owned()),
            Order::ListTools { .. } => ("tools", "{}".to_owned()),
            Order::Call { tool, call, .. } => {
                let line = call.arguments.get().replace(['\n', '\r'], " ");
                ("call", format!(r#"{{"tool":{},"arguments":{line}}}"#, rpc::quoted(tool)))
            }
            Order::Outcomes(_) | Order::Cancel(_) => return Err(EncodeError::NotSpoken),
        };
        let id = format!(r#""id":{},"#, rpc::quoted(&rpc::wire_id(id)));
        rpc::within((rpc::body(&id, method, &params, "") + "\n").into(), REQUEST_MAX_BYTES).map(Encoded::Frame)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        rpc::decode(frame, read_error, |_, _| None)
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        match said.last().ok_or(BadGreeting::Silent)? {
            Reply::Result(result) if result.get().contains("\"toy\"") => Ok(Greeted::Done(Met::default())),
            Reply::Error(error) => Err(BadGreeting::Refused { what: "hello", why: rpc::loggable(&error.message) }),
            _ => Err(BadGreeting::ForeignPeer("it did not answer as the toy package does".into())),
        }
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        read_tools(reply)
    }

    fn prepare_call(
        &self,
        _sending: &Sending<'_>,
        name: &str,
        _tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        PreparedCall { reload_follows: name == "compile", ..PreparedCall::as_given(arguments) }
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        match reply {
            Reply::Result(result) => {
                let value: Value = serde_json::from_str(result.get()).unwrap_or_default();
                let is_error = value.get("Success") == Some(&Value::Bool(false));
                EditorAnswer { is_error, body: AnswerBody::Json(result) }
            }
            Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
            Reply::Wreck(wreck) => {
                let failed = super::wreck::says_failure(&wreck.bytes, &["Success"], false);
                wreck.answer(failed, Vec::new())
            }
        }
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package has no push messages"))
    }
}

/// Reads a toy's manifest and the editor's own record, and the file with the port of its bridge.
pub(super) fn read_files(
    files: &ProjectFiles,
    package: (&'static str, &'static str),
    bridge: &'static str,
) -> (ProjectFacts, Option<Value>) {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &[package], &mut facts);
    unity::read_instance(files, &mut facts);
    let fix = "let the editor reload its scripts, and the package writes the file again";
    let bridge = unity::json(files, bridge, fix, &mut facts.problems);
    (facts, bridge)
}

/// Reads what a bridge that listens says of itself.
pub(super) fn read_bridge(bridge: &Value, path: &'static str, facts: &mut ProjectFacts) {
    facts.by_record = !facts.installed;
    facts.installed = true;
    let own = pid(bridge, "pid");
    // A port whose process is not known may be anybody's.
    facts.port = port(bridge).filter(|_| own.is_some()).map(|port| (port, path));
    facts.editor_pid = facts.editor_pid.or(own);
}

/// Returns the port in the file of a bridge.
pub(super) fn port(bridge: &Value) -> Option<u16> {
    let port = bridge.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    port.filter(|port| *port > 0)
}

pub(super) fn read_tools(reply: &Reply) -> ListStep {
    let Reply::Result(result) = reply else {
        return ListStep::Failed("the editor refused its tool list".to_owned());
    };
    let [tools] = super::wreck::parts(result.get().as_bytes(), ["tools"]).values;
    let listing: Option<ToolListing> = tools.and_then(|tools| listing::collect(tools, tool));
    listing.map_or_else(|| ListStep::Failed("the editor's tool list cannot be read".to_owned()), ListStep::Tools)
}

/// Reads an error. The member `ran` is the package's own: what a tool throws stands in `message` alone.
fn read_error(error: &RawValue) -> EditorError {
    let error = rpc::readable(error);
    let message = error.get("message").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let never_ran = error.get("ran") == Some(&Value::Bool(false));
    EditorError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: message.unwrap_or("the editor answered with an error and no text").to_owned(),
        refusal: never_ran.then_some(Refused { how: Refusal::Final, of: RefusedCall::Any }),
    }
}

fn tool(entry: &RawValue) -> Result<EditorTool, listing::Bad> {
    let entry: Value = serde_json::from_str(entry.get()).map_err(|error| (None, error.to_string()))?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let name = text("name").ok_or_else(|| (None, "it has no name".to_owned()))?;
    let reads = entry.get("reads") == Some(&Value::Bool(true));
    let input_schema = entry.get("schema").and_then(Value::as_object).map(InputSchema::from).unwrap_or_default();
    if input_schema.parts().is_none_or(|(rest, _)| rest.get("type").is_none_or(|kind| kind != "object")) {
        return Err((Some(name.to_owned()), "its schema is not that of an object".to_owned()));
    }
    Ok(EditorTool {
        annotations: Annotations {
            title: listing::title(name),
            read_only_hint: reads,
            destructive_hint: !reads,
            idempotent_hint: reads,
            open_world_hint: !reads,
        },
        description: text("description").map_or_else(|| listing::undescribed(name), str::to_owned),
        input_schema,
        development_only: false,
        repeatable: reads,
        parallel: entry.get("parallel") == Some(&Value::Bool(true)),
        resumable: false,
        timeout_seconds: None,
        name: name.to_owned(),
        group: None,
        other_names: Vec::new(),
    })
}
