//! The published catalogue, and which of its tools may be called.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::contact::Contact;
use crate::client::Attached;
use crate::config::Config;
use crate::core::calls::Wanted;
use crate::core::port::messages;
use crate::fsm::registry::Source;
use crate::limits::{POLICY_RULES_MAX, SESSIONS_MAX};
use crate::protocol::dialect::{Dialect, EditorTool, PackageTool, ToolListing};
use crate::protocol::ids::SessionId;
use crate::protocol::mcp::{self, Catalogue};
use crate::protocol::policy::idle::Idle;
use crate::protocol::policy::{self, Asker, Grounds, Policy, ToolFacts, unstated_tool};
use crate::protocol::text::clean;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::session;
use crate::survey::Survey;

/// The published catalogue.
#[derive(Debug, Clone)]
pub struct Published {
    /// Where the catalogue comes from.
    pub source: Source,
    /// Whether the catalogue on disk was looked for: no tools come from disk any more.
    pub disk_read: bool,
    /// The tools as clients see them.
    pub catalogue: Arc<Catalogue>,
    /// The editor's tools as they were read, development-only ones included.
    pub tools: Arc<Vec<Arc<EditorTool>>>,
    /// How often the rules of the project changed: they decide what is listed.
    pub rules: u64,
    /// Entries of the editor's list that are not usable tools, each with its name (or position) and the reason.
    pub unusable: Arc<Vec<(String, String)>>,
}

/// The tools of one link; see the module's documentation.
#[derive(Debug)]
pub struct Tools {
    pub published: watch::Sender<Published>,
    env: Arc<Environment>,
    attached: Attached,
    contact: Arc<Contact>,
    /// The editor's last tool list that has a revision.
    listing: Mutex<Option<Arc<ToolListing>>>,
    /// The last surveyed project, with its rules for tools.
    rules: Mutex<Option<(PathBuf, Policy)>>,
    /// The lists of sessions for which some of these tools are hidden, each with the whole catalogue.
    shown: Mutex<Vec<(Arc<Catalogue>, Visible)>>,
    /// The rules that were compared with the live list.
    compared: Mutex<Compared>,
    /// The configuration of the hub that has the link, with the rules that the hub told. The hub decides by its rules
    /// and by the project's before it sends a call, so a rule that is not known here refuses nothing.
    hub: Mutex<Option<Arc<Config>>>,
    /// What sessions of other processes are told.
    told: Mutex<Option<Arc<messages::Tools>>>,
}

/// Which rules were compared with the live list, so that a rule that matches nothing is told once.
#[derive(Debug, Default)]
struct Compared {
    /// The sessions, each with the list and the number of the project's rules.
    of: Vec<(SessionId, Arc<Catalogue>, u64)>,
    told: HashSet<String>,
}

