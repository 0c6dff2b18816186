//! The intake: the pump from stdin to the session. A task of main; outlives every actor.
//!
//! It answers at once what needs nobody (ping, broken lines, duplicates, more than is kept), carries out cancels ahead of
//! whatever waits, and hands the rest to the session in order. While no session lives, requests wait here for a bounded time.
//! Only a blocked stdout stops it from reading.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;

use super::session;
use crate::estate::Estate;
use crate::front::NotOpened;
use crate::limits::{CLIENT_LINE_MAX_BYTES, OPEN_REQUESTS_MAX, SESSION_ABSENCE_MAX};
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::jsonrpc::{self, Fault, Invalid, Message, RequestId, RpcError};
use crate::protocol::mcp::{self, Notification, ToolResult};
use crate::telemetry::events;
use crate::wording;

/// Reads the client's lines until its stdin ends.
pub async fn run(estate: Arc<Estate>, mut input: impl AsyncRead + Unpin) {
    let (queue, waiting) = mpsc::channel(OPEN_REQUESTS_MAX);
    let deliverer = tokio::spawn(deliver(Arc::clone(&estate), waiting));
    let intake = Intake { estate, queue };
    let mut decoder = LineDecoder::new(CLIENT_LINE_MAX_BYTES);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = input.read(&mut buffer).await {
        decoder.push(buffer.get(..count).unwrap_or_default());
        while let Some(line) = decoder.next_line() {
            intake.line(line).await;
        }
    }
    while let Some(line) = decoder.finish() {
        intake.line(line).await;
    }
    drop(intake);
    let _ = deliverer.await;
}

/// A message on its way to the session.
struct Delivery {
    message: Message,
    bytes: usize,
}

struct Intake {
    estate: Arc<Estate>,
    queue: mpsc::Sender<Delivery>,
}

impl Intake {
    async fn line(&self, line: Line) {
        let front = &self.estate.front;
        front.room().await;
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong { id, request, .. } => {
                events::bad_line(Fault::TooLong.into());
                if request {
                    front.reject(id.as_ref(), &Invalid { id: None, fault: Fault::TooLong }.to_error());
                }
                return;
            }
        };
        match jsonrpc::parse(&bytes) {
            Err(invalid) => {
                events::bad_line(invalid.fault.into());
                if invalid.owes_answer() {
                    front.reject(invalid.id.as_ref(), &invalid.to_error());
                }
            }
            Ok(message) => self.message(message, bytes.len()).await,
        }
    }

    async fn message(&self, message: Message, bytes: usize) {
        match &message {
            Message::Request { id, method, .. } => {
                if !self.open(id, method) {
                    return;
                }
                if method == "ping" {
                    self.estate.front.answer(id, "{}");
                    return;
                }
            }
            Message::Notification { method, params } => {
                if let Notification::Cancelled { id, .. } = mcp::parse_notification(method, params.as_deref()) {
                    self.cancel(&id);
                    return;
                }
            }
            Message::Response { .. } => {}
        }
        self.hand_over(Delivery { message, bytes }).await;
    }

    fn open(&self, id: &RequestId, method: &str) -> bool {
        let front = &self.estate.front;
        match front.open(id) {
            Ok(()) => true,
            Err(NotOpened::Duplicate) => {
                events::bad_line("duplicate_id");
                let error = RpcError::invalid_request(
                    "a request with this id is still open; it keeps its answer, and this one was not handled. Use a new id.",
                );
                front.reject(Some(id), &error);
                false
            }
            Err(NotOpened::Full) => {
                events::bad_line("too_many_requests");
                let text = wording::overload();
                if method == "tools/call" {
                    let result = mcp::tool_result(&ToolResult::error(text), self.estate.client().version);
                    front.reject_with_result(id, &result);
                } else {
                    front.reject(Some(id), &RpcError::internal(text));
                }
                false
            }
        }
    }

    /// First the answer's place goes, then the call: whoever asks in between finds nothing to answer.
    fn cancel(&self, id: &RequestId) {
        if self.estate.front.cancel(id) {
            self.estate.decide(|ledger, now| ledger.cancel(id, now).1);
        }
    }

    /// To the session at once if it lives and nothing waits before; else into the queue.
    async fn hand_over(&self, delivery: Delivery) {
        let permit = self.estate.edges.session.permit(delivery.bytes).await;
        let nothing_waits = self.queue.capacity() == self.queue.max_capacity();
        match self.estate.addresses.session.get() {
            Some(session) if nothing_waits => {
                if let Message::Request { id, .. } = &delivery.message {
                    self.estate.front.delivered(id);
                }
                // A session that is just ending drops it; what it was handed is answered when its end is seen.
                let _ = session.cast(session::Message::Delivered(delivery.message, permit));
            }
            _ => {
                drop(permit);
                if let Err(full) = self.queue.try_send(delivery) {
                    refuse(&self.estate, full.into_inner());
                }
            }
        }
    }
}

/// Hands what waits to the session, in order, as soon as one lives.
async fn deliver(estate: Arc<Estate>, mut waiting: mpsc::Receiver<Delivery>) {
    while let Some(delivery) = waiting.recv().await {
        match estate.addresses.session.up(SESSION_ABSENCE_MAX).await {
            Some(session) => {
                let permit = estate.edges.session.permit(delivery.bytes).await;
                if let Message::Request { id, .. } = &delivery.message {
                    estate.front.delivered(id);
                }
                let _ = session.cast(session::Message::Delivered(delivery.message, permit));
            }
            None => refuse(&estate, delivery),
        }
    }
}

/// No session came: our fault, nothing ran.
fn refuse(estate: &Estate, delivery: Delivery) {
    if let Message::Request { id, .. } = delivery.message {
        estate.front.answer_error(&id, &RpcError::internal(wording::INTERNAL));
    }
}
