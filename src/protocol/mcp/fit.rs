//! Fits results to a client. Images and sounds that the client or its model does not accept are kept in a file, and a note replaces them. If
//! the client would cut a text, it is cut here instead, with a note about its length and the file that has all of it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::LOG_FIELD_MAX_BYTES;
use crate::protocol::jsonrpc;
use crate::protocol::text::cut_with_ellipsis;

use super::clients::{ClientProfile, ImageLimit};
use super::media::{ImageType, Media, image};
use super::result::{Content, Kind, ToolResult, kind_of, structured};

/// Whether the client accepts the result unchanged. The limit above which no client accepts a result is not checked here.
pub fn fits(result: &ToolResult, profile: &ClientProfile) -> bool {
    let whole = |content: &Content| !matches!(content, Content::Bytes(_)) && refused(content, profile).is_none();
    result.content.iter().all(whole)
        && profile.client.result_text_max.is_none_or(|most| text_len(result, profile) <= most)
}

/// Why an image or sound does not reach the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The client takes no images or no sounds in results.
    Kind,
    /// Models read no image of this type, or the image's header is broken.
    Type,
    /// The base64 has more than this many bytes.
    Bytes(usize),
    /// The image has more than this many pixels a side.
    Side(u32),
}

/// An image or sound that the client does not accept, or bytes that no client accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The position among the content blocks.
    pub index: usize,
    /// "image" or "audio"; "bytes" for data that is no image, sound or text.
    pub kind: &'static str,
    /// The media type that the editor stated.
    pub mime: String,
    /// Why the client does not get the content.
    pub why: Refused,
    /// The usual file extension for the media type.
    pub extension: &'static str,
    /// The decoded content; `None` if it is not valid base64.
    pub data: Option<Vec<u8>>,
}

impl LeftOut {
    /// The note that replaces the block. `path` is the file with the content, or the reason why there is none.
    pub fn note(&self, profile: &ClientProfile, path: Result<&str, &str>) -> Content {
        let Self { kind, mime, data, why, .. } = self;
        if *kind == BYTES {
            let count = data.as_ref().map_or(0, Vec::len);
            return Content::Text(match path {
                Ok(path) => format!("[Its {count} bytes are kept for a day in the file {path}.]"),
                Err(why) => format!("[Its {count} bytes are not kept: {why}.]"),
            });
        }
        let (article, title) = (if *kind == "image" { "An image" } else { "A sound" }, profile.client.title);
        let size = data.as_ref().map(|data| format!(", {} bytes", data.len())).unwrap_or_default();
        let why = match why {
            Refused::Kind => format!("{title} takes no {kind} in results"),
            Refused::Type => {
                "models read PNG, JPEG, GIF and WebP, and it is none of these that can be read here".to_owned()
            }
            Refused::Bytes(most) => format!("the model takes at most {most} bytes of an image as base64"),
            Refused::Side(most) => format!("the model takes at most {most} pixels a side"),
        };
        let kept = match path {
            Ok(path) => format!("It is kept for a day in the file {path}."),
            Err(why) => format!("It is not kept: {why}."),
        };
        Content::Text(format!("[{article} ({mime}{size}) is left out: {why}. {kept}]"))
    }
}

/// The value of [`LeftOut::kind`] for other bytes.
const BYTES: &str = "bytes";

/// Returns the images, sounds and bytes of a result that the client does not accept, in order and decoded.
pub fn left_out(result: &ToolResult, profile: &ClientProfile) -> Vec<LeftOut> {
    let blocks = result.content.iter().enumerate();
    let untaken = blocks.filter_map(|(index, content)| {
        if let Content::Bytes(bytes) = content {
            let data = Some(bytes.to_vec());
            return Some(LeftOut {
                index,
                kind: BYTES,
                mime: String::new(),
                why: Refused::Kind,
                extension: "bin",
                data,
            });
        }
        let (kind, why) = refused(content, profile)?;
        let Content::Raw(raw) = content else { return None };
        let Media { data, mime_type } = serde_json::from_str(raw.get()).ok()?;
        let mime = cut_with_ellipsis(&mime_type, LOG_FIELD_MAX_BYTES);
        let kind = if kind == Kind::Image { "image" } else { "audio" };
        let data = STANDARD.decode(data.as_bytes()).ok();
        Some(LeftOut { index, kind, why, extension: extension(&mime), mime, data })
    });
    untaken.collect()
}

/// Shortens a result whose text is longer than the client accepts: a note, then the beginning of the text. Images and sounds are
/// kept. `path` is the file with the whole text. A result that is short enough is returned unchanged.
pub fn cut_text(result: ToolResult, profile: &ClientProfile, path: &str) -> ToolResult {
    let Some(most) = profile.client.result_text_max.filter(|most| text_len(&result, profile) > *most) else {
        return result;
    };
    let (texts, media): (Vec<Content>, Vec<Content>) =
        result.content.into_iter().partition(|content| media(content).is_none());
    let whole = texts.iter().map(plain).collect::<Vec<_>>().join("\n");
    let outcome = if result.is_error { "the tool failed" } else { "the tool ran to its end" };
    // The note names the number of bytes shown, which depends on the note's own length. The total has at least as many digits, so
    // the note is measured with the total.
    let note = |shown: usize| {
        format!(
            "Executed: {outcome}. Its text has {} bytes, and {} shows its model {most} of a result: the first {shown} bytes follow, \
             and all of it is kept for a day in the file {path}. Do not repeat the call for the rest: read the part of the file \
             that you need, or call again with arguments that ask for less.",
            whole.len(),
            profile.client.title
        )
    };
    let room = most.saturating_sub(jsonrpc::quoted_len(&note(whole.len())) + QUOTES);
    let head = head(&whole, room);
    let content = [note(head.len()), head.to_owned()].map(Content::Text).into_iter().chain(media).collect();
    ToolResult { content, structured: None, is_error: result.is_error }
}

