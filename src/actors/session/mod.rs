//! The session actor: the shell around [`fsm::session`](crate::fsm::session). Speaks MCP with the client.
//!
//! *Owns* the requests that wait here: for the tool list, and calls whose link is not known yet. *Receives* requests from the
//! transport, and changes of catalogue and link. *Sends* answers to the outbox and calls to the ledger. *Dies* only of our own
//! bugs: its supervisor then answers the requests that did not become calls. The handshake is kept in the client's state, which
//! outlives this actor.

mod editors;
mod offers;
mod routing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::value::RawValue;

use super::intake::{self, NewRequest};
use super::package_tools;
use super::seat::Seat;
use crate::core::calls::Wanted;
use crate::core::meant::Heading;
use crate::core::port::messages::Opened;
use crate::core::requests::{Asked, Hold};
use crate::core::user_text;
use crate::fsm::Driver;
use crate::fsm::cause::Cause;
use crate::fsm::routing::{Event as RoutingEvent, Routing, Timer as RoutingTimer};
use crate::fsm::session::{Effect, Event, Kind, Likelihood, Session, Timer};
use crate::link::Port;
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::mcp::request::{Filter, List};
use crate::protocol::mcp::stateless::{self, Requester};
use crate::protocol::mcp::{
    self, AnswerForm, ClientInfo, ClientProfile, GatewayTool, Initialize, Notification, OfferRequest, ProtocolVersion,
    Request,
};
use crate::protocol::policy::Grounds;
use crate::runtime::messages::session::{Delivered, Message};
use crate::runtime::outbox::SERVER;
use crate::runtime::slot::Permit;
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::survey::Survey;

pub struct SessionActor {
    pub seat: Seat,
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Session>,
    me: ActorRef<Message>,
    timers: Timers<Timer, Message>,
    /// The `initialize` request that is being answered, with its result.
    opening: Option<(RequestKey, String)>,
    /// The `tools/list` requests that wait for their answer.
    lists: Vec<Asked>,
    /// The call that the machine is deciding on.
    call: Option<NewRequest>,
    /// The request for resources or prompts that the machine is deciding on.
    offer: Option<NewRequest<OfferRequest>>,
    /// Calls that wait until it is known which link they belong to.
    unrouted: Vec<NewRequest>,
    /// Requests for resources and prompts that wait for the same.
    unrouted_offers: Vec<NewRequest<OfferRequest>>,
    /// The machine that decides when it is known where the session goes.
    routing: Driver<Routing>,
    routing_timers: Timers<RoutingTimer, Message>,
    /// The result of the last survey of where the client works.
    survey: Option<Arc<Survey>>,
    /// The number of surveys that did not end in time and whose threads have not ended.
    hanging: Arc<AtomicU8>,
    /// The subscription that the machine is deciding on.
    listen: Option<(RequestKey, Filter)>,
    /// The list result as last rendered, with the profile and the catalogue that it was made for.
    rendered: Option<(ClientProfile, Arc<mcp::Catalogue>, String)>,
    /// The catalogue that the client was last told of. It need not be told twice.
    announced: Option<Arc<mcp::Catalogue>>,
    /// Where the session's requests go, as last decided. `None` before the first decision.
    heading: Option<Arc<Heading>>,
    /// The last union of several editors' tools, with the editors that it was made of.
    union: Option<(Vec<mcp::Member>, Arc<mcp::Catalogue>)>,
    /// Requests that wait until a hub has told how its links stand, by the number of the question.
    asking: BTreeMap<u64, (Vec<NewRequest>, Vec<NewRequest<OfferRequest>>)>,
    /// The permit that is released at the end of input, when none of these requests waits any more.
    last_permit: Option<Permit>,
}

