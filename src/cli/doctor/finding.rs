//! One finding of `holdfast doctor`.

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Level {
    /// All is well.
    Ok,
    /// Worth knowing.
    Note,
    /// Has to be fixed.
    Problem,
}

/// The certainty of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Sure {
    /// It was observed.
    Certain,
    /// It follows from observations, unless the case is unusual.
    Likely,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) about: &'static str,
    pub(super) level: Level,
    pub(super) sure: Sure,
    pub(super) says: String,
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn new(about: &'static str, level: Level, says: impl Into<String>) -> Self {
        Self { about, level, sure: Sure::Certain, says: says.into(), fix: None }
    }

    pub(super) fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self::new(about, Level::Ok, says)
    }

    pub(super) fn note(about: &'static str, says: impl Into<String>) -> Self {
        Self::new(about, Level::Note, says)
    }

    pub(super) fn problem(about: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::new(about, Level::Problem, says) }
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub(super) fn likely(self) -> Self {
        Self { sure: Sure::Likely, ..self }
    }

    /// A problem from a sentence of ours with the form `what; fix` or `what: fix`.
    pub(super) fn of_sentence(about: &'static str, sentence: &str) -> Self {
        match sentence.rsplit_once("; ").or_else(|| sentence.rsplit_once(": ")) {
            Some((says, fix)) => Self::problem(about, says, fix),
            None => Self::problem(about, sentence, "see the documentation"),
        }
    }
}
