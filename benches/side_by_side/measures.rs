//! The measurements. The gateway and the relay take turns, so that a busy machine slows both.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::session::{Memory, Session};
use crate::stats::{Row, Table, median, middle, ms, quantile};

pub const MIB: usize = 1024 * 1024;

/// Returns the path of the gateway that is measured: the one that `--gateway` names, to compare two builds, or else this
/// build's.
pub fn program() -> String {
    after("--gateway").unwrap_or_else(|| env!("CARGO_BIN_EXE_holdfast").to_owned())
}

/// Returns the argument that follows this flag.
pub fn after(flag: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != flag).nth(1)
}

/// How much is measured.
pub struct Sizes {
    pub starts: usize,
    /// Number of blocks of sequential calls, and of calls in each.
    pub blocks: (usize, usize),
    /// Number of rounds of concurrent calls, and of calls in each.
    storms: (usize, u32),
    pub results: usize,
    exits: usize,
    /// Number of pairs of gateway and editor that recover at the same time. `outages` lists, for each pair, the length of the
    /// outages in ms and how many there are of that length.
    pub pairs: usize,
    pub outages: &'static [(u64, usize)],
}

impl Sizes {
    /// The sizes for the table in the documents.
    pub const FULL: Self = Self {
        starts: 40,
        blocks: (24, 250),
        storms: (60, 400),
        results: 15,
        exits: 100,
        pairs: 4,
        outages: &[(200, 25), (1000, 12), (3000, 5), (10_000, 3)],
    };
    /// The sizes for a quick check during development.
    pub const QUICK: Self = Self {
        starts: 15,
        blocks: (8, 250),
        storms: (20, 400),
        results: 5,
        exits: 20,
        pairs: 2,
        outages: &[(200, 6), (1000, 2)],
    };
}

/// The peer that the measurements run against, and the results so far.
pub struct Bench {
    pub sizes: Sizes,
    pub state: TempDir,
    port: u16,
    /// The port of the editor with the long list of tools.
    pub long_port: u16,
    _peer: Session,
    pub table: Table,
}

impl Bench {
    /// Starts the peer.
    pub fn start(sizes: Sizes) -> io::Result<Self> {
        let mut peer = Session::start(Command::new(std::env::current_exe()?).arg("--peer"))?;
        let mut port = || peer.read()?.trim().parse().map_err(io::Error::other);
        let (port, long_port) = (port()?, port()?);
        Ok(Self { sizes, state: tempfile::tempdir()?, port, long_port, _peer: peer, table: Table::default() })
    }

    pub fn gateway(&self, port: u16) -> io::Result<Session> {
        Session::start(Command::new(program()).args(["--port", &port.to_string()]).envs(self.environment()))
    }

    /// Returns a client's environment: a separate state folder, and no project.
    pub fn environment(&self) -> [(&str, &Path); 3] {
        let state = self.state.path();
        // The costs of long lists are measured with lists that have all tools.
        [("HOLDFAST_STATE_DIR", state), ("HOME", state), ("HOLDFAST_TOOLSETS", Path::new("all"))]
    }

    pub fn relay(&self) -> io::Result<Session> {
        Session::start(Command::new(std::env::current_exe()?).args(["--relay", &self.port.to_string()]))
    }

    /// Starts the gateway and the relay, opens a session with each and makes 200 calls to warm up.
    pub fn both(&self) -> io::Result<(Session, Session)> {
        let (mut gateway, mut relay) = (self.gateway(self.port)?, self.relay()?);
        gateway.open()?;
        for _ in 0..200 {
            gateway.echo()?;
            relay.echo()?;
        }
        Ok((gateway, relay))
    }

    /// Measures the time from the start to the `initialize` answer, and the resident memory of an idle gateway.
    pub fn starts(&mut self) -> io::Result<()> {
        let nobody = holdfast_fake_unity::OwnPort::take()?;
        let (mut without, mut with, mut floor, mut idle) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.sizes.starts {
            let first = |began: Instant, session: io::Result<Session>| {
                let mut session = session?;
                session.initialize()?;
                Ok::<_, io::Error>((began.elapsed(), session))
            };
            without.push(first(Instant::now(), self.gateway(nobody.number()))?.0);
            let (took, gateway) = first(Instant::now(), self.gateway(self.port))?;
            with.push(took);
            floor.push(first(Instant::now(), self.relay())?.0);
            drop(gateway);
        }
        for _ in 0..3 {
            let mut gateway = self.gateway(self.port)?;
            gateway.open()?;
            std::thread::sleep(Duration::from_millis(300));
            idle.push(gateway.resident()?);
        }
        let floor_ms = ms(median(&floor));
        for (name, samples) in [("no Unity", without), ("with Unity", with)] {
            let p50 = median(&samples);
            self.table.push(Row {
                what: format!("start to `initialize` answer, {name}, p50 of {}", samples.len()),
                holdfast: ms(p50),
                floor: floor_ms.clone(),
                compared: difference(p50, median(&floor)),
                budget: Some(("≤ 10 ms".into(), p50 <= Duration::from_millis(10))),
            });
        }
        let idle = idle.into_iter().max().unwrap_or_default();
        let mut relay = self.relay()?;
        relay.echo()?;
        let relay = relay.resident()?;
        self.memory("resident memory, idle (session open, editor connected)", idle, relay, 10);
        Ok(())
    }

