//! The codec of a small package whose editor connects to the gateway. Messages are lines of JSON.
//!
//! The editor begins: `{"hello":{"project":"/path"}}`. Whoever is turned away reads `{"bye":"why"}`. Everything else is a request of
//! the gateway with an `id`, and a reply with the same one: `{"id":7,"ok":…}` or `{"id":7,"error":"why"}`.

use std::sync::Arc;

use bytes::Bytes;
use holdfast::limits::EDITOR_MESSAGE_MAX_BYTES;
use holdfast::protocol::dialect::{
    AnswerBody, BadGreeting, BadMessage, Dialect, EditorAnswer, EditorError, EditorTool, EncodeError, Encoded,
    Endpoint, FileState, Greeted, Heard, Hello, Inbound, Introduction, ListStep, Met, Order, PreparedCall,
    ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent, Reception, Reply, Roles, Secret, Sending, Shape,
    ToolListing, WireId,
};
use holdfast::protocol::framing::Framer;
use holdfast::protocol::framing::lines::Lines;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

const RECORD: &str = "Library/made-arrives";

static PROPERTIES: Properties = Properties {
    window: 1,
    push: false,
    heartbeat: false,
    request_max_bytes: 1 << 20,
    sends_all_arguments: true,
    default_ports: &[9310],
    reads_unity_port: false,
    shape: Shape::Stream,
    listed_first: &[],
    roles: Roles::NONE,
};

/// The dialect.
#[derive(Debug)]
pub struct MadeArrives;

impl Dialect for MadeArrives {
    fn name(&self) -> &'static str {
        "made-arrives"
    }
    fn title(&self) -> &'static str {
        "the toy that connects to us"
    }
    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }
    fn project_files(&self) -> &'static [ProjectFile] {
        &[ProjectFile { path: RECORD, content: false, names_process: false }]
    }
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        let installed = files.get(RECORD) == Some(&FileState::Present);
        ProjectFacts { installed, ..ProjectFacts::default() }
    }
    fn endpoint(&self, port: u16, _facts: &ProjectFacts) -> Endpoint {
        Endpoint::Arrival(port)
    }
    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }
    fn reception(&self) -> Option<Box<dyn Reception>> {
        Some(Box::new(Introducing(Vec::new())))
    }
    fn framer(&self) -> Box<dyn Framer> {
        Box::new(Lines::new(EDITOR_MESSAGE_MAX_BYTES))
    }
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        let line = match order {
            Order::Greeting { .. } => json!({"id": id.number, "ask": "greet"}),
            Order::ListTools { .. } => json!({"id": id.number, "ask": "tools"}),
            Order::Call { tool, call, .. } => {
                json!({"id": id.number, "ask": "call", "tool": tool, "arguments": call.arguments})
            }
            Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
        };
        Ok(Encoded::Frame(format!("{line}\n").into()))
    }
    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        let said: Said<'_> = serde_json::from_slice(frame).map_err(|_| BadMessage::NotJson)?;
        let reply = match (said.ok, said.error) {
            (Some(ok), None) => Reply::Result(ok.to_owned()),
            (None, Some(message)) => Reply::Error(EditorError { code: 0, message, refusal: None }),
            _ => return Err(BadMessage::NotAMessage("neither a result nor an error")),
        };
        Ok(Inbound::Reply { number: said.id, reply })
    }
    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        #[derive(Deserialize)]
        struct Domain {
            domain: u64,
        }
        let Some(Reply::Result(said)) = said.last() else { return Err(BadGreeting::Silent) };
        let Domain { domain } =
            serde_json::from_str(said.get()).map_err(|_| BadGreeting::ForeignPeer("it names no domain".into()))?;
        Ok(Greeted::Done(Met { domain: Some(domain), ..Met::default() }))
    }
    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        let Reply::Result(list) = reply else { return ListStep::Failed("no list".to_owned()) };
        match serde_json::from_str::<Vec<EditorTool>>(list.get()) {
            Ok(tools) => {
                ListStep::Tools(ToolListing { tools: tools.into_iter().map(Arc::new).collect(), ..Default::default() })
            }
            Err(error) => ListStep::Failed(error.to_string()),
        }
    }
    fn prepare_call(
        &self,
        _sending: &Sending<'_>,
        _name: &str,
        _tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        PreparedCall::as_given(arguments)
    }
    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        match reply {
            Reply::Result(json) => EditorAnswer { is_error: false, body: AnswerBody::Json(json) },
            Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
            Reply::Wreck(_) => EditorAnswer { is_error: true, body: AnswerBody::Text("not readable".to_owned()) },
        }
    }
    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }
    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("this package pushes nothing"))
    }
}

#[derive(Deserialize)]
struct Said<'a> {
    id: u64,
    #[serde(borrow)]
    ok: Option<&'a RawValue>,
    error: Option<String>,
}

/// The bytes of the first line so far.
struct Introducing(Vec<u8>);

impl Reception for Introducing {
    fn hear(&mut self, bytes: &[u8]) -> Result<Heard, BadMessage> {
        #[derive(Deserialize)]
        struct First {
            hello: Hello,
        }
        #[derive(Deserialize)]
        struct Hello {
            project: String,
        }
        self.0.extend_from_slice(bytes);
        let Some(end) = self.0.iter().position(|byte| *byte == b'\n') else { return Ok(Heard::NotYet(Bytes::new())) };
        let rest = Bytes::copy_from_slice(&self.0[end + 1..]);
        let First { hello } = serde_json::from_slice(&self.0[..end]).map_err(|_| BadMessage::NotJson)?;
        Ok(Heard::Introduced(Introduction { project: hello.project, rest }))
    }

    fn turn_away(&self, why: &str) -> Bytes {
        format!("{}\n", json!({ "bye": why })).into()
    }
}
