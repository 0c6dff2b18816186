//! The texts that an AI or a person reads when a call did not simply succeed. Every text says three things: what happened,
//! whether the tool ran, and what to do next. No text suggests to end Unity.

mod editors;
mod offers;
mod span;
mod verdicts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use self::editors::{editor_refused, several_editors, url_refused};
pub use self::offers::{PromptFacts, no_compile_seen, prompt, seen_compile};
pub use self::span::seconds;
pub use self::verdicts::{reloaded, still_reloading, verdict};
use crate::core::link::ForeignPeer;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::{
    CANDIDATES_NAMED_MAX, FRAME_OLD, HEARTBEAT_LATE, LINKS_MAX, OPEN_REQUESTS_MAX, SILENCE_NAMED_AFTER, STILL_AFTER,
    SUBSCRIPTIONS_MAX,
};
use crate::protocol::dialect::{AnswerBody, EditorAnswer, EditorState, Heartbeat};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{Audience, ClientTraits};
use crate::protocol::text::clean;

/// The progress of a call that was sent. Whether its tool has begun is not known: the editor may queue the call or be frozen.
pub const SENT: &str = "sent to Unity, no answer yet";

/// Added to "no editor" if the project has no package that holdfast speaks to.
pub const NO_PACKAGE: &str =
    "No Unity package that holdfast supports is in the project: `holdfast unity install` installs holdfast's own.";

/// Returns a phrase about what holdfast does for a call whose connection ended before its answer.
pub fn looked_for(loss: Loss) -> &'static str {
    if loss == Loss::Reload {
        "Unity reloads its domain; looking up what became of the call"
    } else {
        "the connection ended; looking up what became of the call"
    }
}

/// Returns, as a phrase, why a call waits or the editor is away.
pub fn cause(cause: Cause) -> String {
    let phrase = match cause {
        Cause::Connecting => "not connected to Unity yet",
        Cause::Reloading => "Unity is reloading its domain",
        Cause::Compiling => "Unity is compiling scripts",
        Cause::Starting => "Unity's bridge is starting",
        Cause::Lost => "the connection was lost",
        Cause::BridgeStopped => "the bridge stopped, probably for a domain reload",
        Cause::Crashed => "Unity crashed or was killed",
        Cause::ProcessGone => "Unity's process has ended",
        Cause::Closed => "Unity was closed, or its bridge was switched off",
        Cause::NotRunning => "no Unity Editor with a bridge is running",
        Cause::BridgeDown => "Unity's bridge is not listening",
        Cause::WrongPeer => "another program uses Unity's port",
        Cause::WrongProject => "the editor has another project open",
        Cause::Unproven => "nothing proves that the listener is this project's editor",
        Cause::NoDescriptors => "holdfast has no file descriptor left",
        Cause::Ambiguous => "more than one Unity project or package fits",
        Cause::ProjectUnsettled => "it is not decided yet which project to use",
        Cause::ProjectChanged => "the client switched to another project",
        Cause::Busy => "another call is running",
        Cause::Stalled => "Unity is not answering",
        Cause::Listing => "Unity's tool list is being fetched",
        // No call waits for these causes, and no editor is away because of them, so they need no phrase.
        Cause::UnknownTool
        | Cause::TooLarge
        | Cause::Policy
        | Cause::Audit
        | Cause::Unrecorded
        | Cause::Overload
        | Cause::ShuttingDown => {
            return <&str>::from(cause).replace('_', " ");
        }
    };
    phrase.to_owned()
}

