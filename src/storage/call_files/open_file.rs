//! The open file of the records: lines are appended to it, and it is written anew without those that are not needed any more.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::core::call_records::{CallRecords, Record};
use crate::limits::hub::{CALL_RECORDS_FILE_MAX_BYTES, CALL_RECORDS_SPENT_BYTES};
use crate::platform::host::{Host as _, RealHost, open_end, replace};
use crate::platform::lock_file::{self, Placed};

/// Why records are not this process's own any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Another process may hold the lock of the file that is at the path now.
    #[error("its lock file was removed or replaced, so another process may have taken over")]
    Lock,
    /// Another file is at the path, and nobody reads the open one.
    #[error("the file with its records of calls was removed, replaced or cut off")]
    Records,
}

/// What the first line of the file says.
pub(super) struct Head<'a> {
    pub(super) gateway: &'a str,
    pub(super) starts: u64,
    pub(super) name: &'a str,
    pub(super) former: &'a [String],
}

/// The open file, and what is in it.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) path: PathBuf,
    /// `None` after the file could not be replaced, on a system that does not replace open files.
    pub(super) file: Option<File>,
    pub(super) placed: Option<Placed>,
    /// The lock of the process that may write the records. `None` if the caller that opened them holds it.
    pub(super) lock: Option<Placed>,
    pub(super) bytes: usize,
    pub(super) records: CallRecords,
    /// Whether the file has records that are not needed any more.
    pub(super) is_spent: bool,
    /// Whether nothing is recorded any more, except that clients have their answers.
    pub(super) is_frozen: bool,
    /// Why the last line could not be written.
    pub(super) failed: Option<String>,
    /// How many lines could not be written.
    pub(super) unwritten: u64,
}

impl Head<'_> {
    pub(super) fn line(&self, file: Option<u64>) -> io::Result<Vec<u8>> {
        let (id, starts, former) = (self.gateway.to_owned(), self.starts, self.former.to_vec());
        line_of(&Record::Gateway { id, starts, records: Some(self.name.to_owned()), former, file })
    }
}

impl Inner {
    /// Whether the lock and the file are those at their paths.
    pub(super) fn owned(&self) -> Result<(), Lost> {
        if self.lock.as_ref().is_some_and(|lock| !lock.is_there()) {
            return Err(Lost::Lock);
        }
        let there = self.placed.as_ref().and_then(Placed::len_there);
        there.filter(|there| *there >= self.bytes as u64).map(|_| ()).ok_or(Lost::Records)
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.file.as_ref().and_then(lock_file::number_of)
    }

    pub(super) fn add(&mut self, head: &Head<'_>, record: Record) -> io::Result<()> {
        let written = line_of(&record).and_then(|line| self.append(&line));
        self.failed = written.as_ref().err().map(ToString::to_string);
        self.unwritten += u64::from(written.is_err());
        // A call whose record cannot be written is not sent. All other records tell of something that has happened,
        // whether it is written or not.
        if written.is_ok() || !matches!(record, Record::Sent(_)) {
            self.is_spent |= matches!(record, Record::Delivered(_) | Record::Dropped { .. });
            self.records.apply(record, seconds_now());
        }
        let spent = self.records.is_empty() && self.bytes > CALL_RECORDS_SPENT_BYTES;
        if spent || self.bytes > CALL_RECORDS_FILE_MAX_BYTES {
            // If that fails, the old file is still right.
            self.shrink(head);
        }
        written
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let written = file.write_all(bytes);
        match written {
            Ok(()) => self.bytes += bytes.len(),
            // A part may have been written, and the next line must not be joined to it.
            Err(_) => drop(file.set_len(self.bytes as u64)),
        }
        written
    }

    /// Takes records that are not needed any more off the disk, unless the file is another process's.
    pub(super) fn shrink(&mut self, head: &Head<'_>) {
        if self.owned().is_ok() {
            let _ = self.rewrite(head);
        }
    }

    /// Replaces the file by one that has only what is kept. Returns the old one, if the system lets it be open
    /// meanwhile. If this fails, the old file stays right.
    pub(super) fn rewrite(&mut self, head: &Head<'_>) -> io::Result<Option<File>> {
        // Some Windows versions do not replace a file that is open.
        if cfg!(not(unix)) {
            (self.file, self.placed) = (None, None);
        }
        let mut opened = None;
        let replaced = replace(&RealHost, &self.path, |temporary| {
            let mut file = open_end(temporary)?;
            let mut all = head.line(lock_file::number_of(&file))?;
            for record in self.records.lines() {
                all.extend(line_of(&record)?);
            }
            file.write_all(&all)?;
            opened = Some((file, all.len()));
            Ok(())
        });
        match (replaced, opened) {
            (Ok(()), Some((file, bytes))) => {
                (self.bytes, self.is_spent) = (bytes, false);
                // Under Wine, a handle that was opened before the file got this name does not show the same as the
                // file.
                let file = if cfg!(unix) { file } else { open_end(&self.path)? };
                self.placed = Some(Placed::of(&file, &self.path)?);
                Ok(self.file.replace(file))
            }
            (replaced, _) => {
                if self.file.is_none() && self.path.exists() {
                    self.file = open_end(&self.path).ok();
                    self.placed = self.file.as_ref().and_then(|file| Placed::of(file, &self.path).ok());
                }
                replaced.map(|()| None)
            }
        }
    }
}

fn line_of(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn seconds_now() -> u64 {
    RealHost.now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
