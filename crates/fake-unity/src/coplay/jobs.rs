//! Work that goes on after its answer: compilations, test runs, builds and installations of packages.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::bridge::{Bridge, Job};
use super::unity::unix_ms;
use super::wire::{done, failed, pending, tests_running};
use crate::json::Object;
use crate::model::Editor;
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done, Fault, NextPort, Order};

/// The custom tool that goes on after its first answer.
pub(super) const LONG_JOB: &str = "long_job";

/// How many jobs are kept (the package's own number for test runs).
const JOBS_MAX: usize = 10;
/// The tests of the simulated project in one mode.
const TESTS: u32 = 3;

impl Bridge {
    /// Whether tests run.
    pub(super) fn test_run(&self) -> Option<(String, String)> {
        let process = self.process();
        let running = process.jobs.iter().find(|job| job.tool == "run_tests" && job.runs());
        running.map(|job| (job.id.clone(), job.mode.clone()))
    }

    /// Begins a job and returns its id.
    fn job(&self, editor: &Editor, tool: &'static str, mode: &str, takes: Duration) -> String {
        let id = editor.guid().replace('-', "");
        let (domain, began, began_unix_ms) = (editor.state().domain, Instant::now(), unix_ms(editor.uptime()));
        let jobs = &mut self.process().jobs;
        if jobs.len() >= JOBS_MAX {
            jobs.pop_front();
        }
        jobs.push_back(Job { tool, id: id.clone(), mode: mode.to_owned(), domain, began, takes, began_unix_ms });
        id
    }

    /// Returns what is said of a tool's job: the one that is named, or else the last.
    fn of_job<T>(&self, tool: &str, id: Option<&str>, say: impl FnOnce(&Job) -> T) -> Option<T> {
        let process = self.process();
        let mut jobs = process.jobs.iter().rev().filter(|job| job.tool == tool);
        jobs.find(|job| id.is_none_or(|id| job.id == id)).map(say)
    }
}

/// Imports what changed, and compiles if that is asked for. A reload follows if the scripts compile.
pub(super) fn refresh(bridge: &Arc<Bridge>, editor: &Arc<Editor>, arguments: &Arguments) -> Begun {
    if bridge.test_run().is_some() {
        return Begun::ok(tests_running());
    }
    let compiles = arguments.word("compile") == "request";
    let told = json!({"refresh_triggered": true, "compile_requested": compiles});
    if !compiles {
        return Begun::ok(done("Refresh completed.", &told));
    }
    let compiled = {
        let mut state = editor.state();
        state.compiles += 1;
        // Unity leaves play mode to compile.
        state.playing = false;
        !state.compile_errors
    };
    bridge.process().compiling = true;
    let silence = editor.config.compile_reload;
    let reload = (compiled && !silence.is_zero()).then_some(Order::Reload { silence, port: NextPort::Same });
    let (answer, answered) = oneshot::channel();
    let (of, told_to) = (Arc::clone(bridge), Arc::clone(editor));
    let answers = told.clone();
    bridge.spawn(async move {
        let (bridge, editor) = (of, told_to);
        tokio::time::sleep(editor.config.compile_time).await;
        editor.main_free().await;
        if reload.is_some() {
            editor.write_assembly();
        }
        bridge.process().compiling = false;
        let gap = editor.config.compile_gap;
        if reload.is_none() || !gap.is_zero() {
            // Its caller may have gone, or was answered already.
            let _ = answer.send(Done::ok(done("Refresh completed.", &answers)));
            tokio::time::sleep(gap).await;
        }
        if let Some(order) = reload {
            editor.order(order);
            // The reload ends this task, and the connection that waits for it.
            std::future::pending::<()>().await;
        }
    });
    if !arguments.flag("wait_for_ready") {
        return Begun::ok(done("Refresh requested.", &told));
    }
    Begun::Later(Box::pin(async move {
        // If the domain or the bridge ends, this work does too, and nobody is answered.
        answered.await.unwrap_or(Done { result: Err(Fault::Cancelled), then: None })
    }))
}

/// Starts a test run. Only one runs at a time.
pub(super) fn run_tests(bridge: &Bridge, editor: &Editor, arguments: &Arguments) -> Begun {
    if arguments.flag("clear_stuck") {
        let jobs = &mut bridge.process().jobs;
        jobs.retain(|job| !(job.tool == "run_tests" && job.runs()));
        return Begun::ok(done("Cleared the stuck test run.", &json!({})));
    }
    if bridge.test_run().is_some() {
        return Begun::ok(tests_running());
    }
    let mode = arguments.text("mode").unwrap_or_else(|| "EditMode".to_owned());
    let id = bridge.job(editor, "run_tests", &mode, editor.config.compile_time);
    Begun::ok(done("Test job started.", &json!({"job_id": id, "status": "running", "mode": mode})))
}

