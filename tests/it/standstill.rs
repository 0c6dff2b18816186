//! What keeps a connected editor from its calls is told: in the status, in the progress of a call, and in its answer. The tests run for
//! each package that has the fact.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Gateway, PATIENT, PORT, Setup, UNKNOWN, editor, gateway, unity};
use holdfast::config::Config;
use holdfast::limits::{FRAME_OLD, LIVENESS_EVERY, MAIN_THREAD_ASKED_EVERY, NO_PROGRESS_AFTER};
use holdfast::platform::host::{Caller, Liveness, Owner};
use holdfast_fake_unity::{Call, FakeUnity, FakeUnityConfig, Machine, PACKAGES, Package, PackageVersion, Port, Task};
use holdfast_net::Net as _;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep};

const PID: u32 = 4711;
/// The question to the main thread is open by then, and its silence is told.
const SEEN: Duration =
    Duration::from_secs(FRAME_OLD.as_secs() + MAIN_THREAD_ASKED_EVERY.as_secs() + 2 * LIVENESS_EVERY.as_secs());

struct Stage {
    it: Gateway,
    unity: FakeUnity,
    package: &'static Package,
    version: PackageVersion,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn set(package: &'static Package, version: PackageVersion, client: &str) -> Self {
        Self::with(package, version, client, |_| {}, |_| {}).await
    }

    /// Sets a stage with an editor that is `made` so, and that the gateway meets `after` that.
    async fn with(
        package: &'static Package,
        version: PackageVersion,
        client: &str,
        made: impl FnOnce(&mut FakeUnityConfig),
        after: impl FnOnce(&FakeUnity),
    ) -> Self {
        Self::on(Setup::default(), package, version, client, made, after).await
    }

    async fn on(
        setup: Setup,
        package: &'static Package,
        version: PackageVersion,
        client: &str,
        made: impl FnOnce(&mut FakeUnityConfig),
        after: impl FnOnce(&FakeUnity),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Assets", "ProjectSettings"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let project: PathBuf = dunce::canonicalize(folder.path()).unwrap();
        // Nobody but the user can name some ports.
        let ports = if package.facts.port == Port::Told { setup.config.ports.clone() } else { Vec::new() };
        let config = Config { project: Some(project.clone()), ports, ..setup.config };
        let setup = Setup { config, ..setup };
        setup.host.set_process(PID, Liveness::Alive);
        let owner = Owner { pid: PID, name: "Unity".to_owned(), command_line: vec!["Unity".to_owned()] };
        setup.host.set_owner(PORT, owner.clone());
        setup.host.set_caller(None, Caller::Process(owner));
        let mut config = FakeUnityConfig {
            port: PORT,
            package,
            package_version: version,
            project: Some(project),
            machine: Some(Machine(setup.host.clone())),
            pid: Some(PID),
            ..editor()
        };
        made(&mut config);
        let unity = unity(&setup.net, config).await;
        after(&unity);
        let mut it = gateway(setup);
        it.client.open_as(client, "2025-06-18", json!({})).await;
        it.ready().await;
        Self { it, unity, package, version, _folder: folder }
    }

    fn status(&self) -> Value {
        let parts = &self.it.parts;
        holdfast::actors::editors::snapshot(&parts.seat(&parts.client))
    }

    fn summary(&self) -> String {
        self.status()["summary"].as_str().unwrap().to_owned()
    }

    async fn begin(&mut self, task: Task, key: &str) -> Value {
        let Call { tool, arguments, .. } = (self.package.call)(task, key, self.version);
        self.it.client.call_with_progress(tool, arguments, "p").await
    }

