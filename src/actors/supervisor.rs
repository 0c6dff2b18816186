//! A one-for-one supervisor with intensity: the shell around [`fsm::restart`](crate::fsm::restart).
//!
//! ractor gives links and death notices, not strategies. What this adds: a dead child is joined, with every task it spawned,
//! before its successor starts (the notice comes before the dead state is dropped, so a port would still be bound); whoever
//! saw it end settles what it held first; a death in `pre_start`, of which ractor sends no notice, is counted like any other; a
//! supervisor that gives up stops its children in reverse order before it ends.
//!
//! *Owns* its children's handles. *Receives* their ends. *Dies* when the intensity is exceeded, with an error, so that whoever
//! is above it counts one death.

use std::sync::{Arc, Mutex, PoisonError};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::fsm::Driver;
use crate::fsm::restart::{Effect, EndReason, Event, Restart};
use crate::limits::JOIN_TIMEOUT;
use crate::net::BoxFuture;

/// The tasks that an incarnation of an actor spawned. They lie in the recipe, not in the actor's state, so that they can be
/// joined before a successor starts.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Spawns a task that ends with this incarnation.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Ended tasks are taken out as new ones come, so that the set stays as small as what really runs.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends all tasks and waits for them, at most [`JOIN_TIMEOUT`].
    pub async fn end(&self) -> bool {
        let mut tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.abort_all();
        tokio::time::timeout(JOIN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await.is_ok()
    }
}

/// A started child.
pub struct Started {
    /// Its cell.
    pub cell: ActorCell,
    /// Its task.
    pub task: JoinHandle<()>,
}

/// Starts a child linked to this supervisor; an error is what `pre_start` said.
pub type Start = Box<dyn Fn(ActorCell) -> BoxFuture<'static, Result<Started, String>> + Send + Sync>;

/// How to start a child and what outlives it.
pub struct Recipe {
    /// Its name in logs and labels.
    pub name: &'static str,
    /// Starts an incarnation.
    pub start: Start,
    /// The tasks of its incarnations.
    pub tasks: Tasks,
    /// Settles what an incarnation held, after it was seen to end and before a successor starts.
    pub settle: Box<dyn Fn() + Send + Sync>,
}

