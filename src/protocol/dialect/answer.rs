//! An editor's answer to a call, before it is fitted to the client.

use bytes::Bytes;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// An editor's answer to a call, the same for every dialect.
#[derive(Debug, Clone)]
pub struct EditorAnswer {
    /// Whether the editor reports that the tool failed.
    pub is_error: bool,
    /// The content of the answer.
    pub body: AnswerBody,
}

impl EditorAnswer {
    /// Returns the words of an answer that is a text; empty for any other.
    pub fn words(&self) -> &str {
        match &self.body {
            AnswerBody::Text(text) => text,
            _ => "",
        }
    }

    /// Appends a remark of the gateway to the answer.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        let block = || to_raw_value(&json!({"type": "text", "text": note}));
        match (self.body, block()) {
            (AnswerBody::Text(text), _) => Self { body: AnswerBody::Text(format!("{text}\n\n{note}")), ..self },
            (body, Ok(block)) => Self { body, ..self }.with_block(block),
            (body, Err(_)) => Self { body, ..self },
        }
    }

    /// Appends an MCP content block to the answer.
    #[must_use]
    pub fn with_block(self, block: Box<RawValue>) -> Self {
        let body = match self.body {
            AnswerBody::Text(text) => {
                let text = to_raw_value(&json!({"type": "text", "text": text})).ok();
                AnswerBody::Blocks(text.into_iter().chain([block]).collect())
            }
            AnswerBody::Json(json) => AnswerBody::JsonAndBlocks(json, vec![block]),
            AnswerBody::Blocks(blocks) => AnswerBody::Blocks(blocks.into_iter().chain([block]).collect()),
            AnswerBody::JsonAndBlocks(json, blocks) => {
                AnswerBody::JsonAndBlocks(json, blocks.into_iter().chain([block]).collect())
            }
            AnswerBody::Wreck(mut left) => {
                left.blocks.push(block);
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
