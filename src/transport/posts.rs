//! Serves messages that clients send alone, as over HTTP. Each has a session of its own ([`crate::client::Posting`]),
//! without a supervision tree: if its actor fails, its one request is answered with an error.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::DuplexStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::timeout;

use super::ending::{Stop, conclude};
use super::stdin_reader;
use crate::actors::gateway::{Spawn, lone_session};
use crate::actors::parts::Parts;
use crate::client::{Arrival, Client, Conversation, Departure, Lines, Posting};
use crate::config::Config;
use crate::core::ShutdownReason;
use crate::core::call_records::Origin;
use crate::core::user_text;
use crate::fsm::cause::Cause;
use crate::limits::{FLUSH_READING_MAX, SHARED_WRITE_BYTES};
use crate::link::Link;
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::mcp::{self, ClientInfo, ToolResult};

/// The limit of messages that are served at once is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPosts;

/// Serves messages that come alone; see the module's documentation.
pub struct Posts<S> {
    parts: Arc<Parts>,
    spawn: S,
    places: Arc<Semaphore>,
    stop: watch::Receiver<Option<Stop>>,
    /// The configuration of the hub for all its clients.
    config: Arc<Config>,
    /// While no editor is found, a message is on one of these links: the first is for messages that may use all
    /// editors, the second for messages for one project. All messages share them, because what they show depends on the
    /// editors alone.
    nowhere: [Arc<Link>; 2],
}

impl<S> Drop for Posts<S> {
    fn drop(&mut self) {
        for link in &self.nowhere {
            self.parts.links.close(link.id);
        }
    }
}

impl<S: Spawn> Posts<S> {
    pub(super) fn start(
        parts: Arc<Parts>,
        spawn: S,
        places: Arc<Semaphore>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Self {
        let config = Arc::new(parts.env.config.of_session(Config::default().session_rules()));
        let nowhere = [parts.links.nowhere(), parts.links.nowhere()];
        Self { parts, spawn, places, stop, config, nowhere }
    }

    /// Whether no message is served any more, because the hub ends.
    pub fn is_ending(&self) -> bool {
        self.stop.borrow().is_some() || self.parts.env.is_draining()
    }

    /// Returns the link for messages that may use all editors and have chosen none.
    pub fn nowhere(&self) -> &Arc<Link> {
        &self.nowhere[0]
    }

    /// Serves a message.
    ///
    /// # Errors
    /// As many messages are served as may be.
    pub fn serve(&self, posting: Posting) -> Result<Conversation, TooManyPosts> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| TooManyPosts)?;
        let nowhere = &self.nowhere[usize::from(posting.project.is_some())];
        let arrival = Arrival {
            config: Arc::clone(&self.config),
            name: self.parts.env.records.is_some().then(|| self.parts.env.fresh().into()),
            project: posting.project.clone(),
            ..Arrival::default()
        };
        let client = self.parts.sessions.open_post(nowhere.id, arrival, &self.parts.env.events);
        if let Some(version) = posting.opened {
            client.opened_by(ClientInfo::default(), client.config.profile_of(version, ""), false);
        }
        let (written, output) = tokio::io::duplex(SHARED_WRITE_BYTES);
        let (conversation, departure) = Conversation::over(output);
        let post = Post { parts: Arc::clone(&self.parts), client, posting, departure, stop: self.stop.clone() };
        self.parts.env.health.spawn("post", post.serve(self.spawn.clone(), written, place));
        Ok(conversation)
    }
}

/// One message that is served.
struct Post {
    parts: Arc<Parts>,
    client: Arc<Client>,
    posting: Posting,
    departure: oneshot::Receiver<Departure>,
    stop: watch::Receiver<Option<Stop>>,
}

