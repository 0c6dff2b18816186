//! Which link a session is on, where there are several: what its client says of its project is looked up, the router decides, and the
//! session moves. The session over stdin and stdout is not routed: its link follows it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep, timeout};

use super::{NewRequest, SessionActor, State};
use crate::client::Client;
use crate::config::Config;
use crate::core::requests::Asked;
use crate::core::router::{self, Route};
use crate::core::user_text;
use crate::fsm::cause::{self, Cause};
use crate::fsm::session::{Event, Likelihood};
use crate::limits::{OPEN_CALLS_MAX_BYTES, ROOTS_WAIT, SESSION_CALLS_MAX_BYTES, SURVEY_MAX};
use crate::link::{LinkParts, Place};
use crate::protocol::ids::SessionId;
use crate::protocol::mcp::{ClientInfo, ToolResult};
use crate::runtime::messages::session::Message;
use crate::survey::{self, Survey};
use crate::telemetry::metrics::labels::TOO_MANY_REQUESTS;

impl SessionActor {
    /// Whether the router decides which link it is on.
    pub(super) fn is_routed(&self) -> bool {
        self.seat.client.id != SessionId::STDIO
    }

    /// The client was asked for its roots: it may not answer in time.
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

    /// It did not answer in time.
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

    /// Goes where the client's requests belong, as far as that is known; begins to look where it is not. False: what waits for it must
    /// wait.
    pub(super) fn find_way(&self, state: &mut State) -> bool {
        let (named, roots, look) = self.seat.client.meant(|meant| meant.question());
        if look || state.looking {
            self.look_around(state);
            return false;
        }
        let way = match router::route(&named, &roots, &self.seat.links.running()) {
            Route::Wait => return false,
            Route::To(project) => match self.seat.links.to(&project) {
                Ok(link) => link,
                Err(_) => {
                    let mut survey = Survey::nothing();
                    survey.facts.problems.push(user_text::too_many_links());
                    self.nowhere(Survey { ambiguous: vec![project], ..survey })
                }
            },
            Route::Nobody(candidates) => {
                let mut found = state.survey.as_deref().cloned().unwrap_or_else(Survey::nothing);
                if let (Some(problem), Some(listed)) =
                    (found.facts.problems.first_mut(), user_text::candidates(&candidates))
                {
                    *problem = format!("{problem} {listed}");
                }
                self.nowhere(Survey { project: None, ambiguous: candidates, targets: Vec::new(), ..found })
            }
        };
        self.go(state, &way);
        true
    }

    /// The link that leads nowhere, which tells why.
    fn nowhere(&self, survey: Survey) -> Arc<LinkParts> {
        let link = self.seat.links.nowhere_of(&self.seat.client);
        let availability = cause::Availability::Absent(survey.cause());
        link.link.survey.send_replace(Some(Arc::new(survey)));
        link.link.view.send_modify(|link| (link.availability, link.undecided) = (availability, false));
        link.calls.decide(|ledger, now| ledger.set_availability(availability, now));
        link
    }

    /// Is on this link from now on. What it has waiting on the former one was meant for that one's project.
    fn go(&self, state: &mut State, way: &Arc<LinkParts>) {
        let former = self.seat.link();
        if former.id != way.id {
            // First: whatever changes on the new link from here on is told.
            self.seat.client.move_to(way.id);
            let session = self.seat.client.id;
            former.calls.decide(|ledger, now| ledger.refuse_held_of(session, Cause::ProjectChanged, now));
            way.link.want_editor();
            self.see_link(state);
            self.feed(state, &Event::CatalogueChanged);
        } else if way.place == Place::Nowhere {
            self.see_link(state);
        }
        self.feed(state, &Event::RootsAwaited(false));
        for new in self.take_unrouted(state) {
            self.accept(new);
        }
    }

    /// What the link that it is on is like.
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

    /// Looks for the projects that the client means.
    fn look_around(&self, state: &mut State) {
        if std::mem::replace(&mut state.looking, true) {
            return;
        }
        self.feed(state, &Event::RootsAwaited(true));
        let (env, me) = (Arc::clone(&self.seat.env), state.me.clone());
        let (generation, roots, former, config) = self.seat.client.meant(|meant| {
            let roots = meant.roots.clone().unwrap_or_default();
            let config = Config {
                project: meant.named.clone(),
                working_dir: None,
                ports: Vec::new(),
                ..self.seat.env.config.clone()
            };
            (meant.generation, roots, meant.former(), config)
        });
        self.tasks.spawn(async move {
            let host = Arc::clone(&env.host);
            let look = move || survey::survey(&*host, &config, &roots, former.as_deref());
            let looked = timeout(SURVEY_MAX, crate::platform::host::run(&*env.host, look)).await;
            let survey = looked.ok().flatten().unwrap_or_else(Survey::failed);
            let _ = me.cast(Message::LookedAround(generation, Arc::new(survey)));
        });
    }

    /// Looked around.
    pub(super) fn looked_around(&self, state: &mut State, generation: u64, survey: Arc<Survey>) {
        state.looking = false;
        let found = survey.project.iter().chain(&survey.ambiguous).cloned().collect();
        self.seat.client.meant(|meant| meant.found(generation, found));
        state.survey = Some(survey);
        self.find_way(state);
    }

    /// Whether a call with so many bytes of arguments may be taken in beside those of this session that are open or wait for their link,
    /// and beside those of all. Where there is one session and one link, the link decides alone.
    ///
    /// # Errors
    /// The bound that it would break.
    pub(super) fn has_room(&self, bytes: usize) -> Result<(), usize> {
        if !self.is_routed() {
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
        within(own, SESSION_CALLS_MAX_BYTES).and(within(all, OPEN_CALLS_MAX_BYTES))
    }

    /// More bytes of arguments would be open than may be.
    pub(super) fn refuse_for_bytes(&self, here: &LinkParts, asked: Asked, most: usize) {
        self.seat.env.events.bad_line(TOO_MANY_REQUESTS);
        here.calls.answers.own(asked, ToolResult::error(user_text::too_many_bytes(most)));
    }

    /// Who calls, where it is not the client over stdin and stdout.
    pub(super) fn requester(&self) -> Option<Arc<ClientInfo>> {
        let client = self.seat.client.handshake();
        let requester = || Arc::new(ClientInfo { name: client.name, version: client.release, ..ClientInfo::default() });
        self.is_routed().then(requester)
    }

    /// Takes a call to the link that the session is on, or has it wait until that is known.
    pub(super) fn accept_routed(&self, state: &mut State, new: NewRequest) {
        let bytes = new.call.arguments.get().len();
        if let Err(most) = self.has_room(bytes) {
            return self.refuse_for_bytes(&self.seat.link(), new.asked, most);
        }
        self.seat.client.unrouted_bytes.fetch_add(bytes, Ordering::Relaxed);
        state.unrouted.push(NewRequest { since: Some(Instant::now()), ..new });
        self.find_way(state);
    }

    /// The calls that waited until it is known which link they belong to.
    pub(super) fn take_unrouted(&self, state: &mut State) -> Vec<NewRequest> {
        self.seat.client.unrouted_bytes.store(0, Ordering::Relaxed);
        std::mem::take(&mut state.unrouted)
    }
}
