//! The tool list of a connection: asked for, or known already; published here, so that it cannot be lost on its way.

use std::sync::Arc;

use super::Line;
use super::writing::Wire;
use crate::core::exchange::Order;
use crate::fsm::bridge::{Drop, Event};
use crate::protocol::dialect::{ListStep, Order as WireOrder, Reply, ToolListing};
use crate::runtime::messages::registry::{self, ListIsOver};

impl Line {
    pub(super) async fn send_list(&self, wire: &mut Wire, step: usize) -> Result<(), Drop> {
        let told = self.exchange().take_revision();
        if let Some(known) = told.and_then(|revision| self.with.tools.listing_of(&revision)) {
            self.list_is(known);
            return Ok(());
        }
        // Development-only tools are always asked for and hidden on our side: showing them then needs no new list.
        match self.encode(None, &WireOrder::ListTools { step, development: true }) {
            Ok((number, frame)) => {
                self.exchange().asks_list(number, step);
                wire.send(self, number, &frame, None).await
            }
            Err(_) => {
                self.tell(Event::ListAnswered);
                Ok(())
            }
        }
    }

    pub(super) fn listed(&self, reply: &Reply, step: usize) {
        match self.target.dialect.read_tools(reply, step) {
            ListStep::Tools(listing) => self.list_is(Arc::new(listing)),
            ListStep::TryNext => self.shared.order(Order::List { step: step + 1 }),
            ListStep::Failed(why) => {
                self.with.addresses.registry.cast(registry::Message::ListFailed(
                    self.epoch,
                    why,
                    self.over(Event::ListLost),
                ));
            }
        }
    }

    /// It is published before the bridge may send calls: they are looked up in it.
    fn list_is(&self, listing: Arc<ToolListing>) {
        let adopted = self.with.tools.adopt(self.epoch, listing);
        let over = self.over(if adopted { Event::ListAnswered } else { Event::ListLost });
        self.with.addresses.registry.cast(registry::Message::ListReceived(self.epoch, over));
    }

    /// The bridge hears of it behind the registry's wish for another list: that one goes before any call.
    fn over(&self, event: Event) -> ListIsOver {
        ListIsOver::new(self.bridge.clone(), self.epoch, event)
    }
}
