//! The state machines. A machine is a function of values: (state, event) to (state, effects).
//!
//! *Events* are facts in the past tense. *Effects* are orders that a shell in `actors` carries out. A machine starts and stops
//! timers by name (`Arm`, `Disarm`) and gets `Elapsed(timer)`. The shell numbers the timers and drops outdated firings.
//! Randomness and time are passed in as values.
//!
//! A machine implements [`Machine`], and `statig_machine!` connects it to statig. A leaf state may belong to a group (a
//! superstate). Every group, and every leaf state without a group, belongs to the group `Root`. A handler returns statig's
//! [`Outcome`]: `Handled`, `Transition(state)`, or `Super` to pass the event to the group above. If an event reaches the root, no
//! handler decided it: this is reported as [`Outbox::unexpected`] and counted. A handler that deliberately does nothing gives a
//! reason ([`Outbox::ignore`]), which is shown in the generated chart (`src/fsm/charts/`).

pub mod attachment;
pub mod bridge;
pub mod call;
pub mod cause;
pub mod chart;
pub mod discovery;
pub mod push;
pub mod registry;
pub mod restart;
pub mod retry;
pub mod routing;
pub mod session;

use std::fmt::Debug;
use std::hash::Hash;

pub use statig::Outcome;

/// What a machine returns to the shell after one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox<M: Machine> {
    /// The effects that were ordered; they must be carried out in this order.
    pub effects: Vec<M::Effect>,
    /// The transitions that were made, each as (from, to).
    pub transitions: Vec<(M::State, M::State)>,
    /// Why the event was deliberately ignored; `None` if it was not.
    pub ignored: Option<&'static str>,
    /// Whether no handler decided the event, so that it reached the root.
    pub unexpected: bool,
}

impl<M: Machine> Outbox<M> {
    fn new() -> Self {
        Self { effects: Vec::new(), transitions: Vec::new(), ignored: None, unexpected: false }
    }

    /// Orders an effect.
    pub fn order(&mut self, effect: M::Effect) {
        self.effects.push(effect);
    }

    /// Ignores the event, and gives the reason.
    pub fn ignore(&mut self, why: &'static str) -> Outcome<M::State> {
        self.ignored = Some(why);
        Outcome::Handled
    }
}

/// A state machine. `self` is the storage, which is kept in addition to the state: small, hashable, without time. If the states
/// keep different data, the storage is an enum with a variant for each state (as in `bridge`), so that the data is dropped
/// together with its state.
pub trait Machine: Clone + Eq + Hash + Debug + Send + 'static {
    /// The machine's name in charts, logs and labels.
    const NAME: &'static str;
    /// The group above all others. It has no handler: an event that reaches it counts as unexpected.
    const ROOT: Self::Group;
    /// The leaf states; `Into<&'static str>` gives the label.
    type State: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    /// The superstates; one of them is [`ROOT`](Machine::ROOT).
    type Group: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    /// What can happen to the machine.
    type Event: Clone + Debug + Send;
    /// What the machine can order.
    type Effect: Clone + PartialEq + Debug + Send;

    /// Returns the first state.
    fn initial() -> Self::State;
    /// Returns the group that a state belongs to.
    fn group(state: Self::State) -> Self::Group;
    /// Handles an event in a leaf state.
    fn on(&mut self, state: Self::State, event: &Self::Event, out: &mut Outbox<Self>) -> Outcome<Self::State>;
    /// Handles an event that a leaf state of the group passed up. Never called for the root.
    fn on_group(&mut self, group: Self::Group, event: &Self::Event, out: &mut Outbox<Self>) -> Outcome<Self::State>;
    /// Called when a leaf state was entered (also from itself).
    fn entered(&mut self, _state: Self::State, _out: &mut Outbox<Self>) {}
    /// Called when a leaf state is left (also to itself).
    fn left(&mut self, _state: Self::State, _out: &mut Outbox<Self>) {}
    /// Called when a group was entered from outside.
    fn entered_group(&mut self, _group: Self::Group, _out: &mut Outbox<Self>) {}
    /// Called when a group was left.
    fn left_group(&mut self, _group: Self::Group, _out: &mut Outbox<Self>) {}
}

/// What the chart generator and the model checker need to explore a machine.
pub trait Charted: Machine {
    /// Returns one or more events of every variant, with every payload that is handled differently.
    fn specimens() -> Vec<Self::Event>;
    /// Returns the storages from which the exploration starts.
    fn starts() -> Vec<Self>;
}

/// The part of a machine that runs on statig; implemented by `statig_machine!`.
pub trait Hosted: Machine {
    /// The statig state machine.
    type Running: Clone + Send;
    /// Enters the first state.
    fn boot(self, out: &mut Outbox<Self>) -> Self::Running;
    /// Runs one event to completion.
    fn handle(running: &mut Self::Running, event: &Self::Event, out: &mut Outbox<Self>);
    /// Returns the current leaf state.
    fn state(running: &Self::Running) -> Self::State;
    /// Returns the storage.
    fn storage(running: &Self::Running) -> &Self;
}

/// A running machine.
#[derive(Clone)]
pub struct Driver<M: Hosted> {
    running: M::Running,
}

impl<M: Hosted> Driver<M> {
    /// Starts the machine in its first state. The outbox contains the effects that are ordered when that state is entered.
    pub fn start(machine: M) -> (Self, Outbox<M>) {
        let mut out = Outbox::new();
        let running = machine.boot(&mut out);
        (Self { running }, out)
    }

    /// Feeds one event to the machine. Returns what the machine ordered.
    pub fn feed(&mut self, event: &M::Event) -> Outbox<M> {
        let mut out = Outbox::new();
        M::handle(&mut self.running, event, &mut out);
        out
    }

    /// Returns the current leaf state.
    pub fn state(&self) -> M::State {
        M::state(&self.running)
    }

    /// Returns the storage.
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

/// Connects a [`Machine`] to statig: `statig_machine!(Machine, State, Group)`.
///
/// This macro replaces statig's own attribute macro, which orders the state enum by a hash map and accepts no derives with helper
/// attributes. The states must be enums: statig distinguishes them by their discriminants.
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
