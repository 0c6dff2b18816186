//! The links of this process, by the project that each leads to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use super::parts::LinkParts;
use super::place::Place;
use crate::client::{Client, Sessions};
use crate::core::call_records::{self, Origin};
use crate::core::editors::{Known, Presence};
use crate::core::router::Running;
use crate::limits::LINKS_MAX;
use crate::protocol::ids::{CallId, LinkId, RequestKey};
use crate::protocol::mcp::{Catalogue, Member, union};
use crate::runtime::enter;
use crate::runtime::environment::Environment;

/// `LINKS_MAX` links are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyLinks;

/// The open links of this process.
#[derive(Debug)]
pub struct Links {
    env: Arc<Environment>,
    sessions: Arc<Sessions>,
    first: Arc<LinkParts>,
    open: RwLock<BTreeMap<LinkId, Arc<LinkParts>>>,
    last: AtomicU32,
    /// Whether the only session is the one over stdin and stdout.
    is_for_one: AtomicBool,
    opened: watch::Sender<()>,
    /// The last union of several editors' tools: most sessions that use several use the same.
    union: Mutex<Option<(Vec<Member>, Arc<Catalogue>)>>,
    /// Projects whose links were closed, the last one at the end; at most [`LINKS_MAX`]. They stay known, so that the name of an
    /// editor does not come to mean another one. With each, its editor if that ran.
    former: Mutex<Vec<(PathBuf, Option<Running>)>>,
}

impl Links {
    /// Creates the links at the start: only the first link of the session over stdin and stdout. It leads to no project if that
    /// session may use several editors.
    pub fn with_first(env: Arc<Environment>, sessions: Arc<Sessions>) -> Self {
        let place = if env.config.is_for_one_editor() { Place::Roots } else { Place::Nowhere };
        let first = LinkParts::new(Arc::clone(&env), &sessions, LinkId::FIRST, place);
        let open = RwLock::new([(first.id, Arc::clone(&first))].into());
        Self {
            env,
            sessions,
            first,
            open,
            last: AtomicU32::new(0),
            is_for_one: AtomicBool::new(false),
            opened: watch::Sender::default(),
            union: Mutex::default(),
            former: Mutex::default(),
        }
    }

    /// Returns the sessions of this process.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Records that the only session is the one over stdin and stdout. What is logged and counted of the first link to a project
    /// then names no link: there mostly is no other.
    pub fn serve_one(&self) {
        self.is_for_one.store(true, Ordering::Relaxed);
    }

    /// Returns the first link of the session over stdin and stdout.
    pub fn first(&self) -> &Arc<LinkParts> {
        &self.first
    }

