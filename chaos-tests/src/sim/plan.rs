//! Turns a seed into a plan: what the client does, what fails, and when. Each seed uses only some kinds of faults, which are
//! drawn first (swarm testing).

use std::time::Duration;

use holdfast_fake_unity::{Misconduct, PACKAGES, Package, PackageVersion, Port, Task};

use super::saboteur::Hook;

/// A deliberate fault, which proves that its checker notices it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// An answer never reaches the client.
    DroppedAnswer,
    /// An answer reaches the client twice.
    DoubledAnswer,
    /// A call's frame reaches the editor twice.
    DoubledRequest,
    /// A reply of an ended connection completes a call of the current one.
    OldFrame,
    /// A reply has another call's result.
    SwappedReply,
    /// A progress notification is delivered again after the answer.
    LateProgress,
    /// A line that is not MCP appears on stdout, as if a library had printed it.
    DirtyStdout,
    /// An answer reaches the client 30 seconds late.
    SlowAnswer,
    /// The editor seems to answer a call as soon as it receives it, so that nothing limits how many calls it works on.
    NoWindow,
    /// The pipe to the gateway has no bound: it accepts everything, even if the gateway does not read.
    EndlessInput,
    /// Whole frames are written into the log.
    LoggedFrame,
    /// The end of a call is missing from the log.
    LostLine,
    /// The frame of a call reaches the editor on the next connection, after the question for its outcome.
    LateRequest,
    /// An answer reaches another session's client.
    StrayAnswer,
    /// A call of one session reaches the gateway only after many later calls of another session.
    StarvedSession,
    /// The editor breaks its own protocol.
    Editor(Misconduct),
    /// [`LateRequest`](Self::LateRequest), with an editor that breaks its own protocol.
    LateRequestTo(Misconduct),
}

impl Break {
    /// Returns how the editor breaks its own protocol; `None` if it does not.
    pub fn misconduct(self) -> Option<Misconduct> {
        match self {
            Self::Editor(misconduct) | Self::LateRequestTo(misconduct) => Some(misconduct),
            _ => None,
        }
    }

    /// Whether the frame of a call is delivered late.
    pub fn delays_a_request(self) -> bool {
        matches!(self, Self::LateRequest | Self::LateRequestTo(_))
    }
}

/// A foreign program that listens on the editor's port, or that connects to the gateway where the editor would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// Sends back what it receives.
    Echo,
    /// Speaks HTTP.
    Http,
    /// Sends nothing.
    Silent,
}

/// An act of the client, or a fault. Times are in milliseconds. A fault with a duration ends after that time, or when all
/// faults end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    // ---- the client ----
    /// A call, with a progress token if `true`.
    Call(Task, bool),
    /// Many calls at once.
    Burst(u16, Task),
    /// Many pings at once.
    Flood(u16),
    /// Cancels the n-th newest open call.
    Cancel(u8),
    /// A ping.
    Ping,
    /// `tools/list`.
    List,
    /// `holdfast_status`.
    Status,
    /// The client's root becomes the editor's project or, if `false`, one without an editor.
    Roots(bool),
    /// `holdfast_wait_ready`, with this timeout.
    WaitReady(u32),
    /// A line that is not a request, such as broken JSON or an unknown notification.
    Noise(u8),
    // ---- faults ----
    /// The client does not read.
    PauseReading(u32),
    /// The editor crashes and starts again. In the meantime a foreign program may use its port.
    Crash {
        /// Time until the editor starts again.
        down: u32,
        /// Whether the editor starts on another port.
        elsewhere: bool,
        /// The foreign program that uses the old port.
        stranger: Option<Stranger>,
    },
    /// A domain reload.
    Reload(u32),
    /// A domain reload, after which the editor listens on another port.
    Move(u32),
    /// The user stops the bridge, and starts it again after this time.
    Down(u32),
    /// All connections are reset, and the bridge is gone for this time.
    Rst(u32),
    /// The editor's process is stopped, as between SIGSTOP and SIGCONT.
    Freeze(u32),
    /// A modal dialog is open in the editor.
    Modal(u32),
    /// Assets are imported.
    Import(u32),
    /// Scripts do not compile.
    CompileErrors(u32),
    /// The editor loses focus.
    Unfocus(u32),
    /// The tool list changes.
    ToolsChanged,
    /// This many push messages at once.
    PushStorm(u16),
    /// The file that names the port has a wrong port.
    Stale(u32),
    /// The file that names the port is not JSON.
    Corrupt(u32),
    /// Packets are delayed until the fault ends.
    HoldLink(u32),
    /// Packets are lost; at the end of the fault all connections are reset.
    Partition(u32),
    /// The editor vanishes without a FIN, and starts again after this time.
    HalfOpen(u32),
    /// Frames of the editor are delayed by up to the first number of milliseconds.
    Latency(u16, u32),
    /// A read returns at most the first number of bytes.
    SliceRead(u8, u32),
    /// A write accepts at most the first number of bytes.
    SliceWrite(u8, u32),
    /// The gateway's socket returns nothing to read.
    PauseRead(u32),
    /// The gateway's socket accepts no bytes.
    BlockWrite(u32),
    /// The connection is reset after this many more bytes are read.
    CutRead(u16),
    /// The connection is reset after this many more bytes are written.
    CutWrite(u16),
    /// The next frame is delivered twice.
    DoubleReply,
    /// The next frame is delayed by this time.
    LateReply(u32),
    /// Garbage is delivered before the next frame.
    Garbage(u8),
    /// Frames of the last connection are delivered again.
    Replay,
    /// An actor of the gateway fails.
    Strike(&'static str, Hook),
}