impl Tools {
    /// Creates the tools of a link, with an empty catalogue.
    pub fn new(env: Arc<Environment>, attached: Attached, contact: Arc<Contact>) -> Self {
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
            contact,
            listing: Mutex::default(),
            rules: Mutex::default(),
            shown: Mutex::default(),
            compared: Mutex::default(),
            hub: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Records that the catalogue on disk was looked for, and tells the sessions: a first `tools/list` need not wait for it any
    /// more.
    pub fn disk_was_read(&self) {
        self.published.send_modify(|published| published.disk_read = true);
        self.attached.tell(|| session::Message::LinkChanged);
    }

    // ---- what is published ----

    /// Says that the published list is not live any more: the actors of the link have ended.
    pub fn link_ended(&self) {
        self.published.send_if_modified(|published| {
            let live = published.source == Source::Live;
            if live {
                published.source = Source::Stale;
            }
            live
        });
    }

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
        let dialect = self.contact.dialect();
        let raises_windows = |tool: &EditorTool| dialect.package_tool(&tool.name) == Some(PackageTool::FocusWindow);
        let can_focus = self.env.can_focus();
        let known = Arc::clone(&self.published.borrow().tools);
        // Built before it is published, so that calls can look up tools in the published catalogue in the meantime.
        let fresh = listed.filter(|listing| listing.tools != *known).map(|ToolListing { tools, .. }| {
            let shown = tools.iter().filter(|tool| can_focus || !raises_windows(tool));
            let catalogue = Catalogue::new(shown.map(Arc::clone), self.env.config.development);
            (Arc::new(catalogue.with_turns(|tool| dialect.turn(tool))), Arc::new(tools.clone()))
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
        let sessions: Vec<SessionId> = self.attached.all().iter().map(|client| client.id).collect();
        self.tell_idle_rules(&sessions);
    }

    /// Sets the rules of the hub that has the link. `None`: no hub has it.
    pub(super) fn decided_by_hub(&self, rules: Option<Policy>) {
        *enter(&self.hub) = rules.map(|policy| Arc::new(Config { policy, ..Config::default() }));
    }

    /// Returns the tools in the form for a session of another process. The value is kept as long as nothing changes.
    pub fn told(&self) -> Arc<messages::Tools> {
        let published = self.published.borrow().clone();
        let rules = enter(&self.rules).clone().map(|(_, policy)| policy);
        let dialect = self.contact.dialect().name();
        let package_version =
            self.contact.survey.borrow().as_ref().and_then(|survey| survey.facts.package_version.clone());
        let mut told = enter(&self.told);
        if let Some(told) = told.as_ref()
            && told.dialect == dialect
            && told.tools == *published.tools
            && told.unusable == *published.unusable
            && told.rules == rules
            && told.package_version == package_version
        {
            return Arc::clone(told);
        }
        let mut now = messages::Tools {
            digest: String::new(),
            dialect: dialect.to_owned(),
            package_version,
            tools: published.tools.to_vec(),
            unusable: published.unusable.to_vec(),
            hub_rules: self.env.config.policy.clone(),
            rules,
        };
        let digest = Sha256::digest(serde_json::to_vec(&now).unwrap_or_default());
        now.digest = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let now = Arc::new(now);
        *told = Some(Arc::clone(&now));
        now
    }

    // ---- which may be called ----

    /// Returns why this session may not call a tool of the editor's list in this project; `None` if it may.
    pub fn refusal(&self, tool: &mcp::Entry, project: Option<&Path>, session: SessionId) -> Option<Grounds> {
        self.policies(session, project, self.policy_of(project)).refusal(&tool.facts())
    }

    /// Like [`refusal`](Self::refusal), for a call with these arguments. Some arguments name further tools, which the
    /// editor would call. `dialect`: the editor's dialect.
    pub fn refusal_of_call(
        &self,
        (tool, arguments): (&mcp::Entry, &RawValue),
        dialect: &dyn Dialect,
        catalogue: &Catalogue,
        project: Option<&Path>,
        session: SessionId,
    ) -> Option<Grounds> {
        let policies = self.policies(session, project, self.policy_of(project));
        policies.refusal(&tool.facts()).or_else(|| policies.refusal_within(tool, arguments, dialect, catalogue))
    }

    /// Returns the rules for a call of this session to this project: those of the gateway, of the session and of the project. A
    /// call must be allowed by all of them.
    fn policies(&self, session: SessionId, project: Option<&Path>, of_project: Policy) -> Policies<'_> {
        let own = match session {
            // The client over stdin and stdout brings the gateway's own rules. A guest brings none.
            SessionId::STDIO => enter(&self.hub).clone(),
            SessionId::GUESTS => None,
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
        match self.contact.wanted() {
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
        // The project itself matters only to rules, and to choices for a project.
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
        let surveyed = self.contact.survey.borrow().clone();
        let found = surveyed.as_ref().and_then(|survey| survey.project.as_deref());
        match project {
            Some(wanted) if found != Some(wanted) => {
                let kept = enter(&self.rules).clone().filter(|(of, _)| *of == wanted).map(|(_, policy)| policy);
                kept.unwrap_or_else(|| {
                    if enter(&self.hub).is_some() {
                        return Policy::default();
                    }
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
    pub fn refusal_at_once(&self, name: &str, arguments: &RawValue, session: SessionId) -> Option<Grounds> {
        let policies = self.policies_now(session);
        if let Some(all) = policies.refusal_of_all() {
            return Some(all);
        }
        let (source, catalogue) = {
            let published = self.published.borrow();
            (published.source, Arc::clone(&published.catalogue))
        };
        match (source, catalogue.find(name)) {
            (Source::Live, Some(entry)) => policies
                .refusal(&entry.facts())
                .or_else(|| policies.refusal_within(entry, arguments, self.contact.dialect(), &catalogue)),
            _ => {
                self.contact.dialect().package_tool(name)?;
                // The tool's annotations are not known without a live list: assume the worst.
                policies.refusal(&unstated_tool(&[name]))
            }
        }
    }

    /// Returns the rules of this session that match none of the editor's tools. `client`: as for [`visible_to`](Self::visible_to).
    /// `None`: there is no list to compare them with, or no rule.
    pub fn idle_rules(&self, session: SessionId, client: Option<&str>) -> Option<Vec<Idle>> {
        let mut policies = self.policies_now(session);
        if let Some(client) = client {
            client.clone_into(&mut policies.client);
        }
        let published = self.published.borrow().clone();
        let compares = published.source != Source::None && policies.each().any(Policy::has_rules);
        compares.then(|| policies.idle(&published.catalogue.facts_of(&published.tools)))
    }

    /// Logs each rule of these sessions that matches none of the editor's tools, once.
    fn tell_idle_rules(&self, sessions: &[SessionId]) {
        let (source, catalogue, rules) = {
            let published = self.published.borrow();
            (published.source, Arc::clone(&published.catalogue), published.rules)
        };
        // While it is not known which project is wanted, its rules are not known either.
        if source != Source::Live || self.contact.wanted() == Wanted::Asked {
            return;
        }
        for session in sessions {
            let now = (*session, Arc::clone(&catalogue), rules);
            {
                let mut compared = enter(&self.compared);
                let is_now = |(of, list, of_rules): &(SessionId, Arc<Catalogue>, u64)| {
                    of == session && Arc::ptr_eq(list, &catalogue) && *of_rules == rules
                };
                if compared.of.iter().any(is_now) {
                    continue;
                }
                compared.of.retain(|(of, list, _)| of != session && Arc::ptr_eq(list, &catalogue));
                compared.of.truncate(SESSIONS_MAX);
                compared.of.insert(0, now);
            }
            for idle in self.idle_rules(*session, None).unwrap_or_default() {
                let says = idle.sentence();
                let is_new = {
                    let mut compared = enter(&self.compared);
                    compared.told.len() < POLICY_RULES_MAX && compared.told.insert(says.clone())
                };
                if is_new {
                    self.env.events.rule_matches_nothing(&says);
                }
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
        if policies.project.is_none() && self.contact.wanted() == Wanted::Asked {
            // The client's roots may be the same as before. Until they are known the list stays as it is.
            if let Some((project, policy)) = enter(&self.rules).clone() {
                (policies.project, policies.of_project) = (Some(project), policy);
            }
        }
        if let Some(client) = client {
            client.clone_into(&mut policies.client);
        }
        self.tell_idle_rules(&[session]);
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

    /// Returns why a call is refused because of a tool inside its arguments, which the editor would call.
    fn refusal_within(
        &self,
        tool: &mcp::Entry,
        arguments: &RawValue,
        dialect: &dyn Dialect,
        catalogue: &Catalogue,
    ) -> Option<Grounds> {
        if self.each().all(Policy::is_empty) {
            return None;
        }
        let Ok(names) = dialect.tools_within(&tool.tool.name, arguments) else {
            return Some(Grounds {
                rule: None,
                says: "the calls in its arguments cannot be read, so they cannot be compared with the rules".to_owned(),
            });
        };
        names.into_iter().find_map(|name| {
            let known = catalogue.entries().iter().find(|entry| entry.tool.name == name);
            let refusal =
                known.map_or_else(|| self.refusal(&unstated_tool(&[&name])), |known| self.refusal(&known.facts()))?;
            Some(Grounds { says: format!("it would call `{}`, and {}", clean(&name), refusal.says), ..refusal })
        })
    }

    /// Returns the rules that match none of these tools, which are all that the editor has.
    fn idle(&self, tools: &[ToolFacts<'_>]) -> Vec<Idle> {
        let asker = self.asker();
        let mut idle: Vec<Idle> = Vec::new();
        for one in self.each().flat_map(|policy| policy.idle(tools, &asker)) {
            if !idle.contains(&one) {
                idle.push(one);
            }
        }
        idle
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
