//! The shape of one connection for each request, over HTTP.
//!
//! It lives in the connection's task and ends with it. It sends one request at a time, and no request twice, unless the editor
//! refused its token. When a request cannot be sent or is cut, the connection ends as a broken stream does; calls of which no byte
//! was written are then held again.
//!
//! A call is claimed here, after every step before its first byte has succeeded. While the call waits for an earlier request, a
//! connection or the repeated greeting, it is certain that it has not run. If the call's time ends during that wait, its client
//! gets the verdict "not executed".
//!
//! A greeting shows which program answered it, but nothing about later connections. So before each call the greeting is repeated
//! on a second connection, after the connection for the call was opened: the program that accepted the call's connection was
//! still listening then.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout};

use super::{ConnectionTask, Outgoing, Torn, write_whole};
use crate::fsm::bridge::{ConnectFailure, Disconnect};
use crate::fsm::cause::Cause;
use crate::limits::{CONNECT_TIMEOUT, HTTP_BODY_MAX_BYTES, IDLE_WATCH_SPACING, SILENCE_NAMED_AFTER};
use crate::net::BoxStream;
use crate::protocol::dialect::{BadMessage, Reply, Secret, Wreck};
use crate::protocol::framing::http::{BadResponse, Request, Response, ResponseDecoder};
use crate::protocol::ids::CallId;
use crate::survey;

/// Bytes read from a socket at once; most answers have 200 bytes.
pub(super) const READ_BYTES: usize = 4096;
/// The status of a request without the right token.
pub(super) const UNAUTHORIZED: u16 = 401;

impl ConnectionTask {
    /// Connects for one more request.
    pub(super) async fn connect_anew(&self) -> Result<BoxStream, Disconnect> {
        self.carrier().connect(CONNECT_TIMEOUT).await.map_err(|(failure, detail)| match failure {
            ConnectFailure::TimedOut => self.unsent("the connect did not end in time"),
            _ => self.unsent(&detail),
        })
    }

    /// Reads the editor's token again.
    pub(super) async fn token_now(&self) -> Option<Secret> {
        let (host, target) = (Arc::clone(&self.with.env.host), self.target.clone());
        let now = self.with.read_project(move || survey::target_now(&*host, target)).await?;
        now.ok()?.endpoint.token().cloned()
    }

    /// Runs a step that comes before the first byte of a call. If it takes longer than [`SILENCE_NAMED_AFTER`], `cause` is shown
    /// as what the calls wait for.
    pub(super) async fn before_calls<T>(&self, cause: Cause, step: impl Future<Output = T>) -> T {
        let mut step = std::pin::pin!(step);
        if let Ok(done) = timeout(SILENCE_NAMED_AFTER, &mut step).await {
            return done;
        }
        let _hindered = Hindered::by(self, cause);
        step.await
    }

    /// Sends a request and reads its response. `call`: the claimed call that the request carries, if any.
    pub(super) async fn exchange_over(
        &self,
        mut stream: BoxStream,
        request: &[u8],
        call: Option<CallId>,
    ) -> Result<Response, Disconnect> {
        write_whole(&mut stream, request).await.map_err(|torn| {
            if let (Torn::NoByte, Some(call)) = (torn, call) {
                self.not_written(call);
            }
            Disconnect::Reset
        })?;
        self.room().await;
        let response = self.response(&mut stream).await?;
        Ok(response)
    }

    fn unsent(&self, why: &str) -> Disconnect {
        self.with.env.events.request_unsent(self.target.endpoint.port(), why);
        Disconnect::Eof
    }

    /// Reads a response. There is no time limit here: the calls' deadlines and the heartbeat are checked elsewhere.
    async fn response(&self, stream: &mut BoxStream) -> Result<Response, Disconnect> {
        let mut decoder = ResponseDecoder::new(HTTP_BODY_MAX_BYTES);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = match stream.read(&mut buffer).await {
                Ok(0) => return decoder.end().ok_or(Disconnect::Eof),
                Ok(count) => count,
                Err(_) => return Err(Disconnect::Reset),
            };
            self.heard();
            match decoder.push(buffer.get(..count).unwrap_or_default()) {
                Ok(Some(response)) => return Ok(response),
                Ok(None) => {}
                Err(BadResponse::Frame(bad)) => return Err(self.bad_bytes((&bad).into(), &bad.to_string())),
                Err(bad @ BadResponse::NotHttp) => {
                    let fault = BadMessage::NotAMessage("not HTTP");
                    return Err(self.bad_bytes((&fault).into(), &bad.to_string()));
                }
            }
        }
    }
}

/// The last request of the greeting, and the editor's answer to it.
struct Greeting {
    request: Request,
    answer: Response,
}

/// The requests of one connection; see the module's documentation.
pub(super) struct Requests {
    /// The connection that was dialled and checked, until it has carried the first request.
    first: Option<BoxStream>,
    greeting: Option<Arc<Greeting>>,
    /// An idle connection to the editor. Its end is the first sign that the editor leaves.
    idle: Option<BoxStream>,
    /// Whether such a connection has ended, and the editor was not greeted again since then.
    is_in_doubt: bool,
    /// The token that the editor asks for, if it asks for one.
    token: Option<Secret>,
}

impl Requests {
    pub(super) fn new(first: BoxStream, token: Option<Secret>) -> Self {
        Self { first: Some(first), greeting: None, idle: None, is_in_doubt: false, token }
    }

