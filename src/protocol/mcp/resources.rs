//! Resources: what the gateway knows, and Unity's console, as texts that a client can read by their addresses.
//!
//! Source: the specification's page "Resources" of each version. The list has one page. The address of a resource may name the
//! editor that is meant, `holdfast://console?editor=NAME`, in a session that may use several.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::limits::resources::{RESOURCE_TEXT_MAX_BYTES, RESOURCE_URI_MAX_BYTES, RESOURCES_LISTED_MAX};
use crate::protocol::jsonrpc::{self, RpcError};
use crate::protocol::text::{cut, cut_with_ellipsis, percent_decoded, percent_encoded, quote};
use crate::protocol::trace::TraceContext;

use super::caching::with_hints;
use super::clients::ClientProfile;
use super::handshake::ProtocolVersion;
use super::params::{Meta, invalid, lenient, object, required};

/// MCP's code for a resource that is not there, before 2026-07-28. Since then it is −32602.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// How the address of a resource names an editor.
const EDITOR_QUERY: &str = "?editor=";

/// A resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Resource {
    /// What `holdfast_status` answers.
    Status,
    /// What `holdfast_editors` answers. Only in a session that may use several editors.
    Editors,
    /// What `holdfast_calls` answers.
    Calls,
    /// The last result of a compilation that passed through this gateway.
    CompileErrors,
    /// The newest entries of Unity's console. To read it is a call of the editor's tool, so it exists only if the
    /// package has such a tool.
    Console,
}

impl Resource {
    /// All resources, in the order of the list.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The resource's name: the host of its address.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The resource's address; `editor`: the name of the editor that is meant.
    pub fn uri(self, editor: Option<&str>) -> String {
        let query = editor.map(|editor| format!("{EDITOR_QUERY}{}", percent_encoded(editor))).unwrap_or_default();
        format!("holdfast://{}{query}", self.name())
    }

    /// Reads an address: the resource, and the editor's name. `None` if there is no such resource.
    fn from_uri(uri: &str) -> Option<(Self, Option<String>)> {
        let (scheme, rest) = uri.split_once("://")?;
        let (name, editor) = match rest.split_once(EDITOR_QUERY) {
            Some((name, editor)) => (name, Some(percent_decoded(editor)?)),
            None => (rest, None),
        };
        // RFC 3986: neither the scheme nor the host depends on the case of letters, and clients normalise both.
        let name = name.strip_suffix('/').unwrap_or(name);
        let resource = Self::ALL.iter().find(|resource| resource.name().eq_ignore_ascii_case(name))?;
        scheme.eq_ignore_ascii_case("holdfast").then(|| (*resource, editor.filter(|editor| !editor.is_empty())))
    }

    fn title(self) -> &'static str {
        match self {
            Self::Status => "Unity connection status",
            Self::Editors => "Unity Editors",
            Self::Calls => "Recent calls",
            Self::CompileErrors => "Last compile errors",
            Self::Console => "Unity console",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Status => {
                "Whether the Unity Editor is connected and ready, and if not, why and what helps; the project, and the calls that \
                 wait or run. Answered without Unity."
            }
            Self::Editors => {
                "The Unity Editors that run and those that are known, with the names by which calls choose them. Answered without \
                 Unity."
            }
            Self::Calls => "The recent calls of Unity tools, and how each ended. Answered without Unity.",
            Self::CompileErrors => {
                "What the compiler said the last time that a compile tool was called through this gateway, and when. Unity may have \
                 compiled since then. Answered without Unity."
            }
            Self::Console => {
                "The newest entries of Unity's console. Reading it is a call of Unity's own tool and waits for Unity."
            }
        }
    }

    /// Returns the form of the resource's text, if it is known before the text is.
    fn mime_type(self) -> Option<&'static str> {
        (self != Self::Console).then_some(JSON)
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// The params of `resources/read`.
#[derive(Debug)]
pub struct ReadResource {
    /// The address, as the client wrote it.
    pub uri: Arc<str>,
    /// The resource that it names.
    pub resource: Resource,
    /// The name of the editor that is meant.
    pub editor: Option<String>,
    /// The token for progress notifications; see [`CallTool::progress_token`](super::CallTool::progress_token).
    pub progress_token: Option<Box<RawValue>>,
    /// The trace that the request belongs to.
    pub trace: Option<TraceContext>,
}

/// What a call is made for, which decides the form of its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// The client called the tool: it gets the tool's result.
    #[default]
    ToolResult,
    /// The client read the resource with this address: it gets the text of the result, or an error.
    ResourceText(Arc<str>),
}

