//! The exporter: `/metrics` for Prometheus, and a status page for people.
//!
//! Prometheus reads the address from a file in the state folder (`file_sd`). At the end, the last counts are written to
//! another file, for the textfile collector of a node exporter.

mod last_words;
mod pages;
mod target;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

pub use self::pages::{Shown, render};
use super::http::header::{self, HeaderValue};
use super::http::{self, Answer, Beyond, Lasting, Method, Peer, Refused, Reply, Request, Rules, StatusCode};
use super::keeper::{self, Keeper, Life};
use crate::core::ShutdownReason;
use crate::fsm::restart::EndReason;
use crate::limits::{CLOCK_JUMP_MIN, METRICS_UPKEEP_EVERY, SCRAPERS_MAX};
use crate::net::Listener;

/// The exporter's name in logs and labels.
const NAME: &str = "exporter";

/// The running exporter; `None` inside if the exporter is off.
#[derive(Debug, Default)]
pub struct Exporter(Option<Keeper>);

impl Exporter {
    pub fn start(shown: &Arc<impl Shown>) -> Self {
        let Some(address) = shown.metrics_address() else { return Self(None) };
        Self(Some(Keeper::start(shown, "exporter", |stopped| keep(Arc::clone(shown), address, stopped))))
    }

    /// Ends the exporter: removes the record of its address, and writes the last counts.
    pub async fn end(self, shown: &Arc<impl Shown>, why: ShutdownReason) {
        let Some(keeper) = self.0 else { return };
        keeper.end().await;
        last_words::write(&**shown, why);
    }
}

/// Binds the address, and restarts the exporter after each failure until it is stopped.
async fn keep(shown: Arc<impl Shown>, address: SocketAddr, mut stopped: oneshot::Receiver<()>) {
    let mut life = None;
    let lives = async {
        let events = shown.events();
        let listener = bind(&*shown, address).await;
        events.exporter_listening(listener.local_addr());
        let mut ends = 0;
        loop {
            events.actor_started(NAME);
            // If the exporter ends by itself, that is a bug of ours.
            life.insert(Life::begin(live(Arc::clone(&shown), Arc::clone(&listener)))).over().await;
            events.actor_restarting(NAME, EndReason::Failed);
            keeper::pause(&*shown, ends).await;
            ends += 1;
        }
    };
    tokio::select! {
        biased;
        _ = &mut stopped => {}
        () = lives => {}
    }
    // Stopping the exporter also removes its record on disk.
    if let Some(life) = &mut life {
        life.stop().await;
    }
}

/// Runs all parts of the exporter. A panic in one part ends all of them, so that none is missing afterwards.
async fn live(shown: Arc<impl Shown>, listener: Arc<dyn Listener>) {
    let address = listener.local_addr();
    tokio::join!(
        target::keep(Arc::clone(&shown), address),
        watch(Arc::clone(&shown)),
        http::serve(Arc::new(Pages(shown)), listener),
    );
}

/// Binds the address. Retries as long as that fails: the port may become free, usually when another gateway ends.
async fn bind(shown: &impl Shown, address: SocketAddr) -> Arc<dyn Listener> {
    let mut attempts = 0;
    loop {
        match shown.net().bind_at(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                if attempts == 0 {
                    let what = format!(
                        "metrics cannot be served on {address}: {error}. It is tried again; `--metrics` without an address \
                         takes a free port"
                    );
                    shown.events().exporter_trouble(&what);
                }
                keeper::pause(shown, attempts).await;
                attempts += 1;
            }
        }
    }
}

struct Pages<S>(Arc<S>);

impl<S: Shown> http::Service for Pages<S> {
    fn rules(&self) -> Rules {
        // Web pages are allowed because the status page requests its own data.
        Rules {
            body_max: None,
            pages: true,
            connections_max: SCRAPERS_MAX,
            beyond: Beyond::Refused,
            lasting: Lasting::Once,
        }
    }

    async fn answer(&self, request: Request, _: Peer) -> Result<Answer, Refused> {
        if ![Method::GET, Method::HEAD].contains(&request.method) {
            return Err(Refused::BadMethod);
        }
        let page = pages::page(&*self.0, request.path()?).await;
        Ok(page
            .unwrap_or_else(|| {
                plain(StatusCode::NOT_FOUND, "/metrics, /gateways.json, /status.json, /healthz and / are served\n")
            })
            .into())
    }

    fn refuse(&self, why: Refused) -> Option<Reply> {
        Some(match why {
            Refused::HeadTooLarge => {
                plain(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's head is too large\n")
            }
            Refused::BadMethod => plain(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD are served\n")
                .with(header::ALLOW, HeaderValue::from_static("GET, HEAD")),
            Refused::BadHost => {
                plain(StatusCode::MISDIRECTED_REQUEST, "use 127.0.0.1, [::1] or localhost, with this port\n")
            }
            Refused::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the request's head took too long\n"),
            Refused::Busy => plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections; come again\n")
                .with(header::RETRY_AFTER, HeaderValue::from_static("1")),
            // The other reasons never occur here: bodies are not read, and requests of web pages are accepted.
            Refused::NotHttp
            | Refused::CutOff
            | Refused::BodyTooLarge
            | Refused::NoLength
            | Refused::FromAPage
            | Refused::Unauthorized
            | Refused::NotFound
            | Refused::BadType
            | Refused::NotAcceptable
            | Refused::Ending => plain(StatusCode::BAD_REQUEST, "this is no request of HTTP/1.1\n"),
        })
    }
}

fn plain(status: StatusCode, text: &'static str) -> Reply {
    Reply::new(status, "text/plain; charset=utf-8", text)
}

/// Every [`METRICS_UPKEEP_EVERY`], checks the clocks, and sorts recorded values into their buckets so that they do not
/// accumulate.
async fn watch(shown: Arc<impl Shown>) {
    let (events, host) = (shown.events(), shown.host());
    loop {
        let (began, wall) = (Instant::now(), host.now());
        sleep(METRICS_UPKEEP_EVERY).await;
        let took = began.elapsed();
        events.lagged(took.saturating_sub(METRICS_UPKEEP_EVERY));
        let passed = match host.now().duration_since(wall) {
            Ok(passed) => passed.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        let jump = passed - took.as_secs_f64();
        if jump.abs() > CLOCK_JUMP_MIN.as_secs_f64() {
            events.clock_jumped(jump);
        }
        events.tidy();
    }
}
