//! A message that a client sends alone, as in a POST of MCP over HTTP, and the lines that answer it.
//!
//! Each such message has a session of its own, with the key of its request, its queue and its limits. So nothing of different
//! clients can mix, and nothing is remembered from one message to the next. The session ends when the answer was delivered.

use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead as _, DuplexStream, ReadBuf};
use tokio::sync::oneshot;

use crate::limits::CLIENT_MESSAGE_MAX_BYTES;
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::mcp::ProtocolVersion;

/// The number of bytes that are read at once.
const READ_BYTES: usize = 8 * 1024;

/// A message of a client that comes alone.
#[derive(Debug, Clone)]
pub struct Posting {
    /// The message, or a batch, on one line.
    pub line: Bytes,
    /// The project that the message is for. `None`: it may use all editors, and names one itself.
    pub project: Option<PathBuf>,
    /// The version that an earlier handshake settled, for a message of the era with a handshake. `None` for a message
    /// of the stateless era, and for `initialize`.
    pub opened: Option<ProtocolVersion>,
    /// The request to cancel when its client is gone. `None`: nothing is cancelled, the request goes on, and its answer
    /// is kept.
    pub cancels: Option<RequestId>,
}

/// The answer to a [`Posting`], line by line. If it is dropped before [`delivered`](Self::delivered), the client counts as gone.
#[derive(Debug)]
pub struct Conversation {
    lines: Option<Lines>,
    departs: Option<oneshot::Sender<Departure>>,
}

/// How a client left.
#[derive(Debug)]
pub enum Departure {
    /// It has its answer.
    Delivered,
    /// It does not wait for its answer any more.
    Gone(Lines),
}

/// The lines of an answer that were not delivered.
#[derive(Debug)]
pub struct Lines {
    output: DuplexStream,
    decoder: LineDecoder,
    /// Whether the answer was read.
    is_answered: bool,
}

impl Conversation {
    /// Makes the conversation that reads the session's lines from this pipe. Also returns the receiver of the departure.
    pub fn over(output: DuplexStream) -> (Self, oneshot::Receiver<Departure>) {
        let (departs, departure) = oneshot::channel();
        let lines = Lines { output, decoder: LineDecoder::new(CLIENT_MESSAGE_MAX_BYTES), is_answered: false };
        (Self { lines: Some(lines), departs: Some(departs) }, departure)
    }

    /// Returns the next line and whether it is the answer, after which no line follows. `None` if there is no more.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(Bytes, bool)>> {
        self.lines.as_mut().map_or(Poll::Ready(None), |lines| lines.poll_next(context))
    }

    /// As [`poll_next`](Self::poll_next).
    pub async fn next(&mut self) -> Option<(Bytes, bool)> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Ends the conversation: the client has the answer.
    pub fn delivered(mut self) {
        if let Some(departs) = self.departs.take() {
            let _ = departs.send(Departure::Delivered);
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if let (Some(departs), Some(lines)) = (self.departs.take(), self.lines.take()) {
            let _ = departs.send(Departure::Gone(lines));
        }
    }
}

impl Lines {
    /// Reads on until the answer was read, or nothing more comes.
    pub async fn answered(&mut self) {
        while !self.is_answered && std::future::poll_fn(|context| self.poll_next(context)).await.is_some() {}
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(Bytes, bool)>> {
        loop {
            match self.decoder.next_line() {
                Some(Line::Whole(line)) => {
                    let is_answer = jsonrpc::is_answer(&line);
                    self.is_answered |= is_answer;
                    return Poll::Ready(Some((line, is_answer)));
                }
                // The outbox never writes a line that is longer than a client may be sent.
                Some(Line::TooLong { .. }) => return Poll::Ready(None),
                None => {}
            }
            let mut bytes = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.output).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.decoder.push(buffer.filled()),
                _ => return Poll::Ready(None),
            }
        }
    }
}
