//! The registry actor: the shell around [`fsm::registry`](crate::fsm::registry).
//!
//! *Owns* nothing that matters: the published catalogue outlives it. *Receives* the link's ups and downs, hints and
//! lists. *Sends* wishes for a list to the bridge, and what was published to the session. *Dies* only of our own bugs; a healthy
//! connection does not notice.

use std::path::PathBuf;
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::client::Attached;
use crate::fsm::Driver;
use crate::fsm::registry::{Effect, Event, Registry, Source, Timer};
use crate::link::{Link, Project, Tools};
use crate::protocol::dialect::ToolListing;
use crate::protocol::ids::Epoch;
use crate::runtime::addresses::Addresses;
use crate::runtime::environment::Environment;
use crate::runtime::messages::registry::Message;
use crate::runtime::messages::{bridge, session};
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::storage::catalogue_file::{self, CatalogueFile, Unusable};

/// The actor.
pub struct RegistryActor {
    /// The gateway's surroundings.
    pub env: Arc<Environment>,
    /// The other actors.
    pub addresses: Arc<Addresses>,
    /// The editor's link.
    pub link: Arc<Link>,
    /// The editor's tools.
    pub tools: Arc<Tools>,
    /// The project that is wanted.
    pub project: Arc<Project>,
    /// The sessions that hear of the catalogue.
    pub attached: Attached,
    /// Its tasks.
    pub tasks: Tasks,
}

/// What an incarnation keeps.
pub struct State {
    driver: Driver<Registry>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    /// The list from disk that the next `Publish` publishes.
    staged: Option<ToolListing>,
    read: Option<PathBuf>,
}

