//! The connection to the editor and the last survey, readable by all parts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::exchange::SharedExchange;
use super::ledger::SharedLedger;
use super::picture::{LinkPicture, SharedPicture};
use crate::core::calls::Wanted;
use crate::core::link::Fact;
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::limits::PUSH_BIND_MAX;
use crate::net::Listener;
use crate::protocol::dialect::{self, Dialect, Secret};
use crate::protocol::ids::Epoch;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{Addresses, bridge};
use crate::survey::{Survey, Target};

/// The contact of one link with its editor; see the module's documentation.
pub struct Contact {
    /// The connection, and what callers may expect of it.
    pub view: SharedPicture,
    pub survey: watch::Sender<Option<Arc<Survey>>>,
    /// The permit of the link's only connection: taken before a dial, released with the socket.
    pub connection: Arc<Semaphore>,
    /// The permit to read an editor's identity again. There is only one, so that a network share that hangs blocks one thread,
    /// and not one thread for each dial.
    pub identity_read: Arc<Semaphore>,
    /// The secret that an editor must send to the push listener, if its dialect can.
    pub push_token: Secret,
    env: Arc<Environment>,
    addresses: Arc<Addresses>,
    ledger: Arc<SharedLedger>,
    push_listener: Mutex<Option<Arc<dyn Listener>>>,
    /// The port of the push listener. The inner `None`: there is no listener. The outer `None`: that is not known yet.
    push_port: watch::Sender<Option<Option<u16>>>,
    epochs: AtomicU64,
    wire_numbers: AtomicU64,
    is_wanted: AtomicBool,
    exchange: Mutex<Option<Arc<SharedExchange>>>,
}

impl std::fmt::Debug for Contact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contact").field("view", &*self.view.borrow()).finish_non_exhaustive()
    }
}

impl Contact {
    /// Creates the contact of a link before its first survey.
    pub fn new(env: Arc<Environment>, addresses: Arc<Addresses>, ledger: Arc<SharedLedger>) -> Self {
        let is_pushed = env.config.is_pushed();
        Self {
            view: SharedPicture::new(),
            survey: watch::Sender::new(None),
            connection: Arc::new(Semaphore::new(1)),
            identity_read: Arc::new(Semaphore::new(1)),
            push_token: Secret::new(env.fresh()),
            env,
            addresses,
            ledger,
            push_listener: Mutex::default(),
            push_port: watch::Sender::new((!is_pushed).then_some(None)),
            epochs: AtomicU64::new(0),
            wire_numbers: AtomicU64::new(0),
            is_wanted: AtomicBool::new(false),
            exchange: Mutex::default(),
        }
    }

    /// Records that the editor is wanted, and tells the bridge once. A restarted bridge reads the record and dials by itself.
    pub fn want_editor(&self) {
        if !self.is_wanted.swap(true, Ordering::Relaxed) {
            self.addresses.bridge.cast(bridge::Message::Told(bridge::Event::Wanted));
        }
    }

