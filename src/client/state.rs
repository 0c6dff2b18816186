//! The client's side of a session, as far as it outlives the session actor: where that is, its open requests and stdout, its
//! handshake, and the numbers of our own requests to it.

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
    pub profile: ClientProfile,
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
    pub fn profile_by_handshake(&self) -> ClientProfile {
        ClientProfile { version: self.profile.version.min(ProtocolVersion::LATEST), ..self.profile }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Client {
    /// Which one it is.
    pub id: SessionId,
    /// Where its session actor is.
    pub actor: Slot<Message>,
    /// The bound of what comes from the client to that.
    pub mailbox: Mailbox,
    /// Its open requests, and stdout.
    pub outbox: Outbox,
    /// Lines that were read from it.
    pub heard: AtomicU64,
    /// Bytes of the arguments of its calls that wait until it is known which link they belong to.
    pub unrouted_bytes: AtomicUsize,
    handshake: Mutex<Handshake>,
    roots_requests: AtomicU64,
    meant: Mutex<Meant>,
    nowhere: LinkId,
    link: AtomicU32,
    is_ending: AtomicBool,
}

impl Client {
    /// A client that has said nothing yet, on the link that it is on while none is found for it. It may be started for a project.
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

    /// It goes: what is open is answered by whoever ends it.
    pub fn begin_ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Whether it goes.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// The link that it is on: where its new calls go.
    pub fn link(&self) -> LinkId {
        LinkId(self.link.load(Ordering::Acquire))
    }

    /// The link that it is on while no editor is found for it.
    pub fn nowhere(&self) -> LinkId {
        self.nowhere
    }

    /// Reads or changes what is known of where it works.
    pub fn meant<T>(&self, operation: impl FnOnce(&mut Meant) -> T) -> T {
        operation(&mut enter(&self.meant))
    }

    /// It is on another link from now on.
    pub fn move_to(&self, LinkId(link): LinkId) {
        self.link.store(link, Ordering::Release);
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
}