/// What a supervisor tells whoever watches restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// A child was started.
    Started(&'static str),
    /// A child ended and is started again.
    Restarting(&'static str, EndReason),
    /// The intensity is exceeded.
    Escalated(&'static str),
}

/// The actor. Its arguments are built by a closure, since a supervisor that is itself restarted needs fresh recipes.
pub struct Supervisor {
    /// Its name.
    pub name: &'static str,
    /// Restarts allowed within `window`.
    pub max: usize,
    /// See `max`.
    pub window: std::time::Duration,
    /// Told of every start and end.
    pub report: Arc<dyn Fn(Report) + Send + Sync>,
}

/// Messages to a supervisor.
#[derive(Debug)]
pub enum Message {
    /// Stop the children in reverse order, then end.
    Stop,
}

/// What a supervisor keeps.
pub struct Children {
    recipes: Vec<Recipe>,
    running: Vec<Option<Started>>,
    policy: Driver<Restart>,
    began: Instant,
}

impl Supervisor {
    async fn start_child(&self, me: &ActorCell, children: &mut Children, index: u8) -> Result<(), ActorProcessingErr> {
        loop {
            let Some(recipe) = children.recipes.get(usize::from(index)) else { return Ok(()) };
            match (recipe.start)(me.clone()).await {
                Ok(started) => {
                    (self.report)(Report::Started(recipe.name));
                    if let Some(place) = children.running.get_mut(usize::from(index)) {
                        *place = Some(started);
                    }
                    return Ok(());
                }
                Err(why) => {
                    tracing::error!(event = "actor_start_failed", actor = recipe.name, reason = %why);
                    (recipe.settle)();
                    recipe.tasks.end().await;
                    if !self.ended(me, children, index, EndReason::StartFailed).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Counts an end. True: start it again. An error: the intensity is exceeded.
    async fn ended(
        &self,
        me: &ActorCell,
        children: &mut Children,
        child: u8,
        reason: EndReason,
    ) -> Result<bool, ActorProcessingErr> {
        let at = children.began.elapsed();
        let name = children.recipes.get(usize::from(child)).map_or("unknown", |recipe| recipe.name);
        for effect in children.policy.feed(&Event::ChildEnded { child, at, reason }).effects {
            match effect {
                Effect::Restart { .. } => {
                    (self.report)(Report::Restarting(name, reason));
                    return Ok(true);
                }
                Effect::Escalate { .. } => {
                    (self.report)(Report::Escalated(self.name));
                    self.stop_children(me, children).await;
                    return Err(format!(
                        "{}: {name} ended more than {} times within {:?}",
                        self.name, self.max, self.window
                    )
                    .into());
                }
                Effect::StopChildren => self.stop_children(me, children).await,
            }
        }
        Ok(false)
    }

    /// In reverse order, each given its time, then its tasks.
    async fn stop_children(&self, _me: &ActorCell, children: &mut Children) {
        for (recipe, place) in children.recipes.iter().zip(&mut children.running).rev() {
            if let Some(started) = place.take() {
                let orderly = started.cell.stop_and_wait(Some("stopped".to_owned()), Some(JOIN_TIMEOUT)).await;
                if orderly.is_err() {
                    started.cell.kill();
                }
                join(started.task).await;
                (recipe.settle)();
                recipe.tasks.end().await;
            }
        }
    }

    async fn child_ended(
        &self,
        me: &ActorCell,
        children: &mut Children,
        who: ractor::ActorId,
        reason: EndReason,
    ) -> Result<(), ActorProcessingErr> {
        let found = children
            .running
            .iter()
            .position(|place| place.as_ref().is_some_and(|started| started.cell.get_id() == who))
            .and_then(|index| u8::try_from(index).ok());
        let Some(index) = found else { return Ok(()) };
        let task = children.running.get_mut(usize::from(index)).and_then(Option::take).map(|started| started.task);
        if let Some(recipe) = children.recipes.get(usize::from(index)) {
            // First what it held is settled: nothing of it may count any more, however long its remains take to fall.
            (recipe.settle)();
            let joined = match task {
                Some(task) => join(task).await,
                None => true,
            };
            if !(recipe.tasks.end().await && joined) {
                (self.report)(Report::Escalated(self.name));
                self.stop_children(me, children).await;
                return Err(
                    format!("{}: the remains of {} did not fall", self.name, recipe_name(children, index)).into()
                );
            }
        }
        if self.ended(me, children, index, reason).await? {
            self.start_child(me, children, index).await?;
        }
        Ok(())
    }
}

fn recipe_name(children: &Children, index: u8) -> &'static str {
    children.recipes.get(usize::from(index)).map_or("unknown", |recipe| recipe.name)
}

/// Waits for a dead actor's task; aborts it after [`JOIN_TIMEOUT`]. False if even that did not end it.
async fn join(mut task: JoinHandle<()>) -> bool {
    if tokio::time::timeout(JOIN_TIMEOUT, &mut task).await.is_ok() {
        return true;
    }
    task.abort();
    tokio::time::timeout(JOIN_TIMEOUT, task).await.is_ok()
}

impl Actor for Supervisor {
    type Msg = Message;
    type State = Children;
    type Arguments = Vec<Recipe>;

    async fn pre_start(&self, _me: ActorRef<Message>, recipes: Vec<Recipe>) -> Result<Children, ActorProcessingErr> {
        let (policy, _) = Driver::start(Restart::new(self.max, self.window));
        let running = recipes.iter().map(|_| None).collect();
        Ok(Children { recipes, running, policy, began: Instant::now() })
    }

    async fn post_start(&self, me: ActorRef<Message>, children: &mut Children) -> Result<(), ActorProcessingErr> {
        for index in 0..u8::try_from(children.recipes.len()).unwrap_or(u8::MAX) {
            self.start_child(&me.get_cell(), children, index).await?;
        }
        Ok(())
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        children: &mut Children,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Stop => {
                children.policy.feed(&Event::StopRequested);
                self.stop_children(&me.get_cell(), children).await;
                me.stop(Some("stopped".to_owned()));
            }
        }
        Ok(())
    }

    async fn post_stop(&self, me: ActorRef<Message>, children: &mut Children) -> Result<(), ActorProcessingErr> {
        self.stop_children(&me.get_cell(), children).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<Message>,
        event: SupervisionEvent,
        children: &mut Children,
    ) -> Result<(), ActorProcessingErr> {
        let (who, reason) = match event {
            SupervisionEvent::ActorFailed(cell, error) => {
                // ractor tells a panic and an error of a handler by one event; the panic hook has logged a panic.
                tracing::error!(event = "actor_failed", actor_id = %cell.get_id(), reason = %crate::telemetry::clean(&error.to_string()));
                (cell.get_id(), EndReason::Failed)
            }
            SupervisionEvent::ActorTerminated(cell, state, why) => {
                // The state may hold sockets: it falls before anything is started again.
                drop(state);
                let reason = if why.as_deref() == Some("killed") { EndReason::Killed } else { EndReason::Stopped };
                (cell.get_id(), reason)
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        self.child_ended(&me.get_cell(), children, who, reason).await
    }
}
