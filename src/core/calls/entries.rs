//! The open calls in the order of their arrival, with indexes by id, by request and by deadline, and an index of the calls that
//! may be sent.
//!
//! An entry can only be changed through [`EntryMut`] or [`Entries::change_all`].
//! Both update the indexes, so no operation can forget to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::{Deref, DerefMut};

use tokio::time::Instant;

use super::entry::Entry;
use super::phase::Phase;
use crate::protocol::ids::{CallId, RequestKey, SessionId};

/// The number of an entry in the order of arrival. No number is used twice.
type EntryNumber = u64;

/// The values of an entry that the indexes contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Keys {
    /// The request whose client still waits for the answer.
    owed: Option<RequestKey>,
    /// Bytes of the arguments; 0 once the call has its verdict.
    bytes: usize,
    deadline: Option<Instant>,
    /// Set if the call may be reserved: whether it may run in parallel with others, and the session whose turn it takes.
    free: Option<(bool, SessionId)>,
    has_place: bool,
    /// Whether this entry keeps a non-parallel call from being sent.
    excludes: bool,
    /// Whether the entry can be removed.
    over: bool,
}

impl Keys {
    fn of(entry: &Entry, absent_since: Option<Instant>) -> Self {
        let call = &entry.call;
        let (is_free, excludes) = match entry.phase() {
            Phase::Held { reserved: None, rests, .. } => (!call.unknown_arguments && rests.is_none(), false),
            Phase::Held { .. } | Phase::Sent { .. } => (false, !call.parallel),
            Phase::Withheld { .. } => (false, true),
            Phase::Sought { .. } | Phase::Over(_) => (false, false),
        };
        Self {
            owed: entry.is_awaited().then_some(call.request),
            // A call that has its verdict has dropped its arguments.
            bytes: if entry.is_awaited() { call.arguments.get().len() } else { 0 },
            deadline: entry.deadline(absent_since),
            free: is_free.then_some((call.parallel, call.request.session.turn())),
            has_place: entry.has_place(),
            excludes,
            over: matches!(entry.phase(), Phase::Over(_)),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Index {
    by_id: BTreeMap<CallId, EntryNumber>,
    by_request: BTreeMap<RequestKey, EntryNumber>,
    deadlines: BTreeSet<(Instant, EntryNumber)>,
    /// Held non-parallel calls that are not reserved, by session; `free_parallel` has the parallel ones.
    free_alone: BTreeSet<(SessionId, EntryNumber)>,
    free_parallel: BTreeSet<(SessionId, EntryNumber)>,
    with_place: BTreeSet<EntryNumber>,
    over: BTreeSet<EntryNumber>,
    /// The number of entries that keep non-parallel calls from being sent.
    excluding: usize,
    bytes: usize,
}

impl Index {
    fn replace(&mut self, number: EntryNumber, old: Keys, new: Keys) {
        if old.owed != new.owed {
            if let Some(request) = old.owed {
                self.by_request.remove(&request);
            }
            if let Some(request) = new.owed {
                self.by_request.insert(request, number);
            }
        }
        if old.deadline != new.deadline {
            if let Some(deadline) = old.deadline {
                self.deadlines.remove(&(deadline, number));
            }
            if let Some(deadline) = new.deadline {
                self.deadlines.insert((deadline, number));
            }
        }
        if old.free != new.free {
            if let Some((parallel, session)) = old.free {
                self.free(parallel).remove(&(session, number));
            }
            if let Some((parallel, session)) = new.free {
                self.free(parallel).insert((session, number));
            }
        }
        mark(&mut self.with_place, number, old.has_place, new.has_place);
        mark(&mut self.over, number, old.over, new.over);
        self.excluding = self.excluding + usize::from(new.excludes) - usize::from(old.excludes);
        self.bytes = self.bytes + new.bytes - old.bytes;
    }

    fn free(&mut self, parallel: bool) -> &mut BTreeSet<(SessionId, EntryNumber)> {
        if parallel { &mut self.free_parallel } else { &mut self.free_alone }
    }
}

fn mark(numbers: &mut BTreeSet<EntryNumber>, number: EntryNumber, was: bool, is: bool) {
    if is && !was {
        numbers.insert(number);
    } else if was && !is {
        numbers.remove(&number);
    }
}

#[derive(Clone)]
struct Slot {
    number: EntryNumber,
    entry: Entry,
    /// The entry's values in the indexes.
    keys: Keys,
}

/// The open calls of a ledger; see the module's documentation. A position is valid until an entry is removed.
#[derive(Clone, Default)]
pub(super) struct Entries {
    slots: VecDeque<Slot>,
    next: EntryNumber,
    index: Index,
    /// Since when there has been no sign that the editor comes back. `None`: calls are held for their full time.
    absent_since: Option<Instant>,
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Entries {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // Only the order of the entries counts, not their numbers. The indexes follow from the entries.
        let Self { slots, next: _, index: _, absent_since } = self;
        (slots.len(), absent_since).hash(hasher);
        for Slot { number: _, entry, keys: _ } in slots {
            entry.hash(hasher);
        }
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the entries, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.slots.iter().map(|slot| &slot.entry)
    }

    pub(super) fn get(&self, position: usize) -> Option<&Entry> {
        self.slots.get(position).map(|slot| &slot.entry)
    }

    pub(super) fn get_mut(&mut self, position: usize) -> Option<EntryMut<'_>> {
        let slot = self.slots.get_mut(position)?;
        Some(EntryMut { slot, index: &mut self.index, absent_since: self.absent_since })
    }

    pub(super) fn change_all(&mut self, mut change: impl FnMut(&mut Entry)) {
        for slot in &mut self.slots {
            change(&mut EntryMut { slot, index: &mut self.index, absent_since: self.absent_since });
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let number = self.next;
        self.next += 1;
        let keys = Keys::of(&entry, self.absent_since);
        self.index.by_id.insert(entry.call.id, number);
        self.index.replace(number, Keys::default(), keys);
        self.slots.push_back(Slot { number, entry, keys });
    }

    pub(super) fn remove(&mut self, position: usize) {
        if let Some(Slot { number, entry, keys }) = self.slots.remove(position) {
            self.index.by_id.remove(&entry.call.id);
            self.index.replace(number, keys, Keys::default());
        }
    }

    /// Removes the entries whose calls have ended and have no place at the editor.
    pub(super) fn remove_ended(&mut self) {
        while let Some(position) = self.index.over.first().and_then(|number| self.position_of(*number)) {
            self.remove(position);
        }
    }

    /// Sets since when the editor is absent, which shortens how long calls are held. `None`: calls are held for their full time.
    pub(super) fn set_absence(&mut self, absent_since: Option<Instant>) {
        if self.absent_since != absent_since {
            self.absent_since = absent_since;
            self.change_all(|_| ());
        }
    }

    pub(super) fn absent_since(&self) -> Option<Instant> {
        self.absent_since
    }

    // ---- what the indexes tell ----

    pub(super) fn position(&self, call: CallId) -> Option<usize> {
        self.position_of(*self.index.by_id.get(&call)?)
    }

    /// Returns the position of the call whose client waits for the answer to this request.
    pub(super) fn position_of_request(&self, request: RequestKey) -> Option<usize> {
        self.position_of(*self.index.by_request.get(&request)?)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.index.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the positions of the entries whose deadline has passed, oldest first.
    pub(super) fn due(&self, now: Instant) -> Vec<usize> {
        let due = self.index.deadlines.range(..=(now, EntryNumber::MAX));
        let mut positions: Vec<usize> = due.filter_map(|(_, number)| self.position_of(*number)).collect();
        positions.sort_unstable();
        positions
    }

    /// Returns the next call to send, `None` if there is none: the oldest unreserved held call of the session whose turn it is,
    /// which is the next session after `served` that has one. Non-parallel calls are sent one after another, so it is certain
    /// that a waiting one has not run.
    pub(super) fn next_to_send(&self, served: Option<SessionId>) -> Option<usize> {
        let is_over = |session: SessionId| served.is_some_and(|served| session <= served);
        let first = |free: &BTreeSet<(SessionId, EntryNumber)>| {
            let behind = served.and_then(|served| free.range((Excluded((served, EntryNumber::MAX)), Unbounded)).next());
            behind.or_else(|| free.first()).copied()
        };
        let alone = first(&self.index.free_alone).filter(|_| self.index.excluding == 0);
        let both = alone.into_iter().chain(first(&self.index.free_parallel));
        let (_, number) = both.min_by_key(|(session, number)| (is_over(*session), *session, *number))?;
        self.position_of(number)
    }

    /// Returns the oldest call that has a place at the editor.
    pub(super) fn with_place(&self) -> Option<&Entry> {
        self.index.with_place.first().and_then(|number| self.get(self.position_of(*number)?))
    }

    /// Returns the number of calls that have a place at the editor.
    pub(super) fn places(&self) -> usize {
        self.index.with_place.len()
    }

    /// Returns the bytes of the arguments of calls without a verdict.
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes
    }

    fn position_of(&self, number: EntryNumber) -> Option<usize> {
        self.slots.binary_search_by_key(&number, |slot| slot.number).ok()
    }

    /// Whether the indexes equal those built from all entries.
    #[cfg(test)]
    pub(super) fn agree(&self) -> bool {
        let mut scanned = Index::default();
        for Slot { number, entry, .. } in &self.slots {
            scanned.by_id.insert(entry.call.id, *number);
            scanned.replace(*number, Keys::default(), Keys::of(entry, self.absent_since));
        }
        scanned == self.index
    }
}

/// An entry that is being changed. The indexes are updated when it is dropped.
pub(super) struct EntryMut<'e> {
    slot: &'e mut Slot,
    index: &'e mut Index,
    absent_since: Option<Instant>,
}

impl Deref for EntryMut<'_> {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.slot.entry
    }
}

impl DerefMut for EntryMut<'_> {
    fn deref_mut(&mut self) -> &mut Entry {
        &mut self.slot.entry
    }
}

impl Drop for EntryMut<'_> {
    fn drop(&mut self) {
        let keys = Keys::of(&self.slot.entry, self.absent_since);
        self.index.replace(self.slot.number, self.slot.keys, keys);
        self.slot.keys = keys;
    }
}
