//! Serves one connection: hyper reads the request and writes the answer; this module sets a time limit for each wait.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::request::{self, Refused};
use super::service::Service;
use crate::limits::{SERVED_HEAD_MAX_BYTES, SERVED_HEADERS_MAX, SERVED_LINGER, SERVED_TIMEOUT};
use crate::net::{BoxFuture, BoxStream};

/// The number of bytes read from a connection at once: enough for a whole request of usual length.
const READ_BYTES: usize = 4096;

/// The progress of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No complete head was read yet.
    Head,
    /// A head was read; its body may not be complete.
    Body,
    /// The service has the request.
    Answering,
    /// hyper has the answer.
    Writing,
}

/// The service gives no answer to this request.
#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct NoAnswer;

/// Reads one request, answers it, and closes the connection.
pub(super) async fn answer<S: Service>(service: Arc<S>, stream: BoxStream, own: SocketAddr) {
    let came_by = Instant::now() + SERVED_TIMEOUT;
    let (stage, mut stages) = watch::channel(Stage::Head);
    let io = Io { stream, stages: stages.clone() };
    let stage = Arc::new(stage);
    let asked = service_fn(|request| -> BoxFuture<'static, _> {
        Box::pin(respond(Arc::clone(&service), request, own, Arc::clone(&stage)))
    });
    let mut connection = Builder::new()
        .keep_alive(false)
        // A client may close its sending side before it reads the answer.
        .half_close(true)
        .title_case_headers(true)
        .auto_date_header(false)
        .max_buf_size(SERVED_HEAD_MAX_BYTES)
        .max_header_size(SERVED_HEAD_MAX_BYTES)
        .max_headers(SERVED_HEADERS_MAX)
        .header_read_timeout(None)
        .serve_connection(io, asked);
    let ended = loop {
        let due = match *stages.borrow_and_update() {
            Stage::Head | Stage::Body => Some(came_by),
            Stage::Answering => None,
            Stage::Writing => Some(Instant::now() + SERVED_TIMEOUT),
        };
        tokio::select! {
            biased;
            ended = &mut connection => break Some(ended),
            Ok(()) = stages.changed() => {}
            () = sleep_until(due.unwrap_or(came_by)), if due.is_some() => break None,
        }
    };
    let mut stream = connection.into_parts().io.stream;
    let refused = match (ended, *stages.borrow()) {
        (None, Stage::Head | Stage::Body) => Some(Refused::TooSlow),
        // The client does not read its answer, which is lost. The connection no longer counts towards the limit.
        (None, Stage::Answering | Stage::Writing) => return,
        (Some(Err(error)), Stage::Head) if error.is_parse_too_large() => Some(Refused::HeadTooLarge),
        (Some(Err(error)), Stage::Head) if error.is_parse() => Some(Refused::NotHttp),
        (Some(Err(_)), Stage::Head) => Some(Refused::CutOff),
        (Some(_), _) => None,
    };
    match refused.and_then(|why| service.refuse(why)) {
        Some(reply) => _ = timeout(SERVED_TIMEOUT, reply.write(&mut stream)).await,
        None => _ = timeout(SERVED_TIMEOUT, stream.shutdown()).await,
    }
    linger(stream).await;
}

/// Passes the request that hyper has read to the service.
async fn respond<S: Service>(
    service: Arc<S>,
    request: hyper::Request<Incoming>,
    own: SocketAddr,
    stage: Arc<watch::Sender<Stage>>,
) -> Result<Response<Full<Bytes>>, NoAnswer> {
    stage.send_replace(Stage::Body);
    let answered = match request::read(request, own, &service.rules()).await {
        Ok(request) => {
            stage.send_replace(Stage::Answering);
            service.answer(request).await
        }
        Err(why) => Err(why),
    };
    let reply = answered.map_or_else(|why| service.refuse(why), Some);
    stage.send_replace(Stage::Writing);
    Ok(reply.ok_or(NoAnswer)?.into_response())
}

/// Reads what the client is still sending, for at most [`SERVED_LINGER`]: closing a stream with unread bytes may discard the
/// answer before the client has it.
async fn linger(mut stream: BoxStream) {
    let mut rest = [0; 1024];
    let drained = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    let _ = timeout(SERVED_LINGER, drained).await;
}

/// A stream with the traits that hyper needs.
struct Io {
    stream: BoxStream,
    stages: watch::Receiver<Stage>,
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
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // hyper answers an invalid request with a bare status, without asking the service. That answer is discarded, and the
        // service's own answer is written after hyper has ended.
        if *self.stages.borrow() == Stage::Head {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // `answer` closes the stream, after hyper has ended and after the service's own answer.
        Poll::Ready(Ok(()))
    }
}
