//! What is asked on connections of their own, beside the requests that are sent one after another: a question to the editor's main
//! thread, and the question for the heartbeat while a call has not been answered. An editor that serves one connection is asked on that.
//!
//! A question to the main thread is never abandoned while the connection lives: the editor would keep it, and what comes after it
//! would wait behind it.

use std::convert::Infallible;

use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep};

use super::requests::{READ_BYTES, UNAUTHORIZED};
use super::writing::Wire;
use super::{ConnectionTask, write_whole};
use crate::core::exchange::{Beside, Exchange};
use crate::core::link::Fact;
use crate::fsm::bridge::Disconnect;
use crate::fsm::cause::Cause;
use crate::limits::{FRAME_OLD, LIVENESS_EVERY, MAIN_THREAD_ASKED_AGAIN};
use crate::protocol::dialect::{Encoded, Inbound, Order, Reply, Secret};

impl ConnectionTask {
    /// Asks what may be asked, again and again, if the dialect has a question to the main thread.
    pub(super) async fn ask_beside(&self) -> Infallible {
        if !self.target.dialect.has_main_thread_question() {
            return std::future::pending().await;
        }
        let mut token = self.target.endpoint.token().cloned();
        loop {
            sleep(LIVENESS_EVERY).await;
            if self.target.dialect.asks_main_thread_here() {
                if self.decide(Exchange::asks_here) {
                    self.shared.wake();
                }
                self.infer_main_thread();
                continue;
            }
            match self.decide(Exchange::asks_beside) {
                // What was said during a call that has ended is no news any more.
                Beside::Nothing if !self.target.dialect.properties().heartbeat && !self.exchange().owes_answers() => {
                    self.infer_main_thread();
                }
                Beside::Nothing => {}
                Beside::Heartbeat => self.ask_heartbeat_beside(&mut token).await,
                Beside::MainThread => self.ask_main_thread(&mut token).await,
            }
        }
    }

    /// Asks the main thread until it has answered.
    async fn ask_main_thread(&self, token: &mut Option<Secret>) {
        loop {
            let began = Instant::now();
            let number = self.with.contact.next_wire_number();
            let id = self.wire_id(number, None);
            let question = self.guarded("question", || self.target.dialect.main_thread_question(id)).flatten();
            let reply = match question {
                Some(question) => {
                    let asked = self.before_calls(Cause::Stalled, self.ask_once(number, &question, token));
                    tokio::select! {
                        reply = asked => reply,
                        never = self.tell_of_silence() => match never {},
                    }
                }
                None => None,
            };
            // The editor's own server waits for its main thread for a minute, and then gives up.
            let is_still =
                began.elapsed() >= FRAME_OLD && reply.as_ref().is_some_and(|reply| self.target.dialect.gives_up(reply));
            if is_still {
                sleep(MAIN_THREAD_ASKED_AGAIN).await;
                continue;
            }
            let read = |reply: &Reply| self.guarded("heartbeat", || self.target.dialect.read_main_thread(reply));
            let told = reply.as_ref().and_then(read).flatten();
            self.decide(|exchange, ledger, now| exchange.main_thread_answered(told, ledger, now));
            self.infer_main_thread();
            return self.shared.wake();
        }
    }

    /// Asks the main thread on this connection.
    pub(super) async fn ask_main_thread_here(&self, wire: &mut Wire) -> Result<(), Disconnect> {
        let number = self.with.contact.next_wire_number();
        let id = self.wire_id(number, None);
        match self.guarded("question", || self.target.dialect.main_thread_question(id)).flatten() {
            Some(question) => {
                self.exchange().asks_main_thread(number);
                wire.send(self, number, question, None).await
            }
            None => Ok(()),
        }
    }

    /// Handles the answer to the question to the main thread that was asked on this connection.
    pub(super) fn main_thread_replied(&self, reply: &Reply) {
        let is_still = self.exchange().main_thread_asked().is_some_and(|asked| asked.elapsed() >= FRAME_OLD);
        if is_still && self.target.dialect.gives_up(reply) {
            return;
        }
        let told = self.guarded("heartbeat", || self.target.dialect.read_main_thread(reply)).flatten();
        self.decide(|exchange, ledger, now| exchange.answered_here(told, ledger, now));
        self.infer_main_thread();
        self.shared.wake();
    }

    /// Tells how long the question to the main thread is open. Where the editor is asked for its heartbeat too, that tells it.
    async fn tell_of_silence(&self) -> Infallible {
        loop {
            sleep(LIVENESS_EVERY).await;
            if !self.target.dialect.properties().heartbeat {
                self.infer_main_thread();
            }
        }
    }

    async fn ask_heartbeat_beside(&self, token: &mut Option<Secret>) {
        let Ok((number, question)) = self.encode(None, &Order::Heartbeat) else { return };
        self.exchange().asks_heartbeat(number);
        match self.ask_once(number, &question, token).await {
            Some(reply) => drop(self.reply_came(number, reply).await),
            None => self.exchange().not_asked(number),
        }
    }

    /// Asks once. `None` if the question is lost; that the editor is gone is found out elsewhere.
    async fn ask_once(&self, number: u64, question: &Encoded, token: &mut Option<Secret>) -> Option<Reply> {
        let question = match question {
            Encoded::Request(question) => question,
            Encoded::Frame(frame) => return self.ask_on_a_stream(number, frame).await,
        };
        let bytes = question.encode(self.target.endpoint.port(), token.as_ref().map(Secret::reveal));
        let stream = self.connect_anew().await.ok()?;
        let response = self.exchange_over(stream, &bytes, None).await.ok()?;
        if response.status == UNAUTHORIZED {
            *token = self.token_now().await.or_else(|| token.take());
            return None;
        }
        let id = self.wire_id(number, None);
        self.guarded("message", || self.target.dialect.read_response(id, question, response))
    }

    /// Asks on a stream of its own, whose only answers are to this question.
    async fn ask_on_a_stream(&self, number: u64, question: &[u8]) -> Option<Reply> {
        let mut stream = self.connect_anew().await.ok()?;
        write_whole(&mut stream, question).await.ok()?;
        let mut framer = self.target.dialect.framer();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
            framer.push(buffer.get(..count).unwrap_or_default());
            while let Some(frame) = framer.next_frame().ok()? {
                match self.guarded("message", || self.target.dialect.decode(&frame))?.ok()? {
                    Inbound::Reply { number: answered, reply } if answered == number => return Some(reply),
                    _ => {}
                }
            }
        }
    }

    /// Keeps what can be inferred of the main thread, for the status and the texts about calls.
    pub(super) fn infer_main_thread(&self) {
        if !self.target.dialect.has_main_thread_question() {
            return;
        }
        let inferred = self.decide(|exchange, ledger, now| {
            let inferred = exchange.main_thread(ledger, now);
            ledger.felt(self.epoch, inferred, now);
            inferred
        });
        if let Some(inferred) = inferred.filter(|inferred| inferred.running == 0) {
            self.with.env.events.heartbeat_felt(inferred.frame_age);
        }
        self.with.contact.view.tell(Fact::Felt(inferred));
    }
}
