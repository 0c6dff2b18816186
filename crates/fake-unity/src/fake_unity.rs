//! A running fake editor, and the verbs that steer it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_net::Net;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;

use super::config::{FakeDialect, FakeUnityConfig};
use super::events::{Event, Stats};
use super::face::Face;
use super::model::Editor;
use super::runtime::Runtime;
use super::work::{NextPort, Order};
use super::{holdfast, tools, turbokettle, uloop, unity_mcp};
use crate::limits::{EVENTS_MAX, NOTES_MAX};

/// A running fake editor. Dropping it acts as a crash, but sends no [`Event::Crashed`]: every socket closes, files remain.
///
/// The steering verbs act from outside, on a frozen editor too.
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
    /// Starts an editor; it listens on return.
    ///
    /// # Errors
    /// What the system says about the port, the project directory or the count file.
    pub async fn start(config: FakeUnityConfig, net: Arc<dyn Net>) -> io::Result<Self> {
        let face: Arc<dyn Face> = match config.dialect {
            FakeDialect::Uloop | FakeDialect::Umcp => Arc::new(uloop::UloopFace::new(&config)),
            FakeDialect::Holdfast => Arc::new(holdfast::HoldfastFace::new(&config)),
            FakeDialect::Turbokettle => Arc::new(turbokettle::TurbokettleFace::new(&config)),
            FakeDialect::UnityMcp => Arc::new(unity_mcp::UnityMcpFace::new(&config)),
        };
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

    /// The port it listens on; `None` while it does not.
    pub fn port(&self) -> Option<u16> {
        self.editor.state().port
    }

    /// The pid that the editor claims to have.
    pub fn pid(&self) -> u32 {
        self.editor.config.pid()
    }

    /// Events. The first receiver gets all events since the start, later ones only new events. A slow receiver loses the oldest
    /// events and is told how many.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        let first = self.first_events.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.editor.events.subscribe())
    }

    /// Counters and state.
    pub fn stats(&self) -> Stats {
        self.editor.stats()
    }

    /// How often the `count` tool ran with `key`.
    pub fn runs(&self, key: &str) -> u64 {
        self.editor.runs(key)
    }

    /// Reloads the domain. Returns when everything is disconnected and the port is closed. After `silence` the bridge listens
    /// again, on the same port if the package keeps its port, else on another one.
    ///
    /// # Errors
    /// The editor does not run, no port is free, or the fake editor has ended.
    pub async fn reload(&self, silence: Duration) -> io::Result<()> {
        self.editor.order_and_wait(Order::Reload { silence, port: NextPort::Same }).await
    }

    /// Like [`reload`](Self::reload), but the bridge always listens on another port afterwards.
    ///
    /// # Errors
    /// The editor does not run, no port is free, or the fake editor has ended.
    pub async fn reload_to_new_port(&self, silence: Duration) -> io::Result<()> {
        self.editor.order_and_wait(Order::Reload { silence, port: NextPort::New }).await
    }

    /// Stops the bridge, as a user does in its window: connections close, the port closes, the editor keeps running. If a reload is
    /// under way, the bridge does not come back by itself.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn down(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Down { reset: false }).await
    }

    /// Like [`down`](Self::down), but sends no farewell message. Connections end with a TCP reset if [`FakeUnityConfig::reset`] is
    /// set, else they are just closed.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn rst(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Down { reset: true }).await
    }

    /// Starts the bridge again, or the whole editor after a crash. The bridge uses the last port if the package keeps its port,
    /// else any free port. Does nothing while the bridge listens.
    ///
    /// # Errors
    /// The port cannot be bound, a project file cannot be written, or the fake editor has ended.
    pub async fn up(&self) -> io::Result<()> {
        self.editor.order_and_wait(Order::Up).await
    }

    /// Returns when the bridge listens.
    pub async fn listening(&self) -> u16 {
        let mut events = self.editor.events.subscribe();
        loop {
            if let Some(port) = self.port() {
                return port;
            }
            // Any event, or the loss of some, is a reason to look again.
            let _ = events.recv().await;
        }
    }

    /// Stops the whole process as SIGSTOP does: nothing is accepted, read, run or written. Connects still succeed.
    pub fn freeze(&self) {
        self.editor.hold(|gate| gate.frozen = true);
        self.editor.event(Event::Frozen);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.editor.hold(|gate| gate.frozen = false);
        self.editor.event(Event::Thawed);
    }

    /// Opens or closes a modal dialog: the main thread is blocked, the sockets live.
    pub fn modal(&self, on: bool) {
        self.editor.hold(|gate| gate.modal = on);
    }

    /// Gives the editor focus or takes it; without it the main thread ticks slowly.
    pub fn focus(&self, on: bool) {
        self.editor.hold(|gate| gate.focused = on);
    }

    /// Imports assets: the main thread is blocked for this long.
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

    /// Sends a push message of any type to every attached listener.
    ///
    /// # Errors
    /// The fake editor has ended.
    pub async fn push(&self, kind: &str) -> io::Result<()> {
        self.editor.order_and_wait(Order::Push { kind: kind.to_owned() }).await
    }

    /// Registers a tool that echoes `text`, and announces it.
    ///
    /// # Errors
    /// There is one of that name, or there are too many.
    pub fn add_tool(&self, name: &str) -> Result<(), String> {
        self.editor.add_tool(name, &tools::ADDED_TOOL)
    }

    /// Scripts compile, or do not.
    pub fn compile_error(&self, on: bool) {
        self.editor.state().compile_errors = on;
    }

    /// Play mode begins or ends.
    pub fn play(&self, on: bool) {
        self.editor.state().playing = on;
        self.editor.order(Order::StateChanged);
    }

    /// Loses the next answer of a tool: the tool runs, but its answer is not sent.
    pub fn lose_answer(&self) {
        self.editor.state().loses_answer = true;
    }

    /// Lets every running `hold` tool answer.
    pub fn release(&self) {
        self.editor.release.send_modify(|releases| *releases += 1);
    }

    /// Ends everything without cleaning up; [`up`](Self::up) starts the editor again.
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
