//! The greeting: a conversation that the dialect leads, until the editor is known to be the right one.

use std::sync::PoisonError;

use tokio::io::WriteHalf;

use super::{Awaited, Dialled, Line, News, NotWritten, Order};
use crate::net::BoxStream;
use crate::protocol::dialect::stranger::HEAD_BYTES;
use crate::protocol::dialect::{Greeted, Order as WireOrder, Reply};

impl Line {
    pub(super) async fn send_greeting(&self, socket: &mut WriteHalf<BoxStream>) -> Result<(), NotWritten> {
        let encoded = {
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            self.encode(None, &WireOrder::Greeting { hello: &self.hello, said: &said })
        };
        match encoded {
            Ok((number, frame)) => {
                self.sent.get_or_init(|| frame.slice(..frame.len().min(HEAD_BYTES)));
                self.awaiting().insert(number, Awaited::Greeting);
                self.write_frame(socket, &frame).await
            }
            Err(why) => {
                self.greeting_refused(&why.to_string());
                Ok(())
            }
        }
    }

    pub(super) async fn greeted(&self, reply: Reply) {
        let meaning = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(reply);
            self.target.dialect.check_greeting(&self.hello, &said)
        };
        match meaning {
            Ok(Greeted::NotYet) => {
                if self.orders.upgrade().is_none_or(|orders| orders.try_send(Order::Greeting).is_err()) {
                    self.greeting_refused("the next message could not be sent");
                }
            }
            Ok(Greeted::Done(met)) => {
                let domain = met.domain;
                let _ = self.met.set(met);
                if let Some(Dialled { at, accepted }) = self.dial_result() {
                    self.env.events.dial_succeeded(at, accepted);
                }
                let properties = self.target.dialect.properties();
                let window = u8::try_from(properties.window).unwrap_or(u8::MAX);
                self.tell(News::Greeted { window, pulse: properties.pulse, domain });
            }
            Err(said) => {
                self.name_the_wrong(Some(said.clone())).await;
                self.greeting_refused(&said);
            }
        }
    }

    pub(super) fn greeting_refused(&self, why: &str) {
        if self.dial_result().is_some() {
            self.env.events.wrong_peer(self.target.port, why);
        }
        self.tell(News::GreetingRefused);
    }
}
