//! The transition table of the connection.

use super::absence::{Absence, Round};
use super::established::{End, Up, hear};
use super::{Bridge, ConnectFailure, Disconnect, Effect, Event, Group, Situation, State, Timer};
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
            Situation::Seeking(_) => {
                out.order(Effect::Arm(Timer::Seek, SEEK_TIMEOUT));
                out.order(Effect::AskTargets);
            }
            Situation::Dialing(absence, round) => {
                out.order(Effect::Dial { target: round.target, patient: absence.is_patient(round) });
            }
            Situation::BackingOff(absence) => {
                out.order(Effect::Retry { attempt: absence.attempt, likely: absence.likely() });
            }
            Situation::Leaving(..) => out.order(Effect::Arm(Timer::Leave, LEAVE_MAX)),
            Situation::Parting(..) => {
                out.order(Effect::AwaitClients);
                out.order(Effect::EndSending);
            }
            Situation::Draining => {
                out.order(Effect::Arm(Timer::Drain, DRAIN_MAX));
                out.order(Effect::EndSending);
            }
            Situation::Idle(_)
            | Situation::Greeting(..)
            | Situation::Ready(_)
            | Situation::Stalled(_)
            | Situation::Stopped => {}
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
            (Situation::Idle(absence), Event::ProjectChanged) => {
                *absence = Absence::UNKNOWN;
                out.order(Effect::Disarm(Timer::Hope));
                Outcome::Handled
            }
            // The offer for the former project is useless, and an offer for the new project may have been ignored.
            (Situation::Seeking(_) | Situation::BackingOff(_), Event::ProjectChanged) => self.begin_anew(out),
            (Situation::Dialing(..) | Situation::Greeting(..), Event::ProjectChanged) => {
                self.leave_project(Loss::ProjectChanged, out)
            }
            (Situation::Ready(up) | Situation::Stalled(up), Event::ProjectChanged) => {
                let (peer, announced) = (up.established.peer, up.announced);
                self.go(Situation::Parting(peer, announced))
            }
            (Situation::Leaving(established, reason), Event::ProjectChanged) => {
                let (peer, reason) = (established.peer, *reason);
                self.go(Situation::Parting(peer, Some(reason)))
            }

            // ---- idle ----
            (Situation::Idle(absence), Event::Wanted | Event::CallsWaiting) => {
                let absence = *absence;
                self.go(Situation::Seeking(absence))
            }
            (Situation::Idle(_), Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived) => {
                out.ignore("nobody needs the editor yet")
            }

            // ---- seeking ----
            (Situation::Seeking(absence), Event::TargetsOffered { count, evidence }) => {
                absence.found(evidence, out);
                let absence = *absence;
                self.dial(absence, Round::new(count))
            }
            (Situation::Seeking(absence), Event::NothingOffered { cause, evidence }) => {
                absence.found_nothing(cause, evidence, out);
                let absence = *absence;
                self.go(Situation::BackingOff(absence))
            }
            (Situation::Seeking(absence), Event::Elapsed(Timer::Seek)) => {
                let absence = *absence;
                self.go(Situation::Seeking(absence))
            }
            (Situation::Seeking(_), Event::NewsArrived) => out.ignore("discovery is looking already"),
            (Situation::Seeking(_) | Situation::Dialing(..) | Situation::Greeting(..), Event::CallsWaiting) => {
                out.ignore("every connection asks the ledger for what waits")
            }

            // ---- dialing and greeting ----
            (Situation::Dialing(absence, _) | Situation::Greeting(absence, _), Event::TargetGone) => {
                let absence = *absence;
                out.order(Effect::HangUp(Loss::Disconnect));
                self.go(Situation::Seeking(absence))
            }

            // ---- dialing ----
            (Situation::Dialing(absence, round), Event::Connected { target, checked }) => {
                let patience = if checked { GREETING_TIMEOUT } else { GREETING_TIMEOUT_ASSUMED };
                out.order(Effect::Arm(Timer::Greeting, patience));
                out.order(Effect::Greet);
                let greeting = Situation::Greeting(*absence, round.turned_to(target));
                self.go(greeting)
            }
            (
                Situation::Dialing(absence, round),
                Event::ConnectFailed { failure: failure @ ConnectFailure::Refused, .. },
            ) if absence.is_patient(*round) => {
                // There is news: the files may name another port, or no editor any more.
                let absence = absence.after(round.failed(failure, true));
                self.go(Situation::Seeking(absence))
            }
            (Situation::Dialing(absence, round), Event::ConnectFailed { target, failure, dialled }) => {
                let (absence, round) = (*absence, round.turned_to(target).failed(failure, dialled));
                self.dial(absence, round)
            }
            (Situation::Dialing(absence, round), Event::StillRefused) => {
                *absence = absence.after(round.failed(ConnectFailure::Refused, true));
                // Meanwhile, the files may name another port, or no editor any more. The dial does not wait for that.
                out.order(if absence.is_patient(*round) { Effect::AskTargets } else { Effect::Hurry });
                Outcome::Handled
            }
            (Situation::Dialing(absence, round), Event::TargetsOffered { evidence, .. })
                if absence.is_patient(*round) =>
            {
                absence.found(evidence, out);
                if !absence.is_patient(*round) {
                    out.order(Effect::Hurry);
                }
                Outcome::Handled
            }
            (Situation::Dialing(absence, round), Event::NothingOffered { cause, evidence })
                if absence.is_patient(*round) =>
            {
                out.order(Effect::HangUp(Loss::Disconnect));
                absence.found_nothing(cause, evidence, out);
                let absence = *absence;
                self.go(Situation::BackingOff(absence))
            }
            (Situation::Dialing(..), Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the dial under way decides first")
            }
            // A package may listen for a moment before it is ready, to see whether its port is free. Its files change at that time.
            (Situation::Dialing(absence, _), Event::NewsArrived) if absence.at_work => {
                out.ignore("the editor says that it is not ready, and is dialled all the time as it is")
            }
            (Situation::Dialing(absence, round), Event::NewsArrived) if absence.is_patient(*round) => {
                out.order(Effect::Hurry);
                Outcome::Handled
            }
            (Situation::Dialing(..), Event::NewsArrived) => out.ignore("a dial is under way"),

            // ---- greeting ----
            (Situation::Greeting(absence, round), Event::Greeted { heartbeat }) => {
                let up = Up::new(round.target, absence.attempt, heartbeat);
                self.go(Situation::Ready(up))
            }
            (
                Situation::Greeting(absence, round),
                Event::GreetingRefused(_) | Event::Disconnected(Disconnect::Protocol),
            ) => {
                out.order(Effect::HangUp(Loss::Protocol));
                let failure =
                    if let Event::GreetingRefused(failure) = *event { failure } else { ConnectFailure::WrongPeer };
                let (absence, round) = (*absence, round.failed(failure, true));
                self.dial(absence, round)
            }
            (Situation::Greeting(absence, round), Event::Disconnected(drop)) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                let cause = if drop == Disconnect::Displaced { Cause::Displaced } else { absence.cause };
                let absence = Absence { cause, greeting_dropped: true, ..*absence };
                let round = round.failed(ConnectFailure::Vanished, true);
                self.dial(absence, round)
            }
            (Situation::Greeting(absence, round), Event::Elapsed(Timer::Greeting)) => {
                out.order(Effect::HangUp(Loss::Silence));
                let absence = Absence { cause: Cause::Stalled, ..*absence };
                let round = round.failed(ConnectFailure::TimedOut, true);
                self.dial(absence, round)
            }
            (Situation::Greeting(absence, round), Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                let (absence, round) = (*absence, round.failed(ConnectFailure::Vanished, true));
                self.dial(absence, round)
            }
            (Situation::Greeting(..), Event::LeavingAnnounced(_)) => {
                out.ignore("nothing was sent to it yet: its end is one of a target")
            }
            (Situation::Greeting(..), Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the greeting under way decides first")
            }
            (Situation::Greeting(..), Event::NewsArrived) => out.ignore("a greeting is under way"),

            // ---- backing off ----
            (Situation::BackingOff(absence), Event::Elapsed(Timer::Retry)) => {
                let absence = *absence;
                self.go(Situation::Seeking(absence))
            }
            (Situation::BackingOff(absence), Event::CallsWaiting)
                if absence.cause == Cause::Reloading && absence.likely() =>
            {
                out.ignore("it is dialled all the time as it is, and its listener may still be closing")
            }
            (Situation::BackingOff(_), Event::CallsWaiting | Event::NewsArrived) => {
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (
                Situation::BackingOff(absence),
                Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. },
            ) => {
                absence.learn_while_waiting(evidence, out);
                Outcome::Handled
            }

            // ---- all states of `away` ----
            (
                Situation::Idle(absence)
                | Situation::Seeking(absence)
                | Situation::Dialing(absence, _)
                | Situation::Greeting(absence, _)
                | Situation::BackingOff(absence),
                Event::HintReceived(hint),
            ) => {
                absence.hear(hint, out);
                Outcome::Handled
            }
            (
                Situation::Idle(absence)
                | Situation::Seeking(absence)
                | Situation::Dialing(absence, _)
                | Situation::Greeting(absence, _)
                | Situation::BackingOff(absence),
                Event::Elapsed(Timer::Hope),
            ) => {
                absence.lose_hope();
                Outcome::Handled
            }

            // ---- ready and stalled ----
            (Situation::Ready(up), Event::StallBegan) => {
                let stalled = Situation::Stalled(*up);
                self.go(stalled)
            }
            (Situation::Stalled(up), Event::StallEnded) => {
                let ready = Situation::Ready(*up);
                self.go(ready)
            }
            (Situation::Ready(_), Event::StallEnded) | (Situation::Stalled(_), Event::StallBegan) => {
                out.ignore("it is so already")
            }
            (Situation::Ready(_) | Situation::Stalled(_), Event::CallsWaiting) => {
                out.ignore("the connection takes them from the ledger")
            }
            (Situation::Ready(up) | Situation::Stalled(up), Event::LeavingAnnounced(reason)) => {
                let leaving = Situation::Leaving(up.established, reason);
                self.go(leaving)
            }
            (Situation::Ready(up) | Situation::Stalled(up), Event::Disconnected(drop)) => {
                let (established, end) = (up.established, End::of_stream(up.announced, drop));
                self.lost(established, end, out)
            }
            (Situation::Ready(up) | Situation::Stalled(up), Event::EditorVanished) => {
                let (established, end) = (up.established, End::of_process(up.announced));
                self.lost(established, end, out)
            }

            // ---- leaving ----
            (Situation::Leaving(..), Event::StallBegan | Event::StallEnded) => out.ignore("it is about to go anyway"),
            (Situation::Leaving(..), Event::LeavingAnnounced(LeaveReason::Unknown)) => {
                out.ignore("why it leaves was said before")
            }
            (Situation::Leaving(_, why), Event::LeavingAnnounced(reason)) => {
                *why = reason;
                Outcome::Handled
            }
            (Situation::Leaving(..), Event::HintReceived(PushEvent::ToolsChanged)) => {
                out.order(Effect::TellToolsChanged);
                Outcome::Handled
            }
            (Situation::Leaving(..), Event::HintReceived(_)) => out.ignore("what the connection itself said stands"),
            (Situation::Leaving(..), Event::CallsWaiting) => {
                out.ignore("nothing more is sent to an editor that leaves; the next connection asks the ledger")
            }
            (Situation::Leaving(established, reason), Event::Elapsed(Timer::Leave)) => {
                let (established, end) = (*established, End::of_stream(Some(*reason), Disconnect::Eof));
                self.lost(established, end, out)
            }
            (Situation::Leaving(established, reason), Event::Disconnected(drop)) => {
                let (established, end) = (*established, End::of_stream(Some(*reason), drop));
                self.lost(established, end, out)
            }
            (Situation::Leaving(established, reason), Event::EditorVanished) => {
                let (established, end) = (*established, End::of_process(Some(*reason)));
                self.lost(established, end, out)
            }

            // ---- parting ----
            (Situation::Parting(..), Event::NothingOwed | Event::NobodyWaits) => {
                self.leave_project(Loss::ProjectChanged, out)
            }
            (Situation::Parting(..), Event::Silent) => self.leave_project(Loss::Silence, out),
            (Situation::Parting(_, announced), Event::Disconnected(drop)) => {
                let end = End::of_stream(*announced, drop);
                self.leave_project(end.loss, out)
            }
            (Situation::Parting(_, announced), Event::EditorVanished) => {
                let end = End::of_process(*announced);
                self.leave_project(end.loss, out)
            }
            (Situation::Parting(..), Event::CallsWaiting) => {
                out.ignore("the next connection asks the ledger for what waits")
            }
            (Situation::Parting(..), Event::Proven) => out.ignore("the former project's tools are of no interest"),
            (Situation::Parting(_, announced), Event::LeavingAnnounced(reason)) => {
                *announced = Some(reason);
                Outcome::Handled
            }
            (Situation::Parting(..), Event::StallBegan | Event::StallEnded) => out.ignore("it is left anyway"),
            (Situation::Parting(peer, _), Event::Elapsed(Timer::Liveness)) => peer.check(out),
            (Situation::Parting(..), Event::ProjectChanged) => {
                out.ignore("which one is dialled next is asked when this connection has ended")
            }

            // ---- ready, stalled and leaving, some also in parting ----
            (
                Situation::Ready(Up { established, .. })
                | Situation::Stalled(Up { established, .. })
                | Situation::Leaving(established, _),
                Event::Proven,
            ) => {
                established.unproven = None;
                Outcome::Handled
            }
            (
                Situation::Ready(Up { established, .. })
                | Situation::Stalled(Up { established, .. })
                | Situation::Leaving(established, _),
                Event::Elapsed(Timer::Liveness),
            ) => {
                established.steady = true;
                established.peer.check(out)
            }
            (
                Situation::Ready(Up { established, .. })
                | Situation::Stalled(Up { established, .. })
                | Situation::Leaving(established, _),
                Event::Silent,
            ) => {
                let established = *established;
                self.lost(established, End::SILENCE, out)
            }
            (
                Situation::Ready(Up { announced, .. })
                | Situation::Stalled(Up { announced, .. })
                | Situation::Parting(_, announced),
                Event::HintReceived(hint),
            ) => hear(announced, hint, out),
            (
                Situation::Ready(Up { announced, .. })
                | Situation::Stalled(Up { announced, .. })
                | Situation::Parting(_, announced),
                Event::Elapsed(Timer::Leave),
            ) => {
                *announced = None;
                Outcome::Handled
            }

            // ---- draining ----
            (
                Situation::Draining,
                Event::NothingOwed | Event::Elapsed(Timer::Drain) | Event::Disconnected(_) | Event::EditorVanished,
            ) => self.stop(out),
            (Situation::Draining, Event::StallBegan | Event::StallEnded | Event::Silent | Event::Proven) => {
                out.ignore("the end has its own clock")
            }
            (Situation::Draining | Situation::Stopped, Event::StopRequested) => out.ignore("it is stopping already"),
            (Situation::Draining | Situation::Stopped, Event::Wanted | Event::ProjectChanged | Event::CallsWaiting) => {
                out.ignore("nothing new is sent while the gateway stops")
            }
            (
                Situation::Draining | Situation::Stopped,
                Event::TargetGone
                | Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::NewsArrived
                | Event::NobodyWaits
                | Event::HintReceived(_)
                | Event::LeavingAnnounced(_),
            ) => out.ignore("the gateway stops"),
            (Situation::Draining, Event::Elapsed(_)) => out.ignore("the gateway stops"),

            // ---- stopped ----
            (
                Situation::Stopped,
                Event::Connected { .. }
                | Event::ConnectFailed { .. }
                | Event::StillRefused
                | Event::Greeted { .. }
                | Event::GreetingRefused(_)
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
                self.go(Situation::Stopped)
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
            (Group::Up, Event::StopRequested) => self.go(Situation::Draining),
            (Group::Up, Event::NothingOwed) => out.ignore("only a connection that sends nothing new ends by that"),

            // ---- both ----
            (Group::Away | Group::Up, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Away | Group::Up, Event::NobodyWaits) => out.ignore("only a connection that parts ends by that"),

            // ---- handled in the states, or unexpected ----
            _ => Outcome::Super,
        }
    }
}
