//! What a client asked and what it heard. Pairs each answer with its request, and notes every fault of the server. No I/O here;
//! the time of a line is a value from outside.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::line;

/// A message that came.
#[derive(Debug, Clone)]
pub struct Line<T> {
    /// When it came.
    pub at: T,
    /// The message; a text if the line was no JSON.
    pub value: Value,
}

/// Longest part of a line that a report shows.
const SHOWN: usize = 300;

#[derive(Debug, Default)]
struct Request {
    cancelled: bool,
    /// How often its id was used once more while it was open: each time a refusal is owed besides the answer.
    doubled: usize,
}

/// Progress under one token.
#[derive(Debug)]
struct Progress {
    /// The request that the token was given with.
    of: String,
    last: Option<f64>,
}

/// See the module's documentation. Requests are known by the JSON text of their ids.
#[derive(Debug)]
pub struct Session<T> {
    last_id: u64,
    requests: BTreeMap<String, Request>,
    tokens: BTreeMap<String, Progress>,
    lines: Vec<Line<T>>,
    /// Answers by id, as places in `lines`.
    answers: BTreeMap<String, Vec<usize>>,
    /// Answers under the id null that nobody took yet, as places in `lines`.
    unaddressed: Vec<usize>,
    faults: Vec<String>,
    unasked: Vec<String>,
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

    /// The id of the next request that gets one here.
    pub fn next_id(&self) -> u64 {
        self.last_id.wrapping_add(1)
    }

    /// The next request gets this id; those behind it count up from it.
    pub fn count_from(&mut self, id: u64) {
        self.last_id = id.wrapping_sub(1);
    }

    /// A request, which may be answered from now on: its id and its line.
    pub fn request(&mut self, method: &str, params: &Value) -> (u64, String) {
        let id = self.next_id();
        self.last_id = id;
        (id, self.request_as(&id.into(), method, params))
    }

    /// As [`request`](Self::request), under an id of the client's choice.
    pub fn request_as(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.requests.entry(id.to_string()).or_default();
        let token = &params["_meta"]["progressToken"];
        if !token.is_null() {
            self.tokens.insert(token.to_string(), Progress { of: id.to_string(), last: None });
        }
        line::request(id, method, params)
    }

    /// A request under an id that is still open.
    pub fn request_again(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.requests.entry(id.to_string()).or_default().doubled += 1;
        line::request(id, method, params)
    }

    /// Takes a request back: the line that says so.
    pub fn cancel(&mut self, id: &Value) -> String {
        if let Some(request) = self.requests.get_mut(&id.to_string()) {
            request.cancelled = true;
        }
        line::cancel(id)
    }

    // ---- what is heard ----

    /// A line came, without its end.
    pub fn received(&mut self, line: &[u8], at: T) {
        let place = self.lines.len();
        let parsed = serde_json::from_slice::<Value>(line);
        let value = parsed.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(line).into_owned()));
        self.judge(&value, place);
        self.lines.push(Line { at, value });
    }

    /// The server's output ended in the middle of a line.
    pub fn cut(&mut self) {
        self.faults.push("stdout ended in the middle of a line".to_owned());
    }

    /// The server's output ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    fn judge(&mut self, message: &Value, place: usize) {
        let method = message.get("method");
        let answers = [message.get("result"), message.get("error")].iter().flatten().count();
        if !message.is_object() || message["jsonrpc"] != "2.0" {
            self.faults.push(format!("no JSON-RPC message on stdout: {}", shown(message)));
        } else if method.is_some() != (answers == 0) || answers > 1 || method.is_some_and(|method| !method.is_string())
        {
            self.faults.push(format!("neither one result nor one error nor one method: {}", shown(message)));
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
        match self.requests.get(&id) {
            None => self.unasked.push(format!("an answer to something that was not asked: {}", shown(message))),
            Some(request) if before.len() > 1 + request.doubled => {
                self.faults.push(format!("{} answers to {id}: {}", before.len(), shown(message)));
            }
            Some(_) => {}
        }
    }

    fn progressed(&mut self, params: &Value) {
        let token = params["progressToken"].to_string();
        let Some(now) = params["progress"].as_f64() else {
            self.faults.push(format!("odd progress: {}", shown(params)));
            return;
        };
        let Some(known) = self.tokens.get_mut(&token) else {
            self.unasked.push(format!("progress that nobody asked for: {}", shown(params)));
            return;
        };
        if self.answers.contains_key(&known.of) {
            self.faults.push(format!("progress of {} after its answer", known.of));
        }
        if known.last.replace(now).is_some_and(|before| before >= now) {
            self.faults.push(format!("the progress of {} does not rise: {now}", known.of));
        }
    }

    // ---- what is known ----

    /// Everything that came so far.
    pub fn lines(&self) -> &[Line<T>] {
        &self.lines
    }

    /// Whether the server's output has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The first answer to a request.
    pub fn answer(&self, id: &Value) -> Option<&Line<T>> {
        self.answers.get(&id.to_string())?.first().and_then(|place| self.lines.get(*place))
    }

    /// Takes the last answer under the id null.
    pub fn take_unaddressed(&mut self) -> Option<&Value> {
        let place = self.unaddressed.pop()?;
        self.lines.get(place).map(|line| &line.value)
    }

    /// Notifications and requests of the server under this method.
    pub fn told<'a>(&'a self, method: &'a str) -> impl DoubleEndedIterator<Item = &'a Line<T>> {
        self.lines.iter().filter(move |line| line.value["method"] == method)
    }

    /// The end of what came, for a report.
    pub fn tail(&self) -> Vec<String> {
        self.lines.iter().rev().take(5).map(|line| shown(&line.value)).collect()
    }

    // ---- what was wrong ----

    /// What no server may say.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Answers to requests, and progress under tokens, that this client did not send through here. A fault, unless the test wrote
    /// lines of its own.
    pub fn unasked(&self) -> &[String] {
        &self.unasked
    }

    /// Requests that have too few answers or too many, in words. One that was cancelled may have its answer and need not.
    pub fn unpaired(&self) -> Vec<String> {
        let wrong = |(id, request): (&String, &Request)| {
            let count = self.answers.get(id).map_or(0, Vec::len);
            let most = 1 + request.doubled;
            let least = if request.cancelled { request.doubled } else { most };
            (!(least..=most).contains(&count)).then(|| format!("{count} answers to {id}, not {most}"))
        };
        self.requests.iter().filter_map(wrong).collect()
    }

    /// Requests that were answered although they were cancelled.
    pub fn answered_though_cancelled(&self) -> Vec<&str> {
        let answered = |id: &String, request: &Request| self.answers.get(id).map_or(0, Vec::len) > request.doubled;
        let cancelled = self.requests.iter().filter(|(id, request)| request.cancelled && answered(id, request));
        cancelled.map(|(id, _)| id.as_str()).collect()
    }
}

#[cfg(test)]
mod tests;
