//! What main owns and every actor's recipe shares: all that must outlive a crash.
//!
//! The front, the ledger, the last good catalogue, the client's handshake, the addresses, the connection permit. Front and
//! ledger never call each other and no code holds both locks: [`Estate::settle`] carries out what the ledger decided.

mod answers;
mod guests;
mod link;
mod project;
mod rules;
mod tasks;
mod waiting;
mod whereabouts;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

pub use self::link::LinkView;
pub use self::waiting::{GuestAnswer, GuestCall};
use crate::config::Config;
use crate::core::calls::{Ledger, Settlement};
use crate::core::link::EditorIdentity;
use crate::core::logbook::Logbook;
use crate::fsm::cause::{Cause, Loss, Outlook};
use crate::fsm::registry::Source;
use crate::fsm::session::Kind;
use crate::net::{Listener, Net};
use crate::platform::host::Host;
use crate::protocol::dialect::{self, Dialect, EditorTool, Secret, ToolListing};
use crate::protocol::ids::{CallId, Epoch, RequestKey};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::{self, Audience, Catalogue, ProtocolVersion};
use crate::protocol::policy::Policy;
use crate::runtime::mailbox::Mailbox;
use crate::runtime::messages::{bridge, discovery, push, registry, session};
use crate::runtime::outbox::Outbox;
use crate::runtime::slot::Slot;
use crate::storage::audit::Audit;
use crate::survey::Survey;
use crate::telemetry::events::Events;

/// The published catalogue.
#[derive(Debug, Clone)]
pub struct Published {
    /// Where it comes from.
    pub source: Source,
    /// The catalogue on disk was looked for: nothing more comes from there.
    pub disk_read: bool,
    /// What clients see.
    pub catalogue: Arc<Catalogue>,
    /// The editor's tools as they were read, development-only ones included.
    pub tools: Arc<Vec<Arc<EditorTool>>>,
    /// What stood in the editor's list and is no usable tool: name (or position) and reason.
    pub unusable: Arc<Vec<(String, String)>>,
}

/// What main remembers of the client's handshake.
#[derive(Debug, Clone)]
pub struct Client {
    /// It has opened a session.
    pub opened: bool,
    /// Its name, as it says.
    pub name: String,
    /// Its version, as it says.
    pub release: Option<String>,
    /// The negotiated version, and what is known of it.
    pub audience: Audience,
    /// Whether it honours `list_changed`.
    pub kind: Kind,
    /// It can be asked for its roots.
    pub roots: bool,
    /// Its first list is answered.
    pub first_list_served: bool,
}

/// Where the actors are, across their restarts.
#[derive(Debug, Default)]
pub struct Addresses {
    /// The discovery actor.
    pub discovery: Slot<discovery::Message>,
    /// The bridge actor.
    pub bridge: Slot<bridge::Message>,
    /// The push actor.
    pub push: Slot<push::Message>,
    /// The registry actor.
    pub registry: Slot<registry::Message>,
    /// The session actor.
    pub session: Slot<session::Message>,
}

/// The bounds of the edges at which messages come in.
#[derive(Debug, Default)]
pub struct Edges {
    /// From the client to the session.
    pub session: Mailbox,
    /// From the editor's connection to the bridge.
    pub bridge: Mailbox,
    /// From push sockets.
    pub push: Mailbox,
}

/// See the module's documentation.
pub struct Estate {
    /// The configuration.
    pub config: Config,
    /// The network.
    pub net: Arc<dyn Net>,
    /// The machine.
    pub host: Arc<dyn Host>,
    /// This process, for editors that tell gateways apart.
    pub gateway: String,
    /// What an editor must say on the push listener, where its dialect can.
    pub push_token: Secret,
    /// What is told and counted.
    pub events: Events,
    /// Open requests and stdout.
    pub outbox: Outbox,
    /// The published catalogue.
    pub published: watch::Sender<Published>,
    /// The link.
    pub link: watch::Sender<LinkView>,
    /// The last look around.
    pub survey: watch::Sender<Option<Arc<Survey>>>,
    /// The actors.
    pub addresses: Addresses,
    /// The edges.
    pub edges: Edges,
    /// One connection per link: no dial without it, and it falls with the socket.
    pub connection: Arc<Semaphore>,
    /// The right to read an editor's identity once more: a share that hangs holds one thread and not one for each dial.
    pub identity_read: Arc<Semaphore>,
    /// Lines that were read from the client.
    pub heard: AtomicU64,
    /// When the gateway began.
    pub began: Instant,
    /// The record of calls, if it was asked for.
    audit: Option<Audit>,
    ledger: Mutex<Ledger>,
    deadline_moved: Notify,
    call_settled: Notify,
    calls_moved: Notify,
    client: Mutex<Client>,
    whereabouts: Mutex<whereabouts::Whereabouts>,
    listing: Mutex<Option<Arc<ToolListing>>>,
    push_listener: Mutex<Option<Arc<dyn Listener>>>,
    push_port: Mutex<Option<u16>>,
    logbook: Mutex<Logbook>,
    focus: OnceLock<bool>,
    dice: Mutex<fastrand::Rng>,
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    troubles: Mutex<BTreeMap<&'static str, String>>,
    guests: Mutex<waiting::Guests>,
    /// A result that a client in this process takes as it is ([`Config::whole_results`]).
    whole: Mutex<Option<Box<serde_json::value::RawValue>>>,
    /// What the project that was found last says of tools.
    rules: Mutex<Option<(PathBuf, Policy)>>,
    runtimes: Mutex<Vec<Handle>>,
    epochs: AtomicU64,
    wire_numbers: AtomicU64,
    roots_requests: AtomicU64,
    wanted: AtomicBool,
    draining: AtomicBool,
    /// A task beside the tree has panicked.
    failed: watch::Sender<bool>,
}

