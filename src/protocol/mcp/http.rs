//! The rules of MCP over HTTP (Streamable HTTP) for one POST: which era and version the POST belongs to, and that its
//! headers say the same as its body. Pure; the HTTP server and the sessions are elsewhere.
//!
//! Source: the specification's pages "transports" of 2025-03-26 to 2025-11-25, and "streamable-http" of 2026-07-28.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::handshake::ProtocolVersion;
use super::params;
use super::stateless;
use crate::protocol::jsonrpc::{self, Fault, Invalid, Message, RequestId, RpcError};
use crate::protocol::text::cut_with_ellipsis;

/// MCP's code for headers that do not say what the body says.
pub const HEADER_MISMATCH: i64 = -32020;
/// The name of the header with the protocol version.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The name of the header with the method.
pub const METHOD_HEADER: &str = "mcp-method";
/// The name of the header with the name of a tool, prompt or resource.
pub const NAME_HEADER: &str = "mcp-name";
/// The beginning of the names of headers that hold a tool's parameter.
pub const PARAMETER_HEADER: &str = "mcp-param-";
/// The mark in a schema of a parameter that has a header.
const MARK: &str = "x-mcp-header";
/// Bytes of a foreign value in an error text.
const SHOWN_BYTES: usize = 64;

/// The value of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// There is no such header.
    Missing,
    /// The header's value, without white space around it.
    Text(&'a str),
    /// The header occurs more than once, or has bytes that are not visible ASCII.
    Unreadable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Post {
    /// The POST has only notifications or responses, which get no answer.
    Unanswered,
    /// The POST has a request, or a batch with requests.
    Asks(Asks),
}

/// The request of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    /// The version of a request whose handshake was an earlier POST. `None` in the stateless era, and for `initialize`.
    pub opened: Option<ProtocolVersion>,
    /// The request. `None` for a batch.
    pub request: Option<RequestId>,
    /// Whether the request is of the stateless era, in which it is cancelled when the client closes the response.
    pub is_stateless: bool,
    /// Whether other messages may come before the answer, so that the response is a stream.
    pub streams: bool,
}

/// A POST that is not accepted. Nothing in it was executed.
#[derive(Debug, Clone)]
pub struct Rejected {
    /// The request's id, if it could be read.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub error: RpcError,
}

impl From<Invalid> for Rejected {
    fn from(invalid: Invalid) -> Self {
        let error = over_http(invalid.fault)
            .map_or_else(|| invalid.to_error(), |says| RpcError::new(invalid.fault.code(), says));
        Self { error, id: invalid.id }
    }
}

/// Returns the text of a fault over HTTP, if the usual text speaks of lines or sessions, which HTTP does not have.
fn over_http(fault: Fault) -> Option<&'static str> {
    Some(match fault {
        Fault::NotUtf8 => "the body is not UTF-8; nothing was executed; encode the whole body as UTF-8",
        Fault::NotJson => {
            "the body is not valid JSON; nothing was executed; send one complete JSON-RPC message as the body of each POST"
        }
        Fault::Batch => {
            "JSON-RPC batches are part of MCP 2025-03-26 alone, and this request is of another version; nothing in it was executed; \
             send each message in a POST of its own"
        }
        _ => return None,
    })
}

/// The params that are repeated in headers, or that decide on the form of the response.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Mirrored<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

/// Reads a POST. `header`: its headers by name, in small letters. `schema`: the input schema of a tool by the name under which
/// it is listed.
///
/// # Errors
/// The POST is answered with this error and the status 400.
pub fn read<'h>(
    body: &[u8],
    header: impl Fn(&str) -> Header<'h>,
    schema: impl FnOnce(&str) -> Option<Box<RawValue>>,
) -> Result<Post, Rejected> {
    let said = header(VERSION_HEADER);
    match jsonrpc::parse(body) {
        Err(Invalid { fault: Fault::Batch, .. }) => batch(body, said),
        Err(invalid) => Err(invalid.into()),
        Ok(Message::Notification { .. } | Message::Response { .. }) => match said {
            Header::Text(text) if ProtocolVersion::from_label(text).is_some_and(ProtocolVersion::is_stateless) => {
                Ok(Post::Unanswered)
            }
            said => match handshake_version(said) {
                Ok(_) => Ok(Post::Unanswered),
                Err(error) => Err(Rejected { id: None, error }),
            },
        },
        Ok(Message::Request { id, method, params }) => {
            let asked = asks(&id, &method, params.as_deref(), said, header, schema);
            asked.map(Post::Asks).map_err(|error| Rejected { id: Some(id), error })
        }
    }
}

