//! A small package that exists in builds for tests only (the feature `toy`): an HTTP server with a token, which runs calls as jobs.
//!
//! `Library/ToyJobs.json` of the project says while the editor listens `{"port":…,"pid":…,"token":"…"}`. A request without the token is
//! answered with 401, and nothing is done. `GET /status` says `{"store":"name","domain":7}`: where the jobs are kept, and how many domains
//! there were in this process. `GET /tools` says
//! `{"store":…,"tools":[…]}`. `POST /call` with `{"tool":…,"arguments":…}` says `{"ok":…}`, `{"error":"why"}`, or `{"job":"id"}`;
//! `"ran":false` beside an error says that nothing ran. `GET /job?store=…&id=…` says `{"store":…,"job":…,"state":…}`: `running`, `unrun`,
//! `interrupted`, or `over` with the `ok` or the `error` of the call; 404 says that the job is not there any more. `POST /cancel` with the
//! same query keeps a job from running that has not begun.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::rpc::{loggable, quoted};
use super::toy;
use super::unity::{INSTANCE, LOCK, MANIFEST, record, whole};
use super::{
    AnswerBody, BadGreeting, BadMessage, BadOutcomes, Dialect, EditorAnswer, EditorError, EditorTool, EncodeError,
    Encoded, Endpoint, Greeted, Hello, JournalKey, JournalOutcome, ListStep, Met, Order, PreparedCall, ProjectFacts,
    ProjectFile, ProjectFiles, Properties, PushEvent, Refusal, Refused, RefusedCall, Reply, Roles, Secret, Sending,
    Shape, WireId, Wreck, WreckPart, rpc, wreck,
};
use crate::protocol::framing::http::{Request, Response};

const BRIDGE: &str = "Library/ToyJobs.json";
const PACKAGE: (&str, &str) = ("dev.holdfast.toy-jobs", "Packages/dev.holdfast.toy-jobs/package.json");
/// The longest body that the editor takes, in bytes.
const REQUEST_MAX_BYTES: usize = 1024 * 1024;
/// The status of a job, or of anything else, that is not there.
const NOT_FOUND: i64 = 404;

static PROPERTIES: Properties = Properties {
    window: 2,
    push: false,
    heartbeat: false,
    request_max_bytes: REQUEST_MAX_BYTES,
    sends_all_arguments: true,
    one_client: false,
    default_ports: &[],
    reads_unity_port: false,
    shape: Shape::Jobs,
    listed_first: &[],
    roles: Roles { compile: &["compile"], ..Roles::NONE },
};

/// The dialect.
#[derive(Debug)]
pub struct ToyJobs;

/// What the editor says, of whatever it was asked.
#[derive(Deserialize)]
struct Said<'a> {
    store: Option<String>,
    job: Option<String>,
    state: Option<String>,
    #[serde(borrow)]
    ok: Option<&'a RawValue>,
    error: Option<String>,
    ran: Option<bool>,
}

/// Reads a response that is not JSON: only the result in it may be to blame.
fn unreadable(body: &Bytes) -> Reply {
    let [ok] = wreck::parts(body, ["ok"]).values;
    Reply::Wreck(ok.map_or_else(|| Wreck::of_message(body), Wreck::of_result))
}

/// Whether a name of the editor can be a part of a query.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl<'a> Said<'a> {
    fn of(reply: &'a Reply) -> Option<Self> {
        match reply {
            Reply::Result(said) => serde_json::from_str(said.get()).ok(),
            Reply::Error(_) | Reply::Wreck(_) => None,
        }
    }
}

