//! The delay before the next connection attempt. It follows from the number of the attempt, how likely the editor returns, and a
//! random number.
//!
//! This is the only file that uses the `backoff` crate, and only for the growth of the delay. A machine counts the attempts and
//! the random number is passed in, so the crate's own state and randomness are not used. Three habits of the crate are worked
//! around:
//!
//! * It gives up after 15 minutes by default, but a gateway never gives up (`max_elapsed_time` is `None`).
//! * It draws a random number even for a jitter of 0, which can change the *returned* delay by a nanosecond. `current_interval`,
//!   which is read here, grows without randomness.
//! * It reads the time when it is built and at each step. Only `max_elapsed_time` needs that time, and std can make an `Instant`
//!   only from a clock. The value is dropped with the struct, and nothing here depends on it.

use std::time::Duration;

use backoff::ExponentialBackoffBuilder;
use backoff::backoff::Backoff;

use super::bridge::{ConnectFailure, Event, Timer};
use crate::limits::{
    REDIAL_FIRST, REDIAL_MAX, RETRY_FIRST, RETRY_JITTER, RETRY_LIKELY_MAX, RETRY_UNLIKELY_MAX, USELESS_LINKS_FREE,
};

/// Returns how long to wait before the next attempt.
///
/// The delay doubles from [`RETRY_FIRST`] (attempt 0) up to [`RETRY_LIKELY_MAX`] or [`RETRY_UNLIKELY_MAX`]. Then it is changed by
/// up to the fraction [`RETRY_JITTER`]: `random` 0 gives the shortest delay, 0.5 the exact one, 1 the longest. A value outside
/// 0..=1 is clamped, and NaN counts as 0.5. The delay is never zero. For the same `random`, the delay of a later attempt is never
/// shorter.
pub fn delay(attempt: u32, likely: bool, random: f64) -> Duration {
    let cap = if likely { RETRY_LIKELY_MAX } else { RETRY_UNLIKELY_MAX };
    let random = if random.is_nan() { 0.5 } else { random.clamp(0.0, 1.0) };
    grown(attempt, RETRY_FIRST, cap).mul_f64(1.0 + RETRY_JITTER * (2.0 * random - 1.0))
}

/// Returns how long a patient dial waits before it dials again. The pause doubles from [`REDIAL_FIRST`] (attempt 0) up to
/// [`REDIAL_MAX`].
pub fn redial(attempt: u32) -> Duration {
    grown(attempt, REDIAL_FIRST, REDIAL_MAX)
}

pub(super) fn grown(attempt: u32, first: Duration, cap: Duration) -> Duration {
    let mut growth = ExponentialBackoffBuilder::new()
        .with_initial_interval(first)
        .with_multiplier(2.0)
        .with_randomization_factor(0.0)
        .with_max_interval(cap)
        .with_max_elapsed_time(None)
        .build();
    for _ in 0..attempt {
        if growth.current_interval >= cap {
            break;
        }
        growth.next_backoff();
    }
    growth.current_interval
}

/// Counts, in a row, the connections that the editor accepted and that were of no use. Such a connection ended before a
/// call was sent on it, and before it had lasted for [`LIVENESS_EVERY`](crate::limits::LIVENESS_EVERY). Without this
/// count, an editor that drops every connection would be dialled many times a second for ever, because it is alive. A
/// connection that ends under a call does not count: how often a call is sent has a bound of its own, and a client that
/// lost one call must not wait longer for the next. Only an answered call ends the count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Useless {
    in_a_row: u8,
    /// Whether there is a connection that has not lasted yet.
    open: bool,
    /// Whether the editor's side ended the connection.
    dropped: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Used {
    /// No call was sent on it.
    #[default]
    Not,
    /// A call was sent on it, and none was answered.
    Sent,
    Answered,
}

