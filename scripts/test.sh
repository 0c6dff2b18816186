#!/bin/sh
# Proves the promises: sh scripts/test.sh [quick|all|gate]
#
#   quick   `make test`: unit tests, model, simulation, fuzz targets and real processes. Every package runs the suites once; seeds
#           and kills are shared out over the packages in a fixed turn. Needs Rust, git and python3
#   all     `make test-all`: with full numbers, and the official clients and conformance suite, the page in a browser, the
#           dashboards against a real Prometheus, the Unity package on two runtimes, the packages, the Windows program under Wine
#   gate    `.ci/run`: that, `make lint` and `make deny`
#
# It fetches what is missing, builds, runs all suites even if one fails, and ends with a line for each build and each suite: seconds
# of the clock, and of a processor.
#
# Two suites run at a time: one lane has those that compute or compile, the other those that mostly wait for processes, browsers
# and deadlines. The output of a suite is printed whole when it has ended. Suites that share something (cargo's folder, the
# simulated editor) are in one lane, or the later one waits for the earlier one.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
mode=${1:-quick}
case $mode in quick | all | gate) ;; *) die "usage: sh scripts/test.sh quick|all|gate" ;; esac
need_rust
command -v bash >/dev/null 2>&1 || need bash bash
need python3 python3

target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target"
began=$(date +%s)
state=$(mktemp -d)
lanes=
ended_early() {
    trap '' INT TERM
    # shellcheck disable=SC2046,SC2086
    [ -z "$lanes" ] || kill $(descendants $lanes) 2>/dev/null || true
    rm -rf "$state"
    exit 130
}
trap ended_early INT TERM
trap 'rm -rf "$state"' EXIT

# suite NAME COMMAND...: runs a suite or a build, and leaves its output, its result, its duration, and the processor time that it used.
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
after() { until [ -f "$state/$1.ended" ] || [ -f "$state/waits.over" ] || [ -f "$state/computes.over" ]; do sleep 1; done; }

# ---- what is missing ----

DOWNLOADS=$state/downloads
export DOWNLOADS
: >"$DOWNLOADS"
linux() { [ "$(uname -s)" = Linux ]; }
# Each in its own subshell: a download that fails must only fail the suite that needs it.
fetch_all() {
    ( fetched "crates" cargo fetch --locked ) || true
    [ "$mode" != quick ] && linux || return 0
    ( fetched "the Rust client's crates" cargo fetch --locked --manifest-path tests/clients/rmcp/Cargo.toml ) || true
    ( need_node ) || true
    ( need_python && need_schemas ) || true
    ( need_prometheus ) || true
    ( need "${CHROMIUM:-chromium}" chromium ) || true
    ( need strip binutils && need_venv && need_npm && need_validators ) || true
    sh scripts/csharp-toolchain.sh </dev/null || true
    sh scripts/windows.sh setup </dev/null || true
    [ "$mode" = gate ] || return 0
    ( need_rust rustfmt clippy ) || true
    ( need_actionlint ) || true
}
fetch_all
fetched_in=$(awk '{ all += $1 } END { print all + 0 }' "$DOWNLOADS")
say "downloads: $fetched_in s in all, of $(($(date +%s) - began)) s of setting up"

# ---- what the suites run ----

# What incremental builds need beside the programs is of no use to who builds once.
[ -n "${CARGO_INCREMENTAL:-}" ] || [ -d "$target/debug/incremental" ] || export CARGO_INCREMENTAL=0
# All in one command: an executable that is built alone gets only the features of its own package, and what differs by them is built
# again. The pattern includes unity_host, which `cargo test` leaves out because it cannot run it.
build_tests() {
    cargo test --workspace --locked --no-run --lib --bins --test '*' --message-format=json-render-diagnostics >"$state/built" || return 1
    python3 scripts/executables.py <"$state/built" >"$state/executables" && [ -s "$state/executables" ] || return 1
    # The suite of the packages builds in cargo's folder, so the programs that other suites run are copied elsewhere.
    mkdir -p "$target/tested"
    for program in holdfast chaos-report; do cp "$target/debug/$program" "$target/tested/$program"; done
}
say "building the program and the tests"
suite "build of the program and the tests" build_tests
HOLDFAST_BIN=$target/tested/holdfast
export HOLDFAST_BIN

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

