//! The pages of the exporter and their paths, and what the exporter needs of the gateway.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::limits::PICTURE_WINDOW;
use crate::platform;
use crate::services::Gateway;
use crate::services::http::header::{self, HeaderValue};
use crate::services::http::{Reply, StatusCode};
use crate::storage::instance_record;
use crate::telemetry::events::Sample;
use crate::telemetry::flight::seconds;
use crate::telemetry::view::told::Told;

/// What the exporter needs of the gateway.
pub trait Shown: Gateway {
    /// Returns the address at which to serve; `None` if the exporter is off.
    fn metrics_address(&self) -> Option<SocketAddr>;
    /// Returns the folder in which other users can read the records of the exporter; `None` if there is none.
    fn metrics_records(&self) -> Option<PathBuf>;
    /// Records the problem that keeps a record from being written, with its fix; `None` if the record is written.
    fn set_record_problem(&self, part: &'static str, what: Option<String>);
    /// Returns the state folder; `None` if nothing is kept on disk.
    fn state_dir(&self) -> Option<PathBuf>;
    /// Returns the name that a hub took over from its predecessor; `None` in any other gateway.
    fn hub(&self) -> Option<&str>;
    fn began(&self) -> Instant;
    /// Returns the project whose editor the session over stdin and stdout uses; `None` if it is not known, or if there
    /// are several.
    fn project(&self) -> Option<PathBuf>;
    /// Waits until [`project`](Self::project) differs from this one.
    fn project_other_than(&self, known: Option<&Path>) -> impl Future<Output = ()> + Send;
    /// Returns the current values that are not counted by events.
    fn sample(&self) -> Sample;
    fn status(&self) -> Value;
    /// Returns the current state of each session of this process.
    fn sessions(&self) -> Vec<Value>;
}

pub fn render(shown: &impl Shown) -> String {
    shown.events().render(|| shown.sample())
}

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
