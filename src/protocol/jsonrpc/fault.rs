//! What can be wrong with a message, and the error that its sender gets.

use serde_json::value::RawValue;

use super::RequestId;
use crate::limits::{BATCH_MESSAGES_MAX, CLIENT_LINE_MAX_BYTES, JSON_DEPTH_MAX, REQUEST_ID_MAX_BYTES};

/// The error of a JSON-RPC response.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// JSON-RPC error code.
    pub code: i64,
    /// The error text, for a person or an AI.
    pub message: String,
    /// Further data, as JSON.
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Code of a message that is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// Code of JSON that is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Code of a method that is unknown or not offered.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Code of parameters that do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Code of an error inside the answering program.
    pub const INTERNAL: i64 = -32603;

    /// Makes an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Makes the error for a message that is not JSON (-32700).
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(Self::PARSE_ERROR, message)
    }

    /// Makes the error for JSON that is not a valid request (-32600).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// Makes the error for a method that is unknown or not offered (-32601).
    pub fn method_not_found(message: impl Into<String>) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, message)
    }

    /// Makes the error for parameters that do not fit the method (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Makes the error for a fault inside the answering program (-32603).
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// Adds data to the error.
    #[must_use]
    pub fn with_data(mut self, data: Box<RawValue>) -> Self {
        self.data = Some(data);
        self
    }
}

/// A message that is not accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The message's id, if it is certain. Always `None` for a message that looks like a response: its id is one of ours, and an
    /// error with that id could reach an unrelated request of the peer.
    pub id: Option<RequestId>,
    /// What is wrong with the message.
    pub fault: Fault,
}

impl Invalid {
    /// The error to send in answer to the message.
    pub fn to_error(&self) -> RpcError {
        RpcError::new(self.fault.code(), self.fault.to_string())
    }

    /// Whether the message must be answered. False for a response, because a response never gets an answer.
    pub fn owes_answer(&self) -> bool {
        self.fault != Fault::BadResponse
    }
}

/// Why a message is not accepted. The sender caused each of these faults, and nothing was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Fault {
    /// The message is not UTF-8.
    #[error("the message is not UTF-8; nothing was executed; encode the whole line as UTF-8")]
    NotUtf8,
    /// The message is not JSON: broken, cut, or more than one value.
    #[error("the message is not valid JSON; nothing was executed; send one complete JSON-RPC message per line")]
    NotJson,
    /// The message is nested deeper than [`JSON_DEPTH_MAX`].
    #[error(
        "the message is nested more than {JSON_DEPTH_MAX} levels deep; nothing was executed; flatten the parameters or \
         pass the structure as a string"
    )]
    TooDeep,
    /// The line is longer than [`CLIENT_LINE_MAX_BYTES`].
    #[error(
        "the message is longer than {} MiB and was discarded; nothing was executed; pass large content as a file path",
        CLIENT_LINE_MAX_BYTES / (1024 * 1024)
    )]
    TooLong,
    /// The message is a JSON-RPC batch, which only MCP 2025-03-26 allows.
    #[error(
        "JSON-RPC batches are part of MCP 2025-03-26 alone, which this session does not speak; nothing in it was executed; send each message on a line of its own"
    )]
    Batch,
    /// The batch is empty, or has more than [`BATCH_MESSAGES_MAX`] messages.
    #[error(
        "a batch must have 1 to {BATCH_MESSAGES_MAX} messages; nothing in it was executed; send smaller ones, or nothing"
    )]
    BadBatch,
    /// The message is JSON, but neither an object nor an array.
    #[error("the message is not a JSON object; nothing was executed; send a JSON-RPC 2.0 object")]
    NotAnObject,
    /// A member of the envelope occurs twice: programs disagree on which one counts.
    #[error("the message has the same JSON-RPC member twice; nothing was executed; send each member once")]
    DuplicateMember,
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("`jsonrpc` is missing or not \"2.0\"; nothing was executed; add \"jsonrpc\":\"2.0\"")]
    BadVersion,
    /// `id` is null, not a string or number, too long, or has half a surrogate pair.
    #[error(
        "`id` is not a string or number of at most {REQUEST_ID_MAX_BYTES} bytes; nothing was executed; send a short string \
         or an integer, or leave `id` out for a notification"
    )]
    BadId,
    /// The message has neither `method` nor `result` nor `error`.
    #[error("`method` is missing; nothing was executed; name the method to call")]
    NoMethod,
    /// `method` is not a string.
    #[error("`method` is not a valid string; nothing was executed; name the method to call as a JSON string")]
    BadMethod,
    /// `params` is neither an object nor an array.
    #[error("`params` is neither an object nor an array; nothing was executed; send an object, or leave `params` out")]
    BadParams,
    /// The response has no version, a member twice, or not exactly one of `result` and `error`.
    #[error(
        "the response is not valid JSON-RPC 2.0 and was dropped; send \"jsonrpc\":\"2.0\" and exactly one of `result` and \
         `error`"
    )]
    BadResponse,
}

impl Fault {
    /// The JSON-RPC error code: -32700 for a message that could not be read, -32602 for parameters, otherwise -32600.
    pub fn code(self) -> i64 {
        match self {
            Self::NotUtf8 | Self::NotJson | Self::TooDeep | Self::TooLong => RpcError::PARSE_ERROR,
            Self::BadParams => RpcError::INVALID_PARAMS,
            Self::Batch
            | Self::BadBatch
            | Self::NotAnObject
            | Self::DuplicateMember
            | Self::BadVersion
            | Self::BadId
            | Self::NoMethod
            | Self::BadMethod
            | Self::BadResponse => RpcError::INVALID_REQUEST,
        }
    }
}
