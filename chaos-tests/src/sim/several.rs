//! A simulation with several clients and editors, and one gateway that serves them all. Each client has its own part of the
//! history, and so has each editor with its wire.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast::actors::parts::Parts;
use holdfast::config::{Config, PortSource};
use holdfast::core::ShutdownReason;
use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::protocol::hub::SessionRules;
use holdfast::transport::several::{OpenSession, Several};
use holdfast_testkit::checker::PIPE;
use holdfast_testkit::host::MemoryHost;
use tokio::sync::watch;

use super::client::{Client, Place};
use super::editor::Editor;
use super::net::{SimNet, Wire};
use super::plan::Plan;
use super::saboteur::Saboteur;
use super::stage::{PORT, PORTS_EACH, Phase, SAMPLE_EVERY, folder, project};
use crate::history::{Event, Part, Recorder, Sizes};

/// The machines of the editors.
const MACHINES: [&str; 3] = ["unity", "unity-2", "unity-3"];

/// The project of an editor, by the editor's number.
fn project_of(number: u8) -> PathBuf {
    if number == 0 { project() } else { folder(&format!("holdfast-simulated-project-{}", number + 1)) }
}

/// The number of the editor that a session works with.
fn editor_of(plan: &Plan, session: u8) -> u8 {
    session % plan.editors
}

fn of_session(plan: &Plan, recorder: &Recorder, number: u8) -> Recorder {
    recorder.of(Part::Session(number, editor_of(plan, number)))
}

/// The network of the gateway: the port decides to which editor's machine a connection leads.
struct Machines(Vec<SimNet>);

impl Machines {
    fn of(&self, port: u16) -> &SimNet {
        self.0.get(usize::from(port.saturating_sub(PORT) / PORTS_EACH)).unwrap_or(&self.0[0])
    }
}

impl Net for Machines {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        self.of(port).connect(port)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        self.of(port).bind(port)
    }

    /// A socket is on the machine of its editor only.
    fn connect_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<(BoxStream, Option<u32>)>> {
        Box::pin(async move {
            let mut met = Err(io::ErrorKind::ConnectionRefused.into());
            for machine in &self.0 {
                met = machine.connect_local(path).await;
                if met.is_ok() {
                    break;
                }
            }
            met
        })
    }
}

/// Adds the gateway, its clients and the editors to the simulation.
pub(super) fn people(sim: &mut turmoil::Sim<'_>, plan: &Arc<Plan>, recorder: &Recorder, host: Arc<MemoryHost>) {
    let saboteur = Saboteur::default();
    let (mut phases, mut machines) = (Vec::new(), Vec::new());
    for (number, machine) in (0..plan.editors).zip(MACHINES) {
        let recorder = recorder.of(Part::Editor(number));
        let wire = Wire::default();
        wire.steer(|faults| (faults.broken, faults.package) = (plan.broken, plan.package));
        let proxy = Some((wire.clone(), recorder.clone()));
        machines.push(SimNet { peer: machine, proxy, others: Vec::new(), ports: None, free: None });
        let (phase, _) = watch::channel(Phase::Running);
        phases.push(phase.clone());
        let editor = Editor {
            plan: Arc::new(plan.of_editor(number)),
            number,
            machine,
            host: Arc::clone(&host),
            project: project_of(number),
            wire,
            saboteur: saboteur.clone(),
            recorder,
            phase,
        };
        sim.host(machine, move || {
            let editor = editor.clone();
            async move {
                editor.run().await;
                Ok(())
            }
        });
    }
    if let Some((first, others)) = machines.split_first_mut()
        && plan.package.facts.shares_port()
    {
        let proxy = |machine: &SimNet| Some((machine.peer, machine.proxy.clone()?));
        first.others = others.iter().filter_map(proxy).collect();
    }
    let (plan, recorder) = (Arc::clone(plan), recorder.clone());
    sim.client("gateway", async move {
        gateway(&plan, &recorder, host, Machines(machines), saboteur, phases).await;
        Ok(())
    });
}

