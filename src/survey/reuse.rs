//! Decides whether the process that a project's files name is the editor that wrote them. A crashed editor leaves its files
//! behind, and the system gives its pid to another process (on Windows soon).
//!
//! An editor writes its pid after it began, so a process that began after the files were written cannot have written them. Times
//! alone are not reliable enough: a clock may be changed, and a file server has its own clock. So a process counts as another one
//! only if its name is not an editor's either. If the times of the files or the process cannot be read, the process counts as the
//! editor.

use std::path::Path;
use std::time::SystemTime;

use crate::limits::PID_REUSE_MARGIN;
use crate::platform::host::{Host, Liveness, Process};
use crate::protocol::dialect::Dialect;

/// Parts of the names of an editor's process: `Unity.exe` on Windows, `Unity` on macOS and Linux; `Tuanjie` is Unity's edition
/// for China. Names of helpers (`UnityShaderCompiler`) and of wrappers (`unity-editor`) contain these words too. That is
/// accepted: a false match only means that the process still counts as the editor.
const EDITORS: [&str; 2] = ["unity", "tuanjie"];

/// Whether the editor with this pid, which is in the project's files, is running.
pub(super) fn liveness(host: &dyn Host, project: &Path, dialect: &dyn Dialect, pid: u32) -> Liveness {
    let told = host.liveness(pid);
    if told != Liveness::Alive {
        return told;
    }
    let records = dialect.project_files().iter().filter(|file| file.names_process);
    // This is the time of the newest file. A process that began after all of the files were written has written none of
    // them, so it does not matter which file names it.
    let written = records.filter_map(|file| host.changed(&project.join(file.path))).max();
    match written.zip(host.process(pid)) {
        Some((written, process)) if is_another(written, &process) => Liveness::Dead,
        _ => Liveness::Alive,
    }
}

/// Whether the process cannot have written these files: it began after they were written (plus a margin) and does not have an
/// editor's name.
fn is_another(written: SystemTime, process: &Process) -> bool {
    let is_editor = |name: &String| EDITORS.iter().any(|editor| name.to_lowercase().contains(editor));
    let began_later = process.began.duration_since(written).is_ok_and(|later| later > PID_REUSE_MARGIN);
    began_later && !process.names.iter().any(is_editor)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_a_process_that_began_later_and_is_called_otherwise_is_another() {
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let (day, second) = (Duration::from_secs(24 * 3600), Duration::from_secs(1));
        let is_another = |name: &str, began: SystemTime| {
            let names = name.split('|').map(str::to_owned).collect();
            is_another(written, &Process { names, began })
        };
        for name in ["chrome.exe", "bash", "Main Thread|Code Helper", ""] {
            assert!(is_another(name, written + day), "{name}");
            assert!(is_another(name, written + PID_REUSE_MARGIN + second), "{name}");
            assert!(!is_another(name, written + PID_REUSE_MARGIN), "{name}");
            assert!(!is_another(name, written - day), "{name}");
        }
        for name in ["Unity", "Unity.exe", "UNITY.EXE", "Main Thread|Unity", "unity-editor", "Tuanjie.exe", "Tuanjie"] {
            assert!(!is_another(name, written + day), "{name}");
        }
    }
}
