//! The work of a connected editor, and the parts of it that stand still.

use super::phrases::seconds;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::{FRAME_OLD, STILL_AFTER};
use crate::protocol::dialect::{EditorState, Heartbeat};
use crate::protocol::text::clean;

/// What is at a standstill in a connected editor, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Still {
    /// The editor has not answered the heartbeat question for this time.
    Silent(Duration),
    /// The main thread has drawn no frame for this time.
    MainThread(Duration),
    /// The editor has had this call for this time. Whether it works on the call is unknown.
    Call(Arc<str>, Duration),
}

impl Still {
    /// Returns what is at a standstill, from the last heartbeat and its age, and from the running call and its time. `None` if
    /// nothing is.
    pub fn of(heartbeat: Option<(Heartbeat, Duration)>, call: Option<(Arc<str>, Duration)>) -> Option<Self> {
        let call = call.filter(|(_, since)| *since >= STILL_AFTER);
        let patience = if call.is_some() { STILL_AFTER } else { FRAME_OLD };
        match (heartbeat, call) {
            (Some((heartbeat, ago)), _) if heartbeat.is_late(ago) => Some(Self::Silent(ago)),
            (Some((heartbeat, ago)), _) if heartbeat.frame_age >= patience && !heartbeat.is_guessed() => {
                Some(Self::MainThread(heartbeat.still(ago)))
            }
            (_, Some((tool, since))) => Some(Self::Call(tool, since)),
            (_, None) => None,
        }
    }

    /// Returns how long the standstill has lasted.
    pub fn span(&self) -> Duration {
        match self {
            Self::Silent(span) | Self::MainThread(span) | Self::Call(_, span) => *span,
        }
    }
}

impl std::fmt::Display for Still {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = seconds(self.span());
        match self {
            Self::Silent(_) => write!(f, "it has not said anything for {span}"),
            Self::MainThread(_) => write!(f, "its main thread has stood still for {span}"),
            Self::Call(tool, _) => write!(f, "it has had `{}` for {span} and has not answered", clean(tool)),
        }
    }
}

/// Returns how many calls wait, as a phrase.
pub fn calls_wait(count: impl Into<u64>) -> String {
    match count.into() {
        1 => "1 call waits".to_owned(),
        many => format!("{many} calls wait"),
    }
}

/// Returns the state of the connection to an editor in words. `still`: the editor is connected and does not work.
pub fn connection_state(state: &str, still: bool) -> String {
    match state {
        "backing_off" => "not connected".to_owned(),
        "dialing" => "connecting".to_owned(),
        // The editor is ready to take calls, but nobody would call an editor ready that stands still.
        "ready" if still => "connected".to_owned(),
        state => state.replace('_', " "),
    }
}

/// Returns what the editor does, as a phrase, from a heartbeat that was received `ago`.
pub fn heartbeat(heartbeat: Heartbeat, ago: Duration) -> String {
    let Heartbeat { compile_errors, queued, .. } = heartbeat;
    if heartbeat.is_late(ago) {
        return Still::Silent(ago).to_string();
    }
    let doing = keeps_from_calls(heartbeat, ago).unwrap_or_else(|| match heartbeat.state {
        EditorState::Playing => "it is in play mode".to_owned(),
        _ => "it is ready".to_owned(),
    });
    let waiting = if queued > 0 { format!("; {} in it", calls_wait(queued)) } else { String::new() };
    let errors = if compile_errors { "; its scripts do not compile" } else { "" };
    format!("{doing}{waiting}{errors}")
}

/// Like [`heartbeat`], but only if something keeps the editor from its calls, or its scripts do not compile.
pub fn hindered(heartbeat: Heartbeat, ago: Duration) -> Option<String> {
    let hindered = heartbeat.compile_errors || keeps_from_calls(heartbeat, ago).is_some();
    hindered.then(|| self::heartbeat(heartbeat, ago))
}

