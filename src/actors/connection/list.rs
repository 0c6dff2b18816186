//! The tool list of a connection: requests it, unless a list with the same revision is known, and passes it to the registry.

use std::sync::Arc;

use super::ConnectionTask;
use super::writing::Wire;
use crate::fsm::bridge::Disconnect;
use crate::protocol::dialect::{ListStep, Order, Reply, ToolListing};
use crate::runtime::messages::registry;

impl ConnectionTask {
    pub(super) async fn send_list(&self, wire: &mut Wire, step: usize) -> Result<(), Disconnect> {
        let told = self.exchange().take_revision();
        if let Some(known) = told.and_then(|revision| self.with.tools.listing_of(&revision)) {
            self.list_is(known);
            return Ok(());
        }
        // Development-only tools are always requested, and hidden on our side. So they can be shown later without a new
        // list.
        match self.encode(None, &Order::ListTools { step, development: true }) {
            Ok((number, request)) => {
                self.exchange().asks_list(number, step);
                wire.send(self, number, request, None).await
            }
            Err(_) => {
                self.with.contact.list_is_over(self.epoch, true);
                Ok(())
            }
        }
    }

    pub(super) fn listed(&self, reply: &Reply, step: usize) {
        let read = self.guarded("tools", || self.target.dialect.read_tools(reply, step));
        match read
            .unwrap_or_else(|| ListStep::Failed("holdfast failed to read it, which is a bug of holdfast".to_owned()))
        {
            ListStep::Tools(listing) => self.list_is(Arc::new(listing)),
            ListStep::TryNext => {
                self.exchange().list_goes_on(step + 1);
                self.shared.wake();
            }
            ListStep::Failed(why) => {
                self.with.addresses.registry.cast(registry::Message::ListFailed(self.epoch, why));
            }
        }
    }

    fn list_is(&self, listing: Arc<ToolListing>) {
        self.with.addresses.registry.cast(registry::Message::ListReceived(self.epoch, listing));
    }
}
