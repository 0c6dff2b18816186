//! The state machines: State x Event -> State', Effects. Values only.
//!
//! *Events* are facts in the past tense, *effects* are orders that a shell in `actors` carries out. A machine asks for timers
//! by name (`Arm`, `Disarm`) and hears `Elapsed(timer)`; the shell keeps their generations and drops stale firings.
//! Randomness and time come in as values.
//!
//! A machine is written against [`Machine`] and handed to statig by `statig_machine!`. Each leaf state may belong to a
//! group (a superstate), each group and each free leaf to the group `Root`. A handler answers with statig's [`Outcome`]:
//! `Handled`, `Transition(state)`, or `Super` to hand the event up. What reaches the root was not decided by anybody: it is
//! reported as [`Outbox::unexpected`] and counted. A cell that is decided to do nothing says why ([`Outbox::ignore`]); the
//! reason stands in the generated chart (`src/fsm/charts/`).

pub mod bridge;
pub mod call;
pub mod cause;
pub mod chart;
pub mod discovery;
pub mod push;
pub mod registry;
pub mod restart;
pub mod retry;
pub mod session;

use std::fmt::Debug;
use std::hash::Hash;

pub use statig::Outcome;

/// What a machine tells the shell after one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox<M: Machine> {
    /// Orders, in the order in which they are carried out.
    pub effects: Vec<M::Effect>,
    /// Transitions that were made: from, to.
    pub transitions: Vec<(M::State, M::State)>,
    /// Why the event was decided to do nothing.
    pub ignored: Option<&'static str>,
    /// Nobody decided the event: it reached the root.
    pub unexpected: bool,
}

impl<M: Machine> Outbox<M> {
    fn new() -> Self {
        Self { effects: Vec::new(), transitions: Vec::new(), ignored: None, unexpected: false }
    }

    /// Gives an order.
    pub fn order(&mut self, effect: M::Effect) {
        self.effects.push(effect);
    }

    /// Decides to do nothing, and says why.
    pub fn ignore(&mut self, why: &'static str) -> Outcome<M::State> {
        self.ignored = Some(why);
        Outcome::Handled
    }
}

/// A state machine. `self` is what it keeps beside the state: small, hashable, without time. A machine whose states keep different
/// things stores an enum with a variant for each state (`bridge`): what is kept is dropped with its state.
pub trait Machine: Clone + Eq + Hash + Debug + Send + 'static {
    /// Its name in charts, logs and labels.
    const NAME: &'static str;
    /// The group above all others. Nothing is decided there: what reaches it is counted as unexpected.
    const ROOT: Self::Group;
    /// The leaf states; `Into<&'static str>` gives the label.
    type State: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    /// The superstates; one of them is [`ROOT`](Machine::ROOT).
    type Group: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    /// What can happen.
    type Event: Clone + Debug + Send;
    /// What can be ordered.
    type Effect: Clone + PartialEq + Debug + Send;

    /// The first state.
    fn initial() -> Self::State;
    /// The group a state belongs to.
    fn group(state: Self::State) -> Self::Group;
    /// Decides an event in a leaf state.
    fn on(&mut self, state: Self::State, event: &Self::Event, out: &mut Outbox<Self>) -> Outcome<Self::State>;
    /// Decides an event that a leaf of the group handed up. Never called for the root.
    fn on_group(&mut self, group: Self::Group, event: &Self::Event, out: &mut Outbox<Self>) -> Outcome<Self::State>;
    /// A leaf state was entered (also from itself).
    fn entered(&mut self, _state: Self::State, _out: &mut Outbox<Self>) {}
    /// A leaf state is left (also to itself).
    fn left(&mut self, _state: Self::State, _out: &mut Outbox<Self>) {}
    /// A group was entered from outside.
    fn entered_group(&mut self, _group: Self::Group, _out: &mut Outbox<Self>) {}
    /// A group was left.
    fn left_group(&mut self, _group: Self::Group, _out: &mut Outbox<Self>) {}
}

/// What the chart generator and the model checker walk over.
pub trait Charted: Machine {
    /// One or more of every event variant, with every payload that is decided differently.
    fn specimens() -> Vec<Self::Event>;
    /// The storages a walk starts from.
    fn starts() -> Vec<Self>;
}

/// statig's half of a machine; implemented by `statig_machine!`.
pub trait Hosted: Machine {
    /// The statig state machine.
    type Running: Clone + Send;
    /// Enters the first state.
    fn boot(self, out: &mut Outbox<Self>) -> Self::Running;
    /// Runs one event to completion.
    fn handle(running: &mut Self::Running, event: &Self::Event, out: &mut Outbox<Self>);
    /// The current leaf state.
    fn state(running: &Self::Running) -> Self::State;
    /// The storage.
    fn storage(running: &Self::Running) -> &Self;
}

/// A running machine.
#[derive(Clone)]
pub struct Driver<M: Hosted> {
    running: M::Running,
}

impl<M: Hosted> Driver<M> {
    /// Starts the machine in its first state; the outbox holds what entering it ordered.
    pub fn start(machine: M) -> (Self, Outbox<M>) {
        let mut out = Outbox::new();
        let running = machine.boot(&mut out);
        (Self { running }, out)
    }

    /// Feeds one event; run to completion.
    pub fn feed(&mut self, event: &M::Event) -> Outbox<M> {
        let mut out = Outbox::new();
        M::handle(&mut self.running, event, &mut out);
        out
    }

    /// The current leaf state.
    pub fn state(&self) -> M::State {
        M::state(&self.running)
    }

    /// The storage beside the state.
    pub fn machine(&self) -> &M {
        M::storage(&self.running)
    }
}

impl<M: Hosted> PartialEq for Driver<M> {
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state() && self.machine() == other.machine()
    }
}

