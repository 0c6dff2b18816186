//! Serves one connection: frames strictly one after the other, and nothing is read while a request is at work, except that the
//! connection has ended.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::calls::{self, Call, is_cancelled};
use super::server::{CODE, Server};
use super::wire::{self, Failure, Request};
use super::{status, work};
use crate::events::Event;
use crate::face::{Link, Reader, Writer};
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::work::{Begun, Done, Fault, Order};

/// Time between two heartbeats of a request (the package's own number).
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How often the package looks whether a connection has ended (its own number).
const LOOK: Duration = Duration::from_millis(100);

/// What becomes of a request.
enum Begins {
    /// The answer is known.
    Answer(Result<Object, Failure>),
    /// The main thread answers.
    Work {
        done: oneshot::Receiver<Done>,
        /// Cancels the work when it is dropped; `None`: the work goes on when the connection has ended.
        token: Option<oneshot::Sender<()>>,
        is_tool: bool,
    },
}

impl Server {
    /// The number of the protocol.
    fn protocol(&self) -> i64 {
        match self.version {
            version if version >= PackageVersion::new(3, 3, 0) => 5,
            version if version >= PackageVersion::new(3, 0, 57) => 4,
            _ => 3,
        }
    }

    /// Whether the project switched a tool off. It vanishes from the list then. One that runs code stays there.
    pub(super) fn is_disabled(&self, tool: &str) -> bool {
        tool != CODE && self.blocked.iter().any(|blocked| blocked == tool)
    }

