//! A short session between the codec of a package and its simulated editor, always the same one. The targets of the package begin
//! from what was said in it, so a package without a corpus is fuzzed too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast::limits::{EDITOR_MESSAGE_MAX_BYTES, PROJECT_FILE_MAX_BYTES};
use holdfast::net::Net as _;
use holdfast::platform::host::Host as _;
use holdfast::protocol::dialect::{
    Dialect, EditorTool, EncodeError, Encoded, FileState, Greeted, Hello, Inbound, JournalKey, JournalOutcome,
    ListStep, Order, ProjectFiles, Recovery, Reply, Secret, Sending, WireId,
};
use holdfast::protocol::framing::http::{Request, Response, ResponseDecoder};
use holdfast::protocol::ids::CallId;
use holdfast::survey::user_file;
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine, Package, Task};
use holdfast_testkit::host::MemoryHost;
use holdfast_testkit::net::{MemoryNet, meet};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The token that push lines must bear.
pub(super) const PUSH_TOKEN: &str = "0badc0de0badc0de0badc0de0badc0de";
/// What is called, in this order.
pub(super) const TASKS: [Task; 9] = [
    Task::Echo,
    Task::Look,
    Task::Logs,
    Task::Fail,
    Task::Throw,
    Task::Unheard,
    Task::Big(40),
    Task::Steps(2),
    Task::Compile,
];
/// Virtual time for one answer, and for what follows a compilation.
const WAIT: Duration = Duration::from_secs(10);
/// How often a job is asked for, in virtual time.
const JOB_ASKED_EVERY: Duration = Duration::from_millis(50);
const JOB_QUESTIONS_MAX: usize = 1000;

/// What was said in a session.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// The project's files, in the order in which the dialect names them.
    pub(super) files: Vec<Vec<u8>>,
    /// What the gateway greeted the editor with.
    pub(super) hello: Hello,
    /// The results of the greeting.
    pub(super) greeting: Vec<Vec<u8>>,
    /// The bodies of all frames, those of the gateway too.
    pub(super) frames: Vec<Vec<u8>>,
    /// The results of all requests.
    pub(super) results: Vec<Vec<u8>>,
    /// The responses over HTTP.
    pub(super) responses: Vec<Vec<u8>>,
    /// The lines to the push listener.
    pub(super) pushed: Vec<Vec<u8>>,
    /// The file with the result of the compilation.
    pub(super) result_file: Option<Vec<u8>>,
    /// The tools of the list.
    pub(super) tools: Vec<Arc<EditorTool>>,
}

/// Plays the session.
pub(super) fn of(dialect: &'static dyn Dialect, package: &'static Package) -> Recorded {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(play(dialect, package))
}

async fn play(dialect: &'static dyn Dialect, package: &'static Package) -> Recorded {
    let (net, host) = (MemoryNet::new(), MemoryHost::new());
    let project = crate::sim::folder("holdfast-fuzzed-project");
    let config = FakeUnityConfig {
        package,
        push: package.facts.push,
        project: Some(project.clone()),
        machine: Some(Machine(host.clone())),
        pid: Some(4242),
        ..FakeUnityConfig::default()
    };
    let unity = FakeUnity::start(config, net.clone()).await.expect("an editor in memory starts");
    let editor_port = unity.port().expect("it listens");
    let read = |path: &str| host.read(&project.join(path), PROJECT_FILE_MAX_BYTES).ok();
    let of_user = user_file(&*host, &project, dialect);
    let of_user = of_user.map(|(file, path)| (file.label, host.read(&path, PROJECT_FILE_MAX_BYTES).ok()));
    let files: Vec<(&str, Option<Vec<u8>>)> =
        dialect.project_files().iter().map(|file| (file.path, read(file.path))).chain(of_user).collect();
    let state = |content: &Option<Vec<u8>>| content.clone().map_or(FileState::Missing, FileState::Content);
    let known: ProjectFiles = files.iter().map(|(path, content)| (*path, state(content))).collect();

    let listener = net.bind(0).await.expect("a port in memory");
    let endpoint = listener.local_addr().to_string();
    let pushed = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&pushed);
    let hearing = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut lines = Vec::new();
            while let Ok(1..) = stream.read_buf(&mut lines).await {
                *heard.lock().unwrap_or_else(PoisonError::into_inner) = lines.clone();
            }
        }
    });
    let mut session = Session {
        dialect,
        net,
        said: Recorded {
            files: files.into_iter().map(|(_, content)| content.unwrap_or_default()).collect(),
            hello: Hello {
                gateway: "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned(),
                challenge: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf".to_owned(),
                expected: dialect.read_project(&known).expected,
                client_name: "cursor".to_owned(),
                editor_port,
                push_endpoint: Some(endpoint),
                push_token: Secret::new(PUSH_TOKEN),
            },
            ..Recorded::default()
        },
        token: dialect.endpoint(editor_port, &dialect.read_project(&known)).token().cloned(),
        stream: None,
        number: 0,
    };
    let journal = session.greet().await;
    session.list(package).await;
    let recovery = session.call_all(package, journal.as_deref()).await;
    tokio::time::sleep(WAIT).await;
    hearing.abort();
    let mut said = session.said;
    if let Some(Recovery::ResultFile { path, .. }) = recovery {
        said.result_file = Some(read(&path).expect("the editor leaves the file where the codec says"));
    }
    let pushed = pushed.lock().unwrap_or_else(PoisonError::into_inner);
    said.pushed = pushed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
    said
}

