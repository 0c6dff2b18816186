//! Reads the params of a client's request.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::REQUEST_ID_MAX_BYTES;
use crate::protocol::jsonrpc::{self, RpcError};

/// JSON-RPC's code for unusable params; also MCP's code for an unknown tool and an invalid cursor.
const INVALID_PARAMS: i64 = -32602;

/// The members of `_meta` that are read of a request that becomes a call.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "dev.holdfast/editor")]
    pub(super) editor: Option<&'a RawValue>,
}

impl Meta<'_> {
    /// The token for progress notifications, if it is usable; see [`CallTool::progress_token`](super::CallTool::progress_token).
    pub(super) fn usable_token(&self) -> Option<Box<RawValue>> {
        self.progress_token
            .filter(|token| token.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit()))
            .filter(|token| token.get().len() <= REQUEST_ID_MAX_BYTES)
            // The token is sent back in notifications, so it must not produce a line that the client cannot parse.
            .filter(|token| matches!(jsonrpc::strict(token.get()), Some(Cow::Borrowed(_))))
            .map(ToOwned::to_owned)
    }
}

/// The error for params that cannot be used (-32602).
pub(super) fn invalid(message: String) -> RpcError {
    RpcError { code: INVALID_PARAMS, message, data: None }
}

/// Returns what an error says about a request that it ends before anything ran.
fn ran(method: &str) -> &'static str {
    match method {
        "tools/call" => "; nothing was executed",
        "resources/read" => "; nothing was read",
        _ => "",
    }
}

/// Reads a member of the params that must be a string. `example`: params that have it.
pub(super) fn required(method: &str, member: &str, raw: Option<&RawValue>, example: &str) -> Result<String, RpcError> {
    text(raw).ok_or_else(|| {
        let ran = ran(method);
        invalid(format!("the params of {method} have no string `{member}`{ran}. Send for example {example}"))
    })
}

/// Reads params that must be an object, or missing or null.
pub(super) fn object<'a, T: Deserialize<'a> + Default>(
    method: &str,
    params: Option<&'a RawValue>,
) -> Result<T, RpcError> {
    let ran = ran(method);
    match params {
        None => Ok(T::default()),
        Some(params) if params.get() == "null" => Ok(T::default()),
        Some(params) if params.get().starts_with('{') => serde_json::from_str(params.get()).map_err(|error| {
            invalid(format!("the params of {method} cannot be read ({error}){ran}. Send each key once"))
        }),
        Some(params) => Err(invalid(format!(
            "the params of {method} are {} and not an object{ran}. Send params by name",
            kind_of(params)
        ))),
    }
}

/// Reads an object. Anything else, or an object that cannot be read, gives the defaults.
pub(super) fn lenient<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.map(RawValue::get)
        .filter(|json| json.starts_with('{'))
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// Reads a string; `None` if the value is not a valid string.
pub(super) fn text(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// The kind of a JSON value, for a sentence.
pub(super) fn kind_of(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
