//! Several editors in one session: the union of their tools, and calls that name their editor. A call runs in the editor that it
//! names, or nowhere.

mod bounds;
mod changes;
mod own_tools;

use std::path::Path;

use holdfast::core::calls::Surprises;
use holdfast::limits::{EDITORS_SOUGHT_MAX, ROUTE_LOOK_EVERY, TOOLS_WAIT};
use holdfast::platform::host::Host as _;
use holdfast::protocol::policy::Toolset;
use holdfast_fake_unity::Package;
use holdfast_mcp_client::answer::names;

use super::*;

const CHANGED: &str = "notifications/tools/list_changed";
const ARGUMENT: &str = "holdfast_editor";
const META: &str = "dev.holdfast/editor";

/// All tools are listed at first.
fn all() -> Vec<Toolset> {
    vec![Toolset::parse("all").unwrap()]
}

/// A stage with editors that are connected because other sessions work in their projects, and a session that says nothing.
struct Scene {
    stage: Stage,
    editors: Vec<FakeUnity>,
    owners: Vec<Caller>,
    caller: Caller,
}

impl Scene {
    async fn new(count: usize) -> Self {
        Self::with(Config::default(), count, |_, config| config).await
    }

    async fn with(config: Config, count: usize, change: impl Fn(usize, FakeUnityConfig) -> FakeUnityConfig) -> Self {
        let stage = Stage::with(config);
        let (mut editors, mut owners) = (Vec::new(), Vec::new());
        for nth in 0..count {
            editors.push(stage.editor_with(nth, |config| change(nth, config)).await);
            let mut owner = stage.named(nth).await;
            assert!(!owner.count("ready").await.1);
            stage.live(&stage.project(nth)).await;
            owners.push(owner);
        }
        let mut caller = stage.attach(None);
        caller.client.open_async().await;
        Self { stage, editors, owners, caller }
    }

    /// How often each editor counted the key.
    fn runs(&self, key: &str) -> Vec<u64> {
        self.editors.iter().map(|editor| editor.runs(key)).collect()
    }

    async fn end(self) {
        for caller in self.owners.into_iter().chain([self.caller]) {
            assert_eq!(caller.close().await, ShutdownReason::InputEnded);
        }
        for link in self.stage.parts.links.all() {
            let (open, surprises) = link.calls.ledger(|ledger, _| (ledger.counts(), ledger.surprises().clone()));
            assert_eq!((open, surprises), ((0, 0), Surprises::default()), "{:?}", link.destination);
        }
        self.stage.end().await;
    }
}

impl Stage {
    /// Waits until the live list of a project's editor is published.
    async fn live(&self, project: &Path) {
        until("a live list", || {
            let link = self.parts.links.find(project);
            link.is_some_and(|link| {
                link.tools.published.borrow().source == holdfast::fsm::registry::Source::Live && !link.is_settling()
            })
        })
        .await;
    }

    async fn rooted_in(&self, folders: &[PathBuf]) -> Caller {
        let mut caller = self.rooted().await;
        self.answer_roots(&mut caller, 0, folders).await;
        caller
    }
}

impl Caller {
    async fn list(&mut self) -> Value {
        let id = self.client.request("tools/list", json!({})).await;
        self.client.result(&id).await
    }

    /// Calls `count` with the editor's name in the argument.
    async fn count_in(&mut self, editor: impl Into<Value>, key: &str) -> (String, bool) {
        let id = self.client.call("count", json!({"key": key, ARGUMENT: editor.into()})).await;
        self.client.text(&id).await
    }

    /// Calls a tool with the editor's name in `_meta`.
    async fn by_meta(&mut self, tool: &str, arguments: Value, editor: impl Into<Value>) -> (String, bool) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {META: editor.into()}});
        let id = self.client.request("tools/call", params).await;
        self.client.text(&id).await
    }

    async fn told(&mut self, tool: &str) -> Value {
        serde_json::from_str(&self.client.ok(tool, json!({})).await).unwrap()
    }

    async fn changes(&mut self, count: usize) {
        until("a changed list", || self.client.notifications(CHANGED).len() >= count).await;
    }
}

fn tool<'a>(list: &'a Value, name: &str) -> &'a Value {
    let tools = list["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not in {:?}", names(list)))
}

fn argument<'a>(list: &'a Value, name: &str) -> &'a Value {
    &tool(list, name)["inputSchema"]["properties"][ARGUMENT]
}