/// Reads a batch, which only MCP 2025-03-26 has.
fn batch(body: &[u8], said: Header<'_>) -> Result<Post, Rejected> {
    let faulty = |fault| Rejected::from(Invalid { id: None, fault });
    if said == Header::Text(ProtocolVersion::STATELESS.label()) {
        return Err(faulty(Fault::Batch));
    }
    let version = handshake_version(said).map_err(|error| Rejected { id: None, error })?;
    if !version.batches() {
        return Err(faulty(Fault::Batch));
    }
    let members = jsonrpc::members(body).map_err(faulty)?;
    let mut is_owed = false;
    for member in members {
        is_owed |= match jsonrpc::parse(member.as_bytes()) {
            // The headers of such a request would not be checked.
            Ok(Message::Request { method, params, .. })
                if !matches!(stateless::client_of(&method, params.as_deref()), Ok(None)) =>
            {
                return Err(faulty(Fault::Batch));
            }
            Ok(Message::Request { .. }) => true,
            Ok(Message::Notification { .. } | Message::Response { .. }) => false,
            Err(invalid) => invalid.owes_answer(),
        };
    }
    if !is_owed {
        return Ok(Post::Unanswered);
    }
    Ok(Post::Asks(Asks { opened: Some(version), request: None, is_stateless: false, streams: false }))
}

fn asks<'h>(
    id: &RequestId,
    method: &str,
    params: Option<&RawValue>,
    said: Header<'h>,
    header: impl Fn(&str) -> Header<'h>,
    schema: impl FnOnce(&str) -> Option<Box<RawValue>>,
) -> Result<Asks, RpcError> {
    let mirrored: Mirrored<'_> = params::lenient(params);
    let meta: Meta<'_> = params::lenient(mirrored.meta);
    let streams = method == "subscriptions/listen" || method == "tools/call" && meta.progress.is_some();
    let client = stateless::client_of(method, params);
    let names_stateless = said == Header::Text(ProtocolVersion::STATELESS.label()) && method != "initialize";
    if matches!(client, Ok(None)) && !names_stateless {
        let opened = if method == "initialize" { None } else { Some(handshake_version(said)?) };
        return Ok(Asks { opened, request: Some(id.clone()), is_stateless: false, streams });
    }
    if let Some(version) = params::text(meta.version) {
        mirrors("MCP-Protocol-Version", said, &version)?;
    }
    if client?.is_none() {
        return Err(stateless::lacks_version());
    }
    mirrors("Mcp-Method", header(METHOD_HEADER), method)?;
    let name = match method {
        "tools/call" | "prompts/get" => mirrored.name,
        "resources/read" => mirrored.uri,
        _ => None,
    };
    if let Some(name) = params::text(name) {
        mirrors("Mcp-Name", decoded(header(NAME_HEADER)).as_header(), &name)?;
        if method == "tools/call"
            && let Some(schema) = schema(&name)
        {
            parameters(&schema, mirrored.arguments, header)?;
        }
    }
    Ok(Asks { opened: None, request: Some(id.clone()), is_stateless: true, streams })
}

/// Returns the version of a message whose handshake was an earlier POST.
fn handshake_version(said: Header<'_>) -> Result<ProtocolVersion, RpcError> {
    let version = match said {
        // The header came with a version later than this one.
        Header::Missing => return Ok(ProtocolVersion::V2025_03_26),
        Header::Text(text) => text,
        Header::Unreadable => {
            let message = "the header MCP-Protocol-Version occurs twice or cannot be read; nothing was executed. Send it once, with the \
                           version that initialize agreed on";
            return Err(RpcError { message: message.to_owned(), ..stateless::unsupported("") });
        }
    };
    let known = ProtocolVersion::from_label(version).filter(|version| !version.is_stateless());
    known.ok_or_else(|| RpcError {
        message: format!(
            "the header MCP-Protocol-Version says {:?}, a version that is not spoken here; nothing was executed. Send {}, as \
             initialize agrees on it, or {} with `_meta`",
            cut_with_ellipsis(version, SHOWN_BYTES),
            ProtocolVersion::HANDSHAKE.map(ProtocolVersion::label).join(", "),
            ProtocolVersion::STATELESS.label(),
        ),
        ..stateless::unsupported(version)
    })
}

/// Checks that a header says what the body says.
fn mirrors(name: &str, header: Header<'_>, body: &str) -> Result<(), RpcError> {
    match header {
        Header::Text(text) if text == body => Ok(()),
        Header::Text(text) => Err(mismatch(&format!(
            "the header {name} says {:?}, and the body {:?}",
            cut_with_ellipsis(text, SHOWN_BYTES),
            cut_with_ellipsis(body, SHOWN_BYTES)
        ))),
        Header::Missing => Err(mismatch(&format!("the header {name} is missing"))),
        Header::Unreadable => Err(mismatch(&format!("the header {name} occurs twice or cannot be read"))),
    }
}