    /// Whether the editor is wanted.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// The epoch of the next connection.
    pub fn next_epoch(&self) -> Epoch {
        Epoch(self.epochs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The number of the next message to the editor.
    pub fn next_wire_number(&self) -> u64 {
        self.wire_numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the dialect of the wanted project's editor if it is or was connected; otherwise the dialect that the last survey
    /// found; otherwise the configuration's fallback.
    pub fn dialect(&self) -> &'static dyn Dialect {
        let connected = self.target().map(|target| target.dialect);
        let found = || self.survey.borrow().as_ref().map(|survey| survey.dialect);
        connected.or_else(found).unwrap_or_else(|| dialect::fallback(self.env.config.dialects))
    }

    /// Returns the package that connects the editor, for people. `None` if none was met and the project's files name none, or several.
    pub fn package(&self) -> Option<Value> {
        let survey = self.survey_now();
        let is_found = survey.as_ref().is_some_and(|survey| survey.facts.installed && survey.packages.is_empty());
        let version = survey.as_ref().and_then(|survey| survey.facts.package_version.clone());
        let is_known = is_found || self.target().is_some();
        is_known.then(|| json!({"dialect": self.dialect().name(), "version": version}))
    }

    /// Returns the push listener, which outlives the push actor.
    pub fn push_listener(&self) -> Option<Arc<dyn Listener>> {
        enter(&self.push_listener).clone()
    }

    /// Keeps (or drops) the push listener.
    pub fn keep_push_listener(&self, listener: Option<Arc<dyn Listener>>) {
        *enter(&self.push_listener) = listener;
    }

    /// Returns the port of the push listener that greetings tell the editor.
    pub fn push_port(&self) -> Option<u16> {
        self.push_port.borrow().flatten()
    }

    /// Like [`push_port`](Self::push_port). Waits for it at most [`PUSH_BIND_MAX`] if the link has just begun.
    pub async fn push_port_soon(&self) -> Option<u16> {
        let mut port = self.push_port.subscribe();
        let _ = timeout(PUSH_BIND_MAX, port.wait_for(Option::is_some)).await;
        self.push_port()
    }

    /// Sets the port of the push listener that greetings tell the editor.
    pub fn set_push_port(&self, port: Option<u16>) {
        self.push_port.send_replace(Some(port));
    }

    /// Records that the greeted connection has ended, and why. Does nothing if there is none: the first caller's reason is kept.
    pub fn lost(&self, loss: Loss) {
        let epoch = self.view.borrow().epoch;
        if self.view.tell(Fact::Lost(loss))
            && let Some(epoch) = epoch
        {
            self.env.events.link_down(epoch, loss);
        }
    }

    /// The exchange of the connection that is up; `None` if none is.
    pub fn exchange(&self) -> Option<Arc<SharedExchange>> {
        enter(&self.exchange).clone()
    }

    /// Sets the exchange of the connection that is up.
    pub fn set_exchange(&self, exchange: Option<Arc<SharedExchange>>) {
        *enter(&self.exchange) = exchange;
    }

    /// Frees the place of this connection's tool list at the editor. `published`: the tools of calls can be looked up in the list.
    pub fn list_is_over(&self, epoch: Epoch, published: bool) {
        let Some(exchange) = self.exchange().filter(|exchange| exchange.lock().epoch() == epoch) else { return };
        let events = exchange.lock().list_is_over(published, Instant::now());
        for event in events {
            self.addresses.bridge.cast(bridge::Message::Heard(epoch, event, None));
        }
        exchange.wake();
    }

    /// Keeps a survey. `None`: nobody knows yet where the link leads.
    pub fn set_survey(&self, survey: Option<Arc<Survey>>) {
        let found = survey.as_ref().map(|survey| (survey.project.clone(), survey.ambiguous.clone()));
        self.survey.send_replace(survey);
        self.view.publish(|seen| (seen.project, seen.ambiguous) = found.unwrap_or_default());
    }

    // ---- for the wanted project ----

    /// The project that calls are for.
    pub fn wanted(&self) -> Wanted {
        Wanted::clone(&self.ledger.wanted())
    }

    /// Returns the last survey; `None` while it is not known which project is wanted.
    pub fn survey_now(&self) -> Option<Arc<Survey>> {
        let survey = self.survey.borrow().clone();
        survey.filter(|_| self.wanted() != Wanted::Asked)
    }

    /// Returns the target that the link is connected to, or was connected to last, if it belongs to the wanted project.
    pub fn target(&self) -> Option<Target> {
        let target = self.view.borrow().target.clone();
        target.filter(|target| self.wanted().is(target.project.as_deref()))
    }

    /// Returns the view with respect to the wanted project: if the connected editor belongs to another project, it is hidden.
    pub fn view_now(&self) -> LinkPicture {
        let picture = self.view.borrow().clone();
        let wanted = self.wanted();
        let is_wanted = picture.target.as_ref().is_none_or(|target| wanted.is(target.project.as_deref()));
        if is_wanted && wanted != Wanted::Asked {
            return picture;
        }
        let availability = match picture.availability {
            Availability::Absent(Cause::ShuttingDown) => picture.availability,
            known if wanted != Wanted::Asked && known != Availability::Open => known,
            _ => Availability::Coming(Cause::ProjectUnsettled),
        };
        LinkPicture {
            availability,
            target: None,
            foreign_peer: None,
            heartbeat: None,
            obstacle: None,
            compile_error: None,
            ..picture
        }
    }
}
