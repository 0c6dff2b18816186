//! What is answered: JSON, once for each connection.

use std::io;

use serde::Serialize;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::net::BoxStream;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Reply {
    /// A success.
    pub(super) fn ok(body: &impl Serialize) -> Self {
        Self { status: 200, body: serde_json::to_string(body).unwrap_or_default() }
    }

    /// An error, in the shape of the package's logger.
    pub(super) fn error(status: u16, error: &str) -> Self {
        Self { status, body: json!({"status": "error", "error": error}).to_string() }
    }

    /// An error, in the shape of the API of the package's documents.
    pub(super) fn failed(status: u16, error: &str) -> Self {
        Self { status, body: json!({"success": false, "error": error}).to_string() }
    }

    pub(super) async fn send(&self, socket: &mut BoxStream) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            408 => "Request Timeout",
            411 => "Length Required",
            413 => "Content Too Large",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Error",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
            self.status,
            self.body.len()
        );
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(self.body.as_bytes()).await?;
        socket.shutdown().await
    }
}
