//! What a session's actor works with.

use std::sync::Arc;

use super::gateway_tools::GatewayTools;
use crate::client::Client;
use crate::link::{LinkParts, Links};
use crate::runtime::environment::Environment;

/// What of a session outlives its actor, and the links that it may be on.
#[derive(Debug, Clone)]
pub struct Seat {
    /// The gateway's surroundings.
    pub env: Arc<Environment>,
    /// The client's side of it.
    pub client: Arc<Client>,
    /// The links.
    pub links: Arc<Links>,
}

impl Seat {
    /// The link that it is on.
    pub fn link(&self) -> Arc<LinkParts> {
        self.links.of(&self.client)
    }

    /// The gateway's own tools, which look at the link that it is on.
    pub fn tools(&self) -> GatewayTools {
        let LinkParts { link, tools, calls, .. } = &*self.link();
        GatewayTools {
            env: Arc::clone(&self.env),
            client: Arc::clone(&self.client),
            link: Arc::clone(link),
            tools: Arc::clone(tools),
            calls: Arc::clone(calls),
        }
    }
}
