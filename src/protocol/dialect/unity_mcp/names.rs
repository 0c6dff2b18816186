//! The names of the package's tools and of their arguments.

pub(super) const EXECUTE_CODE: &str = "execute_code";
pub(super) const QUERY_TOOL: &str = "query";
pub(super) const GET_STATE: &str = "get_state";
pub(super) const START_GAME: &str = "start_game";
pub(super) const STOP_GAME: &str = "stop_game";
pub(super) const GET_RESULT: &str = "get_result";
pub(super) const GET_LOGS: &str = "get_logs";
pub(super) const GET_LOG_BY_NAME: &str = "get_log_by_name";
pub(super) const GET_LOGS_BY_NAME: &str = "get_logs_by_name";
pub(super) const GET_LOG_DETAILS: &str = "get_log_details";
pub(super) const HELP: &str = "help";

/// Names of arguments.
pub(super) const CODE: &str = "code";
pub(super) const QUERY: &str = "query";
pub(super) const TIMEOUT: &str = "timeout";
/// The default of `timeout` in the package's own server, in milliseconds.
pub(super) const TIMEOUT_MS: f64 = 30_000.0;