/// The quotes around a JSON string.
const QUOTES: usize = 2;

/// Returns the text length of a result as the client counts it: texts as JSON strings, images and sounds as 0, other blocks as
/// their JSON; or the length of `structuredContent` if that is longer.
fn text_len(result: &ToolResult, profile: &ClientProfile) -> usize {
    let blocks = result.content.iter().map(|content| match content {
        Content::Text(text) => jsonrpc::quoted_len(text),
        Content::Bytes(bytes) => bytes.len(),
        Content::Raw(_) if media(content).is_some() => 0,
        Content::Raw(raw) => raw.get().len(),
    });
    let structured = structured(result, profile).map_or(0, |json| json.len());
    blocks.sum::<usize>().max(structured)
}

/// Returns the longest beginning of a text that takes at most `max` bytes inside a JSON string. If its last quarter has a line
/// end, a comma or a space (tried in this order), the cut is after the last one. The cut is never inside a character, nor inside
/// an escape if the text itself is JSON.
pub fn head(text: &str, max: usize) -> &str {
    let (mut end, mut bytes) = (0, 0);
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        bytes += text.get(at..next).map_or(0, jsonrpc::quoted_len).saturating_sub(QUOTES);
        if bytes > max {
            break;
        }
        end = next;
    }
    let head = text.get(..end).unwrap_or_default();
    if head.len() == text.len() {
        return head;
    }
    let near = end - end / 4;
    for sign in ['\n', ',', ' '] {
        if let Some(behind) = head.rfind(sign).map(|at| at + sign.len_utf8()).filter(|behind| *behind >= near) {
            return head.get(..behind).unwrap_or_default();
        }
    }
    outside_of_escapes(head)
}

/// Removes an incomplete escape from the end of a text: `\`, `\u12`, or the first half of a surrogate pair.
fn outside_of_escapes(head: &str) -> &str {
    let mut head = head;
    while let Some(cut) = open_escape(head.as_bytes()).and_then(|at| head.get(..at)) {
        head = cut;
    }
    head
}

/// Returns the start of an escape that is incomplete at the end of the text; `None` if there is none.
fn open_escape(text: &[u8]) -> Option<usize> {
    // The backslash that begins an escape is not the second half of `\\`.
    let begins = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        text.get(at) == Some(&b'\\') && before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
    };
    let at = (1..=6).filter_map(|back| text.len().checked_sub(back)).find(|at| begins(*at))?;
    let escape = text.get(at + 1..)?;
    let open = match escape.split_first() {
        None => true,
        Some((b'u', digits)) if digits.iter().all(u8::is_ascii_hexdigit) => {
            let high = matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _]);
            digits.len() < 4 || high
        }
        Some(_) => false,
    };
    open.then_some(at)
}

/// Returns the kind of a block that is an image or a sound; `None` for any other block.
fn media(content: &Content) -> Option<Kind> {
    match content {
        Content::Text(_) | Content::Bytes(_) => None,
        Content::Raw(raw) => kind_of(raw).filter(|kind| matches!(kind, Kind::Image | Kind::Audio)),
    }
}

/// Returns why the client does not accept a block, if it is an image or a sound that it does not accept.
fn refused(content: &Content, profile: &ClientProfile) -> Option<(Kind, Refused)> {
    let (client, kind) = (&profile.client, media(content)?);
    let why = match (kind, content) {
        (Kind::Audio, _) => (!client.audio).then_some(Refused::Kind),
        (Kind::Image, _) if !client.images => Some(Refused::Kind),
        (Kind::Image, Content::Raw(raw)) => refused_image(raw, client.image_limit),
        _ => None,
    };
    why.map(|why| (kind, why))
}

fn refused_image(raw: &RawValue, limit: ImageLimit) -> Option<Refused> {
    let Media { data, .. } = serde_json::from_str(raw.get()).ok()?;
    let Some((_, width, height)) = image(&data).filter(|(kind, ..)| limit.gif || *kind != ImageType::Gif) else {
        return Some(Refused::Type);
    };
    if data.len() > limit.base64_bytes {
        return Some(Refused::Bytes(limit.base64_bytes));
    }
    (width.max(height) > limit.side_pixels).then_some(Refused::Side(limit.side_pixels))
}

/// Returns the text of a block as a person reads it: JSON if the block is not a text.
fn plain(content: &Content) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Raw(raw) if kind_of(raw) == Some(Kind::Text) => match serde_json::from_str::<Text>(raw.get()) {
            Ok(Text { text }) => Cow::Owned(text),
            Err(_) => jsonrpc::compact(raw.get()),
        },
        Content::Raw(raw) => jsonrpc::compact(raw.get()),
        Content::Bytes(bytes) => String::from_utf8_lossy(bytes),
    }
}

/// All values of [`LeftOut::extension`].
pub const EXTENSIONS: [&str; 15] =
    ["png", "jpg", "gif", "webp", "svg", "bmp", "exr", "tga", "tif", "wav", "mp3", "ogg", "flac", "webm", "bin"];

/// Returns the usual file extension for this media type, or `bin` for an unknown one.
pub fn extension(mime: &str) -> &'static str {
    match mime {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" | "image/x-ms-bmp" => "bmp",
        "image/x-exr" | "image/aces" => "exr",
        "image/tga" | "image/x-tga" => "tga",
        "image/tiff" => "tif",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/webm" => "webm",
        _ => "bin",
    }
}
