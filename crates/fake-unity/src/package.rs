//! All that the suites, the demo and the checkers know of a simulated package.
//!
//! What stands here is written from the description of a package's protocol. It is never read from the gateway's codecs, so that a
//! wrong fact there shows as a difference.

use std::fmt;

use serde_json::{Value, json};

use super::observer::Wire;
use super::package_version::PackageVersion;

/// A simulated package.
pub struct Package {
    /// The name in flags, records and file names. The codec in the gateway has the same one.
    pub name: &'static str,
    /// The package as people know it, with the versions that are played.
    pub title: &'static str,
    /// What the demo calls its act around [`Task::Compile`].
    pub compile_act: &'static str,
    /// What a checker expects of an editor with the package.
    pub facts: Facts,
    /// How an observer reads the bytes of its connections.
    pub wire: Wire,
    /// Returns the call that does this task. The text goes into the call, so that it can be told from all others. A task for which
    /// the package has no tool becomes a call that the editor refuses or that does little.
    pub call: fn(Task, &str, PackageVersion) -> Call,
}

/// What a checker expects of an editor with a package.
#[derive(Debug)]
pub struct Facts {
    /// The packages in the manifest, as `name` and `version`, of a project that has it.
    pub manifest: (&'static str, &'static str),
    /// Where the port of the bridge stands.
    pub port: Port,
    /// The ports of the package's own code, best first.
    pub default_ports: &'static [u16],
    /// Versions that differ in their behaviour, oldest first. Empty: only one is played.
    pub versions: &'static [PackageVersion],
    /// How requests and their replies belong together.
    pub shape: Shape,
    /// Whether the editor connects to the gateway, which listens on the port.
    pub dials: bool,
    /// Whether the answer to a call may only name a job, which is asked for until it has ended.
    pub jobs: bool,
    /// How many requests the editor takes at once.
    pub window: usize,
    /// Whether only calls count for the window: other requests are answered beside them.
    pub window_is_of_calls: bool,
    /// The largest message that the editor takes, in bytes.
    pub request_max_bytes: usize,
    /// Tools, and requests other than calls, that run beside others.
    pub parallel: &'static [&'static str],
    /// Tools that the editor declares read-only or idempotent.
    pub repeatable: &'static [&'static str],
    /// What precedes the method in a message, and the methods of a greeting: nothing else may reach a program that has not proved
    /// to be an editor.
    pub greeting: (&'static str, &'static [&'static str]),
    /// Whether this version says that a reload begins or that the editor quits, before it closes the connection.
    pub announces: fn(PackageVersion) -> bool,
    /// Whether a file of the project shows for certain that an editor which closed its connection reloads.
    pub shows_reloads: bool,
    /// Whether the bridge restarts with a domain reload only: another port is another domain.
    pub restarts_by_reload: bool,
    /// Whether the editor remembers what became of calls, over a reload.
    pub journal: bool,
    /// Whether a file has the result of a compilation, over the reload that follows it.
    pub compile_file: bool,
    /// Whether the editor serves one client: each that connects displaces all others.
    pub one_client: bool,
    /// A tool that begins work, and is refused while that work runs: other calls are taken meanwhile. The work takes as long as a
    /// compilation does.
    pub keeps_off: Option<&'static str>,
    /// Whether the editor keeps such a result under an id that the request names, and is asked for it.
    pub keeps_results: bool,
    /// Whether [`Task::Compile`] ends in a domain reload by itself. If not, somebody has to order one.
    pub compile_reloads: bool,
    /// Whether the answer to [`Task::Compile`] shows whether a reload follows.
    pub compile_tells: bool,
    /// Whether the editor answers a question about itself while its main thread is busy.
    pub heartbeat: bool,
    /// What the main thread of this version is asked while there is no call, because nothing else tells of it.
    pub main_thread_question: fn(PackageVersion) -> Option<&'static str>,
    /// Whether this version says which dialog is open.
    pub names_dialogs: fn(PackageVersion) -> bool,
    /// Whether this version says that the editor has not settled since its start.
    pub tells_of_settling: fn(PackageVersion) -> bool,
    /// Whether this message only says that the editor works on a request that it names, and does not answer it.
    pub goes_on: fn(&Value) -> bool,
    /// Whether some version connects to a listener of ours.
    pub push: bool,
    /// Whether answers have the results of calls. If not, they have the id of the call, and may come before it has run.
    pub results: bool,
    /// Whether a request that the client cancelled can be withdrawn.
    pub withdraws: bool,
    /// Whether only the end of the connection withdraws a request, and no message does.
    pub hangs_up: bool,
    /// Whether a running call ends when it is withdrawn. If not, only one that waits in the editor does.
    pub ends_withdrawn: bool,
    /// Whether the tools are those of the package, and never others.
    pub fixed_list: bool,
    /// Whether a change of the tools is announced.
    pub tells_of_changes: bool,
    /// Whether neither messages nor replies have an id: one is on its way at a time.
    pub unnumbered: bool,
    /// Whether results are texts that need not be JSON.
    pub text_results: bool,
    /// Whether a result that was torn still says beside itself that the call was a success.
    pub says_success_apart: bool,
    /// Whether the reader takes each read from its socket for whole messages, so that a message which the network cuts in two is
    /// misread.
    pub misreads_cuts: bool,
    /// Whether only tests have the package.
    pub toy: bool,
    /// How an editor with the package is known to be the project's own.
    pub identity: Identity,
    /// Whether a running call may report its progress.
    pub progress: bool,
    /// Whether the package's own server adds arguments that its caller left out.
    pub adds_arguments: bool,
    /// Whether the package's own server translates the arguments of this tool.
    pub translates: fn(&str) -> bool,
    /// Tools that the editor cannot tell apart, as (what was called, what the editor takes it for).
    pub sent_as: &'static [(&'static str, &'static str)],
    /// The tool that reads Unity's console, if there is one.
    pub console: Option<&'static str>,
    /// The address of a resource that the package's own server has and the editor answers, if there is one.
    pub resource: Option<&'static str>,
    /// Names that a tool of another package has for the tool of this one, as (this one's, the others').
    pub other_names: &'static [(&'static str, &'static [&'static str])],
}

