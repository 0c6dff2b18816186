//! What the attachment of a session to a hub works with.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::core::port::Settled;
use crate::core::said::Said;
use crate::fsm::call::Verdict;
use crate::limits::CLAIM_PAUSE;
use crate::link::{HubPort, Links};
use crate::platform::background::Program;
use crate::protocol::hub::SessionRules;
use crate::protocol::mcp::ToolResult;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::attachment::Message;
use crate::runtime::slot::Slot;
use crate::storage::call_files::CallFile;
use crate::storage::hub_folder::{HubFolder, HubLock};

/// What the attachment works with, and what outlives its actor.
#[derive(Debug)]
pub struct HubSeat {
    pub env: Arc<Environment>,
    pub client: Arc<Client>,
    /// The links, whose state the hub tells.
    pub links: Arc<Links>,
    /// The port: what the session said to the hub and waits for.
    pub port: Arc<HubPort>,
    pub actor: Slot<Message>,
    pub folder: HubFolder,
    /// What the session brings to the hub.
    pub rules: SessionRules,
    /// The session's name towards hubs.
    pub name: String,
    /// Whether to start a hub if none runs.
    pub starts: bool,
    /// The program to start as a hub. `None` if this process must not start one.
    pub command: Option<Program>,
    /// Whether a command opened this session. A command makes one call, starts no hub, and asks none to retire.
    pub is_command: bool,
    /// Whether a hub has served this session: the value is here for the actor's successor.
    pub served: AtomicBool,
    /// Whether the client sends nothing more: the value is here for the actor's successor.
    pub input_ended: AtomicBool,
    /// The name of the records of the last hub that served this session.
    pub records: Mutex<Option<String>>,
    /// Lines of hubs that could not be read and that belong to no request.
    pub unreadable: AtomicU32,
    /// The projects whose tools are being asked for.
    pub listing: Mutex<Vec<PathBuf>>,
    /// Whether the hub is being asked why a link has no editor.
    pub explaining: AtomicBool,
    /// Set once the session is to be served in this process.
    pub embeds: watch::Sender<bool>,
}

impl HubSeat {
    /// Answers a call that no hub answers, with this verdict and result.
    pub fn answer_here(&self, said: &Said, verdict: Verdict, result: ToolResult) {
        let (call, project) = (said.call.id, Some(said.project.clone()));
        let settled =
            Settled { asked: said.asked(), call, verdict, answer: Ok(Arc::new(result)), project, unrun: false };
        self.client.settled(&self.env, settled, None::<fn()>);
    }

    /// Returns the records of the hub that had the session's requests, if they can be read. Waits at most this long for
    /// the proof that this hub sends nothing more. Without the proof, a call that is not on record may still be sent.
    pub async fn former_records(&self, within: Duration) -> Option<CallFile> {
        let name = enter(&self.records).clone()?;
        let until = Instant::now() + within;
        loop {
            // The lock is looked at before the records are read: a hub records a call first, and then looks whether it
            // still is the hub.
            let is_gone = matches!(self.folder.hub_lock(), HubLock::Free);
            // A hub that takes records over names no former ones until it has read them all.
            let former = CallFile::read(&self.folder.records()).ok().filter(|former| former.has_those_of(&name));
            // A process that has taken the records over has all of them: the former owner looks whether they are its
            // own before it sends.
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
