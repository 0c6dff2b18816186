//! How far the exchange on a connection has come, as the connection, its I/O and the service see it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::rules::Kept;
use crate::limits::{SERVED_TIMEOUT, STDOUT_WRITE_MAX_BYTES};
use crate::runtime::enter;

/// A function that is called when an answer was handed to the system as a whole. If that never happens, it is dropped.
pub type Delivered = Box<dyn FnOnce() + Send>;

/// The stage of the exchange on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No request is open, and no byte of the next one was read.
    Idle,
    /// No complete head was read yet.
    Head,
    /// A head was read; its body may not be complete.
    Body,
    /// The service has the request.
    Answering,
    /// hyper has the answer.
    Writing,
}

/// What hyper learns about a client that closed its sending side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HungUp {
    /// hyper learns that the client closed it.
    Told,
    /// hyper learns nothing.
    Hidden,
    /// hyper learns nothing, and must ask again at once.
    AskAgain,
}

/// The client at the other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer(watch::Receiver<bool>);

impl Peer {
    /// Waits until the client closes its sending side while its request is open. Most clients then have closed the whole
    /// connection.
    pub async fn hung_up(mut self) {
        if self.0.wait_for(|hung_up| *hung_up).await.is_err() {
            // The connection has ended, and the task that waits here ends with it.
            std::future::pending::<()>().await;
        }
    }
}

/// The state of a connection.
pub(super) struct Progress {
    kept: Option<Kept>,
    state: Mutex<State>,
    changed: Notify,
    hung_up: watch::Sender<bool>,
}

struct State {
    stage: Stage,
    since: Instant,
    /// Whether hyper was told, in this stage, to ask again about a client that closed its sending side.
    asked_again: bool,
    /// Since when the client has read nothing, although there is something to read.
    blocked: Option<Instant>,
    /// Bytes that the client has read since that time.
    taken: usize,
    /// Whether hyper has the whole body of the answer.
    is_whole: bool,
    delivered: Option<Delivered>,
}

impl Progress {
    pub(super) fn new(kept: Option<Kept>) -> Arc<Self> {
        let state = State {
            stage: Stage::Head,
            since: Instant::now(),
            asked_again: false,
            blocked: None,
            taken: 0,
            is_whole: false,
            delivered: None,
        };
        Arc::new(Self { kept, state: Mutex::new(state), changed: Notify::new(), hung_up: watch::Sender::new(false) })
    }

    pub(super) fn kept(&self) -> Option<Kept> {
        self.kept
    }

    pub(super) fn peer(&self) -> Peer {
        Peer(self.hung_up.subscribe())
    }

    pub(super) fn stage(&self) -> Stage {
        enter(&self.state).stage
    }

    /// Returns the time since when no request is open on the connection; `None` if a request is open.
    pub(super) fn unused_since(&self) -> Option<(Stage, Instant)> {
        let state = enter(&self.state);
        Some((state.stage, state.since)).filter(|(stage, _)| matches!(stage, Stage::Idle | Stage::Head))
    }

    /// Waits for a change that may change the time limit of the stage.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut enter(&self.state));
        self.changed.notify_one();
        result
    }

    pub(super) fn enter(&self, stage: Stage) {
        let kept = self.kept.is_some();
        self.change(|state| {
            (state.stage, state.asked_again) = (stage, false);
            // A connection that is not kept has one time for its whole request.
            if kept || stage != Stage::Body {
                state.since = Instant::now();
            }
        });
    }

    /// Records that the answer is known. `delivered` is called when all of it was handed to the system.
    pub(super) fn answer(&self, delivered: Option<Delivered>) {
        self.change(|state| {
            (state.is_whole, state.delivered, state.blocked) = (false, delivered, None);
        });
        self.enter(Stage::Writing);
    }

    /// Returns the end of the present stage's time limit; `None` if it has none.
    pub(super) fn due(&self) -> Option<Instant> {
        let state = enter(&self.state);
        let time: Duration = match (state.stage, self.kept) {
            (Stage::Idle, Some(kept)) => kept.idle_max,
            (Stage::Body, Some(kept)) => kept.body_time_max,
            (Stage::Writing, Some(kept)) => return state.blocked.map(|since| since + kept.stall_max),
            (Stage::Answering, _) => return None,
            (Stage::Idle | Stage::Head | Stage::Body | Stage::Writing, _) => SERVED_TIMEOUT,
        };
        Some(state.since + time)
    }

    // ---- what the I/O reports ----

    /// Notes that bytes of the client arrived.
    pub(super) fn heard(&self) {
        if self.stage() == Stage::Idle {
            self.enter(Stage::Head);
        }
    }

    /// Notes that the client closed its sending side, and returns what hyper learns. On a kept connection with an open
    /// request hyper learns nothing, since the client may still read the answer. The service decides.
    pub(super) fn hung_up(&self) -> HungUp {
        self.hung_up.send_replace(true);
        if self.kept.is_none() {
            return HungUp::Told;
        }
        let mut state = enter(&self.state);
        if matches!(state.stage, Stage::Answering | Stage::Writing) {
            return HungUp::Hidden;
        }
        // hyper may have read a whole request by now, and the service gets it in a moment.
        if std::mem::replace(&mut state.asked_again, true) { HungUp::Told } else { HungUp::AskAgain }
    }

    /// Notes that the connection has ended: an answer that is on its way is lost.
    pub(super) fn ended(&self) {
        let lost = enter(&self.state).delivered.take();
        drop(lost);
    }

    /// Notes that the client's side took this many bytes.
    pub(super) fn took(&self, bytes: usize) {
        let mut state = enter(&self.state);
        if state.blocked.is_some() {
            state.taken += bytes;
            // A client that reads very slowly counts as a client that does not read.
            if state.taken >= STDOUT_WRITE_MAX_BYTES {
                (state.blocked, state.taken) = (None, 0);
            }
        }
    }

    /// Notes that the client's side takes nothing at the moment.
    pub(super) fn blocked(&self) {
        let is_new = enter(&self.state).blocked.is_none();
        if is_new {
            self.change(|state| (state.blocked, state.taken) = (Some(Instant::now()), 0));
        }
    }

    /// Notes that hyper has the whole body of the answer.
    pub(super) fn whole(&self) {
        enter(&self.state).is_whole = true;
    }

    /// Notes that everything that hyper has written was handed to the system.
    pub(super) fn flushed(&self) {
        let (was_blocked, is_done) = {
            let mut state = enter(&self.state);
            (state.blocked.take().is_some(), state.stage == Stage::Writing && state.is_whole)
        };
        if is_done {
            let delivered = enter(&self.state).delivered.take();
            if self.kept.is_some() {
                self.enter(Stage::Idle);
            }
            // The system also takes the answer for a client that is gone. A client that closed only its sending side
            // has the answer, and its result is kept for nobody.
            if let Some(delivered) = delivered.filter(|_| !*self.hung_up.borrow()) {
                delivered();
            }
        } else if was_blocked {
            self.changed.notify_one();
        }
    }
}
