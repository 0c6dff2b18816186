//! Twenty clients, three editors, and failures of everything that can fail: sessions, links, bridges, editors, and clients
//! that leave. Some clients are bound to a project, by its name or by their roots; others name the editor in each call. The checkers of the simulation compare what each client sent and received with the promises.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast::core::ShutdownReason;
use holdfast::fsm::cause::Availability;
use holdfast::limits::{PATIENCE_MARGIN, SESSION_ABSENCE_MAX, TOOLS_WAIT};
use holdfast_testkit::checker::{self, SLACK};
use holdfast_testkit::history::{Ask, Entry, Event, History};
use ractor::ActorStatus;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::*;
use crate::support::sabotage::{Fault, Hook};

const CALLERS: usize = 20;
/// How long the failures last.
const STORM: Duration = Duration::from_secs(20);
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time within which the next call must be answered after the end of the faults. It includes waiting behind another call.
const RECOVERY_MAX: Duration = Duration::from_secs(10);

/// What one client has sent so far, in the form that the checkers read.
struct Diary {
    began: Instant,
    project: usize,
    entries: Vec<Entry>,
    keys: Vec<String>,
    /// The editor that each call names, if the session is bound to none.
    names: Option<&'static str>,
}

impl Diary {
    fn note(&mut self, what: Event) {
        self.entries.push(Entry { at: self.began.elapsed(), what });
    }

    /// Ends the record of the session: adds what the client received, and returns it with the number of runs of the client's
    /// calls.
    fn close(mut self, caller: &Caller, editors: &[FakeUnity]) -> (History, usize) {
        let heard = caller.client.lines();
        self.entries.extend(heard.iter().map(|line| {
            let what = Event::Got(line.value.to_string());
            Entry { at: line.at - self.began, what }
        }));
        self.entries.sort_by_key(|entry| entry.at);
        let ran = |key: &String| (key.clone(), editors.iter().map(|editor| editor.runs(key)).sum());
        let totals: BTreeMap<String, u64> = self.keys.iter().map(ran).collect();
        for (nth, editor) in editors.iter().enumerate().filter(|(nth, _)| *nth != self.project) {
            let strange: Vec<&String> = self.keys.iter().filter(|key| editor.runs(key) > 0).collect();
            assert!(
                strange.is_empty(),
                "{strange:?} are of {} and ran in {}",
                PROJECTS[self.project].0,
                PROJECTS[nth].0
            );
        }
        let ran = totals.values().sum::<u64>();
        self.note(Event::Totals(totals));
        (History(self.entries), usize::try_from(ran).unwrap())
    }
}

