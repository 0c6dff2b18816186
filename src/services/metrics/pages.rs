//! The pages of the exporter and their paths.

use serde_json::{Value, json};

use super::shown::{Shown, render};
use crate::limits::PICTURE_WINDOW;
use crate::platform;
use crate::services::http::header::{self, HeaderValue};
use crate::services::http::{Reply, StatusCode};
use crate::storage::instance_record;
use crate::telemetry::flight::seconds;
use crate::telemetry::view::told::Told;

/// The status page. It requests `/gateways.json` from this server, and nothing else.
const STATUS_PAGE: &str = include_str!("page.html");

/// Returns the status page. Its security policy allows only the page's own script to run, and forbids that script to
/// make markup from text.
fn status_page(shown: &impl Shown) -> Reply {
    let nonce = uuid::Builder::from_random_bytes(shown.host().random()).into_uuid().simple().to_string();
    let body = STATUS_PAGE.replace("{nonce}", &nonce).replace("{window}", &PICTURE_WINDOW.as_secs().to_string());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    let policy = HeaderValue::from_str(&policy).expect("a policy and hex digits are visible ASCII");
    Reply::new(StatusCode::OK, "text/html; charset=utf-8", body)
        .with(header::CONTENT_SECURITY_POLICY, policy)
        .with(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}

/// Returns the state of each session of this process, followed by the records of all other gateways that run for this
/// user. In each, `told` has the words that the page shows.
async fn gateways(shown: &impl Shown) -> String {
    let mut all = shown.sessions();
    if let Some(state) = shown.state_dir() {
        let own = u64::from(std::process::id());
        let read = platform::host::run(&**shown.host(), move || instance_record::all(&state)).await;
        let others = read.unwrap_or_default().into_iter();
        all.extend(others.filter(|record| record.pointer("/gateway/pid").and_then(Value::as_u64) != Some(own)));
    }
    // Another program may have written anything into a record.
    all.retain(Value::is_object);
    let now = seconds(shown.host().now());
    for record in &mut all {
        record["told"] = json!(Told::of(record, now));
    }
    Value::Array(all).to_string()
}

/// Returns the page at a path; `None` if there is no such page.
pub(super) async fn page(shown: &impl Shown, path: &str) -> Option<Reply> {
    let (kind, body) = match path {
        "/gateways.json" => ("application/json", gateways(shown).await),
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", render(shown)),
        "/healthz" => ("text/plain; charset=utf-8", "ok\n".to_owned()),
        "/status.json" => ("application/json", shown.status().to_string()),
        "/" => return Some(status_page(shown)),
        _ => return None,
    };
    Some(Reply::new(StatusCode::OK, kind, body))
}
