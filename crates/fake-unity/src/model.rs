//! The editor itself: the state that survives a domain reload, what stops the threads, and the clock.
//!
//! The model knows no wire protocol. A simulated package asks it to run work on the main thread and to notify every connection.
//! The runtime ([`super::runtime`]) begins and ends domains and bridges.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast_net::Net;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::config::FakeUnityConfig;
use super::events::{Event, Stats};
use super::json::{Object, quoted};
use super::odd::Odd;
use super::project::{ASSEMBLY, OwnFile, Project};
use super::spec::{Tool, ToolSpec};
use super::work::{Begun, Done, Order, Work};
use crate::limits::{GOODBYE_MAX, KEY_MAX_BYTES, KEYS_MAX, TOOLS_MAX};

/// An order and the channel that reports its completion.
pub(crate) struct Request {
    pub(crate) order: Order,
    pub(crate) done: Option<oneshot::Sender<std::io::Result<()>>>,
}

/// The conditions that stop the editor's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) frozen: bool,
    pub(crate) modal: bool,
    pub(crate) focused: bool,
    pub(crate) busy_until: Option<Instant>,
    /// Whether it is an import that keeps the main thread busy; if false, it is a tool.
    pub(crate) importing: bool,
    /// When the main thread was last stopped.
    held_since: Instant,
}

impl Gate {
    fn new() -> Self {
        let held_since = Instant::now();
        Self { frozen: false, modal: false, focused: true, busy_until: None, importing: false, held_since }
    }

    /// Whether anything stops the main thread.
    fn holds(&self) -> bool {
        self.frozen || self.modal || self.is_busy()
    }

    fn is_busy(&self) -> bool {
        self.busy_until.is_some_and(|until| until > Instant::now())
    }

    /// Whether assets are being imported now.
    pub(crate) fn imports(&self) -> bool {
        self.importing && self.is_busy()
    }

    /// Returns how many tenths of the assets are imported; `None` if none are being imported.
    pub(crate) fn tenths_imported(&self) -> Option<u8> {
        let until = self.busy_until.filter(|_| self.imports())?;
        let all = until.saturating_duration_since(self.held_since).as_millis().max(1);
        u8::try_from(self.held_since.elapsed().as_millis() * 10 / all).ok()
    }
}

/// A message to one connection that is not a reply to a request.
pub(crate) struct Note {
    pub(crate) frame: Vec<u8>,
    pub(crate) written: oneshot::Sender<()>,
}

struct Peer {
    notes: mpsc::Sender<Note>,
    name: Option<String>,
}

/// The state that survives a reload, and the state of the current domain.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) port: Option<u16>,
    pub(crate) domain: u64,
    pub(crate) session_id: String,
    pub(crate) tools: Vec<Tool>,
    pub(crate) swapped: bool,
    pub(crate) compile_errors: bool,
    pub(crate) playing: bool,
    pub(crate) main: Option<mpsc::Sender<Work>>,
    pub(crate) queued: u64,
    pub(crate) running: u64,
    pub(crate) lost: u64,
    pub(crate) interrupted: u64,
    pub(crate) accepts: u64,
    pub(crate) requests: u64,
    pub(crate) list_requests: u64,
    pub(crate) unparsable: u64,
    pub(crate) compiles: u64,
    pub(crate) push_connections: usize,
    /// Whether to discard the next answer of a tool instead of sending it.
    pub(crate) loses_answer: bool,
    /// The form of the next result of a tool; `None`: its own.
    pub(crate) odd: Option<Odd>,
    runs: BTreeMap<String, u64>,
    peers: BTreeMap<u64, Peer>,
}

/// A fake editor.
pub(crate) struct Editor {
    pub(crate) config: FakeUnityConfig,
    pub(crate) net: Arc<dyn Net>,
    pub(crate) project: Option<Project>,
    pub(crate) gate: watch::Sender<Gate>,
    pub(crate) release: watch::Sender<u64>,
    pub(crate) events: broadcast::Sender<Event>,
    orders: mpsc::Sender<Request>,
    started: Instant,
    state: Mutex<State>,
    random: Mutex<fastrand::Rng>,
}

