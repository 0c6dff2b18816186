//! What is known of an editor that is not connected, and of a round of dialling.

use super::alphabet::{ConnectFailure, Effect, Evidence, Sign, Timer};
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::{Machine, Outbox};
use crate::limits::LIKELY_AFTER_CRASH;
use crate::protocol::dialect::{Activity, PushEvent};

/// Attempts beyond this change no delay any more.
const ATTEMPT_CAP: u8 = 7;

/// What is known of an editor that is not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Absence {
    /// Why it is away.
    pub(super) cause: Cause,
    /// What was seen of it before.
    pub(super) past: Past,
    /// What was surveyed last speaks for an editor.
    pub(super) evidence: bool,
    /// The last peer that took a connection hung up on the greeting: taking one more is no evidence of an editor.
    pub(super) greeting_dropped: bool,
    /// Rounds of dialling that failed, as far as that changes the delay.
    pub(super) attempt: u8,
}

/// What was seen of the editor before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Past {
    /// Nothing; or it said goodbye, and whoever lives next is another.
    NeverConnected,
    /// It was connected.
    Connected {
        /// A moment ago: its return is likely.
        recently_lost: bool,
        /// The connection ended from its side without a goodbye, and its process was not seen alive since: if it is gone, it said
        /// none. One that lives on without a connection may quit unheard.
        cut_off: bool,
    },
}

/// A round of dialling: each of the offered targets once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Round {
    /// The one that is dialled or greeted, by its place in the offer.
    pub(super) target: u8,
    targets: u8,
    /// Why a target is not the right one.
    refusal: Option<Cause>,
    /// A target did not answer as an editor: it may be the right one, away for a moment.
    unreached: Unreached,
}

/// How the targets failed that may be the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unreached {
    /// There was none.
    No,
    /// Nobody listened.
    Absent,
    /// One took the connection and said nothing.
    Silent,
}

impl Round {
    /// An offer without a target is as good as one where nobody listens.
    pub(super) fn new(targets: u8) -> Self {
        let unreached = if targets == 0 { Unreached::Absent } else { Unreached::No };
        Self { target: 0, targets, refusal: None, unreached }
    }

    /// Every target was tried.
    pub(super) fn is_over(self) -> bool {
        self.target >= self.targets
    }

    /// The target gave no usable connection: on to the next one.
    pub(super) fn failed(mut self, failure: ConnectFailure) -> Self {
        match failure {
            ConnectFailure::WrongProject => self.refused(Cause::WrongProject),
            ConnectFailure::Unproven => self.refused(Cause::Unproven),
            ConnectFailure::WrongPeer => self.refused(Cause::WrongPeer),
            ConnectFailure::NoDescriptors => self.refused(Cause::NoDescriptors),
            ConnectFailure::Refused => self.unreached = self.unreached.max(Unreached::Absent),
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
    /// Nobody was met yet.
    pub(super) const UNKNOWN: Self = Self {
        cause: Cause::Connecting,
        past: Past::NeverConnected,
        evidence: false,
        greeting_dropped: false,
        attempt: 0,
    };

    pub(super) fn availability(self, likely: bool) -> Availability {
        match self.cause {
            cause @ (Cause::Closed | Cause::WrongProject | Cause::WrongPeer | Cause::Unproven | Cause::Ambiguous) => {
                Availability::Absent(cause)
            }
            Cause::Connecting => Availability::Coming(Cause::Connecting),
            cause if likely => Availability::Coming(cause),
            cause => Availability::Absent(cause),
        }
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

    /// One more round has failed.
    pub(super) fn count_attempt(&mut self) {
        self.attempt = (self.attempt + 1).min(ATTEMPT_CAP);
    }

    /// A hint names the cause of an absence of which nothing is known; whether the editor comes back it does not decide.
    pub(super) fn hear(&mut self, hint: PushEvent, out: &mut Outbox<impl Machine<Effect = Effect>>) {
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

    /// A survey found what may be dialled.
    pub(super) fn found(&mut self, evidence: Evidence, out: &mut Outbox<impl Machine<Effect = Effect>>) {
        self.learn(evidence, out);
        if self.cause == Cause::Ambiguous {
            self.cause = Cause::Connecting;
        }
    }

    /// A survey found nothing that may be dialled.
    pub(super) fn found_nothing(
        &mut self,
        cause: Cause,
        evidence: Evidence,
        out: &mut Outbox<impl Machine<Effect = Effect>>,
    ) {
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
        self.count_attempt();
    }

    /// The wait was armed by what was known when it began.
    pub(super) fn learn_while_waiting(&mut self, evidence: Evidence, out: &mut Outbox<impl Machine<Effect = Effect>>) {
        let before = self.likely();
        self.learn(evidence, out);
        if self.likely() && !before {
            out.order(Effect::ShortenRetry);
        }
    }

    fn learn(&mut self, evidence: Evidence, out: &mut Outbox<impl Machine<Effect = Effect>>) {
        self.evidence = match evidence.editor {
            Sign::Alive => true,
            Sign::Dead => false,
            Sign::Unknown => evidence.activity.is_some(),
        };
        if let (Sign::Alive, Past::Connected { cut_off, .. }) = (evidence.editor, &mut self.past) {
            *cut_off = false;
        }
        if self.cause == Cause::Closed {
            match evidence.editor {
                // The one that said goodbye is gone, and its record with it, most likely; whoever lives next is another.
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
                Past::NeverConnected => None,
            },
            (Sign::Alive | Sign::Unknown, Some(Activity::Compiling)) => Some(Cause::Compiling),
            (Sign::Alive | Sign::Unknown, Some(Activity::Reloading)) => Some(Cause::Reloading),
            // Its bridge starts after a reload too.
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) if self.cause == Cause::Reloading => None,
            (Sign::Alive | Sign::Unknown, Some(Activity::Starting)) => Some(Cause::Starting),
            (Sign::Alive | Sign::Unknown, None) if self.is_open_question() => None,
            (Sign::Alive, None) => Some(self.cause_of_a_living_editor(evidence.announces)),
            (Sign::Unknown, None) => None,
        };
        if let Some(cause) = seen {
            if cause.is_gone() && !self.cause.is_gone() && self.recently_lost() {
                out.order(Effect::Arm(Timer::Hope, LIKELY_AFTER_CRASH));
            }
            self.cause = cause;
        }
    }

    /// Why an editor is away whose process lives and whose files say nothing: only what was seen of it before is known.
    fn cause_of_a_living_editor(self, announces: Option<bool>) -> Cause {
        match self.cause {
            // It takes connections and says nothing.
            Cause::Stalled => Cause::Stalled,
            Cause::Reloading if self.recently_lost() => Cause::Reloading,
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

    /// The cause says nothing of the editor itself: it is only about what was found at its ports, and the next dial decides.
    fn is_open_question(self) -> bool {
        matches!(
            self.cause,
            Cause::Connecting
                | Cause::WrongProject
                | Cause::WrongPeer
                | Cause::Unproven
                | Cause::Ambiguous
                | Cause::NoDescriptors
        )
    }

    /// A whole round of dialling has failed.
    pub(super) fn after(mut self, round: Round) -> Self {
        self.count_attempt();
        let unreached = round.unreached != Unreached::No;
        if round.unreached == Unreached::Absent && self.cause == Cause::Stalled {
            // It was silent, and now nobody listens.
            self.cause = Cause::Lost;
        }
        // Somebody else on a port that is only fallen back to says nothing about an editor that is away for a moment.
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
