//! The texts that an AI or a person reads when a call did not simply succeed. Every text says three things: what happened,
//! whether the tool ran, and what to do next. No text suggests to end Unity.

mod editor_state;
mod editors;
mod next;
mod offers;
mod phrases;
mod verdicts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

pub use self::editor_state::{Still, calls_wait, connection_state, heartbeat, hindered};
pub use self::editors::{editor_refused, several_editors, url_refused};
pub use self::next::next;
pub use self::offers::{PromptFacts, lasting_prompt, no_compile_seen, prompt, seen_compile};
pub use self::phrases::{cause, quoted, seconds};
pub use self::verdicts::{reloaded, still_followed, still_reloading, verdict};
use crate::core::link::ForeignPeer;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::{
    CANDIDATES_NAMED_MAX, LINKS_MAX, OPEN_REQUESTS_MAX, SILENCE_NAMED_AFTER, SUBSCRIPTIONS_MAX, SURVEY_MAX,
};
use crate::protocol::dialect::{AnswerBody, EditorAnswer};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::Audience;
use crate::protocol::text::clean;

/// The progress of a call that was sent. Whether its tool has begun is not known: the editor may queue the call or be frozen.
pub const SENT: &str = "sent to Unity, no answer yet";

/// The progress of a call that has begun some work whose end stands in a file.
pub const FOLLOWED: &str = "sent to Unity; what it began goes on, and a file of the project tells how it ends";

/// The words for an editor that accepts calls and sends nothing.
pub const SILENT: &str = "it is silent: it may be importing, or a dialog is open";

/// Why no project is known to a session that has no folder at all.
pub const NO_FOLDER: &str =
    "This session has no working directory (it may have been deleted), and its client named no folder on this machine.";

/// The problem that the client names a root which is no folder.
pub fn other_root(root: &str) -> String {
    format!("The client's root `{}` names no folder on this machine, and is not used.", clean(root))
}

/// Returns a phrase about what holdfast does for a call whose connection ended before its answer. `gone`: why the editor's process
/// is gone, if it is known to be.
pub fn looked_for(loss: Loss, gone: Option<Cause>) -> String {
    let why = match (loss, gone) {
        (Loss::Reload, _) => "Unity reloads its domain".to_owned(),
        (Loss::Forgotten, _) => "Unity no longer knows the job".to_owned(),
        (_, Some(gone)) => cause(gone),
        (_, None) => "the connection ended".to_owned(),
    };
    format!("{why}; looking up what became of the call")
}

/// Returns what a progress message adds about a call that is behind another one.
pub fn behind(tool: &str, since: Duration) -> String {
    format!("`{}` has been running for {}", clean(tool), seconds(since))
}

/// Describes the program on the editor's port.
pub fn foreign_peer(foreign_peer: &ForeignPeer, now: Instant) -> String {
    let ForeignPeer { port, what, owner, since, ours } = foreign_peer;
    // A local socket has no port.
    let place = if *port == 0 { "the local socket".to_owned() } else { format!("port {port}") };
    if *ours {
        return match what {
            Some(what) => format!(
                "This project's editor gave no usable answer on {place}: {}.",
                clean(what).trim_end_matches('.')
            ),
            None => format!(
                "This project's editor takes connections on {place}, but has not answered for {}.",
                seconds(now.saturating_duration_since(*since) + SILENCE_NAMED_AFTER)
            ),
        };
    }
    let owner = owner.as_deref().map(|owner| format!(", {owner}")).unwrap_or_default();
    match what {
        Some(what) => format!("Somebody else listens on {place}{owner}: {}.", clean(what).trim_end_matches('.')),
        None => format!(
            "On {place}{owner}, there was no answer for {}: a busy editor, or another program.",
            seconds(now.saturating_duration_since(*since) + SILENCE_NAMED_AFTER)
        ),
    }
}

/// Says that the editor is in Safe Mode, which a compile error in its log shows.
pub fn safe_mode(error: &str) -> String {
    format!(
        "Unity's log says that the scripts do not compile ({}), so it is most likely in Safe Mode, where no package runs: correct the \
         error, or leave Safe Mode in Unity's window.",
        clean(error)
    )
}

