//! The texts of the verdicts, for the AI behind an MCP client and for a person at a terminal.
//!
//! What happened and whether the tool ran is the same for both. What to do next differs: an AI can call holdfast's own tools and
//! ask its user; a person runs commands and looks at Unity.

use super::phrases::seconds;
use std::path::Path;
use std::time::Duration;

use super::editor_state::{asked_meanwhile, heartbeat, hindered};
use super::next::next;
use crate::core::calls::Answer;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::Audience;
use crate::protocol::text::clean;

/// Returns the text of a verdict that is not the editor's own answer. `beside`: what else explains why the call was not executed.
/// `project`: the project that the call was for.
pub fn verdict(answer: &Answer, beside: Option<&str>, project: Option<&Path>) -> String {
    let Answer { tool, call, .. } = answer;
    match answer.verdict {
        Verdict::NotExecuted(cause) => not_executed(answer, cause, beside, project),
        Verdict::OutcomeUnknown(loss) => outcome_unknown(answer, loss),
        Verdict::StillRunning => {
            let next = match answer.profile.audience {
                Audience::Agent => {
                    format!("do not call it again. Fetch its result later with holdfast_result and call_id \"{call}\"")
                }
                Audience::Person => format!("do not repeat it: look in Unity whether it has finished. Call id {call}"),
            };
            let known = answer.known.as_ref();
            let doing = match known.and_then(|known| {
                known
                    .obstacle
                    .as_ref()
                    .map(ToString::to_string)
                    .or(known.heartbeat.map(|(felt, ago)| heartbeat(felt, ago)))
            }) {
                Some(doing) => asked_meanwhile(&doing),
                None => " It may be compiling, importing, or waiting for a dialog in the editor.".to_owned(),
            };
            format!(
                "Still running: Unity has not answered `{tool}` after {}.{doing} The call was sent and may have run, so {next}.",
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

fn not_executed(answer: &Answer, cause: Cause, beside: Option<&str>, project: Option<&Path>) -> String {
    let beside = beside.map(|beside| format!(" {beside}")).unwrap_or_default();
    if let (Some(refused), false) =
        (&answer.refused, matches!(cause, Cause::Policy | Cause::Audit | Cause::Unrecorded | Cause::Busy))
    {
        let says = &refused.grounds.says;
        return format!("Not executed: {says} `{}` was not sent to Unity, so nothing changed.{beside}", answer.tool);
    }
    let proof =
        if answer.unrun { "was sent, but the editor says that nothing of it ran" } else { "was not sent to Unity" };
    let doing = answer.known.as_ref().and_then(|known| {
        let obstacle = known.obstacle.as_ref().map(ToString::to_string);
        obstacle.or_else(|| known.heartbeat.and_then(|(felt, ago)| hindered(felt, ago)))
    });
    let doing = doing.map(|doing| asked_meanwhile(&doing)).unwrap_or_default();
    let next = match (cause, answer.profile.audience) {
        (Cause::Policy, Audience::Agent) if is_broken_policy(answer) => {
            "Do not repeat the call: ask the user to correct that mistake (`holdfast doctor` shows it too).".to_owned()
        }
        (Cause::Policy, Audience::Person) if is_broken_policy(answer) => {
            "Correct that mistake first; `holdfast doctor` shows it too.".to_owned()
        }
        (Cause::ShuttingDown, _) if answer.request.session.is_post() => {
            "Make the same call again once the hub has been started again.".to_owned()
        }
        (cause, _) => next(cause, &answer.profile, project),
    };
    format!(
        "Not executed: {}. `{}` {proof}, so nothing changed.{doing}{beside} {next}",
        happened(answer, cause),
        answer.tool,
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
        Cause::Displaced => format!(
            "Unity's package serves one client, and another one took the connection again and again (or the editor cut it) for {waited}"
        ),
        Cause::Lost => "the connection to Unity was lost, and there is no sign that it will come back".into(),
        Cause::Crashed => "the Unity Editor's process ended without notice (it crashed or was killed)".into(),
        Cause::ProcessGone => "the Unity Editor's process has ended (it was closed, or it crashed)".into(),
        Cause::Closed => "the Unity Editor was closed, or its bridge was switched off".into(),
        Cause::NotRunning => "no Unity Editor with a bridge was found running".into(),
        Cause::NoPackage => "the project has no Unity package that holdfast supports".into(),
        Cause::ProjectUnknown => "it is not known which Unity project is meant".into(),
        Cause::BridgeDown => format!("Unity is running, but its bridge did not listen within {waited}"),
        Cause::WrongPeer => "what listens where Unity should is not a Unity bridge".into(),
        Cause::WrongProject => "the editor on that port has another project open".into(),
        Cause::Unproven => "something listens on the port, but nothing proves that it is this project's editor".into(),
        Cause::NoDescriptors => {
            "holdfast's own process has no file descriptor left, so it can neither look for Unity nor connect \
                                 to it (this says nothing about Unity)"
                .into()
        }
        Cause::Forbidden => {
            "the system does not let holdfast use the port over which it meets Unity, as in a sandbox or container (this says nothing \
             about Unity)"
                .into()
        }
        Cause::Ambiguous => "more than one Unity project or package fits, and holdfast never guesses".into(),
        Cause::ProjectUnsettled => format!(
            "it was not decided within {waited} which Unity project to use: the client's roots changed and are still being looked at, \
             or a call that was sent earlier is still running in the previous project's editor"
        ),
        Cause::ProjectChanged => "the client switched to another project before the call could be sent".into(),
        Cause::Busy if answer.refused.is_some() => grounds("Unity's bridge was busy with another call"),
        Cause::Busy => match &answer.behind {
            Some((call, tool, since)) => format!(
                "Unity runs such calls one at a time and has been busy with `{}` (call {call}) for {}",
                clean(tool),
                seconds(*since)
            ),
            None => "Unity's bridge was busy with another call".into(),
        },
        // The editor's own words follow.
        Cause::Blocked if answer.known.as_ref().is_some_and(|known| known.obstacle.is_some()) => {
            format!("Unity did not take the call for {waited}")
        }
        Cause::Blocked => {
            format!(
                "Unity took no calls for {waited}: a dialog is open in it, it has not settled since its start, or too many calls wait in it"
            )
        }
        Cause::Stalled => {
            "Unity accepts connections, but does not answer (it may be importing, or a dialog is open)".into()
        }
        Cause::Listing => format!("Unity did not send its tool list within {waited}"),
        Cause::UnknownTool => "Unity's live tool list has no such tool".into(),
        Cause::TooLarge => "the request is larger than Unity's bridge accepts".into(),
        Cause::BadArguments => grounds("Unity would misread the arguments"),
        Cause::Policy if is_broken_policy(answer) => grounds("what guards the calls has a mistake"),
        Cause::Policy => grounds("a policy rule forbids it"),
        Cause::Audit => grounds("the audit log cannot be written"),
        Cause::Unrecorded => grounds("the hub cannot record what it sends"),
        Cause::Gateway => {
            "holdfast's own parts for this editor failed again and again, and rest before they start again (a bug of \
                           holdfast; Unity has no part in it)"
                .into()
        }
        Cause::ClientAway => "the hub that had the call ended, and the client did not come back for it".into(),
        Cause::Overload => "too many requests are open".into(),
        Cause::ShuttingDown => "holdfast is shutting down".into(),
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
        Loss::Disconnect => match answer.known.as_ref().and_then(|known| known.gone) {
            Some(Cause::Crashed) => "Unity crashed or was killed before it answered",
            Some(Cause::ProcessGone) => "Unity's process ended before it answered (it was closed, or it crashed)",
            _ => "the connection to Unity ended before it answered",
        },
        Loss::Protocol => "Unity's bridge sent bytes that are not its protocol, and the connection was given up",
        Loss::Silence => "Unity sent nothing for far too long, and the connection was given up",
        Loss::GivenUp => {
            "Unity tells no more of it (its own server waits for it no longer, or failed, or its status file says nothing of it): the \
             call may still wait or run there"
        }
        Loss::Forgotten => {
            "Unity no longer knows the job that it had begun for the call: it reloaded its domain, or started its server again"
        }
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

/// Returns why a call is not sent while the work of an earlier one goes on: the end of both would be told in one place.
pub fn still_followed(tool: &str, call: CallId) -> String {
    format!(
        "Unity has not ended what `{}` (call {call}) began, and its status file could not tell the ends of two such calls apart",
        clean(tool)
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
            known: None,
            taken_over: false,
            project: None,
            profile: ClientProfile { audience, ..ProtocolVersion::LATEST.into() },
            form: AnswerForm::ToolResult,
        }
    }

    #[test]
    fn a_call_that_the_editor_did_not_run_is_not_said_to_have_stayed_here() {
        let answer = answer(Verdict::NotExecuted(Cause::Reloading), Audience::Agent);
        let text = verdict(&Answer { unrun: true, ..answer }, None, None);
        assert!(text.contains("was sent, but the editor says") && !text.contains("was not sent"), "{text}");
    }

    /// The simulation finds calls that were held in vain by these words.
    #[test]
    fn a_call_whose_list_never_came_is_answered_in_the_words_that_the_simulation_looks_for() {
        let text = verdict(&answer(Verdict::NotExecuted(Cause::Listing), Audience::Agent), None, None);
        assert!(text.contains(holdfast_testkit::checker::NOT_LISTED), "{text}");
    }

    #[test]
    fn every_text_says_whether_it_ran_and_what_to_do_and_never_to_kill_unity() {
        for audience in [Audience::Agent, Audience::Person] {
            let text = |of| verdict(&answer(of, audience), None, None);
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
