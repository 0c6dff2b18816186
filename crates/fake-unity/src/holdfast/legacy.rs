//! uLoopMCP's protocol, which holdfast's package also accepts. The method of a request is the tool's name, the requests of one
//! connection are answered in order, and there are two types of error.

use std::sync::Arc;

use super::calls::{Call, Caller, Order};
use super::catalogue;
use super::desk::{HoldfastFace, Inner};
use super::wire::{self, Refusal, Request};
use crate::json;
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::uloop::catalogue::entry as uloop_entry;

/// Maximum number of requests of one connection that wait, including the running one.
const LANE_MAX: usize = 256;

impl HoldfastFace {
    /// Handles a request that uses one of uLoop's methods. On a proven connection `ping` is answered at once. All other requests
    /// are answered in order; if too many wait, the request is refused.
    pub(crate) fn legacy(&self, editor: &Arc<Editor>, connection: u64, request: Request) {
        // Notifications have no effect in uLoop's protocol.
        let Some(id) = request.id.clone() else { return };
        let mut inner = self.desk.lock();
        let Some(peer) = inner.peers.get_mut(&connection) else { return };
        if request.method == "ping" && peer.gateway.is_some() {
            let outbox = peer.outbox.clone();
            let result = inner.ping(editor, request.params.text("Message", 0, usize::MAX).ok());
            outbox.send(wire::success(&id, &result.finish()), None, None);
            return;
        }
        if peer.lane.len() >= LANE_MAX {
            let refusal = internal("Too many requests of this connection wait", false);
            peer.outbox.send(wire::failure(&id, &refusal.json()), None, None);
            return;
        }
        peer.lane.push_back(request);
        if peer.lane.len() == 1 {
            drop(inner);
            self.run_lane(editor, connection);
        }
    }

    /// Called when the first request of a connection has been answered. Starts the next one. Does nothing if the call did not
    /// come as one of uLoop's methods.
    pub(crate) fn next_in_lane(&self, editor: &Arc<Editor>, inner: &mut Inner, call: &Call) {
        let (None, Some(Caller { connection, .. })) = (&call.identity, &call.caller) else { return };
        if let Some(peer) = inner.peers.get_mut(connection) {
            peer.lane.pop_front();
        }
        let (face, editor, connection) = (self.clone(), editor.clone(), *connection);
        // Runs in a task, because the caller holds the lock.
        inner.tasks.spawn(async move { face.run_lane(&editor, connection) });
    }

    fn run_lane(&self, editor: &Arc<Editor>, connection: u64) {
        loop {
            let next = self.desk.lock().peers.get(&connection).and_then(|peer| peer.lane.front().cloned());
            let Some(request) = next else { return };
            let id = request.id.clone().unwrap_or_default();
            let refusal = match request.method.as_str() {
                "sendPushNotificationEndpoint" => Err(self.name_endpoint(editor, &request)),
                method => self
                    .admit(
                        editor,
                        Order {
                            identity: None,
                            caller: Caller { connection, request: id.clone() },
                            tool: method.to_owned(),
                            bytes: request.bytes,
                            arguments: Some(request.params.0.to_string()),
                            timeout: None,
                            progress: false,
                        },
                    )
                    .map_err(|refusal| wire::failure(&id, &translate(&refusal).json())),
            };
            // If the call was admitted, its end starts the next request.
            let Err(reply) = refusal else { return };
            if let Some(peer) = self.desk.lock().peers.get_mut(&connection) {
                peer.outbox.send(reply, None, None);
                peer.lane.pop_front();
            }
        }
    }

    /// Returns the tool list in the form of uLoop.
    pub(crate) fn legacy_entries(&self, editor: &Editor, development: bool) -> String {
        let state = editor.state();
        let listed = state.tools.iter().filter(|tool| development || !tool.spec.development);
        json::array(listed.map(|tool| uloop_entry(tool, PackageVersion::new(0, 30, 1), self.is_blocked(&tool.name))))
    }

    fn name_endpoint(&self, editor: &Arc<Editor>, request: &Request) -> Vec<u8> {
        let id = request.id.clone().unwrap_or_default();
        match request.params.text("PushNotificationEndpoint", 1, wire::NAME_MAX_BYTES) {
            Ok(endpoint) => {
                self.desk.push.register(editor, &endpoint, None);
                let result = Object::new().flag("Success", true).text("PushNotificationEndpoint", &endpoint);
                wire::success(&id, &result.finish())
            }
            Err(refusal) => wire::failure(&id, &refusal.json()),
        }
    }
}

/// Converts a refusal to the form of uLoop.
pub(crate) fn translate(refusal: &Refusal) -> Refusal {
    match refusal.kind {
        "security_blocked" => refusal.clone(),
        "timed_out" => Refusal::new("internal_error", -32603, true, "Request timeout").detail(&refusal.message),
        "invalid_params" => Refusal::new("internal_error", -32603, false, refusal.message.clone()).detail(""),
        _ => internal(&refusal.message, refusal.ran),
    }
}

fn internal(what: &str, ran: bool) -> Refusal {
    Refusal::new("internal_error", catalogue::INTERNAL, ran, "Internal error").detail(what)
}
