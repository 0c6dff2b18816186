//! A proxy that makes a network slow without cutting it: small writes, latency, low bandwidth, silence, a delayed end.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the bytes are delayed and divided, in both directions.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The largest number of bytes in one write.
    pub slice: usize,
    /// The delay before each read is passed on.
    pub latency: Duration,
    /// The delay after each write. Together with `slice` it determines the bandwidth.
    pub pause: Duration,
    /// The delay before the end of a connection is passed on.
    pub slow_end: Duration,
}

impl Shape {
    /// Everything is passed on unchanged.
    pub const PLAIN: Self =
        Self { slice: usize::MAX, latency: Duration::ZERO, pause: Duration::ZERO, slow_end: Duration::ZERO };
}

/// A running proxy. Its threads live as long as the test process.
pub struct Shaper {
    /// The port that it listens on.
    pub port: u16,
    hole: Arc<AtomicBool>,
    deaf: Arc<AtomicBool>,
    trickle: Arc<AtomicU64>,
    dials: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Shaper {
    /// Starts a proxy for an editor's port.
    pub fn start(editor: u16, shape: Shape) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (hole, deaf, dials) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default(), Arc::default());
        let trickle = Arc::<AtomicU64>::default();
        let (dark, mute, slow) = (Arc::clone(&hole), Arc::clone(&deaf), Arc::clone(&trickle));
        let count: Arc<AtomicUsize> = Arc::clone(&dials);
        let streams = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&streams);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, editor)) else { continue };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                kept.lock().expect("no holder panics").extend(near.try_clone().into_iter().chain(far.try_clone()));
                for (from, to, reply) in [(&near, &far, false), (&far, &near, true)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let mut pump = Pump { shape, hole: Arc::clone(&dark), deaf: None, trickle: None };
                    if reply {
                        pump.trickle = Some(Arc::clone(&slow));
                    } else {
                        pump.deaf = Some(Arc::clone(&mute));
                    }
                    std::thread::spawn(move || pump.run(from, to));
                }
            }
        });
        Self { port, hole, deaf, trickle, dials, streams }
    }

    /// Sets whether everything is dropped, including the ends of connections.
    pub fn black_hole(&self, on: bool) {
        self.hole.store(on, Ordering::SeqCst);
    }

    /// Sets whether the proxy leaves the gateway's output unread. The bytes are read after this is turned off.
    pub fn deaf(&self, on: bool) {
        self.deaf.store(on, Ordering::SeqCst);
    }

    /// Sends replies one byte at a time, with this pause between two bytes. With a pause of zero everything is sent at once,
    /// including the rest of a reply that was being sent slowly.
    pub fn trickle(&self, pause: Duration) {
        self.trickle.store(u64::try_from(pause.as_millis()).expect("a short pause"), Ordering::SeqCst);
    }

    /// Ends every connection.
    pub fn cut(&self) {
        for stream in self.streams.lock().expect("no holder panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the number of connections made to the proxy.
    pub fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }
}

/// One direction of a connection.
struct Pump {
    shape: Shape,
    hole: Arc<AtomicBool>,
    deaf: Option<Arc<AtomicBool>>,
    trickle: Option<Arc<AtomicU64>>,
}

/// How often a paused pump checks whether it may continue.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Pump {
    fn run(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        loop {
            while self.deaf.as_ref().is_some_and(|deaf| deaf.load(Ordering::SeqCst)) {
                std::thread::sleep(LOOK_EVERY);
            }
            let Ok(count @ 1..) = from.read(&mut buffer) else { break };
            if self.hole.load(Ordering::SeqCst) {
                continue;
            }
            std::thread::sleep(self.shape.latency);
            if !self.pass(&buffer[..count], &mut to) {
                return;
            }
        }
        while self.hole.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK_EVERY);
        }
        std::thread::sleep(self.shape.slow_end);
        let _ = to.shutdown(Shutdown::Write);
    }

    /// Writes the bytes as the shape says. Returns false if the other side accepts no more.
    fn pass(&self, mut bytes: &[u8], to: &mut TcpStream) -> bool {
        while !bytes.is_empty() {
            let trickle = self.trickle.as_ref().map_or(0, |trickle| trickle.load(Ordering::SeqCst));
            let (slice, pause) =
                if trickle > 0 { (1, Duration::from_millis(trickle)) } else { (self.shape.slice, self.shape.pause) };
            let (part, rest) = bytes.split_at(slice.min(bytes.len()));
            if to.write_all(part).is_err() {
                return false;
            }
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
            bytes = rest;
        }
        true
    }
}
