//! The registry actor: the shell around [`fsm::registry`](crate::fsm::registry).
//!
//! *Owns* nothing that must survive: the published catalogue outlives this actor. *Receives* the link's ups and downs, hints and
//! lists. *Sends* requests for a list to the bridge, and news of the published catalogue to the sessions. *Dies* only of our own
//! bugs, and the whole link with it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::fsm::Driver;
use crate::fsm::registry::{Effect, Event, Registry, Source, Timer};
use crate::limits::CATALOGUE_FILE_MAX_BYTES;
use crate::link::Link;
use crate::platform::host::Host;
use crate::protocol::dialect::{Dialect, EditorTool, ToolListing};
use crate::protocol::ids::Epoch;
use crate::runtime::messages::registry::Message;
use crate::runtime::messages::session;
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::storage::catalogue_file::{self, CatalogueFile, Unusable};
use crate::survey::Survey;

pub struct RegistryActor {
    pub of: Arc<Link>,
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Registry>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    /// The list that the next `Publish` publishes.
    staged: Option<Arc<ToolListing>>,
    read: Option<PathBuf>,
    /// The project that discovery reported last. `None`: no report yet; `Some(None)`: there is no project.
    project: Option<Option<PathBuf>>,
}

impl Actor for RegistryActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        let published = self.of.tools.published.borrow().source;
        let (driver, _) = Driver::start(Registry { published, ..Registry::default() });
        let timers = Timers::new(me.clone(), Message::Timer);
        Ok(State { driver, timers, me, staged: None, read: None, project: None })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let known = self.of.contact.survey.borrow().as_ref().and_then(|survey| survey.project.clone());
        // The list on disk belongs to a dialect. Before the first survey, the dialect is known only if there is just one.
        let named = || {
            let config = self.of.project.config();
            let project = config.project.as_deref().filter(|_| config.dialects.len() == 1);
            project.and_then(|project| crate::config::named_project(project).ok())
        };
        if let Some(project) = known.or_else(named) {
            self.read_disk(state, project);
        }
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::LinkReady(epoch) => {
                if self.is_current(state, epoch) {
                    self.feed(state, &Event::LinkReady);
                }
            }
            Message::LinkLost => self.feed(state, &Event::LinkLost),
            Message::ChangeHinted(_permit) => self.feed(state, &Event::ChangeHinted),
            // The place of the list is free only after the effects of the machine.
            Message::ListReceived(epoch, listing) => {
                let published = self.received(state, epoch, &listing);
                self.of.contact.list_is_over(epoch, published);
            }
            Message::ListFailed(epoch, why) => {
                self.of.env.events.trouble_with("list_failed", &why);
                if self.is_current(state, epoch) {
                    self.feed(state, &Event::ListFailed);
                }
                self.of.contact.list_is_over(epoch, false);
            }
            Message::ProjectKnown(project) => self.project_known(state, project),
            Message::DiskRead(project, read) => self.disk_read(state, &project, read),
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    self.feed(state, &Event::Elapsed(timer));
                }
            }
        }
        Ok(())
    }
}

impl RegistryActor {
    /// Whether the tool list of this connection is wanted: the connection must be the current one and lead to the wanted
    /// project's editor. While it is not known which project is wanted, the connected project may be the wanted one.
    fn is_current(&self, state: &State, epoch: Epoch) -> bool {
        let picture = self.of.contact.view.borrow().clone();
        let Some(target) = picture.target.filter(|_| picture.epoch == Some(epoch)) else { return false };
        let known = state.project.as_ref().is_none_or(|known| *known == target.project);
        known && self.of.contact.wanted().may_be(target.project.as_deref())
    }

    /// Publishes a list. Returns false if the list is not from the wanted editor.
    fn received(&self, state: &mut State, epoch: Epoch, listing: &ToolListing) -> bool {
        if !self.is_current(state, epoch) {
            return false;
        }
        self.of.env.events.tools_listed(listing.tools.len(), &listing.dropped);
        let known = Arc::clone(&self.of.tools.published.borrow().tools);
        let (tools, changed) = adopt(&known, &listing.tools);
        let (revision, dropped) = (listing.revision.clone(), listing.dropped.clone());
        let listing = Arc::new(ToolListing { tools, revision, dropped });
        if listing.revision.is_some() {
            self.of.tools.keep_listing(Arc::clone(&listing));
        }
        state.staged = Some(listing);
        self.feed(state, &Event::ListReceived { changed });
        true
    }

    fn project_known(&self, state: &mut State, project: Option<PathBuf>) {
        let before = state.project.replace(project.clone());
        if before.is_some_and(|before| before != project) {
            state.read = None;
            self.feed(state, &Event::ProjectChanged);
            // The project was left and wanted again before its editor was disconnected, so no other `LinkReady`
            // follows.
            let epoch = self.of.contact.view.borrow().epoch;
            if epoch.is_some_and(|epoch| self.is_current(state, epoch)) {
                self.feed(state, &Event::LinkReady);
            }
        }
        match project {
            Some(project) => self.read_disk(state, project),
            None => self.of.tools.disk_was_read(),
        }
    }

