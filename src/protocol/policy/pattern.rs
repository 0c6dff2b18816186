//! One rule: a pattern on the names of tools, an annotation, or a group.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::POLICY_RULE_MAX_BYTES;
use crate::protocol::dialect::Annotations;
use crate::protocol::dialect::elsewhere::names_elsewhere;

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

/// What a rule is about: a tool's name, one annotation, or its group.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Name(Vec<char>),
    Annotation { hint: Hint, holds: bool },
    Group { name: String, holds: bool },
}

#[derive(Debug, Clone)]
pub struct ToolFacts<'a> {
    /// All the names that the tool has here. A rule on one of them binds the tool.
    pub names: Vec<&'a str>,
    /// The names that tools like this one have in other packages. A rule that refuses one of these names refuses the
    /// tool; a rule that allows one of them allows nothing here.
    pub elsewhere: Vec<&'static str>,
    /// The tool's annotations.
    pub annotations: &'a Annotations,
    /// The group that the tool's package puts it in, if it has groups.
    pub group: Option<&'a str>,
}

impl<'a> ToolFacts<'a> {
    /// What is known of a tool with these names.
    pub fn new(names: Vec<&'a str>, annotations: &'a Annotations, group: Option<&'a str>) -> Self {
        let elsewhere = names_elsewhere(&names);
        Self { names, elsewhere, annotations, group }
    }
}

/// The beginning of a rule about a group, after the `@`.
const GROUP: &str = "group:";

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
        "\"{0}\" is not an annotation; there are @read-only, @destructive, @idempotent, @open-world and @group:NAME, each also with \
         ! before it"
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
        let label = rest.strip_prefix('@');
        let what = match (label, label.and_then(|label| label.strip_prefix(GROUP))) {
            (_, Some(name)) if !name.is_empty() => What::Group { name: name.to_owned(), holds },
            (Some(label), _) => {
                let known = <Hint as strum::VariantArray>::VARIANTS.iter().find(|hint| <&str>::from(**hint) == label);
                let hint = *known.ok_or_else(|| BadPattern::NoAnnotation(shown()))?;
                What::Annotation { hint, holds }
            }
            (None, _) if !holds => return Err(BadPattern::NegatedName(shown())),
            (None, _) => What::Name(text.chars().collect()),
        };
        Ok(Self { text: text.to_owned(), what })
    }

    /// Whether the rule refuses this tool, if the rule is in a list of refusals. `more`: further names of the tool.
    pub(super) fn refuses(&self, tool: &ToolFacts<'_>, more: &[String]) -> bool {
        let further = || tool.elsewhere.iter().copied().chain(more.iter().map(String::as_str));
        self.matches(tool) || matches!(&self.what, What::Name(pattern) if further().any(|name| matches(pattern, name)))
    }

    /// The group that the rule is about, with the sign before it; `None` if the rule is not about a group.
    pub(super) fn group(&self) -> Option<(&'static str, &str)> {
        match &self.what {
            What::Group { name, holds } => Some((if *holds { "" } else { "!" }, name)),
            What::Name(_) | What::Annotation { .. } => None,
        }
    }

    /// Whether the rule is on a name, and matches this one.
    pub(super) fn is_on(&self, name: &str) -> bool {
        matches!(&self.what, What::Name(pattern) if matches(pattern, name))
    }

    /// Whether the rule matches this tool.
    pub fn matches(&self, tool: &ToolFacts<'_>) -> bool {
        match &self.what {
            What::Name(pattern) => tool.names.iter().any(|name| matches(pattern, name)),
            What::Annotation { hint, holds } => hint.holds(tool.annotations) == *holds,
            What::Group { name, holds } => tool.group.is_some_and(|group| group.eq_ignore_ascii_case(name)) == *holds,
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
        /// Parses each rule as it is deserialised, so that an error names the position of the rule and not the position
        /// of its list.
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

/// Tools that the user wants to be listed: `all`, the name of a group, or what a rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Toolset(Pattern);

impl Toolset {
    /// Parses a toolset.
    ///
    /// # Errors
    /// [`BadPattern`]; its text tells how to fix it.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        Pattern::parse(text.trim()).map(Self)
    }

    /// Whether the tool is one of them.
    pub fn has(&self, tool: &ToolFacts<'_>) -> bool {
        let name = self.0.text.as_str();
        name == "all" || tool.group.is_some_and(|group| group.eq_ignore_ascii_case(name)) || self.0.matches(tool)
    }
}

/// Whether the pattern matches the whole name. After a mismatch only the last `*` is extended, so the number of steps is at most
/// the product of both lengths.
pub(super) fn matches(pattern: &[char], name: &str) -> bool {
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
