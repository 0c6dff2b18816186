#!/usr/bin/env bash
# What people run against the holdfast binary: the official SDKs, the Inspector and the conformance suite, in both eras of MCP; each
# must pass. And the same against a server that breaks one promise at a time: each must fail, and at the check that watches this
# promise. Ends with "N passed, N failed".
#
#     HOLDFAST_BIN=target/debug/holdfast tests/clients/run.sh
#     tests/clients/run.sh --self-test      only the second half: no binary is needed
#     tests/clients/run.sh --build          only builds the Rust client
set -uo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh

self_test_only=
RMCP=${CARGO_TARGET_DIR:-$PWD/target}/rmcp-client
build() { cargo build --quiet --locked --manifest-path tests/clients/rmcp/Cargo.toml --target-dir "$RMCP" </dev/null; }
case ${1:-} in
    --build) need_rust && build && exit ;;
    --self-test) self_test_only=yes ;;
esac
if [ -z "$self_test_only" ]; then
    [ -n "${HOLDFAST_BIN:-}" ] || die "HOLDFAST_BIN is not set; \`make test-all\` builds the binary and sets it"
    [ -x "$HOLDFAST_BIN" ] || die "HOLDFAST_BIN=$HOLDFAST_BIN is not an executable file"
    HOLDFAST_BIN=$(cd "$(dirname "$HOLDFAST_BIN")" && pwd)/$(basename "$HOLDFAST_BIN")
fi
need_rust
need_node
need_python
need_schemas
command -v mkfifo >/dev/null || die "mkfifo is missing (coreutils)"

here=$PWD/tests/clients
work=$(mktemp -d)
# Every client is started many times, and Node would compile its modules each time.
export NODE_COMPILE_CACHE=$work/compiled
cleanup() {
    for job in $(jobs -p); do kill "$job" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT
# A minute of building, the first time, which the other clients need not wait for.
build_rmcp() {
    build >"$work/rmcp.log" 2>&1
    echo $? >"$work/rmcp.partial" && mv "$work/rmcp.partial" "$work/rmcp.built"
}
rmcp() {
    until [ -f "$work/rmcp.built" ]; do sleep 0.2; done
    [ "$(cat "$work/rmcp.built")" = 0 ] || { echo "FAIL build: $(tail -n 5 "$work/rmcp.log")"; return 1; }
    "$RMCP/debug/rmcp-client" "$@"
}
build_rmcp &

# Every client in every mode: its name, and the era that it speaks then.
CLIENTS="ts_v1:legacy ts_v2-legacy:legacy ts_v2-auto:modern ts_v2-pin:modern
    py_v1:legacy py_v2-legacy:legacy py_v2-auto:modern py_v2-2026-07-28:modern rmcp-legacy:legacy rmcp-modern:modern"

client() { # client NAME SERVER...
    local name=$1
    shift
    case $name in
        ts_v1) "$NODE" "$here/ts_v1_client.mjs" -- "$@" ;;
        ts_v2-*) "$NODE" "$here/ts_v2_client.mjs" "${name#ts_v2-}" -- "$@" ;;
        py_v1) "$PYTHON" "$here/py_v1_client.py" -- "$@" ;;
        py_v2-*) "$PYTHON_V2" "$here/py_v2_client.py" "${name#py_v2-}" -- "$@" ;;
        rmcp-*) rmcp_recorded "${name#rmcp-}" "$@" ;;
        conformance-*) "$NODE" "$here/conformance.mjs" "$here/conformance_${name#conformance-}.yml" -- "$@" ;;
        inspector-*) inspector "${name#inspector-}" "$@" ;;
    esac
}

rmcp_recorded() { # rmcp_recorded ERA SERVER...: nobody can reach this one's pipes and connections
    local status=0 proxy=
    case $2 in
        http://*)
            # The token is the client's to send.
            env -u HOLDFAST_TOKEN "$NODE" "$here/http_proxy.mjs" "$2" "rmcp-$1-http" "$room/http" >"$room/proxy" &
            proxy=$!
            until [ -s "$room/proxy" ] || ! kill -0 "$proxy"; do sleep 0.1; done
            HOLDFAST_SOCKET=$room/http rmcp "$1" -- "$2" || status=$?
            kill "$proxy"
            rm -f "$room/http" "$room/proxy"
            return "$status"
            ;;
        *) rmcp "$1" -- "$NODE" "$here/record.mjs" "rmcp-$1" "${@:2}" ;;
    esac
}

