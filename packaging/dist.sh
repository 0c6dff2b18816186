#!/bin/sh
# Every package for this machine, from the program that packaging/build.sh built, into dist/; then each is installed and driven.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
need_venv
need_npm
need_node
NPM=$(command -v npm)
export NODE NPM
target=$(python3 packaging/make.py host)
program=${CARGO_TARGET_DIR:-target}/$target/release/holdfast
[ -f "$program" ] || program=$program.exe
say "making the packages"
python3 packaging/make.py make --out dist --program "$target=$program"
say "installing and driving each"
python3 packaging/try_packages.py dist