fn refused(told: &(String, bool), words: &[&str]) {
    let (text, error) = told;
    assert!(*error && text.starts_with("Not executed: ") && text.contains("was not sent to Unity"), "{text}");
    assert!(!text.contains("--project"), "that option is not the fix here: {text}");
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_union_is_listed_and_each_call_runs_in_the_editor_that_it_names() {
    let mut scene = Scene::new(3).await;
    let list = scene.caller.list().await;
    let alone = scene.owners[0].list().await;
    let mut expected = names(&alone);
    expected.sort();
    let mut listed = names(&list);
    listed.sort();
    assert_eq!(listed, expected, "the same package: each tool once");
    assert_eq!(argument(&list, "count")["type"], "string");
    let says = argument(&list, "count")["description"].as_str().unwrap();
    assert!(says.contains("`Castle` or `Forest` or `Harbour`"), "{says}");
    assert!(!tool(&list, "count")["inputSchema"]["required"].to_string().contains(ARGUMENT), "it is optional");
    assert!(argument(&alone, "count").is_null(), "a session with a project has no choice");
    assert_eq!(scene.caller.list().await, list, "the list is the same each time");

    for (nth, name) in ["Castle", "Forest", "Harbour"].into_iter().enumerate() {
        let (text, error) = scene.caller.count_in(name, name).await;
        assert!(!error, "{text}");
        let (text, error) = scene.caller.by_meta("count", json!({"key": format!("meta {name}")}), name).await;
        assert!(!error, "{text}");
        let only: Vec<u64> = (0..3).map(|other| u64::from(other == nth)).collect();
        assert_eq!((scene.runs(name), scene.runs(&format!("meta {name}"))), (only.clone(), only));
    }
    let path = scene.stage.project(1).display().to_string();
    assert!(!scene.caller.count_in(path, "by path").await.1);
    assert_eq!(scene.runs("by path"), [0, 1, 0]);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_say_for_certain_which_editor_it_means_runs_nowhere() {
    let mut scene = Scene::new(2).await;
    let both = ["`Castle`", "`Forest`"];
    let caller = &mut scene.caller;
    refused(
        &caller.count("none").await,
        &["several Unity projects fit", "mistake in the call", ARGUMENT, both[0], both[1]],
    );
    for left_out in [json!(null), json!("")] {
        refused(&caller.count_in(left_out, "none").await, &["several Unity projects fit"]);
    }
    refused(&caller.count_in("Frost", "none").await, &["`Frost`", "Did you mean `Forest`?", both[0], both[1]]);
    refused(&caller.count_in("castle", "none").await, &["`castle`", "Did you mean `Castle`?"]);
    refused(&caller.count_in(7, "none").await, &["as a text"]);
    refused(&caller.by_meta("count", json!({"key": "none"}), json!(["Castle"])).await, &["as a text"]);
    let twice = caller.by_meta("count", json!({"key": "none", ARGUMENT: "Castle"}), "Forest").await;
    refused(&twice, &["two Unity Editors", both[0], both[1]]);
    // Both places may name the same editor.
    assert!(!caller.by_meta("count", json!({"key": "same", ARGUMENT: "Castle"}), "Castle").await.1);
    assert_eq!((scene.runs("none"), scene.runs("same")), (vec![0, 0], vec![1, 0]));
    let calls = scene.caller.told("holdfast_calls").await;
    let verdicts: Vec<&str> =
        calls["calls"].as_array().unwrap().iter().filter_map(|call| call["verdict"].as_str()).collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "not_executed").count(), 8, "{calls:#}");
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_one_editor_waits_for_that_one_and_the_other_goes_on() {
    let mut scene = Scene::new(2).await;
    let id = scene.caller.client.call("hold", json!({ARGUMENT: "Castle"})).await;
    until("it runs", || scene.editors[0].stats().running == 1).await;
    assert!(!scene.caller.count_in("Forest", "beside").await.1);
    let waits = scene.caller.client.call("count", json!({"key": "behind", ARGUMENT: "Castle"})).await;
    let gone = scene.caller.client.call("count", json!({"key": "gone", ARGUMENT: "Castle"})).await;
    scene.caller.client.cancel(&gone).await;
    scene.caller.client.ping().await;
    assert!(scene.caller.client.answered(&waits).is_none());
    let queue = scene.caller.told("holdfast_status").await["queue"].clone();
    assert_eq!(
        (&queue["held"], &queue["running"], &queue["busy_with"]["tool"]),
        (&1.into(), &1.into(), &"hold".into())
    );
    scene.editors[0].release();
    assert!(!scene.caller.client.text(&id).await.1);
    assert!(!scene.caller.client.text(&waits).await.1);
    assert_eq!((scene.runs("behind"), scene.runs("gone"), scene.runs("beside")), (vec![1, 0], vec![0, 0], vec![0, 1]));
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_means_different_tools_is_listed_for_each_editor_and_leads_to_its_own() {
    let change = |nth: usize, config: FakeUnityConfig| FakeUnityConfig {
        tools: 40,
        schema_bytes: if nth == 1 { 4096 } else { 0 },
        ..config
    };
    let mut scene = Scene::with(Config { toolsets: all(), ..Config::default() }, 3, change).await;
    let list = scene.caller.list().await;
    let listed = names(&list);
    let suffixed: Vec<&String> = listed.iter().filter(|name| name.ends_with("_Forest")).collect();
    let [forest] = suffixed.as_slice() else { panic!("one tool differs: {listed:?}") };
    let plain = forest.trim_end_matches("_Forest");
    for name in ["Castle", "Forest", "Harbour"] {
        let listed = tool(&list, &format!("{plain}_{name}"));
        assert!(listed["description"].as_str().unwrap().contains(&format!("`{name}`")), "{listed}");
        assert!(listed["inputSchema"]["properties"][ARGUMENT].is_null(), "its name says which editor is meant");
        let called = format!("{plain}_{name}");
        scene.caller.client.ok(&called, json!({"text": name})).await;
        scene.caller.client.ok(&called, json!({"text": name, ARGUMENT: name})).await;
        scene.caller.client.ok(plain, json!({"text": name, ARGUMENT: name})).await;
    }
    assert!(!listed.contains(&plain.to_owned()));
    let id = scene.caller.client.call(forest, json!({"text": "x", ARGUMENT: "Castle"})).await;
    refused(&scene.caller.client.text(&id).await, &["two Unity Editors"]);
    let id = scene.caller.client.call(plain, json!({"text": "x"})).await;
    refused(&scene.caller.client.text(&id).await, &["several Unity projects fit"]);
    let calls = scene.caller.told("holdfast_calls").await;
    let editors = |name: &str| {
        let calls = calls["calls"].as_array().unwrap().iter();
        calls.filter(|call| call["editor"] == name && call["tool"] == plain).count()
    };
    assert_eq!(["Castle", "Forest", "Harbour"].map(editors), [3, 3, 3], "{calls:#}");
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_argument_is_taken_out_before_the_call_is_sent() {
    let change = |_, config| FakeUnityConfig { package: Package::that(|facts| facts.journal), ..config };
    let mut scene = Scene::with(Config::default(), 2, change).await;
    let given = json!({"object": "Cube", "HOLDFAST_EDITOR": "Forest", "at": [1.50, 2]});
    let text = scene.caller.client.ok("place", given).await;
    assert!(text.contains("Cube") && !text.to_lowercase().contains(ARGUMENT), "{text}");
    assert_eq!(scene.editors[1].stats().connections, 1);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_handshake_it_is_the_same() {
    let mut scene = Scene::new(2).await;
    let mut caller = scene.stage.attach(None);
    let by = |mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        params
    };
    let id = caller.client.request("tools/list", by(json!({}))).await;
    let list = caller.client.result(&id).await;
    assert_eq!(list["tools"], scene.caller.list().await["tools"]);
    let call = |key: &str| json!({"name": "count", "arguments": {"key": key}});
    let mut named = call("meta");
    named["_meta"][META] = json!("Forest");
    let mut argued = call("argument");
    argued["arguments"][ARGUMENT] = json!("Castle");
    for params in [named, argued] {
        let id = caller.client.request("tools/call", by(params)).await;
        let (text, error) = caller.client.text(&id).await;
        assert!(!error, "{text}");
    }
    let id = caller.client.request("tools/call", by(call("none"))).await;
    refused(&caller.client.text(&id).await, &["several Unity projects fit"]);
    assert_eq!(["meta", "argument", "none"].map(|key| scene.runs(key)), [[0, 1], [1, 0], [0, 0]]);
    scene.owners.push(caller);
    scene.end().await;
}
