//! Decides which link a session is on: looks for projects where the session's client works, asks the router, and moves
//! the session. [`fsm::routing`](crate::fsm::routing) decides when.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::vec::Drain;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::editors::Shown;
use super::{SessionActor, State};
use crate::actors::intake::{NewRequest, refuse_for_bytes};
use crate::client::Client;
use crate::config::Config;
use crate::core::meant::Heading;
use crate::core::port::messages::{Here, Look};
use crate::core::router::Route;
use crate::core::user_text;
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::routing::{Effect, Event};
use crate::fsm::session::{self, Likelihood};
use crate::limits::hub::HUB_LOOK_MAX;
use crate::limits::{OPEN_CALLS_MAX_BYTES, ROOTS_WAIT, SESSION_CALLS_MAX_BYTES, SURVEY_MAX, SURVEYS_HANGING_MAX};
use crate::link::{Destination, Port};
use crate::protocol::ids::SessionId;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::{self, GatewayCall, GatewayTool, NamedRoots, take_editor};
use crate::runtime::messages::session::Message;
use crate::runtime::outbox::ROOTS_LIST;
use crate::survey::{self, Survey};

/// Where a session goes.
enum Way {
    /// To a link to a project.
    To(Port),
    /// To the session's own link that leads to no project. `changed`: whether the tools there changed.
    Nowhere { link: Port, changed: bool },
}

impl SessionActor {
    /// Feeds an event to the routing machine, and carries out the machine's orders.
    pub(super) fn route(&self, state: &mut State, event: &Event) {
        let out = state.routing.feed(event);
        self.seat.env.events.tell_step(&out, event);
        // This comes last: it feeds the machine again, and the current transition must end before the next one.
        let reconsiders = out.effects.contains(&Effect::Reconsider);
        for effect in out.effects {
            match effect {
                Effect::Look => self.look_around(state),
                Effect::Seek => self.seek(),
                Effect::Follow => self.follow(state),
                Effect::Reconsider => {}
                Effect::ForgoRoots => self.seat.client.meant(|meant| meant.told(None)),
                Effect::Arm(timer, delay) => state.routing_timers.arm(timer, delay),
                Effect::Disarm(timer) => state.routing_timers.disarm(timer),
            }
        }
        if reconsiders {
            self.find_way(state);
        }
    }

    /// Asks for the client's roots, which hint at where the project is. Does nothing if the user named a project, or if the
    /// client has no roots.
    pub(super) fn ask_roots(&self, state: &mut State) {
        let is_named = self.seat.client.meant(|meant| meant.named.is_some());
        if self.seat.client.handshake().roots && !is_named {
            let line = mcp::roots_list_request(&self.seat.client.next_roots_request());
            self.seat.client.outbox.notify(ROOTS_LIST, line, false);
            self.seat.client.meant(|meant| meant.awaited = true);
            self.route(state, &Event::RootsAsked);
            self.feed(state, &session::Event::RootsAwaited(true));
        }
    }

    pub(super) fn response(&self, state: &mut State, id: Option<&RequestId>, result: Option<&RawValue>) {
        // The answer to an earlier request is out of date: the answer to the newest request is still to come.
        if id != Some(&self.seat.client.last_roots_request()) {
            return;
        }
        let roots: Option<Vec<PathBuf>> = result.map(|result| {
            // A URI has `/` on Windows too; collecting the parts makes a path with the system's separators.
            let NamedRoots { folders, others } = mcp::parse_roots(result);
            self.seat.client.with_handshake(|client| client.other_roots = others.into());
            folders.iter().map(|root| Path::new(root).components().collect()).collect()
        });
        self.seat.client.meant(|meant| meant.told(roots));
        self.route(state, &Event::RootsTold);
    }

    /// Moves the session to the link that the client's requests belong to, as soon as that is known. Waiting requests go with it.
    pub(super) fn find_way(&self, state: &mut State) {
        let look = self.seat.client.meant(|meant| meant.needs_a_look(Instant::now()));
        self.route(state, &Event::Requested { look });
    }

