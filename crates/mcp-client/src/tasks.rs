//! A client on tokio. It uses tokio's time, so a test with a paused clock controls it. Every wait is bounded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::answer::{Answer, names};
use crate::wire::Recording;
use crate::{line, session};

/// A received line.
pub type Line = session::Line<Instant>;
type Session = session::Session<Instant>;

/// Waits for a future.
///
/// # Panics
/// Panics if it does not complete within `patience`.
pub async fn within<T>(patience: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match timeout(patience, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {patience:?}"),
    }
}

/// A client that writes to `W`, the server's stdin, and reads from `R`, its stdout.
pub struct Client<W, R> {
    patience: Duration,
    input: Option<W>,
    /// The server's output, until reading begins.
    output: Option<(R, watch::Sender<()>)>,
    session: Arc<Mutex<Session>>,
    wire: Arc<Recording>,
    /// Changes with every received line. Its sender is dropped after the last line.
    news: watch::Receiver<()>,
}

impl<W: AsyncWrite + Unpin, R: AsyncRead + Unpin + Send + 'static> Client<W, R> {
    /// Creates a client of this program that does not [`read`](Self::read) yet. `patience` bounds each of its waits.
    pub fn new(program: &str, patience: Duration, input: W, output: R) -> Self {
        let (told, news) = watch::channel(());
        Self {
            patience,
            input: Some(input),
            output: Some((output, told)),
            session: Arc::default(),
            wire: Arc::new(Recording::begin(program)),
            news,
        }
    }

    /// Begins to read stdout.
    pub fn read(&mut self) {
        let Some((output, told)) = self.output.take() else { return };
        let (session, wire) = (Arc::clone(&self.session), Arc::clone(&self.wire));
        tokio::spawn(async move {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while let Ok(1..) = output.read_until(b'\n', &mut line).await {
                let whole = line.pop_if(|byte| *byte == b'\n').is_some();
                wire.received(&line);
                {
                    let mut session = enter(&session);
                    if whole { session.received(&line, Instant::now()) } else { session.cut() }
                }
                told.send_replace(());
                line.clear();
            }
            enter(&session).end();
        });
    }

    /// Returns the record of requests and received lines.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        enter(&self.session)
    }

    // ---- to the server ----

    /// Writes bytes.
    ///
    /// # Panics
    /// Panics if the server does not accept them in time, or if stdin was closed.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.wire.sent(bytes);
        let input = self.input.as_mut().expect("stdin is open");
        let write = async {
            input.write_all(bytes).await?;
            input.flush().await
        };
        within(self.patience, "room in stdin", write).await.expect("the server reads");
    }

    /// Writes a line unchanged.
    pub async fn line(&mut self, text: &str) {
        self.bytes(format!("{text}\n").as_bytes()).await;
    }

    /// Writes a line, but waits at most `at_most` for room. Returns false if there is no room.
    ///
    /// # Panics
    /// Panics if stdin was closed.
    pub async fn try_line(&mut self, text: &str, at_most: Duration) -> bool {
        let line = format!("{text}\n");
        self.wire.sent(line.as_bytes());
        let input = self.input.as_mut().expect("stdin is open");
        timeout(at_most, input.write_all(line.as_bytes())).await.is_ok()
    }

    /// Closes stdin.
    pub async fn close_stdin(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.shutdown().await;
        }
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let (id, line) = self.session().request(method, &params);
        self.line(&line).await;
        id.into()
    }

    /// Sends a request with an id that the caller chooses, and returns the id.
    pub async fn request_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        let line = self.session().request_as(&id, method, &params);
        self.line(&line).await;
        id
    }

    /// Sends another request with the id of an open one.
    pub async fn request_again(&mut self, id: &Value, method: &str, params: Value) {
        let line = self.session().request_again(id, method, &params);
        self.line(&line).await;
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.line(&line::notification(method, params)).await;
    }

    /// Calls a tool and returns the request's id.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", line::call(tool, arguments)).await
    }

    /// Calls a tool with a progress token and returns the request's id.
    pub async fn call_with_progress(&mut self, tool: &str, arguments: Value, token: &str) -> Value {
        self.request("tools/call", line::call_with_progress(tool, arguments, token)).await
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, id: &Value) {
        let line = self.session().cancel(id);
        self.line(&line).await;
    }

    /// Makes the handshake and returns the result of `initialize`.
    pub async fn open_as(&mut self, name: &str, version: &str, capabilities: Value) -> Value {
        let id = self.request("initialize", line::handshake(name, version, capabilities)).await;
        let result = self.result(&id).await;
        self.notify("notifications/initialized", json!({})).await;
        result
    }

    // ---- from the server ----

    /// Returns the lines received so far.
    pub fn lines(&self) -> Vec<Line> {
        self.session().lines().to_vec()
    }

    /// Returns the notifications and requests with this method, so far.
    pub fn notifications(&self, method: &str) -> Vec<Line> {
        self.session().told(method).cloned().collect()
    }

    /// Returns the answer to a request; `None` if there is none yet.
    pub fn answered(&self, id: &Value) -> Option<Line> {
        self.session().answer(id).cloned()
    }

    /// Waits until `look` finds something in the session.
    ///
    /// # Panics
    /// Panics if nothing is found in time, or if stdout ends before.
    pub async fn wait<T>(&self, what: &str, mut look: impl FnMut(&mut Session) -> Option<T>) -> T {
        let mut news = self.news.clone();
        let found = async {
            loop {
                news.borrow_and_update();
                if let Some(found) = look(&mut self.session()) {
                    return found;
                }
                if news.changed().await.is_err() {
                    panic!("stdout ended before {what}; it said {:?}", self.session().tail());
                }
            }
        };
        within(self.patience, what, found).await
    }

    /// Waits for a line.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Line {
        let mut seen = 0;
        self.wait(what, |session| {
            let found = session.lines().iter().skip(seen).find(|line| wanted(&line.value)).cloned();
            seen = session.lines().len();
            found
        })
        .await
    }

    /// Waits for the answer to a request.
    pub async fn answer(&self, id: &Value) -> Line {
        self.wait(&format!("the answer to {id}"), |session| session.answer(id).cloned()).await
    }

    /// Waits for the result of a request.
    ///
    /// # Panics
    /// Panics if the answer is an error.
    pub async fn result(&self, id: &Value) -> Value {
        let mut answer = self.answer(id).await.value;
        match answer.get_mut("result") {
            Some(result) => result.take(),
            None => panic!("an error: {answer}"),
        }
    }

    /// Waits for a tool's result. Returns its text, and whether it is marked as an error.
    ///
    /// # Panics
    /// Panics if the answer is not a result.
    pub async fn text(&self, id: &Value) -> (String, bool) {
        let answer = Answer(self.answer(id).await.value);
        assert!(answer.0.get("result").is_some(), "an error: {}", answer.0);
        (answer.text(), answer.0["result"]["isError"] == true)
    }

    /// Waits until stdout has ended.
    pub async fn ended(&self) {
        let mut news = self.news.clone();
        within(self.patience, "the end of stdout", async { while news.changed().await.is_ok() {} }).await;
    }

    // ---- both ----

    /// Calls a tool that must succeed.
    ///
    /// # Panics
    /// Panics if it does not.
    pub async fn ok(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.call(tool, arguments).await;
        let (text, error) = self.text(&id).await;
        assert!(!error, "{tool}: {text}");
        text
    }

    /// Sends a ping. The answer must come within 1 ms on tokio's clock.
    ///
    /// # Panics
    /// Panics if it does not.
    pub async fn ping(&mut self) {
        let began = Instant::now();
        let id = self.request("ping", json!({})).await;
        let answer = self.answer(&id).await;
        assert!((answer.at - began).as_millis() <= 1, "a ping waited {:?}", answer.at - began);
    }

    /// Lists the tools and returns their names.
    pub async fn tools(&mut self) -> Vec<String> {
        let id = self.request("tools/list", json!({})).await;
        names(&self.result(&id).await)
    }

    /// Checks the session against the protocol: no fault, one answer to each
    /// request that was not cancelled, and no answer to a cancelled one.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub fn check(&self) {
        let session = self.session();
        assert!(session.faults().is_empty(), "{:#?}", session.faults());
        let wrong = (session.unpaired(), session.answered_though_cancelled());
        assert!(wrong.0.is_empty() && wrong.1.is_empty(), "{wrong:?}; the last lines: {:#?}", session.tail());
    }
}

fn enter(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}
