//! Decides which link a session is on, if there are several: looks for projects where the session's client works, asks the
//! router, and moves the session. The session over stdin and stdout is not routed: its link follows it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep, timeout};

use super::editors::Shown;
use super::heading::Heading;
use super::{NewRequest, SessionActor, State};
use crate::client::Client;
use crate::config::Config;
use crate::core::editors::Scope;
use crate::core::requests::Asked;
use crate::core::router::{self, Named, Roots, Route};
use crate::core::user_text;
use crate::fsm::cause::{self, Cause};
use crate::fsm::session::{Event, Likelihood};
use crate::limits::{
    OPEN_CALLS_MAX_BYTES, RETRY_UNLIKELY_MAX, ROOTS_WAIT, SESSION_CALLS_MAX_BYTES, SURVEY_MAX, SURVEYS_HANGING_MAX,
};
use crate::link::{LinkParts, Place};
use crate::protocol::ids::SessionId;
use crate::protocol::mcp::{ClientInfo, GatewayCall, GatewayTool, ToolResult, take_editor};
use crate::runtime::messages::session::Message;
use crate::survey::{self, Survey};
use crate::telemetry::metrics::labels::TOO_MANY_REQUESTS;

/// Where a session goes.
enum Way {
    /// To a link to a project.
    To(Arc<LinkParts>),
    /// To its own link that leads to no project. `changed`: whether the tools there changed.
    Nowhere { link: Arc<LinkParts>, changed: bool },
}

impl SessionActor {
    /// Marks the client's roots as awaited, and limits the wait to [`ROOTS_WAIT`].
    pub(super) fn await_roots(&self, state: &State) {
        let generation = self.seat.client.meant(|meant| {
            meant.awaited = true;
            meant.generation
        });
        let me = state.me.clone();
        self.tasks.spawn(async move {
            sleep(ROOTS_WAIT).await;
            let _ = me.cast(Message::RootsOverdue(generation));
        });
    }

    /// Gives up waiting for roots that did not arrive in time. Does nothing if they arrived, or were asked for again since.
    pub(super) fn roots_overdue(&self, state: &mut State, generation: u64) {
        let overdue = self.seat.client.meant(|meant| {
            let overdue = meant.awaited && meant.generation == generation;
            if overdue {
                meant.told(None);
            }
            overdue
        });
        if overdue {
            self.find_way(state);
        }
    }

    /// Moves the session to the link that the client's requests belong to. Returns false if that is not known yet: waiting
    /// requests keep waiting. Starts a survey if the last one is out of date.
    pub(super) fn find_way(&self, state: &mut State) -> bool {
        let (named, roots, look) = self.seat.client.meant(|meant| meant.question());
        if look || state.looking {
            self.look_around(state);
            return false;
        }
        self.seek(&named, &roots);
        self.follow(state, &named, &roots)
    }

    /// Moves the session to where the router leads. Returns false if that is not known yet.
    pub(super) fn follow(&self, state: &mut State, named: &Named, roots: &Roots) -> bool {
        let route = router::route(named, roots, &self.seat.links.running());
        let scope = self.seat.client.meant(|meant| Scope::of(named, roots, meant.seen()));
        let heading = Heading { route, scope };
        if !matches!(heading.route, Route::Among(_)) {
            state.union = None;
        }
        let way = match &heading.route {
            Route::Wait => return false,
            Route::To(project) => match self.seat.links.to(project) {
                Ok(link) => {
                    if let Some(survey) = state.survey.take_if(|survey| survey.project.as_ref() == Some(project))
                        && !link.link.is_wanted()
                    {
                        link.project.foretell(survey);
                    }
                    Way::To(link)
                }
                Err(_) => {
                    let mut survey = Survey::nothing();
                    survey.facts.problems.push(user_text::too_many_links());
                    self.nowhere(Survey { ambiguous: vec![project.clone()], ..survey }, Shown::default())
                }
            },
            Route::Among(projects) => {
                let shown = self.shown(state, &heading);
                if projects.len() == 1 {
                    self.plan_another_look(state);
                }
                self.nowhere(Survey { ambiguous: projects.clone(), ..Survey::nothing() }, shown)
            }
            Route::Nobody(candidates) => {
                let mut found = state.survey.as_deref().cloned().unwrap_or_else(Survey::nothing);
                if let (Some(problem), Some(listed)) =
                    (found.facts.problems.first_mut(), user_text::candidates(candidates))
                {
                    *problem = format!("{problem} {listed}");
                }
                let shown = self.shown(state, &heading);
                self.plan_another_look(state);
                let ambiguous = candidates.clone();
                self.nowhere(Survey { project: None, ambiguous, targets: Vec::new(), ..found }, shown)
            }
        };
        state.heading = Some(heading.clone());
        self.go(state, &way, &heading);
        true
    }

