//! A call runs only in the project that it is for, even if the client's roots arrive late, change, or match several projects.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast::config::Config;
use holdfast::config::started_by::StartedBy;
use holdfast::limits::{ROOTS_WAIT, SURVEY_MAX, TOOLS_WAIT};
use holdfast::platform::host::{Liveness, Owner};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Gateway, PATIENT, Setup, editor, gateway, unity, until};

const CASTLE: u16 = 8701;
const OTHER: u16 = 8702;

/// A client's answer to `roots/list`.
#[derive(Debug, Clone, Copy)]
enum Roots<'a> {
    Are(&'a [&'a str]),
    Error,
    Never,
}

/// All answers after which a gateway that was started in the folder of the project "Castle" keeps that project.
const THE_CASTLE_STAYS: [Roots; 4] = [Roots::Are(&["Castle"]), Roots::Error, Roots::Are(&[]), Roots::Never];

/// A folder with two Unity projects, and how often the gateway's client has answered `roots/list`.
struct Stage {
    folder: tempfile::TempDir,
    gateway: Gateway,
    answered: usize,
}

impl Stage {
    /// Starts a gateway in this project's folder, or in no particular folder if it is `None`.
    fn started_in(project: Option<&str>) -> Self {
        Self::with(|folder| Config { working_dir: project.map(|name| folder.join(name)), ..Config::default() })
    }

    fn with(config: impl FnOnce(&Path) -> Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup { config: Config { seed: Some(7), ..config(folder.path()) }, ..Setup::default() };
        let stage = Self { folder, gateway: gateway(setup), answered: 0 };
        ["Castle", "Other"].iter().for_each(|name| stage.make(name));
        stage
    }

    /// Creates a Unity project.
    fn make(&self, name: &str) {
        for part in ["Assets", "ProjectSettings"] {
            std::fs::create_dir_all(self.folder.path().join(name).join(part)).unwrap();
        }
    }

    fn project(&self, name: &str) -> PathBuf {
        let folder = dunce::canonicalize(self.folder.path()).unwrap();
        name.split('/').fold(folder, |path, part| path.join(part))
    }

    /// Starts an editor of this project.
    async fn editor_of(&self, name: &str, port: u16) -> FakeUnity {
        self.editor_with(name, FakeUnityConfig { port, ..editor() }).await
    }

    async fn editor_with(&self, name: &str, config: FakeUnityConfig) -> FakeUnity {
        let port = config.port;
        let project = self.project(name);
        let pid = u32::from(port);
        let command_line = ["Unity", "-projectPath", project.to_str().unwrap()].map(str::to_owned).to_vec();
        let host = &self.gateway.host;
        host.set_owner(port, Owner { pid, name: "Unity".into(), command_line });
        host.set_process(pid, Liveness::Alive);
        let machine = Some(Machine(host.clone()));
        let config = FakeUnityConfig { pid: Some(pid), project: Some(project), machine, seed: pid.into(), ..config };
        unity(&self.gateway.net, config).await
    }

    async fn open(&mut self) {
        self.gateway.client.open_as(PATIENT, "2025-06-18", json!({"roots": {"listChanged": true}})).await;
    }

    /// Answers the next `roots/list` with these projects.
    async fn answer_roots(&mut self, projects: &[&str]) {
        self.answer_roots_with(Roots::Are(projects)).await;
    }

