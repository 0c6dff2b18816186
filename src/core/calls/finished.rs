//! The records of ended calls, in a bounded number, and their late results. A record is found by its call's id in logarithmic
//! time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::types::{Keep, Late, Record};
use crate::limits::http::{WRITTEN_RESULT_MAX_AGE, WRITTEN_RESULTS_MAX_BYTES};
use crate::limits::{FINISHED_CALLS_MAX, LATE_RESULT_MAX_AGE, LATE_RESULTS_MAX_BYTES, LOG_FIELD_MAX_BYTES};
use crate::protocol::ids::CallId;

impl Keep {
    /// The bytes that may be kept for this reason, and how long each result is.
    fn bounds(self) -> (usize, Duration) {
        match self {
            Self::Owed => (LATE_RESULTS_MAX_BYTES, LATE_RESULT_MAX_AGE),
            Self::Written => (WRITTEN_RESULTS_MAX_BYTES, WRITTEN_RESULT_MAX_AGE),
        }
    }
}

/// What is kept for one reason.
#[derive(Debug, Clone, Default)]
struct Shelf {
    /// The results in the order of their arrival: the number of the record, and the time. A result whose record is gone stays in
    /// this list until it becomes the oldest.
    order: VecDeque<(u64, Instant)>,
    bytes: usize,
}

/// The records and the results that are kept. Bounds: [`FINISHED_CALLS_MAX`] records, and those of [`Keep`] for the results.
#[derive(Debug, Clone, Default)]
pub(super) struct Finished {
    /// The records in the order in which their calls ended.
    records: VecDeque<Record>,
    /// The number of each record, which counts up in the order in which the calls ended.
    numbers: BTreeMap<CallId, u64>,
    /// The number of the oldest record.
    oldest: u64,
    owed: Shelf,
    written: Shelf,
}