impl Editor {
    pub(crate) fn new(
        config: FakeUnityConfig,
        net: Arc<dyn Net>,
        events: broadcast::Sender<Event>,
        orders: mpsc::Sender<Request>,
        tools: Vec<Tool>,
    ) -> std::io::Result<Self> {
        let project = config.project.clone().map(|root| Project::open(root, config.machine.clone())).transpose()?;
        let runs = config.count_file.as_ref().map(read_counts).transpose()?.unwrap_or_default();
        Ok(Self {
            gate: watch::Sender::new(Gate::new()),
            release: watch::Sender::new(0),
            events,
            orders,
            started: Instant::now(),
            random: Mutex::new(fastrand::Rng::with_seed(config.seed)),
            state: Mutex::new(State { tools, runs, ..State::default() }),
            project,
            net,
            config,
        })
    }

    /// The state. A panic while the lock was held can at worst leave a counter wrong, so a poisoned lock is used anyway.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event to all receivers.
    pub(crate) fn event(&self, event: Event) {
        // An error only means that there is no receiver.
        let _ = self.events.send(event);
    }

    /// Writes the assembly of the project's scripts, as a compilation that changed something does at its end.
    pub(crate) fn write_assembly(&self) {
        if let Some(project) = &self.project {
            self.file_result(ASSEMBLY, project.write(ASSEMBLY, b"MZ"));
        }
    }

