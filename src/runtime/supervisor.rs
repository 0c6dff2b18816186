//! A supervisor that starts failed children again, by a strategy of OTP, and gives up after too many restarts (its intensity).
//! The shell around [`fsm::restart`](crate::fsm::restart).
//!
//! ractor has links and death notices, but no restart strategies; this module adds them. The supervisor waits for the end of a
//! dead child, and of every task that the child spawned, before it starts a successor: ractor sends the notice before it drops
//! the dead actor's state, so a port would still be bound. Before that it calls [`ChildSpec::settle`]. A death in `pre_start`,
//! for which ractor sends no notice, counts like any other. A supervisor that gives up stops its children in reverse order before
//! it ends.
//!
//! *Owns* its children's handles. *Receives* their ends. *Dies* with an error when the intensity is exceeded. What waits for it
//! decides how to go on.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::fsm::Driver;
use crate::fsm::restart::{Effect, EndReason, Event, Restart};
use crate::limits::JOIN_TIMEOUT;
use crate::net::BoxFuture;

/// The tasks that an incarnation of an actor (the actor between one start and its end) spawned. They belong to the spec, not to
/// the actor's state, so that the supervisor can wait for their end before it starts a successor. If a task panics, its actor is
/// killed, and the supervisor starts a successor: otherwise the actor would wait for ever for the task's message.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Mutex<Incarnation>>);

#[derive(Debug, Default)]
struct Incarnation {
    tasks: JoinSet<()>,
    /// Set once the actor has started.
    actor: Option<ActorCell>,
    failed: bool,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Incarnation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spawns a task that ends with this incarnation.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let this = Arc::downgrade(&self.0);
        let watched = async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err()
                && let Some(incarnation) = this.upgrade()
            {
                Self(incarnation).fail();
            }
        };
        let tasks = &mut self.lock().tasks;
        // Removes ended tasks, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(watched);
    }

    fn fail(&self) {
        let mut incarnation = self.lock();
        incarnation.failed = true;
        if let Some(actor) = &incarnation.actor {
            actor.kill();
        }
    }

    /// Sets the actor that these tasks belong to. Kills the actor if one of the tasks has failed already.
    pub fn belong_to(&self, actor: ActorCell) {
        let mut incarnation = self.lock();
        if incarnation.failed {
            actor.kill();
        }
        incarnation.actor = Some(actor);
    }

    /// Aborts all tasks and waits for their end, at most [`JOIN_TIMEOUT`]. Returns false if a task has not ended by then.
    pub async fn end(&self) -> bool {
        let Incarnation { mut tasks, .. } = std::mem::take(&mut *self.lock());
        tasks.abort_all();
        tokio::time::timeout(JOIN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await.is_ok()
    }
}

/// A started child.
pub struct Started {
    /// ractor's handle of the child.
    pub cell: ActorCell,
    /// The child's own task.
    pub task: JoinHandle<()>,
}

/// Starts a child linked to this supervisor. The error is that of `pre_start`.
pub type Start = Box<dyn Fn(ActorCell) -> BoxFuture<'static, Result<Started, String>> + Send + Sync>;

/// How to start a child and what outlives it.
///
/// An actor fills its slot in `pre_start`, before it reads shared state: messages sent after that wait in its mailbox, and what
/// was changed before that is in the shared state. If the slot were filled after the start, messages in between would be lost.
pub struct ChildSpec {
    /// The child's name in logs and labels.
    pub name: &'static str,
    /// Starts an incarnation.
    pub start: Start,
    /// The tasks of the current incarnation.
    pub tasks: Tasks,
    /// Empties the slot of an ended incarnation and ends what the incarnation was working on, such as its requests. Called after
    /// its end and before a successor starts.
    pub settle: Box<dyn Fn() + Send + Sync>,
}

impl ChildSpec {
    /// Removes what is left of an incarnation whose actor has ended. Returns false if a part of it did not end in time.
    async fn clear_away(&self, task: JoinHandle<()>) -> bool {
        // Called first: what the actor was working on must end now, however long its tasks take to end.
        (self.settle)();
        let joined = join(task).await;
        self.tasks.end().await && joined
    }
}

