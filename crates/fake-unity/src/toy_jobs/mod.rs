//! Simulates the toy package that runs calls as jobs, over HTTP with a token; it exists in builds for tests only (the feature `toy`).
//!
//! A call that is done at once is answered at once. Any other becomes a job, whose result is kept over domain reloads. A job that runs
//! when the domain ends is interrupted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use holdfast_net::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::config::FakeUnityConfig;
use super::events::Event;
use super::face::{Face, Link, Moment, Reader};
use super::json::quoted;
use super::model::Editor;
use super::observer::{self, Answered, Asked, Fate, Outcomes, Wire};
use super::odd;
use super::package::{COMPILE_ACT, Facts, Package, Port, Shape, usual};
use super::project::{OwnFile, Project};
use super::spec::Tool;
use super::toy::{self, ToyFace};
use super::work::{Begun, Done, Fault};

const BRIDGE: &str = "Library/ToyJobs.json";
const MANIFEST: (&str, &str) = ("dev.holdfast.toy-jobs", "1.0.0");
/// How long a call may take to be answered at once.
const AT_ONCE: Duration = Duration::from_millis(20);
/// The longest request that is read, in bytes.
const REQUEST_MAX_BYTES: usize = 1024 * 1024;

pub(crate) static PACKAGE: Package = Package {
    name: "toy-jobs",
    title: "the toy package that runs jobs",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: MANIFEST,
        port: Port::Record(BRIDGE, "port"),
        shape: Shape::ConnectionEach,
        jobs: true,
        window: 2,
        request_max_bytes: REQUEST_MAX_BYTES,
        parallel: Facts::USUAL.parallel,
        greeting: ("POST /", &[]),
        withdraws: true,
        ..toy::FACTS
    },
    wire: Wire {
        length: observer::http,
        asked: |frame, message| {
            let head = String::from_utf8_lossy(frame);
            let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
            let is_call = path == "/call";
            let method = if is_call { observer::text(message.get("tool")) } else { path };
            Asked { method, is_call, ..Asked::default() }
        },
        arguments: |message| message.get("arguments").cloned().unwrap_or_default(),
        answered: |message| match (message.get("ok"), message.get("error")) {
            (Some(ok), _) => {
                let failed = ok.get("Success") == Some(&Value::Bool(false));
                Some(Answered { is_result: true, result: ok.clone(), failed })
            }
            (None, Some(_)) => Some(Answered::default()),
            (None, None) => None,
        },
        listed: |result| observer::entries(result.get("tools")?),
        outcomes: |said| {
            let fate = match said.get("state").and_then(Value::as_str) {
                Some("running") => Some(Fate::Running),
                Some("unrun") => Some(Fate::NotRun),
                Some("interrupted") => Some(Fate::Interrupted),
                Some("over") => Some(Fate::Ended),
                _ => None,
            };
            let job = said.get("job").and_then(Value::as_str);
            let calls = job.into_iter().map(|job| (job.to_owned(), fate)).collect();
            Outcomes { journal: Some(observer::text(said.get("store"))), calls }
        },
        is_unrun: |message| message.get("ran") == Some(&Value::Bool(false)),
        ..Wire::FRAMES
    },
    call: usual,
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(ToyJobsFace { toy: ToyFace::new(config), store: Arc::default() })
}

/// The jobs of one process.
#[derive(Default)]
struct Store {
    name: String,
    token: String,
    jobs: BTreeMap<u64, Job>,
    /// Never used twice, so that a job of an earlier process is never taken for one of this process.
    last: u64,
}

#[derive(Default)]
struct Job {
    has_begun: bool,
    /// How it ended: the rest of what is said of it, from `"state"` on.
    end: Option<String>,
}

struct ToyJobsFace {
    toy: ToyFace,
    store: Arc<Mutex<Store>>,
}

/// A request as far as it is read.
struct Request {
    method: String,
    path: String,
    query: String,
    token: String,
    body: String,
}

/// Status and body of a response, and what waits until it is written.
struct Response(u16, String, Option<oneshot::Sender<()>>);

impl Response {
    fn of(status: u16, body: impl Into<String>) -> Self {
        Self(status, body.into(), None)
    }
}

