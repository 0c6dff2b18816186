//! The texts of the verdicts, for the AI behind an MCP client and for a person at a terminal.
//!
//! What happened and whether the tool ran is the same for both. What to do next differs: an AI can call holdfast's own tools and
//! ask its user; a person runs commands and looks at Unity.

use std::time::Duration;

use super::span::seconds;
use crate::core::calls::Answer;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::protocol::mcp::Audience;

/// Returns the text of a verdict that is not the editor's own answer.
pub fn verdict(answer: &Answer) -> String {
    let Answer { tool, call, .. } = answer;
    match answer.verdict {
        Verdict::NotExecuted(cause) => not_executed(answer, cause),
        Verdict::OutcomeUnknown(loss) => outcome_unknown(answer, loss),
        Verdict::StillRunning => {
            let next = match answer.profile.audience {
                Audience::Agent => {
                    format!("do not call it again. Fetch its result later with holdfast_result and call_id \"{call}\"")
                }
                Audience::Person => format!("do not repeat it: look in Unity whether it has finished. Call id {call}"),
            };
            format!(
                "Still running: Unity has not answered `{tool}` after {}. It may be compiling, importing, or waiting for a dialog in \
                 the editor. The call was sent and may have run, so {next}.",
                seconds(answer.took)
            )
        }
        Verdict::Cancelled => format!("Cancelled by the client. Call id {call}."),
        // The editor answered, but the answer was lost inside holdfast.
        Verdict::Ok | Verdict::ToolError => {
            format!("Unity answered `{tool}`, but the answer could not be shown. The tool ran. Call id {call}.")
        }
    }
}

fn not_executed(answer: &Answer, cause: Cause) -> String {
    if let (Some(refused), false) = (&answer.refused, matches!(cause, Cause::Policy | Cause::Audit | Cause::Unrecorded))
    {
        let says = &refused.grounds.says;
        return format!("Not executed: {says} `{}` was not sent to Unity, so nothing changed.", answer.tool);
    }
    let proof =
        if answer.unrun { "was sent, but the editor says that nothing of it ran" } else { "was not sent to Unity" };
    format!(
        "Not executed: {}. `{}` {proof}, so nothing changed. {}",
        happened(answer, cause),
        answer.tool,
        next(answer, cause)
    )
}

/// Returns why the call was not executed, as the middle of a sentence.
fn happened(answer: &Answer, cause: Cause) -> String {
    let waited = seconds(answer.took);
    let grounds =
        |otherwise: &str| answer.refused.as_ref().map_or(otherwise, |refused| &refused.grounds.says).to_owned();
    match cause {
        Cause::Connecting => format!("Unity could not be reached within {waited}"),
        Cause::Reloading => format!("Unity is reloading its domain and was not back after {waited}"),
        Cause::Compiling => format!("Unity is compiling scripts and was not back after {waited}"),
        Cause::Starting => format!("Unity's bridge is starting and was not ready after {waited}"),
        Cause::BridgeStopped => {
            format!("Unity's bridge stopped, probably for a domain reload, and was not back after {waited}")
        }
        Cause::Lost => "the connection to Unity was lost, and there is no sign that it will come back".into(),
        Cause::Crashed => "the Unity Editor's process ended without notice (it crashed or was killed)".into(),
        Cause::ProcessGone => "the Unity Editor's process has ended (it was closed, or it crashed)".into(),
        Cause::Closed => "the Unity Editor was closed, or its bridge was switched off".into(),
        Cause::NotRunning => "no Unity Editor with a bridge was found running".into(),
        Cause::BridgeDown => format!("Unity is running, but its bridge did not listen within {waited}"),
        Cause::WrongPeer => "what listens on Unity's port is not a Unity bridge".into(),
        Cause::WrongProject => "the editor on that port has another project open".into(),
        Cause::Unproven => "something listens on the port, but nothing proves that it is this project's editor".into(),
        Cause::NoDescriptors => {
            "holdfast's own process has no file descriptor left, so it can neither look for Unity nor connect \
                                 to it (this says nothing about Unity)"
                .into()
        }
        Cause::Ambiguous => "more than one Unity project or package fits, and holdfast never guesses".into(),
        Cause::ProjectUnsettled => format!(
            "it was not decided within {waited} which Unity project to use: the client's roots changed and are still being looked at, \
             or a call that was sent earlier is still running in the previous project's editor"
        ),
        Cause::ProjectChanged => "the client switched to another project before the call could be sent".into(),
        Cause::Busy => match answer.behind {
            Some((call, since)) => {
                format!("Unity runs such calls one at a time and has been busy with call {call} for {}", seconds(since))
            }
            None => "Unity's bridge was busy with another call".into(),
        },
        Cause::Stalled => {
            "Unity accepts connections, but does not answer (it may be importing, or a dialog is open)".into()
        }
        Cause::Listing => format!("Unity did not send its tool list within {waited}"),
        Cause::UnknownTool => "Unity's live tool list has no such tool".into(),
        Cause::TooLarge => "the request is larger than Unity's bridge accepts".into(),
        Cause::Policy if is_broken_policy(answer) => grounds("what guards the calls has a mistake"),
        Cause::Policy => grounds("a policy rule forbids it"),
        Cause::Audit => grounds("the audit log cannot be written"),
        Cause::Unrecorded => grounds("the hub cannot record what it sends"),
        Cause::Overload => "too many requests are open".into(),
        Cause::ShuttingDown => "holdfast is shutting down".into(),
    }
}

