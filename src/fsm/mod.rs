//! The state machines. A machine is a function of values: (state, event) to (state, effects).
//!
//! *Events* are facts in the past tense. *Effects* are orders that a shell in `actors` carries out. A machine starts and stops
//! timers by name (`Arm`, `Disarm`) and gets `Elapsed(timer)`. The shell numbers the timers and drops outdated firings.
//! Randomness and time are passed in as values.
//!
//! A machine implements [`Machine`], and `statig_machine!` connects it to statig. A leaf state may belong to a group (a
//! superstate). A handler returns statig's [`Outcome`]: `Handled`, `Transition(state)`, or `Super` to pass the event to
//! the group above. An event that is passed up where no group is left was decided by nobody. It is reported as
//! [`Reaction::unexpected`], counted, and shown in the generated chart (`src/fsm/charts/`). A handler that deliberately
//! does nothing gives a reason ([`Reaction::ignore`]), which the chart shows too.

pub mod attachment;
pub mod bridge;
pub mod call;
pub mod cause;
pub mod discovery;
pub mod displaced;
pub mod push;
pub mod registry;
pub mod restart;
pub mod retry;
pub mod routing;
pub mod session;

use std::fmt::Debug;
use std::hash::Hash;

pub use statig::Outcome;

/// The reaction of a machine to one event, which the shell carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction<M: Machine> {
    /// What the shell must carry out, in this order.
    pub effects: Vec<M::Effect>,
    /// Each as (from, to).
    pub transitions: Vec<(M::State, M::State)>,
    /// Why the event was deliberately ignored; `None` if it was not.
    pub ignored: Option<&'static str>,
    /// Whether no handler decided the event.
    pub unexpected: bool,
}

impl<M: Machine> Reaction<M> {
    fn new() -> Self {
        Self { effects: Vec::new(), transitions: Vec::new(), ignored: None, unexpected: false }
    }

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
    /// The leaf states; `Into<&'static str>` gives the label.
    type State: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    type Group: Copy + Eq + Hash + Debug + Into<&'static str> + Send + 'static;
    type Event: Clone + Debug + Send;
    type Effect: Clone + PartialEq + Debug + Send;

    fn initial() -> Self::State;
    fn group(_: Self::State) -> Option<Self::Group> {
        None
    }
    fn on(&mut self, state: Self::State, event: &Self::Event, out: &mut Reaction<Self>) -> Outcome<Self::State>;
    /// Handles an event that a leaf state of the group passed up.
    fn on_group(&mut self, _: Self::Group, _: &Self::Event, _: &mut Reaction<Self>) -> Outcome<Self::State> {
        Outcome::Super
    }
    /// Called when a leaf state was entered (also from itself).
    fn entered(&mut self, _state: Self::State, _out: &mut Reaction<Self>) {}
    /// Called when a leaf state is left (also to itself).
    fn left(&mut self, _state: Self::State, _out: &mut Reaction<Self>) {}
    /// Called when a group was entered from outside.
    fn entered_group(&mut self, _group: Self::Group, _out: &mut Reaction<Self>) {}
    /// Called when a group was left.
    fn left_group(&mut self, _group: Self::Group, _out: &mut Reaction<Self>) {}
}

/// The groups of a machine without any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoGroup {}

impl From<NoGroup> for &'static str {
    fn from(none: NoGroup) -> Self {
        match none {}
    }
}

/// The part of a machine that runs on statig; implemented by `statig_machine!`.
pub trait Hosted: Machine {
    type Running: Clone + Send;
    fn boot(self, out: &mut Reaction<Self>) -> Self::Running;
    fn handle(running: &mut Self::Running, event: &Self::Event, out: &mut Reaction<Self>);
    fn state(running: &Self::Running) -> Self::State;
    fn storage(running: &Self::Running) -> &Self;
}

#[derive(Clone)]
pub struct Driver<M: Hosted> {
    running: M::Running,
}

impl<M: Hosted> Driver<M> {
    /// Starts the machine in its first state. The reaction contains the effects that are ordered when that state is entered.
    pub fn start(machine: M) -> (Self, Reaction<M>) {
        let mut out = Reaction::new();
        let running = machine.boot(&mut out);
        (Self { running }, out)
    }

    pub fn feed(&mut self, event: &M::Event) -> Reaction<M> {
        let mut out = Reaction::new();
        M::handle(&mut self.running, event, &mut out);
        out
    }

    pub fn state(&self) -> M::State {
        M::state(&self.running)
    }

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
            type Context<'c> = $crate::fsm::Reaction<$machine>;
            type State = $state;
            type Superstate<'s> = $group;

            fn initial() -> $state {
                <$machine as $crate::fsm::Machine>::initial()
            }

            fn after_transition(&mut self, from: &$state, to: &$state, out: &mut $crate::fsm::Reaction<$machine>) {
                out.transitions.push((*from, *to));
            }
        }

        impl statig::blocking::State<$machine> for $state {
            fn call_handler(
                &mut self,
                machine: &mut $machine,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Reaction<$machine>,
            ) -> $crate::fsm::Outcome<$state> {
                let outcome = $crate::fsm::Machine::on(machine, *self, event, out);
                let group = <$machine as $crate::fsm::Machine>::group(*self);
                out.unexpected = group.is_none() && matches!(outcome, $crate::fsm::Outcome::Super);
                outcome
            }

            fn call_entry_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Reaction<$machine>) {
                $crate::fsm::Machine::entered(machine, *self, out);
            }

            fn call_exit_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Reaction<$machine>) {
                $crate::fsm::Machine::left(machine, *self, out);
            }

            fn superstate(&mut self) -> Option<$group> {
                <$machine as $crate::fsm::Machine>::group(*self)
            }
        }

        impl statig::blocking::Superstate<$machine> for $group {
            fn call_handler(
                &mut self,
                machine: &mut $machine,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Reaction<$machine>,
            ) -> $crate::fsm::Outcome<$state> {
                let outcome = $crate::fsm::Machine::on_group(machine, *self, event, out);
                out.unexpected = matches!(outcome, $crate::fsm::Outcome::Super);
                outcome
            }

            fn call_entry_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Reaction<$machine>) {
                $crate::fsm::Machine::entered_group(machine, *self, out);
            }

            fn call_exit_action(&mut self, machine: &mut $machine, out: &mut $crate::fsm::Reaction<$machine>) {
                $crate::fsm::Machine::left_group(machine, *self, out);
            }
        }

        impl $crate::fsm::Hosted for $machine {
            type Running = statig::blocking::InitializedStateMachine<$machine>;

            fn boot(self, out: &mut $crate::fsm::Reaction<$machine>) -> Self::Running {
                statig::blocking::IntoStateMachineExt::uninitialized_state_machine(self).init_with_context(out)
            }

            fn handle(
                running: &mut Self::Running,
                event: &<$machine as $crate::fsm::Machine>::Event,
                out: &mut $crate::fsm::Reaction<$machine>,
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

/// Returns the name of an event without its payload. Only timer events keep theirs.
pub fn event_name(event: &impl Debug) -> String {
    let text = format!("{event:?}");
    let end = if text.starts_with("Elapsed(") { None } else { text.find([' ', '(', '{']) };
    text[..end.unwrap_or(text.len())].to_owned()
}

#[cfg(test)]
mod tests;
