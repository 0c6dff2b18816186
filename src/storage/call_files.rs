//! The file of [`CallRecords`]: one line for each record, appended before what it records is done.
//!
//! Only its process writes it: the hub, while it holds the hub's lock, or a gateway of one client ([`super::gateway_calls`]). What a
//! killed process has written stays written: nothing is forced to the disk, which would cost milliseconds and helps only against the
//! loss of power, with which the editor is lost too. A last line that was cut off is dropped.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use crate::core::call_records::{CallRecords, Known, Left, Origin, Record, SentCall};
use crate::limits::hub::{CALL_RECORDS_FILE_MAX_BYTES, CALL_RECORDS_MAX_BYTES, CALL_RECORDS_SPENT_BYTES};
use crate::limits::{LATE_RESULT_MAX_AGE, LATE_RESULTS_MAX_BYTES};
use crate::platform::host::{Host as _, RealHost, make_private_folder, open_end};
use crate::protocol::ids::CallId;

/// The records, and the file that has them.
#[derive(Debug)]
pub struct CallFile {
    /// The name by which editors recognise the gateway. A hub takes over its predecessor's: an editor's journal belongs to a name,
    /// and an editor closes the former connection of the same name.
    pub gateway: String,
    /// How many hubs have had this name, this one included.
    pub starts: u64,
    /// Whether a line of the file could not be read: a call that is not on record may have been sent.
    pub is_damaged: bool,
    path: PathBuf,
    inner: Mutex<Inner>,
}

/// Where the file is, and what its first line says.
struct Head<'a> {
    path: &'a Path,
    gateway: &'a str,
    starts: u64,
}

#[derive(Debug)]
struct Inner {
    /// `None` while the file is replaced, and after that failed.
    file: Option<File>,
    bytes: usize,
    records: CallRecords,
    /// Whether the file has records that are not needed any more.
    is_spent: bool,
    /// Whether nothing is recorded any more but what clients have.
    is_frozen: bool,
    /// Why the last line could not be written.
    failed: Option<String>,
    /// How many lines could not be written.
    unwritten: u64,
}

impl CallFile {
    /// Opens the file, and reads what an earlier hub left in it. `gateway`: the name if the file has none.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path, gateway: String) -> io::Result<Self> {
        make_private_folder(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let this = Self::parse(path, open_end(path)?, gateway)?;
        this.lock().rewrite(&this.head())?;
        Ok(this)
    }

