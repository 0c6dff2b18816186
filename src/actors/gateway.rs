//! The supervision trees: which actor starts which, what outlives an actor, and what happens when a supervisor gives up.
//!
//! ```text
//! main
//! ├ link               5 ends in 30 s; one for each editor
//! │ ├ registry
//! │ ├ discovery
//! │ ├ bridge
//! │ └ push
//! └ gateway            3 ends in 60 s; one for each session
//!   └ session          (port, for the session of another process that uses this hub)
//! attachment           3 ends in 60 s; while a hub has the links of the session over stdin and stdout
//! ```
//!
//! The actors of a link depend on each other's state, so they start and stop together. The link's ledger, records and catalogue
//! outlive them. A link whose supervisor gives up rests and starts again, and sessions and other links go on. A session
//! whose supervisor gives up too often ends.

use std::collections::VecDeque;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorRef, SpawnErr};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::attachment::{AttachmentActor, HubSeat};
use super::bridge::BridgeActor;
use super::discovery::DiscoveryActor;
use super::port::PortActor;
use super::push::PushActor;
use super::registry::RegistryActor;
use super::seat::Seat;
use super::session::SessionActor;
use crate::core::user_text;
use crate::fsm::bridge::Event;
use crate::fsm::cause::Loss;
use crate::fsm::restart::{EndReason, Restarts};
use crate::limits::{JOIN_TIMEOUT, REBUILD_DELAYS, REBUILD_WINDOW};
use crate::link::Link;
use crate::protocol::jsonrpc::RpcError;
use crate::runtime::environment::Environment;
use crate::runtime::messages::bridge;
use crate::runtime::slot::Slot;
use crate::runtime::supervisor::{ChildSpec, Seated, Supervisor, Tasks, Unit};

/// How actors are spawned. Tests use this to wrap an actor in a saboteur.
pub trait Spawn: Clone + Send + Sync + 'static {
    /// Spawns an actor, linked to its supervisor if it has one.
    fn spawn<A: Actor>(
        &self,
        _name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> impl Future<Output = Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr>> + Send {
        spawn_under(actor, arguments, supervisor)
    }

    /// The runtime on which actors run: a task there needs no other thread to give an actor a message.
    fn runtime(&self) -> Handle {
        Handle::current()
    }
}

/// Spawns an actor, linked to its supervisor if it has one.
///
/// # Errors
/// That of `pre_start`.
pub async fn spawn_under<A: Actor>(
    actor: A,
    arguments: A::Arguments,
    supervisor: Option<ActorCell>,
) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
    // No name: ractor's names are global to the process, so two gateways in one test would collide.
    match supervisor {
        Some(supervisor) => A::spawn_linked(None, actor, arguments, supervisor).await,
        None => A::spawn(None, actor, arguments).await,
    }
}

/// Spawns actors as ractor does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Spawn for Plain {}

/// Spawns actors on a separate runtime. A session's supervisor and main's deadlines run elsewhere, so a handler that is stuck
/// does not stop them.
#[derive(Debug, Clone)]
pub struct OnWorkers(pub Handle);

impl Spawn for OnWorkers {
    async fn spawn<A: Actor>(
        &self,
        _name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        let spawned = self.0.spawn(spawn_under(actor, arguments, supervisor)).await;
        spawned.unwrap_or_else(|error| Err(SpawnErr::StartupFailed(error.into())))
    }

    fn runtime(&self) -> Handle {
        self.0.clone()
    }
}

/// Returns the spec of a child. `make` makes the actor, and `settle` runs each time that it has ended.
fn child<A: Actor<Arguments = ()>>(
    name: &'static str,
    (spawn, env): (&impl Spawn, &Environment),
    slot: &Slot<A::Msg>,
    make: impl Fn(Tasks) -> A + Send + Sync + 'static,
    settle: impl Fn() + Send + Sync + 'static,
) -> ChildSpec {
    let (spawn, events, seat, slot) = (spawn.clone(), env.events.clone(), slot.clone(), slot.clone());
    ChildSpec {
        name,
        start: Box::new(move |supervisor, tasks| {
            let (spawn, inner) = (spawn.clone(), make(tasks.clone()));
            let actor = Seated { inner, name, events: events.clone(), slot: seat.clone(), tasks };
            Box::pin(async move {
                let (actor, task) = spawn.spawn(name, actor, (), supervisor).await?;
                Ok((actor.get_cell(), task))
            })
        }),
        settle: Box::new(move || {
            slot.clear();
            settle();
        }),
    }
}

/// The link's children, in start order.
fn of_link(link: &Arc<Link>, spawn: &impl Spawn) -> [ChildSpec; 4] {
    let (with, to) = ((spawn, &*link.env), &link.addresses);
    let [registry, discovery, bridge, push, settled] = [(); 5].map(|()| Arc::clone(link));
    // This runs before a successor may dial. Claimed calls may have run, and the others are held again.
    let settle = move || settled.let_go(if settled.env.is_draining() { Loss::Shutdown } else { Loss::Gateway });
    [
        // The registry is first, because the others cast to it as soon as they start.
        child("registry", with, &to.registry, move |tasks| RegistryActor { of: Arc::clone(&registry), tasks }, || {}),
        child(
            "discovery",
            with,
            &to.discovery,
            move |tasks| DiscoveryActor { of: Arc::clone(&discovery), tasks },
            || {},
        ),
        child("bridge", with, &to.bridge, move |tasks| BridgeActor::of(&bridge, tasks), settle),
        child("push", with, &to.push, move |tasks| PushActor { of: Arc::clone(&push), tasks }, || {}),
    ]
}

