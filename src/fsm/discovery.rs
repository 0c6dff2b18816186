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
//! Targets that the bridge did not ask for shorten the bridge's wait. A survey that the bridge asked for never does, even if the
//! bridge asked during another survey: after a shortened wait the bridge asks again, so the two would trigger each other without
//! end.
//!
//! A survey opens files in a folder that may be on a disk that never answers. A survey that takes too long is given up. Its
//! thread cannot be ended, so at most `SURVEYS_HANGING_MAX` threads may hang at once, and the next survey begins after
//! `SURVEY_AGAIN`.
//!
//! Files are watched from the first request on, before the first survey, so that no change between them is missed. With each
//! survey the shell updates which files are watched.

use std::time::Duration;

use super::{Charted, Machine, Outbox, Outcome, statig_machine};
use crate::limits::{SURVEY_AGAIN, SURVEY_MAX, SURVEYS_HANGING_MAX};

/// Why a survey is made.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// The bridge asked for targets.
    #[default]
    Asked,
    /// A file changed, or a survey hung.
    News,
}

/// The storage of discovery.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Discovery {
    /// Why the current or last survey was made.
    pub cause: Cause,
    /// Why another survey follows the current one; `None` if none follows.
    pub again: Option<Cause>,
    /// Whether files are being watched.
    pub watching: bool,
    /// The number of surveys that were given up and whose threads have not ended.
    pub hanging: u8,
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// In `scanning`: the survey takes too long.
    Survey,
    /// In `stuck`: survey again.
    Again,
}

/// The state of discovery.
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
    /// The end.
    Stopped,
}

/// The superstates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// A survey has been made, and none is running now.
    Surveyed,
    /// The root: no handler decided the event.
    Root,
}

/// What a survey found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finding {
    /// Targets that may be called.
    Callable {
        /// The number of targets; 0 is treated as [`Finding::Nothing`].
        count: u8,
    },
    /// There are only candidates that are not proven to be this project's editor.
    OnlyUnproven,
    /// Several editors fit equally well.
    Ambiguous,
    /// There is no trace of an editor.
    Nothing,
}

/// Why there is no target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum WhyNothing {
    /// There are only candidates that are not proven to be this project's editor.
    OnlyUnproven,
    /// Several editors fit equally well.
    Ambiguous,
    /// There is no trace of an editor.
    Nothing,
}

/// What can happen to discovery.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The bridge asks for targets.
    Wanted,
    /// A watched file changed.
    FilesChanged,
    /// The survey is done.
    Surveyed(Finding),
    /// A survey that was given up has ended after all.
    HangingEnded,
    /// A timer fired.
    Elapsed(Timer),
    /// The link stops.
    StopRequested,
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Make a survey.
    Survey,
    /// Report the targets of the last survey to the bridge.
    Offer,
    /// Report the result of the last survey that ended to the bridge once more, if it is still valid.
    OfferAgain,
    /// Do not wait for the running survey any longer, and log that it hangs.
    GiveUp,
    /// Report to the bridge that there is no target.
    OfferNothing(WhyNothing),
    /// Start watching files.
    Watch,
    /// Tell the bridge to end its wait.
    ShortenWait,
    /// Stop watching files.
    Unwatch,
    /// Start a timer.
    Arm(Timer, Duration),
    /// Stop a timer.
    Disarm(Timer),
}

impl Discovery {
    fn scan(&mut self, cause: Cause) -> Outcome<State> {
        self.cause = cause;
        Outcome::Transition(State::Scanning)
    }

    /// Handles events whose effect is the same in every state.
    fn anywhere(&mut self, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match event {
            Event::HangingEnded => self.hanging = self.hanging.saturating_sub(1),
            Event::Elapsed(_) => return out.ignore("a timer of a state that was left"),
            Event::Wanted | Event::FilesChanged | Event::Surveyed(_) | Event::StopRequested => {
                return Outcome::Super;
            }
        }
        Outcome::Handled
    }

    fn tell(&mut self, finding: Finding, out: &mut Outbox<Self>) -> Outcome<State> {
        let why = match finding {
            Finding::Callable { count: 1.. } => None,
            Finding::OnlyUnproven => Some(WhyNothing::OnlyUnproven),
            Finding::Ambiguous => Some(WhyNothing::Ambiguous),
            Finding::Nothing | Finding::Callable { count: 0 } => Some(WhyNothing::Nothing),
        };
        out.order(why.map_or(Effect::Offer, Effect::OfferNothing));
        if why.is_none() && self.cause == Cause::News {
            out.order(Effect::ShortenWait);
        }
        match (self.again.take(), why) {
            (Some(cause), _) => self.scan(cause),
            (None, None) => Outcome::Transition(State::Offering),
            (None, Some(_)) => Outcome::Transition(State::Watching),
        }
    }
}

