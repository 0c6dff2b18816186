//! The promises to a client of stateless MCP (2026-07-28), over in-memory pipes, alone and together with a client that uses a
//! handshake.
//!
//! Time is paused: "at once" means that no time passed, and time passes only while every task waits for it.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::client::Client;
use crate::support::sabotage::{Fault, Hook};
use crate::support::{Gateway, SLACK, Setup, UNKNOWN, editor, gateway, plain, unity, until};
use holdfast::core::ShutdownReason;
use holdfast::limits;
use holdfast_mcp_client::answer::names;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Adds the `_meta` that stateless MCP requires to the params of a request.
fn said_by(client: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": client, "version": "1"});
    params
}

async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    client.request(method, said_by(UNKNOWN, params)).await
}

async fn result(client: &mut Client, method: &str, params: Value) -> Value {
    let id = ask(client, method, params).await;
    let result = client.result(&id).await;
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "holdfast", "{result}");
    result
}

async fn echoes(client: &mut Client, word: &str) {
    let answer = result(client, "tools/call", json!({"name": "echo", "arguments": {"text": word}})).await;
    assert!(answer["content"][0]["text"].as_str().unwrap().contains(word), "{answer}");
}

/// Subscribes to changes of the tools, and waits for the acknowledgement.
async fn listen(client: &mut Client, id: &str) -> Value {
    let params = said_by(UNKNOWN, json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}}));
    let id = client.request_as(json!(id), "subscriptions/listen", params).await;
    let told = client
        .wait_for("the acknowledgement", |line| line["method"] == ACKNOWLEDGED && subscription(line) == &id)
        .await;
    assert_eq!(told.value["params"]["notifications"], json!({"toolsListChanged": true}));
    id
}

