//! `holdfast serve`: MCP on stdin and stdout.

use std::io::{self, IsTerminal as _, Read, Write};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::gateway_args::GatewayArgs;
use super::orphan::{Look, Next, Orphan, Session};
use super::variables::variable;
use super::{Exit, attached, output, resources};
use crate::actors::attachment::HubSeat;
use crate::actors::gateway::OnWorkers;
use crate::actors::instance_keeper::RunRecord;
use crate::actors::parts::Parts;
use crate::config::started_by::StartedBy;
use crate::config::{self, Config};
use crate::core::ShutdownReason;
use crate::core::user_text;
use crate::limits::hub::{LEFT_CALLS_MAX_AGE, OWN_RECORDS_TIDIED_EVERY};
use crate::limits::{FLUSH_MAX, PARENT_WATCH_EVERY};
use crate::platform::filesystem;
use crate::platform::host::{Parent, RealHost, System};
use crate::platform::network::Network;
use crate::platform::stdio::{self, Stdin, Stdout};
use crate::runtime::enter;
use crate::runtime::outbox::PING;
use crate::services::companions::Companions;
use crate::services::metrics::Exporter;
use crate::storage::gateway_calls::GatewayCalls;
use crate::telemetry::logs;
use crate::transport::run::{self, Pumps};

const ON_A_TERMINAL: &[&str] = &[
    match System::HERE {
        System::Windows => {
            "holdfast is an MCP server: an AI editor starts it and talks to it on stdin and stdout. It is waiting for such a client \
             now (Ctrl-Z and Enter end it)."
        }
        System::Linux | System::Macos => {
            "holdfast is an MCP server: an AI editor starts it and talks to it on stdin and stdout. It is waiting for such a client \
             now (Ctrl-D ends it)."
        }
    },
    #[cfg(feature = "demo")]
    "To see what it does:   holdfast demo",
    "To see what it finds:  holdfast doctor",
    "All commands:          holdfast --help",
];

/// Serves until the client closes the session, the client is gone, a signal ends the process, or parts fail too often. `bare`: no
/// subcommand was given, so on a terminal an explanation is printed.
pub fn run(arguments: &GatewayArgs, bare: bool) -> ExitCode {
    if bare && io::stdin().is_terminal() {
        for line in ON_A_TERMINAL {
            output::complain(&output::wrapped(line, "", output::columns()));
        }
    }
    if let Err(error) = resources::spare_threads().and_then(|()| resources::spare_descriptors()) {
        return resources::refused(&error).into();
    }
    let (config, complaints) = arguments.config();
    let config = Config { started_by: StartedBy::all(variable, config::is_in_project), ..config };
    let logs =
        logs::start(arguments.editor.verbosity(false), arguments.editor.shared.log_format, config.state_dir.as_deref());
    log_panics();
    let (runtime, workers) = match runtimes() {
        Ok(both) => both,
        Err(error) => return resources::refused(&error).into(),
    };
    let why: io::Result<ShutdownReason> = runtime.block_on(async {
        let parts = Parts::new(config, Arc::new(Network), Arc::new(RealHost));
        parts.env.health.count_tasks_of(tokio::runtime::Handle::current());
        parts.env.health.count_tasks_of(workers.handle().clone());
        parts.env.events.gateway_started("serve");
        for complaint in complaints {
            // The session goes on. The AI finds the problem in `holdfast_status`, the user finds it in the log.
            parts.env.events.project_problem(&complaint);
        }
        if let Some(write) = stdio::stdout_at_once() {
            parts.client.outbox.write_at_once(write);
        }
        let (pumps, [reader, writer]) = pumps_on_threads(&parts, Stdin, Stdout)?;
        let (quit, quitting) = mpsc::channel(4);
        parts.env.health.spawn("signals", watch_signals(quit.clone()));
        parts.env.health.spawn("client", watch_client(Arc::clone(&parts), quit));
        let spawn = OnWorkers(workers.handle().clone());
        let name = parts.env.fresh();
        keep_records(&parts, &name);
        let hub = attached::seat(&parts, attached::mode(&parts.env.config, arguments.hub).await, name);
        let services = Arc::default();
        let serving =
            parts.env.health.spawn("services", serve_others(Arc::clone(&parts), hub.clone(), Arc::clone(&services)));
        let why = run::run(&parts, spawn, pumps, quitting, hub.as_ref()).await;
        serving.abort();
        let _ = serving.await;
        let services = enter::<Option<Services>>(&services).take();
        if let Some(services) = services {
            services.end(&parts, why).await;
        }
        if let Some(own) = parts.env.own.get() {
            own.end();
        }
        // The reader's thread is waited for only if stdin has ended, and the writer's only if its queue is empty. Otherwise the
        // thread may be blocked.
        if why == ShutdownReason::InputEnded {
            reader.end();
        }
        if parts.client.outbox.is_flushed() {
            writer.end();
        }
        Ok(why)
    });
    // Stops the runtimes in order, so that the process does not end while a thread is at work.
    workers.shutdown_timeout(FLUSH_MAX);
    runtime.shutdown_timeout(FLUSH_MAX);
    drop(logs);
    match why {
        Ok(ShutdownReason::Exhausted) => {
            output::complain(
                "holdfast: a part of it failed that cannot be started again, or parts failed too often; what was asked has been \
                 answered, unless it is the writing to stdout that failed (our fault, please report it)",
            );
            Exit::Internal.into()
        }
        Ok(_) => Exit::Ok.into(),
        Err(error) => resources::refused(&error).into(),
    }
}

