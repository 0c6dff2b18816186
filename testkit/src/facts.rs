//! Lays what a codec states of its package beside what its simulated editor states, and codecs with one wrong fact.
//!
//! The two are written by themselves, from the description of the protocol. A difference is a mistake in one of them.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast::protocol::dialect::elsewhere::names_elsewhere;
use holdfast::protocol::dialect::{
    BadGreeting, BadMessage, BadOutcomes, Companion, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint,
    Greeted, Heartbeat, Hello, Inbound, JobProgress, JournalKey, JournalOutcome, ListStep, LocalSocket, Order,
    OwnServer, PackageTool, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent, Reception,
    Recovery, Reply, Roles, Secret, Sending, Shape as WireShape, Standing, ToolListing, Turn, UnreadableCalls, WireId,
    WorkStatus,
};
use holdfast::protocol::framing::Framer;
use holdfast::protocol::framing::http::{Request, Response};
use holdfast::protocol::ids::CallId;
use holdfast_fake_unity::{Package, PackageVersion, Port, Shape, Task, observer};
use serde_json::value::RawValue;

/// A kind of fact that a codec states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// The file that names the port.
    PortFile,
    /// The ports of the package's own code.
    DefaultPorts,
    /// How requests and replies belong together.
    Shape,
    /// Whether the editor connects to the gateway.
    WhoDials,
    /// Whether the editor listens on a local socket.
    LocalSocket,
    /// How many requests the editor takes at once.
    Window,
    /// The largest message.
    RequestMax,
    /// Whether a reload is announced.
    Announces,
    /// Whether the editor remembers what became of calls.
    Journal,
    /// Whether the result of a compilation can be had over its reload.
    CompileFile,
    /// Whether a reload follows a compilation without a word.
    ReloadFollows,
    /// Whether the editor answers while its main thread is busy.
    Heartbeat,
    /// Whether the main thread is asked, because nothing else tells of it.
    MainThread,
    /// Whether the editor connects to a listener of ours.
    Push,
    /// Whether a call can be withdrawn.
    Withdraws,
    /// The tool that reads Unity's console.
    Console,
    /// The names of the same tools in other packages.
    OtherNames,
    /// Which tools may be sent again.
    Repeatable,
    /// Which tools run beside others.
    Parallel,
    /// What proves that nothing of a call ran.
    Unrun,
    /// What is said to a program before it has proved to be an editor.
    Greeting,
}

impl Fact {
    /// All kinds.
    pub const ALL: [Self; 21] = [
        Self::PortFile,
        Self::DefaultPorts,
        Self::Shape,
        Self::WhoDials,
        Self::LocalSocket,
        Self::Window,
        Self::RequestMax,
        Self::Announces,
        Self::Journal,
        Self::CompileFile,
        Self::ReloadFollows,
        Self::Heartbeat,
        Self::MainThread,
        Self::Push,
        Self::Withdraws,
        Self::Console,
        Self::OtherNames,
        Self::Repeatable,
        Self::Parallel,
        Self::Unrun,
        Self::Greeting,
    ];
}

fn text(version: PackageVersion) -> String {
    version.to_string()
}

fn prepared(dialect: &dyn Dialect, task: Task, package: &Package, listed: Option<&[EditorTool]>) -> PreparedCall {
    let call = package.calls(task, "x");
    let tool = listed.unwrap_or_default().iter().find(|tool| tool.name == call.tool);
    let arguments = RawValue::from_string(call.arguments.to_string()).expect("JSON");
    let sending = Sending {
        call: CallId::from_random([7; 16]),
        nth: 1,
        seq: 1,
        journal: package.facts.journal.then_some("journal"),
        project_known: true,
    };
    dialect.prepare_call(&sending, call.tool, tool, &arguments)
}

