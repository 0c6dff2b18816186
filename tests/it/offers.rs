//! Resources and prompts: what is known is read at once, and to read Unity's console is a call like any other.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::Path;
use std::time::Duration;

use crate::support::{Gateway, PATIENT, PORT, SLACK, Setup, UNKNOWN, connected, editor, gateway, plain, unity, until};
use holdfast::config::{Config, PortSource};
use holdfast::platform::host::Host as _;
use holdfast::protocol::dialect;
use holdfast::protocol::policy::{Pattern, Policy};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Package};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const CONSOLE: &str = "holdfast://console";
const COMPILE_ERRORS: &str = "holdfast://compile-errors";

async fn asked(it: &mut Gateway, method: &str, params: Value) -> Value {
    let id = it.client.request(method, params).await;
    it.client.answer(&id).await.value
}

/// The addresses in the list of resources.
async fn listed(it: &mut Gateway) -> Vec<String> {
    let answer = asked(it, "resources/list", json!({})).await;
    let resources = answer["result"]["resources"].as_array().unwrap_or_else(|| panic!("{answer}"));
    resources.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
}

/// Reads a resource: its text.
async fn read(it: &mut Gateway, uri: &str) -> String {
    let answer = asked(it, "resources/read", json!({"uri": uri})).await;
    let contents = answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{uri}: {answer}"));
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
    contents[0]["text"].as_str().unwrap().to_owned()
}

