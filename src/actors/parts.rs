//! The parts of one gateway that outlive its actors.

use std::sync::Arc;

use super::seat::Seat;
use crate::client::{Client, Sessions};
use crate::config::Config;
use crate::link::{Link, Links, Ports};
use crate::net::Net;
use crate::platform::host::Host;
use crate::protocol::ids::SessionId;
use crate::runtime::environment::Environment;

/// The parts of one gateway, held by main.
#[derive(Debug)]
pub struct Parts {
    pub env: Arc<Environment>,
    pub links: Arc<Links>,
    pub sessions: Arc<Sessions>,
    /// The client over stdin and stdout.
    pub client: Arc<Client>,
}

impl Parts {
    /// Creates all parts, before any actor starts.
    pub fn new(config: Config, net: Arc<dyn Net>, host: Arc<dyn Host>) -> Arc<Self> {
        Self::of(Environment::new(config, net, host))
    }

    /// Creates all parts of a gateway with this environment, before any actor starts.
    pub fn of(env: Arc<Environment>) -> Arc<Self> {
        let (sessions, client) = Sessions::with_stdio(Arc::clone(&env.config), env.events.clone());
        let links = Arc::new(Links::with_first(Arc::clone(&env), Arc::clone(&sessions)));
        Arc::new(Self { env, links, sessions, client })
    }

    /// Returns the seat of a client's session: what the session's actor works with.
    pub fn seat(&self, client: &Arc<Client>) -> Seat {
        Seat { env: self.env_of(client.id), client: Arc::clone(client), links: Ports::of_all(Arc::clone(&self.links)) }
    }

    /// Returns the environment of a session, with that session's id in its log lines. The session over stdin and stdout has the
    /// gateway's environment itself.
    pub fn env_of(&self, session: SessionId) -> Arc<Environment> {
        if session == SessionId::STDIO { Arc::clone(&self.env) } else { self.env.of_session(session) }
    }

    /// Returns the link that the client over stdin and stdout is on now.
    pub fn link(&self) -> Arc<Link> {
        self.links.of(&self.client)
    }
}
