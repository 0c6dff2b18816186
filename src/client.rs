//! The client's side of a session, as far as it outlives the session actor: its open requests and stdout, its handshake, and the
//! numbers of our own requests to it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fsm::session::Kind;
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::{Audience, ProtocolVersion};
use crate::runtime::enter;
use crate::runtime::outbox::Outbox;
use crate::telemetry::events::Events;

/// What is remembered of the client's handshake.
#[derive(Debug, Clone)]
pub struct Handshake {
    /// It has opened a session.
    pub opened: bool,
    /// Its name, as it says.
    pub name: String,
    /// Its version, as it says.
    pub release: Option<String>,
    /// The negotiated version, and what is known of it.
    pub audience: Audience,
    /// Whether it honours `list_changed`.
    pub kind: Kind,
    /// It can be asked for its roots.
    pub roots: bool,
    /// Its first list is answered.
    pub first_list_served: bool,
}

impl Handshake {
    /// For whom the answer to a request is written that does not say so itself: never in the shape of the stateless era, also where a
    /// request of that one opened the session.
    pub fn audience_by_handshake(&self) -> Audience {
        Audience { version: self.audience.version.min(ProtocolVersion::LATEST), ..self.audience }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Client {
    /// Its open requests, and stdout.
    pub outbox: Outbox,
    /// Lines that were read from it.
    pub heard: AtomicU64,
    handshake: Mutex<Handshake>,
    roots_requests: AtomicU64,
}

impl Client {
    /// A client that has said nothing yet.
    pub fn new(events: Events) -> Self {
        Self {
            outbox: Outbox::new(events),
            heard: AtomicU64::new(0),
            handshake: Mutex::new(Handshake {
                opened: false,
                name: String::new(),
                release: None,
                audience: ProtocolVersion::LATEST.into(),
                kind: Kind::Sync,
                roots: false,
                first_list_served: false,
            }),
            roots_requests: AtomicU64::new(0),
        }
    }

    /// What is remembered of its handshake.
    pub fn handshake(&self) -> Handshake {
        enter(&self.handshake).clone()
    }

    /// Changes what is remembered of its handshake.
    pub fn with_handshake<T>(&self, change: impl FnOnce(&mut Handshake) -> T) -> T {
        change(&mut enter(&self.handshake))
    }

    /// The id of the next request for its roots: none is ever used twice.
    pub fn next_roots_request(&self) -> RequestId {
        self.roots_requests.fetch_add(1, Ordering::Relaxed);
        self.last_roots_request()
    }

    /// The id of the last request for its roots.
    pub fn last_roots_request(&self) -> RequestId {
        RequestId::from_text(&format!("holdfast-roots-{}", self.roots_requests.load(Ordering::Relaxed)))
    }

    /// The name that the editor is told: the client's own, else the configured one.
    pub fn name_for_editor(&self, configured: Option<&str>) -> String {
        let name = enter(&self.handshake).name.clone();
        if name.is_empty() { configured.unwrap_or("MCP client").to_owned() } else { name }
    }
}
