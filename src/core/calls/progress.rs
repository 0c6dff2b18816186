//! The progress of one call as reported to its client. The reported value always rises.
//!
//! Some reports only show that the call is alive, so that the client goes on waiting. Until the tool reports its own progress,
//! each of them adds 1. After that, the tool's value is added to the count so far, and each of them adds only 1/1000; if that is
//! lost in rounding, the next larger number is reported.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::types::ProgressNews;
use crate::core::user_text;
use crate::limits::PROGRESS_EVERY;

/// The parts that one unit has. Once the tool has reported its own progress, [`Progress::beat`] adds one part.
const STEPS: f64 = 1000.0;

#[derive(Clone)]
pub(super) struct Progress {
    token: Arc<RawValue>,
    last: f64,
    /// When the next report that the call is alive is due.
    pub next: Instant,
    tool: Option<Measure>,
}

/// The tool's own progress.
#[derive(Clone)]
struct Measure {
    /// The value that was reported before the tool's first report.
    base: f64,
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Progress {
    pub fn new(token: Arc<RawValue>, now: Instant) -> Self {
        Self { token, last: 0.0, next: now, tool: None }
    }

    /// Returns a report that the call is alive. `hindered`: what keeps the editor from its calls.
    pub fn beat(&mut self, message: String, hindered: Option<&str>, now: Instant) -> ProgressNews {
        let step = if self.tool.is_some() { 1.0 / STEPS } else { 1.0 };
        let words = self.tool.as_ref().and_then(|tool| tool.message.clone()).unwrap_or(message);
        let words = hindered.map_or_else(|| words.clone(), |hindered| format!("{words}; Unity: {hindered}"));
        let next = rounded(self.last + step);
        // Large numbers lie further apart than a step, which rounding then takes away.
        let next = if next > self.last { next } else { self.last.next_up() };
        self.tell(next, words, now)
    }

    /// Postpones the next report, since there is nothing to report now.
    pub fn put_off(&mut self, now: Instant) {
        self.next = now + PROGRESS_EVERY;
    }

    /// Returns a report of the tool's own progress. `None` if the value does not rise.
    pub fn measured(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
        now: Instant,
    ) -> Option<ProgressNews> {
        // A lower value means that the tool was started again: then its values are added to the last reported value.
        let base = self.tool.as_ref().filter(|tool| tool.done <= done).map_or(self.last, |tool| tool.base);
        let progress = rounded(base + done);
        if !progress.is_finite() || progress <= self.last {
            if message.is_some() {
                // The next report that the call is alive has these words.
                let fresh = Measure { base: self.last, done: 0.0, total: None, message: None };
                self.tool.get_or_insert(fresh).message = message;
            }
            return None;
        }
        // An infinite total cannot be written in JSON.
        let total = total.map(|total| rounded(base + total)).filter(|total| total.is_finite() && *total >= progress);
        let words = message.clone().unwrap_or_else(|| user_text::SENT.to_owned());
        self.tool = Some(Measure { base, done, total, message });
        Some(self.tell(progress, words, now))
    }

    fn tell(&mut self, progress: f64, message: String, now: Instant) -> ProgressNews {
        self.last = progress;
        self.next = now + PROGRESS_EVERY;
        let total = self.tool.as_ref().and_then(|tool| tool.total).filter(|total| *total >= progress);
        ProgressNews { token: Arc::clone(&self.token), progress, total, message }
    }
}

/// Rounds to 1/1000, so that no arithmetic error shows in the digits.
fn rounded(progress: f64) -> f64 {
    (progress * STEPS).round() / STEPS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![0.0..1e3, (0..300).prop_map(|power| 10_f64.powi(power)), 0.0..f64::MAX]
    }

    fn progress() -> Progress {
        Progress::new(RawValue::from_string("1".to_owned()).unwrap().into(), Instant::now())
    }

    #[test]
    fn the_tools_measure_stands_on_what_was_told_before_and_begins_anew_with_its_tool() {
        let (mut it, now) = (progress(), Instant::now());
        assert_eq!(it.beat("held".to_owned(), None, now).progress, 1.0);
        let half = it.measured(0.5, Some(1.0), None, now).unwrap();
        assert_eq!((half.progress, half.total), (1.5, Some(2.0)));
        assert_eq!(it.beat("alive".to_owned(), None, now).progress, 1.501);
        assert!(it.measured(0.5, Some(1.0), None, now).is_none(), "it says nothing new");
        let again = it.measured(0.1, Some(1.0), Some("once more".to_owned()), now).unwrap();
        assert_eq!((again.progress, again.total), (1.601, Some(2.501)));
    }

    #[test]
    fn the_words_of_a_tool_are_told_although_its_number_stays() {
        let (mut it, now) = (progress(), Instant::now());
        assert!(it.measured(0.0, None, Some("Importing".to_owned()), now).is_none());
        assert_eq!(it.beat("alive".to_owned(), None, now).message, "Importing");
    }

    #[test]
    fn a_beat_rises_however_large_the_tools_number_is() {
        for done in [1e12, 1e13, 1e16, 1e300] {
            let (mut it, now) = (progress(), Instant::now());
            let told = it.measured(done, None, None, now).unwrap();
            assert!(it.beat(String::new(), None, now).progress > told.progress, "{done}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_tool_says_is_told_in_numbers_that_rise(
            words in prop::collection::vec((number(), prop::option::of(number()), any::<bool>()), 1..20),
        ) {
            let (mut it, now, mut last) = (progress(), Instant::now(), 0.0);
            for (done, total, beat) in words {
                let told = if beat { Some(it.beat(String::new(), None, now)) } else { it.measured(done, total, None, now) };
                let Some(told) = told else { continue };
                prop_assert!(told.progress.is_finite() && told.progress > last);
                prop_assert!(told.total.is_none_or(|total| total.is_finite() && total >= told.progress));
                last = told.progress;
            }
        }
    }
}
