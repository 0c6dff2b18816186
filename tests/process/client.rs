//! A small MCP client over the pipes of a real gateway. It trusts nothing: every line must be one JSON-RPC message, every id is
//! answered once at the most, progress rises and stops before the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Room, SOON};
use wire::Recording;

#[path = "../support/wire.rs"]
mod wire;

/// How a call ended, read from its answer as an AI reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    ToolError,
    NotExecuted,
    Unknown,
    StillRunning,
    /// A JSON-RPC error.
    Refused,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Answer(pub Value);

impl Answer {
    pub fn text(&self) -> String {
        let blocks = self.0["result"]["content"].as_array();
        let texts = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The editor's own result.
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or(Value::Null)
    }

    pub fn verdict(&self) -> Verdict {
        if self.0.get("error").is_some() {
            return Verdict::Refused;
        }
        if self.0["result"]["isError"] != true {
            return Verdict::Ok;
        }
        let text = self.text();
        if text.starts_with("Not executed: ") {
            Verdict::NotExecuted
        } else if text.starts_with("Outcome unknown: ") {
            Verdict::Unknown
        } else if text.starts_with("Still running: ") {
            Verdict::StillRunning
        } else {
            Verdict::ToolError
        }
    }
}

#[derive(Default)]
struct Heard {
    asked: BTreeSet<u64>,
    /// Answered once or, from then on, not at all.
    cancelled: BTreeSet<u64>,
    answers: BTreeMap<u64, Value>,
    times: BTreeMap<u64, Instant>,
    nameless: Vec<Value>,
    notifications: Vec<Value>,
    progress: BTreeMap<u64, f64>,
    faults: Vec<String>,
    ended: bool,
}

impl Heard {
    fn line(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.faults.push(format!("no JSON on stdout: {:?}", String::from_utf8_lossy(line)));
            return;
        };
        if !message.is_object() || message["jsonrpc"] != "2.0" {
            self.faults.push(format!("no JSON-RPC message on stdout: {message}"));
        } else if message.get("method").is_some() {
            if message["method"] == "notifications/progress" {
                self.progress(&message["params"]);
            }
            self.notifications.push(message);
        } else if message.get("result").is_some() == message.get("error").is_some() {
            self.faults.push(format!("neither one result nor one error: {message}"));
        } else if message["id"].is_null() {
            self.nameless.push(message);
        } else {
            self.answer(message);
        }
    }

    fn answer(&mut self, message: Value) {
        let Some(id) = message["id"].as_u64().filter(|id| self.asked.contains(id)) else {
            self.faults.push(format!("an answer to something that was not asked: {message}"));
            return;
        };
        self.times.insert(id, Instant::now());
        if let Some(first) = self.answers.insert(id, message.clone()) {
            self.faults.push(format!("two answers to {id}: {first} and {message}"));
        }
    }

    /// Tokens are the ids of their requests here.
    fn progress(&mut self, params: &Value) {
        let (Some(id), Some(now)) = (params["progressToken"].as_u64(), params["progress"].as_f64()) else {
            self.faults.push(format!("odd progress: {params}"));
            return;
        };
        if self.answers.contains_key(&id) {
            self.faults.push(format!("progress of {id} after its answer"));
        }
        if self.progress.insert(id, now).is_some_and(|before| before >= now) {
            self.faults.push(format!("the progress of {id} does not rise: {now}"));
        }
    }
}

#[derive(Default)]
struct Ear {
    heard: Mutex<Heard>,
    changed: Condvar,
    wire: Recording,
}

impl Ear {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn listen(&self, stdout: ChildStdout) {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let whole = line.pop() == Some(b'\n');
            self.wire.received(&line);
            let mut heard = self.lock();
            if whole {
                heard.line(&line);
            } else {
                heard.faults.push("stdout ended in the middle of a line".to_owned());
            }
            drop(heard);
            self.changed.notify_all();
            line.clear();
        }
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

/// How a gateway is started: an almost empty environment, a home of its own.
pub fn command(room: &Room) -> Command {
    let mut command = Command::new(super::holdfast());
    environment(&mut command, room);
    command
}

/// See [`command`].
pub fn environment(command: &mut Command, room: &Room) {
    bare(command, room);
    command.env("HOLDFAST_STATE_DIR", room.state()).current_dir(room.path());
    // Each step: the timelines of the chaos suite are read from the log, and a failure shows its end.
    command.env("HOLDFAST_LOG", "debug");
}

/// Nothing in the environment but the user's home, and what no program of the system starts without.
pub fn bare(command: &mut Command, room: &Room) {
    command.env_clear().env("HOME", room.home());
    if cfg!(windows) {
        let data = room.home().join("AppData");
        command
            .env("USERPROFILE", room.home())
            .env("APPDATA", data.join("Roaming"))
            .env("LOCALAPPDATA", data.join("Local"));
    }
    // Windows' sockets and shells look for their parts there. Coverage runs need to know where their counters go.
    for kept in ["SystemRoot", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
}

/// A gateway and the client that started it.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Kept instead of being read when the client is deaf.
    stdout: Option<ChildStdout>,
    ear: Arc<Ear>,
    deaf: bool,
    last_id: u64,
    log: PathBuf,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(40).collect();
            let tail: Vec<&str> = lines.into_iter().rev().collect();
            let _ = writeln!(std::io::stderr(), "---- the gateway's last words\n{}", tail.join("\n"));
        }
    }
}

