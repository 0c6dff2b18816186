//! The real ledger as the model uses it. Its clock stands still, and moves only to a deadline.
//!
//! All operations happen at one instant; only [`Seam::elapse`] moves to the next deadline, and back. So every deadline may
//! pass before or after every other event, which includes more orders than real time allows.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdfast::core::call_records::SentCall;
use holdfast::core::calls::{Ledger, LedgerAccess, Lookup, NewCall, RecoveredCall, Settlement, Terms};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::Loss;
use holdfast::limits::PATIENCE_MARGIN;
use holdfast::protocol::dialect::{AnswerBody, EditorAnswer, JournalKey, Recovery};
use holdfast::protocol::ids::{CallId, Epoch, RequestKey, SessionId};
use holdfast::protocol::mcp::{AnswerForm, ProtocolVersion};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::journal::Sending;
use super::setting::{Kind, MAX_CALLS};

/// The instant at which every operation happens.
pub fn now() -> Instant {
    static NOW: OnceLock<Instant> = OnceLock::new();
    *NOW.get_or_init(Instant::now)
}

/// The id of the call with this number.
pub fn id(call: u8) -> CallId {
    CallId::from_random([call; 16])
}

fn request(call: u8) -> RequestKey {
    RequestKey::new(SessionId::STDIO, u64::from(call))
}

/// The number of the call with this id.
pub fn number(id: CallId) -> u8 {
    (0..u8::try_from(MAX_CALLS).unwrap_or(u8::MAX)).find(|call| self::id(*call) == id).unwrap_or_default()
}

/// The editor's answer to every call.
pub fn answer() -> EditorAnswer {
    EditorAnswer { is_error: false, body: AnswerBody::Text("done".to_owned()) }
}

/// Returns what the live tool list and the dialect say about a call when it is sent.
pub fn terms(kind: Kind, key: Option<JournalKey>) -> Terms {
    let recovery = match kind {
        Kind::Journaled => key.map_or(Recovery::None, Recovery::Journal),
        Kind::Plain | Kind::Repeatable | Kind::Reloading | Kind::Job => Recovery::None,
        Kind::Reported => Recovery::ResultFile { path: "r".to_owned(), busy_files: &[], quiet: Duration::ZERO },
        Kind::Inferred => Recovery::Inferred,
    };
    Terms { recovery, tool_timeout: Duration::ZERO, repeatable: kind == Kind::Repeatable }
}

/// The key of a sending in the journal of an editor process.
pub fn key((call, nth): Sending, process: u8) -> JournalKey {
    JournalKey { journal: process.to_string(), id: format!("{call}.{nth}"), seq: u64::from(nth) }
}

/// Returns the sending that a journal's key names.
pub fn sending(key: &JournalKey) -> Sending {
    let call = key.id.split('.').next().and_then(|call| call.parse().ok());
    (call.unwrap_or_default(), u8::try_from(key.seq).unwrap_or(u8::MAX))
}

/// What a settlement of the ledger means for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The client is answered.
    Answer(u8, Verdict),
    /// A call of an earlier hub has its answer, and its client has not come back for it.
    Recorded(u8, Verdict),
    /// A call gets a verdict, but the client gets no answer, because it cancelled the call or has its answer already.
    Note(u8, Verdict),
    /// A late answer is kept for `holdfast_result`.
    KeepLate(u8),
    /// A call that was sent is held again, and the bridge is notified.
    HeldAgain,
}

/// Translates settlements for the model. Progress and withdrawals are left out.
pub fn said(settlements: Vec<Settlement>) -> Vec<Said> {
    let words = settlements.into_iter().filter_map(|settlement| match settlement {
        Settlement::Answer(answer) if answer.request.session == SessionId::RECOVERED => {
            Some(Said::Recorded(number(answer.call), answer.verdict))
        }
        Settlement::Answer(answer) => Some(Said::Answer(number(answer.call), answer.verdict)),
        Settlement::Noted { call, verdict, .. } => Some(Said::Note(number(call), verdict)),
        Settlement::KeepLate { call, .. } => Some(Said::KeepLate(number(call))),
        Settlement::HeldAgain => Some(Said::HeldAgain),
        Settlement::Progress { .. } | Settlement::Withdraw { .. } => None,
    });
    words.collect()
}

/// The real ledger, with the epochs that are open in it. States in which it is the same share it.
#[derive(Debug, Clone)]
pub struct Seam {
    ledger: Arc<Ledger>,
    digest: u64,
    open: Vec<u64>,
}

impl LedgerAccess for Seam {
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        self.change(|ledger| operation(ledger, now()))
    }
}

