//! Rules that match none of an editor's tools. A misspelt rule that refuses protects nobody, so its user must hear of
//! it.

use super::pattern::{Pattern, ToolFacts};
use super::{Asker, Policy, Rules};
use crate::protocol::mcp::GatewayTool;
use crate::protocol::text::nearest;

/// A rule that matches none of an editor's tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Idle {
    /// The rule, and the place where it is written.
    pub rule: String,
    /// What is wrong with the rule, as the rest of a sentence that begins with the rule.
    pub says: String,
    /// The rule that may be meant.
    pub meant: Option<String>,
}

impl Idle {
    /// The whole sentence.
    pub fn sentence(&self) -> String {
        let meant = self.meant.as_ref().map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default();
        format!("{} {}{meant}", self.rule, self.says)
    }
}

impl Policy {
    /// Returns the rules that match none of these tools, which are all that the editor of the asker's project has.
    pub fn idle(&self, tools: &[ToolFacts<'_>], asker: &Asker<'_>) -> Vec<Idle> {
        let unions: Vec<Vec<String>> = tools.iter().map(|tool| self.in_unions(tool, asker)).collect();
        let refuses = |pattern: &Pattern| tools.iter().zip(&unions).any(|(tool, more)| pattern.refuses(tool, more));
        let matches = |pattern: &Pattern| tools.iter().any(|tool| pattern.matches(tool));
        let mut idle = Vec::new();
        for rules in &self.deny {
            idle.extend(of_rules("deny", rules, tools, &refuses));
        }
        for rules in &self.allow {
            idle.extend(of_rules("allow", rules, tools, &matches));
        }
        for (_, choice) in self.choices(asker) {
            idle.extend(of_rules("tools", &choice.rules, tools, &matches));
        }
        idle
    }

    /// Whether the policy has rules that tools could be compared with.
    pub fn has_rules(&self) -> bool {
        !self.deny.is_empty() || !self.allow.is_empty() || self.has_choices()
    }
}

fn of_rules(what: &str, rules: &Rules, tools: &[ToolFacts<'_>], matches: &dyn Fn(&Pattern) -> bool) -> Vec<Idle> {
    let of = |pattern: &Pattern| {
        let (says, meant) = why(pattern, tools, matches)?;
        Some(Idle { rule: format!("{what} \"{pattern}\" ({})", rules.place), says, meant })
    };
    rules.patterns.iter().filter_map(of).collect()
}

/// Returns what is wrong with a rule, and which rule may be meant. `None` if the rule has an effect.
fn why(
    pattern: &Pattern,
    tools: &[ToolFacts<'_>],
    matches: &dyn Fn(&Pattern) -> bool,
) -> Option<(String, Option<String>)> {
    if let Some((sign, group)) = pattern.group() {
        let mut groups: Vec<&str> = tools.iter().filter_map(|tool| tool.group).collect();
        groups.sort_unstable();
        groups.dedup();
        if groups.iter().any(|known| known.eq_ignore_ascii_case(group)) {
            return None;
        }
        // A negated rule on a group that does not exist matches every tool, and nobody means that either.
        let all = if sign == "!" { "means every tool, because " } else { "matches nothing: " };
        let says = match groups.as_slice() {
            [] => format!("{all}this project's package puts its tools in no groups"),
            groups => format!("{all}there is no such group; there are {}", groups.join(", ")),
        };
        let meant = nearest(group, groups.iter().copied()).map(|meant| format!("{sign}@group:{meant}"));
        return Some((says, meant));
    }
    if matches(pattern) {
        return None;
    }
    if GatewayTool::ALL.iter().any(|own| pattern.is_on(own.name())) {
        return Some(("is about holdfast's own tools, which rules neither refuse nor hide".to_owned(), None));
    }
    let says = match tools.len() {
        0 => "matches nothing: this project's editor has no tools".to_owned(),
        1 => "does not match this project's only tool".to_owned(),
        many => format!("matches none of this project's {many} tools"),
    };
    Some((says, meant(pattern, tools, matches)))
}

/// Returns the rule that may be meant: the same rule in another spelling, or the most similar name.
fn meant(pattern: &Pattern, tools: &[ToolFacts<'_>], matches: &dyn Fn(&Pattern) -> bool) -> Option<String> {
    let text = pattern.to_string();
    if text.contains('@') {
        return None;
    }
    let lower = text.to_lowercase();
    let spelt = |text: &str| [text.replace('-', "_"), text.replace('_', "-"), text.to_owned()];
    let respelt = [spelt(&text), spelt(&lower)].concat();
    let fits = |text: &String| Pattern::parse(text).is_ok_and(|pattern| matches(&pattern));
    if let Some(respelt) = respelt.into_iter().find(fits) {
        return Some(respelt);
    }
    let is_a_name = !text.contains(['*', '?']);
    let names = tools.iter().flat_map(|tool| tool.names.iter().copied());
    is_a_name.then(|| nearest(&text, names)).flatten().map(str::to_owned)
}
