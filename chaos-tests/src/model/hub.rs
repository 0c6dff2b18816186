//! A hub that is killed and replaced: the real records of sent calls, the answers on their way to the sessions, and the requests
//! that the sessions bring to the successor.
//!
//! If its session is killed with it, nobody brings a request: the next gateway has the records only, whether it is a hub or not.
//!
//! What becomes of each record and request is decided by the gateway's own functions (`core::call_records`). A record that is cut off
//! by the kill is one that was not made.

use std::time::Duration;

use holdfast::core::call_records::fate::{Adopter, Asker, Facts, Fate, Takeover, fate};
use holdfast::core::call_records::{Left, Record};
use holdfast::limits::hub::CALL_RECORD_MAX_AGE;

use super::action::Next;
use super::bridge;
use super::records::{Harm, Records, Word, origin, word};
use super::seam::{self, Seam};
use super::setting::Broken;
use super::step::Step;
use super::world::{Bridge, Stage, World, Wrong};

impl Step<'_> {
    /// The hub ends or is killed, and its successor starts with the records. A session that ends has no successor: it reads the
    /// records itself.
    pub(super) fn hub_ends(&mut self, harm: Harm) {
        let broken = self.setting.broken;
        self.process_ends();
        let world = &mut *self.world;
        world.away = (0..8).filter(|call| *call < 3 && world.awaited(*call)).map(|call| 1 << call).sum();
        if harm != Harm::None {
            // What is damaged or lost may be forgotten.
            (world.ghost.handed, world.ghost.late) = (0, 0);
        }
        // A gateway without a hub looks first. It takes what is not the session's, which lives.
        let asker = if broken == Broken::TakesFromTheLiving { Asker::Killed } else { Asker::Lives };
        world.records(|records| {
            let taken = records.records.left().into_iter().filter(|left| left.is_left_behind(asker));
            taken.for_each(|left| records.apply(Record::Dropped { call: left.sent.call }));
        });
        world.records(|records| {
            let before = records.are_lost && !records.attached;
            records.pass_on(harm);
            if matches!(broken, Broken::DamageUnseen | Broken::DamageForgotten) {
                records.are_lost = before;
                records.is_damaged &= broken == Broken::DamageForgotten;
            }
        });
        if broken == Broken::SecondHub {
            world.records = Some(Records::default());
        }
        if world.stage >= Stage::Draining {
            return self.ends_without_a_hub();
        }
        bridge::begin(world, self.setting);
        let left = world.records.as_ref().map(|records| records.records.left()).unwrap_or_default();
        self.take_over(left, false);
    }

    /// The hub and its session are killed, and the client starts another session, with a hub or without one. It waits for nothing any
    /// more, and is told of what may have run.
    pub(super) fn both_killed(&mut self, next: Next) {
        let broken = self.setting.broken;
        self.process_ends();
        let world = &mut *self.world;
        (world.away, world.stale) = (0, 0);
        let mut left = world.records.as_ref().map(|records| records.records.left()).unwrap_or_default();
        // A call that was told to be running, and has not ended.
        let run_on: Vec<u8> = left.iter().filter(|left| left.told).map(|left| seam::number(left.sent.call)).collect();
        left.retain(|left| broken != Broken::ToldForgotten || !left.told);
        match next {
            Next::Hub => world.records(|records| records.pass_on(Harm::None)),
            Next::Gateway => {
                left.retain(|left| left.is_left_behind(Asker::Killed));
                world.records = Some(Records::default());
                world.records(|records| {
                    left.iter().flat_map(|left| left.lines(true)).for_each(|line| records.apply(line));
                });
            }
        }
        bridge::begin(world, self.setting);
        let is_to_be_told =
            |left: &&Left| left.is_to_be_told(Asker::Killed) && !(broken == Broken::RunningCountsAsTold && left.told);
        for left in left.iter().filter(is_to_be_told) {
            let call = seam::number(left.sent.call);
            self.world.hears(call, Word::Left);
            if broken != Broken::TellingUnrecorded {
                self.world.records(|records| records.told(call));
            }
        }
        self.world.renamed = next == Next::Gateway;
        self.take_over(left, next == Next::Gateway);
        let world = &mut *self.world;
        if run_on.into_iter().any(|call| !world.ledger.knows(call)) {
            world.mark(Wrong::Forgotten);
        }
        for call in (0..3).filter(|call| world.awaited(*call)).collect::<Vec<u8>>() {
            world.ghost.words[usize::from(call)] = Some(Word::Gone);
        }
    }

    /// The process of the hub ends, whatever it was doing.
    fn process_ends(&mut self) {
        self.forget_messages();
        while !self.world.lines.is_empty() {
            self.fall(0);
        }
        let world = &mut *self.world;
        world.on_the_way.clear();
        world.ledger = Seam::default();
        (world.linked, world.hope, world.due, world.leaving) = (None, false, false, false);
        (world.discovery_asked, world.registry_asks, world.renamed) = (false, false, false);
    }

    /// The next owner of the records does with each what it does before any client comes.
    fn take_over(&mut self, left: Vec<Left>, of_another_gateway: bool) {
        let broken = self.setting.broken;
        for left in left {
            match left.takeover() {
                Takeover::Keep(sent, result, verdict) => self.world.ledger.keep_found(&sent, verdict, result.get()),
                Takeover::Seek(sent) if broken == Broken::SendsRecordedAgain => {
                    self.world.records(|records| records.dropped(seam::number(sent.call)));
                }
                Takeover::Seek(sent) => {
                    let said = self.world.ledger.recover(&sent, of_another_gateway);
                    self.world.settle_all(self.setting, said);
                }
            }
        }
        let world = &mut *self.world;
        if (0..3).any(|call| world.ghost.late & (1 << call) != 0 && !world.ledger.has_result(call)) {
            world.mark(Wrong::Forgotten);
        }
    }

    /// Decides what becomes of a request that the session has sent to an earlier hub.
    fn fate(&self, call: u8, adopter: Adopter) -> Fate {
        let World { records, stale, stage, .. } = &*self.world;
        let records = records.as_ref();
        let is_old = stale & (1 << call) != 0 && self.setting.broken != Broken::OldIsNew;
        fate(Facts {
            known: records.and_then(|records| records.records.known(&origin(call))),
            was_sent: true,
            are_lost: records.is_some_and(|records| records.are_lost),
            is_damaged: records.is_some_and(|records| records.is_damaged),
            waited: if is_old { CALL_RECORD_MAX_AGE } else { Duration::ZERO },
            is_ending: *stage > Stage::Running,
            adopter,
        })
    }

    /// The session brings a request to the successor.
    pub(super) fn bring(&mut self, call: u8) {
        self.world.away &= !(1 << call);
        self.world.records(Records::attach);
        let mut next = self.fate(call, Adopter::Owner);
        if let Fate::Adopt { .. } = next {
            if let Some(said) = self.world.ledger.adopt(call) {
                return self.world.settle_all(self.setting, said);
            }
            next = self.fate(call, Adopter::Lacks(seam::id(call)));
        }
        let word = match next {
            Fate::New => return self.accept(call, false),
            Fate::Again => return self.accept(call, self.setting.broken != Broken::AgainIsNew),
            Fate::Answered(result) => word(&result),
            Fate::Adopt { .. } | Fate::Unknown(Some(_)) => Word::MayHaveRun,
            Fate::Unknown(None) => {
                if self.setting.broken != Broken::UnknownUnrecorded {
                    self.world.records(|records| records.unknown(call));
                }
                Word::MayHaveRun
            }
        };
        self.world.on_the_way.push((call, word));
    }

    /// The session ends when its hub has gone, and says what is on record of each request.
    fn ends_without_a_hub(&mut self) {
        let away: Vec<u8> = (0..3).filter(|call| self.world.is_away(*call)).collect();
        for call in away {
            let word = match self.fate(call, Adopter::Reader) {
                Fate::New => Word::NotExecuted,
                Fate::Answered(result) => word(&result),
                Fate::Again | Fate::Adopt { .. } | Fate::Unknown(_) => Word::MayHaveRun,
            };
            self.tell(call, word);
        }
        let world = &mut *self.world;
        (world.away, world.bridge, world.stage) = (0, Bridge::Settled, Stage::Ended);
    }

    /// The hub makes way: it gives back what it has not sent, and takes nothing new.
    pub(super) fn hub_leaves(&mut self) {
        self.world.leaving = true;
        for call in self.world.ledger.release_held() {
            self.world.away |= 1 << call;
        }
    }

    /// The process of the session stands still, for longer than its answers are kept.
    pub(super) fn stands_still(&mut self) {
        let world = &mut *self.world;
        world.stale |= world.away;
        world.ghost.handed &= !world.stale;
        world.records(Records::expire);
    }

    fn tell(&mut self, call: u8, word: Word) {
        let ghost = &mut self.world.ghost;
        if matches!(word, Word::MayHaveRun | Word::Runs) && ghost.handed & (1 << call) != 0 {
            self.world.mark(Wrong::Forgotten);
        }
        self.world.hears(call, word);
    }

    /// The session reads the next answer, and passes it on to its client.
    pub(super) fn deliver(&mut self) {
        let (call, word) = self.world.on_the_way.remove(0);
        self.tell(call, word);
        self.world.records(|records| records.apply(Record::Delivered(origin(call))));
    }
}