/// Describes the program on the editor's port.
pub fn foreign_peer(foreign_peer: &ForeignPeer, now: Instant) -> String {
    let ForeignPeer { port, what, owner, since, ours } = foreign_peer;
    if *ours {
        return match what {
            Some(what) => format!(
                "This project's editor gave no usable answer on port {port}: {}.",
                clean(what).trim_end_matches('.')
            ),
            None => format!(
                "This project's editor takes connections on port {port}, but has not answered for {}.",
                seconds(now.saturating_duration_since(*since) + SILENCE_NAMED_AFTER)
            ),
        };
    }
    let owner = owner.as_deref().map(|owner| format!(", {owner}")).unwrap_or_default();
    match what {
        Some(what) => format!("Somebody else listens on port {port}{owner}: {}.", clean(what).trim_end_matches('.')),
        None => format!(
            "On port {port}{owner}, there was no answer for {}: a busy editor, or another program.",
            seconds(now.saturating_duration_since(*since) + SILENCE_NAMED_AFTER)
        ),
    }
}

/// Returns a sentence with the candidate projects, each as the command-line option that names it. `None` if there are none.
pub fn candidates(projects: &[PathBuf]) -> Option<String> {
    let named = |path: &PathBuf| format!("--project {}", clean(&quoted(path)));
    let shown: Vec<String> = projects.iter().take(CANDIDATES_NAMED_MAX).map(named).collect();
    let more = projects.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    (!shown.is_empty()).then(|| format!("One of these: {}{more}.", shown.join(" or ")))
}

/// Formats a path as one word of a command line.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text }
}

/// Returns the text for a call that an editor refused because it has another project open. `says`: the editor's own words.
pub fn wrong_editor(says: &str) -> String {
    format!(
        "Not executed: the editor on that port has another project open, and refused the call before anything ran. Name the right \
         project with --project, or its editor's port with --port. The editor said: {}",
        clean(says)
    )
}

/// The text for a request beyond `OPEN_REQUESTS_MAX`.
pub fn overload() -> String {
    format!(
        "Not executed: {OPEN_REQUESTS_MAX} requests are open, and holdfast takes no more at once. Nothing was sent to Unity. Wait for some of them \
         to be answered, then make the same request again."
    )
}

/// The text for a call whose arguments, together with those of the open calls, exceed the limit. `most`: the limit in bytes.
pub fn too_many_bytes(most: usize) -> String {
    format!(
        "Not executed: busy. The arguments of the calls that are open have {} MiB together, and no more is kept. Nothing was sent to \
         Unity. Wait for some of them to be answered, then make the same call again; pass large content as a file path.",
        most / (1024 * 1024)
    )
}

/// The text for a subscription beyond `SUBSCRIPTIONS_MAX`.
pub fn too_many_subscriptions() -> String {
    format!(
        "{SUBSCRIPTIONS_MAX} requests of subscriptions/listen are open, and holdfast takes no more. Cancel one of them, or use it: each \
         hears of every change it asked for."
    )
}

/// The text for a request that was lost, before it became a call, because a part of the gateway failed.
pub const INTERNAL: &str = "A part of holdfast failed while it handled this request (our fault, please report it). It was not \
                            sent to Unity, so nothing changed. Make the same request again.";

/// The text for a request that was still open when the gateway shut down.
pub const SHUT_DOWN: &str = "holdfast was shut down before it answered this request. Nothing of it was sent to Unity.";

/// Returns the text for a call that a hub had sent, and of which nothing can be learned now. Whether that hub still runs is not known.
pub fn lost_with_the_hub(tool: &str, call: Option<CallId>) -> String {
    let named = call.map(|call| format!(" Call id {call}.")).unwrap_or_default();
    format!(
        "Outcome unknown: the hub was lost after `{tool}` was sent to Unity, and what became of the call cannot be learned. It may have \
         run, and holdfast does not send it again. Check its effect in the project before you repeat it.{named}"
    )
}

/// Returns the text for a call over HTTP that Unity has while its hub ends. The next hub looks for its outcome.
pub fn hub_ends_under(tool: &str, call: CallId) -> String {
    format!(
        "Outcome unknown: the hub is ending, and Unity has not answered `{tool}`. It may have run, and holdfast does not send it again. When a \
         hub serves here again, holdfast_result tells what is known of it; ask that before you repeat it. Call id {call}."
    )
}

