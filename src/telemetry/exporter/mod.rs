//! The exporter: `/metrics` for Prometheus, a status page for people, on a loopback port that is opened only when asked for.
//!
//! It stands beside the tree and not in it: what it shows is wanted most while the tree is being built again. Its keeper restarts
//! it with a growing delay; such a restart is told, and counts against nobody's intensity. The listener outlives it. A file of
//! the state folder tells Prometheus where it is (`file_sd`), and at the end the last words go into another, for the textfile
//! collector of a node exporter.

mod http;
mod last_words;
mod pages;
mod target;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::metrics::labels::{ClockDirection, ScrapeResult};
use crate::core::shutdown::ShutdownReason;
use crate::estate::Estate;
use crate::fsm::restart::EndReason;
use crate::fsm::retry;
use crate::limits::{ACCEPT_PAUSE, CLOCK_JUMP_MIN, FLUSH_MAX, METRICS_UPKEEP_EVERY, SCRAPERS_MAX};
use crate::net::Listener;

/// Its name in logs and labels.
const NAME: &str = "exporter";

/// The running exporter, or none.
#[derive(Debug, Default)]
pub struct Exporter(Option<Running>);

#[derive(Debug)]
struct Running {
    keeper: JoinHandle<()>,
    /// Falls at the end.
    stop: oneshot::Sender<()>,
}

impl Exporter {
    /// Starts it, if the configuration says so.
    pub fn start(estate: &Arc<Estate>) -> Self {
        let Some(address) = estate.config.metrics else { return Self(None) };
        let (stop, stopped) = oneshot::channel();
        let keeper = estate.spawn("exporter", keep(Arc::clone(estate), address, stopped));
        Self(Some(Running { keeper, stop }))
    }

    /// Ends it: nobody is sent here any more, and the last words are written.
    pub async fn end(self, estate: &Arc<Estate>, why: ShutdownReason) {
        let Some(Running { mut keeper, stop }) = self.0 else { return };
        drop(stop);
        if timeout(FLUSH_MAX, &mut keeper).await.is_err() {
            keeper.abort();
        }
        last_words::write(estate, why);
    }
}

/// Binds, and runs one life after the other until it is stopped.
async fn keep(estate: Arc<Estate>, address: SocketAddr, mut stopped: oneshot::Receiver<()>) {
    let mut life = None;
    let lives = async {
        let listener = bind(&estate, address).await;
        let address = listener.local_addr();
        estate.events.exporter_listening(address);
        let mut ends = 0;
        loop {
            estate.events.actor_started(NAME);
            let life = life.insert(AbortOnDrop(tokio::spawn(live(Arc::clone(&estate), Arc::clone(&listener)))));
            // It ends only by a bug of ours.
            let _ = (&mut life.0).await;
            estate.events.actor_down(NAME);
            estate.events.actor_restarting(NAME, EndReason::Failed);
            sleep(retry::delay(ends, false, estate.die())).await;
            ends += 1;
        }
    };
    tokio::select! {
        biased;
        _ = &mut stopped => {}
        () = lives => {}
    }
    // What it keeps on disk goes with it.
    if let Some(life) = &mut life
        && !life.0.is_finished()
    {
        life.0.abort();
        let _ = (&mut life.0).await;
    }
}

/// One life: a panic in any part of it ends all of it, so that no part is missing afterwards.
async fn live(estate: Arc<Estate>, listener: Arc<dyn Listener>) {
    let address = listener.local_addr();
    tokio::join!(
        target::keep(Arc::clone(&estate), address),
        watch(Arc::clone(&estate)),
        serve(Arc::clone(&estate), listener),
    );
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A port that is taken may be free again: another gateway's end is the usual reason.
async fn bind(estate: &Estate, address: SocketAddr) -> Arc<dyn Listener> {
    let mut attempts = 0;
    loop {
        match estate.net.bind_at(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                if attempts == 0 {
                    let what = format!(
                        "metrics cannot be served on {address}: {error}. It is tried again; `--metrics` without an address \
                         takes a free port"
                    );
                    estate.events.exporter_trouble(&what);
                }
                sleep(retry::delay(attempts, false, estate.die())).await;
                attempts += 1;
            }
        }
    }
}

/// Accepts, and answers each connection once.
async fn serve(estate: Arc<Estate>, listener: Arc<dyn Listener>) {
    let places = Arc::new(Semaphore::new(SCRAPERS_MAX));
    let own = listener.local_addr();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((mut socket, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let estate = Arc::clone(&estate);
            connections.spawn(async move {
                let _place = place;
                http::answer(&estate, socket, own).await;
            });
        } else {
            estate.events.scraped(ScrapeResult::Busy);
            // Into the empty buffer of a new socket: it waits for nobody.
            http::refuse_busy(&mut socket).await;
        }
    }
}

/// Looks at the clocks every second, and keeps what was recorded small.
async fn watch(estate: Arc<Estate>) {
    loop {
        let (began, wall) = (Instant::now(), estate.host.now());
        sleep(METRICS_UPKEEP_EVERY).await;
        let took = began.elapsed();
        estate.events.lagged(took.saturating_sub(METRICS_UPKEEP_EVERY));
        let now = estate.host.now();
        let (ahead, behind) = match now.duration_since(wall) {
            Ok(passed) => (passed.saturating_sub(took), took.saturating_sub(passed)),
            Err(back) => (Duration::ZERO, back.duration() + took),
        };
        if ahead > CLOCK_JUMP_MIN {
            estate.events.clock_jumped(ClockDirection::Forward);
        } else if behind > CLOCK_JUMP_MIN {
            estate.events.clock_jumped(ClockDirection::Backward);
        }
        estate.events.tidy();
    }
}
