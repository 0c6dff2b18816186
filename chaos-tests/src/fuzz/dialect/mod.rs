//! The harness of every dialect: what its codec reads and writes, for any bytes from an editor, its push socket or its project's
//! files. The codec is held against the observer and the facts of its simulated package, which share no code with it.

mod calls;
mod files;
mod replies;

use std::sync::OnceLock;

use holdfast::limits::LOG_FIELD_MAX_BYTES;
use holdfast::protocol::dialect::{self, BadOutcomes, Dialect, EncodeError, Order, Reply, Shape, WireId, Wreck};
use holdfast::protocol::ids::CallId;
use holdfast_fake_unity::{Facts, Package};
use serde_json::Value;
use serde_json::value::RawValue;

use super::recorded::{self, Recorded, wire_bytes};

/// Number of the messages in the targets.
const NUMBER: u64 = 9;

/// What is fuzzed of a dialect: the second part of the targets' names; what panics if the dialect breaks a promise on these bytes;
/// the inputs to begin from, beside the corpus; whether the dialect has it; rounds and longest input of [`Target`](super::Target).
pub type Kind = (&'static str, fn(&Sides, &[u8]), fn(&Sides) -> Vec<Vec<u8>>, fn(&Sides) -> bool, u32, usize);

/// Everything that is fuzzed of a dialect.
pub const KINDS: [Kind; 9] = [
    ("decode", replies::decode, |sides| sides.recorded().frames.clone(), |_| true, 15_000, 4096),
    ("greeting", replies::greeting, replies::greetings, Sides::is_stream, 5_000, 2048),
    ("answer", replies::answer, replies::answers, |sides| !sides.is_stream(), 5_000, 4096),
    ("outcomes", replies::outcomes, |sides| sides.recorded().results.clone(), Sides::has_journal, 10_000, 4096),
    ("tools", files::tools, files::lists, Sides::is_stream, 10_000, 8192),
    ("project", files::project, files::projects, |_| true, 10_000, 4096),
    ("push", files::push, |sides| sides.recorded().pushed.clone(), Sides::pushes, 20_000, 2048),
    ("result_file", files::result_file, files::results, Sides::has_result_files, 20_000, 4096),
    ("call", calls::call, calls::calls, |_| true, 10_000, 8192),
];

/// A package from its two sides.
pub struct Sides {
    /// The gateway's.
    dialect: &'static dyn Dialect,
    /// The simulated editor's.
    package: &'static Package,
    recorded: OnceLock<Recorded>,
}

/// Returns every dialect of the gateway's list with its simulated package.
pub fn all() -> impl Iterator<Item = Sides> {
    dialect::ALL.iter().map(|dialect| Sides {
        dialect: *dialect,
        package: Package::named(dialect.name()).unwrap_or_else(|| panic!("{} has no simulated editor", dialect.name())),
        recorded: OnceLock::new(),
    })
}

impl Sides {
    /// The first part of the targets' names.
    pub fn name(&self) -> String {
        self.package.name.replace('-', "_")
    }

    fn recorded(&self) -> &Recorded {
        self.recorded.get_or_init(|| recorded::of(self.dialect, self.package))
    }

    fn facts(&self) -> &'static Facts {
        &self.package.facts
    }

    fn is_stream(&self) -> bool {
        self.dialect.properties().shape == Shape::Stream
    }

    fn has_journal(&self) -> bool {
        let said = self.dialect.read_outcomes(Reply::Wreck(Wreck::of_message(b"")), &[]);
        !matches!(said, Err(BadOutcomes::NotSpoken))
    }

    fn pushes(&self) -> bool {
        self.dialect.properties().push
    }

    fn has_result_files(&self) -> bool {
        self.dialect.read_result_file(b"{}").is_some()
    }

    /// Whether the editor may say something that nobody asked for.
    fn speaks_unasked(&self) -> bool {
        let announces = || self.facts().versions.iter().any(|version| (self.facts().announces)(*version));
        self.facts().tells_of_changes || announces()
    }

    fn encode(&self, call: Option<CallId>, order: &Order<'_>) -> Result<Vec<u8>, EncodeError> {
        wire_bytes(self.dialect, self.recorded().hello.editor_port, WireId { number: NUMBER, call }, order)
    }
}

fn call_id() -> CallId {
    CallId::from_random([7; 16])
}

fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).ok()
}

fn raw(text: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(text).ok()?.to_owned()).ok()
}

fn check_words(text: &str) {
    assert!(!text.trim().is_empty(), "a sentence says something");
}

fn check_loggable(what: &str) {
    check_words(what);
    assert!(what.len() <= LOG_FIELD_MAX_BYTES && !what.contains(char::is_control), "{what:?} is fit for a log");
}

/// Whether this holds for some value in a message, at any depth.
fn some(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    let within = match value {
        Value::Array(items) => items.iter().any(|item| some(item, is)),
        Value::Object(members) => members.values().any(|member| some(member, is)),
        _ => false,
    };
    within || is(value)
}

/// Whether a text begins so at some place in a message.
fn says(message: &Value, begins: &str) -> bool {
    some(message, &|value| value.as_str().is_some_and(|text| text.starts_with(begins)))
}
