//! What is known about an editor that is not connected, and about a round of dialling.

use super::alphabet::{ConnectFailure, Effect, Evidence, Sign, Timer};
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::{Machine, Reaction};
use crate::limits::{LIKELY_AFTER_CRASH, RETRY_FIRST, RETRY_UNLIKELY_MAX};
use crate::protocol::dialect::{Activity, PushEvent};

/// Above this number, further attempts do not change the delay.
const ATTEMPT_CAP: u8 = 7;
const _: () = assert!(
    RETRY_FIRST.as_millis() << ATTEMPT_CAP >= RETRY_UNLIKELY_MAX.as_millis(),
    "the delay stops rising below its limit"
);

/// What is known about an editor that is not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Absence {
    /// Why the editor is away.
    pub(super) cause: Cause,
    /// What was seen of the editor before.
    pub(super) past: Past,
    /// Whether the last survey found signs of an editor.
    pub(super) evidence: bool,
    /// Whether the editor's files say that it compiles, reloads or starts.
    pub(super) at_work: bool,
    /// Whether the last peer that accepted a connection closed it during the greeting. If so, an accepted connection is not a
    /// sign of an editor.
    pub(super) greeting_dropped: bool,
    /// The number of failed rounds of dialling, up to `ATTEMPT_CAP`.
    pub(super) attempt: u8,
    /// Whether the last survey found no package in the project.
    pub(super) unpackaged: bool,
    pub(super) port_named: bool,
    /// Whether the editor connects to us.
    pub(super) arrives: bool,
}

/// What was seen of the editor before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Past {
    /// No editor was ever connected; or the editor quit, and an editor that runs later is another one.
    NeverConnected,
    Connected {
        /// Whether the connection was lost recently, so that the editor is likely to return.
        recently_lost: bool,
        /// Whether the editor's side ended the connection without an announcement, and its process has not been seen alive since.
        /// If so, a process that is gone has announced nothing. If not, the process may have quit later, while nobody was
        /// connected.
        cut_off: bool,
        /// Whether the editor's process was seen to be gone, and has not been seen alive since.
        gone: bool,
    },
}

/// A round of dialling, which tries each of the offered targets once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Round {
    /// The target that is dialled or greeted, given by its position in the offer.
    pub(super) target: u8,
    targets: u8,
    /// Whether a target that was dialled gave another answer than a refusal.
    answered: bool,
    /// Why a target was refused as the wrong one.
    refusal: Option<Cause>,
    /// How those targets failed that may belong to the right editor while it is away for a moment.
    unreached: Unreached,
}

/// How those targets failed that may belong to the right editor, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unreached {
    /// No target failed in this way.
    No,
    /// Nobody listened.
    Absent,
    /// A program accepted the connection but did not answer.
    Silent,
}

impl Round {
    /// Starts a round. If an offer has no targets, the round ends as if nobody listened.
    pub(super) fn new(targets: u8) -> Self {
        let unreached = if targets == 0 { Unreached::Absent } else { Unreached::No };
        Self { target: 0, targets, answered: false, refusal: None, unreached }
    }

    /// Whether every target was tried.
    pub(super) fn is_over(self) -> bool {
        self.target >= self.targets
    }

    /// Records that a patient dial has come to this target. A patient dial leaves a target only if that target refuses.
    pub(super) fn turned_to(mut self, target: u8) -> Self {
        if target != self.target {
            self.unreached = self.unreached.max(Unreached::Absent);
        }
        self.target = target;
        self
    }

    /// Records that the target gave no usable connection, and goes to the next one. `dialled`: the failure was found by
    /// a dial just now.
    pub(super) fn failed(mut self, failure: ConnectFailure, dialled: bool) -> Self {
        self.answered |= dialled && failure != ConnectFailure::Refused;
        match failure {
            ConnectFailure::WrongProject => self.refused(Cause::WrongProject),
            ConnectFailure::Unproven => self.refused(Cause::Unproven),
            ConnectFailure::WrongPeer => self.refused(Cause::WrongPeer),
            ConnectFailure::NoDescriptors => self.refused(Cause::NoDescriptors),
            ConnectFailure::Forbidden => self.refused(Cause::Forbidden),
            ConnectFailure::Refused | ConnectFailure::Vanished => {
                self.unreached = self.unreached.max(Unreached::Absent);
            }
            ConnectFailure::TimedOut => self.unreached = Unreached::Silent,
            ConnectFailure::PermitHeld => {}
        }
        self.target = self.target.saturating_add(1);
        self
    }

    fn refused(&mut self, cause: Cause) {
        self.refusal.get_or_insert(cause);
    }
}

impl Absence {
    /// What is known when no editor was met yet.
    pub(super) const UNKNOWN: Self = Self {
        cause: Cause::Connecting,
        past: Past::NeverConnected,
        evidence: false,
        at_work: false,
        greeting_dropped: false,
        attempt: 0,
        unpackaged: false,
        port_named: false,
        arrives: false,
    };

