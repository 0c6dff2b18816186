//! Side by side: the gateway and a bare stdio-to-TCP relay, in one run, call by call.
//!
//! `cargo bench --bench side_by_side` (or `make bench`) prints a Markdown table on stdout and its progress on stderr. `cargo
//! bench --bench side_by_side -- --quick` takes 20 s, `-- --gateway PATH` measures another build of the gateway, `-- --only recovery
//! --before PATH` compares recovery with an earlier build, `-- --json FILE` writes the rows to a file too (`make figures`). The relay
//! and the peer are this same program, started with a hidden argument. Figures of one run may be compared with each other,
//! but not with figures of another machine.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bench reads the real clock, and its two peers are blocking programs of their own"
)]

mod http;
mod hub;
mod long;
mod measures;
mod owner;
mod peer;
mod recovery;
mod session;
mod stats;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use measures::{Bench, Sizes};

/// Limit of the whole run, so that a child that hangs does not block a build.
const RUN_MAX: Duration = Duration::from_secs(285);
/// The same where recovery is compared with an earlier build, in five runs of each.
const COMPARISON_MAX: Duration = Duration::from_secs(900);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let ended = if has("--peer") {
        peer::serve()
    } else if let Some(port) = value_of(&arguments, "--relay") {
        port.parse().map_err(io::Error::other).and_then(peer::relay)
    } else if has("--bench") {
        watch(if has("--before") { COMPARISON_MAX } else { RUN_MAX });
        run(has("--quick"), value_of(&arguments, "--only"), value_of(&arguments, "--json"))
    } else {
        // `cargo test --all-targets` starts benches too, but there is nothing to test here.
        writeln!(io::stderr(), "run it with: cargo bench --bench side_by_side [-- --quick]")
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "side_by_side: {error}");
            ExitCode::FAILURE
        }
    }
}

fn value_of<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|argument| argument == flag)?;
    arguments.get(at + 1).map(String::as_str)
}

/// Ends this process after this time. Each child ends when its stdin closes, so all children end with this process.
#[expect(clippy::exit, reason = "a child that hangs leaves nothing to unwind to")]
fn watch(longest: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(longest);
        let _ = writeln!(io::stderr(), "side_by_side: cut after {} s; something hangs", longest.as_secs());
        std::process::exit(1);
    });
}

type Part = fn(&mut Bench) -> io::Result<()>;

fn run(quick: bool, only: Option<&str>, json: Option<&str>) -> io::Result<()> {
    let began = Instant::now();
    let mut bench = Bench::start(if quick { Sizes::QUICK } else { Sizes::FULL })?;
    let parts: [(&str, Part); 10] = [
        ("start", Bench::starts),
        ("latency", Bench::latency),
        ("throughput", Bench::throughput),
        ("sizes", Bench::results),
        ("exit", Bench::exits),
        ("recovery", Bench::recovery),
        ("long", Bench::long),
        ("hub", Bench::hub),
        ("records", Bench::records),
        ("http", Bench::http),
    ];
    let alone: [(&str, Part); 1] = [("owner", Bench::owner)];
    let parts = parts.into_iter().chain(alone.into_iter().filter(|(name, _)| only == Some(name)));
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            writeln!(io::stderr(), "side_by_side: {:>5.1} s  {name}", began.elapsed().as_secs_f64())?;
            part(&mut bench)?;
        }
    }
    let missed = bench.table.missed();
    if let Some(path) = json {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
        let processors = std::thread::available_parallelism().map_or(0, usize::from);
        let run = serde_json::json!({"processors": processors, "load": load, "rows": bench.table.json()});
        std::fs::write(path, format!("{run:#}\n"))?;
    }
    writeln!(io::stdout(), "{}", bench.table)?;
    writeln!(io::stderr(), "side_by_side: {:.0} s, {missed} missed", began.elapsed().as_secs_f64())
}