/// Returns what the reader can do about a call that was not executed, as whole sentences.
fn next(answer: &Answer, cause: Cause) -> &'static str {
    use Audience::{Agent, Person};
    match (cause, answer.profile.audience) {
        (Cause::Connecting, Agent) => "Check with holdfast_status whether the editor is starting, then call again.",
        (Cause::Connecting, Person) => "Run `holdfast doctor`, which says what it finds, then try again.",
        (Cause::Reloading | Cause::Starting, Agent) => "Call holdfast_wait_ready, then make the same call again.",
        (Cause::Reloading | Cause::Starting, Person) => "Try again when Unity is ready, or wait longer with --timeout.",
        (Cause::Compiling, Agent) => {
            "Call holdfast_wait_ready, then make the same call again. If Unity does not get ready, look at the compile errors in its \
             console."
        }
        (Cause::Compiling, Person) => {
            "Try again when Unity is ready, or wait longer with --timeout. If it does not get ready, look at the compile errors in its \
             console."
        }
        (Cause::BridgeStopped, Agent) => {
            "Call holdfast_wait_ready, then make the same call again. If Unity does not get ready, ask the user to look at the \
             bridge's window in Unity."
        }
        (Cause::BridgeStopped, Person) => {
            "Try again when Unity is ready. If it does not get ready, look at the bridge's window in Unity."
        }
        (Cause::Lost, Agent) => "Check with holdfast_status, then call again.",
        (Cause::Lost | Cause::Listing, Person) => "Run `holdfast doctor`, which says what it finds, then try again.",
        (Cause::Crashed | Cause::ProcessGone, Agent) => {
            "Ask the user to start Unity again; the same call works as soon as it runs. No restart of the AI client is needed."
        }
        (Cause::Crashed | Cause::ProcessGone, Person) => "Start Unity again, then try again.",
        (Cause::Closed, Agent) => {
            "Ask the user to open the project in Unity (or to switch the bridge on); the same call works then."
        }
        (Cause::Closed, Person) => "Open the project in Unity (or switch the bridge on), then try again.",
        (Cause::NotRunning, Agent) => {
            "Ask the user to open the project in Unity; the same call works then. holdfast_status says where holdfast looked."
        }
        (Cause::NotRunning, Person) => {
            "Open the project in Unity, then try again. `holdfast doctor` says where holdfast looked."
        }
        (Cause::BridgeDown, Agent) => {
            "If Unity is compiling or reloading, call holdfast_wait_ready, then make the same call again. If not, ask the user to look at \
             the bridge's window in Unity (server stopped, or another port)."
        }
        (Cause::BridgeDown, Person) => {
            "If Unity is compiling or reloading, try again, or wait longer with --timeout. If not, look at the bridge's window in Unity \
             (server stopped, or another port)."
        }
        (Cause::WrongPeer, Agent) => {
            "Another program uses the port. Ask the user to run `holdfast doctor`, which names it, and to set the right port."
        }
        (Cause::WrongPeer, Person) => {
            "Another program uses the port. Run `holdfast doctor`, which names it, and set the right port."
        }
        (Cause::WrongProject, Agent) => {
            "Ask the user to open this project in Unity, or to name the right one with --project or --port."
        }
        (Cause::WrongProject, Person) => "Open this project in Unity, or name the right one with --project or --port.",
        (Cause::Unproven, Agent) => {
            "Ask the user to name the project with --project or the port with --port (or UNITY_TCP_PORT); holdfast_status lists what \
             was found."
        }
        (Cause::Unproven, Person) => {
            "Name the project with --project or the port with --port (or UNITY_TCP_PORT); `holdfast doctor` lists what was found."
        }
        (Cause::NoDescriptors, _) => {
            "Raise the limit on open files (ulimit -n) of the program that starts holdfast, or let it close some; the same call \
             works as soon as there are descriptors."
        }
        (Cause::Ambiguous, Agent) => {
            "Ask the user to name the project with --project, or the package with --dialect; holdfast_status lists them."
        }
        (Cause::Ambiguous, Person) => {
            "Name the project with --project, or the package with --dialect; `holdfast doctor` lists them."
        }
        (Cause::ProjectUnsettled | Cause::Listing, Agent) => {
            "Check with holdfast_status, then make the same call again."
        }
        (Cause::ProjectChanged, Agent) => {
            "If it is meant for the project that holdfast_status names now, make the same call again."
        }
        (Cause::Busy, Agent) => "Wait for that call (holdfast_result tells its state), then make the same call again.",
        (Cause::Stalled, Agent) => "Ask the user to look at the Unity window, then make the same call again.",
        (Cause::Stalled, Person) => "Look at the Unity window, then try again.",
        (Cause::UnknownTool, Agent) => "List the tools again and use one of those names.",
        (Cause::UnknownTool, Person) => "`holdfast tools` lists the names.",
        (Cause::TooLarge, _) => {
            "Send less at once, for example by writing the content to a file in the project and passing its path."
        }
        (Cause::Policy, Agent) if is_broken_policy(answer) => {
            "Do not repeat the call: ask the user to correct that mistake (`holdfast doctor` shows it too)."
        }
        (Cause::Policy, Person) if is_broken_policy(answer) => {
            "Correct that mistake first; `holdfast doctor` shows it too."
        }
        (Cause::Policy, Agent) => {
            "That is the user's decision: do not look for a way around it, and do not repeat the call. Use another tool, or ask the \
             user to change the rule."
        }
        (Cause::Policy, Person) => "To allow it, change that rule.",
        (Cause::Audit, Agent) => {
            "Ask the user to make the audit file writable (holdfast_status names it), or to switch the audit off; the same call works \
             then."
        }
        (Cause::Audit, Person) => "Make the audit file writable, or switch the audit off, then try again.",
        (Cause::Unrecorded, Agent) => {
            "Ask the user to make room on the disk, or to let that file be written; the same call works then."
        }
        (Cause::Unrecorded, Person) => "Make room on the disk, or let that file be written, then try again.",
        (Cause::Overload, Agent) => "Wait for some of them to be answered, then make the same call again.",
        (Cause::ShuttingDown, Agent) if answer.request.session.is_post() => {
            "Make the same call again once the hub has been started again."
        }
        (Cause::ShuttingDown, Agent) => "Call again in a new session.",
        (
            Cause::ProjectUnsettled | Cause::ProjectChanged | Cause::Busy | Cause::Overload | Cause::ShuttingDown,
            Person,
        ) => "Try again.",
    }
}

