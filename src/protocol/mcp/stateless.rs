//! The stateless era, MCP 2026-07-28: every request names its version and its client in `_meta`, and nothing is remembered
//! between requests.
//!
//! Source: the specification's pages of that version: versioning, `_meta`, discovery, subscriptions, caching.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::limits::{CLIENT_FIELD_MAX_BYTES, DISCOVERY_TTL, INSTRUCTIONS_MAX_BYTES};
use crate::protocol::jsonrpc::{self, RequestId, RpcError};

use super::ClientProfile;
use super::caching::cached;
use super::handshake::{ProtocolVersion, ServerInfo, capabilities};
use super::params;
use super::request::{self, ClientInfo, Filter, List, Request};
use crate::protocol::text::{cut, cut_with_ellipsis};

/// MCP's code for a version that this server does not support.
const UNSUPPORTED_VERSION: i64 = -32022;
/// The key in `_meta` with which each message of a subscription names the subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The sender of a request of this era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// The client's description of itself; empty fields if it gives none.
    pub client: ClientInfo,
    /// The profile that the answer is written for.
    pub profile: ClientProfile,
}

/// Returns the version and the client of a request of this era; `None` if the request belongs to the era with a handshake. A
/// request belongs to this era if its `_meta` has one of the three keys, or if only this era has its method.
///
/// # Errors
/// −32602 if a required key is missing; −32022, with the supported versions, for any other version.
pub fn client_of(method: &str, params: Option<&RawValue>) -> Result<Option<(ProtocolVersion, ClientInfo)>, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Meta<'a> {
        #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
        version: Option<&'a RawValue>,
        #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
        capabilities: Option<&'a RawValue>,
        #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
        client: Option<&'a RawValue>,
    }
    let params: Params<'_> = params::lenient(params);
    let meta: Meta<'_> = params::lenient(params.meta);
    let named = meta.version.is_some() || meta.capabilities.is_some() || meta.client.is_some();
    if !named && !matches!(method, "server/discover" | "subscriptions/listen") {
        return Ok(None);
    }
    let Some(version) = params::text(meta.version) else {
        return Err(lacks("protocolVersion", "a string"));
    };
    if ProtocolVersion::from_label(&version) != Some(ProtocolVersion::STATELESS) {
        return Err(unsupported(&version));
    }
    if !meta.capabilities.is_some_and(|capabilities| capabilities.get().starts_with('{')) {
        return Err(lacks("clientCapabilities", "an object"));
    }
    Ok(Some((ProtocolVersion::STATELESS, request::client_info(meta.client))))
}

/// Parses a request of this era.
///
/// # Errors
/// −32601 for a method that this version does not have or this server does not declare, −32602 for unusable params.
pub fn parse_request(method: &str, params: Option<&RawValue>) -> Result<Request, RpcError> {
    match method {
        "server/discover" => Ok(Request::Discover),
        "subscriptions/listen" => listen(params),
        _ => request::shared(method, params, Some(ProtocolVersion::STATELESS)),
    }
}

fn listen(params: Option<&RawValue>) -> Result<Request, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow)]
        notifications: Option<&'a RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Wanted<'a> {
        #[serde(borrow)]
        tools_list_changed: Option<&'a RawValue>,
        #[serde(borrow)]
        resources_list_changed: Option<&'a RawValue>,
    }
    let params: Params<'_> = params::object("subscriptions/listen", params)?;
    if !params.notifications.is_some_and(|wanted| wanted.get().starts_with('{')) {
        return Err(params::invalid(String::from(
            "the params of subscriptions/listen have no object `notifications`; send for example \
             {\"notifications\":{\"toolsListChanged\":true}}",
        )));
    }
    let wanted: Wanted<'_> = params::lenient(params.notifications);
    let is_wanted = |wanted: Option<&RawValue>| wanted.is_some_and(|wanted| wanted.get() == "true");
    let (tools, resources) = (is_wanted(wanted.tools_list_changed), is_wanted(wanted.resources_list_changed));
    Ok(Request::Listen(Filter { tools, resources }))
}