impl Dialect for ToyJobs {
    fn name(&self) -> &'static str {
        "toy-jobs"
    }

    fn title(&self) -> &'static str {
        "the toy package that runs jobs"
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
        let (mut facts, bridge) = toy::read_files(files, PACKAGE, BRIDGE);
        if let Some(bridge) = bridge {
            toy::read_bridge(&bridge, BRIDGE, &mut facts);
            facts.token = bridge.get("token").and_then(Value::as_str).map(Secret::new);
        }
        facts
    }

    fn endpoint(&self, port: u16, facts: &ProjectFacts) -> Endpoint {
        Endpoint::Http { port, token: facts.token.clone() }
    }

    fn announces(&self, _version: Option<&str>) -> Option<bool> {
        Some(false)
    }

    fn encode(&self, _id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        let of_job = |path: &str, key: &JournalKey| format!("{path}?store={}&id={}", key.journal, key.id);
        let (method, path, body) = match order {
            Order::Greeting { .. } => ("GET", "/status".to_owned(), Bytes::new()),
            Order::ListTools { .. } => ("GET", "/tools".to_owned(), Bytes::new()),
            Order::Call { tool, call, .. } => {
                let body = format!(r#"{{"tool":{},"arguments":{}}}"#, quoted(tool), call.arguments);
                ("POST", "/call".to_owned(), rpc::within(body.into(), REQUEST_MAX_BYTES)?)
            }
            Order::Outcomes([key]) => ("GET", of_job("/job", key), Bytes::new()),
            Order::Cancel(key) => ("POST", of_job("/cancel", key), Bytes::new()),
            Order::Outcomes(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
        };
        Ok(Encoded::Request(Request { method, path: path.into(), headers: &[], body }))
    }

    fn read_response(&self, _id: WireId, _request: &Request, response: Response) -> Reply {
        let json = String::from_utf8(response.body.to_vec()).ok().and_then(|text| RawValue::from_string(text).ok());
        if response.status == 200 {
            return json.map_or_else(|| unreadable(&response.body), Reply::Result);
        }
        let said: Option<Said<'_>> = json.as_ref().and_then(|json| serde_json::from_str(json.get()).ok());
        let why = said.as_ref().and_then(|said| said.error.as_deref()).map(str::trim).filter(|why| !why.is_empty());
        let message = why.map_or_else(|| format!("the editor answered with status {}", response.status), str::to_owned);
        let unrun = response.status == 401 || said.is_some_and(|said| said.ran == Some(false));
        let how = if response.status == 401 { Refusal::OtherSession } else { Refusal::Final };
        let refusal = unrun.then_some(Refused { how, of: RefusedCall::Any });
        Reply::Error(EditorError { code: response.status.into(), message, refusal })
    }

    fn check_greeting(&self, _hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        let reply = said.last().ok_or(BadGreeting::Silent)?;
        if let Reply::Error(error) = reply {
            return Err(BadGreeting::Refused { what: "/status", why: loggable(&error.message) });
        }
        let store = Said::of(reply).and_then(|said| said.store).filter(|name| is_plain(name));
        let foreign = || BadGreeting::ForeignPeer("it did not answer as the toy package does".into());
        Ok(Greeted::Done(Met { journal: Some(store.ok_or_else(foreign)?), ..Met::default() }))
    }

    fn read_tools(&self, reply: &Reply, _step: usize) -> ListStep {
        toy::read_tools(reply)
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

    fn submitted(&self, reply: &Reply, journal: &str) -> Option<JournalKey> {
        let id = Said::of(reply)?.job.filter(|name| is_plain(name))?;
        Some(JournalKey { journal: journal.to_owned(), id, seq: 0 })
    }

    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        let [asked] = asked else { return Err(BadOutcomes::OtherCalls) };
        let told = match &reply {
            Reply::Error(error) if error.code == NOT_FOUND => JournalOutcome::Forgotten,
            Reply::Error(error) => return Err(BadOutcomes::Refused(error.message.clone())),
            // The result of a job that is over.
            Reply::Wreck(Wreck { part: WreckPart::Result, .. }) => JournalOutcome::Ended(reply),
            Reply::Wreck(_) => JournalOutcome::Unreadable,
            Reply::Result(_) => {
                let said =
                    Said::of(&reply).ok_or_else(|| BadOutcomes::Malformed("it is not about a job".to_owned()))?;
                if said.job.as_ref() != Some(&asked.id) || said.store.as_ref() != Some(&asked.journal) {
                    return Err(BadOutcomes::OtherCalls);
                }
                match said.state.as_deref() {
                    Some("running") => JournalOutcome::Running,
                    Some("unrun") => JournalOutcome::NotRun { sealed: true },
                    Some("interrupted") => JournalOutcome::Interrupted,
                    Some("over") => JournalOutcome::Ended(reply),
                    _ => JournalOutcome::Unreadable,
                }
            }
        };
        Ok(vec![told])
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        let failed = |why: &str| EditorAnswer { is_error: true, body: AnswerBody::Text(why.to_owned()) };
        match &reply {
            Reply::Error(error) => return failed(&error.message),
            Reply::Wreck(wreck) => {
                let failed = wreck::says_failure(&wreck.bytes, &["Success"], false);
                return wreck.clone().answer(failed, Vec::new());
            }
            Reply::Result(_) => {}
        }
        match Said::of(&reply) {
            Some(Said { ok: Some(ok), .. }) => {
                let value: Value = serde_json::from_str(ok.get()).unwrap_or_default();
                let is_error = value.get("Success") == Some(&Value::Bool(false));
                EditorAnswer { is_error, body: AnswerBody::Json(ok.to_owned()) }
            }
            Some(Said { error: Some(why), .. }) if !why.trim().is_empty() => failed(&why),
            _ => failed("the editor answered with neither a result nor an error"),
        }
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, _line: &[u8], _token: &Secret) -> Result<PushEvent, BadMessage> {
        Err(BadMessage::NotAMessage("the package has no push messages"))
    }
}
