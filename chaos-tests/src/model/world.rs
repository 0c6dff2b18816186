//! One state of the model's world.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use holdfast::core::bridge::BridgeCore;
use holdfast::fsm::bridge::{Event, Timer};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::Loss;

use super::journal::Journal;
use super::line::Line;
use super::records::{Records, Word};
use super::seam::{Said, Seam};
use super::setting::{Broken, Kind, MAX_CALLS, Setting};

/// The armed timers of the bridge, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Timers(u16);

impl Timers {
    const ALL: [Timer; 7] =
        [Timer::Seek, Timer::Retry, Timer::Greeting, Timer::Liveness, Timer::Hope, Timer::Leave, Timer::Drain];

    /// Arms a timer.
    pub fn insert(&mut self, timer: Timer) {
        self.0 |= 1 << timer as u16;
    }

    /// Disarms a timer, either on the bridge's order or because it fires.
    pub fn remove(&mut self, timer: Timer) {
        self.0 &= !(1 << timer as u16);
    }

    /// Returns the armed timers.
    pub fn iter(self) -> impl Iterator<Item = Timer> {
        Self::ALL.into_iter().filter(move |timer| self.0 & (1 << *timer as u16) != 0)
    }
}

/// One incarnation of the bridge's actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    /// The real core of the bridge. It identifies a connection by its epoch.
    pub core: BridgeCore<()>,
    /// The timers that may fire.
    pub armed: Timers,
    /// Whether other actors find this actor under the bridge's address.
    pub enlisted: bool,
}

/// The editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Editor {
    /// Listens and works.
    Up,
    /// The main thread hangs: connections stay open, and nothing is read or answered.
    Frozen,
    /// The editor is between two domains, and nothing listens.
    Reloading,
    /// The editor's process has ended.
    Dead,
}

/// How far the end of the gateway has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The gateway runs.
    Running,
    /// No new call is held; calls that were sent may still be answered.
    Draining,
    /// The bridge was ordered to stop.
    Told,
    /// The supervision tree is being ended.
    Falling,
    /// No part of the gateway is left.
    Ended,
}

/// A message from a connection's task to the bridge's actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct News {
    /// The epoch of the connection.
    pub epoch: u64,
    /// What happened on it.
    pub event: Event,
}

/// A broken promise that only shows during a step, noted when it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A connection was opened, or a call claimed, after the end began.
    AfterStop = 1,
    /// A frame of a connection that had ended completed a call.
    OldFrame = 2,
    /// The editor was given more at once than its bridge accepts.
    Window = 4,
    /// The bridge's machine has no decision for an event.
    Surprise = 8,
    /// An outcome was given up although the journal knew it.
    Guessed = 16,
    /// A call was claimed after the editor's announcement that it quits was read.
    AfterGoodbye = 32,
    /// The outcome of a call was told as unknown after a hub had the answer and gave it out, a hub's late result is gone, or a call that
    /// was told to be running is not known to the next owner of its record.
    Forgotten = 64,
}

/// Facts that the promises need and that no part of the gateway knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// How often the editor ran each call.
    pub executions: [u8; MAX_CALLS],
    /// How often bytes of each call may have been sent. Not counted with a journal, which may prove that a call must be sent
    /// again.
    pub sent: [u8; MAX_CALLS],
    /// Number of answers to each call.
    pub answers: [u8; MAX_CALLS],
    /// The first verdict on each call.
    pub words: [Option<Word>; MAX_CALLS],
    /// The jobs whose name the gateway has read, as bits.
    pub named: u8,
    /// The calls that the client has made, as bits.
    pub accepted: u8,
    /// The calls whose answer a hub gave out, as bits.
    pub handed: u8,
    /// The calls whose late result a hub had, as bits.
    pub late: u8,
    /// Every connection up to this epoch has ended.
    pub over: u64,
    /// A bridge's machine has received the order to stop.
    pub stop_heard: bool,
    /// The [`Wrong`] values that were noted, as bits.
    pub wrong: u8,
}

