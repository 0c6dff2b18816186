//! `holdfast status --open`: opens the status page in the browser.

use std::path::Path;

use serde_json::Value;

use crate::cli::{Exit, output};
use crate::limits::BROWSER_START_MAX;

/// Opens the page of a gateway, prints its address, and says so if there is none or no browser starts.
pub(super) fn open(gateways: &[Value], project: Option<&Path>) -> Exit {
    let Some(page) = page(gateways, project) else {
        output::complain(if gateways.is_empty() {
            "holdfast status: no gateway runs, so there is no status page. An AI client starts one by itself."
        } else {
            "holdfast status: no running gateway serves a status page. Run `holdfast setup CLIENT --metrics` \
             (CLIENT: claude-code, cursor, ...) and restart the client. `holdfast status --watch` shows the same on the terminal, without that."
        });
        return Exit::Failed;
    };
    output::line(page);
    match open::that_detached_with_timeout(page, BROWSER_START_MAX) {
        Ok(()) => Exit::Ok,
        // Of a program that failed only its exit code is known, which says nothing.
        Err(_) => {
            output::complain(
                "holdfast status: no browser could be started. Open the address yourself, on this machine.",
            );
            Exit::Failed
        }
    }
}

/// Returns the address of the page of this project's gateway, else of any: each page shows all gateways.
fn page<'a>(gateways: &'a [Value], project: Option<&Path>) -> Option<&'a str> {
    let of = |gateway: &'a Value| gateway.get("page").and_then(Value::as_str);
    let ours = |gateway: &&Value| {
        project.is_some_and(|project| gateway.get("project").and_then(Value::as_str).map(Path::new) == Some(project))
    };
    let mine = gateways.iter().filter(ours).find_map(of);
    mine.or_else(|| gateways.iter().find_map(of))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_of_this_project_comes_first_and_any_is_better_than_none() {
        let gateways = [
            json!({"project": "/a", "page": null}),
            json!({"project": "/b", "page": "http://127.0.0.1:1/"}),
            json!({"project": "/c", "page": "http://127.0.0.1:2/"}),
        ];
        assert_eq!(page(&gateways, Some(Path::new("/c"))), Some("http://127.0.0.1:2/"));
        assert_eq!(page(&gateways, Some(Path::new("/a"))), Some("http://127.0.0.1:1/"));
        assert_eq!(page(&gateways, None), Some("http://127.0.0.1:1/"));
        assert_eq!(page(&gateways[..1], Some(Path::new("/a"))), None);
    }
}
