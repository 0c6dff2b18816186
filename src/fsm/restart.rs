//! How often a supervisor starts its children again, and how a child can end.
//!
//! All children counted here are meant to run until the shutdown, so each end is a bug of ours, whatever its reason, and successors
//! start at once. If too many children end within a while, restarts do not help, and the supervisor gives up.

use std::time::Duration;

use crate::limits::{LINK_RESTARTS_MAX, LINK_WINDOW, ROOT_RESTARTS_MAX, ROOT_WINDOW};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum EndReason {
    Panicked,
    /// A handler returned an error.
    Failed,
    Killed,
    /// The child stopped, without an order of this supervisor.
    Stopped,
    StartFailed,
}

/// The ends of a supervisor's children, and how many of them are answered with a restart: OTP's intensity.
#[derive(Clone, Debug)]
pub struct Restarts {
    /// The number of ends within [`window`](Self::window) that are answered with a restart.
    pub max: usize,
    /// Ends exactly this far apart are both in it.
    pub window: Duration,
    /// The times of the counted ends, the oldest first.
    ends: Vec<Duration>,
}

impl Restarts {
    pub fn new(max: usize, window: Duration) -> Self {
        Self { max, window, ends: Vec::new() }
    }

    pub fn of_link() -> Self {
        Self::new(LINK_RESTARTS_MAX, LINK_WINDOW)
    }

    pub fn of_session() -> Self {
        Self::new(ROOT_RESTARTS_MAX, ROOT_WINDOW)
    }

    /// Counts an end. Returns whether there are now more than `max` in the window. Times count from the supervisor's start. A time
    /// before an earlier one is taken as equal to it: a clock that steps back must not hide a crash loop.
    pub fn exceeded(&mut self, at: Duration) -> bool {
        let now = self.ends.last().map_or(at, |&last| last.max(at));
        self.ends.retain(|&end| now - end <= self.window);
        self.ends.push(now);
        self.ends.len() > self.max
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the ends, given in seconds, at which a supervisor with this policy gives up.
    fn exceeded(max: usize, window: u64, ends: &[u64]) -> Vec<usize> {
        let mut restarts = Restarts::new(max, Duration::from_secs(window));
        (0..ends.len()).filter(|&nth| restarts.exceeded(Duration::from_secs(ends[nth]))).collect()
    }

    #[test]
    fn what_lies_before_the_window_is_forgotten_and_its_edge_still_counts() {
        assert_eq!(exceeded(2, 10, &[0, 5, 11, 16, 22, 27]), [0; 0]);
        assert_eq!(exceeded(2, 10, &[0, 5, 10]), [2]);
        assert_eq!(exceeded(0, u64::MAX, &[0]), [0]);
    }

    #[test]
    fn a_clock_that_steps_back_hides_no_crash_loop() {
        assert_eq!(exceeded(2, 10, &[40, 20, 0]), [2]);
    }

    proptest! {
        /// Compares with a simple form of the rule: the supervisor gives up at the first end that has `max` others
        /// within the window before it.
        #[test]
        fn it_gives_up_exactly_when_the_rule_says(
            gaps in prop::collection::vec(0u64..12, 0..40), max in 0usize..5, window in 0u64..30,
        ) {
            let mut at = 0;
            let times: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let too_many = (0..times.len()).find(|&i| i >= max && times[i] - times[i - max] <= window);
            prop_assert_eq!(exceeded(max, window, &times).first().copied(), too_many);
        }
    }
}
