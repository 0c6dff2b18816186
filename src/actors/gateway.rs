//! The supervision trees: which actor starts which, what outlives an actor, and what happens when a supervisor gives up.
//!
//! ```text
//! main
//! ├ link               one-for-all, 5 ends in 30 s; one for each editor
//! │ ├ registry
//! │ ├ discovery
//! │ ├ bridge
//! │ └ push
//! └ gateway            one-for-one, 3 ends in 60 s; one for each session
//!   └ session          (port, for the session of another process that uses this hub)
//! attachment           one-for-one, 3 ends in 60 s; while a hub has the links of the session over stdin and stdout
//! ```
//!
//! A link is one failure unit: its actors depend on each other's state, so they start and stop together. Its ledger, its records and
//! its catalogue outlive them. A link whose supervisor gives up rests and starts again, and sessions and other links go on. A session
//! whose supervisor gives up too often ends.

use std::collections::VecDeque;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorRef, SpawnErr};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::attachment::{AttachmentActor, HubSeat};
use super::parts;
use super::port::PortActor;
use super::seat::Seat;
use crate::core::user_text;
use crate::fsm::cause::Loss;
use crate::fsm::restart::{EndReason, Restart};
use crate::limits::{JOIN_TIMEOUT, REBUILD_DELAYS, REBUILD_WINDOW};
use crate::link::LinkParts;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::text::clean;
use crate::runtime::environment::Environment;
use crate::runtime::instrumented::Instrumented;
use crate::runtime::messages::{attachment, bridge, discovery, push, session};
use crate::runtime::slot::Slot;
use crate::runtime::supervisor::{ChildSpec, Children, Message, Report, Started, Supervisor, Tasks};