    /// Moves the session to the link that the router chose.
    fn follow(&self, state: &mut State) {
        let (running, of_others) = (|| self.seat.links.running(), !self.seat.links.is_for_one());
        let heading = Arc::new(self.seat.client.meant(|meant| meant.heading(running, of_others)));
        if !matches!(heading.route, Route::Among(_)) {
            state.union = None;
        }
        if heading.route == Route::Wait {
            // No survey was made with what the client says now.
            return;
        }
        self.leave_others(&heading);
        let way = match &heading.route {
            Route::Wait => return,
            Route::To(project) => self.to(state, Destination::Project(project.clone())),
            Route::Port(project) => self.to(state, Destination::Port(project.clone())),
            Route::Among(projects) => {
                let shown = self.shown(state, &heading);
                self.nowhere(Survey { ambiguous: projects.clone(), ..Survey::nothing() }, shown)
            }
            Route::Nobody(candidates) => {
                let mut found = state.survey.as_deref().cloned().unwrap_or_else(Survey::nothing);
                if let (Some(problem), Some(listed)) =
                    (found.facts.problems.first_mut(), user_text::candidates(candidates))
                    && !problem.contains(&listed)
                {
                    *problem = format!("{problem} {listed}");
                }
                let shown = self.shown(state, &heading);
                let ambiguous = candidates.clone();
                self.nowhere(Survey { project: None, ambiguous, targets: Vec::new(), ..found }, shown)
            }
        };
        state.heading = Some(Arc::clone(&heading));
        if self.seat.links.hub().is_some() {
            self.seat.links.here(here(&heading.route));
        }
        let way_of_it = self.seat.client.meant(|meant| meant.way(&heading.route));
        self.route(state, &Event::Routed(way_of_it));
        self.go(state, &way, &heading);
    }

    /// Leaves the editors that the only session of this process does not mean any more. The calls that it held there
    /// were meant for them.
    fn leave_others(&self, heading: &Heading) {
        if !self.seat.links.is_for_one() {
            return;
        }
        for link in self.seat.links.all() {
            let stays = match link.destination() {
                Destination::Nowhere => true,
                Destination::Port(project) => heading.route == Route::Port(project.clone()),
                Destination::Project(project) => {
                    !matches!(heading.route, Route::Port(_)) && heading.scope.holds(project)
                }
            };
            if !stays && link.leave() {
                link.refuse_held_of(self.seat.client.id);
            }
        }
    }

    /// Returns the link that leads to this place. If a survey led here, it is the first one of a new link.
    fn to(&self, state: &mut State, destination: Destination) -> Way {
        let project = destination.project().map(Path::to_path_buf);
        match self.seat.links.to(destination) {
            Ok(link) => {
                if let Some(survey) = state.survey.take_if(|survey| survey.project == project)
                    && !link.is_wanted()
                {
                    link.foretell(survey);
                }
                Way::To(link)
            }
            Err(_) => {
                let mut survey = Survey::nothing();
                survey.facts.problems.push(user_text::too_many_links());
                self.nowhere(Survey { ambiguous: project.into_iter().collect(), ..survey }, Shown::default())
            }
        }
    }

    /// Returns the session's link that leads to no project, with these tools. `survey` gives the reason why calls on
    /// this link are refused.
    fn nowhere(&self, survey: Survey, shown: Shown) -> Way {
        let link = self.seat.links.nowhere_of(&self.seat.client);
        let (availability, undecided) = (Availability::Absent(survey.cause()), shown.is_settling);
        link.lead_nowhere(Some(survey), availability, undecided);
        link.expect(availability);
        let changed = Self::publish(&link, shown);
        Way::Nowhere { link, changed }
    }

    /// Moves the session to the link `way`, and accepts the calls that waited for a link. The session's held calls on
    /// the former link are refused, because they were meant for that link's project. They stay if that editor is still
    /// one of the session's choice.
    fn go(&self, state: &mut State, way: &Way, heading: &Heading) {
        let former = self.seat.link();
        let (way, changed) = match way {
            Way::To(link) => (link, false),
            Way::Nowhere { link, changed } => (link, *changed),
        };
        if former.id() != way.id() {
            // The session moves first, so that it gets a message about every later change on the new link.
            self.seat.client.move_to(way.id());
            let stays =
                |choice: &[PathBuf]| former.leads_to().is_some_and(|former| choice.iter().any(|one| one == former));
            if !matches!(&heading.route, Route::Among(choice) if stays(choice)) {
                former.refuse_held_of(self.seat.client.id);
            }
            if *former.destination() == Destination::Nowhere {
                Self::publish(&former, Shown::default());
            }
            way.want();
            self.see_link(state);
        } else if *way.destination() == Destination::Nowhere {
            self.see_link(state);
            if changed {
                self.feed(state, &session::Event::CatalogueChanged);
            }
        }
        self.feed(state, &session::Event::RootsAwaited(false));
        if self.seat.links.hub().is_some() {
            self.ask_first(state);
        }
        for new in self.take_unrouted(state) {
            self.dispatch(heading, new);
        }
        for new in std::mem::take(&mut state.unrouted_offers) {
            self.answer_offer(heading, new);
        }
        self.release_last(state);
    }

