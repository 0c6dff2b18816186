//! Several clients and several editors in one process. Each call is sent to the editor of its own session's project or to
//! none, and a failure of one session or link does not affect the others.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod editors;
mod rules;
mod storm;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast::actors::parts::Parts;
use holdfast::config::Config;
use holdfast::core::ShutdownReason;
use holdfast::core::link::RESTING;
use holdfast::fsm::cause::Availability;
use holdfast::link::Link;
use holdfast::platform::host::{Liveness, Owner};
use holdfast::protocol::hub::SessionRules;
use holdfast::transport::several::{OpenSession, Several};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::host::MemoryHost;
use crate::support::net::MemoryNet;
use crate::support::sabotage::Sabotage;
use crate::support::{self, PATIENT, UNKNOWN, editor, file_uri, until, within};

/// Folders of Unity projects, and the port of each project's editor.
const PROJECTS: [(&str, u16); 3] = [("Castle", 8701), ("Forest", 8702), ("Harbour", 8703)];
/// Number of the gateway's own tools in a session that may use several editors.
const OWN: usize = 5;

/// Kills the bridge of a link until the link rests.
async fn until_it_rests(link: &Link) {
    until("the link rests", || {
        let rests = link.contact.view.borrow().state == RESTING;
        if let Some(actor) = link.addresses.bridge.get().filter(|_| !rests) {
            actor.kill();
        }
        rests
    })
    .await;
}

/// A gateway for several clients.
struct Stage {
    folder: tempfile::TempDir,
    net: Arc<MemoryNet>,
    host: Arc<MemoryHost>,
    parts: Arc<Parts>,
    sabotage: Sabotage,
    several: Several<Sabotage>,
}

/// A client of the gateway.
struct Caller {
    client: Client,
    session: OpenSession,
}

