//! The client of a gateway in this process, on simulated pipes.

use std::ops::{Deref, DerefMut};

use holdfast_mcp_client::tasks;
use serde_json::{Value, json};
use tokio::io::DuplexStream;

use super::{PATIENCE, PATIENT, UNKNOWN};

type Inner = tasks::Client<DuplexStream, DuplexStream>;

/// A client of a gateway in this process, on simulated pipes.
pub struct Client(Inner);

impl Client {
    /// A client that does not read yet.
    pub fn new(input: DuplexStream, output: DuplexStream) -> Self {
        Self(Inner::new(env!("CARGO_CRATE_NAME"), PATIENCE, input, output))
    }

    /// Opens the session as a client that the gateway does not know.
    pub async fn open(&mut self) -> Value {
        self.open_as(UNKNOWN, "2025-06-18", json!({})).await
    }

    /// Opens the session as a client that acts on `list_changed` and waits half an hour for an answer.
    pub async fn open_async(&mut self) -> Value {
        self.open_as(PATIENT, "2025-06-18", json!({})).await
    }
}

impl Deref for Client {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.0
    }
}
