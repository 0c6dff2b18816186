//! The end of a session, whatever it comes over: what is open is answered as it truly stands, and stdout is flushed.

use tokio::time::timeout;

use crate::client::Client;
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::limits::{DRAIN_MAX, FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::jsonrpc::RpcError;

/// Waits until what the session was handed before the end is handled by it, in its order, and then the end itself, which answers a list
/// that waits: a pipe that is written and closed at once is a session too. Then until what was sent is answered, for a moment.
pub(super) async fn handled(client: &Client) {
    // It takes no longer than its handlers, which wait for nothing.
    let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
}

/// Answers everything that is open, and waits until that is written. The ledger has had its last word on every call.
pub(super) async fn answer_all(client: &Client, why: ShutdownReason) {
    client.outbox.end_subscriptions();
    let unhandled = if why == ShutdownReason::Exhausted { user_text::INTERNAL } else { user_text::SHUT_DOWN };
    for request in client.outbox.requests_without_call() {
        client.outbox.answer_error(request, &RpcError::internal(unhandled));
    }
    // A call that is settled and not answered is having its large result put into a file.
    let _ = timeout(DRAIN_MAX, client.outbox.calls_answered()).await;
    for request in client.outbox.requests_with_call() {
        client.outbox.answer_error(request, &RpcError::internal(user_text::RESULT_NOT_STORED));
    }
    // The intake may have been stopped in the middle of one.
    client.outbox.end_batches();
    client.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}
