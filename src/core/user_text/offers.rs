//! The texts of prompts, and those about the last compilation.

use std::fmt::Write as _;

use tokio::time::Instant;

use super::seconds;
use crate::core::last_compile::SeenCompile;
use crate::limits::resources::COMPILE_ERRORS_QUOTED_MAX;
use crate::protocol::dialect::Issue;
use crate::protocol::mcp::{EDITOR_ARGUMENT, GetPrompt, Prompt, Resource, alternatives};
use crate::protocol::text::clean;

/// What is known when a prompt is fetched.
#[derive(Debug, Clone, Default)]
pub struct PromptFacts {
    /// The headline of the status; empty if the text is not for one moment.
    pub summary: String,
    /// What helps, as the status says.
    pub next: Option<String>,
    /// Whether only the user can help.
    pub needs_the_user: bool,
    /// The problems that the status names.
    pub problems: Vec<String>,
    /// The tools that compile, by the names that the client sees. Several if several editors are meant.
    pub compile: Vec<String>,
    /// The tools that read the console.
    pub console: Vec<String>,
    /// Whether the tools come from the editor itself, so that a tool that is not named does not exist.
    pub is_live: bool,
    /// The last compilation that was seen, of a session with one editor.
    pub last: Option<SeenCompile>,
    /// The names of the editors, if the session may use several.
    pub editors: Vec<String>,
}

pub fn prompt(get: &GetPrompt, facts: &PromptFacts, now: Instant) -> String {
    match get.prompt {
        Prompt::FixCompileErrors => fix_compile_errors(get.place.as_deref(), facts, now),
        Prompt::WhyIsUnitySilent => why_is_unity_silent(facts),
    }
}

/// Returns a prompt's text for a file: what is known at one moment is not in it.
pub fn lasting_prompt(prompt_: Prompt, now: Instant) -> String {
    prompt(&GetPrompt { prompt: prompt_, place: None }, &PromptFacts::default(), now)
}

fn fix_compile_errors(place: Option<&str>, facts: &PromptFacts, now: Instant) -> String {
    let mut text = "Make the scripts of this Unity project compile.".to_owned();
    if let Some(place) = place {
        let _ = write!(text, " Change only what belongs to this place: `{}`.", clean(place).replace('`', "'"));
    }
    known(&mut text, facts);
    match &facts.last {
        Some(seen) => {
            let _ = write!(text, "\n{}", seen_compile(seen, now));
            let errors = seen.compiled.errors.iter().take(COMPILE_ERRORS_QUOTED_MAX);
            for error in errors {
                let _ = write!(text, "\n- {}", clean(&located(error)));
            }
            if seen.compiled.error_count > COMPILE_ERRORS_QUOTED_MAX as u64 {
                let _ = write!(text, "\nThe resource {} has more of them.", Resource::CompileErrors.uri(None));
            }
        }
        None if facts.editors.is_empty() && !facts.summary.is_empty() => {
            text.push_str("\nNo compile result has passed through holdfast yet.");
        }
        None => {}
    }
    let compile = alternatives(&facts.compile);
    let first = match (facts.compile.is_empty(), facts.is_live) {
        (false, _) => {
            format!(
                "Call {compile}. It answers with the compiler's errors. Unity may reload its scripts then: just go on."
            )
        }
        (true, false) if facts.needs_the_user => {
            "See to it that what helps is done. Then call holdfast_wait_ready, and compile with Unity's tool for that."
                .to_owned()
        }
        (true, false) if facts.summary.is_empty() => {
            "Call holdfast_wait_ready. Then compile with Unity's tool for that.".to_owned()
        }
        (true, false) => {
            "Call holdfast_wait_ready: Unity's tools are not known yet. Then compile with Unity's tool for that."
                .to_owned()
        }
        (true, true) => format!(
            "No tool that compiles is offered. Ask the user to switch to Unity's window, which compiles changed scripts. {}",
            match facts.console.is_empty() {
                true => "Then ask for the errors in Unity's console.".to_owned(),
                false => format!("Then read the errors in Unity's console with {}.", alternatives(&facts.console)),
            }
        ),
    };
    steps(
        &mut text,
        &[
            &first,
            "Fix the first errors first, in the files that they name: later errors often follow from them. Change only what the \
             errors need.",
            "Do step 1 again, until there are no errors. Then tell the user what you changed.",
        ],
    );
    rules(&mut text, facts);
    text
}

/// Returns the message of an issue with its place. Most packages have the compiler's own line, which begins with the place.
fn located(Issue { message, file, line }: &Issue) -> String {
    match (file.as_str(), line) {
        ("", _) => message.clone(),
        (file, _) if message.starts_with(file) => message.clone(),
        (file, 0) => format!("{file}: {message}"),
        (file, line) => format!("{file}:{line}: {message}"),
    }
}

