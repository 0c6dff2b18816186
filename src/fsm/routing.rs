//! Routing: decides when it is known which editor a session means, and when to look again.
//!
//! The shell feeds what the client says about where it works (`Opened`, `RootsAsked`, `RootsTold`), a request that
//! needs an editor (`Requested`), the end of a survey (`LookedAround`), a change among the editors of this process
//! (`EditorsChanged`), and the router's decision (`Routed`). The machine decides when to make a survey, when to ask the
//! router (`Follow`), and how long to wait. The router says which project is meant
//! ([`core::router`](crate::core::router)); paths never come here.
//!
//! While the roots of the client are awaited, and while a survey that decides is running, nothing is routed: a request
//! waits. Each such wait ends by itself: a timer ends the wait for the roots, and the shell limits the wait for a
//! survey.
//!
//! One survey runs at a time. If the client says something new meanwhile, the result is out of date, and another survey
//! follows. A request that comes while a survey is running is not refused because that survey found nothing: the survey
//! may have looked too early.
//!
//! A session for which no editor was found looks again by itself: the user may make, mount or open the project that is meant.

use std::time::Duration;

use super::{Machine, Outcome, Reaction, statig_machine};
use crate::limits::{RETRY_UNLIKELY_MAX, ROOTS_WAIT};

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Routing {
    /// Whether a survey is running.
    pub looking: bool,
    /// In `looking`: whether a request came since the survey began.
    pub again: bool,
    /// In `adrift`: whether another survey may find more.
    pub can_change: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Nothing was decided since the client last said where it works.
    Unsettled,
    /// The client was or will be asked for its roots, and has not answered.
    AwaitingRoots,
    /// The result of a survey is needed.
    Looking,
    /// One editor is meant.
    Bound,
    /// Several editors fit: each call names one.
    Choosing,
    /// No editor fits, or only one of several projects has an editor so far.
    Adrift,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// The router has decided.
    Settled,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// In `awaiting_roots`: the longest wait for the client's roots is over.
    Roots,
    /// In `adrift`: look again.
    Again,
}

/// Where the router leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    One,
    /// To the editor that each call names.
    Several,
    /// To no editor. Or several editors fit and only one of them runs. `can_change`: another survey may find more.
    Nowhere {
        can_change: bool,
    },
}

/// What can happen to routing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The client opened the session. `roots`: it will be asked for its roots.
    Opened {
        roots: bool,
    },
    RootsAsked,
    /// The client answered, and what it said was noted.
    RootsTold,
    /// A request needs to know where the session goes. `look`: nothing that a survey found answers that now.
    Requested {
        look: bool,
    },
    /// The survey has ended. `current`: the client has said nothing new since it began. `found`: it found a project.
    LookedAround {
        current: bool,
        found: bool,
    },
    /// An editor of this process began or ended, or has other tools, and that matters to this session.
    EditorsChanged,
    /// The router was asked.
    Routed(Way),
    Elapsed(Timer),
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Make a survey of where the client works.
    Look,
    /// Connect to the editors that may be meant and that no link leads to. Not ordered when an editor's link changes: a link that
    /// fails too often must not be opened again by its own end.
    Seek,
    /// Ask the router, move the session there with all that waits, and report `Routed`.
    Follow,
    /// Find out again where the session goes, as for a request: report `Requested`.
    Reconsider,
    /// The client does not answer with its roots: continue with the known ones.
    ForgoRoots,
    Arm(Timer, Duration),
    Disarm(Timer),
}

impl Routing {
    /// Begins a survey, unless one is running. The result of the running one shows by itself whether it is out of date.
    fn look(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        if !std::mem::replace(&mut self.looking, true) {
            out.order(Effect::Look);
        }
        Outcome::Transition(State::Looking)
    }

    /// Handles what the client says about where it works. This is the same in every state before the end.
    fn said(event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Opened { roots: true } | Event::RootsAsked => Outcome::Transition(State::AwaitingRoots),
            // The first request that needs an editor starts the decision.
            Event::Opened { roots: false } => Outcome::Transition(State::Unsettled),
            Event::RootsTold => {
                out.order(Effect::Reconsider);
                Outcome::Transition(State::Unsettled)
            }
            _ => Outcome::Super,
        }
    }

    fn routed(&mut self, way: Way) -> Outcome<State> {
        self.can_change = way == Way::Nowhere { can_change: true };
        Outcome::Transition(match way {
            Way::One => State::Bound,
            Way::Several => State::Choosing,
            Way::Nowhere { .. } => State::Adrift,
        })
    }

    fn follow(out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::Seek);
        out.order(Effect::Follow);
        Outcome::Handled
    }

    fn looked(&mut self) -> Outcome<State> {
        self.looking = false;
        Outcome::Handled
    }
}

