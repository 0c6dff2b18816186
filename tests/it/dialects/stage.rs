//! What a moment is played with: an editor of a dialect, a gateway, and calls that the editor knows.

use holdfast_fake_unity::{Call, Package, Port, Task};
use serde_json::json;

use super::Room;
use crate::process::client::Client;
use crate::process::unity::Unity;

/// An editor, and a gateway that found it by the project's files.
pub struct Stage {
    // Fields are dropped in this order; the client is first, because it prints its log when a test fails.
    pub client: Client,
    pub unity: Unity,
    pub room: Room,
}

/// A room with an editor.
pub fn editor(package: &Package) -> (Room, Unity) {
    let room = Room::new();
    let unity = start(package, &room);
    (room, unity)
}

/// Starts an editor of the room's project.
pub fn start(package: &Package, room: &Room) -> Unity {
    Unity::of_project(room, &["--dialect", package.name])
}

/// Returns the flags with which a gateway finds the editor. The port is needed only for a package that does not write it to a
/// file.
pub fn flags(package: &Package, room: &Room, unity: &Unity) -> Vec<String> {
    // Some packages have more tools here than are listed at first: a tool that comes later is wanted.
    let toolsets = ["--toolsets".to_owned(), "later".to_owned()];
    let mut flags = vec!["--project".to_owned(), room.project().display().to_string()];
    flags.extend(toolsets);
    // What is looked at is in this session's own log.
    flags.extend(["--hub".to_owned(), "never".to_owned()]);
    if package.facts.port == Port::Told {
        flags.extend(["--port".to_owned(), unity.port.to_string()]);
    }
    flags
}

pub fn words(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

impl Stage {
    pub fn set(package: &Package) -> Self {
        let (room, unity) = editor(package);
        let client = Client::open(&room, &words(&flags(package, &room, &unity)));
        Self { room, unity, client }.ready()
    }

    /// Creates a stage whose client waits only a moment for each answer.
    pub fn impatient(package: &Package) -> Self {
        let (room, unity) = editor(package);
        let client = Client::impatient(&room, 7, &words(&flags(package, &room, &unity)));
        Self { room, unity, client }.ready()
    }

    pub fn ready(mut self) -> Self {
        self.client.done("holdfast_wait_ready", &json!({"timeout_seconds": 20}));
        self
    }

    pub fn call(&mut self, package: &Package, task: Task, text: &str) -> u64 {
        let Call { tool, arguments, .. } = package.calls(task, text);
        self.client.call(tool, &arguments)
    }

    /// Begins a call that counts its run and is not answered until `release`.
    pub fn hold(&mut self, package: &Package, key: &str) -> u64 {
        let mark = self.unity.mark();
        let id = self.call(package, Task::CountHeld, key);
        self.unity.hear(mark, |event| event["event"] == "call_begun");
        id
    }

    pub fn end(self) {
        self.client.close(&self.room);
    }
}
