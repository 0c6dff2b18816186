//! The codec of a small package whose editor is an HTTP server that runs calls as jobs.
//!
//! `Library/made-jobs.json` of the project has `{"token":"…"}`; any other token gets 401. `GET /status` says `{"store":"name"}`: where its
//! jobs are kept, a new name when they are lost. `GET /tools` is the list. `POST /call` with `{"tool":…,"arguments":…}` says `{"ok":…}`,
//! `{"error":…}`, or `{"job":"id"}`. `GET /job?id=…` says `{"state":"running"}` or `{"state":"over"}` with the `ok` or the `error` of the
//! call; 404 of a job that is not there any more. `POST /cancel?id=…` keeps one from running that has not begun (`{"state":"unrun"}`).

use std::sync::Arc;

use bytes::Bytes;
use holdfast::protocol::dialect::{
    AnswerBody, BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorError, EditorTool, EncodeError,
    Encoded, Endpoint, FileState, Greeted, Hello, JournalKey, JournalOutcome, ListStep, Met, Order, PreparedCall,
    ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent, Refusal, Refused, RefusedCall, Reply, Roles,
    Secret, Sending, Shape, ToolListing, WireId, Wreck,
};
use holdfast::protocol::framing::http::{Request, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const RECORD: &str = "Library/made-jobs.json";

static PROPERTIES: Properties = Properties {
    window: 2,
    push: false,
    heartbeat: false,
    request_max_bytes: 1 << 20,
    sends_all_arguments: true,
    default_ports: &[9320],
    reads_unity_port: false,
    shape: Shape::Jobs,
    listed_first: &[],
    roles: Roles::NONE,
};

/// The dialect.
#[derive(Debug)]
pub struct MadeJobs;

/// What the editor says of a call or a job.
#[derive(Deserialize)]
struct Said<'a> {
    state: Option<String>,
    job: Option<String>,
    #[serde(borrow)]
    ok: Option<&'a RawValue>,
    error: Option<String>,
}

impl Dialect for MadeJobs {
    fn name(&self) -> &'static str {
        "made-jobs"
    }
    fn title(&self) -> &'static str {
        "the toy that runs jobs"
    }
    fn properties(&self) -> &'static Properties {
        &PROPERTIES
    }
    fn project_files(&self) -> &'static [ProjectFile] {
        &[ProjectFile { path: RECORD, content: true, names_process: false }]
    }
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        let Some(FileState::Content(bytes)) = files.get(RECORD) else { return ProjectFacts::default() };
        let record: Value = serde_json::from_slice(bytes).unwrap_or_default();
        ProjectFacts { installed: true, token: record["token"].as_str().map(Secret::new), ..ProjectFacts::default() }
    }
    fn endpoint(&self, port: u16, facts: &ProjectFacts) -> Endpoint {
        Endpoint::Http { port, token: facts.token.clone() }
    }
    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }
    fn encode(&self, _id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        let job = |path: &str, keys: &[JournalKey]| format!("{path}?id={}", keys.first().map_or("", |key| &key.id));
        let (method, path, body) = match order {
            Order::Greeting { .. } => ("GET", "/status".to_owned(), Bytes::new()),
            Order::ListTools { .. } => ("GET", "/tools".to_owned(), Bytes::new()),
            Order::Call { tool, call, .. } => {
                let body = json!({"tool": tool, "arguments": call.arguments});
                ("POST", "/call".to_owned(), body.to_string().into())
            }
            Order::Outcomes(keys) => ("GET", job("/job", keys), Bytes::new()),
            Order::Cancel(key) => ("POST", job("/cancel", std::slice::from_ref(key)), Bytes::new()),
            Order::Heartbeat => return Err(EncodeError::NotSpoken),
        };
        Ok(Encoded::Request(Request { method, path: path.into(), headers: &[], body }))
    }
    fn read_response(&self, _id: WireId, _request: &Request, response: Response) -> Reply {
        let refusal = (response.status == 401).then_some(Refused { how: Refusal::OtherSession, of: RefusedCall::Any });
        if response.status != 200 {
            let message = format!("status {}", response.status);
            return Reply::Error(EditorError { code: response.status.into(), message, refusal });
        }
        let text = String::from_utf8(response.body.to_vec()).ok();
        let json = text.and_then(|text| RawValue::from_string(text).ok());
        json.map_or_else(|| Reply::Wreck(Wreck::of_message(&response.body)), Reply::Result)
    }
    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        let other = |why: String| BadGreeting::ForeignPeer(why.into());
        match said.last() {
            Some(Reply::Result(said)) => {
                let said: Value = serde_json::from_str(said.get()).map_err(|bad| other(bad.to_string()))?;
                let store = said["store"].as_str().ok_or_else(|| other("it names no store".to_owned()))?;
                Ok(Greeted::Done(Met { journal: Some(store.to_owned()), ..Met::default() }))
            }
            Some(Reply::Error(error)) => Err(other(error.message.clone())),
            Some(Reply::Wreck(_)) | None => Err(BadGreeting::Silent),
        }
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
    fn submitted(&self, reply: &Reply, journal: &str) -> Option<JournalKey> {
        let Reply::Result(said) = reply else { return None };
        let said: Said<'_> = serde_json::from_str(said.get()).ok()?;
        said.job.map(|id| JournalKey { journal: journal.to_owned(), id, seq: 0 })
    }
    fn read_outcomes(&self, reply: Reply, _asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        let told = match &reply {
            Reply::Error(error) if error.code == 404 => JournalOutcome::Forgotten,
            Reply::Error(error) => return Err(BadOutcomes::Refused(error.message.clone())),
            Reply::Wreck(_) => JournalOutcome::Unreadable,
            Reply::Result(said) => {
                let read: Said<'_> =
                    serde_json::from_str(said.get()).map_err(|bad| BadOutcomes::Malformed(bad.to_string()))?;
                match read.state.as_deref() {
                    Some("running") => JournalOutcome::Running,
                    Some("unrun") => JournalOutcome::NotRun { sealed: false },
                    Some("over") => JournalOutcome::Ended(reply),
                    _ => JournalOutcome::Unreadable,
                }
            }
        };
        Ok(vec![told])
    }
    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        let failed = |why: String| EditorAnswer { is_error: true, body: AnswerBody::Text(why) };
        let json = match reply {
            Reply::Result(json) => json,
            Reply::Error(error) => return failed(error.message),
            Reply::Wreck(_) => return failed("not readable".to_owned()),
        };
        match serde_json::from_str::<Said<'_>>(json.get()) {
            Ok(Said { ok: Some(ok), .. }) => EditorAnswer { is_error: false, body: AnswerBody::Json(ok.to_owned()) },
            Ok(Said { error: Some(why), .. }) => failed(why),
            _ => failed("neither a result nor an error".to_owned()),
        }
    }
    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }
    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("this package pushes nothing"))
    }
}
