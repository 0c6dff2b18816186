//! Stand-in: the arguments of a call.

use serde_json::value::RawValue;

use super::super::{EditorTool, PreparedCall, Sending};

/// Prepares a call.
pub(super) fn prepare(
    _sending: &Sending<'_>,
    _name: &str,
    _tool: Option<&EditorTool>,
    arguments: &RawValue,
) -> PreparedCall {
    PreparedCall::as_given(arguments)
}
