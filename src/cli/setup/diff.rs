//! A planned change of a file as a unified diff.

use holdfast_client_config::Plan;

/// Returns the diff; empty if nothing changes.
pub fn diff(plan: &Plan) -> String {
    let path = plan.path().display().to_string();
    let header = |text: Option<&str>| if text.is_some() { path.as_str() } else { "/dev/null" };
    let diff = similar::TextDiff::from_lines(plan.before().unwrap_or_default(), plan.after().unwrap_or_default());
    diff.unified_diff().header(header(plan.before()), header(plan.after())).to_string()
}
