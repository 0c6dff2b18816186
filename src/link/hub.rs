//! The port to the links of a hub, as a session of another process has it: what the session said, and what it waits
//! for. The connection that carries the messages is managed elsewhere ([`fsm::attachment`](crate::fsm::attachment)).
//!
//! Everything here is one short operation behind one lock, so that what is said while a connection begins or ends is said once to each
//! hub.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::calls::TakenIn;
use crate::core::port::messages::{self, Here, Of, Opened, Piece};
use crate::core::requests::Holder;
use crate::core::said::{BadPiece, Pieces, Said, SaidCalls};
use crate::protocol::hub::{self, OpenRequest};
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::runtime::enter;

/// The numbers of questions begin here, and the numbers of calls stay below: a client would have to make a million
/// calls a second for ten years to come here.
const QUESTIONS_FROM: u64 = 1 << 48;

/// Whether a hub serves the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A hub is being looked for.
    Seeking,
    /// A hub serves the session.
    Attached,
    /// The session's links are in this process, for good.
    Embedded,
}

/// No hub serves the session any more: its links are in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded;

/// What the hub answered a call.
#[derive(Debug)]
pub struct Answered {
    /// The call.
    pub said: Said,
    /// How the call ended, with the stored result; or the error that answers its request. `None`: the hub's answer
    /// cannot be read.
    pub outcome: Option<Result<(messages::Settled, Box<RawValue>), RpcError>>,
}

/// The port; see the module's documentation.
#[derive(Debug)]
pub struct HubPort {
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
    /// Whether a question is open.
    asks: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    said: SaidCalls,
    pieces: Pieces,
    questions: BTreeMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    last_question: u64,
    /// Takes lines for the hub, and is told if it does not read them; `None` while no hub serves the session.
    lines: Option<(mpsc::Sender<String>, Arc<Notify>)>,
    opened: Option<Opened>,
    here: Here,
    is_embedded: bool,
}

impl State {
    /// Sends a line, if a hub serves the session. A line that is not sent is lost, because the next hub is told
    /// everything from the start. Returns whether the line may reach the hub.
    fn send(&mut self, line: String) -> bool {
        let Some((lines, overrun)) = &self.lines else { return false };
        let Err(error) = lines.try_send(line) else { return true };
        if let TrySendError::Full(_) = error {
            // The hub does not read, although it must read as many requests as may be open.
            overrun.notify_one();
        }
        self.lines = None;
        false
    }

    fn notify(&mut self, method: &str, params: &impl Serialize) {
        if self.lines.is_some() {
            self.send(notification(method, params));
        }
    }
}

fn notification(method: &str, params: &impl Serialize) -> String {
    jsonrpc::notification(method, serde_json::to_string(params).ok().as_deref())
}

impl Default for HubPort {
    fn default() -> Self {
        Self { state: Mutex::default(), phase: watch::Sender::new(Phase::Seeking), asks: watch::Sender::new(false) }
    }
}

impl HubPort {
    /// Whether a hub has the session's links. This is so also while a hub is looked for.
    pub fn is_used(&self) -> bool {
        *self.phase.borrow() != Phase::Embedded
    }

    /// Whether a hub serves the session, as far as is known: one that hangs does too.
    pub fn is_attached(&self) -> bool {
        *self.phase.borrow() == Phase::Attached
    }

    // ---- what the session says ----

    /// Gives a call to the hub. Returns the call if the session's links are in this process by now.
    pub fn say(&self, said: Said) -> Result<TakenIn, Box<Said>> {
        let (hold, number) = (said.hold.clone(), said.hold.key().number);
        let mut state = enter(&self.state);
        if state.is_embedded {
            return Err(Box::new(said));
        }
        let Ok(line) = state.said.add(said, Instant::now()) else { return Ok(TakenIn::NoRoom) };
        if !hold.pass(Holder::Ledger) {
            state.said.remove(number);
            return Ok(TakenIn::Cancelled);
        }
        if state.send(line) {
            state.said.was_sent(number);
        }
        Ok(TakenIn::Yes)
    }

