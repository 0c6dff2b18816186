//! The requests and received lines of one client. A session pairs each answer with its request and records every fault of the
//! server. It does no I/O; the caller passes in the time of each line.
//!
//! No other code judges a server's stdout. Clients query the session while they run. A checker of a finished history replays the
//! history into a session, and then queries which promises are [`broken`](Session::broken).

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::line;

/// A message that was received.
#[derive(Debug, Clone)]
pub struct Line<T> {
    /// When the message was received.
    pub at: T,
    /// The message; a string if the line was not JSON.
    pub value: Value,
}

/// The number of characters of a line that a report shows.
const SHOWN: usize = 300;

/// What a server promises about its stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Each request gets one answer, and nothing else is answered.
    Answers,
    /// Each line is one JSON-RPC message.
    Messages,
    /// Progress belongs to a request that asked for it, rises strictly, and ends before the answer.
    Progress,
}

/// A broken promise.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The promise that was broken.
    pub promise: Promise,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

#[derive(Debug, Clone, Default)]
struct Request {
    cancelled: bool,
    /// How many more requests used the same id while the request was open. Each of them must be refused, in addition to the
    /// answer.
    doubled: usize,
}

/// The progress under one token.
#[derive(Debug, Clone)]
struct Progress {
    /// The request that gave the token.
    of: String,
    last: Option<f64>,
}

/// The record of one client's session (see the module's documentation). Requests are identified by the JSON text of their ids.
#[derive(Debug, Clone)]
pub struct Session<T> {
    last_id: u64,
    requests: BTreeMap<String, Request>,
    tokens: BTreeMap<String, Progress>,
    lines: Vec<Line<T>>,
    /// The answers by id, as positions in `lines`.
    answers: BTreeMap<String, Vec<usize>>,
    /// The answers with the id null that were not taken yet, as positions in `lines`.
    unaddressed: Vec<usize>,
    faults: Vec<Fault>,
    unasked: Vec<Fault>,
    ended: bool,
}

impl<T> Default for Session<T> {
    fn default() -> Self {
        Self {
            last_id: 0,
            requests: BTreeMap::new(),
            tokens: BTreeMap::new(),
            lines: Vec::new(),
            answers: BTreeMap::new(),
            unaddressed: Vec::new(),
            faults: Vec::new(),
            unasked: Vec::new(),
            ended: false,
        }
    }
}

fn shown(message: &Value) -> String {
    message.to_string().chars().take(SHOWN).collect()
}

impl<T> Session<T> {
    // ---- what is asked ----

    /// Returns the id of the next request whose id the session chooses.
    pub fn next_id(&self) -> u64 {
        self.last_id.wrapping_add(1)
    }

    /// Sets the id of the next request. Later ids continue from it.
    pub fn count_from(&mut self, id: u64) {
        self.last_id = id.wrapping_sub(1);
    }

    /// Registers a request and returns its id and its line.
    pub fn request(&mut self, method: &str, params: &Value) -> (u64, String) {
        let id = self.next_id();
        self.last_id = id;
        (id, self.request_as(&id.into(), method, params))
    }

    /// Like [`request`](Self::request), with an id that the caller chooses.
    pub fn request_as(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.requests.entry(id.to_string()).or_default();
        let token = &params["_meta"]["progressToken"];
        if !token.is_null() {
            self.tokens.insert(token.to_string(), Progress { of: id.to_string(), last: None });
        }
        line::request(id, method, params)
    }

    /// Registers another request with the id of an open one, and returns its line.
    pub fn request_again(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.requests.entry(id.to_string()).or_default().doubled += 1;
        line::request(id, method, params)
    }

    /// Registers the cancellation of a request and returns its line.
    pub fn cancel(&mut self, id: &Value) -> String {
        if let Some(request) = self.requests.get_mut(&id.to_string()) {
            request.cancelled = true;
        }
        line::cancel(id)
    }

    // ---- what is heard ----