impl Act {
    /// Whether the act is a fault, and not an ordinary act of the client.
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Call(..)
                | Self::Burst(..)
                | Self::Flood(_)
                | Self::Cancel(_)
                | Self::Ping
                | Self::List
                | Self::Status
                | Self::Roots(_)
                | Self::WaitReady(_)
                | Self::Noise(_)
        )
    }

    /// Name of the act, without its numbers.
    pub fn name(self) -> String {
        format!("{self:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
    }
}

/// An act and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Milliseconds since the start of the run.
    pub at: u32,
    /// What happens.
    pub act: Act,
}

/// The plan of a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The seed that the plan was made from.
    pub seed: u64,
    /// Number of sessions of clients.
    pub sessions: u8,
    /// Number of editors, each with its own project. Session n works in the project of editor n modulo this number.
    pub editors: u8,
    /// If true, the gateway gets the port by a flag and no project. Otherwise it gets the project, and finds the port in the
    /// project's files.
    pub by_flag: bool,
    /// Whether the client declares roots, and only they name the project.
    pub roots: bool,
    /// Whether the editor has the push channel.
    pub push: bool,
    /// The package of the editor.
    pub package: &'static Package,
    /// Version of the package, if it makes a difference: for uLoopMCP and uMCP.
    pub version: PackageVersion,
    /// Whether the client acts on changes of the tool list.
    pub honours_changes: bool,
    /// Whether the client speaks MCP 2026-07-28, without a handshake, and subscribes to changes.
    pub stateless: bool,
    /// How long the client waits for an answer.
    pub patience: Duration,
    /// Least and greatest latency of a packet, in milliseconds.
    pub latency: (u64, u64),
    /// Whether the editor is running when the run starts.
    pub editor_first: bool,
    /// When the faults end, in milliseconds.
    pub heal_at: u32,
    /// When the client closes stdin before the end of the plan, in milliseconds; `None` if it does not. With several clients
    /// only the first one does.
    pub early_end: Option<u32>,
    /// What happens, sorted by time.
    pub steps: Vec<Step>,
    /// The deliberate fault that a checker must notice, if any.
    pub broken: Option<Break>,
}

const ACTORS: [&str; 6] = ["discovery", "bridge", "push", "registry", "session", "link"];
const HOOKS: [Hook; 6] = [Hook::PreStart, Hook::PostStart, Hook::Handle, Hook::Error, Hook::PostStop, Hook::Kill];
const KINDS: u8 = 30;
/// The largest number of actors that a plan makes fail: few enough that the gateway does not give up and exit.
const STRIKES_MAX: usize = 8;

