//! The bounds of the gateway, with the reason for each number. Names of sizes in bytes contain `BYTES`; times are `Duration`s.
//!
//! Queues, sizes, waits and numbers of attempts are limited here. A constant that matters to one file only, such as the size of a
//! read buffer, a default or a column width, is in that file.

use std::time::Duration;

/// One mebibyte.
const MIB: usize = 1024 * 1024;

// ---- The client's side (stdin, stdout) -----------------------------------------------------------------------------

/// Longest line read from the client. Official SDKs send whole files as arguments; 16 MiB is more than anything seen. A longer
/// line is discarded, but its `id` is looked for, and it is answered.
pub const CLIENT_LINE_MAX_BYTES: usize = 16 * MIB;
/// Largest number of messages in a batch. Each is held as a slice of 16 bytes until all are read; a line of the shortest messages
/// would have half as many slices as bytes.
pub const BATCH_MESSAGES_MAX: usize = 100_000;
/// Longest message written to the client. The official TypeScript SDK ends the session at 10 MiB.
pub const CLIENT_MESSAGE_MAX_BYTES: usize = 8 * MIB;
/// Results whose JSON is larger than this are written to a file that the answer names. Leaves room for escaping below
/// [`CLIENT_MESSAGE_MAX_BYTES`].
pub const RESULT_INLINE_MAX_BYTES: usize = 6 * MIB;
/// Deepest nesting of JSON accepted from any peer. Real messages stay below 20; 128 is also serde_json's own limit.
pub const JSON_DEPTH_MAX: usize = 128;
/// Longest request id kept (JSON text). Ids are echoed and held for each open request.
pub const REQUEST_ID_MAX_BYTES: usize = 1024;
/// Requests of one session open at once. A further call is answered "not executed: busy". Clients run at most tens in parallel.
pub const OPEN_REQUESTS_MAX: usize = 256;
/// Open sessions of one process. A person runs a few; if each has [`OPEN_REQUESTS_MAX`], there are 16 Ki open requests.
pub const SESSIONS_MAX: usize = 64;
/// Links of one process that lead to an editor: more editors than a machine can run.
pub const LINKS_MAX: usize = 16;
/// Editors that are connected for one session whose roots hold several projects: half of all links, so that one client with a
/// large folder leaves room for others. Those that run come first.
pub const EDITORS_SOUGHT_MAX: usize = LINKS_MAX / 2;
/// Catalogues of closed editors that `holdfast_editors` reads, the newest first. Each file is read whole.
pub const CATALOGUES_READ_MAX: usize = 32;
/// Bytes of an editor's name in a tool's name; longer ones are cut, and a hash keeps them apart.
pub const EDITOR_SUFFIX_MAX_BYTES: usize = 16;
/// Bytes of arguments of all open calls. Each call may fill a line of the largest size, and waits for up to two minutes while
/// Unity is away: without this bound the calls could take 4 GiB. A call that exceeds it is answered "not executed: busy".
pub const OPEN_CALLS_MAX_BYTES: usize = 4 * CLIENT_LINE_MAX_BYTES;
/// The same for one of several sessions: one line of the largest size, so it takes four sessions to fill
/// [`OPEN_CALLS_MAX_BYTES`].
pub const SESSION_CALLS_MAX_BYTES: usize = CLIENT_LINE_MAX_BYTES;
/// Shortest time between two surveys of a session that has not found exactly one project: a survey reads some files.
pub const ROUTE_LOOK_EVERY: Duration = Duration::from_secs(1);
/// Notifications that may wait for a slow stdout; further ones are dropped.
pub const STDOUT_NOTIFICATIONS_MAX: usize = 256;
/// Lines waiting for a slow stdout at which the gateway stops reading requests: an answer to each open request, and as many other
/// lines.
pub const STDOUT_QUEUE_MAX_LINES: usize = 2 * OPEN_REQUESTS_MAX;
/// Bytes waiting for a slow stdout at which the gateway stops reading requests from the client and results from the editor.
pub const STDOUT_QUEUE_HIGH_BYTES: usize = 16 * MIB;
/// Lines below this size share one write to stdout (a pipe takes 64 KiB at once); a longer one gets its own, without a copy.
pub const SHARED_WRITE_BYTES: usize = 64 * 1024;
/// Messages from outside in one mailbox at once.
pub const MAILBOX_MESSAGES_MAX: usize = 64;
/// Bytes of such messages in one mailbox at once: one line of the largest size, and as much again for small messages.
pub const MAILBOX_BYTES_MAX: usize = 2 * CLIENT_LINE_MAX_BYTES;
/// How long a request waits in the stdin reader while no session actor runs, before it is answered "internal".
pub const SESSION_ABSENCE_MAX: Duration = Duration::from_secs(2);
/// The same for the first session actor. It starts in milliseconds; on a machine with hardly any processor time it took 2.7 s
/// without a failure. Clients give up an `initialize` after ten seconds or more.
pub const FIRST_SESSION_MAX: Duration = Duration::from_secs(10);
/// Longest `instructions` text (clients cut at 2 KB).
pub const INSTRUCTIONS_MAX_BYTES: usize = 2048;
/// Longest tool description that a client gets (Claude Code cuts at 2 KB).
pub const DESCRIPTION_MAX_BYTES: usize = 2048;
/// Longest tool name that a client gets: with a client's own `mcp__server__` prefix it stays below 64.
pub const TOOL_NAME_MAX_BYTES: usize = 48;
/// Longest input schema of one tool that a client gets, as compact JSON. The largest seen has 12 KiB, and a model reads all of
/// it. A schema of 500 KB is still listed whole: whether it is too long is for the client to decide.
pub const TOOL_SCHEMA_MAX_BYTES: usize = 512 * 1024;
/// Values by which the references of one schema may be replaced, all together. A reference inside the target of another
/// reference may double them at each step; a schema of 12 KiB has some 500.
pub const SCHEMA_INLINED_NODES_MAX: usize = 10_000;
/// References of a schema that follow one another without a schema between them. Generators write one or two.
pub const SCHEMA_CHAIN_MAX: usize = 16;
/// Schemas that are looked at to learn whether a schema allows null. Null is mentioned at the top, or one or two
/// branches below.
pub const SCHEMA_NULL_LOOKS_MAX: usize = 64;
/// References of one schema into a property or to an anchor. Each costs a look at much of the schema. A generator
/// writes one where a type contains itself.
pub const SCHEMA_LOOKS_MAX: usize = 256;
/// Longest name of a parameter that every API takes; the module `parameter_names` has the sources.
pub const PARAMETER_NAME_MAX_BYTES: usize = 64;
/// Changed names of parameters of one tool that the log tells one by one.
pub const PARAMETER_NAMES_TOLD_MAX: usize = 8;
/// Longest `tools` array made of the editor's tools; with our own tools added it stays far below the longest message.
pub const TOOLS_LIST_MAX_BYTES: usize = 4 * MIB;
/// Log lines about invalid input of one peer in [`LOG_REPEATS_WINDOW`]; more are counted and left out. Enough to see what the
/// peer sends.
pub const LOG_REPEATS_MAX: u32 = 10;
/// The time over which [`LOG_REPEATS_MAX`] counts. One line a second on average, of some 200 bytes, is 17 MB in a day of invalid
/// input.
pub const LOG_REPEATS_WINDOW: Duration = Duration::from_secs(10);
/// How long the first `tools/list` of a client that honours `list_changed` waits at most while no tools are known. A running
/// editor is connected and has sent its list well within this time, and a person who starts several servers does not notice the
/// wait.
pub const TOOLS_WAIT_HEARING: Duration = Duration::from_millis(500);
/// Longest name, title or version kept of a client; they appear in the editor and in logs.
pub const CLIENT_FIELD_MAX_BYTES: usize = 256;
/// How many bytes of a root are shown to people if it names no folder: enough to recognise it.
pub const ROOT_SHOWN_MAX_BYTES: usize = 120;
/// Folders taken from a client's list of roots; people open a handful.
pub const ROOTS_MAX: usize = 64;
/// Bytes of a response around its id and result: `{"jsonrpc":"2.0","id":,"result":}` and the line end; in the stateless era also
/// the mark that the result is complete, and the server's name.
pub const RESPONSE_ENVELOPE_MAX_BYTES: usize = 256;
/// Longest `traceparent` that is passed on. Version 00 has 55 bytes; a later one may have more.
pub const TRACEPARENT_MAX_BYTES: usize = 128;
/// Longest `tracestate` that is passed on: W3C Trace Context asks every program to accept this much.
pub const TRACESTATE_MAX_BYTES: usize = 512;
/// Longest `baggage` that is passed on: W3C Baggage asks every program to accept this much.
pub const BAGGAGE_MAX_BYTES: usize = 8192;
/// `subscriptions/listen` requests open at once. A client needs one.
pub const SUBSCRIPTIONS_MAX: usize = 16;
/// How long a client may keep the answer to `server/discover`: it changes only with this program.
pub const DISCOVERY_TTL: Duration = Duration::from_secs(60 * 60);
/// How long a client may consider a tool list fresh: it changes whenever Unity recompiles, and asking costs nothing.
pub const TOOLS_LIST_TTL: Duration = Duration::ZERO;
/// Names in other packages that one tool may have; our package gives three at most.
pub const OTHER_NAMES_MAX: usize = 16;
/// Tools that a client lists at first, the gateway's own counted. Each tool costs its client's model some 200 to 500 tokens in every
/// conversation, and models choose worse among more: vendors advise 20 to 50, and the strictest known client takes 100 of all its
/// servers together. Our own package's tools fit in.
pub const TOOLS_LISTED_MAX: usize = 40;
/// Tools that were found by words and are listed too; the oldest fall out. With those that are listed at first, a list stays below
/// the strictest client's limit.
pub const TOOLS_FOUND_MAX: usize = 40;
/// Bytes taken of the words that `holdfast_tools` looks for: a long sentence.
pub const TOOLS_WORDS_MAX_BYTES: usize = 256;
/// Tools kept from one editor; a longer list is a mistake, and a client could not show it.
pub const TOOLS_MAX: usize = 2048;

