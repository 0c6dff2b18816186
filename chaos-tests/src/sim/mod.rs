//! The simulation: the real gateway with a simulated editor and a simulated client, in one thread and in virtual time. The
//! seed decides everything, so a failure can be replayed.

pub mod client;
pub mod editor;
pub mod log;
pub mod net;
pub mod picture;
pub mod plan;
pub mod report;
pub mod saboteur;
mod several;
pub mod shrink;
mod stage;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast::actors::parts::Parts;
use holdfast::config::{Config, PortSource};
use holdfast::link::Link;
use holdfast::platform::host::Liveness;
use holdfast::protocol::dialect;
use holdfast::protocol::ids::LinkId;
use holdfast::transport::run::{self, Pumps};
use holdfast_testkit::checker::PIPE;
use holdfast_testkit::host::MemoryHost;
use tokio::sync::{mpsc, watch};

use self::client::{Client, Place};
use self::editor::Editor;
use self::net::{SimNet, Wire};
use self::plan::{Break, Plan};
use self::saboteur::Saboteur;
use self::stage::{PORT, SAMPLE_EVERY, project};
use crate::history::{Event, History, Recorder, Sizes};

pub use self::stage::Phase;
pub(crate) use self::stage::folder;

/// Capacity in bytes of the pipe that stands for one without a bound (`Break::EndlessInput`).
const PIPE_WITHOUT_BOUND: usize = 64 * 1024 * 1024;
/// Longest virtual time of a run.
const LONGEST: Duration = Duration::from_secs(400);
/// Length of one step of the simulated network. Timers are exact to one step; longer steps make a run cheaper.
const TICK: Duration = Duration::from_millis(2);

/// Runs a plan on a separate thread, and returns its history.
pub fn run(plan: &Plan) -> History {
    let plan = Arc::new(plan.clone());
    let recorder = Recorder::new(turmoil::sim_elapsed);
    let thread = {
        let (plan, recorder) = (Arc::clone(&plan), recorder.clone());
        std::thread::Builder::new().name(format!("seed {}", plan.seed)).spawn(move || {
            log::watch_panics(Some(recorder.clone()));
            let dispatch = tracing::Dispatch::new(log::IntoHistory::new(recorder.clone(), plan.broken));
            let ended = tracing::dispatcher::with_default(&dispatch, || world(&plan, &recorder));
            if let Err(why) = ended {
                recorder.record(Event::Panicked(format!("the simulation ended: {why}")));
            }
            log::watch_panics(None);
        })
    };
    let ended = thread.map(std::thread::JoinHandle::join);
    if !matches!(ended, Ok(Ok(()))) {
        recorder.record(Event::Panicked("the simulation's thread".into()));
    }
    recorder.history()
}

fn world(plan: &Arc<Plan>, recorder: &Recorder) -> Result<(), String> {
    let (least, most) = plan.latency;
    let mut sim = turmoil::Builder::new()
        .rng_seed(plan.seed)
        .tick_duration(TICK)
        .simulation_duration(LONGEST)
        .min_message_latency(Duration::from_millis(least))
        .max_message_latency(Duration::from_millis(most))
        .tcp_capacity(1024)
        .build();
    let host = Arc::new(MemoryHost::of(plan.seed, Liveness::Dead, net::now));
    if plan.is_of_several() {
        several::people(&mut sim, plan, recorder, host);
    } else {
        one(&mut sim, plan, recorder, host);
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sim.run()));
    let said = match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("a panic".to_owned()),
    };
    // A simulation that panicked may panic again when it is dropped.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(sim)));
    said
}

/// Adds one client and one editor to the simulation, and the gateway.
fn one(sim: &mut turmoil::Sim<'_>, plan: &Arc<Plan>, recorder: &Recorder, host: Arc<MemoryHost>) {
    let wire = Wire::default();
    wire.steer(|faults| (faults.broken, faults.package) = (plan.broken, plan.package));
    let (phase, _) = watch::channel(Phase::Running);
    let editor = Editor {
        plan: Arc::clone(plan),
        number: 0,
        machine: "unity",
        host: Arc::clone(&host),
        project: project(),
        wire: wire.clone(),
        saboteur: Saboteur::default(),
        recorder: recorder.clone(),
        phase: phase.clone(),
    };
    let saboteur = editor.saboteur.clone();
    sim.host("unity", move || {
        let editor = editor.clone();
        async move {
            editor.run().await;
            Ok(())
        }
    });
    let (plan, recorder) = (Arc::clone(plan), recorder.clone());
    sim.client("gateway", async move {
        gateway(plan, host, wire, saboteur, recorder, phase).await;
        Ok(())
    });
}

