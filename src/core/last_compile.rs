//! What is known of the last compilation of a project: only what the editor answered to a call of its compile tool. Compilations
//! that Unity starts by itself are not seen here, so what is known may be out of date.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::core::age;
use crate::fsm::call::Verdict;
use crate::protocol::dialect::{Compiled, EditorAnswer};
use crate::protocol::ids::CallId;

/// The result of a compilation that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenCompile {
    /// The call that compiled.
    pub call: CallId,
    /// When the editor answered.
    #[serde(with = "age")]
    pub at: Instant,
    /// What the compiler said.
    pub compiled: Compiled,
    /// Whether a later call of the compile tool ended without a result.
    #[serde(default)]
    pub is_followed: bool,
}

/// The last compilation of one project; see the module's documentation.
#[derive(Debug, Clone, Default)]
pub struct LastCompile {
    project: Option<PathBuf>,
    seen: Option<SeenCompile>,
}

impl LastCompile {
    /// Notes how a call of the compile tool ended. A call that is known not to have run changes nothing.
    pub fn note(
        &mut self,
        project: Option<&Path>,
        call: CallId,
        (verdict, answer): (Verdict, Option<&EditorAnswer>),
        now: Instant,
    ) {
        if self.project.as_deref() != project {
            *self = Self { project: project.map(Path::to_path_buf), seen: None };
        }
        match (answer.and_then(Compiled::read), verdict) {
            (Some(compiled), Verdict::Ok | Verdict::ToolError) => {
                self.seen = Some(SeenCompile { call, at: now, compiled, is_followed: false });
            }
            (_, Verdict::NotExecuted(_)) => {}
            _ => {
                if let Some(seen) = &mut self.seen {
                    seen.is_followed = true;
                }
            }
        }
    }

    /// Returns the last result that was seen of this project; `None` if none was.
    pub fn of(&self, project: Option<&Path>) -> Option<&SeenCompile> {
        self.seen.as_ref().filter(|_| self.project.as_deref() == project)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::fsm::cause::{Cause, Loss};
    use crate::protocol::dialect::AnswerBody;

    fn answer(json: &str) -> EditorAnswer {
        EditorAnswer { is_error: false, body: AnswerBody::Json(RawValue::from_string(json.to_owned()).unwrap()) }
    }

    #[test]
    fn only_what_the_editor_answered_is_known_and_only_of_its_project() {
        let (call, now) = (CallId::from_random([7; 16]), Instant::now());
        let (mut last, castle) = (LastCompile::default(), Path::new("/Castle"));
        let failed = answer(r#"{"ErrorCount":1,"Errors":[{"Message":"CS1002"}]}"#);
        last.note(Some(castle), call, (Verdict::ToolError, Some(&failed)), now);
        let seen = last.of(Some(castle)).unwrap();
        assert_eq!((seen.call, seen.at, seen.compiled.error_count, seen.is_followed), (call, now, 1, false));
        assert!(last.of(None).is_none() && last.of(Some(Path::new("/Forest"))).is_none());
        // A call that did not run changes nothing; one that may have run makes what is known older.
        last.note(Some(castle), call, (Verdict::NotExecuted(Cause::Busy), None), now);
        assert!(!last.of(Some(castle)).unwrap().is_followed);
        last.note(Some(castle), call, (Verdict::OutcomeUnknown(Loss::Disconnect), None), now);
        assert!(last.of(Some(castle)).unwrap().is_followed);
        let unclear = answer(r#"{"Success":null,"ErrorCount":null}"#);
        last.note(Some(castle), call, (Verdict::Ok, Some(&unclear)), now);
        assert_eq!(last.of(Some(castle)).unwrap().compiled.error_count, 1);
        last.note(Some(castle), call, (Verdict::Ok, Some(&answer(r#"{"ErrorCount":0}"#))), now);
        let seen = last.of(Some(castle)).unwrap();
        assert_eq!((seen.compiled.error_count, seen.is_followed), (0, false));
        last.note(None, call, (Verdict::Ok, Some(&failed)), now);
        assert!(last.of(Some(castle)).is_none(), "the link leads elsewhere now");
    }
}