impl Actor for SessionActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        // The waiting calls of a predecessor were lost with that actor.
        self.seat.client.unrouted_bytes.store(0, Ordering::Relaxed);
        let client = self.seat.client.handshake();
        let here = self.seat.link();
        let (seen, published) = (here.seen(), here.published());
        let (driver, _) = Driver::start(Session {
            kind: client.kind,
            source: published.source,
            disk_awaited: !published.disk_read,
            likelihood: Likelihood::of_link(seen.availability, seen.undecided),
            roots_awaited: false,
            first_list_served: client.first_list_served,
        });
        self.seat.env.events.machine_started(driver.machine(), driver.state());
        let timers = Timers::new(me.clone(), Message::Timer);
        let (routing, _) = Driver::start(Routing::default());
        let routing_timers = Timers::new(me.clone(), Message::RoutingTimer);
        Ok(State {
            driver,
            me,
            timers,
            opening: None,
            lists: Vec::new(),
            call: None,
            offer: None,
            unrouted: Vec::new(),
            unrouted_offers: Vec::new(),
            routing,
            routing_timers,
            survey: None,
            hanging: Arc::default(),
            listen: None,
            rendered: None,
            announced: None,
            heading: None,
            union: None,
            asking: BTreeMap::new(),
            last_permit: None,
        })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let client = self.seat.client.handshake();
        if client.opened {
            self.feed(state, &Event::Opened(client.kind));
        }
        if self.seat.client.meant(|meant| meant.awaited) {
            // A predecessor asked for the roots, and the answer may have been lost with it.
            self.route(state, &RoutingEvent::RootsAsked);
        }
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
            // The message may come from a link that the session has left, so the state of the current link is read.
            Message::LinkChanged => self.see_link(state),
            Message::CatalogueChanged => self.feed(state, &Event::CatalogueChanged),
            Message::LookedAround(generation, survey) => self.looked_around(state, generation, survey),
            Message::EditorsChanged => self.editors_changed(state),
            Message::EditorWanted => self.find_way(state),
            Message::Asked(nth) => self.asked(state, nth),
            Message::PackageToolCalled(link, asked, tool, arguments) => {
                let there = self.seat.links.get(link).unwrap_or_else(|| self.seat.link());
                package_tools::run(&self.seat.tools_on(&there), &self.tasks, asked, tool, &arguments);
            }
            Message::InputEnded(permit) => {
                self.feed(state, &Event::InputEnded);
                // Main waits while this permit is held. A hub's answers come soon.
                state.last_permit = permit.filter(|_| self.seat.links.hub().is_some());
                self.release_last(state);
            }
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    self.feed(state, &Event::Elapsed(timer));
                }
            }
            Message::RoutingTimer(timer) => {
                if state.routing_timers.fired(timer) {
                    self.route(state, &RoutingEvent::Elapsed(timer));
                }
            }
        }
        Ok(())
    }
}

impl SessionActor {
    // ---- what the client sends ----

    fn delivered(&self, state: &mut State, message: Delivered) {
        match message {
            Delivered::Request { hold, id, requester, method, params } => {
                // A request that was cancelled while it waited here gets no answer and is not begun.
                if hold.is_open() {
                    self.request(state, hold, id, requester, &method, params.as_deref());
                } else if let (Some(own), Some(origin)) =
                    (self.seat.env.own.get(), self.seat.client.origin_of(hold.key()))
                {
                    // A session that goes on without its hub took the record of its call along. Nobody waits for that
                    // call any more.
                    own.file.delivered(origin);
                }
            }
            Delivered::Notification { method, params } => self.notification(state, &method, params.as_deref()),
            Delivered::Response { id, result } => self.response(state, id.as_ref(), result.as_deref()),
        }
    }

    fn request(
        &self,
        state: &mut State,
        hold: Hold,
        id: RequestId,
        requester: Option<Arc<Requester>>,
        method: &str,
        params: Option<&RawValue>,
    ) {
        let outbox = &self.seat.client.outbox;
        let profile = requester
            .as_ref()
            .map_or_else(|| self.seat.client.handshake().profile_by_handshake(), |requester| requester.profile);
        let key = hold.key();
        let asked = Asked { key, profile, form: AnswerForm::ToolResult };
        let request = match &requester {
            None => mcp::parse_request(method, params),
            Some(_) => stateless::parse_request(method, params),
        };
        if let (Some(requester), Ok(request)) = (&requester, &request)
            && request.opens_session()
        {
            self.opened_by(state, requester);
        }
        match request {
            Err(error) => {
                outbox.answer_error(key, &error);
            }
            Ok(Request::Ping) => {
                outbox.answer(key, "{}");
            }
            Ok(Request::Discover) => {
                outbox.answer(key, &stateless::discover_result(&self.instructions()));
            }
            Ok(Request::Listen(filter)) => {
                state.listen = Some((key, filter));
                self.feed(state, &Event::ListenRequested { lists: filter != Filter::default() });
            }
            Ok(Request::Initialize(initialize)) => self.initialize(state, key, initialize),
            Ok(Request::ListTools) => {
                state.lists.push(asked);
                self.feed(state, &Event::ListRequested);
            }
            Ok(Request::CallTool(call)) => {
                let call = call.of_inner();
                state.call =
                    Some(NewRequest { asked, hold, id, call_id: None, requester, call, since: None, has_asked: false });
                self.feed(state, &Event::CallRequested);
            }
            Ok(Request::Offer(offer)) => {
                let form = match &offer {
                    OfferRequest::Read(read) => AnswerForm::ResourceText(Arc::clone(&read.uri)),
                    _ => AnswerForm::ToolResult,
                };
                let asked = Asked { form, ..asked };
                state.offer = Some(NewRequest {
                    asked,
                    hold,
                    id,
                    call_id: None,
                    requester,
                    call: offer,
                    since: None,
                    has_asked: false,
                });
                self.feed(state, &Event::CallRequested);
            }
        }
    }

