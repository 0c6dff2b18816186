//! The process's own stdin, stdout and stderr, in whatever mode the launcher has left them.
//!
//! `O_NONBLOCK` belongs to the open file, not to the process: a program that shares a pipe with holdfast (Node and npm do) can
//! set it at any time. Reads and writes then fail with `WouldBlock`. The functions here wait until there is something to read or
//! room to write, and try again. Nothing is buffered: when a write has returned, its bytes have left the process.

use std::io::{self, Read, Write};

/// stdin. There must be only one reader: bytes that one reader takes are lost to any other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stdin;

/// stdout.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stdout;

/// stderr.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stderr;

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    /// Repeats an operation that a signal interrupted. If the descriptor is non-blocking, waits for `ready` and repeats it too.
    fn patiently<T>(
        fd: BorrowedFd<'_>,
        ready: PollFlags,
        mut operation: impl FnMut() -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match operation() {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match poll(&mut [PollFd::from_borrowed_fd(fd, ready)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
                done => return Ok(done?),
            }
        }
    }

    pub fn read(bytes: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        patiently(stdin.as_fd(), PollFlags::IN, || rustix::io::read(&stdin, &mut *bytes))
    }

    pub fn has_hung_up(fd: impl AsFd) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = poll(&mut fds, Some(&at_once)).is_ok();
        let [fd] = fds;
        polled && fd.revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Writes without blocking. The flag applies only to this write, and does not affect other programs that share the pipe.
    #[cfg(target_os = "linux")]
    pub fn write_at_once(to: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        use rustix::io::{ReadWriteFlags, pwritev2};
        // The offset -1 means the current position, which is the only one that a pipe has.
        Ok(pwritev2(to, &[io::IoSlice::new(bytes)], u64::MAX, ReadWriteFlags::NOWAIT)?)
    }

    pub fn write(to: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        patiently(to.as_fd(), PollFlags::OUT, || rustix::io::write(&to, bytes))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::{self, Read as _, Write};

    pub fn read(bytes: &mut [u8]) -> io::Result<usize> {
        io::stdin().read(bytes)
    }

    pub fn has_hung_up<T>(_: T) -> bool {
        false
    }

    pub fn write(mut to: impl Write, bytes: &[u8]) -> io::Result<usize> {
        let count = to.write(bytes)?;
        to.flush()?;
        Ok(count)
    }
}

/// Whether the other end of stdin is closed, even if bytes from it are still unread. Always false on Windows, which does not
/// report the end before those bytes are read.
pub fn stdin_hung_up() -> bool {
    system::has_hung_up(io::stdin())
}

/// Whether the other end of stdout is closed, even if nothing was written since. Always false on Windows, which does not report
/// it.
pub fn stdout_hung_up() -> bool {
    system::has_hung_up(io::stdout())
}

/// Writes as many bytes as possible without blocking. Returns the number of bytes written.
pub type WriteAtOnce = Box<dyn Fn(&[u8]) -> io::Result<usize> + Send + Sync>;

/// Returns a function that writes to stdout without blocking. `None` if the system has no such write.
pub fn stdout_at_once() -> Option<WriteAtOnce> {
    #[cfg(target_os = "linux")]
    return Some(Box::new(|bytes| system::write_at_once(io::stdout(), bytes)));
    #[cfg(not(target_os = "linux"))]
    None
}

impl Read for Stdin {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        system::read(bytes)
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        system::write(io::stdout(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        system::write(io::stderr(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
