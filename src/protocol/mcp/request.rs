//! Reads a client's requests and notifications from a method and its raw params.
//!
//! The reader is lenient where nothing is lost by that (capabilities, client data, progress tokens), and strict where a guess
//! would change what runs (the tool's name and arguments).

use serde::Deserialize;
use serde_json::value::RawValue;
use strum::VariantArray as _;

#[cfg(doc)]
use crate::limits::REQUEST_ID_MAX_BYTES;
use crate::limits::{CLIENT_FIELD_MAX_BYTES, LOG_FIELD_MAX_BYTES};
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::trace::TraceContext;

use super::gateway_tool_schemas::{GatewayCall, GatewayTool};
use super::handshake::ProtocolVersion;
use super::params::{Meta, invalid, kind_of, lenient, object, required, text};
use super::prompts::{GetPrompt, get_prompt};
use super::resources::{ReadResource, read_resource};
use crate::protocol::text::{cut, cut_with_ellipsis};

/// The changes that a client subscribes to with `subscriptions/listen`. The specification names several kinds; here only the lists of
/// tools and of resources change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// Whether the client wants notifications of a changed tool list.
    pub tools: bool,
    /// Whether the client wants notifications of a changed list of resources.
    pub resources: bool,
}

impl Filter {
    /// Whether the client wants to be told of the changes of this list.
    pub fn wants(self, list: List) -> bool {
        match list {
            List::Tools => self.tools,
            List::Resources => self.resources,
        }
    }
}

/// A list that can change while a client is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub enum List {
    /// The tools.
    Tools,
    /// The resources.
    Resources,
}

impl List {
    /// Returns the method of the notification that the list changed.
    pub fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    /// Returns the list of which this method tells that it changed.
    pub fn of_notification(method: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|list| list.notification() == method)
    }
}

/// JSON-RPC's code for a method that is not offered.
const METHOD_NOT_FOUND: i64 = -32601;

/// The methods that metrics and logs distinguish, by their names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Method {
    /// Opens the session.
    #[strum(serialize = "initialize")]
    Initialize,
    /// Asks for versions and capabilities without a handshake.
    #[strum(serialize = "server/discover")]
    Discover,
    /// Asks whether the server is alive.
    #[strum(serialize = "ping")]
    Ping,
    /// Asks for the tool list.
    #[strum(serialize = "tools/list")]
    ListTools,
    /// Calls a tool.
    #[strum(serialize = "tools/call")]
    CallTool,
    /// Subscribes to changes; the request stays open.
    #[strum(serialize = "subscriptions/listen")]
    Listen,
    /// Asks for the list of resources.
    #[strum(serialize = "resources/list")]
    ListResources,
    /// Reads a resource.
    #[strum(serialize = "resources/read")]
    ReadResource,
    /// Asks for the list of prompts.
    #[strum(serialize = "prompts/list")]
    ListPrompts,
    /// Fetches a prompt.
    #[strum(serialize = "prompts/get")]
    GetPrompt,
    /// Any other method, and the list of resource templates: it is rarely asked for, and each method costs series of metrics.
    #[strum(serialize = "other")]
    Other,
}

impl Method {
    /// Returns the method with this name, or [`Method::Other`].
    pub fn from_name(name: &str) -> Self {
        let known = Self::VARIANTS.iter().find(|method| <&str>::from(**method) == name);
        known.copied().unwrap_or(Self::Other)
    }
}

/// A client's request.
#[derive(Debug)]
pub enum Request {
    /// `initialize`.
    Initialize(Initialize),
    /// `ping`.
    Ping,
    /// `tools/list`. The list has one page, so the parser refuses a request with a cursor.
    ListTools,
    /// `tools/call`.
    CallTool(CallTool),
    /// `server/discover`, only in the stateless era.
    Discover,
    /// `subscriptions/listen`, only in the stateless era.
    Listen(Filter),
    /// A request for resources or prompts.
    Offer(OfferRequest),
}

/// A request for resources or prompts. The lists have one page each, so the parser refuses a request with a cursor.
#[derive(Debug)]
pub enum OfferRequest {
    /// `resources/list`.
    ListResources,
    /// `resources/templates/list`.
    ListTemplates,
    /// `resources/read`.
    Read(ReadResource),
    /// `prompts/list`.
    ListPrompts,
    /// `prompts/get`.
    GetPrompt(GetPrompt),
}

impl Request {
    /// Whether such a request opens a session without a handshake. A probe does not: it must make nobody connect to an editor.
    pub fn opens_session(&self) -> bool {
        match self {
            Self::ListTools | Self::CallTool(_) | Self::Listen(_) | Self::Offer(_) => true,
            Self::Initialize(_) | Self::Ping | Self::Discover => false,
        }
    }
}