/// The services that a gateway with its own links offers beside its client.
struct Services {
    record: RunRecord,
    exporter: Exporter,
    companions: Companions,
}

impl Services {
    async fn end(self, parts: &Arc<Parts>, why: ShutdownReason) {
        self.companions.end().await;
        self.exporter.end(parts, why).await;
        self.record.remove().await;
    }
}

/// Starts these services as soon as the gateway has its own links.
async fn serve_others(parts: Arc<Parts>, hub: Option<Arc<HubSeat>>, services: Arc<Mutex<Option<Services>>>) {
    if let Some(hub) = hub {
        let _ = hub.embeds.subscribe().wait_for(|embeds| *embeds).await;
    }
    let record = RunRecord::keep(parts.seat(&parts.client));
    let (exporter, companions) = (Exporter::start(&parts), Companions::start(&parts));
    *enter(&services) = Some(Services { record, exporter, companions });
}

/// Keeps records of sent calls from here on, under the session's name. If that fails, calls are made without records,
/// and the problem is told. While a hub has the session's links, the records are empty, and their lock shows that the
/// session lives.
pub(super) fn keep_records(parts: &Parts, name: &str) {
    let Some(state) = &parts.env.config.state_dir else { return };
    let created = match filesystem::unreliable_locks(state) {
        Some(kind) => Err(format!("it is on {kind}, where locks of files are not reliable")),
        None => GatewayCalls::create(state, name).map_err(|error| error.to_string()),
    };
    match created {
        Ok(own) => {
            parts.client.be_named(|| name.into());
            let file = Arc::clone(&own.file);
            let _ = parts.env.own.set(own);
            parts.env.health.spawn("records", async move {
                loop {
                    tokio::time::sleep(OWN_RECORDS_TIDIED_EVERY).await;
                    // Records of an earlier gateway are kept here as long as in that gateway's file: nobody brings
                    // these requests again.
                    file.tidy(OWN_RECORDS_TIDIED_EVERY, LEFT_CALLS_MAX_AGE);
                }
            });
        }
        Err(error) => {
            let problem = user_text::records_fail(&state.join("calls"), &error, false);
            parts.env.health.set_problem("records", Some(problem));
        }
    }
}

/// Returns the main thread's runtime (main loop, deadlines, supervision) and the actors' runtime (one worker).
///
/// With two runtimes, a stuck actor stops neither its supervisor nor the answers that fall due. The actors have one worker
/// because a call passes through three actors one after the other: a second worker only moves them between threads, which costs a
/// third of the calls per second (docs/benchmarks.md).
pub(super) fn runtimes() -> io::Result<(Runtime, Runtime)> {
    let main = Builder::new_current_thread().enable_all().build()?;
    let workers = Builder::new_multi_thread().worker_threads(1).thread_name("actors").enable_all().build()?;
    Ok((main, workers))
}

