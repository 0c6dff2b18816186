//! A supervisor's policy: which children are started again when one ends, and how often.
//!
//! The strategies are those of OTP. One-for-one: the child that ended is started again, the others go on. One-for-all: the children
//! are one failure unit. All of them are stopped, and all are started again.
//!
//! A supervisor shell feeds every end of a child, whatever the reason: a panic, an error from a handler, a kill, a stop that this
//! supervisor did not order, and a failed start (which ractor does not report, so the shell does). All children counted here are
//! meant to run until the shutdown, so each end is a bug of ours, and a successor starts at once. If more than `max` children
//! end within `window`, restarts do not help: the shell stops the children in reverse order, and reports the failure to
//! what is above it, exactly once.
//!
//! `stopping` is a separate state because children end in it too. Without it, an orderly shutdown would restart every child.
//!
//! Times are durations since the supervisor's own start, taken when the shell is notified of the end. A time before an earlier
//! one is treated as equal to the earlier one: a clock that steps back must not hide a crash loop.

use std::time::Duration;

use super::{Charted, Machine, Outbox, Outcome, statig_machine};
use crate::limits::{LINK_RESTARTS_MAX, LINK_WINDOW, ROOT_RESTARTS_MAX, ROOT_WINDOW};

/// Which children are started again when one ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// The one that ended.
    OneForOne,
    /// All: they are stopped first.
    OneForAll,
}

/// The policy, and the ends that it remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Restart {
    /// Which children are started again.
    pub strategy: Strategy,
    /// The number of ends within [`window`](Restart::window) that are answered with a restart. One end more is reported to what is
    /// above this supervisor.
    pub max: usize,
    /// The length of the window. Ends exactly this far apart are both in it.
    pub window: Duration,
    /// The times of the counted ends, the oldest first. At most `max` in the state `counting`.
    pub deaths: Vec<Duration>,
}

impl Restart {
    /// Returns a policy that has counted nothing yet.
    pub fn new(strategy: Strategy, max: usize, window: Duration) -> Self {
        Self { strategy, max, window, deaths: Vec::new() }
    }

    /// Returns the policy for the actors of a link.
    pub fn of_link() -> Self {
        Self::new(Strategy::OneForAll, LINK_RESTARTS_MAX, LINK_WINDOW)
    }

    /// Returns the policy for the actor of a session.
    pub fn of_session() -> Self {
        Self::new(Strategy::OneForOne, ROOT_RESTARTS_MAX, ROOT_WINDOW)
    }

    /// Counts an end. Returns whether there are now more than `max` in the window.
    fn count(&mut self, at: Duration) -> bool {
        let now = self.deaths.last().map_or(at, |&last| last.max(at));
        self.deaths.retain(|&death| now - death <= self.window);
        self.deaths.push(now);
        self.deaths.len() > self.max
    }
}

/// The state of the supervisor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Restarts children that end, and counts the ends.
    Counting,
    /// Too many ends: the supervisor is ending.
    Exhausted,
    /// An orderly shutdown: children end because they were ordered to stop.
    Stopping,
}

/// The groups of states. There is only the root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// The root: no handler decided the event.
    Root,
}

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum EndReason {
    /// A handler panicked.
    Panicked,
    /// A handler returned an error.
    Failed,
    /// The child was killed.
    Killed,
    /// The child stopped, without an order of this supervisor.
    Stopped,
    /// The child failed to start.
    StartFailed,
}

/// What can happen to the supervisor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A child ended.
    ChildEnded {
        /// The supervisor's own number for the child.
        child: u8,
        /// When the supervisor was notified, counted from its own start.
        at: Duration,
        /// How the child ended.
        reason: EndReason,
    },
    /// The supervisor was told to stop.
    StopRequested,
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Wait until the ended child is gone, then start its successor.
    Restart {
        /// The child.
        child: u8,
    },
    /// Start all children, in their order.
    StartChildren,
    /// Report the failure to what is above this supervisor.
    Escalate {
        /// The child whose end exceeded the limit.
        child: u8,
    },
    /// Stop the children that are still running, in reverse order of their start, and wait for them.
    StopChildren,
}

impl Machine for Restart {
    const NAME: &'static str = "restart";
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Counting
    }

    fn group(state: State) -> Group {
        match state {
            State::Counting | State::Exhausted | State::Stopping => Group::Root,
        }
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (state, event) {
            (State::Counting, Event::ChildEnded { child, at, reason: _ }) => {
                if self.count(*at) {
                    out.order(Effect::StopChildren);
                    out.order(Effect::Escalate { child: *child });
                    return Outcome::Transition(State::Exhausted);
                }
                match self.strategy {
                    Strategy::OneForOne => out.order(Effect::Restart { child: *child }),
                    Strategy::OneForAll => {
                        out.order(Effect::StopChildren);
                        out.order(Effect::StartChildren);
                    }
                }
                Outcome::Handled
            }
            (State::Counting, Event::StopRequested) => {
                out.order(Effect::StopChildren);
                Outcome::Transition(State::Stopping)
            }
            (State::Exhausted, Event::ChildEnded { .. }) => {
                out.ignore("a child that was stopped before the escalation")
            }
            (State::Exhausted, Event::StopRequested) => out.ignore("the children are being stopped already"),
            (State::Stopping, Event::ChildEnded { .. }) => out.ignore("it ended because it was told to"),
            (State::Stopping, Event::StopRequested) => out.ignore("already stopping"),
        }
    }

    fn on_group(&mut self, group: Group, _: &Event, _: &mut Outbox<Self>) -> Outcome<State> {
        match group {
            Group::Root => Outcome::Super,
        }
    }
}
statig_machine!(Restart, State, Group);

