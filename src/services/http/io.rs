//! A connection's stream with the traits that hyper needs.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::peer::{HungUp, Progress, Stage};
use crate::net::BoxStream;

/// The number of bytes read from a connection at once: enough for a whole request of usual length.
const READ_BYTES: usize = 4096;

/// A stream with the traits that hyper needs. It reports to the connection what it reads and writes.
pub(super) struct Io {
    pub(super) stream: BoxStream,
    pub(super) progress: Arc<Progress>,
}

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(bytes.get_mut(..room).unwrap_or_default());
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        if !buffer.filled().is_empty() {
            self.progress.heard();
        } else {
            match self.progress.hung_up() {
                HungUp::Told => {}
                // hyper asks again once the request is answered.
                HungUp::Hidden => return Poll::Pending,
                HungUp::AskAgain => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // hyper answers an invalid request with a bare status, without asking the service. That answer is discarded, and the
        // service's own answer is written after hyper has ended.
        if matches!(self.progress.stage(), Stage::Idle | Stage::Head) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        match &written {
            Poll::Ready(Ok(count)) => self.progress.took(*count),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.progress.blocked(),
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.progress.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection closes the stream, after hyper has ended and after the service's own answer.
        Poll::Ready(Ok(()))
    }
}
