//! The session's end of the port to each link. A session sees of a link what this file gives it, and nothing else of the link's
//! memory. In one process each message is a direct call.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::calls::TakenIn;
use super::links::{Links, TooManyLinks};
use super::parts::LinkParts;
use super::picture::LinkPicture;
use super::place::Place;
use super::records::Resumed;
use super::tools::{Published, Visible};
use crate::client::{Client, Sessions};
use crate::core::call_records::Origin;
use crate::core::calls::{Lookup, NewCall, Record};
use crate::core::editors::Known;
use crate::core::last_compile::SeenCompile;
use crate::core::link::{Fact, Outage};
use crate::core::logbook::Logbook;
use crate::core::port::Seen;
use crate::core::requests::{Asked, Hold};
use crate::core::router::Running;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::registry::Source;
use crate::protocol::crossing::millis;
use crate::protocol::dialect::Dialect;
use crate::protocol::ids::{CallId, LinkId, RequestKey, SessionId};
use crate::protocol::mcp::{Catalogue, Entry, Member};
use crate::protocol::policy::Grounds;
use crate::survey::Survey;
use crate::telemetry::flight::Timeline;

/// One link, as a session has it.
#[derive(Debug, Clone)]
pub struct Port(Arc<LinkParts>);

/// The links of this process, as a session has them.
#[derive(Debug, Clone)]
pub struct Ports(Arc<Links>);

/// A call of a client, and what only the session knows of it.
#[derive(Debug)]
pub struct Calling<'c> {
    /// The call.
    pub call: NewCall,
    /// The client's request.
    pub hold: &'c Hold,
    /// The client's id of the request, for the log.
    pub id: &'c str,
    /// Whether an earlier gateway may have sent it.
    pub may_have_run: bool,
    /// Why the session's rules forbid it.
    pub refused: Option<Grounds>,
    /// Why it is refused, whatever its tool is. Only on a link that leads to no editor.
    pub turned_down: Option<(Cause, Grounds)>,
}

/// How a link stands at one moment: the answer to a question, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// What is known of the link.
    pub picture: LinkPicture,
    /// The last survey, without the editor's secrets if it comes from another process; `None` while it is not known
    /// which project is wanted.
    pub survey: Option<Arc<Survey>>,
    /// The package that connects the editor.
    pub package: Option<serde_json::Value>,
    /// Where the tools come from.
    #[serde(default)]
    pub source: Source,
    /// How many calls wait.
    #[serde(default)]
    pub held: usize,
    /// How many calls run.
    #[serde(default)]
    pub running: usize,
    /// The call that has run longest: its id, its tool, and for how long.
    #[serde(default, with = "millis::third")]
    pub busy_with: Option<(CallId, Arc<str>, Duration)>,
    /// The session of that call.
    pub busy_for: Option<SessionId>,
}

impl LinkStatus {
    /// The outages, the last one first.
    pub fn outages(&self) -> impl Iterator<Item = &Outage> {
        self.picture.outages.iter().rev()
    }
}

/// Calls of a link that wait, and those that ended last.
#[derive(Debug, Clone, Default)]
pub struct CallsNow {
    /// How many calls are open.
    pub open_count: usize,
    /// Open calls, the oldest first.
    pub open: Vec<Record>,
    /// Calls that ended, the last one first.
    pub recent: Vec<Record>,
}

impl Port {
    // ---- what is seen ----

    /// The number of the link.
    pub fn id(&self) -> LinkId {
        self.0.id
    }

    /// Where the link leads.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The project that the link leads to, if it leads to one.
    pub fn leads_to(&self) -> Option<&Path> {
        self.0.leads_to()
    }

    /// What is seen of the link.
    pub fn seen(&self) -> Seen {
        self.0.link.view.seen()
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

    /// The package's wire protocol.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.0.link.dialect()
    }

    /// Why this session may not call a tool of the editor's list; `None` if it may.
    pub fn refusal(&self, tool: &Entry, session: SessionId) -> Option<Grounds> {
        self.0.tools.refusal(tool, self.0.link.wanted().project(), session)
    }

    /// Why a call is refused as soon as it arrives.
    pub fn refusal_at_once(&self, name: &str, arguments: &RawValue, session: SessionId) -> Option<Grounds> {
        self.0.tools.refusal_at_once(name, arguments, session)
    }

    /// The rules that apply to this session, one list of rules per line.
    pub fn policy_lines(&self, session: SessionId) -> Vec<String> {
        self.0.tools.policy_lines(session)
    }

    /// Returns a receiver that waits until the link changes.
    pub fn changes(&self) -> watch::Receiver<LinkPicture> {
        self.0.link.view.subscribe()
    }

    // ---- what is said ----

    /// Says that the editor is wanted.
    pub fn want(&self) {
        self.0.link.want_editor();
    }

    /// Whether somebody said that the editor is wanted.
    pub fn is_wanted(&self) -> bool {
        self.0.link.is_wanted()
    }

    /// Gives the link its first survey: a session has just made it, and that led here.
    pub fn foretell(&self, survey: Arc<Survey>) {
        self.0.project.foretell(survey);
    }

