//! Long lists: a thousand tools, one of them with a schema of 500 KB, and ten thousand finished calls.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Gateway, PATIENT, Setup, editor, gateway, unity, until};
use holdfast::core::ShutdownReason;
use holdfast::fsm::registry::Source;
use holdfast::limits::{CALLS_LISTED_MAX, FINISHED_CALLS_MAX, TOOL_SCHEMA_MAX_BYTES};
use holdfast::protocol::mcp;
use holdfast::protocol::policy::Toolset;
use holdfast_fake_unity::FakeUnityConfig;
use serde_json::{Value, json};
use tokio::time::sleep;

const TOOLS: usize = 1000;
const SCHEMA_BYTES: usize = 500_000;
/// Number of the gateway's own tools.
const OWN: usize = 5;

fn long_list() -> FakeUnityConfig {
    FakeUnityConfig { tools: TOOLS, schema_bytes: SCHEMA_BYTES, ..editor() }
}

/// Returns the listed names. Checks that the list is complete, and that the last tool has the long schema.
async fn whole_list(gateway: &mut Gateway) -> BTreeSet<String> {
    let id = gateway.client.request("tools/list", json!({})).await;
    let list = gateway.client.result(&id).await;
    let tools = list["tools"].as_array().unwrap();
    let names: BTreeSet<String> = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), tools.len(), "a name is listed twice");
    // Development-only tools are hidden, and the gateway's own tools are listed too.
    assert!((TOOLS - 20..=TOOLS + OWN).contains(&tools.len()), "{} tools", tools.len());
    let sizes = tools.iter().map(|tool| (tool["inputSchema"].to_string().len(), tool["name"].as_str()));
    let (longest, name) = sizes.max().unwrap();
    assert!(
        (SCHEMA_BYTES..TOOL_SCHEMA_MAX_BYTES).contains(&longest) && name == Some("more-0999"),
        "{name:?}: {longest} bytes"
    );
    names
}

#[tokio::test(start_paused = true)]
async fn a_thousand_tools_are_listed_whole_from_the_editor_and_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(folder.path().join(part)).unwrap();
    }
    let setup = || {
        let mut setup = Setup { pipe: 1 << 24, ..Setup::default() };
        setup.config.project = Some(folder.path().to_path_buf());
        setup.config.state_dir = Some("/state".into());
        setup.config.toolsets = vec![Toolset::parse("all").unwrap()];
        setup
    };
    let changes = |gateway: &Gateway| gateway.client.notifications("notifications/tools/list_changed").len();

    let first = setup();
    let disk = first.host.clone();
    let net = first.net.clone();
    let mut gateway = gateway(first);
    gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    assert_eq!(gateway.client.tools().await.len(), OWN, "nothing is known before there is an editor");
    let unity = unity(&net, long_list()).await;
    gateway.ready().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(changes(&gateway), 1);
    assert!(gateway.parts.link().tools.published.borrow().catalogue.dropped().is_empty());
    let live = whole_list(&mut gateway).await;
    gateway.client.ok("more-0999", json!({"text": "the last one", "p00000": "x"})).await;

    // The same tools after a reload do not count as a change, and are kept once.
    let before = gateway.parts.link().tools.published.borrow().clone();
    unity.reload(Duration::from_millis(300)).await.unwrap();
    unity.listening().await;
    until("a new list", || unity.stats().list_requests >= 2).await;
    gateway.ready().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(changes(&gateway), 1);
    let after = gateway.parts.link().tools.published.borrow().clone();
    assert!(Arc::ptr_eq(&before.catalogue, &after.catalogue), "nothing is made anew");
    let once = |entry: &&mcp::Entry| after.tools.iter().any(|tool| Arc::ptr_eq(tool, &entry.tool));
    // A tool whose schema had to be mended is kept as it came and as it is listed.
    let as_it_came = |entry: &&mcp::Entry| {
        let (name, schema) = (&entry.tool.name, &entry.tool.input_schema);
        after.tools.iter().any(|tool| tool.name == *name && tool.input_schema == *schema)
    };
    let twice = after.catalogue.entries().iter().filter(|entry| !once(entry) && as_it_came(entry)).count();
    assert_eq!(twice, 0, "a listed tool is kept a second time");
    until("it is saved", || disk.files().iter().any(|path| path.starts_with("/state"))).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    drop(unity);

    let second = Setup { host: disk, ..setup() };
    let mut gateway = crate::support::gateway(second);
    gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    assert_eq!(whole_list(&mut gateway).await, live);
    assert_eq!(gateway.parts.link().tools.published.borrow().source, Source::Disk);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

async fn calls(gateway: &mut Gateway, arguments: Value) -> (Vec<String>, bool) {
    let text = gateway.client.ok("holdfast_calls", arguments).await;
    let told: Value = serde_json::from_str(&text).unwrap();
    let ids = told["calls"].as_array().unwrap().iter().map(|call| call["call_id"].as_str().unwrap().to_owned());
    (ids.collect(), told["more"].as_bool().unwrap())
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_are_kept_and_found_and_the_next_one_pushes_the_oldest_out() {
    let setup = Setup::default();
    let _unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    gateway.ready().await;
    gateway.client.ok("count", json!({"key": "the first"})).await;
    let (newest, more) = calls(&mut gateway, json!({"limit": 1})).await;
    let ([first], false) = (newest.as_slice(), more) else { panic!("{newest:?}") };
    let finished = |gateway: &Gateway| gateway.parts.link().calls.ledger(|ledger, _| ledger.finished_records().count());
    for made in 2..=FINISHED_CALLS_MAX {
        gateway.client.call("echo", json!({"text": "x"})).await;
        // Ensures that fewer calls are open than may be at the same time.
        if made % 100 == 0 {
            until("they end", || finished(&gateway) == made).await;
        }
    }

    let mut all = Vec::new();
    let mut page = json!({"limit": CALLS_LISTED_MAX});
    loop {
        let (ids, more) = calls(&mut gateway, page).await;
        page = json!({"limit": CALLS_LISTED_MAX, "before": ids.last()});
        all.extend(ids);
        if !more {
            break;
        }
    }
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), FINISHED_CALLS_MAX);
    assert_eq!((all.len(), all.last()), (FINISHED_CALLS_MAX, Some(first)));
    let found = gateway.client.ok("holdfast_result", json!({"call_id": first})).await;
    assert!(found.contains("count"), "{found}");

    gateway.client.ok("echo", json!({"text": "one more"})).await;
    let id = gateway.client.call("holdfast_result", json!({"call_id": first})).await;
    let (gone, error) = gateway.client.text(&id).await;
    assert!(error && gone.contains("No call"), "{gone}");
    let id = gateway.client.call("holdfast_calls", json!({"before": first})).await;
    let (gone, error) = gateway.client.text(&id).await;
    assert!(error && gone.contains("`before`"), "{gone}");
    assert_eq!(finished(&gateway), FINISHED_CALLS_MAX);
    let next = &all[FINISHED_CALLS_MAX - 2];
    gateway.client.ok("holdfast_result", json!({"call_id": next})).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
