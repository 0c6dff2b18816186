//! Work that outlives a reload: compilations, test runs, packages, builds. Each kind has one status file for all clients. Only that
//! of builds has an id.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::reply;
use super::server::Server;
use super::versions::{V0_5, V0_7};
use crate::json::Object;
use crate::model::Editor;
use crate::tools::{self, Arguments};
use crate::work::{Begun, NextPort, Order};

const RECOMPILE: &str = "Temp/pipeline_recompile_status.json";
const TEST_REQUEST: &str = "Temp/pipeline_test_request.json";
const TESTS: &str = "Temp/pipeline_test_status.json";
const PACKAGES: &str = "Temp/pipeline_package_status.json";
const BUILD: &str = "Temp/pipeline_build_status.json";
const TARGET: &str = "Temp/pipeline_switch_target_status.json";

/// All files of the package in `Temp`.
pub(super) const FILES: [&str; 6] = [RECOMPILE, TEST_REQUEST, TESTS, PACKAGES, BUILD, TARGET];

/// How often a compilation looks whether play mode has ended.
const PLAY_POLL: Duration = Duration::from_millis(10);

/// The tests of the simulated project, and whether they run in play mode.
pub(super) const PROJECT_TESTS: [(&str, bool); 3] =
    [("Castle.Tests.GateOpens", false), ("Castle.Tests.WallStands", false), ("Castle.Tests.KnightWalks", true)];

/// Returns a result whose JSON is this value.
pub(super) fn said(value: &Value) -> Object {
    Object::instead(value.to_string())
}

/// Returns what a `*_status` command says; `None` if it has no status file.
pub(super) fn status_of(server: &Server, command: &str) -> Option<Value> {
    let path = match command {
        "recompile_status" => RECOMPILE,
        "test_status" => return Some(test_status(server)),
        "package_status" => PACKAGES,
        "build_status" => BUILD,
        "switch_build_target_status" => TARGET,
        "lighting_bake_status" | "navmesh_bake_status" | "occlusion_bake_status" => "",
        _ => return None,
    };
    Some(server.process().files.get(path).cloned().unwrap_or_else(|| json!({"status": "idle"})))
}

/// Returns the status of the last test run.
pub(super) fn test_status(server: &Server) -> Value {
    let process = server.process();
    match (process.files.get(TESTS), process.files.get(TEST_REQUEST)) {
        (Some(status), _) => status.clone(),
        (None, Some(_)) => json!({"status": "running"}),
        (None, None) => json!({"status": "no_tests", "message": "No test run is known."}),
    }
}

/// Whether a compilation is under way.
pub(super) fn compiles(server: &Server) -> bool {
    server.process().in_next_domain.contains_key(RECOMPILE)
}

/// Orders the reload that follows some work, after the pause that the editor is set to. Without it nothing changed.
async fn reload(editor: &Editor) {
    let silence = editor.config.compile_reload;
    if !silence.is_zero() {
        tokio::time::sleep(editor.config.compile_gap).await;
        editor.order(Order::Reload { silence, port: NextPort::Same });
    }
}

/// Ends some work: its status is written now, and not by the next domain.
fn end(server: &Server, editor: &Editor, path: &'static str, status: Value) {
    server.process().in_next_domain.remove(path);
    server.write_status(editor, path, status);
}

/// Begins some work whose status is "completed" in the next domain, if a reload ends this one first.
fn begin(server: &Server, editor: &Editor, path: &'static str, status: Value, completed: Value) {
    server.process().in_next_domain.insert(path, completed);
    server.write_status(editor, path, status);
}

/// Returns the error of a script of the project that says itself that it does not compile.
fn error_of_a_script(editor: &Editor) -> Option<String> {
    let folder = Path::new(editor.project.as_ref()?.root()).join("Assets/Editor");
    let names = std::fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.file_name());
    let is_broken = |name: &std::ffi::OsString| {
        std::fs::read_to_string(folder.join(name)).is_ok_and(|text| text.starts_with("#error"))
    };
    let name = names.into_iter().find(is_broken)?;
    Some(format!("Assets/Editor/{}(1,8): error CS1029: #error: as it says", name.to_string_lossy()))
}

