//! The Model Context Protocol as this server implements it. Converts between JSON and values, for both eras: with a handshake
//! (2024-11-05 to 2025-11-25), and stateless (2026-07-28).
//!
//! Incoming requests become a [`Request`], notifications a [`Notification`]. Outgoing messages are written as JSON on one line.
//! Request ids and the order of messages are the session's task. Sources: the specification's pages of the versions in
//! [`ProtocolVersion`], and the clients' own code or observed behaviour where [`clients`] says so.

mod caching;
mod client_profile;
pub mod clients;
pub mod editor_argument;
pub mod fit;
pub mod gateway_tool_schemas;
pub mod handshake;
pub mod http;
pub mod listing;
mod media;
mod names;
pub mod notify;
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

pub use client_profile::{Audience, ClientProfile};
pub use clients::{ClientTraits, traits_of};
pub use editor_argument::{EDITOR_ARGUMENT, EDITOR_META, NotText, alternatives, editor_name, take_editor};
pub use fit::{LeftOut, Refused, cut_text, fits, left_out};
pub use gateway_tool_schemas::{GatewayCall, GatewayTool};
pub use handshake::{ProtocolVersion, ServerInfo, initialize_result, instructions};
pub use listing::{Found, Terms};
pub use names::names_in_unions;
pub use notify::{list_changed, progress};
pub use prompts::{GetPrompt, Prompt, prompt_result, prompts_list_result};
pub use request::{
    CallTool, ClientInfo, Initialize, Method, Notification, OfferRequest, Request, parse_notification, parse_request,
};
pub use resources::{
    AnswerForm, Offered, ReadResource, Resource, not_found, read_error, read_result, resources_list_result,
    templates_list_result,
};
pub use result::{Content, ToolResult, is_for_a_file, result_size, tool_result, whole_result, write_tool_result};
pub use roots::{NamedRoots, parse_roots, roots_list_request};
pub use tools::{Catalogue, Entry, Origin};
pub use union::{Member, union};

#[cfg(test)]
mod tests;