/// A pump on a separate thread, where its blocking reads and writes do not hold up a worker.
struct PumpThread {
    thread: std::thread::JoinHandle<()>,
    /// Dropped to stop a pump that waits for work.
    stop: oneshot::Sender<()>,
    /// Disconnects when the pump has ended.
    ended: std::sync::mpsc::Receiver<()>,
}

impl PumpThread {
    /// Starts the thread, and a task that completes when the pump ends.
    fn start(name: &str, pump: impl Future<Output = ()> + Send + 'static) -> io::Result<(Self, JoinHandle<()>)> {
        let handle = tokio::runtime::Handle::current();
        let (stop, stopped) = oneshot::channel();
        let (pumps, end) = oneshot::channel::<()>();
        let (runs, ended) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            handle.block_on(async {
                tokio::select! {
                    () = pump => {}
                    _ = stopped => {}
                }
            });
            drop((pumps, runs));
        })?;
        let task = tokio::spawn(async move {
            let _ = end.await;
        });
        Ok((Self { thread, stop, ended }, task))
    }

    /// Stops the pump and waits at most `FLUSH_MAX` for it. A thread that is blocked in a read or a write is left running, so
    /// that it does not delay the exit.
    fn end(self) {
        drop(self.stop);
        if self.ended.recv_timeout(FLUSH_MAX) == Err(RecvTimeoutError::Disconnected) {
            let _ = self.thread.join();
        }
    }
}

/// Returns the pumps between the client and the session, and their threads: first stdin's, then stdout's.
fn pumps_on_threads(
    parts: &Arc<Parts>,
    input: impl Read + Unpin + Send + 'static,
    output: impl Write + Unpin + Send + 'static,
) -> io::Result<(Pumps, [PumpThread; 2])> {
    let (reader, reading) = PumpThread::start("stdin", Pumps::reading(parts, Blocking(input)))?;
    let (writer, writing) = PumpThread::start("stdout", Pumps::writing(parts, Blocking(output)))?;
    Ok((Pumps::elsewhere(reading, writing), [reader, writer]))
}

/// Blocking I/O used as async I/O, for a pump on a separate thread.
struct Blocking<T>(T);

impl<T: Read + Unpin> AsyncRead for Blocking<T> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = self.0.read(buffer.initialize_unfilled())?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Sends `ShutdownReason::Signal` after the first signal that asks the process to end. The signal handlers are installed when
/// this function returns (see [`signalled`]).
pub(super) fn watch_signals(quit: mpsc::Sender<ShutdownReason>) -> impl Future<Output = ()> + use<> {
    let signalled = signalled();
    async move {
        if signalled.await.is_some() {
            let _ = quit.send(ShutdownReason::Signal).await;
        }
    }
}

/// Waits for a signal that asks the process to end. Returns `None` at once if a handler cannot be installed; in that case the
/// signal ends the process.
///
/// The handlers are installed when this function returns, not when the future is first polled: on a busy machine that can be much
/// later, and a signal in between would end the process without restoring its terminal or removing its files.
#[cfg(unix)]
pub(super) fn signalled() -> impl Future<Output = Option<()>> + use<> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return None };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        Some(())
    }
}

/// Waits for a console event that asks the process to end. Returns `None` at once if a handler cannot be installed; in that case
/// the event ends the process. The handlers are installed when this function returns, not when the future is first polled.
///
/// Windows ends a process as soon as its handler of one of the last three events returns. tokio's handlers do not return, so the
/// process has the seconds that Windows grants.
#[cfg(windows)]
pub(super) fn signalled() -> impl Future<Output = Option<()>> + use<> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
    let (c, brk, close, logoff, shutdown) = (ctrl_c(), ctrl_break(), ctrl_close(), ctrl_logoff(), ctrl_shutdown());
    async move {
        let (mut c, mut brk) = (c.ok()?, brk.ok()?);
        let (mut close, mut logoff, mut shutdown) = (close.ok()?, logoff.ok()?, shutdown.ok()?);
        tokio::select! {
            _ = c.recv() => {}
            _ = brk.recv() => {}
            _ = close.recv() => {}
            _ = logoff.recv() => {}
            _ = shutdown.recv() => {}
        }
        Some(())
    }
}