impl Finished {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().rev()
    }

    pub(super) fn get(&self, call: CallId) -> Option<&Record> {
        self.numbers.get(&call).and_then(|number| self.records.get(self.index(*number)?))
    }

    /// Adds a record as the newest one, or replaces the record of a call that already has one.
    pub(super) fn remember(&mut self, mut record: Record) {
        if record.tool.len() > LOG_FIELD_MAX_BYTES {
            let end = (0..=LOG_FIELD_MAX_BYTES).rev().find(|end| record.tool.is_char_boundary(*end));
            record.tool = record.tool.get(..end.unwrap_or(0)).unwrap_or_default().into();
        }
        if let Some(known) = self.number(record.id).and_then(|number| self.at(number)) {
            // The call already ended for its client, at a time that is kept. Everything else is replaced.
            record.ended = known.ended;
            if matches!(record.late, Late::None) {
                record.late = std::mem::replace(&mut known.late, Late::None);
            }
            let replaced = std::mem::replace(known, record);
            self.forget_bytes(&replaced.late);
            return;
        }
        if self.records.len() >= FINISHED_CALLS_MAX
            && let Some(gone) = self.records.pop_front()
        {
            self.numbers.remove(&gone.id);
            self.oldest += 1;
            self.forget_bytes(&gone.late);
        }
        let kept = self.records.len();
        if kept == self.records.capacity() {
            // Without this, the capacity would double far beyond what is kept, and a ring buffer uses all of its memory.
            self.records.reserve_exact(kept.max(16).min(FINISHED_CALLS_MAX - kept));
        }
        self.numbers.insert(record.id, self.oldest + self.records.len() as u64);
        self.records.push_back(record);
    }

    /// Notes that the result of a call that has a record is about to be kept.
    pub(super) fn will_be_kept(&mut self, call: CallId) {
        if let Some(record) = self.number(call).and_then(|number| self.at(number))
            && matches!(record.late, Late::None)
        {
            record.late = Late::Rendering;
        }
    }

    /// Keeps the result of a call that has a record. A result that is larger than all that may be kept counts as expired at once.
    pub(super) fn keep(&mut self, call: CallId, result: Arc<str>, why: Keep, now: Instant) {
        if let Some(number) = self.number(call)
            && let Some(record) = self.at(number)
        {
            let bytes = result.len();
            let fits = bytes <= why.bounds().0;
            let late = if fits { Late::Kept(result, now, why) } else { Late::Expired };
            let replaced = std::mem::replace(&mut record.late, late);
            self.forget_bytes(&replaced);
            if fits {
                let shelf = self.shelf(why);
                shelf.bytes += bytes;
                shelf.order.push_back((number, now));
            }
        }
        self.expire(now);
    }

    /// Drops the oldest results until the others are within their bounds.
    pub(super) fn expire(&mut self, now: Instant) {
        self.expire_of(Keep::Owed, now);
        self.expire_of(Keep::Written, now);
    }

    fn expire_of(&mut self, why: Keep, now: Instant) {
        let (most, age) = why.bounds();
        while let Some((number, since)) = self.shelf(why).order.front().copied() {
            let over = self.shelf(why).bytes > most;
            let held =
                |record: &&mut Record| matches!(&record.late, Late::Kept(_, at, by) if (*at, *by) == (since, why));
            let record = self.at(number).filter(held);
            let old = now.saturating_duration_since(since) > age;
            if record.is_some() && !over && !old {
                return;
            }
            if let Some(record) = record {
                let dropped = std::mem::replace(&mut record.late, Late::Expired);
                self.forget_bytes(&dropped);
            }
            self.shelf(why).order.pop_front();
        }
    }

    fn shelf(&mut self, why: Keep) -> &mut Shelf {
        match why {
            Keep::Owed => &mut self.owed,
            Keep::Written => &mut self.written,
        }
    }

    fn number(&self, call: CallId) -> Option<u64> {
        self.numbers.get(&call).copied()
    }

    fn index(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.oldest).and_then(|index| usize::try_from(index).ok())
    }

    fn at(&mut self, number: u64) -> Option<&mut Record> {
        let index = self.index(number)?;
        self.records.get_mut(index)
    }

    fn forget_bytes(&mut self, late: &Late) {
        if let Late::Kept(result, _, why) = late {
            self.shelf(*why).bytes -= result.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> CallId {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        CallId::from_random(bytes)
    }

    fn record(number: u64, now: Instant) -> Record {
        Record {
            id: id(number),
            tool: "t".into(),
            state: "answered",
            verdict: None,
            waits_for: None,
            accepted: now,
            sent: None,
            ended: Some(now),
            unrun: false,
            late: Late::None,
        }
    }

    #[test]
    fn as_many_as_are_kept_are_found_and_the_next_one_pushes_the_oldest_out() {
        let now = Instant::now();
        let mut finished = Finished::default();
        let most = FINISHED_CALLS_MAX as u64;
        (0..most).for_each(|number| finished.remember(record(number, now)));
        assert!((0..most).all(|number| finished.get(id(number)).is_some_and(|found| found.id == id(number))));
        finished.remember(record(most, now));
        assert!(finished.get(id(0)).is_none() && finished.get(id(1)).is_some());
        assert_eq!((finished.len(), finished.numbers.len()), (FINISHED_CALLS_MAX, FINISHED_CALLS_MAX));
        assert_eq!(finished.records.capacity(), FINISHED_CALLS_MAX);
        let order: Vec<CallId> = finished.newest_first().map(|record| record.id).collect();
        assert_eq!(order, (1..=most).rev().map(id).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_kept_of_late_results_is_what_is_counted_of_them() {
        let now = Instant::now();
        let mut finished = Finished::default();
        let kept = |finished: &Finished| -> usize {
            let bytes = |record: &Record| match &record.late {
                Late::Kept(result, ..) => result.len(),
                _ => 0,
            };
            finished.records.iter().map(bytes).sum()
        };
        let quarter = "x".repeat(LATE_RESULTS_MAX_BYTES / 4);
        (0..8).for_each(|number| finished.remember(record(number, now)));
        // The late results arrive in a different order from that in which the calls ended.
        for number in [5, 1, 7, 0] {
            finished.keep(id(number), quarter.as_str().into(), Keep::Owed, now);
        }
        assert_eq!(kept(&finished), LATE_RESULTS_MAX_BYTES);
        finished.keep(id(2), "y".into(), Keep::Owed, now);
        assert!(matches!(finished.get(id(5)).unwrap().late, Late::Expired), "it came first");
        finished.keep(id(1), "once more".into(), Keep::Owed, now);
        finished.remember(Record { late: Late::Rendering, ..record(7, now) });
        [1, 3].into_iter().for_each(|number| finished.will_be_kept(id(number)));
        assert!(matches!(finished.get(id(3)).unwrap().late, Late::Rendering), "whoever asks for it is told to wait");
        assert_eq!(kept(&finished), finished.owed.bytes);
        assert_eq!(finished.owed.bytes, LATE_RESULTS_MAX_BYTES / 4 + "y".len() + "once more".len());
        (8..FINISHED_CALLS_MAX as u64 + 8).for_each(|number| finished.remember(record(number, now)));
        assert_eq!((kept(&finished), finished.owed.bytes), (0, 0), "results go with their records");
        finished.expire(now);
        assert!(finished.owed.order.is_empty());
    }

    #[test]
    fn what_was_written_goes_sooner_and_takes_no_place_of_what_is_owed() {
        let now = Instant::now();
        let mut finished = Finished::default();
        let kept = |finished: &Finished, number| matches!(finished.get(id(number)).unwrap().late, Late::Kept(..));
        (0..8).for_each(|number| finished.remember(record(number, now)));
        finished.keep(id(0), "x".repeat(LATE_RESULTS_MAX_BYTES).into(), Keep::Owed, now);
        let third: Arc<str> = "x".repeat(WRITTEN_RESULTS_MAX_BYTES / 3).into();
        (1..8).for_each(|number| finished.keep(id(number), Arc::clone(&third), Keep::Written, now));
        assert_eq!([0, 1, 4, 5, 6, 7].map(|number| kept(&finished, number)), [true, false, false, true, true, true]);
        finished.expire(now + WRITTEN_RESULT_MAX_AGE + Duration::from_secs(1));
        assert_eq!([0, 7].map(|number| kept(&finished, number)), [true, false]);
        assert!(matches!(finished.get(id(7)).unwrap().late, Late::Expired) && finished.written.bytes == 0);
    }

    #[test]
    fn a_record_is_small_whatever_its_tool_is_called() {
        let now = Instant::now();
        let mut finished = Finished::default();
        let tool: Arc<str> = "ü".repeat(LOG_FIELD_MAX_BYTES).into();
        finished.remember(Record { tool, ..record(1, now) });
        let kept = finished.get(id(1)).unwrap().tool.len();
        assert!(kept > 0 && kept <= LOG_FIELD_MAX_BYTES);
        // The size that the memory estimate of `FINISHED_CALLS_MAX` assumes.
        assert!(size_of::<Record>() <= 192, "{}", size_of::<Record>());
    }
}
