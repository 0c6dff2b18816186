//! What the session receives.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::core::requests::{Asked, Hold};
use crate::fsm::registry::Source;
use crate::fsm::session::{Likelihood, Timer};
use crate::protocol::dialect::PackageTool;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::stateless::Caller;
use crate::runtime::mailbox::Permit;
use crate::survey::Survey;

/// What the client said. A request is known by its key from here on, not by its id.
#[derive(Debug)]
pub enum Delivered {
    /// It wants an answer.
    Request {
        /// This opening of it, and in whose hands it is.
        hold: Hold,
        /// Its id, as the client wrote it.
        id: RequestId,
        /// Who asks, for a request of the stateless era.
        caller: Option<Arc<Caller>>,
        /// The method's name.
        method: String,
        /// Its parameters.
        params: Option<Box<RawValue>>,
    },
    /// It says something.
    Notification {
        /// The method's name.
        method: String,
        /// Its parameters.
        params: Option<Box<RawValue>>,
    },
    /// It answers a request of ours.
    Response {
        /// Which one.
        id: Option<RequestId>,
        /// The result; an error has none.
        result: Option<Box<RawValue>>,
    },
}

impl Delivered {
    /// The request, if it is one.
    pub fn request(&self) -> Option<&Hold> {
        match self {
            Self::Request { hold, .. } => Some(hold),
            Self::Notification { .. } | Self::Response { .. } => None,
        }
    }
}

/// What the session receives.
#[derive(Debug)]
pub enum Message {
    /// A request, notification or response of the client.
    Delivered(Delivered, Option<Permit>),
    /// The registry published a catalogue.
    CataloguePublished(Source),
    /// The catalogue changed by content.
    CatalogueChanged,
    /// The catalogue on disk was read, or there is none to read.
    DiskRead,
    /// How likely an editor is.
    LikelihoodChanged(Likelihood),
    /// The client did not say its roots in time.
    RootsForgone,
    /// The same, of a session that is routed: asked with this generation.
    RootsOverdue(u64),
    /// What the client says of its project was looked up, as it was in this generation.
    LookedAround(u64, Arc<Survey>),
    /// The link that it was on is gone.
    LinkGone,
    /// A call that was held turned out to be one of a tool that its package's own server answered.
    PackageToolCalled(Asked, PackageTool, Arc<RawValue>),
    /// stdin ended. The permit tells main when the lists that waited are answered.
    InputEnded(Option<Permit>),
    /// The gateway stops.
    Stop,
    /// Nothing that was sent is unanswered any more.
    CallsSettled,
    /// A timer may be due.
    Timer(Timer),
}
