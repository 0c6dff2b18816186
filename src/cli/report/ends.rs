//! The ends of the logs that go into a report.

use std::borrow::Cow;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::limits::logs::{REPORT_GATEWAYS_MAX, REPORT_LOG_MAX_BYTES};
use crate::platform::host::open_without_following;
use crate::protocol::text::clean;
use crate::storage::log_files;

/// The ends of logs, and the projects that all logs name. Lines that are cut off and logs that are left out count too.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) logs: Vec<(String, Vec<String>)>,
    pub(super) projects: Vec<String>,
}

/// Reads the ends of the logs of the gateways that started last, those of this project first, and the end of the hub's
/// own file.
pub(super) fn read(state: &Path, project: Option<&Path>) -> Ends {
    let project = project.map(|project| clean(&project.to_string_lossy()));
    let mut projects = Vec::new();
    let mut logs: Vec<(bool, u32, Vec<String>)> = Vec::new();
    for log in log_files::all(state) {
        let lines = log_files::lines(&log);
        let named: Vec<String> = log_files::projects(&lines).into_iter().map(Cow::into_owned).collect();
        let is_ours = project.as_ref().is_some_and(|project| named.contains(project));
        projects.extend(named);
        projects.extend(lines.iter().flat_map(|line| proposed(line)));
        logs.push((!is_ours, log.pid(), end_of(lines)));
    }
    logs.sort_by_key(|(is_other, ..)| *is_other);
    let of_gateways = logs.into_iter().take(REPORT_GATEWAYS_MAX).enumerate();
    let mut logs: Vec<_> =
        of_gateways.map(|(at, (_, pid, lines))| (format!("logs/{}-gateway-{pid}.jsonl", at + 1), lines)).collect();
    if let Ok(lines) = end_of_file(&state.join("hub").join("hub.log")) {
        logs.push(("logs/hub-stderr.log".to_owned(), lines));
    }
    Ends { logs, projects }
}

/// Returns the projects that a line names in holdfast's own texts: in `--project PATH`, or after `--editor` as a name
/// that was not found.
fn proposed(line: &str) -> Vec<String> {
    const PROJECT: &str = "--project ";
    const EDITOR: &str = "--editor ";
    if !line.contains(PROJECT) && !line.contains(EDITOR) {
        return Vec::new();
    }
    let Ok(Value::Object(members)) = serde_json::from_str(line) else { return Vec::new() };
    let texts = || members.values().filter_map(Value::as_str);
    let path = |after: &str| match after.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => {
            let word = after.split_whitespace().next().unwrap_or_default();
            word.trim_end_matches(['.', ',', ';', ':', '`', ')']).to_owned()
        }
    };
    let name = |after: &str| {
        let ends = [": no editor is known", " fits several projects"];
        ends.iter().find_map(|end| after.split_once(end)).map(|(name, _)| name.to_owned())
    };
    let paths = texts().flat_map(|text| text.split(PROJECT).skip(1)).map(path);
    let names = texts().flat_map(|text| text.split(EDITOR).skip(1)).filter_map(name);
    paths.filter(|path| path.contains(['/', '\\'])).chain(names).collect()
}

fn end_of(lines: Vec<String>) -> Vec<String> {
    let mut bytes = 0;
    let kept = lines.iter().rev().take_while(|line| {
        bytes += line.len() + 1;
        bytes <= REPORT_LOG_MAX_BYTES
    });
    let first = lines.len() - kept.count();
    lines.into_iter().skip(first).collect()
}

/// Returns the last whole lines of a file, however long it is.
fn end_of_file(path: &Path) -> io::Result<Vec<String>> {
    let mut file = open_without_following(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let max = REPORT_LOG_MAX_BYTES as u64;
    // One byte more is read: it shows whether the first line is whole.
    let from = meta.len().saturating_sub(max + 1);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    let first = if from == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1) };
    let whole = bytes.get(first..).unwrap_or_default();
    Ok(String::from_utf8_lossy(whole).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_known_though_the_line_that_names_it_is_cut_off_or_its_log_is_left_out() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join(log_files::FOLDER);
        std::fs::create_dir(&folder).unwrap();
        let number = REPORT_GATEWAYS_MAX + 2;
        for at in 1..=number {
            let head = format!("{{\"event\":\"project_found\",\"project\":\"/srv/Keep{at}\"}}\n");
            let rest = format!("{{\"event\":\"x\",\"of\":\"Keep{at}\"}}\n").repeat(REPORT_LOG_MAX_BYTES / 20);
            std::fs::write(folder.join(format!("{at}-{at}.jsonl")), head + &rest).unwrap();
        }
        let ends = read(state.path(), Some(Path::new("/srv/Keep1")));
        assert_eq!(ends.logs.len(), REPORT_GATEWAYS_MAX);
        assert_eq!(ends.logs[0].0, "logs/1-gateway-1.jsonl");
        assert!(ends.logs.iter().all(|(_, lines)| !lines.is_empty() && !lines[0].contains("project_found")));
        for at in 1..=number {
            assert!(ends.projects.contains(&format!("/srv/Keep{at}")), "{:?}", ends.projects);
        }
    }

    #[test]
    fn projects_that_a_line_proposes_are_known() {
        let line = r#"{"event":"project_problem","problem":"One of these: --project /srv/One or --project \"/srv/T wo\" or --project C:\\Three."}"#;
        assert_eq!(proposed(line), ["/srv/One", "/srv/T wo", "C:\\Three"]);
        for (text, name) in [
            ("--editor Keep: no editor is known by that name", "Keep"),
            ("--editor A B fits several projects; x", "A B"),
        ] {
            assert_eq!(proposed(&serde_json::json!({"problem": text}).to_string()), [name]);
        }
        for none in ["--project /srv/One", r#"{"says":"name it with --project"}"#, r#"{"says":"--project Castle"}"#] {
            assert_eq!(proposed(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn of_a_long_log_of_the_hub_the_end_is_kept() {
        let state = tempfile::tempdir().unwrap();
        std::fs::create_dir(state.path().join("hub")).unwrap();
        let line = format!("{}\n", "x".repeat(99));
        for (before, number) in
            [("", 3), ("first\n", 3), ("first\n", REPORT_LOG_MAX_BYTES), ("", REPORT_LOG_MAX_BYTES / 100)]
        {
            let text = format!("{before}{}the last\n", line.repeat(number));
            std::fs::write(state.path().join("hub/hub.log"), &text).unwrap();
            let ends = read(state.path(), None);
            let [(name, lines)] = &ends.logs[..] else { panic!("one log: {}", ends.logs.len()) };
            let all: Vec<&str> = text.lines().collect();
            assert_eq!(name, "logs/hub-stderr.log");
            assert!(all.ends_with(&lines.iter().map(String::as_str).collect::<Vec<_>>()), "{}", lines.len());
            let most = (REPORT_LOG_MAX_BYTES - "the last\n".len()) / 100;
            assert_eq!(lines.len(), all.len().min(most + 1));
        }
    }
}
