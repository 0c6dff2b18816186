//! One finding of `holdfast doctor`.

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Level {
    /// Nothing is wrong.
    Ok,
    /// Worth knowing.
    Note,
    /// Must be fixed.
    Problem,
}

/// The certainty of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Sure {
    /// The finding was observed.
    Certain,
    /// The finding follows from observations, unless the case is unusual.
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

    /// Makes a problem from one of our sentences of the form `what; fix` or `what: fix`. If the sentence has neither form, the
    /// fix is a reference to the documentation.
    pub(super) fn of_sentence(about: &'static str, sentence: &str) -> Self {
        match sentence.rsplit_once("; ").or_else(|| sentence.rsplit_once(": ")) {
            Some((says, fix)) => Self::problem(about, says, fix),
            None => Self::problem(about, sentence, "see the documentation"),
        }
    }
}