// ---- The editor's side (bridge, push) ------------------------------------------------------------------------------

/// Largest frame sent to a uLoop bridge, header included: its reader drops the connection at a larger one.
pub const ULOOP_REQUEST_MAX_BYTES: usize = 1_048_576;
/// Largest line sent to a uMCP bridge, its end included: what its reader reads at once. A longer line would arrive in pieces, and
/// the reader takes a piece that ends between two tokens for the whole message.
pub const UMCP_REQUEST_MAX_BYTES: usize = 4096;
/// How long no lock file of a uLoop editor may exist before a compile's result file is final (its own server's figure).
pub const ULOOP_RESULT_QUIET: Duration = Duration::from_millis(500);
/// Largest frame sent to our own package, header included: what the package accepts from a gateway that has proved itself, less
/// the room for a header.
pub const HOLDFAST_REQUEST_MAX_BYTES: usize = 16 * MIB - FRAME_HEADER_MAX_BYTES;
/// Largest frame sent to a bridge of MCP for Unity, with the length in front: it drops the connection at a larger message.
pub const COPLAY_REQUEST_MAX_BYTES: usize = 64 * MIB;
/// Longest greeting line of such a bridge; the known ones have 30 bytes, and forks add words.
pub const COPLAY_GREETING_MAX_BYTES: usize = 1024;
/// Calls sent to our own package at once: the eight that it runs in parallel, and one that must run alone.
pub const HOLDFAST_WINDOW: usize = 9;
/// Largest line sent to a turbokettle bridge, which itself has no limit: as long as a client's line may be. Arguments are escaped
/// twice in it, so a call of half that size may be too large.
pub const TURBOKETTLE_REQUEST_MAX_BYTES: usize = CLIENT_LINE_MAX_BYTES;
/// Calls sent to a turbokettle bridge at once: one for Unity's main thread, and one for the connection's thread, which runs tools
/// that need no main thread, one after another. Further calls would wait inside the editor, where nothing shows whether they ran.
pub const TURBOKETTLE_WINDOW: usize = 2;
/// Attempts to send a call that one question to our own package's journal may name (the package's own limit).
pub const OUTCOMES_ASKED_MAX: usize = 512;
/// How often an editor is asked again for the outcome of calls that were still running, in case the message that they ended was
/// lost.
pub const OUTCOMES_ASKED_EVERY: Duration = Duration::from_secs(5);
/// How soon an editor is asked whether a job has ended that it has just begun. Most take a frame of the editor, and each call
/// behind it waits for the answer.
pub const JOB_ASKED_MIN: Duration = Duration::from_millis(10);
/// How many signs of life may be missing of an editor that gives them all the time, before it counts as lost. The server of the package
/// that does so waits as long: 20 s.
pub const SIGNS_MISSED_MAX: u32 = 4;
/// How long nothing is sent to an editor that was busy with another program's call, and does not say when that ends.
pub const BUSY_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two such questions: what a job costs beside itself is half of it, on average.
pub const JOB_ASKED_MAX: Duration = Duration::from_millis(500);
/// A process that began this much later than an editor's files were written may be another one with the same id. Far more than
/// the difference between clocks and file systems; an editor's files are hours old when it crashes.
pub const PID_REUSE_MARGIN: Duration = Duration::from_secs(600);
/// How long `holdfast_wait_ready` waits for a change where only the user can help: longer than a survey takes, so that
/// the user's last step is seen, and no longer, because waiting does not help.
pub const HOPELESS_LOOK: Duration = Duration::from_secs(3);
/// Longest code sent to Unity-MCP, in bytes: the editor has it four times, in its console and its answer. More is a mistake.
pub const UNITY_MCP_REQUEST_MAX_BYTES: usize = MIB;
/// Largest body of a call that Unity's own package takes; it answers 413 to a larger one.
pub const PIPELINE_REQUEST_MAX_BYTES: usize = MIB;
/// Largest head of an editor's HTTP response; Mono's has 200 bytes.
pub const HTTP_HEAD_MAX_BYTES: usize = 16 * 1024;
/// Largest number of headers of such a response, or at the end of a chunked body; Mono sends five.
pub const HTTP_HEADERS_MAX: usize = 64;
/// Largest message accepted from an editor. The editor itself has no limit; the official servers died at 1 MiB.
pub const EDITOR_MESSAGE_MAX_BYTES: usize = 64 * MIB;
/// Largest header block of a Content-Length frame; real ones have 25 bytes.
pub const FRAME_HEADER_MAX_BYTES: usize = 4096;
/// Largest number of digits of an announced frame length: those of the largest 64-bit number. A longer one is an attack.
pub const FRAME_LENGTH_DIGITS_MAX: usize = 20;
/// A decoder releases its memory after a frame larger than this; below it, one buffer is used for frame after frame.
pub const DECODER_BUFFER_KEPT_BYTES: usize = 64 * 1024;
/// A decoder's buffer for a large frame is at most this many times the bytes that have arrived. Each time the buffer grows, those
/// bytes are copied into memory that the system first has to provide. Doubling it would take about as long as copying a whole
/// frame; this factor takes an eighth of that.
pub const DECODER_GROWTH: usize = 8;
/// Longest line on the push socket; real ones stay below 1 KiB.
pub const PUSH_LINE_MAX_BYTES: usize = 64 * 1024;
/// How long a greeting waits for the push listener, whose port it names. To bind a port of this machine takes microseconds.
pub const PUSH_BIND_MAX: Duration = Duration::from_millis(100);
/// Push sockets open at once: one editor has one, and its reload may leave another one open.
pub const PUSH_CONNECTIONS_MAX: usize = 8;
/// Push messages accepted per second from all sockets; more are counted and dropped (they are only hints).
pub const PUSH_MESSAGES_PER_SECOND_MAX: u32 = 200;
/// How long a connect to loopback may take; a running listener answers in microseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a greeting may take before the peer is given up as wrong or frozen. The greeting needs Unity's main thread, which an
/// import can hold for long; the connection is kept in the meantime.
pub const GREETING_TIMEOUT: Duration = Duration::from_secs(30);
/// [`GREETING_TIMEOUT`] on a port whose owner could not be checked: long enough to recognise an HTTP or echo server.
pub const GREETING_TIMEOUT_ASSUMED: Duration = Duration::from_secs(5);
/// How long another package must be seen in a project before it is believed. An editor may remove and write the file by which its package
/// is known: less than a millisecond was seen between the two.
pub const DIALECT_CHANGES_AFTER: Duration = Duration::from_millis(20);
/// How long the discovery actor may take to answer before the bridge asks again (it may have been restarted).
pub const SEEK_TIMEOUT: Duration = Duration::from_secs(2);
/// Largest body of an answer over HTTP: the same as of a frame. One package answers with pictures, and states no limit.
pub const HTTP_BODY_MAX_BYTES: usize = EDITOR_MESSAGE_MAX_BYTES;
/// Time between two idle connections to an editor that speaks HTTP. The end of such a connection shows that the editor leaves; a
/// server that ends every connection immediately is not dialled more often than this.
pub const IDLE_WATCH_SPACING: Duration = Duration::from_millis(500);
/// If a peer has not answered the greeting after this time, its process is looked up, so that the status can name it. An editor
/// answers in milliseconds unless its main thread is held.
pub const SILENCE_NAMED_AFTER: Duration = Duration::from_millis(800);
/// When the project's assemblies are looked at, after the editor has answered a compile, for evidence that no domain reload follows:
/// some frames later, so that a reload that does follow has begun or left its trace.
pub const RELOAD_SIGNS_AFTER: Duration = Duration::from_millis(150);
/// How long the answer to a refresh waits for a sign of the domain reload that may follow. In a small project, after a refresh
/// that compiles something, the reload begins within two seconds. A refresh that changes nothing should not take much longer.
pub const RELOAD_GRACE: Duration = Duration::from_millis(2500);
/// The gateway hangs up on an editor that announced that it leaves but stays connected for this long.
pub const LEAVE_MAX: Duration = Duration::from_secs(5);
/// If the editor must answer something and sends no byte for this long, the link's state becomes `stalled`.
pub const STALL_AFTER: Duration = Duration::from_secs(10);
/// If the editor must answer something and sends no byte, the connection is closed this long after the time that the sent calls
/// may run.
pub const SILENCE_MAX: Duration = Duration::from_secs(600);
/// How often the bridge checks that the connected editor's process lives: a dead one behind a silent network is noticed within 5
/// s, with a margin for a busy machine.
pub const LIVENESS_EVERY: Duration = Duration::from_secs(2);

