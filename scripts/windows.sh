#!/bin/sh
# The Windows program on a Linux machine: sh scripts/windows.sh setup|build|debug|smoke|test
#
#   setup   only what the others need, from Debian's packages
#   build   the release program, which needs no library that Windows does not have
#   debug   only the debug build that `smoke` runs
#   smoke   a debug build, run under Wine: a session, a hub, the demo, setup and unity install, there and back
#           (scripts/smoke.py)
#   test    that with every dialect, then every test that Wine can run (scripts/wine/tests.py has the list of those it cannot)
#
# Wine is not Windows: it has its own sockets, pipes, files and processes. A pass there shows that our branches for Windows are
# sane.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/cross.sh

target=x86_64-pc-windows-gnu
out=$PWD/target/cross/$target

need_windows() {
    need_cross "$target"
    need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
    need x86_64-w64-mingw32-objdump binutils-mingw-w64-x86-64
}

# Checks that every library that the program asks for is part of Windows 10.
check_imports() {
    asked=$(x86_64-w64-mingw32-objdump -p "$1" | sed -n 's/.*DLL Name: //p' | tr '[:upper:]' '[:lower:]' | sort -u)
    [ -n "$asked" ] || die "objdump names no library that $1 asks for"
    for library in $asked; do
        case $library in
            api-ms-win-*.dll | advapi32.dll | bcrypt.dll | bcryptprimitives.dll | combase.dll | iphlpapi.dll | kernel32.dll | kernelbase.dll | \
                msvcrt.dll | netapi32.dll | ntdll.dll | ole32.dll | oleaut32.dll | pdh.dll | powrprof.dll | psapi.dll | rpcrt4.dll | secur32.dll | \
                shell32.dll | user32.dll | userenv.dll | ws2_32.dll) ;;
            *) die "$1 asks for $library, which Windows does not bring" ;;
        esac
    done
    say "every library that it asks for is part of Windows: $(echo "$asked" | tr '\n' ' ')"
}

need_wine() {
    need wine wine wine64
    need python3 python3
    need unshare util-linux
    need ip iproute2
    WINEPREFIX=$PWD/.tools/wine
    WINEDEBUG=-all
    # Without this, Wine knows only ASCII letters in file names.
    LC_ALL=C.UTF-8
    # No window, no sound, no download of what only programs with windows need.
    WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe="
    export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES LC_ALL
    mkdir -p .tools
    if ! [ -f "$WINEPREFIX/system.reg" ]; then
        say "making Wine's prefix in .tools/wine"
        env -u DISPLAY wine wineboot --init </dev/null >/dev/null 2>&1 || die "wineboot failed"
        wineserver_end
    fi
}

wineserver_end() {
    for place in wineserver /usr/lib/wine/wineserver64 /usr/lib/wine/wineserver; do
        command -v "$place" >/dev/null 2>&1 || continue
        # `wineserver -w` waits for every program, also for one that an ended test left behind.
        timeout 60 "$place" -w || "$place" -k || true
        return 0
    done
}

# apart COMMAND...: runs a command with its own network, in which closed connections are forgotten at once. Wine looks up the
# owner of a port among all connections of the machine, also those closed in the last minute: with 2,000 of them that took 27 s.
apart() {
    for flags in --net "--net --map-root-user"; do
        # shellcheck disable=SC2086
        if unshare $flags ip link set lo up 2>/dev/null; then
            # Sockets that Wine's server opens belong to the network in which the server was started.
            wineserver_end
            # shellcheck disable=SC2086
            unshare $flags sh -c 'ip link set lo up && { echo 1 >/proc/sys/net/ipv4/tcp_max_tw_buckets; } 2>/dev/null; exec "$@"' apart "$@"
            apart_status=$?
            wineserver_end
            return "$apart_status"
        fi
    done
    loud "no network of its own can be had here: what asks for the owner of a port may take very long under Wine"
    "$@"
}

# shim FOLDER...: puts the library that Wine lacks beside the programs.
shim() {
    for folder in "$@"; do
        x86_64-w64-mingw32-gcc -O1 -shared -o "$folder/bcryptprimitives.dll" scripts/wine/bcryptprimitives.c -ladvapi32
    done
}

build() {
    need_windows
    say "building for Windows (some minutes)"
    cross "$target" build --release --bin holdfast
    check_imports "$out/release/holdfast.exe"
    ls -l "$out/release/holdfast.exe"
}

debug() {
    need_windows
    say "building for Windows, without optimisation"
    cross "$target" build --bin holdfast
    check_imports "$out/debug/holdfast.exe"
}

smoke() {
    debug
    need_wine
    shim "$out/debug"
    apart python3 scripts/smoke.py --runner wine "$out/debug/holdfast.exe"
}

tests() {
    failed=
    need_windows
    need_wine
    say "building the tests, for this system and for Windows (some minutes)"
    mkdir -p target/cross/tests
    cargo test --workspace --locked --no-run --message-format=json >target/cross/tests/here.json
    cross "$target" test --workspace --no-run --message-format=json >target/cross/tests/windows.json
    check_imports "$out/debug/holdfast.exe"
    shim "$out/debug" "$out/debug/deps"
    apart python3 scripts/smoke.py --runner wine --every-dialect "$out/debug/holdfast.exe" || failed="$failed smoke"
    say "the packages for npm and PyPI, by Windows' own Node and Python"
    wineserver_end
    sh packaging/windows.sh "$out/debug/holdfast.exe" || failed="$failed packages"
    HOLDFAST_BIN=$out/debug/holdfast.exe
    CHAOS_REPORT=$PWD/target/cross/chaos-report
    RUST_BACKTRACE=0
    # One test at a time, because Wine is slow.
    RUST_TEST_THREADS=1
    export HOLDFAST_BIN CHAOS_REPORT RUST_BACKTRACE RUST_TEST_THREADS
    apart python3 scripts/wine/tests.py target/cross/tests/here.json target/cross/tests/windows.json "$@" || failed="$failed tests"
    [ -z "$failed" ] || die "failed:$failed"
}

case ${1:-} in
    build) build ;;
    debug) debug ;;
    smoke) smoke ;;
    setup) need_windows && need_wine ;;
    test) shift && tests "$@" ;;
    *) die "usage: sh scripts/windows.sh setup|build|debug|smoke|test" ;;
esac
