//! Shows users which program listens on an editor's port and does not answer as an editor, if that can be found out.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::time::Instant;

use super::ConnectionTask;
use crate::core::link::{Fact, ForeignPeer};
use crate::limits::{OWNER_LOOKUP_MAX, SILENCE_NAMED_AFTER};
use crate::platform::host::Owner;
use crate::protocol::dialect::{Endpoint, foreign_peer};
use crate::protocol::text::clean;
use crate::survey;

impl ConnectionTask {
    /// Shows a peer that was not greeted as a foreign peer, and describes it by the first bytes that it sent.
    pub(super) async fn note_foreign_peer(&self, head: &[u8]) {
        if !self.is_greeted() {
            let sent = self.sent.get().map(AsRef::as_ref).unwrap_or_default();
            self.name_the_wrong(foreign_peer::kind(head, sent).map(str::to_owned)).await;
        }
    }

    /// Shows that the peer is not the editor that is meant; `what` describes the peer, if it is known.
    pub(super) async fn name_the_wrong(&self, what: Option<String>) {
        let unknown = || "a program that does not answer as a Unity bridge does".to_owned();
        self.show_foreign_peer(Some(what.unwrap_or_else(unknown))).await;
    }

    /// Stops showing a foreign peer for the port, because no program listens there any more.
    pub(super) fn nobody_is_there(&self) {
        self.with.contact.view.tell(Fact::NobodyAt(self.target.endpoint.port()));
    }

    /// Shows the peer and its process, if the peer does not answer the greeting within [`SILENCE_NAMED_AFTER`]. Never
    /// returns.
    pub(super) async fn name_the_silent(&self) -> Infallible {
        tokio::time::sleep(SILENCE_NAMED_AFTER).await;
        if !self.is_greeted() {
            self.show_foreign_peer(None).await;
        }
        std::future::pending().await
    }

    async fn show_foreign_peer(&self, what: Option<String>) {
        let (host, port) = (Arc::clone(&self.with.env.host), self.target.endpoint.port());
        // This looks at all processes. That is worth it only if something is wrong with the port.
        let looked_up = crate::platform::host::run(&*self.with.env.host, move || host.port_owner(port));
        // Where the editor connects, the port may be ours, and what is said of a program names it already.
        let owner = match self.target.endpoint {
            Endpoint::Arrival(_) => None,
            _ => tokio::time::timeout(OWNER_LOOKUP_MAX, looked_up).await.ok().flatten().flatten(),
        };
        // The process that owns the port is better evidence than what the peer sent.
        let is_ours = |owner: &Owner| {
            let project = || survey::opened_project(owner).zip(self.target.project.clone());
            self.target.editor_pid == Some(owner.pid) || project().is_some_and(|(opened, ours)| opened == ours)
        };
        let ours = owner.as_ref().is_some_and(is_ours);
        let known = owner.as_ref().filter(|_| !ours).and_then(|owner| match survey::opened_project(owner) {
            Some(project) => Some(format!("a Unity Editor that has {} open", project.display())),
            None if owner.name.starts_with("holdfast") => Some("a holdfast gateway".to_owned()),
            None => None,
        });
        let what = known.or(what);
        let owner = owner.map(|owner| format!("{} (pid {})", clean(&owner.name), owner.pid));
        let peer = ForeignPeer { port, what, owner, since: Instant::now(), ours };
        self.with.contact.view.tell(Fact::Foreign(peer));
    }
}
