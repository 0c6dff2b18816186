//! The port: what a session and a link say to each other. A session has one AI client, a link has one editor.
//!
//! The messages are the contract. In one process they are carried by direct calls, so that an answer costs no hand-over. Between the
//! processes of a session and of a hub they are carried by lines of JSON ([`messages`]).

pub mod messages;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::calls::Wanted;
use crate::core::editors::Presence;
use crate::core::requests::Asked;
use crate::core::router::Running;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Availability, Cause};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::ToolResult;

/// What a session knows of a link without asking. It changes with the link, and not with a call.
///
/// In one process a session reads the last one. A carrier may let messages overtake each other, or deliver only the
/// last of several. So a session takes the newest one of the process that it speaks with ([`follows`](Self::follows)),
/// and changes that it must not miss are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Rises with each change.
    pub revision: u64,
    pub availability: Availability,
    /// Whether there is no evidence yet for or against an editor.
    pub undecided: bool,
    /// How many connections were greeted so far: an outage that was not seen shows here.
    pub connections: u64,
    /// The editor, if it runs: it is connected, or it was connected and is expected to return, as during a domain
    /// reload. The editor of a link that rests counts as running: the failure is ours, and another editor must not
    /// become the only one by it. `None` also if the connected editor's project is unknown.
    pub running: Option<Running>,
    /// The project that calls are for.
    pub wanted: Wanted,
    /// Whether the current or last connection leads to the editor of that project.
    pub leads_to_the_wanted: bool,
    pub project: Option<PathBuf>,
    /// The projects that fit equally well, if none was found.
    #[serde(default)]
    pub ambiguous: Vec<PathBuf>,
}

impl Seen {
    /// Whether this is newer than `known`.
    pub fn follows(&self, known: &Self) -> bool {
        self.revision > known.revision
    }

    /// Whether the editor is there. It counts as there while the link rests, because that failure is ours.
    pub fn editor(&self) -> Presence {
        match self.availability {
            Availability::Absent(cause) if cause != Cause::Gateway => Presence::Away(cause),
            Availability::Open | Availability::Coming(_) | Availability::Absent(_) => Presence::Open,
        }
    }

    /// Whether there may be an editor whose tools may still come.
    pub fn may_come(&self) -> bool {
        !matches!(self.availability, Availability::Absent(_))
    }

    /// Whether a session that may use several editors must look again, if it knew `before`.
    pub fn matters_after(&self, before: &Self) -> bool {
        let of = |seen: &Self| (seen.running.clone(), seen.editor(), seen.may_come(), seen.undecided);
        of(self) != of(before)
    }
}

/// How a call ended, as the link tells the session that made it. The session puts it into the form that its client takes.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The request, as the session said it with its call.
    pub asked: Asked,
    pub call: CallId,
    /// How the call ended.
    pub verdict: Verdict,
    /// The editor's answer or the verdict in words, not yet in the client's form. An error answers the request as a
    /// JSON-RPC error.
    pub answer: Result<Arc<ToolResult>, RpcError>,
    /// The project that the call was for, if one was known. Results that the client does not take are written to files there.
    pub project: Option<PathBuf>,
    /// Whether the call was sent and an editor said that it did not run.
    pub unrun: bool,
}
