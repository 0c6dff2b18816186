//! The interface to the machine, and its operating system.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc;

use crate::limits::FOCUS_MAX;
use crate::net::BoxFuture;

/// Reports changes of files: one `()` stands for all changes since the last one was received. Dropping this value stops the
/// watch.
pub struct Watch {
    /// Receives `()` after one or more changes.
    pub changes: mpsc::Receiver<()>,
    pub(super) outdated: Arc<AtomicBool>,
    pub(super) _guard: Box<dyn std::any::Any + Send>,
}

impl Watch {
    /// Returns a watch that runs as long as `guard` is not dropped.
    pub fn new(changes: mpsc::Receiver<()>, guard: Box<dyn std::any::Any + Send>) -> Self {
        Self { changes, outdated: Arc::default(), _guard: guard }
    }

    /// Whether a watched folder was created or removed. If so, a new watch is needed to see what is in it.
    pub fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Acquire)
    }
}

/// Whether a process is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The process is alive, possibly as a process of another user.
    Alive,
    /// There is no such process, or it is a zombie.
    Dead,
    /// The system does not report whether the process is alive.
    Unknown,
}

/// A process that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The name of its executable. On Linux: the name of its main thread (which a program can choose), and the names of the
    /// programs at the beginning of its command line.
    pub names: Vec<String>,
    /// When it began, by the wall clock.
    pub began: SystemTime,
}

/// The process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// The pid of the process.
    pub pid: u32,
    /// The name of its executable.
    pub name: String,
    /// Its command line; empty if the system does not report it. It may hold secrets of that program, so it does not
    /// cross to another process. In another process it is empty.
    #[serde(skip)]
    pub command_line: Vec<String>,
}

/// Whose process has connected to a port of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// This process. It is one of this user, as far as the system tells the users of processes.
    Process(Owner),
    /// A process of another user.
    OfOtherUser,
    /// The system does not tell.
    Untold,
}

/// The machine. Its methods may block for milliseconds, so actors call them inside [`Host::blocking`].
pub trait Host: Send + Sync + 'static {
    /// Reads a regular file of at most `max` bytes, without following a link.
    ///
    /// # Errors
    /// The system's error; `InvalidData` if the path is a link or not a regular file, or if the file is larger.
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>>;
    /// Reads the first `head` and the last `tail` bytes of a regular file.
    ///
    /// # Errors
    /// The system's error; `Unsupported` if this machine has no such files.
    fn ends(&self, _path: &Path, _head: usize, _tail: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether anything exists at this path. A link counts even if its target does not exist.
    fn exists(&self, path: &Path) -> bool;
    /// Writes a private file atomically (temporary file, then rename), and creates its folder if needed.
    ///
    /// # Errors
    /// The system's error.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Writes a file that every user of the machine can read, atomically. Its folder must exist.
    ///
    /// # Errors
    /// The system's error.
    fn publish(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(path, bytes)
    }
    /// Appends a line to a private regular file in one write. Does not follow a link. Creates the file and its folder if needed.
    /// If a full disk cut the last line short, a new line is begun first. If `line` is empty, nothing is written: the result only
    /// says whether a line could be.
    ///
    /// # Errors
    /// The system's error; `InvalidData` if the path is not a regular file; `WriteZero` if only a part was written.
    fn append_line(&self, path: &Path, line: &str) -> io::Result<()>;
    /// Moves a file or folder.
    ///
    /// # Errors
    /// The system's error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// The system's error.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns the files of a folder with the times of their last changes, in any order.
    ///
    /// # Errors
    /// The system's error.
    fn list(&self, folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>>;
    /// Whether a process is alive.
    fn liveness(&self, pid: u32) -> Liveness;
    /// Returns the names of a living process and when it began; `None` if the system does not report both.
    fn process(&self, _pid: u32) -> Option<Process> {
        None
    }
    /// Returns the time of the last change at this path; `None` if nothing exists there or the system does not report the time.
    fn changed(&self, _path: &Path) -> Option<SystemTime> {
        None
    }
    /// Returns the process that listens on a loopback port; `None` if no process does or the system does not report it.
    fn port_owner(&self, port: u16) -> Option<Owner>;
    /// Returns the same as [`port_owner`](Host::port_owner), but faster if the process is the one with the pid `_expected`.
    fn port_owner_near(&self, port: u16, _expected: u32) -> Option<Owner> {
        self.port_owner(port)
    }
    /// Returns whose process has connected to a port of ours. `from`: the address of its end.
    fn caller(&self, _from: SocketAddr, _to: u16) -> Caller {
        Caller::Untold
    }
    /// Returns the process with this pid as the owner of what it serves; `None` if there is none or the system does not report it.
    fn process_owner(&self, _pid: u32) -> Option<Owner> {
        None
    }
    /// Returns those of these loopback ports on which the process `pid` listens.
    fn ports_of(&self, pid: u32, ports: RangeInclusive<u16>) -> Vec<u16> {
        ports.filter(|port| self.port_owner(*port).is_some_and(|owner| owner.pid == pid)).collect()
    }
    /// Watches files. Neither the files nor their folders need to exist. Returns `None` if watching is not possible. See also
    /// [`Watch::is_outdated`].
    fn watch(&self, files: &[PathBuf]) -> Option<Watch>;
    /// Whether this process cannot open another file descriptor.
    fn lacks_descriptors(&self) -> bool {
        false
    }
    /// Returns the folder that this environment variable names, otherwise the one of this name in the user's home. `None` if there is
    /// no home.
    fn user_folder(&self, _variable: &str, _name: &str) -> Option<PathBuf> {
        None
    }
    /// Returns random bytes that differ from all others. Somebody may be able to guess them, so no secret is made of
    /// them.
    fn random(&self) -> [u8; 16];
    /// Returns random bytes that nobody can guess, for a secret.
    ///
    /// # Errors
    /// The system has no source of such bytes.
    fn secret(&self) -> io::Result<[u8; 32]> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::from)?;
        Ok(bytes)
    }
    /// Returns the time of the wall clock, for ages of files and for people.
    fn now(&self) -> SystemTime;
    /// Whether this machine has a program that can bring a window to the front.
    fn can_focus(&self) -> bool {
        false
    }
    /// Brings a window of the process to the front. May block for seconds.
    ///
    /// # Errors
    /// The reason why the window may not be in front.
    fn focus(&self, _pid: u32) -> Result<(), FocusError> {
        Err(FocusError::Unsupported("nothing on this machine can bring a window to the front".into()))
    }
    /// Runs work that blocks on other threads than the actors'.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;
}

