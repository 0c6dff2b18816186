//! Keepers: tasks that keep services running.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Gateway;
use crate::fsm::retry;
use crate::limits::FLUSH_MAX;

/// The handle of a keeper, which keeps one service running until [`Keeper::end`].
#[derive(Debug)]
pub(super) struct Keeper {
    task: JoinHandle<()>,
    /// Dropped to stop the task.
    stop: oneshot::Sender<()>,
}

impl Keeper {
    /// Spawns a keeper. `keep` gets a receiver; when it is closed, the keeper must stop its service.
    pub(super) fn start<T: Future<Output = ()> + Send + 'static>(
        gateway: &Arc<impl Gateway>,
        name: &'static str,
        keep: impl FnOnce(oneshot::Receiver<()>) -> T,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { task: gateway.spawn(name, keep(stopped)), stop }
    }

    /// Ends the keeper and its service. Aborts the task if it takes longer than [`FLUSH_MAX`].
    pub(super) async fn end(self) {
        self.end_within(FLUSH_MAX).await;
    }

    /// As [`end`](Self::end), with another limit.
    pub(super) async fn end_within(self, limit: Duration) {
        let Self { mut task, stop } = self;
        drop(stop);
        if timeout(limit, &mut task).await.is_err() {
            task.abort();
        }
    }
}

/// One run of a service. The run ends by itself only by a bug of ours. Dropping this value aborts it.
#[derive(Debug)]
pub(super) struct Life(JoinHandle<()>);

impl Life {
    pub(super) fn begin(life: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(life))
    }

    pub(super) async fn over(&mut self) {
        let _ = (&mut self.0).await;
    }

    /// Aborts the service and waits until its task is dropped.
    pub(super) async fn stop(&mut self) {
        if !self.0.is_finished() {
            self.0.abort();
            self.over().await;
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits before the next start or attempt. `before`: the number of starts or attempts before that one.
pub(super) async fn pause(gateway: &impl Gateway, before: u32) {
    sleep(retry::delay(before, false, gateway.random_fraction())).await;
}
