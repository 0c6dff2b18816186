//! Another client of an editor that serves one: each that connects displaces all others. If both came back at once, they would displace
//! each other without an end.

use std::time::Duration;

use super::retry::{Used, grown};
use crate::limits::displaced::{DISPLACED_PAUSE_FIRST, DISPLACED_PAUSE_MAX, DISPLACED_WITHIN};

/// Counts, in a row, the connections that the editor's side cut before they were of use. The first is followed by a dial at once, because
/// it may have been a reload. From the second on, the pauses between the dials grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Displaced {
    in_a_row: u8,
}

impl Displaced {
    /// Takes note of a connection that the editor's side ended without an announcement. `lasted`: since it was made. Returns whether
    /// another client has most likely taken its place.
    pub fn cut(&mut self, used: Used, lasted: Duration) -> bool {
        let is_first = used == Used::Answered || lasted >= self.long_enough();
        self.in_a_row = if is_first { 1 } else { self.in_a_row.saturating_add(1) };
        self.pause().is_some()
    }

    /// A connection that lasts longer than this was not taken soon after it was made: the other client, which pauses as we do, may have
    /// waited for so long.
    fn long_enough(self) -> Duration {
        self.pause().map_or(DISPLACED_WITHIN, |pause| DISPLACED_WITHIN.max(pause * 2))
    }

    /// Returns how long nothing is dialled after the last cut; `None` if that one was no sign of another client.
    pub fn pause(self) -> Option<Duration> {
        let nth = self.in_a_row.checked_sub(2)?;
        Some(grown(u32::from(nth), DISPLACED_PAUSE_FIRST, DISPLACED_PAUSE_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    #[test]
    fn the_second_cut_that_comes_soon_is_a_sign_and_the_pauses_grow() {
        let mut displaced = Displaced::default();
        assert!(!displaced.cut(Used::Not, Duration::from_secs(3600)), "it may be a reload");
        assert_eq!(displaced.pause(), None);
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                assert!(displaced.cut(Used::Not, SOON));
                displaced.pause().unwrap_or_default().as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[test]
    fn an_answered_call_or_a_connection_that_lasts_ends_the_count() {
        for (used, lasted) in [(Used::Answered, SOON), (Used::Not, DISPLACED_WITHIN)] {
            let mut displaced = Displaced::default();
            displaced.cut(Used::Not, SOON);
            assert!(displaced.cut(Used::Sent, SOON));
            assert!(!displaced.cut(used, lasted), "{used:?}");
            assert_eq!(displaced.pause(), None);
        }
    }

    #[test]
    fn two_clients_that_pause_for_each_other_do_not_begin_anew() {
        let mut displaced = Displaced::default();
        for _ in 0..9 {
            displaced.cut(Used::Not, SOON);
        }
        assert!(displaced.cut(Used::Not, DISPLACED_PAUSE_MAX), "the other one waited for 30 s");
        assert!(!displaced.cut(Used::Not, DISPLACED_PAUSE_MAX * 2));
    }
}