/// Plays one client: it opens a session with a project's name, with roots, or with neither, sends calls and cancels until the faults end,
/// and then a call that must succeed.
async fn live(
    stage: &Stage,
    editors: &[FakeUnity],
    number: usize,
    seed: u64,
    mut calm: watch::Receiver<bool>,
) -> usize {
    let mut dice = fastrand::Rng::with_seed(seed.wrapping_mul(1000) + number as u64);
    let project = number % PROJECTS.len();
    let mut ran = 0;
    for life in 0.. {
        let (by_roots, by_call) = match dice.u8(..3) {
            0 => (true, false),
            1 => (false, true),
            _ => (false, false),
        };
        let mut caller = stage.attach((!by_roots && !by_call).then_some(project));
        let names = by_call.then_some(PROJECTS[project].0);
        let mut diary = Diary { began: Instant::now(), project, entries: Vec::new(), keys: Vec::new(), names };
        let capabilities = if by_roots { json!({"roots": {}}) } else { json!({}) };
        let name = if dice.bool() { PATIENT } else { UNKNOWN };
        let hello = holdfast_mcp_client::line::handshake(name, "2025-06-18", capabilities);
        loop {
            let open = ask(&mut caller, &mut diary, "initialize", "", String::new(), hello.clone()).await;
            // If the session fails during the opening, the answer is an error, and the client opens another one.
            if caller.client.answer(&open).await.value.get("result").is_some() {
                break;
            }
        }
        caller.client.notify("notifications/initialized", json!({})).await;
        if by_roots {
            stage.answer_roots(&mut caller, 0, &[stage.project(project)]).await;
        }
        let leaves_after = if dice.u8(..3) == 0 { dice.usize(1..15) } else { usize::MAX };
        let mut asked = 0;
        while !*calm.borrow() && asked < leaves_after {
            let pause = Duration::from_millis(dice.u64(1..900));
            let _ = tokio::time::timeout(pause, calm.wait_for(|calm| *calm)).await;
            asked += 1;
            let key = format!("{seed}-{number}-{life}-{asked}");
            match dice.u8(..10) {
                0 => drop(ask(&mut caller, &mut diary, "ping", "", String::new(), json!({})).await),
                1 => drop(ask(&mut caller, &mut diary, "tools/list", "", String::new(), json!({})).await),
                2..=4 => drop(call(&mut caller, &mut diary, "echo", key).await),
                nth => {
                    let id = call(&mut caller, &mut diary, "count", key).await;
                    if nth == 9 {
                        sleep(Duration::from_millis(dice.u64(..50))).await;
                        if caller.client.answered(&id).is_none() {
                            diary.note(Event::Cancelled(id.as_u64().unwrap()));
                            caller.client.cancel(&id).await;
                        }
                    }
                }
            }
        }
        let over = *calm.borrow();
        if over {
            let healed = Instant::now();
            loop {
                let id = call(&mut caller, &mut diary, "count", format!("{seed}-{number}-{life}-last")).await;
                let (text, error) = caller.client.text(&id).await;
                assert!(healed.elapsed() < RECOVERY_MAX, "client {number} waited {:?}", healed.elapsed());
                // A link that was given up is opened again by a session that is bound to its project.
                let is_closed = by_call && error && text.starts_with("Not executed");
                assert!(!error || is_closed, "client {number} is served again: {text}");
                if !error {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        diary.note(Event::InputClosed);
        caller.client.close_stdin().await;
        let why = caller.why().await;
        diary.note(Event::Ended(why.into()));
        assert_eq!(why, ShutdownReason::InputEnded);
        caller.client.ended().await;
        if !over {
            // The calls that the session had sent continue without it.
            sleep(PATIENCE).await;
        }
        let (history, runs) = diary.close(&caller, editors);
        ran += runs;
        for verdict in checker::check_session(&history) {
            let (name, broken) = (verdict.name, verdict.violations);
            assert!(broken.is_empty(), "seed {seed}, client {number}, {name}: {broken:#?}\n{}", history.lines());
        }
        if over {
            break;
        }
    }
    ran
}

async fn ask(
    caller: &mut Caller,
    diary: &mut Diary,
    method: &'static str,
    tool: &'static str,
    payload: String,
    params: Value,
) -> Value {
    let allowed = match method {
        "ping" => SLACK,
        "tools/call" => PATIENCE.saturating_sub(PATIENCE_MARGIN) + SESSION_ABSENCE_MAX + SLACK,
        _ => TOOLS_WAIT + SESSION_ABSENCE_MAX + SLACK,
    };
    let (id, line) = caller.client.session().request(method, &params);
    diary.note(Event::Asked(id, Ask { method, tool, payload, allowed, ..Ask::default() }));
    caller.client.line(&line).await;
    id.into()
}

async fn call(caller: &mut Caller, diary: &mut Diary, tool: &'static str, payload: String) -> Value {
    let mut arguments = if tool == "count" { json!({"key": payload}) } else { json!({"text": payload}) };
    if let Some(name) = diary.names {
        arguments["holdfast_editor"] = json!(name);
    }
    if tool == "count" {
        diary.keys.push(payload.clone());
    }
    let params = holdfast_mcp_client::line::call(tool, arguments);
    ask(caller, diary, "tools/call", tool, payload, params).await
}

/// Makes a random part fail from time to time, until the faults end.
async fn fail(stage: &Stage, editors: &[FakeUnity], seed: u64) {
    let mut dice = fastrand::Rng::with_seed(seed);
    let end = Instant::now() + STORM;
    while Instant::now() < end {
        sleep(Duration::from_millis(dice.u64(20..700))).await;
        let editor = &editors[dice.usize(..editors.len())];
        let away = Duration::from_millis(dice.u64(20..2000));
        match dice.u8(..12) {
            0..=3 => {
                let name = ["session", "session", "bridge", "link", "registry", "discovery", "push"][dice.usize(..7)];
                let living: Vec<_> = stage
                    .sabotage
                    .lives(name)
                    .into_iter()
                    .filter(|cell| cell.get_status() == ActorStatus::Running)
                    .collect();
                if !living.is_empty() {
                    living[dice.usize(..living.len())].kill();
                }
            }
            4 | 5 => {
                let name = ["session", "bridge", "registry", "discovery"][dice.usize(..4)];
                let hook = [Hook::PreStart, Hook::PostStart, Hook::Handle, Hook::Handled][dice.usize(..4)];
                stage.sabotage.plant(name, hook, if dice.bool() { Fault::Panic } else { Fault::Err });
            }
            6 | 7 => drop(editor.reload(away).await),
            8 => {
                let _ = editor.rst().await;
                let _ = editor.up().await;
            }
            9 => {
                let _ = editor.crash().await;
                sleep(away).await;
                let _ = editor.up().await;
            }
            10 => {
                let _ = editor.down().await;
                sleep(away).await;
                let _ = editor.up().await;
            }
            _ => {
                editor.freeze();
                sleep(away).await;
                editor.thaw();
            }
        }
    }
    stage.sabotage.clear();
    for editor in editors {
        editor.thaw();
        let _ = editor.up().await;
        editor.listening().await;
    }
}

async fn storm(seed: u64) {
    let stage = Arc::new(Stage::with(Config { patience: Some(PATIENCE), ..Config::default() }));
    let editors: Arc<[FakeUnity]> = [stage.editor(0).await, stage.editor(1).await, stage.editor(2).await].into();
    let (over, calm) = watch::channel(false);
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let (stage, editors, calm) = (stage.clone(), editors.clone(), calm.clone());
            tokio::spawn(async move { live(&stage, &editors, number, seed, calm).await })
        })
        .collect();
    fail(&stage, &editors, seed).await;
    // A link that gave up is rebuilt after 1 s, and the next time after 5 s.
    until("the links stand", || {
        let links = stage.parts.links.all();
        links.iter().filter(|link| link.id.0 > 0 && !link.attached.all().is_empty()).all(|link| {
            matches!(link.destination, holdfast::link::Destination::Nowhere)
                || link.contact.view.borrow().availability == Availability::Open
        })
    })
    .await;
    over.send_replace(true);
    let mut ran = 0;
    for caller in callers {
        ran += caller.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
    }
    assert!(ran > CALLERS, "the storm left nothing to look at: {ran} calls ran");
    let restarts = stage.parts.env.health.restarts();
    assert!(restarts.values().sum::<u64>() > 5, "hardly anything failed: {restarts:?}");
    let links = stage.parts.links.all();
    Arc::into_inner(stage).unwrap().end().await;
    for link in links {
        assert_eq!(link.calls.ledger(|ledger, _| ledger.counts()), (0, 0), "{:?} has calls left", link.destination);
        assert_eq!(link.contact.connection.available_permits(), 1, "{:?} has a connection left", link.destination);
        let surprises = link.calls.ledger(|ledger, _| ledger.surprises().clone());
        assert_eq!(surprises, holdfast::core::calls::Surprises::default(), "{:?}", link.destination);
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_clients_and_three_editors_keep_every_promise_whatever_fails() {
    for seed in 0..5 {
        storm(seed).await;
    }
}
