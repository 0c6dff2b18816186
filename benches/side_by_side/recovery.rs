//! How soon the gateway reaches an editor that is back, and what it costs to wait for one; with `--before PATH` beside an earlier build.

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use holdfast::protocol::dialect;

use crate::measures::{Bench, after, program};
use crate::session::{Session, Steering, processor_time};
use crate::stats::{Row, median, middle, ms, quantile};

/// The packages that are compared with an earlier build: our own, and the one that looks first whether its port is free.
fn packages() -> [&'static str; 2] {
    [dialect::OWN[0].name(), dialect::FALLBACK[0].name()]
}
/// Runs of each build, in turn.
const RUNS: usize = 5;
/// The outages of one run: their length in ms, how many there are, and in how many of the runs.
const OUTAGES: [(u64, usize, usize); 5] =
    [(200, 15, RUNS), (1000, 6, RUNS), (3000, 2, RUNS), (10_000, 1, 2), (30_000, 1, 1)];
/// Crashes in one run.
const CRASHES: usize = 3;
/// From this length on, an outage shows what waiting costs: the system counts in hundredths of a second.
const LONG: u64 = 3000;

impl Bench {
    /// Measures the time from the moment the editor listens again to the first successful answer. A relay has no such figure:
    /// it ends with the connection.
    pub fn recovery(&mut self) -> io::Result<()> {
        if let Some(before) = after("--before") {
            return self.recovery_beside(&before);
        }
        let outages = self.sizes.outages;
        let all = self.recoveries(&program(), &packages()[1..], outages, 0)?;
        let all: Vec<&Outage> = all.iter().flat_map(|pair| &pair.outages).collect();
        let every: Vec<Duration> = all.iter().map(|outage| outage.back).collect();
        for (length, _) in outages {
            let of_length = all.iter().filter(|outage| outage.length == *length);
            let times: Vec<Duration> = of_length.map(|outage| outage.back).collect();
            self.table.push(recovery_row(&format!("after {} s", *length as f64 / 1000.0), &times, false));
        }
        self.table.push(recovery_row("after all of these", &every, true));
        let held = all.iter().filter(|outage| outage.held).count();
        self.table.push(Row {
            what: "calls made during an outage, held and then answered by the editor".into(),
            holdfast: format!("{held} of {}", all.len()),
            floor: "0".into(),
            compared: String::new(),
            budget: Some(("all".into(), held == all.len())),
        });
        Ok(())
    }

    /// Runs this build and an earlier one in turn.
    fn recovery_beside(&mut self, before: &str) -> io::Result<()> {
        let (mut now, mut then) = (Vec::new(), Vec::new());
        for nth in 0..RUNS {
            let outages = OUTAGES.iter().filter(|(.., runs)| nth < *runs).map(|(length, count, _)| (*length, *count));
            let outages: Vec<(u64, usize)> = outages.collect();
            for (program, runs) in [(before, &mut then), (&*program(), &mut now)] {
                writeln!(io::stderr(), "side_by_side: run {} of {RUNS} with {program}", nth + 1)?;
                runs.push(self.recoveries(program, &packages(), &outages, CRASHES)?);
            }
        }
        for package in packages() {
            let of_package = |runs: &[Vec<Pair>]| -> Vec<Run> {
                runs.iter().map(|pairs| Run::of(pairs.iter().filter(|pair| pair.package == package))).collect()
            };
            self.compare(package, &of_package(&now), &of_package(&then));
        }
        Ok(())
    }

