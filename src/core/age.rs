//! Points in time that cross to another process as JSON. The processes have no clock in common, so a point in time
//! crosses as its age in milliseconds, and becomes a point in time of the reader's clock. The time that a message takes
//! on its way is not counted.
//!
//! This is the only file of `core` that asks for the time: serde hands no moment to those who write and read.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::time::Instant;

use crate::protocol::crossing::millis;

/// The age of a point in time, in milliseconds; 0 if it lies in the future.
fn age(at: Instant) -> u64 {
    millis::of(Instant::now().saturating_duration_since(at))
}

/// The point in time of this age; now if the clock does not reach back that far.
fn aged(age: u64) -> Instant {
    let now = Instant::now();
    now.checked_sub(Duration::from_millis(age)).unwrap_or(now)
}

/// Writes a point in time.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    age(*at).serialize(serializer)
}

/// Reads a point in time.
///
/// # Errors
/// It is no whole number of milliseconds.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
    u64::deserialize(deserializer).map(aged)
}

/// A point in time that may be absent.
pub mod some {
    use super::{Deserialize, Deserializer, Instant, Serialize, Serializer, age, aged};

    /// Writes a point in time, or nothing.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(at: &Option<Instant>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(age).serialize(serializer)
    }

    /// Reads a point in time, or nothing.
    ///
    /// # Errors
    /// It is no whole number of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Instant>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(aged))
    }
}

/// A value that may be absent, with the time since when it is known.
pub mod second {
    use super::{Deserialize, Deserializer, Instant, Serialize, Serializer, age, aged};

    /// Writes a list of two, or nothing.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Serialize, S: Serializer>(
        both: &Option<(T, Instant)>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        both.as_ref().map(|(value, at)| (value, age(*at))).serialize(serializer)
    }

    /// Reads a list of two, or nothing.
    ///
    /// # Errors
    /// It is no such list.
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<(T, Instant)>, D::Error> {
        let both: Option<(T, u64)> = Option::deserialize(deserializer)?;
        Ok(both.map(|(value, age)| (value, aged(age))))
    }
}
