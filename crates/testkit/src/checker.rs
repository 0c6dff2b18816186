//! The promises, one checker each. A checker reads a history and says how often it looked, and what it found broken.

mod bounds;
mod causes;
mod journal;
mod log;
mod promises;
mod recovery;
mod run;
mod several;

use holdfast_fake_unity::FakeDialect;

pub use self::recovery::{reached, rebuilding, served};
use self::run::Run;
pub use self::run::{PIPE, SLACK, Said, Verdict};
use crate::history::History;

/// All checkers on one history; where it is of several sessions or editors, each on those that it looks at.
pub fn check(history: &History) -> Vec<Verdict> {
    if history.parts().is_empty() { check_one(history) } else { several::check(history) }
}

fn check_one(history: &History) -> Vec<Verdict> {
    let run = Run::of(history);
    let mut verdicts = vec![
        promises::answer_once(&run),
        promises::at_most_once(&run),
        promises::verdict_truth(&run),
        promises::stdout_is_mcp(&run),
        log::grounds(&run, false),
        bounds::bounded(&run),
        recovery::recovery(&run, false),
        promises::orderly_end(&run),
        promises::total(&run),
        promises::right_editor(&run),
        promises::one_connection(&run),
        promises::epoch_fence(&run),
        promises::deadline(&run),
        log::discretion(&run),
        promises::order(&run),
        log::truth(&run),
        log::connections(&run, run.has_ended()),
        causes::grounded(&run),
    ];
    if run.dialect == FakeDialect::Holdfast {
        verdicts.extend([journal::kept(&run), journal::told(&run)]);
    }
    verdicts
}

/// Those that look at one session of several: at what its client asked and heard, and what the editors ran of it.
pub fn check_session(history: &History) -> Vec<Verdict> {
    promises::of_session(&Run::of(history))
}

#[cfg(test)]
mod tests;