/// Whether the call is forbidden because the policy or the audit is configured wrongly, and not by a rule of the policy.
fn is_broken_policy(answer: &Answer) -> bool {
    answer.refused.as_ref().is_some_and(|refused| refused.grounds.rule.is_none())
}

fn outcome_unknown(answer: &Answer, loss: Loss) -> String {
    let Answer { tool, call, .. } = answer;
    let happened = match loss {
        Loss::Reload => "Unity reloaded its domain before it answered",
        Loss::Interrupted => "a domain reload interrupted the call after it had begun, and there is no result",
        Loss::Quit => "Unity was closed before it answered",
        Loss::Disconnect => "the connection to Unity ended before it answered",
        Loss::Protocol => "Unity's bridge sent bytes that are not its protocol, and the connection was closed",
        Loss::Silence => "Unity sent nothing for far too long, and the connection was closed",
        Loss::ProjectChanged => {
            "the client switched to another project, and the previous project's editor was left before it answered"
        }
        Loss::Gateway => "a part of holdfast failed after the call was sent",
        Loss::HubEnded => {
            "the holdfast process that had sent the call was lost, and nothing was learned of what became of it"
        }
        Loss::Shutdown => "holdfast was shut down before Unity answered",
    };
    let back = match answer.came_back {
        Some(after) if &**tool == "compile" && answer.reload_likely => format!(
            " Unity was back after {}: a compile that succeeds ends in such a reload, so it most likely succeeded (inferred, \
             not confirmed).",
            seconds(after)
        ),
        Some(after) => format!(" Unity was back after {}.", seconds(after)),
        None => String::new(),
    };
    let how = match answer.profile.audience {
        Audience::Agent => " (with a tool that reads the console or the scene, or by reading the files it changes)",
        Audience::Person => " in Unity or in the files it changes",
    };
    format!(
        "Outcome unknown: {happened}.{back} `{tool}` was sent and may have run, so it was not sent again. Before you repeat it, \
         check whether its effect is there{how}. Call id {call}."
    )
}

