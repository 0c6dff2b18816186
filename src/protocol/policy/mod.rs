//! Policy: which of the editor's tools may be called, by patterns on their names, by their annotations and by their groups, and
//! which of them clients see.
//!
//! A rule is a name, with `*` (any characters) and `?` (one character), an annotation (`@read-only`), or a group of the
//! editor's package (`@group:Scenes`); `!` negates the latter two. A name rule is case-sensitive and is compared with
//! the editor's own name of the tool and with the name that clients see; a rule that refuses is also compared with the
//! names of such a tool in other packages and in a union of several editors' tools. More names can only refuse more. A
//! tool is refused if a deny rule matches it, or if a non-empty allow list has no rule that matches it. It is also
//! refused, and not listed, if the user chose the tools for a client or project and this tool is not among them. This
//! module knows only values: `config::file` reads the rules.

pub mod idle;
pub mod pattern;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

pub use self::pattern::{BadPattern, Pattern, ToolFacts, Toolset};
use crate::limits::POLICY_RULES_MAX;
use crate::protocol::dialect::Annotations;
use crate::protocol::mcp::clients::most_specific;
use crate::protocol::mcp::names_in_unions;

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

/// The patterns of one source: a flag, a variable, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    patterns: Vec<Pattern>,
    place: Arc<str>,
}

impl Rules {
    fn find(&self, tool: &ToolFacts<'_>) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.matches(tool))
    }

    fn list(&self) -> String {
        self.patterns.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// The tools that the user chose for one client or one project. Clients do not see other tools there, and cannot call them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    /// The NAME of the section: the name of a client or of a project.
    name: String,
    rules: Rules,
}

impl Choice {
    fn line(&self, what: &str) -> String {
        format!("{what} {} has only {} ({})", self.name, self.rules.list(), self.rules.place)
    }
}

/// For whom a tool is judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asker<'a> {
    /// The name of the client, as it gives it. Empty if it gives none.
    pub client: &'a str,
    /// The project that the call is for, in canonical form.
    pub project: Option<&'a Path>,
}

/// Why the user's settings refuse a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The rule and the place where it is written, for the audit. `None` if the reason is not a rule.
    pub rule: Option<String>,
    /// The reason as a sentence for the caller.
    pub says: String,
}

/// Returns what is known of a tool that only has these names: MCP's defaults, which assume the worst.
pub fn unstated_tool<'a>(names: &[&'a str]) -> ToolFacts<'a> {
    static UNSTATED: LazyLock<Annotations> = LazyLock::new(unstated);
    ToolFacts::new(names.to_vec(), &UNSTATED, None)
}

/// All rules in force. The default allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    deny: Vec<Rules>,
    allow: Vec<Rules>,
    unusable: Vec<String>,
    // A hub that does not know the members below must not ignore them. So they are sent only if they are set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clients: Vec<Choice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    projects: Vec<Choice>,
    /// The places that say that refused tools are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hides: Vec<String>,
}

impl Policy {
    /// Refuses the tools that these patterns match. `place` names the source of the patterns.
    pub fn deny(&mut self, patterns: Vec<Pattern>, place: &str) {
        let rules = rules(&mut self.unusable, patterns, place);
        self.deny.extend(rules);
    }

    /// Refuses the tools that match none of these patterns. An empty list refuses nothing.
    pub fn allow(&mut self, patterns: Vec<Pattern>, place: &str) {
        let rules = rules(&mut self.unusable, patterns, place);
        self.allow.extend(rules);
    }

    /// Hides and refuses the tools that match none of these patterns, for the client with this NAME of a section
    /// `[clients.NAME]`. An empty list chooses all tools. Of several sections that mean a client, the most specific one counts.
    pub fn choose_for_client(&mut self, name: String, patterns: Vec<Pattern>, place: &str) {
        if patterns.is_empty() {
            return self.clients.push(Choice { name, rules: Rules { patterns, place: place.into() } });
        }
        let rules = rules(&mut self.unusable, patterns, place);
        self.clients.extend(rules.map(|rules| Choice { name, rules }));
    }

    /// Hides and refuses the tools that match none of these patterns, for calls to the project with this name: its folder's name,
    /// or its canonical path. An empty list chooses all tools.
    pub fn choose_in_project(&mut self, name: String, patterns: Vec<Pattern>, place: &str) {
        let rules = rules(&mut self.unusable, patterns, place);
        self.projects.extend(rules.map(|rules| Choice { name, rules }));
    }

    /// Says that tools which the rules refuse are not listed. `place` names the source.
    pub fn hide_denied(&mut self, place: &str) {
        self.hides.push(place.to_owned());
    }

    /// Refuses every tool because the rules cannot be read. `why` is the reason with the fix.
    pub fn refuse_all(&mut self, why: String) {
        self.unusable.push(why);
    }

    /// Whether the policy refuses and hides nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether refused tools are not listed.
    pub fn hides_denied(&self) -> bool {
        !self.hides.is_empty()
    }

    /// Whether the policy has choices of tools for clients or projects.
    pub fn has_choices(&self) -> bool {
        !self.clients.is_empty() || !self.projects.is_empty()
    }

    /// Why every tool is refused: the first reason given to [`Policy::refuse_all`]. `None` if the rules can be read.
    pub fn refusal_of_all(&self) -> Option<Grounds> {
        let why = self.unusable.first()?;
        Some(Grounds {
            rule: None,
            says: format!("what guards the calls has a mistake, so nothing is allowed ({why})"),
        })
    }

    /// Why this tool may not be called; `None` if it may.
    pub fn refusal(&self, tool: &ToolFacts<'_>, asker: &Asker<'_>) -> Option<Grounds> {
        self.refusal_of_all().or_else(|| self.denial(tool, asker)).or_else(|| self.left_out(tool, asker))
    }

