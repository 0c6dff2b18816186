//! Every bound of the gateway, with the reason for its number. Names end in their unit.
//!
//! Nothing else in the gateway invents a bound: a queue, a size, a wait or a number of attempts stands here or does not exist.

use std::time::Duration;

/// One mebibyte.
const MIB: usize = 1024 * 1024;

// ---- The client's side (stdin, stdout) -----------------------------------------------------------------------------

/// Longest line read from the client. Official SDKs send whole files as arguments; 16 MiB is above anything seen.
/// A longer line is discarded while its `id` is looked for, and answered.
pub const CLIENT_LINE_MAX_BYTES: usize = 16 * MIB;
/// Most messages of a batch. Each is held as a slice of 16 bytes until all are read; a line of the shortest would be half as many
/// slices as it has bytes.
pub const BATCH_MESSAGES_MAX: usize = 100_000;
/// Longest message written to the client. The official TypeScript SDK ends the session at 10 MiB.
pub const CLIENT_MESSAGE_MAX_BYTES: usize = 8 * MIB;
/// Results whose JSON is larger than this go to a file that the answer names; leaves room for escaping below the cap.
pub const RESULT_INLINE_MAX_BYTES: usize = 6 * MIB;
/// The same for a session whose full queue would else stop the editor's answers to other sessions: with all of its requests open it
/// then holds 4 MiB more.
pub const RESULT_BEHIND_MAX_BYTES: usize = 16 * 1024;
/// Smallest limit of a result's text that a user may set for a client: below it the note about the cut would be most of it.
pub const RESULT_TEXT_MIN_BYTES: usize = 4096;
/// Images and audio of one result that go to files of their own where a client does not take them; a tool returns a few. More
/// would push other results out of the folder.
pub const RESULT_MEDIA_FILES_MAX: usize = 16;
/// Deepest nesting of JSON accepted from anyone. Real messages stay below 20; 128 is also serde_json's own limit.
pub const JSON_DEPTH_MAX: usize = 128;
/// Longest request id kept (JSON text). Ids are echoed and held for each open request.
pub const REQUEST_ID_MAX_BYTES: usize = 1024;
/// Requests open at once. Beyond it a call is answered "not executed: busy". Clients run tens in parallel at the most.
pub const OPEN_REQUESTS_MAX: usize = 256;
/// Clients' sessions of one process. A person runs some; with all of them at their bounds the open requests are 16 Ki.
pub const SESSIONS_MAX: usize = 64;
/// Links of one process that lead to a project each: more editors than a machine can run.
pub const LINKS_MAX: usize = 16;
/// Bytes of arguments of all calls that are open. Each may have a longest line, and waits for up to two minutes while Unity is away:
/// without a bound of their sum they could take 4 GiB. Beyond it a call is answered "not executed: busy".
pub const OPEN_CALLS_MAX_BYTES: usize = 4 * CLIENT_LINE_MAX_BYTES;
/// The same of one session, where there are several: a longest line, so that four are needed to fill what there is for all.
pub const SESSION_CALLS_MAX_BYTES: usize = CLIENT_LINE_MAX_BYTES;
/// How long a session for which no editor was found is told so before it is looked for again: a look reads some files.
pub const ROUTE_LOOK_EVERY: Duration = Duration::from_secs(1);
/// Notifications that may wait for a slow stdout before the oldest kinds are coalesced or dropped.
pub const STDOUT_NOTIFICATIONS_MAX: usize = 256;
/// Lines that wait for a slow stdout from which on nothing more is read: an answer to each open request, and as much again.
pub const STDOUT_QUEUE_MAX_LINES: usize = 2 * OPEN_REQUESTS_MAX;
/// Bytes waiting for a slow stdout above which the gateway stops reading results from the editor.
pub const STDOUT_QUEUE_HIGH_BYTES: usize = 16 * MIB;
/// Lines below this size share one write to stdout (a pipe takes 64 KiB at once); a longer one has its own and is not copied.
pub const SHARED_WRITE_BYTES: usize = 64 * 1024;
/// Messages from outside in one mailbox at once.
pub const MAILBOX_MESSAGES_MAX: usize = 64;
/// Bytes of such messages in one mailbox at once: one longest line, and as much again for small ones.
pub const MAILBOX_BYTES_MAX: usize = 2 * CLIENT_LINE_MAX_BYTES;
/// How long new requests wait in the front while no session actor lives, before they are answered "internal".
pub const SESSION_ABSENCE_MAX: Duration = Duration::from_secs(2);
/// How long they wait for the first session actor. It starts in milliseconds; on a machine that gives us hardly any processor it took 2.7 s,
/// and nothing had failed. Clients give up an `initialize` after ten seconds or more.
pub const FIRST_SESSION_MAX: Duration = Duration::from_secs(10);
/// Longest `instructions` text (clients cut at 2 KB).
pub const INSTRUCTIONS_MAX_BYTES: usize = 2048;
/// Longest tool description handed to a client (Claude Code cuts at 2 KB).
pub const DESCRIPTION_MAX_BYTES: usize = 2048;
/// Longest tool name handed to a client: with a client's own `mcp__server__` prefix it stays below 64.
pub const TOOL_NAME_MAX_BYTES: usize = 48;
/// Longest input schema of one tool handed to a client, as compact JSON. The largest seen has 12 KiB, and a model reads all of it;
/// one of 500 KB is listed whole, since that is for the client to judge.
pub const TOOL_SCHEMA_MAX_BYTES: usize = 512 * 1024;
/// A longer schema is made fit a property at a time. As a tree of values it takes ten times its text, and what is freed of that is
/// not given back to the system as long as anything younger lives.
pub const SCHEMA_WHOLE_MAX_BYTES: usize = 16 * 1024;
/// Longest `tools` array of the editor's tools; with ours it stays far below the longest message.
pub const TOOLS_LIST_MAX_BYTES: usize = 4 * MIB;
/// Log lines about the nonsense of one peer in [`LOG_REPEATS_WINDOW`]; more are counted and left out. Enough to see what it sends.
pub const LOG_REPEATS_MAX: u32 = 10;
/// See [`LOG_REPEATS_MAX`]: one line a second on average, of some 200 bytes, is 17 MB in a day of nonsense.
pub const LOG_REPEATS_WINDOW: Duration = Duration::from_secs(10);
/// Longest wait of the first list of a client that hears of changes, where nothing is known of the tools yet: an editor that runs is
/// connected and has told its list well within it, and who starts several servers does not notice it.
pub const TOOLS_WAIT_HEARING: Duration = Duration::from_millis(500);
/// Longest name, title or version kept of a client; they are shown in the editor and stand in logs.
pub const CLIENT_FIELD_MAX_BYTES: usize = 256;
/// Folders taken from a client's list of roots; people open a handful.
pub const ROOTS_MAX: usize = 64;
/// What a response adds around its result besides the id: `{"jsonrpc":"2.0","id":,"result":}` and the line end, and in the
/// stateless era that the result is complete and whose it is.
pub const RESPONSE_ENVELOPE_MAX_BYTES: usize = 256;
/// Longest `traceparent` that is passed on. Version 00 has 55 bytes; a later one may have more.
pub const TRACEPARENT_MAX_BYTES: usize = 128;
/// Longest `tracestate` that is passed on: what W3C Trace Context asks everybody to take.
pub const TRACESTATE_MAX_BYTES: usize = 512;
/// Longest `baggage` that is passed on: what W3C Baggage asks everybody to take.
pub const BAGGAGE_MAX_BYTES: usize = 8192;
/// `subscriptions/listen` requests open at once. A client needs one.
pub const SUBSCRIPTIONS_MAX: usize = 16;
/// How long a client may keep the answer to `server/discover`: it changes with this program alone.
pub const DISCOVERY_TTL: Duration = Duration::from_secs(60 * 60);
/// How long a client may take a list of tools for fresh: it changes whenever Unity recompiles, and costs nothing to ask for.
pub const TOOLS_LIST_TTL: Duration = Duration::ZERO;
/// Tools kept from one editor; a list this long is a mistake, and a client could not show it.
pub const TOOLS_MAX: usize = 2048;

