//! What a session brings itself: its rules for tools, its audit, its working directory. They bind this session and no other.

use std::path::Path;

use holdfast::platform::host::Host as _;
use holdfast::protocol::policy::{Pattern, Policy};

use super::*;

/// The size of the pipes.
const PIPE: usize = 1 << 20;

fn denying(rule: &str) -> Policy {
    let mut policy = Policy::default();
    policy.deny(vec![Pattern::parse(rule).unwrap()], "--deny");
    policy
}

async fn session(stage: &Stage, rules: SessionRules) -> Caller {
    let mut caller = stage.attach_with(rules, PIPE);
    caller.client.read();
    caller.client.open().await;
    caller
}

/// The lines of an audit file: (event, tool).
fn audited(stage: &Stage, file: &Path) -> Vec<(String, String)> {
    let text = String::from_utf8(stage.host.read(file, 1 << 20).unwrap_or_default()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["event"].as_str().unwrap().to_owned(), line["tool"].as_str().unwrap().to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_session_cannot_run_through_a_shared_link_what_it_is_denied() {
    let stage = Stage::new();
    let unity = stage.editor(0).await;
    let own = |policy| SessionRules { project: Some(stage.project(0)), policy, ..SessionRules::default() };
    let mut free = session(&stage, own(Policy::default())).await;
    let mut denied = session(&stage, own(denying("count"))).await;
    assert!(!free.count("free").await.1);
    let (text, error) = denied.count("denied").await;
    assert!(error && text.contains("--deny"), "{text}");
    // The call of the denied session is held first, and is checked when it is about to be sent.
    unity.reload(Duration::from_secs(2)).await.unwrap();
    let held = denied.client.call("count", json!({"key": "held"})).await;
    let other = free.client.call("count", json!({"key": "other"})).await;
    let (text, error) = free.client.text(&other).await;
    assert!(!error, "{text}");
    let (text, error) = denied.client.text(&held).await;
    assert!(error && text.contains("--deny"), "{text}");
    let runs = |key| unity.runs(key);
    assert_eq!(["free", "denied", "held", "other"].map(runs), [1, 0, 0, 1]);
    let status: Value = serde_json::from_str(&denied.client.ok("holdfast_status", json!({})).await).unwrap();
    assert_eq!(status["policy"], json!(["deny count (--deny)"]));
    let status: Value = serde_json::from_str(&free.client.ok("holdfast_status", json!({})).await).unwrap();
    assert_eq!(status["policy"], json!([]));
    for caller in [free, denied] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_audits_its_own_calls_and_no_others() {
    let stage = Stage::new();
    let _unity = stage.editor(0).await;
    let file = stage.folder.path().join("audit.jsonl");
    let project = Some(stage.project(0));
    let audited_rules = SessionRules { project: project.clone(), audit: Some(file.clone()), ..SessionRules::default() };
    let mut recorded = session(&stage, audited_rules).await;
    let mut other = session(&stage, SessionRules { project, ..SessionRules::default() }).await;
    assert!(!other.count("other").await.1);
    assert!(!recorded.count("recorded").await.1);
    for link in stage.parts.links.all() {
        link.calls.audit.written().await;
    }
    let status: Value = serde_json::from_str(&recorded.client.ok("holdfast_status", json!({})).await).unwrap();
    assert_eq!(status["audit"], json!(file.display().to_string()));
    for caller in [recorded, other] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    assert_eq!(audited(&stage, &file), [("sent".into(), "count".into()), ("verdict".into(), "count".into())]);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_without_roots_works_in_the_project_around_its_working_directory() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let working_dir = Some(stage.project(1).join("Assets"));
    let mut caller = session(&stage, SessionRules { working_dir, ..SessionRules::default() }).await;
    let (text, error) = caller.count("here").await;
    assert!(!error, "{text}");
    assert_eq!(editors.each_ref().map(|editor| editor.runs("here")), [0, 1]);
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_lists_what_its_own_choice_and_that_of_the_hub_both_have() {
    let choice = |client: &str, tools: &[&str]| {
        let mut policy = Policy::default();
        let tools = tools.iter().map(|tool| Pattern::parse(tool).unwrap()).collect();
        policy.choose_for_client(client.to_owned(), tools, "config.toml");
        policy
    };
    // The hub's own file chooses too: of the two rules the stricter one holds.
    let stage = Stage::with(Config { policy: choice(support::UNKNOWN, &["count", "get-logs"]), ..Config::default() });
    let unity = stage.editor(0).await;
    let rules = |policy| SessionRules { project: Some(stage.project(0)), policy, ..SessionRules::default() };
    let mut free = session(&stage, rules(Policy::default())).await;
    let mut bound = session(&stage, rules(choice(support::UNKNOWN, &["count", "echo"]))).await;
    for (caller, sees) in [(&mut free, &["count", "get-logs"][..]), (&mut bound, &["count"])] {
        let mut tools = caller.client.tools().await;
        tools.retain(|tool| !tool.starts_with("holdfast_"));
        tools.sort();
        assert_eq!(tools, sees);
    }
    assert!(!bound.count("both").await.1);
    for (tool, caller) in [("echo", &mut free), ("get-logs", &mut bound)] {
        let id = caller.client.call(tool, json!({})).await;
        let (text, error) = caller.client.text(&id).await;
        assert!(error && text.contains("not among the tools chosen for the client"), "{text}");
    }
    assert_eq!(unity.runs("both"), 1);
    for caller in [free, bound] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_union_of_several_editors_leaves_out_what_is_hidden_in_each_project() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut policy = denying("get-logs");
    policy.choose_in_project("Castle".to_owned(), vec![Pattern::parse("echo").unwrap()], "config.toml");
    policy.hide_denied("--hide-denied");
    let mut caller = stage.attach_with(SessionRules { policy, ..SessionRules::default() }, PIPE);
    caller.client.read();
    caller.client.open_as(support::PATIENT, "2025-06-18", json!({"roots": {}})).await;
    stage.answer_roots(&mut caller, 0, &[stage.project(0), stage.project(1)]).await;
    let castle = caller.client.call("count", json!({"key": "castle", "holdfast_editor": "Castle"})).await;
    let (text, error) = caller.client.text(&castle).await;
    assert!(error && text.contains("not among the tools chosen for the project Castle"), "{text}");
    let forest = caller.client.call("count", json!({"key": "forest", "holdfast_editor": "Forest"})).await;
    let (text, error) = caller.client.text(&forest).await;
    assert!(!error, "{text}");
    let id = caller.client.request("tools/list", json!({})).await;
    let list = caller.client.result(&id).await;
    let of = |name: &str| list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
    let editors_of = |name: &str| {
        let says = of(name)?["inputSchema"]["properties"]["holdfast_editor"]["description"].clone();
        says.as_str().map(|says| ["Castle", "Forest"].map(|editor| says.contains(editor)))
    };
    assert_eq!((editors_of("echo"), editors_of("count")), (Some([true; 2]), Some([false, true])), "{list}");
    assert_eq!(of("get-logs"), None);
    // The status names what each editor has and the session does not list.
    let mut hidden = async |arguments: Value| {
        let status: Value = serde_json::from_str(&caller.client.ok("holdfast_status", arguments).await).unwrap();
        status["tools"]["hidden"].clone()
    };
    let all = hidden(json!({})).await;
    let named = |editor: &str, tool: &str| {
        let mut first = all["first"].as_array().unwrap().iter();
        first.any(|hidden| hidden["editor"] == editor && hidden["tool"] == tool && hidden["why"].is_string())
    };
    assert!(named("Castle", "compile") && named("Forest", "get-logs") && !named("Forest", "compile"), "{all:#}");
    let mut count = 0;
    for editor in ["Castle", "Forest"] {
        let own = hidden(json!({"holdfast_editor": editor})).await;
        assert!(own["first"][0]["editor"].is_null(), "{own:#}");
        count += own["count"].as_u64().unwrap();
    }
    assert_eq!(all["count"], count);
    assert_eq!((editors[0].runs("castle"), editors[1].runs("forest")), (0, 1));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}
