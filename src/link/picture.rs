//! The picture of the link, readable by all parts and by tasks that wait for a change.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::core::editors::Presence;
use crate::core::link::{Fact, Picture};
use crate::core::router::Running;
use crate::fsm::cause::{Availability, Cause};
use crate::survey::Target;

/// What is known of a link.
pub type LinkPicture = Picture<Target>;

/// What sessions that may use several editors must know of a link. It changes with the link, and not with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The editor, if it runs: it is connected, or it was connected and is expected to return, as during a domain reload. While the
    /// link rests, the failure is ours, and must not leave another editor as the only one. `None` also if the connected editor's
    /// project is unknown.
    pub running: Option<Running>,
    /// Whether the editor is there.
    pub editor: Presence,
    /// Whether there may be an editor whose tools may still come.
    pub may_come: bool,
    /// Whether there is no evidence yet for or against an editor.
    pub undecided: bool,
}

impl Seen {
    fn of(picture: &LinkPicture) -> Self {
        let (absent, by_us) = match picture.availability {
            Availability::Open | Availability::Coming(_) => (None, false),
            Availability::Absent(cause) => (Some(cause), cause == Cause::Gateway),
        };
        let returns =
            picture.connections > 0 && picture.availability != Availability::Open && (absent.is_none() || by_us);
        let target = picture.target.as_ref().filter(|_| picture.epoch.is_some() || returns);
        let running =
            |target: &Target| Some(Running { project: target.project.clone()?, is_known: !target.source.is_named() });
        Self {
            running: target.and_then(running),
            editor: absent.filter(|_| !by_us).map_or(Presence::Open, Presence::Away),
            may_come: absent.is_none(),
            undecided: picture.undecided,
        }
    }
}

/// The picture and those who watch it. The link's actors [tell](Self::tell) it facts. It outlives them.
#[derive(Debug)]
pub struct SharedPicture {
    picture: watch::Sender<LinkPicture>,
    seen: watch::Sender<Seen>,
}

impl SharedPicture {
    /// The picture before the first survey.
    pub(super) fn new() -> Self {
        let picture = Picture::new(Instant::now());
        Self { seen: watch::Sender::new(Seen::of(&picture)), picture: watch::Sender::new(picture) }
    }

    /// Changes the picture by a fact, and wakes those who watch it if they must look again.
    pub fn tell(&self, fact: Fact<Target>) -> bool {
        let mut fact = Some(fact);
        let changed =
            self.picture.send_if_modified(|picture| fact.take().is_some_and(|fact| picture.note(fact, Instant::now())));
        if changed {
            // Read under the lock of what is seen: whoever comes last has seen the last picture.
            self.seen.send_if_modified(|seen| {
                let now = Seen::of(&self.picture.borrow());
                *seen != now && {
                    *seen = now;
                    true
                }
            });
        }
        changed
    }

    /// Returns the picture. It is locked meanwhile.
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
}