/// Longest path that every program on Windows takes without the prefix that lifts this limit (`MAX_PATH`), its closing zero
/// included.
pub const WINDOWS_PATH_MAX: usize = 260;
/// How often opening or moving a file is tried again if Windows reports that another program has it open.
pub const FILE_BUSY_TRIES: u8 = 5;
/// The pause before each of these attempts. A virus scanner needs some milliseconds for a small file; all pauses together take a
/// tenth of a second.
pub const FILE_BUSY_WAIT: Duration = Duration::from_millis(20);
/// How long a program may take to bring the editor's window to the front; such programs take under 1 s, PowerShell's start
/// included.
pub const FOCUS_MAX: Duration = Duration::from_secs(5);
/// How often the gateway checks whether that program has ended: a person does not notice the delay, and a check is one system
/// call.
pub const FOCUS_LOOK_EVERY: Duration = Duration::from_millis(20);
/// Output kept of that program; `wmctrl` writes some 100 bytes for each window of the desktop.
pub const FOCUS_OUTPUT_MAX_BYTES: u64 = 64 * 1024;

/// Pause after a failed accept (most likely out of descriptors), so that the loop does not spin.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Shortest time between two reports about watched files.
pub const WATCH_SPACING: Duration = Duration::from_millis(20);
/// Largest number of unanswered calls on one connection, even if its dialect allows more.
pub const WINDOW_MAX: u8 = 32;
/// Projects named in one sentence; the rest are counted.
pub const CANDIDATES_NAMED_MAX: usize = 5;
/// How long the client may take to name its roots before the working directory decides. Clients take milliseconds, or one second
/// under load; if a client never answers, only the first call waits. Shorter than [`TOOLS_WAIT`]: a first list that waits for the
/// roots still has a second for the editor that is found without them.
pub const ROOTS_WAIT: Duration = Duration::from_secs(2);
/// How long a survey may take. It reads a few small files and looks up owners of ports; a disk that spins up takes seconds.
pub const SURVEY_MAX: Duration = Duration::from_secs(15);
/// Levels below a workspace on which a Unity project is searched: `games/Castle/Unity` is on the third. Deeper projects are
/// mostly samples.
pub const BELOW_LEVELS: usize = 3;
/// Folders opened by one such search. Repositories have some hundreds on three levels. To open this many takes tens of
/// milliseconds from the disk cache, and a second or two from a slow disk: far less than [`SURVEY_MAX`].
pub const BELOW_FOLDERS_MAX: usize = 2_000;
/// Entries of those folders that are read: a folder of a million files must not delay the survey.
pub const BELOW_ENTRIES_MAX: usize = 50_000;
/// Projects listed below a workspace, each with its files and its editor's process. A person with more projects has to name one.
pub const BELOW_PROJECTS_MAX: usize = 50;
/// Time between a survey that was given up and the next one: a disk that hangs may work again.
pub const SURVEY_AGAIN: Duration = Duration::from_secs(30);
/// Largest number of surveys that hang at once. Each holds a thread that nothing can end.
pub const SURVEYS_HANGING_MAX: u8 = 3;
/// How long the lookup of a port's owner may take; it may look at all processes.
pub const OWNER_LOOKUP_MAX: Duration = Duration::from_secs(10);
/// Most processes whose descriptors are read to name an unexpected program on a port: as many as Linux runs by default (`pid_max`).
pub const OWNER_PROCESSES_MAX: usize = 32_768;
/// How long a new connection waits to read its editor's identity again before it sends its first byte; after that the survey's
/// identity is used. Also how long a look at the script assemblies may take.
pub const IDENTITY_READ_MAX: Duration = Duration::from_millis(500);
/// How long a connection that no client waits for stays open, so that the cancel of a call can still be written.
pub const PART_AFTER: Duration = Duration::from_millis(50);
/// Cancels that wait to be written on a connection. More pile up only while the editor reads nothing, and then a cancel is
/// useless.
pub const CANCELS_MAX: usize = 64;

