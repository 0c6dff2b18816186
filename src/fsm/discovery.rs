//! Discovery: decides when to look for the editor, and what the bridge may connect to.
//!
//! The shell feeds three facts: the bridge asks for targets (`Wanted`), a watched file changed (`FilesChanged`), and a survey is done
//! (`Surveyed`). A survey looks at the configured port, instance and status files,
//! the folders above the working directory, process ids, and owners of ports. Discovery decides when to survey and what to report
//! to the bridge: targets that may be called, or why there are none. It never guesses. If nothing proves a candidate, or if two
//! editors fit equally well, none is called, and `holdfast status` lists them for a person.
//!
//! Only one survey runs at a time, and at most one more is remembered. Each finding is reported at once, even if another survey
//! follows: otherwise a burst of file changes would keep the bridge waiting until the burst ends.
//!
//! A survey that the bridge did not ask for may find targets, and then it shortens the bridge's wait. A survey that the
//! bridge asked for never shortens a wait, even if the bridge asked during another survey. After a shortened wait the
//! bridge asks again, so the two would trigger each other without end.
//!
//! A survey opens files in a folder that may be on a disk that never answers. A survey that takes too long is given up. Its
//! thread cannot be ended, so at most `SURVEYS_HANGING_MAX` threads may hang at once, and the next survey begins after
//! `SURVEY_AGAIN`.
//!
//! With each survey the shell updates which files are watched.

use std::time::Duration;

use super::{Machine, Outcome, Reaction, statig_machine};
use crate::limits::{SURVEY_AGAIN, SURVEY_MAX, SURVEYS_HANGING_MAX};

/// Why a survey is made.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Occasion {
    /// The bridge asked for targets.
    #[default]
    Asked,
    /// A file changed, or a survey hung.
    News,
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Discovery {
    /// Why the current or last survey was made.
    pub occasion: Occasion,
    /// Why another survey follows the current one; `None` if none follows.
    pub again: Option<Occasion>,
    /// The number of surveys that were given up and whose threads have not ended.
    pub hanging: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// In `scanning`: the survey takes too long.
    Survey,
    /// In `stuck`: survey again.
    Again,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// No targets were asked for yet.
    Idle,
    /// A survey is running.
    Scanning,
    /// The last survey was given up.
    Stuck,
    /// The last survey found a target.
    Offering,
    /// The last survey found no target; waiting for changes.
    Watching,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// A survey has been made, and none is running now.
    Surveyed,
}

/// What can happen to discovery.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The bridge asks for targets.
    Wanted,
    FilesChanged,
    Surveyed {
        /// Whether it found a target that may be called.
        found: bool,
    },
    /// A survey that was given up has ended after all.
    HangingEnded,
    Elapsed(Timer),
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    Survey,
    /// Report to the bridge what the last complete survey found: targets, or why there are none.
    Offer {
        /// Whether the finding is news. If so, the bridge ends its wait.
        news: bool,
    },
    /// Do not wait for the running survey any longer, and log that it hangs.
    GiveUp,
    Arm(Timer, Duration),
    Disarm(Timer),
}

impl Discovery {
    fn scan(&mut self, occasion: Occasion) -> Outcome<State> {
        self.occasion = occasion;
        Outcome::Transition(State::Scanning)
    }

    /// Handles events whose effect is the same in every state.
    fn anywhere(&mut self, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::HangingEnded => self.hanging = self.hanging.saturating_sub(1),
            Event::Elapsed(_) => return out.ignore("a timer of a state that was left"),
            _ => return Outcome::Super,
        }
        Outcome::Handled
    }

    fn tell(&mut self, found: bool, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::Offer { news: found && self.occasion == Occasion::News });
        match self.again.take() {
            Some(occasion) => self.scan(occasion),
            None => Outcome::Transition(if found { State::Offering } else { State::Watching }),
        }
    }
}

impl Machine for Discovery {
    const NAME: &'static str = "discovery";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Idle
    }

    fn group(state: State) -> Option<Group> {
        matches!(state, State::Offering | State::Watching).then_some(Group::Surveyed)
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (state, event) {
            (State::Idle, Event::Wanted) => self.scan(Occasion::Asked),
            (State::Scanning, Event::Wanted) if self.again == Some(Occasion::Asked) => {
                out.ignore("one more survey is remembered already")
            }
            (State::Scanning, Event::Wanted) => {
                self.again = Some(Occasion::Asked);
                Outcome::Handled
            }
            (State::Scanning, Event::FilesChanged) if self.again.is_some() => {
                out.ignore("one more survey is remembered already")
            }
            (State::Scanning, Event::FilesChanged) => {
                self.again = Some(Occasion::News);
                Outcome::Handled
            }
            (State::Scanning, Event::Surveyed { found }) => self.tell(*found, out),
            (State::Scanning, Event::Elapsed(Timer::Survey)) => {
                self.hanging = self.hanging.saturating_add(1);
                // The next survey also serves requests that came during this one.
                self.again = None;
                out.order(Effect::GiveUp);
                Outcome::Transition(State::Stuck)
            }
            (State::Stuck, Event::Wanted) => {
                out.order(Effect::Offer { news: false });
                Outcome::Handled
            }
            (State::Stuck, Event::FilesChanged) => out.ignore("the next survey will see it"),
            (State::Stuck, Event::HangingEnded) => {
                self.hanging = self.hanging.saturating_sub(1);
                self.scan(Occasion::News)
            }
            (State::Stuck, Event::Elapsed(Timer::Again)) => self.scan(Occasion::News),
            (State::Idle | State::Scanning | State::Stuck, _) => self.anywhere(event, out),
            (State::Offering | State::Watching, _) => Outcome::Super,
        }
    }

    fn on_group(&mut self, Group::Surveyed: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Wanted => self.scan(Occasion::Asked),
            // Surveys even while a target is offered: the port or the editor's activity may have changed.
            Event::FilesChanged => self.scan(Occasion::News),
            // A result while no survey runs would be a bug of the shell.
            _ => self.anywhere(event, out),
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        match state {
            State::Scanning => {
                out.order(Effect::Arm(Timer::Survey, SURVEY_MAX));
                out.order(Effect::Survey);
            }
            State::Stuck if self.hanging < SURVEYS_HANGING_MAX => out.order(Effect::Arm(Timer::Again, SURVEY_AGAIN)),
            State::Idle | State::Stuck | State::Offering | State::Watching => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Reaction<Self>) {
        match state {
            State::Scanning => out.order(Effect::Disarm(Timer::Survey)),
            State::Stuck => out.order(Effect::Disarm(Timer::Again)),
            State::Idle | State::Offering | State::Watching => {}
        }
    }
}
statig_machine!(Discovery, State, Group);