// ---- The editor's side (bridge, push) ------------------------------------------------------------------------------

/// Largest frame sent to a uLoop bridge, header included: its reader never parses more and drops the connection.
pub const ULOOP_REQUEST_MAX_BYTES: usize = 1_048_576;
/// Largest line sent to a uMCP bridge, its end included: what its reader takes at once. A longer one would come in pieces, and a
/// cut between two tokens makes the reader take the piece for the whole.
pub const UMCP_REQUEST_MAX_BYTES: usize = 4096;
/// For how long no lock file of a uLoop editor may exist before a compile's result file is final (its own server's figure).
pub const ULOOP_RESULT_QUIET: Duration = Duration::from_millis(500);
/// Largest frame sent to our own package, header included: what it takes of a gateway that has proven itself, less room for a header.
pub const HOLDFAST_REQUEST_MAX_BYTES: usize = 16 * MIB - FRAME_HEADER_MAX_BYTES;
/// Calls that our own package is given at once: eight side by side, as many as it runs so, and one that wants to be alone.
pub const HOLDFAST_WINDOW: usize = 9;
/// Largest line sent to a turbokettle bridge, which has no bound of its own: as much as a client's line may have. Arguments are
/// escaped twice in it, so that a call of half that size may be too large.
pub const TURBOKETTLE_REQUEST_MAX_BYTES: usize = CLIENT_LINE_MAX_BYTES;
/// Calls that a turbokettle bridge is given at once: one for Unity's main thread and one for the thread of the connection, which runs
/// what needs no main thread one after another. More would only wait inside the editor, where nobody can tell whether they ran.
pub const TURBOKETTLE_WINDOW: usize = 2;
/// Sendings that our own package is asked about at once (its own bound).
pub const OUTCOMES_ASKED_MAX: usize = 512;
/// How often an editor is asked again for the outcome of calls that still ran, in case the word of their end was lost.
pub const OUTCOMES_ASKED_EVERY: Duration = Duration::from_secs(5);
/// Age of an editor's last frame from which its main thread counts as standing still: an editor out of focus draws every second or
/// three, and some work takes as long.
pub const FRAME_OLD: Duration = Duration::from_secs(5);
/// A call that an editor has had for so long without an answer is told in the headline, and so is a main thread that has drawn no frame
/// for so long while it has one: whoever looks should not read "ready" while nothing moves.
pub const STILL_AFTER: Duration = Duration::from_secs(2);
/// Age of an editor's last word on its heartbeat, which is asked for every [`LIVENESS_EVERY`], from which it counts as late: half a question more.
pub const PULSE_LATE: Duration = Duration::from_secs(3);
/// A process that began so much later than an editor's files were written may be another one of the same id. Far above what clocks
/// and file systems differ by; an editor's files are hours old when it crashes.
pub const PID_REUSE_MARGIN: Duration = Duration::from_secs(600);
/// How often `holdfast_wait_ready` looks whether an editor that stands still goes on: no event tells of that.
pub const READY_LOOK_EVERY: Duration = Duration::from_millis(250);
/// Silence of an editor that answers questions for its heartbeat, [`LIVENESS_EVERY`] apart, off its main thread, after which the connection
/// counts as lost: three unanswered ones are no work but a frozen process or a dead network.
pub const PULSE_MAX: Duration = Duration::from_secs(8);
/// Longest code sent to Unity-MCP, in bytes: the editor writes it to its console three times and sends it back; a script of this
/// length is a mistake.
pub const UNITY_MCP_REQUEST_MAX_BYTES: usize = MIB;
/// Largest head of an editor's HTTP response; Mono's has 200 bytes.
pub const HTTP_HEAD_MAX_BYTES: usize = 16 * 1024;
/// Most headers of such a response, or of a chunked body's end; Mono sends five.
pub const HTTP_HEADERS_MAX: usize = 64;
/// Largest message accepted from an editor. The editor does not limit itself; the official servers died at 1 MiB.
pub const EDITOR_MESSAGE_MAX_BYTES: usize = 64 * MIB;
/// Largest header block of a Content-Length frame; real ones have 25 bytes.
pub const FRAME_HEADER_MAX_BYTES: usize = 4096;
/// Most digits of an announced frame length: those of the largest 64-bit number. More is no length but an attack.
pub const FRAME_LENGTH_DIGITS_MAX: usize = 20;
/// A decoder gives its memory back after a frame larger than this; below it, one buffer serves frame after frame.
pub const DECODER_BUFFER_KEPT_BYTES: usize = 64 * 1024;
/// How many times the bytes that have come of a frame a decoder has room for, at most. What came is copied each time it grows, into
/// memory that the system first has to hand out: doubling takes about as long as the copy of a whole frame, this an eighth of it.
pub const DECODER_GROWTH: usize = 8;
/// Longest line on the push socket; real ones stay below 1 KiB.
pub const PUSH_LINE_MAX_BYTES: usize = 64 * 1024;
/// Push sockets open at once: one editor has one, its reload may leave another behind.
pub const PUSH_CONNECTIONS_MAX: usize = 8;
/// Push messages taken per second from all sockets; more are counted and dropped (they are hints).
pub const PUSH_MESSAGES_PER_SECOND_MAX: u32 = 200;
/// How long a connect to loopback may take; a live listener answers in microseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a greeting may take before the peer counts as wrong or frozen. The greeting hops to Unity's main thread,
/// which an import can hold for long; below this the connection is kept.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the greeting may take on a port that nothing has vouched for: an HTTP or echo server is told apart in this time.
pub const GREETING_TIMEOUT_ASSUMED: Duration = Duration::from_secs(5);
/// How long discovery may take to answer before it is asked again (its actor may have been restarted in between).
pub const SEEK_TIMEOUT: Duration = Duration::from_secs(2);
/// Body of an answer over HTTP: the package writes some 200 bytes, or repeats the code it was sent. As JSON it may be six times as
/// long.
pub const HTTP_BODY_MAX_BYTES: usize = 4 * MIB;
/// Time between two idle connections to an editor that speaks HTTP, whose end tells of its leaving: one that ends them all at once
/// costs no more than this.
pub const IDLE_WATCH_SPACING: Duration = Duration::from_millis(500);
/// A peer that has not answered the greeting after this is looked up, for a person who wonders; an editor answers in milliseconds
/// unless its main thread is held.
pub const SILENCE_NAMED_AFTER: Duration = Duration::from_millis(800);
/// How long the answer to a refresh waits for a sign of the domain reload that may follow it: one that compiles something leaves
/// within two seconds of a small project, and a refresh that changes nothing should not cost more than a glance.
pub const RELOAD_GRACE: Duration = Duration::from_millis(2500);
/// An editor that announced its leaving and stays connected is hung up on after this.
pub const LEAVE_MAX: Duration = Duration::from_secs(5);
/// Outstanding work without a byte from the editor after which the link shows itself as stalled.
pub const STALL_AFTER: Duration = Duration::from_secs(10);
/// Outstanding work without a byte from the editor after which the connection is closed and dialled anew.
pub const SILENCE_MAX: Duration = Duration::from_secs(600);
/// How often a connection's editor process is looked at: a dead one behind a silent network is noticed within 5 s, with room for a
/// machine that is busy.
pub const LIVENESS_EVERY: Duration = Duration::from_secs(2);

