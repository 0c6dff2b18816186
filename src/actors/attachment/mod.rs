//! The attachment actor: the shell around [`fsm::attachment`](crate::fsm::attachment). It keeps a session attached to a hub.
//!
//! *Owns* the connection to the hub. The [`HubPort`](crate::link::HubPort) outlives this actor and keeps what the
//! session said to the hub. *Receives* how the connection goes on. *Sends* the hub's answers to the outbox, and its
//! news of links to these links. *Dies* only of our own bugs: its successor connects again.

mod connection;
mod seat;

pub use self::seat::HubSeat;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{Notify, mpsc, watch};

use crate::core::user_text;
use crate::fsm::Driver;
use crate::fsm::attachment::{self, Attachment, Effect, Event, Timer};
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::platform::background;
use crate::platform::local_socket::Peer;
use crate::protocol::hub;
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::mcp::ToolResult;
use crate::runtime::enter;
use crate::runtime::messages::attachment::{Message, NoAttachment};
use crate::runtime::outbox::SERVER;
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::storage::hub_folder::HubLock;

/// The id of the question whether a hub is alive.
const QUESTION: &str = "holdfast-alive";

pub struct AttachmentActor {
    pub seat: Arc<HubSeat>,
    pub tasks: Tasks,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    driver: Driver<Attachment>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    /// The number of the last connection.
    nth: u64,
    /// Takes lines for the hub; `None` while there is no connection.
    lines: Option<(mpsc::Sender<String>, Arc<Notify>)>,
    /// Whether the hub speaks the port. A hub that does not is only asked to end.
    speaks_port: bool,
    /// The process at the other end of the last connection.
    peer: Option<Peer>,
    /// Whether the hub has sent something since the last look.
    heard: Arc<AtomicBool>,
    /// Dropping this sender ends the connection.
    open: Option<watch::Sender<()>>,
    /// The lock that is held while this process starts a hub. It is held also while an older hub makes way. Otherwise a
    /// session of an older version could be the first to start the successor, and would start an older hub again.
    start_lock: Option<std::fs::File>,
    /// The pid of the hub that this process starts.
    starting: Option<u32>,
    /// Whether it was logged that no hub can be started.
    said_not_started: bool,
}

impl Actor for AttachmentActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        let served = self.seat.served.load(Ordering::Relaxed);
        let (driver, _) = Driver::start(Attachment { served, ..Attachment::new(self.seat.starts) });
        self.seat.env.events.machine_started(driver.machine(), driver.state());
        let timers = Timers::new(me.clone(), Message::Timer);
        let heard = Arc::default();
        Ok(State {
            driver,
            timers,
            me,
            nth: 0,
            lines: None,
            speaks_port: false,
            peer: None,
            heard,
            open: None,
            start_lock: None,
            starting: None,
            said_not_started: false,
        })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        // This is the effect of the machine's first state.
        self.carry_out(state, Effect::Dial);
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        self.received(state, message);
        Ok(())
    }
}

