//! The records of sent calls, from which a hub learns what its killed predecessor had sent: "record first, bytes second".
//!
//! A call is recorded as *sent* before its first byte leaves, and as *answered*, with the answer, before the answer is
//! written. Once the client has the answer, the record is deleted. If a call is recorded as sent and not as answered
//! when a gateway starts, it may have run. Its outcome is looked for in the editor's journal, or is unknown. The call
//! is never sent again.
//!
//! A call whose client was told that it still runs *runs on*: its record stays until the late result is there, and the
//! result stays for a while, because the client may ask for it.
//!
//! A record has results, never arguments. What the next owner does with each is decided in [`fate::fate`] and [`Left::takeover`].

pub mod fate;
/// Returns the verdict of a call from its recorded result. `unknown`: whether the result says that the outcome is
/// unknown.
fn verdict_of(result: &RawValue, unknown: bool) -> Verdict {
    #[derive(serde::Deserialize)]
    struct Shape {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    let is_error = serde_json::from_str::<Shape>(result.get()).is_ok_and(|shape| shape.is_error);
    match (unknown, is_error) {
        (true, _) => Verdict::OutcomeUnknown(Loss::HubEnded),
        (false, true) => Verdict::ToolError,
        (false, false) => Verdict::Ok,
    }
}

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fsm::call::Verdict;
use crate::fsm::cause::Loss;
use crate::protocol::dialect::JournalKey;
use crate::protocol::ids::CallId;

/// A request of a session, by the session's own name and the number that it gave the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The name of the session, which it keeps from hub to hub.
    pub session: Arc<str>,
    /// The number of the request in that session.
    pub number: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentCall {
    /// The request that the call answers.
    pub origin: Origin,
    pub call: CallId,
    pub tool: Arc<str>,
    pub project: Option<PathBuf>,
    /// The key of the call in the editor's journal, if the editor has one.
    pub journal: Option<JournalKey>,
    /// Whether the tool was declared read-only or idempotent.
    pub repeatable: bool,
    /// The name of the client, and the protocol version that its answers are written in.
    pub client: (String, String),
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The first line.
    Gateway {
        /// The name by which editors recognise the gateway.
        id: String,
        /// How many hubs have had this name.
        #[serde(default)]
        starts: u64,
        /// The name of the records: a new one for each process that takes them over. Of several first lines the last one holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        records: Option<String>,
        /// The names of the earlier records whose lines were taken over, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        former: Vec<String>,
        /// A number that belongs to the file: a copy of the file does not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u64>,
    },
    Sent(SentCall),
    /// The editor runs a call as a job, and can be asked for it under this key.
    Job {
        /// The call.
        call: CallId,
        /// The key.
        journal: JournalKey,
    },
    /// Nobody needs the record of a call any more: no byte of it was written, or its client wants no answer.
    Dropped {
        call: CallId,
    },
    /// A call is about to be answered. If the client was told before that the call runs on, this is the late result.
    Answered {
        call: CallId,
        /// The result in a form for all versions of MCP (`ToolResult::stored`). Older releases wrote it in the form for
        /// its client.
        result: Box<RawValue>,
        /// Whether the answer says that the call still runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        runs_on: bool,
        /// Whether the answer says that the outcome is unknown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unknown: bool,
        /// When the result came, in seconds since 1970; `None` for now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// The client of a call does not wait for an answer to its request any more, but may ask for the result by the call's id.
    Told {
        call: CallId,
    },
    /// The client has the answer to a request.
    Delivered(Origin),
}

#[derive(Debug, Clone)]
pub enum Known {
    /// Its call was sent, and has not been answered.
    Sent(SentCall),
    /// Its call was answered with this result.
    Answered(Arc<RawValue>),
    /// The outcome of its call is unknown, as this result says. The call may be sent again.
    Repeatable(Arc<RawValue>),
}

/// What is kept of a call for a gateway that comes after the one that sent it.
#[derive(Debug, Clone)]
pub struct Left {
    pub sent: SentCall,
    /// Whether the client was told that the call still runs, or is about to be told. Then it does not wait for an
    /// answer.
    pub told: bool,
    /// Whether its client has the answer to its request.
    pub delivered: bool,
    pub result: Option<Arc<RawValue>>,
    /// Whether the result says that the outcome is unknown.
    pub unknown: bool,
    /// When the result came, in seconds since 1970.
    pub at: u64,
}

impl Left {
    /// Returns the lines that say the same in the records of a later gateway. `fits`: whether those records have room
    /// for the result. Without its result the call counts as open, and its outcome is looked for again.
    pub fn lines(&self, fits: bool) -> impl Iterator<Item = Record> + '_ {
        let call = self.sent.call;
        let told = self.told.then_some(Record::Told { call });
        let delivered = self.delivered.then(|| Record::Delivered(self.sent.origin.clone()));
        let answered = self.result.as_deref().filter(|_| fits).map(|result| Record::Answered {
            call,
            result: RawValue::to_owned(result),
            runs_on: false,
            unknown: self.unknown,
            at: Some(self.at),
        });
        [Some(Record::Sent(self.sent.clone())), told, answered, delivered].into_iter().flatten()
    }
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It was sent, and may have run.
    Sent,
    /// Its client was told that it still runs, or is about to be told.
    RunsOn,
    /// It has ended, and its client was told so, or is about to be told.
    Answered,
    /// It has ended after its client was told that it still runs.
    Late,
}

#[derive(Debug, Clone)]
struct Kept {
    sent: SentCall,
    stage: Stage,
    /// What its client is told: first the answer to its request, later the late result.
    result: Option<Arc<RawValue>>,
    /// Whether the result says that the outcome is unknown.
    unknown: bool,
    /// Whether the client has the answer to its request.
    delivered: bool,
    /// When the record was made, as [`CallRecords::apply`] was told.
    at: u64,
    /// For how many seconds the result has waited for its client.
    waited: u64,
}

/// All records that are not deleted.
#[derive(Debug, Clone, Default)]
pub struct CallRecords {
    calls: BTreeMap<CallId, Kept>,
    by_origin: BTreeMap<Origin, CallId>,
    /// The bytes of the kept results.
    bytes: usize,
}

impl CallRecords {
    /// Applies a line. `now`: the time, in seconds since 1970.
    pub fn apply(&mut self, record: Record, now: u64) {
        match record {
            Record::Gateway { .. } => {}
            Record::Sent(sent) => {
                // A call that is sent again keeps its id. A request that got another call has only the last one.
                if let Some(former) = self.by_origin.insert(sent.origin.clone(), sent.call)
                    && former != sent.call
                {
                    self.calls.remove(&former).into_iter().for_each(|kept| self.bytes -= kept.bytes());
                }
                let kept = Kept {
                    sent,
                    stage: Stage::Sent,
                    result: None,
                    unknown: false,
                    delivered: false,
                    at: now,
                    waited: 0,
                };
                let before = self.calls.insert(kept.sent.call, kept);
                self.bytes -= before.map_or(0, |kept| kept.bytes());
            }
            Record::Job { call, journal } => {
                if let Some(kept) = self.calls.get_mut(&call) {
                    kept.sent.journal = Some(journal);
                }
            }
            Record::Dropped { call } => self.remove(call),
            Record::Answered { call, result, runs_on, unknown, at } => {
                if let Some(kept) = self.calls.get_mut(&call) {
                    self.bytes -= kept.bytes();
                    kept.stage = match (runs_on, kept.stage) {
                        (true, _) => Stage::RunsOn,
                        (false, Stage::RunsOn | Stage::Late) => Stage::Late,
                        (false, Stage::Sent | Stage::Answered) => Stage::Answered,
                    };
                    // A time in the future comes from a clock that was wrong.
                    (kept.result, kept.unknown, kept.at) = (Some(result.into()), unknown, at.unwrap_or(now).min(now));
                    self.bytes += kept.bytes();
                }
            }
            Record::Told { call } => {
                if let Some(kept) = self.calls.get_mut(&call) {
                    kept.stage = if kept.is_open() { Stage::RunsOn } else { Stage::Late };
                }
            }
            Record::Delivered(origin) => {
                if let Some(call) = self.by_origin.remove(&origin)
                    && let Some(kept) = self.calls.get_mut(&call)
                {
                    kept.delivered = true;
                    if matches!(kept.stage, Stage::Sent | Stage::Answered) {
                        self.remove(call);
                    }
                }
            }
        }
    }

    fn remove(&mut self, call: CallId) {
        if let Some(kept) = self.calls.remove(&call) {
            self.bytes -= kept.bytes();
            if !kept.delivered {
                self.by_origin.remove(&kept.sent.origin);
            }
        }
    }

    /// Returns how the call of a request ended, or that it still runs, if its client is told so.
    pub fn verdict(&self, origin: &Origin) -> Option<Verdict> {
        let kept = self.calls.get(self.by_origin.get(origin)?)?;
        let result = kept.result.as_ref()?;
        Some(if kept.stage == Stage::RunsOn { Verdict::StillRunning } else { verdict_of(result, kept.unknown) })
    }

    /// Returns what is known of a request; `None` if no byte of a call for it was written.
    pub fn known(&self, origin: &Origin) -> Option<Known> {
        let kept = self.calls.get(self.by_origin.get(origin)?)?;
        Some(match &kept.result {
            Some(result) if kept.unknown && kept.sent.repeatable => Known::Repeatable(Arc::clone(result)),
            Some(result) => Known::Answered(Arc::clone(result)),
            None => Known::Sent(kept.sent.clone()),
        })
    }

    /// Whether anything is kept of this call.
    pub fn has(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
    }

    /// Whether this call was recorded as sent, and has neither ended nor been deleted.
    pub fn is_sent(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(Kept::is_open)
    }

    /// Returns the result of a call that has ended, as long as it is kept.
    pub fn result(&self, call: CallId) -> Option<Arc<RawValue>> {
        self.calls.get(&call).filter(|kept| !kept.is_open())?.result.clone()
    }

    /// Returns the request of this call if its client may still wait for the answer, as far as the records know.
    pub fn untold(&self, call: CallId) -> Option<Origin> {
        self.calls.get(&call).filter(|kept| !kept.delivered).map(|kept| kept.sent.origin.clone())
    }

    /// Returns all that is kept, for a gateway that comes after this one.
    pub fn left(&self) -> Vec<Left> {
        let left = |kept: &Kept| Left {
            sent: kept.sent.clone(),
            told: kept.is_told(),
            delivered: kept.delivered,
            result: kept.result.clone().filter(|_| !kept.is_open()),
            unknown: kept.unknown,
            at: kept.at,
        };
        self.calls.values().map(left).collect()
    }

    /// Deletes late results that came before `late`. Deletes also the results of ended sessions that have waited `most`
    /// seconds for their clients to bring the requests. `passed`: the seconds since the last time. The seconds are
    /// counted, and not taken from a clock: a clock that is set, or a machine that slept, must not delete a record that
    /// a session is about to ask for. Returns whether any was deleted.
    pub fn expire(&mut self, late: u64, passed: u64, most: u64) -> bool {
        let before = self.calls.len();
        let mut old = Vec::new();
        for (call, kept) in self.calls.iter_mut().filter(|(_, kept)| !kept.is_open()) {
            kept.waited += passed;
            let is_old = if kept.delivered { kept.at < late } else { kept.waited >= most };
            if is_old {
                old.push(*call);
            }
        }
        old.into_iter().for_each(|call| self.remove(call));
        self.calls.len() < before
    }

    /// Deletes the oldest late results until the results have at most `most` bytes, or none is left whose client has the answer to
    /// its request. A client without that answer may still bring the request, and without the record its call would be sent again.
    pub fn make_room(&mut self, most: usize) {
        while self.bytes > most {
            let late = self.calls.iter().filter(|(_, kept)| kept.stage == Stage::Late && kept.delivered);
            let Some(oldest) = late.min_by_key(|(_, kept)| kept.at).map(|(call, _)| *call) else { return };
            self.remove(oldest);
        }
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the bytes of the kept results.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the lines that say all that is kept.
    pub fn lines(&self) -> impl Iterator<Item = Record> + '_ {
        self.calls.values().flat_map(|kept| {
            let answered = |result: &RawValue, runs_on| Record::Answered {
                call: kept.sent.call,
                result: RawValue::to_owned(result),
                runs_on,
                unknown: kept.unknown,
                at: Some(kept.at),
            };
            [
                Some(Record::Sent(kept.sent.clone())),
                kept.is_told().then_some(Record::Told { call: kept.sent.call }),
                kept.result.as_deref().map(|result| answered(result, kept.stage == Stage::RunsOn)),
                kept.delivered.then(|| Record::Delivered(kept.sent.origin.clone())),
            ]
            .into_iter()
            .flatten()
        })
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        self.result.as_ref().map_or(0, |result| result.get().len())
    }

    fn is_told(&self) -> bool {
        matches!(self.stage, Stage::RunsOn | Stage::Late)
    }

    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Sent | Stage::RunsOn)
    }
}