impl Client {
    /// Starts a gateway and opens a session.
    pub fn open(room: &Room, arguments: &[&str]) -> Self {
        let mut command = command(room);
        command.args(arguments);
        let mut client = Self::spawn(room, command);
        client.initialize();
        client
    }

    /// As [`open`](Self::open), for a client that waits so many seconds for an answer (6 at the least): what is not answered
    /// is told about 5 seconds before.
    pub fn impatient(room: &Room, seconds: u64, arguments: &[&str]) -> Self {
        let mut command = command(room);
        command.args(arguments).env("HOLDFAST_PATIENCE", seconds.to_string());
        let mut client = Self::spawn(room, command);
        client.initialize();
        client
    }

    /// Starts a gateway whose stdout is read.
    pub fn spawn(room: &Room, command: Command) -> Self {
        Self::deaf(room, command).hearing()
    }

    /// Begins to read stdout.
    pub fn hearing(mut self) -> Self {
        let (ear, stdout) = (Arc::clone(&self.ear), self.take_stdout());
        self.deaf = false;
        std::thread::spawn(move || ear.listen(stdout));
        self
    }

    /// Starts a gateway whose stdout nobody reads.
    pub fn deaf(room: &Room, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self::start(room, command, |child| (child.stdin.take(), child.stdout.take()))
    }

    /// Starts a gateway whose stdin and stdout are the far ends of these; what it says is read.
    #[cfg(unix)]
    pub fn over(room: &Room, mut command: Command, [stdin, stdout]: [(Stdio, std::os::fd::OwnedFd); 2]) -> Self {
        command.stdin(stdin.0).stdout(stdout.0);
        let near = (Some(ChildStdin::from(stdin.1)), Some(ChildStdout::from(stdout.1)));
        Self::start(room, command, |_| near).hearing()
    }

    fn start(
        room: &Room,
        mut command: Command,
        pipes: impl FnOnce(&mut Child) -> (Option<ChildStdin>, Option<ChildStdout>),
    ) -> Self {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = room.path().join(format!("gateway-{number}.log"));
        let stderr = File::create(&log).expect("a log file");
        let mut child = command.stderr(stderr).spawn().expect("the gateway starts");
        // The command holds the far ends: with it they fall, and only the gateway has them.
        drop(command);
        let (stdin, stdout) = pipes(&mut child);
        let ear = Arc::new(Ear { wire: Recording::begin(), ..Ear::default() });
        Self { child, stdin, stdout, ear, deaf: true, last_id: 0, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where the gateway's log is.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// What the gateway logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    // ---- to the gateway ----

    /// Writes bytes as they are. An error is the gateway's end of the pipe being gone.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.ear.wire.sent(bytes);
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush())
    }