async fn gateway(
    plan: &Arc<Plan>,
    recorder: &Recorder,
    host: Arc<MemoryHost>,
    net: Machines,
    saboteur: Saboteur,
    phases: Vec<watch::Sender<Phase>>,
) {
    let config = Config {
        ports: if plan.package.facts.shares_port() { vec![(PORT, PortSource::Flag)] } else { Vec::new() },
        state_dir: Some(PathBuf::from("/simulated/state")),
        patience: Some(plan.patience),
        seed: Some(plan.seed),
        ..Config::default()
    };
    let parts = Parts::new(config, Arc::new(net), host);
    let several = Several::start(Arc::clone(&parts), saboteur);
    let first_heard = watch::Sender::default();
    let lives = (0..plan.sessions).map(|number| {
        let mine = Arc::new(plan.of_session(number));
        let recorder_of = |number| of_session(plan, recorder, number);
        let (to_gateway, stdin) = tokio::io::duplex(PIPE);
        let (stdout, from_gateway) = tokio::io::duplex(PIPE);
        let named = (!mine.roots).then(|| project_of(editor_of(plan, number)));
        let own = &parts.env.config;
        let config = Arc::new(own.of_session(SessionRules { project: named, ..own.session_rules() }));
        let session = several.attach(config, stdin, stdout).expect("so many sessions are few");
        recorder_of(number).record(Event::Numbered(session.client.id.0));
        let place = Place {
            number,
            project: project_of(editor_of(plan, number)),
            neighbour: (plan.sessions > 1).then(|| recorder_of((number + 1) % plan.sessions)),
            first_heard: first_heard.clone(),
        };
        let mine_recorder = recorder_of(number);
        let (client, reading) = Client::new(mine, place, mine_recorder.clone(), to_gateway, from_gateway);
        let phase = phases[usize::from(editor_of(plan, number))].subscribe();
        tokio::spawn(async move {
            let sampler = tokio::spawn(sample(Arc::clone(&session.client), mine_recorder.clone()));
            let ((), ()) = tokio::join!(ended(session, &mine_recorder), client.run(phase));
            // The gateway has ended, and so has this session's stdout; this reads what is still in the pipe.
            let _ = tokio::time::timeout(Duration::from_secs(60), reading).await;
            sampler.abort();
        })
    });
    let lives: Vec<_> = lives.collect();
    for life in lives {
        if life.await.is_err() {
            recorder.record(Event::Panicked("a client of the simulation".to_owned()));
        }
    }
    let links = parts.links.all();
    for link in &links {
        let to = |number: &u8| link.destination.project() == Some(&*project_of(*number));
        if let Some(number) = (0..plan.editors).find(to) {
            recorder.of(Part::Editor(number)).record(Event::Numbered(link.id.0));
        }
    }
    several.end().await;
    for link in links.iter().filter(|link| link.destination.project().is_some()) {
        let (held, flying) = link.calls.ledger(|ledger, _| ledger.counts());
        let permits = link.contact.connection.available_permits();
        if (held, flying, permits) != (0, 0, 1) {
            recorder.record(Event::Panicked(format!(
                "{:?} is left with {held} + {flying} calls, {permits} permits",
                link.destination
            )));
        }
    }
    if parts.env.health.has_failed_task() {
        recorder.record(Event::Panicked("a task of the gateway has failed".to_owned()));
    }
    for phase in &phases {
        phase.send_replace(Phase::Finish);
        let _ = phase.subscribe().wait_for(|phase| *phase == Phase::Counted).await;
    }
}

async fn ended(mut session: OpenSession, recorder: &Recorder) {
    let why = session.ended.wait_for(Option::is_some).await.ok().and_then(|why| *why);
    recorder.record(Event::Ended(why.unwrap_or(ShutdownReason::Exhausted).into()));
}

async fn sample(client: Arc<holdfast::client::Client>, recorder: Recorder) {
    let mut last = Sizes::default();
    loop {
        tokio::time::sleep(SAMPLE_EVERY).await;
        let counts = client.outbox.counts();
        let sizes = Sizes { open: counts.open, queued: counts.queued, edge: client.mailbox.used(), ..Sizes::default() };
        if sizes != last {
            last = sizes;
            recorder.record(Event::Sized(sizes));
        }
    }
}
