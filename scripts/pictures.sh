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
# drawn FILE TITLE: draws the session that stands on stdin.
drawn() {
    cargo run --quiet --package holdfast-timeline --example draw -- "$2" >"$1.new" && mv "$1.new" "$1"
}
say "a session with the Unity package's real C#"
HOLDFAST_EDITORS=$(sh scripts/csharp.sh host)
export HOLDFAST_EDITORS
python3 scripts/session_picture.py >"${TMPDIR:-/tmp}/holdfast-session.$$"
drawn docs/img/session.svg "An AI client edits, compiles and tests twice; Unity reloads each time, and the session goes on" <"${TMPDIR:-/tmp}/holdfast-session.$$"
rm -f "${TMPDIR:-/tmp}/holdfast-session.$$"
say "the demo"
"$HOLDFAST_BIN" demo --dialect holdfast --json |
    drawn docs/img/demo.svg "A session that survives reloads, a compilation, a freeze and a kill of the editor"
exec python3 scripts/pictures.py docs/img
