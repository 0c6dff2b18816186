#!/bin/sh
# `make test`: fetches what is missing, builds the binary and every test, runs all suites even if one fails, and ends with one
# line for each suite.
#
# Two suites run at a time: one lane has those that compute or compile, the other those that mostly wait for processes, browsers
# and deadlines. The output of a suite is printed whole when the suite has ended. Suites that share something (cargo's folder, the
# simulated editor) are in one lane, or the later one waits for the earlier one.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
command -v bash >/dev/null 2>&1 || need bash bash
need python3 python3

target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target"
began=$(date +%s)
state=$(mktemp -d)
lanes=
# Prints the process ids of everything that runs for a lane, down to the last descendant.
descendants() {
    ps -A -o pid= -o ppid= | awk -v roots="$*" '
        BEGIN { n = split(roots, all, " ") } { parent[$1] = $2 }
        END { for (pid in parent) { at = pid; while (at in parent && !found) { for (i = 1; i <= n; i++) if (at == all[i]) found = 1; at = parent[at] } if (found) print pid; found = 0 } }'
}
ended_early() {
    trap '' INT TERM
    # shellcheck disable=SC2046,SC2086
    [ -z "$lanes" ] || kill $(descendants $lanes) 2>/dev/null || true
    rm -rf "$state"
    exit 130
}
trap ended_early INT TERM
trap 'rm -rf "$state"' EXIT

# suite NAME COMMAND...: runs a suite, and leaves its output, its result, its duration, and the processor time that it used.
suite() {
    # Prefixed names, because COMMAND may be a function of this shell, which shares its variables.
    suite_name=$1
    shift
    suite_began=$(date +%s)
    if (
        suite_status=0
        "$@" || suite_status=$?
        times >"$state/$suite_name.times"
        exit "$suite_status"
    ) </dev/null >"$state/$suite_name.out" 2>&1; then suite_verdict=passed; else suite_verdict=FAILED; fi
    suite_busy=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 + 0.5 }' "$state/$suite_name.times" 2>/dev/null || true)
    echo "$suite_verdict $(($(date +%s) - suite_began)) ${suite_busy:-0}" >"$state/$suite_name.partial"
    mv "$state/$suite_name.partial" "$state/$suite_name.ended"
}
# after NAME: waits until this suite of the other lane, or the whole lane, has ended.
after() { until [ -f "$state/$1.ended" ] || [ -f "$state/waits.over" ]; do sleep 1; done; }

# ---- what is missing ----

DOWNLOADS=$state/downloads
export DOWNLOADS
: >"$DOWNLOADS"
linux() { [ "$(uname -s)" = Linux ]; }
# Each in its own subshell: a download that fails must only fail the suite that needs it.
fetch_all() {
    ( fetched "crates" cargo fetch --locked ) || true
    linux || return 0
    ( fetched "the Rust client's crates" cargo fetch --locked --manifest-path tests/clients/rmcp/Cargo.toml ) || true
    ( need_node ) || true
    ( need_python && need_schemas ) || true
    ( need_prometheus ) || true
    ( need "${CHROMIUM:-chromium}" chromium ) || true
    ( need strip binutils && need_venv && need_npm && need_validators ) || true
    sh scripts/csharp-toolchain.sh </dev/null || true
    sh scripts/windows.sh setup </dev/null || true
}
fetch_all
fetched_in=$(awk '{ all += $1 } END { print all + 0 }' "$DOWNLOADS")
say "downloads: $fetched_in s in all, of $(($(date +%s) - began)) s of setting up"

# ---- what the suites run ----

say "building the binary and the tests"
builds=$(date +%s)
# All in one command: an executable that is built alone gets only the features of its own package, and everything below it is
# built again. The pattern includes unity_host, which `cargo test` leaves out because it cannot run it.
cargo test --workspace --locked --no-run --lib --bins --test '*' --message-format=json-render-diagnostics >"$state/built" ||
    die "the binary or the tests do not build"
python3 scripts/executables.py <"$state/built" >"$state/executables"
[ -s "$state/executables" ] || die "cargo built no tests"
# The suite of the packages builds in cargo's folder, so the programs that other suites run are copied elsewhere.
mkdir -p "$target/tested"
for program in holdfast chaos-report; do cp "$target/debug/$program" "$target/tested/$program"; done
HOLDFAST_BIN=$target/tested/holdfast
export HOLDFAST_BIN
say "building took $(($(date +%s) - builds)) s"

# The report must not include results of an earlier run.
CHAOS_REPORT=$PWD/target/chaos-report
export CHAOS_REPORT
rm -rf "$CHAOS_REPORT"

# Numbers of checks for the closing lines.
counted=$PWD/target/counted
rm -rf "$counted"
mkdir -p "$counted"

# Everything that the gateway writes in the tests below is checked against MCP's schemas at the end.
HOLDFAST_WIRE=$PWD/target/wire
export HOLDFAST_WIRE
rm -rf "$HOLDFAST_WIRE"

