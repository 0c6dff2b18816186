//! An editor that is an HTTP server with a token, and runs calls as jobs: what is lost at each point of a job's life.

mod editor;

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast::config::{Config, PortSource};
use holdfast::limits::{JOB_ASKED_MAX, JOB_ASKED_MIN};
use holdfast::platform::host::Host;
use holdfast::protocol::dialect;
use holdfast_fake_unity::{Machine, Package};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use self::editor::{Editor, Loses, RELOAD, Reload};
use crate::support::{Gateway, Log, PATIENT, PORT, Setup, gateway, until};

struct Stage {
    it: Gateway,
    editor: Editor,
    _folder: TempDir,
}

/// A project on disk.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Assets", "ProjectSettings", "Library"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let path = dunce::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn setup(project: &Path) -> Setup {
    let config = Config {
        project: Some(project.to_path_buf()),
        ports: vec![(PORT, PortSource::Flag)],
        dialects: dialect::only(Package::that(|facts| facts.jobs && facts.toy).name),
        seed: Some(7),
        ..Config::default()
    };
    Setup { config, ..Setup::default() }
}

async fn stage_with(patience: Option<Duration>) -> Stage {
    let (folder, path) = project();
    let mut setup = setup(&path);
    setup.config.patience = patience;
    let editor = Editor::start(setup.net.clone(), Machine(setup.host.clone()), PORT, &path);
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it.ready().await;
    Stage { it, editor, _folder: folder }
}

async fn stage() -> Stage {
    stage_with(None).await
}