/// Detects that the client is gone, even if another process holds its pipe open or a blocked stdout keeps stdin from being read.
async fn watch_client(parts: Arc<Parts>, quit: mpsc::Sender<ShutdownReason>) {
    let parent = Arc::new(Parent::ours());
    let mut orphan = Orphan::default();
    let mut asks = 0_u64;
    loop {
        tokio::time::sleep(PARENT_WATCH_EVERY).await;
        let next = if stdio::stdout_hung_up() || (parts.client.outbox.is_blocked() && stdio::stdin_hung_up()) {
            Next::Gone
        } else if has_ended(&parent).await {
            orphan.look(look(&parts))
        } else {
            Next::Wait
        };
        match next {
            Next::Wait => {}
            Next::Ask => {
                asks += 1;
                let ping = format!(r#"{{"jsonrpc":"2.0","id":"holdfast-alive-{asks}","method":"ping"}}"#);
                if parts.client.outbox.notify(PING, ping, false) {
                    orphan.asked();
                }
            }
            Next::Gone => {
                let _ = quit.send(ShutdownReason::ClientGone).await;
                return;
            }
        }
    }
}

/// Whether the parent process has ended. This does not run on the worker: on a system that must list all processes for
/// it, it takes milliseconds.
async fn has_ended(parent: &Arc<Parent>) -> bool {
    let parent = Arc::clone(parent);
    tokio::task::spawn_blocking(move || parent.has_ended()).await.unwrap_or(false)
}

fn look(parts: &Parts) -> Look {
    let client = parts.client.handshake();
    let session = match client.opened {
        false => Session::None,
        true if client.profile.version.is_stateless() => Session::Mute,
        true => Session::Asks,
    };
    Look { session, heard: parts.client.heard.load(Ordering::Relaxed), is_behind: !parts.client.outbox.is_flushed() }
}

/// Logs a panic as one structured line on stderr, never on stdout. The message is cleaned and shortened.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let said = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("");
        tracing::error!(event = "panic", place, said = %crate::protocol::text::clean(said));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("planted")
        }
    }

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("planted")
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Asking(&'static [u8], std::sync::mpsc::Receiver<()>);

    impl Read for Asking {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                let _ = self.1.recv();
            }
            self.0.read(bytes)
        }
    }

    /// Without a handler, the signal would end the test process.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_signal_that_comes_before_the_first_poll_is_caught() {
        let signalled = signalled();
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGHUP).expect("this process may signal itself");
        assert_eq!(signalled.await, Some(()));
    }

    #[tokio::test]
    async fn only_a_session_whose_protocol_has_a_ping_is_asked() {
        use crate::protocol::mcp::handshake::ProtocolVersion;
        let parts = Parts::new(crate::config::Config::default(), Arc::new(Network), Arc::new(RealHost));
        assert_eq!(look(&parts).session, Session::None);
        for version in ProtocolVersion::ALL {
            parts.client.with_handshake(|client| {
                client.opened = true;
                client.profile.version = version;
            });
            let expected = if version.is_stateless() { Session::Mute } else { Session::Asks };
            assert_eq!(look(&parts).session, expected, "{version:?}");
        }
        assert!(!look(&parts).is_behind);
        parts.client.outbox.notify(PING, "{}".to_owned(), false);
        assert!(look(&parts).is_behind, "nobody writes it");
    }

    #[tokio::test]
    async fn a_panic_on_the_thread_of_stdin_or_of_stdout_is_our_failure_and_no_end_by_the_client() {
        for input_panics in [true, false] {
            let parts = Parts::new(crate::config::Config::default(), Arc::new(Network), Arc::new(RealHost));
            let (open, held) = std::sync::mpsc::channel();
            let asking = Asking(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", held);
            let (pumps, _threads) = if input_panics {
                pumps_on_threads(&parts, Broken, io::sink()).unwrap()
            } else {
                pumps_on_threads(&parts, asking, Broken).unwrap()
            };
            let (_quit, quitting) = mpsc::channel(1);
            let why = run::run(&parts, crate::actors::gateway::Plain, pumps, quitting, None).await;
            assert_eq!(why, ShutdownReason::Exhausted, "stdin: {input_panics}");
            drop(open);
        }
    }
}
