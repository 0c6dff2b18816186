//! What it costs to look up who listens on a port, with few and with many processes on the machine.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast::platform::host::{Host as _, RealHost};

use crate::measures::Bench;
use crate::stats::{Row, median, ms};

/// Idle processes that are started for the second half.
const PROCESSES: usize = 2000;
/// Look-ups of each kind.
const LOOKUPS: usize = 100;

/// An idle process, which is ended when it is dropped.
struct Idle(Child);

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bench {
    /// Measures the look-ups. Not a part of a whole run: it starts thousands of processes.
    pub fn owner(&mut self) -> io::Result<()> {
        let few = looked_up()?;
        let idle = || Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().map(Idle);
        let processes = (0..PROCESSES).map(|_| idle()).collect::<io::Result<Vec<Idle>>>()?;
        let many = looked_up()?;
        drop(processes);
        for ((what, few), (_, many)) in few.into_iter().zip(many) {
            self.table.push(Row {
                what: format!("who listens on a port: {what}, p50 of {LOOKUPS}"),
                holdfast: ms(few),
                floor: String::new(),
                compared: format!("{} with {PROCESSES} more processes", ms(many)),
                budget: None,
            });
        }
        Ok(())
    }
}

fn looked_up() -> io::Result<Vec<(&'static str, Duration)>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (port, ours) = (listener.local_addr()?.port(), std::process::id());
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let time = |look: &dyn Fn() -> bool| -> io::Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..LOOKUPS {
            let began = Instant::now();
            if !look() {
                return Err(io::Error::other("the owner of a port was not found, or one of a free port"));
            }
            times.push(began.elapsed());
        }
        Ok(median(&times))
    };
    let found = |port: u16, expected: u32| RealHost.port_owner_near(port, expected).map(|owner| owner.pid);
    Ok(vec![
        ("the expected process", time(&|| found(port, ours) == Some(ours))?),
        ("nobody", time(&|| found(nobody, ours).is_none())?),
        ("another process than the expected one", time(&|| found(port, 1) == Some(ours))?),
        (
            "on which of ten a process listens",
            time(&|| RealHost.ports_of(ours, port..=port.saturating_add(9)) == [port])?,
        ),
    ])
}
