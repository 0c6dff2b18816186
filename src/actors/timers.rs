//! The timers of one incarnation of an actor, by name.
//!
//! A machine arms and disarms by name; the sleeping task only wakes the actor, which asks [`Timers::fired`] whether the name is
//! still armed and due. A stale firing (disarmed, re-armed for later, or of another generation) therefore never reaches the
//! machine, and re-arming for later costs no new task.

use std::collections::BTreeMap;
use std::time::Duration;

use ractor::{ActorRef, Message};
use tokio::task::AbortHandle;
use tokio::time::Instant;

struct Armed {
    due: Option<Instant>,
    /// When the sleeping task wakes, and how to end it.
    sleeper: Option<(Instant, AbortHandle)>,
}

/// See the module's documentation. Dropping it ends all sleeping tasks.
pub struct Timers<K, M> {
    actor: ActorRef<M>,
    wrap: fn(K) -> M,
    armed: BTreeMap<K, Armed>,
}

impl<K: Copy + Ord + Send + 'static, M: Message> Timers<K, M> {
    /// Timers that wake `actor` with the message that `wrap` makes of a name.
    pub fn new(actor: ActorRef<M>, wrap: fn(K) -> M) -> Self {
        Self { actor, wrap, armed: BTreeMap::new() }
    }

    /// Arms a name, in place of whatever it was armed for.
    pub fn arm(&mut self, name: K, delay: Duration) {
        let due = Instant::now() + delay;
        let armed = self.armed.entry(name).or_insert(Armed { due: None, sleeper: None });
        armed.due = Some(due);
        match &armed.sleeper {
            // It wakes early enough, finds that it is not due yet, and sleeps on.
            Some((wakes, _)) if *wakes <= due => {}
            _ => Self::sleep(&self.actor, self.wrap, name, armed, due),
        }
    }

    /// Disarms a name.
    pub fn disarm(&mut self, name: K) {
        if let Some(armed) = self.armed.get_mut(&name) {
            armed.due = None;
        }
    }

    /// Brings an armed name forward. Does nothing if it is not armed, or due earlier.
    pub fn bring_forward(&mut self, name: K, delay: Duration) {
        let due = self.armed.get(&name).and_then(|armed| armed.due);
        if due.is_some_and(|due| Instant::now() + delay < due) {
            self.arm(name, delay);
        }
    }

    /// A sleeping task woke the actor: true if the name is armed and due, and disarmed by that.
    pub fn fired(&mut self, name: K) -> bool {
        let Some(armed) = self.armed.get_mut(&name) else { return false };
        let now = Instant::now();
        if armed.sleeper.as_ref().is_some_and(|(wakes, _)| *wakes <= now) {
            armed.sleeper = None;
        }
        match armed.due {
            Some(due) if due <= now => {
                armed.due = None;
                true
            }
            Some(due) => {
                if armed.sleeper.is_none() {
                    Self::sleep(&self.actor, self.wrap, name, armed, due);
                }
                false
            }
            None => false,
        }
    }

    fn sleep(actor: &ActorRef<M>, wrap: fn(K) -> M, name: K, armed: &mut Armed, due: Instant) {
        if let Some((_, sleeper)) = armed.sleeper.take() {
            sleeper.abort();
        }
        let actor = actor.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep_until(due).await;
            let _ = actor.cast(wrap(name));
        });
        armed.sleeper = Some((due, task.abort_handle()));
    }
}

impl<K, M> Drop for Timers<K, M> {
    fn drop(&mut self) {
        for armed in self.armed.values() {
            if let Some((_, sleeper)) = &armed.sleeper {
                sleeper.abort();
            }
        }
    }
}
