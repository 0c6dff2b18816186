//! The end of a session over any pipe: answers the open requests and flushes stdout.

use tokio::time::timeout;

use crate::client::Client;
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::limits::{DRAIN_MAX, FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::jsonrpc::RpcError;

/// Waits until the session actor has handled, in order, what it received before the end of input, and then the end itself, at
/// which it answers waiting `tools/list` requests: a client may write to a pipe and close it at once. Then waits up to
/// `DRAIN_MAX` for the answers to the session's calls.
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
    // Needed because reading may have stopped in the middle of a batch.
    client.outbox.end_batches();
    client.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}