impl<M: Hosted> Eq for Driver<M> {}

impl<M: Hosted> Hash for Driver<M> {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.state().hash(hasher);
        self.machine().hash(hasher);
    }
}

impl<M: Hosted> Debug for Driver<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(M::NAME).field("state", &self.state()).field("storage", self.machine()).finish()
    }
}

/// Hands a [`Machine`] to statig: `statig_machine!(Machine, State, Group)`.
///
/// Written without statig's own attribute macro, which orders the state enum by a hash map and takes no derives with helper
/// attributes. The states must be enums: statig tells them apart by discriminant.
macro_rules! statig_machine {
    ($machine:ty, $state:ty, $group:ty) => {
        impl statig::blocking::IntoStateMachine for $machine {
            type Event<'e> = <$machine as $crate::fsm::Machine>::Event;
            type Context<'c> = $crate::fsm::Outbox<$machine>;
            type State = $state;
            type Superstate<'s> = $group;

            fn initial() -> $state {
                <$machine as $crate::fsm::Machine>::initial()
            }

            fn after_transition(&mut self, from: &$state, to: &$state, out: &mut $crate::fsm::Outbox<$machine>) {
                out.transitions.push((*from, *to));
            }
        }

        impl statig::blocking::State<$machine> for $state {
            fn call_handler(
                &mut self,
                machine: &mut $machine,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Outbox<$machine>,
            ) -> $crate::fsm::Outcome<$state> {
                $crate::fsm::Machine::on(machine, *self, event, out)
            }

            fn call_entry_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Outbox<$machine>) {
                $crate::fsm::Machine::entered(machine, *self, out);
            }

            fn call_exit_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Outbox<$machine>) {
                $crate::fsm::Machine::left(machine, *self, out);
            }

            fn superstate(&mut self) -> Option<$group> {
                Some(<$machine as $crate::fsm::Machine>::group(*self))
            }
        }

        impl statig::blocking::Superstate<$machine> for $group {
            fn call_handler(
                &mut self,
                machine: &mut $machine,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Outbox<$machine>,
            ) -> $crate::fsm::Outcome<$state> {
                if *self == <$machine as $crate::fsm::Machine>::ROOT {
                    out.unexpected = true;
                    return $crate::fsm::Outcome::Handled;
                }
                $crate::fsm::Machine::on_group(machine, *self, event, out)
            }

            fn call_entry_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Outbox<$machine>) {
                $crate::fsm::Machine::entered_group(machine, *self, out);
            }

            fn call_exit_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Outbox<$machine>) {
                $crate::fsm::Machine::left_group(machine, *self, out);
            }

            fn superstate(&mut self) -> Option<$group> {
                let root = <$machine as $crate::fsm::Machine>::ROOT;
                (*self != root).then_some(root)
            }
        }

        impl $crate::fsm::Hosted for $machine {
            type Running = statig::blocking::InitializedStateMachine<$machine>;

            fn boot(self, out: &mut $crate::fsm::Outbox<$machine>) -> Self::Running {
                statig::blocking::IntoStateMachineExt::uninitialized_state_machine(self).init_with_context(out)
            }

            fn handle(
                running: &mut Self::Running,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Outbox<$machine>,
            ) {
                running.handle_with_context(event, out);
            }

            fn state(running: &Self::Running) -> $state {
                *running.state()
            }

            fn storage(running: &Self::Running) -> &$machine {
                running.inner()
            }
        }
    };
}
pub(crate) use statig_machine;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Lamp;
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr)]
    enum State {
        Off,
        Dim,
        Bright,
    }
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr)]
    enum Group {
        Lit,
        Root,
    }
    impl Machine for Lamp {
        const NAME: &'static str = "lamp";
        const ROOT: Group = Group::Root;
        type State = State;
        type Group = Group;
        type Event = char;
        type Effect = &'static str;
        fn initial() -> State {
            State::Off
        }
        fn group(state: State) -> Group {
            match state {
                State::Off => Group::Root,
                State::Dim | State::Bright => Group::Lit,
            }
        }
        fn on(&mut self, state: State, event: &char, out: &mut Outbox<Self>) -> Outcome<State> {
            match (state, event) {
                (State::Off, '+') => Outcome::Transition(State::Dim),
                (State::Dim, '+') => Outcome::Transition(State::Bright),
                (State::Bright, '+') => out.ignore("as bright as it gets"),
                _ => Outcome::Super,
            }
        }
        fn on_group(&mut self, _: Group, event: &char, _: &mut Outbox<Self>) -> Outcome<State> {
            if *event == '0' { Outcome::Transition(State::Off) } else { Outcome::Super }
        }
        fn entered_group(&mut self, group: Group, out: &mut Outbox<Self>) {
            if group == Group::Lit {
                out.order("heat");
            }
        }
        fn left_group(&mut self, group: Group, out: &mut Outbox<Self>) {
            if group == Group::Lit {
                out.order("cool");
            }
        }
    }
    statig_machine!(Lamp, State, Group);

    #[test]
    fn groups_are_entered_once_and_left_once_and_the_root_counts() {
        let (mut lamp, _) = Driver::start(Lamp);
        assert_eq!(lamp.feed(&'+').effects, ["heat"]);
        let out = lamp.feed(&'+');
        assert_eq!((out.effects.len(), out.transitions), (0, vec![(State::Dim, State::Bright)]));
        assert_eq!(lamp.feed(&'+').ignored, Some("as bright as it gets"));
        assert!(lamp.feed(&'?').unexpected);
        assert_eq!(lamp.feed(&'0').effects, ["cool"]);
        assert_eq!(lamp.state(), State::Off);
        assert!(lamp.feed(&'0').unexpected);
    }
}
