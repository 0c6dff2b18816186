//! Serves several clients at once, with one link for each project that at least one client works in. The caller accepts the
//! clients and gives the pipes of each to [`Several::attach`].
//!
//! Each session and each link has its own supervision tree ([`Tree`]): a tree that fails too often ends alone. When a session
//! ends, the calls that it sent go on, and their results are kept.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ending::{self, Stop};
use super::links;
use super::posts::Posts;
use super::run::Pumps;
use crate::actors::gateway::{Spawn, Tree};
use crate::actors::parts::Parts;
use crate::client::{Arrival, Client, TooManySessions};
use crate::core::ShutdownReason;
use crate::core::calls::Keep;
use crate::limits::http::POSTS_MAX;
use crate::limits::hub::HUB_SESSION_STILL_MAX;
use crate::limits::{FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::ids::LinkId;
use crate::runtime::enter;

/// A gateway for several clients; see the module's documentation.
pub struct Several<S> {
    parts: Arc<Parts>,
    spawn: S,
    /// Ends all sessions.
    stop: watch::Sender<Option<Stop>>,
    /// Ends all links, after the sessions.
    last: watch::Sender<bool>,
    links: Mutex<Option<JoinHandle<()>>>,
    /// The permits for sessions of single messages.
    posts: Arc<Semaphore>,
    sessions: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
pub struct OpenSession {
    pub client: Arc<Client>,
    /// `None` until the session has ended; then why it ended.
    pub ended: watch::Receiver<Option<ShutdownReason>>,
}

impl<S: Spawn> Several<S> {
    /// Starts a gateway that waits for clients.
    pub fn start(parts: Arc<Parts>, spawn: S) -> Self {
        let (stop, last) = (watch::Sender::new(None), watch::Sender::new(false));
        let links = links::serve(Arc::clone(&parts), spawn.clone(), last.subscribe());
        let links = parts.env.health.spawn("links", links);
        let posts = Arc::new(Semaphore::new(POSTS_MAX));
        Self { parts, spawn, stop, last, links: Mutex::new(Some(links)), posts, sessions: Mutex::default() }
    }

    /// The runtime on which actors run.
    pub fn runtime(&self) -> Handle {
        self.spawn.runtime()
    }

    /// Lets clients send single messages, as over HTTP.
    pub fn take_posts(&self) -> Posts<S> {
        let stop = self.stop.subscribe();
        Posts::start(Arc::clone(&self.parts), self.spawn.clone(), Arc::clone(&self.posts), stop)
    }

    /// Starts a session for a client over these pipes; it lasts until a pipe ends. `arrival`: what the session comes
    /// with.
    ///
    /// # Errors
    /// `SESSIONS_MAX` sessions are open.
    pub fn attach(
        &self,
        arrival: impl Into<Arrival>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<OpenSession, TooManySessions> {
        let arrival = arrival.into();
        // The session of another process has its own link in that process, for the time while no editor is found.
        let own = (!arrival.speaks_port).then(|| self.parts.links.nowhere().id);
        let opened = self.parts.sessions.open(own.unwrap_or(LinkId::FIRST), arrival, &self.parts.env.events);
        let client = opened.inspect_err(|_| own.into_iter().for_each(|own| self.parts.links.close(own)))?;
        let pumps = match client.speaks_port {
            true => Pumps::beside_actors(&self.parts, &client, &self.runtime(), input, output),
            false => Pumps::of(&self.parts, &client, input, output),
        };
        let (ends, ended) = watch::channel(None);
        let (parts, spawn, stop) = (Arc::clone(&self.parts), self.spawn.clone(), self.stop.subscribe());
        let served = Arc::clone(&client);
        let session = self.parts.env.health.spawn("client_session", async move {
            let why = serve(&parts, &served, spawn, pumps, stop).await;
            keep_undelivered(&parts, &served);
            parts.sessions.close(served.id);
            own.into_iter().for_each(|own| parts.links.close(own));
            ends.send_replace(Some(why));
        });
        let mut sessions = enter(&self.sessions);
        sessions.retain(|session| !session.is_finished());
        sessions.push(session);
        drop(sessions);
        Ok(OpenSession { client, ended })
    }

    /// Waits until a task outside of the supervision trees has panicked, which is our bug.
    pub async fn failed(&self) {
        self.parts.env.health.task_failed().await;
    }

    /// Ends all sessions, then all links.
    pub async fn end(&self) {
        for link in self.parts.links.all() {
            link.calls.begin_draining();
        }
        self.stop(Stop::End).await;
    }

    /// Ends all sessions without answers to requests that were not sent to an editor, then ends all links. Sent calls
    /// have `patience` to be answered. This is for clients that bring their open requests to another gateway.
    pub async fn leave(&self, patience: Duration) {
        self.stop(Stop::Leave(patience)).await;
    }

    async fn stop(&self, stop: Stop) {
        self.stop.send_replace(Some(stop));
        let sessions = std::mem::take(&mut *enter(&self.sessions));
        for session in sessions {
            let _ = session.await;
        }
        let all = u32::try_from(POSTS_MAX).unwrap_or(u32::MAX);
        let _ = self.posts.acquire_many(all).await;
        if let (Stop::Leave(_), Some(records)) = (stop, &self.parts.env.records) {
            // The links end under calls that still run. The verdicts that they give then are no answers.
            records.freeze();
        }
        self.last.send_replace(true);
        let links = enter(&self.links).take();
        if let Some(links) = links {
            let _ = links.await;
        }
    }
}

/// Serves one session until its end. Returns why it ended.
async fn serve<S: Spawn>(
    parts: &Arc<Parts>,
    client: &Arc<Client>,
    spawn: S,
    pumps: Pumps,
    mut end: watch::Receiver<Option<Stop>>,
) -> ShutdownReason {
    let (stop, stopping) = watch::channel(false);
    let tree = Tree::of_session(parts.seat(client), spawn);
    let exhausted = Arc::new(tokio::sync::Notify::new());
    let mut tree = parts.env.health.spawn("session_tree", {
        let exhausted = Arc::clone(&exhausted);
        async move {
            tree.run(stopping).await;
            exhausted.notify_one();
        }
    });
    let (mut input, mut output) = pumps.into_tasks();
    let why = tokio::select! {
        biased;
        _ = end.wait_for(Option::is_some) => ShutdownReason::Signal,
        _ = &mut input => ShutdownReason::InputEnded,
        () = client.input_ended.notified() => ShutdownReason::InputEnded,
        _ = &mut output => ShutdownReason::ClientGone,
        () = exhausted.notified() => ShutdownReason::Exhausted,
        // The session's answers stay as records, and it comes again if it lives.
        () = client.outbox.stands_still(HUB_SESSION_STILL_MAX), if client.speaks_port => ShutdownReason::ClientGone,
    };
    let how = *end.borrow();
    let mut why = why;
    if let (Some(Stop::Leave(patience)), ShutdownReason::Signal) = (how, why) {
        // The session is heard meanwhile: it asks whether this hub lives, and cancels calls. It also makes new calls,
        // and gets them back.
        let left = tokio::select! {
            biased;
            () = leave(parts, client, patience) => true,
            _ = &mut input => false,
            () = client.input_ended.notified() => false,
        };
        if left {
            let _ = stop.send(true);
            let _ = tree.await;
            output.abort();
            input.abort();
            return why;
        }
        // The session takes nothing to another gateway any more.
        why = ShutdownReason::InputEnded;
    }
    ending::conclude(parts, client, why).await;
    let _ = stop.send(true);
    if !tree.is_finished() {
        let _ = (&mut tree).await;
    }
    // This is for the calls that were read in the meantime.
    ending::settle(parts, client);
    ending::answer_all(client, why).await;
    if !client.outbox.is_flushed() {
        parts.env_of(client.id).events.stdout_not_read(client.outbox.counts().queued);
    }
    // A session whose client's input has ended hangs up as soon as it has passed the answers on.
    if why == ShutdownReason::InputEnded && !input.is_finished() {
        let _ = timeout(FLUSH_MAX, &mut input).await;
    }
    for task in [input, output] {
        task.abort();
    }
    why
}

/// Keeps the answers of a session that has ended, if the session did not say that it has them: its process may have
/// been killed with them.
fn keep_undelivered(parts: &Parts, client: &Client) {
    let (Some(records), Some(session)) = (&parts.env.records, client.name()) else { return };
    for left in records.left().iter().filter(|left| left.sent.origin.session == session) {
        let link = parts.links.of_call(left.sent.call);
        if let (Some(link), Some(result)) = (link, left.result.as_deref()) {
            link.calls.answers.keep(left.sent.call, result.get(), Keep::Owed);
        }
    }
}

/// Ends a session whose client brings its open requests to another gateway: takes back what was not sent, and waits for
/// the answers to what was sent.
async fn leave(parts: &Parts, client: &Client, patience: Duration) {
    client.begin_leaving();
    // Messages that were read before must first be in a ledger, or wait in the session actor.
    let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
    for link in parts.links.all() {
        for request in link.calls.ledger(|ledger, _| ledger.release_held_of(client.id)) {
            client.give_back(request);
        }
    }
    let _ = timeout(patience, client.outbox.calls_answered()).await;
    client.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}