/// Returns where a codec and the simulated editor of the same package differ in what they state. `listed` are the tools of the
/// simulated editor as the codec reads them; `errors` are replies of its editor that refuse or fail.
pub fn differences(
    dialect: &dyn Dialect,
    package: &'static Package,
    listed: Option<&[EditorTool]>,
    errors: &[String],
) -> Vec<(Fact, String)> {
    let (facts, properties) = (&package.facts, dialect.properties());
    let mut found = Vec::new();
    let mut beside = |fact: Fact, codec: String, editor: String| {
        if codec != editor {
            found.push((fact, format!("{fact:?}: the codec has {codec}, the simulated editor {editor}")));
        }
    };
    let version = package.newest();
    let paths: Vec<&str> = dialect.project_files().iter().map(|file| file.path).collect();
    let in_home = dialect.user_file("/project").map(|file| file.folder);
    let paths: Vec<&str> = paths.into_iter().chain(in_home).collect();
    let names_port = match facts.port {
        Port::InHome(folder, _) => Some(folder),
        port => port.file().map(|(path, _)| path),
    };
    beside(Fact::PortFile, format!("{:?}", names_port.filter(|path| paths.contains(path))), format!("{names_port:?}"));
    beside(Fact::DefaultPorts, format!("{:?}", properties.default_ports), format!("{:?}", facts.default_ports));
    let shape = match facts.shape {
        Shape::Stream { .. } => WireShape::Stream,
        Shape::ConnectionEach if facts.jobs => WireShape::Jobs,
        Shape::ConnectionEach => WireShape::Requests,
    };
    beside(Fact::Shape, format!("{:?}", properties.shape), format!("{shape:?}"));
    let arrives = matches!(dialect.endpoint(1, &ProjectFacts::default()), Endpoint::Arrival(_));
    beside(Fact::WhoDials, arrives.to_string(), facts.dials.to_string());
    beside(Fact::Window, properties.window.to_string(), facts.window.to_string());
    let takes =
        if facts.request_max_bytes == usize::MAX { properties.request_max_bytes } else { facts.request_max_bytes };
    beside(Fact::RequestMax, properties.request_max_bytes.to_string(), takes.to_string());
    for version in facts.versions.iter().copied().chain([version]) {
        let codec = dialect.announces(Some(&text(version)));
        beside(Fact::Announces, format!("{codec:?}"), format!("{:?}", Some((facts.announces)(version))));
    }
    let count = prepared(dialect, Task::Count, package, listed);
    beside(Fact::Journal, matches!(count.recovery, Recovery::Journal(_)).to_string(), facts.journal.to_string());
    let compile = prepared(dialect, Task::Compile, package, listed);
    let told =
        matches!(compile.recovery, Recovery::Journal(_) | Recovery::ResultFile { .. } | Recovery::StatusFile { .. });
    beside(Fact::CompileFile, told.to_string(), facts.compile_file.to_string());
    let played = facts.versions.iter().copied().chain([version]);
    let unannounced = played.clone().any(|version| !(facts.announces)(version));
    beside(Fact::ReloadFollows, compile.reload_follows.to_string(), unannounced.to_string());
    beside(Fact::Heartbeat, properties.heartbeat.to_string(), facts.heartbeat.to_string());
    let is_socket = dialect.local_socket("/project").is_some();
    beside(Fact::LocalSocket, is_socket.to_string(), (facts.port == Port::Socket).to_string());
    let id = WireId { number: 1, call: None, agreed: None };
    let is_asked = dialect.main_thread_question(id).is_some() && dialect.has_main_thread_question();
    beside(Fact::MainThread, is_asked.to_string(), (facts.main_thread_question)(version).is_some().to_string());
    beside(Fact::Push, properties.push.to_string(), facts.push.to_string());
    let key = JournalKey { journal: "journal".to_owned(), id: CallId::from_random([7; 16]).to_string(), seq: 1 };
    let withdraws = dialect.encode(id, &Order::Cancel(&key)).is_ok() || dialect.hangs_up_to_cancel();
    beside(Fact::Withdraws, withdraws.to_string(), facts.withdraws.to_string());
    let console = facts.console.filter(|console| properties.roles.console.contains(console));
    let has_one = !properties.roles.console.is_empty();
    beside(Fact::Console, format!("{console:?} {has_one}"), format!("{:?} {}", facts.console, facts.console.is_some()));
    for (own, others) in facts.other_names {
        let others: BTreeSet<&str> = others.iter().copied().filter(|name| name != own).collect();
        let elsewhere = |dialect: &dyn Dialect| -> BTreeSet<&'static str> {
            let is_one = |names: &[&str]| names.contains(own);
            let Roles { compile, console, play_mode, code, editor_state, menu_item } = dialect.properties().roles;
            let roles = [compile, console, play_mode, code, editor_state, menu_item];
            if roles.into_iter().any(is_one) { names_elsewhere(&[own]).into_iter().collect() } else { BTreeSet::new() }
        };
        let known = elsewhere(dialect);
        let codec: BTreeSet<&str> = known.intersection(&others).copied().collect();
        beside(Fact::OtherNames, format!("{own} {codec:?}"), format!("{own} {others:?}"));
    }
    let (_, words) = facts.greeting;
    let hello = Hello::default();
    if let Ok(greeting) = dialect.encode(id, &Order::Greeting { hello: &hello, said: &[] }) {
        let frame = match greeting {
            Encoded::Frame(frame) => frame,
            Encoded::Request(request) => request.encode(1, None),
        };
        let method = (package.wire.asked)(&frame, &observer::message(&frame)).method;
        let is_one = words.contains(&method.as_str()) || facts.shape == Shape::ConnectionEach;
        beside(Fact::Greeting, format!("{method} {is_one}"), format!("{method} true"));
    }
    // A tool that the gateway itself answers is not the editor's.
    let own = |tool: &&EditorTool| dialect.package_tool(&tool.name).is_none();
    for tool in listed.unwrap_or_default().iter().filter(own) {
        let name = tool.name.as_str();
        beside(
            Fact::Repeatable,
            format!("{name} {}", tool.repeatable),
            format!("{name} {}", facts.repeatable.contains(&name)),
        );
        let beside_others = facts.window > 1 && facts.parallel.contains(&name);
        beside(Fact::Parallel, format!("{name} {}", tool.parallel), format!("{name} {beside_others}"));
    }
    for error in errors {
        let refused = match dialect.decode(error.as_bytes()) {
            Ok(Inbound::Reply { reply: Reply::Error(error), .. } | Inbound::Next(Reply::Error(error))) => {
                error.refusal.is_some()
            }
            _ => false,
        };
        // Not every refusal can be told from the words of a tool, but what the codec believes must be one.
        let unrun = (package.wire.is_unrun)(&observer::message(error.as_bytes()));
        beside(Fact::Unrun, format!("{refused} of {error}"), format!("{} of {error}", refused && unrun));
    }
    found
}

