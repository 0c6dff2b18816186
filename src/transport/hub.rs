//! The hub: accepts sessions of other processes over a local socket, and serves each as one of several clients.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};

use super::links::keeps_listening;
use super::several::Several;
use crate::actors::gateway::Spawn;
use crate::actors::parts::Parts;
use crate::client::{Arrival, Client};
use crate::core::ShutdownReason;
use crate::core::call_records::SentCall;
use crate::fsm::cause::Availability;
use crate::limits::hub::{
    ARRIVAL_AWAITED_LOOK, ARRIVAL_AWAITED_MAX, CALL_RECORD_MAX_AGE, HUB_ATTACH_MAX, HUB_HELLO_MAX_BYTES, HUB_IDLE_MAX,
    HUB_STRANGERS_MAX,
};
use crate::limits::{ACCEPT_PAUSE, DRAIN_MAX, RUNNING_MAX, SESSIONS_MAX};
use crate::link::Link;
use crate::platform::local_socket::{self, Connection, Listener};
use crate::protocol::hub::{self, Hello, Reason, Refusal, Reply, Welcome};
use crate::protocol::jsonrpc;
use crate::runtime::outbox::SERVER;

/// How often the hub looks whether it is still used, and whether it still is the hub.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Serves sessions until `quit` gives a reason to end, or until the hub was idle for [`HUB_IDLE_MAX`] if `leaves` is set.
pub async fn run<S: Spawn>(
    parts: &Arc<Parts>,
    several: &Arc<Several<S>>,
    listener: Listener,
    (leaves, is_elected): (bool, impl Fn() -> bool),
    mut quit: mpsc::Receiver<ShutdownReason>,
) -> ShutdownReason {
    let accepting = parts.env.health.spawn("hub_accept", accept(Arc::clone(parts), Arc::clone(several), listener));
    let why = tokio::select! {
        biased;
        () = parts.env.health.task_failed() => ShutdownReason::Exhausted,
        Some(why) = quit.recv() => why,
        () = may_retire(parts) => ShutdownReason::Retired,
        why = own_end(parts, leaves, is_elected) => why,
    };
    parts.env.events.ending(why);
    accepting.abort();
    let _ = accepting.await;
    if let Some(records) = &parts.env.records {
        // The successor needs the records.
        records.put_back();
    }
    match why {
        // The sessions come to the hub's successor with what is open.
        ShutdownReason::Signal => several.leave(DRAIN_MAX).await,
        ShutdownReason::Retired => several.leave(RUNNING_MAX).await,
        _ => several.end().await,
    }
    if parts.env.health.has_failed_task() { ShutdownReason::Exhausted } else { why }
}

/// Waits until a newer session has asked this hub to retire, and no editor that connects to us is away for a moment. It tries a few
/// times to come back, so it must find somebody who listens.
async fn may_retire(parts: &Parts) {
    parts.env.retired().await;
    let until = Instant::now() + ARRIVAL_AWAITED_MAX;
    let is_coming = |link: &Arc<Link>| {
        keeps_listening(link) && matches!(link.contact.view.borrow().availability, Availability::Coming(_))
    };
    while parts.links.all().iter().any(is_coming) && Instant::now() < until {
        sleep(ARRIVAL_AWAITED_LOOK).await;
    }
}

/// Asks the hub at this socket to make way, as a session of a newer version does: it takes nothing new, and ends when the calls that
/// it sent are answered. `session`: a name that no other session has.
///
/// # Errors
/// The hub cannot be asked, or did not hear the question in time.
pub async fn ask_to_retire(socket: &Path, session: String) -> io::Result<()> {
    let hello = Hello {
        oldest: hub::OLDEST,
        newest: hub::NEWEST,
        build: SERVER.version.to_owned(),
        pid: std::process::id(),
        session,
        open: Vec::new(),
        records: None,
        rules: hub::SessionRules::default(),
    };
    let lines = format!("{}\n{}\n", serde_json::to_string(&hello)?, jsonrpc::notification(hub::RETIRE, None));
    let asked = async {
        let Connection { mut reader, mut writer, .. } =
            local_socket::connect(socket).await.map_err(|error| io::Error::other(error.to_string()))?;
        writer.write_all(lines.as_bytes()).await?;
        // The hub ends sessions without open calls at once, and this is such a session.
        while reader.read(&mut [0; 1024]).await? > 0 {}
        Ok(())
    };
    timeout(2 * HUB_ATTACH_MAX, asked).await?
}