impl Actor for RegistryActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        self.addresses.registry.fill(me.clone());
        // The link may have been lost while no registry lived: then nothing says that a predecessor's list is live.
        let link_is_down = self.link.view.borrow().epoch.is_none();
        if link_is_down {
            self.tools.published.send_if_modified(|published| {
                let live = published.source == Source::Live;
                if live {
                    published.source = Source::Stale;
                }
                live
            });
        }
        let published = self.tools.published.borrow().source;
        let (driver, _) = Driver::start(Registry { published, ..Registry::default() });
        let timers = Timers::new(me.clone(), Message::Timer);
        Ok(State { driver, timers, me, staged: None, read: None })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let known = self.link.survey.borrow().as_ref().and_then(|survey| survey.project.clone());
        // Of which dialect the list on disk must be is known before the first survey only if there is no choice.
        let named = || {
            let config = self.project.config();
            let project = config.project.as_deref().filter(|_| config.dialects.len() == 1);
            project.and_then(|project| crate::config::named_project(project).ok())
        };
        if let Some(project) = known.or_else(named) {
            self.read_disk(state, project);
        }
        // A predecessor may have gone while the link was up.
        let epoch = self.link.view.borrow().epoch;
        if epoch.is_some() {
            self.feed(state, &Event::LinkReady);
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
                if self.tools.takes_from(epoch) {
                    self.feed(state, &Event::LinkReady);
                }
            }
            Message::LinkLost => self.feed(state, &Event::LinkLost),
            Message::ChangeHinted(_permit) => self.feed(state, &Event::ChangeHinted),
            Message::ListReceived(epoch, _over) => self.received(state, epoch),
            Message::ListFailed(epoch, why, _over) => {
                self.env.events.catalogue_trouble("list_failed", &why);
                if self.tools.takes_from(epoch) {
                    self.feed(state, &Event::ListFailed);
                }
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
    fn received(&self, state: &mut State, epoch: Epoch) {
        if self.tools.takes_from(epoch) {
            self.feed(state, &Event::ListReceived { changed: self.tools.take_changed() });
        }
    }

    fn project_known(&self, state: &mut State, project: Option<PathBuf>) {
        let before = self.tools.is_of(project.clone());
        if before.is_some_and(|before| before != project) {
            state.read = None;
            self.feed(state, &Event::ProjectChanged);
            // It was away from here and is back before its editor was left: that says nothing of it again.
            let epoch = self.link.view.borrow().epoch;
            if epoch.is_some_and(|epoch| self.tools.takes_from(epoch)) {
                self.feed(state, &Event::LinkReady);
            }
        }
        match project {
            Some(project) => self.read_disk(state, project),
            None => self.tools.disk_was_read(),
        }
    }

    fn disk_read(&self, state: &mut State, project: &std::path::Path, read: Result<CatalogueFile, Unusable>) {
        if state.read.as_deref() != Some(project) {
            return;
        }
        let found = match read {
            Ok(file) if self.tools.published.borrow().source == Source::None => {
                state.staged = Some(ToolListing { tools: file.tools, ..ToolListing::default() });
                true
            }
            // What the editor itself said meanwhile is worth more than the file.
            Ok(_) => return self.tools.disk_was_read(),
            Err(Unusable::Missing) => false,
            Err(trouble) => {
                self.env.events.catalogue_trouble("catalogue_file", &format!("{trouble} ({})", project.display()));
                false
            }
        };
        self.feed(state, &Event::DiskRead { found });
        self.tools.disk_was_read();
    }

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.env.events.stepped(&out, before, event);
        for effect in out.effects {
            match effect {
                // Done as soon as the project is known: `read_disk`.
                Effect::ReadDisk => {}
                Effect::RequestList => {
                    self.addresses.bridge.cast(bridge::Message::ListWanted);
                }
                Effect::Publish(source) => self.publish(state, source),
                Effect::Announce => {
                    self.attached.tell(|| session::Message::CatalogueChanged);
                }
                Effect::SaveDisk => self.save_disk(),
                Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
                Effect::Disarm(timer) => state.timers.disarm(timer),
            }
        }
    }

    fn publish(&self, state: &mut State, source: Source) {
        let staged = match source {
            Source::None => Some(ToolListing::default()),
            Source::Disk => state.staged.take(),
            // The connection has published the editor's list.
            Source::Live | Source::Stale => None,
        };
        self.tools.show(source, staged.as_ref());
        let catalogue = Arc::clone(&self.tools.published.borrow().catalogue);
        self.env.events.tools_published(catalogue.entries().iter().map(|entry| entry.name.as_str()));
        self.attached.tell(|| session::Message::CataloguePublished(source));
    }

    fn read_disk(&self, state: &mut State, project: PathBuf) {
        let Some(folder) = self.env.config.state_dir.clone() else { return self.tools.disk_was_read() };
        if state.read.as_ref() == Some(&project) {
            return;
        }
        state.read = Some(project.clone());
        let (env, link, me) = (Arc::clone(&self.env), Arc::clone(&self.link), state.me.clone());
        self.tasks.spawn(async move {
            let (host, dialect) = (Arc::clone(&env.host), link.dialect().name());
            let file = {
                let project = project.clone();
                move || catalogue_file::read(&*host, &folder, &project, dialect)
            };
            if let Some(read) = crate::platform::host::run(&*env.host, file).await {
                let _ = me.cast(Message::DiskRead(project, read));
            }
        });
    }

    fn save_disk(&self) {
        let Some(folder) = self.env.config.state_dir.clone() else { return };
        // The list is that of the editor that is connected, whatever project has been found since.
        let connected = self.link.view.borrow().target.as_ref().and_then(|target| target.project.clone());
        let Some(project) = connected else { return };
        let version = self.link.survey.borrow().as_ref().and_then(|survey| {
            let same = survey.project.as_ref() == Some(&project);
            survey.facts.package_version.clone().filter(|_| same)
        });
        let tools = self.tools.published.borrow().tools.as_ref().clone();
        let file = CatalogueFile::new(&project, self.link.dialect().name(), version, tools);
        let (host, events) = (Arc::clone(&self.env.host), self.env.events.clone());
        // Begun here and not in the task: a session may end right after its list, and the next one wants the file.
        self.tasks.spawn(self.env.host.blocking(Box::new(move || {
            if let Err(error) = catalogue_file::write(&*host, &folder, &file) {
                events.catalogue_trouble("catalogue_write", &error.to_string());
            }
        })));
    }
}
