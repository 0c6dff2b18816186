//! Policy: which of the editor's tools may be called, by patterns on their names and by their annotations.
//!
//! A rule is either a name, with `*` (any characters) and `?` (one character), or an annotation (`@read-only`), which `!`
//! negates. A name rule is case-sensitive and is compared with the editor's own name of the tool and with the name that clients
//! see. A tool is refused if a deny rule matches it, or if a non-empty allow list has no rule that matches it. This module knows
//! only values: `config::file` reads the rules.

use std::fmt;
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{POLICY_RULE_MAX_BYTES, POLICY_RULES_MAX};
use crate::protocol::dialect::Annotations;

/// The annotation that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
enum Hint {
    ReadOnly,
    Destructive,
    Idempotent,
    OpenWorld,
}

impl Hint {
    /// Whether the annotation applies to a tool. MCP 2025-03-26 (`ToolAnnotations`) gives `destructiveHint` and `idempotentHint`
    /// a meaning only for a tool that is not read-only. So a read-only tool is never destructive and always idempotent.
    fn holds(self, of: &Annotations) -> bool {
        match self {
            Self::ReadOnly => of.read_only_hint,
            Self::Destructive => of.destructive_hint && !of.read_only_hint,
            Self::Idempotent => of.idempotent_hint || of.read_only_hint,
            Self::OpenWorld => of.open_world_hint,
        }
    }
}

/// Annotations of a tool that states none: MCP's defaults, which assume the worst (2025-03-26, `ToolAnnotations`).
pub fn unstated() -> Annotations {
    Annotations {
        title: String::new(),
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: true,
    }
}

/// What a rule compares: a tool's name, or one annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Name(Vec<char>),
    Annotation { hint: Hint, holds: bool },
}

/// A rule, with the text as the user wrote it. At most [`POLICY_RULE_MAX_BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    what: What,
}

/// Why a text is not a rule. The message tells how to fix the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// The text is empty.
    #[error("a rule is empty; write a tool's name, with * and ? if you like, or an annotation such as @read-only")]
    Empty,
    /// The text is longer than [`POLICY_RULE_MAX_BYTES`].
    #[error("a rule is longer than {POLICY_RULE_MAX_BYTES} bytes; no tool has so long a name: shorten it with *")]
    TooLong,
    /// The text after `@` is not the name of an annotation.
    #[error(
        "\"{0}\" is not an annotation; there are @read-only, @destructive, @idempotent and @open-world, each also with ! before it"
    )]
    NoAnnotation(String),
    /// A `!` before a name; only annotations can be negated.
    #[error("\"{0}\" turns a name round, which only annotations can be; put the name into the other list")]
    NegatedName(String),
    /// The text has control characters, or white space around it.
    #[error("the rule \"{0}\" has control characters or spaces around it; write the name alone")]
    Odd(String),
}

impl Pattern {
    /// Parses a rule.
    ///
    /// # Errors
    /// [`BadPattern`]; its text tells how to fix the rule.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let shown = || text.escape_debug().collect();
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > POLICY_RULE_MAX_BYTES {
            return Err(BadPattern::TooLong);
        }
        if text.trim() != text || text.chars().any(char::is_control) {
            return Err(BadPattern::Odd(shown()));
        }
        let (holds, rest) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
        let what = match rest.strip_prefix('@') {
            Some(label) => {
                let known = <Hint as strum::VariantArray>::VARIANTS.iter().find(|hint| <&str>::from(**hint) == label);
                let hint = *known.ok_or_else(|| BadPattern::NoAnnotation(shown()))?;
                What::Annotation { hint, holds }
            }
            None if !holds => return Err(BadPattern::NegatedName(shown())),
            None => What::Name(text.chars().collect()),
        };
        Ok(Self { text: text.to_owned(), what })
    }

    fn names(&self, names: &[&str], annotations: &Annotations) -> bool {
        match &self.what {
            What::Name(pattern) => names.iter().any(|name| matches(pattern, name)),
            What::Annotation { hint, holds } => hint.holds(annotations) == *holds,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Parses each rule as it is deserialised, so that an error names the position of the rule and not that of its list.
        struct OfText;
        impl Visitor<'_> for OfText {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rule: a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pattern, E> {
                Pattern::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(OfText)
    }
}

/// Whether the pattern matches the whole name. After a mismatch only the last `*` is extended, so the number of steps is at most
/// the product of both lengths.
fn matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut next) = (0, 0);
    // Position of the last `*` in the pattern, and the position in the name up to which that `*` has matched.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = name.get(next) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, next));
                at += 1;
            }
            Some(p) if *p == '?' || p == c => {
                at += 1;
                next += 1;
            }
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    at = place + 1;
                    next = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

