//! The journal that an editor with holdfast's own package keeps (`unity/Documentation~/protocol.md`, section 7). It has a state for each
//! attempt to send a call, here called a sending.

use std::collections::BTreeMap;

/// One attempt to send a call: the number of the call, and the number of the attempt.
pub type Sending = (u8, u8);

/// The state of a sending in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// The editor has read the call, but has not begun to run it.
    Queued,
    /// The call runs.
    Running,
    /// The call has ended.
    Done,
    /// The call was running when a reload interrupted it.
    Interrupted,
    /// The call has not run, and never will.
    NotRun,
    /// The editor has no such job any more. Of jobs only.
    Forgotten,
}

/// The journal of one editor process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Journal {
    /// The editor process that keeps the journal. Another process does not know its entries.
    pub process: u8,
    entries: BTreeMap<Sending, Status>,
    /// Calls in sockets that the gateway has closed. The editor may still read them.
    pub late: Vec<Sending>,
}

impl Journal {
    /// Returns the state of a sending; `None` if the journal has no entry for it.
    pub fn find(&self, sending: Sending) -> Option<Status> {
        self.entries.get(&sending).copied()
    }

    /// Returns the first sending of a call that is in this state, if there is one.
    pub fn first(&self, call: u8, status: Status) -> Option<Sending> {
        self.entries.iter().find(|((of, _), is)| *of == call && **is == status).map(|(sending, _)| *sending)
    }

    /// Whether it has a sending of this call that was begun, or may yet be.
    pub fn ran(&self, call: u8) -> bool {
        self.entries.iter().any(|((of, _), status)| *of == call && *status != Status::NotRun)
    }

    /// Reads a sending and queues it. Returns false if the journal already has it; then the call is refused.
    pub fn read(&mut self, sending: Sending) -> bool {
        let fresh = !self.entries.contains_key(&sending);
        if fresh {
            self.entries.insert(sending, Status::Queued);
        }
        fresh
    }

    /// Sets the state of a sending.
    pub fn moves(&mut self, sending: Sending, to: Status) {
        self.entries.insert(sending, to);
    }

    /// Answers a question for the outcome of a sending. If `seals`, a sending that the editor has not read yet can never run
    /// afterwards.
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

    /// Cuts off older connections, as soon as a new connection of the same gateway is proven: calls that had not begun never
    /// run.
    pub fn fence(&mut self) {
        self.late.clear();
        self.each(Status::Queued, Status::NotRun);
    }

    /// The domain unloads: calls that had not begun never run, and running calls are interrupted.
    pub fn reload(&mut self) {
        self.fence();
        self.each(Status::Running, Status::Interrupted);
    }

    /// Answers a question for a job.
    pub fn ask_job(&self, sending: Sending) -> Status {
        self.find(sending).unwrap_or(Status::Forgotten)
    }

    /// The domain unloads, and its jobs are kept: those that ran are interrupted.
    pub fn interrupt(&mut self) {
        self.each(Status::Running, Status::Interrupted);
    }

    /// The editor forgets its jobs: they do not run any more.
    pub fn forget(&mut self) {
        self.entries.clear();
    }

    /// Ends the process; its journal is lost. The next process begins with an empty one.
    pub fn end_process(&mut self) {
        *self = Self { process: self.process + 1, ..Self::default() };
    }

    fn each(&mut self, from: Status, to: Status) {
        self.entries.values_mut().filter(|status| **status == from).for_each(|status| *status = to);
    }
}