#[cfg(test)]
impl super::tests::Charted for Discovery {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Wanted,
            Event::FilesChanged,
            Event::Surveyed { found: true },
            Event::Surveyed { found: false },
            Event::HangingEnded,
            Event::Elapsed(Timer::Survey),
            Event::Elapsed(Timer::Again),
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::Driver;
    use crate::fsm::tests::after;

    const FOUND: Event = Event::Surveyed { found: true };
    const NOTHING: Event = Event::Surveyed { found: false };
    const OFFER: Effect = Effect::Offer { news: false };
    const NEWS: Effect = Effect::Offer { news: true };

    /// Returns the effects that are ordered, without those for timers.
    fn orders(it: &mut Driver<Discovery>, event: &Event) -> Vec<Effect> {
        let timer = |effect: &Effect| matches!(effect, Effect::Arm(..) | Effect::Disarm(_));
        it.feed(event).effects.into_iter().filter(|effect| !timer(effect)).collect()
    }

    #[test]
    fn idle_wanted_surveys() {
        let mut it = after(Discovery::default(), &[]);
        assert_eq!(orders(&mut it, &Event::Wanted), [Effect::Survey]);
    }

    #[test]
    fn scanning_surveyed_callable_offers_and_cuts_no_wait_of_a_bridge_that_asked() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(orders(&mut it, &FOUND), [OFFER]);
        assert_eq!(it.state(), State::Offering);
    }

    #[test]
    fn scanning_surveyed_without_a_target_is_told_too() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(orders(&mut it, &NOTHING), [OFFER]);
        assert_eq!(it.state(), State::Watching);
    }

    #[test]
    fn scanning_files_changed_in_a_burst_leads_to_one_more_survey_and_holds_no_answer_back() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        for event in [Event::FilesChanged, Event::FilesChanged] {
            assert!(orders(&mut it, &event).is_empty());
        }
        assert_eq!(orders(&mut it, &NOTHING), [OFFER, Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [NEWS]);
        assert_eq!(it.state(), State::Offering);
    }

    #[test]
    fn scanning_wanted_is_answered_by_a_survey_that_began_after_it() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING, Event::FilesChanged, Event::Wanted]);
        assert_eq!(orders(&mut it, &FOUND), [NEWS, Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [OFFER]);
    }

    #[test]
    fn watching_files_changed_brings_good_news_to_the_bridge() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING]);
        assert_eq!(orders(&mut it, &Event::FilesChanged), [Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [NEWS]);
    }

    #[test]
    fn offering_files_changed_surveys_again_and_no_target_is_no_good_news() {
        let mut it = after(Discovery::default(), &[Event::Wanted, FOUND]);
        assert_eq!(orders(&mut it, &Event::FilesChanged), [Effect::Survey]);
        assert_eq!(orders(&mut it, &NOTHING), [OFFER]);
    }

    #[test]
    fn scanning_elapsed_gives_up_and_looks_again_later_until_too_many_hang() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        for n in 1..=SURVEYS_HANGING_MAX {
            let out = it.feed(&Event::Elapsed(Timer::Survey)).effects;
            assert!(out.contains(&Effect::GiveUp) && it.state() == State::Stuck, "{out:?}");
            let again = out.contains(&Effect::Arm(Timer::Again, SURVEY_AGAIN));
            assert_eq!(again, n < SURVEYS_HANGING_MAX, "{out:?}");
            if again {
                assert!(it.feed(&Event::Elapsed(Timer::Again)).effects.contains(&Effect::Survey));
            }
        }
        assert!(it.feed(&Event::FilesChanged).effects.is_empty());
        assert_eq!(it.feed(&Event::Wanted).effects, [OFFER]);
        assert!(it.feed(&Event::HangingEnded).effects.contains(&Effect::Survey));
        assert_eq!((it.machine().hanging, it.state()), (SURVEYS_HANGING_MAX - 1, State::Scanning));
    }
}
