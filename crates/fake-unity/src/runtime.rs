//! The editor's runtime: only this module begins and ends domains and bridges.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast_net::{BoxFuture, BoxStream, Listener};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::events::Event;
use super::face::{Face, IfTaken, Link, Moment, Step};
use super::main_thread;
use super::model::{Editor, Request};
use super::project::Project;
use super::work::{NextPort, Order};
use crate::limits::{BIND_RETRY, CONNECTIONS_MAX, NOTES_MAX, PORTS_BEHIND, QUEUE_MAX};

/// The lock file that exists during a domain reload.
const RELOAD_LOCK: &str = "Temp/domainreload.lock";
/// The lock file that exists while a bridge is starting.
const START_LOCK: &str = "Temp/serverstarting.lock";

/// A task that ends when its handle is ended or dropped.
struct Part<T = ()> {
    stop: oneshot::Sender<T>,
    task: JoinHandle<()>,
}

impl<T> Part<T> {
    fn begin<F: Future<Output = ()> + Send + 'static>(run: impl FnOnce(oneshot::Receiver<T>) -> F) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(run(stopped)) }
    }

    async fn end(self, how: T) {
        // Fails if the task has already ended; then there is nothing to stop.
        let _ = self.stop.send(how);
        // If the task panicked, the panic was printed already. Here it only matters that the task has ended.
        let _ = self.task.await;
    }
}

/// The next step of the runtime if it gets no order.
enum Next {
    /// Listen on this port again, after a reload; 0: on another one.
    Return { port: u16 },
    /// See whether the scripts compile now, so that a process which is in Safe Mode can begin its first domain.
    Scripts,
    /// Notify the peers that the bridge is back, one tick after it began to listen.
    Back,
}

/// The owner of an editor's tasks.
pub(crate) struct Runtime {
    editor: Arc<Editor>,
    face: Arc<dyn Face>,
    requests: mpsc::Receiver<Request>,
    /// The task that accepts connections. Its stop signal says how long the listener stays open after the connections are closed.
    bridge: Option<Part<Duration>>,
    main: Option<Part>,
    next: Option<(Instant, Next)>,
    last_port: u16,
    /// Whether the editor's process runs. Also true between two domains.
    alive: bool,
    /// Whether the process ends without cleaning up.
    crashes: bool,
}

impl Runtime {
    /// Opens the project and starts the bridge.
    ///
    /// # Errors
    /// Any error of the system about the port or the project.
    pub(crate) async fn start(
        editor: Arc<Editor>,
        face: Arc<dyn Face>,
        requests: mpsc::Receiver<Request>,
    ) -> io::Result<Self> {
        let last_port = editor.config.port;
        let mut runtime = Self {
            editor,
            face,
            requests,
            bridge: None,
            main: None,
            next: None,
            last_port,
            alive: false,
            crashes: false,
        };
        runtime.open().await?;
        Ok(runtime)
    }

    /// Carries out orders until [`Order::Quit`], or until nothing can send orders any more.
    pub(crate) async fn run(mut self) {
        loop {
            let at = self.next.as_ref().map(|(at, _)| *at);
            tokio::select! {
                biased;
                request = self.requests.recv() => {
                    let Some(Request { order, done }) = request else { return };
                    let quits = order == Order::Quit;
                    let result = self.carry_out(order).await;
                    if let Some(done) = done {
                        // The caller may have stopped waiting.
                        let _ = done.send(result);
                    }
                    if quits {
                        return;
                    }
                }
                () = until(at) => match self.next.take() {
                    Some((_, Next::Return { port })) => self.come_back(port, true).await,
                    Some((_, Next::Scripts)) if self.is_in_safe_mode() => {}
                    Some((_, Next::Scripts)) => self.come_back(self.port_again(), false).await,
                    Some((_, Next::Back)) => self.face.tell(&self.editor, &Moment::Back).await,
                    None => {}
                },
            }
        }
    }

