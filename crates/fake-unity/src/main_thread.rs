//! The editor's main thread: at each tick it runs the queued work, one piece after the other.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use holdfast_net::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::model::Editor;
use super::work::{Begun, Done, Work};

/// Runs one domain's main thread until `stop` is sent. Then work that is still queued is counted as lost, and work that has begun
/// as interrupted.
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

/// Begins a piece of work. Returns the part that remains to be done, or `None` if the work is done.
fn begin(editor: &Arc<Editor>, Work { job, reply }: Work) -> Option<BoxFuture<'static, ()>> {
    {
        let mut state = editor.state();
        state.queued = state.queued.saturating_sub(1);
        state.running += 1;
    }
    match job() {
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
    // If nobody waits for the result any more, the order that follows the work is carried out all the same.
    if let Err(Done { then: Some(order), .. }) = reply.send(done) {
        editor.order(order);
    }
}
