//! Discovery: where is the editor?
//!
//! Fed by its shell: the bridge asks for targets (`Wanted`), the client's roots came (`RootsHinted`), a watched file changed
//! (`FilesChanged`), and a survey (configured port, instance and status files, the walk up from the working directory, pids,
//! owners of ports) is done (`Surveyed`). It decides when to survey and what the bridge is told: targets that may be
//! called, or why there are none. It never guesses: candidates that nothing proves, or two editors that fit alike, are listed
//! for a person (by `holdfast status`) and not called.
//!
//! One survey runs at a time, and one more is remembered. Each finding is told at once even if another survey follows, or a
//! burst of file changes would keep the bridge waiting for as long as it lasts.
//!
//! A finding that the bridge did not ask for and that can be called is good news: it cuts the bridge's wait short. One that it
//! did ask for never does, also when it asked during a survey: the bridge's answer to a cut wait is to ask, and the
//! two would chase each other.
//!
//! The watch starts with the first question, before the first survey, so that no change falls between them; the shell aims
//! it anew with each survey.

use super::{Charted, Machine, Outbox, Outcome, statig_machine};

/// Why a survey is made.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// The bridge asked.
    #[default]
    Asked,
    /// Something changed.
    News,
}

/// The storage of discovery.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Discovery {
    /// Why the survey that runs (or ran last) was made.
    pub cause: Cause,
    /// Another survey follows the one that runs, and why.
    pub again: Option<Cause>,
    /// Files are being watched.
    pub watching: bool,
}

/// Where discovery stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Nobody asked yet.
    Idle,
    /// A survey runs.
    Scanning,
    /// The last survey found something to call.
    Offering,
    /// The last survey found nothing to call; waiting for news.
    Watching,
    /// Over.
    Stopped,
}

/// The superstates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// A survey has been made, none runs.
    Surveyed,
    /// Above all.
    Root,
}

/// What a survey found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finding {
    /// Targets that may be called.
    Callable {
        /// How many; 0 counts as [`Finding::Nothing`].
        count: u8,
    },
    /// Only candidates that nothing proves to be this project's editor.
    OnlyUnproven,
    /// Several that fit alike.
    Ambiguous,
    /// No trace of an editor.
    Nothing,
}

/// Why there is nothing to call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum WhyNothing {
    /// Only candidates that nothing proves to be this project's editor.
    OnlyUnproven,
    /// Several that fit alike.
    Ambiguous,
    /// No trace of an editor.
    Nothing,
}

/// What can happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The bridge asks for targets.
    Wanted,
    /// The client named its roots.
    RootsHinted,
    /// A watched file changed.
    FilesChanged,
    /// The survey is done.
    Surveyed(Finding),
    /// The link stops.
    StopRequested,
}

/// What can be ordered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Make a survey.
    Survey,
    /// Tell the bridge the targets of the last survey.
    Offer,
    /// Tell the bridge that there is nothing to call.
    OfferNothing(WhyNothing),
    /// Start watching files.
    Watch,
    /// Tell the bridge to end its wait.
    ShortenWait,
    /// Stop watching files.
    Unwatch,
}

impl Discovery {
    fn scan(&mut self, cause: Cause) -> Outcome<State> {
        self.cause = cause;
        Outcome::Transition(State::Scanning)
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
            State::Idle | State::Scanning | State::Stopped => Group::Root,
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
                Event::RootsHinted => out.ignore("the first survey will read the roots"),
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
                Event::RootsHinted | Event::FilesChanged if self.again.is_some() => {
                    out.ignore("one more survey is remembered already")
                }
                Event::RootsHinted | Event::FilesChanged => {
                    self.again = Some(Cause::News);
                    Outcome::Handled
                }
                Event::Surveyed(finding) => self.tell(*finding, out),
                Event::StopRequested => Outcome::Transition(State::Stopped),
            },
            State::Offering | State::Watching => match event {
                Event::Wanted
                | Event::RootsHinted
                | Event::FilesChanged
                | Event::Surveyed(_)
                | Event::StopRequested => Outcome::Super,
            },
            State::Stopped => match event {
                Event::Wanted | Event::RootsHinted | Event::FilesChanged => out.ignore("it was stopped for good"),
                Event::Surveyed(_) => out.ignore("nobody is left to be told"),
                Event::StopRequested => out.ignore("already stopped"),
            },
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, _: &mut Outbox<Self>) -> Outcome<State> {
        match (group, event) {
            (Group::Surveyed, Event::Wanted) => self.scan(Cause::Asked),
            // While offering too: the port or the editor's activity may have changed.
            (Group::Surveyed, Event::RootsHinted | Event::FilesChanged) => self.scan(Cause::News),
            (Group::Surveyed, Event::StopRequested) => Outcome::Transition(State::Stopped),
            // Two surveys at once would be the shell's mistake.
            (Group::Surveyed, Event::Surveyed(_)) | (Group::Root, _) => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Scanning => out.order(Effect::Survey),
            State::Stopped => {
                if self.watching {
                    out.order(Effect::Unwatch);
                }
                *self = Self::default();
            }
            State::Idle | State::Offering | State::Watching => {}
        }
    }
}
statig_machine!(Discovery, State, Group);

