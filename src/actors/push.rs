//! The push actor: the shell around [`fsm::push`](crate::fsm::push). The editor connects to it and reports its own events.
//!
//! *Owns* the tasks of the sockets; the link keeps the listener, so that the port outlives a crash of this actor. *Receives* what
//! its tasks read. *Sends* hints to the bridge, and news of missed messages to the registry and discovery. *Dies* only of our own
//! bugs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use crate::fsm::Driver;
use crate::fsm::push::{Effect, Event, Push, Timer};
use crate::limits::{ACCEPT_PAUSE, PUSH_CONNECTIONS_MAX, PUSH_LINE_MAX_BYTES, PUSH_MESSAGES_PER_SECOND_MAX};
use crate::link::Link;
use crate::net::BoxStream;
use crate::protocol::framing::lines::{Line, LineDecoder};
use crate::runtime::messages::push::Message;
use crate::runtime::messages::{bridge, discovery, registry};
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;

#[derive(Clone)]
pub struct PushActor {
    pub of: Arc<Link>,
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Push>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    second: (Instant, u32),
}

impl Actor for PushActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        let (driver, _) = Driver::start(Push::default());
        self.of.env.events.machine_started(driver.machine(), driver.state());
        let timers = Timers::new(me.clone(), Message::Timer);
        Ok(State { driver, timers, me, second: (Instant::now(), 0) })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        if self.of.env.config.is_pushed() {
            self.feed(state, &Event::Wanted);
        }
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Bound(Ok(listener)) => {
                let port = listener.local_addr().port();
                self.of.contact.keep_push_listener(Some(listener));
                self.accept(state.me.clone());
                self.feed(state, &Event::Bound { port });
            }
            Message::Bound(Err(error)) => {
                self.of.env.events.push_not_bound(&error.to_string());
                self.feed(state, &Event::BindFailed);
            }
            Message::Hint(hint, _permit) => {
                if within_rate(state) {
                    self.feed(state, &Event::HintReceived(hint));
                } else {
                    self.of.env.events.push_ignored("more messages than are taken per second");
                }
            }
            Message::Missed(count, _permit) => {
                self.of.env.events.push_missed(count);
                // The missed message may have been about the tools, or about a reload after which the editor uses another port.
                if within_rate(state) {
                    self.of.addresses.registry.cast(registry::Message::ChangeHinted(None));
                    self.of.addresses.discovery.cast(discovery::Message::Told(discovery::Event::Wanted));
                }
            }
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    self.feed(state, &Event::Elapsed(timer));
                }
            }
        }
        Ok(())
    }
}

fn within_rate(state: &mut State) -> bool {
    let (began, count) = &mut state.second;
    if began.elapsed() >= Duration::from_secs(1) {
        (*began, *count) = (Instant::now(), 0);
    }
    *count = count.saturating_add(1);
    *count <= PUSH_MESSAGES_PER_SECOND_MAX
}

impl PushActor {
    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.of.env.events.stepped(&out, before, event);
        for effect in out.effects {
            match effect {
                Effect::Bind => self.bind(state),
                Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
                Effect::PublishEndpoint(port) => self.of.contact.set_push_port(port),
                Effect::PassHint(hint) => {
                    self.of.addresses.bridge.cast(bridge::Message::Told(bridge::Event::HintReceived(hint)));
                }
                Effect::CountUnknown => self.of.env.events.push_ignored("a type that is not known"),
            }
        }
    }

    /// Binds a free port, or takes over a predecessor's listener.
    fn bind(&self, state: &State) {
        let (env, contact, me) = (Arc::clone(&self.of.env), Arc::clone(&self.of.contact), state.me.clone());
        self.tasks.spawn(async move {
            let bound = match contact.push_listener() {
                Some(listener) => Ok(listener),
                None => env.net.bind(0).await,
            };
            let _ = me.cast(Message::Bound(bound));
        });
    }

    fn accept(&self, me: ActorRef<Message>) {
        let Some(listener) = self.of.contact.push_listener() else { return };
        let (actor, tasks) = (self.clone(), self.tasks.clone());
        let sockets = Arc::new(AtomicUsize::new(0));
        // One counter for all sockets: an editor's sequence numbers continue over all its connections.
        let last = Arc::new(AtomicU64::new(0));
        self.tasks.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    // Most likely no descriptor is free. Without a pause this loop would spin.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                if sockets.fetch_add(1, Ordering::Relaxed) >= PUSH_CONNECTIONS_MAX {
                    sockets.fetch_sub(1, Ordering::Relaxed);
                    actor.of.env.events.push_ignored("more sockets than are taken");
                    continue;
                }
                let (actor, me, sockets) = (actor.clone(), me.clone(), Arc::clone(&sockets));
                let last = Arc::clone(&last);
                tasks.spawn(async move {
                    actor.read(socket, &me, &last).await;
                    sockets.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
    }
}

/// Returns how many messages are missing between the sequence numbers `last` and `now`. `last` is 0 before the first
/// message, and then nothing counts as missing. An editor that was restarted begins with 1.
fn missing(last: u64, now: u64) -> u64 {
    match now.checked_sub(last) {
        _ if last == 0 || now <= 1 => 0,
        Some(step) => step.saturating_sub(1),
        // The number is lower, so it comes from another editor process, whose first messages did not arrive.
        None => now - 1,
    }
}

impl PushActor {
    /// Reads one socket to its end.
    async fn read(&self, mut socket: BoxStream, me: &ActorRef<Message>, last: &AtomicU64) {
        let mut decoder = LineDecoder::new(PUSH_LINE_MAX_BYTES);
        let mut buffer = vec![0; 4096];
        while let Ok(count @ 1..) = socket.read(&mut buffer).await {
            decoder.push(buffer.get(..count).unwrap_or_default());
            while let Some(line) = decoder.next_line() {
                let decoded = match &line {
                    Line::Whole(bytes) => self
                        .of
                        .contact
                        .dialect()
                        .decode_push(bytes, &self.of.contact.push_token)
                        .map_err(|bad| bad.to_string()),
                    Line::TooLong { bytes, .. } => Err(format!("a line of {bytes} bytes")),
                };
                match decoded {
                    Ok(hint) => {
                        let sequence = match &line {
                            Line::Whole(bytes) => self.of.contact.dialect().push_sequence(bytes),
                            Line::TooLong { .. } => None,
                        };
                        let missed = sequence.map_or(0, |now| missing(last.swap(now, Ordering::Relaxed), now));
                        if missed > 0 {
                            let permit = self.of.addresses.mailboxes.push.permit(0).await;
                            let _ = me.cast(Message::Missed(missed, permit));
                        }
                        let permit = self.of.addresses.mailboxes.push.permit(0).await;
                        let _ = me.cast(Message::Hint(hint, permit));
                    }
                    Err(why) => self.of.env.events.push_ignored(&why),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_numbers_is_what_is_missing_and_a_beginning_is_none() {
        for (last, now, lost) in
            [(0, 7, 0), (7, 8, 0), (7, 9, 1), (7, 20, 12), (7, 7, 0), (7, 1, 0), (7, 3, 2), (9, 0, 0)]
        {
            assert_eq!(missing(last, now), lost, "{now} after {last}");
        }
        assert_eq!(missing(1, u64::MAX), u64::MAX - 2);
    }
}