/// The last text of the answer to a call whose session lost its hub meanwhile. That the hub ended is not known: it may only have closed
/// the connection.
pub const TAKEN_OVER: &str = "While this call was open, the session lost its connection to the holdfast hub. The call was taken over, \
                              and this is its answer.";

/// The sentence for a client whose calls an earlier gateway sent and did not answer. `calls`: the tools and ids of some of them, at
/// least one; `more`: how many others there are.
pub fn left_by_others(calls: &[(&str, CallId)], more: usize) -> String {
    let named: Vec<String> = calls.iter().map(|(tool, call)| format!("`{}` (call id {call})", clean(tool))).collect();
    let more = if more > 0 { format!(" (and {more} more: holdfast_calls lists them)") } else { String::new() };
    format!(
        "An earlier holdfast process of this project ended after it had sent to Unity: {}{more}. If you have no answer to such a call, \
         it may have run: holdfast_result tells what became of it, by its id.",
        named.join(", ")
    )
}

/// The problem that records of calls cannot be written to this file.
pub fn records_fail(path: &Path, error: &str, is_hub: bool) -> String {
    let follows = if is_hub {
        "no call is sent that could not be found again"
    } else {
        "calls are sent all the same, but if this holdfast process is killed, the next one cannot tell what became of them"
    };
    format!(
        "The file {} cannot be written ({error}): {follows}. Make room on the disk, or let the file be written.",
        path.display()
    )
}

/// The text for a request that the hub had not answered when the session ended.
pub const HUB_LEFT: &str = "The session ended before the hub answered this request. If it was a call of a tool, it may have run, or may still \
                            be running: check its effect before you make it again.";

/// The text for a call whose large result was not yet in its file when the gateway shut down.
pub const RESULT_NOT_STORED: &str = "Unity answered this call, but holdfast was shut down before the large result was stored. The \
                                     tool ran; check its effect before you repeat it.";

/// The text for an answer that was lost while it was written to a file.
pub const NOT_SPILLED: &str = "Unity answered, so the tool ran; but its answer is larger than a client takes, and holdfast failed \
                               to put it into a file (our fault, please report it). Do not repeat the call for that: ask for \
                               less at once.";

/// The text for a session whose project is known, if no more links can be opened.
pub fn too_many_links() -> String {
    format!("holdfast is connected to {LINKS_MAX} editors and takes no more: end sessions for other projects first.")
}

/// The text in place of a large result that is kept back because its client does not read and other clients wait behind it.
pub fn withheld(call: CallId) -> String {
    format!(
        "Unity answered, so the tool ran; but its answer is large and this client was not reading, so it was kept back. Fetch it with \
         holdfast_result, call_id {call}; do not repeat the call."
    )
}

