//! Resources: what the gateway knows, Unity's console, and what the server of the editor's package offered, as texts that a client can
//! read by their addresses.
//!
//! Source: the specification's page "Resources" of each version. The lists have one page. The address of a resource may name the
//! editor that is meant, `holdfast://console?editor=NAME`, in a session that may use several.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::limits::resources::{RESOURCE_TEXT_MAX_BYTES, RESOURCE_URI_MAX_BYTES, RESOURCES_LISTED_MAX};
use crate::protocol::dialect::{self, PackageResource};
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

/// A resource of the gateway.
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
        with_editor(&format!("holdfast://{}", self.name()), editor)
    }

    /// Reads an address that names no editor. `None` if there is no such resource.
    fn at(address: &str) -> Option<Self> {
        let (scheme, name) = address.split_once("://")?;
        // RFC 3986: neither the scheme nor the host depends on the case of letters, and clients normalise both.
        let name = name.strip_suffix('/').unwrap_or(name);
        let resource = Self::ALL.iter().find(|resource| resource.name().eq_ignore_ascii_case(name))?;
        scheme.eq_ignore_ascii_case("holdfast").then_some(*resource)
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

/// A resource of the gateway, or one of the server of an editor's package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyResource {
    /// The gateway's.
    Own(Resource),
    /// The package's.
    Package(&'static PackageResource),
}

/// The arguments that an address gives, or what is wrong with it.
type Arguments = Result<Map<String, Value>, String>;

impl AnyResource {
    /// Reads an address that names no editor: the resource, and the arguments that are in the address. `None` if no package has such
    /// a resource.
    fn at(address: &str) -> Option<(Self, Arguments)> {
        if let Some(own) = Resource::at(address) {
            return Some((Self::Own(own), Ok(Map::new())));
        }
        let mut of_packages = dialect::ALL.iter().flat_map(|dialect| dialect.resources());
        of_packages.find_map(|resource| Some((Self::Package(resource), resource.arguments_at(address)?)))
    }

    fn is_template(self) -> bool {
        matches!(self, Self::Package(resource) if resource.is_template())
    }

    fn uri(self, editor: Option<&str>) -> String {
        match self {
            Self::Own(resource) => resource.uri(editor),
            Self::Package(resource) => with_editor(&resource.address, editor),
        }
    }

    /// The name, the name for people, and what the text says.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Own(resource) => [resource.name(), resource.title(), resource.description()],
            Self::Package(PackageResource { name, title, description, .. }) => [name, title, description],
        }
    }

    fn mime_type(self) -> Option<&'static str> {
        match self {
            Self::Own(resource) => resource.mime_type(),
            Self::Package(_) => None,
        }
    }
}

/// Returns the address of a resource in the editor with this name.
fn with_editor(address: &str, editor: Option<&str>) -> String {
    let query = editor.map(|editor| format!("{EDITOR_QUERY}{}", percent_encoded(editor))).unwrap_or_default();
    format!("{address}{query}")
}

/// Divides an address from the editor's name in it. `None` if the name cannot be read.
fn without_editor(uri: &str) -> Option<(&str, Option<String>)> {
    let Some((address, editor)) = uri.split_once(EDITOR_QUERY) else { return Some((uri, None)) };
    Some((address, Some(percent_decoded(editor)?).filter(|editor| !editor.is_empty())))
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// The member of a template in which its address stands.
const TEMPLATE: &str = "uriTemplate";

/// The params of `resources/read`.
#[derive(Debug)]
pub struct ReadResource {
    /// The address, as the client wrote it.
    pub uri: Arc<str>,
    /// The resource that it names.
    pub resource: AnyResource,
    /// The arguments of the call that reads it, an object.
    pub arguments: Box<RawValue>,
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
    let found = without_editor(&uri).and_then(|(address, editor)| Some((AnyResource::at(address)?, editor)));
    let Some(((resource, arguments), editor)) = found else {
        return Err(not_found(&uri, "there is no such resource", version.is_some()));
    };
    let arguments = arguments.and_then(|arguments| to_raw_value(&arguments).map_err(|error| error.to_string()));
    let arguments = arguments.map_err(|why| invalid(format!("{why}; nothing was read")))?;
    let meta: Meta<'_> = lenient(params.meta);
    let (progress_token, trace) = (meta.usable_token(), params.meta.and_then(TraceContext::read));
    Ok(ReadResource { uri: uri.into(), resource, arguments, editor, progress_token, trace })
}

/// The error for a resource that is not there, with the code of the request's era.
pub fn not_found(uri: &str, why: &str, is_stateless: bool) -> RpcError {
    let code = if is_stateless { RpcError::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    let uri = cut_with_ellipsis(uri, RESOURCE_URI_MAX_BYTES);
    let message = format!(
        "Resource not found: {why}; nothing was read. resources/list and resources/templates/list have the addresses"
    );
    let data = to_raw_value(&json!({"uri": uri})).ok();
    RpcError { code, message, data }
}

/// A resource of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The resource.
    pub resource: AnyResource,
    /// The name of its editor, where several are listed.
    pub editor: Option<String>,
}

/// The `result` of `resources/list`: JSON on one line, with at most [`RESOURCES_LISTED_MAX`] resources.
pub fn resources_list_result(offered: &[Offered], profile: &ClientProfile) -> String {
    with_hints("resources", &listed(offered, "uri", profile), profile)
}

/// The `result` of `resources/templates/list`: those whose addresses have variables, with the same bound.
pub fn templates_list_result(offered: &[Offered], profile: &ClientProfile) -> String {
    with_hints("resourceTemplates", &listed(offered, TEMPLATE, profile), profile)
}

/// Lists the resources whose address is this member.
fn listed(offered: &[Offered], address: &'static str, profile: &ClientProfile) -> String {
    let of_editor = |text: &'static str, editor: &Option<String>| match editor {
        Some(editor) => Cow::Owned(format!("{text} ({editor})")),
        None => Cow::Borrowed(text),
    };
    let is_listed = |of: &&Offered| of.resource.is_template() == (address == TEMPLATE);
    let of = offered.iter().filter(is_listed).take(RESOURCES_LISTED_MAX).map(|Offered { resource, editor }| {
        let [name, title, description] = resource.words();
        let title = profile.version.title().then(|| ("title", of_editor(title, editor)));
        let mime_type = resource.mime_type().map(|kind| ("mimeType", kind.into()));
        [(address, resource.uri(editor.as_deref()).into()), ("name", of_editor(name, editor))]
            .into_iter()
            .chain(title)
            .chain([("description", description.into())])
            .chain(mime_type)
            .collect::<BTreeMap<_, _>>()
    });
    json!(of.collect::<Vec<_>>()).to_string()
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
