//! Reading the files with parsers that the program does not use.

use serde_json::Value;

use super::table::Case;

// The crate that edits the files uses these parsers in its own tests.
#[path = "../../../crates/client-config/src/edit/tests/reading.rs"]
mod parsers;

use parsers::plain;
pub use parsers::read;

/// Returns the content on one line, as a program writes it that does not format it for people.
pub fn on_one_line(content: &str) -> String {
    // Comments are removed first: on one line, a `//` comment would hide everything after it.
    plain(content).lines().map(str::trim).collect()
}

/// Returns a file's parsed content without our entry. A map of servers that is empty then is removed too.
pub fn without_entry(case: &Case, meaning: &Value) -> Value {
    let mut rest = meaning.clone();
    let map = rest.as_object_mut().expect("a map");
    if let Some(servers) = map.get_mut(case.key).and_then(Value::as_object_mut) {
        servers.shift_remove("holdfast");
        if servers.is_empty() {
            map.shift_remove(case.key);
        }
    }
    rest
}
