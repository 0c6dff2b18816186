//! What a scenario runs: a simulated editor on one of Unity's two runtimes, a gateway, and a client.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::unity::Unity;
use super::{Client, Room, Scenario, Verdict, until};

/// The runtime of the C# code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// As in Unity up to 6: the package lives in an AppDomain.
    Mono,
    /// As in Unity 7: the package lives in a collectible context.
    CoreClr,
}

impl Runtime {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mono => "mono",
            Self::CoreClr => "coreclr",
        }
    }

    /// The command that starts the editor, as words.
    pub fn words(self) -> Vec<&'static str> {
        static EDITORS: OnceLock<Value> = OnceLock::new();
        let editors = EDITORS.get_or_init(|| {
            let given = std::env::var("HOLDFAST_EDITORS").expect(
                "HOLDFAST_EDITORS names no simulated editor: `make test-all` sets it; by hand, HOLDFAST_EDITORS=$(sh scripts/csharp.sh host)",
            );
            serde_json::from_str(&given).expect("HOLDFAST_EDITORS is what `sh scripts/csharp.sh host` prints")
        });
        editors[self.name()].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The command that starts the editor.
    fn command(self) -> Command {
        let words = self.words();
        let (program, arguments) = words.split_first().expect("HOLDFAST_EDITORS has a command for each runtime");
        let mut command = Command::new(found(program));
        command.args(arguments);
        command
    }
}

/// Returns the path of a program on the `PATH`; its name if there is none. Programs here are started with an almost empty
/// environment, which has no `PATH`.
fn found(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).unwrap_or_else(|| program.into())
}

/// Runs a scenario on both runtimes at once, with a record for each.
pub fn on_both(name: &str, faults: &[&str], story: fn(Runtime, &mut Scenario)) {
    // A record gets its description from the name of its test, which is the name of the thread.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        for runtime in [Runtime::Mono, Runtime::CoreClr] {
            let thread = std::thread::Builder::new().name(test.clone());
            let run = move || story(runtime, &mut Scenario::new(&format!("unity-{name}-{}", runtime.name()), faults));
            thread.spawn_scoped(scope, run).expect("a thread");
        }
    });
}

/// The processes and the folders of a scenario. They are dropped in this order: the gateway, the editor, the folders.
pub struct Stage {
    pub client: Client,
    pub unity: Unity,
    pub room: Room,
    pub runtime: Runtime,
}

impl Stage {
    /// Starts an editor with these flags, and a gateway that finds it by its project.
    pub fn open(runtime: Runtime, flags: &[&str]) -> Self {
        Self::with_gateway(runtime, flags, |_| Vec::new())
    }

    /// Does the same as [`open`](Self::open), with more arguments for the gateway, which may depend on the editor's port.
    pub fn with_gateway(runtime: Runtime, flags: &[&str], more: impl FnOnce(u16) -> Vec<String>) -> Self {
        let room = Room::new();
        let mut unity = editor(runtime, &room, flags);
        let more = more(unity.port);
        // A faulty network between the two has a port of its own, which the proofs must cover.
        let called = more.iter().position(|word| word == "--port").and_then(|at| more.get(at + 1));
        if let Some(port) = called.filter(|port| **port != unity.port.to_string()) {
            unity.say(&format!("forward {port}"));
        }
        let client = gateway(&room, &more);
        let mut stage = Self { client, unity, room, runtime };
        stage.client.echoes();
        stage
    }

    /// Kills the editor's process if it runs, and starts another one.
    pub fn restart_editor(&mut self, flags: &[&str]) {
        self.unity.kill();
        self.unity = editor(self.runtime, &self.room, flags);
    }

    /// Makes a call of `count`, `wait` or `work`, and waits until the tool has begun.
    pub fn begun(&mut self, tool: &str, arguments: &Value) -> u64 {
        let key = arguments["key"].as_str().expect("a counted call").to_owned();
        let id = self.client.call(tool, arguments);
        until("the tool begins", || self.room.runs(&key) == 1);
        id
    }

    /// Returns the editor's counters of its own resources.
    pub fn stats(&mut self) -> Value {
        stats(&mut self.unity)
    }