/// The patterns of one source: a flag, a variable, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    patterns: Vec<Pattern>,
    place: Arc<str>,
}

impl Rules {
    fn find(&self, names: &[&str], annotations: &Annotations) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.names(names, annotations))
    }

    fn list(&self) -> String {
        self.patterns.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Why the user's settings refuse a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The rule and the place where it is written, for the audit. `None` if the reason is not a rule.
    pub rule: Option<String>,
    /// The reason as a sentence for the caller.
    pub says: String,
}

/// All rules in force. The default allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    deny: Vec<Rules>,
    allow: Vec<Rules>,
    unusable: Vec<String>,
}

impl Policy {
    /// Refuses the tools that these patterns match. `place` names the source of the patterns.
    pub fn deny(&mut self, patterns: Vec<Pattern>, place: &str) {
        push(&mut self.deny, &mut self.unusable, patterns, place);
    }

    /// Refuses the tools that match none of these patterns. An empty list refuses nothing.
    pub fn allow(&mut self, patterns: Vec<Pattern>, place: &str) {
        push(&mut self.allow, &mut self.unusable, patterns, place);
    }

    /// Refuses every tool because the rules cannot be read. `why` is the reason with the fix.
    pub fn refuse_all(&mut self, why: String) {
        self.unusable.push(why);
    }

    /// Whether the policy refuses nothing at all.
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.allow.is_empty() && self.unusable.is_empty()
    }

    /// Why every tool is refused: the first reason given to [`Policy::refuse_all`]. `None` if the rules can be read.
    pub fn refusal_of_all(&self) -> Option<Grounds> {
        let why = self.unusable.first()?;
        Some(Grounds {
            rule: None,
            says: format!("what guards the calls has a mistake, so nothing is allowed ({why})"),
        })
    }

    /// Why this tool may not be called; `None` if it may. `names`: all the names that it has. A rule on one of them binds the tool.
    pub fn refusal(&self, names: &[&str], annotations: &Annotations) -> Option<Grounds> {
        let refused_by = |rule: String| Grounds { says: format!("policy refuses it: {rule}"), rule: Some(rule) };
        let denied = self.deny.iter().find_map(|rules| Some((rules, rules.find(names, annotations)?)));
        let denied = denied.map(|(rules, pattern)| refused_by(format!("deny \"{pattern}\" ({})", rules.place)));
        let left_out = || {
            let rules = self.allow.iter().find(|rules| rules.find(names, annotations).is_none())?;
            Some(refused_by(format!("it is not among what is allowed ({})", rules.place)))
        };
        self.refusal_of_all().or(denied).or_else(left_out)
    }

    /// The policy in words, one line for each reason that refuses everything and for each list of rules.
    pub fn lines(&self) -> Vec<String> {
        let lines = |what: &'static str, all: &'_ [Rules]| -> Vec<String> {
            all.iter().map(|rules| format!("{what} {} ({})", rules.list(), rules.place)).collect()
        };
        let all = self.unusable.iter().map(|why| format!("deny everything: {why}"));
        all.chain(lines("deny", &self.deny)).chain(lines("allow only", &self.allow)).collect()
    }
}

