//! The texts about the choice of an editor, in a session that may use several.

use super::phrases;
use crate::core::editors::Refusal;
use crate::protocol::mcp::{EDITOR_ARGUMENT, alternatives};

/// Says why no editor was chosen for a call, whose mistake that is, and what to do.
pub fn editor_refused(refusal: &Refusal) -> String {
    let again = |editors: &[String]| match editors {
        [] => "No editor that this session may use is open: ask the user to open the project in Unity".to_owned(),
        _ => format!("Make the same call again with `{EDITOR_ARGUMENT}`: {}", alternatives(editors)),
    };
    match refusal {
        Refusal::Unnamed { editors } => format!(
            "several Unity projects fit, the call does not say which Unity Editor it means, and holdfast never guesses. That is a \
             mistake in the call, not in Unity. {}.",
            again(editors)
        ),
        Refusal::NotText => format!(
            "`{EDITOR_ARGUMENT}` must be the name of a Unity Editor, as a text. That is a mistake in the call. holdfast_editors has \
             the names."
        ),
        Refusal::Twice { names: [one, other] } => format!(
            "the call names two Unity Editors, `{one}` and `{other}`. That is a mistake in the call. Make it again with one of the \
             two, and once more for the other if it is meant for both."
        ),
        Refusal::Unknown { name, meant, editors } => {
            let meant = meant.as_ref().map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
            format!(
                "no Unity Editor is known by the name `{name}`. That is a mistake in the call.{meant} {}.",
                again(editors)
            )
        }
        Refusal::Ambiguous { name, fits } => format!(
            "the name `{name}` fits several Unity projects, and holdfast never guesses. {}.",
            format_args!("Make the same call again with the whole name in `{EDITOR_ARGUMENT}`: {}", alternatives(fits))
        ),
        Refusal::Away { name, editors, cause, .. } => {
            let others = match editors.as_slice() {
                [] => String::new(),
                _ => format!(" Open are: {}; use them only if they are meant.", alternatives(editors)),
            };
            match cause {
                cause if cause.is_closed() => format!(
                    "the Unity Editor `{name}` is closed. That is no mistake in the call: ask the user to open that project in Unity, \
                     then make the same call again.{others}"
                ),
                cause => format!(
                    "the Unity Editor `{name}` cannot be called: {}. That is no mistake in the call.{others}",
                    phrases::cause(*cause)
                ),
            }
        }
        Refusal::OutOfScope { name, editors } => {
            let own = match editors.as_slice() {
                [] => String::new(),
                _ => format!("; that is {}", alternatives(editors)),
            };
            format!(
                "`{name}` is not the Unity project that this session works in{own}. Which one that is, the user decides by how the session \
                 is started and by the client's folders: do not look for a way around it. For that project the user starts a session \
                 there."
            )
        }
    }
}

/// Says why a URL leads to no project, and what to do.
pub fn url_refused(refusal: &Refusal) -> String {
    const BY_PATH: &str = "its whole path, percent-encoded, as in /mcp/%2Fhome%2Fme%2FCastle";
    match refusal {
        Refusal::Unknown { name, meant, editors } => {
            let meant = meant.as_ref().map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
            let open = match editors.as_slice() {
                [] => String::new(),
                _ => format!(" Open are: {}.", alternatives(editors)),
            };
            format!(
                "the URL names the project `{name}`, and none is known here by that name.{meant}{open} Behind /mcp/ the URL must have the name \
                 of a project that was used here before, or {BY_PATH}. Nothing was executed"
            )
        }
        Refusal::Ambiguous { name, fits } => format!(
            "the name `{name}` in the URL fits several Unity projects: {}. Use {BY_PATH}. Nothing was executed",
            alternatives(fits)
        ),
        other => editor_refused(other),
    }
}

/// Says what runs, for the status of a session that has several editors and no project of its own. `editors`: each name, with the
/// state of its editor.
pub fn several_editors(editors: &[(String, String)]) -> String {
    let told: Vec<String> = editors.iter().map(|(name, state)| format!("`{name}` ({state})")).collect();
    format!(
        "This session may use several Unity Editors: {}. Each call of a Unity tool names one of them with `{EDITOR_ARGUMENT}`; a call \
         that names none is answered \"not executed\".",
        told.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::cause::Cause;

    #[test]
    fn every_refusal_says_what_is_wrong_and_what_helps_and_names_what_runs() {
        let editors = || vec!["Castle".to_owned(), "Forest".to_owned()];
        let name = || "Harbour".to_owned();
        let refusals = [
            Refusal::Unnamed { editors: editors() },
            Refusal::NotText,
            Refusal::Twice { names: ["Castle".into(), "Forest".into()] },
            Refusal::Unknown { name: name(), meant: Some("Castle".into()), editors: editors() },
            Refusal::Unknown { name: name(), meant: None, editors: Vec::new() },
            Refusal::Ambiguous { name: name(), fits: editors() },
            Refusal::Away { cause: Cause::Closed, name: name(), project: "/Harbour".into(), editors: editors() },
            Refusal::Away { cause: Cause::Ambiguous, name: name(), project: "/Harbour".into(), editors: editors() },
            Refusal::Away { cause: Cause::Closed, name: name(), project: "/Harbour".into(), editors: Vec::new() },
            Refusal::OutOfScope { name: name(), editors: editors() },
            Refusal::OutOfScope { name: name(), editors: Vec::new() },
        ];
        for refusal in refusals {
            let text = editor_refused(&refusal);
            assert!(text.ends_with('.') && text.len() < 500 && !text.contains("  "), "{text}");
            let names = matches!(refusal, Refusal::NotText) || text.contains("Castle") || text.contains("Harbour");
            assert!(names, "{text}");
            let fault = ["mistake", "never guesses", "the user decides"].iter().any(|word| text.contains(word));
            assert!(fault, "whose fault it is: {text}");
        }
    }
}
