//! Looks for evidence that no domain reload follows a compile. With that evidence the answer need not be withheld.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::{ConnectionTask, Surroundings};
use crate::actors::probe;
use crate::limits::RELOAD_SIGNS_AFTER;
use crate::platform::host::Host;
use crate::protocol::dialect::{Recovery, ReloadSigns, WorkStatus};
use crate::protocol::ids::CallId;

impl ConnectionTask {
    /// Returns the signs with the present state of the assemblies; `None` if there is nothing to compare with later.
    pub(super) async fn signs_before(&self, signs: Option<ReloadSigns>) -> Option<(ReloadSigns, u64)> {
        let (signs, project) = signs.zip(self.target.project.clone())?;
        let state = move |host: &dyn Host| assemblies(host, &project.join(signs.assemblies));
        Some((signs, look(&self.with, state).await?))
    }

    /// Adds to a status file what stands for it now. If it cannot be looked at, or tells of work that goes on, it would not show how
    /// another call ends, and nothing is returned.
    pub(super) async fn before_work(&self, recovery: Recovery) -> Recovery {
        let Recovery::StatusFile { path, running, .. } = recovery else { return recovery };
        let (project, dialect) = (self.target.project.clone(), self.target.dialect);
        let of_any = Recovery::StatusFile { path, running, before: 0, of: Vec::new() };
        let state = move |host: &dyn Host| {
            let project = project?;
            let (state, content) = probe::state_of(host, &project.join(path));
            let told = content.and_then(|bytes| dialect.read_status_file(&of_any, &bytes));
            let runs = matches!(told, Some(WorkStatus::Runs { .. }))
                || running.is_some_and(|running| host.exists(&project.join(running)));
            (!runs).then_some(state)
        };
        match (look(&self.with, state).await, recovery) {
            (Some(before), Recovery::StatusFile { path, running, of, .. }) => {
                Recovery::StatusFile { path, running, before, of }
            }
            _ => Recovery::None,
        }
    }

    /// Looks for the signs a moment after the editor has answered a call, and tells the ledger if no reload follows.
    pub(super) fn look_for_reload(&self, call: CallId, signs: Option<(ReloadSigns, u64)>) {
        let Some(((signs, before), project)) = signs.zip(self.target.project.clone()) else { return };
        let with = self.with.clone();
        self.with.env.health.spawn("reload signs", async move {
            tokio::time::sleep(RELOAD_SIGNS_AFTER).await;
            let state = move |host: &dyn Host| {
                let is_busy = signs.busy_files.iter().any(|file| host.exists(&project.join(file)));
                assemblies(host, &project.join(signs.assemblies)).filter(|_| !is_busy)
            };
            if look(&with, state).await == Some(before) {
                with.calls.decide(|ledger, now| ledger.no_reload_follows(call, now));
            }
        });
    }
}

/// Looks at the project's files. `None` also if they cannot be read now.
async fn look(with: &Surroundings, state: impl FnOnce(&dyn Host) -> Option<u64> + Send + 'static) -> Option<u64> {
    let host = Arc::clone(&with.env.host);
    with.read_project(move || state(&*host)).await?
}

/// Returns a number that stands for the names and times of all assemblies in a folder; `None` if there are none, or they cannot be
/// listed.
fn assemblies(host: &dyn Host, folder: &Path) -> Option<u64> {
    let mut files: Vec<(PathBuf, SystemTime)> = host.list(folder).ok()?;
    files.retain(|(path, _)| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("dll")));
    files.sort();
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    (!files.is_empty()).then(|| hasher.finish())
}
