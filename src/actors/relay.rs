//! The relay actor: the shell around [`fsm::attachment`](crate::fsm::attachment). It stands in the session actor's place while a
//! hub serves the session.
//!
//! *Owns* the connection to the hub. What the client said stays in [`RelaySeat::requests`], which outlives this actor. *Receives*
//! the client's messages, and what became of the connection. *Sends* requests to the hub, whose answers go to the outbox. *Dies*
//! only of our own bugs: its successor connects again.
//!
//! The handshake is answered here, so that a client never waits for a hub.

mod connection;
mod seat;

pub use self::seat::RelaySeat;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::core::relayed::{Relayed, RelayedRequests};
use crate::core::requests::{Hold, Holder};
use crate::core::user_text;
use crate::fsm::Driver;
use crate::fsm::attachment::{self, Attachment, Effect, Event, Timer};
use crate::limits::SESSION_CALLS_MAX_BYTES;
use crate::platform::background::{self};
use crate::platform::local_socket::Peer;
use crate::protocol::hub::{self};
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::request::List;
use crate::protocol::mcp::stateless::{self, Requester};
use crate::protocol::mcp::{
    self, ClientInfo, ClientProfile, Notification, OfferRequest, ProtocolVersion, Request, ToolResult,
};
use crate::runtime::enter;
use crate::runtime::messages::relay::{News, NoAttachment};
use crate::runtime::messages::session::{Delivered, Message};
use crate::runtime::outbox::SERVER;
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::storage::hub_folder::HubLock;

/// The id of the question whether a hub is alive.
const QUESTION: &str = "holdfast-alive";

/// The actor.
pub struct RelayActor {
    /// The seat of the session.
    pub seat: Arc<RelaySeat>,
    /// The tasks of this actor.
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Attachment>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    /// The number of the last connection.
    nth: u64,
    /// Takes lines for the hub; `None` while no hub serves the session.
    lines: Option<mpsc::Sender<String>>,
    /// The process at the other end of the last connection.
    peer: Option<Peer>,
    /// Whether the hub has sent something since the last look.
    heard: Arc<AtomicBool>,
    /// Dropping this sender ends the connection.
    open: Option<watch::Sender<()>>,
    /// The lock that is held while this process starts a hub. Held also while an older hub makes way: an older session that were
    /// the first to start its successor would start an older hub again.
    start_lock: Option<std::fs::File>,
    /// The pid of the hub that this process starts.
    starting: Option<u32>,
    /// Whether it was logged that no hub can be started.
    said_not_started: bool,
}

impl Actor for RelayActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        self.seat.client.actor.fill(me.clone());
        let served = self.seat.served.load(Ordering::Relaxed);
        let (driver, _) = Driver::start(Attachment { served, ..Attachment::new(self.seat.starts) });
        self.seat.env.events.machine_started(driver.machine(), driver.state());
        let timers = Timers::new(me.clone(), |timer| Message::Relay(News::Timer(timer)));
        let heard = Arc::default();
        Ok(State {
            driver,
            timers,
            me,
            nth: 0,
            lines: None,
            peer: None,
            heard,
            open: None,
            start_lock: None,
            starting: None,
            said_not_started: false,
        })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        // The effect of the machine's first state.
        self.carry_out(state, Effect::Dial);
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Delivered(message, _permit) => self.delivered(state, message),
            Message::Cancelled(request) => self.cancelled(state, request),
            Message::Relay(news) => self.news(state, news),
            Message::InputEnded(_permit) => {
                self.seat.input_ended.store(true, Ordering::Relaxed);
                self.send(state, jsonrpc::notification(hub::INPUT_ENDED, None));
            }
            Message::Stop => self.feed(state, &Event::StopRequested),
            // Of links, sessions and surveys in this process, which a relayed session does not use.
            Message::LinkChanged
            | Message::CatalogueChanged
            | Message::LookedAround(..)
            | Message::EditorsChanged
            | Message::EditorWanted
            | Message::PackageToolCalled(..)
            | Message::CallsSettled
            | Message::RoutingTimer(_)
            | Message::Timer(_) => {}
        }
        Ok(())
    }
}

impl RelayActor {
    // ---- what the client sends ----