/// Says how far a test run is. A reload keeps the job, and not its result.
pub(super) fn test_job(bridge: &Bridge, editor: &Editor, arguments: &Arguments) -> Object {
    let domain = editor.state().domain;
    let id = arguments.text("job_id").unwrap_or_default();
    let said = bridge.of_job("run_tests", Some(&id), |job| {
        let completed = if job.runs() { 0 } else { TESTS };
        let result = (!job.runs() && job.domain == domain).then(|| {
            json!({"mode": job.mode, "summary": {"total": TESTS, "passed": TESTS, "failed": 0, "skipped": 0}, "results": []})
        });
        json!({
            "job_id": job.id, "status": if job.runs() { "running" } else { "succeeded" }, "mode": job.mode,
            "started_unix_ms": job.began_unix_ms,
            "progress": {"completed": completed, "total": TESTS, "stuck_suspected": false, "blocked_reason": null},
            "result": result,
        })
    });
    match said {
        Some(said) => done("Test job.", &said),
        None => failed("Unknown job_id.", None),
    }
}

/// Builds a player on a later tick, which blocks the main thread. A reload forgets the job.
pub(super) fn build(bridge: &Arc<Bridge>, editor: &Arc<Editor>, arguments: &Arguments) -> Begun {
    match arguments.word("action") {
        "build" | "batch" => {
            let takes = editor.config.compile_time;
            let id = bridge.job(editor, "manage_build", "", takes);
            let editor = Arc::clone(editor);
            bridge.spawn(async move {
                editor.next_tick().await;
                tools::block(&editor, takes, false);
            });
            Begun::ok(pending("Build scheduled.", &json!({"job_id": id})))
        }
        "status" => {
            let domain = editor.state().domain;
            let id = arguments.text("job_id");
            let said = bridge
                .of_job("manage_build", id.as_deref(), |job| (job.domain == domain).then(|| stands(job, "Build")));
            Begun::ok(said.flatten().unwrap_or_else(|| failed("No such build job.", None)))
        }
        action => Begun::ok(done(&format!("{action}: done."), &json!({}))),
    }
}

/// Installs or removes a package: a job over the reload that belongs to it.
pub(super) fn packages(bridge: &Arc<Bridge>, editor: &Arc<Editor>, arguments: &Arguments) -> Begun {
    match arguments.word("action") {
        "add_package" | "remove_package" | "embed_package" => {
            let takes = editor.config.compile_time;
            let id = bridge.job(editor, "manage_packages", "", takes);
            let silence = editor.config.compile_reload;
            let editor = Arc::clone(editor);
            bridge.spawn(async move {
                tokio::time::sleep(takes).await;
                if !silence.is_zero() {
                    editor.order(Order::Reload { silence, port: NextPort::Same });
                }
            });
            Begun::ok(pending("The package manager works.", &json!({"job_id": id})))
        }
        "status" => {
            let id = arguments.text("job_id");
            let said = bridge.of_job("manage_packages", id.as_deref(), |job| stands(job, "Package"));
            Begun::ok(said.unwrap_or_else(|| failed("No such package job.", None)))
        }
        action => Begun::ok(done(&format!("{action}: done."), &json!({}))),
    }
}

/// Works for a time. Whoever asks on gets the result.
pub(super) fn long(bridge: &Bridge, editor: &Editor, arguments: &Arguments) -> Object {
    if arguments.word("action") == "status" {
        let said = bridge.of_job(LONG_JOB, None, |job| stands(job, "Work"));
        return said.unwrap_or_else(|| failed("Nothing was begun.", None));
    }
    let takes = Duration::from_millis(arguments.number("ms").unwrap_or(1000));
    let id = bridge.job(editor, LONG_JOB, "", takes);
    pending("Work has begun.", &json!({"job_id": id}))
}

fn stands(job: &Job, what: &str) -> Object {
    let data: Value = json!({"job_id": job.id, "status": if job.runs() { "running" } else { "succeeded" }});
    match job.runs() {
        true => pending(&format!("{what} goes on."), &data),
        false => done(&format!("{what} has ended."), &data),
    }
}
