//! Decides which project is wanted, from the client's roots and the last survey, and tells all parts of the link at once.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::time::sleep;

use super::calls::Calls;
use super::place::Place;
use super::state::Link;
use super::tools::Tools;
use super::whereabouts::Whereabouts;
use crate::config::Config;
use crate::core::link::Fact;
use crate::limits::hub::LEFT_CALLS_PAUSES;
use crate::runtime::addresses::Addresses;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{bridge, discovery};
use crate::survey::Survey;

/// The wanted project of one link; see the module's documentation.
#[derive(Debug)]
pub struct Project {
    env: Arc<Environment>,
    addresses: Arc<Addresses>,
    link: Arc<Link>,
    tools: Arc<Tools>,
    calls: Arc<Calls>,
    place: Place,
    whereabouts: Mutex<Whereabouts>,
    /// A survey of this project that was made before the link was opened, and led to it.
    foretold: Mutex<Option<Arc<Survey>>>,
}

impl Project {
    /// Creates the value of a link before its first survey.
    pub fn new(
        env: Arc<Environment>,
        addresses: Arc<Addresses>,
        link: Arc<Link>,
        tools: Arc<Tools>,
        calls: Arc<Calls>,
        place: Place,
    ) -> Self {
        // Before the first survey of a link's own project, its rules for tools are not known, so no call may be sent.
        let whereabouts = Whereabouts { unseen: matches!(place, Place::Project(_)), ..Whereabouts::default() };
        calls.decide(|ledger, now| ledger.want(whereabouts.wanted(), now).1);
        Self {
            env,
            addresses,
            link,
            tools,
            calls,
            place,
            whereabouts: Mutex::new(whereabouts),
            foretold: Mutex::default(),
        }
    }

    /// Returns the configuration that surveys for this link use.
    pub fn config(&self) -> Cow<'_, Config> {
        match &self.place {
            Place::Roots | Place::Nowhere => Cow::Borrowed(&self.env.config),
            // A port that the user named belongs to one editor, of an unknown project.
            Place::Project(to) => {
                Cow::Owned(Config { project: Some(to.clone()), ports: Vec::new(), ..Config::clone(&self.env.config) })
            }
        }
    }

    /// Whether the project is named, by the configuration or by this link's own place. Then the client's roots are not needed.
    pub fn is_named(&self) -> bool {
        matches!(self.place, Place::Project(_)) || self.env.config.project.is_some()
    }

    /// Gives the link its first survey: a session has just made it, and that led here.
    pub fn foretell(&self, survey: Arc<Survey>) {
        *enter(&self.foretold) = Some(survey);
    }

    /// Returns the survey that was made before the link was opened, once, with the generation of the roots.
    pub fn take_foretold(&self) -> Option<(Arc<Survey>, u64)> {
        let survey = enter(&self.foretold).take()?;
        Some((survey, enter(&self.whereabouts).generation))
    }

    /// Returns the client's roots, and their generation: how often they changed.
    pub fn roots(&self) -> (Vec<PathBuf>, u64) {
        let known = enter(&self.whereabouts);
        (known.roots.clone(), known.generation)
    }

    /// Returns the project that the last survey found; `None` if it found none, or had roots of another generation.
    pub fn found_with(&self, generation: u64) -> Option<PathBuf> {
        let found = enter(&self.whereabouts).found.clone();
        found.filter(|(found_with, _)| *found_with == generation).and_then(|(_, project)| project)
    }

    /// Records that the client is asked for its roots: until it answers, it is not known which project is wanted.
    pub fn roots_asked(&self) {
        self.learn_whereabouts(|known| known.awaited = true);
        self.addresses.discovery.cast(discovery::Message::RootsAsked);
    }

    /// Whether the client was asked for its roots and has not answered.
    pub fn awaits_roots(&self) -> bool {
        enter(&self.whereabouts).awaited
    }

    /// Records the client's answer to the request for its roots (`None`: it did not name them). Returns true if the roots
    /// changed.
    pub fn roots_told(&self, roots: Option<Vec<PathBuf>>) -> bool {
        let changed = self.learn_whereabouts(|known| {
            known.awaited = false;
            let changed = roots.is_some_and(|roots| std::mem::replace(&mut known.roots, roots.clone()) != roots);
            known.generation += u64::from(changed);
            changed
        });
        self.addresses.discovery.cast(discovery::Message::RootsKept);
        if changed {
            self.addresses.discovery.cast(discovery::Message::RootsHinted);
        }
        changed
    }

    /// Keeps a survey that was made with the roots of this generation. Returns false, and ignores the survey, if the client has
    /// named other roots since then.
    pub fn surveyed(&self, survey: &Arc<Survey>, generation: u64) -> bool {
        if enter(&self.whereabouts).generation != generation {
            return false;
        }
        // Done first: the rules of a project must be known before calls can be sent to its editor.
        let other_rules = self.tools.keep_rules(survey);
        self.link.survey.send_replace(Some(Arc::clone(survey)));
        if other_rules {
            self.tools.rules_changed();
        }
        // A named project that cannot be found (on a disk that is not mounted) is still the wanted one. So is a project that a
        // survey with the same roots found before.
        let nothing = survey.project.is_none() && survey.ambiguous.is_empty();
        let stays = survey.failed || self.is_named() && survey.project.is_none();
        let is_new = self.learn_whereabouts(|known| match &mut known.found {
            Some((found_with, _)) if stays || (nothing && *found_with == generation) => {
                *found_with = generation;
                false
            }
            found => {
                let before = found.replace((generation, survey.project.clone()));
                before.is_none_or(|(_, before)| before != survey.project)
            }
        });
        if let Some(project) = survey.project.as_deref().filter(|_| is_new) {
            self.env.events.project_found(project);
            self.take_over_left(project);
        }
        true
    }

    /// Takes over what killed gateways left of calls to this project's editor.
    fn take_over_left(&self, project: &Path) {
        if self.env.call_records().is_none() {
            return;
        }
        let (calls, host, project) = (Arc::clone(&self.calls), Arc::clone(&self.env.host), project.to_path_buf());
        self.env.health.spawn("take_over_left", async move {
            for pause in LEFT_CALLS_PAUSES {
                let (calls, project) = (Arc::clone(&calls), project.clone());
                let looked = crate::platform::host::run(&*host, move || calls.take_over_left(&project));
                if looked.await != Some(true) {
                    return;
                }
                sleep(pause).await;
            }
        });
    }

    /// Changes what is known about the wanted project. If that changes which project is wanted, applies it to the ledger, the
    /// bridge and the watchers of the link at once.
    fn learn_whereabouts<T>(&self, learn: impl FnOnce(&mut Whereabouts) -> T) -> T {
        let (learned, (news, settlements)) = {
            let mut known = enter(&self.whereabouts);
            let learned = learn(&mut known);
            let wanted = known.wanted();
            (learned, self.calls.ledger(|ledger, now| ledger.want(wanted, now)))
        };
        self.calls.settle(settlements);
        if news {
            self.addresses.bridge.cast(bridge::Message::ProjectMoved);
            self.link.view.tell(Fact::ProjectMoved);
        }
        learned
    }
}
