//! The end of a session over any pipe, and of a message that came alone: answers the open requests and flushes stdout.

use std::time::Duration;

use tokio::time::timeout;

use crate::actors::parts::Parts;
use crate::client::Client;
use crate::core::ShutdownReason;
use crate::core::user_text;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::{DRAIN_MAX, FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::jsonrpc::RpcError;
use crate::runtime::messages::session;

/// Waits until the session actor has handled, in order, the messages before the end of input, and then the end itself.
/// At that end it answers waiting `tools/list` requests: a client may write to a pipe and close it at once. Then waits
/// up to `DRAIN_MAX` for the answers to the session's calls.
pub(super) async fn handled(client: &Client) {
    // This takes a short time: no handler of the session actor waits.
    let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
}

/// Answers every open request, and waits until the answers are written. Before this, the ledger must have given every call its
/// verdict.
pub(super) async fn answer_all(client: &Client, why: ShutdownReason) {
    client.outbox.end_subscriptions();
    let unhandled = if why == ShutdownReason::Exhausted { user_text::INTERNAL } else { user_text::SHUT_DOWN };
    for request in client.outbox.requests_without_call() {
        client.refuse(request, &RpcError::internal(unhandled));
    }
    // If a call has its verdict but no answer yet, its large result is being written to a file.
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
    for request in client.outbox.requests_with_call() {
        client.outbox.answer_error(request, &RpcError::internal(user_text::RESULT_NOT_STORED));
    }
    // Reading may have stopped in the middle of a batch.
    client.outbox.end_batches();
    client.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Every request is answered.
    End,
    /// Calls that were sent have this long to be answered. Everything else stays unanswered: the other side of the connection
    /// keeps it, and brings it to this gateway's successor.
    Leave(Duration),
}

/// Ends everything that a session has open: nothing more is sent for it, and every request is answered.
pub(super) async fn conclude(parts: &Parts, client: &Client, why: ShutdownReason) {
    client.begin_ending();
    for link in parts.links.all() {
        link.calls.decide(|ledger, now| ledger.refuse_held_of(client.id, Cause::ShuttingDown, now));
    }
    let permit = timeout(FLUSH_MAX, client.mailbox.permit(0)).await.ok().flatten();
    client.actor.cast(session::Message::InputEnded(permit));
    if why != ShutdownReason::ClientGone {
        handled(client).await;
    }
    settle(parts, client);
    answer_all(client, why).await;
}

/// Ends a session's part in its calls: sent calls go on without it. At the gateway's end all sent calls get their verdict
/// instead.
pub(super) fn settle(parts: &Parts, client: &Client) {
    for link in parts.links.all() {
        if parts.env.is_draining() {
            link.calls.close_epochs(Loss::Shutdown);
        } else {
            link.calls.decide(|ledger, now| ledger.part_from(client.id, now));
        }
    }
}