inspector() { # inspector ERA SERVER...: calls, lists, and puts load on
    local era=$1 out
    shift
    inspect() { PATH="$(dirname "$NODE"):$PATH" "$NODE" "$here/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli --protocol-era "$era" "$@"; }
    local recorded=("$NODE" "$here/record.mjs" "inspector-$era" "$@")
    out=$(inspect --method tools/call --tool-name echo --tool-args-json '{"text":"the-word"}' "${recorded[@]}") || { echo "FAIL echo: exit code $?"; return 1; }
    case $out in *the-word*) echo "  ok echo" ;; *) echo "FAIL echo: ${out:0:300}"; return 1 ;; esac
    # 6 is its exit code for a schema that some clients refuse.
    out=$(inspect --method tools/list --strict "${recorded[@]}") || { echo "FAIL tools: exit code $?"; return 1; }
    case $out in *'"holdfast_status"'*'"echo"'*) echo "  ok tools" ;; *) echo "FAIL tools: no echo in ${out:0:300}"; return 1 ;; esac
    out=$(inspect --method tools/call --tool-name echo --tool-args-json '{"text":"x"}' --load --load-requests 500 --load-concurrency 10 "$@") ||
        { echo "FAIL load: exit code $?: ${out:0:300}"; return 1; }
    case $out in *'"ok": 500,'*) echo "  ok load" ;; *) echo "FAIL load: ${out:0:500}"; return 1 ;; esac
}

# A home of its own, so that nothing of this machine is found and nothing stays. `room` is a local of the callers.
in_room() { (cd "$room" && HOME=$room/home TMPDIR=$room/tmp FAKE_UNITY_STEER=$room/steer "$@"); }

# begin_hub FLAG...: starts a hub that serves HTTP in the room; sets hub, url and HOLDFAST_TOKEN.
begin_hub() {
    HOME=$room/home TMPDIR=$room/tmp "$HOLDFAST_BIN" hub --http 127.0.0.1:0 --state-dir "$room/state" --toolsets all "$@" >"$room/hub.out" 2>"$room/hub.err" </dev/null 9>&- &
    hub=$!
    for _ in $(seq 600); do
        url=$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' "$room/state/hub/hub.json" 2>/dev/null)
        [ -z "$url" ] || break
        kill -0 "$hub" 2>/dev/null || return 1
        sleep 0.1
    done
    url=$url/$(printf %s "$room/project" | sed 's|/|%2F|g')
    HOLDFAST_TOKEN=$(cat "$room/state/http_token")
    export HOLDFAST_TOKEN
}

over_http() { # over_http CLIENT: the client at a hub's URL, without the token first
    local name=$1 hub='' url='' status=0 flags=()
    # The suite reaches the hub through a proxy with a port of its own.
    case $name in conformance-*) flags=(--http-host '127.0.0.1,localhost') ;; esac
    begin_hub "${flags[@]}" || { cat "$room/hub.err"; return 1; }
    case $name in
        conformance-*) ;;
        *)
            (
                unset HOLDFAST_WIRE
                HOLDFAST_TOKEN=wrong PROOF_ONLY=initialize PROOF_EXPECTED=initialize in_room client "$name" "$url"
            ) >"$room/refused" 2>&1 9>&- </dev/null && status=1
            grep -q '^FAIL initialize' "$room/refused" || status=1
            if [ "$status" = 0 ]; then
                echo "  ok without the token nothing is served"
            else
                echo "FAIL served without the token: $(tail -n 3 "$room/refused")"
            fi
            ;;
    esac
    [ "$status" != 0 ] || in_room client "$name" "$url" 9>&- </dev/null || status=$?
    kill "$hub"
    wait "$hub" || { echo "FAIL the hub ended with $?: $(tail -n 3 "$room/hub.err")"; status=1; }
    return "$status"
}

