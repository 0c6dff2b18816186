//! The HTTP services that the documents of TSavo/Unity-MCP name in addition to the package's own server: the logger to
//! which its editor posts, and the HTTP API of its documents. The gateway can serve them instead, but only while the
//! editor's package has such services.
//!
//! A taken port is reported once, in the log and in `holdfast_status`, and binding is retried.

mod documented;
mod documented_api;
mod logger;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::sleep;

use self::documented::error;
pub use self::documented::{Answer, Call, Documented};
use super::http::{self, Beyond, Lasting, Peer, Refused, Reply, Request, Rules, StatusCode};
use super::keeper::{self, Keeper, Life};
use crate::limits::{COMPANION_BIND_EVERY, COMPANION_CONNECTIONS_MAX, DOCUMENTED_POST_MAX_BYTES, LOG_POST_MAX_BYTES};
use crate::net::Listener;
use crate::protocol::dialect::Companion;

#[derive(Debug, Default)]
pub struct Companions(Vec<Keeper>);

impl Companions {
    pub fn start(gateway: &Arc<impl Documented>) -> Self {
        let both = [Companion::Logger, Companion::DocumentedHop];
        let asked = both.into_iter().filter_map(|companion| Some((companion, gateway.address(companion)?)));
        let keepers = asked.map(|(companion, address)| {
            Keeper::start(gateway, "companion", |stopped| keep(Arc::clone(gateway), companion, address, stopped))
        });
        Self(keepers.collect())
    }

    /// Ends the services. Their ports are free afterwards.
    pub async fn end(self) {
        for keeper in self.0 {
            keeper.end().await;
        }
    }
}

/// Serves while the editor's package has the service, until `stopped` is closed.
async fn keep(
    gateway: Arc<impl Documented>,
    companion: Companion,
    address: SocketAddr,
    mut stopped: oneshot::Receiver<()>,
) {
    let served = async {
        loop {
            gateway.is_spoken(companion, true).await;
            tokio::select! {
                () = lives(&gateway, companion, address) => {}
                () = gateway.is_spoken(companion, false) => {}
            }
            gateway.set_problem(companion, None);
        }
    };
    tokio::select! {
        biased;
        _ = &mut stopped => {}
        () = served => {}
    }
}

/// Binds the address, and restarts the service after each failure.
async fn lives(gateway: &Arc<impl Documented>, companion: Companion, address: SocketAddr) {
    let listener = bind(gateway, companion, address).await;
    gateway.events().companion_listening(companion, listener.local_addr());
    let mut ends = 0;
    loop {
        let service = Arc::new(Service { gateway: Arc::clone(gateway), companion });
        // If the service ends by itself, that is a bug of ours.
        Life::begin(http::serve(service, Arc::clone(&listener))).over().await;
        gateway.events().companion_restarting(companion);
        keeper::pause(&**gateway, ends).await;
        ends += 1;
    }
}

/// Binds the address. Retries as long as that fails: the port may become free, usually when another gateway ends.
async fn bind(gateway: &Arc<impl Documented>, companion: Companion, address: SocketAddr) -> Arc<dyn Listener> {
    let mut told = false;
    loop {
        match gateway.net().bind_at(address).await {
            Ok(listener) => {
                gateway.set_problem(companion, None);
                return listener;
            }
            Err(error) if !told => {
                let what = not_bound(companion, address, &error);
                gateway.events().companion_trouble(companion, &what);
                gateway.set_problem(companion, Some(what));
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

struct Service<G> {
    gateway: Arc<G>,
    companion: Companion,
}

impl<G: Documented> http::Service for Service<G> {
    fn rules(&self) -> Rules {
        let body_max = match self.companion {
            Companion::Logger => LOG_POST_MAX_BYTES,
            Companion::DocumentedHop => DOCUMENTED_POST_MAX_BYTES,
        };
        Rules {
            body_max: Some(body_max),
            // Requests of web pages are refused: neither Unity nor a tool sends an `Origin` header.
            pages: false,
            connections_max: COMPANION_CONNECTIONS_MAX,
            // It is better that a log line waits than that it is lost.
            beyond: Beyond::Waits,
            lasting: Lasting::Once,
        }
    }

    async fn answer(&self, request: Request, _: Peer) -> Result<http::Answer, Refused> {
        let parts = request.parts()?;
        let path: Vec<&str> = parts.iter().map(String::as_str).collect();
        let reply = match self.companion {
            Companion::DocumentedHop => documented_api::reply_to(&self.gateway, &request, &path).await,
            Companion::Logger => logger::reply_to(&*self.gateway, &request, &path),
        };
        Ok(reply.into())
    }

    fn refuse(&self, why: Refused) -> Option<Reply> {
        let (status, what) = match why {
            // The client closed the connection before the request was complete.
            Refused::CutOff => return None,
            // The last five never occur here.
            Refused::NotHttp
            | Refused::Unauthorized
            | Refused::NotFound
            | Refused::BadType
            | Refused::NotAcceptable
            | Refused::Ending => (StatusCode::BAD_REQUEST, "this is no request of HTTP/1.1 with an absolute path"),
            Refused::HeadTooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's head is too large"),
            Refused::BodyTooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large; nothing of it was kept")
            }
            Refused::NoLength => (StatusCode::LENGTH_REQUIRED, "the request has a body without a Content-Length"),
            Refused::BadMethod => (StatusCode::METHOD_NOT_ALLOWED, "the request's method is not served"),
            Refused::BadHost => (StatusCode::MISDIRECTED_REQUEST, "use 127.0.0.1, [::1] or localhost, with this port"),
            Refused::FromAPage => (StatusCode::FORBIDDEN, "requests of web pages are not taken"),
            Refused::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the request took too long"),
            Refused::Busy => (StatusCode::SERVICE_UNAVAILABLE, "too many connections; come again"),
        };
        self.gateway.events().companion_refused(self.companion, why.into());
        Some(error(status, what))
    }
}
