#!/bin/sh
# `make test`: builds the binary, then runs every suite, also after one has failed, and closes with one line per suite.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
command -v bash >/dev/null 2>&1 || need bash bash

summary=
failures=0
suite() { # suite NAME COMMAND...
    name=$1
    shift
    say "$name"
    started=$(date +%s)
    if "$@" </dev/null; then verdict=passed; else
        verdict=FAILED
        failures=$((failures + 1))
    fi
    summary="$summary
  $verdict  $name ($(($(date +%s) - started)) s)"
}

# The simulated editor is built anew, so that it is of these sources also after a suite above has failed half-way.
gateway_and_package() {
    HOLDFAST_EDITORS=$(sh scripts/csharp.sh host) || return 1
    export HOLDFAST_EDITORS
    cargo test --workspace --locked --test unity_host
}

say "building the binary"
cargo build --locked --bin holdfast
HOLDFAST_BIN=$PWD/target/debug/holdfast
[ -x "$HOLDFAST_BIN" ] || HOLDFAST_BIN=${CARGO_TARGET_DIR:-$PWD/target}/debug/holdfast
export HOLDFAST_BIN

# What an earlier run found is not this one's.
CHAOS_REPORT=$PWD/target/chaos-report
export CHAOS_REPORT
rm -rf "$CHAOS_REPORT"

# What the closing lines say was checked.
counted=$PWD/target/counted
rm -rf "$counted"
mkdir -p "$counted"

# What the gateway says in every test below is held against MCP's schemas at the end.
HOLDFAST_WIRE=$PWD/target/wire
export HOLDFAST_WIRE
rm -rf "$HOLDFAST_WIRE"
wire_schema() {
    need_node && need_python && need_schemas || return 1
    "$NODE" tests/clients/wire_schema.mjs "$SCHEMAS" "$HOLDFAST_WIRE" >"$counted/wire"
    ended=$?
    cat "$counted/wire"
    return "$ended"
}

# A picture that nobody has reviewed is a failure, not a new picture.
INSTA_UPDATE=no
export INSTA_UPDATE

suite "cargo test" cargo test --workspace --locked --no-fail-fast
suite "dashboards" sh dashboards/check.sh
if [ "$(uname -s)" = Linux ]; then
    suite "official MCP clients" bash tests/clients/run.sh
    suite "status page" sh tests/page/run.sh
    suite "Prometheus" sh dashboards/proof/run.sh
    suite "Unity package" sh scripts/csharp.sh test
    suite "gateway and Unity package" gateway_and_package
    suite "packages" sh packaging/test.sh
    suite "Windows program under Wine" sh scripts/windows.sh smoke
    suite "wire schema" wire_schema
else
    loud "not run, as their runners know Linux only: the official MCP clients, the status page in a browser, the dashboards against
    a real Prometheus, the Unity package, the gateway with that package, the packages for npm, PyPI and the like, the Windows program
    under Wine, MCP's schemas"
fi

# The tests of its package have built it; built alone it would have other features, and everything below it would be built again.
chaos_report() {
    CHAOS_COMMIT=$(git describe --always --dirty 2>/dev/null) "$(dirname "$HOLDFAST_BIN")/chaos-report" >"$counted/chaos"
    ended=$?
    cat "$counted/chaos"
    return "$ended"
}
suite "chaos report" chaos_report

echo "$summary"
for told in "$counted"/*; do [ ! -f "$told" ] || grep -h '^chaos-report: .* scenarios\|^wire schema: .* lines' "$told" || true; done
if [ "$failures" != 0 ]; then
    echo "test: $failures suite(s) FAILED"
    exit 1
fi
echo "test: all suites passed"