    /// Reads what a hub left in the file, which must not be changed through this value.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(path: &Path) -> io::Result<Self> {
        // Opened by the host first, which creates nothing and takes a regular file only.
        RealHost.read(path, CALL_RECORDS_FILE_MAX_BYTES + CALL_RECORDS_MAX_BYTES)?;
        Self::parse(path, File::open(path)?, String::new())
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
        file.read_to_end(&mut text)?;
        let (mut records, mut known) = (CallRecords::default(), None);
        let (mut starts, mut is_damaged) = (0, false);
        // What follows the last line end was cut off.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let now = seconds_now();
        for line in text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Record::Gateway { id, starts: before }) => (known, starts) = (Some(id), before),
                Ok(record) => records.apply(record, now),
                // What follows the last line end is empty.
                Err(_) => is_damaged |= !line.is_empty(),
            }
        }
        let gateway = known.unwrap_or(gateway);
        let inner = Inner {
            file: Some(file),
            bytes: whole,
            records,
            is_spent: false,
            is_frozen: false,
            failed: None,
            unwritten: 0,
        };
        Ok(Self { gateway, starts: starts + 1, is_damaged, path: path.to_path_buf(), inner: Mutex::new(inner) })
    }

    /// Returns where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn head(&self) -> Head<'_> {
        Head { path: &self.path, gateway: &self.gateway, starts: self.starts }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a call is about to be sent.
    ///
    /// # Errors
    /// The system's error: the call must not be sent.
    pub fn sent(&self, sent: SentCall) -> io::Result<()> {
        self.lock().add(&self.head(), Record::Sent(sent))
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

    /// Records the answer of a call that was recorded as sent; `runs_on`: the answer says that it still runs, and the next one is
    /// its late result; `unknown`: it says that the outcome is unknown. Does nothing for any other call.
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

    /// Records that the client of a call asks for it by its id, if it has no answer.
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

    /// Returns what is known of a request; `None` if no byte of a call for it was written.
    pub fn known(&self, origin: &Origin) -> Option<Known> {
        self.lock().records.known(origin)
    }

    /// Returns all that is kept, for a gateway that comes after the one that wrote it.
    pub fn left(&self) -> Vec<Left> {
        self.lock().records.left()
    }

    /// Takes in what another gateway left.
    ///
    /// # Errors
    /// The system's error.
    pub fn take_in(&self, left: &Left) -> io::Result<()> {
        let mut inner = self.lock();
        inner.add(&self.head(), Record::Sent(left.sent.clone()))?;
        let call = left.sent.call;
        if left.told {
            // No session brings its request: that has ended with its gateway.
            for record in [Record::Told { call }, Record::Delivered(left.sent.origin.clone())] {
                inner.add(&self.head(), record)?;
            }
        }
        let room = CALL_RECORDS_MAX_BYTES.saturating_sub(inner.records.bytes());
        // Without its result the call counts as open, and its outcome is looked for again.
        if let Some(result) = left.result.as_ref().filter(|result| result.get().len() <= room) {
            let (result, unknown, at) = (RawValue::to_owned(result), left.unknown, Some(left.at));
            inner.add(&self.head(), Record::Answered { call, result, runs_on: false, unknown, at })?;
            inner.records.make_room(LATE_RESULTS_MAX_BYTES);
        }
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

    /// Deletes answers that have waited for `most`, as the session that asked has ended, and late results that were kept for
    /// [`LATE_RESULT_MAX_AGE`]. Takes what is not needed any more off the disk, unless too much else is kept. Called again and
    /// again; `passed`: the time since the last call.
    pub fn tidy(&self, passed: Duration, most: Duration) {
        let mut inner = self.lock();
        let late = seconds_now().saturating_sub(LATE_RESULT_MAX_AGE.as_secs());
        let expired = inner.records.expire(late, passed.as_secs(), most.as_secs());
        if !inner.is_frozen && (expired || inner.is_spent && inner.records.bytes() <= CALL_RECORDS_SPENT_BYTES) {
            let _ = inner.rewrite(&self.head());
        }
    }

    /// Returns how many records could not be written since the file was opened.
    pub fn unwritten(&self) -> u64 {
        self.lock().unwritten
    }

    /// Returns the file's path and why records cannot be written to it; `None` if they can be.
    pub fn problem(&self) -> Option<(&Path, String)> {
        Some((&self.path, self.lock().failed.clone()?))
    }
}

impl Inner {
    fn add(&mut self, head: &Head<'_>, record: Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(&record)?;
        line.push(b'\n');
        let written = self.append(head.path, &line);
        self.failed = written.as_ref().err().map(ToString::to_string);
        self.unwritten += u64::from(written.is_err());
        // A call whose record cannot be written is not sent. All else has happened, whether it is written or not.
        if written.is_ok() || !matches!(record, Record::Sent(_)) {
            self.is_spent |= matches!(record, Record::Delivered(_) | Record::Dropped { .. });
            self.records.apply(record, seconds_now());
        }
        let spent = self.records.is_empty() && self.bytes > CALL_RECORDS_SPENT_BYTES;
        if spent || self.bytes > CALL_RECORDS_FILE_MAX_BYTES {
            // If that fails, the old file is still right.
            let _ = self.rewrite(head);
        }
        written
    }

    fn append(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            closed => closed.insert(open_end(path)?),
        };
        let written = file.write_all(bytes);
        match written {
            Ok(()) => self.bytes += bytes.len(),
            // A part may have been written, and the next line must not be joined to it.
            Err(_) => drop(file.set_len(self.bytes as u64)),
        }
        written
    }

    /// Replaces the file by one that has only what is kept.
    fn rewrite(&mut self, head: &Head<'_>) -> io::Result<()> {
        let first = Record::Gateway { id: head.gateway.to_owned(), starts: head.starts };
        let mut all = Vec::new();
        for record in std::iter::once(first).chain(self.records.lines()) {
            all.extend(serde_json::to_vec(&record)?);
            all.push(b'\n');
        }
        // Not every Windows replaces a file that is open. The old file stays right if this fails.
        self.file = None;
        RealHost.write(head.path, &all)?;
        (self.bytes, self.is_spent) = (all.len(), false);
        self.file = Some(open_end(head.path)?);
        Ok(())
    }
}

