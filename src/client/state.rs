//! The client's side of a session that outlives the session actor: the actor's address, the open requests and stdout, the
//! handshake, and the ids of our own requests to the client.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};

use crate::config::Config;
use crate::core::call_records::Origin;
use crate::core::meant::Meant;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::session::Kind;
use crate::limits::TOOLS_FOUND_MAX;
use crate::limits::hub::HUB_QUESTIONS_OPEN_MAX;
use crate::platform::local_socket::HangUp;
use crate::protocol::hub::{self, OpenRequest};
use crate::protocol::ids::{CallId, LinkId, RequestKey, SessionId};
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::{Catalogue, ClientInfo, ClientProfile, Offered, ProtocolVersion, Terms};
use crate::runtime::enter;
use crate::runtime::messages::session::Message;
use crate::runtime::outbox::Outbox;
use crate::runtime::slot::{Mailbox, Slot};
use crate::telemetry::events::Events;

/// What is known from the client's handshake.
#[derive(Debug, Clone)]
pub struct Handshake {
    /// Whether the client has opened a session.
    pub opened: bool,
    /// The client's name, as the client gives it.
    pub name: String,
    /// The client's version, as the client gives it.
    pub release: Option<String>,
    /// The client's own id of its session.
    pub session: Option<String>,
    /// The negotiated version, and what is known of this client.
    pub profile: ClientProfile,
    /// Whether the client honours `list_changed`.
    pub kind: Kind,
    /// Whether the client can be asked for its roots.
    pub roots: bool,
    /// The client's roots that name no folder, as it wrote them.
    pub other_roots: Arc<[String]>,
    /// Whether the client's first tool list is answered.
    pub first_list_served: bool,
    /// The names of the tools that the client found by words, the newest first. They are listed too.
    pub found: Arc<[String]>,
    /// The resources of the last list that the client got, or of the last change that it was told of; `None` if it never asked.
    pub resources_told: Option<Arc<[Offered]>>,
}

impl Handshake {
    /// Returns the profile for a request that does not carry one. The profile's version is never of the stateless era, even if a
    /// stateless request opened the session.
    pub fn profile_by_handshake(&self) -> ClientProfile {
        ClientProfile { version: self.profile.version.min(ProtocolVersion::LATEST), ..self.profile }
    }
}

/// What a session comes with.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    /// What the session brings itself; see [`Client::config`].
    pub config: Arc<Config>,
    /// The session's own name, which it keeps from hub to hub; `None` for a session that never changes its gateway.
    pub name: Option<Arc<str>>,
    /// The requests that the session brings: an earlier gateway had them, and they are not answered.
    pub open: Vec<OpenRequest>,
    /// Whether this gateway lacks the records of the hub that had these requests. If so, the call of each may have been
    /// sent.
    pub records_lost: bool,
    /// The project that the session is for, if it is known already. Nothing that the client says changes it.
    pub project: Option<PathBuf>,
    /// Tells whether the session is still there; `None` if it does not come over a connection that tells.
    pub hang_up: Option<HangUp>,
    /// Whether this is the session of another process, which makes its calls over the port.
    pub speaks_port: bool,
}

impl From<Arc<Config>> for Arrival {
    fn from(config: Arc<Config>) -> Self {
        Self { config, ..Self::default() }
    }
}

#[derive(Debug, Default)]
struct Origins {
    /// The session's own name.
    name: Option<Arc<str>>,
    /// The requests that the session brought and that are not handled yet.
    brought: BTreeMap<u64, OpenRequest>,
}

impl Origins {
    fn new(name: Option<Arc<str>>, open: Vec<OpenRequest>) -> Self {
        Self { name, brought: open.into_iter().map(|open| (open.request, open)).collect() }
    }
}

/// What was listed last, and what it was made of.
#[derive(Debug)]
struct Listed {
    of: Arc<Catalogue>,
    tools_max: Option<usize>,
    found: Arc<[String]>,
    catalogue: Arc<Catalogue>,
}

