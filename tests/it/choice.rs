//! Which tools a client sees: tools that rules refuse can be hidden, and tools can be chosen for a client, a project, or both.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::PathBuf;

use crate::support::{Gateway, PATIENT, PORT, Setup, editor, gateway, unity, until};
use holdfast::config::{Config, PortSource};
use holdfast::limits::HIDDEN_TOOLS_SHOWN_MAX;
use holdfast::platform::host::{Liveness, Owner};
use holdfast::protocol::policy::{Pattern, Policy};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine, Package};
use serde_json::{Value, json};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn patterns(rules: &[&str]) -> Vec<Pattern> {
    rules.iter().map(|rule| Pattern::parse(rule).unwrap()).collect()
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

fn with(config: Config) -> Setup {
    Setup { config: Config { ports: vec![(PORT, PortSource::Flag)], seed: Some(7), ..config }, ..Setup::default() }
}

async fn connected(setup: Setup, client: &str) -> (Gateway, FakeUnity) {
    let unity = unity(&setup.net, editor()).await;
    let mut it = gateway(setup);
    it.client.open_as(client, "2025-06-18", json!({})).await;
    it.ready().await;
    (it, unity)
}

async fn told(it: &mut Gateway, tool: &str, arguments: Value) -> (String, bool) {
    let id = it.client.call(tool, arguments).await;
    it.client.text(&id).await
}

async fn status(it: &mut Gateway) -> Value {
    serde_json::from_str(&it.client.ok("holdfast_status", json!({})).await).unwrap()
}

fn hidden(status: &Value) -> Vec<&str> {
    status["tools"]["hidden"]["first"].as_array().unwrap().iter().map(|one| one["tool"].as_str().unwrap()).collect()
}

/// The tools of the editor that a client lists.
async fn listed(it: &mut Gateway) -> Vec<String> {
    let mut tools = it.client.tools().await;
    tools.retain(|tool| !tool.starts_with("holdfast_"));
    tools.sort();
    tools
}

#[tokio::test(start_paused = true)]
async fn a_denied_tool_is_hidden_if_the_user_wants_that_and_refused_all_the_same() {
    let rules = policy(|policy| {
        policy.deny(patterns(&["count", "holdfast_*"]), "--deny");
        policy.hide_denied("--hide-denied");
    });
    let (mut it, unity) = connected(with(Config { policy: rules, ..Config::default() }), PATIENT).await;
    let tools = it.client.tools().await;
    assert!(!tools.contains(&"count".to_owned()) && tools.contains(&"echo".to_owned()), "{tools:?}");
    assert!(tools.contains(&"holdfast_status".to_owned()), "holdfast's own tools are never hidden: {tools:?}");
    let (text, error) = told(&mut it, "count", json!({"key": "hidden"})).await;
    assert!(error && text.contains("deny \"count\" (--deny)") && text.contains("was not sent to Unity"), "{text}");
    let status = status(&mut it).await;
    assert_eq!(hidden(&status), ["count"]);
    assert_eq!(status["tools"]["hidden"]["count"], 1);
    assert_eq!(
        status["policy"],
        json!(["deny count, holdfast_* (--deny)", "do not list what is denied (--hide-denied)"])
    );
    assert_eq!(unity.runs("hidden"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_and_calls_only_the_tools_that_are_chosen_for_it() {
    let chosen = || {
        policy(|policy| {
            policy.choose_for_client(
                "my ed*".to_owned(),
                patterns(&["echo"]),
                "`tools` of [clients.my ed*] in config.toml",
            );
            policy.choose_for_client(
                "my editor pro".to_owned(),
                Vec::new(),
                "`tools` of [clients.my editor pro] in config.toml",
            );
        })
    };
    let (mut it, unity) = connected(with(Config { policy: chosen(), ..Config::default() }), "my editor").await;
    assert_eq!(listed(&mut it).await, ["echo"]);
    it.client.ok("echo", json!({})).await;
    let (text, error) = told(&mut it, "count", json!({"key": "left out"})).await;
    let says = "it is not among the tools chosen for the client my ed* (`tools` of [clients.my ed*] in config.toml); to allow \
                it, add its name to that list";
    assert!(error && text.contains(says) && text.contains("was not sent to Unity"), "{text}");
    let status = status(&mut it).await;
    assert_eq!(
        status["tools"]["hidden"]["count"],
        it.parts.link().tools.published.borrow().catalogue.entries().len() - 1
    );
    assert_eq!((status["tools"]["count"].as_u64(), hidden(&status).len()), (Some(1), HIDDEN_TOOLS_SHOWN_MAX));
    let line = "client my ed* has only echo (`tools` of [clients.my ed*] in config.toml)";
    assert_eq!(status["policy"], json!([line]));
    assert_eq!(unity.runs("left out"), 0);
    it.close().await;
    // A more specific section without tools chooses all of them, and another client is not meant.
    for client in ["my editor pro", "another"] {
        let (mut it, unity) = connected(with(Config { policy: chosen(), ..Config::default() }), client).await;
        assert!(listed(&mut it).await.contains(&"count".to_owned()), "{client}");
        it.client.ok("count", json!({"key": client})).await;
        assert_eq!(unity.runs(client), 1);
        it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_choice_for_a_project_holds_there_and_what_the_projects_file_hides_is_announced() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Castle/Assets", "Castle/ProjectSettings"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let project = dunce::canonicalize(folder.path().join("Castle")).unwrap();
    let file: PathBuf = project.join("holdfast.toml");
    let rules = policy(|policy| {
        policy.choose_in_project("castle".to_owned(), patterns(&["echo", "count", "get-logs"]), "config.toml");
        policy.choose_in_project("Other".to_owned(), patterns(&["echo"]), "config.toml");
    });
    let setup = with(Config { project: Some(project), policy: rules, ..Config::default() });
    // The client is told of changed lists.
    let setup = Setup { config: Config { list_changed: Some(true), ..setup.config }, ..setup };
    let host = setup.host.clone();
    let (mut it, unity) = connected(setup, PATIENT).await;
    assert_eq!(listed(&mut it).await, ["count", "echo", "get-logs"]);
    let before = it.client.notifications(LIST_CHANGED).len();

    host.put(&file, "[policy]\ndeny = ['count']\n");
    until("it is read", || it.parts.link().contact.survey.borrow().as_ref().unwrap().rules.found).await;
    it.client.ping().await;
    assert_eq!(it.client.notifications(LIST_CHANGED).len(), before, "the list is as before");
    host.put(&file, "[policy]\ndeny = ['count']\nhide_denied = true\n");
    until("it is announced", || it.client.notifications(LIST_CHANGED).len() == before + 1).await;
    assert_eq!(listed(&mut it).await, ["echo", "get-logs"]);
    let (text, error) = told(&mut it, "count", json!({"key": "hidden"})).await;
    assert!(error && text.contains("holdfast.toml"), "{text}");

    // What cannot be read refuses, and hides nothing: the refusals tell why.
    host.put(&file, "[policy]\nhide_denid = true\n");
    until("it is announced", || it.client.notifications(LIST_CHANGED).len() == before + 2).await;
    assert_eq!(listed(&mut it).await, ["count", "echo", "get-logs"]);
    let (text, error) = told(&mut it, "echo", json!({})).await;
    assert!(error && text.contains("write hide_denied if that is what you mean"), "{text}");
    assert_eq!(unity.runs("hidden"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_of_the_package_can_be_chosen_and_denied() {
    let rules = policy(|policy| {
        policy.allow(patterns(&["@group:scenes", "@group:Editor"]), "--allow");
        policy.deny(patterns(&["clear-console"]), "--deny");
        policy.hide_denied("--hide-denied");
    });
    let folder = tempfile::tempdir().unwrap();
    for name in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let project = dunce::canonicalize(folder.path()).unwrap();
    let setup = with(Config { policy: rules, project: Some(project.clone()), ..Config::default() });
    let setup = Setup { config: Config { ports: Vec::new(), ..setup.config }, ..setup };
    setup.host.set_process(4711, Liveness::Alive);
    setup.host.set_owner(PORT, Owner { pid: 4711, name: "Unity".to_owned(), command_line: Vec::new() });
    let machine = Some(Machine(setup.host.clone()));
    let config =
        FakeUnityConfig { package: Package::that(|facts| facts.journal), project: Some(project), machine, ..editor() };
    let _unity = unity(&setup.net, config).await;
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it.ready().await;
    let tools = listed(&mut it).await;
    assert!(tools.contains(&"get-hierarchy".to_owned()) && tools.contains(&"compile".to_owned()), "{tools:?}");
    let left: Vec<&String> =
        tools.iter().filter(|tool| ["run-tests", "clear-console", "echo"].contains(&tool.as_str())).collect();
    assert!(left.is_empty(), "{tools:?}");
    it.close().await;
}
