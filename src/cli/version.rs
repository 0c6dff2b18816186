//! The version that people see.

use std::sync::LazyLock;

/// The text of `--version`: the version, with the commit and its day in a release.
pub(super) static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    match (crate::telemetry::REVISION, option_env!("HOLDFAST_REVISION_DAY")) {
        (Some(commit), Some(day)) => format!("{version} ({commit} {day})"),
        (Some(commit), None) => format!("{version} ({commit})"),
        (None, _) => version.to_owned(),
    }
});
