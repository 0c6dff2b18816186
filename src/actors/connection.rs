//! One connection to an editor: dial, check whose port it is, then read and write until it ends. A task of the bridge.
//!
//! *Owns* the socket and the link's connection permit, which falls with it. *Receives* orders from the bridge. *Sends* it news,
//! and settles replies in the ledger itself, so that an answer that was read is never lost with an actor. *Dies* when the
//! socket ends, the bridge hangs up, or the bridge's tasks are ended.

mod call;
mod greeting;
mod http;
mod journal;
mod list;
mod nameless;
mod stranger;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use ractor::ActorRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::client::Attached;
use crate::core::calls::{HeldCall, Terms};
use crate::fsm::bridge::{ConnectFailure, Drop};
use crate::limits::{
    BYTES_NEWS_EVERY, CONNECT_TIMEOUT, IDENTITY_READ_MAX, JOIN_TIMEOUT, LIVENESS_EVERY, ORDERS_MAX,
    OUTCOMES_ASKED_EVERY, OWNER_LOOKUP_MAX,
};
use crate::link::{Calls, Link, Tools};
use crate::net::BoxStream;
use crate::protocol::dialect::stranger::HEAD_BYTES;
use crate::protocol::dialect::{
    EditorEvent, EncodeError, Hello, Inbound, JournalKey, Met, Order as WireOrder, Refusal, Reply, Transport, WireId,
};
use crate::protocol::ids::{CallId, Epoch};
use crate::runtime::addresses::Addresses;
use crate::runtime::environment::Environment;
use crate::runtime::messages::bridge::{self, News};
use crate::runtime::messages::registry;
use crate::runtime::supervisor::Tasks;
use crate::survey::{self, Identity, Target};
use crate::telemetry::metrics::labels::Stray;

/// What is said of a peer whose port it may not be.
const UNPROVEN: &str = "nothing shows that it is this project's editor";

/// What the bridge wants sent.
#[derive(Debug)]
pub enum Order {
    /// The greeting.
    Greeting,
    /// The tool list, by the step-th method the dialect knows.
    List {
        /// See [`WireOrder::ListTools`].
        step: usize,
    },
    /// A call that was reserved for this connection.
    Call(HeldCall),
    /// The question what became of the calls that the editor's journal knows.
    Outcomes,
    /// Word that a call is not wanted any more, where the dialect has one.
    Cancel(JournalKey),
    /// The question how the editor is.
    Pulse,
}

/// The bridge's end of a connection. Dropping it hangs up.
#[derive(Debug)]
pub struct Connection {
    /// Its epoch.
    pub epoch: Epoch,
    orders: mpsc::Sender<Order>,
    list_owed: Arc<AtomicBool>,
    call_refused: Arc<AtomicBool>,
    _hang_up: oneshot::Sender<()>,
}

impl Connection {
    /// Gives an order. False if the connection has ended, or owes more than it may: the order is gone. A call that was ordered
    /// then must be given back to the ledger; the bridge hears of calls that wait as soon as there is room.
    pub fn order(&self, order: Order) -> bool {
        let (list, call) = (matches!(order, Order::List { .. }), matches!(order, Order::Call(_)));
        // Before the order is given: its answer takes this back.
        let owed = list && self.list_owed.swap(true, Ordering::AcqRel);
        if call {
            self.call_refused.store(true, Ordering::Release);
        }
        let given = self.orders.try_send(order).is_ok();
        if given && call {
            self.call_refused.store(false, Ordering::Release);
        } else if !given && list {
            self.list_owed.store(owed, Ordering::Release);
        }
        given
    }

    /// Whether a list was ordered and the editor's answer to it has not come.
    pub fn awaits_list(&self) -> bool {
        self.list_owed.load(Ordering::Acquire)
    }
}

/// What a connection works with.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The gateway's surroundings.
    pub env: Arc<Environment>,
    /// The actors that hear of what is read.
    pub addresses: Arc<Addresses>,
    /// The sessions on the link: a blocked stdout of the only one stops the reading.
    pub attached: Attached,
    /// The link that the connection is of.
    pub link: Arc<Link>,
    /// The editor's tools.
    pub tools: Arc<Tools>,
    /// The calls that are sent and answered on it.
    pub calls: Arc<Calls>,
}

