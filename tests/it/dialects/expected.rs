//! The expected outcome of each moment (a situation in a session) for each dialect, as data. The tests compare it with the
//! real outcome, and a table in the documents is written from it.

use serde_json::json;

use super::moments;
use super::stage::Call;

/// What the moments need to know about a dialect.
pub struct Dialect {
    pub name: &'static str,
    /// The package's name in the documents.
    pub package: &'static str,
    /// A call that changes nothing.
    pub look: fn() -> Call,
    /// A call that counts its runs under a key.
    pub count: fn(&str) -> Call,
    /// A call that counts its runs and is not answered until `release`.
    pub hold: fn(&str) -> Call,
    /// Whether no file of the project names the port.
    pub port_is_told_nowhere: bool,
    /// Whether the tool list is fixed by the package and never changes.
    pub has_a_fixed_list: bool,
    /// Whether the editor announces changes of its tools.
    pub tells_of_changes: bool,
    /// Whether the package answers a call only when the call has ended.
    pub waits_for_answers: bool,
}

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
                "no answer; the package cannot be told, so the call runs to its end, and its place is free then",
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
    pub play: fn(&Dialect) -> Outcome,
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

fn test_look() -> Call {
    ("echo", json!({"text": "seen"}))
}

fn test_count(key: &str) -> Call {
    ("count", json!({"key": key}))
}

fn test_hold(key: &str) -> Call {
    ("count", json!({"key": key, "hold": true}))
}

const LIKE_ULOOP: Dialect = Dialect {
    name: "uloop",
    package: "uLoopMCP v0.27 to v2.1.1",
    look: test_look,
    count: test_count,
    hold: test_hold,
    port_is_told_nowhere: false,
    has_a_fixed_list: false,
    tells_of_changes: true,
    waits_for_answers: true,
};

/// The dialects, in the order in which the gateway looks for them.
pub const DIALECTS: [Dialect; 5] = [
    Dialect { name: "holdfast", package: "holdfast's own (`unity/`)", ..LIKE_ULOOP },
    Dialect { name: "turbokettle", package: "turbokettle/unity-mcp", tells_of_changes: false, ..LIKE_ULOOP },
    Dialect {
        name: "unity-mcp",
        package: "TSavo/Unity-MCP",
        look: || ("get_state", json!({})),
        count: |key| ("execute_code", json!({"code": format!("count(\"{key}\")")})),
        hold: |key| ("execute_code", json!({"code": format!("count(\"{key}\")")})),
        port_is_told_nowhere: true,
        has_a_fixed_list: true,
        tells_of_changes: false,
        waits_for_answers: false,
    },
    Dialect { name: "umcp", package: "uMCP v0.1 to v0.26", ..LIKE_ULOOP },
    LIKE_ULOOP,
];

/// The expected outcome of a moment for a dialect.
pub struct Expected {
    pub outcome: Outcome,
}

/// Returns what a moment must end with for a dialect, as data.
pub fn expected(dialect: &str, moment: &str) -> Expected {
    let outcome = match (moment, dialect) {
        ("the session opens before the editor", _) => Outcome::Answered,
        ("a tool is added", "unity-mcp") => Outcome::Fixed,
        ("a tool is added", _) => Outcome::Live,
        ("a call", "unity-mcp") => Outcome::RanWithoutResult,
        ("a call", _) => Outcome::Answered,
        ("a domain reload while a call runs", "unity-mcp") => Outcome::Queued,
        ("a kill while a call runs", "unity-mcp") => Outcome::HeldOrUnknown,
        // The package's journal has the result.
        ("a domain reload after a call ended, before its answer", "holdfast") => Outcome::Answered,
        (
            "a domain reload while a call runs"
            | "a domain reload after a call ended, before its answer"
            | "a kill while a call runs",
            _,
        ) => Outcome::Unknown,
        ("a call while the editor reloads", _) => Outcome::Held,
        ("two editors", "unity-mcp") => Outcome::Assumed,
        ("two editors", _) => Outcome::OwnEditor,
        ("a call is cancelled", "holdfast") => Outcome::Withdrawn,
        ("a call is cancelled", "unity-mcp") => Outcome::TooQuick,
        ("a call is cancelled", _) => Outcome::Silent,
        ("the client's patience ends first", "unity-mcp") => Outcome::NoLateResult,
        ("the client's patience ends first", _) => Outcome::Fetched,
        ("stdin ends", _) => Outcome::Gone,
        (moment, dialect) => panic!("nothing is written of {moment} with {dialect}"),
    };
    Expected { outcome }
}
