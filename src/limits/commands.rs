//! What commands of one question wait for.

use std::time::Duration;

/// How often a command looks again at what it waits for.
pub const COMMAND_LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long `holdfast result` looks for the outcome of a call, unless it is told otherwise: an editor that reloads is back by then, most
/// likely.
pub const RESULT_SOUGHT: Duration = Duration::from_secs(10);
