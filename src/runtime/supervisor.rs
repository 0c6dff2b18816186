//! A one-for-one supervisor with intensity: the shell around [`fsm::restart`](crate::fsm::restart).
//!
//! ractor gives links and death notices, not strategies. What this adds: a dead child is joined, with every task it spawned,
//! before its successor starts (the notice comes before the dead state is dropped, so a port would still be bound); whoever
//! saw it end settles what it held first; a death in `pre_start`, of which ractor sends no notice, is counted like any other; a
//! supervisor that gives up stops its children in reverse order before it ends.
//!
//! *Owns* its children's handles. *Receives* their ends. *Dies* when the intensity is exceeded, with an error, so that whoever
//! is above it counts one death.

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

/// The tasks that an incarnation of an actor spawned. They lie in the recipe, not in the actor's state, so that they can be
/// joined before a successor starts. A panic in one of them is a failure of its actor, which would wait for ever for what the
/// task was to tell it: the actor is ended, and its supervisor starts a successor.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Mutex<Incarnation>>);

#[derive(Debug, Default)]
struct Incarnation {
    tasks: JoinSet<()>,
    /// Known as soon as the actor has started.
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
        // Ended tasks are taken out as new ones come, so that the set stays as small as what really runs.
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

    /// Says whose tasks these are.
    pub fn belong_to(&self, actor: ActorCell) {
        let mut incarnation = self.lock();
        if incarnation.failed {
            actor.kill();
        }
        incarnation.actor = Some(actor);
    }

    /// Ends all tasks and waits for them, at most [`JOIN_TIMEOUT`].
    pub async fn end(&self) -> bool {
        let Incarnation { mut tasks, .. } = std::mem::take(&mut *self.lock());
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
///
/// An actor puts itself into its slot in `pre_start`, before it reads what others left for it: whatever is said from then on
/// waits in its mailbox, and whatever was said before stands where it reads. Filled after the start, the slot would lose what
/// is said in between.
pub struct Recipe {
    /// Its name in logs and labels.
    pub name: &'static str,
    /// Starts an incarnation.
    pub start: Start,
    /// The tasks of its incarnations.
    pub tasks: Tasks,
    /// Settles what an incarnation held, after it was seen to end and before a successor starts.
    pub settle: Box<dyn Fn() + Send + Sync>,
    /// The children of a child that is a supervisor itself.
    pub brood: Option<Arc<Brood>>,
}

impl Recipe {
    /// Ends what an incarnation that is gone left behind: its tasks, and its children if it was a supervisor that could not
    /// stop them itself. False if something of it did not fall in time.
    fn clear_away(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            if let Some(brood) = &self.brood {
                brood.stop().await;
            }
            self.tasks.end().await
        })
    }
}

/// A supervisor's children. They lie with whoever waits for the supervisor, not in its state: one that fails cannot stop its
/// children any more, and ractor only kills them, without waiting for them or settling what they held.
pub struct Brood {
    recipes: Vec<Recipe>,
    running: Mutex<Vec<Option<Started>>>,
}

impl Brood {
    /// The children that these recipes make, none of them started.
    pub fn new(recipes: Vec<Recipe>) -> Arc<Self> {
        let running = Mutex::new(recipes.iter().map(|_| None).collect());
        Arc::new(Self { recipes, running })
    }

    fn recipe(&self, index: u8) -> Option<&Recipe> {
        self.recipes.get(usize::from(index))
    }

    fn name(&self, index: u8) -> &'static str {
        self.recipe(index).map_or("unknown", |recipe| recipe.name)
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