    /// Feeds the state of the session's link to its machine.
    pub(super) fn see_link(&self, state: &mut State) {
        let here = self.seat.link();
        let (seen, published) = (here.seen(), here.published());
        let likelihood = Likelihood::of_link(seen.availability, seen.undecided);
        self.feed(state, &session::Event::CataloguePublished(published.source));
        self.feed(state, &session::Event::LikelihoodChanged(likelihood));
        if published.disk_read || *here.destination() == Destination::Nowhere {
            self.feed(state, &session::Event::DiskRead);
        }
        // The list may have changed without a message: it came from disk, or the session has another editor.
        if self.seat.client.handshake().first_list_served && !self.is_listed(state) {
            self.feed(state, &session::Event::CatalogueChanged);
        }
    }

    /// Starts a survey for the projects that the client means.
    fn look_around(&self, state: &mut State) {
        self.feed(state, &session::Event::RootsAwaited(true));
        let (env, me, hanging) = (Arc::clone(&self.seat.env), state.me.clone(), Arc::clone(&state.hanging));
        let (generation, roots, former, config) = self.seat.client.meant(|meant| {
            let roots = meant.roots.clone().unwrap_or_default();
            let config = Config {
                project: meant.named.clone(),
                working_dir: meant.working_dir.clone(),
                client_dir: meant.client_dir.clone(),
                ..Config::clone(&self.seat.env.config)
            };
            (meant.generation, roots, meant.former(), config)
        });
        if hanging.load(Ordering::Relaxed) >= SURVEYS_HANGING_MAX {
            let _ = me.cast(Message::LookedAround(generation, Arc::new(Survey::hung())));
            return;
        }
        let links = self.seat.links.clone();
        self.tasks.spawn(async move {
            let asked = Look {
                named: config.project.clone(),
                working_dir: config.working_dir.clone(),
                client_dir: config.client_dir.clone(),
                roots: roots.clone(),
                former: former.clone(),
            };
            // Files and processes are looked at by the process that has the links.
            if let Ok(survey) = timeout(HUB_LOOK_MAX, links.look(&asked)).await.unwrap_or(Ok(Some(Survey::hung()))) {
                let survey = Arc::new(survey.unwrap_or_else(Survey::failed));
                let _ = me.cast(Message::LookedAround(generation, survey));
                return;
            }
            let host = Arc::clone(&env.host);
            let look = move || survey::survey(&*host, &config, &roots, former.as_deref());
            let mut looking = std::pin::pin!(crate::platform::host::run(&*env.host, look));
            let looked = timeout(SURVEY_MAX, &mut looking).await;
            let (hangs, survey) = match looked {
                Ok(survey) => (false, survey.unwrap_or_else(Survey::failed)),
                Err(_) => (true, Survey::hung()),
            };
            let _ = me.cast(Message::LookedAround(generation, Arc::new(survey)));
            if hangs {
                // Nothing can end the thread of this survey.
                hanging.fetch_add(1, Ordering::Relaxed);
                let _ = looking.await;
                hanging.fetch_sub(1, Ordering::Relaxed);
            }
        });
    }

    /// Takes the result of the survey that [`look_around`](Self::look_around) started.
    pub(super) fn looked_around(&self, state: &mut State, generation: u64, survey: Arc<Survey>) {
        let found = survey.project.is_some() || !survey.ambiguous.is_empty();
        if !found {
            self.seat.client.meant(|meant| meant.found_nothing(generation, Instant::now()));
        } else {
            let projects = survey.project.iter().chain(&survey.ambiguous).cloned().collect();
            let projects = self.with_returning(projects);
            self.seat.client.meant(|meant| meant.found(generation, projects, Instant::now()));
        }
        state.survey = Some(survey);
        let current = self.seat.client.meant(|meant| meant.generation == generation);
        self.route(state, &Event::LookedAround { current, found });
    }

