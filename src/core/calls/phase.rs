//! Where a call is, with what is known of it there.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::types::{Claim, Refused};
use crate::fsm::call::{Event, State};
use crate::fsm::cause::{Cause, Loss};
use crate::limits::RUNNING_MAX;
use crate::protocol::dialect::{EditorAnswer, Recovery};
use crate::protocol::ids::Epoch;

/// Where a call is. What belongs to one phase is dropped with it.
///
/// The machine ([`fsm::call`](crate::fsm::call)) says what the client was told; the phase says where the call is. A cancelled call,
/// for example, may still be at the editor. [`Phase::after`] is the only way from one phase to the next.
#[derive(Clone)]
pub(super) enum Phase {
    /// The call waits to be sent, or to be sent again.
    Held {
        /// The connection that has reserved the call.
        reserved: Option<Epoch>,
        /// When the connection of the last attempt ended, unless that attempt is known not to have run.
        lost: Option<Instant>,
        /// When the last attempt was sent, if its outcome was given up at once. For the call's record.
        sent: Option<Instant>,
        /// The editor's refusal of this call alone, until the call may be sent again.
        rests: Option<Rest>,
    },
    /// The call was claimed on this connection, which has not ended: it may have run.
    Sent { epoch: Epoch, attempt: Attempt },
    /// The connection ended, and the outcome is looked for.
    Sought { attempt: Attempt, lost: Instant },
    /// The editor's answer waits for a reload that may follow it.
    Withheld {
        attempt: Attempt,
        answer: EditorAnswer,
        since: Instant,
        /// Whether the reload is visible: the editor is away, or has announced that it leaves.
        reloading: bool,
    },
    /// The call has ended and has no place at the editor: the entry is removed at the end of the operation. The phase
    /// before is kept for the answer and the record.
    Over(Box<Self>),
}

/// Why a held call is not sent for now although others are.
#[derive(Clone)]
pub(super) struct Rest {
    /// The connection on which the editor refused the call.
    pub(super) epoch: Epoch,
    /// What the editor is busy with, as a phrase.
    pub(super) says: Arc<str>,
}

/// One attempt to send a call.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) at: Instant,
    /// The connection on which the call was sent; `None` if an earlier gateway sent it.
    pub(super) epoch: Option<Epoch>,
    /// How the outcome may be learned after a loss.
    pub(super) recovery: Recovery,
    /// How long the call may run before its client is answered "still running".
    pub(super) running_max: Duration,
    /// Whether the call was sent under the name of another gateway.
    pub(super) of_another_gateway: bool,
    /// The claim, for the log and the metrics. `None`: an earlier gateway sent the call.
    pub(super) claim: Option<Claim>,
    /// Whether the editor's answer says that the call did not run.
    pub(super) unrun: bool,
}

impl Attempt {
    pub(super) fn new(recovery: Recovery, at: Instant) -> Self {
        Self {
            at,
            epoch: None,
            recovery,
            running_max: RUNNING_MAX,
            of_another_gateway: false,
            claim: None,
            unrun: false,
        }
    }
}

/// What happens to a call, with what comes with it.
pub(super) enum News {
    Claimed {
        epoch: Epoch,
        attempt: Attempt,
        repeatable: bool,
    },
    Replied(EditorAnswer),
    /// The editor runs the call as a job, which has this key.
    Submitted(Recovery),
    TurnedAway(Cause),
    Withheld {
        answer: EditorAnswer,
        reloading: bool,
    },
    Learned(EditorAnswer),
    /// A withheld answer is to be sent, with this note.
    Told {
        error: bool,
        note: Option<String>,
    },
    TurnedDown(Cause, Box<Refused>),
    /// An earlier gateway sent the call, on a connection that was lost with it. Without an attempt nothing is looked for.
    SentBefore {
        attempt: Option<Attempt>,
        repeatable: bool,
    },
    /// An event with which nothing comes.
    Event(Event),
}

/// What came with the news and was not kept in the phase. It is for the answer.
#[derive(Default)]
pub(super) struct Brought {
    pub(super) answer: Option<EditorAnswer>,
    pub(super) refused: Option<Box<Refused>>,
}

impl From<Event> for News {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl News {
    pub(super) fn event(&self) -> Event {
        match self {
            Self::Claimed { attempt, repeatable, .. } => {
                Event::Claimed { recoverable: attempt.recovery != Recovery::None, repeatable: *repeatable }
            }
            Self::Replied(answer) => Event::ReplyArrived { error: answer.is_error },
            Self::Submitted(_) => Event::Submitted,
            Self::TurnedAway(cause) => Event::TurnedAway(*cause),
            Self::Withheld { .. } => Event::ReplyWithheld,
            Self::Learned(answer) => Event::OutcomeLearned { error: answer.is_error },
            Self::Told { error, .. } => Event::OutcomeLearned { error: *error },
            Self::TurnedDown(cause, _) => Event::Refused(*cause),
            Self::SentBefore { .. } => Event::EpochClosed(Loss::HubEnded),
            Self::Event(event) => *event,
        }
    }

    /// Returns the event that must reach the machine before [`event`](Self::event), if there is one.
    pub(super) fn event_before(&self) -> Option<Event> {
        let Self::SentBefore { attempt, repeatable } = self else { return None };
        let recoverable = attempt.as_ref().is_some_and(|attempt| attempt.recovery != Recovery::None);
        Some(Event::Claimed { recoverable, repeatable: *repeatable })
    }
}

impl Phase {
    /// A call that was never sent.
    pub(super) const NEW: Self = Self::Held { reserved: None, lost: None, sent: None, rests: None };