fn compiled(server: &Server, error: Option<&str>) -> Value {
    let (failed, errors): (bool, Vec<&str>) = (error.is_some(), error.into_iter().collect());
    let mut status = json!({"status": "completed", "failed": failed, "errors": errors});
    if server.version >= V0_7 {
        status["compilationFailed"] = failed.into();
    }
    status
}

/// Compiles. The answer comes at once; "completed" is written before the reload.
pub(super) fn recompile(server: &Arc<Server>, editor: &Arc<Editor>) -> Begun {
    const ERROR: &str =
        "Assets/Scripts/Broken.cs(3,7): error CS0246: The type or namespace name 'Nowhere' could not be found";
    let is_told_to_fail = {
        let mut state = editor.state();
        state.compiles += 1;
        state.compile_errors
    };
    let error = is_told_to_fail.then(|| ERROR.to_owned()).or_else(|| error_of_a_script(editor));
    let failed = error.is_some();
    if !failed && editor.config.compile_reload.is_zero() {
        end(server, editor, RECOMPILE, json!({"status": "up_to_date", "failed": false, "errors": []}));
        return Begun::ok(said(&json!({"status": "up_to_date", "message": "Nothing has changed."})));
    }
    begin(server, editor, RECOMPILE, json!({"status": "triggered"}), compiled(server, error.as_deref()));
    let (of, told) = (Arc::clone(server), Arc::clone(editor));
    server.spawn(async move {
        let (server, editor) = (of, told);
        // One that is asked for in play mode waits until play ends.
        while editor.state().playing {
            tokio::time::sleep(PLAY_POLL).await;
        }
        server.write_status(&editor, RECOMPILE, json!({"status": "compiling"}));
        tokio::time::sleep(editor.config.compile_time).await;
        editor.main_free().await;
        if !failed {
            editor.write_assembly();
        }
        end(&server, &editor, RECOMPILE, compiled(&server, error.as_deref()));
        if !failed {
            reload(&editor).await;
        }
    });
    Begun::ok(said(&json!({"status": "compiling", "message": "The scripts are compiled."})))
}

