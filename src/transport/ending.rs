//! The end of a session over any pipe: answers open requests by what may have run, and flushes stdout.

use tokio::time::timeout;

use crate::client::Client;
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::limits::{DRAIN_MAX, FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::jsonrpc::RpcError;

/// Waits until the session has handled, in order, what it received before the end, and then the end itself, which answers waiting
/// lists: a client may write to a pipe and close it at once. Then waits up to `DRAIN_MAX` for the answers of its calls.
pub(super) async fn handled(client: &Client) {
    // Short: the handlers of the session wait for nothing.
    let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
}

/// Answers every open request, and waits until that is written. The ledger has settled every call before.
pub(super) async fn answer_all(client: &Client, why: ShutdownReason) {
    client.outbox.end_subscriptions();
    let unhandled = if why == ShutdownReason::Exhausted { user_text::INTERNAL } else { user_text::SHUT_DOWN };
    for request in client.outbox.requests_without_call() {
        client.outbox.answer_error(request, &RpcError::internal(unhandled));
    }
    // A settled call without an answer waits for its large result to be written to a file.
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
    for request in client.outbox.requests_with_call() {
        client.outbox.answer_error(request, &RpcError::internal(user_text::RESULT_NOT_STORED));
    }
    // Reading may have stopped in the middle of a batch.
    client.outbox.end_batches();
    client.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}
