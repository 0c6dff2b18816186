//! What a service is, and how one connection is served: hyper reads the requests and writes the answers; this module sets a time limit for each wait.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::Response;
use hyper::body::Incoming;
use hyper::header;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::io::Io;
use super::peer::{Peer, Progress, Stage};
use super::reply::{Answer, Reply, Watched};
use super::request::{self, Head, Refused, Request};
use super::rules::Rules;
use crate::limits::{SERVED_HEAD_MAX_BYTES, SERVED_HEADERS_MAX, SERVED_LINGER, SERVED_TIMEOUT};
use crate::net::{BoxFuture, BoxStream};

/// Answers the requests at one listener.
pub trait Service: Send + Sync + 'static {
    /// Returns which requests the service accepts.
    fn rules(&self) -> Rules;
    /// Checks the head of a request, before anything of its body is read. By default, only requests to this machine's
    /// own names are admitted. Requests of web pages are admitted only if the rules say so.
    ///
    /// # Errors
    /// Why the request is refused.
    fn admit(&self, head: &Head<'_>) -> Result<(), Refused> {
        request::admit_local(head, self.rules().pages)
    }
    /// Answers a request that the rules allow. `peer`: the client, at the other end of the connection.
    fn answer(&self, request: Request, peer: Peer) -> impl Future<Output = Result<Answer, Refused>> + Send;
    /// Returns the answer to a request that was refused; `None` if the request gets no answer.
    fn refuse(&self, why: Refused) -> Option<Reply>;
}

/// The service gives no answer to this request.
#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct NoAnswer;

/// What all connections of a listener share.
pub(super) struct Shared<S> {
    pub(super) service: S,
    pub(super) own: SocketAddr,
    pub(super) bodies: Arc<Semaphore>,
    /// Whether connections end as soon as no request is open on them.
    pub(super) closing: watch::Receiver<bool>,
}

/// Reads requests, answers them, and closes the connection.
pub(super) async fn answer<S: Service>(shared: Arc<Shared<Arc<S>>>, stream: BoxStream, progress: Arc<Progress>) {
    let kept = progress.kept().is_some();
    let service = Arc::clone(&shared.service);
    let mut closing = shared.closing.clone();
    let io = Io { stream, progress: Arc::clone(&progress) };
    let asked = {
        let progress = Arc::clone(&progress);
        service_fn(move |request| -> BoxFuture<'static, _> {
            Box::pin(respond(Arc::clone(&shared), request, Arc::clone(&progress)))
        })
    };
    let mut connection = Builder::new()
        .keep_alive(kept)
        // A client may close its sending side before it reads the answer. `Io` handles that on a kept connection.
        .half_close(!kept)
        .title_case_headers(true)
        .auto_date_header(false)
        .max_buf_size(SERVED_HEAD_MAX_BYTES)
        .max_header_size(SERVED_HEAD_MAX_BYTES)
        .max_headers(SERVED_HEADERS_MAX)
        .header_read_timeout(None)
        .serve_connection(io, asked);
    let ended = loop {
        let due = progress.due();
        let unused = progress.unused_since().is_some();
        tokio::select! {
            biased;
            ended = &mut connection => break Some(ended),
            () = progress.changed() => {}
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => break None,
            _ = closing.wait_for(|closing| *closing), if unused && kept => break Some(Ok(())),
        }
    };
    let mut stream = connection.into_parts().io.stream;
    progress.ended();
    let refused = match (ended, progress.stage()) {
        (None, Stage::Head | Stage::Body) => Some(Refused::TooSlow),
        // The client asked nothing.
        (None, Stage::Idle) => None,
        // The client does not read its answer, and the answer is lost. The connection no longer counts towards the
        // limit.
        (None, Stage::Answering | Stage::Writing) => return,
        (Some(Err(error)), Stage::Idle | Stage::Head) if error.is_parse_too_large() => Some(Refused::HeadTooLarge),
        (Some(Err(error)), Stage::Idle | Stage::Head) if error.is_parse() => Some(Refused::NotHttp),
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
    shared: Arc<Shared<Arc<S>>>,
    mut request: hyper::Request<Incoming>,
    progress: Arc<Progress>,
) -> Result<Response<Watched>, NoAnswer> {
    progress.enter(Stage::Body);
    request::to_path(&mut request);
    let service = &*shared.service;
    // A proxy may read the length of such a body in another way. Its next request must not be read as a part of this
    // one.
    let mut closes = progress.kept().is_none() || request.headers().contains_key(header::TRANSFER_ENCODING);
    let answered = async {
        // This is checked before anything of the body is read: a stranger costs little, and learns nothing.
        service.admit(&Head::of(&request, shared.own))?;
        let (request, _room) = request::read(request, shared.own, &service.rules(), &shared.bodies).await?;
        progress.enter(Stage::Answering);
        service.answer(request, progress.peer()).await
    };
    let answered = answered.await;
    let answer = answered.map_or_else(
        |why| {
            // The body of the request may not have been read.
            closes = true;
            service.refuse(why).map(Answer::from)
        },
        Some,
    );
    let Some(answer) = answer else {
        progress.enter(Stage::Writing);
        return Err(NoAnswer);
    };
    Ok(answer.into_response(closes || *shared.closing.borrow(), &progress))
}

/// Reads what the client is still sending, for at most [`SERVED_LINGER`]: closing a stream with unread bytes may discard the
/// answer before the client has it.
async fn linger(mut stream: BoxStream) {
    let mut rest = [0; 1024];
    let drained = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    let _ = timeout(SERVED_LINGER, drained).await;
}