    fn compare(&mut self, package: &str, now: &[Run], then: &[Run]) {
        let mut row = |what: String, tell: &dyn Fn(&[Run]) -> String, budget: Option<(&str, bool)>| {
            self.table.push(Row {
                what: format!("{package}: {what}"),
                holdfast: tell(now),
                floor: "never".into(),
                compared: format!("before: {}", tell(then)),
                budget: budget.map(|(budget, met)| (budget.to_owned(), met)),
            });
        };
        let of_runs =
            |runs: &[Run], share: f64| median(&runs.iter().map(|run| quantile(&run.all(), share)).collect::<Vec<_>>());
        let count = now.first().map_or(0, |run| run.all().len());
        row(
            format!("listens again to first good answer, median of {RUNS} runs of p50 / p99 of some {count}"),
            &|runs| format!("{} / {}", ms(of_runs(runs, 0.5)), ms(of_runs(runs, 0.99))),
            Some((
                "≤ 10 / 40 ms",
                of_runs(now, 0.5) <= Duration::from_millis(10) && of_runs(now, 0.99) <= Duration::from_millis(40),
            )),
        );
        for (length, ..) in OUTAGES {
            let times = |runs: &[Run]| runs.iter().flat_map(|run| run.of_length(length)).collect::<Vec<_>>();
            row(
                format!("after {} s, p50 / p99 / max of {}", length as f64 / 1000.0, times(now).len()),
                &|runs| three(&times(runs)),
                None,
            );
        }
        let crashes = |runs: &[Run]| runs.iter().flat_map(|run| run.crashes.clone()).collect::<Vec<_>>();
        row(
            format!("after a crash, from the new process\'s file, p50 / p99 / max of {}", crashes(now).len()),
            &|runs| three(&crashes(runs)),
            Some(("p50 ≤ 100 ms", median(&crashes(now)) <= Duration::from_millis(100))),
        );
        let busy = |runs: &[Run]| middle(&runs.iter().flat_map(|run| run.busy.clone()).collect::<Vec<_>>()) * 100.0;
        row(
            "of a processor while it waits".to_owned(),
            &|runs| format!("{:.2} %", busy(runs)),
            Some(("≤ 2 %", busy(now) <= 2.0)),
        );
        let held = |runs: &[Run]| runs.iter().flat_map(|run| &run.outages).filter(|outage| !outage.held).count();
        row("calls that were not held".to_owned(), &|runs| held(runs).to_string(), Some(("0", held(now) == 0)));
    }

    /// Has several gateways recover at the same time, each with an editor of one of these packages.
    fn recoveries(
        &self,
        program: &str,
        packages: &[&'static str],
        outages: &[(u64, usize)],
        crashes: usize,
    ) -> io::Result<Vec<Pair>> {
        // Each run has projects of its own: what an earlier one left is no part of it.
        let state = tempfile::tempdir_in(self.state.path())?;
        let state = state.path();
        std::thread::scope(|scope| {
            let pairs = packages.iter().cycle().enumerate().take(self.sizes.pairs);
            let pairs: Vec<_> = pairs
                .map(|(nth, package)| {
                    scope.spawn(move || Pair::recover(program, package, (state, nth), outages, crashes))
                })
                .collect();
            pairs.into_iter().map(|pair| pair.join().map_err(|_| io::Error::other("a recovery panicked"))?).collect()
        })
    }
}

fn three(times: &[Duration]) -> String {
    let worst = times.iter().max().copied().unwrap_or_default();
    format!("{} / {} / {}", ms(median(times)), ms(quantile(times, 0.99)), ms(worst))
}

fn recovery_row(after: &str, times: &[Duration], bound: bool) -> Row {
    let met = median(times) <= Duration::from_millis(10) && quantile(times, 0.99) <= Duration::from_millis(40);
    Row {
        what: format!("editor listens again to first good answer, {after}, p50 / p99 / max of {}", times.len()),
        holdfast: three(times),
        floor: "never".into(),
        compared: String::new(),
        budget: bound.then(|| ("≤ 10 / 40 ms".into(), met)),
    }
}

#[derive(Clone, Copy)]
struct Outage {
    length: u64,
    back: Duration,
    held: bool,
}

/// What was measured in one run with the pairs of one package.
#[derive(Default)]
struct Run {
    outages: Vec<Outage>,
    crashes: Vec<Duration>,
    busy: Vec<f64>,
}

impl Run {
    fn of<'p>(pairs: impl Iterator<Item = &'p Pair>) -> Self {
        let mut run = Self::default();
        for pair in pairs {
            run.outages.extend(&pair.outages);
            run.crashes.extend(&pair.crashes);
            run.busy.extend(pair.busy);
        }
        run
    }

    fn all(&self) -> Vec<Duration> {
        self.outages.iter().map(|outage| outage.back).collect()
    }

    fn of_length(&self, length: u64) -> Vec<Duration> {
        self.outages.iter().filter(|outage| outage.length == length).map(|outage| outage.back).collect()
    }
}

/// What was measured with one gateway and one editor.
struct Pair {
    package: &'static str,
    outages: Vec<Outage>,
    /// After each crash, from the file of the new process to the first good answer.
    crashes: Vec<Duration>,
    /// Which share of a processor the gateway used in long outages.
    busy: Option<f64>,
}