    /// Serves a connection to its end; returns why it ended.
    pub(super) async fn serve_link(
        self: &Arc<Self>,
        editor: &Arc<Editor>,
        link: Link,
    ) -> std::io::Result<&'static str> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let mut buffer = BytesMut::new();
        loop {
            let frame = loop {
                match wire::take_frame(&mut buffer) {
                    Ok(Some(frame)) => break frame,
                    Ok(None) => {}
                    Err(why) => return Ok(why),
                }
                if reader.read(&mut buffer).await? == 0 {
                    return Ok("closed by the client");
                }
            };
            let Some(request) = wire::read_request(&frame) else {
                editor.state().unparsable += 1;
                writer.write(&wire::failure("null", &Failure::thrown("The request is no JSON object"))).await?;
                continue;
            };
            editor.state().requests += 1;
            editor.event(Event::Request { connection, method: request.method.clone() });
            // Notifications do nothing.
            let Some(id) = request.id.clone() else { continue };
            if let Some(failure) = request.misfit(self.protocol()) {
                writer.write(&wire::failure(&id, &failure)).await?;
                continue;
            }
            let acks = request.asks_for("acceptsDispatchAck");
            let beats = acks && request.asks_for("acceptsHeartbeat");
            if acks {
                writer.write(&wire::accepted(&id, beats.then_some(HEARTBEAT.as_secs()))).await?;
            }
            let tool = request.method.clone();
            let begins = self.begin(editor, connection, request);
            let (answer, then, is_tool) = match begins {
                Begins::Answer(answer) => (answer, None, false),
                Begins::Work { mut done, token, is_tool } => {
                    let beats = beats.then_some(id.as_str());
                    let waiting =
                        wait(editor, &mut reader, &mut buffer, &mut writer, &mut done, token.is_some(), beats);
                    let Done { result, then } = match waiting.await? {
                        Waited::Done(Done { result: Err(Fault::Cancelled), .. }) => return Ok("cancelled"),
                        Waited::Done(done) => done,
                        Waited::DomainEnded => return Ok("the domain ended"),
                        Waited::Cancelled => {
                            self.process().paused = false;
                            return Ok("closed by the client");
                        }
                    };
                    (result.map_err(Failure::from), then, is_tool)
                }
            };
            self.answer(editor, &mut writer, connection, &id, is_tool.then_some(tool), answer, then).await?;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is the answer")]
    async fn answer(
        &self,
        editor: &Editor,
        writer: &mut Writer,
        connection: u64,
        id: &str,
        tool: Option<String>,
        answer: Result<Object, Failure>,
        then: Option<Order>,
    ) -> std::io::Result<()> {
        let (frame, outcome) = match answer {
            Ok(result) => {
                let result = if tool.is_some() { editor.oddly(result) } else { result };
                (wire::success(id, &self.versioned(result).finish()), "ok")
            }
            Err(failure) => (wire::failure(id, &failure), "error"),
        };
        let is_lost = tool.is_some() && editor.loses_answer();
        let written = if is_lost { Ok(()) } else { writer.write(&frame).await };
        if let Some(order) = then {
            editor.order(order);
        }
        written?;
        if let Some(tool) = tool {
            editor.event(Event::CallEnded { connection, tool, outcome });
        }
        Ok(())
    }

    /// Adds to a result what the betas have in each.
    fn versioned(&self, result: Object) -> Object {
        if self.protocol() < 4 { result.text("Ver", &self.version.to_string()) } else { result }
    }

    fn begin(self: &Arc<Self>, editor: &Arc<Editor>, connection: u64, request: Request) -> Begins {
        let method = request.method.as_str();
        if let Some(said) = (method == "get-editor-status").then(|| status::of_editor(self, editor)).flatten() {
            return Begins::Answer(Ok(said));
        }
        let server = Arc::clone(self);
        let (token, mut held) = oneshot::channel();
        if status::is_status(method) {
            let Request { method, params, .. } = request;
            let done = editor.submit(move |editor| match is_cancelled(&mut held) {
                true => Begun::fault(Fault::Cancelled),
                false => Begun::ok(status::answer(&server, editor, &method, &params)),
            });
            return Begins::Work { done, token: Some(token), is_tool: false };
        }
        let tool = editor.state().tools.iter().find(|tool| tool.name == method).cloned();
        let Some(tool) = tool else {
            return Begins::Answer(Err(Failure::refused(format!("Unknown tool: {method}"))));
        };
        if self.is_disabled(method) {
            return Begins::Answer(Err(Failure::refused(format!("Tool '{method}' is disabled in this project"))));
        }
        if self.blocked.iter().any(|blocked| blocked == method) {
            return Begins::Answer(Err(Fault::Blocked(method.to_owned()).into()));
        }
        let turn = match self.enter(editor, method) {
            Ok(turn) => turn,
            Err(busy) => return Begins::Answer(Err(busy)),
        };
        let goes_on = work::outlives_its_connection(&request);
        let was_updating = editor.gate.borrow().imports();
        let (token, held) = if goes_on { (None, None) } else { (Some(token), Some(held)) };
        let call = Call { connection, tool, params: request.params, was_updating, token: held, turn };
        let done = editor.submit(move |editor| calls::begin(&server, editor, call));
        Begins::Work { done, token, is_tool: true }
    }
}

/// How a request ended.
enum Waited {
    Done(Done),
    DomainEnded,
    Cancelled,
}

/// Waits for the end of a request. `beats`: the id of the request, if heartbeats are sent.
async fn wait(
    editor: &Editor,
    reader: &mut Reader,
    buffer: &mut BytesMut,
    writer: &mut Writer,
    done: &mut oneshot::Receiver<Done>,
    is_cancelled: bool,
    beats: Option<&str>,
) -> std::io::Result<Waited> {
    let since = Instant::now();
    let mut beat = since + HEARTBEAT;
    loop {
        tokio::select! {
            biased;
            done = &mut *done => return Ok(done.map_or(Waited::DomainEnded, Waited::Done)),
            () = ended(reader, buffer, since), if is_cancelled => return Ok(Waited::Cancelled),
            () = tokio::time::sleep_until(beat), if beats.is_some() => {
                let stall = editor.frame_age().as_secs_f64();
                writer.write(&wire::heartbeat(beats.unwrap_or_default(), stall)).await?;
                beat += HEARTBEAT;
            }
        }
    }
}

/// Returns at the next look after the connection has ended, also if the client has only ended its own side. Bytes that nobody has
/// read hide the end.
async fn ended(reader: &mut Reader, buffer: &mut BytesMut, since: Instant) {
    if !buffer.is_empty() || matches!(reader.read(buffer).await, Ok(1..)) {
        return std::future::pending().await;
    }
    let into = since.elapsed().as_nanos() % LOOK.as_nanos();
    tokio::time::sleep(LOOK - Duration::from_nanos(u64::try_from(into).unwrap_or_default())).await;
}
