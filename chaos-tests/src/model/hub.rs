//! A hub that is killed and replaced: the real records of sent calls, the answers on their way to the sessions, and the requests
//! that the sessions bring to the successor.
//!
//! What the gateway's shell does with the records is done here in the same order (`src/transport/hub.rs`, `src/link/records.rs`).
//! A record that is cut off by the kill is one that was not made.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use holdfast::core::call_records::{CallRecords, Known, Origin, Record, SentCall};
use holdfast::protocol::dialect::JournalKey;
use serde_json::value::RawValue;

use super::bridge;
use super::seam::{self, Seam};
use super::setting::{Broken, Kind};
use super::step::Step;
use super::world::{Stage, Word, World, Wrong};

/// The real records.
#[derive(Debug, Clone, Default)]
pub struct Records {
    records: Arc<CallRecords>,
    digest: u64,
}

impl Hash for Records {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

fn origin(call: u8) -> Origin {
    Origin { session: "s".into(), number: call.into() }
}

impl Records {
    fn apply(&mut self, record: Record) {
        let records = Arc::make_mut(&mut self.records);
        records.apply(record, 0);
        let mut hasher = DefaultHasher::new();
        records.lines().for_each(|line| serde_json::to_string(&line).unwrap_or_default().hash(&mut hasher));
        self.digest = hasher.finish();
    }

    /// Records that a call is about to be sent.
    pub fn sent(&mut self, call: u8, kind: Kind, key: Option<JournalKey>) {
        self.apply(Record::Sent(SentCall {
            origin: origin(call),
            call: seam::id(call),
            tool: "t".into(),
            project: None,
            journal: key.filter(|_| kind == Kind::Journaled),
            repeatable: kind == Kind::Repeatable,
            client: Default::default(),
        }));
    }

    /// Deletes the record of a call of which no byte was written, or whose client wants no answer.
    pub fn dropped(&mut self, call: u8) {
        if self.records.is_sent(seam::id(call)) {
            self.apply(Record::Dropped { call: seam::id(call) });
        }
    }

    /// Records an answer to a call that was sent.
    pub fn answered(&mut self, call: u8, word: Word) {
        if self.records.is_sent(seam::id(call))
            && let Ok(result) = RawValue::from_string((word as u8).to_string())
        {
            let unknown = word == Word::MayHaveRun;
            self.apply(Record::Answered { call: seam::id(call), result, runs_on: false, unknown, at: None });
        }
    }
}

/// Returns the word that a record has as its result.
fn word(result: &RawValue) -> Word {
    let all = [Word::Answered, Word::Refused, Word::NotExecuted, Word::MayHaveRun, Word::Cancelled];
    all.into_iter().find(|word| result.get() == (*word as u8).to_string()).unwrap_or(Word::MayHaveRun)
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

impl Step<'_> {
    /// The hub is killed, and its successor starts with the records.
    pub(super) fn hub_crashes(&mut self) {
        let broken = self.setting.broken;
        self.forget_messages();
        while !self.world.lines.is_empty() {
            self.fall(0);
        }
        let world = &mut *self.world;
        world.away = (0..8).filter(|call| *call < 3 && world.awaited(*call)).map(|call| 1 << call).sum();
        world.on_the_way.clear();
        world.ledger = Seam::default();
        (world.linked, world.hope, world.due) = (None, false, false);
        (world.discovery_asked, world.registry_asks) = (false, false);
        if broken == Broken::SecondHub {
            world.records = Some(Records::default());
        }
        bridge::begin(world, self.setting);
        let left = world.records.as_ref().map(|records| records.records.left()).unwrap_or_default();
        let unanswered = left.into_iter().filter(|left| left.result.is_none()).map(|left| left.sent);
        for sent in unanswered.collect::<Vec<SentCall>>() {
            if broken == Broken::SendsRecordedAgain {
                self.world.records(|records| records.dropped(seam::number(sent.call)));
                continue;
            }
            let said = self.world.ledger.recover(&sent);
            self.world.settle_all(self.setting, said);
        }
    }

    /// The session brings a request to the successor.
    pub(super) fn bring(&mut self, call: u8) {
        self.world.away &= !(1 << call);
        let known = |world: &World| world.records.as_ref().and_then(|records| records.records.known(&origin(call)));
        match known(self.world) {
            None => self.accept(call),
            Some(Known::Repeatable(_)) if self.world.stage == Stage::Running => self.accept(call),
            Some(Known::Answered(result) | Known::Repeatable(result)) => {
                self.world.on_the_way.push((call, word(&result)));
            }
            Some(Known::Sent(sent)) => match self.world.ledger.adopt(call) {
                Some(said) => self.world.settle_all(self.setting, said),
                None if sent.repeatable => self.accept(call),
                None => self.world.on_the_way.push((call, Word::MayHaveRun)),
            },
        }
    }

    /// The session reads the next answer, and passes it on to its client.
    pub(super) fn deliver(&mut self) {
        let (call, word) = self.world.on_the_way.remove(0);
        let ghost = &mut self.world.ghost;
        if word == Word::MayHaveRun && ghost.handed & (1 << call) != 0 {
            self.world.mark(Wrong::Forgotten);
        }
        self.world.hears(call, word);
        self.world.records(|records| records.apply(Record::Delivered(origin(call))));
    }
}