    pub(super) fn availability(self, likely: bool) -> Availability {
        match self.told_cause() {
            cause @ (Cause::Closed
            | Cause::WrongProject
            | Cause::WrongPeer
            | Cause::Unproven
            | Cause::Forbidden
            | Cause::Ambiguous
            | Cause::NoPackage
            | Cause::ProjectUnknown) => Availability::Absent(cause),
            Cause::Connecting => Availability::Coming(Cause::Connecting),
            cause if likely => Availability::Coming(cause),
            cause => Availability::Absent(cause),
        }
    }

    /// Returns the cause that people are told. An editor without a package cannot answer, whether it runs or not, and
    /// whatever listens on a port that nobody named. But an editor that was once connected has a package, even if its
    /// files do not name one.
    fn told_cause(self) -> Cause {
        let unpackaged = self.unpackaged && self.past == Past::NeverConnected;
        match self.cause {
            Cause::NotRunning | Cause::BridgeDown if unpackaged => Cause::NoPackage,
            Cause::WrongPeer | Cause::WrongProject | Cause::Unproven if unpackaged && !self.port_named => {
                Cause::NoPackage
            }
            cause => cause,
        }
    }

    /// Whether the targets are dialled again and again, because the editor may listen at any moment. That is so only
    /// while all of them refuse: a target that answers and is of no use is dialled ever more rarely.
    pub(super) fn is_patient(self, round: Round) -> bool {
        self.likely() && !round.answered
    }

    pub(super) fn likely(self) -> bool {
        self.evidence || self.recently_lost()
    }

    fn recently_lost(self) -> bool {
        matches!(self.past, Past::Connected { recently_lost: true, .. })
    }

    pub(super) fn lose_hope(&mut self) {
        if let Past::Connected { recently_lost, .. } = &mut self.past {
            *recently_lost = false;
        }
    }

    /// Counts a failed round.
    pub(super) fn count_attempt(&mut self) {
        self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
    }

    /// Handles a hint. A hint may name the cause of an absence whose cause is unknown, or shorten the wait. It does not decide
    /// whether the editor comes back.
    pub(super) fn hear(&mut self, hint: PushEvent, out: &mut Reaction<impl Machine<Effect = Effect>>) {
        match hint {
            PushEvent::DomainReload if matches!(self.cause, Cause::Lost | Cause::BridgeStopped) && self.likely() => {
                self.cause = Cause::Reloading;
            }
            PushEvent::ConnectionEstablished | PushEvent::DomainReloadRecovered | PushEvent::ToolsChanged => {
                out.order(Effect::ShortenRetry);
            }
            PushEvent::DomainReload | PushEvent::UserDisconnect | PushEvent::UnityShutdown | PushEvent::Unknown => {
                out.ignore("the connection is gone already, for a cause of its own");
            }
        }
    }

    /// Handles a survey that found targets.
    pub(super) fn found(&mut self, evidence: Evidence, out: &mut Reaction<impl Machine<Effect = Effect>>) {
        self.learn(evidence, out);
        if matches!(self.cause, Cause::Ambiguous | Cause::ProjectUnknown) {
            self.cause = Cause::Connecting;
        }
    }

    /// Handles a survey that found no target.
    pub(super) fn found_nothing(
        &mut self,
        cause: Cause,
        evidence: Evidence,
        out: &mut Reaction<impl Machine<Effect = Effect>>,
    ) {
        self.learn(evidence, out);
        // If an editor was connected and is now not found, its cause is kept, since it says more. If the editor's process is
        // alive, the editor is running although it has no port.
        let known = self.cause.is_gone() || matches!(self.cause, Cause::Reloading | Cause::Compiling);
        match cause {
            Cause::NotRunning | Cause::ProjectUnknown if known => {}
            Cause::NotRunning if evidence.editor == Sign::Alive => {
                if self.is_open_question() {
                    self.cause = Cause::BridgeDown;
                }
            }
            _ => self.cause = cause,
        }
        self.count_attempt();
    }

    /// Handles a survey during a wait. If the editor has become likely, the wait is shortened, since its length was
    /// chosen before the editor became likely.
    pub(super) fn learn_while_waiting(
        &mut self,
        evidence: Evidence,
        out: &mut Reaction<impl Machine<Effect = Effect>>,
    ) {
        let before = self.likely();
        self.learn(evidence, out);
        if self.likely() && !before {
            out.order(Effect::ShortenRetry);
        }
    }

