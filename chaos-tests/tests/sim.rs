//! The simulation: many seeds, and the proof that its checkers can fail.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chaos_tests::checker;
use chaos_tests::history::Event;
use chaos_tests::sim::plan::{Act, Break, Plan, Step, Tool};
use chaos_tests::sim::report::{self, Sums};
use chaos_tests::sim::run;

/// Seeds of an ordinary run.
const SEEDS: u64 = 1000;
/// After so many failures a run has said enough.
const FAILURES_MAX: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn seeds(from: u64, count: u64) -> Sums {
    let next = AtomicU64::new(from);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let work = || {
        let mut sums = Sums::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + count || sums.failures.len() >= FAILURES_MAX {
                return sums;
            }
            let plan = Plan::of(seed);
            let history = run(&plan);
            let verdicts = checker::check(&history);
            sums.add(&plan, &history, &verdicts);
            if verdicts.iter().any(|verdict| !verdict.violations.is_empty()) {
                sums.failures.push(report::failure(&plan, &verdicts));
            }
        }
    };
    let mut all = Sums::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.merge(worker.join().expect("a worker does not panic"));
        }
    });
    all
}

#[test]
fn every_seed_keeps_every_promise() {
    if number("SEED").is_some() {
        return;
    }
    let count = number("SEEDS").unwrap_or(SEEDS);
    let from = number("FROM").unwrap_or(0);
    let started = tokio::time::Instant::now();
    let mut sums = seeds(from, count);
    let took = started.elapsed();
    let text = sums.text();
    say(&text);
    match sums.record(from, took).write_as("sim") {
        Ok(path) => say(&format!("record: {}\n", path.display())),
        Err(error) => panic!("the record could not be written: {error}"),
    }
    assert!(sums.failures.is_empty(), "{}", sums.failures.join("\n\n"));
    assert_eq!(sums.seeds, count);
    // A handful of seeds may draw no stranger.
    for (name, checks) in sums.checks.iter().filter(|_| count >= 200) {
        assert!(*checks > 0, "nothing was checked of {name}");
    }
}

/// `SEED=n`: one seed, with everything that happened. `SHORT=1`: the shortest plan that still fails.
#[test]
fn one_seed() {
    let Some(seed) = number("SEED") else { return };
    let plan = Plan::of(seed);
    let history = run(&plan);
    say(&plan.lines());
    say(&history.lines());
    let verdicts = checker::check(&history);
    for verdict in &verdicts {
        say(&format!("{:>8} checks  {}  {:?}\n", verdict.checks, verdict.name, verdict.violations));
    }
    let broken = verdicts.iter().any(|verdict| !verdict.violations.is_empty());
    if broken && number("SHORT").is_some() {
        say(&report::failure(&plan, &verdicts));
    }
    assert!(!broken);
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..12 {
        let plan = Plan::of(seed);
        let (first, second) = (run(&plan), run(&plan));
        let differs = first.0.iter().zip(&second.0).find(|(a, b)| a != b);
        if let Some((a, b)) = differs {
            panic!("seed {seed} gives two histories; they part here:\n{a}\n{b}");
        }
        assert_eq!(first.hash(), second.hash(), "seed {seed}");
        assert!(hashes.insert(first.hash()), "seed {seed} has another seed's history");
    }
}

#[test]
fn a_quiet_run_breaks_nothing() {
    let history = run(&Plan::quiet(1));
    for verdict in checker::check(&history) {
        assert!(verdict.violations.is_empty(), "{}: {:?}\n{}", verdict.name, verdict.violations, history.lines());
    }
}

/// Once it was reserved for the dying connection, un-reserved, and forgotten until its limit. The healing resets the connection
/// in the instant in which the client asks.
#[test]
fn a_call_that_comes_as_the_connection_falls_is_sent_on_the_next_one() {
    for seed in 1..4 {
        let history = run(&Plan::quiet(seed));
        let recovered = history.0.iter().find_map(|entry| match entry.what {
            Event::Recovered(after) => Some(after),
            _ => None,
        });
        let good = recovered.is_some_and(|after| after < Duration::from_secs(1));
        assert!(good, "served again after {recovered:?}\n{}", history.lines());
    }
}

/// More than all queues and pipes hold, while the client reads nothing.
const TOO_MUCH: [Step; 2] = [Step { at: 610, act: Act::PauseReading(2000) }, Step { at: 620, act: Act::Flood(12_000) }];

/// The same flood on bounded pipes: stdin is stopped, and nothing is lost.
#[test]
fn a_flood_from_a_client_that_does_not_read_is_stopped_at_stdin() {
    let mut plan = Plan::quiet(7);
    plan.steps.extend(TOO_MUCH);
    plan.steps.sort_by_key(|step| step.at);
    for verdict in checker::check(&run(&plan)) {
        assert!(verdict.violations.is_empty(), "{}: {:?}", verdict.name, verdict.violations.first());
    }
}

#[test]
fn what_is_broken_at_the_seams_is_noticed_by_its_checker() {
    for (broken, name) in [
        (Break::DroppedAnswer, "I1 answer-once"),
        (Break::DoubledAnswer, "I1 answer-once"),
        (Break::DoubledRequest, "I2 at-most-once"),
        (Break::OldFrame, "I10 epoch-fence"),
        (Break::SwappedReply, "I10 epoch-fence"),
        (Break::LateProgress, "I13 order"),
        (Break::DirtyStdout, "I3 stdout-is-mcp"),
        (Break::SlowAnswer, "I11 deadline"),
        (Break::NoWindow, "I4 bounded"),
        (Break::EndlessInput, "I4 bounded"),
        (Break::LoggedFrame, "I12 discretion"),
        (Break::LostLine, "I14 truth"),
    ] {
        let mut plan = Plan { broken: Some(broken), ..Plan::quiet(7) };
        // A second connection, for what needs one.
        plan.steps.push(Step { at: 1500, act: Act::Reload(100) });
        match broken {
            Break::NoWindow => plan.steps.push(Step { at: 1000, act: Act::Burst(10, Tool::Echo) }),
            Break::EndlessInput => plan.steps.extend(TOO_MUCH),
            _ => {}
        }
        plan.steps.sort_by_key(|step| step.at);
        let verdicts = checker::check(&run(&plan));
        let noticed: Vec<&str> =
            verdicts.iter().filter(|verdict| !verdict.violations.is_empty()).map(|verdict| verdict.name).collect();
        assert!(noticed.contains(&name), "{broken:?} was noticed by {noticed:?} only");
    }
}
