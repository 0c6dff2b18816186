//! What main runs around the supervision tree of the one client over stdin and stdout: the pumps, the ledger's deadlines, and the
//! shutdown.
//!
//! The gateway ends when stdin ends, on a signal, when the client is gone, or when the tree has failed too often. Then held calls
//! are refused, and sent calls have [`DRAIN_MAX`] to be answered. A sent call that is still open may have run, and is answered
//! so. At last stdout is flushed.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::{attached, ending, links, stdin_reader};
use crate::actors::attachment::HubSeat;
use crate::actors::gateway::{Ended, Spawn, Tree};
use crate::actors::parts::Parts;
use crate::client::Client;
use crate::core::ShutdownReason;
use crate::fsm::cause::Loss;
use crate::limits::hub::HUB_VERDICTS_MAX;
use crate::limits::{DRAIN_MAX, FLUSH_MAX};
use crate::runtime::messages::session;

/// Runs a gateway over a client's pipes until one of them ends, `quit` gives a reason to end, or the gateway fails. Returns the
/// reason. `hub`: what the session needs to use the links of a hub, if it is to.
pub async fn run<S: Spawn>(
    parts: &Arc<Parts>,
    spawn: S,
    pumps: Pumps,
    mut quit: mpsc::Receiver<ShutdownReason>,
    hub: Option<&Arc<HubSeat>>,
) -> ShutdownReason {
    parts.links.serve_one();
    let ((stop, stopping), (last, ends)) = (watch::channel(false), watch::channel(false));
    let serving = parts.env.health.spawn("links", {
        let (parts, spawn, hub) = (Arc::clone(parts), spawn.clone(), hub.map(Arc::clone));
        async move {
            let is_here = match hub {
                Some(hub) => attached::run(&hub, spawn.clone(), ends.clone()).await,
                None => true,
            };
            if is_here {
                links::serve(parts, spawn, ends).await;
            }
        }
    });
    let mut tree = tokio::spawn(Tree::of_session(parts.seat(&parts.client), spawn).run(stopping));
    let mut tree_runs = true;
    let Pumps { mut input, mut output } = pumps;
    let why = tokio::select! {
        biased;
        () = parts.env.health.task_failed() => ShutdownReason::Exhausted,
        // If all senders of `quit` are dropped, that is not a reason to end.
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
    for link in parts.links.all() {
        link.calls.begin_draining();
    }
    let permit = timeout(FLUSH_MAX, parts.client.mailbox.permit(0)).await.ok().flatten();
    parts.client.actor.cast(session::Message::InputEnded(permit));
    if why != ShutdownReason::ClientGone {
        // Waits until the session actor has handled, in order, the messages before the end of input, and then the end
        // itself. At that end it answers waiting `tools/list` requests: a client may write to a pipe and close it at
        // once. That takes a short time, because no handler waits. It takes longer only if a hub was asked.
        let most = if hub.is_some() { HUB_VERDICTS_MAX } else { FLUSH_MAX };
        let _ = timeout(most, parts.client.mailbox.idle()).await;
        let settled = async {
            for link in parts.links.all() {
                link.calls.shared.settled().await;
            }
        };
        let _ = timeout(DRAIN_MAX, settled).await;
    }
    if let Some(hub) = hub {
        attached::end(hub, why).await;
    }
    // This is done before waiting for the tree's end. That may take seconds if an actor is stuck, and clients kill a
    // server that ends slowly.
    answer_all(parts, why).await;
    let _ = stop.send(true);
    if tree_runs {
        let _ = tree.await;
    }
    let kept = parts.links.all();
    last.send_replace(true);
    let _ = serving.await;
    // Answers the requests that were read in the meantime.
    answer_all(parts, why).await;
    if !parts.client.outbox.is_flushed() {
        parts.env.events.stdout_not_read(parts.client.outbox.counts().queued);
    }
    if let Some(hub) = hub {
        attached::conclude(hub).await;
    }
    let written = async {
        for link in kept {
            link.calls.audit.written().await;
        }
    };
    let _ = timeout(FLUSH_MAX, written).await;
    for task in [input, output] {
        task.abort();
    }
    if parts.env.health.has_failed_task() { ShutdownReason::Exhausted } else { why }
}

/// Gives every sent call its verdict (without an answer it may have run) and answers all open requests. No call is sent after
/// this.
async fn answer_all(parts: &Parts, why: ShutdownReason) {
    for link in parts.links.all() {
        link.calls.close_epochs(Loss::Shutdown);
    }
    ending::answer_all(&parts.client, why).await;
}

/// The tasks that read the client's lines and write the answers; a panic in one of them ends the gateway.
#[derive(Debug)]
pub struct Pumps {
    input: tokio::task::JoinHandle<()>,
    output: tokio::task::JoinHandle<()>,
}

impl Pumps {
    /// Starts the pumps of the gateway's one client, over any pair of pipes.
    pub fn over(
        parts: &Arc<Parts>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        Self::of(parts, &parts.client, input, output)
    }

    /// Starts the pumps of this client, over any pair of pipes.
    pub fn of(
        parts: &Parts,
        client: &Arc<Client>,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (input, output) = (Self::reading_of(parts, client, input), Self::writing_of(parts, client, output));
        Self { input: tokio::spawn(input), output: tokio::spawn(output) }
    }

    /// As [`of`](Self::of), but reads on the runtime of the actors, so that a call changes no thread on its way to its
    /// link. If an actor there is stuck, the session hears nothing and takes the hub for hung. That is right, because
    /// the hub is hung then.
    pub(super) fn beside_actors(
        parts: &Parts,
        client: &Arc<Client>,
        runtime: &Handle,
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (input, output) = (Self::reading_of(parts, client, input), Self::writing_of(parts, client, output));
        Self { input: runtime.spawn(input), output: tokio::spawn(output) }
    }

    /// Returns the two tasks: first the task that reads, then the task that writes.
    pub(super) fn into_tasks(self) -> (tokio::task::JoinHandle<()>, tokio::task::JoinHandle<()>) {
        (self.input, self.output)
    }

    /// Wraps two tasks that stand for pumps on other threads (for real stdin and stdout). Each task ends when its pump ends.
    pub fn elsewhere(input: tokio::task::JoinHandle<()>, output: tokio::task::JoinHandle<()>) -> Self {
        Self { input, output }
    }

    /// Returns the future that reads the client's lines.
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

    /// Returns the future that writes the answers.
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
