//! The queue between the code that logs and stderr. A slow reader of stderr does not block the code that logs, and a
//! line wakes no thread while other lines are being written.
//!
//! A separate thread writes lines in batches. `tracing-appender` is similar, but it wakes its thread for each line
//! (which costs a tenth of the calls per second under load), and if it cannot end in time it prints to stdout, which is
//! for MCP only.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::limits::FLUSH_MAX;
use crate::limits::logs::{LOG_BATCH_EVERY, LOG_QUEUE_MAX_LINES};

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    lines: usize,
    /// Lines that were dropped since the last batch, because the batch was full.
    dropped: u64,
    /// Whether the writing thread sleeps until it is woken. If not, it looks for lines again by itself.
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
    /// Locks the queue, even if a panic has poisoned the lock: at worst, one line is cut.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of the queue. Dropping it writes the queued lines, but waits at most [`FLUSH_MAX`] for that.
pub struct LogQueue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Writes log lines into the queue. The subscriber must write one whole line at a time.
#[derive(Clone)]
pub struct LogWriter(Arc<Shared>);

impl LogQueue {
    /// Returns a queue whose lines go to `out`, and starts the writing thread. `lost` makes a line that tells how many
    /// lines were lost. It stands in their place.
    pub fn start(out: impl Write + Send + 'static, lost: fn(u64) -> String) -> Self {
        let shared = Arc::<Shared>::default();
        let work = Arc::clone(&shared);
        // If the thread cannot be started, the queue fills up and lines are dropped: a failure of logging must not end
        // the gateway.
        let write = move || {
            let mut out = out;
            // After a panic, the batch that was being written is lost, but later lines are written.
            while std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&work, &mut out, lost))).is_err() {}
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(write).ok();
        Self { shared, thread }
    }

    /// Returns a writer into the queue.
    pub fn writer(&self) -> LogWriter {
        LogWriter(Arc::clone(&self.shared))
    }
}

impl Drop for LogQueue {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.ending = true;
        self.shared.moved.notify_all();
        // A stderr that nobody reads must not block the exit, so the wait is limited.
        let waited = self.shared.moved.wait_timeout_while(queue, FLUSH_MAX, |queue| !queue.ended);
        let ended = waited.is_ok_and(|(_, late)| !late.timed_out());
        if ended && let Some(thread) = self.thread.take() {
            // The thread has nothing left to do.
            let _ = thread.join();
        }
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

fn run(shared: &Shared, mut out: impl Write, lost: fn(u64) -> String) {
    // Lost lines of earlier batches that no line has told yet.
    let mut untold = 0;
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
        let mut batch = mem::take(&mut queue.bytes);
        let lines = mem::take(&mut queue.lines) as u64;
        let dropped = mem::take(&mut queue.dropped);
        drop(queue);
        if untold > 0 {
            batch.splice(..0, lost(untold).into_bytes());
        }
        // These lines came when the batch was full.
        if dropped > 0 {
            batch.extend_from_slice(lost(dropped).as_bytes());
        }
        // If the reader of stderr is gone, later lines are still taken from the queue.
        if out.write_all(&batch).and_then(|()| out.flush()).is_ok() {
            untold = 0;
        } else {
            untold += lines + dropped;
        }
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

    /// An output that accepts writes only as fast as the test receives them.
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
        let queue = LogQueue::start(Slow(sender), told);
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
    fn a_stderr_that_nobody_reads_holds_nobody() {
        let (sender, unread) = mpsc::sync_channel(0);
        let queue = LogQueue::start(Slow(sender), told);
        for _ in 0..3 * LOG_QUEUE_MAX_LINES {
            queue.writer().write_all(b"line\n").unwrap();
        }
        drop(queue);
        drop(unread);
    }

    fn told(count: u64) -> String {
        format!("{count} lost\n")
    }

    #[test]
    fn what_a_slow_reader_loses_is_told_where_it_would_have_stood() {
        let (sender, written) = mpsc::sync_channel(0);
        let queue = LogQueue::start(Slow(sender), told);
        for _ in 0..3 * LOG_QUEUE_MAX_LINES {
            queue.writer().write_all(b"line\n").unwrap();
        }
        let reading = std::thread::spawn(move || written.iter().flatten().collect::<Vec<u8>>());
        queue.writer().write_all(b"next\n").unwrap();
        drop(queue);
        let text = String::from_utf8(reading.join().unwrap()).unwrap();
        let (told, kept): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.ends_with(" lost"));
        let lost: u64 = told.iter().filter_map(|line| line.strip_suffix(" lost")?.parse::<u64>().ok()).sum();
        assert!(lost > 0 && text.starts_with("line\n"), "{told:?}");
        assert_eq!(lost + kept.len() as u64, 3 * LOG_QUEUE_MAX_LINES as u64 + 1);
    }

    /// An output that fails until a batch with `works` comes.
    struct Broken(mpsc::Sender<Vec<u8>>, bool);

    impl Write for Broken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 |= bytes.windows(5).any(|part| part == b"works");
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            if self.1 { Ok(bytes.len()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_loses_is_told_as_soon_as_it_takes_a_line() {
        let (sender, written) = mpsc::channel();
        let queue = LogQueue::start(Broken(sender, false), told);
        for (line, batch) in
            [("a\nb\n", "a\nb\n"), ("c\n", "1 lost\nc\n"), ("works\n", "2 lost\nworks\n"), ("d\n", "d\n")]
        {
            queue.writer().write_all(line.as_bytes()).unwrap();
            let given = written.recv_timeout(Duration::from_secs(60)).unwrap();
            assert_eq!(String::from_utf8_lossy(&given), batch);
        }
    }
}
