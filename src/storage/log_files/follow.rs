//! Reads a log while its gateway goes on writing.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::file::{LogFile, is_head};
use crate::limits::logs::LOG_FILE_MAX_BYTES;
use crate::platform::host::open_without_following;
use crate::platform::lock_file;

/// A reader of one log, which stays at its end.
#[derive(Debug)]
pub struct Follower {
    log: LogFile,
    /// The file that is read at present; `None` while there is none.
    file: Option<File>,
    /// The file that was read before it.
    before: Option<File>,
    /// The beginning of a line whose end is not written yet; at most [`LOG_FILE_MAX_BYTES`].
    rest: Vec<u8>,
    /// The lines that every new file repeats.
    heads: Vec<String>,
}

impl Follower {
    /// Returns a reader, and all lines that are there, the oldest first.
    pub fn start(log: &LogFile) -> (Self, Vec<String>) {
        let file = open(&log.path());
        let mut reader = Self { log: log.clone(), file, before: None, rest: Vec::new(), heads: Vec::new() };
        let mut lines = Vec::new();
        reader.take_before(&mut lines);
        reader.take(&mut lines);
        (reader, lines)
    }

    /// Returns the lines that were added since the last call.
    pub fn more(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.take(&mut lines);
        let path = self.log.path();
        if self.file.as_ref().is_some_and(|file| lock_file::is_at(file, &path)) {
            return lines;
        }
        let Some(next) = open(&path) else { return lines };
        // The gateway writes to a file only as long as the file is at its place. The last lines that it wrote there are
        // read here.
        self.take(&mut lines);
        self.rest.clear();
        self.take_before(&mut lines);
        self.before = self.file.replace(next);
        self.take(&mut lines);
        lines
    }

    /// Reads the file that was replaced last, if there is one that was not read yet.
    fn take_before(&mut self, lines: &mut Vec<String>) {
        let path = self.log.path_before();
        let is_known = |file: &Option<File>| file.as_ref().is_some_and(|file| lock_file::is_at(file, &path));
        if is_known(&self.file) || is_known(&self.before) {
            return;
        }
        let current = std::mem::replace(&mut self.file, open(&path));
        self.take(lines);
        self.rest.clear();
        self.before = std::mem::replace(&mut self.file, current);
    }

    /// Reads what was added to the open file.
    fn take(&mut self, lines: &mut Vec<String>) {
        let Some(file) = &mut self.file else { return };
        // A file that was cut is read from its beginning.
        let cut = file.metadata().is_ok_and(|meta| file.stream_position().is_ok_and(|at| at > meta.len()));
        if cut && file.rewind().is_err() {
            return;
        }
        // A log has a bound, and no more than that is read at once. If the file is longer, no gateway wrote it, and
        // only its end is read.
        let most = 2 * LOG_FILE_MAX_BYTES as u64;
        let ahead = file.metadata().ok().zip(file.stream_position().ok());
        let skipped = ahead.and_then(|(meta, at)| meta.len().checked_sub(most).filter(|from| *from > at));
        if let Some(from) = skipped
            && file.seek(SeekFrom::Start(from)).is_err()
        {
            return;
        }
        let mut bytes = Vec::new();
        let _ = file.take(most).read_to_end(&mut bytes);
        if skipped.is_some() {
            // This is the rest of a line whose beginning was not read.
            self.rest.clear();
            let begins = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1);
            bytes.drain(..begins);
        }
        self.keep(&bytes, lines);
    }

    fn keep(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = memchr::memrchr(b'\n', &self.rest) else {
            if self.rest.len() > LOG_FILE_MAX_BYTES {
                // No gateway writes such a line.
                self.rest.clear();
            }
            return;
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        for line in whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line).into_owned();
            if is_head(line.as_bytes()) {
                if self.heads.contains(&line) {
                    continue;
                }
                self.heads.push(line.clone());
            }
            lines.push(line);
        }
    }
}

fn open(path: &Path) -> Option<File> {
    open_without_following(path).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()))
}