/// Returns the actor of a session. For the session of another process it is the port actor, which is shown as a session
/// too.
fn of_session(seat: Seat, spawn: &impl Spawn) -> ChildSpec {
    let (env, slot, settled) = (Arc::clone(&seat.env), seat.client.actor.clone(), seat.clone());
    let (with, settle) = ((spawn, &*env), move || settle_session(&settled));
    if seat.client.speaks_port {
        let hanging = Arc::default();
        let make = move |tasks| PortActor { seat: seat.clone(), tasks, hanging: Arc::clone(&hanging) };
        return child("session", with, &slot, make, settle);
    }
    child("session", with, &slot, move |tasks| SessionActor { seat: seat.clone(), tasks }, settle)
}

/// Returns the session actor of one message. It has no supervisor and no successor: if it ends too early, its request is answered
/// with an internal error.
pub fn lone_session(seat: Seat, spawn: &impl Spawn) -> Unit {
    Unit::new(Arc::clone(&seat.env), [of_session(seat, spawn)])
}

/// Answers, with an internal error, each request that a dead session actor had received and that did not become a call: these
/// requests did not run.
///
/// At an orderly end of the gateway or the session, these requests are answered elsewhere, since no fault caused that end.
fn settle_session(seat: &Seat) {
    if seat.env.is_draining() || seat.client.is_ending() {
        return;
    }
    for request in seat.client.outbox.delivered_requests() {
        if !seat.links.own(request) {
            seat.client.refuse(request, &RpcError::internal(user_text::INTERNAL));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Somebody asked for the end.
    Stopped,
    /// The session's supervisor gave up too often, which is our bug. If the process has one session, it exits with 70.
    Exhausted,
}

/// Actors that are started and stopped together, and that give up together: those of a link, or that of a session.
pub struct Tree<S> {
    env: Arc<Environment>,
    spawn: S,
    name: &'static str,
    unit: Arc<Unit>,
    restarts: Restarts,
    /// The link. `None` for another tree.
    link: Option<Arc<Link>>,
}

impl<S: Spawn> Tree<S> {
    pub fn of_link(link: Arc<Link>, spawn: S) -> Self {
        let unit = Arc::new(Unit::new(Arc::clone(&link.env), of_link(&link, &spawn)));
        let env = Arc::clone(&link.env);
        Self { env, spawn, name: "link", unit, restarts: Restarts::of_link(), link: Some(link) }
    }

    pub fn of_session(seat: Seat, spawn: S) -> Self {
        Self::of_one(Arc::clone(&seat.env), of_session(seat, &spawn), spawn)
    }

    /// Returns the tree of the attachment of a session to a hub.
    pub fn of_attachment(seat: &Arc<HubSeat>, spawn: S) -> Self {
        let (seated, settled) = (Arc::clone(seat), Arc::clone(seat));
        let make = move |tasks| AttachmentActor { seat: Arc::clone(&seated), tasks };
        // The open calls of the session stay open, and the successor gives them to the hub again.
        let child = child("attachment", (&spawn, &seat.env), &seat.actor, make, move || settled.port.detach());
        Self::of_one(Arc::clone(&seat.env), child, spawn)
    }

    fn of_one(env: Arc<Environment>, child: ChildSpec, spawn: S) -> Self {
        let unit = Arc::new(Unit::new(Arc::clone(&env), [child]));
        Self { env, spawn, name: "gateway", unit, restarts: Restarts::of_session(), link: None }
    }

    /// Runs the tree until `stop` is true. When its supervisor gives up, the tree is built again after a wait
    /// ([`REBUILD_DELAYS`]). A session is built again at most once for each of these waits.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> Ended {
        let mut rests: VecDeque<Instant> = VecDeque::new();
        while !self.life(&mut stop).await {
            let now = Instant::now();
            rests.retain(|at| now.saturating_duration_since(*at) < REBUILD_WINDOW);
            let last = REBUILD_DELAYS.last().filter(|_| self.link.is_some());
            let Some(delay) = REBUILD_DELAYS.get(rests.len()).or(last).copied() else { return Ended::Exhausted };
            rests.push_back(now);
            if let Some(link) = &self.link {
                self.env.restarting(self.name, EndReason::Failed);
                link.rests();
            }
            self.env.events.rebuilding(rests.len(), delay);
            if timeout(delay, stop.wait_for(|stop| *stop)).await.is_ok() {
                break;
            }
        }
        Ended::Stopped
    }

    /// Runs the tree once. Returns true if `stop` ended it, false if its supervisor gave up or did not start.
    async fn life(&self, stop: &mut watch::Receiver<bool>) -> bool {
        let (supervisor, unit) = (Supervisor { name: self.name }, (Arc::clone(&self.unit), self.restarts.clone()));
        let spawned = match self.link {
            Some(_) => self.spawn.spawn(self.name, supervisor, unit, None).await,
            None => spawn_under(supervisor, unit, None).await,
        };
        let Ok((root, mut task)) = spawned else { return false };
        self.env.events.actor_started(self.name);
        let told = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => true,
            _ = &mut task => false,
        };
        if told {
            // The bridge's machine stops first: a greeting answered now must not send a call.
            if let Some(link) = &self.link {
                link.addresses.bridge.cast(bridge::Message::Told(Event::StopRequested));
            }
            root.stop(None);
            // This is longer than the supervisor itself waits for each of its children.
            if timeout(4 * JOIN_TIMEOUT, &mut task).await.is_err() {
                root.kill();
                task.abort();
            }
        } else {
            // A supervisor that gave up has already stopped its children. A supervisor that failed could not.
            self.unit.stop().await;
        }
        told
    }
}
