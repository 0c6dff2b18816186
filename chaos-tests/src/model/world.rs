//! One state of the world.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use holdfast::core::bridge::BridgeCore;
use holdfast::fsm::bridge::{Event, Timer};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::Loss;

use super::journal::Journal;
use super::line::Line;
use super::seam::{Said, Seam};
use super::setting::{Broken, Kind, MAX_CALLS, Setting};

/// Armed timers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Timers(u16);

impl Timers {
    const ALL: [Timer; 9] = [
        Timer::Seek,
        Timer::Retry,
        Timer::Greeting,
        Timer::Stall,
        Timer::Silence,
        Timer::Liveness,
        Timer::Hope,
        Timer::Leave,
        Timer::Drain,
    ];

    /// A timer is armed.
    pub fn insert(&mut self, timer: Timer) {
        self.0 |= 1 << timer as u16;
    }

    /// A timer fires, or is disarmed.
    pub fn remove(&mut self, timer: Timer) {
        self.0 &= !(1 << timer as u16);
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Timer> {
        Self::ALL.into_iter().filter(move |timer| self.0 & (1 << *timer as u16) != 0)
    }
}

/// An incarnation of the bridge's actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    /// The gateway's own part of it; a connection is found by its epoch.
    pub core: BridgeCore<()>,
    /// Timers that may fire.
    pub armed: Timers,
    /// Others find it under its address.
    pub enlisted: bool,
}

/// The editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Editor {
    /// Listens and works.
    Up,
    /// Connected peers stay so, and hear nothing.
    Frozen,
    /// Between two domains: nothing listens.
    Reloading,
    /// Its process is gone.
    Dead,
}

/// How far the gateway's end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// It runs.
    Running,
    /// Nothing new is held; what was sent may still answer.
    Draining,
    /// The bridge was told to stop.
    Told,
    /// The tree is being taken down.
    Falling,
    /// Nothing of it is left.
    Ended,
}

/// A message from a connection's task to the bridge's actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct News {
    /// Whose.
    pub epoch: u64,
    /// What it says.
    pub event: Event,
}

/// What can be broken of a promise by one step, as it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// Something was dialled or claimed after the end began.
    AfterStop = 1,
    /// A frame of a connection that is over completed a call.
    OldFrame = 2,
    /// More was given to the editor at once than its bridge takes.
    Window = 4,
    /// The bridge's machine met an event that nobody decided.
    Surprise = 8,
    /// An outcome was given up that the journal knew.
    Guessed = 16,
    /// A call was claimed after the editor's goodbye was read.
    AfterGoodbye = 32,
}

/// How a call ended, as far as promises ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// The editor's answer of a call that it ran.
    Answered,
    /// The editor's answer that it did not do it.
    Refused,
    /// Nothing of it left.
    NotExecuted,
    /// It may have run, or runs still.
    MayHaveRun,
    /// The client wants no answer.
    Cancelled,
}

impl From<Verdict> for Word {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Answered,
            Verdict::ToolError => Self::Refused,
            Verdict::NotExecuted(_) => Self::NotExecuted,
            Verdict::OutcomeUnknown(_) | Verdict::StillRunning => Self::MayHaveRun,
            Verdict::Cancelled => Self::Cancelled,
        }
    }
}

/// What only the observer knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// How often the editor ran each call.
    pub executions: [u8; MAX_CALLS],
    /// How often bytes of each call may have left.
    pub sent: [u8; MAX_CALLS],
    /// Answers to each call.
    pub answers: [u8; MAX_CALLS],
    /// What was said of each call first.
    pub words: [Option<Word>; MAX_CALLS],
    /// Calls that the client made, as bits.
    pub accepted: u8,
    /// Connections up to this epoch are over.
    pub over: u64,
    /// A bridge's machine was told to stop.
    pub stop_heard: bool,
    /// [`Wrong`] bits.
    pub wrong: u8,
}

/// See the module's documentation.
#[derive(Debug, Clone, Hash)]
#[expect(
    clippy::derived_hash_with_manual_eq,
    reason = "equal worlds are those of equal hash: that is what a walk goes by"
)]
pub struct World {
    /// The real ledger.
    pub ledger: Seam,
    /// The bridge's actor.
    pub bridge: Bridge,
    /// What connection tasks told it, in order. Other messages come from elsewhere and may overtake these.
    pub news: VecDeque<News>,
    /// `CallsWaiting` messages under way to it.
    pub wakings: u8,
    /// The order to stop is under way to it.
    pub stop_under_way: bool,
    /// Connection tasks that have not fallen.
    pub lines: Vec<Line>,
    /// Calls in sockets that our side has left: the editor may still run them.
    pub adrift: [u8; MAX_CALLS],
    /// What the editor's journal knows.
    pub journal: Journal,
    /// The process of the editor that each call was sent to last.
    pub sent_to: [u8; MAX_CALLS],
    /// A reply that the network has kept: its epoch and call.
    pub stray: Option<(u64, u8)>,
    /// The editor.
    pub editor: Editor,
    /// Discovery owes an answer.
    pub discovery_asked: bool,
    /// The connection that is greeted and not hung up.
    pub linked: Option<u64>,
    /// An editor was lost a moment ago, and did not quit.
    pub hope: bool,
    /// The registry is about to ask for a list.
    pub registry_asks: bool,
    /// How far the end is.
    pub stage: Stage,
    /// Faults that may still happen.
    pub faults: u8,
    /// A deadline has come that the clock has not taken yet.
    pub due: bool,
    /// What only the observer knows.
    pub ghost: Ghost,
}