    fn learn(&mut self, evidence: Evidence, out: &mut Reaction<impl Machine<Effect = Effect>>) {
        (self.unpackaged, self.port_named) = (evidence.unpackaged, evidence.port_named);
        self.arrives = evidence.arrives;
        self.at_work = evidence.activity.is_some();
        self.evidence = match evidence.editor {
            Sign::Alive => true,
            Sign::Dead => false,
            Sign::Unknown => evidence.activity.is_some(),
        };
        if let (Sign::Alive, Past::Connected { cut_off, gone, .. }) = (evidence.editor, &mut self.past) {
            (*cut_off, *gone) = (false, false);
        }
        if self.cause == Cause::Closed {
            match evidence.editor {
                // The editor quit, and most likely its files are gone too. An editor that runs later is another one.
                Sign::Dead | Sign::Unknown => self.past = Past::NeverConnected,
                Sign::Alive if self.past == Past::NeverConnected => self.cause = Cause::Connecting,
                Sign::Alive => {}
            }
            return;
        }
        let seen = match (evidence.editor, evidence.activity) {
            (Sign::Dead, _) => match self.past {
                Past::Connected { cut_off: true, .. } if evidence.announces == Some(true) => Some(Cause::Crashed),
                Past::Connected { .. } => Some(Cause::ProcessGone),
                // An editor that was seen alive has ended before the first connection.
                Past::NeverConnected => self.says_it_lives().then_some(Cause::NotRunning),
            },
            (Sign::Alive | Sign::Unknown, Some(Activity::Compiling)) => Some(Cause::Compiling),
            (Sign::Alive | Sign::Unknown, Some(Activity::Reloading)) => Some(Cause::Reloading),
            // Starting the bridge may be a part of the reload, so that cause is kept.
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) if self.cause == Cause::Reloading => None,
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) => Some(Cause::Starting),
            (Sign::Alive | Sign::Unknown, None) if self.is_open_question() => None,
            (Sign::Alive, None) => Some(self.cause_of_a_living_editor(evidence.announces)),
            // It was seen alive, and nothing shows that any more: the next dial decides.
            (Sign::Unknown, None) if self.past == Past::NeverConnected && self.cause == Cause::BridgeDown => {
                Some(Cause::Connecting)
            }
            (Sign::Unknown, None) => None,
        };
        if let Some(cause) = seen {
            // This happens only once: if something else is found at the editor's port in between, that is no reason to
            // hope anew.
            if let Past::Connected { recently_lost: true, gone, .. } = &mut self.past
                && cause.is_gone()
                && !std::mem::replace(gone, true)
                && !self.cause.is_gone()
            {
                out.order(Effect::Arm(Timer::Hope, LIKELY_AFTER_CRASH));
            }
            self.cause = cause;
        }
    }

    /// Returns why an editor is away although its process is alive and its files say nothing. This can only be derived from what
    /// was known before.
    fn cause_of_a_living_editor(self, announces: Option<bool>) -> Cause {
        match self.cause {
            // The editor accepts connections but does not answer.
            Cause::Stalled => Cause::Stalled,
            Cause::Reloading if self.recently_lost() => Cause::Reloading,
            Cause::Displaced => Cause::Displaced,
            Cause::Lost | Cause::BridgeStopped | Cause::Compiling | Cause::Starting if self.recently_lost() => {
                if announces == Some(false) {
                    Cause::BridgeStopped
                } else {
                    Cause::Lost
                }
            }
            _ => Cause::BridgeDown,
        }
    }

    /// Whether the cause says that the editor's process lives.
    fn says_it_lives(self) -> bool {
        matches!(
            self.cause,
            Cause::Compiling
                | Cause::Reloading
                | Cause::Starting
                | Cause::BridgeDown
                | Cause::Stalled
                | Cause::Displaced
        )
    }

    /// Whether the cause says nothing about the editor itself, but only what was found at the ports. If so, the next dial
    /// decides.
    fn is_open_question(self) -> bool {
        matches!(
            self.cause,
            Cause::Connecting
                | Cause::WrongProject
                | Cause::WrongPeer
                | Cause::Unproven
                | Cause::Ambiguous
                | Cause::ProjectUnknown
                | Cause::NoDescriptors
                | Cause::Forbidden
        )
    }

    /// Returns what is known after all targets of a round failed.
    pub(super) fn after(mut self, round: Round) -> Self {
        self.count_attempt();
        let unreached = round.unreached != Unreached::No;
        let is_gone = match self.cause {
            // One that connects to us is absent also while it stands still.
            Cause::Stalled => !self.arrives,
            Cause::Displaced => !round.answered,
            _ => false,
        };
        if round.unreached == Unreached::Absent && is_gone {
            // Before, the editor accepted connections, and was of no use. Now nothing listens.
            self.cause = Cause::Lost;
        }
        // If the editor is away only for a moment, a foreign peer on a fallback port says nothing about it.
        let away_for_a_moment = unreached && self.likely();
        match round.refusal {
            Some(cause) if !away_for_a_moment => self.cause = cause,
            Some(_) | None if unreached && self.is_open_question() => {
                self.cause = if self.evidence { Cause::BridgeDown } else { Cause::NotRunning };
            }
            Some(_) | None => {}
        }
        self
    }
}