against_the_gateway() { # against_the_gateway CLIENT DIALECT OVER: writes what it saw and its verdict to files; runs beside others
    local name=$1 dialect=$2 over=$3 room=$work/real-$1-$2-$3 line='' unity='' status=0 fixtures=()
    mkdir -p "$room/home" "$room/tmp"
    mkfifo "$room/steer"
    exec 9<>"$room/steer" # held open, so that neither side waits for the other or sees an end
    # The Inspector holds every schema against what most clients take: the suite's odd one is not for it.
    case $name in inspector-*) ;; *) fixtures=(--conformance-tools) ;; esac
    export PROOF_IMAGES=yes
    [ "$dialect" = holdfast ] || PROOF_IMAGES=no
    (cd "$room" && HOME=$room/home exec "$HOLDFAST_BIN" fake-unity --dialect "$dialect" --port 0 --push --project "$room/project" "${fixtures[@]}") \
        <"$room/steer" >"$room/unity.out" 2>"$room/unity.err" 9>&- &
    unity=$!
    for _ in $(seq 600); do
        read -r line <"$room/unity.out" && break
        kill -0 "$unity" 2>/dev/null || break
        sleep 0.1
    done
    case $line in
        *'"listening"'*) if [ "$over" = http ]; then over_http "$name" >"$room/out" 2>"$room/err" || status=$?; else
            # It listens for changes, lists once and goes: at its first meeting with an editor it would see our own tools only.
            case $name in inspector-*) in_room "$HOLDFAST_BIN" tools --project "$room/project" --dialect "$dialect" >/dev/null 2>&1 9>&- </dev/null ;; esac
            # The simulated editors have more tools than are listed at first, and the suites look for theirs in the list.
            in_room client "$name" "$HOLDFAST_BIN" --project "$room/project" --dialect "$dialect" --toolsets all >"$room/out" 2>"$room/err" 9>&- </dev/null || status=$?
            fi ;;
        *) status="no fake Unity: $line" ;;
    esac
    if [ "$status" = 0 ]; then
        echo "ok   $name against holdfast over $over, with $dialect"
    else
        { tail -n 20 "$room/err" && tail -n 5 "$room/unity.out" "$room/unity.err"; } >>"$room/out" 2>&1
        echo "FAIL $name against holdfast over $over, with $dialect ($status)"
    fi >"$room/verdict"
    echo quit >&9
    for _ in $(seq 20); do
        kill -0 "$unity" 2>/dev/null || break
        sleep 0.1
    done
    kill "$unity" 2>/dev/null
    wait "$unity" 2>/dev/null
}

against_a_mode() { # against_a_mode CLIENT MODE CHECK RUNS [http]: the broken server's; writes its verdict to a file
    local name=$1 mode=$2 expected=$3 runs=$4 over=${5:-stdio} room=$work/$1-$2${5:+-$5} status=0 got='' bridge=''
    local server=(/usr/bin/env "FAKE_UNITY_STEER=$room/steer" "TMPDIR=$room/tmp" "$NODE" "$here/broken_server.mjs" "$mode")
    mkdir -p "$room/home" "$room/tmp"
    mkfifo "$room/steer"
    exec 9<>"$room/steer"
    unset HOLDFAST_WIRE # these lines are wrong on purpose
    [ "$runs" = all ] || export PROOF_ONLY=$runs
    [ "$expected" = - ] || export PROOF_EXPECTED=$expected
    if [ "$over" = http ]; then
        export PROOF_SESSIONS=yes HOLDFAST_TOKEN=any
        "$NODE" "$here/stdio_http_bridge.mjs" "${server[@]}" >"$room/bridge" 2>"$room/bridge.err" 9>&- </dev/null &
        bridge=$!
        until [ -s "$room/bridge" ] || ! kill -0 "$bridge"; do sleep 0.1; done
        server=("http://127.0.0.1:$(cut -d ' ' -f 2 "$room/bridge")/mcp")
    fi
    in_room client "$name" "${server[@]}" >"$room/out" 2>"$room/err" 9>&- </dev/null || status=$?
    [ -z "$bridge" ] || kill "$bridge"
    got=$(sed -n 's/^FAIL \([a-z-]*\):.*/\1/p' "$room/out" | head -n 1)
    if [ "$expected" = - ]; then
        if [ "$status" = 0 ] && [ -z "$got" ]; then
            echo "ok   $name passes against a good server over $over"
        else
            echo "FAIL $name against a good server over $over: $(tail -n 1 "$room/out") $(tail -n 3 "$room/err")"
        fi
    elif [ "$status" = 0 ]; then
        echo "FAIL $name does not notice over $over: $mode"
    elif [ -n "$got" ] && [[ "|$expected|" == *"|$got|"* ]]; then
        echo "ok   $name notices over $over: $mode (at $got)"
    else
        echo "FAIL $name over $over against $mode: expected to fail at $expected, got: $(tail -n 1 "$room/out") $(tail -n 3 "$room/err")"
    fi >"$room/verdict"
}

