//! One finding of `holdfast doctor`.

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Level {
    Ok,
    Note,
    Problem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Sure {
    Certain,
    /// The finding follows from observations, unless the case is unusual.
    Likely,
}

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

    /// Makes a problem from one of our sentences of the form `what; fix` or `what: fix`. Texts of others in it must be in parentheses
    /// or quotes, or before our last `; `. If the sentence has neither form, the fix is a reference to the documentation.
    pub(super) fn of_sentence(about: &'static str, sentence: &str) -> Self {
        match cut(sentence, "; ").or_else(|| cut(sentence, ": ")) {
            Some((says, fix)) => Self::problem(about, says, fix),
            None => Self::problem(about, sentence, "see the documentation"),
        }
    }
}

/// Cuts a sentence at the last mark that is not in parentheses or quotes.
fn cut<'s>(sentence: &'s str, mark: &str) -> Option<(&'s str, &'s str)> {
    let count = |text: &str, of: char| text.matches(of).count();
    let is_ours = |rest: &str| count(rest, '(') == count(rest, ')') && count(rest, '"') % 2 == 0;
    let mut cuts = sentence.rmatch_indices(mark).map(|(at, _)| (&sentence[..at], &sentence[at + mark.len()..]));
    cuts.find(|(_, rest)| is_ours(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_where_our_own_words_end() {
        for (sentence, says, fix) in [
            (
                "f.json is not JSON (expected a map; got: 3): write it anew.",
                "f.json is not JSON (expected a map; got: 3)",
                "write it anew.",
            ),
            (
                "NAME is \"a; b: c\", which is not a port: correct it",
                "NAME is \"a; b: c\", which is not a port",
                "correct it",
            ),
            (
                "/a; b (c/f.toml, line 2: no key; remove it: there are [a]",
                "/a; b (c/f.toml, line 2: no key",
                "remove it: there are [a]",
            ),
            ("open it (a; b)", "open it (a; b)", "see the documentation"),
        ] {
            let finding = Finding::of_sentence("files", sentence);
            assert_eq!((finding.says.as_str(), finding.fix.as_deref()), (says, Some(fix)));
        }
    }
}
