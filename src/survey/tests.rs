use std::io;
use std::time::SystemTime;

use super::*;
use crate::config::{self, PortSource};
use crate::fsm::bridge::{ConnectFailure, Sign};
use crate::fsm::cause::Cause;
use crate::net::BoxFuture;
use crate::platform::host::{Liveness, Owner, Process, RealHost, Watch};
use crate::protocol::dialect::{self, Endpoint, Expected};

/// A machine with real files, and with processes that the test defines.
#[derive(Default)]
struct Machine {
    owners: Vec<(u16, Owner)>,
    alive: Vec<u32>,
    dead: Vec<u32>,
    processes: Vec<(u32, Process)>,
}

impl Host for Machine {
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>> {
        RealHost.read(path, max)
    }
    fn exists(&self, path: &Path) -> bool {
        RealHost.exists(path)
    }
    fn write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn append_line(&self, _: &Path, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn remove(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn list(&self, _: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn liveness(&self, pid: u32) -> Liveness {
        match (self.alive.contains(&pid), self.dead.contains(&pid)) {
            (true, _) => Liveness::Alive,
            (_, true) => Liveness::Dead,
            _ => Liveness::Unknown,
        }
    }
    fn process(&self, pid: u32) -> Option<Process> {
        self.processes.iter().find(|(known, _)| *known == pid).map(|(_, process)| process.clone())
    }
    fn changed(&self, path: &Path) -> Option<SystemTime> {
        RealHost.changed(path)
    }
    fn port_owner(&self, port: u16) -> Option<Owner> {
        self.owners.iter().find(|(owned, _)| *owned == port).map(|(_, owner)| owner.clone())
    }
    fn watch(&self, _: &[PathBuf]) -> Option<Watch> {
        None
    }
    fn random(&self) -> [u8; 16] {
        [0; 16]
    }
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        Box::pin(async move { work() })
    }
}

fn owner(pid: u32, words: &[&str]) -> Owner {
    Owner { pid, name: "Unity".to_owned(), command_line: words.iter().map(|word| (*word).to_owned()).collect() }
}

/// A Unity project on disk.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Assets", "ProjectSettings", "Library", "UserSettings", "Temp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        config::canonical(self.0.path()).unwrap()
    }

    fn with(self, file: &str, content: &str) -> Self {
        std::fs::write(self.0.path().join(file), content).unwrap();
        self
    }

