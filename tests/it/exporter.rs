//! Failures inside the exporter of metrics: it restarts and reports them, and nothing else is affected.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::support::host::MemoryHost;
use crate::support::net::MemoryNet;
use crate::support::sabotage::MARK;
use crate::support::scrape::{Scrape, answer, get};
use crate::support::{Log, Setup, until, within};
use holdfast::actors::parts::Parts;
use holdfast::config::Config;
use holdfast::core::ShutdownReason;
use holdfast::limits::METRICS_RECORD_RETRY;
use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::platform::host::Host as _;
use holdfast::services::metrics::Exporter;
use ractor::ActorStatus;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::sleep;

const METRICS_PORT: u16 = 9464;

fn counted() -> Config {
    Config { metrics: Some(([127, 0, 0, 1], METRICS_PORT).into()), ..Setup::default().config }
}

/// Where the exporter is made to panic on purpose.
#[derive(Default)]
struct Mines {
    accept: AtomicBool,
    read: AtomicBool,
}

fn step_on(mine: &AtomicBool) {
    if mine.swap(false, Ordering::SeqCst) {
        std::panic::panic_any(MARK);
    }
}

/// The simulated network, with deliberate panics on the side that accepts connections.
struct Mined(Arc<MemoryNet>, Arc<Mines>);

impl Net for Mined {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        self.0.connect(port)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            let listener = self.0.bind(port).await?;
            Ok(Arc::new(MinedListener(listener, self.1.clone())) as Arc<dyn Listener>)
        })
    }
}

struct MinedListener(Arc<dyn Listener>, Arc<Mines>);

impl Listener for MinedListener {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = self.0.accept().await?;
            step_on(&self.1.accept);
            Ok((Box::new(MinedStream(stream, self.1.clone())) as BoxStream, peer))
        })
    }
}

struct MinedStream(BoxStream, Arc<Mines>);

impl AsyncRead for MinedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        step_on(&self.1.read);
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for MinedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// An exporter without an actor tree, so that nothing else reads the clock or accepts connections.
struct Alone {
    parts: Arc<Parts>,
    net: Arc<MemoryNet>,
    host: Arc<MemoryHost>,
    mines: Arc<Mines>,
    exporter: Exporter,
}

async fn alone() -> Alone {
    crate::support::quiet_sabotage();
    let Setup { net, host, .. } = Setup::default();
    let mines = Arc::new(Mines::default());
    let mined = Arc::new(Mined(net.clone(), mines.clone()));
    let parts = Parts::new(counted(), mined, host.clone());
    let exporter = Exporter::start(&parts);
    until("it listens", || net.listens(METRICS_PORT)).await;
    Alone { parts, net, host, mines, exporter }
}

impl Alone {
    fn scrape(&self) -> Scrape {
        Scrape::of(&self.parts)
    }

    /// Checks how often the exporter was started again so far.
    fn restarts(&self, count: f64) {
        let scrape = self.scrape();
        scrape.is("holdfast_actor_restarts_total", &[("actor", "exporter"), ("reason", "failed")], count);
        scrape.is("holdfast_actor_restarts_total", &[], count);
        scrape.is("holdfast_supervisor_escalations_total", &[], 0.0);
    }

    async fn asks(&self) -> BoxStream {
        let mut socket = self.net.connect(METRICS_PORT).await.unwrap();
        socket.write_all(get("/metrics").as_bytes()).await.unwrap();
        socket
    }

    /// Checks that the exporter answers and that its clock ticks.
    async fn is_whole(&self) {
        assert_eq!(answer(self.asks().await).await.0, 200);
        let before = self.scrape().sum("holdfast_runtime_lag_seconds_count", &[]);
        sleep(Duration::from_secs(3)).await;
        let after = self.scrape().sum("holdfast_runtime_lag_seconds_count", &[]);
        assert!(after >= before + 2.0, "it does not tick: {before}, then {after}");
    }
}

