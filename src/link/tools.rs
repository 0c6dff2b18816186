//! The published catalogue, and which of its tools may be called.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::state::Link;
use crate::client::Attached;
use crate::config::Config;
use crate::core::calls::Wanted;
use crate::fsm::registry::Source;
use crate::limits::SESSIONS_MAX;
use crate::protocol::dialect::{EditorTool, PackageTool, ToolListing};
use crate::protocol::ids::SessionId;
use crate::protocol::mcp::{self, Catalogue};
use crate::protocol::policy::{self, Asker, Grounds, Policy, ToolFacts, unstated_tool};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::session;
use crate::survey::Survey;

/// The published catalogue.
#[derive(Debug, Clone)]
pub struct Published {
    /// Where it comes from.
    pub source: Source,
    /// Whether the catalogue on disk was looked for: no tools come from disk any more.
    pub disk_read: bool,
    /// The tools as clients see them.
    pub catalogue: Arc<Catalogue>,
    /// The editor's tools as they were read, development-only ones included.
    pub tools: Arc<Vec<Arc<EditorTool>>>,
    /// How often the rules of the project changed, on which depends what is listed.
    pub rules: u64,
    /// Entries of the editor's list that are not usable tools, each with its name (or position) and the reason.
    pub unusable: Arc<Vec<(String, String)>>,
}

/// The tools of one link; see the module's documentation.
#[derive(Debug)]
pub struct Tools {
    /// The published catalogue.
    pub published: watch::Sender<Published>,
    env: Arc<Environment>,
    attached: Attached,
    link: Arc<Link>,
    /// The editor's last tool list that has a revision.
    listing: Mutex<Option<Arc<ToolListing>>>,
    /// The last surveyed project, with its rules for tools.
    rules: Mutex<Option<(PathBuf, Policy)>>,
    /// What sessions list that hide some of these tools, each with the whole catalogue.
    shown: Mutex<Vec<(Arc<Catalogue>, Visible)>>,
}

impl Tools {
    /// Creates the tools of a link, with an empty catalogue.
    pub fn new(env: Arc<Environment>, attached: Attached, link: Arc<Link>) -> Self {
        let nothing = Published {
            source: Source::None,
            disk_read: false,
            catalogue: Arc::new(Catalogue::new(Vec::<EditorTool>::new(), env.config.development)),
            tools: Arc::default(),
            rules: 0,
            unusable: Arc::default(),
        };
        let published = watch::Sender::new(nothing);
        Self {
            published,
            env,
            attached,
            link,
            listing: Mutex::default(),
            rules: Mutex::default(),
            shown: Mutex::default(),
        }
    }

    /// Records that the catalogue on disk was looked for, and tells the sessions: a first `tools/list` need not wait for it any
    /// more.
    pub fn disk_was_read(&self) {
        self.published.send_modify(|published| published.disk_read = true);
        self.attached.tell(|| session::Message::DiskRead);
    }

    // ---- what is published ----

    /// Remembers the editor's last tool list as it was read.
    pub fn keep_listing(&self, listing: Arc<ToolListing>) {
        *enter(&self.listing) = Some(listing);
    }

    /// Returns the last tool list if it has this revision: then the editor need not send it again. Otherwise returns `None`.
    pub fn listing_of(&self, revision: &str) -> Option<Arc<ToolListing>> {
        enter(&self.listing).clone().filter(|listing| listing.revision.as_deref() == Some(revision))
    }

