//! The timers of one incarnation of an actor, by name.
//!
//! A machine arms and disarms a timer by name. The sleeping task only wakes the actor, which asks [`Timers::fired`]
//! whether the name is still armed and due. So a message that a timer sent before it was disarmed, or armed again for
//! later, never reaches the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use ractor::{ActorRef, Message};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The timers of one actor; see the module's documentation. Dropping them ends all sleeping tasks.
pub struct Timers<K, M> {
    actor: ActorRef<M>,
    wrap: fn(K) -> M,
    armed: BTreeMap<K, Armed>,
}

struct Armed {
    due: Instant,
    sleeper: AbortHandle,
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.sleeper.abort();
    }
}

impl<K: Copy + Ord + Send + 'static, M: Message> Timers<K, M> {
    /// Creates timers that wake `actor`. `wrap` makes the message from the name of a timer.
    pub fn new(actor: ActorRef<M>, wrap: fn(K) -> M) -> Self {
        Self { actor, wrap, armed: BTreeMap::new() }
    }

    /// Arms a name: it is due after `delay`. An earlier arming of the name is replaced.
    pub fn arm(&mut self, name: K, delay: Duration) {
        let (due, actor, wrap) = (Instant::now() + delay, self.actor.clone(), self.wrap);
        let sleeper = tokio::spawn(async move {
            tokio::time::sleep_until(due).await;
            let _ = actor.cast(wrap(name));
        });
        self.armed.insert(name, Armed { due, sleeper: sleeper.abort_handle() });
    }

    pub fn disarm(&mut self, name: K) {
        self.armed.remove(&name);
    }

    /// Brings an armed name forward. Does nothing if the name is not armed or is due earlier.
    pub fn bring_forward(&mut self, name: K, delay: Duration) {
        if self.armed.get(&name).is_some_and(|armed| Instant::now() + delay < armed.due) {
            self.arm(name, delay);
        }
    }

    /// Called when a sleeping task woke the actor. Returns true, and disarms the name, if the name is armed and due.
    pub fn fired(&mut self, name: K) -> bool {
        let fired = self.armed.get(&name).is_some_and(|armed| armed.due <= Instant::now());
        if fired {
            self.armed.remove(&name);
        }
        fired
    }
}

#[cfg(test)]
mod tests {
    use ractor::{Actor, ActorProcessingErr};
    use tokio::sync::mpsc;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Name {
        Short,
        Long,
    }

    #[derive(Debug)]
    enum Message {
        Arm(Name, Duration),
        Disarm(Name),
        BringForward(Name, Duration),
        Woken(Name),
    }

    /// An actor that reports which timers fire, and when.
    struct Sleeper(mpsc::Sender<(Name, Duration)>, Instant);

    impl Actor for Sleeper {
        type Msg = Message;
        type State = Timers<Name, Message>;
        type Arguments = ();
        async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<Self::State, ActorProcessingErr> {
            Ok(Timers::new(me, Message::Woken))
        }
        async fn handle(
            &self,
            _: ActorRef<Message>,
            message: Message,
            timers: &mut Self::State,
        ) -> Result<(), ActorProcessingErr> {
            match message {
                Message::Arm(name, delay) => timers.arm(name, delay),
                Message::Disarm(name) => timers.disarm(name),
                Message::BringForward(name, delay) => {
                    timers.bring_forward(name, delay);
                }
                Message::Woken(name) => {
                    if timers.fired(name) {
                        self.0.send((name, self.1.elapsed())).await?;
                    }
                }
            }
            Ok(())
        }
    }

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Returns the names that fire within a minute after these messages, each with the second.
    async fn fired(messages: Vec<Message>) -> Vec<(Name, u64)> {
        let (sender, mut firings) = mpsc::channel(16);
        let (actor, task) = Actor::spawn(None, Sleeper(sender, Instant::now()), ()).await.unwrap();
        for message in messages {
            actor.cast(message).unwrap();
        }
        tokio::time::sleep(secs(60)).await;
        actor.stop(None);
        task.await.unwrap();
        let mut all = Vec::new();
        while let Ok((name, at)) = firings.try_recv() {
            all.push((name, at.as_secs()));
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_fires_once_and_a_disarmed_one_never() {
        let all = fired(vec![
            Message::Arm(Name::Short, secs(1)),
            Message::Arm(Name::Long, secs(2)),
            Message::Disarm(Name::Long),
        ]);
        assert_eq!(all.await, [(Name::Short, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn arming_again_moves_it_either_way() {
        for (first, second) in [(1, 9), (9, 1)] {
            let all = fired(vec![Message::Arm(Name::Short, secs(first)), Message::Arm(Name::Short, secs(second))]);
            assert_eq!(all.await, [(Name::Short, second)], "{first} then {second}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_disarmed_one_can_be_armed_again() {
        let all = fired(vec![
            Message::Arm(Name::Short, secs(3)),
            Message::Disarm(Name::Short),
            Message::Arm(Name::Short, secs(5)),
        ]);
        assert_eq!(all.await, [(Name::Short, 5)]);
    }

    #[tokio::test(start_paused = true)]
    async fn bringing_forward_never_delays_and_never_arms() {
        let all = fired(vec![
            Message::BringForward(Name::Long, secs(1)),
            Message::Arm(Name::Short, secs(9)),
            Message::BringForward(Name::Short, secs(4)),
            Message::BringForward(Name::Short, secs(8)),
        ]);
        assert_eq!(all.await, [(Name::Short, 4)]);
    }

    /// A message that a timer fired, already in the mailbox when the name is armed again, must not count for the new time.
    #[tokio::test(start_paused = true)]
    async fn a_stale_firing_is_dropped() {
        let all = fired(vec![Message::Arm(Name::Short, secs(5)), Message::Woken(Name::Short)]);
        assert_eq!(all.await, [(Name::Short, 5)]);
    }
}