fn fault(kind: u8, dice: &mut fastrand::Rng) -> Act {
    let span = |dice: &mut fastrand::Rng| if dice.u8(..4) == 0 { dice.u32(800..6000) } else { dice.u32(20..800) };
    match kind {
        0 => {
            let stranger = [None, Some(Stranger::Echo), Some(Stranger::Http), Some(Stranger::Silent)];
            let stranger = if dice.bool() { stranger[dice.usize(..4)] } else { None };
            Act::Crash { down: span(dice), elsewhere: dice.bool(), stranger }
        }
        1 | 2 => Act::Reload(span(dice)),
        3 => Act::Move(span(dice)),
        4 => Act::Down(span(dice)),
        5 => Act::Rst(span(dice)),
        6 => Act::Freeze(span(dice)),
        7 => Act::Modal(span(dice)),
        8 => Act::Import(span(dice)),
        9 => Act::CompileErrors(span(dice)),
        10 => Act::Unfocus(span(dice)),
        11 => Act::ToolsChanged,
        12 => Act::PushStorm(dice.u16(10..600)),
        13 => Act::Stale(span(dice)),
        14 => Act::Corrupt(span(dice)),
        15 => Act::HoldLink(span(dice)),
        16 => Act::Partition(span(dice)),
        17 => Act::HalfOpen(span(dice)),
        18 => Act::Latency(dice.u16(1..300), span(dice)),
        19 => Act::SliceRead(dice.u8(1..20), span(dice)),
        20 => Act::SliceWrite(dice.u8(1..20), span(dice)),
        21 => Act::PauseRead(span(dice)),
        22 => Act::BlockWrite(span(dice)),
        23 => Act::CutRead(dice.u16(..400)),
        24 => Act::CutWrite(dice.u16(..400)),
        25 => Act::DoubleReply,
        26 => Act::LateReply(span(dice)),
        27 => {
            if dice.bool() {
                Act::Garbage(dice.u8(..4))
            } else {
                Act::Replay
            }
        }
        28 => Act::PauseReading(dice.u32(20..2500)),
        _ => Act::Strike(ACTORS[dice.usize(..ACTORS.len())], HOOKS[dice.usize(..HOOKS.len())]),
    }
}

fn doing(dice: &mut fastrand::Rng) -> Act {
    let tool = |dice: &mut fastrand::Rng| match dice.u8(..24) {
        0..=6 => Task::Echo,
        7..=12 => Task::Count,
        13 | 14 => Task::Sleep(dice.u32(..1500)),
        15 => Task::Block(dice.u32(..800)),
        16..=18 => Task::Logs,
        19 => Task::Compile,
        20 => Task::Fail,
        21 => Task::Throw,
        22 => match dice.u8(..3) {
            0 => Task::Big(dice.u32(..200_000)),
            1 => Task::Hold,
            _ => Task::Unheard,
        },
        _ => Task::Count,
    };
    match dice.u8(..20) {
        0..=11 => Act::Call(tool(dice), dice.u8(..3) == 0),
        12 => Act::Burst(dice.u16(2..40), if dice.bool() { Task::Count } else { Task::Echo }),
        13 | 14 => Act::Cancel(dice.u8(..4)),
        15 => Act::Ping,
        16 => Act::List,
        17 => Act::Status,
        18 => Act::WaitReady(dice.u32(..3000)),
        _ => Act::Noise(dice.u8(..5)),
    }
}

/// One of the versions that are played of a package.
fn version(package: &Package, nth: u64) -> PackageVersion {
    let versions = package.facts.versions;
    if versions.is_empty() { package.newest() } else { versions[(nth % versions.len() as u64) as usize] }
}