/// Opens a connection to a target.
pub fn open(with: Surroundings, tasks: &Tasks, target: Target, bridge: ActorRef<bridge::Message>) -> Connection {
    let Surroundings { env, addresses, attached, link, tools, calls } = with;
    let epoch = link.next_epoch();
    let (orders, incoming) = mpsc::channel(ORDERS_MAX);
    let (hang_up, hung_up) = oneshot::channel();
    let (list_owed, call_refused) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let hello = Hello {
        gateway: env.gateway.clone(),
        challenge: env.fresh(),
        expected: target.expected.clone(),
        client_name: attached.name_for_editor(env.config.client_name.as_deref()),
        editor_port: target.port,
        push_endpoint: link.push_port().map(|port| format!("127.0.0.1:{port}")),
        push_token: link.push_token.clone(),
    };
    let mut line = Line {
        env,
        addresses,
        attached,
        link,
        tools,
        calls,
        epoch,
        target,
        bridge,
        orders: orders.downgrade(),
        list_owed: Arc::clone(&list_owed),
        call_refused: Arc::clone(&call_refused),
        outcomes_wanted: AtomicBool::new(false),
        unclaimed: Mutex::default(),
        awaiting: Mutex::default(),
        hello,
        said: Mutex::default(),
        sent: OnceLock::new(),
        met: OnceLock::new(),
        asked_list: AtomicBool::new(false),
        ask_again: AtomicBool::new(false),
        dialled: Mutex::new(Some(Dialled { at: Instant::now(), accepted: Instant::now() })),
    };
    tasks.spawn(async move {
        tokio::select! {
            biased;
            _ = hung_up => {}
            () = line.run(incoming) => {}
        }
    });
    Connection { epoch, orders, list_owed, call_refused, _hang_up: hang_up }
}

/// What a reply answers.
enum Awaited {
    Greeting,
    List { step: usize },
    Call { id: CallId, after: After },
    Outcomes { calls: Vec<CallId>, keys: Vec<JournalKey>, asked: Instant },
    Pulse { asked: Instant },
}

/// What a call's answer may have behind it.
#[derive(Debug, Clone, Copy)]
struct After {
    /// It is also written into a file.
    in_file: bool,
    /// A domain reload that nobody announces.
    reload: bool,
}

/// A call that is encoded, and claimed as the last step before its first byte.
#[derive(Debug)]
struct Unclaimed {
    call: CallId,
    terms: Terms,
}

struct Line {
    env: Arc<Environment>,
    addresses: Arc<Addresses>,
    attached: Attached,
    link: Arc<Link>,
    tools: Arc<Tools>,
    calls: Arc<Calls>,
    epoch: Epoch,
    target: Target,
    bridge: ActorRef<bridge::Message>,
    orders: mpsc::WeakSender<Order>,
    list_owed: Arc<AtomicBool>,
    /// A call was ordered, and there was no room for the order.
    call_refused: Arc<AtomicBool>,
    /// The question for the outcomes waits among the orders.
    outcomes_wanted: AtomicBool,
    /// Calls that wait before the carrier, where there is one.
    unclaimed: Mutex<HashMap<u64, Unclaimed>>,
    awaiting: Mutex<HashMap<u64, Awaited>>,
    /// What the editor is told first, and what it has said to it.
    hello: Hello,
    said: Mutex<Vec<Reply>>,
    /// The first bytes that the editor was sent: whoever says the same is an echo.
    sent: OnceLock<Bytes>,
    /// What the greeting told of the editor.
    met: OnceLock<Met>,
    /// Whether a list was wanted on this connection.
    asked_list: AtomicBool,
    /// The outcomes were wanted once more while a question for them was under way.
    ask_again: AtomicBool,
    /// Until it is told how the dial ended, which is told once.
    dialled: Mutex<Option<Dialled>>,
}

/// A dial whose result is not told yet.
#[derive(Debug, Clone, Copy)]
struct Dialled {
    /// When it began.
    at: Instant,
    /// When the editor accepted.
    accepted: Instant,
}

/// A panic in the connection's task is our bug like one in the bridge itself, and must not look like an idle connection.
impl std::ops::Drop for Line {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.bridge.cast(bridge::Message::ConnectionFailed(self.epoch));
        }
        if self.dial_result().is_some() {
            self.env.events.dial_unfinished(self.target.port);
        }
    }
}

