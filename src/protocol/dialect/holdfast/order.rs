//! Encodes orders into frames.

use bytes::Bytes;

use super::super::rpc::{self, quoted};
use super::super::{EncodeError, JournalKey, Order, PreparedCall, Recovery, WireId};
use super::greeting;
use crate::limits::HOLDFAST_REQUEST_MAX_BYTES;

/// Encodes this order as a whole frame. The members have the same order as in the golden vectors.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let (method, params) = match order {
        Order::Greeting { hello, said } => greeting::next(hello, said)?,
        Order::ListTools { development, .. } => {
            ("holdfast/tools", format!(r#"{{"includeDevelopmentOnly":{development}}}"#))
        }
        Order::Call { tool, call, progress, .. } => ("holdfast/call", call_params(id, tool, call, *progress)),
        Order::Outcomes(asked) => ("holdfast/outcome", outcome_params(asked)),
        Order::Heartbeat => ("holdfast/status", "{}".to_owned()),
        Order::Cancel(key) => {
            let params = format!(r#"{{"callId":{}}}"#, quoted(&key.id));
            return rpc::notification("holdfast/cancel", &params, HOLDFAST_REQUEST_MAX_BYTES);
        }
    };
    rpc::request(id, method, &params, "", HOLDFAST_REQUEST_MAX_BYTES)
}

fn call_params(id: WireId, tool: &str, call: &PreparedCall, progress: bool) -> String {
    let (name, seq) = match &call.recovery {
        Recovery::Journal(JournalKey { id, seq, .. }) => (id.clone(), *seq),
        // Does not happen: every editor that completes the greeting has a journal. Any number would do here.
        _ => (id.call.map(|call| call.to_string()).unwrap_or_default(), id.number),
    };
    let progress = if progress { r#","progress":true"# } else { "" };
    let limit = call.limit.map(|limit| format!(r#","timeoutMs":{}"#, limit.as_millis())).unwrap_or_default();
    let trace = call.trace.as_ref().map(|trace| format!(r#","trace":{}"#, trace.json())).unwrap_or_default();
    format!(
        r#"{{"callId":{},"seq":{seq},"tool":{},"arguments":{}{progress}{limit}{trace}}}"#,
        quoted(&name),
        quoted(tool),
        call.arguments.get(),
    )
}

fn outcome_params(asked: &[JournalKey]) -> String {
    let each = |key: &JournalKey| format!(r#"{{"callId":{},"seq":{}}}"#, quoted(&key.id), key.seq);
    format!(r#"{{"calls":[{}]}}"#, asked.iter().map(each).collect::<Vec<_>>().join(","))
}