    fn delivered(&self, state: &mut State, message: Delivered) {
        match message {
            Delivered::Request { hold, id, requester, method, params } => {
                if hold.is_open() {
                    self.request(state, hold, id, requester, method, params);
                }
            }
            Delivered::Notification { method, params } => {
                if mcp::parse_notification(&method, params.as_deref()) == Notification::Initialized {
                    self.requests(RelayedRequests::initialized);
                }
                self.send(state, jsonrpc::notification(&method, params.as_deref().map(RawValue::get)));
            }
            Delivered::Response { id, result } => {
                if let Some(hubs) = self.requests(|requests| requests.roots_told(id.as_ref())) {
                    let line = match result {
                        Some(result) => jsonrpc::response(&hubs, result.get()),
                        None => jsonrpc::error(Some(&hubs), &RpcError::internal("the client has no roots to tell")),
                    };
                    self.send(state, line);
                }
            }
        }
    }

    fn request(
        &self,
        state: &mut State,
        hold: Hold,
        id: RequestId,
        requester: Option<Arc<Requester>>,
        method: String,
        params: Option<Box<RawValue>>,
    ) {
        let outbox = &self.seat.client.outbox;
        let parsed = match &requester {
            None => mcp::parse_request(&method, params.as_deref()),
            Some(_) => stateless::parse_request(&method, params.as_deref()),
        };
        // Without a handshake, the first request for tools opens the session.
        if let (Some(requester), Ok(parsed)) = (&requester, &parsed)
            && parsed.opens_session()
            && !self.seat.client.handshake().opened
        {
            self.opened(requester.client.clone(), requester.profile, false);
        }
        let token = match parsed {
            Ok(Request::Initialize(initialize)) => {
                let version = ProtocolVersion::negotiate(&initialize.requested);
                let profile = self.seat.client.config.profile_of(version, &initialize.client.name);
                self.opened(initialize.client, profile, initialize.roots);
                outbox.answer(
                    hold.key(),
                    &mcp::initialize_result(
                        version,
                        &SERVER,
                        mcp::instructions(self.seat.client.config.is_for_a_project()),
                        true,
                    ),
                );
                let line = jsonrpc::request(&RequestId::from_number(0), &method, params.as_deref().map(RawValue::get));
                self.requests(|requests| requests.opened(params));
                self.send(state, line);
                return;
            }
            // The subscription is kept here: it outlives a hub. The hub has one of its own, for this session.
            Ok(Request::Listen(filter)) => {
                if outbox.subscribe(hold.key(), filter).is_err() {
                    let error = RpcError::invalid_request(user_text::too_many_subscriptions());
                    outbox.answer_error(hold.key(), &error);
                    return;
                }
                None
            }
            Ok(Request::Offer(OfferRequest::ListResources)) => {
                self.seat.client.with_handshake(|client| client.resources_told = Some(Arc::default()));
                None
            }
            Ok(Request::CallTool(call)) => call.progress_token,
            Ok(Request::Offer(OfferRequest::Read(read))) => read.progress_token,
            // What is wrong with a request is said by the hub.
            Ok(_) | Err(_) => None,
        };
        let key = hold.key();
        if method != "subscriptions/listen" {
            hold.pass(Holder::Ledger);
        }
        let profile = requester.as_ref().map(|requester| requester.profile);
        let is_call = method == "tools/call";
        let (since, sent) = (Instant::now(), false);
        let relayed = Relayed { hold, id, requester, method, params, token, since, sent };
        match self.requests(|requests| requests.add(relayed)) {
            Ok(line) => {
                if self.send(state, line) {
                    self.requests(|requests| requests.was_sent(key.number));
                }
            }
            Err(_) if !is_call => {
                outbox.answer_error(key, &RpcError::internal(user_text::too_many_bytes(SESSION_CALLS_MAX_BYTES)));
            }
            Err(_) => {
                let result = ToolResult::error(user_text::too_many_bytes(SESSION_CALLS_MAX_BYTES));
                let profile = profile.unwrap_or_else(|| self.seat.client.handshake().profile_by_handshake());
                outbox.answer(key, &mcp::tool_result(&result, &profile));
            }
        }
    }

    fn opened(&self, client: ClientInfo, profile: ClientProfile, roots: bool) {
        let name = client.name.clone();
        let kind = self.seat.client.opened_by(client, profile, roots);
        self.seat.env.events.session_opened(&name, profile.version, kind.honours_changes());
    }

