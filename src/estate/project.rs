//! Which project is wanted: what the client's roots and the last look around say of it, and that everybody goes by it at once.

use std::path::PathBuf;
use std::sync::Arc;

use super::whereabouts::Whereabouts;
use super::{Estate, LinkView, enter};
use crate::core::calls::Wanted;
use crate::fsm::cause::{Cause, Outlook};
use crate::runtime::messages::{bridge, discovery};
use crate::survey::{Survey, Target};

impl Estate {
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
    pub fn roots_asked(self: &Arc<Self>) {
        self.learn_whereabouts(|known| known.awaited = true);
        self.addresses.discovery.cast(discovery::Message::RootsAsked);
    }

    /// Whether the connection that stands leads to the editor of the project that is wanted.
    pub fn is_linked_to_the_wanted(&self) -> bool {
        let link = self.link.borrow();
        link.target
            .as_ref()
            .is_some_and(|target| self.ledger(|ledger, _| ledger.wanted().is(target.project.as_deref())))
    }

    /// Whether the client was asked for its roots and has not answered.
    pub fn awaits_roots(&self) -> bool {
        enter(&self.whereabouts).awaited
    }

    /// The client named its roots (`None`: it could not). True if they changed.
    pub fn roots_told(self: &Arc<Self>, roots: Option<Vec<PathBuf>>) -> bool {
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
    pub fn surveyed(self: &Arc<Self>, survey: &Arc<Survey>, generation: u64) -> bool {
        if enter(&self.whereabouts).generation != generation {
            return false;
        }
        // Before anybody can act on it: the rules of a project are known when its editor is wanted.
        self.keep_rules(survey);
        self.survey.send_replace(Some(Arc::clone(survey)));
        // A project that was named and is out of sight (a disk that is not mounted) is still the one that is wanted.
        // So is one that the same roots led to.
        let nothing = survey.project.is_none() && survey.ambiguous.is_empty();
        let stays = survey.failed || self.config.project.is_some() && survey.project.is_none();
        self.learn_whereabouts(|known| match &mut known.found {
            Some((found_with, _)) if stays || (nothing && *found_with == generation) => *found_with = generation,
            found => *found = Some((generation, survey.project.clone())),
        });
        true
    }

    /// Learns something, and has calls, the bridge and whoever waits go by it at once.
    fn learn_whereabouts<T>(self: &Arc<Self>, learn: impl FnOnce(&mut Whereabouts) -> T) -> T {
        let (learned, (news, settlements)) = {
            let mut known = enter(&self.whereabouts);
            let learned = learn(&mut known);
            let wanted = known.wanted();
            (learned, self.ledger(|ledger, now| ledger.want(wanted, now)))
        };
        self.settle(settlements);
        if news {
            self.addresses.bridge.cast(bridge::Message::ProjectMoved);
            self.link.send_modify(|_| ());
        }
        learned
    }

    /// The project that calls are for.
    pub fn wanted(&self) -> Wanted {
        self.ledger(|ledger, _| ledger.wanted().clone())
    }

    /// The last look around, unless the client's roots are in question since.
    pub fn survey_now(&self) -> Option<Arc<Survey>> {
        let survey = self.survey.borrow().clone();
        survey.filter(|_| self.wanted() != Wanted::Asked)
    }

    /// Whom the link is (or was last) connected to, if that is the editor of the project that is wanted.
    pub fn target(&self) -> Option<Target> {
        let target = self.link.borrow().target.clone();
        target.filter(|target| self.wanted().is(target.project.as_deref()))
    }

    /// The link as it is for the project that is wanted: of another one's editor nothing is told.
    pub fn link_now(&self) -> LinkView {
        let link = self.link.borrow().clone();
        let wanted = self.wanted();
        let is_wanted = link.target.as_ref().is_none_or(|target| wanted.is(target.project.as_deref()));
        if is_wanted && wanted != Wanted::Asked {
            return link;
        }
        let outlook = match link.outlook {
            Outlook::Absent(Cause::ShuttingDown) => link.outlook,
            known if wanted != Wanted::Asked && known != Outlook::Open => known,
            _ => Outlook::Coming(Cause::ProjectUnsettled),
        };
        LinkView { outlook, target: None, stranger: None, pulse: None, ..link }
    }
}
