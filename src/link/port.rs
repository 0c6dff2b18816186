//! The session's end of the port to each link. A session sees of a link what this file gives it, and nothing else of the link's
//! memory. In one process each message is a direct call.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::Instant;

use super::calls::TakenIn;
use super::hub::{Embedded, HubPort};
use super::links::{Links, TooManyLinks};
use super::parts::Link;
use super::project::Destination;
use super::records::Resumed;
use super::standing::{CallsNow, LinkStatus, Standing, Standings, some_calls};
use super::tools::{Published, Visible};
use crate::client::{Client, Sessions};
use crate::core::call_records::Origin;
use crate::core::calls::{Lookup, NewCall, Record};
use crate::core::editors::Known;
use crate::core::last_compile::SeenCompile;
use crate::core::link::Fact;
use crate::core::logbook::Logbook;
use crate::core::port::Seen;
use crate::core::port::messages::{self, Ask, Here, Look, Opened, Sighting};
use crate::core::requests::{Asked, Hold};
use crate::core::router::Running;
use crate::core::said::Said;
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::registry::Source;
use crate::protocol::dialect::Dialect;
use crate::protocol::ids::{CallId, LinkId, RequestKey, SessionId};
use crate::protocol::mcp::{Catalogue, Entry, Member};
use crate::protocol::policy::Grounds;
use crate::protocol::text::clean;
use crate::survey::Survey;
use crate::telemetry::flight::Timeline;

/// One link, as a session has it.
#[derive(Debug, Clone)]
pub struct Port(Arc<Link>);

/// The links of this process, as a session has them.
#[derive(Debug, Clone)]
pub struct Ports(Arc<Links>);

/// A call of a client, and what only the session knows of it.
#[derive(Debug)]
pub struct Calling<'c> {
    pub call: NewCall,
    /// The client's request.
    pub hold: &'c Hold,
    /// The client's id of the request, for the log.
    pub id: &'c str,
    /// Whether an earlier gateway may have sent the call.
    pub may_have_run: bool,
    /// Why the session's rules forbid the call.
    pub refused: Option<Grounds>,
    /// Why the call is refused, whatever its tool is. Set only on a link that leads to no editor.
    pub turned_down: Option<(Cause, Grounds)>,
}

impl Port {
    // ---- what is seen ----

    pub fn id(&self) -> LinkId {
        self.0.id
    }

    pub fn destination(&self) -> &Destination {
        &self.0.destination
    }

    /// The project that the link leads to, if it leads to one.
    pub fn leads_to(&self) -> Option<&Path> {
        self.0.leads_to()
    }

    pub fn seen(&self) -> Seen {
        self.0.contact.view.seen()
    }

    /// The project that the link leads to, and whether its editor is there. `None` if the link leads to no project.
    pub fn known(&self) -> Option<Known> {
        self.0.known()
    }

    /// The editor of this link, if it runs.
    pub fn running(&self) -> Option<Running> {
        self.0.running()
    }

    /// Whether this link leads to a project whose editor is connected, or is expected to be.
    pub fn is_open(&self) -> bool {
        self.0.is_open()
    }

    /// Whether the live tool list of this link's editor may still come.
    pub fn is_settling(&self) -> bool {
        self.0.is_settling()
    }

    /// The editor's tools, as far as they are known.
    pub fn published(&self) -> Published {
        self.0.tools.published.borrow().clone()
    }

    /// The tools that a session lists.
    pub fn visible(&self, session: SessionId) -> Visible {
        self.0.tools.visible(session)
    }

