//! Actors that fail on a plan. The gateway's own actors run in a wrapper, which panics or returns an error where a test demands
//! it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast::actors::gateway::{Spawn, spawn_under};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, ActorStatus, SpawnErr, SupervisionEvent};
use tokio::task::JoinHandle;

/// The payload of every deliberate panic and error.
pub const MARK: &str = "sabotage";

/// Where an actor fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// While it starts.
    PreStart,
    /// Right after it started.
    PostStart,
    /// Before a message is handled; the message is lost.
    Handle,
    /// After a message was handled; its effects remain.
    Handled,
    /// While it stops.
    PostStop,
    /// When it is notified of a child's end.
    Supervise,
}

/// How an actor fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// With a panic.
    Panic,
    /// With an error.
    Err,
}

#[derive(Default)]
struct Plans {
    faults: BTreeMap<(&'static str, Hook), VecDeque<Fault>>,
    lives: BTreeMap<&'static str, Vec<ActorCell>>,
    slow: BTreeMap<&'static str, Duration>,
    late: BTreeMap<&'static str, Duration>,
    stuck: Vec<&'static str>,
}

/// The planned faults of all actors. Clones share them.
#[derive(Clone, Default)]
pub struct Sabotage(Arc<Mutex<Plans>>);

impl Sabotage {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the actor `name` fail the next time it reaches `hook`. Several faults for one hook happen one after the other.
    pub fn plant(&self, name: &'static str, hook: Hook, fault: Fault) {
        self.plans().faults.entry((name, hook)).or_default().push_back(fault);
    }

    /// Whether every planned fault has happened.
    pub fn struck(&self) -> bool {
        self.plans().faults.values().all(VecDeque::is_empty)
    }

    /// Removes all planned faults.
    pub fn clear(&self) {
        self.plans().faults.clear();
    }

    /// Makes every later start of the actor `name` begin so much later.
    pub fn late(&self, name: &'static str, delay: Duration) {
        self.plans().late.insert(name, delay);
    }

    /// Delays the end of every later start of the actor `name` by this time.
    pub fn slow(&self, name: &'static str, delay: Duration) {
        self.plans().slow.insert(name, delay);
    }

    /// Makes the next handler of the actor `name` hang for ever.
    pub fn stick(&self, name: &'static str) {
        self.plans().stuck.push(name);
    }

    /// Returns all incarnations of an actor so far, the current one last.
    pub fn lives(&self, name: &str) -> Vec<ActorCell> {
        self.plans().lives.get(name).cloned().unwrap_or_default()
    }

    /// Returns how many actors of this name run.
    pub fn running(&self, name: &str) -> usize {
        self.lives(name).iter().filter(|life| life.get_status() == ActorStatus::Running).count()
    }

    /// Returns the current incarnation of an actor.
    ///
    /// # Panics
    /// Panics if the actor was never started.
    pub fn cell(&self, name: &str) -> ActorCell {
        self.lives(name).pop().expect("it was started")
    }

    /// Returns the id of the current incarnation.
    ///
    /// # Panics
    /// Panics like [`cell`](Self::cell).
    pub fn id(&self, name: &str) -> ActorId {
        self.cell(name).get_id()
    }

    fn strike(&self, name: &'static str, hook: Hook) -> Result<(), ActorProcessingErr> {
        let fault = self.plans().faults.get_mut(&(name, hook)).and_then(VecDeque::pop_front);
        match fault {
            None => Ok(()),
            Some(Fault::Panic) => std::panic::panic_any(MARK),
            Some(Fault::Err) => Err(MARK.into()),
        }
    }
}

impl Spawn for Sabotage {
    async fn spawn<A: Actor>(
        &self,
        name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        let late = self.plans().late.get(name).copied();
        if let Some(delay) = late {
            tokio::time::sleep(delay).await;
        }
        let saboteur = Saboteur { inner: actor, name, plan: self.clone() };
        let spawned = spawn_under(saboteur, arguments, supervisor).await?;
        self.plans().lives.entry(name).or_default().push(spawned.0.get_cell());
        let delay = self.plans().slow.get(name).copied();
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        Ok(spawned)
    }
}

/// The wrapper of one actor, which fails as planned.
struct Saboteur<A> {
    inner: A,
    name: &'static str,
    plan: Sabotage,
}

impl<A: Actor> Actor for Saboteur<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(&self, me: ActorRef<A::Msg>, arguments: A::Arguments) -> Result<A::State, ActorProcessingErr> {
        self.plan.strike(self.name, Hook::PreStart)?;
        self.inner.pre_start(me, arguments).await
    }

    async fn post_start(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.plan.strike(self.name, Hook::PostStart)?;
        self.inner.post_start(me, state).await
    }

    async fn handle(
        &self,
        me: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.plan.strike(self.name, Hook::Handle)?;
        let stuck = self.plan.plans().stuck.iter().position(|stuck| *stuck == self.name);
        if let Some(at) = stuck {
            self.plan.plans().stuck.remove(at);
            std::future::pending::<()>().await;
        }
        self.inner.handle(me, message, state).await?;
        self.plan.strike(self.name, Hook::Handled)
    }

    async fn post_stop(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.plan.strike(self.name, Hook::PostStop)?;
        self.inner.post_stop(me, state).await
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<A::Msg>,
        event: SupervisionEvent,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        if !matches!(event, SupervisionEvent::ActorStarted(_)) {
            self.plan.strike(self.name, Hook::Supervise)?;
        }
        self.inner.handle_supervisor_evt(me, event, state).await
    }
}
