//! Images, sounds and other bytes in results, where they are base64. This module repairs them if that is possible
//! without loss. It also reads, from the first bytes of an image, the facts that an API checks.
//!
//! One image that a model's API refuses stays in the conversation and makes every later request fail. Data that is not base64 makes
//! the official TypeScript SDK throw the whole result away.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::limits::{DESCRIPTION_MAX_BYTES, JPEG_SEGMENTS_MAX};
use crate::protocol::text::cut_with_ellipsis;

/// The types of image that the APIs of models read. The first bytes of an image show its type. Sources:
/// platform.claude.com/docs/en/build-with-claude/vision, platform.openai.com/docs/guides/images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageType {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageType {
    pub(super) fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }
}

/// The media type and the base64 text of an image or sound.
#[derive(Deserialize)]
pub(super) struct Media<'a> {
    #[serde(borrow)]
    pub(super) data: Cow<'a, str>,
    #[serde(borrow, rename = "mimeType")]
    pub(super) mime_type: Cow<'a, str>,
}

/// Returns the type of an image and its size in pixels. `None` if not every API reads such an image, or if its header
/// is broken.
pub(super) fn image(data: &str) -> Option<(ImageType, u32, u32)> {
    let kind = ImageType::of(&bytes_at(data, 0, 12))?;
    let (width, height) = match kind {
        ImageType::Png => match *bytes_at(data, 12, 12) {
            [b'I', b'H', b'D', b'R', a, b, c, d, e, f, g, h] => {
                (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
            }
            _ => return None,
        },
        ImageType::Gif => match *bytes_at(data, 6, 4) {
            [a, b, c, d] => (u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into()),
            _ => return None,
        },
        ImageType::Jpeg => jpeg_size(data)?,
        ImageType::Webp => webp_size(&bytes_at(data, 12, 18))?,
    };
    (width > 0 && height > 0).then_some((kind, width, height))
}

/// Reads the size of a JPEG from the frame header. It comes after segments that each state their length.
fn jpeg_size(data: &str) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..JPEG_SEGMENTS_MAX {
        match *bytes_at(data, at, 9) {
            // These are fill bytes before a marker.
            [0xff, 0xff, ..] => at += 1,
            [0xff, 0x01 | 0xd0..=0xd7, ..] => at += 2,
            [0xff, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf, _, _, _, a, b, c, d] => {
                return Some((u16::from_be_bytes([c, d]).into(), u16::from_be_bytes([a, b]).into()));
            }
            [0xff, 0xd8..=0xda, ..] => return None,
            [0xff, _, a, b, ..] => at += 2 + usize::from(u16::from_be_bytes([a, b])),
            _ => return None,
        }
    }
    None
}

/// Reads the size of a WebP from the bytes behind its signature.
fn webp_size(header: &[u8]) -> Option<(u32, u32)> {
    match *header {
        [b'V', b'P', b'8', b'X', _, _, _, _, _, _, _, _, a, b, c, d, e, f, ..] => {
            Some((1 + u32::from_le_bytes([a, b, c, 0]), 1 + u32::from_le_bytes([d, e, f, 0])))
        }
        [b'V', b'P', b'8', b'L', _, _, _, _, 0x2f, a, b, c, d, ..] => {
            let bits = u32::from_le_bytes([a, b, c, d]);
            Some((1 + (bits & 0x3fff), 1 + ((bits >> 14) & 0x3fff)))
        }
        [b'V', b'P', b'8', b' ', _, _, _, _, _, _, _, 0x9d, 0x01, 0x2a, a, b, c, d] => {
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            Some((side(a, b), side(c, d)))
        }
        _ => None,
    }
}

/// Decodes some bytes in the middle of base64. At the end of the text there may be fewer.
fn bytes_at(data: &str, from: usize, count: usize) -> Box<[u8]> {
    let (first, last) = (from / 3 * 4, (from + count).div_ceil(3) * 4);
    let groups = data.get(first.min(data.len())..last.min(data.len())).unwrap_or_default();
    let bytes = STANDARD.decode(groups).unwrap_or_default();
    bytes.into_iter().skip(from % 3).take(count).collect()
}

