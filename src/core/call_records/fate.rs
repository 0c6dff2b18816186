//! What the next owner of records does with what was left in them. Only values: files, locks and the ledger are the caller's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{Known, Left, SentCall, verdict_of};
use crate::fsm::call::Verdict;
use crate::limits::hub::{CALL_RECORD_MAX_AGE, CALL_RECORDS_READ_MAX_BYTES, LEFT_CALLS_MAX_AGE};
use crate::protocol::ids::CallId;

/// What becomes of a set of records that another process wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetFate {
    /// Its process lives, or that cannot be decided: the set is that process's.
    Lives,
    /// It is of no use any more, and is removed.
    Removed,
    /// It stays, and nothing is taken from it.
    Stays,
    /// What is wanted is taken from it.
    TakenOver,
}

/// What is seen of a set of records that another process wrote.
#[derive(Debug, Clone, Copy)]
pub struct SetFacts {
    /// Whether its lock could be taken.
    pub is_free: bool,
    /// How long ago it was written last.
    pub age: Duration,
    pub bytes: u64,
    /// Whether it is known to be a copy. Without having read it, that is not known.
    pub is_copy: bool,
}

/// Decides what becomes of a set of records that another process wrote.
pub fn fate_of_set(facts: SetFacts) -> SetFate {
    match facts {
        SetFacts { is_free: false, .. } => SetFate::Lives,
        SetFacts { age, bytes, .. } if age > LEFT_CALLS_MAX_AGE || bytes > CALL_RECORDS_READ_MAX_BYTES as u64 => {
            SetFate::Removed
        }
        // Of a restored or copied folder. The process that wrote the records has another file, and may live.
        SetFacts { is_copy: true, .. } => SetFate::Stays,
        SetFacts { .. } => SetFate::TakenOver,
    }
}

/// What is known of the session that made a request, as its lock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// Its process lives: it brings the request to the next hub, and asks there for what it was told of.
    Lives,
    /// Its process was killed.
    Killed,
    /// It has no lock: it ended as sessions do, it is one of an older version, or somebody removed its files.
    Unknown,
}

/// What the new owner of a set of records does with a call in it, before any client comes.
#[derive(Debug, Clone)]
pub enum Takeover {
    /// It has ended, in this way: its result is kept for a client that asks for it by the call's id.
    Keep(SentCall, Arc<RawValue>, Verdict),
    /// It may have run, or run on: its outcome is looked for, or is unknown.
    Seek(SentCall),
}

impl Left {
    /// Whether a gateway that serves this client and project takes the call over. `client`: `None` if it serves all clients. The
    /// clients of others are told by their own next gateway, and only they know the ids.
    pub fn is_for(&self, project: &Path, client: Option<&str>) -> bool {
        self.sent.project.as_deref() == Some(project) && client.is_none_or(|client| self.sent.client.0 == client)
    }

    /// Whether a gateway that is no hub takes the call from the records of a hub that has ended. A session that may live must find it
    /// there: without a record, the next hub takes its request for a new one, and sends the call again.
    pub fn is_left_behind(&self, asker: Asker) -> bool {
        match asker {
            Asker::Lives => false,
            Asker::Killed => true,
            // Nobody brings the request of a call that was told to be running.
            Asker::Unknown => self.delivered,
        }
    }

    /// Whether the client is told of the call by its next gateway: it has no answer, not even that the call still runs, and its session
    /// brings the request to nobody.
    pub fn is_to_be_told(&self, asker: Asker) -> bool {
        !self.delivered && asker == Asker::Killed
    }

    /// Decides what the new owner does with this call.
    pub fn takeover(self) -> Takeover {
        let Some(result) = self.result else { return Takeover::Seek(self.sent) };
        let verdict = verdict_of(&result, self.unknown);
        Takeover::Keep(self.sent, result, verdict)
    }
}

/// What becomes of a request that an earlier gateway had.
#[derive(Debug, Clone)]
pub enum Fate {
    /// No byte of a call for it was written: it is handled like a new request. At the end that means that it is not sent.
    New,
    /// Its call may have run, and may be sent again. If it is not sent again, its outcome is unknown.
    Again,
    /// It is answered with this result.
    Answered(Arc<RawValue>),
    /// Its call may have run. If the ledger has it open, the request is answered once its outcome is known. If not, the fate is
    /// asked for again, with [`Adopter::Lacks`]. Without a ledger, the outcome is unknown.
    Adopt {
        sent: SentCall,
        /// Whether it is first added to the ledger, to be looked for in the editor's journal.
        seek: bool,
    },
    /// Its call may have run, and its outcome is unknown. `None`: the call is not known.
    Unknown(Option<CallId>),
}

/// The ledger of the gateway that the request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopter {
    /// Its gateway took the records over: it has what was open in them.
    Owner,
    /// Its gateway reads the records of another one, and has taken over nothing.
    Reader,
    /// It was asked for this call of the request, and does not have it open.
    Lacks(CallId),
}

/// What is known when a session brings a request.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What is on record of the request.
    pub known: Option<Known>,
    /// Whether the session sent it to the gateway that had it.
    pub was_sent: bool,
    /// Whether the records in which the request was are lost: there are none, or they are others.
    pub are_lost: bool,
    /// Whether a call that is not on record may have been sent all the same: a line could not be read, or records were not whole.
    pub is_damaged: bool,
    /// How long the client has waited for the answer.
    pub waited: Duration,
    /// Whether nothing is sent any more, because the session ends.
    pub is_ending: bool,
    /// The ledger.
    pub adopter: Adopter,
}

/// Decides what becomes of a request that an earlier gateway had.
pub fn fate(facts: Facts) -> Fate {
    let Facts { known, was_sent, are_lost, is_damaged, waited, is_ending, adopter } = facts;
    match (known, adopter) {
        // The record was deleted since the ledger was asked.
        (None, Adopter::Lacks(call)) => Fate::Unknown(Some(call)),
        (None, _) if !was_sent => Fate::New,
        // After that time its answer may have been deleted: the process of its session stood still.
        (None, _) if are_lost || is_damaged || waited >= CALL_RECORD_MAX_AGE => Fate::Unknown(None),
        (None, _) => Fate::New,
        (Some(Known::Answered(result)), _) => Fate::Answered(result),
        // At the end the request would be refused, which says that no call for it was sent.
        (Some(Known::Repeatable(result)), _) if is_ending => Fate::Answered(result),
        (Some(Known::Repeatable(_)), _) => Fate::Again,
        (Some(Known::Sent(sent)), Adopter::Owner) => Fate::Adopt { sent, seek: false },
        (Some(Known::Sent(sent)), Adopter::Reader) => Fate::Adopt { seek: sent.journal.is_some(), sent },
        (Some(Known::Sent(sent)), Adopter::Lacks(_)) if sent.repeatable && !is_ending => Fate::Again,
        (Some(Known::Sent(sent)), Adopter::Lacks(_)) => Fate::Unknown(Some(sent.call)),
    }
}