/// Runs the tests. Those in play mode end this domain.
pub(super) fn run_tests(server: &Arc<Server>, editor: &Arc<Editor>, arguments: &Arguments) -> Begun {
    let mode = arguments.text("mode").unwrap_or_else(|| "all".to_owned());
    let is_async = arguments.flag("async_tests");
    let refused = |why: &str| Begun::ok(said(&json!({"success": false, "error": why})));
    match (mode.as_str(), is_async) {
        ("all", true) => return refused("async_tests needs one mode"),
        ("playmode", false) if server.version < V0_5 => return refused("playmode needs async_tests"),
        ("all" | "editor" | "playmode", _) => {}
        _ => return refused("mode is one of: all, editor, playmode"),
    }
    let filter = arguments.text("filter").unwrap_or_default();
    let chosen = |playing: bool| -> Vec<&str> {
        let tests = PROJECT_TESTS.iter().filter(|(name, plays)| *plays == playing && name.contains(&filter));
        tests.map(|(name, _)| *name).collect()
    };
    let in_file = |names: &[&str]| {
        let results: Vec<Value> = names.iter().map(|name| json!({"name": name, "status": "passed"})).collect();
        let summary =
            json!({"total": names.len(), "passed": names.len(), "failed": 0, "skipped": 0, "inconclusive": 0});
        json!({"status": "completed", "duration": 0.1, "summary": summary, "results": results})
    };
    {
        // Only this status is deleted when the next run starts.
        let mut process = server.process();
        process.files.remove(TESTS);
        if let Some(project) = &editor.project {
            editor.file_result(TESTS, project.remove(TESTS));
        }
    }
    let plays = mode != "editor";
    if plays || is_async {
        let status = in_file(&chosen(mode == "playmode" || mode == "all"));
        server.write_status(editor, TEST_REQUEST, json!({"mode": mode, "filter": filter}));
        server.process().in_next_domain.insert(TESTS, status.clone());
        let (of, told) = (Arc::clone(server), Arc::clone(editor));
        server.spawn(async move {
            let (server, editor) = (of, told);
            tokio::time::sleep(editor.config.compile_time).await;
            if plays && !editor.config.compile_reload.is_zero() {
                // The new domain goes on with the run.
                reload(&editor).await;
                return;
            }
            end(&server, &editor, TESTS, status);
        });
    }
    if is_async {
        return Begun::ok(said(&json!({"success": true, "status": "running"})));
    }
    if mode == "playmode" {
        // The reload cuts it.
        return Begun::Later(Box::pin(std::future::pending()));
    }
    let names = chosen(false);
    let results: Vec<Value> = names.iter().map(|name| json!({"Name": name, "Status": "Passed"})).collect();
    let summary = json!({"Total": names.len(), "Passed": names.len(), "Failed": 0, "Skipped": 0, "Inconclusive": 0});
    let mut result = json!({"success": true, "Duration": 0.1, "Summary": summary, "Results": results});
    if plays {
        result["playmode_running"] = true.into();
    } else {
        end(server, editor, TESTS, in_file(&names));
    }
    Begun::ok(said(&result))
}

/// Returns the answer to a command that has to be confirmed and is not; `None`: it may run. Work is refused without, and only shown
/// with `dry_run`, which wins; other commands show what they would do.
pub(super) fn unconfirmed(name: &str, arguments: &Arguments) -> Option<Value> {
    let is_work = name == "build" || name.starts_with("package_") || name == "switch_build_target";
    if arguments.flag("dry_run") {
        return Some(json!({"success": true, "dryRun": true, "message": format!("{name} would run.")}));
    }
    if arguments.flag("confirm") {
        return None;
    }
    Some(match is_work {
        true => json!({"success": false, "error": "Refused", "message": format!("{name} needs confirm.")}),
        false => json!({"success": true, "confirmed": false, "message": format!("{name} would run.")}),
    })
}

/// Adds, removes or resolves packages, or switches the target. A reload follows.
pub(super) fn change(server: &Arc<Server>, editor: &Arc<Editor>, command: &str) -> Begun {
    let path = if command == "switch_build_target" { TARGET } else { PACKAGES };
    let completed = json!({"status": "completed", "operation": command, "success": true});
    begin(server, editor, path, json!({"status": "running", "operation": command}), completed.clone());
    let (of, told) = (Arc::clone(server), Arc::clone(editor));
    server.spawn(async move {
        tokio::time::sleep(told.config.compile_time).await;
        told.main_free().await;
        end(&of, &told, path, completed);
        reload(&told).await;
    });
    Begun::ok(said(&json!({"success": true, "status": "running", "operation": command})))
}

/// Builds a player, on the main thread. No reload follows.
pub(super) fn build(server: &Arc<Server>, editor: &Arc<Editor>) -> Begun {
    let id = editor.guid();
    let status = |word: &str| json!({"buildId": id, "status": word, "startedAt": reply::now(editor)});
    let mut completed = status("completed");
    completed["success"] = true.into();
    begin(server, editor, BUILD, status("running"), completed.clone());
    tools::block(editor, editor.config.compile_time, false);
    let (of, told) = (Arc::clone(server), Arc::clone(editor));
    server.spawn(async move {
        told.main_free().await;
        end(&of, &told, BUILD, completed);
    });
    Begun::ok(said(&json!({"success": true, "status": "running", "buildId": id})))
}
