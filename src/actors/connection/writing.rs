//! Writes to the editor: carries out the bridge's orders one after another, in the shape of the exchange that the dialect has.

use tokio::io::WriteHalf;
use tokio::time::Instant;

use super::requests::Requests;
use super::{ConnectionTask, Outgoing, Torn, write_whole};
use crate::core::exchange::{Errand, Exchange, Next};
use crate::fsm::bridge::Disconnect;
use crate::limits::SILENCE_MAX;
use crate::net::BoxStream;
use crate::protocol::dialect::{EncodeError, Encoded, Order, Shape, WireId};
use crate::protocol::ids::CallId;

/// How messages are sent: one for each [`Shape`].
pub(super) enum Wire {
    /// All messages are written to one connection; replies are read from it at the same time.
    Stream(WriteHalf<BoxStream>),
    /// Each message is a request on a new connection, and its response is read before the next one is sent.
    Requests(Requests),
}

impl Wire {
    /// Sends a message under this number. `call`: the call that the message carries, if any; it is claimed before the first byte.
    ///
    /// # Errors
    /// How the connection ends.
    pub(super) async fn send(
        &mut self,
        task: &ConnectionTask,
        number: u64,
        message: Encoded,
        call: Option<Outgoing>,
    ) -> Result<(), Disconnect> {
        match (self, message) {
            (Self::Stream(socket), Encoded::Frame(frame)) => {
                let id = call.as_ref().map(|call| call.call);
                if call.is_some_and(|call| !task.claim(number, call)) {
                    return Ok(());
                }
                write_whole(socket, &frame).await.map_err(|torn| {
                    if let (Torn::NoByte, Some(call)) = (torn, id) {
                        task.not_written(call);
                    }
                    Disconnect::Reset
                })?;
                Ok(())
            }
            (Self::Requests(requests), Encoded::Request(request)) => requests.send(task, number, request, call).await,
            // Our own dialect says that it speaks in another way: that is our bug, and nothing is sent.
            (Self::Stream(_) | Self::Requests(_), _) => Err(Disconnect::Protocol),
        }
    }

    /// Returns when the editor is gone, for a transport where reading does not show that. The future can be dropped at any time.
    async fn gone(&mut self, task: &ConnectionTask) -> Disconnect {
        match self {
            Self::Stream(_) => std::future::pending().await,
            Self::Requests(requests) => requests.watch(task).await,
        }
    }
}

impl ConnectionTask {
    /// Reads and writes on an open connection until it ends.
    pub(super) async fn converse(&self, stream: BoxStream) -> Disconnect {
        match self.target.dialect.properties().shape {
            Shape::Stream => {
                let (read, write) = tokio::io::split(stream);
                tokio::select! {
                    biased;
                    drop = self.read(read) => drop,
                    drop = self.write(Wire::Stream(write)) => drop,
                }
            }
            Shape::Requests | Shape::Jobs => {
                let token = self.target.endpoint.token().cloned();
                self.write(Wire::Requests(Requests::new(stream, token))).await
            }
        }
    }

    /// Writes what the exchange decides, until the connection ends.
    async fn write(&self, mut wire: Wire) -> Disconnect {
        let mut asked = Instant::now();
        loop {
            // The question comes first: otherwise it would never be asked while there is always something else to write.
            let is_due = {
                let exchange = self.exchange();
                exchange.may_ask_outcomes() && exchange.jobs.asks_again(asked) <= Instant::now()
            };
            let next = if is_due {
                Next::Errand(Errand::Outcomes)
            } else {
                let next = self.exchange().next_but_calls(Instant::now());
                next.unwrap_or_else(|| self.decide(Exchange::next))
            };
            let sent = match next {
                Next::Errand(Errand::Greeting) => self.send_greeting(&mut wire).await,
                Next::Errand(Errand::Outcomes) => {
                    let sent = self.ask_outcomes(&mut wire).await;
                    // Over HTTP the answer has come too. The pause begins now, and leaves time for other requests.
                    asked = Instant::now();
                    sent
                }
                Next::Errand(Errand::Cancel(key)) => self.send_cancel(&mut wire, &key).await,
                Next::Errand(Errand::Heartbeat) => self.ask_heartbeat(&mut wire).await,
                Next::Errand(Errand::MainThread) => self.ask_main_thread_here(&mut wire).await,
                Next::Errand(Errand::HangUp(call)) => self.hang_up_on(call),
                Next::Errand(Errand::Framing(answer)) => {
                    let number = self.with.contact.next_wire_number();
                    wire.send(self, number, Encoded::Frame(answer), None).await
                }
                Next::List { step } => self.send_list(&mut wire, step).await,
                Next::Call(held) => self.send_held(&mut wire, *held).await,
                Next::Wait => {
                    let again = {
                        let exchange = self.exchange();
                        let later = Instant::now() + SILENCE_MAX;
                        let outcomes = exchange.may_ask_outcomes().then(|| exchange.jobs.asks_again(asked));
                        outcomes.unwrap_or(later).min(exchange.calls_again().unwrap_or(later))
                    };
                    tokio::select! {
                        biased;
                        () = self.shared.woken() => self.with.env.events.handed_over("connection"),
                        () = tokio::time::sleep_until(again) => {}
                        drop = wire.gone(self) => return drop,
                    }
                    Ok(())
                }
            };
            if let Err(drop) = sent {
                return drop;
            }
        }
    }

    pub(super) fn encode(&self, call: Option<CallId>, order: &Order<'_>) -> Result<(u64, Encoded), EncodeError> {
        let number = self.with.contact.next_wire_number();
        self.encode_as(number, call, order).map(|message| (number, message))
    }

    /// Ends the connection if this call still has a place on it. Its client has cancelled it, and the package has no other cancel.
    fn hang_up_on(&self, call: CallId) -> Result<(), Disconnect> {
        let is_here = self.exchange().has_open(call);
        // For the bridge it is as if the editor had closed it: the next dial follows at once.
        if is_here { Err(Disconnect::Eof) } else { Ok(()) }
    }

    /// Returns the identity of a message.
    pub(super) fn wire_id(&self, number: u64, call: Option<CallId>) -> WireId {
        WireId { number, call, agreed: self.exchange().met().and_then(|met| met.agreed) }
    }

    pub(super) fn encode_as(
        &self,
        number: u64,
        call: Option<CallId>,
        order: &Order<'_>,
    ) -> Result<Encoded, EncodeError> {
        self.target.dialect.encode(self.wire_id(number, call), order)
    }
}
