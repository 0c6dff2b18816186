//! The parts of one gateway that outlive its actors, and how they stand on each other.

use std::sync::Arc;

use super::bridge::BridgeActor;
use super::connection::Surroundings;
use super::discovery::DiscoveryActor;
use super::gateway_tools::GatewayTools;
use super::push::PushActor;
use super::registry::RegistryActor;
use super::session::SessionActor;
use crate::client::{Attached, Client, Sessions};
use crate::config::Config;
use crate::link::{Calls, Link, Project, SharedLedger, Tools};
use crate::net::Net;
use crate::platform::host::Host;
use crate::protocol::ids::LinkId;
use crate::runtime::addresses::Addresses;
use crate::runtime::environment::Environment;
use crate::runtime::supervisor::Tasks;

/// The parts of one gateway. Main holds all of them; each actor is given those that it needs.
#[derive(Debug)]
pub struct Parts {
    /// The surroundings.
    pub env: Arc<Environment>,
    /// Where the link's actors are.
    pub addresses: Arc<Addresses>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The client's side of the session over stdin and stdout.
    pub client: Arc<Client>,
    /// The sessions on the link.
    pub attached: Attached,
    /// The editor's link.
    pub link: Arc<Link>,
    /// The editor's tools.
    pub tools: Arc<Tools>,
    /// The calls.
    pub calls: Arc<Calls>,
    /// The project that is wanted.
    pub project: Arc<Project>,
}

impl Parts {
    /// Everything before anything happened.
    pub fn new(config: Config, net: Arc<dyn Net>, host: Arc<dyn Host>) -> Arc<Self> {
        let env = Environment::new(config, net, host);
        let addresses = Arc::<Addresses>::default();
        let (sessions, client) = Sessions::with_stdio(env.events.clone());
        let attached = Attached::to(LinkId::FIRST, Arc::clone(&sessions));
        let ledger = Arc::<SharedLedger>::default();
        let link = Arc::new(Link::new(Arc::clone(&env), Arc::clone(&addresses), Arc::clone(&ledger)));
        let tools = Arc::new(Tools::new(Arc::clone(&env), attached.clone(), Arc::clone(&link)));
        let calls = Arc::new(Calls::new(
            Arc::clone(&env),
            Arc::clone(&addresses),
            attached.clone(),
            ledger,
            Arc::clone(&link),
            Arc::clone(&tools),
        ));
        let project = Arc::new(Project::new(
            Arc::clone(&env),
            Arc::clone(&addresses),
            Arc::clone(&link),
            Arc::clone(&tools),
            Arc::clone(&calls),
        ));
        Arc::new(Self { env, addresses, sessions, attached, client, link, tools, calls, project })
    }

    /// A discovery actor.
    pub fn discovery(&self, tasks: Tasks) -> DiscoveryActor {
        DiscoveryActor {
            env: Arc::clone(&self.env),
            addresses: Arc::clone(&self.addresses),
            link: Arc::clone(&self.link),
            tools: Arc::clone(&self.tools),
            project: Arc::clone(&self.project),
            attached: self.attached.clone(),
            tasks,
        }
    }

    /// A bridge actor.
    pub fn bridge(&self, tasks: Tasks) -> BridgeActor {
        let with = Surroundings {
            env: Arc::clone(&self.env),
            addresses: Arc::clone(&self.addresses),
            attached: self.attached.clone(),
            link: Arc::clone(&self.link),
            tools: Arc::clone(&self.tools),
            calls: Arc::clone(&self.calls),
        };
        BridgeActor { with, tasks }
    }

    /// A push actor.
    pub fn push(&self, tasks: Tasks) -> PushActor {
        PushActor {
            env: Arc::clone(&self.env),
            addresses: Arc::clone(&self.addresses),
            link: Arc::clone(&self.link),
            tasks,
        }
    }

    /// A registry actor.
    pub fn registry(&self, tasks: Tasks) -> RegistryActor {
        RegistryActor {
            env: Arc::clone(&self.env),
            addresses: Arc::clone(&self.addresses),
            link: Arc::clone(&self.link),
            tools: Arc::clone(&self.tools),
            attached: self.attached.clone(),
            tasks,
        }
    }

    /// A session actor.
    pub fn session(&self, tasks: Tasks) -> SessionActor {
        SessionActor {
            with: self.gateway_tools(),
            addresses: Arc::clone(&self.addresses),
            project: Arc::clone(&self.project),
            tasks,
        }
    }

    /// What the gateway's own tools look at.
    pub fn gateway_tools(&self) -> GatewayTools {
        GatewayTools {
            env: Arc::clone(&self.env),
            client: Arc::clone(&self.client),
            link: Arc::clone(&self.link),
            tools: Arc::clone(&self.tools),
            calls: Arc::clone(&self.calls),
        }
    }
}
