//! The supervision tree: who starts whom, what outlives whom, and what main does when the root gives up.
//!
//! ```text
//! main
//! └ gateway          root, one-for-one, 3 ends in 60 s
//!   ├ registry
//!   ├ link           one-for-one, 5 ends in 30 s
//!   │ ├ discovery
//!   │ ├ bridge
//!   │ └ push
//!   └ session
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorRef, SpawnErr};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::parts::Parts;
use crate::core::user_text;
use crate::fsm::cause::{Cause, Loss, Outlook};
use crate::limits::{
    JOIN_TIMEOUT, LEAF_RESTARTS_MAX, LEAF_WINDOW, REBUILD_DELAYS, REBUILD_WINDOW, ROOT_RESTARTS_MAX, ROOT_WINDOW,
};
use crate::protocol::jsonrpc::RpcError;
use crate::runtime::messages::{bridge, discovery, push, registry, session};
use crate::runtime::slot::Slot;
use crate::runtime::supervisor::{Brood, Message, Recipe, Report, Started, Supervisor, Tasks};
use crate::runtime::timed::Timed;

/// How actors are spawned: the seam at which tests put a saboteur around an actor.
pub trait Spawn: Clone + Send + Sync + 'static {
    /// Spawns an actor linked to its supervisor.
    fn spawn<A>(
        &self,
        name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: ActorCell,
    ) -> impl Future<Output = Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr>> + Send
    where
        A: Actor;
}

/// As ractor does it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Spawn for Plain {
    async fn spawn<A: Actor>(
        &self,
        _name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: ActorCell,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        // No name: ractor's names are global to the process, and two gateways in one test would meet.
        A::spawn_linked(None, actor, arguments, supervisor).await
    }
}

/// On a runtime of their own: a handler that is stuck stops neither supervision nor main's deadlines, which run elsewhere.
#[derive(Debug, Clone)]
pub struct OnWorkers(pub Handle);

impl Spawn for OnWorkers {
    async fn spawn<A: Actor>(
        &self,
        _name: &'static str,
        actor: A,
        arguments: A::Arguments,
        supervisor: ActorCell,
    ) -> Result<(ActorRef<A::Msg>, JoinHandle<()>), SpawnErr> {
        let spawned = self.0.spawn(A::spawn_linked(None, actor, arguments, supervisor)).await;
        spawned.unwrap_or_else(|error| Err(SpawnErr::StartupFailed(error.into())))
    }
}