    /// Publishes these tools, and the unusable entries of their list. `None`: the published tools stay.
    pub fn show(&self, source: Source, listed: Option<&ToolListing>) {
        let dialect = self.link.dialect();
        let raises_windows = |tool: &EditorTool| dialect.package_tool(&tool.name) == Some(PackageTool::FocusWindow);
        let can_focus = self.env.can_focus();
        let known = Arc::clone(&self.published.borrow().tools);
        // Built before it is published, so that calls can look up tools in the published catalogue in the meantime.
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

    /// Returns why this session may not call a tool of the editor's list in this project; `None` if it may.
    pub fn refusal(&self, tool: &mcp::Entry, project: Option<&Path>, session: SessionId) -> Option<Grounds> {
        self.policies(session, project, self.policy_of(project)).refusal(&tool.facts())
    }

    /// Returns the rules for a call of this session to this project: those of the gateway, of the session and of the project. A
    /// call must be allowed by all of them.
    fn policies(&self, session: SessionId, project: Option<&Path>, of_project: Policy) -> Policies<'_> {
        let own = match session {
            // The client over stdin and stdout brings the gateway's own rules. A guest brings none.
            SessionId::STDIO | SessionId::GUESTS => None,
            _ => Some(self.attached.get(session).map_or_else(
                || {
                    let mut ended = Config::default();
                    ended.policy.refuse_all("its session has ended".to_owned());
                    Arc::new(ended)
                },
                |client| Arc::clone(&client.config),
            )),
        };
        let mut policies = Policies {
            gateway: &self.env.config.policy,
            session: own,
            of_project,
            client: String::new(),
            project: project.map(Path::to_path_buf),
        };
        // A guest has no name that choices could be made for.
        if session != SessionId::GUESTS && policies.each().any(Policy::has_choices) {
            policies.client = self.attached.get(session).map(|client| client.handshake().name).unwrap_or_default();
        }
        policies
    }

    /// Returns the rules for calls of this session to the wanted project. While it is not known which project is wanted, a
    /// project's rules refuse nothing; then nothing is sent either.
    fn policies_now(&self, session: SessionId) -> Policies<'_> {
        match self.link.wanted() {
            Wanted::Asked => self.policies(session, None, Policy::default()),
            Wanted::Settled(wanted) => self.policies(session, wanted.as_deref(), self.policy_of(wanted.as_deref())),
        }
    }

    /// Keeps the rules of the surveyed project. They apply as long as the project is wanted, even if a later survey does not find
    /// it for a moment. Returns whether they differ from those before.
    pub(super) fn keep_rules(&self, survey: &Survey) -> bool {
        let Some(project) = &survey.project else { return false };
        let rules = Some((project.clone(), survey.rules.policy.clone()));
        let before = std::mem::replace(&mut *enter(&self.rules), rules.clone());
        // Which project it is makes a difference only to rules, and to choices for a project.
        let mut own = self.attached.all().into_iter().map(|client| Arc::clone(&client.config));
        let has_choices = self.env.config.policy.has_choices() || own.any(|config| config.policy.has_choices());
        let has_rules = [&before, &rules].into_iter().flatten().any(|(_, policy)| *policy != Policy::default());
        before != rules && (has_choices || has_rules)
    }

    /// Tells the sessions that other rules hold: they may list other tools now.
    pub(super) fn rules_changed(&self) {
        self.published.send_modify(|published| published.rules += 1);
        self.attached.tell(|| session::Message::CatalogueChanged);
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

    /// Returns why a call is refused as soon as it arrives: no tool is allowed, or the rules forbid this tool and it is in the
    /// live list or is a package tool. Returns `None` for any other call, which is checked when it is about to be sent.
    pub fn refusal_at_once(&self, name: &str, session: SessionId) -> Option<Grounds> {
        let policies = self.policies_now(session);
        if let Some(all) = policies.refusal_of_all() {
            return Some(all);
        }
        let (source, catalogue) = {
            let published = self.published.borrow();
            (published.source, Arc::clone(&published.catalogue))
        };
        match (source, catalogue.find(name)) {
            (Source::Live, Some(entry)) => policies.refusal(&entry.facts()),
            _ => {
                self.link.dialect().package_tool(name)?;
                // The tool's annotations are not known without a live list: assume the worst.
                policies.refusal(&unstated_tool(&[name]))
            }
        }
    }

    /// Returns the rules that apply to this session, one list of rules per line.
    pub fn policy_lines(&self, session: SessionId) -> Vec<String> {
        self.policies_now(session).lines()
    }

    // ---- which are listed ----

    /// Returns the published tools as this session lists them.
    pub fn visible(&self, session: SessionId) -> Visible {
        self.visible_to(session, None)
    }

    /// Like [`visible`](Self::visible), for a client with another name than the session's, if one is given.
    pub fn visible_to(&self, session: SessionId, client: Option<&str>) -> Visible {
        let catalogue = Arc::clone(&self.published.borrow().catalogue);
        let mut policies = self.policies_now(session);
        if policies.project.is_none() && self.link.wanted() == Wanted::Asked {
            // The client's roots may be the same as before. Until they are known the list stays as it is.
            if let Some((project, policy)) = enter(&self.rules).clone() {
                (policies.project, policies.of_project) = (Some(project), policy);
            }
        }
        if let Some(client) = client {
            client.clone_into(&mut policies.client);
        }
        let hidden = policies.hidden(&catalogue);
        if hidden.is_empty() {
            return Visible { catalogue, hidden };
        }
        let mut shown = enter(&self.shown);
        // Kept while nothing changes, so that equal lists of several sessions are one value.
        shown.retain(|(of, _)| Arc::ptr_eq(of, &catalogue));
        let known = shown.iter().find(|(_, visible)| visible.hidden == hidden).map(|(_, visible)| visible.clone());
        known.unwrap_or_else(|| {
            let names = hidden.iter().map(|(tool, _)| tool.as_str()).collect();
            let visible = Visible { catalogue: Arc::new(catalogue.without(&names)), hidden };
            shown.truncate(SESSIONS_MAX);
            shown.insert(0, (catalogue, visible.clone()));
            visible
        })
    }
}

