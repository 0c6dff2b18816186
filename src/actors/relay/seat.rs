//! What a relayed session works with.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::client::Client;
use crate::core::relayed::RelayedRequests;
use crate::platform::background::Program;
use crate::protocol::hub::SessionRules;
use crate::runtime::environment::Environment;
use crate::storage::hub_folder::HubFolder;

/// What a relayed session works with, and what of it outlives the relay actor.
#[derive(Debug)]
pub struct RelaySeat {
    /// The environment of this process.
    pub env: Arc<Environment>,
    /// The client.
    pub client: Arc<Client>,
    /// Where the hub is.
    pub folder: HubFolder,
    /// What the session brings to the hub.
    pub rules: SessionRules,
    /// The session's name towards hubs.
    pub name: String,
    /// Whether to start a hub if none runs.
    pub starts: bool,
    /// The program that is a hub; `None` if this process must not start one.
    pub command: Option<Program>,
    /// The client's requests that are not answered.
    pub requests: Mutex<RelayedRequests>,
    /// Whether a hub has served this session: kept here for the relay actor's successor.
    pub served: AtomicBool,
    /// Whether the client sends nothing more: kept here for the relay actor's successor.
    pub input_ended: AtomicBool,
    /// The name of the records of the last hub that served this session.
    pub records: Mutex<Option<String>>,
    /// Set once the session is to be served in this process.
    pub embeds: watch::Sender<bool>,
}
