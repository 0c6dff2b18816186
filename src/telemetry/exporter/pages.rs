//! What is served under which path.

use serde_json::{Value, json};

use crate::actors::gateway_tools;
use crate::estate::Estate;

/// What a path gives.
pub(super) struct Page {
    /// Its content type.
    pub(super) kind: &'static str,
    /// Further headers, each with its line end.
    pub(super) extra: &'static str,
    /// It.
    pub(super) body: String,
}

/// The status page: it reads `/status.json` and nothing else, from nowhere else.
const STATUS_PAGE: &str = include_str!("page.html");
const PAGE_HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                            img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
                            Referrer-Policy: no-referrer\r\n";

/// What this path gives, if anything.
pub(super) fn page(estate: &Estate, path: &str) -> Option<Page> {
    let (kind, extra, body) = match path {
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", "", estate.events.render(estate)),
        "/healthz" => ("text/plain; charset=utf-8", "", "ok\n".to_owned()),
        "/status.json" => ("application/json", "", status(estate).to_string()),
        "/" => ("text/html; charset=utf-8", PAGE_HEADERS, STATUS_PAGE.to_owned()),
        _ => return None,
    };
    Some(Page { kind, extra, body })
}

/// The run record, and what every machine did last.
fn status(estate: &Estate) -> Value {
    let mut status = gateway_tools::status(estate);
    if let Value::Object(members) = &mut status {
        members.insert("timelines".to_owned(), json!(estate.events.timelines()));
    }
    status
}