    /// Stops what runs, in reverse order, each given its time, then its tasks.
    pub async fn stop(&self) {
        for index in (0..u8::try_from(self.recipes.len()).unwrap_or(u8::MAX)).rev() {
            let (Some(started), Some(recipe)) = (self.take(index), self.recipe(index)) else { continue };
            let orderly = started.cell.stop_and_wait(Some("stopped".to_owned()), Some(JOIN_TIMEOUT)).await;
            if orderly.is_err() {
                started.cell.kill();
            }
            join(started.task).await;
            (recipe.settle)();
            recipe.clear_away().await;
        }
    }
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

/// The actor. Its argument is its brood, which outlives it.
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
    brood: Arc<Brood>,
    policy: Driver<Restart>,
    began: Instant,
}

impl Supervisor {
    async fn start_child(&self, me: &ActorCell, children: &mut Children, index: u8) -> Result<(), ActorProcessingErr> {
        let brood = Arc::clone(&children.brood);
        let Some(recipe) = brood.recipe(index) else { return Ok(()) };
        loop {
            match (recipe.start)(me.clone()).await {
                Ok(started) => {
                    (self.report)(Report::Started(recipe.name));
                    brood.put(index, started);
                    return Ok(());
                }
                Err(why) => {
                    tracing::error!(event = "actor_start_failed", actor = recipe.name, reason = %why);
                    (recipe.settle)();
                    recipe.clear_away().await;
                    if !self.ended(children, index, EndReason::StartFailed).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Counts an end. True: start it again. An error: the intensity is exceeded.
    async fn ended(&self, children: &mut Children, child: u8, reason: EndReason) -> Result<bool, ActorProcessingErr> {
        let at = children.began.elapsed();
        let name = children.brood.name(child);
        for effect in children.policy.feed(&Event::ChildEnded { child, at, reason }).effects {
            match effect {
                Effect::Restart { .. } => {
                    (self.report)(Report::Restarting(name, reason));
                    return Ok(true);
                }
                Effect::Escalate { .. } => {
                    (self.report)(Report::Escalated(self.name));
                    children.brood.stop().await;
                    return Err(format!(
                        "{}: {name} ended more than {} times within {:?}",
                        self.name, self.max, self.window
                    )
                    .into());
                }
                Effect::StopChildren => children.brood.stop().await,
            }
        }
        Ok(false)
    }

    async fn child_ended(
        &self,
        me: &ActorCell,
        children: &mut Children,
        who: ractor::ActorId,
        reason: EndReason,
    ) -> Result<(), ActorProcessingErr> {
        let brood = Arc::clone(&children.brood);
        let Some(index) = brood.position(who) else { return Ok(()) };
        if let (Some(started), Some(recipe)) = (brood.take(index), brood.recipe(index)) {
            // First what it held is settled: nothing of it may count any more, however long its remains take to fall.
            (recipe.settle)();
            let joined = join(started.task).await;
            if !(recipe.clear_away().await && joined) {
                (self.report)(Report::Escalated(self.name));
                brood.stop().await;
                return Err(format!("{}: the remains of {} did not fall", self.name, recipe.name).into());
            }
        }
        if self.ended(children, index, reason).await? {
            self.start_child(me, children, index).await?;
        }
        Ok(())
    }
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
    type Arguments = Arc<Brood>;

    async fn pre_start(&self, _me: ActorRef<Message>, brood: Arc<Brood>) -> Result<Children, ActorProcessingErr> {
        let (policy, _) = Driver::start(Restart::new(self.max, self.window));
        Ok(Children { brood, policy, began: Instant::now() })
    }

    async fn post_start(&self, me: ActorRef<Message>, children: &mut Children) -> Result<(), ActorProcessingErr> {
        for index in 0..u8::try_from(children.brood.recipes.len()).unwrap_or(u8::MAX) {
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
                children.brood.stop().await;
                me.stop(Some("stopped".to_owned()));
            }
        }
        Ok(())
    }

    async fn post_stop(&self, _me: ActorRef<Message>, children: &mut Children) -> Result<(), ActorProcessingErr> {
        children.brood.stop().await;
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
                tracing::error!(event = "actor_failed", actor_id = %cell.get_id(), reason = %crate::protocol::text::clean(&error.to_string()));
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
