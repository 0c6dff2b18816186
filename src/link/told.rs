//! The state of links without actors: a hub tells a session's process of its links, and this file keeps what it tells.
//!
//! If no hub can serve any more, the actors of these links are started here. Then they are links like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::editors::editors_changed;
use super::hub::HubPort;
use super::links::Links;
use super::parts::Link;
use super::port::Port;
use super::project::Destination;
use super::remote::Remote;
use super::standing::{Standing, Standings};
use crate::config::file::ProjectRules;
use crate::core::calls::{Lookup, Wanted};
use crate::core::link::Fact;
use crate::core::port::Seen;
use crate::core::port::messages::{Ask, Sighting, Tools};
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::registry::Source;
use crate::protocol::dialect::{self, ProjectFacts, ToolListing};
use crate::protocol::ids::CallId;
use crate::runtime::enter;
use crate::runtime::messages::session::Message;
use crate::survey::Survey;

impl Link {
    /// Returns what this process has of the link, if a hub has the link.
    pub(super) fn remote(&self) -> Option<&Remote> {
        self.remote.as_ref().filter(|remote| remote.hub.is_used())
    }

    /// Returns how the link stood when its hub was asked last, with what was seen since.
    pub(super) fn stood(&self) -> Option<Arc<Standing>> {
        enter(&self.remote()?.stands).clone()
    }

    /// Takes what the hub sees. Returns whether the hub must be asked for the tools.
    fn sighted(&self, connection: u64, sighting: Sighting) -> bool {
        let Some(remote) = self.remote() else { return false };
        {
            let mut last = enter(&remote.sighted);
            // Another hub counts from the beginning.
            let is_older = |(of, known): &(u64, Sighting)| *of == connection && !sighting.seen.follows(&known.seen);
            let is_same_list = |(_, known): &(u64, Sighting)| {
                (&known.digest, known.source, known.disk_read)
                    == (&sighting.digest, sighting.source, sighting.disk_read)
            };
            if last.as_ref().is_some_and(|last| is_older(last) && is_same_list(last)) {
                return false;
            }
            *last = Some((connection, sighting.clone()));
        }
        if self.contact.wanted() != sighting.seen.wanted {
            let wanted = sighting.seen.wanted.clone();
            let (_, settlements) = self.calls.ledger(|ledger, now| ledger.want(wanted, now));
            self.calls.settle(settlements);
        }
        self.contact.view.sighted(sighting.seen.clone());
        let lacks = self.lacks_tools();
        if lacks.is_none() {
            self.list_is_from(&sighting);
        }
        self.attached.tell(|| Message::LinkChanged);
        lacks.is_some()
    }

    /// Sets where the published list comes from.
    fn list_is_from(&self, Sighting { source, disk_read, .. }: &Sighting) {
        self.tools.published.send_if_modified(|published| {
            // What the former hub knew is better than nothing.
            let knows_more = *source == Source::None && published.source != Source::None;
            let now = (if knows_more { Source::Stale } else { *source }, *disk_read);
            let changed = (published.source, published.disk_read) != now;
            (published.source, published.disk_read) = now;
            changed
        });
    }