/// The tools that one session lists.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The tools that are listed.
    pub catalogue: Arc<Catalogue>,
    /// The names of the tools that are hidden, each with the reason.
    pub hidden: Vec<(String, String)>,
}

/// Several policies that a call must all be allowed by.
struct Policies<'a> {
    gateway: &'a Policy,
    session: Option<Arc<Config>>,
    of_project: Policy,
    /// The name of the client, if a choice could be made for it.
    client: String,
    project: Option<PathBuf>,
}

impl Policies<'_> {
    fn each(&self) -> impl Iterator<Item = &Policy> {
        [self.gateway].into_iter().chain(self.session.as_ref().map(|session| &session.policy)).chain([&self.of_project])
    }

    fn asker(&self) -> Asker<'_> {
        Asker { client: &self.client, project: self.project.as_deref() }
    }

    fn refusal_of_all(&self) -> Option<Grounds> {
        self.each().find_map(Policy::refusal_of_all)
    }

    fn refusal(&self, tool: &ToolFacts<'_>) -> Option<Grounds> {
        let asker = self.asker();
        self.each().find_map(|policy| policy.refusal(tool, &asker))
    }

    /// Returns the tools that are not listed, each with the reason.
    fn hidden(&self, catalogue: &Catalogue) -> Vec<(String, String)> {
        if !self.each().any(|policy| policy.hides_denied() || policy.has_choices()) {
            return Vec::new();
        }
        let asker = self.asker();
        let policies: Vec<&Policy> = self.each().collect();
        let why = |entry: &mcp::Entry| {
            let grounds = policy::hidden(policies.iter().copied(), &entry.facts(), &asker)?;
            Some((entry.name.clone(), grounds.rule.unwrap_or(grounds.says)))
        };
        catalogue.entries().iter().filter_map(why).collect()
    }

    /// Returns the lines of all policies. A line that two of them have (the user's file is read by every gateway) is said once.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let asker = self.asker();
        for line in self.each().flat_map(|policy| policy.lines(Some(&asker))) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}
