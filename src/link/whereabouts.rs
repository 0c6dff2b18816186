//! What is known about where the wanted project is.

use std::path::PathBuf;

use crate::core::calls::Wanted;

/// What is known about where the wanted project is.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    pub(super) roots: Vec<PathBuf>,
    /// How often the roots changed. A survey carries the generation of the roots that it was made with.
    pub(super) generation: u64,
    /// The link leads to one project, which was not surveyed yet.
    pub(super) unseen: bool,
    /// The client was asked for its roots and has not answered.
    pub(super) awaited: bool,
    /// The project that the last survey found, if any, with the generation of the roots that the survey was made with.
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
