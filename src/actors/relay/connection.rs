//! One connection of a relayed session to the hub: opens it, writes the session's lines, and passes on what the hub sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::ActorRef;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::seat::RelaySeat;
use crate::core::user_text;
use crate::limits::hub::{HUB_ATTACH_MAX, HUB_HELLO_MAX_BYTES, HUB_LINES_MAX, HUB_UNREADABLE_MAX};
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, SHARED_WRITE_BYTES};
use crate::platform::local_socket::{self, Connection, Peer, SocketError};
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::hub::{self, Hello, NEWEST, OLDEST, Reply, Welcome};
use crate::protocol::jsonrpc::{self, IdScanner, RequestId, RpcError};
use crate::protocol::mcp::request::List;
use crate::protocol::mcp::{self, stateless};
use crate::runtime::enter;
use crate::runtime::messages::relay::{News, NoAttachment};
use crate::runtime::messages::session::Message;
use crate::runtime::outbox::{ROOTS_LIST, SERVER};

/// Runs the connection with this number until it ends, or until `closing` is closed.
pub(super) async fn run(
    seat: Arc<RelaySeat>,
    me: ActorRef<Message>,
    nth: u64,
    heard: Arc<AtomicBool>,
    mut closing: watch::Receiver<()>,
) {
    let mut peer = None;
    let attached = timeout(HUB_ATTACH_MAX, attach(&seat, &mut peer)).await;
    let (mut reader, writer, mut decoder, reply) = match attached {
        Ok(Ok(attached)) => attached,
        Ok(Err(why)) => return tell(&me, News::Failed { nth, why }),
        Err(_) => return tell(&me, News::Failed { nth, why: NoAttachment::Unanswered(peer) }),
    };
    let welcome = match reply {
        Reply::Welcome(welcome) => welcome,
        Reply::Refused(refusal) => return tell(&me, News::Failed { nth, why: NoAttachment::Refused(refusal) }),
    };
    let (lines, queue) = mpsc::channel(HUB_LINES_MAX);
    let answers = lines.clone();
    let (passed_on, passed) = mpsc::channel(HUB_LINES_MAX);
    let delivering = deliver_later(&seat, passed, lines.clone());
    tell(&me, News::Welcomed { nth, welcome, peer, lines });
    let reading = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            while let Some(line) = decoder.next_line() {
                heard.store(true, Ordering::Relaxed);
                let answered = match line {
                    Line::Whole(line) => from_hub(&seat, &answers, &line),
                    Line::TooLong { id, .. } => unreadable(&seat, id),
                };
                // What it answered is asked again over the next connection.
                let Ok(answered) = answered else { return };
                if let Some(number) = answered {
                    // If that queue is full, or the one to the hub, the hub keeps the record for a while.
                    if is_written(&seat) {
                        let _ = answers.try_send(delivered(number));
                    } else {
                        let _ = passed_on.try_send(number);
                    }
                }
            }
            // While the client does not read, the hub is not read either.
            seat.client.outbox.room().await;
            match reader.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => decoder.push(buffer.get(..count).unwrap_or_default()),
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = write(writer, queue) => {}
        () = delivering => {}
        // Only a drop ends this wait: nothing is ever sent.
        _ = closing.changed() => {}
    }
    tell(&me, News::Closed { nth });
}

fn tell(me: &ActorRef<Message>, news: News) {
    // If the actor has ended, its successor opens a connection of its own.
    let _ = me.cast(Message::Relay(news));
}

type Attached = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>, LineDecoder, Reply);

/// Connects, says who the session is, and reads the hub's answer. Sets `met` as soon as the process at the other end is known.
async fn attach(seat: &RelaySeat, met: &mut Option<Peer>) -> Result<Attached, NoAttachment> {
    if seat.unreadable.load(Ordering::Relaxed) >= HUB_UNREADABLE_MAX {
        return Err(NoAttachment::Unusable("what it writes cannot be read".to_owned()));
    }
    let connected = local_socket::connect(&seat.folder.socket()).await;
    let Connection { mut reader, mut writer, peer, .. } = connected.map_err(|error| match error {
        SocketError::Nobody => NoAttachment::NoHub,
        error => NoAttachment::Unusable(error.to_string()),
    })?;
    *met = peer;
    let hello = Hello {
        oldest: OLDEST,
        newest: NEWEST,
        build: SERVER.version.to_owned(),
        pid: std::process::id(),
        session: seat.name.clone(),
        open: enter(&seat.requests).told(Instant::now()),
        records: enter(&seat.records).clone(),
        rules: seat.rules.clone(),
    };
    let mut line = serde_json::to_vec(&hello).map_err(|error| NoAttachment::Unusable(error.to_string()))?;
    if line.len() > HUB_HELLO_MAX_BYTES {
        return Err(NoAttachment::Unusable("the session's rules are longer than a hub takes".to_owned()));
    }
    line.push(b'\n');
    // A hub that ends while it is spoken to has ended: there is none.
    writer.write_all(&line).await.map_err(|_| NoAttachment::NoHub)?;
    let mut decoder = LineDecoder::new(CLIENT_MESSAGE_MAX_BYTES);
    let mut buffer = vec![0; 4096];
    loop {
        let count = reader.read(&mut buffer).await.map_err(|_| NoAttachment::NoHub)?;
        if count == 0 {
            return Err(NoAttachment::NoHub);
        }
        decoder.push(buffer.get(..count).unwrap_or_default());
        if let Some(Line::Whole(line)) = decoder.next_line() {
            let reply = serde_json::from_slice(&line);
            let reply: Reply =
                reply.map_err(|_| NoAttachment::Unusable("it does not answer as a hub does".to_owned()))?;
            if let Reply::Welcome(Welcome { protocol, .. }) = &reply
                && !(OLDEST..=NEWEST).contains(protocol)
            {
                return Err(NoAttachment::Unusable(format!(
                    "it speaks version {protocol} of the protocol, which was not offered"
                )));
            }
            return Ok((reader, writer, decoder, reply));
        }
    }
}

