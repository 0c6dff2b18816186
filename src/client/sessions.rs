//! The sessions of this process, and the link that each is on.
//!
//! A link sends its messages to every session on it ([`Attached`]). An answer goes to the session of its request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::state::{Arrival, Client};
use crate::config::Config;
use crate::core::requests::RequestCounts;
use crate::limits::SESSIONS_MAX;
use crate::protocol::ids::{LinkId, SessionId};
use crate::runtime::messages::session::Message;
use crate::telemetry::events::Events;

/// `SESSIONS_MAX` sessions are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySessions;

/// The open sessions of this process.
#[derive(Debug, Default)]
pub struct Sessions {
    open: RwLock<BTreeMap<SessionId, Arc<Client>>>,
    last: AtomicU32,
    last_post: AtomicU32,
}

impl Sessions {
    /// Creates the sessions at the start: only the session over stdin and stdout, on the first link. Also returns its client.
    pub fn with_stdio(config: Arc<Config>, events: Events) -> (Arc<Self>, Arc<Client>) {
        let stdio = Arc::new(Client::new(SessionId::STDIO, LinkId::FIRST, config.into(), events));
        let sessions = Self { open: RwLock::new([(stdio.id, Arc::clone(&stdio))].into()), ..Self::default() };
        (Arc::new(sessions), stdio)
    }

    /// Opens a session with what it brings itself. The session is on the link `nowhere` while no editor is found for it.
    ///
    /// # Errors
    /// [`SESSIONS_MAX`] sessions are open.
    pub fn open(&self, nowhere: LinkId, arrival: Arrival, events: &Events) -> Result<Arc<Client>, TooManySessions> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if open.keys().filter(|session| !session.is_post()).count() >= SESSIONS_MAX {
            return Err(TooManySessions);
        }
        let id = SessionId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let client = Arc::new(Client::new(id, nowhere, arrival, events.of_session(id)));
        open.insert(id, Arc::clone(&client));
        Ok(client)
    }

    /// Opens the session of a message that came alone. The caller limits the number of such sessions.
    pub fn open_post(&self, nowhere: LinkId, arrival: Arrival, events: &Events) -> Arc<Client> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let numbers = SessionId::RECOVERED.0 - SessionId::FIRST_POST.0;
        let id = loop {
            let nth = self.last_post.fetch_add(1, Ordering::Relaxed) % numbers;
            let id = SessionId(SessionId::FIRST_POST.0 + nth);
            if !open.contains_key(&id) {
                break id;
            }
        };
        let client = Arc::new(Client::new(id, nowhere, arrival, events.of_session(id)));
        open.insert(id, Arc::clone(&client));
        client
    }

    /// Removes a session that has ended: later answers for it are dropped.
    pub fn close(&self, session: SessionId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    /// Returns the sum of the counts of all sessions.
    pub fn counts(&self) -> RequestCounts {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.values().fold(RequestCounts::default(), |all, client| {
            let counts = client.outbox.counts();
            RequestCounts { open: all.open + counts.open, queued: all.queued + counts.queued }
        })
    }

    /// Returns the session with this number, if it is open.
    pub fn get(&self, session: SessionId) -> Option<Arc<Client>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
    }

    /// Returns the open sessions that people know of. Not among them are the session over stdin and stdout, which a hub
    /// does not use, and sessions of messages that came alone.
    pub fn local(&self) -> Vec<Arc<Client>> {
        let mut all = self.all();
        all.retain(|client| client.id != SessionId::STDIO && !client.id.is_post());
        all
    }

    /// Returns all open sessions.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// The sessions on one link.
#[derive(Debug, Clone)]
pub struct Attached {
    link: LinkId,
    sessions: Arc<Sessions>,
}

impl Attached {
    /// Creates the view of the sessions on this link.
    pub fn to(link: LinkId, sessions: Arc<Sessions>) -> Self {
        Self { link, sessions }
    }

    /// Returns the number of the link.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Returns all sessions on the link.
    pub fn all(&self) -> Vec<Arc<Client>> {
        let mut all = self.sessions.all();
        all.retain(|client| client.link() == self.link);
        all
    }

    /// Sends a message to each session on the link.
    pub fn tell(&self, message: impl Fn() -> Message) {
        for client in self.all() {
            client.actor.cast(message());
        }
    }

    /// Returns the session with this number, whatever link it is on now: calls that it sent here still belong to it. `None` if it
    /// has ended.
    pub fn get(&self, session: SessionId) -> Option<Arc<Client>> {
        self.sessions.get(session)
    }

    /// Returns the client name that the editor is told: the name of the first session that has one; otherwise the configured
    /// name; otherwise "MCP client".
    pub fn name_for_editor(&self, configured: Option<&str>) -> String {
        let said = self.all().into_iter().map(|client| client.handshake().name).find(|name| !name.is_empty());
        said.unwrap_or_else(|| configured.unwrap_or("MCP client").to_owned())
    }

    /// Waits until the only session on the link has room for more answers. While that client does not read, its editor's answers
    /// are not read either, which harms no other session. With several sessions this does not wait: one client must not hold up
    /// the answers to the others. The large results of a client that does not read are made smaller instead
    /// ([`Client::settled`]).
    pub async fn room(&self) {
        if let [only] = self.all().as_slice() {
            only.outbox.room().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_number_of_its_own_and_as_many_are_open_as_may_be() {
        let (sessions, stdio) = Sessions::with_stdio(Arc::default(), Events::default());
        assert_eq!(stdio.id, SessionId::STDIO);
        let opened: Vec<_> =
            std::iter::from_fn(|| sessions.open(LinkId::FIRST, Arrival::default(), &Events::default()).ok()).collect();
        assert_eq!(opened.len() + 1, SESSIONS_MAX);
        let first = opened[0].id;
        sessions.close(first);
        assert!(sessions.get(first).is_none());
        let next = sessions.open(LinkId::FIRST, Arrival::default(), &Events::default()).unwrap();
        assert!(opened.iter().all(|known| known.id != next.id) && next.id != SessionId::GUESTS, "none is used again");
    }

    #[test]
    fn a_link_knows_those_that_are_on_it() {
        let (sessions, stdio) = Sessions::with_stdio(Arc::default(), Events::default());
        let other = sessions.open(LinkId(7), Arrival::default(), &Events::default()).unwrap();
        let on =
            |link| Attached::to(link, Arc::clone(&sessions)).all().iter().map(|client| client.id).collect::<Vec<_>>();
        assert_eq!((on(LinkId::FIRST), on(LinkId(7))), (vec![stdio.id], vec![other.id]));
        other.move_to(LinkId::FIRST);
        assert_eq!((on(LinkId::FIRST), on(LinkId(7))), (vec![stdio.id, other.id], vec![]));
    }
}