/// Returns the note on an answer after which the editor was away and came back. `likely`: a domain reload is the likely reason.
pub fn reloaded(waited: Duration, likely: bool) -> String {
    let why = if likely { ", most likely for a domain reload," } else { "" };
    format!("Unity was away after that{why} and is ready again (waited {}).", seconds(waited))
}

/// Like [`reloaded`], for an editor that has not come back.
pub fn still_reloading(waited: Duration, likely: bool, audience: Audience) -> String {
    let why = if likely { ", most likely to reload its domain," } else { "" };
    let next = match audience {
        Audience::Agent => "Call holdfast_wait_ready before the next call.",
        Audience::Person => "Wait until it is ready before you run the next command.",
    };
    format!("Unity went away after that{why} and was not back after {}. The tool ran. {next}", seconds(waited))
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::protocol::ids::{CallId, RequestKey, SessionId};
    use crate::protocol::mcp::{AnswerForm, ClientProfile, ProtocolVersion};

    fn answer(verdict: Verdict, audience: Audience) -> Answer {
        Answer {
            request: RequestKey::new(SessionId::STDIO, 1),
            call: CallId::from_random([7; 16]),
            trace: None,
            requester: None,
            tool: "compile".into(),
            verdict,
            body: None,
            took: Duration::from_millis(1500),
            behind: None,
            came_back: None,
            reload_likely: false,
            unrun: false,
            refused: None,
            taken_over: false,
            project: None,
            profile: ClientProfile { audience, ..ProtocolVersion::LATEST.into() },
            form: AnswerForm::ToolResult,
        }
    }

    #[test]
    fn a_call_that_the_editor_did_not_run_is_not_said_to_have_stayed_here() {
        let answer = answer(Verdict::NotExecuted(Cause::Reloading), Audience::Agent);
        let text = verdict(&Answer { unrun: true, ..answer });
        assert!(text.contains("was sent, but the editor says") && !text.contains("was not sent"), "{text}");
    }

    /// The simulation finds calls that were held in vain by these words.
    #[test]
    fn a_call_whose_list_never_came_is_answered_in_the_words_that_the_simulation_looks_for() {
        let text = verdict(&answer(Verdict::NotExecuted(Cause::Listing), Audience::Agent));
        assert!(text.contains(holdfast_testkit::checker::NOT_LISTED), "{text}");
    }

    #[test]
    fn every_text_says_whether_it_ran_and_what_to_do_and_never_to_kill_unity() {
        for audience in [Audience::Agent, Audience::Person] {
            let text = |of| verdict(&answer(of, audience));
            let mut texts = vec![text(Verdict::StillRunning)];
            for cause in Cause::VARIANTS {
                let text = text(Verdict::NotExecuted(*cause));
                assert!(text.starts_with("Not executed: ") && text.contains("was not sent to Unity"), "{text}");
                texts.push(text);
            }
            for loss in Loss::VARIANTS {
                let text = text(Verdict::OutcomeUnknown(*loss));
                assert!(text.starts_with("Outcome unknown: ") && text.contains("not sent again"), "{text}");
                texts.push(text);
            }
            texts.push(still_reloading(Duration::from_secs(9), true, audience));
            for text in texts {
                let lower = text.to_lowercase();
                assert!(
                    !lower.contains("kill unity") && !lower.contains("pkill") && !lower.contains("force quit"),
                    "{text}"
                );
                assert!(text.len() < 700, "{text}");
                if audience == Audience::Person {
                    assert!(!lower.contains("the user") && !lower.contains("holdfast_"), "{text}");
                }
            }
        }
    }
}