    async fn answer_roots_with(&mut self, answer: Roots<'_>) {
        let nth = self.answered;
        self.answered += 1;
        let client = &mut self.gateway.client;
        until("roots/list", || client.notifications("roots/list").len() > nth).await;
        let id = client.notifications("roots/list")[nth].value["id"].clone();
        let uri = |name: &&str| json!({"uri": crate::support::file_uri(&self.folder.path().join(name))});
        let line = match answer {
            Roots::Are(projects) => {
                let roots: Vec<Value> = projects.iter().map(uri).collect();
                json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}})
            }
            Roots::Error => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no"}}),
            Roots::Never => return,
        };
        client.line(&line.to_string()).await;
    }

    /// Notifies that the client's roots changed, and answers the `roots/list` that follows.
    async fn change_roots(&mut self, projects: &[&str]) {
        self.gateway.client.notify("notifications/roots/list_changed", json!({})).await;
        self.answer_roots(projects).await;
    }

    async fn count(&mut self, key: &str) -> (String, bool) {
        let id = self.gateway.client.call("count", json!({"key": key})).await;
        self.gateway.client.text(&id).await
    }

    /// Waits until the session may use the editors of both projects.
    async fn both_run(&self) {
        let links = &self.gateway.parts.links;
        until("both editors", || links.all().iter().filter(|link| link.running().is_some()).count() == 2).await;
    }

    async fn status(&mut self) -> Value {
        serde_json::from_str(&self.gateway.client.ok("holdfast_status", json!({})).await).unwrap()
    }

    /// Checks that all fields of the status are about the editor of this project on this port.
    async fn is_ready_at(&mut self, project: &str, port: u16) {
        let status = self.status().await;
        let summary = status["summary"].as_str().unwrap();
        assert!(summary.starts_with(&format!("Unity ({project}) is connected")), "{status:#}");
        assert_eq!(status["project"], text(&self.project(project)), "{status:#}");
        assert_eq!(status["editor"]["port"], port, "{status:#}");
    }

    /// Checks that the status names neither this port nor an editor that accepts calls.
    async fn is_not_ready_nor_at(&mut self, port: u16) {
        let status = self.status().await;
        assert_eq!(status["editor"]["ready"], false, "{status:#}");
        assert_ne!(status["editor"]["port"], port, "{status:#}");
        assert!(!status["summary"].as_str().unwrap().contains("is connected"), "{status:#}");
        let id = self.gateway.client.call("holdfast_wait_ready", json!({"timeout_seconds": 0})).await;
        let (text, error) = self.gateway.client.text(&id).await;
        assert!(error && text.starts_with("Not ready"), "{text}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn roots_that_change_lead_the_next_call_to_the_other_project() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    stage.count("first").await;
    assert_eq!(castle.runs("first"), 1);
    stage.is_ready_at("Castle", CASTLE).await;

    stage.gateway.client.notify("notifications/roots/list_changed", json!({})).await;
    // The wanted project is not known now: calls are held in the meantime, and no text says that an editor accepts them.
    let id = stage.gateway.client.call("count", json!({"key": "between"})).await;
    stage.is_not_ready_nor_at(CASTLE).await;
    sleep(Duration::from_millis(300)).await;
    stage.answer_roots(&["Other"]).await;
    let (text, error) = stage.gateway.client.text(&id).await;
    assert!(!error, "{text}");
    for n in 0..5 {
        let (text, error) = stage.count(&format!("later{n}")).await;
        assert!(!error, "{text}");
        assert_eq!((castle.runs(&format!("later{n}")), other.runs(&format!("later{n}"))), (0, 1));
    }
    assert_eq!((castle.runs("between"), other.runs("between")), (0, 1));
    stage.is_ready_at("Other", OTHER).await;

    stage.change_roots(&["Castle"]).await;
    stage.count("back").await;
    assert_eq!((castle.runs("back"), other.runs("back")), (1, 0));
    stage.is_ready_at("Castle", CASTLE).await;
    // The end of a process does not explain the loss: both editors still run.
    let status = stage.status().await;
    assert_eq!(status["editor"]["last_loss"], Value::Null, "{status:#}");
    assert!(!status.to_string().contains("process_gone"), "{status:#}");
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn roots_that_come_later_than_the_connection_win_over_the_folder_it_was_started_in() {
    for late in [0, 50, 300, 1000] {
        let mut stage = Stage::started_in(Some("Castle"));
        let castle = stage.editor_of("Castle", CASTLE).await;
        let other = stage.editor_of("Other", OTHER).await;
        stage.open().await;
        let id = stage.gateway.client.call("count", json!({"key": "early"})).await;
        sleep(Duration::from_millis(late)).await;
        stage.answer_roots(&["Other"]).await;
        let (text, error) = stage.gateway.client.text(&id).await;
        assert!(!error, "{late} ms: {text}");
        stage.count("later").await;
        let runs = |key| (castle.runs(key), other.runs(key));
        assert_eq!((runs("early"), runs("later")), ((0, 1), (0, 1)), "{late} ms");
        stage.is_ready_at("Other", OTHER).await;
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_tells_its_roots_is_served_where_it_was_started() {
    let mut stage = Stage::started_in(Some("Castle"));
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.open().await;
    let (text, error) = stage.count("only").await;
    assert!(!error, "{text}");
    assert_eq!(castle.runs("only"), 1);
    stage.is_ready_at("Castle", CASTLE).await;
    stage.gateway.close().await;
}

/// A client without change notifications never gets another list than its first one.
#[tokio::test(start_paused = true)]
async fn the_first_list_of_a_client_that_never_tells_its_roots_is_whole() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut stage = Stage::started_in(Some("Castle"));
        let busy = FakeUnityConfig { port: CASTLE, tick: Duration::from_millis(200), ..editor() };
        let _castle = stage.editor_with("Castle", busy).await;
        let roots = json!({"roots": {"listChanged": true}});
        stage.gateway.client.open_as("a client that nobody knows", version, roots).await;
        let asked = Instant::now();
        let tools = stage.gateway.client.tools().await;
        assert!(tools.contains(&"count".to_owned()), "after {:?}: {tools:?}", asked.elapsed());
        assert!(asked.elapsed() < TOOLS_WAIT, "it took {:?}", asked.elapsed());
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_editor_is_found_a_first_list_waits_for_the_roots_and_no_longer() {
    let mut stage = Stage::started_in(Some("Castle"));
    stage.gateway.client.open_as("a client that nobody knows", "2025-06-18", json!({"roots": {}})).await;
    let asked = Instant::now();
    stage.gateway.client.tools().await;
    assert!(asked.elapsed() < ROOTS_WAIT + Duration::from_millis(500), "it took {:?}", asked.elapsed());
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_project_without_an_editor_is_not_served_by_the_former_one() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    stage.change_roots(&["Other"]).await;
    let (text, error) = stage.count("lost").await;
    assert!(error && text.starts_with("Not executed: the project has no Unity package"), "{text}");
    assert_eq!(castle.runs("lost"), 0);
    stage.is_not_ready_nor_at(CASTLE).await;
    let status = stage.status().await;
    assert_eq!(
        (&status["project"], &status["tools"]["count"]),
        (&json!(text_of(&stage, "Other")), &json!(0)),
        "{status:#}"
    );
    assert!(!stage.gateway.client.tools().await.contains(&"count".to_owned()), "those are the former project's tools");
    stage.gateway.close().await;
}

fn text_of(stage: &Stage, name: &str) -> String {
    text(&stage.project(name)).to_owned()
}

#[tokio::test(start_paused = true)]
async fn of_roots_that_fit_two_projects_a_call_names_one() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    stage.change_roots(&["Castle", "Other"]).await;
    stage.both_run().await;
    let (text, error) = stage.count("which").await;
    assert!(error && text.contains("holdfast_editor") && text.contains("`Castle` or `Other`"), "{text}");
    assert_eq!((castle.runs("which"), other.runs("which")), (0, 0));
    for name in ["Castle", "Other"] {
        stage.gateway.client.ok("count", json!({"key": name, "holdfast_editor": name})).await;
    }
    assert_eq!((castle.runs("Castle"), castle.runs("Other")), (1, 0));
    assert_eq!((other.runs("Castle"), other.runs("Other")), (0, 1));
    let editors = stage.gateway.client.ok("holdfast_editors", json!({})).await;
    assert!(["Castle", "Other"].iter().all(|name| editors.contains(&text_of(&stage, name))), "{editors}");
    // What is shown outside of the session tells of both.
    let parts = &stage.gateway.parts;
    let shown = holdfast::actors::editors::snapshot(&parts.seat(&parts.client));
    assert_eq!(
        (&shown["editor"]["ready"], &shown["editors"]),
        (&json!(true), &json!(["Castle", "Other"])),
        "{shown:#}"
    );
    let recent = shown["calls"]["recent"].as_array().unwrap();
    assert_eq!(recent.iter().filter(|call| call["verdict"] == "ok").count(), 2, "{shown:#}");
    stage.change_roots(&["Other"]).await;
    stage.count("this").await;
    assert_eq!((castle.runs("this"), other.runs("this")), (0, 1));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_is_answered_and_holds_up_no_call_for_the_next_project() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    let running = stage.gateway.client.call("hold", json!({})).await;
    until("it runs", || castle.stats().running == 1).await;
    let held = stage.gateway.client.call("count", json!({"key": "of the former"})).await;
    stage.change_roots(&["Other"]).await;
    let (text, error) = stage.count("of the next").await;
    assert!(!error, "{text}");
    // This call arrived while the roots named the other project, and was not sent yet.
    let (text, error) = stage.gateway.client.text(&held).await;
    assert!(error && text.starts_with("Not executed") && text.contains("another project"), "{text}");
    stage.is_ready_at("Other", OTHER).await;
    castle.release();
    let (text, error) = stage.gateway.client.text(&running).await;
    assert!(!error, "{text}");
    assert_eq!((castle.runs("of the next"), other.runs("of the next")), (0, 1));
    assert_eq!((castle.runs("of the former"), other.runs("of the former")), (0, 0));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_former_editor_is_left_once_nobody_waits_for_what_was_sent() {
    for cancelled in [false, true] {
        let mut stage = Stage::started_in(None);
        let castle = stage.editor_of("Castle", CASTLE).await;
        let _other = stage.editor_of("Other", OTHER).await;
        stage.open().await;
        stage.answer_roots(&["Castle"]).await;
        stage.gateway.ready().await;
        let running = stage.gateway.client.call("hold", json!({})).await;
        until("it runs", || castle.stats().running == 1).await;
        stage.change_roots(&["Other"]).await;
        stage.count("of the next").await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(castle.stats().connections, 1, "its answer is still to come");
        if cancelled {
            stage.gateway.client.cancel(&running).await;
        } else {
            castle.release();
            let (text, error) = stage.gateway.client.text(&running).await;
            assert!(!error, "{text}");
        }
        let (links, former) = (Arc::clone(&stage.gateway.parts.links), stage.project("Castle"));
        until("its link is closed", || links.find(&former).is_none()).await;
        castle.release();
        until("the former editor is left", || castle.stats().connections == 0).await;
        assert_eq!(stage.gateway.client.answered(&running).is_none(), cancelled);
        // Back at the former project, it is connected again.
        stage.change_roots(&["Castle"]).await;
        stage.count("back").await;
        assert_eq!(castle.runs("back"), 1);
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_former_projects_editor_lacks_is_asked_of_the_wanted_one() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    let swap = stage.gateway.client.call("swap", json!({})).await;
    assert!(!stage.gateway.client.text(&swap).await.1);
    stage.change_roots(&["Other"]).await;
    stage.gateway.ready().await;
    // The other editor does not have this tool, but the first one has it.
    sleep(Duration::from_secs(2)).await;
    stage.change_roots(&["Castle"]).await;
    let known = stage.gateway.client.call("swapped", json!({"text": "here"})).await;
    let (text, error) = stage.gateway.client.text(&known).await;
    assert!(!error, "{text}");
    drop((castle, other));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_rules_of_the_project_that_is_wanted_hold() {
    let mut stage = Stage::started_in(None);
    let _castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.gateway.host.put(stage.project("Castle").join("holdfast.toml"), "[policy]\ndeny = ['echo']\n");
    stage.gateway.host.put(stage.project("Other").join("holdfast.toml"), "[policy]\ndeny = ['count']\n");
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    stage.change_roots(&["Other"]).await;
    let (text, error) = stage.count("denied").await;
    assert!(error && text.contains("deny \"count\""), "{text}");
    assert_eq!(other.runs("denied"), 0);
    stage.gateway.client.ok("echo", json!({"text": "the former project's rule"})).await;
    let policy = stage.status().await["policy"].to_string();
    assert!(policy.contains("count") && !policy.contains("echo"), "{policy}");
    stage.gateway.close().await;
}

/// Checks that both projects are named, each as a command-line flag, in the answer, the summary and the problems.
async fn is_asked_which(stage: &mut Stage, key: &str) {
    let (text, error) = stage.count(key).await;
    assert!(error && text.starts_with("Not executed: more than one Unity project"), "{text}");
    let status = stage.status().await;
    assert_eq!((&status["project"], &status["editor"]["ready"]), (&Value::Null, &json!(false)), "{status:#}");
    let problems = status["problems"].to_string().replace(r"\\", r"\");
    for told in [&text, status["summary"].as_str().unwrap(), &problems] {
        for name in ["Castle", "Other"] {
            assert!(told.contains(&format!("--project {}", text_of(stage, name))), "{told}");
        }
        assert!(!told.contains("listens"), "a stranger on a port is not the matter: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_below_the_clients_root_is_found() {
    let mut stage = Stage::started_in(None);
    for name in ["mono/unity/deep/Proj", "mono/node_modules/Copy", "mono/a/Library/Copy", "mono/.git/Copy"] {
        stage.make(name);
    }
    let proj = stage.editor_of("mono/unity/deep/Proj", CASTLE).await;
    stage.open().await;
    stage.answer_roots(&["mono"]).await;
    let (text, error) = stage.count("below").await;
    assert!(!error, "{text}");
    assert_eq!(proj.runs("below"), 1);
    let status = stage.status().await;
    assert_eq!(status["project"], text_of(&stage, "mono/unity/deep/Proj"), "{status:#}");
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn where_no_project_is_found_a_call_says_where_it_was_looked_for() {
    let mut stage = Stage::started_in(None);
    std::fs::create_dir_all(stage.folder.path().join("empty")).unwrap();
    stage.open().await;
    stage.answer_roots(&["empty"]).await;
    let (text, error) = stage.count("nowhere").await;
    let says = format!("There is no Unity project in, around or up to 3 levels below {}", text_of(&stage, "empty"));
    assert!(error && text.contains(&says) && text.contains("--project"), "{text}");
    let problems = stage.status().await["problems"].to_string().replace(r"\\", r"\");
    assert!(problems.contains(&says), "{problems}");
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_project_below_the_working_directory_is_found_and_a_root_in_a_project_comes_first() {
    let mut stage = Stage::started_in(Some("mono"));
    stage.make("mono/Proj");
    let proj = stage.editor_of("mono/Proj", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&[]).await;
    stage.count("below").await;
    assert_eq!((proj.runs("below"), other.runs("below")), (1, 0));
    stage.change_roots(&["mono", "Other"]).await;
    stage.count("around").await;
    assert_eq!((proj.runs("around"), other.runs("around")), (0, 1));
    stage.gateway.close().await;
}

/// A gateway that was started in the project "Other", in an environment in which Claude Code names "Castle".
fn started_for_the_castle() -> Stage {
    Stage::with(|folder| Config {
        working_dir: Some(folder.join("Other")),
        started_by: vec![StartedBy {
            label: "claude_code",
            folder: Some(folder.join("Castle")),
            is_in_project: true,
            session: Some("0f6f1c1e".into()),
        }],
        ..Config::default()
    })
}

#[tokio::test(start_paused = true)]
async fn the_folder_that_the_client_named_at_the_start_counts_for_that_client_alone() {
    for (name, runs) in [(PATIENT, (1, 0)), ("opencode", (0, 1))] {
        let mut stage = started_for_the_castle();
        let castle = stage.editor_of("Castle", CASTLE).await;
        let other = stage.editor_of("Other", OTHER).await;
        stage.gateway.client.open_as(name, "2025-06-18", json!({})).await;
        let (text, error) = stage.count("first").await;
        assert!(!error, "{name}: {text}");
        assert_eq!((castle.runs("first"), other.runs("first")), runs, "{name}");
        let told = &stage.status().await["gateway"]["client_session"];
        assert_eq!(told, &if name == PATIENT { json!("0f6f1c1e") } else { Value::Null }, "{name}");
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_root_comes_before_the_folder_that_the_client_named_at_the_start() {
    let mut stage = started_for_the_castle();
    stage.make("Third");
    let castle = stage.editor_of("Castle", CASTLE).await;
    let third = stage.editor_of("Third", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Third"]).await;
    stage.count("root").await;
    assert_eq!((castle.runs("root"), third.runs("root")), (0, 1));
    stage.change_roots(&[]).await;
    stage.count("no root").await;
    assert_eq!((castle.runs("no root"), third.runs("no root")), (1, 0));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn of_several_projects_below_the_one_with_a_running_editor_is_used_and_kept() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.open().await;
    stage.answer_roots(&[""]).await;
    let (text, error) = stage.count("first").await;
    assert!(!error, "{text}");
    assert_eq!(castle.runs("first"), 1);
    stage.is_ready_at("Castle", CASTLE).await;
    // The session keeps this project when another one is opened, and also while the project's editor is away.
    let other = stage.editor_of("Other", OTHER).await;
    castle.reload(Duration::from_secs(2)).await.unwrap();
    stage.count("second").await;
    assert_eq!((castle.runs("second"), other.runs("second")), (1, 0));
    stage.gateway.host.set_process(CASTLE.into(), Liveness::Dead);
    castle.crash().await.unwrap();
    stage.count("third").await;
    assert_eq!((castle.runs("third"), other.runs("third")), (0, 0), "the other project's editor is not asked");
    assert_eq!(stage.status().await["project"], text_of(&stage, "Castle"));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn several_projects_without_one_running_editor_are_a_question() {
    let mut stage = Stage::started_in(None);
    stage.open().await;
    stage.answer_roots(&[""]).await;
    is_asked_which(&mut stage, "nobody").await;
    // The file was left by an editor that crashed; another process has the editor's pid now.
    let pid = u32::from(CASTLE);
    stage
        .gateway
        .host
        .put(stage.project("Castle").join("Library/EditorInstance.json"), format!(r#"{{"process_id":{pid}}}"#));
    stage.gateway.host.set_process(pid, Liveness::Alive);
    is_asked_which(&mut stage, "somebody").await;
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    is_asked_which(&mut stage, "both").await;
    assert_eq!((castle.runs("both"), other.runs("both")), (0, 0));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_starts_answers_the_question_which_project_is_meant() {
    let mut stage = Stage::started_in(None);
    stage.open().await;
    stage.answer_roots(&["Castle", "Other"]).await;
    is_asked_which(&mut stage, "nobody").await;
    let other = stage.editor_of("Other", OTHER).await;
    stage.gateway.ready().await;
    stage.count("open").await;
    assert_eq!(other.runs("open"), 1);
    stage.gateway.close().await;
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_clone_of_a_project_is_a_project_of_its_own() {
    let mut stage = Stage::started_in(None);
    let folder = dunce::canonicalize(stage.folder.path()).unwrap();
    std::fs::create_dir(folder.join("Castle_clone_0")).unwrap();
    for part in ["Assets", "ProjectSettings"] {
        std::os::unix::fs::symlink(folder.join("Castle").join(part), folder.join("Castle_clone_0").join(part)).unwrap();
    }
    let castle = stage.editor_of("Castle", CASTLE).await;
    let clone = stage.editor_of("Castle_clone_0", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle_clone_0"]).await;
    stage.count("cloned").await;
    assert_eq!((castle.runs("cloned"), clone.runs("cloned")), (0, 1));
    stage.is_ready_at("Castle_clone_0", OTHER).await;
    stage.change_roots(&["Castle"]).await;
    stage.count("original").await;
    assert_eq!((castle.runs("original"), clone.runs("original")), (1, 0));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_for_roots_while_it_connects_or_lists_keeps_no_call_back() {
    for answer in THE_CASTLE_STAYS {
        for late in (0..=50).step_by(2) {
            let mut stage = Stage::started_in(Some("Castle"));
            let slow = FakeUnityConfig { port: CASTLE, tick: Duration::from_millis(20), ..editor() };
            let castle = stage.editor_with("Castle", slow).await;
            stage.open().await;
            stage.answer_roots(&["Castle"]).await;
            stage.gateway.ready().await;
            stage.gateway.net.cut();
            sleep(Duration::from_millis(late)).await;
            stage.gateway.client.notify("notifications/roots/list_changed", json!({})).await;
            sleep(Duration::from_millis(25)).await;
            stage.answer_roots_with(answer).await;
            let asked = Instant::now();
            for key in ["one", "two"] {
                let (text, error) = stage.count(key).await;
                assert!(!error && castle.runs(key) == 1, "{answer:?} {late} ms: {text}");
            }
            assert!(
                asked.elapsed() < ROOTS_WAIT + Duration::from_secs(2),
                "{answer:?} {late} ms: {:?}",
                asked.elapsed()
            );
            stage.is_ready_at("Castle", CASTLE).await;
            stage.gateway.close().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_call_waits_for_the_roots_and_no_longer() {
    for answer in THE_CASTLE_STAYS {
        let mut stage = Stage::started_in(Some("Castle"));
        let castle = stage.editor_of("Castle", CASTLE).await;
        // The gateway asks for the roots before the first survey has ended.
        stage.gateway.host.slow(Duration::from_millis(20));
        stage.open().await;
        let asked = Instant::now();
        let id = stage.gateway.client.call("count", json!({"key": "first"})).await;
        sleep(Duration::from_millis(100)).await;
        stage.answer_roots_with(answer).await;
        let (text, error) = stage.gateway.client.text(&id).await;
        assert!(!error && castle.runs("first") == 1, "{answer:?}: {text}");
        let wait = if matches!(answer, Roots::Never) { ROOTS_WAIT } else { Duration::from_millis(100) };
        assert!(asked.elapsed() < wait + Duration::from_millis(500), "{answer:?}: {:?}", asked.elapsed());
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_that_is_out_of_sight_for_a_moment_is_still_the_one() {
    for named in [false, true] {
        let mut stage = Stage::with(|folder| {
            let castle = Some(folder.join("Castle"));
            let (project, working_dir) = if named { (castle, None) } else { (None, castle) };
            Config { project, working_dir, ..Config::default() }
        });
        let castle = stage.editor_of("Castle", CASTLE).await;
        stage.gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
        stage.gateway.ready().await;
        let settings = stage.project("Castle").join("ProjectSettings");
        let aside = stage.project("Castle").join("Aside");
        std::fs::rename(&settings, &aside).unwrap();
        stage.gateway.net.cut();
        let id = stage.gateway.client.call("count", json!({"key": "meanwhile"})).await;
        sleep(Duration::from_millis(500)).await;
        std::fs::rename(&aside, &settings).unwrap();
        let (text, error) = stage.gateway.client.text(&id).await;
        assert!(!error && castle.runs("meanwhile") == 1, "named: {named}: {text}");
        assert!(stage.gateway.client.tools().await.contains(&"count".to_owned()), "named: {named}");
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_answer_is_told_as_that_and_tried_again() {
    let mut stage = Stage::started_in(Some("Castle"));
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.gateway.host.slow(2 * SURVEY_MAX);
    stage.gateway.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let (text, error) = stage.count("hanging").await;
    assert!(error && text.contains("on a disk or share that does not answer"), "{text}");
    stage.gateway.host.slow(Duration::ZERO);
    stage.gateway.ready().await;
    stage.count("answering").await;
    assert_eq!((castle.runs("hanging"), castle.runs("answering")), (0, 1));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_large_result_stays_in_the_project_whose_editor_gave_it() {
    let mut stage = Stage::started_in(None);
    let slow = FakeUnityConfig { port: CASTLE, tick: Duration::from_millis(500), ..editor() };
    let _castle = stage.editor_with("Castle", slow).await;
    let _other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.count("before").await;
    let id = stage.gateway.client.call("big", json!({"n": 7 * 1024 * 1024})).await;
    sleep(Duration::from_millis(50)).await;
    stage.change_roots(&["Other"]).await;
    let (text, error) = stage.gateway.client.text(&id).await;
    let of = |name: &str| stage.project(&format!("{name}/Logs/holdfast/results"));
    assert!(!error && text.contains(of("Castle").to_str().unwrap()), "{}", &text);
    let written = stage.gateway.host.files();
    assert!(!written.iter().any(|file| file.starts_with(of("Other"))), "{written:?}");
    stage.gateway.close().await;
}

/// A client that answers nothing begins anew.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_the_roots_is_answered_if_the_client_opens_its_session_anew_without_any() {
    let mut stage = Stage::started_in(Some("Castle"));
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.open().await;
    let id = stage.gateway.client.call("count", json!({"key": "early"})).await;
    let again =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let opened = stage.gateway.client.request("initialize", again).await;
    stage.gateway.client.result(&opened).await;
    let (text, error) = stage.gateway.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!(castle.runs("early"), 1);
    stage.gateway.close().await;
}

/// Of two projects in the roots, only the editor that does not reload listens. It is not the only one that runs.
#[tokio::test(start_paused = true)]
async fn an_editor_that_reloads_leaves_the_other_one_no_call_that_names_none() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let other = stage.editor_of("Other", OTHER).await;
    castle.reload(Duration::from_secs(3)).await.unwrap();
    stage.open().await;
    stage.answer_roots(&["Castle", "Other"]).await;
    let (text, error) = stage.count("guess").await;
    assert!(error && text.contains("never guesses"), "{text}");
    assert_eq!(text.matches("One of these").count(), 1, "{text}");
    stage.both_run().await;
    // The same roots are told again during another reload.
    castle.reload(Duration::from_secs(3)).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    stage.change_roots(&["Castle", "Other"]).await;
    let (text, error) = stage.count("guess").await;
    assert!(error && text.contains("does not say which"), "{text}");
    stage.gateway.client.ok("count", json!({"key": "named", "holdfast_editor": "Castle"})).await;
    assert_eq!((castle.runs("guess"), other.runs("guess"), castle.runs("named")), (0, 0, 1));
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn editors_that_a_session_had_the_choice_of_are_left_like_a_single_one() {
    for next in [&["Third"][..], &["Castle"], &[]] {
        let mut stage = Stage::started_in(None);
        stage.make("Third");
        let castle = stage.editor_of("Castle", CASTLE).await;
        let other = stage.editor_of("Other", OTHER).await;
        stage.open().await;
        stage.answer_roots(&["Castle", "Other"]).await;
        let (text, _) = stage.count("which").await;
        assert!(text.contains("never guesses"), "{text}");
        stage.both_run().await;
        other.reload(Duration::from_secs(5)).await.unwrap();
        sleep(Duration::from_millis(200)).await;
        let held = json!({"key": "held", "holdfast_editor": "Other"});
        let held = stage.gateway.client.call("count", held).await;
        stage.change_roots(next).await;
        let (text, error) = stage.gateway.client.text(&held).await;
        assert!(error && text.starts_with("Not executed") && text.contains("another project"), "{next:?} {text}");
        let stays = usize::from(next == ["Castle"]);
        let connections = || (castle.stats().connections, other.stats().connections);
        until("the others are left", || connections() == (stays, 0)).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!((connections(), other.runs("held")), ((stays, 0), 0), "{next:?}");
        let (text, error) = stage.count("now").await;
        assert_eq!((error, castle.runs("now")), (stays == 0, stays as u64), "{next:?} {text}");
        stage.gateway.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_once_of_tools_that_come_from_disk_after_its_first_list() {
    let mut stage = Stage::with(|_| Config { state_dir: Some("/state".into()), ..Config::default() });
    let castle = stage.editor_of("Castle", CASTLE).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    let disk = stage.gateway.host.clone();
    until("it is saved", || disk.files().iter().any(|path| path.starts_with("/state"))).await;
    for gone in [false, true] {
        if gone {
            castle.quit().await.unwrap();
        }
        let config = Config { state_dir: Some("/state".into()), seed: Some(8), ..Config::default() };
        let setup =
            Setup { config, net: stage.gateway.net.clone(), host: stage.gateway.host.clone(), ..Setup::default() };
        std::mem::replace(&mut stage.gateway, gateway(setup)).close().await;
        stage.answered = 0;
        let hears = json!({"roots": {"listChanged": true}});
        stage.gateway.client.open_as("mcp-inspector", "2025-06-18", hears).await;
        let first = stage.gateway.client.tools().await;
        assert!(!first.contains(&"count".to_owned()), "{first:?}");
        sleep(Duration::from_millis(500)).await;
        stage.answer_roots(&["Castle"]).await;
        sleep(Duration::from_secs(20)).await;
        let told = stage.gateway.client.notifications("notifications/tools/list_changed").len();
        assert_eq!(told, 1, "{gone}");
        assert!(stage.gateway.client.tools().await.contains(&"count".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn the_late_result_of_a_call_to_a_former_editor_is_fetched_by_its_id() {
    let mut stage = Stage::started_in(None);
    let castle = stage.editor_of("Castle", CASTLE).await;
    let _other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    stage.gateway.ready().await;
    let running = stage.gateway.client.call("hold", json!({})).await;
    until("it runs", || castle.stats().running == 1).await;
    stage.change_roots(&["Other"]).await;
    let (text, _) = stage.gateway.client.text(&running).await;
    assert!(text.starts_with("Still running"), "{text}");
    let id = text.split_whitespace().find(|word| word.len() > 36 && word.contains("-4")).unwrap_or_default();
    let id = id.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    castle.release();
    until("the former editor is left", || castle.stats().connections == 0).await;
    let (text, error) = {
        let asked = stage.gateway.client.call("holdfast_result", json!({"call_id": id})).await;
        stage.gateway.client.text(&asked).await
    };
    assert!(!error && !text.contains("ended as"), "{id}: {text}");
    stage.gateway.close().await;
}

#[tokio::test(start_paused = true)]
async fn actors_are_counted_over_the_end_of_a_former_link() {
    let mut stage = Stage::with(|_| Config { metrics: Some(([127, 0, 0, 1], 0).into()), ..Config::default() });
    let castle = stage.editor_of("Castle", CASTLE).await;
    let _other = stage.editor_of("Other", OTHER).await;
    stage.open().await;
    stage.answer_roots(&["Castle"]).await;
    for next in ["Other", "Castle", "Other"] {
        stage.gateway.ready().await;
        stage.change_roots(&[next]).await;
        stage.count(next).await;
    }
    until("the former editor is left", || castle.stats().connections == 0).await;
    for actor in ["bridge", "discovery", "registry", "push", "link", "session"] {
        assert_eq!(stage.gateway.sabotage.running(actor), 1, "{actor}");
    }
    stage.gateway.close().await;
}