fn seconds_now() -> u64 {
    RealHost.now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u8) -> CallId {
        CallId::from_random([number; 16])
    }

    fn origin(number: u8) -> Origin {
        Origin { session: "s".into(), number: number.into() }
    }

    fn sent(number: u8) -> SentCall {
        SentCall {
            origin: origin(number),
            call: call(number),
            tool: Arc::from("count"),
            project: None,
            journal: None,
            repeatable: false,
            client: Default::default(),
        }
    }

    fn told(file: &CallFile, number: u8) -> String {
        match file.known(&origin(number)) {
            None => "not sent".to_owned(),
            Some(Known::Sent(_)) => "sent".to_owned(),
            Some(Known::Answered(result)) => result.get().to_owned(),
        }
    }

    #[test]
    fn a_successor_knows_what_was_sent_and_answered_whatever_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub/calls.jsonl");
        let first = CallFile::open(&path, "one".to_owned()).unwrap();
        for number in 1..=4 {
            first.sent(sent(number)).unwrap();
        }
        first.dropped(call(1));
        first.answered(call(2), r#"{"text":"two\nlines"}"#, (false, false));
        first.answered(call(3), "[3]", (false, false));
        first.delivered(origin(3));
        drop(first);
        let text = std::fs::read(&path).unwrap();
        let last_line = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        // Whatever is cut off the last line, which deletes the third record, all else is known.
        for cut in last_line..=text.len() {
            std::fs::write(&path, &text[..cut]).unwrap();
            let second = CallFile::open(&path, "two".to_owned()).unwrap();
            assert_eq!(second.gateway, "one", "editors know it by this name");
            let third = if cut == text.len() { "not sent" } else { "[3]" };
            let expected = ["not sent", r#"{"text":"two\nlines"}"#, third, "sent"];
            assert_eq!([1, 2, 3, 4].map(|number| told(&second, number)), expected, "{cut}");
            let open: Vec<Left> = second.left().into_iter().filter(|left| left.result.is_none()).collect();
            assert_eq!(open.iter().map(|left| &left.sent).collect::<Vec<_>>(), [&sent(4)]);
        }
    }

    #[test]
    fn what_is_forgotten_behind_a_line_that_was_cut_off_stays_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let killed = CallFile::open(&path, "one".to_owned()).unwrap();
        killed.sent(sent(1)).unwrap();
        killed.sent(sent(2)).unwrap();
        drop(killed);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"sent\":{{\"ori")).unwrap();
        CallFile::reopen(&path).unwrap().forget(call(1));
        let next = CallFile::reopen(&path).unwrap();
        assert!(!next.is_damaged);
        assert_eq!(next.left().iter().map(|left| left.sent.call).collect::<Vec<_>>(), [call(2)]);
    }

    #[test]
    fn a_late_result_gets_no_younger_when_its_file_is_read_again_or_another_gateway_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
        let first = CallFile::open(&path, "one".to_owned()).unwrap();
        let long_ago = seconds_now() - LATE_RESULT_MAX_AGE.as_secs() - 10;
        for (number, at) in [(1, long_ago), (2, seconds_now())] {
            let result = RawValue::from_string("[1]".to_owned()).unwrap();
            let left = Left { sent: sent(number), told: true, result: Some(result.into()), unknown: true, at };
            first.take_in(&left).unwrap();
        }
        drop(first);
        let again = CallFile::reopen(&path).unwrap();
        let second = CallFile::open(&other, "two".to_owned()).unwrap();
        for left in again.left() {
            assert!(left.told && left.unknown && left.result.is_some());
            second.take_in(&left).unwrap();
        }
        for file in [again, second] {
            assert_eq!(file.left().len(), 2);
            file.tidy(Duration::ZERO, Duration::MAX);
            let kept: Vec<CallId> = file.left().iter().map(|left| left.sent.call).collect();
            assert_eq!(kept, [call(2)]);
        }
    }

    #[test]
    fn the_file_shrinks_once_everything_is_delivered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let file = CallFile::open(&path, "one".to_owned()).unwrap();
        let result = format!("\"{}\"", "x".repeat(CALL_RECORDS_SPENT_BYTES));
        for number in 0..3 {
            file.sent(sent(number)).unwrap();
            file.answered(call(number), &result, (false, false));
            file.delivered(origin(number));
        }
        assert!(std::fs::metadata(&path).unwrap().len() < 1000);
        file.sent(sent(9)).unwrap();
        drop(file);
        assert_eq!(told(&CallFile::open(&path, "two".to_owned()).unwrap(), 9), "sent");
    }

    #[test]
    fn what_was_delivered_is_soon_nowhere_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let file = CallFile::open(&path, "one".to_owned()).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        for number in 0..3 {
            file.sent(sent(number)).unwrap();
            file.answered(call(number), &format!("\"secret-{number}\""), (false, false));
        }
        file.delivered(origin(0));
        file.tidy(Duration::ZERO, Duration::MAX);
        assert!(
            !text().contains("secret-0") && text().contains("secret-1") && text().contains("secret-2"),
            "{}",
            text()
        );
        // A call that lasts keeps nothing of others there.
        file.sent(sent(9)).unwrap();
        file.delivered(origin(1));
        file.dropped(call(2));
        file.delivered(origin(2));
        file.tidy(Duration::ZERO, Duration::MAX);
        assert!(!text().contains("secret"), "{}", text());
        let size = text().len();
        file.tidy(Duration::ZERO, Duration::MAX);
        assert_eq!(text().len(), size);
        drop(file);
        assert_eq!(told(&CallFile::open(&path, "two".to_owned()).unwrap(), 9), "sent");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_recorded_is_not_sent_and_the_problem_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let file = CallFile::open(&path, "one".to_owned()).unwrap();
        file.sent(sent(1)).unwrap();
        // A disk that is full.
        file.lock().file = Some(std::fs::OpenOptions::new().append(true).open("/dev/full").unwrap());
        assert!(file.sent(sent(2)).is_err());
        assert_eq!((told(&file, 1).as_str(), told(&file, 2).as_str()), ("sent", "not sent"));
        assert_eq!(file.problem().unwrap().0, path);
        file.answered(call(1), "[1]", (false, false));
        assert_eq!((told(&file, 1).as_str(), file.unwritten()), ("[1]", 2), "an answer counts too");
        file.lock().file = Some(open_end(&path).unwrap());
        file.sent(sent(2)).unwrap();
        assert_eq!((told(&file, 2).as_str(), file.problem(), file.unwritten()), ("sent", None, 2));
    }
}