/// Returns a warning if more tools are listed than the client shows.
pub fn too_many_tools(client: &ClientTraits, listed: usize) -> Option<String> {
    let most = client.tools_max.filter(|most| listed > *most)?;
    Some(format!(
        "{} shows its model at most {most} tools of all its servers together, and holdfast lists {listed}, so that some may be \
         missing without a word; choose the tools that it lists (`tools` in [clients.{}] of your configuration file), or switch off what \
         is not needed in the client's list of tools or in the editor's package",
        client.title,
        client.name.replace('_', "-")
    ))
}

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
            (Some((_, ago)), _) if ago >= HEARTBEAT_LATE => Some(Self::Silent(ago)),
            (Some((heartbeat, ago)), _) if heartbeat.frame_age >= patience => {
                Some(Self::MainThread(heartbeat.frame_age + ago))
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

/// Returns what the editor does, as a phrase, from a heartbeat that was received `ago`.
pub fn heartbeat(heartbeat: Heartbeat, ago: Duration) -> String {
    let Heartbeat { state, frame_age, importing, compile_errors, queued, running, .. } = heartbeat;
    let still = frame_age + ago;
    let doing = match state {
        _ if ago >= HEARTBEAT_LATE => return Still::Silent(ago).to_string(),
        EditorState::Compiling => "it compiles scripts".to_owned(),
        EditorState::Reloading => "it is about to reload its domain".to_owned(),
        EditorState::Stopping => "it is about to quit".to_owned(),
        _ if importing => "it imports assets".to_owned(),
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
        EditorState::Playing => "it is in play mode".to_owned(),
        EditorState::Ready | EditorState::Unknown => "it is ready".to_owned(),
    };
    let waiting = if queued > 0 { format!("; {} in it", calls_wait(queued)) } else { String::new() };
    let errors = if compile_errors { "; its scripts do not compile" } else { "" };
    format!("{doing}{waiting}{errors}")
}

/// Returns the answer in place of a result that the editor's journal no longer has. `why` says why.
pub fn unkept(why: &str) -> EditorAnswer {
    let text = format!(
        "Executed: the tool ran to its end while the connection was away, but {why}. Do not repeat the call for that: look at its \
         effect in the project, or ask for less at once."
    );
    EditorAnswer { is_error: true, body: AnswerBody::Text(text) }
}

/// Returns the answer in place of a refusal that cannot be read, of a call that the editor's journal says did not run.
pub fn refused_unread() -> EditorAnswer {
    let text = "Not executed: Unity refused the call, with a message that cannot be read. Nothing of it ran; Unity's console may say \
                why.";
    EditorAnswer { is_error: true, body: AnswerBody::Text(text.to_owned()) }
}

/// Returns the answer in place of one that cannot be read, neither as it was sent nor in the editor's journal.
pub fn unread() -> EditorAnswer {
    let text = "Unity answered, but neither its answer nor its journal's copy of it can be read: whether the tool ran to its end and \
                succeeded is not known. Look at what it did before you call it again. The fix is in the tool: it must return what \
                JSON can hold.";
    EditorAnswer { is_error: true, body: AnswerBody::Text(text.to_owned()) }
}

/// Returns what `holdfast_result` says about a call id that it does not know.
pub fn no_such_call(call: CallId, audience: Audience) -> String {
    let why = match audience {
        Audience::Agent => {
            "Call ids are given in \"still running\" and \"outcome unknown\" answers and in holdfast_calls; the records of answered \
             calls are kept for this session only"
        }
        Audience::Person => {
            "Records are kept for one session only, and each `holdfast call` is a session of its own: only an AI client can \
             fetch the result of an earlier call"
        }
    };
    format!("No call {call} is on record. {why}. Nothing was sent to Unity by asking.")
}

/// Returns what `holdfast_result` says about a call that is not finished. `state` is the label of the call's machine.
pub fn not_finished(call: CallId, tool: &str, state: &str, since: Duration) -> String {
    let what = match state {
        "accepted" | "held" => "it waits to be sent",
        "recovering" => "its connection ended, and what became of it is being looked up",
        "cancelled" => "it was cancelled after it was sent, and Unity has not answered it yet",
        "answered" => "Unity has just answered, and the answer is being made ready",
        _ => "Unity has it and has not answered yet",
    };
    format!(
        "Call {call} ({tool}) is not finished after {}: {what}. Ask again later; do not make the call again.",
        seconds(since)
    )
}

/// Returns what `holdfast_result` says about a call that ended without a late result.
pub fn ended(call: CallId, tool: &str, verdict: Option<Verdict>) -> String {
    let label = verdict.map_or("unknown", Verdict::label).replace('_', " ");
    let what = match verdict {
        Some(Verdict::Cancelled) => "the client cancelled it, so it has no answer",
        Some(Verdict::OutcomeUnknown(_)) => {
            "whether it ran cannot be learned any more; check its effect in the project"
        }
        _ => "its answer was given then; answers are not kept twice",
    };
    format!("Call {call} ({tool}) ended as \"{label}\": {what}.")
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
    }
}