    /// All open links.
    pub fn all(&self) -> Vec<Arc<LinkParts>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns the link that a session is on. If that was closed, the session's link that leads to no project.
    pub fn of(&self, client: &Client) -> Arc<LinkParts> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let link = open.get(&client.link()).or_else(|| open.get(&client.nowhere()));
        Arc::clone(link.unwrap_or(&self.first))
    }

    /// Returns the session's link that leads to no project, on which the session is while no editor is found for it.
    pub fn nowhere_of(&self, client: &Client) -> Arc<LinkParts> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(open.get(&client.nowhere()).unwrap_or(&self.first))
    }

    /// Returns the link to this project's editor. Opens it if there is none.
    ///
    /// # Errors
    /// `LINKS_MAX` links to projects are open.
    pub fn to(&self, project: &Path) -> Result<Arc<LinkParts>, TooManyLinks> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let leads = |link: &&Arc<LinkParts>| matches!(&link.place, Place::Project(to) if to == project);
        if let Some(link) = open.values().find(leads) {
            return Ok(Arc::clone(link));
        }
        if open.values().filter(|link| matches!(link.place, Place::Project(_))).count() >= LINKS_MAX {
            return Err(TooManyLinks);
        }
        let link = self.add(&mut open, Place::Project(project.to_path_buf()));
        drop(open);
        self.opened.send_replace(());
        Ok(link)
    }

    /// Opens a link that leads to no project, for a new session.
    pub fn nowhere(&self) -> Arc<LinkParts> {
        self.add(&mut self.open.write().unwrap_or_else(PoisonError::into_inner), Place::Nowhere)
    }

    fn add(&self, open: &mut BTreeMap<LinkId, Arc<LinkParts>>, place: Place) -> Arc<LinkParts> {
        let id = LinkId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let is_only = self.is_for_one.load(Ordering::Relaxed) && !open.values().any(|link| link.leads_to().is_some());
        let env = if is_only { Arc::clone(&self.env) } else { self.env.of_link(id, place.project()) };
        let link = LinkParts::new(env, &self.sessions, id, place);
        open.insert(id, Arc::clone(&link));
        link
    }

    /// Removes a link. A session that is still on it must be moved; until then [`of`](Self::of) returns the session's link that
    /// leads to no project.
    pub fn close(&self, link: LinkId) {
        let closed = self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&link);
        if let Some(project) = closed.as_ref().and_then(|link| link.leads_to()) {
            let running = closed.as_ref().and_then(|link| link.ran_until_now());
            let mut former = enter(&self.former);
            former.retain(|(known, _)| known != project);
            former.push((project.to_path_buf(), running));
            let surplus = former.len().saturating_sub(LINKS_MAX);
            former.drain(..surplus);
        }
    }

    /// Returns the projects that this process knows: those that links lead to, and those whose links were closed.
    pub fn known(&self) -> Vec<Known> {
        let mut known: Vec<Known> = self.all().iter().filter_map(|link| link.known()).collect();
        for (project, _) in enter(&self.former).iter() {
            if !known.iter().any(|known| known.project == *project) {
                known.push(Known { project: project.clone(), editor: Presence::Unknown });
            }
        }
        known
    }

    /// Returns a receiver that is notified whenever a link to a project is opened.
    pub fn openings(&self) -> watch::Receiver<()> {
        self.opened.subscribe()
    }

    /// Returns the projects whose editors ran when their links were closed, and that no link leads to now.
    pub fn lost(&self) -> Vec<PathBuf> {
        let former: Vec<PathBuf> =
            enter(&self.former).iter().filter(|(_, ran)| ran.is_some()).map(|(project, _)| project.clone()).collect();
        former.into_iter().filter(|project| self.find(project).is_none()).collect()
    }

    /// Returns the projects whose editors run ([`LinkParts::running`]). An editor whose link was closed, because that failed too
    /// often, counts until a new link has found out about it: the failure is ours, and must not leave another editor as the only
    /// one.
    pub fn running(&self) -> Vec<Running> {
        let mut running: Vec<Running> = self.all().iter().filter_map(|link| link.running()).collect();
        let former: Vec<_> = enter(&self.former).clone();
        for (project, ran) in former {
            let is_settled = self.find(&project).is_some_and(|link| link.running().is_some() || !link.is_open());
            running.extend(ran.filter(|_| !is_settled));
        }
        running
    }

    /// Returns the link to this project's editor, if there is one.
    pub fn find(&self, project: &Path) -> Option<Arc<LinkParts>> {
        self.all().into_iter().find(|link| link.leads_to() == Some(project))
    }

    /// Returns the link with this number, if it is open.
    pub fn get(&self, link: LinkId) -> Option<Arc<LinkParts>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(&link).cloned()
    }

    /// Returns the union of these editors' tools. The last one is kept, and shared by all sessions that ask for the same.
    pub fn union_of(&self, members: &[Member]) -> Arc<Catalogue> {
        let same = |(a, b): (&Member, &Member)| a.name == b.name && Arc::ptr_eq(&a.catalogue, &b.catalogue);
        let mut last = enter(&self.union);
        if let Some((known, union)) = &*last
            && known.len() == members.len()
            && known.iter().zip(members).all(same)
        {
            return Arc::clone(union);
        }
        let union = Arc::new(union(members));
        *last = Some((members.to_vec(), Arc::clone(&union)));
        union
    }

    // ---- a request or call on any link ----

    /// Whether a request became a call, on any link.
    pub fn own(&self, request: RequestKey) -> bool {
        self.all().iter().any(|link| link.calls.ledger(|ledger, _| ledger.owns(request)))
    }

    /// Cancels the call of a request, on any link.
    pub fn cancel(&self, request: RequestKey) {
        for link in self.all() {
            let (found, settlements) = link.calls.ledger(|ledger, now| ledger.cancel(request, now));
            link.calls.settle(settlements);
            if found {
                return;
            }
        }
    }

    /// Returns the link that has the call which the records name for this request, if any.
    pub fn of_record(&self, origin: &Origin) -> Option<Arc<LinkParts>> {
        match self.env.records.as_ref()?.known(origin)? {
            call_records::Known::Sent(sent) => self.of_call(sent.call),
            call_records::Known::Answered(_) | call_records::Known::Repeatable(_) => None,
        }
    }

    /// Returns the link that has a record of this call, if any.
    pub fn of_call(&self, call: CallId) -> Option<Arc<LinkParts>> {
        self.all().into_iter().find(|link| link.calls.ledger(|ledger, _| ledger.record(call).is_some()))
    }
}
