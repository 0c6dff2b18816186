//! What is known of the editor at the other end of a connection, and of the times without it.

use std::time::Duration;

use tokio::time::Instant;

use crate::fsm::cause::{Cause, Loss, Return};

/// Which domain of which process a connection leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorIdentity {
    /// The process, by the project's files.
    pub pid: Option<u32>,
    /// The domain, by the greeting ([`Met::domain`](crate::protocol::dialect::Met::domain)).
    pub domain: Option<u64>,
}

impl EditorIdentity {
    /// What `now` tells of the time since this.
    pub fn since(self, now: Self) -> Return {
        match (self.pid.zip(now.pid), self.domain.zip(now.domain)) {
            (Some((before, now)), _) if before != now => Return::OtherProcess,
            (Some(_), Some((before, now))) if before == now => Return::SameDomain,
            (Some(_), Some(_)) => Return::Reloaded,
            _ => Return::Unknown,
        }
    }
}

/// A program on the editor's port that does not answer as an editor, or the editor itself while it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPeer {
    /// The port.
    pub port: u16,
    /// What it is, as far as its words tell; `None`: it says nothing.
    pub what: Option<String>,
    /// Its process, where the system tells.
    pub owner: Option<String>,
    /// When it was told apart.
    pub since: Instant,
    /// It is the editor that is meant, by its process or its project: only its answer is missing.
    pub ours: bool,
}

/// A time without the editor after it was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the connection ended.
    pub at: Instant,
    /// How it ended.
    pub loss: Loss,
    /// What kept the editor away, as far as it was seen afterwards: a reload may be known only by its lock file.
    pub cause: Option<Cause>,
    /// How long it took until the next connection was greeted.
    pub back_after: Option<Duration>,
}