    fn progress(&self) -> Vec<String> {
        let told = self.it.client.notifications("notifications/progress").into_iter();
        told.map(|line| line.value["params"]["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Whether an editor has one connection, on which it says nothing beside its answer.
fn has_one_connection(package: &Package) -> bool {
    package.facts.one_client || package.facts.dials
}

/// The packages whose main thread is asked, each in the versions in which it is.
fn asked() -> impl Iterator<Item = (&'static Package, PackageVersion)> {
    let of = |package: &'static Package| package.facts.versions.iter().map(move |version| (package, *version));
    PACKAGES
        .iter()
        .copied()
        .flat_map(of)
        .filter(|(package, version)| (package.facts.main_thread_question)(*version).is_some())
}

#[tokio::test(start_paused = true)]
async fn a_main_thread_that_stands_still_is_told_and_no_call_is_sent_behind_the_question() {
    for (package, version) in asked() {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, UNKNOWN).await;
        sleep(SEEN).await;
        assert!(stage.summary().ends_with("is connected: it is ready."), "{name}: {}", stage.summary());
        stage.unity.busy(Duration::from_secs(300));
        sleep(SEEN).await;
        assert!(stage.summary().contains("main thread has stood still for"), "{name}: {}", stage.summary());
        let began = Instant::now();
        let call = stage.begin(Task::Count, "held").await;
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(failed && text.starts_with("Not executed") && text.contains("was not sent"), "{name}: {text}");
        assert!(text.contains("main thread has stood still for"), "{name}: {text}");
        assert!(stage.progress().iter().any(|told| told.contains("main thread has stood still")), "{name}");
        assert!(began.elapsed() < Duration::from_secs(200), "{name}: {:?}", began.elapsed());
        let call = stage.begin(Task::Count, "later").await;
        sleep(Duration::from_secs(1)).await;
        assert!(stage.it.client.answered(&call).is_none() && stage.unity.runs("held") == 0, "{name}");
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_while_the_main_thread_is_asked_is_sent_when_it_answers() {
    for (package, version) in asked() {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, PATIENT).await;
        sleep(SEEN).await;
        stage.unity.busy(SEEN + Duration::from_secs(70));
        sleep(SEEN).await;
        let call = stage.begin(Task::Count, "held").await;
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed && stage.unity.runs("held") == 1, "{name}: {text}");
        sleep(SEEN).await;
        assert!(stage.summary().ends_with("is connected: it is ready."), "{name}: {}", stage.summary());
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_progress_is_told_as_most_likely() {
    for (package, version) in asked().filter(|(package, _)| package.facts.jobs) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, UNKNOWN).await;
        let call = stage.begin(Task::Hold, "x").await;
        sleep(NO_PROGRESS_AFTER + 2 * LIVENESS_EVERY).await;
        let guess = "most likely its main thread is busy or stands still: no progress for";
        assert!(stage.summary().contains(guess), "{name}: {}", stage.summary());
        let (text, _) = stage.it.client.text(&call).await;
        assert!(text.starts_with("Still running") && text.contains(guess), "{name}: {text}");
        assert!(stage.progress().iter().any(|told| told.contains(guess)), "{name}: {:?}", stage.progress());
        stage.unity.release();
        sleep(SEEN).await;
        assert!(stage.summary().ends_with("is connected: it is ready."), "{name}: {}", stage.summary());
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_progress_bar_of_the_editor_is_told_with_a_call_that_waits_for_it() {
    for (package, version) in asked().filter(|(package, _)| package.facts.jobs) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, PATIENT).await;
        // Until a command has run, an import is told as the start of the editor.
        let first = stage.begin(Task::Count, "first").await;
        stage.it.client.text(&first).await;
        let call = stage.begin(Task::Hold, "x").await;
        sleep(Duration::from_secs(1)).await;
        stage.unity.import(Duration::from_secs(100));
        sleep(Duration::from_secs(35)).await;
        let told = stage.progress();
        assert!(told.iter().any(|told| told.contains("Unity: Importing assets, Assets, 3 of 10")), "{name}: {told:?}");
        assert!(!told.iter().any(|told| told.contains("no progress")), "{name}: {told:?}");
        stage.unity.release();
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed, "{name}: {text}");
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dialog_is_told_by_its_title_and_its_buttons() {
    for (package, version) in asked().filter(|(package, version)| (package.facts.names_dialogs)(*version)) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, UNKNOWN).await;
        let shown = "the dialog \"Fake Unity\" (buttons: OK, Cancel) is open in Unity's window";
        // One that opens while a call runs.
        let running = stage.begin(Task::Hold, "x").await;
        sleep(Duration::from_secs(1)).await;
        stage.unity.modal(true);
        sleep(2 * LIVENESS_EVERY).await;
        assert!(stage.summary().contains(shown), "{name}: {}", stage.summary());
        let (text, _) = stage.it.client.text(&running).await;
        assert!(text.starts_with("Still running") && text.contains(shown), "{name}: {text}");
        assert!(stage.progress().iter().any(|told| told.contains(shown)), "{name}: {:?}", stage.progress());
        // One that is open when a call comes.
        stage.unity.modal(false);
        stage.unity.release();
        sleep(SEEN).await;
        stage.unity.modal(true);
        sleep(2 * LIVENESS_EVERY).await;
        let call = stage.begin(Task::Count, "held").await;
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(failed && text.starts_with("Not executed") && text.contains(shown), "{name}: {text}");
        assert_eq!(stage.unity.runs("held"), 0, "{name}");
        stage.unity.modal(false);
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_with_a_dialog_is_not_called_ready_when_it_is_met() {
    for (package, version) in asked().filter(|(package, version)| (package.facts.names_dialogs)(*version)) {
        let name = format!("{} {version}", package.name);
        let stage = Stage::with(package, version, UNKNOWN, |_| {}, |unity| unity.modal(true)).await;
        assert!(stage.summary().contains("the dialog \"Fake Unity\""), "{name}: {}", stage.summary());
        stage.unity.modal(false);
        stage.it.close().await;
    }
}

/// The editor says by itself, while it has a call, how long its main thread has had no frame.
#[tokio::test(start_paused = true)]
async fn a_main_thread_that_stands_still_under_a_call_is_told_by_the_editor() {
    for (package, version) in asked().filter(|(package, _)| !package.facts.jobs && !has_one_connection(package)) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, PATIENT).await;
        stage.unity.busy(Duration::from_secs(62));
        let call = stage.begin(Task::Count, "x").await;
        for _ in 0..30 {
            sleep(Duration::from_secs(1)).await;
            assert!(!stage.summary().contains("not said anything"), "{name}: {}", stage.summary());
        }
        let told = "main thread has been busy with a call for";
        assert!(stage.summary().contains(told), "{name}: {}", stage.summary());
        assert!(stage.progress().iter().any(|said| said.contains(told)), "{name}: {:?}", stage.progress());
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed && stage.unity.runs("x") == 1, "{name}: {text}");
        sleep(SEEN).await;
        assert!(stage.summary().ends_with("is connected: it is ready."), "{name}: {}", stage.summary());
        stage.it.close().await;
    }
}

/// One file tells how such work ends, for all of them.
#[tokio::test(start_paused = true)]
async fn work_is_not_answered_with_the_end_of_an_earlier_one() {
    for (package, version) in asked().filter(|(package, _)| package.facts.compile_file && package.facts.jobs) {
        let name = format!("{} {version}", package.name);
        let slow = |config: &mut FakeUnityConfig| config.compile_time = Duration::from_secs(100);
        let mut stage = Stage::with(package, version, UNKNOWN, slow, |unity| unity.compile_error(true)).await;
        let first = stage.begin(Task::Compile, "a").await;
        let (text, _) = stage.it.client.text(&first).await;
        assert!(text.starts_with("Still running"), "{name}: {text}");
        stage.unity.compile_error(false);
        let second = stage.begin(Task::Compile, "b").await;
        let (text, failed) = stage.it.client.text(&second).await;
        assert!(failed && text.starts_with("Not executed") && text.contains("has not ended what"), "{name}: {text}");
        sleep(Duration::from_secs(100)).await;
        let third = stage.begin(Task::Compile, "c").await;
        sleep(Duration::from_secs(1)).await;
        stage.it.client.cancel(&third).await;
        stage.unity.compile_error(true);
        // Nobody waits for the third one here, so the file is what shows that it goes on.
        let fourth = stage.begin(Task::Compile, "d").await;
        let (text, failed) = stage.it.client.text(&fourth).await;
        assert!(!failed && text.contains("compiling"), "{name}: {text}");
        stage.it.close().await;
    }
}

/// An editor that serves one client is not fought over: another client that keeps coming is told, and gets its turn.
#[tokio::test(start_paused = true)]
async fn another_client_that_takes_the_place_again_and_again_is_told() {
    for package in PACKAGES.iter().copied().filter(|package| package.facts.one_client) {
        let name = package.name;
        let setup = Setup::default();
        let net = Arc::clone(&setup.net);
        let mut stage = Stage::on(setup, package, package.newest(), UNKNOWN, |_| {}, |_| {}).await;
        let (mut taken, ended) = (0, Instant::now() + Duration::from_secs(20));
        let mut told = false;
        while Instant::now() < ended {
            let Ok(mut other) = net.connect(PORT).await else { continue };
            taken += 1;
            let cut = async { while other.read(&mut [0; 256]).await.is_ok_and(|count| count > 0) {} };
            let _ = tokio::time::timeout_at(ended, cut).await;
            told |= stage.summary().contains("another client takes the connection");
        }
        assert!(told && (3..12).contains(&taken), "{name}: taken {taken} times; {}", stage.summary());
        let call = stage.begin(Task::Count, "x").await;
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed && stage.unity.runs("x") == 1, "{name}: {text}");
        stage.it.close().await;
    }
}

