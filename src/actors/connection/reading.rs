//! Reads from the editor: bytes, frames, and what they mean.

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, ReadHalf};

use super::ConnectionTask;
use super::call::refused;
use crate::core::exchange::{Errand, MayAnswer, ReplyTo};
use crate::core::link::Fact;
use crate::fsm::bridge::Disconnect;
use crate::limits::LIVENESS_EVERY;
use crate::net::BoxStream;
use crate::protocol::dialect::foreign_peer::HEAD_BYTES;
use crate::protocol::dialect::{BadMessage, EditorEvent, Inbound, Reply, Wreck};
use crate::runtime::messages::registry;

impl ConnectionTask {
    pub(super) async fn read(&self, mut socket: ReadHalf<BoxStream>) -> Disconnect {
        let mut framer = self.target.dialect.framer();
        let mut buffer = vec![0; 64 * 1024];
        // The first bytes that the peer sent before the greeting succeeded: they show what program it is.
        let mut head = Vec::new();
        loop {
            self.room().await;
            let count = match socket.read(&mut buffer).await {
                Ok(0) => return Disconnect::Eof,
                Ok(count) => count,
                Err(_) => return Disconnect::Reset,
            };
            self.heard();
            let bytes = buffer.get(..count).unwrap_or_default();
            framer.push(bytes);
            if !self.is_greeted() {
                head.extend(bytes.iter().take(HEAD_BYTES.saturating_sub(head.len())));
            }
            loop {
                let next = framer.next_frame();
                if let Some(answer) = framer.owed() {
                    self.shared.order(Errand::Framing(answer));
                }
                match next {
                    Ok(Some(frame)) => {
                        if let Err(drop) = self.take(frame).await {
                            self.note_foreign_peer(&head).await;
                            return drop;
                        }
                    }
                    Ok(None) => break,
                    Err(bad) => {
                        let drop = self.bad_bytes((&bad).into(), &bad.to_string());
                        self.note_foreign_peer(&head).await;
                        return drop;
                    }
                }
            }
        }
    }

    pub(super) fn bad_bytes(&self, fault: &'static str, why: &str) -> Disconnect {
        self.with.env.events.frame_error(self.epoch, fault, why);
        if self.exchange().awaits_greeting() && self.dial_result().is_some() {
            self.with.env.events.wrong_peer(self.target.endpoint.port(), why);
        }
        Disconnect::Protocol
    }

    /// Decodes a whole frame and handles its message. An error ends the connection.
    pub(super) async fn take(&self, frame: Bytes) -> Result<(), Disconnect> {
        let Some(decoded) = self.guarded("message", || self.target.dialect.decode(&frame)) else {
            if !self.is_greeted() {
                return Err(Disconnect::Protocol);
            }
            if self.exchange().may_have_lost_an_answer() {
                return Err(Disconnect::Protocol);
            }
            // The message may have been the answer to a call. Only a journal knows.
            let _ = self.exchange().unreadable();
            self.want_outcomes();
            return Ok(());
        };
        let inbound = match decoded {
            Ok(inbound) => inbound,
            Err(bad) if self.is_greeted() => return self.unreadable(&frame, &bad).await,
            Err(bad) => return Err(self.bad_bytes((&bad).into(), &bad.to_string())),
        };
        let inbound = self.addressed(inbound, &frame);
        // The frame may have megabytes, and rendering the answer needs the same amount again.
        drop(frame);
        match inbound {
            Inbound::Reply { number, reply } => return self.reply_came(number, reply).await,
            Inbound::Next(reply) => return self.next_reply_came(reply).await,
            Inbound::Unmatched { what } => self.with.env.events.reply_unmatched(self.epoch, &what),
            Inbound::Event(EditorEvent::ToolsChanged) => {
                let permit = self.with.addresses.mailboxes.bridge.permit(0).await;
                self.with.addresses.registry.cast(registry::Message::ChangeHinted(permit));
            }
            Inbound::Event(EditorEvent::Leaving(reason)) => {
                let event = self.exchange().leaves(reason);
                self.tell_unasked(event).await;
            }
            Inbound::Event(EditorEvent::State(state)) => {
                self.with.contact.view.tell(Fact::Reported(state));
            }
            Inbound::Event(EditorEvent::Settled) => self.want_outcomes(),
            Inbound::Alive(heartbeat) => {
                if let Some(heartbeat) = heartbeat {
                    self.feel(heartbeat);
                }
            }
            Inbound::Progress(progress) => self.with.calls.decide(|ledger, now| ledger.progressed(progress, now)),
        }
        Ok(())
    }

