//! The state machine of the one connection to an editor: whether the editor is away, connected or leaving, and why.
//!
//! The machine gets its events from its shell (sockets, timers), from discovery (where an editor may be, and what its files say),
//! from the push listener (hints), from the connection, and from parts that need an editor. It decides when to dial and when a connection
//! ends, and what callers may expect ([`Bridge::availability`]). What is sent on a connection is decided by its exchange. The
//! machine uses no clock, address or wire format.

mod absence;
mod alphabet;
mod established;
mod table;

use self::absence::{Absence, Past, Round};
pub use self::alphabet::{ConnectFailure, Disconnect, Effect, Event, Evidence, Group, Sign, State, Timer};
use self::established::{End, Established, Peer, Up};
use super::cause::{Availability, Cause, Loss};
use super::{Outcome, Reaction, statig_machine};
use crate::limits::{LIKELY_AFTER_CRASH, LIKELY_AFTER_LOSS};
use crate::protocol::dialect::LeaveReason;

/// The connection: its state, and what is known in that state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bridge {
    at: Situation,
}

/// Each [`State`] with its data, which is dropped with the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Situation {
    Idle(Absence),
    Seeking(Absence),
    Dialing(Absence, Round),
    Greeting(Absence, Round),
    BackingOff(Absence),
    Ready(Up),
    Stalled(Up),
    /// Connected, and leaving for the reason that the editor gave on the connection.
    Leaving(Established, LeaveReason),
    /// The project is no longer wanted. The reason for leaving is here if the editor announced one, on the connection
    /// or by a hint.
    Parting(Peer, Option<LeaveReason>),
    Draining,
    Stopped,
}

impl Situation {
    fn state(&self) -> State {
        match self {
            Self::Idle(_) => State::Idle,
            Self::Seeking(_) => State::Seeking,
            Self::Dialing(..) => State::Dialing,
            Self::Greeting(..) => State::Greeting,
            Self::BackingOff(_) => State::BackingOff,
            Self::Ready(_) => State::Ready,
            Self::Stalled(_) => State::Stalled,
            Self::Leaving(..) => State::Leaving,
            Self::Parting(..) => State::Parting,
            Self::Draining => State::Draining,
            Self::Stopped => State::Stopped,
        }
    }

    fn absence(&self) -> Option<Absence> {
        match self {
            Self::Idle(absence)
            | Self::Seeking(absence)
            | Self::Dialing(absence, _)
            | Self::Greeting(absence, _)
            | Self::BackingOff(absence) => Some(*absence),
            _ => None,
        }
    }

    fn peer(&self) -> Option<Peer> {
        match self {
            Self::Ready(up) | Self::Stalled(up) => Some(up.established.peer),
            Self::Leaving(established, _) => Some(established.peer),
            Self::Parting(peer, _) => Some(*peer),
            _ => None,
        }
    }
}

impl Default for Bridge {
    fn default() -> Self {
        Self::new()
    }
}

impl Bridge {
    /// Returns a bridge that has not met an editor.
    pub fn new() -> Self {
        Self { at: Situation::Idle(Absence::UNKNOWN) }
    }

    /// Like [`new`](Self::new), but for the successor of a bridge that has just lost an editor. The shell must arm
    /// [`Timer::Hope`].
    pub fn after_loss() -> Self {
        let past = Past::Connected { recently_lost: true, cut_off: false, gone: false };
        Self { at: Situation::Idle(Absence { cause: Cause::Lost, past, ..Absence::UNKNOWN }) }
    }

    /// Returns what callers may expect now.
    pub fn availability(&self) -> Availability {
        match self.at {
            Situation::Draining | Situation::Stopped => Availability::Absent(Cause::ShuttingDown),
            Situation::Parting(..) => Availability::Coming(Cause::ProjectUnsettled),
            Situation::Ready(_) | Situation::Stalled(_) => Availability::Open,
            Situation::Leaving(_, reason) => match reason {
                LeaveReason::Quit | LeaveReason::Stopped => Availability::Absent(Cause::Closed),
                LeaveReason::Reload => Availability::Coming(Cause::Reloading),
                LeaveReason::Unknown => Availability::Coming(Cause::Lost),
            },
            Situation::Greeting(absence, _) => absence.availability(absence.likely() || !absence.greeting_dropped),
            Situation::Idle(absence)
            | Situation::Seeking(absence)
            | Situation::Dialing(absence, _)
            | Situation::BackingOff(absence) => absence.availability(absence.likely()),
        }
    }

    /// Whether nothing is known for or against an editor yet, because the first survey and the first dials have not ended.
    pub fn undecided(&self) -> bool {
        self.at.absence().is_some_and(|absence| absence.cause == Cause::Connecting)
    }

    /// Returns the target that is dialled or connected, as its position in the offer; 0 if there is none.
    pub fn target(&self) -> u8 {
        match self.at {
            Situation::Dialing(_, round) | Situation::Greeting(_, round) => round.target,
            at => at.peer().map_or(0, |peer| peer.target),
        }
    }

    /// Whether targets are dialled again and again.
    pub fn is_dialling_patiently(&self) -> bool {
        matches!(self.at, Situation::Dialing(absence, round) if absence.is_patient(round))
    }

    /// Changes the state. No other function may do so, so that the stored data and statig's state stay consistent.
    fn go(&mut self, to: Situation) -> Outcome<State> {
        self.at = to;
        Outcome::Transition(to.state())
    }

