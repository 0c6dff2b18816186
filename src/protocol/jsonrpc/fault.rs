//! What can be wrong with a message, and what its sender is told.

use serde_json::value::RawValue;

use super::RequestId;
use crate::limits::{BATCH_MESSAGES_MAX, CLIENT_LINE_MAX_BYTES, JSON_DEPTH_MAX, REQUEST_ID_MAX_BYTES};

/// The error of a response.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// JSON-RPC code.
    pub code: i64,
    /// One text for a person or an AI.
    pub message: String,
    /// More, as JSON.
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Code of a message that is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// Code of JSON that is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Code of a method that is not known or not offered.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Code of parameters that do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Code of a fault of the answering side.
    pub const INTERNAL: i64 = -32603;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The message is not JSON (-32700).
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(Self::PARSE_ERROR, message)
    }

    /// JSON, but no request (-32600).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// The method is not known or not offered (-32601).
    pub fn method_not_found(message: impl Into<String>) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, message)
    }

    /// The parameters do not fit the method (-32602).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// A fault of the answering side (-32603).
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// The same with data.
    #[must_use]
    pub fn with_data(mut self, data: Box<RawValue>) -> Self {
        self.data = Some(data);
        self
    }
}

/// A message that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Its id, where one could be told with certainty. Always `None` for something that looks like a response: its id is one
    /// of ours, and an error sent under it could hit an unrelated request of the peer.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub fault: Fault,
}

impl Invalid {
    /// The answer to it.
    pub fn to_error(&self) -> RpcError {
        RpcError::new(self.fault.code(), self.fault.to_string())
    }

    /// False when the message is a response and so gets no answer, however broken it is.
    pub fn owes_answer(&self) -> bool {
        self.fault != Fault::BadResponse
    }
}

/// Why a message is not accepted. All of them are the sender's, and none of them executed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Fault {
    /// Bytes that are not UTF-8.
    #[error("the message is not UTF-8; nothing was executed; encode the whole line as UTF-8")]
    NotUtf8,
    /// Not JSON: broken, cut, or more than one value.
    #[error("the message is not valid JSON; nothing was executed; send one complete JSON-RPC message per line")]
    NotJson,
    /// Nested deeper than [`JSON_DEPTH_MAX`].
    #[error(
        "the message is nested more than {JSON_DEPTH_MAX} levels deep; nothing was executed; flatten the parameters or \
         pass the structure as a string"
    )]
    TooDeep,
    /// A line longer than [`CLIENT_LINE_MAX_BYTES`].
    #[error(
        "the message is longer than {} MiB and was discarded; nothing was executed; pass large content as a file path",
        CLIENT_LINE_MAX_BYTES / (1024 * 1024)
    )]
    TooLong,
    /// A JSON-RPC batch: only MCP 2025-03-26 had them.
    #[error(
        "JSON-RPC batches are part of MCP 2025-03-26 alone, which this session does not speak; nothing in it was executed; send each message on a line of its own"
    )]
    Batch,
    /// A batch that is empty, or of more than [`BATCH_MESSAGES_MAX`].
    #[error(
        "a batch must have 1 to {BATCH_MESSAGES_MAX} messages; nothing in it was executed; send smaller ones, or nothing"
    )]
    BadBatch,
    /// JSON, but neither object nor array.
    #[error("the message is not a JSON object; nothing was executed; send a JSON-RPC 2.0 object")]
    NotAnObject,
    /// A member of the envelope stands twice: which one counts would be a guess.
    #[error("the message has the same JSON-RPC member twice; nothing was executed; send each member once")]
    DuplicateMember,
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("`jsonrpc` is missing or not \"2.0\"; nothing was executed; add \"jsonrpc\":\"2.0\"")]
    BadVersion,
    /// `id` is null, no string or number, too long, or half a surrogate pair.
    #[error(
        "`id` is not a string or number of at most {REQUEST_ID_MAX_BYTES} bytes; nothing was executed; send a short string \
         or an integer, or leave `id` out for a notification"
    )]
    BadId,
    /// Neither `method` nor `result` nor `error`.
    #[error("`method` is missing; nothing was executed; name the method to call")]
    NoMethod,
    /// `method` is not a string.
    #[error("`method` is not a valid string; nothing was executed; name the method to call as a JSON string")]
    BadMethod,
    /// `params` is neither object nor array.
    #[error("`params` is neither an object nor an array; nothing was executed; send an object, or leave `params` out")]
    BadParams,
    /// A response with both or a broken outcome, a member twice, or without version.
    #[error(
        "the response is not valid JSON-RPC 2.0 and was dropped; send \"jsonrpc\":\"2.0\" and exactly one of `result` and \
         `error`"
    )]
    BadResponse,
}

impl Fault {
    /// The JSON-RPC code of the answer: -32700 for what was not read at all, -32602 for parameters, else -32600.
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