/// Longest path that every program on Windows takes without the prefix that lifts this bound (`MAX_PATH`), its closing zero included.
pub const WINDOWS_PATH_MAX: usize = 260;
/// How often a file is opened or moved once more where Windows says that somebody has it open, and how long after.
pub const FILE_BUSY_TRIES: u8 = 5;
/// See [`FILE_BUSY_TRIES`]. A scanner is done with a small file in some milliseconds; together they are a tenth of a second.
pub const FILE_BUSY_WAIT: Duration = Duration::from_millis(20);
/// How long a program may take to bring the editor's window to the front; they take under 1 s, PowerShell's start included.
pub const FOCUS_MAX: Duration = Duration::from_secs(5);
/// How often it is looked whether that program has ended: a person does not notice so much, and it costs one system call.
pub const FOCUS_LOOK_EVERY: Duration = Duration::from_millis(20);
/// Output kept of that program; `wmctrl` writes some 100 bytes for each window of the desktop.
pub const FOCUS_OUTPUT_MAX_BYTES: u64 = 64 * 1024;

/// Pause after an accept that failed (out of descriptors, most likely), so that the loop does not spin.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Between two pieces of news of watched files.
pub const WATCH_SPACING: Duration = Duration::from_millis(20);
/// Calls outstanding on one connection at the most, whatever its dialect could bear.
pub const WINDOW_MAX: u8 = 32;
/// Projects named in one sentence; the rest are counted.
pub const CANDIDATES_NAMED_MAX: usize = 5;
/// How long the client may take to tell its roots before the folder that it started the gateway in decides. Clients take
/// milliseconds, one under load a second; one that never answers waits for its first call once. Shorter than [`TOOLS_WAIT`]: a
/// first list that waits for the roots still has a second for the editor that is found without them.
pub const ROOTS_WAIT: Duration = Duration::from_secs(2);
/// How long a survey may take. It reads a few small files and asks for owners of ports; a disk that spins up takes seconds.
pub const SURVEY_MAX: Duration = Duration::from_secs(15);
/// Levels below a workspace on which a Unity project is looked for: `games/Castle/Unity` is the third. Deeper ones are mostly samples.
pub const BELOW_LEVELS: usize = 3;
/// Folders that are opened for that, in one survey. Repositories have some hundreds on three levels; so many take tens of
/// milliseconds from memory, and a second or two from a slow disk: far less than [`SURVEY_MAX`].
pub const BELOW_FOLDERS_MAX: usize = 2_000;
/// Entries of those folders that are looked at: a folder of a million files must not hold the survey up.
pub const BELOW_ENTRIES_MAX: usize = 50_000;
/// Projects that are told apart below a workspace, each by its files and its editor's process. Whoever has more names one.
pub const BELOW_PROJECTS_MAX: usize = 50;
/// Until a survey follows one that was given up: what hung may have been a disk that comes back.
pub const SURVEY_AGAIN: Duration = Duration::from_secs(30);
/// Surveys that hang at once. Each holds a thread that nothing can end.
pub const SURVEYS_HANGING_MAX: u8 = 3;
/// How long it may take to find out whose port was connected to; the look-up walks all processes.
pub const OWNER_LOOKUP_MAX: Duration = Duration::from_secs(10);
/// How long the first byte to an editor waits for its identity to be read once more; what the survey read holds then.
pub const IDENTITY_READ_MAX: Duration = Duration::from_millis(500);
/// How long a connection that nobody waits for any more stays, so that the word of a cancelled call is written before it ends.
pub const PART_AFTER: Duration = Duration::from_millis(50);
/// Withdrawals of calls that wait to be written on a connection: more clients give up at once only while the editor takes no
/// bytes, and then the word is of no use.
pub const CANCELS_MAX: usize = 64;
/// How often the bridge hears that parts of a message arrive.
pub const BYTES_NEWS_EVERY: Duration = Duration::from_secs(1);