#[tokio::test(start_paused = true)]
async fn a_job_is_asked_for_until_it_has_ended_and_what_is_quick_is_answered_at_once() {
    let Stage { mut it, editor, _folder } = stage().await;
    let id = it.client.call("quick", json!({"key": "q"})).await;
    assert_eq!(it.client.text(&id).await, ("at once".to_owned(), false));
    assert_eq!((editor.runs("q"), editor.asked("/job")), (1, 0));

    let began = Instant::now();
    let id = it.client.call("work", json!({"key": "w"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && text.contains("\"ran\":\"w\""), "{text}");
    assert!(began.elapsed() >= JOB_ASKED_MIN && began.elapsed() < JOB_ASKED_MIN * 5, "{:?}", began.elapsed());

    // The longer it runs, the more rarely it is asked for.
    editor.hold(true);
    let before = editor.asked("/job");
    let id = it.client.call("work", json!({"key": "long"})).await;
    sleep(Duration::from_secs(60)).await;
    let asked = u32::try_from(editor.asked("/job") - before).unwrap();
    assert!(asked > 100 && asked < 60_000 / u32::try_from(JOB_ASKED_MAX.as_millis()).unwrap() + 30, "{asked}");
    editor.hold(false);
    let (text, error) = it.client.text(&id).await;
    assert!(!error && text.contains("\"ran\":\"long\""), "{text}");
    assert_eq!((editor.runs("w"), editor.runs("long"), editor.unauthorized()), (1, 1, 0));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn jobs_beside_each_other_are_asked_for_in_turn() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.hold(true);
    let first = it.client.call("work", json!({"key": "a"})).await;
    let second = it.client.call("work", json!({"key": "b"})).await;
    let third = it.client.call("work", json!({"key": "c"})).await;
    until("two run", || editor.runs("a") + editor.runs("b") == 2).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(editor.runs("c"), 0, "the editor takes two at once");
    editor.hold(false);
    for (id, key) in [(first, "a"), (second, "b"), (third, "c")] {
        let (text, error) = it.client.text(&id).await;
        assert!(!error && text.contains(&format!("\"ran\":\"{key}\"")), "{text}");
        assert_eq!(editor.runs(key), 1);
    }
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_is_lost_is_an_unknown_outcome_and_never_repeated() {
    for (what, ran) in [(Loses::Request, 0), (Loses::Response, 1)] {
        let Stage { mut it, editor, _folder } = stage().await;
        editor.lose("/call", what);
        let id = it.client.call("work", json!({"key": "k"})).await;
        let (text, error) = it.client.text(&id).await;
        assert!(error && text.starts_with("Outcome unknown"), "{what:?}: {text}");
        sleep(Duration::from_secs(30)).await;
        assert_eq!((editor.asked("/call"), editor.runs("k")), (1, ran), "{what:?}");
        let id = it.client.call("work", json!({"key": "after"})).await;
        assert!(!it.client.text(&id).await.1);
        it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_lost_is_asked_again_and_the_job_has_its_answer() {
    for what in [Loses::Request, Loses::Response] {
        let Stage { mut it, editor, _folder } = stage().await;
        editor.lose("/job", what);
        let began = Instant::now();
        let id = it.client.call("work", json!({"key": "k"})).await;
        let (text, error) = it.client.text(&id).await;
        assert!(!error && text.contains("\"ran\":\"k\""), "{what:?}: {text}");
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert_eq!((editor.asked("/call"), editor.runs("k")), (1, 1), "{what:?}");
        it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_survives_a_reload_is_asked_for_on_the_next_connection() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.hold(true);
    let id = it.client.call("work", json!({"key": "k"})).await;
    until("it runs", || editor.runs("k") == 1).await;
    let began = Instant::now();
    editor.reload(Reload::Keeps);
    sleep(RELOAD + Duration::from_secs(3)).await;
    let before = editor.asked("/job");
    sleep(Duration::from_secs(5)).await;
    assert!(editor.asked("/job") > before + 5, "it is asked for as on its own connection");
    editor.hold(false);
    let (text, error) = it.client.text(&id).await;
    assert!(!error && text.contains("\"ran\":\"k\""), "{text}");
    assert!(began.elapsed() > RELOAD && began.elapsed() < RELOAD + Duration::from_secs(10));
    assert_eq!((editor.asked("/call"), editor.runs("k")), (1, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_a_reload_takes_with_it_is_an_unknown_outcome() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.hold(true);
    let id = it.client.call("work", json!({"key": "k"})).await;
    until("it runs", || editor.runs("k") == 1).await;
    editor.reload(Reload::Loses);
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Outcome unknown"), "{text}");
    it.ready().await;
    editor.hold(false);
    let id = it.client.call("work", json!({"key": "after"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!((editor.runs("k"), editor.runs("after")), (1, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_editor_forgets_between_two_questions_is_an_unknown_outcome_and_gives_its_place_free() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.hold(true);
    let ids = [it.client.call("work", json!({"key": "a"})).await, it.client.call("work", json!({"key": "b"})).await];
    until("both run", || editor.runs("a") + editor.runs("b") == 2).await;
    let connections = it.parts.link().contact.view.borrow().connections;
    editor.forget();
    for id in &ids {
        let (text, error) = it.client.text(id).await;
        assert!(error && text.starts_with("Outcome unknown") && text.contains("reload"), "{text}");
    }
    editor.hold(false);
    for key in ["c", "d", "e"] {
        let id = it.client.call("work", json!({ "key": key })).await;
        assert!(!it.client.text(&id).await.1);
        assert_eq!(editor.runs(key), 1);
    }
    assert_eq!(it.parts.link().contact.view.borrow().connections, connections, "it is the same connection");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_outlasts_its_clients_patience_goes_on_and_its_result_can_be_fetched() {
    let Stage { mut it, editor, _folder } = stage_with(Some(Duration::from_secs(10))).await;
    editor.hold(true);
    let id = it.client.call("work", json!({"key": "k"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Still running"), "{text}");
    let call =
        it.parts.link().calls.ledger(|ledger, _| ledger.finished_records().next().map(|record| record.id)).unwrap();
    // A reload does not matter to it.
    editor.reload(Reload::Keeps);
    sleep(Duration::from_secs(20)).await;
    editor.hold(false);
    sleep(Duration::from_secs(20)).await;
    let id = it.client.call("holdfast_result", json!({"call_id": call.to_string()})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error && text.contains("\"ran\":\"k\""), "{text}");
    assert_eq!(editor.runs("k"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_cancelled_before_it_begins_never_runs() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.queue(true);
    let id = it.client.call("work", json!({"key": "k"})).await;
    until("it is asked for", || editor.asked("/job") > 0).await;
    it.client.cancel(&id).await;
    until("it is cancelled", || editor.asked("/cancel") == 1).await;
    editor.queue(false);
    for key in ["a", "b", "c"] {
        let id = it.client.call("work", json!({ "key": key })).await;
        assert!(!it.client.text(&id).await.1);
    }
    sleep(Duration::from_secs(30)).await;
    assert_eq!((editor.runs("k"), editor.asked("/cancel")), (0, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_cancelled_while_it_is_submitted_is_cancelled_at_the_editor_too() {
    let Stage { mut it, editor, _folder } = stage().await;
    editor.queue(true);
    let id = it.client.call("work", json!({"key": "k"})).await;
    until("it is sent", || editor.asked("/call") == 1).await;
    it.client.cancel(&id).await;
    until("it is cancelled", || editor.asked("/cancel") == 1).await;
    editor.queue(false);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(editor.runs("k"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_has_changed_is_read_again_once_and_is_in_no_log() {
    let (log, _logging) = Log::start();
    let Stage { mut it, editor, _folder } = stage().await;
    editor.new_token("token-of-now");
    let id = it.client.call("work", json!({"key": "k"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!((editor.runs("k"), editor.unauthorized()), (1, 1));
    it.close().await;
    assert!(log.has("link_up") && !log.has("token-of"));
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_refuses_the_token_of_its_file_is_sent_no_call() {
    let (folder, path) = project();
    let setup = setup(&path);
    let editor = Editor::start(setup.net.clone(), Machine(setup.host.clone()), PORT, &path);
    Host::write(&*setup.host, &path.join("Library/ToyJobs.json"), br#"{"token":"of another"}"#).unwrap();
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let id = it.client.call("work", json!({"key": "k"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed") && !text.contains("of another"), "{text}");
    assert_eq!((editor.runs("k"), editor.asked("/call")), (0, 0));
    it.close().await;
    drop(folder);
}
