//! The bounds of the log: of its queue, of its files, and of the parts that `holdfast logs` and `holdfast report` show.

use std::time::Duration;

use super::{LINKS_MAX, MIB};

/// Log lines that may wait for a slow stderr before new ones are dropped and counted.
pub const LOG_QUEUE_MAX_LINES: usize = 4096;
/// Pause between two writes of log lines: lines that arrive in the meantime share the next write, and wake no thread.
pub const LOG_BATCH_EVERY: Duration = Duration::from_millis(5);
/// Longest file of a gateway's log on disk. There are two files for each gateway, so at least the newest half of the
/// lines is always there. That is more than a thousand lines: an afternoon of calls and reloads.
pub const LOG_FILE_MAX_BYTES: usize = MIB / 2;
/// Gateways whose logs are kept, the ones written to last. Three clients that are started six times a day make 18 logs. At most 20 MiB.
pub const LOG_GATEWAYS_MAX: usize = 20;
/// Lines that are repeated at the beginning of each file of a log: the line that tells which gateway it is, and the
/// last lines that name a project. A hub has at most as many projects at a time as links. The other half is for
/// projects whose links were closed since.
pub const LOG_HEADS_MAX: usize = 2 * LINKS_MAX;
/// Lines that `holdfast logs` shows if no number is given: some screens.
pub const LOG_LINES_SHOWN: usize = 100;
/// How long `holdfast logs -f` goes on after the record of a gateway is gone, while a process has its pid: it may be another process. A
/// gateway ends within a second after it has removed its record.
pub const LOG_END_MAX: Duration = Duration::from_secs(5);
/// Gateways whose logs and metrics `holdfast report` collects: those of the session with the fault, and of a few
/// sessions beside it.
pub const REPORT_GATEWAYS_MAX: usize = 4;
/// Bytes of each log in a report: the end of it, which has the fault. Compressed, a report stays below the 25 MB of an
/// issue's attachment.
pub const REPORT_LOG_MAX_BYTES: usize = MIB / 4;
/// How long a gateway has to answer when a report asks for its metrics: a running one takes milliseconds.
pub const REPORT_SCRAPE_MAX: Duration = Duration::from_secs(2);
/// Longest metrics in a report: ten times those of one gateway.
pub const REPORT_SCRAPE_MAX_BYTES: usize = MIB;
