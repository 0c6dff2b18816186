//! The carrier of a dialect that speaks HTTP: between the lines of the conversation and a connection for each request.
//!
//! *Lives* in the connection's own task and falls with it. One request at a time, none of them twice. When one cannot be sent or
//! is cut, the conversation ends as that of a broken stream does; calls of which not a byte was written are held again then.
//!
//! A greeting says who answered it, and nothing of the connections that come after it. So before a call it is asked again, once
//! the connection for the call stands: whoever accepted that one still listened then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::{Line, News, Order};
use crate::estate::Estate;
use crate::fsm::bridge::Drop;
use crate::limits::{BYTES_NEWS_EVERY, CONNECT_TIMEOUT, HTTP_BODY_MAX_BYTES, HTTP_PIPE_BYTES, IDLE_WATCH_SPACING};
use crate::net::BoxStream;
use crate::protocol::dialect::BadMessage;
use crate::protocol::dialect::http::{Ask, Heard};
use crate::protocol::framing::Framer as _;
use crate::protocol::framing::http::{self, BadResponse, Response, ResponseDecoder};
use crate::protocol::framing::lines::Lines;
use crate::protocol::ids::{CallId, Epoch};

/// How much is asked of a socket at once; most answers have 200 bytes.
const READ_BYTES: usize = 4096;

/// Calls that were claimed and wait in the pipe before the carrier: not a byte of them was written.
#[derive(Debug, Default)]
pub(super) struct Unwritten(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    calls: BTreeMap<u64, CallId>,
    /// The connection is over: nothing may be written any more.
    over: bool,
}

/// Nothing may be written any more.
struct Over;

impl Unwritten {
    fn enter(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call was claimed for the request with this number.
    pub(super) fn add(&self, number: u64, call: CallId) {
        self.enter().calls.insert(number, call);
    }

    /// The request with this number is about to be written: the call that it carries, if it does.
    fn begin(&self, number: u64) -> Result<Option<CallId>, Over> {
        let mut waiting = self.enter();
        if waiting.over { Err(Over) } else { Ok(waiting.calls.remove(&number)) }
    }

    /// Not a byte of it could be written.
    fn not_begun(&self, number: u64, call: Option<CallId>) {
        self.enter().calls.extend(call.map(|call| (number, call)));
    }

    fn end(&self) -> Vec<CallId> {
        let mut waiting = self.enter();
        waiting.over = true;
        std::mem::take(&mut waiting.calls).into_values().collect()
    }
}

/// Holds again what was claimed for a connection and never left. Nothing more is written to it from here on.
pub(super) fn hold_again(estate: &Arc<Estate>, epoch: Epoch, unwritten: &Unwritten) {
    for call in unwritten.end() {
        estate.decide(|ledger, now| ledger.never_left(call, epoch, now));
    }
}

impl Line {
    /// Converses over HTTP. `first` is the connection that was dialled and checked: it carries the first request.
    pub(super) async fn converse_over_http(&self, first: BoxStream, orders: mpsc::Receiver<Order>) -> Drop {
        let (near, far) = tokio::io::duplex(HTTP_PIPE_BYTES);
        let mut carrier = Carrier { line: self, first: Some(first), greeting: None, idle: None, end: None };
        let drop = tokio::select! {
            biased;
            drop = self.converse(Box::new(near), orders) => drop,
            never = carrier.run(far) => match never {},
        };
        hold_again(&self.estate, self.epoch, &self.unwritten);
        carrier.end.unwrap_or(drop)
    }

    /// A connection for one request more.
    async fn connect_anew(&self) -> Result<BoxStream, Drop> {
        match timeout(CONNECT_TIMEOUT, self.estate.net.connect(self.target.port)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.unsent(&error.to_string())),
            Err(_) => Err(self.unsent("the connect did not end in time")),
        }
    }

    /// A connection for a call. Whoever listens may be another by now: it is looked at anew, and greeted beside it; what is wrong
    /// with it, the next dial tells.
    async fn connect_for_call(&self, greeting: &Greeting) -> Result<BoxStream, Drop> {
        let mut stream = self.connect_anew().await?;
        let mut beside = self.connect_anew().await?;
        if self.check_owner().await.is_err() {
            return Err(self.unsent("the port may belong to somebody else now"));
        }
        // The look takes a while, and a write to one that has gone meanwhile would still succeed.
        if is_gone(&mut beside).await {
            return Err(self.unsent("it hung up before it was greeted"));
        }
        if self.exchange(beside, &greeting.request, None).await? != greeting.answer {
            return Err(self.unsent("it answers the greeting otherwise than before"));
        }
        if is_gone(&mut stream).await {
            return Err(self.unsent("it hung up before it was asked"));
        }
        Ok(stream)
    }

    /// Sends a request and reads its response. `number`: that of a request of the conversation; a greeting beside it has none.
    async fn exchange(&self, mut stream: BoxStream, request: &[u8], number: Option<u64>) -> Result<Response, Drop> {
        let call = match number.map(|number| self.unwritten.begin(number)) {
            Some(Err(Over)) => return Err(Drop::Eof),
            Some(Ok(call)) => call,
            None => None,
        };
        let mut rest = request;
        while !rest.is_empty() {
            match stream.write(rest).await {
                Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
                Ok(_) | Err(_) => {
                    if let Some(number) = number.filter(|_| rest.len() == request.len()) {
                        self.unwritten.not_begun(number, call);
                    }
                    return Err(Drop::Reset);
                }
            }
        }
        stream.flush().await.map_err(|_| Drop::Reset)?;
        self.response(&mut stream).await
    }

