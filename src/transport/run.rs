//! What main does around the tree: the pumps, the clock of the ledger, and the end.
//!
//! The end comes with stdin's, a signal, the client's death, or the tree's exhaustion. Whatever was sent may still answer for a
//! moment; what is held is refused; then everything that is left is settled as it truly stands, and stdout is flushed.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::stdin_reader;
use crate::actors::gateway::{self, Ended, Spawn};
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::estate::Estate;
use crate::fsm::cause::Loss;
use crate::limits::{DRAIN_MAX, FLUSH_MAX, FLUSH_READING_MAX};
use crate::protocol::jsonrpc::RpcError;
use crate::runtime::messages::session;

/// Runs a gateway over a client's pipes until one of them ends, or `quit` says why it should.
pub async fn run<S: Spawn>(
    estate: &Arc<Estate>,
    spawn: S,
    pumps: Pumps,
    mut quit: mpsc::Receiver<ShutdownReason>,
) -> ShutdownReason {
    let (stop, stopping) = watch::channel(false);
    let sweeper = estate.spawn("deadlines", Arc::clone(estate).sweep());
    let mut tree = tokio::spawn(gateway::run(Arc::clone(estate), spawn, stopping));
    let mut tree_runs = true;
    let Pumps { mut input, mut output } = pumps;
    let why = tokio::select! {
        biased;
        () = estate.task_failed() => ShutdownReason::Exhausted,
        // Nobody left who could say so is no reason to end.
        Some(why) = quit.recv() => why,
        _ = &mut input => ShutdownReason::InputEnded,
        _ = &mut output => ShutdownReason::ClientGone,
        ended = &mut tree => {
            tree_runs = false;
            match ended {
                Ok(Ended::Stopped) => ShutdownReason::Signal,
                Ok(Ended::Exhausted) | Err(_) => ShutdownReason::Exhausted,
            }
        }
    };
    estate.events.ending(why);
    estate.begin_draining();
    let permit = timeout(FLUSH_MAX, estate.edges.session.permit(0)).await.ok().flatten();
    estate.addresses.session.cast(session::Message::InputEnded(permit));
    if why != ShutdownReason::ClientGone {
        // What the session was handed before the end is handled by it, in its order, and then the end itself, which answers a
        // list that waits: a pipe that is written and closed at once is a session too. It takes no longer than its handlers,
        // which wait for nothing.
        let _ = timeout(FLUSH_MAX, estate.edges.session.idle()).await;
        let _ = timeout(DRAIN_MAX, estate.settled()).await;
    }
    estate.addresses.session.cast(session::Message::CallsSettled);
    // Before the tree is joined: that may take seconds if a part of it is stuck, and clients kill who takes long.
    answer_all(estate, why).await;
    let _ = stop.send(true);
    if tree_runs {
        let _ = tree.await;
        // What was read meanwhile.
        answer_all(estate, why).await;
    }
    if !estate.outbox.is_flushed() {
        estate.events.stdout_not_read(estate.outbox.counts().queued);
    }
    let _ = timeout(FLUSH_MAX, estate.audit_written()).await;
    for task in [sweeper, input, output] {
        task.abort();
    }
    if estate.has_failed_task() { ShutdownReason::Exhausted } else { why }
}

/// Answers everything that is open as it truly stands, and waits until that is written. What was sent and is not answered may
/// have run, and from here on nothing is sent any more.
async fn answer_all(estate: &Arc<Estate>, why: ShutdownReason) {
    estate.close_epochs(Loss::Shutdown);
    estate.outbox.end_subscriptions();
    let unhandled = if why == ShutdownReason::Exhausted { user_text::INTERNAL } else { user_text::SHUT_DOWN };
    for request in estate.outbox.requests_without_call() {
        estate.outbox.answer_error(request, &RpcError::internal(unhandled));
    }
    // A call that is settled and not answered is having its large result put into a file.
    let _ = timeout(DRAIN_MAX, estate.outbox.calls_answered()).await;
    for request in estate.outbox.requests_with_call() {
        estate.outbox.answer_error(request, &RpcError::internal(user_text::RESULT_NOT_STORED));
    }
    // The intake may have been stopped in the middle of one.
    estate.outbox.end_batches();
    estate.outbox.flushed_while_it_reads(FLUSH_MAX, FLUSH_READING_MAX).await;
}

/// The tasks that read the client's lines and write the answers; each is watched by the estate.
#[derive(Debug)]
pub struct Pumps {
    input: tokio::task::JoinHandle<()>,
    output: tokio::task::JoinHandle<()>,
}

impl Pumps {
    /// Pumps over any pipe.
    pub fn over(
        estate: &Arc<Estate>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self { input: tokio::spawn(Self::reading(estate, input)), output: tokio::spawn(Self::writing(estate, output)) }
    }

    /// Pumps that run elsewhere (threads of their own for real stdin and stdout); each task ends when its pump does.
    pub fn elsewhere(input: tokio::task::JoinHandle<()>, output: tokio::task::JoinHandle<()>) -> Self {
        Self { input, output }
    }

    /// Reads the client's lines.
    pub fn reading<I>(estate: &Arc<Estate>, input: I) -> impl Future<Output = ()> + Send + use<I>
    where
        I: AsyncRead + Unpin + Send + 'static,
    {
        estate.watched("stdin", stdin_reader::run(Arc::clone(estate), input))
    }

    /// Writes the answers.
    pub fn writing<O>(estate: &Arc<Estate>, output: O) -> impl Future<Output = ()> + Send + use<O>
    where
        O: AsyncWrite + Unpin + Send + 'static,
    {
        let writer = Arc::clone(estate);
        estate.watched("stdout", async move { writer.outbox.pump_out(output).await })
    }
}
