//! A cause is named only if there is evidence for it. The tests check what the status, progress, answers and metrics say about a
//! frozen editor, a dialog, a crash, a cut connection and a reload, in every dialect.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::PathBuf;
use std::time::Duration;

use crate::support::scrape::Scrape;
use crate::support::{Gateway, PATIENT, PORT, Setup, UNKNOWN, editor, gateway, unity};
use holdfast::config::Config;
use holdfast::limits::{HOLD_MAX, HOLD_WITHOUT_EVIDENCE, LIKELY_AFTER_CRASH, LIKELY_AFTER_LOSS};
use holdfast::net::Net as _;
use holdfast::platform::host::{Caller, Liveness, Owner};
use holdfast_fake_unity::{Call, FakeUnity, FakeUnityConfig, Machine, PACKAGES, Package, PackageVersion, Port, Task};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep};

/// The process ids of the editor and of its successor.
const PIDS: [u32; 2] = [4711, 4712];
/// How long the editor is observed during an episode. Afterwards it is observed for twice as long.
const EPISODE: Duration = Duration::from_secs(30);
/// Pause between two observations of the whole state.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A package, in a version that differs in its behaviour from the others.
#[derive(Clone, Copy)]
struct Row {
    package: &'static Package,
    version: PackageVersion,
}

impl Row {
    /// Each package in its newest version, and in the oldest one that announces nothing if the newest one does.
    fn all() -> Vec<Self> {
        let mut rows = Vec::new();
        for package in PACKAGES {
            let announces = |version: &PackageVersion| (package.facts.announces)(*version);
            let older = package.facts.versions.iter().copied().find(|version| !announces(version));
            rows.extend(older.filter(|_| announces(&package.newest())).map(|version| Self { package, version }));
            rows.push(Self { package, version: package.newest() });
        }
        rows
    }

    /// The package that remembers what became of calls.
    fn with_a_journal() -> Self {
        let package = Package::that(|facts| facts.journal);
        Self { package, version: package.newest() }
    }

    /// A package that announces nothing in this version, and does in its newest one.
    fn silent() -> Self {
        let all = Self::all();
        *all.iter().find(|row| row.version != row.package.newest()).expect("an older version")
    }

    /// The newest version of that package.
    fn told() -> Self {
        let package = Self::silent().package;
        Self { package, version: package.newest() }
    }

    fn name(self) -> String {
        format!("{} {}", self.package.name, self.version)
    }

    /// The port that its files name, or the default port in its code.
    fn port(self) -> u16 {
        if self.package.facts.port == Port::Told { self.package.facts.default_ports[0] } else { PORT }
    }

    /// Whether its reloads are recognised as reloads with certainty.
    fn tells_of_reloads(self) -> bool {
        self.tells_of_quits() || self.package.facts.shows_reloads
    }

    /// Whether it announces that it quits, so that a process that ended without the announcement has crashed.
    fn tells_of_quits(self) -> bool {
        (self.package.facts.announces)(self.version)
    }
}

/// What happens to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Episode {
    Freeze,
    Dialog,
    Crash,
    /// Its connections end without a message, and the editor still runs.
    Cut,
    Reload,
}

/// An editor with its project, a gateway, and all observations.
struct Stage {
    it: Gateway,
    unity: FakeUnity,
    row: Row,
    project: PathBuf,
    _folder: tempfile::TempDir,
    /// Causes, headlines, heartbeats and foreign peers that the status has shown.
    seen: Vec<String>,
    /// Failures found so far.
    wrong: Vec<String>,
}

impl Stage {
    async fn set(row: Row) -> Self {
        Self::set_for(row, PATIENT).await
    }

    async fn set_for(row: Row, client: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Assets", "ProjectSettings"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let project = dunce::canonicalize(folder.path()).unwrap();
        let metrics = Some(([127, 0, 0, 1], 9464).into());
        let setup = Setup::default();
        let config = Config { project: Some(project.clone()), ports: Vec::new(), metrics, push: true, ..setup.config };
        let setup = Setup { config, ..setup };
        for pid in PIDS {
            setup.host.set_process(pid, Liveness::Alive);
        }
        let unity = Self::start(row, &project, &setup, PIDS[0]).await;
        let mut it = gateway(setup);
        it.client.open_as(client, "2025-06-18", json!({})).await;
        it.ready().await;
        Self { it, unity, row, project, _folder: folder, seen: Vec::new(), wrong: Vec::new() }
    }

