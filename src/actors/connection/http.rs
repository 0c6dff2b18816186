//! The transport of a dialect that speaks HTTP: one connection for each request.
//!
//! The transport lives in the connection's task and ends with it. It sends one request at a time, and no request twice. When a
//! request cannot be sent or is cut, the connection ends as a broken stream does; calls of which no byte was written are then
//! held again.
//!
//! A call is claimed here, after every step before its first byte has succeeded. While the call waits for an earlier request, a
//! connection or the repeated greeting, it is certain that it has not run. If the call's time ends during that wait, its client
//! gets the verdict "not executed".
//!
//! A greeting shows which program answered it, but nothing about later connections. So before each call the greeting is repeated
//! on a second connection, after the connection for the call was opened: the program that accepted the call's connection was
//! still listening then.

use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout};

use super::Line;
use super::frames::{Outgoing, Torn, write_whole};
use crate::fsm::bridge::Disconnect;
use crate::fsm::cause::Cause;
use crate::limits::{CONNECT_TIMEOUT, HTTP_BODY_MAX_BYTES, IDLE_WATCH_SPACING, SILENCE_NAMED_AFTER};
use crate::net::BoxStream;
use crate::protocol::dialect::BadMessage;
use crate::protocol::dialect::foreign_peer::HEAD_BYTES;
use crate::protocol::dialect::http::{Ask, Heard};
use crate::protocol::framing::http::{self, BadResponse, Response, ResponseDecoder};
use crate::protocol::ids::CallId;

/// Bytes read from a socket at once; most answers have 200 bytes.
const READ_BYTES: usize = 4096;

