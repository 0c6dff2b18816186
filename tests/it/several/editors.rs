//! Several editors in one session: the union of their tools, and calls that name their editor. A call runs in the editor that it
//! names, or nowhere.

use std::path::Path;

use holdfast::core::calls::Surprises;
use holdfast::limits::{EDITORS_SOUGHT_MAX, ROUTE_LOOK_EVERY, TOOLS_WAIT};
use holdfast::platform::host::Host as _;
use holdfast_fake_unity::FakeDialect;
use holdfast_mcp_client::answer::names;

use super::*;

const CHANGED: &str = "notifications/tools/list_changed";
const ARGUMENT: &str = "holdfast_editor";
const META: &str = "dev.holdfast/editor";

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
            assert_eq!((open, surprises), ((0, 0), Surprises::default()), "{:?}", link.place);
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
    scene.editors[0].release();
    assert!(!scene.caller.client.text(&id).await.1);
    assert!(!scene.caller.client.text(&waits).await.1);
    assert_eq!((scene.runs("behind"), scene.runs("gone"), scene.runs("beside")), (vec![1, 0], vec![0, 0], vec![0, 1]));
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_reloads_stays_in_the_list_and_its_call_waits_for_it() {
    let mut scene = Scene::new(2).await;
    let list = scene.caller.list().await;
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.editors[1].reload(Duration::from_secs(3)).await.unwrap();
    let id = scene.caller.client.call("count", json!({"key": "through", ARGUMENT: "Forest"})).await;
    assert_eq!(scene.caller.list().await, list, "a reload changes no list");
    let (text, error) = scene.caller.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!(scene.runs("through"), [0, 1]);
    scene.stage.live(&scene.stage.project(1)).await;
    scene.caller.client.ping().await;
    assert_eq!(scene.caller.client.notifications(CHANGED).len(), heard, "and nobody is told of one");
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_closed_between_list_and_call_is_told_of_and_the_call_goes_to_no_other() {
    let mut scene = Scene::new(3).await;
    let list = scene.caller.list().await;
    assert!(argument(&list, "count")["description"].as_str().unwrap().contains("Forest"));
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    scene.caller.changes(heard + 1).await;
    let told = scene.caller.count_in("Forest", "closed").await;
    refused(&told, &["`Forest` is closed", "no mistake in the call", "open that project", "`Castle` or `Harbour`"]);
    let list = scene.caller.list().await;
    let says = argument(&list, "count")["description"].as_str().unwrap();
    assert!(says.contains("`Castle` or `Harbour`") && !says.contains("Forest"), "{says}");
    // With one editor left nothing must be named, but a name still means that editor only.
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[2].1), Liveness::Dead);
    scene.editors[2].quit().await.unwrap();
    scene.caller.changes(heard + 1).await;
    refused(&scene.caller.count_in("Forest", "closed").await, &["`Forest` is closed", "`Castle`"]);
    refused(&scene.caller.count_in("Harbour", "closed").await, &["`Harbour` is closed"]);
    assert!(!scene.caller.count_in("Castle", "left").await.1);
    assert!(!scene.caller.count("plain").await.1);
    let runs = ["closed", "left", "plain"].map(|key| scene.runs(key));
    assert_eq!(runs, [vec![0, 0, 0], vec![1, 0, 0], vec![1, 0, 0]]);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_told_when_an_editor_appears_and_when_its_tools_change() {
    let mut scene = Scene::new(1).await;
    let alone = scene.caller.list().await;
    assert!(argument(&alone, "count").is_null());
    assert!(!scene.caller.count("before").await.1);
    // A call that was accepted for the only editor stays there when another one appears.
    let id = scene.caller.client.call("hold", json!({})).await;
    until("it runs", || scene.editors[0].stats().running == 1).await;
    let held = scene.caller.client.call("count", json!({"key": "held"})).await;
    scene.caller.client.ping().await;
    scene.editors.push(scene.stage.editor(1).await);
    let mut owner = scene.stage.named(1).await;
    assert!(!owner.count("ready").await.1);
    scene.owners.push(owner);
    scene.caller.changes(1).await;
    scene.stage.live(&scene.stage.project(1)).await;
    let both = scene.caller.list().await;
    assert!(!argument(&both, "count").is_null());
    scene.editors[0].release();
    assert!(!scene.caller.client.text(&id).await.1);
    let (text, error) = scene.caller.client.text(&held).await;
    assert!(!error, "{text}");
    assert_eq!(scene.runs("held"), [1, 0]);
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.editors[1].add_tool("only-in-forest").unwrap();
    scene.editors[1].tools_changed().await.unwrap();
    scene.editors[1].reload(Duration::from_millis(100)).await.unwrap();
    scene.caller.changes(heard + 1).await;
    let list = scene.caller.list().await;
    let says = argument(&list, "only-in-forest")["description"].as_str().unwrap();
    assert!(says.contains("`Forest`") && !says.contains("Castle"), "{says}");
    // A tool of one editor only is not sent to the other, and says so as ever.
    let id = scene.caller.client.call("only-in-forest", json!({"text": "a", ARGUMENT: "Castle"})).await;
    let answer = scene.caller.client.answer(&id).await.value;
    assert!(answer["error"]["message"].as_str().unwrap().contains("nothing was executed"), "{answer}");
    scene.caller.client.ok("only-in-forest", json!({"text": "a", ARGUMENT: "Forest"})).await;
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_means_different_tools_is_listed_for_each_editor_and_leads_to_its_own() {
    let change = |nth: usize, config: FakeUnityConfig| FakeUnityConfig {
        tools: 40,
        schema_bytes: if nth == 1 { 4096 } else { 0 },
        ..config
    };
    let mut scene = Scene::with(Config::default(), 3, change).await;
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
    let change = |_, config| FakeUnityConfig { dialect: FakeDialect::Holdfast, ..config };
    let mut scene = Scene::with(Config::default(), 2, change).await;
    let given = json!({"object": "Cube", "HOLDFAST_EDITOR": "Forest", "at": [1.50, 2]});
    let text = scene.caller.client.ok("place", given).await;
    assert!(text.contains("Cube") && !text.to_lowercase().contains(ARGUMENT), "{text}");
    assert_eq!(scene.editors[1].stats().connections, 1);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_one_project_denies_binds_only_its_editor() {
    let stage = Stage::new();
    stage.deny(0, &["count"]);
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    for nth in [0, 1] {
        caller.list().await;
        stage.live(&stage.project(nth)).await;
    }
    let told = caller.count_in("Castle", "denied").await;
    refused(&told, &["count", "user's decision"]);
    let (text, error) = caller.count_in("Forest", "allowed").await;
    assert!(!error, "{text}");
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("denied"), runs("allowed")), ([0, 0], [0, 1]));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

/// The record names the project of each call, as it does in a session with one editor.
#[tokio::test(start_paused = true)]
async fn the_audit_names_the_project_of_the_editor_that_ran_the_call() {
    let audit = PathBuf::from("/audit.jsonl");
    let mut scene =
        Scene::with(Config { audit: Some(audit.clone()), ..Config::default() }, 2, |_, config| config).await;
    assert!(!scene.caller.count_in("Castle", "a").await.1);
    assert!(!scene.caller.count_in("Forest", "b").await.1);
    refused(&scene.caller.count("c").await, &["several Unity projects fit"]);
    let (stage, session) = (&scene.stage, "claude-code");
    let lines = || {
        let text = String::from_utf8(stage.host.read(&audit, usize::MAX).unwrap_or_default()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line.to_string().contains(session)).collect::<Vec<_>>()
    };
    until("every line is written", || lines().len() == 5).await;
    let of = |event: &str| {
        let lines = lines().into_iter().filter(|line| line["event"] == event);
        lines.map(|line| line["project"].clone()).collect::<Vec<_>>()
    };
    let projects = [0, 1].map(|nth| json!(stage.project(nth)));
    assert_eq!((of("sent"), of("verdict")), (projects.to_vec(), projects.to_vec()), "{:#?}", lines());
    assert_eq!(of("refused"), [json!(null)], "no editor got it");
    scene.end().await;
}

/// No other session works in these projects: the session connects to their editors itself.
#[tokio::test(start_paused = true)]
async fn roots_with_several_projects_lead_to_their_running_editors_and_to_no_other() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await, stage.editor(2).await];
    let mut owner = stage.named(2).await;
    assert!(!owner.count("ready").await.1);
    let began = tokio::time::Instant::now();
    let mut caller = stage.attach(None);
    // This client ignores changes: its first list must be complete.
    caller.client.open_as(UNKNOWN, "2025-06-18", json!({"roots": {}})).await;
    let id = caller.client.request("tools/list", json!({})).await;
    stage.answer_roots(&mut caller, 0, &[stage.project(0), stage.project(1)]).await;
    let list = caller.client.result(&id).await;
    assert!(began.elapsed() < TOOLS_WAIT, "it did not wait in vain: {:?}", began.elapsed());
    let says = argument(&list, "count")["description"].as_str().unwrap();
    assert!(says.contains("`Castle` or `Forest`") && !says.contains("Harbour"), "{says}");
    assert!(!caller.count_in("Castle", "a").await.1);
    assert!(!caller.count_in("Forest", "b").await.1);
    refused(&caller.count_in("Harbour", "c").await, &["not started for", "`Harbour`", "user's decision"]);
    refused(&caller.count("d").await, &["several Unity projects fit", "`Castle` or `Forest`"]);
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!(["a", "b", "c", "d"].map(runs), [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]);
    assert!(stage.parts.links.all().len() <= 3 + 2 + EDITORS_SOUGHT_MAX);
    for caller in [caller, owner] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_project_of_its_own_is_not_led_out_of_it() {
    let mut scene = Scene::new(2).await;
    let mut rooted = scene.stage.rooted_in(&[scene.stage.project(0)]).await;
    for caller in [&mut scene.owners[0], &mut rooted] {
        assert!(!caller.count("own").await.1);
        assert!(!caller.count_in("Castle", "own").await.1, "its own name does no harm");
        let told = caller.count_in("Forest", "other").await;
        refused(&told, &["not started for the Unity project `Forest`", "`Castle`", "user's decision"]);
        refused(&caller.by_meta("count", json!({"key": "other"}), "Forest").await, &["not started for"]);
        let told = caller.told("holdfast_editors").await;
        let of = |name: &str, member: &str| {
            let editors = told["editors"].as_array().unwrap();
            editors.iter().find(|editor| editor["name"] == name).unwrap()[member].clone()
        };
        assert_eq!((of("Castle", "own"), of("Castle", "may_use")), (json!(true), json!(true)), "{told:#}");
        assert_eq!((of("Forest", "own"), of("Forest", "may_use")), (json!(false), json!(false)), "{told:#}");
        // The session that says nothing may use both.
        assert_eq!((of("Castle", "clients"), of("Forest", "clients")), (json!(3), json!(2)), "{told:#}");
    }
    assert_eq!((scene.runs("own"), scene.runs("other")), (vec![4, 0], vec![0, 0]));
    scene.owners.push(rooted);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_project_are_editors_of_their_own_and_a_folder_twice_needs_more_of_its_path() {
    let stage = Stage::new();
    let root = dunce::canonicalize(stage.folder.path()).unwrap();
    let castle = root.join("Castle");
    let places = [
        castle.clone(),
        root.join("Castle_clone_0"),
        castle.join("Library").join("VP").join("mppm1a2b"),
        root.join("demos").join("Castle"),
    ];
    let mut editors = Vec::new();
    let mut owners = Vec::new();
    for (nth, place) in places.iter().enumerate() {
        for part in ["Assets", "ProjectSettings"] {
            std::fs::create_dir_all(place.join(part)).unwrap();
        }
        let port = 8711 + u16::try_from(nth).unwrap();
        editors.push(stage.editor_at(place.clone(), port, |config| config).await);
        let mut owner = stage.attach_to(place.clone());
        owner.client.open().await;
        assert!(!owner.count("ready").await.1, "{}", place.display());
        owners.push(owner);
        stage.live(place).await;
    }
    let mut caller = stage.attach(None);
    caller.client.open_async().await;
    let list = caller.list().await;
    let says = argument(&list, "count")["description"].as_str().unwrap().to_owned();
    let parent = root.file_name().unwrap().to_str().unwrap();
    let all = [format!("{parent}/Castle"), "Castle_clone_0".into(), "mppm1a2b".into(), "demos/Castle".into()];
    for name in &all {
        assert!(says.contains(&format!("`{name}`")), "{name} is not in {says}");
    }
    for (nth, name) in all.iter().enumerate() {
        let (text, error) = caller.count_in(name.as_str(), name).await;
        assert!(!error, "{text}");
        let runs: Vec<u64> = editors.iter().map(|editor| editor.runs(name)).collect();
        assert_eq!(runs, (0..4).map(|other| u64::from(other == nth)).collect::<Vec<_>>(), "{name}");
    }
    refused(&caller.count_in("Castle", "which").await, &["fits several", "`demos/Castle`", &format!("`{}`", all[0])]);
    // One of the two closes. Its name must not come to mean the other one.
    stage.host.set_process(8714, Liveness::Dead);
    editors[3].quit().await.unwrap();
    until("it is gone", || !stage.parts.links.find(&places[3]).unwrap().is_open()).await;
    refused(&caller.count_in("demos/Castle", "which").await, &["`demos/Castle` is closed"]);
    refused(&caller.count_in("Castle", "which").await, &["fits several"]);
    assert!(!caller.count_in(all[0].as_str(), "first").await.1);
    assert!(editors.iter().all(|editor| editor.runs("which") == 0));
    for caller in owners.into_iter().chain([caller]) {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_gateway_tools_speak_of_all_editors_or_of_the_one_that_is_named() {
    let config = Config { state_dir: Some(PathBuf::from("/state")), ..Config::default() };
    let mut scene = Scene::with(config, 3, |_, config| config).await;
    let list = scene.caller.list().await;
    let own = ["holdfast_status", "holdfast_wait_ready", "holdfast_calls"];
    assert!(own.iter().all(|tool| argument(&list, tool)["type"] == "string"));
    assert!(argument(&list, "holdfast_editors").is_null() && argument(&list, "holdfast_result").is_null());
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    until("it is gone", || !scene.stage.parts.links.find(&scene.stage.project(1)).unwrap().is_open()).await;
    let told = scene.caller.told("holdfast_editors").await;
    let of = |list: &Value, name: &str| {
        let list = list.as_array().unwrap();
        list.iter().find(|editor| editor["name"] == name).cloned().unwrap_or_else(|| panic!("{name}: {told:#}"))
    };
    let castle = of(&told["editors"], "Castle");
    assert_eq!((&castle["ready"], &castle["own"], &castle["may_use"]), (&json!(true), &json!(false), &json!(true)));
    assert_eq!(castle["project"], scene.stage.project(0).display().to_string());
    assert_eq!(castle["package"]["dialect"], "uloop");
    assert_eq!(castle["clients"], 2, "its owner and this session");
    assert_eq!(of(&told["closed"], "Forest")["project"], scene.stage.project(1).display().to_string());
    assert_eq!(told["editors"].as_array().unwrap().len(), 2, "{told:#}");

    let status = scene.caller.told("holdfast_status").await;
    let summary = status["summary"].as_str().unwrap();
    assert!(summary.contains("`Castle` (ready), `Harbour` (ready)") && summary.contains(ARGUMENT), "{summary}");
    let status: Value =
        serde_json::from_str(&scene.caller.client.ok("holdfast_status", json!({ARGUMENT: "Harbour"})).await).unwrap();
    assert_eq!(status["project"], scene.stage.project(2).display().to_string());
    let id = scene.caller.client.call("holdfast_wait_ready", json!({})).await;
    let (text, error) = scene.caller.client.text(&id).await;
    assert!(error && text.contains("not executed") && text.contains("`Castle` or `Harbour`"), "{text}");
    let ready = scene.caller.client.ok("holdfast_wait_ready", json!({ARGUMENT: "Castle"})).await;
    assert!(ready.starts_with("Ready") && ready.contains("Castle"), "{ready}");
    scene.end().await;
}

/// An editor that no session of this process has met, with its tools in a file.
#[tokio::test(start_paused = true)]
async fn known_projects_whose_editors_are_closed_are_told_of_from_their_files() {
    let state = PathBuf::from("/state");
    let stage = Stage::with(Config { state_dir: Some(state.clone()), ..Config::default() });
    for nth in [1, 2] {
        let file = holdfast::storage::catalogue_file::CatalogueFile::new(
            &stage.project(nth),
            "turbokettle",
            Some("1.2.3".into()),
            Vec::new(),
        );
        holdfast::storage::catalogue_file::write(&*stage.host, &state, &file).unwrap();
    }
    std::fs::remove_dir_all(stage.project(2).join("Assets")).unwrap();
    let _unity = stage.editor(0).await;
    let mut caller = stage.named(0).await;
    assert!(!caller.count("ready").await.1);
    let told = caller.told("holdfast_editors").await;
    let closed = told["closed"].as_array().unwrap();
    assert_eq!(closed.len(), 1, "a project that is gone is not told of: {told:#}");
    assert_eq!((&closed[0]["name"], &closed[0]["package"]["version"]), (&json!("Forest"), &json!("1.2.3")));
    assert_eq!(told["editors"][0]["name"], "Castle");
    assert!(caller.client.tools().await.contains(&"holdfast_editors".to_owned()));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_union_keeps_to_the_clients_limit_and_names_the_rest_which_can_be_called_all_the_same() {
    let settings = holdfast::config::Config::default();
    let mut scene = Scene::with(settings, 2, |_, config| FakeUnityConfig { tools: 200, ..config }).await;
    let mut caller = scene.stage.attach(None);
    // This client shows its model at most 128 tools.
    caller.client.open_as("Visual Studio Code", "2025-06-18", json!({})).await;
    let list = caller.list().await;
    let listed = names(&list);
    assert_eq!(listed.len(), 128, "{listed:?}");
    assert_eq!(caller.list().await, list);
    let whole = names(&scene.caller.list().await);
    let rest: Vec<&String> = whole.iter().filter(|name| !listed.contains(name)).collect();
    assert_eq!(rest.len(), whole.len() - 128);
    let says = tool(&list, "holdfast_editors")["description"].as_str().unwrap();
    assert!(says.contains(rest[0]) && says.contains(&format!("{} more tools", rest.len())), "{says}");
    let told = caller.told("holdfast_editors").await;
    assert_eq!(told["tools_not_listed"], json!(rest));
    caller.client.ok(rest[0], json!({"text": "unlisted", ARGUMENT: "Forest"})).await;
    scene.owners.push(caller);
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

/// The answer of a call that was sent comes late: its id leads to it, whatever editor it ran in.
#[tokio::test(start_paused = true)]
async fn a_late_result_is_found_in_whatever_editor_it_ran() {
    let config = Config { patience: Some(Duration::from_secs(10)), ..Config::default() };
    let mut scene = Scene::with(config, 2, |_, config| config).await;
    let id = scene.caller.client.call("hold", json!({ARGUMENT: "Forest"})).await;
    let (text, _) = scene.caller.client.text(&id).await;
    assert!(text.starts_with("Still running"), "{text}");
    let call = text.split('"').find_map(holdfast::protocol::ids::CallId::parse).unwrap().to_string();
    scene.editors[1].release();
    let link = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
    until("it ended", || link.calls.ledger(|ledger, _| ledger.counts()) == (0, 0)).await;
    let kept = scene.caller.client.ok("holdfast_result", json!({"call_id": call})).await;
    assert!(kept.contains("Released"), "{kept}");
    // A session that is bound to the other project does not get it.
    let id = scene.owners[0].client.call("holdfast_result", json!({"call_id": call})).await;
    assert!(scene.owners[0].client.text(&id).await.0.contains("on record"));
    scene.end().await;
}

/// The roots are searched again only after a while, and the choice follows what runs in between.
#[tokio::test(start_paused = true)]
async fn of_several_projects_in_the_roots_the_last_one_that_runs_is_the_sessions_own() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    caller.list().await;
    for nth in [0, 1] {
        stage.live(&stage.project(nth)).await;
    }
    refused(&caller.count("none").await, &["several Unity projects fit"]);
    stage.host.set_process(u32::from(PROJECTS[0].1), Liveness::Dead);
    editors[0].quit().await.unwrap();
    until("it is gone", || !stage.parts.links.find(&stage.project(0)).unwrap().is_open()).await;
    refused(&caller.count_in("Castle", "closed").await, &["`Castle` is closed", "`Forest`"]);
    tokio::time::sleep(ROUTE_LOOK_EVERY).await;
    let (text, error) = caller.count("left").await;
    assert!(!error, "{text}");
    assert_eq!(["none", "closed", "left"].map(|key| editors[1].runs(key)), [0, 0, 1]);
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

/// While an editor reloads, only the other one's port is open. That makes the other one no session's own.
#[tokio::test(start_paused = true)]
async fn of_several_projects_in_the_roots_one_that_reloads_still_counts() {
    let stage = Stage::new();
    stage.host.look_at(&stage.net);
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    caller.list().await;
    for nth in [0, 1] {
        stage.live(&stage.project(nth)).await;
    }
    let list = caller.list().await;
    let away = ROUTE_LOOK_EVERY * 6;
    editors[0].reload(away).await.unwrap();
    for nth in 0..3 {
        tokio::time::sleep(ROUTE_LOOK_EVERY).await;
        refused(&caller.count(&format!("none {nth}")).await, &["several Unity projects fit", "`Castle` or `Forest`"]);
        assert_eq!(caller.list().await, list);
    }
    let (text, error) = caller.count_in("Castle", "waits").await;
    assert!(!error, "{text}");
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("waits"), runs("none 0"), runs("none 2")), ([1, 0], [0, 0], [0, 0]));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_started_again_lists_and_reaches_the_same() {
    let mut scene = Scene::new(2).await;
    let list = scene.caller.list().await;
    for round in 0..3 {
        scene.caller.session.client.actor.get().unwrap().kill();
        let key = format!("again {round}");
        // The call may meet the end of the actor: then it says so, and was not sent.
        until("a new actor", || {
            let actor = scene.caller.session.client.actor.get();
            actor.is_some_and(|actor| actor.get_status() == ractor::ActorStatus::Running)
        })
        .await;
        assert!(!scene.caller.count_in("Forest", &key).await.1);
        assert_eq!(scene.caller.list().await, list);
        assert_eq!(scene.runs(&key), [0, 1]);
    }
    scene.end().await;
}

/// A link that fails too often is closed. That is no mistake of the call, and no other editor gets the name.
#[tokio::test(start_paused = true)]
async fn an_editor_whose_link_failed_is_reached_by_its_name_through_a_new_one() {
    let mut scene = Scene::new(3).await;
    let lost = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
    // Only the session that names it in its calls uses it.
    let owner = scene.owners.remove(1);
    assert_eq!(owner.close().await, ShutdownReason::InputEnded);
    while scene.stage.parts.links.all().iter().any(|open| open.id == lost.id) {
        if let Some(actor) = lost.addresses.bridge.get() {
            actor.kill();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused(&scene.caller.count("none").await, &["several Unity projects fit", "`Castle` or `Harbour`"]);
    let (text, error) = scene.caller.count_in("Forest", "again").await;
    assert!(!error, "{text}");
    assert_eq!((scene.runs("again"), scene.runs("none")), (vec![0, 1, 0], vec![0, 0, 0]));
    scene.stage.live(&scene.stage.project(1)).await;
    let list = scene.caller.list().await;
    assert!(argument(&list, "count")["description"].as_str().unwrap().contains("`Castle` or `Forest` or `Harbour`"));
    scene.end().await;
}