/// How actors are spawned. Tests use this to wrap an actor in a saboteur.
pub trait Spawn: Clone + Send + Sync + 'static {
    /// Spawns an actor, linked to its supervisor if it has one.
    fn spawn<A>(
        &self,
        name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> impl Future<Output = Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr>> + Send
    where
        A: Actor;

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

impl Spawn for Plain {
    async fn spawn<A: Actor>(
        &self,
        _name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: Option<ActorCell>,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        spawn_under(actor, arguments, supervisor).await
    }
}

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

/// Builds a child spec: `make` makes the actor, `slot` holds its address, and `settle` runs each time the actor has ended.
fn spec<A, S, P>(
    name: &'static str,
    spawn: &S,
    (env, parts): (&Arc<Environment>, &Arc<P>),
    make: impl Fn(&Arc<P>, Tasks) -> A + Send + Sync + 'static,
    slot: impl Fn(&P) -> &Slot<A::Msg> + Copy + Send + Sync + 'static,
    settle: impl Fn(&P) + Send + Sync + 'static,
) -> ChildSpec
where
    A: Actor<Arguments = ()>,
    S: Spawn,
    P: Send + Sync + 'static,
{
    let tasks = Tasks::default();
    let start = {
        let (spawn, env, parts, tasks) = (spawn.clone(), Arc::clone(env), Arc::clone(parts), tasks.clone());
        Box::new(move |supervisor: ActorCell| {
            let spawn = spawn.clone();
            let actor = make(&parts, tasks.clone());
            let (tasks, events) = (tasks.clone(), env.events.clone());
            Box::pin(async move {
                let (actor, task) = spawn
                    .spawn(name, Instrumented { inner: actor, name, events }, (), Some(supervisor))
                    .await
                    .map_err(|error| error.to_string())?;
                tasks.belong_to(actor.get_cell());
                Ok(Started { cell: actor.get_cell(), task })
            }) as crate::net::BoxFuture<'static, Result<Started, String>>
        })
    };
    let settle = {
        let parts = Arc::clone(parts);
        Box::new(move || {
            slot(&parts).clear();
            settle(&parts);
        })
    };
    ChildSpec { name, start, tasks, settle }
}

fn reporter(env: &Arc<Environment>) -> Arc<dyn Fn(Report) + Send + Sync> {
    let env = Arc::clone(env);
    Arc::new(move |report| match report {
        Report::Started(actor) => env.events.actor_started(actor),
        Report::Restarting(actor, reason) => {
            env.health.count_restart(actor);
            env.events.actor_restarting(actor, reason);
        }
        Report::Escalated(supervisor) => env.events.escalated(supervisor),
    })
}

/// The link's children, in start order.
fn link_specs<S: Spawn>(link: &Arc<LinkParts>, spawn: &S) -> Vec<ChildSpec> {
    let of = (&link.env, link);
    vec![
        // First, because the others cast to the registry as soon as they start.
        spec("registry", spawn, of, parts::registry, |link| &link.addresses.registry, |_| {}),
        spec("discovery", spawn, of, parts::discovery, |link| &link.addresses.discovery, |_| {}),
        spec(
            "bridge",
            spawn,
            of,
            parts::bridge,
            |link| &link.addresses.bridge,
            // Runs before a successor may dial: claimed calls may have run, the others are held again.
            |link| link.let_go(if link.env.is_draining() { Loss::Shutdown } else { Loss::Gateway }),
        ),
        spec("push", spawn, of, parts::push, |link| &link.addresses.push, |_| {}),
    ]
}

fn session_spec<S: Spawn>(seat: &Arc<Seat>, spawn: &S) -> ChildSpec {
    if seat.client.speaks_port {
        let hanging = Arc::default();
        let make =
            move |seat: &Arc<Seat>, tasks| PortActor { seat: Seat::clone(seat), tasks, hanging: Arc::clone(&hanging) };
        // It stands in the session's place, and is shown as one.
        return spec("session", spawn, (&seat.env, seat), make, |seat| &seat.client.actor, settle_session);
    }
    spec("session", spawn, (&seat.env, seat), parts::session, |seat| &seat.client.actor, settle_session)
}

fn attachment_spec<S: Spawn>(seat: &Arc<HubSeat>, spawn: &S) -> ChildSpec {
    let make = |seat: &Arc<HubSeat>, tasks| AttachmentActor { seat: Arc::clone(seat), tasks };
    // What the session said stays open, and the successor tells it to the hub again.
    let settle = |seat: &HubSeat| seat.port.detach();
    spec("attachment", spawn, (&seat.env, seat), make, |seat| &seat.actor, settle)
}

/// The session actor of one message. It has no supervisor and no successor: if it ends too early, its request is answered with an
/// internal error.
pub struct LoneSession {
    seat: Arc<Seat>,
    tasks: Tasks,
    started: Option<Started>,
}

impl LoneSession {
    /// Starts the actor, under the [`Foster`] of all of them. If it does not start, it counts as ended.
    pub async fn start<S: Spawn>(seat: Seat, spawn: &S, foster: &ActorRef<()>) -> Self {
        let (seat, tasks) = (Arc::new(seat), Tasks::default());
        let actor = Instrumented {
            inner: parts::session(&seat, tasks.clone()),
            name: "session",
            events: seat.env.events.clone(),
        };
        let started = match spawn.spawn("session", actor, (), Some(foster.get_cell())).await {
            Ok((actor, task)) => {
                tasks.belong_to(actor.get_cell());
                Some(Started { cell: actor.get_cell(), task })
            }
            Err(error) => {
                tracing::error!(event = "actor_start_failed", actor = "session", reason = %error);
                None
            }
        };
        Self { seat, tasks, started }
    }

    /// Waits until the actor has ended by itself, which is our bug, and answers its requests.
    pub async fn ended(&mut self) {
        if let Some(started) = &mut self.started {
            let _ = (&mut started.task).await;
        }
        self.started = None;
        self.seat.client.actor.clear();
        settle_session(&self.seat);
    }

    /// Stops the actor and its tasks.
    pub async fn stop(self) {
        if let Some(started) = self.started {
            started.cell.stop(None);
            if timeout(JOIN_TIMEOUT, started.task).await.is_err() {
                started.cell.kill();
            }
        }
        self.tasks.end().await;
    }
}

/// The parent of all [`LoneSession`]s. It does nothing when one of them ends: the task that serves the message notices that.
struct Foster;

impl Actor for Foster {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ractor::ActorProcessingErr> {
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: ractor::SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ractor::ActorProcessingErr> {
        if let ractor::SupervisionEvent::ActorFailed(_, error) = event {
            tracing::error!(event = "actor_failed", actor = "session", reason = %clean(&error.to_string()));
        }
        Ok(())
    }
}

/// Starts the parent of the session actors of single messages. Dropping the handle does not end it; stopping it does.
///
/// # Errors
/// ractor's error; there is none that it should have.
pub async fn foster() -> Result<ActorRef<()>, SpawnErr> {
    Foster::spawn(None, Foster, ()).await.map(|(actor, _)| actor)
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

/// How a tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By request.
    Stopped,
    /// The session's supervisor gave up too often, which is our bug. If the process has one session, it exits with 70.
    Exhausted,
}

/// Actors that are started and stopped together, and that give up together: those of a link, or that of a session.
pub struct Tree {
    env: Arc<Environment>,
    of: Of,
}

/// What a tree serves.
enum Of {
    Link(Arc<LinkParts>),
    Session(Arc<Seat>),
    /// The attachment of a session to a hub.
    Attachment(Arc<HubSeat>),
}

impl Tree {
    /// Returns the tree of a link.
    pub fn of_link(link: Arc<LinkParts>) -> Self {
        Self { env: Arc::clone(&link.env), of: Of::Link(link) }
    }

    /// Returns the tree of a session.
    pub fn of_session(seat: Seat) -> Self {
        Self { env: Arc::clone(&seat.env), of: Of::Session(Arc::new(seat)) }
    }

    /// Returns the tree of the attachment of a session to a hub.
    pub fn of_attachment(seat: Arc<HubSeat>) -> Self {
        Self { env: Arc::clone(&seat.env), of: Of::Attachment(seat) }
    }

    /// Runs the tree until `stop` is true. When its supervisor gives up, the tree is built again after a wait ([`REBUILD_DELAYS`]);
    /// for a session at most as often as there are waits.
    pub async fn run<S: Spawn>(self, spawn: S, mut stop: watch::Receiver<bool>) -> Ended {
        let mut rebuilds: VecDeque<Instant> = VecDeque::new();
        loop {
            if self.life(&spawn, &mut stop).await {
                return Ended::Stopped;
            }
            let now = Instant::now();
            rebuilds.retain(|at| now.saturating_duration_since(*at) < REBUILD_WINDOW);
            let last = || REBUILD_DELAYS.last().filter(|_| matches!(self.of, Of::Link(_)));
            let Some(delay) = REBUILD_DELAYS.get(rebuilds.len()).or_else(last).copied() else {
                self.settle();
                return Ended::Exhausted;
            };
            rebuilds.push_back(now);
            if let Of::Link(_) = self.of {
                reporter(&self.env)(Report::Restarting("link", EndReason::Failed));
            }
            self.env.events.rebuilding(rebuilds.len(), delay);
            self.settle();
            if timeout(delay, stop.wait_for(|stop| *stop)).await.is_ok() {
                return Ended::Stopped;
            }
        }
    }

    /// Runs the tree once. Returns true if `stop` ended it, false if its supervisor gave up or did not start.
    async fn life<S: Spawn>(&self, spawn: &S, stop: &mut watch::Receiver<bool>) -> bool {
        let (name, policy, specs) = match &self.of {
            Of::Link(link) => ("link", Restart::of_link(), link_specs(link, spawn)),
            Of::Session(seat) => ("gateway", Restart::of_session(), vec![session_spec(seat, spawn)]),
            Of::Attachment(seat) => ("gateway", Restart::of_session(), vec![attachment_spec(seat, spawn)]),
        };
        let children = Children::new(specs);
        let supervisor = Supervisor { name, policy, report: reporter(&self.env) };
        let spawned = match &self.of {
            Of::Link(_) => spawn.spawn(name, supervisor, Arc::clone(&children), None).await,
            Of::Session(_) | Of::Attachment(_) => spawn_under(supervisor, Arc::clone(&children), None).await,
        };
        let Ok((root, mut task)) = spawned else { return false };
        self.env.events.actor_started(name);
        let told = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => true,
            _ = &mut task => false,
        };
        if !told {
            // A supervisor that gave up has already stopped its children; one that failed could not.
            children.stop().await;
            return false;
        }
        // The machines stop first (a greeting answered now must not send a call), then the actors, children before parents.
        match &self.of {
            Of::Session(seat) => drop(seat.client.actor.cast(session::Message::Stop)),
            Of::Attachment(seat) => drop(seat.actor.cast(attachment::Message::Stop)),
            Of::Link(link) => {
                link.addresses.bridge.cast(bridge::Message::Stop);
                link.addresses.discovery.cast(discovery::Message::Stop);
                link.addresses.push.cast(push::Message::Stop);
            }
        }
        let _ = root.cast(Message::Stop);
        // Longer than the supervisor itself waits for each of its children.
        if timeout(4 * JOIN_TIMEOUT, &mut task).await.is_err() {
            root.kill();
            task.abort();
        }
        true
    }

    /// Ends what a tree that gave up leaves open. A link rests: its held calls are answered, and what was sent may have run. Of a
    /// session, the requests that did not become calls are answered with an internal error.
    fn settle(&self) {
        match &self.of {
            Of::Link(link) => link.rests(),
            Of::Session(seat) => settle_session(seat),
            Of::Attachment(_) => {}
        }
    }
}