// ---- Reconnecting --------------------------------------------------------------------------------------------------

/// The first reconnect delay; it doubles from here.
pub const RETRY_FIRST: Duration = Duration::from_millis(50);
/// Longest delay, before jitter, while an editor is likely to come: a reload may end at any moment, and a refused connection
/// takes microseconds.
pub const RETRY_LIKELY_MAX: Duration = Duration::from_millis(100);
/// Longest delay, before jitter, while nothing shows that an editor will come.
pub const RETRY_UNLIKELY_MAX: Duration = Duration::from_secs(5);
/// How long a port at which somebody else was met is not dialled. Where no file tells that the editor is back, it takes as long to notice.
pub const STRANGER_REMEMBERED: Duration = Duration::from_secs(2);
/// Connections in a row that the editor accepted and that were of no use (no answer to a call, and shorter than
/// [`LIVENESS_EVERY`]) before the pauses between them grow to [`RETRY_UNLIKELY_MAX`]. An editor that reloads has some: its
/// listener accepts until it is closed, and its bridge answers nothing until it has started.
pub const USELESS_LINKS_FREE: u8 = 5;
/// The first pause of a patient dial at a port where nobody listens; it doubles from here. A refused connection costs microseconds.
pub const REDIAL_FIRST: Duration = Duration::from_millis(2);
/// The longest pause of a patient dial. On average, half of it is added to the time of a reload.
pub const REDIAL_MAX: Duration = Duration::from_millis(10);
/// After this time, a patient dial begins a connect anew on a system that is slow to refuse. A listener on loopback answers in
/// microseconds.
pub const CONNECT_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How often the files are looked at again during a patient dial: the editor may come back at another port, or may have died.
pub const PATIENT_DIAL_TOLD_EVERY: Duration = Duration::from_secs(1);
/// Jitter: the largest random change of a delay, as a share of it, either way.
pub const RETRY_JITTER: f64 = 0.2;
/// Shortest time between a dial and the next dial that a hint may bring forward: many hints must not cause as many dials.
pub const HINT_DIAL_SPACING: Duration = Duration::from_millis(20);
/// How long after a loss the editor is considered likely to return, unless it quit normally or the project changed.
pub const LIKELY_AFTER_LOSS: Duration = Duration::from_secs(60);
/// The same once the editor's process is known to be gone. If a program starts the editor again, the project's files name the new
/// process by then, and calls are held for that one. A person takes longer, so the client should get its answer soon.
pub const LIKELY_AFTER_CRASH: Duration = Duration::from_secs(10);

