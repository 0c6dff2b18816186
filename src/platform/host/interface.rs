//! What the machine can be asked.

use std::borrow::Cow;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc;

use crate::limits::FOCUS_MAX;
use crate::net::BoxFuture;

/// File changes, coalesced: one `()` for any number of changes since the last was taken. Ends the watching when dropped.
pub struct Watch {
    /// Wakes when something changed.
    pub changes: mpsc::Receiver<()>,
    pub(super) outdated: Arc<AtomicBool>,
    pub(super) _guard: Box<dyn std::any::Any + Send>,
}

impl Watch {
    /// A watch that lives as long as `guard`.
    pub fn new(changes: mpsc::Receiver<()>, guard: Box<dyn std::any::Any + Send>) -> Self {
        Self { changes, outdated: Arc::default(), _guard: guard }
    }

    /// A folder came or went: what is in it now takes a new watch to be seen.
    pub fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Acquire)
    }
}

/// Whether a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It lives (also when it belongs to somebody else).
    Alive,
    /// There is no such process, or only its remains.
    Dead,
    /// The system does not say.
    Unknown,
}

/// A process that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// What it is called: its executable's name. On Linux its main thread's, which programs choose, and those that its command line
    /// begins with.
    pub names: Vec<String>,
    /// When it began, by the wall clock.
    pub began: SystemTime,
}

/// The process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its pid.
    pub pid: u32,
    /// Its executable's name.
    pub name: String,
    /// Its command line, where the system tells it.
    pub command_line: Vec<String>,
}

/// The machine. Methods may block for milliseconds: actors call them inside [`Host::blocking`].
pub trait Host: Send + Sync + 'static {
    /// Reads a regular file of at most `max` bytes, without following a link.
    ///
    /// # Errors
    /// As the system says; `InvalidData` for something that is no regular file or is larger.
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>>;
    /// Whether there is something at this path.
    fn exists(&self, path: &Path) -> bool;
    /// Writes a private file atomically (temporary file, then rename), making its folder if needed.
    ///
    /// # Errors
    /// As the system says.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Adds a line at the end of a private regular file in one write, without following a link, making it and its folder if needed.
    /// It begins on a line of its own, also behind one that a full disk cut short. An empty line is not added: it shows whether one could be.
    ///
    /// # Errors
    /// As the system says; `InvalidData` for something that is no regular file, `WriteZero` if only some of the bytes were written.
    fn append_line(&self, path: &Path, line: &str) -> io::Result<()>;
    /// Moves a file.
    ///
    /// # Errors
    /// As the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// As the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// The files of a folder with the time of their last change, in no order.
    ///
    /// # Errors
    /// As the system says.
    fn list(&self, folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>>;
    /// Whether a process lives.
    fn liveness(&self, pid: u32) -> Liveness;
    /// A living process's names and when it began; `None` where the system does not tell.
    fn process(&self, _pid: u32) -> Option<Process> {
        None
    }
    /// When something at this path was changed last; `None` where nothing is there or the system does not tell.
    fn changed(&self, _path: &Path) -> Option<SystemTime> {
        None
    }
    /// Who listens on a loopback port; `None` when nobody does or the system does not say.
    fn port_owner(&self, port: u16) -> Option<Owner>;
    /// As [`port_owner`](Host::port_owner); quicker where it is the process that is expected.
    fn port_owner_near(&self, port: u16, _expected: u32) -> Option<Owner> {
        self.port_owner(port)
    }
    /// On which of these loopback ports a process listens.
    fn ports_of(&self, pid: u32, ports: RangeInclusive<u16>) -> Vec<u16> {
        ports.filter(|port| self.port_owner(*port).is_some_and(|owner| owner.pid == pid)).collect()
    }
    /// Watches files, which need not exist yet, nor their folders; `None` where that cannot be done. See [`Watch::is_outdated`].
    fn watch(&self, files: &[PathBuf]) -> Option<Watch>;
    /// Whether this process gets no further descriptor.
    fn lacks_descriptors(&self) -> bool {
        false
    }
    /// Random bytes.
    fn random(&self) -> [u8; 16];
    /// The wall clock, for file ages and for people.
    fn now(&self) -> SystemTime;
    /// Whether a window can be brought to the front here.
    fn can_focus(&self) -> bool {
        false
    }
    /// Brings a window of this process to the front. May block for seconds.
    ///
    /// # Errors
    /// Why it may not be there.
    fn focus(&self, _pid: u32) -> Result<(), FocusError> {
        Err(FocusError::Unsupported("nothing on this machine can bring a window to the front".into()))
    }
    /// Runs blocking work where it disturbs no actor.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;
}

/// Runs `work` on the host's blocking lane and gives its value; `None` if it panicked or the runtime ends.
pub async fn run<T: Send + 'static>(host: &dyn Host, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    host.blocking(Box::new(move || {
        let _ = sender.send(work());
    }))
    .await;
    receiver.await.ok()
}

/// Whether this is the name of a file that [`Host::write`] was writing.
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let tag = name.and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
    tag.is_some_and(|tag| tag.len() == 32 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether an operation failed because this process, or the machine, has no descriptor left.
pub fn is_lack_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    let codes = [rustix::io::Errno::MFILE.raw_os_error(), rustix::io::Errno::NFILE.raw_os_error()];
    // ERROR_TOO_MANY_OPEN_FILES and WSAEMFILE.
    #[cfg(not(unix))]
    let codes = [4, 10024];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Why a window may not be in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FocusError {
    /// Nothing can bring one there.
    #[error("{0}")]
    Unsupported(Cow<'static, str>),
    /// The process has none.
    #[error("process {pid} shows no window")]
    NoWindow {
        /// The process.
        pid: u32,
    },
    /// The program for it could not be started.
    #[error("{name} could not be started: {why}")]
    NotStarted {
        /// The program.
        name: String,
        /// In the system's words.
        why: String,
    },
    /// The program for it failed.
    #[error("{name} {how}")]
    Failed {
        /// The program.
        name: String,
        /// In its words, or those of the system.
        how: String,
    },
    /// The program for it took too long.
    #[error("{name} took longer than {} s and was ended", FOCUS_MAX.as_secs())]
    TooSlow {
        /// The program.
        name: String,
    },
}

/// Why a file is not read that is there; inside of an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// A symbolic link, and none is followed.
    #[error("a symbolic link, which is not followed")]
    Link,
    /// A folder, a pipe or the like.
    #[error("not a regular file")]
    NotAFile,
    /// It is larger than the caller takes.
    #[error("larger than {max} bytes")]
    TooLarge {
        /// What is taken.
        max: usize,
    },
}

impl From<NotRead> for io::Error {
    fn from(why: NotRead) -> Self {
        Self::new(io::ErrorKind::InvalidData, why)
    }
}
