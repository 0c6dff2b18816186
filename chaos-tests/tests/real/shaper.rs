//! A proxy that makes a network bad without cutting it: small writes, latency, a narrow pipe, silence, a slow end.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to the bytes, in both directions.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Most bytes in one write.
    pub slice: usize,
    /// Before each read is passed on.
    pub latency: Duration,
    /// After each write: with `slice` this is the bandwidth.
    pub pause: Duration,
    /// Before an end is passed on.
    pub slow_end: Duration,
}

impl Shape {
    pub const PLAIN: Self =
        Self { slice: usize::MAX, latency: Duration::ZERO, pause: Duration::ZERO, slow_end: Duration::ZERO };
}

/// A running proxy; its thread lives as long as the test.
pub struct Shaper {
    pub port: u16,
    hole: Arc<AtomicBool>,
    dials: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Shaper {
    pub fn start(editor: u16, shape: Shape) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (hole, dials) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (dark, count) = (Arc::clone(&hole), Arc::clone(&dials));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&streams);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, editor)) else { continue };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                kept.lock().expect("no holder panics").extend(near.try_clone().into_iter().chain(far.try_clone()));
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let dark = Arc::clone(&dark);
                    std::thread::spawn(move || pump(from, to, shape, &dark));
                }
            }
        });
        Self { port, hole, dials, streams }
    }

    /// Whether everything vanishes, without an end.
    pub fn black_hole(&self, on: bool) {
        self.hole.store(on, Ordering::SeqCst);
    }

    /// Ends every connection.
    pub fn cut(&self) {
        for stream in self.streams.lock().expect("no holder panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, shape: Shape, hole: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if hole.load(Ordering::SeqCst) {
            continue;
        }
        std::thread::sleep(shape.latency);
        for part in buffer[..count].chunks(shape.slice) {
            if to.write_all(part).is_err() {
                return;
            }
            if !shape.pause.is_zero() {
                std::thread::sleep(shape.pause);
            }
        }
    }
    std::thread::sleep(shape.slow_end);
    let _ = to.shutdown(Shutdown::Write);
}
