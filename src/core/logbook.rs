//! The logs that Unity-MCP's server keeps: one for each operation, and those that an editor posts. A log is a named list of
//! entries, kept in memory with bounds. A `Logbook` outlives every actor.

use std::collections::{HashSet, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::limits::{LOGBOOK_BYTES_MAX, LOGBOOK_ENTRIES_MAX, LOGS_SHOWN, LOGS_SHOWN_MAX};

#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The entry's own id. It is the call's id if the entry records a call.
    pub id: String,
    /// The name of the log that the entry belongs to.
    pub name: String,
    /// Any JSON value, on one line.
    pub data: Box<RawValue>,
    pub at: SystemTime,
}

impl LogEntry {
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.data.get().len()
    }
}

/// The entries of all logs, oldest first.
#[derive(Debug, Default)]
pub struct Logbook {
    entries: VecDeque<LogEntry>,
    bytes: usize,
}

impl Logbook {
    /// Adds an entry. While there are more than `LOGBOOK_ENTRIES_MAX` entries or `LOGBOOK_BYTES_MAX` bytes, the oldest entries
    /// are dropped. An entry that alone exceeds `LOGBOOK_BYTES_MAX` is not kept.
    pub fn write(&mut self, entry: LogEntry) {
        if entry.bytes() > LOGBOOK_BYTES_MAX {
            return;
        }
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > LOGBOOK_ENTRIES_MAX || self.bytes > LOGBOOK_BYTES_MAX {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Returns the newest entry of each log, newest first, at most `limit`.
    pub fn newest(&self, limit: usize) -> Vec<LogEntry> {
        self.page(0, limit)
    }

    /// Like [`newest`](Self::newest), but skips the first `offset` logs.
    pub fn page(&self, offset: usize, limit: usize) -> Vec<LogEntry> {
        self.logs().skip(offset).take(limit).cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.logs().count()
    }

    fn logs(&self) -> impl Iterator<Item = &LogEntry> {
        let mut seen = HashSet::new();
        self.entries.iter().rev().filter(move |entry| seen.insert(entry.name.as_str()))
    }

    /// Returns the entries of one log, newest first, at most `limit`. Empty if there is no such log.
    pub fn of(&self, name: &str, limit: usize) -> Vec<LogEntry> {
        self.entries.iter().rev().filter(|entry| entry.name == name).take(limit).cloned().collect()
    }

    /// Drops one log. Returns false if there is no such log.
    pub fn clear(&mut self, name: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.name != name);
        self.bytes = self.entries.iter().map(LogEntry::bytes).sum();
        self.entries.len() < before
    }

    /// Returns the newest entry with this id. ASCII case is ignored. `None` if there is none.
    pub fn find(&self, id: &str) -> Option<LogEntry> {
        self.entries.iter().rev().find(|entry| entry.id.eq_ignore_ascii_case(id)).cloned()
    }
}

/// Returns the milliseconds since the Unix epoch, as in the package's documents; 0 for an earlier time.
fn epoch_millis(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |span| u64::try_from(span.as_millis()).unwrap_or(0))
}

/// Returns the name of the log of one operation that ended at `at`.
pub fn log_of_call(prefix: &str, at: SystemTime) -> String {
    format!("{prefix}-{}", epoch_millis(at))
}

/// Returns how many entries to show if `asked` entries were requested: `LOGS_SHOWN` by default, from 1 to `LOGS_SHOWN_MAX`.
pub fn shown(asked: Option<u64>) -> usize {
    asked.and_then(|asked| usize::try_from(asked).ok()).unwrap_or(LOGS_SHOWN).clamp(1, LOGS_SHOWN_MAX)
}

/// An entry in the format of the package's own logger. `data` is passed on unparsed: it may contain a number that no Rust number
/// type can hold.
#[derive(Debug, Serialize)]
pub struct ShownEntry<'a> {
    id: &'a str,
    name: &'a str,
    data: &'a RawValue,
    timestamp: u64,
}

impl<'a> ShownEntry<'a> {
    /// Borrows an entry for output.
    pub fn of(entry: &'a LogEntry) -> Self {
        Self { id: &entry.id, name: &entry.name, data: &entry.data, timestamp: epoch_millis(entry.at) }
    }
}

