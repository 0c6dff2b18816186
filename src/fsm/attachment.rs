//! The attachment of a session to the hub: the gateway that several sessions share.
//!
//! The shell feeds how a connection to the hub goes on (`Welcomed`, `NoHub`, `Refused`, `Unanswered`, `Closed`). From
//! time to time it feeds whether the hub still speaks (`Looked`). The machine decides when to connect again, when to
//! start a hub, when a hub counts as hung, and when the session serves its client by itself.
//!
//! Only silence shows that a hub is hung: it owes answers, and does not answer questions either. The end of a connection shows
//! only that a successor is needed.
//!
//! The delays have no jitter: sessions that start a hub at the same time take turns by a lock, and only this machine is concerned.

use std::time::Duration;

use super::{Machine, NoGroup, Outcome, Reaction, retry, statig_machine};
use crate::limits::hub::{HUB_LOOK_EVERY, HUB_QUESTIONS_MAX, HUB_SUCCESSOR_MAX};

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Attachment {
    /// Whether the session was told to start a hub if none runs.
    pub starts: bool,
    /// Whether a hub has served this session. If so, a hub is needed: only a hub can say how the session's requests
    /// ended.
    pub served: bool,
    pub count: Count,
}

/// What is counted in the current state. Every count saturates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Count {
    /// The attempts to connect since the session has had no hub.
    Attempts(u8),
    Attached {
        /// The questions that the hub has not answered.
        questions: u8,
        /// The attempts before this hub. They are forgotten once the hub has served for a while, because a hub that
        /// ends at once is no hub. While they are above 0, the time of the search goes on.
        attempts: u8,
        /// Whether the time of the search is over.
        is_over: bool,
    },
}

impl Default for Count {
    fn default() -> Self {
        Self::Attempts(0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// A connection to the hub is being opened.
    Dialing,
    /// There is no hub. The next attempt follows after a delay.
    Waiting,
    /// The hub serves the session.
    Attached,
    /// The session serves its client by itself. The end.
    Embedded,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// The delay before the next attempt is over.
    Redial,
    /// The time to find a hub is over.
    Successor,
    /// It is time to look whether the hub still speaks. The shell then feeds [`Event::Looked`].
    Look,
}

/// What can happen to the attachment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The hub took the session.
    Welcomed {
        /// Whether the hub's program is older than the session's.
        older: bool,
    },
    /// Nothing accepts connections.
    NoHub,
    /// The hub did not take the session.
    Refused {
        /// Whether the hub is ending, so that a successor can be expected.
        ending: bool,
    },
    /// A connection was accepted, and the hub's first line did not come in time.
    Unanswered,
    /// The connection ended.
    Closed,
    /// The shell has looked whether the hub still speaks.
    Looked {
        /// Whether the hub owes answers and has sent nothing since the last look.
        silent: bool,
    },
    /// The timer for the next attempt fired.
    RedialDue,
    /// The timer for the search fired.
    SearchOver,
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Open a connection to the hub.
    Dial,
    /// Start a hub, unless another session is doing that.
    StartHub,
    /// Send everything that the client said and the hub does not know.
    Resume,
    /// Ask the hub to end as soon as the calls that it sent are answered.
    AskToRetire,
    /// Ask the hub for a sign of life.
    Ask,
    /// End the process at the other end of the connection, which is hung.
    EndHub,
    Close,
    /// Serve the client in this process.
    Embed,
    Arm(Timer, Duration),
    Disarm(Timer),
}

impl Attachment {
    /// Returns the attachment of a session that has not connected yet.
    pub fn new(starts: bool) -> Self {
        Self { starts, ..Self::default() }
    }

    /// Whether it is worth looking for a hub that is not there.
    fn needs_hub(&self) -> bool {
        self.starts || self.served
    }

    /// Waits before the next attempt; the first time, also bounds the search.
    fn wait(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        let attempt = self.attempts();
        if attempt == 0 {
            out.order(Effect::Arm(Timer::Successor, HUB_SUCCESSOR_MAX));
        }
        out.order(Effect::Arm(Timer::Redial, retry::delay(attempt.into(), true, 0.5)));
        self.count = Count::Attempts(attempt.saturating_add(1));
        Outcome::Transition(State::Waiting)
    }

    fn attempts(&self) -> u8 {
        match self.count {
            Count::Attempts(attempts) | Count::Attached { attempts, .. } => attempts,
        }
    }

    fn questions(&self) -> u8 {
        match self.count {
            Count::Attached { questions, .. } => questions,
            Count::Attempts(_) => 0,
        }
    }

