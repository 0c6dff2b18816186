//! Starts a program that outlives this process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::host::open_end;

/// The size above which a log is emptied before a program writes to it.
const LOG_MAX_BYTES: u64 = 1024 * 1024;

/// A program to start.
#[derive(Debug, Clone)]
pub struct Program {
    /// The executable.
    pub program: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// Variables of this process's environment that the program does not get.
    pub variables: Vec<OsString>,
}

/// Starts a program that outlives this process and has nothing of its terminal. Must be called inside of a runtime,
/// which notices when the program ends. The program's stderr is appended to the file `log`.
///
/// # Errors
/// The system's error.
pub fn start(program: &Program, log: &Path) -> io::Result<Child> {
    let Program { program, arguments, variables } = program;
    // A log that cannot be written is no reason not to start.
    let log = log_file(log).map_or_else(|_| Stdio::null(), Stdio::from);
    let mut command = Command::new(program);
    for name in variables {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    // The program does not keep this process's folder from being removed.
    command.current_dir(program.parent().unwrap_or(Path::new("/")));
    #[cfg(unix)]
    {
        // The program has a process group of its own. So a signal to the client's group, such as Ctrl-C, does not reach
        // it.
        command.process_group(0);
    }
    #[cfg(windows)]
    {
        const DETACHED_PROCESS: u32 = 0x0000_0008;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
        const CREATE_BREAKAWAY_FROM_JOB: u32 = 0x0100_0000;
        let flags = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
        command.creation_flags(flags | CREATE_BREAKAWAY_FROM_JOB);
        if let Ok(child) = command.spawn() {
            return Ok(child);
        }
        // The client may forbid its children to leave its job. In that case the program ends with the client, and a
        // successor is started.
        command.creation_flags(flags);
    }
    command.spawn()
}

/// Opens a log to append to it. A long log is emptied.
fn log_file(path: &Path) -> io::Result<std::fs::File> {
    let file = open_end(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if meta.len() > LOG_MAX_BYTES {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Whether this process runs in a container and `folder` comes from outside. If so, other programs find a program
/// through this folder, and it should not run in the container: from there it may not reach programs outside.
#[cfg(unix)]
pub fn is_shared_with_container(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_in_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    let device = |path: &Path| path.metadata().ok().map(|meta| meta.dev());
    is_in_container && folder.ancestors().find_map(device) != device(Path::new("/"))
}

/// Whether this process runs in a container and `folder` comes from outside of it. Not looked up on Windows.
#[cfg(not(unix))]
pub fn is_shared_with_container(_folder: &Path) -> bool {
    false
}
