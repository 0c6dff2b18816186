//! What the exporter needs of the gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::services::Gateway;
use crate::survey::Survey;
use crate::telemetry::events::Sample;

/// What the exporter needs of the gateway.
pub trait Shown: Gateway {
    /// The address to serve at; `None`: the exporter is off.
    fn metrics_address(&self) -> Option<SocketAddr>;
    /// The state folder; `None`: nothing is kept on disk.
    fn state_dir(&self) -> Option<PathBuf>;
    /// The start time of the gateway.
    fn began(&self) -> Instant;
    /// The last survey, and each later one.
    fn survey(&self) -> watch::Receiver<Option<Arc<Survey>>>;
    /// The present values of what is not counted by events.
    fn sample(&self) -> Sample;
    /// The present data of the status page.
    fn status(&self) -> Value;
}

/// Renders all metrics in the text format of Prometheus.
pub fn render(shown: &impl Shown) -> String {
    shown.events().render(|| shown.sample())
}
