//! HTTP services that stand beside a package's own server, in whose place the gateway can listen: the logger that the editor of
//! Unity-MCP posts to, and the HTTP API of its documents. Off by default, on loopback only, and only while an editor of a package
//! that has them is served.
//!
//! They stand beside the tree and not in it, as the exporter does: nobody's session hangs on them. Each has a keeper that binds it,
//! starts it again with a growing delay after a bug of ours, and counts that against nobody's intensity. A port that is taken is
//! told once, in the log and in `holdfast_status`, and tried again.

mod hop;
mod logger;
mod reply;
mod request;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use self::reply::Reply;
use self::request::{Refused, Request};
use crate::estate::Estate;
use crate::fsm::retry;
use crate::limits::{
    ACCEPT_PAUSE, COMPANION_BIND_EVERY, COMPANION_CONNECTIONS_MAX, COMPANION_LINGER, COMPANION_TIMEOUT,
    DOCUMENTED_POST_MAX_BYTES, FLUSH_MAX, LOG_POST_MAX_BYTES,
};
use crate::net::{BoxStream, Listener};
use crate::protocol::dialect::Companion;

/// Those that the configuration asks for.
#[derive(Debug, Default)]
pub struct Companions(Vec<Running>);

#[derive(Debug)]
struct Running {
    keeper: JoinHandle<()>,
    /// Falls at the end.
    stop: oneshot::Sender<()>,
}

impl Companions {
    /// Starts their keepers.
    pub fn start(estate: &Arc<Estate>) -> Self {
        let hop = estate.config.documented_hop.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let asked = [(Companion::Logger, estate.config.logger), (Companion::DocumentedHop, hop)];
        let asked = asked.into_iter().filter_map(|(companion, address)| Some((companion, address?)));
        let running = asked.map(|(companion, address)| {
            let (stop, stopped) = oneshot::channel();
            let keeper = estate.spawn("companion", keep(Arc::clone(estate), companion, address, stopped));
            Running { keeper, stop }
        });
        Self(running.collect())
    }

    /// Ends them; their ports are free afterwards.
    pub async fn end(self) {
        for Running { mut keeper, stop } in self.0 {
            drop(stop);
            if timeout(FLUSH_MAX, &mut keeper).await.is_err() {
                keeper.abort();
            }
        }
    }
}

/// Serves while the editor's package has such a companion, until it is stopped.
async fn keep(estate: Arc<Estate>, companion: Companion, address: SocketAddr, mut stopped: oneshot::Receiver<()>) {
    let served = async {
        loop {
            is_spoken(&estate, companion, true).await;
            tokio::select! {
                () = lives(&estate, companion, address) => {}
                () = is_spoken(&estate, companion, false) => {}
            }
            estate.set_trouble(companion.into(), None);
        }
    };
    tokio::select! {
        biased;
        _ = &mut stopped => {}
        () = served => {}
    }
}

/// Waits until the editor's package has such a companion, or has none.
async fn is_spoken(estate: &Estate, companion: Companion, wanted: bool) {
    let (mut link, mut survey) = (estate.link.subscribe(), estate.survey.subscribe());
    while estate.dialect().companions().contains(&companion) != wanted {
        let moved = tokio::select! {
            moved = link.changed() => moved,
            moved = survey.changed() => moved,
        };
        if moved.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Binds, and runs one life after the other.
async fn lives(estate: &Arc<Estate>, companion: Companion, address: SocketAddr) {
    let listener = bind(estate, companion, address).await;
    estate.events.companion_listening(companion, listener.local_addr());
    let mut ends = 0;
    loop {
        let mut life = AbortOnDrop(tokio::spawn(serve(Arc::clone(estate), companion, Arc::clone(&listener))));
        // It ends only by a bug of ours.
        let _ = (&mut life.0).await;
        estate.events.companion_restarting(companion);
        sleep(retry::delay(ends, false, estate.die())).await;
        ends += 1;
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A port that is taken may be free again: another gateway's end is the usual reason.
async fn bind(estate: &Estate, companion: Companion, address: SocketAddr) -> Arc<dyn Listener> {
    let mut told = false;
    loop {
        match estate.net.bind_at(address).await {
            Ok(listener) => {
                estate.set_trouble(companion.into(), None);
                return listener;
            }
            Err(error) if !told => {
                let what = not_bound(companion, address, &error);
                estate.events.companion_trouble(companion, &what);
                estate.set_trouble(companion.into(), Some(what));
                told = true;
            }
            Err(_) => {}
        }
        sleep(COMPANION_BIND_EVERY).await;
    }
}

fn not_bound(companion: Companion, address: SocketAddr, error: &std::io::Error) -> String {
    match companion {
        Companion::Logger => format!(
            "The logger cannot listen on {address} ({error}), so what Unity posts to its logger is not in get_logs of this \
             session. Calls do not depend on it. Most likely another gateway with --logger, or a logger of its own, has the port; \
             it is tried again every {} s.",
            COMPANION_BIND_EVERY.as_secs()
        ),
        Companion::DocumentedHop => format!(
            "The HTTP API of Unity-MCP's documents cannot listen on {address} ({error}). Calls of this session do not depend on \
             it. Another gateway or another program has the port: name a free one with --documented-hop=PORT; this one is tried \
             again every {} s.",
            COMPANION_BIND_EVERY.as_secs()
        ),
    }
}

/// Accepts, and answers each connection once.
async fn serve(estate: Arc<Estate>, companion: Companion, listener: Arc<dyn Listener>) {
    let places = Arc::new(Semaphore::new(COMPANION_CONNECTIONS_MAX));
    let own = listener.local_addr();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // What is beyond the bound waits in the listener's own queue: a log line comes late rather than never.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let estate = Arc::clone(&estate);
        connections.spawn(async move {
            let _place = place;
            answer(&estate, companion, socket, own).await;
        });
    }
}

/// Reads one request and answers it. Each step's time is bounded.
async fn answer(estate: &Arc<Estate>, companion: Companion, mut socket: BoxStream, own: SocketAddr) {
    let read = timeout(COMPANION_TIMEOUT, request::read(&mut socket, own, body_max(companion))).await;
    let reply = match read.unwrap_or(Some(Err(Refused::TooSlow))) {
        None => return,
        Some(Err(refused)) => {
            estate.events.companion_refused(companion, refused.into());
            refused.reply()
        }
        Some(Ok(request)) => reply_to(estate, companion, &request).await,
    };
    // A peer that does not read loses its answer, and its place is free.
    let _ = timeout(COMPANION_TIMEOUT, reply.send(&mut socket)).await;
    linger(&mut socket, COMPANION_LINGER).await;
}

fn body_max(companion: Companion) -> usize {
    match companion {
        Companion::Logger => LOG_POST_MAX_BYTES,
        Companion::DocumentedHop => DOCUMENTED_POST_MAX_BYTES,
    }
}

async fn reply_to(estate: &Arc<Estate>, companion: Companion, request: &Request) -> Reply {
    match companion {
        Companion::DocumentedHop => hop::reply_to(estate, request).await,
        Companion::Logger => logger::reply_to(estate, request),
    }
}

/// Takes what the peer still sends: a socket that is closed with bytes unread may take its answer back.
async fn linger(socket: &mut BoxStream, at_most: Duration) {
    let mut rest = [0; 1024];
    let drained = async { while matches!(socket.read(&mut rest).await, Ok(1..)) {} };
    let _ = timeout(at_most, drained).await;
}
