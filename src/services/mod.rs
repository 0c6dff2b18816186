//! The HTTP services of the gateway, which are served only if the user asks for them: `/metrics` and the status page
//! ([`metrics`]), MCP over HTTP ([`mcp`]), and the services that the documents of TSavo/Unity-MCP name ([`companions`]). All use
//! the same HTTP server (`http`).
//!
//! The services are not part of the supervision tree: no session depends on them, and people need them most while the
//! tree restarts. If a service ends by a bug of ours, its keeper restarts it after a growing delay. Such restarts are
//! not limited, and the listener survives them.
//!
//! Services see the gateway through [`Gateway`] and the traits that extend it: snapshots, and calls that take the same path as
//! all other calls. They do not know the actors.

pub mod companions;
pub mod http;
mod keeper;
pub mod mcp;
pub mod metrics;

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::net::Net;
use crate::platform::host::Host;
use crate::telemetry::events::Events;

/// What every service needs of the gateway.
pub trait Gateway: Send + Sync + 'static {
    fn net(&self) -> &Arc<dyn Net>;
    fn host(&self) -> &Arc<dyn Host>;
    fn events(&self) -> &Events;
    /// Returns a random number from 0 to 1, without 1 itself.
    fn random_fraction(&self) -> f64;
    /// Spawns a task whose panic ends the gateway.
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()>;
}
