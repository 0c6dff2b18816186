//! What is served under which path.

use crate::actors::gateway_tools;
use crate::estate::Estate;
use crate::limits::PICTURE_WINDOW;

/// What a path gives.
pub(super) struct Page {
    /// Its content type.
    pub(super) kind: &'static str,
    /// Further headers, each with its line end.
    pub(super) extra: String,
    /// It.
    pub(super) body: String,
}

/// The status page: it reads `/status.json` and nothing else, from nowhere else.
const STATUS_PAGE: &str = include_str!("page.html");

/// The status page under a policy that runs its own script and no other, and lets that script make no markup out of text.
fn status_page(estate: &Estate) -> Page {
    let nonce = uuid::Builder::from_random_bytes(estate.host.random()).into_uuid().simple().to_string();
    let body = STATUS_PAGE.replace("{nonce}", &nonce).replace("{window}", &PICTURE_WINDOW.as_secs().to_string());
    let extra = format!(
        "Content-Security-Policy: default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'\r\nReferrer-Policy: no-referrer\r\n"
    );
    Page { kind: "text/html; charset=utf-8", extra, body }
}

/// What this path gives, if anything.
pub(super) fn page(estate: &Estate, path: &str) -> Option<Page> {
    let (kind, body) = match path {
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", estate.events.render(estate)),
        "/healthz" => ("text/plain; charset=utf-8", "ok\n".to_owned()),
        "/status.json" => ("application/json", gateway_tools::picture(estate).to_string()),
        "/" => return Some(status_page(estate)),
        _ => return None,
    };
    Some(Page { kind, extra: String::new(), body })
}
