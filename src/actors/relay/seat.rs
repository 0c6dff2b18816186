//! What a relayed session works with.

use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::core::relayed::{Relayed, RelayedRequests};
use crate::core::requests::Asked;
use crate::limits::CLAIM_PAUSE;
use crate::platform::background::Program;
use crate::protocol::hub::SessionRules;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::{self, AnswerForm, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::call_files::CallFile;
use crate::storage::hub_folder::{HubFolder, HubLock};

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
    /// Lines of hubs that could not be read and that belong to no request.
    pub unreadable: AtomicU32,
    /// Set once the session is to be served in this process.
    pub embeds: watch::Sender<bool>,
}

impl RelaySeat {
    /// Answers a request that no hub answers: a call with a result whose text follows from the tool's name, any other request with
    /// this error.
    pub fn answer_here(&self, request: &Relayed, call: impl FnOnce(&str) -> String, other: &str) {
        let (outbox, key) = (&self.client.outbox, request.hold.key());
        let Some(tool) = request.tool() else {
            outbox.answer_error(key, &RpcError::internal(other));
            return;
        };
        outbox.answer(key, &mcp::tool_result(&ToolResult::error(call(&tool)), &self.asked(request).profile));
    }

    /// Returns the request with the profile that its answer is written for.
    pub fn asked(&self, request: &Relayed) -> Asked {
        let by_handshake = || self.client.handshake().profile_by_handshake();
        let profile = request.requester.as_ref().map_or_else(by_handshake, |requester| requester.profile);
        Asked { key: request.hold.key(), profile, form: AnswerForm::ToolResult }
    }

    /// Returns the records of the hub that had the session's requests, if they can be read. Waits at most this long until that hub is
    /// known to send nothing more. If it is not, a call that is not on record may still be sent.
    pub async fn former_records(&self, within: Duration) -> Option<CallFile> {
        let name = enter(&self.records).clone()?;
        let until = Instant::now() + within;
        loop {
            // Asked before the records are read: a hub records a call first, and then looks whether it still is the hub.
            let is_gone = matches!(self.folder.hub_lock(), HubLock::Free);
            // A hub that takes records over names no former ones until it has them all.
            let former = CallFile::read(&self.folder.records()).ok().filter(|former| former.has_those_of(&name));
            // Whoever has taken them over has all of them: the former owner looks whether they are its own before it sends.
            let is_whole = former.as_ref().is_some_and(|former| is_gone || former.name != name);
            if is_whole || Instant::now() >= until {
                return former.map(|mut former| {
                    former.is_damaged |= !is_whole;
                    former
                });
            }
            sleep(CLAIM_PAUSE * 5).await;
        }
    }
}
