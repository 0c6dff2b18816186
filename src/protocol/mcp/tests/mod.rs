//! Tests what the protocol layer promises, through its public functions.

mod catalogue;
mod fit;
mod http;
mod images;
mod listing;
mod offers;
mod requests;
mod results;
mod stateless;
mod union;

use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// Checks that an outgoing message is JSON on one line, and parses it.
#[track_caller]
fn one_line(json: &str) -> Value {
    assert!(!json.contains(['\n', '\r']), "a raw line end in {json}");
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
}
