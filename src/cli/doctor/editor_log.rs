//! Looks into Unity's own log for compile errors of a project whose editor lives and does not listen. In Safe Mode, which Unity offers
//! for such a project, no package runs.
//!
//! There is one log for all editors of a user, written anew by each that starts. So it is believed only if it names this project, and
//! if the compile error comes after everything that shows a domain with the project's scripts.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::cli::variables::variable;
use crate::platform::host::System;
use crate::protocol::text::{clean, cut_with_ellipsis};

/// How much of the log's beginning is searched for the project: Unity writes its command line and the project's path first.
const HEAD_BYTES: usize = 64 * 1024;
/// How much of its end is searched for errors. Safe Mode writes little after them.
const TAIL_BYTES: usize = 1024 * 1024;
/// Longest line that is shown.
const LINE_MAX_BYTES: usize = 300;
/// The mark of the compiler's errors.
const ERROR: &str = ": error CS";
/// What Unity writes when it loads the project's scripts, which it does only if they compile.
const LOADED: [&str; 2] = ["Reloading assemblies", "Domain Reload Profiling"];

/// Returns the last compile error in the log of the editor that has this project open, if the log shows that it still stands.
pub(super) fn compile_error(project: &Path) -> Option<String> {
    let (head, tail) = ends(&place(System::HERE)?)?;
    error_in(&head, &tail, &project.display().to_string())
}

/// Returns where Unity writes its log if nobody named another file.
fn place(system: System) -> Option<PathBuf> {
    let (folder, rest) = match system {
        System::Windows => ("LOCALAPPDATA", "Unity/Editor/Editor.log"),
        System::Macos => ("HOME", "Library/Logs/Unity/Editor.log"),
        System::Linux => ("HOME", ".config/unity3d/Editor.log"),
    };
    Some(PathBuf::from(variable(folder)?).join(rest))
}

/// Returns the beginning and the end of a file.
fn ends(log: &Path) -> Option<(String, String)> {
    let mut file = std::fs::File::open(log).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut read = |from: u64, most: usize| {
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        file.by_ref().take(most as u64).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Some((read(0, HEAD_BYTES)?, read(length.saturating_sub(TAIL_BYTES as u64), TAIL_BYTES)?))
}

fn error_in(head: &str, tail: &str, project: &str) -> Option<String> {
    let slashed = |text: &str| text.replace('\\', "/");
    let project = slashed(project.trim_end_matches(['/', '\\']));
    let names_it = |line: &str| {
        let line = slashed(line);
        line.match_indices(&project).any(|(at, found)| {
            let rest = line.get(at + found.len()..).unwrap_or_default();
            // Another project's path may begin with this one's.
            rest.chars().next().is_none_or(|next| next == '"' || next == '\'' || next.is_whitespace())
                || rest.trim_end() == "/"
        })
    };
    if project.is_empty() || !head.lines().any(names_it) {
        return None;
    }
    let lines = tail.lines().rev().take_while(|line| !LOADED.iter().any(|mark| line.contains(mark)));
    let error = lines.filter(|line| line.contains(ERROR)).last()?;
    Some(cut_with_ellipsis(&clean(error.trim()), LINE_MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_counts_if_the_log_is_of_this_project_and_nothing_was_loaded_after_it() {
        const ERROR: &str = "Assets/A.cs(3,7): error CS0246: no such type";
        let head = "COMMAND LINE ARGUMENTS:\nUnity\n-projectPath\n/home/a/Castle\n";
        let (reload, other) = ("Reloading assemblies after forced synchronous recompile.\n", "x: error CS1\n");
        let broken = format!("{reload}{ERROR}\nEntering safe mode\n");
        for (head, tail, project, found) in [
            (head, broken.clone(), "/home/a/Castle", Some(ERROR)),
            (head, broken.clone(), "/home/a/Castle/", Some(ERROR)),
            ("Successfully changed project path to: C:\\a\\Castle", broken.clone(), "C:/a/Castle", Some(ERROR)),
            // The first of several is shown: the others may only follow from it.
            (head, format!("{ERROR}\n{other}"), "/home/a/Castle", Some(ERROR)),
            (head, broken.clone(), "/home/a/Castl", None),
            (head, broken.clone(), "/home/b/Castle", None),
            ("", broken.clone(), "/home/a/Castle", None),
            (head, format!("{broken}{reload}"), "/home/a/Castle", None),
            (head, reload.to_owned(), "/home/a/Castle", None),
        ] {
            assert_eq!(error_in(head, &tail, project).as_deref(), found, "{head} {tail} {project}");
        }
    }
}