    /// Takes the tools of a hub's link.
    fn told_tools(&self, tools: Tools) {
        let Some(remote) = self.remote() else { return };
        let Some((_, sighting)) = enter(&remote.sighted).clone() else { return };
        let are_seen = tools.digest == sighting.digest;
        let Tools { digest, dialect, package_version, tools, unusable, hub_rules, rules } = tools;
        self.tools.decided_by_hub(Some(hub_rules));
        let dialect = dialect::named(&dialect).unwrap_or_else(|| dialect::fallback(dialect::ALL));
        let other_rules = rules.is_some_and(|policy| {
            let rules = ProjectRules { policy, ..ProjectRules::default() };
            let facts = ProjectFacts { package_version, ..ProjectFacts::default() };
            let project = self.leads_to().map(Path::to_path_buf);
            let survey = Survey { project, dialect, rules, facts, ..Survey::nothing() };
            let other = self.tools.keep_rules(&survey);
            self.contact.survey.send_replace(Some(Arc::new(survey)));
            other
        });
        let before = Arc::clone(&self.tools.published.borrow().catalogue);
        // If other tools were seen meanwhile, the source of these is not known.
        let source = if are_seen { sighting.source } else { self.tools.published.borrow().source };
        self.tools.show(source, Some(&ToolListing { tools, revision: None, dropped: unusable }));
        *enter(&self.digest) = digest;
        if are_seen {
            self.list_is_from(&sighting);
        }
        if other_rules {
            self.tools.rules_changed();
        }
        if !Arc::ptr_eq(&before, &self.tools.published.borrow().catalogue) {
            self.attached.tell(|| Message::CatalogueChanged);
        }
        self.attached.tell(|| Message::LinkChanged);
    }

    /// Returns the digest of the tools that the hub sees, if this process has other ones. While the hub knows no tools,
    /// the last ones are kept.
    fn lacks_tools(&self) -> Option<String> {
        let sighted = enter(&self.remote()?.sighted).clone();
        let (_, sighting) = sighted.filter(|(_, sighting)| {
            let is_nothing = sighting.source == Source::None && self.tools.published.borrow().source != Source::None;
            !is_nothing && sighting.digest != *enter(&self.digest)
        })?;
        Some(sighting.digest)
    }

    /// Makes the link one of this process, before its actors start: nothing is known of its editor.
    pub(super) fn comes_here(&self) {
        self.contact.view.tell(Fact::Expected {
            state: "idle",
            availability: Availability::Coming(Cause::Connecting),
            undecided: true,
        });
        self.contact.view.publish(|seen| seen.wanted = Wanted::Asked);
        self.calls.decide(|ledger, now| {
            let mut settlements = ledger.want(Wanted::Asked, now).1;
            settlements.extend(ledger.set_availability(Availability::Coming(Cause::Connecting), now));
            settlements
        });
        self.tools.link_ended();
        self.tools.decided_by_hub(None);
    }
}

impl Links {
    /// Uses the links of a hub from here on, until the links come to this process. Called before any link to an editor
    /// is opened.
    pub fn use_hub(&self, hub: Arc<HubPort>) {
        let _ = self.hub.set(hub);
    }

    /// Returns the port to the hub, if the links are a hub's.
    pub fn hub(&self) -> Option<&Arc<HubPort>> {
        self.hub.get().filter(|hub| hub.is_used())
    }

    /// Takes what a hub sees of one of its links. Returns whether the hub must be asked for the tools.
    pub fn sighted(&self, connection: u64, sighting: Sighting) -> bool {
        let Ok(link) = self.to_project(&sighting.project) else { return false };
        let before = link.contact.view.seen();
        let lacks = link.sighted(connection, sighting);
        if link.contact.view.seen().matters_after(&before) {
            editors_changed(self.sessions());
        }
        lacks
    }

    /// Takes the tools of a hub's link.
    pub fn told_tools(&self, project: &Path, tools: Tools) {
        if let Some(link) = self.find(project) {
            link.told_tools(tools);
            editors_changed(self.sessions());
        }
    }

    /// Returns the digest of the tools that the hub sees on this project's link, if this process has other ones.
    pub fn lacks_tools(&self, project: &Path) -> Option<String> {
        self.find(project)?.lacks_tools()
    }

    /// Notes that no hub serves the session: until another one does, calls are held.
    pub fn hub_is_away(&self) {
        for link in self.all() {
            if link.remote().is_some() {
                let seen = link.contact.view.seen();
                let availability = Availability::Coming(Cause::Connecting);
                link.contact.view.sighted(Seen { availability, revision: seen.revision + 1, ..seen });
                link.attached.tell(|| Message::LinkChanged);
            }
        }
        editors_changed(self.sessions());
    }