impl Default for Seam {
    fn default() -> Self {
        let mut seam = Self { ledger: Arc::default(), digest: 0, open: Vec::new() };
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

    /// Accepts a call of the client. A lower rank means a shorter patience.
    pub fn accept(&mut self, call: u8, rank: u8, may_have_run: bool) -> Vec<Said> {
        let new = NewCall {
            id: id(call),
            request: request(call),
            tool: "t".to_owned(),
            arguments: RawValue::NULL.to_owned().into(),
            progress_token: None,
            trace: None,
            requester: None,
            parallel: true,
            patience: PATIENCE_MARGIN + Duration::from_secs(10 + u64::from(rank)),
            waited: Duration::ZERO,
            profile: ProtocolVersion::LATEST.into(),
            form: AnswerForm::ToolResult,
        };
        said(self.change(|ledger| match may_have_run {
            true => ledger.accept_again(new, now()),
            false => ledger.accept(new, now()),
        }))
    }

    /// Cancels a call for the client.
    pub fn cancel(&mut self, call: u8) -> Vec<Said> {
        said(self.change(|ledger| ledger.cancel(request(call), now()).1))
    }

    /// Adds a call that an earlier gateway sent. `of_another_gateway`: whether editors knew that by another name.
    pub fn recover(&mut self, sent: &SentCall, of_another_gateway: bool) -> Vec<Said> {
        let call = RecoveredCall {
            id: sent.call,
            tool: Arc::clone(&sent.tool),
            project: sent.project.clone(),
            recovery: sent.journal.clone().map_or(Recovery::None, Recovery::Journal),
            profile: ProtocolVersion::LATEST.into(),
            requester: Arc::default(),
            of_another_gateway,
        };
        said(self.change(|ledger| ledger.recover(call, now())))
    }

    /// Keeps the result that an earlier hub had of a call.
    pub fn keep_found(&mut self, sent: &SentCall, verdict: Verdict, result: &str) {
        self.change(|ledger| ledger.keep_found((sent.call, &sent.tool), verdict, result.into(), now()));
    }

    /// Whether the ledger can say anything of this call.
    pub fn knows(&self, call: u8) -> bool {
        self.ledger.record(id(call)).is_some()
    }

    /// Whether a client that asks for this call by its id gets a result.
    pub fn has_result(&mut self, call: u8) -> bool {
        self.change(|ledger| matches!(ledger.look_up(id(call), now()), Lookup::Kept(_)))
    }

    /// Takes the held calls out of the ledger, for another hub. Returns them.
    pub fn release_held(&mut self) -> Vec<u8> {
        let released = self.change(|ledger| ledger.release_held_of(SessionId::STDIO));
        released.into_iter().filter_map(|request| u8::try_from(request.number).ok()).collect()
    }

    /// Gives a call of an earlier hub to the client that came back for it. `None` if it is not open.
    pub fn adopt(&mut self, call: u8) -> Option<Vec<Said>> {
        let by = (request(call), ProtocolVersion::LATEST.into(), Duration::ZERO);
        let arguments = RawValue::NULL.to_owned().into();
        self.change(|ledger| ledger.adopt(id(call), by, &arguments, now())).map(said)
    }

    /// Begins to end the gateway: the ledger refuses calls from now on.
    pub fn drain(&mut self) -> Vec<Said> {
        said(self.change(|ledger| ledger.drain(now())))
    }

    /// Opens an epoch: its connection may claim calls.
    pub fn open_epoch(&mut self, epoch: u64) {
        self.open.push(epoch);
        self.change(|ledger| ledger.open_epoch(Epoch(epoch)));
    }

    /// The newest epoch that was opened and not closed.
    pub fn newest_open(&self) -> Option<u64> {
        self.open.iter().max().copied()
    }

    /// Removes an epoch from the open ones, after the bridge's core has closed it in the ledger.
    pub fn closed(&mut self, epoch: u64) {
        self.open.retain(|open| *open != epoch);
    }

    /// Closes every epoch, because the owner of the connections is gone.
    pub fn close_all_epochs(&mut self, loss: Loss) -> Vec<Said> {
        self.open.clear();
        said(self.change(|ledger| ledger.close_all_epochs(loss, now())))
    }

    /// Whether a held call waits to be sent.
    pub fn has_held(&self) -> bool {
        self.ledger.has_held()
    }

    /// The next deadline; [`now`] if there is none.
    pub fn deadline(&self) -> Instant {
        self.ledger.next_deadline().unwrap_or_else(now)
    }

    /// Whether a result file is being looked for that gives the outcome of this call.
    pub fn looks_for(&self, call: u8) -> bool {
        let in_file =
            |(found, how): &(CallId, Recovery)| *found == id(call) && matches!(how, Recovery::ResultFile { .. });
        self.ledger.recovering().iter().any(in_file)
    }

    /// Whether the outcome of any call is being looked for.
    pub fn looks(&self) -> bool {
        !self.ledger.recovering().is_empty()
    }

    /// A result file gives the outcome of a call to the ledger.
    pub fn learn(&mut self, call: u8) -> Vec<Said> {
        said(self.change(|ledger| ledger.learn(id(call), answer(), now())))
    }

    /// Whether there is a deadline.
    pub fn has_deadline(&self) -> bool {
        self.ledger.next_deadline().is_some()
    }

    /// Lets the next deadline pass.
    pub fn elapse(&mut self) -> Vec<Said> {
        let at = self.deadline();
        said(self.change(|ledger| ledger.elapse(at)))
    }

    /// The state of each open call, as a text.
    pub fn describe(&self) -> String {
        let open = self.ledger.records().filter(|record| record.verdict.is_none());
        let mut words: Vec<String> =
            open.map(|record| format!("{} {}", name(number(record.id)), record.state)).collect();
        words.sort();
        words.join(", ")
    }
}

/// A call's name.
pub fn name(call: u8) -> char {
    char::from(b'A' + call)
}
