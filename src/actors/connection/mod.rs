//! One connection to an editor: dials, checks who owns the port, then reads and writes until it ends. A task of the bridge.
//!
//! *Owns* the socket, and the link's connection permit, which is released with the socket. *Receives* orders from the bridge.
//! *Sends* events to the bridge. Applies replies to the ledger itself, so that an answer that was read is never lost with an
//! actor. *Dies* when the socket ends, the bridge hangs up, or the bridge's tasks are ended.
//!
//! This code only carries bytes and waits. The [`Exchange`] decides what may be written and what a reply means for the calls.

mod beside;
mod call;
mod carrier;
mod foreign_peer;
mod greeting;
mod journal;
mod list;
mod reading;
mod reload_signs;
mod requests;
mod writing;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use bytes::Bytes;
use ractor::ActorRef;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};

use crate::client::Attached;
use crate::core::calls::{Ledger, Terms};
use crate::core::exchange::{After, Exchange, Settled};
use crate::fsm::bridge::{ConnectFailure, Event};
use crate::fsm::retry;
use crate::limits::{
    CONNECT_AGAIN_AFTER, CONNECT_TIMEOUT, HEARTBEAT_MAX, IDENTITY_READ_MAX, JOIN_TIMEOUT, PATIENT_DIAL_TOLD_EVERY,
    STALL_AFTER,
};
use crate::link::{Calls, Contact, Recording, SharedExchange, Tools};
use crate::net::BoxStream;
use crate::protocol::dialect::{Hello, Reply};
use crate::protocol::ids::{CallId, Epoch};
use crate::runtime::arrivals::Awaited;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{Addresses, bridge};
use crate::runtime::supervisor::Tasks;
use crate::survey::{self, Identity, Target};

/// The description shown for a peer that may not be our editor.
const UNPROVEN: &str = "nothing shows that it is this project's editor";

/// Why an editor was not reached, and details for the log.
type Failure = (ConnectFailure, String);

/// The bridge's end of a connection. Dropping it hangs up.
#[derive(Debug)]
pub struct Connection {
    /// What may be written on the connection, and what is owed.
    pub shared: Arc<SharedExchange>,
    /// Ends a patient dial that was only refused so far.
    pub hurry: Arc<Notify>,
    _hang_up: oneshot::Sender<()>,
}

/// What a connection works with.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub env: Arc<Environment>,
    /// The actors that get messages about what is read.
    pub addresses: Arc<Addresses>,
    /// The sessions on the link. While the only session's stdout is blocked, nothing is read.
    pub attached: Attached,
    pub contact: Arc<Contact>,
    pub tools: Arc<Tools>,
    /// The calls that are sent and answered on this connection.
    pub calls: Arc<Calls>,
}

impl Surroundings {
    /// Reads files of the project. `None` if that takes too long, or while an earlier read of the project's files hangs.
    async fn read_project<T: Send + 'static>(&self, read: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let permit = Arc::clone(&self.contact.identity_read).try_acquire_owned().ok()?;
        let looked = crate::platform::host::run(&*self.env.host, move || {
            let _permit = permit;
            read()
        });
        timeout(IDENTITY_READ_MAX, looked).await.ok()?
    }
}

#[derive(Debug)]
pub struct Aim {
    pub nth: u8,
    pub target: Target,
}

/// What a connection dials.
#[derive(Debug)]
pub struct Dial {
    /// The target that is dialled first.
    pub aim: Aim,
    /// The targets that a patient dial goes on with, each in its turn.
    pub others: VecDeque<Aim>,
    /// Whether the targets are dialled again and again, as long as nobody listens.
    pub patient: bool,
    /// The editor that connects to us, if the targets are such.
    pub arrival: Option<Arc<Awaited>>,
}

