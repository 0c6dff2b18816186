//! The push listener: the socket to which the editor connects, to announce what it is about to do.
//!
//! The shell feeds: the link wants the listener (`Wanted`), the kernel answers (`Bound`, `BindFailed`), and an editor that is
//! connected sends hints (`HintReceived`). The machine decides when to bind and which endpoint the greeting names, and passes
//! hints on.
//!
//! A hint may refresh something, shorten a wait or name a cause. It never closes, holds or delays anything, for three reasons:
//! any program on this machine can connect to the listener, a hint may be late or sent twice, and no stock package sends hints
//! reliably. So no hint changes the state of this machine, and an editor that never connects has no disadvantage.
//!
//! A failed bind is repeated without end, at growing intervals. The intervals have no jitter, since only this machine's own
//! kernel is concerned.

use std::time::Duration;

use super::{Machine, NoGroup, Outcome, Reaction, retry, statig_machine};
use crate::protocol::dialect::PushEvent;

/// The storage of the push listener.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Push {
    /// The number of failed binds in a row. It saturates. If it is above 0 in `closed`, the timer `Rebind` is armed.
    pub attempt: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The listener is not wanted, or waits until the next bind.
    Closed,
    /// A bind is under way.
    Binding,
    /// Bound. An editor may be connected or not: that changes nothing.
    Listening,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// The wait after a failed bind is over.
    Rebind,
}

/// What can happen to the listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The link wants a push listener.
    Wanted,
    Bound {
        /// The listener's port on loopback.
        port: u16,
    },
    /// The listener could not be bound.
    BindFailed,
    /// A socket received a message.
    HintReceived(PushEvent),
    Elapsed(Timer),
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Bind to a free port on loopback, or take over the listener of an earlier actor.
    Bind,
    Arm(Timer, Duration),
    /// Set the port that greetings name from now on; `None` if they name no listener.
    PublishEndpoint(Option<u16>),
    PassHint(PushEvent),
    /// Count a message of an unknown type.
    CountUnknown,
}

impl Machine for Push {
    const NAME: &'static str = "push";
    type State = State;
    type Group = NoGroup;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Closed
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (state, event) {
            (State::Closed, Event::Wanted) if self.attempt == 0 => Outcome::Transition(State::Binding),
            (State::Closed, Event::Elapsed(Timer::Rebind)) if self.attempt > 0 => Outcome::Transition(State::Binding),
            (State::Binding, Event::Bound { port }) => {
                self.attempt = 0;
                out.order(Effect::PublishEndpoint(Some(*port)));
                Outcome::Transition(State::Listening)
            }
            (State::Binding, Event::BindFailed) => {
                out.order(Effect::PublishEndpoint(None));
                out.order(Effect::Arm(Timer::Rebind, retry::delay(self.attempt.into(), false, 0.5)));
                self.attempt = self.attempt.saturating_add(1);
                Outcome::Transition(State::Closed)
            }
            (State::Listening, Event::HintReceived(hint)) => {
                out.order(match *hint {
                    PushEvent::Unknown => Effect::CountUnknown,
                    known => Effect::PassHint(known),
                });
                Outcome::Handled
            }
            _ => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        if state == State::Binding {
            out.order(Effect::Bind);
        }
    }
}
statig_machine!(Push, State, NoGroup);

#[cfg(test)]
impl super::tests::Charted for Push {
    fn specimens() -> Vec<Event> {
        let hints = [
            PushEvent::ConnectionEstablished,
            PushEvent::DomainReload,
            PushEvent::DomainReloadRecovered,
            PushEvent::ToolsChanged,
            PushEvent::UserDisconnect,
            PushEvent::UnityShutdown,
            PushEvent::Unknown,
        ];
        let mut all = vec![Event::Wanted, Event::Bound { port: 49152 }, Event::BindFailed];
        all.extend(hints.map(Event::HintReceived));
        all.push(Event::Elapsed(Timer::Rebind));
        all
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::tests::after;

    const BOUND: Event = Event::Bound { port: 7 };

    #[test]
    fn closed_wanted_binds() {
        let mut it = after(Push::default(), &[]);
        assert_eq!(it.feed(&Event::Wanted).effects, [Effect::Bind]);
    }

    #[test]
    fn binding_bind_failed_tries_again_ever_more_rarely_and_never_gives_up() {
        let mut it = after(Push::default(), &[Event::Wanted]);
        let mut waits = Vec::new();
        for _ in 0..300 {
            match it.feed(&Event::BindFailed).effects.as_slice() {
                [Effect::PublishEndpoint(None), Effect::Arm(Timer::Rebind, wait)] => waits.push(wait.as_millis()),
                other => panic!("{other:?}"),
            }
            assert_eq!(it.feed(&Event::Elapsed(Timer::Rebind)).effects, [Effect::Bind]);
        }
        assert_eq!(waits[..3], [50, 100, 200]);
        assert_eq!(waits[299], 5000);
        it.feed(&BOUND);
        assert_eq!(it.machine().attempt, 0);
    }

    #[test]
    fn binding_bound_publishes_the_port() {
        let mut it = after(Push::default(), &[Event::Wanted]);
        assert_eq!(it.feed(&BOUND).effects, [Effect::PublishEndpoint(Some(7))]);
        assert_eq!(it.state(), State::Listening);
    }

    #[test]
    fn listening_hint_received_passes_it_on_and_moves_nothing() {
        let mut it = after(Push::default(), &[Event::Wanted, BOUND]);
        for hint in [PushEvent::UnityShutdown, PushEvent::UserDisconnect, PushEvent::DomainReload] {
            let out = it.feed(&Event::HintReceived(hint));
            assert_eq!((out.effects, out.transitions), (vec![Effect::PassHint(hint)], vec![]));
        }
        assert_eq!(it.feed(&Event::HintReceived(PushEvent::Unknown)).effects, [Effect::CountUnknown]);
    }
}
