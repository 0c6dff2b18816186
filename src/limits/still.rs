//! The bounds by which an editor, its main thread or a call counts as silent or still.

use std::time::Duration;

/// If an editor drew its last frame longer ago than this, its main thread is reported as still. An editor out of focus draws a
/// frame every one to three seconds, and some work takes as long.
pub const FRAME_OLD: Duration = Duration::from_secs(5);
/// How often the main thread of an editor that tells nothing of it is asked a question while the editor has no call. Each costs the
/// thread one turn, and a call that comes meanwhile waits for it.
pub const MAIN_THREAD_ASKED_EVERY: Duration = Duration::from_secs(5);
/// When such a main thread is asked again after the editor's own server has given up to wait for it.
pub const MAIN_THREAD_ASKED_AGAIN: Duration = Duration::from_millis(500);
/// A call that has been unanswered for less is not asked about beside: it takes as long to connect and to be sent.
pub const BESIDE_AFTER: Duration = Duration::from_millis(200);
/// If an editor with such a main thread says nothing of the progress of a call for this long, the thread is called busy or still,
/// "most likely". Most calls take less, and longer work shows a progress bar that moves every few seconds.
pub const NO_PROGRESS_AFTER: Duration = Duration::from_secs(15);
/// A call without an answer for this long is named in the headline of the status. So is a main thread without a frame for this
/// long while it has a call: the headline must not say "ready" while nothing moves.
pub const STILL_AFTER: Duration = Duration::from_secs(2);
/// If an editor's last heartbeat is older than this, the editor is reported as silent. The gateway asks every `LIVENESS_EVERY`;
/// this is half an interval more.
pub const HEARTBEAT_LATE: Duration = Duration::from_secs(3);
/// How long an editor that answers heartbeats off its main thread may send nothing before the connection is lost. The gateway
/// asks every `LIVENESS_EVERY`: after three unanswered questions the process is frozen or the network is dead, not busy.
pub const HEARTBEAT_MAX: Duration = Duration::from_secs(8);
/// How often `holdfast_wait_ready` looks whether a still editor moves again: no event reports that.
pub const READY_LOOK_EVERY: Duration = Duration::from_millis(250);
/// How much of the beginning of Unity's log is searched for the project: Unity writes its command line and the project's path first.
pub const EDITOR_LOG_HEAD_BYTES: usize = 64 * 1024;
/// How much of its end is searched for compile errors. Safe Mode writes little after them.
pub const EDITOR_LOG_TAIL_BYTES: usize = 1024 * 1024;
/// How often Unity's log is looked at while an editor lives and does not listen. A look reads a megabyte, and people read the answer.
pub const EDITOR_LOG_LOOK_EVERY: Duration = Duration::from_secs(5);