// ---- Calls ---------------------------------------------------------------------------------------------------------

/// Longest a call is held for an editor that is likely to return.
pub const HOLD_MAX: Duration = Duration::from_secs(120);
/// Held calls are answered within this if nothing shows that an editor is there.
pub const HOLD_WITHOUT_EVIDENCE: Duration = Duration::from_millis(800);
/// A call without an answer this long after it was sent is answered "still running" (a tool's own `TimeoutSeconds` extends it).
pub const RUNNING_MAX: Duration = Duration::from_secs(120);
/// Longest extension by a tool's own timeout parameter.
pub const TOOL_TIMEOUT_MAX: Duration = Duration::from_secs(3600);
/// Subtracted from the client's patience: the answer must arrive before the client gives up.
pub const PATIENCE_MARGIN: Duration = Duration::from_secs(5);
/// Patience of a client that is not in the table: the common SDK default.
pub const PATIENCE_UNKNOWN: Duration = Duration::from_secs(60);
/// Longest patience in the table. Some clients wait for ever; half an hour is the longest limit that a client states (Claude
/// Code, without an answer or progress). Other bounds have answered a held or running call before that.
pub const PATIENCE_MAX: Duration = Duration::from_secs(30 * 60);
/// How often a repeatable call is sent at most: once, and two more times.
pub const SENDINGS_MAX: u8 = 3;
/// How often one call is sent if the editor says each time that it did not run: that many reloads in a row.
pub const UNRUN_MAX: u8 = 5;
/// How long the outcome of a call cut by a reload is looked for (uLoop's own server gives a compile 90 s).
pub const RECOVERY_MAX: Duration = Duration::from_secs(90);
/// How often the gateway looks for a compile's result file.
pub const RECOVERY_POLL: Duration = Duration::from_millis(100);
/// Time between two progress notifications of one call while nothing changes.
pub const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// Ended calls kept for `holdfast_calls` and `holdfast_result`: as many as an AI makes in a day without a pause. A record has at
/// most 500 bytes with its tool's name and its index entry: 5 MB for all, 3 MB with usual names.
pub const FINISHED_CALLS_MAX: usize = 10_000;
/// Largest number of calls in one answer of `holdfast_calls`: a model reads all of it, and can ask for older ones.
pub const CALLS_LISTED_MAX: usize = 200;
/// Bytes of late results kept.
pub const LATE_RESULTS_MAX_BYTES: usize = 16 * MIB;
/// Age at which a late result expires.
pub const LATE_RESULT_MAX_AGE: Duration = Duration::from_secs(3600);
/// How long the first `tools/list` of a client that ignores `list_changed` waits for the live list if an editor is likely.
pub const TOOLS_WAIT: Duration = Duration::from_secs(3);
/// If a request for the tool list fails while the link is up, it is repeated after this time: long enough for an import to end,
/// and short enough that nobody restarts the client because it has no tools.
pub const LIST_RETRY_AFTER: Duration = Duration::from_secs(5);
/// Default timeout of a package tool that waits until the editor is ready, as in the package's own server (turbokettle, 60 s).
pub const OWN_WAIT_READY: Duration = Duration::from_secs(60);
/// Log entries shown by default, as by the Unity-MCP server.
pub const LOGS_SHOWN: usize = 10;
/// Largest number of log entries shown: all that are kept would be too many to read.
pub const LOGS_SHOWN_MAX: usize = 200;
/// Log entries kept, of all logs: as many as an AI that calls a tool every few seconds causes in an hour.
pub const LOGBOOK_ENTRIES_MAX: usize = 1000;
/// Bytes of all log entries: an eighth of [`LATE_RESULTS_MAX_BYTES`], since people read the entries.
pub const LOGBOOK_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest name of a log that another program writes; the package's own names have 30 bytes.
pub const LOG_NAME_MAX_BYTES: usize = 128;
/// Largest log entry that another program writes: an eighth of all entries. The editor's own have 200 bytes.
pub const LOG_POST_MAX_BYTES: usize = LOGBOOK_BYTES_MAX / 8;
/// Open connections to one companion service. Unity posts one line after another; further connections wait to be accepted.
pub const COMPANION_CONNECTIONS_MAX: usize = 8;
/// How often a companion service tries again to bind a taken port: often enough for a person who has just closed another client.
pub const COMPANION_BIND_EVERY: Duration = Duration::from_secs(10);
/// Longest request to the HTTP API of Unity-MCP's documents: the longest code sent to the editor, with its escapes.
pub const DOCUMENTED_POST_MAX_BYTES: usize = 2 * UNITY_MCP_REQUEST_MAX_BYTES;
/// How long such a request waits for its result by default, as the documents say.
pub const DOCUMENTED_WAIT: Duration = Duration::from_secs(1);
/// Open calls of guests: twice as many as can wait on connections, since some guests no longer wait.
pub const GUEST_CALLS_MAX: usize = 2 * COMPANION_CONNECTIONS_MAX;
/// Longest wait of `holdfast_wait_ready`, even if a longer wait is asked for.
pub const WAIT_READY_MAX: Duration = Duration::from_secs(120);