/// Takes over the calls that an earlier hub left. This is done before any client comes.
pub fn recover(parts: &Parts) {
    let Some(records) = &parts.env.records else { return };
    let left = records.left();
    let open = left.iter().filter(|left| left.result.is_none()).count();
    if open > 0 {
        parts.env.events.hub_recovering(open);
    }
    for left in left {
        // A hub has its predecessor's name, unless the predecessor may still live.
        link_of(parts, &left.sent).calls.take_over(left.takeover(), records.is_copy);
    }
}

/// Returns the link to the editor that a call was sent to. A call cannot be looked for if its project is unknown, or if
/// as many links are open as may be. Such a call belongs to the first link.
fn link_of(parts: &Parts, sent: &SentCall) -> Arc<Link> {
    let link = sent.project.as_deref().and_then(|project| parts.links.to_project(project).ok());
    link.unwrap_or_else(|| Arc::clone(parts.links.first()))
}

/// Waits for a reason to end that the hub finds itself. It may have been idle for [`HUB_IDLE_MAX`], if it `leaves`
/// then. It may not be elected any more, or its records may not be at their place. In these two cases another hub may
/// run, which has the editors and gets the new sessions.
async fn own_end(parts: &Parts, leaves: bool, is_elected: impl Fn() -> bool) -> ShutdownReason {
    let mut idle = Duration::ZERO;
    loop {
        sleep(LOOK_EVERY).await;
        if !is_elected() {
            return ShutdownReason::Retired;
        }
        if let Some(records) = &parts.env.records {
            if let Err(why) = records.owned() {
                parts.env.events.records_lost(&why.to_string());
                return ShutdownReason::Retired;
            }
            records.tidy(LOOK_EVERY, CALL_RECORD_MAX_AGE);
        }
        let is_used = !parts.sessions.local().is_empty()
            || parts
                .links
                .all()
                .iter()
                .any(|link| keeps_listening(link) || link.calls.ledger(|ledger, _| ledger.counts()) != (0, 0));
        idle = if is_used { Duration::ZERO } else { idle + LOOK_EVERY };
        if leaves && idle >= HUB_IDLE_MAX {
            return ShutdownReason::Idle;
        }
    }
}