impl Stage {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        support::quiet_sabotage();
        let folder = tempfile::tempdir().unwrap();
        for (name, _) in PROJECTS {
            for part in ["Assets", "ProjectSettings"] {
                std::fs::create_dir_all(folder.path().join(name).join(part)).unwrap();
            }
        }
        let (net, host, sabotage) = (MemoryNet::new(), MemoryHost::new(), Sabotage::default());
        let parts = Parts::new(Config { seed: Some(7), ..config }, net.clone(), host.clone());
        let several = Several::start(parts.clone(), sabotage.clone());
        Self { folder, net, host, parts, sabotage, several }
    }

    fn project(&self, nth: usize) -> PathBuf {
        dunce::canonicalize(self.folder.path()).unwrap().join(PROJECTS[nth].0)
    }

    /// Starts the editor of a project.
    async fn editor(&self, nth: usize) -> FakeUnity {
        self.editor_with(nth, |config| config).await
    }

    async fn editor_with(&self, nth: usize, change: impl FnOnce(FakeUnityConfig) -> FakeUnityConfig) -> FakeUnity {
        self.editor_at(self.project(nth), PROJECTS[nth].1, change).await
    }

    /// Starts an editor of the project in this folder.
    async fn editor_at(
        &self,
        project: PathBuf,
        port: u16,
        change: impl FnOnce(FakeUnityConfig) -> FakeUnityConfig,
    ) -> FakeUnity {
        let pid = u32::from(port);
        let command_line = ["Unity", "-projectPath", project.to_str().unwrap()].map(str::to_owned).to_vec();
        self.host.set_owner(port, Owner { pid, name: "Unity".into(), command_line });
        self.host.set_process(pid, Liveness::Alive);
        let machine = Some(Machine(self.host.clone()));
        let config =
            FakeUnityConfig { port, pid: Some(pid), project: Some(project), machine, seed: pid.into(), ..editor() };
        support::unity(&self.net, change(config)).await
    }

    /// Connects a client over pipes of `pipe` bytes. Its session is started for `project`, if there is one.
    fn attach_over(&self, project: Option<usize>, pipe: usize) -> Caller {
        self.attach_for(project.map(|nth| self.project(nth)), pipe)
    }

    fn attach_for(&self, project: Option<PathBuf>, pipe: usize) -> Caller {
        self.attach_with(SessionRules { project, ..self.parts.env.config.session_rules() }, pipe)
    }

    /// Connects a client over pipes of `pipe` bytes. Its session brings these rules.
    fn attach_with(&self, rules: SessionRules, pipe: usize) -> Caller {
        let (input, to_input) = tokio::io::duplex(pipe);
        let (output, from_output) = tokio::io::duplex(pipe);
        let config = Arc::new(self.parts.env.config.of_session(rules));
        let session = self.several.attach(config, input, output).unwrap();
        Caller { client: Client::new(to_input, from_output), session }
    }

    fn attach(&self, project: Option<usize>) -> Caller {
        let mut caller = self.attach_over(project, 1 << 20);
        caller.client.read();
        caller
    }

    /// Connects a client whose session is started for the project in this folder.
    fn attach_to(&self, project: PathBuf) -> Caller {
        let mut caller = self.attach_for(Some(project), 1 << 20);
        caller.client.read();
        caller
    }

    /// Writes rules into a project that forbid these tools.
    fn deny(&self, nth: usize, tools: &[&str]) {
        let rules = format!("[policy]\ndeny = {}\n", json!(tools));
        self.host.put(self.project(nth).join("holdfast.toml"), rules);
    }

    /// Connects a client and opens its session for this project.
    async fn named(&self, nth: usize) -> Caller {
        let mut caller = self.attach(Some(nth));
        caller.client.open().await;
        caller
    }

    /// Connects a client that declares roots, and opens its session. It has not answered `roots/list` yet.
    async fn rooted(&self) -> Caller {
        let mut caller = self.attach(None);
        caller.client.open_as(PATIENT, "2025-06-18", json!({"roots": {"listChanged": true}})).await;
        caller
    }

    /// Answers the `roots/list` request with the index `nth` with these folders.
    async fn answer_roots(&self, caller: &mut Caller, nth: usize, folders: &[PathBuf]) {
        until("roots/list", || caller.client.notifications("roots/list").len() > nth).await;
        let id = caller.client.notifications("roots/list")[nth].value["id"].clone();
        let roots: Vec<Value> = folders.iter().map(|folder| json!({"uri": file_uri(folder)})).collect();
        caller.client.line(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}).to_string()).await;
    }

    /// Ends everything, and checks that no session or link is left.
    async fn end(self) {
        within("the end", self.several.end()).await;
        assert!(!self.parts.env.health.has_failed_task());
        assert_eq!(self.parts.sessions.all().len(), 1, "only that of stdin and stdout, which nobody uses");
        assert_eq!(self.parts.links.all().len(), 1);
    }
}

impl Caller {
    async fn count(&mut self, key: &str) -> (String, bool) {
        let id = self.client.call("count", json!({"key": key})).await;
        self.client.text(&id).await
    }

    async fn why(&mut self) -> ShutdownReason {
        within("its end", self.session.ended.wait_for(Option::is_some)).await.unwrap().unwrap()
    }

    /// Ends the client's session as a client does, by closing stdin.
    async fn close(mut self) -> ShutdownReason {
        self.client.close_stdin().await;
        let why = self.why().await;
        self.client.ended().await;
        self.client.check();
        why
    }
}

