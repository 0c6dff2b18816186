//! The result of a compilation, as the packages' `compile` tools answer it: `ErrorCount`, `WarningCount`, `Errors`, `Warnings`.
//! uLoopMCP, uMCP and our own package share this form; see [`Roles::compile`](super::Roles::compile).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::members::Members;
use super::{AnswerBody, EditorAnswer};
use crate::limits::resources::{COMPILE_ISSUE_MAX_BYTES, COMPILE_ISSUES_MAX};
use crate::protocol::text::cut_with_ellipsis;

/// What the compiler said of the scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// The number of errors.
    pub error_count: u64,
    /// The number of warnings, if the editor says it.
    pub warning_count: Option<u64>,
    /// The errors, at most [`COMPILE_ISSUES_MAX`].
    #[serde(default)]
    pub errors: Vec<Issue>,
    /// The warnings, at most [`COMPILE_ISSUES_MAX`].
    #[serde(default)]
    pub warnings: Vec<Issue>,
}

/// A message of the compiler. Each text has at most [`COMPILE_ISSUE_MAX_BYTES`] bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Issue {
    /// The message.
    pub message: String,
    /// The source file; empty if the editor names none.
    pub file: String,
    /// The line in the file; 0 if the editor names none.
    pub line: u64,
}

impl Compiled {
    /// Reads the answer to a call of a compile tool. `None` if the editor does not say how many errors there are: it refused to
    /// compile, or did not see the end of the compilation.
    pub fn read(answer: &EditorAnswer) -> Option<Self> {
        let (AnswerBody::Json(json) | AnswerBody::JsonAndBlocks(json, _)) = &answer.body else { return None };
        let members = Members::of(json)?;
        Some(Self {
            error_count: members.find("ErrorCount").and_then(read)?,
            warning_count: members.find("WarningCount").and_then(read),
            errors: issues(members.find("Errors")),
            warnings: issues(members.find("Warnings")),
        })
    }

    /// Whether the compiler gave more errors than are kept here.
    pub fn is_cut(&self) -> bool {
        self.error_count > self.errors.len() as u64
    }
}

/// Reads a list of issues. An entry that is not one is left out, because the others still help.
fn issues(list: Option<&RawValue>) -> Vec<Issue> {
    let list: Vec<&RawValue> = list.and_then(read).unwrap_or_default();
    list.into_iter().filter_map(issue).take(COMPILE_ISSUES_MAX).collect()
}

fn issue(entry: &RawValue) -> Option<Issue> {
    let members = Members::of(entry)?;
    let text = |name: &str| members.find(name).and_then(read::<String>).unwrap_or_default();
    let message = cut_with_ellipsis(&text("Message"), COMPILE_ISSUE_MAX_BYTES);
    let file = cut_with_ellipsis(&text("File"), COMPILE_ISSUE_MAX_BYTES);
    Some(Issue { message, file, line: members.find("Line").and_then(read).unwrap_or_default() })
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> EditorAnswer {
        EditorAnswer { is_error: false, body: AnswerBody::Json(RawValue::from_string(json.to_owned()).unwrap()) }
    }

    #[test]
    fn only_an_answer_that_counts_the_errors_is_a_compile_result() {
        let failed = r#"{"Success":false,"ErrorCount":2,"WarningCount":1,"Message":"",
            "Errors":[{"Message":"CS1002: ; expected","File":"Assets/A.cs","Line":7,"Column":3},{"message":"CS0246","file":"Assets/B.cs"},7],
            "Warnings":[{"Message":"CS0168","File":"Assets/A.cs","Line":1}]}"#;
        let compiled = Compiled::read(&answer(failed)).unwrap();
        let issue = |message: &str, file: &str, line| Issue { message: message.into(), file: file.into(), line };
        assert_eq!((compiled.error_count, compiled.warning_count, compiled.is_cut()), (2, Some(1), false));
        assert_eq!(compiled.errors, [issue("CS1002: ; expected", "Assets/A.cs", 7), issue("CS0246", "Assets/B.cs", 0)]);
        assert_eq!(compiled.warnings, [issue("CS0168", "Assets/A.cs", 1)]);
        let well = Compiled::read(&answer(r#"{"Success":true,"ErrorCount":0,"Errors":null}"#)).unwrap();
        assert_eq!(well, Compiled::default());
        for unknown in [
            r#"{"Success":null,"ErrorCount":null,"Errors":null}"#,
            r#"{"Success":false,"Message":"The editor is in play mode"}"#,
            r#"{"ErrorCount":-1}"#,
            r#"{"ErrorCount":"2"}"#,
            "[]",
            "null",
        ] {
            assert_eq!(Compiled::read(&answer(unknown)), None, "{unknown}");
        }
        let text = EditorAnswer { is_error: true, body: AnswerBody::Text("ErrorCount: 2".into()) };
        assert_eq!(Compiled::read(&text), None);
    }

    #[test]
    fn a_compile_result_is_bounded() {
        let long = "x".repeat(COMPILE_ISSUE_MAX_BYTES * 2);
        let entry = format!(r#"{{"Message":"{long}","File":"{long}","Line":1}}"#);
        let many = vec![entry.as_str(); COMPILE_ISSUES_MAX + 5].join(",");
        let compiled = Compiled::read(&answer(&format!(r#"{{"ErrorCount":105,"Errors":[{many}]}}"#))).unwrap();
        assert_eq!((compiled.errors.len(), compiled.is_cut()), (COMPILE_ISSUES_MAX, true));
        assert!(compiled.errors[0].message.len() <= COMPILE_ISSUE_MAX_BYTES);
        assert!(compiled.errors[0].file.len() <= COMPILE_ISSUE_MAX_BYTES);
    }
}
