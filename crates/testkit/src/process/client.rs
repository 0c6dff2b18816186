//! A real gateway and the client on its pipes. The client trusts nothing: every line must be one JSON-RPC message, every id is
//! answered once at the most, progress rises and stops before the answer.

use std::fs::File;
use std::io::Write as _;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use holdfast_mcp_client::answer::{Answer, Verdict};
use holdfast_mcp_client::threads;
use serde_json::json;

use super::room::{Room, SOON, start, until};

type Mcp = threads::Client<ChildStdin, ChildStdout>;

/// How a gateway is started: an almost empty environment, a home of its own.
pub fn command(room: &Room) -> Command {
    let mut command = Command::new(room.program());
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

/// The name of the test program, without the hash that cargo gives it.
fn suite() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name).to_owned()
}

/// A gateway and the client that started it.
pub struct Client {
    child: Child,
    mcp: Mcp,
    log: PathBuf,
}

impl Deref for Client {
    type Target = Mcp;

    fn deref(&self) -> &Mcp {
        &self.mcp
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Mcp {
        &mut self.mcp
    }
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
        self.mcp.read();
        self
    }

    /// Starts a gateway whose stdout nobody reads.
    pub fn deaf(room: &Room, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self::start(room, command, |child| (child.stdin.take().expect("piped"), child.stdout.take().expect("piped")))
    }

    /// Starts a gateway whose stdin and stdout are the far ends of these; what it says is read.
    #[cfg(unix)]
    pub fn over(room: &Room, mut command: Command, [stdin, stdout]: [(Stdio, std::os::fd::OwnedFd); 2]) -> Self {
        command.stdin(stdin.0).stdout(stdout.0);
        let near = (ChildStdin::from(stdin.1), ChildStdout::from(stdout.1));
        Self::start(room, command, |_| near).hearing()
    }

    fn start(room: &Room, mut command: Command, pipes: impl FnOnce(&mut Child) -> (ChildStdin, ChildStdout)) -> Self {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = room.path().join(format!("gateway-{number}.log"));
        let stderr = File::create(&log).expect("a log file");
        let mut child = start(|| command.stderr(stderr).spawn());
        // The command holds the far ends: with it they fall, and only the gateway has them.
        drop(command);
        let (stdin, stdout) = pipes(&mut child);
        Self { child, mcp: Mcp::new(&suite(), SOON, stdin, stdout), log }
    }

    /// The gateway's process.
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

    // ---- what it says ----

    /// The handshake.
    pub fn initialize(&mut self) -> Answer {
        let answer = self.open_as("process-test", "2025-11-25", json!({}));
        assert_eq!(answer.0["result"]["serverInfo"]["name"], "holdfast", "{}", answer.0);
        answer
    }

    /// A call goes through and its answer is right.
    pub fn echoes(&mut self) {
        let word = format!("word {}", self.session().next_id());
        let answer = self.done("echo", &json!({"text": word}));
        assert_eq!((answer.verdict(), &answer.body()["Echo"]), (Verdict::Ok, &json!(word)), "{}", answer.0);
    }

    // ---- the end ----

    /// Sends it a signal.
    #[cfg(unix)]
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("the gateway lives");
    }

    /// Ends it as nothing can refuse: by SIGKILL, on Windows by `TerminateProcess`.
    pub fn kill(&mut self) {
        self.child.kill().expect("the gateway lives");
    }

    /// The gateway ends by itself within the bound; how long it took.
    pub fn ended_within(&mut self, bound: Duration) -> (ExitStatus, Duration) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                let took = began.elapsed();
                if self.reads() {
                    // What it said last is read before anybody judges it.
                    self.wait(SOON, |session| session.has_ended().then_some(()));
                }
                return (status, took);
            }
            assert!(began.elapsed() < bound, "the gateway still runs after {bound:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Nothing was said that may not be said, and nothing is left behind.
    pub fn check(&self, room: &Room) {
        self.mcp.check();
        assert!(!self.log().contains(r#""event":"panic""#), "a part of the gateway panicked");
        let of_ours = |path: &PathBuf| path.file_stem().is_some_and(|stem| *stem == *self.pid().to_string());
        // Windows takes away a file that was open with the last who has it open.
        until("nothing is left behind", || !room.run_records().iter().any(of_ours));
    }

    /// Ends the session as a client does and checks all that was heard.
    pub fn close(mut self, room: &Room) -> Duration {
        self.close_stdin();
        let (status, took) = self.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "{status}");
        self.check_all();
        self.check(room);
        took
    }
}
