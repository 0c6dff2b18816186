//! The real binary in a separate environment: its own HOME, state folder and working directory, hardly any environment
//! variables, and child processes that end when their handle is dropped. Every wait is bounded.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use holdfast_fake_unity::OwnPort;
use holdfast_mcp_client::session::Session;
use holdfast_mcp_client::tasks;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::process::room::start;

/// The longest wait for any event; only a broken binary reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a future, at most [`PATIENCE`].
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tasks::within(PATIENCE, what, future).await
}

/// A temporary folder for one test.
pub struct Place {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Done {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The text of stdout.
    pub out: String,
    /// The text of stderr.
    pub err: String,
}

impl Done {
    /// The text of stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Place {
    /// A new place.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::create_dir(folder.path().join("elsewhere")).expect("it is writable");
        Self { folder }
    }

    /// Returns a path in the folder. `below` has `/` between its parts.
    pub fn path(&self, below: &str) -> PathBuf {
        let folder = dunce::canonicalize(self.folder.path()).expect("it exists");
        // Joined part by part, because paths on Windows have no `/`.
        below.split('/').fold(folder, |path, part| path.join(part))
    }

    /// Writes a file, and creates the folders above it.
    pub fn write(&self, below: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().expect("below the place")).expect("it is writable");
        std::fs::write(&path, content).expect("it is writable");
        path
    }

    /// Creates a Unity project without an editor.
    pub fn project(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        for folder in ["Assets", "ProjectSettings", "UserSettings", "Library", "Packages", "Temp"] {
            std::fs::create_dir_all(path.join(folder)).expect("it is writable");
        }
        path
    }

    /// The variables that name the user's home on this system, and those that every program needs to start.
    fn home(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let home = self.folder.path();
        let mut told = vec![("HOME", home.into())];
        if cfg!(windows) {
            told.extend([("USERPROFILE", home.into()), ("APPDATA", home.join("AppData").join("Roaming").into())]);
            told.push(("LOCALAPPDATA", home.join("AppData").join("Local").into()));
            // Windows' socket library needs this variable to find its files.
            told.extend(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
        }
        told
    }

    /// Returns a command that runs the binary with these arguments, in a folder that is not a project.
    pub fn command<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
        command
            .args(words)
            .env_clear()
            .envs(self.home())
            .env("HOLDFAST_STATE_DIR", self.path("state"))
            .current_dir(self.path("elsewhere"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end.
    pub async fn run<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Done {
        finish(self.command(words), b"").await
    }
}

/// Runs a command to its end, with `input` on its stdin.
pub async fn finish(mut command: Command, input: &[u8]) -> Done {
    let mut child = start(|| command.spawn());
    let mut stdin = child.stdin.take().expect("piped");
    // A command that does not read its stdin may have ended already.
    let _ = stdin.write_all(input).await;
    drop(stdin);
    let output = within("end of the command", child.wait_with_output()).await.expect("it can be waited for");
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A `holdfast fake-unity` process.
pub struct Unity {
    /// The process.
    pub child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// The port on which the editor listens, or that it connects to.
    pub port: u16,
    _own: OwnPort,
}

impl Unity {
    /// Starts an editor on a free port, which stays its own when nobody listens there.
    pub async fn start(place: &Place, words: &[&str]) -> Self {
        let own = OwnPort::take().expect("a free port");
        let port = own.number().to_string();
        let mut command = place.command(["fake-unity", "--port", &port].into_iter().chain(words.iter().copied()));
        command.stderr(Stdio::null());
        let mut child = start(|| command.spawn());
        let stdin = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut unity = Self { child, stdin, lines, port: 0, _own: own };
        let port = unity.hear("listening").await["port"].as_u64().expect("a port");
        unity.port = u16::try_from(port).expect("a port");
        unity
    }

    /// Starts an editor that has this project open.
    pub async fn of(place: &Place, project: &Path) -> Self {
        Self::start(place, &["--project", text(project)]).await
    }

    /// The port as an argument.
    pub fn at(&self) -> String {
        self.port.to_string()
    }

    /// Sends the fake editor a command line.
    pub async fn say(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.expect("it lives");
    }

    /// Waits for the next line with this event.
    pub async fn hear(&mut self, event: &str) -> Value {
        self.hear_that(event, |line| line["event"] == event).await
    }

    /// Waits for the next line for which `is` is true.
    pub async fn hear_that(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        within(what, async {
            loop {
                let line = self.lines.next_line().await.expect("readable").expect("it lives");
                let line: Value = serde_json::from_str(&line).expect("a JSON object a line");
                if is(&line) {
                    return line;
                }
            }
        })
        .await
    }

    /// Quits the editor as its user does.
    pub async fn quit(mut self) {
        self.say("quit").await;
        within("end of the editor", self.child.wait()).await.expect("it can be waited for");
    }

    /// Kills the editor (SIGKILL, or its equivalent on Windows).
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it can be killed");
    }
}

/// A `holdfast serve` process and an MCP client on its pipes.
pub struct Server {
    child: Child,
    client: tasks::Client<ChildStdin, ChildStdout>,
    /// Number of messages that have been returned or skipped.
    taken: usize,
}

impl Server {
    /// Starts a gateway with these arguments and opens a session.
    pub async fn start(place: &Place, words: &[&str]) -> Self {
        Self::open(place.command(["serve"].into_iter().chain(words.iter().copied()))).await
    }

    /// Starts this command and opens a session.
    pub async fn open(command: Command) -> Self {
        Self::open_as(command, "the-test").await
    }

    /// Starts this command and opens a session with this client name.
    pub async fn open_as(mut command: Command, name: &str) -> Self {
        let mut child = start(|| command.spawn());
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut client = tasks::Client::new(env!("CARGO_CRATE_NAME"), PATIENCE, stdin, stdout);
        client.read();
        let opened = client.open_as(name, "2025-06-18", json!({})).await;
        assert_eq!(opened["serverInfo"]["name"], "holdfast", "{opened}");
        let taken = client.session().lines().len();
        Self { child, client, taken }
    }

    /// The process id of the gateway.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it lives")
    }

    /// Sends bytes and a line end.
    pub async fn send(&mut self, line: &[u8]) {
        self.client.bytes(&[line, b"\n"].concat()).await;
    }

    /// Waits for the next answer; skips requests and notifications.
    pub async fn answer(&mut self) -> Value {
        let taken = &mut self.taken;
        let next = |session: &mut Session<_>| {
            let found = session.lines().iter().skip(*taken).position(|line| line.value.get("method").is_none())?;
            *taken += found + 1;
            session.lines().get(*taken - 1).map(|line| line.value.clone())
        };
        self.client.wait("an answer", next).await
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.client.request(method, params).await;
        let answer = self.client.answer(&id).await.value;
        let place = self.client.session().lines().iter().position(|line| line.value == answer);
        self.taken = place.expect("it came") + 1;
        answer
    }

    /// Calls a tool and returns its result.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        answer["result"].clone()
    }

    /// The structured content of `holdfast_status`.
    pub async fn status(&mut self) -> Value {
        self.call("holdfast_status", json!({})).await["structuredContent"].clone()
    }

    /// Polls the status until `is` is true of it.
    pub async fn status_that(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        within(what, async {
            loop {
                let status = self.status().await;
                if is(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Closes stdin and waits until the gateway has ended. Returns the exit code and stderr. Fails if stdout broke a rule of
    /// MCP.
    pub async fn end(mut self) -> (Option<i32>, String) {
        self.client.close_stdin().await;
        let mut stderr = self.child.stderr.take().expect("piped");
        let ended = within("end of the gateway", async {
            let mut said = Vec::new();
            stderr.read_to_end(&mut said).await.expect("readable");
            let status = self.child.wait().await.expect("it can be waited for");
            (status.code(), String::from_utf8_lossy(&said).into_owned())
        })
        .await;
        self.client.ended().await;
        let session = self.client.session();
        assert!(session.faults().is_empty(), "{:#?}", session.faults());
        ended
    }
}

/// A path as a command-line argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// The text of a tool result.
pub fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
