//! What a session does if it may use several editors. It lists the union of their tools, and sends each call to the
//! editor that the call names. Nothing is remembered between requests: a name is looked up among the editors that run
//! at that moment.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::timeout;

use super::{SessionActor, State};
use crate::actors::editors;
use crate::actors::gateway_tools::of_value;
use crate::actors::intake::NewRequest;
use crate::core::editors::{Choice, Refusal, choose, named};
use crate::core::meant::Heading;
use crate::core::port::messages::Ask;
use crate::core::requests::Asked;
use crate::core::router::Route;
use crate::core::user_text;
use crate::fsm::cause::Cause;
use crate::fsm::registry::Source;
use crate::fsm::routing::Event;
use crate::limits::EDITORS_SOUGHT_MAX;
use crate::limits::hub::HUB_QUESTION_MAX;
use crate::link::{Destination, Port};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::editor_argument::is_taken;
use crate::protocol::mcp::{
    AnyResource, Catalogue, Found, GatewayCall, GatewayTool, Member, OfferRequest, Resource, ToolResult, editor_name,
    take_editor,
};
use crate::protocol::policy::Grounds;
use crate::runtime::messages::session::Message;

/// The tools that a session lists while it is on the link that leads to no project.
#[derive(Default)]
pub(super) struct Shown {
    catalogue: Arc<Catalogue>,
    source: Source,
    /// Whether more tools may come in a moment, so that a first list is worth a wait.
    pub(super) is_settling: bool,
}

impl SessionActor {
    /// Connects to the editors of the session's choice to which no link leads. These are the editors of several
    /// projects in the client's roots, and perhaps no session has connected to them yet.
    pub(super) fn seek(&self) {
        let choice = self.seat.client.meant(|meant| meant.choice());
        for project in choice.iter().take(EDITORS_SOUGHT_MAX) {
            // If there are too many links, some of these editors are not reached. The others make the choice.
            if let Ok(link) = self.seat.links.to_project(project)
                && !link.is_wanted()
            {
                link.want();
            }
        }
    }

    /// Returns the projects that a survey found. The survey may have chosen one of several projects because only that
    /// editor's port was open. If another one of these editors is expected to return (as during a domain reload), the
    /// several projects stay.
    pub(super) fn with_returning(&self, found: Vec<PathBuf>) -> Vec<PathBuf> {
        let [one] = found.as_slice() else { return found };
        let runs = |project: &PathBuf| self.seat.links.find(project).is_some_and(|link| link.running().is_some());
        let several = self.seat.client.meant(|meant| meant.several());
        let several = several.filter(|several| several.contains(one));
        several.filter(|several| several.iter().any(|other| other != one && runs(other))).unwrap_or(found)
    }

    /// Returns what a session lists that may use the running editors of these projects: the union of their tools.
    pub(super) fn shown(&self, state: &mut State, heading: &Heading) -> Shown {
        let links = self.seat.links.all();
        let in_scope = |link: &&Port| link.leads_to().is_some_and(|project| heading.scope.holds(project));
        let is_settling = links.iter().filter(in_scope).any(Port::is_settling);
        let Route::Among(choice) = &heading.route else { return Shown { is_settling, ..Shown::default() } };
        let mut members: Vec<(Source, Member)> = Vec::new();
        for (name, known) in named(&heading.scope, &self.seat.links.known()) {
            let leads = |link: &&Port| link.leads_to() == Some(&known.project);
            let Some(link) = links.iter().find(leads).filter(|_| choice.contains(&known.project)) else { continue };
            let source = link.published().source;
            let catalogue = link.visible(self.seat.client.id).catalogue;
            members.push((source, Member { name, catalogue }));
        }
        let source = match members.iter().all(|(source, _)| *source == Source::Live) {
            true => Source::Live,
            false if members.iter().all(|(source, _)| *source == Source::None) => Source::None,
            false => Source::Stale,
        };
        let members: Vec<Member> = members.into_iter().map(|(_, member)| member).collect();
        let is_same = |(known, _): &&(Vec<Member>, Arc<Catalogue>)| {
            known.len() == members.len()
                && known.iter().zip(&members).all(|(a, b)| a.name == b.name && Arc::ptr_eq(&a.catalogue, &b.catalogue))
        };
        let known = state.union.as_ref().filter(is_same).map(|(_, union)| Arc::clone(union));
        let catalogue = known.unwrap_or_else(|| {
            let union = self.seat.links.union_of(&members);
            // The result is kept if nothing changed, so that no later request compares the two again.
            let nowhere = self.seat.links.nowhere_of(&self.seat.client);
            let shown = nowhere.published().catalogue;
            if shown == union { shown } else { union }
        });
        state.union = Some((members, Arc::clone(&catalogue)));
        Shown { catalogue, source, is_settling }
    }