conformance_against() { # conformance_against MODE EXIT_CODE SCENARIOS FAILURES: the suite itself, and its file of expected failures
    local mode=$1 expected=$2 scenarios=$3 failures=$4 room=$work/conformance-$1-$2 status=0
    mkdir -p "$room/home" "$room/tmp"
    mkfifo "$room/steer"
    exec 9<>"$room/steer"
    unset HOLDFAST_WIRE
    printf '%s\n' "server: [$failures]" >"$room/failures.yml"
    # shellcheck disable=SC2086 # a list of words
    in_room "$NODE" "$here/conformance.mjs" "$room/failures.yml" $scenarios -- \
        /usr/bin/env "FAKE_UNITY_STEER=$room/steer" "$NODE" "$here/broken_server.mjs" "$mode" >"$room/out" 2>&1 9>&- </dev/null || status=$?
    if [ "$status" = "$expected" ]; then
        echo "ok   conformance ends with $status against: $mode${failures:+, expected to fail: $failures}"
    else
        echo "FAIL conformance ends with $status and not $expected against $mode: $(tail -n 4 "$room/out")"
    fi >"$room/verdict"
}

at_once() { # at_once N COMMAND...: in the background, as soon as fewer than N run
    local most=$1
    shift
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
    "$@" &
}

section=$(date +%s)
took() { # took WHAT: since the last of these
    say "$1 took $(($(date +%s) - section)) s"
    section=$(date +%s)
}

passed=0
failed=0
verdicts() { # verdicts ROOM...: reads what the background wrote
    local room verdict
    for room in "$@"; do
        [ -f "$room/shown" ] || continue
        cat "$room/out" 2>/dev/null
    done
    for room in "$@"; do
        verdict=$(cat "$room/verdict" 2>/dev/null)
        case $verdict in
            ok*) passed=$((passed + 1)) ;;
            *)
                failed=$((failed + 1))
                [ -f "$room/shown" ] || sed 's/^/    /' "$room/out" 2>/dev/null | tail -n 15
                ;;
        esac
        echo "${verdict:-FAIL no verdict: $room}"
    done
}
finished() { # finished: waits, and reads the rooms so far
    wait
    verdicts "${rooms[@]}"
    rooms=()
}

rooms=()
if [ -z "$self_test_only" ]; then
    say "what people run, against holdfast"
    real() { # real CLIENT DIALECT [http]
        local room=$work/real-$1-$2-${3:-stdio}
        rooms+=("$room")
        mkdir -p "$room" && touch "$room/shown"
        at_once "${CLIENT_JOBS:-3}" against_the_gateway "$1" "$2" "${3:-stdio}"
    }
    for entry in $CLIENTS; do real "${entry%:*}" holdfast; done
    for name in ts_v1 py_v1; do real "$name" uloop; done
    for era in legacy auto modern; do real "inspector-$era" holdfast; done
    finished
    rooms+=("$work/schemas")
    mkdir -p "$work/schemas" && touch "$work/schemas/shown"
    if "$NODE" "$here/schemas.mjs" "$HOLDFAST_BIN" "$work/schemas" >"$work/schemas/out" 2>&1; then
        echo "ok   Ajv in strict mode takes every schema" >"$work/schemas/verdict"
    else
        echo "FAIL Ajv in strict mode refuses schemas" >"$work/schemas/verdict"
    fi
    finished
    took "over stdio"
    for entry in $CLIENTS; do real "${entry%:*}" holdfast http; done
    finished
    # By itself: some of its checks wait for half a second only.
    for dialect in holdfast uloop; do
        real "conformance-$dialect" "$dialect"
        wait
    done
    real conformance-http holdfast http
    finished
    took "over HTTP, and conformance"