    async fn start(row: Row, project: &std::path::Path, setup: &Setup, pid: u32) -> FakeUnity {
        let config = Self::config(row, project, Machine(setup.host.clone()), pid);
        Self::own(&setup.host, row, pid);
        unity(&setup.net, config).await
    }

    fn config(row: Row, project: &std::path::Path, machine: Machine, pid: u32) -> FakeUnityConfig {
        FakeUnityConfig {
            port: row.port(),
            package: row.package,
            package_version: row.version,
            // No released version of uLoopMCP has a push channel.
            push: row.package.facts.journal,
            project: Some(project.to_path_buf()),
            machine: Some(machine),
            pid: Some(pid),
            seed: u64::from(pid),
            ..editor()
        }
    }

    /// Tells the simulated system which process owns the editor's ports, including those that a package which changes its port
    /// can get.
    fn own(host: &crate::support::host::MemoryHost, row: Row, pid: u32) {
        let owner = Owner { pid, name: "holdfast".to_owned(), command_line: vec!["holdfast".to_owned()] };
        for port in [row.port()].into_iter().chain(40_000..40_020) {
            host.set_owner(port, owner.clone());
        }
        host.set_caller(None, Caller::Process(owner));
    }

    async fn again(&mut self) {
        Self::own(&self.it.host, self.row, PIDS[1]);
        let config = Self::config(self.row, &self.project, Machine(self.it.host.clone()), PIDS[1]);
        self.unity = unity(&self.it.net, config).await;
    }

    fn a_call(&self, task: Task) -> Call {
        (self.row.package.call)(task, "x", self.row.version)
    }