struct Session {
    dialect: &'static dyn Dialect,
    net: Arc<MemoryNet>,
    said: Recorded,
    token: Option<Secret>,
    stream: Option<Stream>,
    number: u64,
}

struct Stream {
    socket: holdfast::net::BoxStream,
    framer: Box<dyn holdfast::protocol::framing::Framer>,
}

impl Session {
    /// Greets the editor, and returns the name of its journal.
    async fn greet(&mut self) -> Option<String> {
        let (name, hello) = (self.dialect.name(), self.said.hello.clone());
        let mut said = Vec::new();
        loop {
            let order = Order::Greeting { hello: &hello, said: &said };
            let reply = self.ask(None, &order).await.unwrap_or_else(|| panic!("{name} answers no greeting"));
            said.push(reply);
            match self.dialect.check_greeting(&hello, &said) {
                Ok(Greeted::NotYet) => {}
                Ok(Greeted::Done(met)) => {
                    self.said.greeting = self.said.results.clone();
                    return met.journal;
                }
                Err(why) => panic!("{name} is not greeted: {why}"),
            }
        }
    }

    async fn list(&mut self, package: &Package) {
        let order = Order::ListTools { step: 0, development: true };
        let reply = self.ask(None, &order).await.unwrap_or_else(|| panic!("{} has no list", self.dialect.name()));
        match self.dialect.read_tools(&reply, 0) {
            ListStep::Tools(listing) => {
                let said: Option<Value> = self.said.results.last().and_then(|said| serde_json::from_slice(said).ok());
                let is_seen = said.is_some_and(|said| (package.wire.listed)(&said).is_some());
                assert!(is_seen || package.facts.fixed_list, "the observer of {} sees no list", package.name);
                self.said.tools = listing.tools;
            }
            other => panic!("{} lists {other:?}", self.dialect.name()),
        }
    }

    /// Makes one call of each task, and asks the journal for them. Returns how the last one leaves its result.
    async fn call_all(&mut self, package: &Package, journal: Option<&str>) -> Option<Recovery> {
        let mut recovery = None;
        let mut keys = Vec::new();
        for (nth, task) in (1u8..).zip(TASKS) {
            if task == Task::Compile {
                self.ask(None, &Order::Outcomes(&keys)).await;
                self.ask(None, &Order::Heartbeat).await;
            }
            let call = package.calls(task, "text");
            let arguments = to_raw_value(&call.arguments).expect("JSON");
            let id = CallId::from_random([nth; 16]);
            let sending = Sending { seq: nth.into(), journal, ..Sending::first(id, true) };
            let tool = self.said.tools.iter().find(|tool| tool.name == call.tool).cloned();
            let prepared = self.dialect.prepare_call(&sending, call.tool, tool.as_deref(), &arguments);
            let order = Order::Call { tool: call.tool, call: &prepared, expected: None, progress: true };
            let reply = self.ask(Some(id), &order).await;
            let key = reply.and_then(|reply| self.dialect.submitted(&reply, journal?));
            if let Some(key) = key {
                self.follow_job(key).await;
            }
            if let Recovery::Journal(key) = &prepared.recovery {
                keys.push(key.clone());
            }
            recovery = Some(prepared.recovery);
        }
        recovery
    }

