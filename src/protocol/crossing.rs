//! Helpers of values that cross to another process as JSON: spans of time and labels. Points in time are in
//! `core::age`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A label out of a fixed set. The alias hides from serde that the label is a reference, because serde would borrow
/// references from the text that it reads.
pub type Label = &'static str;

/// Stands for a label that this program does not know, where labels are only shown.
pub const UNKNOWN: Label = "unknown";

/// Reads a label that must be one of these.
///
/// # Errors
/// It is none of them.
pub fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
    labels: impl IntoIterator<Item = Label>,
) -> Result<Label, D::Error> {
    let text = String::deserialize(deserializer)?;
    labels
        .into_iter()
        .find(|label| **label == text)
        .ok_or_else(|| D::Error::custom(format_args!("unknown label {text:?}")))
}

/// Reads one of these labels. Gives [`UNKNOWN`] for any other text.
///
/// # Errors
/// It is no text.
pub fn shown<'de, D: Deserializer<'de>>(
    deserializer: D,
    labels: impl IntoIterator<Item = Label>,
) -> Result<Label, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(labels.into_iter().find(|label| **label == text).unwrap_or(UNKNOWN))
}

/// A `Duration` as milliseconds. A part of a millisecond is lost.
pub mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// The span in milliseconds.
    pub fn of(span: Duration) -> u64 {
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }

    /// Writes a span.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        of(*span).serialize(serializer)
    }

    /// Reads a span.
    ///
    /// # Errors
    /// It is no whole number of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }

    /// A span that may be absent.
    pub mod some {
        use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, of};

        /// Writes a span, or nothing.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
            span.map(of).serialize(serializer)
        }

        /// Reads a span, or nothing.
        ///
        /// # Errors
        /// It is no whole number of milliseconds.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
            Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
        }
    }

    /// A list of two values and a span, which may be absent.
    pub mod third {
        use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, of};

        /// Writes a list of three, or nothing.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<A: Serialize, B: Serialize, S: Serializer>(
            all: &Option<(A, B, Duration)>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            all.as_ref().map(|(a, b, span)| (a, b, of(*span))).serialize(serializer)
        }

        /// Reads a list of three, or nothing.
        ///
        /// # Errors
        /// It is no such list.
        pub fn deserialize<'de, A: Deserialize<'de>, B: Deserialize<'de>, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<(A, B, Duration)>, D::Error> {
            let all: Option<(A, B, u64)> = Option::deserialize(deserializer)?;
            Ok(all.map(|(a, b, span)| (a, b, Duration::from_millis(span))))
        }
    }
}
