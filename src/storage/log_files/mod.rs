//! The logs of gateways on disk: `<state>/logs/<start>-<pid>.jsonl`, and the older lines in `<start>-<pid>.1.jsonl`.
//! The gateway writes them in addition to stderr, which the AI client may throw away. `holdfast logs` reads them.
//!
//! A file is opened for each batch of lines and closed again. So a line outlives a kill of the gateway, a file may be removed at
//! any time, and a disk that was full or away is used again as soon as it works.

mod file;
mod follow;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

pub use self::file::LogFile;
use self::file::is_head;
pub use self::follow::Follower;
use crate::limits::logs::{LOG_FILE_MAX_BYTES, LOG_GATEWAYS_MAX, LOG_HEADS_MAX};
use crate::platform::host::{Host, RealHost, make_private_folder, open_end};

/// The folder of the logs, below the state folder.
pub const FOLDER: &str = "logs";

/// The log of this process. Each write must consist of whole lines.
#[derive(Debug)]
pub struct LogRing {
    log: LogFile,
    heads: Vec<Vec<u8>>,
    /// Whether the last write failed, so that the file may end within a line.
    is_cut: bool,
}

impl LogRing {
    /// Returns the log of this process in a state folder. Creates nothing yet.
    pub fn of_this_process(state: &Path, host: &dyn Host) -> Self {
        let started = host.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::new(state, started, std::process::id())
    }

    fn new(state: &Path, started: Duration, pid: u32) -> Self {
        let name = format!("{:013}-{pid}", started.as_millis());
        Self { log: LogFile { folder: state.join(FOLDER), name }, heads: Vec::new(), is_cut: false }
    }

    /// Adds whole lines. Begins a new file if this one would become too long.
    fn add(&mut self, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            let (mut file, length) = self.open()?;
            let fits = fitting(lines, LOG_FILE_MAX_BYTES.saturating_sub(length));
            let first = line_end(lines);
            if fits > 0 {
                let (fitting, rest) = lines.split_at(fits);
                file.write_all(fitting)?;
                lines = rest;
            } else if length > self.heads_length() && first + self.heads_length() <= LOG_FILE_MAX_BYTES {
                drop(file);
                std::fs::rename(self.log.path(), self.log.path_before())?;
            } else {
                // A line that fits into no file is left out. No line of ours is nearly as long.
                lines = lines.get(first..).unwrap_or_default();
            }
        }
        Ok(())
    }

    fn heads_length(&self) -> usize {
        self.heads.iter().map(Vec::len).sum()
    }

    /// Opens the file at its end, and returns its length. A new file begins with the lines that tell whose log it is.
    fn open(&mut self) -> io::Result<(File, usize)> {
        let path = self.log.path();
        let mut file = match open_end(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_folder(&self.log.folder)?;
                open_end(&path)?
            }
            opened => opened?,
        };
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut length = usize::try_from(meta.len()).unwrap_or(usize::MAX);
        if length == 0 {
            prune(&self.log);
            let heads = self.heads.concat();
            file.write_all(&heads)?;
            length = heads.len();
        } else if self.is_cut {
            file.write_all(b"\n")?;
            length += 1;
        }
        self.is_cut = false;
        Ok((file, length))
    }

    fn keep_heads(&mut self, lines: &[u8]) {
        for head in lines.split_inclusive(|byte| *byte == b'\n').filter(|line| is_head(line)) {
            if self.heads.len() >= LOG_HEADS_MAX {
                // The first line is about the process itself.
                self.heads.remove(1);
            }
            self.heads.push(head.to_vec());
        }
    }
}

impl Write for LogRing {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let added = self.add(lines);
        self.is_cut |= added.is_err();
        self.keep_heads(lines);
        added.map(|()| lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of bytes of the first line.
fn line_end(lines: &[u8]) -> usize {
    memchr::memchr(b'\n', lines).map_or(lines.len(), |at| at + 1)
}

/// The number of bytes of those whole lines that fit into `room` bytes.
fn fitting(lines: &[u8], room: usize) -> usize {
    if lines.len() <= room {
        return lines.len();
    }
    lines.get(..room).and_then(|first| memchr::memrchr(b'\n', first)).map_or(0, |at| at + 1)
}

/// Removes the logs that were not written to for the longest time, so that at most [`LOG_GATEWAYS_MAX`] stay, this one included. A
/// gateway whose log is removed while it runs begins a new one with its next line.
fn prune(ours: &LogFile) {
    let mut others = in_folder(&ours.folder);
    others.retain(|log| log.name != ours.name);
    // Each time is read once, because the gateways go on writing, and a sort whose keys change panics.
    others.sort_by_cached_key(|log| std::cmp::Reverse(log.changed()));
    for log in others.into_iter().skip(LOG_GATEWAYS_MAX - 1) {
        let _ = std::fs::remove_file(log.path_before());
        let _ = std::fs::remove_file(log.path());
    }
}

/// Returns all lines of a log, the oldest first. What cannot be read is left out.
pub fn lines(log: &LogFile) -> Vec<String> {
    Follower::start(log).1
}

/// Returns the projects that a log's lines name.
pub fn projects(lines: &[String]) -> Vec<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct Found<'a> {
        #[serde(borrow)]
        project: Cow<'a, str>,
    }
    let heads = lines.iter().filter(|line| is_head(line.as_bytes()));
    let mut projects: Vec<_> =
        heads.filter_map(|line| Some(serde_json::from_str::<Found>(line).ok()?.project)).collect();
    projects.dedup();
    projects
}

/// Returns the logs of all gateways that are still there, those that started last first.
pub fn all(state: &Path) -> Vec<LogFile> {
    in_folder(&state.join(FOLDER))
}

fn in_folder(folder: &Path) -> Vec<LogFile> {
    let files = RealHost.list(folder).unwrap_or_default().into_iter();
    let mut names: Vec<String> = files
        .filter_map(|(path, _)| {
            let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
            Some(name.strip_suffix(".1").unwrap_or(name).to_owned())
        })
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.dedup();
    let logs = names.into_iter().map(|name| LogFile { folder: folder.to_owned(), name });
    logs.filter(|log| log.numbers().is_some()).collect()
}

#[cfg(test)]
mod tests;