/// The params of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialize {
    /// The protocol version that the client requests; see [`ProtocolVersion::negotiate`].
    pub requested: String,
    /// The client's description of itself.
    pub client: ClientInfo,
    /// Whether the client answers `roots/list`.
    pub roots: bool,
}

/// A client's description of itself. It is shown and used to find the client's habits, but never trusted. Each field has at most
/// [`CLIENT_FIELD_MAX_BYTES`] bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The client's name; empty if it states none.
    pub name: String,
    /// The client's version.
    pub version: Option<String>,
    /// The client's name for people.
    pub title: Option<String>,
    /// The client's own id of its session. It is not in `clientInfo`: the client's environment names it.
    pub session: Option<String>,
}

/// The params of `tools/call`.
#[derive(Debug)]
pub struct CallTool {
    /// The tool's name in the tool list.
    pub name: String,
    /// The arguments as the client wrote them: a JSON object, `{}` if there were none.
    pub arguments: Box<RawValue>,
    /// The token for progress notifications, unchanged: a string or number of at most [`REQUEST_ID_MAX_BYTES`] bytes that every
    /// JSON parser accepts. Any other token is treated as missing, because a call matters more than its progress.
    pub progress_token: Option<Box<RawValue>>,
    /// The trace that the call belongs to.
    pub trace: Option<TraceContext>,
    /// What `_meta` says of the editor that the call is for ([`EDITOR_META`](super::EDITOR_META)).
    pub editor: Option<Box<RawValue>>,
}

/// A client's notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// The handshake is complete.
    Initialized,
    /// The client no longer wants the answer to a request.
    Cancelled {
        /// The id of the request.
        id: RequestId,
        /// The reason, for a log; at most [`LOG_FIELD_MAX_BYTES`] bytes.
        reason: Option<String>,
    },
    /// The client's roots have changed.
    RootsListChanged,
    /// Any other or malformed notification, which is ignored.
    Other,
}

/// Parses a request of the era with a handshake.
///
/// # Errors
/// −32601 for a method that this server does not declare, −32602 for unusable params. Both texts say what to send instead.
pub fn parse_request(method: &str, params: Option<&RawValue>) -> Result<Request, RpcError> {
    match method {
        "initialize" => initialize(params).map(Request::Initialize),
        "ping" => Ok(Request::Ping),
        _ => shared(method, params, None),
    }
}

/// Parses a request that both eras have. `version`: the request's version, if it names one.
pub(super) fn shared(
    method: &str,
    params: Option<&RawValue>,
    version: Option<ProtocolVersion>,
) -> Result<Request, RpcError> {
    let offer = match method {
        "tools/list" => return one_page(method, params).map(|()| Request::ListTools),
        "tools/call" => return call_tool(params).map(Request::CallTool),
        "resources/list" => one_page(method, params).map(|()| OfferRequest::ListResources),
        "resources/templates/list" => one_page(method, params).map(|()| OfferRequest::ListTemplates),
        "resources/read" => read_resource(params, version).map(OfferRequest::Read),
        "prompts/list" => one_page(method, params).map(|()| OfferRequest::ListPrompts),
        "prompts/get" => get_prompt(params).map(OfferRequest::GetPrompt),
        _ => return Err(not_served(method, version)),
    };
    offer.map(Request::Offer)
}

/// Parses a notification. A bad one becomes [`Notification::Other`], because notifications get no answer.
pub fn parse_notification(method: &str, params: Option<&RawValue>) -> Notification {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Params<'a> {
        #[serde(borrow)]
        request_id: Option<&'a RawValue>,
        #[serde(borrow)]
        reason: Option<&'a RawValue>,
    }
    match method {
        "notifications/initialized" => Notification::Initialized,
        "notifications/roots/list_changed" => Notification::RootsListChanged,
        "notifications/cancelled" => {
            let params: Params<'_> = lenient(params);
            match params.request_id.and_then(|id| RequestId::from_json(id.get())) {
                Some(id) => Notification::Cancelled {
                    id,
                    reason: text(params.reason).map(|reason| cut_with_ellipsis(&reason, LOG_FIELD_MAX_BYTES)),
                },
                None => Notification::Other,
            }
        }
        _ => Notification::Other,
    }
}

fn initialize(params: Option<&RawValue>) -> Result<Initialize, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Params<'a> {
        #[serde(borrow)]
        protocol_version: Option<&'a RawValue>,
        #[serde(borrow)]
        client_info: Option<&'a RawValue>,
        #[serde(borrow)]
        capabilities: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Capabilities<'a> {
        #[serde(borrow)]
        roots: Option<&'a RawValue>,
    }
    let params: Params<'_> = object("initialize", params)?;
    let Some(requested) = text(params.protocol_version) else {
        let known = ProtocolVersion::HANDSHAKE.map(ProtocolVersion::label).join(", ");
        return Err(invalid(format!(
            "the params of initialize have no string `protocolVersion`; send one of {known}, for example \
             {{\"protocolVersion\":\"{}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"…\",\"version\":\"…\"}}}}",
            ProtocolVersion::LATEST.label()
        )));
    };
    let capabilities: Capabilities<'_> = lenient(params.capabilities);
    Ok(Initialize {
        requested,
        client: client_info(params.client_info),
        roots: capabilities.roots.is_some_and(|roots| roots.get() != "false"),
    })
}

