//! One link: all its parts that outlive its actors.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::calls::Calls;
use super::contact::Contact;
use super::hub::HubPort;
use super::ledger::SharedLedger;
use super::project::{Destination, Project};
use super::remote::Remote;
use super::tools::Tools;
use crate::client::{Attached, Sessions};
use crate::core::link::Fact;
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::protocol::ids::LinkId;
use crate::protocol::policy::Policy;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{Addresses, session};

/// One link. Its parts outlive its actors. Each actor gets the parts that it needs.
#[derive(Debug)]
pub struct Link {
    pub id: LinkId,
    /// Where the link leads.
    pub destination: Destination,
    pub env: Arc<Environment>,
    pub addresses: Arc<Addresses>,
    pub attached: Attached,
    /// The connection to the editor, and the last survey.
    pub contact: Arc<Contact>,
    pub tools: Arc<Tools>,
    pub calls: Arc<Calls>,
    pub project: Arc<Project>,
    /// Whether the only session has left the link for another one.
    pub left: watch::Sender<bool>,
    /// What the process of a session has of the link, if a hub has the link.
    pub(super) remote: Option<Remote>,
    /// The digest of the published tools and rules, as the hub told it.
    pub(super) digest: Mutex<String>,
}

impl Link {
    /// Creates a new link, without actors. `hub`: the hub that has its actors, if one has.
    pub fn new(
        env: Arc<Environment>,
        sessions: &Arc<Sessions>,
        id: LinkId,
        destination: Destination,
        hub: Option<Arc<HubPort>>,
    ) -> Arc<Self> {
        let addresses = Arc::<Addresses>::default();
        let attached = Attached::to(id, Arc::clone(sessions));
        let ledger = Arc::<SharedLedger>::default();
        let contact = Arc::new(Contact::new(Arc::clone(&env), Arc::clone(&addresses), Arc::clone(&ledger)));
        let tools = Arc::new(Tools::new(Arc::clone(&env), attached.clone(), Arc::clone(&contact)));
        tools.decided_by_hub(hub.as_ref().map(|_| Policy::default()));
        let calls = Arc::new(Calls::new(
            Arc::clone(&env),
            Arc::clone(&addresses),
            attached.clone(),
            ledger,
            Arc::clone(&contact),
            Arc::clone(&tools),
        ));
        let project = Arc::new(Project::new(
            Arc::clone(&env),
            Arc::clone(&addresses),
            Arc::clone(&contact),
            Arc::clone(&tools),
            Arc::clone(&calls),
            destination.clone(),
        ));
        Arc::new(Self {
            id,
            destination,
            env,
            addresses,
            attached,
            contact,
            tools,
            calls,
            project,
            left: watch::Sender::new(false),
            remote: hub.map(Remote::of),
            digest: Mutex::default(),
        })
    }

    /// Lets the connection go, because its actors have ended: claimed calls may have run, and the tool list is not live any more.
    pub fn let_go(&self, loss: Loss) {
        self.calls.close_epochs(loss);
        self.contact.set_exchange(None);
        self.tools.link_ended();
    }

    /// Lets the link rest, because its actors failed too often: held calls are answered, and everybody is told.
    pub fn rests(&self) {
        self.let_go(Loss::Gateway);
        let cause = Cause::Gateway;
        let availability = Availability::Absent(cause);
        self.contact.view.tell(Fact::Rests);
        self.env.events.availability_changed(availability);
        self.calls.decide(|ledger, now| {
            let mut settlements = ledger.set_availability(availability, now);
            settlements.extend(ledger.refuse_held(cause, now));
            settlements
        });
        self.attached.tell(|| session::Message::LinkChanged);
    }
}