    /// Returns the editor's counters as soon as they fit. Otherwise returns them as they are after `SOON`: a pool may keep
    /// something for some time without a leak.
    pub fn settled_stats(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let began = std::time::Instant::now();
        loop {
            let stats = self.stats();
            if fits(&stats) || began.elapsed() > super::SOON {
                return stats;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    /// The editor's heartbeat as the gateway describes it in `holdfast_status`.
    pub fn heartbeat(&mut self) -> String {
        let status = self.client.done("holdfast_status", &json!({})).body();
        status["editor"]["pulse"]["says"].as_str().unwrap_or_default().to_owned()
    }

    /// The content of the instance file, by which the gateway finds the editor and proves its identity.
    pub fn instance(&self) -> Value {
        let text = std::fs::read_to_string(instance_file(&self.room)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Turns on one of the user's settings.
    pub fn allow(&mut self, setting: &str) {
        let answer = self.client.done("allow", &json!({"setting": setting}));
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    }

    /// Returns the current end of the gateway's log, from which a later search may start.
    pub fn log_end(&self) -> u64 {
        std::fs::metadata(self.client.log_file()).map_or(0, |file| file.len())
    }

    /// Waits until the gateway has logged this event after the position `from` in the log.
    pub fn logged(&self, from: u64, event: &str) {
        until(event, || self.count_logged(from, event) > 0);
    }

    /// Counts how often the gateway has logged this event after the position `from` in the log.
    pub fn count_logged(&self, from: u64, event: &str) -> usize {
        let mut text = Vec::new();
        let mut log = std::fs::File::open(self.client.log_file()).expect("the gateway's log");
        log.seek(SeekFrom::Start(from)).and_then(|_| log.read_to_end(&mut text)).expect("the gateway's log");
        String::from_utf8_lossy(&text).matches(&format!(r#""event":"{event}""#)).count()
    }

    /// Draws the picture and closes the session. That checks that each request has one answer and no process is left.
    pub fn close(self, scenario: &mut Scenario) {
        scenario.picture(&self.client, &self.room);
        self.client.close(&self.room);
        scenario.record.checked("I1", 1);
    }
}

/// Returns the path of the file in which the package writes how to reach the editor.
pub fn instance_file(room: &Room) -> PathBuf {
    room.project().join("Library/Holdfast/instance.json")
}

/// Starts a gateway for the room's project.
pub fn gateway(room: &Room, more: &[String]) -> Client {
    let project = room.project().display().to_string();
    // The simulated editor has more tools than are listed at first.
    let mut arguments = vec!["--project", project.as_str(), "--toolsets", "all"];
    arguments.extend(more.iter().map(String::as_str));
    Client::open(room, &arguments)
}

/// Starts a simulated editor on the room's project, and waits until it listens.
pub fn editor(runtime: Runtime, room: &Room, flags: &[&str]) -> Unity {
    Unity::spawn(room, editor_command(runtime, room, flags))
}

/// Starts a process that Unity runs in addition to the editor, or an editor in a mode without a bridge: the package does not
/// listen in either.
pub fn worker(runtime: Runtime, room: &Room, flag: &str) -> Unity {
    Unity::launch(room, editor_command(runtime, room, &["--flag", flag]))
}

fn editor_command(runtime: Runtime, room: &Room, flags: &[&str]) -> Command {
    let mut command = runtime.command();
    super::client::environment(&mut command, room);
    // Without this variable, .NET opens its own diagnostics socket.
    command.env("DOTNET_EnableDiagnostics", "0").env("TMPDIR", room.path());
    command.arg("--project").arg(room.project()).args(flags);
    if !flags.contains(&"--port") {
        command.arg("--port").arg(room.port().to_string());
    }
    command
}

/// Returns the simulated editor's counters of its own resources.
pub fn stats(unity: &mut Unity) -> Value {
    let mark = unity.mark();
    unity.order("stats");
    unity.hear(mark, |event| event["event"] == "stats")
}

/// Counts the descriptors and the threads of a process.
pub fn held_by(pid: u32) -> (usize, usize) {
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    (count("fd"), count("task"))
}

/// Makes owned command-line arguments.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}