fn why_is_unity_silent(facts: &PromptFacts) -> String {
    let mut text = "Find out why Unity does not answer, and tell the user what helps.".to_owned();
    known(&mut text, facts);
    for problem in &facts.problems {
        let _ = write!(text, "\nProblem: {}", clean(problem));
    }
    let console = match facts.console.is_empty() {
        true => "If Unity answers, look for errors in its console.".to_owned(),
        false => format!("If Unity answers, look for errors in its console with {}.", alternatives(&facts.console)),
    };
    steps(
        &mut text,
        &[
            "Call holdfast_status. It answers without Unity: `summary` says what is the matter, `editor.why` the cause, `editor.still` \
             what makes no progress, and `queue.busy_with` the call that runs.",
            "Call holdfast_calls: it says which calls wait, and how the last ones ended.",
            "If Unity compiles, imports or reloads, call holdfast_wait_ready once: it returns when Unity is ready.",
            "If a dialog is open, Unity is closed, or the cause is not clear, ask the user to look at Unity's window. `holdfast doctor` \
             in a terminal says more.",
            &console,
            "Tell the user the cause, how you know it, and what to do.",
        ],
    );
    rules(&mut text, facts);
    text
}

fn known(text: &mut String, facts: &PromptFacts) {
    if facts.summary.is_empty() {
        return;
    }
    let _ = write!(text, "\n\nWhat holdfast knows now: {}", facts.summary);
    if let Some(next) = &facts.next {
        let _ = write!(text, "\nWhat helps: {next}");
    }
}

fn steps(text: &mut String, steps: &[&str]) {
    text.push('\n');
    for (nth, step) in steps.iter().enumerate() {
        let _ = write!(text, "\n{}. {step}", nth + 1);
    }
}

/// The rules that hold for every work with holdfast's tools.
fn rules(text: &mut String, facts: &PromptFacts) {
    text.push_str(
        "\n\nRules:\n\
         - \"not executed\": nothing reached Unity. Do what the answer says before you make the call again.\n\
         - \"still running\": do not call again. Fetch the result with holdfast_result.\n\
         - \"outcome unknown\": the call may have run. Look at what it would have changed before you call again.\n\
         - Leave Unity running, and its Library folder as it is. Only the user closes or restarts Unity.",
    );
    if !facts.editors.is_empty() {
        let editors = alternatives(&facts.editors);
        let _ = write!(
            text,
            "\n- Several Unity Editors may be used. Ask the user which one is meant, and name it in each call with \
             `{EDITOR_ARGUMENT}`: {editors}."
        );
    }
}

/// Says what is known of the last compilation, and that it may be out of date.
pub fn seen_compile(seen: &SeenCompile, now: Instant) -> String {
    let ago = seconds(now.saturating_duration_since(seen.at));
    let counted = match seen.compiled.error_count {
        0 => "no errors".to_owned(),
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    };
    let followed = match seen.is_followed {
        true => " A later call of the compile tool ended without a result.",
        false => "",
    };
    format!(
        "The last compile result that passed through holdfast is {ago} old and has {counted}.{followed} Unity may have compiled since \
         then."
    )
}

