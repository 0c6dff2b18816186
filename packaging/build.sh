#!/bin/sh
# The release program for this machine: `make static`. On Linux without any library of the system (musl, linked in), so that one
# file runs on every distribution. PROGRAM_TARGET names another target that can be built here.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
# On Windows the linker is MSVC's, which cargo finds by itself.
case $(uname -s) in Linux | Darwin) need_rust ;; esac
need python3 python3

target=${PROGRAM_TARGET:-$(python3 packaging/make.py host)}
if ! [ -d "$(rustc --print target-libdir --target "$target")" ]; then
    command -v rustup >/dev/null 2>&1 || die "the standard library for $target is missing, and there is no rustup to add it"
    say "adding the target $target"
    rustup target add "$target" </dev/null || die "rustup could not add $target"
fi
say "building for $target (some minutes)"
cargo build --locked --release --target "$target" --bin holdfast
program=${CARGO_TARGET_DIR:-target}/$target/release/holdfast
[ -f "$program" ] || program=$program.exe
python3 packaging/make.py check "$target=$program"