// ---- Supervision and shutdown --------------------------------------------------------------------------------------

/// Threads that a gateway starts with: two of the log, the actors', those of stdin and stdout, and two for files (one survey, one
/// write).
pub const START_THREADS: usize = 7;
/// Descriptors that a gateway starts with, besides its three pipes: two runtimes with three each, two for signals, a lock, the
/// editor's connection, two for its push channel, one for file changes; the rest for files that are open for a moment. Observed
/// with an editor: 13 to 17.
pub const START_DESCRIPTORS: usize = 20;
/// Restarts of a link's actors within [`LINK_WINDOW`]; at one more, the link rests.
pub const LINK_RESTARTS_MAX: usize = 5;
/// The time over which [`LINK_RESTARTS_MAX`] counts.
pub const LINK_WINDOW: Duration = Duration::from_secs(30);
/// Restarts of a session's actor within [`ROOT_WINDOW`]; at one more, its tree is built again.
pub const ROOT_RESTARTS_MAX: usize = 3;
/// The time over which [`ROOT_RESTARTS_MAX`] counts.
pub const ROOT_WINDOW: Duration = Duration::from_secs(60);
/// Waits before a tree that gave up is built again, one per rebuild within [`REBUILD_WINDOW`]. After the last one a session ends
/// (exit code 70); a link goes on with the last wait, because it costs no session.
pub const REBUILD_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// The time over which rebuilds count towards [`REBUILD_DELAYS`].
pub const REBUILD_WINDOW: Duration = Duration::from_secs(600);
/// How long a dead actor's own task may take to end before it is aborted, and how long aborted tasks may take to end before the
/// supervisor gives up.
pub const JOIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the shutdown waits for a client that reads none of the last answers, and for small steps under way.
/// Progress is measured in pieces of [`STDOUT_WRITE_MAX_BYTES`]: a client that reads less than about 430 kB/s counts as
/// a client that reads nothing.
pub const FLUSH_MAX: Duration = Duration::from_millis(150);
/// How long a one-shot command waits at its end for disk writes that have begun, such as the catalogue. On a busy disk one write
/// can take a second; no client kills a command that is slow to end, as clients do with a session.
pub const COMMAND_WRITES_MAX: Duration = Duration::from_secs(5);
/// How long the last answers may take to be written while the client keeps reading. The official SDKs end a server four seconds
/// after they closed its stdin; a client that waits longer passes the answers to a slow program.
pub const FLUSH_READING_MAX: Duration = Duration::from_secs(10);
/// Bytes given to stdout at once: what a pipe takes on Linux. A large line is written in pieces, to see whether the client reads
/// any of it.
pub const STDOUT_WRITE_MAX_BYTES: usize = 64 * 1024;
/// How long an answer waits to be written before it is recorded, if this process serves one client: a client that reads
/// takes the largest answer within a tenth of this time.
pub const STDOUT_SLOW: Duration = Duration::from_millis(250);
/// Longest line that the thread of the answering part writes to stdout itself, if stdout takes it at once: a pipe takes such a
/// line whole or not at all. Longer lines are written by stdout's thread, so that the copy delays no actor.
pub const STDOUT_AT_ONCE_MAX_BYTES: usize = 4096;
/// How often the gateway checks that the client's process lives.
pub const PARENT_WATCH_EVERY: Duration = Duration::from_millis(500);
/// Attempts to take the lock of our own record: another process that checks it holds it for microseconds.
pub const CLAIM_ATTEMPTS: usize = 50;
/// Pause between two of the [`CLAIM_ATTEMPTS`].
pub const CLAIM_PAUSE: Duration = Duration::from_millis(10);
/// Age from which a temporary file is removed as left over: the largest write takes seconds.
pub const TEMPORARY_MAX_AGE: Duration = Duration::from_secs(3600);
/// Records of dead processes with their locks, and likewise temporary files, that one start removes from one folder. That takes
/// milliseconds, and the next gateway removes more.
pub const LEFTOVERS_AT_ONCE: usize = 256;
/// How long a client that may be dead has to answer a ping: a running client answers at once.
pub const CLIENT_ANSWER_MAX: Duration = Duration::from_secs(10);
/// How often such a client gets a ping.
pub const CLIENT_ASK_EVERY: Duration = Duration::from_secs(30);
/// How long a client whose launcher has ended may be silent before it opens a session. A running client opens its session at
/// once, and clients give up on a server that takes longer to start.
pub const CLIENT_OPENING_MAX: Duration = Duration::from_secs(60);
/// How long such a client may be silent if it cannot be pinged: longer than a night, so that a person finds the session again in
/// the morning, and longer than a client waits for any call.
pub const CLIENT_SILENCE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Largest run record that is read: far more than a gateway writes.
pub const RUN_RECORD_MAX_BYTES: usize = MIB;
/// Outages that are kept: an afternoon of reloads.
pub const OUTAGES_MAX: usize = 16;
/// Shortest time between two writes of the run record.
pub const RUN_RECORD_SPACING: Duration = Duration::from_millis(500);
/// Longest time between two writes of the run record while calls are open: `holdfast status` should soon show that a call does
/// not move.
pub const RUN_RECORD_BUSY_EVERY: Duration = Duration::from_secs(2);
/// Longest time between two writes of the run record while no call is open.
pub const RUN_RECORD_EVERY: Duration = Duration::from_secs(5);
/// How long the gateway waits for the answers to sent calls after stdin ended or a signal came. Without sent calls it exits at
/// once.
pub const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Configurations (storage and state) that the exhaustive test of one state machine may reach. The real machines reach far fewer;
/// more means that a counter in the storage has no bound.
pub const WALK_CONFIGURATIONS_MAX: usize = 40_000;

