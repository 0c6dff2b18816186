//! What a run of many seeds says at its end, and what a failure says at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::plan::Plan;
use super::run;
use super::shrink::shrink;
use crate::checker::{self, Verdict};
use crate::history::{Event, History};

/// Sums over many runs.
#[derive(Debug, Default)]
pub struct Sums {
    /// Runs.
    pub seeds: u64,
    /// Checks by invariant.
    pub checks: BTreeMap<&'static str, u64>,
    /// Faults by kind.
    pub faults: BTreeMap<String, u64>,
    /// Times until the editor was reached again after the healing.
    pub recoveries: Vec<Duration>,
    /// Virtual time.
    pub simulated: Duration,
    /// Requests.
    pub requests: u64,
    /// Failures, in full.
    pub failures: Vec<String>,
}

impl Sums {
    /// Adds a run.
    pub fn add(&mut self, plan: &Plan, history: &History, verdicts: &[Verdict]) {
        self.seeds += 1;
        for verdict in verdicts {
            *self.checks.entry(verdict.name).or_default() += verdict.checks;
        }
        for step in plan.steps.iter().filter(|step| step.act.is_fault()) {
            *self.faults.entry(step.act.name()).or_default() += 1;
        }
        self.recoveries.extend(checker::reached(history));
        self.requests += history.0.iter().filter(|entry| matches!(entry.what, Event::Asked(..))).count() as u64;
        self.simulated += history.0.last().map(|entry| entry.at).unwrap_or_default();
    }

    /// Adds what another thread summed up.
    pub fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        for (name, count) in other.checks {
            *self.checks.entry(name).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        self.recoveries.extend(other.recoveries);
        self.simulated += other.simulated;
        self.requests += other.requests;
        self.failures.extend(other.failures);
    }

    /// For people.
    pub fn text(&mut self) -> String {
        self.recoveries.sort();
        let at = |share: f64| {
            let last = self.recoveries.len().saturating_sub(1);
            // Truncation is what a rank is.
            self.recoveries.get((last as f64 * share) as usize).copied().unwrap_or_default()
        };
        let mut text = format!(
            "{} seeds, {} requests, {:.0} s simulated, {} failures\n",
            self.seeds,
            self.requests,
            self.simulated.as_secs_f64(),
            self.failures.len()
        );
        let _ = writeln!(
            text,
            "reached again after the healing: p50 {:?}, p90 {:?}, p99 {:?}, max {:?}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
        for (name, count) in &self.checks {
            let _ = writeln!(text, "  {count:>9} checks  {name}");
        }
        let faults: Vec<String> = self.faults.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(text, "faults: {}", faults.join(", "));
        text
    }
}

/// A failure in full: seed, the shortest plan found, its events, the broken promise, and how to see it again.
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
    let _ = writeln!(text, "again: SEED={} cargo test --package chaos-tests --test sim -- one_seed", plan.seed);
    text
}
