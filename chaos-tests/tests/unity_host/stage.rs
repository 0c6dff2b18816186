//! A simulated editor on one of Unity's two runtimes, a gateway, and a client.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::unity::Unity;
use super::{Client, Room, Scenario, Verdict, until};

/// What runs the C#.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// As Unity up to 6: the package lives in an AppDomain.
    Mono,
    /// As Unity 7: a collectible context.
    CoreClr,
}

impl Runtime {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mono => "mono",
            Self::CoreClr => "coreclr",
        }
    }

    /// The command that starts the editor.
    fn command(self) -> Command {
        static EDITORS: OnceLock<Value> = OnceLock::new();
        let editors = EDITORS.get_or_init(|| {
            let given = std::env::var("HOLDFAST_EDITORS").expect(
                "HOLDFAST_EDITORS names no simulated editor: `make test` sets it; by hand, HOLDFAST_EDITORS=$(sh scripts/csharp.sh host)",
            );
            serde_json::from_str(&given).expect("HOLDFAST_EDITORS is what `sh scripts/csharp.sh host` prints")
        });
        let words: Vec<&str> =
            editors[self.name()].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (program, arguments) = words.split_first().expect("HOLDFAST_EDITORS has a command for each runtime");
        let mut command = Command::new(found(program));
        command.args(arguments);
        command
    }
}

/// Programs are started with an almost empty environment, which has no `PATH`.
fn found(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).unwrap_or_else(|| program.into())
}

/// Runs a scenario on both runtimes at once, with a record for each.
pub fn on_both(name: &str, faults: &[&str], story: fn(Runtime, &mut Scenario)) {
    // A record says what its test's name says.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        for runtime in [Runtime::Mono, Runtime::CoreClr] {
            let thread = std::thread::Builder::new().name(test.clone());
            let run = move || story(runtime, &mut Scenario::new(&format!("unity-{name}-{}", runtime.name()), faults));
            thread.spawn_scoped(scope, run).expect("a thread");
        }
    });
}

/// All that a scenario needs. The gateway ends first, then the editor, then their place goes.
pub struct Stage {
    pub client: Client,
    pub unity: Unity,
    pub room: Room,
    pub runtime: Runtime,
}

impl Stage {
    /// An editor with flags of its own, and a gateway that has found it by its project.
    pub fn open(runtime: Runtime, flags: &[&str]) -> Self {
        Self::with_gateway(runtime, flags, |_| Vec::new())
    }

    /// As [`open`](Self::open); more arguments for the gateway may need the editor's port.
    pub fn with_gateway(runtime: Runtime, flags: &[&str], more: impl FnOnce(u16) -> Vec<String>) -> Self {
        let room = Room::new();
        let unity = editor(runtime, &room, flags);
        let client = gateway(&room, &more(unity.port));
        let mut stage = Self { client, unity, room, runtime };
        stage.client.echoes();
        stage
    }

    /// Ends the editor's process if it runs, and starts another.
    pub fn restart_editor(&mut self, flags: &[&str]) {
        self.unity.kill();
        self.unity = editor(self.runtime, &self.room, flags);
    }

    /// Makes a call and waits until its tool has begun: `count`, `wait` or `work`.
    pub fn begun(&mut self, tool: &str, arguments: &Value) -> u64 {
        let key = arguments["key"].as_str().expect("a counted call").to_owned();
        let id = self.client.call(tool, arguments);
        until("the tool begins", || self.room.runs(&key) == 1);
        id
    }

    /// The editor's counters.
    pub fn stats(&mut self) -> Value {
        stats(&mut self.unity)
    }

    /// The editor's counters once they fit, or as they are in the end: what a pool keeps for a while is no leak.
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

    /// What the gateway makes of the editor's heartbeat, in words.
    pub fn heartbeat(&mut self) -> String {
        let status = self.client.done("holdfast_status", &json!({})).body();
        status["editor"]["pulse"]["says"].as_str().unwrap_or_default().to_owned()
    }

    /// The file by which the gateway finds and proves the editor.
    pub fn instance(&self) -> Value {
        let text = std::fs::read_to_string(instance_file(&self.room)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Turns a switch of the user's on.
    pub fn allow(&mut self, setting: &str) {
        let answer = self.client.done("allow", &json!({"setting": setting}));
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    }

    /// Where the gateway's log ends now: the place to read on from.
    pub fn log_end(&self) -> u64 {
        std::fs::metadata(self.client.log_file()).map_or(0, |file| file.len())
    }

    /// Waits until the gateway has logged this event after that place.
    pub fn logged(&self, from: u64, event: &str) {
        until(event, || self.count_logged(from, event) > 0);
    }

    /// How often the gateway logged this event after that place.
    pub fn count_logged(&self, from: u64, event: &str) -> usize {
        let mut text = Vec::new();
        let mut log = std::fs::File::open(self.client.log_file()).expect("the gateway's log");
        log.seek(SeekFrom::Start(from)).and_then(|_| log.read_to_end(&mut text)).expect("the gateway's log");
        String::from_utf8_lossy(&text).matches(&format!(r#""event":"{event}""#)).count()
    }

    /// Takes the picture and ends the session: everything is answered once and nothing is left behind.
    pub fn close(self, scenario: &mut Scenario) {
        scenario.picture(&self.client, &self.room);
        self.client.close(&self.room);
        scenario.record.checked("I1", 1);
    }
}

/// Where the editor says how it is found.
pub fn instance_file(room: &Room) -> PathBuf {
    room.project().join("Library/Holdfast/instance.json")
}

/// A gateway for the room's project.
pub fn gateway(room: &Room, more: &[String]) -> Client {
    let project = room.project().display().to_string();
    let mut arguments = vec!["--project", project.as_str()];
    arguments.extend(more.iter().map(String::as_str));
    Client::open(room, &arguments)
}

/// A simulated editor that listens; it keeps the room's project up.
pub fn editor(runtime: Runtime, room: &Room, flags: &[&str]) -> Unity {
    Unity::spawn(room, editor_command(runtime, room, flags))
}

/// One of the processes that Unity starts beside the editor, or an editor in a mode that wants no bridge: its package does not listen.
pub fn worker(runtime: Runtime, room: &Room, flag: &str) -> Unity {
    Unity::launch(room, editor_command(runtime, room, &["--flag", flag]))
}

fn editor_command(runtime: Runtime, room: &Room, flags: &[&str]) -> Command {
    let mut command = runtime.command();
    super::client::environment(&mut command, room);
    // Without this .NET listens on a socket of its own, for debuggers.
    command.env("DOTNET_EnableDiagnostics", "0").env("TMPDIR", room.path());
    command.arg("--project").arg(room.project()).args(flags);
    command
}

/// What the simulated editor counts of itself.
pub fn stats(unity: &mut Unity) -> Value {
    let mark = unity.mark();
    unity.order("stats");
    unity.hear(mark, |event| event["event"] == "stats")
}

/// Descriptors and threads of a process.
pub fn held_by(pid: u32) -> (usize, usize) {
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    (count("fd"), count("task"))
}

/// Words of a command line.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}
