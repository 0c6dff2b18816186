use std::io::Write as _;

use super::*;

fn logs(state: &Path) -> Vec<LogFile> {
    let folder = state.join(log_files::FOLDER);
    std::fs::create_dir(&folder).unwrap();
    for (name, project) in
        [("1-10", Some("/a/Castle")), ("2-11", Some("/b/Dungeon")), ("3-12", None), ("4-13", Some("/a/Castle"))]
    {
        let mut file = std::fs::File::create(folder.join(format!("{name}.jsonl"))).unwrap();
        if let Some(project) = project {
            writeln!(file, "{{\"event\":\"project_found\",\"project\":\"{project}\"}}").unwrap();
        }
        writeln!(file, "{{\"event\":\"x\"}}").unwrap();
    }
    log_files::all(state)
}

#[test]
fn whoever_has_the_pid_later_keeps_no_follower() {
    let start = Instant::now();
    let (record, none, unknown) = (Some(true), Some(false), None);
    // Each row: at which second the record and the process were seen, and whether the process counts as ended.
    for (seen, over) in [
        // The process was killed in another container, so the pid means nothing here.
        (vec![(0, record, Liveness::Dead), (9, none, Liveness::Dead)], true),
        (vec![(0, record, Liveness::Dead), (9, record, Liveness::Dead)], false),
        // Another process has the pid now.
        (vec![(0, record, Liveness::Alive), (9, none, Liveness::Alive)], false),
        (vec![(0, record, Liveness::Alive), (1, none, Liveness::Alive), (9, none, Liveness::Alive)], true),
        // The process still starts, and has no record yet, however long that takes.
        (vec![(0, none, Liveness::Alive), (99, none, Liveness::Alive), (999, none, Liveness::Alive)], false),
        (vec![(0, none, Liveness::Alive), (99, record, Liveness::Alive), (100, none, Liveness::Alive)], false),
        (vec![(0, record, Liveness::Alive), (1, unknown, Liveness::Alive), (9, unknown, Liveness::Alive)], false),
        (vec![(0, unknown, Liveness::Dead)], true),
    ] {
        let mut presence = Presence::default();
        let last = seen.iter().map(|(at, record, process)| {
            presence.has_ended(*record, *process, start + std::time::Duration::from_secs(*at))
        });
        assert_eq!(last.last(), Some(over), "{seen:?}");
    }
}

#[test]
fn the_log_of_the_projects_newest_gateway_is_shown_unless_another_is_named() {
    let state = tempfile::tempdir().unwrap();
    let logs = logs(state.path());
    let chosen = |wanted: Wanted| choose(logs.clone(), &wanted).map(|chosen| (chosen.log.pid(), chosen.others));
    assert_eq!(chosen(Wanted::Project(Some("/a/Castle".into()))), Ok((13, vec![10])));
    assert_eq!(chosen(Wanted::Project(Some("/b/Dungeon".into()))), Ok((11, vec![])));
    assert_eq!(chosen(Wanted::Project(None)), Ok((13, vec![12, 11, 10])));
    assert_eq!(chosen(Wanted::Gateway(12)), Ok((12, vec![])));
    let none = chosen(Wanted::Project(Some("/a/Other".into()))).unwrap_err();
    assert!(none.contains("/a/Other") && none.contains("--gateway 13 (of /a/Castle)"), "{none}");
    assert!(choose(Vec::new(), &Wanted::Project(None)).unwrap_err().contains("An AI client starts"));
}