// ---- Reconnecting --------------------------------------------------------------------------------------------------

/// First reconnect delay; doubles from here.
pub const RETRY_FIRST: Duration = Duration::from_millis(50);
/// Longest delay while an editor is likely: a reload ends at any moment, and a refused connect costs microseconds.
pub const RETRY_LIKELY_MAX: Duration = Duration::from_millis(100);
/// Longest delay while nothing says that an editor will come.
pub const RETRY_UNLIKELY_MAX: Duration = Duration::from_secs(5);
/// Share of the delay that the die moves it by, either way.
pub const RETRY_JITTER: f64 = 0.2;
/// Good news cuts a wait short, but not sooner than this after the last dial: a storm of hints is no storm of dials.
pub const HINT_DIAL_SPACING: Duration = Duration::from_millis(20);
/// How long after a loss (other than a normal quit) the editor still counts as likely to return.
pub const LIKELY_AFTER_LOSS: Duration = Duration::from_secs(60);
/// The same once its process is known to be gone: a program that starts it again has a new process in the project's files by then,
/// and calls are held for that one; a person takes longer, and should be told soon.
pub const LIKELY_AFTER_CRASH: Duration = Duration::from_secs(10);

// ---- Calls ---------------------------------------------------------------------------------------------------------

/// Longest a call is held for an editor that is likely to return.
pub const HOLD_MAX: Duration = Duration::from_secs(120);
/// Held calls of an editor that nothing speaks for are answered within this.
pub const HOLD_WITHOUT_EVIDENCE: Duration = Duration::from_millis(800);
/// After sending, a call is answered "still running" after this (a tool's own `TimeoutSeconds` prolongs it).
pub const RUNNING_MAX: Duration = Duration::from_secs(120);
/// Longest prolongation taken from a tool's own timeout parameter.
pub const TOOL_TIMEOUT_MAX: Duration = Duration::from_secs(3600);
/// Subtracted from the client's patience: the answer must arrive before the client gives up.
pub const PATIENCE_MARGIN: Duration = Duration::from_secs(5);
/// Patience of a client that is not in the table: the common SDK default.
pub const PATIENCE_UNKNOWN: Duration = Duration::from_secs(60);
/// Longest patience in the table. Some clients wait for ever; half an hour is the longest limit a client states (Claude Code,
/// without an answer or progress), and what is held or runs longer has been answered by other bounds before.
pub const PATIENCE_MAX: Duration = Duration::from_secs(30 * 60);
/// Sendings of a call that is declared repeatable: the first and two more.
pub const SENDINGS_MAX: u8 = 3;
/// Sendings of one call of which the editor said that nothing ran, before its client is told so: as many reloads in a row.
pub const UNRUN_MAX: u8 = 5;
/// How long the outcome of a call cut by a reload is looked for (uLoop's own server gives a compile 90 s).
pub const RECOVERY_MAX: Duration = Duration::from_secs(90);
/// How often a compile's result file is looked for.
pub const RECOVERY_POLL: Duration = Duration::from_millis(100);
/// Between two progress notifications of one call while nothing changes.
pub const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// Finished calls kept for `holdfast_calls` and `holdfast_result`: a day of an agent that never rests. A record has 500
/// bytes at the most with its tool's name and its place in the index: 5 MB for all of them, and 3 MB with usual names.
pub const FINISHED_CALLS_MAX: usize = 10_000;
/// Calls that one `holdfast_calls` lists: a model reads all of it, and asks for the older ones if it wants them.
pub const CALLS_LISTED_MAX: usize = 200;
/// Bytes of late results kept.
pub const LATE_RESULTS_MAX_BYTES: usize = 16 * MIB;
/// Age at which a late result expires.
pub const LATE_RESULT_MAX_AGE: Duration = Duration::from_secs(3600);
/// First `tools/list` of a client that will not hear of changes waits this long for the live list if an editor is likely.
pub const TOOLS_WAIT: Duration = Duration::from_secs(3);
/// A tool list that failed while the link is up is asked for again after this: long enough for an import to end, short
/// enough that nobody restarts the client for want of tools.
pub const LIST_RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long a package's own tool for waiting waits when nothing is said: as its server did (turbokettle, 60 s).
pub const OWN_WAIT_READY: Duration = Duration::from_secs(60);
/// Log entries shown when nothing is said: as the Unity-MCP server did.
pub const LOGS_SHOWN: usize = 10;
/// Log entries shown at most: all that are kept would be no help to anybody.
pub const LOGS_SHOWN_MAX: usize = 200;
/// Log entries kept, of all logs: an hour of an agent that calls a tool every few seconds.
pub const LOGBOOK_ENTRIES_MAX: usize = 1000;
/// Bytes of all log entries: a tenth of what late results may take, since these are read by people.
pub const LOGBOOK_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest name of a log that is written from outside; the package's own have 30 bytes.
pub const LOG_NAME_MAX_BYTES: usize = 128;
/// Largest entry of a log that is written from outside: an eighth of all entries. The editor's own have 200 bytes.
pub const LOG_POST_MAX_BYTES: usize = LOGBOOK_BYTES_MAX / 8;
/// Connections to one HTTP service of the gateway at once. Unity posts one line after another; what is beyond it waits to be
/// accepted.
pub const COMPANION_CONNECTIONS_MAX: usize = 8;
/// How often a taken port of such a service is tried again: often enough for a person who has just closed another client.
pub const COMPANION_BIND_EVERY: Duration = Duration::from_secs(10);
/// Longest request to the HTTP API of Unity-MCP's documents: the longest code that the editor is sent, with its escapes.
pub const DOCUMENTED_POST_MAX_BYTES: usize = 2 * UNITY_MCP_REQUEST_MAX_BYTES;
/// How long such a request waits for its result when nothing is said: as the documents say.
pub const DOCUMENTED_WAIT: Duration = Duration::from_secs(1);
/// Calls of others than the client that may be open at once: twice as many as can wait on connections, since some wait no more.
pub const GUEST_CALLS_MAX: usize = 2 * COMPANION_CONNECTIONS_MAX;
/// `holdfast_wait_ready` waits at most this long, whatever it was asked.
pub const WAIT_READY_MAX: Duration = Duration::from_secs(120);