    /// Handles a whole message of the editor that cannot be read and does not name its request. If only a list can be
    /// meant, the message is the answer to that request. A call is never answered on a guess: the journal is asked.
    /// Without a journal the connection ends, so that the outcome is unknown.
    async fn unreadable(&self, frame: &Bytes, bad: &BadMessage) -> Result<(), Disconnect> {
        self.with.env.events.frame_error(self.epoch, bad.into(), &bad.to_string());
        if bad.is_request() {
            return Ok(());
        }
        let meant = self.exchange().unreadable();
        match meant {
            MayAnswer::Request(number) => self.replied(number, Reply::Wreck(Wreck::of_message(frame))).await,
            // The message may be no answer at all. The call may still run, and its place with the editor must not be
            // given away.
            MayAnswer::ACall => Err(Disconnect::Protocol),
            MayAnswer::Nobody => Ok(()),
        }
    }

    async fn next_reply_came(&self, reply: Reply) -> Result<(), Disconnect> {
        let Some(number) = self.exchange().only_open() else {
            self.with.env.events.reply_unmatched(self.epoch, "nothing was asked");
            return Err(Disconnect::Protocol);
        };
        self.reply_came(number, reply).await
    }

    pub(super) async fn reply_came(&self, number: u64, reply: Reply) -> Result<(), Disconnect> {
        if let Reply::Wreck(wreck) = &reply {
            self.with.env.events.frame_error(self.epoch, wreck.fault().into(), "an answer that cannot be read");
        }
        self.replied(number, reply).await
    }

    async fn replied(&self, number: u64, reply: Reply) -> Result<(), Disconnect> {
        let stray = |what: String| self.with.env.events.reply_unmatched(self.epoch, &what);
        let answers = self.exchange().reply(number, refused(&reply).map(|refused| refused.how));
        match answers {
            ReplyTo::Greeting => self.greeted(reply).await,
            ReplyTo::List { step } => self.listed(&reply, step),
            ReplyTo::Call(call, after) => return self.call_replied(call, after, reply),
            ReplyTo::Doubled(call) => {
                stray(format!("call {call} came twice; its answer is still to come"));
            }
            ReplyTo::Outcomes(question) => return self.outcomes(question, reply),
            ReplyTo::Cancel => {}
            ReplyTo::Heartbeat => self.felt(&reply),
            ReplyTo::MainThread => self.main_thread_replied(&reply),
            ReplyTo::Nothing => stray(format!("no open request has number {number}")),
        }
        Ok(())
    }

    /// Assigns a reply that names no request to the only open request, if the dialect allows that.
    fn addressed(&self, inbound: Inbound, frame: &[u8]) -> Inbound {
        let Inbound::Unmatched { .. } = inbound else { return inbound };
        let Some(number) = self.exchange().only_open() else { return inbound };
        let read = self.guarded("message", || self.target.dialect.read_unnamed(frame)).flatten();
        read.map_or(inbound, |reply| Inbound::Reply { number, reply })
    }

    /// Waits until there is room for a client's answer, if the editor must answer something. With a blocked stdout, results must
    /// not pile up here: the editor's socket waits, and the calls' deadlines continue. Nothing is read from the editor in the
    /// meantime, so this function counts as a sign of life: the editor must not count as silent.
    ///
    /// Called before reading, never between reading an answer and passing it to the ledger: otherwise an answer that was read
    /// could be lost with this task.
    pub(super) async fn room(&self) {
        if !self.exchange().owes_answers() {
            return;
        }
        loop {
            tokio::select! {
                biased;
                () = self.with.attached.room() => return,
                () = tokio::time::sleep(LIVENESS_EVERY) => self.heard(),
            }
        }
    }
}
