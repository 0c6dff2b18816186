//! The published catalogue, and which of its tools may be called.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::state::Link;
use crate::client::Attached;
use crate::core::calls::Wanted;
use crate::fsm::registry::Source;
use crate::protocol::dialect::{Annotations, EditorTool, OwnTool, ToolListing};
use crate::protocol::ids::Epoch;
use crate::protocol::mcp::{self, Catalogue};
use crate::protocol::policy::{Grounds, Policy, unstated};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::session;
use crate::survey::Survey;

/// The published catalogue.
#[derive(Debug, Clone)]
pub struct Published {
    /// Where it comes from.
    pub source: Source,
    /// The catalogue on disk was looked for: nothing more comes from there.
    pub disk_read: bool,
    /// What clients see.
    pub catalogue: Arc<Catalogue>,
    /// The editor's tools as they were read, development-only ones included.
    pub tools: Arc<Vec<Arc<EditorTool>>>,
    /// What stood in the editor's list and is no usable tool: name (or position) and reason.
    pub unusable: Arc<Vec<(String, String)>>,
}

/// What is known of the lists that were published.
#[derive(Debug, Default)]
struct Shelf {
    /// The editor's last list that has a revision.
    listing: Option<Arc<ToolListing>>,
    /// The project that the catalogue is of, once that is known.
    project: Option<Option<PathBuf>>,
    /// What is published differs from what clients were told last.
    changed: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Tools {
    /// What clients are shown.
    pub published: watch::Sender<Published>,
    env: Arc<Environment>,
    attached: Attached,
    link: Arc<Link>,
    shelf: Mutex<Shelf>,
    /// What the project that was found last says of tools.
    rules: Mutex<Option<(PathBuf, Policy)>>,
}

impl Tools {
    /// Before any list was read.
    pub fn new(env: Arc<Environment>, attached: Attached, link: Arc<Link>) -> Self {
        let nothing = Published {
            source: Source::None,
            disk_read: false,
            catalogue: Arc::new(Catalogue::new(Vec::<EditorTool>::new(), env.config.development)),
            tools: Arc::default(),
            unusable: Arc::default(),
        };
        let published = watch::Sender::new(nothing);
        Self { published, env, attached, link, shelf: Mutex::default(), rules: Mutex::default() }
    }

    /// The catalogue on disk was looked for: a first list need not wait for it any longer.
    pub fn disk_was_read(&self) {
        self.published.send_modify(|published| published.disk_read = true);
        self.attached.tell(|| session::Message::DiskRead);
    }

    // ---- what is published ----

    /// The project that the catalogue is of from now on. Returns the one before, if one was known.
    pub fn is_of(&self, project: Option<PathBuf>) -> Option<Option<PathBuf>> {
        enter(&self.shelf).project.replace(project)
    }

    /// Whether a list on this connection is of interest: not while it leads to another project's editor. While it is in question
    /// which project is wanted, the connected one may be it.
    pub fn takes_from(&self, epoch: Epoch) -> bool {
        let link = self.link.view.borrow().clone();
        let Some(target) = link.target.filter(|_| link.epoch == Some(epoch)) else { return false };
        let known = enter(&self.shelf).project.as_ref().is_none_or(|known| *known == target.project);
        known && self.link.wanted().may_be(target.project.as_deref())
    }

    /// Publishes the list that the editor of this connection sent. False if it is of no interest.
    pub fn adopt(&self, epoch: Epoch, listing: Arc<ToolListing>) -> bool {
        if !self.takes_from(epoch) {
            return false;
        }
        self.env.events.tools_listed(listing.tools.len(), &listing.dropped);
        let known = Arc::clone(&self.published.borrow().tools);
        let (tools, changed) = adopt(&known, &listing.tools);
        let (revision, dropped) = (listing.revision.clone(), listing.dropped.clone());
        let listing = Arc::new(ToolListing { tools, revision, dropped });
        {
            let mut shelf = enter(&self.shelf);
            shelf.changed |= changed;
            if listing.revision.is_some() {
                shelf.listing = Some(Arc::clone(&listing));
            }
        }
        self.show(Source::Live, Some(&listing));
        true
    }

    /// Whether what is published differs from what clients were told last; they are told now.
    pub fn take_changed(&self) -> bool {
        std::mem::take(&mut enter(&self.shelf).changed)
    }

    /// The last tool list, if it is of this revision: then the editor need not send it again.
    pub fn listing_of(&self, revision: &str) -> Option<Arc<ToolListing>> {
        enter(&self.shelf).listing.clone().filter(|listing| listing.revision.as_deref() == Some(revision))
    }

    /// Publishes these tools, and what stood beside them and is none; `None`: those that are published stay.
    pub fn show(&self, source: Source, listed: Option<&ToolListing>) {
        let dialect = self.link.dialect();
        let raises_windows = |tool: &EditorTool| dialect.own_tool(&tool.name) == Some(OwnTool::FocusWindow);
        let can_focus = self.env.can_focus();
        let known = Arc::clone(&self.published.borrow().tools);
        // Made before it is put in place: calls are looked up there meanwhile.
        let fresh = listed.filter(|listing| listing.tools != *known).map(|ToolListing { tools, .. }| {
            let shown = tools.iter().filter(|tool| can_focus || !raises_windows(tool));
            (Arc::new(Catalogue::new(shown.map(Arc::clone), self.env.config.development)), Arc::new(tools.clone()))
        });
        self.published.send_modify(|published| {
            published.source = source;
            if let Some(listing) = listed {
                published.unusable = Arc::new(listing.dropped.clone());
            }
            if let Some((catalogue, tools)) = fresh {
                (published.catalogue, published.tools) = (catalogue, tools);
            }
        });
    }

