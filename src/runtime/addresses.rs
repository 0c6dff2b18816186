//! The addresses of the actors of one link, which outlive their restarts, and the limits of their mailboxes.

use super::mailbox::Mailbox;
use super::messages::{bridge, discovery, push, registry};
use super::slot::Slot;

/// The addresses of the actors of one link.
#[derive(Debug, Default)]
pub struct Addresses {
    /// The discovery actor.
    pub discovery: Slot<discovery::Message>,
    /// The bridge actor.
    pub bridge: Slot<bridge::Message>,
    /// The push actor.
    pub push: Slot<push::Message>,
    /// The registry actor.
    pub registry: Slot<registry::Message>,
    /// The limits of mailboxes.
    pub mailboxes: Mailboxes,
}

/// The limits of mailboxes that get messages from outside.
#[derive(Debug, Default)]
pub struct Mailboxes {
    /// The limit for messages of the editor's connection to the bridge, and to the registry.
    pub bridge: Mailbox,
    /// The limit for messages of push sockets to the push actor.
    pub push: Mailbox,
}