impl Pair {
    /// Measures one gateway and one editor (`holdfast fake-unity` with a project, so that the gateway checks the owner of the port
    /// at every connect). The editor is this build's.
    fn recover(
        program: &str,
        package: &'static str,
        (state, nth): (&Path, usize),
        outages: &[(u64, usize)],
        crashes: usize,
    ) -> io::Result<Self> {
        let project = state.join(format!("project-{nth}"));
        let (mut editor, _) = Editor::start(package, &project)?;
        let command = &mut Command::new(program);
        command.arg("--project").arg(&project).env("HOLDFAST_STATE_DIR", state).env("HOME", state);
        let mut gateway = Session::start(command)?;
        gateway.open()?;
        let mut pair = Self { package, outages: Vec::new(), crashes: Vec::new(), busy: None };
        // The pairs start at different times, so that no two editors come back at the same moment.
        std::thread::sleep(Duration::from_millis(37 * nth as u64));
        let (mut used, mut waited) = (Duration::ZERO, Duration::ZERO);
        for (length, rounds) in outages {
            for round in 0..*rounds {
                gateway.echo()?;
                let (before, began) = (processor_time(gateway.pid()), Instant::now());
                let ms = length + 13 * round as u64;
                pair.outages.push(editor.outage(&mut gateway, ms, *length)?);
                if let (LONG.., Some(before), Some(after)) = (*length, before, processor_time(gateway.pid())) {
                    used += after.saturating_sub(before);
                    waited += began.elapsed();
                }
            }
        }
        pair.busy = (!waited.is_zero()).then(|| used.as_secs_f64() / waited.as_secs_f64());
        for _ in 0..crashes {
            gateway.echo()?;
            pair.crashes.push(editor.crash(&mut gateway)?);
        }
        Ok(pair)
    }
}

/// An editor, which the bench steers.
struct Editor {
    package: &'static str,
    project: PathBuf,
    steering: Steering,
    events: mpsc::Receiver<(Instant, String)>,
}

impl Editor {
    /// Starts it. Returns also when it listened.
    fn start(package: &'static str, project: &Path) -> io::Result<(Self, Instant)> {
        let flags = ["fake-unity", "--tick-ms", "0", "--quiet", "--dialect", package, "--project"];
        let (steering, lines) = Session::start(Command::new(program()).args(flags).arg(project))?.split();
        let (heard, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let _ = heard.send((Instant::now(), line));
            }
        });
        let editor = Self { package, project: project.to_owned(), steering, events };
        let up = editor.listening()?;
        Ok((editor, up))
    }

    fn outage(&mut self, gateway: &mut Session, ms: u64, length: u64) -> io::Result<Outage> {
        self.steering.write("rst\n")?;
        std::thread::sleep(Duration::from_millis(ms / 2));
        // Makes a call in the middle of the outage.
        gateway.send("echo", ECHO)?;
        std::thread::sleep(Duration::from_millis(ms / 2));
        self.steering.write("up\n")?;
        let up = self.listening()?;
        let held = answered(gateway)?;
        Ok(Outage { length, back: up.elapsed(), held })
    }

    /// Crashes, and starts again as a new process. Returns the time from its file, which it writes before it says that it listens.
    fn crash(&mut self, gateway: &mut Session) -> io::Result<Duration> {
        self.steering.write("crash\n")?;
        std::thread::sleep(Duration::from_millis(300));
        gateway.send("echo", ECHO)?;
        let (editor, up) = Self::start(self.package, &self.project)?;
        *self = editor;
        answered(gateway)?;
        Ok(up.elapsed())
    }

    /// Waits until the editor reports that it listens, and returns the time of that report.
    fn listening(&self) -> io::Result<Instant> {
        loop {
            let (at, line) = self.events.recv_timeout(Duration::from_secs(10)).map_err(io::Error::other)?;
            if line.contains(r#""event":"listening""#) {
                return Ok(at);
            }
        }
    }
}

const ECHO: &str = r#"{"text":"hello, editor"}"#;

/// Waits until the editor has answered. Returns whether the call that was made was held.
fn answered(gateway: &mut Session) -> io::Result<bool> {
    let mut held = true;
    loop {
        let answer = gateway.read()?;
        if answer.contains("hello, editor") {
            return Ok(held);
        }
        writeln!(io::stderr(), "side_by_side: not held in an outage: {}", answer.trim_end())?;
        held = false;
        gateway.send("echo", ECHO)?;
    }
}
