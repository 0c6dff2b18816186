//! The progress of one call, as its client is told it: strictly rising, whatever it is made of.
//!
//! Until its tool says how far it is, each piece of news counts one. From then on the tool's own measure is put on top of that
//! count; what is told in between, so that the client does not give up, rises by a trifle.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::words::ProgressNews;
use crate::limits::PROGRESS_EVERY;

/// What a beat adds once the tool's own measure is shown.
const TRIFLE: f64 = 0.001;

#[derive(Clone)]
pub(super) struct Progress {
    token: Arc<RawValue>,
    last: f64,
    /// When the client is told again that its call is alive.
    pub next: Instant,
    tool: Option<Measure>,
}

/// The tool's own measure.
#[derive(Clone)]
struct Measure {
    /// What was told before its first word.
    base: f64,
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl Progress {
    pub fn new(token: Arc<RawValue>, now: Instant) -> Self {
        Self { token, last: 0.0, next: now, tool: None }
    }

    /// The call is alive.
    pub fn beat(&mut self, message: String, now: Instant) -> ProgressNews {
        let step = if self.tool.is_some() { TRIFLE } else { 1.0 };
        let words = self.tool.as_ref().and_then(|tool| tool.message.clone()).unwrap_or(message);
        self.tell(rounded(self.last + step), words, now)
    }

    /// The tool's own word. `None` if it does not rise.
    pub fn measured(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
        now: Instant,
    ) -> Option<ProgressNews> {
        // A tool that is run once more begins anew.
        let base = self.tool.as_ref().filter(|tool| tool.done <= done).map_or(self.last, |tool| tool.base);
        let progress = rounded(base + done);
        if !progress.is_finite() || progress <= self.last {
            return None;
        }
        let total = total.map(|total| rounded(base + total)).filter(|total| *total >= progress);
        let words = message.clone().unwrap_or_else(|| "running in Unity".to_owned());
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

/// To the trifle: what is beyond says nothing to anybody and only looks odd.
fn rounded(progress: f64) -> f64 {
    (progress / TRIFLE).round() * TRIFLE
}
