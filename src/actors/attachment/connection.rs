//! One connection of a session to the hub: opens it, writes the session's lines, and takes what the hub sends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::ActorRef;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::seat::HubSeat;
use crate::client::Delivery;
use crate::core::port::Settled;
use crate::core::port::messages::{self, Ask, Of, Piece, Progress, Sighting};
use crate::core::said::Said;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Availability, Loss};
use crate::limits::hub::{
    HUB_ATTACH_MAX, HUB_HELLO_MAX_BYTES, HUB_LINES_MAX, HUB_LIST_AGAIN, HUB_LIST_ROUNDS, HUB_UNREADABLE_MAX,
};
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, SHARED_WRITE_BYTES};
use crate::link::{Answered, Ports};
use crate::platform::local_socket::{self, Connection, Peer, SocketError};
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::protocol::hub::{self, Hello, NEWEST, OLDEST, Reply, Welcome};
use crate::protocol::jsonrpc::{self, IdScanner, RequestId, RpcError};
use crate::protocol::mcp::{self, ToolResult};
use crate::runtime::enter;
use crate::runtime::messages::attachment::{Message, NoAttachment};
use crate::runtime::outbox::SERVER;

/// Runs the connection with this number until it ends, or until `closing` is closed.
pub(super) async fn run(
    seat: Arc<HubSeat>,
    me: ActorRef<Message>,
    nth: u64,
    heard: Arc<AtomicBool>,
    mut closing: watch::Receiver<()>,
) {
    let mut peer = None;
    let attached = timeout(HUB_ATTACH_MAX, attach(&seat, &mut peer)).await;
    let (mut reader, writer, mut decoder, reply) = match attached {
        Ok(Ok(attached)) => attached,
        Ok(Err(why)) => return tell(&me, Message::Failed { nth, why }),
        Err(_) => return tell(&me, Message::Failed { nth, why: NoAttachment::Unanswered(peer) }),
    };
    let welcome = match reply {
        Reply::Welcome(welcome) => welcome,
        Reply::Refused(refusal) => return tell(&me, Message::Failed { nth, why: NoAttachment::Refused(refusal) }),
    };
    let (lines, queue) = mpsc::channel(HUB_LINES_MAX);
    let answers = lines.clone();
    let (passed_on, passed) = mpsc::channel(HUB_LINES_MAX);
    let delivering = deliver_later(&seat, passed, lines.clone());
    seat.links.begin_anew();
    let overrun = Arc::<Notify>::default();
    tell(&me, Message::Welcomed { nth, welcome, peer, lines, overrun: Arc::clone(&overrun) });
    let reading = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            while let Some(line) = decoder.next_line() {
                heard.store(true, Ordering::Relaxed);
                let answered = match line {
                    Line::Whole(line) => from_hub(&seat, (nth, &answers), &line),
                    Line::TooLong { id, .. } => unreadable(&seat, id),
                };
                // The question is asked again over the next connection.
                let Ok(answered) = answered else { return };
                if let Some((number, delivery)) = answered {
                    // If one of these two queues is full, the hub keeps the record for a while.
                    if matches!(delivery, Delivery::Queued) && seat.client.has_all() {
                        let _ = answers.try_send(delivered(number));
                    } else {
                        let _ = passed_on.try_send((number, delivery));
                    }
                }
            }
            // While the client does not read, the hub is read only if it was asked something.
            tokio::select! {
                () = seat.client.outbox.room() => {}
                () = seat.port.asks() => {}
            }
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
        () = overrun.notified() => {}
        // Only a drop ends this wait: nothing is ever sent.
        _ = closing.changed() => {}
    }
    tell(&me, Message::Closed { nth });
}

fn tell(me: &ActorRef<Message>, news: Message) {
    // If the actor has ended, its successor opens a connection of its own.
    let _ = me.cast(news);
}

type Attached = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>, LineDecoder, Reply);