// ---- The command line ----------------------------------------------------------------------------------------------

/// Size of each pipe between a one-shot command and its gateway: what the stdin reader reads at once.
pub const ONE_SHOT_PIPE_BYTES: usize = 64 * 1024;
/// How long `holdfast call` waits for its answer by default: as long as a sent call may run.
pub const CALL_TIMEOUT: Duration = RUNNING_MAX;
/// Longest `holdfast call --timeout`: with the margin that every client gets, this is [`PATIENCE_MAX`].
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(PATIENCE_MAX.as_secs() - PATIENCE_MARGIN.as_secs());
/// How long `holdfast doctor` waits for an editor's greeting: a running editor takes milliseconds, and a person waits for the
/// report.
pub const DOCTOR_WAIT: Duration = Duration::from_secs(3);
/// How long `holdfast status --open` waits for each program that it tries, until one opens the browser: a program that
/// fails does so at once.
pub const BROWSER_START_MAX: Duration = Duration::from_secs(3);
/// Size of the file that `holdfast doctor` writes into the state folder, to see whether it has room. A running
/// gateway's record is usually smaller.
pub const STATE_PROBE_BYTES: usize = 64 * 1024;
/// How often `holdfast status --watch` reads the run records and draws: twice in the shortest time between two writes of a
/// record.
pub const WATCH_EVERY: Duration = Duration::from_millis(250);
/// Age from which a run record is marked as old: its gateway must have missed a write.
pub const RUN_RECORD_OLD: Duration = Duration::from_secs(2 * RUN_RECORD_EVERY.as_secs());
/// Age from which a lock file of a running editor is reported as old: imports of large projects take minutes.
pub const LOCK_FILE_OLD: Duration = Duration::from_secs(10 * 60);

