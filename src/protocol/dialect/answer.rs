//! An editor's answer to a call, ready for the client.

use serde_json::value::RawValue;

/// An editor's answer to a call, ready for the client.
#[derive(Debug, Clone)]
pub struct EditorAnswer {
    /// The editor says that the tool failed.
    pub is_error: bool,
    /// What it answered.
    pub body: AnswerBody,
}

impl EditorAnswer {
    /// The same with a remark of the gateway's behind it.
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
        };
        Self { body, ..self }
    }
}

/// The body of an [`EditorAnswer`].
#[derive(Debug, Clone)]
pub enum AnswerBody {
    /// Any JSON value, as the editor wrote it (numbers untouched).
    Json(Box<RawValue>),
    /// A text.
    Text(String),
    /// Content blocks in MCP's own shape.
    Blocks(Vec<Box<RawValue>>),
    /// A JSON value, and content blocks beside it.
    JsonAndBlocks(Box<RawValue>, Vec<Box<RawValue>>),
}
