//! The state of the gateway's own parts: restarts of actors, problems, and tasks outside of the supervision tree.
//!
//! A panic in such a task is our bug, and no supervisor would notice it: a deadline would never fire again, or a client would
//! never be read again. So the panic ends the gateway with exit code 70, after every open request is answered. If the task that
//! writes to stdout panicked, nothing can be written any more.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::enter;
use crate::net::BoxFuture;

/// The health of one gateway; see the module's documentation.
#[derive(Debug)]
pub struct Health {
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    problems: Mutex<BTreeMap<&'static str, String>>,
    runtimes: Mutex<Vec<Handle>>,
    /// Whether a task outside of the tree has panicked.
    failed: watch::Sender<bool>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            restarts: Mutex::default(),
            problems: Mutex::default(),
            runtimes: Mutex::default(),
            failed: watch::Sender::new(false),
        }
    }
}

impl Health {
    pub fn count_restart(&self, actor: &'static str) {
        *enter(&self.restarts).entry(actor).or_default() += 1;
    }

    /// Returns the number of restarts so far, by actor.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        enter(&self.restarts).clone()
    }

    /// Records the problem that keeps a part from working, with its fix; `None` if there is no such problem any more.
    /// `holdfast_status` shows the problem.
    pub fn set_problem(&self, part: &'static str, what: Option<String>) {
        let mut problems = enter(&self.problems);
        match what {
            Some(what) => problems.insert(part, what),
            None => problems.remove(part),
        };
    }

    /// Returns the problems that keep parts from working, one text for each part.
    pub fn problems(&self) -> Vec<String> {
        enter(&self.problems).values().cloned().collect()
    }

    /// Adds a runtime to those whose tasks are counted.
    pub fn count_tasks_of(&self, runtime: Handle) {
        enter(&self.runtimes).push(runtime);
    }

    /// Returns the number of live tasks on all runtimes of the gateway; a number that only rises is a leak. `None` if no runtime
    /// was added (in tests, which have their own).
    pub fn tasks(&self) -> Option<usize> {
        let runtimes = enter(&self.runtimes);
        (!runtimes.is_empty()).then(|| runtimes.iter().map(|runtime| runtime.metrics().num_alive_tasks()).sum())
    }

    /// Wraps a task: if it panics, the gateway ends. The task may run on any thread.
    pub fn watched<T: Future<Output = ()>>(&self, name: &'static str, task: T) -> impl Future<Output = ()> + use<T> {
        let failed = self.failed.clone();
        async move {
            // The task's own state is not used after a panic. Values that it shares with others are behind locks, and
            // stay usable.
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(event = "task_failed", task = name);
                failed.send_replace(true);
            }
        }
    }

    /// Spawns a task that is [`watched`](Self::watched).
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        // Boxed, so that the program has the code around a task once, and not for each kind.
        let task: BoxFuture<'static, ()> = Box::pin(task);
        tokio::spawn(self.watched(name, task))
    }

    /// Waits until a watched task has failed.
    pub async fn task_failed(&self) {
        // The sender lives as long as `self`, so this wait ends only when a task has failed.
        let _ = self.failed.subscribe().wait_for(|failed| *failed).await;
    }

    pub fn has_failed_task(&self) -> bool {
        *self.failed.borrow()
    }
}