    fn with_port(self, port: u16) -> Self {
        self.with("UserSettings/UnityMcpSettings.json", &format!(r#"{{"customPort":{port}}}"#))
    }

    fn with_pid(self, pid: u32) -> Self {
        self.with("Library/EditorInstance.json", &format!(r#"{{"process_id":{pid}}}"#))
    }
}

fn named(project: &Project, ports: &[(u16, PortSource)]) -> Config {
    Config { project: Some(project.path()), ports: ports.to_vec(), ..Config::default() }
}

fn look(host: &Machine, config: &Config, roots: &[PathBuf]) -> Survey {
    survey(host, config, roots, None)
}

fn ports(survey: &Survey) -> Vec<(u16, PortSource)> {
    survey.targets.iter().map(|target| (target.endpoint.port(), target.source)).collect()
}

#[test]
fn flag_environment_settings_and_default_are_tried_in_this_order_once_each() {
    let project = Project::new().with_port(8711);
    let given = [(8000, PortSource::Flag), (8711, PortSource::Environment)];
    let found = look(&Machine::default(), &named(&project, &given), &[]);
    assert_eq!(ports(&found), [(8000, PortSource::Flag), (8711, PortSource::Environment), (8700, PortSource::Default)]);
    let found = look(&Machine::default(), &named(&project, &[]), &[]);
    assert_eq!(ports(&found), [(8711, PortSource::Settings), (8700, PortSource::Default)]);
}

#[test]
fn without_a_project_only_named_ports_are_called_and_the_rest_is_listed() {
    let config = Config { ports: vec![(8000, PortSource::Environment)], ..Config::default() };
    let found = look(&Machine::default(), &config, &[]);
    assert_eq!(ports(&found), [(8000, PortSource::Environment)]);
    assert_eq!(found.listed.iter().map(|listed| listed.port).collect::<Vec<_>>(), [8700]);

    let host = Machine { owners: vec![(8700, owner(7, &["Unity"]))], ..Machine::default() };
    let found = look(&host, &Config::default(), &[]);
    assert!(found.targets.is_empty());
    assert_eq!(found.cause(), Cause::ProjectUnknown, "who listens says nothing to a session that means no project");
    assert_eq!(look(&Machine::default(), &Config::default(), &[]).cause(), Cause::ProjectUnknown);
}

#[test]
fn several_roots_are_ambiguous_unless_the_client_was_started_in_one() {
    let (one, two) = (Project::new(), Project::new());
    let roots = [one.path(), two.path()];
    let found = look(&Machine::default(), &Config::default(), &roots);
    assert_eq!((found.project.clone(), found.ambiguous.len(), found.cause()), (None, 2, Cause::Ambiguous));
    assert!(found.targets.is_empty());
    let here = Config { working_dir: Some(two.path().join("Assets")), ..Config::default() };
    assert_eq!(look(&Machine::default(), &here, &roots).project, Some(two.path()));
    assert_eq!(look(&Machine::default(), &here, &[one.path()]).project, Some(one.path()), "a root beats the folder");
}

#[test]
fn the_folder_that_the_client_names_comes_after_its_roots_and_before_the_working_directory() {
    let (one, two, three) = (Project::new(), Project::new(), Project::new());
    let config = |client_dir: &Path| Config {
        client_dir: Some(client_dir.to_path_buf()),
        working_dir: Some(three.path()),
        ..Config::default()
    };
    let found = |client_dir: &Path, roots: &[PathBuf]| look(&Machine::default(), &config(client_dir), roots).project;
    assert_eq!(found(&two.path().join("Assets"), &[]), Some(two.path()), "around it");
    assert_eq!(found(&two.path(), &[one.path()]), Some(one.path()), "a root beats it");
    assert_eq!(found(&two.path(), &[one.path(), two.path(), three.path()]), Some(two.path()), "it decides among roots");
    let folder = tempfile::tempdir().unwrap();
    let folder = config::canonical(folder.path()).unwrap();
    assert_eq!(found(&folder, &[]), Some(three.path()), "nothing is there");
    for part in ["Assets", "ProjectSettings"] {
        std::fs::create_dir_all(folder.join("a/b/Below").join(part)).unwrap();
    }
    assert_eq!(found(&folder, &[]), Some(folder.join("a/b/Below")), "below it, as for a working directory");
}

#[test]
fn a_named_project_that_is_none_is_a_problem_and_no_guess_is_made() {
    let here = Project::new();
    let folder = tempfile::tempdir().unwrap();
    let config =
        Config { project: Some(folder.path().to_path_buf()), working_dir: Some(here.path()), ..Config::default() };
    let found = look(&Machine::default(), &config, &[here.path()]);
    assert_eq!((found.project, found.targets.len(), found.facts.problems.len()), (None, 0, 1));
}

#[test]
fn a_process_that_got_the_id_of_a_crashed_editor_is_not_taken_for_it() {
    let project = Project::new().with_port(8711).with_pid(42);
    let tomorrow = RealHost.now() + std::time::Duration::from_secs(24 * 3600);
    let seen = |name: &str, began: SystemTime| {
        let process = Process { names: vec![name.to_owned()], began };
        let host = Machine { alive: vec![42], processes: vec![(42, process)], ..Machine::default() };
        let found = look(&host, &named(&project, &[]), &[]);
        assert_eq!(found.targets[0].liveness(&host), found.editor().filter(|editor| *editor != Liveness::Dead));
        (found.evidence.editor, found.targets[0].editor_pid)
    };
    assert_eq!(seen("chrome", tomorrow), (Sign::Dead, None));
    assert_eq!(seen("Unity", tomorrow), (Sign::Alive, Some(42)), "a clock that was set anew ends no editor");
    assert_eq!(seen("chrome", RealHost.now()), (Sign::Alive, Some(42)), "so soon it may have written the file");
    // If a file is written again, the process that wrote it is alive.
    let project = project.with("Library/EditorInstance.json", r#"{"process_id":43}"#);
    let file = std::fs::File::options().write(true).open(project.path().join("Library/EditorInstance.json")).unwrap();
    file.set_modified(tomorrow).unwrap();
    let later = Process { names: vec!["code".to_owned()], began: tomorrow };
    let host = Machine { alive: vec![43], processes: vec![(43, later)], ..Machine::default() };
    assert_eq!(look(&host, &named(&project, &[]), &[]).evidence.editor, Sign::Alive);
}

#[test]
fn the_editors_process_is_evidence_and_a_dead_one_vouches_for_nobody() {
    let project = Project::new().with_pid(7);
    let alive = Machine { alive: vec![7], ..Machine::default() };
    let found = look(&alive, &named(&project, &[]), &[]);
    assert_eq!((found.evidence.editor, found.targets[0].editor_pid), (Sign::Alive, Some(7)));
    let dead = Machine { dead: vec![7], ..Machine::default() };
    let found = look(&dead, &named(&project, &[]), &[]);
    assert_eq!((found.evidence.editor, found.targets[0].editor_pid), (Sign::Dead, None));
}

/// Checks which ports may be connected to, depending on the source of the port, its owner, and what is known about the editor.
#[test]
fn the_identity_table() {
    use ConnectFailure::{Unproven, WrongProject};
    use Identity::{Assumed, Checked};
    let (ours, theirs) = (Project::new(), Project::new());
    let (our_path, their_path) = (ours.path(), theirs.path());
    let (our_path, their_path) = (our_path.to_str().unwrap(), their_path.to_str().unwrap());
    let with_ours = owner(7, &["Unity", "-projectPath", our_path]);
    let with_ours_in_small = owner(7, &["Unity", "-projectpath", our_path]);
    let with_theirs = owner(8, &["Unity", "-projectPath", their_path]);
    let relative = owner(7, &["Unity", "-projectPath", "."]);
    let silent = owner(7, &["Unity"]);
    let foreign_peer = owner(9, &["node", "server.js"]);

    let cases = [
        // A port that the user named.
        ("named, nobody known", true, None, None, false, Ok(Some(Assumed))),
        ("named, ours", true, Some(&with_ours), None, false, Ok(Some(Checked))),
        ("named, theirs", true, Some(&with_theirs), None, false, Err(WrongProject)),
        ("named, silent", true, Some(&silent), None, false, Ok(Some(Assumed))),
        ("named, our pid", true, Some(&silent), Some(7), false, Ok(Some(Checked))),
        ("named, started with a relative path", true, Some(&relative), None, false, Ok(Some(Assumed))),
        // A port from a file, or the default.
        ("found, nobody known", false, None, None, false, Ok(None)),
        ("found, nobody known, the editor checks", false, None, None, true, Ok(Some(Checked))),
        ("found, ours", false, Some(&with_ours), None, false, Ok(Some(Checked))),
        ("found, ours in small letters", false, Some(&with_ours_in_small), None, false, Ok(Some(Checked))),
        ("found, theirs", false, Some(&with_theirs), Some(7), true, Err(WrongProject)),
        ("found, our pid", false, Some(&silent), Some(7), false, Ok(Some(Checked))),
        ("found, our pid with a relative path", false, Some(&relative), Some(7), false, Ok(Some(Checked))),
        ("found, a stranger", false, Some(&foreign_peer), Some(7), false, Err(Unproven)),
        ("found, a stranger, the editor checks", false, Some(&foreign_peer), None, true, Err(Unproven)),
        ("found, silent, no pid", false, Some(&silent), None, false, Err(Unproven)),
    ];
    for (case, named, owner, editor_pid, checks, expected) in cases {
        let host =
            Machine { owners: owner.map(|owner| (1, owner.clone())).into_iter().collect(), ..Machine::default() };
        let expects = || Expected::Told { project_root: our_path.to_owned(), server_session_id: "s".to_owned() };
        let target = Target {
            endpoint: Endpoint::Port(1),
            source: if named { PortSource::Environment } else { PortSource::Settings },
            project: Some(ours.path()),
            editor_pid,
            expected: checks.then(expects),
            dialect: dialect::FALLBACK[0],
            package_version: None,
        };
        assert_eq!(check_owner(&host, &target), expected, "{case}");
    }
}

#[test]
fn without_a_project_a_named_port_is_assumed_whoever_owns_it() {
    let host = Machine { owners: vec![(1, owner(9, &["Unity", "-projectPath", "/elsewhere"]))], ..Machine::default() };
    let target = Target {
        endpoint: Endpoint::Port(1),
        source: PortSource::Flag,
        project: None,
        editor_pid: None,
        expected: None,
        dialect: dialect::FALLBACK[0],
        package_version: None,
    };
    assert_eq!(check_owner(&host, &target), Ok(Some(Identity::Assumed)));
}

#[test]
fn the_identity_is_that_of_the_files_as_they_are_now() {
    let project = Project::new();
    let settings = |session: &str| {
        let text = format!(
            r#"{{"customPort":9000,"isServerRunning":true,"projectRootPath":{:?},"serverSessionId":"{session}"}}"#,
            project.path().display().to_string()
        );
        std::fs::write(project.path().join("UserSettings/UnityMcpSettings.json"), text).unwrap();
    };
    settings("before");
    let machine = Machine { alive: vec![7], ..Machine::default() };
    let found = look(&machine, &named(&project, &[]), &[]);
    let now = |target: &Target| target_now(&machine, target.clone()).map(|target| target.expected);
    let session = |expected: Result<Option<Expected>, ConnectFailure>| match expected {
        Ok(Some(Expected::Told { server_session_id, .. })) => server_session_id,
        other => format!("{other:?}"),
    };
    let target = found.targets.first().unwrap();
    assert_eq!(session(Ok(target.expected.clone())), "before");
    settings("after");
    assert_eq!(session(now(target)), "after");
    // Neither an incomplete file nor a missing file names an identity.
    std::fs::write(project.path().join("UserSettings/UnityMcpSettings.json"), "{\"custom").unwrap();
    assert_eq!(session(now(target)), "before");
    let nowhere = Target { project: None, ..target.clone() };
    assert_eq!(session(now(&nowhere)), "before");
    // The files name another process than the survey did, so the target is out of date.
    let other = Target { editor_pid: Some(8), ..target.clone() };
    let project = project.with_pid(7);
    assert_eq!(session(now(&other)), "Err(Refused)");
    assert_eq!(session(now(&Target { editor_pid: Some(7), ..other })), "before");
    drop(project);
}

#[test]
fn the_file_of_a_copied_project_does_not_lead_to_the_first_ones_editor() {
    let (first, copy) = (Project::new(), Project::new());
    let text = format!(
        r#"{{"customPort":9000,"projectRootPath":{:?},"serverSessionId":"s"}}"#,
        first.path().display().to_string()
    );
    let target_of = |project: &Project| {
        std::fs::write(project.path().join("UserSettings/UnityMcpSettings.json"), &text).unwrap();
        look(&Machine::default(), &named(project, &[]), &[]).targets.first().unwrap().clone()
    };
    let machine = Machine { owners: vec![(9000, owner(7, &["Unity"]))], ..Machine::default() };
    let (ours, theirs) = (target_of(&first), target_of(&copy));
    assert!(target_now(&machine, ours).is_ok());
    assert_eq!(target_now(&machine, theirs.clone()), Err(ConnectFailure::WrongProject));
    assert_eq!(check_owner(&machine, &theirs), Err(ConnectFailure::WrongProject));
}

#[cfg(unix)]
#[test]
fn a_linked_file_of_a_project_is_not_followed() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), r#"{"customPort":9999}"#).unwrap();
    let project = Project::new();
    std::os::unix::fs::symlink(secret.path(), project.0.path().join("UserSettings/UnityMcpSettings.json")).unwrap();
    let found = look(&Machine::default(), &named(&project, &[]), &[]);
    assert_eq!(ports(&found), [(8700, PortSource::Default)]);
    assert_eq!(found.facts.problems.len(), 1);
}

#[test]
fn what_a_crashed_editor_left_behind_is_no_second_package() {
    let project = Project::new();
    std::fs::create_dir_all(project.path().join("Packages")).unwrap();
    std::fs::write(
        project.path().join("Library/MCPInstance.json"),
        r#"{"port": 9000, "pid": 4712, "projectPath": "/x"}"#,
    )
    .unwrap();
    let machine = Machine { dead: vec![4712], ..Machine::default() };
    let config = named(&project, &[]);
    let told = look(&machine, &config, &[]).dialect;
    let reads = told.project_files().iter().any(|file| file.path == "Library/MCPInstance.json");
    assert!(reads, "where nothing else is known it tells: {told:?}");
    let manifest = r#"{"dependencies": {"io.github.hatayama.uloopmcp": "2.1.1"}}"#;
    std::fs::write(project.path().join("Packages/manifest.json"), manifest).unwrap();
    let found = look(&machine, &config, &[]);
    assert_eq!(
        (found.dialect.name(), found.packages.len()),
        (dialect::FALLBACK[0].name(), 0),
        "{:?}",
        found.facts.problems
    );
}

#[test]
fn a_process_that_imports_assets_is_not_the_editor() {
    let project = Project::new().with_pid(7);
    let path = project.path().display().to_string();
    let worker = owner(8, &["Unity", "-batchMode", "-name", "AssetImportWorker0", "-projectPath", &path]);
    let editor = owner(7, &["Unity", "-projectPath", &path]);
    let target = Target {
        endpoint: Endpoint::Port(9000),
        source: PortSource::Settings,
        project: Some(project.path()),
        editor_pid: Some(7),
        expected: None,
        dialect: dialect::fallback(dialect::ALL),
        package_version: None,
    };
    let met = |owner| check_owner(&Machine { owners: vec![(9000, owner)], ..Machine::default() }, &target);
    assert_eq!(met(editor), Ok(Some(Identity::Checked)));
    assert_eq!(met(worker), Err(ConnectFailure::Unproven));
}

#[test]
fn a_project_with_packages_of_two_protocols_is_listed_and_not_called() {
    let project = Project::new().with_pid(7);
    std::fs::create_dir_all(project.path().join("Packages")).unwrap();
    let manifest = project.path().join("Packages/manifest.json");
    let both = r#"{"dependencies": {"dev.holdfast.unity": "0.1.0", "io.github.hatayama.uloopmcp": "2.1.1"}}"#;
    std::fs::write(&manifest, both).unwrap();
    let machine = Machine { alive: vec![7], owners: vec![(9000, owner(7, &["Unity"]))], ..Machine::default() };
    let config = named(&project, &[(9000, PortSource::Flag)]);
    let found = look(&machine, &config, &[]);
    assert_eq!(
        (found.packages.as_slice(), found.cause()),
        (["holdfast", dialect::FALLBACK[0].name()].as_slice(), Cause::Ambiguous)
    );
    assert!(found.targets.is_empty() && found.listed.iter().any(|listed| listed.port == 9000), "{found:?}");
    assert!(
        found.facts.problems.iter().any(|problem| problem.contains("HOLDFAST_DIALECT")),
        "{:?}",
        found.facts.problems
    );

    let told = look(&machine, &Config { dialects: dialect::FALLBACK, ..config.clone() }, &[]);
    assert_eq!((told.packages.len(), told.dialect.name(), told.targets.len()), (0, dialect::FALLBACK[0].name(), 2));
    // One of the two packages is removed while holdfast runs: the next survey uses the other one.
    std::fs::write(&manifest, both.replace(r#""dev.holdfast.unity": "0.1.0", "#, "")).unwrap();
    let left = look(&machine, &config, &[]);
    assert_eq!((left.packages.len(), left.dialect.name(), left.targets.len()), (0, dialect::FALLBACK[0].name(), 2));
}

/// A package that Unity offers to every project must not take a project away from the package that its user chose.
#[test]
fn a_package_that_gives_way_is_used_only_alone_or_by_a_setting() {
    let project = Project::new().with_pid(7);
    std::fs::create_dir_all(project.path().join("Packages")).unwrap();
    let manifest = project.path().join("Packages/manifest.json");
    let installed = |packages: &[&str]| {
        let lines: Vec<String> = packages.iter().map(|package| format!(r#""{package}": "0.8.0""#)).collect();
        std::fs::write(&manifest, format!(r#"{{"dependencies": {{{}}}}}"#, lines.join(", "))).unwrap();
    };
    let giving = dialect::ALL.iter().copied().find(|dialect| dialect.gives_way()).expect("one gives way");
    let machine = Machine { alive: vec![7], ..Machine::default() };
    let config = named(&project, &[]);
    let seen = |config: &Config| {
        let found = look(&machine, config, &[]);
        (found.dialect.name(), found.packages.len(), found.facts.notes)
    };

    installed(&["com.unity.pipeline"]);
    assert_eq!(seen(&config), (giving.name(), 0, Vec::new()));

    installed(&["com.unity.pipeline", "dev.holdfast.unity"]);
    let (used, ambiguous, notes) = seen(&config);
    assert_eq!((used, ambiguous), ("holdfast", 0), "the other one is used, and nothing is ambiguous");
    assert!(
        notes.len() == 1 && notes[0].contains(giving.title()) && notes[0].contains("HOLDFAST_DIALECT"),
        "{notes:?}"
    );

    let only = Config { dialects: dialect::only(giving.name()), ..config.clone() };
    assert_eq!(seen(&only), (giving.name(), 0, Vec::new()), "a setting changes that");

    installed(&["com.unity.pipeline", "dev.holdfast.unity", "io.github.hatayama.uloopmcp"]);
    assert_eq!(seen(&config).1, 2, "two others are as ambiguous as without it");
}

#[test]
fn a_home_is_told_not_to_have_been_searched_and_what_to_do() {
    let home = std::env::home_dir().and_then(|home| config::canonical(&home)).unwrap();
    let empty = tempfile::tempdir().unwrap();
    let told = |working_dir: &Path, roots: &[PathBuf]| {
        let config = Config { working_dir: Some(working_dir.to_path_buf()), ..Config::default() };
        survey(&Machine::default(), &config, roots, None).facts.problems.join(" ")
    };
    let unsearched = "below it none was looked for, because it is a home folder or holds one";
    for above in home.ancestors() {
        let says = format!("No Unity project is around {}, and {unsearched}.", above.display());
        let told = told(above, &[above.to_path_buf()]);
        assert!(told.starts_with(&says) && !told.contains("levels below"), "{told}");
        assert_eq!(told.matches("none was looked for").count(), 1, "{told}");
    }
    // Another folder was searched, so each folder is reported with its own result.
    let told = told(&home, &[empty.path().to_path_buf(), empty.path().join("gone")]);
    assert!(told.contains(&format!("up to 3 levels below {} (", empty.path().display())), "{told}");
    assert!(told.contains(unsearched) && told.contains("because it does not exist or may not be read"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_projects_file_is_told_as_one() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("settings");
    std::fs::write(&file, r#"{"customPort":8711}"#).unwrap();
    let project = Project::new();
    let settings = project.path().join("UserSettings/UnityMcpSettings.json");
    let problems = || {
        let config = Config { dialects: dialect::FALLBACK, ..Config::default() };
        survey(&Machine::default(), &config, &[project.path()], None).facts.problems
    };
    std::os::unix::fs::symlink(&file, &settings).unwrap();
    let told = problems().join(" ");
    assert!(told.contains("is a symbolic link, which is not followed: put a copy of the file in its place."), "{told}");
    assert!(!told.contains("allow this user"), "{told}");
    std::fs::remove_file(&settings).unwrap();
    std::fs::create_dir(&settings).unwrap();
    assert!(
        problems()
            .join(" ")
            .contains("is not a regular file, so it is not read: move it away, then set the port again")
    );
}
