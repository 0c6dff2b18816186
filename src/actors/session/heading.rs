//! Where a session's requests go.

use crate::core::editors::Scope;
use crate::core::router::Route;

/// Where a session's requests go, and which editors it may use.
#[derive(Clone)]
pub(super) struct Heading {
    pub(super) route: Route,
    pub(super) scope: Scope,
}
