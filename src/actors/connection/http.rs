//! The carrier of a dialect that speaks HTTP: between the lines of the conversation and a connection for each request.
//!
//! *Lives* in the connection's own task and falls with it. One request at a time, none of them twice. When one cannot be sent or
//! is cut, the conversation ends as that of a broken stream does; calls of which not a byte was written are held again then.
//!
//! A call is claimed here, once everything that comes before its first byte has gone well: while it waits for an earlier request, a
//! connection or the greeting beside it, it has provably not run, and its client is told so when it waits no longer.
//!
//! A greeting says who answered it, and nothing of the connections that come after it. So before a call it is asked again, once
//! the connection for the call stands: whoever accepted that one still listened then.

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::{Line, News, Order, Unclaimed};
use crate::fsm::bridge::Drop;
use crate::fsm::cause::Cause;
use crate::limits::{
    BYTES_NEWS_EVERY, CONNECT_TIMEOUT, HTTP_BODY_MAX_BYTES, HTTP_PIPE_BYTES, IDLE_WATCH_SPACING, SILENCE_NAMED_AFTER,
};
use crate::net::BoxStream;
use crate::protocol::dialect::BadMessage;
use crate::protocol::dialect::http::{Ask, Heard};
use crate::protocol::framing::Framer as _;
use crate::protocol::framing::http::{self, BadResponse, Response, ResponseDecoder};
use crate::protocol::framing::lines::Lines;
use crate::protocol::ids::CallId;

/// How much is asked of a socket at once; most answers have 200 bytes.
const READ_BYTES: usize = 4096;

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
        carrier.end.unwrap_or(drop)
    }

    /// A connection for one request more.
    async fn connect_anew(&self) -> Result<BoxStream, Drop> {
        match timeout(CONNECT_TIMEOUT, self.env.net.connect(self.target.port)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(self.unsent(&error.to_string())),
            Err(_) => Err(self.unsent("the connect did not end in time")),
        }
    }

    /// A connection for a call. Whoever listens may be another by now: it is looked at anew, and greeted beside it; what is wrong
    /// with it, the next dial tells.
    async fn connect_for_call(&self, greeting: &Greeting) -> Result<BoxStream, Drop> {
        let connected = async {
            let both = (self.connect_anew().await?, self.connect_anew().await?);
            match self.check_owner().await {
                Ok(_) => Ok(both),
                Err(_) => Err(self.unsent("the port may belong to somebody else now")),
            }
        };
        let (mut stream, mut beside) = self.before_calls(Cause::Connecting, connected).await?;
        // The look takes a while, and a write to one that has gone meanwhile would still succeed.
        if is_gone(&mut beside).await {
            return Err(self.unsent("it hung up before it was greeted"));
        }
        let greeted = self.before_calls(Cause::Stalled, self.exchange(beside, &greeting.request, None)).await?;
        if greeted != greeting.answer {
            return Err(self.unsent("it answers the greeting otherwise than before"));
        }
        if is_gone(&mut stream).await {
            return Err(self.unsent("it hung up before it was asked"));
        }
        Ok(stream)
    }

    /// A step that comes before the first byte of a call. If it takes longer than [`SILENCE_NAMED_AFTER`], `cause` is what the
    /// calls wait for.
    async fn before_calls<T>(&self, cause: Cause, step: impl Future<Output = T>) -> T {
        let mut step = std::pin::pin!(step);
        if let Ok(done) = timeout(SILENCE_NAMED_AFTER, &mut step).await {
            return done;
        }
        let _hindered = Hindered::by(self, cause);
        step.await
    }

    /// Sends a request and reads its response. `call`: the claimed call that it carries, if it does.
    async fn exchange(&self, mut stream: BoxStream, request: &[u8], call: Option<CallId>) -> Result<Response, Drop> {
        let mut rest = request;
        while !rest.is_empty() {
            match stream.write(rest).await {
                Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
                Ok(_) | Err(_) => {
                    if let Some(call) = call.filter(|_| rest.len() == request.len()) {
                        self.revoke_claim(call);
                    }
                    return Err(Drop::Reset);
                }
            }
        }
        stream.flush().await.map_err(|_| Drop::Reset)?;
        self.response(&mut stream).await
    }

    fn take_unclaimed(&self, number: u64) -> Option<Unclaimed> {
        self.unclaimed().remove(&number)
    }

    fn unsent(&self, why: &str) -> Drop {
        self.env.events.request_unsent(self.target.port, why);
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
                if let Some(response) = self.ask(&ask).await? {
                    heard.write_all(&said(&ask, &response)).await.map_err(|_| Drop::Eof)?;
                }
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

    /// `None`: it was a call that nobody wants sent any more, and not a byte of it was written.
    async fn ask(&mut self, ask: &Ask<'_>) -> Result<Option<Response>, Drop> {
        let line = self.line;
        let (port, kind) = (line.target.port, ask.content_type.as_deref());
        let request = http::request(port, &ask.method, &ask.path, kind, ask.body.as_bytes());
        if let Some(unclaimed) = line.take_unclaimed(ask.number) {
            // Without a greeting no call is ordered.
            let Some(greeting) = &self.greeting else { return Err(Drop::Protocol) };
            let stream = line.connect_for_call(greeting).await?;
            let call = unclaimed.call;
            if !line.claim(ask.number, unclaimed) {
                return Ok(None);
            }
            return line.exchange(stream, &request, Some(call)).await.map(Some);
        }
        let asked = async {
            let stream = match self.first.take() {
                Some(first) => first,
                None => line.connect_anew().await?,
            };
            line.exchange(stream, &request, None).await
        };
        let response = line.before_calls(Cause::Stalled, asked).await?;
        self.greeting.get_or_insert_with(|| Greeting { request, answer: response.clone() });
        Ok(Some(response))
    }
}

/// As long as it lives, no call can be written on a connection.
struct Hindered<'l>(&'l Line);

impl<'l> Hindered<'l> {
    fn by(line: &'l Line, cause: Cause) -> Self {
        line.calls.ledger(|ledger, _| ledger.hinder(line.epoch, Some(cause)));
        Self(line)
    }
}

impl std::ops::Drop for Hindered<'_> {
    fn drop(&mut self) {
        self.0.calls.ledger(|ledger, _| ledger.hinder(self.0.epoch, None));
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