impl Useless {
    /// Takes note of an event of the bridge.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Connected { .. } => (self.open, self.dropped) = (true, false),
            Event::Elapsed(Timer::Liveness) | Event::ProjectChanged => *self = Self::default(),
            Event::Disconnected(_) | Event::GreetingRefused(_) => self.dropped = true,
            Event::ConnectFailed { failure: ConnectFailure::Vanished, .. } => {
                self.in_a_row = self.in_a_row.saturating_add(1);
            }
            _ => {}
        }
    }

    /// Takes note of the end of a connection.
    pub fn ended(&mut self, used: Used) {
        match used {
            Used::Answered => *self = Self::default(),
            Used::Not if self.open && self.dropped => self.in_a_row = self.in_a_row.saturating_add(1),
            Used::Not | Used::Sent => {}
        }
        (self.open, self.dropped) = (false, false);
    }

    /// Whether there are so many useless connections that the pauses grow.
    pub fn circles(self) -> bool {
        self.in_a_row > USELESS_LINKS_FREE
    }

    /// Returns the attempt and the likelihood for [`delay`]. `attempt` and `likely` are the values without this count.
    pub fn paced(self, attempt: u8, likely: bool) -> (u8, bool) {
        let over = self.in_a_row.saturating_sub(USELESS_LINKS_FREE);
        match likely {
            true if self.circles() => (over, false),
            likely => (attempt.max(over), likely),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fsm::bridge::Disconnect;

    #[test]
    fn an_editor_that_takes_connections_for_nothing_is_dialled_ever_more_rarely_until_it_answers_a_call() {
        let end = Event::Disconnected(Disconnect::Eof);
        let connected = Event::Connected { target: 0, checked: true };
        let mut useless = Useless::default();
        let mut lost = |between: &[Event], used: Used| {
            for event in [connected].iter().chain(between).chain([&end]) {
                useless.note(event);
            }
            useless.ended(used);
            useless.paced(1, true)
        };
        // Some end in the greeting, some after a tool list; none answers a call.
        let useless_ones: [&[Event]; 3] = [&[], &[Event::GreetingRefused(ConnectFailure::WrongPeer)], &[Event::Proven]];
        for nth in 0..usize::from(USELESS_LINKS_FREE) {
            assert_eq!(lost(useless_ones[nth % 3], Used::Not), (1, true));
        }
        for nth in 1..200 {
            assert_eq!(lost(useless_ones[usize::from(nth) % 3], Used::Not), (nth, false));
        }
        assert_eq!(lost(&[], Used::Answered), (1, true), "it answered a call");
        for _ in 0..200 {
            assert_eq!(lost(&[], Used::Sent), (1, true), "a call was lost with it");
        }
        for _ in 0..=USELESS_LINKS_FREE {
            lost(&[], Used::Not);
        }
        assert_eq!(lost(&[Event::Elapsed(Timer::Liveness)], Used::Not), (1, true), "it lasted");
        assert_eq!(useless, Useless::default(), "what ended of use is not counted");
    }

    fn millis(likely: bool) -> Vec<u128> {
        (0..9).map(|attempt| delay(attempt, likely, 0.5).as_millis()).collect()
    }

    #[test]
    fn an_unlikely_editor_is_asked_ever_more_rarely_but_always() {
        assert_eq!(millis(false), [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(delay(u32::MAX, false, 0.5), RETRY_UNLIKELY_MAX);
    }

    #[test]
    fn a_likely_editor_is_asked_at_least_every_tenth_of_a_second() {
        assert_eq!(millis(true), [50, 100, 100, 100, 100, 100, 100, 100, 100]);
    }

    #[test]
    fn a_patient_dial_is_soon_as_often_as_it_gets() {
        assert_eq!([0, 1, 2, 3, u32::MAX].map(|attempt| redial(attempt).as_millis()), [2, 4, 8, 10, 10]);
    }

    #[test]
    fn the_die_moves_the_delay_by_a_fifth_either_way() {
        assert_eq!(delay(1, false, 0.0), Duration::from_millis(80));
        assert_eq!(delay(1, false, 1.0), Duration::from_millis(120));
        assert_eq!(delay(1, false, f64::NAN), Duration::from_millis(100));
        assert_eq!(delay(1, false, f64::INFINITY), Duration::from_millis(120));
        assert_eq!(delay(1, false, -7.0), Duration::from_millis(80));
    }

    proptest! {
        #[test]
        fn bounded_monotone_and_a_function(attempt: u32, small in 0u32..12, likely: bool, random in 0.0..=1.0f64) {
            let cap = if likely { RETRY_LIKELY_MAX } else { RETRY_UNLIKELY_MAX };
            for attempt in [attempt, small] {
                let now = delay(attempt, likely, random);
                prop_assert!(now >= RETRY_FIRST.mul_f64(1.0 - RETRY_JITTER));
                prop_assert!(now <= cap.mul_f64(1.0 + RETRY_JITTER));
                prop_assert!(now <= delay(attempt.saturating_add(1), likely, random));
                prop_assert!(delay(attempt, true, random) <= delay(attempt, false, random));
                prop_assert_eq!(now, delay(attempt, likely, random));
            }
        }
    }
}