    fn cancelled(&self, state: &mut State, request: RequestKey) {
        if self.requests(|requests| requests.remove(request.number)).is_some() {
            let params = format!(r#"{{"requestId":{}}}"#, request.number);
            self.send(state, jsonrpc::notification("notifications/cancelled", Some(&params)));
        }
    }

    /// Sends a line, if a hub serves the session. Otherwise a request waits in the table, and anything else is of no use to the
    /// next hub: that is told everything from the start. Returns whether the line may reach the hub.
    fn send(&self, state: &mut State, line: String) -> bool {
        let Some(lines) = &state.lines else { return false };
        let sent = lines.try_send(line).is_ok();
        if !sent {
            // The hub does not read, although it must read as many requests as may be open.
            state.open = None;
        }
        sent
    }

    fn requests<T>(&self, operation: impl FnOnce(&mut RelayedRequests) -> T) -> T {
        operation(&mut enter(&self.seat.requests))
    }

    // ---- the connection ----

    fn news(&self, state: &mut State, news: News) {
        match news {
            News::Welcomed { nth, welcome, peer, lines } if nth == state.nth => {
                let older = hub::is_newer(SERVER.version, &welcome.build);
                self.seat.env.events.hub_attached(&welcome.build, welcome.pid, &welcome.hub);
                self.seat.served.store(true, Ordering::Relaxed);
                *enter(&self.seat.records) = Some(welcome.records);
                (state.lines, state.peer) = (Some(lines), peer);
                (state.start_lock, state.starting) = (None, None);
                self.feed(state, &Event::Welcomed { older });
            }
            News::Failed { nth, why } if nth == state.nth => {
                state.open = None;
                let event = match why {
                    NoAttachment::NoHub => Event::NoHub,
                    NoAttachment::Refused(refusal) => {
                        self.seat.env.events.hub_refused(&refusal.says);
                        Event::Refused { ending: refusal.reason == hub::Reason::Ending }
                    }
                    NoAttachment::Unusable(says) => {
                        self.seat.env.events.hub_refused(&says);
                        Event::Refused { ending: false }
                    }
                    NoAttachment::Unanswered(peer) => {
                        state.peer = peer;
                        Event::Unanswered
                    }
                };
                self.feed(state, &event);
            }
            News::Closed { nth } if nth == state.nth => {
                state.lines = None;
                self.seat.env.events.hub_lost();
                self.feed(state, &Event::Closed);
            }
            // Of an earlier connection.
            News::Welcomed { .. } | News::Failed { .. } | News::Closed { .. } => {}
            // A hub that served this session before it ended is replaced like any other.
            News::StartedEnded { pid, well } if state.starting == Some(pid) => {
                // Another session may start one now.
                (state.start_lock, state.starting) = (None, None);
                if !well {
                    let log = self.seat.folder.log();
                    self.not_started(state, &format!("it ended at once; {} says why", log.display()));
                    self.search_over(state);
                }
            }
            News::StartedEnded { .. } => {}
            News::NotStarted => self.search_over(state),
            News::Timer(timer) => {
                if state.timers.fired(timer) {
                    let event = match timer {
                        Timer::Redial => Event::RedialDue,
                        Timer::Successor => Event::SearchOver,
                        Timer::Look => {
                            self.answer_overdue();
                            let owed = !self.requests(|requests| requests.is_empty());
                            let heard = state.heard.swap(false, Ordering::Relaxed);
                            // While the client does not read, this session does not read the hub either.
                            let reads = !self.seat.client.outbox.is_blocked();
                            Event::Looked { silent: owed && !heard && reads }
                        }
                    };
                    self.feed(state, &event);
                }
            }
        }
    }

    /// Ends the search for a hub, which cannot be started. One that serves the session meanwhile is used.
    fn search_over(&self, state: &mut State) {
        if matches!(state.driver.state(), attachment::State::Dialing | attachment::State::Waiting) {
            self.feed(state, &Event::SearchOver);
        }
    }

    /// Answers the requests that a hub which makes way gave back, and whose client waits no longer.
    fn answer_overdue(&self) {
        let patience = self.seat.client.handshake().profile_by_handshake().client.patience;
        for request in self.requests(|requests| requests.take_overdue(Instant::now(), patience)) {
            self.seat.answer_here(&request, user_text::hub_makes_way, user_text::SHUT_DOWN);
        }
    }

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.seat.env.events.stepped(&out, before, event);
        for effect in out.effects {
            self.carry_out(state, effect);
        }
    }