/// One state of the model's world.
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
    /// Messages of connection tasks to the bridge, in order. Messages of other senders may overtake them.
    pub news: VecDeque<News>,
    /// Number of `CallsWaiting` messages on their way to the bridge.
    pub wakings: u8,
    /// The order to stop is on its way to the bridge.
    pub stop_under_way: bool,
    /// The connections whose tasks have not ended.
    pub lines: Vec<Line>,
    /// How many sockets that the gateway has closed still hold each call: the editor may still run it.
    pub adrift: [u8; MAX_CALLS],
    /// The editor's journal.
    pub journal: Journal,
    /// The editor process that each call was last sent to.
    pub sent_to: [u8; MAX_CALLS],
    /// An answer that the network has kept for later: the epoch of its connection, and its call.
    pub stray: Option<(u64, u8)>,
    /// The editor.
    pub editor: Editor,
    /// Discovery must still answer the bridge.
    pub discovery_asked: bool,
    /// The epoch of the connection that was greeted and is not hung up.
    pub linked: Option<u64>,
    /// An editor was lost a moment ago and had not announced that it quits, so it is expected back.
    pub hope: bool,
    /// The registry is about to ask for a list.
    pub registry_asks: bool,
    /// How far the end of the gateway has come.
    pub stage: Stage,
    /// Number of faults that may still happen.
    pub faults: u8,
    /// A deadline has passed, and the ledger has not handled it yet.
    pub due: bool,
    /// The records of sent calls, if the gateway is a hub.
    pub records: Option<Records>,
    /// The answers of a hub that its session has not read. They are lost with the hub.
    pub on_the_way: Vec<(u8, Word)>,
    /// The calls that the session must bring to the successor of its hub, as bits.
    pub away: u8,
    /// The calls among them whose session stood still for longer than their answers are kept, as bits.
    pub stale: u8,
    /// The hub makes way for another one.
    pub leaving: bool,
    /// Whether this gateway took its records from a hub, and editors know it by another name.
    pub renamed: bool,
    /// Facts that the promises need and that no part of the gateway knows.
    pub ghost: Ghost,
}

/// The state of the bridge's actor for its supervisor.
#[derive(Debug, Clone, Hash)]
pub enum Bridge {
    /// The actor runs.
    Alive(Actor),
    /// The actor has crashed, and its calls have not been cleaned up yet.
    Crashed,
    /// The calls that the actor had sent have their verdicts or are held again; its tasks are ending.
    Settled,
}

