//! The expected outcome of each moment (a situation in a session) for each package, from the facts of its simulated editor. The
//! tests compare it with the real outcome, and a table in the documents is written from it.

use holdfast::protocol::dialect;
use holdfast_fake_unity::Package;

use super::moments;

/// The outcome of a moment, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    RanWithoutResult,
    Live,
    Fixed,
    Unknown,
    Queued,
    Held,
    HeldOrUnknown,
    OwnEditor,
    Assumed,
    Withdrawn,
    Silent,
    TooQuick,
    Fetched,
    NoLateResult,
    Gone,
}

impl Outcome {
    /// The outcome's name in the table, and its meaning. A bold name marks a limit of the package itself.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Answered => ("answered", "with the editor's own result"),
            Self::RanWithoutResult => (
                "**ran, no result**",
                "the call ran once; the package lets no result of code out, and the answer says so",
            ),
            Self::Live => ("announced", "the list is the editor's own, and a change of it is announced"),
            Self::Fixed => ("**fixed list**", "the package has no list of tools"),
            Self::Unknown => (
                "outcome unknown",
                "the call may have run and is not sent again; what waited behind it runs once afterwards",
            ),
            Self::Queued => (
                "**queued**",
                "the package answers before a call has run if Unity is busy: \"not complete\"; what is lost with a reload is not \
                 sent again",
            ),
            Self::Held => ("held", "the call waits, is sent once when the editor is back, and answered"),
            Self::HeldOrUnknown => (
                "held, or outcome unknown",
                "an editor that stands still is not asked, so the call is held and sent once to the next one; one that dies within \
                 the 100 ms of a request leaves the outcome unknown, and nothing is sent again",
            ),
            Self::OwnEditor => ("its own", "each gateway calls the editor of its own project"),
            Self::Assumed => (
                "**its own, or the named**",
                "no file names the port; on a default port only this project's editor is called, on a port that the user names \
                 whoever listens there, unless its command line opens another project",
            ),
            Self::Withdrawn => ("withdrawn", "no answer; the editor is told, and its place is free at once"),
            Self::Silent => (
                "**silent**",
                "no answer; the package cannot stop what runs, so the call runs to its end, and its place is free then",
            ),
            Self::TooQuick => ("**nothing to cancel**", "the package answers within 100 ms"),
            Self::Fetched => ("fetched later", "\"still running\" in time, and the result later by its call id"),
            Self::NoLateResult => ("**no late result**", "the package has none to give"),
            Self::Gone => ("gone", "the gateway ends, the editor lives on, and the next gateway is served"),
        }
    }
}

/// A situation in a session, and the function that plays it.
pub struct Moment {
    pub name: &'static str,
    pub play: fn(&'static Package) -> Outcome,
}

pub const MOMENTS: [Moment; 11] = [
    Moment { name: "the session opens before the editor", play: moments::open },
    Moment { name: "a tool is added", play: moments::list },
    Moment { name: "a call", play: moments::call },
    Moment { name: "a domain reload while a call runs", play: moments::reload_in_a_call },
    Moment { name: "a domain reload after a call ended, before its answer", play: moments::reload_before_the_answer },
    Moment { name: "a kill while a call runs", play: moments::kill_in_a_call },
    Moment { name: "a call while the editor reloads", play: moments::call_while_away },
    Moment { name: "two editors", play: moments::two_editors },
    Moment { name: "a call is cancelled", play: moments::cancel },
    Moment { name: "the client's patience ends first", play: moments::late_result },
    Moment { name: "stdin ends", play: moments::end_of_stdin },
];

/// The packages in the order in which the gateway looks for them.
pub fn packages() -> impl Iterator<Item = &'static Package> {
    dialect::ALL.iter().map(|dialect| Package::named(dialect.name()).expect("both lists have the same packages"))
}

/// Returns what a moment must end with for a package.
pub fn expected(package: &Package, moment: &str) -> Outcome {
    let facts = &package.facts;
    match moment {
        "the session opens before the editor" => Outcome::Answered,
        "a tool is added" if facts.fixed_list => Outcome::Fixed,
        "a tool is added" => Outcome::Live,
        "a call" if !facts.results => Outcome::RanWithoutResult,
        "a call" => Outcome::Answered,
        "a domain reload while a call runs" if !facts.results => Outcome::Queued,
        "a kill while a call runs" if !facts.results => Outcome::HeldOrUnknown,
        // The package's journal has the result.
        "a domain reload after a call ended, before its answer" if facts.journal => Outcome::Answered,
        "a domain reload while a call runs"
        | "a domain reload after a call ended, before its answer"
        | "a kill while a call runs" => Outcome::Unknown,
        "a call while the editor reloads" => Outcome::Held,
        "two editors" if facts.is_single() => Outcome::Assumed,
        "two editors" => Outcome::OwnEditor,
        "a call is cancelled" if facts.withdraws && facts.ends_withdrawn => Outcome::Withdrawn,
        "a call is cancelled" if !facts.results => Outcome::TooQuick,
        "a call is cancelled" => Outcome::Silent,
        "the client's patience ends first" if !facts.results => Outcome::NoLateResult,
        "the client's patience ends first" => Outcome::Fetched,
        "stdin ends" => Outcome::Gone,
        moment => panic!("nothing is written of {moment}"),
    }
}