impl AttachmentActor {
    fn received(&self, state: &mut State, message: Message) {
        match message {
            Message::Welcomed { nth, welcome, peer, lines, overrun } if nth == state.nth => {
                let speaks_port = welcome.protocol >= hub::PORT;
                if self.seat.is_command && !speaks_port {
                    // A command makes one call, and ends before another hub serves.
                    state.open = None;
                    return self.feed(state, &Event::Refused { ending: false });
                }
                let older = !speaks_port || hub::is_newer(SERVER.version, &welcome.build) && !self.seat.is_command;
                self.seat.env.events.hub_attached(&welcome.build, welcome.pid, &welcome.hub);
                self.seat.served.store(true, Ordering::Relaxed);
                if speaks_port {
                    *enter(&self.seat.records) = Some(welcome.records);
                }
                (state.lines, state.peer, state.speaks_port) = (Some((lines, overrun)), peer, speaks_port);
                (state.start_lock, state.starting) = (None, None);
                self.feed(state, &Event::Welcomed { older });
            }
            Message::Failed { nth, why } if nth == state.nth => {
                state.open = None;
                let event = match why {
                    NoAttachment::NoHub => Event::NoHub,
                    NoAttachment::Refused(refusal) => {
                        self.seat.env.events.hub_refused(&refusal.says);
                        Event::Refused { ending: refusal.reason == hub::Reason::Ending }
                    }
                    NoAttachment::Unusable(says) => {
                        self.seat.env.events.hub_refused(&says);
                        Event::Refused { ending: false }
                    }
                    NoAttachment::Unanswered(peer) => {
                        state.peer = peer;
                        Event::Unanswered
                    }
                };
                self.feed(state, &event);
            }
            Message::Closed { nth } if nth == state.nth => {
                state.lines = None;
                self.let_go(state);
                self.seat.env.events.hub_lost();
                self.feed(state, &Event::Closed);
            }
            // These are of an earlier connection.
            Message::Welcomed { .. } | Message::Failed { .. } | Message::Closed { .. } => {}
            // A hub that served this session before it ended is replaced like any other.
            Message::StartedEnded { pid, well } if state.starting == Some(pid) => {
                // Another session may start a hub now.
                (state.start_lock, state.starting) = (None, None);
                if !well {
                    let log = self.seat.folder.log();
                    self.not_started(state, &format!("it ended at once; {} says why", log.display()));
                    self.search_over(state);
                }
            }
            Message::StartedEnded { .. } => {}
            Message::NotStarted => self.search_over(state),
            Message::InputEnded => {
                self.seat.input_ended.store(true, Ordering::Relaxed);
                if state.speaks_port {
                    self.seat.port.input_ended();
                }
            }
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    let event = match timer {
                        Timer::Redial => Event::RedialDue,
                        Timer::Successor => Event::SearchOver,
                        Timer::Look => {
                            self.answer_overdue();
                            let owed = self.seat.port.is_owed();
                            let heard = state.heard.swap(false, Ordering::Relaxed);
                            // While the client does not read, this session does not read the hub either.
                            let reads = !self.seat.client.outbox.is_blocked();
                            Event::Looked { silent: owed && !heard && reads }
                        }
                    };
                    self.feed(state, &event);
                }
            }
        }
    }

    /// Ends the search, because no hub can be started. A hub that serves the session meanwhile is used.
    fn search_over(&self, state: &mut State) {
        if matches!(state.driver.state(), attachment::State::Dialing | attachment::State::Waiting) {
            self.feed(state, &Event::SearchOver);
        }
    }

    /// Answers the calls whose client waits no longer and that a hub gave back because it makes way.
    fn answer_overdue(&self) {
        for said in self.seat.port.take_overdue() {
            let verdict = Verdict::NotExecuted(Cause::ShuttingDown);
            self.seat.answer_here(&said, verdict, ToolResult::error(user_text::hub_makes_way(&said.call.tool)));
        }
    }

    /// Lets the connection go: until another hub serves, calls are held.
    fn let_go(&self, state: &State) {
        self.seat.port.detach();
        if state.driver.state() != attachment::State::Embedded {
            self.seat.links.hub_is_away();
            self.seat.env.health.set_problem("hub", Some(user_text::HUB_SOUGHT.to_owned()));
        }
    }

    /// Sends a line that is no message of the port.
    fn send(state: &State, line: String) {
        if let Some((lines, _)) = &state.lines {
            // A hub that does not read so much is hung. The machine notices that by itself.
            let _ = lines.try_send(line);
        }
    }

    fn feed(&self, state: &mut State, event: &Event) {
        let before = state.driver.state();
        let out = state.driver.feed(event);
        self.seat.env.events.stepped(&out, before, event);
        for effect in out.effects {
            self.carry_out(state, effect);
        }
    }

    fn carry_out(&self, state: &mut State, effect: Effect) {
        match effect {
            Effect::Dial => {
                state.nth += 1;
                let (open, closing) = watch::channel(());
                state.open = Some(open);
                let (seat, me, heard) = (Arc::clone(&self.seat), state.me.clone(), Arc::clone(&state.heard));
                self.tasks.spawn(connection::run(seat, me, state.nth, heard, closing));
            }
            Effect::StartHub => self.start_hub(state),
            Effect::Resume => {
                let Some(lines) = state.lines.clone().filter(|_| state.speaks_port) else { return };
                self.seat.port.attach(lines, || self.seat.links.wanted());
                self.seat.env.health.set_problem("hub", None);
                if self.seat.input_ended.load(Ordering::Relaxed) {
                    self.seat.port.input_ended();
                }
            }
            Effect::AskToRetire => {
                // If another session has the lock, that session starts the successor.
                state.start_lock = self.seat.folder.begin_start().ok().flatten();
                Self::send(state, jsonrpc::notification(hub::RETIRE, None));
            }
            Effect::Ask => {
                Self::send(state, jsonrpc::request(&RequestId::from_text(QUESTION), "ping", None));
            }
            Effect::EndHub => {
                let ended = state.peer.take().filter(Peer::kill);
                self.seat.env.events.hub_hung(ended.map(|peer| peer.pid));
            }
            Effect::Close => {
                (state.open, state.lines) = (None, None);
                self.let_go(state);
            }
            Effect::Embed => {
                let says = match self.seat.folder.hub_lock() {
                    HubLock::Free => "no hub runs".to_owned(),
                    HubLock::Held => "a hub holds the lock, and this session cannot reach or use it".to_owned(),
                    HubLock::Unknown(error) => format!("whether a hub runs cannot be found out: {error}"),
                };
                self.seat.env.events.hub_forgone(&says);
                self.seat.env.health.set_problem("hub", None);
                self.seat.embeds.send_replace(true);
            }
            Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
            Effect::Disarm(timer) => state.timers.disarm(timer),
        }
    }

    fn start_hub(&self, state: &mut State) {
        let Some(program) = &self.seat.command else { return };
        // A hub that holds the lock is starting or ending, or binds its socket again.
        if state.starting.is_some() || matches!(self.seat.folder.hub_lock(), HubLock::Held) {
            return;
        }
        let lock = state.start_lock.take().map_or_else(|| self.seat.folder.begin_start(), |lock| Ok(Some(lock)));
        match lock {
            Ok(Some(lock)) => match background::start(program, &self.seat.folder.log()) {
                Ok(mut child) => {
                    let (pid, me) = (child.id().unwrap_or_default(), state.me.clone());
                    self.seat.env.events.hub_started_by_session(pid);
                    (state.start_lock, state.starting) = (Some(lock), Some(pid));
                    self.tasks.spawn(async move {
                        let well = child.wait().await.is_ok_and(|status| status.success());
                        let _ = me.cast(Message::StartedEnded { pid, well });
                    });
                }
                Err(error) => self.cannot_start(state, &error),
            },
            // Another session starts the hub.
            Ok(None) => {}
            Err(error) => self.cannot_start(state, &error),
        }
    }

    fn cannot_start(&self, state: &mut State, error: &std::io::Error) {
        self.not_started(state, &error.to_string());
        // The actor sends this to itself, so that the effects of this step come first.
        let _ = state.me.cast(Message::NotStarted);
    }

    /// Logs why no hub was started. This is logged once, since each attempt fails for the same reason.
    fn not_started(&self, state: &mut State, why: &str) {
        if !std::mem::replace(&mut state.said_not_started, true) {
            self.seat.env.events.hub_not_started(why);
        }
    }
}
