//! The file of [`CallRecords`]: one line for each record, appended before what it records is done.
//!
//! One process at a time writes it: the hub, while it holds the hub's lock, or a gateway that takes calls out of a
//! killed hub's file and holds that lock meanwhile; or a gateway of one client ([`super::gateway_calls`]). Lines that a
//! killed process has written stay written. Nothing is forced to the disk: that would cost milliseconds, and would help
//! only after a loss of power, when the editor is lost too. A last line that was cut off is dropped.

mod open_file;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;

pub use self::open_file::Lost;
use self::open_file::{Head, Inner, seconds_now};
use crate::core::call_records::{CallRecords, Known, Left, Origin, Record, SentCall};
use crate::fsm::call::Verdict;
use crate::limits::hub::{
    CALL_RECORDS_MAX_BYTES, CALL_RECORDS_NAMES_MAX, CALL_RECORDS_READ_MAX_BYTES, CALL_RECORDS_SPENT_BYTES,
};
use crate::limits::{LATE_RESULT_MAX_AGE, LATE_RESULTS_MAX_BYTES};
use crate::platform::host::{Host as _, RealHost, make_private_folder, open_end};
use crate::platform::lock_file::{self, Placed};
use crate::protocol::dialect::JournalKey;
use crate::protocol::ids::CallId;

/// The records, and the file that has them.
#[derive(Debug)]
pub struct CallFile {
    /// The name by which editors recognise the gateway. A hub takes over its predecessor's: an editor's journal belongs to a name,
    /// and an editor closes the former connection of the same name.
    pub gateway: String,
    /// How many hubs have had this name, this one included.
    pub starts: u64,
    /// The name of these records: a new one for each process that takes them over. Records under any other name, except
    /// the former names, are not here.
    pub name: String,
    former: Vec<String>,
    /// Whether a call that is not on record may have been sent all the same: a line of the file could not be read, for example.
    pub is_damaged: bool,
    /// Whether the file is a copy, for example of a home folder or from a backup. Then the process that wrote the
    /// records may live, and use the same name towards editors.
    pub is_copy: bool,
    inner: Mutex<Inner>,
    /// The calls that an earlier process left in the file, until [`inherited`](CallFile::inherited) gives them.
    inherited: Mutex<BTreeSet<CallId>>,
}

