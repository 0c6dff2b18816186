//! The picture of the link, readable by all parts and by tasks that wait for a change.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::core::calls::Wanted;
use crate::core::link::{Fact, Picture};
use crate::core::port::Seen;
use crate::core::router::Running;
use crate::fsm::cause::{Availability, Cause};
use crate::survey::Target;

/// What is known of a link.
pub type LinkPicture = Picture<Target>;

/// The picture, and those who watch it. The link's actors [tell](Self::tell) it facts. The picture outlives them.
#[derive(Debug)]
pub struct SharedPicture {
    picture: watch::Sender<LinkPicture>,
    seen: watch::Sender<Seen>,
    /// The revision of what is seen, for those who must hear of every change.
    revision: watch::Sender<u64>,
}

/// Returns the editor of the picture, if it runs ([`Seen::running`]).
fn running(picture: &LinkPicture) -> Option<Running> {
    let returns = picture.connections > 0
        && match picture.availability {
            Availability::Open => false,
            Availability::Coming(_) => true,
            Availability::Absent(cause) => cause == Cause::Gateway,
        };
    let target = picture.target.as_ref().filter(|_| picture.epoch.is_some() || returns)?;
    Some(Running { project: target.project.clone()?, is_known: !target.source.is_named() })
}

impl SharedPicture {
    /// The picture before the first survey.
    pub(super) fn new() -> Self {
        let picture = Picture::new(Instant::now());
        let seen = Seen {
            revision: 0,
            availability: picture.availability,
            undecided: picture.undecided,
            connections: 0,
            running: None,
            wanted: Wanted::default(),
            leads_to_the_wanted: false,
            project: None,
            ambiguous: Vec::new(),
        };
        Self { seen: watch::Sender::new(seen), picture: watch::Sender::new(picture), revision: watch::Sender::new(0) }
    }

    /// Changes the picture by a fact, and wakes those who watch it if they must look again.
    pub fn tell(&self, fact: Fact<Target>) -> bool {
        let mut fact = Some(fact);
        let changed =
            self.picture.send_if_modified(|picture| fact.take().is_some_and(|fact| picture.note(fact, Instant::now())));
        if changed {
            self.publish(|_| {});
        }
        changed
    }

    /// Publishes what is seen of the link: the picture, and what `change` adds. Tasks that wait are woken if the change
    /// matters to them.
    pub(super) fn publish(&self, change: impl FnOnce(&mut Seen)) {
        let mut change = Some(change);
        self.seen.send_if_modified(|seen| {
            let mut now = seen.clone();
            change.take().into_iter().for_each(|change| change(&mut now));
            // The picture is read under the lock of what is seen, so that the last writer has seen the last picture.
            let picture = self.picture.borrow();
            (now.availability, now.undecided, now.connections) =
                (picture.availability, picture.undecided, picture.connections);
            now.running = running(&picture);
            now.leads_to_the_wanted =
                picture.target.as_ref().is_some_and(|target| now.wanted.is(target.project.as_deref()));
            drop(picture);
            if now == *seen {
                return false;
            }
            now.revision += 1;
            self.revision.send_replace(now.revision);
            now.matters_after(&std::mem::replace(seen, now.clone()))
        });
    }

    /// Takes what is seen of a link whose actors are in another process.
    pub(super) fn sighted(&self, seen: Seen) {
        self.picture.send_modify(|picture| {
            (picture.availability, picture.undecided, picture.connections) =
                (seen.availability, seen.undecided, seen.connections);
        });
        let revision = seen.revision;
        self.seen.send_if_modified(|known| seen.matters_after(&std::mem::replace(known, seen.clone())));
        self.revision.send_replace(revision);
    }

    /// Returns the picture. It is locked until the value is dropped.
    pub fn borrow(&self) -> watch::Ref<'_, LinkPicture> {
        self.picture.borrow()
    }

    /// Returns a receiver that waits for the next change.
    pub fn subscribe(&self) -> watch::Receiver<LinkPicture> {
        self.picture.subscribe()
    }

    /// Returns what is seen of the link.
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Returns a receiver that waits until something else is seen of the link.
    pub fn sightings(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// Returns a receiver that waits until anything else is seen of the link.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}