/// The editor gives up a call after 30 s, and the call goes on. What was sent behind it would run some time later, and nobody would know.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_behind_a_call_that_the_editor_gave_up_while_its_main_thread_stands_still() {
    for package in PACKAGES.iter().copied().filter(|package| package.facts.one_client) {
        let name = package.name;
        let mut stage = Stage::set(package, package.facts.versions[0], PATIENT).await;
        stage.unity.busy(Duration::from_secs(100));
        let first = stage.begin(Task::Count, "first").await;
        let Call { tool, arguments, .. } = (package.call)(Task::Count, "second", stage.version);
        let second = stage.it.client.call(tool, arguments).await;
        let (text, failed) = stage.it.client.text(&first).await;
        assert!(failed && text.starts_with("Outcome unknown"), "{name}: {text}");
        sleep(Duration::from_secs(40)).await;
        assert!(stage.it.client.answered(&second).is_none(), "{name}: it is held");
        assert!(stage.summary().contains("main thread has stood still"), "{name}: {}", stage.summary());
        let (text, failed) = stage.it.client.text(&second).await;
        assert!(!failed && stage.unity.runs("second") == 1, "{name}: {text}");
        stage.it.close().await;
    }
}

/// The editor refuses the second one until the first has ended. What goes past it is how a client follows the first.
#[tokio::test(start_paused = true)]
async fn a_call_that_running_work_keeps_off_is_held_alone_and_sent_when_the_work_has_ended() {
    for package in PACKAGES.iter().copied() {
        let Some(tool) = package.facts.keeps_off else { continue };
        let name = package.name;
        let work = Duration::from_secs(20);
        let slow = |config: &mut FakeUnityConfig| config.compile_time = work;
        let mut stage = Stage::with(package, package.newest(), UNKNOWN, slow, |_| {}).await;
        let began = Instant::now();
        let first = stage.it.client.call(tool, json!({})).await;
        let (text, failed) = stage.it.client.text(&first).await;
        assert!(!failed, "{name}: {text}");
        let second = stage.it.client.call_with_progress(tool, json!({}), "p").await;
        sleep(Duration::from_secs(2)).await;
        let Call { tool, arguments, .. } = (package.call)(Task::Count, "beside", stage.version);
        let beside = stage.it.client.call(tool, arguments).await;
        let (text, failed) = stage.it.client.text(&beside).await;
        assert!(!failed && began.elapsed() < work, "{name}: {text}");
        let (text, failed) = stage.it.client.text(&second).await;
        assert!(!failed && began.elapsed() >= work, "{name}: {text}");
        let told = stage.progress();
        assert!(told.iter().any(|told| told.contains("Unity: it runs tests")), "{name}: {told:?}");
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dialog_that_opens_under_a_request_that_begins_work_is_told_with_it() {
    for (package, version) in asked().filter(|(package, version)| (package.facts.names_dialogs)(*version)) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, PATIENT).await;
        stage.unity.busy(Duration::from_secs(30));
        let call = stage.begin(Task::Compile, "x").await;
        sleep(Duration::from_secs(1)).await;
        stage.unity.modal(true);
        sleep(Duration::from_secs(20)).await;
        let shown = "the dialog \"Fake Unity\"";
        assert!(stage.summary().contains(shown), "{name}: {}", stage.summary());
        assert!(stage.progress().iter().any(|told| told.contains(shown)), "{name}: {:?}", stage.progress());
        stage.unity.modal(false);
        let (text, failed) = stage.it.client.text(&call).await;
        assert!(!failed, "{name}: {text}");
        stage.it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_has_not_settled_is_told_and_its_calls_wait() {
    for package in PACKAGES.iter().copied() {
        for version in
            package.facts.versions.iter().copied().filter(|version| (package.facts.tells_of_settling)(*version))
        {
            let name = format!("{} {version}", package.name);
            let mut stage = Stage::set(package, version, PATIENT).await;
            stage.unity.import(Duration::from_secs(30));
            sleep(2 * LIVENESS_EVERY).await;
            assert!(stage.summary().contains("Unity has not settled since its start"), "{name}: {}", stage.summary());
            let call = stage.begin(Task::Count, "held").await;
            sleep(Duration::from_secs(15)).await;
            assert!(stage.it.client.answered(&call).is_none() && stage.unity.runs("held") == 0, "{name}");
            assert!(
                stage.progress().iter().any(|told| told.contains("has not settled")),
                "{name}: {:?}",
                stage.progress()
            );
            let (text, failed) = stage.it.client.text(&call).await;
            assert!(!failed && stage.unity.runs("held") == 1, "{name}: {text}");
            stage.it.close().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_main_thread_says_of_the_editor_is_told() {
    for (package, version) in asked().filter(|(package, _)| package.facts.jobs) {
        let name = format!("{} {version}", package.name);
        let mut stage = Stage::set(package, version, PATIENT).await;
        let first = stage.begin(Task::Count, "first").await;
        stage.it.client.text(&first).await;
        stage.unity.play(true);
        sleep(SEEN).await;
        assert!(stage.summary().ends_with("is connected: it is in play mode."), "{name}: {}", stage.summary());
        stage.it.close().await;
    }
}