impl Machine for Routing {
    const NAME: &'static str = "routing";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Unsettled
    }

    fn group(state: State) -> Option<Group> {
        matches!(state, State::Bound | State::Choosing | State::Adrift).then_some(Group::Settled)
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match state {
            State::Unsettled => match event {
                Event::Requested { look: true } => self.look(out),
                Event::Requested { look: false } => Self::follow(out),
                Event::Routed(way) => self.routed(*way),
                Event::LookedAround { .. } => self.looked(),
                Event::EditorsChanged => out.ignore("the next request asks the router"),
                Event::Elapsed(_) => out.ignore("a timer of a state that was left"),
                _ => Self::said(event, out),
            },
            State::AwaitingRoots => match event {
                Event::Elapsed(Timer::Roots) => {
                    out.order(Effect::ForgoRoots);
                    out.order(Effect::Reconsider);
                    Outcome::Transition(State::Unsettled)
                }
                Event::Requested { .. } => out.ignore("the client says soon where it works"),
                Event::LookedAround { .. } => self.looked(),
                Event::EditorsChanged => out.ignore("nothing is routed before the roots are known"),
                Event::Elapsed(Timer::Again) => out.ignore("a timer of a state that was left"),
                _ => Self::said(event, out),
            },
            State::Looking => match event {
                Event::LookedAround { current: true, found } if *found || !self.again => {
                    self.looking = false;
                    Self::follow(out)
                }
                Event::LookedAround { .. } => {
                    self.looking = false;
                    out.order(Effect::Reconsider);
                    Outcome::Transition(State::Unsettled)
                }
                Event::Requested { .. } => {
                    self.again = true;
                    Outcome::Handled
                }
                Event::EditorsChanged => out.ignore("the survey ends with a decision too"),
                Event::Routed(way) => self.routed(*way),
                Event::Elapsed(_) => out.ignore("a timer of a state that was left"),
                _ => Self::said(event, out),
            },
            State::Adrift if *event == Event::Elapsed(Timer::Again) => {
                out.order(Effect::Reconsider);
                Outcome::Handled
            }
            State::Bound | State::Choosing | State::Adrift => Outcome::Super,
        }
    }

    fn on_group(&mut self, Group::Settled: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Requested { look: true } => self.look(out),
            // The router is asked anew even where nothing seems to have changed: a link may have been closed.
            Event::Requested { look: false } => Self::follow(out),
            Event::EditorsChanged => {
                out.order(Effect::Follow);
                Outcome::Handled
            }
            Event::Routed(way) => self.routed(*way),
            Event::LookedAround { .. } => self.looked(),
            Event::Elapsed(_) => out.ignore("a timer of a state that was left"),
            _ => Self::said(event, out),
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        self.can_change &= state == State::Adrift;
        self.again &= state == State::Looking;
        match state {
            State::AwaitingRoots => out.order(Effect::Arm(Timer::Roots, ROOTS_WAIT)),
            State::Adrift if self.can_change => out.order(Effect::Arm(Timer::Again, RETRY_UNLIKELY_MAX)),
            State::Unsettled | State::Looking | State::Bound | State::Choosing | State::Adrift => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Reaction<Self>) {
        match state {
            State::AwaitingRoots => out.order(Effect::Disarm(Timer::Roots)),
            State::Adrift => out.order(Effect::Disarm(Timer::Again)),
            State::Unsettled | State::Looking | State::Bound | State::Choosing => {}
        }
    }
}
statig_machine!(Routing, State, Group);

