//! The links of this process, by the project that each leads to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use tokio::sync::watch;

use super::hub::HubPort;
use super::parts::Link;
use super::project::Destination;
use super::standing::Standings;
use crate::client::{Client, Sessions};
use crate::core::call_records::{self, Origin};
use crate::core::editors::Known;
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
    first: Arc<Link>,
    open: RwLock<BTreeMap<LinkId, Arc<Link>>>,
    last: AtomicU32,
    /// Whether the only session is the one over stdin and stdout.
    is_for_one: AtomicBool,
    opened: watch::Sender<()>,
    /// The last union of several editors' tools. Most sessions that use several editors use the same ones.
    union: Mutex<Option<(Vec<Member>, Arc<Catalogue>)>>,
    /// Links that were closed because no session is there any more, the last one at the end; at most [`LINKS_MAX`]. The results of
    /// their calls stay known.
    closed: Mutex<Vec<Arc<Link>>>,
    /// The port to the hub, if one has the links.
    pub(super) hub: OnceLock<Arc<HubPort>>,
    /// The last answer of the hub about how its links stand.
    pub(super) standings: Mutex<Option<Arc<Standings>>>,
}

impl Links {
    /// Creates the links at the start: only the link of the session over stdin and stdout that leads to no editor.
    pub fn with_first(env: Arc<Environment>, sessions: Arc<Sessions>) -> Self {
        let first = Link::new(Arc::clone(&env), &sessions, LinkId::FIRST, Destination::Nowhere, None);
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
            closed: Mutex::default(),
            hub: OnceLock::new(),
            standings: Mutex::default(),
        }
    }

    /// Returns the sessions of this process.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Records that the only session is the one over stdin and stdout. Then log lines and metrics do not name its only
    /// link to an editor, and a link that this session has left is closed.
    pub fn serve_one(&self) {
        self.is_for_one.store(true, Ordering::Relaxed);
    }

    /// Whether the only session is the one over stdin and stdout.
    pub fn is_for_one(&self) -> bool {
        self.is_for_one.load(Ordering::Relaxed) && self.hub().is_none()
    }

    /// Returns the link of the session over stdin and stdout that leads to no editor.
    pub fn first(&self) -> &Arc<Link> {
        &self.first
    }

    /// All open links.
    pub fn all(&self) -> Vec<Arc<Link>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns the link that a session is on. If that link was closed, returns the session's link that leads to no
    /// editor.
    pub fn of(&self, client: &Client) -> Arc<Link> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let link = open.get(&client.link()).or_else(|| open.get(&client.nowhere()));
        Arc::clone(link.unwrap_or(&self.first))
    }

    /// Returns the session's link that leads to no editor. A session is on it while no editor is found for the session.
    pub fn nowhere_of(&self, client: &Client) -> Arc<Link> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(open.get(&client.nowhere()).unwrap_or(&self.first))
    }

    /// Returns the link that leads to this destination. Opens it if there is none.
    ///
    /// # Errors
    /// `LINKS_MAX` links to editors are open.
    pub fn to(&self, destination: Destination) -> Result<Arc<Link>, TooManyLinks> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = open.values().find(|link| link.destination == destination) {
            // This is done with each call, so it must not wake those who wait.
            link.left.send_if_modified(std::mem::take);
            return Ok(Arc::clone(link));
        }
        if open.values().filter(|link| link.destination != Destination::Nowhere).count() >= LINKS_MAX {
            return Err(TooManyLinks);
        }
        let link = self.add(&mut open, destination);
        drop(open);
        self.opened.send_replace(());
        Ok(link)
    }

    /// Returns the link to this project's editor. Opens it if there is none.
    ///
    /// # Errors
    /// `LINKS_MAX` links to editors are open.
    pub fn to_project(&self, project: &Path) -> Result<Arc<Link>, TooManyLinks> {
        self.to(Destination::Project(project.to_path_buf()))
    }

    /// Opens a link that leads to no editor, for a new session.
    pub fn nowhere(&self) -> Arc<Link> {
        self.add(&mut self.open.write().unwrap_or_else(PoisonError::into_inner), Destination::Nowhere)
    }

    fn add(&self, open: &mut BTreeMap<LinkId, Arc<Link>>, destination: Destination) -> Arc<Link> {
        let id = LinkId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let is_used = |link: &Arc<Link>| link.destination != Destination::Nowhere && !*link.left.borrow();
        let is_only = self.is_for_one() && !open.values().any(is_used);
        let env = if is_only { Arc::clone(&self.env) } else { self.env.of_link(id, destination.project()) };
        let hub = self.hub().filter(|_| destination != Destination::Nowhere).cloned();
        let link = Link::new(env, &self.sessions, id, destination, hub);
        open.insert(id, Arc::clone(&link));
        link
    }

    /// Removes a link. A session that is still on it must be moved; until then [`of`](Self::of) returns the session's link that
    /// leads to no editor.
    pub fn close(&self, link: LinkId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&link);
        self.opened.send_replace(());
    }

    /// Removes a link that no session uses any more, and keeps what is known of its calls. Returns false, and does nothing, if a
    /// session has come back to it.
    pub fn close_left(&self, link: &Arc<Link>) -> bool {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if !*link.left.borrow() {
            return false;
        }
        open.remove(&link.id);
        let mut closed = enter(&self.closed);
        closed.push(Arc::clone(link));
        let surplus = closed.len().saturating_sub(LINKS_MAX);
        closed.drain(..surplus);
        drop(open);
        self.opened.send_replace(());
        true
    }

    /// Returns the projects that links lead to.
    pub fn known(&self) -> Vec<Known> {
        self.all().iter().filter_map(|link| link.known()).collect()
    }

    /// Returns a receiver that is notified whenever a link is opened or closed.
    pub fn openings(&self) -> watch::Receiver<()> {
        self.opened.subscribe()
    }

    /// Returns the projects whose editors run ([`Link::running`]).
    pub fn running(&self) -> Vec<Running> {
        self.all().iter().filter_map(|link| link.running()).collect()
    }

    /// Returns the link to this project's editor, if there is one.
    pub fn find(&self, project: &Path) -> Option<Arc<Link>> {
        self.all().into_iter().find(|link| link.leads_to() == Some(project))
    }

    /// Returns the link with this number, if it is open.
    pub fn get(&self, link: LinkId) -> Option<Arc<Link>> {
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
        self.hub().is_some_and(|hub| hub.owns(request))
            || self.all().iter().any(|link| link.calls.ledger(|ledger, _| ledger.owns(request)))
    }

    /// Cancels the call of a request, on any link.
    pub fn cancel(&self, request: RequestKey) {
        if self.hub().is_some_and(|hub| hub.cancel(request)) {
            return;
        }
        for link in self.all() {
            let (found, settlements) = link.calls.ledger(|ledger, now| ledger.cancel(request, now));
            link.calls.settle(settlements);
            if found {
                return;
            }
        }
    }

    /// Returns the link that has the call of this request, as the records name it, if any.
    pub fn of_record(&self, origin: &Origin) -> Option<Arc<Link>> {
        match self.env.records.as_ref()?.known(origin)? {
            call_records::Known::Sent(sent) => self.of_call(sent.call),
            call_records::Known::Answered(_) | call_records::Known::Repeatable(_) => None,
        }
    }

    /// Returns the link that has a record of this call, if any.
    pub fn of_call(&self, call: CallId) -> Option<Arc<Link>> {
        let has_it = |link: &Arc<Link>| link.calls.ledger(|ledger, _| ledger.record(call).is_some());
        self.all().into_iter().chain(enter(&self.closed).iter().cloned()).find(has_it)
    }
}