// ---- The HTTP server -----------------------------------------------------------------------------------------------

/// Largest head of a request. It is the smallest limit that hyper accepts. Unity and Node send 300 bytes, a browser 1 KiB.
pub const SERVED_HEAD_MAX_BYTES: usize = 8 * 1024;
/// Largest number of headers of a request; a browser sends twenty.
pub const SERVED_HEADERS_MAX: usize = 64;
/// How long a request may take to arrive, and then how long its answer may take to be sent: each is one write on loopback.
/// Prometheus gives up after 10 s by default.
pub const SERVED_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server goes on reading from a peer after it answered: closing at once could lose the answer.
pub const SERVED_LINGER: Duration = Duration::from_millis(500);
/// How long a server that ends waits for the answers that its clients still read, and for connections that linger.
pub const SERVED_END_MAX: Duration = Duration::from_secs(1);

// ---- Files ---------------------------------------------------------------------------------------------------------

/// Largest settings or instance file that is read from a project.
pub const PROJECT_FILE_MAX_BYTES: usize = MIB;
/// Largest catalogue file that is read.
pub const CATALOGUE_FILE_MAX_BYTES: usize = 16 * MIB;
/// Largest compile-result file that is read.
pub const RESULT_FILE_MAX_BYTES: usize = 16 * MIB;
/// Result files kept in the results folder.
pub const RESULT_FILES_MAX: usize = 50;
/// Age at which a result file is removed.
pub const RESULT_FILE_MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// Longest field of a log line taken from a peer; the rest is cut.
pub const LOG_FIELD_MAX_BYTES: usize = 256;

// ---- The Unity package in a project ------------------------------------------------------------------------------------

/// Files and folders counted in the package's folder: ten times what the package has. A folder with more is something else.
pub const UNITY_FILES_MAX: usize = 4000;
/// Largest file of that folder that is hashed; a larger file is not ours. The package's largest has some tens of kilobytes.
pub const UNITY_FILE_MAX_BYTES: usize = 4 * MIB;
/// Largest record of installed files; it has a hundred bytes per file.
pub const UNITY_RECORD_MAX_BYTES: usize = MIB;
/// Files named in one sentence; the rest are counted.
pub const UNITY_FILES_NAMED_MAX: usize = 10;
/// Attempts to take the lock of an installation, in case another installation removes the lock at the same moment.
pub const UNITY_LOCK_ATTEMPTS_MAX: usize = 5;

// ---- Configuration, policy, audit ----------------------------------------------------------------------------------

/// Largest configuration file. A long one has a hundred lines; a larger one is another file.
pub const CONFIG_FILE_MAX_BYTES: usize = 256 * 1024;
/// Pause before a record for Prometheus that could not be written is tried again: the length of a usual scrape interval.
pub const METRICS_RECORD_RETRY: Duration = Duration::from_secs(15);
/// Sections `[clients.NAME]` read from a configuration file: three times as many as there are known clients.
pub const CLIENT_SETTINGS_MAX: usize = 64;
/// Sections `[projects.NAME]` read from a configuration file: as many projects as one person has on a machine.
pub const PROJECT_SETTINGS_MAX: usize = 64;
/// Hidden tools that `holdfast_status` names, each with the reason, so that it stays short. It says how many there are in all.
pub const HIDDEN_TOOLS_SHOWN_MAX: usize = 16;
/// Rules in one list of a policy. An editor has some hundred tools, and each call is compared with each rule.
pub const POLICY_RULES_MAX: usize = 512;
/// Longest rule: far above any tool's name.
pub const POLICY_RULE_MAX_BYTES: usize = 256;
/// Lines that wait for the audit file at once: two for each request that may be open, and as many again.
pub const AUDIT_LINES_MAX: usize = 4 * OPEN_REQUESTS_MAX;
/// How long a call waits for its line in the audit file before the line counts as not written. A local disk takes milliseconds,
/// and the call's client still waits for its answer after that.
pub const AUDIT_WRITE_MAX: Duration = Duration::from_secs(5);

mod arrivals;
pub use arrivals::*;
pub mod commands;
pub mod demo;
pub mod displaced;
pub mod http;
pub mod hub;
pub mod logs;
mod metrics;
pub use metrics::*;
pub mod resources;
mod results;
pub use results::*;
mod still;
pub use still::*;
#[cfg(test)]
mod tests;