    /// Tells the hub that a call is cancelled. Returns false if the hub was not given such a call.
    pub fn cancel(&self, request: RequestKey) -> bool {
        let mut state = enter(&self.state);
        if state.said.remove(request.number).is_none() {
            return false;
        }
        state.pieces.forget(request.number);
        let params = format!(r#"{{"requestId":{}}}"#, request.number);
        state.send(jsonrpc::notification("notifications/cancelled", Some(&params)));
        true
    }

    /// Whether this request became a call for the hub.
    pub fn owns(&self, request: RequestKey) -> bool {
        enter(&self.state).said.has(request.number)
    }

    /// Returns the bytes of the arguments of all open calls.
    pub fn open_bytes(&self) -> usize {
        enter(&self.state).said.bytes()
    }

    /// Says that this project's editor is wanted.
    pub fn want(&self, project: &Path) {
        enter(&self.state).notify(messages::WANT, &Of { project: project.to_path_buf() });
    }

    /// Tells the hub that the session does not mean this project's editor any more. Returns the calls for that editor
    /// that no hub has: they are refused.
    pub fn leave(&self, project: &Path) -> Vec<Said> {
        let mut state = enter(&self.state);
        state.notify(messages::LEAVE, &Of { project: project.to_path_buf() });
        state.said.take_unsent_to(project)
    }

    /// Says who the client is.
    pub fn opened(&self, opened: Opened) {
        let mut state = enter(&self.state);
        state.notify(messages::OPENED, &opened);
        state.opened = Some(opened);
    }

    /// Says where the session is.
    pub fn here(&self, here: Here) {
        let mut state = enter(&self.state);
        if state.here != here {
            state.notify(messages::HERE, &here);
            state.here = here;
        }
    }

    /// Says that the client sends nothing more.
    pub fn input_ended(&self) {
        enter(&self.state).send(jsonrpc::notification(hub::INPUT_ENDED, None));
    }

    /// Asks the hub, and waits for its answer or for the answer of its successor.
    ///
    /// # Errors
    /// [`Embedded`]. The inner error is the hub's.
    pub async fn ask(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Result<Box<RawValue>, RpcError>, Embedded> {
        let params = serde_json::to_string(params).unwrap_or_default();
        let mut phase = self.phase.subscribe();
        loop {
            phase.mark_unchanged();
            let answer = {
                let mut state = enter(&self.state);
                if state.is_embedded {
                    return Err(Embedded);
                }
                let number = QUESTIONS_FROM + state.last_question;
                let line = jsonrpc::request(&RequestId::from_number(number), method, Some(&params));
                state.send(line).then(|| {
                    let (tell, answer) = oneshot::channel();
                    state.last_question += 1;
                    state.questions.insert(number, tell);
                    self.asks.send_replace(true);
                    answer
                })
            };
            match answer {
                Some(answer) => {
                    if let Ok(answer) = answer.await {
                        return Ok(answer);
                    }
                }
                // Only the end of the process drops the sender.
                None => drop(phase.changed().await),
            }
        }
    }

    // ---- the connection ----

    /// Takes a connection, and tells the hub everything: who the client is, which editors it wants, where it is, and
    /// its open calls. `overrun` is notified if the hub does not read as many lines as may wait for it. `wanted` gives
    /// the projects whose editors are wanted. It is called under the lock, so that no editor becomes wanted in between
    /// without being told.
    pub fn attach(&self, (lines, overrun): (mpsc::Sender<String>, Arc<Notify>), wanted: impl FnOnce() -> Vec<PathBuf>) {
        {
            let mut state = enter(&self.state);
            state.lines = Some((lines, overrun));
            state.pieces = Pieces::default();
            let mut first: Vec<String> =
                state.opened.iter().map(|opened| notification(messages::OPENED, opened)).collect();
            // The session's place comes first: an editor is greeted with the name of a client that is there.
            first.push(notification(messages::HERE, &state.here));
            first.extend(wanted().into_iter().map(|project| notification(messages::WANT, &Of { project })));
            first.extend(state.said.resume(Instant::now()));
            for line in first {
                state.send(line);
            }
        }
        self.phase.send_replace(Phase::Attached);
    }

    /// Waits until a question is open.
    pub async fn asks(&self) {
        let _ = self.asks.subscribe().wait_for(|asks| *asks).await;
    }

    /// Lets the connection go. Questions that were asked over it are asked again over the next one.
    pub fn detach(&self) {
        let dropped = {
            let mut state = enter(&self.state);
            state.lines = None;
            self.asks.send_replace(false);
            std::mem::take(&mut state.questions)
        };
        drop(dropped);
        if self.is_used() {
            self.phase.send_replace(Phase::Seeking);
        }
    }

    /// Whether the hub owes an answer.
    pub fn is_owed(&self) -> bool {
        let state = enter(&self.state);
        !state.said.is_empty() || !state.questions.is_empty()
    }

    /// Returns the open calls as another gateway is told of them.
    pub fn told(&self) -> Vec<OpenRequest> {
        enter(&self.state).said.told(Instant::now())
    }

    /// Keeps a piece of an answer.
    ///
    /// # Errors
    /// [`BadPiece`]: the connection is of no use.
    pub fn piece(&self, piece: Piece) -> Result<(), BadPiece> {
        let mut state = enter(&self.state);
        let waits = state.said.has(piece.request) || state.questions.contains_key(&piece.request);
        if waits { state.pieces.add(piece) } else { Ok(()) }
    }

    /// Takes the hub's answer to the request with this number. `None` if the request is not a call, or nobody waits for
    /// it.
    pub fn answered(&self, number: u64, outcome: Result<Box<RawValue>, RpcError>) -> Option<Answered> {
        let mut state = enter(&self.state);
        if let Some(tell) = state.questions.remove(&number) {
            let outcome = outcome.and_then(|json| whole(json, number, &mut state.pieces));
            self.asks.send_replace(!state.questions.is_empty());
            // The part that asked may not wait any more.
            let _ = tell.send(outcome);
            return None;
        }
        let said = state.said.remove(number)?;
        let outcome = match outcome {
            Ok(json) => read(&json, number, &mut state.pieces).map(Ok),
            Err(error) => Some(Err(error)),
        };
        state.pieces.forget(number);
        Some(Answered { said, outcome })
    }

    /// Removes the call with this number, whose answer cannot be read.
    pub fn remove(&self, number: u64) -> Option<Said> {
        let mut state = enter(&self.state);
        state.pieces.forget(number);
        state.said.remove(number)
    }

    /// Reads the call with this number, if it is open.
    pub fn with_call<T>(&self, number: u64, read: impl FnOnce(&Said) -> T) -> Option<T> {
        enter(&self.state).said.get(number).map(read)
    }

    /// Remembers that the hub gave a call back: nothing of it was sent.
    pub fn given_back(&self, number: u64) {
        enter(&self.state).said.was_given_back(number);
    }

    /// Removes the calls whose client waits no longer and that a hub gave back because it makes way.
    pub fn take_overdue(&self) -> Vec<Said> {
        enter(&self.state).said.take_overdue(Instant::now())
    }

    /// Removes all calls. The caller answers them.
    pub fn take_all(&self) -> Vec<Said> {
        enter(&self.state).said.take_all()
    }

    /// From here on the session's links are in this process. Returns the calls that are open.
    pub fn embed(&self) -> Vec<Said> {
        let (said, questions) = {
            let mut state = enter(&self.state);
            (state.lines, state.is_embedded) = (None, true);
            (state.said.take_all(), std::mem::take(&mut state.questions))
        };
        drop(questions);
        self.phase.send_replace(Phase::Embedded);
        said
    }
}

/// Reads how a call ended.
fn read(json: &RawValue, number: u64, pieces: &mut Pieces) -> Option<(messages::Settled, Box<RawValue>)> {
    let mut settled: messages::Settled = serde_json::from_str(json.get()).ok()?;
    let answer = settled.answer.take().or_else(|| pieces.take(number, settled.pieces))?;
    Some((settled, answer))
}

/// Returns the answer to a question, which may have come in pieces.
fn whole(json: Box<RawValue>, number: u64, pieces: &mut Pieces) -> Result<Box<RawValue>, RpcError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct InPieces {
        pieces: usize,
    }
    let Ok(InPieces { pieces: count }) = serde_json::from_str(json.get()) else { return Ok(json) };
    pieces.take(number, count).ok_or_else(|| RpcError::internal("a part of the answer is missing"))
}