# A new snapshot that nobody has reviewed is a failure.
INSTA_UPDATE=no
export INSTA_UPDATE

# ---- the suites ----

# Tests against processes mostly wait, so twice as many of them run at once as there are processors.
waiting=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 2))
# executables NAME...: runs the test executables of these names as cargo does, all of them even if one fails.
executables() {
    failed=0
    while IFS="$(printf '\t')" read -r name kind folder path; do
        case " $* " in *" $name "*) ;; *) continue ;; esac
        say "$name ($kind)"
        (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$path" </dev/null) || { failed=1 && echo "FAILED: $name ($kind)"; }
    done <"$state/executables"
    for name; do
        cut -f1 "$state/executables" | grep -qxF "$name" || { failed=1 && echo "FAILED: there is no $name"; }
    done
    return "$failed"
}
computing() {
    # shellcheck disable=SC2046
    executables $(cut -f1 "$state/executables" | grep -vxE 'it|real|unity_host') && status=0 || status=1
    say "the examples in the documentation"
    cargo test --workspace --locked --doc || status=1
    return "$status"
}
processes() {
    RUST_TEST_THREADS=${RUST_TEST_THREADS:-$waiting}
    export RUST_TEST_THREADS
    executables it real
}

gateway_and_package() {
    HOLDFAST_EDITORS=$(sh scripts/csharp.sh host) || return 1
    export HOLDFAST_EDITORS
    executables unity_host
}
wire_schema() {
    need_node && need_python && need_schemas || return 1
    "$NODE" tests/clients/wire_schema.mjs "$SCHEMAS" "$HOLDFAST_WIRE" >"$counted/wire"
    ended=$?
    cat "$counted/wire"
    return "$ended"
}
chaos_report() {
    CHAOS_COMMIT=$(git describe --always --dirty 2>/dev/null) "$target/tested/chaos-report" >"$counted/chaos"
    ended=$?
    cat "$counted/chaos"
    return "$ended"
}

computes() {
    suite "computing tests" computing
    linux || return 0
    suite "Windows program under Wine" sh scripts/windows.sh smoke
    # Packages are built in cargo's folder, where the tests against processes look for the program.
    after "tests against processes"
    suite "packages" sh packaging/test.sh
}
waits() {
    trap ': >"$state/waits.over"' EXIT
    suite "tests against processes" processes
    suite "dashboards" sh dashboards/check.sh
    linux || return 0
    suite "official MCP clients" bash tests/clients/run.sh
    suite "status page" sh tests/page/run.sh
    suite "Prometheus" sh dashboards/proof/run.sh
    suite "Unity package" sh scripts/csharp.sh test
    suite "gateway and Unity package" gateway_and_package
}
# The suites in the order of the closing lines.
suites='computing tests
tests against processes
dashboards'
if linux; then
    suites="$suites
official MCP clients
status page
Prometheus
Unity package
gateway and Unity package
packages
Windows program under Wine
wire schema"
else
    loud "not run, as their runners know Linux only: the official MCP clients, the status page in a browser, the dashboards against
    a real Prometheus, the Unity package, the gateway with that package, the packages for npm, PyPI and the like, the Windows program
    under Wine, MCP's schemas"
fi
suites="$suites
chaos report"

# show: prints the whole output of each suite that has ended since the last call.
show() {
    echo "$suites" >"$state/suites"
    while read -r one; do
        [ -f "$state/$one.ended" ] && ! [ -f "$state/$one.shown" ] || continue
        say "$one"
        cat "$state/$one.out"
        read -r verdict took busy <"$state/$one.ended"
        say "$one: $verdict after $took s"
        : >"$state/$one.shown"
    done <"$state/suites"
}
runs() { kill -0 "$1" 2>/dev/null; }

computes &
computes_pid=$!
waits &
waits_pid=$!
lanes="$computes_pid $waits_pid"
say "the suites run, two at a time; each speaks when it has ended"
while runs "$computes_pid" || runs "$waits_pid"; do
    show
    sleep 1
done
wait "$computes_pid" "$waits_pid" || true
lanes=
show
linux && suite "wire schema" wire_schema
suite "chaos report" chaos_report
show

failures=0
echo
while read -r one; do
    verdict=FAILED took=0 busy=0
    # A suite that broke off has left no result.
    [ ! -f "$state/$one.ended" ] || read -r verdict took busy <"$state/$one.ended"
    [ "$verdict" = passed ] || failures=$((failures + 1))
    echo "  $verdict  $one ($took s, $busy s of a processor)"
done <"$state/suites"
for told in "$counted"/*; do [ ! -f "$told" ] || grep -h '^chaos-report: .* scenarios\|^wire schema: .* lines' "$told" || true; done
echo "test: downloads $fetched_in s; everything else $(($(date +%s) - began - fetched_in)) s"
if [ "$failures" != 0 ]; then
    echo "test: $failures suite(s) FAILED"
    exit 1
fi
echo "test: all suites passed"