    /// Sends an event if a file operation failed.
    pub(crate) fn file_result(&self, path: &str, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.event(Event::FileFailed { path: path.to_owned(), error: error.to_string() });
        }
    }

    /// Gives an order to the runtime without waiting for it.
    pub(crate) fn order(&self, order: Order) {
        // If the runtime has ended or its queue is full, the order is dropped.
        let _ = self.orders.try_send(Request { order, done: None });
    }

    /// Gives an order to the runtime and waits until it is carried out.
    pub(crate) async fn order_and_wait(&self, order: Order) -> std::io::Result<()> {
        let gone = || std::io::Error::new(std::io::ErrorKind::NotConnected, "the fake editor has ended");
        let (done, answer) = oneshot::channel();
        self.orders.send(Request { order, done: Some(done) }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Returns a GUID that is made with the seeded generator.
    pub(crate) fn guid(&self) -> String {
        let mut bytes = [0; 16];
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    // ---- Threads and clock -----------------------------------------------------------------------------------------

    /// Changes the conditions that stop the editor's threads.
    pub(crate) fn hold(&self, change: impl FnOnce(&mut Gate)) {
        self.gate.send_modify(|gate| {
            let held = gate.holds();
            change(gate);
            if !held {
                gate.held_since = Instant::now();
            }
        });
    }

    /// Returns the time since the main thread's last frame.
    pub(crate) fn frame_age(&self) -> Duration {
        let gate = *self.gate.borrow();
        if gate.holds() { gate.held_since.elapsed() } else { self.since_tick(self.tick()) }
    }

    /// Returns the time since the start, which is used to time the answers of the editor.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the pause between two frames.
    fn tick(&self) -> Duration {
        let focused = self.gate.borrow().focused;
        if focused { self.config.tick } else { self.config.tick.max(self.config.unfocused_tick) }
    }

    /// Returns the time since the last tick. Ticks are `tick` apart, counted from the start.
    fn since_tick(&self, tick: Duration) -> Duration {
        let into = self.started.elapsed().as_nanos().checked_rem(tick.as_nanos()).unwrap_or(0);
        Duration::from_nanos(u64::try_from(into).unwrap_or(0))
    }

    /// Returns when the process is not frozen.
    pub(crate) async fn thawed(&self) {
        // The sender is in `self`, so waiting cannot fail.
        let _ = self.gate.subscribe().wait_for(|gate| !gate.frozen).await;
    }

    /// Returns when the process is frozen.
    pub(crate) async fn frozen(&self) {
        let _ = self.gate.subscribe().wait_for(|gate| gate.frozen).await;
    }

    /// Returns when nothing stops the main thread.
    pub(crate) async fn main_free(&self) {
        let mut gate = self.gate.subscribe();
        loop {
            let now = *gate.borrow_and_update();
            if now.frozen || now.modal {
                let _ = gate.changed().await;
                continue;
            }
            match now.busy_until {
                Some(until) if until > Instant::now() => {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(until) => {}
                        _ = gate.changed() => {}
                    }
                }
                _ => return,
            }
        }
    }

    /// Waits for the main thread's next tick, and then until nothing stops the main thread.
    pub(crate) async fn next_tick(&self) {
        let tick = self.tick();
        if !tick.is_zero() {
            tokio::time::sleep(tick.saturating_sub(self.since_tick(tick))).await;
        }
        self.main_free().await;
    }

    /// Returns the editor's time as .NET writes it, without a time zone: a fixed moment plus the time since the start.
    pub(crate) fn timestamp(&self) -> String {
        clock(self.started.elapsed())
    }

    // ---- Work ------------------------------------------------------------------------------------------------------

    /// Queues work for the main thread. The receiver fails if the domain ends before the work is done, if no domain runs, or if
    /// the queue is full.
    pub(crate) fn submit(
        self: &Arc<Self>,
        job: impl FnOnce(&Arc<Editor>) -> Begun + Send + 'static,
    ) -> oneshot::Receiver<Done> {
        let (reply, answer) = oneshot::channel();
        let editor = Arc::clone(self);
        let mut state = self.state();
        if let Some(main) = &state.main
            && main.try_send(Work { job: Box::new(move || job(&editor)), reply }).is_ok()
        {
            state.queued += 1;
        }
        answer
    }

    /// Writes or removes the file that a package keeps about itself.
    pub(crate) fn keep(&self, file: OwnFile) {
        if let Some(project) = &self.project {
            let path = file.path;
            self.file_result(path, project.keep(file));
        }
    }

    /// Counts a run of `key` and returns its number. If there is a count file, appends the run to it first; if that fails, it is
    /// only reported as an event.
    pub(crate) fn count(&self, key: &str) -> Result<u64, String> {
        if key.len() > KEY_MAX_BYTES {
            return Err(format!("The key is longer than {KEY_MAX_BYTES} bytes"));
        }
        let mut state = self.state();
        if state.runs.len() >= KEYS_MAX && !state.runs.contains_key(key) {
            return Err(format!("More than {KEYS_MAX} keys"));
        }
        let runs = state.runs.entry(key.to_owned()).or_insert(0);
        *runs += 1;
        let runs = *runs;
        if let Some(path) = &self.config.count_file {
            // Written under the lock, so that the run numbers of a key are in order in the file.
            let line = Object::new().text("key", key).number("runs", runs).finish() + "\n";
            let result = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.flush()));
            self.file_result(&path.to_string_lossy(), result);
        }
        Ok(runs)
    }

    /// Returns how often `key` was counted.
    pub(crate) fn runs(&self, key: &str) -> u64 {
        self.state().runs.get(key).copied().unwrap_or(0)
    }

    /// Registers another tool. Fails if its name is taken or there are too many tools.
    pub(crate) fn add_tool(&self, name: &str, spec: &'static ToolSpec) -> Result<(), String> {
        let mut state = self.state();
        if state.tools.iter().any(|tool| tool.name == name) {
            return Err(format!("there is a tool {} already", quoted(name)));
        }
        if state.tools.len() >= TOOLS_MAX {
            return Err(format!("an editor has at most {TOOLS_MAX} tools"));
        }
        state.tools.push(Tool::named(name, spec));
        drop(state);
        self.order(Order::ToolsChanged { names: vec![name.to_owned()], change: "added" });
        Ok(())
    }

    // ---- Connections -----------------------------------------------------------------------------------------------

    /// Registers a connection. Dropping the returned guard unregisters it.
    pub(crate) fn enter(self: &Arc<Self>, notes: mpsc::Sender<Note>) -> Membership {
        let mut state = self.state();
        state.accepts += 1;
        let connection = state.accepts;
        state.peers.insert(connection, Peer { notes, name: None });
        drop(state);
        self.event(Event::Accepted { connection });
        Membership { editor: self.clone(), connection, reason: "closed by the editor" }
    }

    /// Returns the number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.state().peers.len()
    }

    /// Stores the name of the client on a connection.
    pub(crate) fn name_client(&self, connection: u64, name: &str) {
        if let Some(peer) = self.state().peers.get_mut(&connection) {
            peer.name = Some(name.to_owned());
        }
        self.event(Event::ClientNamed { connection, name: name.to_owned() });
    }

    /// Sends a frame to every connection and waits until it is written on all of them, for at most [`GOODBYE_MAX`].
    pub(crate) async fn tell_all(&self, frame: &[u8]) {
        let mut waiting = Vec::new();
        for peer in self.state().peers.values() {
            let (written, done) = oneshot::channel();
            if peer.notes.try_send(Note { frame: frame.to_vec(), written }).is_ok() {
                waiting.push(done);
            }
        }
        let all = async {
            for done in waiting {
                let _ = done.await;
            }
        };
        // A peer that does not read must not keep the editor from leaving.
        let _ = tokio::time::timeout(GOODBYE_MAX, all).await;
    }

    /// Whether to discard the answer that is about to be sent. This clears the flag, so call it once per answer.
    pub(crate) fn loses_answer(&self) -> bool {
        std::mem::take(&mut self.state().loses_answer)
    }

    /// Returns the result that is sent for this one: itself, or an odd one, if that was ordered. Call it once per answer.
    pub(crate) fn oddly(&self, result: Object) -> Object {
        self.state().odd.take().map_or(result, Odd::result)
    }

    /// Returns the counters and the state.
    pub(crate) fn stats(&self) -> Stats {
        let gate = *self.gate.borrow();
        let state = self.state();
        Stats {
            port: state.port,
            pid: self.config.pid(),
            domain: state.domain,
            session_id: state.session_id.clone(),
            accepts: state.accepts,
            requests: state.requests,
            list_requests: state.list_requests,
            unparsable: state.unparsable,
            connections: state.peers.len(),
            clients: state.peers.values().filter_map(|peer| peer.name.clone()).collect(),
            push_connections: state.push_connections,
            lost: state.lost,
            interrupted: state.interrupted,
            queued: state.queued,
            running: state.running,
            runs: state.runs.clone(),
            compiles: state.compiles,
            tools: state.tools.len(),
            frozen: gate.frozen,
            modal: gate.modal,
            compile_errors: state.compile_errors,
            playing: state.playing,
        }
    }
}