    /// Publishes these tools on the session's link that leads to no project. Returns whether they differ from those before.
    pub(super) fn publish(link: &Port, shown: Shown) -> bool {
        link.publish(shown.source, shown.catalogue)
    }

    /// Follows a change among the editors, if the session depends on more than one of them.
    pub(super) fn editors_changed(&self, state: &mut State) {
        let depends = self.seat.client.meant(|meant| meant.depends_on_others());
        // A session with one project hears of its editor from the editor's link.
        if depends && self.seat.client.handshake().opened {
            self.route(state, &Event::EditorsChanged);
        }
    }

    /// Takes the waiting requests whose answer depends on how a hub's links stand, and asks the hub.
    pub(super) fn ask_first(&self, state: &mut State) {
        let must_ask = |new: &mut NewRequest| !new.has_asked && GatewayTool::from_name(&new.call.name).is_some();
        let asking: Vec<NewRequest> = state.unrouted.extract_if(.., must_ask).collect();
        let offers: Vec<_> = state.unrouted_offers.extract_if(.., |new| !new.has_asked).collect();
        // `holdfast_result` asks for one call by its id, so each of these requests is a question of its own.
        let (of_results, asking): (Vec<_>, Vec<_>) = asking.into_iter().partition(|new| result_of(new).is_some());
        let each = of_results.into_iter().map(|new| (result_of(&new), vec![new], Vec::new()));
        for (call, calls, offers) in each.chain([(None, asking, offers)]) {
            if calls.is_empty() && offers.is_empty() {
                continue;
            }
            let nth = state.asking.last_key_value().map_or(0, |(nth, _)| nth + 1);
            let of = |tool| calls.iter().any(|new: &NewRequest| GatewayTool::from_name(&new.call.name) == Some(tool));
            let reads = |resource| {
                offers.iter().any(
                    |new| matches!(&new.call, OfferRequest::Read(read) if read.resource == AnyResource::Own(resource)),
                )
            };
            let ask = Ask {
                call,
                calls: of(GatewayTool::Calls) || reads(Resource::Calls),
                on_disk: of(GatewayTool::Editors) || reads(Resource::Editors),
            };
            state.asking.insert(nth, (calls, offers));
            let (links, me) = (self.seat.links.clone(), state.me.clone());
            self.tasks.spawn(async move {
                // While no hub serves, the hub's former answer must do.
                let _ = timeout(HUB_QUESTION_MAX, links.ask(ask)).await;
                let _ = me.cast(Message::Asked(nth));
            });
        }
    }

    /// Drops the permit of `Message::InputEnded`, if no request waits for a hub any more. `main` ends only after that.
    pub(super) fn release_last(&self, state: &mut State) {
        if state.asking.is_empty() && state.unrouted.is_empty() && state.unrouted_offers.is_empty() {
            state.last_permit = None;
        }
    }

    /// Goes on with the requests that waited for the answer to this question.
    pub(super) fn asked(&self, state: &mut State, nth: u64) {
        let Some((calls, offers)) = state.asking.remove(&nth) else { return };
        state.unrouted.extend(calls.into_iter().map(|new| NewRequest { has_asked: true, ..new }));
        state.unrouted_offers.extend(offers.into_iter().map(|new| NewRequest { has_asked: true, ..new }));
        self.find_way(state);
        self.release_last(state);
    }

