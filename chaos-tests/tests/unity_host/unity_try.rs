//! `holdfast unity try`, with a program in the place of Unity that takes Unity's command line and becomes the simulated editor. It gets
//! as lines what the trial's own script does in a real editor.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Room;
use super::stage::Runtime;

#[test]
fn a_trial_goes_through_all_steps_with_the_simulated_editor_and_leaves_one_report() {
    let room = Room::new();
    let temporary = room.path().join("tmp");
    fs::create_dir_all(&temporary).expect("a folder");
    let report = room.path().join("report.zip");
    let run = Command::new(room.program())
        .args(["unity", "try", "--yes", "--reloads", "6", "--editor"])
        .arg(stand_in(&room))
        .arg("--out")
        .arg(&report)
        .env("HOME", room.path())
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .output()
        .expect("the program");
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    for line in [
        "ok      the first answer came",
        "ok      an argument that a tool does not have is refused, by each",
        "ok      a changed script is compiled, and the answer comes after the reload",
        "ok      a compile error is told, with its file",
        "ok      play-mode Exit",
        "ok      a call during the freeze has its answer",
        "ok      the dialog is told",
        "ok      a call during the kill has one honest answer",
        "ok      6 of 6 reloads had their true answers",
        "ok      each request had one answer",
        "ok      all of it",
    ] {
        assert!(told.contains(line), "{line:?} is missing in\n{told}");
    }
    assert!(!told.contains("FAILED") && !told.contains("was killed"), "{told}");
    assert!(report.is_file());
    assert_eq!(fs::read_dir(&temporary).expect("the folder").count(), 0, "something is left behind");
}

/// Writes a program that behaves as Unity does on its command line.
fn stand_in(room: &Room) -> PathBuf {
    let path = room.path().join("Unity");
    let editor = Runtime::Mono.words().iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let text = format!(
        r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -projectPath) project=$2; shift ;;
        -logFile) log=$2; shift ;;
    esac
    shift
done
mkdir -p "$project/Temp"
lines=$(dirname "$0")/lines.$$
mkfifo "$lines"
editor=$$
(
    exec 3>"$lines"
    taken() {{ rm "$project/Temp/holdfast-try-$1" 2>/dev/null; }}
    while kill -0 "$editor" 2>/dev/null; do
        if taken freeze; then echo 'freeze 20000' >&3; fi
        if taken dialog; then echo 'modal on' >&3; fi
        if taken quit; then echo 'quit' >&3; fi
        sleep 0.1
    done
) >/dev/null 2>&1 &
exec {editor} --project "$project" <"$lines" >>"$log" 2>&1
"#
    );
    fs::write(&path, text).expect("the stand-in");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}
