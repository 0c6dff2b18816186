//! How the gateway's own parts are: restarts of actors, what keeps a part from its work, and tasks beside the supervision tree.
//!
//! A panic in such a task is our bug, and no supervisor would see it: a deadline would never fall due again, a client would never
//! be read again. So it ends the gateway with exit code 70, after every answer that is owed; if stdout's own pump panicked,
//! nothing can be written any more.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::enter;

/// See the module's documentation.
#[derive(Debug)]
pub struct Health {
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    troubles: Mutex<BTreeMap<&'static str, String>>,
    runtimes: Mutex<Vec<Handle>>,
    /// A task beside the tree has panicked.
    failed: watch::Sender<bool>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            restarts: Mutex::default(),
            troubles: Mutex::default(),
            runtimes: Mutex::default(),
            failed: watch::Sender::new(false),
        }
    }
}

impl Health {
    /// Counts a restart.
    pub fn count_restart(&self, actor: &'static str) {
        *enter(&self.restarts).entry(actor).or_default() += 1;
    }

    /// Restarts so far, by actor.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        enter(&self.restarts).clone()
    }

    /// Says what keeps a part from its work, with the fix, or that nothing does any more; `holdfast_status` shows it.
    pub fn set_trouble(&self, part: &'static str, what: Option<String>) {
        let mut troubles = enter(&self.troubles);
        match what {
            Some(what) => troubles.insert(part, what),
            None => troubles.remove(part),
        };
    }

    /// What keeps parts from their work.
    pub fn troubles(&self) -> Vec<String> {
        enter(&self.troubles).values().cloned().collect()
    }

    /// The gateway's tasks run on this runtime, among others: they are counted.
    pub fn count_tasks_of(&self, runtime: Handle) {
        enter(&self.runtimes).push(runtime);
    }

    /// Tasks that live, on all runtimes of the gateway; a number that only rises is a leak. `None` where no runtime was named
    /// (tests that bring their own).
    pub fn tasks(&self) -> Option<usize> {
        let runtimes = enter(&self.runtimes);
        (!runtimes.is_empty()).then(|| runtimes.iter().map(|runtime| runtime.metrics().num_alive_tasks()).sum())
    }

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
