//! What the next owner of records does with what was left in them. Only values: files, locks and the ledger are the caller's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{Known, Left, SentCall, verdict_of};
use crate::fsm::call::Verdict;
use crate::limits::hub::{CALL_RECORD_MAX_AGE, CALL_RECORDS_READ_MAX_BYTES, LEFT_CALLS_MAX_AGE};
use crate::protocol::ids::CallId;

/// The fate of a set of records that another process wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetFate {
    /// Its process lives, or may live: the set belongs to that process.
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
    /// Whether the set is known to be a copy. This is known only once the set was read.
    pub is_copy: bool,
}

/// Decides the fate of a set of records that another process wrote.
pub fn fate_of_set(facts: SetFacts) -> SetFate {
    match facts {
        SetFacts { is_free: false, .. } => SetFate::Lives,
        SetFacts { age, bytes, .. } if age > LEFT_CALLS_MAX_AGE || bytes > CALL_RECORDS_READ_MAX_BYTES as u64 => {
            SetFate::Removed
        }
        // The folder was restored or copied. The process that wrote the records has another file, and may live.
        SetFacts { is_copy: true, .. } => SetFate::Stays,
        SetFacts { .. } => SetFate::TakenOver,
    }
}

/// What is known of the session that made a request, as its lock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asker {
    /// Its process lives. It brings the request to the next hub, and asks there for the late results that it was
    /// promised.
    Lives,
    /// Its process was killed.
    Killed,
    /// It has no lock: it ended as sessions do, it is one of an older version, or somebody removed its files.
    Unknown,
}

/// What the new owner of a set of records does with a call in it, before any client comes.
#[derive(Debug, Clone)]
pub enum Takeover {
    /// The call has ended with this verdict. Its result is kept for a client that asks for it by the call's id.
    Keep(SentCall, Arc<RawValue>, Verdict),
    /// The call may have run, or may still run: its outcome is looked for, or is unknown.
    Seek(SentCall),
}

impl Left {
    /// Whether a gateway that serves this client and project takes the call over. `client`: `None` if it serves all
    /// clients. Calls of other clients are left alone: their own next gateway tells them, and only they know the ids.
    pub fn is_for(&self, project: &Path, client: Option<&str>) -> bool {
        self.sent.project.as_deref() == Some(project) && client.is_none_or(|client| self.sent.client.0 == client)
    }

    /// Whether a gateway that is no hub takes the call out of the records of a hub that has ended. If the session may
    /// live, the call stays there. Without the record the next hub would take the session's request for a new one, and
    /// send the call again.
    pub fn is_left_behind(&self, asker: Asker) -> bool {
        match asker {
            Asker::Lives => false,
            Asker::Killed => true,
            // The client has its answer ("still running"), so nobody brings the request again.
            Asker::Unknown => self.delivered,
        }
    }

    /// Whether the client's next gateway must tell it of the call. That is so if the client has no answer, not even
    /// "still running", and its session brings the request to no gateway.
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

/// The fate of a request that an earlier gateway had.
#[derive(Debug, Clone)]
pub enum Fate {
    /// No byte of a call for the request was written, so it is handled like a new request. At the end of a session it
    /// is not sent.
    New,
    /// Its call may have run, and may be sent again. If it is not sent again, its outcome is unknown.
    Again,
    /// It is answered with this result.
    Answered(Arc<RawValue>),
    /// The call may have run. If the ledger has the call open, the request is answered once the outcome is known. If
    /// not, the fate is asked for again, with [`Adopter::Lacks`]. Without a ledger, the outcome is unknown.
    Adopt {
        sent: SentCall,
        /// Whether the call is first added to the ledger, so that the editor's journal is asked for it.
        seek: bool,
    },
    /// Its call may have run, and its outcome is unknown. `None`: the call is not known.
    Unknown(Option<CallId>),
}

/// The ledger of the gateway that the request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopter {
    /// The gateway took the records over: its ledger has the calls that were open in them.
    Owner,
    /// The gateway reads the records of another one, and took nothing over.
    Reader,
    /// The ledger was asked for this call of the request, and does not have it open.
    Lacks(CallId),
}

/// What is known when a session brings a request.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What is on record of the request.
    pub known: Option<Known>,
    /// Whether the session sent the request to the earlier gateway.
    pub was_sent: bool,
    /// Whether the records with the request are lost: there are no records, or they have another name.
    pub are_lost: bool,
    /// Whether a call that is not on record may have been sent all the same: a line could not be read, or records were not whole.
    pub is_damaged: bool,
    /// How long the client has waited for the answer.
    pub waited: Duration,
    /// Whether nothing is sent any more, because the session ends.
    pub is_ending: bool,
    pub adopter: Adopter,
}

/// Decides the fate of a request that an earlier gateway had.
pub fn fate(facts: Facts) -> Fate {
    let Facts { known, was_sent, are_lost, is_damaged, waited, is_ending, adopter } = facts;
    match (known, adopter) {
        // The record was deleted since the ledger was asked.
        (None, Adopter::Lacks(call)) => Fate::Unknown(Some(call)),
        (None, _) if !was_sent => Fate::New,
        // After that time the record may have been deleted with its answer. A request is so old only if the process of
        // its session was stopped for a while.
        (None, _) if are_lost || is_damaged || waited >= CALL_RECORD_MAX_AGE => Fate::Unknown(None),
        (None, _) => Fate::New,
        (Some(Known::Answered(result)), _) => Fate::Answered(result),
        // At the end of a session a new request is refused with the words that no call was sent for it. Here a call was
        // sent.
        (Some(Known::Repeatable(result)), _) if is_ending => Fate::Answered(result),
        (Some(Known::Repeatable(_)), _) => Fate::Again,
        (Some(Known::Sent(sent)), Adopter::Owner) => Fate::Adopt { sent, seek: false },
        (Some(Known::Sent(sent)), Adopter::Reader) => Fate::Adopt { seek: sent.journal.is_some(), sent },
        (Some(Known::Sent(sent)), Adopter::Lacks(_)) if sent.repeatable && !is_ending => Fate::Again,
        (Some(Known::Sent(sent)), Adopter::Lacks(_)) => Fate::Unknown(Some(sent.call)),
    }
}