/// Reads a client's description of itself. Fields that cannot be read are treated as missing.
pub(super) fn client_info(raw: Option<&RawValue>) -> ClientInfo {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Info<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        version: Option<&'a RawValue>,
        #[serde(borrow)]
        title: Option<&'a RawValue>,
    }
    let info: Info<'_> = lenient(raw);
    let field =
        |raw| text(raw).map(|text| cut(text.trim(), CLIENT_FIELD_MAX_BYTES).to_owned()).filter(|text| !text.is_empty());
    ClientInfo {
        name: field(info.name).unwrap_or_default(),
        version: field(info.version),
        title: field(info.title),
        session: None,
    }
}

/// Checks the params of a list that has one page.
fn one_page(method: &str, params: Option<&RawValue>) -> Result<(), RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow)]
        cursor: Option<&'a RawValue>,
    }
    let params: Params<'_> = object(method, params)?;
    match params.cursor {
        None => Ok(()),
        Some(cursor) if cursor.get().starts_with('"') => Err(invalid(format!(
            "the `cursor` of {method} is none of this server's: everything comes in one page; leave `cursor` out"
        ))),
        Some(_) => Err(invalid(format!(
            "the `cursor` of {method} is not a string; leave it out, everything comes in one page"
        ))),
    }
}

impl CallTool {
    /// The call that this one is: a call through `holdfast_tools` is a call of the tool that it names.
    #[must_use]
    pub fn of_inner(self) -> Self {
        if self.name != GatewayTool::Tools.name() {
            return self;
        }
        match GatewayTool::Tools.parse_arguments(&self.arguments) {
            Ok(GatewayCall::Call { tool, arguments }) => match RawValue::from_string(arguments) {
                Ok(arguments) => Self { name: tool, arguments, ..self },
                Err(_) => self,
            },
            _ => self,
        }
    }
}

fn call_tool(params: Option<&RawValue>) -> Result<CallTool, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let params: Params<'_> = object("tools/call", params)?;
    let name = required("tools/call", "name", params.name, r#"{"name":"holdfast_status","arguments":{}}"#)?;
    let arguments = match params.arguments {
        None => no_arguments(),
        Some(arguments) if arguments.get().starts_with('{') => arguments.to_owned(),
        Some(arguments) => {
            return Err(invalid(format!(
                "the `arguments` of tools/call are {} and not an object; nothing was executed. Send an object of the tool's \
                 parameters by name, or leave `arguments` out",
                kind_of(arguments)
            )));
        }
    };
    let meta: Meta<'_> = lenient(params.meta);
    let (progress_token, trace) = (meta.usable_token(), params.meta.and_then(TraceContext::read));
    Ok(CallTool { name, arguments, progress_token, trace, editor: meta.editor.map(ToOwned::to_owned) })
}

/// The error for a method that is not offered, with what to use instead. `version` is the request's version, if it names one.
fn not_served(method: &str, version: Option<ProtocolVersion>) -> RpcError {
    let family = method.split('/').next().unwrap_or_default();
    let why = match (family, method) {
        (_, "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe")
            if version.is_some() =>
        {
            let version = version.map_or("", ProtocolVersion::label);
            format!("MCP {version} has it no more; leave the keys of that version out of `_meta` to speak an older one")
        }
        ("notifications", _) => String::from("it is a notification: send it without an id"),
        ("logging", _) => String::from("this server declares no logging; its log goes to stderr"),
        ("completion" | "tasks", _) => {
            format!("this server declares no {family}; it offers tools, resources and prompts")
        }
        ("resources" | "prompts", _) => {
            String::from("of resources and prompts this server serves the lists, resources/read and prompts/get")
        }
        ("roots" | "sampling" | "elicitation", _) => {
            String::from("it is a request that a server sends and a client answers")
        }
        _ if version.is_some() => String::from(
            "this server serves server/discover, subscriptions/listen, and what concerns tools, resources and prompts",
        ),
        _ => String::from("this server serves initialize, ping, and what concerns tools, resources and prompts"),
    };
    let method = cut_with_ellipsis(method, LOG_FIELD_MAX_BYTES);
    RpcError { code: METHOD_NOT_FOUND, message: format!("method `{method}` is not served: {why}"), data: None }
}

fn no_arguments() -> Box<RawValue> {
    RawValue::from_string(String::from("{}")).expect("an empty object is JSON")
}
