//! A real gateway and the client on its pipes. The client checks everything: every line is one JSON-RPC message, every id is
//! answered at most once, and progress rises and ends before the answer.

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

/// Returns the command that starts a gateway, with an almost empty environment and a separate home folder.
pub fn command(room: &Room) -> Command {
    let mut command = Command::new(room.program());
    environment(&mut command, room);
    command
}

/// Sets the environment, the state folder and the working folder of a command, as [`command`] does.
pub fn environment(command: &mut Command, room: &Room) {
    bare(command, room);
    command.env("HOLDFAST_STATE_DIR", room.state()).current_dir(room.path());
    // Log every step: the timelines of the chaos suite are read from the log, and a failing test prints the end of it.
    command.env("HOLDFAST_LOG", "debug");
}

/// Removes everything from the environment except the user's home folder and the variables that every program needs.
pub fn bare(command: &mut Command, room: &Room) {
    command.env_clear().env("HOME", room.home());
    if cfg!(windows) {
        let data = room.home().join("AppData");
        command
            .env("USERPROFILE", room.home())
            .env("APPDATA", data.join("Roaming"))
            .env("LOCALAPPDATA", data.join("Local"));
    }
    // On Windows, sockets and shells find their files through the first variable. Coverage runs need the second for their
    // counters.
    for kept in ["SystemRoot", "LLVM_PROFILE_FILE"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
}

/// Returns the name of the test program, without the hash that cargo appends.
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

    /// Like [`open`](Self::open), for a client that waits this many seconds for an answer (at least 6). If the editor has not
    /// answered about 5 seconds before that, the gateway answers the call itself.
    pub fn impatient(room: &Room, seconds: u64, arguments: &[&str]) -> Self {
        let mut command = command(room);
        command.args(arguments).env("HOLDFAST_PATIENCE", seconds.to_string());
        let mut client = Self::spawn(room, command);
        client.initialize();
        client
    }

    /// Starts a gateway, and reads its stdout.
    pub fn spawn(room: &Room, command: Command) -> Self {
        Self::deaf(room, command).hearing()
    }

    /// Begins to read the gateway's stdout.
    pub fn hearing(mut self) -> Self {
        self.mcp.read();
        self
    }

    /// Starts a gateway, and does not read its stdout.
    pub fn deaf(room: &Room, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self::start(room, command, |child| (child.stdin.take().expect("piped"), child.stdout.take().expect("piped")))
    }

    /// Starts a gateway whose stdin and stdout are the far ends of these pairs, and reads the gateway's stdout.
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
        // The command holds the far ends. After this drop only the gateway has them.
        drop(command);
        let (stdin, stdout) = pipes(&mut child);
        Self { child, mcp: Mcp::new(&suite(), SOON, stdin, stdout), log }
    }

    /// Returns the gateway's stdout, if this client does not read it.
    pub fn stdout(&self) -> Option<&ChildStdout> {
        self.mcp.output()
    }

    /// Returns the id of the gateway's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the path of the gateway's log.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// Returns the gateway's log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    // ---- what it says ----

    /// Makes the handshake and returns the answer.
    pub fn initialize(&mut self) -> Answer {
        let answer = self.open_as("process-test", "2025-11-25", json!({}));
        assert_eq!(answer.0["result"]["serverInfo"]["name"], "holdfast", "{}", answer.0);
        answer
    }

    /// Makes a call of `echo` and checks its answer.
    pub fn echoes(&mut self) {
        let word = format!("word {}", self.session().next_id());
        let answer = self.done("echo", &json!({"text": word}));
        assert_eq!((answer.verdict(), &answer.body()["Echo"]), (Verdict::Ok, &json!(word)), "{}", answer.0);
    }

    // ---- the end ----

    /// Stops all threads of the gateway.
    #[cfg(unix)]
    pub fn stop(&self) {
        super::system::stop(self.child.id());
    }

    /// Sends a signal to the gateway.
    #[cfg(unix)]
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("the gateway lives");
    }

    /// Kills the gateway so that it cannot handle the signal: with SIGKILL, or on Windows with `TerminateProcess`.
    pub fn kill(&mut self) {
        self.child.kill().expect("the gateway lives");
    }

    /// Waits until the gateway ends by itself, within the bound. Returns its status and how long that took.
    pub fn ended_within(&mut self, bound: Duration) -> (ExitStatus, Duration) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                let took = began.elapsed();
                if self.reads() {
                    // Read all of the output before a test judges it.
                    self.wait(SOON, |session| session.has_ended().then_some(()));
                }
                return (status, took);
            }
            assert!(began.elapsed() < bound, "the gateway still runs after {bound:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Checks that the gateway wrote nothing wrong, did not panic and left no run record behind.
    pub fn check(&self, room: &Room) {
        self.mcp.check();
        let log = self.log();
        let panic = log.lines().find(|line| line.contains(r#""event":"panic""#));
        assert_eq!(panic, None, "a part of the gateway panicked");
        let of_ours = |path: &PathBuf| path.file_stem().is_some_and(|stem| *stem == *self.pid().to_string());
        // Windows removes an open file only when the last handle is closed.
        until("nothing is left behind", || !room.run_records().iter().any(of_ours));
    }

    /// Ends the session as a client does, checks everything that was received, and returns how long the end took.
    pub fn close(mut self, room: &Room) -> Duration {
        self.close_stdin();
        let (status, took) = self.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "{status}");
        self.check_all();
        self.check(room);
        took
    }
}