    /// Returns the session's link that leads to no project, after it got these tools. `survey` gives the reason, with which calls
    /// on this link are refused.
    fn nowhere(&self, survey: Survey, shown: Shown) -> Way {
        let link = self.seat.links.nowhere_of(&self.seat.client);
        let availability = cause::Availability::Absent(survey.cause());
        let is_settling = shown.is_settling;
        link.link.survey.send_replace(Some(Arc::new(survey)));
        link.link.view.send_modify(|link| (link.availability, link.undecided) = (availability, is_settling));
        link.calls.decide(|ledger, now| ledger.set_availability(availability, now));
        let changed = Self::publish(&link, shown);
        Way::Nowhere { link, changed }
    }

    /// Moves the session to the link `way`, and accepts the calls that waited for a link. The session's held calls on the former
    /// link are refused, because they were meant for that link's project; unless that editor is still one of the session's choice.
    fn go(&self, state: &mut State, way: &Way, heading: &Heading) {
        let former = self.seat.link();
        let (way, changed) = match way {
            Way::To(link) => (link, false),
            Way::Nowhere { link, changed } => (link, *changed),
        };
        if former.id != way.id {
            // Done first, so that the session gets a message about every later change on the new link.
            self.seat.client.move_to(way.id);
            let session = self.seat.client.id;
            let stays =
                |choice: &[PathBuf]| former.leads_to().is_some_and(|former| choice.iter().any(|one| one == former));
            if !matches!(&heading.route, Route::Among(choice) if stays(choice)) {
                former.calls.decide(|ledger, now| ledger.refuse_held_of(session, Cause::ProjectChanged, now));
            }
            if former.place == Place::Nowhere {
                Self::publish(&former, Shown::default());
            }
            way.link.want_editor();
            self.see_link(state);
            self.feed(state, &Event::CatalogueChanged);
        } else if way.place == Place::Nowhere {
            self.see_link(state);
            if changed {
                self.feed(state, &Event::CatalogueChanged);
            }
        }
        self.feed(state, &Event::RootsAwaited(false));
        for new in self.take_unrouted(state) {
            self.dispatch(heading, new);
        }
        for new in std::mem::take(&mut state.unrouted_offers) {
            self.answer_offer(Some(heading), new);
        }
    }

    /// Feeds the state of the session's link to its machine.
    pub(super) fn see_link(&self, state: &mut State) {
        let here = self.seat.link();
        let published = here.tools.published.borrow().clone();
        let likelihood = {
            let view = here.link.view.borrow();
            Likelihood::of_link(view.availability, view.undecided)
        };
        self.feed(state, &Event::CataloguePublished(published.source));
        self.feed(state, &Event::LikelihoodChanged(likelihood));
        if published.disk_read || here.place == Place::Nowhere {
            self.feed(state, &Event::DiskRead);
        }
    }

