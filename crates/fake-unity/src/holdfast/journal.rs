//! Records the outcome of every call under its id. The journal makes "not run" reliable. If a gateway asks about an id before the
//! call arrives, the id is sealed: the call will be refused. If the entry of an id may have been removed, the answer is
//! "forgotten", never "not run".

use std::collections::{BTreeMap, HashMap};

use crate::json::Object;

/// Maximum number of entries. Beyond it, the oldest entry of an ended call is removed.
pub(crate) const ENTRIES_MAX: usize = 4096;
/// Largest answer that is kept, in bytes.
pub(crate) const ANSWER_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Largest total size of the answers that are kept, in bytes.
pub(crate) const ANSWERS_MAX_BYTES: usize = 8 * 1024 * 1024;
/// An ended entry is removed at this age, in milliseconds. Entries of open calls are kept.
pub(crate) const AGE_MAX_MS: u64 = 3_600_000;
/// Maximum number of gateways in the journal.
pub(crate) const GATEWAYS_MAX: usize = 1024;

/// The status of a call. The names are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Queued,
    Running,
    Done,
    Interrupted,
    NotRun,
    Forgotten,
}

impl Status {
    /// Returns the status as it is written on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::NotRun => "notRun",
            Self::Forgotten => "forgotten",
        }
    }

    fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

/// How a call ended: the result or the error that was sent, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) json: String,
    pub(crate) is_error: bool,
}

/// The journal's entry for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) gateway: String,
    pub(crate) seq: u64,
    pub(crate) tool: String,
    pub(crate) status: Status,
    /// Why the call has not run: `sealed`, `dropped`, `cancelled`; or why its answer is missing: `too_large`, `expired`.
    /// Otherwise empty.
    pub(crate) reason: &'static str,
    pub(crate) answer: Option<Answer>,
    /// The state from which a resumable tool continues in the next domain.
    pub(crate) kept: Option<String>,
    since: u64,
    place: u64,
    answer_place: u64,
}

impl Entry {
    fn new(gateway: &str, seq: u64, tool: &str, status: Status, reason: &'static str) -> Self {
        Self {
            gateway: gateway.to_owned(),
            seq,
            tool: tool.to_owned(),
            status,
            reason,
            answer: None,
            kept: None,
            since: 0,
            place: 0,
            answer_place: 0,
        }
    }

    /// Returns the entry with the false status `notRun` and the reason `sealed`, for `Misconduct::DeniesWhatRan`.
    pub(crate) fn denied(self) -> Self {
        Self { status: Status::NotRun, reason: "sealed", ..self }
    }

    /// Returns the entry in the form in which `holdfast/outcome` answers.
    pub(crate) fn describe(&self, call: &str) -> String {
        let object = Object::new().text("callId", call).text("status", self.status.word());
        match (self.status, &self.answer) {
            (Status::Running | Status::Interrupted, _) => object.text("tool", &self.tool),
            (Status::NotRun, _) => object.text("reason", self.reason),
            (Status::Done, Some(Answer { json, is_error: true })) => object.raw("error", json),
            (Status::Done, Some(Answer { json, is_error: false })) => object.raw("result", json),
            (Status::Done, None) => object.text("lost", self.reason),
            (Status::Queued | Status::Forgotten, _) => object,
        }
        .finish()
    }
}

#[derive(Debug, Default)]
struct Gateway {
    /// Highest `seq` of this gateway's removed entries.
    let_go: u64,
    /// Whether an earlier record of this gateway may have been removed. Then unknown ids are answered `forgotten` and not sealed,
    /// until the gateway's next call arrives.
    blind: bool,
    greeted: u64,
}

/// The journal of one process of the editor.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: HashMap<String, Entry>,
    /// Call ids in the order of their last status change, so that the first ended call is the oldest one.
    places: BTreeMap<u64, String>,
    /// Ids of the calls whose answers are kept, oldest first.
    answers: BTreeMap<u64, String>,
    answer_bytes: usize,
    gateways: HashMap<String, Gateway>,
    gateways_let_go: bool,
    counter: u64,
    now: u64,
}