    /// Opens the session, if it is not open. Without a handshake the first request for tools does that.
    fn opened_by(&self, state: &mut State, requester: &Requester) {
        if self.seat.client.handshake().opened {
            return;
        }
        let kind = self.opened(requester.client.clone(), requester.profile, false);
        self.feed(state, &Event::Opened(kind));
    }

    /// Remembers which client opened the session. Returns whether it honours notifications of changed tools.
    fn opened(&self, client: ClientInfo, profile: ClientProfile, roots: bool) -> Kind {
        let name = client.name.clone();
        let version = profile.version.label().to_owned();
        let told = self.seat.client.config.started_by(profile.client.name);
        let session = told.and_then(|told| told.session.clone());
        self.seat.client.meant(|meant| meant.started_in(told.and_then(|told| told.folder.clone())));
        let opened = Opened { name: name.clone(), release: client.version.clone(), version, session: session.clone() };
        self.seat.links.opened(opened);
        let client = ClientInfo { session, ..client };
        let kind = self.seat.client.opened_by(client, profile, roots);
        self.seat.env.events.session_opened(&name, profile.version, kind.honours_changes());
        kind
    }

    fn initialize(&self, state: &mut State, key: RequestKey, initialize: Initialize) {
        let Initialize { requested, client, roots } = initialize;
        // A client that sends single messages can be asked nothing.
        let is_post = self.seat.client.id.is_post();
        let roots = roots && !is_post;
        let version = ProtocolVersion::negotiate(&requested);
        let profile = self.seat.client.config.profile_of(version, &client.name);
        let kind = self.opened(client, profile, roots);
        let awaited = self.seat.client.meant(|meant| {
            meant.opened(roots);
            meant.awaited
        });
        // The client is asked for its roots after it sends `initialized`. The wait must also end if it never sends that.
        self.route(state, &RoutingEvent::Opened { roots: awaited });
        state.opening = Some((key, mcp::initialize_result(version, &SERVER, &self.instructions(), !is_post)));
        self.feed(state, &Event::Opened(kind));
    }

    /// Returns what the client's model is told at the beginning. Mostly the client was not asked for its roots yet.
    fn instructions(&self) -> String {
        let seen = self.seat.link().seen();
        let is_found = seen.wanted != Wanted::Asked && seen.project.is_some();
        let is_meant = self.seat.client.meant(|meant| meant.named.is_some());
        let client = self.seat.client.handshake().profile.client;
        let is_known = is_found || is_meant || self.seat.client.config.is_for_a_project(client.name);
        mcp::instructions(is_known, client.defers_tools)
    }

    fn notification(&self, state: &mut State, method: &str, params: Option<&RawValue>) {
        match mcp::parse_notification(method, params) {
            Notification::Initialized | Notification::RootsListChanged => self.ask_roots(state),
            // The stdin reader has already cancelled the call: a cancel overtakes the messages that wait for this actor.
            Notification::Cancelled { .. } | Notification::Other => {}
        }
    }

