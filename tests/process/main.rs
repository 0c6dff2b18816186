//! The real binary against a real fake editor under real faults: signals, sockets cut at chosen bytes, pipes that end or fill.
//!
//! Everything is watched from outside. A small MCP client ([`client`]) holds every line of stdout against JSON-RPC and every id
//! against "answered once"; the fake editor ([`unity`]) writes each run of its `count` tool to a file before it replies, so that
//! a call that ran twice leaves two lines; a proxy ([`proxy`]) between the two cuts, withholds or forges single messages.
//!
//! Ports are the system's choice, homes and projects are temporary, and only processes that a test started are ended.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

mod client;
mod proxy;
mod unity;

mod cuts;
mod ends;
mod finding;
mod floods;
mod losses;
mod storms;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a wait for something that should be quick may take on a busy machine. Reached only when a promise is broken.
const SOON: Duration = Duration::from_secs(20);

/// The binary under test.
const HOLDFAST: &str = env!("CARGO_BIN_EXE_holdfast");

/// A temporary place for one test: a home, a project, a count file.
struct Room {
    folder: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let room = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        std::fs::create_dir(room.home()).expect("a home");
        room
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    fn count_file(&self) -> PathBuf {
        self.path().join("counts")
    }

    /// How often `count` ran with this key, by the file that is written before the reply.
    fn runs(&self, key: &str) -> usize {
        let text = std::fs::read_to_string(self.count_file()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line["key"] == key).count()
    }

    /// Files of gateways that run; none may be left behind.
    fn run_records(&self) -> Vec<PathBuf> {
        let listed = std::fs::read_dir(self.state().join("run"));
        listed.map(|files| files.flatten().map(|file| file.path()).collect()).unwrap_or_default()
    }
}

/// Waits until something holds; the bound is generous, what is waited for is a fact.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