    /// Starts a survey for the projects that the client means, unless one is running.
    fn look_around(&self, state: &mut State) {
        if std::mem::replace(&mut state.looking, true) {
            return;
        }
        self.feed(state, &Event::RootsAwaited(true));
        let (env, me, hanging) = (Arc::clone(&self.seat.env), state.me.clone(), Arc::clone(&state.hanging));
        let (generation, roots, former, config) = self.seat.client.meant(|meant| {
            let roots = meant.roots.clone().unwrap_or_default();
            let config = Config {
                project: meant.named.clone(),
                working_dir: meant.working_dir.clone(),
                ports: Vec::new(),
                ..Config::clone(&self.seat.env.config)
            };
            (meant.generation, roots, meant.former(), config)
        });
        if hanging.load(Ordering::Relaxed) >= SURVEYS_HANGING_MAX {
            let _ = me.cast(Message::LookedAround(generation, Arc::new(Survey::hung())));
            return;
        }
        self.tasks.spawn(async move {
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

    /// Looks again after a pause: the user may make, mount or open the project that the client means.
    fn plan_another_look(&self, state: &mut State) {
        let can_change = self.seat.client.meant(|meant| meant.says_something());
        if self.seat.client.id.is_post() || !can_change || std::mem::replace(&mut state.looks_again, true) {
            return;
        }
        let me = state.me.clone();
        self.tasks.spawn(async move {
            sleep(RETRY_UNLIKELY_MAX).await;
            let _ = me.cast(Message::LookAgain);
        });
    }

    /// Looks for the projects that the client means, if no editor was found for it, or the only one that runs of several.
    pub(super) fn look_again(&self, state: &mut State) {
        state.looks_again = false;
        let is_open = state.heading.as_ref().is_some_and(|heading| match &heading.route {
            Route::Nobody(_) => true,
            Route::Among(choice) => choice.len() == 1,
            Route::To(_) | Route::Wait => false,
        });
        if is_open && !self.seat.client.is_ending() && !self.seat.env.is_draining() {
            self.find_way(state);
        }
    }

    /// Takes the result of the survey that [`look_around`](Self::look_around) started.
    pub(super) fn looked_around(&self, state: &mut State, generation: u64, survey: Arc<Survey>) {
        state.looking = false;
        if survey.failed {
            self.seat.client.meant(|meant| meant.not_looked(generation));
        } else {
            let found = survey.project.iter().chain(&survey.ambiguous).cloned().collect();
            let found = self.with_returning(found);
            self.seat.client.meant(|meant| meant.found(generation, found));
        }
        state.survey = Some(survey);
        let (is_current, named, roots) = self.seat.client.meant(|meant| {
            let (named, roots, _) = meant.question();
            (meant.generation == generation, named, roots)
        });
        if is_current {
            self.seek(&named, &roots);
            self.follow(state, &named, &roots);
        } else {
            self.find_way(state);
        }
    }

    /// Checks whether a call with this many bytes of arguments may be accepted in addition to the open and waiting calls of this
    /// session and of all sessions. For a session with one link only that link's ledger checks this.
    ///
    /// # Errors
    /// The limit in bytes that the call would exceed.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), usize> {
        if !self.seat.client.is_routed() {
            return Ok(());
        }
        let unrouted = |client: &Client| client.unrouted_bytes.load(Ordering::Relaxed);
        let (mut own, mut all) = (unrouted(&self.seat.client) + bytes, bytes);
        for link in self.seat.links.all() {
            own += link.calls.ledger(|ledger, _| ledger.open_bytes(Some(self.seat.client.id)));
            all += link.calls.ledger(|ledger, _| ledger.open_bytes(None));
            all += link.attached.all().iter().map(|client| unrouted(client)).sum::<usize>();
        }
        let within = |sum, most| if sum <= most { Ok(()) } else { Err(most) };
        // The session over stdin and stdout is the only one.
        let own_most =
            if self.seat.client.id == SessionId::STDIO { OPEN_CALLS_MAX_BYTES } else { SESSION_CALLS_MAX_BYTES };
        within(own, own_most).and(within(all, OPEN_CALLS_MAX_BYTES))
    }

    /// Refuses a call that would exceed `most` bytes of open arguments.
    pub(super) fn refuse_for_bytes(&self, here: &LinkParts, asked: Asked, most: usize) {
        self.seat.env.events.bad_line(TOO_MANY_REQUESTS);
        here.calls.answers.own(asked, ToolResult::error(user_text::too_many_bytes(most)));
    }

    /// Returns the client that calls; `None` for the client over stdin and stdout.
    pub(super) fn requester(&self) -> Option<Arc<ClientInfo>> {
        let client = self.seat.client.handshake();
        let requester = || Arc::new(ClientInfo { name: client.name, version: client.release, ..ClientInfo::default() });
        (self.seat.client.id != SessionId::STDIO).then(requester)
    }

    /// Accepts a call on the session's link, or keeps it until the link is known.
    pub(super) fn accept_routed(&self, state: &mut State, new: NewRequest) {
        if let Some((link, tool)) = self.answers_meanwhile(&new) {
            return self.seat.tools_on(&link).run(&self.tasks, new.asked, tool, &new.call.arguments);
        }
        let bytes = new.call.arguments.get().len();
        // A call that may have run is not refused for room: the refusal would say that nothing was sent.
        let may_have_run = self.seat.client.brought(new.asked.key).is_some_and(|(sent, _)| sent);
        if let (Err(most), false) = (self.has_room(bytes), may_have_run) {
            return self.refuse_for_bytes(&self.seat.link(), new.asked, most);
        }
        self.seat.client.unrouted_bytes.fetch_add(bytes, Ordering::Relaxed);
        state.unrouted.push(NewRequest { since: Some(Instant::now()), ..new });
        self.find_way(state);
    }

    /// Returns the gateway tool of a call that is answered at once while the client's roots are awaited, and the link that it tells
    /// of: what is going on must be seen then too.
    fn answers_meanwhile(&self, new: &NewRequest) -> Option<(Arc<LinkParts>, GatewayTool)> {
        let tool = GatewayTool::from_name(&new.call.name)?;
        if !self.seat.client.meant(|meant| meant.awaited) || take_editor(&new.call.arguments).is_some() {
            return None;
        }
        match tool.parse_arguments(&new.call.arguments) {
            Ok(GatewayCall::Calls { .. }) => Some((self.seat.link(), tool)),
            Ok(GatewayCall::Status) => Some((self.unsettled(), tool)),
            // A longer wait sees the project.
            Ok(GatewayCall::WaitReady { timeout: Some(most) }) if most < ROOTS_WAIT => Some((self.unsettled(), tool)),
            _ => None,
        }
    }

    /// Returns the session's link that leads to no project, as one of which it is not known yet where the session goes.
    fn unsettled(&self) -> Arc<LinkParts> {
        let link = self.seat.links.nowhere_of(&self.seat.client);
        let availability = cause::Availability::Coming(Cause::ProjectUnsettled);
        link.link.survey.send_replace(None);
        link.link.view.send_modify(|link| (link.availability, link.undecided) = (availability, true));
        link
    }

    /// Removes and returns the calls that wait until their link is known.
    pub(super) fn take_unrouted(&self, state: &mut State) -> Vec<NewRequest> {
        self.seat.client.unrouted_bytes.store(0, Ordering::Relaxed);
        std::mem::take(&mut state.unrouted)
    }
}
