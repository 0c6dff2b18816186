//! The real records of sent calls, and what a hub and its session know of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use holdfast::core::call_records::{CallRecords, Origin, Record, SentCall};
use holdfast::fsm::call::Verdict;
use holdfast::limits::hub::CALL_RECORD_MAX_AGE;
use holdfast::protocol::dialect::JournalKey;
use serde_json::value::RawValue;

use super::seam;
use super::setting::Kind;

/// How a call ended, in as much detail as the promises need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// The editor answered the call.
    Answered,
    /// The editor answered with an error; the call may or may not have run.
    Refused,
    /// The call did not run.
    NotExecuted,
    /// The call may have run.
    MayHaveRun,
    /// The call is still running.
    Runs,
    /// The client cancelled the call.
    Cancelled,
    /// Its hub and its session were killed, and a later gateway tells the client of it and gives its result by the call's id.
    Left,
    /// Its hub and its session were killed, and nobody tells of it: nothing of it was sent.
    Gone,
}

impl From<Verdict> for Word {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Answered,
            Verdict::ToolError => Self::Refused,
            Verdict::NotExecuted(_) => Self::NotExecuted,
            Verdict::OutcomeUnknown(_) => Self::MayHaveRun,
            Verdict::StillRunning => Self::Runs,
            Verdict::Cancelled => Self::Cancelled,
        }
    }
}

/// What happens to the records of a hub when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Harm {
    /// Nothing.
    None,
    /// The line with this number cannot be read any more.
    Line(u8),
    /// They are gone.
    Lost,
}

/// The real records, and what a hub and its session know of them.
#[derive(Debug, Clone, Default)]
pub struct Records {
    pub(super) records: Arc<CallRecords>,
    digest: u64,
    /// Whether this hub found a line that it could not read.
    pub(super) is_damaged: bool,
    /// Whether they do not name those of the hub to which the session was attached last before this one.
    pub(super) are_lost: bool,
    /// Whether the session has come to this hub.
    pub(super) attached: bool,
}

impl Hash for Records {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.digest, self.is_damaged, self.are_lost, self.attached).hash(hasher);
    }
}

pub(super) fn origin(call: u8) -> Origin {
    Origin { session: "s".into(), number: call.into() }
}

fn sent(call: u8) -> SentCall {
    SentCall {
        origin: origin(call),
        call: seam::id(call),
        tool: "t".into(),
        project: None,
        journal: None,
        repeatable: false,
        client: Default::default(),
    }
}

impl Records {
    pub(super) fn apply(&mut self, record: Record) {
        self.change(|records| records.apply(record, 0));
    }

    fn change(&mut self, change: impl FnOnce(&mut CallRecords)) {
        change(Arc::make_mut(&mut self.records));
        let records = &self.records;
        let mut hasher = DefaultHasher::new();
        records.lines().for_each(|line| serde_json::to_string(&line).unwrap_or_default().hash(&mut hasher));
        self.digest = hasher.finish();
    }

    /// Whether this call is on record, and its result is not.
    pub fn is_open(&self, call: u8) -> bool {
        self.records.is_sent(seam::id(call))
    }

    /// Returns the number of lines that may be damaged.
    pub fn lines(&self) -> usize {
        self.records.lines().count()
    }

    /// Another hub takes the records over, after this happened to them.
    pub(super) fn pass_on(&mut self, harm: Harm) {
        let lines: Vec<Record> = match harm {
            Harm::None => self.records.lines().collect(),
            Harm::Line(damaged) => {
                let whole = self.records.lines().enumerate().filter(|(line, _)| *line != usize::from(damaged));
                whole.map(|(_, line)| line).collect()
            }
            Harm::Lost => Vec::new(),
        };
        self.change(|records| {
            *records = CallRecords::default();
            lines.into_iter().for_each(|line| records.apply(line, 0));
        });
        self.is_damaged = matches!(harm, Harm::Line(_));
        // Records that are new or damaged name no former ones.
        self.are_lost = harm != Harm::None || self.are_lost && !self.attached;
        self.attached = false;
    }

    /// What was answered, and was not brought for so long, is deleted.
    pub fn expire(&mut self) {
        let most = CALL_RECORD_MAX_AGE.as_secs();
        self.change(|records| {
            records.expire(0, most, most);
        });
    }

    /// The session has come to this hub.
    pub fn attach(&mut self) {
        self.attached = true;
    }

    /// Records that a call is about to be sent.
    pub fn sent(&mut self, call: u8, kind: Kind, key: Option<JournalKey>) {
        self.apply(Record::Sent(SentCall {
            journal: key.filter(|_| kind == Kind::Journaled),
            repeatable: kind == Kind::Repeatable,
            ..sent(call)
        }));
    }

    /// Records that the editor runs a call as a job.
    pub fn is_job(&mut self, call: u8, journal: JournalKey) {
        if self.records.is_sent(seam::id(call)) {
            self.apply(Record::Job { call: seam::id(call), journal });
        }
    }

    /// Records that the client is told of an unknown outcome, although no call is on record.
    pub(super) fn unknown(&mut self, call: u8) {
        self.apply(Record::Sent(sent(call)));
        self.answered(call, Word::MayHaveRun);
    }

    /// Deletes the record of a call of which no byte was written, or whose client wants no answer.
    pub fn dropped(&mut self, call: u8) {
        if self.records.is_sent(seam::id(call)) {
            self.apply(Record::Dropped { call: seam::id(call) });
        }
    }

    /// Records that the client of a call asks for it by its id from now on.
    pub(super) fn told(&mut self, call: u8) {
        if let Some(origin) = self.records.untold(seam::id(call)) {
            self.apply(Record::Told { call: seam::id(call) });
            self.apply(Record::Delivered(origin));
        }
    }

    /// Records an answer to a call that was sent.
    pub fn answered(&mut self, call: u8, word: Word) {
        if self.records.is_sent(seam::id(call))
            && let Ok(result) = RawValue::from_string((word as u8).to_string())
        {
            let (runs_on, unknown) = (word == Word::Runs, word == Word::MayHaveRun);
            self.apply(Record::Answered { call: seam::id(call), result, runs_on, unknown, at: None });
        }
    }
}

/// Returns the word that a record has as its result.
pub(super) fn word(result: &RawValue) -> Word {
    let all = [Word::Answered, Word::Refused, Word::NotExecuted, Word::MayHaveRun, Word::Runs, Word::Cancelled];
    all.into_iter().find(|word| result.get() == (*word as u8).to_string()).unwrap_or(Word::MayHaveRun)
}
