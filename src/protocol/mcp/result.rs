//! Results of tool calls: an editor's answer or our own text, as MCP content.
//!
//! JSON is passed through as text, never as numbers: `1e400` and integers of any length arrive as the editor wrote them.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{
    CLIENT_MESSAGE_MAX_BYTES, JSON_DEPTH_MAX, REQUEST_ID_MAX_BYTES, RESPONSE_ENVELOPE_MAX_BYTES,
    RESULT_INLINE_MAX_BYTES,
};
use crate::protocol::dialect::{AnswerBody, EditorAnswer, Left};
use crate::protocol::jsonrpc;

use super::clients::ClientProfile;
use super::handshake::ProtocolVersion;
use super::media;

/// The longest result that fits into a message with the longest request id.
const RESULT_MAX_BYTES: usize = CLIENT_MESSAGE_MAX_BYTES - REQUEST_ID_MAX_BYTES - RESPONSE_ENVELOPE_MAX_BYTES;

/// One content block.
#[derive(Debug, Clone)]
pub enum Content {
    /// A text block with this text.
    Text(String),
    /// A block in MCP's form, as the editor wrote it.
    Raw(Box<RawValue>),
    /// Bytes that are not UTF-8. They are kept in a file, and a note replaces them.
    Bytes(Bytes),
}

/// The result of a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    /// The content blocks.
    pub content: Vec<Content>,
    /// The result as JSON, for clients that support `structuredContent`. Only the stateless era gets values other than objects.
    pub structured: Option<Box<RawValue>>,
    /// Whether the call failed in a way that the model can react to.
    pub is_error: bool,
}

