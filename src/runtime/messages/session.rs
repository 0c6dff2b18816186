//! The messages that the session actor receives.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::core::requests::{Asked, Hold};
use crate::fsm::routing;
use crate::fsm::session::Timer;
use crate::protocol::dialect::PackageTool;
use crate::protocol::ids::LinkId;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::stateless::Requester;
use crate::runtime::slot::Permit;
use crate::survey::Survey;

/// A message of the client. From here on a request is identified by its key, not by its id.
#[derive(Debug)]
pub enum Delivered {
    Request {
        hold: Hold,
        /// The request's id, as the client wrote it.
        id: RequestId,
        /// The requester, for a request of the stateless era.
        requester: Option<Arc<Requester>>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// A response to a request of ours.
    Response {
        /// The id of our request.
        id: Option<RequestId>,
        /// The result; `None` if the client answered with an error.
        result: Option<Box<RawValue>>,
    },
}

impl Delivered {
    /// Returns the request's hold; `None` if this is not a request.
    pub fn request(&self) -> Option<&Hold> {
        match self {
            Self::Request { hold, .. } => Some(hold),
            Self::Notification { .. } | Self::Response { .. } => None,
        }
    }
}

#[derive(Debug)]
pub enum Message {
    /// A request, notification or response of the client.
    Delivered(Delivered, Option<Permit>),
    /// On the session's link a catalogue was published, or looked for on disk. Or an editor has become more or less
    /// likely.
    LinkChanged,
    CatalogueChanged,
    /// The survey of where the client works has ended. The number is the generation in which it began.
    LookedAround(u64, Arc<Survey>),
    /// An editor of this process began or ended, or has other tools.
    EditorsChanged,
    /// The hub has answered the question of how its links stand, or does not answer. The value is the number of the
    /// question.
    Asked(u64),
    /// Something other than a request of the client needs the editor that this session means.
    EditorWanted,
    /// The tool of a call that was held on this link turned out to be a package tool.
    PackageToolCalled(LinkId, Asked, PackageTool, Arc<RawValue>),
    /// stdin ended. Main waits until the permit is released, and by then the waiting `tools/list` requests are
    /// answered.
    InputEnded(Option<Permit>),
    /// A timer may be due.
    Timer(Timer),
    /// A timer of routing may be due.
    RoutingTimer(routing::Timer),
}