/// Returns what keeps the editor from its calls, as a phrase. `None` if it takes them.
fn keeps_from_calls(heartbeat: Heartbeat, ago: Duration) -> Option<String> {
    let Heartbeat { state, frame_age, importing, queued, running, .. } = heartbeat;
    let still = heartbeat.still(ago);
    Some(match state {
        _ if heartbeat.is_late(ago) => Still::Silent(ago).to_string(),
        EditorState::Compiling => "it compiles scripts".to_owned(),
        EditorState::Reloading => "it is about to reload its domain".to_owned(),
        EditorState::Stopping => "it is about to quit".to_owned(),
        _ if importing => "it imports assets".to_owned(),
        _ if heartbeat.is_guessed() => {
            format!("most likely its main thread is busy or stands still: no progress for {}", seconds(still))
        }
        // Another program's command may run on it.
        _ if heartbeat.inferred && frame_age >= FRAME_OLD => format!(
            "its main thread has stood still for {} with no call of holdfast's running: it imports, works for another program, or \
             waits for somebody at the Unity window",
            seconds(still)
        ),
        // The heartbeat is answered off the main thread, so an old frame shows a busy or blocked main thread.
        _ if frame_age >= FRAME_OLD && running > 0 => {
            format!("its main thread has been busy with a call for {}", seconds(still))
        }
        _ if frame_age >= FRAME_OLD => format!(
            "its main thread has stood still for {} with no call running, so most likely a dialog is open in the Unity window \
             (or it imports); somebody has to look there",
            seconds(still)
        ),
        // A standstill of this length is too short to guess the reason.
        _ if frame_age >= STILL_AFTER && running + queued > 0 => Still::MainThread(still).to_string(),
        EditorState::Playing | EditorState::Ready | EditorState::Unknown => return None,
    })
}

/// Returns a sentence about what the editor is known to do. It follows another sentence.
pub(super) fn asked_meanwhile(doing: &str) -> String {
    format!(" Unity, asked meanwhile: {doing}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_main_thread_is_told_from_a_busy_one() {
        let at_rest = Heartbeat {
            state: EditorState::Ready,
            frame_age: Duration::from_millis(12),
            focused: true,
            inferred: false,
            every: Duration::ZERO,
            importing: false,
            compile_errors: false,
            queued: 0,
            running: 0,
        };
        let says = |changed: Heartbeat| heartbeat(changed, Duration::from_secs(1));
        assert_eq!(says(at_rest), "it is ready");
        let old = Heartbeat { frame_age: Duration::from_secs(30), ..at_rest };
        assert!(says(old).contains("31.0 s") && says(old).contains("dialog"), "{}", says(old));
        assert!(says(Heartbeat { running: 1, queued: 2, ..old }).contains("busy with a call"));
        assert!(says(Heartbeat { importing: true, ..old }).contains("imports assets"));
        assert!(says(Heartbeat { state: EditorState::Compiling, ..old }).contains("compiles"));
        assert!(says(Heartbeat { compile_errors: true, ..at_rest }).contains("do not compile"));
        let begun = Heartbeat { frame_age: Duration::from_millis(2500), running: 1, ..at_rest };
        assert_eq!(says(begun), "its main thread has stood still for 3.5 s");
        assert_eq!(says(Heartbeat { running: 0, ..begun }), "it is ready");
        assert_eq!(heartbeat(at_rest, Duration::from_secs(4)), "it has not said anything for 4.0 s");
        assert_eq!(says(Heartbeat { state: EditorState::Playing, ..at_rest }), "it is in play mode");
        let unanswered = says(Heartbeat { inferred: true, ..old });
        assert!(
            unanswered.contains("stood still for 31.0 s") && unanswered.contains("another program"),
            "{unanswered}"
        );
        let guessed = Heartbeat { running: 1, inferred: true, ..old };
        assert!(says(guessed).starts_with("most likely"), "{}", says(guessed));
        let call = Some((Arc::from("bake"), Duration::from_secs(30)));
        assert!(matches!(Still::of(Some((guessed, Duration::ZERO)), call), Some(Still::Call(..))));
    }
}