impl ToolResult {
    /// A successful result with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: false }
    }

    /// A failure with this text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Appends a text block.
    #[must_use]
    pub fn with_line(mut self, text: &str) -> Self {
        self.content.push(Content::Text(text.to_owned()));
        self
    }

    /// Converts an editor's answer into a result.
    ///
    /// JSON becomes compact text, and a JSON string its plain text. An object or array is also `structured` if every parser
    /// accepts it ([`strict`](jsonrpc::strict)) and both copies together, as encoded, stay below [`RESULT_INLINE_MAX_BYTES`]. A
    /// block of unknown form becomes a text of its JSON, so that one bad block does not lose the result.
    pub fn from_editor(answer: EditorAnswer) -> Self {
        let EditorAnswer { is_error, body } = answer;
        let base = match body {
            AnswerBody::Text(text) => Self::text(text),
            AnswerBody::Json(raw) => Self::from_json(raw),
            AnswerBody::Blocks(blocks) => {
                Self { content: blocks.into_iter().map(block).collect(), structured: None, is_error: false }
            }
            AnswerBody::JsonAndBlocks(value, blocks) => {
                let mut base = Self::from_json(value);
                base.content.extend(blocks.into_iter().map(block));
                base
            }
            AnswerBody::Wreck(left) => {
                let Left { says, content, blocks } = *left;
                let content = match String::from_utf8(content.into()) {
                    Ok(text) => Content::Text(text),
                    Err(bad) => Content::Bytes(bad.into_bytes().into()),
                };
                let content = [Content::Text(says), content].into_iter().chain(blocks.into_iter().map(block)).collect();
                Self { content, structured: None, is_error: false }
            }
        };
        Self { is_error, ..base }
    }

    /// Returns the result as it is kept and recorded: with all its parts, for all versions of MCP. If the JSON is also
    /// the text of a block, it is stored once. Bytes that are not UTF-8 are lost.
    pub fn stored(&self) -> String {
        let all = ProtocolVersion::STATELESS.into();
        let (Some(json), Some(Content::Text(text))) = (structured(self, &all), self.content.first()) else {
            return whole_result(self, &all);
        };
        if json != text.as_str() {
            return whole_result(self, &all);
        }
        let size = result_size(self, &all);
        let mut out = String::with_capacity(size);
        write_with(&mut out, self, all.version, |out| out.push_str(TEXT_IS_STRUCTURED));
        out
    }

    /// Reads what [`stored`](Self::stored) returned, or a result in any client's form. JSON that is no result becomes a
    /// text.
    pub fn from_stored(json: &str) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Stored {
            content: Vec<Box<RawValue>>,
            structured_content: Option<Box<RawValue>>,
            #[serde(default)]
            is_error: bool,
            #[serde(default, rename = "_meta")]
            meta: Meta,
        }
        #[derive(Deserialize, Default)]
        struct Meta {
            #[serde(default, rename = "holdfast/structured")]
            is_structured: bool,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Text {
            r#type: String,
            text: String,
        }
        let content = |raw: Box<RawValue>| match serde_json::from_str::<Text>(raw.get()) {
            Ok(Text { r#type, text }) if r#type == "text" => Content::Text(text),
            _ => block(raw),
        };
        if !jsonrpc::depth_ok(json.as_bytes(), JSON_DEPTH_MAX) {
            return Self::text(json);
        }
        let Ok(Stored { content: blocks, structured_content, is_error, meta }) = serde_json::from_str::<Stored>(json)
        else {
            return Self::text(json);
        };
        let content: Vec<Content> = blocks.into_iter().map(content).collect();
        let structured = match content.first() {
            Some(Content::Text(text)) if meta.is_structured => RawValue::from_string(text.clone()).ok(),
            _ => structured_content,
        };
        Self { content, structured, is_error }
    }

    /// Returns the replacement for a result that was written to a file of this many bytes. `path` is the path under which the
    /// client's model can open the file.
    pub fn spilled(&self, bytes: usize, path: &str) -> Self {
        let outcome = if self.is_error { "the tool failed" } else { "the tool ran to its end" };
        let text = format!(
            "Executed: {outcome}. Its result has {bytes} bytes, more than a client takes in one message, and is kept for a day in \
             the file {path}. Do not repeat the call for it: read the part of the file that you need, or call again with \
             arguments that ask for less."
        );
        Self { is_error: self.is_error, ..Self::text(text) }
    }

    /// Returns the content for that file (see [`spilled`](Self::spilled)): all texts and raw blocks, separated by line ends.
    pub fn file_text(&self) -> Cow<'_, str> {
        match self.content.as_slice() {
            [Content::Text(text)] => Cow::Borrowed(text),
            blocks => {
                let lines: Vec<Cow<'_, str>> = blocks
                    .iter()
                    .map(|content| match content {
                        Content::Text(text) => Cow::Borrowed(text.as_str()),
                        Content::Raw(raw) => jsonrpc::compact(raw.get()),
                        Content::Bytes(bytes) => String::from_utf8_lossy(bytes),
                    })
                    .collect();
                Cow::Owned(lines.join("\n"))
            }
        }
    }

    fn from_json(raw: Box<RawValue>) -> Self {
        if raw.get().starts_with('"')
            && let Ok(text) = serde_json::from_str::<String>(raw.get())
        {
            return Self::text(text);
        }
        let json = match jsonrpc::compact(raw.get()) {
            Cow::Owned(json) => json,
            // The JSON is compact already, as editors write it, so the text is moved without a copy.
            Cow::Borrowed(_) => String::from(Box::<str>::from(raw)),
        };
        if !jsonrpc::depth_ok(json.as_bytes(), JSON_DEPTH_MAX) {
            return Self::text(too_deep()).with_line(&json);
        }
        let fits = json.starts_with(['{', '['])
            // A quick test that skips the scan: even without escapes the text would be too large.
            && 2 * json.len() < RESULT_INLINE_MAX_BYTES
            && jsonrpc::quoted_len(&json) + json.len() < RESULT_INLINE_MAX_BYTES;
        let strict = if fits { jsonrpc::strict(&json) } else { None };
        let structured = strict.and_then(|json| RawValue::from_string(json.into_owned()).ok());
        Self { structured, ..Self::text(json) }
    }
}

fn too_deep() -> String {
    format!(
        "Executed; the result is nested more than {JSON_DEPTH_MAX} levels deep, which many JSON readers refuse, so it follows as text."
    )
}

/// Returns the `result` of a `tools/call`: JSON on one line that fits into a message of [`CLIENT_MESSAGE_MAX_BYTES`]. A larger
/// result becomes an error that says so. Callers avoid that with [`result_size`] and [`ToolResult::spilled`].
pub fn tool_result(result: &ToolResult, profile: &ClientProfile) -> String {
    let size = result_size(result, profile);
    let mut out = String::with_capacity(size.min(RESULT_MAX_BYTES));
    write_tool_result(&mut out, result, profile, size);
    out
}

