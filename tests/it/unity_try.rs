//! `holdfast unity try` with a program in the place of Unity that does not come up, on Unity's own command line. How it comes up and
//! is tried is in `chaos-tests/tests/unity_host/unity_try.rs`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use holdfast::protocol::dialect;

/// A home with a stand-in for Unity, where Unity Hub would install this version.
struct Home(tempfile::TempDir);

impl Home {
    /// `does`: what the program does once it has its arguments, as lines of a shell.
    fn with(version: &str, does: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let unity = home.0.path().join("Unity/Hub/Editor").join(version).join("Editor/Unity");
        fs::create_dir_all(unity.parent().unwrap()).unwrap();
        fs::create_dir_all(home.path("tmp")).unwrap();
        let text = format!(
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in -projectPath) project=$2; shift ;; -logFile) log=$2; shift ;; esac; shift; done\n\
             {does}\n"
        );
        fs::write(&unity, text).unwrap();
        fs::set_permissions(&unity, fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.0.path().join(rest)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap());
        command.args(["unity", "try"]).args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a trial that must fail, and returns what it says. It must leave nothing but its report.
    fn failed(&self, arguments: &[&str]) -> String {
        let words: Vec<&str> = ["--yes", "--out", "report.zip"].iter().chain(arguments).copied().collect();
        let run = self.run(&words);
        let told = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{told}");
        assert!(self.path("report.zip").is_file(), "{told}");
        assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0, "{told}");
        told
    }
}

/// The files of a report as one text.
fn unzipped(report: &Path) -> String {
    super::report::unzipped(report).into_values().collect()
}

#[test]
fn an_editor_without_a_licence_is_told_with_the_fix_and_the_report_names_nobody() {
    let home = Home::with(
        "6000.0.23f1",
        "echo 'Serial number F4-SECRET' >$log; echo \"opening $project for $HOME\" >>$log\n\
         echo 'No valid Unity Editor license found. Please activate your license.' >>$log; exec sleep 60",
    );
    let told = home.failed(&[]);
    assert!(told.contains("has no valid licence") && told.contains("Unity Hub"), "{told}");
    let report = unzipped(&home.path("report.zip"));
    assert!(report.contains("has no valid licence") && report.contains("opening <trial>"), "{report}");
    for private in ["F4-SECRET", home.0.path().to_str().unwrap()] {
        assert!(!report.contains(private), "{private} is in {report}");
    }
}

#[test]
fn an_editor_that_ends_or_does_not_compile_or_never_answers_is_told_as_that() {
    let told = Home::with("6000.0.23f1", "echo begins >$log; exit 7").failed(&[]);
    assert!(told.contains("the editor ended by itself (exit code 7)"), "{told}");
    let safe_mode = "echo 'Packages/x/A.cs(3,7): error CS0117: no such member' >$log; exec sleep 60";
    let told = Home::with("6000.0.23f1", safe_mode).failed(&[]);
    assert!(told.contains("Safe Mode") && told.contains("CS0117"), "{told}");
    let told = Home::with("6000.0.23f1", "echo begins >$log; exec sleep 60").failed(&["--start-timeout", "3"]);
    assert!(told.contains("does not answer, 3 s after its start"), "{told}");
}

#[test]
fn an_editor_that_is_too_old_for_the_package_is_not_started() {
    let told = Home::with("2021.3.5f1", "touch \"$HOME/started\"").failed(&[]);
    assert!(told.contains("2021.3.5f1") && told.contains("2022.3"), "{told}");
    let home = Home::with("2021.3.5f1", "touch \"$HOME/started\"");
    home.failed(&["--editor", "2021"]);
    assert!(!home.path("started").exists());
}

#[test]
fn nothing_is_started_without_consent_and_no_editor_is_told() {
    let home = Home::with("6000.0.23f1", "touch \"$HOME/started\"");
    let run = home.run(&[]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(told.contains("--yes") && !home.path("started").exists(), "{told}");
    let run = home.run(&["--list"]);
    let listed = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success() && listed.starts_with("6000.0.23f1  "), "{listed}");
    let run = home.run(&["--editor", "2022.3", "--yes"]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(told.contains("2022.3") && told.contains("6000.0.23f1"), "{told}");
}

/// What a stand-in does that becomes the simulated editor with this package. It gets as lines what the trial's own script does in a real
/// editor.
fn simulated(package: &str) -> String {
    let program = env!("CARGO_BIN_EXE_holdfast");
    format!(
        r#"mkdir -p "$project/Temp"
lines="$HOME/lines.$$"
mkfifo "$lines"
editor=$$
(
    exec 3>"$lines"
    taken() {{ rm "$project/Temp/holdfast-try-$1" 2>/dev/null; }}
    while kill -0 "$editor" 2>/dev/null; do
        if taken freeze; then echo 'import 20000' >&3; fi
        if taken quit; then echo 'quit' >&3; fi
        sleep 0.1
    done
) >/dev/null 2>&1 &
exec '{program}' fake-unity --dialect {package} --project "$project" <"$lines" >>"$log" 2>&1"#
    )
}

#[test]
fn a_package_of_another_maker_goes_through_the_steps_that_it_has() {
    for package in dialect::ALL.iter().filter(|package| package.registry().is_some()) {
        let home = Home::with("6000.0.23f1", &simulated(package.name()));
        let run = home.run(&["--yes", "--out", "report.zip", "--reloads", "2", "--package", package.name()]);
        let told = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{told}");
        for line in [
            "ok      the first answer came",
            "ok      the tools are listed",
            "ok      an argument that a tool does not have is refused",
            "ok      a changed script is compiled, and the answer comes after the reload",
            "ok      a compile error is told, with its file",
            "ok      a call during the freeze has its answer",
            "ok      a call during the kill has one honest answer",
            "ok      2 of 2 reloads had their true answers",
            "ok      each request had one answer",
            "ok      all of it",
        ] {
            assert!(told.contains(line), "{line:?} is missing in\n{told}");
        }
        assert!(told.contains(package.title()) && !told.contains("FAILED"), "{told}");
        assert_eq!(fs::read_dir(home.path("tmp")).unwrap().count(), 0, "{told}");
        let about = unzipped(&home.path("report.zip"));
        assert!(about.contains(package.registry().unwrap().0), "{about}");
    }
    let home = Home::with("6000.0.23f1", "touch \"$HOME/started\"");
    let run = home.run(&["--yes", "--package-version", "1.0.0"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(!home.path("started").exists());
}