impl Post {
    async fn serve<S: Spawn>(mut self, spawn: S, output: DuplexStream, _place: OwnedSemaphorePermit) {
        let actor = lone_session(self.parts.seat(&self.client), &spawn);
        actor.start(None).await;
        let with = stdin_reader::Surroundings {
            env: self.parts.env_of(self.client.id),
            client: Arc::clone(&self.client),
            links: Arc::clone(&self.parts.links),
        };
        // The line is not kept while the message is served: the ledger has what a call needs, within its own bounds.
        let (client, line) = (Arc::clone(&self.client), std::mem::take(&mut self.posting.line));
        let reading = async {
            stdin_reader::one(with, line).await;
            // Everything was read, and nothing more happens here.
            std::future::pending::<()>().await;
        };
        let writing = async {
            client.outbox.pump_out(output).await;
            std::future::pending::<()>().await;
        };
        let failing = async {
            actor.first_ended().await;
            // The end of the actor answers the requests that it had.
            actor.stop().await;
            std::future::pending::<()>().await;
        };
        let mut is_delivered = false;
        tokio::select! {
            biased;
            delivered = self.last() => is_delivered = delivered,
            () = reading => {}
            () = writing => {}
            () = failing => {}
        }
        actor.stop().await;
        if let (Some(records), Some(session)) = (&self.parts.env.records, self.client.name()) {
            for (request, call) in self.client.noted_calls() {
                if is_delivered {
                    records.delivered(Origin { session: Arc::clone(&session), number: request.number });
                } else {
                    // Nobody brings the call's request again, but its client may ask for the call by its id.
                    records.told(call);
                }
            }
        }
        self.parts.sessions.close(self.client.id);
    }

    /// Waits until the message needs nothing more. Returns whether its answer was written to its client's connection.
    async fn last(&mut self) -> bool {
        let left = tokio::select! {
            biased;
            left = &mut self.departure => left,
            () = stopped(&mut self.stop) => {
                self.conclude().await;
                // The client has some time to read its last answers.
                let Ok(left) = timeout(FLUSH_READING_MAX, &mut self.departure).await else { return false };
                left
            }
        };
        let Ok(Departure::Gone(lines)) = left else { return left.is_ok() };
        match &self.posting.cancels {
            Some(request) => self.cancel(request),
            None => self.answered(lines).await,
        }
        false
    }

    fn cancel(&self, request: &RequestId) {
        if let Some(key) = self.client.outbox.cancel(request) {
            self.parts.links.cancel(key);
        }
    }

    /// Waits for the answer for which the client waits no longer.
    async fn answered(&mut self, mut lines: Lines) {
        tokio::select! {
            biased;
            () = lines.answered() => {}
            () = stopped(&mut self.stop) => self.conclude().await,
        }
    }

    /// Answers the open requests, because the hub ends. No other gateway has these requests, so each is answered here.
    async fn conclude(&self) {
        let how = *self.stop.borrow();
        if let Some(Stop::Leave(patience)) = how {
            self.client.outbox.end_subscriptions();
            let refuse_held = || {
                for link in self.parts.links.all() {
                    link.calls.decide(|ledger, now| ledger.refuse_held_of(self.client.id, Cause::ShuttingDown, now));
                }
            };
            refuse_held();
            let _ = timeout(patience.max(Duration::from_millis(1)), self.client.outbox.calls_answered()).await;
            // A call that came meanwhile and is still held was not sent.
            refuse_held();
            let profile = self.client.handshake().profile_by_handshake();
            for (request, call) in self.client.noted_calls() {
                let link = self.parts.links.of_call(call);
                let tool = link.and_then(|link| {
                    link.calls.ledger(|ledger, _| ledger.record(call).map(|record| Arc::clone(&record.tool)))
                });
                let lost = user_text::hub_ends_under(tool.as_deref().unwrap_or("the tool"), call);
                // This does nothing if the call has its answer.
                self.client.outbox.answer(request, &mcp::tool_result(&ToolResult::error(lost), &profile));
            }
            // These read resources whose text comes from a call of a tool. That call may have been sent.
            for request in self.client.outbox.requests_with_call() {
                self.client.outbox.answer_error(request, &RpcError::internal(user_text::HUB_LEFT));
            }
        }
        conclude(&self.parts, &self.client, ShutdownReason::Signal).await;
    }
}

async fn stopped(stop: &mut watch::Receiver<Option<Stop>>) {
    let _ = stop.wait_for(Option::is_some).await;
}