impl Line {
    /// Connects for one more request.
    async fn connect_anew(&self) -> Result<BoxStream, Disconnect> {
        match timeout(CONNECT_TIMEOUT, self.with.env.net.connect(self.target.port)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.unsent(&error.to_string())),
            Err(_) => Err(self.unsent("the connect did not end in time")),
        }
    }

    /// Connects for a call. Another program may listen by now, so the owner of the port is checked again, and the greeting is
    /// repeated on a second connection. If something is wrong, the connection ends, and the next dial finds out what.
    async fn connect_for_call(&self, greeting: &Greeting) -> Result<BoxStream, Disconnect> {
        let connected = async {
            let both = (self.connect_anew().await?, self.connect_anew().await?);
            match self.check_owner().await {
                Ok(_) => Ok(both),
                Err(_) => Err(self.unsent("the port may belong to another program now")),
            }
        };
        let (mut stream, mut beside) = self.before_calls(Cause::Connecting, connected).await?;
        // The lookup takes time, and a write to a connection that was closed in the meantime would still succeed.
        if is_gone(&mut beside).await {
            return Err(self.unsent("it hung up before it was greeted"));
        }
        let greeted = self.before_calls(Cause::Stalled, self.exchange_over(beside, &greeting.request, None)).await?;
        if greeted != greeting.answer {
            return Err(self.unsent("it answers the greeting otherwise than before"));
        }
        if is_gone(&mut stream).await {
            return Err(self.unsent("it hung up before it was asked"));
        }
        Ok(stream)
    }

    /// Runs a step that comes before the first byte of a call. If it takes longer than [`SILENCE_NAMED_AFTER`], `cause` is shown
    /// as what the calls wait for.
    async fn before_calls<T>(&self, cause: Cause, step: impl Future<Output = T>) -> T {
        let mut step = std::pin::pin!(step);
        if let Ok(done) = timeout(SILENCE_NAMED_AFTER, &mut step).await {
            return done;
        }
        let _hindered = Hindered::by(self, cause);
        step.await
    }

    /// Sends a request and reads its response. `call`: the claimed call that the request carries, if any.
    async fn exchange_over(
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
        self.response(&mut stream).await
    }

    fn unsent(&self, why: &str) -> Disconnect {
        self.with.env.events.request_unsent(self.target.port, why);
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

/// The first request on the connection, and the editor's answer to it.
struct Greeting {
    request: Bytes,
    answer: Response,
}

/// The HTTP transport of one connection; see the module's documentation.
pub(super) struct HttpTransport {
    /// The connection that was dialled and checked, until it has carried the first request.
    first: Option<BoxStream>,
    greeting: Option<Greeting>,
    /// An idle connection to the editor. Its end is the first sign that the editor leaves.
    idle: Option<BoxStream>,
}

impl HttpTransport {
    pub(super) fn new(first: BoxStream) -> Self {
        Self { first: Some(first), greeting: None, idle: None }
    }

    /// Sends a message as a request, and handles its response. Returns without sending if a call may no longer be claimed.
    pub(super) async fn send(
        &mut self,
        line: &Line,
        number: u64,
        frame: &Bytes,
        call: Option<Outgoing>,
    ) -> Result<(), Disconnect> {
        // Our own dialect encoded the frame: if it does not parse, that is our bug, and nothing is sent.
        let ask: Ask<'_> = serde_json::from_slice(frame).map_err(|_| Disconnect::Protocol)?;
        let kind = ask.content_type.as_deref();
        let request = http::request(line.target.port, &ask.method, &ask.path, kind, ask.body.as_bytes());
        let response = match call {
            Some(outgoing) => {
                // The bridge orders no call before the greeting has succeeded.
                let Some(greeting) = &self.greeting else { return Err(Disconnect::Protocol) };
                let stream = line.connect_for_call(greeting).await?;
                let call = outgoing.call;
                if !line.claim(number, outgoing) {
                    return Ok(());
                }
                line.exchange_over(stream, &request, Some(call)).await?
            }
            None => {
                let asked = async {
                    let stream = match self.first.take() {
                        Some(first) => first,
                        None => line.connect_anew().await?,
                    };
                    line.exchange_over(stream, &request, None).await
                };
                let response = line.before_calls(Cause::Stalled, asked).await?;
                self.greeting.get_or_insert_with(|| Greeting { request, answer: response.clone() });
                response
            }
        };
        let heard = said(&ask, &response);
        let head = heard.slice(..heard.len().min(HEAD_BYTES));
        drop(response);
        let taken = line.take(heard).await;
        if taken.is_err() {
            line.note_foreign_peer(&head).await;
        }
        taken
    }

    /// Returns when the port accepts no connection any more; never before the greeting has succeeded. The future can be dropped
    /// at any time.
    pub(super) async fn watch(&mut self, line: &Line) -> Disconnect {
        if !line.is_greeted() {
            return std::future::pending().await;
        }
        loop {
            let since = Instant::now();
            if let Some(idle) = &mut self.idle {
                // The server may also have closed the connection for being idle, as HTTP servers do.
                let _ = idle.read(&mut [0]).await;
                self.idle = None;
            }
            match line.connect_anew().await {
                Ok(stream) => self.idle = Some(stream),
                Err(drop) => return drop,
            }
            // A server that closes every connection at once must not be dialled in a tight loop.
            tokio::time::sleep_until(since + IDLE_WATCH_SPACING).await;
        }
    }
}

/// While a value of this type exists, the ledger records that no call can be written on the connection, and why.
struct Hindered<'l>(&'l Line);

impl<'l> Hindered<'l> {
    fn by(line: &'l Line, cause: Cause) -> Self {
        line.with.calls.ledger(|ledger, _| ledger.hinder(line.epoch, Some(cause)));
        Self(line)
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

/// Builds the dialect's frame for a response.
fn said(ask: &Ask<'_>, response: &Response) -> Bytes {
    let heard = Heard {
        number: ask.number,
        call: ask.call.as_deref().map(Into::into),
        path: ask.path.as_ref().into(),
        status: response.status,
        server: response.server.as_deref().map(Into::into),
        body: String::from_utf8_lossy(&response.body),
    };
    // Texts and numbers can always be written as JSON.
    serde_json::to_vec(&heard).unwrap_or_default().into()
}
