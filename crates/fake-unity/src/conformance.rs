//! The tools that the official conformance suite calls, as a Unity project would register them.
//!
//! The results are those that the suite's scenarios expect. A simulated package whose protocol has content blocks sends the text
//! and the blocks. Any other sends only the text.

use std::time::Duration;

use super::json::{Object, quoted};
use super::spec::ToolSpec;

/// A PNG image of one grey pixel, in base64.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
/// A WAV sound of four silent samples, in base64.
pub(crate) const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA";

/// A schema with keywords of JSON Schema 2020-12 that a server must pass on.
pub(crate) const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;

/// A schema with a parameter that clients over HTTP also send in a header.
pub(crate) const HEADER_SCHEMA: &str =
    r#"{"type":"object","properties":{"scene":{"type":"string","x-mcp-header":"Scene"}},"additionalProperties":false}"#;

/// The tool whose input schema is [`SCHEMA`].
pub(crate) const SCHEMA_TOOL: &str = "json_schema_2020_12_tool";
/// The tool whose input schema is [`HEADER_SCHEMA`].
pub(crate) const HEADER_TOOL: &str = "test_parameter_in_header";
/// The tool that reports progress.
pub(crate) const PROGRESS_TOOL: &str = "test_tool_with_progress";
/// The tool that changes the tool list.
pub(crate) const SWAP_TOOL: &str = "test_trigger_tool_change";
/// The tool that reports an error.
pub(crate) const ERROR_TOOL: &str = "test_error_handling";
/// The progress values that [`PROGRESS_TOOL`] reports, and the pause after each. The pause is needed because the package sends at
/// most ten reports a second.
pub(crate) const PROGRESS: ([i32; 3], Duration) = ([0, 50, 100], Duration::from_millis(120));

const fn fixture(name: &'static str, about: &'static str) -> ToolSpec {
    ToolSpec { name, about, development: false, params: &[], timeout_seconds: 60, result: "" }
}

/// All tools of the conformance suite.
pub(crate) static FIXTURES: [ToolSpec; 12] = [
    fixture("test_simple_text", "Returns a text."),
    fixture("test_image_content", "Returns an image."),
    fixture("test_audio_content", "Returns a sound."),
    fixture("test_embedded_resource", "Returns a resource."),
    fixture("test_multiple_content_types", "Returns a text, an image and a resource."),
    fixture(ERROR_TOOL, "Reports that it failed."),
    fixture(PROGRESS_TOOL, "Tells its progress three times."),
    fixture(SCHEMA_TOOL, "Has an input schema that only a full JSON Schema can say."),
    fixture(HEADER_TOOL, "Has a parameter that is in a header too."),
    fixture(SWAP_TOOL, "Adds the tool swapped, or removes it."),
    fixture("test_logging_tool", "Runs, and says nothing beside its result."),
    fixture("test_streaming_elicitation", "Runs, and asks its caller nothing."),
];

/// Returns the text of a tool's result, or `None` if no tool of [`FIXTURES`] has this name and a text.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    Some(match name {
        "test_simple_text" => "This is a simple text response for testing.",
        "test_image_content" => "One grey pixel",
        "test_audio_content" => "Four samples of silence",
        "test_embedded_resource" => "A resource in the result",
        "test_multiple_content_types" => "Multiple content types test:",
        ERROR_TOOL => "This tool intentionally returns an error for testing",
        PROGRESS_TOOL => "Told 0, 50 and 100 of 100",
        SCHEMA_TOOL | HEADER_TOOL => "Took its arguments",
        "test_logging_tool" => "Nothing to log",
        "test_streaming_elicitation" => "Nothing to ask",
        _ => return None,
    })
}

/// Returns the content blocks of a tool's result other than its text.
pub(crate) fn blocks(name: &str) -> Vec<Object> {
    let image = || Object::new().text("type", "image").text("data", PNG).text("mimeType", "image/png");
    let sound = || Object::new().text("type", "audio").text("data", WAV).text("mimeType", "audio/wav");
    match name {
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![sound()],
        "test_embedded_resource" => {
            vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => {
            let json = r#"{"test":"data","value":123}"#;
            vec![image(), resource("test://mixed-content-resource", "application/json", json)]
        }
        _ => Vec::new(),
    }
}

fn resource(uri: &str, kind: &str, text: &str) -> Object {
    let resource = Object::new().text("uri", uri).text("mimeType", kind).raw("text", &quoted(text));
    Object::new().text("type", "resource").raw("resource", &resource.finish())
}