/// The client of one session; see the module's documentation.
#[derive(Debug)]
pub struct Client {
    /// The number of the session.
    pub id: SessionId,
    /// What the session brings itself: where it works, its rules for tools, its audit, the settings for its client. For
    /// the client over stdin and stdout this is the configuration of the gateway.
    pub config: Arc<Config>,
    /// The address of the session actor.
    pub actor: Slot<Message>,
    /// The limit for messages from the client to the session actor.
    pub mailbox: Mailbox,
    /// The client's open requests, and the queue to stdout.
    pub outbox: Outbox,
    /// The number of lines read from the client.
    pub heard: AtomicU64,
    /// Bytes of arguments of the calls that wait until their link is known.
    pub unrouted_bytes: AtomicUsize,
    handshake: Mutex<Handshake>,
    listed: Mutex<Option<Listed>>,
    roots_requests: AtomicU64,
    meant: Mutex<Meant>,
    /// Whether the outcome of requests that an earlier gateway had cannot be known, because its records are lost.
    records_lost: bool,
    /// Notified once the other side says that it sends nothing more, although its connection is open.
    pub input_ended: Notify,
    hang_up: Option<HangUp>,
    /// Whether this is the session of another process, which makes its calls over the port. Answers go to it as they
    /// are.
    pub speaks_port: bool,
    /// The projects of the editors that the session of another process has a choice of.
    choice: Mutex<Vec<PathBuf>>,
    /// Whether the session has come again over another connection.
    is_superseded: AtomicBool,
    is_leaving: AtomicBool,
    /// The calls of the message, each with its request, if this session is for one message only.
    calls: Mutex<Vec<(RequestKey, CallId)>>,
    origins: Mutex<Origins>,
    nowhere: LinkId,
    link: watch::Sender<LinkId>,
    is_ending: AtomicBool,
    /// How the last call ended, and whether an editor refused it before it ran.
    pub(super) last_call: Mutex<Option<(Verdict, bool)>>,
    /// The whole result for a client in this process ([`Config::whole_results`]).
    pub(super) whole: Mutex<Option<Box<RawValue>>>,
}

impl Client {
    /// Creates a client that has sent nothing yet. It is on the link `nowhere` until an editor is found for it.
    pub fn new(id: SessionId, nowhere: LinkId, arrival: Arrival, events: Events) -> Self {
        let Arrival { config, name, open, records_lost, project, hang_up, speaks_port } = arrival;
        let said = || Meant::new(config.project.clone(), config.working_dir.clone(), !config.ports.is_empty());
        let mut meant = project.map_or_else(said, Meant::settled);
        meant.lasts = !id.is_post();
        if id == SessionId::STDIO {
            // A gateway with only one client can look as often as that client asks.
            meant.look_every = Duration::ZERO;
        }
        let outbox = Outbox::new(id, events);
        if speaks_port {
            outbox.allow_more(HUB_QUESTIONS_OPEN_MAX);
        }
        if let Some(write) = hang_up.as_ref().and_then(HangUp::write_at_once) {
            outbox.write_at_once(write);
        }
        Self {
            id,
            actor: Slot::default(),
            mailbox: Mailbox::default(),
            outbox,
            heard: AtomicU64::new(0),
            unrouted_bytes: AtomicUsize::new(0),
            handshake: Mutex::new(Handshake {
                opened: false,
                name: String::new(),
                release: None,
                session: None,
                profile: ProtocolVersion::LATEST.into(),
                kind: Kind::IgnoresChanges,
                roots: false,
                other_roots: Arc::default(),
                first_list_served: false,
                found: Arc::default(),
                resources_told: None,
            }),
            listed: Mutex::default(),
            roots_requests: AtomicU64::new(0),
            meant: Mutex::new(meant),
            config,
            records_lost,
            input_ended: Notify::new(),
            hang_up,
            speaks_port,
            choice: Mutex::default(),
            is_superseded: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            calls: Mutex::default(),
            origins: Mutex::new(Origins::new(name, open)),
            nowhere,
            link: watch::Sender::new(nowhere),
            is_ending: AtomicBool::new(false),
            last_call: Mutex::default(),
            whole: Mutex::default(),
        }
    }

    /// Gives the session its name from another gateway, and the requests that are not answered.
    pub fn continues(&self, name: Arc<str>, open: Vec<OpenRequest>) {
        *enter(&self.origins) = Origins::new(Some(name), open);
    }

    /// Gives the session a name of its own, if it has none.
    pub fn be_named(&self, name: impl FnOnce() -> Arc<str>) {
        enter(&self.origins).name.get_or_insert_with(name);
    }

