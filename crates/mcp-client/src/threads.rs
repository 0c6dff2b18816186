//! A client on threads, in real time, for a server that is a process. Every wait is bounded.

#![expect(clippy::disallowed_methods, reason = "a process is watched from outside, in real time")]

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::{Answer, names};
use crate::wire::Recording;
use crate::{line, session};

/// A received line.
pub type Line = session::Line<Instant>;
type Session = session::Session<Instant>;

#[derive(Default)]
struct Ear {
    session: Mutex<Session>,
    changed: Condvar,
    wire: Recording,
}

impl Ear {
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let whole = line.pop_if(|byte| *byte == b'\n').is_some();
            self.wire.received(&line);
            if whole {
                self.lock().received(&line, Instant::now());
            } else {
                self.lock().cut();
            }
            self.changed.notify_all();
            line.clear();
        }
        self.lock().end();
        self.changed.notify_all();
    }
}

/// A client that writes to `W`, the server's stdin, and reads from `R`, its stdout.
pub struct Client<W, R> {
    patience: Duration,
    input: Option<W>,
    /// The server's output, until reading begins.
    output: Option<R>,
    ear: Arc<Ear>,
    reading: bool,
}

impl<W: Write, R: Read + Send + 'static> Client<W, R> {
    /// Creates a client of this program that does not [`read`](Self::read) yet. `patience` is the default bound of its waits.
    pub fn new(program: &str, patience: Duration, input: W, output: R) -> Self {
        let ear = Arc::new(Ear { wire: Recording::begin(program), ..Ear::default() });
        Self { patience, input: Some(input), output: Some(output), ear, reading: false }
    }

    /// Begins to read stdout.
    pub fn read(&mut self) {
        let (ear, output) = (Arc::clone(&self.ear), self.take_stdout());
        self.reading = true;
        std::thread::spawn(move || ear.listen(output));
    }

    /// Returns the server's output, if reading has not begun.
    pub fn output(&self) -> Option<&R> {
        self.output.as_ref()
    }

    /// Whether this client reads stdout.
    pub fn reads(&self) -> bool {
        self.reading
    }

    /// Returns the record of requests and received lines.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.ear.lock()
    }

    // ---- to the server ----

    /// Writes bytes unchanged.
    ///
    /// # Errors
    /// Fails if the server has closed its end of the pipe.
    ///
    /// # Panics
    /// Panics if stdin was closed or taken.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.ear.wire.sent(bytes);
        let input = self.input.as_mut().expect("stdin is open");
        input.write_all(bytes).and_then(|()| input.flush())
    }

    /// Takes stdin out of the client, so that the caller can write to it.
    ///
    /// # Panics
    /// Panics if stdin was closed or taken.
    pub fn take_stdin(&mut self) -> W {
        self.input.take().expect("stdin is open")
    }

    /// Closes stdin.
    pub fn close_stdin(&mut self) {
        self.input = None;
    }

    /// Takes stdout out of the client, if it is not being read.
    ///
    /// # Panics
    /// Panics if stdout is being read or was taken.
    pub fn take_stdout(&mut self) -> R {
        self.output.take().expect("nobody reads stdout")
    }

    /// Writes a message.
    ///
    /// # Panics
    /// Panics if the server does not accept it.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).expect("the server reads stdin");
    }

    /// Registers a request and returns its id and its line with the line end.
    pub fn request_line(&mut self, method: &str, params: &Value) -> (u64, String) {
        let (id, line) = self.session().request(method, params);
        (id, line + "\n")
    }

    /// Sets the id of the first request. Later ids continue from it. Must be called before the first request.
    pub fn count_from(&mut self, first: u64) {
        self.session().count_from(first);
    }

    /// Sends a request and returns its id.
    ///
    /// # Panics
    /// Panics if the server does not accept it.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let (id, line) = self.request_line(method, params);
        self.write(line.as_bytes()).expect("the server reads stdin");
        id
    }

    /// Sends a call whose progress token is the request's id, and returns that id.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        let token = self.session().next_id();
        self.ask("tools/call", &line::call_with_progress(tool, arguments.clone(), token))
    }

    /// Cancels a request.
    ///
    /// # Panics
    /// Panics if the server does not read.
    pub fn cancel(&mut self, id: u64) {
        let line = self.session().cancel(&id.into()) + "\n";
        self.write(line.as_bytes()).expect("the server reads stdin");
    }

    /// Makes the handshake and returns the answer to `initialize`.
    ///
    /// # Panics
    /// Panics if the server does not accept it.
    pub fn open_as(&mut self, name: &str, version: &str, capabilities: Value) -> Answer {
        let id = self.ask("initialize", &line::handshake(name, version, capabilities));
        let answer = self.answer(id);
        self.write(format!("{}\n", line::INITIALIZED).as_bytes()).expect("the server reads stdin");
        answer
    }

    // ---- from the server ----

    /// Waits until `look` finds something in the session. Returns `None` if the time is up or stdout has ended.
    pub fn wait<T>(&self, bound: Duration, mut look: impl FnMut(&mut Session) -> Option<T>) -> Option<T> {
        let until = Instant::now() + bound;
        let mut session = self.session();
        loop {
            if let Some(found) = look(&mut session) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || session.has_ended() {
                return None;
            }
            session = self.ear.changed.wait_timeout(session, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the answer to a request, at most for the client's `patience`.
    pub fn answer(&self, id: u64) -> Answer {
        self.answer_within(id, self.patience)
    }

    /// Waits for the answer to a request.
    ///
    /// # Panics
    /// Panics if it does not come within `bound`.
    pub fn answer_within(&self, id: u64, bound: Duration) -> Answer {
        let answer = self.wait(bound, |session| session.answer(&id.into()).map(|line| line.value.clone()));
        Answer(answer.unwrap_or_else(|| panic!("request {id} has no answer within {bound:?}")))
    }

    /// Whether stdout has ended.
    pub fn has_ended(&self) -> bool {
        self.session().has_ended()
    }

    /// Returns when the answer was received; `None` if there is none yet.
    pub fn answered_at(&self, id: u64) -> Option<Instant> {
        self.session().answer(&id.into()).map(|line| line.at)
    }

    /// Whether a request is answered.
    pub fn is_answered(&self, id: u64) -> bool {
        self.session().answer(&id.into()).is_some()
    }

    /// Waits for the answer, and returns whether it came within `bound`. For tests in which a missing answer is a valid result.
    pub fn answered_before(&self, id: u64, bound: Duration) -> bool {
        self.wait(bound, |session| session.answer(&id.into()).map(|_| ())).is_some()
    }

    /// Returns the progress reports of a call so far.
    pub fn progress(&self, id: u64) -> Vec<Value> {
        let session = self.session();
        let told = session.told("notifications/progress").map(|line| &line.value["params"]);
        told.filter(|params| params["progressToken"] == id).cloned().collect()
    }

    /// Returns the number of notifications and requests with this method.
    pub fn notified(&self, method: &str) -> usize {
        self.session().told(method).count()
    }

    /// Returns the id of the first request of the server with this method, if there was one.
    pub fn asked_by_server(&self, method: &str) -> Option<Value> {
        self.session().told(method).next().map(|line| line.value["id"].clone())
    }

    /// Waits for an answer with the id null.
    ///
    /// # Panics
    /// Panics if none comes within the usual bound.
    pub fn unaddressed(&self) -> Value {
        self.wait(self.patience, |session| session.take_unaddressed().cloned()).expect("an answer under null")
    }

    // ---- both ----

    /// Sends a call and waits for its answer.
    pub fn done(&mut self, tool: &str, arguments: &Value) -> Answer {
        let id = self.call(tool, arguments);
        self.answer(id)
    }

    /// Lists the tools and returns their names.
    pub fn tools(&mut self) -> Vec<String> {
        let id = self.ask("tools/list", &json!({}));
        names(&self.answer(id).0["result"])
    }

    /// Checks that the server has written nothing wrong so far.
    ///
    /// # Panics
    /// Panics if it has.
    pub fn check(&self) {
        let session = self.session();
        let said = [session.faults(), session.unasked()].concat();
        assert!(said.is_empty(), "{said:#?}");
    }

    /// Like [`check`](Self::check), and also checks that no request has too few or too many answers.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub fn check_all(&self) {
        self.check();
        let wrong = self.session().unpaired();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
