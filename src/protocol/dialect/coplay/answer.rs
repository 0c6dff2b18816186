//! Stand-in: what a reply of the package means.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::wreck::says_failure;
use super::super::{AnswerBody, EditorAnswer, EditorError, Reply, Wreck};
use crate::protocol::dialect::members::Members;

/// Reads `{"status":"success","result":…}` or `{"status":"error","error":"…"}`.
pub(super) fn read_reply(value: &RawValue) -> Reply {
    let wreck = || Reply::Wreck(Wreck::of_message(value.get().as_bytes()));
    let Some(members) = Members::of(value) else { return wreck() };
    let status = members.get("status");
    match (status.as_ref().and_then(Value::as_str), members.find("result")) {
        (Some("success"), Some(result)) => Reply::Result(result.to_owned()),
        (Some("error"), _) => {
            let error = members.get("error");
            let message = error.as_ref().and_then(Value::as_str).unwrap_or("no reason").to_owned();
            Reply::Error(EditorError { code: 0, message, refusal: None })
        }
        _ => wreck(),
    }
}

/// Converts a reply to a call into an answer.
pub(super) fn read_answer(reply: Reply) -> EditorAnswer {
    match reply {
        Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
        Reply::Wreck(wreck) => wreck.answer(None, Vec::new()),
        Reply::Result(result) => {
            let failed = says_failure(result.get().as_bytes(), &["success"], false) == Some(true);
            EditorAnswer { is_error: failed, body: AnswerBody::Json(result) }
        }
    }
}
