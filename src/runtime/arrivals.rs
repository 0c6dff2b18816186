//! Editors that connect to this process. All links share one listener for each port and package.
//!
//! A peer that connects has to say soon, in few bytes, which project it has open. If a link expects the editor of that project, the
//! connection is kept until the link takes it. Everybody else is told why, and closed. A connection that is kept or taken is not
//! displaced by another one that says the same of itself.
//!
//! What an editor says of itself is all that is known here. If its package can prove more, the greeting asks for it.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;
use tokio::time::timeout;

use super::enter;
use crate::limits::{
    ACCEPT_PAUSE, ARRIVAL_BIND_EVERY, ARRIVAL_TOLD_MAX, ARRIVAL_WORDS_MAX, ARRIVAL_WORDS_MAX_BYTES, ARRIVALS_MAX,
};
use crate::net::{BoxFuture, BoxStream, Listener, Net};
use crate::platform::host::{self, Host};
use crate::protocol::dialect::{Dialect, Heard, Introduction, Reception};
use crate::survey;
use crate::telemetry::events::Events;

/// What listening needs.
#[derive(Clone)]
pub struct Surroundings {
    /// The network.
    pub net: Arc<dyn Net>,
    /// The machine.
    pub host: Arc<dyn Host>,
    /// Where refusals are logged.
    pub events: Events,
}

/// All ports on which this process expects editors.
#[derive(Default)]
pub struct Arrivals(Mutex<BTreeMap<(u16, &'static str), Weak<Door>>>);

/// A port on which editors of one package are expected. It is open as long as anybody expects one.
struct Door {
    port: u16,
    dialect: &'static dyn Dialect,
    expected: Mutex<Vec<Weak<Awaited>>>,
    /// Why nothing can be listened to, if so.
    shut: Mutex<Option<String>>,
    /// The door's task ends when this is dropped.
    _open: watch::Sender<()>,
}

/// The editor that a link expects, at each of these doors. Dropping it ends that.
pub struct Awaited {
    doors: Vec<Arc<Door>>,
    project: PathBuf,
    vacancy: Mutex<Vacancy>,
    /// Tells the link that its editor has connected.
    tell: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Awaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awaited").field("project", &self.project).finish_non_exhaustive()
    }
}

/// Whether an awaited has its one connection.
enum Vacancy {
    Free,
    Kept(Kept),
    Taken,
}

/// The connection of an editor that has introduced itself.
struct Kept {
    port: u16,
    stream: BoxStream,
    /// What was read of it and belongs to no introduction.
    read: BytesMut,
}

impl Arrivals {
    /// Expects the editor of this project at these ports. Also returns the tasks that must run, for ports on which none listens yet.
    pub fn expect(
        &self,
        with: &Surroundings,
        ports: &[u16],
        dialect: &'static dyn Dialect,
        project: PathBuf,
        tell: Box<dyn Fn() + Send + Sync>,
    ) -> (Arc<Awaited>, Vec<BoxFuture<'static, ()>>) {
        let mut tasks = Vec::new();
        let mut known = enter(&self.0);
        known.retain(|_, door| door.strong_count() > 0);
        let mut door_at = |port: u16| {
            if let Some(door) = known.get(&(port, dialect.name())).and_then(Weak::upgrade) {
                return door;
            }
            let (open, mut closed) = watch::channel(());
            let (expected, shut) = (Mutex::default(), Mutex::default());
            let door = Arc::new(Door { port, dialect, expected, shut, _open: open });
            known.insert((port, dialect.name()), Arc::downgrade(&door));
            let listening = listen(Arc::downgrade(&door), port, with.clone());
            tasks.push(Box::pin(async move {
                tokio::select! {
                    biased;
                    _ = closed.changed() => {}
                    () = listening => {}
                }
            }) as BoxFuture<'static, ()>);
            door
        };
        let doors = ports.iter().map(|port| door_at(*port)).collect();
        let awaited = Arc::new(Awaited { doors, project, vacancy: Mutex::new(Vacancy::Free), tell });
        for door in &awaited.doors {
            let mut expected = enter(&door.expected);
            expected.retain(|known| known.strong_count() > 0);
            expected.push(Arc::downgrade(&awaited));
        }
        (awaited, tasks)
    }
}

/// Listens on a port until the task is dropped.
async fn listen(door: Weak<Door>, port: u16, with: Surroundings) {
    let listener = bind(&door, port, &with).await;
    let mut heard = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if heard.len() < ARRIVALS_MAX => heard.push(receive(Weak::clone(&door), stream, with.clone())),
                Ok(_) => with.events.arrival_refused(port, "too many connections have not said whose they are"),
                // Most likely out of descriptors: do not spin.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(()) = heard.next() => {}
        }
    }
}