/// Whether a text is base64 as the official SDKs want it: the standard alphabet, padded, on one line. Not empty.
fn is_base64(data: &str) -> bool {
    let (mut buffer, mut parts) = ([0; 3 * 1024], data.as_bytes().chunks(4 * 1024).peekable());
    let mut any = false;
    while let Some(part) = parts.next() {
        any = true;
        // Padding may come only at the end.
        let is_whole = parts.peek().is_none() || !part.contains(&b'=');
        if !is_whole || STANDARD.decode_slice(part, &mut buffer).is_err() {
            return false;
        }
    }
    any
}

/// Makes standard base64 of a text that differs from it only in line ends, spaces, a `data:` prefix, the alphabet of
/// URLs, or padding. `None` for any other text.
fn as_base64(data: &str) -> Option<String> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let is_url = data.get(..5).is_some_and(|prefix| prefix.eq_ignore_ascii_case("data:"));
    let data = if is_url { data.split_once(";base64,")?.1 } else { data };
    let plain: String = data
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    let bytes = GeneralPurpose::new(&alphabet::STANDARD, LENIENT).decode(&plain).ok()?;
    (!bytes.is_empty()).then(|| STANDARD.encode(bytes))
}

/// A block of a result whose data may need repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// An image.
    Image,
    /// A sound.
    Sound,
    /// A resource, which may have bytes.
    Resource,
}

/// Repairs an image, a sound or a resource with bytes. Its data becomes standard base64, and an image gets the type
/// that its bytes show. Other content becomes a text (`Err`), so that it is not lost.
pub(super) fn mended(raw: Box<RawValue>, block: Block) -> Result<Box<RawValue>, String> {
    let done = match block {
        Block::Image | Block::Sound => mended_media(&raw, block == Block::Image),
        Block::Resource => mended_resource(&raw),
    };
    done.unwrap_or(Ok(raw))
}

fn mended_media(raw: &RawValue, is_image: bool) -> Option<Result<Box<RawValue>, String>> {
    let Media { data, mime_type } = serde_json::from_str(raw.get()).ok()?;
    let what = if is_image { "An image" } else { "A sound" };
    let standard =
        if is_base64(&data) { Cow::Borrowed(&*data) } else { Cow::Owned(as_base64(&data).unwrap_or_default()) };
    let known = if is_image { ImageType::of(&bytes_at(&standard, 0, 12)) } else { None };
    // A path may look like base64. No image is as short as a path, and neither is a sound.
    let is_doubtful = is_image && known.is_none() && (*standard != *data || data.len() < SHORTEST_IMAGE);
    if standard.is_empty() || is_doubtful {
        return Some(Err(as_text(what, &mime_type, &data)));
    }
    let mime = known.map(ImageType::mime).filter(|mime| *mime != mime_type);
    if *standard == *data && mime.is_none() {
        return None;
    }
    let mut block: Value = serde_json::from_str(raw.get()).ok()?;
    let members = block.as_object_mut()?;
    members.insert("data".to_owned(), standard.into());
    if let Some(mime) = mime {
        members.insert("mimeType".to_owned(), mime.into());
    }
    to_raw_value(&block).ok().map(Ok)
}

/// No image that a person would look at has fewer bytes of base64. The smallest GIF has 35 bytes and a signature.
const SHORTEST_IMAGE: usize = 64;

fn mended_resource(raw: &RawValue) -> Option<Result<Box<RawValue>, String>> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow)]
        resource: Resource<'a>,
    }
    #[derive(Deserialize)]
    struct Resource<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
        #[serde(borrow)]
        text: Option<&'a RawValue>,
        #[serde(borrow)]
        blob: Option<Cow<'a, str>>,
    }
    let Whole { resource: Resource { uri, text, blob } } = serde_json::from_str(raw.get()).ok()?;
    let blob = blob.filter(|blob| text.is_none() && !is_base64(blob))?;
    if blob.is_empty() {
        // An empty file is valid.
        return None;
    }
    let Some(standard) = as_base64(&blob) else { return Some(Err(as_text("A resource", &uri, &blob))) };
    let mut block: Value = serde_json::from_str(raw.get()).ok()?;
    block.get_mut("resource")?.as_object_mut()?.insert("blob".to_owned(), standard.into());
    to_raw_value(&block).ok().map(Ok)
}

fn as_text(what: &str, named: &str, data: &str) -> String {
    let named = cut_with_ellipsis(named, DESCRIPTION_MAX_BYTES);
    if data.trim().is_empty() {
        return format!("[{what} ({named}) is left out: the tool gave no data for it.]");
    }
    format!("[{what} ({named}) is left out: in place of its data in base64 the tool gave this text:] {data}")
}
