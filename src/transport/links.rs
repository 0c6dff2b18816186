//! Serves the links to editors: each has its own supervision tree ([`Tree`]), so that one that fails too often ends alone.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::actors::gateway::{Spawn, Tree};
use crate::actors::parts::Parts;
use crate::fsm::cause::Loss;
use crate::limits::FLUSH_MAX;
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
        if parts.links.close_left(link) {
            return;
        }
    }
}
