//! Serves a client of the TCP server: one frame after the other, and none is read while a command is at work.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::bridge::{Attached, Bridge, V9_5, V10_2, lock};
use super::commands::{self, is_tool};
use super::wire::{self, Command};
use crate::events::Event;
use crate::face::{Link, Writer};
use crate::json::Object;
use crate::limits::QUEUE_MAX;
use crate::model::Editor;
use crate::work::{Begun, Done};

/// How long a command may wait in the editor's queue (the package's own number).
const QUEUED_MAX: Duration = Duration::from_secs(60);

/// What a client waits for.
enum Waiting {
    Own(oneshot::Receiver<Done>),
    Attached(watch::Receiver<Option<Arc<str>>>),
}

impl Waiting {
    /// Returns the reply; `None` if the domain ended.
    async fn reply(&mut self) -> Option<Done> {
        match self {
            Self::Own(work) => work.await.ok(),
            Self::Attached(reply) => {
                let reply = reply.wait_for(Option::is_some).await.ok()?.clone()?;
                Some(Done::ok(Object::instead(reply.to_string())))
            }
        }
    }
}

/// A client's place. Dropping it gives it back.
struct Place<'a>(&'a Bridge, u64);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.0.clients).remove(&self.1);
    }
}

impl Bridge {
    /// Serves a client to its end; returns why it ended.
    pub(super) async fn serve_client(
        self: &Arc<Self>,
        editor: &Arc<Editor>,
        link: Link,
    ) -> std::io::Result<&'static str> {
        let connection = link.connection;
        let (stays, evicted) = oneshot::channel();
        lock(&self.clients).insert(connection, stays);
        let _place = Place(self, connection);
        tokio::select! {
            biased;
            served = self.serve_frames(editor, link) => served,
            // Nothing is ever sent. What runs goes on, and nobody hears of its end.
            _ = evicted => Ok("another client came"),
        }
    }

    async fn serve_frames(self: &Arc<Self>, editor: &Arc<Editor>, link: Link) -> std::io::Result<&'static str> {
        let Link { connection, mut reader, mut writer, .. } = link;
        // Whoever comes together has a place before the first of them is greeted.
        tokio::task::yield_now().await;
        writer.write(wire::GREETING.as_bytes()).await?;
        if self.version >= V9_5 {
            // All others, also those that came later: two that come together close each other.
            lock(&self.clients).retain(|other, _| *other == connection);
        }
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
            editor.state().requests += 1;
            if frame == b"ping".as_slice() {
                // The only answer of the socket's own thread.
                editor.event(Event::Request { connection, method: "raw ping".to_owned() });
                writer.write(&wire::frame(&wire::success(commands::PONG))).await?;
                continue;
            }
            if self.run(editor, connection, frame, &mut writer).await?.is_none() {
                return Ok("the domain ended");
            }
        }
    }

    /// Runs a command and writes its reply; `None` if the domain ended.
    async fn run(
        self: &Arc<Self>,
        editor: &Arc<Editor>,
        connection: u64,
        frame: Bytes,
        writer: &mut Writer,
    ) -> std::io::Result<Option<()>> {
        let command = wire::read_command(&frame);
        let name = match &command {
            Command::Named(name, _) => name.clone(),
            Command::Wrong(_) => {
                editor.state().unparsable += 1;
                String::new()
            }
        };
        editor.event(Event::Request { connection, method: name.clone() });
        let is_tool = is_tool(editor, &name);
        let until = Instant::now() + self.limit;
        let mut waiting = self.take(editor, connection, frame, command);
        let done = match timeout_at(until, waiting.reply()).await {
            Ok(None) => return Ok(None),
            Ok(Some(done)) => Some(done),
            Err(_) => None,
        };
        let mut is_told = !is_tool;
        let (reply, then) = match done {
            Some(Done { result, then }) if !(is_tool && editor.loses_answer()) => {
                (result.map(Object::finish).unwrap_or_default(), then)
            }
            lost => {
                if let Some(Done { result, then }) = lost {
                    let reply = result.map(Object::finish).unwrap_or_default();
                    let outcome = commands::outcome(&reply);
                    editor.event(Event::CallEnded { connection, tool: name.clone(), outcome });
                    is_told = true;
                    then.into_iter().for_each(|order| editor.order(order));
                }
                // A lost answer is one of a tool that returned nothing: its client waits in vain.
                tokio::time::sleep_until(until).await;
                let limit = self.limit.as_millis();
                (wire::too_long(&format!("Command processing timed out after {limit} ms")), None)
            }
        };
        let written = writer.write(&wire::frame(&reply)).await;
        if let Some(order) = then {
            editor.order(order);
        }
        written?;
        if !is_told {
            editor.event(Event::CallEnded { connection, tool: name, outcome: commands::outcome(&reply) });
        }
        Ok(Some(()))
    }

    /// Queues a command, or attaches its client to an equal one of another client.
    fn take(self: &Arc<Self>, editor: &Arc<Editor>, connection: u64, frame: Bytes, command: Command) -> Waiting {
        let (name, params) = match command {
            Command::Named(name, params) => (name, params),
            // That these too wait for the main thread is inferred.
            Command::Wrong(reply) => return Waiting::Own(editor.submit(|_| Begun::ok(Object::instead(reply)))),
        };
        let (sender, reply) = watch::channel(None);
        let joins = self.version >= V10_2;
        if joins {
            let mut attached = lock(&self.attached);
            // Those whose domain ended will never be answered.
            attached.retain(|_, first| first.reply.has_changed().is_ok());
            match attached.get(&frame) {
                Some(first) if first.connection != connection => return Waiting::Attached(first.reply.clone()),
                None if attached.len() < QUEUE_MAX => {
                    attached.insert(frame.clone(), Attached { connection, reply: reply.clone() });
                }
                _ => {}
            }
        }
        let (bridge, since) = (Arc::clone(self), Instant::now());
        Waiting::Own(editor.submit(move |editor| {
            let begun = bridge.begin_queued(editor, connection, since, &name, params);
            if joins { bridge.told_to_all(editor, begun, frame, sender) } else { begun }
        }))
    }

    fn begin_queued(
        self: &Arc<Self>,
        editor: &Arc<Editor>,
        connection: u64,
        since: Instant,
        name: &str,
        params: Map<String, Value>,
    ) -> Begun {
        if since.elapsed() > QUEUED_MAX {
            return Begun::ok(Object::instead(wire::refusal("Command evicted: stuck too long in queue")));
        }
        commands::begin(self, editor, connection, name, params)
    }

    /// Gives the reply of a command to the clients that are attached to it too.
    fn told_to_all(
        self: &Arc<Self>,
        editor: &Arc<Editor>,
        begun: Begun,
        frame: Bytes,
        sender: watch::Sender<Option<Arc<str>>>,
    ) -> Begun {
        let bridge = Arc::clone(self);
        let tell = move |done: &Done| {
            let mut attached = lock(&bridge.attached);
            // The same client may have sent the same again, after it had waited long enough.
            if attached.get(&frame).is_some_and(|first| first.reply.same_channel(&sender.subscribe())) {
                attached.remove(&frame);
            }
            drop(attached);
            let reply = done.result.as_ref().map(|reply| reply.clone().finish());
            sender.send_replace(Some(reply.unwrap_or_default().into()));
        };
        match begun {
            Begun::Done(done) => {
                tell(&done);
                Begun::Done(done)
            }
            Begun::Later(rest) => {
                let editor = Arc::clone(editor);
                Begun::Later(Box::pin(async move {
                    let done = rest.await;
                    editor.main_free().await;
                    tell(&done);
                    done
                }))
            }
        }
    }
}