    // ---- what the machine orders ----

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.seat.env.events.stepped(&out, before, event);
        for effect in out.effects {
            self.carry_out(state, effect);
        }
    }

    fn carry_out(&self, state: &mut State, effect: Effect) {
        let outbox = &self.seat.client.outbox;
        match effect {
            Effect::AnswerOpen => {
                if let Some((key, result)) = state.opening.take() {
                    outbox.answer(key, &result);
                }
            }
            Effect::WantEditor => {
                self.find_way(state);
                self.seat.link().want();
            }
            Effect::AnswerLists => self.answer_lists(state),
            Effect::AcceptCall => {
                if let Some(new) = state.call.take() {
                    self.accept_routed(state, new);
                }
                if let Some(new) = state.offer.take() {
                    self.accept_offer(state, new);
                }
            }
            Effect::AcceptListen => {
                let Some((key, filter)) = state.listen.take() else { return };
                if outbox.subscribe(key, filter).is_err() {
                    let error = RpcError::invalid_request(user_text::too_many_subscriptions());
                    outbox.answer_error(key, &error);
                    return;
                }
                if self.seat.client.handshake().first_list_served && !self.is_listed(state) {
                    // The tools changed after they were listed and before this subscription.
                    outbox.list_changed(List::Tools, Some(key));
                }
                if filter.resources {
                    self.begin_telling_resources(state, key);
                }
            }
            Effect::RefuseUnopened => {
                let error = RpcError::invalid_request(
                    "the session is not open: send `initialize` first, or say in `_meta` what MCP 2026-07-28 wants there. Nothing was \
                     sent to Unity.",
                );
                self.refuse_pending(state, &error);
            }
            Effect::RefuseDraining => {
                let error = RpcError::internal("holdfast is shutting down. Nothing was sent to Unity.");
                self.refuse_pending(state, &error);
            }
            Effect::AnnounceChange => {
                // A list that was just answered with the new catalogue needs no announcement.
                let listed = self.listed(&self.seat.client.handshake().profile);
                let is_told =
                    state.announced.as_ref().is_some_and(|told| Arc::ptr_eq(told, &listed) || **told == *listed);
                if !is_told && !self.is_listed(state) {
                    self.announce(List::Tools);
                    state.announced = Some(listed);
                }
                // The resources depend on the tools.
                self.announce_resources(state);
            }
            Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
            Effect::Disarm(timer) => state.timers.disarm(timer),
        }
    }

    /// Tells the client that a list changed. Returns whether it can be told.
    fn announce(&self, list: List) -> bool {
        let (client, outbox) = (self.seat.client.handshake(), &self.seat.client.outbox);
        // A client that sends single messages is told of changes by its subscriptions only.
        let is_told = client.opened && !self.seat.client.id.is_post() && !client.profile.version.is_stateless();
        if is_told {
            outbox.notify(list.notification(), mcp::list_changed(list), true);
        }
        outbox.list_changed(list, None) || is_told
    }

    /// Returns what a client with this profile lists of the tools that are published now.
    fn listed(&self, profile: &ClientProfile) -> Arc<mcp::Catalogue> {
        let Seat { client, .. } = &self.seat;
        client.listed(&self.seat.link().visible(client.id).catalogue, profile.client.tools_max)
    }

    /// Whether the last list that was answered is what would be listed now.
    fn is_listed(&self, state: &State) -> bool {
        state.rendered.as_ref().is_some_and(|(profile, of, _)| {
            let listed = self.listed(profile);
            // The tools are compared: a change of the editor's list may concern only tools that are not listed.
            Arc::ptr_eq(of, &listed) || **of == *listed
        })
    }

    fn refuse_pending(&self, state: &mut State, error: &RpcError) {
        let calls: Vec<NewRequest> = self.take_unrouted(state).collect();
        let calls = calls.into_iter().chain(state.call.take()).map(|new| new.asked);
        let offers = state.unrouted_offers.drain(..).chain(state.offer.take()).map(|new| new.asked);
        let pending = state.lists.drain(..).chain(calls).chain(offers).map(|asked| asked.key);
        let opening = state.opening.take().map(|(key, _)| key);
        for key in pending.chain(opening).chain(state.listen.take().map(|(key, _)| key)) {
            self.seat.client.refuse(key, error);
        }
    }

    fn answer_lists(&self, state: &mut State) {
        self.seat.client.with_handshake(|client| client.first_list_served = true);
        state.announced = None;
        for Asked { key, profile, .. } in state.lists.drain(..) {
            let catalogue = self.listed(&profile);
            let last = state.rendered.take();
            let last = last.filter(|(rendered, of, _)| *rendered == profile && Arc::ptr_eq(of, &catalogue));
            let rendered = last.unwrap_or_else(|| {
                let result = catalogue.list_result(&profile);
                (profile, catalogue, result)
            });
            self.seat.client.outbox.answer(key, &rendered.2);
            state.rendered = Some(rendered);
        }
    }

    fn accept(&self, here: &Port, new: NewRequest) {
        self.accept_or_refuse(here, new, None);
    }

    /// Like [`accept`](Self::accept). `turned_down`: why the call is refused instead, whatever its tool is.
    fn accept_or_refuse(&self, here: &Port, new: NewRequest, turned_down: Option<(Cause, Grounds)>) {
        if let Some(tool) = GatewayTool::from_name(&new.call.name) {
            return self.seat.tools_on(here).run(&self.tasks, new.asked, tool, &new.call.arguments);
        }
        intake::accept(&self.seat, &self.tasks, here, new, turned_down);
    }
}