    /// Whether the outcome of requests that an earlier gateway had cannot be known, because its records are lost.
    pub fn has_lost_records(&self) -> bool {
        self.records_lost
    }

    /// Returns the session's own name; `None` if it has none.
    pub fn name(&self) -> Option<Arc<str>> {
        enter(&self.origins).name.clone()
    }

    /// Returns the session's own name of a request; `None` if the session has no name.
    pub fn origin_of(&self, request: RequestKey) -> Option<Origin> {
        let session = self.name()?;
        Some(Origin { session, number: self.number_of(request)? })
    }

    /// Returns what the session said of a request that it brought from an earlier gateway: whether it was sent there, and how long
    /// its client has waited. `None` if the request came here first, or is known not to have been sent there.
    pub fn brought(&self, request: RequestKey) -> Option<(bool, Duration)> {
        if enter(&self.origins).brought.is_empty() {
            return None;
        }
        let number = self.number_of(request)?;
        let origins = enter(&self.origins);
        let open = origins.brought.get(&number)?;
        Some((open.sent, Duration::from_millis(open.waited_ms)))
    }

    /// Notes that nothing was sent for a request that was brought. Until then, a refusal must not deny that the
    /// request's call may have run.
    pub fn brought_unsent(&self, request: RequestKey) {
        if let Some(number) = self.number_of(request) {
            enter(&self.origins).brought.remove(&number);
        }
    }

    /// Answers a request that became no call here. If the request was sent to an earlier gateway, it may have become a
    /// call there, and the error says that.
    pub fn refuse(&self, request: RequestKey, error: &RpcError) {
        let may_have_run = self.brought(request).is_some_and(|(sent, _)| sent);
        let lost = may_have_run.then(|| RpcError::internal(user_text::HUB_LEFT));
        self.outbox.answer_error(request, lost.as_ref().unwrap_or(error));
    }

    /// The session of another process numbers its requests itself.
    fn number_of(&self, request: RequestKey) -> Option<u64> {
        if self.is_of_another_process() { self.outbox.number_of(request) } else { Some(request.number) }
    }

    /// Whether the client is the session of another process, which speaks the hub's protocol.
    pub fn is_of_another_process(&self) -> bool {
        self.id != SessionId::STDIO && !self.id.is_post()
    }

    /// Remembers which client opened the session. Returns whether it honours notifications of changed tools.
    pub fn opened_by(&self, client: ClientInfo, profile: ClientProfile, roots: bool) -> Kind {
        // Without a handshake, the answer to a request must not depend on other requests, such as a subscription. So such a
        // client never counts as one that honours changes, and its first list waits until it is complete.
        // A client that sends single messages is told of no change.
        let honours_changes = profile.client.list_changed && !profile.version.is_stateless() && !self.id.is_post();
        let kind = if honours_changes { Kind::HonoursChanges } else { Kind::IgnoresChanges };
        self.with_handshake(|known| {
            known.opened = true;
            known.name = client.name;
            known.release = client.version;
            known.session = client.session;
            known.profile = profile;
            known.kind = kind;
            known.roots = roots;
            known.other_roots = Arc::default();
            known.first_list_served = false;
            known.found = Arc::default();
            known.resources_told = None;
        });
        kind
    }

    /// Returns what of these tools the client lists. `tools_max`: how many it shows, if known.
    pub fn listed(&self, of: &Arc<Catalogue>, tools_max: Option<usize>) -> Arc<Catalogue> {
        let found = enter(&self.handshake).found.clone();
        let mut listed = enter(&self.listed);
        let is_same = |last: &&Listed| {
            Arc::ptr_eq(&last.of, of) && last.tools_max == tools_max && Arc::ptr_eq(&last.found, &found)
        };
        if let Some(last) = listed.as_ref().filter(is_same) {
            return Arc::clone(&last.catalogue);
        }
        let catalogue = of.listed(&Terms { tools_max, toolsets: &self.config.toolsets, found: &found });
        *listed = Some(Listed { of: Arc::clone(of), tools_max, found, catalogue: Arc::clone(&catalogue) });
        catalogue
    }