/// Starts the task that opens a connection to a target, with the number `epoch`, and talks to the editor on it.
pub fn open(
    with: Surroundings,
    tasks: &Tasks,
    Dial { aim: Aim { nth, target }, others, patient, arrival }: Dial,
    epoch: Epoch,
    bridge: ActorRef<bridge::Message>,
) -> Connection {
    let (hang_up, hung_up) = oneshot::channel();
    let shared = Arc::new(SharedExchange::new(epoch));
    let hurry = Arc::new(Notify::new());
    let hello = Hello {
        gateway: with.env.gateway.clone(),
        challenge: with.env.fresh(),
        expected: target.expected.clone(),
        client_name: with.attached.name_for_editor(with.env.config.client_name.as_deref()),
        editor_port: target.endpoint.port(),
        push_endpoint: None,
        push_token: with.contact.push_token.clone(),
    };
    let mut task = ConnectionTask {
        with,
        epoch,
        nth,
        target,
        others,
        arrival,
        bridge,
        shared: Arc::clone(&shared),
        hello,
        said: Mutex::default(),
        sent: OnceLock::new(),
        patient: patient.then(|| Arc::clone(&hurry)),
        dialled: Mutex::new(Some(Dialled { at: Instant::now(), accepted: Instant::now() })),
    };
    tasks.spawn(async move {
        tokio::select! {
            biased;
            _ = hung_up => {}
            () = task.run() => {}
        }
    });
    Connection { shared, hurry, _hang_up: hang_up }
}

struct ConnectionTask {
    with: Surroundings,
    epoch: Epoch,
    /// The position of the target in the offer.
    nth: u8,
    target: Target,
    /// The targets that come after this one.
    others: VecDeque<Aim>,
    arrival: Option<Arc<Awaited>>,
    bridge: ActorRef<bridge::Message>,
    shared: Arc<SharedExchange>,
    /// What the greeting sends, and the editor's replies to it so far.
    hello: Hello,
    said: Mutex<Vec<Reply>>,
    /// The first bytes sent to the editor: a peer that sends the same is an echo.
    sent: OnceLock<Bytes>,
    /// If nobody is there, the targets are dialled until this is notified of news.
    patient: Option<Arc<Notify>>,
    /// Present until the result of the dial is reported, which happens once.
    dialled: Mutex<Option<Dialled>>,
}

/// A dial whose result is not reported yet.
#[derive(Debug, Clone, Copy)]
struct Dialled {
    /// When it began.
    at: Instant,
    /// When the editor accepted.
    accepted: Instant,
}

/// Reports a panic in the connection's task to the bridge: it is our bug, like a panic in the bridge itself, and must not look
/// like an idle connection. Also logs a dial that was given up without a result.
impl std::ops::Drop for ConnectionTask {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.bridge.cast(bridge::Message::ConnectionFailed(self.epoch));
        }
        if self.dial_result().is_some() {
            self.with.env.events.dial_unfinished(self.target.endpoint.port());
        }
    }
}

impl ConnectionTask {
    async fn run(&mut self) {
        let permit = timeout(JOIN_TIMEOUT, Arc::clone(&self.with.contact.connection).acquire_owned()).await;
        let Ok(Ok(_permit)) = permit else { return self.failed(ConnectFailure::PermitHeld, "") };
        let (stream, identity) = match self.dial().await {
            Ok(found) => found,
            Err((failure, detail)) => return self.failed(failure, &detail),
        };
        if let Err(failure) = self.read_identity().await {
            return self.failed(failure, "the project's files name another editor");
        }
        self.hello.push_endpoint = self.with.contact.push_port_soon().await.map(|port| format!("127.0.0.1:{port}"));
        self.with.calls.ledger(|ledger, _| ledger.open_epoch_of(self.epoch, self.target.project.clone()));
        self.tell(Event::Connected { target: self.nth, checked: identity == Identity::Checked });
        let drop = tokio::select! {
            biased;
            drop = self.converse(stream) => drop,
            never = self.watch() => match never {},
            never = self.ask_beside() => match never {},
            never = self.name_the_silent() => match never {},
        };
        self.tell(Event::Disconnected(drop));
    }