# Seeds and kills are shared out over the packages.
[ "$mode" != quick ] || { HOLDFAST_SHARED=1 && export HOLDFAST_SHARED; }

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
    executables $(cut -f1 "$state/executables" | grep -vxE 'it|real|unity_host')
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

clients() {
    after "build of the Rust client"
    bash tests/clients/run.sh
}

computes() {
    trap ': >"$state/computes.over"' EXIT
    # First what the other lane waits for.
    if [ "$mode" != quick ] && linux; then
        suite "build of the Rust client" bash tests/clients/run.sh --build
        suite "build of the Unity package" sh scripts/csharp.sh build
    fi
    suite "computing tests" computing
    [ "$mode" != gate ] || suite "lint" sh scripts/lint.sh
    [ "$mode" != quick ] && linux || return 0
    suite "build of the Windows program" sh scripts/windows.sh debug
    suite "Windows program under Wine" sh scripts/windows.sh smoke
    # Packages are built in cargo's folder, where the tests against processes look for the program.
    after "tests against processes"
    suite "packages" sh packaging/test.sh
}
waits() {
    trap ': >"$state/waits.over"' EXIT
    suite "tests against processes" processes
    [ "$mode" != quick ] || return 0
    suite "dashboards" sh dashboards/check.sh
    linux || return 0
    suite "official MCP clients" clients
    suite "status page" sh tests/page/run.sh
    suite "Prometheus" sh dashboards/proof/run.sh
    after "build of the Unity package"
    suite "Unity package" sh scripts/csharp.sh test
    suite "gateway and Unity package" gateway_and_package
}
# The builds and the suites in the order of the closing lines.
builds='build of the program and the tests'
suites='computing tests
tests against processes'
if [ "$mode" != quick ]; then
    suites="$suites
dashboards"
    if linux; then
        builds="$builds
build of the Rust client
build of the Unity package
build of the Windows program"
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
fi
suites="$suites
chaos report"
[ "$mode" != gate ] || suites="lint
dependencies
$suites"
all="$builds
$suites"

# show: prints the whole output of each suite that has ended since the last call.
show() {
    echo "$all" >"$state/suites"
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

# What was not built cannot be tested.
built() { read -r verdict _ <"$state/build of the program and the tests.ended" && [ "$verdict" = passed ]; }
if [ "$mode" = gate ]; then
    # It mostly waits for the network.
    suite "dependencies" sh scripts/deny.sh &
    lanes=$!
fi
show
if built; then
    computes &
    computes_pid=$!
    waits &
    waits_pid=$!
    lanes="$lanes $computes_pid $waits_pid"
    say "the suites run, two at a time; each speaks when it has ended"
    while runs "$computes_pid" || runs "$waits_pid"; do
        show
        sleep 1
    done
fi
# shellcheck disable=SC2086
[ -z "$lanes" ] || wait $lanes || true
lanes=
show
if built; then
    [ "$mode" = quick ] || ! linux || suite "wire schema" wire_schema
    suite "chaos report" chaos_report
    show
fi

failures=0
# told LIST: a line for each, from what it left.
told() {
    echo "$1" >"$state/list"
    while read -r one; do
        verdict=FAILED took=0 busy=0
        # A suite that broke off has left no result.
        [ ! -f "$state/$one.ended" ] || read -r verdict took busy <"$state/$one.ended"
        [ "$verdict" = passed ] || failures=$((failures + 1))
        clock=$((clock + took)) processor=$((processor + busy))
        echo "  $verdict  $one ($took s, $busy s of a processor)"
    done <"$state/list"
}
for list in "$builds" "$suites"; do
    clock=0 processor=0
    echo
    [ "$list" = "$builds" ] && echo "builds" || echo "suites"
    told "$list"
    echo "  together $clock s, $processor s of a processor"
done
echo
for file in "$counted"/*; do [ ! -f "$file" ] || grep -h '^chaos-report: .* scenarios\|^wire schema: .* lines' "$file" || true; done
if [ "$mode" = quick ]; then
    recorded=$(cat "$HOLDFAST_WIRE"/* 2>/dev/null | wc -l)
    echo "wire: $recorded lines recorded; make test-all holds them against MCP's schemas"
fi
echo "test: downloads $fetched_in s; everything else $(($(date +%s) - began - fetched_in)) s"
if [ "$failures" != 0 ]; then
    echo "test: $failures suite(s) FAILED"
    exit 1
fi
echo "test: all suites passed"