impl Plan {
    /// Makes the plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed ^ 0x0068_6f6c_6466_6173);
        let heal_at = dice.u32(3000..9000);
        let mut kinds: Vec<u8> = (0..KINDS).collect();
        dice.shuffle(&mut kinds);
        kinds.truncate(dice.usize(3..=12));
        let mut steps = Vec::new();
        let mut strikes = 0;
        for _ in 0..dice.u8(10..=24) {
            let mut act = fault(kinds[dice.usize(..kinds.len())], &mut dice);
            if matches!(act, Act::Strike(..)) {
                strikes += 1;
                if strikes > STRIKES_MAX {
                    act = Act::Reload(50);
                }
            }
            steps.push(Step { at: dice.u32(150..heal_at - 100), act });
        }
        let spacing = dice.u32(40..400);
        let mut at = 0;
        while at + 100 < heal_at {
            at += dice.u32(1..2 * spacing);
            steps.push(Step { at, act: doing(&mut dice) });
        }
        // Some plans have more calls at once than may be open.
        let mut rare = fastrand::Rng::with_seed(seed);
        if rare.u8(..20) == 0 {
            let act = Act::Burst(rare.u16(257..400), Task::Echo);
            steps.push(Step { at: rare.u32(150..heal_at - 100), act });
        }
        steps.sort_by_key(|step| step.at);
        let fast = dice.u64(..3);
        // A separate random generator draws these, so that the seeds with one session and one editor keep their plans.
        let mut many = fastrand::Rng::with_seed(seed ^ 0x0073_6573_7369_6f6e);
        let (sessions, editors) = if many.u8(..4) == 0 { (many.u8(1..=4), many.u8(1..=3)) } else { (1, 1) };
        Self {
            seed,
            sessions,
            editors,
            by_flag: dice.u8(..4) == 0,
            roots: false,
            push: dice.bool(),
            package: PACKAGES[0],
            version: version(PACKAGES[0], dice.u64(..4)),
            honours_changes: dice.bool(),
            // The seed decides this directly, so that the other random draws, and so the plans, stay the same.
            stateless: seed % 3 == 1,
            patience: Duration::from_secs(dice.u64(8..20)),
            latency: (fast, fast + dice.u64(1..20)),
            editor_first: dice.u8(..4) != 0,
            heal_at,
            early_end: (dice.u8(..8) == 0).then(|| dice.u32(500..heal_at)),
            steps,
            broken: None,
        }
    }

    /// Makes the plan of a seed for several sessions and editors. Each session does about as much, and each editor has about
    /// as many faults, as in a plan for one.
    pub fn of_many(seed: u64, sessions: u8, editors: u8) -> Self {
        let mut plan = Self { sessions, editors, by_flag: false, early_end: None, ..Self::of(seed) };
        for more in 1..u64::from(sessions.max(editors)) {
            let faults = more < u64::from(editors);
            let other = Self::of(seed + (more << 32));
            let fits = |step: &Step| step.at + 100 < plan.heal_at;
            // `STRIKES_MAX` applies to each of the combined plans alone: several sessions and links have more actors, and
            // each supervision tree counts its own ends.
            plan.steps.extend(other.steps.into_iter().filter(fits).filter(|step| faults || !step.act.is_fault()));
        }
        plan.steps.sort_by_key(|step| step.at);
        plan
    }

    /// Whether there are several sessions or editors.
    pub fn is_of_several(&self) -> bool {
        self.sessions > 1 || self.editors > 1
    }

    /// Returns the part of this plan that the client with this number plays. Every second client names its project by its
    /// roots.
    pub fn of_session(&self, number: u8) -> Self {
        let mut turn = 0;
        let mut steps = self.steps.clone();
        steps.retain(|step| {
            let doing = !step.act.is_fault() || matches!(step.act, Act::PauseReading(_));
            turn += u32::from(doing);
            doing && turn % u32::from(self.sessions) == u32::from(number)
        });
        let early_end = self.early_end.filter(|_| number == 0);
        Self { steps, early_end, roots: number % 2 == 1 && !self.stateless, ..self.clone() }
    }

    /// Returns the part of this plan that breaks the editor with this number, and the wire to it.
    pub fn of_editor(&self, number: u8) -> Self {
        let mut turn = 0;
        let mut steps = self.steps.clone();
        steps.retain(|step| {
            turn += u32::from(step.act.is_fault());
            step.act.is_fault() && turn % u32::from(self.editors) == u32::from(number)
        });
        Self { steps, ..self.clone() }
    }

    /// Returns the same plan for an editor with this package.
    pub fn in_package(self, package: &'static Package) -> Self {
        // Without a project there is no file with what the greeting needs, and it is not known whose editor may connect.
        let by_flag = self.by_flag && !matches!(package.facts.port, Port::Record(..)) && !package.facts.dials;
        let version = if package == self.package { self.version } else { version(package, self.seed) };
        let (sessions, editors) = if package.facts.is_single() { (1, 1) } else { (self.sessions, self.editors) };
        Self { package, by_flag, version, sessions, editors, ..self }
    }

    /// Whether the editor must keep its port: because the gateway gets the port by a flag, because no file names it,
    /// or because the simulated network tells the machines of several editors apart by their ports.
    pub fn has_fixed_port(&self) -> bool {
        self.by_flag || self.package.facts.port == Port::Told || self.is_of_several()
    }

    /// Makes a plan with a steady client and no fault, to which a test adds its own steps.
    pub fn quiet(seed: u64) -> Self {
        let calls = (0..60).map(|n| Step {
            at: 100 + 50 * n,
            act: Act::Call(if n % 2 == 0 { Task::Echo } else { Task::Count }, n % 4 == 0),
        });
        Self {
            sessions: 1,
            editors: 1,
            by_flag: false,
            push: true,
            version: PACKAGES[0].newest(),
            early_end: None,
            editor_first: true,
            heal_at: 4000,
            steps: calls.collect(),
            ..Self::of(seed)
        }
    }

    /// Describes the plan: its settings, then one line for each step.
    pub fn lines(&self) -> String {
        let mut text = format!(
            "seed {} {:?} sessions {} editors {} by_flag {} push {} version {} honours_changes {} stateless {} patience {:?} latency {:?} editor_first {} heal_at {} \
             early_end {:?} broken {:?}\n",
            self.seed,
            self.package,
            self.sessions,
            self.editors,
            self.by_flag,
            self.push,
            self.version,
            self.honours_changes,
            self.stateless,
            self.patience,
            self.latency,
            self.editor_first,
            self.heal_at,
            self.early_end,
            self.broken
        );
        for step in &self.steps {
            text += &format!("  {:>6} ms  {:?}\n", step.at, step.act);
        }
        text
    }
}