    fn unsent(&self, why: &str) -> Drop {
        self.estate.events.request_unsent(self.target.port, why);
        Drop::Eof
    }

    /// The wait for it has no bound here: deadlines and the pulse are others' business.
    async fn response(&self, stream: &mut BoxStream) -> Result<Response, Drop> {
        let mut decoder = ResponseDecoder::new(HTTP_BODY_MAX_BYTES);
        let mut buffer = vec![0; READ_BYTES];
        let mut told = Instant::now();
        loop {
            let count = match stream.read(&mut buffer).await {
                Ok(0) => return decoder.end().ok_or(Drop::Eof),
                Ok(count) => count,
                Err(_) => return Err(Drop::Reset),
            };
            match decoder.push(buffer.get(..count).unwrap_or_default()) {
                Ok(Some(response)) => return Ok(response),
                Ok(None) => {}
                Err(BadResponse::Frame(bad)) => return Err(self.bad_bytes((&bad).into(), &bad.to_string())),
                Err(bad @ BadResponse::NotHttp) => {
                    let fault = BadMessage::NotAMessage("not HTTP");
                    return Err(self.bad_bytes((&fault).into(), &bad.to_string()));
                }
            }
            if told.elapsed() >= BYTES_NEWS_EVERY {
                told = Instant::now();
                self.tell_unasked(News::BytesArrived).await;
            }
        }
    }
}

/// What was asked first, and what the editor said to it.
struct Greeting {
    request: Bytes,
    answer: Response,
}

struct Carrier<'l> {
    line: &'l Line,
    first: Option<BoxStream>,
    greeting: Option<Greeting>,
    /// One that nothing is asked on: its end is the first sign that the editor leaves.
    idle: Option<BoxStream>,
    /// How it ended.
    end: Option<Drop>,
}

impl Carrier<'_> {
    /// Carries until it cannot go on. The conversation then reads what was heard, and after it the end; it is the one to return.
    async fn run(&mut self, pipe: DuplexStream) -> std::convert::Infallible {
        let (mut asks, mut heard) = tokio::io::split(pipe);
        self.end = self.carry(&mut asks, &mut heard).await.err();
        let _ = heard.shutdown().await;
        std::future::pending().await
    }

    async fn carry(
        &mut self,
        asks: &mut ReadHalf<DuplexStream>,
        heard: &mut tokio::io::WriteHalf<DuplexStream>,
    ) -> Result<(), Drop> {
        let mut framer = Lines::new(usize::MAX);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            while let Ok(Some(line)) = framer.next_frame() {
                // The dialect's own words: what is none of them is a bug of ours, and nothing was sent.
                let ask: Ask<'_> = serde_json::from_slice(&line).map_err(|_| Drop::Protocol)?;
                let response = self.ask(&ask).await?;
                heard.write_all(&said(&ask, &response)).await.map_err(|_| Drop::Eof)?;
            }
            let read = tokio::select! {
                biased;
                read = asks.read(&mut buffer) => read,
                gone = self.watch() => return Err(gone),
            };
            match read {
                Ok(count @ 1..) => framer.push(buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// Returns when nobody listens any more. Losing the future loses nothing.
    async fn watch(&mut self) -> Drop {
        if self.line.met.get().is_none() {
            return std::future::pending().await;
        }
        loop {
            let since = Instant::now();
            if let Some(idle) = &mut self.idle {
                // It may also have been ended for its idleness, as HTTP servers do.
                let _ = idle.read(&mut [0]).await;
                self.idle = None;
            }
            match self.line.connect_anew().await {
                Ok(stream) => self.idle = Some(stream),
                Err(drop) => return drop,
            }
            // A server that ends them all at once is not to be dialled all the time.
            tokio::time::sleep_until(since + IDLE_WATCH_SPACING).await;
        }
    }

    async fn ask(&mut self, ask: &Ask<'_>) -> Result<Response, Drop> {
        let line = self.line;
        let (port, kind) = (line.target.port, ask.content_type.as_deref());
        let request = http::request(port, &ask.method, &ask.path, kind, ask.body.as_bytes());
        let stream = match (self.first.take(), &self.greeting) {
            (Some(first), _) => first,
            (None, Some(greeting)) if ask.call.is_some() => line.connect_for_call(greeting).await?,
            (None, _) => line.connect_anew().await?,
        };
        let response = line.exchange(stream, &request, Some(ask.number)).await?;
        self.greeting.get_or_insert_with(|| Greeting { request, answer: response.clone() });
        Ok(response)
    }
}

/// Whether a peer has ended a connection, or spoken, before a byte was written to it.
async fn is_gone(stream: &mut BoxStream) -> bool {
    let mut byte = [0];
    tokio::select! {
        biased;
        _ = stream.read(&mut byte) => true,
        () = std::future::ready(()) => false,
    }
}

/// The line for a response.
fn said(ask: &Ask<'_>, response: &Response) -> Vec<u8> {
    let heard = Heard {
        number: ask.number,
        call: ask.call.as_deref().map(Into::into),
        path: ask.path.as_ref().into(),
        status: response.status,
        server: response.server.as_deref().map(Into::into),
        body: String::from_utf8_lossy(&response.body),
    };
    // Texts and numbers always have a JSON form.
    let mut line = serde_json::to_vec(&heard).unwrap_or_default();
    line.push(b'\n');
    line
}