    /// Says a call. A link that leads to no editor refuses it.
    pub fn call(&self, calling: Calling<'_>) -> TakenIn {
        let Calling { call, hold, id, may_have_run, refused, turned_down } = calling;
        let (calls, number) = (&self.0.calls, call.id);
        let taken = calls.take_from_client(call, may_have_run, hold, refused, id);
        match (taken, turned_down) {
            (TakenIn::Yes, _) if self.0.place != Place::Nowhere => calls.tell_of_held(),
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

    /// Says a call again that an earlier gateway had.
    pub fn resume(&self, asked: Asked, call: (&str, &RawValue), origin: &Origin, waited: Duration) -> Resumed {
        self.0.calls.resume(asked, call, origin, waited)
    }

    /// Says that a session does not mean this editor any more: its held calls are refused.
    pub fn refuse_held_of(&self, session: SessionId) {
        self.0.calls.decide(|ledger, now| ledger.refuse_held_of(session, Cause::ProjectChanged, now));
    }

    /// Says that the only session has left. Returns whether that is news.
    pub fn leave(&self) -> bool {
        self.0.left.send_if_modified(|left| !std::mem::replace(left, true))
    }

    // ---- a session's own link, which leads to no editor ----

    /// Says why there is no editor. `survey`: what was found; `None` while that is not known.
    pub fn lead_nowhere(&self, survey: Option<Survey>, availability: Availability, undecided: bool) {
        self.0.link.set_survey(survey.map(Arc::new));
        self.0.link.view.tell(Fact::LeadsNowhere { availability, undecided });
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

    /// How the link stands now.
    pub fn status(&self) -> LinkStatus {
        let (link, calls) = (&self.0.link, &self.0.calls);
        let ((held, running), busy_for, busy_with) = calls.ledger(|ledger, now| {
            let busy_with = ledger
                .running()
                .map(|(call, tool, since)| (call, Arc::clone(&tool), now.saturating_duration_since(since)));
            (ledger.counts(), ledger.running_for(), busy_with)
        });
        LinkStatus {
            picture: link.view_now(),
            survey: link.survey_now(),
            package: link.package(),
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

    /// All calls on record.
    pub fn all_calls(&self) -> Vec<Record> {
        self.0.calls.ledger(|ledger, _| ledger.records().map(Cow::into_owned).collect())
    }

    /// The newest calls, or those older than `before`; only those with this verdict if one is given. Also returns whether there are
    /// more. `None` if `before` is not on record.
    pub fn calls(&self, limit: usize, before: Option<CallId>, verdict: Option<&str>) -> Option<(Vec<Record>, bool)> {
        self.0.calls.ledger(|ledger, _| {
            let mut records = ledger.records();
            if let Some(before) = before {
                records.by_ref().find(|record| record.id == before)?;
            }
            let mut wanted = records
                .filter(|record| verdict.is_none_or(|wanted| record.verdict.map(Verdict::label) == Some(wanted)));
            let shown = wanted.by_ref().take(limit).map(Cow::into_owned).collect();
            Some((shown, wanted.next().is_some()))
        })
    }

    /// What is known of a call's result.
    pub fn look_up(&self, call: CallId) -> Lookup {
        self.0.calls.look_up(call)
    }

    /// How many calls were taken over from earlier gateways.
    pub fn recovered(&self) -> u64 {
        self.0.calls.ledger(|ledger, _| ledger.recovered())
    }

    /// The last compile result that was seen of the wanted project.
    pub fn last_compile(&self) -> Option<SeenCompile> {
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

    /// The sessions on the link.
    pub fn sessions(&self) -> Vec<Arc<Client>> {
        self.0.attached.all()
    }
}

impl Ports {
    /// Returns the session's ends of all links.
    pub fn of_all(links: Arc<Links>) -> Self {
        Self(links)
    }

    /// The sessions of this process.
    pub fn sessions(&self) -> &Arc<Sessions> {
        self.0.sessions()
    }

    /// Whether the only session is the one over stdin and stdout.
    pub fn is_for_one(&self) -> bool {
        self.0.is_for_one()
    }

    /// All open links.
    pub fn all(&self) -> Vec<Port> {
        self.0.all().into_iter().map(Port).collect()
    }

    /// The link that a session is on.
    pub fn of(&self, client: &Client) -> Port {
        Port(self.0.of(client))
    }

    /// The session's link that leads to no editor.
    pub fn nowhere_of(&self, client: &Client) -> Port {
        Port(self.0.nowhere_of(client))
    }

    /// The link that leads to this place. Opens it if there is none.
    ///
    /// # Errors
    /// As many links are open as may be.
    pub fn to(&self, place: Place) -> Result<Port, TooManyLinks> {
        self.0.to(place).map(Port)
    }

    /// The link to this project's editor. Opens it if there is none.
    ///
    /// # Errors
    /// As many links are open as may be.
    pub fn to_project(&self, project: &Path) -> Result<Port, TooManyLinks> {
        self.0.to_project(project).map(Port)
    }

    /// The link to this project's editor, if there is one.
    pub fn find(&self, project: &Path) -> Option<Port> {
        self.0.find(project).map(Port)
    }

    /// The link with this number, if it is open.
    pub fn get(&self, link: LinkId) -> Option<Port> {
        self.0.get(link).map(Port)
    }

    /// The link that has a record of this call, if any.
    pub fn of_call(&self, call: CallId) -> Option<Port> {
        self.0.of_call(call).map(Port)
    }

    /// The link that has the call which the records name for this request, if any.
    pub fn of_record(&self, origin: &Origin) -> Option<Port> {
        self.0.of_record(origin).map(Port)
    }

    /// The editors that run.
    pub fn running(&self) -> Vec<Running> {
        self.0.running()
    }

    /// The projects that links lead to.
    pub fn known(&self) -> Vec<Known> {
        self.0.known()
    }

    /// The union of these editors' tools.
    pub fn union_of(&self, members: &[Member]) -> Arc<Catalogue> {
        self.0.union_of(members)
    }

    /// Whether a request became a call, on any link.
    pub fn own(&self, request: RequestKey) -> bool {
        self.0.own(request)
    }
}

#[cfg(test)]
mod tests;
