//! The interface between the service and the hub.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::client::{Conversation, Posting};
use crate::services::Gateway;

/// What the service needs of the hub.
pub trait Hub: Gateway {
    fn is_ending(&self) -> bool;
    /// Returns the project that a client named in its URL. The URL has the name of an editor, or the project's path.
    ///
    /// # Errors
    /// Why no project is meant, with the fix.
    fn project(self: &Arc<Self>, name: &str) -> impl Future<Output = Result<PathBuf, String>> + Send;
    /// Waits until the hub has looked which of its known projects have a running editor. Does nothing if it has looked
    /// lately.
    fn look_around(self: &Arc<Self>) -> impl Future<Output = ()> + Send;
    /// Returns the input schema of a tool, as it is listed to clients that use this project, or all editors.
    fn schema(&self, project: Option<&Path>, tool: &str) -> Option<Box<RawValue>>;
    /// Serves a message. `None`: too many messages are being served.
    fn serve(&self, posting: Posting) -> Option<Conversation>;
}
