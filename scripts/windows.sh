#!/bin/sh
# The Windows program on a Linux machine: sh scripts/windows.sh build|smoke
#
#   build   the release program, which needs no library that Windows does not have
#   smoke   a debug build, run under Wine: a session, the demo, setup and unity install, there and back (scripts/smoke.py)
#
# Wine is not Windows: its sockets, pipes, files and processes are its own. What passes there shows that our branches are sane.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/cross.sh

target=x86_64-pc-windows-gnu
out=$PWD/target/cross/$target

need_windows() {
    need_cross gcc-mingw-w64-x86-64
    need x86_64-w64-mingw32-objdump binutils-mingw-w64-x86-64
}

# Every library that the program asks for is part of Windows 10.
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
    WINEPREFIX=$PWD/.tools/wine
    WINEDEBUG=-all
    # No window, no sound, no download of what only programs with windows need.
    WINEDLLOVERRIDES="mscoree,mshtml,winemenubuilder.exe="
    export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
    mkdir -p .tools
    if ! [ -f "$WINEPREFIX/system.reg" ]; then
        say "making Wine's prefix in .tools/wine"
        env -u DISPLAY wine wineboot --init </dev/null >/dev/null 2>&1 || die "wineboot failed"
        wineserver_end
    fi
}

wineserver_end() {
    for place in wineserver /usr/lib/wine/wineserver64 /usr/lib/wine/wineserver; do
        command -v "$place" >/dev/null 2>&1 && "$place" -w && return 0
    done
    return 0
}

# shim FOLDER...: what Wine lacks, beside the programs.
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

smoke() {
    need_windows
    need_wine
    say "building for Windows, without optimisation"
    cross "$target" build --bin holdfast
    check_imports "$out/debug/holdfast.exe"
    shim "$out/debug"
    python3 scripts/smoke.py --runner wine "$out/debug/holdfast.exe"
}

case ${1:-} in
    build) build ;;
    smoke) smoke ;;
    *) die "usage: sh scripts/windows.sh build|smoke" ;;
esac