#[tokio::test(start_paused = true)]
async fn each_session_reaches_the_editor_of_its_project_by_name_and_by_roots() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut named = stage.named(0).await;
    let mut rooted = stage.rooted().await;
    stage.answer_roots(&mut rooted, 0, &[stage.project(1)]).await;
    let mut same = stage.named(1).await;
    for (caller, key) in [(&mut named, "a"), (&mut rooted, "b"), (&mut same, "c")] {
        let (text, error) = caller.count(key).await;
        assert!(!error, "{key}: {text}");
    }
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("a"), runs("b"), runs("c")), ([1, 0], [0, 1], [0, 1]));
    assert_eq!(editors.each_ref().map(|editor| editor.stats().connections), [1, 1], "one link for each project");
    assert!(named.client.tools().await.contains(&"echo".to_owned()));
    for caller in [named, rooted, same] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_says_nothing_gets_the_only_editor_and_of_two_the_candidates() {
    let stage = Stage::new();
    let first = stage.editor(0).await;
    let mut silent = stage.attach(None);
    silent.client.open().await;
    let (text, error) = silent.count("nobody").await;
    assert!(error && text.starts_with("Not executed"), "nothing runs that anybody is connected to: {text}");
    let mut named = stage.named(0).await;
    assert!(!named.count("named").await.1);
    let (text, error) = silent.count("only").await;
    assert!(!error, "{text}");
    // With a second editor the choice would be a guess. The session's project is chosen again for each request, so the call
    // is refused.
    let second = stage.editor(1).await;
    let mut other = stage.named(1).await;
    assert!(!other.count("other").await.1);
    let (text, error) = silent.count("which").await;
    assert!(error && text.starts_with("Not executed") && text.contains("Castle") && text.contains("Forest"), "{text}");
    assert_eq!(["nobody", "only", "which"].map(|key| first.runs(key) + second.runs(key)), [0, 1, 0]);
    let status: Value = serde_json::from_str(&silent.client.ok("holdfast_status", json!({})).await).unwrap();
    assert_eq!(status["candidates"].as_array().unwrap().len(), 2, "{status:#}");
    // It may use both, so their tools are listed; which one is meant is for each call to say.
    assert_eq!(silent.client.tools().await.len(), other.client.tools().await.len());
    assert!(other.client.tools().await.len() > OWN);
    let id = silent.client.call("count", json!({"key": "named", "holdfast_editor": "Forest"})).await;
    assert!(!silent.client.text(&id).await.1);
    assert_eq!(second.runs("named"), 1);
    for caller in [silent, named, other] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_roots_hold_no_project_never_gets_a_strangers_editor() {
    let stage = Stage::new();
    let unity = stage.editor(0).await;
    let mut named = stage.named(0).await;
    assert!(!named.count("named").await.1);
    let empty = tempfile::tempdir().unwrap();
    let mut rooted = stage.rooted().await;
    // This call is made before the client's roots are known: it waits for them, and is refused because they name no project.
    let early = rooted.client.call("count", json!({"key": "early"})).await;
    stage.answer_roots(&mut rooted, 0, &[empty.path().to_path_buf()]).await;
    let (text, error) = rooted.client.text(&early).await;
    assert!(error && text.starts_with("Not executed") && text.contains("Castle"), "{text}");
    // A client that declares roots and never answers has not said that it has no roots.
    let mut mute = stage.rooted().await;
    let (text, error) = mute.count("mute").await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert_eq!(["early", "mute"].map(|key| unity.runs(key)), [0, 0]);
    for caller in [named, rooted, mute] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_roots_change_goes_elsewhere_and_what_it_held_is_refused() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted().await;
    stage.answer_roots(&mut caller, 0, &[stage.project(0)]).await;
    assert!(!caller.count("here").await.1);
    let mut neighbour = stage.named(0).await;
    let running = neighbour.client.call("hold", json!({})).await;
    until("the call runs", || editors[0].stats().running == 1).await;
    let held = caller.client.call("count", json!({"key": "held"})).await;
    caller.client.ping().await;
    caller.client.notify("notifications/roots/list_changed", json!({})).await;
    stage.answer_roots(&mut caller, 1, &[stage.project(1)]).await;
    let (text, error) = caller.client.text(&held).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert!(!caller.count("there").await.1);
    assert!(neighbour.client.answered(&running).is_none(), "another session's call goes on");
    editors[0].release();
    assert!(!neighbour.client.text(&running).await.1);
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("here"), runs("held"), runs("there")), ([1, 0], [0, 0], [0, 1]));
    for caller in [caller, neighbour] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

