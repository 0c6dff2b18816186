//! The editor's machine: a simulated editor, and the nemesis, which breaks the editor and the network as the plan says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast::net::{BoxStream, Net as _};
use holdfast::platform::host::{Host as _, Liveness, Owner};
use holdfast_fake_unity::{self as fake_unity, FakeUnity, FakeUnityConfig, Machine, Port};
use holdfast_testkit::host::MemoryHost;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::net::{FreePorts, SimNet, Wire, now};
use super::plan::{Act, Break, Plan, Step, Stranger};
use super::saboteur::Saboteur;
use super::stage::{PORT, PORTS_EACH, Phase};
use crate::history::{Begun, Event, Recorder};

/// How often calls of the tool `hold` are released after the faults have ended.
const RELEASE_EVERY: Duration = Duration::from_millis(100);
/// The longest wait for the simulated editor to carry out an order. After that, the nemesis continues without it.
const ORDER_MAX: Duration = Duration::from_secs(2);

/// The pause between two connections of a foreign program to the gateway.
const STRANGER_CALLS_EVERY: Duration = Duration::from_millis(200);

/// What the nemesis of one editor works with.
#[derive(Clone)]
pub struct Editor {
    /// The plan of this editor.
    pub plan: Arc<Plan>,
    /// Number of this editor.
    pub number: u8,
    /// Name of the editor's machine on the network.
    pub machine: &'static str,
    /// Files, processes and ports of the machine.
    pub host: Arc<MemoryHost>,
    /// Folder of the editor's project.
    pub project: PathBuf,
    /// Faults of the proxy on the wire to this editor.
    pub wire: Wire,
    /// Breaks the gateway's actors.
    pub saboteur: Saboteur,
    /// The history of this editor.
    pub recorder: Recorder,
    /// How far the run has come.
    pub phase: watch::Sender<Phase>,
}

enum Undo {
    Start { elsewhere: bool },
    Up,
    Thaw,
    Modal,
    Compile,
    Focus,
    Release,
    Repair,
    Stranger,
    Settings,
    Jitter,
    SliceRead,
    SliceWrite,
}

/// The port of the editor with this number, while nothing moves it.
fn own_port(plan: &Plan, number: u8) -> u16 {
    if plan.package.facts.shares_port() { PORT } else { PORT + PORTS_EACH * u16::from(number) }
}

type Runs = Arc<Mutex<BTreeMap<String, u64>>>;

struct Running {
    of: Editor,
    unity: Option<Arc<FakeUnity>>,
    incarnation: u32,
    port: u16,
    totals: BTreeMap<String, u64>,
    seen: Runs,
    stranger: Option<JoinHandle<()>>,
    /// For `spoil`: the previous content of the file that names the port, and the content that replaced it.
    spoilt: Option<(PathBuf, [Vec<u8>; 2])>,
    undo: mpsc::Sender<(u32, Undo)>,
}

impl Editor {
    /// Plays the faults of the plan, ends them all, and counts at the end how often each call ran.
    pub async fn run(self) {
        let (undo, mut undoing) = mpsc::channel(1024);
        let plan = Arc::clone(&self.plan);
        let mut phase = self.phase.subscribe();
        self.recorder.record(Event::Speaks(plan.package));
        let number = self.number;
        let mut running = Running {
            of: self,
            unity: None,
            incarnation: 0,
            port: own_port(&plan, number),
            totals: BTreeMap::new(),
            seen: Runs::default(),
            stranger: None,
            spoilt: None,
            undo,
        };
        if plan.editor_first {
            running.start(false).await;
        } else {
            running.later(700, Undo::Start { elsewhere: false });
        }
        let mut steps = plan.steps.iter().filter(|step| step.act.is_fault()).peekable();
        loop {
            let next = steps.peek().map_or(plan.heal_at, |step| step.at).min(plan.heal_at);
            let wait = Duration::from_millis(next.into()).saturating_sub(now());
            tokio::select! {
                biased;
                Some((_, undo)) = undoing.recv() => running.undo(undo).await,
                () = sleep(wait) => match steps.next() {
                    Some(Step { act, .. }) => running.act(*act).await,
                    None => break,
                },
            }
        }
        running.heal().await;
        // When the faults end, everything that was still to be undone is undone.
        let _ = phase.wait_for(|phase| *phase == Phase::Finish).await;
        running.gone(true).await;
        let totals = std::mem::take(&mut running.totals);
        running.of.recorder.record(Event::Totals(totals));
        running.of.phase.send_replace(Phase::Counted);
        std::future::pending::<()>().await;
    }
}

