//! Editors that connect to this process. All links share one listener for each port and package.
//!
//! A peer that connects has to say soon, in few bytes, which project it has open. If a link expects the editor of that project, the
//! connection is kept until the link takes it. Everybody else is told why, and closed. A connection that is kept or taken is not
//! displaced by another one that says the same of itself.
//!
//! Before it is kept, the process at the other end is looked up: it must be the project's editor, as with a port on which an editor
//! listens. If its package can prove more, the greeting asks for it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::enter;
use crate::limits::{
    ACCEPT_PAUSE, ARRIVAL_BIND_EVERY, ARRIVAL_LOOK_AGAIN, ARRIVAL_NAMED_EVERY, ARRIVAL_TOLD_MAX, ARRIVAL_WORDS_MAX,
    ARRIVAL_WORDS_MAX_BYTES, ARRIVALS_MAX, ARRIVALS_WAITING_MAX, OWNER_LOOKUP_MAX,
};
use crate::net::{BoxFuture, BoxStream, Listener, Net};
use crate::platform::host::{self, Host};
use crate::protocol::dialect::{Dialect, Heard, Introduction, Reception};
use crate::protocol::text::clean;
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

/// A port on which an editor is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Its number.
    pub number: u16,
    /// Whether the user named it ([`PortSource::is_named`](crate::config::PortSource::is_named)).
    pub is_named: bool,
}

/// All ports on which this process expects editors.
#[derive(Default)]
pub struct Arrivals(Mutex<BTreeMap<(u16, &'static str), Weak<Door>>>);

/// A port on which editors of one package are expected. It is open as long as anybody expects one.
struct Door {
    port: u16,
    dialect: &'static dyn Dialect,
    expected: Mutex<Vec<Weak<Awaited>>>,
    /// Tells that another editor is expected, or that one has gone.
    news: watch::Sender<()>,
    /// The places of editors that nobody is for yet.
    waiting: Arc<Semaphore>,
    /// Why nothing can be listened to, if so.
    shut: Mutex<Option<NotHere>>,
    /// The door's task ends when this is dropped.
    _open: watch::Sender<()>,
}

/// The editor that a link expects, at each of these doors. Dropping it ends that.
pub struct Awaited {
    doors: Vec<(Port, Arc<Door>)>,
    project: PathBuf,
    vacancy: Mutex<Vacancy>,
    /// Why the last process was not believed that said that it has the project open; told once.
    disbelieved: Mutex<Option<String>>,
    /// Tells the link that its editor has connected.
    tell: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Awaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awaited").field("project", &self.project).finish_non_exhaustive()
    }
}

/// Why the editor cannot be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotHere {
    /// The system does not let this process listen; its error.
    Forbidden(String),
    /// Another program has the port, or was not believed, as a sentence about that program.
    Other(String),
}