impl Line {
    async fn run(&mut self, orders: mpsc::Receiver<Order>) {
        let permit = timeout(JOIN_TIMEOUT, Arc::clone(&self.link.connection).acquire_owned()).await;
        let Ok(Ok(_permit)) = permit else { return self.failed(ConnectFailure::PermitHeld, "") };
        let stream = match timeout(CONNECT_TIMEOUT, self.env.net.connect(self.target.port)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                self.nobody_is_there();
                let starved = crate::platform::host::is_lack_of_descriptors(&error);
                let failure = if starved { ConnectFailure::NoDescriptors } else { ConnectFailure::Refused };
                return self.failed(failure, &error.to_string());
            }
            Err(_) => return self.failed(ConnectFailure::TimedOut, ""),
        };
        if let Some(dialled) = self.dialled().as_mut() {
            dialled.accepted = Instant::now();
        }
        let identity = match self.check_owner().await {
            Ok(identity) => identity,
            // Whose port it is cannot be read without a descriptor.
            Err(_) if self.env.host.lacks_descriptors() => {
                return self.failed(ConnectFailure::NoDescriptors, "no descriptor to look up the owner of the port");
            }
            Err((failure, detail)) => {
                if failure.is_somebody_else() {
                    self.name_the_wrong(Some(UNPROVEN.to_owned())).await;
                } else {
                    self.nobody_is_there();
                }
                return self.failed(failure, detail);
            }
        };
        if let Err(failure) = self.read_identity().await {
            return self.failed(failure, "the project's files name another editor");
        }
        self.calls.ledger(|ledger, _| ledger.open_epoch_of(self.epoch, self.target.project.clone()));
        self.tell(News::Connected(identity));
        let drop = match self.target.dialect.properties().transport {
            Transport::Stream => self.converse(stream, orders).await,
            Transport::Http => self.converse_over_http(stream, orders).await,
        };
        self.tell(News::Ended(drop));
    }

    /// Whose port it is, asked once a connection to it stands. An editor that reloads closes its connections first, so that whoever
    /// dials again at once meets a listener that is gone at the look: that is nobody, not somebody else.
    async fn check_owner(&self) -> Result<Identity, (ConnectFailure, &'static str)> {
        if let Some(identity) = self.look_up_owner().await? {
            return Ok(identity);
        }
        if !matches!(timeout(CONNECT_TIMEOUT, self.env.net.connect(self.target.port)).await, Ok(Ok(_))) {
            return Err((ConnectFailure::Refused, "nobody listens any more"));
        }
        // It may have begun to listen since the first look.
        self.look_up_owner().await?.ok_or((ConnectFailure::Unproven, "the system does not tell whose the port is"))
    }

    /// `None` where nobody is seen to listen.
    async fn look_up_owner(&self) -> Result<Option<Identity>, (ConnectFailure, &'static str)> {
        let (host, target) = (Arc::clone(&self.env.host), self.target.clone());
        let looked_up = crate::platform::host::run(&*self.env.host, move || survey::check_owner(&*host, &target));
        match timeout(OWNER_LOOKUP_MAX, looked_up).await {
            Ok(Some(looked_up)) => looked_up.map_err(|failure| (failure, "")),
            // It says nothing of who listens.
            Ok(None) | Err(_) => Err((ConnectFailure::TimedOut, "the owner of the port could not be looked up")),
        }
    }

    /// Read once the connection stands: the files are those of the editor that was met. What the survey read holds where they cannot
    /// be read in time; while such a reading hangs, no other begins.
    async fn read_identity(&mut self) -> Result<(), ConnectFailure> {
        let Ok(permit) = Arc::clone(&self.link.identity_read).try_acquire_owned() else { return Ok(()) };
        let (host, target) = (Arc::clone(&self.env.host), self.target.clone());
        let read = crate::platform::host::run(&*self.env.host, move || {
            let _permit = permit;
            survey::expected_now(&*host, &target)
        });
        if let Ok(Some(expected)) = timeout(IDENTITY_READ_MAX, read).await {
            self.target.expected = expected?;
            self.hello.expected.clone_from(&self.target.expected);
        }
        Ok(())
    }

    async fn converse(&self, stream: BoxStream, orders: mpsc::Receiver<Order>) -> Drop {
        let (read, write) = tokio::io::split(stream);
        tokio::select! {
            biased;
            drop = self.read(read) => drop,
            drop = self.write(write, orders) => drop,
            never = self.name_the_silent() => match never {},
        }
    }

    fn tell(&self, news: News) {
        let _ = self.bridge.cast(bridge::Message::News(self.epoch, news, None));
    }

    /// For what the editor can say at any time: taken no faster than the bridge handles it.
    async fn tell_unasked(&self, news: News) {
        let permit = self.addresses.edges.bridge.permit(0).await;
        let _ = self.bridge.cast(bridge::Message::News(self.epoch, news, permit));
    }

    fn failed(&self, failure: ConnectFailure, detail: &str) {
        if self.dial_result().is_some() {
            self.env.events.dial_failed(self.target.port, failure, detail);
        }
        self.tell(News::ConnectFailed(failure));
    }

    fn dialled(&self) -> std::sync::MutexGuard<'_, Option<Dialled>> {
        self.dialled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to tell how the dial ended; `None` once it was told.
    fn dial_result(&self) -> Option<Dialled> {
        self.dialled().take()
    }

    fn unclaimed(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Unclaimed>> {
        self.unclaimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awaiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Awaited>> {
        self.awaiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- writing ----

    async fn write(&self, mut socket: WriteHalf<BoxStream>, mut orders: mpsc::Receiver<Order>) -> Drop {
        let mut asked = Instant::now();
        loop {
            // The bridge holds the sender as long as it wants the connection; hanging up ends this task from outside.
            let order = tokio::select! {
                biased;
                // Before the orders: where they never cease it would never be due.
                () = tokio::time::sleep_until(asked + OUTCOMES_ASKED_EVERY) => Some(Order::Outcomes),
                order = orders.recv() => order,
            };
            let Some(order) = order else { return std::future::pending().await };
            if matches!(order, Order::Outcomes) {
                asked = Instant::now();
                self.outcomes_wanted.store(false, Ordering::Release);
            }
            if self.call_refused.swap(false, Ordering::AcqRel) {
                let _ = self.bridge.cast(bridge::Message::CallsWaiting);
            }
            let sent = match order {
                Order::Greeting => self.send_greeting(&mut socket).await,
                Order::List { step } => self.send_list(&mut socket, step).await,
                Order::Call(held) => self.send_call(&mut socket, held).await,
                Order::Outcomes => self.ask_outcomes(&mut socket).await,
                Order::Cancel(key) => self.send_cancel(&mut socket, &key).await,
                Order::Pulse => self.ask_pulse(&mut socket).await,
            };
            if sent.is_err() {
                return Drop::Reset;
            }
        }
    }

    fn encode(&self, call: Option<CallId>, order: &WireOrder<'_>) -> Result<(u64, Bytes), EncodeError> {
        let number = self.link.next_wire_number();
        let frame = self.target.dialect.encode(WireId { number, call }, order)?;
        Ok((number, frame))
    }

    async fn write_frame(&self, socket: &mut WriteHalf<BoxStream>, frame: &[u8]) -> Result<(), NotWritten> {
        let sent = write_frame(socket, frame).await;
        if sent.is_ok() {
            self.env.events.frame_written(frame.len());
        }
        sent
    }

    // ---- reading ----

    async fn read(&self, mut socket: ReadHalf<BoxStream>) -> Drop {
        let mut framer = self.target.dialect.framer();
        let mut buffer = vec![0; 64 * 1024];
        let mut told = Instant::now();
        // Of one who is not known yet: what it says first tells what it is.
        let mut head = Vec::new();
        loop {
            // Here, and never between an answer's reading and its settling: what was read cannot be lost with this task.
            if self.owes_answers() {
                self.room().await;
            }
            let count = match socket.read(&mut buffer).await {
                Ok(0) => return Drop::Eof,
                Ok(count) => count,
                Err(_) => return Drop::Reset,
            };
            self.env.events.bytes_read(count);
            let bytes = buffer.get(..count).unwrap_or_default();
            framer.push(bytes);
            if self.met.get().is_none() {
                head.extend(bytes.iter().take(HEAD_BYTES.saturating_sub(head.len())));
            }
            let mut whole = false;
            loop {
                match framer.next_frame() {
                    Ok(Some(frame)) => {
                        whole = true;
                        self.env.events.frame_read();
                        if let Err(drop) = self.take(frame).await {
                            self.mind_the_stranger(&head).await;
                            return drop;
                        }
                    }
                    Ok(None) => break,
                    Err(bad) => {
                        let drop = self.bad_bytes((&bad).into(), &bad.to_string());
                        self.mind_the_stranger(&head).await;
                        return drop;
                    }
                }
            }
            if !whole && told.elapsed() >= BYTES_NEWS_EVERY {
                told = Instant::now();
                self.tell_unasked(News::BytesArrived).await;
            }
        }
    }

    fn bad_bytes(&self, fault: &'static str, why: &str) -> Drop {
        self.env.events.frame_error(self.epoch, fault, why);
        let greeting = self.awaiting().values().any(|awaited| matches!(awaited, Awaited::Greeting));
        if greeting && self.dial_result().is_some() {
            self.env.events.wrong_peer(self.target.port, why);
        }
        Drop::Protocol
    }

    async fn take(&self, frame: Bytes) -> Result<(), Drop> {
        let inbound =
            self.target.dialect.decode(&frame).map_err(|bad| self.bad_bytes((&bad).into(), &bad.to_string()))?;
        let inbound = self.named(inbound, &frame);
        // It may have megabytes, and rendering the answer takes as much again.
        drop(frame);
        match inbound {
            Inbound::Reply { number, reply } => {
                let awaited = self.awaiting().remove(&number);
                match awaited {
                    Some(Awaited::Greeting) => self.greeted(reply).await,
                    Some(Awaited::Outcomes { calls, keys, .. }) => {
                        self.outcomes(&calls, &keys, reply);
                        if self.ask_again.swap(false, Ordering::Relaxed) {
                            self.want_outcomes();
                        }
                    }
                    Some(Awaited::Pulse { asked }) => self.felt(&reply, asked),
                    Some(Awaited::List { step }) => self.listed(&reply, step),
                    Some(Awaited::Call { id, after }) if is_of_a_double(&reply) => {
                        self.awaiting().insert(number, Awaited::Call { id, after });
                        let what = format!("call {id} came twice; its answer is still to come");
                        self.env.events.reply_unmatched(self.epoch, Stray::Late, &what);
                    }
                    Some(Awaited::Call { id, after }) => return self.answered(id, after, reply).await,
                    None => self.env.events.reply_unmatched(
                        self.epoch,
                        Stray::UnknownId,
                        &format!("no open request has number {number}"),
                    ),
                }
            }
            Inbound::Unmatched { what } => self.env.events.reply_unmatched(self.epoch, Stray::NoId, &what),
            Inbound::Event(EditorEvent::ToolsChanged) => {
                let permit = self.addresses.edges.bridge.permit(0).await;
                self.addresses.registry.cast(registry::Message::ChangeHinted(permit));
            }
            Inbound::Event(EditorEvent::Leaving(reason)) => self.tell_unasked(News::Leaving(reason)).await,
            Inbound::Event(EditorEvent::State(state)) => {
                self.link.view.send_if_modified(|link| {
                    let Some((pulse, _)) = &mut link.pulse else { return false };
                    std::mem::replace(&mut pulse.state, state) != state
                });
            }
            Inbound::Event(EditorEvent::Settled) => self.want_outcomes(),
            Inbound::Progress(progress) => self.calls.decide(|ledger, now| ledger.progressed(progress, now)),
        }
        Ok(())
    }

    /// What comes next may be for the client.
    fn owes_answers(&self) -> bool {
        self.awaiting().values().any(|awaited| matches!(awaited, Awaited::Call { .. } | Awaited::Outcomes { .. }))
    }

    /// A blocked stdout must not pile up results here: the editor's socket waits, the calls' deadlines run on. What the editor
    /// says meanwhile is not read, so the silence is ours.
    async fn room(&self) {
        loop {
            tokio::select! {
                biased;
                () = self.attached.room() => return,
                () = tokio::time::sleep(LIVENESS_EVERY) => self.tell(News::BytesArrived),
            }
        }
    }
}

/// Whether the editor only says that it has this sending already.
fn is_of_a_double(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if error.refusal == Some(Refusal::Double))
}

/// A frame that was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotWritten {
    /// Proof that not a byte of it left.
    NoByte,
    /// Some of it may have.
    Torn,
}

async fn write_frame(socket: &mut WriteHalf<BoxStream>, frame: &[u8]) -> Result<(), NotWritten> {
    let mut rest = frame;
    while !rest.is_empty() {
        match socket.write(rest).await {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            Ok(_) | Err(_) if rest.len() == frame.len() => return Err(NotWritten::NoByte),
            Ok(_) | Err(_) => return Err(NotWritten::Torn),
        }
    }
    socket.flush().await.map_err(|_| NotWritten::Torn)
}
