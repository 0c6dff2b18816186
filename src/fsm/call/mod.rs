//! The life of one call, and its promise: the call gets exactly one answer, and nothing that may have run is run again.
//!
//! The ledger has one of these machines for each call and feeds it what the bridge, the client and the clock report. The task
//! that writes a call *claims* it as the last step before the first byte; from then on the call may have run. The call ends with
//! one verdict. If the editor answers after the client was told "still running", its answer is kept as a late result.

use serde::{Deserialize, Serialize};

use super::cause::{Cause, Loss};
use super::{Machine, Outcome, Reaction, statig_machine};
use crate::limits::{SENDINGS_MAX, UNRUN_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Accepted by the ledger, but not queued yet.
    Accepted,
    /// Waiting to be sent, or to be sent again.
    Held,
    /// Claimed for a connection: the call may have run.
    Sent,
    /// The connection ended and the call's outcome is being looked for; or the answer is withheld.
    Recovering,
    /// Ended with the editor's answer, or without having been executed.
    Answered,
    /// Ended with an unknown outcome.
    Uncertain,
    /// The client was answered "still running". The editor's answer is still awaited.
    Abandoned,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// The call is not at an editor now. It may have run before if it is held to be sent again.
    Waiting,
    /// The call was claimed for a connection, so it may have run.
    Flying,
    /// The call has ended: the client gets no further answer.
    Done,
}

/// How a call ended, as reported to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The editor answered, and the tool did not fail.
    Ok,
    /// The editor answered that the tool failed.
    ToolError,
    /// The call did not run: it was not sent, or an editor said that it did not run it.
    NotExecuted(Cause),
    /// The call may have run, and no answer can come.
    OutcomeUnknown(Loss),
    /// The call was sent, and the end of the client's patience came before the editor's answer.
    StillRunning,
    /// The client cancelled the call. Never sent as an answer.
    Cancelled,
}

impl Verdict {
    /// Returns the label in logs, metrics and `holdfast_calls`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::NotExecuted(_) => "not_executed",
            Self::OutcomeUnknown(_) => "outcome_unknown",
            Self::StillRunning => "still_running",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the label of the cause or loss, if the verdict has one.
    pub fn cause(self) -> Option<&'static str> {
        match self {
            Self::NotExecuted(cause) => Some(cause.into()),
            Self::OutcomeUnknown(loss) => Some(loss.into()),
            Self::Ok | Self::ToolError | Self::StillRunning | Self::Cancelled => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The call joined the queue for the editor.
    Queued,
    /// The call cannot or may not be sent.
    Refused(Cause),
    /// The writer claimed the call for a connection.
    Claimed {
        /// Whether the outcome may be found after the connection is lost.
        recoverable: bool,
        /// Whether the live tool list declares the tool read-only or idempotent.
        repeatable: bool,
    },
    /// It is proven that no byte of the call was written, so the claim is taken back.
    ClaimRevoked,
    /// The editor replied.
    ReplyArrived {
        /// Whether the editor's reply says that the tool failed.
        error: bool,
    },
    /// The editor replied that it runs the call as a job, whose outcome it can be asked for.
    Submitted,
    /// The editor replied, but the answer is withheld until a reload that may follow is over.
    ReplyWithheld,
    /// The editor replied that the call was meant for another editor, and that it ran nothing.
    TurnedAway(Cause),
    /// The editor says that the call did not run and will not run.
    NotRunProven,
    /// The editor says that a reload interrupted the call.
    FoundInterrupted,
    /// The connection for which the call was claimed has ended.
    EpochClosed(Loss),
    /// The outcome was found in a result file or in the editor's journal, or an answer that was withheld is sent now.
    OutcomeLearned {
        /// Whether the outcome says that the tool failed.
        error: bool,
    },
    /// No record of the outcome can be found.
    OutcomeLost,
    /// The call was held for the longest time that it may be held.
    HoldEnded(Cause),
    /// The client must be answered now, before it gives up.
    PatienceEnded,
    CancelledByClient,
}

/// What the ledger must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Answer the client, once.
    Answer(Verdict),
    /// Look for the outcome, after the connection was lost or the answer was withheld.
    Recover,
    /// Tell the editor that nobody waits for the call any more.
    Withdraw,
    /// Keep the editor's late answer, which the client can ask for by the call's id.
    KeepLate,
    /// Record how the call ended, without an answer to the client.
    Note(Verdict),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Call {
    /// Whether the tool was declared read-only or idempotent when the call was sent. If so, the call may be sent again after a
    /// loss.
    pub repeatable: bool,
    /// Whether the outcome may be found after the connection is lost.
    pub recoverable: bool,
    /// The number of times the call was claimed, without claims that were revoked.
    pub sendings: u8,
    /// The number of attempts of which the editor said that it did not run them.
    pub unrun: u8,
    /// Why the connection of the last attempt ended; set while the outcome of that attempt is being looked for.
    pub cut: Option<Loss>,
    /// Why the outcome of an earlier attempt cannot be known. If this is set, the call may have run.
    pub loss: Option<Loss>,
}

impl Call {
    fn verdict(error: bool) -> Verdict {
        if error { Verdict::ToolError } else { Verdict::Ok }
    }