    pub fn dialect(&self) -> &'static dyn Dialect {
        self.0.contact.dialect()
    }

    /// Why this session may not call a tool of the editor's list; `None` if it may.
    pub fn refusal(&self, tool: &Entry, session: SessionId) -> Option<Grounds> {
        self.0.tools.refusal(tool, self.0.contact.wanted().project(), session)
    }

    pub fn refusal_at_once(&self, name: &str, arguments: &RawValue, session: SessionId) -> Option<Grounds> {
        self.0.tools.refusal_at_once(name, arguments, session)
    }

    /// The rules that apply to this session, one list of rules per line.
    pub fn policy_lines(&self, session: SessionId) -> Vec<String> {
        self.0.tools.policy_lines(session)
    }

    /// Returns a receiver that waits until anything else is seen of the link.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.contact.view.revisions()
    }

    /// Returns a receiver that waits until other tools are published.
    pub fn lists(&self) -> watch::Receiver<Published> {
        self.0.tools.published.subscribe()
    }

    /// Returns the news of the link for a session of another process; `None` if the link leads to no project.
    pub fn sighting(&self) -> Option<Sighting> {
        let project = self.leads_to()?.to_path_buf();
        let (seen, digest) = (self.seen(), self.told_tools().digest.clone());
        let published = self.0.tools.published.borrow();
        Some(Sighting { project, seen, source: published.source, disk_read: published.disk_read, digest })
    }

    /// Returns the tools in the form for a session of another process.
    pub fn told_tools(&self) -> Arc<messages::Tools> {
        self.0.tools.told()
    }

    /// Whether a hub has the link.
    pub fn is_remote(&self) -> bool {
        self.0.remote().is_some()
    }

    // ---- what is said ----

    /// Says that the editor is wanted.
    pub fn want(&self) {
        let is_news = !self.is_wanted();
        self.0.contact.want_editor();
        if let (true, Some(remote), Some(project)) = (is_news, self.0.remote(), self.leads_to()) {
            remote.hub.want(project);
        }
    }

    /// Whether anybody has said that the editor is wanted.
    pub fn is_wanted(&self) -> bool {
        self.0.contact.is_wanted()
    }

    /// Gives the link its first survey. A session has just made that survey, and it led to this link.
    pub fn foretell(&self, survey: Arc<Survey>) {
        if self.is_remote() {
            // The hub has made this survey, and keeps its own.
            return;
        }
        self.0.project.foretell(survey);
    }

    /// Gives a call to the link. A link that leads to no editor refuses the call. A call that the session's rules
    /// forbid is refused here.
    pub fn call(&self, calling: Calling<'_>) -> TakenIn {
        let Calling { call, hold, id, may_have_run, refused, turned_down } = calling;
        let call = match (self.0.remote(), self.leads_to(), &refused) {
            (Some(remote), Some(project), None) => {
                let said = Said::new(hold.clone(), id, project.to_path_buf(), call, Instant::now());
                match remote.hub.say(said) {
                    Ok(taken) => return taken,
                    // The links have come to this process meanwhile.
                    Err(said) => said.call,
                }
            }
            _ => call,
        };
        let (calls, number) = (&self.0.calls, call.id);
        let taken = calls.take_from_client(call, may_have_run, hold, refused, id);
        match (taken, turned_down) {
            (TakenIn::Yes, _) if self.0.destination != Destination::Nowhere => calls.tell_of_held(),
            (TakenIn::Yes, Some((cause, grounds))) => {
                calls.decide(|ledger, now| ledger.turn_down(number, cause, grounds, now));
            }
            (TakenIn::Yes, None) => {
                let cause = self.seen().availability.cause().unwrap_or(Cause::ProjectUnknown);
                calls.decide(|ledger, now| ledger.refuse(number, cause, now));
            }
            (TakenIn::Cancelled | TakenIn::NoRoom, _) => {}
        }
        taken
    }

    /// Gives the link a call again that an earlier gateway had.
    pub fn resume(&self, asked: Asked, call: (&str, &RawValue), origin: &Origin, waited: Duration) -> Resumed {
        self.0.calls.resume(asked, call, origin, waited)
    }

    /// Tells the link that a session does not mean this editor any more: the session's held calls are refused.
    pub fn refuse_held_of(&self, session: SessionId) {
        if let (Some(remote), Some(project)) = (self.0.remote(), self.leads_to()) {
            let (calls, cause) = (&self.0.calls, Cause::ProjectChanged);
            for Said { call, hold, id, .. } in remote.hub.leave(project) {
                let number = call.id;
                if calls.take_from_client(call, false, &hold, None, &id) == TakenIn::Yes {
                    calls.decide(|ledger, now| ledger.refuse(number, cause, now));
                }
            }
        }
        self.0.calls.decide(|ledger, now| ledger.refuse_held_of(session, Cause::ProjectChanged, now));
    }

    /// Tells the link that the only session has left. Returns whether that is news.
    pub fn leave(&self) -> bool {
        self.0.left.send_if_modified(|left| !std::mem::replace(left, true))
    }

    // ---- a session's own link, which leads to no editor ----

    /// Says why there is no editor. `survey`: what was found; `None` while that is not known.
    pub fn lead_nowhere(&self, survey: Option<Survey>, availability: Availability, undecided: bool) {
        self.0.contact.set_survey(survey.map(Arc::new));
        self.0.contact.view.tell(Fact::LeadsNowhere { availability, undecided });
    }

    /// Sets what callers may expect of the calls of this link.
    pub fn expect(&self, availability: Availability) {
        self.0.calls.decide(|ledger, now| ledger.set_availability(availability, now));
    }

    /// Publishes these tools. Returns whether they differ from those before.
    pub fn publish(&self, source: Source, catalogue: Arc<Catalogue>) -> bool {
        let mut changed = false;
        self.0.tools.published.send_modify(|published| {
            (published.source, published.disk_read) = (source, true);
            if !Arc::ptr_eq(&published.catalogue, &catalogue) {
                changed = published.catalogue != catalogue;
                if changed {
                    published.catalogue = catalogue;
                }
            }
        });
        changed
    }

    // ---- what is asked ----

    /// How the link stands now. If a hub has the link: how it stood when the hub was asked last, with what was seen
    /// since.
    pub fn status(&self) -> LinkStatus {
        if let Some(stood) = self.0.stood() {
            let (mut status, seen) = (stood.status.clone(), self.seen());
            // What was seen since the hub was asked, and not what is still on its way.
            if seen.follows(&stood.seen) && status.picture.availability != seen.availability {
                (status.picture.availability, status.picture.undecided) = (seen.availability, seen.undecided);
                (status.picture.since, status.picture.heartbeat) = (Instant::now(), None);
            }
            return status;
        }
        let (contact, calls) = (&self.0.contact, &self.0.calls);
        let ((held, running), busy_for, busy_with) = calls.ledger(|ledger, now| {
            let busy_with = ledger
                .running()
                .map(|(call, tool, since)| (call, Arc::clone(&tool), now.saturating_duration_since(since)));
            (ledger.counts(), ledger.running_for(), busy_with)
        });
        let name_of = |session| Some(clean(&self.0.attached.get(session)?.handshake().name));
        let busy_for = busy_for.filter(|_| self.0.env.records.is_some()).and_then(name_of);
        LinkStatus {
            picture: contact.view_now(),
            survey: contact.survey_now(),
            package: contact.package(),
            source: self.0.tools.published.borrow().source,
            held,
            running,
            busy_with,
            busy_for,
        }
    }

    /// The calls that wait, and those that ended last, at most this many of each.
    pub fn calls_now(&self, most: usize) -> CallsNow {
        self.0.calls.ledger(|ledger, _| {
            let mut open: Vec<Record> = ledger.open_records().collect();
            // Oldest first: the oldest call is sent first, and has waited longest.
            open.reverse();
            let open_count = open.len();
            open.truncate(most);
            CallsNow { open_count, open, recent: ledger.finished_records().take(most).cloned().collect() }
        })
    }

    /// Waits until a call of the link moves.
    pub async fn calls_moved(&self) {
        self.0.calls.shared.moved().await;
    }

    /// All calls on record, the newest first.
    pub fn all_calls(&self) -> Vec<Record> {
        let mut all: Vec<Record> = self.0.calls.ledger(|ledger, _| ledger.records().map(Cow::into_owned).collect());
        if let Some(stood) = self.0.stood() {
            // The calls that the session's own rules refused are on record here.
            all.extend(stood.calls.iter().flatten().cloned());
            all.sort_by_key(|record| std::cmp::Reverse(record.accepted));
        }
        all
    }

    /// The newest calls, or those older than `before`; only those with this verdict if one is given. Also returns whether there are
    /// more. `None` if `before` is not on record.
    pub fn calls(&self, limit: usize, before: Option<CallId>, verdict: Option<&str>) -> Option<(Vec<Record>, bool)> {
        if self.is_remote() {
            return some_calls(self.all_calls().into_iter(), limit, before, verdict);
        }
        self.0.calls.ledger(|ledger, _| some_calls(ledger.records().map(Cow::into_owned), limit, before, verdict))
    }

    pub fn look_up(&self, call: CallId) -> Lookup {
        let told = self.0.remote().and_then(|remote| remote.looked_up(call));
        told.unwrap_or_else(|| self.0.calls.look_up(call))
    }

    /// How many calls were taken over from earlier gateways.
    pub fn recovered(&self) -> u64 {
        if let Some(stood) = self.0.stood() {
            return stood.recovered;
        }
        self.0.calls.ledger(|ledger, _| ledger.recovered())
    }

    /// The last compile result that was seen of the wanted project.
    pub fn last_compile(&self) -> Option<SeenCompile> {
        if let Some(stood) = self.0.stood() {
            return stood.compile.clone();
        }
        self.0.calls.answers.last_compile()
    }

    /// Reads the package's logs.
    pub fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        self.0.calls.answers.logbook(operation)
    }

    /// What the link's machines did recently.
    pub fn timelines(&self, window: Duration, most: usize) -> Vec<Timeline> {
        self.0.env.events.timelines(window, most)
    }

    /// The bytes of the open calls of a session, or of all.
    pub fn open_bytes(&self, session: Option<SessionId>) -> usize {
        self.0.calls.ledger(|ledger, _| ledger.open_bytes(session))
    }

    pub fn sessions(&self) -> Vec<Arc<Client>> {
        self.0.attached.all()
    }

    pub fn clients(&self) -> usize {
        match self.0.stood() {
            Some(stood) => stood.clients,
            None => self.sessions().iter().filter(|client| !client.id.is_post()).count(),
        }
    }

    /// Returns the session's end of the port to this link.
    pub(super) fn of(link: Arc<Link>) -> Self {
        Self(link)
    }
}

