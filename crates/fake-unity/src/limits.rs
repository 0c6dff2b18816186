//! Bounds of the fake editor, with the reason for each number. Names of sizes in bytes end in `_BYTES`. Bounds that belong to one
//! package only, such as those of holdfast's own protocol, are in that package's module.
//!
//! The numbers come from the packages or from the tests. They are not copies of the gateway's limits. Where one must exceed a
//! limit of the gateway, a test in the gateway's `limits` module checks that.

use std::ops::Range;
use std::time::Duration;

/// One mebibyte.
const MIB: usize = 1024 * 1024;

/// Events kept for a slow reader of a fake editor; older ones are overwritten and the reader is told how many.
pub const EVENTS_MAX: usize = 8192;
/// Requests that may wait for a fake editor's main thread. If the queue is full, a request is lost, as if its domain had ended.
pub const QUEUE_MAX: usize = 1024;
/// Connections that a fake editor keeps open; more are closed at once. Chaos tests have tens of them.
pub const CONNECTIONS_MAX: usize = 512;
/// Notifications that may wait for one connection of a fake editor, or for one push endpoint; more are dropped, as for a peer
/// that does not read. Also the orders that may wait for the editor's runtime.
pub const NOTES_MAX: usize = 64;
/// Distinct keys of the `count` tool; more are an error of the caller. Ten thousand cycles of the chaos suite count 190 000.
pub const KEYS_MAX: usize = 1_000_000;
/// Longest key of the `count` tool.
pub const KEY_MAX_BYTES: usize = 256;
/// Tools of a fake editor, added ones included: one more than the gateway keeps, so that its bound can be tested.
pub const TOOLS_MAX: usize = 2049;
/// Largest schema that a fake editor makes up for a tool: as large as the longest tool list that the gateway accepts.
pub const SCHEMA_MAX_BYTES: usize = 4 * MIB;
/// Largest result of the `big` tool, and largest body of an HTTP request. It is above the largest message that the gateway
/// accepts, so that a test can exceed the gateway's bound.
pub const BIG_MAX_BYTES: usize = 128 * MIB;
/// Largest head of an HTTP request that a fake editor reads; requests have a few hundred bytes.
pub const HTTP_HEAD_MAX_BYTES: usize = 16 * 1024;
/// How long a fake editor, before it leaves, waits for its last messages to be written to peers that do not read.
pub const GOODBYE_MAX: Duration = Duration::from_millis(200);
/// Ports that are used for fake editors and in tests: above those that are well known, and below those of Unity-MCP's servers
/// (20000 to 29999) and those that Linux (32768), macOS and Windows ([`HANDED_OUT_FROM`]) hand out.
pub const OWN_PORTS: Range<u16> = 10_240..20_000;
/// Distance of two such ports: more than [`PORTS_BEHIND`].
pub const PORTS_EACH: usize = 16;
/// The first port that macOS and Windows hand out.
pub const HANDED_OUT_FROM: u16 = 49_152;
/// How long a fake editor tries to listen on its port at its start, and one of uLoop before v2.0 after a reload: its three attempts,
/// [`BIND_RETRY`] apart.
pub const BIND_WAIT: Duration = Duration::from_millis(200);
/// Pause between the attempts to bind (see [`BIND_WAIT`]), and after an accept that failed.
pub const BIND_RETRY: Duration = Duration::from_millis(100);
/// Pause between the attempts of a bridge that connects to the gateway.
pub const DIAL_RETRY: Duration = Duration::from_millis(50);
/// After how long without a connection a simulated user presses Connect: late enough that an editor which comes back by itself, as
/// after a reload, needs no user.
pub const USER_CONNECTS: Duration = Duration::from_secs(1);
/// Ports behind its own one that a fake uLoop or holdfast bridge tries (the packages' own number).
pub const PORTS_BEHIND: u16 = 9;
/// How long a fake bridge of holdfast's own package tries to get its port back after a reload (the package's own number).
pub const PORT_WAIT: Duration = Duration::from_secs(3);
/// When a fake uLoop or uMCP bridge stops, its listener closes this long after its connections. In the real package it took at
/// least 4 ms.
pub const LISTENER_OUTLIVES: Duration = Duration::from_millis(5);
/// How often a fake turbokettle bridge looks for new connections (the package's own number).
pub const ACCEPT_POLL: Duration = Duration::from_millis(50);
/// Push endpoints that a fake editor keeps: its current gateway's, and those that earlier gateways left behind.
pub const PUSH_ENDPOINTS_MAX: usize = 8;
/// Connect timeout of the editor's push client (uLoop's own number).
pub const PUSH_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause of the editor's push client after a loss (uLoop's own number).
pub const PUSH_RETRY: Duration = Duration::from_secs(3);
/// Failed attempts to connect, in a row, after which a push endpoint is forgotten (uLoop tries five times).
pub const PUSH_ATTEMPTS_MAX: usize = 5;
/// Retries to replace a project file that Windows reports as open in another program.
pub const FILE_BUSY_TRIES: u8 = 5;
/// Pause before each retry. A gateway closes such a file within a millisecond, a virus scanner within a few.
pub const FILE_BUSY_WAIT: Duration = Duration::from_millis(20);
/// Most levels of an odd answer: far more than any reader takes, and a message of a megabyte.
pub const ODD_LEVELS_MAX: usize = 500_000;
/// Longest line that the fake editor's process reads from stdin as a command; a longer one is split.
pub const STEERING_LINE_MAX_BYTES: usize = 4096;
/// Files and folders below `Assets` in the world of a fake editor: far more than a demonstration makes.
pub const ASSETS_MAX: usize = 2_000;
/// Their size together: what an AI client writes in a long session of tests, and little memory.
pub const ASSETS_MAX_BYTES: usize = 32 * MIB;
/// Deepest folder below the project's: a path has at most 200 characters.
pub const ASSET_LEVELS_MAX: usize = 100;
/// Size, as JSON, of the open scenes and the open prefab of a fake editor. With it all answers about them stay below the package's own
/// bound of a result, and so many states can be kept for undo.
pub const SCENES_MAX_BYTES: usize = MIB;
/// Deepest GameObject: objects are visited by recursion, and a file of a scene is JSON, whose reader takes 128 levels.
pub const SCENE_LEVELS_MAX: usize = 48;
/// Open scenes.
pub const OPEN_SCENES_MAX: usize = 16;
/// Steps that can be undone. Each keeps a state of the scenes.
pub const UNDO_MAX: usize = 32;
/// Entries of the console; older ones are dropped (the package's own number for an editor whose console cannot be read).
pub const CONSOLE_MAX: usize = 1000;
/// Longest message of the console that is kept, in bytes (the package's own number for an answer).
pub const CONSOLE_TEXT_MAX_BYTES: usize = 64 * 1024;
/// Packages of the simulated project.
pub const PACKAGES_MAX: usize = 200;