impl Machine for Discovery {
    const NAME: &'static str = "discovery";
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Idle
    }

    fn group(state: State) -> Group {
        match state {
            State::Offering | State::Watching => Group::Surveyed,
            State::Idle | State::Scanning | State::Stuck | State::Stopped => Group::Root,
        }
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match state {
            State::Idle => match event {
                Event::Wanted => {
                    self.watching = true;
                    out.order(Effect::Watch);
                    self.scan(Cause::Asked)
                }
                Event::HangingEnded | Event::Elapsed(_) => self.anywhere(event, out),
                Event::FilesChanged | Event::Surveyed(_) => Outcome::Super,
                Event::StopRequested => Outcome::Transition(State::Stopped),
            },
            State::Scanning => match event {
                Event::Wanted if self.again == Some(Cause::Asked) => {
                    out.ignore("one more survey is remembered already")
                }
                Event::Wanted => {
                    self.again = Some(Cause::Asked);
                    Outcome::Handled
                }
                Event::FilesChanged if self.again.is_some() => out.ignore("one more survey is remembered already"),
                Event::FilesChanged => {
                    self.again = Some(Cause::News);
                    Outcome::Handled
                }
                Event::Surveyed(finding) => self.tell(*finding, out),
                Event::Elapsed(Timer::Survey) => {
                    self.hanging = self.hanging.saturating_add(1);
                    // The next survey also serves requests that came during this one.
                    self.again = None;
                    out.order(Effect::GiveUp);
                    Outcome::Transition(State::Stuck)
                }
                Event::HangingEnded | Event::Elapsed(_) => self.anywhere(event, out),
                Event::StopRequested => Outcome::Transition(State::Stopped),
            },
            State::Stuck => match event {
                Event::Wanted => {
                    out.order(Effect::OfferAgain);
                    Outcome::Handled
                }
                Event::FilesChanged => out.ignore("the next survey will see it"),
                Event::HangingEnded => {
                    self.hanging = self.hanging.saturating_sub(1);
                    self.scan(Cause::News)
                }
                Event::Elapsed(Timer::Again) => self.scan(Cause::News),
                Event::Elapsed(_) => self.anywhere(event, out),
                Event::Surveyed(_) => Outcome::Super,
                Event::StopRequested => Outcome::Transition(State::Stopped),
            },
            State::Offering | State::Watching => match event {
                Event::Wanted
                | Event::FilesChanged
                | Event::Surveyed(_)
                | Event::HangingEnded
                | Event::Elapsed(_)
                | Event::StopRequested => Outcome::Super,
            },
            State::Stopped => match event {
                Event::Wanted | Event::FilesChanged | Event::Elapsed(_) => out.ignore("it was stopped for good"),
                Event::Surveyed(_) | Event::HangingEnded => out.ignore("nobody is left to be told"),
                Event::StopRequested => out.ignore("already stopped"),
            },
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (group, event) {
            (Group::Surveyed, Event::Wanted) => self.scan(Cause::Asked),
            // Surveys even while a target is offered: the port or the editor's activity may have changed.
            (Group::Surveyed, Event::FilesChanged) => self.scan(Cause::News),
            (Group::Surveyed, Event::StopRequested) => Outcome::Transition(State::Stopped),
            (Group::Surveyed, Event::HangingEnded | Event::Elapsed(_)) => self.anywhere(event, out),
            // The result of a survey although none was running: a bug of the shell.
            (Group::Surveyed, Event::Surveyed(_)) | (Group::Root, _) => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Scanning => {
                out.order(Effect::Arm(Timer::Survey, SURVEY_MAX));
                out.order(Effect::Survey);
            }
            State::Stuck if self.hanging < SURVEYS_HANGING_MAX => out.order(Effect::Arm(Timer::Again, SURVEY_AGAIN)),
            State::Stopped => {
                if self.watching {
                    out.order(Effect::Unwatch);
                }
                *self = Self::default();
            }
            State::Idle | State::Stuck | State::Offering | State::Watching => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Scanning => out.order(Effect::Disarm(Timer::Survey)),
            State::Stuck => out.order(Effect::Disarm(Timer::Again)),
            State::Idle | State::Offering | State::Watching | State::Stopped => {}
        }
    }
}
statig_machine!(Discovery, State, Group);

