//! The ledger as the model uses it: the real one, at a clock that stands still until a deadline is taken.
//!
//! All operations happen at one instant; only [`Seam::elapse`] goes to the next deadline, and back. So every deadline may come
//! before or after every other event, which is more than real time allows. The seams that a broken world breaks are here.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdfast::core::calls::{Ledger, NewCall, Settlement, Terms};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::{Cause, Loss, Outlook};
use holdfast::limits::PATIENCE_MARGIN;
use holdfast::protocol::dialect::{AnswerBody, EditorAnswer, JournalKey, Recovery};
use holdfast::protocol::ids::{CallId, Epoch, RequestKey, SessionId};
use holdfast::protocol::mcp::ProtocolVersion;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::journal::{Sending, Status};
use super::world::{Kind, MAX_CALLS};

/// The instant at which everything happens.
fn now() -> Instant {
    static NOW: OnceLock<Instant> = OnceLock::new();
    *NOW.get_or_init(Instant::now)
}

fn id(call: u8) -> CallId {
    CallId::from_random([call; 16])
}

fn request(call: u8) -> RequestKey {
    RequestKey::new(SessionId::STDIO, u64::from(call))
}

fn number(id: CallId) -> u8 {
    (0..u8::try_from(MAX_CALLS).unwrap_or(u8::MAX)).find(|call| self::id(*call) == id).unwrap_or_default()
}

fn answer() -> EditorAnswer {
    EditorAnswer { is_error: false, body: AnswerBody::Text("done".to_owned()) }
}

/// What the live list and the dialect say of a call when it is sent.
pub fn terms(kind: Kind, key: Option<JournalKey>) -> Terms {
    let recovery = match kind {
        Kind::Journaled => key.map_or(Recovery::None, Recovery::Journal),
        Kind::Plain | Kind::Repeatable => Recovery::None,
        Kind::Reported => Recovery::ResultFile { path: "r".to_owned(), busy_files: &[], quiet: Duration::ZERO },
        Kind::Inferred => Recovery::Inferred,
    };
    Terms { recovery, tool_timeout: Duration::ZERO, repeatable: kind == Kind::Repeatable }
}

fn key((call, nth): Sending, process: u8) -> JournalKey {
    JournalKey { journal: process.to_string(), id: format!("{call}.{nth}"), seq: u64::from(nth) }
}

/// What the ledger said about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The client was answered.
    Answer(u8, Verdict),
    /// The client is not answered: it cancelled, or was answered before.
    Note(u8, Verdict),
    /// A late answer is kept.
    KeepLate(u8),
}

fn said(settlements: Vec<Settlement>) -> Vec<Said> {
    let words = settlements.into_iter().filter_map(|settlement| match settlement {
        Settlement::Answer(answer) => Some(Said::Answer(number(answer.call), answer.verdict)),
        Settlement::Noted { call, verdict, .. } => Some(Said::Note(number(call), verdict)),
        Settlement::KeepLate { call, .. } => Some(Said::KeepLate(number(call))),
        Settlement::Progress { .. } | Settlement::HeldAgain | Settlement::Withdraw { .. } => None,
    });
    words.collect()
}

/// The real ledger, shared between the states in which it is the same.
#[derive(Debug, Clone)]
pub struct Seam {
    ledger: Arc<Ledger>,
    digest: u64,
    open: Vec<u64>,
    /// Which sending of a call the next one is; follows from the ledger.
    nths: [u8; MAX_CALLS],
}

impl Default for Seam {
    fn default() -> Self {
        let mut seam = Self { ledger: Arc::default(), digest: 0, open: Vec::new(), nths: [0; MAX_CALLS] };
        seam.change(|_| ());
        seam
    }
}

impl Hash for Seam {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.digest, &self.open).hash(hasher);
    }
}

impl Seam {
    fn change<T>(&mut self, operation: impl FnOnce(&mut Ledger) -> T) -> T {
        let ledger = Arc::make_mut(&mut self.ledger);
        let value = operation(ledger);
        let mut hasher = DefaultHasher::new();
        ledger.hash(&mut hasher);
        self.digest = hasher.finish();
        value
    }

    /// A client's call. A lower rank runs out of patience first.
    pub fn accept(&mut self, call: u8, rank: u8) -> Vec<Said> {
        let new = NewCall {
            id: id(call),
            request: request(call),
            tool: "t".to_owned(),
            arguments: RawValue::NULL.to_owned().into(),
            progress_token: None,
            trace: None,
            asker: None,
            parallel: true,
            patience: PATIENCE_MARGIN + Duration::from_secs(10 + u64::from(rank)),
            audience: ProtocolVersion::LATEST.into(),
        };
        said(self.change(|ledger| ledger.accept(new, now())))
    }

    /// The client cancels.
    pub fn cancel(&mut self, call: u8) -> Vec<Said> {
        said(self.change(|ledger| ledger.cancel(request(call), now()).1))
    }

    /// The gateway begins to end.
    pub fn drain(&mut self) -> Vec<Said> {
        said(self.change(|ledger| ledger.drain(now())))
    }

    /// A connection may claim.
    pub fn open_epoch(&mut self, epoch: u64) {
        self.open.push(epoch);
        self.change(|ledger| ledger.open_epoch(Epoch(epoch)));
    }

    /// The newest epoch that was opened and not closed.
    pub fn newest_open(&self) -> Option<u64> {
        self.open.iter().max().copied()
    }

    /// A connection is over.
    pub fn close_epoch(&mut self, epoch: u64, loss: Loss) -> Vec<Said> {
        self.open.retain(|open| *open != epoch);
        said(self.change(|ledger| ledger.close_epoch(Epoch(epoch), loss, now())))
    }

