//! The promises of the gateway, with one checker for each. A checker reads the history of a run, counts its checks, and reports
//! each violation.

mod bounds;
mod causes;
mod journal;
mod log;
mod promises;
mod recovery;
mod run;
mod several;

pub use self::recovery::{NOT_LISTED, reached, rebuilding, served};
use self::run::Run;
pub use self::run::{PIPE, SLACK, Said, Verdict};
use crate::history::History;

/// Runs all checkers on one history. If the history has several sessions or editors, each checker runs on the parts that it
/// applies to.
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
    if run.facts().journal {
        verdicts.extend([journal::kept(&run), journal::told(&run)]);
    }
    verdicts
}

/// Runs the checkers that apply to one of several sessions: they check its client's requests and answers, and what the editors
/// ran for it.
pub fn check_session(history: &History) -> Vec<Verdict> {
    promises::of_session(&Run::of(history))
}

#[cfg(test)]
mod tests;