fn subscription(line: &Value) -> &Value {
    &line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// Counts the changes that a subscription has announced.
fn changes(client: &Client, id: &Value) -> usize {
    client.notifications(CHANGED).iter().filter(|line| subscription(&line.value) == id).count()
}

/// Starts a gateway and an editor. No client has sent a message yet.
async fn beside() -> (Gateway, holdfast_fake_unity::FakeUnity) {
    let setup = Setup::default();
    let unity = unity(&setup.net, editor()).await;
    (gateway(setup), unity)
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_answered_at_once_and_dials_nobody() {
    let (mut gateway, _unity) = beside().await;
    let began = Instant::now();
    let discovered = result(&mut gateway.client, "server/discover", json!({})).await;
    assert!(began.elapsed() < SLACK);
    assert_eq!(discovered["supportedVersions"][0], "2026-07-28");
    assert_eq!(
        discovered["capabilities"],
        json!({"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {}})
    );
    sleep(Duration::from_secs(10)).await;
    assert_eq!(gateway.net.connects(), 0, "a probe is no session");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_call_needs_nothing_before_it() {
    let (mut gateway, unity) = beside().await;
    echoes(&mut gateway.client, "first").await;
    let unknown = ask(&mut gateway.client, "tools/call", json!({"name": "no_such_tool"})).await;
    assert_eq!(gateway.client.answer(&unknown).await.value["error"]["code"], -32602);
    let status = result(&mut gateway.client, "tools/call", json!({"name": "holdfast_status"})).await;
    assert_eq!(status["structuredContent"]["gateway"]["client"], UNKNOWN);
    assert!(unity.stats().clients.contains(&UNKNOWN.to_owned()), "the editor hears who calls");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn the_first_list_of_a_client_that_does_not_listen_is_complete() {
    let (mut gateway, _unity) = beside().await;
    let listed = result(&mut gateway.client, "tools/list", json!({})).await;
    assert!(names(&listed).contains(&"echo".to_owned()), "{listed}");
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn resources_and_prompts_need_nothing_before_them() {
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let (mut gateway, _unity) = beside().await;
        let began = Instant::now();
        let listed = result(&mut gateway.client, method, json!({})).await;
        assert!(began.elapsed() < SLACK, "{method}");
        assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(0), &json!("private")), "{method}");
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    }
    let (mut gateway, _unity) = beside().await;
    // The first request of all: the call of the editor's tool is held until there is an editor.
    let read = result(&mut gateway.client, "resources/read", json!({"uri": "holdfast://console"})).await;
    assert_eq!((&read["ttlMs"], &read["contents"][0]["uri"]), (&json!(0), &json!("holdfast://console")));
    let id = ask(&mut gateway.client, "resources/read", json!({"uri": "holdfast://nothing"})).await;
    let error = gateway.client.answer(&id).await.value["error"].clone();
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32602), &json!("holdfast://nothing")));
    let prompt = result(&mut gateway.client, "prompts/get", json!({"name": "why-is-unity-silent"})).await;
    assert_eq!(prompt["messages"][0]["role"], "user");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn who_honours_changes_and_does_not_listen_cannot_hear_of_them_and_gets_the_whole_list() {
    let (mut gateway, _unity) = beside().await;
    let id = gateway.client.request("tools/list", said_by("mcp-inspector", json!({}))).await;
    let listed = names(&gateway.client.result(&id).await);
    assert!(listed.iter().any(|name| name == "echo"), "{listed:?}");
}

#[tokio::test(start_paused = true)]
async fn each_request_is_of_the_era_that_it_says() {
    let (mut gateway, _unity) = beside().await;
    let client = &mut gateway.client;
    echoes(client, "without a handshake").await;
    // Then a client with a handshake uses the same pipe, and the two take turns.
    let opened = client.open_as("claude-code", "2025-06-18", json!({})).await;
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    for round in 0..3 {
        echoes(client, &format!("stateless {round}")).await;
        let id = client.call("echo", json!({"text": format!("handshake {round}")})).await;
        let answer = client.result(&id).await;
        assert!(answer.get("resultType").is_none() && answer.get("_meta").is_none(), "{answer}");
        client.ping().await;
        let gone = ask(client, "ping", json!({})).await;
        assert_eq!(client.answer(&gone).await.value["error"]["code"], -32601);
    }
    let listed = client.request("tools/list", json!({})).await;
    assert!(client.result(&listed).await.get("ttlMs").is_none());
    assert!(result(client, "tools/list", json!({})).await.get("ttlMs").is_some());
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_names_no_version_gets_no_answer_of_this_era() {
    let (mut gateway, _unity) = beside().await;
    let listed = result(&mut gateway.client, "tools/list", json!({})).await;
    assert!(listed["ttlMs"].is_number(), "{listed}");
    let plainly = gateway.client.request("tools/list", json!({})).await;
    let listed = gateway.client.result(&plainly).await;
    assert!(!names(&listed).is_empty());
    for of_this_era in ["ttlMs", "cacheScope", "resultType", "_meta"] {
        assert!(listed.get(of_this_era).is_none(), "{of_this_era}: {listed}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_of_this_version_is_refused_and_nothing_runs() {
    let (mut gateway, unity) = beside().await;
    let client = &mut gateway.client;
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "completion/complete", "shutdown"] {
        let id = ask(client, method, json!({"protocolVersion": "2025-11-25"})).await;
        assert_eq!(client.answer(&id).await.value["error"]["code"], -32601, "{method}");
    }
    let call = |version: &str, capabilities: Value| {
        json!({"name": "count", "arguments": {"key": "refused"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }})
    };
    for (params, code) in [
        (call("2099-01-01", json!({})), -32022),
        (call("2025-11-25", json!({})), -32022),
        (call("2026-07-28", json!(null)), -32602),
    ] {
        let id = client.request("tools/call", params).await;
        let answer = client.answer(&id).await.value;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    assert_eq!(unity.runs("refused"), 0);
    // A client that sends valid requests afterwards is served.
    echoes(client, "well said").await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_to_those_who_listen_and_to_nobody_else() {
    let (mut gateway, unity) = beside().await;
    let client = &mut gateway.client;
    echoes(client, "ready").await;
    unity.add_tool("unheard").unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(client.notifications(CHANGED).is_empty(), "nobody asked for it");
    let (a, b) = (listen(client, "a").await, listen(client, "b").await);
    let deaf = ask(client, "subscriptions/listen", json!({"notifications": {"promptsListChanged": true}})).await;
    client.wait_for("the acknowledgement", |line| line["method"] == ACKNOWLEDGED && subscription(line) == &deaf).await;
    unity.add_tool("heard").unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!((changes(client, &a), changes(client, &b), changes(client, &deaf)), (1, 1, 0));
    // A cancelled subscription announces no more changes and is not answered, and its id may be used again.
    client.cancel(&a).await;
    unity.add_tool("half").unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!((changes(client, &a), changes(client, &b)), (1, 2));
    assert!(client.answered(&a).is_none());
    assert_eq!(client.notifications(CHANGED).len(), 3, "and no plain one among them");
    // At the end each open subscription is answered.
    let client = gateway.close_and_keep().await;
    for id in [&b, &deaf] {
        let end = client.result(id).await;
        assert_eq!(end, json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": id}}));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_list_is_the_same_whether_or_not_anybody_listens() {
    let (mut gateway, unity) = beside().await;
    // The editor is connected, and does not answer.
    unity.freeze();
    let client = &mut gateway.client;
    let listening = listen(client, "s").await;
    let list = ask(client, "tools/list", json!({})).await;
    sleep(Duration::from_millis(500)).await;
    assert!(client.answered(&list).is_none(), "Unity's own may still come");
    unity.thaw();
    assert!(names(&client.result(&list).await).contains(&"echo".to_owned()));
    assert_eq!(changes(client, &listening), 0, "it was told with the list");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn what_was_found_is_listed_and_told_to_those_who_listen() {
    let setup = Setup::default();
    let config = holdfast_fake_unity::FakeUnityConfig { tools: 80, ..editor() };
    let _unity = unity(&setup.net, config).await;
    let mut gateway = gateway(setup);
    let first = names(&result(&mut gateway.client, "tools/list", json!({})).await);
    let id = listen(&mut gateway.client, "s").await;
    let find = json!({"name": "holdfast_tools", "arguments": {"find": "more-0079"}});
    let told = result(&mut gateway.client, "tools/call", find).await;
    assert_eq!(told["structuredContent"]["tools"][0]["name"], "more-0079", "{told}");
    until("it is told", || changes(&gateway.client, &id) == 1).await;
    let again = names(&result(&mut gateway.client, "tools/list", json!({})).await);
    assert_eq!((first.len(), first.contains(&"more-0079".to_owned())), (40, false), "{first:?}");
    assert!(again.contains(&"more-0079".to_owned()), "{again:?}");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn what_changed_between_a_list_and_the_subscription_behind_it_is_told() {
    let (mut gateway, unity) = beside().await;
    let client = &mut gateway.client;
    result(client, "tools/list", json!({})).await;
    let current = listen(client, "current").await;
    unity.add_tool("between").unwrap();
    sleep(Duration::from_secs(5)).await;
    client.cancel(&current).await;
    let told = changes(client, &current);
    let late = listen(client, "late").await;
    result(client, "server/discover", json!({})).await;
    assert_eq!((told, changes(client, &late)), (1, 1), "the list that it has is the one before");
    result(client, "tools/list", json!({})).await;
    let again = listen(client, "again").await;
    result(client, "server/discover", json!({})).await;
    assert_eq!(changes(client, &again), 0, "it has the newest");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn subscriptions_outlive_a_session_that_dies_and_keep_nobody_from_leaving() {
    let setup = Setup::default();
    let sabotage = setup.sabotage.clone();
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    echoes(&mut gateway.client, "ready").await;
    let id = listen(&mut gateway.client, "s").await;
    sabotage.plant("session", Hook::Handle, Fault::Panic);
    let struck = ask(&mut gateway.client, "tools/list", json!({})).await;
    gateway.client.answer(&struck).await;
    until("the session lives again", || gateway.parts.env.health.restarts().values().sum::<u64>() > 0).await;
    assert!(gateway.client.answered(&id).is_none());
    echoes(&mut gateway.client, "again").await;
    unity.add_tool("fresh").unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(changes(&gateway.client, &id), 1);
    let began = Instant::now();
    let client = gateway.close_and_keep().await;
    assert!(began.elapsed() <= Duration::from_millis(200), "it took {:?}", began.elapsed());
    assert_eq!(client.result(&id).await["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_bounded() {
    let mut gateway = plain();
    let client = &mut gateway.client;
    let mut ids = Vec::new();
    for n in 0..limits::SUBSCRIPTIONS_MAX {
        ids.push(listen(client, &format!("s{n}")).await);
    }
    let refused = ask(client, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    let answer = client.answer(&refused).await.value;
    assert!(answer["error"]["message"].as_str().unwrap().contains("Cancel one"), "{answer}");
    client.cancel(&ids[0]).await;
    listen(client, "in its place").await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn each_request_waits_as_long_as_the_client_that_it_names() {
    let (mut gateway, unity) = beside().await;
    echoes(&mut gateway.client, "ready").await;
    let params = |key: &str| json!({"name": "hold", "arguments": {"key": key}});
    let began = Instant::now();
    let short = gateway.client.request("tools/call", said_by(UNKNOWN, params("a"))).await;
    until("it runs", || unity.stats().running == 1).await;
    let (text, _) = gateway.client.text(&short).await;
    assert!(text.starts_with("Still running"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(60));
    // A patient client gets its answer much later, when the gateway's own limit has passed.
    let began = Instant::now();
    let long = gateway.client.request("tools/call", said_by("claude-code", params("b"))).await;
    let (text, _) = gateway.client.text(&long).await;
    assert!(text.starts_with("Not executed: Unity runs such calls one at a time"), "{text}");
    assert!(began.elapsed() > Duration::from_secs(60), "{:?}", began.elapsed());
    unity.release();
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// Each subscription is told of the lists that it named. What changed between a list and the subscription is told too.
#[tokio::test(start_paused = true)]
async fn a_changed_list_of_resources_is_told_to_those_who_listen_for_it() {
    let setup = Setup::default();
    let net = setup.net.clone();
    let mut gateway = gateway(setup);
    let client = &mut gateway.client;
    let told = |client: &Client, id: &Value| {
        let all = client.notifications("notifications/resources/list_changed");
        all.iter().filter(|line| subscription(&line.value) == id).count()
    };
    let resources = |id: &str| (json!(id), json!({"notifications": {"resourcesListChanged": true}}));
    result(client, "resources/list", json!({})).await;
    let (early, params) = resources("early");
    let early = client.request_as(early, "subscriptions/listen", said_by(UNKNOWN, params)).await;
    let both = client.wait_for("the acknowledgement", |line| line["method"] == ACKNOWLEDGED).await;
    assert_eq!(both.value["params"]["notifications"], json!({"resourcesListChanged": true}));
    let tools = listen(client, "tools").await;
    assert_eq!(told(client, &early), 0);
    let _unity = unity(&net, editor()).await;
    echoes(client, "ready").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((told(client, &early), told(client, &tools), changes(client, &early)), (1, 0, 0));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
