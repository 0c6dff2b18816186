//! The port: what a session and a link say to each other. A session has one AI client, a link has one editor.
//!
//! The messages are the contract. In one process they are carried by direct calls, so that an answer costs no hand-over.

use std::path::PathBuf;
use std::sync::Arc;

use crate::core::requests::Asked;
use crate::fsm::call::Verdict;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::ToolResult;

/// How a call ended, as the link tells the session that made it. The session puts it into the form that its client takes.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The request, as the session said it with its call.
    pub asked: Asked,
    /// The call.
    pub call: CallId,
    /// How the call ended.
    pub verdict: Verdict,
    /// The editor's answer or the verdict in words, not yet in the client's form. An error answers the request as such.
    pub answer: Result<Arc<ToolResult>, RpcError>,
    /// The project that the call was for, if one was known. Results that the client does not take are written to files there.
    pub project: Option<PathBuf>,
}