    /// Leaves a hub that is gone or hung, and looks for its successor.
    fn lose(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::Disarm(Timer::Look));
        let is_over = matches!(self.count, Count::Attached { is_over: true, .. });
        self.count = Count::Attempts(self.attempts());
        if is_over { Outcome::Transition(State::Embedded) } else { self.wait(out) }
    }
}

impl Machine for Attachment {
    const NAME: &'static str = "attachment";
    type State = State;
    type Group = NoGroup;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Dialing
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match state {
            State::Dialing => match event {
                Event::Welcomed { older } => {
                    self.served = true;
                    self.count = Count::Attached { questions: 0, attempts: self.attempts(), is_over: false };
                    out.order(Effect::Resume);
                    if *older {
                        out.order(Effect::AskToRetire);
                    }
                    out.order(Effect::Arm(Timer::Look, HUB_LOOK_EVERY));
                    Outcome::Transition(State::Attached)
                }
                Event::NoHub if self.needs_hub() => {
                    out.order(Effect::StartHub);
                    self.wait(out)
                }
                Event::Refused { ending: true } if self.needs_hub() => self.wait(out),
                // The hub that hangs may be the successor of the one that served this session. Until it is ended, no other can
                // take its place.
                Event::Unanswered if self.served => {
                    out.order(Effect::EndHub);
                    self.wait(out)
                }
                Event::NoHub | Event::Refused { .. } | Event::Unanswered => Outcome::Transition(State::Embedded),
                Event::SearchOver => Outcome::Transition(State::Embedded),
                Event::Closed | Event::Looked { .. } => out.ignore("of an earlier connection"),
                _ => Outcome::Super,
            },
            State::Waiting => match event {
                Event::RedialDue => Outcome::Transition(State::Dialing),
                Event::SearchOver => Outcome::Transition(State::Embedded),
                Event::Closed | Event::Looked { .. } => out.ignore("of an earlier connection"),
                _ => Outcome::Super,
            },
            State::Attached => match event {
                Event::Closed => self.lose(out),
                Event::Looked { silent: false } => {
                    if self.attempts() > 0 {
                        out.order(Effect::Disarm(Timer::Successor));
                    }
                    self.count = Count::Attached { questions: 0, attempts: 0, is_over: false };
                    out.order(Effect::Arm(Timer::Look, HUB_LOOK_EVERY));
                    Outcome::Handled
                }
                Event::Looked { silent: true } if self.questions() < HUB_QUESTIONS_MAX => {
                    if let Count::Attached { questions, .. } = &mut self.count {
                        *questions += 1;
                    }
                    out.order(Effect::Ask);
                    out.order(Effect::Arm(Timer::Look, HUB_LOOK_EVERY));
                    Outcome::Handled
                }
                Event::Looked { silent: true } => {
                    out.order(Effect::EndHub);
                    out.order(Effect::Close);
                    self.lose(out)
                }
                Event::SearchOver => match &mut self.count {
                    // Whether this hub is of use shows soon.
                    Count::Attached { attempts: 1.., is_over, .. } => {
                        *is_over = true;
                        Outcome::Handled
                    }
                    _ => Outcome::Super,
                },
                _ => Outcome::Super,
            },
            State::Embedded => out.ignore("the session has no hub any more"),
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        match state {
            State::Dialing => out.order(Effect::Dial),
            State::Embedded => {
                out.order(Effect::Close);
                out.order(Effect::Embed);
            }
            State::Waiting | State::Attached => {}
        }
    }
}
statig_machine!(Attachment, State, NoGroup);

#[cfg(test)]
impl super::tests::Charted for Attachment {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Welcomed { older: false },
            Event::Welcomed { older: true },
            Event::NoHub,
            Event::Refused { ending: true },
            Event::Refused { ending: false },
            Event::Unanswered,
            Event::Closed,
            Event::Looked { silent: false },
            Event::Looked { silent: true },
            Event::RedialDue,
            Event::SearchOver,
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::new(false), Self::new(true)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::tests::after;
    use crate::fsm::{Driver, Hosted};

    const WELCOMED: Event = Event::Welcomed { older: false };
    const SILENT: Event = Event::Looked { silent: true };

    fn served() -> Driver<Attachment> {
        after(Attachment::new(false), &[WELCOMED])
    }

    fn state<M: Hosted>(driver: &Driver<M>) -> M::State {
        driver.state()
    }

