//! `scripts/real-editor.sh`, which tries package and gateway in a real Unity Editor. Here a program stands in for Unity: it writes
//! test results when it is asked to run tests, and otherwise becomes the simulated editor.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use super::Room;
use super::stage::Runtime;

#[test]
fn the_script_for_a_real_editor_passes_with_the_simulated_one() {
    let room = Room::new();
    let unity = stand_in(&room, "1");
    let out = room.path().join("report");
    let run = script(&unity, &out, &room);
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    for line in [
        "ok      tests: 1 of 1, 0 failed",
        "ok      3 of 3 were answered with their true result",
        "ok      compile-error",
        "all passed",
    ] {
        assert!(told.contains(line), "{line:?} is missing in\n{told}");
    }
    assert_eq!(fs::read_to_string(out.join("summary.txt")).expect("a summary").matches("FAILED").count(), 0);
    for entry in fs::read_dir(&out).expect("the report").flatten() {
        let text = String::from_utf8_lossy(&fs::read(entry.path()).expect("a file")).into_owned();
        assert!(!text.contains("SECRET-SERIAL"), "{} tells a secret", entry.path().display());
    }
}

#[test]
fn the_script_for_a_real_editor_fails_if_a_test_fails_and_if_the_editor_ends() {
    let room = Room::new();
    let unity = stand_in(&room, "0");
    fs::write(room.path().join("ends"), "").expect("a file");
    let run = script(&unity, &room.path().join("report"), &room);
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(1), "{told}");
    assert!(told.contains("FAILED  tests: 0 of 1, 1 failed"), "{told}");
    assert!(told.contains("FAILED  the editor ended while it started"), "{told}");
}

fn script(unity: &Path, out: &Path, room: &Room) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/real-editor.sh");
    Command::new("sh")
        .arg(script)
        .args(["--reloads", "3", "--program"])
        .arg(room.program())
        .arg("--out")
        .arg(out)
        .arg(unity)
        .env("HOME", room.path())
        .output()
        .expect("a shell")
}

/// Writes a program that behaves as Unity does on its command line. `passed` is how many of its one test pass. It ends at once in
/// the place of starting if there is a file `ends` beside it.
fn stand_in(room: &Room, passed: &str) -> std::path::PathBuf {
    let path = room.path().join("Unity");
    let editor = Runtime::Mono.words().iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let text = format!(
        r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -projectPath) project=$2; shift ;;
        -logFile) log=$2; shift ;;
        -testResults) results=$2; shift ;;
    esac
    shift
done
echo 'Serial number SECRET-SERIAL' >"$log"
if [ -n "${{results:-}}" ]; then
    echo '<test-run id="2" testcasecount="1" result="x" total="1" passed="{passed}" failed="'$((1 - {passed}))'">' >"$results"
    exit $((2 * (1 - {passed})))
fi
[ ! -e "$(dirname "$0")/ends" ] || exit 1
exec {editor} --project "$project" --flag batchMode --stay >>"$log" 2>&1
"#
    );
    fs::write(&path, text).expect("the stand-in");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}
