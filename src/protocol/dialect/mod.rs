//! A dialect is one Unity package's wire protocol, as a pure value: where its files lie, how bytes are framed, how tools are
//! listed and called, and what its frames mean. Machines and actors know no dialect by name, only its [`Properties`].

mod answer;
mod arguments;
mod errors;
pub mod foreign_peer;
pub mod holdfast;
pub mod http;
mod inbound;
mod input_schema;
mod interface;
mod listing;
mod members;
mod orders;
mod project;
mod properties;
mod rpc;
#[cfg(test)]
mod tests;
mod tools;
pub mod turbokettle;
pub mod uloop;
pub mod umcp;
mod unity;
pub mod unity_mcp;
pub mod unspoken;

pub use self::answer::*;
pub use self::errors::*;
pub use self::inbound::*;
pub use self::input_schema::InputSchema;
pub use self::interface::Dialect;
pub use self::orders::*;
pub use self::project::*;
pub use self::properties::*;
pub use self::tools::*;

/// Dialects that a project may speak, the preferred one first.
pub type Dialects = &'static [&'static dyn Dialect];

/// All that there are. Which one a project speaks is seen in its files; where they tell nothing, it is the last.
pub const ALL: Dialects =
    &[&holdfast::Holdfast, &turbokettle::Turbokettle, &unity_mcp::UnityMcp, &umcp::Umcp, &uloop::Uloop];
/// Our own package and no other.
pub const HOLDFAST: Dialects = &[&holdfast::Holdfast];
/// turbokettle/unity-mcp and no other.
pub const TURBOKETTLE: Dialects = &[&turbokettle::Turbokettle];
/// Unity-MCP and no other.
pub const UNITY_MCP: Dialects = &[&unity_mcp::UnityMcp];
/// uMCP and no other.
pub const UMCP: Dialects = &[&umcp::Umcp];
/// uLoopMCP and no other.
pub const ULOOP: Dialects = &[&uloop::Uloop];

/// What is spoken where no file of a project tells: the one among these that can be spoken without any.
pub fn fallback(dialects: Dialects) -> &'static dyn Dialect {
    dialects.last().copied().unwrap_or(&uloop::Uloop)
}