    #[test]
    fn a_session_that_finds_no_hub_serves_by_itself_unless_it_is_to_start_one() {
        for event in [Event::NoHub, Event::Refused { ending: true }, Event::Unanswered] {
            let mut it = after(Attachment::new(false), &[]);
            assert_eq!(it.feed(&event).effects, [Effect::Close, Effect::Embed], "{event:?}");
        }
        let mut it = after(Attachment::new(true), &[]);
        assert_eq!(it.feed(&Event::NoHub).effects[0], Effect::StartHub);
        assert_eq!(state(&it), State::Waiting);
        assert_eq!(it.feed(&Event::RedialDue).effects, [Effect::Dial]);
        let out = it.feed(&WELCOMED).effects;
        assert!(out.contains(&Effect::Resume), "{out:?}");
        let out = it.feed(&Event::Looked { silent: false }).effects;
        assert!(out.contains(&Effect::Disarm(Timer::Successor)), "{out:?}");
    }

    #[test]
    fn a_session_whose_hub_is_gone_starts_a_successor_whatever_it_was_told() {
        let mut it = served();
        assert!(!it.feed(&Event::Closed).effects.contains(&Effect::StartHub), "another may have taken over already");
        it.feed(&Event::RedialDue);
        assert!(it.feed(&Event::NoHub).effects.contains(&Effect::StartHub));
        it.feed(&Event::RedialDue);
        assert!(it.feed(&WELCOMED).effects.contains(&Effect::Resume));
    }

    #[test]
    fn the_search_for_a_successor_ends_and_the_session_serves_by_itself() {
        let mut it = served();
        let out = it.feed(&Event::Closed).effects;
        assert!(out.contains(&Effect::Arm(Timer::Successor, HUB_SUCCESSOR_MAX)), "{out:?}");
        for _ in 0..300 {
            it.feed(&Event::RedialDue);
            let out = it.feed(&Event::NoHub).effects;
            let bounds = |effect: &Effect| matches!(effect, Effect::Arm(Timer::Successor, _));
            assert!(!out.iter().any(bounds), "the time is not prolonged");
        }
        assert_eq!(it.feed(&Event::SearchOver).effects, [Effect::Close, Effect::Embed]);
        assert_eq!(state(&it), State::Embedded);
    }

    #[test]
    fn a_hub_that_ends_again_and_again_as_soon_as_it_serves_is_none() {
        let mut it = served();
        it.feed(&Event::Looked { silent: false });
        let bounds = |effect: &Effect| matches!(effect, Effect::Arm(Timer::Successor, _));
        assert!(it.feed(&Event::Closed).effects.iter().any(bounds));
        for _ in 0..20 {
            it.feed(&Event::RedialDue);
            it.feed(&WELCOMED);
            assert!(!it.feed(&Event::Closed).effects.iter().any(bounds), "the time is not prolonged");
        }
        it.feed(&Event::RedialDue);
        it.feed(&WELCOMED);
        assert!(it.feed(&Event::SearchOver).effects.is_empty(), "this one may be of use");
        assert_eq!(it.feed(&Event::Closed).effects[1..], [Effect::Close, Effect::Embed]);
    }

    #[test]
    fn only_a_hub_that_stays_silent_over_every_question_is_ended() {
        let mut it = served();
        for _ in 0..3 {
            for _ in 0..HUB_QUESTIONS_MAX {
                assert!(it.feed(&SILENT).effects.contains(&Effect::Ask));
            }
            assert!(!it.feed(&Event::Looked { silent: false }).effects.contains(&Effect::EndHub), "it has spoken");
        }
        for _ in 0..HUB_QUESTIONS_MAX {
            it.feed(&SILENT);
        }
        let out = it.feed(&SILENT).effects;
        assert_eq!(out[..2], [Effect::EndHub, Effect::Close]);
        assert_eq!(state(&it), State::Waiting);
        assert!(!served().feed(&Event::Closed).effects.contains(&Effect::EndHub), "a hub that closes is not hung");
    }

    #[test]
    fn a_hub_that_cannot_be_spoken_to_is_not_looked_for_again() {
        let mut it = served();
        it.feed(&Event::Closed);
        it.feed(&Event::RedialDue);
        assert_eq!(it.feed(&Event::Refused { ending: false }).effects, [Effect::Close, Effect::Embed]);
    }

    #[test]
    fn an_older_hub_is_asked_to_retire() {
        let mut it = after(Attachment::new(false), &[]);
        assert!(it.feed(&Event::Welcomed { older: true }).effects.contains(&Effect::AskToRetire));
    }
}