fn push(all: &mut Vec<Rules>, unusable: &mut Vec<String>, patterns: Vec<Pattern>, place: &str) {
    if patterns.len() > POLICY_RULES_MAX {
        unusable.push(format!("{place} has more than {POLICY_RULES_MAX} rules; join some with *"));
    } else if !patterns.is_empty() {
        all.push(Rules { patterns, place: place.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
    }

    fn policy(deny: &[&str], allow: &[&str]) -> Policy {
        let mut policy = Policy::default();
        policy.deny(patterns(deny), "--deny");
        policy.allow(patterns(allow), "--allow");
        policy
    }

    fn reads() -> Annotations {
        Annotations { read_only_hint: true, ..unstated() }
    }

    #[test]
    fn a_pattern_is_all_of_a_name_in_its_own_case() {
        for (pattern, name, is) in [
            ("compile", "compile", true),
            ("compile", "Compile", false),
            ("compile", "compile2", false),
            ("*", "", true),
            ("get-*", "get-logs", true),
            ("get-*", "get-", true),
            ("get-*", "forget-logs", false),
            ("*logs", "get-logs", true),
            ("*-*-*", "get-all-logs", true),
            ("*-*-*", "get-logs", false),
            ("get-log?", "get-logs", true),
            ("get-log?", "get-log", false),
            ("*a*b*c", "aXbXbXc", true),
            ("*a*b*c", "aXbXbXcX", false),
            ("Größe-?", "Größe-ß", true),
        ] {
            assert_eq!(matches(&pattern.chars().collect::<Vec<_>>(), name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_more_than_the_product_of_the_lengths() {
        let pattern: Vec<char> = "*a".repeat(POLICY_RULE_MAX_BYTES / 2).chars().collect();
        assert!(!matches(&pattern, &"a".repeat(POLICY_RULE_MAX_BYTES / 2 - 1)));
        assert!(!matches(&pattern, &format!("{}b", "a".repeat(4096))));
    }

    #[test]
    fn deny_beats_allow_and_an_allow_list_admits_only_what_it_names() {
        let policy = policy(&["get-secrets"], &["get-*", "compile"]);
        let refused = |name: &str| policy.refusal(&[name, name], &unstated()).and_then(|grounds| grounds.rule);
        assert_eq!(refused("get-logs"), None);
        assert_eq!(refused("compile"), None);
        assert_eq!(refused("get-secrets").unwrap(), "deny \"get-secrets\" (--deny)");
        assert_eq!(refused("run-tests").unwrap(), "it is not among what is allowed (--allow)");
        assert_eq!(Policy::default().refusal(&["x", "x"], &unstated()), None);
        assert!(Policy::default().is_empty() && !policy.is_empty());
    }

    #[test]
    fn a_tool_is_known_by_both_of_its_names() {
        let policy = policy(&["run.code", "run_tests"], &[]);
        assert!(policy.refusal(&["run_code", "run.code"], &reads()).is_some());
        assert!(policy.refusal(&["run_tests", "run.tests"], &reads()).is_some());
        assert!(policy.refusal(&["run_all", "run.all"], &reads()).is_none());
    }

    #[test]
    fn a_rule_on_any_name_of_a_tool_binds_it() {
        let names = ["play-mode", "play-mode", "control-play-mode"];
        assert!(policy(&["control-*"], &[]).refusal(&names, &reads()).is_some());
        assert!(policy(&["play-mode"], &[]).refusal(&names, &reads()).is_some());
        assert!(policy(&[], &["control-play-mode"]).refusal(&names, &reads()).is_none());
    }

    #[test]
    fn every_allow_list_must_name_a_tool() {
        let mut policy = policy(&[], &["get-*"]);
        policy.allow(patterns(&["*-logs"]), "holdfast.toml");
        let refused = |name: &str| policy.refusal(&[name, name], &reads()).is_some();
        assert_eq!(["get-logs", "get-all", "clear-logs"].map(refused), [false, true, true]);
    }

    #[test]
    fn annotations_are_what_mcp_says_of_them() {
        let names =
            |rule: &str, annotations: &Annotations| Pattern::parse(rule).unwrap().names(&["t", "t"], annotations);
        let all = ["@read-only", "@destructive", "@idempotent", "@open-world"];
        assert_eq!(all.map(|rule| names(rule, &unstated())), [false, true, false, true]);
        // A read-only tool is never destructive, whatever its other hints say.
        assert_eq!(all.map(|rule| names(rule, &reads())), [true, false, true, true]);
        for rule in all {
            assert_ne!(names(rule, &reads()), names(&format!("!{rule}"), &reads()), "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_is_told_with_the_fix() {
        for (text, says) in [
            ("", "empty"),
            ("@readonly", "@read-only"),
            ("!@", "not an annotation"),
            ("!compile", "other list"),
            (" compile", "spaces"),
            ("a\u{7}", "control"),
            (&"x".repeat(POLICY_RULE_MAX_BYTES + 1), "longer"),
        ] {
            let bad = Pattern::parse(text).unwrap_err().to_string();
            assert!(bad.contains(says) && !bad.contains('\u{7}'), "{text}: {bad}");
        }
    }

    #[test]
    fn what_cannot_be_read_refuses_everything() {
        let mut policy = policy(&[], &["*"]);
        policy.refuse_all("config.toml, line 1: no TOML".to_owned());
        assert!(policy.refusal(&["t", "t"], &reads()).unwrap().says.contains("line 1"));
        let mut many = Policy::default();
        many.deny(vec![Pattern::parse("x").unwrap(); POLICY_RULES_MAX + 1], "--deny");
        assert!(many.refusal_of_all().unwrap().says.contains("--deny has more than"));
    }

    #[test]
    fn the_rules_can_be_read_back() {
        assert_eq!(
            policy(&["a*", "@destructive"], &["b"]).lines(),
            ["deny a*, @destructive (--deny)", "allow only b (--allow)"]
        );
    }
}