/// Binds the port, as soon as nobody else has it.
async fn bind(door: &Weak<Door>, port: u16, with: &Surroundings) -> Arc<dyn Listener> {
    loop {
        let bound = with.net.bind(port).await;
        let why = bound.as_ref().err().map(ToString::to_string);
        if let Some(door) = door.upgrade() {
            *enter(&door.shut) = why;
        }
        match bound {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(ARRIVAL_BIND_EVERY).await,
        }
    }
}

/// Hears whose editor has connected, and keeps its connection if it is expected.
async fn receive(door: Weak<Door>, mut stream: BoxStream, with: Surroundings) {
    let Some(dialect) = door.upgrade().map(|door| door.dialect) else { return };
    let Some(mut reception) = dialect.reception() else { return };
    let why = match timeout(ARRIVAL_WORDS_MAX, introduced(&mut stream, &mut *reception)).await {
        Ok(Ok(Some(who))) => {
            let Some(door) = door.upgrade() else { return };
            match door.admit(who, stream, &with).await {
                Ok(()) => return,
                Err((back, why)) => {
                    stream = back;
                    why
                }
            }
        }
        // Somebody looked whether the port is open.
        Ok(Ok(None)) => return,
        Ok(Err(why)) => why,
        Err(_) => "it has not said in time which project it has open".to_owned(),
    };
    if let Some(door) = door.upgrade() {
        with.events.arrival_refused(door.port, &why);
    }
    let told = async {
        stream.write_all(&reception.turn_away(&why)).await?;
        stream.shutdown().await
    };
    let _ = timeout(ARRIVAL_TOLD_MAX, told).await;
}

/// Returns whose editor it is; `None` if it hung up before it said a word.
async fn introduced(stream: &mut BoxStream, reception: &mut dyn Reception) -> Result<Option<Introduction>, String> {
    let mut buffer = vec![0; 4096];
    let mut left = ARRIVAL_WORDS_MAX_BYTES;
    loop {
        let count = match stream.read(&mut buffer).await {
            Ok(0) | Err(_) if left == ARRIVAL_WORDS_MAX_BYTES => return Ok(None),
            Ok(0) | Err(_) => return Err("it hung up before it said which project it has open".to_owned()),
            Ok(count) => count,
        };
        left = left.saturating_sub(count);
        let bytes = buffer.get(..count).unwrap_or_default();
        // A panic in that is our bug and costs this connection only.
        let heard = catch_unwind(AssertUnwindSafe(|| reception.hear(bytes)));
        match heard.map_err(|_| "holdfast failed to read it".to_owned())?.map_err(|bad| bad.to_string())? {
            Heard::Introduced(who) => return Ok(Some(who)),
            Heard::NotYet(_) if left == 0 => return Err("it said too much before its project".to_owned()),
            Heard::NotYet(say) => stream.write_all(&say).await.map_err(|error| error.to_string())?,
        }
    }
}