    /// Records a received line, without its end.
    pub fn received(&mut self, line: &[u8], at: T) {
        let place = self.lines.len();
        let parsed = serde_json::from_slice::<Value>(line);
        let value = parsed.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(line).into_owned()));
        self.judge(&value, place);
        self.lines.push(Line { at, value });
    }

    /// Records that the server's output ended in the middle of a line.
    pub fn cut(&mut self) {
        self.fault(Promise::Messages, "stdout ended in the middle of a line".to_owned());
    }

    fn fault(&mut self, promise: Promise, what: String) {
        self.faults.push(Fault { promise, what });
    }

    fn unasked_for(&mut self, promise: Promise, what: String) {
        self.unasked.push(Fault { promise, what });
    }

    /// Records that the server's output ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    fn judge(&mut self, message: &Value, place: usize) {
        let method = message.get("method");
        let answers = [message.get("result"), message.get("error")].iter().flatten().count();
        if !message.is_object() || message["jsonrpc"] != "2.0" {
            self.fault(Promise::Messages, format!("no JSON-RPC message on stdout: {}", shown(message)));
        } else if method.is_some() != (answers == 0) || answers > 1 || method.is_some_and(|method| !method.is_string())
        {
            self.fault(
                Promise::Messages,
                format!("neither one result nor one error nor one method: {}", shown(message)),
            );
        } else if method.is_none() && message.get("id").is_none() {
            self.fault(Promise::Messages, format!("an answer without an id: {}", shown(message)));
        } else if method.is_none() {
            self.answered(message, place);
        } else if message["method"] == "notifications/progress" {
            self.progressed(&message["params"]);
        }
    }

    fn answered(&mut self, message: &Value, place: usize) {
        let id = message["id"].to_string();
        let before = self.answers.entry(id.clone()).or_default();
        before.push(place);
        if message["id"].is_null() {
            self.unaddressed.push(place);
            return;
        }
        let count = before.len();
        match self.requests.get(&id) {
            None => {
                let what = format!("an answer to something that was not asked: {}", shown(message));
                self.unasked_for(Promise::Answers, what);
            }
            Some(request) if count > 1 + request.doubled => {
                self.fault(Promise::Answers, format!("{count} answers to {id}: {}", shown(message)));
            }
            Some(_) => {}
        }
    }

    fn progressed(&mut self, params: &Value) {
        let token = params["progressToken"].to_string();
        let Some(now) = params["progress"].as_f64() else {
            self.fault(Promise::Progress, format!("odd progress: {}", shown(params)));
            return;
        };
        let Some(known) = self.tokens.get_mut(&token) else {
            self.unasked_for(Promise::Progress, format!("progress that nobody asked for: {}", shown(params)));
            return;
        };
        let (of, falls) = (known.of.clone(), known.last.replace(now).is_some_and(|before| before >= now));
        if self.answers.contains_key(&of) {
            self.fault(Promise::Progress, format!("progress of {of} after its answer"));
        }
        if falls {
            self.fault(Promise::Progress, format!("the progress of {of} does not rise: {now}"));
        }
    }

    // ---- what is known ----

    /// Returns how many requests were sent through this session.
    pub fn asked(&self) -> usize {
        self.requests.values().map(|request| 1 + request.doubled).sum()
    }

    /// Returns everything that was received.
    pub fn lines(&self) -> &[Line<T>] {
        &self.lines
    }

    /// Whether the server's output has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the first answer to a request; `None` if there is none yet.
    pub fn answer(&self, id: &Value) -> Option<&Line<T>> {
        self.answers.get(&id.to_string())?.first().and_then(|place| self.lines.get(*place))
    }

    /// Removes and returns the last answer with the id null; `None` if there is none.
    pub fn take_unaddressed(&mut self) -> Option<&Value> {
        let place = self.unaddressed.pop()?;
        self.lines.get(place).map(|line| &line.value)
    }

    /// Returns the server's notifications and requests with this method.
    pub fn told<'a>(&'a self, method: &'a str) -> impl DoubleEndedIterator<Item = &'a Line<T>> {
        self.lines.iter().filter(move |line| line.value["method"] == method)
    }

    /// Returns the last lines, newest first, for a report.
    pub fn tail(&self) -> Vec<String> {
        self.lines.iter().rev().take(5).map(|line| shown(&line.value)).collect()
    }

    // ---- what was wrong ----

    /// Returns the faults in the server's output, except those that [`Self::unasked`] returns.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Returns the answers to requests, and the progress under tokens, that were not sent through this session. They are faults
    /// too, unless the test wrote its own lines.
    pub fn unasked(&self) -> &[Fault] {
        &self.unasked
    }

    /// Returns how a promise was broken. The session must have ended, and every request must have been sent through it. `unread`:
    /// the client left without reading to the end, so answers may be missing.
    pub fn broken(&self, promise: Promise, unread: bool) -> Vec<String> {
        // Too many answers are reported by `unpaired_if`, together with missing ones.
        let faults = self.faults.iter().filter(|_| promise != Promise::Answers).chain(&self.unasked);
        let said = faults.filter(|fault| fault.promise == promise).map(Fault::to_string);
        let unpaired = if promise == Promise::Answers { self.unpaired_if(unread) } else { Vec::new() };
        said.chain(unpaired).collect()
    }

    /// Describes the requests with too few or too many answers. A cancelled request may have an answer, but need not.
    pub fn unpaired(&self) -> Vec<String> {
        self.unpaired_if(false)
    }

    fn unpaired_if(&self, unread: bool) -> Vec<String> {
        let wrong = |(id, request): (&String, &Request)| {
            let count = self.answers.get(id).map_or(0, Vec::len);
            let most = 1 + request.doubled;
            let least = match (unread, request.cancelled) {
                (true, _) => 0,
                (false, true) => request.doubled,
                (false, false) => most,
            };
            (!(least..=most).contains(&count)).then(|| format!("{count} answers to {id}, not {most}"))
        };
        self.requests.iter().filter_map(wrong).collect()
    }

    /// Returns the requests that were answered although they were cancelled.
    pub fn answered_though_cancelled(&self) -> Vec<&str> {
        let answered = |id: &String, request: &Request| self.answers.get(id).map_or(0, Vec::len) > request.doubled;
        let cancelled = self.requests.iter().filter(|(id, request)| request.cancelled && answered(id, request));
        cancelled.map(|(id, _)| id.as_str()).collect()
    }
}

#[cfg(test)]
mod tests;