fi
section=$(date +%s)
say "the same against broken servers"
"$NODE" "$here/broken_server.mjs" --list >"$work/modes" || die "broken_server.mjs does not run"
jobs_at_once=${CLIENT_JOBS:-6}
while read -r mode eras expected runs; do
    for entry in $CLIENTS; do
        name=${entry%:*} era=${entry#*:}
        case $eras:$era in both:* | legacy:legacy | modern:modern) ;; *) continue ;; esac
        # How the era is found is all that these two do otherwise than their pinned twins.
        case $name:$mode in *-auto:good | *-auto:silent-discover | *-auto:discover-unknown) ;; *-auto:*) continue ;; esac
        # Both eras of an SDK share its checks: the older is tried with what the eras do differently.
        case $name:$expected in
            ts_v2-legacy:* | py_v2-legacy:* | rmcp-legacy:*)
                case $expected in - | *initialize* | *stray* | list-changed) ;; *) continue ;; esac
                ;;
        esac
        # The Rust SDK passes over strays in silence and tells nobody how its child ended.
        case $name:$expected:$mode in rmcp-*:*stray*:* | rmcp-*:*:bad-exit-code | rmcp-*:*:subscription-never-ends) continue ;; esac
        rooms+=("$work/$name-$mode")
        at_once "$jobs_at_once" against_a_mode "$name" "$mode" "$expected" "$runs"
    done
done <"$work/modes"
# The checks over HTTP are those over stdio: some of each kind show that their results arrive. The bridge has one process a request
# in the stateless era, so nothing there outlives a request.
while read -r mode eras expected runs; do
    for entry in $CLIENTS; do
        name=${entry%:*} era=${entry#*:}
        case $eras:$era:$name in both:* | modern:modern:[tp]*) ;; *) continue ;; esac
        rooms+=("$work/$name-$mode-http")
        at_once "$jobs_at_once" against_a_mode "$name" "$mode" "$expected" "$runs" http
    done
done <<'MODES'
good both - tools,echo,image,progress,unknown-tool,unknown-method
wrong-name both initialize initialize
wrong-echo both echo echo
stuck-progress both progress progress
unknown-wrong-code both unknown-tool unknown-tool
no-result-type modern stray echo
MODES
inspected() { rooms+=("$work/inspector-$1-$2") && at_once "$jobs_at_once" against_a_mode "inspector-$1" "$2" "$3" all; }
for era in legacy modern; do
    inspected "$era" good -
    inspected "$era" unportable-schema tools
    inspected "$era" wrong-echo echo
    inspected "$era" fails-under-load load
done
conformed() { rooms+=("$work/conformance-$1-$2") && at_once "$jobs_at_once" conformance_against "$@"; }
both_lists="2025-11-25:tools-list 2026-07-28:tools-list"
conformed good 0 "$both_lists 2025-11-25:ping" ""
conformed good 1 "2025-11-25:ping" "ping" # what passes must not stand among the expected failures
conformed no-cache-hints 1 "2026-07-28:tools-list" ""
conformed no-result-type 1 "2026-07-28:tools-call-image" ""
conformed no-image 1 "2025-11-25:tools-call-image" ""
conformed no-image 0 "2025-11-25:tools-call-image" "tools-call-image"
finished
if "$NODE" "$here/wire_schema.mjs" "$SCHEMAS" --self-test >"$work/wire.out"; then
    passed=$((passed + 1)) && echo "ok   the schemas of the specification notice $(grep -c 'is noticed' "$work/wire.out") bad lines"
else
    failed=$((failed + 1)) && cat "$work/wire.out" && echo "FAIL the schemas of the specification"
fi

took "broken servers"
echo "clients: $passed passed, $failed failed"
[ "$failed" = 0 ]