    /// A row of memory: what a monitor shows (`VmRSS`), and what of it is the process's own (`RssAnon`).
    pub fn memory(&mut self, what: &str, gateway: Memory, relay: Memory, budget_mib: u64) {
        self.table.push(Row {
            what: what.into(),
            holdfast: gateway.to_string(),
            floor: if relay == Memory::default() { String::new() } else { relay.to_string() },
            compared: format!("{:+.1} MiB", (gateway.resident as f64 - relay.resident as f64) / MIB as f64),
            budget: Some((format!("≤ {budget_mib} MiB"), gateway.resident <= budget_mib * MIB as u64)),
        });
    }

    /// Measures what the gateway adds to one call.
    pub fn latency(&mut self) -> io::Result<()> {
        let (mut gateway, mut relay) = self.both()?;
        let (blocks, calls) = self.sizes.blocks;
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            for _ in 0..calls {
                ours.push(gateway.echo()?);
            }
            for _ in 0..calls {
                floor.push(relay.echo()?);
            }
        }
        for (name, share, budget) in [("p50", 0.5, 50_u32), ("p99", 0.99, 300)] {
            let (ours, floor) = (quantile(&ours, share), quantile(&floor, share));
            let added = ours.saturating_sub(floor);
            self.table.push(Row {
                what: format!("one call, {name} of {}", blocks * calls),
                holdfast: ms(ours),
                floor: ms(floor),
                compared: difference(ours, floor),
                budget: Some((
                    format!("≤ +{} ms", f64::from(budget) / 1000.0),
                    added <= Duration::from_micros(budget.into()),
                )),
            });
        }
        Ok(())
    }

    /// Measures calls per second with 1, 16 and 64 calls open at once.
    pub fn throughput(&mut self) -> io::Result<()> {
        let (mut gateway, mut relay) = self.both()?;
        let (rounds, calls) = self.sizes.storms;
        for at_once in [1, 16, 64] {
            let (mut ours, mut floor, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rounds {
                let per_second = |time: Duration| f64::from(calls) / time.as_secs_f64();
                let (a, b) = (per_second(gateway.storm(calls, at_once)?), per_second(relay.storm(calls, at_once)?));
                ours.push(a);
                floor.push(b);
                ratios.push(a / b);
            }
            let ratio = middle(&ratios);
            self.table.push(Row {
                what: format!("calls per second, {at_once} at once, median of {rounds} x {calls}"),
                holdfast: format!("{:.0}", middle(&ours)),
                floor: format!("{:.0}", middle(&floor)),
                compared: format!("x {ratio:.2}"),
                budget: (at_once == 16).then(|| ("≥ x 0.8".into(), ratio >= 0.8)),
            });
        }
        Ok(())
    }

    /// Measures large results, and the resident memory after them.
    pub fn results(&mut self) -> io::Result<()> {
        let (mut gateway, mut relay) = self.both()?;
        gateway.storm(2000, 16)?;
        let cases = [
            ("64 KiB result", 64 * 1024, None),
            ("1 MiB result", MIB, None),
            ("4 MiB result inline", 4 * MIB, Some(20)),
            ("8 MiB result, here by file", 8 * MIB, Some(40)),
        ];
        for (name, bytes, budget) in cases {
            let arguments = format!(r#"{{"n":{bytes}}}"#);
            let (mut ours, mut floor) = (Vec::new(), Vec::new());
            for _ in 0..=self.sizes.results {
                let (took, answer) = gateway.call("big", &arguments)?;
                let by_file = answer.len() < bytes;
                if by_file != (bytes > 6 * MIB) || answer.contains(r#""isError":true"#) {
                    return Err(io::Error::other(format!("{name}: an answer of {} bytes", answer.len())));
                }
                ours.push(took);
                floor.push(relay.call("big", &arguments)?.0);
            }
            // The first call of each session creates the peer's text and grows the process's memory, so it is left out.
            let (ours, floor) = (median(ours.get(1..).unwrap_or_default()), median(floor.get(1..).unwrap_or_default()));
            self.table.push(Row {
                what: format!("{name}, p50 of {}", self.sizes.results),
                holdfast: ms(ours),
                floor: ms(floor),
                compared: difference(ours, floor),
                budget: budget.map(|most| (format!("≤ {most} ms"), ours <= Duration::from_millis(most))),
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        let (ours, floor) = (gateway.resident()?, relay.resident()?);
        self.memory("resident memory after all of these", ours, floor, 20);
        Ok(())
    }

    /// Measures the time from the end of stdin to the end of the process.
    pub fn exits(&mut self) -> io::Result<()> {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..self.sizes.exits {
            let mut gateway = self.gateway(self.port)?;
            gateway.open()?;
            ours.push(gateway.end());
            let mut relay = self.relay()?;
            relay.echo()?;
            floor.push(relay.end());
        }
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let (ours, floor) = (quantile(&ours, share), quantile(&floor, share));
            self.table.push(Row {
                what: format!("end of stdin to exit, nothing sent, {name} of {}", self.sizes.exits),
                holdfast: ms(ours),
                floor: ms(floor),
                compared: difference(ours, floor),
                budget: (share > 0.9).then(|| ("≤ 200 ms".into(), ours <= Duration::from_millis(200))),
            });
        }
        Ok(())
    }
}

pub fn difference(ours: Duration, floor: Duration) -> String {
    let (more, sign) = if ours >= floor { (ours - floor, "+") } else { (floor - ours, "-") };
    format!("{sign}{}", ms(more))
}
