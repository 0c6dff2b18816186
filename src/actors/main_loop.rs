//! What main does around the tree: the pumps, the clock of the ledger, and the end.
//!
//! The end comes with stdin's, a signal, the client's death, or the tree's exhaustion. Whatever was sent may still answer for a
//! moment; what is held is refused; then everything that is left is settled as it truly stands, and stdout is flushed.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::gateway::{self, Ended, Spawn};
use super::{intake, session};
use crate::estate::Estate;
use crate::fsm::cause::Loss;
use crate::limits::{DRAIN_MAX, FLUSH_MAX};
use crate::protocol::jsonrpc::RpcError;

/// Why the gateway ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Why {
    /// stdin ended: the client closed the session.
    InputEnded,
    /// A signal.
    Signal,
    /// The client died, or its end of a pipe is gone.
    ClientGone,
    /// The tree gave up.
    Exhausted,
}

/// Runs a gateway over a client's pipes until one of them ends, or `quit` says why it should.
pub async fn run<S: Spawn>(estate: &Arc<Estate>, spawn: S, pumps: Pumps, mut quit: mpsc::Receiver<Why>) -> Why {
    let (stop, stopping) = watch::channel(false);
    let sweeper = tokio::spawn(Arc::clone(estate).sweep());
    let mut tree = tokio::spawn(gateway::run(Arc::clone(estate), spawn, stopping));
    let Pumps { mut input, mut output } = pumps;
    let why = tokio::select! {
        biased;
        why = quit.recv() => why.unwrap_or(Why::Signal),
        _ = &mut input => Why::InputEnded,
        _ = &mut output => Why::ClientGone,
        ended = &mut tree => match ended {
            Ok(Ended::Stopped) => Why::Signal,
            Ok(Ended::Exhausted) | Err(_) => Why::Exhausted,
        },
    };
    estate.events.ending(why);
    estate.begin_draining();
    estate.addresses.session.cast(session::Message::InputEnded);
    if why != Why::ClientGone {
        // What the session was handed before the end is handled by it, in its order: a pipe that is written and closed at
        // once is a session too. It takes no longer than its handlers, which wait for nothing.
        let _ = timeout(FLUSH_MAX, estate.edges.session.idle()).await;
        let _ = timeout(DRAIN_MAX, estate.settled()).await;
    }
    estate.addresses.session.cast(session::Message::CallsSettled);
    let _ = stop.send(true);
    if why != Why::Exhausted {
        let _ = tree.await;
    }
    estate.close_epochs(Loss::Shutdown);
    estate.front.end_subscriptions();
    for id in estate.front.requests_without_call() {
        let error =
            RpcError::internal("holdfast was shut down before it handled this request. Nothing was sent to Unity.");
        estate.front.answer_error(&id, &error);
    }
    // A call that is settled and not answered is having its large result put into a file.
    let _ = timeout(DRAIN_MAX, estate.front.calls_answered()).await;
    for id in estate.front.requests_with_call() {
        let error = RpcError::internal(
            "Unity answered this call, but holdfast was shut down before the large result was stored. The tool ran; check its \
             effect before you repeat it.",
        );
        estate.front.answer_error(&id, &error);
    }
    let _ = timeout(FLUSH_MAX, estate.front.flushed()).await;
    let _ = timeout(FLUSH_MAX, estate.audit_written()).await;
    for task in [sweeper, input, output] {
        task.abort();
    }
    why
}

/// The tasks that read the client's lines and write the answers.
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
        let (reading, writing) = (Arc::clone(estate), Arc::clone(estate));
        Self {
            input: tokio::spawn(intake::run(reading, input)),
            output: tokio::spawn(async move { writing.front.pump_out(output).await }),
        }
    }

    /// Pumps that run elsewhere (threads of their own for real stdin and stdout); each task ends when its pump does.
    pub fn elsewhere(input: tokio::task::JoinHandle<()>, output: tokio::task::JoinHandle<()>) -> Self {
        Self { input, output }
    }
}
