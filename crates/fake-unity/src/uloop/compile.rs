//! The tool `compile`. If it succeeds, the domain that has to answer it ends.

use std::sync::Arc;

use crate::json::{self, Object};
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::tools::Arguments;
use crate::work::{Begun, Done};
use crate::work::{NextPort, Order};

/// The lock file that exists during a compilation.
const COMPILING_LOCK: &str = "Temp/compiling.lock";
/// The folder of result files, for clients that lost their connection.
const RESULTS: &str = "Temp/uLoopMCP/compile-results";

/// Begins a compilation.
///
/// With `WaitForDomainReload`, the result is written to a file. The reload that follows a success closes the connection before
/// the reply is sent, unless `compile_gap` delays the reload. In all other cases the reply is sent. A reload follows only after a
/// success that changed something: then the assembly was written before the compilation ended.
pub(crate) fn begin(
    version: PackageVersion,
    tail: impl FnOnce(Object) -> Object + Send + 'static,
    editor: &Arc<Editor>,
    arguments: &Arguments,
) -> Begun {
    let force = arguments.flag("ForceRecompile");
    let request_id =
        version.compile_waits().then(|| arguments.flag("WaitForDomainReload")).filter(|waits| *waits).map(|_| {
            arguments.text("RequestId").filter(|id| is_safe(id)).unwrap_or_else(|| "compile_unnamed".to_owned())
        });
    let failed = {
        let mut state = editor.state();
        state.compiles += 1;
        // Unity leaves play mode to compile.
        state.playing = false;
        state.compile_errors
    };
    lock(editor, version, true);
    let (reload, time) = (editor.config.compile_reload, editor.config.compile_time);
    let gap = editor.config.compile_gap;
    let editor = editor.clone();
    Begun::Later(Box::pin(async move {
        tokio::time::sleep(time).await;
        editor.main_free().await;
        if !failed && !reload.is_zero() {
            editor.write_assembly();
        }
        let reload = (!failed && !reload.is_zero()).then_some(Order::Reload { silence: reload, port: NextPort::Same });
        let mut result = result(version, failed, force);
        if version.compile_waits() {
            let root = editor.project.as_ref().filter(|_| request_id.is_some()).map(crate::project::Project::root);
            result = match root {
                Some(root) => result.text("ProjectRoot", root),
                None => result.raw("ProjectRoot", "null"),
            };
        }
        if let (Some(id), Some(project)) = (&request_id, &editor.project) {
            let bom = if editor.config.result_file_bom { "\u{feff}" } else { "" };
            let path = format!("{RESULTS}/{id}.json");
            let content = format!("{bom}{}", tail(result.clone()).finish());
            editor.file_result(&path, project.write(&path, content.as_bytes()));
        }
        lock(&editor, version, false);
        match reload {
            Some(order) if !gap.is_zero() => {
                tokio::spawn(async move {
                    tokio::time::sleep(gap).await;
                    editor.order(order);
                });
                Done { result: Ok(result), then: None }
            }
            Some(order) if request_id.is_some() => {
                editor.order(order);
                // Never completes: the reload drops this work, and the connection that waits for it.
                std::future::pending().await
            }
            then => Done { result: Ok(result), then },
        }
    }))
}

fn result(version: PackageVersion, failed: bool, force: bool) -> Object {
    let issue = Object::new()
        .text(
            "Message",
            "Assets/Scripts/Broken.cs(3,7): error CS0246: The type or namespace name 'Nowhere' could not be found",
        )
        .text("File", "Assets/Scripts/Broken.cs")
        .number("Line", 3);
    if !version.typed_results() {
        let errors = if failed { json::array([issue.finish()]) } else { json::array::<&str>([]) };
        let object = Object::new().flag("success", !failed).number("errorCount", i32::from(failed));
        return object.number("warningCount", 0).raw("errors", &errors).raw("warnings", "[]");
    }
    // A forced recompilation ends with the reload, so its outcome is not known.
    let indeterminate = force && !failed;
    let object = Object::new();
    let object = if indeterminate {
        object
            .raw("Success", "null")
            .raw("ErrorCount", "null")
            .raw("WarningCount", "null")
            .raw("Errors", "null")
            .raw("Warnings", "null")
            .text("Message", "The outcome of a forced compilation is not known yet; see get-logs")
    } else {
        let errors = if failed { json::array([issue.finish()]) } else { json::array::<&str>([]) };
        object
            .flag("Success", !failed)
            .number("ErrorCount", i32::from(failed))
            .number("WarningCount", 0)
            .raw("Errors", &errors)
            .raw("Warnings", "[]")
            .raw("Message", "null")
    };
    if version.later_catalogue() { object } else { object.flag("IsIndeterminate", indeterminate) }
}

/// Whether an id may be used in a file name. Only ids that cannot name another directory are accepted.
fn is_safe(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn lock(editor: &Editor, version: PackageVersion, there: bool) {
    if let Some(project) = &editor.project
        && version.compile_waits()
    {
        let now = editor.timestamp();
        let result = if there { project.write(COMPILING_LOCK, now.as_bytes()) } else { project.remove(COMPILING_LOCK) };
        editor.file_result(COMPILING_LOCK, result);
    }
}
