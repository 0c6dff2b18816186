//! Limits of editors that connect to us.

use std::time::Duration;

/// Connections to a port of ours that have not said yet whose editor they are: an editor says it at once.
pub const ARRIVALS_MAX: usize = 16;
/// How long such a connection may take for that. Unity's main thread may be busy between the connect and its first word.
pub const ARRIVAL_WORDS_MAX: Duration = Duration::from_secs(5);
/// Bytes that it may send before that: some headers of HTTP and one message.
pub const ARRIVAL_WORDS_MAX_BYTES: usize = 16 * 1024;
/// Connections of editors that nobody here is for yet, and that are kept: so many editors may be open beside those that are used.
pub const ARRIVALS_WAITING_MAX: usize = 16;
/// How often it is looked again whether such an editor may be let in. A new client lets it in at once.
pub const ARRIVAL_LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How long a connection that is turned away may take to be told why.
pub const ARRIVAL_TOLD_MAX: Duration = Duration::from_secs(1);
/// How often a port on which editors are expected is tried again while another program has it.
pub const ARRIVAL_BIND_EVERY: Duration = Duration::from_millis(500);
/// In how many of these tries that program is looked up: each tenth second, since that may need a look at all processes.
pub const ARRIVAL_NAMED_EVERY: usize = 20;
