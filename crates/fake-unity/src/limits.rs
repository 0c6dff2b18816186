//! Every bound of the fake editor, with the reason for its number. Names end in their unit.
//!
//! The numbers come from the packages or from the tests. They are not copies of the gateway's limits. Where one must exceed a
//! limit of the gateway, a test in the gateway's `limits` module checks that.

use std::time::Duration;

/// One mebibyte.
const MIB: usize = 1024 * 1024;

/// Events kept for a slow reader of a fake editor; older ones are overwritten and the reader is told how many.
pub const EVENTS_MAX: usize = 8192;
/// Requests that may wait for a fake editor's main thread. One that finds the queue full is lost, as if its domain had ended.
pub const QUEUE_MAX: usize = 1024;
/// Connections that a fake editor holds; more are closed at once. Chaos runs with tens.
pub const CONNECTIONS_MAX: usize = 512;
/// Notifications waiting for one connection of a fake editor; more are dropped, as for a peer that does not read.
pub const NOTES_MAX: usize = 64;
/// Distinct keys of the `count` tool; more are an error of the caller. Ten thousand cycles of the chaos suite count 190 000.
pub const KEYS_MAX: usize = 1_000_000;
/// Longest key of the `count` tool.
pub const KEY_MAX_BYTES: usize = 256;
/// Tools of a fake editor, added ones included: one more than the gateway keeps, so that its bound can be tested.
pub const TOOLS_MAX: usize = 2049;
/// Largest schema of a tool that a fake editor makes up: as long as the longest list that the gateway hands to a client.
pub const SCHEMA_MAX_BYTES: usize = 4 * MIB;
/// Largest result of the `big` tool, and largest body of an HTTP request. It is above the largest message that the gateway
/// accepts, so that a test can exceed the gateway's bound.
pub const BIG_MAX_BYTES: usize = 128 * MIB;
/// Largest head of an HTTP request that a fake editor reads; requests have a few hundred bytes.
pub const HTTP_HEAD_MAX_BYTES: usize = 16 * 1024;
/// How long a fake editor waits for its last words to be written to peers that do not read.
pub const GOODBYE_MAX: Duration = Duration::from_millis(200);
/// Attempts of a fake editor to bind its port again after a reload (uLoop's own number), with
/// [`BIND_RETRY`] between them.
pub const BIND_ATTEMPTS_MAX: usize = 3;
/// See [`BIND_ATTEMPTS_MAX`].
pub const BIND_RETRY: Duration = Duration::from_millis(100);
/// When a fake uLoop or uMCP bridge stops, its listener closes this long after its connections. In the real package it took at
/// least 4 ms.
pub const LISTENER_OUTLIVES: Duration = Duration::from_millis(5);
/// How often a fake turbokettle bridge looks for new connections (the package's own number).
pub const ACCEPT_POLL: Duration = Duration::from_millis(50);
/// Push endpoints that a fake editor keeps: its gateway's one, and those that gateways before it left.
pub const PUSH_ENDPOINTS_MAX: usize = 8;
/// Connect timeout of the editor's push client (uLoop's own number).
pub const PUSH_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause of the editor's push client after a loss (uLoop's own number).
pub const PUSH_RETRY: Duration = Duration::from_secs(3);
/// Connects that fail in a row before a push endpoint is forgotten (uLoop looks five times).
pub const PUSH_ATTEMPTS_MAX: usize = 5;
/// Retries to replace a project file that Windows reports as open in another program.
pub const FILE_BUSY_TRIES: u8 = 5;
/// Pause before each retry. A gateway closes such a file within a millisecond, a virus scanner within a few.
pub const FILE_BUSY_WAIT: Duration = Duration::from_millis(20);
/// Longest steering line of the fake editor's process.
pub const STEERING_LINE_MAX_BYTES: usize = 4096;