// ---- Supervision and shutdown --------------------------------------------------------------------------------------

/// Threads that a session begins with: the log's, the actors', those of stdin and stdout, and two for files (one look around
/// the project, one write).
pub const START_THREADS: usize = 6;
/// Descriptors that a session begins with, beside its three pipes: two runtimes with three each, two for signals, a lock, the
/// editor's connection and two for its push channel, one for file changes; the rest for files that are open for a moment.
/// Observed with an editor: 13 to 17.
pub const START_DESCRIPTORS: usize = 20;
/// Restarts of a leaf under the link within [`LEAF_WINDOW`], beyond which the link itself restarts.
pub const LEAF_RESTARTS_MAX: usize = 5;
/// See [`LEAF_RESTARTS_MAX`].
pub const LEAF_WINDOW: Duration = Duration::from_secs(30);
/// Restarts of a child of the root within [`ROOT_WINDOW`], beyond which main rebuilds the tree.
pub const ROOT_RESTARTS_MAX: usize = 3;
/// See [`ROOT_RESTARTS_MAX`].
pub const ROOT_WINDOW: Duration = Duration::from_secs(60);
/// Waits before main rebuilds the tree, one per rebuild within [`REBUILD_WINDOW`]; after the last one it exits with 70.
pub const REBUILD_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// See [`REBUILD_DELAYS`].
pub const REBUILD_WINDOW: Duration = Duration::from_secs(600);
/// How long a dead actor's task and its own tasks may take to end before they are aborted.
pub const JOIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the end waits for a client that takes nothing of the last answers, and for small things that are under way. Progress is seen
/// in pieces of [`STDOUT_WRITE_MAX_BYTES`]: a client that reads less than some 430 kB/s counts as one that takes nothing.
pub const FLUSH_MAX: Duration = Duration::from_millis(150);
/// How long the last answers may take to leave through stdout while the client goes on reading. The official SDKs end a server
/// four seconds after they closed its stdin; who waits longer reads into a slow program.
pub const FLUSH_READING_MAX: Duration = Duration::from_secs(10);
/// Bytes given to stdout at once: what a pipe takes on Linux. A large line is given in pieces, so that it is seen whether the client
/// takes any of it.
pub const STDOUT_WRITE_MAX_BYTES: usize = 64 * 1024;
/// The longest line that is written by whoever made it, where stdout takes it at once: what a pipe takes whole or not at all. A longer
/// one is written by the thread of stdout, so that copying it holds up no actor.
pub const STDOUT_AT_ONCE_MAX_BYTES: usize = 4096;
/// How often the client's process is looked at.
pub const PARENT_WATCH_EVERY: Duration = Duration::from_millis(500);
/// How often the lock of our own record is tried for: whoever looks at it holds it for microseconds.
pub const CLAIM_ATTEMPTS: usize = 50;
/// Pause between two of these.
pub const CLAIM_PAUSE: Duration = Duration::from_millis(10);
/// Age at which a temporary file is no write any more: the largest takes seconds.
pub const TEMPORARY_MAX_AGE: Duration = Duration::from_secs(3600);
/// Records of dead processes, each with its lock, and temporary files that are removed from one folder at once: a start takes
/// milliseconds for it, and the next gateway goes on.
pub const LEFTOVERS_AT_ONCE: usize = 256;
/// How long a client that may be dead has for the answer to a ping: a live one answers at once.
pub const CLIENT_ANSWER_MAX: Duration = Duration::from_secs(10);
/// How often such a client is asked.
pub const CLIENT_ASK_EVERY: Duration = Duration::from_secs(30);
/// How long a client whose launcher has ended may say nothing before it opens a session: a living one opens it at once, and clients
/// give up a server that takes longer than this to start.
pub const CLIENT_OPENING_MAX: Duration = Duration::from_secs(60);
/// How long such a client may say nothing if it cannot be asked: longer than a night, so that a person finds the session again in the
/// morning, and longer than any call is waited for.
pub const CLIENT_SILENCE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Largest run record read: far above what one gateway writes.
pub const RUN_RECORD_MAX_BYTES: usize = MIB;
/// Times without the editor that are remembered: an afternoon of reloads.
pub const OUTAGES_MAX: usize = 16;
/// Shortest time between two writes of the run record.
pub const RUN_RECORD_SPACING: Duration = Duration::from_millis(500);
/// The same while calls are open: `holdfast status` should show soon that one stands still.
pub const RUN_RECORD_BUSY_EVERY: Duration = Duration::from_secs(2);
/// Longest time between two writes of the run record.
pub const RUN_RECORD_EVERY: Duration = Duration::from_secs(5);
/// After stdin ends or a signal: running calls may answer this long. Nothing sent means an exit at once.
pub const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Configurations (storage and state) that the exhaustive walk over one machine may meet. The real ones stay far below; more
/// means that a storage counts without bound.
pub const WALK_CONFIGURATIONS_MAX: usize = 40_000;