    // ---- which may be called ----

    /// Why a tool of the editor's list may not be called in this project.
    pub fn refusal(&self, tool: &mcp::Entry, project: Option<&Path>) -> Option<Grounds> {
        let (name, own, annotations) = (&tool.name, &tool.tool.name, &tool.tool.annotations);
        let of_project = || self.policy_of(project).refusal(name, own, annotations);
        self.env.config.policy.refusal(name, own, annotations).or_else(of_project)
    }

    /// Remembers what the project that was looked at says of tools: its rules hold for as long as it is wanted, also when it is out
    /// of sight for a moment.
    pub(super) fn keep_rules(&self, survey: &Survey) {
        if let Some(project) = &survey.project {
            *enter(&self.rules) = Some((project.clone(), survey.rules.policy.clone()));
        }
    }

    /// What the project says that is wanted. Where that is in question nothing is refused in its name, and nothing is sent.
    fn project_policy(&self) -> Policy {
        match self.link.wanted() {
            Wanted::Asked => Policy::default(),
            Wanted::Settled(wanted) => self.policy_of(wanted.as_deref()),
        }
    }

    fn policy_of(&self, project: Option<&Path>) -> Policy {
        let surveyed = self.link.survey.borrow().clone();
        let found = surveyed.as_ref().and_then(|survey| survey.project.as_deref());
        match project {
            Some(wanted) if found != Some(wanted) => {
                let kept = enter(&self.rules).clone().filter(|(of, _)| *of == wanted).map(|(_, policy)| policy);
                kept.unwrap_or_else(|| {
                    let mut policy = Policy::default();
                    policy.refuse_all(format!("what {} says of tools is not known", wanted.display()));
                    policy
                })
            }
            _ => surveyed.map(|survey| survey.rules.policy.clone()).unwrap_or_default(),
        }
    }

    fn refusal_of(&self, name: &str, own: &str, annotations: &Annotations) -> Option<Grounds> {
        let of_project = || self.project_policy().refusal(name, own, annotations);
        self.env.config.policy.refusal(name, own, annotations).or_else(of_project)
    }

    /// Why a call is refused before it waits for anything: nothing is allowed, the live list has the tool, or its package's own
    /// server answered it without a list. Any other is decided when it is about to be sent.
    pub fn refusal_at_once(&self, name: &str) -> Option<Grounds> {
        let of_project = || self.project_policy().refusal_of_all();
        if let Some(all) = self.env.config.policy.refusal_of_all().or_else(of_project) {
            return Some(all);
        }
        let (source, catalogue) = {
            let published = self.published.borrow();
            (published.source, Arc::clone(&published.catalogue))
        };
        match (source, catalogue.find(name)) {
            (Source::Live, Some(entry)) => self.refusal_of(&entry.name, &entry.tool.name, &entry.tool.annotations),
            _ => {
                self.link.dialect().own_tool(name)?;
                // What the list will say of it is not known: the worst is expected.
                self.refusal_of(name, name, &unstated())
            }
        }
    }

    /// The policies in force, one rule list a line.
    pub fn policy_lines(&self) -> Vec<String> {
        self.env.config.policy.lines().into_iter().chain(self.project_policy().lines()).collect()
    }
}

/// A list with each tool that is known already in place of its copy, and whether anything is new. Its order is the editor's mood
/// (a hash map's, after a reload) and no change: the known one is kept.
fn adopt(known: &[Arc<EditorTool>], listed: &[Arc<EditorTool>]) -> (Vec<Arc<EditorTool>>, bool) {
    let mut by_name: HashMap<&str, &Arc<EditorTool>> = known.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    let mut changed = known.len() != listed.len();
    let adopted = listed.iter().map(|tool| {
        let same = by_name.remove(tool.name.as_str()).filter(|known| *known == tool);
        changed |= same.is_none();
        Arc::clone(same.unwrap_or(tool))
    });
    let adopted = adopted.collect();
    if changed { (adopted, true) } else { (known.to_vec(), false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::{Annotations, InputSchema};

    fn tool(name: &str, description: &str) -> Arc<EditorTool> {
        Arc::new(EditorTool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: InputSchema::default(),
            annotations: Annotations {
                title: name.to_owned(),
                read_only_hint: false,
                destructive_hint: true,
                idempotent_hint: false,
                open_world_hint: true,
            },
            development_only: false,
            repeatable: false,
            parallel: false,
            resumable: false,
        })
    }

    #[test]
    fn another_order_is_no_change_and_another_content_is() {
        let (a, b, other) = (tool("a", "x"), tool("b", "y"), tool("b", "z"));
        let known = [a.clone(), b.clone()];
        assert_eq!(adopt(&known, &[b.clone(), a.clone()]), (known.to_vec(), false));
        for changed in [vec![a.clone()], vec![a.clone(), other], vec![a.clone(), a.clone()], vec![a, b.clone(), b]] {
            assert_eq!(adopt(&known, &changed), (changed, true));
        }
    }

    #[test]
    fn what_is_listed_again_is_kept_once() {
        let known = [tool("a", "x"), tool("b", "y")];
        let (listed, changed) = adopt(&known, &[tool("c", "new"), tool("b", "y"), tool("a", "other")]);
        assert!(changed && Arc::ptr_eq(&listed[1], &known[1]));
        let (again, changed) = adopt(&known, &[tool("a", "x"), tool("b", "y")]);
        assert!(!changed && again.iter().zip(&known).all(|(listed, known)| Arc::ptr_eq(listed, known)));
    }
}
