//! `holdfast serve`: MCP on stdin and stdout.

use std::io::{self, IsTerminal as _, Read, Write};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::gateway_args::GatewayArgs;
use super::{Exit, output};
use crate::actors::gateway::OnWorkers;
use crate::actors::intake;
use crate::actors::main_loop::{self, Pumps, Why};
use crate::companions::Companions;
use crate::estate::Estate;
use crate::host::RealHost;
use crate::limits::{PARENT_WATCH_EVERY, START_THREADS};
use crate::net::Tcp;
use crate::run_record::RunRecord;
use crate::telemetry::exporter::Exporter;
use crate::telemetry::logs;

const ON_A_TERMINAL: &str = "\
holdfast is an MCP server: an AI editor starts it and talks to it on stdin and stdout. It is waiting for such a client now
(Ctrl-D ends it). To see what it does, run:  holdfast demo
To see what it finds:  holdfast doctor       All commands:  holdfast --help";

/// Serves until the client goes.
pub fn run(arguments: &GatewayArgs, bare: bool) -> ExitCode {
    if bare && io::stdin().is_terminal() {
        output::complain(ON_A_TERMINAL);
    }
    if let Err(error) = spare_threads() {
        return no_threads(&error);
    }
    let logs = logs::start(arguments.editor.verbosity(false), arguments.editor.log_format);
    log_panics();
    let (config, complaints) = arguments.config();
    let (runtime, workers) = match runtimes() {
        Ok(both) => both,
        Err(error) => return no_threads(&error),
    };
    let why = runtime.block_on(async {
        let estate = Estate::new(config, Arc::new(Tcp), Arc::new(RealHost));
        estate.count_tasks_of(tokio::runtime::Handle::current());
        estate.count_tasks_of(workers.handle().clone());
        for complaint in complaints {
            // The session goes on: the AI hears of it in holdfast_status, and a person here.
            estate.events.project_problem(&complaint);
        }
        if let Some(logs) = &logs {
            estate.events.watch_logs(logs.counts());
        }
        let record = RunRecord::keep(&estate);
        let exporter = Exporter::start(&estate);
        let companions = Companions::start(&estate);
        let (quit, quitting) = mpsc::channel(4);
        tokio::spawn(watch_signals(quit.clone()));
        tokio::spawn(watch_client(Arc::clone(&estate), quit));
        let pumps = stdio_pumps(&estate);
        let why = main_loop::run(&estate, OnWorkers(workers.handle().clone()), pumps, quitting).await;
        companions.end().await;
        exporter.end(&estate, why).await;
        record.remove().await;
        why
    });
    // The thread that reads stdin may be blocked for ever: it must not hold the exit.
    runtime.shutdown_background();
    workers.shutdown_background();
    drop(logs);
    match why {
        Why::Exhausted => {
            output::complain("holdfast: its own parts failed too often; the session cannot go on (please report this)");
            Exit::Internal.into()
        }
        Why::InputEnded | Why::Signal | Why::ClientGone => Exit::Ok.into(),
    }
}

/// Starts as many threads as a session begins with and lets them end. The runtime and its blocking lane panic where they get
/// none, in the middle of a session; so it is asked for before there is one.
fn spare_threads() -> io::Result<()> {
    let mut held = Vec::with_capacity(START_THREADS);
    for _ in 0..START_THREADS {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // Each lives until all were had: it ends when its sender falls.
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = ended.recv();
        })?;
        held.push((end, thread));
    }
    for (end, thread) in held {
        drop(end);
        let _ = thread.join();
    }
    Ok(())
}

fn no_threads(error: &io::Error) -> ExitCode {
    output::complain(&format!(
        "holdfast: the system gave it no threads ({error}); nothing was served. Raise the limit on processes (ulimit -u, or \
         that of its container), or end programs that run, and start it again"
    ));
    Exit::NoResources.into()
}

/// The main thread's runtime (main loop, deadlines, supervision) and the actors' (one worker).
///
/// Two, so that a stuck actor stops neither its supervisor nor the answers that fall due. One worker, because a call goes
/// through three actors one after the other: a second worker only takes them from each other, which costs a third of the
/// calls per second (docs/benchmarks.md).
fn runtimes() -> io::Result<(Runtime, Runtime)> {
    let main = Builder::new_current_thread().enable_all().build()?;
    let workers = Builder::new_multi_thread().worker_threads(1).thread_name("actors").enable_all().build()?;
    Ok((main, workers))
}

/// Real stdin and stdout on threads of their own: blocking reads and writes that disturb no worker.
fn stdio_pumps(estate: &Arc<Estate>) -> Pumps {
    let handle = tokio::runtime::Handle::current();
    let on_a_thread = |name: &str, pump: Pin<Box<dyn Future<Output = ()> + Send>>| {
        let (ended, end) = oneshot::channel();
        let handle = handle.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            handle.block_on(pump);
            let _ = ended.send(());
        });
        // Without a thread the end is seen at once, since the sender is gone with the closure.
        drop(thread);
        tokio::spawn(async move {
            let _ = end.await;
        })
    };
    let reading = intake::run(Arc::clone(estate), Blocking(io::stdin()));
    let writer = Arc::clone(estate);
    let writing = async move { writer.front.pump_out(Blocking(io::stdout())).await };
    Pumps::elsewhere(on_a_thread("stdin", Box::pin(reading)), on_a_thread("stdout", Box::pin(writing)))
}

/// Blocking I/O as it is, for a pump on a thread of its own.
struct Blocking<T>(T);

/// A signal that interrupts a read or a write is neither the client's end nor ours.
fn uninterrupted<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl<T: Read + Unpin> AsyncRead for Blocking<T> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let count = uninterrupted(|| self.0.read(buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Blocking<T> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(uninterrupted(|| self.0.write(bytes)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(unix)]
pub(super) async fn watch_signals(quit: mpsc::Sender<Why>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    let _ = quit.send(Why::Signal).await;
}

#[cfg(windows)]
pub(super) async fn watch_signals(quit: mpsc::Sender<Why>) {
    use tokio::signal::windows;
    let (Ok(mut c), Ok(mut brk), Ok(mut close)) = (windows::ctrl_c(), windows::ctrl_break(), windows::ctrl_close())
    else {
        return;
    };
    tokio::select! {
        _ = c.recv() => {}
        _ = brk.recv() => {}
        _ = close.recv() => {}
    }
    let _ = quit.send(Why::Signal).await;
}

/// The client's death is seen even when a grandchild holds the pipe open, or a blocked stdout keeps stdin from being read.
#[cfg(unix)]
async fn watch_client(estate: Arc<Estate>, quit: mpsc::Sender<Why>) {
    let parent = rustix::process::getppid();
    let mut every = tokio::time::interval(PARENT_WATCH_EVERY);
    loop {
        every.tick().await;
        let orphaned = rustix::process::getppid() != parent;
        if orphaned || (estate.front.is_blocked() && stdin_hung_up()) {
            let _ = quit.send(Why::ClientGone).await;
            return;
        }
    }
}

#[cfg(unix)]
fn stdin_hung_up() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = poll(&mut fds, Some(&at_once)).is_ok();
    let [fd] = fds;
    polled && fd.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(not(unix))]
async fn watch_client(_estate: Arc<Estate>, _quit: mpsc::Sender<Why>) {
    // Windows closes the pipe with the client's process; stdin's end is the signal.
    let _ = PARENT_WATCH_EVERY;
}

/// A panic is one structured line on stderr, never a word on stdout, and never the panic's arguments in full.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let said = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("");
        tracing::error!(event = "panic", place, said = %crate::telemetry::clean(said));
    }));
}
