//! Calls over HTTP, beside sessions over stdin and stdout on the same hub.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::hub::{Hub, fake_unity};
use crate::measures::{Bench, difference};
use crate::session::{Session, check, resident};
use crate::stats::{Row, ms, quantile};

/// How many clients are there at once, over HTTP. A hub serves 512 messages at once, and takes 768 connections.
const CLIENTS: usize = 200;

/// One client over HTTP, on a connection that stays open.
struct Caller {
    stream: BufReader<TcpStream>,
    /// The head of a request, up to its version.
    head: String,
}

impl Caller {
    fn connect(state: &Path, project: &Path) -> io::Result<Self> {
        let info: serde_json::Value = serde_json::from_slice(&std::fs::read(state.join("hub/hub.json"))?)?;
        let url = info["http"].as_str().ok_or_else(|| io::Error::other("the hub serves no HTTP"))?;
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let token = std::fs::read_to_string(state.join("http_token"))?;
        let project = project.display().to_string().replace('\\', "/").replace('/', "%2F").replace(':', "%3A");
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /mcp/{project} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\n",
            token.trim()
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    fn send(&mut self, headers: &str, body: &str) -> io::Result<()> {
        let request = format!("{}{headers}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// Reads the head of a response. Returns the length of its body; 0 for a stream.
    fn head(&mut self) -> io::Result<usize> {
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let lower = line.to_ascii_lowercase();
            if let Some(said) = lower.strip_prefix("content-length:") {
                length = said.trim().parse().map_err(io::Error::other)?;
            }
            if line == "\r\n" {
                return Ok(length);
            }
        }
    }

    /// Makes a small call. Returns the time that it took.
    fn echo(&mut self) -> io::Result<Duration> {
        let began = Instant::now();
        self.send(
            "MCP-Protocol-Version: 2025-11-25\r\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, editor"}}}"#,
        )?;
        let mut body = vec![0; self.head()?];
        self.stream.read_exact(&mut body)?;
        let took = began.elapsed();
        check(&String::from_utf8_lossy(&body), "hello, editor")?;
        Ok(took)
    }

    /// Opens a stream that stays open, and waits for its first message.
    fn listen(&mut self) -> io::Result<()> {
        self.send(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        )?;
        self.head()?;
        let mut line = String::new();
        // The marks of the chunks stand between, and inside of, the lines of an event.
        while !line.contains("acknowledged") {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

/// Lets all callers make `calls` calls at the same time. Returns how long each call took.
fn together<C: Send>(
    callers: &mut [C],
    calls: usize,
    call: fn(&mut C) -> io::Result<Duration>,
) -> io::Result<Vec<Duration>> {
    std::thread::scope(|scope| {
        let repeat = move |caller: &mut C| -> io::Result<Vec<Duration>> {
            let mut took = Vec::with_capacity(calls);
            for _ in 0..calls {
                took.push(call(caller)?);
            }
            Ok(took)
        };
        let threads: Vec<_> = callers.iter_mut().map(|caller| scope.spawn(move || repeat(caller))).collect();
        let took =
            threads.into_iter().map(|thread| thread.join().map_err(|_| io::Error::other("a caller panicked"))?);
        Ok(took.collect::<io::Result<Vec<_>>>()?.concat())
    })
}

impl Bench {
    /// Measures calls over HTTP, alone and 16 at once, and the memory of connections and streams.
    pub fn http(&mut self) -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let project = folder.path().join("project");
        let _editor = fake_unity(&project)?;
        let hub = self.start_hub(&["--http", "127.0.0.1:0"])?;
        for at_once in [1, 16] {
            self.http_calls(&project, at_once)?;
        }
        self.http_memory(&project, &hub)
    }

    fn http_calls(&mut self, project: &Path, at_once: usize) -> io::Result<()> {
        let state = self.state.path().to_path_buf();
        let connect = |_| Caller::connect(&state, project);
        let mut over_http = (0..at_once).map(connect).collect::<io::Result<Vec<Caller>>>()?;
        let mut sessions = Vec::new();
        for when in ["auto", "never"] {
            let mut several = (0..at_once).map(|_| self.session(project, when)).collect::<io::Result<Vec<_>>>()?;
            several.iter_mut().try_for_each(Session::open)?;
            sessions.push(several);
        }
        let (blocks, calls) = (self.sizes.blocks.0, (self.sizes.blocks.1 / at_once).max(1));
        let (mut http, mut stdio) = (Vec::new(), [Vec::new(), Vec::new()]);
        for block in 0..=blocks {
            let ours = together(&mut over_http, calls, Caller::echo)?;
            let theirs = sessions.iter_mut().map(|several| together(several, calls, Session::echo));
            let theirs = theirs.collect::<io::Result<Vec<_>>>()?;
            // The first block warms up.
            if block > 0 {
                http.extend(ours);
                stdio.iter_mut().zip(theirs).for_each(|(all, took)| all.extend(took));
            }
        }
        for (floor, stdio) in ["a session on the same hub", "a session without a hub"].into_iter().zip(&stdio) {
            for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
                let (http, stdio) = (quantile(&http, share), quantile(stdio, share));
                self.table.push(Row {
                    what: format!(
                        "one call of {at_once} at once, HTTP / {floor}, {name} of {}",
                        blocks * calls * at_once
                    ),
                    holdfast: ms(http),
                    floor: ms(stdio),
                    compared: format!("{}, x {:.2}", difference(http, stdio), http.as_secs_f64() / stdio.as_secs_f64()),
                    budget: None,
                });
            }
        }
        Ok(())
    }

    fn http_memory(&mut self, project: &Path, hub: &Hub) -> io::Result<()> {
        let settled = || {
            std::thread::sleep(Duration::from_millis(500));
            resident(hub.pid())
        };
        let state = self.state.path().to_path_buf();
        let callers = || (0..CLIENTS).map(|_| Caller::connect(&state, project)).collect::<io::Result<Vec<Caller>>>();
        let mut memory = vec![settled()?];
        // Streams first: afterwards they would use the memory that the calls gave back.
        let mut streams = callers()?;
        memory.push(settled()?);
        streams.iter_mut().try_for_each(Caller::listen)?;
        memory.push(settled()?);
        let mut callers = callers()?;
        let began = Instant::now();
        let took = together(&mut callers, 50, Caller::echo)?;
        let per_second = took.len() as f64 / began.elapsed().as_secs_f64();
        memory.push(settled()?);
        self.table.push(Row {
            what: format!("{CLIENTS} clients over HTTP at once, 50 calls each: p50 / p99; calls per second"),
            holdfast: format!("{} / {}", ms(quantile(&took, 0.5)), ms(quantile(&took, 0.99))),
            floor: String::new(),
            compared: format!("{per_second:.0} per second"),
            budget: None,
        });
        let what = ["idle connections", "open streams on them", "more connections after these calls"];
        for (what, pair) in what.into_iter().zip(memory.windows(2)) {
            let (before, after) = (pair.first().copied().unwrap_or_default(), pair.last().copied().unwrap_or_default());
            self.table.push(Row {
                what: format!("resident memory of the hub with {CLIENTS} {what}, beside before"),
                holdfast: after.to_string(),
                floor: before.to_string(),
                compared: format!(
                    "{:+.1} KiB each",
                    (after.resident as f64 - before.resident as f64) / 1024.0 / CLIENTS as f64
                ),
                budget: None,
            });
        }
        Ok(())
    }
}
