//! The discovery actor: the shell around [`fsm::discovery`](crate::fsm::discovery).
//!
//! *Owns* the last survey and the file watch. *Receives* the bridge's request for targets, and file changes.
//! *Sends* offers to the bridge and the project to the registry. *Dies* only of our own bugs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use crate::config::file::PROJECT_FILE;
use crate::core::user_text;
use crate::fsm::Driver;
use crate::fsm::discovery::{Discovery, Effect, Event, Timer};
use crate::limits::DIALECT_CHANGES_AFTER;
use crate::link::Link;
use crate::runtime::messages::discovery::Message;
use crate::runtime::messages::{bridge, registry};
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::survey::{self, Survey};

/// The name, in `Health`, of the problem that a survey hangs.
const HANGS: &str = "survey";

pub struct DiscoveryActor {
    pub of: Arc<Link>,
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Discovery>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    survey: Option<Arc<Survey>>,
    /// The number of the last survey, raised also when a survey is given up. The result of a survey with another number is not
    /// used.
    nth: u64,
    /// The watched project, and the sender whose drop ends the task that watches it.
    watch: Option<(PathBuf, oneshot::Sender<()>)>,
}

impl Actor for DiscoveryActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        let (driver, _) = Driver::start(Discovery::default());
        self.of.env.events.machine_started(driver.machine(), driver.state());
        let timers = Timers::new(me.clone(), Message::Timer);
        Ok(State { driver, timers, me, survey: None, nth: 0, watch: None })
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Told(event) => self.feed(state, &event),
            Message::Surveyed(nth, survey) if nth == state.nth => self.surveyed(state, survey),
            Message::Surveyed(..) => self.feed(state, &Event::HangingEnded),
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    self.feed(state, &Event::Elapsed(timer));
                }
            }
        }
        Ok(())
    }
}

impl DiscoveryActor {
    fn surveyed(&self, state: &mut State, survey: Arc<Survey>) {
        self.of.env.health.set_problem(HANGS, None);
        self.of.project.surveyed(&survey);
        let before = state.survey.replace(Arc::clone(&survey));
        if before.as_ref().map(|before| &before.facts.problems) != Some(&survey.facts.problems) {
            for problem in &survey.facts.problems {
                self.of.env.events.project_problem(problem);
            }
        }
        if !survey.failed {
            self.of.addresses.registry.cast(registry::Message::ProjectKnown(self.of.project.found()));
        }
        self.aim_watch(state);
        self.feed(state, &Event::Surveyed { found: !survey.targets.is_empty() });
    }

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.of.env.events.stepped(&out, before, event);
        for effect in out.effects {
            self.carry_out(state, &effect);
        }
    }

    fn carry_out(&self, state: &mut State, effect: &Effect) {
        match effect {
            Effect::Survey => self.start_survey(state),
            Effect::Offer { news } => {
                if let Some(survey) = &state.survey {
                    self.of.addresses.bridge.cast(bridge::Message::Offered { survey: Arc::clone(survey), news: *news });
                }
            }
            Effect::GiveUp => {
                state.nth += 1;
                self.of.env.health.set_problem(HANGS, Some(user_text::survey_hangs()));
                self.of.tools.disk_was_read();
            }
            Effect::Arm(timer, delay) => state.timers.arm(*timer, *delay),
            Effect::Disarm(timer) => state.timers.disarm(*timer),
        }
    }

    fn start_survey(&self, state: &mut State) {
        state.nth += 1;
        let nth = state.nth;
        if let Some(survey) = self.of.project.take_foretold() {
            let _ = state.me.cast(Message::Surveyed(nth, survey));
            return;
        }
        let (env, project, me) = (Arc::clone(&self.of.env), Arc::clone(&self.of.project), state.me.clone());
        let former = state.survey.as_ref().map(|survey| survey.dialect);
        self.tasks.spawn(async move {
            let look = || {
                let (host, project) = (Arc::clone(&env), Arc::clone(&project));
                move || survey::survey(&*host.host, &project.config(), &[], project.found().as_deref())
            };
            // A survey that panics counts as failed: without a result discovery would wait for ever. The session goes on, and the
            // status reports the failure.
            let survey = async || crate::platform::host::run(&*env.host, look()).await.unwrap_or_else(Survey::failed);
            let mut found = survey().await;
            if former.is_some_and(|former| former != found.dialect) {
                // An editor may write a file anew by which its package is known.
                tokio::time::sleep(DIALECT_CHANGES_AFTER).await;
                found = survey().await;
            }
            let survey = found;
            let _ = me.cast(Message::Surveyed(nth, Arc::new(survey)));
        });
    }

    /// Watches the files of the project that the last survey found.
    fn aim_watch(&self, state: &mut State) {
        let Some(project) = state.survey.as_ref().and_then(|survey| survey.project.clone()) else { return };
        if state.watch.as_ref().is_some_and(|(watched, _)| *watched == project) {
            return;
        }
        // The files of every dialect are watched: a package may be installed meanwhile.
        let named = self.of.env.config.dialects.iter().flat_map(|dialect| dialect.project_files());
        let paths = named.map(|file| file.path).chain([PROJECT_FILE]);
        let files: BTreeSet<PathBuf> = paths.map(|path| project.join(path)).collect();
        let files: Vec<PathBuf> = files.into_iter().collect();
        let (hold, released) = oneshot::channel::<()>();
        let (env, me, root) = (Arc::clone(&self.of.env), state.me.clone(), project.clone());
        self.tasks.spawn(async move {
            let told = || drop(me.cast(Message::Told(Event::FilesChanged)));
            let changes = crate::platform::host::follow(&env.host, &files, told);
            let news = survey::follow_user_files(&env.host, &root, env.config.dialects, told);
            tokio::select! {
                biased;
                _ = released => {}
                _ = futures_util::future::join(changes, news) => {}
            }
        });
        state.watch = Some((project, hold));
    }
}