    async fn carry_out(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Reload { silence, port } => {
                if self.main.is_none() {
                    return Err(io::Error::new(io::ErrorKind::NotConnected, "the editor does not run; use up"));
                }
                let ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
                self.lock(RELOAD_LOCK, true);
                self.face.tell(&self.editor, &Moment::ReloadBegins).await;
                self.face.domain_ended(&self.editor).await;
                self.end_bridge(self.face.listener_outlives_connections()).await;
                self.end_main().await;
                self.domain_settings();
                self.reaches(Step::Reloads).await;
                self.editor.event(Event::ReloadBegun { silence_ms: ms });
                let port = match port {
                    NextPort::Same if self.face.keeps_port() => self.last_port,
                    NextPort::Same | NextPort::New => 0,
                };
                self.next = Some((Instant::now() + silence, Next::Return { port }));
            }
            Order::ToolsChanged { names, change } => {
                let tools = self.editor.state().tools.len();
                self.editor.event(Event::ToolsChanged { tools });
                self.face.tell(&self.editor, &Moment::ToolsChanged { names, change }).await;
            }
            Order::StateChanged => self.face.tell(&self.editor, &Moment::StateChanged).await,
            Order::Push { kind } => self.face.tell(&self.editor, &Moment::Push { kind }).await,
            Order::Down { reset } => self.down(reset).await,
            Order::Up => match (&self.bridge, &self.main) {
                (Some(_), _) => {}
                (None, Some(_)) => {
                    self.next = None;
                    self.listen(self.port_again(), false).await?;
                }
                (None, None) => {
                    self.lock(RELOAD_LOCK, false);
                    self.open().await?;
                }
            },
            Order::Crash => {
                self.crashes = true;
                self.end(Duration::ZERO).await;
                self.crashes = false;
                self.editor.event(Event::Crashed);
            }
            Order::Quit => {
                self.face.tell(&self.editor, &Moment::Quits).await;
                self.end(self.face.listener_outlives_connections()).await;
                self.domain_settings();
                self.reaches(Step::Stops).await;
                if let Some(project) = &self.editor.project {
                    self.editor.file_result("Temp", project.quit());
                }
                self.editor.event(Event::Quit);
            }
        }
        Ok(())
    }

    /// Opens the editor: first the files, then the domain and the bridge.
    async fn open(&mut self) -> io::Result<()> {
        if let Some(project) = &self.editor.project {
            let settings = self.face.settings(&self.editor, self.last_port, false).path;
            let opened = project.claim(settings).and_then(|()| self.face.install(project));
            let opened = opened.and_then(|()| project.opened(self.editor.config.pid()));
            opened.inspect_err(|_| project.give_up())?;
        }
        self.next = None;
        if !std::mem::replace(&mut self.alive, true) {
            self.face.process_began(&self.editor);
        }
        if self.is_in_safe_mode() {
            return Ok(());
        }
        self.listen(self.port_again(), false).await?;
        let files = self.editor.project.as_ref().map(Project::left_alone).unwrap_or_default();
        if !files.is_empty() {
            self.editor.event(Event::LeftAlone { files });
        }
        Ok(())
    }

    /// Returns the port on which a stopped bridge starts again; 0 means any port. The first bridge starts on the configured port.
    fn port_again(&self) -> u16 {
        let first = self.editor.state().domain == 0;
        if first || self.face.keeps_port() { self.last_port } else { 0 }
    }

    /// If the package's own file belongs to one domain, writes it as for a stopped bridge.
    fn domain_settings(&self) {
        if !self.face.keeps_port() {
            self.write_settings(false);
        }
    }

    /// Whether the process begins no domain, because its package does not run in Safe Mode. Then it looks again soon.
    fn is_in_safe_mode(&mut self) -> bool {
        let is = self.face.ends_in_safe_mode() && self.editor.state().compile_errors;
        if is {
            self.next = Some((Instant::now() + BIND_RETRY, Next::Scripts));
        }
        is
    }

    async fn come_back(&mut self, port: u16, again: bool) {
        if let Err(error) = self.listen(port, again).await {
            self.reaches(Step::GivesUp).await;
            self.editor.event(Event::BindFailed { port, error: error.to_string() });
        }
    }

    /// Begins a domain if none runs, and then the bridge in it.
    async fn listen(&mut self, port: u16, again: bool) -> io::Result<()> {
        self.lock(START_LOCK, true);
        self.reaches(Step::Starts).await;
        if self.face.probes_port() && port != 0 {
            self.probe(port).await;
        }
        if !self.editor.config.listen_delay.is_zero() {
            tokio::time::sleep(self.editor.config.listen_delay).await;
        }
        let bound = self.bind(port, again).await;
        self.lock(RELOAD_LOCK, false);
        self.lock(START_LOCK, false);
        if bound.is_err() {
            self.reaches(Step::Fails).await;
        }
        let listener = self.with_socket(bound?).await?;
        let port = listener.local_addr().port();
        self.last_port = port;
        if self.main.is_none() {
            let (sender, queue) = mpsc::channel(QUEUE_MAX);
            let editor = self.editor.clone();
            self.main = Some(Part::begin(|stop| main_thread::run(editor, queue, stop)));
            let mut state = self.editor.state();
            state.domain += 1;
            state.main = Some(sender);
        }
        let session = self.editor.guid();
        let domain = {
            let mut state = self.editor.state();
            state.port = Some(port);
            state.session_id = session;
            state.domain
        };
        self.write_settings(true);
        let (editor, face) = (self.editor.clone(), self.face.clone());
        self.bridge = Some(Part::begin(|stop| accept(editor, face, listener, stop)));
        self.reaches(Step::Listens).await;
        self.editor.event(Event::Listening { port, pid: self.editor.config.pid(), domain });
        self.face.domain_began(&self.editor, again);
        if again {
            self.editor.event(Event::ReloadEnded { port });
        }
        self.next = Some((Instant::now() + self.editor.config.tick, Next::Back));
        Ok(())
    }

    /// Listens on the port for a moment, to check whether it is free. Connections that are made in that time are never accepted.
    async fn probe(&self, port: u16) {
        if let Ok(_listener) = self.editor.net.bind(port).await {
            tokio::time::sleep(self.editor.config.probe_time).await;
        }
    }

    /// Listens on the port, or does what the package does if that is taken. After a reload the port was its own, at a start it is
    /// the user's choice. Port 0 means any other than the last.
    async fn bind(&self, port: u16, again: bool) -> io::Result<Arc<dyn Listener>> {
        let mut taken = if again { self.face.if_taken() } else { IfTaken::WAITS };
        if self.editor.config.moves_port {
            taken.behind = taken.behind.max(PORTS_BEHIND);
        }
        let began = Instant::now();
        let mut told = false;
        let error = loop {
            let error = match self.open_port(port).await {
                Ok(listener) => return Ok(listener),
                Err(error) => error,
            };
            if !std::mem::replace(&mut told, true) {
                self.editor.event(Event::PortTaken { port, error: error.to_string() });
                self.reaches(Step::FindsPortTaken).await;
            }
            if began.elapsed() >= taken.waits {
                break error;
            }
            tokio::time::sleep(BIND_RETRY).await;
        };
        let behind = (1..=taken.behind).map(|next| port.saturating_add(next));
        for next in behind.chain(taken.among.into_iter().flat_map(|(first, last)| first..=last)) {
            if let Ok(listener) = self.editor.net.bind(next).await {
                return Ok(listener);
            }
        }
        if taken.then_any { self.open_port(0).await } else { Err(error) }
    }

    async fn open_port(&self, port: u16) -> io::Result<Arc<dyn Listener>> {
        if self.face.dials() {
            let editor = Arc::clone(&self.editor);
            // Another port is one that is free: the gateway is to listen on it.
            let port = if port == 0 { editor.net.bind(0).await?.local_addr().port() } else { port };
            return Ok(Arc::new(Dialing { editor, face: Arc::clone(&self.face), port }));
        }
        // Held until another is found, so that the system does not give it again.
        let mut last = None;
        loop {
            let listener = self.editor.net.bind(port).await?;
            if port != 0 || listener.local_addr().port() != self.last_port || last.is_some() {
                return Ok(listener);
            }
            last = Some(listener);
        }
    }

    /// Adds the local socket of the project, if the package listens on one.
    async fn with_socket(&self, port: Arc<dyn Listener>) -> io::Result<Arc<dyn Listener>> {
        let Some(path) = self.socket() else { return Ok(port) };
        let socket = self.editor.net.bind_local(&path).await?;
        Ok(Arc::new(Both { port, socket }))
    }

    fn socket(&self) -> Option<PathBuf> {
        self.face.local_socket(Path::new(self.editor.project.as_ref()?.root()))
    }

    /// Removes the file of the local socket, as a server does that ends orderly.
    fn remove_socket(&self) {
        let is_real = self.editor.config.machine.is_none();
        if let Some(path) = self.socket().filter(|_| is_real) {
            // A pipe has no file, and a file that is gone already needs nothing.
            let _ = std::fs::remove_file(path);
        }
    }

    async fn down(&mut self, reset: bool) {
        self.next = None;
        if self.bridge.is_none() {
            if self.alive {
                self.reaches(Step::Stops).await;
            }
            return;
        }
        if !reset {
            self.face.tell(&self.editor, &Moment::Stopped).await;
        }
        self.face.domain_ended(&self.editor).await;
        let switch = if reset { self.editor.config.reset.clone() } else { None };
        if let Some(switch) = &switch {
            switch.set(true);
        }
        let outlives = if reset { Duration::ZERO } else { self.face.listener_outlives_connections() };
        self.end_bridge(outlives).await;
        if let Some(switch) = &switch {
            switch.set(false);
        }
        self.write_settings(false);
        self.reaches(Step::Stops).await;
        self.editor.event(Event::Down);
    }

    async fn end(&mut self, listener_outlives: Duration) {
        self.next = None;
        self.alive = false;
        self.face.domain_ended(&self.editor).await;
        self.end_bridge(listener_outlives).await;
        self.end_main().await;
    }

    async fn end_bridge(&mut self, listener_outlives: Duration) {
        if let Some(bridge) = self.bridge.take() {
            bridge.end(listener_outlives).await;
            if !self.crashes {
                self.remove_socket();
            }
        }
        self.editor.state().port = None;
    }

    async fn end_main(&mut self) {
        self.editor.state().main = None;
        if let Some(main) = self.main.take() {
            main.end(()).await;
        }
    }

    fn lock(&self, path: &str, there: bool) {
        if let Some(project) = &self.editor.project
            && self.face.locks()
        {
            let result =
                if there { project.write(path, self.editor.timestamp().as_bytes()) } else { project.remove(path) };
            self.editor.file_result(path, result);
        }
    }

    async fn reaches(&self, step: Step) {
        self.face.reaches(&self.editor, step, self.last_port).await;
    }

    fn write_settings(&self, running: bool) {
        self.editor.keep(self.face.settings(&self.editor, self.last_port, running));
    }
}