    fn carry_out(&self, state: &mut State, effect: Effect) {
        match effect {
            Effect::Dial => {
                state.nth += 1;
                let (open, closing) = watch::channel(());
                state.open = Some(open);
                let (seat, me, heard) = (Arc::clone(&self.seat), state.me.clone(), Arc::clone(&state.heard));
                self.tasks.spawn(connection::run(seat, me, state.nth, heard, closing));
            }
            Effect::StartHub => self.start_hub(state),
            Effect::Resume => {
                for line in self.requests(RelayedRequests::resume) {
                    self.send(state, line);
                }
                if self.seat.input_ended.load(Ordering::Relaxed) {
                    self.send(state, jsonrpc::notification(hub::INPUT_ENDED, None));
                }
                // What changed while no hub served the session was announced to nobody.
                for list in [List::Tools, List::Resources] {
                    self.seat.client.outbox.list_changed(list, None);
                }
                let client = self.seat.client.handshake();
                if client.resources_told.is_some() && !client.profile.version.is_stateless() {
                    // Only the former hub knew what the client was told.
                    self.seat.client.outbox.notify(
                        List::Resources.notification(),
                        mcp::list_changed(List::Resources),
                        true,
                    );
                }
            }
            Effect::AskToRetire => {
                // If another session has the lock, that one starts the successor.
                state.start_lock = self.seat.folder.begin_start().ok().flatten();
                self.send(state, jsonrpc::notification(hub::RETIRE, None));
            }
            Effect::Ask => {
                self.send(state, jsonrpc::request(&RequestId::from_text(QUESTION), "ping", None));
            }
            Effect::EndHub => {
                let ended = state.peer.take().filter(Peer::kill);
                self.seat.env.events.hub_hung(ended.map(|peer| peer.pid));
            }
            Effect::Close => (state.open, state.lines) = (None, None),
            Effect::Embed => {
                let says = match self.seat.folder.hub_lock() {
                    HubLock::Free => "no hub runs".to_owned(),
                    HubLock::Held => "a hub holds the lock, and this session cannot reach or use it".to_owned(),
                    HubLock::Unknown(error) => format!("whether a hub runs cannot be found out: {error}"),
                };
                self.seat.env.events.hub_forgone(&says);
                self.seat.embeds.send_replace(true);
            }
            Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
            Effect::Disarm(timer) => state.timers.disarm(timer),
        }
    }

    fn start_hub(&self, state: &mut State) {
        let Some(program) = &self.seat.command else { return };
        // A hub that holds the lock is starting or ending, or binds its socket again.
        if state.starting.is_some() || matches!(self.seat.folder.hub_lock(), HubLock::Held) {
            return;
        }
        let lock = state.start_lock.take().map_or_else(|| self.seat.folder.begin_start(), |lock| Ok(Some(lock)));
        match lock {
            Ok(Some(lock)) => match background::start(program, &self.seat.folder.log()) {
                Ok(mut child) => {
                    let (pid, me) = (child.id().unwrap_or_default(), state.me.clone());
                    self.seat.env.events.hub_started_by_session(pid);
                    (state.start_lock, state.starting) = (Some(lock), Some(pid));
                    self.tasks.spawn(async move {
                        let well = child.wait().await.is_ok_and(|status| status.success());
                        let _ = me.cast(Message::Relay(News::StartedEnded { pid, well }));
                    });
                }
                Err(error) => self.cannot_start(state, &error),
            },
            // Another session starts it.
            Ok(None) => {}
            Err(error) => self.cannot_start(state, &error),
        }
    }

    fn cannot_start(&self, state: &mut State, error: &std::io::Error) {
        self.not_started(state, &error.to_string());
        // Told to itself: the effects of this step come first.
        let _ = state.me.cast(Message::Relay(News::NotStarted));
    }

    /// Logs why no hub was started: once, since each attempt fails for the same reason.
    fn not_started(&self, state: &mut State, why: &str) {
        if !std::mem::replace(&mut state.said_not_started, true) {
            self.seat.env.events.hub_not_started(why);
        }
    }
}
