//! Filters by a caller's text, or by a simple regular expression.

use crate::holdfast::world::Stop;

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Contains,
    Exact,
    StartsWith,
    Regex,
}

/// A filter; an empty text lets all pass.
pub(super) struct Filter {
    parts: Vec<String>,
    kind: Match,
    any_case: bool,
    from_start: bool,
    to_end: bool,
}

impl Filter {
    /// # Errors
    /// The regular expression has more than letters, `^`, `$`, and `.*`: the simulated editor knows no others.
    pub(super) fn new(parameter: &str, text: &str, kind: Match, any_case: bool) -> Result<Self, Stop> {
        let folded = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
        if kind != Match::Regex {
            let parts = vec![folded(text)];
            return Ok(Self { parts, kind, any_case, from_start: false, to_end: false });
        }
        let (from_start, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (to_end, text) = text.strip_suffix('$').map_or((false, text), |rest| (true, rest));
        let parts: Vec<String> = text.split(".*").map(folded).collect();
        if parts
            .iter()
            .any(|part| part.contains(['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', ']', '{', '}']))
        {
            return Stop::wrong(format!(
                "The simulated editor knows only ^, $ and .* of regular expressions ({parameter})"
            ));
        }
        Ok(Self { parts, kind, any_case, from_start, to_end })
    }

    pub(super) fn fits(&self, value: &str) -> bool {
        let folded = if self.any_case { value.to_lowercase() } else { value.to_owned() };
        let first = self.parts.first().map(String::as_str).unwrap_or_default();
        match self.kind {
            _ if first.is_empty() && self.parts.len() < 2 && !self.from_start => true,
            Match::Contains => folded.contains(first),
            Match::Exact => folded == first,
            Match::StartsWith => folded.starts_with(first),
            Match::Regex => {
                let mut rest = folded.as_str();
                for (number, part) in self.parts.iter().enumerate() {
                    let last = number + 1 == self.parts.len();
                    let at = if last && self.to_end {
                        rest.len().checked_sub(part.len()).filter(|_| rest.ends_with(part.as_str()))
                    } else {
                        rest.find(part.as_str())
                    };
                    match at {
                        Some(at) if number > 0 || !self.from_start || at == 0 => {
                            rest = rest.get(at + part.len()..).unwrap_or_default();
                        }
                        _ => return false,
                    }
                }
                true
            }
        }
    }
}