/// Parses the params of `resources/read`. `version`: the request's version, if it names one.
pub(super) fn read_resource(
    params: Option<&RawValue>,
    version: Option<ProtocolVersion>,
) -> Result<ReadResource, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow)]
        uri: Option<&'a RawValue>,
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let params: Params<'_> = object("resources/read", params)?;
    let example = format!(r#"{{"uri":"{}"}}"#, Resource::Status.uri(None));
    let uri = required("resources/read", "uri", params.uri, &example)?;
    if uri.len() > RESOURCE_URI_MAX_BYTES {
        return Err(invalid(format!("the `uri` of resources/read is longer than {RESOURCE_URI_MAX_BYTES} bytes")));
    }
    let Some((resource, editor)) = Resource::from_uri(&uri) else {
        return Err(not_found(&uri, "there is no such resource", version.is_some()));
    };
    let meta: Meta<'_> = lenient(params.meta);
    let (progress_token, trace) = (meta.usable_token(), params.meta.and_then(TraceContext::read));
    Ok(ReadResource { uri: uri.into(), resource, editor, progress_token, trace })
}

/// The error for a resource that is not there, with the code of the request's era.
pub fn not_found(uri: &str, why: &str, is_stateless: bool) -> RpcError {
    let code = if is_stateless { RpcError::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    let uri = cut_with_ellipsis(uri, RESOURCE_URI_MAX_BYTES);
    let message = format!("Resource not found: {why}; nothing was read. resources/list has the addresses");
    let data = to_raw_value(&json!({"uri": uri})).ok();
    RpcError { code, message, data }
}

/// A resource of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The resource.
    pub resource: Resource,
    /// The name of its editor, where several are listed.
    pub editor: Option<String>,
}

/// The `result` of `resources/list`: JSON on one line, with at most [`RESOURCES_LISTED_MAX`] resources.
pub fn resources_list_result(offered: &[Offered], profile: &ClientProfile) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed<'a> {
        uri: String,
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        description: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'static str>,
    }
    let of_editor = |text: &'static str, editor: &Option<String>| match editor {
        Some(editor) => Cow::Owned(format!("{text} ({editor})")),
        None => Cow::Borrowed(text),
    };
    let listed = offered.iter().take(RESOURCES_LISTED_MAX).map(|Offered { resource, editor }| Listed {
        uri: resource.uri(editor.as_deref()),
        name: of_editor(resource.name(), editor),
        title: profile.version.title().then(|| of_editor(resource.title(), editor).into_owned()),
        description: resource.description(),
        mime_type: resource.mime_type(),
    });
    with_hints("resources", &json!(listed.collect::<Vec<_>>()).to_string(), profile)
}

/// The `result` of `resources/templates/list`: there are none, since the list has every address.
pub fn templates_list_result(profile: &ClientProfile) -> String {
    with_hints("resourceTemplates", "[]", profile)
}

/// The `result` of `resources/read` with this text: JSON on one line. A text of more than [`RESOURCE_TEXT_MAX_BYTES`] bytes is
/// cut, and says so.
pub fn read_result(uri: &str, text: &str, profile: &ClientProfile) -> String {
    let shown = cut(text, RESOURCE_TEXT_MAX_BYTES);
    let is_whole = shown.len() == text.len();
    let text = if is_whole {
        Cow::Borrowed(text)
    } else {
        let left = text.len() - shown.len();
        Cow::Owned(format!(
            "{shown}\n[{left} more bytes are left out: call the tool itself with arguments that ask for less]"
        ))
    };
    let is_json = is_whole && text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(&text).is_ok();
    let kind = if is_json { JSON } else { TEXT };
    let mut contents = format!(r#"[{{"uri":{},"mimeType":"{kind}","text":"#, quote(uri));
    jsonrpc::quote_into(&mut contents, &text);
    contents.push_str("}]");
    with_hints("contents", &contents, profile)
}

/// The error of `resources/read` with this text. `call`: the id of the call that was made for it, and its verdict.
pub fn read_error(uri: &str, text: &str, call: Option<(String, &str)>) -> RpcError {
    let (call, verdict) = call.unzip();
    let data = to_raw_value(&json!({"uri": uri, "call_id": call, "verdict": verdict})).ok();
    RpcError { data, ..RpcError::internal(cut_with_ellipsis(text, RESOURCE_TEXT_MAX_BYTES)) }
}
