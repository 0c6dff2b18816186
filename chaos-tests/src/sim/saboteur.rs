//! Makes the gateway's actors fail on command. Each actor is spawned inside the same wrapper that the supervision tests use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast::actors::gateway::Spawn;
use holdfast_testkit::sabotage::{self, Fault, Sabotage};
use ractor::{Actor, ActorCell, ActorRef, ActorStatus, SpawnErr};
use tokio::task::JoinHandle;

/// How an actor fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A panic while it starts.
    PreStart,
    /// A panic right after it started.
    PostStart,
    /// A panic in its next message.
    Handle,
    /// The next message is handled with an error.
    Error,
    /// A panic while it stops.
    PostStop,
    /// The actor is killed.
    Kill,
}

/// Spawns the gateway's actors in a wrapper, and makes them fail.
#[derive(Clone, Default)]
pub struct Saboteur {
    with: Sabotage,
    strikes: Arc<AtomicUsize>,
}

impl Saboteur {
    /// Makes an actor of this name fail.
    pub fn strike(&self, actor: &'static str, hook: Hook) {
        let (at, fault) = match hook {
            Hook::PreStart => (Some(sabotage::Hook::PreStart), Fault::Panic),
            Hook::PostStart => (Some(sabotage::Hook::PostStart), Fault::Panic),
            Hook::Handle => (Some(sabotage::Hook::Handle), Fault::Panic),
            Hook::Error => (Some(sabotage::Hook::Handle), Fault::Err),
            Hook::PostStop => (Some(sabotage::Hook::PostStop), Fault::Panic),
            Hook::Kill => (None, Fault::Panic),
        };
        if let Some(at) = at {
            self.with.plant(actor, at, fault);
        }
        // If the fault is at the start or end of an actor, a running actor is ended to cause it. Actors of the same name take
        // turns.
        let living: Vec<ActorCell> =
            self.with.lives(actor).into_iter().filter(|cell| cell.get_status() == ActorStatus::Running).collect();
        let turn = self.strikes.fetch_add(1, Ordering::Relaxed);
        if let Some(cell) = turn.checked_rem(living.len()).and_then(|nth| living.get(nth)) {
            match hook {
                Hook::Kill | Hook::PreStart | Hook::PostStart => cell.kill(),
                Hook::PostStop => cell.stop(None),
                Hook::Handle | Hook::Error => {}
            }
        }
    }

    /// Removes the faults that have not happened yet.
    pub fn disarm(&self) {
        self.with.clear();
    }
}

impl Spawn for Saboteur {
    async fn spawn<A: Actor>(
        &self,
        name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        self.with.spawn(name, actor, arguments, supervisor).await
    }
}