/// Returns a sentence with the candidate projects, each as the command-line option that names it. `None` if there are none.
pub fn candidates(projects: &[PathBuf]) -> Option<String> {
    let named = |path: &PathBuf| format!("--project {}", clean(&quoted(path)));
    let shown: Vec<String> = projects.iter().take(CANDIDATES_NAMED_MAX).map(named).collect();
    let more = projects.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    (!shown.is_empty()).then(|| format!("One of these: {}{more}.", shown.join(" or ")))
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
    let (far, named) = match call {
        Some(call) => ("sent to Unity", format!(" Call id {call}.")),
        None => ("handed to it", String::new()),
    };
    format!(
        "Outcome unknown: the hub was lost after `{tool}` was {far}, and what became of the call cannot be learned. It may have \
         run, and holdfast does not send it again. Check its effect in the project before you repeat it.{named}"
    )
}

/// Returns the text for a call that the hub answered with what cannot be read (our fault).
pub fn hub_unreadable(tool: &str) -> String {
    format!(
        "Outcome unknown: the holdfast hub answered `{tool}` with a line that this session cannot read (our fault, please report it). The \
         call may have run, and holdfast does not send it again. Check its effect in the project before you repeat it."
    )
}

/// What a session says while the hub that has its links is away.
pub const HUB_SOUGHT: &str = "The holdfast hub that has the connection to Unity has ended or does not answer, and another one is being looked for. \
                              What is said of the editor is from before; calls are held meanwhile.";

/// Returns the text for a call whose client waits no longer, and which the hub has not taken because it makes way for
/// another hub.
pub fn hub_makes_way(tool: &str) -> String {
    format!(
        "Not executed: the holdfast hub of this session is making way for another one, and first waits for calls that Unity has not \
         answered. Nothing of `{tool}` was sent to Unity. Make the call again in a moment."
    )
}

/// Returns the text for a call over HTTP that Unity has while its hub ends. The next hub looks for its outcome.
pub fn hub_ends_under(tool: &str, call: CallId) -> String {
    format!(
        "Outcome unknown: the hub is ending, and Unity has not answered `{tool}`. It may have run, and holdfast does not send it again. When a \
         hub serves here again, holdfast_result tells what is known of it; ask that before you repeat it. Call id {call}."
    )
}

/// The last text of the answer to a call whose session lost its hub meanwhile. The hub may have ended, or may only have
/// closed the connection.
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

/// Says that what `holdfast status` shows of this process is `age` old.
pub fn record_is_old(age: Duration, error: &str) -> String {
    format!(
        "What `holdfast status` shows of this holdfast process has not been renewed for {}: its record in the state folder cannot be \
         written ({error}). Calls go on. Make room on the disk, or let the folder be written.",
        seconds(age)
    )
}

/// Returns the text for a call that the hub had not answered when the session ended. `call`: its id, if it is on record as sent.
pub fn hub_left(tool: &str, call: Option<CallId>) -> String {
    let (far, named) = match call {
        Some(call) => ("had sent it to Unity, and had not answered it", format!(" Call id {call}.")),
        None => ("had it, and had not answered it", String::new()),
    };
    format!(
        "Outcome unknown: when the session ended, the holdfast hub {far}. `{tool}` may have run, or may still be running, and holdfast \
         does not send it again. Check its effect in the project before you repeat it.{named}"
    )
}