/// The answer to `GET /logs` of the package's logger: the newest entry of each log.
#[derive(Debug, Serialize)]
pub struct NewestLogs<'a> {
    status: &'static str,
    logs: Vec<ShownEntry<'a>>,
}

impl<'a> NewestLogs<'a> {
    /// Builds the answer from these entries.
    pub fn of(entries: &'a [LogEntry]) -> Self {
        Self { status: "success", logs: entries.iter().map(ShownEntry::of).collect() }
    }
}

/// The answer to `GET /logs/{name}` of the package's logger: the entries of one log.
#[derive(Debug, Serialize)]
pub struct LogEntries<'a> {
    status: &'static str,
    name: &'a str,
    entries: Vec<ShownEntry<'a>>,
}

impl<'a> LogEntries<'a> {
    /// Builds the answer from the entries of the log `name`.
    pub fn of(name: &'a str, entries: &'a [LogEntry]) -> Self {
        Self { status: "success", name, entries: entries.iter().map(ShownEntry::of).collect() }
    }
}

/// The answer of the tool that shows a single entry.
#[derive(Debug, Serialize)]
pub struct LogDetails<'a> {
    status: &'static str,
    log: ShownEntry<'a>,
}

impl<'a> LogDetails<'a> {
    /// Builds the answer from this entry.
    pub fn of(entry: &'a LogEntry) -> Self {
        Self { status: "success", log: ShownEntry::of(entry) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: usize, name: &str, bytes: usize) -> LogEntry {
        let data = RawValue::from_string(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        LogEntry { id: id.to_string(), name: name.to_owned(), data, at: SystemTime::UNIX_EPOCH }
    }

    fn ids(entries: &[LogEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn each_log_shows_its_newest_and_one_log_all_of_its_own() {
        let mut book = Logbook::default();
        for (id, name) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
            book.write(entry(id, name, 1));
        }
        assert_eq!(ids(&book.newest(9)), ["4", "3", "2"]);
        assert_eq!(ids(&book.newest(1)), ["4"]);
        assert_eq!((ids(&book.page(1, 1)), book.count()), (vec!["3"], 3));
        assert!(book.page(3, 9).is_empty());
        assert_eq!(ids(&book.of("a", 9)), ["3", "1"]);
        assert!(book.of("z", 9).is_empty() && book.find("7").is_none());
        assert_eq!(book.find("2").map(|entry| entry.name), Some("b".to_owned()));
    }

    #[test]
    fn a_cleared_log_is_gone_and_gives_its_room_back() {
        let mut book = Logbook::default();
        for (id, name) in [(1, "a"), (2, "b"), (3, "a")] {
            book.write(entry(id, name, 5));
        }
        assert!(book.clear("a") && !book.clear("a"));
        assert_eq!((ids(&book.newest(9)), book.bytes), (vec!["2"], entry(2, "b", 5).bytes()));
    }

    #[test]
    fn what_an_entry_holds_is_shown_as_it_was_written() {
        let data =
            RawValue::from_string("{\"n\":1e400,\"deep\":".to_owned() + &"[".repeat(200) + &"]".repeat(200) + "}");
        let entry = LogEntry { data: data.unwrap(), ..entry(1, "a", 0) };
        let json = serde_json::to_string(&LogEntries::of("a", std::slice::from_ref(&entry))).unwrap();
        assert!(
            json.starts_with(r#"{"status":"success","name":"a","entries":[{"id":"1","name":"a","data":{"n":1e400,"#)
        );
        assert!(serde_json::to_string_pretty(&LogDetails::of(&entry)).unwrap().contains("1e400"));
    }

    #[test]
    fn it_holds_no_more_than_it_may_by_count_and_by_bytes() {
        let mut book = Logbook::default();
        for id in 0..LOGBOOK_ENTRIES_MAX + 5 {
            book.write(entry(id, "a", 1));
        }
        assert_eq!((book.entries.len(), book.find("4").is_none()), (LOGBOOK_ENTRIES_MAX, true));
        book.write(entry(1_000_000, "big", LOGBOOK_BYTES_MAX - 100));
        assert!(book.bytes <= LOGBOOK_BYTES_MAX && book.find("1000000").is_some());
        let before = book.bytes;
        book.write(entry(1_000_001, "larger than all", LOGBOOK_BYTES_MAX));
        assert_eq!((book.bytes, book.find("1000001").is_none()), (before, true));
    }
}
