#!/bin/sh
# The Unity package and the gateway in a real Unity Editor: sh scripts/real-editor.sh --help
#
# Nobody has run this with a real editor yet. A test runs it with a stand-in (chaos-tests/tests/unity_host/real_editor.rs). It needs only a
# shell and the usual tools, since the images of CI and Git Bash on Windows have no more.
set -eu

usage() {
    cat <<'HELP'
Try holdfast's Unity package and gateway in a real Unity Editor, and gather what to send back.

Usage: sh scripts/real-editor.sh [OPTIONS] UNITY

UNITY is the editor's program, for instance
  Linux    ~/Unity/Hub/Editor/6000.0.78f1/Editor/Unity
  macOS    /Applications/Unity/Hub/Editor/6000.0.78f1/Unity.app/Contents/MacOS/Unity
  Windows  "C:/Program Files/Unity/Hub/Editor/6000.0.78f1/Editor/Unity.exe" (in Git Bash)

It makes a project of its own, runs the package's tests in it, then starts the editor without a window, and drives it with the
gateway: tool list, calls, a compile error, and compilations that each reload the domain. The editor needs an active licence.

Options:
  --out DIR       where the report goes; must not exist yet [default: holdfast-real-editor]
  --reloads N     how many compilations with a reload [default: 20]
  --program FILE  the holdfast program [default: target/release/holdfast, then holdfast on PATH]
  --no-tests      leave out the package's own tests
  --help          print this

Exit codes: 0 all passed, 1 something failed (see DIR/summary.txt), 2 wrong usage.
HELP
}

# Longest times in seconds. A first import of an empty project takes minutes on a slow disk.
TESTS_TIME=1800
START_TIME=900
# One compile call, which waits for the reload too.
CALL_TIME=300
QUIT_TIME=60

wrong() {
    printf 'error: %s\nSee: sh scripts/real-editor.sh --help\n' "$*" >&2
    exit 2
}

out=holdfast-real-editor reloads=20 program='' tests=yes unity=''
while [ $# -gt 0 ]; do
    case $1 in
        --help | -h) usage; exit 0 ;;
        --no-tests) tests=no ;;
        --out | --reloads | --program)
            [ $# -gt 1 ] || wrong "$1 needs a value"
            case $1 in --out) out=$2 ;; --reloads) reloads=$2 ;; *) program=$2 ;; esac
            shift ;;
        -*) wrong "there is no option $1" ;;
        *) [ -z "$unity" ] || wrong "name one editor, not two"; unity=$1 ;;
    esac
    shift
done
[ -n "$unity" ] || wrong "name the editor's program"
[ -f "$unity" ] && [ -x "$unity" ] || wrong "$unity is not a program"
case $reloads in '' | *[!0-9]* | ?????*) wrong "--reloads is a number from 0 to 9999" ;; esac
[ ! -e "$out" ] || wrong "$out exists already; name another folder with --out"

root=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$root/unity/package.json" ] || wrong "run this in a copy of holdfast's repository: $root/unity/package.json is missing"
if [ -z "$program" ]; then
    for program in "$root/target/release/holdfast" "$root/target/release/holdfast.exe" "$(command -v holdfast || true)"; do
        [ ! -x "$program" ] || break
    done
fi
[ -f "$program" ] && [ -x "$program" ] ||
    wrong "the holdfast program is missing; build it with \`cargo build --release\`, or name it with --program"

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
project=$work/HoldfastTrial
# What is written stays here until the end, when it is copied without what is nobody's business.
raw=$work/raw
mkdir "$raw"
editor='' failures=0

# Windows programs do not know Git Bash's paths.
native() { if command -v cygpath >/dev/null 2>&1; then cygpath -m "$1"; else printf '%s\n' "$1"; fi; }
say() { printf '%s\n' "$*" | tee -a "$raw/summary.txt"; }
passed() { say "ok      $*"; }
failed() {
    failures=$((failures + 1))
    say "FAILED  $*"
}

# within SECONDS PID: waits for a child and returns its exit code; ends it and returns 124 if it takes longer.
within() {
    within_left=$1
    while kill -0 "$2" 2>/dev/null; do
        if [ "$within_left" -le 0 ]; then
            kill "$2" 2>/dev/null || true
            sleep 5
            kill -9 "$2" 2>/dev/null || true
            wait "$2" 2>/dev/null || true
            return 124
        fi
        sleep 1
        within_left=$((within_left - 1))
    done
    wait "$2"
}

# Only the editor that this script started is ended.
end_editor() {
    [ -n "$editor" ] || return 0
    kill "$editor" 2>/dev/null || true
    within "$QUIT_TIME" "$editor" 2>/dev/null || true
    editor=''
}

# replaced TEXT WORD: a command for sed that writes WORD for TEXT. Nothing for texts that are too short to be somebody's.
replaced() {
    [ "${#1}" -lt 4 ] || [ "$1" = root ] || printf 's/%s/%s/g\n' "$(printf '%s' "$1" | sed 's/[][\\.*^$/]/\\&/g')" "$2"
}

