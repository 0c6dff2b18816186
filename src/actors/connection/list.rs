//! The tool list of a connection: asked for, or known already; handed to the registry.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::WriteHalf;

use super::{Awaited, Line, News, NotWritten, Order};
use crate::net::BoxStream;
use crate::protocol::dialect::{ListStep, Order as WireOrder, Reply};
use crate::runtime::messages::{bridge, registry};

impl Line {
    pub(super) async fn send_list(&self, socket: &mut WriteHalf<BoxStream>, step: usize) -> Result<(), NotWritten> {
        // What the greeting told of the tools holds for the first list that is wanted; later ones are wanted because they changed.
        let first = !self.asked_list.swap(true, Ordering::Relaxed);
        let told = self.met.get().and_then(|met| met.tools_revision.as_deref()).filter(|_| first);
        if let Some(known) = told.and_then(|revision| self.tools.listing_of(revision)) {
            self.list_is(registry::Message::ListReceived(self.epoch, known));
            return Ok(());
        }
        // Development-only tools are always asked for and hidden on our side: showing them then needs no new list.
        match self.encode(None, &WireOrder::ListTools { step, development: true }) {
            Ok((number, frame)) => {
                self.awaiting().insert(number, Awaited::List { step });
                self.write_frame(socket, &frame).await
            }
            Err(_) => {
                self.list_owed.store(false, Ordering::Release);
                self.tell(News::ListAnswered);
                Ok(())
            }
        }
    }

    pub(super) fn listed(&self, reply: &Reply, step: usize) {
        let told = match self.target.dialect.read_tools(reply, step) {
            ListStep::Tools(listing) => registry::Message::ListReceived(self.epoch, Arc::new(listing)),
            ListStep::TryNext => {
                let orders = self.orders.upgrade();
                if orders.is_some_and(|orders| orders.try_send(Order::List { step: step + 1 }).is_ok()) {
                    return;
                }
                registry::Message::ListFailed(self.epoch, "the next method could not be tried".to_owned())
            }
            ListStep::Failed(why) => registry::Message::ListFailed(self.epoch, why),
        };
        self.list_is(told);
    }

    fn list_is(&self, told: registry::Message) {
        // Before the registry hears of it: if it ends over that message, the bridge must know that nothing is owed any more.
        self.list_owed.store(false, Ordering::Release);
        // The registry publishes the list and then lets the bridge send calls: see `registry::publish`.
        if !self.addresses.registry.cast(told) {
            let _ = self.bridge.cast(bridge::Message::ListLost);
        }
    }
}
