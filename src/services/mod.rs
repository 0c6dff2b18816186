//! The HTTP services of the gateway, on loopback and only if asked for: `/metrics` and the status page ([`metrics`]), and the
//! services that the documents of TSavo/Unity-MCP name ([`unity_mcp`]). All use one server (`http`).
//!
//! The services are not part of the supervision tree: no session depends on them, and what they show is needed most while the
//! tree restarts. After a bug of ours, a keeper restarts its service with a growing delay, which counts towards no restart limit.
//! The listener survives such a restart.
//!
//! Services see the gateway through [`Gateway`] and the traits that extend it: snapshots, and calls that take the path of every
//! call. They know no actors.

pub mod http;
mod keeper;
pub mod metrics;
pub mod unity_mcp;

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::net::Net;
use crate::platform::host::Host;
use crate::telemetry::events::Events;

/// What every service needs of the gateway.
pub trait Gateway: Send + Sync + 'static {
    /// The network.
    fn net(&self) -> &Arc<dyn Net>;
    /// The machine.
    fn host(&self) -> &Arc<dyn Host>;
    /// The log lines and metrics.
    fn events(&self) -> &Events;
    /// A random number from 0 to 1, without 1.
    fn random_fraction(&self) -> f64;
    /// Spawns a task whose panic ends the gateway.
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()>;
}
