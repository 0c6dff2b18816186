//! What a session that may use several editors must know of each link: whether the link's editor runs, and when that
//! changes.

use std::path::Path;
use std::sync::Arc;

use super::parts::Link;
use crate::client::Sessions;
use crate::core::editors::{Known, Presence};
use crate::core::router::Running;
use crate::fsm::registry::Source;
use crate::protocol::mcp::Catalogue;
use crate::runtime::messages::session::Message;

impl Link {
    /// Returns the editor of this link if it runs ([`Seen::running`](crate::core::port::Seen::running)).
    pub fn running(&self) -> Option<Running> {
        self.contact.view.seen().running
    }

    /// Returns the project that this link leads to, and whether its editor is there. `None` if the link leads to no project.
    pub fn known(&self) -> Option<Known> {
        let project = self.leads_to()?.to_path_buf();
        Some(Known { project, editor: self.contact.view.seen().editor() })
    }

    /// Returns the project that this link leads to, if there is one.
    pub fn leads_to(&self) -> Option<&Path> {
        self.destination.project()
    }

    /// Whether this link leads to a project whose editor is connected, or is expected to be.
    pub fn is_open(&self) -> bool {
        self.known().is_some_and(|known| known.editor == Presence::Open)
    }

    /// Whether the live tool list of this link's editor may still come.
    pub fn is_settling(&self) -> bool {
        let source = self.tools.published.borrow().source;
        let seen = self.contact.view.seen();
        seen.undecided || source != Source::Live && seen.may_come()
    }

    /// Waits until the link is not settling.
    pub async fn settled(&self) {
        let (mut seen, mut published) = (self.contact.view.sightings(), self.tools.published.subscribe());
        while self.is_settling() {
            let changed = tokio::select! {
                changed = seen.changed() => changed,
                changed = published.changed() => changed,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Tells every session that may use several editors when something changes that matters to it: whether this link's editor
    /// runs, or which tools it has. Never returns.
    pub async fn report_changes(&self, sessions: &Sessions) {
        let (mut seen, mut published) = (self.contact.view.sightings(), self.tools.published.subscribe());
        let mut told = None;
        loop {
            seen.mark_unchanged();
            let (catalogue, rules) = {
                let published = published.borrow_and_update();
                (Arc::clone(&published.catalogue), published.rules)
            };
            let news = (self.running(), self.known(), self.is_settling(), rules, catalogue);
            let is_same = |(running, known, settling, rules, catalogue): &(_, _, _, _, Arc<Catalogue>)| {
                (running, known, settling, rules) == (&news.0, &news.1, &news.2, &news.3)
                    && Arc::ptr_eq(catalogue, &news.4)
            };
            if !told.as_ref().is_some_and(is_same) {
                told = Some(news);
                editors_changed(sessions);
            }
            let changed = tokio::select! {
                changed = seen.changed() => changed,
                changed = published.changed() => changed,
            };
            self.env.events.handed_over("editors");
            if changed.is_err() {
                // Both senders have gone with the link: nothing changes any more.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Tells every session that something changed among the editors.
pub fn editors_changed(sessions: &Sessions) {
    for client in sessions.all() {
        client.actor.cast(Message::EditorsChanged);
    }
}
