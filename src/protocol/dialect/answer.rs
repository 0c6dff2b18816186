//! An editor's answer to a call, before it is fitted to the client.

use bytes::Bytes;
use serde_json::value::RawValue;

/// An editor's answer to a call, the same for every dialect.
#[derive(Debug, Clone)]
pub struct EditorAnswer {
    /// Whether the editor reports that the tool failed.
    pub is_error: bool,
    /// The content of the answer.
    pub body: AnswerBody,
}

impl EditorAnswer {
    /// Appends a remark of the gateway to the answer.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        let block = || serde_json::value::to_raw_value(&serde_json::json!({"type": "text", "text": note})).ok();
        let body = match self.body {
            AnswerBody::Text(text) => AnswerBody::Text(format!("{text}\n\n{note}")),
            AnswerBody::Json(json) => AnswerBody::JsonAndBlocks(json, block().into_iter().collect()),
            AnswerBody::Blocks(blocks) => AnswerBody::Blocks(blocks.into_iter().chain(block()).collect()),
            AnswerBody::JsonAndBlocks(json, blocks) => {
                AnswerBody::JsonAndBlocks(json, blocks.into_iter().chain(block()).collect())
            }
            AnswerBody::Wreck(mut left) => {
                left.blocks.extend(block());
                AnswerBody::Wreck(left)
            }
        };
        Self { body, ..self }
    }
}

/// The body of an [`EditorAnswer`].
#[derive(Debug, Clone)]
pub enum AnswerBody {
    /// Any JSON value, as the editor wrote it (numbers unchanged).
    Json(Box<RawValue>),
    /// Plain text.
    Text(String),
    /// MCP content blocks.
    Blocks(Vec<Box<RawValue>>),
    /// A JSON value, followed by MCP content blocks.
    JsonAndBlocks(Box<RawValue>, Vec<Box<RawValue>>),
    /// A result that cannot be read, followed by the MCP content blocks that could be.
    Wreck(Box<Left>),
}

/// What is left of a result that cannot be read.
#[derive(Debug, Clone)]
pub struct Left {
    /// What is wrong with the result, and what is known all the same.
    pub says: String,
    /// The bytes that the editor sent.
    pub content: Bytes,
    /// Content blocks.
    pub blocks: Vec<Box<RawValue>>,
}
