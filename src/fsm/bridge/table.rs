//! The transition table of the connection.

use super::absence::{Absence, Round};
use super::link::{End, Up, hear};
use super::{Bridge, ConnectFailure, Disconnect, Effect, Event, Group, Place, State, Timer};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outcome, Reaction};
use crate::limits::{DRAIN_MAX, GREETING_TIMEOUT, GREETING_TIMEOUT_ASSUMED, LEAVE_MAX, LIVENESS_EVERY, SEEK_TIMEOUT};
use crate::protocol::dialect::{LeaveReason, PushEvent};

impl Machine for Bridge {
    const NAME: &'static str = "bridge";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Idle
    }

    fn group(state: State) -> Option<Group> {
        match state {
            State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff => Some(Group::Away),
            State::Ready | State::Stalled | State::Leaving | State::Parting => Some(Group::Up),
            State::Draining | State::Stopped => None,
        }
    }

    fn entered(&mut self, _: State, out: &mut Reaction<Self>) {
        match self.at {
            Place::Seeking(_) => {
                out.order(Effect::Arm(Timer::Seek, SEEK_TIMEOUT));
                out.order(Effect::AskTargets);
            }
            Place::Dialing(absence, round) => {
                out.order(Effect::Dial { target: round.target, patient: absence.is_patient(round) });
            }
            Place::BackingOff(absence) => {
                out.order(Effect::Retry { attempt: absence.attempt, likely: absence.likely() });
            }
            Place::Leaving(..) => out.order(Effect::Arm(Timer::Leave, LEAVE_MAX)),
            Place::Parting(..) => {
                out.order(Effect::AwaitClients);
                out.order(Effect::EndSending);
            }
            Place::Draining => {
                out.order(Effect::Arm(Timer::Drain, DRAIN_MAX));
                out.order(Effect::EndSending);
            }
            Place::Idle(_) | Place::Greeting(..) | Place::Ready(_) | Place::Stalled(_) | Place::Stopped => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Reaction<Self>) {
        match state {
            State::Seeking => out.order(Effect::Disarm(Timer::Seek)),
            State::Greeting => out.order(Effect::Disarm(Timer::Greeting)),
            State::BackingOff => out.order(Effect::Disarm(Timer::Retry)),
            State::Leaving => out.order(Effect::Disarm(Timer::Leave)),
            State::Draining => out.order(Effect::Disarm(Timer::Drain)),
            State::Parting | State::Idle | State::Dialing | State::Ready | State::Stalled | State::Stopped => {}
        }
    }

    fn entered_group(&mut self, _: Group, out: &mut Reaction<Self>) {
        if self.at.peer().is_some() {
            out.order(Effect::Disarm(Timer::Hope));
            out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
            out.order(Effect::TellUp);
        }
    }

    fn left_group(&mut self, group: Group, out: &mut Reaction<Self>) {
        if group == Group::Up {
            for timer in [Timer::Liveness, Timer::Leave] {
                out.order(Effect::Disarm(timer));
            }
            out.order(Effect::TellDown);
        }
    }

    #[expect(clippy::too_many_lines, reason = "the transition table is read as one")]
    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        debug_assert_eq!(self.at.state(), state, "what is stored is another state's");
        match (&mut self.at, *event) {
            // ---- another project ----
            (Place::Idle(absence), Event::ProjectChanged) => {
                *absence = Absence::UNKNOWN;
                out.order(Effect::Disarm(Timer::Hope));
                Outcome::Handled
            }
            // The offer for the former project is useless, and an offer for the new project may have been ignored.
            (Place::Seeking(_) | Place::BackingOff(_), Event::ProjectChanged) => self.begin_anew(out),
            (Place::Dialing(..) | Place::Greeting(..), Event::ProjectChanged) => {
                self.leave_project(Loss::ProjectChanged, out)
            }
            (Place::Ready(up) | Place::Stalled(up), Event::ProjectChanged) => {
                let (peer, announced) = (up.link.peer, up.announced);
                self.go(Place::Parting(peer, announced))
            }
            (Place::Leaving(link, reason), Event::ProjectChanged) => {
                let (peer, reason) = (link.peer, *reason);
                self.go(Place::Parting(peer, Some(reason)))
            }

            // ---- idle ----
            (Place::Idle(absence), Event::Wanted | Event::CallsWaiting) => {
                let absence = *absence;
                self.go(Place::Seeking(absence))
            }
            (Place::Idle(_), Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived) => {
                out.ignore("nobody needs the editor yet")
            }

            // ---- seeking ----
            (Place::Seeking(absence), Event::TargetsOffered { count, evidence }) => {
                absence.found(evidence, out);
                let absence = *absence;
                self.dial(absence, Round::new(count))
            }
            (Place::Seeking(absence), Event::NothingOffered { cause, evidence }) => {
                absence.found_nothing(cause, evidence, out);
                let absence = *absence;
                self.go(Place::BackingOff(absence))
            }
            (Place::Seeking(absence), Event::Elapsed(Timer::Seek)) => {
                let absence = *absence;
                self.go(Place::Seeking(absence))
            }
            (Place::Seeking(_), Event::NewsArrived) => out.ignore("discovery is looking already"),
            (Place::Seeking(_) | Place::Dialing(..) | Place::Greeting(..), Event::CallsWaiting) => {
                out.ignore("every connection asks the ledger for what waits")
            }

            // ---- dialing and greeting ----
            (Place::Dialing(absence, _) | Place::Greeting(absence, _), Event::TargetGone) => {
                let absence = *absence;
                out.order(Effect::HangUp(Loss::Disconnect));
                self.go(Place::Seeking(absence))
            }

            // ---- dialing ----
            (Place::Dialing(absence, round), Event::Connected { target, checked }) => {
                let patience = if checked { GREETING_TIMEOUT } else { GREETING_TIMEOUT_ASSUMED };
                out.order(Effect::Arm(Timer::Greeting, patience));
                out.order(Effect::Greet);
                let greeting = Place::Greeting(*absence, round.turned_to(target));
                self.go(greeting)
            }
            (
                Place::Dialing(absence, round),
                Event::ConnectFailed { failure: failure @ ConnectFailure::Refused, .. },
            ) if absence.is_patient(*round) => {
                // There is news: the files may name another port, or no editor any more.
                let absence = absence.after(round.failed(failure, true));
                self.go(Place::Seeking(absence))
            }
            (Place::Dialing(absence, round), Event::ConnectFailed { target, failure, dialled }) => {
                let (absence, round) = (*absence, round.turned_to(target).failed(failure, dialled));
                self.dial(absence, round)
            }
            (Place::Dialing(absence, round), Event::StillRefused) => {
                *absence = absence.after(round.failed(ConnectFailure::Refused, true));
                // Meanwhile, the files may name another port, or no editor any more. The dial does not wait for that.
                out.order(if absence.is_patient(*round) { Effect::AskTargets } else { Effect::Hurry });
                Outcome::Handled
            }
            (Place::Dialing(absence, round), Event::TargetsOffered { evidence, .. }) if absence.is_patient(*round) => {
                absence.found(evidence, out);
                if !absence.is_patient(*round) {
                    out.order(Effect::Hurry);
                }
                Outcome::Handled
            }
            (Place::Dialing(absence, round), Event::NothingOffered { cause, evidence })
                if absence.is_patient(*round) =>
            {
                out.order(Effect::HangUp(Loss::Disconnect));
                absence.found_nothing(cause, evidence, out);
                let absence = *absence;
                self.go(Place::BackingOff(absence))
            }
            (Place::Dialing(..), Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the dial under way decides first")
            }
            // A package may listen for a moment before it is ready, to see whether its port is free. Its files change at that time.
            (Place::Dialing(absence, _), Event::NewsArrived) if absence.at_work => {
                out.ignore("the editor says that it is not ready, and is dialled all the time as it is")
            }
            (Place::Dialing(absence, round), Event::NewsArrived) if absence.is_patient(*round) => {
                out.order(Effect::Hurry);
                Outcome::Handled
            }
            (Place::Dialing(..), Event::NewsArrived) => out.ignore("a dial is under way"),

            // ---- greeting ----
            (Place::Greeting(absence, round), Event::Greeted { heartbeat }) => {
                let up = Up::new(round.target, absence.attempt, heartbeat);
                self.go(Place::Ready(up))
            }
            (Place::Greeting(absence, round), Event::GreetingRefused | Event::Disconnected(Disconnect::Protocol)) => {
                out.order(Effect::HangUp(Loss::Protocol));
                let (absence, round) = (*absence, round.failed(ConnectFailure::WrongPeer, true));
                self.dial(absence, round)
            }
            (Place::Greeting(absence, round), Event::Disconnected(Disconnect::Eof | Disconnect::Reset)) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                let absence = Absence { greeting_dropped: true, ..*absence };
                let round = round.failed(ConnectFailure::Vanished, true);
                self.dial(absence, round)
            }
            (Place::Greeting(absence, round), Event::Elapsed(Timer::Greeting)) => {
                out.order(Effect::HangUp(Loss::Silence));
                let absence = Absence { cause: Cause::Stalled, ..*absence };
                let round = round.failed(ConnectFailure::TimedOut, true);
                self.dial(absence, round)
            }
            (Place::Greeting(absence, round), Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                let (absence, round) = (*absence, round.failed(ConnectFailure::Vanished, true));
                self.dial(absence, round)
            }
            (Place::Greeting(..), Event::LeavingAnnounced(_)) => {
                out.ignore("nothing was sent to it yet: its end is one of a target")
            }
            (Place::Greeting(..), Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the greeting under way decides first")
            }
            (Place::Greeting(..), Event::NewsArrived) => out.ignore("a greeting is under way"),

            // ---- backing off ----
            (Place::BackingOff(absence), Event::Elapsed(Timer::Retry)) => {
                let absence = *absence;
                self.go(Place::Seeking(absence))
            }
            (Place::BackingOff(absence), Event::CallsWaiting)
                if absence.cause == Cause::Reloading && absence.likely() =>
            {
                out.ignore("it is dialled all the time as it is, and its listener may still be closing")
            }
            (Place::BackingOff(_), Event::CallsWaiting | Event::NewsArrived) => {
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (
                Place::BackingOff(absence),
                Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. },
            ) => {
                absence.learn_while_waiting(evidence, out);
                Outcome::Handled
            }

            // ---- all states of `away` ----
            (
                Place::Idle(absence)
                | Place::Seeking(absence)
                | Place::Dialing(absence, _)
                | Place::Greeting(absence, _)
                | Place::BackingOff(absence),
                Event::HintReceived(hint),
            ) => {
                absence.hear(hint, out);
                Outcome::Handled
            }
            (
                Place::Idle(absence)
                | Place::Seeking(absence)
                | Place::Dialing(absence, _)
                | Place::Greeting(absence, _)
                | Place::BackingOff(absence),
                Event::Elapsed(Timer::Hope),
            ) => {
                absence.lose_hope();
                Outcome::Handled
            }

            // ---- ready and stalled ----
            (Place::Ready(up), Event::StallBegan) => {
                let stalled = Place::Stalled(*up);
                self.go(stalled)
            }
            (Place::Stalled(up), Event::StallEnded) => {
                let ready = Place::Ready(*up);
                self.go(ready)
            }
            (Place::Ready(_), Event::StallEnded) | (Place::Stalled(_), Event::StallBegan) => {
                out.ignore("it is so already")
            }
            (Place::Ready(_) | Place::Stalled(_), Event::CallsWaiting) => {
                out.ignore("the connection takes them from the ledger")
            }
            (Place::Ready(up) | Place::Stalled(up), Event::LeavingAnnounced(reason)) => {
                let leaving = Place::Leaving(up.link, reason);
                self.go(leaving)
            }
            (Place::Ready(up) | Place::Stalled(up), Event::Disconnected(drop)) => {
                let (link, end) = (up.link, End::of_stream(up.announced, drop));
                self.lost(link, end, out)
            }
            (Place::Ready(up) | Place::Stalled(up), Event::EditorVanished) => {
                let (link, end) = (up.link, End::of_process(up.announced));
                self.lost(link, end, out)
            }

            // ---- leaving ----
            (Place::Leaving(..), Event::StallBegan | Event::StallEnded) => out.ignore("it is about to go anyway"),
            (Place::Leaving(..), Event::LeavingAnnounced(LeaveReason::Unknown)) => {
                out.ignore("why it leaves was said before")
            }
            (Place::Leaving(_, why), Event::LeavingAnnounced(reason)) => {
                *why = reason;
                Outcome::Handled
            }
            (Place::Leaving(..), Event::HintReceived(PushEvent::ToolsChanged)) => {
                out.order(Effect::TellToolsChanged);
                Outcome::Handled
            }
            (Place::Leaving(..), Event::HintReceived(_)) => out.ignore("what the connection itself said stands"),
            (Place::Leaving(..), Event::CallsWaiting) => {
                out.ignore("nothing more is sent to an editor that leaves; the next connection asks the ledger")
            }
            (Place::Leaving(link, reason), Event::Elapsed(Timer::Leave)) => {
                let (link, end) = (*link, End::of_stream(Some(*reason), Disconnect::Eof));
                self.lost(link, end, out)
            }
            (Place::Leaving(link, reason), Event::Disconnected(drop)) => {
                let (link, end) = (*link, End::of_stream(Some(*reason), drop));
                self.lost(link, end, out)
            }
            (Place::Leaving(link, reason), Event::EditorVanished) => {
                let (link, end) = (*link, End::of_process(Some(*reason)));
                self.lost(link, end, out)
            }

            // ---- parting ----
            (Place::Parting(..), Event::NothingOwed | Event::NobodyWaits) => {
                self.leave_project(Loss::ProjectChanged, out)
            }
            (Place::Parting(..), Event::Silent) => self.leave_project(Loss::Silence, out),
            (Place::Parting(_, announced), Event::Disconnected(drop)) => {
                let end = End::of_stream(*announced, drop);
                self.leave_project(end.loss, out)
            }
            (Place::Parting(_, announced), Event::EditorVanished) => {
                let end = End::of_process(*announced);
                self.leave_project(end.loss, out)
            }
            (Place::Parting(..), Event::CallsWaiting) => {
                out.ignore("the next connection asks the ledger for what waits")
            }
            (Place::Parting(..), Event::Proven) => out.ignore("the former project's tools are of no interest"),
            (Place::Parting(_, announced), Event::LeavingAnnounced(reason)) => {
                *announced = Some(reason);
                Outcome::Handled
            }
            (Place::Parting(..), Event::StallBegan | Event::StallEnded) => out.ignore("it is left anyway"),
            (Place::Parting(peer, _), Event::Elapsed(Timer::Liveness)) => peer.check(out),
            (Place::Parting(..), Event::ProjectChanged) => {
                out.ignore("which one is dialled next is asked when this connection has ended")
            }

            // ---- ready, stalled and leaving, some also in parting ----
            (
                Place::Ready(Up { link, .. }) | Place::Stalled(Up { link, .. }) | Place::Leaving(link, _),
                Event::Proven,
            ) => {
                link.unproven = None;
                Outcome::Handled
            }
            (
                Place::Ready(Up { link, .. }) | Place::Stalled(Up { link, .. }) | Place::Leaving(link, _),
                Event::Elapsed(Timer::Liveness),
            ) => {
                link.steady = true;
                link.peer.check(out)
            }
            (
                Place::Ready(Up { link, .. }) | Place::Stalled(Up { link, .. }) | Place::Leaving(link, _),
                Event::Silent,
            ) => {
                let link = *link;
                self.lost(link, End::SILENCE, out)
            }
            (
                Place::Ready(Up { announced, .. })
                | Place::Stalled(Up { announced, .. })
                | Place::Parting(_, announced),
                Event::HintReceived(hint),
            ) => hear(announced, hint, out),
            (
                Place::Ready(Up { announced, .. })
                | Place::Stalled(Up { announced, .. })
                | Place::Parting(_, announced),
                Event::Elapsed(Timer::Leave),
            ) => {
                *announced = None;
                Outcome::Handled
            }

            // ---- draining ----
            (
                Place::Draining,
                Event::NothingOwed | Event::Elapsed(Timer::Drain) | Event::Disconnected(_) | Event::EditorVanished,
            ) => self.stop(out),
            (Place::Draining, Event::StallBegan | Event::StallEnded | Event::Silent | Event::Proven) => {
                out.ignore("the end has its own clock")
            }
            (Place::Draining | Place::Stopped, Event::StopRequested) => out.ignore("it is stopping already"),
            (Place::Draining | Place::Stopped, Event::Wanted | Event::ProjectChanged | Event::CallsWaiting) => {
                out.ignore("nothing new is sent while the gateway stops")
            }
            (
                Place::Draining | Place::Stopped,
                Event::TargetGone
                | Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::NewsArrived
                | Event::NobodyWaits
                | Event::HintReceived(_)
                | Event::LeavingAnnounced(_),
            ) => out.ignore("the gateway stops"),
            (Place::Draining, Event::Elapsed(_)) => out.ignore("the gateway stops"),

            // ---- stopped ----
            (
                Place::Stopped,
                Event::Connected { .. }
                | Event::ConnectFailed { .. }
                | Event::StillRefused
                | Event::Greeted { .. }
                | Event::GreetingRefused
                | Event::Proven
                | Event::StallBegan
                | Event::StallEnded
                | Event::Silent
                | Event::NothingOwed
                | Event::Disconnected(_)
                | Event::EditorVanished
                | Event::Elapsed(_),
            ) => out.ignore("it has stopped"),

            // ---- passed up: handled by the group, or unexpected ----
            _ => Outcome::Super,
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (group, *event) {
            // ---- away ----
            (Group::Away, Event::Wanted) => out.ignore("it is being brought about already"),
            (Group::Away, Event::TargetGone) => out.ignore("nothing is dialled"),
            (Group::Away, Event::StopRequested) => {
                // This applies to a dial or greeting under way too: the shell closes any socket.
                out.order(Effect::HangUp(Loss::Shutdown));
                out.order(Effect::Disarm(Timer::Hope));
                self.go(Place::Stopped)
            }
            (Group::Away, Event::Disconnected(_) | Event::EditorVanished) => {
                out.ignore("there is no connection to lose")
            }
            (
                Group::Away,
                Event::Proven
                | Event::StallBegan
                | Event::StallEnded
                | Event::Silent
                | Event::NothingOwed
                | Event::LeavingAnnounced(_),
            ) => out.ignore("the connection it came on is gone"),

            // ---- up ----
            (Group::Up, Event::Wanted) => out.ignore("it is up"),
            (
                Group::Up,
                Event::TargetGone | Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived,
            ) => out.ignore("the connection that works is kept"),
            (Group::Up, Event::StopRequested) => self.go(Place::Draining),
            (Group::Up, Event::NothingOwed) => out.ignore("only a connection that sends nothing new ends by that"),

            // ---- both ----
            (Group::Away | Group::Up, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Away | Group::Up, Event::NobodyWaits) => out.ignore("only a connection that parts ends by that"),

            // ---- handled in the states, or unexpected ----
            _ => Outcome::Super,
        }
    }
}