// ---- The command line ----------------------------------------------------------------------------------------------

/// Bytes between a one-shot command and its gateway that neither has taken: one read of the intake.
pub const ONE_SHOT_PIPE_BYTES: usize = 64 * 1024;
/// How long `holdfast call` waits for its answer when nothing is said: as long as a call that was sent is waited for.
pub const CALL_TIMEOUT: Duration = RUNNING_MAX;
/// Longest `holdfast call --timeout`: with the margin that every client gets, the longest patience there is.
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(PATIENCE_MAX.as_secs() - PATIENCE_MARGIN.as_secs());
/// How long `holdfast doctor` waits for an editor's greeting: a live one takes milliseconds, a person waits for the rest.
pub const DOCTOR_WAIT: Duration = Duration::from_secs(3);
/// How often `holdfast status --watch` reads the run records and draws: half of what their writers need at least.
pub const WATCH_EVERY: Duration = Duration::from_millis(250);
/// Age from which a run record is marked as old: its writer has missed a renewal.
pub const RUN_RECORD_OLD: Duration = Duration::from_secs(2 * RUN_RECORD_EVERY.as_secs());
/// Age from which a lock file of a living editor is called old: imports of large projects take minutes.
pub const LOCK_FILE_OLD: Duration = Duration::from_secs(10 * 60);

