//! The bounds of MCP resources and prompts.

#[cfg(doc)]
use super::CLIENT_MESSAGE_MAX_BYTES;
use super::MIB;

/// Longest text of a resource; the rest is left out, and the text says so. JSON writes a byte of text with at most six bytes, so
/// the message stays below [`CLIENT_MESSAGE_MAX_BYTES`]. Unity's console has some tens of kilobytes in its newest hundred entries.
pub const RESOURCE_TEXT_MAX_BYTES: usize = MIB;
/// Resources in one list. With several editors each has a few of its own; the rest can be read by the address of the first ones.
pub const RESOURCES_LISTED_MAX: usize = 100;
/// Longest address of a resource that a client may ask for. At most it names an editor, and the editor's name may be a
/// path.
pub const RESOURCE_URI_MAX_BYTES: usize = 8 * 1024;
/// Longest argument of a prompt: a path, or a word or two.
pub const PROMPT_ARGUMENT_MAX_BYTES: usize = 1024;
/// Errors, and as many warnings, that are kept of the last compilation. Our own Unity package sends a hundred issues in all.
pub const COMPILE_ISSUES_MAX: usize = 100;
/// Longest message or path of a compiler's issue that is kept. The compiler's own messages are a line or two.
pub const COMPILE_ISSUE_MAX_BYTES: usize = 2048;
/// Errors that a prompt quotes: enough to begin with, and the resource has the rest.
pub const COMPILE_ERRORS_QUOTED_MAX: usize = 20;