/// Runs `work` with [`Host::blocking`] and returns its value; `None` if it panicked or the runtime is ending.
pub async fn run<T: Send + 'static>(host: &dyn Host, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    host.blocking(Box::new(move || {
        let _ = sender.send(work());
    }))
    .await;
    receiver.await.ok()
}

/// Whether a file has the name of a temporary file of [`Host::write`].
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let tag = name.and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
    tag.is_some_and(|tag| tag.len() == 32 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether an operation failed because this process or the machine has no file descriptor left.
pub fn is_lack_of_descriptors(error: &io::Error) -> bool {
    #[cfg(unix)]
    let codes = [rustix::io::Errno::MFILE.raw_os_error(), rustix::io::Errno::NFILE.raw_os_error()];
    // ERROR_TOO_MANY_OPEN_FILES and WSAEMFILE.
    #[cfg(not(unix))]
    let codes = [4, 10024];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Whether the system refused an operation on a port, because this process may not do it: in a sandbox, or a port that Windows reserves.
pub fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The reason why a window may not be in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FocusError {
    /// Nothing on this machine can bring a window to the front.
    #[error("{0}")]
    Unsupported(Cow<'static, str>),
    /// The process has no visible window.
    #[error("process {pid} shows no window")]
    NoWindow {
        /// The pid of the process.
        pid: u32,
    },
    /// The program that brings windows to the front could not be started.
    #[error("{name} could not be started: {why}")]
    NotStarted {
        /// The name of the program.
        name: String,
        /// The system's error.
        why: String,
    },
    /// The program that brings windows to the front failed.
    #[error("{name} {how}")]
    Failed {
        /// The name of the program.
        name: String,
        /// The program's own message, or the system's.
        how: String,
    },
    /// The program took longer than [`FOCUS_MAX`].
    #[error("{name} took longer than {} s and was ended", FOCUS_MAX.as_secs())]
    TooSlow {
        /// The name of the program.
        name: String,
    },
}

/// Why an existing file is not read. It is wrapped in an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// It is a symbolic link, which is not followed.
    #[error("a symbolic link, which is not followed")]
    Link,
    /// It is a folder, a pipe or another special file.
    #[error("not a regular file")]
    NotAFile,
    /// It is larger than the caller allows.
    #[error("larger than {max} bytes")]
    TooLarge {
        /// The limit in bytes.
        max: usize,
    },
}

impl From<NotRead> for io::Error {
    fn from(why: NotRead) -> Self {
        Self::new(io::ErrorKind::InvalidData, why)
    }
}

/// The operating system, as far as folders and paths depend on it. It is a value, so that tests can check one system's rules on
/// another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and every system that is neither Windows nor macOS.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl System {
    /// The system on which this runs.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };

    /// Whether a path is absolute by the rules of this system. Exact if it is the system on which the program runs. For another
    /// system, which only tests ask about, a `/` or a drive at the beginning of the path decides.
    pub fn is_absolute(self, path: &Path) -> bool {
        if self == Self::HERE {
            return path.is_absolute();
        }
        let text = path.to_string_lossy();
        text.starts_with('/') || text.get(1..3) == Some(":\\")
    }
}
