//! What a run of many seeds reports at its end, and what it reports about a failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use holdfast_fake_unity::{PACKAGES, Package, Task};

use super::plan::{Act, Plan};
use super::shrink::shrink;
use super::{picture, run};
use crate::checker::{self, Verdict};
use crate::history::{Entry, Event, History};
use crate::record::{Record, SEEDS};

/// Number of seeds with the slowest recovery that are named.
const SLOWEST_SHOWN: usize = 12;

/// A text in an answer that was withheld until the following domain reload was over.
pub const RELOADED: &str = "Unity was away after that";

/// A text in an answer that has the result of a compilation which ended well.
const COMPILED: &str = "\"Success\\\":true";

/// Returns the value at this share (0 to 1) of the sorted values.
fn rank(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    // The truncation gives the rank.
    sorted.get((last as f64 * share) as usize).copied().unwrap_or_default()
}

/// Returns the name of the record of a package's runs.
pub fn name(package: &Package) -> String {
    if package == PACKAGES[0] { "sim".to_owned() } else { format!("sim-{}", package.name) }
}

/// Returns the number of answers that were withheld until a reload was over: a note says so, or, where a file tells how a
/// compilation ended, the answer is what the file says.
fn reloads_told(plan: &Plan, history: &History) -> u64 {
    let compile =
        [plan.package.calls(Task::Compile, "").tool, (plan.package.call)(Task::Compile, "", plan.version).tool];
    let mut compiles = Vec::new();
    let told = |entry: &&Entry| match entry.what.itself() {
        Event::Asked(id, ask) => {
            compiles.extend(
                (plan.package.facts.compile_file && compile.contains(&ask.tool)).then(|| format!("\"id\":{id},")),
            );
            false
        }
        Event::Got(line) => {
            let from_file = || compiles.iter().any(|id| line.contains(id)) && line.contains(COMPILED);
            line.contains(RELOADED) || from_file()
        }
        _ => false,
    };
    history.0.iter().filter(told).count() as u64
}

/// Sums over the runs of many seeds.
#[derive(Debug, Default)]
pub struct Sums {
    /// Number of runs.
    pub seeds: u64,
    /// Number of checks of each invariant.
    pub checks: BTreeMap<&'static str, u64>,
    /// Number of faults of each kind.
    pub faults: BTreeMap<String, u64>,
    /// Number of calls that ended in each way.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Times from the end of the faults until the gateway reached the editor again.
    pub recoveries: Vec<Duration>,
    /// Times from the end of the faults until the first successful answer.
    pub served: Vec<Duration>,
    /// `recoveries` and `served` of those runs in which the gateway's supervision tree was never missing after the faults had
    /// ended.
    pub whole: [Vec<Duration>; 2],
    /// The slowest runs: time until the editor was reached, time until the first successful answer, time without a
    /// supervision tree, and the seed.
    pub slowest: Vec<(Duration, Option<Duration>, Duration, u64)>,
    /// Virtual time of all runs.
    pub simulated: Duration,
    /// Number of requests.
    pub requests: u64,
    /// Number of answers that were withheld until a reload was over.
    pub reloads_told: u64,
    /// The failures, each with its full description.
    pub failures: Vec<String>,
}

impl Sums {
    /// Adds the run of a plan.
    pub fn add(&mut self, plan: &Plan, history: &History, verdicts: &[Verdict]) {
        self.seeds += 1;
        for verdict in verdicts {
            *self.checks.entry(verdict.name).or_default() += verdict.checks;
        }
        for step in plan.steps.iter().filter(|step| step.act.is_fault()) {
            *self.faults.entry(step.act.name()).or_default() += 1;
        }
        for (end, count) in picture::verdicts(history) {
            *self.verdicts.entry(end).or_default() += count;
        }
        let (reached, served) = (checker::reached(history), checker::served(history));
        self.recoveries.extend(reached);
        self.served.extend(served);
        let rebuilding = checker::rebuilding(history);
        if rebuilding.is_zero() {
            self.whole[0].extend(reached);
            self.whole[1].extend(served);
        }
        self.slowest.extend(reached.map(|reached| (reached, served, rebuilding, plan.seed)));
        self.keep_slowest();
        self.requests +=
            history.0.iter().filter(|entry| matches!(entry.what.itself(), Event::Asked(..))).count() as u64;
        self.reloads_told += reloads_told(plan, history);
        self.simulated += history.0.last().map(|entry| entry.at).unwrap_or_default();
    }