# Copies every raw file into the report, without lines about the licence and the account, and without paths of this machine. The texts
# may be in any encoding, so they are read as bytes.
publish() {
    for pair in "$work:WORK" "$root:REPOSITORY" "$HOME:HOME" "$(id -un):USER"; do
        text=${pair%:*} word=${pair##*:}
        replaced "$text" "$word"
        if command -v cygpath >/dev/null 2>&1 && [ "$word" != USER ]; then
            replaced "$(cygpath -m "$text")" "$word"
            replaced "$(cygpath -w "$text")" "$word"
        fi
    done >"$work/replace.sed"
    published=0
    for file in "$raw"/*; do
        [ -f "$file" ] || continue
        LC_ALL=C sed -e '/[Ss][Ee][Rr][Ii][Aa][Ll]/d' -e '/[Ll][Ii][Cc][Ee][Nn][CcSs]/d' -e '/[Pp][Aa][Ss][Ss][Ww][Oo][Rr][Dd]/d' \
            -e '/[Uu][Ss][Ee][Rr][Nn][Aa][Mm][Ee]/d' -e '/[Ee]-*[Mm][Aa][Ii][Ll]/d' -e '/[Tt][Oo][Kk][Ee][Nn]/d' \
            -f "$work/replace.sed" "$file" >"$work/clean" || {
            echo "error: ${file##*/} could not be cleaned and is not in the report" >&2
            published=1
            continue
        }
        cp "$work/clean" "$out/${file##*/}" || published=1
    done
    return "$published"
}

finish() {
    status=$?
    trap - EXIT INT TERM
    end_editor
    publish || status=1
    rm -rf "$work"
    if [ "$status" = 0 ] && [ "$failures" -gt 0 ]; then status=1; fi
    printf '\n%s\n' "The report is in $out. Read it, then send it back as docs/real-editor.md says."
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$project/Assets/Editor" "$project/Packages" "$project/ProjectSettings"
cat >"$project/Packages/manifest.json" <<JSON
{
  "dependencies": {
    "com.unity.test-framework": "1.1.33",
    "dev.holdfast.unity": "file:$(native "$root/unity")"
  },
  "testables": ["dev.holdfast.unity"]
}
JSON
script=$project/Assets/Editor/Touched.cs
write_script() { printf 'namespace Trial { internal static class Touched { public const int Number = %s; } }\n' "$1" >"$script"; }
write_script 0

# run_unity LOG ARGUMENTS...: starts the editor without a window; sets `started`.
run_unity() {
    log=$1
    shift
    HOLDFAST_BATCH_MODE=1 "$unity" -batchmode -nographics -projectPath "$(native "$project")" -logFile "$(native "$log")" "$@" \
        </dev/null >"$log.output" 2>&1 &
    started=$!
}

# holdfast COMMAND...: the gateway's program for this project, with a state folder of its own.
holdfast() { HOLDFAST_STATE_DIR=$(native "$work/state") "$program" "$@" --project "$(native "$project")"; }

say "holdfast in a real Unity Editor"
say "date     $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "system   $(uname -srm)"
say "editor   $(native "$unity")"
say "program  $("$program" --version)"
say "package  $(sed -n 's/.*"version": "\(.*\)".*/\1/p' "$root/unity/package.json" | head -n 1)"
say ""

if [ "$tests" = yes ]; then
    say "==> the package's tests in the editor (up to $TESTS_TIME s)"
    # Unity quits by itself after the tests. With -quit it would quit before them.
    run_unity "$raw/tests.log" -runTests -testPlatform EditMode -testResults "$(native "$raw/tests.xml")"
    code=0 editor=$started
    within "$TESTS_TIME" "$started" || code=$?
    editor=
    counted=$(sed -n 's/.*<test-run[^>]* total="\([0-9]*\)" passed="\([0-9]*\)" failed="\([0-9]*\)".*/\2 of \1, \3 failed/p' "$raw/tests.xml" 2>/dev/null | head -n 1)
    if [ "$code" = 0 ] && [ -n "$counted" ]; then passed "tests: $counted"; else
        failed "tests: ${counted:-no results were written}, the editor ended with $code (tests.log, tests.xml)"
    fi
    if grep -n 'error CS\|error UAC\|warning CS.*dev\.holdfast' "$raw/tests.log" >"$raw/compiler.txt" 2>/dev/null; then
        failed "the compiler complains (compiler.txt)"
    else
        rm -f "$raw/compiler.txt"
        passed "no complaint of the compiler"
    fi
fi

say "==> a session of the gateway (the editor has up to $START_TIME s to start)"
began=$(date +%s)
run_unity "$raw/editor.log"
editor=$started
until
    code=0
    holdfast call get-logs --timeout 5 >"$raw/first-call.txt" 2>&1 || code=$?
    [ "$code" = 0 ]
do
    # The gateway answers 2 to a call that is wrong in itself, so waiting does not help.
    if [ "$code" = 2 ]; then
        failed "get-logs cannot be called (first-call.txt)"
        exit 1
    fi
    if ! kill -0 "$editor" 2>/dev/null; then
        failed "the editor ended while it started (editor.log)"
        exit 1
    fi
    if [ $(($(date +%s) - began)) -ge "$START_TIME" ]; then
        holdfast doctor >"$raw/doctor.txt" 2>&1 || true
        failed "no answer to get-logs in $START_TIME s (editor.log, doctor.txt)"
        exit 1
    fi
    sleep 1
done
passed "get-logs was answered $(($(date +%s) - began)) s after the editor's start"

# expect NAME CODE COMMAND...: runs a command of the gateway; its output goes to NAME.txt.
expect() {
    expect_name=$1 expect_code=$2
    shift 2
    expect_got=0
    holdfast "$@" >"$raw/$expect_name.txt" 2>&1 || expect_got=$?
    if [ "$expect_got" = "$expect_code" ]; then passed "$expect_name"; else
        failed "$expect_name: exit code $expect_got in the place of $expect_code ($expect_name.txt)"
    fi
}

expect status 0 status
expect tools 0 tools
for tool in get-logs get-hierarchy find-game-objects get-menu-items unity-search get-provider-details editor-state list-scenes inspect get-selection find-assets list-packages list-tests; do
    case $tool in
        unity-search) arguments='{"SearchQuery": "Touched"}' ;;
        inspect) arguments='{"Object": "Assets/Editor/Touched.cs"}' ;;
        find-game-objects) arguments='{"NamePattern": "a", "SearchMode": "Contains"}' ;;
        *) arguments='{}' ;;
    esac
    expect "$tool" 0 call "$tool" "$arguments"
