//! More input than the gateway accepts: lines without an end, requests without a pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::Room;
use super::client::Client;
use super::system::memory_kib;
use super::unity::Unity;

/// More memory than two lines of the greatest length and a queue of answers need in a debug build. A line that was stored
/// whole would need 64 MiB alone.
const CEILING_KIB: u64 = 96 * 1024;

/// Measures the memory of a process until it is stopped, and returns the highest value.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

impl Watch {
    fn start(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut most = 0;
            while !stopped.load(Ordering::Relaxed) {
                most = most.max(memory_kib(pid));
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            most
        });
        Self { stop, thread }
    }

    fn most(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watch ends")
    }
}

#[test]
fn a_line_of_sixty_four_megabytes_is_answered_and_not_kept() {
    let room = Room::new();
    let mut client = Client::open(&room, &[]);
    let watch = Watch::start(client.pid());
    let garbage = vec![b'x'; 1024 * 1024];
    for _ in 0..64 {
        client.write(&garbage).expect("it reads on");
    }
    client.write(b"\n").expect("it reads on");
    assert_eq!(client.unaddressed()["error"]["code"], -32700);
    // A request that is too long, with its id at the end, is answered under that id.
    let (id, _) = client.request_line("tools/call", &json!({}));
    client
        .write(
            b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"",
        )
        .expect("it reads on");
    for _ in 0..17 {
        client.write(&garbage).expect("it reads on");
    }
    client.write(format!("\"}}}},\"id\":{id}}}\n").as_bytes()).expect("it reads on");
    let answer = client.answer(id);
    assert!(answer.0["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", answer.0);
    let ping = client.ask("ping", &json!({}));
    client.answer(ping);
    let most = watch.most();
    assert!(most < CEILING_KIB, "{most} KiB");
    client.close(&room);
}

#[test]
fn thousands_of_requests_at_once_are_each_answered() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut client = Client::open(&room, &["--port", &unity.port.to_string()]);
    client.echoes();
    let watch = Watch::start(client.pid());
    let mut ids = Vec::new();
    for n in 0..4000 {
        let (method, params) = match n % 4 {
            0 => ("tools/list", json!({})),
            1 => ("tools/call", json!({"name": "echo", "arguments": {"text": n.to_string()}})),
            2 => ("no/such/method", json!([])),
            _ => ("ping", json!({})),
        };
        ids.push(client.ask(method, &params));
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"n": n}}));
    }
    for id in ids {
        client.answer(id);
    }
    let most = watch.most();
    assert!(most < CEILING_KIB, "{most} KiB");
    client.close(&room);
}