async fn gateway(
    plan: Arc<Plan>,
    host: Arc<MemoryHost>,
    wire: Wire,
    saboteur: Saboteur,
    recorder: Recorder,
    phase: watch::Sender<Phase>,
) {
    let net =
        SimNet { peer: "unity", proxy: Some((wire, recorder.clone())), others: Vec::new(), ports: None, free: None };
    let config = Config {
        project: (!plan.by_flag && !plan.roots).then(project),
        ports: if plan.has_fixed_port() { vec![(PORT, PortSource::Flag)] } else { Vec::new() },
        // Without a project there is no file that names the dialect, so the dialect is given.
        dialects: if plan.by_flag { dialect::only(plan.package.name) } else { dialect::ALL },
        state_dir: Some(PathBuf::from("/simulated/state")),
        patience: Some(plan.patience),
        seed: Some(plan.seed),
        ..Config::default()
    };
    let parts = Parts::new(config, Arc::new(net), host);
    let endless = plan.broken == Some(Break::EndlessInput);
    let (to_gateway, stdin) = tokio::io::duplex(if endless { PIPE_WITHOUT_BOUND } else { PIPE });
    let (stdout, from_gateway) = tokio::io::duplex(PIPE);
    let pumps = Pumps::over(&parts, stdin, stdout);
    let (client, reading) = Client::new(Arc::clone(&plan), Place::alone(), recorder.clone(), to_gateway, from_gateway);
    let links = Arc::<Mutex<SeenLinks>>::default();
    let sampler = tokio::spawn(sample(Arc::clone(&parts), Arc::clone(&links), recorder.clone()));
    let (_quit, quitting) = mpsc::channel(1);
    let running = {
        let (parts, recorder) = (Arc::clone(&parts), recorder.clone());
        async move {
            let why = run::run(&parts, saboteur, pumps, quitting, None).await;
            recorder.record(Event::Ended(why.into()));
            let links = see_links(&links, &parts);
            let (held, flying) = calls(&links);
            let counts = parts.client.outbox.counts();
            recorder.record(Event::Left(Sizes { open: counts.open, queued: counts.queued, held, flying, edge: 0 }));
            for link in links {
                recorder.record(Event::PermitsLeft(link.contact.connection.available_permits()));
            }
        }
    };
    let ((), ()) = tokio::join!(running, client.run(phase.subscribe()));
    // The gateway has ended, and so has its stdout; this reads what is still in the pipe.
    let _ = tokio::time::timeout(Duration::from_secs(60), reading).await;
    sampler.abort();
    phase.send_replace(Phase::Finish);
    let _ = phase.subscribe().wait_for(|phase| *phase == Phase::Counted).await;
}

/// Each link of a gateway, also if it was closed.
type SeenLinks = BTreeMap<LinkId, Arc<Link>>;

/// Returns all links that were seen so far.
fn see_links(seen: &Mutex<SeenLinks>, parts: &Parts) -> Vec<Arc<Link>> {
    let mut seen = seen.lock().expect("no holder panics");
    seen.extend(parts.links.all().into_iter().map(|link| (link.id, link)));
    seen.values().cloned().collect()
}

/// Returns the numbers of held calls and of sent calls.
fn calls(links: &[Arc<Link>]) -> (usize, usize) {
    let counts = links.iter().map(|link| link.calls.ledger(|ledger, _| ledger.counts()));
    counts.fold((0, 0), |(held, flying), (more_held, more_flying)| (held + more_held, flying + more_flying))
}

async fn sample(parts: Arc<Parts>, links: Arc<Mutex<SeenLinks>>, recorder: Recorder) {
    let mut last = Sizes::default();
    let mut named = "";
    loop {
        tokio::time::sleep(SAMPLE_EVERY).await;
        let links = see_links(&links, &parts);
        let cause = parts.link().contact.view.borrow().availability.cause().map_or("", Into::into);
        if std::mem::replace(&mut named, cause) != cause {
            recorder.record(Event::Named(cause));
        }
        let counts = parts.client.outbox.counts();
        let (held, flying) = calls(&links);
        let mailboxes = links.iter().map(|link| &link.addresses.mailboxes);
        let used = mailboxes.map(|mailboxes| mailboxes.bridge.used().max(mailboxes.push.used()));
        let edge = used.max().unwrap_or_default().max(parts.client.mailbox.used());
        let sizes = Sizes { open: counts.open, queued: counts.queued, held, flying, edge };
        if sizes != last {
            last = sizes;
            recorder.record(Event::Sized(sizes));
        }
    }
}