    /// Dials the next target of the round, or ends the round if there is none.
    fn dial(&mut self, absence: Absence, round: Round) -> Outcome<State> {
        if round.is_over() {
            self.go(Situation::BackingOff(absence.after(round)))
        } else {
            self.go(Situation::Dialing(absence, round))
        }
    }

    /// Ends a connection that was greeted, for the reason `end`.
    fn lost(&mut self, established: Established, end: End, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(end.loss));
        let recently_lost = end.cause != Cause::Closed;
        if recently_lost {
            let span = if end.cause.is_gone() { LIKELY_AFTER_CRASH } else { LIKELY_AFTER_LOSS };
            out.order(Effect::Arm(Timer::Hope, span));
        } else {
            out.order(Effect::Disarm(Timer::Hope));
        }
        let past = Past::Connected { recently_lost, cut_off: end.cut_off, gone: false };
        let mut absence = Absence { cause: end.cause, past, ..Absence::UNKNOWN };
        match established.unproven {
            // Surveys at once: the files show what happened, and a short reload may already be over.
            None if established.steady && !matches!(end.cause, Cause::Reloading | Cause::Displaced) => {
                return self.go(Situation::Seeking(absence));
            }
            // An announced reload takes time, and a listener that is about to close still accepts connections. After a
            // connection that worked but did not last, nothing is dialled at once either. Otherwise two gateways at an
            // editor that takes only one connection would displace each other without a pause.
            None => {}
            // The connection never worked. The failed attempts before it still count, so that an editor that crashes again and
            // again is dialled no faster than the backoff allows.
            Some(attempt) => absence.attempt = attempt,
        }
        absence.count_attempt();
        self.go(Situation::BackingOff(absence))
    }

    /// Ends the connection to the former project's editor and looks for the editor of the wanted project.
    fn leave_project(&mut self, loss: Loss, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(loss));
        self.begin_anew(out)
    }

    /// Drops what is known about the former project's editor, since it says nothing about the editor of the wanted project.
    fn begin_anew(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::Disarm(Timer::Hope));
        self.go(Situation::Seeking(Absence::UNKNOWN))
    }

    /// Stops the machine, and ends the connection if there is one.
    fn stop(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        out.order(Effect::HangUp(Loss::Shutdown));
        self.go(Situation::Stopped)
    }
}
statig_machine!(Bridge, State, Group);

#[cfg(test)]
impl super::tests::Charted for Bridge {
    fn specimens() -> Vec<Event> {
        use crate::protocol::dialect::{Activity, PushEvent};
        let evidence = |editor, activity| Evidence {
            editor,
            activity,
            announces: Some(true),
            unpackaged: false,
            port_named: false,
            arrives: false,
        };
        let nothing = evidence(Sign::Unknown, None);
        vec![
            Event::Wanted,
            Event::TargetsOffered { count: 2, evidence: nothing },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, None) },
            Event::TargetsOffered { count: 1, evidence: evidence(Sign::Alive, Some(Activity::Compiling)) },
            Event::TargetsOffered {
                count: 1,
                evidence: Evidence { announces: Some(false), ..evidence(Sign::Alive, None) },
            },
            Event::NothingOffered { cause: Cause::NotRunning, evidence: evidence(Sign::Dead, None) },
            Event::NothingOffered { cause: Cause::Unproven, evidence: nothing },
            Event::TargetGone,
            Event::ProjectChanged,
            Event::Connected { target: 0, checked: true },
            Event::Connected { target: 0, checked: false },
            Event::ConnectFailed { target: 0, failure: ConnectFailure::Refused, dialled: true },
            Event::ConnectFailed { target: 1, failure: ConnectFailure::WrongProject, dialled: true },
            Event::Greeted { heartbeat: false },
            Event::Greeted { heartbeat: true },
            Event::StillRefused,
            Event::GreetingRefused(ConnectFailure::WrongPeer),
            Event::GreetingRefused(ConnectFailure::Unproven),
            Event::GreetingRefused(ConnectFailure::Vanished),
            Event::Proven,
            Event::CallsWaiting,
            Event::StallBegan,
            Event::StallEnded,
            Event::Silent,
            Event::NothingOwed,
            Event::LeavingAnnounced(LeaveReason::Reload),
            Event::LeavingAnnounced(LeaveReason::Quit),
            Event::HintReceived(PushEvent::ConnectionEstablished),
            Event::HintReceived(PushEvent::DomainReload),
            Event::HintReceived(PushEvent::ToolsChanged),
            Event::HintReceived(PushEvent::UnityShutdown),
            Event::NewsArrived,
            Event::Disconnected(Disconnect::Eof),
            Event::Disconnected(Disconnect::Protocol),
            Event::Disconnected(Disconnect::Displaced),
            Event::EditorVanished,
            Event::NobodyWaits,
            Event::Elapsed(Timer::Seek),
            Event::Elapsed(Timer::Retry),
            Event::Elapsed(Timer::Greeting),
            Event::Elapsed(Timer::Liveness),
            Event::Elapsed(Timer::Hope),
            Event::Elapsed(Timer::Leave),
            Event::Elapsed(Timer::Drain),
            Event::StopRequested,
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::new(), Self::after_loss()]
    }
}

#[cfg(test)]
mod tests;