/// Accepts connections, and opens a session for each that says who it is. Never returns.
async fn accept<S: Spawn>(parts: Arc<Parts>, several: Arc<Several<S>>, mut listener: Listener) {
    let (strangers, runtime) = (Arc::new(Semaphore::new(HUB_STRANGERS_MAX)), several.runtime());
    loop {
        // While too many connections have not said who they are, further ones wait in the system's queue.
        let Ok(stranger) = Arc::clone(&strangers).acquire_owned().await else { return };
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept(&runtime) => accepted,
            () = sleep(LOOK_EVERY) => {
                bind_again(&parts, &mut listener);
                continue;
            }
        };
        let connection = match accepted {
            Ok(connection) => connection,
            Err(error) => {
                // For example, no file descriptor is free.
                parts.env.events.hub_cannot_accept(&error.to_string());
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (opening, several) = (Arc::clone(&parts), Arc::clone(&several));
        parts.env.health.spawn("hub_hello", async move {
            open(&opening, &several, connection).await;
            drop(stranger);
        });
    }
}

/// Binds the socket again if somebody removed its file, because without the file no session finds the socket. If that
/// fails, the hub makes way.
fn bind_again(parts: &Parts, listener: &mut Listener) {
    let may_bind = parts.env.records.as_ref().is_some_and(|records| records.owned().is_ok());
    if listener.is_there() || !may_bind {
        return;
    }
    match Listener::bind(listener.path()) {
        Ok(bound) => {
            parts.env.events.hub_bound_again();
            *listener = bound;
        }
        Err(error) => {
            parts.env.events.hub_cannot_accept(&error.to_string());
            parts.env.retire();
        }
    }
}

async fn open<S: Spawn>(parts: &Parts, several: &Several<S>, connection: Connection) {
    let Connection { reader, mut writer, hang_up, .. } = connection;
    let mut reader = BufReader::new(reader);
    let Ok(Some(line)) = timeout(HUB_ATTACH_MAX, first_line(&mut reader)).await else {
        return parts.env.events.hub_session_refused(None, "a connection did not say who it is");
    };
    let refuse = |reason, says: String| {
        parts.env.events.hub_session_refused(Some(reason), &says);
        Reply::Refused(Refusal { reason, says })
    };
    let hello = serde_json::from_slice::<Hello>(&line);
    let negotiated = hello.as_ref().ok().and_then(|hello| hub::negotiate(hello.oldest, hello.newest));
    let reply = match (&hello, negotiated) {
        (Err(error), _) => refuse(Reason::BadHello, format!("the first line is not what a session says: {error}")),
        (Ok(hello), None) => refuse(
            Reason::Protocol,
            format!(
                "holdfast {} (session) and {} (hub) have no version of the hub's protocol in common: update the older one, or end \
                 the hub, which starts again by itself",
                hello.build, SERVER.version
            ),
        ),
        (Ok(_), Some(_)) if parts.env.is_draining() => refuse(Reason::Ending, "the hub is ending".to_owned()),
        // One session belongs to stdin and stdout, and a hub does not use it.
        (Ok(_), Some(_)) if parts.sessions.local().len() + 1 >= SESSIONS_MAX => {
            refuse(Reason::Full, format!("{} sessions are open, and the hub takes no more", SESSIONS_MAX - 1))
        }
        (Ok(_), Some(protocol)) => Reply::Welcome(Welcome {
            protocol,
            build: SERVER.version.to_owned(),
            pid: std::process::id(),
            hub: parts.env.boot.clone(),
            records: parts.env.records.as_ref().map(|records| records.name.clone()).unwrap_or_default(),
        }),
    };
    let Ok(mut answer) = serde_json::to_vec(&reply) else { return };
    answer.push(b'\n');
    if writer.write_all(&answer).await.is_err() || writer.flush().await.is_err() {
        return;
    }
    let (Ok(hello), Reply::Welcome(Welcome { protocol, .. })) = (hello, reply) else { return };
    let (pid, build) = (hello.pid, hello.build.clone());
    let has_those_of = |name: String| parts.env.records.as_ref().is_some_and(|records| records.has_those_of(&name));
    for former in parts.sessions.local().iter().filter(|client| client.name().as_deref() == Some(&*hello.session)) {
        supersede(parts, former);
    }
    let arrival = Arrival {
        config: Arc::new(parts.env.config.of_session(hello.rules)),
        name: Some(hello.session.into()),
        open: hello.open,
        project: None,
        records_lost: hello.records.is_some_and(|records| !has_those_of(records)),
        hang_up: Some(hang_up),
        speaks_port: protocol >= hub::PORT,
    };
    match several.attach(arrival, reader, writer) {
        Ok(session) => parts.env_of(session.client.id).events.hub_session_opened(pid, &build),
        // Another session took the last place meanwhile. The connection of this one is closed, and it asks again.
        Err(_) => parts.env.events.hub_session_refused(Some(Reason::Full), "as many sessions are open as there may be"),
    }
}

/// Stops all sending for a session that has come again. While this process stood still, the session hung up and brought
/// its requests anew. The end of its former connection comes only after those requests.
fn supersede(parts: &Parts, former: &Client) {
    former.supersede();
    for link in parts.links.all() {
        for request in link.calls.ledger(|ledger, _| ledger.release_held_of(former.id)) {
            former.outbox.given_back(request);
        }
    }
}

/// Reads the first line, without its end. `None` if the connection ends earlier, or the line is longer than
/// [`HUB_HELLO_MAX_BYTES`].
async fn first_line(reader: &mut BufReader<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let read = reader.fill_buf().await.ok()?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(read.len());
        line.extend_from_slice(read.get(..taken)?);
        let (is_end, count) = (read.is_empty(), taken + usize::from(end.is_some()));
        reader.consume(count);
        if is_end || line.len() > HUB_HELLO_MAX_BYTES {
            return None;
        }
        if end.is_some() {
            return Some(line);
        }
    }
}