/// The client has not sent its roots yet, so its calls do not belong to a link.
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_their_link_have_a_bound_of_their_bytes() {
    let stage = Stage::new();
    let editor = stage.editor(0).await;
    let mut caller = stage.rooted().await;
    let text = "x".repeat(7 * 1024 * 1024);
    let mut ids = Vec::new();
    for key in ["first", "second", "third"] {
        ids.push(caller.client.call("count", json!({"key": key, "text": text})).await);
    }
    let (refused, error) = caller.client.text(&ids[2]).await;
    assert!(error && refused.starts_with("Not executed: busy") && refused.contains("16 MiB"), "{refused}");
    stage.answer_roots(&mut caller, 0, &[stage.project(0)]).await;
    for id in &ids[..2] {
        let (text, _) = caller.client.text(id).await;
        assert!(!text.contains("busy"), "{text}");
    }
    assert!(!caller.count("after").await.1, "what was answered takes no room any more");
    assert_eq!(editor.runs("third"), 0);
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_fails_too_often_ends_alone_and_a_link_rests_alone() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut bad = stage.named(0).await;
    let mut good = stage.named(0).await;
    let mut far = stage.named(1).await;
    for (caller, key) in [(&mut bad, "bad"), (&mut good, "good"), (&mut far, "far")] {
        assert!(!caller.count(key).await.1, "{key}");
    }
    // Kills the session until even its last rebuild has failed.
    while bad.session.ended.borrow().is_none() {
        if let Some(actor) = bad.session.client.actor.get() {
            actor.kill();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(bad.why().await, ShutdownReason::Exhausted);
    bad.client.ended().await;
    bad.client.check();
    assert!(!good.count("still").await.1);
    let link = stage.parts.links.of(&good.session.client);
    until_it_rests(&link).await;
    assert!(!far.count("untouched").await.1);
    until("it is back", || link.contact.view.borrow().availability == Availability::Open).await;
    let (text, error) = good.count("again").await;
    assert!(!error, "{text}");
    assert_eq!((editors[0].runs("again"), editors[1].runs("untouched")), (1, 1));
    for caller in [good, far] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_stops_no_other_and_loses_nothing() {
    let stage = Stage::with(Config { state_dir: Some(PathBuf::from("/state")), ..Config::default() });
    let _unity = stage.editor(0).await;
    let mut deaf = stage.attach_over(Some(0), 1 << 10);
    let mut other = stage.named(0).await;
    assert!(!other.count("first").await.1);
    deaf.client.request("initialize", holdfast_mcp_client::line::handshake(UNKNOWN, "2025-06-18", json!({}))).await;
    deaf.client.notify("notifications/initialized", json!({})).await;
    let mut asked = Vec::new();
    for _ in 0..8 {
        asked.push(deaf.client.call("big", json!({"n": 4 << 20})).await);
    }
    until("its answers fill what it may have waiting", || deaf.session.client.outbox.is_blocked()).await;
    assert!(deaf.session.client.outbox.is_blocked());
    let held = stage.parts.links.of(&deaf.session.client);
    until("all are answered", || held.calls.ledger(|ledger, _| ledger.counts()) == (0, 0)).await;
    assert!(!other.count("second").await.1, "its answers are read while the other's wait");
    deaf.client.read();
    let (mut whole, mut filed) = (0, 0);
    for id in asked {
        let (text, _) = deaf.client.text(&id).await;
        if text.len() > 1 << 20 { whole += 1 } else { filed += 1 }
    }
    assert!(whole >= 2 && filed >= 2, "{whole} were sent, {filed} were put into files");
    for caller in [deaf, other] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_session_had_sent_goes_on_without_it_and_what_it_held_does_not() {
    let stage = Stage::new();
    let unity = stage.editor(0).await;
    let mut leaver = stage.named(0).await;
    let running = leaver.client.call("hold", json!({})).await;
    until("the call runs", || unity.stats().running == 1).await;
    let held = leaver.client.call("count", json!({"key": "held"})).await;
    leaver.client.ping().await;
    let mut stays = stage.named(0).await;
    let waits = stays.client.call("count", json!({"key": "waits"})).await;
    leaver.client.close_stdin().await;
    assert_eq!(leaver.why().await, ShutdownReason::InputEnded);
    let (text, error) = leaver.client.text(&held).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    let (text, _) = leaver.client.text(&running).await;
    let id = text
        .split_whitespace()
        .find_map(|word| holdfast::protocol::ids::CallId::parse(word.trim_matches(|c: char| !c.is_ascii_hexdigit())));
    let id = id.unwrap_or_else(|| panic!("no call id: {text}"));
    unity.release();
    assert!(!stays.client.text(&waits).await.1, "the editor's place is free when that call ends, not before");
    let kept = stays.client.ok("holdfast_result", json!({"call_id": id.to_string()})).await;
    assert!(kept.contains("Released"), "{kept}");
    assert_eq!((unity.runs("held"), unity.runs("waits")), (0, 1));
    assert_eq!(stays.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}
