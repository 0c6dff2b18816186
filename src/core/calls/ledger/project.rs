//! The project that calls are for. A call is sent only to the editor of the project that was wanted when the call arrived, and
//! only while that project is wanted.

use std::path::PathBuf;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::{Settlement, Wanted};
use crate::fsm::call::Event;
use crate::fsm::cause::Cause;
use crate::protocol::ids::{CallId, Epoch};

impl Ledger {
    /// Opens a connection, on which calls may then be claimed. The project of its editor is not known.
    pub fn open_epoch(&mut self, epoch: Epoch) {
        self.open_epoch_of(epoch, None);
    }

    /// Like [`open_epoch`](Ledger::open_epoch), for a connection to the editor of this project.
    pub fn open_epoch_of(&mut self, epoch: Epoch, project: Option<PathBuf>) {
        self.open_epochs.insert(epoch, project);
    }

    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Returns whether the wanted project has changed since the last call of this function.
    pub fn take_wanted_moved(&mut self) -> bool {
        std::mem::take(&mut self.wanted_moved)
    }

    /// Sets the project that calls are for, and returns true if the value is new. Once it is known which project that is: held
    /// calls for another project are refused, since they were not meant for this one; held calls without a project are for this
    /// one from now on; and withheld answers of other projects are sent.
    pub fn want(&mut self, wanted: Wanted, now: Instant) -> (bool, Vec<Settlement>) {
        if self.wanted == wanted {
            return (false, Vec::new());
        }
        self.wanted = wanted;
        self.wanted_moved = true;
        if self.wanted != Wanted::Asked {
            // The absence that was seen may concern another project, so its time starts again.
            self.absent_since = self.absent_since.map(|_| now);
        }
        self.mind_absence();
        let Wanted::Settled(project) = self.wanted.clone() else { return (true, Vec::new()) };
        let elsewhere = |entry: &Entry| entry.call.project.is_some() && entry.call.project != project;
        let refused = Event::Refused(Cause::ProjectChanged);
        let mut out = self.feed_all(now, |entry| (entry.is_held() && elsewhere(entry)).then_some(refused));
        self.entries.change_all(|entry| {
            if entry.is_held() {
                entry.call.project = entry.call.project.take().or_else(|| project.clone());
            }
        });
        // From now on the former project's editor is not observed.
        self.tell_withheld_of(elsewhere, now, &mut out);
        out.extend(self.give_up_elsewhere(now));
        (true, out)
    }

    /// Returns the project that an open call is for. `None` if there is no such call, or if its project is not known.
    pub fn project_of(&self, call: CallId) -> Option<PathBuf> {
        self.entry(call).and_then(|entry| entry.call.project.clone())
    }

    /// Whether a connection leads to the editor of the wanted project.
    pub(super) fn is_wanted(&self, epoch: Epoch) -> bool {
        self.open_epochs.get(&epoch).is_some_and(|project| self.wanted.is(project.as_deref()))
    }
}