/// Says that no compilation was seen. `compile`: the tools that compile; `is_live`: whether they come from the editor itself.
pub fn no_compile_seen(compile: &[String], is_live: bool) -> String {
    let next = match compile {
        [] if !is_live => {
            "Unity's tools are not known yet: call holdfast_wait_ready, then compile with Unity's tool for \
                           that."
                .to_owned()
        }
        [] => "No tool that compiles is known here: Unity's console has the compiler's errors.".to_owned(),
        _ => format!("Call {} for the errors as they are now.", alternatives(compile)),
    };
    format!(
        "No compile result of this project has passed through holdfast yet, which says nothing about its scripts. {next}"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::dialect::{Compiled, Issue};
    use crate::protocol::ids::CallId;

    fn facts() -> PromptFacts {
        PromptFacts {
            summary: "Unity (Castle) is connected and ready.".into(),
            compile: vec!["compile".into()],
            console: vec!["get-logs".into()],
            is_live: true,
            ..PromptFacts::default()
        }
    }

    fn seen(errors: usize) -> SeenCompile {
        let issue = Issue { message: "CS1002: ; expected".into(), file: "Assets/A.cs".into(), line: 7 };
        let compiled =
            Compiled { error_count: errors as u64, errors: vec![issue; errors.min(100)], ..Compiled::default() };
        SeenCompile { call: CallId::from_random([1; 16]), at: Instant::now(), compiled, is_followed: false }
    }

    fn text(prompt_: Prompt, place: Option<&str>, facts: &PromptFacts) -> String {
        let text = prompt(&GetPrompt { prompt: prompt_, place: place.map(Into::into) }, facts, Instant::now());
        assert!(text.len() < 8 * 1024 && !text.contains("  ") && !text.ends_with(' '), "{text}");
        assert!(text.contains(&facts.summary) && text.contains("Leave Unity running"), "{text}");
        assert!(text.contains("do not call again") && text.contains("may have run"), "{text}");
        text
    }

    #[test]
    fn a_prompt_names_the_tools_and_the_facts_as_they_are() {
        let fix = text(Prompt::FixCompileErrors, Some("Assets/`Game`"), &facts());
        assert!(fix.contains("Call `compile`.") && fix.contains("`Assets/'Game'`"), "{fix}");
        assert!(fix.contains("No compile result has passed"), "{fix}");
        let failed = PromptFacts { last: Some(seen(30)), ..facts() };
        let fix = text(Prompt::FixCompileErrors, None, &failed);
        assert!(fix.contains("has 30 errors") && fix.contains("Unity may have compiled since then"), "{fix}");
        assert_eq!(fix.matches("- Assets/A.cs:7: CS1002").count(), COMPILE_ERRORS_QUOTED_MAX);
        assert!(fix.contains("holdfast://compile-errors"), "{fix}");
        let silent = text(Prompt::WhyIsUnitySilent, None, &facts());
        assert!(silent.contains("holdfast_status") && silent.contains("`get-logs`"), "{silent}");
        let ill = PromptFacts { problems: vec!["the port\nis taken".into()], ..facts() };
        assert!(text(Prompt::WhyIsUnitySilent, None, &ill).contains("Problem: the port\\u{a}is taken"));
    }

    #[test]
    fn a_lasting_prompt_says_nothing_of_one_moment() {
        for prompt in Prompt::ALL {
            let text = lasting_prompt(*prompt, Instant::now());
            assert!(text.contains("Leave Unity running") && text.contains("\n1. Call holdfast_"), "{text}");
            for passing in ["knows now", "has passed through", "known yet"] {
                assert!(!text.contains(passing), "{text}");
            }
        }
    }

    #[test]
    fn an_error_names_its_place_once() {
        let issue = |message: &str, file: &str, line| Issue { message: message.into(), file: file.into(), line };
        assert_eq!(located(&issue("CS1002", "Assets/A.cs", 7)), "Assets/A.cs:7: CS1002");
        assert_eq!(located(&issue("CS1002", "Assets/A.cs", 0)), "Assets/A.cs: CS1002");
        assert_eq!(located(&issue("CS1002", "", 7)), "CS1002");
        assert_eq!(located(&issue("Assets/A.cs(7,3): CS1002", "Assets/A.cs", 7)), "Assets/A.cs(7,3): CS1002");
    }

    #[test]
    fn a_prompt_names_no_tool_that_is_not_there() {
        let none = PromptFacts { compile: Vec::new(), console: Vec::new(), ..facts() };
        let fix = text(Prompt::FixCompileErrors, None, &none);
        assert!(fix.contains("No tool that compiles is offered") && !fix.contains("`compile`"), "{fix}");
        let unknown = PromptFacts { is_live: false, ..none.clone() };
        let fix = text(Prompt::FixCompileErrors, None, &unknown);
        assert!(fix.contains("1. Call holdfast_wait_ready: Unity's tools are not known yet."), "{fix}");
        let console = PromptFacts { console: vec!["read_console_logs".into()], ..none };
        assert!(text(Prompt::FixCompileErrors, None, &console).contains("with `read_console_logs`"));
        let several = PromptFacts { editors: vec!["Castle".into(), "Forest".into()], ..facts() };
        let fix = text(Prompt::FixCompileErrors, None, &several);
        assert!(fix.contains("`holdfast_editor`: `Castle` or `Forest`"), "{fix}");
    }

    #[test]
    fn what_is_said_of_a_compilation_is_only_what_was_seen() {
        let mut last = seen(1);
        let now = last.at + Duration::from_secs(90);
        assert!(seen_compile(&last, now).contains("has 1 error."));
        last.is_followed = true;
        assert!(seen_compile(&last, now).contains("ended without a result"));
        assert!(seen_compile(&seen(0), now).contains("no errors"));
        assert!(no_compile_seen(&["compile".into()], true).contains("`compile`"));
        assert!(no_compile_seen(&[], true).contains("No tool that compiles"));
        assert!(no_compile_seen(&[], false).contains("not known yet"));
    }
}
