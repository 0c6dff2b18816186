//! Finds a shorter plan that still breaks the same promise, by delta debugging.

use super::plan::{Plan, Step};
use super::run;
use crate::checker;

/// Largest number of runs for one search.
const RUNS_MAX: usize = 150;

/// Removes steps of the plan as long as the checker with the name `broken` still reports its broken promise.
pub fn shrink(plan: &Plan, broken: &str) -> Plan {
    let mut runs = 0;
    let mut fails = |steps: &[Step]| {
        runs += 1;
        if runs > RUNS_MAX {
            return false;
        }
        let candidate = Plan { steps: steps.to_vec(), ..plan.clone() };
        checker::check(&run(&candidate)).iter().any(|verdict| verdict.name == broken && !verdict.violations.is_empty())
    };
    let mut steps = plan.steps.clone();
    let mut size = steps.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < steps.len() {
            let to = (from + size).min(steps.len());
            let rest: Vec<Step> = [&steps[..from], &steps[to..]].concat();
            if fails(&rest) {
                steps = rest;
            } else {
                from = to;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    Plan { steps, ..plan.clone() }
}
