//! A package from its two sides, and what all its targets use.

use std::sync::OnceLock;

use holdfast::limits::LOG_FIELD_MAX_BYTES;
use holdfast::protocol::dialect::{BadOutcomes, Dialect, EncodeError, Order, Reply, Shape, WireId, Wreck};
use holdfast::protocol::ids::CallId;
use holdfast_fake_unity::{Facts, Package};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fuzz::recorded::{self, Recorded, wire_bytes};

/// Number of the messages in the targets.
pub(super) const NUMBER: u64 = 9;

/// Separates the fields of an input that has several. JSON does not permit this byte anywhere, and a text editor shows it.
pub(super) const SEPARATOR: u8 = 0x1e;

/// Splits an input into its fields. Missing fields are empty.
pub(super) fn fields<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut all = input.splitn(N, |byte| *byte == SEPARATOR);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// A package from its two sides.
pub struct Sides {
    /// The gateway's.
    pub dialect: &'static dyn Dialect,
    /// The simulated editor's.
    pub package: &'static Package,
    recorded: OnceLock<Recorded>,
}

impl Sides {
    /// A dialect with its simulated package.
    pub fn of(dialect: &'static dyn Dialect) -> Self {
        let package = Package::named(dialect.name());
        let package = package.unwrap_or_else(|| panic!("{} has no simulated editor", dialect.name()));
        Self { dialect, package, recorded: OnceLock::new() }
    }

    /// The first part of the targets' names.
    pub fn name(&self) -> String {
        self.package.name.replace('-', "_")
    }

    pub(super) fn recorded(&self) -> &Recorded {
        self.recorded.get_or_init(|| recorded::of(self.dialect, self.package))
    }

    pub(super) fn facts(&self) -> &'static Facts {
        &self.package.facts
    }

    pub(super) fn is_stream(&self) -> bool {
        self.dialect.properties().shape == Shape::Stream
    }

    /// Whether what is asked and answered is JSON, with the results of calls.
    pub(super) fn speaks_json(&self) -> bool {
        self.is_stream() || self.facts().jobs
    }

    pub(super) fn has_journal(&self) -> bool {
        let said = self.dialect.read_outcomes(Reply::Wreck(Wreck::of_message(b"")), &[]);
        !matches!(said, Err(BadOutcomes::NotSpoken))
    }

    pub(super) fn pushes(&self) -> bool {
        self.dialect.properties().push
    }

    pub(super) fn has_result_files(&self) -> bool {
        self.dialect.read_result_file(b"{}").is_some()
    }

    /// Whether the editor may say something that nobody asked for.
    pub(super) fn speaks_unasked(&self) -> bool {
        let announces = || self.facts().versions.iter().any(|version| (self.facts().announces)(*version));
        self.facts().tells_of_changes || announces()
    }

    pub(super) fn encode(&self, call: Option<CallId>, order: &Order<'_>) -> Result<Vec<u8>, EncodeError> {
        wire_bytes(
            self.dialect,
            self.recorded().hello.editor_port,
            WireId { number: NUMBER, call, agreed: None },
            order,
        )
    }
}

/// Returns the number in an id of ours that is a GUID: its last digits.
pub(super) fn number_of(guid: &str) -> Option<u64> {
    let digits: Vec<char> = guid.chars().filter(char::is_ascii_hexdigit).collect();
    let last: String = digits.get(digits.len().checked_sub(16)?..)?.iter().collect();
    u64::from_str_radix(&last, 16).ok()
}

pub(super) fn call_id() -> CallId {
    CallId::from_random([7; 16])
}

pub(super) fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).ok()
}

pub(super) fn raw(text: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(text).ok()?.to_owned()).ok()
}

pub(super) fn check_words(text: &str) {
    assert!(!text.trim().is_empty(), "a sentence says something");
}

pub(super) fn check_loggable(what: &str) {
    check_words(what);
    assert!(what.len() <= LOG_FIELD_MAX_BYTES && !what.contains(char::is_control), "{what:?} is fit for a log");
}

/// Whether this holds for some value in a message, at any depth.
pub(super) fn some(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    let within = match value {
        Value::Array(items) => items.iter().any(|item| some(item, is)),
        Value::Object(members) => members.values().any(|member| some(member, is)),
        _ => false,
    };
    within || is(value)
}

/// Whether a text begins so at some place in a message.
pub(super) fn says(message: &Value, begins: &str) -> bool {
    some(message, &|value| value.as_str().is_some_and(|text| text.starts_with(begins)))
}
