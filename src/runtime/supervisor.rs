//! A supervisor whose children are one failure unit: when one ends, all are stopped, and all are started again, as OTP's
//! one-for-all. It gives up after too many ends ([`Restarts`]).
//!
//! ractor has links and death notices, but no restart strategies; this module adds one. The supervisor waits for the end of every
//! child, and of every task that a child spawned, before it starts successors: ractor sends the notice before it drops the dead
//! actor's state, so a port would still be bound. A death in `pre_start`, for which ractor sends no notice, counts like any other.
//!
//! *Owns* nothing: the [`Unit`] outlives it. *Receives* the ends of the children. *Dies* with an error when there were
//! too many ends. The code that waits for the supervisor decides how to go on.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt as _;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};

use super::enter;
use super::environment::Environment;
use super::slot::Slot;
use crate::fsm::restart::{EndReason, Restarts};
use crate::limits::JOIN_TIMEOUT;
use crate::net::BoxFuture;
use crate::protocol::text::clean;
use crate::telemetry::events::Events;

/// The tasks that an actor spawned. The supervisor waits for their end before it starts a successor. If a task panics, its actor is
/// killed: otherwise the actor would wait for ever for the task's message.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<(Mutex<JoinSet<()>>, OnceLock<ActorCell>)>);

impl Tasks {
    /// Spawns a task that ends with the actor.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Boxed, so that the program has the code around a task once, and not for each kind.
        let task: BoxFuture<'static, ()> = Box::pin(task);
        let (tasks, actor) = &*self.0;
        let actor = actor.get().cloned();
        let mut tasks = enter(tasks);
        // Removes ended tasks, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err()
                && let Some(actor) = actor
            {
                actor.kill();
            }
        });
    }

    /// Aborts all tasks and waits for their end, at most [`JOIN_TIMEOUT`]. Returns false if a task has not ended by then.
    async fn end(&self) -> bool {
        let mut tasks = std::mem::take(&mut *enter(&self.0.0));
        tasks.abort_all();
        timeout(JOIN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await.is_ok()
    }
}

/// An actor with what all our actors have: an address, tasks, and a measurement of how long each message takes.
pub struct Seated<A: Actor> {
    pub inner: A,
    /// The actor's name in logs and labels.
    pub name: &'static str,
    pub events: Events,
    pub slot: Slot<A::Msg>,
    pub tasks: Tasks,
}

impl<A: Actor> Actor for Seated<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(&self, me: ActorRef<A::Msg>, arguments: A::Arguments) -> Result<A::State, ActorProcessingErr> {
        let _ = self.tasks.0.1.set(me.get_cell());
        // The slot is filled before the actor reads shared state. A message that is sent from here on waits in the
        // mailbox, and a change that was made before is in the shared state.
        self.slot.fill(me.clone());
        self.inner.pre_start(me, arguments).await
    }

    async fn post_start(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.inner.post_start(me, state).await
    }

    async fn handle(
        &self,
        me: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.events.handed_over(self.name);
        self.inner.handle(me, message, state).await
    }
}

/// How a child is started, and what is done when it has ended.
pub struct ChildSpec {
    /// The child's name in logs and labels.
    pub name: &'static str,
    pub start: Start,
    /// Empties the child's slot and ends its work, such as its requests. Called after the child's end and before a
    /// successor starts, and also if the child did not start.
    pub settle: Box<dyn Fn() + Send + Sync>,
}

/// Starts a child with these tasks, linked to its supervisor if it has one. The error comes from `pre_start`.
pub type Start = Box<
    dyn Fn(Option<ActorCell>, Tasks) -> BoxFuture<'static, Result<(ActorCell, JoinHandle<()>), SpawnErr>> + Send + Sync,
>;

struct Running {
    spec: Arc<ChildSpec>,
    cell: ActorCell,
    task: JoinHandle<()>,
    tasks: Tasks,
}

/// Children that start and stop together. They are kept here and not in the supervisor's state, because a supervisor
/// that fails cannot stop its children. ractor then only kills them, without waiting for their end and without calling
/// [`ChildSpec::settle`].
pub struct Unit {
    env: Arc<Environment>,
    specs: Vec<Arc<ChildSpec>>,
    running: Mutex<Vec<Running>>,
}

impl Unit {
    /// Returns the unit of these children, none of which runs.
    pub fn new(env: Arc<Environment>, specs: impl IntoIterator<Item = ChildSpec>) -> Self {
        Self { env, specs: specs.into_iter().map(Arc::new).collect(), running: Mutex::default() }
    }

