//! Checks that the system gives the threads and file descriptors that every start needs. A runtime that gets none later panics in
//! the middle of a session, so both are tried before the session begins.

use std::io;

use super::{Exit, output};
use crate::limits::{START_DESCRIPTORS, START_THREADS};
use crate::platform::host;

/// Starts as many threads as a session starts with, and ends them again.
pub fn spare_threads() -> io::Result<()> {
    let mut held = Vec::with_capacity(START_THREADS);
    for _ in 0..START_THREADS {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // Each thread runs until all are started: it ends when its sender is dropped.
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = ended.recv();
        })?;
        held.push((end, thread));
    }
    for (end, thread) in held {
        drop(end);
        let _ = thread.join();
    }
    Ok(())
}

/// Opens as many file descriptors as a session starts with, and closes them again.
pub fn spare_descriptors() -> io::Result<()> {
    let pipes = (0..START_DESCRIPTORS.div_ceil(2)).map(|_| io::pipe());
    pipes.collect::<io::Result<Vec<_>>>().map(drop)
}

/// Raises this process's limit on open files to at least `wanted`, as far as the system lets it. Without that, a service accepts
/// fewer connections.
#[cfg(unix)]
pub fn raise_descriptors(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if limit.current.is_some_and(|current| current < most) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum });
    }
}

/// Windows has no such limit.
#[cfg(not(unix))]
pub fn raise_descriptors(_wanted: u64) {}

pub fn refused(error: &io::Error) -> Exit {
    let fix = if host::is_lack_of_descriptors(error) {
        format!(
            "holdfast: the system gave it too few file descriptors ({error}); nothing was done. It needs {START_DESCRIPTORS} beside \
             those that are open already: raise the limit on open files (ulimit -n) where it is started"
        )
    } else {
        format!(
            "holdfast: could not create threads ({error}); nothing was done. Raise the limit on processes (ulimit -u, or that \
             of its container), or end programs that run, and start it again"
        )
    };
    output::complain(&fix);
    Exit::NoResources
}

/// Returns the runtime of a subcommand. It has two workers, so that a stuck handler does not stop everything else.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    spare_descriptors()?;
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
