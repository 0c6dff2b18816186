//! The picture of the link, readable by all parts and by tasks that wait for a change.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::core::link::{Fact, Picture};
use crate::survey::Target;

/// What is known of a link.
pub type LinkPicture = Picture<Target>;

/// The picture and those who watch it. The link's actors [tell](Self::tell) it facts. It outlives them.
#[derive(Debug)]
pub struct SharedPicture(watch::Sender<LinkPicture>);

impl SharedPicture {
    /// The picture before the first survey.
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Picture::new(Instant::now())))
    }

    /// Changes the picture by a fact, and wakes those who watch it if they must look again.
    pub fn tell(&self, fact: Fact<Target>) -> bool {
        let mut fact = Some(fact);
        self.0.send_if_modified(|picture| fact.take().is_some_and(|fact| picture.note(fact, Instant::now())))
    }

    /// Returns the picture. It is locked meanwhile.
    pub fn borrow(&self) -> watch::Ref<'_, LinkPicture> {
        self.0.borrow()
    }

    /// Returns a receiver that waits for the next change.
    pub fn subscribe(&self) -> watch::Receiver<LinkPicture> {
        self.0.subscribe()
    }
}