    /// Takes stdin away, to be written elsewhere.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().expect("stdin is open")
    }

    /// Takes stdout of a deaf client away.
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.stdout.take().expect("nobody reads stdout")
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).expect("the gateway reads stdin");
    }

    /// The line of a request, and its id: it may be answered from now on.
    pub fn request_line(&mut self, method: &str, params: &Value) -> (u64, String) {
        self.last_id = self.last_id.wrapping_add(1);
        let id = self.last_id;
        self.ear.lock().asked.insert(id);
        (id, format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})))
    }

    /// The first request gets this id; the next ones count up from it. To be said before the first.
    pub fn count_from(&mut self, first: u64) {
        self.last_id = first.wrapping_sub(1);
    }

    /// The id of a request that the gateway sent to the client, if it did.
    pub fn asked_by_server(&self, method: &str) -> Option<Value> {
        self.ear
            .lock()
            .notifications
            .iter()
            .find(|message| message["method"] == method)
            .map(|message| message["id"].clone())
    }

    /// Sends a request and gives its id.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let (id, line) = self.request_line(method, params);
        self.write(line.as_bytes()).expect("the gateway reads stdin");
        id
    }

    /// Sends a call with a progress token and gives its id.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        let token = self.last_id + 1;
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}}))
    }

    /// Takes a request back.
    pub fn cancel(&mut self, id: u64) {
        self.ear.lock().cancelled.insert(id);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }

    pub fn initialize(&mut self) -> Answer {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "process-test", "version": "1"}});
        let id = self.ask("initialize", &params);
        let answer = self.answer(id);
        assert_eq!(answer.0["result"]["serverInfo"]["name"], "holdfast", "{}", answer.0);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    // ---- from the gateway ----

    /// The answer to a request, within the usual bound.
    pub fn answer(&self, id: u64) -> Answer {
        self.answer_within(id, SOON)
    }

    pub fn answer_within(&self, id: u64, bound: Duration) -> Answer {
        let answer = self.wait(bound, |heard| heard.answers.get(&id).cloned());
        Answer(answer.unwrap_or_else(|| panic!("request {id} has no answer within {bound:?}")))
    }

    /// Whether stdout has ended.
    pub fn has_ended(&self) -> bool {
        self.ear.lock().ended
    }

    /// When the answer was heard.
    pub fn answered_at(&self, id: u64) -> Option<Instant> {
        self.ear.lock().times.get(&id).copied()
    }

    pub fn is_answered(&self, id: u64) -> bool {
        self.ear.lock().answers.contains_key(&id)
    }

    /// Whether the answer comes within this time; asked where its absence is an answer too.
    pub fn answered_before(&self, id: u64, bound: Duration) -> bool {
        self.wait(bound, |heard| heard.answers.get(&id).map(|_| ())).is_some()
    }

    /// What the client was told of a call's progress so far.
    pub fn progress(&self, id: u64) -> Vec<Value> {
        let heard = self.ear.lock();
        let told = heard.notifications.iter().map(|message| &message["params"]);
        told.filter(|params| params["progressToken"] == id).cloned().collect()
    }

    /// How often it was told by this method.
    pub fn notified(&self, method: &str) -> usize {
        self.ear.lock().notifications.iter().filter(|message| message["method"] == method).count()
    }

    /// Sends a call and waits for its answer.
    pub fn done(&mut self, tool: &str, arguments: &Value) -> Answer {
        let id = self.call(tool, arguments);
        self.answer(id)
    }

    /// Names of the tools as listed now.
    pub fn tools(&mut self) -> Vec<String> {
        let id = self.ask("tools/list", &json!({}));
        let answer = self.answer(id).0;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {answer}"));
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// A call goes through and its answer is right.
    pub fn echoes(&mut self) {
        let word = format!("word {}", self.last_id);
        let answer = self.done("echo", &json!({"text": word}));
        assert_eq!((answer.verdict(), &answer.body()["Echo"]), (Verdict::Ok, &json!(word)), "{}", answer.0);
    }

    /// An answer under the id null.
    pub fn nameless(&self) -> Value {
        self.wait(SOON, |heard| heard.nameless.pop()).expect("an answer under null")
    }

    fn wait<T>(&self, bound: Duration, mut look: impl FnMut(&mut Heard) -> Option<T>) -> Option<T> {
        let until = Instant::now() + bound;
        let mut heard = self.ear.lock();
        loop {
            if let Some(found) = look(&mut heard) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || heard.ended {
                return look(&mut heard);
            }
            heard = self.ear.changed.wait_timeout(heard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    // ---- the end ----

    #[cfg(unix)]
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("the gateway lives");
    }

    /// Ends it as nothing can refuse: by SIGKILL, on Windows by `TerminateProcess`.
    pub fn kill(&mut self) {
        self.child.kill().expect("the gateway lives");
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The gateway ends by itself within the bound; how long it took.
    pub fn ended_within(&mut self, bound: Duration) -> (ExitStatus, Duration) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                let took = began.elapsed();
                if !self.deaf {
                    // What it said last is read before anybody judges it.
                    self.wait(SOON, |heard| heard.ended.then_some(()));
                }
                return (status, took);
            }
            assert!(began.elapsed() < bound, "the gateway still runs after {bound:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Nothing was said that may not be said, and nothing is left behind.
    pub fn check(&self, room: &Room) {
        let faults = std::mem::take(&mut self.ear.lock().faults);
        assert!(faults.is_empty(), "{faults:#?}");
        assert!(!self.log().contains(r#""event":"panic""#), "a part of the gateway panicked");
        let of_ours = |path: &PathBuf| path.file_stem().is_some_and(|stem| *stem == *self.pid().to_string());
        // Windows takes away a file that was open with the last who has it open.
        super::until("nothing is left behind", || !room.run_records().iter().any(of_ours));
    }

    /// Ends the session as a client does and checks all that was heard.
    pub fn close(mut self, room: &Room) -> Duration {
        self.close_stdin();
        let (status, took) = self.ended_within(Duration::from_secs(5));
        assert_eq!(status.code(), Some(0), "{status}");
        let unanswered: Vec<u64> = {
            let heard = self.ear.lock();
            heard
                .asked
                .iter()
                .filter(|id| !heard.answers.contains_key(id) && !heard.cancelled.contains(id))
                .copied()
                .collect()
        };
        assert!(unanswered.is_empty(), "never answered: {unanswered:?}");
        self.check(room);
        took
    }
}