    /// Sends a call to the editor that it names. If it names none, the router decides.
    pub(super) fn dispatch(&self, heading: &Heading, mut new: NewRequest) {
        let here = self.seat.link();
        let own = GatewayTool::from_name(&new.call.name);
        if let Some(tool @ (GatewayTool::Editors | GatewayTool::Result | GatewayTool::Tools)) = own {
            return self.run_own(heading, &here, &new, tool);
        }
        let said = match self.take_names(heading, &here, &mut new) {
            Ok(said) => said,
            Err(refusal) => return self.refuse(new, &refusal),
        };
        match choose(&heading.route, &heading.scope, || self.seat.links.known(), &said) {
            Choice::Routed => self.accept(&here, new),
            Choice::Editor(project) => match self.seat.links.to_project(&project) {
                Ok(link) => {
                    link.want();
                    self.accept(&link, new);
                }
                Err(_) => self.turn_down(new, Cause::Overload, user_text::too_many_links()),
            },
            Choice::Refused(refusal @ Refusal::Unnamed { .. }) if own.is_some() => match own {
                Some(tool) if tool != GatewayTool::WaitReady => self.run_own(heading, &here, &new, tool),
                _ => self.refuse(new, &refusal),
            },
            // The gateway tools can speak of an editor that is away.
            Choice::Refused(refusal @ Refusal::Away { .. }) if own.is_some() => match self.link_away(&refusal) {
                Some(link) => self.accept(&link, new),
                None => self.refuse(new, &refusal),
            },
            Choice::Refused(refusal) => self.refuse(new, &refusal),
        }
    }

    /// Takes the name of an editor out of a call. It may be in the argument, in the member of `_meta`, and in the
    /// listed name of the tool.
    fn take_names(&self, heading: &Heading, here: &Port, new: &mut NewRequest) -> Result<Vec<String>, Refusal> {
        let mut said = Vec::new();
        if let Some(value) = &new.call.editor {
            said.extend(editor_name(value).map_err(|_| Refusal::NotText)?);
        }
        let catalogue = here.published().catalogue;
        let bound = catalogue.find(&new.call.name).filter(|entry| entry.name == new.call.name);
        let bound = bound.and_then(|entry| Some((entry, entry.origin.as_ref().filter(|origin| origin.is_bound)?)));
        if let Some((_, origin)) = bound {
            said.extend(origin.editors.first().cloned());
            new.call.name.clone_from(&origin.name);
        }
        let Some(taken) = take_editor(&new.call.arguments) else { return Ok(said) };
        let is_its_own = match bound {
            Some((entry, _)) => is_taken(&entry.tool.input_schema),
            None if *here.destination() == Destination::Nowhere => {
                let in_scope = |link: &&Port| link.leads_to().is_some_and(|to| heading.scope.holds(to));
                self.seat.links.all().iter().filter(in_scope).any(|link| has_own_argument(link, &new.call.name))
            }
            None => has_own_argument(here, &new.call.name),
        };
        if !is_its_own {
            said.extend(taken.names().map_err(|_| Refusal::NotText)?);
            new.call.arguments = taken.rest;
        }
        Ok(said)
    }

    /// Answers a call that goes to no editor.
    fn refuse(&self, new: NewRequest, refusal: &Refusal) {
        let mut says = user_text::editor_refused(refusal);
        let cause = match refusal {
            Refusal::Unnamed { .. } | Refusal::NotText | Refusal::Twice { .. } | Refusal::Ambiguous { .. } => {
                Cause::Ambiguous
            }
            Refusal::Unknown { .. } => Cause::NotRunning,
            Refusal::OutOfScope { .. } => Cause::WrongProject,
            Refusal::Away { cause, project, .. } => {
                let link = self.link_away(refusal);
                // If the user opens the editor now, it is found soon.
                link.as_ref().inspect(|link| link.want());
                if !cause.is_closed() {
                    let explained = link.and_then(|link| link.status().survey?.explains(*cause));
                    let next = user_text::next(*cause, &new.asked.profile, Some(project));
                    says = [Some(says), explained, Some(next)].into_iter().flatten().collect::<Vec<_>>().join(" ");
                }
                *cause
            }
        };
        self.turn_down(new, cause, says);
    }