impl Journal {
    /// Sets the time, in milliseconds since any fixed moment, and removes ended entries older than [`AGE_MAX_MS`].
    pub(crate) fn at(&mut self, now: u64) -> &mut Self {
        self.now = self.now.max(now);
        let oldest = self.now.saturating_sub(AGE_MAX_MS);
        let old: Vec<String> = self
            .places
            .values()
            .map_while(|id| self.entries.get_key_value(id).filter(|(_, entry)| entry.since < oldest))
            .filter(|(_, entry)| !entry.status.is_open())
            .map(|(id, _)| id.clone())
            .collect();
        for id in old {
            self.remove(&id);
        }
        self
    }

    /// Returns the entry of an id; `None` if there is none.
    pub(crate) fn find(&self, call: &str) -> Option<&Entry> {
        self.entries.get(call)
    }

    /// Returns the number of entries, and the total size of the answers in bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.answer_bytes)
    }

    /// Records that a gateway has proven itself on a new connection. If there are too many gateways, removes the one whose latest
    /// proof is oldest.
    pub(crate) fn greet(&mut self, gateway: &str) {
        if !self.gateways.contains_key(gateway) && self.gateways.len() >= GATEWAYS_MAX {
            let oldest = self.gateways.iter().min_by_key(|(_, known)| known.greeted).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.gateways.remove(&oldest);
                self.gateways_let_go = true;
            }
        }
        let greeted = self.next();
        let blind = self.gateways_let_go;
        self.gateways.entry(gateway.to_owned()).or_insert_with(|| Gateway { blind, ..Gateway::default() }).greeted =
            greeted;
    }

    /// Adds an entry for a call that was received. The journal must not have the id yet.
    pub(crate) fn enter(&mut self, gateway: &str, call: &str, seq: u64, tool: &str) {
        if let Some(known) = self.gateways.get_mut(gateway).filter(|known| known.blind) {
            known.blind = false;
            known.let_go = known.let_go.max(seq.saturating_sub(1));
        }
        self.add(call, Entry::new(gateway, seq, tool, Status::Queued, ""));
    }

    /// Marks a queued call as running.
    pub(crate) fn begin(&mut self, call: &str) {
        if self.is(call, Status::Queued) {
            self.move_to(call, Status::Running, "");
        }
    }

    /// Saves the state from which a resumable tool continues. Does nothing if the call is not running.
    pub(crate) fn keep(&mut self, call: &str, state: &str) {
        if let Some(entry) = self.entries.get_mut(call).filter(|entry| entry.status == Status::Running) {
            entry.kept = Some(state.to_owned());
        }
    }

    /// Records the end of a running call. Returns false if the call is not running. Then the recorded status stays, and the
    /// caller must not send an answer.
    pub(crate) fn complete(&mut self, call: &str, answer: Answer) -> bool {
        if !self.is(call, Status::Running) {
            return false;
        }
        if answer.json.len() > ANSWER_MAX_BYTES {
            self.move_to(call, Status::Done, "too_large");
            return true;
        }
        self.move_to(call, Status::Done, "");
        let place = self.next();
        self.answer_bytes += answer.json.len();
        self.answers.insert(place, call.to_owned());
        if let Some(entry) = self.entries.get_mut(call) {
            entry.answer = Some(answer);
            entry.answer_place = place;
        }
        while self.answer_bytes > ANSWERS_MAX_BYTES {
            let Some(oldest) = self.answers.values().next().cloned() else { break };
            self.drop_answer(&oldest);
        }
        true
    }

    /// Marks a queued call as not run. Returns false if the call is not queued or not in the journal.
    pub(crate) fn drop_call(&mut self, call: &str, reason: &'static str) -> bool {
        let queued = self.is(call, Status::Queued);
        if queued {
            self.move_to(call, Status::NotRun, reason);
        }
        queued
    }

    /// Returns the entry of a call. An id that never arrived is sealed. The status is `forgotten` if the gateway is unknown or
    /// the entry may have been removed.
    pub(crate) fn ask(&mut self, gateway: &str, call: &str, seq: u64) -> Entry {
        if let Some(entry) = self.entries.get(call) {
            return entry.clone();
        }
        let certain = self.gateways.get(gateway).is_some_and(|known| !known.blind && seq > known.let_go);
        if !certain {
            return Entry::new(gateway, seq, "", Status::Forgotten, "");
        }
        let entry = Entry::new(gateway, seq, "", Status::NotRun, "sealed");
        self.add(call, entry.clone());
        entry
    }

    /// Removes the seal of an id. This violates the protocol on purpose, for `Misconduct::ForgetsToSeal`.
    pub(crate) fn unseal(&mut self, call: &str) {
        if self.entries.get(call).is_some_and(|entry| entry.reason == "sealed") {
            self.remove(call);
        }
    }

    /// Updates the entries before the domain unloads. Queued calls become `notRun`. Running calls become `interrupted`, unless
    /// they saved a state for the next domain. Returns the calls that got a final status.
    pub(crate) fn interrupt(&mut self) -> Vec<(String, Status)> {
        let open: Vec<(String, Status, bool)> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.status.is_open())
            .map(|(id, entry)| (id.clone(), entry.status, entry.kept.is_some()))
            .collect();
        let mut ended = Vec::new();
        for (id, status, kept) in open {
            if status == Status::Queued {
                self.drop_call(&id, "dropped");
                ended.push((id, Status::NotRun));
            } else if !kept {
                self.move_to(&id, Status::Interrupted, "");
                ended.push((id, Status::Interrupted));
            }
        }
        ended.sort_by(|one, other| one.0.cmp(&other.0));
        ended
    }

    /// Returns the calls that continue after a reload with their entries, in the order of their last status change.
    pub(crate) fn resumable(&self) -> Vec<(String, Entry)> {
        self.places
            .values()
            .filter_map(|id| self.entries.get(id).map(|entry| (id.clone(), entry.clone())))
            .filter(|(_, entry)| entry.status == Status::Running && entry.kept.is_some())
            .collect()
    }

    fn is(&self, call: &str, status: Status) -> bool {
        self.entries.get(call).is_some_and(|entry| entry.status == status)
    }

    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn add(&mut self, call: &str, mut entry: Entry) {
        if self.entries.len() >= ENTRIES_MAX {
            let is_ended = |id: &&String| self.entries.get(*id).is_some_and(|entry| !entry.status.is_open());
            if let Some(oldest) = self.places.values().find(is_ended).cloned() {
                self.remove(&oldest);
            }
        }
        entry.place = self.next();
        entry.since = self.now;
        self.places.insert(entry.place, call.to_owned());
        self.entries.insert(call.to_owned(), entry);
    }

    fn move_to(&mut self, call: &str, status: Status, reason: &'static str) {
        let place = self.next();
        let Some(entry) = self.entries.get_mut(call) else { return };
        self.places.remove(&entry.place);
        self.places.insert(place, call.to_owned());
        (entry.place, entry.since, entry.status, entry.reason) = (place, self.now, status, reason);
        if !status.is_open() {
            entry.kept = None;
        }
    }

    fn remove(&mut self, call: &str) {
        self.drop_answer(call);
        let Some(entry) = self.entries.remove(call) else { return };
        self.places.remove(&entry.place);
        if let Some(known) = self.gateways.get_mut(&entry.gateway) {
            known.let_go = known.let_go.max(entry.seq);
        }
    }

    fn drop_answer(&mut self, call: &str) {
        let Some(entry) = self.entries.get_mut(call) else { return };
        if let Some(answer) = entry.answer.take() {
            self.answer_bytes -= answer.json.len();
            self.answers.remove(&entry.answer_place);
            entry.reason = "expired";
        }
    }
}
