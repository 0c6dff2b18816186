//! What is known of where the project is.

use std::path::PathBuf;

use crate::core::calls::Wanted;

/// What is known of where the project is.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    pub(super) roots: Vec<PathBuf>,
    /// Counts the changes of the roots: a look around tells with which of them it was made.
    pub(super) generation: u64,
    /// The project is named, and nothing of it is known before the first look.
    pub(super) unseen: bool,
    /// The client was asked for its roots and has not answered.
    pub(super) awaited: bool,
    /// The project that the last look around found, and with which roots.
    pub(super) found: Option<(u64, Option<PathBuf>)>,
}

impl Whereabouts {
    pub(super) fn wanted(&self) -> Wanted {
        match &self.found {
            _ if self.awaited => Wanted::Asked,
            Some((generation, project)) if *generation == self.generation => Wanted::Settled(project.clone()),
            None if self.generation == 0 && !self.unseen => Wanted::default(),
            Some(_) | None => Wanted::Asked,
        }
    }
}