/// The result of `server/discover`: JSON on one line.
pub fn discover_result(instructions: &str) -> String {
    let versions: Vec<&str> = ProtocolVersion::ALL.iter().rev().map(|version| version.label()).collect();
    let mut answer = json!({
        "supportedVersions": versions,
        "capabilities": capabilities(true),
        "instructions": cut(instructions, INSTRUCTIONS_MAX_BYTES),
    });
    if let Value::Object(answer) = &mut answer {
        answer.extend(cached(DISCOVERY_TTL, "public"));
    }
    answer.to_string()
}

/// Adds the members that every result of this era has to a result (a JSON object): that it is complete, and the server's
/// identity.
pub fn complete<'a>(result_json: &'a str, server: &ServerInfo<'_>) -> Cow<'a, str> {
    let Some(members) = result_json.strip_prefix('{') else { return Cow::Borrowed(result_json) };
    let comma = if members.starts_with('}') { "" } else { "," };
    let server = identity(server);
    Cow::Owned(format!(
        r#"{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{server}}}{comma}{members}"#
    ))
}

fn identity(server: &ServerInfo<'_>) -> String {
    json!({"name": "holdfast", "title": "Holdfast for Unity", "version": server.version}).to_string()
}

/// The first message of a subscription: the changes that it will report.
pub fn acknowledged(subscription: &RequestId, filter: Filter) -> String {
    let wanted = [(filter.tools, r#""toolsListChanged":true"#), (filter.resources, r#""resourcesListChanged":true"#)];
    let wanted: Vec<&str> = wanted.iter().filter(|(is, _)| *is).map(|(_, wanted)| *wanted).collect();
    let params = format!(r#"{{"_meta":{},"notifications":{{{}}}}}"#, meta_of(subscription), wanted.join(","));
    jsonrpc::notification("notifications/subscriptions/acknowledged", Some(&params))
}

/// The notification that tells one subscription about a changed list.
pub fn list_changed(list: List, subscription: &RequestId) -> String {
    let params = format!(r#"{{"_meta":{}}}"#, meta_of(subscription));
    jsonrpc::notification(list.notification(), Some(&params))
}

/// Returns the subscription that a notification is for; `None` if it names none.
pub fn subscription_of(params: &RawValue) -> Option<RequestId> {
    let params: Value = serde_json::from_str(params.get()).ok()?;
    RequestId::from_json(&params.get("_meta")?.get(SUBSCRIPTION)?.to_string())
}

/// The answer to `subscriptions/listen`, with which the server ends the subscription.
pub fn subscription_ended(subscription: &RequestId) -> String {
    let result = format!(r#"{{"resultType":"complete","_meta":{}}}"#, meta_of(subscription));
    jsonrpc::response(subscription, &result)
}

fn meta_of(subscription: &RequestId) -> String {
    format!(r#"{{"{SUBSCRIPTION}":{}}}"#, subscription.as_json())
}

/// The error for a request that is of this era by its transport, but not by its `_meta`.
pub(super) fn lacks_version() -> RpcError {
    lacks("protocolVersion", "a string")
}

fn lacks(key: &str, kind: &str) -> RpcError {
    let version = ProtocolVersion::STATELESS.label();
    params::invalid(format!(
        "`_meta` of the request has no `io.modelcontextprotocol/{key}` that is {kind}; nothing was executed. MCP {version} wants it \
         with every request. An older client opens with initialize instead, and leaves the keys of {version} out"
    ))
}

/// The error for a version that this server does not speak.
pub(super) fn unsupported(requested: &str) -> RpcError {
    let requested = cut(requested, CLIENT_FIELD_MAX_BYTES);
    let supported: Vec<&str> = ProtocolVersion::ALL.iter().rev().map(|version| version.label()).collect();
    let message = format!(
        "MCP {} is not spoken with `_meta` here; nothing was executed. Send {}, or open with initialize for {}",
        cut_with_ellipsis(requested, 64),
        ProtocolVersion::STATELESS.label(),
        ProtocolVersion::HANDSHAKE.map(ProtocolVersion::label).join(", "),
    );
    let data = to_raw_value(&json!({"supported": supported, "requested": requested})).ok();
    RpcError { code: UNSUPPORTED_VERSION, message, data }
}