#[cfg(test)]
impl super::tests::Charted for Routing {
    fn specimens() -> Vec<Event> {
        let two = |make: fn(bool) -> Event| [make(true), make(false)];
        let mut all = two(|roots| Event::Opened { roots }).to_vec();
        all.extend([Event::RootsAsked, Event::RootsTold]);
        all.extend(two(|look| Event::Requested { look }));
        all.extend(two(|found| Event::LookedAround { current: true, found }));
        all.push(Event::LookedAround { current: false, found: true });
        all.push(Event::EditorsChanged);
        let nowhere = [true, false].map(|can_change| Way::Nowhere { can_change });
        all.extend([Way::One, Way::Several].into_iter().chain(nowhere).map(Event::Routed));
        all.extend([Event::Elapsed(Timer::Roots), Event::Elapsed(Timer::Again)]);
        all
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::tests::{Walk, after, walk};

    const TOLD: [Event; 2] = [Event::RootsAsked, Event::RootsTold];
    const NOTHING: Event = Event::LookedAround { current: true, found: false };

    /// Calls `check` with each configuration that can be reached, each event, and what it did.
    fn everywhere(check: impl Fn(State, bool, &Event, State, &[Effect])) {
        let Walk { configurations, events, .. } = walk::<Routing>();
        for place in &configurations {
            for event in &events {
                let mut driver = place.driver.clone();
                let (before, looking) = (driver.state(), driver.machine().looking);
                let out = driver.feed(event);
                check(before, looking, event, driver.state(), &out.effects);
            }
        }
    }

    #[test]
    fn nothing_is_routed_while_the_roots_or_a_survey_that_decides_are_awaited() {
        everywhere(|before, _, event, _, effects| {
            let routes = effects.contains(&Effect::Follow);
            assert!(!routes || before != State::AwaitingRoots, "{event:?}");
            let ends = matches!(event, Event::LookedAround { current: true, .. });
            assert!(!routes || before != State::Looking || ends, "{event:?}");
        });
    }

    #[test]
    fn each_wait_ends_by_itself() {
        everywhere(|before, looking, event, after, effects| {
            if after == State::AwaitingRoots && (before != after || !effects.is_empty()) {
                assert_eq!(effects.last(), Some(&Effect::Arm(Timer::Roots, ROOTS_WAIT)), "{before:?} {event:?}");
            }
            if (before, event) == (State::AwaitingRoots, &Event::Elapsed(Timer::Roots)) {
                let expected = [Effect::ForgoRoots, Effect::Reconsider, Effect::Disarm(Timer::Roots)];
                assert_eq!((after, effects), (State::Unsettled, &expected[..]));
            }
            // A state waits for a survey only while one is running.
            if after == State::Looking && before != after {
                assert!(looking || effects.contains(&Effect::Look), "{before:?} {event:?}");
            }
            if before == State::Looking && matches!(event, Event::LookedAround { .. }) {
                assert!(effects.iter().any(|effect| [Effect::Reconsider, Effect::Follow].contains(effect)));
            }
        });
    }

    #[test]
    fn one_survey_runs_at_a_time() {
        everywhere(|before, looking, event, _, effects| {
            assert!(!looking || !effects.contains(&Effect::Look), "{before:?} {event:?}");
        });
    }

    #[test]
    fn what_the_client_says_anew_is_followed_wherever_routing_stands() {
        everywhere(|before, _, event, after, effects| {
            if *event == Event::RootsTold {
                assert_eq!(after, State::Unsettled, "{before:?}");
                assert!(effects.contains(&Effect::Reconsider), "{before:?}");
            }
        });
        let mut it = after(Routing::default(), &[Event::Requested { look: true }, TOLD[0].clone(), TOLD[1].clone()]);
        assert!(it.feed(&Event::Requested { look: true }).effects.is_empty(), "the earlier survey is still running");
        let out = it.feed(&Event::LookedAround { current: false, found: true }).effects;
        assert_eq!(out, [Effect::Reconsider], "what it found is out of date");
        assert_eq!(it.feed(&Event::Requested { look: true }).effects, [Effect::Look]);
    }

    #[test]
    fn a_request_is_not_refused_by_a_survey_that_began_before_it() {
        let look = Event::Requested { look: true };
        let mut it = after(Routing::default(), &[look.clone(), look.clone()]);
        assert_eq!(it.feed(&NOTHING).effects, [Effect::Reconsider]);
        assert_eq!(it.feed(&look).effects, [Effect::Look]);
        assert_eq!(it.feed(&NOTHING).effects, [Effect::Seek, Effect::Follow]);
        let mut it = after(Routing::default(), &[look.clone(), look]);
        let found = Event::LookedAround { current: true, found: true };
        assert_eq!(it.feed(&found).effects, [Effect::Seek, Effect::Follow]);
    }

    #[test]
    fn where_no_editor_was_found_it_looks_again_by_itself() {
        let look = Event::Requested { look: true };
        let nowhere = |can_change| Event::Routed(Way::Nowhere { can_change });
        let found = [look.clone(), NOTHING, nowhere(true)];
        let mut it = after(Routing::default(), &found);
        assert_eq!(it.feed(&Event::Elapsed(Timer::Again)).effects, [Effect::Reconsider]);
        assert_eq!(it.feed(&look).effects, [Effect::Look, Effect::Disarm(Timer::Again)]);
        it.feed(&NOTHING);
        let out = it.feed(&nowhere(true)).effects;
        assert_eq!(out, [Effect::Arm(Timer::Again, RETRY_UNLIKELY_MAX)]);
        let again = it.feed(&nowhere(true)).effects;
        assert_eq!(again, [Effect::Disarm(Timer::Again), Effect::Arm(Timer::Again, RETRY_UNLIKELY_MAX)]);
        assert_eq!(it.feed(&nowhere(false)).effects, [Effect::Disarm(Timer::Again)]);
        assert_eq!(it.state(), State::Adrift);
    }
}