fn mismatch(what: &str) -> RpcError {
    RpcError::new(
        HEADER_MISMATCH,
        format!("Header mismatch: {what}. Nothing was executed. Send each header with the value that the body has"),
    )
}

/// A header's value after decoding.
enum Decoded<'a> {
    Same(Header<'a>),
    Text(String),
}

impl Decoded<'_> {
    fn as_header(&self) -> Header<'_> {
        match self {
            Self::Same(header) => *header,
            Self::Text(text) => Header::Text(text),
        }
    }
}

/// Decodes a value that is written as `=?base64?…?=`.
fn decoded(header: Header<'_>) -> Decoded<'_> {
    let Header::Text(text) = header else { return Decoded::Same(header) };
    let Some(inner) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Decoded::Same(header);
    };
    let bytes = STANDARD.decode(inner).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Decoded::Same(Header::Unreadable), Decoded::Text)
}

/// Checks the headers of those parameters that the tool's schema marks.
fn parameters<'h>(
    schema: &RawValue,
    arguments: Option<&RawValue>,
    header: impl Fn(&str) -> Header<'h>,
) -> Result<(), RpcError> {
    // Most schemas mark nothing, and need no tree of values.
    if !schema.get().contains(MARK) {
        return Ok(());
    }
    let Ok(schema) = serde_json::from_str::<Value>(schema.get()) else { return Ok(()) };
    let arguments = arguments.and_then(|arguments| serde_json::from_str::<Value>(arguments.get()).ok());
    check_properties(&schema, arguments.as_ref(), &header)
}

fn check_properties<'h>(
    schema: &Value,
    value: Option<&Value>,
    header: &impl Fn(&str) -> Header<'h>,
) -> Result<(), RpcError> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, property) in properties {
        let value = value.and_then(|value| value.get(name)).filter(|value| !value.is_null());
        if let Some(mark) = property.get(MARK).and_then(Value::as_str) {
            let shown = format!("Mcp-Param-{mark}");
            let header = header(&format!("{PARAMETER_HEADER}{}", mark.to_ascii_lowercase()));
            check_parameter(&shown, decoded(header).as_header(), value)?;
        }
        check_properties(property, value, header)?;
    }
    Ok(())
}

fn check_parameter(name: &str, header: Header<'_>, value: Option<&Value>) -> Result<(), RpcError> {
    match (value, header) {
        (None, Header::Missing) => Ok(()),
        (None, _) => Err(mismatch(&format!("there is a header {name}, and the body has no such argument"))),
        (Some(Value::String(text)), header) => mirrors(name, header, text),
        (Some(Value::Bool(value)), header) => mirrors(name, header, if *value { "true" } else { "false" }),
        // `42.0` and `42` are the same number.
        (Some(Value::Number(number)), Header::Text(text)) if is_number(text, number) => Ok(()),
        (Some(Value::Number(number)), header) => mirrors(name, header, &number.to_string()),
        // A header cannot hold a list or an object. The tool itself judges such a value.
        (Some(_), _) => Ok(()),
    }
}

fn is_number(text: &str, number: &serde_json::Number) -> bool {
    match (text.parse::<i128>(), number.as_i128()) {
        (Ok(said), Some(number)) => said == number,
        _ => text.parse::<f64>().is_ok_and(|said| number.as_f64() == Some(said)),
    }
}

/// Returns the HTTP status of a response that consists of this answer only. `stateless`: whether the request is of the
/// stateless era, which has a status for some errors. In the other era each answer has 200.
pub fn status_of(answer: &[u8], stateless: bool) -> u16 {
    #[derive(Deserialize)]
    struct Response {
        error: Option<Failure>,
    }
    #[derive(Deserialize)]
    struct Failure {
        code: i64,
    }
    // An answer with an error is short.
    if !stateless || answer.len() > ERROR_MAX_BYTES {
        return 200;
    }
    let response = serde_json::from_slice::<Response>(answer);
    match response.ok().and_then(|response| response.error).map(|error| error.code) {
        Some(RpcError::METHOD_NOT_FOUND) => 404,
        Some(-32029..=-32020 | RpcError::INVALID_REQUEST | RpcError::PARSE_ERROR) => 400,
        _ => 200,
    }
}

/// Longest answer in which an error is looked for.
const ERROR_MAX_BYTES: usize = 16 * 1024;