impl Door {
    /// Keeps the connection of an editor that is expected. Otherwise returns it, and why it is not kept.
    async fn admit(
        &self,
        who: Introduction,
        stream: BoxStream,
        with: &Surroundings,
    ) -> Result<(), (BoxStream, String)> {
        let expected: Vec<Arc<Awaited>> = enter(&self.expected).iter().filter_map(Weak::upgrade).collect();
        let projects: Vec<PathBuf> = expected.iter().map(|awaited| awaited.project.clone()).collect();
        let said = who.project.clone();
        let find = move || projects.iter().position(|project| survey::same_project(Path::new(&said), project));
        let found =
            if Path::new(&who.project).is_absolute() { host::run(&*with.host, find).await.flatten() } else { None };
        let Some(awaited) = found.and_then(|found| expected.get(found)) else {
            return Err((stream, "nobody here is for the project that it has open".to_owned()));
        };
        let kept = Kept { port: self.port, stream, read: who.rest.into() };
        awaited
            .keep(kept)
            .map_err(|kept| (kept.stream, "another connection says already that it has this project open".to_owned()))
    }
}

impl Awaited {
    /// Keeps a connection, and tells the link, unless there is one that lives.
    fn keep(&self, kept: Kept) -> Result<(), Kept> {
        let mut vacancy = enter(&self.vacancy);
        let is_occupied = match &mut *vacancy {
            Vacancy::Taken => true,
            Vacancy::Kept(before) => before.lives(),
            Vacancy::Free => false,
        };
        if is_occupied {
            return Err(kept);
        }
        *vacancy = Vacancy::Kept(kept);
        drop(vacancy);
        (self.tell)();
        Ok(())
    }

    /// Takes the connection of the editor, if it has connected to this port. Until the stream is dropped, no other one is kept.
    ///
    /// # Errors
    /// Why nothing can be listened to.
    pub fn take(self: &Arc<Self>, port: u16) -> Result<Option<BoxStream>, String> {
        let mut vacancy = enter(&self.vacancy);
        let is_here = match &mut *vacancy {
            Vacancy::Kept(kept) => kept.port == port,
            Vacancy::Free | Vacancy::Taken => false,
        };
        if is_here
            && let Vacancy::Kept(mut kept) = std::mem::replace(&mut *vacancy, Vacancy::Free)
            && kept.lives()
        {
            *vacancy = Vacancy::Taken;
            let Kept { stream, read, .. } = kept;
            return Ok(Some(Box::new(Arrived { stream, read: read.freeze(), of: Arc::clone(self) })));
        }
        drop(vacancy);
        let door = self.doors.iter().find(|door| door.port == port);
        door.and_then(|door| enter(&door.shut).clone()).map_or(Ok(None), Err)
    }

    /// Whether this is the editor of a project that is expected at these ports.
    pub fn is_at(&self, ports: &[u16], dialect: &'static dyn Dialect, project: &Path) -> bool {
        self.project == project
            && self.doors.iter().map(|door| door.port).eq(ports.iter().copied())
            && self.doors.iter().all(|door| door.dialect == dialect)
    }
}

impl Kept {
    /// Whether the editor has not closed the connection. Keeps what it has sent meanwhile.
    fn lives(&mut self) -> bool {
        let mut buffer = [0; 1024];
        while self.read.len() <= ARRIVAL_WORDS_MAX_BYTES {
            match self.stream.read(&mut buffer).now_or_never() {
                None => return true,
                Some(Ok(count @ 1..)) => self.read.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Some(Ok(0) | Err(_)) => return false,
            }
        }
        true
    }
}

/// The connection that an editor has opened, from the first byte after its introduction.
struct Arrived {
    stream: BoxStream,
    read: Bytes,
    of: Arc<Awaited>,
}

impl Drop for Arrived {
    fn drop(&mut self) {
        *enter(&self.of.vacancy) = Vacancy::Free;
    }
}

impl AsyncRead for Arrived {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.read.len().min(buf.remaining());
        buf.put_slice(&self.read.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Arrived {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