    /// Sends a message as a request, and handles its response. Returns without sending if a call may no longer be claimed.
    pub(super) async fn send(
        &mut self,
        task: &ConnectionTask,
        number: u64,
        request: Request,
        call: Option<Outgoing>,
    ) -> Result<(), Disconnect> {
        let id = task.wire_id(number, call.as_ref().map(|call| call.call));
        let response = match call {
            Some(outgoing) => {
                let stream = self.connect_for_call(task).await?;
                let call = outgoing.call;
                if !task.claim(number, outgoing) {
                    return Ok(());
                }
                task.exchange_over(stream, &self.encode(task, &request), Some(call)).await?
            }
            None => {
                let stream = match self.first.take() {
                    Some(first) => first,
                    None => task.connect_anew().await?,
                };
                let response = self.ask(task, stream, &request).await?;
                if !task.is_greeted() {
                    self.greeting = Some(Arc::new(Greeting { request: request.clone(), answer: response.clone() }));
                }
                response
            }
        };
        let body = response.body.clone();
        let read = task.guarded("message", || task.target.dialect.read_response(id, &request, response));
        let reply = read.unwrap_or_else(|| Reply::Wreck(Wreck::of_message(&body)));
        // The body may have megabytes, and rendering the answer needs the same amount again.
        drop(body);
        task.reply_came(number, reply).await
    }

    fn encode(&self, task: &ConnectionTask, request: &Request) -> Bytes {
        request.encode(task.target.endpoint.port(), self.token.as_ref().map(Secret::reveal))
    }

    /// Sends a request that is no call. If the editor refuses its token, the file that has it is read again, once: an editor that
    /// has just come back may have a new one.
    async fn ask(
        &mut self,
        task: &ConnectionTask,
        stream: BoxStream,
        request: &Request,
    ) -> Result<Response, Disconnect> {
        let bytes = self.encode(task, request);
        let response = task.before_calls(Cause::Stalled, task.exchange_over(stream, &bytes, None)).await?;
        if response.status != UNAUTHORIZED || self.token.is_none() {
            return Ok(response);
        }
        let now = task.token_now().await;
        if now.is_none() || now == self.token {
            return Ok(response);
        }
        self.token = now;
        let bytes = self.encode(task, request);
        let again = async { task.exchange_over(task.connect_anew().await?, &bytes, None).await };
        task.before_calls(Cause::Stalled, again).await
    }

    /// Connects for a call. Another program may listen by now, so the owner of the port is checked again, and the greeting is
    /// repeated on a second connection. If something is wrong, the connection ends, and the next dial finds out what.
    async fn connect_for_call(&mut self, task: &ConnectionTask) -> Result<BoxStream, Disconnect> {
        let connected = async {
            let both = (task.connect_anew().await?, task.connect_anew().await?);
            match task.carrier().identify().await {
                Ok(_) => Ok(both),
                Err(_) => Err(task.unsent("the port may belong to another program now")),
            }
        };
        let (mut stream, mut beside) = task.before_calls(Cause::Connecting, connected).await?;
        // The lookup takes time, and a write to a connection that was closed in the meantime would still succeed.
        if is_gone(&mut beside).await {
            return Err(task.unsent("it hung up before it was greeted"));
        }
        self.greet_again(task, beside).await?;
        if is_gone(&mut stream).await {
            return Err(task.unsent("it hung up before it was asked"));
        }
        Ok(stream)
    }

    /// Asks for the greeting again, which must be answered as before.
    async fn greet_again(&mut self, task: &ConnectionTask, stream: BoxStream) -> Result<(), Disconnect> {
        // The bridge orders no call before the greeting has succeeded.
        let greeting = self.greeting.clone().ok_or(Disconnect::Protocol)?;
        let greeted = self.ask(task, stream, &greeting.request).await?;
        let is_alike = task.guarded("greeting", || task.target.dialect.greets_alike(&greeting.answer, &greeted));
        if is_alike != Some(true) {
            return Err(task.unsent("it answers the greeting otherwise than before"));
        }
        self.is_in_doubt = false;
        Ok(())
    }

    /// Returns when the port accepts no connection any more, or when the editor answers the greeting otherwise than before: it has
    /// reloaded, and is back already. Never returns before the greeting has succeeded. The future can be dropped at any time.
    pub(super) async fn watch(&mut self, task: &ConnectionTask) -> Disconnect {
        if !task.is_greeted() {
            return std::future::pending().await;
        }
        loop {
            let since = Instant::now();
            // A doubt that stays, because this future was dropped while it asked, is settled first.
            if let (false, Some(idle)) = (self.is_in_doubt, &mut self.idle) {
                // The server may also have closed the connection for being idle, as HTTP servers do.
                let _ = idle.read(&mut [0]).await;
                (self.idle, self.is_in_doubt) = (None, true);
            }
            let again = async {
                self.idle = Some(task.connect_anew().await?);
                if self.is_in_doubt {
                    self.greet_again(task, task.connect_anew().await?).await?;
                }
                Ok(())
            };
            if let Err(drop) = again.await {
                return drop;
            }
            // A server that closes every connection at once must not be dialled in a tight loop.
            tokio::time::sleep_until(since + IDLE_WATCH_SPACING).await;
        }
    }
}

/// While a value of this type exists, the ledger records that no call can be written on the connection, and why.
struct Hindered<'t>(&'t ConnectionTask);

impl<'t> Hindered<'t> {
    fn by(task: &'t ConnectionTask, cause: Cause) -> Self {
        task.with.calls.ledger(|ledger, _| ledger.hinder(task.epoch, Some(cause)));
        Self(task)
    }
}

impl std::ops::Drop for Hindered<'_> {
    fn drop(&mut self) {
        self.0.with.calls.ledger(|ledger, _| ledger.hinder(self.0.epoch, None));
    }
}

/// Whether the peer has closed the connection, or sent something, although nothing was written to it yet.
async fn is_gone(stream: &mut BoxStream) -> bool {
    let mut byte = [0];
    tokio::select! {
        biased;
        _ = stream.read(&mut byte) => true,
        () = std::future::ready(()) => false,
    }
}