    /// Returns the phase that follows `news`, after which the machine is in this state, and what came with the news.
    pub(super) fn after(self, news: News, state: State, now: Instant) -> (Self, Brought) {
        let is_closed = matches!(news, News::Event(Event::EpochClosed(_)));
        let is_answered = matches!(
            news,
            News::Replied(_) | News::TurnedAway(_) | News::Learned(_) | News::Event(Event::NotRunProven)
        );
        let mut brought = Brought::default();
        // What the news itself says of where the call is.
        let moved = match (self, news) {
            (Self::Held { .. }, News::Claimed { epoch, attempt, .. }) => Self::Sent { epoch, attempt },
            (Self::Held { .. }, News::SentBefore { attempt: Some(attempt), .. }) => Self::Sought { attempt, lost: now },
            (Self::Sent { attempt, .. }, News::Withheld { answer, reloading }) => {
                Self::Withheld { attempt, answer, since: now, reloading }
            }
            (Self::Sent { epoch, attempt }, News::Submitted(recovery)) => {
                Self::Sent { epoch, attempt: Attempt { recovery, ..attempt } }
            }
            (Self::Sent { attempt, .. }, _) if is_closed => Self::Sought { attempt, lost: now },
            (Self::Withheld { attempt, answer, since, .. }, News::Told { note, .. }) => {
                brought.answer = Some(note.into_iter().fold(answer, |answer, note| answer.with_note(&note)));
                Self::Sought { attempt, lost: since }
            }
            (phase, News::Replied(answer) | News::Learned(answer)) => {
                brought.answer = Some(answer);
                phase
            }
            (phase, News::TurnedDown(_, refused)) => {
                brought.refused = Some(refused);
                phase
            }
            (phase, _) => phase,
        };
        // What the machine made of it.
        let phase = match (state, moved) {
            (State::Accepted | State::Held, held @ Self::Held { .. }) => held,
            (State::Accepted | State::Held, left) => {
                let sent = left.attempt().filter(|_| is_closed).map(|attempt| attempt.at);
                Self::Held { reserved: None, lost: left.lost(), sent, rests: None }
            }
            (State::Sent | State::Recovering | State::Abandoned, phase) => phase,
            // Until the editor has answered, and a reload that may follow is over, the call keeps its place.
            (State::Cancelled, at_editor @ (Self::Sent { .. } | Self::Withheld { .. })) if !is_answered => at_editor,
            (State::Cancelled | State::Answered | State::Uncertain, over @ Self::Over(_)) => over,
            (State::Cancelled | State::Answered | State::Uncertain, left) => Self::Over(Box::new(left)),
        };
        debug_assert!(phase.fits(state), "{state:?}");
        (phase, brought)
    }

    /// Whether the machine of a call in this phase may be in this state.
    pub(super) fn fits(&self, state: State) -> bool {
        match self {
            Self::Held { .. } => matches!(state, State::Accepted | State::Held),
            Self::Sent { .. } => matches!(state, State::Sent | State::Abandoned | State::Cancelled),
            Self::Sought { .. } => matches!(state, State::Recovering | State::Abandoned),
            Self::Withheld { .. } => matches!(state, State::Recovering | State::Abandoned | State::Cancelled),
            Self::Over(_) => matches!(state, State::Answered | State::Uncertain | State::Cancelled),
        }
    }

    /// Returns the attempt that is, or was, at the editor.
    pub(super) fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::Held { .. } => None,
            Self::Sent { attempt, .. } | Self::Sought { attempt, .. } | Self::Withheld { attempt, .. } => Some(attempt),
            Self::Over(before) => before.attempt(),
        }
    }

    /// Returns when the call was sent, for its record.
    pub(super) fn sent(&self) -> Option<Instant> {
        match self {
            Self::Held { sent, .. } => *sent,
            Self::Over(before) => before.sent(),
            _ => self.attempt().map(|attempt| attempt.at),
        }
    }

    /// Returns why the call alone is, or was, not sent.
    pub(super) fn rests(&self) -> Option<&Rest> {
        match self {
            Self::Held { rests, .. } => rests.as_ref(),
            Self::Over(before) => before.rests(),
            _ => None,
        }
    }

    /// Returns when the call's last connection ended. A withheld answer counts as the end: a reload may have begun with it.
    pub(super) fn lost(&self) -> Option<Instant> {
        match self {
            Self::Held { lost, .. } => *lost,
            Self::Sent { .. } => None,
            Self::Sought { lost, .. } => Some(*lost),
            Self::Withheld { since, .. } => Some(*since),
            Self::Over(before) => before.lost(),
        }
    }
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Phase {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        std::mem::discriminant(self).hash(hasher);
        match self {
            Self::Held { reserved, lost, sent, rests } => {
                (reserved, lost, sent, rests.as_ref().map(|rest| rest.epoch)).hash(hasher);
            }
            Self::Sent { epoch, attempt } => (epoch, attempt).hash(hasher),
            Self::Sought { attempt, lost } => (attempt, lost).hash(hasher),
            // What the tool said decides nothing.
            Self::Withheld { attempt, answer: EditorAnswer { is_error, body: _ }, since, reloading } => {
                (attempt, is_error, since, reloading).hash(hasher);
            }
            Self::Over(before) => before.hash(hasher),
        }
    }
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Attempt {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            at,
            epoch,
            recovery,
            running_max,
            of_another_gateway,
            // Only the log and metrics use it.
            claim: _,
            // It only chooses words.
            unrun: _,
        } = self;
        (at, epoch, recovery, running_max, of_another_gateway).hash(hasher);
    }
}
