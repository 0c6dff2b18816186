//! What is shown of the gateway.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::services::Gateway;
use crate::survey::Survey;
use crate::telemetry::events::Sample;

/// What is shown of the gateway.
pub trait Shown: Gateway {
    /// Where it is shown, if anywhere.
    fn metrics_address(&self) -> Option<SocketAddr>;
    /// The folder of its state, if anything is kept on disk.
    fn state_dir(&self) -> Option<PathBuf>;
    /// When it began.
    fn began(&self) -> Instant;
    /// The last look around, and each one that follows.
    fn survey(&self) -> watch::Receiver<Option<Arc<Survey>>>;
    /// What is not counted as it happens, as it is now.
    fn sample(&self) -> Sample;
    /// The status page's data, as they are now.
    fn status(&self) -> Value;
}

/// All numbers as they are now, as Prometheus reads them.
pub fn render(shown: &impl Shown) -> String {
    shown.events().render(|| shown.sample())
}