    fn keep_slowest(&mut self) {
        self.slowest.sort_by_key(|(reached, served, ..)| std::cmp::Reverse(served.unwrap_or(*reached)));
        self.slowest.truncate(SLOWEST_SHOWN);
    }

    /// Adds the sums of another thread.
    pub fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        for (name, count) in other.checks {
            *self.checks.entry(name).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        for (end, count) in other.verdicts {
            *self.verdicts.entry(end).or_default() += count;
        }
        self.recoveries.extend(other.recoveries);
        self.served.extend(other.served);
        for (mine, theirs) in self.whole.iter_mut().zip(other.whole) {
            mine.extend(theirs);
        }
        self.slowest.extend(other.slowest);
        self.keep_slowest();
        self.simulated += other.simulated;
        self.requests += other.requests;
        self.reloads_told += other.reloads_told;
        self.failures.extend(other.failures);
    }

    /// Makes the record of these runs for the report.
    pub fn record(&self, package: &'static Package, from: u64, took: Duration) -> Record {
        let mut faults: Vec<String> =
            self.faults.keys().flat_map(|name| catalogued(name)).map(|id| (*id).to_owned()).collect();
        faults.sort();
        faults.dedup();
        let compression = self.simulated.as_secs_f64() / took.as_secs_f64().max(0.001);
        let notes = [
            ("seeds", format!("{} from {from} on", self.seeds)),
            ("requests", self.requests.to_string()),
            ("answers withheld until a reload was over", self.reloads_told.to_string()),
            ("simulated time", format!("{:.0} s, {compression:.0} times as fast as the clock", self.simulated.as_secs_f64())),
            ("faults a seed", format!("{:.1}", self.faults.values().sum::<u64>() as f64 / self.seeds.max(1) as f64)),
            (
                "recovery counts from",
                "the healing of all faults, in virtual time; a connect begun while packets were lost, or a tree just being \
                 rebuilt, is part of it"
                    .to_owned(),
            ),
        ];
        let mut failures = self.failures.clone();
        let idle = self.checks.iter().filter(|(_, checks)| **checks == 0);
        failures.extend(idle.map(|(name, _)| format!("nothing was checked of {name}")));
        Record {
            name: name(package),
            about: format!(
                "The real actors against a simulated editor ({package:?}), network and client in virtual time; each seed \
                 draws its own faults, then all is healed and the service must return."
            ),
            faults,
            injected: self.faults.clone(),
            invariants: self.checks.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            verdicts: self.verdicts.iter().map(|(end, count)| ((*end).to_owned(), *count)).collect(),
            recoveries_ms: self.recoveries.iter().map(|recovery| recovery.as_secs_f64() * 1000.0).collect(),
            notes: notes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            figures: [(SEEDS.to_owned(), self.seeds as f64)].into(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            passed: failures.is_empty(),
            failures,
            timeline: telling(from).map(|plan| picture::of(&run(&plan.in_package(package)))),
            ..Record::default()
        }
    }

    /// Summarises the runs for people.
    pub fn text(&mut self) -> String {
        self.recoveries.sort();
        self.served.sort();
        self.whole.iter_mut().for_each(|times| times.sort());
        let mut text = format!(
            "{} seeds, {} requests, {} answers withheld until a reload was over, {:.0} s simulated, {} failures\n",
            self.seeds,
            self.requests,
            self.reloads_told,
            self.simulated.as_secs_f64(),
            self.failures.len()
        );
        for (what, times) in [
            ("reached again", &self.recoveries),
            ("first good answer", &self.served),
            ("with a whole tree: reached again", &self.whole[0]),
            ("with a whole tree: first good answer", &self.whole[1]),
        ] {
            let at = |share: f64| rank(times, share);
            let (p50, p90, p99, max) = (at(0.5), at(0.9), at(0.99), at(1.0));
            let _ = writeln!(text, "{what} after the healing: p50 {p50:?}, p90 {p90:?}, p99 {p99:?}, max {max:?}");
        }
        for (reached, served, rebuilding, seed) in &self.slowest {
            let _ = writeln!(
                text,
                "  seed {seed}: reached after {reached:?} (no tree for {rebuilding:?}), first good answer after {served:?}"
            );
        }
        for (name, count) in &self.checks {
            let _ = writeln!(text, "  {count:>9} checks  {name}");
        }
        let faults: Vec<String> = self.faults.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(text, "faults: {}", faults.join(", "));
        text
    }
}

/// Returns the ids in the fault catalogue that this kind of step covers.
fn catalogued(name: &str) -> &'static [&'static str] {
    match name {
        "Crash" => &["P01", "P04", "N11"],
        "CutRead" | "CutWrite" => &["P01", "N02", "N03"],
        "Rst" => &["N02"],
        "Strike" => &["P05"],
        "Freeze" => &["P02"],
        "HalfOpen" => &["N01"],
        "Move" => &["N14"],
        "HoldLink" | "Partition" => &["N01", "N15"],
        "Latency" => &["N16"],
        "SliceRead" | "SliceWrite" => &["N04"],
        "BlockWrite" => &["N17"],
        "Garbage" => &["N07"],
        "DoubleReply" => &["R02"],
        "LateReply" => &["R03"],
        "Replay" => &["R04"],
        "PushStorm" => &["R06"],
        "Reload" => &["U01"],
        "CompileErrors" => &["U02"],
        "Modal" => &["U04"],
        "Import" => &["U05"],
        "Unfocus" => &["U06"],
        "ToolsChanged" => &["U09"],
        "PauseReading" => &["M04"],
        _ => &[],
    }
}