    async fn dial(&mut self) -> Result<(BoxStream, Identity), Failure> {
        let (mut told, mut attempt) = (Instant::now(), 0_u32);
        let mut refused = String::new();
        loop {
            let turn = Instant::now();
            for _ in 0..=self.others.len() {
                match self.dial_once().await {
                    Err((ConnectFailure::Refused, detail)) => refused = detail,
                    done => return done,
                }
                self.turn_to_next();
            }
            let Some(hurry) = &self.patient else { return Err((ConnectFailure::Refused, refused)) };
            // Where the system is slow to refuse, the wait for it is the pause.
            let pause = retry::redial(attempt).saturating_sub(turn.elapsed());
            if timeout(pause, hurry.notified()).await.is_ok() {
                return Err((ConnectFailure::Refused, refused));
            }
            attempt = attempt.saturating_add(1);
            if told.elapsed() >= PATIENT_DIAL_TOLD_EVERY {
                told = Instant::now();
                self.with.env.events.dial_failed(self.target.endpoint.port(), ConnectFailure::Refused, &refused);
                self.tell(Event::StillRefused);
            }
        }
    }

    /// Leaves a target that refused, and turns to the next one.
    fn turn_to_next(&mut self) {
        if let Some(Aim { nth, target }) = self.others.pop_front() {
            let (nth, target) = (std::mem::replace(&mut self.nth, nth), std::mem::replace(&mut self.target, target));
            self.others.push_back(Aim { nth, target });
            self.hello.expected.clone_from(&self.target.expected);
            self.hello.editor_port = self.target.endpoint.port();
        }
    }

    async fn dial_once(&self) -> Result<(BoxStream, Identity), Failure> {
        if let Some(dialled) = self.dialled().as_mut() {
            // The time of a dial counts from the last target.
            dialled.at = Instant::now();
        }
        let is_quick = self.patient.is_some() && self.with.env.net.refuses_slowly();
        let longest = if is_quick { CONNECT_AGAIN_AFTER } else { CONNECT_TIMEOUT };
        let carrier = self.carrier();
        let stream = match carrier.connect(longest).await {
            Ok(stream) => stream,
            // Nobody listens, or the listener is far behind.
            Err((ConnectFailure::TimedOut, _)) if is_quick => {
                return Err((ConnectFailure::Refused, "no answer".to_owned()));
            }
            Err(failed) => return Err(self.not_reached(failed).await),
        };
        if let Some(dialled) = self.dialled().as_mut() {
            dialled.accepted = Instant::now();
        }
        match carrier.identify().await {
            Ok(identity) => Ok((stream, identity)),
            // The owner of the port cannot be read without a descriptor.
            Err(_) if self.with.env.host.lacks_descriptors() => {
                Err((ConnectFailure::NoDescriptors, "no descriptor to look up the owner of the port".to_owned()))
            }
            Err(failed) => Err(self.not_reached(failed).await),
        }
    }

    /// Shows whether somebody else, or nobody, is where the editor should be.
    async fn not_reached(&self, (failure, detail): Failure) -> Failure {
        match failure {
            ConnectFailure::WrongPeer => self.name_the_wrong(Some(detail.clone())).await,
            _ if failure.is_somebody_else() => self.name_the_wrong(Some(UNPROVEN.to_owned())).await,
            ConnectFailure::TimedOut => {}
            _ => self.nobody_is_there(),
        }
        (failure, detail)
    }

    /// Reads the files that identify the editor again once the connection is open: now they belong to the editor at the
    /// other end. If that takes too long, what the survey read stays valid. While such a read hangs, no other read
    /// begins.
    async fn read_identity(&mut self) -> Result<(), ConnectFailure> {
        let (host, target) = (Arc::clone(&self.with.env.host), self.target.clone());
        if let Some(now) = self.with.read_project(move || survey::target_now(&*host, target)).await {
            self.target = now?;
            self.hello.expected.clone_from(&self.target.expected);
        }
        Ok(())
    }