/// Checks that a scrape that met a deliberate panic receives nothing.
async fn silence(mut socket: BoxStream) {
    let mut text = String::new();
    let _ = within("the end", socket.read_to_string(&mut text)).await;
    assert_eq!(text, "");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_any_part_of_the_exporter_restarts_all_of_it() {
    let stage = alone().await;
    stage.is_whole().await;
    stage.mines.accept.store(true, Ordering::SeqCst);
    silence(stage.asks().await).await;
    // The delays before the first restarts are below a second.
    sleep(Duration::from_secs(1)).await;
    stage.restarts(1.0);
    stage.is_whole().await;
    stage.host.plant_at_the_clock();
    sleep(Duration::from_secs(2)).await;
    assert!(stage.host.struck(), "nobody looked at the clock");
    stage.restarts(2.0);
    stage.is_whole().await;
    stage.exporter.end(&stage.parts, ShutdownReason::Signal).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_scrape_costs_that_scrape() {
    let stage = alone().await;
    stage.mines.read.store(true, Ordering::SeqCst);
    silence(stage.asks().await).await;
    stage.is_whole().await;
    stage.restarts(0.0);
    stage.exporter.end(&stage.parts, ShutdownReason::Signal).await;
}

#[tokio::test(start_paused = true)]
async fn late_timers_are_counted_and_a_clock_that_jumps_is_told() {
    let (log, _guard) = Log::start();
    let stage = alone().await;
    let lag = |suffix: &str, labels: &[(&str, &str)]| {
        Scrape::of(&stage.parts).sum(&format!("holdfast_runtime_lag_seconds_{suffix}"), labels)
    };
    sleep(Duration::from_secs(10)).await;
    assert!(lag("sum", &[]) < 0.1 && lag("count", &[]) >= 9.0);
    // No task runs for seven seconds, as on an overloaded machine.
    tokio::time::advance(Duration::from_secs(7)).await;
    sleep(Duration::from_millis(10)).await;
    assert!((5.9..=7.1).contains(&lag("sum", &[])), "{}", lag("sum", &[]));
    let on_time = lag("bucket", &[("le", "1")]);
    assert!((lag("count", &[]) - on_time - 1.0).abs() < 1e-9, "one was late");
    assert_eq!(log.of("clock_jumped"), [""; 0]);

    stage.host.set_clock_ahead(Duration::from_secs(3600));
    sleep(Duration::from_secs(2)).await;
    stage.host.set_clock_ahead(Duration::from_secs(1800));
    sleep(Duration::from_secs(2)).await;
    let jumps = log.of("clock_jumped");
    let [ahead, back] = &jumps[..] else { panic!("{jumps:?}") };
    assert!(ahead.contains("seconds=3600") && back.contains("seconds=-1800"), "{jumps:?}");
    stage.exporter.end(&stage.parts, ShutdownReason::Signal).await;
}

/// A folder that exists and cannot be written is as good as none: the status says so until a try has worked.
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_written_is_a_problem_until_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join(format!("holdfast-{}.json", std::process::id()));
    let obstacle = record.with_extension("lock");
    std::fs::create_dir(&obstacle).unwrap();
    let config = Config { metrics_records: Some(folder.path().to_path_buf()), ..counted() };
    let Setup { net, host, .. } = Setup::default();
    let parts = Parts::new(config, net, host.clone());
    let exporter = Exporter::start(&parts);
    let problems = || parts.env.health.problems();
    until("it is told", || !problems().is_empty()).await;
    let [problem] = &problems()[..] else { panic!("{:?}", problems()) };
    let named = folder.path().display().to_string();
    assert!(problem.starts_with("metrics_records: ") && problem.contains(&named), "{problem}");
    assert!(problem.contains("let the gateway's user write there"), "{problem}");
    // It stays, since a try without success changes nothing.
    sleep(METRICS_RECORD_RETRY * 3).await;
    assert_eq!((problems().len(), host.exists(&record)), (1, false));
    std::fs::remove_dir(&obstacle).unwrap();
    sleep(METRICS_RECORD_RETRY * 2).await;
    assert_eq!((problems(), host.exists(&record)), (Vec::new(), true));
    exporter.end(&parts, ShutdownReason::Signal).await;
}

#[tokio::test(start_paused = true)]
async fn the_last_words_of_a_gateway_that_gave_up_say_so() {
    let config = Config { state_dir: Some("/state".into()), ..counted() };
    let mut gateway = crate::support::gateway(Setup { config, ..Setup::default() });
    let exporter = Exporter::start(&gateway.parts);
    gateway.client.open().await;
    // The session ends four times within a minute, which is too often. The tree is rebuilt three times.
    for tree in 1..=4 {
        for _ in 0..4 {
            let lives = gateway.sabotage.lives("session").len();
            gateway.sabotage.cell("session").kill();
            until("its end is seen", || {
                gateway.sabotage.lives("session").len() > lives
                    || gateway.sabotage.cell("registry").get_status() == ActorStatus::Stopped
            })
            .await;
        }
        if tree < 4 {
            // The longest pause before a rebuild is 30 s.
            sleep(Duration::from_secs(40)).await;
            Scrape::of(&gateway.parts).is("holdfast_supervisor_escalations_total", &[], f64::from(tree));
            assert_eq!(gateway.sabotage.cell("session").get_status(), ActorStatus::Running);
        }
    }
    let why = within("the end", &mut gateway.end).await.unwrap();
    assert_eq!(why, ShutdownReason::Exhausted);
    exporter.end(&gateway.parts, why).await;
    let words = gateway.host.read("/state/metrics/holdfast_last_exit.prom".as_ref(), 1 << 20);
    let words = String::from_utf8(words.unwrap()).unwrap();
    assert!(words.contains("holdfast_last_exit_info{reason=\"exhausted\""), "{words}");
    let words = Scrape::read(&words);
    words.is("holdfast_last_exit_supervisor_escalations", &[("supervisor", "gateway")], 4.0);
    words.is("holdfast_last_exit_invariant_violations", &[], 0.0);
    assert!(words.sum("holdfast_last_exit_actor_restarts", &[("actor", "session")]) >= 9.0);
    gateway.client.check();
}