async fn read_json(it: &mut Gateway, uri: &str) -> Value {
    let text = read(it, uri).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Reads a resource that cannot be read: the error.
async fn refused(it: &mut Gateway, uri: &str) -> Value {
    let answer = asked(it, "resources/read", json!({"uri": uri})).await;
    assert!(answer["error"].is_object(), "{uri}: {answer}");
    answer["error"].clone()
}

async fn prompt(it: &mut Gateway, name: &str, arguments: Value) -> String {
    let answer = asked(it, "prompts/get", json!({"name": name, "arguments": arguments})).await;
    let message = &answer["result"]["messages"][0];
    assert_eq!((&message["role"], &message["content"]["type"]), (&json!("user"), &json!("text")), "{answer}");
    message["content"]["text"].as_str().unwrap().to_owned()
}

fn with(config: Config) -> Setup {
    Setup { config: Config { ports: vec![(PORT, PortSource::Flag)], seed: Some(7), ..config }, ..Setup::default() }
}

async fn opened(setup: Setup) -> Gateway {
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it
}

async fn denying(tool: &str, config: Config) -> (Gateway, FakeUnity) {
    let mut policy = Policy::default();
    policy.deny(vec![Pattern::parse(tool).unwrap()], "--deny");
    let setup = with(Config { policy, ..config });
    let unity = unity(&setup.net, editor()).await;
    let it = opened(setup).await;
    it.ready().await;
    (it, unity)
}

#[tokio::test(start_paused = true)]
async fn lists_and_what_the_gateway_knows_never_wait_for_unity() {
    let mut it = plain();
    it.client.open().await;
    let began = Instant::now();
    assert_eq!(listed(&mut it).await, ["holdfast://status", "holdfast://editors", "holdfast://calls", COMPILE_ERRORS]);
    let templates = asked(&mut it, "resources/templates/list", json!({})).await;
    assert_eq!(templates["result"], json!({"resourceTemplates": []}));
    let prompts = asked(&mut it, "prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 2, "{prompts}");
    let status = read_json(&mut it, "holdfast://status").await;
    assert_eq!((&status["editor"]["ready"], &status["gateway"]["client"]), (&json!(false), &json!(UNKNOWN)));
    assert_eq!(read_json(&mut it, "holdfast://calls").await, json!({"calls": [], "more": false}));
    let seen = read_json(&mut it, COMPILE_ERRORS).await;
    assert_eq!(seen["seen"], false);
    assert!(seen["says"].as_str().unwrap().contains("says nothing about its scripts"), "{seen}");
    let silent = prompt(&mut it, "why-is-unity-silent", json!({})).await;
    assert!(silent.contains(status["summary"].as_str().unwrap()), "{silent}");
    let fix = prompt(&mut it, "fix-compile-errors", json!({"where": "Assets/Game"})).await;
    assert!(fix.contains("Unity's tools are not known yet") && fix.contains("`Assets/Game`"), "{fix}");
    assert!(began.elapsed() < SLACK, "{:?}", began.elapsed());
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_console_is_listed_where_it_can_be_read_and_is_read_by_one_call_on_record() {
    let (mut it, _unity) = connected(PATIENT).await;
    assert_eq!(
        listed(&mut it).await,
        ["holdfast://status", "holdfast://editors", "holdfast://calls", COMPILE_ERRORS, CONSOLE]
    );
    let logs: Value = serde_json::from_str(&it.client.ok("get-logs", json!({})).await).unwrap();
    let read = read_json(&mut it, CONSOLE).await;
    assert_eq!(read["Logs"], logs["Logs"], "the same as the tool answers");
    let calls = read_json(&mut it, "holdfast://calls").await;
    let tools: Vec<&Value> = calls["calls"].as_array().unwrap().iter().map(|call| &call["tool"]).collect();
    assert_eq!(tools, ["get-logs", "get-logs"]);
    assert_eq!(calls["calls"][0]["verdict"], "ok");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_of_the_console_is_held_through_a_reload_and_told_truly_if_it_is_not_read() {
    let (mut it, unity) = connected(PATIENT).await;
    unity.reload(Duration::from_millis(300)).await.unwrap();
    // Held meanwhile, and read when the editor is back.
    let read = read_json(&mut it, CONSOLE).await;
    assert!(read["Logs"].is_array(), "{read}");
    unity.quit().await.unwrap();
    until("it is gone", || it.parts.link().contact.view.borrow().epoch.is_none()).await;
    let error = refused(&mut it, CONSOLE).await;
    assert_eq!((&error["code"], &error["data"]["verdict"]), (&json!(-32603), &json!("not_executed")), "{error}");
    let text = error["message"].as_str().unwrap();
    assert!(text.starts_with("Not executed") && text.contains("not sent to Unity"), "{text}");
    let id = error["data"]["call_id"].as_str().unwrap();
    let calls = read_json(&mut it, "holdfast://calls").await;
    assert_eq!((&calls["calls"][0]["call_id"], &calls["calls"][0]["tool"]), (&json!(id), &json!("get-logs")));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_cancelled_gets_no_answer_and_one_that_lasts_says_where_its_result_is() {
    let setup = with(Config { patience: Some(Duration::from_secs(10)), ..Config::default() });
    let unity = unity(&setup.net, editor()).await;
    let mut it = opened(setup).await;
    it.ready().await;
    unity.freeze();
    let params = json!({"uri": CONSOLE, "_meta": {"progressToken": "p"}});
    let lasts = it.client.request("resources/read", params).await;
    let error = it.client.answer(&lasts).await.value["error"].clone();
    assert_eq!(error["data"]["verdict"], "still_running", "{error}");
    let call = error["data"]["call_id"].as_str().expect("the call has an id");
    assert!(error["message"].as_str().unwrap().contains(call), "{error}");
    assert!(!it.client.notifications("notifications/progress").is_empty(), "a read has progress too");
    let cancelled = it.client.request("resources/read", json!({"uri": CONSOLE})).await;
    sleep(Duration::from_millis(50)).await;
    it.client.cancel(&cancelled).await;
    unity.thaw();
    sleep(Duration::from_secs(30)).await;
    let fetched = it.client.ok("holdfast_result", json!({"call_id": call})).await;
    assert!(fetched.contains("TotalCount"), "{fetched}");
    assert!(it.client.answered(&cancelled).is_none());
    assert!(read_json(&mut it, CONSOLE).await["Logs"].is_array());
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_denied_tool_is_not_run_by_a_read_and_the_audit_sees_each_read() {
    let audit = Path::new("/audit.jsonl");
    let config = Config { audit: Some(audit.into()), ..Config::default() };
    let (mut it, _unity) = denying("get-logs", config.clone()).await;
    assert!(!listed(&mut it).await.contains(&CONSOLE.to_owned()));
    let silent = prompt(&mut it, "why-is-unity-silent", json!({})).await;
    assert!(!silent.contains("get-logs"), "{silent}");
    let error = refused(&mut it, CONSOLE).await;
    assert_eq!(error["data"]["verdict"], "not_executed");
    assert!(error["message"].as_str().unwrap().contains("deny \"get-logs\" (--deny)"), "{error}");
    let trail = |it: &Gateway| String::from_utf8(it.host.read(audit, usize::MAX).unwrap_or_default()).unwrap();
    until("an audited refusal", || trail(&it).contains("get-logs")).await;
    it.close().await;
    let (mut it, _unity) = denying("compile", config).await;
    read_json(&mut it, CONSOLE).await;
    until("an audited read", || trail(&it).contains("\"verdict\":\"ok\"")).await;
    let fix = prompt(&mut it, "fix-compile-errors", json!({})).await;
    assert!(fix.contains("No tool that compiles is offered") && fix.contains("`get-logs`"), "{fix}");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_compile_errors_are_those_that_a_compile_tool_told() {
    let (mut it, unity) = connected(PATIENT).await;
    unity.compile_error(true);
    let id = it.client.call("compile", json!({})).await;
    assert!(it.client.text(&id).await.1, "the scripts do not compile");
    sleep(Duration::from_secs(3)).await;
    let seen = read_json(&mut it, COMPILE_ERRORS).await;
    assert_eq!((&seen["seen"], &seen["error_count"], &seen["more_errors"]), (&json!(true), &json!(1), &json!(false)));
    assert!(seen["errors"][0]["message"].as_str().unwrap().contains("CS"), "{seen}");
    assert!(seen["ago_ms"].as_u64().unwrap() >= 3000, "{seen}");
    assert!(seen["says"].as_str().unwrap().contains("Unity may have compiled since then"), "{seen}");
    let fix = prompt(&mut it, "fix-compile-errors", json!({})).await;
    assert!(fix.contains("Call `compile`.") && fix.contains("has 1 error"), "{fix}");
    assert!(fix.contains(seen["errors"][0]["message"].as_str().unwrap()), "{fix}");
    // A forced compilation ends without a result: what is known gets older, and is not made up.
    unity.compile_error(false);
    it.client.ok("compile", json!({"ForceRecompile": true, "WaitForDomainReload": false})).await;
    let seen = read_json(&mut it, COMPILE_ERRORS).await;
    assert_eq!((&seen["error_count"], &seen["later_call_without_result"]), (&json!(1), &json!(true)));
    it.client.ok("compile", json!({})).await;
    let seen = read_json(&mut it, COMPILE_ERRORS).await;
    assert_eq!((&seen["error_count"], &seen["later_call_without_result"]), (&json!(0), &json!(false)));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_package_without_a_console_tool_has_no_console() {
    let package = || Package::that(|facts| facts.console.is_none() && !facts.results);
    let setup = with(Config { dialects: dialect::only(package().name), ..Config::default() });
    let unity = unity(&setup.net, FakeUnityConfig { package: package(), ..editor() }).await;
    let mut it = opened(setup).await;
    it.ready().await;
    assert_eq!(listed(&mut it).await, ["holdfast://status", "holdfast://editors", "holdfast://calls", COMPILE_ERRORS]);
    let error = refused(&mut it, CONSOLE).await;
    assert_eq!((&error["code"], &error["data"]), (&json!(-32002), &json!({"uri": CONSOLE})));
    assert!(error["message"].as_str().unwrap().contains("has no tool that reads the console"), "{error}");
    let fix = prompt(&mut it, "fix-compile-errors", json!({})).await;
    assert!(fix.contains("Then ask for the errors in Unity's console."), "{fix}");
    drop(unity);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_found_and_an_editor_that_is_not_meant_is_not_read() {
    let (mut it, _unity) = connected(PATIENT).await;
    let other = refused(&mut it, "holdfast://console?editor=Castle").await;
    assert!(other["message"].as_str().unwrap().contains("nothing was read"), "{other}");
    let of_package = of_packages_server().facts.resource.unwrap();
    for uri in ["holdfast://nothing", "file:///etc/passwd", of_package] {
        assert_eq!(refused(&mut it, uri).await["code"], -32002, "{uri}");
    }
    for (method, params) in [
        ("resources/read", json!({})),
        ("resources/list", json!({"cursor": "x"})),
        ("prompts/get", json!({"name": "x"})),
        ("prompts/get", json!({"name": "fix-compile-errors", "arguments": {"x": "y"}})),
    ] {
        assert_eq!(asked(&mut it, method, params).await["error"]["code"], -32602, "{method}");
    }
    it.close().await;
}

/// The package whose own server has resources that the editor answers.
fn of_packages_server() -> &'static Package {
    Package::that(|facts| facts.resource.is_some())
}

async fn with_resources(policy: Policy, blocked: &[&str]) -> (Gateway, FakeUnity) {
    let package = of_packages_server();
    let setup = with(Config { dialects: dialect::only(package.name), policy, ..Config::default() });
    let blocked_tools = blocked.iter().map(|tool| (*tool).to_owned()).collect();
    let unity = unity(&setup.net, FakeUnityConfig { package, blocked_tools, ..editor() }).await;
    let it = opened(setup).await;
    it.ready().await;
    (it, unity)
}

async fn templates(it: &mut Gateway) -> Vec<String> {
    let answer = asked(it, "resources/templates/list", json!({})).await;
    let templates = answer["result"]["resourceTemplates"].as_array().unwrap_or_else(|| panic!("{answer}"));
    templates.iter().map(|template| template["uriTemplate"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_packages_server_offers_is_listed_and_each_read_is_a_call_of_a_tool() {
    let (mut it, _unity) = with_resources(Policy::default(), &["get_layers"]).await;
    let resources = listed(&mut it).await;
    assert_eq!(resources[4..6], [CONSOLE, "mcpforunity://editor/active-tool"], "the gateway's own come first");
    assert_eq!((resources.len(), templates(&mut it).await.len()), (5 + 14, 6));
    assert!(templates(&mut it).await.contains(&"mcpforunity://scene/gameobject/{instance_id}".to_owned()));
    for (uri, at, says) in [
        ("mcpforunity://project/tags", "/data/1", json!("MainCamera")),
        ("MCPFORUNITY://Project/tags/", "/data/1", json!("MainCamera")),
        ("mcpforunity://scene/gameobject/1", "/data/name", json!("Main Camera")),
        ("mcpforunity://scene/gameobject/1/components", "/data/pageSize", json!(25)),
        ("mcpforunity://scene/gameobject/1/component/Camera", "/data/component/properties/enabled", json!(true)),
        ("mcpforunity://tests/PlayMode", "/data/totalCount", json!(1)),
        ("mcpforunity://prefab/Assets%2FA%20B.prefab", "/data/assetPath", json!("Assets/A B.prefab")),
        ("mcpforunity://prefab/Assets%2FA.prefab/hierarchy", "/message", json!("get_hierarchy: done.")),
    ] {
        assert_eq!(read_json(&mut it, uri).await.pointer(at), Some(&says), "{uri}");
    }
    let calls = read_json(&mut it, "holdfast://calls").await;
    assert_eq!((&calls["calls"][0]["tool"], &calls["calls"][0]["verdict"]), (&json!("manage_prefabs"), &json!("ok")));
    let sent = calls["calls"].as_array().unwrap().len();
    // What cannot be read is not sent.
    for (uri, code, says) in [
        ("mcpforunity://scene/gameobject/seven", -32602, "\"seven\" in the address stands for `instance_id`"),
        ("mcpforunity://scene/gameobject/", -32002, "there is no such resource"),
        ("mcpforunity://scene/gameobject-api", -32002, "there is no such resource"),
        ("mcpforunity://project/tags?x=1", -32002, "there is no such resource"),
    ] {
        let error = refused(&mut it, uri).await;
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    assert_eq!(read_json(&mut it, "holdfast://calls").await["calls"].as_array().unwrap().len(), sent);
    // What the editor does not answer is an error, with what it says.
    for (uri, says) in [
        ("mcpforunity://scene/gameobject/2", "GameObject with instance ID 2 not found."),
        ("mcpforunity://project/layers", "Resource 'get_layers' is disabled in the Unity Editor."),
    ] {
        let error = refused(&mut it, uri).await;
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        assert_eq!((&error["code"], &error["data"]["verdict"]), (&json!(-32603), &json!("tool_error")), "{error}");
    }
    // The tools are not listed at first, but are found and called.
    assert!(!it.client.tools().await.contains(&"get_tags".to_owned()));
    assert!(it.client.ok("holdfast_tools", json!({"find": "project tags"})).await.contains("get_tags"));
    assert!(it.client.ok("get_gameobject", json!({"instance_id": 1})).await.contains("Main Camera"));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_of_a_packages_server_is_not_offered_if_its_tool_is_denied() {
    let mut policy = Policy::default();
    policy.deny(vec![Pattern::parse("get_tags").unwrap(), Pattern::parse("manage_prefabs").unwrap()], "--deny");
    let (mut it, _unity) = with_resources(policy, &[]).await;
    let resources = listed(&mut it).await;
    assert!(
        !resources.contains(&"mcpforunity://project/tags".to_owned()) && resources.len() == 5 + 13,
        "{resources:?}"
    );
    assert!(templates(&mut it).await.iter().all(|template| !template.contains("prefab")));
    for (uri, rule) in [
        ("mcpforunity://project/tags", "deny \"get_tags\" (--deny)"),
        ("mcpforunity://prefab/Assets%2FA.prefab", "deny \"manage_prefabs\" (--deny)"),
    ] {
        let error = refused(&mut it, uri).await;
        assert_eq!(error["data"]["verdict"], "not_executed", "{error}");
        assert!(error["message"].as_str().unwrap().contains(rule), "{error}");
    }
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_must_be_open() {
    let mut it = plain();
    for method in ["resources/list", "prompts/list"] {
        assert_eq!(asked(&mut it, method, json!({})).await["error"]["code"], -32600, "{method}");
    }
    it.client.open().await;
    assert!(listed(&mut it).await.len() > 2);
    it.close().await;
}

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// A client lists the resources as soon as it starts. The console is not among them until Unity's tools are known.
#[tokio::test(start_paused = true)]
async fn who_listed_the_resources_is_told_once_when_they_change_and_nobody_else() {
    for lists in [true, false] {
        let setup = with(Config::default());
        let net = setup.net.clone();
        let mut it = opened(setup).await;
        if lists {
            assert!(!listed(&mut it).await.contains(&CONSOLE.to_owned()));
        }
        let unity = unity(&net, editor()).await;
        it.ready().await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(it.client.notifications(RESOURCES_CHANGED).len(), usize::from(lists));
        // The tools change again, and the resources do not.
        let tools = it.client.notifications("notifications/tools/list_changed").len();
        unity.add_tool("late").unwrap();
        unity.tools_changed().await.unwrap();
        sleep(Duration::from_secs(5)).await;
        assert!(it.client.notifications("notifications/tools/list_changed").len() > tools);
        assert_eq!(it.client.notifications(RESOURCES_CHANGED).len(), usize::from(lists));
        assert!(listed(&mut it).await.contains(&CONSOLE.to_owned()));
        it.close().await;
    }
}