/// Writes the session's lines until a write fails. Lines that wait share a write.
async fn write(mut writer: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<String>) {
    let mut bytes = Vec::new();
    while let Some(line) = queue.recv().await {
        bytes.clear();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        while bytes.len() < SHARED_WRITE_BYTES
            && let Ok(line) = queue.try_recv()
        {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
        if bytes.capacity() > 2 * SHARED_WRITE_BYTES {
            bytes = Vec::new();
        }
    }
}

/// Whether the client has all that it was sent.
fn is_written(seat: &RelaySeat) -> bool {
    seat.client.outbox.is_flushed() && !seat.client.outbox.is_broken()
}

fn delivered(number: u64) -> String {
    jsonrpc::notification(hub::DELIVERED, Some(&format!(r#"{{"request":{number}}}"#)))
}

/// Tells the hub of answers that had to wait, once they are written to the client. Until then this process may be killed with them.
async fn deliver_later(seat: &RelaySeat, mut passed: mpsc::Receiver<u64>, hub: mpsc::Sender<String>) {
    while let Some(number) = passed.recv().await {
        seat.client.outbox.flushed().await;
        if is_written(seat) {
            let _ = hub.try_send(delivered(number));
        }
    }
    // The other parts of the connection say when it ends.
    std::future::pending::<()>().await;
}

/// A line that cannot be read, and of which it is not known what it answers.
struct Unreadable;

/// Handles a line of the hub. Returns the number of the request that it answers, if it answers one.
fn from_hub(seat: &RelaySeat, answers: &mpsc::Sender<String>, line: &[u8]) -> Result<Option<u64>, Unreadable> {
    let Ok(message) = jsonrpc::parse(line) else {
        let mut scanner = IdScanner::new();
        scanner.push(line);
        return unreadable(seat, scanner.finish());
    };
    Ok(handle(seat, answers, line, message))
}

/// Answers the request of a line that cannot be read. Returns its number.
fn unreadable(seat: &RelaySeat, id: Option<RequestId>) -> Result<Option<u64>, Unreadable> {
    let number = id.as_ref().and_then(|id| id.as_json().parse().ok());
    seat.env.events.hub_unreadable(number);
    let Some(number) = number else {
        seat.unreadable.fetch_add(1, Ordering::Relaxed);
        return Err(Unreadable);
    };
    let request = enter(&seat.requests).remove(number);
    Ok(request.map(|request| {
        seat.answer_here(&request, user_text::hub_unreadable, user_text::HUB_UNREADABLE);
        number
    }))
}

fn handle(seat: &RelaySeat, answers: &mpsc::Sender<String>, line: &[u8], message: jsonrpc::Message) -> Option<u64> {
    let outbox = &seat.client.outbox;
    match message {
        jsonrpc::Message::Response { id: Some(id), outcome } => {
            let number = id.as_json().parse().ok()?;
            let request = enter(&seat.requests).remove(number)?;
            let key = request.hold.key();
            match outcome {
                Ok(result) => outbox.answer_as_is(key, result.get()),
                Err(error) => outbox.answer_error(key, &error),
            };
            return Some(number);
        }
        jsonrpc::Message::Notification { method, params } => match method.as_str() {
            hub::GIVEN_BACK => {
                let given = params.and_then(|params| serde_json::from_str::<hub::Delivered>(params.get()).ok());
                if let Some(hub::Delivered { request }) = given {
                    enter(&seat.requests).was_given_back(request);
                }
            }
            "notifications/progress" => {
                let params = params?;
                let progress = serde_json::from_str::<Progress<'_>>(params.get()).ok()?;
                let key = enter(&seat.requests).with_token(progress.token.get());
                if let (Some(key), Ok(text)) = (key, std::str::from_utf8(line)) {
                    outbox.progress(key, progress.progress, text.to_owned());
                }
            }
            method if let Some(list) = List::of_notification(method) => {
                let client = seat.client.handshake();
                if client.opened && !client.profile.version.is_stateless() {
                    outbox.notify(list.notification(), mcp::list_changed(list), true);
                }
                // Each subscription of the session is one of the hub too, which tells each.
                let subscription = params.as_deref().and_then(stateless::subscription_of);
                let number = subscription.and_then(|id| id.as_json().parse().ok());
                if let Some(key) = number.and_then(|number| enter(&seat.requests).key_of(number)) {
                    outbox.list_changed(list, Some(key));
                }
            }
            _ => {}
        },
        jsonrpc::Message::Request { id, method, .. } => {
            if method == "roots/list" {
                let ours = seat.client.next_roots_request();
                enter(&seat.requests).roots_asked(ours.clone(), id);
                outbox.notify(ROOTS_LIST, mcp::roots_list_request(&ours), false);
            } else {
                refuse(answers, &id, &method);
            }
        }
        jsonrpc::Message::Response { id: None, .. } => {}
    }
    None
}

/// Answers a request of the hub that this version does not know.
fn refuse(answers: &mpsc::Sender<String>, id: &RequestId, method: &str) {
    let error = RpcError::method_not_found(format!("a session has no method {method}"));
    let _ = answers.try_send(jsonrpc::error(Some(id), &error));
}

/// The parameters of a progress notification.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: &'a RawValue,
    progress: f64,
}
