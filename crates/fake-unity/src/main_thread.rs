//! The editor's main thread: it ticks, and runs queued work one piece at a time at its ticks.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use holdfast_net::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::json::Object;
use super::model::{Editor, Order};

/// What the main thread runs for a request: begins it, and says whether it is done.
pub(crate) type Job = Box<dyn FnOnce(&Arc<Editor>) -> Begun + Send>;

/// Queued work. It runs even when whoever asked has left meanwhile, as in Unity; it is lost when the domain ends first.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) reply: oneshot::Sender<Done>,
}

/// Work that has begun.
pub(crate) enum Begun {
    /// And is done.
    Done(Done),
    /// And goes on beside the main thread, whose next free moment delivers its outcome.
    Later(BoxFuture<'static, Done>),
}

impl Begun {
    /// Done, with this result.
    pub(crate) fn ok(result: Object) -> Self {
        Self::Done(Done::ok(result))
    }

    /// Done, with this fault.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::Done(Done { result: Err(fault), then: None })
    }
}

/// The outcome of work.
pub(crate) struct Done {
    /// The result, to which a face may add members, or what went wrong.
    pub(crate) result: Result<Object, Fault>,
    /// What happens once the reply was written.
    pub(crate) then: Option<Order>,
}

impl Done {
    /// This result, and nothing after it.
    pub(crate) fn ok(result: Object) -> Self {
        Self { result: Ok(result), then: None }
    }
}

/// What went wrong, in terms that a face turns into its error shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An exception with this message.
    Internal(String),
    /// A parameter or the request's identity is refused, with this message.
    Refused(String),
    /// The security settings block the tool.
    Blocked(String),
    /// The tool's own time limit passed.
    Timeout { tool: String, seconds: u64 },
    /// It was asked to stop, and did.
    Cancelled,
}

/// Runs one domain's main thread until `stop` falls. What is queued then is lost, what has begun is cut.
pub(crate) async fn run(editor: Arc<Editor>, queue: mpsc::Receiver<Work>, stop: oneshot::Receiver<()>) {
    tokio::select! {
        biased;
        _ = stop => {}
        () = ticks(&editor, queue) => {}
    }
    let mut state = editor.state();
    state.lost += std::mem::take(&mut state.queued);
    state.interrupted += std::mem::take(&mut state.running);
}

async fn ticks(editor: &Arc<Editor>, mut queue: mpsc::Receiver<Work>) {
    let mut later = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = later.next(), if !later.is_empty() => {}
            work = queue.recv() => {
                let Some(mut work) = work else { return };
                editor.next_tick().await;
                loop {
                    later.extend(begin(editor, work));
                    match queue.try_recv() {
                        Ok(next) => work = next,
                        Err(_) => break,
                    }
                    editor.main_free().await;
                }
            }
        }
    }
}

/// Begins a piece of work; what is left of it is returned.
fn begin(editor: &Arc<Editor>, Work { job, reply }: Work) -> Option<BoxFuture<'static, ()>> {
    {
        let mut state = editor.state();
        state.queued = state.queued.saturating_sub(1);
        state.running += 1;
    }
    match job(editor) {
        Begun::Done(done) => {
            deliver(editor, reply, done);
            None
        }
        Begun::Later(rest) => {
            let editor = editor.clone();
            Some(Box::pin(async move {
                let done = rest.await;
                editor.main_free().await;
                deliver(&editor, reply, done);
            }))
        }
    }
}

fn deliver(editor: &Editor, reply: oneshot::Sender<Done>, done: Done) {
    {
        let mut state = editor.state();
        state.running = state.running.saturating_sub(1);
    }
    // Whoever asked may have left; what follows the work follows all the same.
    if let Err(Done { then: Some(order), .. }) = reply.send(done) {
        editor.order(order);
    }
}
