//! The folder of a test, and the ways in which tests wait.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use holdfast_fake_unity::OwnPort;

/// The bound of a wait for something that should be quick. Even on a busy machine only a hang exceeds it. It is shorter than the
/// 55 s after which the gateway reports on a call by itself; that report would hide a missing one.
pub const SOON: Duration = Duration::from_secs(50);

/// Ports that a room keeps. A soak starts an editor again and again, each on another port.
const PORTS: usize = 32;

/// The number of attempts that a test of a time limit has.
pub const GOES: usize = 10;

/// Held while a process is started, and while a connection is accepted. On Windows a process that is started at that moment would
/// inherit the accepted connection, and keep it open as long as the process lives.
pub static STARTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Starts a process while no connection is being accepted.
pub fn start<T>(spawn: impl FnOnce() -> std::io::Result<T>) -> T {
    let _no_accept = STARTING.lock();
    spawn().expect("the program starts")
}

/// A temporary folder for one test: a home, a project, a count file.
pub struct Room {
    folder: tempfile::TempDir,
    program: &'static OsStr,
    ports: Mutex<VecDeque<OwnPort>>,
}

impl Room {
    /// Creates a temporary folder. `program` starts its gateways and editors.
    pub fn of(program: &'static OsStr) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let room = Self { folder, program, ports: Mutex::default() };
        std::fs::create_dir(room.home()).expect("a home");
        room
    }

    /// The binary under test.
    pub fn program(&self) -> &'static OsStr {
        self.program
    }

    /// Returns a port that is this room's own, whether something listens on it or not, and each time another one. After
    /// `PORTS` more of them it is given back.
    pub fn port(&self) -> u16 {
        let own = OwnPort::take().expect("a free port");
        let number = own.number();
        let mut ports = self.ports.lock().expect("no holder panics");
        ports.push_back(own);
        if ports.len() > PORTS {
            ports.pop_front();
        }
        number
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the home of the test's user.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Returns the state folder of the gateways.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Returns the path of the user's configuration of holdfast.
    pub fn config(&self) -> PathBuf {
        let folder = match std::env::consts::OS {
            "windows" => "AppData/Roaming",
            "macos" => "Library/Application Support",
            _ => ".config",
        };
        folder.split('/').chain(["holdfast", "config.toml"]).fold(self.home(), |path, part| path.join(part))
    }

    /// Returns the state folder that is used if no variable names another one.
    pub fn state_in_home(&self) -> PathBuf {
        self.home().join(match std::env::consts::OS {
            "windows" => "AppData/Local/holdfast",
            "macos" => "Library/Application Support/holdfast",
            _ => ".local/state/holdfast",
        })
    }

    /// Returns the folder of the Unity project.
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// Returns the project's URI, as clients name it in their roots.
    pub fn project_uri(&self) -> String {
        let path = self.project().display().to_string().replace('\\', "/");
        format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
    }

    /// Returns the file in which editors count runs.
    pub fn count_file(&self) -> PathBuf {
        self.path().join("counts")
    }

    /// Returns the log of the editors' events, one JSON object for each line, with its time.
    pub fn editor_log(&self) -> PathBuf {
        self.path().join("editor.log")
    }

    /// Returns the file with the editors' stderr.
    pub fn editor_errors(&self) -> PathBuf {
        self.path().join("editor-errors.log")
    }

    /// Returns how often `count` ran with this key. The editor writes each run to a file before it replies.
    pub fn runs(&self, key: &str) -> usize {
        let text = std::fs::read_to_string(self.count_file()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line["key"] == key).count()
    }

    /// Returns the run records of gateways. None may be left at the end.
    pub fn run_records(&self) -> Vec<PathBuf> {
        let listed = std::fs::read_dir(self.state().join("run"));
        listed.map(|files| files.flatten().map(|file| file.path()).collect()).unwrap_or_default()
    }
}

/// Checks that `go` takes less than `bound` in at least one of `GOES` attempts. Code that waits when it must not wait does so in
/// every attempt, but a busy machine is slow only sometimes. The benchmarks and the chaos report measure the times.
pub fn once_within(what: &str, bound: Duration, mut go: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.last().is_none_or(|last| *last >= bound) {
        assert!(took.len() < GOES, "{what}: not once within {bound:?}, but {took:?}");
        took.push(go());
    }
}

/// Waits until `holds` returns true. The bound is generous, because a correct program ends the wait long before it.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
