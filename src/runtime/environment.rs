//! What a gateway is given at its start, and its state that does not belong to a client or an editor.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::time::Instant;

use super::arrivals::Arrivals;
use super::enter;
use super::health::Health;
use crate::config::Config;
use crate::fsm::restart::EndReason;
use crate::net::Net;
use crate::platform::host::Host;
use crate::protocol::ids::{CallId, LinkId, SessionId};
use crate::storage::call_files::CallFile;
use crate::storage::gateway_calls::GatewayCalls;
use crate::telemetry::events::Events;

/// The gateway's environment, with the events of one link or session.
pub struct Environment {
    process: Arc<Process>,
    /// Logs and counts events.
    pub events: Events,
}

pub struct Process {
    pub config: Arc<Config>,
    pub net: Arc<dyn Net>,
    pub host: Arc<dyn Host>,
    /// The name by which an editor recognises this gateway: a random UUID. A hub has its predecessor's.
    pub gateway: String,
    /// The name of this process: a random UUID.
    pub boot: String,
    /// The records of sent calls, if this process is a hub.
    pub records: Option<Arc<CallFile>>,
    /// The records of sent calls, if this process serves one client by itself and can keep records.
    pub own: OnceLock<GatewayCalls>,
    /// The records of a hub that served this process's session, if one did.
    pub former: OnceLock<Arc<CallFile>>,
    /// The numbers of calls to editors with a journal begin above this. They must rise as long as the gateway has its
    /// name.
    pub call_numbers_from: u64,
    /// When the gateway started.
    pub began: Instant,
    /// The editors that connect to this process.
    pub arrivals: Arrivals,
    /// Restarts, problems and tasks.
    pub health: Health,
    random: Mutex<fastrand::Rng>,
    /// The id that a command has told its user for its one call, until the call takes it.
    named_call: Mutex<Option<CallId>>,
    can_focus: OnceLock<bool>,
    /// Where MCP is served over HTTP, if it is.
    http: OnceLock<SocketAddr>,
    is_draining: AtomicBool,
    retired: watch::Sender<bool>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

impl Deref for Environment {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl Environment {
    /// Creates the environment of a gateway that starts now.
    pub fn new(config: Config, net: Arc<dyn Net>, host: Arc<dyn Host>) -> Arc<Self> {
        Self::with_records(config, net, host, None)
    }

    /// Creates the environment of a hub that starts now and keeps these records.
    pub fn with_records(
        config: Config,
        net: Arc<dyn Net>,
        host: Arc<dyn Host>,
        records: Option<Arc<CallFile>>,
    ) -> Arc<Self> {
        let seed = config.seed.unwrap_or_else(|| u64::from_ne_bytes(first_eight(host.random())));
        let fresh = || uuid::Builder::from_random_bytes(host.random()).into_uuid().to_string();
        let gateway = records.as_ref().map_or_else(fresh, |records| records.gateway.clone());
        let boot = fresh();
        // A hub sends far less than one call in a microsecond, so the numbers of its successor are higher.
        let since = host.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let call_numbers_from = if records.is_some() { u64::try_from(since.as_micros()).unwrap_or(0) } else { 0 };
        let events = Events::new(Arc::clone(&host), config.metrics.is_some());
        let process = Process {
            config: Arc::new(config),
            net,
            host,
            gateway,
            boot,
            records,
            own: OnceLock::new(),
            former: OnceLock::new(),
            call_numbers_from,
            began: Instant::now(),
            arrivals: Arrivals::default(),
            health: Health::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            named_call: Mutex::default(),
            can_focus: OnceLock::new(),
            http: OnceLock::new(),
            is_draining: AtomicBool::new(false),
            retired: watch::Sender::new(false),
        };
        Arc::new(Self { process: Arc::new(process), events })
    }

    /// Returns the same environment, with events that name this link and the project that it leads to.
    pub fn of_link(&self, link: LinkId, project: Option<&Path>) -> Arc<Self> {
        Arc::new(Self { process: Arc::clone(&self.process), events: self.events.of_link(link, project) })
    }

    /// Returns the same environment, with events that name this session.
    pub fn of_session(&self, session: SessionId) -> Arc<Self> {
        Arc::new(Self { process: Arc::clone(&self.process), events: self.events.of_session(session) })
    }

    /// Counts the end of an actor that is started again.
    pub fn restarting(&self, actor: &'static str, reason: EndReason) {
        self.health.count_restart(actor);
        self.events.actor_restarting(actor, reason);
    }
}

impl Process {
    /// Returns the records of sent calls that this process writes.
    pub fn call_records(&self) -> Option<&Arc<CallFile>> {
        self.records.as_ref().or_else(|| Some(&self.own.get()?.file))
    }

    /// Returns the id of the next call.
    pub fn next_call_id(&self) -> CallId {
        let named = enter(&self.named_call).take();
        named.unwrap_or_else(|| CallId::from_random(enter(&self.random).u128(..).to_ne_bytes()))
    }

    /// Gives the next call this id.
    pub fn name_next_call(&self, id: CallId) {
        *enter(&self.named_call) = Some(id);
    }

    /// Returns a random number, 0 or greater and less than 1.
    pub fn random_fraction(&self) -> f64 {
        enter(&self.random).f64()
    }

    /// Returns 32 random hexadecimal digits, from the system's random numbers.
    pub fn fresh(&self) -> String {
        self.host.random().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the system can bring a window to the front; looked up once.
    pub fn can_focus(&self) -> bool {
        *self.can_focus.get_or_init(|| self.host.can_focus())
    }

    /// Records where MCP is served over HTTP. Called once.
    pub fn serves_http_at(&self, address: SocketAddr) {
        let _ = self.http.set(address);
    }

    /// Returns where MCP is served over HTTP; `None` if it is not.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.get().copied()
    }

    /// Returns the URL at which programs of this machine reach MCP over HTTP; `None` if it is not served. If the
    /// gateway listens on every address of the machine, the URL names one that can be connected to.
    pub fn http_url(&self) -> Option<String> {
        let address = self.http()?;
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Some(format!("http://{}/mcp", SocketAddr::new(ip, address.port())))
    }

    /// Marks the gateway as shutting down.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Records that a session of a newer version asked this hub to end.
    pub fn retire(&self) {
        self.retired.send_replace(true);
    }

    /// Waits until the hub is asked to end.
    pub async fn retired(&self) {
        let _ = self.retired.subscribe().wait_for(|retired| *retired).await;
    }

    /// Whether the gateway is shutting down.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

fn first_eight(bytes: [u8; 16]) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = bytes;
    [a, b, c, d, e, f, g, h]
}
