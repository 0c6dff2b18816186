//! Where the actors of one link are, across their restarts, and the bounds of what comes in to them from outside.

use super::mailbox::Mailbox;
use super::messages::{bridge, discovery, push, registry};
use super::slot::Slot;

/// Where the actors of one link are, across their restarts.
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
    /// The bounds of what comes in from outside.
    pub mailboxes: Mailboxes,
}

/// The bounds of the mailboxes that messages from outside come to.
#[derive(Debug, Default)]
pub struct Mailboxes {
    /// From the editor's connection to the bridge.
    pub bridge: Mailbox,
    /// From push sockets.
    pub push: Mailbox,
}
