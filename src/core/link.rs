//! What is known about the editor at the other end of a connection, and about the times without a connection.

mod picture;

use std::time::Duration;

use tokio::time::Instant;

pub use self::picture::{Fact, Picture, RESTING};
use crate::fsm::cause::{Cause, Loss, Return};

/// The editor process and the domain in it that a connection leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditorIdentity {
    /// The process id, from the project's files.
    pub pid: Option<u32>,
    /// The domain's number, from the greeting ([`Met::domain`](crate::protocol::dialect::Met::domain)).
    pub domain: Option<u64>,
}

impl EditorIdentity {
    /// Compares this identity with `now`, the identity after the next greeting. Returns what happened to the editor in between;
    /// `Unknown` if the process or the domain is not known before and after.
    pub fn since(self, now: Self) -> Return {
        match (self.pid.zip(now.pid), self.domain.zip(now.domain)) {
            (Some((before, now)), _) if before != now => Return::OtherProcess,
            (Some(_), Some((before, now))) if before == now => Return::SameDomain,
            (Some(_), Some(_)) => Return::Reloaded,
            _ => Return::Unknown,
        }
    }
}

/// A program on the editor's port that does not answer as an editor. It may be the meant editor itself, while it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPeer {
    /// The port.
    pub port: u16,
    /// What the program is, as far as the bytes that it sent or its process show. `None` if that is unknown.
    pub what: Option<String>,
    /// The program's process, if the operating system names it.
    pub owner: Option<String>,
    /// When the program was recognised as foreign.
    pub since: Instant,
    /// Whether the program is the meant editor, as its process or its project shows; only its answer is missing.
    pub ours: bool,
}

/// A time without a connection, after an editor was connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the connection ended.
    pub at: Instant,
    /// How the connection ended.
    pub loss: Loss,
    /// What kept the editor away, as far as it was found out later: a reload may only be shown by its lock file.
    pub cause: Option<Cause>,
    /// The time until the greeting on the next connection succeeded; `None` until then.
    pub back_after: Option<Duration>,
}