impl Facts {
    /// Whether a gateway can have one editor with the package at most: only its user can name a port, and names one, on which one
    /// editor listens.
    pub fn is_single(&self) -> bool {
        self.port == Port::Told && !self.dials
    }

    /// Whether all editors meet the gateway at one port.
    pub fn shares_port(&self) -> bool {
        self.port == Port::Told && self.dials
    }

    /// What most packages have in common; a package states what differs.
    pub(crate) const USUAL: Self = Self {
        manifest: ("", ""),
        port: Port::Told,
        default_ports: &[],
        versions: &[],
        shape: Shape::Stream { names_calls: true, names_all: true },
        dials: false,
        jobs: false,
        window: 1,
        window_is_of_calls: false,
        request_max_bytes: 0,
        parallel: &["echo", "sleep", "big", "get-logs", "steps"],
        repeatable: &[],
        greeting: ("", &[]),
        announces: |_| false,
        shows_reloads: false,
        restarts_by_reload: false,
        journal: false,
        compile_file: false,
        one_client: false,
        keeps_off: None,
        keeps_results: false,
        compile_reloads: true,
        compile_tells: true,
        heartbeat: false,
        main_thread_question: |_| None,
        names_dialogs: |_| false,
        tells_of_settling: |_| false,
        goes_on: |_| false,
        push: false,
        results: true,
        withdraws: false,
        hangs_up: false,
        ends_withdrawn: true,
        fixed_list: false,
        tells_of_changes: true,
        text_results: false,
        says_success_apart: false,
        toy: false,
        misreads_cuts: false,
        identity: Identity::Unsaid,
        progress: false,
        adds_arguments: false,
        translates: |_| false,
        sent_as: &[],
        unnumbered: false,
        console: Some("get-logs"),
        resource: None,
        other_names: &[],
    };
}