impl NotHere {
    /// The port could not be bound. `named`: who has it.
    fn bound(error: &io::Error, named: Option<String>) -> Self {
        match named {
            None if host::is_forbidden(error) => Self::Forbidden(error.to_string()),
            named => Self::Other(format!(
                "it has the port to which the editor would connect: {}",
                named.unwrap_or_else(|| error.to_string())
            )),
        }
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
        ports: &[Port],
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
            let (news, waiting) = (watch::Sender::new(()), Arc::new(Semaphore::new(ARRIVALS_WAITING_MAX)));
            let door = Arc::new(Door { port, dialect, expected, news, waiting, shut, _open: open });
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
        let doors = ports.iter().map(|port| (*port, door_at(port.number))).collect();
        let (vacancy, disbelieved) = (Mutex::new(Vacancy::Free), Mutex::default());
        let awaited = Arc::new(Awaited { doors, project, vacancy, disbelieved, tell });
        for (_, door) in &awaited.doors {
            let mut expected = enter(&door.expected);
            expected.retain(|known| known.strong_count() > 0);
            expected.push(Arc::downgrade(&awaited));
            door.news.send_replace(());
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
                Ok((stream, from)) if heard.len() < ARRIVALS_MAX + ARRIVALS_WAITING_MAX => {
                    heard.push(receive(Weak::clone(&door), stream, from, with.clone()));
                }
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
    let mut tries = 0_usize;
    loop {
        match with.net.bind(port).await {
            Ok(listener) => {
                if let Some(door) = door.upgrade() {
                    *enter(&door.shut) = None;
                }
                return listener;
            }
            Err(error) if tries.is_multiple_of(ARRIVAL_NAMED_EVERY) => {
                let dialect = door.upgrade().map(|door| door.dialect);
                let named = match dialect {
                    Some(dialect) => taken(port, dialect, with).await,
                    None => None,
                };
                if let Some(door) = door.upgrade() {
                    *enter(&door.shut) = Some(NotHere::bound(&error, named));
                }
            }
            Err(_) => {}
        }
        tries = tries.wrapping_add(1);
        tokio::time::sleep(ARRIVAL_BIND_EVERY).await;
    }
}

/// Says which program has the port, and what a user can do.
async fn taken(port: u16, dialect: &'static dyn Dialect, with: &Surroundings) -> Option<String> {
    let host = Arc::clone(&with.host);
    let looked_up = host::run(&*with.host, move || host.port_owner(port));
    let owner = timeout(OWNER_LOOKUP_MAX, looked_up).await.ok()???;
    let fix = if owner.name.starts_with("holdfast") {
        "it is a holdfast of another client: end that one, or start both with --hub, and they share the editor"
    } else {
        dialect.frees_port(&owner.command_line)
    };
    Some(format!("{} (pid {}); {fix}", clean(&owner.name), owner.pid))
}

/// Hears whose editor has connected, and keeps its connection if it is expected.
async fn receive(door: Weak<Door>, mut stream: BoxStream, from: SocketAddr, with: Surroundings) {
    let Some(dialect) = door.upgrade().map(|door| door.dialect) else { return };
    let Some(mut reception) = dialect.reception() else { return };
    let why = match timeout(ARRIVAL_WORDS_MAX, introduced(&mut stream, &mut *reception)).await {
        Ok(Ok(Some(who))) => match let_in(&door, who, stream, from, (&*reception, &with)).await {
            Some((back, why)) => {
                stream = back;
                why
            }
            None => return,
        },
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

/// Keeps the connection of an editor that is expected, or keeps it waiting until it is. Returns it, and why it is not kept, if it is to
/// be turned away; `None` if nothing more is to be done with it.
async fn let_in(
    door: &Weak<Door>,
    mut who: Introduction,
    mut stream: BoxStream,
    from: SocketAddr,
    (reception, with): (&dyn Reception, &Surroundings),
) -> Option<(BoxStream, String)> {
    let mut told: Option<String> = None;
    loop {
        let open = door.upgrade()?;
        let mut news = open.news.subscribe();
        let (back, why) = open.admit(&who, stream, from, with).await.err()?;
        stream = back;
        let place = Arc::clone(&open.waiting).try_acquire_owned().ok().filter(|_| reception.waits());
        let Some(_place) = place else { return Some((stream, why)) };
        if told.as_ref() != Some(&why) {
            with.events.arrival_refused(open.port, &why);
            told = Some(why);
        }
        // Whoever waits does not keep the port open.
        drop(open);
        if !waits(&mut stream, &mut who.rest, &mut news).await {
            return None;
        }
    }
}

/// Waits until an editor may be let in. Returns false if it has closed the connection, if it says too much, or if the port is closed.
async fn waits(stream: &mut BoxStream, said: &mut Bytes, news: &mut watch::Receiver<()>) -> bool {
    let again = Instant::now() + ARRIVAL_LOOK_AGAIN;
    let mut buffer = [0; 1024];
    loop {
        tokio::select! {
            biased;
            changed = news.changed() => return changed.is_ok(),
            read = stream.read(&mut buffer) => match read {
                Ok(count @ 1..) if said.len() + count <= ARRIVAL_WORDS_MAX_BYTES => {
                    *said = [said, buffer.get(..count).unwrap_or_default()].concat().into();
                }
                Ok(_) | Err(_) => return false,
            },
            () = tokio::time::sleep_until(again) => return true,
        }
    }
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
        who: &Introduction,
        stream: BoxStream,
        from: SocketAddr,
        with: &Surroundings,
    ) -> Result<(), (BoxStream, String)> {
        let expected: Vec<Arc<Awaited>> = enter(&self.expected).iter().filter_map(Weak::upgrade).collect();
        let (host, said) = (Arc::clone(&with.host), PathBuf::from(&who.project));
        let (port, dialect, candidates) = (self.port, self.dialect, expected);
        let find = move || {
            let is_meant = |awaited: &Arc<Awaited>| survey::same_project(&said, &awaited.project);
            let awaited = candidates.into_iter().find(|awaited| said.is_absolute() && is_meant(awaited))?;
            let caller = host.caller(from, port);
            let checked = survey::check_caller(&*host, caller, &awaited.project, dialect, awaited.is_named(port));
            Some((awaited, checked))
        };
        let (awaited, checked) = match timeout(OWNER_LOOKUP_MAX, host::run(&*with.host, find)).await {
            Ok(Some(Some(found))) => found,
            Ok(Some(None)) => return Err((stream, "nobody here is for the project that it has open".to_owned())),
            Ok(None) | Err(_) => return Err((stream, "its process could not be looked up in time".to_owned())),
        };
        if let Err(why) = checked {
            if why.concerns_user() {
                *enter(&awaited.disbelieved) = Some(why.to_string());
            }
            return Err((stream, why.to_string()));
        }
        *enter(&awaited.disbelieved) = None;
        let kept = Kept { port: self.port, stream, read: BytesMut::from(&*who.rest) };
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
    /// Why nothing can be listened to, or why somebody was not believed.
    pub fn take(self: &Arc<Self>, port: u16) -> Result<Option<BoxStream>, NotHere> {
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
        let door = self.doors.iter().find(|(known, _)| known.number == port);
        let shut = door.and_then(|(_, door)| enter(&door.shut).clone());
        let says = |why| NotHere::Other(format!("it says that it has this project open, and was turned away: {why}"));
        shut.or_else(|| enter(&self.disbelieved).take().map(says)).map_or(Ok(None), Err)
    }

    /// Whether the user named this port.
    fn is_named(&self, port: u16) -> bool {
        self.doors.iter().any(|(known, _)| known.number == port && known.is_named)
    }

    /// Whether this is the editor of a project that is expected at these ports.
    pub fn is_at(&self, ports: &[Port], dialect: &'static dyn Dialect, project: &Path) -> bool {
        self.project == project
            && self.doors.iter().map(|(port, _)| port).eq(ports)
            && self.doors.iter().all(|(_, door)| door.dialect == dialect)
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
        self.of.doors.iter().for_each(|(_, door)| door.news.send_modify(|()| ()));
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

#[cfg(test)]
mod tests;
