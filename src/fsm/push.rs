//! The push listener: the socket to which the editor connects, to announce what it is about to do.
//!
//! The shell feeds: the link wants the listener (`Wanted`), the kernel answers (`Bound`, `BindFailed`), the editor connects and
//! disconnects (`Attached`, `Detached`) and sends hints (`HintReceived`). The machine decides when to bind and which endpoint the
//! greeting names, and passes hints on.
//!
//! A hint may refresh something, shorten a wait or name a cause. It never closes, holds or delays anything, for three reasons:
//! any program on this machine can connect to the listener, a hint may be late or sent twice, and no stock package sends hints
//! reliably. So no hint changes the state of this machine, and an editor that never connects has no disadvantage.
//!
//! A failed bind is repeated without end, at growing intervals. The intervals have no jitter, since only this machine's own
//! kernel is concerned.

use std::time::Duration;

use super::{Charted, Machine, Outbox, Outcome, retry, statig_machine};
use crate::protocol::dialect::PushEvent;

/// The storage of the push listener.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Push {
    /// The number of open sockets. It saturates (the shell opens at most `PUSH_CONNECTIONS_MAX`).
    pub sockets: u8,
    /// The number of failed binds in a row. It saturates. If it is above 0 in `closed`, the timer `Rebind` is armed.
    pub attempt: u8,
}

/// The state of the listener.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The listener is not wanted, or waits until the next bind.
    Closed,
    /// A bind is under way.
    Binding,
    /// Bound; no editor is connected.
    Listening,
    /// At least one socket is open.
    Attached,
    /// The end.
    Stopped,
}

/// The superstates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// Everything before the end.
    Running,
    /// The root: no handler decided the event.
    Root,
}

/// The timers.
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
    /// The listener is bound.
    Bound {
        /// The listener's port on loopback.
        port: u16,
    },
    /// The listener could not be bound.
    BindFailed,
    /// A socket was accepted.
    Attached,
    /// A socket ended.
    Detached,
    /// A socket received a message.
    HintReceived(PushEvent),
    /// A timer fired.
    Elapsed(Timer),
    /// The link stops.
    StopRequested,
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Bind to a free port on loopback, or take over the listener of an earlier actor.
    Bind,
    /// Start a timer.
    Arm(Timer, Duration),
    /// Stop a timer.
    Disarm(Timer),
    /// Set the port that greetings name from now on; `None` if they name no listener.
    PublishEndpoint(Option<u16>),
    /// Pass a hint on to the link.
    PassHint(PushEvent),
    /// Count a message of an unknown type.
    CountUnknown,
    /// Close the listener and every socket.
    CloseSockets,
}

impl Push {
    fn hint(hint: PushEvent, out: &mut Outbox<Self>) -> Outcome<State> {
        out.order(match hint {
            PushEvent::Unknown => Effect::CountUnknown,
            known => Effect::PassHint(known),
        });
        Outcome::Handled
    }
}