/// Appends what [`tool_result`] returns. `size` is the result's [`result_size`]: computing it reads every byte, so it is done
/// only once.
pub fn write_tool_result(out: &mut String, result: &ToolResult, profile: &ClientProfile, size: usize) {
    if size <= RESULT_MAX_BYTES {
        return write(out, result, profile);
    }
    let refusal = ToolResult::error(format!(
        "Executed, but its result cannot be delivered: it has {size} bytes as a message and a client takes {RESULT_MAX_BYTES}. Do \
         not repeat the call unchanged: ask for less, or let the tool write to a file."
    ));
    write(out, &refusal, profile);
}

/// Like [`tool_result`], for readers that accept results of any size: the result is never replaced by an error.
pub fn whole_result(result: &ToolResult, profile: &ClientProfile) -> String {
    let mut out = String::with_capacity(result_size(result, profile));
    write(&mut out, result, profile);
    out
}

/// Returns the exact length in bytes of the result as JSON, escapes included, without writing the JSON. A result above
/// [`RESULT_INLINE_MAX_BYTES`] belongs in a file.
pub fn result_size(result: &ToolResult, profile: &ClientProfile) -> usize {
    let version = profile.version;
    let blocks: usize = result.content.iter().map(|content| shown(content, version).size()).sum();
    let commas = result.content.len().saturating_sub(1);
    let structured = structured(result, profile).map_or(0, |json| STRUCTURED.len() + json.len());
    let error = if result.is_error { IS_ERROR.len() } else { 0 };
    OPEN.len() + blocks + commas + "]".len() + structured + error + "}".len()
}

const OPEN: &str = r#"{"content":["#;
const STRUCTURED: &str = r#","structuredContent":"#;
const IS_ERROR: &str = r#","isError":true"#;
/// In a stored result: the JSON in the text of the first block is also the structured result.
const TEXT_IS_STRUCTURED: &str = r#","_meta":{"holdfast/structured":true}"#;
const TEXT_OPEN: &str = r#"{"type":"text","text":"#;

/// Whether the result is larger than `most` bytes and so belongs in a file. If the texts alone are larger than that, the exact
/// size is not computed.
pub fn is_for_a_file(result: &ToolResult, profile: &ClientProfile, most: usize) -> bool {
    let texts = result.content.iter().map(|content| match content {
        Content::Text(text) => text.len(),
        // Counted as 0, because an older version may get a shorter form of a raw block.
        Content::Raw(_) | Content::Bytes(_) => 0,
    });
    texts.sum::<usize>() > most || result_size(result, profile) > most
}

fn write(out: &mut String, result: &ToolResult, profile: &ClientProfile) {
    write_with(out, result, profile.version, |out| {
        if let Some(json) = structured(result, profile) {
            out.push_str(STRUCTURED);
            out.push_str(&json);
        }
    });
}

/// Writes a result. `structured` writes the member with the structured result.
fn write_with(out: &mut String, result: &ToolResult, version: ProtocolVersion, structured: impl FnOnce(&mut String)) {
    out.push_str(OPEN);
    for (index, content) in result.content.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match shown(content, version) {
            Shown::Text(text) => {
                out.push_str(TEXT_OPEN);
                jsonrpc::quote_into(out, &text);
                out.push('}');
            }
            Shown::Raw(json) => out.push_str(&json),
        }
    }
    out.push(']');
    structured(out);
    if result.is_error {
        out.push_str(IS_ERROR);
    }
    out.push('}');
}

/// Returns `structuredContent` for this client profile. `None` if the version does not allow it, or if the client would read it
/// instead of the blocks and so lose a block.
pub(super) fn structured<'a>(result: &'a ToolResult, profile: &ClientProfile) -> Option<Cow<'a, str>> {
    let ClientProfile { version, client, .. } = profile;
    let raw = result.structured.as_deref()?;
    let taken = version.is_stateless() || (version.structured_content() && raw.get().starts_with('{'));
    let hides = || client.structured_alone && result.content.iter().any(|content| matches!(content, Content::Raw(_)));
    if !taken || hides() {
        return None;
    }
    Some(jsonrpc::compact(raw.get()))
}