    /// Remembers that the client found these tools: they are listed from now on. Returns false if nothing is remembered: a client that
    /// sends single messages is a new one with each.
    pub fn has_found<'a>(&self, names: impl Iterator<Item = &'a str>) -> bool {
        if self.id.is_post() {
            return false;
        }
        self.with_handshake(|known| {
            let mut found: Vec<String> = names.map(str::to_owned).collect();
            found.extend(known.found.iter().filter(|name| !found.contains(name)).cloned().collect::<Vec<_>>());
            found.truncate(TOOLS_FOUND_MAX);
            known.found = found.into();
        });
        true
    }

    /// Remembers the call of a request, if the session is for one message only. The end of the message decides what
    /// happens to the call's record.
    pub fn note_call(&self, key: RequestKey, call: CallId) {
        if self.id.is_post() {
            enter(&self.calls).push((key, call));
        }
    }

    /// Returns the calls that were noted, each with its request.
    pub fn noted_calls(&self) -> Vec<(RequestKey, CallId)> {
        enter(&self.calls).clone()
    }

    /// Marks the session as ending: the code that ends it answers the open requests, and not the supervisor.
    pub fn begin_ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Whether the session is ending.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Marks the session as leaving: its requests go to another gateway unless their calls were sent. That holds for
    /// open requests and for all that still come.
    pub fn begin_leaving(&self) {
        self.begin_ending();
        self.is_leaving.store(true, Ordering::SeqCst);
    }

    /// Whether the session is leaving ([`begin_leaving`](Self::begin_leaving)).
    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::SeqCst)
    }

    /// Gives a request back to the session, which takes it to another gateway: nothing was sent for it here. If an
    /// earlier gateway may have sent it, the session must go on saying so.
    pub fn give_back(&self, request: RequestKey) {
        self.outbox.given_back(request);
        let may_have_run = self.brought(request).is_some_and(|(sent, _)| sent);
        if !may_have_run && let Some(number) = self.number_of(request) {
            let params = format!(r#"{{"request":{number}}}"#);
            self.outbox.notify(hub::GIVEN_BACK, jsonrpc::notification(hub::GIVEN_BACK, Some(&params)), false);
        }
    }

    /// Returns the projects of the editors that the session of another process has a choice of; none if it has no choice.
    pub fn choice(&self) -> Vec<PathBuf> {
        enter(&self.choice).clone()
    }

    /// Sets the projects of the editors that the session of another process has a choice of.
    pub fn chooses_among(&self, choice: Vec<PathBuf>) {
        *enter(&self.choice) = choice;
    }

    /// Marks the session as one that has come again over another connection.
    pub fn supersede(&self) {
        self.is_superseded.store(true, Ordering::SeqCst);
    }

    /// Whether the session waits here no longer for its answers: it has hung up, or has come again. It may have done so
    /// while this process stood still. Then the end of its connection comes after its requests.
    pub fn is_gone(&self) -> bool {
        self.is_superseded.load(Ordering::SeqCst) || self.hang_up.as_ref().is_some_and(HangUp::has_come)
    }

    /// Returns the link that the session is on, to which new calls go.
    pub fn link(&self) -> LinkId {
        *self.link.borrow()
    }

    /// Returns the link that the session is on while no editor is found for it.
    pub fn nowhere(&self) -> LinkId {
        self.nowhere
    }

    /// Reads or changes what is known about where the client works.
    pub fn meant<T>(&self, operation: impl FnOnce(&mut Meant) -> T) -> T {
        operation(&mut enter(&self.meant))
    }

    /// Returns a receiver that is notified whenever the session moves to another link.
    pub fn moves(&self) -> watch::Receiver<LinkId> {
        self.link.subscribe()
    }

    /// Moves the session to another link.
    pub fn move_to(&self, link: LinkId) {
        self.link.send_replace(link);
    }

    pub fn handshake(&self) -> Handshake {
        enter(&self.handshake).clone()
    }

    pub fn with_handshake<T>(&self, change: impl FnOnce(&mut Handshake) -> T) -> T {
        change(&mut enter(&self.handshake))
    }

    /// Returns a new id for a request for roots. No id is used twice in a session.
    pub fn next_roots_request(&self) -> RequestId {
        self.roots_requests.fetch_add(1, Ordering::Relaxed);
        self.last_roots_request()
    }

    /// Returns the id of the last request for roots.
    pub fn last_roots_request(&self) -> RequestId {
        RequestId::from_text(&format!("holdfast-roots-{}", self.roots_requests.load(Ordering::Relaxed)))
    }
}
