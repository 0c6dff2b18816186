//! A running fake editor, and the methods that control it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_net::Net;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;

use super::config::FakeUnityConfig;
use super::events::{Event, Stats};
use super::face::Face;
use super::model::Editor;
use super::odd::Odd;
use super::runtime::Runtime;
use super::work::{NextPort, Order};
use super::{packages, tools};
use crate::limits::{EVENTS_MAX, NOTES_MAX};

/// A running fake editor. Dropping it acts as a crash, without [`Event::Crashed`]: every socket closes, and files remain.
///
/// The controlling methods act from outside, so they work on a frozen editor too.
pub struct FakeUnity {
    editor: Arc<Editor>,
    runtime: JoinHandle<()>,
    first_events: Mutex<Option<broadcast::Receiver<Event>>>,
}

impl Drop for FakeUnity {
    fn drop(&mut self) {
        self.runtime.abort();
    }
}

impl FakeUnity {
    /// Starts an editor. On return it listens.
    ///
    /// # Errors
    /// Any error of the system about the port, the project directory or the count file.
    pub async fn start(config: FakeUnityConfig, net: Arc<dyn Net>) -> io::Result<Self> {
        let face = packages::face(&config);
        Self::start_with(config, net, face).await
    }

    pub(crate) async fn start_with(
        config: FakeUnityConfig,
        net: Arc<dyn Net>,
        face: Arc<dyn Face>,
    ) -> io::Result<Self> {
        let (events, first) = broadcast::channel(EVENTS_MAX);
        let (orders, requests) = mpsc::channel(NOTES_MAX);
        let mut tools = face.tools();
        tools::lengthen(&mut tools, config.tools, config.schema_bytes);
        let editor = Arc::new(Editor::new(config, net, events, orders, tools)?);
        let runtime = Runtime::start(editor.clone(), face, requests).await?;
        Ok(Self { editor, runtime: tokio::spawn(runtime.run()), first_events: Mutex::new(Some(first)) })
    }

    /// Returns the port on which the editor listens; `None` while it does not listen.
    pub fn port(&self) -> Option<u16> {
        self.editor.state().port
    }

    /// The pid that the editor claims to have.
    pub fn pid(&self) -> u32 {
        self.editor.config.pid()
    }

    /// Returns a receiver of events. The first receiver gets all events since the start, later ones get only new events. A
    /// receiver that is too slow loses the oldest events, and is told how many.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        let first = self.first_events.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.editor.events.subscribe())
    }

    /// Returns the counters and the state.
    pub fn stats(&self) -> Stats {
        self.editor.stats()
    }

    /// Returns how often the `count` tool has run with `key`.
    pub fn runs(&self, key: &str) -> u64 {
        self.editor.runs(key)
    }

    /// Reloads the domain. Returns when all connections and the port are closed. After `silence` the bridge listens again: on the
    /// same port if the package keeps its port, otherwise on another one.
    ///
    /// # Errors
    /// The editor does not run, no port is free, or the fake editor has ended.
    pub async fn reload(&self, silence: Duration) -> io::Result<()> {
        self.editor.order_and_wait(Order::Reload { silence, port: NextPort::Same }).await
    }

    /// Like [`reload`](Self::reload), but the bridge then always listens on another port.
    ///
    /// # Errors
    /// The editor does not run, no port is free, or the fake editor has ended.
    pub async fn reload_to_new_port(&self, silence: Duration) -> io::Result<()> {
        self.editor.order_and_wait(Order::Reload { silence, port: NextPort::New }).await
    }

    /// Stops the bridge, as a user does in its window: connections and port are closed, and the editor keeps running. If this is
    /// called during a reload, the bridge does not start again after the reload.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn down(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Down { reset: false }).await
    }

    /// Like [`down`](Self::down), but sends no message first. If [`FakeUnityConfig::reset`] is set, connections end with a TCP
    /// reset; otherwise they are just closed.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn rst(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Down { reset: true }).await
    }

    /// Starts the bridge again, or the whole editor after a crash. The bridge uses its last port if the package keeps its port,
    /// otherwise any free port. Does nothing while the bridge listens.
    ///
    /// # Errors
    /// The port cannot be bound, a project file cannot be written, or the fake editor has ended.
    pub async fn up(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Up).await
    }

    /// Waits until the bridge listens, and returns its port.
    pub async fn listening(&self) -> u16 {
        let mut events = self.editor.events.subscribe();
        loop {
            if let Some(port) = self.port() {
                return port;
            }
            // Any event may change the port, so the port is checked again after each; also after events were lost.
            let _ = events.recv().await;
        }
    }

    /// Stops the whole process as SIGSTOP does: nothing is accepted, read, run or written. Clients can still connect.
    pub fn freeze(&self) {
        self.editor.hold(|gate| gate.frozen = true);
        self.editor.event(Event::Frozen);
    }

    /// Lets a frozen process continue.
    pub fn thaw(&self) {
        self.editor.hold(|gate| gate.frozen = false);
        self.editor.event(Event::Thawed);
    }

    /// Opens or closes a modal dialog. It blocks the main thread; the sockets still work.
    pub fn modal(&self, on: bool) {
        self.editor.hold(|gate| gate.modal = on);
    }

    /// Gives the focus to the editor or takes it away. Without focus, the main thread ticks slowly.
    pub fn focus(&self, on: bool) {
        self.editor.hold(|gate| gate.focused = on);
    }

    /// Blocks the main thread for this long, by no call and no import.
    pub fn busy(&self, time: Duration) {
        tools::block(&self.editor, time, false);
    }

    /// Simulates an import of assets: the main thread is blocked for this long.
    pub fn import(&self, time: Duration) {
        tools::block(&self.editor, time, true);
    }

    /// Announces that the tool list changed, even if it did not.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn tools_changed(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::ToolsChanged { names: Vec::new(), change: "modified" }).await
    }

    /// Sends a push message of any type to every attached listener. In a package that has none, but a window whose buttons connect the
    /// bridge, presses the button of this name.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn push(&self, kind: &str) -> io::Result<()> {
        self.editor.order_and_wait(Order::Push { kind: kind.to_owned() }).await
    }

    /// Registers a tool with this name, which returns its parameter `text`, and announces the changed list.
    ///
    /// # Errors
    /// A tool of this name exists, or there are too many tools.
    pub fn add_tool(&self, name: &str) -> Result<(), String> {
        self.editor.add_tool(name, &tools::ADDED_TOOL)
    }

    /// Sets whether the scripts fail to compile.
    pub fn compile_error(&self, on: bool) {
        self.editor.state().compile_errors = on;
    }

    /// Begins or ends play mode.
    pub fn play(&self, on: bool) {
        self.editor.state().playing = on;
        self.editor.order(Order::StateChanged);
    }

    /// Discards the next answer of a tool: the tool runs, but its answer is not sent.
    pub fn lose_answer(&self) {
        self.editor.state().loses_answer = true;
    }

    /// Makes the next result of a tool an odd one: the tool runs, and its result is replaced.
    pub fn odd(&self, form: Odd) {
        self.editor.state().odd = Some(form);
    }

    /// Lets every running `hold` tool answer.
    pub fn release(&self) {
        self.editor.release.send_modify(|releases| *releases += 1);
    }

    /// Crashes the editor: everything ends without cleaning up. [`up`](Self::up) starts the editor again.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn crash(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Crash).await
    }

    /// Quits as if the user had quit: notifies clients, closes connections, and deletes the files that Unity deletes.
    ///
    /// # Errors
    /// The fake editor has ended already.
    pub async fn quit(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Quit).await
    }
}