    /// Handles the loss of the connection. If the call is recoverable, its outcome is looked for first. Any other call is given
    /// up, and is held to be sent again if it is repeatable.
    fn lose(&mut self, loss: Loss, out: &mut Reaction<Self>) -> Outcome<State> {
        if self.recoverable && loss != Loss::Shutdown {
            self.cut = Some(loss);
            out.order(Effect::Recover);
            Outcome::Transition(State::Recovering)
        } else {
            self.give_up(loss, out)
        }
    }

    /// Gives up the outcome of the last attempt. A repeatable call is held to be sent again, at most `SENDINGS_MAX` times; any
    /// other call ends with an unknown outcome.
    fn give_up(&mut self, loss: Loss, out: &mut Reaction<Self>) -> Outcome<State> {
        self.cut = None;
        self.loss = Some(loss);
        let again = self.repeatable && self.sendings - self.unrun < SENDINGS_MAX && loss != Loss::Shutdown;
        if again {
            return Outcome::Transition(State::Held);
        }
        out.order(Effect::Answer(Verdict::OutcomeUnknown(loss)));
        Outcome::Transition(State::Uncertain)
    }

    /// Holds the call again after an attempt that did not run. After `UNRUN_MAX` such attempts the call ends.
    fn spare(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        self.cut = None;
        self.unrun = self.unrun.saturating_add(1);
        if self.unrun < UNRUN_MAX {
            return Outcome::Transition(State::Held);
        }
        let (verdict, end) = self.unless_lost(Verdict::NotExecuted(Cause::Reloading));
        out.order(Effect::Answer(verdict));
        Outcome::Transition(end)
    }

    /// Returns how a call ends whose last attempt did not run. The verdict is this one, unless an earlier attempt may
    /// have run.
    fn unless_lost(&self, verdict: Verdict) -> (Verdict, State) {
        match self.loss {
            Some(loss) => (Verdict::OutcomeUnknown(loss), State::Uncertain),
            None => (verdict, State::Answered),
        }
    }

    /// Returns why the call's connection was lost; `Loss::Disconnect` if no reason is known.
    pub fn known_loss(&self) -> Loss {
        self.cut.or(self.loss).unwrap_or(Loss::Disconnect)
    }
}

impl Machine for Call {
    const NAME: &'static str = "call";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Accepted
    }

