//! The stream of server-sent events. A response is such a stream if it has more than its answer, or if its answer takes
//! long.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::client::Conversation;
use crate::limits::http::{HTTP_KEEP_ALIVE_EVERY, HTTP_PROBES};
use crate::net::BoxFuture;
use crate::runtime::enter;
use crate::services::http::{Body, Bytes, Cut, Frame};

const BEFORE: &[u8] = b"event: message\ndata: ";
const AFTER: &[u8] = b"\n\n";
/// A line that every reader of such a stream ignores.
const COMMENT: &[u8] = b":\n\n";

/// A conversation that is shared by the response and by the function that is called when the response was delivered.
pub(super) type Shared = Arc<Mutex<Option<Conversation>>>;

/// The body of a response that is a stream.
pub(super) struct Events {
    conversation: Shared,
    pieces: VecDeque<Bytes>,
    /// Whether the answer was among the lines that were read.
    is_over: bool,
    /// When the next comment is due.
    pulse: Pin<Box<Sleep>>,
    /// Ready when the client closes its sending side. Set only if a closed connection cancels the request.
    hung_up: Option<BoxFuture<'static, ()>>,
    /// The times until the next comments. They show whether a client that closed its sending side still reads.
    probes: std::slice::Iter<'static, Duration>,
}

impl Events {
    /// Returns the stream of a conversation. `first`: a line that was read already.
    pub(super) fn of(
        conversation: Shared,
        first: Option<(Bytes, bool)>,
        hung_up: Option<BoxFuture<'static, ()>>,
    ) -> Self {
        let pulse = Box::pin(sleep(HTTP_KEEP_ALIVE_EVERY));
        let (pieces, probes) = (VecDeque::new(), [].iter());
        let mut events = Self { conversation, pieces, is_over: false, pulse, hung_up, probes };
        if let Some((line, is_answer)) = first {
            events.add(line, is_answer);
        }
        events
    }

    fn add(&mut self, line: Bytes, is_answer: bool) {
        self.pieces.extend([Bytes::from_static(BEFORE), line, Bytes::from_static(AFTER)]);
        self.is_over = is_answer;
        if self.probes.as_slice().is_empty() {
            self.beat();
        }
    }

    /// Sets when the next comment is due.
    fn beat(&mut self) {
        let next = self.probes.next().copied().unwrap_or(HTTP_KEEP_ALIVE_EVERY);
        self.pulse.as_mut().reset(Instant::now() + next);
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.pieces.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if this.is_over {
                return Poll::Ready(None);
            }
            if this.hung_up.as_mut().is_some_and(|hung_up| hung_up.as_mut().poll(context).is_ready()) {
                // The next write shows whether the client has closed the whole connection too.
                (this.hung_up, this.probes) = (None, HTTP_PROBES.iter());
                this.beat();
            }
            let line = match enter(&this.conversation).as_mut() {
                Some(conversation) => conversation.poll_next(context),
                None => Poll::Ready(None),
            };
            match line {
                Poll::Ready(Some((line, is_answer))) => this.add(line, is_answer),
                // The session ended without an answer, which is our bug.
                Poll::Ready(None) => return Poll::Ready(Some(Err(Cut))),
                Poll::Pending if this.pulse.as_mut().poll(context).is_ready() => {
                    this.beat();
                    this.pieces.push_back(Bytes::from_static(COMMENT));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
