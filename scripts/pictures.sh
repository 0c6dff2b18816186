#!/bin/sh
# `make pictures`: makes the pictures of README.md and docs/ anew, from the program itself. Read the difference before you commit it.
# HOLDFAST_BIN names the program; without it, the debug build is used.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_rust
need python3 python3
need tmux tmux
CHROMIUM=${CHROMIUM:-chromium}
need "$CHROMIUM" chromium
export CHROMIUM
[ -n "${HOLDFAST_BIN:-}" ] || {
    cargo build --quiet --bin holdfast
    HOLDFAST_BIN=${CARGO_TARGET_DIR:-$PWD/target}/debug/holdfast
    export HOLDFAST_BIN
}
say "the demo"
"$HOLDFAST_BIN" demo --dialect holdfast --json | cargo run --quiet --package holdfast-timeline --example draw >docs/img/demo.svg.new
mv docs/img/demo.svg.new docs/img/demo.svg
exec python3 scripts/pictures.py docs/img
