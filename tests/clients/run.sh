#!/usr/bin/env bash
# Official MCP clients against the holdfast binary (each must pass) and against a server that breaks one promise at a time
# (each must fail, and at the check that watches this promise). Ends with "N passed, N failed".
#
#     HOLDFAST_BIN=target/debug/holdfast tests/clients/run.sh
#     tests/clients/run.sh --self-test      only the second half: no binary is needed
set -uo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh

self_test_only=
[ "${1:-}" = --self-test ] && self_test_only=yes
if [ -z "$self_test_only" ]; then
    [ -n "${HOLDFAST_BIN:-}" ] || die "HOLDFAST_BIN is not set; \`make test\` builds the binary and sets it"
    [ -x "$HOLDFAST_BIN" ] || die "HOLDFAST_BIN=$HOLDFAST_BIN is not an executable file"
    HOLDFAST_BIN=$(cd "$(dirname "$HOLDFAST_BIN")" && pwd)/$(basename "$HOLDFAST_BIN")
fi
need_node
need_python
command -v mkfifo >/dev/null || die "mkfifo is missing (coreutils)"

here=$PWD/tests/clients
work=$(mktemp -d)
unity=
cleanup() {
    [ -n "$unity" ] && kill "$unity" 2>/dev/null
    for job in $(jobs -p); do kill "$job" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)) && echo "ok   $*"; }
not_ok() { failed=$((failed + 1)) && echo "FAIL $*"; }

client() { # client NAME SERVER...: in a home of its own, so that nothing of this machine is found and nothing stays
    local name=$1
    shift
    case $name in
        ts_v1) "$NODE" "$here/ts_v1_client.mjs" -- "$@" ;;
        py_v1) "$PYTHON" "$here/py_v1_client.py" -- "$@" ;;
    esac
}

against_the_gateway() { # against_the_gateway CLIENT
    local name=$1 room=$work/real-$1 line= port=
    mkdir -p "$room/home"
    mkfifo "$room/steer"
    exec 9<>"$room/steer" # held open, so that neither side waits for the other or sees an end
    (cd "$room" && HOME=$room/home exec "$HOLDFAST_BIN" fake-unity --port 0 --push) \
        <"$room/steer" >"$room/unity.out" 2>"$room/unity.err" 9>&- &
    unity=$!
    for _ in $(seq 100); do
        read -r line <"$room/unity.out" && break
        kill -0 "$unity" 2>/dev/null || break
        sleep 0.1
    done
    port=$(printf '%s' "$line" | sed -n 's/.*"event": *"listening".*"port": *\([0-9]\{1,5\}\).*/\1/p')
    [ -n "$port" ] || port=$(printf '%s' "$line" | sed -n 's/.*"port": *\([0-9]\{1,5\}\).*"event": *"listening".*/\1/p')
    if [ -z "$port" ]; then
        not_ok "$name against holdfast: the fake Unity did not say where it listens: $line"
        tail -n 5 "$room/unity.err"
    elif (cd "$room" && HOME=$room/home FAKE_UNITY_STEER=$room/steer client "$name" "$HOLDFAST_BIN" --port "$port") \
        >"$room/client.out" 2>"$room/client.err" 9>&- </dev/null; then
        cat "$room/client.out"
        ok "$name against holdfast"
    else
        cat "$room/client.out"
        tail -n 20 "$room/client.err"
        tail -n 5 "$room/unity.out" "$room/unity.err"
        not_ok "$name against holdfast"
    fi
    echo quit >&9
    for _ in $(seq 20); do
        kill -0 "$unity" 2>/dev/null || break
        sleep 0.1
    done
    kill "$unity" 2>/dev/null
    wait "$unity" 2>/dev/null
    unity=
    exec 9>&-
}

against_a_mode() { # against_a_mode CLIENT MODE CHECK: writes its verdict to a file; runs beside others
    local name=$1 mode=$2 expected=$3 room=$work/$1-$2 status=0 got=
    mkdir -p "$room/home"
    mkfifo "$room/steer"
    exec 9<>"$room/steer"
    (cd "$room" && HOME=$room/home FAKE_UNITY_STEER=$room/steer client "$name" \
        /usr/bin/env "FAKE_UNITY_STEER=$room/steer" "TMPDIR=$room" "$NODE" "$here/broken_server.mjs" "$mode") \
        >"$room/out" 2>"$room/err" 9>&- </dev/null || status=$?
    got=$(sed -n 's/^FAIL \([a-z-]*\):.*/\1/p' "$room/out" | head -n 1)
    if [ "$expected" = - ]; then
        if [ "$status" = 0 ] && [ -z "$got" ]; then
            echo "ok   $name passes against a good server"
        else
            echo "FAIL $name against a good server: $(tail -n 1 "$room/out") $(tail -n 3 "$room/err")"
        fi
    elif [ "$status" = 0 ]; then
        echo "FAIL $name does not notice: $mode"
    elif [ -n "$got" ] && [[ "|$expected|" == *"|$got|"* ]]; then
        echo "ok   $name notices: $mode (at $got)"
    else
        echo "FAIL $name against $mode: expected to fail at $expected, got: $(tail -n 1 "$room/out") $(tail -n 3 "$room/err")"
    fi >"$room/verdict"
}

if [ -z "$self_test_only" ]; then
    say "official clients against holdfast"
    for name in ts_v1 py_v1; do against_the_gateway "$name"; done
fi

say "the same clients against broken servers"
"$NODE" "$here/broken_server.mjs" --list >"$work/modes" || die "broken_server.mjs does not run"
at_once=${CLIENT_JOBS:-8}
while read -r mode expected; do
    for name in ts_v1 py_v1; do
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
        against_a_mode "$name" "$mode" "$expected" &
    done
done <"$work/modes"
wait
while read -r mode _; do
    for name in ts_v1 py_v1; do
        verdict=$(cat "$work/$name-$mode/verdict" 2>/dev/null)
        case $verdict in
            ok*) passed=$((passed + 1)) ;;
            *) failed=$((failed + 1)) ;;
        esac
        echo "${verdict:-FAIL $name against $mode: no verdict}"
    done
done <"$work/modes"

echo "clients: $passed passed, $failed failed"
[ "$failed" = 0 ]