    /// Checks whether a call with this many bytes of arguments may be accepted in addition to the open and waiting calls of this
    /// session and of all sessions.
    ///
    /// # Errors
    /// The limit in bytes that the call would exceed.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), usize> {
        let unrouted = |client: &Client| client.unrouted_bytes.load(Ordering::Relaxed);
        let links = self.seat.links.all();
        let of_editors = links.iter().filter(|link| *link.destination() != Destination::Nowhere).count();
        if self.seat.links.is_for_one() && of_editors <= 1 && unrouted(&self.seat.client) == 0 {
            // If there is only one ledger, that ledger checks the same.
            return Ok(());
        }
        let said = self.seat.links.said_bytes();
        let (mut own, mut all) = (unrouted(&self.seat.client) + bytes + said, bytes + said);
        for link in links {
            own += link.open_bytes(Some(self.seat.client.id));
            all += link.open_bytes(None);
            all += link.sessions().iter().map(|client| unrouted(client)).sum::<usize>();
        }
        let within = |sum, most| if sum <= most { Ok(()) } else { Err(most) };
        // The session over stdin and stdout is the only one, unless it shares a hub.
        let is_only = self.seat.client.id == SessionId::STDIO && self.seat.links.hub().is_none();
        let own_most = if is_only { OPEN_CALLS_MAX_BYTES } else { SESSION_CALLS_MAX_BYTES };
        within(own, own_most).and(within(all, OPEN_CALLS_MAX_BYTES))
    }

    /// Accepts a call on the session's link, or keeps it until the link is known.
    pub(super) fn accept_routed(&self, state: &mut State, new: NewRequest) {
        if let Some((link, tool)) = self.answers_meanwhile(&new) {
            return self.seat.tools_on(&link).run(&self.tasks, new.asked, tool, &new.call.arguments);
        }
        let bytes = new.call.arguments.get().len();
        // A call that may have run is not refused for room: that refusal would say that nothing was sent.
        let may_have_run = self.seat.client.brought(new.asked.key).is_some_and(|(sent, _)| sent);
        if let (Err(most), false) = (self.has_room(bytes), may_have_run) {
            return refuse_for_bytes(&self.seat, &self.seat.link(), new.asked, most);
        }
        self.seat.client.unrouted_bytes.fetch_add(bytes, Ordering::Relaxed);
        state.unrouted.push(NewRequest { since: Some(Instant::now()), ..new });
        self.find_way(state);
    }

    /// Returns the gateway tool of a call that is answered at once while the client's roots are awaited, and the link
    /// that the answer is about. What is going on must be visible then too.
    fn answers_meanwhile(&self, new: &NewRequest) -> Option<(Port, GatewayTool)> {
        let tool = GatewayTool::from_name(&new.call.name)?;
        if !self.seat.client.meant(|meant| meant.awaited) || take_editor(&new.call.arguments).is_some() {
            return None;
        }
        match tool.parse_arguments(&new.call.arguments) {
            Ok(GatewayCall::Calls { .. }) => Some((self.seat.link(), tool)),
            Ok(GatewayCall::Status) => Some((self.unsettled(), tool)),
            // A longer wait lasts until the project is known.
            Ok(GatewayCall::WaitReady { timeout: Some(most) }) if most < ROOTS_WAIT => Some((self.unsettled(), tool)),
            _ => None,
        }
    }

    /// Returns the session's link that leads to no project. The link says that it is not known yet where the session
    /// goes.
    fn unsettled(&self) -> Port {
        let link = self.seat.links.nowhere_of(&self.seat.client);
        let (availability, undecided) = (Availability::Coming(Cause::ProjectUnsettled), true);
        link.lead_nowhere(None, availability, undecided);
        link
    }

    /// Removes and returns the calls that wait until their link is known. The memory of the list is kept, because
    /// almost every call is put there for a moment.
    pub(super) fn take_unrouted<'s>(&self, state: &'s mut State) -> Drain<'s, NewRequest> {
        self.seat.client.unrouted_bytes.store(0, Ordering::Relaxed);
        state.unrouted.drain(..)
    }
}

/// Returns where a session on this route is, in the words for its hub.
fn here(route: &Route) -> Here {
    match route {
        Route::To(project) => Here { project: Some(project.clone()), choice: Vec::new() },
        Route::Among(choice) => Here { project: None, choice: choice.clone() },
        Route::Wait | Route::Port(_) | Route::Nobody(_) => Here::default(),
    }
}
