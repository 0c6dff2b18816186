//! Keepers: the tasks that keep services running.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Gateway;
use crate::fsm::retry;
use crate::limits::FLUSH_MAX;

/// A service's keeper, which runs until it is told to end.
#[derive(Debug)]
pub(super) struct Keeper {
    task: JoinHandle<()>,
    /// Falls at the end.
    stop: oneshot::Sender<()>,
}

impl Keeper {
    /// Spawns a keeper, which ends what it keeps when its argument falls.
    pub(super) fn start<T: Future<Output = ()> + Send + 'static>(
        gateway: &Arc<impl Gateway>,
        name: &'static str,
        keep: impl FnOnce(oneshot::Receiver<()>) -> T,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { task: gateway.spawn(name, keep(stopped)), stop }
    }

    /// Ends it and what it keeps.
    pub(super) async fn end(self) {
        let Self { mut task, stop } = self;
        drop(stop);
        if timeout(FLUSH_MAX, &mut task).await.is_err() {
            task.abort();
        }
    }
}

/// One life of a service, from its start to its end by a bug of ours. It ends with this value.
#[derive(Debug)]
pub(super) struct Life(JoinHandle<()>);

impl Life {
    /// Starts one.
    pub(super) fn begin(life: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(life))
    }

    /// Waits for its end.
    pub(super) async fn over(&mut self) {
        let _ = (&mut self.0).await;
    }

    /// Ends it, with all that it holds.
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

/// Waits before a life, or an attempt to begin one, that follows so many others.
pub(super) async fn pause(gateway: &impl Gateway, before: u32) {
    sleep(retry::delay(before, false, gateway.random_fraction())).await;
}