impl Running {
    fn later(&self, ms: u32, undo: Undo) {
        let sender = self.undo.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(ms.into())).await;
            let _ = sender.send((ms, undo)).await;
        });
    }

    fn project(&self) -> PathBuf {
        self.of.project.clone()
    }

    fn owner(&self, pid: u32) -> Owner {
        let project = self.project().to_string_lossy().into_owned();
        Owner { pid, name: "Unity".into(), command_line: vec!["Unity".into(), "-projectPath".into(), project] }
    }

    async fn start(&mut self, elsewhere: bool) {
        if self.unity.is_some() {
            return;
        }
        let plan = Arc::clone(&self.of.plan);
        self.incarnation += 1;
        let pid = 1000 * (1 + u32::from(self.of.number)) + self.incarnation;
        let host = Arc::clone(&self.of.host);
        let own = own_port(&plan, self.of.number);
        let free = plan.is_of_several().then(|| FreePorts::behind(own));
        let ports = Some((Arc::clone(&host), self.owner(pid)));
        let net = Arc::new(SimNet { peer: "gateway", proxy: None, others: Vec::new(), ports, free });
        let config = FakeUnityConfig {
            port: if elsewhere && !plan.has_fixed_port() { 0 } else { self.port },
            package: plan.package,
            package_version: plan.version,
            misconduct: plan.broken.and_then(Break::misconduct),
            push: plan.push,
            project: Some(self.project()),
            machine: Some(Machine(host.clone())),
            seed: plan.seed.wrapping_add(self.incarnation.into()),
            pid: Some(pid),
            listen_delay: Duration::from_millis(plan.seed % 30),
            ..FakeUnityConfig::default()
        };
        host.set_process(pid, Liveness::Alive);
        let mut started = FakeUnity::start(config.clone(), net.clone()).await;
        if started.is_err() {
            // The port is taken. An editor with a fixed port first ends the foreign program on it, and starts then; any other
            // editor uses another port.
            if plan.has_fixed_port() {
                self.end_stranger().await;
            }
            let port = if plan.has_fixed_port() { self.port } else { 0 };
            started = FakeUnity::start(FakeUnityConfig { port, ..config }, net).await;
        }
        match started {
            Ok(unity) => {
                let unity = Arc::new(unity);
                self.port = unity.port().unwrap_or(self.port);
                self.of.recorder.record(Event::EditorUp(pid, self.port));
                self.seen = Runs::default();
                tokio::spawn(follow(
                    unity.events(),
                    Arc::downgrade(&unity),
                    Arc::clone(&self.seen),
                    self.totals.clone(),
                    self.of.recorder.clone(),
                ));
                self.unity = Some(unity);
            }
            Err(error) => {
                host.set_process(pid, Liveness::Dead);
                self.of.recorder.record(Event::Injected(format!("the editor could not start: {error}")));
            }
        }
    }

    /// Ends the editor's process.
    async fn gone(&mut self, at_the_end: bool) {
        let Some(unity) = self.unity.take() else { return };
        let _ = timeout(ORDER_MAX, unity.crash()).await;
        note_runs(&unity, &self.seen, &self.totals, &self.of.recorder);
        for (key, count) in unity.stats().runs {
            *self.totals.entry(key).or_default() += count;
        }
        self.of.host.set_process(unity.pid(), Liveness::Dead);
        if !at_the_end {
            self.of.recorder.record(Event::EditorGone(unity.pid()));
        }
    }

    async fn act(&mut self, act: Act) {
        let wire = self.of.wire.clone();
        let until = |ms: u32| now() + Duration::from_millis(ms.into());
        if !matches!(act, Act::PauseReading(_)) {
            self.of.recorder.record(Event::Injected(format!("{act:?}")));
        }
        let unity = self.unity.clone();
        match act {
            Act::Crash { down, elsewhere, stranger } => {
                self.gone(false).await;
                if let Some(stranger) = stranger {
                    self.begin_stranger(stranger).await;
                    self.later(down + 500, Undo::Stranger);
                }
                self.later(down, Undo::Start { elsewhere });
            }
            Act::HalfOpen(ms) => {
                turmoil::hold("gateway", self.of.machine);
                self.gone(false).await;
                self.later(ms, Undo::Release);
                self.later(ms, Undo::Start { elsewhere: false });
            }
            // What a partition has lost never comes, and the other side is not told of a reset behind it. An editor that connects to
            // the gateway would wait for ever on such a connection, which cannot be on one machine: for it the link stands still.
            Act::Partition(ms) if !self.of.plan.package.facts.dials => {
                turmoil::partition("gateway", self.of.machine);
                self.later(ms, Undo::Repair);
            }
            Act::HoldLink(ms) | Act::Partition(ms) => {
                turmoil::hold("gateway", self.of.machine);
                self.later(ms, Undo::Release);
            }
            Act::Stale(ms) | Act::Corrupt(ms) => {
                self.spoil(matches!(act, Act::Stale(_)));
                self.later(ms, Undo::Settings);
            }
            Act::Latency(most, ms) => {
                wire.steer(|faults| faults.jitter = most.into());
                self.later(ms, Undo::Jitter);
            }
            Act::SliceRead(count, ms) => {
                wire.steer(|faults| faults.slice_read = count.into());
                self.later(ms, Undo::SliceRead);
            }
            Act::SliceWrite(count, ms) => {
                wire.steer(|faults| faults.slice_write = count.into());
                self.later(ms, Undo::SliceWrite);
            }
            Act::PauseRead(ms) => wire.steer(|faults| faults.read_paused_until = until(ms)),
            Act::BlockWrite(ms) => wire.steer(|faults| faults.write_blocked_until = until(ms)),
            Act::CutRead(bytes) => wire.steer(|faults| faults.cut_read = Some(bytes.into())),
            Act::CutWrite(bytes) => wire.steer(|faults| faults.cut_write = Some(bytes.into())),
            Act::DoubleReply => wire.steer(|faults| faults.double += 1),
            Act::LateReply(ms) => wire.steer(|faults| faults.late = Some(Duration::from_millis(ms.into()))),
            Act::Garbage(kind) => {
                let garbage: &[u8] = match kind {
                    0 => b"HTTP/1.1 400 Bad\x1b[31m Request\r\n\r\n",
                    1 => b"Content-Length: 99999999999999999999\r\n\r\n",
                    2 => b"Content-Length: 7\r\n\r\n{\"id\":]",
                    _ => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                };
                wire.steer(|faults| faults.garbage = Some(garbage.to_vec()));
            }
            Act::Replay => wire.steer(|faults| faults.replay = true),
            Act::Strike(actor, hook) => self.of.saboteur.strike(actor, hook),
            _ => {
                if let Some(unity) = unity {
                    self.act_on(&unity, act).await;
                }
            }
        }
    }

    async fn act_on(&mut self, unity: &FakeUnity, act: Act) {
        let span = |ms: u32| Duration::from_millis(ms.into());
        let order = async {
            match act {
                Act::Move(ms) if !self.of.plan.has_fixed_port() => unity.reload_to_new_port(span(ms)).await,
                Act::Reload(ms) | Act::Move(ms) => unity.reload(span(ms)).await,
                Act::Down(_) => unity.down().await,
                Act::Rst(_) => unity.rst().await,
                Act::ToolsChanged => unity.tools_changed().await,
                Act::PushStorm(count) => {
                    for _ in 0..count {
                        unity.push("TOOLS_CHANGED").await?;
                    }
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        // An editor that has just ended refuses the order, which is not an error of the run.
        let _ = timeout(ORDER_MAX, order).await;
        match act {
            Act::Down(ms) | Act::Rst(ms) => self.later(ms, Undo::Up),
            Act::Freeze(ms) => {
                unity.freeze();
                self.later(ms, Undo::Thaw);
            }
            Act::Modal(ms) => {
                unity.modal(true);
                self.later(ms, Undo::Modal);
            }
            Act::CompileErrors(ms) => {
                unity.compile_error(true);
                self.later(ms, Undo::Compile);
            }
            Act::Unfocus(ms) => {
                unity.focus(false);
                self.later(ms, Undo::Focus);
            }
            Act::Import(ms) => unity.import(span(ms)),
            _ => {}
        }
    }

    async fn undo(&mut self, undo: Undo) {
        let wire = self.of.wire.clone();
        let unity = self.unity.clone();
        match undo {
            Undo::Start { elsewhere } => self.start(elsewhere).await,
            Undo::Release => turmoil::release("gateway", self.of.machine),
            Undo::Repair => {
                turmoil::repair("gateway", self.of.machine);
                // A partition loses bytes. Real TCP would send them again or reset the connection; turmoil does neither, so
                // the connections are reset here.
                wire.reset_all();
            }
            Undo::Stranger => self.end_stranger().await,
            Undo::Settings => self.restore(),
            Undo::Jitter => wire.steer(|faults| faults.jitter = 0),
            Undo::SliceRead => wire.steer(|faults| faults.slice_read = 0),
            Undo::SliceWrite => wire.steer(|faults| faults.slice_write = 0),
            Undo::Up | Undo::Thaw | Undo::Modal | Undo::Compile | Undo::Focus => {
                let Some(unity) = unity else { return };
                match undo {
                    Undo::Up => {
                        let _ = timeout(ORDER_MAX, unity.up()).await;
                    }
                    Undo::Thaw => unity.thaw(),
                    Undo::Modal => unity.modal(false),
                    Undo::Compile => unity.compile_error(false),
                    _ => unity.focus(true),
                }
            }
        }
    }

    /// Writes a wrong port into the file that names the port, or breaks its JSON.
    fn spoil(&mut self, stale: bool) {
        let Some((path, member)) = self.of.plan.package.facts.port.file() else { return };
        let path = self.project().join(path);
        let Ok(found) = self.of.host.read(&path, usize::MAX) else { return };
        // The file may be spoilt already. If the editor has written it since then, its present content is good.
        let good = match self.spoilt.take() {
            Some((_, [good, bad])) if bad == found => good,
            _ => found,
        };
        let mut file: serde_json::Value = serde_json::from_slice(&good).unwrap_or_default();
        file[member] = 9999.into();
        let bad = if stale { file.to_string().into_bytes() } else { good[..good.len() / 2].to_vec() };
        let _ = self.of.host.write(&path, &bad);
        self.spoilt = Some((path, [good, bad]));
    }

    /// Undoes `spoil`, unless the editor has written the file since then. In the user's settings the port is the editor's own
    /// again, as if the user had set it: some versions do not write there which port they took.
    fn restore(&mut self) {
        let Some((path, member)) = self.of.plan.package.facts.port.file() else { return };
        let path = self.project().join(path);
        let now = self.of.host.read(&path, usize::MAX).unwrap_or_default();
        let mut wanted = match self.spoilt.take() {
            Some((_, [good, bad])) if bad == now => good,
            _ => now.clone(),
        };
        if let (Port::Settings(..), Some(unity)) = (self.of.plan.package.facts.port, &self.unity) {
            let read: Option<serde_json::Map<_, _>> = serde_json::from_slice(&wanted).ok();
            let mut settings = serde_json::Value::from(read.unwrap_or_default());
            settings[member] = unity.stats().port.unwrap_or(self.port).into();
            wanted = settings.to_string().into_bytes();
        }
        // A file that is written is news: nothing that comes back without news must need it.
        if wanted != now {
            let _ = self.of.host.write(&path, &wanted);
        }
    }

    async fn begin_stranger(&mut self, kind: Stranger) {
        self.end_stranger().await;
        let owner = Owner { pid: 666, name: "stranger".into(), command_line: vec!["stranger".into()] };
        let ports = Some((Arc::clone(&self.of.host), owner));
        let net = SimNet { peer: "gateway", proxy: None, others: Vec::new(), ports, free: None };
        let (recorder, port) = (self.of.recorder.clone(), self.port);
        if self.of.plan.package.facts.dials {
            self.stranger = Some(tokio::spawn(async move {
                for number in 0.. {
                    if let Ok(mut stream) = net.connect(port).await
                        && stream.write_all(kind.first_words()).await.is_ok()
                    {
                        be_strange(kind, stream, number, recorder.clone()).await;
                    }
                    sleep(STRANGER_CALLS_EVERY).await;
                }
            }));
            return;
        }
        let Ok(listener) = net.bind(port).await else { return };
        self.stranger = Some(tokio::spawn(async move {
            let mut links = tokio::task::JoinSet::new();
            while let Ok((stream, from)) = listener.accept().await {
                links.spawn(be_strange(kind, stream, from.port(), recorder.clone()));
            }
        }));
    }

    async fn end_stranger(&mut self) {
        if let Some(stranger) = self.stranger.take() {
            stranger.abort();
            let _ = stranger.await;
        }
    }

    async fn heal(&mut self) {
        self.of.saboteur.disarm();
        turmoil::release("gateway", self.of.machine);
        turmoil::repair("gateway", self.of.machine);
        self.of.wire.heal();
        // A partition that ended early has lost bytes too.
        self.of.wire.reset_all();
        self.end_stranger().await;
        self.start(false).await;
        if let Some(unity) = self.unity.clone() {
            unity.thaw();
            unity.modal(false);
            unity.focus(true);
            unity.compile_error(false);
            unity.import(Duration::ZERO);
            // A `hold` call that the gateway sends from now on begins after the first release, so calls are released again
            // and again.
            let releasing = Arc::downgrade(&unity);
            tokio::spawn(async move {
                while let Some(unity) = releasing.upgrade() {
                    unity.release();
                    drop(unity);
                    sleep(RELEASE_EVERY).await;
                }
            });
            let _ = timeout(ORDER_MAX, unity.up()).await;
            let _ = timeout(ORDER_MAX, unity.listening()).await;
            self.restore();
        }
        self.of.recorder.record(Event::Healed);
        // A run whose client closes stdin early may already be in a later phase.
        self.of.phase.send_if_modified(|phase| {
            let running = *phase == Phase::Running;
            if running {
                *phase = Phase::Healed;
            }
            running
        });
    }
}

/// Follows an editor's events, and records each run of a call when the run begins.
async fn follow(
    mut events: broadcast::Receiver<fake_unity::Event>,
    unity: std::sync::Weak<FakeUnity>,
    seen: Runs,
    before: BTreeMap<String, u64>,
    recorder: Recorder,
) {
    loop {
        match events.recv().await {
            Ok(fake_unity::Event::CallBegun { connection, tool, call, parallel }) => {
                if let Some(sending) = call {
                    recorder.record(Event::Begun(Begun { connection, tool, sending, parallel }));
                }
                let Some(unity) = unity.upgrade() else { return };
                note_runs(&unity, &seen, &before, &recorder);
            }
            Err(broadcast::error::RecvError::Lagged(count)) => {
                recorder.record(Event::Lagged(count));
                let Some(unity) = unity.upgrade() else { return };
                note_runs(&unity, &seen, &before, &recorder);
            }
            Ok(fake_unity::Event::CallSettled { call, status }) => recorder.record(Event::Settled(call, status)),
            Ok(fake_unity::Event::ClientNamed { connection, .. }) => recorder.record(Event::Proven(connection)),
            Ok(fake_unity::Event::ReloadBegun { .. }) => recorder.record(Event::Reloads),
            Ok(fake_unity::Event::Listening { port, .. }) => recorder.record(Event::Listens(port)),
            Ok(_) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

fn note_runs(unity: &FakeUnity, seen: &Runs, before: &BTreeMap<String, u64>, recorder: &Recorder) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    for (key, count) in unity.stats().runs {
        if seen.get(&key) != Some(&count) {
            recorder.record(Event::Ran(key.clone(), count + before.get(&key).copied().unwrap_or(0)));
            seen.insert(key, count);
        }
    }
}

impl Stranger {
    /// What it says when it has connected.
    fn first_words(self) -> &'static [u8] {
        match self {
            Self::Http => b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            Self::Echo | Self::Silent => b"",
        }
    }
}

async fn be_strange(kind: Stranger, mut stream: BoxStream, from: u16, recorder: Recorder) {
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let heard = &buffer[..count];
        recorder.record(Event::StrangerHeard(from, String::from_utf8_lossy(heard).into_owned()));
        let said = match kind {
            Stranger::Echo => stream.write_all(heard).await,
            Stranger::Http => stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await,
            Stranger::Silent => Ok(()),
        };
        if said.is_err() {
            return;
        }
    }
}