// ---- The HTTP server -----------------------------------------------------------------------------------------------

/// Largest head of a request, and the smallest bound that hyper takes. Unity and Node send 300 bytes, a browser 1 KiB.
pub const SERVED_HEAD_MAX_BYTES: usize = 8 * 1024;
/// Most headers of a request; a browser sends twenty.
pub const SERVED_HEADERS_MAX: usize = 64;
/// How long a request may take to come, and again its answer to go: each is one write on loopback. Prometheus gives up after 10 s by
/// default.
pub const SERVED_TIMEOUT: Duration = Duration::from_secs(5);
/// How long what a peer still sends is taken after its answer, so that the answer is not lost with it.
pub const SERVED_LINGER: Duration = Duration::from_millis(500);

// ---- Metrics -------------------------------------------------------------------------------------------------------

/// Tools with series of their own: an editor lists thousands, and each costs a series for every verdict.
pub const METRIC_TOOLS_MAX: usize = 24;
/// Combinations of closed values that one metric may show as they are met.
pub const LATE_SERIES_MAX: usize = 16;
/// Series of one gateway, whatever its peers do: what a Prometheus takes from many processes without a thought.
pub const SERIES_MAX: usize = 1500;
/// Transitions kept of each machine: about ten seconds of a dial loop, which makes some thirty a second; a day of quiet work. What
/// it was in before is kept second by second, for two minutes, in another form.
pub const FLIGHT_RECORD_MAX: usize = 256;
/// How far back the status page and the run record show the machines: a reload and what led to it fit on one screen.
pub const PICTURE_WINDOW: Duration = Duration::from_secs(120);
/// Transitions of each machine shown there: a screenful.
pub const PICTURE_STEPS_MAX: usize = 20;
/// Calls in flight and ended calls shown there, each: a screenful.
pub const PICTURE_CALLS_MAX: usize = 20;
/// Transitions of one machine in one log line.
pub const FLIGHT_LINE_STEPS: usize = 32;
/// Connections to the exporter at once: one scraper, one browser, and room. More are told to come again.
pub const SCRAPERS_MAX: usize = 8;
/// How often the exporter sorts recorded sizes into buckets, and looks at the clocks.
pub const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(1);
/// Between wall clock and our own within [`METRICS_UPKEEP_EVERY`]: more than any correction of a running clock.
pub const CLOCK_JUMP_MIN: Duration = Duration::from_secs(2);
/// Longest label made of a project's folder name.
pub const PROJECT_LABEL_MAX_BYTES: usize = 64;

// ---- Files ---------------------------------------------------------------------------------------------------------

/// Largest settings or instance file read from a project.
pub const PROJECT_FILE_MAX_BYTES: usize = MIB;
/// Largest catalogue file read.
pub const CATALOGUE_FILE_MAX_BYTES: usize = 16 * MIB;
/// Largest compile-result file read.
pub const RESULT_FILE_MAX_BYTES: usize = 16 * MIB;
/// Result files kept in the results folder.
pub const RESULT_FILES_MAX: usize = 50;
/// Age at which a result file is removed.
pub const RESULT_FILE_MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// Log lines that may wait for a slow stderr before new ones are dropped and counted.
pub const LOG_QUEUE_MAX_LINES: usize = 4096;
/// Pause between two writes of log lines: what comes meanwhile shares the next write, and wakes nobody.
pub const LOG_BATCH_EVERY: Duration = Duration::from_millis(5);
/// Longest field of a log line taken from a peer; the rest is cut.
pub const LOG_FIELD_MAX_BYTES: usize = 256;

// ---- The Unity package in a project ------------------------------------------------------------------------------------

