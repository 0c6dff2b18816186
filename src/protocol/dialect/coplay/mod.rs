//! MCP for Unity by CoplayDev. This branch has the stand-ins that the HTTP mode needs of the rest of the room.

mod answer;
mod arguments;
mod catalogue;
mod http;
mod project;

pub use self::http::CoplayHttp;
use super::Roles;

/// The purposes of the package's tools.
const ROLES: Roles = Roles::NONE;
/// The groups that are listed first.
const LISTED_FIRST: &[&str] = &[];
