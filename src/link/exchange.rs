//! The exchange of one connection, shared by the connection's task and the parts that give it work.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::core::exchange::{Errand, Exchange};
use crate::protocol::ids::Epoch;
use crate::runtime::enter;

/// The exchange behind its lock. Whoever needs the ledger's lock too takes the ledger's lock first.
#[derive(Debug)]
pub struct SharedExchange {
    exchange: Mutex<Exchange>,
    woken: Notify,
}

impl SharedExchange {
    /// Creates the exchange of a connection on which nothing was sent.
    pub fn new(epoch: Epoch) -> Self {
        Self { exchange: Mutex::new(Exchange::new(epoch)), woken: Notify::new() }
    }

    /// Takes the lock, for one short operation.
    pub fn lock(&self) -> MutexGuard<'_, Exchange> {
        enter(&self.exchange)
    }

    /// Gives the connection an errand. Has no effect on a connection that has ended: it has reported its end itself.
    pub fn order(&self, errand: Errand) {
        self.lock().order(errand);
        self.wake();
    }

    /// A call may wait in the ledger.
    pub fn look_for_calls(&self) {
        self.lock().look_for_calls();
        self.wake();
    }

    /// Makes the connection look for what it may write next.
    pub fn wake(&self) {
        self.woken.notify_one();
    }

    /// Waits until the connection must look for what it may write next.
    pub async fn woken(&self) {
        self.woken.notified().await;
    }
}