impl Machine for Push {
    const NAME: &'static str = "push";
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Closed
    }

    fn group(state: State) -> Group {
        match state {
            State::Closed | State::Binding | State::Listening | State::Attached => Group::Running,
            State::Stopped => Group::Root,
        }
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match state {
            State::Closed => match event {
                Event::Wanted => {
                    if self.attempt > 0 {
                        out.order(Effect::Disarm(Timer::Rebind));
                    }
                    Outcome::Transition(State::Binding)
                }
                Event::Elapsed(Timer::Rebind) if self.attempt > 0 => Outcome::Transition(State::Binding),
                Event::StopRequested => {
                    if self.attempt > 0 {
                        out.order(Effect::Disarm(Timer::Rebind));
                    }
                    Outcome::Super
                }
                Event::Elapsed(Timer::Rebind)
                | Event::Bound { .. }
                | Event::BindFailed
                | Event::Attached
                | Event::Detached
                | Event::HintReceived(_) => Outcome::Super,
            },
            State::Binding => match event {
                Event::Wanted => out.ignore("a bind is under way"),
                Event::Bound { port } => {
                    self.attempt = 0;
                    out.order(Effect::PublishEndpoint(Some(*port)));
                    Outcome::Transition(State::Listening)
                }
                Event::BindFailed => {
                    out.order(Effect::PublishEndpoint(None));
                    out.order(Effect::Arm(Timer::Rebind, retry::delay(self.attempt.into(), false, 0.5)));
                    self.attempt = self.attempt.saturating_add(1);
                    Outcome::Transition(State::Closed)
                }
                Event::Attached
                | Event::Detached
                | Event::HintReceived(_)
                | Event::Elapsed(Timer::Rebind)
                | Event::StopRequested => Outcome::Super,
            },
            State::Listening => match event {
                Event::Wanted => out.ignore("it is bound, and its endpoint is published"),
                Event::Attached => {
                    self.sockets = 1;
                    Outcome::Transition(State::Attached)
                }
                // The hint was read from a socket just before that socket ended. It is as valid as any other hint.
                Event::HintReceived(hint) => Self::hint(*hint, out),
                Event::Bound { .. }
                | Event::BindFailed
                | Event::Detached
                | Event::Elapsed(Timer::Rebind)
                | Event::StopRequested => Outcome::Super,
            },
            State::Attached => match event {
                Event::Wanted => out.ignore("it is bound, and its endpoint is published"),
                Event::Attached => {
                    self.sockets = self.sockets.saturating_add(1);
                    Outcome::Handled
                }
                Event::Detached => {
                    self.sockets = self.sockets.saturating_sub(1);
                    if self.sockets > 0 { Outcome::Handled } else { Outcome::Transition(State::Listening) }
                }
                Event::HintReceived(hint) => Self::hint(*hint, out),
                Event::Bound { .. } | Event::BindFailed | Event::Elapsed(Timer::Rebind) | Event::StopRequested => {
                    Outcome::Super
                }
            },
            State::Stopped => match event {
                // The kernel's answer arrived after the stop, so what it opened must be closed.
                Event::Bound { .. } | Event::Attached => {
                    out.order(Effect::CloseSockets);
                    Outcome::Handled
                }
                Event::Wanted => out.ignore("it was stopped for good"),
                Event::BindFailed | Event::Detached => out.ignore("nothing is open any more"),
                Event::HintReceived(_) => out.ignore("nobody is left to be told"),
                Event::StopRequested => out.ignore("already stopped"),
                Event::Elapsed(Timer::Rebind) => Outcome::Super,
            },
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, _: &mut Outbox<Self>) -> Outcome<State> {
        match (group, event) {
            (Group::Running, Event::StopRequested) => Outcome::Transition(State::Stopped),
            (
                Group::Running,
                Event::Wanted
                | Event::Bound { .. }
                | Event::BindFailed
                | Event::Attached
                | Event::Detached
                | Event::HintReceived(_)
                | Event::Elapsed(Timer::Rebind),
            )
            | (Group::Root, _) => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Binding => out.order(Effect::Bind),
            State::Stopped => {
                *self = Self::default();
                out.order(Effect::PublishEndpoint(None));
                out.order(Effect::CloseSockets);
            }
            State::Closed | State::Listening | State::Attached => {}
        }
    }
}
statig_machine!(Push, State, Group);

impl Charted for Push {
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
        let mut all =
            vec![Event::Wanted, Event::Bound { port: 49152 }, Event::BindFailed, Event::Attached, Event::Detached];
        all.extend(hints.map(Event::HintReceived));
        all.extend([Event::Elapsed(Timer::Rebind), Event::StopRequested]);
        all
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::chart::after;

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
    fn closed_wanted_does_not_wait_for_the_rebind_timer() {
        let mut it = after(Push::default(), &[Event::Wanted, Event::BindFailed]);
        assert_eq!(it.feed(&Event::Wanted).effects, [Effect::Disarm(Timer::Rebind), Effect::Bind]);
    }

    #[test]
    fn binding_bound_publishes_the_port() {
        let mut it = after(Push::default(), &[Event::Wanted]);
        assert_eq!(it.feed(&BOUND).effects, [Effect::PublishEndpoint(Some(7))]);
        assert_eq!(it.state(), State::Listening);
    }

    #[test]
    fn attached_detached_listens_again_only_after_the_last_socket() {
        let mut it = after(Push::default(), &[Event::Wanted, BOUND, Event::Attached, Event::Attached]);
        it.feed(&Event::Detached);
        assert_eq!(it.state(), State::Attached);
        it.feed(&Event::Detached);
        assert_eq!(it.state(), State::Listening);
    }

    #[test]
    fn attached_hint_received_passes_it_on_and_moves_nothing() {
        let mut it = after(Push::default(), &[Event::Wanted, BOUND, Event::Attached]);
        for hint in [PushEvent::UnityShutdown, PushEvent::UserDisconnect, PushEvent::DomainReload] {
            let out = it.feed(&Event::HintReceived(hint));
            assert_eq!((out.effects, out.transitions), (vec![Effect::PassHint(hint)], vec![]));
        }
        assert_eq!(it.feed(&Event::HintReceived(PushEvent::Unknown)).effects, [Effect::CountUnknown]);
    }

    #[test]
    fn attached_stop_requested_withdraws_the_endpoint_and_closes_everything() {
        let mut it = after(Push::default(), &[Event::Wanted, BOUND, Event::Attached]);
        assert_eq!(it.feed(&Event::StopRequested).effects, [Effect::PublishEndpoint(None), Effect::CloseSockets]);
    }

    #[test]
    fn stopped_bound_closes_the_listener_that_came_too_late() {
        let mut it = after(Push::default(), &[Event::Wanted, Event::StopRequested]);
        assert_eq!(it.feed(&BOUND).effects, [Effect::CloseSockets]);
        assert_eq!(it.state(), State::Stopped);
    }
}
