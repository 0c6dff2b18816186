//! The queue between whoever logs and stderr: a slow reader of stderr never holds anybody, and a line costs its writer no
//! wake-up while lines are being written anyway.
//!
//! Lines are written in batches by a thread of its own. `tracing-appender` does nearly this, but wakes its thread for each line
//! (a tenth of the calls per second under load) and prints to stdout, which is MCP's, when it cannot end in time.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::limits::{FLUSH_MAX, LOG_BATCH_EVERY, LOG_QUEUE_MAX_LINES};

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    lines: usize,
    dropped: usize,
    /// The thread sleeps until somebody wakes it; otherwise it comes back by itself.
    idle: bool,
    ending: bool,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    moved: Condvar,
}

impl Shared {
    /// A lock whose holder panicked is entered again: at worst a line is torn.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue's owner. Dropping it writes what is queued, within a bound of time.
pub struct LogQueue(Arc<Shared>);

/// What a subscriber writes its lines to, one whole line each time.
#[derive(Clone)]
pub struct LogWriter(Arc<Shared>);

impl LogQueue {
    /// A queue to `out`, and its thread.
    pub fn start(out: impl Write + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let work = Arc::clone(&shared);
        // Without a thread the lines fill the queue and are dropped: logging is not worth an end.
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || run(&work, out));
        Self(shared)
    }

    /// A writer into it.
    pub fn writer(&self) -> LogWriter {
        LogWriter(Arc::clone(&self.0))
    }

    /// Lines dropped because stderr was slow.
    pub fn dropped(&self) -> usize {
        self.0.lock().dropped
    }
}

impl Drop for LogQueue {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.ending = true;
        self.0.moved.notify_all();
        // A stderr that nobody reads must not hold the end.
        let _ = self.0.moved.wait_timeout_while(queue, FLUSH_MAX, |queue| !queue.ended);
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queue = self.0.lock();
        if queue.lines >= LOG_QUEUE_MAX_LINES {
            queue.dropped += 1;
            return Ok(line.len());
        }
        queue.bytes.extend_from_slice(line);
        queue.lines += 1;
        let wake = mem::take(&mut queue.idle);
        drop(queue);
        if wake {
            self.0.moved.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(shared: &Shared, mut out: impl Write) {
    let mut queue = shared.lock();
    loop {
        while queue.bytes.is_empty() && !queue.ending {
            queue.idle = true;
            queue = shared.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.idle = false;
        if queue.bytes.is_empty() {
            break;
        }
        let batch = mem::take(&mut queue.bytes);
        queue.lines = 0;
        drop(queue);
        // A reader that is gone is no reason to stop taking lines.
        let _ = out.write_all(&batch).and_then(|()| out.flush());
        let pause = shared.moved.wait_timeout_while(shared.lock(), LOG_BATCH_EVERY, |queue| !queue.ending);
        queue = pause.unwrap_or_else(PoisonError::into_inner).0;
    }
    queue.ended = true;
    drop(queue);
    shared.moved.notify_all();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// Takes lines only as fast as the test receives them.
    struct Slow(mpsc::SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_written_in_order_also_the_last_ones_before_the_end() {
        let (sender, written) = mpsc::sync_channel(1000);
        let queue = LogQueue::start(Slow(sender));
        for number in 0..100 {
            queue.writer().write_all(format!("{number}\n").as_bytes()).unwrap();
            if number == 50 {
                let first = written.recv_timeout(Duration::from_secs(10)).unwrap();
                assert!(first.starts_with(b"0\n"));
            }
        }
        drop(queue);
        let rest: Vec<u8> = written.iter().flatten().collect();
        assert!(rest.ends_with(b"98\n99\n"));
    }

    #[test]
    fn a_stderr_that_nobody_reads_holds_nobody_and_the_surplus_is_counted() {
        let (sender, unread) = mpsc::sync_channel(0);
        let queue = LogQueue::start(Slow(sender));
        for _ in 0..3 * LOG_QUEUE_MAX_LINES {
            queue.writer().write_all(b"line\n").unwrap();
        }
        assert!(queue.dropped() >= LOG_QUEUE_MAX_LINES);
        drop(queue);
        drop(unread);
    }
}