/// Why a call must not be sent.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    /// Nobody would find the call's record.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The call's record cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CallFile {
    /// Opens the file, takes it over from the process that wrote it, and reads the records in it. `gateway`: the name
    /// if the file has none, or is a copy. `lock`: the lock of the process that may write the records.
    ///
    /// Somebody may have freed the lock by force, so the process that wrote the records may live. That process looks,
    /// after each record of a call, whether the file is still its own. So this function takes the file's name away
    /// first, and then reads the file to its end: then it has read each record that the other process found to be in
    /// place. Until that is done, the new file names no former one.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path, gateway: String, lock: Placed) -> io::Result<Self> {
        let this = Self::take(path, gateway, lock, true)?;
        let left = this.left().into_iter().filter(|left| !left.delivered).map(|left| left.sent.call).collect();
        *enter(&this.inherited) = left;
        Ok(this)
    }

    /// Takes over the file of a hub that has ended in the same way. The caller takes records out of it, and does not
    /// become the hub.
    ///
    /// # Errors
    /// The system's error.
    pub fn visit(path: &Path, lock: Placed) -> io::Result<Self> {
        // The next hub takes the name that it finds here, so the file needs one.
        let gateway = uuid::Builder::from_random_bytes(RealHost.random()).into_uuid().to_string();
        Self::take(path, gateway, lock, false)
    }

    fn take(path: &Path, gateway: String, lock: Placed, counts: bool) -> io::Result<Self> {
        make_private_folder(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let mut this = Self::parse(path, open_end(path)?, gateway.clone())?;
        this.starts = this.starts.saturating_sub(u64::from(!counts));
        if this.is_copy {
            (this.gateway, this.former) = (gateway, Vec::new());
        } else if !this.name.is_empty() {
            this.former.push(std::mem::take(&mut this.name));
        }
        let surplus = this.former.len().saturating_sub(CALL_RECORDS_NAMES_MAX);
        this.former.drain(..surplus);
        this.name = uuid::Builder::from_random_bytes(RealHost.random()).into_uuid().simple().to_string();
        let mut inner = this.lock();
        inner.lock = Some(lock);
        let (read, mut is_damaged) = (inner.bytes as u64, false);
        let old = inner.rewrite(&Head { former: &[], ..this.head() })?;
        if let Some(mut old) = old {
            let mut late = Vec::new();
            old.seek(SeekFrom::Start(read))?;
            old.take(CALL_RECORDS_READ_MAX_BYTES as u64).read_to_end(&mut late)?;
            late.truncate(whole_lines(&late));
            for line in late.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match serde_json::from_slice(line) {
                    Ok(record) => inner.records.apply(record, seconds_now()),
                    Err(_) => is_damaged = true,
                }
            }
            inner.append(&late)?;
        }
        drop(inner);
        this.is_damaged |= is_damaged;
        if this.is_damaged {
            // The damage cannot be seen in the new file. With the former names in it, the new file would prove that the
            // missing calls were never sent.
            this.former.clear();
        }
        if !this.former.is_empty() {
            let mut inner = this.lock();
            let head = this.head().line(inner.number())?;
            inner.append(&head)?;
        }
        Ok(this)
    }

    /// Reads what a hub left in the file, which must not be changed through this value.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(path: &Path) -> io::Result<Self> {
        // Opened by the host first, which creates nothing and takes a regular file only.
        RealHost.read(path, CALL_RECORDS_READ_MAX_BYTES)?;
        Self::parse(path, File::open(path)?, String::new())
    }

    /// Like [`read`](Self::read); `None` if there is no such file.
    ///
    /// # Errors
    /// The system's error, or the file was replaced meanwhile, so its content is not known.
    pub fn read_if_there(path: &Path) -> io::Result<Option<Self>> {
        match Self::read(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file of a process that does not live any more. A last line that was cut off is removed: the next line must not be
    /// joined to it.
    ///
    /// # Errors
    /// The system's error.
    pub fn reopen(path: &Path) -> io::Result<Self> {
        let this = Self::parse(path, open_end(path)?, String::new())?;
        let whole = this.lock().bytes as u64;
        if std::fs::metadata(path)?.len() > whole {
            // Windows does not shorten a file through a handle that can only append.
            File::options().write(true).open(path)?.set_len(whole)?;
        }
        Ok(this)
    }

    fn parse(path: &Path, mut file: File, gateway: String) -> io::Result<Self> {
        let mut text = Vec::new();
        let (mut records, mut head) = (CallRecords::default(), None);
        // A file that is too large is not read, and then no record is known.
        let mut is_damaged = file.metadata()?.len() > CALL_RECORDS_READ_MAX_BYTES as u64;
        if !is_damaged {
            Read::by_ref(&mut file).take(CALL_RECORDS_READ_MAX_BYTES as u64).read_to_end(&mut text)?;
        }
        // After the last line end stands a line that was cut off.
        let whole = whole_lines(&text);
        let now = seconds_now();
        for line in text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Record::Gateway { id, starts, records, former, file }) => {
                    head = Some((id, starts, records, former, file));
                }
                Ok(record) => records.apply(record, now),
                // After the last line end stands nothing.
                Err(_) => is_damaged |= !line.is_empty(),
            }
        }
        // Older versions named the records as the gateway.
        let head = head.filter(|(id, ..)| !id.is_empty());
        let (gateway, starts, name, former, number) = head.map_or_else(
            || (gateway, 0, String::new(), Vec::new(), None),
            |(id, starts, records, former, file)| (id.clone(), starts, records.unwrap_or(id), former, file),
        );
        let is_copy = number.is_some_and(|number| lock_file::number_of(&file).is_some_and(|own| own != number));
        let inner = Inner {
            path: path.to_path_buf(),
            placed: Some(Placed::of(&file, path)?),
            file: Some(file),
            lock: None,
            bytes: whole,
            records,
            is_spent: false,
            is_frozen: false,
            failed: None,
            unwritten: 0,
        };
        let (starts, is_damaged) = (starts.saturating_add(1), is_damaged || is_copy);
        let (inner, inherited) = (Mutex::new(inner), Mutex::default());
        Ok(Self { gateway, starts, name, former, is_damaged, is_copy, inner, inherited })
    }

    /// Returns where the file is.
    pub fn path(&self) -> PathBuf {
        self.lock().path.clone()
    }

    /// Whether these records include those that were written under this name ([`name`](Self::name)).
    pub fn has_those_of(&self, name: &str) -> bool {
        self.name == name || self.former.iter().any(|former| former == name)
    }

    fn head(&self) -> Head<'_> {
        Head { gateway: &self.gateway, starts: self.starts, name: &self.name, former: &self.former }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        enter(&self.inner)
    }

    /// Whether the records are still this process's own.
    ///
    /// # Errors
    /// Why they are not.
    pub fn owned(&self) -> Result<(), Lost> {
        self.lock().owned()
    }

    /// Records that a call is about to be sent.
    ///
    /// # Errors
    /// The record cannot be written, or would not be found: the call must not be sent.
    pub fn sent(&self, sent: SentCall) -> Result<(), Unrecorded> {
        let mut inner = self.lock();
        inner.owned()?;
        let call = sent.call;
        inner.add(&self.head(), Record::Sent(sent))?;
        // A process that takes the records over from here on reads this record; see `open`.
        inner.owned().inspect_err(|_| drop(inner.add(&self.head(), Record::Dropped { call })))?;
        Ok(())
    }

    /// Writes the records anew if their file was removed or replaced, and this process still has their lock.
    pub fn put_back(&self) {
        let mut inner = self.lock();
        if inner.owned() == Err(Lost::Records) {
            let _ = inner.rewrite(&self.head());
        }
    }

    /// Writes the records to another file, because the one at the former path is not this process's own any more.
    ///
    /// # Errors
    /// The system's error.
    pub fn move_to(&self, path: PathBuf, lock: Placed) -> io::Result<()> {
        let mut inner = self.lock();
        let former = std::mem::replace(&mut inner.path, path);
        let old = match inner.rewrite(&self.head()) {
            Ok(old) => old,
            Err(error) => {
                inner.path = former;
                return Err(error);
            }
        };
        inner.lock = Some(lock);
        if let Some(old) = old {
            // A process that finds the old file must not take these calls for those of a dead process.
            let _ = old.set_len(0);
        }
        Ok(())
    }

    /// Records that the editor runs a call as a job, which has this key.
    pub fn is_job(&self, call: CallId, journal: JournalKey) {
        let mut inner = self.lock();
        if !inner.is_frozen && inner.records.is_sent(call) {
            // If this cannot be written, a later gateway cannot ask for the job: its outcome is unknown then.
            let _ = inner.add(&self.head(), Record::Job { call, journal });
        }
    }

    /// Deletes the record of a call of which no byte was written, or whose client wants no answer.
    pub fn dropped(&self, call: CallId) {
        let mut inner = self.lock();
        if !inner.is_frozen && inner.records.is_sent(call) {
            // If this cannot be written, the call counts as one that may have run.
            let _ = inner.add(&self.head(), Record::Dropped { call });
        }
    }

    /// Leaves the records as they are: this hub ends, and its successor looks for what is open.
    pub fn freeze(&self) {
        self.lock().is_frozen = true;
    }

    /// Records the answer of a call that was recorded as sent. `runs_on`: the answer says that the call still runs, and
    /// the next answer is the late result. `unknown`: the answer says that the outcome is unknown. Does nothing for any
    /// other call.
    pub fn answered(&self, call: CallId, result: &str, (runs_on, unknown): (bool, bool)) {
        let mut inner = self.lock();
        if inner.is_frozen
            || !inner.records.is_sent(call)
            || inner.records.bytes() + result.len() > CALL_RECORDS_MAX_BYTES
        {
            return;
        }
        if let Ok(result) = RawValue::from_string(result.to_owned()) {
            // If this cannot be written, the answer is sent all the same. If the process is then killed before the client has it,
            // the outcome is looked for again.
            let _ =
                inner.add(&self.head(), Record::Answered { call, result, runs_on, unknown, at: Some(seconds_now()) });
            inner.records.make_room(LATE_RESULTS_MAX_BYTES);
        }
    }

    /// Records that the client of a request is about to be told that the outcome of its call is unknown. The call
    /// itself is not on record. Without this, a successor that has these records whole would think that nothing was
    /// sent for the request.
    pub fn unknown(&self, sent: SentCall, result: &str) {
        let call = sent.call;
        let mut inner = self.lock();
        if !inner.is_frozen && inner.add(&self.head(), Record::Sent(sent)).is_ok() {
            drop(inner);
            self.answered(call, result, (false, true));
        }
    }

    /// Records that the client of a call will ask for it by its id, if the client has no answer.
    pub fn told(&self, call: CallId) {
        let mut inner = self.lock();
        if let Some(origin) = inner.records.untold(call) {
            for record in [Record::Told { call }, Record::Delivered(origin)] {
                let _ = inner.add(&self.head(), record);
            }
        }
    }

    /// Whether the answer of this call is to be recorded.
    pub fn is_sent(&self, call: CallId) -> bool {
        self.lock().records.is_sent(call)
    }

    /// Returns the result of a call that has ended, which its client may not have.
    pub fn result(&self, call: CallId) -> Option<Arc<RawValue>> {
        self.lock().records.result(call)
    }

    /// Records that the client has the answer to a request.
    pub fn delivered(&self, origin: Origin) {
        let mut inner = self.lock();
        if inner.records.known(&origin).is_some() {
            let _ = inner.add(&self.head(), Record::Delivered(origin));
        }
    }

    /// Returns how the call of a request ended, or that it still runs, if its client is told so.
    pub fn verdict(&self, origin: &Origin) -> Option<Verdict> {
        self.lock().records.verdict(origin)
    }

    /// Returns what is known of a request; `None` if no byte of a call for it was written.
    pub fn known(&self, origin: &Origin) -> Option<Known> {
        self.lock().records.known(origin)
    }

    /// Returns all that is kept, for a gateway that comes after the one that wrote it.
    pub fn left(&self) -> Vec<Left> {
        self.lock().records.left()
    }

    /// Returns calls that an earlier process left in this file, if no client was told of them since and `are` says that
    /// they are wanted. Each is returned once.
    pub fn inherited(&self, mut are: impl FnMut(&Left) -> bool) -> Vec<Left> {
        let mut inherited = enter(&self.inherited);
        if inherited.is_empty() {
            return Vec::new();
        }
        let mut left = self.left();
        left.retain(|left| !left.delivered && inherited.contains(&left.sent.call));
        // All other calls were answered or deleted.
        *inherited = left.iter().map(|left| left.sent.call).collect();
        left.retain(|left| are(left));
        inherited.retain(|call| !left.iter().any(|left| left.sent.call == *call));
        left
    }

    /// Takes in the record of another gateway. Returns false if it is here already. That happens if the other gateway
    /// took it over from a third one that these records know too, or if a process was killed after it took the record
    /// in and before it deleted the original.
    ///
    /// # Errors
    /// The system's error, or these records are not this process's own any more: nobody would find there what is deleted elsewhere.
    pub fn take_in(&self, left: &Left) -> io::Result<bool> {
        let mut inner = self.lock();
        if inner.records.has(left.sent.call) {
            return Ok(false);
        }
        let taken = self.add_left(&mut inner, left).and_then(|()| inner.owned().map_err(io::Error::other));
        if taken.is_err() {
            let _ = inner.add(&self.head(), Record::Dropped { call: left.sent.call });
        }
        taken.map(|()| true)
    }

    fn add_left(&self, inner: &mut Inner, left: &Left) -> io::Result<()> {
        let room = CALL_RECORDS_MAX_BYTES.saturating_sub(inner.records.bytes());
        let fits = left.result.as_ref().is_none_or(|result| result.get().len() <= room);
        for record in left.lines(fits) {
            inner.add(&self.head(), record)?;
        }
        inner.records.make_room(LATE_RESULTS_MAX_BYTES);
        Ok(())
    }

    /// Deletes the record of a call, whatever became of it.
    pub fn forget(&self, call: CallId) {
        let _ = self.lock().add(&self.head(), Record::Dropped { call });
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.lock().records.is_empty()
    }

    /// Deletes results that waited for `most` after the session that asked has ended, and late results that were kept
    /// for [`LATE_RESULT_MAX_AGE`]. Then takes what is not needed any more off the disk, unless too much else is kept.
    /// Called again and again; `passed`: the time since the last call.
    pub fn tidy(&self, passed: Duration, most: Duration) {
        let mut inner = self.lock();
        let late = seconds_now().saturating_sub(LATE_RESULT_MAX_AGE.as_secs());
        let expired = inner.records.expire(late, passed.as_secs(), most.as_secs());
        if !inner.is_frozen && (expired || inner.is_spent && inner.records.bytes() <= CALL_RECORDS_SPENT_BYTES) {
            inner.shrink(&self.head());
        }
    }

    /// Returns how many records could not be written since the file was opened.
    pub fn unwritten(&self) -> u64 {
        self.lock().unwritten
    }

    /// Returns the file's path and why records cannot be written to it; `None` if they can be.
    pub fn problem(&self) -> Option<(PathBuf, String)> {
        let inner = self.lock();
        Some((inner.path.clone(), inner.failed.clone()?))
    }
}

fn enter<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the length of the lines that have an end.
fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests;