impl ToyJobsFace {
    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> std::io::Result<&'static str> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let Some(request) = read(&mut reader).await? else { return Ok("no whole request") };
        editor.state().requests += 1;
        let method = format!("{} {}", request.method, request.path);
        editor.event(Event::Request { connection, method });
        let Response(status, body, written) = self.respond(editor, connection, &request).await;
        if request.path == "/call" && status == 200 && editor.loses_answer() {
            return Ok("its answer is lost");
        }
        let body = odd::bytes(&body);
        let head = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        writer.write(&[head.into_bytes(), body].concat()).await?;
        drop(written);
        writer.finish().await?;
        Ok("answered")
    }

    async fn respond(&self, editor: &Arc<Editor>, connection: u64, request: &Request) -> Response {
        let name = {
            let store = self.store();
            if request.token != store.token {
                return Response::of(401, r#"{"error":"another token","ran":false}"#);
            }
            store.name.clone()
        };
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/status") => {
                Response::of(200, json!({"store": name, "domain": editor.state().domain}).to_string())
            }
            ("GET", "/tools") => {
                let parallel = |tool: &Tool| PACKAGE.facts.parallel.contains(&tool.name.as_str());
                let tools = toy::entries(editor, |tool, entry| entry["parallel"] = parallel(tool).into());
                Response::of(200, json!({"store": name, "tools": tools}).to_string())
            }
            ("POST", "/call") => self.call(editor, connection, &request.body).await,
            ("GET", "/job") => self.job(&request.query, |id, job| {
                let state = job.end.as_deref().unwrap_or(r#""state":"running""#);
                format!(r#"{{"store":"{name}","job":"{id}",{state}}}"#)
            }),
            ("POST", "/cancel") => self.job(&request.query, |_, job| {
                let state = if job.has_begun { "interrupted" } else { "unrun" };
                job.end.get_or_insert_with(|| format!(r#""state":"{state}""#));
                "{}".to_owned()
            }),
            _ => Response::of(404, r#"{"error":"nothing is there","ran":false}"#),
        }
    }

    /// Answers about the job that the query names.
    fn job(&self, query: &str, about: impl FnOnce(u64, &mut Job) -> String) -> Response {
        let mut store = self.store();
        let wanted = format!("store={}&id=", store.name);
        let id = query.strip_prefix(&wanted).and_then(|id| id.parse().ok());
        let found = id.and_then(|id| Some((id, store.jobs.get_mut(&id)?)));
        let none = || Response::of(404, r#"{"error":"there is no such job"}"#);
        found.map_or_else(none, |(id, job)| Response::of(200, about(id, job)))
    }

    async fn call(&self, editor: &Arc<Editor>, connection: u64, body: &str) -> Response {
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let name = observer::text(message.get("tool"));
        let known = editor.state().tools.iter().find(|tool| tool.name == name).cloned();
        let Some(Tool { spec, .. }) = known else {
            return Response::of(404, json!({"error": format!("no tool {name}"), "ran": false}).to_string());
        };
        let arguments = message.get("arguments").map(Value::to_string);
        let id = {
            let mut store = self.store();
            store.last += 1;
            let id = store.last;
            store.jobs.insert(id, Job::default());
            id
        };
        let (began, tool) = (Arc::clone(&self.store), name.clone());
        let work = editor.submit(move |editor| {
            if !lock(&began).jobs.get_mut(&id).is_some_and(Job::begins) {
                return Begun::fault(Fault::Cancelled);
            }
            editor.event(Event::CallBegun { connection, tool, call: None, parallel: false });
            toy::run(editor, spec, arguments.as_deref())
        });
        let (over, ended) = oneshot::channel();
        let (written, is_written) = oneshot::channel();
        let (editor, store) = (Arc::clone(editor), Arc::clone(&self.store));
        tokio::spawn(async move {
            let (end, outcome, then) = match work.await {
                Ok(Done { result: Ok(result), then }) => {
                    (format!(r#""state":"over","ok":{}"#, editor.oddly(result).finish()), Some("ok"), then)
                }
                Ok(Done { result: Err(Fault::Cancelled), .. }) => (r#""state":"unrun""#.to_owned(), None, None),
                Ok(Done { result: Err(fault), then }) => {
                    let why = quoted(&toy::words(fault));
                    (format!(r#""state":"over","error":{why}"#), Some("error"), then)
                }
                Err(_) => (r#""state":"interrupted""#.to_owned(), None, None),
            };
            if let Some(job) = lock(&store).jobs.get_mut(&id) {
                job.end.get_or_insert_with(|| end.clone());
            }
            if let Some(outcome) = outcome {
                editor.event(Event::CallEnded { connection, tool: name, outcome });
            }
            // Nobody waits any more if the call has become a job.
            let _ = over.send(end);
            // What follows a call would end the connection that its answer is written on.
            let _ = is_written.await;
            if let Some(order) = then {
                editor.order(order);
            }
        });
        let at_once = timeout(AT_ONCE, ended).await.ok().and_then(Result::ok);
        let at_once = at_once.as_deref().and_then(|end| end.strip_prefix(r#""state":"over","#));
        let body = at_once.map_or_else(|| format!(r#"{{"job":"{id}"}}"#), |said| format!("{{{said}}}"));
        Response(200, body, Some(written))
    }
}

impl Job {
    /// Begins the job, unless it was cancelled.
    fn begins(&mut self) -> bool {
        self.has_begun = self.end.is_none();
        self.has_begun
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a whole request; `None` if the connection ends before that, or if it is too long.
async fn read(reader: &mut Reader) -> std::io::Result<Option<Request>> {
    let mut bytes = BytesMut::new();
    loop {
        match observer::http(&bytes) {
            Ok(Some(_)) => break,
            Ok(None) if bytes.len() <= 2 * REQUEST_MAX_BYTES => {}
            _ => return Ok(None),
        }
        if reader.read(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let mut words = head.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let (path, query) = words.next().map_or(("", ""), |target| target.split_once('?').unwrap_or((target, "")));
    let token = head.split("\r\n").find_map(|line| line.strip_prefix("Authorization: Bearer ")).unwrap_or_default();
    let [path, query, token, body] = [path, query, token, body].map(str::to_owned);
    Ok(Some(Request { method, path, query, token, body }))
}

impl Face for ToyJobsFace {
    fn tools(&self) -> Vec<Tool> {
        self.toy.tools()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, _editor: &'a Arc<Editor>, _moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, _editor: &Arc<Editor>, _again: bool) {}

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        let file = || json!({"port": port, "pid": editor.config.pid(), "token": self.store().token}).to_string();
        OwnFile { path: BRIDGE, content: running.then(file), private: true }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(MANIFEST.0, MANIFEST.1)
    }

    fn process_began(&self, editor: &Editor) {
        let mut store = self.store();
        let [name, token] = [editor.guid(), editor.guid()].map(|guid| guid.replace('-', ""));
        *store = Store { name, token, last: store.last, ..Store::default() };
    }

    fn locks(&self) -> bool {
        false
    }
}