    /// Tells the bridge what the editor's silence means, at each moment when it means something new.
    async fn watch(&self) -> Infallible {
        loop {
            // Whatever is sent in the meantime, nothing is due earlier.
            let within = Instant::now() + STALL_AFTER.min(HEARTBEAT_MAX);
            let deadline = self.exchange().deadline();
            tokio::time::sleep_until(deadline.unwrap_or(within).min(within)).await;
            let due = self.exchange().overdue(Instant::now());
            self.tell_all(due);
        }
    }

    /// Handles a sign of life from the editor.
    fn heard(&self) {
        let ended = self.exchange().heard(Instant::now());
        self.tell_all(ended);
    }

    fn tell_all(&self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.tell(event));
    }

    fn tell(&self, event: Event) {
        let _ = self.bridge.cast(bridge::Message::Heard(self.epoch, event, None));
    }

    /// Carries out what the exchange decided.
    fn settle(&self, settled: Settled) {
        self.with.calls.settle(settled.settlements);
        self.tell_all(settled.events);
    }

    /// Carries out what the exchange decided about a reply. If `more` calls wait, a separate task renders the answer: the next call can
    /// be sent in the meantime, and the answer is not lost if this connection's task ends.
    fn settle_reply(&self, settled: Settled, more: bool) {
        // A hub records this answer before it sends the next call. So if calls are sent one at a time, the end of the
        // hub leaves only one open.
        if !more || !settled.events.is_empty() || self.with.env.records.is_some() {
            return self.settle(settled);
        }
        let (calls, settlements) = (Arc::clone(&self.with.calls), settled.settlements);
        self.with.env.health.spawn("answer", async move { calls.settle(settlements) });
    }

    /// Sends the bridge an event that the editor can cause at any time. Waits for a permit, so that reading is not faster than
    /// the bridge.
    async fn tell_unasked(&self, event: Event) {
        let permit = self.with.addresses.mailboxes.bridge.permit(0).await;
        let _ = self.bridge.cast(bridge::Message::Heard(self.epoch, event, permit));
    }

    /// Reads what the editor sent. A panic there is our bug. It costs this message only: other calls keep their
    /// connection.
    fn guarded<T>(&self, what: &'static str, read: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(read));
        if done.is_err() {
            self.with.env.events.message_misread(what);
        }
        done.ok()
    }

    fn failed(&self, failure: ConnectFailure, detail: &str) {
        if self.dial_result().is_some() {
            self.with.env.events.dial_failed(self.target.endpoint.port(), failure, detail);
        }
        self.tell(Event::ConnectFailed { target: self.nth, failure, dialled: true });
    }

    fn dialled(&self) -> MutexGuard<'_, Option<Dialled>> {
        enter(&self.dialled)
    }

    /// Takes the dial whose result must be reported; `None` once it was reported.
    fn dial_result(&self) -> Option<Dialled> {
        self.dialled().take()
    }

    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.shared.lock()
    }

    /// Whether the greeting has succeeded.
    fn is_greeted(&self) -> bool {
        self.exchange().met().is_some()
    }

    /// Runs one short operation that needs both the exchange and the ledger. The ledger's lock is always taken first.
    fn decide<T>(&self, operation: impl FnOnce(&mut Exchange, &mut Ledger, Instant) -> T) -> T {
        self.with.calls.ledger(|ledger, now| operation(&mut self.exchange(), ledger, now))
    }
}

/// What is needed to claim an encoded call. The claim is the last step before the call's first byte is written.
struct Outgoing {
    call: CallId,
    /// What is recorded of the call before it is claimed; `None` if no record is kept.
    record: Option<Recording>,
    terms: Terms,
    after: After,
}

/// How much of a message was written before writing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Torn {
    /// It is certain that no byte was written.
    NoByte,
    /// Part of the message may have been written.
    Part,
}

/// Writes a whole message.
async fn write_whole(socket: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> Result<(), Torn> {
    let mut rest = frame;
    while !rest.is_empty() {
        match socket.write(rest).await {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            Ok(_) | Err(_) if rest.len() == frame.len() => return Err(Torn::NoByte),
            Ok(_) | Err(_) => return Err(Torn::Part),
        }
    }
    socket.flush().await.map_err(|_| Torn::Part)
}