    fn group(state: State) -> Option<Group> {
        Some(match state {
            State::Accepted | State::Held => Group::Waiting,
            State::Sent | State::Recovering | State::Abandoned => Group::Flying,
            State::Answered | State::Uncertain | State::Cancelled => Group::Done,
        })
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (state, *event) {
            (State::Accepted, Event::Queued) => Outcome::Transition(State::Held),
            (State::Accepted, Event::EpochClosed(_)) => out.ignore("it was not claimed for any connection"),
            (State::Accepted, Event::PatienceEnded) => {
                out.ignore("it is decided within the same step that accepted it")
            }

            (State::Held, Event::Claimed { recoverable, repeatable }) => {
                self.recoverable = recoverable;
                self.repeatable = repeatable;
                self.sendings = self.sendings.saturating_add(1);
                Outcome::Transition(State::Sent)
            }
            (State::Held, Event::EpochClosed(_)) => out.ignore("it was not claimed for that connection"),
            (State::Held, Event::PatienceEnded) => out.ignore("the end of holding answers it"),

            (State::Sent, Event::ReplyArrived { error }) => {
                out.order(Effect::Answer(Self::verdict(error)));
                Outcome::Transition(State::Answered)
            }
            // It proved that nothing ran, and will run the call when what keeps it is over. How long the call is held bounds it.
            (State::Sent, Event::TurnedAway(Cause::Blocked)) => {
                self.unrun = self.unrun.saturating_add(1);
                Outcome::Transition(State::Held)
            }
            // Most likely this is the same editor after a reload, and the files that were read are from before the reload. The
            // next survey finds that editor.
            (State::Sent, Event::TurnedAway(_)) if self.sendings < SENDINGS_MAX => Outcome::Transition(State::Held),
            (State::Sent, Event::NotRunProven) => self.spare(out),
            (State::Sent, Event::TurnedAway(cause)) => {
                let (verdict, end) = self.unless_lost(Verdict::NotExecuted(cause));
                out.order(Effect::Answer(verdict));
                Outcome::Transition(end)
            }
            (State::Sent | State::Abandoned, Event::Submitted) => {
                self.recoverable = true;
                Outcome::Handled
            }
            (State::Sent, Event::ReplyWithheld) => {
                self.cut = Some(Loss::Reload);
                out.order(Effect::Recover);
                Outcome::Transition(State::Recovering)
            }
            (State::Sent, Event::ClaimRevoked) => {
                self.sendings = self.sendings.saturating_sub(1);
                Outcome::Transition(State::Held)
            }
            (State::Sent, Event::EpochClosed(loss)) => self.lose(loss, out),
            (State::Sent, Event::PatienceEnded) => {
                out.order(Effect::Answer(Verdict::StillRunning));
                Outcome::Transition(State::Abandoned)
            }
            (State::Sent, Event::HoldEnded(_)) => {
                out.ignore("it is no longer held: its patience is a timer of its own")
            }

            (State::Recovering, Event::OutcomeLearned { error }) => {
                out.order(Effect::Answer(Self::verdict(error)));
                Outcome::Transition(State::Answered)
            }
            (State::Recovering, Event::OutcomeLost) => self.give_up(self.known_loss(), out),
            (State::Recovering, Event::FoundInterrupted) => self.give_up(Loss::Interrupted, out),
            (State::Recovering, Event::NotRunProven) => self.spare(out),
            (State::Recovering, Event::PatienceEnded) => {
                out.order(Effect::Answer(Verdict::StillRunning));
                Outcome::Transition(State::Abandoned)
            }
            (State::Recovering, Event::EpochClosed(loss)) => {
                if loss == Loss::Shutdown {
                    out.order(Effect::Answer(Verdict::OutcomeUnknown(self.known_loss())));
                    Outcome::Transition(State::Uncertain)
                } else {
                    out.ignore("it is no longer bound to a connection")
                }
            }
            (
                State::Recovering,
                Event::ReplyArrived { .. } | Event::Submitted | Event::ReplyWithheld | Event::TurnedAway(_),
            ) => out.ignore("a frame of a closed connection proves nothing"),
            (State::Recovering, Event::HoldEnded(_)) => out.ignore("it is no longer held"),

            (State::Abandoned, Event::ReplyArrived { error } | Event::OutcomeLearned { error }) => {
                out.order(Effect::KeepLate);
                out.order(Effect::Note(Self::verdict(error)));
                Outcome::Transition(State::Answered)
            }
            (State::Abandoned, Event::EpochClosed(loss)) => {
                self.cut.get_or_insert(loss);
                if self.recoverable && loss != Loss::Shutdown {
                    out.order(Effect::Recover);
                    Outcome::Handled
                } else {
                    out.order(Effect::Note(Verdict::OutcomeUnknown(self.known_loss())));
                    Outcome::Transition(State::Uncertain)
                }
            }
            (State::Abandoned, Event::ReplyWithheld) => {
                self.cut = Some(Loss::Reload);
                out.order(Effect::Recover);
                Outcome::Handled
            }
            (State::Abandoned, Event::OutcomeLost) => {
                out.order(Effect::Note(Verdict::OutcomeUnknown(self.known_loss())));
                Outcome::Transition(State::Uncertain)
            }
            (State::Abandoned, Event::FoundInterrupted) => {
                out.order(Effect::Note(Verdict::OutcomeUnknown(Loss::Interrupted)));
                Outcome::Transition(State::Uncertain)
            }
            // The client was told to wait for a result, so the call must not be sent again without the client's knowledge.
            (State::Abandoned, Event::NotRunProven) => {
                let (verdict, end) = self.unless_lost(Verdict::NotExecuted(Cause::Reloading));
                out.order(Effect::Note(verdict));
                Outcome::Transition(end)
            }
            (State::Abandoned, Event::TurnedAway(cause)) => {
                let (verdict, end) = self.unless_lost(Verdict::NotExecuted(cause));
                out.order(Effect::Note(verdict));
                Outcome::Transition(end)
            }
            (State::Abandoned, Event::CancelledByClient) => out.ignore("the client was already answered"),
            (State::Abandoned, Event::PatienceEnded) => out.ignore("the client was already answered"),
            (State::Abandoned, Event::HoldEnded(_)) => out.ignore("it is no longer held"),

            (State::Cancelled, Event::ReplyArrived { error } | Event::OutcomeLearned { error }) => {
                // The client gets no answer any more, but the record must show how the call ended.
                out.order(Effect::KeepLate);
                out.order(Effect::Note(Self::verdict(error)));
                Outcome::Handled
            }
            // Before, nobody knew how to name the call to the editor.
            (State::Cancelled, Event::Submitted) => {
                out.order(Effect::Withdraw);
                Outcome::Handled
            }
            _ => Outcome::Super,
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (group, *event) {
            (Group::Waiting, Event::Refused(cause) | Event::HoldEnded(cause)) => {
                // If a loss is recorded, an earlier attempt may have run.
                let (verdict, end) = self.unless_lost(Verdict::NotExecuted(cause));
                out.order(Effect::Answer(verdict));
                Outcome::Transition(end)
            }
            (Group::Waiting, Event::CancelledByClient) => {
                out.order(Effect::Note(Verdict::Cancelled));
                Outcome::Transition(State::Cancelled)
            }
            (Group::Flying, Event::CancelledByClient) => {
                out.order(Effect::Withdraw);
                out.order(Effect::Note(Verdict::Cancelled));
                Outcome::Transition(State::Cancelled)
            }
            (Group::Done, Event::CancelledByClient) => {
                out.ignore("it has ended: the client's cancel crossed its answer")
            }
            (Group::Done, Event::PatienceEnded | Event::HoldEnded(_)) => out.ignore("it has ended"),
            (Group::Done, Event::EpochClosed(_)) => out.ignore("it has ended: no connection can touch it"),
            (Group::Done, Event::OutcomeLost | Event::FoundInterrupted | Event::NotRunProven) => {
                out.ignore("it has ended without it")
            }
            (Group::Done, Event::ReplyArrived { .. } | Event::OutcomeLearned { .. }) => {
                out.ignore("it has ended: a second answer is dropped and counted by the reader")
            }
            (Group::Done, Event::TurnedAway(_)) => out.ignore("it has ended: nobody waits for it to be sent"),
            (Group::Done, Event::Submitted) => out.ignore("it has ended: nobody asks for the outcome"),
            (Group::Done, Event::ReplyWithheld) => out.ignore("it has ended: nobody waits for the outcome"),
            (Group::Done, Event::Refused(_)) => out.ignore("it has ended: nothing is left to refuse"),
            (Group::Done, Event::ClaimRevoked) => out.ignore("it has ended before the writer could say so"),
            _ => Outcome::Super,
        }
    }
}

statig_machine!(Call, State, Group);

#[cfg(test)]
impl super::tests::Charted for Call {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Queued,
            Event::Refused(Cause::TooLarge),
            Event::Claimed { recoverable: false, repeatable: false },
            Event::Claimed { recoverable: false, repeatable: true },
            Event::Claimed { recoverable: true, repeatable: false },
            Event::ClaimRevoked,
            Event::ReplyArrived { error: false },
            Event::ReplyArrived { error: true },
            Event::Submitted,
            Event::ReplyWithheld,
            Event::TurnedAway(Cause::WrongProject),
            Event::NotRunProven,
            Event::FoundInterrupted,
            Event::EpochClosed(Loss::Reload),
            Event::EpochClosed(Loss::Shutdown),
            Event::OutcomeLearned { error: false },
            Event::OutcomeLost,
            Event::HoldEnded(Cause::Reloading),
            Event::PatienceEnded,
            Event::CancelledByClient,
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests;