    /// Whoever owned connections is gone.
    pub fn close_all_epochs(&mut self, loss: Loss) -> Vec<Said> {
        self.open.clear();
        said(self.change(|ledger| ledger.close_all_epochs(loss, now())))
    }

    /// The next call to be sent.
    pub fn reserve(&mut self, epoch: u64) -> Option<u8> {
        let held = self.change(|ledger| ledger.reserve(Epoch(epoch)))?;
        let call = number(held.id);
        self.nths[usize::from(call)] = held.nth;
        Some(call)
    }

    /// Whether a call waits for somebody to send it.
    pub fn has_held(&self) -> bool {
        self.ledger.has_held()
    }

    /// The last step before the first byte. `None`: refused. `late`: it is made when the call was held as long as it may be.
    /// `process`: that of the editor, if it keeps a journal that is asked.
    pub fn claim(&mut self, call: u8, kind: Kind, epoch: u64, late: bool, process: Option<u8>) -> Option<Vec<Said>> {
        let at = if late { self.ledger.next_deadline().unwrap_or_else(now) } else { now() };
        let key = process.map(|process| key((call, self.nth(call)), process));
        self.change(|ledger| ledger.claim(id(call), Epoch(epoch), terms(kind, key), at)).ok().map(said)
    }

    /// Which sending of a call was reserved last.
    pub fn nth(&self, call: u8) -> u8 {
        self.nths[usize::from(call)]
    }

    /// The sendings whose outcome a process's journal is to be asked for.
    pub fn sought(&self, process: u8) -> Vec<Sending> {
        let of = |(call, how): (CallId, Recovery)| match how {
            Recovery::Journal(known) if known.journal == process.to_string() => {
                Some((number(call), u8::try_from(known.seq).unwrap_or(u8::MAX)))
            }
            _ => None,
        };
        self.ledger.recovering().into_iter().filter_map(of).collect()
    }

    /// The journals of all processes but this one are gone.
    pub fn journals_gone(&mut self, but: Option<u8>) -> Vec<Said> {
        let but = but.map(|process| process.to_string());
        said(self.change(|ledger| ledger.journals_gone(but.as_deref(), now())))
    }

    /// The journal's word on a sending; `any`: taken for whatever sending of the call there is.
    pub fn told(&mut self, sending: Sending, process: u8, status: Status, any: bool) -> Vec<Said> {
        let call = id(sending.0);
        if !any && !self.ledger.seeks(call, &key(sending, process)) {
            return Vec::new();
        }
        said(self.change(|ledger| match status {
            Status::Done => ledger.learn(call, answer(), now()),
            Status::Interrupted => ledger.found_interrupted(call, now()),
            Status::NotRun => ledger.proven_unrun(call, now()),
            Status::Queued | Status::Running => {
                ledger.found_running(call, now());
                Vec::new()
            }
        }))
    }

    /// The editor replied that it is about to leave, and ran nothing.
    pub fn postponed(&mut self, call: u8, epoch: u64) -> (bool, Vec<Said>) {
        let (known, settlements) = self.change(|ledger| ledger.postponed(id(call), Epoch(epoch), now()));
        (known, said(settlements))
    }

    /// Not a byte was written.
    pub fn revoke_claim(&mut self, call: u8, epoch: u64) -> Vec<Said> {
        said(self.change(|ledger| ledger.revoke_claim(id(call), Epoch(epoch), now())))
    }

    /// It cannot be sent.
    pub fn refuse(&mut self, call: u8) -> Vec<Said> {
        said(self.change(|ledger| ledger.refuse(id(call), Cause::TooLarge, now())))
    }

    /// The editor replied. False: that call owes nothing to that connection.
    pub fn reply(&mut self, call: u8, epoch: u64) -> (bool, Vec<Said>) {
        let (known, settlements) = self.change(|ledger| ledger.reply(id(call), Epoch(epoch), answer(), now()));
        (known, said(settlements))
    }

    /// The editor replied that the call is meant for another, and ran nothing.
    pub fn turned_away(&mut self, call: u8, epoch: u64) -> (bool, Vec<Said>) {
        let turned = |ledger: &mut Ledger| ledger.turned_away(id(call), Epoch(epoch), answer(), now());
        let (known, settlements) = self.change(turned);
        (known, said(settlements))
    }

    /// Whether the outcome of a call is being looked for in a file.
    pub fn looks_for(&self, call: u8) -> bool {
        let in_file =
            |(found, how): &(CallId, Recovery)| *found == id(call) && matches!(how, Recovery::ResultFile { .. });
        self.ledger.recovering().iter().any(in_file)
    }

    /// Whether the outcome of any call is being looked for.
    pub fn looks(&self) -> bool {
        !self.ledger.recovering().is_empty()
    }

    /// A file told the outcome.
    pub fn learn(&mut self, call: u8) -> Vec<Said> {
        said(self.change(|ledger| ledger.learn(id(call), answer(), now())))
    }

    /// What may be expected of the link.
    pub fn set_outlook(&mut self, outlook: Outlook) -> Vec<Said> {
        said(self.change(|ledger| ledger.set_outlook(outlook, now())))
    }

    /// Whether a deadline stands.
    pub fn has_deadline(&self) -> bool {
        self.ledger.next_deadline().is_some()
    }

    /// The next deadline passes.
    pub fn elapse(&mut self) -> Vec<Said> {
        let at = self.ledger.next_deadline().unwrap_or_else(now);
        said(self.change(|ledger| ledger.elapse(at)))
    }

    /// The state of each open call, for a person.
    pub fn describe(&self) -> String {
        let open = self.ledger.records().filter(|record| record.verdict.is_none());
        let mut words: Vec<String> =
            open.map(|record| format!("{} {}", super::world::name(number(record.id)), record.state)).collect();
        words.sort();
        words.join(", ")
    }
}
