//! Actors that fail on a plan: the product's own actors inside a wrapper that panics or errs where a test says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast::actors::gateway::Spawn;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::task::JoinHandle;

/// Stands in every planted panic.
pub const MARK: &str = "sabotage";

/// Where an actor fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// While it starts.
    PreStart,
    /// Right after it started.
    PostStart,
    /// Before the message is handled: it is lost.
    Handle,
    /// After the message was handled: its effects are out.
    Handled,
    /// While it stops.
    PostStop,
    /// As it hears of a child's end.
    Supervise,
}

/// How it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// By a panic.
    Panic,
    /// By an error.
    Err,
}

#[derive(Default)]
struct Plans {
    faults: BTreeMap<(&'static str, Hook), VecDeque<Fault>>,
    lives: BTreeMap<&'static str, Vec<ActorCell>>,
    slow: BTreeMap<&'static str, Duration>,
    stuck: Vec<&'static str>,
}

/// The plan; clones share it.
#[derive(Clone, Default)]
pub struct Sabotage(Arc<Mutex<Plans>>);

impl Sabotage {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next time `name` comes to `hook`, it fails so.
    pub fn plant(&self, name: &'static str, hook: Hook, fault: Fault) {
        self.plans().faults.entry((name, hook)).or_default().push_back(fault);
    }

    /// True when every planted fault has struck.
    pub fn struck(&self) -> bool {
        self.plans().faults.values().all(VecDeque::is_empty)
    }

    /// Nothing that is planted strikes any more.
    pub fn clear(&self) {
        self.plans().faults.clear();
    }

    /// From now on whoever starts `name` hears of it only after so long.
    pub fn slow(&self, name: &'static str, delay: Duration) {
        self.plans().slow.insert(name, delay);
    }

    /// The next handler of `name` never ends.
    pub fn stick(&self, name: &'static str) {
        self.plans().stuck.push(name);
    }

    /// The incarnations of an actor so far.
    pub fn lives(&self, name: &str) -> Vec<ActorCell> {
        self.plans().lives.get(name).cloned().unwrap_or_default()
    }

    /// The present incarnation.
    ///
    /// # Panics
    /// If the actor was never started.
    pub fn cell(&self, name: &str) -> ActorCell {
        self.lives(name).pop().expect("it was started")
    }

    /// Its id.
    ///
    /// # Panics
    /// As [`cell`](Self::cell).
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
        supervisor: ActorCell,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        let saboteur = Saboteur { inner: actor, name, plan: self.clone() };
        let spawned = Saboteur::spawn_linked(None, saboteur, arguments, supervisor).await?;
        self.plans().lives.entry(name).or_default().push(spawned.0.get_cell());
        let delay = self.plans().slow.get(name).copied();
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        Ok(spawned)
    }
}

/// An actor that fails on a plan.
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