impl std::fmt::Debug for Estate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Estate").field("outbox", &self.outbox).finish_non_exhaustive()
    }
}

/// A lock whose holder panicked is entered again: what lies behind it is changed in single steps.
fn enter<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Estate {
    /// Everything before anything happened.
    pub fn new(config: Config, net: Arc<dyn Net>, host: Arc<dyn Host>) -> Arc<Self> {
        let seed = config.seed.unwrap_or_else(|| u64::from_ne_bytes(first_eight(host.random())));
        let development = config.development;
        let nothing = Published {
            source: Source::None,
            disk_read: false,
            catalogue: Arc::new(Catalogue::new(Vec::<EditorTool>::new(), development)),
            tools: Arc::default(),
            unusable: Arc::default(),
        };
        let link = LinkView {
            state: "idle",
            outlook: Outlook::Coming(Cause::Connecting),
            undecided: true,
            since: Instant::now(),
            epoch: None,
            target: None,
            editor: EditorIdentity::default(),
            stranger: None,
            connections: 0,
            pulse: None,
            outages: VecDeque::new(),
        };
        let gateway = uuid::Builder::from_random_bytes(host.random()).into_uuid().to_string();
        let push_token = Secret::new(hex(&host.random()));
        let events = Events::new(Arc::clone(&host), config.metrics.is_some());
        let audit = config.audit.clone().map(|path| Audit::new(path, Arc::clone(&host)));
        Arc::new(Self {
            config,
            net,
            host,
            gateway,
            push_token,
            outbox: Outbox::new(events.clone()),
            events,
            published: watch::Sender::new(nothing),
            link: watch::Sender::new(link),
            survey: watch::Sender::new(None),
            addresses: Addresses::default(),
            edges: Edges::default(),
            connection: Arc::new(Semaphore::new(1)),
            identity_read: Arc::new(Semaphore::new(1)),
            heard: AtomicU64::new(0),
            began: Instant::now(),
            audit,
            ledger: Mutex::default(),
            deadline_moved: Notify::new(),
            call_settled: Notify::new(),
            calls_moved: Notify::new(),
            client: Mutex::new(Client {
                opened: false,
                name: String::new(),
                release: None,
                audience: ProtocolVersion::LATEST.into(),
                kind: Kind::Sync,
                roots: false,
                first_list_served: false,
            }),
            whereabouts: Mutex::default(),
            listing: Mutex::default(),
            push_listener: Mutex::default(),
            push_port: Mutex::default(),
            logbook: Mutex::default(),
            focus: OnceLock::new(),
            dice: Mutex::new(fastrand::Rng::with_seed(seed)),
            restarts: Mutex::default(),
            troubles: Mutex::default(),
            guests: Mutex::default(),
            whole: Mutex::default(),
            rules: Mutex::default(),
            runtimes: Mutex::default(),
            epochs: AtomicU64::new(0),
            wire_numbers: AtomicU64::new(0),
            roots_requests: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            failed: watch::Sender::new(false),
        })
    }

    // ---- the ledger ----

    /// Runs one short operation on the ledger and gives its value. What it ordered must go to [`settle`](Self::settle).
    pub fn ledger<T>(&self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        let mut ledger = enter(&self.ledger);
        let value = operation(&mut ledger, Instant::now());
        let (late, moved) = (ledger.wakes_late(), ledger.take_moved());
        drop(ledger);
        if late {
            self.deadline_moved.notify_one();
        }
        if moved {
            self.calls_moved.notify_one();
        }
        value
    }

    /// Waits until a call came, went or changed its state since this was last asked. For one who waits.
    pub async fn calls_moved(&self) {
        self.calls_moved.notified().await;
    }

    /// Runs one short operation on the ledger and carries out what it ordered.
    pub fn decide(self: &Arc<Self>, operation: impl FnOnce(&mut Ledger, Instant) -> Vec<Settlement>) {
        let settlements = self.ledger(operation);
        self.settle(settlements);
    }

    /// Carries out what the ledger decided.
    pub fn settle(self: &Arc<Self>, settlements: Vec<Settlement>) {
        for settlement in settlements {
            match settlement {
                Settlement::Answer(answer) => {
                    self.audit_answer(&answer);
                    self.answer(answer);
                }
                Settlement::Progress { request, news, version } => {
                    let line = mcp::progress(&news.token, news.progress, news.total, Some(&news.message), version);
                    self.outbox.progress(request, news.progress, line);
                }
                Settlement::HeldAgain => {
                    self.addresses.bridge.cast(bridge::Message::CallsWaiting);
                }
                Settlement::Withdraw { key } => {
                    self.addresses.bridge.cast(bridge::Message::Withdrawn(key));
                }
                Settlement::KeepLate { call, project, answer, audience } => {
                    self.keep_late(call, project, answer, audience);
                }
                Settlement::Noted { call, tool, verdict, asker, project } => {
                    self.audit_noted(call, &tool, verdict, asker.as_deref(), project.as_deref());
                    self.events.call_noted(call, &tool, verdict);
                }
            }
        }
        // Also where nothing is to be told: a claim was taken back, or an answer is withheld.
        self.call_settled.notify_waiters();
    }

    /// Whether a window can be brought to the front here; looked up once.
    pub fn can_focus(&self) -> bool {
        *self.focus.get_or_init(|| self.host.can_focus())
    }

    /// Reads or writes the logs.
    pub fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        operation(&mut enter(&self.logbook))
    }

    /// Waits until no client waits for a call that was sent.
    pub async fn settled(&self) {
        self.until_none(Ledger::awaited).await;
    }

    /// As [`settled`](Self::settled), for those of one connection.
    pub async fn settled_on(&self, epoch: Epoch) {
        self.until_none(|ledger| ledger.awaited_on(epoch)).await;
    }

    async fn until_none(&self, count: impl Fn(&Ledger) -> usize) {
        loop {
            let settled = self.call_settled.notified();
            if self.ledger(|ledger, _| count(ledger)) == 0 {
                return;
            }
            settled.await;
        }
    }

    /// Ends what has lasted as long as it may; runs until the gateway ends.
    pub async fn sweep(self: Arc<Self>) {
        loop {
            let moved = self.deadline_moved.notified();
            let next = enter(&self.ledger).arm();
            match next {
                Some(deadline) => {
                    tokio::select! {
                        biased;
                        () = moved => continue,
                        () = tokio::time::sleep_until(deadline) => {}
                    }
                }
                None => {
                    moved.await;
                    continue;
                }
            }
            self.decide(crate::core::calls::Ledger::elapse);
        }
    }

    // ---- the client ----

    /// What is remembered of the client.
    pub fn client(&self) -> Client {
        enter(&self.client).clone()
    }

    /// For whom the answer to this request is written.
    pub fn audience(&self, request: RequestKey) -> Audience {
        self.outbox.caller(request).map_or_else(|| self.client().audience, |caller| caller.audience)
    }

    /// Changes what is remembered of the client.
    pub fn with_client<T>(&self, change: impl FnOnce(&mut Client) -> T) -> T {
        change(&mut enter(&self.client))
    }

    /// The id of the next request for the client's roots: none is ever used twice.
    pub fn next_roots_request(&self) -> RequestId {
        self.roots_requests.fetch_add(1, Ordering::Relaxed);
        self.last_roots_request()
    }

    /// The id of the last request for the client's roots.
    pub fn last_roots_request(&self) -> RequestId {
        RequestId::from_text(&format!("holdfast-roots-{}", self.roots_requests.load(Ordering::Relaxed)))
    }

    /// The name the editor is told: the client's own, else the configured one.
    pub fn client_name(&self) -> String {
        let name = enter(&self.client).name.clone();
        match (name.is_empty(), &self.config.client_name) {
            (false, _) => name,
            (true, Some(configured)) => configured.clone(),
            (true, None) => "MCP client".to_owned(),
        }
    }

    /// The catalogue on disk was looked for: a first list need not wait for it any longer.
    pub fn disk_was_read(&self) {
        self.published.send_modify(|published| published.disk_read = true);
        self.addresses.session.cast(session::Message::DiskRead);
    }

    // ---- the link ----

    /// Somebody needs the editor; remembered, so that a restarted bridge dials by itself.
    pub fn want_editor(&self) {
        self.wanted.store(true, Ordering::Relaxed);
        self.addresses.bridge.cast(bridge::Message::Wanted);
    }

    /// Whether somebody needs the editor.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The next connection's epoch.
    pub fn next_epoch(&self) -> Epoch {
        Epoch(self.epochs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The next message's number on the wire.
    pub fn next_wire_number(&self) -> u64 {
        self.wire_numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A new call's identity.
    pub fn next_call_id(&self) -> CallId {
        CallId::from_random(enter(&self.dice).u128(..).to_ne_bytes())
    }

    /// A throw of the die, in 0..1.
    pub fn die(&self) -> f64 {
        enter(&self.dice).f64()
    }

    /// What the editor speaks: the one that is or was connected, else the one that was found.
    pub fn dialect(&self) -> &'static dyn Dialect {
        let connected = self.target().map(|target| target.dialect);
        let found = || self.survey.borrow().as_ref().map(|survey| survey.dialect);
        connected.or_else(found).unwrap_or_else(|| dialect::fallback(self.config.dialects))
    }

    /// Remembers the editor's last tool list as it was read.
    pub fn keep_listing(&self, listing: Arc<ToolListing>) {
        *enter(&self.listing) = Some(listing);
    }

    /// The last tool list, if it is of this revision: then the editor need not send it again.
    pub fn listing_of(&self, revision: &str) -> Option<Arc<ToolListing>> {
        enter(&self.listing).clone().filter(|listing| listing.revision.as_deref() == Some(revision))
    }

    /// Hex digits that were never used before.
    pub fn fresh(&self) -> String {
        hex(&self.host.random())
    }

    /// The push listener that outlives its actor, and its port.
    pub fn push_listener(&self) -> Option<Arc<dyn Listener>> {
        enter(&self.push_listener).clone()
    }

    /// Keeps (or drops) the push listener.
    pub fn keep_push_listener(&self, listener: Option<Arc<dyn Listener>>) {
        *enter(&self.push_listener) = listener;
    }

    /// The port that greetings name.
    pub fn push_port(&self) -> Option<u16> {
        *enter(&self.push_port)
    }

    /// Sets the port that greetings name.
    pub fn set_push_port(&self, port: Option<u16>) {
        *enter(&self.push_port) = port;
    }

    /// Whoever owned the connection is gone: what it had claimed may have run.
    pub fn close_epochs(self: &Arc<Self>, loss: Loss) {
        self.decide(|ledger, now| ledger.close_all_epochs(loss, now));
        self.link_lost(loss);
    }

    /// The greeted connection, if there is one, has ended. Told once, whoever sees it first.
    pub fn link_lost(&self, loss: Loss) {
        let mut ended = None;
        self.link.send_modify(|link| {
            ended = link.epoch.take();
            if ended.is_some() {
                link.lost(loss);
            }
        });
        if let Some(epoch) = ended {
            self.events.link_down(epoch, loss);
        }
    }

    // ---- supervision ----

    /// Counts a restart.
    pub fn count_restart(&self, actor: &'static str) {
        *enter(&self.restarts).entry(actor).or_default() += 1;
    }

    /// Restarts so far, by actor.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        enter(&self.restarts).clone()
    }

    /// Says what keeps a part from its work, with the mend, or that nothing does any more; `holdfast_status` shows it.
    pub fn set_trouble(&self, part: &'static str, what: Option<String>) {
        let mut troubles = enter(&self.troubles);
        match what {
            Some(what) => troubles.insert(part, what),
            None => troubles.remove(part),
        };
    }

    /// What keeps parts from their work.
    pub fn troubles(&self) -> Vec<String> {
        enter(&self.troubles).values().cloned().collect()
    }

    /// The gateway's tasks run on this runtime, among others: they are counted.
    pub fn count_tasks_of(&self, runtime: Handle) {
        enter(&self.runtimes).push(runtime);
    }

    /// Tasks that live, on all runtimes of the gateway; a number that only rises is a leak. `None` where no runtime was named
    /// (tests that bring their own).
    pub fn tasks(&self) -> Option<usize> {
        let runtimes = enter(&self.runtimes);
        (!runtimes.is_empty()).then(|| runtimes.iter().map(|runtime| runtime.metrics().num_alive_tasks()).sum())
    }

    /// The gateway ends: nothing new is held.
    pub fn begin_draining(self: &Arc<Self>) {
        self.draining.store(true, Ordering::Relaxed);
        self.decide(crate::core::calls::Ledger::drain);
    }

    /// Whether the gateway ends.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn first_eight(bytes: [u8; 16]) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = bytes;
    [a, b, c, d, e, f, g, h]
}
