//! The bounds of MCP over HTTP.

use std::time::Duration;

use super::{CLIENT_LINE_MAX_BYTES, LATE_RESULTS_MAX_BYTES, OPEN_CALLS_MAX_BYTES};

/// Messages of HTTP clients that are served at once, streams included. That is two hundred clients, each with a stream and
/// a call, and some hundred calls whose clients are gone.
pub const POSTS_MAX: usize = 512;
/// Open connections of HTTP clients: one for each message that may be served, and half as many again that are kept for
/// the next message. A connection on which no request is open gives its place to a new one.
pub const HTTP_CONNECTIONS_MAX: usize = 768;
/// Descriptors that a hub with HTTP asks the system for: its connections, and as many as any hub needs.
pub const HTTP_DESCRIPTORS: u64 = HTTP_CONNECTIONS_MAX as u64 + 512;
/// How long a connection is kept between two requests. Most clients keep theirs for a shorter time, so the server
/// rarely closes one at the moment at which a client sends its next request.
pub const HTTP_IDLE_MAX: Duration = Duration::from_secs(75);
/// How long the body of a request may take to arrive. The largest body takes this time at 4 Mbit/s.
pub const HTTP_BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a client may read nothing of its answer, or less than 64 KiB, before it counts as gone.
pub const HTTP_STALL_MAX: Duration = Duration::from_secs(30);
/// Largest body of a request: what a local client may send on one line.
pub const HTTP_REQUEST_MAX_BYTES: usize = CLIENT_LINE_MAX_BYTES;
/// Bytes of all bodies that were read and not answered: the arguments of all open calls may not have more.
pub const HTTP_BODIES_MAX_BYTES: usize = OPEN_CALLS_MAX_BYTES;
/// How long an answer may take before its response becomes a stream: proxies and clients give up a response that does not begin.
pub const HTTP_WHOLE_WITHIN: Duration = Duration::from_secs(5);
/// How often a stream without other messages gets a comment, so that nothing on the way takes it for dead. The shortest usual time
/// is 30 s.
pub const HTTP_KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// The times of comments in a stream whose client closed its sending side. A client that closed the whole connection
/// refuses the first comment as soon as that arrives, and then the next one fails. A client that still reads ignores
/// them.
pub const HTTP_PROBES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_secs(1)];
/// How long a refused client is told to wait, because too much is open or because the hub ends.
pub const HTTP_RETRY_AFTER: Duration = Duration::from_secs(2);
/// Longest and shortest token. A token of 16 characters cannot be guessed, and one of this length still fits into a head.
pub const HTTP_TOKEN_MAX_BYTES: usize = 512;
/// See [`HTTP_TOKEN_MAX_BYTES`].
pub const HTTP_TOKEN_MIN_BYTES: usize = 16;
/// Age up to which the hub's knowledge of running editors is good enough for a message that may use all editors.
pub const HTTP_LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long such a message waits for a new look if no editor is known to run. Also how long a look waits for an answer
/// of the editors that it found.
pub const HTTP_LOOK_MAX: Duration = Duration::from_secs(2);
/// Bytes kept of results that were written to a connection over HTTP: more than one of the largest answers.
pub const WRITTEN_RESULTS_MAX_BYTES: usize = LATE_RESULTS_MAX_BYTES / 2;
/// How long such a result is kept. A client whose connection broke at the moment of its answer asks within seconds, or
/// when its model has thought about it.
pub const WRITTEN_RESULT_MAX_AGE: Duration = Duration::from_secs(600);