/// Returns the text for a call that was not sent when the session ended.
pub fn not_sent_at_the_end(tool: &str) -> String {
    format!(
        "Not executed: the session ended before `{tool}` was sent to Unity. Nothing of it was sent. Call again in a new session."
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

/// The problem while a survey does not end.
pub fn survey_hangs() -> String {
    format!(
        "Looking for the project and its editor has not ended after {} s: a file or folder of it does not open, most likely on a disk \
         or share that does not answer. Let it answer: holdfast then looks again by itself. Or start it for another folder.",
        SURVEY_MAX.as_secs()
    )
}

/// The text in place of a large result that is kept back because its client does not read and other clients wait behind it.
pub fn withheld(call: CallId) -> String {
    format!(
        "Unity answered, so the tool ran; but its answer is large and this client was not reading, so it was kept back. Fetch it with \
         holdfast_result, call_id {call}; do not repeat the call."
    )
}

/// What `holdfast_tools` says while no tools of an editor are known.
pub const NO_TOOLS_KNOWN: &str = "holdfast_tools: not executed: no tools of a Unity Editor are known yet. Call holdfast_wait_ready and \
                                  look again; holdfast_status says what is missing.";

/// Returns the answer in place of a result that the editor's journal no longer has. `why` says why.
pub fn unkept(why: &str) -> EditorAnswer {
    let text = format!(
        "Executed: the tool ran to its end while the connection was away, but {why}. Do not repeat the call for that: look at its \
         effect in the project, or ask for less at once."
    );
    EditorAnswer { is_error: true, body: AnswerBody::Text(text) }
}

/// Returns the answer for a call that did not run, as the editor's journal says, and whose refusal cannot be read.
pub fn refused_unread() -> EditorAnswer {
    let text = "Not executed: Unity refused the call, with a message that cannot be read. Nothing of it ran; Unity's console may say \
                why.";
    EditorAnswer { is_error: true, body: AnswerBody::Text(text.to_owned()) }
}

/// Returns the answer in place of an answer that our own code failed to read.
pub fn misread() -> EditorAnswer {
    let text = "Unity answered, and holdfast failed to read the answer: that is a bug of holdfast, please report it. The tool has run, whether \
                to its end and with what result is not known. Look at what it did before you call it again.";
    EditorAnswer { is_error: true, body: AnswerBody::Text(text.to_owned()) }
}

/// Returns the answer in place of an answer that cannot be read, neither as it was sent nor in the editor's journal.
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
            "A call is on record while a hub knows it, or if its command was killed or ended before its answer came. Give the same \
             project as then (--project)"
        }
    };
    format!("No call {call} is on record. {why}. Nothing was sent to Unity by asking.")
}

/// Returns what `holdfast_result` says about a call that is not finished. `state` is the label of the call's machine.
/// `doing`: what the editor is known to do.
pub fn not_finished(call: CallId, tool: &str, state: &str, since: Duration, doing: Option<&str>) -> String {
    let what = match state {
        "accepted" | "held" => "it waits to be sent",
        "recovering" => "its connection ended, and what became of it is being looked up",
        "cancelled" => "it was cancelled after it was sent, and Unity has not answered it yet",
        "answered" => "Unity has just answered, and the answer is being made ready",
        _ => "Unity has it and has not answered yet",
    };
    format!(
        "Call {call} ({tool}) is not finished after {}: {what}.{} Ask again later; do not make the call again.",
        seconds(since),
        doing.map(self::editor_state::asked_meanwhile).unwrap_or_default()
    )
}

/// What is said about a result that was kept and then dropped.
pub const DROPPED: &str = "it ran and Unity answered, but its result was dropped for its age or size. Do not repeat the call for \
                           that; check its effect in the project.";

/// Returns what `holdfast_result` says about a call that ended, and whose result is not kept.
pub fn ended(call: CallId, tool: &str, verdict: Option<Verdict>) -> String {
    let label = verdict.map_or("unknown", Verdict::label).replace('_', " ");
    let what = match verdict {
        Some(Verdict::Cancelled) => "the client cancelled it, so it has no answer",
        Some(Verdict::OutcomeUnknown(_)) => {
            "whether it ran cannot be learned any more; check its effect in the project"
        }
        Some(Verdict::NotExecuted(_)) => "it was not executed, so there is no result",
        // A result that the client does not have is kept, and was found before this text is needed.
        Some(Verdict::Ok | Verdict::ToolError) => {
            "it ran, and its answer was sent to the client that made the call; it is not kept any more"
        }
        Some(Verdict::StillRunning) | None => "no result of it is known here",
    };
    format!("Call {call} ({tool}) ended as \"{label}\": {what}.")
}
