//! The events of MCP over HTTP. No line names a token, and none a URL: it may have the path of a project.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::Events;
use crate::telemetry::metrics::labels::{HttpEra, HttpRefusal};
use crate::telemetry::metrics::{Id, as_f64};

impl Events {
    /// MCP is served over HTTP at this address.
    pub fn http_listening(&self, address: SocketAddr) {
        tracing::info!(event = "http_listening", address = %address);
    }

    /// The service ended by a bug of ours and is restarted.
    pub fn http_restarting(&self) {
        tracing::error!(event = "http_restarting");
    }

    /// A request was answered with this status.
    pub fn http_answered(&self, era: HttpEra, status: u16) {
        let class = match status {
            200..300 => "2xx",
            500..600 => "5xx",
            _ => "4xx",
        };
        self.metrics().count(Id::HttpRequests, [era.into(), class]);
    }

    /// A request was refused before its message was read.
    pub fn http_refused(&self, why: HttpRefusal) {
        let reason: &'static str = why.into();
        tracing::debug!(event = "http_refused", reason);
        self.metrics().count(Id::HttpRefusals, [reason]);
    }

    /// A response became a stream.
    pub fn http_stream_opened(&self) {
        self.count_streams(|streams| streams + 1);
    }

    /// A stream has ended.
    pub fn http_stream_ended(&self) {
        self.count_streams(|streams| streams.saturating_sub(1));
    }

    fn count_streams(&self, change: impl Fn(usize) -> usize) {
        let changed =
            self.0.http_streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |streams| Some(change(streams)));
        let streams = changed.map_or(0, change);
        self.metrics().set(Id::HttpStreams, [], as_f64(streams));
    }
}
