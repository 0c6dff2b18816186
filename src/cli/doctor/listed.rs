//! Which tools of the editor's list clients see under the rules, and which rules match no tool. If the editor cannot
//! give its list, the list on disk is used.

use std::path::Path;
use std::sync::Arc;

use super::finding::Finding;
use crate::cli::look::Look;
use crate::config::Config;
use crate::platform::host::RealHost;
use crate::protocol::dialect::EditorTool;
use crate::protocol::mcp::{Catalogue, Entry, Terms};
use crate::protocol::policy::idle::Idle;
use crate::protocol::policy::{self, Asker, Policy, Toolset};
use crate::protocol::text::clean;
use crate::storage::catalogue_file;

pub(super) type ToolList = Arc<Vec<Arc<EditorTool>>>;

pub(super) struct Listed<'a> {
    catalogue: Catalogue,
    tools: ToolList,
    toolsets: &'a [Toolset],
    policies: [&'a Policy; 2],
    project: &'a Path,
}

impl<'a> Listed<'a> {
    /// Makes the value from the live list, or from this project's catalogue on disk; `None` if there is neither.
    pub(super) fn new(config: &'a Config, look: &'a Look, live: Option<ToolList>) -> Option<Self> {
        let project = look.survey.project.as_deref()?;
        let on_disk = || {
            let folder = config.state_dir.as_deref()?;
            let file = catalogue_file::read(&RealHost, folder, project, look.survey.dialect.name()).ok()?;
            Some(Arc::new(file.tools))
        };
        let tools = live.or_else(on_disk)?;
        let catalogue = Catalogue::new(tools.iter().map(Arc::clone), config.development);
        let catalogue = catalogue.with_turns(|tool| look.survey.dialect.turn(tool));
        Some(Self {
            catalogue,
            tools,
            toolsets: &config.toolsets,
            policies: [&config.policy, &look.survey.rules.policy],
            project,
        })
    }

    /// Returns the rules that match no tool. They are judged for a client without a name.
    pub(super) fn idle_rules(&self) -> Vec<Idle> {
        let asker = Asker { client: "", project: Some(self.project) };
        let facts = self.catalogue.facts_of(&self.tools);
        self.policies.iter().flat_map(|policy| policy.idle(&facts, &asker)).collect()
    }

    /// The number of tools that the client with this name does not see.
    fn hidden_from(&self, client: &str) -> usize {
        let asker = Asker { client, project: Some(self.project) };
        let tools = self.catalogue.entries().iter();
        tools.filter(|tool| policy::hidden(self.policies.into_iter(), &tool.facts(), &asker).is_some()).count()
    }

    /// Returns the finding about tools that are not listed at first; `None` if all are.
    pub(super) fn not_listed(&self) -> Option<Finding> {
        let asker = Asker { client: "", project: Some(self.project) };
        let is_hidden = |entry: &Entry| policy::hidden(self.policies.into_iter(), &entry.facts(), &asker).is_some();
        let entries = self.catalogue.entries().iter();
        let hidden = entries.filter(|entry| is_hidden(entry)).map(|entry| entry.name.as_str()).collect();
        let visible = Arc::new(self.catalogue.without(&hidden));
        let listed = visible.listed(&Terms { tools_max: None, toolsets: self.toolsets, found: &[] });
        let (rest, all) = (listed.rest().len(), visible.entries().len());
        (rest > 0).then(|| {
            let says = format!(
                "{rest} of the {all} tools of the last list are not listed at first. They can be called, and holdfast_tools finds them; \
                 `--toolsets all` lists them all"
            );
            Finding::note(HIDDEN, says)
        })
    }

    /// Returns the finding about hidden tools; `None` if nothing can hide any.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.policies.iter().any(|policy| policy.hides_denied() || policy.has_choices()).then(|| {
            let (hidden, all) = (self.hidden_from(""), self.catalogue.entries().len());
            let from_all = format!("{hidden} of the {all} tools of the last list are hidden from every AI client in this project. ");
            let says = format!(
                "{}Some clients may see fewer tools. `holdfast tools --client NAME` names the hidden ones, with the reasons",
                if hidden > 0 { from_all } else { String::new() }
            );
            Finding::note(HIDDEN, says)
        })
    }
}

/// The subject of the findings about hidden tools and about rules without tools. These findings are shown although
/// nothing needs to be done.
pub(super) const HIDDEN: &str = "hidden";
pub(super) const RULES: &str = "rules";

/// Returns a finding for each rule that matches none of the project's tools.
pub(super) fn rules(config: &Config, look: &Look, listed: Option<&Listed<'_>>) -> Vec<Finding> {
    let has_rules = config.policy.has_rules() || look.survey.rules.policy.has_rules();
    if !has_rules || look.survey.project.is_none() {
        return Vec::new();
    }
    let Some(listed) = listed else {
        let says = "the rules could not be compared with the project's tools: its editor has told none yet";
        return vec![Finding::note("policy", says)];
    };
    let idle = listed.idle_rules().into_iter();
    idle.map(|idle| {
        let finding = Finding::note(RULES, clean(&format!("{} {}", idle.rule, idle.says)));
        match idle.meant {
            Some(meant) => {
                finding.fix(format!("write \"{}\" if that is what you mean, or remove the rule", clean(&meant)))
            }
            None => finding,
        }
    })
    .collect()
}