    /// Notes that a hub has no link to this project, or can open none.
    pub fn gone(&self, project: &Path) {
        let Some(link) = self.find(project) else { return };
        if link.remote().is_none() {
            return;
        }
        if link.contact.is_wanted() {
            let availability = Availability::Absent(Cause::Overload);
            link.contact.view.tell(Fact::LeadsNowhere { availability, undecided: false });
        } else {
            self.close(link.id);
        }
        editors_changed(self.sessions());
    }

    /// Forgets the links that only an earlier hub had. This is done before anything of another hub is read.
    pub fn begin_anew(&self) {
        for link in self.all() {
            let Some(remote) = link.remote() else { continue };
            (*enter(&remote.sighted), *enter(&remote.stands)) = (None, None);
            if !link.contact.is_wanted() {
                self.close(link.id);
            }
        }
    }

    /// Returns the projects whose editors are wanted.
    pub fn wanted(&self) -> Vec<PathBuf> {
        let is_wanted = |link: &Arc<Link>| link.contact.is_wanted();
        self.all().into_iter().filter(is_wanted).filter_map(|link| link.leads_to().map(Path::to_path_buf)).collect()
    }

    /// Takes how all links stand.
    pub fn told_standings(&self, mut standings: Standings) {
        // An answer to a question that was not asked is missing. The former answer is kept.
        if standings.on_disk.is_none() {
            standings.on_disk = enter(&self.standings).as_ref().and_then(|before| before.on_disk.clone());
        }
        for standing in &standings.links {
            let Ok(link) = self.to_project(&standing.project) else { continue };
            if let Some(remote) = link.remote() {
                let mut stands = enter(&remote.stands);
                let before = || stands.as_ref().and_then(|before| before.calls.clone());
                let calls = standing.calls.clone().or_else(before);
                *stands = Some(Arc::new(Standing { calls, ..standing.clone() }));
            }
        }
        if let Some((call, project, lookup)) = standings.looked_up.clone()
            && let Ok(link) = self.to_project(&project)
            && let Some(remote) = link.remote()
        {
            remote.keep(call, lookup);
        }
        *enter(&self.standings) = Some(Arc::new(standings));
    }

    /// Returns the hub's link that has a record of this call, if the hub was asked for it.
    pub(super) fn of_remote_call(&self, call: CallId) -> Option<Arc<Link>> {
        let has_it = |link: &Arc<Link>| link.remote().is_some_and(|remote| remote.has(call));
        self.all().into_iter().find(has_it)
    }

    /// Returns how all links stood when the hub was asked last. `None` if no hub has them.
    pub fn standings(&self) -> Option<Arc<Standings>> {
        self.hub()?;
        enter(&self.standings).clone()
    }

    /// Makes the hub's links links of this process. Their actors start when the links are served. Links that the
    /// session does not mean are left by the router.
    pub fn come_here(&self) {
        for link in self.all() {
            if link.destination != Destination::Nowhere {
                link.comes_here();
            }
        }
    }

    /// Returns how all links of this process stand, as a session of another process is told.
    pub fn stand(&self, ask: Ask) -> (Vec<Standing>, Option<(CallId, PathBuf, Lookup)>) {
        let of = |link: &Arc<Link>| Some((link.leads_to()?.to_path_buf(), Arc::clone(link)));
        let links: Vec<(PathBuf, Arc<Link>)> = self.all().iter().filter_map(of).collect();
        let standing = |(project, link): &(PathBuf, Arc<Link>)| {
            let port = Port::of(Arc::clone(link));
            let calls = ask.calls.then(|| port.all_calls());
            Standing {
                project: project.clone(),
                seen: port.seen(),
                status: port.status(),
                calls,
                compile: port.last_compile(),
                recovered: port.recovered(),
                clients: port.clients(),
            }
        };
        let looked_up = ask.call.and_then(|call| {
            let link = self.of_call(call)?;
            Some((call, link.leads_to()?.to_path_buf(), link.calls.look_up(call)))
        });
        (links.iter().map(standing).collect(), looked_up)
    }
}