    /// Returns the link to the editor that this refusal says is away.
    fn link_away(&self, refusal: &Refusal) -> Option<Port> {
        let Refusal::Away { project, .. } = refusal else { return None };
        self.seat.links.find(project)
    }

    /// Answers a call that goes to no editor. The cause is this one, and `says` replaces the cause's usual text.
    fn turn_down(&self, new: NewRequest, cause: Cause, says: String) {
        let nowhere = self.seat.links.nowhere_of(&self.seat.client);
        if GatewayTool::from_name(&new.call.name).is_some() {
            let text = format!("{}: not executed: {says}", new.call.name);
            return self.seat.tools_on(&nowhere).answer(new.asked, ToolResult::error(text));
        }
        self.accept_or_refuse(&nowhere, new, Some((cause, Grounds { rule: None, says })));
    }

    /// Answers a call of a gateway tool that speaks of more than one editor.
    fn run_own(&self, heading: &Heading, here: &Port, new: &NewRequest, tool: GatewayTool) {
        let own = self.seat.tools_on(here);
        let (asked, arguments) = (new.asked.clone(), &new.call.arguments);
        let call = match tool.parse_arguments(arguments) {
            Ok(call) => call,
            Err(fix) => return own.answer(asked, ToolResult::error(fix)),
        };
        match call {
            GatewayCall::Editors => {
                let rest = self.listed(&asked.profile).rest().to_vec();
                editors::list(&self.seat, &self.tasks, asked, heading.route.clone(), heading.scope.clone(), rest);
            }
            GatewayCall::Result { call } => {
                let recorded = self.seat.links.of_call(call);
                let may = |link: &Port| match link.leads_to() {
                    // Every call on record is this session's own.
                    _ if self.seat.links.is_for_one() => true,
                    Some(project) => heading.scope.holds(project),
                    None => link.id() == self.seat.client.nowhere(),
                };
                recorded.filter(may).map_or(own, |link| self.seat.tools_on(&link)).result(asked, call);
            }
            GatewayCall::Status => own.answer(asked, of_value(&editors::status(&self.seat, &own, &heading.scope))),
            GatewayCall::Calls { limit, before, verdict } => {
                own.answer(asked, editors::calls(&self.seat, &heading.scope, limit, before, verdict.as_deref()));
            }
            GatewayCall::Find { words } => self.find(here, asked, &words),
            GatewayCall::WaitReady { .. } | GatewayCall::Call { .. } => own.run(&self.tasks, asked, tool, arguments),
        }
    }

    /// Answers with the tools that these words fit. From now on they are listed.
    fn find(&self, here: &Port, asked: Asked, words: &str) {
        let catalogue = here.visible(self.seat.client.id).catalogue;
        let fits = catalogue.search(words);
        let found = Found::of(&fits, &asked.profile);
        let listed = self.listed(&asked.profile);
        let is_news = found.tools.iter().any(|tool| listed.find(tool.name).is_none());
        if self.seat.client.has_found(found.tools.iter().map(|tool| tool.name)) && is_news {
            // After the answer: the client is told that its list is another one.
            self.seat.client.actor.cast(Message::CatalogueChanged);
        }
        let told = match here.published().source {
            Source::None => ToolResult::error(user_text::NO_TOOLS_KNOWN),
            Source::Disk | Source::Live | Source::Stale => of_value(&found),
        };
        self.seat.tools_on(here).answer(asked, told);
    }
}

/// Returns the call whose result is asked for by a call of `holdfast_result`.
fn result_of(new: &NewRequest) -> Option<CallId> {
    match GatewayTool::from_name(&new.call.name)?.parse_arguments(&new.call.arguments) {
        Ok(GatewayCall::Result { call }) => Some(call),
        _ => None,
    }
}

fn has_own_argument(link: &Port, tool: &str) -> bool {
    link.published().catalogue.find(tool).is_some_and(|entry| is_taken(&entry.tool.input_schema))
}