/// A supervisor's children. They are not kept in the supervisor's state, but by the part that waits for the supervisor: a
/// supervisor that fails cannot stop its children, and ractor only kills them, without waiting for their end and without calling
/// [`ChildSpec::settle`].
pub struct Children {
    specs: Vec<ChildSpec>,
    running: Mutex<Vec<Option<Started>>>,
}

impl Children {
    /// Creates the children of these specs, without starting them.
    pub fn new(specs: Vec<ChildSpec>) -> Arc<Self> {
        let running = Mutex::new(specs.iter().map(|_| None).collect());
        Arc::new(Self { specs, running })
    }

    fn spec(&self, index: u8) -> Option<&ChildSpec> {
        self.specs.get(usize::from(index))
    }

    fn name(&self, index: u8) -> &'static str {
        self.spec(index).map_or("unknown", |spec| spec.name)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Option<Started>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, index: u8, started: Started) {
        if let Some(place) = self.running().get_mut(usize::from(index)) {
            *place = Some(started);
        }
    }

    fn take(&self, index: u8) -> Option<Started> {
        self.running().get_mut(usize::from(index)).and_then(Option::take)
    }

    fn position(&self, who: ractor::ActorId) -> Option<u8> {
        let found = |place: &Option<Started>| place.as_ref().is_some_and(|started| started.cell.get_id() == who);
        self.running().iter().position(found).and_then(|index| u8::try_from(index).ok())
    }

    fn indexes(&self) -> std::ops::Range<u8> {
        0..u8::try_from(self.specs.len()).unwrap_or(u8::MAX)
    }

    /// Stops the running children in reverse order: each gets [`JOIN_TIMEOUT`] to end, then its tasks are ended. Returns false if a
    /// part of them did not end in time.
    pub async fn stop(&self) -> bool {
        let mut all = true;
        for index in self.indexes().rev() {
            let (Some(started), Some(spec)) = (self.take(index), self.spec(index)) else { continue };
            let orderly = started.cell.stop_and_wait(Some("stopped".to_owned()), Some(JOIN_TIMEOUT)).await;
            if orderly.is_err() {
                started.cell.kill();
            }
            all &= spec.clear_away(started.task).await;
        }
        all
    }
}

