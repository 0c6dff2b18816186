//! The events between a session and the hub, and between a client and the hub over HTTP.

use std::net::SocketAddr;

use super::Events;
use crate::protocol::hub::Reason;
use crate::protocol::text::clean;
use crate::telemetry::metrics::labels::{HttpRefusal, NO_HELLO};
use crate::telemetry::metrics::{Id, as_f64};

impl Events {
    // ---- in the session ----

    /// A hub serves this session from now on.
    pub fn hub_attached(&self, version: &str, pid: u32, hub: &str) {
        tracing::info!(event = "hub_attached", version = %clean(version), hub_pid = pid, hub = %clean(hub));
    }

    /// The connection to the hub ended.
    pub fn hub_lost(&self) {
        tracing::warn!(event = "hub_lost");
    }

    /// A hub runs and does not serve this session.
    pub fn hub_refused(&self, why: &str) {
        tracing::warn!(event = "hub_refused", why = %clean(why));
    }

    /// The hub answered nothing for too long. `ended`: its pid, if its process was ended.
    pub fn hub_hung(&self, ended: Option<u32>) {
        tracing::error!(event = "hub_hung", ended);
    }

    /// This process started a hub.
    pub fn hub_started_by_session(&self, pid: u32) {
        tracing::info!(event = "hub_started", hub_pid = pid);
    }

    /// This process could not start a hub.
    pub fn hub_not_started(&self, why: &str) {
        tracing::warn!(event = "hub_not_started", why = %clean(why));
    }

    /// The session is served in this process. `why`: what is known of the hub.
    pub fn hub_forgone(&self, why: &str) {
        tracing::info!(event = "hub_forgone", why = %clean(why));
    }

    /// The records of calls are not this process's own any more. A hub then makes way, and a session makes new records.
    pub fn records_lost(&self, why: &str) {
        tracing::error!(event = "records_lost", why = %clean(why));
    }

    /// A line of the hub cannot be read. `request`: the request that it answers, if that can be read.
    pub fn hub_unreadable(&self, request: Option<u64>) {
        tracing::error!(event = "hub_unreadable", request);
    }

    // ---- in the hub ----

    /// The file of the hub's socket was removed, and the socket is bound again.
    pub fn hub_bound_again(&self) {
        tracing::warn!(event = "hub_bound_again");
    }

    /// The hub accepts sessions. `starts`: how many hubs have had this name, this one included.
    pub fn hub_serving(&self, hub: &str, socket: &str, starts: u64) {
        tracing::info!(event = "hub_serving", hub, socket = %clean(socket), starts);
        self.metrics().set(Id::HubStarts, [], as_f64(usize::try_from(starts).unwrap_or(usize::MAX)));
    }

    /// An earlier hub sent this many calls and did not answer them. The hub looks for their outcomes.
    pub fn hub_recovering(&self, calls: usize) {
        tracing::warn!(event = "hub_recovering", calls);
    }

    /// Earlier gateways of one client ended and left this many calls. The outcomes of `open` of them are looked for.
    pub fn calls_left(&self, calls: usize, open: usize) {
        tracing::warn!(event = "calls_left", link = self.link(), calls, open);
    }

    /// A process of this version opened a session.
    pub fn hub_session_opened(&self, pid: u32, version: &str) {
        tracing::info!(event = "hub_session_opened", session = self.session(), client_pid = pid, version = %clean(version));
    }

    /// A connection did not become a session. `reason`: what it was told. `None` if it never said who it is; then it
    /// was told nothing.
    pub fn hub_session_refused(&self, reason: Option<Reason>, why: &str) {
        let reason = reason.map_or(NO_HELLO, Into::into);
        if let Some(left_out) = self.0.refused_sessions.admit() {
            tracing::warn!(event = "hub_session_refused", reason, why = %clean(why), left_out);
        }
        self.metrics().count(Id::HubSessionsRefused, [reason]);
    }

    /// The hub cannot accept connections for a moment.
    pub fn hub_cannot_accept(&self, why: &str) {
        tracing::warn!(event = "hub_cannot_accept", why = %clean(why));
    }

    // ---- MCP over HTTP: no line names a token or a URL, because a URL may have the path of a project ----

    /// MCP is served over HTTP at this address.
    pub fn http_listening(&self, address: SocketAddr) {
        tracing::info!(event = "http_listening", address = %address);
    }

    /// The service ended by a bug of ours and is restarted.
    pub fn http_restarting(&self) {
        tracing::error!(event = "http_restarting");
    }

    /// A request was refused before its message was read.
    pub fn http_refused(&self, why: HttpRefusal) {
        let reason: &'static str = why.into();
        tracing::debug!(event = "http_refused", reason);
        self.metrics().count(Id::HttpRefusals, [reason]);
    }
}
