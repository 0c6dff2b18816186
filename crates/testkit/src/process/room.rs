//! Where a test lives, and how it waits.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a wait for something that should be quick may take: only a hang misses it, however busy the machine is. Shorter than the 55 s
/// after which the gateway tells of a call by itself, which would hide what was not told before.
pub const SOON: Duration = Duration::from_secs(50);

/// How often a promise of time is tried.
pub const GOES: usize = 10;

/// Held while a process is started, and while a connection is accepted: what is accepted just then on Windows would be the new
/// process's too, and would stay open as long as that one lives.
pub static STARTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Starts a process while nobody accepts a connection.
pub fn start<T>(spawn: impl FnOnce() -> std::io::Result<T>) -> T {
    let _no_accept = STARTING.lock();
    spawn().expect("the program starts")
}

/// A temporary place for one test: a home, a project, a count file.
pub struct Room {
    folder: tempfile::TempDir,
    program: &'static OsStr,
}

impl Room {
    /// A temporary place, whose gateways and editors are of this program.
    pub fn of(program: &'static OsStr) -> Self {
        let room = Self { folder: tempfile::tempdir().expect("a temporary folder"), program };
        std::fs::create_dir(room.home()).expect("a home");
        room
    }

    /// The binary under test.
    pub fn program(&self) -> &'static OsStr {
        self.program
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The home of its user.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// The state folder of its gateways.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// The user's configuration of holdfast.
    pub fn config(&self) -> PathBuf {
        let folder = match std::env::consts::OS {
            "windows" => "AppData/Roaming",
            "macos" => "Library/Application Support",
            _ => ".config",
        };
        folder.split('/').chain(["holdfast", "config.toml"]).fold(self.home(), |path, part| path.join(part))
    }

    /// The state folder where no variable names another.
    pub fn state_in_home(&self) -> PathBuf {
        self.home().join(match std::env::consts::OS {
            "windows" => "AppData/Local/holdfast",
            "macos" => "Library/Application Support/holdfast",
            _ => ".local/state/holdfast",
        })
    }

    /// The Unity project.
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// The project as clients name it in their roots.
    pub fn project_uri(&self) -> String {
        let path = self.project().display().to_string().replace('\\', "/");
        format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
    }

    /// The file in which editors count.
    pub fn count_file(&self) -> PathBuf {
        self.path().join("counts")
    }

    /// What the room's editors said, one JSON object a line, each with its time.
    pub fn editor_log(&self) -> PathBuf {
        self.path().join("editor.log")
    }

    /// What the room's editors wrote to stderr.
    pub fn editor_errors(&self) -> PathBuf {
        self.path().join("editor-errors.log")
    }

    /// How often `count` ran with this key, by the file that is written before the reply.
    pub fn runs(&self, key: &str) -> usize {
        let text = std::fs::read_to_string(self.count_file()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line["key"] == key).count()
    }

    /// Files of gateways that run; none may be left behind.
    pub fn run_records(&self) -> Vec<PathBuf> {
        let listed = std::fs::read_dir(self.state().join("run"));
        listed.map(|files| files.flatten().map(|file| file.path()).collect()).unwrap_or_default()
    }
}

/// What takes less than this takes it in one go of several: what waits for something that it may not wait for does so each time, and a
/// busy machine is slow some of the time. The figures themselves are the benchmarks' and the chaos report's.
pub fn once_within(what: &str, bound: Duration, mut go: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.last().is_none_or(|last| *last >= bound) {
        assert!(took.len() < GOES, "{what}: not once within {bound:?}, but {took:?}");
        took.push(go());
    }
}

/// Waits until something holds; the bound is generous, what is waited for is a fact.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
