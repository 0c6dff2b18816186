//! Request ids. They are returned as the peer wrote them and compared by value.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::limits::REQUEST_ID_MAX_BYTES;

/// Integers of up to this many digits are compared as plain digits, so that a usual id needs no second copy.
const PLAIN_DIGITS: i128 = 40;

/// A JSON-RPC request id: a JSON string or number of at most [`REQUEST_ID_MAX_BYTES`] bytes of JSON text.
///
/// [`as_json`](RequestId::as_json) returns the exact bytes that the peer wrote. Equality, hash and order compare by value:
/// * strings by their characters: `"a"` equals `"\u0061"`;
/// * numbers by their exact decimal value, never as a float: `1`, `1.0` and `1e0` are one id (a JavaScript peer cannot
///   distinguish them either) and `-0` is `0`, but 2^53 and 2^53+1, or `1e400` and `1e401`, are different ids;
/// * a string never equals a number.
///
/// One exception: if an exponent exceeds 64 bits, two spellings of one value may be different ids, which is the safe error. The
/// order is total but not numeric.
#[derive(Clone)]
pub struct RequestId {
    json: Arc<str>,
    /// The value in one standard spelling: a number of the same value, or the characters between two quotes. Different ids never
    /// have the same spelling.
    canonical: Arc<str>,
}

impl RequestId {
    /// Reads an id. `None` if the JSON is not a string or number, is longer than the bound, or is a string with half a surrogate
    /// pair.
    pub fn from_json(json: &str) -> Option<Self> {
        let json = json.trim_matches([' ', '\t', '\r', '\n']);
        if json.len() > REQUEST_ID_MAX_BYTES {
            return None;
        }
        match json.bytes().next()? {
            b'"' => {
                let text: String = serde_json::from_str(json).ok()?;
                // Every escape is longer than the character that it encodes, so equal length means that there is no escape.
                let plain = json.len() == text.len() + 2;
                let json: Arc<str> = json.into();
                let canonical = if plain { json.clone() } else { format!("\"{text}\"").into() };
                Some(Self { json, canonical })
            }
            b'-' | b'0'..=b'9' => {
                serde_json::from_str::<&RawValue>(json).ok()?;
                let canonical = canonical_number(json);
                let json: Arc<str> = json.into();
                let canonical = if *canonical == *json { json.clone() } else { canonical.into() };
                Some(Self { json, canonical })
            }
            _ => None,
        }
    }

    /// Makes a numeric id for a request of ours.
    pub fn from_number(number: u64) -> Self {
        let json: Arc<str> = number.to_string().into();
        Self { canonical: json.clone(), json }
    }

    /// Makes a string id for a request of ours. The caller keeps it below [`REQUEST_ID_MAX_BYTES`].
    pub fn from_text(text: &str) -> Self {
        Self { json: crate::protocol::text::quote(text).into(), canonical: format!("\"{text}\"").into() }
    }

    /// The id as JSON, exactly as the peer wrote it.
    pub fn as_json(&self) -> &str {
        &self.json
    }
}

/// Returns the standard spelling of a valid JSON number: equal values have equal spellings, unless an exponent exceeds 64 bits.
fn canonical_number(text: &str) -> String {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    let significant = digits.trim_end_matches('0');
    // If the exponent is too large, the number keeps its text, so it cannot equal an id of another value.
    let Ok(exponent) = exponent.parse::<i64>() else { return text.to_owned() };
    let zeros = digits.len() - significant.len();
    let exponent = i128::from(exponent) + zeros as i128 - fraction.len() as i128;
    if exponent >= 0 && significant.len() as i128 + exponent <= PLAIN_DIGITS {
        let zeros = usize::try_from(exponent).unwrap_or_default();
        return format!("{sign}{significant}{}", "0".repeat(zeros));
    }
    format!("{sign}{significant}e{exponent}")
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical.hash(state);
    }
}

impl PartialOrd for RequestId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RequestId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.canonical.cmp(&other.canonical)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}
