//! What main runs around the tree: the pumps, the clock of the ledger, and the shutdown.
//!
//! The gateway ends when stdin ends, on a signal, when the client is gone, or when the tree has failed too often. Then sent calls
//! get a moment to be answered and held ones are refused. Whatever is still open is settled by what may have run, and stdout is
//! flushed.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::{ending, stdin_reader};
use crate::actors::gateway::{Ended, Spawn, Tree};
use crate::actors::parts::Parts;
use crate::client::Client;
use crate::core::shutdown::ShutdownReason;
use crate::fsm::cause::Loss;
use crate::limits::{DRAIN_MAX, FLUSH_MAX};
use crate::runtime::messages::session;

/// Runs a gateway over a client's pipes until one of them ends, or until `quit` gives a reason to end.
pub async fn run<S: Spawn>(
    parts: &Arc<Parts>,
    spawn: S,
    pumps: Pumps,
    mut quit: mpsc::Receiver<ShutdownReason>,
) -> ShutdownReason {
    let (stop, stopping) = watch::channel(false);
    let sweeper = parts.env.health.spawn("deadlines", Arc::clone(&parts.calls).sweep());
    let mut tree = tokio::spawn(Tree::of_stdio(parts).run(spawn, stopping));
    let mut tree_runs = true;
    let Pumps { mut input, mut output } = pumps;
    let why = tokio::select! {
        biased;
        () = parts.env.health.task_failed() => ShutdownReason::Exhausted,
        // If all senders of `quit` are gone, that is not a reason to end.
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
    parts.env.events.ending(why);
    parts.calls.begin_draining();
    let permit = timeout(FLUSH_MAX, parts.client.mailbox.permit(0)).await.ok().flatten();
    parts.client.actor.cast(session::Message::InputEnded(permit));
    if why != ShutdownReason::ClientGone {
        // Waits until the session has handled, in order, what it received before the end, and then the end itself, which answers
        // waiting lists: a client may write to a pipe and close it at once. That is short, because the handlers wait for nothing.
        let _ = timeout(FLUSH_MAX, parts.client.mailbox.idle()).await;
        let _ = timeout(DRAIN_MAX, parts.calls.shared.settled()).await;
    }
    parts.client.actor.cast(session::Message::CallsSettled);
    // Before the tree is joined: that may take seconds if a part of it is stuck, and clients kill a server that ends slowly.
    answer_all(parts, why).await;
    let _ = stop.send(true);
    if tree_runs {
        let _ = tree.await;
        // Answers what was read meanwhile.
        answer_all(parts, why).await;
    }
    if !parts.client.outbox.is_flushed() {
        parts.env.events.stdout_not_read(parts.client.outbox.counts().queued);
    }
    let _ = timeout(FLUSH_MAX, parts.calls.audit.written()).await;
    for task in [sweeper, input, output] {
        task.abort();
    }
    if parts.env.health.has_failed_task() { ShutdownReason::Exhausted } else { why }
}

/// Settles all calls and answers all open requests: a sent call without an answer may have run, and no call is sent from here on.
async fn answer_all(parts: &Parts, why: ShutdownReason) {
    parts.calls.close_epochs(Loss::Shutdown);
    ending::answer_all(&parts.client, why).await;
}

/// The tasks that read the client's lines and write the answers; a panic in one of them ends the gateway.
#[derive(Debug)]
pub struct Pumps {
    input: tokio::task::JoinHandle<()>,
    output: tokio::task::JoinHandle<()>,
}

impl Pumps {
    /// Pumps for the client over stdin and stdout, over any pipe.
    pub fn over(
        parts: &Arc<Parts>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self::of(parts, &parts.client, input, output)
    }

    /// Pumps of this client over any pipe.
    pub fn of(
        parts: &Parts,
        client: &Arc<Client>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (input, output) = (Self::reading_of(parts, client, input), Self::writing_of(parts, client, output));
        Self { input: tokio::spawn(input), output: tokio::spawn(output) }
    }

    /// The two tasks: the reading one, then the writing one.
    pub(super) fn into_tasks(self) -> (tokio::task::JoinHandle<()>, tokio::task::JoinHandle<()>) {
        (self.input, self.output)
    }

    /// Pumps that run on other threads (for real stdin and stdout). Each task ends when its pump does.
    pub fn elsewhere(input: tokio::task::JoinHandle<()>, output: tokio::task::JoinHandle<()>) -> Self {
        Self { input, output }
    }

    /// Reads the client's lines.
    pub fn reading<I>(parts: &Arc<Parts>, input: I) -> impl Future<Output = ()> + Send + use<I>
    where
        I: AsyncRead + Unpin + Send + 'static,
    {
        Self::reading_of(parts, &parts.client, input)
    }

    fn reading_of<I>(parts: &Parts, client: &Arc<Client>, input: I) -> impl Future<Output = ()> + Send + use<I>
    where
        I: AsyncRead + Unpin + Send + 'static,
    {
        let with = stdin_reader::Surroundings {
            env: parts.env_of(client.id),
            client: Arc::clone(client),
            links: Arc::clone(&parts.links),
        };
        parts.env.health.watched("stdin", stdin_reader::run(with, input))
    }

    /// Writes the answers.
    pub fn writing<O>(parts: &Arc<Parts>, output: O) -> impl Future<Output = ()> + Send + use<O>
    where
        O: AsyncWrite + Unpin + Send + 'static,
    {
        Self::writing_of(parts, &parts.client, output)
    }

    fn writing_of<O>(parts: &Parts, client: &Arc<Client>, output: O) -> impl Future<Output = ()> + Send + use<O>
    where
        O: AsyncWrite + Unpin + Send + 'static,
    {
        let client = Arc::clone(client);
        parts.env.health.watched("stdout", async move { client.outbox.pump_out(output).await })
    }
}
