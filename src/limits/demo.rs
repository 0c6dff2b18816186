//! The bounds of commands that play a whole session: the demo, and the trial of the Unity package in a real editor.

use std::time::Duration;

use super::{CLIENT_MESSAGE_MAX_BYTES, MIB};

/// Editors that are read from Unity Hub's files and folders. A person has a few; a machine of CI has tens.
pub const UNITY_EDITORS_MAX: usize = 200;
/// Most reloads that `unity try` measures: at some 10 s each, three hours.
pub const UNITY_TRY_RELOADS_MAX: u16 = 1000;
/// How long `unity try` waits for the first answer of an editor. The first import of an empty project takes minutes on a slow disk.
pub const UNITY_TRY_START_MAX: Duration = Duration::from_secs(15 * 60);
/// How long `unity try` waits for an answer: a compile with its reload, on a slow machine.
pub const UNITY_TRY_CALL_MAX: Duration = Duration::from_secs(5 * 60);
/// How long an editor may take to quit before it is killed.
pub const UNITY_TRY_QUIT_MAX: Duration = Duration::from_secs(60);
/// How long `unity try` waits for news of the editor's main thread, which the gateway asks for once in some seconds.
pub const UNITY_TRY_PULSE_MAX: Duration = Duration::from_secs(10);
/// How often `unity try` looks at the editor's process and log.
pub const UNITY_TRY_LOOK_EVERY: Duration = Duration::from_millis(500);
/// How much of the end of the editor's log is read. A session of an hour writes a few MB.
pub const UNITY_TRY_LOG_MAX_BYTES: usize = 16 * MIB;
/// How long the demo waits for one expected event. Such events take at most 2 s on an idle machine, and a loaded build machine is
/// an order of magnitude slower.
pub const DEMO_STEP_MAX: Duration = Duration::from_secs(20);
/// How long the whole demo may take before it fails; it takes under 20 s.
pub const DEMO_MAX: Duration = Duration::from_secs(90);
/// Longest time from when the editor listens again to the first good answer: far more than the budget, which is for an idle
/// machine, and far less than a wait that a person calls a hang.
pub const DEMO_RECOVERY_MAX: Duration = Duration::from_secs(2);
/// Longest time from the end of the gateway's stdin to its exit; the budget on an idle machine is a fifth of it.
pub const DEMO_EXIT_MAX: Duration = Duration::from_secs(1);
/// Lines of the demo's child processes that wait to be read; the children send tens.
pub const DEMO_NEWS_MAX: usize = 1024;
/// Longest line read from the demo's children: twice the gateway's longest message.
pub const DEMO_LINE_MAX_BYTES: usize = 2 * CLIENT_MESSAGE_MAX_BYTES;
