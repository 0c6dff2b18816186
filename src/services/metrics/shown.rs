//! What the exporter needs of the gateway.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::time::Instant;

use crate::services::Gateway;
use crate::telemetry::events::Sample;

/// What the exporter needs of the gateway.
pub trait Shown: Gateway {
    /// Returns the address at which to serve; `None` if the exporter is off.
    fn metrics_address(&self) -> Option<SocketAddr>;
    /// Returns the folder in which other users can read the records of the exporter; `None` if there is none.
    fn metrics_records(&self) -> Option<PathBuf>;
    /// Records the problem that keeps a record from being written, with its fix; `None` if the record is written.
    fn set_record_problem(&self, part: &'static str, what: Option<String>);
    /// Returns the state folder; `None` if nothing is kept on disk.
    fn state_dir(&self) -> Option<PathBuf>;
    /// Returns the name that a hub took over from its predecessor; `None` in any other gateway.
    fn hub(&self) -> Option<&str>;
    fn began(&self) -> Instant;
    /// Returns the project whose editor the session over stdin and stdout uses; `None` if it is not known, or if there
    /// are several.
    fn project(&self) -> Option<PathBuf>;
    /// Waits until [`project`](Self::project) differs from this one.
    fn project_other_than(&self, known: Option<&Path>) -> impl Future<Output = ()> + Send;
    /// Returns the current values that are not counted by events.
    fn sample(&self) -> Sample;
    fn status(&self) -> Value;
    /// Returns the current state of each session of this process.
    fn sessions(&self) -> Vec<Value>;
}

pub fn render(shown: &impl Shown) -> String {
    shown.events().render(|| shown.sample())
}