impl Ports {
    /// Returns the session's ends of all links.
    pub fn of_all(links: Arc<Links>) -> Self {
        Self(links)
    }

    pub fn sessions(&self) -> &Arc<Sessions> {
        self.0.sessions()
    }

    /// Whether the only session is the one over stdin and stdout.
    pub fn is_for_one(&self) -> bool {
        self.0.is_for_one()
    }

    pub fn all(&self) -> Vec<Port> {
        self.0.all().into_iter().map(Port).collect()
    }

    pub fn of(&self, client: &Client) -> Port {
        Port(self.0.of(client))
    }

    pub fn nowhere_of(&self, client: &Client) -> Port {
        Port(self.0.nowhere_of(client))
    }

    /// The link that leads to this destination. Opens it if there is none.
    ///
    /// # Errors
    /// As many links are open as may be.
    pub fn to(&self, destination: Destination) -> Result<Port, TooManyLinks> {
        self.0.to(destination).map(Port)
    }

    /// The link to this project's editor. Opens it if there is none.
    ///
    /// # Errors
    /// As many links are open as may be.
    pub fn to_project(&self, project: &Path) -> Result<Port, TooManyLinks> {
        self.0.to_project(project).map(Port)
    }

    pub fn find(&self, project: &Path) -> Option<Port> {
        self.0.find(project).map(Port)
    }

