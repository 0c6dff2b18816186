//! Limits how many log lines of one kind are written per time: a peer that sends masses of nonsense must not fill the
//! disk on which its client keeps our stderr. Metrics count every event.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::limits::{LOG_REPEATS_MAX, LOG_REPEATS_WINDOW};

/// Allows [`LOG_REPEATS_MAX`] lines in each [`LOG_REPEATS_WINDOW`].
#[derive(Debug, Default)]
pub(super) struct Quota(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Quota {
    /// If a line may be written now, returns how many lines were left out since the last one; otherwise `None`.
    pub(super) fn admit(&self) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.since.is_none_or(|since| since.elapsed() >= LOG_REPEATS_WINDOW) {
            (window.since, window.lines) = (Some(Instant::now()), 0);
        }
        if window.lines >= LOG_REPEATS_MAX {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_cut_and_what_was_left_out_is_counted() {
        let quota = Quota::default();
        let written = (0..1000).filter(|_| quota.admit() == Some(0)).count();
        assert_eq!(written, LOG_REPEATS_MAX as usize);
        tokio::time::advance(LOG_REPEATS_WINDOW).await;
        assert_eq!(quota.admit(), Some(1000 - u64::from(LOG_REPEATS_MAX)));
        assert_eq!(quota.admit(), Some(0));
    }
}