    /// Observes the status for `span`, and records what it shows. It is a failure if, after 2 s, the editor is called ready while
    /// `call` is sent and not answered.
    async fn look(&mut self, span: Duration, call: Option<&Value>) {
        let began = Instant::now();
        while began.elapsed() < span {
            let parts = &self.it.parts;
            let status = holdfast::actors::editors::snapshot(&parts.seat(&parts.client));
            let editor = &status["editor"];
            for said in [
                &status["summary"],
                &editor["why"],
                &editor["pulse"]["says"],
                &editor["stranger"],
                &editor["still"]["says"],
                &editor["last_loss"]["why"],
                &editor["last_loss"]["cause"],
            ] {
                if let Some(said) = said.as_str() {
                    self.seen.push(said.to_owned());
                }
            }
            let open = call.filter(|id| self.it.client.answered(id).is_none());
            let summary = status["summary"].as_str().unwrap();
            let sent = status["calls"]["open"].as_array().unwrap().iter().any(|call| call["state"] == "sent");
            if open.is_some() && sent && began.elapsed() > Duration::from_secs(2) {
                let ticked = editor["ready"] == true && editor["still"].is_null();
                if ticked || summary.contains("ready") {
                    self.wrong.push(format!("{:?}: a call stands still, and it says {summary:?}", began.elapsed()));
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// All texts that were shown, to check their wording.
    fn said(&self) -> Vec<String> {
        let progress = self.it.client.notifications("notifications/progress").into_iter();
        let progress = progress.map(|line| line.value["params"]["message"].as_str().unwrap_or_default().to_owned());
        let texts = self.it.client.lines().into_iter().filter_map(|line| {
            line.value["result"]["content"][0]["text"].as_str().filter(|text| !text.starts_with('{')).map(str::to_owned)
        });
        let mut said: Vec<String> = self.seen.iter().cloned().chain(progress).chain(texts).collect();
        said.sort();
        said.dedup();
        said
    }

    async fn play(row: Row, episode: Episode, task: Task) -> Vec<String> {
        let mut stage = Self::set(row).await;
        // First a steady connection: the gateway treats the loss of a new connection differently.
        sleep(Duration::from_secs(6)).await;
        match episode {
            Episode::Freeze => stage.unity.freeze(),
            Episode::Dialog => stage.unity.modal(true),
            Episode::Crash | Episode::Cut | Episode::Reload => {}
        }
        let Call { tool, arguments, .. } = stage.a_call(task);
        match episode {
            Episode::Crash => {
                stage.it.host.set_process(PIDS[0], Liveness::Dead);
                stage.it.host.disown(stage.row.port());
                stage.unity.crash().await.unwrap();
            }
            Episode::Cut => stage.it.net.cut(),
            Episode::Reload => stage.unity.reload(Duration::from_secs(3)).await.unwrap(),
            Episode::Freeze | Episode::Dialog => {}
        }
        let call = stage.it.client.call_with_progress(tool, arguments, "p").await;
        let asked = Instant::now();
        stage.look(EPISODE, Some(&call)).await;
        if episode == Episode::Crash {
            stage.judge_the_held(&call, asked).await;
        }
        match episode {
            Episode::Freeze => stage.unity.thaw(),
            Episode::Dialog => stage.unity.modal(false),
            Episode::Crash => stage.again().await,
            Episode::Cut | Episode::Reload => {}
        }
        stage.look(EPISODE * 2, None).await;
        stage.it.client.answer(&call).await;
        stage.it.ready().await;
        let id = stage.it.client.call("holdfast_wait_ready", json!({})).await;
        let (text, failed) = stage.it.client.text(&id).await;
        if failed {
            stage.wrong.push(format!("it is over, and the editor is not ready: {text}"));
        }
        stage.judge(episode);
        let Self { it, wrong, .. } = stage;
        it.close().await;
        wrong
    }

    /// Checks a call to a crashed editor that was not started again: it must have been refused soon after the crash.
    async fn judge_the_held(&mut self, call: &Value, asked: Instant) {
        let Some(answer) = self.it.client.answered(call) else {
            return self.wrong.push(format!("{}: a call for an editor that is gone is not answered", self.row.name()));
        };
        let took = answer.at - asked;
        if took > LIKELY_AFTER_CRASH + HOLD_WITHOUT_EVIDENCE + Duration::from_secs(1) {
            self.wrong.push(format!("{}: it is answered after {took:?}", self.row.name()));
        }
        let (text, failed) = self.it.client.text(call).await;
        if !failed || !(text.contains("process has ended") || text.contains("process ended")) {
            self.wrong.push(format!("{}: {text}", self.row.name()));
        }
    }

    fn judge(&mut self, episode: Episode) {
        let said = self.said();
        let scrape = Scrape::of(&self.it.parts);
        let count = |result| scrape.sum("holdfast_unity_reloads_total", &[("result", result)]);
        let counted = [count("completed"), count("presumed"), count("not_returned")];
        let measured = scrape.sum("holdfast_unity_reload_duration_seconds_count", &[]);
        let says = |word: &str| said.iter().any(|said| said.to_lowercase().contains(word));
        let mut wrong = Vec::new();
        let mut must = |good: bool, what: &str| {
            if !good {
                wrong.push(what.to_owned());
            }
        };
        must(!says("somebody else"), "the editor is called somebody else");
        match episode {
            Episode::Freeze | Episode::Dialog | Episode::Crash => {
                must(!says("reload"), "a reload is told");
                must(counted == [0.0; 3] && measured == 0.0, "a reload is counted");
            }
            Episode::Cut => {
                let hedged = said.iter().filter(|said| said.contains("reload")).all(|said| said.contains("probably"));
                must(hedged, "a reload is told as if it were known");
                must(counted[0] == 0.0 && counted[2] == 0.0 && measured == 0.0, "a reload is counted");
            }
            Episode::Reload if self.row.tells_of_reloads() => {
                must(counted == [1.0, 0.0, 0.0] && measured == 1.0, "the reload is not counted");
            }
            Episode::Reload => {
                must(counted == [0.0, 1.0, 0.0] && measured == 0.0, "it is not counted as a reload that is presumed");
                let told = !self.row.package.facts.results || says("probably for a domain reload");
                must(told, "what most likely happened is not told");
            }
        }
        match episode {
            Episode::Freeze => must(!says("crash") && !says("closed"), "a frozen editor is told to be gone"),
            Episode::Dialog => {
                must(!says("crash") && !says("lost"), "an editor with a dialog is told to be gone");
            }
            Episode::Crash => {
                must(
                    says(if self.row.tells_of_quits() { "crashed" } else { "process has ended" }),
                    "the crash is not told",
                );
            }
            Episode::Cut | Episode::Reload => must(!says("crash"), "a living editor is told to have crashed"),
        }
        let told = format!("{} {episode:?}: counted {counted:?}, measured {measured}; said {said:#?}", self.row.name());
        self.wrong.extend(wrong);
        if !self.wrong.is_empty() {
            self.wrong.push(told);
        }
    }
}

/// Runs an episode on every dialect, and reports all failures together.
async fn on_every_dialect(episode: Episode) {
    let only = std::env::var("ROW").ok();
    let mut wrong = Vec::new();
    for row in Row::all().into_iter().filter(|row| only.as_deref().is_none_or(|only| row.name() == only)) {
        // One call that may be answered beside the main thread, or be sent again, and one that may not.
        for task in [Task::Look, Task::Count] {
            wrong.extend(Stage::play(row, episode, task).await);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_editor_is_silent_and_nothing_else() {
    on_every_dialect(Episode::Freeze).await;
}

#[tokio::test(start_paused = true)]
async fn a_dialog_is_an_editor_that_stands_still() {
    on_every_dialect(Episode::Dialog).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_a_crash_where_the_package_says_goodbye_and_a_process_that_is_gone_elsewhere() {
    on_every_dialect(Episode::Crash).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_under_a_living_editor_is_no_known_reload() {
    on_every_dialect(Episode::Cut).await;
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_known_where_the_package_tells_and_presumed_elsewhere() {
    on_every_dialect(Episode::Reload).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_is_held_for_an_editor_that_is_started_again_at_once() {
    for row in Row::all() {
        let mut stage = Stage::set(row).await;
        sleep(Duration::from_secs(6)).await;
        stage.it.host.set_process(PIDS[0], Liveness::Dead);
        stage.unity.crash().await.unwrap();
        let Call { tool, arguments, .. } = stage.a_call(Task::Count);
        let call = stage.it.client.call(tool, arguments).await;
        sleep(Duration::from_secs(5)).await;
        assert!(stage.it.client.answered(&call).is_none(), "{}: it was not held", row.name());
        stage.again().await;
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed, "{}: {text}", row.name());
        stage.it.close().await;
    }
}

/// Two reloads within a frame leave uLoopMCP v0.30.1 without its bridge. The process still runs, and nothing announces
/// when it listens again.
#[tokio::test(start_paused = true)]
async fn a_bridge_that_never_comes_back_is_a_bridge_that_does_not_listen() {
    let mut stage = Stage::set(Row::silent()).await;
    sleep(Duration::from_secs(6)).await;
    stage.unity.reload(Duration::from_secs(3)).await.unwrap();
    stage.unity.rst().await.unwrap();
    let call = stage.it.client.call("echo", json!({"text": "x"})).await;
    let asked = Instant::now();
    stage.look(Duration::from_secs(5), None).await;
    assert!(stage.seen.iter().any(|said| said == "bridge_stopped"), "{:?}", stage.seen);
    sleep(LIKELY_AFTER_LOSS).await;
    stage.seen.clear();
    stage.look(Duration::from_secs(5), None).await;
    assert!(!stage.seen.iter().any(|said| said.contains("reload")), "{:?}", stage.seen);
    assert!(stage.seen.iter().any(|said| said == "bridge_down"), "{:?}", stage.seen);
    let (text, failed) = stage.it.client.text(&call).await;
    assert!(failed && text.contains("its bridge did not listen"), "{text}");
    assert!(asked.elapsed() <= HOLD_MAX + Duration::from_secs(1), "{:?}", asked.elapsed());
    Scrape::of(&stage.it.parts).is("holdfast_unity_reloads_total", &[], 0.0);
    stage.it.close().await;
}

/// Any program on this machine can send a push message, and uLoopMCP's messages have no secret.
#[tokio::test(start_paused = true)]
async fn a_forged_push_message_makes_no_held_call_be_refused() {
    for row in [Row::silent(), Row::told()] {
        let name = row.name();
        for forged in ["UNITY_SHUTDOWN", "USER_DISCONNECT"] {
            let mut stage = Stage::set(row).await;
            sleep(Duration::from_secs(6)).await;
            let port = stage.it.parts.link().contact.push_port().unwrap();
            let mut socket = stage.it.net.connect(port).await.unwrap();
            let line = json!({"type": forged, "timestamp": "", "payload": {"reason": {"type": forged, "message": ""}}});
            socket.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            stage.unity.reload(Duration::from_secs(3)).await.unwrap();
            // The forged message once more, now that the gateway knows of the reload.
            socket.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            let call = stage.it.client.call("echo", json!({"text": "x"})).await;
            stage.look(Duration::from_secs(2), None).await;
            assert!(!stage.seen.iter().any(|said| said == "closed"), "{name}, {forged}: {:?}", stage.seen);
            let (text, failed) = stage.it.client.text(&call).await;
            assert!(!failed, "{name}, {forged}: {text}");
            stage.it.close().await;
        }
    }
}

/// Returns the last progress message of a call, and its answer.
async fn told_of(stage: &mut Stage, call: &Value) -> (String, String) {
    let progress = stage.it.client.notifications("notifications/progress");
    let message = progress.last().map(|line| line.value["params"]["message"].as_str().unwrap().to_owned());
    (message.unwrap_or_default(), stage.it.client.text(call).await.0)
}

#[tokio::test(start_paused = true)]
async fn a_dialog_that_is_known_is_told_with_each_call_that_it_keeps() {
    let mut stage = Stage::set_for(Row::with_a_journal(), UNKNOWN).await;
    sleep(Duration::from_secs(6)).await;
    stage.unity.modal(true);
    sleep(Duration::from_secs(20)).await;
    let sent = stage.it.client.call_with_progress("compile", json!({}), "p").await;
    sleep(Duration::from_secs(20)).await;
    let progress = stage.it.client.notifications("notifications/progress");
    let message = progress.last().unwrap().value["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("sent to Unity, no answer yet; Unity: its main thread") && message.contains("dialog"),
        "{message}"
    );
    // A call that waits behind it.
    let held = stage.it.client.call("compile", json!({})).await;
    let (text, _) = stage.it.client.text(&held).await;
    assert!(text.starts_with("Not executed") && text.contains("`compile` (call "), "{text}");
    assert!(text.contains("main thread") && text.contains("dialog"), "{text}");
    let (_, text) = told_of(&mut stage, &sent).await;
    assert!(text.starts_with("Still running") && text.contains("most likely a dialog is open"), "{text}");
    assert!(!text.contains("It may be compiling"), "{text}");
    stage.unity.modal(false);
    stage.it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_a_crash_made_unknown_is_told_with_the_crash() {
    let crashed = "Unity crashed or was killed before it answered";
    for (row, says) in [(Row::with_a_journal(), crashed), (Row::silent(), "Outcome unknown")] {
        let name = row.name();
        let mut stage = Stage::set(row).await;
        sleep(Duration::from_secs(6)).await;
        let call = stage.it.client.call("hold", json!({})).await;
        // Not at the moment of the next look at the process, which would hear of its end before the connection does.
        sleep(Duration::from_millis(1500)).await;
        stage.it.host.set_process(PIDS[0], Liveness::Dead);
        stage.unity.crash().await.unwrap();
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(failed && text.contains(says), "{name}: {text}");
        stage.it.close().await;
    }
}

/// A connection that ends under a living editor is no crash.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_a_cut_connection_made_unknown_is_told_without_a_crash() {
    let mut stage = Stage::set(Row::silent()).await;
    sleep(Duration::from_secs(6)).await;
    let call = stage.it.client.call("hold", json!({})).await;
    sleep(Duration::from_secs(2)).await;
    stage.it.net.cut();
    let (text, failed) = stage.it.client.text(&call).await;
    assert!(failed && text.contains("the connection to Unity ended before it answered"), "{text}");
    stage.it.close().await;
}

/// The connection stays, and the editor says that it runs no call: only its journal has the answer.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_on_a_connection_that_stays_is_fetched_from_the_journal() {
    let mut stage = Stage::set(Row::with_a_journal()).await;
    stage.unity.lose_answer();
    let began = Instant::now();
    let lost = stage.it.client.call("count", json!({"key": "lost"})).await;
    let behind = stage.it.client.call("count", json!({"key": "behind"})).await;
    for call in [&lost, &behind] {
        let (text, failed) = stage.it.client.text(call).await;
        assert!(!failed, "{text}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((stage.unity.runs("lost"), stage.unity.runs("behind")), (1, 1));
    stage.it.close().await;
}