/// Builds a recipe: how to make the actor, where its address lies, what is settled when an incarnation has ended.
fn recipe<A, S>(
    name: &'static str,
    spawn: &S,
    parts: &Arc<Parts>,
    make: impl Fn(&Parts, Tasks) -> A + Send + Sync + 'static,
    slot: impl Fn(&Parts) -> &Slot<A::Msg> + Copy + Send + Sync + 'static,
    settle: impl Fn(&Arc<Parts>) + Send + Sync + 'static,
) -> Recipe
where
    A: Actor<Arguments = ()>,
    S: Spawn,
{
    let tasks = Tasks::default();
    let start = {
        let (spawn, parts, tasks) = (spawn.clone(), Arc::clone(parts), tasks.clone());
        let make = Arc::new(make);
        Box::new(move |supervisor: ActorCell| {
            let spawn = spawn.clone();
            let actor = make(&parts, tasks.clone());
            let tasks = tasks.clone();
            let events = parts.env.events.clone();
            Box::pin(async move {
                let (actor, task) = spawn
                    .spawn(name, Timed { inner: actor, name, events }, (), supervisor)
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
            parts.env.events.actor_down(name);
            settle(&parts);
        })
    };
    Recipe { name, start, tasks, settle, brood: None }
}

fn reporter(parts: &Arc<Parts>) -> Arc<dyn Fn(Report) + Send + Sync> {
    let parts = Arc::clone(parts);
    Arc::new(move |report| match report {
        Report::Started(actor) => parts.env.events.actor_started(actor),
        Report::Restarting(actor, reason) => {
            parts.env.health.count_restart(actor);
            parts.env.events.actor_restarting(actor, reason);
        }
        Report::Escalated(supervisor) => parts.env.events.escalated(supervisor),
    })
}

/// The link's children, in the order of their start.
fn link_recipes<S: Spawn>(parts: &Arc<Parts>, spawn: &S) -> Vec<Recipe> {
    vec![
        recipe("discovery", spawn, parts, Parts::discovery, |parts| &parts.addresses.discovery, |_| {}),
        recipe(
            "bridge",
            spawn,
            parts,
            Parts::bridge,
            |parts| &parts.addresses.bridge,
            // Before a successor may dial: what was claimed may have run, the rest is held again.
            |parts| {
                let loss = if parts.env.is_draining() { Loss::Shutdown } else { Loss::Gateway };
                parts.calls.close_epochs(loss);
                parts.addresses.registry.cast(registry::Message::LinkLost);
            },
        ),
        recipe("push", spawn, parts, Parts::push, |parts| &parts.addresses.push, |_| {}),
    ]
}

fn root_recipes<S: Spawn>(parts: &Arc<Parts>, spawn: &S) -> Vec<Recipe> {
    let registry = recipe(
        "registry",
        spawn,
        parts,
        Parts::registry,
        |parts| &parts.addresses.registry,
        // A list that was on its way to it is lost; the bridge must not wait for it for ever.
        |parts| {
            parts.addresses.bridge.cast(bridge::Message::ListLost);
        },
    );
    let session = recipe("session", spawn, parts, Parts::session, |parts| &parts.client.actor, settle_session);
    vec![registry, link_recipe(parts, spawn), session]
}

fn link_recipe<S: Spawn>(parts: &Arc<Parts>, spawn: &S) -> Recipe {
    let (parts, spawn) = (Arc::clone(parts), spawn.clone());
    let down = parts.env.events.clone();
    let brood = Brood::new(link_recipes(&parts, &spawn));
    let children = Arc::clone(&brood);
    let start = Box::new(move |supervisor: ActorCell| {
        let (parts, spawn, children) = (Arc::clone(&parts), spawn.clone(), Arc::clone(&children));
        Box::pin(async move {
            let link =
                Supervisor { name: "link", max: LEAF_RESTARTS_MAX, window: LEAF_WINDOW, report: reporter(&parts) };
            let spawned = spawn.spawn("link", link, children, supervisor).await;
            let (actor, task) = spawned.map_err(|error| error.to_string())?;
            Ok(Started { cell: actor.get_cell(), task })
        }) as crate::net::BoxFuture<'static, Result<Started, String>>
    });
    Recipe {
        name: "link",
        start,
        tasks: Tasks::default(),
        settle: Box::new(move || down.actor_down("link")),
        brood: Some(brood),
    }
}

/// What a dead session had been handed and did not get into the ledger is answered: nothing of it ran.
///
/// At an orderly end main answers it, since that is nobody's fault.
fn settle_session(parts: &Arc<Parts>) {
    if parts.env.is_draining() {
        return;
    }
    for request in parts.client.outbox.delivered_requests() {
        if !parts.calls.ledger(|ledger, _| ledger.owns(request)) {
            parts.client.outbox.answer_error(request, &RpcError::internal(user_text::INTERNAL));
        }
    }
}

/// How the tree came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop.
    Stopped,
    /// It gave up for good: our bug. The process exits with 70.
    Exhausted,
}

/// Runs the tree until `stop` says so; builds it again when the root gives up, until that happens too often.
pub async fn run<S: Spawn>(parts: Arc<Parts>, spawn: S, mut stop: watch::Receiver<bool>) -> Ended {
    let mut rebuilds: VecDeque<Instant> = VecDeque::new();
    loop {
        if life(&parts, &spawn, &mut stop).await {
            return Ended::Stopped;
        }
        settle_everything(&parts);
        let now = Instant::now();
        rebuilds.retain(|at| now.saturating_duration_since(*at) < REBUILD_WINDOW);
        let Some(delay) = REBUILD_DELAYS.get(rebuilds.len()).copied() else { return Ended::Exhausted };
        rebuilds.push_back(now);
        parts.env.events.rebuilding(rebuilds.len(), delay);
        if timeout(delay, stop.wait_for(|stop| *stop)).await.is_ok() {
            return Ended::Stopped;
        }
    }
}

/// One life of the tree. True if it was told to stop, false if the root gave up.
async fn life<S: Spawn>(parts: &Arc<Parts>, spawn: &S, stop: &mut watch::Receiver<bool>) -> bool {
    let root = Supervisor { name: "gateway", max: ROOT_RESTARTS_MAX, window: ROOT_WINDOW, report: reporter(parts) };
    let brood = Brood::new(root_recipes(parts, spawn));
    let Ok((root, mut task)) = Supervisor::spawn(None, root, Arc::clone(&brood)).await else { return false };
    parts.env.events.actor_started("gateway");
    let told = tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => true,
        _ = &mut task => false,
    };
    if !told {
        // A root that gave up has stopped its children itself; one that failed could not.
        brood.stop().await;
        parts.env.events.actor_down("gateway");
        return false;
    }
    // The machines stop first (a greeting answered now must not send a call), then the actors, children before parents.
    parts.client.actor.cast(session::Message::Stop);
    parts.addresses.bridge.cast(bridge::Message::Stop);
    parts.addresses.discovery.cast(discovery::Message::Stop);
    parts.addresses.push.cast(push::Message::Stop);
    let _ = root.cast(Message::Stop);
    // Each of two levels joins its children within its own bound.
    if timeout(4 * JOIN_TIMEOUT, &mut task).await.is_err() {
        root.kill();
        task.abort();
    }
    true
}

/// The tree is gone: whatever is open is settled as it truly stands. What is held stays held, for the next tree.
fn settle_everything(parts: &Arc<Parts>) {
    parts.calls.close_epochs(Loss::Gateway);
    settle_session(parts);
    let outlook = Outlook::Coming(Cause::Connecting);
    parts.link.view.send_modify(|link| (link.outlook, link.undecided) = (outlook, true));
    parts.calls.decide(|ledger, now| ledger.set_outlook(outlook, now));
}