    /// Starts all children in their order. Returns the name of a child that did not start.
    pub async fn start(&self, supervisor: Option<&ActorCell>) -> Option<&'static str> {
        for spec in &self.specs {
            let (spec, tasks) = (Arc::clone(spec), Tasks::default());
            match (spec.start)(supervisor.cloned(), tasks.clone()).await {
                Ok((cell, task)) => {
                    self.env.events.actor_started(spec.name);
                    enter(&self.running).push(Running { spec, cell, task, tasks });
                }
                Err(why) => {
                    tracing::error!(event = "actor_start_failed", actor = spec.name, reason = %why);
                    (spec.settle)();
                    tasks.end().await;
                    return Some(spec.name);
                }
            }
        }
        None
    }

    /// Stops the running children in reverse order: each gets [`JOIN_TIMEOUT`] to end, then its tasks are ended. Returns false if a
    /// part of them did not end in time.
    pub async fn stop(&self) -> bool {
        let mut all = true;
        loop {
            let last = enter(&self.running).pop();
            let Some(Running { spec, cell, mut task, tasks }) = last else { return all };
            cell.stop(None);
            let mut ended = timeout(JOIN_TIMEOUT, &mut task).await.is_ok();
            if !ended {
                cell.kill();
            }
            (spec.settle)();
            if !ended {
                ended = timeout(JOIN_TIMEOUT, &mut task).await.is_ok();
            }
            if !ended {
                task.abort();
                ended = timeout(JOIN_TIMEOUT, task).await.is_ok();
            }
            all &= tasks.end().await && ended;
        }
    }

    /// Waits until the first child has ended, if one runs.
    pub async fn first_ended(&self) {
        let first = enter(&self.running).first().map(|first| first.cell.clone());
        if let Some(first) = first {
            let _ = first.wait(None).await;
        }
    }

    fn name_of(&self, who: &ActorCell) -> Option<&'static str> {
        let running = enter(&self.running);
        running.iter().find(|child| child.cell.get_id() == who.get_id()).map(|child| child.spec.name)
    }
}

/// The supervisor actor. Its arguments are the unit, which outlives it, and how often the unit is started again.
pub struct Supervisor {
    /// The supervisor's name in logs and reports.
    pub name: &'static str,
}

pub struct State {
    unit: Arc<Unit>,
    restarts: Restarts,
    began: Instant,
}

impl Supervisor {
    /// Counts the end of a child, and starts all again. A successor that does not start counts as another end.
    ///
    /// # Errors
    /// There were too many ends. Or a part of a child did not end, and nothing may be started beside its remains. All
    /// children are stopped.
    async fn again(
        &self,
        me: ActorRef<()>,
        state: &mut State,
        mut end: Option<(&'static str, EndReason)>,
    ) -> Result<(), ActorProcessingErr> {
        let State { unit, restarts, began } = state;
        let me = me.get_cell();
        while let Some((child, reason)) = end {
            let exceeded = restarts.exceeded(began.elapsed());
            let why = if !unit.stop().await {
                format!("{}: a part of {child}, or of another child, did not end", self.name)
            } else if exceeded {
                format!("{}: {child} ended more than {} times within {:?}", self.name, restarts.max, restarts.window)
            } else {
                unit.env.restarting(child, reason);
                end = unit.start(Some(&me)).await.map(|child| (child, EndReason::StartFailed));
                continue;
            };
            unit.env.events.escalated(self.name);
            return Err(why.into());
        }
        Ok(())
    }
}

impl Actor for Supervisor {
    type Msg = ();
    type State = State;
    type Arguments = (Arc<Unit>, Restarts);

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        (unit, restarts): (Arc<Unit>, Restarts),
    ) -> Result<State, ActorProcessingErr> {
        Ok(State { unit, restarts, began: Instant::now() })
    }

    async fn post_start(&self, me: ActorRef<()>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let failed = state.unit.start(Some(&me.get_cell())).await;
        self.again(me, state, failed.map(|child| (child, EndReason::StartFailed))).await
    }

    async fn post_stop(&self, _: ActorRef<()>, state: &mut State) -> Result<(), ActorProcessingErr> {
        state.unit.stop().await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<()>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let (cell, reason) = match event {
            SupervisionEvent::ActorFailed(cell, error) => {
                // ractor reports a panic and an error of a handler as the same event; the panic hook has logged a panic.
                tracing::error!(event = "actor_failed", actor_id = %cell.get_id(), reason = %clean(&error.to_string()));
                (cell, EndReason::Failed)
            }
            SupervisionEvent::ActorTerminated(cell, its_state, why) => {
                // The state may hold sockets, so it is dropped before a successor starts.
                drop(its_state);
                (cell, if why.as_deref() == Some("killed") { EndReason::Killed } else { EndReason::Stopped })
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        // `None`: the actor was stopped with the others.
        let child = state.unit.name_of(&cell);
        self.again(me, state, child.map(|child| (child, reason))).await
    }
}