/// Worlds are compared by their digest, as the model checker does anyway.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl World {
    /// Returns a hash that identifies this state.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns a hash of the bridge and its connections' exchanges alone.
    pub fn parts(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        if let Bridge::Alive(actor) = &self.bridge {
            actor.core.hash(&mut hasher);
        }
        self.lines.iter().for_each(|line| line.exchange.hash(&mut hasher));
        hasher.finish()
    }

    /// Notes a broken promise.
    pub fn mark(&mut self, wrong: Wrong) {
        self.ghost.wrong |= wrong as u8;
    }

    /// Whether this was noted.
    pub fn is_wrong(&self, wrong: Wrong) -> bool {
        self.ghost.wrong & wrong as u8 != 0
    }

    /// Whether the client has made a call.
    pub fn accepted(&self, call: u8) -> bool {
        self.ghost.accepted & (1 << call) != 0
    }

    /// Whether the client waits for the answer to a call.
    pub fn awaited(&self, call: u8) -> bool {
        let index = usize::from(call);
        self.accepted(call) && self.ghost.answers[index] == 0 && self.ghost.words[index].is_none()
    }

    /// Whether the client waits for any answer.
    pub fn waits(&self) -> bool {
        (0..3).any(|call| self.awaited(call))
    }

    /// Returns the living bridge; `None` if it is not registered under its address.
    pub fn found(&self) -> Option<&Actor> {
        match &self.bridge {
            Bridge::Alive(actor) if actor.enlisted => Some(actor),
            Bridge::Alive(_) | Bridge::Crashed | Bridge::Settled => None,
        }
    }

    /// Returns a number for a new connection that nothing refers to any more. The gateway counts up. To the ledger a closed
    /// epoch is as unknown as one that never existed, so the model uses numbers again, which keeps the graph finite.
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

    /// Records the verdicts of the ledger, and wakes the bridge for a call that is held again.
    pub fn settle(&mut self, broken: Broken, said: Vec<Said>) {
        for word in said {
            match word {
                Said::Answer(call, verdict) if self.records.is_some() => self.hands_out(call, verdict.into(), broken),
                Said::Answer(call, verdict) => self.hears(call, verdict.into()),
                Said::Recorded(call, verdict) => self.records(|records| records.answered(call, verdict.into())),
                Said::Note(call, verdict) => {
                    self.records(|records| records.dropped(call));
                    self.ghost.words[usize::from(call)].get_or_insert(verdict.into());
                }
                Said::KeepLate(call) if broken == Broken::LateAnswerDelivered => {
                    self.ghost.answers[usize::from(call)] += 1;
                }
                // The client of a cancelled call wants no result.
                Said::KeepLate(call) if self.records.as_ref().is_some_and(|records| records.is_open(call)) => {
                    if broken != Broken::LateUnrecorded {
                        self.records(|records| records.answered(call, Word::Answered));
                    }
                    self.ghost.late |= 1 << call;
                }
                Said::KeepLate(_) => {}
                Said::HeldAgain => self.wake(),
            }
        }
    }

    /// Tells of a held call: the connection that is up, or else the bridge. One message on its way is enough.
    pub(super) fn wake(&mut self) {
        if let Some(epoch) = self.linked {
            self.lines.iter_mut().filter(|line| line.epoch() == epoch).for_each(|line| {
                line.exchange.look_for_calls();
                line.woken = true;
            });
        } else if self.found().is_some() {
            self.wakings = 1;
        }
    }

    /// The client reads an answer.
    pub(super) fn hears(&mut self, call: u8, word: Word) {
        let call = usize::from(call);
        self.ghost.answers[call] = self.ghost.answers[call].saturating_add(1);
        self.ghost.words[call].get_or_insert(word);
    }

    /// Does the same as [`settle`](World::settle), for events other than the clock's. Also notes a broken promise if an
    /// outcome is given up that the journal knows and that could still be asked for.
    pub fn settle_all(&mut self, setting: &Setting, said: Vec<Said>) {
        for word in &said {
            let (Said::Answer(call, Verdict::OutcomeUnknown(loss))
            | Said::Recorded(call, Verdict::OutcomeUnknown(loss))) = word
            else {
                continue;
            };
            let index = usize::from(*call);
            let is_known = match setting.calls.get(index) {
                Some(Kind::Journaled) => true,
                Some(Kind::Job) => self.ghost.named & (1 << *call) != 0 && self.journal.ran(*call),
                _ => false,
            };
            let kept = is_known
                && self.sent_to[index] == self.journal.process
                && self.editor != Editor::Dead
                && self.stage < Stage::Falling;
            // To a gateway of another name, that a journal has nothing of a call proves nothing.
            let is_no_proof = self.renamed && matches!(word, Said::Recorded(..)) && !self.journal.ran(*call);
            if kept && !is_no_proof && !matches!(loss, Loss::Interrupted | Loss::Shutdown) {
                self.mark(Wrong::Guessed);
            }
        }
        self.settle(setting.broken, said);
    }

    /// Sends the bridge an event of a connection. Does nothing if the bridge is not alive.
    pub fn tell(&mut self, epoch: u64, event: Event) {
        if matches!(&self.bridge, Bridge::Alive(_)) {
            self.news.push_back(News { epoch, event });
        }
    }
}

/// One line that describes the world for a person.
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

impl World {
    /// An answer goes out to the client. It is recorded first, and is on its way then.
    pub(super) fn hands_out(&mut self, call: u8, word: Word, broken: Broken) {
        if broken != Broken::AnswersUnrecorded {
            self.records(|records| records.answered(call, word));
        }
        if matches!(word, Word::Answered | Word::Refused) {
            self.ghost.handed |= 1 << call;
        }
        self.on_the_way.push((call, word));
    }

    /// Changes the records, if there are any.
    pub(super) fn records(&mut self, change: impl FnOnce(&mut Records)) {
        if let Some(records) = &mut self.records {
            change(records);
        }
    }

    /// Whether the session must bring this call to the hub.
    pub fn is_away(&self, call: u8) -> bool {
        self.away & (1 << call) != 0
    }

    /// The session cancels a call that the hub does not have, or has answered already. Returns whether it is such a call.
    pub(super) fn forgoes(&mut self, call: u8) -> bool {
        let answered = self.on_the_way.iter().any(|(of, _)| *of == call);
        let own = self.is_away(call) || answered;
        if own {
            self.away &= !(1 << call);
            self.on_the_way.retain(|(of, _)| *of != call);
            self.ghost.words[usize::from(call)].get_or_insert(Word::Cancelled);
        }
        own
    }
}
