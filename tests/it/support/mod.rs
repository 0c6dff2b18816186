//! A whole gateway in one process: the product's own actor tree between simulated pipes, a simulated network and a simulated
//! machine.
//!
//! Everything uses tokio's clock, so a test with paused time controls it, and "at once" means that no time passed. The editor is
//! the fake one, over the same simulated network.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

pub mod client;
pub mod scrape;

pub use holdfast_testkit::{host, net, sabotage};

use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::Duration;

use holdfast::actors::parts::Parts;
use holdfast::config::{Config, PortSource};
use holdfast::core::ShutdownReason;
use holdfast::fsm::cause::Availability;
use holdfast::transport::run::{self, Pumps};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig};
use holdfast_mcp_client::tasks;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use client::Client;
use host::MemoryHost;
use net::MemoryNet;
use sabotage::Sabotage;

/// The editor's port, unless a test sets another.
pub const PORT: u16 = 8700;

/// The limit of every wait, on the test's clock: longer than any time that the gateway promises.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// Waits for a future, at most [`PATIENCE`].
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tasks::within(PATIENCE, what, future).await
}

/// Waits until a condition is true, and checks it every millisecond of the (usually paused) clock.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    within(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// What a test can configure about a gateway.
pub struct Setup {
    pub config: Config,
    pub net: Arc<MemoryNet>,
    pub host: Arc<MemoryHost>,
    /// Capacity of each of the client's pipes, in bytes.
    pub pipe: usize,
    /// Whether the client reads its stdout from the start.
    pub read: bool,
    pub sabotage: Sabotage,
}

impl Default for Setup {
    fn default() -> Self {
        let config = Config { ports: vec![(PORT, PortSource::Flag)], seed: Some(7), ..Config::default() };
        Self {
            config,
            net: MemoryNet::new(),
            host: MemoryHost::new(),
            pipe: 1 << 20,
            read: true,
            sabotage: Sabotage::default(),
        }
    }
}

/// A running gateway with its client.
pub struct Gateway {
    pub parts: Arc<Parts>,
    pub net: Arc<MemoryNet>,
    pub host: Arc<MemoryHost>,
    pub sabotage: Sabotage,
    pub client: Client,
    pub quit: mpsc::Sender<ShutdownReason>,
    pub end: JoinHandle<ShutdownReason>,
}

/// Starts a gateway.
pub fn gateway(setup: Setup) -> Gateway {
    quiet_sabotage();
    ask_every_log();
    let Setup { config, net, host, pipe, read, sabotage } = setup;
    let parts = Parts::new(config, net.clone(), host.clone());
    let (input, to_input) = tokio::io::duplex(pipe);
    let (output, from_output) = tokio::io::duplex(pipe);
    let pumps = Pumps::over(&parts, input, output);
    let (quit, quitting) = mpsc::channel(1);
    let end = tokio::spawn({
        let (parts, sabotage) = (parts.clone(), sabotage.clone());
        async move { run::run(&parts, sabotage, pumps, quitting, None).await }
    });
    let mut client = Client::new(to_input, from_output);
    if read {
        client.read();
    }
    Gateway { parts, net, host, sabotage, client, quit, end }
}

/// A gateway with the default setup.
pub fn plain() -> Gateway {
    gateway(Setup::default())
}

impl Gateway {
    /// Waits until the link is up and the live list is published.
    pub async fn ready(&self) {
        until("a live list", || {
            let link = self.parts.link();
            link.contact.view.borrow().availability == Availability::Open
                && link.tools.published.borrow().source == holdfast::fsm::registry::Source::Live
        })
        .await;
    }

    /// Closes stdin from the client's side and waits for the end.
    pub async fn close(mut self) -> ShutdownReason {
        self.client.close_stdin().await;
        let why = within("the end", self.end).await.expect("main does not panic");
        self.client.ended().await;
        self.client.check();
        why
    }

    /// Does the same as [`close`](Self::close), and returns the client, so that a test can check what it received.
    pub async fn close_and_keep(mut self) -> Client {
        self.client.close_stdin().await;
        self.keep().await
    }

    /// Waits for the end of a gateway whose stdin stays open, and returns the client.
    pub async fn keep(self) -> Client {
        within("the end", self.end).await.expect("main does not panic");
        self.client.ended().await;
        self.client.check();
        self.client
    }
}

/// The fake editor's usual configuration: on [`PORT`], without ticks.
pub fn editor() -> FakeUnityConfig {
    FakeUnityConfig { port: PORT, tick: Duration::ZERO, pid: Some(4711), ..FakeUnityConfig::default() }
}

/// Starts a fake editor on a simulated network.
pub async fn unity(net: &Arc<MemoryNet>, config: FakeUnityConfig) -> FakeUnity {
    FakeUnity::start(config, net.clone()).await.expect("the simulated port is free")
}

/// Keeps deliberate panics off stderr; other panics are still printed.
pub fn quiet_sabotage() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let planted = panic.payload().downcast_ref::<&str>().is_some_and(|text| text.contains(sabotage::MARK));
            if !planted {
                usual(panic);
            }
        }));
    });
}

/// Lets a test have its own log while other tests run. Each log statement in the code is asked only once whether any log
/// wants it. While the process has one log, the thread that reaches the statement first decides, and that thread's test may
/// have no log. With several logs, each of them is asked.
pub fn ask_every_log() {
    static LOGS: OnceLock<[tracing::Dispatch; 2]> = OnceLock::new();
    LOGS.get_or_init(|| [(); 2].map(|()| tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new())));
}

/// The log of a test: each event with its fields, as text.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Begins a log of what happens on this thread, until the guard is dropped.
    pub fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        use tracing_subscriber::layer::SubscriberExt as _;
        ask_every_log();
        let log = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
        (log, guard)
    }

    /// Whether these words stand in any event.
    pub fn has(&self, words: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.contains(words))
    }

    /// Returns the events of this name.
    pub fn of(&self, event: &str) -> Vec<String> {
        let start = format!("event=\"{event}\" ");
        self.0.lock().unwrap().iter().filter(|line| line.starts_with(&start)).cloned().collect()
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let mut line = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            line.push_str(&format!("{}={value:?} ", field.name()));
        });
        self.0.lock().unwrap().push(line);
    }
}

/// Tolerance for the times that the gateway promises.
pub const SLACK: Duration = Duration::from_millis(50);

/// The name of a client that the gateway does not know: it ignores change notifications and waits 60 s.
pub const UNKNOWN: &str = "nobody knows me";
/// The name of a client that acts on change notifications and waits half an hour.
pub const PATIENT: &str = "claude-code";

/// Returns a gateway whose client has opened the session, and which is connected to an editor with a live list.
pub async fn connected(client: &str) -> (Gateway, FakeUnity) {
    let setup = Setup::default();
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_as(client, "2025-06-18", serde_json::json!({})).await;
    gateway.ready().await;
    (gateway, unity)
}

/// Returns how long the answer took.
pub async fn took(gateway: &Gateway, id: &serde_json::Value, since: tokio::time::Instant) -> Duration {
    gateway.client.answer(id).await.at - since
}

/// The URI of a folder, as clients send it in their roots.
pub fn file_uri(path: &std::path::Path) -> String {
    let path = path.display().to_string().replace('\\', "/");
    format!("file://{}{path}", if path.starts_with('/') { "" } else { "/" })
}
