//! The stdin reader: the task that reads a client's pipe and passes the messages to the client's session. The task is outside of
//! the supervision tree, so it outlives every actor.
//!
//! It answers at once what needs no session: pings, broken lines, duplicate ids, and requests beyond the limits. It carries out
//! cancels ahead of waiting messages, and passes everything else to the session actor in order. While no session actor runs,
//! messages wait here for a limited time. Reading stops while stdout is blocked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ractor::{ActorRef, MessagingErr};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::Client;
use crate::core::call_records::Origin;
use crate::core::port::messages;
use crate::core::requests::{BatchKey, Hold, Holder, NotOpened};
use crate::core::user_text;
use crate::limits::hub::HUB_CALL_REST_MAX_BYTES;
use crate::limits::{
    CLIENT_LINE_MAX_BYTES, FIRST_SESSION_MAX, MAILBOX_BYTES_MAX, OPEN_REQUESTS_MAX, SESSION_ABSENCE_MAX,
};
use crate::link::Links;
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::hub;
use crate::protocol::jsonrpc::{self, Fault, Invalid, Message, RequestId, RpcError};
use crate::protocol::mcp::stateless::{self, Requester};
use crate::protocol::mcp::{self, Method, Notification, ProtocolVersion, Request, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::session::{self, Delivered};
use crate::runtime::slot::Permit;
use crate::telemetry::events::{DUPLICATE_ID, TOO_MANY_REQUESTS};

#[derive(Debug, Clone)]
pub struct Surroundings {
    pub env: Arc<Environment>,
    pub client: Arc<Client>,
    /// The links, for calls that the client cancels.
    pub links: Arc<Links>,
}

impl Surroundings {
    /// Deletes the record of an answer that the client has.
    fn delivered(&self, params: Option<&RawValue>) {
        let delivered = params.and_then(|params| serde_json::from_str::<hub::Delivered>(params.get()).ok());
        if let (Some(records), Some(delivered), Some(session)) = (&self.env.records, delivered, self.client.name()) {
            records.delivered(Origin { session, number: delivered.request });
        }
    }
}

/// Reads the client's lines until stdin ends, or until the client sends `shutdown`. That method is not in MCP, but in the
/// documentation of Unity-MCP's server, and a client written for that server waits for the answer.
pub async fn run(with: Surroundings, mut input: impl AsyncRead + Unpin) {
    let backlog = Arc::new(Backlog::of(with.clone()));
    // This is a task of its own, because reading may block this thread.
    let delivering = with.env.health.spawn("delivery", Arc::clone(&backlog).deliver_all());
    let mut intake = Intake { with, backlog, batches: false };
    let rest = if intake.with.client.speaks_port { HUB_CALL_REST_MAX_BYTES } else { 0 };
    let mut decoder = LineDecoder::new(CLIENT_LINE_MAX_BYTES + rest);
    let mut buffer = vec![0; 64 * 1024];
    let mut ended = Then::GoOn;
    while ended == Then::GoOn
        && let Ok(count @ 1..) = input.read(&mut buffer).await
    {
        decoder.push(buffer.get(..count).unwrap_or_default());
        // Lines read after `shutdown` must still be answered.
        while ended != Then::Acknowledge
            && let Some(line) = decoder.next_line()
        {
            ended = ended.max(intake.line(line).await);
        }
    }
    while ended != Then::Acknowledge
        && let Some(line) = decoder.finish()
    {
        intake.line(line).await;
    }
    delivering.abort();
    intake.backlog.deliver().await;
    let with = intake.with;
    if ended == Then::Acknowledge {
        with.client.input_ended.notify_one();
        acknowledgements(&with, decoder, input, buffer).await;
    }
}

/// After the end of its client's input a session still says which answers its client has. This reads those messages.
async fn acknowledgements(
    with: &Surroundings,
    mut decoder: LineDecoder,
    mut input: impl AsyncRead + Unpin,
    mut buffer: Vec<u8>,
) {
    loop {
        while let Some(line) = decoder.next_line() {
            if let Line::Whole(line) = line
                && let Ok(Message::Notification { method, params }) = jsonrpc::parse(&line)
                && method == hub::DELIVERED
            {
                with.delivered(params.as_deref());
            }
        }
        match input.read(&mut buffer).await {
            Ok(count @ 1..) => decoder.push(buffer.get(..count).unwrap_or_default()),
            Ok(0) | Err(_) => return,
        }
    }
}

/// Reads the only message, or the only batch, of a session. Its session actor runs.
pub async fn one(with: Surroundings, line: Bytes) {
    let batches = with.client.handshake().profile.version.batches();
    let backlog = Arc::new(Backlog::of(with.clone()));
    let mut intake = Intake { with, backlog, batches };
    intake.line(Line::Whole(line)).await;
    // If the session actor has ended, no successor follows.
    for delivery in enter(&intake.backlog.waiting).drain(..) {
        refuse(&intake.with, &delivery);
    }
}

/// A message for the session.
struct Delivery {
    message: Delivered,
    bytes: usize,
    /// When the message was read.
    since: Instant,
}

/// The messages that wait for a session actor.
struct Backlog {
    with: Surroundings,
    waiting: Mutex<VecDeque<Delivery>>,
    grown: Notify,
    /// Whether a session actor has ever run.
    was_met: AtomicBool,
}

impl Backlog {
    fn of(with: Surroundings) -> Self {
        Self { with, waiting: Mutex::default(), grown: Notify::new(), was_met: AtomicBool::new(false) }
    }

    /// Passes a message to the session actor at once if one runs and no message waits; otherwise lets it wait. Refuses
    /// the message if too much waits.
    fn take_in(&self, mut delivery: Delivery, permit: Option<Permit>) {
        let mut waiting = enter(&self.waiting);
        if waiting.is_empty()
            && let Some(session) = self.with.client.actor.get()
        {
            match self.hand(&session, delivery, permit) {
                None => return,
                Some(back) => delivery = back,
            }
        }
        let bytes: usize = waiting.iter().map(|waiting| waiting.bytes).sum();
        if waiting.len() < OPEN_REQUESTS_MAX && bytes + delivery.bytes <= MAILBOX_BYTES_MAX {
            waiting.push_back(delivery);
            self.grown.notify_one();
        } else {
            refuse(&self.with, &delivery);
        }
    }

    /// Delivers the waiting messages whenever there are any. Never returns.
    async fn deliver_all(self: Arc<Self>) {
        loop {
            self.grown.notified().await;
            self.deliver().await;
        }
    }

    /// Passes the waiting messages to a session actor, in order, as soon as one runs. Refuses a message that has waited
    /// too long. If this future is dropped, no message is lost.
    async fn deliver(&self) {
        let (client, mut ended) = (&self.with.client, None);
        loop {
            let first = enter(&self.waiting).front().map(|first| (first.since, first.bytes));
            let Some((since, bytes)) = first else { return };
            // Before the first session actor has started, nothing has failed yet: wait longer.
            let was_met = self.was_met.load(Ordering::Relaxed);
            let absence = if was_met { SESSION_ABSENCE_MAX } else { FIRST_SESSION_MAX };
            let session = client.actor.up(since + absence, ended).await;
            let permit = if session.is_some() { client.mailbox.permit(bytes).await } else { None };
            let mut waiting = enter(&self.waiting);
            let Some(first) = waiting.pop_front() else { return };
            match session {
                None => refuse(&self.with, &first),
                Some(session) => {
                    if let Some(back) = self.hand(&session, first, permit) {
                        waiting.push_front(back);
                        ended = Some(session.get_id());
                    }
                }
            }
        }
    }

    /// Passes a message to a session actor. Returns the message if that actor has ended.
    fn hand(
        &self,
        session: &ActorRef<session::Message>,
        delivery: Delivery,
        permit: Option<Permit>,
    ) -> Option<Delivery> {
        let Delivery { message, bytes, since } = delivery;
        let request = message.request().cloned();
        self.was_met.store(true, Ordering::Relaxed);
        // The request is marked first: from here on the supervisor answers it if the session actor ends.
        if let Some(request) = &request {
            request.pass(Holder::Session);
        }
        match session.cast(session::Message::Delivered(message, permit)) {
            Ok(()) => return None,
            Err(MessagingErr::SendErr(session::Message::Delivered(message, _))) => {
                if let Some(request) = &request {
                    request.pass(Holder::Intake);
                }
                return Some(Delivery { message, bytes, since });
            }
            // With any other error, ractor does not return the message, and its request still needs an answer.
            Err(_) => {}
        }
        if let Some(request) = request {
            self.with.client.refuse(request.key(), &RpcError::internal(user_text::INTERNAL));
        }
        None
    }
}

/// What to do after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Then {
    GoOn,
    /// The client asked the gateway to end.
    End,
    /// The session's client sends nothing more, but the session still says which answers its client has.
    Acknowledge,
}