/// What a supervisor reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// A child was started.
    Started(&'static str),
    /// A child ended and will be started again.
    Restarting(&'static str, EndReason),
    /// The intensity is exceeded.
    Escalated(&'static str),
}

/// The supervisor actor. Its argument is its children, which outlive it.
pub struct Supervisor {
    /// The supervisor's name in logs and reports.
    pub name: &'static str,
    /// Which children it starts again, and how often.
    pub policy: Restart,
    /// Called for every start, restart and escalation.
    pub report: Arc<dyn Fn(Report) + Send + Sync>,
}

/// Messages to a supervisor.
#[derive(Debug)]
pub enum Message {
    /// Stop the children in reverse order, then the supervisor.
    Stop,
}

/// The state of a supervisor.
pub struct SupervisorState {
    children: Arc<Children>,
    policy: Driver<Restart>,
    began: Instant,
}

impl Supervisor {
    /// Starts a child. Returns false if it did not start.
    async fn start(&self, me: &ActorCell, state: &SupervisorState, index: u8) -> bool {
        let Some(spec) = state.children.spec(index) else { return true };
        match (spec.start)(me.clone()).await {
            Ok(started) => {
                (self.report)(Report::Started(spec.name));
                state.children.put(index, started);
                true
            }
            Err(why) => {
                tracing::error!(event = "actor_start_failed", actor = spec.name, reason = %why);
                (spec.settle)();
                spec.tasks.end().await;
                false
            }
        }
    }

    /// Starts all children in their order. Returns the one that did not start.
    async fn start_all(&self, me: &ActorCell, state: &SupervisorState) -> Option<u8> {
        for index in state.children.indexes() {
            if !self.start(me, state, index).await {
                return Some(index);
            }
        }
        None
    }

    /// Counts the end of a child that is gone, and carries out what follows. A successor that does not start counts as another end.
    ///
    /// # Errors
    /// There were too many ends. All children are stopped.
    async fn ended(
        &self,
        me: &ActorCell,
        state: &mut SupervisorState,
        child: u8,
        reason: EndReason,
    ) -> Result<(), ActorProcessingErr> {
        let mut end = Some((child, reason));
        while let Some((child, reason)) = end.take() {
            let (name, at) = (state.children.name(child), state.began.elapsed());
            for effect in state.policy.feed(&Event::ChildEnded { child, at, reason }).effects {
                let failed = match effect {
                    Effect::Restart { .. } => {
                        (self.report)(Report::Restarting(name, reason));
                        (!self.start(me, state, child).await).then_some(child)
                    }
                    Effect::StartChildren => {
                        (self.report)(Report::Restarting(name, reason));
                        self.start_all(me, state).await
                    }
                    Effect::StopChildren => {
                        if !state.children.stop().await {
                            return Err(self.stuck("a part of another child"));
                        }
                        None
                    }
                    Effect::Escalate { .. } => {
                        (self.report)(Report::Escalated(self.name));
                        let Restart { max, window, .. } = self.policy;
                        return Err(
                            format!("{}: {name} ended more than {max} times within {window:?}", self.name).into()
                        );
                    }
                };
                end = failed.map(|child| (child, EndReason::StartFailed));
            }
        }
        Ok(())
    }

    /// Nothing is started beside the remains of what did not end.
    fn stuck(&self, what: &str) -> ActorProcessingErr {
        (self.report)(Report::Escalated(self.name));
        format!("{}: {what} did not end", self.name).into()
    }

    async fn child_ended(
        &self,
        me: &ActorCell,
        state: &mut SupervisorState,
        who: ractor::ActorId,
        reason: EndReason,
    ) -> Result<(), ActorProcessingErr> {
        let children = Arc::clone(&state.children);
        let Some(index) = children.position(who) else { return Ok(()) };
        if let (Some(started), Some(spec)) = (children.take(index), children.spec(index))
            && !spec.clear_away(started.task).await
        {
            children.stop().await;
            return Err(self.stuck(spec.name));
        }
        self.ended(me, state, index, reason).await
    }
}

/// Waits for the end of a dead actor's task, and aborts the task after [`JOIN_TIMEOUT`]. Returns false if it did not end within
/// the same time after that.
async fn join(mut task: JoinHandle<()>) -> bool {
    if tokio::time::timeout(JOIN_TIMEOUT, &mut task).await.is_ok() {
        return true;
    }
    task.abort();
    tokio::time::timeout(JOIN_TIMEOUT, task).await.is_ok()
}

impl Actor for Supervisor {
    type Msg = Message;
    type State = SupervisorState;
    type Arguments = Arc<Children>;

    async fn pre_start(
        &self,
        _me: ActorRef<Message>,
        children: Arc<Children>,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let (policy, _) = Driver::start(self.policy.clone());
        Ok(SupervisorState { children, policy, began: Instant::now() })
    }

    async fn post_start(&self, me: ActorRef<Message>, state: &mut SupervisorState) -> Result<(), ActorProcessingErr> {
        let me = me.get_cell();
        match self.start_all(&me, state).await {
            Some(child) => self.ended(&me, state, child, EndReason::StartFailed).await,
            None => Ok(()),
        }
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Stop => {
                state.policy.feed(&Event::StopRequested);
                state.children.stop().await;
                me.stop(Some("stopped".to_owned()));
            }
        }
        Ok(())
    }

    async fn post_stop(&self, _me: ActorRef<Message>, state: &mut SupervisorState) -> Result<(), ActorProcessingErr> {
        state.children.stop().await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<Message>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        let (who, reason) = match event {
            SupervisionEvent::ActorFailed(cell, error) => {
                // ractor reports a panic and an error of a handler as the same event; the panic hook has logged a panic.
                tracing::error!(event = "actor_failed", actor_id = %cell.get_id(), reason = %crate::protocol::text::clean(&error.to_string()));
                (cell.get_id(), EndReason::Failed)
            }
            SupervisionEvent::ActorTerminated(cell, its_state, why) => {
                // The state may hold sockets, so it is dropped before a successor starts.
                drop(its_state);
                let reason = if why.as_deref() == Some("killed") { EndReason::Killed } else { EndReason::Stopped };
                (cell.get_id(), reason)
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        self.child_ended(&me.get_cell(), state, who, reason).await
    }
}
