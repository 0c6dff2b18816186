//! Tasks beside the supervision tree. A panic in one of them is our bug, and no supervisor would see it: a deadline would never
//! fall due again, a client would never be read again. So it ends the gateway with exit code 70, after every answer that is owed;
//! if stdout's own pump panicked, nothing can be written any more.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

use super::Estate;

impl Estate {
    /// The same task, watched: if it panics, the gateway ends. It may run on any thread.
    pub fn watched<T: Future<Output = ()>>(&self, name: &'static str, task: T) -> impl Future<Output = ()> + use<T> {
        let failed = self.failed.clone();
        async move {
            // Nothing of the task is looked at afterwards; what it shared stands behind locks that say what a panic does to it.
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(event = "task_failed", task = name);
                failed.send_replace(true);
            }
        }
    }

    /// Spawns a task that is watched so.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(self.watched(name, task))
    }

    /// Waits until a watched task has failed.
    pub async fn task_failed(&self) {
        // The sender is ours, so this ends by the value alone.
        let _ = self.failed.subscribe().wait_for(|failed| *failed).await;
    }

    /// Whether a watched task has failed.
    pub fn has_failed_task(&self) -> bool {
        *self.failed.borrow()
    }
}