    pub fn get(&self, link: LinkId) -> Option<Port> {
        self.0.get(link).map(Port)
    }

    pub fn of_call(&self, call: CallId) -> Option<Port> {
        self.0.of_call(call).or_else(|| self.0.of_remote_call(call)).map(Port)
    }

    pub fn of_record(&self, origin: &Origin) -> Option<Port> {
        self.0.of_record(origin).map(Port)
    }

    pub fn running(&self) -> Vec<Running> {
        self.0.running()
    }

    pub fn known(&self) -> Vec<Known> {
        self.0.known()
    }

    pub fn union_of(&self, members: &[Member]) -> Arc<Catalogue> {
        self.0.union_of(members)
    }

    // ---- the links of a hub ----

    /// The port to the hub, if a hub has the links.
    pub fn hub(&self) -> Option<&Arc<HubPort>> {
        self.0.hub()
    }

    /// How all links of this process stand, and what is known of the call in the question.
    pub fn stand(&self, ask: Ask) -> (Vec<Standing>, Option<(CallId, PathBuf, Lookup)>) {
        self.0.stand(ask)
    }

    /// Returns a receiver that is notified whenever a link to an editor is opened or closed.
    pub fn openings(&self) -> watch::Receiver<()> {
        self.0.openings()
    }

    /// How all links of the hub stood when it was asked last. `None` if no hub has them.
    pub fn standings(&self) -> Option<Arc<Standings>> {
        self.0.standings()
    }

    /// Asks the hub how all its links stand, and keeps the answer. Does nothing if the links are in this process.
    pub async fn ask(&self, ask: Ask) {
        let Some(hub) = self.hub() else { return };
        if let Ok(Ok(json)) = hub.ask(messages::ASK, &ask).await
            && let Ok(standings) = serde_json::from_str(json.get())
        {
            self.0.told_standings(standings);
        }
    }

    /// Asks the hub what it finds where a client works.
    ///
    /// # Errors
    /// The links are here.
    pub async fn look(&self, look: &Look) -> Result<Option<Survey>, Embedded> {
        let hub = self.hub().ok_or(Embedded)?;
        let told = hub.ask(messages::LOOK, look).await?;
        Ok(told.ok().and_then(|json| serde_json::from_str(json.get()).ok()))
    }

    /// Tells the hub who the client is and where the session is, if a hub has the links.
    pub fn opened(&self, opened: Opened) {
        self.hub().inspect(|hub| hub.opened(opened));
    }

    /// As [`opened`](Self::opened).
    pub fn here(&self, here: Here) {
        self.hub().inspect(|hub| hub.here(here));
    }

    /// The bytes of the arguments of the calls that were given to the hub.
    pub fn said_bytes(&self) -> usize {
        self.hub().map_or(0, |hub| hub.open_bytes())
    }

    /// Whether a request became a call, on any link.
    pub fn own(&self, request: RequestKey) -> bool {
        self.0.own(request)
    }
}