/// Where the port of a bridge stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// In this member of the user's settings, at this path in the project. They exist while nothing listens too.
    Settings(&'static str, &'static str),
    /// In this member of a file at this path in the project, which the bridge writes while it listens. Without it the editor cannot
    /// be greeted.
    Record(&'static str, &'static str),
    /// Nowhere: only the user can name it.
    Told,
    /// Nowhere, and nobody needs it: the bridge listens on a local socket whose name follows from the project's path. A port leads
    /// there only if the user put something on it that passes on to the socket.
    Socket,
    /// In this member of a file in this folder of the user's home, which the bridge writes while it listens. The name of the file
    /// follows from the project's path.
    InHome(&'static str, &'static str),
}

impl Port {
    /// The path and the member of the project's file that names the port.
    pub fn file(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Settings(path, member) | Self::Record(path, member) => Some((path, member)),
            Self::Told | Self::Socket | Self::InHome(..) => None,
        }
    }
}

/// How an editor is known to be the project's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Neither side says who it is.
    Unsaid,
    /// Some version is told with each call which editor the call is for, as the project's files name it.
    WithEachCall,
    /// The file that names the port names the project too, and has a token that each request must show.
    InFile,
    /// Before the first call both sides prove that they know a secret of the project's files.
    Proven,
}

/// How requests and their replies belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One connection carries all requests.
    Stream {
        /// Whether the id of a request names its call.
        names_calls: bool,
        /// Whether each reply has the id of its request. If not, some are told by their order alone.
        names_all: bool,
    },
    /// Each request has a connection of its own.
    ConnectionEach,
}

/// What a suite wants from an editor, whatever the package calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Changes nothing and succeeds.
    Look,
    /// Returns the text.
    Echo,
    /// Counts the runs under the text.
    Count,
    /// Counts the runs under the text, and is answered when the editor gets the order to release it.
    CountHeld,
    /// Answers after this many milliseconds.
    Sleep(u32),
    /// Holds the main thread for this many milliseconds.
    Block(u32),
    /// Only reads.
    Logs,
    /// Compiles or refreshes, with a domain reload.
    Compile,
    /// Answers that the tool failed.
    Fail,
    /// Answers with an exception.
    Throw,
    /// Answers with this many bytes.
    Big(u32),
    /// Answers when the editor gets the order to release it.
    Hold,
    /// Runs this many steps of 100 ms, sends progress, and continues after a reload, where the package has such a tool.
    Steps(u32),
    /// A tool that is not on any tool list.
    Unheard,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// The arguments.
    pub arguments: Value,
    /// Whether the call may be sent again.
    pub repeatable: bool,
}

impl Call {
    pub(crate) fn of(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, repeatable: false }
    }

    pub(crate) fn repeatable(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, repeatable: true }
    }
}

/// The demo's act around `compile`.
pub(crate) const COMPILE_ACT: &str = "compile, which ends in a reload that cuts off its own answer";

/// Returns the call for a task in a package that takes the test tools under their own names.
pub(crate) fn usual(task: Task, text: &str, _version: PackageVersion) -> Call {
    match task {
        Task::Look | Task::Echo => Call::of("echo", json!({"text": text})),
        Task::Count => Call::of("count", json!({"key": text})),
        Task::CountHeld => Call::of("count", json!({"key": text, "hold": true})),
        Task::Sleep(ms) => Call::of("sleep", json!({"ms": ms})),
        Task::Block(ms) => Call::of("block", json!({"ms": ms})),
        Task::Logs => Call::repeatable("get-logs", json!({})),
        Task::Compile => Call::of("compile", json!({})),
        Task::Fail => Call::of("fail", json!({})),
        Task::Throw => Call::of("throw", json!({})),
        Task::Big(bytes) => Call::of("big", json!({"n": bytes})),
        Task::Hold => Call::of("hold", json!({})),
        Task::Steps(steps) => Call::repeatable("steps", json!({"n": steps, "ms": 100})),
        Task::Unheard => Call::of("unheard\u{1b}[31m\nof\u{202e}", json!({})),
    }
}

impl Package {
    /// Returns the call of the newest version for a task.
    pub fn calls(&self, task: Task, text: &str) -> Call {
        (self.call)(task, text, self.newest())
    }

    /// Returns the newest version that is played.
    pub fn newest(&self) -> PackageVersion {
        self.facts.versions.last().copied().unwrap_or(PackageVersion::NEWEST)
    }
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Package {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Package {}
