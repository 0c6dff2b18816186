//! The Model Context Protocol as this server implements it. Converts between JSON and values, for both eras: with a handshake
//! (2024-11-05 to 2025-11-25), and stateless (2026-07-28).
//!
//! Incoming requests become a [`Request`], notifications a [`Notification`]. Outgoing messages are written as JSON on one line.
//! Request ids and the order of messages are the session's task. Sources: the specification's pages of the versions in
//! [`ProtocolVersion`], and the clients' own code or observed behaviour where [`clients`] says so.

mod caching;
pub mod clients;
pub mod editor_argument;
pub mod fit;
pub mod gateway_tool_schemas;
pub mod handshake;
pub mod http;
pub mod listing;
mod media;
mod names;
mod parameter_names;
mod params;
pub mod prompts;
pub mod request;
pub mod resources;
pub mod result;
pub mod roots;
mod schema;
pub mod stateless;
pub mod tools;
pub mod union;

pub use clients::{Audience, ClientProfile, ClientTraits, traits_of};
pub use editor_argument::{EDITOR_ARGUMENT, EDITOR_META, NotText, alternatives, editor_name, take_editor};
pub use fit::{LeftOut, Refused, cut_text, fits, left_out};
pub use gateway_tool_schemas::{GatewayCall, GatewayTool};
pub use handshake::{ProtocolVersion, ServerInfo, initialize_result, instructions};
pub use listing::{Found, Terms};
pub use names::names_in_unions;
pub use prompts::{GetPrompt, Prompt, prompt_result, prompts_list_result};
pub use request::{
    CallTool, ClientInfo, Initialize, Method, Notification, OfferRequest, Request, parse_notification, parse_request,
};
pub use resources::{
    AnswerForm, AnyResource, Offered, ReadResource, Resource, not_found, read_error, read_result,
    resources_list_result, templates_list_result,
};
pub use result::{Content, ToolResult, is_for_a_file, result_size, tool_result, whole_result, write_tool_result};
pub use roots::{NamedRoots, parse_roots, roots_list_request};
pub use tools::{Catalogue, Entry, Origin};
pub use union::{Member, union};

use serde_json::value::RawValue;

use self::request::List;
use crate::protocol::jsonrpc;
use crate::protocol::text::quote;

/// Returns a progress notification on one line. `token` is the client's own, unchanged. The caller ensures that `progress` rises
/// with every notification of a call, and that no notification follows the answer.
pub fn progress(
    token: &RawValue,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
    version: ProtocolVersion,
) -> String {
    let message = message
        .filter(|_| version.progress_message())
        .map(|message| format!(r#","message":{}"#, quote(message)))
        .unwrap_or_default();
    // Rust prints a float without a fraction as an integer.
    let total = total.map(|total| format!(r#","total":{total}"#)).unwrap_or_default();
    let params =
        format!(r#"{{"progressToken":{},"progress":{progress}{total}{message}}}"#, jsonrpc::compact(token.get()));
    jsonrpc::notification("notifications/progress", Some(&params))
}

/// The notification that a list has changed, on one line.
pub fn list_changed(list: List) -> String {
    jsonrpc::notification(list.notification(), None)
}

#[cfg(test)]
mod tests;
