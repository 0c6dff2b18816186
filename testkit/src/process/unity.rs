//! A fake editor as a real process. A test controls it with lines on stdin, observes its events, and stops and kills it with
//! signals.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::client;
use super::room::{Room, SOON, start};

#[derive(Default)]
struct Ear {
    events: Mutex<Vec<Value>>,
    listened: Mutex<Option<Instant>>,
    changed: Condvar,
}

/// Appends an event to the log of the editors' events, with the time in the format of the gateway's log. The date is left out,
/// because it is never needed.
fn note(log: &Path, mut event: Value) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, micros) = (since.as_secs() % (24 * 3600), since.subsec_micros());
    let (hours, minutes, seconds) = (day / 3600, day / 60 % 60, day % 60);
    event["timestamp"] = format!("T{hours:02}:{minutes:02}:{seconds:02}.{micros:06}Z").into();
    let file = File::options().create(true).append(true).open(log);
    // The last events of a killed editor may arrive after the room's folder was deleted.
    let _ = file.and_then(|mut file| file.write_all(format!("{event}\n").as_bytes()));
}

/// A running fake editor. Dropping it kills the process.
pub struct Unity {
    child: Child,
    stdin: ChildStdin,
    ear: Arc<Ear>,
    log: PathBuf,
    errors: PathBuf,
    killed: bool,
    /// The port on which it first listened.
    pub port: u16,
}

impl Drop for Unity {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let ended = self.child.try_wait();
            let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
            let events = self.ear.events.lock().map(|events| {
                let port = |event: &&Value| ["port_taken", "bind_failed"].iter().any(|name| event["event"] == *name);
                events.iter().filter(port).map(|event| format!("{event}\n")).collect::<String>()
            });
            let events = events.unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "---- the editor ({ended:?}) on stderr\n{errors}{events}");
        }
        self.kill();
    }
}

impl Unity {
    /// Starts an editor that counts runs in the room's file, on a port of the room unless the arguments name one. The editor
    /// listens when this returns.
    pub fn start(room: &Room, arguments: &[&str]) -> Self {
        let mut command = Command::new(room.program());
        client::environment(&mut command, room);
        command.arg("fake-unity").args(arguments);
        if !arguments.contains(&"--port") {
            command.arg("--port").arg(room.port().to_string());
        }
        Self::spawn(room, command)
    }

    /// Like [`start`](Self::start), with a command that takes the same arguments.
    pub fn spawn(room: &Room, command: Command) -> Self {
        let mut unity = Self::launch(room, command);
        let listening = unity.hear(0, |event| event["event"] == "listening");
        unity.port = listening["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        unity
    }

    /// Like [`spawn`](Self::spawn), but does not wait until the editor listens.
    pub fn launch(room: &Room, mut command: Command) -> Self {
        command.arg("--count-file").arg(room.count_file());
        let errors = File::options().create(true).append(true).open(room.editor_errors()).expect("a file");
        let mut child = start(|| command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn());
        let stdin = child.stdin.take().expect("a piped stdin");
        let stdout = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let ear = Arc::new(Ear::default());
        let hearing = Arc::clone(&ear);
        let (log, noting) = (room.editor_log(), room.editor_log());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
                if event["event"] == "listening" {
                    *hearing.listened.lock().expect("no holder panics") = Some(Instant::now());
                }
                if event.is_object() {
                    note(&noting, event.clone());
                }
                hearing.events.lock().expect("no holder panics").push(event);
                hearing.changed.notify_all();
            }
        });
        Self { child, stdin, ear, log, errors: room.editor_errors(), killed: false, port: 0 }
    }

    /// Starts an editor that keeps the files of the room's project up to date.
    pub fn of_project(room: &Room, arguments: &[&str]) -> Self {
        let project = room.project().display().to_string();
        Self::start(room, &[&["--project", project.as_str()], arguments].concat())
    }

    /// Returns when the editor last reported that it listens.
    pub fn listened(&self) -> Instant {
        self.ear.listened.lock().expect("no holder panics").expect("it listened")
    }

    /// Returns the id of the editor's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the number of events so far, as a position for [`hear`](Self::hear).
    pub fn mark(&self) -> usize {
        self.ear.events.lock().expect("no holder panics").len()
    }

    /// Waits for the first matching event at or after this position.
    pub fn hear(&self, from: usize, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + SOON;
        let mut events = self.ear.events.lock().expect("no holder panics");
        loop {
            if let Some(event) = events.iter().skip(from).find(|event| fits(event)) {
                return event.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the editor did not do it within {SOON:?}: {events:#?}");
            events = self.ear.changed.wait_timeout(events, left).expect("no holder panics").0;
        }
    }

    /// Waits until a call of this tool has begun, at or after this position.
    pub fn begun(&self, from: usize, tool: &str) {
        self.hear(from, |event| event["event"] == "call_begun" && event["tool"] == tool);
    }

    /// Sends an order to the editor and waits until it is carried out.
    pub fn say(&mut self, line: &str) {
        let mark = self.mark();
        self.order(line);
        let told = self.hear(mark, |event| event["line"] == line);
        assert_eq!(told["event"], "done", "{told}");
    }

    /// Sends an order to the editor without waiting.
    pub fn order(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").and_then(|()| self.stdin.flush()).expect("the editor reads its orders");
    }

    /// Returns the editor's counters.
    pub fn stats(&mut self) -> Value {
        let mark = self.mark();
        self.order("stats");
        self.hear(mark, |event| event["event"] == "stats")["stats"].clone()
    }

    /// Stops all threads of the process. Windows has no signal for that, so there the fake editor simulates it.
    pub fn stop(&mut self) {
        #[cfg(unix)]
        super::system::stop(self.child.id());
        #[cfg(not(unix))]
        self.say("freeze");
        note(&self.log, json!({"event": "stopped"}));
    }

    /// Continues the process.
    pub fn go_on(&mut self) {
        #[cfg(unix)]
        self.signal(nix::sys::signal::Signal::SIGCONT);
        #[cfg(not(unix))]
        self.say("thaw");
        note(&self.log, json!({"event": "continued"}));
    }

    #[cfg(unix)]
    fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).expect("a pid"));
        nix::sys::signal::kill(pid, signal).expect("the editor lives");
    }

    /// Kills the process (SIGKILL or the system's equivalent) and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::mem::replace(&mut self.killed, true) {
            note(&self.log, json!({"event": "killed"}));
        }
    }
}
