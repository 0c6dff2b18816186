//! The client's side of a session, as far as it outlives the session actor: the actor's address, the open requests and stdout,
//! the handshake, and the numbers of our own requests to the client.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::meant::Meant;
use crate::fsm::session::Kind;
use crate::protocol::ids::{LinkId, SessionId};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::{ClientProfile, ProtocolVersion};
use crate::runtime::enter;
use crate::runtime::mailbox::Mailbox;
use crate::runtime::messages::session::Message;
use crate::runtime::outbox::Outbox;
use crate::runtime::slot::Slot;
use crate::telemetry::events::Events;

/// What is known from the client's handshake.
#[derive(Debug, Clone)]
pub struct Handshake {
    /// The client has opened a session.
    pub opened: bool,
    /// The client's name, as it says.
    pub name: String,
    /// The client's version, as it says.
    pub release: Option<String>,
    /// The negotiated version, and what is known of this client.
    pub profile: ClientProfile,
    /// Whether the client honours `list_changed`.
    pub kind: Kind,
    /// Whether the client can be asked for its roots.
    pub roots: bool,
    /// Whether the client's first tool list is answered.
    pub first_list_served: bool,
}

impl Handshake {
    /// The profile for a request that does not carry one. Its version is never of the stateless era, even if a stateless request
    /// opened the session.
    pub fn profile_by_handshake(&self) -> ClientProfile {
        ClientProfile { version: self.profile.version.min(ProtocolVersion::LATEST), ..self.profile }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Client {
    /// The number of the session.
    pub id: SessionId,
    /// The address of the session actor.
    pub actor: Slot<Message>,
    /// The limit of messages from the client to the session actor.
    pub mailbox: Mailbox,
    /// The client's open requests, and the queue to stdout.
    pub outbox: Outbox,
    /// The number of lines read from the client.
    pub heard: AtomicU64,
    /// Bytes of arguments of the calls that wait until their link is known.
    pub unrouted_bytes: AtomicUsize,
    handshake: Mutex<Handshake>,
    roots_requests: AtomicU64,
    meant: Mutex<Meant>,
    nowhere: LinkId,
    link: AtomicU32,
    is_ending: AtomicBool,
}

impl Client {
    /// A client that has sent nothing yet, on the link `nowhere` until an editor is found for it. `named`: the project that it
    /// was started for.
    pub fn new(id: SessionId, nowhere: LinkId, named: Option<PathBuf>, events: Events) -> Self {
        Self {
            id,
            actor: Slot::default(),
            mailbox: Mailbox::default(),
            outbox: Outbox::new(id, events),
            heard: AtomicU64::new(0),
            unrouted_bytes: AtomicUsize::new(0),
            handshake: Mutex::new(Handshake {
                opened: false,
                name: String::new(),
                release: None,
                profile: ProtocolVersion::LATEST.into(),
                kind: Kind::IgnoresChanges,
                roots: false,
                first_list_served: false,
            }),
            roots_requests: AtomicU64::new(0),
            meant: Mutex::new(Meant::of(named)),
            nowhere,
            link: AtomicU32::new(nowhere.0),
            is_ending: AtomicBool::new(false),
        }
    }

    /// The session ends: open requests are answered by the code that ends it, not by the supervisor.
    pub fn begin_ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Whether the session ends.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// The link that the session is on: new calls go there.
    pub fn link(&self) -> LinkId {
        LinkId(self.link.load(Ordering::Acquire))
    }

    /// The link that the session is on while no editor is found for it.
    pub fn nowhere(&self) -> LinkId {
        self.nowhere
    }

    /// Reads or changes what is known about where the client works.
    pub fn meant<T>(&self, operation: impl FnOnce(&mut Meant) -> T) -> T {
        operation(&mut enter(&self.meant))
    }

    /// Moves the session to another link.
    pub fn move_to(&self, LinkId(link): LinkId) {
        self.link.store(link, Ordering::Release);
    }

    /// What is known from the client's handshake.
    pub fn handshake(&self) -> Handshake {
        enter(&self.handshake).clone()
    }

    /// Changes what is known from the client's handshake.
    pub fn with_handshake<T>(&self, change: impl FnOnce(&mut Handshake) -> T) -> T {
        change(&mut enter(&self.handshake))
    }

    /// A new id for a request for roots; ids are never used twice.
    pub fn next_roots_request(&self) -> RequestId {
        self.roots_requests.fetch_add(1, Ordering::Relaxed);
        self.last_roots_request()
    }

    /// The id of the last request for roots.
    pub fn last_roots_request(&self) -> RequestId {
        RequestId::from_text(&format!("holdfast-roots-{}", self.roots_requests.load(Ordering::Relaxed)))
    }
}