/// A content block in the form that one version gets.
enum Shown<'a> {
    Text(Cow<'a, str>),
    Raw(Cow<'a, str>),
}

impl Shown<'_> {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => TEXT_OPEN.len() + jsonrpc::quoted_len(text) + "}".len(),
            Self::Raw(json) => json.len(),
        }
    }
}

/// Converts a block for a version. An older client may refuse the whole result for one unknown block, so such a block becomes a
/// text.
fn shown(content: &Content, version: ProtocolVersion) -> Shown<'_> {
    let raw = match content {
        Content::Text(text) => return Shown::Text(Cow::Borrowed(text)),
        Content::Raw(raw) => raw,
        Content::Bytes(bytes) => return Shown::Text(String::from_utf8_lossy(bytes)),
    };
    let known_to_all = version.audio() && version.resource_link();
    let kind = if known_to_all { None } else { kind_of(raw) };
    match kind {
        Some(Kind::Audio) if !version.audio() => Shown::Text(Cow::Owned(format!(
            "[an audio block of {} bytes is left out: MCP {} has no audio]",
            raw.get().len(),
            version.label()
        ))),
        Some(Kind::ResourceLink) if !version.resource_link() => Shown::Text(jsonrpc::compact(raw.get())),
        _ => Shown::Raw(jsonrpc::compact(raw.get())),
    }
}

fn mended(raw: Box<RawValue>, kind: Kind) -> Content {
    let block = match kind {
        Kind::Image => media::Block::Image,
        Kind::Audio => media::Block::Sound,
        Kind::Resource => media::Block::Resource,
        Kind::Text | Kind::ResourceLink => return Content::Raw(raw),
    };
    media::mended(raw, block).map_or_else(Content::Text, Content::Raw)
}

fn block(raw: Box<RawValue>) -> Content {
    if let Some(kind) = kind_of(&raw) {
        let strict = match jsonrpc::strict(raw.get()) {
            Some(Cow::Borrowed(_)) => return mended(raw, kind),
            Some(Cow::Owned(json)) => RawValue::from_string(json).ok(),
            None => None,
        };
        if let Some(strict) = strict {
            return mended(strict, kind);
        }
    }
    Content::Text(jsonrpc::compact(raw.get()).into_owned())
}

/// The kinds of content block. Source: `ContentBlock` in the specification's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Image,
    Audio,
    Resource,
    ResourceLink,
}

/// Returns a block's kind; `None` if it is unknown or lacks a member that its kind requires.
pub(super) fn kind_of(raw: &RawValue) -> Option<Kind> {
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(rename = "type")]
        kind: String,
        #[serde(borrow)]
        text: Option<&'a RawValue>,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
        #[serde(borrow, rename = "mimeType")]
        mime_type: Option<&'a RawValue>,
        #[serde(borrow)]
        uri: Option<&'a RawValue>,
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        resource: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Resource<'a> {
        #[serde(borrow)]
        uri: Option<&'a RawValue>,
        #[serde(borrow)]
        text: Option<&'a RawValue>,
        #[serde(borrow)]
        blob: Option<&'a RawValue>,
    }
    fn is_text(raw: Option<&RawValue>) -> bool {
        raw.is_some_and(|raw| raw.get().starts_with('"'))
    }
    if !raw.get().starts_with('{') {
        return None;
    }
    let block: Block<'_> = serde_json::from_str(raw.get()).ok()?;
    let media = is_text(block.data) && is_text(block.mime_type);
    match block.kind.as_str() {
        "text" => is_text(block.text).then_some(Kind::Text),
        "image" => media.then_some(Kind::Image),
        "audio" => media.then_some(Kind::Audio),
        "resource_link" => (is_text(block.uri) && is_text(block.name)).then_some(Kind::ResourceLink),
        "resource" => {
            let json = block.resource.map(RawValue::get).filter(|json| json.starts_with('{'))?;
            let resource: Resource<'_> = serde_json::from_str(json).ok()?;
            let whole = is_text(resource.uri) && (is_text(resource.text) || is_text(resource.blob));
            whole.then_some(Kind::Resource)
        }
        _ => None,
    }
}