impl Charted for Restart {
    fn specimens() -> Vec<Event> {
        let ended = |child, secs, reason| Event::ChildEnded { child, at: Duration::from_secs(secs), reason };
        vec![
            ended(0, 0, EndReason::Panicked),
            ended(0, 0, EndReason::Failed),
            ended(0, 0, EndReason::Killed),
            ended(0, 0, EndReason::Stopped),
            ended(0, 0, EndReason::StartFailed),
            ended(1, 10, EndReason::Panicked),
            ended(1, 11, EndReason::Panicked),
            ended(1, 40, EndReason::Panicked),
            Event::StopRequested,
        ]
    }

    fn starts() -> Vec<Self> {
        [Strategy::OneForOne, Strategy::OneForAll]
            .map(|strategy| Self::new(strategy, 2, Duration::from_secs(10)))
            .into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Strategy, *};
    use crate::fsm::Driver;

    fn ended(child: u8, secs: u64) -> Event {
        Event::ChildEnded { child, at: Duration::from_secs(secs), reason: EndReason::Panicked }
    }

    fn supervisor() -> Driver<Restart> {
        Driver::start(Restart::new(Strategy::OneForOne, 2, Duration::from_secs(10))).0
    }

    #[test]
    fn counting_child_ended_restarts_that_child_only() {
        assert_eq!(supervisor().feed(&ended(3, 0)).effects, [Effect::Restart { child: 3 }]);
    }

    #[test]
    fn counting_child_ended_of_one_unit_stops_and_starts_all() {
        let (mut it, _) = Driver::start(Restart::new(Strategy::OneForAll, 2, Duration::from_secs(10)));
        for child in [3, 0] {
            assert_eq!(it.feed(&ended(child, 0)).effects, [Effect::StopChildren, Effect::StartChildren]);
        }
        assert_eq!(it.feed(&ended(1, 1)).effects, [Effect::StopChildren, Effect::Escalate { child: 1 }]);
    }

    #[test]
    fn counting_child_ended_too_often_stops_the_others_and_escalates_once() {
        let mut it = supervisor();
        it.feed(&ended(0, 1));
        it.feed(&ended(0, 1));
        assert_eq!(it.feed(&ended(1, 1)).effects, [Effect::StopChildren, Effect::Escalate { child: 1 }]);
        assert_eq!(it.state(), State::Exhausted);
        for event in [ended(0, 1), ended(1, 99), Event::StopRequested] {
            assert!(it.feed(&event).effects.is_empty());
        }
    }

    #[test]
    fn counting_child_ended_forgets_what_lies_before_the_window() {
        let mut it = supervisor();
        for secs in [0, 5, 11, 16, 22, 27] {
            assert_eq!(it.feed(&ended(0, secs)).effects, [Effect::Restart { child: 0 }], "at {secs}");
        }
    }

    #[test]
    fn counting_child_ended_at_the_edge_of_the_window_still_counts() {
        let mut it = supervisor();
        it.feed(&ended(0, 0));
        it.feed(&ended(0, 5));
        it.feed(&ended(0, 10));
        assert_eq!(it.state(), State::Exhausted);
    }

    #[test]
    fn counting_child_ended_with_a_clock_that_steps_back_hides_no_crash_loop() {
        let mut it = supervisor();
        for secs in [40, 20, 0] {
            it.feed(&ended(0, secs));
        }
        assert_eq!(it.state(), State::Exhausted);
    }

    #[test]
    fn stopping_child_ended_is_never_restarted() {
        let mut it = supervisor();
        assert_eq!(it.feed(&Event::StopRequested).effects, [Effect::StopChildren]);
        let out = it.feed(&ended(0, 1));
        assert!(out.effects.is_empty() && out.ignored.is_some());
        assert_eq!(it.state(), State::Stopping);
    }

    #[test]
    fn counting_child_ended_with_no_patience_escalates_at_once() {
        let (mut it, _) = Driver::start(Restart::new(Strategy::OneForOne, 0, Duration::MAX));
        it.feed(&ended(0, 0));
        assert_eq!(it.state(), State::Exhausted);
    }

    proptest! {
        /// Compares with a simple form of the rule: escalate at the first end that has `max` others within the window before it.
        #[test]
        fn counting_child_ended_escalates_exactly_when_the_rule_says(
            gaps in prop::collection::vec(0u64..12, 0..40), max in 0usize..5, window in 0u64..30,
        ) {
            let mut at = 0;
            let times: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let too_many = (0..times.len()).find(|&i| i >= max && times[i] - times[i - max] <= window);
            let (mut it, _) = Driver::start(Restart::new(Strategy::OneForOne, max, Duration::from_secs(window)));
            let escalated: Vec<usize> = (0..times.len())
                .filter(|&i| it.feed(&ended(0, times[i])).effects.contains(&Effect::Escalate { child: 0 }))
                .collect();
            prop_assert_eq!(escalated, Vec::from_iter(too_many));
        }
    }
}
