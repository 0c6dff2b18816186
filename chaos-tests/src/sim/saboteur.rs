//! Actors that break on command: the wrapper that the gateway's spawning seam lets us put around each of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast::actors::gateway::Spawn;
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr};
use tokio::task::JoinHandle;

/// What every planted panic says; the panic hook knows it.
pub const SABOTAGE: &str = "sabotage";

/// Where an actor breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A panic while it starts.
    PreStart,
    /// A panic right after it started.
    PostStart,
    /// A panic in its next message.
    Handle,
    /// An error from its next message.
    Error,
    /// A panic while it stops.
    PostStop,
    /// It is killed.
    Kill,
}

#[derive(Default)]
struct Inner {
    armed: BTreeMap<&'static str, Hook>,
    cells: BTreeMap<&'static str, ActorCell>,
}

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct Saboteur(Arc<Mutex<Inner>>);

impl Saboteur {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Breaks an actor.
    pub fn strike(&self, actor: &'static str, hook: Hook) {
        let mut inner = self.inner();
        let cell = inner.cells.get(actor).cloned();
        if hook != Hook::Kill {
            inner.armed.insert(actor, hook);
        }
        drop(inner);
        // What breaks at a start or at an end needs one.
        if let Some(cell) = cell {
            match hook {
                Hook::Kill | Hook::PreStart | Hook::PostStart => cell.kill(),
                Hook::PostStop => cell.stop(None),
                Hook::Handle | Hook::Error => {}
            }
        }
    }

    /// No more strikes.
    pub fn disarm(&self) {
        self.inner().armed.clear();
    }

    fn breaks(&self, actor: &'static str, hook: Hook) -> bool {
        let mut inner = self.inner();
        let breaks = inner.armed.get(actor) == Some(&hook);
        if breaks {
            inner.armed.remove(actor);
        }
        breaks
    }

    fn maybe_panic(&self, actor: &'static str, hook: Hook) {
        if self.breaks(actor, hook) {
            std::panic::panic_any(SABOTAGE);
        }
    }
}

impl Spawn for Saboteur {
    async fn spawn<A: Actor>(
        &self,
        name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: ActorCell,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        let wrapped = Wrapped { inner: actor, name, saboteur: self.clone() };
        let spawned = Wrapped::spawn_linked(None, wrapped, arguments, supervisor).await?;
        self.inner().cells.insert(name, spawned.0.get_cell());
        Ok(spawned)
    }
}

struct Wrapped<A> {
    inner: A,
    name: &'static str,
    saboteur: Saboteur,
}

impl<A: Actor> Actor for Wrapped<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(&self, me: ActorRef<A::Msg>, arguments: A::Arguments) -> Result<A::State, ActorProcessingErr> {
        self.saboteur.maybe_panic(self.name, Hook::PreStart);
        self.inner.pre_start(me, arguments).await
    }

    async fn post_start(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.saboteur.maybe_panic(self.name, Hook::PostStart);
        self.inner.post_start(me, state).await
    }

    async fn post_stop(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.saboteur.maybe_panic(self.name, Hook::PostStop);
        self.inner.post_stop(me, state).await
    }

    async fn handle(
        &self,
        me: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.saboteur.maybe_panic(self.name, Hook::Handle);
        if self.saboteur.breaks(self.name, Hook::Error) {
            return Err(SABOTAGE.into());
        }
        self.inner.handle(me, message, state).await
    }
}