struct Intake {
    with: Surroundings,
    backlog: Arc<Backlog>,
    /// Whether the last `initialize` that was read negotiates a version with batches. The session may not have answered it yet: a
    /// client may write both at once.
    batches: bool,
}

impl Intake {
    async fn line(&mut self, line: Line) -> Then {
        let outbox = &self.with.client.outbox;
        self.with.client.heard.fetch_add(1, Ordering::Relaxed);
        outbox.room().await;
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong { id, request, .. } => {
                self.with.env.events.bad_line(Fault::TooLong.into());
                if request {
                    outbox.reject(id.as_ref(), &Invalid { id: None, fault: Fault::TooLong }.to_error());
                }
                return Then::GoOn;
            }
        };
        match jsonrpc::parse(&bytes) {
            Err(Invalid { fault: Fault::Batch, .. }) if self.batches => self.batch(&bytes).await,
            Err(invalid) => {
                self.invalid(&invalid, None);
                Then::GoOn
            }
            Ok(message) => self.message(message, bytes.len(), None).await,
        }
    }

    fn invalid(&self, invalid: &Invalid, batch: Option<BatchKey>) {
        self.with.env.events.bad_line(invalid.fault.into());
        if invalid.owes_answer() {
            self.reject(batch, invalid.id.as_ref(), &invalid.to_error());
        }
    }

    fn reject(&self, batch: Option<BatchKey>, id: Option<&RequestId>, error: &RpcError) {
        match batch {
            Some(batch) => self.with.client.outbox.reject_member(batch, id, error),
            None => self.with.client.outbox.reject(id, error),
        }
    }

    /// Handles the members of a batch like single messages, except that `initialize` is refused. Their answers are sent together.
    async fn batch(&mut self, line: &[u8]) -> Then {
        let members = match jsonrpc::members(line) {
            Ok(members) => members,
            Err(fault) => {
                self.invalid(&Invalid { id: None, fault }, None);
                return Then::GoOn;
            }
        };
        let client = Arc::clone(&self.with.client);
        let outbox = &client.outbox;
        let batch = outbox.begin_batch();
        let mut then = Then::GoOn;
        for (nth, member) in members.into_iter().enumerate() {
            // A line may have very many members: let other tasks run from time to time, and wait here too while stdout is
            // blocked.
            if nth % OPEN_REQUESTS_MAX == OPEN_REQUESTS_MAX - 1 {
                tokio::task::yield_now().await;
                outbox.room().await;
            }
            match jsonrpc::parse(member.as_bytes()) {
                Err(Invalid { id, fault: Fault::Batch }) => {
                    self.invalid(&Invalid { id, fault: Fault::NotAnObject }, Some(batch));
                }
                Err(invalid) => self.invalid(&invalid, Some(batch)),
                Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                    let error = RpcError::invalid_request("`initialize` must not be part of a batch; send it alone");
                    outbox.reject_member(batch, Some(&id), &error);
                }
                Ok(message) => {
                    if self.message(message, member.len(), Some(batch)).await == Then::End {
                        then = Then::End;
                    }
                }
            }
        }
        outbox.end_batch(batch);
        then
    }

    async fn message(&mut self, message: Message, bytes: usize, batch: Option<BatchKey>) -> Then {
        let message = match message {
            Message::Request { id, method, params } => {
                let requester = self.requester(&method, params.as_deref());
                let stateless = matches!(requester, Ok(Some(_)));
                let Some(hold) = self.open(&id, &method, requester.as_ref().ok().and_then(Clone::clone), batch) else {
                    return Then::GoOn;
                };
                let requester = match requester {
                    Ok(requester) => requester,
                    Err(error) => {
                        self.with.client.outbox.answer_error(hold.key(), &error);
                        return Then::GoOn;
                    }
                };
                if !stateless
                    && method == "initialize"
                    && let Ok(Request::Initialize(asked)) = mcp::parse_request(&method, params.as_deref())
                {
                    let version = ProtocolVersion::negotiate(&asked.requested);
                    self.batches = version.batches();
                }
                // The stateless era does not have these two methods.
                if !stateless && matches!(method.as_str(), "ping" | "shutdown") {
                    self.with.client.outbox.answer(hold.key(), "{}");
                    return if method == "ping" { Then::GoOn } else { Then::End };
                }
                Delivered::Request { hold, id, requester, method, params }
            }
            Message::Notification { method, params } => {
                if let Notification::Cancelled { id, .. } = mcp::parse_notification(&method, params.as_deref()) {
                    self.cancel(&id);
                    return Then::GoOn;
                }
                if method == hub::DELIVERED && self.with.client.is_of_another_process() {
                    self.with.delivered(params.as_deref());
                    return Then::GoOn;
                }
                if method == hub::INPUT_ENDED && self.with.client.is_of_another_process() {
                    return Then::Acknowledge;
                }
                if method == hub::RETIRE && self.with.client.is_of_another_process() {
                    self.with.env.retire();
                    return Then::GoOn;
                }
                Delivered::Notification { method, params }
            }
            Message::Response { id, outcome } => Delivered::Response { id, result: outcome.ok() },
        };
        let since = Instant::now();
        let permit = self.with.client.mailbox.permit(bytes).await;
        self.backlog.take_in(Delivery { message, bytes, since }, permit);
        Then::GoOn
    }

    /// Returns the requester of a request of the stateless era; `None` for a request of a version with a handshake.
    fn requester(&self, method: &str, params: Option<&RawValue>) -> Result<Option<Arc<Requester>>, RpcError> {
        let said = stateless::client_of(method, params)?;
        Ok(said.map(|(version, client)| {
            let profile = self.with.client.config.profile_of(version, &client.name);
            Arc::new(Requester { client, profile })
        }))
    }

    fn open(
        &self,
        id: &RequestId,
        method: &str,
        requester: Option<Arc<Requester>>,
        batch: Option<BatchKey>,
    ) -> Option<Hold> {
        let outbox = &self.with.client.outbox;
        let profile = requester.as_ref().map(|requester| requester.profile);
        // A call over the port counts as what its client asked for.
        let counted = if method == messages::CALL { "tools/call" } else { method };
        match outbox.open(id, Method::from_name(counted), requester) {
            Ok(hold) => {
                if let Some(batch) = batch {
                    outbox.join_batch(hold.key(), batch);
                }
                Some(hold)
            }
            Err(NotOpened::Duplicate) => {
                self.with.env.events.bad_line(DUPLICATE_ID);
                let error = RpcError::invalid_request(
                    "a request with this id is still open; it keeps its answer, and this one was not handled. Use a new id.",
                );
                self.reject(batch, Some(id), &error);
                None
            }
            Err(NotOpened::Full) => {
                self.with.env.events.bad_line(TOO_MANY_REQUESTS);
                let text = user_text::overload();
                if method == "tools/call" && batch.is_none() {
                    let result = mcp::tool_result(
                        &ToolResult::error(text),
                        &profile.unwrap_or_else(|| self.with.client.handshake().profile_by_handshake()),
                    );
                    outbox.reject_with_result(id, &result, profile.is_some());
                } else {
                    self.reject(batch, Some(id), &RpcError::internal(text));
                }
                None
            }
        }
    }

    /// Cancels a request. Removes the request first and then cancels its call, so that an answer in between finds no open request
    /// and is dropped.
    fn cancel(&self, id: &RequestId) {
        if let Some(request) = self.with.client.outbox.cancel(id) {
            self.with.links.cancel(request);
        }
    }
}

/// Answers a request with an internal error: no session actor took it in time, or the queue has no room for it. The
/// request did not run. A notification or response is dropped.
fn refuse(with: &Surroundings, delivery: &Delivery) {
    if let Some(request) = delivery.message.request() {
        with.client.refuse(request.key(), &RpcError::internal(user_text::INTERNAL));
    }
}
