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
editor='' failures=0

# Windows programs do not know Git Bash's paths.
native() { if command -v cygpath >/dev/null 2>&1; then cygpath -m "$1"; else printf '%s\n' "$1"; fi; }
say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
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

# Texts that go into the report, without what is nobody's business.
scrub() {
    sed -e '/[Ss]erial/d' -e '/[Ll]icens/d' -e '/[Pp]assword/d' -e '/[Uu]sername/d' -e '/[Ee]mail/d' -e '/[Tt]oken/d' \
        -e "s|$(native "$work")|WORK|g" -e "s|$work|WORK|g" -e "s|$(native "$root")|REPOSITORY|g" -e "s|$root|REPOSITORY|g" \
        -e "s|$(native "$HOME")|HOME|g" -e "s|$HOME|HOME|g" -e "s|$(id -un)|USER|g" "$1" >"$1.scrubbed" && mv "$1.scrubbed" "$1"
}

finish() {
    status=$?
    trap - EXIT INT TERM
    end_editor
    for log in "$out"/*.log "$out"/*.output "$out"/*.txt "$out"/*.xml "$out"/*.json; do [ ! -f "$log" ] || scrub "$log"; done
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
    run_unity "$out/tests.log" -runTests -testPlatform EditMode -testResults "$(native "$out/tests.xml")"
    code=0
    within "$TESTS_TIME" "$started" || code=$?
    counted=$(sed -n 's/.*<test-run[^>]* total="\([0-9]*\)" passed="\([0-9]*\)" failed="\([0-9]*\)".*/\2 of \1, \3 failed/p' "$out/tests.xml" 2>/dev/null | head -n 1)
    if [ "$code" = 0 ] && [ -n "$counted" ]; then passed "tests: $counted"; else
        failed "tests: ${counted:-no results were written}, the editor ended with $code (tests.log, tests.xml)"
    fi
    if grep -n 'error CS\|error UAC\|warning CS.*dev\.holdfast' "$out/tests.log" >"$out/compiler.txt" 2>/dev/null; then
        failed "the compiler complains (compiler.txt)"
    else
        rm -f "$out/compiler.txt"
        passed "no complaint of the compiler"
    fi
fi

say "==> a session of the gateway (the editor has up to $START_TIME s to start)"
began=$(date +%s)
run_unity "$out/editor.log"
editor=$started
until holdfast call get-logs --timeout 5 >/dev/null 2>&1; do
    if ! kill -0 "$editor" 2>/dev/null; then
        failed "the editor ended while it started (editor.log)"
        exit 1
    fi
    if [ $(($(date +%s) - began)) -ge "$START_TIME" ]; then
        holdfast doctor >"$out/doctor.txt" 2>&1 || true
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
    holdfast "$@" >"$out/$expect_name.txt" 2>&1 || expect_got=$?
    if [ "$expect_got" = "$expect_code" ]; then passed "$expect_name"; else
        failed "$expect_name: exit code $expect_got in the place of $expect_code ($expect_name.txt)"
    fi
}

expect status 0 status
expect tools 0 tools
for tool in get-logs get-hierarchy find-game-objects get-menu-items unity-search get-provider-details; do
    case $tool in
        unity-search) arguments='{"SearchQuery": "Touched"}' ;;
        find-game-objects) arguments='{"NamePattern": "a", "SearchMode": "Contains"}' ;;
        *) arguments='{}' ;;
    esac
    expect "$tool" 0 call "$tool" "$arguments"
done
# What can do harm is off at first, and says so.
expect execute-menu-item-is-off 3 call execute-menu-item '{"MenuItemPath": "GameObject/Create Empty"}'

say "==> $reloads compilations, each with a domain reload"
printf 'number\tseconds\texit code\n' >"$out/compilations.tsv"
number=0 bad=0
while [ "$number" -lt "$reloads" ]; do
    number=$((number + 1))
    write_script "$number"
    before=$(date +%s) code=0
    holdfast call compile --timeout "$CALL_TIME" >"$work/compile.txt" 2>&1 || code=$?
    printf '%s\t%s\t%s\n' "$number" $(($(date +%s) - before)) "$code" >>"$out/compilations.tsv"
    if [ "$code" != 0 ] || ! grep -q '"DomainReloaded": *true' "$work/compile.txt"; then
        bad=$((bad + 1))
        { echo "--- $number"; cat "$work/compile.txt"; } >>"$out/compilations-failed.txt"
    fi
done
if [ "$bad" = 0 ]; then passed "$reloads of $reloads were answered with their true result after the reload (compilations.tsv)"; else
    failed "$bad of $reloads compilations (compilations-failed.txt)"
fi

echo '#error trial' >"$script"
expect compile-error 1 call compile --timeout "$CALL_TIME"
grep -q 'CS1029' "$out/compile-error.txt" || failed "compile-error: the compiler's message CS1029 is missing (compile-error.txt)"
write_script 0
expect compile-repaired 0 call compile --timeout "$CALL_TIME"

expect logs-of-the-session 0 call get-logs '{"LogType": "Error"}'
expect doctor 0 doctor
say ""
if [ "$failures" = 0 ]; then say "all passed"; else say "$failures failed"; fi
