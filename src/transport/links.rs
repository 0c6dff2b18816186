//! Serves the links to editors: each has its own supervision tree ([`Tree`]), so that one that fails too often ends alone.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::actors::gateway::{Spawn, Tree};
use crate::actors::parts::Parts;
use crate::fsm::cause::{Availability, Loss};
use crate::limits::FLUSH_MAX;
use crate::limits::hub::{ARRIVAL_KEPT_LOOK, ARRIVAL_KEPT_MAX};
use crate::link::{Destination, Link};
use crate::protocol::ids::LinkId;

/// Starts a tree for each link to an editor that is opened. At the end, stops all trees.
pub(super) async fn serve<S: Spawn>(parts: Arc<Parts>, spawn: S, mut end: watch::Receiver<bool>) {
    let mut openings = parts.links.openings();
    let mut tended: BTreeMap<LinkId, (watch::Sender<bool>, JoinHandle<()>)> = BTreeMap::new();
    loop {
        openings.mark_unchanged();
        tended.retain(|_, (_, tending)| !tending.is_finished());
        for link in parts.links.all() {
            if link.destination != Destination::Nowhere && !tended.contains_key(&link.id) {
                let (stop, stopping) = watch::channel(false);
                let id = link.id;
                let tending = tend(Arc::clone(&parts), link, spawn.clone(), stopping);
                tended.insert(id, (stop, parts.env.health.spawn("link_tree", tending)));
            }
        }
        tokio::select! {
            biased;
            _ = end.wait_for(|end| *end) => break,
            opened = openings.changed() => if opened.is_err() { break },
        }
    }
    for (stop, _) in tended.values() {
        stop.send_replace(true);
    }
    for (_, tending) in tended.into_values() {
        let _ = tending.await;
    }
}

/// Runs one link until the gateway ends, or until the only session has left the link.
async fn tend<S: Spawn>(parts: Arc<Parts>, link: Arc<Link>, spawn: S, mut end: watch::Receiver<bool>) {
    let deadlines = parts.env.health.spawn("deadlines", Arc::clone(&link.calls).run_deadlines());
    let (stop, stopping) = watch::channel(false);
    let mut tree = pin!(Tree::of_link(Arc::clone(&link), spawn).run(stopping));
    let over = async {
        tokio::select! {
            ended = end.wait_for(|end| *end) => drop(ended),
            () = left(&parts, &link) => {}
        }
    };
    tokio::select! {
        biased;
        _ = &mut tree => {}
        () = link.report_changes(&parts.sessions) => {}
        () = over => {
            stop.send_replace(true);
            tree.await;
        }
    }
    link.calls.close_epochs(Loss::Shutdown);
    link.contact.keep_push_listener(None);
    if !parts.links.is_for_one() {
        // The one client may still want to know how its calls ended.
        parts.links.close(link.id);
    }
    let _ = timeout(FLUSH_MAX, link.calls.audit.written()).await;
    deadlines.abort();
}

/// Waits until the link can be closed: the only session has left it, and its calls have ended.
async fn left(parts: &Parts, link: &Arc<Link>) {
    let mut left = link.left.subscribe();
    loop {
        while !*left.borrow_and_update() {
            if left.changed().await.is_err() {
                return std::future::pending().await;
            }
            link.env.events.handed_over("left");
        }
        // The result of a call that was answered "still running" comes late, and is fetched by the call's id.
        link.calls.shared.all_over().await;
        tokio::select! {
            biased;
            () = editor_stays_away(link) => {}
            _ = left.changed() => continue,
        }
        if parts.links.close_left(link) {
            return;
        }
    }
}

/// Waits until an editor that connects to us has not been here for [`ARRIVAL_KEPT_MAX`]. Where nobody listens it gives up, and then its
/// user has to see to it. Does not wait for an editor that never came, and for none to which we connect.
async fn editor_stays_away(link: &Link) {
    let mut away = Duration::ZERO;
    while keeps_listening(link) && away < ARRIVAL_KEPT_MAX {
        sleep(ARRIVAL_KEPT_LOOK).await;
        let is_here = link.contact.view.borrow().availability == Availability::Open;
        away = if is_here { Duration::ZERO } else { away + ARRIVAL_KEPT_LOOK };
    }
}

/// Whether the editor of this link connects to us, and has done so.
pub(super) fn keeps_listening(link: &Link) -> bool {
    link.contact.dialect().reception().is_some() && link.contact.view.borrow().connections > 0
}
