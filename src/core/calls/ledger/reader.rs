//! Read access to the ledger: counts, records, late results.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::{Claim, Keep, Late, Lookup, Record, Surprises};
use crate::fsm::call::State;
use crate::limits::OPEN_CALLS_MAX_BYTES;
use crate::protocol::ids::{CallId, Epoch, SessionId};

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("open", &self.entries.len()).field("finished", &self.finished.len()).finish()
    }
}

/// For the model checker, which must tell ledgers apart: the state on which decisions about the open calls depend. A field that is
/// left out has its reason beside it.
impl Hash for Ledger {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            entries,
            // The records of ended calls decide only whether a call of an earlier gateway is known. In the model only a
            // new ledger takes such calls over, and a new ledger has no records.
            finished: _,
            open_epochs,
            // It chooses words, and when progress is reported. The model's calls have no progress.
            awaits_list: _,
            wanted,
            // Only the caller uses it, to tell others of a change.
            wanted_moved: _,
            availability,
            hindered,
            absent_since,
            // It chooses words.
            no_reload: _,
            draining,
            // Only the caller uses it, to set its timer.
            armed: _,
            // They are counts for metrics.
            surprises: _,
            recovered,
            // It decides between the calls of several sessions. The model has one.
            served: _,
            // Only the caller uses it, to tell others of a change.
            moved: _,
            // It chooses words.
            heartbeat: _,
            // It only chooses words.
            obstacle: _,
        } = self;
        (entries, open_epochs, wanted, availability, hindered, absent_since, draining, recovered).hash(hasher);
    }
}

impl Ledger {
    /// Returns the last claim of an open call, for the log and the metrics. `None` if it was never claimed.
    pub fn claim_of(&self, call: CallId) -> Option<Claim> {
        self.entry(call)?.phase().attempt()?.claim
    }

    /// Returns the counts of events that should never happen.
    pub fn surprises(&self) -> &Surprises {
        &self.surprises
    }

    /// Returns the number of held calls, and the number of sent calls that have not ended. A call whose answer is withheld counts
    /// as a sent call that has not ended.
    pub fn counts(&self) -> (usize, usize) {
        let held = self.entries.iter().filter(|entry| entry.is_held()).count();
        (held, self.entries.len() - held)
    }

    /// Returns the number of sent calls whose client still waits.
    pub fn awaited(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_awaited() && !entry.is_held()).count()
    }

    /// Returns the number of calls whose answer or late result is still to come for somebody.
    pub fn expected(&self) -> usize {
        self.entries.iter().filter(|entry| entry.state() != State::Cancelled).count()
    }

    /// Returns the number of calls whose client still waits and that were sent on this connection or are reserved for it.
    pub fn awaited_on(&self, epoch: Epoch) -> usize {
        let of_it = |entry: &&Entry| entry.reserved().or(entry.epoch()) == Some(epoch);
        self.entries.iter().filter(of_it).filter(|entry| entry.is_awaited()).count()
    }

    /// Returns the oldest call that has a place at the editor, its tool, and when it was sent. `None` if no call has a place.
    pub fn running(&self) -> Option<(CallId, Arc<str>, Instant)> {
        let entry = self.entries.with_place()?;
        Some((entry.call.id, Arc::clone(&entry.call.tool), entry.phase().attempt()?.at))
    }

    /// Returns the session whose call [`running`](Self::running) names.
    pub fn running_for(&self) -> Option<SessionId> {
        self.entries.with_place().map(|entry| entry.call.request.session)
    }

    /// Returns the number of calls that were taken over from an earlier gateway.
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Returns the records of all calls: first the open calls and then the finished ones, each newest first. Finished records are
    /// borrowed.
    pub fn records(&self) -> impl Iterator<Item = Cow<'_, Record>> {
        self.open_records().map(Cow::Owned).chain(self.finished.newest_first().map(Cow::Borrowed))
    }

    /// Returns the open calls, newest first.
    pub fn open_records(&self) -> impl Iterator<Item = Record> + '_ {
        self.entries.iter().rev().filter(|entry| entry.is_awaited()).map(|entry| self.open_record(entry))
    }

    /// Returns the finished calls, newest first.
    pub fn finished_records(&self) -> impl Iterator<Item = &Record> {
        self.finished.newest_first()
    }

    /// Returns a call's record; `None` if the call is unknown or its record was dropped.
    pub fn record(&self, call: CallId) -> Option<Cow<'_, Record>> {
        let open = self.entry(call).filter(|entry| entry.is_awaited());
        let open = open.map(|entry| Cow::Owned(self.open_record(entry)));
        open.or_else(|| self.finished.get(call).map(Cow::Borrowed))
    }

    fn open_record(&self, entry: &Entry) -> Record {
        let waits_for = entry.is_held().then(|| self.hold_cause(entry));
        Record { waits_for, ..entry.record() }
    }

    /// Returns what is known about a call's result.
    pub fn look_up(&mut self, call: CallId, now: Instant) -> Lookup {
        self.finished.expire(now);
        let flying = |entry: &&Entry| {
            // Unity may still answer a cancelled call that has its place at the editor.
            let ended = matches!(entry.state(), State::Answered | State::Uncertain | State::Cancelled);
            !(ended && entry.epoch().is_none())
        };
        if let Some(entry) = self.entry(call).filter(flying) {
            return Lookup::Open(entry.record());
        }
        if let Some(record) = self.finished.get(call) {
            return match &record.late {
                Late::Kept(result, ..) => Lookup::Kept(Arc::clone(result)),
                Late::Expired => Lookup::Expired(record.clone()),
                Late::Rendering => Lookup::Open(record.clone()),
                Late::None => Lookup::Ended(record.clone()),
            };
        }
        Lookup::Unknown
    }

    /// Whether a call with this many bytes of arguments may be added to the open calls ([`OPEN_CALLS_MAX_BYTES`]).
    pub fn takes(&self, bytes: usize) -> bool {
        self.entries.bytes() + bytes <= OPEN_CALLS_MAX_BYTES
    }

    /// Notes that the result of a call that has ended is about to be kept.
    pub fn will_be_kept(&mut self, call: CallId) {
        self.finished.will_be_kept(call);
    }

    /// Keeps a result, within the bounds of number, bytes and age.
    pub fn keep(&mut self, call: CallId, result: Arc<str>, why: Keep, now: Instant) {
        self.finished.keep(call, result, why, now);
    }
}
