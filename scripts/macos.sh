#!/bin/sh
# `make check-macos`: type-checks and lints both Darwin targets on a Linux machine, tests and examples included. Nothing is linked
# or run: that needs Apple's libraries.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/cross.sh
for target in aarch64-apple-darwin x86_64-apple-darwin; do
    need_cross "$target"
    say "clippy for $target (some minutes)"
    cross "$target" clippy --workspace --all-targets -- -D warnings
done
say "both targets of macOS type-check and lint clean; they were not linked and not run"
