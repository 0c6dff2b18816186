//! What a session's actor works with.

use std::sync::Arc;

use super::gateway_tools::GatewayTools;
use crate::client::Client;
use crate::link::{Port, Ports};
use crate::runtime::environment::Environment;

/// The parts of a session that outlive its actor, and the links that it may be on.
#[derive(Debug, Clone)]
pub struct Seat {
    pub env: Arc<Environment>,
    pub client: Arc<Client>,
    pub links: Ports,
}

impl Seat {
    /// Returns the link that the session is on now.
    pub fn link(&self) -> Port {
        self.links.of(&self.client)
    }

    /// Returns the gateway tools for the link that the session is on now.
    pub fn tools(&self) -> GatewayTools {
        self.tools_on(&self.link())
    }

    pub fn tools_on(&self, link: &Port) -> GatewayTools {
        GatewayTools {
            env: Arc::clone(&self.env),
            client: Arc::clone(&self.client),
            link: link.clone(),
            links: self.links.clone(),
        }
    }
}
