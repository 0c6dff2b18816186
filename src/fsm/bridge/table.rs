//! The transition table of the connection.

use super::{ATTEMPT_CAP, Bridge, ConnectFailure, Drop, Effect, Event, Group, Sign, State, Timer, Unreached};
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, Outbox, Outcome};
use crate::limits::{
    DRAIN_MAX, GREETING_TIMEOUT, GREETING_TIMEOUT_ASSUMED, LEAVE_MAX, LIVENESS_EVERY, SEEK_TIMEOUT, WINDOW_MAX,
};
use crate::protocol::dialect::{LeaveReason, PushEvent};

impl Machine for Bridge {
    const NAME: &'static str = "bridge";
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
            State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff => Group::Away,
            State::Ready | State::Stalled | State::Leaving | State::Parting => Group::Up,
            State::Draining | State::Stopped => Group::Root,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Seeking => {
                out.order(Effect::Arm(Timer::Seek, SEEK_TIMEOUT));
                out.order(Effect::AskTargets);
            }
            State::Dialing => out.order(Effect::Dial { target: self.target }),
            State::Greeting => {
                let patience = if self.checked { GREETING_TIMEOUT } else { GREETING_TIMEOUT_ASSUMED };
                out.order(Effect::Arm(Timer::Greeting, patience));
                out.order(Effect::Greet);
            }
            State::BackingOff => out.order(Effect::Retry { attempt: self.attempt, likely: self.likely() }),
            State::Leaving => out.order(Effect::Arm(Timer::Leave, LEAVE_MAX)),
            State::Parting => {
                // Only what is owed matters from here on.
                let Self { target, pulse, foretold, running_max, in_flight, .. } = *self;
                *self = Self { target, pulse, foretold, running_max, in_flight, ..Self::new() };
                out.order(Effect::AwaitClients);
            }
            State::Draining => {
                // Only what is owed matters from here on.
                let (in_flight, listing) = (self.in_flight, self.listing);
                *self = Self { in_flight, listing, ..Self::new() };
                out.order(Effect::Arm(Timer::Drain, DRAIN_MAX));
            }
            State::Stopped => *self = Self::new(),
            State::Idle | State::Ready | State::Stalled => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::Seeking => out.order(Effect::Disarm(Timer::Seek)),
            State::Greeting => out.order(Effect::Disarm(Timer::Greeting)),
            State::BackingOff => out.order(Effect::Disarm(Timer::Retry)),
            State::Leaving => out.order(Effect::Disarm(Timer::Leave)),
            State::Draining => out.order(Effect::Disarm(Timer::Drain)),
            State::Parting | State::Idle | State::Dialing | State::Ready | State::Stalled | State::Stopped => {}
        }
    }

    fn entered_group(&mut self, group: Group, out: &mut Outbox<Self>) {
        if group == Group::Up {
            self.met = true;
            self.cut_off = false;
            self.jilted = false;
            self.hope = false;
            self.foretold = None;
            self.checked = false;
            self.refusal = None;
            self.unreached = Unreached::No;
            out.order(Effect::Disarm(Timer::Hope));
            out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
            self.heard(out);
            out.order(Effect::TellUp);
        }
    }

    fn left_group(&mut self, group: Group, out: &mut Outbox<Self>) {
        if group == Group::Up {
            for timer in [Timer::Stall, Timer::Silence, Timer::Liveness, Timer::Pulse, Timer::Leave] {
                out.order(Effect::Disarm(timer));
            }
            out.order(Effect::TellDown);
        }
    }

    #[expect(clippy::too_many_lines, reason = "the transition table is read as one")]
    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (state, *event) {
            // ---- another project ----
            (State::Dialing | State::Greeting, Event::ProjectChanged) => self.leave_project(Loss::ProjectChanged, out),
            (State::Idle | State::Seeking | State::BackingOff, Event::ProjectChanged) => {
                self.forget(out);
                // What was offered for the former one leads nowhere, and that for this one may have been passed over.
                if state == State::Idle { Outcome::Handled } else { Outcome::Transition(State::Seeking) }
            }

            // ---- idle ----
            (State::Idle, Event::Wanted | Event::CallsWaiting) => Outcome::Transition(State::Seeking),
            (State::Idle, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("nobody needs the editor yet")
            }
            (State::Idle, Event::NewsArrived) => out.ignore("nobody needs the editor yet"),

            // ---- seeking ----
            (State::Seeking, Event::TargetsOffered { count, evidence }) => {
                self.learn(evidence, out);
                self.targets = count;
                self.target = 0;
                if self.cause == Cause::Ambiguous {
                    self.cause = Cause::Connecting;
                }
                if count == 0 {
                    self.unreached = Unreached::Absent;
                    self.round_failed()
                } else {
                    Outcome::Transition(State::Dialing)
                }
            }
            (State::Seeking, Event::NothingOffered { cause, evidence }) => {
                self.learn(evidence, out);
                // An editor that was met and is only out of sight keeps its better-known cause, and one that lives does run.
                let known = self.cause.is_gone() || matches!(self.cause, Cause::Reloading | Cause::Compiling);
                match cause {
                    Cause::NotRunning if known => {}
                    Cause::NotRunning if evidence.editor == Sign::Alive => {
                        if self.is_open_question() {
                            self.cause = Cause::BridgeDown;
                        }
                    }
                    _ => self.cause = cause,
                }
                self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
                Outcome::Transition(State::BackingOff)
            }
            (State::Seeking, Event::Elapsed(Timer::Seek)) => Outcome::Transition(State::Seeking),
            (State::Seeking, Event::NewsArrived) => out.ignore("discovery is looking already"),
            (State::Seeking | State::Dialing | State::Greeting, Event::CallsWaiting) => {
                out.ignore("every connection asks the ledger for what waits")
            }

            // ---- dialing ----
            (State::Dialing, Event::Connected { checked }) => {
                self.checked = checked;
                Outcome::Transition(State::Greeting)
            }
            (State::Dialing, Event::ConnectFailed(failure)) => self.next_target(failure),
            (State::Dialing, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the dial under way decides first")
            }
            (State::Dialing, Event::NewsArrived) => out.ignore("a dial is under way"),

            // ---- greeting ----
            (State::Greeting, Event::Greeted { window, pulse }) => {
                self.window = window.clamp(1, WINDOW_MAX);
                self.pulse = pulse;
                Outcome::Transition(State::Ready)
            }
            (State::Greeting, Event::GreetingRefused | Event::Disconnected(Drop::Protocol)) => {
                out.order(Effect::HangUp(Loss::Protocol));
                self.next_target(ConnectFailure::WrongPeer)
            }
            (State::Greeting, Event::Disconnected(Drop::Eof | Drop::Reset)) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                self.jilted = true;
                self.next_target(ConnectFailure::Refused)
            }
            (State::Greeting, Event::Elapsed(Timer::Greeting)) => {
                out.order(Effect::HangUp(Loss::Silence));
                self.cause = Cause::Stalled;
                self.next_target(ConnectFailure::TimedOut)
            }
            (State::Greeting, Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Disconnect));
                self.next_target(ConnectFailure::Refused)
            }
            (State::Greeting, Event::BytesArrived) => out.ignore("only the whole greeting counts"),
            (State::Greeting, Event::LeavingAnnounced(_)) => {
                out.ignore("nothing was sent to it yet: its end is one of a target")
            }
            (State::Greeting, Event::TargetsOffered { .. } | Event::NothingOffered { .. }) => {
                out.ignore("the greeting under way decides first")
            }
            (State::Greeting, Event::NewsArrived) => out.ignore("a greeting is under way"),

            // ---- backing off ----
            (State::BackingOff, Event::Elapsed(Timer::Retry)) => Outcome::Transition(State::Seeking),
            (State::BackingOff, Event::NewsArrived) => {
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (State::BackingOff, Event::CallsWaiting) if self.cause == Cause::Reloading && self.likely() => {
                out.ignore("it is dialled ten times a second as it is, and its listener may still be closing")
            }
            (State::BackingOff, Event::CallsWaiting) => {
                out.order(Effect::ShortenRetry);
                Outcome::Handled
            }
            (State::BackingOff, Event::TargetsOffered { evidence, .. } | Event::NothingOffered { evidence, .. }) => {
                self.learn_while_waiting(evidence, out);
                Outcome::Handled
            }

            // ---- ready ----
            (State::Ready, Event::Elapsed(Timer::Stall)) if self.outstanding() > 0 => {
                Outcome::Transition(State::Stalled)
            }
            (State::Ready, Event::Elapsed(Timer::Stall)) => out.ignore("nothing is outstanding"),
            (State::Ready, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Transition(State::Leaving)
            }
            (State::Ready, Event::BytesArrived) => {
                self.heard(out);
                if self.outstanding() > 0 {
                    self.watch(out);
                }
                Outcome::Handled
            }

            // ---- stalled ----
            (State::Stalled, Event::BytesArrived) => {
                self.heard(out);
                self.watch(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::PulseArrived) => {
                self.heard(out);
                self.watch(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::WorkFinished { more }) => {
                self.finish_one(more, out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::ListAnswered) => {
                self.finish_list(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::ListLost) if self.listing => {
                self.lose_list(out);
                Outcome::Transition(State::Ready)
            }
            (State::Stalled, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Transition(State::Leaving)
            }
            (State::Stalled, Event::Elapsed(Timer::Stall)) => out.ignore("it shows already"),

            // ---- leaving ----
            (State::Leaving, Event::BytesArrived | Event::PulseArrived) => {
                out.ignore("it may finish what it began; its goodbye stands")
            }
            (State::Leaving, Event::LeavingAnnounced(LeaveReason::Unknown)) => {
                out.ignore("why it leaves was said before")
            }
            (State::Leaving, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Handled
            }
            (State::Leaving, Event::Elapsed(Timer::Leave)) => self.disconnect(Drop::Eof, out),
            (State::Leaving, Event::HintReceived(PushEvent::ToolsChanged)) => {
                out.order(Effect::TellToolsChanged);
                Outcome::Handled
            }
            (State::Leaving, Event::HintReceived(_)) => out.ignore("what the connection itself said stands"),
            (State::Leaving, Event::CallsWaiting) => {
                out.ignore("nothing more is sent to an editor that leaves; the next connection asks the ledger")
            }
            (State::Leaving, Event::ListWanted) => out.ignore("the next connection begins with a list"),
            (State::Leaving, Event::ListAnswered) => {
                self.listing = false;
                self.listed = true;
                Outcome::Handled
            }
            (State::Leaving, Event::ListLost) => {
                self.listing = false;
                Outcome::Handled
            }
            (State::Leaving, Event::WorkFinished { .. }) => {
                self.end_call();
                Outcome::Handled
            }
            (State::Leaving, Event::Elapsed(Timer::Stall)) => out.ignore("it is about to go anyway"),

            // ---- parting ----
            (State::Parting, Event::WorkFinished { .. }) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                if self.in_flight == 0 { self.leave_project(Loss::ProjectChanged, out) } else { Outcome::Handled }
            }
            (State::Parting, Event::NobodyWaits) => self.leave_project(Loss::ProjectChanged, out),
            (State::Parting, Event::Elapsed(Timer::Silence | Timer::Pulse)) => self.leave_project(Loss::Silence, out),
            (State::Parting, Event::Disconnected(drop)) => {
                let (loss, _) = self.meaning_of(drop);
                self.leave_project(loss, out)
            }
            (State::Parting, Event::EditorVanished) => self.leave_project(Loss::Disconnect, out),
            (State::Parting, Event::CallSent { running_max }) => {
                self.running_max = self.running_max.max(running_max);
                self.watch(out);
                Outcome::Handled
            }
            (State::Parting, Event::CallsWaiting) => out.ignore("the next connection asks the ledger for what waits"),
            (State::Parting, Event::ListWanted | Event::ListAnswered | Event::ListLost) => {
                out.ignore("the former project's tools are of no interest")
            }
            (State::Parting, Event::BytesArrived | Event::PulseArrived) => {
                self.heard(out);
                self.watch(out);
                Outcome::Handled
            }
            (State::Parting, Event::LeavingAnnounced(reason)) => {
                self.foretold = Some(reason);
                Outcome::Handled
            }
            (State::Parting, Event::Elapsed(Timer::Stall)) => out.ignore("it is left anyway"),
            (State::Parting, Event::ProjectChanged) => {
                out.ignore("which one is dialled next is asked when this connection has ended")
            }

            // ---- draining ----
            (State::Draining, Event::WorkFinished { .. }) => {
                self.in_flight = self.in_flight.saturating_sub(1);
                if self.outstanding() == 0 {
                    out.order(Effect::HangUp(Loss::Shutdown));
                    Outcome::Transition(State::Stopped)
                } else {
                    Outcome::Handled
                }
            }
            (State::Draining, Event::ListAnswered | Event::ListLost) => {
                self.listing = false;
                if self.outstanding() == 0 {
                    out.order(Effect::HangUp(Loss::Shutdown));
                    Outcome::Transition(State::Stopped)
                } else {
                    Outcome::Handled
                }
            }
            (State::Draining | State::Stopped, Event::CallSent { .. }) => out.ignore("the end has its own clock"),
            (State::Draining, Event::Elapsed(Timer::Drain) | Event::Disconnected(_) | Event::EditorVanished) => {
                out.order(Effect::HangUp(Loss::Shutdown));
                Outcome::Transition(State::Stopped)
            }
            (State::Draining, Event::BytesArrived | Event::PulseArrived) => out.ignore("only whole answers count now"),
            (State::Draining | State::Stopped, Event::StopRequested) => out.ignore("it is stopping already"),
            (
                State::Draining | State::Stopped,
                Event::Wanted | Event::ProjectChanged | Event::ListWanted | Event::CallsWaiting,
            ) => out.ignore("nothing new is sent while the gateway stops"),
            (
                State::Draining | State::Stopped,
                Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::NewsArrived
                | Event::NobodyWaits
                | Event::HintReceived(_)
                | Event::LeavingAnnounced(_),
            ) => out.ignore("the gateway stops"),
            (State::Draining, Event::Elapsed(_)) => out.ignore("the gateway stops"),

            // ---- stopped ----
            (
                State::Stopped,
                Event::Connected { .. }
                | Event::ConnectFailed(_)
                | Event::Greeted { .. }
                | Event::GreetingRefused
                | Event::ListAnswered
                | Event::ListLost
                | Event::WorkFinished { .. }
                | Event::BytesArrived
                | Event::PulseArrived
                | Event::Disconnected(_)
                | Event::EditorVanished
                | Event::Elapsed(_),
            ) => out.ignore("it has stopped"),

            // ---- handed up: decided for the whole group, or a surprise ----
            (
                State::Idle | State::Seeking | State::Dialing | State::Greeting | State::BackingOff,
                Event::Wanted
                | Event::ListWanted
                | Event::HintReceived(_)
                | Event::StopRequested
                | Event::Elapsed(_)
                | Event::Connected { .. }
                | Event::ConnectFailed(_)
                | Event::Greeted { .. }
                | Event::GreetingRefused
                | Event::ListAnswered
                | Event::ListLost
                | Event::CallSent { .. }
                | Event::WorkFinished { .. }
                | Event::BytesArrived
                | Event::PulseArrived
                | Event::LeavingAnnounced(_)
                | Event::Disconnected(_)
                | Event::NobodyWaits
                | Event::EditorVanished,
            )
            | (
                State::Ready | State::Stalled | State::Leaving,
                Event::ProjectChanged
                | Event::ListWanted
                | Event::ListAnswered
                | Event::ListLost
                | Event::CallsWaiting
                | Event::CallSent { .. }
                | Event::WorkFinished { .. }
                | Event::PulseArrived
                | Event::Disconnected(_)
                | Event::NobodyWaits
                | Event::EditorVanished
                | Event::Elapsed(_),
            )
            | (
                State::Ready | State::Stalled | State::Leaving | State::Parting,
                Event::Wanted
                | Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::Connected { .. }
                | Event::ConnectFailed(_)
                | Event::Greeted { .. }
                | Event::GreetingRefused
                | Event::HintReceived(_)
                | Event::NewsArrived
                | Event::StopRequested,
            )
            | (State::Parting, Event::Elapsed(_))
            | (
                State::Draining,
                Event::Connected { .. } | Event::ConnectFailed(_) | Event::Greeted { .. } | Event::GreetingRefused,
            ) => Outcome::Super,
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (group, *event) {
            (Group::Up, Event::ProjectChanged) => self.part(out),

            // ---- away ----
            (Group::Away, Event::Wanted) => out.ignore("it is being brought about already"),
            (Group::Away, Event::ListWanted) => out.ignore("every connection begins with a list"),
            (Group::Away, Event::HintReceived(hint)) => {
                match hint {
                    // It names the cause of an absence of which nothing is known; whether the editor comes back it does not decide.
                    PushEvent::DomainReload
                        if matches!(self.cause, Cause::Lost | Cause::BridgeStopped) && self.likely() =>
                    {
                        self.cause = Cause::Reloading;
                    }
                    PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered | PushEvent::ToolsChanged => {
                        out.order(Effect::ShortenRetry);
                    }
                    PushEvent::DomainReload
                    | PushEvent::UserDisconnect
                    | PushEvent::UnityShutdown
                    | PushEvent::Unknown => {
                        return out.ignore("the connection is gone already, for a cause of its own");
                    }
                }
                Outcome::Handled
            }
            (Group::Away, Event::Elapsed(Timer::Hope)) => {
                self.hope = false;
                Outcome::Handled
            }
            (Group::Away, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Away, Event::StopRequested) => {
                // Also for a dial or greeting under way: the shell ends whatever socket there is.
                out.order(Effect::HangUp(Loss::Shutdown));
                out.order(Effect::Disarm(Timer::Hope));
                Outcome::Transition(State::Stopped)
            }
            (Group::Away, Event::Disconnected(_) | Event::EditorVanished) => {
                out.ignore("there is no connection to lose")
            }
            (Group::Away, Event::BytesArrived | Event::PulseArrived | Event::LeavingAnnounced(_)) => {
                out.ignore("the connection it came on is gone")
            }
            (Group::Away, Event::WorkFinished { .. }) => {
                out.ignore("its connection is gone, and its place with it")
            }
            (Group::Away, Event::ListAnswered | Event::ListLost | Event::CallSent { .. }) => {
                out.ignore("its connection is gone")
            }

            // ---- up ----
            (Group::Up, Event::Wanted) => out.ignore("it is up"),
            (Group::Up, Event::ListWanted) => {
                self.list_wanted = true;
                self.pump(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListAnswered) => {
                self.finish_list(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListLost) if self.listing => {
                self.lose_list(out);
                Outcome::Handled
            }
            (Group::Up, Event::ListLost) => out.ignore("no list is owed"),
            (Group::Up, Event::CallsWaiting) => {
                self.calls_waiting = true;
                self.pump(out);
                Outcome::Handled
            }
            (Group::Up, Event::CallSent { .. }) if self.in_flight == 0 => out.ignore("no call has a place"),
            (Group::Up, Event::CallSent { running_max }) => {
                self.running_max = self.running_max.max(running_max);
                self.watch(out);
                Outcome::Handled
            }
            (Group::Up, Event::WorkFinished { more }) => {
                self.finish_one(more, out);
                Outcome::Handled
            }
            (Group::Up, Event::HintReceived(hint)) => {
                self.hear(hint, out);
                Outcome::Handled
            }
            (Group::Up, Event::Elapsed(Timer::Leave)) => {
                self.foretold = None;
                Outcome::Handled
            }
            (Group::Up, Event::Elapsed(Timer::Silence | Timer::Pulse)) => self.lost(Loss::Silence, Cause::Stalled, out),
            (Group::Up, Event::Elapsed(Timer::Liveness)) => {
                self.steady = true;
                out.order(Effect::CheckEditor);
                if self.pulse {
                    out.order(Effect::AskPulse);
                }
                out.order(Effect::Arm(Timer::Liveness, LIVENESS_EVERY));
                Outcome::Handled
            }
            (Group::Up, Event::PulseArrived) => {
                self.heard(out);
                if self.outstanding() > 0 {
                    self.watch(out);
                }
                Outcome::Handled
            }
            (Group::Up, Event::Elapsed(_)) => out.ignore("a timer of a state that was left"),
            (Group::Up, Event::Disconnected(drop)) => self.disconnect(drop, out),
            (Group::Up, Event::EditorVanished) => self.vanish(out),
            (Group::Up, Event::StopRequested) => {
                if self.outstanding() == 0 {
                    out.order(Effect::HangUp(Loss::Shutdown));
                    Outcome::Transition(State::Stopped)
                } else {
                    Outcome::Transition(State::Draining)
                }
            }
            (Group::Away | Group::Up, Event::NobodyWaits) => out.ignore("only a connection that parts ends by that"),
            (Group::Up, Event::TargetsOffered { .. } | Event::NothingOffered { .. } | Event::NewsArrived) => {
                out.ignore("the connection that works is kept")
            }
            (
                Group::Away | Group::Up,
                Event::Connected { .. } | Event::ConnectFailed(_) | Event::Greeted { .. } | Event::GreetingRefused,
            )
            | (
                Group::Away,
                Event::TargetsOffered { .. }
                | Event::NothingOffered { .. }
                | Event::NewsArrived
                | Event::CallsWaiting
                | Event::ProjectChanged,
            )
            | (Group::Up, Event::BytesArrived | Event::LeavingAnnounced(_))
            | (Group::Root, _) => Outcome::Super,
        }
    }
}