    /// Asks for a job until it has ended.
    async fn follow_job(&mut self, key: JournalKey) {
        let asked = [key];
        for _ in 0..JOB_QUESTIONS_MAX {
            let Some(reply) = self.ask(None, &Order::Outcomes(&asked)).await else { return };
            if !matches!(self.dialect.read_outcomes(reply, &asked).as_deref(), Ok([JournalOutcome::Running])) {
                return;
            }
            tokio::time::sleep(JOB_ASKED_EVERY).await;
        }
        panic!("a job of the simulated editor never ends: {asked:?}");
    }

    /// Sends a message, and returns the reply to it. `None` if the dialect has no such message, or if no reply comes: a
    /// compilation may end the connection.
    async fn ask(&mut self, call: Option<CallId>, order: &Order<'_>) -> Option<Reply> {
        self.number += 1;
        let id = WireId { number: self.number, call, agreed: None };
        let message = match self.dialect.encode(id, order) {
            Ok(message) => message,
            Err(EncodeError::NotSpoken) => return None,
            Err(other) => panic!("{order:?}: {other}"),
        };
        let asked = async {
            match message {
                Encoded::Frame(frame) => self.ask_over_stream(id, &frame).await,
                Encoded::Request(request) => self.ask_over_http(id, &request).await,
            }
        };
        let reply = tokio::time::timeout(WAIT, asked).await.ok().flatten()?;
        if let Reply::Result(result) = &reply {
            self.said.results.push(result.get().as_bytes().to_vec());
        }
        Some(reply)
    }

    async fn ask_over_stream(&mut self, id: WireId, bytes: &[u8]) -> Option<Reply> {
        if self.stream.is_none() {
            let (socket, said) = meet(&*self.net, self.dialect, self.said.hello.editor_port).await.ok()?;
            let mut framer = self.dialect.framer();
            framer.push(&said);
            self.stream = Some(Stream { socket, framer });
        }
        let Stream { socket, framer } = self.stream.as_mut()?;
        let mut ours = self.dialect.framer();
        ours.push(bytes);
        self.said.frames.extend(ours.next_frame().ok().flatten().map(|body| body.to_vec()));
        socket.write_all(bytes).await.ok()?;
        let mut piece = Vec::new();
        loop {
            while let Some(body) = framer.next_frame().expect("the editor sends frames") {
                self.said.frames.push(body.to_vec());
                match self.dialect.decode(&body) {
                    Ok(Inbound::Reply { number, reply }) if number == id.number => return Some(reply),
                    Ok(Inbound::Next(reply)) => return Some(reply),
                    Ok(_) => {}
                    Err(bad) => panic!("{:?}: {bad}", String::from_utf8_lossy(&body)),
                }
            }
            piece.clear();
            if socket.read_buf(&mut piece).await.ok()? == 0 {
                return None;
            }
            framer.push(&piece);
        }
    }

    async fn ask_over_http(&mut self, id: WireId, request: &Request) -> Option<Reply> {
        let mut socket = self.net.connect(self.said.hello.editor_port).await.ok()?;
        socket
            .write_all(&request.encode(self.said.hello.editor_port, self.token.as_ref().map(Secret::reveal)))
            .await
            .ok()?;
        let mut decoder = ResponseDecoder::new(EDITOR_MESSAGE_MAX_BYTES);
        let mut piece = Vec::new();
        let response = loop {
            piece.clear();
            if socket.read_buf(&mut piece).await.ok()? == 0 {
                break decoder.end()?;
            }
            if let Some(response) = decoder.push(&piece).expect("the editor answers in HTTP") {
                break response;
            }
        };
        self.said.responses.push(response.body.to_vec());
        Some(self.dialect.read_response(id, request, response))
    }
}

/// Returns an order as it stands on the wire.
pub(super) fn wire_bytes(
    dialect: &dyn Dialect,
    port: u16,
    id: WireId,
    order: &Order<'_>,
) -> Result<Vec<u8>, EncodeError> {
    Ok(match dialect.encode(id, order)? {
        Encoded::Frame(frame) => frame.to_vec(),
        Encoded::Request(request) => request.encode(port, None).to_vec(),
    })
}

/// Returns the reply in an HTTP response to an order. There always is one, however deep the body is nested.
pub(super) fn reply_to(dialect: &dyn Dialect, id: WireId, order: &Order<'_>, status: u16, body: &[u8]) -> Reply {
    let Ok(Encoded::Request(request)) = dialect.encode(id, order) else { panic!("{order:?} was sent over HTTP") };
    dialect.read_response(id, &request, Response { status, server: None, body: body.to_vec().into() })
}