/// Connects, says who the session is, and reads the hub's answer. Sets `met` as soon as the process at the other end is known.
async fn attach(seat: &HubSeat, met: &mut Option<Peer>) -> Result<Attached, NoAttachment> {
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
        open: seat.port.told(),
        records: enter(&seat.records).clone(),
        rules: seat.rules.clone(),
    };
    let mut line = serde_json::to_vec(&hello).map_err(|error| NoAttachment::Unusable(error.to_string()))?;
    if line.len() > HUB_HELLO_MAX_BYTES {
        return Err(NoAttachment::Unusable("the session's rules are longer than a hub takes".to_owned()));
    }
    line.push(b'\n');
    // The hub ended during the conversation: there is no hub.
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

fn delivered(number: u64) -> String {
    jsonrpc::notification(hub::DELIVERED, Some(&format!(r#"{{"request":{number}}}"#)))
}

/// Tells the hub of answers that had to wait, once they are written to the client. Until then this process may be
/// killed, and the answers with it.
async fn deliver_later(seat: &HubSeat, mut passed: mpsc::Receiver<(u64, Delivery)>, hub: mpsc::Sender<String>) {
    while let Some((number, delivery)) = passed.recv().await {
        if let Delivery::Later(queued) = delivery {
            let _ = queued.await;
        }
        seat.client.outbox.flushed().await;
        if seat.client.has_all() {
            let _ = hub.try_send(delivered(number));
        }
    }
    // The other parts of the connection say when it ends.
    std::future::pending::<()>().await;
}

/// A line that cannot be read. Nobody knows what it answers.
struct Unreadable;

/// The outcome of a line: the number of the call that it answers, if it answers one.
type Handled = Result<Option<(u64, Delivery)>, Unreadable>;

fn from_hub(seat: &Arc<HubSeat>, by: (u64, &mpsc::Sender<String>), line: &[u8]) -> Handled {
    match jsonrpc::parse(line) {
        Ok(message) => handle(seat, by, message),
        Err(_) => {
            let mut scanner = IdScanner::new();
            scanner.push(line);
            unreadable(seat, scanner.finish())
        }
    }
}

/// Answers the call of a line that cannot be read.
fn unreadable(seat: &HubSeat, id: Option<RequestId>) -> Handled {
    let number = id.as_ref().and_then(|id| id.as_json().parse().ok());
    seat.env.events.hub_unreadable(number);
    let Some(number) = number else {
        seat.unreadable.fetch_add(1, Ordering::Relaxed);
        return Err(Unreadable);
    };
    let said = seat.port.remove(number);
    Ok(said.map(|said| {
        cannot_read(seat, &said);
        (number, Delivery::Queued)
    }))
}

/// Answers a call whose answer cannot be read.
fn cannot_read(seat: &HubSeat, said: &Said) {
    let result = ToolResult::error(user_text::hub_unreadable(&said.call.tool));
    seat.answer_here(said, Verdict::OutcomeUnknown(Loss::Protocol), result);
}

fn handle(seat: &Arc<HubSeat>, (nth, answers): (u64, &mpsc::Sender<String>), message: jsonrpc::Message) -> Handled {
    match message {
        jsonrpc::Message::Response { id: Some(id), outcome } => {
            let number = id.as_json().parse().ok();
            return Ok(number.and_then(|number| Some((number, answer(seat, seat.port.answered(number, outcome)?)))));
        }
        jsonrpc::Message::Notification { method, params } => {
            // A notification that cannot be read comes from a newer hub, and is of no use.
            let params = params.as_deref();
            match method.as_str() {
                hub::GIVEN_BACK => {
                    read::<hub::Delivered>(params).inspect(|given| seat.port.given_back(given.request));
                }
                messages::SEEN => {
                    if let Some(sighting) = read::<Sighting>(params) {
                        let project = sighting.project.clone();
                        if matches!(sighting.seen.availability, Availability::Absent(_)) {
                            explain(seat);
                        }
                        if seat.links.sighted(nth, sighting) {
                            list(seat, project);
                        }
                    }
                }
                messages::GONE => {
                    read::<Of>(params).inspect(|gone| seat.links.gone(&gone.project));
                }
                messages::PROGRESS => {
                    read::<Progress>(params).inspect(|news| progress(seat, news));
                }
                messages::PIECE if read::<Piece>(params).is_some_and(|piece| seat.port.piece(piece).is_err()) => {
                    return unreadable(seat, None);
                }
                _ => {}
            }
        }
        jsonrpc::Message::Request { id, method, .. } => {
            let error = RpcError::method_not_found(format!("a session has no method {method}"));
            let _ = answers.try_send(jsonrpc::error(Some(&id), &error));
        }
        jsonrpc::Message::Response { id: None, .. } => {}
    }
    Ok(None)
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(params?.get()).ok()
}

/// Answers the client with what the hub says of its call.
fn answer(seat: &HubSeat, answered: Answered) -> Delivery {
    let Answered { said, outcome } = answered;
    let Some(outcome) = outcome else {
        seat.env.events.hub_unreadable(Some(said.hold.key().number));
        cannot_read(seat, &said);
        return Delivery::Queued;
    };
    let (call, verdict, answer, project, unrun) = match outcome {
        Ok((settled, stored)) => {
            let result = ToolResult::from_stored(stored.get());
            // The call was for a package tool, which the hub answers without the editor.
            let by_result = if result.is_error { Verdict::ToolError } else { Verdict::Ok };
            let verdict = settled.verdict.unwrap_or(by_result);
            (settled.call, verdict, Ok(Arc::new(result)), settled.project, settled.unrun)
        }
        Err(error) => (said.call.id, Verdict::Ok, Err(error), None, false),
    };
    let settled = Settled { asked: said.asked(), call, verdict, answer, project, unrun };
    seat.client.settled(&seat.env, settled, None::<fn()>)
}

/// Tells the client how its call goes on.
fn progress(seat: &HubSeat, news: &Progress) {
    let told = seat.port.with_call(news.request, |said| {
        let token = said.call.progress_token.as_ref()?;
        let version = said.call.profile.version;
        Some((said.call.request, mcp::progress(token, news.progress, news.total, Some(&news.message), version)))
    });
    if let Some((key, line)) = told.flatten() {
        seat.client.outbox.progress(key, news.progress, line);
    }
}

/// Asks how the links stand, because one link has no editor. A call that names this editor is told why.
fn explain(seat: &Arc<HubSeat>) {
    if seat.explaining.swap(true, Ordering::Relaxed) {
        return;
    }
    let (seat, links) = (Arc::clone(seat), Ports::of_all(Arc::clone(&seat.links)));
    Arc::clone(&seat.env).health.spawn("explain", async move {
        links.ask(Ask::default()).await;
        seat.explaining.store(false, Ordering::Relaxed);
    });
}

/// Asks for the tools of this project's link, until they are the tools of the last sighting.
fn list(seat: &Arc<HubSeat>, project: PathBuf) {
    {
        let mut listing = enter(&seat.listing);
        if listing.contains(&project) {
            return;
        }
        listing.push(project.clone());
    }
    let seat = Arc::clone(seat);
    Arc::clone(&seat.env).health.spawn("list", async move {
        // The digest that was asked for last, and how often. If the hub tells other tools than were seen, the next
        // sighting is on its way, or will ask again.
        let mut last = (String::new(), 0);
        loop {
            let seen = {
                let mut listing = enter(&seat.listing);
                let seen = seat.links.lacks_tools(&project).filter(|seen| last != (seen.clone(), HUB_LIST_ROUNDS));
                let Some(seen) = seen else {
                    listing.retain(|listed| *listed != project);
                    return;
                };
                seen
            };
            if last.0 == seen {
                last.1 += 1;
                sleep(HUB_LIST_AGAIN).await;
            } else {
                last = (seen, 1);
            }
            let Ok(told) = seat.port.ask(messages::TOOLS, &Of { project: project.clone() }).await else {
                // The links are in this process.
                return;
            };
            if let Some(tools) = told.ok().and_then(|json| serde_json::from_str(json.get()).ok()) {
                seat.links.told_tools(&project, tools);
            }
        }
    });
}