impl Charted for Discovery {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Wanted,
            Event::RootsHinted,
            Event::FilesChanged,
            Event::Surveyed(Finding::Callable { count: 0 }),
            Event::Surveyed(Finding::Callable { count: 1 }),
            Event::Surveyed(Finding::OnlyUnproven),
            Event::Surveyed(Finding::Ambiguous),
            Event::Surveyed(Finding::Nothing),
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
    use crate::fsm::chart::after;

    const FOUND: Event = Event::Surveyed(Finding::Callable { count: 1 });
    const NOTHING: Event = Event::Surveyed(Finding::Nothing);

    #[test]
    fn idle_wanted_watches_before_it_surveys() {
        let mut it = after(Discovery::default(), &[]);
        assert_eq!(it.feed(&Event::Wanted).effects, [Effect::Watch, Effect::Survey]);
    }

    #[test]
    fn scanning_surveyed_callable_offers_and_cuts_no_wait_of_a_bridge_that_asked() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Offer]);
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
            assert_eq!(it.feed(&Event::Surveyed(finding)).effects, [Effect::OfferNothing(why)]);
            assert_eq!(it.state(), State::Watching);
        }
    }

    #[test]
    fn scanning_files_changed_in_a_burst_leads_to_one_more_survey_and_holds_no_answer_back() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        for event in [Event::FilesChanged, Event::RootsHinted, Event::FilesChanged] {
            assert!(it.feed(&event).effects.is_empty());
        }
        assert_eq!(it.feed(&NOTHING).effects, [Effect::OfferNothing(WhyNothing::Nothing), Effect::Survey]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Offer, Effect::ShortenWait]);
        assert_eq!(it.state(), State::Offering);
    }

    #[test]
    fn scanning_wanted_is_answered_by_a_survey_that_began_after_it() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING, Event::FilesChanged, Event::Wanted]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Offer, Effect::ShortenWait, Effect::Survey]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Offer]);
    }

    #[test]
    fn watching_files_changed_brings_good_news_to_the_bridge() {
        let mut it = after(Discovery::default(), &[Event::Wanted, NOTHING]);
        assert_eq!(it.feed(&Event::FilesChanged).effects, [Effect::Survey]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Offer, Effect::ShortenWait]);
    }

    #[test]
    fn offering_files_changed_surveys_again_without_a_second_watch() {
        let mut it = after(Discovery::default(), &[Event::Wanted, FOUND]);
        assert_eq!(it.feed(&Event::FilesChanged).effects, [Effect::Survey]);
        assert_eq!(
            it.feed(&Event::Surveyed(Finding::Ambiguous)).effects,
            [Effect::OfferNothing(WhyNothing::Ambiguous)]
        );
    }

    #[test]
    fn scanning_stop_requested_unwatches_and_drops_the_late_finding() {
        let mut it = after(Discovery::default(), &[Event::Wanted]);
        assert_eq!(it.feed(&Event::StopRequested).effects, [Effect::Unwatch]);
        assert!(it.feed(&FOUND).effects.is_empty());
    }

    #[test]
    fn idle_stop_requested_has_nothing_to_unwatch() {
        assert!(after(Discovery::default(), &[]).feed(&Event::StopRequested).effects.is_empty());
    }
}