    fn disk_read(&self, state: &mut State, project: &std::path::Path, read: Result<CatalogueFile, Unusable>) {
        if state.read.as_deref() != Some(project) {
            return;
        }
        let found = match read {
            Ok(file) if self.of.tools.published.borrow().source == Source::None => {
                state.staged = Some(Arc::new(ToolListing { tools: file.tools, ..ToolListing::default() }));
                true
            }
            // A list that the editor has sent since then is better than the file.
            Ok(_) => return self.of.tools.disk_was_read(),
            Err(Unusable::Missing) => self.stage_stated(state),
            Err(problem) => {
                self.of.env.events.trouble_with("catalogue_file", &format!("{problem} ({})", project.display()));
                false
            }
        };
        self.feed(state, &Event::DiskRead { found });
        self.of.tools.disk_was_read();
    }

    /// Stages the tools that the project's package is known to have, if no list was published yet. Returns whether there are any.
    fn stage_stated(&self, state: &mut State) -> bool {
        let survey = self.of.contact.survey.borrow().clone();
        let is_there =
            |survey: &Survey| survey.facts.installed && !survey.facts.by_record && survey.packages.is_empty();
        let is_first = self.of.tools.published.borrow().source == Source::None;
        let survey = survey.filter(|survey| is_first && is_there(survey));
        let Some(listing) = survey.and_then(|survey| survey.dialect.stated_tools()) else { return false };
        state.staged = Some(Arc::new(listing));
        true
    }

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.of.env.events.stepped(&out, before, event);
        for effect in out.effects {
            match effect {
                Effect::RequestList => {
                    if let Some(exchange) = self.of.contact.exchange() {
                        exchange.lock().want_list();
                        exchange.wake();
                    }
                }
                Effect::Publish(source) => self.publish(state, source),
                Effect::Announce => {
                    self.of.attached.tell(|| session::Message::CatalogueChanged);
                }
                Effect::SaveDisk => self.save_disk(state),
                Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
                Effect::Disarm(timer) => state.timers.disarm(timer),
            }
        }
    }

    fn publish(&self, state: &mut State, source: Source) {
        let staged = match source {
            Source::None => Some(Arc::default()),
            Source::Disk | Source::Live | Source::Stale => state.staged.take(),
        };
        self.of.tools.show(source, staged.as_deref());
        self.of.attached.tell(|| session::Message::LinkChanged);
    }

    fn read_disk(&self, state: &mut State, project: PathBuf) {
        let Some(folder) = self.of.env.config.state_dir.clone() else {
            let found = self.stage_stated(state);
            self.feed(state, &Event::DiskRead { found });
            return self.of.tools.disk_was_read();
        };
        if state.read.as_ref() == Some(&project) {
            return;
        }
        state.read = Some(project.clone());
        let (env, contact, me) = (Arc::clone(&self.of.env), Arc::clone(&self.of.contact), state.me.clone());
        self.tasks.spawn(async move {
            let (host, dialect) = (Arc::clone(&env.host), contact.dialect());
            let file = {
                let project = project.clone();
                move || match catalogue_file::read(&*host, &folder, &project, dialect.name()) {
                    Err(Unusable::Missing) => listed_by_editor(&*host, &project, dialect).ok_or(Unusable::Missing),
                    read => read,
                }
            };
            if let Some(read) = crate::platform::host::run(&*env.host, file).await {
                let _ = me.cast(Message::DiskRead(project, read));
            }
        });
    }

    fn save_disk(&self, state: &State) {
        let Some(folder) = self.of.env.config.state_dir.clone() else { return };
        let Some(staged) = &state.staged else { return };
        // The list belongs to the project of the connected editor, even if another project was found since.
        let connected = self.of.contact.view.borrow().target.as_ref().and_then(|target| target.project.clone());
        let Some(project) = connected else { return };
        let version = self.of.contact.survey.borrow().as_ref().and_then(|survey| {
            let same = survey.project.as_ref() == Some(&project);
            survey.facts.package_version.clone().filter(|_| same)
        });
        let tools = staged.tools.clone();
        let file = CatalogueFile::new(&project, self.of.contact.dialect().name(), version, tools);
        let (host, events) = (Arc::clone(&self.of.env.host), self.of.env.events.clone());
        // The write begins here and not in the task, and before the list is published: a session may end right after it got its
        // list, and the next session needs the file.
        self.tasks.spawn(self.of.env.host.blocking(Box::new(move || {
            if let Err(error) = catalogue_file::write(&*host, &folder, &file) {
                events.trouble_with("catalogue_write", &error.to_string());
            }
        })));
    }
}

/// Returns the list that the editor keeps in a file of the project, if it keeps one.
fn listed_by_editor(host: &dyn Host, project: &Path, dialect: &dyn Dialect) -> Option<CatalogueFile> {
    let bytes = host.read(&project.join(dialect.list_file()?), CATALOGUE_FILE_MAX_BYTES).ok()?;
    let listing = dialect.read_list_file(&bytes)?;
    Some(CatalogueFile::new(project, dialect.name(), None, listing.tools))
}

/// Returns the list with each unchanged tool replaced by its known copy, and whether the list differs from the known one. The
/// order has no meaning (after a reload it is that of a hash map): if only the order differs, the known list is kept.
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
            timeout_seconds: None,
            group: None,
            other_names: Vec::new(),
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
