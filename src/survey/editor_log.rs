//! Looks into Unity's own log for compile errors of a project whose editor lives and does not listen. In Safe Mode, which Unity offers
//! for such a project, no package runs.
//!
//! There is one log for all editors of a user, written anew by each that starts. So it is believed only if it names this project, and
//! if the compile error comes after everything that shows a domain with the project's scripts.

use std::path::Path;

use crate::limits::{EDITOR_LOG_HEAD_BYTES, EDITOR_LOG_TAIL_BYTES};
use crate::platform::host::Host;
use crate::protocol::text::{clean, cut_with_ellipsis};

/// Longest line that is shown.
const LINE_MAX_BYTES: usize = 300;
/// The marks of the compiler's errors, in their order in a line.
const ERROR: [&str; 2] = [".cs(", "): error CS"];
/// The argument that names the project. Unity lists its arguments, one in a line.
const ARGUMENT: [&str; 2] = ["-projectPath", "-createProject"];
/// What Unity writes before the path of the project that it has opened.
const OPENED: &str = "Successfully changed project path to:";
/// What Unity writes once the scripts compile, or when it begins or ends to load a domain. Its first domain has no scripts of the
/// project, and comes before they are compiled.
const LOADED: [&str; 4] =
    ["*** Tundra build success", "Begin MonoManager ReloadAssembly", "Reloading assemblies", "Domain Reload Profiling"];

/// Returns the first compile error in this log, if it is of the editor that has this project open and shows that the error still
/// stands. `editor`: that editor's process, if it is known. May block.
pub fn compile_error(host: &dyn Host, log: &Path, project: &Path, editor: Option<u32>) -> Option<String> {
    // An editor that writes elsewhere leaves the log of an earlier one as it was.
    let began = editor.and_then(|pid| host.process(pid)).map(|process| process.began);
    if began.zip(host.changed(log)).is_some_and(|(began, changed)| changed < began) {
        return None;
    }
    let (head, tail) = host.ends(log, EDITOR_LOG_HEAD_BYTES, EDITOR_LOG_TAIL_BYTES).ok()?;
    error_in(&String::from_utf8_lossy(&head), &String::from_utf8_lossy(&tail), &project.display().to_string())
}

fn error_in(head: &str, tail: &str, project: &str) -> Option<String> {
    let slashed = |text: &str| text.replace('\\', "/");
    let project = slashed(project.trim_end_matches(['/', '\\']));
    // Another project's path may begin with this one's, and its log may name this one as a package.
    let is_it = |path: &str| slashed(path.trim()).trim_matches(['"', '\'']).trim_end_matches('/') == project;
    let is_argument = |line: &str| ARGUMENT.iter().any(|name| line.trim().eq_ignore_ascii_case(name));
    let is_named = head.lines().zip(head.lines().skip(1)).any(|(before, line)| is_argument(before) && is_it(line));
    let is_opened = || head.lines().any(|line| line.trim().strip_prefix(OPENED).is_some_and(is_it));
    if project.is_empty() || !is_named && !is_opened() {
        return None;
    }
    let lines = tail.lines().rev().take_while(|line| !LOADED.iter().any(|mark| line.contains(mark)));
    let is_error = |line: &&str| line.split_once(ERROR[0]).is_some_and(|(_, rest)| rest.contains(ERROR[1]));
    let error = lines.filter(is_error).last()?;
    Some(cut_with_ellipsis(&clean(error.trim()), LINE_MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_counts_if_the_log_is_of_this_project_and_nothing_was_loaded_after_it() {
        const ERROR: &str = "Assets/A.cs(3,7): error CS0246: no such type";
        let head = "COMMAND LINE ARGUMENTS:\nUnity\n-projectPath\n/home/a/Castle\n";
        let (reload, other) = ("Reloading assemblies after forced synchronous recompile.\n", "B.cs(1,2): error CS1\n");
        let broken = format!("{reload}{ERROR}\nEntering safe mode\n");
        for (head, tail, project, found) in [
            (head, broken.clone(), "/home/a/Castle", Some(ERROR)),
            (head, broken.clone(), "/home/a/Castle/", Some(ERROR)),
            ("Successfully changed project path to: C:\\a\\Castle", broken.clone(), "C:/a/Castle", Some(ERROR)),
            // The first of several is shown: the others may only follow from it.
            (head, format!("{ERROR}\n{other}"), "/home/a/Castle", Some(ERROR)),
            ("-projectpath\n/home/a/Castle\n", broken.clone(), "/home/a/Castle", Some(ERROR)),
            ("-projectPath\n/home/a/Castle 2\n", broken.clone(), "/home/a/Castle", None),
            ("com.loot@file:/home/a/Castle\n/home/a/Castle\n", broken.clone(), "/home/a/Castle", None),
            (head, broken.clone(), "/home/a/Castl", None),
            (head, broken.clone(), "/home/b/Castle", None),
            ("", broken.clone(), "/home/a/Castle", None),
            (head, format!("{broken}{reload}"), "/home/a/Castle", None),
            (head, reload.to_owned(), "/home/a/Castle", None),
            // The project was corrected, and its first load is still under way.
            (head, format!("{broken}*** Tundra build success\n"), "/home/a/Castle", None),
            (head, "Somebody says: error CS1\n".to_owned(), "/home/a/Castle", None),
        ] {
            assert_eq!(error_in(head, &tail, project).as_deref(), found, "{head} {tail} {project}");
        }
    }

    #[test]
    fn a_log_that_the_living_editor_has_not_written_is_of_an_earlier_one() {
        use crate::platform::host::RealHost;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Editor.log");
        std::fs::write(&path, "-projectPath\n/a/Castle\nAssets/A.cs(3,7): error CS0246: no such type\n").unwrap();
        let found = |editor| compile_error(&RealHost, &path, Path::new("/a/Castle"), editor).is_some();
        let us = Some(std::process::id());
        assert!(found(us) && found(None));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(!found(us), "this process began later");
        assert!(found(None), "nobody knows when the editor began");
    }
}
