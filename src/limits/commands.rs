//! What commands of one question wait for.

use std::time::Duration;

/// How often a command looks again at what it waits for.
pub const COMMAND_LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long `holdfast result` looks for the outcome of a call, unless it is told otherwise: an editor that reloads is back by then, most
/// likely.
pub const RESULT_SOUGHT: Duration = Duration::from_secs(10);
/// How long an id that `holdfast call --id` was given counts as taken. A script that is run again after a week means a new call.
pub const CALL_ID_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Most ids in one of 256 folders: 25,600 in [`CALL_ID_KEPT`]. Each call reads one folder.
pub const CALL_IDS_MAX: usize = 100;
/// Longest wait for another process that looks at the ids. It has them for some milliseconds.
pub const CALL_IDS_LOCKED_MAX: Duration = Duration::from_secs(5);
/// Most bytes that are kept of how a call with such an id ended. With [`CALL_IDS_MAX`] that is 1.6 GB at the very most; a usual result
/// has some hundred bytes.
pub const CALL_ID_OUTCOME_MAX_BYTES: usize = 64 * 1024;
/// Most calls of a file for `holdfast batch`.
pub const BATCH_CALLS_MAX: usize = 1000;
/// Most bytes of the arguments of all its calls: they are read before the first is made, also those in files of their own.
pub const BATCH_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Most mistakes of such a file that are told at once.
pub const BATCH_MISTAKES_TOLD: usize = 10;
