//! The greeting: a conversation led by the dialect, until the editor is known to be the right one.

use tokio::time::Instant;

use super::writing::Wire;
use super::{ConnectionTask, Dialled};
use crate::core::exchange::Errand;
use crate::fsm::bridge::{ConnectFailure, Disconnect, Event};
use crate::protocol::dialect::foreign_peer::HEAD_BYTES;
use crate::protocol::dialect::{BadGreeting, Encoded, Greeted, Order, Reply, Shape};
use crate::runtime::enter;

impl ConnectionTask {
    pub(super) async fn send_greeting(&self, wire: &mut Wire) -> Result<(), Disconnect> {
        let encoded = {
            let said = enter(&self.said);
            self.encode(None, &Order::Greeting { hello: &self.hello, said: &said })
        };
        match encoded {
            Ok((number, greeting)) => {
                if let Encoded::Frame(frame) = &greeting {
                    self.sent.get_or_init(|| frame.slice(..frame.len().min(HEAD_BYTES)));
                }
                self.exchange().asks_greeting(number);
                wire.send(self, number, greeting, None).await
            }
            Err(why) => {
                self.greeting_refused(ConnectFailure::WrongPeer, &why.to_string());
                Ok(())
            }
        }
    }

    pub(super) async fn greeted(&self, reply: Reply) {
        let meaning = {
            let mut said = enter(&self.said);
            said.push(reply);
            self.guarded("greeting", || self.target.dialect.check_greeting(&self.hello, &said))
        };
        let Some(meaning) = meaning else {
            return self.greeting_refused(ConnectFailure::WrongPeer, "holdfast failed to read its greeting");
        };
        match meaning {
            Ok(Greeted::NotYet) => self.shared.order(Errand::Greeting),
            Ok(Greeted::Done(met)) => {
                let properties = self.target.dialect.properties();
                self.exchange().jobs.are_asked_alone = self.target.dialect.asks_outcomes_alone();
                if properties.shape == Shape::Stream && self.target.dialect.asks_outcomes_alone() {
                    self.exchange().outcomes_take_a_place();
                }
                self.exchange()
                    .is_heard_every(self.target.dialect.alive_every(), self.target.dialect.is_alive_always());
                self.exchange().greeted(met, properties.window, properties.heartbeat, Instant::now());
                if let Some(Dialled { at, accepted }) = self.dial_result() {
                    self.with.env.events.dial_succeeded(at, accepted);
                }
                self.tell(Event::Greeted { heartbeat: properties.heartbeat });
            }
            Err(why) => {
                let failure = match why {
                    BadGreeting::TokenRefused(_) => ConnectFailure::Unproven,
                    // It is nobody else, and is asked again soon.
                    BadGreeting::Starting(_) => ConnectFailure::Vanished,
                    _ => ConnectFailure::WrongPeer,
                };
                let why = why.to_string();
                self.name_the_wrong(Some(why.clone())).await;
                self.greeting_refused(failure, &why);
            }
        }
    }

    fn greeting_refused(&self, failure: ConnectFailure, why: &str) {
        if self.dial_result().is_some() {
            self.with.env.events.wrong_peer(self.target.endpoint.port(), why);
        }
        self.tell(Event::GreetingRefused(failure));
    }
}
