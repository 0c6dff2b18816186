//! The bounds of the part of a result that a client gets.

use super::MIB;
#[cfg(doc)]
use super::RESULT_INLINE_MAX_BYTES;

/// [`RESULT_INLINE_MAX_BYTES`] for a session whose queue to its client is full while other sessions share its editor. With all of
/// its requests open, such a session holds 4 MiB more.
pub const RESULT_BEHIND_MAX_BYTES: usize = 16 * 1024;
/// Smallest limit of a result's text that a user may set for a client: with less, most of the text would be the note that it was
/// cut.
pub const RESULT_TEXT_MIN_BYTES: usize = 4096;
/// Images and audio of one result that are written to separate files if the client does not accept them. A tool returns a few;
/// more would push other results out of the folder.
pub const RESULT_MEDIA_FILES_MAX: usize = 16;
/// Largest image as base64 that every API of models takes: Anthropic's limit. It is below [`RESULT_INLINE_MAX_BYTES`].
pub const IMAGE_BASE64_MAX_BYTES: usize = 5 * MIB;
/// Longest side of an image in pixels that every API of models takes: Anthropic's limit. With more than 20 images in a
/// request the limit is 2,000, but a single result cannot know their number.
pub const IMAGE_SIDE_MAX_PIXELS: u32 = 8_000;
/// Pictures that are read for one answer that names their files. The packages name one, or one for each view of a window.
pub const PICTURES_MAX: usize = 4;
/// How long the pictures of an answer are read. They are small files that the editor has just written.
pub const PICTURES_READ_MAX: std::time::Duration = std::time::Duration::from_secs(5);
/// Segments of a JPEG that are passed over on the way to its size. Cameras write some 20; a colour profile has at most 255.
pub const JPEG_SEGMENTS_MAX: usize = 1_000;
/// Tools in one answer of `holdfast_tools`: a model that needs more asks with other words.
pub const TOOLS_SHOWN_MAX: usize = 10;
/// Bytes of schemas in one answer of `holdfast_tools`. Usual tools have 1 to 3 KiB. A schema for which there is no room is left out, and the
/// answer says so.
pub const TOOLS_SHOWN_MAX_BYTES: usize = 32 * 1024;