/// Number of seeds that are tried to find a plan for a picture.
const PICTURES_SOUGHT: u64 = 300;

/// Finds a plan that makes a good picture: with a reload, a crash, and few enough calls to be seen. `None` if no seed has
/// one.
fn telling(from: u64) -> Option<Plan> {
    (from..from.saturating_add(PICTURES_SOUGHT)).map(Plan::of).find(|plan| {
        let has = |test: fn(&Act) -> bool| plan.steps.iter().any(|step| test(&step.act));
        let calls: usize = plan
            .steps
            .iter()
            .map(|step| match step.act {
                Act::Call(..) => 1,
                Act::Burst(count, _) => count.into(),
                _ => 0,
            })
            .sum();
        has(|act| matches!(act, Act::Reload(_)))
            && has(|act| matches!(act, Act::Crash { .. }))
            && plan.early_end.is_none()
            && plan.editor_first
            && (15..60).contains(&calls)
    })
}

/// Describes a failure: the seed, the broken promise, the shortest plan that was found, its history, and how to run it again.
pub fn failure(plan: &Plan, verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.violations.is_empty()) {
        let _ = writeln!(text, "seed {} broke {}:", plan.seed, verdict.name);
        for violation in verdict.violations.iter().take(5) {
            let _ = writeln!(text, "    {violation}");
        }
    }
    let Some(first) = verdicts.iter().find(|verdict| !verdict.violations.is_empty()) else { return text };
    let short = shrink(plan, first.name);
    let history = run(&short);
    let _ = writeln!(text, "the shortest plan found ({} of {} steps):", short.steps.len(), plan.steps.len());
    text += &short.lines();
    text += "what happened:\n";
    text += &history.lines();
    for verdict in checker::check(&history).iter().filter(|verdict| !verdict.violations.is_empty()) {
        for violation in &verdict.violations {
            let _ = writeln!(text, "broken: {}: {violation}", verdict.name);
        }
    }
    let (seed, package) = (plan.seed, plan.package.name);
    let _ =
        writeln!(text, "again: SEED={seed} DIALECT={package} cargo test --package chaos-tests --test sim -- one_seed");
    text
}