/// What a bridge that connects to the gateway has in the place of a listener.
struct Dialing {
    editor: Arc<Editor>,
    face: Arc<dyn Face>,
    port: u16,
}

impl Listener for Dialing {
    fn local_addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move { Ok((self.face.connect(&self.editor, self.port).await, self.local_addr())) })
    }
}

/// A port and a local socket that lead to the same bridge.
struct Both {
    port: Arc<dyn Listener>,
    socket: Arc<dyn Listener>,
}

impl Listener for Both {
    fn local_addr(&self) -> SocketAddr {
        self.port.local_addr()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            tokio::select! {
                accepted = self.port.accept() => accepted,
                accepted = self.socket.accept() => accepted,
            }
        })
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Accepts connections until `stop` is sent. The value of `stop` is the time that the listener stays open after its connections
/// are closed. If it is zero, the port closes first and then the connections.
async fn accept(
    editor: Arc<Editor>,
    face: Arc<dyn Face>,
    listener: Arc<dyn Listener>,
    mut stop: oneshot::Receiver<Duration>,
) {
    let mut links = JoinSet::new();
    let outlives = loop {
        let next = async {
            loop {
                editor.thawed().await;
                tokio::select! {
                    biased;
                    () = editor.frozen() => {}
                    accepted = listener.accept() => return accepted,
                }
            }
        };
        tokio::select! {
            biased;
            told = &mut stop => break told.unwrap_or_default(),
            _ = links.join_next(), if !links.is_empty() => {}
            accepted = next => {
                // If a connection ended before it was accepted, listening goes on after a pause.
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(BIND_RETRY).await;
                    continue;
                };
                if editor.connections() >= CONNECTIONS_MAX {
                    continue;
                }
                let (editor, face) = (editor.clone(), face.clone());
                links.spawn(async move {
                    let (notes, incoming) = mpsc::channel(NOTES_MAX);
                    let mut membership = editor.enter(notes);
                    let link = Link::new(&editor, membership.connection, incoming, stream);
                    membership.reason = face.serve(&editor, link).await;
                });
            }
        }
    };
    if !outlives.is_zero() {
        links.shutdown().await;
        // Connections that arrive now are accepted but not served.
        let mut late = Vec::new();
        let _ = tokio::time::timeout(outlives, async {
            while late.len() < CONNECTIONS_MAX {
                late.extend(listener.accept().await.ok());
            }
        })
        .await;
        drop(listener);
        return;
    }
    drop(listener);
    links.shutdown().await;
}