impl Charted for Discovery {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Wanted,
            Event::FilesChanged,
            Event::Surveyed(Finding::Callable { count: 0 }),
            Event::Surveyed(Finding::Callable { count: 1 }),
            Event::Surveyed(Finding::OnlyUnproven),
            Event::Surveyed(Finding::Ambiguous),
            Event::Surveyed(Finding::Nothing),
            Event::HangingEnded,
            Event::Elapsed(Timer::Survey),
            Event::Elapsed(Timer::Again),
            Event::StopRequested,
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
    use crate::fsm::chart::after;

    const FOUND: Event = Event::Surveyed(Finding::Callable { count: 1 });
    const NOTHING: Event = Event::Surveyed(Finding::Nothing);

    /// Returns the effects that are ordered, without those for timers.
    fn orders(it: &mut Driver<Discovery>, event: &Event) -> Vec<Effect> {
        let timer = |effect: &Effect| matches!(effect, Effect::Arm(..) | Effect::Disarm(_));
        it.feed(event).effects.into_iter().filter(|effect| !timer(effect)).collect()
    }

    #[test]
    fn idle_wanted_watches_before_it_surveys() {
        let mut it = after(Discovery::default(), &[]);
        assert_eq!(orders(&mut it, &Event::Wanted), [Effect::Watch, Effect::Survey]);
    }

    #[test]
    fn scanning_surveyed_callable_offers_and_cuts_no_wait_of_a_bridge_that_asked() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(orders(&mut it, &FOUND), [Effect::Offer]);
        assert_eq!(it.state(), State::Offering);
    }

    #[test]
    fn scanning_surveyed_without_a_target_says_why() {
        for (finding, why) in [
            (Finding::OnlyUnproven, WhyNothing::OnlyUnproven),
            (Finding::Ambiguous, WhyNothing::Ambiguous),
            (Finding::Nothing, WhyNothing::Nothing),
            (Finding::Callable { count: 0 }, WhyNothing::Nothing),
        ] {
            let mut it = after(Discovery::default(), &[Event::Wanted]);
            assert_eq!(orders(&mut it, &Event::Surveyed(finding)), [Effect::OfferNothing(why)]);
            assert_eq!(it.state(), State::Watching);
        }
    }

    #[test]
    fn scanning_files_changed_in_a_burst_leads_to_one_more_survey_and_holds_no_answer_back() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        for event in [Event::FilesChanged, Event::FilesChanged] {
            assert!(orders(&mut it, &event).is_empty());
        }
        assert_eq!(orders(&mut it, &NOTHING), [Effect::OfferNothing(WhyNothing::Nothing), Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [Effect::Offer, Effect::ShortenWait]);
        assert_eq!(it.state(), State::Offering);
    }

    #[test]
    fn scanning_wanted_is_answered_by_a_survey_that_began_after_it() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING, Event::FilesChanged, Event::Wanted]);
        assert_eq!(orders(&mut it, &FOUND), [Effect::Offer, Effect::ShortenWait, Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [Effect::Offer]);
    }

    #[test]
    fn watching_files_changed_brings_good_news_to_the_bridge() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING]);
        assert_eq!(orders(&mut it, &Event::FilesChanged), [Effect::Survey]);
        assert_eq!(orders(&mut it, &FOUND), [Effect::Offer, Effect::ShortenWait]);
    }

    #[test]
    fn offering_files_changed_surveys_again_without_a_second_watch() {
        let mut it = after(Discovery::default(), &[Event::Wanted, FOUND]);
        assert_eq!(orders(&mut it, &Event::FilesChanged), [Effect::Survey]);
        assert_eq!(
            orders(&mut it, &Event::Surveyed(Finding::Ambiguous)),
            [Effect::OfferNothing(WhyNothing::Ambiguous)]
        );
    }

    #[test]
    fn scanning_stop_requested_unwatches_and_drops_the_late_finding() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(orders(&mut it, &Event::StopRequested), [Effect::Unwatch]);
        assert!(orders(&mut it, &FOUND).is_empty());
    }

    #[test]
    fn idle_stop_requested_has_nothing_to_unwatch() {
        assert!(orders(&mut after(Discovery::default(), &[]), &Event::StopRequested).is_empty());
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
        assert_eq!(it.feed(&Event::Wanted).effects, [Effect::OfferAgain]);
        assert!(it.feed(&Event::HangingEnded).effects.contains(&Effect::Survey));
        assert_eq!((it.machine().hanging, it.state()), (SURVEYS_HANGING_MAX - 1, State::Scanning));
    }
}