    /// Why a rule of the lists `deny` and `allow` refuses this tool; `None` if none does.
    pub fn denial(&self, tool: &ToolFacts<'_>, asker: &Asker<'_>) -> Option<Grounds> {
        let refused_by = |rule: String| Grounds { says: format!("policy refuses it: {rule}"), rule: Some(rule) };
        let in_unions = self.in_unions(tool, asker);
        let refuses = |pattern: &&Pattern| pattern.refuses(tool, &in_unions);
        let denied = self.deny.iter().find_map(|rules| Some((rules, rules.patterns.iter().find(refuses)?)));
        let denied = denied.map(|(rules, pattern)| refused_by(format!("deny \"{pattern}\" ({})", rules.place)));
        denied.or_else(|| {
            let rules = self.allow.iter().find(|rules| rules.find(tool).is_none())?;
            Some(refused_by(format!("it is not among what is allowed ({})", rules.place)))
        })
    }

    /// Returns the names under which a union of several editors' tools may list this tool. Only rules that refuse are
    /// compared with them, so without such rules there are none.
    fn in_unions(&self, tool: &ToolFacts<'_>, asker: &Asker<'_>) -> Vec<String> {
        let project = asker.project.filter(|_| !self.deny.is_empty());
        project.zip(tool.names.first()).map(|(project, name)| names_in_unions(name, project)).unwrap_or_default()
    }

    /// Why this tool is not among those that the user chose for this client or project; `None` if it is, or if nothing was chosen.
    pub fn left_out(&self, tool: &ToolFacts<'_>, asker: &Asker<'_>) -> Option<Grounds> {
        let (whom, choice) = self.choices(asker).find(|(_, choice)| choice.rules.find(tool).is_none())?;
        let Choice { name, rules } = choice;
        let rule = format!("it is not among the tools chosen for the {whom} {name} ({})", rules.place);
        Some(Grounds { says: format!("{rule}; to allow it, add its name to that list"), rule: Some(rule) })
    }

    /// Returns the choices that hold for this client and project, each with the word for what it is made for.
    fn choices(&self, asker: &Asker<'_>) -> impl Iterator<Item = (&'static str, &Choice)> {
        let names = self.clients.iter().map(|choice| choice.name.as_str());
        let of_client = most_specific(names, asker.client).and_then(|at| self.clients.get(at));
        let of_client = of_client.filter(|choice| !choice.rules.patterns.is_empty());
        let is_meant = |choice: &&Choice| asker.project.is_some_and(|project| is_called(project, &choice.name));
        let of_project: Vec<&Choice> = self.projects.iter().filter(is_meant).collect();
        of_client
            .map(|choice| ("client", choice))
            .into_iter()
            .chain(of_project.into_iter().map(|choice| ("project", choice)))
    }

    /// The policy in words, one line for each reason that refuses everything and for each list of rules. `asker`: only the choices
    /// that hold for this one; `None`: all of them.
    pub fn lines(&self, asker: Option<&Asker<'_>>) -> Vec<String> {
        let lines = |what: &'static str, all: &'_ [Rules]| -> Vec<String> {
            all.iter().map(|rules| format!("{what} {} ({})", rules.list(), rules.place)).collect()
        };
        let choices: Vec<String> = match asker {
            Some(asker) => self.choices(asker).map(|(whom, choice)| choice.line(whom)).collect(),
            None => {
                let of_clients = self.clients.iter().map(|choice| choice.line("client"));
                of_clients.chain(self.projects.iter().map(|choice| choice.line("project"))).collect()
            }
        };
        let all = self.unusable.iter().map(|why| format!("deny everything: {why}"));
        let hides = self.hides.iter().map(|place| format!("do not list what is denied ({place})"));
        all.chain(lines("deny", &self.deny))
            .chain(lines("allow only", &self.allow))
            .chain(choices)
            .chain(hides)
            .collect()
    }
}

/// Returns why a tool is not listed that all of these policies must allow; `None` if it is listed. A tool that was not
/// chosen is not listed. If one of the policies hides refused tools, a tool that a rule refuses is not listed either.
/// Rules that cannot be read hide nothing: then the refusal of each call tells why.
pub fn hidden<'a>(
    policies: impl Iterator<Item = &'a Policy> + Clone,
    tool: &ToolFacts<'_>,
    asker: &Asker<'_>,
) -> Option<Grounds> {
    let hides_denied = policies.clone().any(Policy::hides_denied);
    let denied = |policy: &Policy| hides_denied.then(|| policy.denial(tool, asker)).flatten();
    policies.into_iter().find_map(|policy| policy.left_out(tool, asker).or_else(|| denied(policy)))
}

/// Makes the rules of one source. `None` if they refuse nothing. `None` too if there are too many of them; then
/// everything is refused.
fn rules(unusable: &mut Vec<String>, patterns: Vec<Pattern>, place: &str) -> Option<Rules> {
    if patterns.len() > POLICY_RULES_MAX {
        unusable.push(format!("{place} has more than {POLICY_RULES_MAX} rules; join some with *"));
        return None;
    }
    (!patterns.is_empty()).then(|| Rules { patterns, place: place.into() })
}

/// Whether a NAME of a section `[projects.NAME]` means this project. The case of a folder's name is ignored. On a
/// system where the case matters, a choice may then hold for one project more, but never for one less.
fn is_called(project: &Path, name: &str) -> bool {
    let folder = project.file_name().and_then(OsStr::to_str);
    project == Path::new(name) || folder.is_some_and(|folder| folder.to_lowercase() == name.to_lowercase())
}
