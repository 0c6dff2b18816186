//! What the gateway serves over HTTP, on loopback and only when asked for: `/metrics` and the status page ([`metrics`]), and the
//! services that the documents of TSavo/Unity-MCP name ([`unity_mcp`]), on one server (`http`).
//!
//! They stand beside the tree and not in it: no session depends on them, and what they show is wanted most while the tree is being
//! built again. Each has a keeper that starts it again with a growing delay after a bug of ours, and counts that against nobody's
//! intensity. The listener outlives such an end.
//!
//! They see the gateway through [`Gateway`] and what extends it: snapshots, and calls that go the way of every call. They know no
//! actor.

pub mod http;
mod keeper;
pub mod metrics;
pub mod unity_mcp;

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::net::Net;
use crate::platform::host::Host;
use crate::telemetry::events::Events;

/// What every service stands on.
pub trait Gateway: Send + Sync + 'static {
    /// The network.
    fn net(&self) -> &Arc<dyn Net>;
    /// The machine.
    fn host(&self) -> &Arc<dyn Host>;
    /// What is told and counted.
    fn events(&self) -> &Events;
    /// A random number in 0..1.
    fn random_fraction(&self) -> f64;
    /// Spawns a task whose panic ends the gateway.
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()>;
}
