//! What a result of the stateless era says about its caching.
//!
//! Source: the page "Caching" of MCP 2026-07-28.

use std::time::Duration;

use serde_json::Value;

use super::clients::ClientProfile;
use crate::limits::TOOLS_LIST_TTL;
use crate::protocol::text::quote;

/// Returns an object with one member, and with the members about its caching for a client of the stateless era.
pub(super) fn with_hints(name: &str, value: &str, profile: &ClientProfile) -> String {
    let hints = if profile.version.is_stateless() { list_hints() } else { String::new() };
    format!(r#"{{"{name}":{value}{hints}}}"#)
}

/// The members that say how long a list or a resource may be cached, each with a leading comma. The time is zero: tools and the
/// console change whenever Unity recompiles, and asking is cheap.
fn list_hints() -> String {
    let hints: Vec<String> =
        cached(TOOLS_LIST_TTL, "private").map(|(name, value)| format!(",{}:{value}", quote(&name))).collect();
    hints.concat()
}

/// The members that say how long a result may be cached, and by whom.
pub(super) fn cached(ttl: Duration, scope: &str) -> impl Iterator<Item = (String, Value)> {
    let millis = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    [(String::from("ttlMs"), Value::from(millis)), (String::from("cacheScope"), Value::from(scope))].into_iter()
}
