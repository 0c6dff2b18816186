//! W3C trace context: the trace that a call belongs to. The client states it, and holdfast passes it on unchanged.
//!
//! Source: W3C Trace Context (`traceparent`, `tracestate`) and W3C Baggage. MCP carries all three in a request's `_meta`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{BAGGAGE_MAX_BYTES, TRACEPARENT_MAX_BYTES, TRACESTATE_MAX_BYTES};

/// The trace that a call belongs to. A member that is not well-formed is treated as absent, as the specification demands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// Version, trace id, parent id and flags.
    pub traceparent: Option<String>,
    /// Data of tracing systems. `None` if there is no `traceparent`.
    pub tracestate: Option<String>,
    /// Data that the client passes along with the trace. It may hold anything, and is never logged.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Reads the three members of a `_meta` object. `None` if neither `traceparent` nor `baggage` is valid.
    pub fn read(meta: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Meta<'a> {
            #[serde(borrow)]
            traceparent: Option<&'a RawValue>,
            #[serde(borrow)]
            tracestate: Option<&'a RawValue>,
            #[serde(borrow)]
            baggage: Option<&'a RawValue>,
        }
        let meta: Meta<'_> = serde_json::from_str(meta.get()).ok()?;
        let text = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let header = |raw, max| {
            text(raw).filter(|text| {
                !text.is_empty() && text.len() <= max && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
            })
        };
        let traceparent = text(meta.traceparent).filter(|text| is_traceparent(text));
        let tracestate = header(meta.tracestate, TRACESTATE_MAX_BYTES).filter(|_| traceparent.is_some());
        let baggage = header(meta.baggage, BAGGAGE_MAX_BYTES);
        let said = traceparent.is_some() || baggage.is_some();
        said.then_some(Self { traceparent, tracestate, baggage })
    }

    /// The id of the trace: 32 hex digits. `None` if there is no `traceparent`.
    pub fn trace_id(&self) -> Option<&str> {
        self.traceparent.as_deref().and_then(|text| text.get(3..35))
    }

    /// The members that are present, as a JSON object on one line.
    pub fn json(&self) -> String {
        let members =
            [("traceparent", &self.traceparent), ("tracestate", &self.tracestate), ("baggage", &self.baggage)];
        let members = members.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        serde_json::Value::from_iter(members).to_string()
    }
}

/// Checks `version-trace-parent-flags` in lowercase hex: 2, 32, 16 and 2 digits. Neither id may be all zeros. Version `ff` is
/// invalid. A version above `00` may have further fields after another dash.
fn is_traceparent(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut hex = |digits: usize| {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        parts.next().filter(|part| part.len() == digits && part.bytes().all(is_hex))
    };
    let (Some(version), Some(trace), Some(parent), Some(_flags)) = (hex(2), hex(32), hex(16), hex(2)) else {
        return false;
    };
    let zero = |id: &str| id.bytes().all(|byte| byte == b'0');
    let more = parts.next().is_some();
    version != "ff"
        && !zero(trace)
        && !zero(parent)
        && (!more || version != "00")
        && text.len() <= TRACEPARENT_MAX_BYTES
        && text.is_ascii()
        && !text.bytes().any(|byte| byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    fn read(meta: &serde_json::Value) -> Option<TraceContext> {
        TraceContext::read(&RawValue::from_string(meta.to_string()).unwrap())
    }

    #[test]
    fn what_is_well_formed_is_kept_as_it_came() {
        let whole = json!({"traceparent": PARENT, "tracestate": "a=1,b=2", "baggage": "user=7"});
        let trace = read(&whole).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&trace.json()).unwrap(), whole);
        assert_eq!(trace.trace_id(), Some("0af7651916cd43dd8448eb211c80319c"));
        let later = "cc-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-what-comes";
        assert_eq!(read(&json!({"traceparent": later})).unwrap().traceparent.as_deref(), Some(later));
        assert_eq!(read(&json!({"baggage": "a=b"})).unwrap().json(), r#"{"baggage":"a=b"}"#);
    }

    #[test]
    fn what_is_not_counts_as_not_said() {
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7",
            "00-0AF7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01\n",
            " 00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read(&json!({"traceparent": bad, "tracestate": "a=1"})), None, "{bad:?}");
        }
        let long = "a=".to_owned() + &"x".repeat(BAGGAGE_MAX_BYTES);
        for bad in
            [json!({"baggage": long}), json!({"baggage": "a=\u{e9}"}), json!({"baggage": 5}), json!([]), json!({})]
        {
            assert_eq!(read(&bad), None, "{bad:.60}");
        }
        let kept = read(&json!({"traceparent": PARENT, "tracestate": "x".repeat(TRACESTATE_MAX_BYTES + 1)})).unwrap();
        assert_eq!(kept.tracestate, None);
    }
}