done
# What can do harm is off at first, and says so.
expect execute-menu-item-is-off 3 call execute-menu-item '{"MenuItemPath": "GameObject/Create Empty"}'

say "==> scenes and play mode"
expect scene-create 0 call scene '{"Action": "Create", "Path": "Assets/Trial.unity"}'
expect scene-is-not-replaced 1 call scene '{"Action": "Create", "Path": "Assets/Trial.unity"}'
expect edit-game-object 0 call edit-game-object '{"Action": "Create", "Name": "Trial", "Shape": "Cube", "Position": [0, 1, 0]}'
expect edit-component 0 call edit-component '{"Action": "Set", "Object": "Trial", "Component": "Transform", "Properties": {"m_LocalScale": [2, 2, 2]}}'
expect undo 0 call undo '{"Action": "Undo", "Steps": 2}'
expect scene-save 0 call scene '{"Action": "Save"}'
expect play-mode-enter 0 call play-mode '{"Action": "Enter"}' --timeout "$CALL_TIME"
grep -q '"IsPlaying": *true' "$raw/play-mode-enter.txt" || failed "play-mode-enter: the game does not run (play-mode-enter.txt)"
expect play-mode-step 0 call play-mode '{"Action": "Step"}'
expect play-mode-exit 0 call play-mode '{"Action": "Exit"}' --timeout "$CALL_TIME"

say "==> $reloads compilations, each with a domain reload"
printf 'number\tseconds\texit code\n' >"$raw/compilations.tsv"
number=0 bad=0
# The tool's own limit is shorter, for a person who waits.
patient="{\"TimeoutSeconds\": $CALL_TIME}"
while [ "$number" -lt "$reloads" ]; do
    number=$((number + 1))
    write_script "$number"
    before=$(date +%s) code=0
    holdfast call compile "$patient" --timeout "$CALL_TIME" >"$work/compile.txt" 2>&1 || code=$?
    printf '%s\t%s\t%s\n' "$number" $(($(date +%s) - before)) "$code" >>"$raw/compilations.tsv"
    if [ "$code" != 0 ] || ! grep -q '"DomainReloaded": *true' "$work/compile.txt"; then
        bad=$((bad + 1))
        { echo "--- $number"; cat "$work/compile.txt"; } >>"$raw/compilations-failed.txt"
    fi
done
if [ "$bad" = 0 ]; then passed "$reloads of $reloads were answered with their true result after the reload (compilations.tsv)"; else
    failed "$bad of $reloads compilations (compilations-failed.txt)"
fi

echo '#error trial' >"$script"
expect compile-error 1 call compile "$patient" --timeout "$CALL_TIME"
grep -q 'CS1029' "$raw/compile-error.txt" || failed "compile-error: the compiler's message CS1029 is missing (compile-error.txt)"
write_script 0
expect compile-repaired 0 call compile "$patient" --timeout "$CALL_TIME"

expect logs-of-the-session 0 call get-logs '{"LogType": "Error"}'
# It also looks at the AI editors of this machine, whose problems are not this script's.
holdfast doctor >"$raw/doctor.txt" 2>&1 || true
say ""
if [ "$failures" = 0 ]; then say "all passed"; else say "$failures failed"; fi
