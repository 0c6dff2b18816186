//! The journal of an editor with holdfast's own package (`unity/PROTOCOL.md`, section 7): what became of each sending.

use std::collections::BTreeMap;

/// A sending: the call, and how often it was sent by then.
pub type Sending = (u8, u8);

/// What the journal says of a sending that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Read, and not begun.
    Queued,
    /// Begun.
    Running,
    /// Ended.
    Done,
    /// Begun, and cut by a reload.
    Interrupted,
    /// It has not run and will not.
    NotRun,
}

/// See the module's documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Journal {
    /// The process that keeps it: another one knows nothing of this.
    pub process: u8,
    entries: BTreeMap<Sending, Status>,
    /// Calls in sockets that our side has left: the editor may still read them.
    pub late: Vec<Sending>,
}

impl Journal {
    /// What it says of a sending.
    pub fn find(&self, sending: Sending) -> Option<Status> {
        self.entries.get(&sending).copied()
    }

    /// The first sending of a call in this status.
    pub fn first(&self, call: u8, status: Status) -> Option<Sending> {
        self.entries.iter().find(|((of, _), is)| *of == call && **is == status).map(|(sending, _)| *sending)
    }

    /// A sending is read. False: its id is known, and it is refused.
    pub fn read(&mut self, sending: Sending) -> bool {
        let fresh = !self.entries.contains_key(&sending);
        if fresh {
            self.entries.insert(sending, Status::Queued);
        }
        fresh
    }

    /// A sending comes into another status.
    pub fn moves(&mut self, sending: Sending, to: Status) {
        self.entries.insert(sending, to);
    }

    /// What became of a sending: one that never came is sealed by this question.
    pub fn ask(&mut self, sending: Sending, seals: bool) -> Status {
        match self.find(sending) {
            Some(status) => status,
            None => {
                if seals {
                    self.moves(sending, Status::NotRun);
                }
                Status::NotRun
            }
        }
    }

    /// Another connection of the same gateway is proven.
    pub fn fence(&mut self) {
        self.late.clear();
        self.each(Status::Queued, Status::NotRun);
    }

    /// The domain unloads.
    pub fn reload(&mut self) {
        self.fence();
        self.each(Status::Running, Status::Interrupted);
    }

    /// The process is gone.
    pub fn random_fraction(&mut self) {
        *self = Self { process: self.process + 1, ..Self::default() };
    }

    fn each(&mut self, from: Status, to: Status) {
        self.entries.values_mut().filter(|status| **status == from).for_each(|status| *status = to);
    }
}
