//! A simple client of the editor's bridge, and a relay that records the bytes. Neither uses the gateway's own code.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::SOON;

/// Frames a message for the wire.
pub fn frame(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Removes the first complete message from the front of the bytes and returns it; `None` if there is none.
pub fn take_frame(bytes: &mut Vec<u8>) -> Option<Value> {
    let header = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..header]).to_lowercase();
    let length: usize = text.split("content-length:").nth(1)?.trim().parse().ok()?;
    let whole: Vec<u8> = (bytes.len() >= header + length).then(|| bytes.drain(..header + length).collect())?;
    serde_json::from_slice(&whole[header..]).ok()
}

/// A connection to a bridge.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
    last_id: u64,
}

impl Wire {
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the bridge listens");
        stream.set_read_timeout(Some(SOON)).expect("a bound on reads");
        Self { stream, unread: Vec::new(), last_id: 0 }
    }

    /// Sends bytes. Returns false if the bridge has closed the connection.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends a request and returns its answer. Drops other messages that arrive before it.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        assert!(
            self.send(&frame(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))),
            "{method}"
        );
        loop {
            let message = self.next().unwrap_or_else(|| panic!("no answer to {method}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Waits for the next notification with this method. Drops other messages.
    pub fn notified(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().unwrap_or_else(|| panic!("never told {method}"));
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Waits for the next message; `None` at the end of the connection.
    pub fn next(&mut self) -> Option<Value> {
        let mut part = [0; 16 * 1024];
        loop {
            if let Some(message) = take_frame(&mut self.unread) {
                return Some(message);
            }
            match self.stream.read(&mut part) {
                Ok(count @ 1..) => self.unread.extend_from_slice(&part[..count]),
                Ok(_) => return None,
                Err(error) => {
                    assert!(!matches!(error.kind(), std::io::ErrorKind::WouldBlock), "the bridge says nothing");
                    return None;
                }
            }
        }
    }

    /// Waits for the end of the connection.
    pub fn ends(&mut self) {
        while self.next().is_some() {}
    }
}

/// The bytes of one connection, in each direction.
#[derive(Debug, Default, Clone)]
pub struct Said {
    pub to_editor: Vec<u8>,
    pub to_gateway: Vec<u8>,
}

/// A relay to an editor that records every byte.
pub struct Recorder {
    pub port: u16,
    said: Arc<Mutex<Vec<Said>>>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Recorder {
    pub fn start(editor: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let said = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (noted, kept) = (Arc::clone(&said), Arc::clone(&streams));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, editor)) else { continue };
                kept.lock().expect("no holder panics").extend(near.try_clone().into_iter().chain(far.try_clone()));
                let place = {
                    let mut said = noted.lock().expect("no holder panics");
                    said.push(Said::default());
                    said.len() - 1
                };
                for to_editor in [true, false] {
                    let (Ok(near), Ok(far)) = (near.try_clone(), far.try_clone()) else { continue };
                    let (from, to) = if to_editor { (near, far) } else { (far, near) };
                    let noted = Arc::clone(&noted);
                    std::thread::spawn(move || relay(from, to, &noted, place, to_editor));
                }
            }
        });
        Self { port, said, streams }
    }

    /// Ends every connection.
    pub fn cut(&self) {
        for stream in self.streams.lock().expect("no holder panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The bytes of the first connection.
    pub fn first(&self) -> Said {
        self.said.lock().expect("no holder panics").first().cloned().unwrap_or_default()
    }
}

fn relay(mut from: TcpStream, mut to: TcpStream, noted: &Mutex<Vec<Said>>, place: usize, to_editor: bool) {
    let mut part = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut part) {
        {
            let said = &mut noted.lock().expect("no holder panics")[place];
            let bytes = if to_editor { &mut said.to_editor } else { &mut said.to_gateway };
            bytes.extend_from_slice(&part[..count]);
        }
        if to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