/// Files and folders looked at in the package's folder: ten times what it has; beyond this it is something else.
pub const UNITY_FILES_MAX: usize = 4000;
/// Largest file summed up there; a larger one is not ours. The largest of ours has some tens of kilobytes.
pub const UNITY_FILE_MAX_BYTES: usize = 4 * MIB;
/// Largest record of what was installed; it has a hundred bytes a file.
pub const UNITY_RECORD_MAX_BYTES: usize = MIB;
/// Files named in one sentence; the rest are counted.
pub const UNITY_FILES_NAMED_MAX: usize = 10;
/// Attempts to take the lock of an installation that another one keeps taking away at the same moment.
pub const UNITY_LOCK_ATTEMPTS_MAX: usize = 5;

// ---- The demo ------------------------------------------------------------------------------------------------------

/// How long the demo waits for one thing that must happen; what it waits for takes 2 s at the most on an idle machine, and a
/// loaded build machine is an order of magnitude slower.
pub const DEMO_STEP_MAX: Duration = Duration::from_secs(20);
/// How long the whole demo may take before it counts as failed; it takes under 20 s.
pub const DEMO_MAX: Duration = Duration::from_secs(90);
/// From the editor listening again to the first good answer, at most: far above the budget, which is for an idle machine,
/// and far below what a person would call a hang.
pub const DEMO_RECOVERY_MAX: Duration = Duration::from_secs(2);
/// From the end of the gateway's stdin to its exit, at most; the budget on an idle machine is a fifth of it.
pub const DEMO_EXIT_MAX: Duration = Duration::from_secs(1);
/// Lines of the demo's children that wait to be looked at; they send tens.
pub const DEMO_NEWS_MAX: usize = 1024;
/// Longest line read from the demo's children: the gateway's longest message, and some.
pub const DEMO_LINE_MAX_BYTES: usize = 2 * CLIENT_MESSAGE_MAX_BYTES;

// ---- Configuration, policy, audit ----------------------------------------------------------------------------------

/// Largest configuration file. A long one has a hundred lines; what is larger is another file.
pub const CONFIG_FILE_MAX_BYTES: usize = 256 * 1024;
/// Sections `[clients.NAME]` read from a configuration file: three times as many as there are clients known.
pub const CLIENT_SETTINGS_MAX: usize = 64;
/// Rules of one list of a policy; an editor has some hundred tools, and each call is compared with each rule.
pub const POLICY_RULES_MAX: usize = 512;
/// Longest rule: far above any tool's name.
pub const POLICY_RULE_MAX_BYTES: usize = 256;
/// Lines on their way to the audit file at once: two for each request that may be open, and as many again.
pub const AUDIT_LINES_MAX: usize = 4 * OPEN_REQUESTS_MAX;
/// How long a call waits for its line in the audit file before it counts as not written; a local disk takes milliseconds, and the
/// call's client is still patient afterwards.
pub const AUDIT_WRITE_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stand_in_the_order_that_the_design_needs() {
        const {
            assert!(FRAME_HEADER_MAX_BYTES < ULOOP_REQUEST_MAX_BYTES);
            assert!(ULOOP_REQUEST_MAX_BYTES < CLIENT_LINE_MAX_BYTES);
            assert!(RESULT_INLINE_MAX_BYTES < CLIENT_MESSAGE_MAX_BYTES);
            assert!(CLIENT_MESSAGE_MAX_BYTES < 10 * MIB);
            assert!(
                RESULT_INLINE_MAX_BYTES + REQUEST_ID_MAX_BYTES + RESPONSE_ENVELOPE_MAX_BYTES < CLIENT_MESSAGE_MAX_BYTES
            );
            assert!(TOOL_SCHEMA_MAX_BYTES < TOOLS_LIST_MAX_BYTES && TOOLS_LIST_MAX_BYTES < RESULT_INLINE_MAX_BYTES);
            assert!(CALLS_LISTED_MAX < FINISHED_CALLS_MAX);
            assert!(CLIENT_LINE_MAX_BYTES <= MAILBOX_BYTES_MAX);
            assert!(ROOT_RESTARTS_MAX != LEAF_RESTARTS_MAX);
        }
        const {
            // The fake editor's bounds are its own; with these it goes beyond ours, so that ours can be tested.
            use holdfast_fake_unity::limits as fake;
            assert!(fake::TOOLS_MAX > TOOLS_MAX);
            assert!(fake::BIG_MAX_BYTES > EDITOR_MESSAGE_MAX_BYTES);
            assert!(fake::SCHEMA_MAX_BYTES > TOOL_SCHEMA_MAX_BYTES && fake::SCHEMA_MAX_BYTES >= TOOLS_LIST_MAX_BYTES);
        }
        assert!(ROOTS_WAIT + TOOLS_WAIT_HEARING < TOOLS_WAIT);
        assert!(RETRY_FIRST <= RETRY_LIKELY_MAX && RETRY_LIKELY_MAX < RETRY_UNLIKELY_MAX);
        assert!(HOLD_WITHOUT_EVIDENCE < Duration::from_secs(1));
        assert!(PATIENCE_MARGIN < PATIENCE_UNKNOWN && PATIENCE_UNKNOWN < PATIENCE_MAX);
        assert!(STALL_AFTER < SILENCE_MAX);
        assert!(CLIENT_ANSWER_MAX < CLIENT_ASK_EVERY && PATIENCE_MAX < CLIENT_SILENCE_MAX);
    }
}