/// Whether only the user can name the port of a package: then a file that names it cannot be wrong.
fn has_port_file(package: &Package) -> bool {
    package.facts.port.file().is_some()
}

/// Whether a wrong fact of this kind differs from the right one for a package.
pub fn applies(fact: Fact, package: &Package) -> bool {
    let facts = &package.facts;
    match fact {
        Fact::PortFile => has_port_file(package),
        Fact::OtherNames => !facts.other_names.is_empty(),
        Fact::Repeatable | Fact::Parallel | Fact::Unrun => facts.shape != Shape::ConnectionEach,
        Fact::CompileFile => !facts.journal,
        _ => true,
    }
}

/// A codec with one wrong fact.
#[derive(Debug)]
pub struct Wrong {
    inner: &'static dyn Dialect,
    fact: Fact,
    properties: Properties,
}

impl Wrong {
    /// Makes the codec. It lives as long as the process.
    pub fn of(inner: &'static dyn Dialect, fact: Fact) -> &'static Self {
        let mut properties = *inner.properties();
        match fact {
            Fact::DefaultPorts => properties.default_ports = &[1],
            Fact::Shape => {
                properties.shape = match properties.shape {
                    WireShape::Stream => WireShape::Requests,
                    WireShape::Requests | WireShape::Jobs => WireShape::Stream,
                }
            }
            Fact::Window => properties.window += 2,
            Fact::RequestMax => properties.request_max_bytes /= 2,
            Fact::Heartbeat => properties.heartbeat = !properties.heartbeat,
            Fact::Push => properties.push = !properties.push,
            Fact::Console => {
                properties.roles.console = if properties.roles.console.is_empty() { &["any"] } else { &[] };
            }
            Fact::OtherNames => properties.roles = Roles { console: properties.roles.console, ..Roles::NONE },
            _ => {}
        }
        Box::leak(Box::new(Self { inner, fact, properties }))
    }
}

impl Dialect for Wrong {
    fn properties(&self) -> &'static Properties {
        Box::leak(Box::new(self.properties))
    }
    fn project_files(&self) -> &'static [ProjectFile] {
        if self.fact == Fact::PortFile { &[] } else { self.inner.project_files() }
    }
    fn announces(&self, version: Option<&str>) -> Option<bool> {
        let announces = self.inner.announces(version);
        if self.fact == Fact::Announces { announces.map(|does| !does) } else { announces }
    }
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        match (self.fact, order) {
            (Fact::Withdraws, Order::Cancel(_)) if !self.inner.hangs_up_to_cancel() => {
                match self.inner.encode(id, order) {
                    Ok(_) => Err(EncodeError::NotSpoken),
                    Err(_) => self.inner.encode(id, &Order::ListTools { step: 0, development: false }),
                }
            }
            (Fact::Greeting, Order::Greeting { .. }) => {
                self.inner.encode(id, &Order::ListTools { step: 0, development: false })
            }
            _ => self.inner.encode(id, order),
        }
    }
    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        let mut inbound = self.inner.decode(frame)?;
        let reply = match &mut inbound {
            Inbound::Reply { reply, .. } | Inbound::Next(reply) => Some(reply),
            _ => None,
        };
        if let (Fact::Unrun, Some(Reply::Error(error))) = (self.fact, reply) {
            error.refusal = match error.refusal {
                Some(_) => None,
                None => Some(holdfast::protocol::dialect::Refused {
                    how: holdfast::protocol::dialect::Refusal::Leaving,
                    of: holdfast::protocol::dialect::RefusedCall::Any,
                }),
            };
        }
        Ok(inbound)
    }
    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        let mut listed = self.inner.read_tools(reply, step);
        if let ListStep::Tools(listing) = &mut listed {
            for tool in &mut listing.tools {
                let mut wrong = (**tool).clone();
                match self.fact {
                    Fact::Repeatable => wrong.repeatable = !wrong.repeatable,
                    Fact::Parallel => wrong.parallel = !wrong.parallel,
                    _ => {}
                }
                *tool = wrong.into();
            }
        }
        listed
    }
    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        let mut call = self.inner.prepare_call(sending, name, tool, arguments);
        let key = || JournalKey { journal: "wrong".to_owned(), id: sending.call.to_string(), seq: sending.seq };
        match self.fact {
            Fact::Journal => {
                call.recovery = match call.recovery {
                    Recovery::Journal(_) => Recovery::None,
                    _ => Recovery::Journal(key()),
                };
            }
            Fact::CompileFile => {
                call.recovery = match call.recovery {
                    Recovery::ResultFile { .. } | Recovery::StatusFile { .. } | Recovery::Journal(_) => Recovery::None,
                    _ => Recovery::Journal(key()),
                };
            }
            Fact::ReloadFollows => call.reload_follows = !call.reload_follows,
            _ => {}
        }
        call
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn title(&self) -> &'static str {
        self.inner.title()
    }
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        self.inner.read_project(files)
    }
    fn gives_way(&self) -> bool {
        self.inner.gives_way()
    }
    fn stated_tools(&self) -> Option<ToolListing> {
        self.inner.stated_tools()
    }
    fn moves_up(&self) -> u16 {
        self.inner.moves_up()
    }
    fn own_server(&self) -> Option<&'static OwnServer> {
        self.inner.own_server()
    }
    fn recognizes(&self, said: &[u8]) -> Option<&'static str> {
        self.inner.recognizes(said)
    }
    fn framer(&self) -> Box<dyn Framer> {
        self.inner.framer()
    }
    fn endpoint(&self, port: u16, facts: &ProjectFacts) -> Endpoint {
        match self.inner.endpoint(port, facts) {
            Endpoint::Arrival(port) if self.fact == Fact::WhoDials => Endpoint::Port(port),
            _ if self.fact == Fact::WhoDials => Endpoint::Arrival(port),
            right => right,
        }
    }
    fn reception(&self) -> Option<Box<dyn Reception>> {
        self.inner.reception()
    }
    fn read_response(&self, id: WireId, request: &Request, response: Response) -> Reply {
        self.inner.read_response(id, request, response)
    }
    fn greets_alike(&self, first: &Response, now: &Response) -> bool {
        self.inner.greets_alike(first, now)
    }
    fn submitted(&self, reply: &Reply, journal: &str) -> Option<JournalKey> {
        self.inner.submitted(reply, journal)
    }
    fn answers_with_jobs(&self) -> bool {
        self.inner.answers_with_jobs()
    }
    fn is_empty_reply(&self, reply: &Reply) -> bool {
        self.inner.is_empty_reply(reply)
    }
    fn gives_up(&self, reply: &Reply) -> bool {
        self.inner.gives_up(reply)
    }
    fn begins_work(&self, reply: &Reply, asked: &Recovery) -> Option<Recovery> {
        self.inner.begins_work(reply, asked)
    }
    fn read_status_file(&self, of: &Recovery, bytes: &[u8]) -> Option<WorkStatus> {
        self.inner.read_status_file(of, bytes)
    }
    fn read_unnamed(&self, frame: &[u8]) -> Option<Reply> {
        self.inner.read_unnamed(frame)
    }
    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        self.inner.check_greeting(hello, said)
    }
    fn package_tool(&self, name: &str) -> Option<PackageTool> {
        self.inner.package_tool(name)
    }
    fn tools_within(&self, tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        self.inner.tools_within(tool, arguments)
    }
    fn log_prefix(&self, tool: &str) -> Option<&'static str> {
        self.inner.log_prefix(tool)
    }
    fn companions(&self) -> &'static [Companion] {
        self.inner.companions()
    }
    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        self.inner.read_answer(reply)
    }
    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply> {
        self.inner.read_result_file(bytes)
    }
    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        self.inner.read_outcomes(reply, asked)
    }
    fn read_heartbeat(&self, reply: &Reply) -> Option<Heartbeat> {
        self.inner.read_heartbeat(reply)
    }
    fn read_standing(&self, reply: &Reply) -> Option<Standing> {
        self.inner.read_standing(reply)
    }
    fn has_main_thread_question(&self) -> bool {
        self.inner.has_main_thread_question() ^ (self.fact == Fact::MainThread)
    }
    fn main_thread_question(&self, id: WireId) -> Option<Encoded> {
        let question = self.inner.main_thread_question(id);
        let other = || Encoded::Request(Request { method: "GET", path: "/".into(), headers: &[], body: "".into() });
        if self.fact == Fact::MainThread { question.is_none().then(other) } else { question }
    }
    fn local_socket(&self, project: &str) -> Option<LocalSocket> {
        let socket = self.inner.local_socket(project);
        let other = || LocalSocket(vec!["/tmp/socket".to_owned()]);
        if self.fact == Fact::LocalSocket { socket.is_none().then(other) } else { socket }
    }
    fn alive_every(&self) -> Option<Duration> {
        self.inner.alive_every()
    }
    fn asks_outcomes_alone(&self) -> bool {
        self.inner.asks_outcomes_alone()
    }
    fn hangs_up_to_cancel(&self) -> bool {
        self.inner.hangs_up_to_cancel() && self.fact != Fact::Withdraws
    }
    fn list_file(&self) -> Option<&'static str> {
        self.inner.list_file()
    }
    fn read_list_file(&self, bytes: &[u8]) -> Option<ToolListing> {
        self.inner.read_list_file(bytes)
    }
    fn turn(&self, tool: &EditorTool) -> Turn {
        self.inner.turn(tool)
    }
    fn picture_files(&self, tool: &str, answer: &EditorAnswer) -> Vec<String> {
        self.inner.picture_files(tool, answer)
    }
    fn read_main_thread(&self, reply: &Reply) -> Option<Heartbeat> {
        self.inner.read_main_thread(reply)
    }
    fn read_job_progress(&self, reply: &Reply) -> Option<JobProgress> {
        self.inner.read_job_progress(reply)
    }
    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage> {
        self.inner.decode_push(line, token)
    }
    fn push_sequence(&self, line: &[u8]) -> Option<u64> {
        self.inner.push_sequence(line)
    }
}
