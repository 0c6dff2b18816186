//! Which project is wanted: what the client's roots and the last look around say of it, and that everybody goes by it at once.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::calls::Calls;
use super::place::Place;
use super::state::Link;
use super::tools::Tools;
use super::whereabouts::Whereabouts;
use crate::config::Config;
use crate::runtime::addresses::Addresses;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{bridge, discovery};
use crate::survey::Survey;

/// See the module's documentation.
#[derive(Debug)]
pub struct Project {
    env: Arc<Environment>,
    addresses: Arc<Addresses>,
    link: Arc<Link>,
    tools: Arc<Tools>,
    calls: Arc<Calls>,
    place: Place,
    whereabouts: Mutex<Whereabouts>,
}

impl Project {
    /// Before anybody named or found one.
    pub fn new(
        env: Arc<Environment>,
        addresses: Arc<Addresses>,
        link: Arc<Link>,
        tools: Arc<Tools>,
        calls: Arc<Calls>,
        place: Place,
    ) -> Self {
        // Until it was looked at, what its rules allow is in question.
        let whereabouts = Whereabouts { unseen: matches!(place, Place::Project(_)), ..Whereabouts::default() };
        calls.decide(|ledger, now| ledger.want(whereabouts.wanted(), now).1);
        Self { env, addresses, link, tools, calls, place, whereabouts: Mutex::new(whereabouts) }
    }

    /// What is looked for, and where.
    pub fn config(&self) -> Cow<'_, Config> {
        match &self.place {
            Place::Roots | Place::Nowhere => Cow::Borrowed(&self.env.config),
            // A port that the user named is one editor's, and nothing tells of which project.
            Place::Project(to) => {
                Cow::Owned(Config { project: Some(to.clone()), ports: Vec::new(), ..self.env.config.clone() })
            }
        }
    }

    /// Whether it is said which project is meant, so that no roots are asked for.
    pub fn is_named(&self) -> bool {
        matches!(self.place, Place::Project(_)) || self.env.config.project.is_some()
    }

    /// The folders that the client named as its roots, and how often they changed.
    pub fn roots(&self) -> (Vec<PathBuf>, u64) {
        let known = enter(&self.whereabouts);
        (known.roots.clone(), known.generation)
    }

    /// The project that was found with the roots of this generation.
    pub fn found_with(&self, generation: u64) -> Option<PathBuf> {
        let found = enter(&self.whereabouts).found.clone();
        found.filter(|(found_with, _)| *found_with == generation).and_then(|(_, project)| project)
    }

    /// The client is asked for its roots: which project is wanted is not known until it answers.
    pub fn roots_asked(&self) {
        self.learn_whereabouts(|known| known.awaited = true);
        self.addresses.discovery.cast(discovery::Message::RootsAsked);
    }

    /// Whether the client was asked for its roots and has not answered.
    pub fn awaits_roots(&self) -> bool {
        enter(&self.whereabouts).awaited
    }

    /// The client named its roots (`None`: it could not). True if they changed.
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

    /// Remembers a look around that was made with these roots. False if the client has named others meanwhile: then it tells nothing.
    pub fn surveyed(&self, survey: &Arc<Survey>, generation: u64) -> bool {
        if enter(&self.whereabouts).generation != generation {
            return false;
        }
        // Before anybody can act on it: the rules of a project are known when its editor is wanted.
        self.tools.keep_rules(survey);
        self.link.survey.send_replace(Some(Arc::clone(survey)));
        // A project that was named and is out of sight (a disk that is not mounted) is still the one that is wanted.
        // So is one that the same roots led to.
        let nothing = survey.project.is_none() && survey.ambiguous.is_empty();
        let stays = survey.failed || self.is_named() && survey.project.is_none();
        self.learn_whereabouts(|known| match &mut known.found {
            Some((found_with, _)) if stays || (nothing && *found_with == generation) => *found_with = generation,
            found => *found = Some((generation, survey.project.clone())),
        });
        true
    }

    /// Learns something, and has calls, the bridge and whoever waits go by it at once.
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
            self.link.view.send_modify(|_| ());
        }
        learned
    }
}