/// The bridge's actor as its supervisor sees it.
#[derive(Debug, Clone, Hash)]
pub enum Bridge {
    /// It runs.
    Alive(Actor),
    /// It crashed; nothing was settled yet.
    Crashed,
    /// What it held is settled; its tasks are falling.
    Settled,
}

/// The digest decides: a walk tells states apart by it anyway.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl World {
    /// A number that stands for this state.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// A number for the bridge and its connections' exchanges alone.
    pub fn parts(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        if let Bridge::Alive(actor) = &self.bridge {
            actor.core.hash(&mut hasher);
        }
        self.lines.iter().for_each(|line| line.exchange.hash(&mut hasher));
        hasher.finish()
    }

    /// Notes that something went wrong.
    pub fn mark(&mut self, wrong: Wrong) {
        self.ghost.wrong |= wrong as u8;
    }

    /// Whether something went wrong.
    pub fn is_wrong(&self, wrong: Wrong) -> bool {
        self.ghost.wrong & wrong as u8 != 0
    }

    /// Whether the client made a call.
    pub fn accepted(&self, call: u8) -> bool {
        self.ghost.accepted & (1 << call) != 0
    }

    /// Whether the client waits for a call.
    pub fn awaited(&self, call: u8) -> bool {
        let index = usize::from(call);
        self.accepted(call) && self.ghost.answers[index] == 0 && self.ghost.words[index].is_none()
    }

    /// Whether the client waits for anything.
    pub fn waits(&self) -> bool {
        (0..3).any(|call| self.awaited(call))
    }

    /// The living bridge, if it can be found under its address.
    pub fn found(&self) -> Option<&Actor> {
        match &self.bridge {
            Bridge::Alive(actor) if actor.enlisted => Some(actor),
            Bridge::Alive(_) | Bridge::Crashed | Bridge::Settled => None,
        }
    }

    /// A number for a new connection that nothing refers to any more. (The gateway counts up; to the ledger, an epoch that
    /// was closed is as unknown as one that never was, and numbers used again keep the graph finite.)
    pub fn next_epoch(&mut self) -> u64 {
        let lines = self.lines.iter().map(Line::epoch);
        let letters = self.news.iter().map(|news| news.epoch);
        let kept = self.stray.iter().map(|(epoch, _)| *epoch);
        let kept = kept.chain(self.linked);
        let used = lines.chain(letters).chain(kept).chain(self.ledger.newest_open()).max();
        let next = used.unwrap_or_default() + 1;
        self.ghost.over = self.ghost.over.min(next - 1);
        next
    }

    /// Takes down what the ledger said.
    pub fn settle(&mut self, broken: Broken, said: Vec<Said>) {
        for word in said {
            match word {
                Said::Answer(call, verdict) => {
                    let call = usize::from(call);
                    self.ghost.answers[call] = self.ghost.answers[call].saturating_add(1);
                    self.ghost.words[call].get_or_insert(verdict.into());
                }
                Said::Note(call, verdict) => {
                    self.ghost.words[usize::from(call)].get_or_insert(verdict.into());
                }
                Said::KeepLate(call) if broken == Broken::LateAnswerDelivered => {
                    self.ghost.answers[usize::from(call)] += 1;
                }
                Said::KeepLate(_) => {}
                // One that is under way says as much as two.
                Said::HeldAgain if self.found().is_some() => self.wakings = self.wakings.max(1),
                Said::HeldAgain => {}
            }
        }
    }

    /// As [`settle`](World::settle), of what the clock did not bring: an outcome that is given up must be one that no journal has,
    /// or one that nobody is left to ask for.
    pub fn settle_all(&mut self, setting: &Setting, said: Vec<Said>) {
        for word in &said {
            let Said::Answer(call, Verdict::OutcomeUnknown(loss)) = word else { continue };
            let index = usize::from(*call);
            let kept = setting.calls.get(index) == Some(&Kind::Journaled)
                && self.sent_to[index] == self.journal.process
                && self.editor != Editor::Dead
                && self.stage < Stage::Falling;
            if kept && !matches!(loss, Loss::Interrupted | Loss::Shutdown) {
                self.mark(Wrong::Guessed);
            }
        }
        self.settle(setting.broken, said);
    }

    /// A message to the bridge from a task of the same incarnation.
    pub fn tell(&mut self, epoch: u64, event: Event) {
        if matches!(&self.bridge, Bridge::Alive(_)) {
            self.news.push_back(News { epoch, event });
        }
    }
}

/// One line for a person.
impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bridge = match &self.bridge {
            Bridge::Alive(actor) => actor.core.state().into(),
            Bridge::Crashed => "crashed",
            Bridge::Settled => "settled",
        };
        write!(f, "bridge {bridge}, editor {:?}, lines", self.editor)?;
        for line in &self.lines {
            write!(f, " {}{}", line.epoch(), if line.hung_up { "(left)" } else { "" })?;
        }
        write!(f, "; {}", self.ledger.describe())
    }
}