/// A connection's registration in the editor. Dropping it unregisters the connection, however the connection's task ends.
pub(crate) struct Membership {
    editor: Arc<Editor>,
    pub(crate) connection: u64,
    pub(crate) reason: &'static str,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.editor.state().peers.remove(&self.connection);
        self.editor.event(Event::Closed { connection: self.connection, reason: self.reason });
    }
}

/// Reads the runs that earlier processes counted.
fn read_counts(path: &PathBuf) -> std::io::Result<BTreeMap<String, u64>> {
    #[derive(serde::Deserialize)]
    struct Line {
        key: String,
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut runs = BTreeMap::new();
    // A half-written line is skipped: the process was killed while it wrote the line, so it did not answer that run.
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        *runs.entry(line.key).or_insert(0) += 1;
    }
    Ok(runs)
}

/// Formats the moment 2025-07-22T21:34:56.789 plus `elapsed`.
fn clock(elapsed: Duration) -> String {
    const FIRST_DAY: u64 = 20_291; // 2025-07-22, in days since 1970-01-01
    const FIRST_MS: u64 = ((21 * 60 + 34) * 60 + 56) * 1000 + 789;
    let ms = FIRST_MS + u64::try_from(elapsed.as_millis()).unwrap_or(0);
    // Converts a day number to a civil date. The algorithm uses eras of 400 years and years that begin in March.
    let days = FIRST_DAY + ms / 86_400_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (seconds, ms) = (ms / 1000 % 86_400, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_begins_on_its_day_and_crosses_months_and_years() {
        assert_eq!(clock(Duration::ZERO), "2025-07-22T21:34:56.789");
        assert_eq!(clock(Duration::from_secs(10 * 86_400)), "2025-08-01T21:34:56.789");
        assert_eq!(clock(Duration::from_secs(586 * 86_400)), "2027-02-28T21:34:56.789");
        assert_eq!(clock(Duration::from_secs(587 * 86_400)), "2027-03-01T21:34:56.789");
    }
}
